// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A run from beginning to end: values by name to buffers and scalars, launches, results back.
#include "api/Binding.h"
#include "api/Heddle.h"
#include "binary/AmdCodeObject.h"
#include "chips/Chip.h"
#include "runtime/Driver.h"
#include "runtime/Event.h"
#include "runtime/Stream.h"
#include "support/Npy.h"
#include "support/SystemMemory.h"
#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <map>
#include <optional>

namespace heddle {
namespace {

std::string describeArgument(const PackageArgument &argument) {
  return fmt::format("{}: {}{}", argument.name, argument.pointer ? "pointer to " : "", argument.type);
}

std::vector<std::string> argumentNotes(const Package &package) {
  return {fmt::format("the arguments of `{}` are {}", package.kernel, describeArguments(package))};
}

/// One named buffer: its contents here, its memory there.
struct NamedBuffer : BoundBuffer {
  Buffer memory;
};

/// Room for a result.
std::string zeros(const std::string &name, uint64_t sizeBytes) {
  try {
    return std::string(sizeBytes, '\0');
  } catch (const std::exception &) {
    throw environmentError(fmt::format("out of memory: the contents of `{}` take {} bytes, {} are available", name,
                                       sizeBytes, availableMemoryBytes()));
  }
}

class Run {
public:
  Run(const Package &package, const RunRequest &request)
      : package(package), request(request), device(openDevice(request.device)) {}

  RunResult execute();

private:
  void checkNames();
  void checkOutputs();
  void prepareArgument(const PackageArgument &argument, const std::string &value);
  void prepareScalar(const PackageArgument &argument, const BufferSpec &spec);
  void addBuffer(const std::string &name, const BufferSpec &spec, const PackageArgument *argument);
  void allocateAll();
  void uploadAll(Stream &stream);
  Launch makeLaunch();
  const std::string *valueOf(const std::string &name) const;
  NamedBuffer &buffer(const std::string &name, const std::string &reason);

