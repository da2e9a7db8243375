// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One instruction after the other, each on all devices before the next; so a collective finds all its operands.
#include "tests/reference/hlo/Evaluator.h"
#include "support/Error.h"
#include "tests/reference/hlo/Operations.h"
#include <algorithm>
#include <fmt/format.h>
#include <numeric>

namespace heddle::hlo::reference {
namespace {

using Devices = std::vector<int64_t>;
using PerDevice = std::vector<Value>; ///< one for each of the devices that run

constexpr int64_t mostTrips = 100000;

class Evaluation {
public:
  explicit Evaluation(const Module &module) : module(module) {}

  /// arguments[number] has one value for each of `devices`.
  PerDevice run(const Computation &computation, const std::vector<PerDevice> &arguments, const Devices &devices);

private:
  PerDevice runInstruction(const Instruction &instruction, const std::vector<PerDevice> &values,
                           const std::vector<PerDevice> &arguments, const Devices &devices);
  PerDevice runCollective(const Instruction &instruction, const std::vector<Operands> &operands,
                          const Devices &devices);
  PerDevice runWhile(const Instruction &instruction, PerDevice state, const Devices &devices);
  Value runAlone(const Instruction &instruction, const Operands &operands, int64_t device);
  std::vector<Value> reduceStep(const Computation &region, const std::vector<Value> &arguments, int64_t device);
  bool hasCollective(int computation) const;
  Error located(const Instruction &instruction, const std::string &message) const;

