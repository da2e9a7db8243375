// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Expected facts, rule by rule, written as `contiguity divisibility constancy` for each axis; `0s` stands for the
// divisibility of zero.
#include "compiler/analysis/AnalysisTest.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::analysis;

namespace {
std::string describe(const AxisInfo &info) {
  std::string text;
  for (const Axis &axis : info.axes) {
    text += (text.empty() ? "" : " | ") + std::to_string(axis.contiguity) + " ";
    text += axis.divisibility == largestPower ? "0s" : std::to_string(axis.divisibility);
    text += " " + std::to_string(axis.constancy);
  }
  return text;
}

/// The facts of %r in `body`, which may use: scalars %a (divisible by 16), %b, %c (by 4); %i = 0 .. 63, %as, %bs and
/// %cs (the scalars everywhere), %x = %a + 0 .. 63; a pointer %p and pointers %ps.
std::string facts(const std::string &body) {
  std::string text = R"(
    tt.func public @k(%p: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %a: i32 {tt.divisibility = 16 : i32}, %b: i32,
                      %c: i32 {tt.divisibility = 4 : i32}) {
      %i = tt.make_range {start = 0 : i32, end = 64 : i32} : tensor<64xi32>
      %as = tt.splat %a : i32 -> tensor<64xi32>
      %bs = tt.splat %b : i32 -> tensor<64xi32>
      %cs = tt.splat %c : i32 -> tensor<64xi32>
      %ps = tt.splat %p : !tt.ptr<f32> -> tensor<64x!tt.ptr<f32>>
      %x = arith.addi %as, %i : tensor<64xi32>
      %k0 = arith.constant dense<0> : tensor<64xi32>
      %k1 = arith.constant dense<1> : tensor<64xi32>
      %k2 = arith.constant dense<2> : tensor<64xi32>
      %k4 = arith.constant dense<4> : tensor<64xi32>
      %k7 = arith.constant dense<7> : tensor<64xi32>
      %k15 = arith.constant dense<15> : tensor<64xi32>
      %k16 = arith.constant dense<16> : tensor<64xi32>
      %m16 = arith.constant dense<-16> : tensor<64xi32>
      %q = arith.divsi %i, %k4 : tensor<64xi32>
      %z = arith.constant 0 : i32
      %condition = arith.cmpi slt, %b, %z : i32
      %conditions = arith.cmpi slt, %x, %as : tensor<64xi32>
      )" + body + "\n tt.return\n}";
  Analysed program(text);
  if (!program.module)
    return "does not parse";
  // %r is what the last operation with a result defines.
  Value result;
  for (Operation &op : program.all<triton::FuncOp>()[0].getBody().back())
    if (op.getNumResults())
      result = op.getResult(0);
  return describe(program.facts->of(result));
}
std::string binary(const std::string &operation) {
  return facts("%r = arith." + operation + " : tensor<64xi32>");
}
} // namespace

TEST(AxisInfo, RangesConstantsSplats) {
  EXPECT_EQ(facts("%r = tt.make_range {start = 0 : i32, end = 8 : i32} : tensor<8xi32>"), "8 0s 1");
  EXPECT_EQ(facts("%r = tt.make_range {start = 12 : i32, end = 20 : i32} : tensor<8xi32>"), "8 4 1");
  EXPECT_EQ(facts("%r = arith.constant 24 : i32"), "1 8 1");
  EXPECT_EQ(facts("%r = arith.constant dense<24> : tensor<8x4xi32>"), "1 8 8 | 1 8 4");
  EXPECT_EQ(facts("%r = arith.constant dense<0> : tensor<8xi32>"), "1 0s 8");
  EXPECT_EQ(facts("%r = arith.constant dense<1.5> : tensor<8xf32>"), "1 1 8");
  EXPECT_EQ(facts("%r = tt.splat %a : i32 -> tensor<4x8xi32>"), "1 16 4 | 1 16 8");
}

