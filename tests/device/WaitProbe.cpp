// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The verb `probe-waits` of heddle-device-tests: which calls of the CUDA driver wait for a kernel that runs on another
// stream, and which calls of other threads wait with them. What CUDA promises of this is less than what the driver of a
// machine does; runtime/drivers/cuda relies on what this table says (docs/cuda.md, "Streams").
#include "runtime/drivers/cuda/CudaApi.h"
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <functional>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace heddle::cuda;
using std::string;

constexpr double waitMilliseconds = 1000; // the kernel spins so long at least, and twice as long at most
constexpr size_t mega = 1 << 20;

/// Any entry point, by its symbol and the exact types of its parameters; 1000 when the driver lacks it.
struct Library {
  void *handle = ::dlopen("libcuda.so.1", RTLD_NOW);
  template <typename... Parameters>
  Result operator()(const char *symbol, Parameters... parameters) const {
    auto function = reinterpret_cast<Result (*)(Parameters...)>(::dlsym(handle, symbol));
    return function ? function(parameters...) : 1000;
  }
};
const Library cu;

void must(Result result, const char *what) {
  if (!result)
    return;
  std::printf("probe-waits: %s gives %d\n", what, result);
  std::exit(3);
}

// Says that it runs, then waits until the flag is set, for two seconds at most. The others are for first launches.
string ptx(const string &name, const string &body, const string &globals = "") {
  return ".version 8.0\n.target sm_90\n.address_size 64\n" + globals + ".visible .entry " + name +
         "(.param .u64 words)\n{\n.reg .pred %p; .reg .b32 %r<4>; .reg .b64 %d<6>;\n" + body + "ret;\n}\n";
}
constexpr const char *spinBody = R"(
ld.param.u64 %d0, [words]; mov.u32 %r1, 1; atom.add.sys.global.u32 %r2, [%d0+4], %r1;
mov.u64 %d2, %globaltimer; add.u64 %d3, %d2, 2000000000;
again: ld.acquire.sys.global.u32 %r0, [%d0]; setp.ne.u32 %p, %r0, 0; @%p bra done;
mov.u64 %d4, %globaltimer; setp.lt.u64 %p, %d4, %d3; @%p bra again;
done:
)";
constexpr const char *localBody = R"(
.local .align 8 .b8 far[8192];
ld.param.u64 %d0, [words]; mov.u64 %d1, far; cvt.u32.u64 %r0, %d0; and.b32 %r0, %r0, 8184; cvt.u64.u32 %d2, %r0;
add.u64 %d1, %d1, %d2; st.local.u32 [%d1], %r0;
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

