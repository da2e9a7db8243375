// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Products summed in loops, which targets may pipeline: every order of the operands in memory, any number of
// iterations, masks, carried addresses, loops in loops. Small integers, so that sums are exact.
#include "runtime/drivers/simulated/SimulatedDriver.h"
#include "support/File.h"
#include "support/TestPaths.h"
#include "tests/numerics/PlainFloat.h"
#include "tests/numerics/Support.h"
#include <fmt/format.h>

using namespace heddle;
using namespace heddle::numerics;
using namespace heddle::reference;

namespace {

struct Loop {
  std::string element = "f16";
  int m = 32, n = 64, k = 32;
  bool aAlongK = true, bAlongK = false; ///< what is contiguous in memory
  bool transposed = false;              ///< b is loaded as it lies, and transposed after the load
  bool carried = false;                 ///< addresses are carried through the loop
  int stages = 0;                       ///< 0: the target's choice
  int outer = 1;                        ///< iterations of a loop around it
  bool twice = false;                   ///< a second loop goes on where the first ended
  bool fromTable = false;               ///< where the tiles of an iteration lie is loaded, as pages are
  bool gathersRows = false;             ///< so is what is added for each row of a
  bool scaled = false;                  ///< b is multiplied by a row that is loaded, of its own first row (along N)
};
constexpr int depth = 256; ///< of the buffers

/// A tile of pointers at `name`, whose coordinates along `rows` and `columns` have these strides.
std::string pointers(const std::string &name, const std::string &element, int rows, int columns, int rowStride,
                     int columnStride) {
  return fmt::format(R"(
  %{0}_r = tt.make_range {{end = {2} : i32, start = 0 : i32}} : tensor<{2}xi32>
  %{0}_c = tt.make_range {{end = {3} : i32, start = 0 : i32}} : tensor<{3}xi32>
  %{0}_rs = arith.constant dense<{4}> : tensor<{2}x1xi32>
  %{0}_cs = arith.constant dense<{5}> : tensor<1x{3}xi32>
  %{0}_row = tt.expand_dims %{0}_r {{axis = 1 : i32}} : tensor<{2}xi32> -> tensor<{2}x1xi32>
  %{0}_column = tt.expand_dims %{0}_c {{axis = 0 : i32}} : tensor<{3}xi32> -> tensor<1x{3}xi32>
  %{0}_ro = arith.muli %{0}_row, %{0}_rs : tensor<{2}x1xi32>
  %{0}_co = arith.muli %{0}_column, %{0}_cs : tensor<1x{3}xi32>
  %{0}_rw = tt.broadcast %{0}_ro : tensor<{2}x1xi32> -> tensor<{2}x{3}xi32>
  %{0}_cw = tt.broadcast %{0}_co : tensor<1x{3}xi32> -> tensor<{2}x{3}xi32>
  %{0}_o = arith.addi %{0}_rw, %{0}_cw : tensor<{2}x{3}xi32>
  %{0}_s = tt.splat %{0} : !tt.ptr<{1}> -> tensor<{2}x{3}x!tt.ptr<{1}>>
  %{0}_z = arith.constant dense<0> : tensor<{2}x{3}xi32>
  %{0}_p = tt.addptr %{0}_s, %{0}_o : tensor<{2}x{3}x!tt.ptr<{1}>>, tensor<{2}x{3}xi32>)",
                     name, element, rows, columns, rowStride, columnStride);
}

/// In the loop: %rows (tile of i32), entries of the table at %t after its pages, times 16.
std::string rowsText(const Loop &loop) {
  return fmt::format(R"(
    %at_row = tt.splat %i : i32 -> tensor<{0}xi32>
    %row_m = arith.constant dense<{0}> : tensor<{0}xi32>
    %row_0 = arith.muli %at_row, %row_m : tensor<{0}xi32>
    %row_i = arith.addi %row_0, %a_r : tensor<{0}xi32>
    %row_s = tt.splat %t : !tt.ptr<i32> -> tensor<{0}x!tt.ptr<i32>>
    %row_p = tt.addptr %row_s, %row_i : tensor<{0}x!tt.ptr<i32>>, tensor<{0}xi32>
    %row_t = tt.load %row_p : tensor<{0}x!tt.ptr<i32>>
    %row_16 = arith.constant dense<16> : tensor<{0}xi32>
    %row_o = arith.muli %row_t, %row_16 : tensor<{0}xi32>
    %row_w = tt.expand_dims %row_o {{axis = 1 : i32}} : tensor<{0}xi32> -> tensor<{0}x1xi32>
    %rows = tt.broadcast %row_w : tensor<{0}x1xi32> -> tensor<{0}x{1}xi32>)",
                     loop.m, loop.k);
}

