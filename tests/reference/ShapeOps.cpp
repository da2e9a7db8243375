// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Operations that only move elements, and histogram. Each is one formula: which source element a result element shows.
#include "compiler/dialects/triton/Triton.h"
#include "support/Error.h"
#include "tests/reference/Program.h"

using namespace mlir;
using namespace heddle::reference;

static Type resultType(Operation *op) {
  return op->getResult(0).getType();
}

static ArrayRef<int64_t> shapeOf(Type type) {
  return cast<RankedTensorType>(type).getShape();
}

// Result element i is source element from(coordinates of i).
template <typename From>
static Results rearrange(Operation *op, const Tile &source, From from) {
  ArrayRef<int64_t> shape = shapeOf(resultType(op));
  return {buildTile(resultType(op),
                    [&](int64_t i) { return source.bits[ravel(from(unravel(i, shape)), source.shape())]; })};
}

static Results broadcast(Program &, Operation *op, const Inputs &in) {
  ArrayRef<int64_t> source = in[0].shape();
  return rearrange(op, in[0], [&](std::vector<int64_t> at) {
    for (size_t d = 0; d < at.size(); ++d)
      if (source[d] == 1)
        at[d] = 0;
    return at;
  });
}

static Results transpose(Program &, Operation *op, const Inputs &in) {
  ArrayRef<int32_t> order = cast<heddle::triton::TransOp>(op).getOrder();
  return rearrange(op, in[0], [&](const std::vector<int64_t> &at) {
    std::vector<int64_t> from(at.size());
    for (size_t d = 0; d < at.size(); ++d)
      from[order[d]] = at[d];
    return from;
  });
}

static Results join(Program &, Operation *op, const Inputs &in) {
  return {buildTile(resultType(op), [&](int64_t i) { return in[i % 2].bits[i / 2]; })};
}

static Results split(Program &, Operation *op, const Inputs &in) {
  Type half = resultType(op);
  return {buildTile(half, [&](int64_t i) { return in[0].bits[2 * i]; }),
          buildTile(half, [&](int64_t i) { return in[0].bits[2 * i + 1]; })};
}

static Results concatenate(Program &program, Operation *op, const Inputs &in) {
  const Tile &first = in[program.contrary() ? 1 : 0], &second = in[program.contrary() ? 0 : 1];
  return {buildTile(resultType(op),
                    [&](int64_t i) { return i < first.size() ? first.bits[i] : second.bits[i - first.size()]; })};
}

static Results makeRange(Program &, Operation *op, const Inputs &) {
  int64_t start = int32_t(cast<heddle::triton::MakeRangeOp>(op).getStart());
  return {buildTile(resultType(op), [&](int64_t i) { return uint64_t(start + i); })};
}

static Results gather(Program &, Operation *op, const Inputs &in) {
  int64_t axis = cast<heddle::triton::GatherOp>(op).getAxis();
  ArrayRef<int64_t> source = in[0].shape(), shape = shapeOf(resultType(op));
  return {buildTile(resultType(op), [&](int64_t i) {
    std::vector<int64_t> at = unravel(i, shape);
    at[axis] = signedAt(in[1], i);
    if (at[axis] < 0 || at[axis] >= source[axis])
      throw heddle::inputError("index " + std::to_string(at[axis]) + " of element " + std::to_string(i) +
                               " is outside a dimension of " + std::to_string(source[axis]));
    return in[0].bits[ravel(at, source)];
  })};
}

static Results histogram(Program &, Operation *op, const Inputs &in) {
  Tile counts = filled(resultType(op), 0);
  for (int64_t i = 0; i < in[0].size(); ++i) {
    if (in.size() > 1 && !in[1].bits[i])
      continue;
    int64_t bin = signedAt(in[0], i);
    if (bin < 0 || bin >= counts.size())
      throw heddle::inputError("value " + std::to_string(bin) + " has no bin among " + std::to_string(counts.size()));
    ++counts.bits[bin];
  }
  for (uint64_t &count : counts.bits)
    count = truncateBits(count, elementWidth(counts.type));
  return {counts};
}

void heddle::reference::addShapeHandlers(HandlerTable &table) {
  for (StringRef name : {"tt.splat", "tt.unsplat"})
    table[name] = [](Program &, Operation *op, const Inputs &in) {
      return Results{filled(resultType(op), in[0].bits[0])};
    };
  // Row-major order is kept.
  for (StringRef name : {"tt.expand_dims", "tt.reshape"})
    table[name] = [](Program &, Operation *op, const Inputs &in) { return Results{Tile{resultType(op), in[0].bits}}; };
  table["tt.broadcast"] = broadcast;
  table["tt.trans"] = transpose;
  table["tt.join"] = join;
  table["tt.split"] = split;
  table["tt.cat"] = concatenate;
  table["tt.make_range"] = makeRange;
  table["tt.gather"] = gather;
  table["tt.histogram"] = histogram;
}
