// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Constants, ranges, and the operations that only move elements between shapes.
#include "compiler/lowering/simt/ThreadCode.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::simt;
using namespace heddle::triton;
using layout::tileDim;

namespace {
class Shapes : public ThreadCode {
public:
  using ThreadCode::ThreadCode;
  void lower(arith::ConstantOp op);
  void lower(MakeRangeOp op);
  void lower(SplatOp op) { made[op.getResult()] = Values(size_t(registersOf(op.getType())), scalar(op.getSrc())); }
  void lower(UnsplatOp op) { made[op.getResult()] = {scalar(op.getSrc())}; }
  void lower(ExpandDimsOp op);
  void lower(BroadcastOp op);
  void lower(ExtractSliceOp op);
  void lower(TransOp op);
  void lower(ReshapeOp op);
  void lower(JoinOp op);
  void lower(SplitOp op);
  void lower(CatOp op);
  void lower(ConcatOp op);

private:
  using At = llvm::MutableArrayRef<int64_t>; ///< coordinates
  Value elementConstant(Attribute value, Type element);
  /// The registers of `to` taken from those of `source`, where the element at coordinates x of `to` is the one at
  /// map(x) of `source`, for places that agree in lane and warp.
  Values pickRegisters(Type to, Value source, llvm::function_ref<void(At)> map);
};
} // namespace

//===-- Constants and ranges -------------------------------------------------------------------------------------===//

Value Shapes::elementConstant(Attribute value, Type element) {
  auto real = dyn_cast<FloatAttr>(value);
  if (!real)
    return arith::ConstantOp::create(b, cast<TypedAttr>(value));
  if (element.getIntOrFloatBitWidth() == 8)
    return arith::ConstantOp::create(b, b.getIntegerAttr(b.getI8Type(), real.getValue().bitcastToAPInt()));
  return arith::ConstantOp::create(b, real);
}

void Shapes::lower(arith::ConstantOp op) {
  auto tile = dyn_cast<RankedTensorType>(op.getType());
  Values &results = made[op.getResult()];
  if (!tile) {
    results = {elementConstant(op.getValue(), op.getType())};
    return;
  }
  auto elements = cast<DenseElementsAttr>(op.getValue());
  auto count = size_t(registersOf(tile));
  if (elements.isSplat()) {
    results.assign(count, elementConstant(elements.getSplatValue<Attribute>(), tile.getElementType()));
    return;
  }
  // Few elements that differ: chosen by the place.
  const LinearLayout &layout = layoutOf(tile);
  SmallVector<Attribute> all(elements.getValues<Attribute>());
  for (size_t reg = 0; reg < count; ++reg) {
    Value index = i32(0);
    for (int axis = 0; axis < tile.getRank(); ++axis) {
      index = arith::MulIOp::create(b, index, i32(tile.getDimSize(axis)));
      index = arith::AddIOp::create(b, index, coordinate(layout, int64_t(reg), tileDim(axis)));
    }
    Value chosen = elementConstant(all[0], tile.getElementType());
    for (size_t i = 1; i < all.size(); ++i) {
      Value here = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, index, i32(int64_t(i)));
      chosen = arith::SelectOp::create(b, here, elementConstant(all[i], tile.getElementType()), chosen);
    }
    results.push_back(chosen);
  }
}

void Shapes::lower(MakeRangeOp op) {
  const LinearLayout &layout = layoutOf(op.getType());
  Values &results = made[op.getResult()];
  Type element = elementTypeOf(op.getType());
  for (int64_t reg = 0; reg < registersOf(op.getType()); ++reg) {
    Value index = coordinate(layout, reg, Dim::Dim0);
    if (op.getStart())
      index = arith::AddIOp::create(b, index, i32(op.getStart()));
    if (element.getIntOrFloatBitWidth() > 32)
      index = arith::ExtUIOp::create(b, element, index);
    else if (element.getIntOrFloatBitWidth() < 32)
      index = arith::TruncIOp::create(b, element, index);
    results.push_back(index);
  }
}

//===-- Shapes ---------------------------------------------------------------------------------------------------===//

