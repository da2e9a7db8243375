// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// heddle-expand-math: math functions that x86 has no instruction for become arithmetic on whole vectors. Narrow floats
// are computed in f32. What each expansion is, and how exact, stands in the Math*.cpp files.
#include "compiler/transforms/MathEmitter.h"
#include "compiler/transforms/Passes.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/TypeSwitch.h"

namespace heddle {
#define GEN_PASS_DEF_EXPANDMATHPASS
#include "compiler/transforms/Passes.h.inc"
} // namespace heddle

using namespace mlir;

namespace {

using Expansion = Value (*)(const heddle::math::Emitter &, Value);

Expansion expansionOf(Operation *op) {
  return llvm::TypeSwitch<Operation *, Expansion>(op)
      .Case([](mlir::math::ExpOp) { return heddle::math::expandExp; })
      .Case([](mlir::math::Exp2Op) { return heddle::math::expandExp2; })
      .Case([](mlir::math::LogOp) { return heddle::math::expandLog; })
      .Case([](mlir::math::Log2Op) { return heddle::math::expandLog2; })
      .Case([](mlir::math::SinOp) { return heddle::math::expandSin; })
      .Case([](mlir::math::CosOp) { return heddle::math::expandCos; })
      .Case([](mlir::math::ErfOp) { return heddle::math::expandErf; })
      .Case([](mlir::math::TanhOp) { return heddle::math::expandTanh; })
      .Case([](mlir::math::RsqrtOp) { return heddle::math::expandRsqrt; })
      .Default(Expansion(nullptr));
}

void expand(Operation *op, Expansion expansion) {
  Type type = op->getResult(0).getType();
  Type element = getElementTypeOrSelf(type);
  auto vector = dyn_cast<VectorType>(type);
  if ((!vector && type != element) || !isa<FloatType>(element) || element.getIntOrFloatBitWidth() > 64)
    return; // a tile: expanded once it is vectors
  ImplicitLocOpBuilder builder(op->getLoc(), op);
  Value x = op->getOperand(0);
  bool isNarrow = element.getIntOrFloatBitWidth() < 32;
  Type f32 = builder.getF32Type();
  Type computed = !isNarrow ? type : vector ? Type(vector.clone(f32)) : f32;
  if (isNarrow)
    x = arith::ExtFOp::create(builder, computed, x);
  Value result = expansion(heddle::math::Emitter(builder, computed), x);
  if (isNarrow)
    result = arith::TruncFOp::create(builder, type, result);
  op->getResult(0).replaceAllUsesWith(result);
  op->erase();
}

struct ExpandMathPass : heddle::impl::ExpandMathPassBase<ExpandMathPass> {
  void runOnOperation() override {
    SmallVector<std::pair<Operation *, Expansion>> work;
    getOperation()->walk([&](Operation *op) {
      if (Expansion expansion = expansionOf(op))
        work.push_back({op, expansion});
    });
    for (auto [op, expansion] : work)
      expand(op, expansion);
  }
};

} // namespace
