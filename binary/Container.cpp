// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reading trusts nothing: sizes are compared with the file before they are used.
#include "binary/Container.h"
#include "support/Error.h"
#include "support/Hash.h"
#include <cstring>
#include <fmt/format.h>

namespace heddle {
namespace {

constexpr size_t headerBytes = 32; // magic 8, version 4, zero 4, JSON size 8, binary size 8
constexpr size_t checksumBytes = 8;

template <typename T>
void appendLittleEndian(std::string &bytes, T value) {
  bytes.append(reinterpret_cast<const char *>(&value), sizeof value);
}

template <typename T>
T readLittleEndian(const std::string &bytes, size_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

} // namespace

std::string writeContainer(const ContainerKind &kind, const Container &contents) {
  std::string bytes(kind.magic);
  appendLittleEndian<uint32_t>(bytes, kind.version);
  appendLittleEndian<uint32_t>(bytes, 0);
  appendLittleEndian<uint64_t>(bytes, contents.json.size());
  appendLittleEndian<uint64_t>(bytes, contents.binary.size());
  bytes += contents.json;
  bytes += contents.binary;
  appendLittleEndian<uint64_t>(bytes, hashBytes(bytes));
  return bytes;
}

Container readContainer(const ContainerKind &kind, const std::string &bytes, const std::string &name) {
  if (!std::string_view(bytes).starts_with(kind.magic))
    throw inputError(fmt::format("{}: not a {}", name, kind.fullName), {kind.maker});
  auto truncated = [&](const std::string &wanted) {
    return inputError(fmt::format("{}: truncated {}: {} bytes of {}", name, kind.name, bytes.size(), wanted));
  };
  if (bytes.size() < headerBytes)
    throw truncated(fmt::format("at least {}", headerBytes + checksumBytes));
  auto version = readLittleEndian<uint32_t>(bytes, 8);
  if (version != kind.version)
    throw inputError(
        fmt::format("{}: {} format {}, this program reads format {}", name, kind.name, version, kind.version),
        {kind.remaker});
  auto jsonSize = readLittleEndian<uint64_t>(bytes, 16), binarySize = readLittleEndian<uint64_t>(bytes, 24);
  uint64_t total = headerBytes + checksumBytes;
  if (__builtin_add_overflow(total, jsonSize, &total) || __builtin_add_overflow(total, binarySize, &total))
    throw truncated("more than 2^64");
  if (bytes.size() < total)
    throw truncated(std::to_string(total));
  if (bytes.size() > total)
    throw inputError(
        fmt::format("{}: trailing bytes in the {}: {} bytes instead of {}", name, kind.name, bytes.size(), total));
  auto stored = readLittleEndian<uint64_t>(bytes, bytes.size() - checksumBytes);
  uint64_t computed = hashBytes(std::string_view(bytes).substr(0, bytes.size() - checksumBytes));
  if (stored != computed)
    throw inputError(
        fmt::format("{}: damaged {}: checksum {:016x}, the contents have {:016x}", name, kind.name, stored, computed));
  return {bytes.substr(headerBytes, jsonSize), bytes.substr(headerBytes + jsonSize, binarySize)};
}

} // namespace heddle
