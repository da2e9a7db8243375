// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The table of operations.
#include "frontend/hlo/Opcode.h"
#include <algorithm>
#include <array>
#include <fmt/format.h>

namespace heddle::hlo {
namespace {

struct OpcodeRow {
  Opcode opcode;
  const char *name;
  OpcodeClass kind;
  int operands;
};

using enum Opcode;
constexpr OpcodeClass source = OpcodeClass::Source, unary = OpcodeClass::Unary, binary = OpcodeClass::Binary,
                      elementwise = OpcodeClass::Elementwise, movement = OpcodeClass::Movement,
                      contraction = OpcodeClass::Contraction, structure = OpcodeClass::Structure,
                      collective = OpcodeClass::Collective;
constexpr int varies = -1;

constexpr auto rows = std::to_array<OpcodeRow>({
    {Parameter, "parameter", source, 0},
    {Constant, "constant", source, 0},
    {Iota, "iota", source, 0},
    {PartitionId, "partition-id", source, 0},
    {ReplicaId, "replica-id", source, 0},
    {Abs, "abs", unary, 1},
    {Negate, "negate", unary, 1},
    {Sign, "sign", unary, 1},
    {Floor, "floor", unary, 1},
    {Ceil, "ceil", unary, 1},
    {RoundNearestAfz, "round-nearest-afz", unary, 1},
    {RoundNearestEven, "round-nearest-even", unary, 1},
    {Exponential, "exponential", unary, 1},
    {ExponentialMinusOne, "exponential-minus-one", unary, 1},
    {Log, "log", unary, 1},
    {LogPlusOne, "log-plus-one", unary, 1},
    {Logistic, "logistic", unary, 1},
    {Tanh, "tanh", unary, 1},
    {Sine, "sine", unary, 1},
    {Cosine, "cosine", unary, 1},
    {Tan, "tan", unary, 1},
    {Sqrt, "sqrt", unary, 1},
    {Rsqrt, "rsqrt", unary, 1},
    {Cbrt, "cbrt", unary, 1},
    {Erf, "erf", unary, 1},
    {Not, "not", unary, 1},
    {IsFinite, "is-finite", unary, 1},
    {PopulationCount, "popcnt", unary, 1},
    {CountLeadingZeros, "count-leading-zeros", unary, 1},
    {Copy, "copy", unary, 1},
    {Add, "add", binary, 2},
    {Subtract, "subtract", binary, 2},
    {Multiply, "multiply", binary, 2},
    {Divide, "divide", binary, 2},
    {Remainder, "remainder", binary, 2},
    {Maximum, "maximum", binary, 2},
    {Minimum, "minimum", binary, 2},
    {Power, "power", binary, 2},
    {Atan2, "atan2", binary, 2},
    {And, "and", binary, 2},
    {Or, "or", binary, 2},
    {Xor, "xor", binary, 2},
    {ShiftLeft, "shift-left", binary, 2},
    {ShiftRightArithmetic, "shift-right-arithmetic", binary, 2},
    {ShiftRightLogical, "shift-right-logical", binary, 2},
    {Compare, "compare", elementwise, 2},
    {Select, "select", elementwise, 3},
    {Clamp, "clamp", elementwise, 3},
    {Convert, "convert", elementwise, 1},
    {BitcastConvert, "bitcast-convert", elementwise, 1},
    {Complex, "complex", elementwise, 2},
    {Real, "real", elementwise, 1},
    {Imag, "imag", elementwise, 1},
    {Broadcast, "broadcast", movement, 1},
    {Reshape, "reshape", movement, 1},
    {Bitcast, "bitcast", movement, 1},
    {Transpose, "transpose", movement, 1},
    {Slice, "slice", movement, 1},
    {DynamicSlice, "dynamic-slice", movement, varies},
    {DynamicUpdateSlice, "dynamic-update-slice", movement, varies},
    {Concatenate, "concatenate", movement, varies},
    {Pad, "pad", movement, 2},
    {Reverse, "reverse", movement, 1},
    {Gather, "gather", movement, 2},
    {Reduce, "reduce", contraction, varies},
    {Dot, "dot", contraction, 2},
    {Tuple, "tuple", structure, varies},
    {GetTupleElement, "get-tuple-element", structure, 1},
    {Fusion, "fusion", structure, varies},
    {Call, "call", structure, varies},
    {While, "while", structure, 1},
    {AfterAll, "after-all", structure, varies},
    {OptimizationBarrier, "opt-barrier", structure, 1},
    {AllReduce, "all-reduce", collective, varies},
    {AllGather, "all-gather", collective, varies},
    {ReduceScatter, "reduce-scatter", collective, varies},
    {AllToAll, "all-to-all", collective, varies},
    {CollectivePermute, "collective-permute", collective, varies},
    {CollectiveBroadcast, "collective-broadcast", collective, varies},
});

/// What HLO has besides. Named so that the message can tell a missing feature from a slip of the finger.
constexpr auto refused = std::to_array<std::string_view>({
    "batch-norm-grad",
    "batch-norm-inference",
    "batch-norm-training",
    "domain",
    "infeed",
    "outfeed",
    "ragged-all-to-all",
    "ragged-dot",
    "recv",
    "recv-done",
    "rng",
    "rng-get-and-update-state",
    "scaled-dot",
    "scan",
    "send",
    "send-done",
    "set-dimension-size",
    "stochastic-convert",
});

} // namespace

const std::vector<Opcode> &allOpcodes() {
  static const std::vector<Opcode> opcodes = [] {
    std::vector<Opcode> list;
    for (const OpcodeRow &row : rows)
      list.push_back(row.opcode);
    return list;
  }();
  return opcodes;
}

const char *opcodeName(Opcode opcode) {
  return rows[size_t(opcode)].name;
}

std::optional<Opcode> findOpcode(std::string_view name) {
  for (const OpcodeRow &row : rows)
    if (name == row.name)
      return row.opcode;
  return std::nullopt;
}

OpcodeClass opcodeClass(Opcode opcode) {
  return rows[size_t(opcode)].kind;
}

bool isElementwise(Opcode opcode) {
  OpcodeClass kind = opcodeClass(opcode);
  return kind == unary || kind == binary || kind == elementwise;
}

int operandCountOf(Opcode opcode) {
  return rows[size_t(opcode)].operands;
}

std::string wrongOperandCount(Opcode opcode, size_t count) {
  int expected = operandCountOf(opcode);
  if (expected < 0 || count == size_t(expected))
    return {};
  return fmt::format("'{}' takes {} operand{}, got {}", opcodeName(opcode), expected, expected == 1 ? "" : "s", count);
}

bool isRefusedOpcode(std::string_view name) {
  return std::find(refused.begin(), refused.end(), name) != refused.end();
}

} // namespace heddle::hlo
