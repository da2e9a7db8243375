// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Makes inputs, runs a call once, computes the reference, and compares with its tolerance.
#include "kernels/RunOnce.h"
#include "support/BufferSpec.h"
#include "support/Error.h"
#include <algorithm>
#include <cmath>
#include <cstring>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace heddle::kernels {

CallBuffers::CallBuffers(const std::shared_ptr<Device> &device, Stream &stream, const Prepared &prepared,
                         const HostArrays &inputs) {
  auto allocate = [&](const std::string &name, const ArrayType &type) -> Buffer & {
    Buffer &buffer = buffers[name] = device->allocate(uint64_t(type.sizeBytes()), name);
    places[name] = buffer.address();
    return buffer;
  };
  for (const auto &[name, type] : prepared.call().inputs) {
    const std::string &bytes = inputs.at(name).bytes;
    if (int64_t(bytes.size()) != type.sizeBytes())
      throw inputError(fmt::format("`{}` is {}, which takes {} bytes, and {} are given", name, describe(type),
                                   type.sizeBytes(), bytes.size()));
    Buffer &buffer = allocate(name, type);
    if (!bytes.empty())
      stream.copyToDevice(buffer, bytes.data());
  }
  for (const NamedArray &result : prepared.plan().results)
    allocate(result.name, result.type);
}

HostArrays CallBuffers::results(Stream &stream, const Plan &plan) const {
  HostArrays arrays;
  for (const NamedArray &result : plan.results) {
    HostArray &array = arrays[result.name] = {result.type, std::string(size_t(result.type.sizeBytes()), '\0')};
    if (!array.bytes.empty())
      stream.copyToHost(array.bytes.data(), buffers.at(result.name));
  }
  stream.synchronize();
  return arrays;
}

HostArrays makeInputs(const LibraryKernel &kernel, const Call &call, uint64_t seed) {
  HostArrays inputs;
  for (const Parameter &parameter : kernel.inputs) {
    const ArrayType &type = call.input(parameter.name);
    std::string bytes = kernel.contents ? kernel.contents(call, parameter.name, seed) : "";
    if (bytes.empty()) {
      BufferSpec spec;
      spec.kind = BufferSpec::Kind::Random;
      spec.type = type.type;
      spec.seed = seed++;
      spec.shape = {type.sizeBytes() / elementSizeBytes(type.type)};
      bytes = materialize(spec);
    }
    inputs[parameter.name] = {type, std::move(bytes)};
  }
  return inputs;
}

HostArrays referenceResults(const LibraryKernel &kernel, const Call &call, const Plan &plan, const HostArrays &inputs) {
  HostArrays arrays = inputs;
  for (const NamedArray &result : plan.results)
    arrays[result.name] = {result.type, std::string(size_t(result.type.sizeBytes()), '\0')};
  kernel.reference(call, arrays);
  for (const auto &[name, input] : inputs)
    arrays.erase(name);
  return arrays;
}

Difference compareArrays(const std::string &name, const HostArray &given, const HostArray &expected, double tolerance,
                         const char *other) {
  Difference difference;
  const int64_t size = elementSizeBytes(given.type.type), count = given.type.elements();
  double bound = 0;
  for (int64_t i = 0; i < count && tolerance > 0; ++i)
    if (double value = std::abs(loadDouble(given.type.type, expected.bytes.data() + i * size)); std::isfinite(value))
      bound = std::max(bound, tolerance * value);
  for (int64_t i = 0; i < count; ++i) {
    const char *ours = given.bytes.data() + i * size, *theirs = expected.bytes.data() + i * size;
    if (std::memcmp(ours, theirs, size_t(size)) == 0)
      continue;
    double our = loadDouble(given.type.type, ours), their = loadDouble(given.type.type, theirs);
    if ((std::isnan(our) && std::isnan(their)) || std::abs(our - their) < bound)
      continue;
    if (difference.elements++)
      continue;
    std::vector<int64_t> index(given.type.shape.size());
    int64_t rest = i;
    for (size_t axis = index.size(); axis-- > 0; rest /= given.type.shape[axis])
      index[axis] = rest % given.type.shape[axis];
    difference.first = fmt::format("{}[{}] is {}, and {} has {}", name, fmt::join(index, ", "),
                                   formatElement(given.type.type, ours), other, formatElement(given.type.type, theirs));
  }
  return difference;
}

} // namespace heddle::kernels
