// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Kernels of plans from bundles: found by key, refused where the protocol's memory lies elsewhere, else from the
// others.
#include "collectives/BundledKernels.h"
#include "support/TestError.h"

using namespace heddle;

namespace {

Plan allReduce(int64_t elements) {
  Collective collective;
  collective.ranks = 2;
  collective.inner = elements;
  return makePlan(collective, hostChip);
}

Package packageOf(const std::string &code) {
  Package package;
  package.kernel = "sum";
  package.target = "host";
  package.binary = code;
  return package;
}

std::shared_ptr<const Bundle> bundleOf(const Plan &plan, const std::string &code, const std::string &layout) {
  auto bundle = std::make_shared<Bundle>();
  bundle->producer = "heddle test";
  bundle->collectives.push_back({"host", kernelKey(plan), layout, bundle->add(packageOf(code))});
  return bundle;
}

struct Others : KernelSource {
  Package kernelOf(const Plan &) const override { return packageOf("others"); }
};

TEST(BundledKernels, TheFirstBundleThatHasOneCounts) {
  Plan plan = allReduce(1024), other = allReduce(1 << 20);
  BundledKernels kernels(std::make_shared<Others>());
  EXPECT_EQ(kernels.kernelOf(plan).binary, "others");
  kernels.add(bundleOf(other, "other size", layoutKey(other)));
  EXPECT_EQ(kernels.kernelOf(plan).binary, "others");
  kernels.add(bundleOf(plan, "first", layoutKey(plan)));
  kernels.add(bundleOf(plan, "second", layoutKey(plan)));
  EXPECT_EQ(kernels.kernelOf(plan).binary, "first");
  EXPECT_EQ(kernels.kernelOf(other).binary, "other size");
}

TEST(BundledKernels, RefusesAnotherLayout) {
  Plan plan = allReduce(1024);
  BundledKernels kernels(std::make_shared<Others>());
  kernels.add(bundleOf(plan, "old", "protocol 0"));
  Error error = errorOf([&] { kernels.kernelOf(plan); });
  EXPECT_EQ(error.kind, ErrorClass::Environment);
  EXPECT_CONTAINS(error.what(), "is of heddle test, and does not fit this version");
  ASSERT_EQ(error.notes.size(), 2u);
  EXPECT_EQ(error.notes[0], "its memory: protocol 0; here: " + layoutKey(plan));
}

} // namespace