/// In the loop: the tile at %NAME_p moved by %at (scalar) times `stride`, where %left allows along the axis of K.
/// `moreRows`: the text of a tile %rows that is added, or none.
std::string load(const std::string &name, const std::string &element, int rows, int columns, bool kIsRow, int stride,
                 const std::string &moreRows = "") {
  std::string along = kIsRow ? fmt::format("{}x1", rows) : fmt::format("1x{}", columns);
  return moreRows + fmt::format(R"(
    %{0}_stride = arith.constant {4} : i32
    %{0}_move = arith.muli %at, %{0}_stride : i32
    %{0}_m0 = tt.splat %{0}_move : i32 -> tensor<{2}x{3}xi32>
    %{0}_ms = arith.addi %{0}_m0, {8} : tensor<{2}x{3}xi32>
    %{0}_here = tt.addptr %{0}_p, %{0}_ms : tensor<{2}x{3}x!tt.ptr<{1}>>, tensor<{2}x{3}xi32>
    %{0}_left = tt.splat %left : i32 -> tensor<{5}xi32>
    %{0}_in = arith.cmpi slt, %{0}_{6}, %{0}_left : tensor<{5}xi32>
    %{0}_mask = tt.broadcast %{0}_in : tensor<{5}xi1> -> tensor<{2}x{3}xi1>
    %{0}_zero = arith.constant dense<{7}> : tensor<{2}x{3}x{1}>
    %{0}_t = tt.load %{0}_here, %{0}_mask, %{0}_zero : tensor<{2}x{3}x!tt.ptr<{1}>>)",
                                name, element, rows, columns, stride, along, kIsRow ? "row" : "column",
                                element == "i8" ? "0" : "0.0", moreRows.empty() ? fmt::format("%{}_z", name) : "%rows");
}

/// `%NAME:2 = scf.for ...`, a sum that goes on from `start`.
std::string loopText(const Loop &loop, const std::string &name, const std::string &start) {
  const std::string &e = loop.element;
  std::string sum = fmt::format("tensor<{}x{}x{}>", loop.m, loop.n, e == "i8" ? "i32" : "f32");
  std::string text = fmt::format("\n  %{0}:2 = scf.for %i = %c0 to %n step %c1 iter_args(%part = {1}, %moved = %c0) -> "
                                 "({2}, i32) : i32 {{",
                                 name, start, sum);
  text += loop.carried     ? "\n    %at = arith.addi %moved, %c0 : i32"
          : loop.fromTable ? "\n    %entry = tt.addptr %t, %i : !tt.ptr<i32>, i32"
                             "\n    %page = tt.load %entry : !tt.ptr<i32>"
                             "\n    %at = arith.muli %page, %ck : i32"
                           : "\n    %at = arith.muli %i, %ck : i32";
  text += "\n    %left = arith.subi %depth, %at : i32";
  text += load("a", e, loop.m, loop.k, false, loop.aAlongK ? 1 : loop.m, loop.gathersRows ? rowsText(loop) : "");
  int bk = loop.bAlongK ? 1 : loop.n;
  std::string b = "%b_t";
  if (loop.transposed) {
    text += load("b", e, loop.n, loop.k, false, bk);
    text += fmt::format("\n    %b_transposed = tt.trans %b_t {{order = array<i32: 1, 0>}} : tensor<{0}x{1}x{2}> -> "
                        "tensor<{1}x{0}x{2}>",
                        loop.n, loop.k, e);
    b = "%b_transposed";
  } else {
    text += load("b", e, loop.k, loop.n, true, bk);
  }
  if (loop.scaled) {
    text += fmt::format(R"(
    %s_n = arith.constant {1} : i32
    %s_at = arith.muli %at, %s_n : i32
    %s_move = tt.splat %s_at : i32 -> tensor<{1}xi32>
    %s_o = arith.addi %b_c, %s_move : tensor<{1}xi32>
    %s_s = tt.splat %b : !tt.ptr<{2}> -> tensor<{1}x!tt.ptr<{2}>>
    %s_p = tt.addptr %s_s, %s_o : tensor<{1}x!tt.ptr<{2}>>, tensor<{1}xi32>
    %s_t = tt.load %s_p : tensor<{1}x!tt.ptr<{2}>>
    %s_e = tt.expand_dims %s_t {{axis = 0 : i32}} : tensor<{1}x{2}> -> tensor<1x{1}x{2}>
    %s_w = tt.broadcast %s_e : tensor<1x{1}x{2}> -> tensor<{0}x{1}x{2}>
    %b_scaled = arith.mulf %b_t, %s_w : tensor<{0}x{1}x{2}>)",
                        loop.k, loop.n, e);
    b = "%b_scaled";
  }
  text += fmt::format(R"(
    %d = tt.dot %a_t, {0}, %part{6} : tensor<{1}x{3}x{4}> * tensor<{3}x{2}x{4}> -> {5}
    %next = arith.addi %moved, %ck : i32
    scf.yield %d, %next : {5}, i32
  }})",
                      b, loop.m, loop.n, loop.k, e, sum,
                      e == "f32"             ? ", inputPrecision = tf32"
                      : e.starts_with("f8E") ? " {maxNumImpreciseAcc = 1073741824 : i32}"
                                             : "");
  return text + (loop.stages ? fmt::format(" {{tt.num_stages = {} : i32}}", loop.stages) : "");
}

