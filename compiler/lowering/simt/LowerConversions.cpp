// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A tile from one layout to another through shared memory, whose places are chosen so that neither side has bank
// conflicts.
#include "compiler/analysis/Uniformity.h"
#include "compiler/layout/Swizzle.h"
#include "compiler/lowering/simt/Exchanges.h"
#include "compiler/lowering/simt/GpuTarget.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::simt;
using layout::Dim;
using layout::LinearLayout;

std::optional<layout::WarpConversion> simt::conversionInWarp(ConvertLayoutOp op, const GpuTarget &target) {
  return layout::convertInWarp(layoutOf(op.getSrc().getType()), layoutOf(op.getType()), target.swappedLaneBits());
}

static void throughShared(ConvertLayoutOp op, int banks) {
  ImplicitLocOpBuilder b(op.getLoc(), op);
  auto from = cast<RankedTensorType>(op.getSrc().getType()), to = cast<RankedTensorType>(op.getType());
  const LinearLayout &source = layoutOf(from);
  auto bits = int(memoryBits(from.getElementType()));
  layout::ScratchLayout scratch = layout::chooseScratch(source, layoutOf(to), bits, banks);
  std::vector<LinearLayout::Input> inputs = scratch.layout.reshapeOutputs(source.outputs()).inputs();
  if (scratch.repetitions() == 1)
    llvm::erase_if(inputs, [](const LinearLayout::Input &input) { return input.dim == Dim::Register; });
  LinearLayout places(inputs, source.outputs());
  Value result;
  for (int64_t part = 0; part < scratch.repetitions(); ++part) {
    Value memory = makeScratch(b, from.getShape(), from.getElementType(), places);
    StoreSharedOp::create(b, op.getSrc(), memory, Value(), part);
    result = LoadSharedOp::create(b, to, memory, Value(), result, part);
  }
  op.getResult().replaceAllUsesWith(result);
  op->erase();
}

void simt::lowerConversions(ModuleOp module, const GpuTarget &target) {
  for (auto function : module.getOps<triton::FuncOp>()) {
    analysis::LazyUniformity uniformity(function);
    SmallVector<ConvertLayoutOp> moving;
    function.walk([&](ConvertLayoutOp op) {
      std::optional<layout::WarpConversion> inWarp = conversionInWarp(op, target);
      if (!inWarp || (inWarp->needsLanes() && uniformity.isDivergent(op->getBlock())))
        moving.push_back(op);
    });
    for (ConvertLayoutOp op : moving)
      throughShared(op, target.sharedMemoryBanks());
  }
}
