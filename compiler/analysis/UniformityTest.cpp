// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Small functions, and the operations in them that must count as divergent.
#include "compiler/analysis/Uniformity.h"
#include "compiler/analysis/AnalysisTest.h"
#include <fmt/format.h>
#include <set>

using namespace mlir;
using namespace heddle;
using namespace heddle::analysis;

namespace {
using Names = std::set<std::string>;

/// The names (`test.name`) of the operations of a function whose results are divergent or that stand in divergent code,
/// these with a `!` after. It may use %thread, %clock and %seen, which are divergent, and the uniform %n, %other, %p.
std::set<std::string> divergentOf(const std::string &body) {
  Analysed program(R"(
    tt.func public @k(%p: !tt.ptr<i32>, %n: i32, %other: i32) {
      %thread = tt.extern_elementwise {libname = "", libpath = "", pure = true, symbol = "__heddle_gettid"} : () -> i32
      %clock = tt.extern_elementwise {libname = "", libpath = "", pure = false, symbol = "__heddle_clock"} : () -> i64
      %seen = tt.elementwise_inline_asm "mov.u32 $0, %tid.x;" {constraints = "=r", packed_element = 1 : i32, pure = true} -> i32
      %c0 = arith.constant 0 : i32
      %c1 = arith.constant 1 : i32
      %true = arith.constant true
      %mine = arith.cmpi slt, %thread, %n : i32
      %ours = arith.cmpi slt, %other, %n : i32
      )" + body + "\n}");
  std::set<std::string> found;
  if (!program.module)
    return {"does not parse"};
  Uniformity uniformity(program.all<triton::FuncOp>()[0]);
  program.module->walk([&](Operation *op) {
    auto name = op->getAttrOfType<StringAttr>("test.name");
    if (!name)
      return;
    for (Value result : op->getResults())
      if (uniformity.isDivergent(result))
        found.insert(name.str());
    if (uniformity.isDivergent(op->getBlock()))
      found.insert(name.str() + "!");
  });
  return found;
}

TEST(Uniformity, OfAChain) {
  std::string chain = "%v0 = arith.addi %thread, %c1 : i32\n";
  for (int i = 1; i < 200; ++i)
    chain += fmt::format("%v{} = arith.addi %v{}, %n : i32\n", i, i - 1);
  EXPECT_EQ(divergentOf(chain + R"(%far = arith.addi %v199, %c1 {test.name = "far"} : i32
                                     %near = arith.addi %n, %c1 {test.name = "near"} : i32
                                     tt.return)"),
            (Names{"far"}));
}

TEST(Uniformity, OfSources) {
  EXPECT_EQ(divergentOf(R"(
      %a = arith.addi %clock, %clock {test.name = "clock"} : i64
      %b = arith.addi %seen, %c1 {test.name = "assembly"} : i32
      %c = tt.load %p {test.name = "load"} : !tt.ptr<i32>
      %at = tt.addptr %p, %thread {test.name = "address"} : !tt.ptr<i32>, i32
      %d = tt.load %at {test.name = "loadAtThread"} : !tt.ptr<i32>
      %e = tt.get_program_id x {test.name = "program"} : i32
      %f = tt.extern_elementwise %other {libname = "", libpath = "", pure = true, symbol = "__nv_abs", test.name = "pure"} : (i32) -> i32
      %g = tt.extern_elementwise %other {libname = "", libpath = "", pure = false, symbol = "f", test.name = "impure"} : (i32) -> i32
      %h = tt.atomic_rmw add, relaxed, gpu, %p, %n, %true {test.name = "atomic"} : (!tt.ptr<i32>, i32, i1) -> i32
      tt.return)"),
            (Names{"clock", "assembly", "address", "loadAtThread", "impure"}));
}

TEST(Uniformity, OfAReduction) {
  EXPECT_EQ(divergentOf(R"(
      %bits = tt.splat %mine : i1 -> tensor<64xi1>
      %any = "tt.reduce"(%bits) <{axis = 0 : i32}> ({
      ^bb0(%a: i1, %b: i1):
        %o = arith.ori %a, %b : i1
        tt.reduce.return %o : i1
      }) {test.name = "any"} : (tensor<64xi1>) -> i1
      %all = "tt.reduce"(%bits) <{axis = 0 : i32}> ({
      ^bb0(%a: i1, %b: i1):
        %o = arith.andi %a, %b : i1
        tt.reduce.return %o : i1
      }) {test.name = "all"} : (tensor<64xi1>) -> i1
      tt.return)"),
            (Names{"all"}));
}

TEST(Uniformity, OfStages) {
  EXPECT_EQ(divergentOf(R"(
      %a = simt.stage "uniform" -> i32 attributes {test.name = "uniform"} {
        %v = arith.addi %n, %c1 {test.name = "within"} : i32
        simt.yield %v : i32
      }
      %b = simt.stage "threads" -> i32 attributes {test.name = "threads"} {
        simt.yield %thread : i32
      }
      tt.return)"),
            (Names{"threads"}));
}

TEST(Uniformity, WithinWarps) {
  Analysed program(R"(
    tt.func @k(%n: i32) {
      %thread = tt.extern_elementwise {libname = "", libpath = "", pure = true, symbol = "__heddle_gettid"} : () -> i32
      %warp = simt.warp_id {test.name = "warp"}
      %half = arith.divui %warp, %n {test.name = "half"} : i32
      %late = arith.cmpi sgt, %half, %n {test.name = "late"} : i32
      %sum = arith.addi %half, %thread {test.name = "sum"} : i32
      %bit = arith.cmpi sgt, %warp, %n : i32
      %one = scf.if %bit -> i32 { scf.yield %n : i32 } else { scf.yield %warp : i32 } {test.name = "branch"}
      tt.return
    })");
  Uniformity uniformity(program.all<triton::FuncOp>()[0]);
  auto mayDiffer = [&](const char *name) { return uniformity.mayDifferInWarp(program.find(name)->getResult(0)); };
  for (const char *name : {"warp", "half", "late"}) {
    EXPECT_TRUE(uniformity.isDivergent(program.find(name)->getResult(0))) << name;
    EXPECT_FALSE(mayDiffer(name)) << name;
  }
  EXPECT_TRUE(mayDiffer("sum"));
  EXPECT_TRUE(mayDiffer("branch")); // control flow is not followed
}

TEST(Uniformity, OfConditionals) {
  EXPECT_EQ(divergentOf(R"(
      %x = scf.if %mine -> i32 {
        %v = arith.addi %n, %c1 {test.name = "within"} : i32
        scf.if %ours { %w = arith.addi %n, %c1 {test.name = "nested"} : i32 }
        scf.yield %c0 : i32
      } else { scf.yield %c1 : i32 } {test.name = "result"}
      %y = scf.if %ours -> i32 {
        %v = arith.addi %n, %c1 {test.name = "uniform"} : i32
        scf.yield %c0 : i32
      } else { scf.yield %c1 : i32 } {test.name = "uniformResult"}
      %z = scf.if %ours -> i32 { scf.yield %thread : i32 } else { scf.yield %c1 : i32 } {test.name = "yielded"}
      tt.return)"),
            (Names{"within!", "nested!", "result", "yielded"}));
}

TEST(Uniformity, OfLoops) {
  EXPECT_EQ(divergentOf(R"(
      %a = scf.for %i = %c0 to %n step %c1 iter_args(%x = %c0) -> i32 : i32 {
        %s = arith.addi %x, %i {test.name = "sum"} : i32
        scf.yield %s : i32
      } {test.name = "uniform"}
      %b = scf.for %i = %c0 to %n step %c1 iter_args(%x = %c0) -> i32 : i32 {
        %s = arith.addi %x, %c1 {test.name = "carried"} : i32
        %t = arith.addi %s, %thread : i32
        scf.yield %t : i32
      } {test.name = "carriedResult"}
      %c = scf.for %i = %c0 to %thread step %c1 iter_args(%x = %c0) -> i32 : i32 {
        %s = arith.addi %x, %i {test.name = "often"} : i32
        scf.yield %s : i32
      } {test.name = "oftenResult"}
      %d = scf.for %i = %thread to %n step %c1 iter_args(%x = %c0) -> i32 : i32 {
        %s = arith.addi %i, %c1 {test.name = "counter"} : i32
        scf.yield %x : i32
      } {test.name = "counterResult"}
      %e = scf.while (%x = %c0) : (i32) -> i32 {
        %l = arith.cmpi slt, %x, %thread : i32
        scf.condition(%l) %x : i32
      } do {
      ^bb0(%x: i32):
        %s = arith.addi %x, %c1 {test.name = "while"} : i32
        scf.yield %s : i32
      } attributes {test.name = "whileResult"}
      tt.return)"),
            (Names{"carried", "carriedResult", "often!", "oftenResult", "counter", "counter!", "counterResult",
                   "while!", "whileResult"}));
}

TEST(Uniformity, OfBranches) {
  EXPECT_EQ(divergentOf(R"(
      cf.cond_br %mine, ^some, ^all(%c0 : i32)
    ^some:
      %a = arith.addi %n, %c1 {test.name = "some"} : i32
      cf.br ^all(%c1 : i32)
    ^all(%x: i32):
      %b = arith.addi %x, %c1 {test.name = "joined"} : i32
      %c = arith.addi %n, %c1 {test.name = "together"} : i32
      cf.cond_br %ours, ^one, ^end
    ^one:
      %d = arith.addi %n, %c1 {test.name = "one"} : i32
      cf.br ^end
    ^end:
      tt.return)"),
            (Names{"some!", "joined"}));
}

TEST(Uniformity, OfAnEarlyEnd) {
  EXPECT_EQ(divergentOf(R"(
      cf.cond_br %mine, ^end, ^rest
    ^end:
      tt.return
    ^rest:
      %a = arith.addi %n, %c1 {test.name = "rest"} : i32
      tt.return)"),
            (Names{"rest!"}));
}

TEST(Uniformity, OfALoopOfBlocks) {
  EXPECT_EQ(divergentOf(R"(
      cf.br ^loop(%c0 : i32)
    ^loop(%i: i32):
      %next = arith.addi %i, %c1 {test.name = "next"} : i32
      %again = arith.cmpi slt, %next, %thread : i32
      cf.cond_br %again, ^loop(%next : i32), ^end
    ^end:
      %last = arith.addi %next, %c1 {test.name = "last"} : i32
      tt.return)"),
            (Names{"next", "next!", "last"}));
}

} // namespace
