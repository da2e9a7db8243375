// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The emitter's small change: types, constants, index arithmetic, lanes and loops.
#include "compiler/lowering/host/HostEmitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace heddle::host;
using namespace heddle::triton;

//===-- Types ----------------------------------------------------------------------------------------------------===//

Type HostEmitter::registerType(Type element) {
  if (isa<PointerType>(element))
    return b.getI64Type();
  if (isNarrowFloat(element))
    return b.getIntegerType(cast<FloatType>(element).getWidth());
  return element;
}

Type HostEmitter::storedType(Type element) {
  Type type = registerType(element);
  return type.isInteger(1) ? Type(b.getI8Type()) : type;
}

int64_t HostEmitter::sizeOf(Type stored) {
  return std::max(1u, stored.getIntOrFloatBitWidth() / 8);
}

//===-- Constants and index arithmetic ---------------------------------------------------------------------------===//

Value HostEmitter::i64(int64_t value) {
  Value &known = constants[value];
  if (!known) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(&entry.getBody().front());
    known = arith::ConstantOp::create(b, source.getLoc(), b.getI64IntegerAttr(value));
  }
  return known;
}

Value HostEmitter::zero(Type type) {
  return arith::ConstantOp::create(b, loc, b.getZeroAttr(type));
}

static std::optional<int64_t> constantOf(Value value) {
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant)))
    return constant.getSExtValue();
  return std::nullopt;
}

Value HostEmitter::add(Value x, Value y) {
  auto cx = constantOf(x), cy = constantOf(y);
  if (cx && cy)
    return i64(*cx + *cy);
  if (cx == 0)
    return y;
  if (cy == 0)
    return x;
  return arith::AddIOp::create(b, loc, x, y);
}

Value HostEmitter::mul(Value x, int64_t y) {
  if (auto cx = constantOf(x))
    return i64(*cx * y);
  return y == 1 ? x : y == 0 ? i64(0) : Value(arith::MulIOp::create(b, loc, x, i64(y)));
}

Value HostEmitter::shiftRight(Value x, int64_t bits) {
  if (auto cx = constantOf(x))
    return i64(*cx >> bits);
  return bits == 0 ? x : Value(arith::ShRUIOp::create(b, loc, x, i64(bits)));
}

Value HostEmitter::maskBits(Value x, int64_t mask) {
  if (auto cx = constantOf(x))
    return i64(*cx & mask);
  return mask == 0 ? i64(0) : Value(arith::AndIOp::create(b, loc, x, i64(mask)));
}

Index HostEmitter::linearIndex(ArrayRef<int64_t> shape, const TileIndex &index) {
  Index linear{i64(0), {}};
  int64_t stride = 1;
  for (int dim = int(shape.size()) - 1; dim >= 0; --dim) {
    linear.base = add(linear.base, mul(index[dim].base, stride));
    if (!index[dim].lanes.empty()) {
      linear.lanes.resize(width, 0);
      for (int lane = 0; lane < width; ++lane)
        linear.lanes[lane] += index[dim].lanes[lane] * stride;
    }
    stride *= shape[dim];
  }
  return linear;
}

TileIndex HostEmitter::delinearize(const Index &linear, ArrayRef<int64_t> shape) {
  TileIndex index(shape.size());
  int64_t stride = 1;
  for (int dim = int(shape.size()) - 1; dim >= 0; --dim) {
    Value shifted = shiftRight(linear.base, llvm::Log2_64(stride));
    index[dim].base = dim == 0 ? shifted : maskBits(shifted, shape[dim] - 1);
    LanePattern lanes;
    for (int64_t lane : linear.lanes)
      lanes.push_back(lane / stride % shape[dim]);
    if (llvm::any_of(lanes, [](int64_t lane) { return lane != 0; }))
      index[dim].lanes = lanes;
    stride *= shape[dim];
  }
  return index;
}

//===-- Lanes ----------------------------------------------------------------------------------------------------===//

Value HostEmitter::splat(Value scalar) {
  if (width == 1)
    return scalar;
  return vector::BroadcastOp::create(b, loc, VectorType::get({width}, scalar.getType()), scalar);
}

Value HostEmitter::patternVector(Type scalar, const LanePattern &lanes) {
  SmallVector<Attribute> values;
  for (int64_t lane : lanes)
    values.push_back(IntegerAttr::get(scalar, APInt(scalar.getIntOrFloatBitWidth(), lane, true, true)));
  return arith::ConstantOp::create(b, loc,
                                   DenseElementsAttr::get(VectorType::get({int64_t(lanes.size())}, scalar), values));
}

Value HostEmitter::toLanes(const LaneValue &value) {
  if (value.vector)
    return value.vector;
  if (value.lanes.empty())
    return splat(value.scalar);
  if (value.exact)
    return value.exact->lanes(b.getInsertionBlock());
  return arith::AddIOp::create(b, loc, splat(value.scalar), patternVector(value.scalar.getType(), value.lanes));
}

Value HostEmitter::laneAt(const LaneValue &value, int lane) {
  if (value.isUniform())
    return value.scalar;
  Value lanes = toLanes(value);
  return isa<VectorType>(lanes.getType()) ? Value(vector::ExtractOp::create(b, loc, lanes, lane)) : lanes;
}

//===-- Loops ----------------------------------------------------------------------------------------------------===//

HostEmitter::Values HostEmitter::forLoop(int64_t lower, int64_t upper, int64_t step, ValueRange inits,
                                         function_ref<Values(Value, ValueRange)> body) {
  if (upper - lower <= step)
    return lower < upper ? body(i64(lower), inits) : Values(inits);
  Value low = i64(lower), high = i64(upper), by = i64(step);
  auto loop = scf::ForOp::create(b, loc, low, high, by, inits);
  int64_t used = scratchUsed;
  OpBuilder::InsertionGuard guard(b);
  // A loop without results comes with its terminator, one with results does not.
  if (inits.empty())
    b.setInsertionPoint(loop.getBody()->getTerminator());
  else
    b.setInsertionPointToEnd(loop.getBody());
  Values yielded = body(loop.getInductionVar(), loop.getRegionIterArgs());
  if (!inits.empty())
    scf::YieldOp::create(b, loc, yielded);
  scratchUsed = used;
  return Values(loop.getResults());
}

void HostEmitter::iterate(ArrayRef<int64_t> shape, const LaneMap &lanes, function_ref<void(TileIndex)> body,
                          int excluded) {
  SmallVector<int> order;
  for (int dim = 0; dim < int(shape.size()); ++dim)
    if (dim != lanes.primary && dim != excluded)
      order.push_back(dim);
  if (lanes.primary < int(shape.size()) && lanes.primary != excluded)
    order.push_back(lanes.primary);
  TileIndex index(shape.size());
  std::function<void(size_t)> nest = [&](size_t depth) {
    if (depth == order.size()) {
      PieceScope scope(*this, lanes.width);
      return body(index);
    }
    int dim = order[depth];
    index[dim].lanes = lanes.pattern[dim];
    forLoop(0, shape[dim], lanes.extent[dim], {}, [&](Value at, ValueRange) -> Values {
      index[dim].base = at;
      nest(depth + 1);
      return {};
    });
  };
  nest(0);
}
