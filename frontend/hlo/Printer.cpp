// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The canonical form: names with `%`, no operand shapes, groups as lists, every layout that was written.
#include "frontend/hlo/Printer.h"
#include "frontend/hlo/Literal.h"
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <iterator>

namespace heddle::hlo {
namespace {

using Integers = std::vector<int64_t>;

class Printer {
public:
  explicit Printer(const Module &module) : module(module) {}

  std::string print() {
    add("HloModule {}, replica_count={}, num_partitions={}", module.name, module.replicaCount, module.partitionCount);
    printCarried(module.carried);
    add("\n");
    for (const Computation &computation : module.computations)
      printComputation(computation);
    return std::move(text);
  }

private:
  template <typename... Arguments>
  void add(fmt::format_string<Arguments...> format, Arguments &&...arguments) {
    fmt::format_to(std::back_inserter(text), format, std::forward<Arguments>(arguments)...);
  }

  void list(const char *name, const Integers &values) { add(", {}={{{}}}", name, fmt::join(values, ",")); }
  void listUnlessEmpty(const char *name, const Integers &values) {
    if (!values.empty())
      list(name, values);
  }
  void called(const char *name, int computation) { add(", {}=%{}", name, module.computation(computation).name); }

  void printCarried(const std::vector<CarriedAttribute> &attributes) {
    for (const CarriedAttribute &attribute : attributes)
      add(", {}={}", attribute.name, attribute.text);
  }

  void printComputation(const Computation &computation);
  void printInstruction(const Computation &computation, const Instruction &instruction);
  void printOperands(const Computation &computation, const Instruction &instruction);
  void printAttributes(const Instruction &instruction);
  void printSlice(const SliceBounds &slice);
  void printPadding(const std::vector<PaddedDimension> &padding);
  void printCollective(const Instruction &instruction);

  const Module &module;
  std::string text;
};

void Printer::printComputation(const Computation &computation) {
  bool entry = &computation == &module.entryComputation();
  add("\n{}%{} {{\n", entry ? "ENTRY " : "", computation.name);
  for (const Instruction &instruction : computation.instructions)
    printInstruction(computation, instruction);
  add("}}\n");
}

void Printer::printInstruction(const Computation &computation, const Instruction &instruction) {
  add("  {}%{} = {} {}(", instruction.index == computation.root ? "ROOT " : "", instruction.name,
      formatShape(instruction.shape), opcodeName(instruction.opcode));
  printOperands(computation, instruction);
  add(")");
  printAttributes(instruction);
  if (instruction.collective)
    printCollective(instruction);
  printCarried(instruction.carried);
  add("\n");
}

void Printer::printOperands(const Computation &computation, const Instruction &instruction) {
  if (instruction.opcode == Opcode::Parameter)
    add("{}", instruction.parameterNumber);
  if (instruction.opcode == Opcode::Constant)
    add("{}", formatLiteral(instruction.shape, instruction.literal));
  for (size_t i = 0; i < instruction.operands.size(); ++i)
    add("{}%{}", i ? ", " : "", computation.operand(instruction, i).name);
}

void Printer::printSlice(const SliceBounds &slice) {
  add(", slice={{");
  for (size_t i = 0; i < slice.starts.size(); ++i)
    add("{}[{}:{}:{}]", i ? ", " : "", slice.starts[i], slice.limits[i], slice.strides[i]);
  add("}}");
}

void Printer::printPadding(const std::vector<PaddedDimension> &padding) {
  for (size_t i = 0; i < padding.size(); ++i)
    add("{}{}_{}_{}", i ? "x" : ", padding=", padding[i].low, padding[i].high, padding[i].interior);
}

void Printer::printAttributes(const Instruction &instruction) {
  using enum Opcode;
  switch (instruction.opcode) {
  case Iota:
    return add(", iota_dimension={}", instruction.iotaDimension);
  case Broadcast:
  case Transpose:
  case Concatenate:
  case Reverse:
  case AllGather:
    return list("dimensions", instruction.dimensions);
  case AllToAll:
    return listUnlessEmpty("dimensions", instruction.dimensions);
  case Reduce:
  case ReduceScatter:
    list("dimensions", instruction.dimensions);
    return called("to_apply", instruction.calledComputation);
  case AllReduce:
  case Call:
    return called("to_apply", instruction.calledComputation);
  case Slice:
    return printSlice(instruction.slice);
  case DynamicSlice:
    return list("dynamic_slice_sizes", instruction.dynamicSliceSizes);
  case Pad:
    return printPadding(instruction.padding);
  case Gather:
    list("offset_dims", instruction.gather.offsets);
    listUnlessEmpty("collapsed_slice_dims", instruction.gather.collapsed);
    listUnlessEmpty("operand_batching_dims", instruction.gather.operandBatch);
    listUnlessEmpty("start_indices_batching_dims", instruction.gather.indicesBatch);
    list("start_index_map", instruction.gather.startIndexMap);
    add(", index_vector_dim={}", instruction.gather.indexVectorDim);
    return list("slice_sizes", instruction.gather.sliceSizes);
  case GetTupleElement:
    return add(", index={}", instruction.tupleIndex);
  case Compare:
    return add(", direction={}{}", compareDirectionName(instruction.direction),
               instruction.totalOrder ? ", type=TOTALORDER" : "");
  case Fusion:
    if (!instruction.fusionKind.empty())
      add(", kind={}", instruction.fusionKind);
    return called("calls", instruction.calledComputation);
  case While:
    called("condition", instruction.condition);
    return called("body", instruction.body);
  case Dot:
    listUnlessEmpty("lhs_batch_dims", instruction.dot.lhsBatch);
    listUnlessEmpty("lhs_contracting_dims", instruction.dot.lhsContracting);
    listUnlessEmpty("rhs_batch_dims", instruction.dot.rhsBatch);
    return listUnlessEmpty("rhs_contracting_dims", instruction.dot.rhsContracting);
  default:
    return;
  }
}

void Printer::printCollective(const Instruction &instruction) {
  const Collective &collective = *instruction.collective;
  if (collective.channelId)
    add(", channel_id={}", *collective.channelId);
  if (!collective.replicaGroups.groups.empty()) {
    add(", replica_groups={{");
    for (const auto &group : collective.replicaGroups.groups)
      add("{}{{{}}}", &group == &collective.replicaGroups.groups[0] ? "" : ",", fmt::join(group, ","));
    add("}}");
  }
  if (collective.useGlobalDeviceIds)
    add(", use_global_device_ids=true");
  if (collective.constrainLayout)
    add(", constrain_layout=true");
  if (instruction.opcode != Opcode::CollectivePermute)
    return;
  add(", source_target_pairs={{");
  for (const auto &pair : collective.sourceTargetPairs)
    add("{}{{{},{}}}", &pair == &collective.sourceTargetPairs[0] ? "" : ",", pair.first, pair.second);
  add("}}");
}

} // namespace

std::string printModule(const Module &module) {
  return Printer(module).print();
}

} // namespace heddle::hlo
