// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Movement, contractions, tuples and control, with results worked out by hand.
#include "tests/reference/hlo/TestSupport.h"
#include <algorithm>
#include <cstdint>
#include <numeric>

using namespace heddle;
using namespace heddle::hlo;
using namespace heddle::hlo::reference;

namespace {

const Numbers six = {0, 1, 2, 3, 4, 5};

/// ROOT is `line`; `p` is f32[2,3] of 0 to 5, `z` a scalar of the value 9.
Numbers ofSix(const std::string &line) {
  return compute("p = f32[2,3] parameter(0)\nz = f32[] constant(9)\nROOT r = " + line, {six});
}

} // namespace

TEST(HloMovement, shapes) {
  expectSame(compute("ROOT r = s32[2,3] iota(), iota_dimension=1"), {0, 1, 2, 0, 1, 2}, "iota");
  expectSame(compute("ROOT r = bf16[2,2] iota(), iota_dimension=0"), {0, 0, 1, 1}, "iota");
  expectSame(ofSix("f32[3,2] reshape(p)"), six, "reshape");
  expectSame(ofSix("transpose(p), dimensions={1,0}"), {0, 3, 1, 4, 2, 5}, "transpose");
  expectSame(ofSix("reverse(p), dimensions={1}"), {2, 1, 0, 5, 4, 3}, "reverse");
  expectSame(ofSix("f32[2] broadcast(z), dimensions={}"), {9, 9}, "broadcast");
  expectSame(compute("p = f32[2] parameter(0)\nROOT r = f32[2,3] broadcast(p), dimensions={0}", {{1, 2}}),
             {1, 1, 1, 2, 2, 2}, "broadcast");
  expectSame(compute("p = f32[2,3] parameter(0)\nROOT r = f32[3,2] broadcast(p), dimensions={1,0}", {six}),
             {0, 3, 1, 4, 2, 5}, "broadcast");
  expectSame(compute("p = f32[0,2] parameter(0)\nROOT r = f32[2,0] transpose(p), dimensions={1,0}", {{}}), {}, "empty");
}

TEST(HloMovement, bitcasts_follow_the_layouts) {
  expectSame(ofSix("f32[6] bitcast(p)"), six, "row-major");
  expectSame(ofSix("f32[3,2]{0,1} bitcast(p)"), {0, 3, 1, 4, 2, 5}, "a transpose");
  expectSame(compute("p = f32[2,3]{0,1} parameter(0)\nROOT r = f32[6] bitcast(p)", {six}), {0, 3, 1, 4, 2, 5},
             "column-major");
  expectSame(compute("p = f32[2,3] parameter(0)\nc = f32[2,3]{0,1} copy(p)\nROOT r = f32[6] bitcast(c)", {six}),
             {0, 3, 1, 4, 2, 5}, "copy");
  expectSame(compute("p = u32[1] parameter(0)\nROOT r = u8[4] bitcast(p)", {{0x04030201}}), {1, 2, 3, 4}, "bytes");
}

TEST(HloMovement, slices) {
  expectSame(ofSix("slice(p), slice={[0:2], [0:3:2]}"), {0, 2, 3, 5}, "slice");
  expectSame(ofSix("slice(p), slice={[1:2], [1:3]}"), {4, 5}, "slice");
  expectSame(ofSix("dynamic-slice(p, s32[] constant(1), s32[] constant(1)), dynamic_slice_sizes={1,2}"), {4, 5},
             "dynamic-slice");
  expectSame(ofSix("dynamic-slice(p, s32[] constant(-5), u8[] constant(250)), dynamic_slice_sizes={1,2}"), {1, 2},
             "clamped");
  expectSame(
      ofSix("dynamic-slice(p, u64[] constant(18446744073709551615), u64[] constant(0)), dynamic_slice_sizes={1,2}"),
      {3, 4}, "u64");
  expectSame(ofSix("dynamic-update-slice(p, f32[1,2] constant({{7,8}}), s32[] constant(9), s32[] constant(0))"),
             {0, 1, 2, 7, 8, 5}, "dynamic-update-slice");
  expectSame(ofSix("concatenate(p, f32[2,1] constant({{7},{8}}), p), dimensions={1}"),
             {0, 1, 2, 7, 0, 1, 2, 3, 4, 5, 8, 3, 4, 5}, "concatenate");
}

TEST(HloMovement, gathers) {
  expectSame(ofSix("gather(p, s32[3] constant({1,0,1})), offset_dims={1}, collapsed_slice_dims={0}, "
                   "start_index_map={0}, index_vector_dim=1, slice_sizes={1,3}"),
             {3, 4, 5, 0, 1, 2, 3, 4, 5}, "rows");
  expectSame(ofSix("gather(p, s32[2,2] constant({{0,1},{1,9}})), offset_dims={1}, collapsed_slice_dims={0}, "
                   "start_index_map={0,1}, index_vector_dim=1, slice_sizes={1,2}"),
             {1, 2, 4, 5}, "windows, one moved to lie inside");
  expectSame(ofSix("gather(p, s64[2,1] constant({{2},{-7}})), offset_dims={0}, collapsed_slice_dims={1}, "
                   "start_index_map={1}, index_vector_dim=1, slice_sizes={2,1}"),
             {2, 0, 5, 3}, "columns, before the windows' dimension");
  expectSame(ofSix("gather(p, u8[2,1] constant({{2},{200}})), offset_dims={}, collapsed_slice_dims={1}, "
                   "operand_batching_dims={0}, start_indices_batching_dims={0}, start_index_map={1}, "
                   "index_vector_dim=1, slice_sizes={1,1}"),
             {2, 5}, "one of each row");
}

