// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
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
    throw environmentError(fmt::format("{}: out of memory: buffer `{}` asks for {} bytes, {} are available", device,
                                       name, sizeBytes, mostBytes),
                           {fmt::format("the device has {} bytes in all", mostBytes)});
  std::lock_guard guard(mutex);
  auto bytes = std::make_unique<uint8_t[]>(sizeBytes + 2 * alignment);
  uint64_t address = (uint64_t(bytes.get()) + alignment) & ~(alignment - 1);
  std::memset(bytes.get(), 0xd5, sizeBytes + 2 * alignment);
  memory.emplace_back(address, std::move(bytes));
  live.push_back({address, sizeBytes, name, device});
  std::sort(live.begin(), live.end(), [](const auto &a, const auto &b) { return a.address < b.address; });
  changeRanges([&] { machine.ranges.push_back({address, address + sizeBytes, name + " of " + device}); });
  order.forget(address, sizeBytes);
  return address;
}

void Engine::free(uint64_t address) noexcept {
  std::lock_guard guard(mutex);
  std::erase_if(live, [&](const Allocation &allocation) { return allocation.address == address; });
  retired.push_back(address);
  freeRetired();
}

// Work that was there before may still use the memory.
void Engine::freeRetired() {
  if (retired.empty() || !std::all_of(queues.begin(), queues.end(), [](Queue *queue) { return queue->isIdle(); }))
    return;
  auto isRetired = [&](uint64_t address) {
    return std::find(retired.begin(), retired.end(), address) != retired.end();
  };
  changeRanges([&] {
    std::erase_if(machine.ranges, [&](const Range &range) {
      if (isRetired(range.begin))
        order.forget(range.begin, range.end - range.begin);
      return isRetired(range.begin);
    });
  });
  std::erase_if(memory, [&](const auto &row) { return isRetired(row.first); });
  retired.clear();
}

void Engine::checkRange(const char *operation, uint64_t address, uint64_t sizeBytes) {
  std::lock_guard guard(mutex);
  requireAllocation(live, operation, address, sizeBytes);
}

//===-- Code -----------------------------------------------------------------------------------------------------===//

void Engine::keepCode(const Package &package, const std::string &llvmIr) {
  std::lock_guard guard(mutex);
  codes.try_emplace(hashHex(package.binary), llvmIr);
}

void Engine::setCodeChange(CodeChange change) {
  std::lock_guard guard(mutex);
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
  std::lock_guard guard(mutex);
  std::string key = hashHex(package.binary);
  auto code = codes.find(key);
  if (code == codes.end())
    throw environmentError(
        fmt::format("kernel `{}`: a threads device runs what was compiled in its own process", package.kernel));
  if (constexpr size_t mostPrograms = 64; programs.size() >= mostPrograms && !programs.contains(key))
    dropPrograms();
  auto known = programs.find(key);
  if (known == programs.end()) // what cannot be decoded leaves no entry
    known = programs.emplace(key, decode(code->second, package.entry)).first;
  return known->second;
}

//===-- Streams --------------------------------------------------------------------------------------------------===//

void Engine::open(Queue &queue) {
  std::lock_guard guard(mutex);
  queue.agent.slot = order.takeSlot(queue.ordinal, DeviceOrder::AgentKind::Stream);
  queue.agent.clock = order.clockOf(queue.agent.slot);
  order.nameSlot(queue.agent.slot, "a stream of " + queue.device);
  queues.push_back(&queue);
}

void Engine::close(Queue &queue) {
  std::lock_guard guard(mutex);
  hostLearns(knowledgeOf(queue));
  order.clockOf(queue.agent.slot) = queue.agent.clock + 1;
  order.returnSlot(queue.agent.slot);
  for (uint32_t slot : queue.slots)
    order.returnSlot(slot);
  std::erase(queues, &queue);
  freeRetired();
}

void Engine::push(Queue &queue, Command command) {
  std::lock_guard guard(mutex);
  command.known = hostKnown;
  queue.commands.push_back(std::move(command));
}

Known Engine::knowledgeOf(Queue &queue) {
  auto all = queue.agent.known ? std::make_shared<Knowledge>(*queue.agent.known) : std::make_shared<Knowledge>();
  all->learn(queue.agent.slot, 0, 1, 1, queue.agent.clock++);
  return all;
}

