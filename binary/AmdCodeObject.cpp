// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reads the ELF file and the metadata notes. The file is untrusted: every offset and length is checked before use.
#include "binary/AmdCodeObject.h"
#include "binary/ElfImage.h"
#include "binary/MessagePack.h"
#include "support/Error.h"
#include "support/Suggest.h"
#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace heddle {
namespace {

constexpr uint16_t amdMachine = 224;
constexpr uint8_t hsaAbi = 64;
constexpr uint32_t metadataNote = 32;
constexpr uint64_t mostLoadedBytes = uint64_t(1) << 30;
constexpr uint64_t descriptorBytes = 64;
constexpr uint64_t mostKernargBytes = 64 * 1024;

struct ChipCode {
  uint32_t code;
  const char *name;
};
/// The low byte of e_flags, for the chips one is likely to meet.
constexpr ChipCode chipCodes[] = {{0x2c, "gfx900"},  {0x2f, "gfx906"},  {0x30, "gfx908"},  {0x33, "gfx1010"},
                                  {0x36, "gfx1030"}, {0x3f, "gfx90a"},  {0x41, "gfx1100"}, {0x44, "gfx1103"},
                                  {0x46, "gfx1101"}, {0x47, "gfx1102"}, {0x48, "gfx1200"}, {0x49, "gfx1250"},
                                  {0x4c, "gfx942"},  {0x4e, "gfx1201"}, {0x4f, "gfx950"}};

std::string chipOf(uint32_t flags) {
  for (const ChipCode &chip : chipCodes)
    if (chip.code == (flags & 0xff))
      return chip.name;
  return fmt::format("e_flags 0x{:x}", flags);
}

/// Version of the code object from the ELF's ABI version.
int versionOf(const ElfImage &image) {
  constexpr int oldest = 4, newest = 6;
  int version = image.abiVersion() + 2;
  if (version < oldest || version > newest)
    image.fail(fmt::format("has code object version {}, and Heddle reads {} to {}", version, oldest, newest),
               {"compile with `-mcode-object-version=6`"});
  return version;
}

void readSegments(const ElfImage &image, AmdCodeObject &object) {
  uint64_t total = 0;
  for (const ElfProgramHeader &header : image.programHeaders()) {
    if (header.type != ElfProgramHeader::load || header.sizeInMemory == 0)
      continue;
    if (header.sizeInFile > header.sizeInMemory)
      image.fail(fmt::format("has a segment of {} bytes in the file and {} in memory", header.sizeInFile,
                             header.sizeInMemory));
    if (header.sizeInMemory > mostLoadedBytes || header.address > mostLoadedBytes ||
        (total += header.sizeInMemory) > mostLoadedBytes)
      image.fail(
          fmt::format("asks for a segment of {} bytes at address 0x{:x}, and {} bytes are the most that is loaded",
                      header.sizeInMemory, header.address, mostLoadedBytes));
    object.segments.push_back({header.address, header.sizeInMemory, bool(header.flags & 1), bool(header.flags & 2),
                               std::string(image.bytes(header.offset, header.sizeInFile))});
  }
  auto byAddress = [](const AmdSegment &a, const AmdSegment &b) { return a.address < b.address; };
  std::sort(object.segments.begin(), object.segments.end(), byAddress);
  for (size_t i = 1; i < object.segments.size(); ++i)
    if (object.segments[i - 1].address + object.segments[i - 1].sizeBytes > object.segments[i].address)
      image.fail("has segments that overlap");
}

const AmdSegment *segmentAt(const AmdCodeObject &object, uint64_t address, uint64_t sizeBytes) {
  for (const AmdSegment &segment : object.segments)
    if (address >= segment.address && address - segment.address <= segment.sizeBytes &&
        sizeBytes <= segment.sizeBytes - (address - segment.address))
      return &segment;
  return nullptr;
}

void readRelocations(const ElfImage &image, AmdCodeObject &object) {
  constexpr uint32_t absolute64 = 3, relative64 = 13;
  std::vector<ElfSymbol> symbols = image.dynamicSymbols();
  for (const ElfRelocation &relocation : image.relocations()) {
    uint64_t target = uint64_t(relocation.addend);
    if (relocation.type == absolute64) {
      if (relocation.symbol >= symbols.size() || !symbols[relocation.symbol].defined)
        image.fail(fmt::format("needs the symbol `{}`, which it does not define",
                               relocation.symbol < symbols.size() ? symbols[relocation.symbol].name : "?"));
      target += symbols[relocation.symbol].address;
    } else if (relocation.type != relative64)
      image.fail(fmt::format("has a relocation of type {}, and types {} and {} are known", relocation.type, absolute64,
                             relative64));
    if (!segmentAt(object, relocation.address, 8))
      image.fail(fmt::format("has a relocation at 0x{:x}, which no segment holds", relocation.address));
    object.relocations.push_back({relocation.address, target});
  }
}

/// The metadata's map, or an error.
nlohmann::json readMetadata(const ElfImage &image) {
  for (const ElfProgramHeader &header : image.programHeaders()) {
    if (header.type != ElfProgramHeader::note)
      continue;
    for (const ElfNote &note : image.notes(header))
      if (note.name == "AMDGPU" && note.type == metadataNote)
        try {
          return parseMessagePack(note.description);
        } catch (const Error &error) {
          image.fail(fmt::format("has a metadata note that is damaged: {}", error.what()));
        }
  }
  image.fail("has no metadata note, which says what its kernels' arguments are");
}

uint64_t numberOf(const nlohmann::json &map, const char *key) {
  auto found = map.find(key);
  return found != map.end() && found->is_number_unsigned() ? found->get<uint64_t>() : 0;
}

/// One that has to fit into 32 bits.
uint32_t wordOf(const ElfImage &image, const nlohmann::json &map, const char *key, const std::string &kernel) {
  uint64_t number = numberOf(map, key);
  if (number > UINT32_MAX)
    image.fail(fmt::format("has {} as `{}` of kernel `{}`, and {} is the most", number, key, kernel, UINT32_MAX));
  return uint32_t(number);
}

std::string textOf(const nlohmann::json &map, const char *key) {
  auto found = map.find(key);
  return found != map.end() && found->is_string() ? found->get<std::string>() : "";
}

void readArguments(const ElfImage &image, const nlohmann::json &entry, AmdKernel &kernel) {
  auto arguments = entry.find(".args");
  if (arguments == entry.end() || !arguments->is_array())
    return;
  for (const nlohmann::json &each : *arguments) {
    if (!each.is_object())
      image.fail(fmt::format("describes an argument of kernel `{}` that is no map", kernel.name));
    AmdArgument argument{textOf(each, ".name"), textOf(each, ".type_name"), textOf(each, ".value_kind"),
                         numberOf(each, ".offset"), numberOf(each, ".size")};
    argument.pointeeAlignment = std::clamp<uint64_t>(numberOf(each, ".pointee_align"), 1, 4096);
    if (argument.offset > mostKernargBytes || argument.sizeBytes > mostKernargBytes - argument.offset)
      image.fail(
          fmt::format("places argument {} of kernel `{}` at byte {} with {} bytes, and {} bytes of arguments are "
                      "the most",
                      kernel.arguments.size(), kernel.name, argument.offset, argument.sizeBytes, mostKernargBytes));
    // Hand-written metadata may declare too small a block; the kernel reads the argument nevertheless.
    kernel.kernargBytes = std::max(kernel.kernargBytes, uint32_t(argument.offset + argument.sizeBytes));
    kernel.arguments.push_back(argument);
  }
}

void readRequiredWorkgroup(const ElfImage &image, const nlohmann::json &entry, AmdKernel &kernel) {
  auto found = entry.find(".reqd_workgroup_size");
  if (found == entry.end())
    return;
  auto isExtent = [](const nlohmann::json &extent) { return extent.is_number_unsigned() && extent <= UINT32_MAX; };
  if (!found->is_array() || found->size() != 3 || !std::all_of(found->begin(), found->end(), isExtent))
    image.fail(fmt::format("has a required workgroup size of kernel `{}` that is not three sizes", kernel.name));
  for (size_t axis = 0; axis < 3; ++axis)
    kernel.requiredWorkgroup[axis] = (*found)[axis].get<uint32_t>();
}

void readDescriptor(const ElfImage &image, const AmdCodeObject &object, AmdKernel &kernel) {
  const AmdSegment *segment = segmentAt(object, kernel.descriptor, descriptorBytes);
  if (!segment ||
      segment->bytes.size() - std::min<uint64_t>(segment->bytes.size(), kernel.descriptor - segment->address) <
          descriptorBytes)
    image.fail(fmt::format("has its descriptor of kernel `{}` at 0x{:x}, outside its segments", kernel.name,
                           kernel.descriptor));
  const char *at = segment->bytes.data() + (kernel.descriptor - segment->address);
  auto read = [&]<typename T>(unsigned offset, T &value) { std::memcpy(&value, at + offset, sizeof value); };
  int64_t entryOffset;
  read(0, kernel.groupBytes);
  read(4, kernel.privateBytes);
  read(8, kernel.kernargBytes);
  read(16, entryOffset);
  read(44, kernel.resource3);
  read(48, kernel.resource1);
  read(52, kernel.resource2);
  read(56, kernel.properties);
  read(58, kernel.preload);
  kernel.entry = kernel.descriptor + uint64_t(entryOffset);
  const AmdSegment *code = segmentAt(object, kernel.entry, 4);
  if (!code || !code->executable || kernel.entry % 4)
    image.fail(fmt::format("enters kernel `{}` at 0x{:x}, where it has no code", kernel.name, kernel.entry));
}

/// Without numbers in the metadata they are those of the descriptor.
AmdRegisterCounts readRegisterCounts(const nlohmann::json &entry, const AmdKernel &kernel) {
  auto count = [&](const char *key) { return uint32_t(std::min<uint64_t>(numberOf(entry, key), UINT32_MAX)); };
  AmdRegisterCounts counts;
  counts.vector = entry.contains(".vgpr_count") ? count(".vgpr_count") : kernel.vectorRegisters();
  if (entry.contains(".agpr_count"))
    counts.accumulation = count(".agpr_count");
  else if (counts.vector > kernel.firstAccumulator())
    counts.accumulation = counts.vector - kernel.firstAccumulator();
  counts.accumulation = std::min(counts.accumulation, counts.vector);
  counts.scalar = entry.contains(".sgpr_count") ? count(".sgpr_count") : kernel.scalarRegisters();
  counts.vectorSpills = count(".vgpr_spill_count");
  counts.scalarSpills = count(".sgpr_spill_count");
  return counts;
}

void readKernels(const ElfImage &image, AmdCodeObject &object) {
  nlohmann::json metadata = readMetadata(image);
  auto kernels = metadata.find("amdhsa.kernels");
  if (!metadata.is_object() || kernels == metadata.end() || !kernels->is_array())
    image.fail("has metadata without kernels");
  std::vector<ElfSymbol> symbols = image.dynamicSymbols();
  for (const nlohmann::json &entry : *kernels) {
    if (!entry.is_object())
      image.fail("describes a kernel that is no map");
    AmdKernel kernel;
    kernel.name = textOf(entry, ".name");
    std::string symbol = textOf(entry, ".symbol");
    auto found = std::find_if(symbols.begin(), symbols.end(), [&](const ElfSymbol &s) { return s.name == symbol; });
    if (found == symbols.end() || !found->defined)
      image.fail(fmt::format("has no symbol `{}` for its kernel `{}`", symbol, kernel.name));
    kernel.descriptor = found->address;
    readDescriptor(image, object, kernel);
    kernel.kernargBytes = std::max(kernel.kernargBytes, wordOf(image, entry, ".kernarg_segment_size", kernel.name));
    if (kernel.kernargBytes > mostKernargBytes)
      image.fail(fmt::format("has {} bytes of arguments for kernel `{}`, and {} are the most", kernel.kernargBytes,
                             kernel.name, mostKernargBytes));
    kernel.mostWorkItems = wordOf(image, entry, ".max_flat_workgroup_size", kernel.name);
    readRequiredWorkgroup(image, entry, kernel);
    kernel.registers = readRegisterCounts(entry, kernel);
    kernel.dynamicStack = entry.value(".uses_dynamic_stack", nlohmann::json(false)) == true;
    kernel.declaredKernargBytes = kernel.kernargBytes;
    readArguments(image, entry, kernel);
    object.kernels.push_back(std::move(kernel));
  }
  std::sort(object.kernels.begin(), object.kernels.end(),
            [](const AmdKernel &a, const AmdKernel &b) { return a.name < b.name; });
}

} // namespace

