// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The reference evaluator: runs a tile program element by element, one program instance after the other, in the
// plainest way. It is one of the three oracles and shares no code with any lowering; it is judged by hand-computed
// tests only.
//
// Where the language leaves a result open, the evaluator chooses:
//  * an undefined value (a masked-off element without `other`, poison, a shift by the width or more) is
//    Options::undefinedBits. Two runs with different bits show whether a result depends on one.
//  * reductions and scans combine in index order, `tt.cat` and `allow_reorder` keep row-major order;
//  * maxnumf and minnumf order -0 before +0; every computed NaN is the positive quiet NaN without payload;
//  * a dot sums exact products in double, in order of K, and rounds once to the result's type;
//  * instances run x fastest, so an atomic returns what that order gives.
// It refuses, by an Error that names the operation's location: an access outside the buffers by an active element,
// division by zero or of the smallest integer by -1, a float-to-integer conversion out of range, an index of gather or
// histogram out of range, a failed `tt.assert` or assumption, a program that does not end, and what it does not
// know (`tt.extern_elementwise`, `tt.elementwise_inline_asm`).
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace mlir {
class DialectRegistry;
class ModuleOp;
} // namespace mlir

namespace heddle::reference {

struct Grid {
  int32_t x = 1, y = 1, z = 1;
};

/// A kernel argument: a scalar's bits, zero-extended, or the bytes of a buffer, whose address the kernel sees.
struct Argument {
  bool isBuffer = false;
  uint64_t bits = 0;
  std::vector<uint8_t> bytes;

  static Argument scalar(uint64_t bits) { return {false, bits, {}}; }
  static Argument buffer(std::vector<uint8_t> bytes) { return {true, 0, std::move(bytes)}; }
};

struct Options {
  /// Takes the other choice in all of the above: reductions from the last element, scans re-associated, dots rounded
  /// after every step from the last K, -0 and +0 swapped, functions two units off, `cat` the other way round, instances
  /// in reverse. What a test may demand of any correct implementation holds for both settings.
  bool contrary = false;
  uint64_t undefinedBits = 0;      ///< what an undefined element holds, cut to its width
  int64_t maxOperations = 1 << 28; ///< operations executed before the program counts as endless
};

/// Runs the module's kernel over `grid` and updates the buffers in place. Throws Error{Input}.
void evaluate(mlir::ModuleOp module, const Grid &grid, std::vector<Argument> &arguments, const Options &options = {});

/// The same for the text of a module; a syntax or verifier error is an Error{Input} too.
void evaluateText(const std::string &text, const Grid &grid, std::vector<Argument> &arguments,
                  const Options &options = {});

/// The dialects that the evaluator understands.
void registerDialects(mlir::DialectRegistry &registry);

} // namespace heddle::reference
