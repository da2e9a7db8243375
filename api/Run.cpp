// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A run from beginning to end: values by name to buffers and scalars, launches, results back.
#include "api/Heddle.h"
#include "api/Values.h"
#include "chips/Chip.h"
#include "runtime/Driver.h"
#include "runtime/Event.h"
#include "runtime/Stream.h"
#include "support/Npy.h"
#include "support/Suggest.h"
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

/// What a pointer's buffer holds; none when the pointee is itself a pointer.
std::optional<ElementType> pointeeType(const PackageArgument &argument) {
  return findElementType(argument.type);
}

/// Whether bytes of type `given` may stand where `wanted` is expected: the same type, or integers of one size.
bool sameStorage(ElementType given, ElementType wanted) {
  return given == wanted || (!isFloat(given) && !isFloat(wanted) && given != ElementType::I1 &&
                             wanted != ElementType::I1 && elementSizeBytes(given) == elementSizeBytes(wanted));
}

bool sameStorage(const std::string &dtype, ElementType wanted) {
  if (dtype == numpyDtype(wanted))
    return true;
  for (ElementType type : allElementTypes())
    if (!isFloat(type) && dtype == numpyDtype(type) && sameStorage(type, wanted))
      return true;
  return wanted == ElementType::I1 && (dtype == "|u1" || dtype == "|i1");
}

/// One named buffer: its contents here, its memory there.
struct NamedBuffer {
  Array array; ///< no bytes when they are all zero: the device fills them in itself
  uint64_t sizeBytes = 0;
  std::vector<std::string> pointers; ///< names whose addresses it holds
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
  void checkType(const PackageArgument &argument, const BufferSpec &spec, ElementType given, bool agrees,
                 const std::string &dtype);
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
  checkRepeated(request.arguments, "--arg");
  checkRepeated(request.buffers, "--buffer");
  std::vector<std::string> known;
  for (const PackageArgument &argument : package.arguments)
    known.push_back(argument.name);
  for (const NamedValue &given : request.arguments)
    if (std::find(known.begin(), known.end(), given.name) == known.end()) {
      std::vector<std::string> notes = argumentNotes(package);
      if (std::string close = closestName(given.name, known); !close.empty())
        notes.insert(notes.begin(), fmt::format("the closest argument is `{}`", close));
      notes.push_back("an integer argument that was 1, or a constant, when the kernel was made is built into it");
      throw inputError(fmt::format("kernel `{}` has no argument `{}`", package.kernel, given.name), notes);
    }
  std::vector<std::string> missing;
  for (const PackageArgument &argument : package.arguments)
    if (!valueOf(argument.name))
      missing.push_back("`" + argument.name + "`");
  if (!missing.empty())
    throw inputError(fmt::format("{} {} of kernel `{}` {} missing", missing.size() == 1 ? "argument" : "arguments",
                                 fmt::join(missing, ", "), package.kernel, missing.size() == 1 ? "is" : "are"),
                     argumentNotes(package));
  checkOwnNames(request.buffers, known, package.kernel);
}

void Run::checkOutputs() {
  for (const std::string &name : request.outputs)
    buffer(name, "--out and --compare name buffers");
}

NamedBuffer &Run::buffer(const std::string &name, const std::string &reason) {
  auto found = buffers.find(name);
  if (found != buffers.end())
    return found->second;
  std::vector<std::string> known;
  for (const auto &[other, unused] : buffers)
    known.push_back(other);
  std::vector<std::string> notes = {reason};
  if (std::string close = closestName(name, known); !close.empty())
    notes.push_back(fmt::format("the closest buffer is `{}`", close));
  notes.push_back(known.empty() ? "there is no buffer" : fmt::format("the buffers are {}", fmt::join(known, ", ")));
  if (scalars.count(name))
    throw inputError(fmt::format("`{}` is a scalar, not a buffer", name), notes);
  throw inputError(fmt::format("there is no buffer `{}`", name), notes);
}

void Run::prepareScalar(const PackageArgument &argument, const BufferSpec &spec) {
  if (spec.kind != BufferSpec::Kind::Scalar)
    throw inputError(fmt::format("argument `{}` is a scalar of type {}, but `{}` is a buffer", argument.name,
                                 argument.type, spec.text),
                     {"give a number"});
  try {
    scalars[argument.name] = parseScalar(parseElementType(argument.type), spec.text);
  } catch (const Error &error) {
    throw Error(error.kind, fmt::format("argument `{}`: {}", argument.name, error.what()), error.notes);
  }
}