TEST(AxisInfo, Shapes) {
  EXPECT_EQ(facts("%r = tt.expand_dims %i {axis = 1 : i32} : tensor<64xi32> -> tensor<64x1xi32>"), "64 0s 1 | 1 1 1");
  EXPECT_EQ(facts("%r = tt.expand_dims %as {axis = 0 : i32} : tensor<64xi32> -> tensor<1x64xi32>"), "1 16 1 | 1 16 64");
  std::string column = "%e = tt.expand_dims %i {axis = 1 : i32} : tensor<64xi32> -> tensor<64x1xi32>\n"
                       "%w = tt.broadcast %e : tensor<64x1xi32> -> tensor<64x8xi32>\n";
  EXPECT_EQ(facts(column), "64 0s 1 | 1 1 8");
  EXPECT_EQ(facts(column + "%r = tt.trans %w {order = array<i32: 1, 0>} : tensor<64x8xi32> -> tensor<8x64xi32>"),
            "1 1 8 | 64 0s 1");
  EXPECT_EQ(facts(column + "%r = tt.reshape %w : tensor<64x8xi32> -> tensor<64x2x4xi32>"), "64 0s 1 | 1 1 1 | 1 1 4");
  EXPECT_EQ(facts("%r = tt.reshape %i : tensor<64xi32> -> tensor<8x8xi32>"), "1 1 1 | 8 8 1");
  EXPECT_EQ(facts("%r = tt.reshape %i : tensor<64xi32> -> tensor<64x1xi32>"), "64 0s 1 | 1 1 1");
  EXPECT_EQ(facts("%r = tt.reshape %i allow_reorder : tensor<64xi32> -> tensor<64x1xi32>"), "1 1 1 | 1 1 1");
  std::string joined = "%j = tt.join %i, %x : tensor<64xi32> -> tensor<64x2xi32>\n";
  EXPECT_EQ(facts(joined), "64 16 1 | 1 1 1");
  EXPECT_EQ(facts(joined + "%r, %s = tt.split %j : tensor<64x2xi32> -> tensor<64xi32>"), "64 16 1");
}

TEST(AxisInfo, SumsAndProducts) {
  EXPECT_EQ(binary("addi %as, %i"), "64 16 1");
  EXPECT_EQ(binary("addi %i, %i"), "1 1 1") << "two runs do not keep what divides their first elements";
  EXPECT_EQ(binary("addi %i, %q"), "4 1 1");
  EXPECT_EQ(facts("%s = arith.muli %q, %k16 : tensor<64xi32>\n%r = arith.addi %i, %s : tensor<64xi32>"), "4 4 1");
  EXPECT_EQ(binary("subi %i, %as"), "64 16 1");
  EXPECT_EQ(binary("subi %as, %i"), "1 1 1");
  EXPECT_EQ(binary("muli %i, %k1"), "64 0s 1");
  EXPECT_EQ(binary("muli %i, %k4"), "1 4 1");
  EXPECT_EQ(binary("muli %as, %cs"), "1 64 64");
  EXPECT_EQ(binary("muli %bs, %k0"), "1 0s 64");
  EXPECT_EQ(facts("%r = tt.addptr %ps, %x : tensor<64x!tt.ptr<f32>>, tensor<64xi32>"), "64 16 1");
  EXPECT_EQ(facts("%r = tt.addptr %p, %b : !tt.ptr<f32>, i32"), "1 4 1") << "bytes";
}

