// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Turns typed options into the words of a call, and prepares it.
#include "kernels/Calls.h"
#include "kernels/Kernels.h"

namespace heddle::kernels {
namespace {

using Words = std::map<std::string, std::string>;

Words wordsOf(const QuantiseOptions &options, Words more = {}) {
  if (options.dtype)
    more["dtype"] = elementTypeName(*options.dtype);
  more["pow2"] = options.powersOfTwo ? "true" : "false";
  more["nan"] = options.ignoresNaN ? "ignore" : "propagate";
  for (const auto &[name, value] : options.tiles)
    more[name] = std::to_string(value);
  return more;
}

const char *wordOf(AmaxMethod method) {
  switch (method) {
  case AmaxMethod::Auto:
    return "auto";
  case AmaxMethod::Atomic:
    return "atomic";
  case AmaxMethod::Reduction:
    return "reduction";
  case AmaxMethod::Cooperative:
    return "cooperative";
  }
  return "";
}

Prepared prepare(std::shared_ptr<Device> device, const LibraryKernel &kernel, std::map<std::string, ArrayType> inputs,
                 Words words) {
  CallRequest request;
  request.inputs = std::move(inputs);
  request.options = std::move(words);
  return Prepared(std::move(device), kernel, std::move(request));
}

} // namespace

QuantiseCall QuantiseCall::rowwise2d(std::shared_ptr<Device> device, const ArrayType &x,
                                     const QuantiseOptions &options) {
  return prepare(std::move(device), fp8Rowwise2d, {{"x", x}}, wordsOf(options));
}

QuantiseCall QuantiseCall::colwise3d(std::shared_ptr<Device> device, const ArrayType &x,
                                     const QuantiseOptions &options) {
  return prepare(std::move(device), fp8Colwise3d, {{"x", x}}, wordsOf(options));
}

QuantiseCall QuantiseCall::rowwise3d(std::shared_ptr<Device> device, const ArrayType &x, AmaxMethod method,
                                     const QuantiseOptions &options) {
  return prepare(std::move(device), fp8Rowwise3d, {{"x", x}}, wordsOf(options, {{"method", wordOf(method)}}));
}

QuantiseCall QuantiseCall::blockwise(std::shared_ptr<Device> device, const ArrayType &x, Blocks blocks,
                                     const QuantiseOptions &options) {
  const char *word = blocks == Blocks::Row128 ? "1x128" : blocks == Blocks::Column128 ? "128x1" : "128x128";
  return prepare(std::move(device), fp8Blockwise, {{"x", x}}, wordsOf(options, {{"block", word}}));
}

QuantiseCall QuantiseCall::mxfp8(std::shared_ptr<Device> device, const ArrayType &x, bool alongColumns, MxMode mode,
                                 ElementType dtype) {
  return prepare(std::move(device), mxfp8Quantise, {{"x", x}},
                 {{"dim", alongColumns ? "1" : "0"},
                  {"mode", mode == MxMode::Floor ? "floor" : "rceil"},
                  {"dtype", elementTypeName(dtype)}});
}

JaggedCall JaggedCall::rowwise(std::shared_ptr<Device> device, const ArrayType &x, const ArrayType &offs,
                               const QuantiseOptions &options) {
  return prepare(std::move(device), fp8JaggedRowwise, {{"x", x}, {"offs", offs}}, wordsOf(options));
}

JaggedCall JaggedCall::colwise(std::shared_ptr<Device> device, const ArrayType &x, const ArrayType &offs,
                               const QuantiseOptions &options) {
  return prepare(std::move(device), fp8JaggedColwise, {{"x", x}, {"offs", offs}}, wordsOf(options));
}

AmaxCall::AmaxCall(std::shared_ptr<Device> device, const ArrayType &x, AmaxMethod method, bool ignoresNaN)
    : prepared(prepare(std::move(device), amaxKernel, {{"x", x}},
                       {{"method", wordOf(method)}, {"nan", ignoresNaN ? "ignore" : "propagate"}})) {}

} // namespace heddle::kernels
