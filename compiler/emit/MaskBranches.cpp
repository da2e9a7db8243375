// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/emit/MaskBranches.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"

using namespace llvm;
using namespace heddle;

/// Above, a block stays a branch: it is more than stores and what they alone need.
constexpr static long mostFlattened = 48;

//===-- Stores in branches ---------------------------------------------------------------------------------------===//

static bool canFlatten(BasicBlock &block, const MaskedAccesses &accesses) {
  bool stores = false;
  if (block.sizeWithoutDebug() > mostFlattened || isa<PHINode>(block.front()))
    return false;
  for (Instruction &instruction : block) {
    if (instruction.isTerminator())
      break;
    stores |= isa<StoreInst>(instruction);
    auto found = accesses.find(&instruction);
    // One lane's store to a place of the wave is done sooner in its branch.
    bool isBounded = found != accesses.end() && found->second.place && !found->second.place->parts.ofLane.empty();
    if (!isBounded && (instruction.mayReadOrWriteMemory() || !isHarmless(instruction, "llvm.amdgcn.")))
      return false;
  }
  return stores;
}

// Waves that go together save the block when they jump.
FlatBranches::FlatBranches(Function &function, const AddressAnalysis &addresses, MaskedAccesses &accesses) {
  for (BasicBlock &head : function) {
    auto *branch = dyn_cast<BranchInst>(head.getTerminator());
    if (!branch || !branch->isConditional() || addresses.isOfWave(branch->getCondition(), branch))
      continue;
    for (bool inverted : {false, true}) {
      BasicBlock *block = branch->getSuccessor(inverted), *next = branch->getSuccessor(!inverted);
      if (block == next || next == &head || block->getSinglePredecessor() != &head ||
          block->getSingleSuccessor() != next || isa<PHINode>(next->front()) || !canFlatten(*block, accesses))
        continue;
      blocks.push_back(block);
      heads.insert(&head);
      for (Instruction &instruction : *block)
        if (auto found = accesses.find(&instruction); found != accesses.end())
          addGuards(found->second.guards, branch->getCondition(), inverted);
      break;
    }
  }
}

static void flatten(BasicBlock *block) {
  BasicBlock *head = block->getSinglePredecessor(), *next = block->getSingleSuccessor();
  Instruction *branch = head->getTerminator();
  for (Instruction &instruction : make_early_inc_range(*block)) {
    if (instruction.isTerminator())
      continue;
    instruction.moveBefore(branch->getIterator());
    if (!instruction.mayReadOrWriteMemory())
      instruction.dropUBImplyingAttrsAndMetadata();
  }
  IRBuilder<>(branch).CreateBr(next);
  branch->eraseFromParent();
  DeleteDeadBlock(block);
}

void FlatBranches::remove() {
  for_each(blocks, flatten);
}

//===-- Loads in branches ----------------------------------------------------------------------------------------===//

SelectInst *heddle::otherwiseOf(Instruction *load, ArrayRef<Guard> guards) {
  auto *choice = load->hasOneUse() ? dyn_cast<SelectInst>(load->user_back()) : nullptr;
  if (!choice || guards.size() != 1 || guards.front().inverted || choice->getCondition() != guards.front().bit ||
      choice->getTrueValue() != load || !isa<Constant>(choice->getFalseValue()))
    return nullptr;
  return choice;
}

// Moves the loads into a block before `at` that is entered where `bit` is set; `values` are what they are behind it.
static void moveIntoBranch(Value *bit, ArrayRef<Instruction *> loads, Instruction *at, MutableArrayRef<Value *> values,
                           ArrayRef<Value *> others) {
  Instruction *end = SplitBlockAndInsertIfThen(bit, at->getIterator(), /*Unreachable=*/false);
  BasicBlock *then = end->getParent(), *head = then->getSinglePredecessor(), *tail = then->getSingleSuccessor();
  for (size_t i = 0; i < loads.size(); ++i) {
    loads[i]->moveBefore(end->getIterator());
    auto *phi = PHINode::Create(loads[i]->getType(), 2, "", tail->begin());
    phi->addIncoming(loads[i], then);
    phi->addIncoming(others[i], head);
    values[i] = phi;
  }
}