ThreadCode::Values Shapes::pickRegisters(Type to, Value from, llvm::function_ref<void(At)> map) {
  const LinearLayout &result = layoutOf(to), &source = layoutOf(from.getType());
  const Values &values = of(from);
  auto toRank = cast<RankedTensorType>(to).getRank(), fromRank = cast<RankedTensorType>(from.getType()).getRank();
  // Which register of `from` holds an element: by the part of its coordinates that registers add.
  std::map<SmallVector<int64_t, 4>, int64_t> places;
  for (int64_t reg = 0; reg < source.inputSize(Dim::Register); ++reg) {
    SmallVector<int64_t, 4> at;
    for (int axis = 0; axis < fromRank; ++axis)
      at.push_back(registerPart(source, reg, tileDim(axis)));
    places.insert({at, reg});
  }
  Values results;
  for (int64_t reg = 0; reg < result.inputSize(Dim::Register); ++reg) {
    SmallVector<int64_t, 4> at;
    for (int axis = 0; axis < toRank; ++axis)
      at.push_back(registerPart(result, reg, tileDim(axis)));
    at.resize(size_t(std::max(toRank, fromRank)));
    map(at);
    at.resize(size_t(fromRank));
    auto found = places.find(at);
    if (found == places.end()) {
      refuse("its result has a layout that does not follow from its operand's");
      return {};
    }
    results.push_back(values[size_t(found->second)]);
  }
  return results;
}

void Shapes::lower(ExpandDimsOp op) {
  auto axis = long(op.getAxis());
  made[op.getResult()] = pickRegisters(op.getType(), op.getSrc(),
                                       [&](At at) { std::copy(at.begin() + axis + 1, at.end(), at.begin() + axis); });
}

void Shapes::lower(BroadcastOp op) {
  auto shape = cast<RankedTensorType>(op.getSrc().getType()).getShape();
  made[op.getResult()] = pickRegisters(op.getType(), op.getSrc(), [&](At at) {
    for (auto [coordinate, size] : llvm::zip(at, shape))
      if (size == 1)
        coordinate = 0;
  });
}

void Shapes::lower(ExtractSliceOp op) {
  made[op->getResult(0)] = pickRegisters(op->getResult(0).getType(), op->getOperand(0), [&](At at) {
    for (auto [coordinate, offset] : llvm::zip(at, op.getOffsets()))
      coordinate += offset;
  });
}

void Shapes::lower(TransOp op) {
  ArrayRef<int32_t> order = op.getOrder();
  made[op.getResult()] = pickRegisters(op.getType(), op.getSrc(), [&](At at) {
    SmallVector<int64_t, 4> moved(at.begin(), at.end());
    for (auto [axis, was] : llvm::enumerate(order))
      moved[size_t(was)] = at[axis];
    llvm::copy(moved, at.begin());
  });
}

void Shapes::lower(ReshapeOp op) {
  auto newShape = cast<RankedTensorType>(op.getType()).getShape(),
       oldShape = cast<RankedTensorType>(op.getSrc().getType()).getShape();
  made[op.getResult()] = pickRegisters(op.getType(), op.getSrc(), [&](At at) {
    int64_t flat = 0;
    for (auto [axis, size] : llvm::enumerate(newShape))
      flat = flat * size + at[axis];
    for (size_t axis = oldShape.size(); axis-- > 0; flat /= oldShape[axis])
      at[axis] = flat % oldShape[axis];
  });
}

// Elements alternate along the last axis, which is in one register bit.
void Shapes::lower(JoinOp op) {
  Type to = op.getType();
  int last = int(cast<RankedTensorType>(to).getRank()) - 1;
  Values left = pickRegisters(to, op.getLhs(), [](At) {}), right = pickRegisters(to, op.getRhs(), [](At) {});
  for (size_t reg = 0; reg < left.size(); ++reg)
    if (registerPart(layoutOf(to), int64_t(reg), tileDim(last)))
      left[reg] = right[reg];
  made[op.getResult()] = left;
}

void Shapes::lower(SplitOp op) {
  auto last = size_t(cast<RankedTensorType>(op.getSrc().getType()).getRank()) - 1;
  for (int64_t half : {0, 1}) {
    Value result = op->getResult(unsigned(half));
    made[result] = pickRegisters(result.getType(), op.getSrc(), [&](At at) { at[last] = half; });
  }
}

// The elements of the left tile, then of the right one, in the order of registers.
void Shapes::lower(CatOp op) {
  made[op.getResult()] = all({op.getLhs(), op.getRhs()});
}

void Shapes::lower(ConcatOp op) {
  Values &results = made[op.getTile()];
  auto registers = *op.registersOfParts();
  for (auto [part, reg] : registers)
    results.push_back(of(op.getParts()[size_t(part)])[size_t(reg)]);
}

void simt::addShapes(RewritePatternSet &patterns, ThreadState &state) {
  addFamily<Shapes, arith::ConstantOp, MakeRangeOp, SplatOp, UnsplatOp, ExpandDimsOp, BroadcastOp, ExtractSliceOp,
            TransOp, ReshapeOp, JoinOp, SplitOp, CatOp, ConcatOp>(patterns, state);
}
