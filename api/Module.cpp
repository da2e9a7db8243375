// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Gives each rank its arrays by name, runs a module on all ranks, and describes its launches.
#include "api/Module.h"
#include "api/Binding.h"
#include "api/CollectiveTiming.h"
#include "api/Sharing.h"
#include "chips/Chip.h"
#include "collectives/Algorithm.h"
#include "frontend/hlo/Literal.h"
#include "frontend/hlo/Parser.h"
#include "program/Kernels.h"
#include "program/NarrowTypes.h"
#include "program/Program.h"
#include "program/QuantisedSum.h"
#include "program/Types.h"
#include "runtime/Driver.h"
#include "runtime/ProcessGroup.h"
#include "runtime/Stream.h"
#include "support/File.h"
#include "support/Npy.h"
#include "support/Suggest.h"
#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstring>
#include <fmt/format.h>
#include <map>
#include <memory>
#include <set>

namespace heddle {
namespace {

using program::ArrayBytes;

/// One array of a parameter; a parameter that is a tuple has several.
struct Parameter {
  std::string name; ///< of the instruction
  size_t number;    ///< among all arrays
  hlo::Shape shape;
};

void appendArrays(const std::string &name, const hlo::Shape &shape, std::vector<Parameter> &parameters) {
  if (shape.isArray())
    parameters.push_back({name, parameters.size(), program::arrayOf(shape)});
  for (size_t i = 0; i < shape.elements.size(); ++i)
    appendArrays(fmt::format("{}.{}", name, i), shape.elements[i], parameters);
}

std::vector<Parameter> parametersOf(const hlo::Module &module) {
  std::vector<Parameter> parameters;
  const hlo::Computation &entry = module.entryComputation();
  for (size_t i = 0; i < entry.parameters.size(); ++i)
    appendArrays(entry.parameter(i).name, entry.parameter(i).shape, parameters);
  return parameters;
}

/// `NAME@RANK` or `NAME`.
struct Target {
  std::string name;
  int rank = -1; ///< -1: every rank
};

Target parseTarget(const std::string &text, int ranks) {
  size_t at = text.rfind('@');
  if (at == std::string::npos)
    return {text};
  Target target{text.substr(0, at), -1};
  const char *begin = text.data() + at + 1, *end = text.data() + text.size();
  auto [stop, status] = std::from_chars(begin, end, target.rank);
  if (status != std::errc() || stop != end || target.rank < 0 || target.rank >= ranks)
    throw ArgumentError(
        fmt::format("parameter `{}`: `{}` is no rank; there are ranks 0 to {}", text, text.substr(at + 1), ranks - 1));
  return target;
}

class ModuleRun {
public:
  explicit ModuleRun(const ModuleRequest &request) : request(request) {
    std::string text = readKernelText(request.path);
    hlo::ParseOptions options;
    options.deviceCount = request.devices;
    if (request.processes) {
      bootstrap = makeBootstrap(*request.processes);
      options.deviceCount = bootstrap->size();
    }
    module = hlo::parseModule(text, sourceName(request.path), options);
    int64_t count = module.deviceCount();
    if (request.devices && request.devices != count)
      throw inputError(
          fmt::format("module `{}` is for {} devices ({} x {}: replicas and partitions), `--devices {}` asks "
                      "for others",
                      module.name, count, module.replicaCount, module.partitionCount, request.devices),
          {"leave `--devices` out, or change the module's header"});
    std::string driver = driverNameOf(request.device);
    if (driver != request.device)
      throw inputError(fmt::format("`--device {}` is one device; a module wants a driver, as in `--device {}`",
                                   request.device, driver));
    parameters = parametersOf(module);
    if (bootstrap)
      program::requireProcesses(module, bootstrap->size());
    first = bootstrap ? size_t(bootstrap->rank()) : 0;
    ranksHere = bootstrap ? 1 : size_t(count);
  }

  void open() {
    if (bootstrap) {
      auto device = openDeviceOfRank(request.device, bootstrap->rank());
      processes = std::make_shared<ProcessGroup>(*bootstrap, device);
      devices = {device};
      return;
    }
    for (int64_t rank = 0; rank < module.deviceCount(); ++rank)
      devices.push_back(openDevice(fmt::format("{}:{}", request.device, rank)));
  }

