// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// All-reduces whose data travel as FP8: within the bound of docs/modules.md, with the same bits on all ranks.
#include "chips/Chip.h"
#include "frontend/hlo/Parser.h"
#include "support/Error.h"
#include "tests/multi_device/TestDevices.h"
#include "tests/program/RunModule.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <random>

using namespace heddle;
using namespace heddle::program;
using namespace heddle::program::testing;
namespace reference = heddle::hlo::reference;

namespace {

constexpr int64_t blockElements = 128;

std::string moduleOf(const std::string &type, const std::string &header, const std::string &shape) {
  return fmt::format(
      "HloModule sums, {}\nsum {{ a = {}[] parameter(0)\n b = {}[] parameter(1)\n ROOT c = {}[] add(a, b) "
      "}}\nENTRY main {{\n x = {}[{}] parameter(0)\n ROOT y = {}[{}] all-reduce(x), to_apply=sum }}\n",
      header, type, type, type, type, shape, type, shape);
}

Results quantised(const hlo::Module &module, const Inputs &inputs) {
  ProgramOptions options;
  options.quantisesSums = true;
  return runOnDevices(module, inputs, options);
}

double numberAt(const ArrayBytes &array, int64_t at) {
  return reference::loadNumber(array.shape.type, reinterpret_cast<const uint8_t *>(array.bytes.data()) +
                                                     at * hlo::elementSizeBytes(array.shape.type));
}

/// What each rank's block adds to the error of its elements, and of more than two ranks the block of the sums.
double boundOf(const std::vector<std::vector<double>> &values, int64_t at) {
  double largest = 0;
  int64_t first = at / blockElements * blockElements;
  for (const std::vector<double> &rank : values) {
    double most = 0x1p-91; // 448 of the smallest scale
    for (int64_t i = first; i < std::min<int64_t>(first + blockElements, int64_t(rank.size())); ++i)
      most = std::max(most, std::abs(rank[size_t(i)]));
    largest += most;
  }
  return (values.size() > 2 ? largest * (2 + 1.0 / 16) : largest) / 16 * (1 + 1e-5);
}

void expectWithinBound(const std::string &type, int ranks, const std::string &shape) {
  SCOPED_TRACE(fmt::format("{}[{}] of {} ranks", type, shape, ranks));
  hlo::Module module = hlo::parseModule(moduleOf(type, fmt::format("replica_count={}", ranks), shape), "sums.hlo");
  if (!heddle::testing::hasDevices(ranks))
    return;
  std::mt19937_64 random(3);
  std::normal_distribution<double> normal;
  Inputs inputs(static_cast<size_t>(ranks));
  std::vector<std::vector<double>> values(static_cast<size_t>(ranks));
  for (size_t rank = 0; rank < inputs.size(); ++rank) {
    inputs[rank].push_back(reference::zeros(module.entryComputation().parameter(0).shape));
    reference::Value &input = inputs[rank].back();
    for (int64_t at = 0; at < input.shape.elementCount(); ++at) {
      double scale = std::exp2(double(at / blockElements % 9) - 4) * (at / blockElements % 5 == 3 ? 0 : 1);
      reference::storeNumber(input.shape.type, normal(random) * scale, input.at(at));
      values[rank].push_back(reference::loadNumber(input.shape.type, input.at(at)));
    }
  }
  Results results = quantised(module, inputs);
  double rounding = type == "bf16" ? 0x1p-8 : type == "f16" ? 0x1p-11 : 0x1p-23, largestError = 0;
  for (int64_t at = 0; at < int64_t(values[0].size()); ++at) {
    double exact = 0;
    for (const std::vector<double> &rank : values)
      exact += rank[size_t(at)];
    double seen = numberAt(results[0][0], at), bound = boundOf(values, at);
    ASSERT_NEAR(seen, exact, bound + (std::abs(exact) + bound) * rounding) << at;
    largestError = std::max(largestError, std::abs(seen - exact));
  }
  EXPECT_GT(largestError, 0x1p-6) << "nothing was quantised";
  for (const std::vector<ArrayBytes> &result : results)
    EXPECT_EQ(result[0].bytes, results[0][0].bytes);
}

TEST(QuantisedSum, IsWithinItsBound) {
  expectWithinBound("bf16", 2, "5,200");
  expectWithinBound("f32", 4, "1000");
  expectWithinBound("f16", 3, "2,3,128");
  expectWithinBound("bf16", 8, "2100");
}

TEST(QuantisedSum, ABlockWithoutANumberIsNone) {
  hlo::Module module = hlo::parseModule(moduleOf("f32", "replica_count=2", "256"), "sums.hlo");
  if (!heddle::testing::hasDevices(2))
    GTEST_SKIP() << "there are too few devices";
  Inputs inputs(2);
  for (auto &input : inputs) {
    input.push_back(reference::zeros(module.entryComputation().parameter(0).shape));
    for (int64_t at = 0; at < 256; ++at)
      reference::storeNumber(hlo::DType::F32, 1, input.back().at(at));
  }
  for (double number : {double(INFINITY), double(NAN)}) {
    reference::storeNumber(hlo::DType::F32, number, inputs[1][0].at(3));
    Results results = quantised(module, inputs);
    for (int64_t at = 0; at < 256; ++at)
      EXPECT_EQ(std::isnan(numberAt(results[0][0], at)), at < 128) << number << " at " << at;
    EXPECT_EQ(numberAt(results[0][0], 200), 2);
  }
}

TEST(QuantisedSum, OfPartitions) {
  hlo::Module module = hlo::parseModule(moduleOf("f32", "num_partitions=3", "384")
                                            .replace(moduleOf("f32", "num_partitions=3", "384").find(", to_apply"), 10,
                                                     ", channel_id=1, replica_groups={{0,1,2}}, "
                                                     "use_global_device_ids=true, to_apply"),
                                        "sums.hlo");
  if (!heddle::testing::hasDevices(3))
    GTEST_SKIP() << "there are too few devices";
  Inputs inputs(3);
  for (auto &input : inputs) {
    input.push_back(reference::zeros(module.entryComputation().parameter(0).shape));
    for (int64_t at = 0; at < 384; ++at)
      reference::storeNumber(hlo::DType::F32, 7, input.back().at(at)); // 7 is 448 / 64: exact
  }
  Results results = quantised(module, inputs);
  for (const auto &result : results)
    for (int64_t at = 0; at < 384; ++at)
      ASSERT_NEAR(numberAt(result[0], at), 21, 1e-5);
}

TEST(QuantisedSum, RefusesAModuleWithoutOne) {
  ProgramOptions options;
  options.quantisesSums = true;
  std::string mixed =
      "HloModule sums, replica_count=2\nsum { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT c = "
      "f32[] add(a, b) }\nENTRY main {\n x = f32[8] parameter(0)\n n = s32[8] parameter(1)\n ROOT y = "
      "(f32[8], s32[8]) all-reduce(x, n), to_apply=sum }\n";
  for (const std::string &text :
       {moduleOf("s32", "replica_count=2", "8"), moduleOf("f32", "replica_count=1", "8"), mixed})
    EXPECT_THROW(Program(hlo::parseModule(text, "sums.hlo"), lookupChip("host"), options), Error);
}

} // namespace