TEST(HloMovement, conditionals) {
  auto choose = [](const std::string &selector, const std::string &line) {
    std::string text = moduleText("s = " + selector + "\np = f32[2] parameter(0)\nROOT r = " + line);
    text.insert(text.find("ENTRY"), "twice { a = f32[2] parameter(0) ROOT r = f32[2] add(a, a) }\n"
                                    "minus { a = f32[2] parameter(0) ROOT r = f32[2] negate(a) }\n"
                                    "same { a = f32[2] parameter(0) ROOT r = f32[2] copy(a) }\n"
                                    "both { a = f32[2] parameter(0) b = f32[2] negate(a) ROOT r = tuple(a, b) }\n"
                                    "swapped { a = f32[2] parameter(0) b = f32[2] negate(a) ROOT r = tuple(b, a) }\n");
    Value result = run(parseModule(text, "t.hlo"), {{{1, 2}}})[0];
    return numbersOf(result.shape.isTuple() ? result.elements[0] : result);
  };
  std::string two = "f32[2] conditional(s, p, p), true_computation=twice, false_computation=minus";
  expectSame(choose("pred[] constant(true)", two), {2, 4}, "true");
  expectSame(choose("pred[] constant(false)", two), {-1, -2}, "false");
  std::string three = "conditional(s, p, p, p), branch_computations={twice, minus, %same}";
  expectSame(choose("s32[] constant(0)", three), {2, 4}, "first");
  expectSame(choose("s32[] constant(1)", three), {-1, -2}, "second");
  expectSame(choose("s32[] constant(2)", three), {1, 2}, "third");
  expectSame(choose("s32[] constant(-1)", three), {1, 2}, "no branch's number");
  expectSame(choose("s32[] constant(7)", "conditional(s, p), branch_computations={minus}"), {-1, -2}, "one branch");
  std::string pair = "(f32[2], f32[2]) conditional(s, p, p), branch_computations={both, swapped}";
  expectSame(choose("pred[] constant(true)", pair), {1, 2}, "tuples");
  expectSame(choose("pred[] constant(false)", pair), {-1, -2}, "tuples");
}

TEST(HloMovement, pads) {
  expectSame(ofSix("pad(p, z), padding=1_0x0_1"), {9, 9, 9, 9, 0, 1, 2, 9, 3, 4, 5, 9}, "pad");
  expectSame(ofSix("pad(p, z), padding=0_-1x-1_0"), {1, 2}, "negative");
  expectSame(ofSix("pad(p, z), padding=0_0x0_0_1"), {0, 9, 1, 9, 2, 3, 9, 4, 9, 5}, "interior");
}

TEST(HloContraction, reduce) {
  expectSame(ofSix("reduce(p, z), dimensions={1}, to_apply=add"), {12, 21}, "rows");
  expectSame(ofSix("reduce(p, z), dimensions={0}, to_apply=max"), {9, 9, 9}, "columns");
  expectSame(ofSix("reduce(p, f32[] constant(1)), dimensions={1,0}, to_apply=min"), {0}, "all");
  expectSame(ofSix("reduce(p, z), dimensions={}, to_apply=add"), {9, 10, 11, 12, 13, 14}, "none");
}

TEST(HloContraction, windows) {
  expectSame(compute("p = f32[4] parameter(0)\nz = f32[] constant(0)\n"
                     "ROOT r = f32[4] reduce-window(p, z), window={size=4 pad=3_0}, to_apply=add",
                     {{1, 2, 4, 8}}),
             {1, 3, 7, 15}, "a running sum");
  expectSame(compute("p = f32[2,4] parameter(0)\nz = f32[] constant(-inf)\n"
                     "ROOT r = reduce-window(p, z), window={size=2x2 stride=2x2}, to_apply=max",
                     {{1, 2, 3, 4, 8, 7, 6, 5}}),
             {8, 6}, "pooling");
  expectSame(
      ofSix("f32[3,2] reduce-window(p, f32[] constant(0)), window={size=1x2 stride=1x3 pad=1_0x1_1}, to_apply=add"),
      {0, 0, 0, 2, 3, 5}, "padding and strides");
  expectSame(compute("p = f32[5] parameter(0)\nz = f32[] constant(0)\n"
                     "ROOT r = f32[3] reduce-window(p, z), window={size=2 rhs_dilate=2}, to_apply=add",
                     {{1, 2, 4, 8, 16}}),
             {5, 10, 20}, "a dilated window");
  expectSame(compute("p = f32[2] parameter(0)\nz = f32[] constant(1)\n"
                     "ROOT r = f32[2] reduce-window(p, z), window={size=2 lhs_dilate=2}, to_apply=mul",
                     {{3, 5}}),
             {3, 5}, "a dilated operand");
  expectSame(ofSix("f32[2,3] reduce-window(p, f32[] constant(1)), window={size=1x1}, to_apply=add"), {1, 2, 3, 4, 5, 6},
             "windows of one");
}

