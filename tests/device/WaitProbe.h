// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the verb `probe-waits` is made of: the CUDA driver by symbol, a device with a kernel that spins, and a call that
// is tried meanwhile.
#pragma once
#include "runtime/drivers/cuda/CudaApi.h"
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <functional>
#include <string>
#include <vector>

namespace heddle::probe {

using namespace heddle::cuda;
using std::string;

inline constexpr double waitMilliseconds = 1000; // the kernel spins so long at least, and twice as long at most
inline constexpr size_t mega = 1 << 20;

/// Any entry point, by its symbol and the exact types of its parameters; 1000 when the driver lacks it.
struct Library {
  void *handle = nullptr; ///< opened by probeWaits: the program has other verbs
  template <typename... Parameters>
  Result operator()(const char *symbol, Parameters... parameters) const {
    auto function = reinterpret_cast<Result (*)(Parameters...)>(::dlsym(handle, symbol));
    return function ? function(parameters...) : 1000;
  }
};
inline Library cu;

inline void must(Result result, const char *what) {
  if (!result)
    return;
  std::printf("probe-waits: %s gives %d\n", what, result);
  std::exit(3);
}

// Says that it runs, then waits until the flag is set, for two seconds at most. The others are for first launches.
inline string ptx(const string &name, const string &body) {
  return ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry " + name +
         "(.param .u64 words)\n{\n.reg .pred %p; .reg .b32 %r<4>; .reg .b64 %d<6>;\n" + body + "ret;\n}\n";
}
inline constexpr const char *spinBody = R"(
ld.param.u64 %d0, [words]; mov.u32 %r1, 1; atom.add.sys.global.u32 %r2, [%d0+4], %r1;
mov.u64 %d2, %globaltimer; add.u64 %d3, %d2, 2000000000;
again: ld.acquire.sys.global.u32 %r0, [%d0]; setp.ne.u32 %p, %r0, 0; @%p bra done;
mov.u64 %d4, %globaltimer; setp.lt.u64 %p, %d4, %d3; @%p bra again;
done:
)";
struct MemoryLocation {
  int type = 1, id = 0;
};
struct AccessDescription {
  MemoryLocation location;
  int flags = 3;
};
struct AllocationProperties {
  int type = 1, handleTypes = 0;
  MemoryLocation location;
  void *security = nullptr;
  char flags[8] = {};
};
struct PoolProperties {
  int type = 1, handleTypes = 0;
  MemoryLocation location;
  void *security = nullptr;
  size_t maxSize = 0;
  char usage[56] = {};
};
using Pool = struct PoolHandle *;

/// One device with what the tests use on it.
struct Gpu {
  int ordinal = 0;
  Context context = nullptr;
  Stream spinning = nullptr, other = nullptr, third = nullptr;
  Module module = nullptr;
  Function spin = nullptr, empty = nullptr;
  Address memory = 0;
  Pool pool = nullptr;

  void use() const { cu("cuCtxSetCurrent", context); }
  void open(int number) {
    ordinal = number;
    must(cu("cuDevicePrimaryCtxRetain", &context, number), "cuDevicePrimaryCtxRetain");
    use();
    for (Stream *stream : {&spinning, &other, &third})
      must(cu("cuStreamCreateWithPriority", stream, 1u, 0), "cuStreamCreateWithPriority");
    string text = ptx("spin", spinBody) + ".visible .entry empty(.param .u64 words)\n{ ret; }\n";
    must(cu("cuModuleLoadData", &module, static_cast<const void *>(text.c_str())), "cuModuleLoadData");
    must(cu("cuModuleGetFunction", &spin, module, "spin"), "cuModuleGetFunction");
    must(cu("cuModuleGetFunction", &empty, module, "empty"), "cuModuleGetFunction");
    must(cu("cuMemAlloc_v2", &memory, 64 * mega), "cuMemAlloc_v2");
    for (Stream stream : {spinning, other, third})
      must(launch(empty, stream, 0), "cuLaunchKernel");
    must(cu("cuCtxSynchronize"), "cuCtxSynchronize");
  }
  Result launch(Function function, Stream stream, uint64_t argument, unsigned threads = 1, unsigned shared = 0) const {
    void *parameters[] = {&argument};
    return cu("cuLaunchKernel", function, 1u, 1u, 1u, threads, 1u, 1u, shared, stream, static_cast<void **>(parameters),
              static_cast<void **>(nullptr));
  }
  void makePool(int devices) {
    PoolProperties properties;
    properties.location.id = ordinal;
    uint64_t threshold = ~uint64_t(0);
    must(cu("cuMemPoolCreate", &pool, static_cast<const PoolProperties *>(&properties)), "cuMemPoolCreate");
    must(cu("cuMemPoolSetAttribute", pool, 4, static_cast<void *>(&threshold)), "cuMemPoolSetAttribute");
    std::vector<AccessDescription> access;
    for (int i = 0; i < devices; ++i)
      if (i != ordinal)
        access.push_back({{1, i}, 3});
    if (!access.empty())
      must(cu("cuMemPoolSetAccess", pool, static_cast<const AccessDescription *>(access.data()), access.size()),
           "cuMemPoolSetAccess");
  }
};

/// Two words that host and kernels see: the flag, and how many kernels have begun.
struct Words {
  volatile uint32_t *host = nullptr;
  Address device = 0;
  Words() {
    void *memory = nullptr;
    must(cu("cuMemHostAlloc", &memory, size_t(4096), 3u), "cuMemHostAlloc");
    host = static_cast<uint32_t *>(memory);
    device = Address(memory);
  }
  void clear() const {
    host[0] = 0;
    host[1] = 0;
  }
};

/// One call that may wait. `prepare` runs before the kernel spins, `clean` after it has ended.
struct Trial {
  string name;
  std::function<Result()> call;
  std::function<void()> prepare = [] {}, clean = [] {};
};

/// What is tried on one device.
void addWork(std::vector<Trial> &trials, const Gpu &gpu);
void addQueues(std::vector<Trial> &trials, const Gpu &gpu);
void addObjects(std::vector<Trial> &trials, const Gpu &gpu);
void addModules(std::vector<Trial> &trials, const Gpu &gpu);
void addLibraries(std::vector<Trial> &trials, const Gpu &gpu);
void addMemory(std::vector<Trial> &trials, const Gpu &gpu);
void addMapping(std::vector<Trial> &trials, const Gpu &gpu, int devices);
void addDevices(std::vector<Trial> &trials, const Gpu &gpu, const Gpu &peer);

} // namespace heddle::probe
