// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "api/Simulate.h"
#include "simulator/Simulator.h"
#include "support/Npy.h"
#include "support/Suggest.h"
#include <algorithm>
#include <charconv>
#include <cstring>
#include <ctime>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>

namespace heddle {
namespace {

using namespace simulator;

struct SimulatedBuffer {
  Array array; ///< without bytes: zeros
  std::vector<std::string> pointers;
  uint64_t sizeBytes = 0, address = 0;
};

/// What an argument is called here: its name, or its position when the compiler kept none.
std::string nameOf(const AmdArgument &argument, size_t position) {
  return argument.name.empty() ? std::to_string(position) : argument.name;
}

std::string describe(const AmdArgument &argument, size_t position) {
  std::string what = argument.isBuffer()                              ? "pointer"
                     : argument.valueKind == "dynamic_shared_pointer" ? "bytes of LDS"
                                                                      : fmt::format("{} bytes", argument.sizeBytes);
  return fmt::format("{}: {}{}", nameOf(argument, position), what,
                     argument.typeName.empty() ? "" : " (" + argument.typeName + ")");
}

ElementType typeOfDtype(const std::string &dtype, const std::string &path) {
  for (ElementType type : allElementTypes())
    if (dtype == numpyDtype(type))
      return type;
  throw inputError(fmt::format("{}: no element type for dtype `{}`", path, dtype));
}

/// The element type that an argument's type in the source language names, or of the size and form of the number.
ElementType scalarType(const AmdArgument &argument, const std::string &text) {
  using enum ElementType;
  static const std::map<std::string, ElementType> named = {
      {"float", F32}, {"double", F64}, {"half", F16},    {"bfloat", BF16}, {"f32", F32},   {"f64", F64},   {"i1", I1},
      {"i8", I8},     {"i16", I16},    {"i32", I32},     {"i64", I64},     {"char", I8},   {"short", I16}, {"int", I32},
      {"long", I64},  {"uchar", UI8},  {"ushort", UI16}, {"uint", UI32},   {"ulong", UI64}};
  if (auto found = named.find(argument.typeName); found != named.end())
    if (uint64_t(elementSizeBytes(found->second)) == argument.sizeBytes)
      return found->second;
  bool isHex = text.find('x') != std::string::npos;
  bool isFloating = !isHex && text.find_first_of(".en") != std::string::npos; // also inf and nan
  switch (argument.sizeBytes) {
  case 1:
    return ElementType::I8;
  case 2:
    return isFloating ? ElementType::F16 : ElementType::I16;
  case 4:
    return isFloating ? ElementType::F32 : ElementType::I32;
  case 8:
    return isFloating ? ElementType::F64 : ElementType::I64;
  default:
    throw inputError(
        fmt::format("argument `{}` has {} bytes, and `{}` is one number", argument.name, argument.sizeBytes, text),
        {"give its bytes as `@file.npy`"});
  }
}

/// A pointer in any address space, or what may be one where the metadata has no type. A type by value has no `*`.
bool takesAddress(const AmdArgument &argument) {
  bool mayPoint = argument.typeName.empty() || argument.typeName.ends_with('*');
  return argument.isBuffer() || (argument.sizeBytes == 8 && mayPoint);
}

double processorSeconds() {
  timespec time = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return double(time.tv_sec) + 1e-9 * double(time.tv_nsec);
}

class Simulation {
public:
  Simulation(const AmdCodeObject &object, const SimulateRequest &request)
      : request(request), simulator(object), kernel(simulator.object().kernel(request.kernel)) {
    for (const AmdArgument &argument : kernel.arguments)
      if (!argument.isHidden())
        arguments.push_back(&argument);
  }
  SimulateResult execute();

private:
  std::vector<std::string> argumentNotes() const;
  void checkNames() const;
  const std::string *valueOf(size_t position) const;
  void addBuffer(const std::string &name, const BufferSpec &spec);
  void prepare(size_t position);
  void allocateAll();
  void putArguments();
  void putBytes(const AmdArgument &argument, const void *bytes, uint64_t size);
  SimulatedBuffer &buffer(const std::string &name);
  Geometry geometry() const;
  SimulationOptions options() const;

