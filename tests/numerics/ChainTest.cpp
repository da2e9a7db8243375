// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Loops with two matmuls of which the second multiplies what is computed from the first one's result, as attention has
// them, and other operands that matmuls of warp groups find in registers or in memory of their own. Small integers, so
// that results are exact.
#include "compiler/pipeline/Compile.h"
#include "runtime/drivers/simulated/SimulatedDriver.h"
#include "tests/numerics/PlainFloat.h"
#include "tests/numerics/Support.h"
#include <fmt/format.h>

using namespace heddle;
using namespace heddle::numerics;
using namespace heddle::reference;

namespace {

struct Chain {
  std::string element = "f16";
  int rows = 64, columns = 64, depth = 64; ///< of a block of the first matmul's result, and K of it
  int warps = 4, stages = 0;
  bool usesSum = false;       ///< the sum is read in the loop, so that the second matmul cannot wait
  bool loadsInLoop = false;   ///< the first matmul's left operand is loaded in each iteration
  bool computesRight = false; ///< the second matmul's right operand is twice what is loaded
  bool turnsLeft = false;     ///< the first matmul's left operand is loaded transposed
  bool inTwoLoops = false;    ///< the first two iterations are a loop of their own
  bool storesSums = false;    ///< each iteration stores the sum before it
  bool storesBetween =
      false; ///< of two loops the first tile that the second matmul reads, where the third of the first's is
  bool scalesByRows = false; ///< the factors are computed from the first matmul's result, and lie as its rows do
  std::string warpPipelines = "auto";
};
constexpr int mostIterations = 5;

std::string tile(const std::string &name, int rows, int columns, const std::string &element) {
  return fmt::format(R"(
  %{0}_r = tt.make_range {{end = {1} : i32, start = 0 : i32}} : tensor<{1}xi32>
  %{0}_c = tt.make_range {{end = {2} : i32, start = 0 : i32}} : tensor<{2}xi32>
  %{0}_rs = arith.constant dense<{2}> : tensor<{1}x1xi32>
  %{0}_row = tt.expand_dims %{0}_r {{axis = 1 : i32}} : tensor<{1}xi32> -> tensor<{1}x1xi32>
  %{0}_column = tt.expand_dims %{0}_c {{axis = 0 : i32}} : tensor<{2}xi32> -> tensor<1x{2}xi32>
  %{0}_ro = arith.muli %{0}_row, %{0}_rs : tensor<{1}x1xi32>
  %{0}_rw = tt.broadcast %{0}_ro : tensor<{1}x1xi32> -> tensor<{1}x{2}xi32>
  %{0}_cw = tt.broadcast %{0}_column : tensor<1x{2}xi32> -> tensor<{1}x{2}xi32>
  %{0}_o = arith.addi %{0}_rw, %{0}_cw : tensor<{1}x{2}xi32>
  %{0}_s = tt.splat %{0} : !tt.ptr<{3}> -> tensor<{1}x{2}x!tt.ptr<{3}>>
  %{0}_p = tt.addptr %{0}_s, %{0}_o : tensor<{1}x{2}x!tt.ptr<{3}>>, tensor<{1}x{2}xi32>)",
                     name, rows, columns, element);
}

