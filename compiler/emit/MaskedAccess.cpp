// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/emit/MaskedAccess.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/PatternMatch.h"

using namespace llvm;
using namespace heddle;

bool heddle::isHarmless(const Instruction &instruction, StringRef chipFunctions) {
  auto *call = dyn_cast<IntrinsicInst>(&instruction);
  if (call && call->doesNotAccessMemory() && !call->isConvergent() && call->willReturn() &&
      call->getCalledFunction()->getName().starts_with(chipFunctions))
    return true;
  return isSafeToSpeculativelyExecute(&instruction);
}

bool heddle::isSimple(const Instruction &instruction) {
  auto *load = dyn_cast<LoadInst>(&instruction);
  return load ? load->isSimple() : cast<StoreInst>(instruction).isSimple();
}

void heddle::addGuards(SmallVectorImpl<Guard> &guards, Value *bit, bool inverted) {
  Value *x = nullptr, *y = nullptr;
  if (!inverted &&
      PatternMatch::match(bit, PatternMatch::m_LogicalAnd(PatternMatch::m_Value(x), PatternMatch::m_Value(y)))) {
    addGuards(guards, x, false);
    addGuards(guards, y, false);
  } else {
    guards.push_back({bit, inverted});
  }
}

Value *heddle::conjunction(IRBuilder<> &b, ArrayRef<Guard> guards) {
  Value *all = nullptr;
  for (const Guard &guard : guards) {
    Value *bit = guard.inverted ? b.CreateNot(guard.bit) : guard.bit;
    all = all ? b.CreateLogicalAnd(all, bit) : bit;
  }
  return all;
}
