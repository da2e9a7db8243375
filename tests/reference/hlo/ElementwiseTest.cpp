// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Element-wise operations against values worked out by hand, and the rules at the edges of each type.
#include "tests/reference/hlo/TestSupport.h"

using namespace heddle::hlo;
using namespace heddle::hlo::reference;

namespace {

Numbers unary(const std::string &opcode, const std::string &type, const Numbers &x, const std::string &result = "") {
  std::string shape = type + "[" + std::to_string(x.size()) + "]";
  return compute("x = " + shape + " parameter(0)\nROOT r = " + result + " " + opcode + "(x)", {x});
}

Numbers binary(const std::string &opcode, const std::string &type, const Numbers &x, const Numbers &y,
               const std::string &attributes = "") {
  std::string shape = type + "[" + std::to_string(x.size()) + "]";
  return compute("x = " + shape + " parameter(0)\ny = " + shape + " parameter(1)\nROOT r = " + opcode + "(x, y)" +
                     attributes,
                 {x, y});
}

} // namespace

TEST(HloElementwise, floating_unary) {
  expectSame(unary("abs", "f32", {-1.5, -0.0, notANumber}), {1.5, 0, notANumber}, "abs");
  expectSame(unary("negate", "f16", {1, 0}), {-1, -0.0}, "negate");
  expectSame(unary("sign", "f32", {-3, -0.0, 7, notANumber}), {-1, -0.0, 1, notANumber}, "sign");
  expectSame(unary("floor", "f32", {-1.5, 1.5}), {-2, 1}, "floor");
  expectSame(unary("ceil", "bf16", {-1.5, 1.5}), {-1, 2}, "ceil");
  expectSame(unary("round-nearest-afz", "f32", {0.5, -2.5, 1.25}), {1, -3, 1}, "round-nearest-afz");
  expectSame(unary("round-nearest-even", "f32", {0.5, -2.5, 1.5}), {0, -2, 2}, "round-nearest-even");
  expectSame(unary("exponential", "f32", {0, -infinity, infinity}), {1, 0, infinity}, "exponential");
  expectSame(unary("exponential-minus-one", "f32", {0, -infinity}), {0, -1}, "exponential-minus-one");
  expectSame(unary("log", "f32", {1, 0, -1}), {0, -infinity, notANumber}, "log");
  expectSame(unary("log-plus-one", "f32", {0, -1}), {0, -infinity}, "log-plus-one");
  expectSame(unary("logistic", "f32", {0, infinity, -infinity}), {0.5, 1, 0}, "logistic");
  expectSame(unary("tanh", "f32", {0, infinity}), {0, 1}, "tanh");
  expectSame(unary("sqrt", "f32", {4, 2.25, -1}), {2, 1.5, notANumber}, "sqrt");
  expectSame(unary("rsqrt", "f32", {4, 0}), {0.5, infinity}, "rsqrt");
  expectSame(unary("cbrt", "f32", {-8, 27}), {-2, 3}, "cbrt");
  expectSame(unary("erf", "f32", {0, infinity}), {0, 1}, "erf");
  expectSame(unary("is-finite", "f32", {0, infinity, notANumber}), {1, 0, 0}, "is-finite");
  expectSame(unary("copy", "f32", {3, -0.0}), {3, -0.0}, "copy");
}

TEST(HloElementwise, angles) {
  expectSame(unary("sine", "f32", {0, 0.5}), {0, double(float(std::sin(0.5)))}, "sine");
  expectSame(unary("cosine", "f64", {0, 0.5}), {1, std::cos(0.5)}, "cosine");
  expectSame(unary("tan", "f64", {0, 0.5}), {0, std::tan(0.5)}, "tan");
  expectSame(binary("atan2", "f64", {0, 1, -1}, {-1, 0, 0}), {M_PI, M_PI / 2, -M_PI / 2}, "atan2");
}

