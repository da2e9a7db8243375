// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// tt.map_elementwise: a region for each element, or pack of elements.
#include "compiler/lowering/simt/RecordCode.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::simt;
using namespace heddle::triton;
using layout::tileDim;

namespace {
class Maps : public RecordCode {
public:
  using RecordCode::RecordCode;
  void lower(MapElementwiseOp op);
};
} // namespace

// The elements of a pack are consecutive in row-major order, and their layout places them in registers of one thread.
void Maps::lower(MapElementwiseOp op) {
  auto tile = cast<RankedTensorType>(op->getResult(0).getType());
  const LinearLayout &layout = layoutOf(tile);
  int64_t count = registersOf(tile), pack = op.getPack();
  if (!op.getScalarOp().hasOneBlock())
    return refuse("the branches of its region could not be turned into loops and conditionals");
  auto positionOf = [&](int64_t reg) { // what registers add to the row-major index
    int64_t index = 0;
    for (int axis = 0; axis < tile.getRank(); ++axis)
      index = index * tile.getDimSize(axis) + registerPart(layout, reg, tileDim(axis));
    return index;
  };
  std::map<int64_t, int64_t> registers;
  for (int64_t reg = 0; reg < count; ++reg)
    registers.insert({positionOf(reg), reg});
  SmallVector<Values> results(op->getNumResults(), Values(size_t(count)));
  bool outer = std::exchange(divergent, true); // each element has its own way through the region
  for (auto [position, first] : registers) {
    if (position % pack)
      continue;
    Values arguments;
    for (Value operand : op->getOperands())
      for (int64_t i = 0; i < pack; ++i)
        arguments.push_back(of(operand)[size_t(registers.at(position + i))]);
    Values values = runRegion(op.getScalarOp(), arguments);
    for (auto [number, value] : llvm::enumerate(values))
      results[number / size_t(pack)][size_t(registers.at(position + int64_t(number) % pack))] = value;
  }
  divergent = outer;
  bool asserts = op.getScalarOp().walk([](AssertOp) { return WalkResult::interrupt(); }).wasInterrupted();
  if (asserts && !divergent)
    endProgramIf(someProgramFailed(), [] {}); // what was only noted within
  for (auto [result, list] : llvm::zip(op->getResults(), results)) {
    for (int64_t reg = 0; reg < count; ++reg)
      if (!list[size_t(reg)])
        list[size_t(reg)] = list[size_t(registers.at(positionOf(reg)))];
    made[result] = list;
  }
}

void simt::addMaps(RewritePatternSet &patterns, ThreadState &state) {
  addFamily<Maps, MapElementwiseOp>(patterns, state);
}
