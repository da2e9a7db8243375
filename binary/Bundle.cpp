// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reading trusts nothing: every package has a checksum of its own, and calls name only what is there.
#include "binary/Bundle.h"
#include "binary/Container.h"
#include "binary/JsonFields.h"
#include "support/Error.h"
#include "support/File.h"
#include "support/Suggest.h"
#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <limits>
#include <set>

namespace heddle {
namespace {

constexpr ContainerKind bundleKind = {"HEDDLEBN",
                                      Bundle::formatVersion,
                                      "bundle",
                                      "bundle of kernels",
                                      "make one with `heddle package`",
                                      "make the bundle again, or use the program that made it"};

//===-- Writing --------------------------------------------------------------------------------------------------===//

Json toJson(const std::vector<BundleArray> &arrays) {
  Json json = Json::array();
  for (const BundleArray &array : arrays)
    json.push_back({{"name", array.name},
                    {"type", array.type},
                    {"shape", array.shape},
                    {"strides", array.strides},
                    {"bytes", array.sizeBytes}});
  return json;
}

Json toJson(const BundleStep &step) {
  if (!step.fills.empty())
    return {{"fill", step.fills}, {"byte", step.byte}};
  Json arguments = Json::array();
  for (const BundleArgument &argument : step.arguments)
    arguments.push_back(argument.array.empty() ? Json{{"value", argument.value}} : Json{{"array", argument.array}});
  return {{"package", step.package}, {"grid", step.grid}, {"arguments", arguments}};
}

Json toJson(const BundleCall &call) {
  Json steps = Json::array();
  for (const BundleStep &step : call.steps)
    steps.push_back(toJson(step));
  return {{"kernel", call.kernel},
          {"target", call.target},
          {"choices", call.choices},
          {"inputs", toJson(call.inputs)},
          {"results", toJson(call.results)},
          {"temporaries", toJson(call.temporaries)},
          {"steps", steps}};
}

/// `sizes` are those of the packages as files.
Json toJson(const Bundle &bundle, const std::vector<size_t> &sizes) {
  Json packages = Json::array(), calls = Json::array(), collectives = Json::array();
  for (size_t i = 0; i < bundle.packages.size(); ++i)
    packages.push_back({{"kernel", bundle.packages[i]->kernel},
                        {"target", bundle.packages[i]->target},
                        {"processor", bundle.packages[i]->processor},
                        {"bytes", sizes[i]}});
  for (const BundleCall &call : bundle.calls)
    calls.push_back(toJson(call));
  for (const BundleCollective &collective : bundle.collectives)
    collectives.push_back({{"target", collective.target},
                           {"key", collective.key},
                           {"layout", collective.layout},
                           {"package", collective.package}});
  return {{"producer", bundle.producer}, {"packages", packages}, {"calls", calls}, {"collectives", collectives}};
}

struct Written {
  Json json;
  std::string binary; ///< the packages one after the other
};

Written write(const Bundle &bundle) {
  Written written;
  std::vector<size_t> sizes;
  for (const auto &package : bundle.packages) {
    std::string bytes = package->serialize();
    sizes.push_back(bytes.size());
    written.binary += bytes;
  }
  written.json = toJson(bundle, sizes);
  return written;
}

//===-- Reading --------------------------------------------------------------------------------------------------===//

/// Reads a bundle's description beside its packages.
class Reader {
public:
  explicit Reader(const std::string &name) : name(name) {}

  Bundle read(const Json &json, const std::string &binary) {
    JsonFields fields(json, "", name + ": malformed bundle");
    bundle.producer = fields.text("producer");
    readPackages(fields, binary);
    for (const Json &call : fields.list("calls"))
      bundle.calls.push_back(readCall(fields.element("calls", call, bundle.calls.size())));
    for (const Json &value : fields.list("collectives")) {
      JsonFields parts = fields.element("collectives", value, bundle.collectives.size());
      bundle.collectives.push_back(
          {parts.text("target"), parts.text("key"), parts.text("layout"), packageNumber(parts)});
    }
    return std::move(bundle);
  }

private:
  [[noreturn]] void fail(const std::string &problem) const {
    throw inputError(fmt::format("{}: malformed bundle: {}", name, problem));
  }

  void readPackages(const JsonFields &fields, const std::string &binary) {
    size_t offset = 0;
    for (const Json &value : fields.list("packages")) {
      size_t number = bundle.packages.size();
      auto size = size_t(fields.element("packages", value, number).integer("bytes", 0));
      if (size > binary.size() - offset)
        fail(fmt::format("package {} has {} bytes, and {} are left", number, size, binary.size() - offset));
      bundle.packages.push_back(std::make_shared<const Package>(
          Package::parse(binary.substr(offset, size), fmt::format("{}, package {}", name, number))));
      offset += size;
    }
    if (offset != binary.size())
      fail(fmt::format("its packages have {} bytes, and {} are there", offset, binary.size()));
  }