TEST(HloContraction, convolutions) {
  auto convolve = [](const std::string &image, const std::string &kernel, const std::string &rest, const Numbers &x,
                     const Numbers &w) {
    return compute("x = " + image + " parameter(0)\nw = " + kernel + " parameter(1)\nROOT r = " + rest, {x, w});
  };
  expectSame(convolve("f32[1,4,1]", "f32[2,1,1]",
                      "f32[1,3,1] convolution(x, w), window={size=2}, dim_labels=b0f_0io->b0f", {1, 2, 4, 8}, {10, 1}),
             {12, 24, 48}, "along a line");
  expectSame(convolve("f32[1,4,1]", "f32[2,1,1]",
                      "f32[1,4,1] convolution(x, w), window={size=2 pad=1_0 rhs_reversal=1}, dim_labels=b0f_0io->b0f",
                      {1, 2, 4, 8}, {10, 1}),
             {10, 21, 42, 84}, "padded, reversed");
  expectSame(convolve("f32[1,2,1,2]", "f32[1,2,1,1]",
                      "f32[1,1,1,2] convolution(x, w), window={size=1x1}, dim_labels=bf01_oi01->bf01", {1, 2, 3, 4},
                      {10, 1}),
             {13, 24}, "features are summed");
  expectSame(convolve("f32[1,2,2]", "f32[1,1,2]",
                      "f32[1,2,2] convolution(x, w), window={size=1}, dim_labels=b0f_0io->b0f, feature_group_count=2",
                      {1, 3, 2, 4}, {10, 1}),
             {10, 3, 20, 4}, "groups of features");
  expectSame(
      convolve("f32[2,3]", "f32[3,1]", "f32[2,1] convolution(x, w), window={}, dim_labels=bf_io->bf", six, {1, 2, 3}),
      {8, 26}, "without a window");
  expectSame(convolve("f32[2,3]", "f32[3,1]", "f32[2,1] convolution(x, w), dim_labels=bf_io->bf", six, {1, 2, 3}),
             {8, 26}, "without a window");
}

TEST(HloMovement, scatters) {
  auto scattered = [](const std::string &line) {
    std::string text = moduleText("p = f32[2,3] parameter(0)\nROOT r = f32[2,3] scatter(p, " + line);
    text.insert(text.find("ENTRY"), "set { a = f32[] parameter(0) ROOT b = f32[] parameter(1) }\n"
                                    "sub { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = subtract(a, b) }\n");
    return numbersOf(run(parseModule(text, "t.hlo"), {{six}})[0]);
  };
  std::string rows = "), update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, "
                     "index_vector_dim=1, to_apply=";
  std::string two = "s32[2,1] constant({{1},{1}}), f32[2,3] constant({{1,2,3},{10,20,30}})";
  expectSame(scattered(two + rows + "add"), {0, 1, 2, 14, 26, 38}, "rows are added, one twice");
  expectSame(scattered(two + rows + "set"), {0, 1, 2, 10, 20, 30}, "the last one counts");
  expectSame(scattered(two + rows + "mul"), {0, 1, 2, 30, 160, 450}, "products");
  expectSame(scattered("s32[2,1] constant({{2},{-1}}), f32[2,3] constant({{1,2,3},{10,20,30}})" + rows + "set"), six,
             "windows outside are left out");
  expectSame(
      scattered("s64[2,2] constant({{0,1},{1,2}}), f32[2,2] constant({{7,8},{9,9}})), update_window_dims={1}, "
                "inserted_window_dims={0}, scatter_dims_to_operand_dims={0,1}, index_vector_dim=1, to_apply=set"),
      {0, 7, 8, 3, 4, 5}, "windows, one of them partly outside");
  expectSame(scattered("u8[2,1] constant({{2},{0}}), f32[2] constant({7,8})), update_window_dims={}, "
                       "inserted_window_dims={1}, input_batching_dims={0}, scatter_indices_batching_dims={0}, "
                       "scatter_dims_to_operand_dims={1}, index_vector_dim=1, to_apply=set"),
             {0, 1, 7, 8, 4, 5}, "one in each row");
  expectSame(
      scattered("s32[3,1] constant({{0},{1},{0}}), f32[3,3] constant({{1,-2,3},{10,4,-30},{2,0,-1}})" + rows + "max"),
      {2, 1, 3, 10, 4, 5}, "the largest");
  expectSame(scattered("s32[3,1] constant({{1},{1},{7}}), f32[3,3] constant({{1,2,3},{4,5,6},{7,7,7}})" + rows + "sub"),
             {0, 1, 2, -2, -3, -4}, "one after the other, what is there first");
}

