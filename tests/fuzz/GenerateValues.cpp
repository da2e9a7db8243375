// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Operands: types, shapes, constants, and picking from the pool.
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "tests/fuzz/Generator.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::fuzz;

Type Generator::randomIntegerType() {
  static const std::vector<int> widths = {8, 16, 32, 32, 32, 64};
  return builder.getIntegerType(unsigned(random.pick(widths)));
}

Type Generator::randomFloatType() {
  switch (random.below(7)) {
  case 0:
    return builder.getF64Type();
  case 1:
  case 2:
    return builder.getF16Type();
  case 3:
    return builder.getBF16Type();
  default:
    return builder.getF32Type();
  }
}

Type Generator::randomFp8Type() {
  switch (random.below(4)) {
  case 0:
    return Float8E4M3FNType::get(&context);
  case 1:
    return Float8E5M2Type::get(&context);
  case 2:
    return Float8E4M3FNUZType::get(&context);
  default:
    return Float8E5M2FNUZType::get(&context);
  }
}

Type Generator::randomElementType() {
  int64_t kind = random.below(20);
  if (kind == 0)
    return randomFp8Type();
  if (kind == 1)
    return builder.getI1Type();
  return kind < 11 ? randomIntegerType() : randomFloatType();
}

Shape Generator::randomShape() {
  int64_t rank = random.chance(60) ? random.between(1, 2) : random.between(1, 4);
  int64_t logSize = random.chance(8) ? 10 : random.between(0, 8);
  std::vector<int64_t> logs(size_t(rank), 0);
  for (int64_t i = 0; i < logSize; ++i)
    ++logs[size_t(random.below(rank))];
  Shape shape;
  for (int64_t log : logs)
    shape.push_back(int64_t(1) << log);
  return shape;
}

const Shape &Generator::commonShape() {
  return random.pick(shapes);
}

Type Generator::tileType(const Shape &shape, Type element) {
  return shape.empty() ? element : Type(RankedTensorType::get(shape, element));
}

Shape Generator::shapeOf(const Entry &entry) {
  auto tensor = dyn_cast<RankedTensorType>(entry.type());
  return tensor ? Shape(tensor.getShape().begin(), tensor.getShape().end()) : Shape();
}

Type Generator::elementOf(const Entry &entry) {
  return getElementTypeOrSelf(entry.type());
}

Entry Generator::keep(Value value, const Facts &facts) {
  pool.push_back({value, facts});
  return pool.back();
}

Value Generator::create(StringRef name, ValueRange operands, Type result) {
  OperationState state(location, name);
  state.addOperands(operands);
  state.addTypes(result);
  return builder.create(state)->getResult(0);
}

static Value constantOf(OpBuilder &builder, Location location, Type type, TypedAttr element) {
  if (auto tensor = dyn_cast<RankedTensorType>(type))
    return arith::ConstantOp::create(builder, location, DenseElementsAttr::get(tensor, Attribute(element)));
  return arith::ConstantOp::create(builder, location, element);
}

Value Generator::constantInteger(Type type, int64_t value) {
  Type element = getElementTypeOrSelf(type);
  return constantOf(
      builder, location, type,
      builder.getIntegerAttr(element, APInt(element.getIntOrFloatBitWidth(), uint64_t(value), true, true)));
}

Value Generator::constantFloat(Type type, double value) {
  return constantOf(builder, location, type, builder.getFloatAttr(getElementTypeOrSelf(type), value));
}

Value Generator::clamp(Value value, double low, double high, bool propagate) {
  Value least = constantFloat(value.getType(), low);
  Value most = constantFloat(value.getType(), high);
  return triton::ClampFOp::create(builder, location, value.getType(), value, least, most,
                                  propagate ? triton::PropagateNan::All : triton::PropagateNan::None);
}

Value Generator::splat(Value scalar, const Shape &shape) {
  if (shape.empty())
    return scalar;
  return triton::SplatOp::create(builder, location, tileType(shape, scalar.getType()), scalar);
}

std::optional<Entry> Generator::choose(const std::function<bool(const Entry &)> &fits) {
  std::vector<Entry> candidates;
  for (const Entry &entry : pool)
    if (fits(entry))
      candidates.push_back(entry);
  if (candidates.empty())
    return std::nullopt;
  // Prefer what was computed last: deeper programs.
  size_t last = candidates.size() - 1;
  size_t index = random.chance(40) ? last : size_t(random.below(int64_t(candidates.size())));
  return candidates[index];
}

std::optional<Entry> Generator::chooseTile(const std::function<bool(Type)> &element, bool allowTerminal) {
  return choose([&](const Entry &entry) {
    return isa<RankedTensorType>(entry.type()) && element(elementOf(entry)) &&
           (allowTerminal || !entry.facts.terminal());
  });
}

Entry Generator::operand(const Shape &shape, Type element) {
  Type type = tileType(shape, element);
  if (random.chance(85))
    if (auto found = choose([&](const Entry &entry) { return entry.type() == type && !entry.facts.terminal(); }))
      return *found;
  if (element.isIntOrFloat() && element.getIntOrFloatBitWidth() > 1 && random.chance(15)) {
    int64_t value = random.between(-5, 9);
    Value constant = isa<FloatType>(element) ? constantFloat(type, double(value)) : constantInteger(type, value);
    return keep(constant, Facts{double(value), double(value)});
  }
  return shape.empty() ? loadScalar(element) : loadTile(shape, element);
}

Entry Generator::smallIntegers(const Shape &shape, Type element) {
  return loadTile(shape, element, Fill::Small);
}

Entry Generator::exactOperand(const Shape &shape, Type element) {
  Type type = tileType(shape, element);
  if (auto found = choose([&](const Entry &entry) { return entry.type() == type && entry.facts.exact(); }))
    return *found;
  return shape.empty() ? loadScalar(element) : loadTile(shape, element);
}

Entry Generator::scalarI32() {
  Type type = builder.getI32Type();
  if (auto found = choose([&](const Entry &entry) { return entry.type() == type; }))
    return *found;
  return loadScalar(type);
}

Value Generator::boundedIndex(const Entry &entry, int64_t bound) {
  if (entry.facts.low >= 0 && entry.facts.high < double(bound))
    return entry.value;
  return create("arith.andi", {entry.value, constantInteger(entry.type(), bound - 1)}, entry.type());
}
