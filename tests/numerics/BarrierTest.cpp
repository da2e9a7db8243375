// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Barriers around shared memory, by the thread interpreter: with all of them no race is seen, and without any single
// one a race is. Each case runs its loops often enough for threads of two iterations to meet.
#include "examples/builder/PlainKernels.h"
#include "tests/numerics/Support.h"
#include <fmt/format.h>

using namespace heddle;
using namespace heddle::numerics;
using namespace heddle::plain;
using namespace heddle::reference;

namespace {

/// There are `barriers` of the block or the warp, and each is needed but those that order global memory.
void expectNeeded(unsigned barriers, const std::string &text, const Grid &grid, const std::vector<Argument> &arguments,
                  int warps = 4, const std::vector<unsigned> &ofGlobal = {}) {
  executors::BarrierTrial trial = executors::tryBarriers(text, grid, arguments, warps);
  EXPECT_EQ(trial.barriers, barriers);
  EXPECT_EQ(trial.unneeded, ofGlobal);
}

/// `body` has %x, a tile of 256 f32 from memory, and leaves %r, as many.
void expectNeeded(unsigned barriers, const std::string &body, int warps = 4) {
  std::string text = kernelText(
      "%in: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %out: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %n: i32", R"(
  %i = tt.make_range {end = 256 : i32, start = 0 : i32} : tensor<256xi32>
  %ins = tt.splat %in : !tt.ptr<f32> -> tensor<256x!tt.ptr<f32>>
  %inp = tt.addptr %ins, %i : tensor<256x!tt.ptr<f32>>, tensor<256xi32>
  %x = tt.load %inp : tensor<256x!tt.ptr<f32>>
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
)" + body + R"(
  %outs = tt.splat %out : !tt.ptr<f32> -> tensor<256x!tt.ptr<f32>>
  %outp = tt.addptr %outs, %i : tensor<256x!tt.ptr<f32>>, tensor<256xi32>
  tt.store %outp, %r : tensor<256x!tt.ptr<f32>>)");
  std::vector<float> input(256);
  for (size_t i = 0; i < input.size(); ++i)
    input[i] = float(i % 7);
  expectNeeded(barriers, text, {1}, {bufferOf(input), zeros<float>(256), scalarI32(4)}, warps);
}

std::string reduce(const std::string &result, const std::string &source, const std::string &operation) {
  return fmt::format(R"(
  %{0} = "tt.reduce"(%{1}) <{{axis = 0 : i32}}> ({{
  ^bb0(%a: f32, %b: f32):
    %sum = arith.{2} %a, %b : f32
    tt.reduce.return %sum : f32
  }}) : (tensor<256xf32>) -> f32)",
                     result, source, operation);
}

std::string subtract(const std::string &result, const std::string &source, const std::string &number) {
  return fmt::format(R"(
  %{0}_s = tt.splat %{2} : f32 -> tensor<256xf32>
  %{0} = arith.subf %{1}, %{0}_s : tensor<256xf32>)",
                     result, source, number);
}

// To another layout and back: through 16 rows of 16 columns, transposed.
std::string transpose(const std::string &result, const std::string &source) {
  return fmt::format(R"(
  %{0}_a = tt.reshape %{1} : tensor<256xf32> -> tensor<16x16xf32>
  %{0}_b = tt.trans %{0}_a {{order = array<i32: 1, 0>}} : tensor<16x16xf32> -> tensor<16x16xf32>
  %{0} = tt.reshape %{0}_b : tensor<16x16xf32> -> tensor<256xf32>)",
                     result, source);
}

std::string scan(const std::string &result, const std::string &source) {
  return fmt::format(R"(
  %{0} = "tt.scan"(%{1}) <{{axis = 0 : i32, reverse = false}}> ({{
  ^bb0(%a: f32, %b: f32):
    %sum = arith.addf %a, %b : f32
    tt.scan.return %sum : f32
  }}) : (tensor<256xf32>) -> tensor<256xf32>)",
                     result, source);
}