TEST(HloMovement, selections) {
  auto selected = [](const std::string &source, const std::string &rest) {
    std::string text = moduleText("p = f32[2,4] parameter(0)\nz = f32[] constant(0)\nROOT r = select-and-scatter(p, " +
                                  source + ", z), select=ge, scatter=add, window=" + rest);
    text.insert(text.find("ENTRY"), "ge { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = compare(a, b), "
                                    "direction=GE }\n");
    return numbersOf(run(parseModule(text, "t.hlo"), {{{1, 5, 2, 2, 7, 0, 3, 4}}})[0]);
  };
  expectSame(selected("f32[1,2] constant({{10,20}})", "{size=2x2 stride=2x2}"), {0, 0, 0, 0, 10, 0, 0, 20}, "apart");
  expectSame(selected("f32[2,3] constant({{1,2,3},{4,5,6}})", "{size=1x2}"), {0, 3, 3, 0, 4, 0, 5, 6},
             "windows that overlap, and the first of equal ones");
  expectSame(selected("f32[2,2] constant({{1,2},{4,8}})", "{size=1x3 stride=1x3 pad=0_0x1_1}"),
             {0, 1, 2, 0, 4, 0, 0, 8}, "nothing beyond the array is selected");
}

TEST(HloContraction, what_is_read_as_a_few_operations) {
  expectSame(compute("p = pred[2,2] parameter(0)\nq = pred[2,2] dot(p, p), lhs_contracting_dims={1}, "
                     "rhs_contracting_dims={0}\nROOT r = f32[2,2] convert(q)",
                     {{1, 1, 0, 1}}),
             {1, 1, 0, 1}, "a dot of pred");
  expectSame(compute("p = f32[3] parameter(0)\nROOT r = map(p, p), dimensions={0}, to_apply=mul", {{1, 2, -3}}),
             {1, 4, 9}, "map");
  expectSame(compute("p = f32[7] parameter(0)\nROOT r = reduce-precision(p), exponent_bits=5, mantissa_bits=10",
                     {{1 + 0x1p-11, 1 + 0x3p-11, 65519, 65520, -0x1p-15, notANumber, -0x1p-14}}),
             {1, 1 + 0x1p-9, 65504, infinity, -0.0, notANumber, -0x1p-14}, "ties, overflow, what is not normal");
  std::string text = moduleText("p = f32[5] parameter(0)\nt = (f32[2], s32[2]) custom-call(p), "
                                "custom_call_target=\"TopK\", called_computations={gt}\n"
                                "ROOT r = get-tuple-element(t), index=1");
  text.insert(text.find("ENTRY"), "gt { a = f32[] parameter(0) b = f32[] parameter(1) c = compare(a, b), direction=LT "
                                  "ROOT d = compare(a, b), direction=GT }\n");
  expectSame(numbersOf(run(parseModule(text, "t.hlo"), {{{1, 5, 2, 9, 5}}})[0]), {3, 1}, "TopK");
  text.replace(text.find("d = compare(a, b)"), 17, "d = compare(b, a)");
  expectSame(numbersOf(run(parseModule(text, "t.hlo"), {{{1, 5, 2, 9, 5}}})[0]), {0, 2}, "TopK, as it is compared");
  text.replace(text.find("direction=LT"), 12, "direction=LT i = s32[] parameter(2) j = s32[] parameter(3)");
  expectSame(numbersOf(run(parseModule(text, "t.hlo"), {{{1, 5, 2, 9, 5}}})[0]), {0, 2}, "TopK with numbers");
  text.replace(text.find("d = compare(b, a)"), 17, "d = compare(i, j)");
  expectSame(numbersOf(run(parseModule(text, "t.hlo"), {{{1, 5, 2, 9, 5}}})[0]), {4, 3}, "TopK by numbers");
}

TEST(HloMovement, marks_of_the_partitioner) {
  expectSame(compute("p = f32[2] parameter(0)\nROOT r = f32[2] custom-call(p), custom_call_target=\"Sharding\", "
                     "sharding={replicated}",
                     {{1, 2}}),
             {1, 2}, "Sharding");
}