TEST(AxisInfo, Quotients) {
  EXPECT_EQ(binary("divsi %x, %k1"), "64 16 1");
  EXPECT_EQ(binary("divsi %x, %k4"), "1 1 4");
  EXPECT_EQ(binary("divsi %as, %k4"), "1 4 64");
  EXPECT_EQ(binary("divsi %x, %as"), "1 1 16");
  EXPECT_EQ(binary("divsi %x, %bs"), "1 1 1");
  EXPECT_EQ(facts("%d = arith.divsi %x, %k16 : tensor<64xi32>\n%r = arith.muli %d, %k16 : tensor<64xi32>"), "1 16 16")
      << "x / c * c";
  EXPECT_EQ(binary("remsi %x, %k16"), "16 16 1");
  EXPECT_EQ(binary("remsi %x, %cs"), "4 4 1");
  EXPECT_EQ(binary("remsi %x, %k1"), "1 0s 64");
  EXPECT_EQ(binary("remsi %x, %bs"), "1 1 1");
  std::string back = "%d = arith.subi %i, %as : tensor<64xi32>\n";
  EXPECT_EQ(facts(back + "%r = arith.remsi %d, %k16 : tensor<64xi32>"), "1 1 1") << "it may be negative";
  EXPECT_EQ(facts(back + "%r = arith.divsi %d, %k16 : tensor<64xi32>"), "1 1 1") << "it may be negative";
  EXPECT_EQ(facts(back + "%r = arith.remui %d, %k16 : tensor<64xi32>"), "16 16 1");
  EXPECT_EQ(facts(back + "%e = arith.maxsi %d, %k0 : tensor<64xi32>\n%r = arith.remsi %e, %k16 : tensor<64xi32>"),
            "1 1 1");
}

TEST(AxisInfo, ShiftsAndBits) {
  EXPECT_EQ(binary("shli %i, %k2"), "1 4 1");
  EXPECT_EQ(binary("shli %as, %k2"), "1 64 64");
  EXPECT_EQ(binary("shrsi %x, %k4"), "1 1 16");
  EXPECT_EQ(binary("shrui %as, %k2"), "1 4 64");
  EXPECT_EQ(binary("shrsi %x, %k0"), "64 16 1");
  EXPECT_EQ(binary("andi %x, %k15"), "16 16 1") << "a remainder";
  EXPECT_EQ(binary("andi %k7, %x"), "8 8 1");
  EXPECT_EQ(binary("andi %x, %m16"), "1 16 16") << "rounded down";
  EXPECT_EQ(binary("andi %bs, %m16"), "1 16 64");
  EXPECT_EQ(binary("ori %as, %i"), "16 16 1") << "a sum of bits that do not meet";
  EXPECT_EQ(binary("ori %x, %k15"), "1 1 16");
  EXPECT_EQ(binary("ori %x, %k0"), "64 16 1");
  EXPECT_EQ(binary("xori %i, %as"), "16 16 1");
  EXPECT_EQ(binary("xori %x, %k15"), "1 1 1");
}

TEST(AxisInfo, ComparisonsAndChoices) {
  EXPECT_EQ(binary("cmpi slt, %x, %as"), "1 1 16");
  EXPECT_EQ(binary("cmpi sge, %x, %cs"), "1 1 4");
  EXPECT_EQ(binary("cmpi sgt, %as, %x"), "1 1 16");
  EXPECT_EQ(binary("cmpi sle, %x, %as"), "1 1 1");
  EXPECT_EQ(binary("cmpi sle, %x, %k15"), "1 1 16") << "x < 16";
  EXPECT_EQ(binary("cmpi slt, %k15, %x"), "1 1 16");
  EXPECT_EQ(binary("cmpi slt, %x, %bs"), "1 1 1");
  EXPECT_EQ(binary("cmpi eq, %x, %as"), "1 1 1");
  EXPECT_EQ(facts("%y = arith.addi %i, %bs : tensor<64xi32>\n%r = arith.cmpi eq, %x, %y : tensor<64xi32>"), "1 1 64")
      << "two runs keep their distance";
  EXPECT_EQ(facts("%r = arith.select %condition, %x, %i : tensor<64xi32>"), "64 16 1");
  EXPECT_EQ(facts("%r = arith.select %conditions, %x, %i : tensor<64xi1>, tensor<64xi32>"), "16 16 1");
  EXPECT_EQ(facts("%n = ub.poison : tensor<64xi32>\n%r = arith.select %condition, %x, %n : tensor<64xi32>"), "64 16 1");
  EXPECT_EQ(binary("minsi %x, %i"), "64 16 1");
  EXPECT_EQ(binary("maxsi %i, %bs"), "1 1 1");
}

