// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// For the CUDA driver's tests: a driver on the fake libcuda, reset, and small packages.
#pragma once
#include "binary/CudaAbi.h"
#include "runtime/Stream.h"
#include "runtime/drivers/cuda/CudaDriver.h"
#include "runtime/drivers/cuda/FakeCuda.h"
#include "support/TestError.h"
#include "support/TestPaths.h"
#include <dlfcn.h>
#include <filesystem>
#include <fmt/format.h>
#include <unistd.h>

namespace heddle {

inline FakeCuda &fakeCuda() {
  static auto *fake = [] {
    void *library = ::dlopen(buildPath("test/fake-cuda.so").c_str(), RTLD_NOW);
    return reinterpret_cast<FakeCuda *(*)()>(::dlsym(library, "fakeCuda"))();
  }();
  return *fake;
}

/// A fresh fake, an empty cache folder, and drivers that use both.
class CudaTest : public testing::Test {
protected:
  CudaTest() {
    fake = FakeCuda();
    folder = (std::filesystem::temp_directory_path() / fmt::format("heddle-cuda-test-{}", ::getpid())).string();
    std::filesystem::remove_all(folder);
    ::setenv("HEDDLE_CACHE_DIR", folder.c_str(), 1);
  }
  ~CudaTest() override {
    ::unsetenv("HEDDLE_CACHE_DIR");
    std::filesystem::remove_all(folder);
  }

  FakeCuda &fake = fakeCuda();
  CudaDriver driver{buildPath("test/fake-cuda.so")};
  std::string folder;
};

inline Package cudaPackage(const std::string &entry, const std::string &ptx,
                           std::vector<PackageArgument> arguments = {}) {
  Package package;
  package.kernel = package.entry = entry;
  package.target = "sm_90";
  package.binaryKind = "ptx";
  package.abiVersion = cudaAbiVersion;
  package.threads = 32;
  package.arguments = std::move(arguments);
  package.binary = ptx;
  return package;
}

/// out[0..count) = value, of u32.
inline Package fillPackage() {
  return cudaPackage("fill_words",
                     ".version 8.0\n.target sm_90\n.visible .entry fill_words(.param .u64 out, .param .u32 value,\n"
                     "  .param .u32 count, .param .u64 record)\n{ ret; }\n",
                     {{"out", "i32", true, 1}, {"value", "i32", false, 1}, {"count", "i32", false, 1}});
}

/// A kernel without arguments.
inline Package emptyPackage(const std::string &entry = "nothing") {
  return cudaPackage(entry, fmt::format(".version 8.0\n.target sm_90\n.visible .entry {}(.param .u64 record)\n"
                                        "{{ ret; }}\n",
                                        entry));
}

template <typename T>
std::vector<T> readBack(Stream &stream, const Buffer &buffer) {
  std::vector<T> values(buffer.sizeBytes() / sizeof(T));
  stream.copyToHost(values.data(), buffer);
  stream.synchronize();
  return values;
}

} // namespace heddle
