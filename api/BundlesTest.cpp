// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Collectives whose kernels come from a bundle alone, on the host and on simulated devices: the plans at run time find
// them.
#include "api/Bundles.h"
#include "api/Collectives.h"
#include "collectives/BundledKernels.h"
#include "collectives/Communicator.h"
#include "runtime/Driver.h"
#include "runtime/Stream.h"
#include "support/TestError.h"

using namespace heddle;

namespace {

struct NoOthers : KernelSource {
  Package kernelOf(const Plan &plan) const override { throw environmentError("no kernel for " + kernelKey(plan)); }
};

CollectiveBundleRequest sums(const std::string &target, int reservedUnits = 0) {
  CollectiveBundleRequest request;
  request.targets = {target};
  request.kinds = {CollectiveKind::AllReduce};
  request.types = {ElementType::F32};
  request.ranks = {2};
  request.sizes = {1024, 65536};
  request.reservedUnits = reservedUnits;
  return request;
}

/// A group of two devices that compiles nothing.
struct Group {
  Group(const std::string &driver, const Bundle &bundle) {
    useSimulatedDevices();
    kernels = std::make_shared<BundledKernels>(std::make_shared<NoOthers>());
    kernels->add(std::make_shared<const Bundle>(bundle));
    for (const char *ordinal : {":0", ":1"})
      devices.push_back(openDevice(driver + ordinal));
    communicator = std::make_unique<Communicator>(devices, Communicator::Options{.kernels = kernels});
  }

  /// As heddle_communicator_prepare plans it.
  Plan planOf(int64_t elements) const {
    Collective collective;
    collective.ranks = 2;
    collective.inner = elements;
    PlanOptions options;
    options.computeUnits = communicator->computeUnits();
    return makePlanBeside(0, collective, devices.front()->chip(), options);
  }

  std::shared_ptr<BundledKernels> kernels;
  std::vector<std::shared_ptr<Device>> devices;
  std::unique_ptr<Communicator> communicator;
};

void expectSum(Group &group, int64_t elements) {
  Communicator &communicator = *group.communicator;
  Communicator::Operation &sum = communicator.prepare(group.planOf(elements));
  std::vector<Buffer> inputs, outputs;
  std::vector<std::vector<float>> values;
  const auto bytes = uint64_t(elements) * sizeof(float);
  for (int rank = 0; rank < 2; ++rank) {
    values.emplace_back(size_t(elements), float(rank + 1));
    inputs.push_back(communicator.device(rank)->allocate(bytes, "input"));
    outputs.push_back(communicator.device(rank)->allocate(bytes, "output"));
    communicator.stream(rank).copyToDevice(inputs.back(), values.back().data());
  }
  for (int rank = 0; rank < 2; ++rank)
    communicator.launch(sum, rank, {inputs[size_t(rank)], outputs[size_t(rank)]});
  for (int rank = 0; rank < 2; ++rank)
    communicator.stream(rank).copyToHost(values[size_t(rank)].data(), outputs[size_t(rank)]);
  communicator.synchronize();
  for (const std::vector<float> &result : values)
    EXPECT_EQ(result, std::vector<float>(size_t(elements), 3));
}

TEST(CollectiveBundle, SumsOnTheHost) {
  Group group("host", bundleCollectives(sums("host"), {}));
  expectSum(group, 256);
  expectSum(group, 16384);
}

TEST(CollectiveBundle, SumsOnSimulatedDevices) {
  Group group("sim:gfx942", bundleCollectives(sums("gfx942"), {}));
  expectSum(group, 256);
}

TEST(CollectiveBundle, OfAnotherSizeIsNotThere) {
  Group group("host", bundleCollectives(sums("host"), {}));
  Error error = errorOf([&] { group.communicator->prepare(group.planOf(1 << 22)); });
  EXPECT_EQ(error.kind, ErrorClass::Environment);
  EXPECT_CONTAINS(error.what(), "no kernel for all-reduce sum f32, 2 ranks");
}

TEST(CollectiveBundle, HasThePlansOfReservedUnits) {
  CollectiveBundleRequest request = sums("sm_90", 131);
  request.ranks = {8};
  request.sizes = {int64_t(4) << 20};
  Bundle bundle = bundleCollectives(request, {});
  Collective collective = collectiveOfSize(CollectiveKind::AllReduce, ElementType::F32, Reduction::Sum, 8, 4 << 20);
  PlanOptions options;
  options.computeUnits = sm90Chip.computeUnits;
  std::string reserved = kernelKey(makePlanBeside(131, collective, sm90Chip, options));
  std::string usual = kernelKey(makePlanBeside(0, collective, sm90Chip, options));
  EXPECT_NE(reserved, usual);
  EXPECT_NE(bundle.findCollective("sm_90", reserved), nullptr);
  EXPECT_EQ(bundle.findCollective("sm_90", usual), nullptr);
}

TEST(CollectiveBundle, RefusesUnknownTargetsAndNone) {
  EXPECT_CONTAINS(messageOf([] { bundleCollectives(sums("sm_91"), {}); }), "unknown target 'sm_91'");
  CollectiveBundleRequest none = sums("host");
  none.targets.clear();
  EXPECT_CONTAINS(messageOf([&] { bundleCollectives(none, {}); }), "no target");
}

} // namespace
