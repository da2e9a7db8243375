// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Opens NCCL, libheddle and the CUDA driver at the first use, and looks up their functions.
#include "nccl/Libraries.h"
#include "nccl/Log.h"
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <mutex>
#include <thread>

namespace heddle::dropin {

thread_local int InsideNccl::depth = 0;

namespace {

const char *settingOr(const char *name, const char *otherwise) {
  const char *value = std::getenv(name);
  return value && *value ? value : otherwise;
}

/// The file of this library, which must not be taken for NCCL.
const void *ownBase() {
  Dl_info facts{};
  ::dladdr(reinterpret_cast<void *>(&ownBase), &facts);
  return facts.dli_fbase;
}

bool isOwn(void *symbol) {
  Dl_info facts{};
  return ::dladdr(symbol, &facts) && facts.dli_fbase == ownBase();
}

/// A handle in which NCCL's functions are found; null without NCCL.
void *openNccl() {
  auto has = [](void *handle) {
    void *symbol = handle ? ::dlsym(handle, "ncclGetVersion") : nullptr;
    return symbol && !isOwn(symbol);
  };
  constexpr const char *usual = "libnccl.so.2";
  if (const char *named = settingOr("HEDDLE_NCCL_LIBRARY", nullptr)) {
    void *handle = ::dlopen(named, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
    if (has(handle))
      return handle;
    say("%s", handle ? "HEDDLE_NCCL_LIBRARY names a library without NCCL's functions" : ::dlerror());
    return nullptr;
  }
  if (has(RTLD_NEXT))
    return RTLD_NEXT;
  // Of a library that was opened for itself alone, as those of Python packages are.
  if (void *loaded = ::dlopen(usual, RTLD_NOW | RTLD_NOLOAD); has(loaded))
    return loaded;
  void *opened = ::dlopen(usual, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
  if (has(opened))
    return opened;
  say("there is no NCCL: %s; set HEDDLE_NCCL_LIBRARY to libnccl.so.2",
      opened ? "libnccl.so.2 is this library" : ::dlerror());
  return nullptr;
}

template <typename... Parameters>
Result missing(Parameters...) {
  return result::invalidUsage;
}
template <typename... Parameters>
Result withoutNccl(Parameters...) {
  return result::systemError;
}
template <typename... Parameters>
void assign(Result (*&place)(Parameters...), const char *symbol, bool hasNccl) {
  void *found = findNccl(symbol);
  place = found      ? reinterpret_cast<Result (*)(Parameters...)>(found)
          : !hasNccl ? withoutNccl<Parameters...>
                     : missing<Parameters...>;
}

void *openHeddle(std::string &problem) {
  if (const char *named = settingOr("HEDDLE_LIBRARY", nullptr)) {
    void *handle = ::dlopen(named, RTLD_NOW | RTLD_LOCAL);
    problem = handle ? "" : ::dlerror();
    return handle;
  }
  Dl_info facts{};
  ::dladdr(reinterpret_cast<void *>(&openHeddle), &facts);
  std::string own = facts.dli_fname ? facts.dli_fname : "";
  std::string beside = own.substr(0, own.rfind('/') + 1) + "libheddle.so.0";
  void *handle = ::dlopen(beside.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle)
    handle = ::dlopen("libheddle.so.0", RTLD_NOW | RTLD_LOCAL);
  problem = handle ? "" : ::dlerror();
  return handle;
}

/// The CUDA driver's functions that an exchange takes.
struct Driver {
  int (*retain)(void **context, int device);
  int (*release)(int device);
  int (*current)(void **context);
  int (*setCurrent)(void *context);
  int (*allocate)(uint64_t *address, size_t bytes);
  int (*free)(uint64_t address);
  int (*makeStream)(Stream *stream, unsigned flags, int priority);
  int (*endStream)(Stream stream);
  int (*query)(Stream stream);
  int (*exchangeCaptureMode)(int *mode);
  int (*toDevice)(uint64_t to, const void *from, size_t bytes, Stream stream);
  int (*toHost)(void *to, uint64_t from, size_t bytes, Stream stream);
  bool isThere = false;
};

const Driver &driver() {
  static const Driver *found = [] {
    auto *made = new Driver;
    void *handle = ::dlopen(settingOr("HEDDLE_CUDA_LIBRARY", "libcuda.so.1"), RTLD_NOW | RTLD_LOCAL);
    bool all = handle != nullptr;
    auto find = [&](auto &place, const char *symbol) {
      place = reinterpret_cast<std::remove_reference_t<decltype(place)>>(handle ? ::dlsym(handle, symbol) : nullptr);
      all &= place != nullptr;
    };
    find(made->retain, "cuDevicePrimaryCtxRetain");
    find(made->release, "cuDevicePrimaryCtxRelease_v2");
    find(made->current, "cuCtxGetCurrent");
    find(made->setCurrent, "cuCtxSetCurrent");
    find(made->allocate, "cuMemAlloc_v2");
    find(made->free, "cuMemFree_v2");
    find(made->makeStream, "cuStreamCreateWithPriority");
    find(made->endStream, "cuStreamDestroy_v2");
    find(made->query, "cuStreamQuery");
    find(made->exchangeCaptureMode, "cuThreadExchangeStreamCaptureMode");
    find(made->toDevice, "cuMemcpyHtoDAsync_v2");
    find(made->toHost, "cuMemcpyDtoHAsync_v2");
    made->isThere = all;
    return made;
  }();
  return *found;
}

/// Makes a context current, and puts back the one of before.
class CurrentContext {
public:
  explicit CurrentContext(void *context) {
    driver().current(&before);
    driver().setCurrent(context);
  }
  ~CurrentContext() { driver().setCurrent(before); }
  CurrentContext(const CurrentContext &) = delete;

private:
  void *before = nullptr;
};

} // namespace

void *findNccl(const char *symbol) {
  static void *const handle = openNccl();
  void *found = handle ? ::dlsym(handle, symbol) : nullptr;
  return found && !isOwn(found) ? found : nullptr;
}

const NcclCalls &nccl() {
  static const NcclCalls calls = [] {
    NcclCalls made{};
    bool hasNccl = findNccl("ncclGetVersion");
#define HEDDLE_NCCL_ASSIGN(name, symbol, ...) assign(made.name, #symbol, hasNccl);
    HEDDLE_NCCL_CALLS(HEDDLE_NCCL_ASSIGN)
#undef HEDDLE_NCCL_ASSIGN
    return made;
  }();
  return calls;
}

const char *ncclLastError(Comm comm) {
  static auto *const real = reinterpret_cast<const char *(*)(Comm)>(findNccl("ncclGetLastError"));
  return real ? real(comm) : "";
}

const HeddleCalls *heddleLibrary(std::string &problem) {
  static std::string &whyNot = *new std::string; // threads ask while the process ends
  static const HeddleCalls *const calls = []() -> const HeddleCalls * {
    void *handle = openHeddle(whyNot);
    auto *made = new HeddleCalls{};
    auto find = [&](auto &place, const char *symbol) {
      place = reinterpret_cast<std::remove_reference_t<decltype(place)>>(handle ? ::dlsym(handle, symbol) : nullptr);
      if (!place && whyNot.empty())
        whyNot = std::string("it has no ") + symbol + ": it is another version than libheddle_nccl.so";
    };
#define HEDDLE_LIBRARY_FIND(name) find(made->name, "heddle_" #name);
    HEDDLE_LIBRARY_CALLS(HEDDLE_LIBRARY_FIND)
#undef HEDDLE_LIBRARY_FIND
    return whyNot.empty() ? made : nullptr;
  }();
  problem = whyNot;
  return calls;
}

CurrentDevice::CurrentDevice(bool isHost, int device) : device(device) {
  if (isHost || !driver().isThere || driver().retain(&context, device))
    return;
  driver().current(&before);
  driver().setCurrent(context);
  driver().exchangeCaptureMode(&captureMode);
}

CurrentDevice::~CurrentDevice() {
  if (!context)
    return;
  driver().exchangeCaptureMode(&captureMode);
  driver().setCurrent(before);
  driver().release(device);
}

ExchangeMemory::ExchangeMemory(bool isHost, int device, size_t bytes)
    : isHost(isHost), device(device), sizeBytes(bytes) {
  if (isHost) {
    memory = reinterpret_cast<uint64_t>(std::calloc(1, bytes));
    ready = memory != 0;
    return;
  }
  constexpr unsigned nonBlocking = 1;
  if (!driver().isThere || driver().retain(&context, device))
    return;
  CurrentContext scope(context);
  ready = driver().allocate(&memory, bytes) == 0 && driver().makeStream(&queue, nonBlocking, 0) == 0;
}

ExchangeMemory::~ExchangeMemory() {
  if (isLent) {
    say("%zu bytes of device %d stay allocated: NCCL may still use them", sizeBytes, device);
    return;
  }
  if (isHost)
    std::free(address());
  if (isHost || !context)
    return;
  {
    CurrentContext scope(context);
    if (queue)
      driver().endStream(queue);
    if (memory)
      driver().free(memory);
  }
  driver().release(device);
}

bool ExchangeMemory::write(size_t at, const void *from, size_t bytes) {
  if (isHost)
    return std::memcpy(address() + at, from, bytes) != nullptr;
  CurrentContext scope(context);
  return driver().toDevice(memory + at, from, bytes, queue) == 0;
}

bool ExchangeMemory::read(void *to, size_t bytes, double seconds, const std::function<bool()> &isOver) {
  if (isHost) {
    isLent = false;
    return std::memcpy(to, address(), bytes) != nullptr;
  }
  using Clock = std::chrono::steady_clock;
  constexpr int notReady = 600;
  CurrentContext scope(context);
  // Its kernel first: a copy to ordinary memory would wait for it without an end.
  auto end = Clock::now() + std::chrono::duration<double>(seconds);
  int state = 0;
  while ((state = driver().query(queue)) == notReady && Clock::now() < end && !isOver())
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  if (state)
    return false;
  if (driver().toHost(to, memory, bytes, queue))
    return false;
  while ((state = driver().query(queue)) == notReady && Clock::now() < end)
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  isLent = state != 0;
  return state == 0;
}

} // namespace heddle::dropin
