// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Results do not depend on the rank, the algorithm, the cut of the work or the run, and special values are what
// Collective.h says.
#include "tests/multi_device/Cases.h"
#include <cmath>
#include <cstring>

using namespace heddle;
using namespace heddle::testing;

namespace {

TEST(SameBits, OnEveryRankByEveryAlgorithmAndEveryTime) {
  HEDDLE_WANTS_DEVICES(5);
  Communicator communicator(openDevices(firstOrdinals(5)));
  for (ElementType type : {ElementType::F32, ElementType::F16, ElementType::F64}) {
    Collective collective = makeCollective(CollectiveKind::AllReduce, 5, 1, 1237, type);
    auto inputs = reference::randomInputs(collective, 11, /*special=*/true);
    std::string first;
    for (const Algorithm *algorithm : allAlgorithms())
      for (const PlanOptions &cut : {PlanOptions{algorithm->name, 0, 0, 0}, PlanOptions{algorithm->name, 3, 16, 2}}) {
        if (!algorithm->does(collective.kind))
          continue;
        for (int time = 0; time < 3; ++time) {
          CollectiveRun run(communicator, makePlan(collective, chipUnderTest(), cut), inputs);
          for (const std::string &output : run.run()) {
            first = first.empty() ? output : first;
            EXPECT_TRUE(output == first) << elementTypeName(type) << " by " << algorithm->name << ", time " << time
                                         << ": " << reference::firstDifference(type, output, first);
          }
        }
      }
  }
}

std::string elementsOf(ElementType type, const std::vector<double> &values) {
  size_t size = size_t(elementSizeBytes(type));
  std::string bytes(values.size() * size, '\0');
  for (size_t i = 0; i < values.size(); ++i)
    storeDouble(type, values[i], bytes.data() + i * size);
  return bytes;
}

/// As text with signs of zeros, NaN without payload.
std::vector<std::string> readable(ElementType type, const std::string &bytes) {
  std::vector<std::string> words;
  size_t size = size_t(elementSizeBytes(type));
  for (size_t i = 0; i < bytes.size(); i += size) {
    double value = loadDouble(type, bytes.data() + i);
    words.push_back(std::isnan(value) ? "nan" : (std::signbit(value) ? "-" : "+") + std::to_string(std::fabs(value)));
  }
  return words;
}

struct SpecialCase {
  Reduction reduction;
  std::vector<double> result;
};

TEST(SameBits, SpecialValues) {
  HEDDLE_WANTS_DEVICES(2);
  const double zero = 0.0, inf = INFINITY, nan = NAN;
  const std::vector<std::vector<double>> inputs = {
      {nan, 1, inf, inf, -zero, -zero, zero, 1, -inf, nan},
      {1, nan, inf, -inf, -zero, zero, -zero, inf, -zero, nan},
  };
  const std::vector<SpecialCase> cases = {
      {Reduction::Sum, {nan, nan, inf, nan, zero, zero, zero, inf, -inf, nan}},
      {Reduction::Product, {nan, nan, inf, -inf, zero, -zero, -zero, inf, nan, nan}},
      {Reduction::Minimum, {nan, nan, inf, -inf, -zero, -zero, -zero, 1, -inf, nan}},
      {Reduction::Maximum, {nan, nan, inf, inf, -zero, zero, zero, inf, -zero, nan}},
  };
  Communicator communicator(openDevices({0, 1}));
  for (ElementType type : {ElementType::F64, ElementType::F32, ElementType::F16, ElementType::BF16})
    for (const SpecialCase &each : cases)
      for (const char *algorithm : {"one_shot_packets", "one_shot_pull"}) {
        Collective collective =
            makeCollective(CollectiveKind::AllReduce, 2, 1, int64_t(inputs[0].size()), type, each.reduction);
        CollectiveRun run(communicator, makePlan(collective, chipUnderTest(), {algorithm, 1, 16, 1}),
                          {elementsOf(type, inputs[0]), elementsOf(type, inputs[1])});
        for (const std::string &output : run.run())
          EXPECT_EQ(readable(type, output), readable(type, elementsOf(type, each.result)))
              << reductionName(each.reduction) << " of " << elementTypeName(type) << " by " << algorithm;
      }
}

// What is not reduced keeps its bits, those of a signalling NaN too.
TEST(SameBits, CopiesKeepEveryBit) {
  HEDDLE_WANTS_DEVICES(2);
  const std::vector<uint32_t> words = {0x7f800001, 0xffc12345, 0x80000000, 0x00000001, 0x7f7fffff, 0xff800000};
  Communicator communicator(openDevices({0, 1}));
  std::string bytes(words.size() * 4, '\0');
  std::memcpy(bytes.data(), words.data(), bytes.size());
  for (const Algorithm *algorithm : allAlgorithms()) {
    Collective collective = makeCollective(algorithm->kinds[0], 2, 1, int64_t(words.size()));
    if (collective.reduces())
      continue;
    collective.inner /= collective.inputParts();
    if (collective.kind == CollectiveKind::Permute)
      collective.sources = {1, 0};
    CollectiveRun run(communicator, makePlan(collective, chipUnderTest(), {algorithm->name, 1, 4, 1}), {bytes, bytes});
    auto expected = reference::runCollective(collective, {bytes, bytes});
    EXPECT_TRUE(run.run() == expected) << algorithm->name;
  }
}

} // namespace
