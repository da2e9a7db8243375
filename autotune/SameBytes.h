// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Whether two buffers of a GPU have the same bytes, asked there: results of candidates are large, and travel slowly.
#pragma once
#include "runtime/Device.h"
#include "runtime/Stream.h"

namespace heddle::autotune {

class SameBytes {
public:
  /// Compiles for the device's chip. Throws as compile and Device::loadModule.
  explicit SameBytes(std::shared_ptr<Device> device);
  /// After all work of the stream. `sizeBytes` is a multiple of 4.
  bool compare(Stream &stream, uint64_t first, uint64_t second, uint64_t sizeBytes);

private:
  std::shared_ptr<Device> device;
  Kernel kernel;
  Buffer answer;
};

} // namespace heddle::autotune
