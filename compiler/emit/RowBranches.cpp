// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/emit/RowBranches.h"
#include "llvm/IR/Operator.h"

using namespace llvm;
using namespace heddle;

void RowBranches::shareRows(const MaskedAccess &access) {
  Instruction *at = access.instruction;
  for (auto *step = dyn_cast<GEPOperator>((Value *)access.pointer); step;
       step = dyn_cast<GEPOperator>(step->getPointerOperand())) {
    auto *index = dyn_cast<CastInst>(step->getOperand(1));
    if (Value *scalar = index && isa<SExtInst, ZExtInst>(index) ? scalars.scalarOf(index->getOperand(0), at) : nullptr)
      index->setOperand(0, scalar);
  }
}

void RowBranches::shareMasks(MutableArrayRef<Guard> guards, const Instruction *at) {
  const Loop *loop = loops.getLoopFor(at->getParent());
  for (Guard &guard : guards) {
    auto *compared = dyn_cast<ICmpInst>(guard.bit);
    if (!compared || (loop && !loop->contains(compared)) || addresses.isOfWave(guard.bit, at))
      continue;
    if (Value *bit = scalars.comparisonOf(compared, at))
      guard.bit = bit;
  }
}

std::optional<RowBranches::StoreBranch> RowBranches::storeBranchIn(BasicBlock &head, const MaskedAccesses &accesses) {
  auto *branch = dyn_cast<BranchInst>(head.getTerminator());
  if (!branch || !branch->isConditional())
    return std::nullopt;
  StoreBranch row{branch, branch->getSuccessor(0), branch->getSuccessor(1), {}, {}};
  bool isStore = any_of(*row.block, [&](Instruction &i) { return isa<StoreInst>(i) && accesses.contains(&i); });
  if (!isStore || row.block->getSinglePredecessor() != &head || row.block->getSingleSuccessor() != row.next ||
      row.next == &head || isa<PHINode>(row.next->front()) || isa<PHINode>(row.block->front()))
    return std::nullopt;
  Guards guards;
  addGuards(guards, branch->getCondition(), false);
  shareMasks(guards, branch);
  for (const Guard &guard : guards)
    (addresses.isOfWave(guard.bit, branch) ? row.ofWave : row.ofLane).push_back(guard);
  return row;
}

void RowBranches::plan(const MaskedAccesses &accesses, const FlatBranches &flattened) {
  auto isBare = [](BasicBlock &block) { return block.sizeWithoutDebug() == 1; };
  DenseSet<BasicBlock *> taken;
  for (BasicBlock &head : function) {
    SmallVector<StoreBranch> chain;
    for (BasicBlock *at = &head; !taken.contains(at) && !flattened.endsIn(at);) {
      std::optional<StoreBranch> row = storeBranchIn(*at, accesses);
      bool fits = row && !row->ofWave.empty() && !row->ofLane.empty();
      if (!fits ||
          (!chain.empty() && (!isBare(*at) || !at->hasNPredecessors(2) || row->ofLane != chain.front().ofLane)))
        break;
      taken.insert(at);
      at = row->next;
      chain.push_back(std::move(*row));
    }
    if (chain.size() < 2)
      continue;
    for (StoreBranch &row : chain)
      for (Instruction &instruction : *row.block)
        if (auto access = accesses.find(&instruction); access != accesses.end() && isa<StoreInst>(instruction))
          shareRows(access->second);
    chains.push_back(std::move(chain));
  }
}

void RowBranches::write(ArrayRef<StoreBranch> chain) {
  BranchInst *first = chain.front().branch;
  BasicBlock *inner = BasicBlock::Create(function.getContext(), "", &function, first->getSuccessor(0));
  IRBuilder<> b(first);
  b.CreateCondBr(conjunction(b, chain.front().ofLane), inner, chain.back().next);
  first->removeFromParent();
  first->insertInto(inner, inner->end());
  for (const StoreBranch &row : chain) {
    b.SetInsertPoint(row.branch);
    row.branch->setCondition(conjunction(b, row.ofWave));
  }
}

void RowBranches::write() {
  for (ArrayRef<StoreBranch> chain : chains)
    write(chain);
}