/// `q`: the load of the first matmul's left operand, which is `first`.
std::string loopOf(const Chain &chain, const std::string &results, const std::string &from, const std::string &to,
                   const std::string &inits, const std::string &q, const std::string &first) {
  const std::string &e = chain.element;
  std::string text = fmt::format(R"(
  {4}:3 = scf.for %i = {5} to {6} step %c1 iter_args({7}) -> (tensor<{0}x{2}xf32>, tensor<{0}xf32>, tensor<{0}xf32>) : i32 {{)",
                                 chain.rows, chain.columns, chain.depth, e, results, from, to, inits);
  text += chain.loadsInLoop ? q : "";
  text += fmt::format(R"(
    %at = arith.muli %i, %step : i32
    %ats = tt.splat %at : i32 -> tensor<{1}x{2}xi32>
    %k_here = tt.addptr %k_p, %ats : tensor<{1}x{2}x!tt.ptr<{3}>>, tensor<{1}x{2}xi32>
    %v_here = tt.addptr %v_p, %ats : tensor<{1}x{2}x!tt.ptr<{3}>>, tensor<{1}x{2}xi32>
    %k_t = tt.load %k_here : tensor<{1}x{2}x!tt.ptr<{3}>>
    %k_turned = tt.trans %k_t {{order = array<i32: 1, 0>}} : tensor<{1}x{2}x{3}> -> tensor<{2}x{1}x{3}>
    %s = tt.dot {4}, %k_turned, %zeros : tensor<{0}x{2}x{3}> * tensor<{2}x{1}x{3}> -> tensor<{0}x{1}xf32>
    %row = "tt.reduce"(%s) <{{axis = 1 : i32}}> ({{
    ^bb0(%x: f32, %y: f32):
      %larger = arith.maxnumf %x, %y : f32
      tt.reduce.return %larger : f32
    }}) : (tensor<{0}x{1}xf32>) -> tensor<{0}xf32>
    %next = arith.maxnumf %most, %row : tensor<{0}xf32>
    %column = tt.expand_dims %f {{axis = 1 : i32}} : tensor<{0}xf32> -> tensor<{0}x1xf32>
    %wide = tt.broadcast %column : tensor<{0}x1xf32> -> tensor<{0}x{2}xf32>
    %scaled = arith.mulf %acc, %wide : tensor<{0}x{2}xf32>
    %p = arith.truncf %s : tensor<{0}x{1}xf32> to tensor<{0}x{1}x{3}>
    %v_t = tt.load %v_here : tensor<{1}x{2}x!tt.ptr<{3}>>)",
                      chain.rows, chain.columns, chain.depth, e, first);
  std::string right = "%v_t", other = "%next";
  if (chain.computesRight) {
    text += fmt::format("\n    %v_twice = arith.addf %v_t, %v_t : tensor<{}x{}x{}>", chain.columns, chain.depth, e);
    right = "%v_twice";
  }
  text += fmt::format(R"(
    %d = tt.dot %p, {4}, %scaled : tensor<{0}x{1}x{3}> * tensor<{1}x{2}x{3}> -> tensor<{0}x{2}xf32>)",
                      chain.rows, chain.columns, chain.depth, e, right);
  if (chain.storesSums)
    text += fmt::format(R"(
    %z_size = arith.constant {2} : i32
    %z_at = arith.muli %i, %z_size : i32
    %z_ats = tt.splat %z_at : i32 -> tensor<{0}x{1}xi32>
    %z_here = tt.addptr %z_p, %z_ats : tensor<{0}x{1}x!tt.ptr<f32>>, tensor<{0}x{1}xi32>
    tt.store %z_here, %scaled : tensor<{0}x{1}x!tt.ptr<f32>>)",
                        chain.rows, chain.depth, chain.rows * chain.depth);
  if (chain.usesSum) {
    text += fmt::format(R"(
    %total = "tt.reduce"(%d) <{{axis = 1 : i32}}> ({{
    ^bb0(%x: f32, %y: f32):
      %larger = arith.maxnumf %x, %y : f32
      tt.reduce.return %larger : f32
    }}) : (tensor<{0}x{1}xf32>) -> tensor<{0}xf32>
    %both = arith.maxnumf %next, %total : tensor<{0}xf32>)",
                        chain.rows, chain.depth);
    other = "%both";
  }
  std::string factors = "%threes";
  if (chain.scalesByRows) {
    text += fmt::format("\n    %nothing = arith.subf %row, %row : tensor<{0}xf32>"
                        "\n    %threes_of_rows = arith.addf %threes, %nothing : tensor<{0}xf32>",
                        chain.rows);
    factors = "%threes_of_rows";
  }
  text += fmt::format(R"(
    %g = arith.subf {5}, %f : tensor<{0}xf32>
    scf.yield %d, %g, {3} : tensor<{0}x{2}xf32>, tensor<{0}xf32>, tensor<{0}xf32>
  }}{4})",
                      chain.rows, chain.columns, chain.depth, other,
                      chain.stages ? fmt::format(" {{tt.num_stages = {} : i32}}", chain.stages) : "", factors);
  return text;
}

