// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Messages between processes: a header of 16 bytes (magic, version, kind, length, checksum; little endian) and a body
// of bounded length. What arrives is untrusted: every field is checked before it is used.
#pragma once
#include "support/Error.h"
#include <cstdint>
#include <string>
#include <string_view>

namespace heddle {

/// Processes of different versions refuse each other.
inline constexpr uint16_t processProtocolVersion = 3;
inline constexpr size_t frameHeaderBytes = 16;

enum class FrameKind : uint16_t {
  // ---- of a bootstrap ----
  Challenge = 1,
  Hello,
  Welcome,
  Refusal,
  Gather,
  All,
  Failure,
  // ---- between processes ----
  Introduction,
  Data,
  Abort,
  Goodbye,
  Probe,
  Answer,
  last = Answer
};

struct Frame {
  FrameKind kind = FrameKind::Challenge;
  std::string body;
};

std::string encodeFrame(FrameKind kind, std::string_view body);

/// Puts a frame together from the bytes of a stream.
class FrameReader {
public:
  /// `sender` is for messages: `rank 2`, `a process with pid 71`.
  explicit FrameReader(std::string sender, size_t mostBodyBytes) : sender(std::move(sender)), most(mostBodyBytes) {}

  /// Takes bytes up to the end of the frame; how many those are. Throws Error{Environment} naming the sender for
  /// another magic, version, kind, length or checksum.
  size_t feed(std::string_view bytes);
  bool isComplete() const { return hasHeader && frame.body.size() == length; }
  size_t wanted() const { return (hasHeader ? length : frameHeaderBytes) - collected().size(); }
  /// The complete frame; the reader then begins again.
  Frame take();
  const std::string &from() const { return sender; }

private:
  const std::string &collected() const { return hasHeader ? frame.body : header; }
  void readHeader();

  std::string sender, header;
  size_t most, length = 0;
  uint32_t checksum = 0;
  bool hasHeader = false;
  Frame frame;
};

/// The body of a frame, written and read field by field.
class FieldWriter {
public:
  FieldWriter &number(uint64_t value);
  FieldWriter &text(std::string_view bytes); ///< its length, then the bytes
  std::string bytes;
};

class FieldReader {
public:
  FieldReader(std::string_view bytes, std::string sender) : left(bytes), sender(std::move(sender)) {}
  // Each throws Error{Environment} naming the sender where the field is not there, or breaks its bound.
  uint64_t number(uint64_t most = UINT64_MAX);
  std::string text(size_t mostBytes);
  void end() const; ///< nothing may follow

private:
  std::string_view left;
  std::string sender;
};

} // namespace heddle
