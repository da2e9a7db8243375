// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The table of kernels, and the checks of calls that are the same for all.
#include "kernels/Kernels.h"
#include "kernels/LibraryKernel.h"
#include "support/BufferSpec.h"
#include "support/Error.h"
#include "support/Suggest.h"
#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace heddle::kernels {

const std::vector<const LibraryKernel *> &allKernels() {
  static const std::vector<const LibraryKernel *> table = {
      &amaxKernel,       &fp8Blockwise,         &fp8Colwise3d,     &fp8GroupedMatmul2d2d, &fp8GroupedMatmul2d3d,
      &fp8JaggedColwise, &fp8JaggedColwiseDual, &fp8JaggedRowwise, &fp8Rowwise2d,         &fp8Rowwise3d,
      &fp8Tensorwise,    &int4Matmul,           &mxfp8Dequantise,  &mxfp8Dequantise3d,    &mxfp8Quantise,
      &mxfp8Quantise3d,  &permuteIndices,       &permuteRows,      &tokenGroupPad,        &tokenGroupUnpad,
      &unpermuteRows};
  return table;
}

namespace {

std::vector<std::string> withClosest(const std::string &given, const std::vector<std::string> &known,
                                     const std::string &what) {
  std::vector<std::string> notes;
  if (std::string closest = closestName(given, known); !closest.empty())
    notes.push_back(fmt::format("the closest is `{}`", closest));
  notes.push_back(fmt::format("the {} are {}", what, fmt::join(known, ", ")));
  return notes;
}

template <class T>
std::vector<std::string> namesOf(const std::vector<T> &things) {
  std::vector<std::string> names;
  for (const T &thing : things)
    names.push_back(thing.name);
  return names;
}

std::string listTypes(const std::vector<ElementType> &types) {
  std::vector<std::string> names;
  for (ElementType type : types)
    names.push_back(elementTypeName(type));
  return fmt::format("{}", fmt::join(names, ", "));
}

std::optional<int64_t> wholeNumber(const std::string &text) {
  int64_t value = 0;
  auto [stop, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (status != std::errc() || stop != text.data() + text.size())
    return std::nullopt;
  return value;
}

void checkInput(const LibraryKernel &kernel, const Parameter &parameter, const ArrayType &given, Call &call) {
  std::string here = fmt::format("kernel `{}`: `{}`", kernel.name, parameter.name);
  std::string wanted = fmt::format("[{}]", fmt::join(parameter.extents, ", "));
  if (std::find(parameter.types.begin(), parameter.types.end(), given.type) == parameter.types.end())
    throw inputError(fmt::format("{} has elements of {}, and takes {}", here, elementTypeName(given.type),
                                 listTypes(parameter.types)),
                     {"convert the array before the call"});
  if (given.shape.size() != parameter.extents.size())
    throw inputError(fmt::format("{} is {}, of rank {}, and {} has rank {}", here, formatShape(given.shape),
                                 given.shape.size(), wanted, parameter.extents.size()));
  if (!given.strides.empty() && given.strides.size() != given.shape.size())
    throw inputError(
        fmt::format("{} has {} strides and {} dimensions", here, given.strides.size(), given.shape.size()));
  for (size_t axis = 0; axis < given.shape.size(); ++axis) {
    if (given.shape[axis] < 0 || given.shape[axis] > INT32_MAX)
      throw inputError(fmt::format("{} has the extent {} = {}, and extents are from 0 to {}", here,
                                   parameter.extents[axis], given.shape[axis], INT32_MAX));
    if (given.shape[axis] > 1 && given.stride(axis) < 1)
      throw inputError(fmt::format("{} has the stride {} along {}, and strides are 1 or above", here,
                                   given.stride(axis), parameter.extents[axis]),
                       {"copy the array to make its elements distinct and ascending"});
    auto [known, isNew] = call.extents.try_emplace(parameter.extents[axis], given.shape[axis]);
    if (!isNew && known->second != given.shape[axis])
      throw inputError(fmt::format("{} is {}, where {} = {}, but another array has {} = {}", here,
                                   formatShape(given.shape), parameter.extents[axis], given.shape[axis],
                                   parameter.extents[axis], known->second),
                       {fmt::format("`{}` is {}", parameter.name, wanted)});
  }
  call.inputs[parameter.name] = given;
}

void checkOption(const LibraryKernel &kernel, const std::string &name, const std::string &value, Call &call) {
  for (const Option &option : kernel.options) {
    if (option.name != name)
      continue;
    bool fits = option.values.empty()
                    ? wholeNumber(value).has_value()
                    : std::find(option.values.begin(), option.values.end(), value) != option.values.end();
    if (!fits)
      throw inputError(
          fmt::format("kernel `{}`: `{}` is `{}`, and it may be {}", kernel.name, name, value,
                      option.values.empty() ? "a whole number" : fmt::format("{}", fmt::join(option.values, ", "))));
    call.options[name] = value;
    return;
  }
  for (const TileParameter &tile : kernel.tiles) {
    if (tile.name != name)
      continue;
    std::optional<int64_t> number = wholeNumber(value);
    if (!number || std::find(tile.values.begin(), tile.values.end(), *number) == tile.values.end())
      throw inputError(fmt::format("kernel `{}`: the tile parameter `{}` is `{}`, and it may be {}", kernel.name, name,
                                   value, fmt::join(tile.values, ", ")));
    call.tiles[name] = *number;
    return;
  }
  std::vector<std::string> known = namesOf(kernel.inputs);
  for (const std::string &other : namesOf(kernel.options))
    known.push_back(other);
  for (const std::string &other : namesOf(kernel.tiles))
    known.push_back(other);
  throw inputError(fmt::format("kernel `{}` has no argument `{}`", kernel.name, name),
                   withClosest(name, known, "arguments"));
}

/// The results as the kernel's forms have them.
std::vector<NamedArray> resultsByForms(const LibraryKernel &kernel, const Call &call) {
  std::vector<NamedArray> results;
  for (const ResultForm &form : kernel.forms) {
    if (!form.option.empty() && std::ranges::find(form.values, call.options.at(form.option)) == form.values.end())
      continue;
    auto named = [&](std::string_view prefix) { return form.type.substr(prefix.size()); };
    ArrayType type;
    type.type = form.type.starts_with("option ")  ? call.type(named("option "))
                : form.type.starts_with("input ") ? call.input(named("input ")).type
                                                  : parseElementType(form.type);
    for (const ResultExtent &extent : form.extents) {
      int64_t whole = extent.of.empty() ? 1
                      : extent.of.starts_with("option ")
                          ? call.number(extent.of.substr(std::string_view("option ").size()))
                          : call.extent(extent.of);
      int64_t per = extent.per, unit = extent.unit.empty() ? 1 : call.number(extent.unit);
      whole = whole * extent.times + (extent.plus.empty() ? 0 : call.extent(extent.plus) * unit);
      type.shape.push_back(extent.unit.empty() ? (whole + per - 1) / per : (whole + unit - 1) / unit * unit);
    }
    results.push_back({form.result, type});
  }
  return results;
}

/// Programs that are traced without a plan allocate by the forms.
void checkForms(const LibraryKernel &kernel, const Call &call, const Plan &plan) {
  std::string planned, formed;
  for (const NamedArray &result : plan.results)
    planned += fmt::format(" {}: {}", result.name, describe(result.type));
  for (const NamedArray &result : resultsByForms(kernel, call))
    formed += fmt::format(" {}: {}", result.name, describe(result.type));
  if (planned != formed)
    throw internalError(fmt::format("kernel `{}` plans{}, and its forms are{}", kernel.name, planned, formed));
}

} // namespace

const LibraryKernel &lookupKernel(const std::string &name) {
  std::vector<std::string> known;
  for (const LibraryKernel *kernel : allKernels()) {
    if (kernel->name == name)
      return *kernel;
    known.push_back(kernel->name);
  }
  throw inputError(fmt::format("the library has no kernel `{}`", name), withClosest(name, known, "kernels"));
}

Call checkCall(const LibraryKernel &kernel, const CallRequest &request) {
  Call call;
  call.chip = request.chip;
  call.kernel = kernel.name;
  for (const auto &[name, value] : request.options)
    checkOption(kernel, name, value, call);
  for (const auto &[name, array] : request.inputs)
    if (std::none_of(kernel.inputs.begin(), kernel.inputs.end(), [&](const Parameter &p) { return p.name == name; }))
      throw inputError(fmt::format("kernel `{}` reads no array `{}`", kernel.name, name),
                       withClosest(name, namesOf(kernel.inputs), "arrays that it reads"));
  for (const Parameter &parameter : kernel.inputs) {
    auto given = request.inputs.find(parameter.name);
    if (given == request.inputs.end())
      throw inputError(fmt::format("kernel `{}`: the array `{}` is missing", kernel.name, parameter.name),
                       {fmt::format("`{}` is [{}], {}", parameter.name, fmt::join(parameter.extents, ", "),
                                    listTypes(parameter.types))});
    checkInput(kernel, parameter, given->second, call);
  }
  for (const Option &option : kernel.options)
    if (!call.options.count(option.name)) {
      bool fnuz = call.chip->fp8 == Fp8Formats::Fnuz;
      call.options[option.name] = !option.standard.empty() ? option.standard : fnuz ? "f8E4M3FNUZ" : "f8E4M3FN";
    }
  return call;
}

Plan planCall(const LibraryKernel &kernel, const Call &call) {
  Plan plan = kernel.plan(call);
  checkForms(kernel, call, plan);
  for (const auto &[name, array] : call.inputs)
    plan.leastBytes += array.elements() * elementSizeBytes(array.type);
  for (const NamedArray &result : plan.results)
    plan.leastBytes += result.type.elements() * elementSizeBytes(result.type.type);
  constexpr int64_t mostOfAxis = 65535;
  for (const Step &step : plan.steps)
    for (size_t axis = 0; axis < 3; ++axis)
      if (int64_t most = axis ? mostOfAxis : INT32_MAX; step.fills.empty() && step.grid[axis] > most)
        throw inputError(fmt::format("kernel `{}`: the grid of `{}` has {} blocks along axis {}, and at most {} can be "
                                     "launched",
                                     kernel.name, step.name, step.grid[axis], axis, most),
                         {"larger tiles, or several calls on parts of the arrays, make fewer blocks"});
  return plan;
}

std::map<std::string, ArrayType> arraysOfShape(const LibraryKernel &kernel,
                                               const std::map<std::string, int64_t> &extents, ElementType type) {
  std::vector<std::string> known;
  std::map<std::string, ArrayType> arrays;
  for (const Parameter &parameter : kernel.inputs) {
    ArrayType &array = arrays[parameter.name];
    bool fits = std::find(parameter.types.begin(), parameter.types.end(), type) != parameter.types.end();
    array.type = fits ? type : parameter.types.front();
    for (const std::string &name : parameter.extents) {
      if (std::find(known.begin(), known.end(), name) == known.end())
        known.push_back(name);
      auto given = extents.find(name);
      if (given == extents.end())
        throw inputError(fmt::format("kernel `{}`: the extent {} is missing", kernel.name, name),
                         {fmt::format("`{}` is [{}]", parameter.name, fmt::join(parameter.extents, ", "))});
      array.shape.push_back(given->second);
    }
    if (parameter.order.empty())
      continue;
    array.strides.resize(array.shape.size());
    int64_t stride = 1;
    for (auto axis = parameter.order.rbegin(); axis != parameter.order.rend(); ++axis) {
      array.strides[size_t(*axis)] = stride;
      stride *= array.shape[size_t(*axis)];
    }
  }
  for (const auto &[name, value] : extents)
    if (std::find(known.begin(), known.end(), name) == known.end())
      throw inputError(fmt::format("kernel `{}` has no extent {}", kernel.name, name),
                       {fmt::format("its extents are {}", fmt::join(known, ", "))});
  return arrays;
}

} // namespace heddle::kernels