  const Package &package;
  const RunRequest &request;
  std::shared_ptr<Device> device;
  std::map<std::string, NamedBuffer> buffers;
  std::map<std::string, uint64_t> scalars;
};

const std::string *Run::valueOf(const std::string &name) const {
  for (const NamedValue &given : request.arguments)
    if (given.name == name)
      return &given.value;
  return nullptr;
}

void Run::checkNames() {
  checkRepeated(request.arguments, "argument");
  checkRepeated(request.buffers, "buffer");
  std::vector<std::string> known;
  for (const PackageArgument &argument : package.arguments)
    known.push_back(argument.name);
  for (const NamedValue &given : request.arguments)
    if (std::find(known.begin(), known.end(), given.name) == known.end()) {
      std::vector<std::string> notes = argumentNotes(package);
      notes.push_back("an integer argument that was 1, or a constant, when the kernel was made is built into it");
      throw noArgument(package.kernel, given.name, known, notes);
    }
  std::vector<std::string> missing;
  for (const PackageArgument &argument : package.arguments)
    if (!valueOf(argument.name))
      missing.push_back(argument.name);
  if (!missing.empty())
    throw missingArguments(package.kernel, missing, argumentNotes(package));
  for (const NamedValue &given : request.buffers)
    if (std::find(known.begin(), known.end(), given.name) != known.end())
      throw notAnOwnName(given.name, given.name, package.kernel);
}

void Run::checkOutputs() {
  for (const std::string &name : request.outputs)
    buffer(name, "outputs are buffers");
}

NamedBuffer &Run::buffer(const std::string &name, const std::string &reason) {
  auto found = buffers.find(name);
  if (found != buffers.end())
    return found->second;
  std::vector<std::string> known;
  for (const auto &[other, unused] : buffers)
    known.push_back(other);
  ArgumentError error = noBuffer(name, known, reason);
  if (scalars.count(name))
    throw ArgumentError(fmt::format("`{}` is a scalar, not a buffer", name), error.notes);
  throw error;
}

void Run::prepareScalar(const PackageArgument &argument, const BufferSpec &spec) {
  if (spec.kind != BufferSpec::Kind::Scalar)
    throw ArgumentError(fmt::format("argument `{}` is a scalar of type {}, but `{}` is a buffer", argument.name,
                                    argument.type, spec.text),
                        {"give a number"});
  scalars[argument.name] =
      within(argument.name, [&] { return parseScalar(parseElementType(argument.type), spec.text); });
}

/// `argument` is null for a buffer beside the arguments.
void Run::addBuffer(const std::string &name, const BufferSpec &spec, const PackageArgument *argument) {
  if (spec.kind == BufferSpec::Kind::Scalar)
    throw ArgumentError(argument ? fmt::format("argument `{}` is a pointer to {}, but `{}` is not a buffer", name,
                                               argument->type, spec.text)
                                 : fmt::format("buffer `{}`: `{}` is not a buffer", name, spec.text),
                        {formsOfBuffers});
  buffers[name] = NamedBuffer{argument ? bindBuffer(*argument, spec) : makeBuffer(name, spec), {}};
}

void Run::prepareArgument(const PackageArgument &argument, const std::string &value) {
  BufferSpec spec = within(argument.name, [&] { return parseBufferSpec(value); });
  if (argument.pointer)
    addBuffer(argument.name, spec, &argument);
  else
    prepareScalar(argument, spec);
}

void Run::allocateAll() {
  for (auto &[name, entry] : buffers)
    entry.memory = device->allocate(entry.sizeBytes, name);
  for (auto &[name, entry] : buffers) {
    if (!entry.pointers.empty())
      entry.array.bytes.resize(entry.sizeBytes);
    for (size_t i = 0; i < entry.pointers.size(); ++i) {
      uint64_t address = buffer(entry.pointers[i], fmt::format("`{}` asks for its address", name)).memory.address();
      std::memcpy(entry.array.bytes.data() + i * sizeof address, &address, sizeof address);
    }
  }
}

void Run::uploadAll(Stream &stream) {
  for (auto &[name, entry] : buffers)
    if (!entry.array.bytes.empty())
      stream.copyToDevice(entry.memory, entry.array.bytes.data());
    else if (entry.sizeBytes > 0)
      stream.fill(entry.memory, 0);
}

Launch Run::makeLaunch() {
  Launch launch;
  launch.kernel = Kernel{device->loadModule(package)};
  launch.grid = request.grid;
  launch.cooperative = request.cooperative;
  launch.timeoutSeconds = request.timeoutSeconds;
  for (const PackageArgument &argument : package.arguments)
    if (argument.pointer)
      launch.arguments.push_back(DeviceAddress(buffers[argument.name].memory));
    else
      launch.arguments.push_back(ScalarBits{scalars[argument.name]});
  return launch;
}

RunResult Run::execute() {
  checkNames();
  for (const PackageArgument &argument : package.arguments)
    prepareArgument(argument, *valueOf(argument.name));
  for (const NamedValue &given : request.buffers)
    addBuffer(given.name, within(given.name, [&] { return parseBufferSpec(given.value); }, "buffer"), nullptr);
  checkOutputs();
  allocateAll();
  Launch launch = makeLaunch();
  checkLaunch(launch);

  std::unique_ptr<Stream> stream = device->createStream();
  uploadAll(*stream);
  stream->launch(launch);
  RunResult result;
  for (const std::string &name : request.outputs) {
    const NamedBuffer &source = buffers[name];
    const Array &array = source.array;
    result.outputs.push_back({name, array.type, array.dtype, array.shape, zeros(name, source.sizeBytes)});
  }
  for (Array &output : result.outputs)
    if (!output.bytes.empty())
      stream->copyToHost(output.bytes.data(), buffers[output.name].memory);
  stream->synchronize();

  for (int i = 0; i < request.warmup; ++i)
    stream->launch(launch);
  std::vector<std::shared_ptr<Event>> marks;
  for (int i = 0; i <= request.repeat && request.repeat > 0; ++i) {
    if (i > 0)
      stream->launch(launch);
    marks.push_back(device->createEvent());
    stream->record(marks.back());
  }
  stream->synchronize();
  for (size_t i = 1; i < marks.size(); ++i)
    result.milliseconds.push_back(marks[i]->millisecondsSince(*marks[i - 1]));
  return result;
}

} // namespace

std::string describeArguments(const Package &package) {
  std::vector<std::string> texts;
  for (const PackageArgument &argument : package.arguments)
    texts.push_back(describeArgument(argument));
  return texts.empty() ? "none" : fmt::format("{}", fmt::join(texts, ", "));
}

NamedValue parseNamedValue(const std::string &text, const std::string &option) {
  size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size())
    throw inputError(fmt::format("`{} {}` is not NAME=VALUE", option, text));
  return {text.substr(0, equals), text.substr(equals + 1)};
}

std::string deviceTarget(const std::string &device) {
  return openDevice(device)->chip().name;
}

std::string defaultDevice(const std::string &path) {
  KernelFile file = readAnyKernelFile(path);
  std::string name = sourceName(path), target;
  if (file.isElf) {
    const Chip *chip = findSimulated(parseAmdCodeObject(file.bytes, name).chip);
    target = chip ? chip->name : "";
  } else {
    target = file.isPackage ? Package::parse(file.bytes, name).target : targetOfText(file.bytes, "");
  }
  for (const Chip *chip : allChips())
    if (chip->name == target && chip->simulated != InstructionSet::None)
      return "sim:" + target;
    else if (chip->name == target && chip->vendor == Vendor::Nvidia)
      return "cuda:0";
  return "host"; // also for a target that does not exist, of which the device will speak
}

RunResult runKernel(const Package &package, const RunRequest &request) {
  if (package.peers)
    throw inputError(
        fmt::format("kernel `{}` works with other devices, and a run has one", package.kernel),
        {"docs/peer.md says how it is launched from C++; collectives run with `heddle bench`, modules with "
         "`heddle run M.hlo`"});
  return Run(package, request).execute();
}

} // namespace heddle
