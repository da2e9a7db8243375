// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// heddle-widen-scans: sums and products of prefixes of f16 and bf16 are formed in f32 and rounded once.
#include "compiler/dialects/triton/Triton.h"
#include "compiler/transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace heddle {
#define GEN_PASS_DEF_WIDENSCANSPASS
#include "compiler/transforms/Passes.h.inc"
} // namespace heddle

using namespace mlir;
using namespace heddle::triton;

/// Whether all that is combined is of 16 bits, by sums, differences and products.
static bool isRounding(ScanOp op) {
  auto is16Bit = [](Type type) { return isa<Float16Type, BFloat16Type>(elementTypeOf(type)); };
  Block &body = op.getCombineOp().front();
  auto isInside = [&](Value value) { return value.getParentBlock() == &body; };
  return llvm::all_of(op.getSrcs().getTypes(), is16Bit) && body.getOperations().size() > 1 &&
         llvm::all_of(body.without_terminator(),
                      [](Operation &each) { return isa<arith::AddFOp, arith::SubFOp, arith::MulFOp>(each); }) &&
         llvm::all_of(body, [&](Operation &each) { return llvm::all_of(each.getOperands(), isInside); });
}

static void widen(ScanOp op) {
  ImplicitLocOpBuilder b(op.getLoc(), op);
  auto wide = [&](Value tile) { return cast<RankedTensorType>(tile.getType()).clone(b.getF32Type()); };
  SmallVector<Value> sources;
  SmallVector<Type> types;
  for (Value source : op.getSrcs()) {
    types.push_back(wide(source));
    sources.push_back(arith::ExtFOp::create(b, types.back(), source));
  }
  auto made = ScanOp::create(b, types, sources, op.getAxisAttr(), op.getReverseAttr());
  made.getCombineOp().takeBody(op.getCombineOp());
  Block &body = made.getCombineOp().front();
  for (BlockArgument argument : body.getArguments())
    argument.setType(b.getF32Type());
  for (Operation &each : body.without_terminator())
    each.getResult(0).setType(b.getF32Type());
  for (auto [before, result] : llvm::zip(op.getResult(), made.getResult()))
    before.replaceAllUsesWith(arith::TruncFOp::create(b, before.getType(), result));
  op.erase();
}

namespace {

struct WidenScansPass : heddle::impl::WidenScansPassBase<WidenScansPass> {
  void runOnOperation() override {
    SmallVector<ScanOp> work;
    getOperation()->walk([&](ScanOp op) {
      if (isRounding(op))
        work.push_back(op);
    });
    for (ScanOp op : work)
      widen(op);
  }
};

} // namespace
