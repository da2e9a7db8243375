// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A kernel of the host device with its buffers: what the rows share to launch one.
#pragma once
#include "runtime/Device.h"
#include "runtime/Launch.h"
#include "runtime/Stream.h"
#include <string>
#include <vector>

namespace heddle::bench {

/// The text of a file below the source folder.
std::string readSource(const std::string &path);

class HostKernel {
public:
  /// Compiles the file and loads it on `host:0`.
  explicit HostKernel(const std::string &path);

  /// A buffer of zeros, handed to the kernel as its next argument; the host device's memory is the program's own.
  float *buffer(size_t count);
  /// The same memory without an argument, for the other side of a ratio: equally aligned, equally backed.
  float *memory(size_t count);
  void scalar(int32_t value);
  void launch(int64_t x, int times = 1); ///< and waits

private:
  std::shared_ptr<Device> device;
  std::unique_ptr<Stream> stream;
  std::vector<Buffer> buffers;
  Launch description;
};

/// Numbers in [-1, 1).
void fillRandom(float *data, size_t count, uint32_t seed);

/// Throws Error{WrongResult} when two results differ by more than `tolerance`.
void expectClose(const float *actual, const float *expected, size_t count, double tolerance);

} // namespace heddle::bench
