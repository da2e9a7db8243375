// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Plans of collectives between hosts: what the model chooses, how arrays are cut, what is refused, and the reference.
#include "collectives/hosts/HostPlan.h"
#include "chips/Chip.h"
#include "collectives/Reference.h"
#include "support/TestError.h"
#include <gtest/gtest.h>
#include <numeric>
#include <random>
#include <set>

namespace heddle {
namespace {

HostLayout layoutOf(int hosts, int perHost) {
  std::vector<std::string> names;
  for (int rank = 0; rank < hosts * perHost; ++rank)
    names.push_back(std::to_string(rank / perHost));
  return layOutHosts(names, 0);
}

Collective collectiveOf(CollectiveKind kind, int ranks, int64_t inner, ElementType type = ElementType::F32) {
  Collective collective;
  collective.kind = kind, collective.ranks = ranks, collective.inner = inner, collective.type = type;
  return collective;
}

HostPlan allReduce(int hosts, int perHost, int64_t elements, const HostModel &model,
                   const HostPlanOptions &options = {}) {
  return makeHostPlan(collectiveOf(CollectiveKind::AllReduce, hosts * perHost, elements), layoutOf(hosts, perHost),
                      model, options);
}

const HostModel usual = parseHostModel("3,300000,10,45000");

TEST(HostPlans, TakeWhatTheModelSays) {
  EXPECT_EQ(allReduce(2, 8, 256, usual).algorithm, HostAlgorithm::Whole); // fewest steps
  EXPECT_EQ(allReduce(2, 8, 1 << 20, usual).algorithm, HostAlgorithm::Shards);
  EXPECT_EQ(allReduce(8, 8, 1 << 26, usual).algorithm, HostAlgorithm::Pieces); // fewest bytes
  EXPECT_EQ(allReduce(2, 8, 1 << 20, usual).chunks.size(), 1u);
  EXPECT_GT(allReduce(2, 8, 1 << 26, usual).chunks.size(), 3u); // large ones go in chunks
  EXPECT_EQ(allReduce(2, 8, 1 << 26, parseHostModel("3,300000,1e6,45000")).chunks.size(), 1u);
  // Two hosts of eight, 64 MB: the time of links that work beside each other, not one after the other.
  HostPlan one = allReduce(2, 8, 1 << 24, usual, {"hosts_shards", 1}), many = allReduce(2, 8, 1 << 24, usual);
  EXPECT_LT(many.microseconds, 0.8 * one.microseconds);
}

TEST(HostPlans, CutEveryElementOnce) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 2000; ++round) {
    int hosts = 2 + int(random() % 7), perHost = 1 + int(random() % 8);
    int64_t elements = int64_t(random() % (round % 2 ? 100 : 1 << 22));
    ElementType type = round % 3 ? ElementType::BF16 : ElementType::F64;
    HostPlanOptions options;
    const char *names[] = {"", "hosts_whole", "hosts_shards", "hosts_pieces"};
    options.algorithm = names[random() % 4];
    options.chunks = int64_t(random() % 9);
    HostPlan plan = makeHostPlan(collectiveOf(CollectiveKind::AllReduce, hosts * perHost, elements, type),
                                 layoutOf(hosts, perHost), usual, options);
    EXPECT_EQ(std::accumulate(plan.chunks.begin(), plan.chunks.end(), plan.rest), elements);
    int64_t cut = perHost * (plan.algorithm == HostAlgorithm::Pieces ? hosts : 1);
    for (int64_t chunk : plan.chunks) {
      EXPECT_GT(chunk, 0);
      EXPECT_EQ(chunk * elementSizeBytes(type) % (cut * 64), 0) << hostPlanKey(plan);
    }
    EXPECT_GE(plan.rest, 0);
    if (plan.algorithm != HostAlgorithm::Whole)
      EXPECT_LT(plan.rest * elementSizeBytes(type), cut * 64);
    if (options.chunks && plan.algorithm != HostAlgorithm::Whole)
      EXPECT_LE(int64_t(plan.chunks.size()), options.chunks);
    EXPECT_EQ(hostPlanKey(plan), hostPlanKey(makeHostPlan(plan.collective, layoutOf(hosts, perHost), usual, options)));
  }
}

