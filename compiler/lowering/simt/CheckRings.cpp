// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Writes an assertion where integer range analysis cannot prove that a number is within its ring.
#include "compiler/lowering/simt/CheckRings.h"
#include "compiler/analysis/RingNumbers.h"
#include "compiler/dialects/simt/Simt.h"
#include "compiler/dialects/triton/Triton.h"
#include "mlir/Analysis/DataFlow/DeadCodeAnalysis.h"
#include "mlir/Analysis/DataFlow/IntegerRangeAnalysis.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::simt;

namespace {
/// A tile of a ring, by its number.
struct Numbered {
  Operation *op;
  Value number;
  int64_t tiles; ///< that the ring has
};
} // namespace

static void collect(Operation *op, SmallVectorImpl<Numbered> &found) {
  auto add = [&](Value ring, Value number) {
    if (number)
      found.push_back({op, number, cast<SharedType>(ring.getType()).getStages()});
  };
  llvm::TypeSwitch<Operation *>(op)
      .Case<IndexOp, StoreSharedOp, LoadSharedOp, AsyncCopyOp, AsyncBufferCopyOp>(
          [&](auto access) { add(access.getRing(), access.getStage()); })
      .Case([&](DotSharedOp dot) {
        if (!dot.hasAInRegisters())
          add(dot.getA(), dot.getAStage());
        add(dot.getB(), dot.getBStage());
      });
}

static bool isProven(const Numbered &tile, DataFlowSolver &solver) {
  if (std::optional<analysis::RingNumber> number = analysis::ringNumberOf(tile.number))
    return number->modulus <= tile.tiles;
  auto *state = solver.lookupState<dataflow::IntegerValueRangeLattice>(tile.number);
  if (!state || state->getValue().isUninitialized())
    return false;
  const ConstantIntRanges &range = state->getValue().getValue();
  return range.smin().getSExtValue() >= 0 && range.smax().getSExtValue() < tile.tiles;
}

static void check(const Numbered &tile) {
  OpBuilder b(tile.op);
  Location loc = tile.op->getLoc();
  Value tiles = arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(int32_t(tile.tiles)));
  // As a number without a sign, a negative one is too large.
  Value inRange = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, tile.number, tiles);
  triton::AssertOp::create(
      b, loc, inRange,
      llvm::formatv("the number of a tile is not in 0 to {0}: its ring has {1} tiles", tile.tiles - 1, tile.tiles)
          .str());
}

void simt::checkRings(ModuleOp module) {
  SmallVector<Numbered> tiles;
  module.walk([&](Operation *op) { collect(op, tiles); });
  DataFlowSolver solver;
  solver.load<dataflow::DeadCodeAnalysis>();
  solver.load<dataflow::IntegerRangeAnalysis>();
  bool isAnalysed = succeeded(solver.initializeAndRun(module));
  llvm::erase_if(tiles, [&](const Numbered &tile) { return isAnalysed && isProven(tile, solver); });
  bool isConditional = module.walk([](CondBarrierOp) { return WalkResult::interrupt(); }).wasInterrupted();
  for (const Numbered &tile : tiles)
    if (isConditional)
      tile.op->emitWarning() << "the number of a tile is not checked: an assertion is a barrier of the block, and this "
                                "kernel has barriers of a part of its warps";
    else
      check(tile);
}
