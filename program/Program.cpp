// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The runs of a program: what each step launches, loops, and what goes in and out.
#include "program/Program.h"
#include "chips/Chip.h"
#include "collectives/kernel/CompileKernel.h"
#include "program/Executable.h"
#include "runtime/ProcessGroup.h"
#include "support/Error.h"
#include <algorithm>
#include <chrono>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace heddle::program {

struct Program::Implementation : Executable {
  using Executable::Executable;

  std::vector<size_t> launched; ///< by device, since the last run began

  uint64_t address(const CompiledGraph &compiled, size_t device, NodeId id) const {
    if (auto updated = compiled.updated.find(id); updated != compiled.updated.end())
      id = updated->second;
    if (auto parameter = compiled.parameters.find(id); parameter != compiled.parameters.end())
      return address(*compiled.outer, device, parameter->second);
    return compiled.buffers[device].at(id).address();
  }

  std::vector<LaunchArgument> argumentsOf(const CompiledGraph &compiled, const Step &step, const StepKernel &kernel,
                                          size_t device) const {
    if (!isPlain(compiled, step))
      return argumentsOf(compiled, kernel, device);
    NodeId operand = (*compiled.graph)[step.node].operands[0];
    return {DeviceAddress(address(compiled, device, operand)), DeviceAddress(address(compiled, device, step.node))};
  }

  std::vector<LaunchArgument> argumentsOf(const CompiledGraph &compiled, const StepKernel &kernel,
                                          size_t device) const {
    std::vector<LaunchArgument> arguments;
    for (const std::vector<NodeId> &ids : {kernel.inputs, kernel.outputs})
      for (NodeId id : ids)
        arguments.push_back(DeviceAddress(address(compiled, device, id)));
    int64_t number = first + int64_t(device);
    arguments.push_back(ScalarBits{uint64_t(number / module.partitionCount)});
    arguments.push_back(ScalarBits{uint64_t(number % module.partitionCount)});
    return arguments;
  }

  void runGraph(CompiledGraph &compiled, const std::vector<bool> &active) {
    for (CompiledStep &step : compiled.steps) {
      if (step.condition)
        runLoop(compiled, step, active);
      else if (step.step.kind == Step::Kind::Kernel)
        runKernel(compiled, step, active);
      else
        runCollective(compiled, step, active);
    }
  }

  void runKernel(CompiledGraph &compiled, CompiledStep &step, const std::vector<bool> &active) {
    if (step.kernel.blocks == 0)
      return;
    for (size_t device = 0; device < devices.size(); ++device) {
      if (!active[device])
        continue;
      Launch launch;
      launch.kernel = step.loaded[device];
      launch.grid = {step.kernel.blocks, 1, 1};
      launch.arguments = argumentsOf(compiled, step.kernel, device);
      launch.timeoutSeconds = options.limitSeconds;
      streams[device]->launch(launch);
      ++launched[device];
    }
  }

  void runCollective(CompiledGraph &compiled, CompiledStep &step, const std::vector<bool> &active) {
    for (const GroupCall &call : step.calls) {
      size_t present = 0, local = 0;
      for (int64_t member : call.members)
        if (isLocal(member)) {
          ++local;
          present += active[size_t(member - first)];
        }
      if (present == 0)
        continue;
      const hlo::Instruction &instruction = (*compiled.graph)[step.step.node].instruction;
      if (present != local) // of processes, ranks that launch something else are told
        throw inputError(
            fmt::format("{}`{}` is reached by {} of the {} devices of its group {{{}}}: a loop around it ended "
                        "on the others",
                        locationPrefix(module, instruction), instruction.name, present, call.members.size(),
                        fmt::join(call.members, ",")),
            {"a loop with a collective in it runs equally often on all devices of the group"});
      for (int rank = 0; rank < int(call.members.size()); ++rank) {
        if (!isLocal(call.members[size_t(rank)]))
          continue;
        auto device = size_t(call.members[size_t(rank)] - first);
        auto arguments = argumentsOf(compiled, step.step, call.kernel->kernel, device);
        if (processes)
          call.communicator->launch(*call.operation, rank, arguments, *streams[device]);
        else
          call.communicator->launch(*call.operation, rank, arguments);
        launched[device] += call.kernel->plan.rounds != 0;
      }
    }
  }

