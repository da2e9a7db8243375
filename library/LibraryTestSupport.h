// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// For the tests of the C interface: handles that are released, and a kernel on the host.
#pragma once
#include "include/heddle.h"
#include "support/BufferSpec.h"
#include "support/File.h"
#include "support/TestError.h"
#include "support/TestPaths.h"
#include <atomic>
#include <cstring>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#define ASSERT_OK(call) ASSERT_EQ(call, HEDDLE_OK) << heddle_error_text()

namespace heddle {

/// Released at the end of its block.
template <typename Type>
struct Handle {
  Handle() = default;
  Handle(Handle &&other) noexcept { std::swap(value, other.value); }
  ~Handle() { EXPECT_EQ(heddle_release(value), HEDDLE_OK) << heddle_error_text(); }
  operator Type() const { return value; }
  Type value = nullptr;
};

inline std::string textOf(heddle_text text) {
  const char *data = nullptr;
  size_t size = 0;
  EXPECT_EQ(heddle_text_get(text, &data, &size), HEDDLE_OK) << heddle_error_text();
  return std::string(data, size);
}

inline Handle<heddle_package> compileVectorAdd(std::vector<std::string> options = {}) {
  options.insert(options.begin(), "target=host"); // a later one counts
  std::vector<const char *> words;
  for (const std::string &option : options)
    words.push_back(option.c_str());
  Handle<heddle_package> package;
  EXPECT_EQ(heddle_compile_file(sourcePath("tests/corpus/vector_add.gfx942.ttir").c_str(), words.data(), words.size(),
                                &package.value),
            HEDDLE_OK)
      << heddle_error_text();
  return package;
}

inline heddle_value bufferValue(heddle_buffer buffer) {
  return {HEDDLE_BUFFER, 0, reinterpret_cast<uint64_t>(buffer)};
}

/// The kernel, loaded on `host`, with arrays of the program.
class WithVectorAdd : public testing::Test {
protected:
  static constexpr size_t count = 4000, bytes = count * sizeof(float);

  void SetUp() override {
    ASSERT_OK(heddle_device_open("host", &device.value));
    ASSERT_OK(heddle_stream_create(device, &stream.value));
    package = compileVectorAdd();
    ASSERT_OK(heddle_kernel_load(device, package, &kernel.value));
    for (size_t i = 0; i < count; ++i) {
      x[i] = float(i);
      y[i] = 0.5f * float(i % 7);
    }
  }
  heddle_status launch() { return heddle_launch(stream, kernel, &options, addresses.data(), addresses.size()); }
  void expectSum(const std::vector<float> &a, const std::vector<float> &b) {
    size_t wrong = 0;
    for (size_t i = 0; i < count; ++i)
      wrong += out[i] != a[i] + b[i];
    EXPECT_EQ(wrong, 0u);
    std::fill(out.begin(), out.end(), 0.0f);
  }

  std::vector<float> x = std::vector<float>(count), y = x, out = x;
  std::vector<heddle_value> addresses = {{HEDDLE_ADDRESS, 0, reinterpret_cast<uint64_t>(x.data())},
                                         {HEDDLE_ADDRESS, 0, reinterpret_cast<uint64_t>(y.data())},
                                         {HEDDLE_ADDRESS, 0, reinterpret_cast<uint64_t>(out.data())},
                                         {HEDDLE_SCALAR, 0, count}};
  heddle_launch_options options = {sizeof options, {4, 1, 1}, 0, 0, 0};
  Handle<heddle_device> device;
  Handle<heddle_stream> stream;
  struct PackageSlot : Handle<heddle_package> {
    using Handle::Handle;
    PackageSlot &operator=(Handle<heddle_package> &&other) {
      std::swap(value, other.value);
      return *this;
    }
  } package;
  Handle<heddle_kernel> kernel;
};

} // namespace heddle