  program::ProgramOptions options() const {
    program::ProgramOptions options;
    options.partition.fuseCollectives = request.fuse;
    options.algorithm = request.algorithm;
    if (!request.quantise.empty() && request.quantise != "fp8")
      throw inputError(fmt::format("quantise as `{}`: only `fp8` is known", request.quantise));
    options.quantisesSums = !request.quantise.empty();
    options.matmuls = program::parseMatmulFusion(request.matmuls);
    if (!request.fuse && options.matmuls == program::MatmulFusion::Fused)
      throw inputError("`--no-fuse` and `--matmuls fused` exclude each other");
    if (request.timeoutSeconds > 0)
      options.deadlineSeconds = options.limitSeconds = request.timeoutSeconds;
    options.progress = request.progress;
    if (!request.algorithm.empty())
      checkAlgorithm();
    return options;
  }

  std::vector<std::vector<ArrayBytes>> inputs(ModuleResult &result) const {
    auto ranks = size_t(module.deviceCount());
    std::vector<std::vector<ArrayBytes>> all(ranksHere);
    std::vector<bool> used(request.arguments.size());
    std::map<size_t, std::vector<size_t>> missing; // ranks by parameter
    for (size_t rank = 0; rank < ranks; ++rank)
      for (const Parameter &parameter : parameters) {
        const NamedValue *value = nullptr;
        bool special = false;
        for (size_t i = 0; i < request.arguments.size(); ++i) {
          Target target = parseTarget(request.arguments[i].name, int(ranks));
          bool named = target.name == parameter.name || target.name == fmt::format("p{}", parameter.number);
          if (!named)
            continue;
          used[i] = true;
          bool forThis = target.rank < 0 || size_t(target.rank) == rank;
          if (forThis && (!value || (target.rank >= 0 && !special))) {
            value = &request.arguments[i];
            special = target.rank >= 0;
          } else if (forThis && (target.rank >= 0) == special) {
            throw ArgumentError(fmt::format("parameter `{}` is given twice: `{}` and `{}`", request.arguments[i].name,
                                            value->value, request.arguments[i].value));
          }
        }
        if (size_t local = rank - first; local < ranksHere)
          all[local].push_back({parameter.shape, bytesOf(parameter, value, rank)});
        if (!value)
          missing[parameter.number].push_back(rank);
      }
    for (size_t i = 0; i < used.size(); ++i)
      if (!used[i])
        refuseName(request.arguments[i].name);
    for (const auto &[number, those] : missing) {
      std::string where = those.size() == ranks ? "" : fmt::format(" on rank {}", fmt::join(those, ", "));
      result.notes.push_back(fmt::format("parameter `{}` ({}) is random{}, with seed {} + rank",
                                         parameters[number].name, hlo::formatShapePlain(parameters[number].shape),
                                         where, 1000 * number));
    }
    return all;
  }

  const ModuleRequest &request;
  hlo::Module module;
  std::vector<std::shared_ptr<Device>> devices; ///< of this process
  size_t first = 0, ranksHere = 0;              ///< the rank of devices[0], and how many there are
  std::unique_ptr<Bootstrap> bootstrap;         ///< of processes, as what follows
  std::shared_ptr<ProcessGroup> processes;
  std::vector<Parameter> parameters;

private:
  // Plans may choose an algorithm that reaches into plain buffers; who names one wants a kernel that fuses code.
  void checkAlgorithm() const {
    std::set<CollectiveKind> kinds;
    for (const hlo::Computation &computation : module.computations)
      for (const hlo::Instruction &instruction : computation.instructions)
        if (!request.quantise.empty() && program::canQuantise(module, instruction)) {
          kinds.insert(CollectiveKind::AllGather);
          if (program::exchangesParts(module, instruction))
            kinds.insert(CollectiveKind::AllToAll);
        } else if (std::optional<CollectiveKind> kind = program::kindOf(instruction.opcode)) {
          kinds.insert(*kind);
        }
    std::vector<std::string> notes;
    for (CollectiveKind kind : kinds) {
      std::vector<std::string> names;
      for (const Algorithm *algorithm : allAlgorithms()) {
        if (!algorithm->does(kind) || algorithm->direct)
          continue;
        if (algorithm->name == request.algorithm)
          return;
        names.push_back(algorithm->name);
      }
      notes.push_back(fmt::format("its {} can be {}", collectiveName(kind), fmt::join(names, ", ")));
    }
    if (notes.empty())
      notes.push_back("it has no collectives");
    throw inputError(
        fmt::format("module `{}` has no collective for the algorithm `{}`", module.name, request.algorithm), notes);
  }

