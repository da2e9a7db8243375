// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reductions, scans and histograms. Lanes run either along the axis, and are folded at the end, or across it, when the
// other dimensions are where memory is contiguous.
#include "compiler/lowering/host/HostEmitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace heddle::host;
using namespace heddle::triton;

static LaneValue wrap(Value value) {
  return isa<VectorType>(value.getType()) ? LaneValue::general(value) : LaneValue::uniform(value);
}

static ArrayRef<int64_t> shapeOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

// One lane per element along `axis`, none along the other dimensions.
static LaneMap lanesAlong(ArrayRef<int64_t> shape, int axis, int width) {
  LaneMap map = chooseLanes(shape, axis, std::min<int64_t>(shape[axis], width));
  return map;
}

// The pieces of the other dimensions are single elements; the axis is left to the body.
static LaneMap singleElements(ArrayRef<int64_t> shape, int axis) {
  int primary = axis == 0 ? int(shape.size()) - 1 : 0;
  LaneMap map = chooseLanes(shape, primary, 1);
  map.primary = axis; // excluded, so the other dimensions keep their order
  return map;
}

static int otherDim(ArrayRef<int64_t> shape, int preferred, int axis) {
  if (preferred != axis)
    return preferred;
  for (int dim = int(shape.size()) - 1; dim >= 0; --dim)
    if (dim != axis && shape[dim] > 1)
      return dim;
  return axis == 0 ? std::min<int>(1, shape.size() - 1) : 0;
}

static bool prefersLanesAlong(ArrayRef<int64_t> shape, int axis, int preferred, int width) {
  if (shape.size() == 1)
    return true;
  int64_t others = 1;
  for (int dim = 0; dim < int(shape.size()); ++dim)
    others *= dim == axis ? 1 : shape[dim];
  return others == 1 || (preferred == axis && shape[axis] >= std::min<int64_t>(width, others));
}

SmallVector<LaneValue> HostEmitter::evaluateAll(ValueRange values, const TileIndex &index) {
  SmallVector<LaneValue> results;
  for (Value value : values)
    results.push_back(evaluate(value, index));
  return results;
}

HostEmitter::Values HostEmitter::combine(Region &region, ArrayRef<Value> lhs, ArrayRef<Value> rhs) {
  SmallVector<LaneValue> arguments;
  for (Value value : lhs)
    arguments.push_back(wrap(value));
  for (Value value : rhs)
    arguments.push_back(wrap(value));
  Values results;
  for (const LaneValue &value : runRegion(region, arguments))
    results.push_back(toLanes(value));
  return results;
}

// Halves the vectors until one lane is left.
HostEmitter::Values HostEmitter::foldLanes(Region &region, Values lanes) {
  while (auto vector = dyn_cast<VectorType>(lanes.front().getType())) {
    int64_t half = vector.getDimSize(0) / 2;
    if (half == 0) {
      for (Value &value : lanes)
        value = vector::ExtractOp::create(b, loc, value, 0);
      break;
    }
    Values low, high;
    for (Value value : lanes) {
      if (half == 1) {
        low.push_back(vector::ExtractOp::create(b, loc, value, 0));
        high.push_back(vector::ExtractOp::create(b, loc, value, 1));
        continue;
      }
      auto sequence = [&](int64_t from) { return llvm::to_vector(llvm::seq<int64_t>(from, from + half)); };
      low.push_back(vector::ShuffleOp::create(b, loc, value, value, sequence(0)));
      high.push_back(vector::ShuffleOp::create(b, loc, value, value, sequence(half)));
    }
    PieceScope scope(*this, half);
    lanes = combine(region, low, high);
  }
  return lanes;
}

//===-- Reduce ---------------------------------------------------------------------------------------------------===//

void HostEmitter::emitReduce(ReduceOp op) {
  ArrayRef<int64_t> shape = shapeOf(op.getSrcs()[0]);
  SmallVector<TileBuffer *> results = allocateFor(op.getResult());
  int lanes = isStraightLine(op.getCombineOp()) ? maxLanes() : 1;
  if (prefersLanesAlong(shape, op.getAxis(), plan.preferredDim(op.getSrcs()[0]), lanes))
    reduceAlongLanes(op, results);
  else
    reduceAcrossLanes(op, results);
}

