// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/accesses/MaskedAccess.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Analysis/VectorUtils.h"
#include "llvm/IR/PatternMatch.h"

using namespace llvm;
using namespace heddle;

constexpr static unsigned globalSpace = 1;

static Value *firstElement(IRBuilder<> &b, Value *vector) {
  Value *known = findScalarElement(vector, 0);
  return known ? known : b.CreateExtractElement(vector, uint64_t(0));
}

static bool isOfOne(Type *type) {
  return cast<FixedVectorType>(type)->getNumElements() == 1;
}

// load(pointer, mask, otherwise), store(value, pointer, mask)
static unsigned pointerNumber(const IntrinsicInst &call) {
  return call.getIntrinsicID() == Intrinsic::masked_load ? 0 : 1;
}

bool heddle::isMasked(const Instruction &instruction) {
  auto *call = dyn_cast<IntrinsicInst>(&instruction);
  if (!call || (call->getIntrinsicID() != Intrinsic::masked_load && call->getIntrinsicID() != Intrinsic::masked_store))
    return false;
  return call->getArgOperand(pointerNumber(*call))->getType()->getPointerAddressSpace() == globalSpace;
}

MaskedAccess heddle::readMasked(Instruction &instruction) {
  auto *call = cast<IntrinsicInst>(&instruction);
  bool isLoad = call->getIntrinsicID() == Intrinsic::masked_load;
  unsigned number = pointerNumber(*call);
  IRBuilder<> b(call);
  Value *bit = firstElement(b, call->getArgOperand(number + 1)), *value = call->getArgOperand(isLoad ? 2 : 0);
  if (isOfOne(value->getType()))
    value = firstElement(b, value);
  return {call, isLoad, call->getArgOperand(number), bit, value, call->getParamAlign(number).valueOrOne()};
}

void heddle::replaceLoad(IntrinsicInst *load, Value *loaded) {
  if (load->getType() != loaded->getType()) {
    for (User *user : make_early_inc_range(load->users()))
      if (PatternMatch::match(user,
                              PatternMatch::m_ExtractElt(PatternMatch::m_Specific(load), PatternMatch::m_Zero()))) {
        user->replaceAllUsesWith(loaded);
        cast<Instruction>(user)->eraseFromParent();
      }
    if (!load->use_empty())
      loaded = IRBuilder<>(load).CreateInsertElement(load->getType(), loaded, uint64_t(0));
  }
  if (!load->use_empty())
    load->replaceAllUsesWith(loaded);
  load->eraseFromParent();
}
