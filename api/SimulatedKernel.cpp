// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Places the buffers of a run, resolves the addresses that arguments hold, and runs the kernel.
#include "api/SimulatedKernel.h"
#include "binary/AmdAbi.h"
#include "binary/AmdPackage.h"
#include "runtime/LaunchReport.h"
#include "simulator/decode/Decoder.h"
#include "support/Knobs.h"
#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstring>
#include <ctime>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace heddle {
namespace {

using namespace simulator;

/// Of this thread, or of all where a run has several to itself.
double processorSeconds(bool ofAll) {
  timespec time = {};
  clock_gettime(ofAll ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_THREAD_CPUTIME_ID, &time);
  return double(time.tv_sec) + 1e-9 * double(time.tv_nsec);
}

/// An address, perhaps the last thing that the argument segment has.
void putAddress(std::string &segment, uint64_t offset, uint64_t address) {
  segment.resize(std::max<size_t>(segment.size(), offset + sizeof address));
  std::memcpy(segment.data() + offset, &address, sizeof address);
}

} // namespace

SimulatedKernel::SimulatedKernel(const std::string &file, const std::string &name, const SimulateRequest &request)
    : object(parseAmdCodeObject(file, name)), kernel(object.kernel(request.kernel)), request(request),
      segments(request.devices), addresses(request.devices), dynamicLds(request.devices), lines(file) {
  if (request.devices == 0)
    throw inputError("a kernel on no device: there is at least one");
  makeSlots();
  Values values, extra;
  collect(request.arguments, NameUse::Argument, values);
  setDefaults(values);
  checkMissing(values);
  collect(request.buffers, NameUse::Buffer, extra);
  for (unsigned device = 0; device < request.devices; ++device)
    prepareDevice(device, values, extra);
  resolvePointers();
  resolveAddresses();
  makeGeometry();
  bool isQuiet = request.package && request.package->sites.empty();
  record = isQuiet || values.count(amdRecordName) ? nullptr : findRecord();
}

// ---- Buffers ----

std::vector<size_t> SimulatedKernel::buffersNamed(const std::string &name, NameUse use) const {
  Target target = targetOf(name, use);
  if (target.slots.size() > 1)
    throw repeatedName(target, describeUse(use, name));
  auto found = byName.find(target.name);
  if (found != byName.end()) {
    std::vector<size_t> indices = found->second;
    if (target.device && buffers[indices[0]].device >= 0)
      std::erase_if(indices, [&](size_t index) { return buffers[index].device != int(*target.device); });
    indices.erase(std::unique(indices.begin(), indices.end()), indices.end()); // one on the host is there for all
    if (!indices.empty())
      return indices;
  }
  std::vector<std::string> known;
  for (const auto &[other, unused] : byName)
    known.push_back(other);
  throw noBuffer(name, known);
}

/// Of which buffer an `addr:` is.
void SimulatedKernel::resolveAddresses() {
  for (const NamedAddress &named : namedAddresses) {
    const ArgumentValue &value = named.value;
    std::string name = request.devices > 1 ? fmt::format("{}@{}", value.buffer, value.device) : value.buffer;
    size_t index = within(named.slot, [&] { return buffersNamed(name, NameUse::Address).front(); });
    const SimulatedBuffer &buffer = buffers[index];
    if (value.offset > buffer.sizeBytes + buffer.slackBytes)
      throw ArgumentError(fmt::format("argument `{}`: `{}` is {} bytes from the first one of `{}`, which has {}",
                                      named.slot, value.text, value.offset, buffer.array.name, buffer.sizeBytes),
                          {fmt::format("an offset is from 0 to {}", buffer.sizeBytes + buffer.slackBytes)});
    addresses[named.device].push_back({named.offset, index, value.offset});
  }
}

/// A table has an entry for each buffer of a name: with several devices, one for each device.
void SimulatedKernel::resolvePointers() {
  for (size_t i = 0; i < buffers.size(); ++i) {
    SimulatedBuffer &table = buffers[i];
    for (const std::string &name : pointerNames[i])
      for (size_t index : buffersNamed(name, NameUse::Pointers))
        table.pointers.push_back(index);
    if (pointerNames[i].empty())
      continue;
    table.array.shape = {int64_t(table.pointers.size())};
    table.sizeBytes = 8 * table.pointers.size();
  }
}

