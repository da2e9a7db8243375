// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The text of a random loop, and its arguments. A buffer ends with the last element that the kernel may read, so that
// a load for an iteration that there is not is found.
#include "support/Error.h"
#include "tests/fuzz/Random.h"
#include "tests/loops/RandomLoop.h"
#include "tests/loops/TileText.h"
#include "tests/reference/SoftFloat.h"
#include <cstring>
#include <optional>

namespace heddle::loops {
namespace {

using fuzz::Random;
using reference::Argument;

reference::FloatFormat formatOf(const std::string &element) {
  return element == "f32"        ? reference::formatF32
         : element == "f16"      ? reference::formatF16
         : element == "bf16"     ? reference::formatBF16
         : element == "f8E4M3FN" ? reference::formatE4M3FN
                                 : reference::formatE4M3FNUZ;
}

/// At least one element, for an address.
Argument bufferOf(const std::string &element, std::vector<int64_t> values) {
  values.resize(std::max<size_t>(values.size(), 1));
  bool isInteger = element[0] == 'i';
  size_t size = size_t(isInteger ? std::stoi(element.substr(1)) : formatOf(element).width()) / 8;
  Argument buffer = Argument::buffer(std::vector<uint8_t>(values.size() * size));
  for (size_t i = 0; i < values.size(); ++i) {
    uint64_t bits = isInteger ? uint64_t(values[i]) : reference::encode(formatOf(element), double(values[i]));
    std::memcpy(buffer.bytes.data() + i * size, &bits, size);
  }
  return buffer;
}

int64_t roundUp(int64_t value, int64_t granule) {
  return (value + granule - 1) / granule * granule;
}

/// An operand, and what of it is computed before the loop.
struct Tile {
  LoopOperand is;
  Value base, stride, table;   ///< `stride`: of the axis that is not contiguous; `table`: where the address has one
  Shape shape = {};            ///< as it is loaded
  int kAxis = 0;               ///< of the loaded tile
  Value kRange, outerOffsets;  ///< one of the axes has size 1
  Value offsets, pointers;     ///< of the first tile
  std::optional<Value> inside; ///< of the outer axis
  size_t carried = 0;          ///< number among the values that the loop carries
};

class LoopWriter {
public:
  explicit LoopWriter(const RandomLoop &loop) : loop(loop), random(loop.seed ^ 0x10095) {}

  fuzz::FuzzProgram write();

private:
  std::vector<int64_t> integers(int64_t count, int64_t low, int64_t high);
  Value buffer(const std::string &element, const std::vector<int64_t> &values, bool isAligned = true);
  Value number(Source source, int64_t value, const std::string &element = "i32");
  Tile tileOf(const LoopOperand &operand);
  std::vector<int64_t> randomTable();
  void writeRows(const Value &number);
  void writeFirstTile(Tile &tile, const Value &start);
  std::vector<Value> writeLoop(const std::vector<Value> &sums, const Value &upper);
  void carry(Tile &tile, std::vector<Value> &values);
  Value offsetAt(const Value &counter);
  Value alongK(const Tile &tile, const Value &at);
  Value pointersAt(const Tile &tile, const Value &at, const TileText::Loop &around);
  std::optional<Value> maskAt(const Tile &tile, const Value &at);
  Value operandAt(const Tile &tile, const Value &at, const TileText::Loop &around);
  Value converted(const Value &tile);
  Value scaleAt(const Value &at, const std::string &element, const Shape &shape);
  Value multiplied(const Value &left, const Value &right, const Value &sum, const Value &at);

