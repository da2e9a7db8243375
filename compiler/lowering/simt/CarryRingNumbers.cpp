// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Replaces each carried tile of a ring by its number in the loop and after it.
#include "compiler/lowering/simt/CarryRingNumbers.h"
#include "compiler/dialects/simt/Simt.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace heddle::simt;

namespace {
/// A tile that a loop carries: its number among what is carried, and where it comes from.
struct CarriedTile {
  unsigned at;
  IndexOp first, next;
};
} // namespace

static std::optional<CarriedTile> carriedTile(scf::ForOp loop, unsigned at) {
  auto first = loop.getInitArgs()[at].getDefiningOp<IndexOp>(),
       next = loop.getYieldedValues()[at].getDefiningOp<IndexOp>();
  if (!first || !next || first.getRing() != next.getRing() || first.getType() != next.getType() ||
      first.getStage().getType() != next.getStage().getType() || !loop.isDefinedOutsideOfLoop(first.getRing()))
    return std::nullopt;
  return CarriedTile{at, first, next};
}

static bool isSame(Value a, Value b) {
  APInt x, y;
  return a == b || (matchPattern(a, m_ConstantInt(&x)) && matchPattern(b, m_ConstantInt(&y)) && x == y);
}

/// Which of the carried values is the number of the tile in every iteration, if one is.
static std::optional<unsigned> numberOf(scf::ForOp loop, CarriedTile tile) {
  for (unsigned at = 0; at < loop.getInitArgs().size(); ++at)
    if (loop.getYieldedValues()[at] == tile.next.getStage() && isSame(loop.getInitArgs()[at], tile.first.getStage()))
      return at;
  return std::nullopt;
}

/// Uses the tile of the carried number `at` for `tile`, in the loop and after it.
static void useNumber(scf::ForOp loop, CarriedTile tile, unsigned at) {
  OpBuilder b = OpBuilder::atBlockBegin(loop.getBody());
  auto indexOf = [&](Value number) {
    return IndexOp::create(b, tile.next.getLoc(), tile.next.getType(), tile.next.getRing(), number);
  };
  loop.getRegionIterArg(tile.at).replaceAllUsesWith(indexOf(loop.getRegionIterArg(at)));
  b.setInsertionPointAfter(loop);
  loop.getResult(tile.at).replaceAllUsesWith(indexOf(loop.getResult(at)));
}

// Tiles that are no longer used are still carried: LLVM drops them.
static void carryNumbers(scf::ForOp loop) {
  for (unsigned at = 0; at < loop.getInitArgs().size(); ++at) {
    std::optional<CarriedTile> tile = carriedTile(loop, at);
    if (!tile)
      continue;
    std::optional<unsigned> number = numberOf(loop, *tile);
    if (!number) {
      IRRewriter rewriter(loop);
      number = unsigned(loop.getInitArgs().size());
      auto yield = [&](OpBuilder &, Location, ArrayRef<BlockArgument>) {
        return SmallVector<Value>{tile->next.getStage()};
      };
      auto wider = cast<scf::ForOp>(*loop.replaceWithAdditionalYields(rewriter, tile->first.getStage(),
                                                                      /*replaceInitOperandUsesInLoop=*/false, yield));
      loop = wider;
    }
    useNumber(loop, *tile, *number);
  }
}

void heddle::simt::carryRingNumbers(Operation *root) {
  SmallVector<scf::ForOp> loops;
  root->walk<WalkOrder::PreOrder>([&](scf::ForOp loop) { loops.push_back(loop); });
  for (scf::ForOp loop : loops)
    carryNumbers(loop);
}