TEST(HloContraction, factors_and_triangular_systems) {
  Numbers matrix = {4, 9, 2, 10}; // cholesky reads one triangle
  auto ofMatrix = [&](const std::string &lines) {
    return compute("p = f32[2,2] parameter(0)\nb = f32[2,1] constant({{8},{12}})\n" + lines, {matrix});
  };
  expectSame(ofMatrix("ROOT r = cholesky(p), lower=true"), {2, 0, 1, 3}, "the lower triangle");
  expectSame(compute("p = f32[2,2] parameter(0)\nROOT r = cholesky(p), lower=false", {{4, 2, 9, 10}}), {2, 1, 0, 3},
             "the upper triangle");
  std::string solve = "ROOT r = triangular-solve(p, ";
  expectSame(ofMatrix(solve + "b), left_side=true, lower=true, transpose_a=NO_TRANSPOSE"), {2, 0.8f}, "lower");
  expectSame(ofMatrix(solve + "b), left_side=true, lower=true, unit_diagonal=true"), {8, -4}, "ones on the diagonal");
  expectSame(ofMatrix(solve + "b), left_side=true, lower=false, unit_diagonal=true"), {-100, 12}, "upper");
  expectSame(ofMatrix(solve + "b), left_side=true, lower=false, unit_diagonal=true, transpose_a=TRANSPOSE"), {8, -60},
             "transposed");
  std::string row = "c = f32[1,2] reshape(b)\n" + solve + "c), unit_diagonal=true";
  expectSame(ofMatrix(row + ", left_side=false, lower=true"), {-16, 12}, "on the right");
  expectSame(ofMatrix(row + ", transpose_a=NO_TRANSPOSE"), {8, -60}, "on the right and upper, which XLA leaves out");
  EXPECT_EQ(compute("p = f32[2,0,0] parameter(0)\nROOT r = cholesky(p), lower=true", {{}}), Numbers{}) << "no columns";
  auto ofCall = [&](const std::string &target, int element) {
    return compute(
        fmt::format("p = f32[1,2,2] parameter(0)\nt = (f32[1,2,2], s32[1,2], s32[1]) custom-call(p), "
                    "custom_call_target=\"{}\", backend_config={{}}\nROOT r = get-tuple-element(t), index={}",
                    target, element),
        {{2, 1, 4, 6}});
  };
  expectSame(ofCall("lapack_sgetrf_ffi", 0), {4, 6, 0.5, -2}, "LU factors");
  expectSame(ofCall("lapack_sgetrf_ffi", 1), {2, 2}, "pivots");
  expectSame(ofCall("lapack_sgetrf_ffi", 2), {0}, "status");
  expectSame(compute("p = f64[2,2] parameter(0)\nt = (f64[2,2], s32[]) custom-call(p), "
                     "custom_call_target=\"lapack_dpotrf_ffi\", backend_config={uplo = 76 : ui8}\n"
                     "ROOT r = get-tuple-element(t), index=1",
                     {{1, 2, 2, 1}}),
             {1}, "a matrix that is not positive definite");
}

// The known answers of Philox4x32-10 that its authors publish with the generator.
TEST(HloMovement, random_bits) {
  auto bits = [](const std::string &state, const std::string &result, int element) {
    std::string size = state.find(',') == state.rfind(',') ? "u64[2]" : "u64[3]";
    return compute(fmt::format("t = ({0}, {1}) rng-bit-generator({0} constant({{{2}}})), algorithm=rng_default\n"
                               "ROOT r = get-tuple-element(t), index={3}",
                               size, result, state, element));
  };
  expectSame(bits("0,0", "u32[2,2]", 1), {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}, "zeros");
  expectSame(bits("0,0", "u8[3]", 1), {0xd5, 0x8d, 0x4c}, "the low bits");
  expectSame(bits("0,0", "s64[1]", 1), {double(int64_t(0xe169c58d6627e8d5))}, "two words, the low one first");
  expectSame(bits("0,0", "u32[5]", 0), {0, 2}, "the counter goes on by the blocks");
  std::string ones = "18446744073709551615";
  expectSame(bits(ones + "," + ones + "," + ones, "u32[4]", 1), {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd},
             "ones");
  expectSame(bits("7," + ones + ",8", "u32[1]", 0), {7, 0, 9}, "with a carry");
}

TEST(HloContraction, several_values_in_windows) {
  std::string text = moduleText("p = f32[4] parameter(0)\nz = f32[] constant(0)\no = f32[] constant(1)\n"
                                "t = reduce-window(p, p, z, o), window={size=2}, to_apply=both\n"
                                "ROOT r = get-tuple-element(t), index=1");
  text.insert(text.find("ENTRY"), "both { a = f32[] parameter(0) b = f32[] parameter(1) c = f32[] parameter(2) d = "
                                  "f32[] parameter(3) s = add(a, c) m = multiply(b, d) ROOT t = tuple(s, m) }\n");
  expectSame(numbersOf(run(parseModule(text, "t.hlo"), {{{1, 2, 3, 4}}})[0]), {2, 6, 12}, "sums and products");
}

TEST(HloContraction, regions_with_bitcasts_and_calls) {
  std::string text =
      moduleText("p = f32[3] parameter(0)\nz = f32[] constant(1)\n"
                 "s = sort(p), dimensions={0}, to_apply=bits\n"
                 "m = reduce(p, z), dimensions={0}, to_apply=called\nb = f32[3] broadcast(m), dimensions={}\n"
                 "ROOT r = add(s, b)");
  text.insert(text.find("ENTRY"),
              "bits { a = f32[] parameter(0) b = f32[] parameter(1) c = s32[] bitcast(a) d = s32[] bitcast(b) "
              "ROOT e = compare(c, d), direction=LT }\n"
              "called { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = call(a, b), to_apply=mul }\n");
  expectSame(numbersOf(run(parseModule(text, "t.hlo"), {{{3, 1, 2}}})[0]), {7, 8, 9}, "by their bits");
  std::string tuples = moduleText("p = f32[3] parameter(0)\nROOT s = sort(p), dimensions={0}, to_apply=of\n");
  tuples.insert(tuples.find("ENTRY"), "of { a = (f32[], f32[]) parameter(0) b = f32[] parameter(1) c = f32[] "
                                      "get-tuple-element(a), index=1 ROOT d = compare(b, c), direction=LT }\n");
  EXPECT_CONTAINS(messageOf([&] { parseModule(tuples, "t.hlo"); }),
                  "`get-tuple-element` in the computation `of` is not element-wise");
}

