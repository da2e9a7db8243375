// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The nodes of a quantised sum: blocks, their scales, the bytes that travel, and back.
#include "program/QuantisedSum.h"
#include <algorithm>
#include <cstring>

namespace heddle::program {

using hlo::DType;
using hlo::Opcode;
using hlo::Shape;

static constexpr int64_t blockElements = 128, scaleBytes = 4;

static int addRegion(hlo::Module &module, const char *name, Opcode opcode) {
  hlo::Computation region;
  region.name = name;
  for (int64_t number = 0; number < 3; ++number) {
    hlo::Instruction instruction;
    instruction.name = std::string(name) + "." + std::to_string(number);
    instruction.opcode = number < 2 ? Opcode::Parameter : opcode;
    instruction.shape = Shape::scalar(DType::F32);
    instruction.index = int(number);
    if (number < 2) {
      instruction.parameterNumber = number;
      instruction.users = {2};
      region.parameters.push_back(int(number));
    } else {
      instruction.operands = {0, 1};
    }
    region.instructions.push_back(std::move(instruction));
  }
  region.root = 2;
  module.computations.push_back(std::move(region));
  return int(module.computations.size()) - 1;
}

SumRegions addSumRegions(hlo::Module &module) {
  int maximum = addRegion(module, "heddle.maximum", Opcode::Maximum);
  return {maximum, addRegion(module, "heddle.sum", Opcode::Add)};
}

bool canQuantise(const hlo::Module &module, const hlo::Instruction &instruction) {
  if (instruction.opcode != Opcode::AllReduce || instruction.collective->reduction != hlo::ReductionKind::Add)
    return false;
  auto isFloat = [](const Shape &shape) {
    return shape.type == DType::F32 || shape.type == DType::F16 || shape.type == DType::BF16;
  };
  if (instruction.shape.isTuple() ? !std::ranges::all_of(instruction.shape.elements, isFloat)
                                  : !isFloat(instruction.shape))
    return false;
  std::vector<hlo::DeviceGroup> groups = hlo::deviceGroups(instruction, module.replicaCount, module.partitionCount);
  return groups[0].size() > 1 &&
         std::ranges::all_of(groups, [&](const hlo::DeviceGroup &group) { return group.size() == groups[0].size(); });
}

// All-to-all numbers replicas or partitions only.
bool exchangesParts(const hlo::Module &module, const hlo::Instruction &allReduce) {
  return hlo::deviceGroups(allReduce, module.replicaCount, module.partitionCount)[0].size() > 2 &&
         (module.partitionCount == 1 || module.replicaCount == 1);
}

namespace {

class Writer {
public:
  Writer(const hlo::Module &module, const SumRegions &regions, const hlo::Instruction &source, const AddNode &add)
      : module(module), regions(regions), source(source), addNode(add),
        groups(hlo::deviceGroups(source, module.replicaCount, module.partitionCount)),
        ranks(int64_t(groups[0].size())) {}

  NodeId sum(const Shape &shape, NodeId operand) {
    bool exchanges = exchangesParts(module, source);
    int64_t elements = shape.elementCount(), unit = exchanges ? ranks : 1;
    int64_t rows = (elements + blockElements * unit - 1) / (blockElements * unit) * unit;
    NodeId blocks = reshape(shape.type, {elements}, operand);
    if (rows * blockElements != elements) {
      hlo::Instruction pad = instruction(Opcode::Pad);
      pad.padding = {{0, rows * blockElements - elements, 0}};
      blocks = add(pad, Shape::array(shape.type, {rows * blockElements}), {blocks, constant(0, shape.type)});
    }
    blocks = convert({rows, blockElements}, reshape(shape.type, {rows, blockElements}, blocks), shape.type, DType::F32);
    int64_t mine = exchanges ? rows / ranks : rows; // of the sums, computed here
    NodeId sent = quantise(rows, blocks);
    NodeId came = exchanges ? exchange(rows, sent) : gather(rows, sent);
    NodeId sums = fold(mine, dequantise(mine * ranks, came));
    if (exchanges)
      sums = dequantise(rows, gather(mine, quantise(mine, sums)));
    NodeId flat = reshape(DType::F32, {rows * blockElements}, sums);
    if (rows * blockElements != elements)
      flat = slice(DType::F32, {elements}, {0}, flat);
    return reshape(shape.type, shape.dimensions, convert({elements}, flat, DType::F32, shape.type));
  }

private:
  hlo::Instruction instruction(Opcode opcode) const {
    hlo::Instruction made;
    made.name = source.name;
    made.location = source.location;
    made.opcode = opcode;
    return made;
  }
  NodeId add(const hlo::Instruction &instruction, const Shape &shape, std::vector<NodeId> operands) {
    return addNode(instruction, shape, std::move(operands));
  }
  NodeId add(Opcode opcode, DType type, std::vector<int64_t> dimensions, std::vector<NodeId> operands) {
    return add(instruction(opcode), Shape::array(type, std::move(dimensions)), std::move(operands));
  }
  NodeId reshape(DType type, std::vector<int64_t> dimensions, NodeId operand) {
    return add(Opcode::Reshape, type, std::move(dimensions), {operand});
  }
  NodeId convert(std::vector<int64_t> dimensions, NodeId operand, DType from, DType to) {
    return from == to ? operand : add(Opcode::Convert, to, std::move(dimensions), {operand});
  }
  NodeId slice(DType type, std::vector<int64_t> sizes, std::vector<int64_t> starts, NodeId operand) {
    hlo::Instruction made = instruction(Opcode::Slice);
    made.slice.starts = starts;
    made.slice.strides.assign(starts.size(), 1);
    for (size_t i = 0; i < starts.size(); ++i)
      made.slice.limits.push_back(starts[i] + sizes[i]);
    return add(made, Shape::array(type, std::move(sizes)), {operand});
  }
  NodeId constant(float value, DType type) {
    hlo::Instruction made = instruction(Opcode::Constant);
    made.literal.assign(size_t(hlo::elementSizeBytes(type)), '\0');
    if (value != 0) // f32
      std::memcpy(made.literal.data(), &value, sizeof value);
    return add(made, Shape::scalar(type), {});
  }
  NodeId broadcast(NodeId operand, std::vector<int64_t> dimensions, std::vector<int64_t> along) {
    hlo::Instruction made = instruction(Opcode::Broadcast);
    made.dimensions = std::move(along);
    return add(made, Shape::array(DType::F32, std::move(dimensions)), {operand});
  }
  NodeId reduce(int region, std::vector<int64_t> dimensions, int64_t over, NodeId operand) {
    hlo::Instruction made = instruction(Opcode::Reduce);
    made.calledComputation = region;
    made.dimensions = {over};
    return add(made, Shape::array(DType::F32, std::move(dimensions)), {operand, constant(0, DType::F32)});
  }

