// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reverse post-order, loop by loop: inside a loop an inner loop counts as one block, so all loops are contiguous and
// what follows a loop lies after it.
#include "tests/thread_interpreter/decode/Decoder.h"
#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/CFG.h>
#include <llvm/IR/Dominators.h>

using namespace llvm;

namespace {

struct Orderer {
  LoopInfo &loops;
  std::vector<const BasicBlock *> order;

  /// The inner loop of `region` (null: the function) that holds the block, or null if the block is its own.
  Loop *innerLoop(const BasicBlock *block, Loop *region) {
    Loop *loop = loops.getLoopFor(block);
    while (loop && loop != region && loop->getParentLoop() != region)
      loop = loop->getParentLoop();
    return loop == region ? nullptr : loop;
  }

  void visit(BasicBlock *block, Loop *region, SmallPtrSetImpl<BasicBlock *> &seen, std::vector<BasicBlock *> &post) {
    Loop *inner = innerLoop(block, region);
    BasicBlock *node = inner ? inner->getHeader() : block;
    if (!seen.insert(node).second)
      return;
    SmallVector<BasicBlock *> next;
    if (inner)
      inner->getUniqueExitBlocks(next);
    else
      next.append(succ_begin(block), succ_end(block));
    for (BasicBlock *successor : next)
      if (!region || region->contains(successor))
        visit(successor, region, seen, post);
    post.push_back(node);
  }

  void run(BasicBlock *begin, Loop *region) {
    SmallPtrSet<BasicBlock *, 16> seen;
    std::vector<BasicBlock *> post;
    visit(begin, region, seen, post);
    for (auto block = post.rbegin(); block != post.rend(); ++block)
      if (Loop *inner = innerLoop(*block, region))
        run(*block, inner);
      else
        order.push_back(*block);
  }
};

} // namespace

std::vector<const BasicBlock *> heddle::threads::orderBlocks(const Function &function) {
  Function &changeable = const_cast<Function &>(function); // the analyses take no const
  DominatorTree tree(changeable);
  LoopInfo loops(tree);
  Orderer orderer{loops, {}};
  orderer.run(&changeable.getEntryBlock(), nullptr);
  return std::move(orderer.order);
}
