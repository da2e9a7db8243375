// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The calls that `probe-waits` tries, by what they are about.
#include "tests/device/WaitProbe.h"

using namespace heddle;
using namespace heddle::probe;

static string localBody(int bytes) {
  return ".local .align 8 .b8 far[" + std::to_string(bytes) + R"(];
ld.param.u64 %d0, [words]; mov.u64 %d1, far; cvt.u32.u64 %r0, %d0; and.b32 %r0, %r0, 4088; cvt.u64.u32 %d2, %r0;
add.u64 %d1, %d1, %d2; st.local.u32 [%d1], %r0;
)";
}

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
static Things things;

void probe::addMemory(std::vector<Trial> &trials, const Gpu &g) {
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

void probe::addMapping(std::vector<Trial> &trials, const Gpu &g, int devices) {
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

static string freshText(const string &body) {
  return ptx("fresh" + std::to_string(++things.number), body);
}
static string freshName() {
  return "fresh" + std::to_string(things.number);
}

static Result loadText(const string &text) {
  return cu("cuModuleLoadData", &things.module, static_cast<const void *>(text.c_str()));
}

/// Loads a new kernel, whose code the driver does not know yet, and gets its function.
static void loadFresh(const string &body = "") {
  must(loadText(freshText(body)), "cuModuleLoadData");
  must(cu("cuModuleGetFunction", &things.function, things.module, freshName().c_str()), "cuModuleGetFunction");
}

/// The other way to load code, which belongs to no context.
void probe::addLibraries(std::vector<Trial> &trials, const Gpu &g) {
  using Library = struct LibraryHandle *;
  using Kernel = struct KernelHandle *;
  static Library library = nullptr;
  static Kernel kernel = nullptr;
  auto load = [] {
    static string text;
    text = freshText("");
    return cu("cuLibraryLoadData", &library, static_cast<const void *>(text.c_str()), static_cast<int *>(nullptr),
              static_cast<void **>(nullptr), 0u, static_cast<int *>(nullptr), static_cast<void **>(nullptr), 0u);
  };
  auto find = [] { return cu("cuLibraryGetKernel", &kernel, library, freshName().c_str()); };
  auto resolve = [] { return cu("cuKernelGetFunction", &things.function, kernel); };
  auto unload = [] { return cu("cuLibraryUnload", library); };
  auto drop = [unload] { unload(); };
  trials.push_back({"cuLibraryLoadData of PTX", load, [] {}, drop});
  trials.push_back({"cuLibraryGetKernel", find, [load] { load(); }, drop});
  trials.push_back({"cuKernelGetFunction", resolve, [load, find] { load(), find(); }, drop});
  trials.push_back({"first launch of it", [&g] { return g.launch(things.function, g.other, 0); },
                    [load, find, resolve] { load(), find(), resolve(); }, drop});
  trials.push_back({"cuLibraryUnload", unload, [load, find, resolve] { load(), find(), resolve(); }});
}

void probe::addModules(std::vector<Trial> &trials, const Gpu &g) {
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
  auto setLimit = [](size_t bytes) { return cu("cuCtxSetLimit", 0, bytes); };
  trials.push_back({"cuCtxSetLimit 5000 bytes of local memory", [setLimit] { return setLimit(5000); }});
  trials.push_back({"first launch with 8 KB of it after cuCtxSetLimit",
                    [&g] { return g.launch(t.function, g.other, 0, 1024); },
                    [load, setLimit] { loadFresh(localBody(8192)), load(), setLimit(8192); }, unload});
  trials.push_back({"first launch with 16 KB of local memory", [&g] { return g.launch(t.function, g.other, 0, 1024); },
                    [load] { loadFresh(localBody(16384)), load(); }, unload});
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

void probe::addWork(std::vector<Trial> &trials, const Gpu &g) {
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

/// Work of two streams, of which the first has its part after the kernel that spins: does it block the second's?
void probe::addQueues(std::vector<Trial> &trials, const Gpu &g) {
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

void probe::addObjects(std::vector<Trial> &trials, const Gpu &g) {
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
void probe::addDevices(std::vector<Trial> &trials, const Gpu &g, const Gpu &peer) {
  trials.push_back({"cuCtxEnablePeerAccess", [&peer] { return cu("cuCtxEnablePeerAccess", peer.context, 0u); },
                    [&peer] { cu("cuCtxDisablePeerAccess", peer.context); }});
  trials.push_back({"cuMemcpyDtoDAsync 8 MB to another device",
                    [&g, &peer] { return cu("cuMemcpyDtoDAsync_v2", peer.memory, g.memory, 8 * mega, g.other); }});
}