std::string textOf(const Chain &chain) {
  const std::string &e = chain.element;
  std::string text = tile("q", chain.rows, chain.depth, e) + tile("k", chain.columns, chain.depth, e) +
                     tile("v", chain.columns, chain.depth, e) + tile("o", chain.rows, chain.depth, "f32") +
                     tile("z", chain.rows, chain.depth, "f32");
  std::string q = fmt::format("\n    %q_t = tt.load %q_p : tensor<{}x{}x!tt.ptr<{}>>", chain.rows, chain.depth, e);
  std::string first = "%q_t";
  if (chain.turnsLeft) { // of square tiles
    q += fmt::format("\n    %q_turned = tt.trans %q_t {{order = array<i32: 1, 0>}} : tensor<{0}x{1}x{2}> -> "
                     "tensor<{1}x{0}x{2}>",
                     chain.rows, chain.depth, e);
    first = "%q_turned";
  }
  text += chain.loadsInLoop ? "" : q;
  text += fmt::format(R"(
  %l_i = tt.make_range {{end = {0} : i32, start = 0 : i32}} : tensor<{0}xi32>
  %l_s = tt.splat %l : !tt.ptr<f32> -> tensor<{0}x!tt.ptr<f32>>
  %l_p = tt.addptr %l_s, %l_i : tensor<{0}x!tt.ptr<f32>>, tensor<{0}xi32>
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %step = arith.constant {3} : i32
  %zeros = arith.constant dense<0.0> : tensor<{0}x{1}xf32>
  %none = arith.constant dense<0.0> : tensor<{0}x{2}xf32>
  %ones = arith.constant dense<1.0> : tensor<{0}xf32>
  %threes = arith.constant dense<3.0> : tensor<{0}xf32>
  %c2 = arith.constant 2 : i32
  %middle = arith.minsi %n, %c2 : i32)",
                      chain.rows, chain.columns, chain.depth, chain.columns * chain.depth);
  std::string inits = "%acc = %none, %f = %ones, %most = %ones";
  if (chain.inTwoLoops) {
    text += loopOf(chain, "%before", "%c0", "%middle", inits, q, first);
    inits = "%acc = %before#0, %f = %before#1, %most = %before#2";
    if (chain.storesBetween)
      text += fmt::format(R"(
  %third = arith.constant dense<{2}> : tensor<{0}x{1}xi32>
  %k_third = tt.addptr %k_p, %third : tensor<{0}x{1}x!tt.ptr<{3}>>, tensor<{0}x{1}xi32>
  %v_first = tt.load %v_p : tensor<{0}x{1}x!tt.ptr<{3}>>
  tt.store %k_third, %v_first : tensor<{0}x{1}x!tt.ptr<{3}>>)",
                          chain.columns, chain.depth, 2 * chain.columns * chain.depth, e);
  }
  text += loopOf(chain, "%r", chain.inTwoLoops ? "%middle" : "%c0", "%n", inits, q, first);
  return text + fmt::format(R"(
  tt.store %o_p, %r#0 : tensor<{0}x{1}x!tt.ptr<f32>>
  tt.store %l_p, %r#2 : tensor<{0}x!tt.ptr<f32>>)",
                            chain.rows, chain.depth);
}

/// -1, 0 and 1.
std::vector<uint8_t> signs(const std::string &element, int count, uint64_t seed) {
  RandomBits random(seed);
  std::vector<uint8_t> bytes;
  for (int i = 0; i < count; ++i) {
    uint64_t bits = (element == "f16" ? plainF16 : plainBF16).nearest(int(random.next() % 3) - 1, false);
    bytes.push_back(uint8_t(bits));
    bytes.push_back(uint8_t(bits >> 8));
  }
  return bytes;
}

