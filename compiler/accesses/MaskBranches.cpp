// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Makes one branch for the accesses that have one mask and may stand together.
#include "compiler/accesses/MaskBranches.h"
#include "compiler/accesses/MaskedAccess.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"

using namespace llvm;
using namespace heddle;

constexpr static unsigned ldsSpace = 3;

Value *heddle::conjunction(IRBuilder<> &b, ArrayRef<Value *> guards) {
  Value *all = guards.front();
  for (Value *guard : guards.drop_front())
    all = b.CreateLogicalAnd(all, guard);
  return all;
}

//===-- Which accesses go together -------------------------------------------------------------------------------===//

/// Whether nothing between two instructions of a block, of which `first` comes first, is `unwanted`.
static bool isFree(const Instruction *first, const Instruction *next,
                   function_ref<bool(const Instruction &)> unwanted) {
  return first->getParent() == next->getParent() &&
         none_of(make_range(std::next(first->getIterator()), next->getIterator()), unwanted);
}

// Joined stores are all moved to the position of the last one.
static bool canJoinStores(const GlobalAccess &last, const GlobalAccess &next) {
  return isFree(last.instruction, next.instruction,
                [](const Instruction &between) { return between.mayReadOrWriteMemory(); });
}

// Joined loads are all moved to the position of the first one, so the operands of the others must dominate it.
static bool canJoinLoads(const GlobalAccess &first, const GlobalAccess &last, const GlobalAccess &next) {
  auto isLate = [&](const Value *value) {
    auto *made = dyn_cast<Instruction>(value);
    return made && made->getParent() == first.instruction->getParent() && !made->comesBefore(first.instruction);
  };
  return isFree(last.instruction, next.instruction,
                [](const Instruction &between) { return between.mayWriteToMemory(); }) &&
         !isLate(next.pointer) && !isLate(next.value) && none_of(next.ofWave, isLate) && none_of(next.ofLane, isLate);
}

/// Whether LDS is read for the stores alone, after the write before them. Waves that jump over a branch save that.
static bool readLdsBefore(ArrayRef<GlobalAccess> stores) {
  constexpr int farthest = 256;
  SmallPtrSet<const Value *, 16> own;
  for (const GlobalAccess &store : stores)
    own.insert(store.instruction);
  int steps = 0;
  for (Instruction *at = stores.back().instruction; at && ++steps < farthest; at = at->getPrevNode()) {
    if (own.contains(at))
      continue;
    if (at->mayWriteToMemory())
      return false;
    if (at->use_empty() || !all_of(at->users(), [&](const User *user) { return own.contains(user); }))
      continue;
    own.insert(at);
    if (auto *load = dyn_cast<LoadInst>(at); load && load->getPointerAddressSpace() == ldsSpace)
      return true;
  }
  return false;
}

void heddle::joinStores(MutableArrayRef<GlobalAccess> accesses) {
  auto isMaskedStore = [](const GlobalAccess &access) { return access.bit && !access.isLoad; };
  for (size_t from = 0, to = 0; from < accesses.size(); from = to) {
    to = from + 1;
    if (!isMaskedStore(accesses[from]))
      continue;
    while (to < accesses.size() && isMaskedStore(accesses[to]) && accesses[to].bit == accesses[from].bit &&
           canJoinStores(accesses[to - 1], accesses[to]))
      ++to;
    MutableArrayRef<GlobalAccess> group = accesses.slice(from, to - from);
    bool isInBranch =
        any_of(group, [](const GlobalAccess &access) { return access.isInBranch; }) || readLdsBefore(group);
    for (GlobalAccess &access : group)
      access.isInBranch = isInBranch;
  }
}

//===-- Writing --------------------------------------------------------------------------------------------------===//

namespace {

/// A piece of code that is entered where some bits are set.
struct Branch {
  Instruction *end;           ///< what is put before it is in the branch
  BasicBlock *head = nullptr; ///< the block that branches; null: there is no condition
  Value *join(Value *value, Value *otherwise) const;
};

} // namespace

static Branch branchBefore(Instruction *at, ArrayRef<Value *> guards) {
  if (guards.empty())
    return {at};
  IRBuilder<> b(at);
  Value *bit = conjunction(b, guards);
  Instruction *end = SplitBlockAndInsertIfThen(bit, at->getIterator(), /*Unreachable=*/false);
  return {end, end->getParent()->getSinglePredecessor()};
}

// The value after the branch.
Value *Branch::join(Value *value, Value *otherwise) const {
  if (!head)
    return value;
  BasicBlock *tail = end->getParent()->getSingleSuccessor();
  auto *phi = PHINode::Create(value->getType(), 2, "", tail->begin());
  phi->addIncoming(value, end->getParent());
  phi->addIncoming(otherwise, head);
  return phi;
}

/// The access without its mask; the value of a load.
static Value *writePlain(const GlobalAccess &access, Instruction *before) {
  IRBuilder<> b(before);
  b.SetCurrentDebugLocation(access.instruction->getDebugLoc());
  if (access.isLoad)
    return b.CreateAlignedLoad(access.type(), access.pointer, access.align);
  b.CreateAlignedStore(access.value, access.pointer, access.align);
  return nullptr;
}

static void writeBranch(ArrayRef<GlobalAccess> group) {
  bool isLoad = group.front().isLoad;
  Instruction *at = isLoad ? group.front().instruction : group.back().instruction;
  Branch lanes = branchBefore(at, group.front().ofLane);
  SmallVector<Value *> values;
  for (size_t from = 0, to = 0; from < group.size(); from = to) {
    for (to = from + 1; to < group.size() && group[to].ofWave == group[from].ofWave;)
      ++to;
    Branch wave = branchBefore(lanes.end, group[from].ofWave);
    size_t first = values.size();
    for (const GlobalAccess &access : group.slice(from, to - from))
      values.push_back(writePlain(access, wave.end));
    for (size_t i = first; i < values.size() && isLoad; ++i)
      values[i] = wave.join(values[i], group[i].value);
  }
  for (auto [access, value] : zip_equal(group, values))
    if (access.isLoad)
      replaceLoad(cast<IntrinsicInst>(access.instruction), lanes.join(value, access.value));
    else
      access.instruction->eraseFromParent();
}

void heddle::writeBranches(ArrayRef<GlobalAccess> accesses) {
  for (size_t from = 0, to = 0; from < accesses.size(); from = to) {
    const GlobalAccess &first = accesses[from];
    auto joins = [&](const GlobalAccess &last, const GlobalAccess &next) {
      return next.isLoad == first.isLoad && next.ofLane == first.ofLane &&
             (first.isLoad ? canJoinLoads(first, last, next) : canJoinStores(last, next));
    };
    for (to = from + 1; to < accesses.size() && joins(accesses[to - 1], accesses[to]);)
      ++to;
    writeBranch(accesses.slice(from, to - from));
  }
}
