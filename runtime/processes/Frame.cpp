// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Writes frames, and reads them from bytes that come in pieces.
#include "runtime/processes/Frame.h"
#include "support/Hash.h"
#include <algorithm>
#include <fmt/format.h>

namespace heddle {
namespace {

constexpr uint32_t magic = 0x4C444548; // `HEDL`

template <typename T>
void append(std::string &bytes, T value) {
  for (size_t i = 0; i < sizeof value; ++i)
    bytes += char(value >> (8 * i));
}

template <typename T>
T valueAt(std::string_view bytes, size_t at) {
  T value = 0;
  for (size_t i = 0; i < sizeof value; ++i)
    value = T(value | T(T(static_cast<unsigned char>(bytes[at + i])) << (8 * i)));
  return value;
}

/// Of the body, and of the fields of the header that no other check covers.
uint32_t checksumOf(FrameKind kind, std::string_view body) {
  return uint32_t((hashBytes(body) + (uint64_t(kind) << 32 | body.size()) * 0x9E3779B97F4A7C15u) >> 16);
}

} // namespace

std::string encodeFrame(FrameKind kind, std::string_view body) {
  std::string bytes;
  bytes.reserve(frameHeaderBytes + body.size());
  append(bytes, magic);
  append(bytes, processProtocolVersion);
  append(bytes, uint16_t(kind));
  append(bytes, uint32_t(body.size()));
  append(bytes, checksumOf(kind, body));
  return bytes.append(body);
}

void FrameReader::readHeader() {
  if (uint32_t seen = valueAt<uint32_t>(header, 0); seen != magic)
    throw environmentError(
        fmt::format("{} sent no message of heddle: it begins with {:#010x}, not {:#010x}", sender, seen, magic));
  if (uint16_t version = valueAt<uint16_t>(header, 4); version != processProtocolVersion)
    throw environmentError(fmt::format("{} speaks version {} of the protocol between processes, this one version {}",
                                       sender, version, processProtocolVersion),
                           {"all processes of a group run the same heddle"});
  uint16_t kind = valueAt<uint16_t>(header, 6);
  if (kind < 1 || kind > uint16_t(FrameKind::last))
    throw environmentError(fmt::format("{} sent a message of the unknown kind {}", sender, kind));
  length = valueAt<uint32_t>(header, 8);
  if (length > most)
    throw environmentError(fmt::format("{} sent a message of {} bytes, at most {} are allowed", sender, length, most));
  checksum = valueAt<uint32_t>(header, 12);
  frame.kind = FrameKind(kind);
  hasHeader = true;
}

size_t FrameReader::feed(std::string_view bytes) {
  size_t taken = 0;
  if (!hasHeader) {
    taken = std::min(bytes.size(), wanted());
    header.append(bytes.substr(0, taken));
    if (header.size() < frameHeaderBytes)
      return taken;
    readHeader();
  }
  size_t more = std::min(bytes.size() - taken, wanted());
  frame.body.append(bytes.substr(taken, more));
  if (isComplete() && checksumOf(frame.kind, frame.body) != checksum)
    throw environmentError(
        fmt::format("{} sent a damaged message: its checksum is {:#010x}, that of its {} bytes {:#010x}", sender,
                    checksum, length, checksumOf(frame.kind, frame.body)));
  return taken + more;
}

Frame FrameReader::take() {
  Frame taken = std::move(frame);
  frame = {};
  header.clear();
  hasHeader = false;
  length = 0;
  return taken;
}

FieldWriter &FieldWriter::number(uint64_t value) {
  append(bytes, value);
  return *this;
}

FieldWriter &FieldWriter::text(std::string_view value) {
  append(bytes, uint32_t(value.size()));
  bytes.append(value);
  return *this;
}

uint64_t FieldReader::number(uint64_t most) {
  if (left.size() < 8)
    throw environmentError(fmt::format("{} sent a message that ends too early", sender));
  uint64_t value = valueAt<uint64_t>(left, 0);
  if (value > most)
    throw environmentError(fmt::format("{} sent the number {}, at most {} is allowed", sender, value, most));
  left.remove_prefix(8);
  return value;
}

std::string FieldReader::text(size_t mostBytes) {
  if (left.size() < 4)
    throw environmentError(fmt::format("{} sent a message that ends too early", sender));
  size_t size = valueAt<uint32_t>(left, 0);
  if (size > mostBytes || size > left.size() - 4)
    throw environmentError(fmt::format("{} sent a text of {} bytes, at most {} are allowed and {} are there", sender,
                                       size, mostBytes, left.size() - 4));
  std::string value(left.substr(4, size));
  left.remove_prefix(4 + size);
  return value;
}

void FieldReader::end() const {
  if (!left.empty())
    throw environmentError(fmt::format("{} sent a message with {} bytes too many", sender, left.size()));
}

} // namespace heddle
