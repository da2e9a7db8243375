// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Opening the library, and what is known about each of its errors.
#include "runtime/drivers/cuda/CudaApi.h"
#include <dlfcn.h>
#include <fmt/format.h>

namespace heddle {
namespace {

struct Advice {
  cuda::Result result;
  const char *text;
};

constexpr const char *lostContext =
    "the CUDA context of this process is lost, and every later call fails: start the program again";

constexpr Advice advice[] = {
    {3, "CUDA cannot be used in a process that was forked after it was initialised"},
    {100, "is a GPU in this machine, and does CUDA_VISIBLE_DEVICES leave it visible"},
    {101, "is a GPU in this machine, and does CUDA_VISIBLE_DEVICES leave it visible"},
    {cuda::result::noBinaryForGpu, "the code was made for another compute capability"},
    {221, "libnvidia-ptxjitcompiler.so.1, which comes with the driver, is not there"},
    {cuda::result::unsupportedPtxVersion,
     "the driver is older than the PTX: CUDA 12.7 reads PTX up to 8.6, 12.8 up to 8.7, 12.9 up to 8.8, 13.0 up to 9.0; "
     "update the driver, or compile for an older PTX version"},
    {cuda::result::illegalAddress, "a kernel accessed memory that is not there; `compute-sanitizer` finds the place"},
    {cuda::result::illegalAddress, lostContext},
    {cuda::result::outOfResources,
     "the block has more threads, registers or shared memory than a multiprocessor gives"},
    {cuda::result::timeout, "the system stops kernels that take long on a GPU with a display"},
    {cuda::result::timeout, lostContext},
    {710, lostContext},
    {714, lostContext},
    {715, lostContext},
    {716, "a kernel accessed an address that is no multiple of the access's size"},
    {716, lostContext},
    {717, lostContext},
    {718, lostContext},
    {cuda::result::launchFailed, lostContext},
    {cuda::result::cooperativeTooLarge, "all blocks of a cooperative launch must fit on the device at once"},
    {802, "the GPUs' fabric is not ready: is nvidia-fabricmanager running"},
    {803, "libcuda and the kernel's driver are of different versions: reboot after an update, or use the matching one"},
    {804, "this GPU needs a libcuda of the version of the kernel's driver"},
    {cuda::result::captureUnsupported, "a graph cannot hold this work: do it before or after the capture"},
    {cuda::result::captureInvalidated, "an earlier call did something that a graph cannot hold, and ended the capture"},
    {cuda::result::captureWrongThread, "a capture ends on the thread where it began"},
    {999, "the kernel's log (dmesg) may say more; are the files /dev/nvidia* there"},
};

} // namespace

std::string cudaVersionText(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

CudaApi::CudaApi(const std::string &libraryPath) : path(libraryPath) {
  void *library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char *reason = ::dlerror();
    throw environmentError(fmt::format("the CUDA driver cannot be opened: {}", reason ? reason : path),
                           {"it comes with NVIDIA's driver; HEDDLE_CUDA_LIBRARY names it when it lies elsewhere"});
  }
  auto load = [&](auto &function, bool required) {
    function.pointer = reinterpret_cast<decltype(function.pointer)>(::dlsym(library, function.symbol));
    if (required && !function)
      throw environmentError(fmt::format("the CUDA driver {} has no `{}`", path, function.symbol),
                             {"Heddle needs a driver for CUDA 12.0 or newer"});
  };
#define HEDDLE_CUDA_LOAD(name, ...) load(name, true);
  HEDDLE_CUDA_REQUIRED(HEDDLE_CUDA_LOAD)
#undef HEDDLE_CUDA_LOAD
#define HEDDLE_CUDA_LOAD(name, ...) load(name, false);
  HEDDLE_CUDA_OPTIONAL(HEDDLE_CUDA_LOAD)
#undef HEDDLE_CUDA_LOAD
  call("CUDA driver", init, 0u);
  call("CUDA driver", driverGetVersion, &driverVersion);
}

Error CudaApi::error(const std::string &where, const char *symbol, cuda::Result result) const {
  const char *name = nullptr, *meaning = nullptr;
  if (getErrorName(result, &name) != cuda::result::success || !name)
    name = "unknown error";
  if (getErrorString(result, &meaning) != cuda::result::success || !meaning)
    meaning = "this driver does not know its meaning";
  std::vector<std::string> notes;
  for (const Advice &each : advice)
    if (each.result == result)
      notes.emplace_back(each.text);
  return environmentError(fmt::format("{}: {}: {} ({}): {}", where, symbol, name, result, meaning), std::move(notes));
}

} // namespace heddle
