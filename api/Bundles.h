// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Makes bundles: kernels of the library and of collectives, compiled beforehand for a list of chips.
#pragma once
#include "api/KernelLibrary.h"
#include "binary/Bundle.h"
#include "collectives/Collective.h"
#include <functional>
#include <string>
#include <vector>

namespace heddle {

/// Told what is compiled, a line each, for people who wait; may be empty.
using BundleProgress = std::function<void(const std::string &)>;

/// Throws Error{Input} for none, and for an unknown one.
void requireBundleTargets(const std::vector<std::string> &targets);

struct KernelBundleRequest {
  std::vector<std::string> targets; ///< `host`, `sm_90`, ...; at least one
  std::vector<std::string> kernels; ///< names; none: every kernel whose extents a shape gives
  std::vector<std::string> shapes;  ///< `M=128,K=512`: each for the kernels that have these extents and no others
  /// Arguments, permutations, strides, element type, tuned or not, and options of every call; its kernel, device and
  /// shape do not count.
  LibraryRequest call;
};
/// Throws Error{Input} for an unknown target or kernel, for a named kernel that no shape fits and a shape that fits no
/// kernel, and what compileLibraryKernel throws.
Bundle bundleKernels(const KernelBundleRequest &request, const BundleProgress &progress);

struct CollectiveBundleRequest {
  std::vector<std::string> targets; ///< at least one
  std::vector<CollectiveKind> kinds;
  std::vector<ElementType> types;
  std::vector<int> ranks; ///< of all hosts together
  int hosts = 1; ///< above 1: the kernels of all plans that ranks of so many hosts may choose, equally many on each
  std::vector<int64_t> sizes; ///< bytes, as collectiveOfSize takes them
  Reduction reduction = Reduction::Sum;
  std::string algorithm;            ///< empty: the plan chooses
  int root = 0;                     ///< of broadcasts
  int computeUnits = 0;             ///< GPUs: of each device; 0: of the chip's product
  int reservedUnits = 0;            ///< as heddle_communicator_options has it
  std::string processor = "native"; ///< for the host
};
/// The kernels of the plans that heddle_communicator_prepare makes for these; plans that share a kernel have one.
/// Throws Error{Input} as makePlan, with the collective, and where no size has elements.
Bundle bundleCollectives(const CollectiveBundleRequest &request, const BundleProgress &progress);

} // namespace heddle
