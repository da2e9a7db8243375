// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What one thread knows of the program instance that it runs: the kernel's view first, then how to leave the kernel
// and why it was left. Hooks and the fault handler fill it and jump; only then is anything allocated or thrown.
#pragma once
#include "binary/HostAbi.h"
#include "runtime/drivers/host/HostMemory.h"
#include <csetjmp>
#include <cstdint>
#include <vector>

namespace heddle {

class HostExecution;

enum class LeaveReason { None, Stopped, AssertFailed, OutOfBounds, Fault };

struct HostInstance : HostProgram {
  HostExecution *execution = nullptr;
  const HostAllocation *lastAllocation = nullptr; ///< of the latest access check that held
  LeaveReason reason = LeaveReason::None;
  int32_t site = -1;
  int64_t element = 0;   ///< AssertFailed, OutOfBounds
  uint64_t address = 0;  ///< OutOfBounds, Fault
  int32_t sizeBytes = 0; ///< OutOfBounds
  int faultSignal = 0;   ///< Fault
  bool addressKnown = true;
  /// Set while kernel code runs, so that a fault elsewhere is not taken for the kernel's. Volatile: a signal reads it.
  volatile bool inKernel = false;
  std::jmp_buf leave;
};

/// One thread that runs kernels: its instance, its scratch memory and its stack for the fault handler.
class HostThread {
public:
  HostThread();
  HostThread(const HostThread &) = delete;
  ~HostThread();

  /// At least `sizeBytes`, aligned to 64, kept between launches; null when there is not enough memory.
  void *scratch(uint64_t sizeBytes);

  HostInstance instance;

private:
  void *scratchMemory = nullptr;
  uint64_t scratchSize = 0;
  void *faultStack = nullptr; ///< null when the thread had one already
};

} // namespace heddle
