// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "api/SimulatedKernel.h"
#include "api/Values.h"
#include "binary/AmdAbi.h"
#include "binary/AmdPackage.h"
#include "runtime/LaunchReport.h"
#include "simulator/decode/Decoder.h"
#include "support/Knobs.h"
#include "support/Npy.h"
#include "support/Suggest.h"
#include <algorithm>
#include <charconv>
#include <cstring>
#include <ctime>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <regex>

namespace heddle {
namespace {

using namespace simulator;

std::string describe(const AmdArgument &argument, const std::string &name) {
  std::string what = argument.isBuffer()                              ? "pointer"
                     : argument.valueKind == "dynamic_shared_pointer" ? "bytes of LDS"
                                                                      : fmt::format("{} bytes", argument.sizeBytes);
  return fmt::format("{}: {}{}", name, what, argument.typeName.empty() ? "" : " (" + argument.typeName + ")");
}

/// The element type that an argument's type in the source language names, or of the size and form of the number.
ElementType scalarType(const AmdArgument &argument, const std::string &text) {
  using enum ElementType;
  if (auto named = namedType(argument))
    return *named;
  bool isHex = text.find('x') != std::string::npos;
  bool isFloating = !isHex && text.find_first_of(".en") != std::string::npos; // also inf and nan
  switch (argument.sizeBytes) {
  case 1:
    return I8;
  case 2:
    return isFloating ? F16 : I16;
  case 4:
    return isFloating ? F32 : I32;
  case 8:
    return isFloating ? F64 : I64;
  default:
    throw inputError(fmt::format("{} bytes, and `{}` is one number", argument.sizeBytes, text),
                     {"give its bytes as `@file.npy`"});
  }
}

/// A pointer in any address space, or what may be one where the metadata has no type. A type by value has no `*`.
bool takesAddress(const AmdArgument &argument) {
  bool mayPoint = argument.typeName.empty() || argument.typeName.ends_with('*');
  return argument.isBuffer() || (argument.sizeBytes == 8 && mayPoint);
}

bool isLdsSize(const AmdArgument &argument) {
  return argument.valueKind == "dynamic_shared_pointer";
}

/// Of this thread, or of all where a run has several to itself.
double processorSeconds(bool ofAll) {
  timespec time = {};
  clock_gettime(ofAll ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_THREAD_CPUTIME_ID, &time);
  return double(time.tv_sec) + 1e-9 * double(time.tv_nsec);
}

template <typename T>
std::optional<T> parseWhole(std::string_view text) {
  T value = 0;
  auto [stop, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (status != std::errc() || stop != text.data() + text.size())
    return std::nullopt;
  return value;
}

/// Does something for an argument, which errors then name.
template <typename Action>
auto within(const std::string &argument, Action action) {
  try {
    return action();
  } catch (const Error &error) {
    throw Error(error.kind, fmt::format("argument `{}`: {}", argument, error.what()), error.notes);
  }
}

uint64_t alignUp(uint64_t value, uint64_t alignment) {
  return (value + alignment - 1) / alignment * alignment;
}

} // namespace

SimulatedKernel::SimulatedKernel(const std::string &file, const std::string &name, const SimulateRequest &request)
    : object(parseAmdCodeObject(file, name)), kernel(object.kernel(request.kernel)), request(request),
      segments(request.devices), addresses(request.devices), dynamicLds(request.devices), lines(file) {
  if (request.devices == 0)
    throw inputError("a kernel on no device: there is at least one");
  for (const AmdArgument &argument : kernel.arguments)
    if (!argument.isHidden())
      arguments.push_back(&argument);
  std::map<std::string, Texts> values, extra;
  collect(request.arguments, "--arg", values);
  checkMissing(values);
  collect(request.buffers, "--buffer", extra);
  for (unsigned device = 0; device < request.devices; ++device) {
    segments[device].assign(kernel.kernargBytes, '\0');
    for (size_t i = 0; i < arguments.size(); ++i) {
      const std::string text = values.count(nameOf(i)) ? *values[nameOf(i)][device] : "0";
      prepare(i, within(nameOf(i), [&] { return parseValue(text, device); }), device);
    }
    for (const auto &[given, texts] : extra) {
      if (!texts[device])
        continue;
      Value value = parseValue(*texts[device], device);
      if (value.spec.kind == BufferSpec::Kind::Scalar)
        throw inputError(fmt::format("`--buffer {}` makes a buffer, but `{}` is not a buffer", given, value.text));
      addBuffer(given, value, device);
    }
  }
  resolvePointers();
  makeGeometry();
  bool isQuiet = request.package && request.package->sites.empty();
  record = isQuiet || values.count(amdRecordName) ? nullptr : findRecord();
}

// ---- Names ----

/// What an argument is called: its name, or its position when the compiler kept none.
std::string SimulatedKernel::nameOf(size_t position) const {
  const std::string &name = arguments[position]->name;
  return name.empty() ? std::to_string(position) : name;
}

std::vector<std::string> SimulatedKernel::argumentNotes() const {
  std::vector<std::string> texts;
  for (size_t i = 0; i < arguments.size(); ++i)
    texts.push_back(describe(*arguments[i], nameOf(i)));
  return {fmt::format("the arguments of `{}` are {}", kernel.name,
                      texts.empty() ? "none" : fmt::format("{}", fmt::join(texts, ", ")))};
}

std::optional<size_t> SimulatedKernel::positionOf(const std::string &name) const {
  for (size_t i = 0; i < arguments.size(); ++i)
    if (nameOf(i) == name)
      return i;
  std::optional<size_t> position = parseWhole<size_t>(name);
  return position && *position < arguments.size() ? position : std::nullopt;
}

/// `NAME` or `NAME@DEVICE`; a position becomes the argument's name.
SimulatedKernel::Target SimulatedKernel::targetOf(const std::string &name, const char *option) const {
  Target target{name, std::nullopt};
  if (size_t at = name.rfind('@'); at != std::string::npos) {
    std::optional<unsigned> device = parseWhole<unsigned>(std::string_view(name).substr(at + 1));
    if (!device || *device >= request.devices)
      throw inputError(fmt::format(
          "`{} {}=...`: `{}` is no device; {}", option, name, name.substr(at + 1),
          request.devices == 1 ? "there is device 0" : fmt::format("there are devices 0 to {}", request.devices - 1)));
    target = {name.substr(0, at), device};
  }
  if (std::optional<size_t> position = positionOf(target.name))
    target.name = nameOf(*position);
  return target;
}

Error SimulatedKernel::noArgument(const std::string &name) const {
  std::vector<std::string> known, notes = argumentNotes();
  for (size_t i = 0; i < arguments.size(); ++i)
    known.push_back(nameOf(i));
  if (std::string close = closestName(name, known); !close.empty())
    notes.insert(notes.begin(), fmt::format("the closest argument is `{}`", close));
  return inputError(fmt::format("kernel `{}` has no argument `{}`", kernel.name, name), notes);
}

void SimulatedKernel::collect(const std::vector<NamedValue> &given, const char *option,
                              std::map<std::string, Texts> &values) const {
  checkRepeated(given, option);
  bool areArguments = std::string_view(option) == "--arg";
  std::map<std::pair<std::string, std::optional<unsigned>>, const NamedValue *> seen;
  for (const NamedValue &value : given) {
    Target target = targetOf(value.name, option);
    bool isArgument = positionOf(target.name).has_value();
    if (areArguments && !isArgument)
      throw noArgument(target.name);
    if (!areArguments && isArgument)
      throw inputError(
          fmt::format("`{} {}=...`: `{}` is an argument of kernel `{}`; a `--buffer` needs a name of its own", option,
                      value.name, target.name, kernel.name));
    if (auto [before, isNew] = seen.try_emplace({target.name, target.device}, &value); !isNew)
      throw inputError(fmt::format("`{0} {1}=...` and `{0} {2}=...` are the same: `{3}` and `{4}`", option,
                                   before->second->name, value.name, before->second->value, value.value));
  }
  for (bool ofOneDevice : {false, true})
    for (const auto &[target, value] : seen) {
      if (target.second.has_value() != ofOneDevice)
        continue;
      Texts &texts = values[target.first];
      texts.resize(request.devices);
      for (unsigned device = 0; device < request.devices; ++device)
        if (!ofOneDevice || device == *target.second)
          texts[device] = value->value;
    }
}

void SimulatedKernel::checkMissing(const std::map<std::string, Texts> &values) const {
  std::vector<std::string> missing;
  for (size_t i = 0; i < arguments.size(); ++i) {
    auto found = values.find(nameOf(i));
    if (found == values.end() && nameOf(i) == amdRecordName)
      continue; // each run has one of its own
    if (found == values.end()) {
      missing.push_back("`" + nameOf(i) + "`");
      continue;
    }
    for (unsigned device = 0; device < request.devices; ++device)
      if (!found->second[device])
        throw inputError(
            fmt::format("argument `{}` of kernel `{}` is missing on device {}", nameOf(i), kernel.name, device),
            {fmt::format("`--arg {}=VALUE` is for all devices", nameOf(i))});
  }
  if (!missing.empty())
    throw inputError(fmt::format("{} {} of kernel `{}` {} missing", missing.size() == 1 ? "argument" : "arguments",
                                 fmt::join(missing, ", "), kernel.name, missing.size() == 1 ? "is" : "are"),
                     argumentNotes());
}

// ---- Values ----

SimulatedKernel::Value SimulatedKernel::parseValue(const std::string &text, unsigned device) const {
  Value value;
  value.text = text;
  std::string rest = text;
  if (rest == "rank" || rest == "devices") {
    value.spec.text = std::to_string(rest == "rank" ? device : request.devices);
    return value;
  }
  auto takes = [&rest](std::string_view prefix) {
    bool found = rest.starts_with(prefix);
    rest.erase(0, found ? prefix.size() : 0);
    return found;
  };
  bool isPlaced = true;
  if (takes("host:"))
    value.onHost = true;
  else if (takes("fine:"))
    value.placement = Placement::FineGrained;
  else if (takes("uncached:"))
    value.placement = Placement::Uncached;
  else
    isPlaced = false;
  bool saysZeros = takes("zeros:");
  value.spec = saysZeros ? parseBufferShape(rest) : parseBufferSpec(rest);
  value.isInitialised = saysZeros || value.spec.kind != BufferSpec::Kind::Zeros;
  if (isPlaced && value.spec.kind == BufferSpec::Kind::Scalar)
    throw inputError(fmt::format("value `{}`: `{}` is not a buffer", text, rest));
  if (!value.onHost)
    value.spec.seed += device;
  return value;
}

void SimulatedKernel::addBuffer(const std::string &name, const Value &value, unsigned device) {
  std::vector<size_t> &indices = byName[name];
  if (value.onHost && device > 0) {
    if (indices.empty() || buffers[indices[0]].device != -1)
      throw inputError(fmt::format("buffer `{}` is on the host for device {}, and not for device 0", name, device));
    return indices.push_back(indices[0]);
  }
  const BufferSpec &spec = value.spec;
  SimulatedBuffer made;
  made.base = name;
  made.device = request.devices > 1 && !value.onHost ? int(device) : -1;
  made.placement = value.placement;
  Array &array = made.array;
  array.name = made.device < 0 ? name : fmt::format("{}@{}", name, device);
  if (spec.kind == BufferSpec::Kind::File) {
    NpyArray file = readNpy(spec.path);
    array.type = typeOfDtype(file.dtype, spec.path);
    array.dtype = file.dtype;
    array.shape = std::move(file.shape);
    array.bytes = std::move(file.bytes);
    made.sizeBytes = array.bytes.size();
  } else {
    array.type = spec.type;
    array.dtype = numpyDtype(spec.type);
    array.shape = spec.shape;
    made.sizeBytes = uint64_t(spec.sizeBytes());
    made.isInitialised = value.isInitialised;
    if (spec.kind == BufferSpec::Kind::Random)
      array.bytes = materialize(spec);
  }
  indices.push_back(buffers.size());
  buffers.push_back(std::move(made));
  pointerNames.push_back(spec.names);
}

void SimulatedKernel::putBytes(const AmdArgument &argument, const void *bytes, uint64_t size, unsigned device) {
  std::memcpy(segments[device].data() + argument.offset, bytes, std::min(size, argument.sizeBytes));
}

void SimulatedKernel::putScalar(size_t position, const Value &value, unsigned device) {
  const AmdArgument &argument = *arguments[position];
  if (isLdsSize(argument)) { // behind the LDS of the kernel and of earlier arguments
    uint64_t offset = alignUp(kernel.groupBytes + dynamicLds[device], argument.pointeeAlignment);
    uint32_t address = uint32_t(offset);
    dynamicLds[device] = offset - kernel.groupBytes + parseScalar(ElementType::UI32, value.spec.text);
    putBytes(argument, &address, sizeof address, device);
    return;
  }
  uint64_t bits = parseScalar(scalarType(argument, value.spec.text), value.spec.text);
  putBytes(argument, &bits, sizeof bits, device);
}

void SimulatedKernel::prepare(size_t position, const Value &value, unsigned device) {
  const AmdArgument &argument = *arguments[position];
  std::string name = nameOf(position);
  if (value.spec.kind == BufferSpec::Kind::Scalar) {
    if (argument.isBuffer())
      throw inputError(fmt::format("argument `{}` is a pointer, but `{}` is not a buffer", name, value.text),
                       {"a buffer is `@file.npy`, `f32[64,128]` (zeros), `rand:f32[64,128]:SEED` or `ptrs:A,B`"});
    return within(name, [&] { putScalar(position, value, device); });
  }
  if (isLdsSize(argument))
    throw inputError(fmt::format("argument `{}` is a number of bytes of LDS, but `{}` is a buffer", name, value.text));
  if (takesAddress(argument)) {
    addBuffer(name, value, device);
    addresses[device].push_back({argument.offset, byName[name].back()});
    return;
  }
  if (value.spec.kind != BufferSpec::Kind::File)
    throw inputError(fmt::format("argument `{}` has {} bytes by value, but `{}` is a buffer of {} bytes", name,
                                 argument.sizeBytes, value.text, value.spec.sizeBytes()),
                     {"give a number, or its bytes as `@file.npy`"});
  NpyArray file = readNpy(value.spec.path);
  if (file.bytes.size() != argument.sizeBytes)
    throw inputError(fmt::format("argument `{}` has {} bytes, and `{}` has {}", name, argument.sizeBytes, value.text,
                                 file.bytes.size()));
  putBytes(argument, file.bytes.data(), file.bytes.size(), device);
}

std::vector<size_t> SimulatedKernel::buffersNamed(const std::string &name, const char *option) const {
  Target target = targetOf(name, option);
  auto found = byName.find(target.name);
  if (found != byName.end()) {
    std::vector<size_t> indices = found->second;
    if (target.device && buffers[indices[0]].device >= 0)
      std::erase_if(indices, [&](size_t index) { return buffers[index].device != int(*target.device); });
    indices.erase(std::unique(indices.begin(), indices.end()), indices.end()); // one on the host is there for all
    if (!indices.empty())
      return indices;
  }
  std::vector<std::string> known, notes;
  for (const auto &[other, unused] : byName)
    known.push_back(other);
  if (std::string close = closestName(target.name, known); !close.empty())
    notes.push_back(fmt::format("the closest buffer is `{}`", close));
  notes.push_back(known.empty() ? "there is no buffer" : fmt::format("the buffers are {}", fmt::join(known, ", ")));
  throw inputError(fmt::format("there is no buffer `{}`", name), notes);
}

/// A table has an entry for each buffer of a name: with several devices, one for each device.
void SimulatedKernel::resolvePointers() {
  for (size_t i = 0; i < buffers.size(); ++i) {
    SimulatedBuffer &table = buffers[i];
    for (const std::string &name : pointerNames[i])
      for (size_t index : buffersNamed(name, "ptrs:"))
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
std::vector<uint64_t> SimulatedKernel::placeBuffers(Simulator &simulator) const {
  std::vector<uint64_t> places;
  for (const SimulatedBuffer &buffer : buffers) {
    bool onHost = buffer.device < 0 && request.devices > 1;
    int owner = onHost ? hostOwner : std::max(buffer.device, 0);
    places.push_back(simulator.allocate(buffer.sizeBytes, buffer.array.name, owner, buffer.placement));
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
  if (!allocation || !allocation->unwritten || allocation->unwritten->firstStore.empty())
    return stores;
  stores.first = allocation->unwritten->firstStore;
  stores.bytes.resize(allocation->sizeBytes);
  for (size_t i = 0; i < stores.bytes.size(); ++i)
    stores.bytes[i] = allocation->unwritten->at(i) == UnwrittenBytes::Copied;
  return stores;
}

const AmdArgument *SimulatedKernel::findRecord() const {
  for (const AmdArgument *argument : arguments)
    if (argument->name == amdRecordName)
      return argument;
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
      outcome.report.error = Error(ErrorClass::WrongResult, error.what(), error.notes);
      outcome.report.isEndless = false;
      return;
    }
  }
}

KernelOutcome SimulatedKernel::run(const AmdCodeObject &code, const SimulationOptions &given, const Tracer &tracer,
                                   const std::vector<bool> &wanted) const {
  Simulator simulator(code.chip, request.devices);
  LoadedObject &loaded = simulator.load(code);
  std::vector<uint64_t> places = placeBuffers(simulator);
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
      std::memcpy(segment.data() + address.offset, &places[address.buffer], 8);
    if (record) {
      records.push_back(simulator.allocate(uint64_t(launchRecordBytes), "the launch's record", int(device)));
      std::memcpy(segment.data() + record->offset, &records.back(), sizeof(uint64_t));
    }
    runs.push_back(simulator.prepare(loaded, entry, geometry, segment, device, options));
  }
  KernelOutcome outcome;
  double begin = processorSeconds(options.threads > 1);
  outcome.report = simulator.run(runs, options);
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

std::string SimulatedKernel::withSources(const std::string &text) const {
  static const std::regex place("pc 0x([0-9a-f]+)");
  std::string result;
  auto last = text.begin();
  for (std::sregex_iterator match(text.begin(), text.end(), place), end; match != end; ++match) {
    result.append(last, text.begin() + match->position() + match->length());
    last = text.begin() + match->position() + match->length();
    if (std::string source = lines.at(std::stoull((*match)[1].str(), nullptr, 16), true); !source.empty())
      result += " (" + source + ")";
  }
  return result.append(last, text.end());
}

Error SimulatedKernel::withSources(const Error &error) const {
  Error changed = error;
  for (std::string &note : changed.notes)
    note = withSources(note);
  return changed;
}

} // namespace heddle
