// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Widths and orders of the accesses of the corpus kernels, and of small programs where accesses influence each other.
#include "compiler/analysis/AnalysisTest.h"
#include "mlir/IR/Builders.h"
#include "support/TestPaths.h"
#include <fstream>
#include <sstream>

using namespace mlir;
using namespace heddle;
using namespace heddle::analysis;

namespace {
std::string corpus(const std::string &name) {
  std::ifstream file(sourcePath("tests/corpus/" + name + ".sm_90.ttir"));
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

/// `order; sizePerThread; elements that one access may take` of each access to a tile, in program order.
std::vector<std::string> accessesOf(const std::string &text, int64_t threads) {
  Analysed program(text);
  AccessAnalysis accesses(*program.module, *program.facts);
  std::vector<std::string> lines;
  program.module->walk([&](Operation *op) {
    AccessLayout layout = accesses.chooseAccess(op, threads);
    if (layout.order.empty())
      return;
    std::ostringstream line;
    line << op->getName().stripDialect().str() << ":";
    for (int axis : layout.order)
      line << " " << axis;
    line << ";";
    for (int64_t size : layout.sizePerThread)
      line << " " << size;
    Value mask;
    if (auto load = dyn_cast<triton::LoadOp>(op))
      mask = load.getMask();
    if (auto store = dyn_cast<triton::StoreOp>(op))
      mask = store.getMask();
    if (auto atomic = dyn_cast<triton::AtomicRMWOp>(op))
      mask = atomic.getMask();
    Value pointer = op->getOperand(0);
    if (isa<triton::PointerType>(getElementTypeOrSelf(pointer.getType())))
      line << "; " << alignedElements(*program.facts, pointer, mask, layout.order);
    lines.push_back(line.str());
  });
  return lines;
}
using Lines = std::vector<std::string>;

/// The corpus with a hint that all strides and sizes are multiples of 16, which is what the front end says of such.
std::string withMultiplesOf16(std::string text) {
  for (size_t at = 0; (at = text.find(": i32 loc(\"", at)) != std::string::npos; at += 10)
    text.insert(at + 5, " {tt.divisibility = 16 : i32}");
  return text;
}
} // namespace

TEST(Access, VectorAddTakes128Bits) {
  // The mask of an unknown size may tell contiguous elements apart: then they are for adjacent threads.
  EXPECT_EQ(accessesOf(corpus("vector_add"), 128), (Lines{"load: 0; 1; 1", "load: 0; 1; 1", "store: 0; 1; 1"}));
  EXPECT_EQ(accessesOf(withMultiplesOf16(corpus("vector_add")), 128),
            (Lines{"load: 0; 4; 4", "load: 0; 4; 4", "store: 0; 4; 4"}));
  EXPECT_EQ(accessesOf(withMultiplesOf16(corpus("vector_add")), 512)[0], "load: 0; 2; 4")
      << "1024 elements for 512 threads";
}

TEST(Access, MatmulWithStridesAndRemainders) {
  // Nothing is known about strides: no contiguous elements of A are aligned; rows of B are taken modulo an unknown N.
  EXPECT_EQ(accessesOf(corpus("matmul_f16"), 128),
            (Lines{"load: 1 0; 1 1; 1", "load: 1 0; 1 1; 1", "store: 1 0; 1 1; 1"}));
  // The mask of A, rk < K - k * BK, is the same for 16; B has 16 columns before the remainder starts again.
  EXPECT_EQ(accessesOf(withMultiplesOf16(corpus("matmul_f16")), 128),
            (Lines{"load: 1 0; 1 8; 8", "load: 1 0; 1 8; 8", "store: 1 0; 1 8; 8"}));
}

TEST(Access, RowKernels) {
  // A row starts at a multiple of an unknown stride.
  EXPECT_EQ(accessesOf(corpus("row_softmax"), 128), (Lines{"load: 0; 1; 1", "store: 0; 1; 1"}));
  EXPECT_EQ(accessesOf(withMultiplesOf16(corpus("row_softmax")), 128), (Lines{"load: 0; 4; 4", "store: 0; 4; 4"}));
  // The weights are aligned where the rows are not, but all are under one mask, and are divided in the same way.
  EXPECT_EQ(accessesOf(corpus("layer_norm"), 128), Lines({"load: 0; 1; 1", "load: 0; 1; 1", "load: 0; 1; 1",
                                                          "load: 0; 1; 1", "load: 0; 1; 1", "store: 0; 1; 1"}));
  EXPECT_EQ(
      accessesOf(withMultiplesOf16(corpus("layer_norm")), 128),
      (Lines{"load: 0; 8; 8", "load: 0; 8; 8", "load: 0; 8; 8", "load: 0; 8; 8", "load: 0; 8; 8", "store: 0; 8; 8"}));
  EXPECT_EQ(accessesOf(withMultiplesOf16(corpus("jagged_rowsum")), 128),
            (Lines{"load: 1 0; 1 8; 8", "store: 0; 1; 4"}));
}

TEST(Access, AtomicsUnderAMaskOfData) {
  EXPECT_EQ(accessesOf(withMultiplesOf16(corpus("amax_atomic")), 128),
            (Lines{"load: 1 0; 1 8; 8", "atomic_rmw: 0; 1; 1", "atomic_rmw: 0; 1; 1"}));
}

TEST(Access, TransposeReadsAndWritesRows) {
  EXPECT_EQ(accessesOf(withMultiplesOf16(corpus("transpose_f16")), 128),
            (Lines{"load: 1 0; 1 8; 8", "store: 1 0; 1 8; 8"}));
}

namespace {
/// Loads from %p + offsets and stores to %q + other offsets, with rows %i and columns %j of a tile of 64 x 64.
std::string copy(const std::string &from, const std::string &to, const std::string &target) {
  return R"(
  tt.func public @k(%p: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %q: !tt.ptr<)" +
         target + R"(> {tt.divisibility = 16 : i32}) {
    %r = tt.make_range {start = 0 : i32, end = 64 : i32} : tensor<64xi32>
    %k = arith.constant dense<1024> : tensor<64x64xi32>
    %i1 = tt.expand_dims %r {axis = 1 : i32} : tensor<64xi32> -> tensor<64x1xi32>
    %j1 = tt.expand_dims %r {axis = 0 : i32} : tensor<64xi32> -> tensor<1x64xi32>
    %i = tt.broadcast %i1 : tensor<64x1xi32> -> tensor<64x64xi32>
    %j = tt.broadcast %j1 : tensor<1x64xi32> -> tensor<64x64xi32>
    %ik = arith.muli %i, %k : tensor<64x64xi32>
    %jk = arith.muli %j, %k : tensor<64x64xi32>
    %rows = arith.addi %ik, %j : tensor<64x64xi32>
    %columns = arith.addi %jk, %i : tensor<64x64xi32>
    %ps = tt.splat %p : !tt.ptr<f32> -> tensor<64x64x!tt.ptr<f32>>
    %qs = tt.splat %q : !tt.ptr<)" +
         target + "> -> tensor<64x64x!tt.ptr<" + target + R"(>>
    %a = tt.addptr %ps, )" +
         from + R"( : tensor<64x64x!tt.ptr<f32>>, tensor<64x64xi32>
    %b = tt.addptr %qs, )" +
         to + " : tensor<64x64x!tt.ptr<" + target + R"(>>, tensor<64x64xi32>
    %x = tt.load %a : tensor<64x64x!tt.ptr<f32>>
    %y = )" +
         (target == "f32" ? "arith.negf %x : tensor<64x64xf32>"
                          : "arith.truncf %x : tensor<64x64xf32> to tensor<64x64x" + target + ">") +
         R"(
    tt.store %b, %y : tensor<64x64x!tt.ptr<)" +
         target + R"(>>
    tt.return
  })";
}
} // namespace

TEST(Access, OrderFollowsContiguity) {
  EXPECT_EQ(accessesOf(copy("%rows", "%columns", "f32"), 128), (Lines{"load: 1 0; 1 4; 4", "store: 0 1; 4 1; 4"}));
}

TEST(Access, AccessesOfOneSliceAgreeOnTheWidest) {
  EXPECT_EQ(accessesOf(copy("%rows", "%rows", "f16"), 128), (Lines{"load: 1 0; 1 8; 4", "store: 1 0; 1 8; 8"}));
}

TEST(Access, DescriptorsMoveRows) {
  EXPECT_EQ(accessesOf(R"(
  tt.func public @k(%d: !tt.tensordesc<tensor<64x64xf16>>, %i: i32) {
    %x = tt.descriptor_load %d[%i, %i] : !tt.tensordesc<tensor<64x64xf16>> -> tensor<64x64xf16>
    tt.descriptor_store %d[%i, %i], %x : !tt.tensordesc<tensor<64x64xf16>>, tensor<64x64xf16>
    tt.return
  })",
                       1024),
            (Lines{"descriptor_load: 1 0; 1 4", "descriptor_store: 1 0; 1 4"}));
}