TEST(HloMovement, sorts) {
  auto sorted = [](const std::string &line, const Numbers &values, size_t number) {
    std::string text = moduleText("p = f32[2,4] parameter(0)\ni = s32[2,4] iota(), iota_dimension=1\nROOT r = " + line);
    text.insert(text.find("ENTRY"),
                "up { a = f32[] parameter(0) b = f32[] parameter(1) ROOT r = pred[] compare(a, b), direction=LT }\n"
                "down { a = f32[] parameter(0) b = f32[] parameter(1) i = s32[] parameter(2) j = s32[] parameter(3) "
                "z = f32[] constant(0) c = f32[] add(a, z) ROOT r = pred[] compare(c, b), direction=GT }\n");
    Value result = run(parseModule(text, "t.hlo"), {{values}})[0];
    return numbersOf(result.shape.isTuple() ? result.elements[number] : result);
  };
  Numbers values = {3, 1, 3, 2, 8, 5, 6, 7};
  std::string up = "f32[2,4] sort(p), is_stable=true, to_apply=up, dimensions=";
  expectSame(sorted(up + "{1}", values, 0), {1, 2, 3, 3, 5, 6, 7, 8}, "rows");
  expectSame(sorted(up + "{0}", {1, 5, 3, 4, 0, 9, 2, 4}, 0), {0, 5, 2, 4, 1, 9, 3, 4}, "columns");
  std::string pairs = "(f32[2,4], s32[2,4]) sort(p, i), dimensions={1}, to_apply=down";
  expectSame(sorted(pairs, values, 0), {3, 3, 2, 1, 8, 7, 6, 5}, "keys");
  expectSame(sorted(pairs, values, 1), {0, 2, 3, 1, 0, 3, 2, 1}, "values: equal keys keep their order");
  expectSame(sorted("(f32[2,2], s32[2,2]) topk(p), k=2, largest=true", values, 1), {0, 2, 0, 3}, "topk");
  expectSame(sorted("(f32[2,2], s32[2,2]) topk(p), k=2, largest=false", values, 0), {1, 2, 5, 6}, "the smallest");
}

TEST(HloMovement, long_rows_are_sorted_by_a_network) {
  auto sorted = [](const std::string &shape, const std::string &line, const Numbers &values, int number) {
    std::string text =
        moduleText(fmt::format("p = f32[{0}] parameter(0)\ni = s32[{0}] iota(), iota_dimension=1\nt = {1}"
                               "\nROOT r = get-tuple-element(t), index={2}",
                               shape, line, number));
    text.insert(text.find("ENTRY"),
                "up { a = f32[] parameter(0) b = f32[] parameter(1) i = s32[] parameter(2) j = s32[] parameter(3) "
                "ROOT r = pred[] compare(a, b), direction=LT, type=TOTALORDER }\n");
    return numbersOf(run(parseModule(text, "t.hlo"), {{values}})[0]);
  };
  constexpr size_t count = 300;
  Numbers values(2 * count), first, numbers;
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = i % 23 == 0 ? notANumber : i % 19 == 0 ? -0.0 : double(i * i % 37) - 18;
  auto comesBefore = [](double a, double b) { // in the total order of those values
    auto group = [](double x) { return std::isnan(x) ? 2 : x > 0 || (x == 0 && !std::signbit(x)) ? 1 : 0; };
    return group(a) != group(b) ? group(a) < group(b) : a < b;
  };
  for (size_t row = 0; row < 2; ++row) {
    std::vector<size_t> order(count);
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      double x = values[row * count + a], y = values[row * count + b];
      return comesBefore(x, y) || (!comesBefore(y, x) && a < b);
    });
    for (size_t number : order) {
      first.push_back(values[row * count + number]);
      numbers.push_back(double(number));
    }
  }
  std::string rows = "(f32[2,300], s32[2,300]) sort(p, i), dimensions={1}, to_apply=up";
  expectSame(sorted("2,300", rows, values, 0), first, "rows");
  expectSame(sorted("2,300", rows, values, 1), numbers, "equal elements keep their order");
  Numbers columns(values.size()), expected(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    columns[i % count * 2 + i / count] = values[i];
    expected[i % count * 2 + i / count] = first[i];
  }
  expectSame(sorted("300,2", "(f32[300,2], s32[300,2]) sort(p, i), dimensions={0}, to_apply=up", columns, 0), expected,
             "columns");
  expectSame(sorted("3,0", "(f32[3,0], s32[3,0]) sort(p, i), dimensions={1}, to_apply=up", {}, 0), {}, "no elements");
  Numbers longRow(1001);
  for (size_t i = 0; i < longRow.size(); ++i)
    longRow[i] = double(i * 7 % 1001 / 2);
  expectSame(sorted("1,1001", "(f32[1,3], s32[1,3]) topk(p), k=3, largest=true", longRow, 1), {142, 285, 428},
             "the largest of parts of the row");
  expectSame(sorted("1,1001", "(f32[1,3], s32[1,3]) topk(p), k=3, largest=false", longRow, 1), {0, 143, 286},
             "the smallest");
}

