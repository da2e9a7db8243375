// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Rules of atomic accesses to global memory and of fences.
#include "compiler/dialects/simt/SimtVerify.h"
#include "compiler/dialects/triton/TritonVerify.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::simt;
using triton::MemSemantic;
using triton::verifySemantic;

LogicalResult simt::verifyUpdate(Operation *op, triton::RMWOp kind, Type element) {
  // Rule S37: integer updates of integers, `fadd` of floats; both are exchanged.
  bool isFloat = isa<FloatType>(element), sumsFloats = kind == triton::RMWOp::FAdd;
  if (kind != triton::RMWOp::Exchange && isFloat != sumsFloats)
    return op->emitOpError() << "has kind '" << stringifyRMWOp(kind) << "' for elements of " << element;
  return success();
}

static LogicalResult verifyElement(Operation *op, Type type, unsigned leastBits) {
  // Rule S59: one access is a number of 8 to 64 bits; what compares it has 16 or more, and so has a float that is added
  // to.
  Type element = triton::elementTypeOf(type);
  unsigned bits = element.isIntOrFloat() ? triton::elementBits(element) : 0;
  if (bits >= leastBits && bits <= 64 && llvm::isPowerOf2_32(bits))
    return success();
  return op->emitOpError() << "works on numbers of " << leastBits << " to 64 bits, not on " << element;
}

LogicalResult GlobalUpdateOp::verify() {
  Type value = getValue().getType();
  if (failed(verifyAccess(*this, getPointer().getType(), int64_t(getElements()), int64_t(getAxis()),
                          {getValue(), getResult()}, getMask())) ||
      failed(verifyUpdate(*this, getKind(), triton::elementTypeOf(value))))
    return failure();
  return verifyElement(*this, value, getKind() == triton::RMWOp::FAdd ? 16 : 8);
}

LogicalResult GlobalSwapOp::verify() {
  if (failed(verifyAccess(*this, getPointer().getType(), 1, 0, {getExpected(), getValue(), getResult()}, getMask())))
    return failure();
  return verifyElement(*this, getValue().getType(), 16);
}

LogicalResult GlobalAtomicLoadOp::verify() {
  if (failed(verifyAccess(*this, getPointer().getType(), 1, 0, getResult(), getMask())) ||
      failed(verifyElement(*this, getType(), 8)))
    return failure();
  // Rule S58: what reads is relaxed or acquires, what writes is relaxed or releases.
  return verifySemantic(*this, getSem(), MemSemantic::Acquire);
}

LogicalResult GlobalAtomicStoreOp::verify() {
  if (failed(verifyAccess(*this, getPointer().getType(), 1, 0, getValue(), getMask())) ||
      failed(verifyElement(*this, getValue().getType(), 8)))
    return failure();
  return verifySemantic(*this, getSem(), MemSemantic::Release);
}

LogicalResult GlobalWaitOp::verify() {
  Type pointer = getPointer().getType();
  if (failed(verifyAccess(*this, pointer, 1, 0, getExpected(), Value())) ||
      failed(verifyElement(*this, getExpected().getType(), 16)))
    return failure();
  // Rule S60: there is an answer for each pointer.
  if (Value result = getResult(); result && result.getType() != triton::maskTypeOf(pointer))
    return emitOpError() << "answers with " << result.getType() << " where " << triton::maskTypeOf(pointer)
                         << " is needed";
  return verifySemantic(*this, getSem(), MemSemantic::Acquire);
}

LogicalResult FenceOp::verify() {
  // Rule S61: a fence has an order.
  if (getSem() != MemSemantic::Relaxed)
    return success();
  return emitOpError() << "is 'relaxed', which orders nothing: it is 'acquire', 'release' or 'acq_rel'";
}
