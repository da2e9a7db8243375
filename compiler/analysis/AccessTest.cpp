// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Widths and orders of the accesses of the corpus kernels, and of small programs where accesses influence each other.
#include "compiler/analysis/AnalysisTest.h"
#include "mlir/IR/Builders.h"
#include "support/TestPaths.h"
#include <chrono>
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
  EXPECT_EQ(accessesOf(corpus("vector_add"), 128), (Lines{"load: 0; 4; 1", "load: 0; 4; 1", "store: 0; 4; 1"}));
  EXPECT_EQ(accessesOf(withMultiplesOf16(corpus("vector_add")), 128),
            (Lines{"load: 0; 4; 4", "load: 0; 4; 4", "store: 0; 4; 4"}));
  EXPECT_EQ(accessesOf(corpus("vector_add"), 512)[0], "load: 0; 2; 1") << "1024 elements for 512 threads";
}

TEST(Access, MatmulWithStridesAndRemainders) {
  // Nothing is known about strides: no neighbours of A are aligned; rows of B are taken modulo an unknown N.
  EXPECT_EQ(accessesOf(corpus("matmul_f16"), 128),
            (Lines{"load: 1 0; 1 1; 1", "load: 1 0; 1 1; 1", "store: 1 0; 1 1; 1"}));
  // The mask of A, rk < K - k * BK, is the same for 16; B has 16 columns before the remainder starts again.
  EXPECT_EQ(accessesOf(withMultiplesOf16(corpus("matmul_f16")), 128),
            (Lines{"load: 1 0; 1 8; 8", "load: 1 0; 1 8; 8", "store: 1 0; 1 8; 8"}));
}