  [[noreturn]] void refuseName(const std::string &text) const {
    std::vector<std::string> names, described;
    for (const Parameter &parameter : parameters) {
      names.push_back(parameter.name);
      described.push_back(
          fmt::format("p{} = {}: {}", parameter.number, parameter.name, hlo::formatShapePlain(parameter.shape)));
    }
    std::string name = text.substr(0, text.rfind('@'));
    std::vector<std::string> notes = {described.empty()
                                          ? std::string("it has none")
                                          : fmt::format("the parameters are {}", fmt::join(described, ", "))};
    if (std::string close = closestName(name, names); !close.empty())
      notes.insert(notes.begin(), fmt::format("the closest parameter is `{}`", close));
    throw ArgumentError(fmt::format("module `{}` has no parameter `{}`", module.name, name), notes);
  }

  std::string randomBytes(const Parameter &parameter, uint64_t seed) const {
    BufferSpec spec;
    spec.kind = BufferSpec::Kind::Random;
    spec.text = fmt::format("parameter `{}`", parameter.name);
    spec.type = *program::bufferType(parameter.shape.type);
    spec.shape = parameter.shape.dimensions;
    spec.seed = seed;
    hlo::DType type = parameter.shape.type;
    if (!program::isNarrow(type))
      return materialize(spec);
    const hlo::SmallFloat *format = hlo::findSmallFloat(type);
    spec.type = format ? ElementType::F32 : *program::bufferType(type);
    std::string bytes = materialize(spec), narrow;
    if (!format) { // as narrow ones wrap
      int unused = 8 - hlo::bitWidth(type);
      for (char byte : bytes)
        narrow +=
            char(hlo::isSignedInteger(type) ? int8_t(byte << unused) >> unused : uint8_t(byte << unused) >> unused);
      return narrow;
    }
    for (size_t at = 0; at < bytes.size(); at += sizeof(float)) {
      double value = loadDouble(ElementType::F32, &bytes[at]);
      narrow += char(hlo::nearestCode(*format, format->hasSign ? value : std::fabs(value)));
    }
    return narrow;
  }

  uint64_t scalarBits(const Parameter &parameter, const std::string &text) const {
    hlo::DType type = parameter.shape.type;
    if (!program::isNarrow(type))
      return parseScalar(*program::bufferType(type), text);
    std::string bytes; // a byte, by the rules of constants
    hlo::appendElement(type, text, bytes);
    return uint8_t(bytes[0]);
  }

  void checkShape(const Parameter &parameter, const NamedValue &value, const std::string &given,
                  const std::vector<int64_t> &shape, bool typeAgrees) const {
    if (typeAgrees && shape == parameter.shape.dimensions)
      return;
    throw ArgumentError(fmt::format("`{}={}` is {}{}, parameter `{}` is {}", value.name, value.value, given,
                                    formatShape(shape), parameter.name, hlo::formatShapePlain(parameter.shape)));
  }

