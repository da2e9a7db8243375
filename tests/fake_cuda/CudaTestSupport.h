// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// For the CUDA driver's tests: the fake libcuda, and small packages.
#pragma once
#include "binary/CudaAbi.h"
#include "runtime/drivers/cuda/CudaDriver.h"
#include "tests/fake_cuda/FakeCuda.h"
#include "tests/fake_gpu/GpuTestSupport.h"

namespace heddle {

inline FakeCuda &fakeCuda() {
  return fakeOf<FakeCuda>("test/fake-cuda.so", "fakeCuda");
}

class CudaTest : public GpuTest {
protected:
  FakeCuda &fake = fakeCuda();
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
                     {pointerArgument("out"), scalarArgument("value"), scalarArgument("count")});
}

/// A kernel without arguments.
inline Package emptyPackage(const std::string &entry = "nothing") {
  return cudaPackage(entry, fmt::format(".version 8.0\n.target sm_90\n.visible .entry {}(.param .u64 record)\n"
                                        "{{ ret; }}\n",
                                        entry));
}

} // namespace heddle