TEST(HostPlans, SayTheLargestPartOfAnExchange) {
  auto largest = [](CollectiveKind kind, int64_t inner, const HostPlanOptions &options = {}) {
    return largestPartBytes(makeHostPlan(collectiveOf(kind, 6, inner), layoutOf(3, 2), usual, options));
  };
  EXPECT_EQ(largest(CollectiveKind::AllGather, 100), 400u);
  EXPECT_EQ(largest(CollectiveKind::ReduceScatter, 100), 400u);
  EXPECT_EQ(largest(CollectiveKind::AllToAll, 100), 800u); // of both ranks of a host
  EXPECT_EQ(largest(CollectiveKind::AllReduce, 9600, {"hosts_whole", 0}), 38400u);
  EXPECT_EQ(largest(CollectiveKind::AllReduce, 9600, {"hosts_shards", 1}), 19200u);
  EXPECT_EQ(largest(CollectiveKind::AllReduce, 9600, {"hosts_shards", 2}), 9600u);
  EXPECT_EQ(largest(CollectiveKind::AllReduce, 9600, {"hosts_pieces", 1}), 6400u);
  EXPECT_EQ(largest(CollectiveKind::AllReduce, 5, {"hosts_pieces", 1}), 20u); // no cut fits
  EXPECT_EQ(largest(CollectiveKind::AllReduce, int64_t(1) << 32, {"hosts_whole", 0}), uint64_t(1) << 34);
}

TEST(HostPlans, KeysDifferWherePlansDo) {
  std::vector<std::string> keys = {
      hostPlanKey(allReduce(2, 2, 4096, usual, {"hosts_shards", 1})),
      hostPlanKey(allReduce(2, 2, 4096, usual, {"hosts_shards", 2})),
      hostPlanKey(allReduce(2, 2, 4096, usual, {"hosts_pieces", 1})),
      hostPlanKey(allReduce(4, 1, 4096, usual, {"hosts_shards", 1})),
      hostPlanKey(allReduce(2, 2, 4097, usual, {"hosts_shards", 1})),
      hostPlanKey(makeHostPlan(collectiveOf(CollectiveKind::AllGather, 4, 4096), layoutOf(2, 2), usual)),
  };
  for (size_t a = 0; a < keys.size(); ++a)
    for (size_t b = 0; b < a; ++b)
      EXPECT_NE(keys[a], keys[b]);
}

TEST(HostPlans, RefuseWhatTheyDoNotDo) {
  auto refusal = [&](const Collective &collective, const HostLayout &layout, const HostPlanOptions &options = {}) {
    return messageOf([&] { makeHostPlan(collective, layout, usual, options); });
  };
  for (CollectiveKind kind : {CollectiveKind::Broadcast, CollectiveKind::Permute})
    EXPECT_CONTAINS(refusal(collectiveOf(kind, 4, 8), layoutOf(2, 2)),
                    "is for ranks of one host, and these are on 2\nbetween hosts there are all-reduce, all-gather");
  EXPECT_CONTAINS(refusal(collectiveOf(CollectiveKind::AllReduce, 9, 8), layoutOf(9, 1)),
                  "9 hosts of 1 rank: there are at most 8 of each");
  EXPECT_CONTAINS(refusal(collectiveOf(CollectiveKind::AllReduce, 3, 8), layoutOf(2, 2)),
                  "a collective of 3 ranks in a group of 4");
  EXPECT_CONTAINS(refusal(collectiveOf(CollectiveKind::AllReduce, 4, 8), layoutOf(2, 2), {"two_shot_pull", 0}),
                  "has no algorithm `two_shot_pull`\nit has hosts_whole, hosts_shards, hosts_pieces");
  EXPECT_CONTAINS(refusal(collectiveOf(CollectiveKind::AllGather, 4, 8), layoutOf(2, 2), {"hosts_whole", 0}),
                  "all-gather between hosts has no algorithm `hosts_whole`");
  EXPECT_CONTAINS(refusal(collectiveOf(CollectiveKind::AllReduce, 4, 8), layoutOf(2, 2), {"", 65}), "65 chunks");
  EXPECT_CONTAINS(refusal(collectiveOf(CollectiveKind::AllReduce, 4, -8), layoutOf(2, 2)), "-8");
  Collective rows = collectiveOf(CollectiveKind::AllGather, 4, 8);
  rows.outer = 2;
  EXPECT_CONTAINS(refusal(rows, layoutOf(2, 2)), "between hosts a part is one run of elements");
  EXPECT_EQ(makeHostPlan(collectiveOf(CollectiveKind::AllToAll, 64, 8), layoutOf(8, 8), usual).hosts, 8);
}