  void copyArray(uint64_t destination, uint64_t source, uint64_t size, size_t device) {
    if (size && destination != source)
      streams[device]->copy(destination, source, size);
  }

  std::vector<Stream *> allStreams() const {
    std::vector<Stream *> all;
    for (const auto &stream : streams)
      all.push_back(stream.get());
    return all;
  }

  void synchronize() {
    std::exception_ptr first = synchronizeAll(allStreams());
    for (const auto &[group, communicator] : communicators)
      communicator->check(first);
    if (first)
      std::rethrow_exception(first);
  }

  void checkTime(const Node &loop, std::chrono::steady_clock::time_point start, int64_t trips) const {
    double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    if (options.limitSeconds > 0 && seconds > options.limitSeconds)
      throw environmentError(fmt::format("{}loop `{}` ran for {:.3g} s and {} trips; the limit is {} s",
                                         locationPrefix(module, loop.instruction), loop.instruction.name, seconds,
                                         trips, options.limitSeconds),
                             {"give `--timeout` more seconds, or look at the loop's condition"});
  }

  /// Leaves in `running` the devices whose loop goes on; whether there are any.
  bool goesOn(CompiledStep &step, std::vector<bool> &running) {
    const Graph &condition = *step.condition->graph;
    runGraph(*step.condition, running);
    std::vector<uint8_t> goesOn(devices.size(), 0);
    for (size_t device = 0; device < devices.size(); ++device)
      if (running[device])
        streams[device]->copyToHost(&goesOn[device], address(*step.condition, device, condition.results[0]), 1);
    synchronize();
    bool any = false;
    for (size_t device = 0; device < devices.size(); ++device) {
      running[device] = running[device] && goesOn[device];
      any |= running[device];
    }
    return any;
  }

  // A result with a buffer of its own that is no other result is swapped with the loop's array; the next trip
  // overwrites the old one. Where there are collectives, arrays keep their addresses.
  void takeResults(CompiledGraph &outer, CompiledStep &step, size_t device) {
    const Node &node = (*outer.graph)[step.step.node];
    CompiledGraph &body = *step.body;
    const std::vector<NodeId> &results = body.graph->results;
    auto arrayOf = [&](size_t i) { return NodeId(size_t(node.loopFirst) + i); };
    auto bytes = [&](size_t i) { return bytesOf((*outer.graph)[arrayOf(i)].shape); };
    for (const auto &[i, copy] : body.exchanged[device])
      copyArray(copy.address(), address(body, device, results[i]), bytes(i), device);
    std::vector<size_t> swapped;
    for (size_t i = 0; i < results.size(); ++i) {
      auto copy = body.exchanged[device].find(i);
      bool isOwn = body.buffers[device].contains(results[i]) &&
                   (*body.graph)[results[i]].opcode() != hlo::Opcode::Constant &&
                   std::count(results.begin(), results.end(), results[i]) == 1;
      if (isOwn && !body.hasCollectives)
        swapped.push_back(i);
      else
        copyArray(address(outer, device, arrayOf(i)),
                  copy != body.exchanged[device].end() ? copy->second.address() : address(body, device, results[i]),
                  bytes(i), device);
    }
    for (size_t i : swapped)
      std::swap(outer.buffers[device].at(arrayOf(i)), body.buffers[device].at(results[i]));
  }

  // The condition and the body read the loop's arrays where they are.
  void runLoop(CompiledGraph &outer, CompiledStep &step, const std::vector<bool> &active) {
    // Of those that are counted, launches that nothing waits for; fewer where their time is limited.
    const int64_t tripsInFlight = options.limitSeconds > 0 ? 8 : 256;
    const Graph &source = *outer.graph;
    const Node &node = source[step.step.node];
    for (size_t device = 0; device < devices.size(); ++device)
      for (size_t i = 0; active[device] && i < node.operands.size(); ++i) {
        NodeId array = NodeId(size_t(node.loopFirst) + i);
        copyArray(address(outer, device, array), address(outer, device, node.operands[i]), bytesOf(source[array].shape),
                  device);
      }
    std::vector<bool> running = active;
    auto start = std::chrono::steady_clock::now();
    for (int64_t trips = 0;; ++trips) {
      bool isCounted = step.trips.has_value(), isOver = isCounted && trips >= *step.trips;
      if (isCounted && trips && (trips % tripsInFlight == 0 || (isOver && options.limitSeconds > 0)))
        synchronize();
      checkTime(node, start, trips);
      if (isCounted ? isOver : !goesOn(step, running))
        return;
      runGraph(*step.body, running);
      for (size_t device = 0; device < devices.size(); ++device)
        if (running[device])
          takeResults(outer, step, device);
    }
  }

