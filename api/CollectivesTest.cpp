// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Words, sizes and factors as nccl-tests has them.
#include "api/Collectives.h"
#include "chips/Chip.h"
#include "support/Error.h"
#include "support/File.h"
#include "support/TestPaths.h"
#include <gtest/gtest.h>

using namespace heddle;

namespace {

std::string messageOf(const std::function<void()> &action) {
  try {
    action();
  } catch (const Error &error) {
    EXPECT_EQ(error.kind, ErrorClass::Input);
    return error.what();
  }
  return "no error";
}

TEST(ApiCollectives, ByteSizes) {
  EXPECT_EQ(parseByteSize("-b", "0"), 0);
  EXPECT_EQ(parseByteSize("-b", "513"), 513);
  EXPECT_EQ(parseByteSize("-b", "4K"), 4096);
  EXPECT_EQ(parseByteSize("-b", "64k"), 65536);
  EXPECT_EQ(parseByteSize("-b", "1.5M"), 3 << 19);
  EXPECT_EQ(parseByteSize("-b", "2G"), int64_t(2) << 30);
  for (const char *text : {"", "K", "-1", "4KB", "4 K", "4T", "nan", "0x10", "1e"})
    EXPECT_EQ(messageOf([&] { parseByteSize("--minbytes", text); }),
              std::string("`--minbytes ") + text + "` is no size in bytes");
  EXPECT_EQ(messageOf([&] { parseByteSize("-e", "99999999G"); }), "`-e 99999999G` is above 2^56 bytes");
}

TEST(ApiCollectives, Words) {
  for (CollectiveKind kind : {CollectiveKind::AllReduce, CollectiveKind::AllGather, CollectiveKind::ReduceScatter,
                              CollectiveKind::AllToAll, CollectiveKind::Permute, CollectiveKind::Broadcast})
    EXPECT_EQ(parseCollective(collectiveName(kind)), kind);
  EXPECT_EQ(messageOf([] { parseCollective("allreduce"); }), "there is no collective `allreduce`");
  EXPECT_EQ(parseDatatype("half"), ElementType::F16);
  EXPECT_EQ(parseDatatype("bfloat16"), ElementType::BF16);
  EXPECT_EQ(parseDatatype("uint8"), ElementType::UI8);
  for (ElementType type : allElementTypes())
    EXPECT_EQ(parseDatatype(elementTypeName(type)), type);
  EXPECT_EQ(messageOf([] { parseDatatype("float16"); }), "there is no element type `float16`");
  EXPECT_EQ(parseReduction("prod"), Reduction::Product);
  EXPECT_EQ(parseReduction("maximum"), Reduction::Maximum);
  EXPECT_EQ(messageOf([] { parseReduction("avg"); }), "there is no reduction `avg`");
  EXPECT_EQ(parseReductionOf(CollectiveKind::AllGather, ""), Reduction::Sum);
  EXPECT_EQ(messageOf([] { parseReductionOf(CollectiveKind::Permute, "max"); }), "`--op max`: permute reduces nothing");
}

Collective ofSize(CollectiveKind kind, ElementType type, int ranks, int64_t bytes) {
  return collectiveOfSize(kind, type, Reduction::Sum, ranks, bytes);
}

// Sizes of all-gather, reduce-scatter and all-to-all are those of all parts together, and a part is a multiple of 16
// bytes.
TEST(ApiCollectives, SizesAndCounts) {
  Collective c = ofSize(CollectiveKind::AllReduce, ElementType::BF16, 4, 1023);
  EXPECT_EQ(countColumn(c), 511);
  EXPECT_EQ(sizeColumn(c), 1022);
  for (CollectiveKind kind : {CollectiveKind::AllGather, CollectiveKind::ReduceScatter, CollectiveKind::AllToAll}) {
    c = ofSize(kind, ElementType::F32, 3, 1000);
    EXPECT_EQ(countColumn(c), 80);
    EXPECT_EQ(sizeColumn(c), 960);
    EXPECT_EQ(sizeColumn(ofSize(kind, ElementType::F32, 4, 8)), 0);
  }
  EXPECT_EQ(sizeColumn(ofSize(CollectiveKind::Broadcast, ElementType::F64, 5, 100)), 96);
  c = ofSize(CollectiveKind::Permute, ElementType::I8, 3, 5);
  EXPECT_EQ(sizeColumn(c), 5);
  EXPECT_EQ(c.sources, (std::vector<int>{2, 0, 1}));
}

TEST(ApiCollectives, BusFactors) {
  EXPECT_DOUBLE_EQ(busFactor(CollectiveKind::AllReduce, 4), 1.5);
  EXPECT_DOUBLE_EQ(busFactor(CollectiveKind::AllReduce, 1), 0);
  EXPECT_DOUBLE_EQ(busFactor(CollectiveKind::AllGather, 4), 0.75);
  EXPECT_DOUBLE_EQ(busFactor(CollectiveKind::ReduceScatter, 8), 0.875);
  EXPECT_DOUBLE_EQ(busFactor(CollectiveKind::AllToAll, 2), 0.5);
  EXPECT_DOUBLE_EQ(busFactor(CollectiveKind::Permute, 4), 1);
  EXPECT_DOUBLE_EQ(busFactor(CollectiveKind::Broadcast, 4), 1);
}

// Only who knows that the operands are plain buffers may have them touched by other ranks.
TEST(ApiCollectives, DirectPlansAreForPlainBuffers) {
  for (CollectiveKind kind :
       {CollectiveKind::AllReduce, CollectiveKind::AllGather, CollectiveKind::ReduceScatter, CollectiveKind::AllToAll})
    for (const char *driver : {"host", "cuda"}) {
      Collective large = ofSize(kind, ElementType::F32, 4, 64 << 20);
      Plan plan = planFor(large, driver, {});
      EXPECT_TRUE(plan.algorithm->direct) << collectiveName(kind);
      EXPECT_EQ(plan.arena.stagingParity, 0);
      EXPECT_FALSE(makePlan(large, plan.target == "host" ? hostChip : sm90Chip, {}).algorithm->direct);
      EXPECT_FALSE(planFor(ofSize(kind, ElementType::F32, 4, 16 << 10), driver, {}).algorithm->direct);
    }
}

// All blocks wait for others, so all have to live at once. H200 has 132 units, H20 78, half an H200 66.
TEST(ApiCollectives, PlansFitTheUnitsOfTheDevice) {
  for (CollectiveKind kind : {CollectiveKind::AllReduce, CollectiveKind::AllGather, CollectiveKind::ReduceScatter,
                              CollectiveKind::AllToAll, CollectiveKind::Permute, CollectiveKind::Broadcast})
    for (int64_t bytes = 1 << 10; bytes <= 256 << 20; bytes *= 4)
      for (int64_t row : {0, 8192}) {
        Collective collective = ofSize(kind, ElementType::BF16, 2, bytes);
        if (row && (collective.partElements() % row || kind != CollectiveKind::AllReduce))
          continue;
        PlanOptions options;
        options.direct = !row, options.rowElements = row;
        std::string usual = planKey(makePlan(collective, sm90Chip, options));
        for (int units : {1, 66, 78, 132}) {
          options.computeUnits = units;
          Plan plan = makePlan(collective, sm90Chip, options);
          int64_t perUnit = std::max(1, 256 / (plan.warps * 32));
          EXPECT_LE(plan.blocks, units * perUnit) << planKey(plan);
          EXPECT_GE(plan.rounds * plan.roundElements(), plan.sliceElements) << planKey(plan);
          if (units == 132)
            EXPECT_EQ(planKey(plan), usual);
        }
      }
}

// The table between the headings, in the order of allAlgorithms.
TEST(ApiCollectives, TheDocumentationListsEveryAlgorithm) {
  std::string table;
  for (const Algorithm *algorithm : allAlgorithms()) {
    std::string kinds;
    for (CollectiveKind kind : algorithm->kinds)
      kinds += (kinds.empty() ? "" : ", ") + std::string(collectiveName(kind));
    table += "| `" + std::string(algorithm->name) + "` | " + kinds + " | " + std::to_string(algorithm->barriers) +
             " | " + algorithm->sentence + " |\n";
  }
  std::string page = readFile(sourcePath("docs/collective-algorithms.md"));
  EXPECT_NE(page.find("|---|---|---|---|\n" + table + "\n"), std::string::npos)
      << "docs/collective-algorithms.md lacks this table:\n"
      << table;
}

// From 64 MB of all outputs on; the slices are no whole number of tiles.
TEST(ApiCollectives, OutputsPastTheCachesAreRight) {
  EXPECT_FALSE(planFor(ofSize(CollectiveKind::AllReduce, ElementType::F64, 4, 15 << 20), "host", {}).streams);
  for (CollectiveKind kind : {CollectiveKind::AllReduce, CollectiveKind::AllGather, CollectiveKind::AllToAll}) {
    BenchmarkRequest request;
    request.kind = kind;
    request.type = ElementType::F64;
    request.iterations = 1;
    CollectiveBenchmark benchmark(request);
    BenchmarkRow row = benchmark.measure((16 << 20) + (kind == CollectiveKind::AllReduce ? 24 : 96));
    EXPECT_TRUE(row.plan.streams);
    EXPECT_EQ(row.outOfPlace.firstWrong, "");
    EXPECT_EQ(row.inPlace.firstWrong, "");
  }
}

TEST(ApiCollectives, EveryCollectiveIsRightOutOfPlaceAndInPlace) {
  for (CollectiveKind kind : {CollectiveKind::AllReduce, CollectiveKind::AllGather, CollectiveKind::ReduceScatter,
                              CollectiveKind::AllToAll, CollectiveKind::Permute, CollectiveKind::Broadcast})
    for (const Algorithm *algorithm : allAlgorithms()) {
      if (!algorithm->does(kind))
        continue;
      BenchmarkRequest request;
      request.kind = kind;
      request.devices = 3;
      request.iterations = 2;
      request.checks = 2;
      request.plan = {algorithm->name, 2, 64, 2}; // several rounds
      CollectiveBenchmark benchmark(request);
      for (int64_t bytes : {0, 100, 4096}) {
        BenchmarkRow row = benchmark.measure(bytes);
        EXPECT_EQ(row.outOfPlace.firstWrong, "") << algorithm->name << ", " << bytes;
        EXPECT_EQ(row.inPlace.firstWrong, "") << algorithm->name << ", " << bytes;
        EXPECT_GE(row.inPlace.maximum, row.inPlace.p50);
        EXPECT_GE(row.inPlace.p50, row.inPlace.minimum);
      }
    }
}

} // namespace