std::string kernelOf(const Chain &chain) {
  std::string aligned = " {tt.divisibility = 16 : i32}", parameters;
  for (const char *name : {"q", "k", "v"})
    parameters += fmt::format("%{}: !tt.ptr<{}>{}, ", name, chain.element, aligned);
  for (const char *name : {"o", "l", "z"})
    parameters += fmt::format("%{}: !tt.ptr<f32>{}, ", name, aligned);
  parameters += "%n: i32";
  return kernelText(parameters, textOf(chain));
}

/// Warps of the block in sm_90's code.
int64_t warpsOf(const Chain &chain) {
  CompileOptions options;
  options.target = "sm_90";
  options.warps = chain.warps;
  options.stages = chain.stages;
  options.warpPipelines = parseWarpPipelines("warpPipelines", chain.warpPipelines);
  return compile(kernelOf(chain), "chain", options).package.threads / 32;
}

std::vector<Argument> argumentsOf(const Chain &chain, int iterations) {
  int tiles = chain.columns * chain.depth * mostIterations;
  return {bufferOf(signs(chain.element, chain.rows * chain.depth, 1)),
          bufferOf(signs(chain.element, tiles, 2)),
          bufferOf(signs(chain.element, tiles, 3)),
          zeros<float>(size_t(chain.rows * chain.depth)),
          zeros<float>(size_t(chain.rows)),
          zeros<float>(size_t(chain.rows * chain.depth * mostIterations)),
          scalarI32(iterations)};
}

void check(const Chain &chain, int iterations) {
  SCOPED_TRACE(fmt::format("{} {}x{}x{}, {} warps, {} stages, uses its sum {}, loads in the loop {}, computes {}: {} "
                           "iterations",
                           chain.element, chain.rows, chain.columns, chain.depth, chain.warps, chain.stages,
                           chain.usesSum, chain.loadsInLoop, chain.computesRight, iterations));
  std::vector<Argument> arguments = argumentsOf(chain, iterations);
  std::vector<Argument> expected = arguments;
  std::string text = kernelOf(chain);
  makeExecutor("reference")->run(text, {}, expected);
  runOnGpu(text, {}, arguments, chain.warps, /*warpGroups=*/true, chain.warpPipelines);
  for (size_t i : {3, 4, 5})
    EXPECT_EQ(arguments[i].bytes, expected[i].bytes);
}

} // namespace

TEST(Chain, any_number_of_iterations) {
  for (int stages : {0, 1, 2, 4})
    for (int iterations : {0, 1, 2, mostIterations})
      check({.stages = stages}, iterations);
}

TEST(Chain, blocks_of_many_sizes) {
  for (Chain chain :
       {Chain{.rows = 128, .warps = 8}, Chain{.columns = 32, .depth = 128}, Chain{.rows = 128, .depth = 32},
        Chain{.rows = 64, .warps = 8}, Chain{.rows = 32}, Chain{.element = "bf16", .columns = 128}})
    check(chain, 3);
}

// Such a block has a multiprocessor to itself, and its two groups of warps are not in step.
TEST(Chain, groups_of_warps_out_of_step) {
  for (int iterations : {1, mostIterations})
    check({.rows = 128, .columns = 64, .depth = 128, .warps = 8, .stages = 4, .warpPipelines = "off"}, iterations);
}

// What takes more registers than a thread has is computed for half the rows at a time.
TEST(Chain, half_the_rows_at_a_time) {
  for (int iterations : {0, 1, mostIterations})
    check({.rows = 128, .columns = 128, .depth = 128}, iterations);
  for (bool yes : {false, true}) {
    check({.rows = 128, .columns = 128, .depth = 64, .stages = 2, .usesSum = yes, .loadsInLoop = !yes}, 3);
    check({.element = "bf16", .rows = 128, .columns = 128, .depth = 128, .computesRight = yes, .inTwoLoops = !yes}, 4);
    check({.rows = 128, .columns = 128, .depth = 128, .turnsLeft = !yes, .storesSums = yes}, 2);
  }
  check({.rows = 256, .columns = 128, .depth = 64, .warps = 8, .scalesByRows = true}, 3);
}

