// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The values of arguments and buffers of simulated code objects: what support/BufferSpec.h has, and what only a
// simulated launch can give. docs/simulator-code-objects.md lists them.
#pragma once
#include "simulator/memory/AddressSpace.h"
#include "support/BufferSpec.h"
#include <optional>

namespace heddle {

struct ArgumentValue {
  enum class Kind {
    Buffer,  ///< `@file.npy`, `f32[64]`, `rand:f32[64]:7`, `ptrs:A,B`; before it `host:`, `fine:`, `uncached:`,
             ///< `slack:N:`
    Scalar,  ///< `3`, `rank`, `f32:1.5`
    Null,    ///< `null`: the address 0
    Address, ///< `addr:NAME@DEVICE+OFFSET`
  };
  Kind kind = Kind::Scalar;
  std::string text; ///< as given
  BufferSpec spec;  ///< of Buffer and Scalar
  simulator::Placement placement = simulator::Placement::Normal;
  bool onHost = false;
  bool isInitialised = true;       ///< else only type and extents were given
  uint64_t slackBytes = 0;         ///< readable bytes after the buffer
  std::optional<ElementType> type; ///< of a Scalar that says its own
  std::string buffer;              ///< of Address, without `@DEVICE`
  unsigned device = 0;             ///< of Address: whose buffer
  uint64_t offset = 0;             ///< of Address: bytes from its first one
};

/// As `device` of `devices` gets it. Throws Error{Input} with the forms of a value.
ArgumentValue parseArgumentValue(const std::string &text, unsigned device, unsigned devices);

/// Whether a number has a fraction, an exponent, or is `inf` or `nan`.
bool isFloatingText(const std::string &text);

/// The bytes of a file; those of the array where it is a .npy.
std::string readArgumentBytes(const std::string &path);

/// All of `text` as an unsigned decimal number.
std::optional<uint64_t> parseWholeNumber(std::string_view text);

} // namespace heddle