  const Module &module;
};

Error Evaluation::located(const Instruction &instruction, const std::string &message) const {
  return inputError(
      fmt::format("{}:{}:{}: {}", module.fileName, instruction.location.line, instruction.location.column, message));
}

bool Evaluation::hasCollective(int computation) const {
  for (const Instruction &instruction : module.computation(computation).instructions) {
    if (isCollective(instruction.opcode))
      return true;
    for (int called : {instruction.calledComputation, instruction.condition, instruction.body})
      if (called >= 0 && hasCollective(called))
        return true;
  }
  return false;
}

PerDevice Evaluation::run(const Computation &computation, const std::vector<PerDevice> &arguments,
                          const Devices &devices) {
  std::vector<PerDevice> values;
  for (const Instruction &instruction : computation.instructions) {
    values.push_back(runInstruction(instruction, values, arguments, devices));
    for (Value &value : values.back())
      value.shape = instruction.shape; // its layout may differ from the operand's, and a bitcast sees it
  }
  return values[size_t(computation.root)];
}

PerDevice Evaluation::runInstruction(const Instruction &instruction, const std::vector<PerDevice> &values,
                                     const std::vector<PerDevice> &arguments, const Devices &devices) {
  std::vector<Operands> operands(devices.size());
  std::vector<PerDevice> operandValues;
  for (int operand : instruction.operands) {
    operandValues.push_back(values[size_t(operand)]);
    for (size_t i = 0; i < devices.size(); ++i)
      operands[i].push_back(&values[size_t(operand)][i]);
  }
  if (isCollective(instruction.opcode))
    return runCollective(instruction, operands, devices);
  PerDevice results;
  switch (instruction.opcode) {
  case Opcode::Parameter:
    return arguments[size_t(instruction.parameterNumber)];
  case Opcode::Fusion:
  case Opcode::Call:
    return run(module.computation(instruction.calledComputation), operandValues, devices);
  case Opcode::While:
    return runWhile(instruction, operandValues[0], devices);
  default:
    for (size_t i = 0; i < devices.size(); ++i) {
      results.push_back(runAlone(instruction, operands[i], devices[i]));
    }
    return results;
  }
}

PerDevice Evaluation::runCollective(const Instruction &instruction, const std::vector<Operands> &operands,
                                    const Devices &devices) {
  if (int64_t(devices.size()) != module.deviceCount())
    throw located(instruction, fmt::format("only {} of {} devices reach '{}'", devices.size(), module.deviceCount(),
                                           instruction.name));
  return evaluateCollective(module, instruction, operands);
}

PerDevice Evaluation::runWhile(const Instruction &instruction, PerDevice state, const Devices &devices) {
  bool together = hasCollective(instruction.body) || hasCollective(instruction.condition);
  std::vector<size_t> running(devices.size());
  std::iota(running.begin(), running.end(), 0);
  for (int64_t trip = 0; trip < mostTrips; ++trip) {
    Devices active;
    PerDevice current;
    for (size_t place : running) {
      active.push_back(devices[place]);
      current.push_back(state[place]);
    }
    PerDevice decisions = run(module.computation(instruction.condition), {current}, active);
    std::vector<size_t> next;
    for (size_t i = 0; i < running.size(); ++i)
      if (decisions[i].bytes[0])
        next.push_back(running[i]);
    if (together && !next.empty() && next.size() != running.size())
      throw located(instruction,
                    fmt::format("after {} trips {} of {} devices leave '{}', whose body holds a collective", trip,
                                running.size() - next.size(), running.size(), instruction.name));
    if (next.empty())
      return state;
    running = next;
    active.clear();
    current.clear();
    for (size_t place : running) {
      active.push_back(devices[place]);
      current.push_back(state[place]);
    }
    PerDevice results = run(module.computation(instruction.body), {current}, active);
    for (size_t i = 0; i < running.size(); ++i)
      state[running[i]] = std::move(results[i]);
  }
  throw located(instruction, fmt::format("'{}' runs more than {} trips", instruction.name, mostTrips));
}

std::vector<Value> Evaluation::reduceStep(const Computation &region, const std::vector<Value> &arguments,
                                          int64_t device) {
  const Instruction &root = region.rootInstruction();
  if (reductionKindOf(region)) { // the usual case, without the detour
    Value result = zeros(root.shape);
    bool swapped = root.operands[0] != region.parameters[0];
    computeBinary(root.opcode, root.shape.type, arguments[swapped].bytes.data(), arguments[!swapped].bytes.data(),
                  result.bytes.data());
    return {result};
  }
  std::vector<PerDevice> perDevice;
  for (const Value &argument : arguments)
    perDevice.push_back({argument});
  Value result = run(region, perDevice, {device})[0];
  return result.shape.isTuple() ? result.elements : std::vector<Value>{result};
}

Value Evaluation::runAlone(const Instruction &instruction, const Operands &operands, int64_t device) {
  switch (opcodeClass(instruction.opcode)) {
  case OpcodeClass::Unary:
  case OpcodeClass::Binary:
  case OpcodeClass::Elementwise:
    return evaluateElementwise(instruction, operands);
  case OpcodeClass::Movement:
    return evaluateMovement(instruction, operands);
  default:
    break;
  }
  Value result;
  switch (instruction.opcode) {
  case Opcode::Constant:
    return fromBytes(instruction.shape, instruction.literal);
  case Opcode::Iota:
    result = zeros(instruction.shape);
    forEachIndex(instruction.shape.dimensions, [&, next = int64_t(0)](const Index &index) mutable {
      storeNumber(instruction.shape.type, double(index[size_t(instruction.iotaDimension)]), result.at(next++));
    });
    return result;
  case Opcode::PartitionId:
    return fromNumbers(instruction.shape, {double(device % module.partitionCount)});
  case Opcode::ReplicaId:
    return fromNumbers(instruction.shape, {double(device / module.partitionCount)});
  case Opcode::Reduce:
    return evaluateReduce(instruction, operands, [&](const std::vector<Value> &arguments) {
      return reduceStep(module.computation(instruction.calledComputation), arguments, device);
    });
  case Opcode::Dot:
    return evaluateDot(instruction, operands);
  case Opcode::Tuple:
    for (const Value *operand : operands)
      result.elements.push_back(*operand);
    return result;
  case Opcode::GetTupleElement:
    return operands[0]->elements[size_t(instruction.tupleIndex)];
  case Opcode::OptimizationBarrier:
    return *operands[0];
  case Opcode::AfterAll:
    return result;
  default:
    throw internalError(fmt::format("the reference lacks '{}'", opcodeName(instruction.opcode)));
  }
}

} // namespace

std::vector<Value> evaluate(const Module &module, const std::vector<std::vector<Value>> &inputs) {
  const Computation &entry = module.entryComputation();
  if (int64_t(inputs.size()) != module.deviceCount())
    throw inputError(fmt::format("inputs for {} devices; the module runs on {}", inputs.size(), module.deviceCount()));
  std::vector<PerDevice> arguments(entry.parameters.size());
  for (size_t device = 0; device < inputs.size(); ++device) {
    if (inputs[device].size() != entry.parameters.size())
      throw inputError(fmt::format("{} inputs for device {}; the module takes {}", inputs[device].size(), device,
                                   entry.parameters.size()));
    for (size_t number = 0; number < entry.parameters.size(); ++number) {
      const Shape &expected = entry.parameter(number).shape;
      if (!inputs[device][number].shape.sameAs(expected))
        throw inputError(fmt::format("input {} of device {} is {}, the module takes {}", number, device,
                                     formatShapePlain(inputs[device][number].shape), formatShapePlain(expected)));
      arguments[number].push_back(inputs[device][number]);
      arguments[number].back().shape = expected; // with the layout of the module
    }
  }
  Devices devices(size_t(module.deviceCount()));
  std::iota(devices.begin(), devices.end(), 0);
  return Evaluation(module).run(entry, arguments, devices);
}

} // namespace heddle::hlo::reference