// A bundle has their kernels, and the model is measured when a group is made.
TEST(HostPlans, HaveKernelsOfThosePossible) {
  for (const Chip *chip : {&lookupChip("host"), &lookupChip("sm_90")})
    for (CollectiveKind kind : {CollectiveKind::AllReduce, CollectiveKind::ReduceScatter, CollectiveKind::AllGather})
      for (auto [hosts, perHost] : {std::pair(2, 2), std::pair(3, 1), std::pair(4, 8)})
        for (int64_t inner : {0, 3, 5000, 1 << 20}) {
          Collective collective = collectiveOf(kind, hosts * perHost, inner);
          HostKernelOptions options{*chip, chip->computeUnits, 32};
          std::set<std::string> possible;
          for (const HostPlan &plan : possibleHostPlans(collective, layoutOf(hosts, perHost)))
            for (const Plan &kernel : kernelsOf(plan, options))
              possible.insert(kernelKey(kernel));
          for (const char *model : {"1,1e6,1,1e6", "10,3000,50,1000", "1000,1,1,1e6", "1,1e6,1000,1"})
            for (const Plan &kernel :
                 kernelsOf(makeHostPlan(collective, layoutOf(hosts, perHost), parseHostModel(model)), options))
              EXPECT_TRUE(possible.contains(kernelKey(kernel))) << kernelKey(kernel);
        }
  EXPECT_CONTAINS(messageOf([] {
                    possibleHostPlans(collectiveOf(CollectiveKind::AllReduce, 4, 8), layoutOf(2, 2), {"one_shot", 0});
                  }),
                  "has no algorithm `one_shot`");
}

TEST(HostModels, AreFourNumbers) {
  EXPECT_EQ(describe(parseHostModel("20,2000,50.5,1e3")), "20,2000,50.5,1000");
  for (const char *text :
       {"", "1", "1,2,3", "1,2,3,", "1,2,3,4,5", "1,2,x,4", "1,0,3,4", "1,-2,3,4", "1;2;3;4", "nan,1,1,1"})
    EXPECT_CONTAINS(messageOf([&] { parseHostModel(text); }), std::string("`") + text + "` is no model of hosts: ");
}

TEST(HostReferences, FoldWithinHostsFirst) {
  HostPlan plan = allReduce(2, 2, 1, usual);
  auto bits = [](float value) { return std::string(reinterpret_cast<const char *>(&value), sizeof value); };
  // 1e8 + 1 is 1e8 in f32: with the hosts' sums first the small ones are not lost.
  std::vector<std::string> inputs = {bits(1e8F), bits(-1e8F), bits(1), bits(0.5F)};
  for (const std::string &output : reference::runHostCollective(plan, inputs))
    EXPECT_EQ(output, bits(1.5F));
  inputs = {bits(1e8F), bits(1), bits(-1e8F), bits(1)};
  EXPECT_EQ(reference::runHostCollective(plan, inputs)[3], bits(0));
}

TEST(HostReferences, AreTheFlatOnesOfIntegers) {
  for (CollectiveKind kind : {CollectiveKind::AllReduce, CollectiveKind::AllGather, CollectiveKind::ReduceScatter,
                              CollectiveKind::AllToAll}) {
    HostPlan plan = makeHostPlan(collectiveOf(kind, 6, 33, ElementType::I32), layoutOf(3, 2), usual);
    auto inputs = reference::randomInputs(plan.collective, 4, true);
    EXPECT_EQ(reference::runHostCollective(plan, inputs), reference::runCollective(plan.collective, inputs));
  }
}

} // namespace
} // namespace heddle
