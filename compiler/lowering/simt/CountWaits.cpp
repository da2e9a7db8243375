// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Walks all paths and keeps, for each number of groups, the fewest instructions issued since.
#include "compiler/lowering/simt/CountWaits.h"
#include "compiler/lowering/simt/DirectCopy.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::simt;

namespace {

/// For each number of groups the instructions issued since the group before that many was closed, on the path with the
/// fewest; and what may be in flight on some path.
struct InFlight {
  static constexpr size_t groups = 16;
  static constexpr int64_t most = 63; ///< that a wait can name
  std::array<int64_t, groups> since;
  size_t committed = 0; ///< groups, on the path with the most
  size_t inFlight = 0;  ///< groups that no wait was for, on the path with the most
  /// Copies that no wait was for on some path, with the groups that were closed since, fewest.
  llvm::MapVector<Operation *, size_t> unwaited;

  InFlight() { since.fill(most); } // nothing must be over
  void copy(Operation *op, int64_t instructions) {
    for (int64_t &count : since)
      count = std::min(most, count + instructions);
    unwaited[op] = 0;
  }
  void commit() {
    std::copy_backward(since.begin(), since.end() - 1, since.end());
    since[0] = 0;
    committed = std::min(committed + 1, groups);
    inFlight = std::min(inFlight + 1, groups);
    for (auto &[op, age] : unwaited)
      age = std::min(age + 1, groups);
  }
  /// For all but the youngest `pending` groups.
  void wait(size_t pending) {
    inFlight = std::min(inFlight, pending);
    unwaited.remove_if([&](const auto &copy) { return pending == 0 || copy.second > pending; });
  }
  bool join(const InFlight &other) {
    bool changed = committed < other.committed || inFlight < other.inFlight;
    committed = std::max(committed, other.committed);
    inFlight = std::max(inFlight, other.inFlight);
    for (auto [op, age] : other.unwaited) {
      auto [known, isNew] = unwaited.insert({op, age});
      changed |= isNew || age < known->second;
      known->second = std::min(known->second, age);
    }
    for (size_t i = 0; i < groups; ++i) {
      changed |= other.since[i] < since[i];
      since[i] = std::min(since[i], other.since[i]);
    }
    return changed;
  }
};

class WaitCounter {
public:
  explicit WaitCounter(BlockShape block) : block(block) {}

  void run(triton::FuncOp function) {
    function.walk([&](AsyncWaitOp wait) {
      if (!wait.getInstructions())
        open.insert(wait);
    });
    DenseMap<Block *, InFlight> entering;
    for (bool changed = true; changed;) {
      changed = false;
      for (Block &each : function.getBody()) {
        InFlight state = entering[&each];
        visit(each, state);
        for (Block *next : each.getSuccessors())
          changed |= entering[next].join(state);
      }
    }
    warn();
  }

private:
  void warn() {
    for (auto [wait, before] : waits) {
      auto [committed, inFlight] = before;
      uint64_t pending = wait.getPending();
      auto warning = [&] {
        return wait.emitWarning() << "`async_wait` waits for nothing: " << pending
                                  << (pending == 1 ? " group" : " groups") << " may stay in flight, and ";
      };
      if (committed < InFlight::groups && pending >= committed)
        warning() << (committed ? "at most " + std::to_string(committed) : "none") << " were committed before";
      else if (inFlight < InFlight::groups && pending > inFlight)
        warning() << "after the waits before it at most " << inFlight << (inFlight == 1 ? " is" : " are");
    }
    for (Operation *copy : unwaited)
      copy->emitWarning() << "an asynchronous copy is never waited for before the kernel ends";
  }

  void visit(Block &each, InFlight &state) {
    for (Operation &op : each)
      visit(&op, state);
  }

  void visit(Operation *op, InFlight &state) {
    if (isa<AsyncCopyOp, AsyncBufferCopyOp>(op))
      return state.copy(op, instructionsOfCopy(op, block));
    if (isa<AsyncCommitOp>(op))
      return state.commit();
    if (auto wait = dyn_cast<AsyncWaitOp>(op)) {
      int64_t count = state.since[std::min<size_t>(wait.getPending(), InFlight::groups - 1)];
      if (open.contains(wait) && int64_t(wait.getInstructions().value_or(InFlight::most)) >= count)
        wait.setInstructions(uint64_t(count));
      if (open.contains(wait)) {
        auto &[committed, inFlight] = waits[wait];
        committed = std::max(committed, state.committed), inFlight = std::max(inFlight, state.inFlight);
        state.wait(wait.getPending());
      } else {
        state.wait(0); // it names instructions, not groups
      }
      return;
    }
    if (isa<triton::ReturnOp>(op))
      for (auto [copy, age] : state.unwaited)
        unwaited.insert(copy);
    if (isa<scf::IfOp>(op)) {
      InFlight before = state, after = before;
      bool isFirst = true;
      for (Region &region : op->getRegions()) {
        InFlight side = before;
        if (!region.empty())
          visit(region.front(), side);
        if (std::exchange(isFirst, false))
          after = side;
        else
          after.join(side);
      }
      state = after;
    } else if (isa<scf::ForOp, scf::WhileOp>(op)) {
      InFlight leaving = state;
      for (bool changed = true; changed;) {
        InFlight turn = state;
        for (Region &region : op->getRegions()) {
          visit(region.front(), turn);
          if (isa<scf::WhileOp>(op) && region.getRegionNumber() == 0)
            leaving = turn;
        }
        changed = state.join(turn);
      }
      if (isa<scf::ForOp>(op))
        leaving = state;
      state = leaving;
    }
  }

  BlockShape block;
  llvm::DenseSet<Operation *> open; ///< waits that name no instructions themselves
  /// With the groups that were committed before, and those that were in flight, on the path with the most.
  llvm::MapVector<AsyncWaitOp, std::pair<size_t, size_t>> waits;
  llvm::SetVector<Operation *> unwaited; ///< copies at the kernel's end
};

} // namespace

void simt::countWaits(ModuleOp module, BlockShape block) {
  for (auto function : module.getOps<triton::FuncOp>())
    WaitCounter(block).run(function);
}
