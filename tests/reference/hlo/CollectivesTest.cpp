// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Every collective on a few devices with results worked out by hand: groups, modes, order, rounding.
#include "support/File.h"
#include "support/TestPaths.h"
#include "tests/reference/hlo/TestSupport.h"

using namespace heddle;
using namespace heddle::hlo;
using namespace heddle::hlo::reference;

namespace {

using All = std::vector<Numbers>;

/// `line` on one parameter `p` of each device; `inputs` has one for each device.
All across(const std::string &shape, const std::string &line, const All &inputs, int replicas, int partitions = 1) {
  std::vector<std::vector<Numbers>> arguments;
  for (const Numbers &input : inputs)
    arguments.push_back({input});
  return numbersOfAll(
      run(parseBody("p = " + shape + " parameter(0)\nROOT r = " + line, replicas, partitions), arguments));
}

/// An all-reduce over all replicas with a region of this type and operation.
All reduced(const std::string &type, const std::string &opcode, const All &inputs) {
  std::string shape = type + "[" + std::to_string(inputs[0].size()) + "]";
  std::string text = moduleText("p = " + shape + " parameter(0)\nROOT r = " + shape + " all-reduce(p), to_apply=f",
                                int(inputs.size()));
  text.insert(text.find("ENTRY"),
              fmt::format("f {{ a = {0}[] parameter(0) b = {0}[] parameter(1) ROOT r = {1}(a, b) }}\n", type, opcode));
  std::vector<std::vector<Numbers>> arguments;
  for (const Numbers &input : inputs)
    arguments.push_back({input});
  All results = numbersOfAll(run(parseModule(text, "t.hlo"), arguments));
  for (const Numbers &result : results)
    expectSame(result, results[0], "the same on all devices");
  return results;
}

} // namespace

TEST(HloCollectives, all_reduce) {
  EXPECT_EQ(across("f32[2]", "f32[2] all-reduce(p), to_apply=add", {{1, 2}, {3, 4}, {5, 6}}, 3),
            (All{{9, 12}, {9, 12}, {9, 12}}));
  EXPECT_EQ(
      across("f32[1]", "f32[1] all-reduce(p), to_apply=max, replica_groups={{0,2,1},{3}}", {{1}, {7}, {3}, {9}}, 4),
      (All{{7}, {7}, {7}, {9}}));
  EXPECT_EQ(across("f32[0]", "f32[0] all-reduce(p), to_apply=add", {{}, {}}, 2), (All{{}, {}}));
}

TEST(HloCollectives, reduction_kinds_and_types) {
  expectSame(reduced("f32", "multiply", {{2}, {3}})[0], {6}, "multiply");
  expectSame(reduced("f32", "maximum", {{1, notANumber, -0.0}, {2, 1, 0}})[0], {2, notANumber, 0}, "maximum");
  expectSame(reduced("f16", "minimum", {{1, 5}, {notANumber, 3}})[0], {notANumber, 3}, "minimum");
  expectSame(reduced("s8", "add", {{100}, {100}})[0], {-56}, "modular");
  expectSame(reduced("u32", "or", {{12}, {10}})[0], {14}, "or");
  expectSame(reduced("s64", "and", {{12}, {10}})[0], {8}, "and");
  expectSame(reduced("pred", "add", {{1, 0}, {1, 0}})[0], {1, 0}, "pred add");
  expectSame(reduced("pred", "minimum", {{1, 1}, {1, 0}})[0], {1, 0}, "pred minimum");
  expectSame(reduced("pred", "multiply", {{1, 1}, {1, 0}})[0], {1, 0}, "pred multiply");
  expectSame(reduced("pred", "maximum", {{0, 1}, {0, 0}})[0], {0, 1}, "pred maximum");
}

TEST(HloCollectives, sums_begin_at_zero_go_in_rank_order_and_are_rounded_once) {
  expectSame(reduced("f32", "add", {{-0.0}, {-0.0}})[0], {0}, "negative zeros");
  expectSame(reduced("f32", "add", {{16777216}, {1}, {1}})[0], {16777216}, "rank order");
  expectSame(reduced("f32", "add", {{1}, {1}, {16777216}})[0], {16777218}, "rank order");
  expectSame(reduced("bf16", "add", {{256}, {1}, {1}})[0], {258}, "rounded once");
  expectSame(reduced("f8e4m3fn", "add", {{16}, {1}, {1}})[0], {18}, "rounded once");
  expectSame(reduced("f64", "add", {{9007199254740992.0}, {1}, {1}})[0], {9007199254740992.0}, "f64");
  expectSame(reduced("f16", "add", {{65504}, {65504}, {-65504}})[0], {65504}, "no infinity on the way");
  EXPECT_EQ(across("f32[1]", "f32[1] all-reduce(p), to_apply=add, replica_groups={{2,1,0}}", {{1}, {1}, {16777216}}, 3),
            (All{{16777216}, {16777216}, {16777216}}));
}