TEST(HloElementwise, integer_unary) {
  expectSame(unary("abs", "s8", {-128, -3, 3}), {-128, 3, 3}, "abs");
  expectSame(unary("negate", "u8", {1, 0}), {255, 0}, "negate");
  expectSame(unary("sign", "s32", {-3, 0, 7}), {-1, 0, 1}, "sign");
  expectSame(unary("not", "s8", {0, -1, 5}), {-1, 0, -6}, "not");
  expectSame(unary("not", "u4", {0, 5}), {15, 10}, "not");
  expectSame(unary("not", "pred", {0, 1}), {1, 0}, "not");
  expectSame(unary("popcnt", "s16", {-1, 5}), {16, 2}, "popcnt");
  expectSame(unary("count-leading-zeros", "s8", {0, 1, -1}), {8, 7, 0}, "count-leading-zeros");
  expectSame(unary("count-leading-zeros", "u4", {1}), {3}, "count-leading-zeros");
}

TEST(HloElementwise, floating_binary) {
  expectSame(binary("add", "f32", {1, -0.0, infinity}, {2, 0, -infinity}), {3, 0, notANumber}, "add");
  expectSame(binary("subtract", "f16", {65504}, {-65504}), {infinity}, "subtract");
  expectSame(binary("multiply", "bf16", {1.0078125, 3}, {1.0078125, -2}), {1.015625, -6}, "multiply");
  expectSame(binary("divide", "f32", {1, 0, 3}, {0, 0, 2}), {infinity, notANumber, 1.5}, "divide");
  expectSame(binary("remainder", "f32", {5.5, -5.5, 1}, {2, 2, 0}), {1.5, -1.5, notANumber}, "remainder");
  expectSame(binary("maximum", "f32", {1, notANumber, -0.0}, {2, 1, 0}), {2, notANumber, 0}, "maximum");
  expectSame(binary("minimum", "f32", {1, 1, 0}, {2, notANumber, -0.0}), {1, notANumber, -0.0}, "minimum");
  expectSame(binary("power", "f32", {2, 4, 0}, {3, 0.5, 0}), {8, 2, 1}, "power");
}

TEST(HloElementwise, integer_binary) {
  expectSame(binary("add", "s8", {127}, {1}), {-128}, "add");
  expectSame(binary("subtract", "u8", {0}, {1}), {255}, "subtract");
  expectSame(binary("multiply", "s32", {65536}, {65536}), {0}, "multiply");
  expectSame(binary("divide", "s32", {7, -7, 7, -2147483648.0}, {2, 2, 0, -1}), {3, -3, -1, -2147483648.0}, "divide");
  expectSame(binary("divide", "u8", {200, 7}, {3, 0}), {66, 255}, "divide");
  expectSame(binary("remainder", "s32", {-7, 7, -2147483648.0}, {2, 0, -1}), {-1, 7, 0}, "remainder");
  expectSame(binary("maximum", "u8", {200}, {100}), {200}, "maximum");
  expectSame(binary("minimum", "s8", {-1}, {1}), {-1}, "minimum");
  expectSame(binary("power", "s32", {3, -1, 2}, {4, -3, -1}), {81, -1, 0}, "power");
  expectSame(binary("and", "s32", {12}, {10}), {8}, "and");
  expectSame(binary("or", "u16", {12}, {10}), {14}, "or");
  expectSame(binary("xor", "s64", {12}, {10}), {6}, "xor");
  expectSame(binary("shift-left", "s8", {1, 64, 1}, {3, 1, 8}), {8, -128, 0}, "shift-left");
  expectSame(binary("shift-right-arithmetic", "s8", {-8, -8}, {1, 9}), {-4, -1}, "shift-right-arithmetic");
  expectSame(binary("shift-right-logical", "s8", {-8, -8}, {1, 9}), {124, 0}, "shift-right-logical");
}

TEST(HloElementwise, pred_is_logical) {
  expectSame(binary("add", "pred", {1, 1, 0}, {1, 0, 0}), {1, 1, 0}, "add");
  expectSame(binary("multiply", "pred", {1, 1}, {1, 0}), {1, 0}, "multiply");
  expectSame(binary("maximum", "pred", {0, 1}, {0, 0}), {0, 1}, "maximum");
  expectSame(binary("xor", "pred", {1, 1}, {1, 0}), {0, 1}, "xor");
}

