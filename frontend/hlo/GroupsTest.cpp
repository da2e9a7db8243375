// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Three notations of replica_groups, and the five rows of the group-mode table for every collective.
#include "frontend/hlo/TestModule.h"

using namespace heddle;
using namespace heddle::hlo;

using Groups = std::vector<std::vector<int64_t>>;

static Groups written(const std::string &text, int devices) {
  Module module = parseBody(
      "p = f32[4] parameter(0)\nROOT r = f32[4] all-reduce(p), to_apply=add, replica_groups=" + text, devices);
  EXPECT_EQ(rootOf(module).collective->replicaGroups.text, text);
  return rootOf(module).collective->replicaGroups.groups;
}

TEST(HloGroups, lists) {
  EXPECT_EQ(written("{{0,1},{3,2}}", 4), (Groups{{0, 1}, {3, 2}}));
  EXPECT_EQ(written("{{0,2,1},{3}}", 4), (Groups{{0, 2, 1}, {3}}));
  EXPECT_EQ(written("{}", 4), Groups{});
  EXPECT_EQ(written("{{}}", 4), Groups{});
}

TEST(HloGroups, iotas) {
  EXPECT_EQ(written("[2,2]<=[4]", 4), (Groups{{0, 1}, {2, 3}}));
  EXPECT_EQ(written("[2,2]<=[2,2]T(1,0)", 4), (Groups{{0, 2}, {1, 3}}));
  EXPECT_EQ(written("[2,4]<=[2,2,2]T(0,2,1)", 8), (Groups{{0, 2, 1, 3}, {4, 6, 5, 7}}));
  EXPECT_EQ(written("[1,1]<=[1]", 1), Groups{{0}});
}

TEST(HloGroups, meshes) {
  EXPECT_EQ(written("mesh['x'=2,'y'=4] {'y'}", 8), (Groups{{0, 1, 2, 3}, {4, 5, 6, 7}}));
  EXPECT_EQ(written("mesh[\"x\"=2,\"y\"=4] {\"x\"}", 8), (Groups{{0, 4}, {1, 5}, {2, 6}, {3, 7}}));
  EXPECT_EQ(written("mesh['x'=2,'y'=4] {'y':(1)2}", 8), (Groups{{0, 2}, {1, 3}, {4, 6}, {5, 7}}));
  EXPECT_EQ(written("mesh['x'=2,'y'=4] {'y':(2)2}", 8), (Groups{{0, 1}, {2, 3}, {4, 5}, {6, 7}}));
  EXPECT_EQ(written("mesh['x'=2,'y'=2] {'y','x'}", 4), (Groups{{0, 2, 1, 3}}));
  EXPECT_EQ(written("mesh['x'=2,'y'=2] {1}", 4), (Groups{{0, 1}, {2, 3}}));
  EXPECT_EQ(written("mesh['x'=2,'y'=2] {}", 4), (Groups{{0}, {1}, {2}, {3}}));
  EXPECT_EQ(written("mesh['x'=4,'y'=1] {'x':(2)2,'x':(1)2}", 4), (Groups{{0, 2, 1, 3}}));
  EXPECT_EQ(written("maximal_mesh[device_id=0] {}", 1), Groups{{0}});
}

TEST(HloGroups, meshes_with_device_ids) {
  EXPECT_EQ(written("mesh['x'=2,'y'=2], device_ids=(3,2,1,0) {'y'}", 4), (Groups{{3, 2}, {1, 0}}));
  EXPECT_EQ(written("mesh['x'=2,'y'=2], device_ids=([2,2]T(1,0)) {'y'}", 4), (Groups{{0, 2}, {1, 3}}));
  EXPECT_EQ(written("mesh['x'=4], device_ids=([4]) {'x'}", 4), (Groups{{0, 1, 2, 3}}));
}

namespace {

/// The device groups of one collective on 2 replicas of 3 partitions.
Groups groupsOf(const std::string &line) {
  Module module = parseBody("p = f32[6] parameter(0)\nROOT r = " + line, 2, 3);
  return deviceGroups(rootOf(module), 2, 3);
}

} // namespace

TEST(HloGroups, cross_replica) {
  Groups expected = {{1 * 3 + 0, 0}, {4, 1}, {5, 2}};
  EXPECT_EQ(groupsOf("f32[6] all-reduce(p), to_apply=add, replica_groups={{1,0}}"), expected);
  EXPECT_EQ(groupsOf("f32[12] all-gather(p), dimensions={0}, replica_groups={{1,0}}"), expected);
  EXPECT_EQ(groupsOf("f32[3] reduce-scatter(p), dimensions={0}, to_apply=add, replica_groups={{1,0}}"), expected);
  EXPECT_EQ(groupsOf("f32[6] all-to-all(p), dimensions={0}, replica_groups={{1,0}}"), expected);
  EXPECT_EQ(groupsOf("f32[6] collective-broadcast(p), replica_groups={{1,0}}"), expected);
  Groups everybody = {{0, 3}, {1, 4}, {2, 5}};
  EXPECT_EQ(groupsOf("f32[6] all-reduce(p), to_apply=add"), everybody);
  EXPECT_EQ(groupsOf("f32[6] all-to-all(p), dimensions={0}, replica_groups={}"), everybody);
  EXPECT_EQ(groupsOf("f32[6] all-reduce(p), to_apply=add, use_global_device_ids=false"), everybody);
}

