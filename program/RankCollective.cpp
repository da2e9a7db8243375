// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Parses and plans the module, checks that it is one launch, and compiles it for this rank.
#include "program/RankCollective.h"
#include "collectives/kernel/CompileKernel.h"
#include "frontend/hlo/Groups.h"
#include "frontend/hlo/Parser.h"
#include "program/Executable.h"
#include "program/Types.h"
#include "support/Error.h"
#include <fmt/format.h>

namespace heddle::program {
namespace {

/// The launch, if it is the only one.
const Step &onlyStep(const hlo::Module &module, const Partition &partition, int ranks) {
  if (module.deviceCount() != ranks)
    throw inputError(
        fmt::format("{}: a module of {} ranks for a group of {}", module.fileName, module.deviceCount(), ranks),
        {"its header says `replica_count` or `num_partitions`"});
  if (partition.steps.size() != 1 || partition.steps[0].kind != Step::Kind::Collective) {
    std::vector<std::string> notes = {
        "`heddle inspect MODULE` shows the launches, and what is fused into each collective",
        "rows that are reduced have 32 to 16384 elements"};
    for (const Step &step : partition.steps)
      if (!step.apart.empty())
        notes.push_back(fmt::format("a matmul has a kernel of its own: {}", step.apart));
    throw inputError(fmt::format("{}: the module takes {} launches, and one of a collective is wanted", module.fileName,
                                 partition.steps.size()),
                     notes);
  }
  return partition.steps[0];
}

void checkGroup(const hlo::Module &module, const hlo::Instruction &instruction) {
  if (instruction.opcode == hlo::Opcode::CollectivePermute)
    throw inputError(locationPrefix(module, instruction) + "a permute is not offered between processes",
                     {"use an all-to-all"});
  auto groups = hlo::deviceGroups(instruction, module.replicaCount, module.partitionCount);
  bool isWhole = groups.size() == 1 && int64_t(groups[0].size()) == module.deviceCount();
  for (size_t rank = 0; isWhole && rank < groups[0].size(); ++rank)
    isWhole = groups[0][rank] == int64_t(rank);
  if (!isWhole)
    throw inputError(locationPrefix(module, instruction) + "the collective is not over all ranks in their order",
                     {"make a communicator for each group of ranks"});
}

/// Where the kernel's arrays come from, by node.
int numberOf(const Graph &graph, NodeId node, bool isResult) {
  const std::vector<NodeId> &ids = isResult ? graph.results : graph.parameters;
  for (size_t i = 0; i < ids.size(); ++i)
    if (ids[i] == node)
      return int(i + (isResult ? graph.parameters.size() : 0));
  const hlo::Instruction &instruction = graph[node].instruction;
  throw inputError(
      fmt::format("{}`{}` is {}", locationPrefix(*graph.module, instruction), instruction.name,
                  isResult ? "made by the kernel, and is no result" : "read by the kernel, and is no parameter"),
      {"give arrays as parameters, and make what the kernel makes results of the module"});
}

} // namespace

RankCollective compileRankCollective(std::string_view text, const std::string &fileName, int ranks, const Chip &chip,
                                     int computeUnits) {
  hlo::ParseOptions parseOptions;
  parseOptions.deviceCount = ranks;
  hlo::Module module = hlo::parseModule(text, fileName, parseOptions);
  std::unique_ptr<Graph> graph = flatten(module);
  PartitionOptions partitionOptions;
  partitionOptions.largestTail = 0; // rows, or nothing: a tail is one block's
  // One kernel is asked for, so that whether two would be faster does not count.
  partitionOptions.whyApart = [&](const hlo::Instruction &collective, const Matmul &matmul) {
    return whyNoRoom(*kindOf(collective.opcode), ranks, matmul, chip);
  };
  Partition parts = partition(*graph, partitionOptions);
  const Step &step = onlyStep(module, parts, ranks);
  const hlo::Instruction &instruction = (*graph)[step.node].instruction;
  checkGroup(module, instruction);

  RankCollective made;
  made.name = instruction.name;
  made.partitions = module.partitionCount;
  PlanOptions planOptions;
  planOptions.computeUnits = computeUnits;
  planOptions.rowElements = step.columns;
  Collective collective = collectiveOf(*graph, step.node, ranks, {});
  if (step.matmul >= 0)
    planOptions = planOptionsFor(*graph, step, chip, computeUnits, collective);
  made.plan = makePlan(collective, chip, planOptions);
  StepKernel kernel = makeCollectiveKernel(*graph, parts, step, made.plan);
  made.kernel = kernel.package;
  for (NodeId id : graph->parameters)
    made.arrays.push_back({(*graph)[id].instruction.name, elementTypeName(*bufferType((*graph)[id].shape.type)),
                           bytesOf((*graph)[id].shape)});
  for (NodeId id : graph->results)
    made.arrays.push_back({(*graph)[id].instruction.name, elementTypeName(*bufferType((*graph)[id].shape.type)),
                           bytesOf((*graph)[id].shape)});
  made.results = graph->results.size();
  for (NodeId id : kernel.inputs)
    made.arguments.push_back(numberOf(*graph, id, false));
  for (NodeId id : kernel.outputs)
    made.arguments.push_back(numberOf(*graph, id, true));
  for (NodeId id : graph->results)
    if (std::find(kernel.outputs.begin(), kernel.outputs.end(), id) == kernel.outputs.end())
      throw inputError(fmt::format("{}`{}` is a result that the kernel does not make",
                                   locationPrefix(module, (*graph)[id].instruction), (*graph)[id].instruction.name));
  made.arguments.push_back(RankCollective::Replica);
  made.arguments.push_back(RankCollective::Partition);
  return made;
}

} // namespace heddle::program