static void writeBranch(ArrayRef<const MaskedAccess *> group) {
  Instruction *first = group.front()->instruction;
  SmallVector<Instruction *> loads;
  SmallVector<Value *> values, others;
  for (const MaskedAccess *access : group) {
    Instruction *load = access->instruction;
    loads.push_back(load);
    values.push_back(load);
    others.push_back(access->otherwise ? access->otherwise->getFalseValue() : Constant::getNullValue(load->getType()));
  }
  // Behind the loads, in the place where their values are used from now on.
  SmallVector<Instruction *> marks;
  for (size_t i = 0; i < loads.size(); ++i) {
    Instruction *used = group[i]->otherwise ? group[i]->otherwise : loads[i];
    auto *mark = new FreezeInst(PoisonValue::get(loads[i]->getType()), "", first->getIterator());
    used->replaceAllUsesWith(mark);
    if (used != loads[i])
      used->eraseFromParent();
    marks.push_back(mark);
    loads[i]->setOperand(0, group[i]->pointer);
  }
  ArrayRef<Guard> ofLane = group.front()->ofLane;
  IRBuilder<> b(marks.front());
  Instruction *at = marks.front(), *end = nullptr;
  if (!ofLane.empty())
    at = end = SplitBlockAndInsertIfThen(conjunction(b, ofLane), at->getIterator(), /*Unreachable=*/false);
  BasicBlock *outside = end ? end->getParent()->getSinglePredecessor() : nullptr;
  for (size_t from = 0, to = 0; from < group.size(); from = to) {
    ArrayRef<Guard> ofWave = group[from]->ofWave;
    for (to = from + 1; to < group.size() && ArrayRef<Guard>(group[to]->ofWave) == ofWave;)
      ++to;
    auto part = [&](auto &all) { return MutableArrayRef(all).slice(from, to - from); };
    b.SetInsertPoint(at);
    if (!ofWave.empty())
      moveIntoBranch(conjunction(b, ofWave), part(loads), at, part(values), part(others));
    else
      for (Instruction *load : part(loads))
        load->moveBefore(at->getIterator());
  }
  for (size_t i = 0; i < group.size(); ++i) {
    Value *value = values[i];
    if (end) {
      auto *phi = PHINode::Create(value->getType(), 2, "", end->getParent()->getSingleSuccessor()->begin());
      phi->addIncoming(value, end->getParent());
      phi->addIncoming(others[i], outside);
      value = phi;
    }
    marks[i]->replaceAllUsesWith(value);
    marks[i]->eraseFromParent();
  }
}

void heddle::writeLoadBranches(const MaskedAccesses &accesses) {
  SmallVector<const MaskedAccess *> rest;
  for (auto &[instruction, access] : accesses)
    if (instruction && !access.guards.empty() && !access.place)
      rest.push_back(&access);
  while (!rest.empty()) {
    const MaskedAccess *first = rest.front();
    SmallVector<const MaskedAccess *> group = {first};
    for (const MaskedAccess *next : ArrayRef(rest).drop_front()) {
      Instruction *last = group.back()->instruction;
      if (!isSimple(*last) || !isSimple(*next->instruction) || next->instruction->getParent() != last->getParent() ||
          next->ofLane != first->ofLane)
        break;
      auto between = make_range(std::next(last->getIterator()), next->instruction->getIterator());
      auto isLate = [&](Value *value) {
        auto *made = dyn_cast<Instruction>(value);
        return made && made->getParent() == last->getParent() && !made->comesBefore(first->instruction);
      };
      if (any_of(between, [](Instruction &i) { return i.mayWriteToMemory(); }) || isLate(next->pointer) ||
          any_of(next->guards, [&](const Guard &guard) { return isLate(guard.bit); }))
        break;
      group.push_back(next);
    }
    writeBranch(group);
    rest.erase(rest.begin(), rest.begin() + ptrdiff_t(group.size()));
  }
}
