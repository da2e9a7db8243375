// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Forward over the control flow of a function: the accesses since the last barrier on any path, and what is in flight.
// One walk inserts barriers (InsertBarriers.cpp), proves that they are enough, or tries whether fewer are.
#pragma once
#include "compiler/analysis/Uniformity.h"
#include "compiler/lowering/simt/GlobalOrder.h"
#include "compiler/lowering/simt/SharedAccesses.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include <set>
#include <unordered_map>

namespace heddle::simt {

/// An access to global memory on some path.
struct GlobalHazard {
  int number;
  bool isStale = false;  ///< its pointers are those of another iteration
  int barriers = 0;      ///< since, as SharedAccess counts them
  bool isInWarp = false; ///< a barrier of each warp has come since
  auto operator<=>(const GlobalHazard &other) const = default;
};

/// What is not ordered with what comes next.
struct HazardState {
  std::set<SharedAccess> shared;
  std::set<GlobalHazard> global;
  int conditional = 0; ///< conditional barriers before, at most: warps are apart by as many barriers

  size_t size() const { return shared.size() + global.size() + size_t(conditional); }
  void add(const HazardState &other) {
    shared.insert(other.shared.begin(), other.shared.end());
    global.insert(other.global.begin(), other.global.end());
    conditional = std::max(conditional, other.conditional);
  }
  /// `change` returns whether to keep an access.
  void change(llvm::function_ref<bool(SharedAccess &)> change) {
    std::set<SharedAccess> result;
    for (SharedAccess access : shared)
      if (change(access))
        result.insert(access);
    shared = std::move(result);
  }
  void changeGlobal(llvm::function_ref<bool(GlobalHazard &)> change) {
    std::set<GlobalHazard> result;
    for (GlobalHazard access : global)
      if (change(access))
        result.insert(access);
    global = std::move(result);
  }
  void makeStale() {
    changeGlobal([](GlobalHazard &access) { return access.isStale = true; });
  }
};

class HazardWalk {
public:
  /// Whether it inserts barriers, reports where one is missing, or only fails there.
  enum class Mode : uint8_t { Insert, Report, Try };
  HazardWalk(triton::FuncOp function, BlockShape block, Mode mode);
  mlir::LogicalResult run();

  /// Leaves out inserted barriers that others make needless: where a loop comes back to accesses before them.
  void dropNeedless();
  /// Makes inserted barriers of the block those for shared memory alone where that is enough.
  void narrowToShared();
  /// Leaves the groups of warps a stage apart from one warp pipeline to the next where that is ordered
  /// (StageHazards.cpp).
  void joinPipelines();
  /// Makes barriers between the stages of warp pipelines, and those before them, bare or for shared memory alone where
  /// that is enough (StageHazards.cpp).
  void narrowInPipelines();

private:
  /// What an operation does that the walk has to know; most do nothing, and it passes them over.
  struct Effect {
    llvm::SmallVector<SharedAccess, 2> accesses; ///< with their numbers
    bool isGlobal = false;                       ///< accesses global memory, or orders it
  };
  void note(mlir::Operation *op);

  mlir::LogicalResult visitFunction();
  mlir::LogicalResult visit(mlir::Operation *op, HazardState &state);
  mlir::LogicalResult visitBlock(mlir::Block &block, HazardState &state);
  mlir::LogicalResult visitIf(mlir::scf::IfOp branch, HazardState &state);
  mlir::LogicalResult visitLoop(mlir::Operation *op, HazardState &state);
  mlir::LogicalResult visitAccess(SharedAccess access, HazardState &state);
  mlir::LogicalResult visitGlobal(mlir::Operation *op, HazardState &state);
  mlir::LogicalResult reportGlobal(const GlobalAccess &earlier, const GlobalAccess &later);
  void endInFlight(mlir::Operation *op, HazardState &state);
  void visitBarrier(mlir::Operation *op, HazardState &state);
  void synchronise(HazardState &state, Scope scope);
  void passBare(HazardState &state);
  void alignWarps(HazardState &state);
  Scope neededBetween(const SharedAccess &earlier, const SharedAccess &later);
  Scope neededBetween(const GlobalHazard &earlier, const GlobalAccess &later);
  /// Makes the barriers of this stage's pipeline those of all memory, and has the walk begin again; false where they
  /// are.
  bool widenBarriers(StageOp stage);
  mlir::LogicalResult reportGlobalInStage(const GlobalAccess &earlier, const GlobalAccess &later);
  mlir::LogicalResult reportInStages(const SharedAccess &earlier, const SharedAccess &later);
  static mlir::InFlightDiagnostic tellOverlap(const SharedAccess &earlier, const SharedAccess &later);
  static mlir::LogicalResult reportLateWait(const SharedAccess &earlier, const SharedAccess &later);
  mlir::LogicalResult report(const SharedAccess &earlier, const SharedAccess &later, llvm::StringRef missing);
  static std::string nameOf(mlir::Operation *op);
  bool isDivergent(mlir::Operation *op) { return uniformity.isDivergent(op->getBlock()); }
  bool isBlockBarrier(mlir::Operation *op);
  /// Rules of conditional barriers (ConditionalBarriers.cpp).
  mlir::LogicalResult checkConditional();
  void enterTurns(mlir::scf::ForOp loop, HazardState &state);

  //===-- InsertBarriers.cpp -------------------------------------------------------------------------------------===//
  mlir::LogicalResult insertBefore(mlir::Operation *op, HazardState &state, Scope scope);
  /// Before `op` a wait for all copies in flight, since it may be for the tile that `copy` writes; the first is a
  /// warning.
  mlir::LogicalResult insertWaitBetween(mlir::Operation *copy, mlir::Operation *op, HazardState &state);
  /// Before `op` a wait for all bulk stores, one of which may be of the memory that it writes.
  mlir::LogicalResult insertBulkWait(mlir::Operation *op, HazardState &state);
  bool isEnough();                                             ///< whether the barriers that there are order everything
  bool isEnoughWithout(llvm::ArrayRef<mlir::Operation *> ops); ///< and then they are erased
  ShiftWarpsOp nextPipeline(AlignWarpsOp end);
  void narrowBetween(BarrierOp barrier);

  triton::FuncOp function;
  BlockShape block;
  GlobalOrder order;
  analysis::Uniformity uniformity;
  Mode mode;
  llvm::SmallVector<BarrierOp> inserted;
  bool hasWarned = false, isAgain = false;
  std::unordered_map<mlir::Operation *, Effect> effects; ///< of operations that have some
  llvm::DenseMap<mlir::Operation *, int> numbers;        ///< of accesses
  std::vector<GlobalAccess> globals;                     ///< by their numbers
  llvm::DenseMap<mlir::Operation *, std::optional<layout::LinearLayout>> warps;
  /// Of each loop, the rings whose tiles it counts, with how many tiles they have.
  llvm::DenseMap<mlir::Operation *, llvm::DenseMap<mlir::Operation *, int64_t>> turning;
};

} // namespace heddle::simt