TEST(AxisInfo, LoadsAndConversions) {
  EXPECT_EQ(facts("%t = tt.addptr %ps, %q : tensor<64x!tt.ptr<f32>>, tensor<64xi32>\n"
                  "%r = tt.load %t : tensor<64x!tt.ptr<f32>>"),
            "1 1 4");
  EXPECT_EQ(facts("%t = tt.addptr %ps, %q : tensor<64x!tt.ptr<f32>>, tensor<64xi32>\n"
                  "%r = tt.load %t {isVolatile = true} : tensor<64x!tt.ptr<f32>>"),
            "1 1 1");
  EXPECT_EQ(facts("%r = arith.extsi %x : tensor<64xi32> to tensor<64xi64>"), "64 16 1");
  EXPECT_EQ(facts("%d = arith.subi %i, %cs : tensor<64xi32>\n%r = arith.extui %d : tensor<64xi32> to tensor<64xi64>"),
            "4 4 1")
      << "a run across zero would jump";
  EXPECT_EQ(facts("%r = arith.trunci %x : tensor<64xi32> to tensor<64xi8>"), "16 16 1") << "which may wrap around";
  EXPECT_EQ(facts("%r = arith.sitofp %q : tensor<64xi32> to tensor<64xf32>"), "1 1 4");
  std::string moved = "%t = tt.addptr %ps, %x : tensor<64x!tt.ptr<f32>>, tensor<64xi32>\n";
  EXPECT_EQ(facts(moved + "%r = tt.bitcast %t : tensor<64x!tt.ptr<f32>> -> tensor<64x!tt.ptr<i32>>"), "64 16 1");
  EXPECT_EQ(facts(moved + "%r = tt.ptr_to_int %t : tensor<64x!tt.ptr<f32>> -> tensor<64xi64>"), "1 4 1");
}

TEST(AxisInfo, HintsAndAssumptions) {
  EXPECT_EQ(facts("%r = arith.addi %i, %bs {tt.contiguity = dense<8> : tensor<1xi32>, "
                  "tt.divisibility = dense<8> : tensor<1xi32>} : tensor<64xi32>"),
            "8 8 1");
  EXPECT_EQ(facts("%r = arith.muli %a, %b {tt.divisibility = dense<4> : tensor<1xi32>} : i32"), "1 4 1")
      << "a hint replaces what was computed";
  std::string assume = "%k = arith.constant 32 : i32\n%m = arith.remsi %b, %k : i32\n"
                       "%e = arith.cmpi eq, %m, %z : i32\nllvm.intr.assume %e : i1\n";
  EXPECT_EQ(facts(assume + "%r = tt.splat %b : i32 -> tensor<8xi32>"), "1 32 8");
  std::string sign = "%d = arith.subi %a, %b : i32\n%e = arith.cmpi sge, %d, %z : i32\nllvm.intr.assume %e : i1\n"
                     "%s = arith.muli %d, %a : i32\n%t = tt.splat %s : i32 -> tensor<64xi32>\n";
  EXPECT_EQ(facts(sign + "%u = arith.addi %t, %i : tensor<64xi32>\n%r = arith.remsi %u, %k16 : tensor<64xi32>"),
            "16 16 1");
}

