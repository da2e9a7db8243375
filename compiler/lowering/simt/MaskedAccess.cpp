// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Writes LLVM's masked intrinsics, which take vectors also where there is one element.
#include "compiler/lowering/simt/MaskedAccess.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace heddle;

static Value first(ImplicitLocOpBuilder &b) {
  return arith::ConstantIntOp::create(b, 0, 32);
}

// LLVM's masked operations are of vectors: one element is a vector of one.
static Value asVector(ImplicitLocOpBuilder &b, Value value) {
  if (isa<VectorType>(value.getType()))
    return value;
  Value empty = LLVM::PoisonOp::create(b, VectorType::get(1, value.getType()));
  return LLVM::InsertElementOp::create(b, empty, value, first(b));
}

// All elements of an access have one mask.
static Value maskOf(ImplicitLocOpBuilder &b, Value bit, VectorType type) {
  VectorType bits = type.clone(b.getI1Type());
  Value one = LLVM::InsertElementOp::create(b, LLVM::PoisonOp::create(b, bits), bit, first(b));
  if (type.getNumElements() == 1)
    return one;
  SmallVector<int32_t> everywhere(size_t(type.getNumElements()), 0);
  return LLVM::ShuffleVectorOp::create(b, one, LLVM::PoisonOp::create(b, bits), everywhere);
}

static unsigned bytesOf(VectorType type) {
  return unsigned(type.getNumElements()) * type.getElementTypeBitWidth() / 8;
}

Value simt::maskedLoad(ImplicitLocOpBuilder &b, Value pointer, Value mask, Value other) {
  Value otherwise = asVector(b, other);
  auto type = cast<VectorType>(otherwise.getType());
  Value loaded = LLVM::MaskedLoadOp::create(b, type, pointer, maskOf(b, mask, type), otherwise,
                                            b.getI32IntegerAttr(int32_t(bytesOf(type))), /*nontemporal=*/UnitAttr());
  return type == other.getType() ? loaded : Value(LLVM::ExtractElementOp::create(b, loaded, first(b)));
}

void simt::maskedStore(ImplicitLocOpBuilder &b, Value value, Value pointer, Value mask) {
  Value whole = asVector(b, value);
  auto type = cast<VectorType>(whole.getType());
  LLVM::MaskedStoreOp::create(b, whole, pointer, maskOf(b, mask, type), bytesOf(type));
}