void Run::checkType(const PackageArgument &argument, const BufferSpec &spec, ElementType given, bool agrees,
                    const std::string &dtype) {
  std::optional<ElementType> wanted = pointeeType(argument);
  if (!wanted) {
    if (elementSizeBytes(given) == 8 && !isFloat(given))
      return;
    throw inputError(fmt::format("argument `{}` points to {} elements, which are addresses, but `{}` has {} elements",
                                 argument.name, argument.type, spec.text, elementTypeName(given)),
                     {"a table of addresses is `ptrs:A,B`, where A and B are buffers"});
  }
  if (agrees)
    return;
  if (dtype.empty())
    throw inputError(fmt::format("argument `{}` points to {} elements, but `{}` has {} elements", argument.name,
                                 argument.type, spec.text, elementTypeName(given)));
  throw inputError(fmt::format("argument `{}` points to {} elements (dtype `{}`), but {} has dtype `{}`", argument.name,
                               argument.type, numpyDtype(*wanted), spec.path, dtype));
}

/// `argument` is null for a `--buffer`.
void Run::addBuffer(const std::string &name, const BufferSpec &spec, const PackageArgument *argument) {
  std::optional<ElementType> wanted = argument ? pointeeType(*argument) : std::nullopt;
  NamedBuffer result;
  Array &array = result.array;
  array.name = name;
  if (spec.kind == BufferSpec::Kind::Scalar) {
    std::string what = argument ? fmt::format("argument `{}` is a pointer to {}", name, argument->type)
                                : fmt::format("`--buffer {}` makes a buffer", name);
    throw inputError(fmt::format("{}, but `{}` is not a buffer", what, spec.text),
                     {"a buffer is `@file.npy`, `f32[64,128]` (zeros), `rand:f32[64,128]:SEED` or `ptrs:A,B`"});
  }
  if (spec.kind == BufferSpec::Kind::File) {
    NpyArray file = readNpy(spec.path);
    bool agrees = wanted && sameStorage(file.dtype, *wanted);
    array.type = agrees ? *wanted : typeOfDtype(file.dtype, spec.path);
    if (argument)
      checkType(*argument, spec, array.type, agrees, file.dtype);
    array.dtype = file.dtype;
    array.shape = std::move(file.shape);
    array.bytes = std::move(file.bytes);
    result.sizeBytes = array.bytes.size();
  } else {
    if (argument)
      checkType(*argument, spec, spec.type, wanted && sameStorage(spec.type, *wanted), "");
    array.type = spec.type;
    array.dtype = numpyDtype(spec.type);
    array.shape = spec.shape;
    result.pointers = spec.names;
    result.sizeBytes = uint64_t(spec.sizeBytes());
    if (spec.kind == BufferSpec::Kind::Pointers)
      array.bytes.resize(result.sizeBytes);
    else if (spec.kind != BufferSpec::Kind::Zeros)
      array.bytes = materialize(spec);
  }
  buffers[name] = std::move(result);
}

void Run::prepareArgument(const PackageArgument &argument, const std::string &value) {
  BufferSpec spec;
  try {
    spec = parseBufferSpec(value);
  } catch (const Error &error) {
    throw Error(error.kind, fmt::format("argument `{}`: {}", argument.name, error.what()), error.notes);
  }
  if (argument.pointer)
    addBuffer(argument.name, spec, &argument);
  else
    prepareScalar(argument, spec);
}

void Run::allocateAll() {
  for (auto &[name, entry] : buffers)
    entry.memory = device->allocate(entry.sizeBytes, name);
  for (auto &[name, entry] : buffers)
    for (size_t i = 0; i < entry.pointers.size(); ++i) {
      uint64_t address = buffer(entry.pointers[i], fmt::format("`{}` asks for its address", name)).memory.address();
      std::memcpy(entry.array.bytes.data() + i * sizeof address, &address, sizeof address);
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
    addBuffer(given.name, parseBufferSpec(given.value), nullptr);
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

RunResult runKernel(const Package &package, const RunRequest &request) {
  if (package.peers)
    throw inputError(
        fmt::format("kernel `{}` works with other devices, and a run has one", package.kernel),
        {"docs/peer.md says how it is launched from C++; collectives run with `heddle bench`, modules with "
         "`heddle run M.hlo`"});
  return Run(package, request).execute();
}

} // namespace heddle
