// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Computes what depends on the wave's number alone again, from that number read into a scalar register.
#include "compiler/accesses/WaveScalars.h"
#include "compiler/accesses/AddressParts.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"
#include "llvm/IR/Operator.h"
#include "llvm/IR/PatternMatch.h"

using namespace llvm;
using namespace heddle;

/// A wave is 64 threads.
constexpr static unsigned laneBits = 6;

// Waves are 64 consecutive threads: what is above the number's low bits is the same in all of one's lanes, which LLVM
// does not know of a block whose shape it does not know.
bool WaveScalars::isOfNumber(Value *value, const Instruction *at, unsigned depth) const {
  constexpr unsigned deepest = 6;
  if (isa<Constant>(value) || addresses.isOfWave(value, at))
    return true;
  auto *operation = dyn_cast<BinaryOperator>(value);
  if (!operation || depth == deepest)
    return false;
  auto *by = dyn_cast<ConstantInt>(operation->getOperand(1));
  bool isThread =
      PatternMatch::match(operation->getOperand(0), PatternMatch::m_Intrinsic<Intrinsic::amdgcn_workitem_id_x>());
  if (isThread && by && operation->getOpcode() == Instruction::LShr)
    return by->getValue().uge(laneBits);
  if (isThread && by && operation->getOpcode() == Instruction::And)
    return by->getValue().countr_zero() >= laneBits;
  return !isThread && isOfNumber(operation->getOperand(0), at, depth + 1) &&
         isOfNumber(operation->getOperand(1), at, depth + 1);
}

// The number of the wave that a thread is in.
Value *WaveScalars::waveNumber(Instruction *thread) {
  Value *&number = copies[thread];
  if (!number) {
    IRBuilder<> b(thread->getNextNode());
    number = b.CreateIntrinsic(Intrinsic::amdgcn_readfirstlane, {thread->getType()}, {b.CreateLShr(thread, laneBits)});
  }
  return number;
}

// The same computation on scalars.
Value *WaveScalars::scalarCopy(BinaryOperator *operation, const Instruction *at) {
  if (Value *known = copies.lookup(operation))
    return known;
  IRBuilder<> b(operation);
  Value *copy = nullptr;
  auto *thread = dyn_cast<IntrinsicInst>(operation->getOperand(0));
  if (thread && thread->getIntrinsicID() == Intrinsic::amdgcn_workitem_id_x) {
    uint64_t by = cast<ConstantInt>(operation->getOperand(1))->getZExtValue();
    Value *number = waveNumber(thread);
    copy = operation->getOpcode() == Instruction::LShr
               ? b.CreateLShr(number, by - laneBits)
               : b.CreateShl(b.CreateAnd(number, by >> laneBits), laneBits, "", /*HasNUW=*/true, /*HasNSW=*/true);
  } else {
    Value *x = scalarOf(operation->getOperand(0), at), *y = scalarOf(operation->getOperand(1), at);
    copy = b.CreateBinOp(operation->getOpcode(), x, y);
    if (auto *made = dyn_cast<Instruction>(copy))
      made->copyIRFlags(operation);
  }
  copies[operation] = copy;
  return copy;
}

// The value in a scalar register; null when it differs between lanes.
Value *WaveScalars::scalarOf(Value *value, const Instruction *at) {
  if (isa<Constant>(value) || addresses.isOfWave(value, at))
    return value;
  auto *operation = dyn_cast<BinaryOperator>(value);
  if (!operation || !value->getType()->isIntegerTy(32) || !isOfNumber(value, at, 0))
    return nullptr;
  return scalarCopy(operation, at);
}

Value *WaveScalars::comparisonOf(ICmpInst *comparison, const Instruction *at) {
  Value *x = scalarOf(comparison->getOperand(0), at), *y = scalarOf(comparison->getOperand(1), at);
  if (!x || !y)
    return nullptr;
  Value *&bit = copies[comparison];
  if (!bit)
    bit = IRBuilder<>(comparison).CreateICmp(comparison->getPredicate(), x, y);
  return bit;
}

void WaveScalars::shareRows(Value *pointer, const Instruction *at) {
  for (auto *step = dyn_cast<GEPOperator>(pointer); step; step = dyn_cast<GEPOperator>(step->getPointerOperand())) {
    auto *index = dyn_cast<CastInst>(step->getOperand(1));
    if (Value *scalar = index && isa<SExtInst, ZExtInst>(index) ? scalarOf(index->getOperand(0), at) : nullptr)
      index->setOperand(0, scalar);
  }
}

void WaveScalars::shareOffsets(Value *pointer, const Instruction *at) {
  for (auto *step = dyn_cast<GetElementPtrInst>(pointer); step;
       step = dyn_cast<GetElementPtrInst>(step->getPointerOperand()))
    for (Use &index : step->indices())
      if (Value *scalar = scalarOf(index, at))
        index.set(scalar);
}

Value *WaveScalars::shareMask(Value *bit, const Instruction *at) {
  const Loop *loop = loops.getLoopFor(at->getParent());
  auto *compared = dyn_cast<ICmpInst>(bit);
  bool isShared = compared && (!loop || loop->contains(compared)) && !addresses.isOfWave(bit, at);
  return isShared ? comparisonOf(compared, at) : nullptr;
}
