// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Memory, code and launches of all devices, and the turns of their blocks.
#include "tests/threads_driver/Engine.h"
#include "support/Error.h"
#include "support/Hash.h"
#include "tests/thread_interpreter/decode/Decoder.h"
#include "tests/thread_interpreter/decode/ParseCode.h"
#include "llvm/IR/LLVMContext.h"
#include <algorithm>
#include <cstring>
#include <fmt/format.h>

using namespace heddle;
using namespace heddle::threads;

static Options machineOptions() {
  Options options;
  options.deviceRaces = true;
  options.mostSteps = uint64_t(1) << 26; // between two launches that end
  return options;
}

Engine::Engine() : machine(machineOptions()), order(machine) {
  machine.order = &order;
}

Engine &Engine::shared() {
  static Engine *engine = new Engine; // streams of static objects may outlive a static one
  return *engine;
}

//===-- Memory ---------------------------------------------------------------------------------------------------===//

void Engine::changeRanges(const std::function<void()> &change) {
  change();
  std::sort(machine.ranges.begin(), machine.ranges.end(),
            [](const Range &a, const Range &b) { return a.begin < b.begin; });
  for (const auto &rank : machine.ranks)
    for (const auto &block : rank->blocks)
      for (const auto &warp : block->warps)
        warp->range = nullptr;
}

uint64_t Engine::allocate(uint64_t sizeBytes, const std::string &name, const std::string &device) {
  constexpr uint64_t alignment = 256, mostBytes = uint64_t(1) << 32;
  if (sizeBytes > mostBytes)
    throw outOfMemory(device, name, sizeBytes, mostBytes, {fmt::format("the device has {} bytes in all", mostBytes)});
  Guard guard = lock();
  releaseRetired();
  auto bytes = std::make_unique<uint8_t[]>(sizeBytes + 2 * alignment);
  uint64_t address = (uint64_t(bytes.get()) + alignment) & ~(alignment - 1);
  std::memset(bytes.get(), 0xd5, sizeBytes + 2 * alignment);
  memory.emplace_back(address, std::move(bytes));
  keep({address, sizeBytes, name, device});
  changeRanges([&] { machine.ranges.push_back({address, address + sizeBytes, name + " of " + device}); });
  order.forget(address, sizeBytes);
  return address;
}

void Engine::releaseMemory(uint64_t address) {
  changeRanges([&] {
    std::erase_if(machine.ranges, [&](const Range &range) {
      if (range.begin == address)
        order.forget(range.begin, range.end - range.begin);
      return range.begin == address;
    });
  });
  std::erase_if(memory, [&](const auto &row) { return row.first == address; });
}

//===-- Code -----------------------------------------------------------------------------------------------------===//

void Engine::setCodeChange(CodeChange change) {
  Guard guard = lock();
  codeChange = std::move(change);
  for (auto &[key, program] : std::exchange(programs, {}))
    replaced.push_back(std::move(program));
  dropPrograms();
}

/// A program together with the module that its descriptions refer to.
namespace {
struct LoadedProgram {
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> module;
  std::unique_ptr<Program> program;
};
} // namespace

std::shared_ptr<Program> Engine::decode(const std::string &llvmIr, const std::string &entry) {
  auto loaded = std::make_shared<LoadedProgram>();
  loaded->module = parseCode(llvmIr, loaded->context);
  if (codeChange)
    codeChange(*loaded->module);
  static const std::map<std::string, LaneFunction> none;
  loaded->program = Decoder(*loaded->module, none).decode(findKernel(*loaded->module, entry));
  changeRanges([&] {
    for (auto [begin, size] : loaded->program->globalRanges)
      machine.ranges.push_back({begin, begin + size, "a global variable"});
  });
  Program *program = loaded->program.get();
  return std::shared_ptr<Program>(std::move(loaded), program);
}

// Decoded programs are large, and a campaign has thousands.
void Engine::dropPrograms() {
  auto drops = [&](const std::shared_ptr<Program> &program) {
    if (program.use_count() > 1)
      return false;
    for (auto [begin, size] : program->globalRanges)
      std::erase_if(machine.ranges, [&](const Range &range) { return range.begin == begin; });
    return true;
  };
  changeRanges([&] {
    std::erase_if(replaced, drops);
    std::erase_if(programs, [&](const auto &row) { return drops(row.second); });
  });
}

std::shared_ptr<const Program> Engine::load(const Package &package) {
  Guard guard = lock();
  std::string key = hashHex(package.binary);
  if (constexpr size_t mostPrograms = 64; programs.size() >= mostPrograms && !programs.contains(key))
    dropPrograms();
  auto known = programs.find(key);
  if (known == programs.end()) // what cannot be decoded leaves no entry
    known = programs.emplace(key, decode(package.binary, package.entry)).first;
  return known->second;
}

//===-- Streams --------------------------------------------------------------------------------------------------===//

static ThreadsQueue &own(SteppedQueue &queue) {
  return static_cast<ThreadsQueue &>(queue);
}

