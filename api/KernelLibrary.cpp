// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Turns names, shapes and options given as text into a call of the library, runs it and times it.
#include "api/KernelLibrary.h"
#include "api/Binding.h"
#include "api/LibraryCall.h"
#include "autotune/Lookup.h"
#include "kernels/RunOnce.h"
#include "runtime/Driver.h"
#include "runtime/Event.h"
#include "runtime/Graph.h"
#include "support/File.h"
#include "support/Npy.h"
#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

namespace heddle {
namespace {

using namespace kernels;

/// Milliseconds of each of `count` calls, in graphs where the device has them.
std::vector<double> timeCalls(Device &device, Stream &stream, const LibraryRequest &request,
                              const std::function<void()> &call) {
  std::unique_ptr<Graph> graph;
  if (device.chip().vendor != Vendor::Host && device.chip().simulated == InstructionSet::None) {
    stream.beginCapture();
    call();
    graph = stream.endCapture();
  }
  auto launch = [&] { graph ? stream.launch(*graph) : call(); };
  for (int i = 0; i < request.warmup; ++i)
    launch();
  std::vector<std::shared_ptr<Event>> marks;
  for (int i = 0; i <= request.repeat; ++i) {
    if (i > 0)
      launch();
    marks.push_back(device.createEvent());
    stream.record(marks.back());
  }
  stream.synchronize();
  std::vector<double> milliseconds;
  for (size_t i = 1; i < marks.size(); ++i)
    milliseconds.push_back(marks[i]->millisecondsSince(*marks[i - 1]));
  return milliseconds;
}

void compareResults(const HostArrays &results, const HostArrays &expected, double tolerance, LibraryResult &report) {
  for (const auto &[name, array] : results) {
    Difference difference = compareArrays(name, array, expected.at(name), tolerance);
    report.compared += array.type.elements();
    if (difference.elements)
      report.differences.push_back(fmt::format("{} of {} elements of `{}` differ from the reference; {}",
                                               difference.elements, array.type.elements(), name, difference.first));
  }
}

nlohmann::ordered_json asJson(const ArrayType &array) {
  std::vector<int64_t> strides;
  for (size_t axis = 0; axis < array.shape.size(); ++axis)
    strides.push_back(array.stride(axis));
  return {{"type", elementTypeName(array.type)},
          {"shape", array.shape},
          {"strides", strides},
          {"bytes", array.sizeBytes()}};
}

nlohmann::ordered_json asJson(const std::vector<NamedArray> &arrays) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  for (const NamedArray &array : arrays)
    json[array.name] = asJson(array.type);
  return json;
}

using Places = std::vector<std::optional<autotune::KeyPlace>>;

/// Where results for a chip may come from: a device of this machine, else any product, else the simulator's estimates.
Places placesOf(const Chip &chip) {
  Places estimates;
  for (Driver *driver : allDrivers()) {
    if (driver->deviceCount() == 0)
      continue;
    std::shared_ptr<Device> device = driver->open(0);
    if (device->chip().name != chip.name)
      continue;
    if (!driver->isVirtual())
      return {autotune::placeOf(*device, false)};
    estimates.push_back(autotune::placeOf(*device, false));
  }
  estimates.insert(estimates.begin(), std::nullopt);
  return estimates;
}

/// Puts the configuration that was found into the request; what was found, for people.
std::string useTuned(BoundCall &bound, const Places &places) {
  for (const std::optional<autotune::KeyPlace> &place : places) {
    autotune::TunedRequest tuned = autotune::tunedRequest(bound.kernel, bound.request, place);
    bound.request = std::move(tuned.request);
    if (tuned.match || &place == &places.back())
      return tuned.note;
  }
  return "";
}

} // namespace

bool isLibraryKernel(const std::string &input) {
  return input.starts_with(kernelPrefix);
}

