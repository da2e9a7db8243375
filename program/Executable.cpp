// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Compiling a module: kernels in the order of the graph, one communicator for each group of devices, then the arrays.
#include "program/Executable.h"
#include "binary/PeerAbi.h"
#include "chips/Chip.h"
#include "collectives/kernel/CompileKernel.h"
#include "program/Loops.h"
#include "program/QuantisedSum.h"
#include "program/Types.h"
#include "runtime/ProcessGroup.h"
#include "support/Error.h"
#include <atomic>
#include <fmt/format.h>
#include <thread>

namespace heddle::program {

using hlo::Opcode;

uint64_t bytesOf(const hlo::Shape &shape) {
  return uint64_t(shape.elementCount() * elementSizeBytes(*bufferType(shape.type)));
}

Executable::Executable(hlo::Module source, const Chip &chip, std::vector<std::shared_ptr<Device>> members,
                       ProgramOptions choices, std::shared_ptr<ProcessGroup> group)
    : module(std::move(source)), chip(chip), devices(std::move(members)), options(std::move(choices)),
      processes(std::move(group)), first(processes ? processes->rank() : 0) {
  if (options.quantisesSums) {
    SumRegions regions = addSumRegions(module);
    size_t count = 0;
    graph = flatten(module, &regions, &count);
    if (count == 0)
      throw inputError(fmt::format("module `{}` has no sum to quantise", module.name),
                       {"that is an all-reduce with `add` of f32, f16 or bf16, in groups of one size above 1"});
  } else {
    graph = flatten(module);
  }
  for (const auto &device : devices)
    streams.push_back(device->createStream());
  if (chip.vendor != Vendor::Host) { // one block of a GPU is slow, and a matmul is one block's at least
    options.partition.largestTail = std::min<int64_t>(options.partition.largestTail, 1 << 14);
    options.partition.leastProducts = std::max<int64_t>(options.partition.leastProducts, 4096);
  }
  if (!options.partition.takesRows)
    options.partition.takesRows = [this](const hlo::Instruction &collective) {
      size_t ranks = 0;
      for (const hlo::DeviceGroup &group : hlo::deviceGroups(collective, module.replicaCount, module.partitionCount))
        ranks = std::max(ranks, group.size());
      // Who names its algorithm wants to see that one do all.
      return namesAlgorithmOf(*kindOf(collective.opcode)) || takesRowsWell(this->chip, int(ranks));
    };
  if (!options.partition.whyApart)
    options.partition.whyApart = [this](const hlo::Instruction &collective, const Matmul &matmul) {
      return whyApart(collective, matmul);
    };
  entry = std::make_unique<CompiledGraph>();
  prepare(*entry, *graph);
  total = countKernels(*entry);
  if (processes)
    processes->neighbours().onChange([this] { processesChanged(); });
  try {
    compileKernels();
    compileAll(*entry);
  } catch (const Error &error) { // the others wait for this rank, in groups that it may not be in
    if (processes) {
      processes->neighbours().abort(error.what());
      processes->neighbours().onChange({});
    }
    throw;
  }
}

Executable::~Executable() {
  if (processes)
    processes->neighbours().onChange({});
  communicators.clear(); // they wait for the streams
}

/// A process that is gone or has failed may be waited for by ranks that others wait for.
void Executable::processesChanged() {
  std::optional<Error> error = processes->neighbours().failureError();
  if (!error)
    return;
  std::lock_guard lock(joining);
  for (const auto &[group, communicator] : communicators)
    try {
      communicator->abort(error->what());
    } catch (const std::exception &) { // its waits end at their deadlines
    }
}

int Executable::computeUnits() const {
  return processes ? processes->computeUnits() : fewestComputeUnits(devices);
}

MatmulFusion parseMatmulFusion(const std::string &name) {
  if (name == "auto")
    return MatmulFusion::Auto;
  if (name == "fused")
    return MatmulFusion::Fused;
  if (name == "apart")
    return MatmulFusion::Apart;
  throw inputError(fmt::format("matmuls `{}`: they are `auto`, `fused` or `apart`", name));
}

// Fewer tiles than one for each block would leave multiprocessors idle that the matmul's own kernel has work for.
std::string Executable::whyApart(const hlo::Instruction &instruction, const Matmul &matmul) const {
  if (options.matmuls == MatmulFusion::Apart)
    return "it was asked for";
  int64_t ranks = 0;
  for (const hlo::DeviceGroup &group : hlo::deviceGroups(instruction, module.replicaCount, module.partitionCount))
    ranks = std::max<int64_t>(ranks, int64_t(group.size()));
  CollectiveKind kind = *kindOf(instruction.opcode);
  if (namesAlgorithmOf(kind))
    return fmt::format("`{}` was asked for", options.algorithm);
  if (std::string reason = whyNoRoom(kind, ranks, matmul, chip); !reason.empty())
    return reason;
  bool gathers = kind == CollectiveKind::AllGather;
  if (options.matmuls == MatmulFusion::Fused || chip.vendor == Vendor::Host)
    return "";
  int given = computeUnits();
  int64_t units = given ? given : chip.computeUnits, blocks = std::min<int64_t>(units, mostBlocksBeside(kind, ranks));
  if (blocks * 10 < units * 9)
    return fmt::format("the kernel of both has at most {} blocks, and the device {} compute units", blocks, units);
  MatmulTiles tiles = tilesBeside(kind, ranks, matmul, chip);
  int64_t count = tiles.parts * tiles.tilesOfPart(), wanted = gathers ? blocks : blocks * ranks;
  MatmulTiles alone = tilesOf(matmul, 1, chip);
  if (5 * count * tiles.tileElements() > 6 * alone.tilesOfPart() * alone.tileElements())
    return fmt::format("parts of {} rows would fill {} tiles of {}x{}, and the whole {} of {}x{}", tiles.partRows(),
                       count, tiles.tileRows, tiles.tileColumns, alone.tilesOfPart(), alone.tileRows,
                       alone.tileColumns);
  if (count < wanted)
    return fmt::format("{} tiles of {}x{} are too few: {} blocks{} want one each", count, tiles.tileRows,
                       tiles.tileColumns, blocks, gathers ? "" : fmt::format(" on each of {} ranks", ranks));
  return "";
}

/// Whether the program was given an algorithm for such collectives.
bool Executable::namesAlgorithmOf(CollectiveKind kind) const {
  return std::ranges::any_of(allAlgorithms(), [&](const Algorithm *algorithm) {
    return algorithm->name == options.algorithm && algorithm->does(kind) && !algorithm->direct;
  });
}

void Executable::prepare(CompiledGraph &compiled, const Graph &source, bool isLoopBody) {
  compiled.graph = &source;
  PartitionOptions chosen = options.partition;
  chosen.isLoopBody = isLoopBody;
  compiled.partition = partition(source, chosen);
  for (const Step &step : compiled.partition.steps) {
    CompiledStep made;
    made.step = step;
    compiled.hasCollectives |= step.kind == Step::Kind::Collective;
    if (step.inPlace >= 0)
      compiled.updated[step.node] = step.inPlace;
    if (step.kind == Step::Kind::Loop) {
      const Node &node = source[step.node];
      made.trips = tripsOf(source, node);
      made.condition = std::make_unique<CompiledGraph>();
      made.body = std::make_unique<CompiledGraph>();
      prepare(*made.condition, *node.loop->condition);
      prepare(*made.body, *node.loop->body, /*isLoopBody=*/true);
      for (CompiledGraph *inner : {made.condition.get(), made.body.get()}) {
        compiled.hasCollectives |= inner->hasCollectives;
        inner->outer = &compiled;
        for (size_t i = 0; i < inner->graph->parameters.size(); ++i)
          inner->parameters[inner->graph->parameters[i]] = NodeId(size_t(node.loopFirst) + i);
      }
    }
    compiled.steps.push_back(std::move(made));
  }
}

size_t Executable::countKernels(const CompiledGraph &compiled) const {
  size_t count = 0;
  for (const CompiledStep &step : compiled.steps)
    count += step.condition ? (step.trips ? 0 : countKernels(*step.condition)) + countKernels(*step.body) : 1;
  return count;
}

/// Adds the compilation of each step that is no collective.
void Executable::collectKernels(CompiledGraph &compiled, std::vector<std::function<void()>> &kernels) {
  for (CompiledStep &step : compiled.steps)
    if (step.condition) {
      if (!step.trips) // else it never runs
        collectKernels(*step.condition, kernels);
      collectKernels(*step.body, kernels);
    } else if (step.step.kind == Step::Kind::Kernel) {
      kernels.emplace_back([this, &compiled, &step] {
        step.kernel = makeKernel(*compiled.graph, compiled.partition, step.step, chip, &cache);
      });
    }
}

/// On all cores, up to the first error, which is thrown; of several that of the first in the module.
void Executable::compileKernels() {
  std::vector<std::function<void()>> kernels;
  collectKernels(*entry, kernels);
  std::vector<std::exception_ptr> errors(kernels.size());
  std::atomic<size_t> next = 0;
  std::atomic<bool> failed = false;
  std::mutex progressLock;
  auto work = [&] {
    for (size_t i = next++; i < kernels.size() && !failed; i = next++)
      try {
        kernels[i]();
        std::lock_guard lock(progressLock);
        if (options.progress)
          options.progress(++done, total);
      } catch (...) {
        errors[i] = std::current_exception();
        failed = true;
      }
  };
  {
    size_t threads = std::min<size_t>(std::max(1U, std::thread::hardware_concurrency()), kernels.size());
    std::vector<std::jthread> others;
    for (size_t i = 1; i < threads; ++i)
      others.emplace_back(work);
    work();
  }
  for (const std::exception_ptr &error : errors)
    if (error)
      std::rethrow_exception(error);
}

void Executable::compileAll(CompiledGraph &compiled) {
  for (CompiledStep &step : compiled.steps) {
    if (step.condition) {
      if (!step.trips)
        compileAll(*step.condition);
      compileAll(*step.body);
      continue;
    }
    if (step.step.kind == Step::Kind::Kernel) {
      if (step.kernel.blocks)
        for (const auto &device : devices)
          step.loaded.push_back({device->loadModule(step.kernel.package)});
      continue;
    }
    compileCollective(compiled, step);
    if (options.progress)
      options.progress(++done, total);
  }
  allocate(compiled);
}

void Executable::compileCollective(CompiledGraph &compiled, CompiledStep &step) {
  const Graph &source = *compiled.graph;
  const hlo::Instruction &instruction = source[step.step.node].instruction;
  std::vector<hlo::DeviceGroup> groups;
  std::vector<int> sources;
  if (instruction.opcode == Opcode::CollectivePermute) {
    groups.emplace_back();
    for (int64_t device = 0; device < module.deviceCount(); ++device)
      groups.back().push_back(device);
    sources.assign(size_t(module.deviceCount()), -1);
    for (auto [from, to] : hlo::devicePairs(instruction, module.replicaCount, module.partitionCount))
      sources[size_t(to)] = int(from);
  } else {
    groups = hlo::deviceGroups(instruction, module.replicaCount, module.partitionCount);
  }
  for (const hlo::DeviceGroup &group : groups) {
    int ranks = int(group.size());
    if (ranks > maxWorldSize)
      throw inputError(fmt::format("{}`{}` has a group of {} devices; collectives have at most {}",
                                   locationPrefix(module, instruction), instruction.name, ranks, maxWorldSize),
                       {instruction.opcode == Opcode::CollectivePermute
                            ? "a permute joins all devices of the module: run it on fewer"
                            : "cut the devices into smaller `replica_groups`, or run the module on fewer"});
    if (processes && std::none_of(group.begin(), group.end(), [&](int64_t device) { return isLocal(device); })) {
      step.calls.push_back({group, nullptr, nullptr, nullptr});
      continue;
    }
    auto [entry, isNew] = step.groupKernels.try_emplace(ranks);
    bool plain = isPlain(compiled, step.step);
    if (isNew) {
      Collective collective = collectiveOf(source, step.step.node, ranks, sources);
      PlanOptions planOptions;
      planOptions.direct = plain && !processes; // operands are in no windows
      planOptions.computeUnits = computeUnits();
      if (namesAlgorithmOf(collective.kind))
        planOptions.algorithm = options.algorithm;
      if (!step.step.tail.empty())
        planOptions.blocks = 1;
      planOptions.rowElements = step.step.columns;
      if (step.step.matmul >= 0)
        planOptions = planOptionsFor(source, step.step, chip, planOptions.computeUnits, collective);
      entry->second.plan = makePlan(collective, chip, planOptions);
      if (!plain)
        entry->second.kernel = makeCollectiveKernel(source, compiled.partition, step.step, entry->second.plan);
      else
        entry->second.kernel.text = entry->second.plan.rounds ? kernelText(entry->second.plan) : "";
    }
    if (devices.empty()) {
      step.calls.push_back({group, &entry->second, nullptr, nullptr});
      continue;
    }
    Communicator &communicator = communicatorOf(group);
    std::string name = fmt::format("{} ({}:{})", instruction.name, module.fileName, instruction.location.line);
    Communicator::Operation &operation =
        plain ? communicator.prepare(entry->second.plan, name)
              : communicator.prepare(entry->second.plan, entry->second.kernel.package, name);
    step.calls.push_back({group, &entry->second, &communicator, &operation});
  }
}

bool Executable::isPlain(const CompiledGraph &compiled, const Step &step) {
  NodeId operand = (*compiled.graph)[step.node].operands[0];
  return step.matmul < 0 && compiled.partition.stored[size_t(operand)] && step.epilogues.empty() && step.tail.empty() &&
         step.rows.empty();
}

std::unique_ptr<Communicator> Executable::joinProcesses(const hlo::DeviceGroup &group) {
  constexpr double leastSeconds = 120; // other ranks may be compiling still
  Communicator::Options communicatorOptions;
  communicatorOptions.deadlineSeconds = options.deadlineSeconds;
  std::unique_ptr<ProcessGroup> members =
      processes->part(std::vector<int>(group.begin(), group.end()), std::max(leastSeconds, processes->stepSeconds()));
  return std::make_unique<Communicator>(std::move(members), communicatorOptions);
}

Communicator &Executable::communicatorOf(const hlo::DeviceGroup &group) {
  if (processes && !communicators.contains(group)) {
    std::unique_ptr<Communicator> made = joinProcesses(group);
    std::lock_guard lock(joining);
    communicators[group] = std::move(made);
  }
  std::unique_ptr<Communicator> &known = communicators[group];
  if (!known) {
    std::vector<std::shared_ptr<Device>> members;
    std::vector<Stream *> itsStreams;
    for (int64_t device : group) {
      members.push_back(devices[size_t(device)]);
      itsStreams.push_back(streams[size_t(device)].get());
    }
    Communicator::Options communicatorOptions;
    communicatorOptions.deadlineSeconds = options.deadlineSeconds;
    known = std::make_unique<Communicator>(members, itsStreams, communicatorOptions);
  }
  return *known;
}

void Executable::allocate(CompiledGraph &compiled) {
  const Graph &source = *compiled.graph;
  compiled.buffers.resize(devices.size());
  for (size_t device = 0; device < devices.size(); ++device)
    for (NodeId id = 0; id < NodeId(source.nodes.size()); ++id) {
      const Node &node = source[id];
      if (!compiled.partition.stored[size_t(id)] || compiled.parameters.contains(id) || compiled.updated.contains(id))
        continue;
      Buffer buffer = devices[device]->allocate(std::max<uint64_t>(1, bytesOf(node.shape)), node.instruction.name);
      if (node.opcode() == Opcode::Constant && bytesOf(node.shape))
        streams[device]->copyToDevice(buffer.address(), node.instruction.literal.data(), bytesOf(node.shape));
      compiled.buffers[device].emplace(id, std::move(buffer));
    }
  compiled.exchanged.resize(devices.size());
  for (size_t i = 0; !compiled.parameters.empty() && i < source.results.size(); ++i) {
    auto parameter = compiled.parameters.find(source.results[i]);
    bool isOther = parameter != compiled.parameters.end() && parameter->first != source.parameters[i];
    for (size_t device = 0; isOther && device < devices.size(); ++device) {
      const Node &node = source[parameter->first];
      compiled.exchanged[device].emplace(
          i, devices[device]->allocate(std::max<uint64_t>(1, bytesOf(node.shape)), node.instruction.name));
    }
  }
  for (const auto &stream : streams)
    stream->synchronize();
}

} // namespace heddle::program
