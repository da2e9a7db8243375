// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// NVIDIA GPUs as a driver: `cuda:0`, `cuda:1`, ... through libcuda.so.1, which need not be there.
#pragma once
#include "runtime/Driver.h"
#include "runtime/drivers/cuda/CudaContext.h"
#include "runtime/drivers/cuda/CudaGate.h"
#include "runtime/drivers/cuda/CudaMemory.h"
#include "runtime/drivers/cuda/CudaStaging.h"
#include <mutex>
#include <optional>

namespace heddle {

class CudaDriver : public Driver {
public:
  /// Opens nothing yet. `library` is the name or path of libcuda; empty is what HEDDLE_CUDA_LIBRARY says.
  explicit CudaDriver(std::string library = "");
  ~CudaDriver() override;

  std::string name() const override { return "cuda"; }
  std::string description() const override;
  std::string problem() const override;
  int deviceCount() const override;
  bool canAccessPeer(int from, int to) const override;
  /// Also lets the device and those opened before reach each other's memory, where the machine can. Throws
  /// Error{Environment} for a compute capability that Heddle has no code for.
  std::shared_ptr<Device> open(int ordinal) override;

private:
  void start() const;
  bool askPeer(int from, int to) const;
  std::unique_ptr<CudaContext> makeContext(int ordinal);
  void connect(const CudaContext &from, const CudaContext &to);

  const std::string library;
  mutable std::once_flag started;
  mutable std::unique_ptr<CudaApi> api; ///< null when there is none
  mutable std::string startProblem;
  mutable std::vector<std::optional<bool>> peers; ///< by from and to
  mutable int count = 0;
  mutable std::mutex mutex;
  CudaMemory memory;
  CudaGate gate;
  CudaStagingPool staging;
  std::vector<std::unique_ptr<CudaContext>> contexts; ///< kept until the driver goes: making one takes long
  std::vector<std::weak_ptr<Device>> devices;
};

/// Never destroyed: libcuda may be gone before the program's last objects.
CudaDriver &cudaDriver();

class CudaDevice : public Device {
public:
  CudaDevice(CudaDriver &driver, const CudaContext &context) : owner(driver), gpu(context) {}

  std::string name() const override { return gpu.name; }
  std::string description() const override;
  Driver &driver() const override { return owner; }
  int ordinal() const override { return gpu.ordinal; }
  const Chip &chip() const override { return *gpu.chip; }
  MemoryInfo memoryInfo() const override;
  std::unique_ptr<Stream> createStream() override;
  std::shared_ptr<Event> createEvent() override;
  std::shared_ptr<Module> loadModule(const Package &package) override;

  const CudaContext &context() const { return gpu; }

protected:
  uint64_t allocateMemory(uint64_t sizeBytes, const std::string &name) override;
  void freeMemory(uint64_t address) noexcept override;

private:
  CudaDriver &owner;
  const CudaContext &gpu;
};

} // namespace heddle
