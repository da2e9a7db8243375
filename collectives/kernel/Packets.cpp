// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Joins elements to words and splits words, by shapes of tiles that no target moves between threads for.
#include "collectives/kernel/Packets.h"

using namespace mlir;
using namespace heddle::triton;

namespace heddle {

// Pairs of contiguous elements become one integer of twice the width, the first in the low half.
static Value joinNeighbours(tile::TileWriter &w, Value tile) {
  unsigned bits = elementBits(tile.getType());
  int64_t half = w.sizeOf(tile) / 2;
  Type element = elementTypeOf(tile.getType());
  Value pairs = ReshapeOp::create(w.b, RankedTensorType::get({half, 2}, element), tile);
  Type flat = RankedTensorType::get({half}, element);
  auto split = SplitOp::create(w.b, TypeRange{flat, flat}, pairs);
  Value high = w.shiftLeft(w.extend(split.getOutRHS(), 2 * bits), w.constant(w.b.getIntegerType(2 * bits), bits));
  return w.bitOr(w.extend(split.getOutLHS(), 2 * bits), high);
}

static Value splitNeighbours(tile::TileWriter &w, Value tile) {
  unsigned bits = elementBits(tile.getType()) / 2;
  int64_t size = w.sizeOf(tile);
  Value low = w.truncate(tile, bits);
  Value high = w.truncate(w.shiftRight(tile, w.constant(w.b.getIntegerType(2 * bits), bits)), bits);
  Type element = w.b.getIntegerType(bits);
  Value pairs = JoinOp::create(w.b, RankedTensorType::get({size, 2}, element), low, high);
  return ReshapeOp::create(w.b, RankedTensorType::get({2 * size}, element), pairs);
}

llvm::SmallVector<Value, 2> toWords(tile::TileWriter &w, Value tile, unsigned wordBits) {
  unsigned bits = elementBits(tile.getType());
  Value integers = w.bitcast(tile, w.b.getIntegerType(bits));
  if (bits > wordBits)
    return {w.truncate(integers, 32), w.truncate(w.shiftRight(integers, w.i64(32)), 32)};
  for (; bits < wordBits; bits *= 2)
    integers = joinNeighbours(w, integers);
  return {integers};
}

Value fromWords(tile::TileWriter &w, ArrayRef<Value> words, Type element) {
  unsigned bits = element.getIntOrFloatBitWidth();
  Value integers = words[0];
  if (words.size() == 2)
    integers = w.bitOr(w.extend(words[0], 64), w.shiftLeft(w.extend(words[1], 64), w.i64(32)));
  for (unsigned now = elementBits(integers.getType()); now > bits; now /= 2)
    integers = splitNeighbours(w, integers);
  return w.bitcast(integers, element);
}

} // namespace heddle
