// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Runs a tile function on concrete integers and holds every value against the facts claimed about it, each time it is
// computed. For tests only; it knows the operations of index arithmetic.
#pragma once
#include "compiler/analysis/AnalysisTest.h"
#include <functional>

namespace heddle::analysis {

class ConcreteRun {
public:
  using Tile = std::vector<int64_t>; ///< row-major; integers sign-extended, pointers as addresses
  /// The run left what the facts assume (an overflow, an unexpected sign) or what is defined (a division by zero).
  struct Abandoned {};

  ConcreteRun(const AxisAnalysis &facts, int64_t seed) : facts(facts), seed(seed) {}
  /// Throws Abandoned. A claim that does not hold is a test failure.
  void run(triton::FuncOp function, const std::vector<int64_t> &arguments);

  int64_t checked = 0;  ///< values
  int64_t eloquent = 0; ///< of these, tiles with a run of contiguous elements or less than all equal
  int64_t failures = 0;

private:
  void bind(mlir::Value value, Tile tile);
  void check(mlir::Value value, const Tile &tile);
  std::vector<Tile> read(mlir::ValueRange operands);
  void bindAll(mlir::ValueRange names, std::vector<Tile> tiles);
  mlir::Operation *runRegion(mlir::Region &region); ///< the terminator that left it
  void execute(mlir::Operation *op);
  void executeFor(mlir::scf::ForOp loop);
  void executeWhile(mlir::scf::WhileOp loop);
  Tile compute(mlir::Operation *op);
  Tile computeShape(mlir::Operation *op, const Tile &source);
  Tile computeArithmetic(mlir::Operation *op);
  bool expectsSign(mlir::Value value, int64_t element) const { return element >= 0 || facts.of(value).maybeNegative; }
  int64_t hash(int64_t value) const;

  const AxisAnalysis &facts;
  int64_t seed;
  llvm::DenseMap<mlir::Value, Tile> values;
};

} // namespace heddle::analysis