  const RandomLoop &loop;
  Random random;
  TileText text;
  std::vector<Argument> arguments;
  std::vector<std::string> notes;
  std::vector<Tile> tiles;
  Value result, scales, rows, columns, depth, lower, step, shift;
};

} // namespace

//===-- Arguments ------------------------------------------------------------------------------------------------===//

std::vector<int64_t> LoopWriter::integers(int64_t count, int64_t low, int64_t high) {
  std::vector<int64_t> values;
  for (int64_t i = 0; i < count; ++i)
    values.push_back(random.between(low, high));
  return values;
}

Value LoopWriter::buffer(const std::string &element, const std::vector<int64_t> &values, bool isAligned) {
  arguments.push_back(bufferOf(element, values));
  notes.push_back(std::to_string(values.size()) + " " + element);
  return text.parameter(pointerTo(element), isAligned);
}

Value LoopWriter::number(Source source, int64_t value, const std::string &element) {
  if (source == Source::Constant)
    return text.constant(element, value);
  arguments.push_back(Argument::scalar(element == "i64" ? uint64_t(value) : uint32_t(value)));
  notes.push_back(element + " " + std::to_string(value));
  return text.parameter(element, source == Source::DivisibleArgument);
}

/// The offset of each iteration's tile along K, at the iteration's own offset: a permutation.
std::vector<int64_t> LoopWriter::randomTable() {
  std::vector<int64_t> table(size_t(loop.trips * loop.k)), order;
  for (int64_t i = 0; i < loop.trips; ++i)
    order.insert(order.begin() + random.below(i + 1), i * loop.k);
  for (size_t i = 0; i < order.size(); ++i)
    table[i * size_t(loop.k)] = order[i];
  if (!table.empty())
    table.resize(table.size() - size_t(loop.k) + 1);
  return table;
}

Tile LoopWriter::tileOf(const LoopOperand &operand) {
  Tile tile;
  tile.is = operand;
  int64_t outerSize = operand.isLeft ? loop.m : loop.n;
  tile.kAxis = operand.isLeft != operand.transposed;
  tile.shape = tile.kAxis ? Shape{outerSize, loop.k} : Shape{loop.k, outerSize};
  bool isCut = operand.masksOuter || operand.wraps;
  int64_t outer = operand.isLeft ? (isCut ? loop.rows : loop.m * loop.tiles) : isCut ? loop.columns : loop.n;
  int64_t along = operand.masksK ? loop.depth : loop.trips * loop.k;
  int64_t contiguous = operand.alongK ? along : outer, others = operand.alongK ? outer : along;
  int64_t stride = roundUp(contiguous, operand.stride == Source::DivisibleArgument || operand.padding == 16 ? 16 : 1) +
                   (operand.stride == Source::DivisibleArgument ? roundUp(operand.padding, 16) : operand.padding);
  int64_t count = contiguous && others ? (others - 1) * stride + contiguous : 0;
  bool isWide = loop.element == "i8"; // sums of 32 bits wrap, and are exact
  tile.base = buffer(operand.element, isWide ? integers(count, -128, 127) : integers(count, -4, 4), operand.isAligned);
  tile.stride = number(operand.stride, stride);
  if (operand.address == Address::Table)
    tile.table = buffer("i32", randomTable());
  return tile;
}

//===-- Before the loop ------------------------------------------------------------------------------------------===//

void LoopWriter::writeFirstTile(Tile &tile, const Value &start) {
  int outerAxis = 1 - tile.kAxis;
  Value outer = text.range(tile.shape[size_t(outerAxis)]);
  if (tile.is.isLeft)
    outer = text.add(text.splat(start, outer.shape), outer);
  Value size = text.splat(tile.is.isLeft ? rows : columns, outer.shape);
  if (tile.is.wraps)
    outer = text.binary("arith.remsi", outer, size);
  if (tile.is.masksOuter)
    tile.inside = text.broadcast(text.expand(text.isLess(outer, size), tile.kAxis), tile.shape);
  outer = text.expand(outer, tile.kAxis);
  tile.kRange = text.range(tile.shape[size_t(tile.kAxis)]);
  Value k = text.expand(tile.kRange, outerAxis);
  tile.outerOffsets = tile.is.alongK ? text.multiply(outer, text.splat(tile.stride, outer.shape)) : outer;
  Value kOffsets = tile.is.alongK ? k : text.multiply(k, text.splat(tile.stride, k.shape));
  if (tile.is.twoSteps) {
    Value lines = text.add(text.splat(tile.base, outer.shape), tile.outerOffsets);
    tile.pointers = text.add(text.broadcast(lines, tile.shape), text.broadcast(kOffsets, tile.shape));
  }
  tile.offsets = text.add(text.broadcast(tile.outerOffsets, tile.shape), text.broadcast(kOffsets, tile.shape));
  if (!tile.is.twoSteps)
    tile.pointers = text.add(text.splat(tile.base, tile.shape), tile.offsets);
}

/// The rows of one tile: all of K, and the store.
void LoopWriter::writeRows(const Value &number) {
  Value start = text.multiply(number, text.constant("i32", loop.m));
  for (Tile &tile : tiles)
    writeFirstTile(tile, start);
  Shape shape = {loop.m, loop.n};
  Value row = text.add(text.splat(start, {loop.m}), text.range(loop.m)), column = text.range(loop.n);
  auto whole = [&](const Value &line, int axis) { return text.broadcast(text.expand(line, axis), shape); };
  Value offsets = text.add(text.multiply(whole(row, 1), text.constant("i32", loop.n, shape)), whole(column, 0));
  Value pointers = text.add(text.splat(result, shape), offsets);
  Value rowInside = whole(text.isLess(row, text.splat(rows, row.shape)), 1);
  Value columnInside = whole(text.isLess(column, text.splat(columns, column.shape)), 0);
  Value inside = text.binary("arith.andi", rowInside, columnInside);

  Value zero = text.constant(loop.sumElement(), 0, shape);
  std::vector<Value> sums(loop.separateSums ? 2 : 1, zero);
  if (loop.loadsSum)
    sums[0] = text.load(pointers, &inside, &zero);
  Value upper = this->number(loop.upperSource, loop.upper, loop.counterType);
  if (loop.outer == Outer::Ragged) { // no iteration for the first rows, and one more for the next ones each
    Value trips = loop.counterType == "i64" ? text.convert("arith.extsi", number, "i64") : number;
    upper = text.binary("arith.minsi", upper, text.add(lower, text.multiply(trips, step)));
  }
  for (int i = 0; i < (loop.twice ? 2 : 1); ++i)
    sums = writeLoop(sums, upper);
  text.store(pointers, sums.size() > 1 ? text.subtract(sums[0], sums[1]) : sums[0], &inside);
}

//===-- In the loop ----------------------------------------------------------------------------------------------===//

/// Adds what the loop carries of a tile's address.
void LoopWriter::carry(Tile &tile, std::vector<Value> &values) {
  tile.carried = values.size();
  if (tile.is.address == Address::CarriedTile)
    values.push_back(tile.pointers);
  else if (tile.is.address == Address::CarriedOffset)
    values.push_back(text.constant("i32", 0));
  else if (tile.is.address == Address::CarriedPointer)
    values.push_back(tile.base);
}

/// An offset in memory for one along K.
Value LoopWriter::alongK(const Tile &tile, const Value &at) {
  return tile.is.alongK ? at : text.multiply(at, tile.stride);
}

Value LoopWriter::pointersAt(const Tile &tile, const Value &at, const TileText::Loop &around) {
  switch (tile.is.address) {
  case Address::CarriedTile:
    return around.carried[tile.carried];
  case Address::CarriedOffset:
    return text.add(tile.pointers, text.splat(around.carried[tile.carried], tile.shape));
  case Address::CarriedPointer:
    return text.add(text.splat(around.carried[tile.carried], tile.shape), tile.offsets);
  case Address::Indices: {
    Value k = text.expand(text.add(tile.kRange, text.splat(at, tile.kRange.shape)), 1 - tile.kAxis);
    Value kOffsets = tile.is.alongK ? k : text.multiply(k, text.splat(tile.stride, k.shape));
    Value offsets = text.add(text.broadcast(tile.outerOffsets, tile.shape), text.broadcast(kOffsets, tile.shape));
    return text.add(text.splat(tile.base, tile.shape), offsets);
  }
  case Address::Counter:
  case Address::Table:
    return text.add(tile.pointers, text.splat(alongK(tile, at), tile.shape));
  }
  throw internalError("an address of no kind");
}

std::optional<Value> LoopWriter::maskAt(const Tile &tile, const Value &at) {
  if (!tile.is.masksK)
    return tile.inside;
  Value left = loop.comparesLeft ? text.subtract(depth, at) : depth;
  Value k = loop.comparesLeft ? tile.kRange : text.add(tile.kRange, text.splat(at, tile.kRange.shape));
  Value inside = text.expand(text.isLess(k, text.splat(left, k.shape)), 1 - tile.kAxis);
  inside = text.broadcast(inside, tile.shape);
  return tile.inside ? text.binary("arith.andi", *tile.inside, inside) : inside;
}

Value LoopWriter::converted(const Value &tile) {
  if (tile.element == loop.element)
    return tile;
  std::string operation = tile.element == "i8"             ? "arith.sitofp"
                          : tile.element == "f32"          ? "arith.truncf"
                          : tile.element.starts_with("f8") ? "tt.fp_to_fp"
                                                           : "arith.extf";
  return text.convert(operation, tile, loop.element);
}

/// The tile of the iteration at `at` along K, as matmuls read it.
Value LoopWriter::operandAt(const Tile &tile, const Value &at, const TileText::Loop &around) {
  Value here = tile.is.address == Address::Table ? text.load(text.add(tile.table, at), nullptr, nullptr) : at;
  Value pointers = pointersAt(tile, here, around);
  std::optional<Value> mask = maskAt(tile, here), other;
  if (mask && tile.is.other != Other::None)
    other = text.constant(tile.is.element, tile.is.other == Other::One, tile.shape);
  Value loaded = text.load(pointers, mask ? &*mask : nullptr, other ? &*other : nullptr, tile.is.modifiers);
  if (tile.is.convertsFirst)
    loaded = converted(loaded);
  return converted(tile.is.transposed ? text.transpose(loaded) : loaded);
}

/// The number, or the row of numbers, of an iteration.
Value LoopWriter::scaleAt(const Value &at, const std::string &element, const Shape &shape) {
  Value pointer = text.add(scales, at);
  bool isRow = loop.scale == Scale::Row;
  if (isRow)
    pointer = text.add(text.splat(pointer, {shape[1]}), text.range(shape[1]));
  Value scale = text.load(pointer, nullptr, nullptr);
  if (element != "i32")
    scale = text.convert("arith.sitofp", scale, element);
  return isRow ? text.broadcast(text.expand(scale, 0), shape) : text.splat(scale, shape);
}

Value LoopWriter::multiplied(const Value &left, const Value &right, const Value &sum, const Value &at) {
  std::string modifiers = loop.element == "f32" && loop.isTf32 ? ", inputPrecision = tf32"
                          : loop.element.starts_with("f8")     ? " {maxNumImpreciseAcc = 1073741824 : i32}"
                                                               : "";
  if (loop.scale != Scale::Sum && loop.scale != Scale::Row)
    return text.dot(left, right, sum, modifiers);
  Value part = text.dot(left, right, text.constant(sum.element, 0, sum.shape), modifiers);
  return text.add(sum, text.multiply(part, scaleAt(at, sum.element, sum.shape)));
}

/// Along K.
Value LoopWriter::offsetAt(const Value &counter) {
  Value unit = text.constant(loop.counterType, loop.unit()), at;
  if (loop.step > loop.k)
    at = text.multiply(text.binary("arith.divui", text.subtract(counter, lower), step), unit);
  else if (loop.shifts)
    at = text.add(text.multiply(counter, unit), shift);
  else
    at = text.multiply(text.subtract(counter, lower), unit);
  return loop.counterType == "i32" ? at : text.convert("arith.trunci", at, "i32");
}

/// The sums after the loop.
std::vector<Value> LoopWriter::writeLoop(const std::vector<Value> &sums, const Value &upper) {
  std::vector<Value> initial;
  if (!loop.sumsLast)
    initial = sums;
  for (Tile &tile : tiles)
    carry(tile, initial);
  size_t firstSum = loop.sumsLast ? initial.size() : 0;
  if (loop.sumsLast)
    initial.insert(initial.end(), sums.begin(), sums.end());

  TileText::Loop made = text.beginLoop(lower, upper, step, initial);
  Value at = offsetAt(made.counter);
  std::vector<Value> operands;
  for (const Tile &tile : tiles)
    operands.push_back(operandAt(tile, at, made));
  if (loop.scale == Scale::Tile)
    operands[0] = text.multiply(operands[0], scaleAt(at, loop.element, operands[0].shape));
  if (loop.second == Second::Gram)
    operands.push_back(text.transpose(operands[0]));

  std::vector<Value> yielded = made.carried;
  auto sum = [&](size_t i) -> Value & { return yielded[firstSum + std::min(i, sums.size() - 1)]; };
  sum(0) = multiplied(operands[0], operands[1], sum(0), at);
  if (operands.size() > 2)
    sum(1) = loop.second == Second::SharesRight ? multiplied(operands[2], operands[1], sum(1), at)
                                                : multiplied(operands[0], operands[2], sum(1), at);
  Value depthOfTile = text.constant("i32", loop.k);
  for (const Tile &tile : tiles) {
    if (tile.is.address < Address::CarriedTile || tile.is.address > Address::CarriedPointer)
      continue;
    Value &moved = yielded[tile.carried];
    Value by = alongK(tile, depthOfTile);
    moved = text.add(moved, moved.shape.empty() ? by : text.splat(by, moved.shape));
  }
  std::vector<Value> results = text.endLoop(
      made, yielded,
      loop.stagesOfLoop ? " {tt.num_stages = " + std::to_string(loop.stagesOfLoop) + " : i32}" : std::string());
  return {results.begin() + ptrdiff_t(firstSum), results.begin() + ptrdiff_t(firstSum + sums.size())};
}

//===-- The program ----------------------------------------------------------------------------------------------===//

fuzz::FuzzProgram LoopWriter::write() {
  for (const LoopOperand &operand : loop.operands)
    tiles.push_back(tileOf(operand));
  size_t resultNumber = arguments.size();
  result = buffer(loop.sumElement(), integers(int64_t(loop.m) * loop.tiles * loop.n, -8, 8));
  if (loop.scale != Scale::None)
    scales = buffer("i32", integers(int64_t(loop.trips) * loop.k + loop.n, 1, 3));
  rows = number(loop.sizeSource, loop.rows);
  columns = number(loop.sizeSource, loop.columns);
  depth = number(loop.depthSource, loop.depth);
  lower = number(loop.lowerSource, loop.lower, loop.counterType);
  step = number(loop.stepSource, loop.step, loop.counterType);
  if (loop.shifts)
    shift = text.multiply(lower, text.constant(loop.counterType, -loop.unit()));
  Value pid = text.programId();
  if (loop.outer == Outer::Grid) {
    writeRows(pid);
  } else {
    TileText::Loop outer = text.beginLoop(pid, text.constant("i32", loop.tiles), text.programCount(), {});
    writeRows(outer.counter);
    text.endLoop(outer, {});
  }
  return {loop.seed, text.text(), {loop.programs, 1, 1}, arguments, notes, {{resultNumber, loop.sumElement()}}};
}

fuzz::FuzzProgram programOf(const RandomLoop &loop) {
  return LoopWriter(loop).write();
}

} // namespace heddle::loops
