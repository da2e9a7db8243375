// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reductions, scans, histograms, gathers and barriers of the tile level as those of this one.
#include "compiler/lowering/simt/Accesses.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::simt;

/// The region that combines elements, with the end that it has at this level.
static void takeCombination(Region &to, Region &from) {
  to.takeBody(from);
  Operation *end = to.front().getTerminator();
  OpBuilder b(end);
  YieldOp::create(b, end->getLoc(), end->getOperands());
  end->erase();
}

bool simt::replaceExchange(Operation *op) {
  OpBuilder b(op);
  Location loc = op->getLoc();
  Operation *made =
      llvm::TypeSwitch<Operation *, Operation *>(op)
          .Case([&](triton::ReduceOp reduce) {
            auto result = TileReduceOp::create(b, loc, reduce->getResultTypes(), reduce.getSrcs(), reduce.getAxis());
            takeCombination(result.getCombine(), reduce.getCombineOp());
            return result;
          })
          .Case([&](triton::ScanOp scan) {
            auto result =
                TileScanOp::create(b, loc, scan->getResultTypes(), scan.getSrcs(), scan.getAxis(), scan.getReverse());
            takeCombination(result.getCombine(), scan.getCombineOp());
            return result;
          })
          .Case([&](triton::HistogramOp histogram) {
            return TileHistogramOp::create(b, loc, histogram.getType(), histogram.getSrc(), histogram.getMask());
          })
          .Case([&](triton::GatherOp gather) {
            return TileGatherOp::create(b, loc, gather.getType(), gather.getSrc(), gather.getIndices(),
                                        gather.getAxis());
          })
          .Case([&](gpu::BarrierOp) { return BarrierOp::create(b, loc); })
          .Default([&](Operation *other) {
            return other->getName().getStringRef() == "ttg.barrier" ? BarrierOp::create(b, loc) : nullptr;
          });
  if (!made)
    return false;
  op->replaceAllUsesWith(made);
  op->erase();
  return true;
}