  /// Rows of f32 as bytes: 128 elements divided by the scale, then the scale.
  NodeId quantise(int64_t rows, NodeId blocks) {
    NodeId magnitudes = add(Opcode::Abs, DType::F32, {rows, blockElements}, {blocks});
    NodeId largest = reduce(regions.maximum, {rows}, 1, magnitudes);
    NodeId mosts = broadcast(constant(448, DType::F32), {rows}, {});
    NodeId leasts = broadcast(constant(0x1p-100f, DType::F32), {rows}, {});
    NodeId scale = add(Opcode::Divide, DType::F32, {rows}, {largest, mosts});
    scale = add(Opcode::Maximum, DType::F32, {rows}, {scale, leasts});
    NodeId scales = broadcast(scale, {rows, blockElements}, {0});
    NodeId quotient = add(Opcode::Divide, DType::F32, {rows, blockElements}, {blocks, scales});
    NodeId narrow = convert({rows, blockElements}, quotient, DType::F32, DType::F8E4M3FN);
    NodeId bytes = add(Opcode::BitcastConvert, DType::U8, {rows, blockElements}, {narrow});
    NodeId scaleAsBytes = add(Opcode::BitcastConvert, DType::U8, {rows, scaleBytes}, {scale});
    hlo::Instruction join = instruction(Opcode::Concatenate);
    join.dimensions = {1};
    return add(join, Shape::array(DType::U8, {rows, blockElements + scaleBytes}), {bytes, scaleAsBytes});
  }
  NodeId dequantise(int64_t rows, NodeId bytes) {
    NodeId narrow = slice(DType::U8, {rows, blockElements}, {0, 0}, bytes);
    narrow = add(Opcode::BitcastConvert, DType::F8E4M3FN, {rows, blockElements}, {narrow});
    NodeId scale = slice(DType::U8, {rows, scaleBytes}, {0, blockElements}, bytes);
    scale = add(Opcode::BitcastConvert, DType::F32, {rows}, {scale});
    NodeId wide = convert({rows, blockElements}, narrow, DType::F8E4M3FN, DType::F32);
    return add(Opcode::Multiply, DType::F32, {rows, blockElements},
               {wide, broadcast(scale, {rows, blockElements}, {0})});
  }
  /// Over the ranks, in their order.
  NodeId fold(int64_t rows, NodeId blocks) {
    NodeId byRank = reshape(DType::F32, {ranks, rows, blockElements}, blocks);
    return reduce(regions.sum, {rows, blockElements}, 0, byRank);
  }

  NodeId gather(int64_t rows, NodeId bytes) {
    hlo::Instruction made = collective(Opcode::AllGather);
    made.collective->channelId = 1;
    made.collective->useGlobalDeviceIds = true;
    return add(made, Shape::array(DType::U8, {rows * ranks, blockElements + scaleBytes}), {bytes});
  }
  NodeId exchange(int64_t rows, NodeId bytes) {
    hlo::Instruction made = collective(Opcode::AllToAll);
    if (module.partitionCount > 1)
      made.collective->channelId = 1;
    return add(made, Shape::array(DType::U8, {rows, blockElements + scaleBytes}), {bytes});
  }
  hlo::Instruction collective(Opcode opcode) const {
    hlo::Instruction made = instruction(opcode);
    made.dimensions = {0};
    made.collective.emplace();
    made.collective->replicaGroups.groups.assign(groups.begin(), groups.end());
    return made;
  }

  const hlo::Module &module;
  const SumRegions &regions;
  const hlo::Instruction &source;
  const AddNode &addNode;
  const std::vector<hlo::DeviceGroup> groups;
  const int64_t ranks;
};

} // namespace

NodeId quantisedSum(const hlo::Module &module, const SumRegions &regions, const hlo::Instruction &allReduce,
                    const Shape &shape, NodeId operand, const AddNode &add) {
  return Writer(module, regions, allReduce, add).sum(shape, operand);
}

} // namespace heddle::program
