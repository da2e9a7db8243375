// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Operations that a few others make, so that nothing after the parser knows them: map, reduce-precision, dots of pred,
// and the custom calls whose target says what they compute.
#include "frontend/hlo/ParseInstruction.h"
#include <algorithm>
#include <fmt/format.h>
#include <utility>

namespace heddle::hlo {

InstructionParser::Binding InstructionParser::finishAs(Definition &definition, const Instruction &read,
                                                       Instruction made) {
  made.name = definition.name;
  made.location = definition.location;
  made.carried = read.carried;
  return finishDefinition(definition, std::move(made));
}

InstructionParser::Binding InstructionParser::finishCopy(Definition &definition, const Instruction &instruction,
                                                         int value) {
  Instruction copy;
  copy.opcode = Opcode::Copy;
  copy.operands = {value};
  return finishAs(definition, instruction, std::move(copy));
}

InstructionParser::Binding InstructionParser::finishAddDependency(Definition &definition,
                                                                  const Instruction &dependency) {
  if (dependency.operands.size() != 2)
    cursor.fail(definition.location,
                fmt::format("'add-dependency' takes 2 operands, got {}", dependency.operands.size()));
  return finishCopy(definition, dependency, dependency.operands[0]);
}

InstructionParser::Binding InstructionParser::finishDimensionSize(Definition &definition, const Instruction &size) {
  bool isArray = size.operands.size() == 1 && shapeOf(size.operands[0]).isArray();
  int64_t rank = isArray ? shapeOf(size.operands[0]).rank() : 0;
  if (size.dimensions.size() != 1 || size.dimensions[0] < 0 || size.dimensions[0] >= rank)
    cursor.fail(
        definition.location,
        fmt::format("'get-dimension-size' takes an array and one of its dimensions, got {} operands and {} dimensions",
                    size.operands.size(), size.dimensions.size()));
  int64_t elements = shapeOf(size.operands[0]).dimensions[size_t(size.dimensions[0])];
  return finishCopy(definition, size, number(elements, DType::S32, definition.location));
}

InstructionParser::Binding InstructionParser::finishMap(Definition &definition, const Instruction &map) {
  Location location = definition.location;
  bool fits =
      !map.operands.empty() && map.calledComputation >= 0 && std::ranges::all_of(map.operands, [&](int operand) {
        return shapeOf(operand).isArray() && shapeOf(operand).sameDimensionsAs(shapeOf(map.operands[0]));
      });
  if (!fits)
    cursor.fail(location, fmt::format("'map' takes arrays of the same dimensions and to_apply, got {} operands",
                                      map.operands.size()));
  const Computation region = context.module.computation(map.calledComputation);
  bool takes = region.parameters.size() == map.operands.size() && region.rootInstruction().shape.isScalar();
  for (size_t i = 0; takes && i < map.operands.size(); ++i)
    takes = region.parameter(i).shape.sameAs(Shape::scalar(shapeOf(map.operands[i]).type));
  if (!takes)
    cursor.fail(location, fmt::format("computation '{}' does not make a scalar of one of each of the {} operands of "
                                      "'map'",
                                      region.name, map.operands.size()));
  return finishCopy(definition, map, applyToArrays(region, map.operands, location)[0]);
}

InstructionParser::Binding InstructionParser::finishDotOfPred(Definition &definition, Instruction dot) {
  Location location = definition.location;
  for (int &operand : dot.operands)
    operand = convert(operand, DType::S32, location);
  dot.name.clear();
  int sums = append(std::move(dot), location);
  int none = broadcast(number(0, DType::S32, location), {}, shapeOf(sums).dimensions, location);
  Instruction compare;
  compare.opcode = Opcode::Compare;
  compare.direction = CompareDirection::NotEqual;
  compare.operands = {sums, none};
  compare.name = definition.name;
  compare.location = location;
  return finishDefinition(definition, std::move(compare));
}

namespace {

struct FloatFormat {
  DType bits;
  int exponent, mantissa;
};

std::optional<FloatFormat> formatOf(DType type) {
  switch (type) {
  case DType::F16:
    return FloatFormat{DType::U16, 5, 10};
  case DType::BF16:
    return FloatFormat{DType::U16, 8, 7};
  case DType::F32:
    return FloatFormat{DType::U32, 8, 23};
  case DType::F64:
    return FloatFormat{DType::U64, 11, 52};
  default:
    return std::nullopt;
  }
}

} // namespace

// On the bits, as XLA does: the mantissa is rounded to nearest even, then what is too large becomes infinity, and what
// is below the smallest normal number a zero of its sign.
InstructionParser::Binding InstructionParser::finishReducePrecision(Definition &definition,
                                                                    const Instruction &reduction) {
  Location location = definition.location;
  int64_t exponentBits = context.attributes.exponentBits, mantissaBits = context.attributes.mantissaBits;
  Shape shape = reduction.operands.size() == 1 ? shapeOf(reduction.operands[0]) : Shape::tuple({});
  auto format = shape.isArray() ? formatOf(shape.type) : std::nullopt;
  if (!format || exponentBits < 1 || mantissaBits < 0)
    cursor.fail(location, fmt::format("'reduce-precision' takes an array of f16, bf16, f32 or f64, exponent_bits of 1 "
                                      "or more and mantissa_bits, got {}, {} and {}",
                                      formatShapePlain(shape), exponentBits, mantissaBits));
  int width = 1 + format->exponent + format->mantissa;
  auto bits = [&](uint64_t value) {
    return broadcast(number(int64_t(value), format->bits, location), {}, shape.dimensions, location);
  };
  auto reinterpret = [&](int value, DType type) {
    Instruction instruction;
    instruction.opcode = Opcode::BitcastConvert;
    instruction.operands = {value};
    Shape made = Shape::array(type, shape.dimensions);
    return append(std::move(instruction), location, &made);
  };
  auto join = [&](Opcode opcode, int left, int right) { return apply(opcode, {left, right}, location); };
  uint64_t sign = uint64_t(1) << (width - 1), exponent = ((uint64_t(1) << format->exponent) - 1) << format->mantissa;
  int value = reinterpret(reduction.operands[0], format->bits);
  if (int64_t dropped = format->mantissa - mantissaBits; dropped > 0) {
    uint64_t last = uint64_t(1) << dropped;
    int odd = join(Opcode::ShiftRightLogical, join(Opcode::And, value, bits(last)), bits(uint64_t(dropped)));
    value = join(Opcode::Add, value, join(Opcode::Add, odd, bits((last >> 1) - 1)));
    value = join(Opcode::And, value, bits(~(last - 1) & (sign | (sign - 1))));
  }
  if (exponentBits < format->exponent) {
    uint64_t bias = (uint64_t(1) << (format->exponent - 1)) - 1, narrow = (uint64_t(1) << (exponentBits - 1)) - 1;
    int itsExponent = join(Opcode::And, value, bits(exponent)), itsSign = join(Opcode::And, value, bits(sign));
    int over = compare(itsExponent, CompareDirection::Greater, bits((bias + narrow) << format->mantissa), location);
    int under =
        compare(itsExponent, CompareDirection::LessOrEqual, bits((bias - narrow) << format->mantissa), location);
    value = apply(Opcode::Select, {over, join(Opcode::Or, itsSign, bits(exponent)), value}, location);
    value = apply(Opcode::Select, {under, itsSign, value}, location);
  }
  int result = reinterpret(value, shape.type);
  int isNumber =
      compare(reduction.operands[0], CompareDirection::Equal, reduction.operands[0], location); // NaN stays NaN
  if (mantissaBits == 0) {
    int infinite = join(Opcode::Or, join(Opcode::And, value, bits(sign)), bits(exponent));
    result = apply(Opcode::Select, {isNumber, result, reinterpret(infinite, shape.type)}, location);
  } else {
    result = apply(Opcode::Select, {isNumber, result, reduction.operands[0]}, location);
  }
  return finishCopy(definition, reduction, result);
}

//===-- Custom calls ---------------------------------------------------------------------------------------------===//

namespace {

/// What marks a value for XLA's partitioner or for its placement in memory.
constexpr std::string_view marks[] = {
    "Sharding",         "SPMDFullToShardShape", "SPMDShardToFullShape", "xla.sdy.FuncResultSharding",
    "LayoutConstraint", "MoveToHost",           "MoveToDevice",         "annotate_device_placement"};

} // namespace

// Before the partitioner shapes are those of all devices together, so that a marked program of several would be wrong.
InstructionParser::Binding InstructionParser::finishMark(Definition &definition, const Instruction &call,
                                                         std::string_view target) {
  if (call.operands.size() != 1)
    cursor.fail(definition.location, fmt::format("'{}' takes one operand, got {}", target, call.operands.size()));
  if (context.module.partitionCount > 1)
    cursor.fail(definition.location,
                fmt::format("'custom-call' of the target '{}' in a program of {} partitions: it is not partitioned yet",
                            target, context.module.partitionCount),
                {"give the text that XLA's partitioner leaves (docs/jax.md says how it is had)"});
  return finishCopy(definition, call, call.operands[0]);
}

InstructionParser::Binding InstructionParser::finishCustomCall(Definition &definition, const Instruction &call) {
  std::string target = context.attributes.target;
  Location location = definition.location;
  if (target.size() >= 2)
    target = target.substr(1, target.size() - 2);
  if (target == "TopK") { // the two arrays of the result say how many
    const auto &declared = definition.declared;
    bool fits = declared && declared->isTuple() && declared->elements.size() == 2 && declared->elements[0].rank() > 0;
    context.attributes.count = fits ? declared->elements[0].dimensions.back() : -1;
    return finishTop(definition, call);
  }
  if (std::ranges::find(marks, target) != std::end(marks))
    return finishMark(definition, call, target);
  if (auto made = finishLapack(definition, call, target))
    return *made;
  cursor.fail(location, fmt::format("'custom-call' of the target '{}' is not supported", target.substr(0, 60)),
              {"docs/hlo.md lists the targets that are read"});
}

} // namespace heddle::hlo
