// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a tuner may choose from for one call of a library kernel: the configurations that its definition declares
// (kernels/LibraryKernel.h), less those that the chip cannot run and those that make the same launches as another.
// Nothing is compiled for it.
#pragma once
#include "autotune/Configuration.h"
#include "kernels/LibraryKernel.h"

namespace heddle::autotune {

struct Candidate {
  Configuration configuration; ///< empty: the default
  kernels::Plan plan;
  kernels::Call call;
};

struct PrunedConfiguration {
  Configuration configuration;
  std::string reason;
};

struct Space {
  std::vector<Candidate> candidates; ///< the first is the default
  std::vector<PrunedConfiguration> pruned;

  std::vector<std::string> names() const; ///< of the candidates
  std::string hash() const;               ///< of these
};

/// Options and tile parameters that the request gives stay as they are. Throws as checkCall and planCall for a request
/// that the kernel refuses, Error{Internal} for a declaration that names what the kernel does not have.
Space makeSpace(const kernels::LibraryKernel &kernel, const kernels::CallRequest &request);

/// The request with a configuration in it.
kernels::CallRequest configured(const kernels::CallRequest &request, const Configuration &configuration);

/// The names of options and tile parameters that the tuner may choose where a caller does not.
std::vector<std::string> tunableNames(const kernels::LibraryKernel &kernel);

/// Why a chip cannot run a launch, as far as its program says that: threads of a block, registers for its largest tile,
/// shared memory for what it transposes. Empty: it may run.
std::string whyImpossible(const kernels::Step &step, const Chip &chip);

} // namespace heddle::autotune