std::string textOf(const Loop &loop) {
  const std::string &e = loop.element;
  std::string sum = e == "i8" ? "i32" : "f32";
  std::string body = pointers("a", e, loop.m, loop.k, loop.aAlongK ? depth : 1, loop.aAlongK ? 1 : loop.m);
  int bk = loop.bAlongK ? 1 : loop.n, bn = loop.bAlongK ? depth : 1; // strides along k and n
  body += loop.transposed ? pointers("b", e, loop.n, loop.k, bn, bk) : pointers("b", e, loop.k, loop.n, bk, bn);
  body += pointers("c", sum, loop.m, loop.n, loop.n, 1);
  std::string tile = fmt::format("tensor<{}x{}x{}>", loop.m, loop.n, sum);
  body += fmt::format(R"(
  %zero = arith.constant dense<{1}> : {0}
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %ck = arith.constant {2} : i32
  %outer = arith.constant {3} : i32
  %total = scf.for %o = %c0 to %outer step %c1 iter_args(%before = %zero) -> ({0}) : i32 {{)",
                      tile, sum == "i32" ? "0" : "0.0", loop.k, loop.outer);
  body += loopText(loop, "sum", "%before");
  if (loop.twice)
    body += loopText(loop, "again", "%sum#0");
  body += fmt::format(R"(
    scf.yield %{2}#0 : {0}
  }}
  tt.store %c_p, %total : tensor<{1}x!tt.ptr<{3}>>)",
                      tile, fmt::format("{}x{}", loop.m, loop.n), loop.twice ? "again" : "sum", sum);
  return body;
}

std::vector<uint8_t> integers(const std::string &element, size_t count, uint64_t seed) {
  RandomBits random(seed);
  std::vector<uint8_t> bytes;
  for (size_t i = 0; i < count; ++i) {
    int value = int(random.next() % 9) - 4;
    uint64_t bits = uint8_t(value);
    size_t size = 1;
    if (element == "f32") {
      bits = std::bit_cast<uint32_t>(float(value));
      size = 4;
    } else if (element == "f16" || element == "bf16") {
      bits = (element == "f16" ? plainF16 : plainBF16).nearest(value, false);
      size = 2;
    } else if (element != "i8") {
      for (const PlainFormat &format : plainFp8)
        if (format.name == element)
          bits = format.nearest(value, true);
    }
    for (size_t byte = 0; byte < size; ++byte)
      bytes.push_back(uint8_t(bits >> 8 * byte));
  }
  return bytes;
}