  size_t packageNumber(const JsonFields &fields) const {
    auto number = size_t(fields.integer("package", 0));
    if (number >= bundle.packages.size())
      fail(fmt::format("`{}` is {}, and there are {} packages", fields.pathOf("package"), number,
                       bundle.packages.size()));
    return number;
  }

  static std::vector<BundleArray> readArrays(const JsonFields &call, const char *key) {
    std::vector<BundleArray> arrays;
    for (const Json &value : call.list(key)) {
      JsonFields parts = call.element(key, value, arrays.size());
      BundleArray array{parts.text("name"), parts.text("type"), parts.integers("shape", 0),
                        parts.integers("strides", 0), uint64_t(parts.integer("bytes", 0))};
      if (array.strides.size() != array.shape.size())
        parts.wrongType<void>("strides", fmt::format("a list of {} integers", array.shape.size()));
      arrays.push_back(std::move(array));
    }
    return arrays;
  }

  void requireArray(const BundleCall &call, const std::string &array, const JsonFields &fields, const char *key) const {
    if (!call.findArray(array))
      fail(fmt::format("`{}` names the array `{}`, which the call has not", fields.pathOf(key), array));
  }

  BundleStep readStep(const JsonFields &fields, const BundleCall &call) const {
    BundleStep step;
    if (fields.has("fill")) {
      step.fills = fields.text("fill");
      requireArray(call, step.fills, fields, "fill");
      int64_t byte = fields.integer("byte", 0);
      if (byte > 255)
        fields.wrongType<void>("byte", "an integer from 0 to 255");
      step.byte = uint8_t(byte);
      return step;
    }
    step.package = packageNumber(fields);
    std::vector<int64_t> grid = fields.integers("grid", 1);
    if (grid.size() != 3)
      fields.wrongType<void>("grid", "a list of 3 integers");
    std::copy(grid.begin(), grid.end(), step.grid.begin());
    for (const Json &value : fields.list("arguments")) {
      JsonFields parts = fields.element("arguments", value, step.arguments.size());
      bool isArray = parts.has("array");
      step.arguments.push_back({isArray ? parts.text("array") : "",
                                isArray ? 0 : parts.integer("value", std::numeric_limits<int64_t>::min())});
      if (isArray)
        requireArray(call, step.arguments.back().array, parts, "array");
    }
    size_t wanted = bundle.packages[step.package]->arguments.size();
    if (step.arguments.size() != wanted)
      fail(fmt::format("`{}` has {} arguments, and its package takes {}", fields.pathOf("arguments"),
                       step.arguments.size(), wanted));
    return step;
  }

  BundleCall readCall(const JsonFields &fields) const {
    BundleCall call{fields.text("kernel"),
                    fields.text("target"),
                    fields.textMap("choices"),
                    readArrays(fields, "inputs"),
                    readArrays(fields, "results"),
                    readArrays(fields, "temporaries"),
                    {}};
    for (const Json &step : fields.list("steps"))
      call.steps.push_back(readStep(fields.element("steps", step, call.steps.size()), call));
    return call;
  }

