// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Code on a GPU. A vendor adds how it is loaded, what may be launched, and the launch.
#pragma once
#include "runtime/Launch.h"
#include "runtime/drivers/gpu/GpuDriver.h"
#include <atomic>

namespace heddle {

/// A vendor's encoding of a tensor map, which is a parameter by value.
struct alignas(128) TensorMapParameter {
  char bytes[128];
};

class GpuModule : public Module {
public:
  ~GpuModule() override;

  const GpuContext &context() const { return device->context(); }
  gpu::Function function() const { return entry; }
  /// Throws Error{Input} for a grid that the device or the kernel does not allow. For a launch that has passed
  /// heddle::checkLaunch.
  virtual void checkGrid(const Launch &launch) const = 0;
  /// Of a launch that has passed checkGrid: a parameter for each of the package's tensor maps. Errors as of
  /// resolveTensorMaps.
  virtual std::vector<TensorMapParameter> tensorMaps(const Launch &launch) const { return {}; }
  /// Puts the launch into the stream; `parameters` are the addresses of its arguments, each in 8 bytes, of that of the
  /// launch's record, and of its tensor maps. `startsEarly`: while the one before it still runs, if it can.
  virtual GpuResult launch(const Launch &launch, gpu::Stream stream, void **parameters, bool startsEarly) const = 0;
  /// Whether the launch after this one may lie ready while this one runs.
  virtual bool leavesRoom(const Launch &launch) const { return false; }
  int64_t residentBlocks() const;              ///< that live on the device at once, which may be a share of a GPU
  int residentBlocksPerMultiprocessor() const; ///< asked once, when the code is loaded and its limits are set

protected:
  GpuModule(std::shared_ptr<GpuDevice> device, const Package &package);
  /// Finds the package's entry in the loaded code. Throws Error{Input} when it has none.
  void findEntry();
  /// Throws Error{Input} for more threads, or more shared memory, than the code or the device allows.
  void checkLimits() const;
  /// Throws Error{Input} for a cooperative launch whose blocks do not fit on the device at once.
  void checkCooperative(const Launch &launch) const;
  /// Whether the driver has to start all blocks of a launch at once. A grid of which two fit is launched as any other:
  /// its blocks find room, and it may run beside another of its kind on another stream, which cooperative launches are
  /// kept from. Two collectives whose ranks start them in different orders would then wait for each other. So would the
  /// ranks of one, where they share a GPU.
  bool needsWholeDevice(const Launch &launch) const;
  static int64_t blocksOf(const Launch &launch);
  /// A launch of blocks of `threads` along x, y and z.
  GpuResult launchBlocks(const Launch &launch, const std::array<unsigned, 3> &threads, gpu::Stream stream,
                         void **parameters) const;
  std::shared_ptr<GpuDevice> device;
  gpu::Module handle = nullptr;
  std::shared_ptr<const std::string> image; ///< kept until the code is given back; may be null
  gpu::Function entry = nullptr;

private:
  std::string residentText() const; ///< `4 multiprocessors with 2 blocks each`

  mutable std::atomic<int> residentPerMultiprocessor = -1; ///< not asked yet
};

} // namespace heddle