/// `body` leaves %next of %t; four times.
std::string loop(const std::string &body) {
  return R"(
  %r = scf.for %k = %c0 to %n step %c1 iter_args(%t = %x) -> (tensor<256xf32>) : i32 {)" +
         body + R"(
  scf.yield %next : tensor<256xf32>
  })";
}

} // namespace

// One thread reserves room in the launch's record and tells the others where.
TEST(Barriers, prints_in_a_loop) {
  expectNeeded(2, kernelText("%n: i32", R"(
  %i = tt.make_range {end = 256 : i32, start = 0 : i32} : tensor<256xi32>
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  scf.for %k = %c0 to %n step %c1 : i32 {
    tt.print "i" {hex = false, isSigned = array<i32: 1>} : %i : tensor<256xi32>
  })"),
               {1}, {scalarI32(4)});
}

TEST(Barriers, reduce_needs_one) {
  expectNeeded(1, reduce("m", "x", "maximumf") + subtract("r", "x", "m"));
}

TEST(Barriers, two_reduces_need_one_each) {
  expectNeeded(2, reduce("m", "x", "maximumf") + subtract("y", "x", "m") + reduce("s", "y", "addf") +
                      subtract("r", "y", "s"));
}

TEST(Barriers, three_reduces_need_one_each) {
  expectNeeded(3, reduce("m", "x", "maximumf") + subtract("y", "x", "m") + reduce("s", "y", "addf") +
                      subtract("z", "y", "s") + reduce("u", "z", "minimumf") + subtract("r", "z", "u"));
}

TEST(Barriers, reduce_alone_in_a_loop_needs_two) {
  expectNeeded(2, loop(reduce("m", "t", "maximumf") + subtract("next", "t", "m")));
}

TEST(Barriers, two_reduces_in_a_loop_need_one_each) {
  expectNeeded(2, loop(reduce("m", "t", "maximumf") + subtract("y", "t", "m") + reduce("s", "y", "addf") +
                       subtract("next", "y", "s")));
}

TEST(Barriers, three_reduces_in_a_loop_need_one_each) {
  expectNeeded(3, loop(reduce("m", "t", "maximumf") + subtract("y", "t", "m") + reduce("s", "y", "addf") +
                       subtract("z", "y", "s") + reduce("u", "z", "minimumf") + subtract("next", "z", "u")));
}

TEST(Barriers, reduce_before_a_loop_is_apart_from_those_in_it) {
  expectNeeded(3, reduce("m0", "x", "addf") +
                      loop(reduce("m", "t", "maximumf") + subtract("y", "t", "m") + subtract("z", "y", "m0") +
                           reduce("s", "z", "addf") + subtract("next", "z", "s")));
}

TEST(Barriers, convert_in_a_loop) {
  expectNeeded(2, loop(transpose("next", "t")));
}

// These are barriers of a warp (compiler/lowering/simt/tests/warp-conversion.ttir).
TEST(Barriers, convert_within_warps_in_a_loop) {
  expectNeeded(2, loop(R"(
  %a = tt.reshape %t : tensor<256xf32> -> tensor<4x4x16xf32>
  %b = tt.trans %a {order = array<i32: 0, 2, 1>} : tensor<4x4x16xf32> -> tensor<4x16x4xf32>
  %next = tt.reshape %b : tensor<4x16x4xf32> -> tensor<256xf32>)"));
}

TEST(Barriers, scan_in_a_loop) {
  expectNeeded(2, loop(scan("next", "t")));
}

TEST(Barriers, branch_with_a_reduce_on_each_side) {
  expectNeeded(4, loop(R"(
  %c2 = arith.constant 2 : i32
  %is = arith.cmpi slt, %k, %c2 : i32
  %next = scf.if %is -> (tensor<256xf32>) {)" +
                       reduce("m", "t", "maximumf") + subtract("y", "t", "m") + R"(
    scf.yield %y : tensor<256xf32>
  } else {)" + reduce("m", "t", "addf") +
                       subtract("y", "t", "m") + R"(
    scf.yield %y : tensor<256xf32>
  })"));
}

