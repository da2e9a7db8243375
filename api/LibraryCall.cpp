// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reads shapes, strides, arrays and options from text, and asks the library for the call that they describe.
#include "api/LibraryCall.h"
#include "api/Binding.h"
#include "support/Npy.h"
#include <algorithm>
#include <charconv>
#include <fmt/format.h>

namespace heddle {

using namespace kernels;

namespace {

std::vector<int64_t> numbersOf(const std::string &text, const std::string &whole) {
  std::vector<int64_t> numbers;
  for (size_t start = 0; start <= text.size();) {
    size_t end = std::min(text.find(',', start), text.size());
    int64_t value = 0;
    auto [stop, status] = std::from_chars(text.data() + start, text.data() + end, value);
    if (status != std::errc() || stop != text.data() + end)
      throw inputError(fmt::format("`{}`: `{}` is no whole number", whole, text.substr(start, end - start)));
    numbers.push_back(value);
    start = end + 1;
  }
  return numbers;
}

/// The view of dense dimensions whose dimension i is `order[i]`.
ArrayType permuted(const ArrayType &dense, const std::vector<int64_t> &order, const std::string &whole) {
  ArrayType view{dense.type, {}};
  std::vector<int64_t> sorted = order;
  std::sort(sorted.begin(), sorted.end());
  for (size_t i = 0; i < sorted.size(); ++i)
    if (sorted[i] != int64_t(i) || sorted.size() != dense.shape.size())
      throw inputError(fmt::format("`--permute {}` is no order of the {} dimensions of {}", whole, dense.shape.size(),
                                   formatShape(dense.shape)),
                       {"each of 0, 1, ... stands once"});
  for (int64_t axis : order) {
    view.shape.push_back(dense.shape[size_t(axis)]);
    view.strides.push_back(dense.stride(size_t(axis)));
  }
  return view;
}

ArrayType &arrayOf(BoundCall &bound, const std::string &name, const std::string &option) {
  auto array = bound.request.inputs.find(name);
  if (array == bound.request.inputs.end())
    throw inputError(fmt::format("`{}`: kernel `{}` has no array `{}`", option, bound.kernel.name, name));
  return array->second;
}

} // namespace

std::map<std::string, int64_t> readShape(const std::string &shape) {
  std::map<std::string, int64_t> extents;
  for (size_t start = 0; start < shape.size();) {
    size_t end = std::min(shape.find(',', start), shape.size());
    NamedValue value = parseNamedValue(shape.substr(start, end - start), "--shape");
    if (!extents.try_emplace(value.name, numbersOf(value.value, "--shape " + shape)[0]).second)
      throw inputError(fmt::format("`--shape {}` gives {} twice", shape, value.name));
    start = end + 1;
  }
  return extents;
}

const LibraryKernel &libraryKernelOf(const std::string &input) {
  return lookupKernel(input.substr(kernelPrefix.size()));
}

BoundCall bindLibraryCall(const LibraryRequest &request, const Chip &chip) {
  BoundCall bound{libraryKernelOf(request.kernel), {}, {}};
  bound.request.chip = &chip;
  const LibraryKernel &kernel = bound.kernel;
  checkRepeated(request.arguments, "argument");
  if (!request.shape.empty())
    bound.request.inputs = arraysOfShape(kernel, readShape(request.shape), parseElementType(request.elements));
  for (const NamedValue &argument : request.arguments) {
    auto parameter = std::find_if(kernel.inputs.begin(), kernel.inputs.end(),
                                  [&](const Parameter &p) { return p.name == argument.name; });
    if (parameter == kernel.inputs.end()) {
      bound.request.options[argument.name] = argument.value;
      continue;
    }
    BufferSpec spec = within(argument.name, [&] { return parseBufferSpec(argument.value); });
    if (spec.kind == BufferSpec::Kind::Scalar || spec.kind == BufferSpec::Kind::Pointers)
      throw ArgumentError(
          fmt::format("kernel `{}`: `{}` is an array, and `{}` is none", kernel.name, argument.name, argument.value),
          {formsOfBuffers});
    std::optional<ElementType> wanted; // a file of bits becomes the first type that they can be
    for (ElementType type : parameter->types)
      if (spec.kind == BufferSpec::Kind::File && !wanted && readNpy(spec.path).dtype == numpyDtype(type))
        wanted = type;
    BoundBuffer buffer = makeBuffer(argument.name, spec, wanted);
    if (buffer.array.bytes.empty())
      buffer.array.bytes.resize(buffer.sizeBytes);
    ArrayType type{buffer.array.type, buffer.array.shape};
    bound.request.inputs[argument.name] = type;
    bound.given[argument.name] = {type, std::move(buffer.array.bytes)};
  }
  for (const std::string &text : request.permutations) {
    NamedValue permutation = parseNamedValue(text, "--permute");
    ArrayType &array = arrayOf(bound, permutation.name, "--permute " + text);
    array = permuted(ArrayType{array.type, array.shape}, numbersOf(permutation.value, text), text);
  }
  for (const std::string &text : request.strides) {
    NamedValue strides = parseNamedValue(text, "--strides");
    arrayOf(bound, strides.name, "--strides " + text).strides = numbersOf(strides.value, "--strides " + text);
  }
  return bound;
}

} // namespace heddle
