// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the numerical tests share: the executors by name, and kernels that apply a few operations to whole buffers.
#pragma once
#include "support/TestDevice.h"
#include "tests/executors/Executor.h"
#include "tests/reference/TestSupport.h"
#include <cstdlib>
#include <string>
#include <vector>

namespace heddle::numerics {

using executors::Executor;
using reference::Argument;
using reference::Grid;

/// executors::makeExecutor; the host gets more threads than a small machine has cores.
std::unique_ptr<Executor> makeExecutor(const std::string &name);

/// The test device; for `host` also `host_checked`, and `more` before them.
std::vector<std::string> executorsUnderTest(std::vector<std::string> more = {});

/// Whether `executor` is a simulated device and this is not `./dev test --long`: programs that contend for one address
/// take a time that grows with the square of their number there, and a few dozen of them interleave as well.
inline bool hasFewPrograms(const std::string &executor) {
  const char *text = std::getenv("HEDDLE_TEST_LONG");
  return executor.starts_with("sim:") && !(text && *text);
}

/// The name of an executor as GoogleTest's names may be.
std::string testNameOf(std::string executor);

/// The kernel `tt.func @k(parameters) { body; tt.return }`.
std::string kernelText(const std::string &parameters, const std::string &body);

/// Runs kernelText on the test device and returns the arguments.
std::vector<Argument> runOnDevice(const std::string &parameters, const std::string &body,
                                  std::vector<Argument> arguments, Grid grid = {});

/// Expects the bytes that the reference evaluator leaves in every argument.
void expectAsReference(const std::string &parameters, const std::string &body, std::vector<Argument> arguments,
                       Grid grid = {});

/// A kernel compiled for a GPU with so many warps: on the test device if that is one of CUDA, else as sm_90's code in
/// the thread interpreter.
void runOnGpu(const std::string &text, Grid grid, std::vector<Argument> &arguments, int warps, bool warpGroups,
              const std::string &warpPipelines = "auto");

/// Expects that the compiler finds stages of warp pipelines in a kernel with 8 warps for a simulated chip
/// (`sim:gfx950`).
void expectStages(const std::string &text, const std::string &device, const std::string &warpPipelines);

/// A kernel that loads so many elements of each input (%a, %b, %c), runs `body` and stores %r. In the body `@f32`
/// stands for `tensor<1024xf32>`.
std::string mapText(const std::vector<std::string> &inputTypes, const std::string &resultType, const std::string &body,
                    int elements = 1024);

/// Element types of a map, inputs first.
using Types = std::vector<std::string>;

/// mapText over equally long inputs of any length, on the test device.
template <typename Result, typename... Input>
std::vector<Result> mapTilesOnDevice(int elements, const Types &types, const std::string &body,
                                     const std::vector<Input> &...inputs) {
  size_t count = std::get<0>(std::tie(inputs...)).size();
  std::vector<Argument> arguments{reference::bufferOf(inputs)...};
  arguments.push_back(reference::zeros<Result>(count));
  arguments.push_back(reference::scalarI32(int32_t(count)));
  Types inputTypes(types.begin(), types.end() - 1);
  static auto device = makeExecutor(testDevice()); // keeps the last kernel
  int32_t programs = (int32_t(count) + elements - 1) / elements;
  device->run(mapText(inputTypes, types.back(), body, elements), {programs, 1, 1}, arguments);
  return reference::valuesOf<Result>(arguments[sizeof...(inputs)]);
}

template <typename Result, typename... Input>
std::vector<Result> mapOnDevice(const Types &types, const std::string &body, const std::vector<Input> &...inputs) {
  return mapTilesOnDevice<Result>(1024, types, body, inputs...);
}

/// Deterministic random bits.
class RandomBits {
public:
  explicit RandomBits(uint64_t seed) : state(seed * 2 + 1) {}
  uint64_t next() {
    state += 0x9e3779b97f4a7c15;
    uint64_t z = (state ^ (state >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }

private:
  uint64_t state;
};

/// `count` values of random bits, after `first`.
template <typename T>
std::vector<T> randomValues(size_t count, uint64_t seed, std::vector<T> first = {}) {
  RandomBits random(seed);
  while (first.size() < count) {
    uint64_t bits = random.next();
    T value;
    std::memcpy(&value, &bits, sizeof value);
    first.push_back(value);
  }
  return first;
}

/// Every pair of `values`, as two vectors.
template <typename T>
std::pair<std::vector<T>, std::vector<T>> allPairs(const std::vector<T> &values) {
  std::pair<std::vector<T>, std::vector<T>> pairs;
  for (const T &x : values)
    for (const T &y : values)
      pairs.first.push_back(x), pairs.second.push_back(y);
  return pairs;
}

/// Fails at the first element whose bits differ; two NaNs are equal.
template <typename T>
void expectSame(const std::vector<T> &actual, const std::vector<T> &expected,
                const std::function<std::string(size_t)> &operands) {
  ASSERT_EQ(actual.size(), expected.size());
  size_t wrong = 0, first = 0;
  for (size_t i = 0; i < actual.size(); ++i) {
    bool same =
        std::memcmp(&actual[i], &expected[i], sizeof(T)) == 0 || (actual[i] != actual[i] && expected[i] != expected[i]);
    if (!same && wrong++ == 0)
      first = i;
  }
  if (wrong)
    ADD_FAILURE() << wrong << " of " << actual.size() << " differ; the first is element " << first << ": "
                  << operands(first) << " gives " << +actual[first] << ", expected " << +expected[first];
}

/// A number and its bits, for messages.
std::string show(double value);

} // namespace heddle::numerics