TEST(Barriers, one_warp_meets_alone) {
  expectNeeded(2, loop(transpose("next", "t")), 1);
}

static void expectCorpus(unsigned barriers, const std::string &name, const Grid &grid,
                         const std::vector<Argument> &arguments, const std::vector<unsigned> &ofGlobal = {}) {
  SCOPED_TRACE(name);
  expectNeeded(barriers, readCorpus(name + ".sm_90.ttir"), grid, arguments, 4, ofGlobal);
}

TEST(Barriers, row_softmax) {
  auto x = numbers(3 * 1024, 3);
  expectCorpus(2, "row_softmax", {1},
               {zeros<float>(3 * 1024), floatsAs(formatF32, x), scalarI32(1024), scalarI32(1024), scalarI32(3),
                scalarI32(1024)});
}

TEST(Barriers, layer_norm) {
  auto x = numbers(3000, 8);
  expectCorpus(3, "layer_norm", {1},
               {floatsAs(formatBF16, x), zeros<uint16_t>(3000), floatsAs(formatBF16, x), floatsAs(formatBF16, x),
                zeros<float>(1), zeros<float>(1), scalarI32(3000), scalarI32(3000), scalarF32(1e-5f)},
               {2});
}

TEST(Barriers, transpose_f16) {
  auto x = numbers(64 * 64, 8);
  expectCorpus(1, "transpose_f16", {1},
               {floatsAs(formatF16, x), zeros<uint16_t>(64 * 64), scalarI32(64), scalarI32(64)});
}

TEST(Barriers, amax_atomic) {
  auto x = numbers(64 * 64, 8);
  expectCorpus(2, "amax_atomic", {1}, {floatsAs(formatBF16, x), zeros<float>(64), scalarI32(64), scalarI32(64)}, {1});
}

TEST(Barriers, rowwise_fp8) {
  auto x = numbers(16 * 300, 8);
  expectCorpus(2, "rowwise_fp8", {1},
               {floatsAs(formatBF16, x), zeros<uint8_t>(16 * 300), zeros<float>(16), scalarI32(16), scalarI32(300)},
               {1});
}

TEST(Barriers, matmul_f16) {
  auto x = numbers(64 * 128, 8);
  expectCorpus(3, "matmul_f16", {1},
               {floatsAs(formatF16, x), floatsAs(formatF16, x), zeros<uint16_t>(64 * 64), scalarI32(64), scalarI32(64),
                scalarI32(128), scalarI32(128), scalarI32(64), scalarI32(64)});
}

TEST(Barriers, attention_causal) {
  auto x = numbers(256 * 64, 8);
  // The one after the loop frees its ring, where the result's conversion lies.
  expectCorpus(4, "attention_causal", {4, 1},
               {floatsAs(formatF16, x), floatsAs(formatF16, x), floatsAs(formatF16, x), zeros<uint16_t>(256 * 64),
                scalarI32(256), scalarF32(0.125f)});
}

TEST(Barriers, jagged_rowsum) {
  auto x = numbers(200 * 64, 8);
  expectCorpus(2, "jagged_rowsum", {2, 1},
               {floatsAs(formatBF16, x), bufferOf(std::vector<int32_t>{100, 200}), zeros<float>(128), scalarI32(64),
                scalarI32(2)});
}

TEST(Barriers, spin_lock_sum) {
  auto x = numbers(700, 8);
  expectCorpus(4, "spin_lock_sum", {3}, {floatsAs(formatF32, x), zeros<float>(1), zeros<int32_t>(1), scalarI32(700)},
               {3});
}