struct Case {
  std::string parameters, body;
  std::vector<Argument> arguments;
};

Case caseOf(const Loop &loop, int iterations, int kept) {
  std::string aligned = " {tt.divisibility = 16 : i32}";
  std::string parameters = "%a: !tt.ptr<" + loop.element + ">" + aligned + ", %b: !tt.ptr<" + loop.element + ">" +
                           aligned + ", %c: !tt.ptr<" + (loop.element == "i8" ? "i32" : "f32") + ">" + aligned +
                           ", %n: i32, %depth: i32" + aligned + ", %t: !tt.ptr<i32>" + aligned;
  std::vector<int32_t> table(1); // of an iteration, or of a row in it; iterations end before it does
  for (int i = 1; i < (loop.gathersRows ? iterations * loop.m : iterations); ++i)
    table.push_back((i * 5 + 2) % 3);
  return {parameters,
          textOf(loop),
          {bufferOf(integers(loop.element, size_t(loop.m * depth), 1)),
           bufferOf(integers(loop.element, size_t(loop.n * depth), 2)), zeros<int32_t>(size_t(loop.m * loop.n)),
           scalarI32(iterations), scalarI32(kept), bufferOf(table)}};
}

/// By warp-group MMA where the tile is large enough.
void checkWarpGroups(const Loop &loop, int warps, int iterations, int kept = depth,
                     const std::string &warpPipelines = "auto") {
  SCOPED_TRACE(fmt::format("{} {}x{}x{}, a along k {}, b along k {}, transposed {}, {} warps", loop.element, loop.m,
                           loop.n, loop.k, loop.aAlongK, loop.bAlongK, loop.transposed, warps));
  Case which = caseOf(loop, iterations, kept);
  std::vector<Argument> expected = which.arguments;
  std::string text = kernelText(which.parameters, which.body);
  makeExecutor("reference")->run(text, {}, expected);
  runOnGpu(text, {}, which.arguments, warps, /*warpGroups=*/true, warpPipelines);
  EXPECT_EQ(which.arguments[2].bytes, expected[2].bytes);
}

void check(const Loop &loop, int iterations, int kept = depth) {
  SCOPED_TRACE(fmt::format("{} {}x{}x{}, a along k {}, b along k {}, transposed {}, carried {}, stages {}, outer {}: "
                           "{} iterations, {} deep",
                           loop.element, loop.m, loop.n, loop.k, loop.aAlongK, loop.bAlongK, loop.transposed,
                           loop.carried, loop.stages, loop.outer, iterations, kept));
  Case which = caseOf(loop, iterations, kept);
  expectAsReference(which.parameters, which.body, which.arguments);
}

} // namespace

TEST(Pipeline, any_number_of_iterations) {
  for (int stages : {0, 1, 2, 4})
    for (int iterations : {0, 1, 2, 3, 8}) {
      Loop loop;
      loop.stages = stages;
      check(loop, iterations);
    }
}

TEST(Pipeline, operands_in_every_order_in_memory) {
  for (const char *element : {"f16", "bf16", "f32", "i8", "f8E4M3FN"})
    for (int order = 0; order < 4; ++order) {
      Loop loop;
      loop.element = element;
      loop.aAlongK = order & 1;
      loop.bAlongK = order & 2;
      loop.k = 64;
      check(loop, 3);
    }
}

TEST(Pipeline, transposed_tiles) {
  for (bool alongK : {false, true}) {
    Loop loop;
    loop.transposed = true;
    loop.bAlongK = alongK;
    check(loop, 4);
  }
}

TEST(Pipeline, masks_and_carried_addresses) {
  for (bool carried : {false, true})
    for (int kept : {16, 48, 128, 208}) {
      Loop loop;
      loop.carried = carried;
      check(loop, 8, kept);
    }
}

// Loaded one iteration before the copies that need them, and not after the last entry.
TEST(Pipeline, indices_of_tiles_and_rows_are_loaded) {
  for (bool gathersRows : {false, true})
    for (int iterations : {0, 1, 4}) {
      Loop loop;
      loop.fromTable = true;
      loop.gathersRows = gathersRows;
      check(loop, iterations);
      loop.m = 64;
      loop.n = 32;
      loop.k = 32;
      checkWarpGroups(loop, 4, iterations);
    }
}

