// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The libraries that the drop-in stands between: NCCL itself, Heddle's, and the CUDA driver for the few calls that must
// work where Heddle's library is missing. All are opened at the first use, so that processes without NCCL, which
// inherit LD_PRELOAD too, load nothing.
#pragma once
#include "include/heddle.h"
#include "nccl/Nccl.h"
#include <functional>
#include <string>

namespace heddle::dropin {

/// NCCL's own function of that name; null where it has none. Never one of the drop-in's.
void *findNccl(const char *symbol);

/// Calls of this thread that are NCCL's own: those that come back into the drop-in meanwhile go straight to NCCL.
class InsideNccl {
public:
  InsideNccl() { ++depth; }
  ~InsideNccl() { --depth; }
  InsideNccl(const InsideNccl &) = delete;
  static bool isInside() { return depth > 0; }

private:
  static thread_local int depth;
};

struct NcclCalls {
#define HEDDLE_NCCL_MEMBER(name, symbol, ...) Result (*name)(__VA_ARGS__);
  HEDDLE_NCCL_CALLS(HEDDLE_NCCL_MEMBER)
#undef HEDDLE_NCCL_MEMBER
};
/// Those that NCCL lacks return ncclInvalidUsage; without NCCL all return ncclSystemError, after a message.
const NcclCalls &nccl();
const char *ncclLastError(Comm comm);

// X(name) for each function of the C interface that is used.
#define HEDDLE_LIBRARY_CALLS(X)                                                                                        \
  X(version)                                                                                                           \
  X(error_text)                                                                                                        \
  X(release)                                                                                                           \
  X(device_open)                                                                                                       \
  X(stream_adopt)                                                                                                      \
  X(stream_is_capturing)                                                                                               \
  X(communicator_connect)                                                                                              \
  X(communicator_plan)                                                                                                 \
  X(communicator_prepare)                                                                                              \
  X(communicator_follow)                                                                                               \
  X(communicator_mark)                                                                                                 \
  X(communicator_synchronize)                                                                                          \
  X(communicator_check)                                                                                                \
  X(communicator_check_group)                                                                                          \
  X(communicator_abort)                                                                                                \
  X(communicator_leave)                                                                                                \
  X(collective_launch)

struct HeddleCalls {
#define HEDDLE_LIBRARY_MEMBER(name) decltype(&heddle_##name) name;
  HEDDLE_LIBRARY_CALLS(HEDDLE_LIBRARY_MEMBER)
#undef HEDDLE_LIBRARY_MEMBER
};
/// libheddle: what HEDDLE_LIBRARY names, else libheddle.so.0 beside the drop-in, else by the loader's path. Null where
/// it cannot be opened; `problem` then says why.
const HeddleCalls *heddleLibrary(std::string &problem);

/// Makes a device current on this thread, as NCCL wants it, and allows it what captures of other threads forbid;
/// nothing for the driver `host`.
class CurrentDevice {
public:
  CurrentDevice(bool isHost, int device);
  CurrentDevice(const CurrentDevice &) = delete;
  ~CurrentDevice();

private:
  static constexpr int relaxed = 2; ///< CU_STREAM_CAPTURE_MODE_RELAXED
  const int device;
  int captureMode = relaxed;
  void *context = nullptr, *before = nullptr;
};

/// Memory of one device for a first exchange, and a stream, by the CUDA driver alone; for the driver `host`, ordinary
/// memory. What NCCL may still use when the object goes is left allocated: to free it would wait for NCCL.
class ExchangeMemory {
public:
  /// Check isReady.
  ExchangeMemory(bool isHost, int device, size_t bytes);
  ExchangeMemory(const ExchangeMemory &) = delete;
  ~ExchangeMemory();
  bool isReady() const { return ready; }
  char *address() const { return reinterpret_cast<char *>(memory); }
  Stream stream() const { return queue; }
  bool write(size_t at, const void *from, size_t bytes);
  void lend() { isLent = true; } ///< NCCL has it from here on, until `read` succeeds
  /// When what is in the stream has run; false when that takes more than `seconds`, fails, or `isOver` says so.
  bool read(void *to, size_t bytes, double seconds, const std::function<bool()> &isOver);

private:
  const bool isHost;
  const int device;
  const size_t sizeBytes;
  void *context = nullptr;
  uint64_t memory = 0;
  Stream queue = nullptr;
  bool ready = false, isLent = false;
};

} // namespace heddle::dropin
