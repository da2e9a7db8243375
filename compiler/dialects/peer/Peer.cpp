// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The `peer` dialect: registration and verifier rules P. What the text fixes by type (groups, deadlines, results) is
// checked by the definitions in PeerOps.td.
#include "compiler/dialects/peer/Peer.h"
#include "compiler/dialects/triton/TritonVerify.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::peer;
using triton::elementTypeOf;
using triton::haveSameShape;
using triton::MemScope;
using triton::MemSemantic;
using triton::PointerType;

#include "compiler/dialects/peer/PeerDialect.cpp.inc"
#include "compiler/dialects/peer/PeerEnums.cpp.inc"

#define GET_OP_CLASSES
#include "compiler/dialects/peer/PeerOps.cpp.inc"

void PeerDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "compiler/dialects/peer/PeerOps.cpp.inc"
      >();
}

PointerType peer::i64PointerType(MLIRContext *context) {
  return PointerType::get(IntegerType::get(context, 64), 1);
}

Type peer::integerTypeOf(Type like, unsigned bits) {
  Type element = IntegerType::get(like.getContext(), bits);
  auto tile = dyn_cast<RankedTensorType>(like);
  return tile ? Type(tile.clone(element)) : element;
}

//===-- Pointers, masks, values ----------------------------------------------------------------------------------===//

static LogicalResult verifyPointer(Operation *op, Type type, ArrayRef<unsigned> widths, StringRef allowed) {
  auto pointer = cast<PointerType>(elementTypeOf(type));
  // Rule P1: atomics work on i32 and i64 in memory, packets on i64.
  if (llvm::none_of(widths, [&](unsigned width) { return pointer.getPointeeType().isInteger(width); }))
    return op->emitOpError() << "works on memory of " << allowed << ", not of " << pointer.getPointeeType();
  // Rule P2: they work on global memory, address space 1.
  if (pointer.getAddressSpace() != 1)
    return op->emitOpError() << "works on global memory, address space 1, but the pointer has address space "
                             << pointer.getAddressSpace();
  return success();
}

// Rule P3: a mask is i1 in the pointer's shape.
static LogicalResult verifyMask(Operation *op, Value mask, Type pointer) {
  if (!mask || triton::isMaskFor(mask.getType(), pointer))
    return success();
  return op->emitOpError() << "mask type " << mask.getType() << " does not fit pointer type " << pointer
                           << ", which needs " << triton::maskTypeOf(pointer);
}

// Rule P4: a value has the pointee's type, as one scalar or in the pointer's shape.
static LogicalResult verifyWord(Operation *op, StringRef what, Type value, Type pointer) {
  Type pointee = cast<PointerType>(elementTypeOf(pointer)).getPointeeType();
  if (value == pointee || triton::isValueFor(value, pointer))
    return success();
  auto error = op->emitOpError() << what << " type " << value << " does not fit pointer type " << pointer
                                 << ", which needs " << pointee;
  if (isa<RankedTensorType>(pointer))
    error << " or " << triton::valueTypeOf(pointer);
  return error;
}

// Rule P5: an address of another rank is accessed at system scope.
static LogicalResult verifyScope(Operation *op, Value pointer, MemScope scope) {
  if (scope == MemScope::System)
    return success();
  while (Operation *maker = pointer.getDefiningOp()) {
    if (isa<AddressOp>(maker))
      return op->emitOpError() << "accesses the memory of another rank at scope '" << triton::stringifyMemScope(scope)
                               << "'; the one scope that reaches it is 'sys'";
    if (!isa<triton::AddPtrOp, triton::SplatOp, triton::BroadcastOp, triton::ExpandDimsOp, triton::ReshapeOp,
             triton::TransOp, triton::BitcastOp>(maker))
      break;
    pointer = maker->getOperand(0);
  }
  return success();
}

//===-- Atomics --------------------------------------------------------------------------------------------------===//

LogicalResult AtomicWriteOp::verify() {
  // Rule P6: a write is relaxed or release.
  if (getSem() != MemSemantic::Relaxed && getSem() != MemSemantic::Release)
    return emitOpError() << "cannot be '" << triton::stringifyMemSemantic(getSem())
                         << "': a write is 'relaxed' or 'release'";
  Type pointer = getPtr().getType();
  if (failed(verifyPointer(*this, pointer, {32, 64}, "i32 or i64")) || failed(verifyMask(*this, getMask(), pointer)) ||
      failed(verifyWord(*this, "value", getValue().getType(), pointer)))
    return failure();
  return verifyScope(*this, getPtr(), getScope());
}