TEST(HloContraction, running_reductions_are_loops) {
  constexpr size_t count = 67;
  Numbers factors(count), terms(count);
  for (size_t i = 0; i < count; ++i) {
    factors[i] = double(i % 5) - 2;
    terms[i] = double(i * 3 % 11) - 4;
  }
  // Functions f x + t, one after the other: the result depends on the order.
  auto composed = [&](const std::string &pad, size_t number) {
    std::string text =
        moduleText(fmt::format("p = s32[67] parameter(0)\nq = s32[67] parameter(1)\nf = s32[] constant(2)\n"
                               "t = s32[] constant(1)\nw = reduce-window(p, q, f, t), window={{size=67 "
                               "pad={}}}, to_apply=after\nROOT r = get-tuple-element(w), index={}",
                               pad, number));
    text.insert(text.find("ENTRY"), "after { a = s32[] parameter(0) b = s32[] parameter(1) c = s32[] parameter(2) d = "
                                    "s32[] parameter(3) f = multiply(a, c) m = multiply(b, c) t = add(m, d) ROOT r = "
                                    "tuple(f, t) }\n");
    return numbersOf(run(parseModule(text, "t.hlo"), {{factors, terms}})[0]);
  };
  auto expected = [&](bool isBackward, size_t number) {
    Numbers results;
    for (size_t i = 0; i < count; ++i) {
      uint32_t factor = 2, term = 1; // the initial value
      for (size_t k = 0; k < count; ++k) {
        size_t at = isBackward ? i + k : i + k + 1 - count; // beyond the ends initial values
        uint32_t f = at < count ? uint32_t(int32_t(factors[at])) : 2, t = at < count ? uint32_t(int32_t(terms[at])) : 1;
        factor *= f, term = term * f + t;
      }
      results.push_back(double(int32_t(number == 0 ? factor : term)));
    }
    return results;
  };
  for (size_t number : {0, 1}) {
    expectSame(composed("66_0", number), expected(false, number), "up to each element");
    expectSame(composed("0_66", number), expected(true, number), "from each element on");
  }
  Numbers ones(140, 1), sums(140);
  for (size_t i = 0; i < sums.size(); ++i)
    sums[i] = double(i / 2 + 1);
  std::string window = "r = reduce-window(p, z), window={size=70x1 pad=69_0x0_0}, to_apply=";
  expectSame(compute("p = f32[70,2] parameter(0)\nz = f32[] constant(0)\nROOT " + window + "add", {ones}), sums,
             "sums");
  expectSame(compute("p = f32[70,2] parameter(0)\nz = f32[] constant(3)\nROOT " + window + "max", {ones}),
             Numbers(140, 3), "largest ones");
}

TEST(HloContraction, variadic_reduce_with_any_region) {
  std::string text = moduleText("p = f32[4] parameter(0)\ni = s32[4] iota(), iota_dimension=0\n"
                                "ROOT r = (f32[], s32[]) reduce(p, i, f32[] constant(-inf), s32[] constant(-1)), "
                                "dimensions={0}, to_apply=argmax");
  text.insert(text.find("ENTRY"), "argmax { a = f32[] parameter(0) i = s32[] parameter(1) b = f32[] parameter(2) "
                                  "j = s32[] parameter(3) c = compare(a, b), direction=GE v = select(c, a, b) "
                                  "k = select(c, i, j) ROOT t = tuple(v, k) }\n");
  Value result = run(parseModule(text, "t.hlo"), {{{3, 8, 8, 1}}})[0];
  expectSame(numbersOf(result.elements[0]), {8}, "value");
  expectSame(numbersOf(result.elements[1]), {1}, "index");
}