  std::vector<std::vector<ArrayBytes>> run(const std::vector<std::vector<ArrayBytes>> &inputs) {
    checkInputs(inputs);
    std::vector<std::vector<ArrayBytes>> results;
    try {
      runOnce(inputs, results);
    } catch (...) { // the streams may still read the inputs and write the results
      (void)synchronizeAll(allStreams());
      throw;
    }
    return results;
  }

  void runEntry() {
    launched.assign(devices.size(), 0);
    runGraph(*entry, std::vector<bool>(devices.size(), true));
  }

  // A launch that is refused leaves the streams with work that reads and writes this program's memory.
  void launchAll() {
    try {
      runEntry();
    } catch (...) {
      (void)synchronizeAll(allStreams());
      throw;
    }
  }

  void runOnce(const std::vector<std::vector<ArrayBytes>> &inputs, std::vector<std::vector<ArrayBytes>> &results) {
    for (size_t device = 0; device < devices.size(); ++device)
      for (size_t i = 0; i < inputs[device].size(); ++i)
        if (const std::string &bytes = inputs[device][i].bytes; !bytes.empty())
          streams[device]->copyToDevice(address(*entry, device, graph->parameters[i]), bytes.data(), bytes.size());
    runEntry();
    results.resize(devices.size());
    for (size_t device = 0; device < devices.size(); ++device)
      for (NodeId id : graph->results) {
        const hlo::Shape &shape = (*graph)[id].shape;
        results[device].push_back({shape, std::string(bytesOf(shape), '\0')});
      }
    for (size_t device = 0; device < devices.size(); ++device)
      for (size_t i = 0; i < graph->results.size(); ++i)
        if (std::string &bytes = results[device][i].bytes; !bytes.empty())
          streams[device]->copyToHost(bytes.data(), address(*entry, device, graph->results[i]), bytes.size());
    synchronize();
  }

  void checkInputs(const std::vector<std::vector<ArrayBytes>> &inputs) const {
    if (inputs.size() != devices.size())
      throw inputError(fmt::format("inputs for {} devices, the program has {}", inputs.size(), devices.size()));
    for (size_t device = 0; device < inputs.size(); ++device) {
      if (inputs[device].size() != graph->parameters.size())
        throw inputError(fmt::format("{} inputs for device {}, the module has {} parameter arrays",
                                     inputs[device].size(), device, graph->parameters.size()));
      for (size_t i = 0; i < inputs[device].size(); ++i) {
        const hlo::Shape &wanted = (*graph)[graph->parameters[i]].shape, &given = inputs[device][i].shape;
        if (!wanted.sameAs(given) || inputs[device][i].bytes.size() != bytesOf(wanted))
          throw inputError(fmt::format("parameter array {} of device {} is {} ({} bytes), the module wants {}", i,
                                       device, hlo::formatShapePlain(given), inputs[device][i].bytes.size(),
                                       hlo::formatShapePlain(wanted)));
      }
    }
  }

  void describeGraph(const CompiledGraph &compiled, int depth, Packages packages,
                     std::vector<StepDescription> &out) const {
    const Graph &source = *compiled.graph;
    for (const CompiledStep &step : compiled.steps) {
      const Node &node = source[step.step.node];
      StepDescription description;
      description.depth = depth;
      description.name = node.instruction.name;
      description.shape = hlo::formatShapePlain(node.shape);
      description.kind = step.condition ? "while" : step.calls.empty() ? "kernel" : opcodeName(node.opcode());
      description.text = step.kernel.text;
      if (step.trips)
        description.plan += fmt::format("trips           {}\n", *step.trips);
      if (step.step.inPlace >= 0)
        description.plan += "in place        writes the update only\n";
      if (step.kernel.blocks && packages == Packages::With)
        description.package = step.kernel.package;
      for (const std::vector<NodeId> &fused : {step.step.epilogues, step.step.tail, step.step.rows})
        for (NodeId id : fused)
          if (id != step.step.node)
            description.fused.push_back(source[id].instruction.name);
      if (step.step.matmul >= 0)
        description.fused.push_back(source[step.step.matmul].instruction.name);
      for (const auto &[ranks, group] : step.groupKernels) {
        description.plan += heddle::describe(group.plan);
        description.algorithm = group.plan.algorithm->name;
        if (step.step.matmul >= 0)
          description.plan += describeTiles(source, step.step, group.plan);
        description.text = group.kernel.text;
        if (group.plan.rounds && packages == Packages::With)
          description.package = isPlain(compiled, step.step) ? compileKernel(group.plan) : group.kernel.package;
      }
      if (!step.step.apart.empty())
        description.plan += fmt::format("matmul          has a kernel of its own: {}\n", step.step.apart);
      std::vector<std::string> groups;
      for (const GroupCall &call : step.calls)
        groups.push_back(fmt::format("{{{}}}", fmt::join(call.members, ",")));
      description.groups = fmt::format("{}", fmt::join(groups, ","));
      out.push_back(description);
      if (step.condition) {
        if (!step.trips)
          describeGraph(*step.condition, depth + 1, packages, out);
        describeGraph(*step.body, depth + 1, packages, out);
      }
    }
  }
};