std::string describeLibraryKernel(const std::string &input) {
  std::string name = input.substr(kernelPrefix.size()), text;
  if (name.empty() || name == "list") {
    size_t width = 0;
    for (const LibraryKernel *kernel : allKernels())
      width = std::max(width, kernel->name.size());
    for (const LibraryKernel *kernel : allKernels())
      text += fmt::format("kernel:{:<{}} {}\n", kernel->name, width, kernel->sentence);
    return text;
  }
  const LibraryKernel &kernel = libraryKernelOf(input);
  text = fmt::format("kernel:{}: {}\n  {}\n\narrays that it reads\n", kernel.name, kernel.sentence, kernel.contract);
  for (const Parameter &parameter : kernel.inputs) {
    std::vector<std::string> types;
    for (ElementType type : parameter.types)
      types.push_back(elementTypeName(type));
    text += fmt::format("  {:<10} [{}] of {}: {}\n", parameter.name, fmt::join(parameter.extents, ", "),
                        fmt::join(types, ", "), parameter.sentence);
  }
  text += "results\n";
  for (const Result &result : kernel.results)
    text += fmt::format("  {:<10} {}: {}\n", result.name, result.shape, result.sentence);
  text += "options\n";
  for (const Option &option : kernel.options)
    text += fmt::format("  {:<10} {}{}: {}\n", option.name,
                        option.values.empty() ? "a whole number" : fmt::format("{}", fmt::join(option.values, "|")),
                        option.standard.empty() ? "" : fmt::format(" (default {})", option.standard), option.sentence);
  text += "tile parameters, which change the time and never the result\n";
  for (const TileParameter &tile : kernel.tiles)
    text += fmt::format("  {:<10} {}: {}\n", tile.name, fmt::join(tile.values, "|"), tile.sentence);
  return text;
}

std::string libraryKernelAsJson(const std::string &input) {
  using Json = nlohmann::ordered_json;
  std::string name = input.substr(kernelPrefix.size());
  Json json = {{"description", describeLibraryKernel(input)}};
  if (name.empty() || name == "list") {
    for (const LibraryKernel *kernel : allKernels())
      json["kernels"].push_back({{"name", kernel->name}, {"sentence", kernel->sentence}});
    return json.dump(2);
  }
  const LibraryKernel &kernel = libraryKernelOf(input);
  json["kernel"] = kernel.name;
  for (const Parameter &parameter : kernel.inputs) {
    Json types = Json::array();
    for (ElementType type : parameter.types)
      types.push_back(elementTypeName(type));
    json["inputs"].push_back({{"name", parameter.name}, {"extents", parameter.extents}, {"types", types}});
  }
  for (const ResultForm &form : kernel.forms) {
    Json extents = Json::array();
    for (const ResultExtent &extent : form.extents) {
      Json made = {{"of", extent.of}, {"times", extent.times}, {"per", extent.per}};
      if (!extent.unit.empty())
        made.update({{"plus", extent.plus}, {"unit", extent.unit}});
      extents.push_back(made);
    }
    json["results"].push_back({{"name", form.result},
                               {"type", form.type},
                               {"extents", extents},
                               {"option", form.option},
                               {"values", form.values}});
  }
  json["options"] = Json::array();
  for (const Option &option : kernel.options)
    json["options"].push_back({{"name", option.name}, {"values", option.values}, {"default", option.standard}});
  for (const TileParameter &tile : kernel.tiles)
    json["tiles"].push_back({{"name", tile.name}, {"values", tile.values}});
  return json.dump(2);
}

LibraryResult runLibraryKernel(const LibraryRequest &request) {
  std::shared_ptr<Device> device = openDevice(request.device);
  BoundCall bound = bindLibraryCall(request, device->chip());
  LibraryResult report;
  if (request.tuned)
    report.tuned = useTuned(bound, {autotune::placeOf(*device, false)});
  Prepared prepared(device, bound.kernel, bound.request, request.options);
  report.kernel = bound.kernel.name;
  report.target = device->chip().name;
  for (const std::string &name : request.outputs)
    if (std::none_of(prepared.plan().results.begin(), prepared.plan().results.end(),
                     [&](const NamedArray &result) { return result.name == name; })) {
      std::vector<std::string> known;
      for (const NamedArray &result : prepared.plan().results)
        known.push_back(result.name);
      throw noBuffer(name, known, fmt::format("results of kernel `{}` are written", bound.kernel.name));
    }
  HostArrays inputs = makeInputs(bound.kernel, prepared.call(), 1);
  for (auto &[name, array] : bound.given)
    inputs.at(name).bytes = std::move(array.bytes);
  if (bound.kernel.checkContents)
    bound.kernel.checkContents(prepared.call(), inputs);
  for (const auto &[name, type] : prepared.call().inputs)
    report.inputs.push_back(fmt::format("{}: {}", name, describe(type)));
  report.leastBytes = prepared.plan().leastBytes;
  report.tolerance = bound.kernel.tolerance;
  report.operations = prepared.plan().operations;
  report.launches = int(prepared.plan().steps.size());

  std::unique_ptr<Stream> stream = device->createStream();
  CallBuffers buffers(device, *stream, prepared, inputs);
  auto call = [&] { prepared.launch(*stream, buffers.addresses()); };
  call();
  HostArrays results = buffers.results(*stream, prepared.plan());
  if (request.verify)
    compareResults(results, referenceResults(bound.kernel, prepared.call(), prepared.plan(), inputs),
                   bound.kernel.tolerance, report);
  for (const std::string &name : request.outputs) {
    HostArray &array = results.at(name);
    report.outputs.push_back({name, array.type.type, numpyDtype(array.type.type), array.type.shape, array.bytes});
  }
  if (request.repeat > 0)
    report.milliseconds = timeCalls(*device, *stream, request, call);
  return report;
}