LogicalResult AtomicSpinWaitOp::verify() {
  // Rule P7: a wait is relaxed or acquire.
  if (getSem() != MemSemantic::Relaxed && getSem() != MemSemantic::Acquire)
    return emitOpError() << "cannot be '" << triton::stringifyMemSemantic(getSem())
                         << "': a wait is 'relaxed' or 'acquire'";
  Type pointer = getPtr().getType();
  if (failed(verifyPointer(*this, pointer, {32, 64}, "i32 or i64")) || failed(verifyMask(*this, getMask(), pointer)) ||
      failed(verifyWord(*this, "expected", getExpected().getType(), pointer)))
    return failure();
  // Rule P8: only words of 64 bits have a high half to compare.
  if (getComparator() == Comparator::HighHalfEqual && !elementTypeOf(getExpected().getType()).isInteger(64))
    return emitOpError() << "comparator 'hi' compares the high halves of i64, not of "
                         << elementTypeOf(getExpected().getType());
  return verifyScope(*this, getPtr(), getScope());
}

//===-- Addresses ------------------------------------------------------------------------------------------------===//

LogicalResult AddressOp::verify() {
  // Rule P9: there is one rank for all pointers, or one for each.
  Type rank = getRank().getType(), pointer = getPointer().getType();
  if (isa<RankedTensorType>(rank) && !haveSameShape(rank, pointer))
    return emitOpError() << "rank type " << rank << " does not fit pointer type " << pointer << ", which needs i32"
                         << (isa<RankedTensorType>(pointer) ? " or a tile of them in its shape" : "");
  // Rule P10: a rank is 0 to 7.
  APInt constant;
  if (matchPattern(getRank(), m_ConstantInt(&constant)) && !constant.ult(maxWorldSize))
    return emitOpError() << "rank " << constant.getSExtValue() << " is not 0 to " << maxWorldSize - 1;
  return success();
}

//===-- Barrier, packets, report ---------------------------------------------------------------------------------===//

LogicalResult BlockBarrierOp::verify() {
  // Rule P11: 1 to 8 ranks take part.
  if (int32_t(getWorldSize()) < 1 || int32_t(getWorldSize()) > maxWorldSize)
    return emitOpError() << "'world_size' " << int32_t(getWorldSize()) << " is not 1 to " << maxWorldSize;
  return success();
}

LogicalResult BlockExchangeOp::verify() {
  // Rule P14: 1 to 8 ranks exchange 1, 2 or 4 values each.
  if (int32_t(getWorldSize()) < 1 || int32_t(getWorldSize()) > maxWorldSize)
    return emitOpError() << "'world_size' " << int32_t(getWorldSize()) << " is not 1 to " << maxWorldSize;
  if (size_t count = getValues().size(); count != 1 && count != 2 && count != 4)
    return emitOpError() << "exchanges " << count << " values: it has 1, 2 or 4";
  // Rule P15: an exchange is relaxed or a release.
  if (getSem() != MemSemantic::Relaxed && getSem() != MemSemantic::Release)
    return emitOpError() << "cannot be '" << triton::stringifyMemSemantic(getSem())
                         << "': an exchange is 'relaxed' or 'release'";
  return success();
}

LogicalResult PacketSendOp::verify() {
  Type pointer = getPtr().getType();
  if (failed(verifyPointer(*this, pointer, {64}, "i64")) || failed(verifyMask(*this, getMask(), pointer)))
    return failure();
  // Rule P12: packets carry one i32 for each pointer.
  if (!haveSameShape(getData().getType(), pointer))
    return emitOpError() << "data type " << getData().getType() << " does not fit pointer type " << pointer
                         << ", which needs " << integerTypeOf(pointer, 32);
  return success();
}

LogicalResult PacketReceiveOp::verify() {
  Type pointer = getPtr().getType();
  if (failed(verifyPointer(*this, pointer, {64}, "i64")))
    return failure();
  return verifyMask(*this, getMask(), pointer);
}

LogicalResult ReportOp::verify() {
  // Rule P13: what is reported is one scalar, or one for each element of 'failed'.
  Type failed = getFailed().getType();
  std::pair<StringRef, Type> reported[] = {
      {"peer", getPeer().getType()}, {"expected", getExpected().getType()}, {"seen", getSeen().getType()}};
  for (auto [name, type] : reported)
    if (isa<RankedTensorType>(type) && !haveSameShape(type, failed))
      return emitOpError() << "'" << name << "' has type " << type << ", which is neither a scalar nor in the shape of "
                           << "'failed', " << failed;
  return success();
}