void ThreadsEvent::synchronize() const {
  SteppedEvent::synchronize();
  auto &own = static_cast<Engine &>(engine);
  SteppedEngine::Guard guard = own.lock();
  own.hostLearns(known);
}

void Engine::open(SteppedQueue &queue) {
  {
    Guard guard = lock();
    HostAgent &agent = own(queue).agent;
    agent.slot = order.takeSlot(queue.ordinal, DeviceOrder::AgentKind::Stream);
    agent.clock = order.clockOf(agent.slot);
    order.nameSlot(agent.slot, "a stream of " + queue.device);
  }
  SteppedEngine::open(queue);
}

void Engine::close(SteppedQueue &queue) {
  {
    Guard guard = lock();
    HostAgent &agent = own(queue).agent;
    hostLearns(knowledgeOf(own(queue)));
    order.clockOf(agent.slot) = agent.clock + 1;
    order.returnSlot(agent.slot);
    for (uint32_t slot : own(queue).slots)
      order.returnSlot(slot);
  }
  SteppedEngine::close(queue);
}

void Engine::push(const Guard &guard, SteppedQueue &queue, SteppedCommand command) {
  command.before = [this, &queue, known = hostKnown] { learn(own(queue), known); };
  SteppedEngine::push(guard, queue, std::move(command));
}

Known Engine::knowledgeOf(ThreadsQueue &queue) {
  auto all = queue.agent.known ? std::make_shared<Knowledge>(*queue.agent.known) : std::make_shared<Knowledge>();
  all->learn(queue.agent.slot, 0, 1, 1, queue.agent.clock++);
  return all;
}

void Engine::learn(ThreadsQueue &queue, const Known &known) {
  joinInto(queue.agent.known, known);
}

void Engine::hostLearns(const Known &known) {
  joinInto(hostKnown, known);
}

void Engine::recordReached(SteppedQueue &queue, SteppedEvent &event) {
  static_cast<ThreadsEvent &>(event).known = knowledgeOf(own(queue));
}

void Engine::waitIsOver(SteppedQueue &queue, SteppedEvent &event) {
  learn(own(queue), static_cast<ThreadsEvent &>(event).known);
}

uint8_t *Engine::access(SteppedQueue &queue, const char *what, uint64_t address, uint64_t sizeBytes, bool writes) {
  order.access(own(queue).agent, what, address, sizeBytes, writes ? Access::Write : Access::Read);
  return reinterpret_cast<uint8_t *>(address);
}

//===-- Launches -------------------------------------------------------------------------------------------------===//

class Engine::Running : public SteppedLaunch {
public:
  Running(Engine &engine, ThreadsQueue &queue, Rank &rank) : engine(engine), queue(queue), rank(rank) {}
  bool isDone() const override { return rank.isDone(); }
  void finish() override { engine.endLaunch(queue, rank); }

private:
  Engine &engine;
  ThreadsQueue &queue;
  Rank &rank; ///< of the machine
};

std::unique_ptr<SteppedLaunch> Engine::startLaunch(ThreadsQueue &queue, std::unique_ptr<Rank> rank) {
  if (machine.ranks.empty() && !scheduleIsSet) {
    machine.options.policy = Policy(quietTimes % 3);
    machine.options.seed = quietTimes / 3;
    ++quietTimes;
  }
  rank->begin = knowledgeOf(queue);
  rank->slots = std::move(queue.slots);
  machine.firstStep = machine.report.warpSteps;
  machine.ranks.push_back(std::move(rank));
  return std::make_unique<Running>(*this, queue, *machine.ranks.back());
}

bool Engine::runLaunches(Guard &) {
  runTurn(machine);
  return true;
}

void Engine::endLaunch(ThreadsQueue &queue, Rank &rank) {
  learn(queue, std::make_shared<Knowledge>(std::move(rank.end)));
  queue.slots = std::move(rank.slots);
  std::string error = rank.error;
  machine.firstStep = machine.report.warpSteps;
  std::erase_if(machine.ranks, [&](const auto &each) { return each.get() == &rank; });
  if (!error.empty())
    throw internalError(error);
}

/// What was found is the stream's error, unless it has one.
void Engine::hostHasWaited(SteppedQueue &queue) {
  hostLearns(knowledgeOf(own(queue)));
  if (queue.error)
    return;
  std::vector<Finding> findings = removeFindings();
  if (findings.empty())
    return;
  std::vector<std::string> notes;
  for (size_t i = 1; i < findings.size() && i < 8; ++i)
    notes.push_back(findings[i].message);
  queue.error = std::make_exception_ptr(internalError(findings[0].message, notes));
}

void Engine::setSchedule(Policy policy, uint64_t seed) {
  Guard guard = lock();
  machine.options.policy = policy;
  machine.options.seed = machine.randomState = seed;
  scheduleIsSet = true;
}

std::vector<Finding> Engine::takeFindings() {
  Guard guard = lock();
  return removeFindings();
}

std::vector<Finding> Engine::removeFindings() {
  machine.known.clear();
  machine.report.error.clear();
  return std::exchange(machine.report.findings, {});
}
