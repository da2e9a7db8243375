// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/lowering/simt/InlineStages.h"
#include "compiler/dialects/simt/Simt.h"

using namespace mlir;
using namespace heddle;

void simt::inlineStages(ModuleOp module) {
  SmallVector<StageOp> stages;
  module.walk([&](StageOp stage) { stages.push_back(stage); });
  if (!stages.empty())
    stages.front().emitWarning("pipeline stages are executed one after the other: warp pipelines are not compiled yet");
  for (StageOp stage : stages) {
    Block &body = stage.getBody().front();
    stage->replaceAllUsesWith(body.getTerminator()->getOperands());
    body.getTerminator()->erase();
    stage->getBlock()->getOperations().splice(stage->getIterator(), body.getOperations());
    stage->erase();
  }
}