TEST(AxisInfo, Loops) {
  std::string loop = R"(
    %n64 = arith.constant 64 : i32
    %l:3 = scf.for %o = %a to %b step %n64 iter_args(%y = %x, %t = %ps, %u = %z) -> (tensor<64xi32>, tensor<64x!tt.ptr<f32>>, i32) : i32 {
      %v = arith.addi %y, %k4 : tensor<64xi32>
      %w = tt.addptr %t, %cs : tensor<64x!tt.ptr<f32>>, tensor<64xi32>
      %s = arith.addi %o, %u {test.name = "inside"} : i32
      scf.yield %v, %w, %o : tensor<64xi32>, tensor<64x!tt.ptr<f32>>, i32
    }
    )";
  EXPECT_EQ(facts(loop + "%r = arith.addi %l#0, %k0 : tensor<64xi32>"), "64 4 1");
  EXPECT_EQ(facts(loop + "%r = tt.addptr %l#1, %k0 : tensor<64x!tt.ptr<f32>>, tensor<64xi32>"), "1 16 64");
  EXPECT_EQ(facts(loop + "%r = arith.addi %l#2, %z : i32"), "1 16 1") << "from the bound and the step";
  EXPECT_EQ(facts(R"(
    %l:2 = scf.while (%y = %x, %s = %a) : (tensor<64xi32>, i32) -> (tensor<64xi32>, i32) {
      %h = arith.divsi %s, %b : i32
      %e = arith.cmpi slt, %h, %b : i32
      scf.condition(%e) %y, %h : tensor<64xi32>, i32
    } do {
    ^bb0(%y: tensor<64xi32>, %s: i32):
      %v = arith.addi %y, %cs : tensor<64xi32>
      scf.yield %v, %s : tensor<64xi32>, i32
    }
    %r = arith.addi %l#0, %k0 : tensor<64xi32>)"),
            "64 4 1");
  EXPECT_EQ(facts(R"(
    %l = scf.if %condition -> (tensor<64xi32>) {
      scf.yield %x : tensor<64xi32>
    } else {
      %v = arith.addi %i, %cs : tensor<64xi32>
      scf.yield %v : tensor<64xi32>
    }
    %r = arith.addi %l, %k0 : tensor<64xi32>)"),
            "64 4 1");
}

TEST(AxisInfo, BranchesBetweenBlocks) {
  EXPECT_EQ(facts(R"(
    cf.br ^head(%x : tensor<64xi32>)
  ^head(%y: tensor<64xi32>):
    %e = arith.cmpi slt, %b, %a : i32
    %h = arith.addi %y, %k0 : tensor<64xi32>
    cf.cond_br %e, ^body, ^end
  ^body:
    %v = arith.addi %y, %cs : tensor<64xi32>
    cf.br ^head(%v : tensor<64xi32>)
  ^end:
    %r = arith.addi %h, %k0 : tensor<64xi32>)"),
            "64 4 1");
}

TEST(AxisInfo, CalledFunctions) {
  Analysed program(R"(
    tt.func public @k(%a: i32 {tt.divisibility = 16 : i32}, %b: i32 {tt.divisibility = 8 : i32}) {
      %x = tt.call @f(%a) : (i32) -> i32
      %y = tt.call @f(%b) {test.name = "second"} : (i32) -> i32
      tt.return
    }
    tt.func private @f(%v: i32) -> i32 {
      %w = arith.addi %v, %v {test.name = "inside"} : i32
      tt.return %w : i32
    })");
  EXPECT_EQ(describe(program.info("inside")), "1 8 1");
  EXPECT_EQ(describe(program.info("second")), "1 8 1");
}

TEST(AxisInfo, ADescentEnds) {
  // Each round halves what divides the carried value: the analysis gives it up.
  EXPECT_EQ(facts(R"(
    %one = arith.constant 1 : i32
    %big = arith.constant 1073741824 : i32
    %l = scf.for %o = %z to %b step %one iter_args(%y = %big) -> (i32) : i32 {
      %v = arith.shrsi %y, %one : i32
      scf.yield %v : i32
    }
    %r = arith.addi %l, %z : i32)"),
            "1 1 1");
}

TEST(AxisInfo, NothingIsKnownOutside) {
  Analysed program("tt.func public @k(%a: i32 {tt.divisibility = 16 : i32}) {\n tt.return\n}");
  Builder builder(&program.context);
  Block block;
  Value stranger = block.addArgument(RankedTensorType::get({4, 4}, builder.getI32Type()), builder.getUnknownLoc());
  EXPECT_EQ(describe(program.facts->of(stranger)), "1 1 1 | 1 1 1");
}
