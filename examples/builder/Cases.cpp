// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Makes the inputs of each example and its expected result.
#include "examples/builder/Cases.h"
#include "chips/Chip.h"
#include "compiler/pipeline/Compile.h"
#include "examples/builder/Kernels.h"
#include "examples/builder/PlainKernels.h"
#include "runtime/Driver.h"
#include "runtime/Launch.h"
#include "runtime/Stream.h"
#include <algorithm>
#include <cmath>
#include <limits>

namespace heddle::examples {
namespace {

using namespace plain;

Value input(ElementType type, const Numbers &values) {
  Value value{type, true};
  value.bytes.resize(values.size() * elementSizeBytes(type));
  for (size_t i = 0; i < values.size(); ++i)
    storeDouble(type, values[i], value.bytes.data() + i * elementSizeBytes(type));
  return value;
}

Value output(ElementType type, Numbers expected, double tolerance) {
  Value value = input(type, Numbers(expected.size()));
  value.expected = std::move(expected);
  value.tolerance = tolerance;
  return value;
}

Value integer(int32_t number) {
  return {ElementType::I32, false, uint32_t(number)};
}

Value real(float number) {
  Value value{ElementType::F32, false};
  storeDouble(ElementType::F32, number, &value.bits);
  return value;
}

Case vectorAddCase() {
  int n = 3000;
  Numbers x = numbers(n, 1), y = numbers(n, 2);
  auto f32 = ElementType::F32;
  return {vectorAdd(), {3, 1, 1}, {input(f32, x), input(f32, y), output(f32, add(x, y), 0), integer(n)}};
}

Case rowSoftmaxCase() {
  int rows = 7, columns = 500, stride = 512;
  Numbers x = numbers(rows * stride, 3);
  auto f32 = ElementType::F32;
  return {rowSoftmax(),
          {3, 1, 1},
          {output(f32, softmaxOfRows(x, rows, columns, stride), 1e-8), input(f32, x), integer(stride), integer(stride),
           integer(rows), integer(columns)}};
}

Case matmulCase() {
  int M = 150, N = 130, K = 70;
  Numbers a = numbers(M * K, 4), b = numbers(K * N, 5), c = multiply(a, b, M, N, K);
  auto f16 = ElementType::F16;
  return {matmulF16(),
          {9, 1, 1},
          {input(f16, a), input(f16, b), output(f16, c, 0.01), integer(M), integer(N), integer(K), integer(K),
           integer(N), integer(N)}};
}

Case layerNormCase() {
  int rows = 3, N = 1500, stride = 1504;
  double eps = 1e-5;
  Numbers x = numbers(rows * stride, 8), w = numbers(N, 9), b = numbers(N, 10);
  auto [y, means, inverses] = normaliseRows(x, w, b, rows, N, stride, eps);
  auto bf16 = ElementType::BF16, f32 = ElementType::F32;
  return {layerNorm(),
          {rows, 1, 1},
          {input(bf16, x), output(bf16, y, 0.01), input(bf16, w), input(bf16, b), output(f32, means, 1e-6),
           output(f32, inverses, 1e-5), integer(stride), integer(N), real(float(eps))}};
}

Case attentionCase() {
  int heads = 2, T = 150, D = 64;
  float scale = 0.125;
  Numbers q = numbers(heads * T * D, 16), k = numbers(heads * T * D, 17), v = numbers(heads * T * D, 18);
  auto f16 = ElementType::F16;
  return {attentionCausal(),
          {3, heads, 1},
          {input(f16, q), input(f16, k), input(f16, v), output(f16, attendCausally(q, k, v, heads, T, D, scale), 0.002),
           integer(T), real(scale)}};
}

Case matmulAsyncCase() {
  int M = 90, N = 144, K = 208; // a part of a tile along each axis
  Numbers a = numbers(M * K, 4), b = numbers(K * N, 5), c = multiply(a, b, M, N, K);
  auto f16 = ElementType::F16;
  return {matmulAsync(),
          {2, 2, 1},
          {input(f16, a), input(f16, b), output(f16, c, 0.02), integer(M), integer(N), integer(K)},
          "gfx950"};
}

Case sharedTransposeCase() {
  Numbers x = numbers(64 * 64, 6), transposed(64 * 64);
  for (size_t i = 0; i < x.size(); ++i)
    transposed[i] = x[i % 64 * 64 + i / 64];
  auto f32 = ElementType::F32;
  return {sharedTranspose(), {1, 1, 1}, {input(f32, x), output(f32, transposed, 0)}, "gfx942"};
}

} // namespace

std::vector<Case> corpusCases() {
  return {vectorAddCase(), rowSoftmaxCase(), matmulCase(), layerNormCase(), attentionCase()};
}

std::vector<Case> allCases() {
  std::vector<Case> cases = corpusCases();
  cases.push_back(matmulAsyncCase());
  cases.push_back(sharedTransposeCase());
  return cases;
}

std::vector<std::vector<uint8_t>> runOnDevice(const std::string &name, const std::string &text, const Case &example) {
  std::shared_ptr<Device> device = openDevice(name);
  CompileOptions options;
  options.target = device->chip().name;
  std::unique_ptr<Stream> stream = device->createStream();
  Launch launch;
  launch.kernel.module = device->loadModule(compile(text, example.program.name(), options).package);
  launch.grid = example.grid;
  std::vector<Buffer> buffers;
  for (const Value &value : example.values) {
    buffers.push_back(value.isBuffer ? device->allocate(value.bytes.size()) : Buffer());
    if (!value.isBuffer) {
      launch.arguments.push_back(ScalarBits{value.bits});
      continue;
    }
    stream->copyToDevice(buffers.back(), value.bytes.data());
    launch.arguments.push_back(DeviceAddress(buffers.back()));
  }
  stream->launch(launch);
  std::vector<std::vector<uint8_t>> results(buffers.size());
  for (size_t i = 0; i < buffers.size(); ++i)
    if (example.values[i].isBuffer) {
      results[i].resize(buffers[i].sizeBytes());
      stream->copyToHost(results[i].data(), buffers[i]);
    }
  stream->synchronize();
  return results;
}

double largestError(const Case &example, const std::vector<std::vector<uint8_t>> &results) {
  double largest = 0;
  for (size_t number = 0; number < results.size(); ++number) {
    const Value &value = example.values[number];
    for (size_t i = 0; i < value.expected.size(); ++i) {
      double given = loadDouble(value.type, results[number].data() + i * elementSizeBytes(value.type));
      double difference = std::fabs(given - value.expected[i]);
      if (difference != 0) // also NaN
        largest = std::isnan(difference) ? INFINITY : std::max(largest, difference / value.tolerance);
    }
  }
  return largest;
}

} // namespace heddle::examples