void HostEmitter::reduceAlongLanes(ReduceOp op, ArrayRef<TileBuffer *> results) {
  ArrayRef<int64_t> shape = shapeOf(op.getSrcs()[0]);
  Region &region = op.getCombineOp();
  int axis = op.getAxis();
  LaneMap lanes = lanesAlong(shape, axis, isStraightLine(region) ? maxLanes() : 1);
  int64_t step = lanes.width, pieces = shape[axis] / step;
  // Independent accumulators hide the latency of the combine operation.
  int64_t chains = pieces >= 16 ? 4 : pieces >= 8 ? 2 : 1;
  size_t count = op.getSrcs().size();
  auto row = [&](TileIndex index) {
    PieceScope scope(*this, lanes.width);
    index[axis].lanes = lanes.pattern[axis];
    auto piece = [&](Value at) {
      TileIndex here = index;
      here[axis].base = at;
      Values values;
      for (const LaneValue &value : evaluateAll(op.getSrcs(), here))
        values.push_back(toLanes(value));
      return values;
    };
    Values sums;
    for (int64_t chain = 0; chain < chains; ++chain)
      sums.append(piece(i64(chain * step)));
    sums = forLoop(chains * step, shape[axis], chains * step, sums, [&](Value at, ValueRange carried) {
      PieceScope inner(*this, lanes.width);
      Values next;
      for (int64_t chain = 0; chain < chains; ++chain) {
        Values mine(carried.slice(chain * count, count));
        next.append(combine(region, mine, piece(add(at, i64(chain * step)))));
      }
      return next;
    });
    for (int64_t alive = chains; alive > 1; alive /= 2) {
      Values halved;
      for (int64_t chain = 0; chain < alive / 2; ++chain)
        halved.append(combine(region, ArrayRef<Value>(sums).slice(chain * count, count),
                              ArrayRef<Value>(sums).slice((chain + alive / 2) * count, count)));
      sums = halved;
    }
    sums = foldLanes(region, sums);
    PieceScope single(*this, 1);
    TileIndex target = index;
    target.erase(target.begin() + axis);
    for (auto [number, sum] : llvm::enumerate(sums)) {
      if (results[number])
        writeBuffer(*results[number], target, LaneValue::uniform(sum));
      else
        scalars[op.getResult()[number]] = sum;
    }
  };
  if (shape.size() == 1)
    return row(TileIndex(1));
  iterate(shape, singleElements(shape, axis), row, axis);
}

void HostEmitter::reduceAcrossLanes(ReduceOp op, ArrayRef<TileBuffer *> results) {
  ArrayRef<int64_t> shape = shapeOf(op.getSrcs()[0]);
  Region &region = op.getCombineOp();
  int axis = op.getAxis(), primary = otherDim(shape, plan.preferredDim(op.getSrcs()[0]), axis);
  LaneMap lanes = chooseLanes(shape, primary, isStraightLine(region) ? maxLanes() : 1, axis);
  iterate(
      shape, lanes,
      [&](TileIndex index) {
        auto piece = [&](Value at) {
          index[axis].base = at;
          Values values;
          for (const LaneValue &value : evaluateAll(op.getSrcs(), index))
            values.push_back(toLanes(value));
          return values;
        };
        Values sums = forLoop(1, shape[axis], 1, piece(i64(0)), [&](Value at, ValueRange carried) {
          PieceScope inner(*this, lanes.width);
          return combine(region, Values(carried), piece(at));
        });
        TileIndex target = index;
        target.erase(target.begin() + axis);
        for (auto [result, sum] : llvm::zip(results, sums))
          writeBuffer(*result, target, wrap(sum));
      },
      axis);
}

//===-- Scan -----------------------------------------------------------------------------------------------------===//

void HostEmitter::emitScan(ScanOp op) {
  ArrayRef<int64_t> shape = shapeOf(op.getSrcs()[0]);
  SmallVector<TileBuffer *> results = allocateFor(op.getResult());
  int lanes = isStraightLine(op.getCombineOp()) ? maxLanes() : 1;
  if (prefersLanesAlong(shape, op.getAxis(), plan.preferredDim(op.getSrcs()[0]), lanes))
    scanAlongLanes(op, results);
  else
    scanAcrossLanes(op, results);
}

