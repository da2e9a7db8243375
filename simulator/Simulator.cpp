// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Loads code objects, decodes code when it is first reached, and runs sessions of launches with their checks.
#include "simulator/Simulator.h"
#include "chips/Chip.h"
#include "simulator/checks/Checks.h"
#include "simulator/decode/Decoder.h"
#include "simulator/memory/Pattern.h"
#include "support/Error.h"
#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace heddle::simulator {
namespace {

/// `subject` is what names the chip.
void checkChip(const std::string &chip, const std::string &subject) {
  if (!findSimulated(chip))
    throw inputError(fmt::format("{} {}, which is not simulated", subject, chip),
                     {fmt::format("{} are", listSimulated("", " and "))});
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") || !__builtin_cpu_supports("f16c"))
    throw environmentError("the simulator needs a processor with AVX2, FMA and F16C");
}

/// In one piece, as one device.
DeviceShape shapeOf(const Chip &chip) {
  return {.xcds = unsigned(chip.dies),
          .unitsPerXcd = unsigned(chip.computeUnits / chip.dies),
          .cachesHostMemory = chip.cachesHostMemory};
}

} // namespace

/// Code is found by its address: decoded when it is first reached.
class Simulator::Code : public LoadedObject {
public:
  Code(const AmdCodeObject &object, AddressSpace &memory, int owner);
  ~Code() override;
  Program &program() { return *text; }
  std::vector<const Instruction *> reached() const override;

private:
  class Text : public Program {
  public:
    Text(const std::string &chip, std::span<const uint8_t> bytes, uint64_t base)
        : Program(bytes, base), decoder(chip) {}

  private:
    Instruction decode(std::span<const uint8_t> bytes, uint64_t pc) override { return decoder.decode(bytes, pc); }
    Decoder decoder;
  };
  AddressSpace &memory;
  std::unique_ptr<Text> text;
};

Simulator::Code::~Code() {
  for (const AmdSegment &segment : object.segments)
    memory.free(base + segment.address);
}

Simulator::Code::Code(const AmdCodeObject &given, AddressSpace &memory, int owner)
    : LoadedObject(given), memory(memory) {
  const AmdSegment *code = nullptr;
  for (const AmdSegment &segment : object.segments) {
    sizeBytes = std::max(sizeBytes, segment.address + segment.sizeBytes);
    if (segment.executable && !code)
      code = &segment;
    else if (segment.executable)
      throw inputError("the code object has more than one segment of code, which is not simulated");
  }
  if (!code)
    throw inputError("the code object has no code");
  base = memory.reserve(sizeBytes);
  for (const AmdSegment &segment : object.segments) {
    Allocation &placed = memory.place(base + segment.address, segment.sizeBytes, "code object");
    placed.owner = owner;
    std::copy(segment.bytes.begin(), segment.bytes.end(), placed.bytes.get());
    for (const AmdRelocation &relocation : object.relocations)
      if (placed.contains(base + relocation.address, 8)) {
        uint64_t target = base + relocation.target;
        std::memcpy(placed.bytes.get() + (relocation.address - segment.address), &target, 8);
      }
    placed.writable = segment.writable;
    if (&segment == code)
      text = std::make_unique<Text>(object.chip, std::span(placed.bytes.get(), placed.sizeBytes), placed.base);
  }
}

std::vector<const Instruction *> Simulator::Code::reached() const {
  std::vector<const Instruction *> instructions;
  text->forEachReached([&](const Instruction &instruction) { instructions.push_back(&instruction); });
  return instructions;
}

Simulator::Simulator(const std::string &chip, unsigned devices) : chipName(chip) {
  checkChip(chip, "the chip is");
  for (unsigned device = 0; device < devices; ++device)
    addDevice();
}

Simulator::Simulator(const AmdCodeObject &object) : chipName(object.chip) {
  checkChip(object.chip, "the code object is for");
  addDevice();
  load(object);
}

Simulator::~Simulator() = default;

void Simulator::addDevice() {
  system.addDevice(shapeOf(*findSimulated(chipName)));
}

uint64_t Simulator::allocate(uint64_t sizeBytes, const std::string &name, int owner, Placement placement) {
  Allocation &allocation = system.home.allocate(sizeBytes, name);
  allocation.owner = owner;
  allocation.placement = placement;
  return allocation.base;
}

void Simulator::free(uint64_t address) {
  system.home.free(address);
}

/// The allocation that begins there: an empty one has an address too, and no byte that owner() could find.
static Allocation &allocationAt(AddressSpace &memory, uint64_t address) {
  Allocation *found = memory.owner(address);
  if (!found)
    memory.forEach([&](Allocation &each) {
      if (each.base == address)
        found = &each;
    });
  if (!found || found->base != address)
    throw internalError(fmt::format("no buffer begins at 0x{:x}", address));
  return *found;
}