const AmdKernel &AmdCodeObject::kernel(const std::string &name) const {
  std::vector<std::string> names;
  for (const AmdKernel &kernel : kernels) {
    if (kernel.name == name || (name.empty() && kernels.size() == 1))
      return kernel;
    names.push_back(kernel.name);
  }
  if (names.empty())
    throw inputError("the code object has no kernel");
  std::vector<std::string> notes = {fmt::format("it has `{}`", fmt::join(names, "`, `"))};
  if (name.empty())
    throw inputError(fmt::format("the code object has {} kernels, and none is named", names.size()),
                     {notes[0], "`--kernel NAME` says which"});
  if (std::string close = closestName(name, names); !close.empty())
    notes.insert(notes.begin(), fmt::format("the closest is `{}`", close));
  throw inputError(fmt::format("the code object has no kernel `{}`", name), notes);
}

bool isElf(std::string_view file) {
  return file.starts_with("\x7f"
                          "ELF");
}

/// What HIP's compiler makes unless it is told otherwise: code objects for several chips in one file.
static void refuseBundle(std::string_view file, const std::string &name) {
  if (!file.starts_with("__CLANG_OFFLOAD_BUNDLE__") && !file.starts_with("CCOB"))
    return;
  throw inputError(
      fmt::format("`{}` is a bundle of code objects", name),
      {"compile with `--no-gpu-bundle-output`, or take one out: `clang-offload-bundler --unbundle --type=o "
       "--targets=hipv4-amdgcn-amd-amdhsa--gfx942 --input=FILE --output=OBJECT`"});
}

AmdCodeObject parseAmdCodeObject(std::string_view file, const std::string &name) {
  refuseBundle(file, name);
  if (!isElf(file))
    throw inputError(fmt::format("`{}` is no ELF file", name),
                     {"a code object is what clang links for `amdgcn-amd-amdhsa`: `.hsaco`, or `.co`"});
  ElfImage image(file, name);
  if (image.machine() != amdMachine || image.osAbi() != hsaAbi)
    image.fail(fmt::format("is an ELF file of machine {} and OS ABI {}, and an AMD code object has {} and {}",
                           image.machine(), image.osAbi(), amdMachine, hsaAbi));
  if (image.type() != ElfImage::sharedObject)
    image.fail("is not linked", {"link it with `ld.lld -shared`, or compile it with clang, which does"});
  AmdCodeObject object;
  object.version = versionOf(image);
  object.chip = chipOf(image.flags());
  readSegments(image, object);
  readRelocations(image, object);
  readKernels(image, object);
  return object;
}

} // namespace heddle
