// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/accesses/LoadsBeforeBarriers.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"
#include "llvm/IR/Module.h"

using namespace llvm;

/// Whether `load`, and what is computed of it in its block, is used in other blocks only.
static bool maySink(const Instruction &load) {
  const BasicBlock *block = load.getParent();
  SmallVector<const Instruction *> waiting = {&load};
  SmallPtrSet<const Instruction *, 8> seen;
  while (!waiting.empty()) {
    for (const Use &use : waiting.pop_back_val()->uses()) {
      auto *user = cast<Instruction>(use.getUser());
      auto *phi = dyn_cast<PHINode>(user);
      if ((phi ? phi->getIncomingBlock(use) : user->getParent()) != block)
        continue;
      if (phi || user->mayHaveSideEffects() || user->mayReadFromMemory() || user->isTerminator())
        return false;
      if (seen.insert(user).second)
        waiting.push_back(user);
    }
  }
  return true;
}

static bool isLoad(const Instruction &instruction) {
  auto *load = dyn_cast<LoadInst>(&instruction);
  auto *call = dyn_cast<CallBase>(&instruction); // of a buffer, or with a mask
  return load ? load->isSimple() : call && call->onlyReadsMemory() && !call->doesNotAccessMemory();
}

/// What machine sinking takes for a store as well; not fences, waits and other instructions with side effects.
static bool isStore(const Instruction &instruction) {
  auto *call = dyn_cast<CallBase>(&instruction);
  return isa<StoreInst, AtomicRMWInst, AtomicCmpXchgInst>(instruction) ||
         (call && call->onlyAccessesArgMemory() && !call->onlyReadsMemory());
}

/// The barrier behind such a load in `block`, if nothing from there to the block's end writes; null for none.
static IntrinsicInst *findBarrier(BasicBlock &block) {
  IntrinsicInst *barrier = nullptr;
  for (Instruction &instruction : reverse(block)) {
    auto *call = dyn_cast<IntrinsicInst>(&instruction);
    if (call && call->getIntrinsicID() == Intrinsic::amdgcn_s_barrier)
      barrier = call;
    else if (barrier && isLoad(instruction) && maySink(instruction))
      return barrier;
    else if (isStore(instruction))
      return nullptr;
  }
  return nullptr;
}

void heddle::keepLoadsBeforeBarriers(Module &module) {
  SmallVector<IntrinsicInst *> barriers;
  for (Function &function : module)
    for (BasicBlock &block : function)
      if (IntrinsicInst *barrier = findBarrier(block))
        barriers.push_back(barrier);
  auto *type = FunctionType::get(Type::getVoidTy(module.getContext()), false);
  InlineAsm *clobber = InlineAsm::get(type, "", "~{memory}", /*hasSideEffects=*/true);
  for (IntrinsicInst *barrier : barriers)
    IRBuilder<>(barrier).CreateCall(clobber);
}