void Simulator::setUninitialised(uint64_t address) {
  Allocation &allocation = allocationAt(system.home, address);
  allocation.unwritten.reset();
  allocation.initialised = false;
}

void Simulator::setSlack(uint64_t address, uint64_t slackBytes, uint64_t seed) {
  Allocation &allocation = allocationAt(system.home, address);
  allocation.slackBytes = slackBytes;
  fillPattern(allocation.bytes.get() + allocation.usedBytes(), slackBytes, firstOfPattern(seed));
}

std::span<uint8_t> Simulator::bytes(uint64_t address) {
  const Allocation &allocation = allocationAt(system.home, address);
  return {allocation.bytes.get(), allocation.usedBytes()};
}

LoadedObject &Simulator::load(const AmdCodeObject &object, unsigned device) {
  if (object.chip != chipName)
    throw inputError(fmt::format("the code object is for {}, and the simulated devices are {}", object.chip, chipName));
  objects.push_back(std::make_unique<Code>(object, system.home, int(device)));
  return *objects.back();
}

void Simulator::unload(LoadedObject &loaded) {
  std::erase_if(objects, [&](const auto &object) { return object.get() == &loaded; });
}

std::unique_ptr<KernelRun> Simulator::prepare(LoadedObject &loaded, const AmdKernel &kernel, const Geometry &geometry,
                                              const std::string &arguments, unsigned device,
                                              const RunOptions &options) {
  const Chip &chip = *findSimulated(chipName);
  checkGeometry(kernel, chip, geometry);
  auto run = std::make_unique<KernelRun>();
  run->device = system.devices.at(device).get();
  run->program = &static_cast<Code &>(loaded).program();
  run->codeBase = loaded.base;
  run->residentGroups = options.residentGroups ? options.residentGroups : uint32_t(chip.computeUnits);
  run->launch =
      std::make_unique<Launch>(system.home, kernel, geometry, arguments, loaded.base, options.preloads, options.seed);
  return run;
}

SimulationReport Simulator::run(std::span<const std::unique_ptr<KernelRun>> runs, const SimulationOptions &options) {
  Session session(*this, options);
  LendingMemory lending(system);
  for (const auto &run : runs)
    session.begin(*run);
  while (session.pass())
    ;
  SimulationReport report;
  for (const auto &run : runs) {
    report.statistics.instructions += run->statistics.instructions;
    report.statistics.waves += run->statistics.waves;
    report.statistics.groups += run->statistics.groups;
    report.statistics.groupsApart += run->statistics.groupsApart;
    if (run->error && !report.error) {
      report.error = run->error;
      report.isEndless = run->isEndless;
    }
  }
  report.findings = session.findings();
  report.notes = session.notes();
  return report;
}

SimulationReport Simulator::run(const AmdKernel &kernel, const Geometry &geometry, const std::string &arguments,
                                const SimulationOptions &options) {
  std::unique_ptr<KernelRun> run = prepare(*objects.front(), kernel, geometry, arguments, 0, options);
  return this->run(std::span(&run, 1), options);
}

RunStatistics Simulator::launch(const AmdKernel &kernel, const Geometry &geometry, const std::string &arguments,
                                const SimulationOptions &options) {
  SimulationReport report = run(kernel, geometry, arguments, options);
  if (report.error)
    throw *report.error;
  return report.statistics;
}

//===-- Sessions -------------------------------------------------------------------------------------------------===//

Session::Session(Simulator &theSimulator, const SimulationOptions &options) : simulator(theSimulator) {
  bool hasSlack = false;
  simulator.system.home.forEach([&](const Allocation &each) { hasSlack |= each.slackBytes != 0; });
  if (options.checks.any() || (hasSlack && !options.observer))
    checks = std::make_unique<Checks>(simulator.system, options.checks);
  if (checks)
    checks->findings.onNew = options.found;
  if (!options.checks.has(Check::Uninitialised))
    simulator.system.home.setAllWritten(); // not known from now on
  Watcher *watcher = checks ? checks.get() : options.observer;
  runner = std::make_unique<Machine>(simulator.system, options, watcher);
}

Session::~Session() = default;

void Session::begin(KernelRun &run) {
  if (checks)
    for (const auto &code : simulator.objects)
      checks->findings.addCode(code->base, code->sizeBytes);
  runner->begin(run);
}

bool Session::pass() {
  return runner->pass();
}

const std::vector<Finding> &Session::findings() const {
  static const std::vector<Finding> none;
  return checks ? checks->findings.list() : none;
}

std::vector<ReportLine> Session::notes() const {
  return checks ? checks->notes() : std::vector<ReportLine>();
}

std::vector<std::string> instructionNames(const std::string &chip) {
  checkChip(chip, "the chip is");
  return Decoder(chip).mnemonics();
}

} // namespace heddle::simulator