TEST(HloContraction, dot) {
  auto dot = [](const std::string &left, const std::string &right, const std::string &rest, const Numbers &a,
                const Numbers &b) {
    return compute("a = " + left + " parameter(0)\nb = " + right + " parameter(1)\nROOT r = " + rest, {a, b});
  };
  expectSame(dot("f32[2,3]", "f32[3,2]", "dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}", six, six),
             {10, 13, 28, 40}, "matrices");
  expectSame(dot("f32[2,3]", "f32[2,3]",
                 "dot(a, b), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={1}, "
                 "rhs_contracting_dims={1}",
                 six, six),
             {5, 50}, "batch");
  expectSame(dot("f32[2]", "f32[2]", "dot(a, b)", {1, 2}, {3, 4}), {3, 4, 6, 8}, "outer");
  expectSame(dot("s8[2]", "s8[2]", "s32[] dot(a, b), lhs_contracting_dims={0}, rhs_contracting_dims={0}", {100, 100},
                 {100, 100}),
             {20000}, "s8 to s32");
  expectSame(dot("bf16[3]", "bf16[3]", "bf16[] dot(a, b), lhs_contracting_dims={0}, rhs_contracting_dims={0}",
                 {256, 1, 1}, {1, 1, 1}),
             {258}, "bf16 is rounded once");
  expectSame(dot("f32[3]", "f32[3]", "dot(a, b), lhs_contracting_dims={0}, rhs_contracting_dims={0}", {16777216, 1, 1},
                 {1, 1, 1}),
             {16777216}, "f32 at each step");
  expectSame(dot("f64[3]", "f64[3]", "dot(a, b), lhs_contracting_dims={0}, rhs_contracting_dims={0}", {16777216, 1, 1},
                 {1, 1, 1}),
             {16777218}, "f64");
  expectSame(dot("f32[2,2]", "f32[2,2]",
                 "dot(a, b), lhs_batch_dims={0}, rhs_batch_dims={1}, lhs_contracting_dims={1}, "
                 "rhs_contracting_dims={0}",
                 {1, 2, 3, 4}, {5, 6, 7, 8}),
             {19, 50}, "batch in another place");
}

TEST(HloStructure, tuples_calls_and_fusions) {
  std::string text =
      moduleText("p = f32[2] parameter(0)\na = fusion(p), kind=kLoop, calls=pair\n"
                 "b = get-tuple-element(a), index=1\nc = call(b), to_apply=pair\nk = token[] after-all()\n"
                 "o = opt-barrier(c)\nROOT g = get-tuple-element(o), index=1");
  text.insert(text.find("ENTRY"), "pair { q = f32[2] parameter(0) d = add(q, q) ROOT t = tuple(q, d) }\n");
  expectSame(numbersOf(run(parseModule(text, "t.hlo"), {{{1, 2}}})[0]), {4, 8}, "twice doubled");
}

namespace {

/// A loop that doubles x while i < n, where n is the partition id times `step` plus `base`; `inBody` is applied to x.
std::string loop(const std::string &inBody, int step, int base, int devices) {
  std::string text = moduleText("x = f32[1] parameter(0)\nd = u32[] partition-id()\n"
                                "m = multiply(d, u32[] constant(" +
                                    std::to_string(step) +
                                    "))\n"
                                    "n = add(m, u32[] constant(" +
                                    std::to_string(base) +
                                    "))\n"
                                    "s = tuple(u32[] constant(0), n, x)\n"
                                    "w = while(s), condition=cond, body=body\nROOT r = get-tuple-element(w), index=2",
                                1, devices);
  return text.insert(text.find("ENTRY"),
                     "cond { s = (u32[], u32[], f32[1]) parameter(0) i = get-tuple-element(s), index=0 "
                     "n = get-tuple-element(s), index=1 ROOT c = compare(i, n), direction=LT }\n"
                     "body { s = (u32[], u32[], f32[1]) parameter(0) i = get-tuple-element(s), index=0 "
                     "n = get-tuple-element(s), index=1 x = get-tuple-element(s), index=2 "
                     "j = add(i, u32[] constant(1)) y = f32[1] " +
                         inBody + " ROOT t = tuple(j, n, y) }\n");
}

} // namespace

TEST(HloStructure, loops) {
  Module module = parseModule(loop("add(x, x)", 1, 1, 3), "t.hlo");
  EXPECT_EQ(numbersOfAll(run(module, {{{1}}, {{1}}, {{1}}})), (std::vector<Numbers>{{2}, {4}, {8}}));
  module = parseModule(loop("all-reduce(x), channel_id=1, to_apply=add", 0, 3, 2), "t.hlo");
  EXPECT_EQ(numbersOfAll(run(module, {{{1}}, {{2}}})), (std::vector<Numbers>{{12}, {12}}));
}

TEST(HloStructure, loops_that_part_around_a_collective) {
  Module module = parseModule(loop("all-reduce(x), channel_id=1, to_apply=add", 1, 1, 2), "t.hlo");
  EXPECT_CONTAINS(messageOf([&] { run(module, {{{1}}, {{2}}}); }),
                  "t.hlo:14:1: after 1 trips 1 of 2 devices leave 'w', whose body holds a collective");
}

TEST(HloStructure, inputs_that_do_not_fit) {
  Module module = parseBody("p = f32[2] parameter(0)", 2);
  EXPECT_CONTAINS(messageOf([&] { evaluate(module, {}); }), "inputs for 0 devices; the module runs on 2");
  EXPECT_CONTAINS(messageOf([&] { evaluate(module, {{}, {}}); }), "0 inputs for device 0; the module takes 1");
  Value wrong = zeros(Shape::array(DType::F32, {3}));
  EXPECT_CONTAINS(messageOf([&] { evaluate(module, {{wrong}, {wrong}}); }),
                  "input 0 of device 0 is f32[3], the module takes f32[2]");
  EXPECT_CONTAINS(messageOf([&] { zeros(Shape::array(DType::F32, {1 << 20, 1 << 20})); }), "at most 1073741824 bytes");
}
