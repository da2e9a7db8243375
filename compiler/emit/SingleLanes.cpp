// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Finds the masked stores of one element and replaces them.
#include "compiler/emit/SingleLanes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include <optional>

using namespace llvm;

/// The only lane of a constant mask, if it has one, and all others are known to be off.
static std::optional<unsigned> singleLane(const Value *mask) {
  auto *constant = dyn_cast<Constant>(mask);
  auto *type = dyn_cast<FixedVectorType>(mask->getType());
  if (!constant || !type)
    return std::nullopt;
  std::optional<unsigned> lane;
  for (unsigned i = 0; i < type->getNumElements(); ++i) {
    Constant *element = constant->getAggregateElement(i);
    if (element && element->isNullValue())
      continue;
    if (lane || !element || !element->isOneValue())
      return std::nullopt;
    lane = i;
  }
  return lane;
}

static void replaceStore(IntrinsicInst &store) {
  Value *value = store.getArgOperand(0), *pointer = store.getArgOperand(1);
  std::optional<unsigned> lane = singleLane(store.getArgOperand(2));
  if (!lane)
    return;
  IRBuilder<> b(&store);
  Type *element = value->getType()->getScalarType();
  Align align = commonAlignment(store.getParamAlign(1).valueOrOne(), *lane * element->getScalarSizeInBits() / 8);
  Value *address = b.CreateConstInBoundsGEP1_64(element, pointer, *lane);
  b.CreateAlignedStore(b.CreateExtractElement(value, *lane), address, align);
  store.eraseFromParent();
}

void heddle::storeSingleLanes(Module &module) {
  for (Function &function : module)
    for (Instruction &instruction : make_early_inc_range(instructions(function)))
      if (auto *call = dyn_cast<IntrinsicInst>(&instruction); call && call->getIntrinsicID() == Intrinsic::masked_store)
        replaceStore(*call);
}