double now() {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

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

double until(const std::function<bool()> &done, double milliseconds) {
  double start = now();
  while (!done() && now() - start < milliseconds)
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  return now() - start;
}

/// How long a launch on `gpu` takes until it returned and until it has run, beside the call under test.
string launchBeside(const Gpu &gpu) {
  gpu.use();
  double start = now();
  Result result = gpu.launch(gpu.empty, gpu.third, 0);
  double returned = now() - start;
  until([&] { return cu("cuStreamQuery", gpu.third) != result::notReady; }, 2 * waitMilliseconds);
  char text[64];
  std::snprintf(text, sizeof text, "%6.1f %6.1f", returned, now() - start);
  return result ? "error " + std::to_string(result) : text;
}

void runTrial(const Trial &trial, const Words &words, const Gpu &spins, const Gpu &called, const Gpu *elsewhere) {
  called.use();
  trial.prepare();
  words.clear();
  spins.use();
  must(spins.launch(spins.spin, spins.spinning, words.device), "cuLaunchKernel of the spinning kernel");
  until([&] { return words.host[1] != 0; }, waitMilliseconds);
  std::atomic<bool> ended = false;
  double returned = 0, done = 0;
  Result result = 0;
  std::thread caller([&] {
    called.use();
    double start = now();
    result = trial.call();
    returned = now() - start;
    until([&] { return cu("cuStreamQuery", called.other) != result::notReady; }, 2 * waitMilliseconds);
    done = now() - start;
    ended = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  string same, far = "-";
  std::thread near([&] { same = launchBeside(called); });
  std::thread remote([&] {
    if (elsewhere)
      far = launchBeside(*elsewhere);
  });
  until([&] { return bool(ended); }, waitMilliseconds);
  words.host[0] = 1;
  for (std::thread *thread : {&caller, &near, &remote})
    thread->join();
  spins.use();
  cu("cuStreamSynchronize", spins.spinning);
  const char *verdict = returned > 0.9 * waitMilliseconds ? "WAITS" : done > 0.9 * waitMilliseconds ? "late" : "free";
  std::printf("%-44s %-6s %8.2f %8.2f   %-14s  %-14s%s\n", trial.name.c_str(), verdict, returned, done, same.c_str(),
              far.c_str(), result ? (" error " + std::to_string(result)).c_str() : "");
  std::fflush(stdout);
  called.use();
  trial.clean();
  cu("cuCtxSynchronize");
}

//===-- What is tried --------------------------------------------------------------------------------------------===//

/// What the trials of one device make and give back.
struct Things {
  Address address = 0, reserved = 0;
  uint64_t piece = 0;
  void *host = nullptr;
  Stream stream = nullptr;
  Event event = nullptr;
  Module module = nullptr;
  Function function = nullptr;
  Graph graph = nullptr;
  GraphExec exec = nullptr;
  Link link = nullptr;
  std::vector<char> pageable = std::vector<char>(8 * mega);
  int number = 0;
};
Things things;

void addMemory(std::vector<Trial> &trials, const Gpu &g) {
  auto &t = things;
  auto free = [] { cu("cuMemFree_v2", t.address); };
  for (size_t bytes : {size_t(256), 3 * mega, 64 * mega, 1024 * mega})
    trials.push_back({"cuMemAlloc " + std::to_string(bytes), [bytes] { return cu("cuMemAlloc_v2", &t.address, bytes); },
                      [] {}, free});
  for (size_t bytes : {size_t(256), 64 * mega})
    trials.push_back({"cuMemFree " + std::to_string(bytes), [] { return cu("cuMemFree_v2", t.address); },
                      [bytes] { cu("cuMemAlloc_v2", &t.address, bytes); }});
  auto freeAsync = [&g] { cu("cuMemFreeAsync", t.address, g.other); };
  for (size_t bytes : {size_t(256), 64 * mega, 1024 * mega}) {
    auto fromPool = [&g, bytes] { return cu("cuMemAllocFromPoolAsync", &t.address, bytes, g.pool, g.other); };
    trials.push_back({"cuMemAllocFromPoolAsync " + std::to_string(bytes), fromPool, [] {}, freeAsync});
    trials.push_back({"the same again, from what the pool keeps", fromPool, [] {}, freeAsync});
  }
  trials.push_back({"cuMemFreeAsync", [&g] { return cu("cuMemFreeAsync", t.address, g.other); },
                    [&g] { cu("cuMemAllocFromPoolAsync", &t.address, 64 * mega, g.pool, g.other); }});
  trials.push_back({"cuMemPoolTrimTo 0", [&g] { return cu("cuMemPoolTrimTo", g.pool, size_t(0)); }});
  trials.push_back({"cuMemAllocAsync 64 MB, default pool",
                    [&g] { return cu("cuMemAllocAsync", &t.address, 64 * mega, g.other); }, [] {}, freeAsync});
  trials.push_back({"cuMemHostAlloc 1 MB", [] { return cu("cuMemHostAlloc", &t.host, mega, 1u); }, [] {},
                    [] { cu("cuMemFreeHost", t.host); }});
  trials.push_back({"cuMemFreeHost 1 MB", [] { return cu("cuMemFreeHost", t.host); },
                    [] { cu("cuMemHostAlloc", &t.host, mega, 1u); }});
  trials.push_back(
      {"cuMemHostRegister 8 MB",
       [] { return cu("cuMemHostRegister_v2", static_cast<void *>(t.pageable.data()), t.pageable.size(), 1u); }, [] {},
       [] { cu("cuMemHostUnregister", static_cast<void *>(t.pageable.data())); }});
  trials.push_back({"cuMemHostUnregister",
                    [] { return cu("cuMemHostUnregister", static_cast<void *>(t.pageable.data())); },
                    [] { cu("cuMemHostRegister_v2", static_cast<void *>(t.pageable.data()), t.pageable.size(), 1u); }});
  trials.push_back({"cuMemGetInfo", [] {
                      size_t a = 0, b = 0;
                      return cu("cuMemGetInfo_v2", &a, &b);
                    }});
}

void addMapping(std::vector<Trial> &trials, const Gpu &g, int devices) {
  auto &t = things;
  constexpr size_t bytes = 64 * mega;
  auto create = [&g] {
    AllocationProperties properties;
    properties.location.id = g.ordinal;
    return cu("cuMemCreate", &t.piece, bytes, static_cast<const AllocationProperties *>(&properties), 0ull);
  };
  auto reserve = [] { return cu("cuMemAddressReserve", &t.reserved, bytes, size_t(0), Address(0), 0ull); };
  auto map = [] { return cu("cuMemMap", t.reserved, bytes, size_t(0), t.piece, 0ull); };
  auto setAccess = [devices] {
    std::vector<AccessDescription> access;
    for (int i = 0; i < devices; ++i)
      access.push_back({{1, i}, 3});
    return cu("cuMemSetAccess", t.reserved, bytes, static_cast<const AccessDescription *>(access.data()),
              access.size());
  };
  auto unmap = [] { return cu("cuMemUnmap", t.reserved, bytes); };
  auto release = [] { return cu("cuMemRelease", t.piece); };
  auto unreserve = [] { return cu("cuMemAddressFree", t.reserved, bytes); };
  trials.push_back({"cuMemCreate 64 MB", create, [] {}, [release] { release(); }});
  trials.push_back({"cuMemAddressReserve 64 MB", reserve, [] {}, [unreserve] { unreserve(); }});
  auto before = [create, reserve] { create(), reserve(); };
  auto after = [unmap, release, unreserve] { unmap(), release(), unreserve(); };
  trials.push_back({"cuMemMap 64 MB", map, before, after});
  auto mapped = [before, map] { before(), map(); };
  trials.push_back({"cuMemSetAccess 64 MB, all devices", setAccess, mapped, after});
  auto accessible = [mapped, setAccess] { mapped(), setAccess(); };
  trials.push_back({"cuMemUnmap 64 MB", unmap, accessible, [release, unreserve] { release(), unreserve(); }});
  auto unmapped = [accessible, unmap] { accessible(), unmap(); };
  trials.push_back({"cuMemRelease 64 MB", release, unmapped, [unreserve] { unreserve(); }});
}

string freshText(const char *body, const char *globals = "") {
  return ptx("fresh" + std::to_string(++things.number), body, globals);
}
string freshName() {
  return "fresh" + std::to_string(things.number);
}

Result loadText(const string &text) {
  return cu("cuModuleLoadData", &things.module, static_cast<const void *>(text.c_str()));
}

/// Loads a new kernel, whose code the driver does not know yet, and gets its function.
void loadFresh(const char *body = "", const char *globals = "") {
  must(loadText(freshText(body, globals)), "cuModuleLoadData");
  must(cu("cuModuleGetFunction", &things.function, things.module, freshName().c_str()), "cuModuleGetFunction");
}

void addModules(std::vector<Trial> &trials, const Gpu &g) {
  auto &t = things;
  auto unload = [] { cu("cuModuleUnload", t.module); };
  trials.push_back({"cuModuleLoadData of PTX", [] { return loadText(freshText("")); }, [] {}, unload});
  static std::string cubin;
  trials.push_back({"cuLinkCreate, AddData, Complete",
                    [] {
                      string text = freshText("");
                      void *code = nullptr;
                      size_t bytes = 0;
                      cu("cuLinkCreate_v2", 0u, static_cast<int *>(nullptr), static_cast<void **>(nullptr), &t.link);
                      cu("cuLinkAddData_v2", t.link, 1, static_cast<void *>(text.data()), text.size() + 1, "fresh", 0u,
                         static_cast<int *>(nullptr), static_cast<void **>(nullptr));
                      Result result = cu("cuLinkComplete", t.link, &code, &bytes);
                      cubin.assign(static_cast<const char *>(code), bytes);
                      return result;
                    },
                    [] {}, [] { cu("cuLinkDestroy", t.link); }});
  trials.push_back({"cuModuleLoadData of machine code", [] { return loadText(cubin); }, [] {}, unload});
  trials.push_back({"cuModuleGetFunction",
                    [] { return cu("cuModuleGetFunction", &t.function, t.module, freshName().c_str()); },
                    [] { loadText(freshText("")); }, unload});
  trials.push_back({"cuFuncLoad", [] { return cu("cuFuncLoad", t.function); }, [] { loadFresh(); }, unload});
  trials.push_back({"cuFuncSetAttribute shared memory",
                    [] { return cu("cuFuncSetAttribute", t.function, 8, 200 * 1024); }, [] { loadFresh(); }, unload});
  trials.push_back({"cuFuncGetAttribute registers",
                    [] {
                      int registers = 0;
                      return cu("cuFuncGetAttribute", &registers, 4, t.function);
                    },
                    [] { loadFresh(); }, unload});
  auto occupancy = [] {
    int blocks = 0;
    return cu("cuOccupancyMaxActiveBlocksPerMultiprocessor", &blocks, t.function, 128, size_t(0));
  };
  trials.push_back({"cuOccupancyMaxActiveBlocks", occupancy, [] { loadFresh(); }, unload});
  auto launch = [&g] { return g.launch(t.function, g.other, 0); };
  auto load = [] { cu("cuFuncLoad", t.function); };
  trials.push_back({"first launch, after cuModuleGetFunction", launch, [] { loadFresh(); }, unload});
  trials.push_back({"first launch, after cuFuncLoad", launch, [load] { loadFresh(), load(); }, unload});
  trials.push_back({"first launch with 200 KB of shared memory",
                    [&g] { return g.launch(t.function, g.other, 0, 1, 200 * 1024); },
                    [load] {
                      loadFresh(), load();
                      cu("cuFuncSetAttribute", t.function, 8, 200 * 1024);
                    },
                    unload});
  trials.push_back({"first launch with 8 KB of local memory", [&g] { return g.launch(t.function, g.other, 0, 1024); },
                    [load] { loadFresh(localBody), load(); }, unload});
  trials.push_back({"first cooperative launch",
                    [&g] {
                      uint64_t argument = 0;
                      void *parameters[] = {&argument};
                      return cu("cuLaunchCooperativeKernel", t.function, 1u, 1u, 1u, 1u, 1u, 1u, 0u, g.other,
                                static_cast<void **>(parameters));
                    },
                    [load] { loadFresh(), load(); }, unload});
  trials.push_back({"cuModuleUnload", [] { return cu("cuModuleUnload", t.module); }, [load] { loadFresh(), load(); }});
  trials.push_back({"cuModuleUnload after a launch", [] { return cu("cuModuleUnload", t.module); },
                    [launch] { loadFresh(), launch(), cu("cuCtxSynchronize"); }});
}

void addWork(std::vector<Trial> &trials, const Gpu &g) {
  auto &t = things;
  auto pin = [] { cu("cuMemHostAlloc", &t.host, 8 * mega, 1u); };
  auto unpin = [] { cu("cuMemFreeHost", t.host); };
  auto upload = [&g](const void *from, size_t bytes) {
    return cu("cuMemcpyHtoDAsync_v2", g.memory, from, bytes, g.other);
  };
  trials.push_back(
      {"cuMemcpyHtoD 4 KB, null stream",
       [&g] { return cu("cuMemcpyHtoD_v2", g.memory, static_cast<const void *>(t.pageable.data()), size_t(4096)); }});
  trials.push_back({"cuMemcpyHtoDAsync 4 KB, ordinary memory", [upload] { return upload(t.pageable.data(), 4096); }});
  trials.push_back(
      {"cuMemcpyHtoDAsync 8 MB, ordinary memory", [upload] { return upload(t.pageable.data(), 8 * mega); }});
  trials.push_back({"cuMemcpyHtoDAsync 8 MB, pinned", [upload] { return upload(t.host, 8 * mega); }, pin, unpin});
  trials.push_back({"cuMemcpyDtoHAsync 4 KB, ordinary memory", [&g] {
                      return cu("cuMemcpyDtoHAsync_v2", static_cast<void *>(t.pageable.data()), g.memory, size_t(4096),
                                g.other);
                    }});
  trials.push_back({"cuMemcpyDtoHAsync 8 MB, pinned",
                    [&g] { return cu("cuMemcpyDtoHAsync_v2", t.host, g.memory, 8 * mega, g.other); }, pin, unpin});
  trials.push_back({"cuMemcpyDtoDAsync 8 MB", [&g] {
                      return cu("cuMemcpyDtoDAsync_v2", g.memory, Address(g.memory + 16 * mega), 8 * mega, g.other);
                    }});
  using Byte = unsigned char;
  trials.push_back(
      {"cuMemsetD8Async 8 MB", [&g] { return cu("cuMemsetD8Async", g.memory, Byte(1), 8 * mega, g.other); }});
  trials.push_back(
      {"cuMemsetD8Async 3 bytes", [&g] { return cu("cuMemsetD8Async", g.memory, Byte(1), size_t(3), g.other); }});
  trials.push_back({"cuMemsetD8, null stream", [&g] { return cu("cuMemsetD8_v2", g.memory, Byte(1), size_t(4096)); }});
  trials.push_back({"cuLaunchKernel of a loaded kernel", [&g] { return g.launch(g.empty, g.other, 0); }});
  trials.push_back({"cuLaunchHostFunc", [&g] {
                      HostFunction nothing = [](void *) {};
                      return cu("cuLaunchHostFunc", g.other, nothing, static_cast<void *>(nullptr));
                    }});
}

/// Work of two streams, of which the first has its part behind the kernel that spins: does it block the second's?
void addQueues(std::vector<Trial> &trials, const Gpu &g) {
  auto &t = things;
  auto pin = [] { cu("cuMemHostAlloc", &t.host, 8 * mega, 1u); };
  auto unpin = [] { cu("cuMemFreeHost", t.host); };
  auto up = [&g](Stream stream) {
    return cu("cuMemcpyHtoDAsync_v2", g.memory, static_cast<const void *>(t.host), mega, stream);
  };
  auto down = [&g](Stream stream) { return cu("cuMemcpyDtoHAsync_v2", t.host, g.memory, mega, stream); };
  auto call = [](Stream stream) {
    HostFunction nothing = [](void *) {};
    return cu("cuLaunchHostFunc", stream, nothing, static_cast<void *>(nullptr));
  };
  auto launch = [&g](Stream stream) { return g.launch(g.empty, stream, 0); };
  auto both = [&](const string &name, auto first, auto second) {
    trials.push_back({name, [&g, first, second] { return first(g.spinning) + second(g.other); }, pin, unpin});
  };
  both("copy up, behind the other's copy up", up, up);
  both("copy up, behind the other's copy down", down, up);
  both("copy down, behind the other's copy down", down, down);
  both("host function, behind the other's", call, call);
  both("kernel, behind the other's kernel", launch, launch);
  both("kernel, behind the other's copy", up, launch);
  auto chain = [=](Stream stream) { return call(stream) + up(stream) + launch(stream) + down(stream) + call(stream); };
  both("all of these, behind the other's", chain, chain);
}

void addObjects(std::vector<Trial> &trials, const Gpu &g) {
  auto &t = things;
  auto makeStream = [] { return cu("cuStreamCreateWithPriority", &t.stream, 1u, 0); };
  auto endStream = [] { return cu("cuStreamDestroy_v2", t.stream); };
  trials.push_back({"cuStreamCreate", makeStream, [] {}, [endStream] { endStream(); }});
  trials.push_back({"cuStreamDestroy", endStream, [makeStream] { makeStream(); }});
  trials.push_back({"cuStreamQuery of the stream that spins", [&g] { return cu("cuStreamQuery", g.spinning); }});
  auto makeEvent = [] { return cu("cuEventCreate", &t.event, 0u); };
  auto endEvent = [] { return cu("cuEventDestroy_v2", t.event); };
  trials.push_back({"cuEventCreate", makeEvent, [] {}, [endEvent] { endEvent(); }});
  trials.push_back({"cuEventDestroy", endEvent, [makeEvent] { makeEvent(); }});
  auto capture = [&g] {
    cu("cuStreamBeginCapture_v2", g.other, 2);
    for (int i = 0; i < 20; ++i)
      g.launch(g.empty, g.other, 0);
    return cu("cuStreamEndCapture", g.other, &t.graph);
  };
  auto instantiate = [] { return cu("cuGraphInstantiateWithFlags", &t.exec, t.graph, 0ull); };
  auto endGraph = [] { cu("cuGraphDestroy", t.graph); };
  auto endExec = [] { return cu("cuGraphExecDestroy", t.exec); };
  auto endBoth = [endGraph, endExec] { endExec(), endGraph(); };
  auto ready = [capture, instantiate] { capture(), instantiate(); };
  trials.push_back({"capture of 20 launches", capture, [] {}, endGraph});
  trials.push_back({"cuGraphInstantiate", instantiate, [capture] { capture(); }, endBoth});
  trials.push_back({"cuGraphUpload", [&g] { return cu("cuGraphUpload", t.exec, g.other); }, ready, endBoth});
  trials.push_back({"cuGraphLaunch, the first", [&g] { return cu("cuGraphLaunch", t.exec, g.other); }, ready, endBoth});
  trials.push_back({"cuGraphExecDestroy", endExec, ready, endGraph});
}

/// Peer access is set up by opening devices, which may happen while kernels run.
void addDevices(std::vector<Trial> &trials, const Gpu &g, const Gpu &peer) {
  trials.push_back({"cuCtxEnablePeerAccess", [&peer] { return cu("cuCtxEnablePeerAccess", peer.context, 0u); },
                    [&peer] { cu("cuCtxDisablePeerAccess", peer.context); }});
  trials.push_back({"cuMemcpyDtoDAsync 8 MB to another device",
                    [&g, &peer] { return cu("cuMemcpyDtoDAsync_v2", peer.memory, g.memory, 8 * mega, g.other); }});
}

//===-- Passes ---------------------------------------------------------------------------------------------------===//

void runPass(const string &title, const std::vector<Gpu> &gpus, const Words &words, size_t called, int devices) {
  std::printf("\n%s\n%-44s %-6s %8s %8s   %-14s  %-14s\n", title.c_str(), "call", "", "returned", "done (ms)",
              "launch beside", "other device");
  const Gpu &gpu = gpus[called];
  const Gpu *elsewhere = devices > 1 ? &gpus[called ? called - 1 : 1] : nullptr;
  std::vector<Trial> trials;
  addWork(trials, gpu);
  if (called == 0)
    addQueues(trials, gpu);
  addObjects(trials, gpu);
  addModules(trials, gpu);
  addMemory(trials, gpu);
  addMapping(trials, gpu, devices);
  if (devices > 1)
    addDevices(trials, gpu, gpus[called ? called - 1 : 1]);
  for (const Trial &trial : trials)
    runTrial(trial, words, gpus[0], gpu, elsewhere);
}

/// How many streams have a kernel that runs while those of all others spin.
void countQueues(const Gpu &gpu, const Words &words) {
  constexpr uint32_t count = 160;
  gpu.use();
  std::vector<Stream> streams(count);
  words.clear();
  for (Stream &stream : streams)
    must(cu("cuStreamCreateWithPriority", &stream, 1u, 0), "cuStreamCreateWithPriority");
  for (Stream stream : streams)
    gpu.launch(gpu.spin, stream, words.device);
  until([&] { return words.host[1] == count; }, waitMilliseconds / 2);
  std::printf("\n%u of %u streams run their kernels at once\n", words.host[1], count);
  words.host[0] = 1;
  cu("cuCtxSynchronize");
  for (Stream stream : streams)
    cu("cuStreamDestroy_v2", stream);
}

} // namespace

int probeWaits(int, char **) {
  if (!cu.handle) {
    std::printf("probe-waits: there is no libcuda.so.1\n");
    return 3;
  }
  int count = 0, version = 0;
  must(cu("cuInit", 0u), "cuInit");
  must(cu("cuDeviceGetCount", &count), "cuDeviceGetCount");
  must(cu("cuDriverGetVersion", &version), "cuDriverGetVersion");
  if (count == 0)
    must(100, "cuDeviceGetCount");
  std::vector<Gpu> gpus(size_t(std::min(count, 4)));
  gpus[0].open(0);
  Words words;
  std::printf("CUDA %d.%d, %d devices; a kernel spins on cuda:0 for %.0f ms, or until the call is over.\n"
              "WAITS: the call returns when the kernel has ended; late: what it enqueued runs only then.\n"
              "launch beside, other device: until a launch of another thread returned, and until it had run.\n",
              version / 1000, version % 1000 / 10, count, waitMilliseconds);
  gpus[0].makePool(1);
  runPass("One device is open; calls on cuda:0", gpus, words, 0, 1);
  countQueues(gpus[0], words);
  if (count == 1)
    return 0;
  for (size_t i = 1; i < gpus.size(); ++i)
    gpus[i].open(int(i));
  for (const Gpu &from : gpus)
    for (const Gpu &to : gpus)
      if (&from != &to) {
        from.use();
        must(cu("cuCtxEnablePeerAccess", to.context, 0u), "cuCtxEnablePeerAccess");
      }
  for (Gpu &gpu : gpus) {
    gpu.use();
    gpu.makePool(int(gpus.size()));
  }
  runPass("All devices are open, with peer access; calls on cuda:0", gpus, words, 0, int(gpus.size()));
  runPass("All devices are open, with peer access; calls on cuda:1", gpus, words, 1, int(gpus.size()));
  return 0;
}
