// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// heddle-split-dots: matmuls of f32 whose precision asks for several matmuls of fewer bits become those.
#include "compiler/transforms/FloatParts.h"
#include "compiler/transforms/Passes.h"

namespace heddle {
#define GEN_PASS_DEF_SPLITDOTSPASS
#include "compiler/transforms/Passes.h.inc"
} // namespace heddle

using namespace mlir;
using namespace heddle::triton;

namespace {

struct SplitDotsPass : heddle::impl::SplitDotsPassBase<SplitDotsPass> {
  using SplitDotsPassBase::SplitDotsPassBase;
  void runOnOperation() override {
    SmallVector<DotOp> work;
    getOperation()->walk([&](DotOp dot) {
      if (elementTypeOf(dot.getA().getType()).isF32() && elementTypeOf(dot.getB().getType()).isF32() &&
          elementTypeOf(dot.getType()).isF32())
        work.push_back(dot);
    });
    for (DotOp dot : work)
      split(dot);
  }

  void split(DotOp dot) {
    ImplicitLocOpBuilder builder(dot.getLoc(), dot);
    InputPrecision precision = dot.getInputPrecision();
    Value d;
    if (precision == InputPrecision::TF32x3 && asTf32) {
      d = heddle::multiplyParts(builder, heddle::partsForTf32(builder, dot.getA()),
                                heddle::partsForTf32(builder, dot.getB()), dot.getC(), 1, InputPrecision::TF32);
    } else if ((precision == InputPrecision::BF16x3 && bf16Parts >= 2) ||
               (precision == InputPrecision::BF16x6 && bf16Parts >= 3)) {
      int count = precision == InputPrecision::BF16x3 ? 2 : 3;
      d = heddle::multiplyParts(builder, heddle::partsInBf16(builder, dot.getA(), count),
                                heddle::partsInBf16(builder, dot.getB(), count), dot.getC(), size_t(count - 1));
    } else {
      return;
    }
    dot.replaceAllUsesWith(d);
    dot.erase();
  }
};

} // namespace