Program::Program(hlo::Module module, std::vector<std::shared_ptr<Device>> devices, ProgramOptions options) {
  if (int64_t(devices.size()) != module.deviceCount())
    throw inputError(fmt::format("module `{}` is for {} devices ({} replicas of {} partitions), {} are given",
                                 module.name, module.deviceCount(), module.replicaCount, module.partitionCount,
                                 devices.size()),
                     {fmt::format("give it {} devices", module.deviceCount())});
  const Chip &chip = devices[0]->chip();
  implementation = std::make_unique<Implementation>(std::move(module), chip, std::move(devices), std::move(options));
}
void requireProcesses(const hlo::Module &module, int ranks) {
  if (ranks != module.deviceCount())
    throw inputError(
        fmt::format("module `{}` is for {} devices ({} replicas of {} partitions), and there are {} processes",
                    module.name, module.deviceCount(), module.replicaCount, module.partitionCount, ranks),
        {fmt::format("run it with {} processes", module.deviceCount())});
}

Program::Program(hlo::Module module, std::shared_ptr<ProcessGroup> processes, ProgramOptions options) {
  requireProcesses(module, processes->ranks());
  std::vector<std::shared_ptr<Device>> own = {processes->device()};
  const Chip &chip = own[0]->chip();
  implementation = std::make_unique<Implementation>(std::move(module), chip, std::move(own), std::move(options),
                                                    std::move(processes));
}
Program::Program(hlo::Module module, const Chip &chip, ProgramOptions options)
    : implementation(std::make_unique<Implementation>(std::move(module), chip, std::vector<std::shared_ptr<Device>>(),
                                                      std::move(options))) {}
Program::~Program() = default;

const hlo::Module &Program::module() const {
  return implementation->module;
}

std::vector<StepDescription> Program::describe(Packages packages) const {
  std::vector<StepDescription> steps;
  implementation->describeGraph(*implementation->entry, 0, packages, steps);
  return steps;
}

std::vector<hlo::Shape> Program::parameterShapes() const {
  std::vector<hlo::Shape> shapes;
  for (NodeId id : implementation->graph->parameters)
    shapes.push_back((*implementation->graph)[id].shape);
  return shapes;
}

std::vector<hlo::Shape> Program::resultShapes() const {
  std::vector<hlo::Shape> shapes;
  for (NodeId id : implementation->graph->results)
    shapes.push_back((*implementation->graph)[id].shape);
  return shapes;
}

void Program::launch() {
  implementation->launchAll();
}

void Program::finish() {
  implementation->synchronize();
}

bool Program::hasLoops() const {
  const std::vector<CompiledStep> &steps = implementation->entry->steps;
  return std::any_of(steps.begin(), steps.end(), [](const CompiledStep &step) { return step.condition != nullptr; });
}

size_t Program::launches() const {
  const std::vector<size_t> &launched = implementation->launched;
  return launched.empty() ? 0 : *std::max_element(launched.begin(), launched.end());
}

const std::vector<std::shared_ptr<Device>> &Program::devices() const {
  return implementation->devices;
}

std::vector<Stream *> Program::streams() const {
  return implementation->allStreams();
}

std::vector<std::vector<ArrayBytes>> Program::run(const std::vector<std::vector<ArrayBytes>> &inputs) {
  return implementation->run(inputs);
}

} // namespace heddle::program
