// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The operations that are read, with the names that HLO prints. The -start, -update and -done forms are not among them:
// the parser turns them into the operation itself.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::hlo {

enum class Opcode {
  Parameter,
  Constant,
  Iota,
  PartitionId,
  ReplicaId,
  // One operand, element by element.
  Abs,
  Negate,
  Sign,
  Floor,
  Ceil,
  RoundNearestAfz,
  RoundNearestEven,
  Exponential,
  ExponentialMinusOne,
  Log,
  LogPlusOne,
  Logistic,
  Tanh,
  Sine,
  Cosine,
  Tan,
  Sqrt,
  Rsqrt,
  Cbrt,
  Erf,
  Not,
  IsFinite,
  PopulationCount,
  CountLeadingZeros,
  Copy,
  // Two operands of one shape, element by element.
  Add,
  Subtract,
  Multiply,
  Divide,
  Remainder,
  Maximum,
  Minimum,
  Power,
  Atan2,
  And,
  Or,
  Xor,
  ShiftLeft,
  ShiftRightArithmetic,
  ShiftRightLogical,
  // Element by element, with rules of their own.
  Compare,
  Select,
  Clamp,
  Convert,
  BitcastConvert,
  Complex,
  Real,
  Imag,
  // Movement.
  Broadcast,
  Reshape,
  Bitcast,
  Transpose,
  Slice,
  DynamicSlice,
  DynamicUpdateSlice,
  Concatenate,
  Pad,
  Reverse,
  Gather,
  // Contractions.
  Reduce,
  Dot,
  // Tuples, calls, order.
  Tuple,
  GetTupleElement,
  Fusion,
  Call,
  While,
  AfterAll,
  OptimizationBarrier,
  // Between devices.
  AllReduce,
  AllGather,
  ReduceScatter,
  AllToAll,
  CollectivePermute,
  CollectiveBroadcast,
};

enum class OpcodeClass { Source, Unary, Binary, Elementwise, Movement, Contraction, Structure, Collective };

/// Every opcode, in the order of the enumeration.
const std::vector<Opcode> &allOpcodes();
const char *opcodeName(Opcode opcode); ///< `round-nearest-afz`, `all-reduce`
std::optional<Opcode> findOpcode(std::string_view name);
OpcodeClass opcodeClass(Opcode opcode);

inline bool isCollective(Opcode opcode) {
  return opcodeClass(opcode) == OpcodeClass::Collective;
}
/// Unary, Binary or Elementwise, all computed element by element from operands of the result's dimensions (scalars in
/// select and clamp excepted).
bool isElementwise(Opcode opcode);

/// How many operands the opcode takes; -1 when that varies.
int operandCountOf(Opcode opcode);

/// What is wrong with that many operands; empty where nothing is.
std::string wrongOperandCount(Opcode opcode, size_t count);

/// Whether HLO has an operation of this name that is not read.
bool isRefusedOpcode(std::string_view name);

} // namespace heddle::hlo
