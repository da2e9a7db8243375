// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Conversions of layouts that move elements between registers, and between the lanes of a warp.
#include "compiler/lowering/simt/Exchanges.h"
#include "compiler/lowering/simt/ThreadCode.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::simt;

namespace {
class Conversions : public ThreadCode {
public:
  using ThreadCode::ThreadCode;
  void lower(ConvertLayoutOp op);
};
} // namespace

void Conversions::lower(ConvertLayoutOp op) {
  const LinearLayout &source = layoutOf(op.getSrc().getType()), &result = layoutOf(op.getType());
  const Values &values = of(op.getSrc());
  bool needsLanes = false;
  if (!convertsInWarp(source, result, needsLanes) || (needsLanes && divergent)) {
    refuseWithout("lower-conversions");
    return;
  }
  LinearLayout where = result.invertAndCompose(source);
  Values moved;
  for (int64_t reg = 0; reg < result.inputSize(Dim::Register); ++reg) {
    Value value = values[size_t(registerPart(where, reg, Dim::Register))];
    moved.push_back(needsLanes ? shuffleFrom(value, coordinate(where, reg, Dim::Lane)) : value);
  }
  made[op.getResult()] = moved;
}

void simt::addConversions(RewritePatternSet &patterns, ThreadState &state) {
  addFamily<Conversions, ConvertLayoutOp>(patterns, state);
}
