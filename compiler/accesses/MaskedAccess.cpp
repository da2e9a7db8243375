// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Takes LLVM's masked intrinsics apart: pointer, mask, value, and the scalar where there is one element.
#include "compiler/accesses/MaskedAccess.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Analysis/VectorUtils.h"
#include "llvm/IR/PatternMatch.h"

using namespace llvm;
using namespace heddle;

constexpr static unsigned globalSpace = 1;

static bool isOfOne(Type *type) {
  auto *vector = dyn_cast<FixedVectorType>(type);
  return vector && vector->getNumElements() == 1;
}

static Value *firstElement(IRBuilder<> &b, Value *vector) {
  if (Value *known = findScalarElement(vector, 0))
    return known;
  // Vectors of one element that only pass a value on cost the code generator as much as others.
  if (auto *cast = dyn_cast<BitCastInst>(vector); cast && isOfOne(vector->getType())) {
    Value *source = cast->getOperand(0);
    if (isOfOne(source->getType()))
      source = firstElement(b, source);
    return b.CreateBitCast(source, vector->getType()->getScalarType());
  }
  return b.CreateExtractElement(vector, uint64_t(0));
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

/// `scalar` in the place of a vector that has it as its one element.
static void replaceVector(Instruction *vector, Value *scalar) {
  for (User *user : make_early_inc_range(vector->users())) {
    auto *instruction = cast<Instruction>(user);
    if (PatternMatch::match(user, PatternMatch::m_ExtractElt(PatternMatch::m_Value(), PatternMatch::m_Zero()))) {
      instruction->replaceAllUsesWith(scalar);
    } else if (isa<BitCastInst>(user)) {
      Type *type = user->getType();
      Value *other = IRBuilder<>(instruction).CreateBitCast(scalar, isOfOne(type) ? type->getScalarType() : type);
      isOfOne(type) ? replaceVector(instruction, other) : instruction->replaceAllUsesWith(other);
    }
    if (user->use_empty() && isa<ExtractElementInst, BitCastInst>(user))
      instruction->eraseFromParent();
  }
  if (!vector->use_empty())
    vector->replaceAllUsesWith(
        IRBuilder<>(vector->getNextNode()).CreateInsertElement(vector->getType(), scalar, uint64_t(0)));
}

void heddle::replaceLoad(IntrinsicInst *load, Value *loaded) {
  if (load->getType() != loaded->getType())
    replaceVector(load, loaded);
  else
    load->replaceAllUsesWith(loaded);
  load->eraseFromParent();
}
