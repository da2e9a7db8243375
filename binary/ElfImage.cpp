// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Source: the generic ABI, "Object Files", and its x86-independent part of the 64-bit format.
#include "binary/ElfImage.h"
#include "support/Error.h"
#include <fmt/format.h>

namespace heddle {
namespace {

constexpr uint64_t headerBytes = 64, programHeaderBytes = 56, sectionHeaderBytes = 64, symbolBytes = 24,
                   relocationBytes = 24;
constexpr uint32_t relaSection = 4, dynamicSymbolSection = 11;
constexpr uint64_t allocated = 2; ///< a section's flag: it is in memory

} // namespace

ElfImage::ElfImage(std::string_view file, const std::string &name) : file(file), name(name) {
  if (file.size() < 4 || file.substr(0, 4) != std::string_view("\x7f"
                                                               "ELF"))
    fail("is no ELF file");
  if (file.size() < headerBytes)
    fail(fmt::format("is an ELF file cut short: it has {} bytes, and its header alone takes {}", file.size(),
                     headerBytes));
  if (file[4] != 2 || file[5] != 1)
    fail("is no little-endian 64-bit ELF file");
}

void ElfImage::fail(const std::string &what, std::vector<std::string> notes) const {
  throw inputError(fmt::format("`{}` {}", name, what), std::move(notes));
}

std::string_view ElfImage::bytes(uint64_t offset, uint64_t sizeBytes) const {
  if (offset > file.size() || sizeBytes > file.size() - offset)
    fail(fmt::format("is damaged: it points to {} bytes at offset {}, and has {} bytes", sizeBytes, offset,
                     file.size()));
  return file.substr(offset, sizeBytes);
}

std::vector<ElfProgramHeader> ElfImage::programHeaders() const {
  uint64_t table = read<uint64_t>(32);
  uint16_t entryBytes = read<uint16_t>(54), count = read<uint16_t>(56);
  if (count && entryBytes != programHeaderBytes)
    fail(fmt::format("is damaged: its program headers have {} bytes instead of {}", entryBytes, programHeaderBytes));
  bytes(table, uint64_t(count) * programHeaderBytes);
  std::vector<ElfProgramHeader> headers;
  for (uint64_t at = table, end = table + count * programHeaderBytes; at < end; at += programHeaderBytes)
    headers.push_back({read<uint32_t>(at), read<uint32_t>(at + 4), read<uint64_t>(at + 8), read<uint64_t>(at + 16),
                       read<uint64_t>(at + 32), read<uint64_t>(at + 40), read<uint64_t>(at + 48)});
  return headers;
}

std::vector<ElfImage::Section> ElfImage::sections() const {
  uint64_t table = read<uint64_t>(40);
  uint16_t entryBytes = read<uint16_t>(58), count = read<uint16_t>(60);
  if (count && entryBytes != sectionHeaderBytes)
    fail(fmt::format("is damaged: its section headers have {} bytes instead of {}", entryBytes, sectionHeaderBytes));
  bytes(table, uint64_t(count) * sectionHeaderBytes);
  std::vector<Section> found;
  for (uint64_t at = table, end = table + count * sectionHeaderBytes; at < end; at += sectionHeaderBytes)
    found.push_back({read<uint32_t>(at + 4), read<uint32_t>(at + 40), read<uint64_t>(at + 8), read<uint64_t>(at + 24),
                     read<uint64_t>(at + 32), read<uint64_t>(at + 56)});
  return found;
}

std::string ElfImage::textAt(const Section &strings, uint64_t offset) const {
  std::string_view table = bytes(strings.offset, strings.sizeBytes);
  if (offset >= table.size())
    fail(fmt::format("is damaged: a name at offset {} of a table of {} bytes", offset, table.size()));
  std::string_view rest = table.substr(offset);
  return std::string(rest.substr(0, rest.find('\0')));
}

std::vector<ElfSymbol> ElfImage::dynamicSymbols() const {
  std::vector<Section> all = sections();
  for (const Section &section : all) {
    if (section.type != dynamicSymbolSection)
      continue;
    if (section.link >= all.size())
      fail("is damaged: its dynamic symbols have no names");
    bytes(section.offset, section.sizeBytes);
    std::vector<ElfSymbol> symbols;
    for (uint64_t i = 0; i < section.sizeBytes / symbolBytes; ++i) {
      uint64_t at = section.offset + i * symbolBytes;
      symbols.push_back({textAt(all[section.link], read<uint32_t>(at)), read<uint64_t>(at + 8), read<uint64_t>(at + 16),
                         read<uint16_t>(at + 6) != 0});
    }
    return symbols;
  }
  return {};
}

std::vector<ElfRelocation> ElfImage::relocations() const {
  std::vector<ElfRelocation> found;
  for (const Section &section : sections()) {
    if (section.type != relaSection || !(section.flags & allocated))
      continue;
    bytes(section.offset, section.sizeBytes);
    for (uint64_t i = 0; i < section.sizeBytes / relocationBytes; ++i) {
      uint64_t at = section.offset + i * relocationBytes, info = read<uint64_t>(at + 8);
      found.push_back({read<uint64_t>(at), uint32_t(info), uint32_t(info >> 32), read<int64_t>(at + 16)});
    }
  }
  return found;
}

std::vector<ElfNote> ElfImage::notes(const ElfProgramHeader &header) const {
  auto aligned = [](uint64_t size) { return (size + 3) & ~uint64_t(3); };
  std::vector<ElfNote> found;
  bytes(header.offset, header.sizeInFile);
  uint64_t at = header.offset, end = header.offset + header.sizeInFile;
  while (end - at >= 12) {
    uint64_t nameBytes = read<uint32_t>(at), descriptionBytes = read<uint32_t>(at + 4);
    std::string_view noteName = bytes(at + 12, nameBytes);
    ElfNote note{noteName.substr(0, noteName.find('\0')), read<uint32_t>(at + 8),
                 bytes(at + 12 + aligned(nameBytes), descriptionBytes)};
    found.push_back(note);
    uint64_t next = at + 12 + aligned(nameBytes) + aligned(descriptionBytes);
    if (next >= end)
      break;
    at = next;
  }
  return found;
}

} // namespace heddle