TEST(HloGroups, cross_partition) {
  Groups expected = {{2, 0}, {1}, {5, 3}, {4}};
  EXPECT_EQ(groupsOf("f32[6] collective-broadcast(p), channel_id=1, replica_groups={{2,0},{1}}"), expected);
  Groups everybody = {{0, 1, 2}, {3, 4, 5}};
  EXPECT_EQ(groupsOf("f32[6] all-to-all(p), channel_id=1, dimensions={0}"), everybody);
  EXPECT_EQ(groupsOf("f32[6] all-to-all(p), channel_id=1, dimensions={0}, replica_groups={{0,1,2}}"), everybody);
}

TEST(HloGroups, cross_replica_and_partition_is_replica_major) {
  Groups expected = {{3, 4, 5, 0, 1, 2}};
  EXPECT_EQ(groupsOf("f32[6] all-reduce(p), to_apply=add, channel_id=1, replica_groups={{1,0}}"), expected);
  EXPECT_EQ(groupsOf("f32[36] all-gather(p), dimensions={0}, channel_id=1, replica_groups={{1,0}}"), expected);
  EXPECT_EQ(
      groupsOf("f32[1] reduce-scatter(p), dimensions={0}, to_apply=add, channel_id=1, use_global_device_ids=false, "
               "replica_groups={{1,0}}"),
      expected);
  EXPECT_EQ(groupsOf("f32[6] all-reduce(p), to_apply=add, channel_id=1"), (Groups{{0, 1, 2, 3, 4, 5}}));
  EXPECT_EQ(groupsOf("f32[6] all-reduce(p), to_apply=add, channel_id=1, replica_groups={{1},{0}}"),
            (Groups{{3, 4, 5}, {0, 1, 2}}));
}

TEST(HloGroups, flattened_ids) {
  std::string ids = ", channel_id=1, use_global_device_ids=true, replica_groups={{5,0,2},{1,3,4}}";
  Groups expected = {{5, 0, 2}, {1, 3, 4}};
  EXPECT_EQ(groupsOf("f32[6] all-reduce(p), to_apply=add" + ids), expected);
  EXPECT_EQ(groupsOf("f32[18] all-gather(p), dimensions={0}" + ids), expected);
  EXPECT_EQ(groupsOf("f32[2] reduce-scatter(p), dimensions={0}, to_apply=add" + ids), expected);
}

TEST(HloGroups, permutes_per_partition_and_per_replica) {
  using Pairs = std::vector<std::pair<int64_t, int64_t>>;
  auto pairsOf = [](const std::string &attributes) {
    Module module = parseBody("p = f32[6] parameter(0)\nROOT r = f32[6] collective-permute(p), " + attributes, 2, 3);
    return devicePairs(rootOf(module), 2, 3);
  };
  EXPECT_EQ(pairsOf("source_target_pairs={{0,1}}"), (Pairs{{0, 3}, {1, 4}, {2, 5}}));
  EXPECT_EQ(pairsOf("source_target_pairs={{0,2},{2,0}}, channel_id=1"), (Pairs{{0, 2}, {2, 0}, {3, 5}, {5, 3}}));
}

TEST(HloGroups, modes_that_do_not_exist) {
  EXPECT_CONTAINS(
      refusal("p = f32[6] parameter(0)\nr = f32[6] all-reduce(p), to_apply=add, use_global_device_ids=true"),
      "t.hlo:8:1: Invalid combination of has_channel_id and use_global_device_ids");
  EXPECT_CONTAINS(refusal("p = f32[6] parameter(0)\nr = f32[6] all-reduce(p), to_apply=add, channel_id=1, "
                          "use_global_device_ids=true, replica_groups={}"),
                  "replica groups cannot be empty for kFlattenedID mode");
  for (const char *opcode : {"all-to-all", "collective-broadcast", "collective-permute"})
    EXPECT_CONTAINS(
        refusal(fmt::format("p = f32[6] parameter(0)\nr = f32[6] {}(p), channel_id=1, use_global_device_ids=true, "
                            "source_target_pairs={{}}, dimensions={{0}}",
                            opcode)),
        fmt::format("'{}' with use_global_device_ids is not supported", opcode));
}
