// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The interface: decodes the kernel at its first use, checks the launches, and runs them.
#include "tests/thread_interpreter/ThreadInterpreter.h"
#include "support/Error.h"
#include "tests/thread_interpreter/Schedule.h"
#include "tests/thread_interpreter/decode/Decoder.h"
#include "tests/thread_interpreter/decode/ParseCode.h"
#include <algorithm>
#include <fmt/format.h>
#include <optional>

using namespace heddle;
using namespace heddle::threads;

struct ThreadInterpreter::State {
  const llvm::Module &module;
  const llvm::Function &kernel;
  Options options;
  std::map<std::string, LaneFunction> functions = {};
  std::vector<Range> ranges = {};
  std::shared_ptr<Program> program = nullptr;
  std::map<Op *, Handler> removed = {}; ///< barriers and what they did

  Program &decoded() {
    if (!program)
      program = Decoder(module, functions).decode(kernel);
    return *program;
  }
};

ThreadInterpreter::ThreadInterpreter(const llvm::Module &module, std::string_view kernel, Options options)
    : state(new State{module, findKernel(module, kernel), options}) {}
ThreadInterpreter::~ThreadInterpreter() = default;

void ThreadInterpreter::addMemory(const void *begin, size_t sizeBytes, std::string name) {
  uint64_t address = reinterpret_cast<uint64_t>(begin);
  state->ranges.push_back({address, address + sizeBytes, std::move(name)});
}

void ThreadInterpreter::define(std::string text, LaneFunction function) {
  state->functions[normaliseAssembly(text)] = std::move(function);
  state->program = nullptr;
}

unsigned ThreadInterpreter::barrierCount() const {
  return state->decoded().barriers.size();
}

void ThreadInterpreter::removeBarrier(unsigned n) {
  Program &program = state->decoded();
  if (n >= program.barriers.size())
    throw inputError(fmt::format("there is no barrier {}, the kernel has {}", n, program.barriers.size()));
  Op &op = program.ops[program.barriers[n]];
  state->removed.insert({&op, op.run});
  op.run = findEntry("fence", false)->handlers[0];
}

void ThreadInterpreter::restoreBarriers() {
  for (auto [op, run] : state->removed)
    op->run = run;
  state->removed.clear();
}

Report ThreadInterpreter::run(const Launch &launch) {
  return run(std::span(&launch, 1));
}

static constexpr uint32_t mostThreads = 1024, mostSharedBytes = 227 * 1024;

/// The size of a block that the kernel was compiled for, if it says one: the attribute's numbers x,y,z.
static void checkBlock(const llvm::Function &kernel, const Dim3 &block) {
  llvm::Attribute attribute = kernel.getFnAttribute("nvvm.reqntid");
  if (!attribute.isValid())
    return;
  llvm::SmallVector<llvm::StringRef, 3> parts;
  attribute.getValueAsString().split(parts, ',');
  uint32_t sizes[3] = {1, 1, 1};
  for (size_t i = 0; i < parts.size() && i < 3; ++i)
    parts[i].trim().getAsInteger(10, sizes[i]);
  if (block.x != sizes[0] || block.y != sizes[1] || block.z != sizes[2])
    throw inputError(fmt::format("a block of {} x {} x {} threads, and the kernel demands {} x {} x {}", block.x,
                                 block.y, block.z, sizes[0], sizes[1], sizes[2]));
}

static void checkLaunch(const Program &program, const Launch &launch) {
  if (launch.tensorMaps.size() != program.tensorMaps)
    throw inputError(fmt::format("the launch has {} tensor maps, and the kernel has {} parameters by value",
                                 launch.tensorMaps.size(), program.tensorMaps));
  if (launch.arguments.size() + launch.tensorMaps.size() != program.parameters.size())
    throw inputError(fmt::format("the launch has {} arguments, and the kernel has {} parameters",
                                 launch.arguments.size(), program.parameters.size() - program.tensorMaps));
  if (!launch.block.count() || launch.block.count() > mostThreads)
    throw inputError(fmt::format("a block of {} threads; 1 to {} are possible", launch.block.count(), mostThreads));
  uint64_t shared = uint64_t(program.staticSharedBytes) + launch.dynamicSharedBytes;
  if (shared > mostSharedBytes)
    throw inputError(fmt::format("a block takes {} bytes of shared memory; {} is the most", shared, mostSharedBytes));
}

Report ThreadInterpreter::run(std::span<const Launch> ranks) {
  const Program &program = state->decoded();
  Machine machine(state->options);
  std::optional<DeviceOrder> order;
  if (state->options.deviceRaces)
    machine.order = &order.emplace(machine);
  machine.ranges = state->ranges;
  for (auto [begin, size] : program.globalRanges)
    machine.ranges.push_back({begin, begin + size, "a global variable"});
  std::sort(machine.ranges.begin(), machine.ranges.end(),
            [](const Range &a, const Range &b) { return a.begin < b.begin; });
  for (const Launch &launch : ranks) {
    checkLaunch(program, launch);
    checkBlock(state->kernel, launch.block);
    auto rank = std::make_unique<Rank>();
    rank->program = state->program;
    rank->launch = launch;
    rank->index = unsigned(machine.ranks.size());
    rank->name = ranks.size() > 1 ? fmt::format("rank {}", rank->index) : "";
    rank->residentBlocks = state->options.residentBlocks;
    machine.ranks.push_back(std::move(rank));
  }
  runAll(machine);
  return std::move(machine.report);
}