// Within a piece log2(width) shuffled steps, between pieces the last lane.
void HostEmitter::scanAlongLanes(ScanOp op, ArrayRef<TileBuffer *> results) {
  ArrayRef<int64_t> shape = shapeOf(op.getSrcs()[0]);
  Region &region = op.getCombineOp();
  int axis = op.getAxis();
  bool reverse = op.getReverse();
  LaneMap lanes = lanesAlong(shape, axis, isStraightLine(region) ? maxLanes() : 1);
  int64_t step = lanes.width;
  auto scanPiece = [&](Values values) {
    for (int64_t distance = 1; distance < step; distance *= 2) {
      SmallVector<int64_t> from;
      LanePattern active;
      for (int64_t lane = 0; lane < step; ++lane) {
        int64_t source = reverse ? lane + distance : lane - distance;
        bool inside = source >= 0 && source < step;
        from.push_back(inside ? source : lane);
        active.push_back(inside ? -1 : 0);
      }
      Values earlier;
      for (Value value : values)
        earlier.push_back(vector::ShuffleOp::create(b, loc, value, value, from));
      Values both = combine(region, earlier, values);
      Value mask = patternVector(b.getI1Type(), active);
      for (auto [value, combined] : llvm::zip(values, both))
        value = arith::SelectOp::create(b, loc, mask, combined, value);
    }
    return values;
  };
  auto row = [&](TileIndex index) {
    PieceScope scope(*this, lanes.width);
    index[axis].lanes = lanes.pattern[axis];
    auto piece = [&](Value count) { // the count-th elements in scan order
      TileIndex here = index;
      here[axis].base = reverse ? Value(arith::SubIOp::create(b, loc, i64(shape[axis] - step), count)) : count;
      return here;
    };
    auto evaluated = [&](const TileIndex &here) {
      Values values;
      for (const LaneValue &value : evaluateAll(op.getSrcs(), here))
        values.push_back(toLanes(value));
      return scanPiece(values);
    };
    auto finish = [&](const TileIndex &here, const Values &values) {
      Values carry;
      for (auto [result, value] : llvm::zip(results, values)) {
        if (result)
          writeBuffer(*result, here, wrap(value));
        carry.push_back(step == 1 ? value : Value(vector::ExtractOp::create(b, loc, value, reverse ? 0 : step - 1)));
      }
      return carry;
    };
    TileIndex first = piece(i64(0));
    Values carry = finish(first, evaluated(first));
    forLoop(step, shape[axis], step, carry, [&](Value at, ValueRange carried) {
      PieceScope inner(*this, lanes.width);
      TileIndex here = piece(at);
      Values before, values = evaluated(here);
      for (Value value : carried)
        before.push_back(splat(value));
      return finish(here, combine(region, before, values));
    });
  };
  if (shape.size() == 1)
    return row(TileIndex(1));
  iterate(shape, singleElements(shape, axis), row, axis);
}

void HostEmitter::scanAcrossLanes(ScanOp op, ArrayRef<TileBuffer *> results) {
  ArrayRef<int64_t> shape = shapeOf(op.getSrcs()[0]);
  Region &region = op.getCombineOp();
  int axis = op.getAxis(), primary = otherDim(shape, plan.preferredDim(op.getSrcs()[0]), axis);
  bool reverse = op.getReverse();
  LaneMap lanes = chooseLanes(shape, primary, isStraightLine(region) ? maxLanes() : 1, axis);
  iterate(
      shape, lanes,
      [&](TileIndex index) {
        auto evaluated = [&](Value count) {
          index[axis].base = reverse ? Value(arith::SubIOp::create(b, loc, i64(shape[axis] - 1), count)) : count;
          Values values;
          for (const LaneValue &value : evaluateAll(op.getSrcs(), index))
            values.push_back(toLanes(value));
          return values;
        };
        auto store = [&](const Values &values) {
          for (auto [result, value] : llvm::zip(results, values))
            if (result)
              writeBuffer(*result, index, wrap(value));
          return values;
        };
        Values first = store(evaluated(i64(0)));
        forLoop(1, shape[axis], 1, first, [&](Value at, ValueRange carried) {
          PieceScope inner(*this, lanes.width);
          Values values = evaluated(at);
          return store(combine(region, Values(carried), values));
        });
      },
      axis);
}

//===-- Histogram ------------------------------------------------------------------------------------------------===//

void HostEmitter::emitHistogram(HistogramOp op) {
  TileBuffer *bins = allocateFor(ValueRange{op.getResult()})[0];
  if (!bins)
    return;
  LaneMap all = chooseLanes(bins->shape, 0, maxLanes());
  iterate(bins->shape, all,
          [&](TileIndex index) { writeBuffer(*bins, index, LaneValue::uniform(zero(bins->stored))); });
  ArrayRef<int64_t> shape = shapeOf(op.getSrc());
  iterate(shape, chooseLanes(shape, plan.preferredDim(op.getSrc()), maxLanes()), [&](TileIndex index) {
    Value values = toLanes(evaluate(op.getSrc(), index));
    Type wide = like(b.getI64Type(), values);
    if (values.getType() != wide)
      values = arith::ExtUIOp::create(b, loc, wide, values);
    Value active = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, values,
                                         constantLike(b.getI64Type(), bins->shape[0], values));
    if (op.getMask())
      active = arith::AndIOp::create(b, loc, active, toLanes(evaluate(op.getMask(), index)));
    bool vector = isa<VectorType>(values.getType());
    Value memory = vector ? spill(values) : Value();
    forActiveLanes(active, [&](Value lane) {
      Value bin = vector ? spilledLane(memory, b.getI64Type(), lane) : values;
      Value pointer = gep(bins->pointer, bins->stored, bin), count = loadFrom(pointer, bins->stored);
      storeTo(pointer, arith::AddIOp::create(b, loc, count, constantLike(bins->stored, 1, count)));
    });
  });
}
