// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// rng-bit-generator is read as the rounds of Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2,
// 3"), with the counters and the order of bits that XLA has on CPUs and GPUs, so that the bits are the same.
#include "frontend/hlo/ParseInstruction.h"
#include <array>
#include <fmt/format.h>
#include <utility>

namespace heddle::hlo {

namespace {

constexpr int rounds = 10;
constexpr int64_t multipliers[] = {0xD2511F53, 0xCD9E8D57}, keySteps[] = {0x9E3779B9, 0xBB67AE85};
constexpr int64_t low32 = 0xFFFFFFFF;

} // namespace

std::array<int, 4> InstructionParser::philox(std::array<int, 4> counter, int key, Location location) {
  std::vector<int64_t> sizes = shapeOf(counter[0]).dimensions;
  auto scalar = [&](int64_t value) { return number(value, DType::U64, location); };
  auto all = [&](int value) { return broadcast(value, {}, sizes, location); };
  auto join = [&](Opcode opcode, int left, int right) { return apply(opcode, {left, right}, location); };
  int mask = all(scalar(low32)), width = all(scalar(32));
  int keys[] = {join(Opcode::And, key, scalar(low32)), join(Opcode::ShiftRightLogical, key, scalar(32))};
  for (int round = 0; round < rounds; ++round) {
    int products[] = {join(Opcode::Multiply, counter[0], all(scalar(multipliers[0]))),
                      join(Opcode::Multiply, counter[2], all(scalar(multipliers[1])))};
    auto mixed = [&](int product, int word, int with) {
      int high = join(Opcode::ShiftRightLogical, product, width);
      return join(Opcode::Xor, join(Opcode::Xor, high, word), all(with));
    };
    counter = {mixed(products[1], counter[1], keys[0]), join(Opcode::And, products[1], mask),
               mixed(products[0], counter[3], keys[1]), join(Opcode::And, products[0], mask)};
    for (int i = 0; i < 2; ++i)
      keys[i] = join(Opcode::And, join(Opcode::Add, keys[i], scalar(keySteps[i])), scalar(low32));
  }
  return counter;
}

int InstructionParser::joinColumns(const std::vector<int> &columns, Location location) {
  int64_t rows = shapeOf(columns[0]).elementCount();
  Instruction join;
  join.opcode = Opcode::Concatenate;
  join.dimensions = {1};
  for (int column : columns)
    join.operands.push_back(reshape(column, {rows, 1}, location));
  return reshape(append(std::move(join), location), {rows * int64_t(columns.size())}, location);
}

InstructionParser::Binding InstructionParser::finishRandomBits(Definition &definition, const Instruction &generator) {
  std::string algorithm = context.attributes.algorithm;
  Location location = definition.location;
  Shape state = generator.operands.size() == 1 ? shapeOf(generator.operands[0]) : Shape::tuple({});
  const auto &declared = definition.declared;
  bool fits = state.isArray() && state.type == DType::U64 && state.rank() == 1 &&
              (state.dimensions[0] == 2 || state.dimensions[0] == 3) && declared && declared->isTuple() &&
              declared->elements.size() == 2 && declared->elements[0].sameAs(state) &&
              declared->elements[1].isArray() && isInteger(declared->elements[1].type) &&
              bitWidth(declared->elements[1].type) >= 8;
  if (!fits || (algorithm != "rng_default" && algorithm != "rng_philox"))
    cursor.fail(
        location,
        fmt::format("'rng-bit-generator' takes a state u64[2] or u64[3] and algorithm=rng_default or rng_philox, "
                    "and makes the state and integers; got {} and algorithm={}",
                    formatShapePlain(state), algorithm.empty() ? "none" : algorithm.substr(0, 60)));
  Shape made = declared->elements[1];
  bool isWide = bitWidth(made.type) == 64;
  int64_t count = made.elementCount(), words = isWide ? 2 : 4, blocks = (count + words - 1) / words;
  auto ofState = [&](int64_t index) {
    Instruction slice;
    slice.opcode = Opcode::Slice;
    slice.operands = {generator.operands[0]};
    slice.slice = {{index}, {index + 1}, {1}};
    return reshape(append(std::move(slice), location), {}, location);
  };
  // The counter of 128 bits goes on by the number of the block.
  bool isLong = state.dimensions[0] == 3;
  int key = ofState(0), low = ofState(1), high = ofState(isLong ? 2 : 0);
  auto advanced = [&](int by, const std::vector<int64_t> &sizes) {
    int before = broadcast(low, {}, sizes, location), after = apply(Opcode::Add, {before, by}, location);
    int carry = convert(compare(after, CompareDirection::Less, before, location), DType::U64, location);
    return std::pair(after, apply(Opcode::Add, {broadcast(high, {}, sizes, location), carry}, location));
  };
  auto [nextLow, nextHigh] = advanced(number(blocks, DType::U64, location), {});
  int next = joinColumns(isLong ? std::vector<int>{key, nextLow, nextHigh} : std::vector<int>{key, nextLow}, location);
  std::vector<int64_t> sizes = {blocks};
  auto [lows, highs] = advanced(convert(iota(sizes, 0, location), DType::U64, location), sizes);
  int mask = broadcast(number(low32, DType::U64, location), {}, sizes, location);
  int width = broadcast(number(32, DType::U64, location), {}, sizes, location);
  auto join = [&](Opcode opcode, int left, int right) { return apply(opcode, {left, right}, location); };
  std::array<int, 4> bits = philox({join(Opcode::And, lows, mask), join(Opcode::ShiftRightLogical, lows, width),
                                    join(Opcode::And, highs, mask), join(Opcode::ShiftRightLogical, highs, width)},
                                   key, location);
  std::vector<int> columns(bits.begin(), bits.end());
  if (isWide)
    columns = {join(Opcode::Or, bits[0], join(Opcode::ShiftLeft, bits[1], width)),
               join(Opcode::Or, bits[2], join(Opcode::ShiftLeft, bits[3], width))};
  Instruction slice, result;
  slice.opcode = Opcode::Slice;
  slice.operands = {joinColumns(columns, location)};
  slice.slice = {{0}, {count}, {1}};
  int values = reshape(append(std::move(slice), location), made.dimensions, location);
  result.opcode = Opcode::Tuple;
  result.operands = {next, convert(values, made.type, location)};
  return finishAs(definition, generator, std::move(result));
}

} // namespace heddle::hlo
