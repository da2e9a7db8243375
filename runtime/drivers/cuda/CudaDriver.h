// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// NVIDIA GPUs as a driver: `cuda:0`, `cuda:1`, ... through libcuda.so.1, which need not be there.
#pragma once
#include "runtime/drivers/cuda/CudaApi.h"
#include "runtime/drivers/gpu/GpuDriver.h"
#include "support/FileDescriptor.h"
#include <map>

namespace heddle {

class CudaDriver : public GpuDriver {
public:
  /// Opens nothing yet. `library` is the name or path of libcuda; empty is what HEDDLE_CUDA_LIBRARY says.
  explicit CudaDriver(std::string library = "") : GpuDriver("cuda", "CUDA"), libraryPath(std::move(library)) {}
  ~CudaDriver() override { close(); }

protected:
  std::unique_ptr<GpuApi> openLibrary() const override;
  const Chip *identify(const std::string &device, gpu::DeviceNumber number, const std::string &product) const override;
  void *makeHandle(const std::string &device, gpu::DeviceNumber number) const override;
  std::shared_ptr<GpuDevice> makeDevice(const GpuContext &context) override;

private:
  const CudaApi &api() const { return static_cast<const CudaApi &>(library()); }

  const std::string libraryPath;
};

/// Never destroyed: libcuda may be gone before the program's last objects.
CudaDriver &cudaDriver();

class CudaDevice : public GpuDevice {
public:
  using GpuDevice::GpuDevice;
  std::shared_ptr<Module> loadModule(const Package &package) override;

  std::shared_ptr<void> allowInCaptures() override;

  // ---- CudaSharing.cpp ----
  std::vector<SharingKind> sharing() const override;
  std::string hardwareId() const override;
  ExportedRange exportRange(uint64_t address, uint64_t sizeBytes) override;

protected:
  uint64_t allocateShareable(uint64_t sizeBytes, const std::string &name, Caching caching, SharingKind kind) override;
  ExportedMemory exportAllocation(uint64_t address, uint64_t sizeBytes) override;
  uint64_t importAllocation(const ExportedMemory &memory, const std::string &name) override;

private:
  const CudaApi &api() const { return static_cast<const CudaApi &>(context().api); }
  uint64_t granuleOf(uint64_t sizeBytes) const;
  uint64_t mapHandle(cuda::MemoryHandle handle, uint64_t sizeBytes, const std::string &where) const;
  uint64_t allocateByDescriptor(uint64_t sizeBytes, const std::string &name);
  uint64_t allocateByHandle(uint64_t sizeBytes, const std::string &name);
  bool holdsOneHandle(uint64_t base, uint64_t sizeBytes, cuda::MemoryHandle handle) const;
  ExportedMemory exportByHandle(uint64_t address, uint64_t sizeBytes);
  ExportedMemory exportForeign(uint64_t base, uint64_t sizeBytes, const std::string &where);
  [[noreturn]] void noMemory(uint64_t sizeBytes, const std::string &name) const;

  /// Kept while the memory lives, in the device's memory table: the descriptors of what it may export.
  std::mutex sharingMutex;
  std::map<uint64_t, std::weak_ptr<FileDescriptor>> descriptors; ///< by address
};

} // namespace heddle
