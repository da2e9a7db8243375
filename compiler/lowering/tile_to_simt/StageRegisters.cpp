// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Adds up the tiles that are alive at each cut, in registers of one thread.
#include "compiler/lowering/tile_to_simt/StageRegisters.h"
#include "compiler/lowering/tile_to_simt/LoopPipeliner.h"
#include "compiler/lowering/tile_to_simt/StageCosts.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::simt;

/// Addresses, indices and masks are computed where they are needed.
static bool isOfData(Type element) {
  return element.isFloat() || element.isInteger(8) || element.isInteger(16);
}

int64_t simt::registersFor(const LoopSteps &loop, const Cut &cut) {
  scf::ForOp of = loop.loop;
  Block &body = *of.getBody();
  DenseMap<Operation *, size_t> stageOf;
  for (size_t stage = 0; stage < cut.size(); ++stage)
    for (size_t step = cut[stage]; step < (stage + 1 < cut.size() ? cut[stage + 1] : loop.steps.size()); ++step)
      for (Operation *op : loop.steps[step].ops)
        stageOf[op] = stage;
  SmallVector<int64_t> live(cut.size(), carriedWords(of)); // in each stage
  llvm::SetVector<Value> outside;
  for (auto &[op, stage] : stageOf) {
    for (Value operand : op->getOperands())
      if (isMatmul(op) && !of.getRegion().isAncestor(operand.getParentRegion()))
        outside.insert(operand);
    for (Value result : op->getResults()) {
      size_t last = stage;
      for (Operation *user : result.getUsers())
        last = std::max(last, stageOf.lookup(body.findAncestorOpInBlock(*user)));
      auto tile = dyn_cast<RankedTensorType>(result.getType());
      bool isSum = llvm::any_of(result.getUses(), [](OpOperand &use) { // it takes the place of a carried one
        return isMatmul(use.getOwner()) && use.getOperandNumber() == 2;
      });
      if (tile && isOfData(tile.getElementType()) && !isSum)
        for (size_t later = stage + 1; later <= last; ++later)
          live[later] += wordsOf(result.getType());
      if (auto dot = dyn_cast<MatrixDotOp>(op))
        live[stage] += convertedElements(dot) / 2; // of 16 bits, two in a register
      // A sum takes the place of what it adds to, unless that is needed again; others are on top of what is read.
      bool isInPlace =
          isMatmul(op) &&
          (isa<BlockArgument>(op->getOperand(2)) ||
           (op->getOperand(2).hasOneUse() && of.getRegion().isAncestor(op->getOperand(2).getParentRegion())));
      if (isMatmul(op) && !isInPlace && last > stage)
        live[stage] += wordsOf(result.getType());
    }
  }
  int64_t most = *llvm::max_element(live);
  for (Value value : outside)
    if (Operation *op = value.getDefiningOp(); !op || !op->hasTrait<OpTrait::ConstantLike>())
      most += wordsOf(value.getType());
  return most;
}