TEST(HloElementwise, compare) {
  expectSame(binary("compare", "f32", {1, notANumber, 0}, {1, notANumber, -0.0}, ", direction=EQ"), {1, 0, 1}, "EQ");
  expectSame(binary("compare", "f32", {1, notANumber}, {1, 1}, ", direction=NE"), {0, 1}, "NE");
  expectSame(binary("compare", "s8", {-1, 1}, {1, -1}, ", direction=LT"), {1, 0}, "LT");
  expectSame(binary("compare", "u8", {255, 1}, {1, 255}, ", direction=LE"), {0, 1}, "LE");
  expectSame(binary("compare", "u64", {1e19, 1}, {1, 1e19}, ", direction=GT"), {1, 0}, "GT");
  expectSame(binary("compare", "pred", {1, 0}, {1, 1}, ", direction=GE"), {1, 0}, "GE");
  expectSame(binary("compare", "f32", {-0.0, notANumber, 0}, {0, infinity, -0.0}, ", direction=LT, type=TOTALORDER"),
             {1, 0, 0}, "total");
  expectSame(binary("compare", "f32", {notANumber, notANumber}, {notANumber, 1}, ", direction=GE, type=TOTALORDER"),
             {1, 1}, "total");
}

TEST(HloElementwise, select_and_clamp) {
  std::string parameters = "c = pred[2] parameter(0)\nx = f32[2] parameter(1)\ny = f32[2] parameter(2)\n";
  expectSame(compute(parameters + "ROOT r = select(c, x, y)", {{1, 0}, {1, 2}, {3, 4}}), {1, 4}, "select");
  expectSame(compute(parameters + "ROOT r = select(pred[] constant(false), x, y)", {{1, 0}, {1, 2}, {3, 4}}), {3, 4},
             "select");
  expectSame(compute("x = f32[3] parameter(0)\nROOT r = clamp(f32[] constant(0), x, f32[] constant(1))",
                     {{-1, 0.5, notANumber}}),
             {0, 0.5, notANumber}, "clamp");
  expectSame(compute("x = u8[2] parameter(0)\nROOT r = clamp(x, u8[2] constant({9, 200}), u8[2] constant({250, 100}))",
                     {{10, 3}}),
             {10, 100}, "clamp");
}

TEST(HloElementwise, conversions) {
  expectSame(unary("convert", "f32", {1.9, -1.9, notANumber, 300, -300}, "s8[5]"), {1, -1, 0, 127, -128}, "to s8");
  expectSame(unary("convert", "f32", {-1, 1e30}, "u64[2]"), {0, 18446744073709551615.0}, "to u64");
  expectSame(unary("convert", "s32", {300, -1}, "u8[2]"), {44, 255}, "to u8");
  expectSame(unary("convert", "s32", {16777217, -3}, "f32[2]"), {16777216, -3}, "to f32");
  expectSame(unary("convert", "f32", {1.00390625, 65520}, "bf16[2]"), {1, 65536}, "to bf16");
  expectSame(unary("convert", "f32", {65520, 1e-9}, "f16[2]"), {infinity, 0}, "to f16");
  expectSame(unary("convert", "f32", {449, 470}, "f8e4m3fn[2]"), {448, notANumber}, "to f8e4m3fn");
  expectSame(unary("convert", "f32", {0, 0.5, notANumber}, "pred[3]"), {0, 1, 1}, "to pred");
  expectSame(unary("convert", "pred", {0, 1}, "f32[2]"), {0, 1}, "from pred");
  expectSame(unary("convert", "f32", {0.7, 5, 100}, "f4e2m1fn[3]"), {0.5, 4, 6}, "to f4e2m1fn");
  expectSame(unary("convert", "f32", {3, 6, 0.4}, "f8e8m0fnu[3]"), {4, 8, 0.5}, "to f8e8m0fnu");
  expectSame(unary("convert", "s8", {7, -8, 9}, "s4[3]"), {7, -8, -7}, "to s4");
}

TEST(HloElementwise, bitcast_convert) {
  expectSame(unary("bitcast-convert", "f32", {1}, "s32[1]"), {0x3f800000}, "same width");
  expectSame(unary("bitcast-convert", "u32", {0x00020001}, "u16[1,2]"), {1, 2}, "narrower");
  expectSame(unary("bitcast-convert", "u8", {0x80, 0x3f}, "bf16[]"), {1}, "wider");
}