  const SimulateRequest &request;
  Simulator simulator;
  const AmdKernel &kernel;
  std::vector<const AmdArgument *> arguments; ///< those that are given
  std::map<std::string, SimulatedBuffer> buffers;
  std::map<size_t, BufferSpec> specs;
  std::string segment;
  uint64_t dynamicLds = 0;
};

std::vector<std::string> Simulation::argumentNotes() const {
  std::vector<std::string> texts;
  for (size_t i = 0; i < arguments.size(); ++i)
    texts.push_back(describe(*arguments[i], i));
  return {fmt::format("the arguments of `{}` are {}", kernel.name,
                      texts.empty() ? "none" : fmt::format("{}", fmt::join(texts, ", ")))};
}

const std::string *Simulation::valueOf(size_t position) const {
  for (const NamedValue &given : request.arguments)
    if (given.name == nameOf(*arguments[position], position) || given.name == std::to_string(position))
      return &given.value;
  return nullptr;
}

void Simulation::checkNames() const {
  std::vector<std::string> known, missing;
  for (size_t i = 0; i < arguments.size(); ++i) {
    known.push_back(nameOf(*arguments[i], i));
    if (!valueOf(i))
      missing.push_back("`" + known.back() + "`");
  }
  for (size_t i = 0; i < request.arguments.size(); ++i) {
    const std::string &name = request.arguments[i].name;
    for (size_t j = 0; j < i; ++j)
      if (request.arguments[j].name == name)
        throw inputError(fmt::format("`--arg {}=...` is given twice: `{}` and `{}`", name, request.arguments[j].value,
                                     request.arguments[i].value));
    size_t position = arguments.size();
    std::from_chars(name.data(), name.data() + name.size(), position);
    if (std::find(known.begin(), known.end(), name) != known.end() || position < arguments.size())
      continue;
    std::vector<std::string> notes = argumentNotes();
    if (std::string close = closestName(name, known); !close.empty())
      notes.insert(notes.begin(), fmt::format("the closest argument is `{}`", close));
    throw inputError(fmt::format("kernel `{}` has no argument `{}`", kernel.name, name), notes);
  }
  if (!missing.empty())
    throw inputError(fmt::format("{} {} of kernel `{}` {} missing", missing.size() == 1 ? "argument" : "arguments",
                                 fmt::join(missing, ", "), kernel.name, missing.size() == 1 ? "is" : "are"),
                     argumentNotes());
}

void Simulation::addBuffer(const std::string &name, const BufferSpec &spec) {
  SimulatedBuffer made;
  Array &array = made.array;
  array.name = name;
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
    made.pointers = spec.names;
    made.sizeBytes = uint64_t(spec.sizeBytes());
    if (spec.kind == BufferSpec::Kind::Random)
      array.bytes = materialize(spec);
  }
  buffers[name] = std::move(made);
}

void Simulation::prepare(size_t position) {
  const AmdArgument &argument = *arguments[position];
  std::string name = nameOf(argument, position);
  BufferSpec spec;
  try {
    spec = parseBufferSpec(*valueOf(position));
  } catch (const Error &error) {
    throw Error(error.kind, fmt::format("argument `{}`: {}", name, error.what()), error.notes);
  }
  bool isScalar = spec.kind == BufferSpec::Kind::Scalar;
  if (argument.isBuffer() && isScalar)
    throw inputError(fmt::format("argument `{}` is a pointer, but `{}` is not a buffer", name, spec.text),
                     {"a buffer is `@file.npy`, `f32[64,128]` (zeros), `rand:f32[64,128]:SEED` or `ptrs:A,B`"});
  bool takesBuffer = argument.isBuffer() || argument.sizeBytes == 8 || spec.kind == BufferSpec::Kind::File;
  if (!isScalar && !takesBuffer)
    throw inputError(
        fmt::format("argument `{}` has {} bytes, but `{}` is a buffer", name, argument.sizeBytes, spec.text),
        {"give a number, or its bytes as `@file.npy`"});
  specs[position] = spec;
  if (!isScalar)
    addBuffer(name, spec);
}

SimulatedBuffer &Simulation::buffer(const std::string &name) {
  if (auto found = buffers.find(name); found != buffers.end())
    return found->second;
  std::vector<std::string> known;
  for (const auto &[other, unused] : buffers)
    known.push_back(other);
  std::vector<std::string> notes;
  if (std::string close = closestName(name, known); !close.empty())
    notes.push_back(fmt::format("the closest buffer is `{}`", close));
  notes.push_back(known.empty() ? "there is no buffer" : fmt::format("the buffers are {}", fmt::join(known, ", ")));
  throw inputError(fmt::format("there is no buffer `{}`", name), notes);
}

void Simulation::allocateAll() {
  for (auto &[name, entry] : buffers)
    entry.address = simulator.allocate(entry.sizeBytes, name);
  for (auto &[name, entry] : buffers) {
    std::span<uint8_t> memory = simulator.bytes(entry.address);
    std::copy(entry.array.bytes.begin(), entry.array.bytes.end(), memory.begin());
    for (size_t i = 0; i < entry.pointers.size(); ++i)
      std::memcpy(memory.data() + 8 * i, &buffer(entry.pointers[i]).address, 8);
  }
}

void Simulation::putBytes(const AmdArgument &argument, const void *bytes, uint64_t size) {
  std::memcpy(segment.data() + argument.offset, bytes, std::min(size, argument.sizeBytes));
}

void Simulation::putArguments() {
  segment.assign(kernel.kernargBytes, '\0');
  for (size_t i = 0; i < arguments.size(); ++i) {
    const AmdArgument &argument = *arguments[i];
    const BufferSpec &spec = specs[i];
    std::string name = nameOf(argument, i);
    if (argument.valueKind == "dynamic_shared_pointer") { // behind the LDS of the kernel and of earlier arguments
      uint32_t offset = uint32_t(kernel.groupBytes + dynamicLds);
      dynamicLds += parseScalar(ElementType::UI32, spec.text);
      putBytes(argument, &offset, sizeof offset);
    } else if (spec.kind == BufferSpec::Kind::Scalar) {
      try {
        uint64_t bits = parseScalar(scalarType(argument, spec.text), spec.text);
        putBytes(argument, &bits, sizeof bits);
      } catch (const Error &error) {
        throw Error(error.kind, fmt::format("argument `{}`: {}", name, error.what()), error.notes);
      }
    } else if (takesAddress(argument))
      putBytes(argument, &buffers[name].address, 8);
    else if (buffers[name].sizeBytes != argument.sizeBytes)
      throw inputError(fmt::format("argument `{}` has {} bytes, and `{}` has {}", name, argument.sizeBytes, spec.text,
                                   buffers[name].sizeBytes));
    else
      putBytes(argument, buffers[name].array.bytes.data(), argument.sizeBytes);
  }
}

Geometry Simulation::geometry() const {
  Geometry geometry;
  auto extents = [](const std::array<int64_t, 3> &given) {
    auto narrow = [](int64_t extent) { return uint32_t(std::clamp<int64_t>(extent, 0, UINT32_MAX)); };
    return Extents{narrow(given[0]), narrow(given[1]), narrow(given[2])};
  };
  geometry.groups = extents(request.grid);
  geometry.items = extents(request.block);
  geometry.dynamicLdsBytes = uint32_t(std::min<uint64_t>(uint64_t(request.dynamicLdsBytes) + dynamicLds, INT32_MAX));
  return geometry;
}

SimulationOptions Simulation::options() const {
  SimulationOptions options;
  if (request.policy == "latest")
    options.policy = Policy::Latest;
  else if (request.policy != "earliest")
    throw inputError(fmt::format("`--policy {}` is not `earliest` or `latest`", request.policy));
  options.seed = request.seed;
  options.preloads = request.preloads;
  options.residentGroups = request.resident;
  if (request.instructionLimit)
    options.instructionLimit = request.instructionLimit;
  if (request.trace)
    options.trace = [this](const Wave &wave, const Instruction &instruction) {
      request.trace(fmt::format("{},{},{} wave {}  0x{:x}  {}", wave.workgroup->id[0], wave.workgroup->id[1],
                                wave.workgroup->id[2], wave.indexInGroup, instruction.pc - simulator.codeBase(),
                                instruction.text));
    };
  return options;
}

SimulateResult Simulation::execute() {
  SimulationOptions runOptions = options();
  checkNames();
  for (size_t i = 0; i < arguments.size(); ++i)
    prepare(i);
  for (const NamedValue &given : request.buffers) {
    BufferSpec spec = parseBufferSpec(given.value);
    if (spec.kind == BufferSpec::Kind::Scalar)
      throw inputError(fmt::format("`--buffer {}` makes a buffer, but `{}` is not a buffer", given.name, given.value));
    addBuffer(given.name, spec);
  }
  for (const std::string &name : request.outputs)
    buffer(name);
  allocateAll();
  putArguments();
  double begin = processorSeconds();
  RunStatistics statistics = simulator.launch(kernel, geometry(), segment, runOptions);
  double took = processorSeconds() - begin;
  SimulateResult result{kernel.name,      simulator.object().chip, {},  statistics.instructions,
                        statistics.waves, statistics.groups,       took};
  for (const std::string &name : request.outputs) {
    SimulatedBuffer &source = buffer(name);
    std::span<uint8_t> memory = simulator.bytes(source.address);
    source.array.bytes.assign(memory.begin(), memory.end());
    result.outputs.push_back(source.array);
  }
  return result;
}

} // namespace

SimulateResult simulateKernel(const std::string &file, const std::string &name, const SimulateRequest &request) {
  AmdCodeObject object = parseAmdCodeObject(file, name);
  return Simulation(object, request).execute();
}

std::vector<std::string> simulatedInstructions(const std::string &chip) {
  return instructionNames(chip);
}

} // namespace heddle
