// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Arithmetic of each family on a few telling values: one thread computes, the results are compared as bits.
#include "tests/thread_interpreter/TestKernel.h"
#include <bit>
#include <cmath>

using namespace heddle::threads;

/// Each line `TYPE EXPRESSION` is computed from %a = the first argument and %b = the second, both i64, and stored.
static std::vector<uint64_t> compute(const std::string &declarations, const std::string &setup,
                                     const std::vector<std::pair<std::string, std::string>> &lines, uint64_t a,
                                     uint64_t b) {
  std::string text = declarations + "define ptx_kernel void @kernel(ptr addrspace(1) %out, i64 %a, i64 %b) {\n" + setup;
  for (size_t i = 0; i < lines.size(); ++i) {
    std::string n = std::to_string(i);
    text += "  %r" + n + " = " + lines[i].second + "\n  %p" + n + " = getelementptr i64, ptr addrspace(1) %out, i32 " +
            n + "\n  store " + lines[i].first + " %r" + n + ", ptr addrspace(1) %p" + n + "\n";
  }
  TestKernel kernel(text + "  ret void\n}");
  std::vector<uint64_t> out(lines.size());
  Report report = kernel.run(1, 1, {kernel.buffer(out), a, b});
  EXPECT_TRUE(report.clean()) << report.text();
  return out;
}

TEST(Arithmetic, Integers) {
  std::string setup = "  %x = trunc i64 %a to i32\n  %y = trunc i64 %b to i32\n  %s = trunc i64 %a to i8\n";
  std::vector<uint64_t> out = compute(
      "declare i32 @llvm.fshl.i32(i32, i32, i32)\ndeclare i32 @llvm.smax.i32(i32, i32)\n"
      "declare i32 @llvm.ctlz.i32(i32, i1)\ndeclare i32 @llvm.bswap.i32(i32)\ndeclare i8 @llvm.sadd.sat.i8(i8, i8)\n"
      "declare i32 @llvm.nvvm.prmt(i32, i32, i32)\ndeclare i32 @llvm.abs.i32(i32, i1)\n",
      setup,
      {{"i32", "sdiv i32 %x, %y"},
       {"i32", "srem i32 %x, %y"},
       {"i32", "ashr i32 %x, 4"},
       {"i32", "call i32 @llvm.fshl.i32(i32 %x, i32 %y, i32 8)"},
       {"i32", "call i32 @llvm.smax.i32(i32 %x, i32 %y)"},
       {"i32", "call i32 @llvm.ctlz.i32(i32 %y, i1 false)"},
       {"i32", "call i32 @llvm.bswap.i32(i32 %x)"},
       {"i8", "call i8 @llvm.sadd.sat.i8(i8 %s, i8 -128)"},
       {"i64", "sext i32 %x to i64"},
       {"i32", "call i32 @llvm.nvvm.prmt(i32 %x, i32 %y, i32 16419)"}, // 0x4023: selects bytes 3, 2, 0, 4
       {"i32", "call i32 @llvm.abs.i32(i32 %x, i1 false)"}},
      uint64_t(-100), 7);
  std::vector<uint64_t> expected = {uint32_t(-14), uint32_t(-2), uint32_t(-7),   0xffff9c00, 7,  29,
                                    0x9cffffff,    0x80,         uint64_t(-100), 0x079cffff, 100};
  EXPECT_EQ(out, expected);
}

TEST(Arithmetic, OverflowFlags) {
  std::vector<uint64_t> out = compute("declare { i32, i1 } @llvm.sadd.with.overflow.i32(i32, i32)\n"
                                      "declare { i64, i1 } @llvm.umul.with.overflow.i64(i64, i64)\n",
                                      "  %x = trunc i64 %a to i32\n"
                                      "  %s = call { i32, i1 } @llvm.sadd.with.overflow.i32(i32 %x, i32 1)\n"
                                      "  %u = call { i64, i1 } @llvm.umul.with.overflow.i64(i64 %b, i64 %b)\n",
                                      {{"i32", "extractvalue { i32, i1 } %s, 0"},
                                       {"i1", "extractvalue { i32, i1 } %s, 1"},
                                       {"i64", "extractvalue { i64, i1 } %u, 0"},
                                       {"i1", "extractvalue { i64, i1 } %u, 1"}},
                                      0x7fffffff, ~uint64_t(0));
  EXPECT_EQ(out, (std::vector<uint64_t>{0x80000000, 1, 1, 1}));
}