void Engine::learn(Queue &queue, const Known &known) {
  joinInto(queue.agent.known, known);
}

void Engine::hostLearns(const Known &known) {
  joinInto(hostKnown, known);
}

void Engine::access(Queue &queue, const char *what, uint64_t address, uint64_t bytes, Access access) {
  order.access(queue.agent, what, address, bytes, access);
}

uint64_t Engine::nanoseconds() {
  std::lock_guard guard(mutex);
  return machine.nanoseconds();
}

void Engine::startLaunch(Queue &queue, std::unique_ptr<Rank> rank) {
  if (machine.ranks.empty() && !scheduleIsSet) {
    machine.options.policy = Policy(quietTimes % 3);
    machine.options.seed = quietTimes / 3;
    ++quietTimes;
  }
  rank->begin = knowledgeOf(queue);
  rank->slots = std::move(queue.slots);
  queue.running = rank.get();
  machine.firstStep = machine.report.warpSteps;
  machine.ranks.push_back(std::move(rank));
}

void Engine::endLaunches() {
  for (Queue *queue : queues) {
    Rank *rank = queue->running;
    if (!rank || !rank->isDone())
      continue;
    learn(*queue, std::make_shared<Knowledge>(std::move(rank->end)));
    queue->slots = std::move(rank->slots);
    if (!rank->error.empty() && !queue->error)
      queue->error = std::make_exception_ptr(internalError(rank->error));
    queue->running = nullptr;
    machine.firstStep = machine.report.warpSteps;
    std::erase_if(machine.ranks, [&](const auto &each) { return each.get() == rank; });
  }
}

/// The stream's next command, if its turn has come.
bool Engine::advance(Queue &queue) {
  if (queue.running || queue.commands.empty())
    return false;
  if (queue.commands.front().kind == Command::Kind::Wait && !queue.commands.front().ready())
    return false;
  Command command = std::move(queue.commands.front());
  queue.commands.pop_front();
  learn(queue, command.known);
  bool skipped = queue.error && (command.kind == Command::Kind::Work || command.kind == Command::Kind::Launch);
  try {
    if (!skipped && command.launch)
      startLaunch(queue, std::move(command.launch));
    else if (!skipped && command.body)
      command.body();
  } catch (...) {
    if (!queue.error)
      queue.error = std::current_exception();
  }
  return true;
}

bool Engine::advanceAll() {
  bool moved = false;
  for (size_t i = 0; i < queues.size(); ++i) // a host function may make streams
    while (advance(*queues[i]))
      moved = true;
  return moved;
}

void Engine::runUntil(const std::function<bool()> &reached) {
  constexpr unsigned turnsAtOnce = 64; // then other threads of the host may put work into streams
  std::unique_lock guard(mutex);
  for (unsigned turn = 1; !reached(); ++turn) {
    bool moved = advanceAll();
    if (reached())
      return;
    if (!moved && machine.ranks.empty())
      throw inputError("a stream waits for an event that no stream will reach");
    runTurn(machine);
    endLaunches();
    if (turn % turnsAtOnce == 0) {
      guard.unlock();
      guard.lock();
    }
  }
}

void Engine::synchronize(Queue &queue) {
  runUntil([&] { return queue.isIdle(); });
  std::lock_guard guard(mutex);
  hostLearns(knowledgeOf(queue));
  freeRetired();
  std::exception_ptr error = std::exchange(queue.error, nullptr);
  if (error)
    std::rethrow_exception(error);
  std::vector<Finding> findings = takeFindings();
  if (findings.empty())
    return;
  std::vector<std::string> notes;
  for (size_t i = 1; i < findings.size() && i < 8; ++i)
    notes.push_back(findings[i].message);
  throw internalError(findings[0].message, notes);
}

void Engine::setSchedule(Policy policy, uint64_t seed) {
  std::lock_guard guard(mutex);
  machine.options.policy = policy;
  machine.options.seed = machine.randomState = seed;
  scheduleIsSet = true;
}

std::vector<Finding> Engine::takeFindings() {
  std::lock_guard guard(mutex);
  machine.known.clear();
  machine.report.error.clear();
  return std::exchange(machine.report.findings, {});
}
