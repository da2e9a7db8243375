// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Finds the loads that machine sinking would move past a barrier, and pins them.
#include "compiler/accesses/LoadsBeforeBarriers.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"
#include "llvm/IR/Module.h"

using namespace llvm;

/// What stays where it is: machine sinking moves what computes only.
static bool stays(const Instruction &user) {
  return isa<PHINode>(user) || user.mayHaveSideEffects() || user.mayReadFromMemory() || user.isTerminator();
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

/// Whether `load` can leave its block: what reads it there can, and no store follows.
static bool maySink(const Instruction &load) {
  const BasicBlock *block = load.getParent();
  for (const Instruction *after = load.getNextNode(); after; after = after->getNextNode())
    if (isStore(*after))
      return false;
  SmallVector<const Instruction *> waiting = {&load};
  SmallPtrSet<const Instruction *, 8> seen;
  while (!waiting.empty()) {
    for (const Use &use : waiting.pop_back_val()->uses()) {
      auto *user = cast<Instruction>(use.getUser());
      auto *phi = dyn_cast<PHINode>(user);
      if ((phi ? phi->getIncomingBlock(use) : user->getParent()) != block)
        continue;
      if (stays(*user))
        return false;
      if (seen.insert(user).second)
        waiting.push_back(user);
    }
  }
  return true;
}

namespace {
class Sinking {
public:
  explicit Sinking(Function &function) : dominators(function), loops(dominators) {
    for (Instruction &instruction : instructions(function))
      if (isLoad(instruction) && maySink(instruction))
        loads.push_back(&instruction);
  }

  /// The last barrier of `block`, if a load may sink past it; null for none.
  IntrinsicInst *findBarrier(BasicBlock &block) const {
    for (Instruction &instruction : reverse(block)) {
      auto *call = dyn_cast<IntrinsicInst>(&instruction);
      if (call && call->getIntrinsicID() == Intrinsic::amdgcn_s_barrier)
        return any_of(loads, [&](const Instruction *load) { return maySinkPast(*load, *call); }) ? call : nullptr;
      if (isStore(instruction))
        return nullptr;
    }
    return nullptr;
  }

private:
  /// Out of its own block, or into the barrier's, from there on, but not into a loop.
  bool maySinkPast(const Instruction &load, const IntrinsicInst &barrier) const {
    const BasicBlock *from = load.getParent(), *block = barrier.getParent();
    if (from == block)
      return load.comesBefore(&barrier);
    const Loop *loop = loops.getLoopFor(block);
    if (!dominators.dominates(from, block) || (loop && !loop->contains(from)))
      return false;
    return none_of(load.users(), [&](const User *user) {
      auto *reader = cast<Instruction>(user);
      return stays(*reader) && !isa<PHINode>(reader) && dominators.dominates(reader->getParent(), block);
    });
  }

  DominatorTree dominators;
  LoopInfo loops;
  SmallVector<Instruction *> loads; ///< that can leave their blocks
};
} // namespace

void heddle::keepLoadsBeforeBarriers(Module &module) {
  SmallVector<IntrinsicInst *> barriers;
  for (Function &function : module) {
    if (function.isDeclaration())
      continue;
    Sinking sinking(function);
    for (BasicBlock &block : function)
      if (IntrinsicInst *barrier = sinking.findBarrier(block))
        barriers.push_back(barrier);
  }
  // An operand "i" makes it one that may load from anywhere, past which nothing sinks, as a clobber of memory would:
  // but for that LLVM compares the word "memory" with the name of each register of each class (a tenth of the time that
  // the kernel of a collective takes to compile).
  IRBuilder<> b(module.getContext());
  auto *type = FunctionType::get(b.getVoidTy(), {b.getInt32Ty()}, /*isVarArg=*/false);
  InlineAsm *anyLoad = InlineAsm::get(type, "", "i", /*hasSideEffects=*/true);
  for (IntrinsicInst *barrier : barriers) {
    b.SetInsertPoint(barrier);
    b.CreateCall(anyLoad, {b.getInt32(0)});
  }
}
