// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Compiles a kernel for this processor and makes its buffers, so that a row of the benchmark is short.
#include "bench/HostKernel.h"
#include "compiler/pipeline/Compile.h"
#include "runtime/Driver.h"
#include "support/Error.h"
#include <cmath>
#include <cstring>
#include <fmt/format.h>
#include <fstream>
#include <sstream>

namespace heddle::bench {

std::string readSource(const std::string &path) {
  std::ifstream file(std::string(HEDDLE_SOURCE_DIR "/") + path);
  if (!file)
    throw environmentError("cannot read `" + path + "` below the source folder");
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

HostKernel::HostKernel(const std::string &path) : device(openDevice("host:0")), stream(device->createStream()) {
  description.kernel.module = device->loadModule(compile(readSource(path), path, {}).package);
}

float *HostKernel::buffer(size_t count) {
  float *data = memory(count);
  description.arguments.push_back(DeviceAddress(buffers.back()));
  return data;
}

float *HostKernel::memory(size_t count) {
  buffers.push_back(device->allocate(count * sizeof(float)));
  auto *data = reinterpret_cast<float *>(buffers.back().address());
  std::memset(data, 0, count * sizeof(float));
  return data;
}

void HostKernel::scalar(int32_t value) {
  description.arguments.push_back(ScalarBits{uint32_t(value)});
}

void HostKernel::launch(int64_t x, int times) {
  description.grid = {x, 1, 1};
  for (int i = 0; i < times; ++i)
    stream->launch(description);
  stream->synchronize();
}

void fillRandom(float *data, size_t count, uint32_t seed) {
  for (size_t i = 0; i < count; ++i) {
    seed = seed * 1664525u + 1013904223u;
    data[i] = float(int32_t(seed)) / 2147483648.0f;
  }
}

void expectClose(const float *actual, const float *expected, size_t count, double tolerance) {
  for (size_t i = 0; i < count; ++i)
    if (!(std::fabs(double(actual[i]) - expected[i]) <= tolerance))
      throw Error(ErrorClass::WrongResult,
                  fmt::format("element {} is {}, the other side has {}", i, actual[i], expected[i]));
}

} // namespace heddle::bench