// With a depth of 128 the first matmul's tiles are free before the second one's.
TEST(Chain, copies_by_warps_of_their_own) {
  for (int stages : {2, 3, 4}) {
    Chain chain{.rows = 128, .columns = 64, .depth = 128, .warps = 8, .stages = stages};
    EXPECT_EQ(warpsOf(chain), 12) << stages;
    for (int iterations : {0, 1, 2, mostIterations})
      check(chain, iterations);
  }
  Chain between{.rows = 128, .columns = 64, .depth = 128, .warps = 8, .stages = 2, .inTwoLoops = true};
  EXPECT_EQ(warpsOf(between), 12);
  between.storesBetween = true;
  EXPECT_EQ(warpsOf(between), 8);
  check(between, 4);
  Chain twice{.rows = 128, .columns = 128, .warps = 8, .stages = 4, .inTwoLoops = true};
  EXPECT_EQ(warpsOf(twice), 12);
  for (int iterations : {1, 2, 3, mostIterations}) {
    Chain chain{.rows = 128, .columns = 64, .depth = 128, .warps = 8, .stages = 2, .inTwoLoops = true};
    check(chain, iterations);
    chain.loadsInLoop = true;
    check(chain, iterations);
    check(twice, iterations);
  }
}

// One group multiplies while the other computes from its results.
TEST(Chain, groups_of_warps_in_stages) {
  auto run = [](Chain chain, int warps, std::initializer_list<int> numbers) {
    chain.rows = 128;
    chain.warps = 8;
    chain.scalesByRows = true;
    chain.warpPipelines = "always";
    expectStages(kernelOf(chain), "sm_90", chain.warpPipelines);
    EXPECT_EQ(warpsOf(chain), warps);
    for (int iterations : numbers)
      check(chain, iterations);
  };
  run({.columns = 64, .depth = 64}, 8, {0, 1, 2, mostIterations});
  run({.stages = 2, .usesSum = true}, 8, {4});
  run({.stages = 2, .loadsInLoop = true}, 8, {4});
  // Tiles that warps of their own copy: both matmuls' have barrier objects of their own, or the same.
  for (bool inTwoLoops : {false, true}) {
    run({.columns = 64, .depth = 128, .stages = 2, .inTwoLoops = inTwoLoops}, 12, {0, 1, 2, 3, mostIterations});
    run({.columns = 128, .stages = 4, .inTwoLoops = inTwoLoops}, 12, {1, 3, mostIterations});
  }
  run({.columns = 64, .depth = 128, .stages = 4}, 12, {1, mostIterations});
}

// On AMD's chips the second matmul moves to the next iteration, beside the first one, and one group of warps multiplies
// while the other computes (compiler/lowering/tile_to_simt/tests/defer_chains.test).
TEST(AmdChain, second_matmul_an_iteration_later) {
  std::string device = testDevice();
  if (!device.starts_with("sim:gfx"))
    GTEST_SKIP() << "for AMD's chips";
  addSimulatedDrivers();
  auto run = [&](Chain chain, int iterations, const std::string &chipsWithStages = "gfx942 gfx950") {
    chain.scalesByRows = true;
    SCOPED_TRACE(fmt::format("{} {}x{}x{}, {} stages, {} iterations", chain.element, chain.rows, chain.columns,
                             chain.depth, chain.stages, iterations));
    std::vector<Argument> arguments = argumentsOf(chain, iterations), expected = arguments;
    std::string text = kernelOf(chain);
    makeExecutor("reference")->run(text, {}, expected);
    executors::DeviceOptions options;
    options.warps = chain.warps;
    options.warpPipelines = "always";
    if (chipsWithStages.find(device.substr(4, 6)) != std::string::npos)
      expectStages(text, device, options.warpPipelines);
    executors::makeDeviceExecutor(device, options)->run(text, {}, arguments);
    for (size_t i : {3, 4, 5})
      EXPECT_EQ(arguments[i].bytes, expected[i].bytes);
  };
  for (int iterations : {0, 1, 2, 3, mostIterations})
    run({.rows = 256, .columns = 64, .depth = 128, .warps = 8}, iterations);
  for (int iterations : {1, 3}) { // rings of three tiles and of two
    run({.rows = 128, .columns = 128, .depth = 128, .warps = 8}, iterations, "gfx950");
    run({.rows = 128, .columns = 128, .depth = 64, .warps = 8}, iterations);
  }
  run({.element = "bf16", .rows = 256, .warps = 8, .stages = 2}, 4);
  run({.rows = 256, .warps = 8, .stages = 4}, 4);
  run({.rows = 256, .warps = 8, .usesSum = true}, 4, "gfx950");
  run({.rows = 256, .warps = 8, .loadsInLoop = true}, 4, "gfx950");
  run({.rows = 256, .warps = 8, .computesRight = true}, 4, "");
  run({.rows = 256, .warps = 8, .inTwoLoops = true}, 4);
  run({.rows = 256, .warps = 8, .storesSums = true}, 4, "");
}