// Half arithmetic rounds after each operation; a fused one rounds once.
TEST(Arithmetic, HalvesRoundEachTime) {
  std::vector<uint64_t> out =
      compute("declare half @llvm.fma.f16(half, half, half)\ndeclare <2 x half> @llvm.fma.v2f16(<2 x half>, <2 x "
              "half>, <2 x half>)\n",
              "  %s = trunc i64 %a to i16\n  %h = bitcast i16 %s to half\n  %m = fmul half %h, %h\n"
              "  %v = insertelement <2 x half> splat (half 1.0), half %h, i32 1\n"
              "  %f2 = call <2 x half> @llvm.fma.v2f16(<2 x half> %v, <2 x half> %v, <2 x half> splat (half -1.0))\n",
              {{"half", "fsub half %m, 1.0"},
               {"half", "call half @llvm.fma.f16(half %h, half %h, half -1.0)"},
               {"bfloat", "fadd bfloat 1.0, 0xR3B80"}, // 1 + 2^-8: a tie, to even
               {"half", "extractelement <2 x half> %f2, i32 1"},
               {"i32", "bitcast <2 x half> %f2 to i32"}},
              0x3c03, 0);
  // (1 + 3 * 2^-10)^2 - 1 = 6 * 2^-10 + 9 * 2^-20; the product alone loses the second part.
  EXPECT_EQ(out[0], 0x1e00u);
  EXPECT_EQ(out[1], 0x1e02u);
  EXPECT_EQ(out[2], 0x3f80u);
  EXPECT_EQ(out[3], out[1]);
  EXPECT_EQ(out[4], out[1] << 16);
}

TEST(Arithmetic, FloatsAndConversions) {
  uint64_t nan = 0x7fc00000;
  std::vector<uint64_t> out = compute(
      "declare float @llvm.minnum.f32(float, float)\ndeclare float @llvm.minimum.f32(float, float)\n"
      "declare float @llvm.roundeven.f32(float)\ndeclare float @llvm.nvvm.ex2.approx.ftz.f32(float)\n"
      "declare i16 @llvm.nvvm.ff.to.e4m3x2.rn(float, float)\ndeclare <2 x half> @llvm.nvvm.e4m3x2.to.f16x2.rn(i16)\n"
      "declare i32 @llvm.fptosi.sat.i32.f32(float)\ndeclare i1 @llvm.is.fpclass.f32(float, i32)\n",
      "  %i = trunc i64 %a to i32\n  %n = bitcast i32 %i to float\n  %j = trunc i64 %b to i32\n  %x = bitcast i32 %j "
      "to float\n"
      "  %e = call <2 x half> @llvm.nvvm.e4m3x2.to.f16x2.rn(i16 14520)\n", // 0x38b8: 1 above, -1 below
      {{"float", "call float @llvm.minnum.f32(float %n, float %x)"},
       {"float", "call float @llvm.roundeven.f32(float %x)"},
       {"i1", "fcmp uno float %n, %x"},
       {"float", "call float @llvm.nvvm.ex2.approx.ftz.f32(float %x)"},
       {"i16", "call i16 @llvm.nvvm.ff.to.e4m3x2.rn(float 1000.0, float %x)"},
       {"half", "extractelement <2 x half> %e, i32 0"},
       {"half", "fptrunc float %x to half"},
       {"bfloat", "fptrunc float %x to bfloat"},
       {"i8", "fptosi float %x to i8"},
       {"float", "sitofp i64 -3 to float"},
       {"i32", "call i32 @llvm.fptosi.sat.i32.f32(float 0x43E0000000000000)"},
       {"i1", "call i1 @llvm.is.fpclass.f32(float %n, i32 3)"},
       {"i1", "call i1 @llvm.is.fpclass.f32(float %x, i32 256)"},
       {"i1", "call i1 @llvm.is.fpclass.f32(float %x, i32 767)"}},
      nan, std::bit_cast<uint32_t>(2.5f));
  EXPECT_EQ(out, (std::vector<uint64_t>{std::bit_cast<uint32_t>(2.5f), std::bit_cast<uint32_t>(2.0f), 1,
                                        std::bit_cast<uint32_t>(float(std::exp2(2.5))), 0x7e42, 0xbc00, 0x4100, 0x4020,
                                        2, std::bit_cast<uint32_t>(-3.0f), 0x7fffffff, 1, 1, 0}));
}

// Local memory, vectors with an index, and constants of the module.
TEST(Arithmetic, LocalArraysAndTables) {
  std::vector<uint64_t> out =
      compute("@table = private addrspace(4) constant [4 x i32] [i32 10, i32 20, i32 30, i32 40]\n",
              "  %l = alloca [4 x i32]\n  %p = getelementptr [4 x i32], ptr %l, i64 0, i64 %a\n  store i32 5, ptr %p\n"
              "  %t = getelementptr [4 x i32], ptr addrspace(4) @table, i64 0, i64 %a\n"
              "  %v = insertelement <4 x i32> <i32 1, i32 2, i32 3, i32 4>, i32 9, i64 %a\n",
              {{"i32", "load i32, ptr %p"},
               {"i32", "load i32, ptr addrspace(4) %t"},
               {"i32", "extractelement <4 x i32> %v, i64 %a"},
               {"i32", "extractelement <4 x i32> %v, i64 %b"}},
              2, 3);
  EXPECT_EQ(out, (std::vector<uint64_t>{5, 30, 9, 4}));
}
