// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tensor descriptors made in the kernel: blocks that stick out of their tensor, chosen rows, reductions into memory.
#include "tests/fuzz/Generator.h"
#include "tests/reference/Tile.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::fuzz;

Value Generator::describe(RankedTensorType block, Value pointer, int64_t rows, int64_t columns,
                          triton::PaddingOption padding) {
  Type i64 = builder.getI64Type(), i32 = builder.getI32Type();
  SmallVector<Value> shape, strides;
  for (int64_t d = 2; d < block.getRank(); ++d) {
    shape.push_back(constantInteger(i32, 1));
    strides.push_back(constantInteger(i64, rows * columns));
  }
  shape.append({constantInteger(i32, rows), constantInteger(i32, columns)});
  strides.append({constantInteger(i64, columns), constantInteger(i64, 1)});
  return triton::MakeTensorDescOp::create(builder, location, triton::TensorDescType::get(block), pointer, shape,
                                          strides, padding);
}

/// With what is read outside a tensor.
static Facts padded(Facts facts, triton::PaddingOption padding) {
  facts.special |= padding == triton::PaddingOption::Nan;
  facts.low = std::min(facts.low, 0.0);
  facts.high = std::max(facts.high, 0.0);
  return facts;
}

void Generator::addDescriptor() {
  static const std::vector<int64_t> sizes = {4, 8, 16};
  int64_t height = random.pick(sizes);
  Type element = random.chance(50) ? Type(builder.getI32Type()) : Type(builder.getF32Type());
  Buffer buffer = inputOf(element);
  Type i32 = builder.getI32Type();
  auto block = cast<RankedTensorType>(tileType({height, 16}, element));
  int64_t rows = random.between(1, 20), columns = random.between(1, 40);
  Value offset = constantInteger(i32, random.between(-4, 12));
  Value descriptor = describe(block, buffer.pointer, rows, columns);
  Value loaded =
      triton::DescriptorLoadOp::create(builder, location, block, descriptor, ValueRange{programIndex, offset});
  Facts facts = padded(buffer.facts, triton::PaddingOption::Zero);
  keep(loaded, facts);
  if (random.chance(50)) { // back to this program's rows of an output that is narrower than the block
    Buffer output = addOutput(element, height * programCount * 12, facts);
    Value target = describe(block, output.pointer, height * programCount, 12);
    Value row = create("arith.muli", {programIndex, constantInteger(i32, height)}, i32);
    triton::DescriptorStoreOp::create(builder, location, target, loaded, ValueRange{row, constantInteger(i32, 0)});
  }
}

// All programs update the same cells, by an operation whose order does not matter.
void Generator::addDescriptorReduce() {
  if (depth > 0) // the bound of a floating-point sum counts one update per program
    return;
  using Kind = triton::DescriptorReduceKind;
  static const std::vector<Kind> kinds = {Kind::Add, Kind::Min, Kind::Max, Kind::And, Kind::Or, Kind::Xor};
  static const std::vector<int64_t> sizes = {4, 8, 16};
  bool isFloat = random.chance(40);
  static const std::vector<unsigned> widths = {32, 32, 64};
  unsigned width = random.pick(widths);
  Type element = !isFloat      ? Type(builder.getIntegerType(width))
                 : width == 32 ? builder.getF32Type()
                               : builder.getF64Type();
  Type described = !isFloat && random.chance(40) ? Type(builder.getIntegerType(width, /*isSigned=*/false)) : element;
  int64_t height = random.pick(sizes), breadth = random.pick(sizes);
  Entry value = isFloat ? smallIntegers({height, breadth}, element) : operand({height, breadth}, element);
  Kind kind = isFloat ? Kind::Add : random.pick(kinds);
  double total = value.facts.magnitude() * double(programCount) + 8;
  int64_t rows = random.between(1, 20), columns = random.between(1, 20);
  Facts after = isFloat ? Facts{-total, total, 0, true, false, true} : anything(element);
  Buffer buffer = addOutput(element, rows * columns, after, true);
  Type i32 = builder.getI32Type();
  Shape shape{height, breadth};
  SmallVector<Value> at;
  if (random.chance(25)) { // a tile may lack leading dimensions of 1
    shape.insert(shape.begin(), 1);
    at.push_back(constantInteger(i32, random.chance(90) ? 0 : 1));
  }
  at.push_back(random.chance(50) ? programIndex : constantInteger(i32, random.between(-6, 12)));
  at.push_back(constantInteger(i32, random.between(-6, 12)));
  Value descriptor = describe(RankedTensorType::get(shape, described), buffer.pointer, rows, columns);
  triton::DescriptorReduceOp::create(builder, location, kind, descriptor, value.value, at);
}

/// An element type of at most 32 bits, and the length of a row: at least 32 bytes.
static std::pair<Type, int64_t> rowOf(Random &random, OpBuilder &builder) {
  static const std::vector<unsigned> widths = {8, 16, 32, 32};
  unsigned width = random.pick(widths);
  int64_t length = (random.chance(30) ? 512 : 256) / width;
  Type integer = builder.getIntegerType(width);
  Type half = random.chance(50) ? Type(builder.getF16Type()) : Type(builder.getBF16Type());
  bool isFloat = random.chance(50);
  if (!isFloat || width == 8)
    return {integer, length};
  return {width == 16 ? half : Type(builder.getF32Type()), length};
}

void Generator::addDescriptorGather() {
  auto [element, length] = rowOf(random, builder);
  static const std::vector<int64_t> counts = {8, 16, 32};
  int64_t count = random.pick(counts), rows = random.between(1, 24), columns = random.between(1, 48);
  Buffer buffer = inputOf(element);
  Entry numbers = operand({count}, random.chance(50) ? builder.getI16Type() : builder.getI32Type());
  Value row = numbers.value; // far outside, or just outside at times
  if (random.chance(75)) {
    Value low = create("arith.andi", {row, constantInteger(numbers.type(), 31)}, numbers.type());
    row = create("arith.subi", {low, constantInteger(numbers.type(), random.between(0, 4))}, numbers.type());
  }
  Value column = constantInteger(builder.getI32Type(), random.between(-8, 24));
  if (random.chance(30))
    column = create("arith.addi", {column, programIndex}, column.getType());
  auto padding =
      isa<FloatType>(element) && random.chance(30) ? triton::PaddingOption::Nan : triton::PaddingOption::Zero;
  Value descriptor = describe(RankedTensorType::get({1, length}, element), buffer.pointer, rows, columns, padding);
  Value loaded = triton::DescriptorGatherOp::create(builder, location, tileType({count, length}, element), descriptor,
                                                    row, column);
  keep(loaded, padded(buffer.facts, padding));
}

// To this program's rows, each once and in any order; those that the tensor lacks are dropped.
void Generator::addDescriptorScatter() {
  auto [element, length] = rowOf(random, builder);
  static const std::vector<int64_t> counts = {8, 16};
  int64_t count = random.pick(counts), columns = random.between(1, 48);
  int64_t rows = count * programCount - random.between(0, 5);
  Entry value = operand({count, length}, element);
  Buffer output = addOutput(element, rows * columns, value.facts);
  Value row = ownIndex({count});
  row = create("arith.xori", {row, constantInteger(row.getType(), random.below(count))}, row.getType());
  if (random.chance(50))
    row = create("arith.trunci", row, tileType({count}, builder.getI16Type()));
  Value column = constantInteger(builder.getI32Type(), random.between(-8, 24));
  Value descriptor = describe(RankedTensorType::get({1, length}, element), output.pointer, rows, columns);
  triton::DescriptorScatterOp::create(builder, location, descriptor, row, column, value.value);
}
