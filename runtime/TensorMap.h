// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The tensor maps of a launch: what its arguments say of the tensors that bulk copies move boxes of. A driver encodes
// them for its device. Source of the limits: CUDA driver API, 13.0, `cuTensorMapEncodeTiled`.
#pragma once
#include "binary/Package.h"
#include "support/ElementType.h"
#include <cstdint>
#include <span>
#include <vector>

namespace heddle {

struct TensorMap {
  ElementType type;
  int64_t elementBytes;
  uint64_t address;                  ///< a multiple of 16
  std::vector<uint64_t> sizes;       ///< elements, outermost axis first; 1 to 2^31 - 1
  std::vector<uint64_t> strideBytes; ///< likewise; multiples of 16 below 2^40, the last is `elementBytes`
  std::vector<uint32_t> box;         ///< elements, likewise; 1 to 256
  int64_t swizzle;                   ///< bytes: 0, 32, 64 or 128
};

/// Throws Error{Input} for maps that contradict the package's arguments or that no device has: an unknown type, a rank
/// outside 1 to 5, a box of more than 256 elements, inner rows that are no multiple of 16 bytes or longer than the
/// swizzle's pattern.
void checkTensorMaps(const Package &package);

/// The maps of a launch with these values of all arguments, 8 bytes each, in the order of `package.tensorMaps`, which
/// passed checkTensorMaps. Throws Error{Input} for a base that is no multiple of 16 bytes, a stride that is none, is
/// negative or 2^40 bytes or more, a last stride other than 1, and a size below 1. Along an axis of one element the
/// stride does not matter.
std::vector<TensorMap> resolveTensorMaps(const Package &package, std::span<const uint64_t> arguments);

} // namespace heddle
