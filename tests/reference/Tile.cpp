// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Types, shapes and indices of tiles, and tiles of one value.
#include "tests/reference/Tile.h"
#include "compiler/dialects/triton/Triton.h"
#include "support/Error.h"

using namespace mlir;
using namespace heddle::reference;

Type Tile::elementType() const {
  return getElementTypeOrSelf(type);
}

ArrayRef<int64_t> Tile::shape() const {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor ? tensor.getShape() : ArrayRef<int64_t>();
}

int64_t heddle::reference::elementCount(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor ? tensor.getNumElements() : 1;
}

unsigned heddle::reference::elementWidth(Type type) {
  Type element = getElementTypeOrSelf(type);
  return isa<triton::PointerType>(element) ? 64 : element.getIntOrFloatBitWidth();
}

unsigned heddle::reference::elementBytes(Type type) {
  unsigned width = elementWidth(type);
  if (width == 4)
    throw inputError("the reference evaluator does not store i4");
  return width == 1 ? 1 : width / 8;
}

const FloatFormat &heddle::reference::formatOf(Type type) {
  Type element = getElementTypeOrSelf(type);
  if (element.isF64())
    return formatF64;
  if (element.isF32())
    return formatF32;
  if (element.isF16())
    return formatF16;
  if (element.isBF16())
    return formatBF16;
  if (isa<Float8E4M3FNType>(element))
    return formatE4M3FN;
  if (isa<Float8E5M2Type>(element))
    return formatE5M2;
  if (isa<Float8E4M3FNUZType>(element))
    return formatE4M3FNUZ;
  if (isa<Float8E5M2FNUZType>(element))
    return formatE5M2FNUZ;
  throw inputError("the reference evaluator knows no such floating-point type");
}

Tile heddle::reference::filled(Type type, uint64_t bits) {
  return Tile{type, std::vector<uint64_t>(elementCount(type), truncateBits(bits, elementWidth(type)))};
}

int64_t heddle::reference::signedAt(const Tile &tile, int64_t index) {
  return signExtend(tile.bits[index], elementWidth(tile.type));
}

std::vector<int64_t> heddle::reference::unravel(int64_t linear, ArrayRef<int64_t> shape) {
  std::vector<int64_t> coordinates(shape.size());
  for (size_t d = shape.size(); d-- > 0;) {
    coordinates[d] = linear % shape[d];
    linear /= shape[d];
  }
  return coordinates;
}

int64_t heddle::reference::ravel(ArrayRef<int64_t> coordinates, ArrayRef<int64_t> shape) {
  int64_t linear = 0;
  for (size_t d = 0; d < shape.size(); ++d)
    linear = linear * shape[d] + coordinates[d];
  return linear;
}