  const std::string &name;
  Bundle bundle;
};

//===-- Finding --------------------------------------------------------------------------------------------------===//

using Calls = std::vector<const BundleCall *>;

std::string listChoices(const std::map<std::string, std::string> &choices) {
  std::vector<std::string> parts;
  for (const auto &[name, value] : choices)
    parts.push_back(name + "=" + value);
  return fmt::format("{}", fmt::join(parts, ", "));
}

/// A note of a few of them.
std::string listCalls(const Calls &calls) {
  constexpr size_t most = 4;
  std::vector<std::string> parts;
  for (size_t i = 0; i < std::min(most, calls.size()); ++i)
    parts.push_back(listChoices(calls[i]->choices));
  return fmt::format("the bundle has {}{}", fmt::join(parts, "; "),
                     calls.size() > most ? fmt::format("; and {} more", calls.size() - most) : "");
}

std::vector<std::string> withClosest(const std::string &given, const std::set<std::string> &known,
                                     const std::string &what) {
  std::vector<std::string> notes, names(known.begin(), known.end());
  if (std::string close = closestName(given, names); !close.empty())
    notes.push_back(fmt::format("the closest is `{}`", close));
  notes.push_back(fmt::format("{} {}", what, names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "))));
  return notes;
}

/// The names whose values differ.
std::set<std::string> differingNames(const Calls &calls) {
  std::set<std::string> names;
  const auto &first = calls.front()->choices;
  for (const BundleCall *call : calls) {
    for (const auto &[name, value] : call->choices)
      if (!first.contains(name) || first.at(name) != value)
        names.insert(name);
    for (const auto &[name, value] : first)
      if (!call->choices.contains(name))
        names.insert(name);
  }
  return names;
}

} // namespace

std::vector<const BundleArray *> BundleCall::arrays() const {
  std::vector<const BundleArray *> all;
  for (const auto *arrays : {&inputs, &results})
    for (const BundleArray &array : *arrays)
      all.push_back(&array);
  return all;
}

bool BundleCall::isResult(const BundleArray &array) const {
  return std::any_of(results.begin(), results.end(), [&](const BundleArray &result) { return &result == &array; });
}

const BundleArray *BundleCall::findArray(const std::string &name) const {
  for (const auto *arrays : {&inputs, &results, &temporaries})
    for (const BundleArray &array : *arrays)
      if (array.name == name)
        return &array;
  return nullptr;
}

size_t Bundle::add(Package package) {
  std::string bytes = package.serialize();
  for (size_t i = 0; i < packages.size(); ++i)
    if (packages[i]->binary.size() == package.binary.size() && packages[i]->serialize() == bytes)
      return i;
  packages.push_back(std::make_shared<const Package>(std::move(package)));
  return packages.size() - 1;
}

bool Bundle::hasCall(const BundleCall &call) const {
  return std::any_of(calls.begin(), calls.end(), [&](const BundleCall &known) {
    return known.kernel == call.kernel && known.target == call.target && known.choices == call.choices;
  });
}

void Bundle::join(const Bundle &other) {
  std::vector<size_t> numbers;
  for (const auto &package : other.packages)
    numbers.push_back(add(*package));
  for (BundleCall call : other.calls) {
    if (hasCall(call))
      continue;
    for (BundleStep &step : call.steps)
      step.package = step.fills.empty() ? numbers[step.package] : 0;
    calls.push_back(std::move(call));
  }
  for (BundleCollective collective : other.collectives) {
    collective.package = numbers[collective.package];
    if (!findCollective(collective.target, collective.key))
      collectives.push_back(std::move(collective));
  }
}

const BundleCall &Bundle::findCall(const std::string &kernel, const std::string &target,
                                   const std::map<std::string, std::string> &choices) const {
  std::set<std::string> kernels, targets, names;
  Calls fitting;
  for (const BundleCall &call : calls) {
    kernels.insert(call.kernel);
    if (call.kernel != kernel)
      continue;
    targets.insert(call.target);
    if (call.target == target)
      fitting.push_back(&call);
  }
  if (!kernels.contains(kernel))
    throw inputError(fmt::format("the bundle has no kernel `{}`", kernel),
                     withClosest(kernel, kernels, "its kernels are"));
  if (fitting.empty())
    throw inputError(
        fmt::format("the bundle has `{}` for {}, and the device is of {}", kernel, fmt::join(targets, ", "), target),
        {fmt::format("`heddle package kernels --for {}` makes one that has it", target)});
  for (const BundleCall *call : fitting)
    for (const auto &[name, value] : call->choices)
      names.insert(name);
  for (const auto &[name, value] : choices)
    if (!names.contains(name))
      throw inputError(fmt::format("calls of `{}` have no `{}`", kernel, name),
                       withClosest(name, names, "what tells them apart is"));
  Calls all = fitting;
  std::erase_if(fitting, [&](const BundleCall *call) {
    return std::any_of(choices.begin(), choices.end(), [&](const auto &choice) {
      auto found = call->choices.find(choice.first);
      return found == call->choices.end() || found->second != choice.second;
    });
  });
  if (fitting.empty())
    throw inputError(fmt::format("the bundle has no call of `{}` for {} with {}", kernel, target, listChoices(choices)),
                     {listCalls(all)});
  if (fitting.size() > 1)
    throw inputError(fmt::format("the bundle has {} calls of `{}` for {}{}", fitting.size(), kernel, target,
                                 choices.empty() ? "" : " with " + listChoices(choices)),
                     {fmt::format("say also {}", fmt::join(differingNames(fitting), " or ")), listCalls(fitting)});
  return *fitting.front();
}

const BundleCollective *Bundle::findCollective(const std::string &target, const std::string &key) const {
  for (const BundleCollective &collective : collectives)
    if (collective.target == target && collective.key == key)
      return &collective;
  return nullptr;
}

std::string Bundle::serialize() const {
  Written written = write(*this);
  return writeContainer(bundleKind, {dumpJson(written.json, -1), std::move(written.binary)});
}

std::string Bundle::describe() const {
  return dumpJson(write(*this).json, 2);
}

Bundle Bundle::parse(const std::string &bytes, const std::string &name) {
  Container contents = readContainer(bundleKind, bytes, name);
  Json parsed = Json::parse(contents.json, nullptr, /*allow_exceptions=*/false);
  if (parsed.is_discarded())
    throw inputError(fmt::format("{}: malformed bundle: the description is not JSON", name));
  return Reader(name).read(parsed, contents.binary);
}

Bundle Bundle::load(const std::string &path) {
  return parse(readFile(path), path);
}

void Bundle::save(const std::string &path) const {
  writeFileAtomically(path, serialize());
}

} // namespace heddle