double copyBandwidth(const std::string &name) {
  std::shared_ptr<Device> device = openDevice(name);
  if (device->chip().simulated != InstructionSet::None)
    return 0;
  const uint64_t wanted = device->chip().vendor == Vendor::Host ? uint64_t(64) << 20 : uint64_t(1) << 30;
  const uint64_t bytes = std::min(wanted, device->memoryInfo().freeBytes / 4 / 4096 * 4096);
  if (bytes == 0)
    throw environmentError(
        fmt::format("device `{}` has {} bytes free, too few to measure a copy", name, device->memoryInfo().freeBytes),
        {"end what uses its memory"});
  Buffer from = device->allocate(bytes, "copied"), to = device->allocate(bytes, "copy");
  std::unique_ptr<Stream> stream = device->createStream();
  stream->fill(from, 1);
  double least = 0;
  for (int i = 0; i < 8; ++i) {
    std::shared_ptr<Event> start = device->createEvent(), end = device->createEvent();
    stream->record(start);
    stream->copy(to.address(), from.address(), bytes);
    stream->record(end);
    stream->synchronize();
    double taken = end->millisecondsSince(*start);
    least = least == 0 ? taken : std::min(least, taken);
  }
  return 2e3 * double(bytes) / least;
}

PlannedLibraryCall planLibraryCall(const LibraryRequest &request, const std::string &target) {
  BoundCall bound = bindLibraryCall(request, lookupChip(target));
  std::string tuned = request.tuned ? useTuned(bound, placesOf(*bound.request.chip)) : "";
  Call call = checkCall(bound.kernel, bound.request);
  Plan plan = planCall(bound.kernel, call);
  return {std::move(call), std::move(plan), std::move(tuned)};
}

std::string compileLibraryKernel(const LibraryRequest &request, const std::string &target, const std::string &folder) {
  const auto [call, plan, tuned] = planLibraryCall(request, target);
  const LibraryKernel &kernel = lookupKernel(call.kernel);
  std::vector<std::shared_ptr<const Package>> packages = compilePlan(plan, *call.chip, request.options);
  nlohmann::ordered_json json = {{"kernel", kernel.name}, {"target", target}, {"options", call.options}};
  if (request.tuned) {
    json["tiles"] = call.tiles;
    json["tuned"] = tuned;
  }
  json["inputs"] = nlohmann::ordered_json::object();
  for (const Parameter &parameter : kernel.inputs)
    json["inputs"][parameter.name] = asJson(call.input(parameter.name));
  json["results"] = asJson(plan.results);
  json["temporaries"] = asJson(plan.temporaries);
  json["leastBytes"] = plan.leastBytes;
  json["operations"] = plan.operations;
  json["steps"] = nlohmann::ordered_json::array();
  std::filesystem::create_directories(folder);
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    const Step &step = plan.steps[i];
    if (!packages[i]) {
      json["steps"].push_back({{"fill", step.fills}, {"byte", step.byte}});
      continue;
    }
    std::string file = fmt::format("{}-{}.hpkg", i, step.name);
    packages[i]->save((std::filesystem::path(folder) / file).string());
    nlohmann::ordered_json arguments = nlohmann::ordered_json::array();
    for (const StepArgument &argument : step.arguments)
      arguments.push_back(argument.buffer.empty() ? nlohmann::ordered_json(argument.value)
                                                  : nlohmann::ordered_json(argument.buffer));
    json["steps"].push_back({{"package", file}, {"grid", step.grid}, {"arguments", arguments}});
  }
  std::string text = json.dump(2) + "\n";
  writeFileAtomically((std::filesystem::path(folder) / "plan.json").string(), text);
  return text;
}

std::string libraryKernelPhase(const LibraryRequest &request, const std::string &target, const std::string &phase) {
  const auto [call, plan, tuned] = planLibraryCall(request, target);
  CompileOptions options = request.options;
  options.chip = call.chip;
  options.stopAfter = phase;
  std::string text;
  for (const Step &step : plan.steps)
    if (step.fills.empty()) {
      options.warps = step.warps;
      text += compile(step.text, step.name, options).text;
    }
  return text;
}

} // namespace heddle