TEST(HloCollectives, all_gather) {
  EXPECT_EQ(across("f32[1,2]", "f32[2,2] all-gather(p), dimensions={0}", {{1, 2}, {3, 4}}, 2),
            (All{{1, 2, 3, 4}, {1, 2, 3, 4}}));
  EXPECT_EQ(across("f32[2,1]", "f32[2,2] all-gather(p), dimensions={1}, replica_groups={{1,0}}", {{1, 2}, {3, 4}}, 2),
            (All{{3, 1, 4, 2}, {3, 1, 4, 2}}));
  EXPECT_EQ(
      across("f32[1]", "f32[2] all-gather(p), dimensions={0}, replica_groups={{0,2},{3,1}}", {{1}, {2}, {3}, {4}}, 4),
      (All{{1, 3}, {4, 2}, {1, 3}, {4, 2}}));
}

TEST(HloCollectives, reduce_scatter) {
  EXPECT_EQ(
      across("f32[4]", "f32[2] reduce-scatter(p), dimensions={0}, to_apply=add", {{1, 2, 3, 4}, {10, 20, 30, 40}}, 2),
      (All{{11, 22}, {33, 44}}));
  EXPECT_EQ(across("f32[2,2]", "f32[2,1] reduce-scatter(p), dimensions={1}, to_apply=mul, replica_groups={{1,0}}",
                   {{1, 2, 3, 4}, {10, 20, 30, 40}}, 2),
            (All{{40, 160}, {10, 90}}));
}

TEST(HloCollectives, all_to_all) {
  EXPECT_EQ(across("s32[4]", "s32[4] all-to-all(p), dimensions={0}", {{0, 1, 2, 3}, {4, 5, 6, 7}}, 2),
            (All{{0, 1, 4, 5}, {2, 3, 6, 7}}));
  // In the group {1,0} device 1 is member 0: it receives the first halves, its own first.
  EXPECT_EQ(
      across("s32[4]", "s32[4] all-to-all(p), dimensions={0}, replica_groups={{1,0}}", {{0, 1, 2, 3}, {4, 5, 6, 7}}, 2),
      (All{{6, 7, 2, 3}, {4, 5, 0, 1}}));
  EXPECT_EQ(across("s32[2,2]", "s32[2,2] all-to-all(p), dimensions={1}", {{0, 1, 2, 3}, {4, 5, 6, 7}}, 2),
            (All{{0, 4, 2, 6}, {1, 5, 3, 7}}));
}

TEST(HloCollectives, all_to_all_of_a_tuple) {
  Module module = parseBody("p = s32[1] parameter(0)\nq = s32[1] parameter(1)\n"
                            "ROOT r = (s32[1], s32[1]) all-to-all(p, q), replica_groups={{1,0}}",
                            2);
  std::vector<Value> results = run(module, {{{1}, {2}}, {{3}, {4}}});
  // Member 0 is device 1: it gets the operand 0 of device 1, then of device 0.
  EXPECT_EQ(numbersOfAll(results[1].elements), (All{{3}, {1}}));
  EXPECT_EQ(numbersOfAll(results[0].elements), (All{{4}, {2}}));
}

TEST(HloCollectives, permute_leaves_zeros) {
  EXPECT_EQ(across("f32[1]", "f32[1] collective-permute(p), source_target_pairs={{0,1},{1,2},{3,3}}",
                   {{1}, {2}, {3}, {4}}, 4),
            (All{{0}, {1}, {2}, {4}}));
  EXPECT_EQ(across("f32[1]", "f32[1] collective-permute(p), channel_id=1, source_target_pairs={{0,1},{1,0}}",
                   {{1}, {2}, {3}, {4}}, 2, 2),
            (All{{2}, {1}, {4}, {3}}));
  EXPECT_EQ(
      across("f32[1]", "f32[1] collective-permute(p), source_target_pairs={{0,1},{1,0}}", {{1}, {2}, {3}, {4}}, 2, 2),
      (All{{3}, {4}, {1}, {2}}));
}

TEST(HloCollectives, broadcast) {
  EXPECT_EQ(across("f32[1]", "f32[1] collective-broadcast(p), replica_groups={{2,0},{1,3}}", {{1}, {2}, {3}, {4}}, 4),
            (All{{3}, {2}, {3}, {2}}));
}

