// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The interpreter's tensor maps of a launch.
#pragma once
#include "runtime/TensorMap.h"
#include "tests/thread_interpreter/TensorMap.h"

namespace heddle::threads {

inline TensorElement tensorElementOf(ElementType type) {
  switch (type) {
  case ElementType::F16:
    return TensorElement::F16;
  case ElementType::BF16:
    return TensorElement::BF16;
  case ElementType::F32:
    return TensorElement::F32;
  case ElementType::F64:
    return TensorElement::F64;
  case ElementType::I16:
    return TensorElement::I16;
  case ElementType::I32:
    return TensorElement::I32;
  case ElementType::I64:
    return TensorElement::I64;
  default: // of one byte
    return TensorElement::Byte;
  }
}

inline TensorMap encode(const heddle::TensorMap &map) {
  TensorMap encoded;
  encoded.address = map.address;
  encoded.element = tensorElementOf(map.type);
  encoded.rank = uint8_t(map.box.size());
  encoded.swizzle = uint8_t(map.swizzle);
  for (size_t axis = 0; axis < map.box.size(); ++axis) {
    size_t outermostFirst = map.box.size() - 1 - axis;
    encoded.strideBytes[axis] = map.strideBytes[outermostFirst];
    encoded.sizes[axis] = uint32_t(map.sizes[outermostFirst]);
    encoded.box[axis] = uint16_t(map.box[outermostFirst]);
  }
  return encoded;
}

/// Of a launch with these values of the package's arguments. Errors as of checkTensorMaps and resolveTensorMaps.
inline std::vector<TensorMap> encodeTensorMaps(const Package &package, std::span<const uint64_t> arguments) {
  checkTensorMaps(package);
  std::vector<TensorMap> maps;
  for (const heddle::TensorMap &map : resolveTensorMaps(package, arguments))
    maps.push_back(encode(map));
  return maps;
}

} // namespace heddle::threads
