// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Source: https://github.com/msgpack/msgpack/blob/master/spec.md
#include "binary/MessagePack.h"
#include "support/Error.h"
#include <bit>
#include <fmt/format.h>

namespace heddle {
namespace {

constexpr int deepest = 32;

class Reader {
public:
  explicit Reader(std::string_view bytes) : bytes(bytes) {}

  nlohmann::json readValue(int depth);
  void expectEnd() {
    if (at != bytes.size())
      fail(fmt::format("{} bytes follow the value", bytes.size() - at));
  }

private:
  [[noreturn]] void fail(const std::string &what) const {
    throw inputError(fmt::format("malformed MessagePack at byte {}: {}", at, what));
  }
  std::string_view take(uint64_t count) {
    if (count > bytes.size() - at)
      fail(fmt::format("{} bytes expected, {} left", count, bytes.size() - at));
    std::string_view taken = bytes.substr(at, count);
    at += count;
    return taken;
  }
  uint64_t readBigEndian(unsigned size) {
    uint64_t value = 0;
    for (char byte : take(size))
      value = value << 8 | uint8_t(byte);
    return value;
  }
  int64_t readSigned(unsigned size) {
    unsigned unused = 64 - 8 * size;
    return int64_t(readBigEndian(size) << unused) >> unused;
  }
  nlohmann::json readString(uint64_t size) { return std::string(take(size)); }
  nlohmann::json readArray(uint64_t count, int depth);
  nlohmann::json readMap(uint64_t count, int depth);
  nlohmann::json readTagged(uint8_t tag, int depth);

  std::string_view bytes;
  size_t at = 0;
};

nlohmann::json Reader::readArray(uint64_t count, int depth) {
  nlohmann::json array = nlohmann::json::array();
  for (uint64_t i = 0; i < count; ++i)
    array.push_back(readValue(depth + 1));
  return array;
}

nlohmann::json Reader::readMap(uint64_t count, int depth) {
  nlohmann::json map = nlohmann::json::object();
  for (uint64_t i = 0; i < count; ++i) {
    nlohmann::json key = readValue(depth + 1);
    if (!key.is_string())
      fail("a key that is no string");
    map[key.get<std::string>()] = readValue(depth + 1);
  }
  return map;
}

nlohmann::json Reader::readTagged(uint8_t tag, int depth) {
  switch (tag) {
  case 0xc0:
    return nullptr;
  case 0xc2:
  case 0xc3:
    return tag == 0xc3;
  case 0xc4:
  case 0xc5:
  case 0xc6:
    return readString(readBigEndian(1u << (tag - 0xc4)));
  case 0xca:
    return std::bit_cast<float>(uint32_t(readBigEndian(4)));
  case 0xcb:
    return std::bit_cast<double>(readBigEndian(8));
  case 0xcc:
  case 0xcd:
  case 0xce:
  case 0xcf:
    return readBigEndian(1u << (tag - 0xcc));
  case 0xd0:
  case 0xd1:
  case 0xd2:
  case 0xd3:
    return readSigned(1u << (tag - 0xd0));
  case 0xd9:
  case 0xda:
  case 0xdb:
    return readString(readBigEndian(1u << (tag - 0xd9)));
  case 0xdc:
  case 0xdd:
    return readArray(readBigEndian(tag == 0xdc ? 2 : 4), depth);
  case 0xde:
  case 0xdf:
    return readMap(readBigEndian(tag == 0xde ? 2 : 4), depth);
  default:
    fail(fmt::format("type 0x{:02x}, which is not read here", tag));
  }
}

nlohmann::json Reader::readValue(int depth) {
  if (depth > deepest)
    fail(fmt::format("values nested deeper than {}", deepest));
  uint8_t tag = uint8_t(take(1)[0]);
  if (tag < 0x80)
    return tag;
  if (tag < 0x90)
    return readMap(tag & 15, depth);
  if (tag < 0xa0)
    return readArray(tag & 15, depth);
  if (tag < 0xc0)
    return readString(tag & 31);
  if (tag >= 0xe0)
    return int(int8_t(tag));
  return readTagged(tag, depth);
}

} // namespace

nlohmann::json parseMessagePack(std::string_view bytes) {
  Reader reader(bytes);
  nlohmann::json value = reader.readValue(0);
  reader.expectEnd();
  return value;
}

} // namespace heddle
