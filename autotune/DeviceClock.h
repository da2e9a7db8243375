// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Times the candidates of a space on a device: by events around graphs on GPUs, by the host's clock on the host.
#pragma once
#include "autotune/Clock.h"
#include "autotune/Space.h"
#include "compiler/pipeline/Compile.h"
#include "kernels/Prepared.h"

namespace heddle::autotune {

/// Packages by the text they were compiled from, of one chip and one set of options: several spaces may share them, as
/// those of several shapes.
struct CompiledPackages {
  struct Made {
    std::shared_ptr<const Package> package; ///< null: it does not compile
    std::string error;
  };
  std::map<std::string, Made> made;
};

struct DeviceClockOptions {
  int threads = 1;            ///< that compile at the same time
  bool isCold = false;        ///< caches are emptied before each call
  double secondsPerCall = 10; ///< after which a candidate has failed
  uint64_t inputSeed = 1;     ///< of the contents of inputs that are not given
  std::shared_ptr<CompiledPackages> compiled = std::make_shared<CompiledPackages>();
  CompileOptions compile = {}; ///< all but target and warps
};

/// Throws CandidateFailure where a result of a candidate is not that of the default, as kernels::compareArrays
/// compares.
void requireSame(const std::string &name, const kernels::HostArray &ours, const kernels::HostArray &theirs,
                 double tolerance);

class DeviceClock : public Clock {
public:
  /// `given` are contents of inputs; the others are made. Throws as Device::allocate at the first prepare.
  DeviceClock(std::shared_ptr<Device> device, const kernels::LibraryKernel &kernel, const Space &space,
              kernels::HostArrays given, const DeviceClockOptions &options);
  ~DeviceClock() override;

  void expect(const std::vector<size_t> &candidates) override;
  void prepare(size_t candidate) override;
  double measure(size_t candidate) override;
  void release(size_t candidate) override;

private:
  class State;
  std::unique_ptr<State> state;
};

/// The packages of candidates, compiled by several threads in the order in which they are wanted. Launches that differ
/// in arguments alone share one.
class CandidateCompiler {
public:
  CandidateCompiler(const Space &space, const Chip &chip, const DeviceClockOptions &options);

  void expect(const std::vector<size_t> &candidates);
  /// Those of this candidate. The next ones in the expected order are compiled at the same time, so that nothing is
  /// compiled while something is measured. `load` is called with each new package, on any thread. Throws
  /// CandidateFailure.
  std::vector<std::shared_ptr<const Package>> packagesOf(size_t candidate,
                                                         const std::function<void(const Package &)> &load = {});

private:
  std::string identityOf(const kernels::Step &step) const;
  void compileAll(const std::vector<const kernels::Step *> &steps, const std::function<void(const Package &)> &load);

  const Space &space;
  const Chip &chip;
  const DeviceClockOptions options;
  std::vector<size_t> expected;
  size_t next = 0; ///< of `expected`
  std::map<std::string, CompiledPackages::Made> &made;
};

} // namespace heddle::autotune