  std::string bytesOf(const Parameter &parameter, const NamedValue *value, size_t rank) const {
    std::optional<ElementType> type = program::bufferType(parameter.shape.type);
    if (!type)
      return ""; // the program refuses the type, with its place
    if (!value)
      return randomBytes(parameter, 1000 * parameter.number + rank);
    const std::string &text = value->value;
    uint64_t seed = 0;
    if (text.starts_with("rand:")) {
      auto [stop, status] = std::from_chars(text.data() + 5, text.data() + text.size(), seed);
      if (status == std::errc() && stop == text.data() + text.size())
        return randomBytes(parameter, seed + rank);
    }
    BufferSpec spec = parseBufferSpec(text);
    int64_t count = parameter.shape.elementCount();
    switch (spec.kind) {
    case BufferSpec::Kind::File: {
      NpyArray file = readNpy(spec.path);
      checkShape(parameter, *value, file.dtype, file.shape, file.dtype == numpyDtype(*type));
      return file.bytes;
    }
    case BufferSpec::Kind::Zeros:
    case BufferSpec::Kind::Random:
      checkShape(parameter, *value, elementTypeName(spec.type), spec.shape, spec.type == *type);
      return materialize(spec);
    case BufferSpec::Kind::Scalar: {
      uint64_t bits = within(parameter.name, [&] { return scalarBits(parameter, text); }, "parameter");
      BufferSpec all; // which there may be no memory for
      all.kind = BufferSpec::Kind::Zeros, all.type = *type, all.shape = {count};
      all.text = fmt::format("{}={}", value->name, text);
      std::string bytes = materialize(all);
      for (size_t at = 0, size = size_t(elementSizeBytes(*type)); at < bytes.size(); at += size)
        std::memcpy(&bytes[at], &bits, size);
      return bytes;
    }
    case BufferSpec::Kind::Pointers:
      break;
    }
    throw ArgumentError(fmt::format("parameter `{}`: `{}` are addresses, and a module takes none", value->name, text));
  }
};

std::string describeShape(const std::string &name, const hlo::Shape &shape) {
  return fmt::format("{}: {}", name, hlo::formatShapePlain(shape));
}

} // namespace

bool isModuleFile(const std::string &path) {
  if (path.ends_with(".hlo"))
    return true;
  if (path.empty() || path.ends_with(".ttir") || path.ends_with(".ttgir") || path.ends_with(".hpkg"))
    return false;
  std::string text;
  try {
    text = readKernelFile(path).bytes;
  } catch (const Error &) { // the reader of the file will say what is wrong with it
    return false;
  }
  for (size_t at = 0; at < text.size();) {
    at = text.find_first_not_of(" \t\r\n", at);
    if (at == std::string::npos)
      return false;
    if (text.compare(at, 2, "//") != 0)
      return text.compare(at, 10, "HloModule ") == 0;
    at = std::min(text.find('\n', at), text.size());
  }
  return false;
}

/// What every rank gave, of any length. Collective.
static std::vector<std::string> gatherLong(ProcessGroup &processes, const std::string &mine) {
  constexpr size_t piece = 32 << 10;
  std::vector<std::string> texts(size_t(processes.ranks()));
  size_t most = 0;
  for (const std::string &size : processes.agree([&] { return std::to_string(mine.size()); }))
    most = std::max(most, size_t(std::strtoull(size.c_str(), nullptr, 10)));
  for (size_t at = 0; at < most; at += piece) {
    std::string part = at < mine.size() ? mine.substr(at, piece) : "";
    auto messages = processes.neighbours().exchange(part, {}, processes.stepSeconds());
    for (size_t rank = 0; rank < texts.size(); ++rank)
      texts[rank] += messages[rank].bytes;
  }
  return texts;
}

/// Those of all ranks from those of this one, and the slowest rank's times.
static void gatherResults(ProcessGroup &processes, std::vector<std::vector<ArrayBytes>> &outputs,
                          std::vector<double> &milliseconds) {
  std::vector<ArrayBytes> own = std::move(outputs.front());
  outputs.assign(size_t(processes.ranks()), own);
  for (size_t i = 0; i < own.size(); ++i) {
    std::vector<std::string> all = gatherLong(processes, own[i].bytes);
    for (size_t rank = 0; rank < all.size(); ++rank)
      outputs[rank][i].bytes = std::move(all[rank]);
  }
  takeSlowest([&](const std::string &mine) { return gatherLong(processes, mine); }, milliseconds);
}

static std::unique_ptr<program::Program> makeProgram(const ModuleRun &run) {
  if (run.processes)
    return std::make_unique<program::Program>(run.module, run.processes, run.options());
  return std::make_unique<program::Program>(run.module, run.devices, run.options());
}

static std::vector<std::vector<ArrayBytes>>
runOften(const ModuleRun &run, const std::vector<std::vector<ArrayBytes>> &inputs, ModuleResult &result) {
  const ModuleRequest &request = run.request;
  auto program = makeProgram(run);
  std::vector<std::vector<ArrayBytes>> outputs = program->run(inputs);
  for (int i = 0; i < request.warmup; ++i)
    program->run(inputs);
  for (int i = 0; i < request.repeat; ++i) {
    auto start = std::chrono::steady_clock::now();
    program->run(inputs);
    result.milliseconds.push_back(
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
  }
  if (run.processes)
    gatherResults(*run.processes, outputs, result.milliseconds);
  return outputs;
}

/// The other ranks hear why. Throws what another one has told before, which may be the reason here.
static void tellOthers(ProcessGroup &processes, const Error &error) {
  processes.neighbours().abort(error.what());
  auto failure = processes.neighbours().failure();
  if (error.kind == ErrorClass::Environment && failure && failure->rank != processes.rank())
    throw *processes.neighbours().failureError();
}

ModuleResult runModule(const ModuleRequest &request) {
  ModuleRun run(request);
  ModuleResult result;
  result.module = run.module.name;
  result.warnings = run.module.warnings;
  result.rank = int(run.first);
  // What is wrong with the request is an error of each rank's own, before there is a group that it could end.
  (void)run.options();
  std::vector<std::vector<ArrayBytes>> inputs = run.inputs(result), outputs;
  run.open();
  try {
    outputs = runOften(run, inputs, result);
  } catch (const Error &error) {
    if (run.processes)
      tellOthers(*run.processes, error);
    throw;
  }
  for (std::vector<ArrayBytes> &rank : outputs) {
    result.results.emplace_back();
    for (size_t i = 0; i < rank.size(); ++i) {
      ElementType type = *program::bufferType(rank[i].shape.type);
      result.results.back().push_back(
          {std::to_string(i), type, numpyDtype(type), rank[i].shape.dimensions, std::move(rank[i].bytes)});
    }
  }
  return result;
}

static CollectiveCalls callsOf(program::Program &program) {
  CollectiveCalls calls;
  for (const auto &device : program.devices())
    calls.devices.push_back(device.get());
  calls.streams = program.streams();
  calls.launch = [&program] { program.launch(); };
  calls.finish = [&program] { program.finish(); };
  return calls;
}

static void compareBits(const std::vector<std::vector<ArrayBytes>> &one,
                        const std::vector<std::vector<ArrayBytes>> &other, ModuleBenchmark &result) {
  for (size_t rank = 0; rank < one.size(); ++rank)
    for (size_t i = 0; i < one[rank].size(); ++i) {
      const ArrayBytes &array = one[rank][i];
      auto size = size_t(elementSizeBytes(*program::bufferType(array.shape.type)));
      for (size_t at = 0; at < array.bytes.size(); at += size) {
        if (array.bytes.compare(at, size, other[rank][i].bytes, at, size) == 0)
          continue;
        if (result.different++ == 0)
          result.firstDifferent = fmt::format("rank {}, result {}, element {}", rank, i, at / size);
      }
    }
}

ModuleBenchmark benchmarkModule(const ModuleRequest &request, const BenchmarkRequest &timing) {
  ModuleRun run(request);
  run.open();
  ModuleResult notes;
  std::vector<std::vector<ArrayBytes>> inputs = run.inputs(notes);
  program::ProgramOptions options = run.options(), plain = options;
  plain.quantisesSums = false;
  plain.partition.fuseCollectives = false;
  plain.algorithm.clear();
  // Both before anything runs: a device may let an allocation wait for kernels that are running.
  program::Program fused(run.module, run.devices, options), separate(run.module, run.devices, plain);
  if (fused.hasLoops() && timing.graphReplays)
    throw inputError(
        fmt::format("module `{}` has a loop, whose trips the host counts: it cannot be captured in a graph",
                    run.module.name),
        {"leave `--cudagraph` out"});
  ModuleBenchmark result;
  result.module = run.module.name;
  result.description = run.devices[0]->description();
  for (const auto &device : run.devices)
    result.devices.push_back(device->name());
  for (const program::StepDescription &step : fused.describe())
    if (!step.algorithm.empty())
      result.algorithms.push_back(step.algorithm);
  std::vector<std::vector<ArrayBytes>> first = fused.run(inputs), second = separate.run(inputs);
  for (auto [side, program] : {std::pair(&result.fused, &fused), std::pair(&result.separate, &separate)}) {
    side->launches = program->launches();
    side->times = timeCollective(callsOf(*program), timing);
  }
  if (timing.checks && !options.quantisesSums) // whose results differ
    compareBits(first, second, result);
  return result;
}

ModuleDescription describeModule(const ModuleRequest &request) {
  ModuleRun run(request);
  ModuleDescription description;
  description.module = run.module.name;
  description.replicas = run.module.replicaCount;
  description.partitions = run.module.partitionCount;
  for (const Parameter &parameter : run.parameters)
    description.parameters.push_back(describeShape(parameter.name, parameter.shape));
  auto program = std::make_unique<program::Program>(run.module, chipOfDriver(request.device), run.options());
  std::vector<hlo::Shape> results = program->resultShapes();
  for (size_t i = 0; i < results.size(); ++i)
    description.results.push_back(describeShape(std::to_string(i), results[i]));
  using Packages = program::Program::Packages;
  for (program::StepDescription &step : program->describe(request.assembly ? Packages::With : Packages::Without)) {
    std::string assembly = step.package ? disassemblePackage(*step.package).text : "";
    description.steps.push_back(
        {step.kind, step.name, step.shape, step.plan, step.groups, step.text, assembly, step.fused, step.depth});
  }
  return description;
}

} // namespace heddle
