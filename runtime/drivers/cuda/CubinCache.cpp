// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An entry: magic, size of the PTX, PTX, cubin, checksum of all before it.
#include "runtime/drivers/cuda/CubinCache.h"
#include "support/Error.h"
#include "support/File.h"
#include "support/Hash.h"
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <string_view>

namespace heddle {
namespace {

constexpr std::string_view magic("HEDDLEC1");
constexpr size_t headerBytes = 16, checksumBytes = 8;

std::string bytesOf(uint64_t value) {
  return std::string(reinterpret_cast<const char *>(&value), sizeof value);
}

uint64_t valueAt(std::string_view bytes, size_t offset) {
  uint64_t value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

/// The code in an entry for this PTX.
std::optional<std::string> codeIn(std::string_view entry, std::string_view ptx) {
  if (entry.size() < headerBytes + checksumBytes || !entry.starts_with(magic))
    return std::nullopt;
  size_t end = entry.size() - checksumBytes;
  if (valueAt(entry, end) != hashBytes(entry.substr(0, end)) || valueAt(entry, magic.size()) != ptx.size() ||
      end - headerBytes < ptx.size() || entry.substr(headerBytes, ptx.size()) != ptx)
    return std::nullopt;
  return std::string(entry.substr(headerBytes + ptx.size(), end - headerBytes - ptx.size()));
}

} // namespace

CubinCache::CubinCache(std::string folder, std::string maker) : folder(std::move(folder)), maker(std::move(maker)) {}

std::string CubinCache::path(const std::string &ptx) const {
  return folder + "/cuda-" + maker + "-" + hashHex(ptx) + ".cubin";
}

std::optional<std::string> CubinCache::find(const std::string &ptx) const {
  std::error_code code;
  if (folder.empty() || !std::filesystem::is_regular_file(path(ptx), code))
    return std::nullopt;
  try {
    return codeIn(readFile(path(ptx)), ptx);
  } catch (const Error &) { // made again
    return std::nullopt;
  }
}

void CubinCache::store(const std::string &ptx, const std::string &cubin) const noexcept {
  if (folder.empty())
    return;
  try {
    std::filesystem::create_directories(folder);
    std::string entry(magic);
    entry += bytesOf(ptx.size()) + ptx + cubin;
    entry += bytesOf(hashBytes(entry));
    writeFileAtomically(path(ptx), entry);
  } catch (const std::exception &) { // the next process compiles again
  }
}

} // namespace heddle
