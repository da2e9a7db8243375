// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The operations on one device, and the collectives on all: each a function from operands to the result.
#pragma once
#include "frontend/hlo/Hlo.h"
#include "tests/reference/hlo/Value.h"
#include <functional>

namespace heddle::hlo::reference {

using Operands = std::vector<const Value *>;

/// Where an element lies: one index per dimension.
using Index = std::vector<int64_t>;

/// Calls `action` for each index of an array of these dimensions, in row-major order.
void forEachIndex(const std::vector<int64_t> &dimensions, const std::function<void(const Index &)> &action);
int64_t linearIndex(const std::vector<int64_t> &dimensions, const Index &index);
void copyElement(const Value &from, int64_t fromIndex, Value &to, int64_t toIndex);

/// One element of a binary operation; operands and result have the type.
void computeBinary(Opcode opcode, DType type, const uint8_t *left, const uint8_t *right, uint8_t *result);

Value evaluateElementwise(const Instruction &instruction, const Operands &operands);
Value evaluateMovement(const Instruction &instruction, const Operands &operands);
Value evaluateDot(const Instruction &instruction, const Operands &operands);

/// One step of a reduction: scalars, accumulated values before new ones, to scalars.
using ReductionStep = std::function<std::vector<Value>(const std::vector<Value> &)>;
/// Elements in row-major order, beginning with the initial values.
Value evaluateReduce(const Instruction &instruction, const Operands &operands, const ReductionStep &step);

/// operands[device]; the results of all devices.
std::vector<Value> evaluateCollective(const Module &module, const Instruction &instruction,
                                      const std::vector<Operands> &operands);

} // namespace heddle::hlo::reference