TEST(Pipeline, rows_are_copied_ahead) {
  for (const char *element : {"f16", "f32"})
    for (int iterations : {0, 1, 4}) {
      Loop loop;
      loop.element = element;
      loop.scaled = true;
      check(loop, iterations);
      loop.m = loop.n = 64;
      loop.k = 32;
      checkWarpGroups(loop, 4, iterations);
    }
}

TEST(Pipeline, a_loop_in_a_loop) {
  Loop loop;
  loop.outer = 3;
  for (int iterations : {0, 1, 5})
    check(loop, iterations);
}

TEST(Pipeline, two_loops_share_their_memory) {
  Loop loop;
  loop.twice = true;
  for (int iterations : {1, 4}) {
    check(loop, iterations);
    loop.outer = 2;
  }
}

TEST(Pipeline, tiles_of_many_sizes) {
  for (int m : {16, 128})
    for (int n : {8, 16, 128})
      for (int k : {16, 64}) {
        Loop loop;
        loop.m = m;
        loop.n = n;
        loop.k = k;
        check(loop, 3);
      }
}

TEST(Pipeline, warp_groups_take_operands_in_every_order) {
  for (const char *element : {"f16", "bf16"})
    for (int order = 0; order < 4; ++order)
      for (int k : {16, 64}) {
        Loop loop;
        loop.element = element;
        loop.m = 64;
        loop.n = 32;
        loop.k = k;
        loop.aAlongK = order & 1;
        loop.bAlongK = order & 2;
        checkWarpGroups(loop, 4, 3);
      }
}

// What does not lie along K is copied there.
TEST(Pipeline, warp_groups_take_fp8_in_every_order) {
  for (auto [element, order] : {std::pair{"f8E4M3FN", 0}, {"f8E4M3FN", 1}, {"f8E4M3FN", 2}, {"f8E5M2", 3}}) {
    Loop loop;
    loop.element = element;
    loop.m = 64;
    loop.n = 32;
    loop.k = 64;
    loop.aAlongK = order & 1;
    loop.bAlongK = order & 2;
    checkWarpGroups(loop, 4, 3);
    loop.transposed = true;
    checkWarpGroups(loop, 4, 2, 80);
  }
}

// An operand that does not lie along K is multiplied from registers, on the left. With both across K there is none.
TEST(Pipeline, warp_groups_take_tf32) {
  for (auto [order, m, n, k] : {std::array{2, 64, 32, 32}, std::array{3, 64, 32, 32}, std::array{1, 32, 64, 32},
                                std::array{1, 128, 128, 16}, std::array{2, 64, 16, 64}, std::array{3, 16, 64, 8}}) {
    Loop loop;
    loop.element = "f32";
    loop.m = m;
    loop.n = n;
    loop.k = k;
    loop.aAlongK = order & 1;
    loop.bAlongK = order & 2;
    checkWarpGroups(loop, m == 128 ? 8 : 4, 3);
  }
}

// The transposed matmul has 64 rows.
TEST(Pipeline, warp_groups_transpose_matmuls_of_few_rows) {
  for (auto [element, m, n] : {std::tuple{"f16", 16, 64}, {"bf16", 32, 128}, {"f8E4M3FN", 32, 64}, {"i8", 16, 128}}) {
    bool isNarrow = std::string_view(element).find('8') != std::string_view::npos;
    Loop loop;
    loop.element = element;
    loop.m = m;
    loop.n = n;
    loop.k = isNarrow ? 64 : 32;
    loop.bAlongK = isNarrow;
    checkWarpGroups(loop, n == 128 ? 8 : 4, 3);
    if (isNarrow)
      continue;
    loop.aAlongK = false;
    checkWarpGroups(loop, 4, 2);
  }
}

TEST(Pipeline, warp_groups_share_tiles_of_many_sizes) {
  for (auto [m, n, k, warps] : {std::array{64, 256, 16, 4}, std::array{128, 16, 128, 4}, std::array{64, 64, 32, 8},
                                std::array{128, 128, 32, 8}, std::array{128, 64, 64, 16}}) {
    Loop loop;
    loop.m = m;
    loop.n = n;
    loop.k = k;
    checkWarpGroups(loop, warps, 2);
  }
}

