// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Where scratch memory lies. Memory that is used right after other memory lies apart from it, so that no thread has to
// wait for those that still read the other; as far as all together stay small.
#include "compiler/lowering/simt/PlaceShared.h"
#include "compiler/lowering/simt/SharedAccesses.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/BitVector.h"
#include <numeric>

using namespace mlir;
using namespace heddle;
using namespace heddle::simt;

namespace {

struct Scratch {
  AllocOp alloc;
  int64_t bytes;
  int64_t first, least; ///< it may lie from these bytes on, without a barrier more, and at all
  bool isPerWarp;       ///< each warp accesses bytes of its own
};

/// Finds what may still be in use where other scratch memory is accessed, as if there were a barrier between any two
/// accesses to one memory.
class Neighbours {
public:
  Neighbours(triton::FuncOp function, ArrayRef<Scratch> all) : all(all) {
    found.assign(all.size(), llvm::BitVector(unsigned(all.size())));
    for (auto [number, scratch] : llvm::enumerate(all))
      numbers[scratch.alloc] = unsigned(number);
    DenseMap<Block *, llvm::BitVector> entering;
    for (bool grows = true; grows;) {
      grows = false;
      for (Block &block : function.getBody()) {
        llvm::BitVector open = entering.try_emplace(&block, unsigned(all.size())).first->second;
        visit(block, open);
        for (Block *next : block.getSuccessors()) {
          llvm::BitVector &to = entering.try_emplace(next, unsigned(all.size())).first->second;
          grows |= open.test(to);
          to |= open;
        }
      }
    }
  }

  bool areNeighbours(unsigned one, unsigned other) const { return found[one].test(other) || found[other].test(one); }

private:
  void visit(Block &block, llvm::BitVector &open) {
    for (Operation &op : block)
      visit(&op, open);
  }

  void visit(Operation *op, llvm::BitVector &open) {
    if (isa<scf::IfOp>(op)) {
      llvm::BitVector after = op->getRegion(1).empty() ? open : llvm::BitVector(open.size());
      for (Region &region : op->getRegions()) {
        llvm::BitVector side = open;
        if (region.empty())
          continue;
        visit(region.front(), side);
        after |= side;
      }
      open = after;
      return;
    }
    if (isa<scf::ForOp, scf::WhileOp>(op)) {
      llvm::BitVector before = open, begin = open;
      for (bool grows = true; grows;) {
        open = begin;
        for (Region &region : op->getRegions())
          visit(region.front(), open);
        grows = open.test(begin);
        begin |= open;
      }
      open |= before;
      return;
    }
    if (auto stage = dyn_cast<StageOp>(op))
      return visit(stage.getBody().front(), open);
    if (isBarrier(op))
      open.reset();
    for (const SharedAccess &access : accessesOf(op)) {
      auto number = access.part.object ? numbers.find(access.part.object) : numbers.end();
      if (number == numbers.end())
        continue;
      found[number->second] |= open;
      if (!access.writes && !all[number->second].isPerWarp)
        open.reset();
      open.set(number->second);
    }
  }

  ArrayRef<Scratch> all;
  DenseMap<Operation *, unsigned> numbers;
  std::vector<llvm::BitVector> found;
};

} // namespace

static bool isPerWarp(AllocOp alloc, int warps) {
  std::optional<layout::LinearLayout> whose;
  for (Operation *user : alloc.getRing().getUsers()) {
    std::optional<layout::LinearLayout> warp = warpOfPlaces(user, warps);
    if (!warp || (whose && !(*whose == *warp)))
      return false;
    whose = warp;
  }
  return true;
}

using Taken = std::vector<std::pair<int64_t, int64_t>>;

/// The first place from `start` on that `taken` leaves.
static int64_t firstFree(int64_t start, int64_t bytes, Taken taken) {
  std::sort(taken.begin(), taken.end());
  for (auto [from, to] : taken)
    if (from < start + bytes && start < to)
      start = to;
  return start;
}

void simt::placeScratch(triton::FuncOp function, const ScratchPlaces &places, int64_t bytesBeforeReuse,
                        int64_t mostBytes) {
  SmallVector<Scratch> all;
  int64_t others = placedBytes(function), largest = bytesBeforeReuse;
  function.walk([&](AllocOp alloc) {
    if (!alloc.getScratch() || alloc.getStart())
      return;
    int64_t bytes = int64_t(llvm::alignTo(uint64_t(alloc.getRing().getType().getBytes()), scratchAlignment));
    all.push_back(
        {alloc, bytes, places.firstByte(alloc, true), places.firstByte(alloc, false), isPerWarp(alloc, places.warps)});
    largest = std::max(largest, bytes);
  });
  if (all.empty())
    return;
  Neighbours neighbours(function, all);
  std::vector<unsigned> order(all.size());
  std::iota(order.begin(), order.end(), 0u);
  llvm::sort(order, [&](unsigned x, unsigned y) { return std::pair(all[y].bytes, x) < std::pair(all[x].bytes, y); });
  int64_t limit = std::min(others + largest, mostBytes);
  for (unsigned number : order) {
    Scratch &scratch = all[number];
    Taken alive, used;
    for (unsigned other = 0; other < all.size(); ++other)
      if (auto start = all[other].alloc.getStart()) {
        std::pair bytes(int64_t(*start), int64_t(*start) + all[other].bytes);
        bool isAlive = places.areAliveTogether(scratch.alloc, all[other].alloc);
        if (isAlive)
          alive.push_back(bytes);
        if (isAlive || neighbours.areNeighbours(number, other))
          used.push_back(bytes);
      }
    int64_t start = firstFree(scratch.first, scratch.bytes, used);
    // Over something: a barrier more.
    if (start + scratch.bytes > limit)
      start = firstFree(scratch.first, scratch.bytes, alive);
    if (start + scratch.bytes > mostBytes)
      start = firstFree(scratch.least, scratch.bytes, alive);
    scratch.alloc.setStart(uint64_t(start));
  }
}