// Loads come before stores of earlier iterations, which are through another argument.
TEST(Chain, sums_are_stored) {
  for (int iterations : {1, 3}) {
    check({.stages = 3, .storesSums = true}, iterations);
    check({.rows = 128, .columns = 64, .depth = 128, .warps = 8, .stages = 2, .inTwoLoops = true, .storesSums = true},
          iterations);
  }
}

// Too many registers to defer the second matmul: it is pending when the next iteration begins.
TEST(Chain, second_matmul_is_left_pending) {
  for (int iterations : {1, mostIterations})
    check({.rows = 128, .columns = 64, .depth = 128, .stages = 2}, iterations);
}

TEST(Chain, what_the_second_matmul_must_wait_for) {
  check({.usesSum = true}, 3);
  check({.loadsInLoop = true}, 3);
  check({.computesRight = true}, 3);
  check({.turnsLeft = true}, 3);
  check({.loadsInLoop = true, .turnsLeft = true}, 3);
}

// A tile that is copied to shared memory is there for each matmul that follows.
TEST(Chain, matmuls_share_copies_of_tiles) {
  std::string body = tile("q", 64, 64, "f16") + tile("k", 64, 64, "f16") + tile("o", 64, 64, "f32") + R"(
  %x = tt.load %q_p : tensor<64x64x!tt.ptr<f16>>
  %y = tt.load %k_p : tensor<64x64x!tt.ptr<f16>>
  %zeros = arith.constant dense<0.0> : tensor<64x64xf32>
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %once = tt.dot %x, %y, %zeros : tensor<64x64xf16> * tensor<64x64xf16> -> tensor<64x64xf32>
  %twice = tt.dot %y, %x, %once : tensor<64x64xf16> * tensor<64x64xf16> -> tensor<64x64xf32>
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %twice, %t = %x) -> (tensor<64x64xf32>, tensor<64x64xf16>) : i32 {
    %z = tt.load %k_p : tensor<64x64x!tt.ptr<f16>>
    %a = tt.dot %t, %z, %acc : tensor<64x64xf16> * tensor<64x64xf16> -> tensor<64x64xf32>
    %b = tt.dot %t, %y, %a : tensor<64x64xf16> * tensor<64x64xf16> -> tensor<64x64xf32>
    %negated = arith.negf %t : tensor<64x64xf16>
    scf.yield %b, %negated : tensor<64x64xf32>, tensor<64x64xf16>
  }
  tt.store %o_p, %r#0 : tensor<64x64x!tt.ptr<f32>>)";
  std::string aligned = " {tt.divisibility = 16 : i32}";
  std::string parameters =
      "%q: !tt.ptr<f16>" + aligned + ", %k: !tt.ptr<f16>" + aligned + ", %o: !tt.ptr<f32>" + aligned + ", %n: i32";
  std::vector<Argument> arguments = {bufferOf(signs("f16", 4096, 4)), bufferOf(signs("f16", 4096, 5)),
                                     zeros<float>(4096), scalarI32(3)};
  std::vector<Argument> expected = arguments;
  std::string text = kernelText(parameters, body);
  makeExecutor("reference")->run(text, {}, expected);
  runOnGpu(text, {}, arguments, 4, /*warpGroups=*/true);
  EXPECT_EQ(arguments[2].bytes, expected[2].bytes);
}