void SimulatedKernel::makeGeometry() {
  auto extents = [](const char *option, const std::array<int64_t, 3> &given) {
    for (int64_t extent : given)
      if (extent < 1 || extent > int64_t(UINT32_MAX))
        throw inputError(fmt::format("`{} {}`: an extent is from 1 to {}", option, extent, UINT32_MAX));
    return Extents{uint32_t(given[0]), uint32_t(given[1]), uint32_t(given[2])};
  };
  geometry.groups = extents("--grid", request.grid);
  geometry.items = extents("--block", request.block);
  uint64_t lds = *std::max_element(dynamicLds.begin(), dynamicLds.end());
  if (lds + uint64_t(request.dynamicLdsBytes) > UINT32_MAX)
    throw inputError(fmt::format("kernel `{}` takes {} bytes of dynamic LDS ({} of its arguments, {} of `--lds`), more "
                                 "than any chip has",
                                 kernel.name, lds + uint64_t(request.dynamicLdsBytes), lds, request.dynamicLdsBytes));
  geometry.dynamicLdsBytes = uint32_t(lds + uint64_t(request.dynamicLdsBytes));
}

// ---- Runs ----

SimulationOptions SimulatedKernel::options() const {
  SimulationOptions options;
  options.policy = parsePolicy(request.policy);
  options.schedule = parseSchedule(request.schedule);
  options.checks = parseChecks(request.checks);
  options.caches = request.caches;
  options.seed = request.seed;
  options.preloads = request.preloads;
  options.residentGroups = request.resident;
  options.instructionLimit = request.instructionLimit;
  options.threads = request.threads ? request.threads : unsigned(hostThreads());
  return options;
}

/// Allocates and fills the buffers; returns their addresses.
std::vector<uint64_t> SimulatedKernel::placeBuffers(Simulator &simulator, uint64_t seed) const {
  std::vector<uint64_t> places;
  for (const SimulatedBuffer &buffer : buffers) {
    bool onHost = buffer.device < 0 && request.devices > 1;
    int owner = onHost ? hostOwner : std::max(buffer.device, 0);
    places.push_back(
        simulator.allocate(buffer.sizeBytes + buffer.slackBytes, buffer.array.name, owner, buffer.placement));
    if (buffer.slackBytes)
      simulator.setSlack(places.back(), buffer.slackBytes, seed);
  }
  for (size_t i = 0; i < buffers.size(); ++i) {
    std::span<uint8_t> memory = simulator.bytes(places[i]);
    std::copy(buffers[i].array.bytes.begin(), buffers[i].array.bytes.end(), memory.begin());
    for (size_t entry = 0; entry < buffers[i].pointers.size(); ++entry)
      std::memcpy(memory.data() + 8 * entry, &places[buffers[i].pointers[entry]], 8);
    if (!buffers[i].isInitialised)
      simulator.setUninitialised(places[i]);
  }
  return places;
}

static UnwrittenStores unwrittenStores(Simulator &simulator, uint64_t address) {
  UnwrittenStores stores;
  const Allocation *allocation = simulator.system.home.owner(address); // null: an empty one
  if (!allocation || !allocation->unwritten || !allocation->unwritten->firstStore)
    return stores;
  stores.first = allocation->unwritten->firstStore;
  stores.bytes.resize(allocation->sizeBytes);
  for (size_t i = 0; i < stores.bytes.size(); ++i)
    stores.bytes[i] = allocation->unwritten->at(i) == UnwrittenBytes::Copied;
  return stores;
}

const AmdArgument *SimulatedKernel::findRecord() const {
  for (const Slot &slot : slots)
    if (slot.name == amdRecordName)
      return &slot.argument;
  return nullptr;
}

void SimulatedKernel::reportRecord(const std::vector<uint64_t> &words) const {
  Package unknown; // of a code object without its package
  unknown.kernel = kernel.name;
  const Package &package = request.package ? *request.package : unknown;
  reportLaunch(package, request.grid, words.data());
}

