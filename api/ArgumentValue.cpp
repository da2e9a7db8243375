// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reads the text of one value: prefixes for its memory, addresses of buffers, numbers with a type.
#include "api/ArgumentValue.h"
#include "support/Error.h"
#include "support/File.h"
#include "support/Npy.h"
#include <charconv>
#include <fmt/format.h>

namespace heddle {
namespace {

using namespace simulator;

constexpr uint64_t mostSlackBytes = uint64_t(1) << 30;

bool takePrefix(std::string &rest, std::string_view prefix) {
  bool found = rest.starts_with(prefix);
  rest.erase(0, found ? prefix.size() : 0);
  return found;
}

/// `N:` after `slack:`
uint64_t takeSlack(std::string &rest, const std::string &text) {
  size_t colon = rest.find(':');
  std::optional<uint64_t> bytes = parseWholeNumber(std::string_view(rest).substr(0, colon));
  if (colon == std::string::npos || !bytes || *bytes == 0 || *bytes > mostSlackBytes)
    throw inputError(
        fmt::format("value `{}`: `{}` is no number of bytes from 1 to {}", text, rest.substr(0, colon), mostSlackBytes),
        {"`slack:256:f32[64]` is a buffer with 256 readable bytes after it"});
  rest.erase(0, colon + 1);
  return *bytes;
}

/// Prefixes that say where a buffer lies, in any order. Whether there were any.
bool takePlacement(ArgumentValue &value, std::string &rest) {
  bool isPlaced = false, any = true;
  while (std::exchange(any, false)) {
    if (takePrefix(rest, "slack:"))
      value.slackBytes = takeSlack(rest, value.text), any = true;
    else if (takePrefix(rest, "host:"))
      value.onHost = any = true;
    else if (takePrefix(rest, "fine:"))
      value.placement = Placement::FineGrained, any = true;
    else if (takePrefix(rest, "uncached:"))
      value.placement = Placement::Uncached, any = true;
    isPlaced |= any;
  }
  return isPlaced;
}

unsigned deviceNamed(const std::string &name, const std::string &text, unsigned device, unsigned devices) {
  if (name == "next")
    return (device + 1) % devices;
  if (name == "previous")
    return (device + devices - 1) % devices;
  std::optional<uint64_t> number = parseWholeNumber(name);
  if (!number || *number >= devices)
    throw inputError(
        fmt::format("value `{}`: `{}` is no device; {}", text, name,
                    devices == 1 ? "there is device 0" : fmt::format("there are devices 0 to {}", devices - 1)),
        {"`addr:x@1` is the address of `x` on device 1, `addr:x@next` that on the next device"});
  return unsigned(*number);
}

/// `NAME`, `NAME@DEVICE`, `NAME+OFFSET` or `NAME@DEVICE+OFFSET`
void parseAddress(ArgumentValue &value, std::string rest, unsigned device, unsigned devices) {
  value.kind = ArgumentValue::Kind::Address;
  if (size_t plus = rest.rfind('+'); plus != std::string::npos) {
    std::optional<uint64_t> offset = parseWholeNumber(std::string_view(rest).substr(plus + 1));
    if (!offset)
      throw inputError(fmt::format("value `{}`: `{}` is no number of bytes", value.text, rest.substr(plus + 1)),
                       {"`addr:x+64` is the address of the byte 64 of `x`"});
    value.offset = *offset;
    rest.erase(plus);
  }
  value.device = device;
  if (size_t at = rest.rfind('@'); at != std::string::npos) {
    value.device = deviceNamed(rest.substr(at + 1), value.text, device, devices);
    rest.erase(at);
  }
  if (rest.empty())
    throw inputError(fmt::format("value `{}` names no buffer", value.text),
                     {"`addr:x` is the address of the buffer `x`"});
  value.buffer = rest;
}

/// `f32:1.5`: a number that says its type.
bool takeTyped(ArgumentValue &value, const std::string &rest) {
  size_t colon = rest.find(':');
  if (colon == std::string::npos)
    return false;
  value.type = findElementType(rest.substr(0, colon));
  if (!value.type)
    return false;
  value.spec.text = rest.substr(colon + 1);
  return true;
}

} // namespace

std::optional<uint64_t> parseWholeNumber(std::string_view text) {
  uint64_t value = 0;
  auto [stop, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (status != std::errc() || stop != text.data() + text.size())
    return std::nullopt;
  return value;
}

std::string readArgumentBytes(const std::string &path) {
  std::string bytes = readFile(path);
  return bytes.starts_with("\x93NUMPY") ? parseNpy(bytes, path).bytes : bytes;
}

bool isFloatingText(const std::string &text) {
  bool isHex = text.find('x') != std::string::npos, isTruth = text == "true" || text == "false";
  return !isHex && !isTruth && text.find_first_of(".en") != std::string::npos; // also inf and nan
}

ArgumentValue parseArgumentValue(const std::string &text, unsigned device, unsigned devices) {
  ArgumentValue value;
  value.text = text;
  std::string rest = text;
  if (rest == "rank" || rest == "devices") {
    value.spec.text = std::to_string(rest == "rank" ? device : devices);
    return value;
  }
  if (rest == "null") {
    value.kind = ArgumentValue::Kind::Null;
    return value;
  }
  if (takePrefix(rest, "addr:")) {
    parseAddress(value, rest, device, devices);
    return value;
  }
  if (takeTyped(value, rest))
    return value;
  bool isPlaced = takePlacement(value, rest);
  bool saysZeros = takePrefix(rest, "zeros:");
  value.spec = saysZeros ? parseBufferShape(rest) : parseBufferSpec(rest);
  value.isInitialised = saysZeros || value.spec.kind != BufferSpec::Kind::Zeros;
  if (isPlaced && value.spec.kind == BufferSpec::Kind::Scalar)
    throw inputError(fmt::format("value `{}`: `{}` is not a buffer", text, rest));
  if (value.spec.kind != BufferSpec::Kind::Scalar)
    value.kind = ArgumentValue::Kind::Buffer;
  if (!value.onHost)
    value.spec.seed += device;
  return value;
}

} // namespace heddle