TEST(HloCollectives, modes_with_replicas_and_partitions) {
  All inputs = {{1}, {2}, {4}, {8}, {16}, {32}}; // 2 replicas of 3 partitions
  auto sums = [&](const std::string &attributes) {
    return across("f32[1]", "f32[1] all-reduce(p), to_apply=add" + attributes, inputs, 2, 3);
  };
  EXPECT_EQ(sums(""), (All{{9}, {18}, {36}, {9}, {18}, {36}}));
  EXPECT_EQ(sums(", channel_id=1"), (All{{63}, {63}, {63}, {63}, {63}, {63}}));
  EXPECT_EQ(sums(", channel_id=1, replica_groups={{0},{1}}"), (All{{7}, {7}, {7}, {56}, {56}, {56}}));
  EXPECT_EQ(sums(", channel_id=1, use_global_device_ids=true, replica_groups={{0,5},{1,2,3,4}}"),
            (All{{33}, {30}, {30}, {30}, {30}, {33}}));
  EXPECT_EQ(
      across("f32[1]", "f32[6] all-gather(p), dimensions={0}, channel_id=1, replica_groups={{1,0}}", inputs, 2, 3)[0],
      (Numbers{8, 16, 32, 1, 2, 4}));
  EXPECT_EQ(across("f32[1]", "f32[1] collective-broadcast(p), channel_id=1, replica_groups={{2,1},{0}}", inputs, 2, 3),
            (All{{1}, {4}, {4}, {8}, {32}, {32}}));
}

TEST(HloCollectives, variadic_and_mixed) {
  Module module = parseBody("p = f32[1] parameter(0)\nq = s4[1,1] parameter(1)\n"
                            "ROOT r = (f32[2], s4[2,1]) all-gather(p, q), dimensions={0}",
                            2);
  std::vector<Value> results = run(module, {{{1}, {-8}}, {{2}, {7}}});
  EXPECT_EQ(numbersOfAll(results[0].elements), (All{{1, 2}, {-8, 7}}));
}

TEST(HloCollectives, asynchronous_forms_compute_the_same) {
  for (const char *body : {"ROOT r = f32[1] reduce-scatter(p), dimensions={0}, to_apply=add",
                           "s = ((f32[2]), f32[1]) reduce-scatter-start(p), dimensions={0}, to_apply=add\n"
                           "n = negate(p)\nROOT r = f32[1] reduce-scatter-done(s)"}) {
    Module module = parseBody(std::string("p = f32[2] parameter(0)\n") + body, 2);
    EXPECT_EQ(numbersOfAll(run(module, {{{1, 2}}, {{3, 4}}})), (All{{4}, {6}})) << body;
  }
  Module bundle = parseModule(readFile(sourcePath("tests/hlo/async_wrapped.hlo")), "async_wrapped");
  Value result = run(bundle, {{{1, 2, 3, 4}}, {{5, 6, 7, 8}}})[1];
  EXPECT_EQ(numbersOf(result.elements[0]), (Numbers{10, 12}));
  EXPECT_EQ(numbersOf(result.elements[1]), (Numbers{3, 4, 7, 8}));
  EXPECT_EQ(numbersOfAll(result.elements[2].elements), (All{{10, 12}, {6, 8, 10, 12}}));
}

TEST(HloCollectives, samples_compute) {
  auto sample = [](const std::string &name) {
    return parseModule(readFile(sourcePath("tests/hlo/" + std::string(name) + ".hlo")), name);
  };
  All loop = numbersOfAll(run(sample("while_all_reduce"), {{{1, 2}}, {{3, 4}}}));
  EXPECT_EQ(loop, (All{{16, 24}, {16, 24}}));
  All matmul = numbersOfAll(run(sample("all_gather_dot"), {{{1, 1, 1, 1, 1, 2, 3, 4}, {1, 2, 3, 4, 5, 6}},
                                                           {{1, 0, 0, 0, 0, 0, 0, 1}, {7, 8, 9, 10, 11, 12}}}));
  EXPECT_EQ(matmul, (All{{22, 26, 30, 70, 80, 90}, {1, 2, 3, 10, 11, 12}}));
  std::vector<Value> sliced = run(sample("reduce_scatter_by_slice"),
                                  std::vector<std::vector<Numbers>>(6, {{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, {1}}));
  EXPECT_EQ(numbersOf(sliced[3].elements[0]), (Numbers{36, 42}));
  std::vector<Value> async = run(sample("async_pairs"), {{{1, 2, 3, 4}, {5, 6}}, {{10, 20, 30, 40}, {7, 8}}});
  EXPECT_EQ(numbersOfAll(async[0].elements), (All{{11, 22, 33, 44}, {5, 6, 7, 8}, {10, 20, 30, 40}}));
  Numbers ones(64, 1), weight(16, 2);
  Numbers norm =
      numbersOf(run(sample("all_reduce_rms_norm"), std::vector<std::vector<Numbers>>(4, {ones, ones, weight}))[3]);
  EXPECT_NEAR(norm[5], 2 * 5 / std::sqrt(25.00001), 1e-6);
}