/// Keeps what was printed; a failed assertion is the run's error, before whatever came of it.
void SimulatedKernel::readRecords(Simulator &simulator, const std::vector<uint64_t> &places,
                                  KernelOutcome &outcome) const {
  for (uint64_t place : places) {
    std::vector<uint64_t> words(size_t(launchRecordBytes) / sizeof(uint64_t));
    std::memcpy(words.data(), simulator.bytes(place).data(), size_t(launchRecordBytes));
    outcome.records.push_back(std::move(words));
  }
  for (const std::vector<uint64_t> &words : outcome.records) {
    std::vector<uint64_t> failure(words.size());
    failure[0] = words[0]; // without what it printed
    try {
      reportRecord(failure);
    } catch (const Error &error) {
      outcome.report.error = KernelError(Error(ErrorClass::WrongResult, error.what(), error.notes));
      outcome.report.isEndless = false;
      return;
    }
  }
}

KernelOutcome SimulatedKernel::run(const AmdCodeObject &code, const SimulationOptions &given, const Tracer &tracer,
                                   const std::vector<bool> &wanted) const {
  Simulator simulator(code.chip, request.devices);
  LoadedObject &loaded = simulator.load(code);
  std::vector<uint64_t> places = placeBuffers(simulator, given.seed);
  SimulationOptions options = given;
  if (tracer)
    options.trace = [&](const Wave &wave, const Instruction &instruction) {
      tracer(wave, instruction, instruction.pc - loaded.base);
    };
  const AmdKernel &entry = code.kernel(kernel.name);
  std::vector<std::unique_ptr<KernelRun>> runs;
  std::vector<uint64_t> records;
  for (unsigned device = 0; device < request.devices; ++device) {
    std::string segment = segments[device];
    for (const Address &address : addresses[device])
      putAddress(segment, address.offset, places[address.buffer] + address.inside);
    if (record) {
      records.push_back(simulator.allocate(uint64_t(launchRecordBytes), "the launch's record", int(device)));
      putAddress(segment, record->offset, records.back());
    }
    runs.push_back(simulator.prepare(loaded, entry, geometry, segment, device, options));
  }
  KernelOutcome outcome;
  outcome.codeBase = loaded.base;
  double begin = processorSeconds(options.threads > 1);
  auto beginOnClock = std::chrono::steady_clock::now();
  outcome.report = simulator.run(runs, options);
  outcome.elapsedSeconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - beginOnClock).count();
  outcome.seconds = processorSeconds(options.threads > 1) - begin;
  readRecords(simulator, records, outcome);
  for (size_t i = 0; i < places.size() && !outcome.report.error; ++i) {
    std::span<uint8_t> memory = simulator.bytes(places[i]);
    outcome.contents.emplace_back();
    if (wanted.empty() || wanted[i])
      outcome.contents.back().assign(memory.begin(), memory.end());
    outcome.unwritten.push_back(unwrittenStores(simulator, places[i]));
  }
  for (const Instruction *instruction : loaded.reached())
    outcome.reached.push_back({instruction->pc - loaded.base, instruction->sizeBytes, instruction->mnemonic,
                               instruction->text, instruction->row && (instruction->row->implicit & approximates),
                               Decoder::isKnown(*instruction)});
  return outcome;
}

// ---- Reports ----

InstructionPlace SimulatedKernel::placeOf(uint64_t pc) const {
  SourcePlace source = lines.find(pc).value_or(SourcePlace());
  return {pc, source.file, source.line, source.column};
}

std::vector<InstructionPlace> SimulatedKernel::placesOf(const std::vector<ReportLine> &lines) const {
  std::vector<InstructionPlace> places;
  for (const ReportLine &line : lines)
    if (line.pc())
      places.push_back(placeOf(*line.pc()));
  return places;
}

SourceOf SimulatedKernel::sources() const {
  return [this](uint64_t pc) {
    InstructionPlace place = placeOf(pc);
    return place.file.empty() ? "" : SourcePlace{place.file, place.line, place.column}.text();
  };
}

} // namespace heddle
