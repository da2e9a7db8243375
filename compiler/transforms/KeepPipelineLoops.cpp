// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// heddle-keep-pipeline-loops: a cast of two operands, which nothing folds, stands for the upper bound of a loop that
// has stages of a warp pipeline. A region that is a stage and has no effect has a hint to schedulers in it, so that an
// empty one is not removed.
#include "compiler/dialects/ttg/TritonGpu.h"
#include "compiler/transforms/Passes.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace heddle {
#define GEN_PASS_DEF_KEEPPIPELINELOOPSPASS
#include "compiler/transforms/Passes.h.inc"
} // namespace heddle

using namespace mlir;
namespace amdg = heddle::triton::amdg;

namespace {

bool hasStages(scf::ForOp loop) {
  return llvm::any_of(*loop.getBody(), [](Operation &op) {
    return op.hasAttr(amdg::stageBorderAttribute) || op.hasAttr(amdg::stageRegionAttribute);
  });
}

/// The hint is marked by an attribute of the region.
void keepRegion(scf::ExecuteRegionOp region) {
  Attribute label = region->getAttr(amdg::stageRegionAttribute);
  if (!label || !region.getRegion().hasOneBlock() || !isMemoryEffectFree(region))
    return;
  OpBuilder b(region.getRegion().front().getTerminator());
  amdg::ScheduleFenceOp::create(b, region.getLoc(), "none")->setAttr(amdg::stageRegionAttribute, label);
}

void keepLoop(scf::ForOp loop) {
  if (!hasStages(loop))
    return;
  OpBuilder b(loop);
  Value bound = loop.getUpperBound();
  auto cast =
      UnrealizedConversionCastOp::create(b, loop.getLoc(), TypeRange(bound.getType()), ValueRange{bound, bound});
  loop.getUpperBoundMutable().assign(cast.getResult(0));
}

void restoreAll(Operation *root) {
  root->walk([](UnrealizedConversionCastOp cast) {
    cast.getResult(0).replaceAllUsesWith(cast.getInputs().front());
    cast.erase();
  });
  root->walk([](amdg::ScheduleFenceOp hint) {
    if (hint->hasAttr(amdg::stageRegionAttribute))
      hint.erase();
  });
}

class KeepPipelineLoopsPass : public heddle::impl::KeepPipelineLoopsPassBase<KeepPipelineLoopsPass> {
public:
  using KeepPipelineLoopsPassBase::KeepPipelineLoopsPassBase;
  void runOnOperation() override {
    if (restore)
      return restoreAll(getOperation());
    getOperation()->walk(keepLoop);
    getOperation()->walk(keepRegion);
  }
};

} // namespace
