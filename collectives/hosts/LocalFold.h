// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A kernel of `foldParts` on one device: folds arrays that lie one after the other in its memory. It has the arguments
// of every collective's kernel, and waits for no other rank.
#pragma once
#include "collectives/KernelSource.h"
#include "runtime/Device.h"
#include "runtime/Launch.h"
#include <map>
#include <mutex>

namespace heddle {

class Stream;

class LocalFold {
public:
  LocalFold(std::shared_ptr<Device> device, std::shared_ptr<const KernelSource> kernels, int computeUnits)
      : device(std::move(device)), kernels(std::move(kernels)), computeUnits(computeUnits) {}

  Plan planOf(ElementType type, Reduction reduction, int parts, int64_t elements) const;
  /// Of `parts` arrays of `elements`; loads a kernel and allocates, once for what is equal. 0 elements: nothing.
  void prepare(ElementType type, Reduction reduction, int parts, int64_t elements);
  /// What was prepared: input [parts][elements], output [elements]. Also while another thread prepares something else.
  void launch(Stream &stream, ElementType type, Reduction reduction, int parts, int64_t elements, uint64_t input,
              uint64_t output);

private:
  struct Prepared {
    Plan plan;
    Kernel kernel;
    Buffer arena, group;
  };
  const Prepared *find(const std::string &name);

  std::shared_ptr<Device> device;
  std::shared_ptr<const KernelSource> kernels;
  int computeUnits;
  std::mutex mutex;
  std::map<std::string, Prepared> prepared; ///< by description
};

} // namespace heddle