TEST(Pipeline, warp_groups_without_a_ring) {
  for (bool transposed : {false, true}) {
    Loop loop;
    loop.m = loop.n = 64;
    loop.transposed = transposed;
    loop.stages = 1;
    checkWarpGroups(loop, 4, 3, 48);
    loop.stages = 2;
    checkWarpGroups(loop, 8, 3, 48);
    loop.outer = 2;
    checkWarpGroups(loop, 4, 3);
  }
}

// Two groups a stage apart, with a matmul in flight between stages (compiler/lowering/tile_to_simt/GroupStages.h).
TEST(Pipeline, warp_groups_in_stages) {
  for (int stages : {2, 3, 4})
    for (int iterations : {0, 1, 2, 6}) {
      Loop loop;
      loop.m = 128;
      loop.n = 64;
      loop.k = 32;
      loop.stages = stages;
      checkWarpGroups(loop, 8, iterations, depth, "always");
    }
  Loop again;
  again.m = again.n = 128;
  again.k = 16;
  again.outer = 2;
  checkWarpGroups(again, 8, 5, depth, "always");
  again.twice = true;
  checkWarpGroups(again, 8, 5, depth, "always");
}

// Eight warps of AMD's chips: tiles for which two groups of warps execute the loop one stage apart
// (tests/cli/find-stages.test), with any number of iterations, and with each number of stages of the copies.
TEST(Pipeline, two_groups_of_warps) {
  std::string device = testDevice();
  if (!device.starts_with("sim:gfx"))
    GTEST_SKIP() << "the compiler finds stages on AMD's chips";
  addSimulatedDrivers();
  auto run = [&](Loop loop, int iterations) {
    SCOPED_TRACE(fmt::format("{} {}x{}x{}, {} stages, {} iterations", loop.element, loop.m, loop.n, loop.k, loop.stages,
                             iterations));
    Case which = caseOf(loop, iterations, depth);
    std::vector<Argument> expected = which.arguments;
    std::string text = kernelText(which.parameters, which.body);
    makeExecutor("reference")->run(text, {}, expected);
    executors::DeviceOptions options;
    options.warps = 8;
    options.warpPipelines = "always";
    expectStages(text, device, options.warpPipelines);
    executors::makeDeviceExecutor(device, options)->run(text, {}, which.arguments);
    EXPECT_EQ(which.arguments[2].bytes, expected[2].bytes);
  };
  for (int iterations : {0, 1, 2, 5})
    run({.element = "f16", .m = 256, .n = 256, .k = 32, .stages = 3}, iterations);
  run({.element = "bf16", .m = 256, .n = 256, .k = 32, .bAlongK = true}, 4);
  run({.element = "i8", .m = 256, .n = 256, .k = 64, .carried = true, .stages = 4}, 4);
  run({.element = "f16", .m = 256, .n = 256, .k = 64, .stages = 2, .outer = 2}, 3);
}

// Eight warps, tiles of 128 x 256 x 64 that stick out of the matrices on every side.
// Four iterations: barrier objects of rings (split-barriers) are used again, in both parities.
TEST(Pipeline, the_benchmark_kernel) {
  const int m = 136, n = 272, k = 208;
  std::vector<Argument> arguments = {bufferOf(integers("bf16", size_t(m * k), 1)),
                                     bufferOf(integers("bf16", size_t(k * n), 2)), zeros<uint16_t>(size_t(m * n))};
  for (int scalar : {m, n, k, k, n, n})
    arguments.push_back(scalarI32(scalar));
  std::string text = readFile(sourcePath("bench/kernels/matmul_bf16_128x256x64.ttir"));
  std::vector<Argument> expected = arguments;
  makeExecutor("reference")->run(text, {4, 1, 1}, expected);
  for (bool warpGroups : {false, true}) {
    std::vector<Argument> actual = arguments;
    runOnGpu(text, {4, 1, 1}, actual, /*warps=*/8, warpGroups);
    EXPECT_EQ(actual[2].bytes, expected[2].bytes) << "warp groups " << warpGroups;
  }
}
