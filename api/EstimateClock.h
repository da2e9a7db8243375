// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Times candidates of a space by the simulator's estimate, for chips of AMD that are not here (docs/timing.md).
#pragma once
#include "autotune/DeviceClock.h"

namespace heddle {

class EstimateClock : public autotune::Clock {
public:
  /// `given` are contents of inputs; the others are made. `space` and `kernel` outlive it.
  EstimateClock(const Chip &chip, const kernels::LibraryKernel &kernel, const autotune::Space &space,
                const kernels::HostArrays &given, const autotune::DeviceClockOptions &options);

  bool isExact() const override { return true; }
  void expect(const std::vector<size_t> &candidates) override { compiler.expect(candidates); }
  void prepare(size_t candidate) override; ///< the simulation
  double measure(size_t candidate) override { return microseconds.at(candidate); }

private:
  struct Simulated;
  const Chip &chip;
  const kernels::LibraryKernel &kernel;
  const autotune::Space &space;
  autotune::CandidateCompiler compiler;
  kernels::HostArrays inputs, expected;
  std::map<size_t, double> microseconds;
  uint64_t instructionsOfDefault = 0;
};

} // namespace heddle
