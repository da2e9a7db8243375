// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Structures of the C interface that grow at the end: between callers and libraries of different versions.
#pragma once
#include "include/heddle.h"
#include "support/Error.h"
#include <algorithm>
#include <cstring>
#include <fmt/format.h>

namespace heddle {

/// No structure is larger; a greater size is one that was not set.
inline constexpr size_t largestStructure = 4096;

/// Throws Error{Input} unless `size`, which the caller set, is at least that of the structure's first version.
inline void requireStructureSize(size_t size, size_t firstSize, const char *parameter) {
  if (size < firstSize || size > largestStructure)
    throw inputError(
        fmt::format("`{}->struct_size` is {}, and the structure has at least {} bytes", parameter, size, firstSize),
        {fmt::format("set it to `sizeof *{}`", parameter)});
}

/// The caller's structure in the form of this library: what an older caller lacks is 0. Throws Error{Input} where a
/// newer caller sets what this library does not know.
template <typename Structure>
Structure readStructure(const Structure *given, size_t firstSize, const char *parameter) {
  size_t size = given->struct_size;
  requireStructureSize(size, firstSize, parameter);
  const char *bytes = reinterpret_cast<const char *>(given);
  if (size > sizeof(Structure) && std::any_of(bytes + sizeof(Structure), bytes + size, [](char each) { return each; }))
    throw inputError(fmt::format("`{}` sets fields beyond the {} bytes that interface version {} knows", parameter,
                                 sizeof(Structure), HEDDLE_INTERFACE_VERSION));
  Structure read = {};
  std::memcpy(&read, given, std::min(size, sizeof read));
  return read;
}

/// Fills as much of the caller's structure as the caller knows; what this library does not know is 0.
template <typename Structure>
void writeStructure(Structure *place, Structure value, size_t firstSize, const char *parameter) {
  size_t size = place->struct_size;
  requireStructureSize(size, firstSize, parameter);
  value.struct_size = size;
  char *bytes = reinterpret_cast<char *>(place);
  std::memcpy(bytes, &value, std::min(size, sizeof value));
  if (size > sizeof value)
    std::memset(bytes + sizeof value, 0, size - sizeof value);
}

} // namespace heddle
