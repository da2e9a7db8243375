// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The form that packages and bundles have as files: an 8-byte magic, format version, zero, the sizes of a JSON
// description and of a binary, both, and an xxHash checksum over everything before it; docs/package.md states the
// bytes.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace heddle {

/// What a kind of file calls itself.
struct ContainerKind {
  std::string_view magic; ///< 8 bytes
  uint32_t version;
  const char *name;     ///< `package`, for messages
  const char *fullName; ///< `kernel package`
  const char *maker;    ///< a note: how one is made
  const char *remaker;  ///< a note: what to do with one of another format
};

struct Container {
  std::string json, binary;
};

/// The file's bytes: equal contents give equal bytes.
std::string writeContainer(const ContainerKind &kind, const Container &contents);
/// Throws Error{Input} naming what is wrong: another magic, another format (both versions), truncated or too long (both
/// sizes), checksum mismatch (both values). `name` is the file's name for the message.
Container readContainer(const ContainerKind &kind, const std::string &bytes, const std::string &name);

} // namespace heddle
