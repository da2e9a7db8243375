// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A little-endian 64-bit ELF file in memory, every offset and size checked before it is used. It knows no vendor.
#pragma once
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace heddle {

struct ElfProgramHeader {
  static constexpr uint32_t load = 1, note = 4;
  uint32_t type = 0, flags = 0; ///< flags: 1 execute, 2 write, 4 read
  uint64_t offset = 0, address = 0, sizeInFile = 0, sizeInMemory = 0, alignment = 0;
};

struct ElfSymbol {
  std::string name;
  uint64_t address = 0, sizeBytes = 0;
  bool defined = false;
};

struct ElfRelocation {
  uint64_t address = 0;
  uint32_t type = 0, symbol = 0;
  int64_t addend = 0;
};

struct ElfNote {
  std::string_view name;
  uint32_t type = 0;
  std::string_view description;
};

class ElfImage {
public:
  static constexpr uint16_t sharedObject = 3;

  /// `file` must outlive the image. Throws Error{Input} when it does not begin as a little-endian 64-bit ELF file.
  ElfImage(std::string_view file, const std::string &name);

  uint8_t osAbi() const { return uint8_t(file[7]); }
  uint8_t abiVersion() const { return uint8_t(file[8]); }
  uint16_t type() const { return read<uint16_t>(16); }
  uint16_t machine() const { return read<uint16_t>(18); }
  uint32_t flags() const { return read<uint32_t>(48); }

  // Each throws Error{Input} for what lies outside the file.
  std::vector<ElfProgramHeader> programHeaders() const;
  std::vector<ElfSymbol> dynamicSymbols() const;  ///< of the first such section
  std::vector<ElfRelocation> relocations() const; ///< those with addends
  std::vector<ElfNote> notes(const ElfProgramHeader &header) const;
  std::string_view bytes(uint64_t offset, uint64_t sizeBytes) const;

  /// Throws Error{Input} `NAME WHAT`.
  [[noreturn]] void fail(const std::string &what, std::vector<std::string> notes = {}) const;

private:
  struct Section {
    uint32_t type, link;
    uint64_t flags, offset, sizeBytes, entryBytes;
  };
  std::vector<Section> sections() const;
  std::string textAt(const Section &strings, uint64_t offset) const;
  template <typename T>
  T read(uint64_t offset) const {
    T value;
    std::memcpy(&value, bytes(offset, sizeof value).data(), sizeof value);
    return value;
  }

  std::string_view file;
  std::string name;
};

} // namespace heddle
