// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The text of encodings, which is a dictionary: reading it key by key, printing its lists, and the rules that several
// encodings share.
#pragma once
#include "compiler/dialects/ttg/TritonGpu.h"
#include "mlir/IR/DialectImplementation.h"

namespace heddle::triton::gpu {

using Numbers = llvm::SmallVector<int64_t>;
using List = llvm::ArrayRef<int64_t>;
using EmitError = llvm::function_ref<mlir::InFlightDiagnostic()>;

/// The dictionary of an encoding, key by key. The first error is reported; what comes after it is harmless.
class EncodingFields {
public:
  /// Reads the dictionary.
  explicit EncodingFields(mlir::AsmParser &parser);

  mlir::Attribute attribute(llvm::StringRef key);
  bool has(llvm::StringRef key) const { return !failed && dictionary.contains(key); }
  int64_t number(llvm::StringRef key, std::optional<int64_t> otherwise = {});
  bool flag(llvm::StringRef key);
  Numbers list(llvm::StringRef key);
  /// One after the other; `rank` is how many numbers each has, and set by the first of all.
  Numbers bases(llvm::StringRef key, int64_t &rank);
  /// One CTA in a cluster, as Triton prints it or leaves it out.
  void oneBlock(llvm::StringRef key);
  /// Whether all went well. Keys that were not read are an error.
  bool done();

private:
  void fail(const llvm::Twine &why);
  void toNumbers(llvm::StringRef key, mlir::Attribute attribute, Numbers &result);

  mlir::AsmParser &parser;
  llvm::SMLoc at;
  mlir::DictionaryAttr dictionary;
  llvm::DenseSet<llvm::StringRef> seen;
  bool failed;
};

/// The bases of `#ttg.linear` and of `#ttg.generic_linear`; `rank`: numbers of each.
struct LinearBases {
  Numbers registers, lane, warp;
  int64_t rank = 0;
};
/// Reads `<{...}>`; nothing where that is an error, which is reported.
std::optional<LinearBases> parseLinearBases(mlir::AsmParser &parser);

std::string textOf(List numbers); ///< `[1, 2]`
void printNumbers(mlir::AsmPrinter &printer, List numbers);
void printBases(mlir::AsmPrinter &printer, List numbers, int64_t rank); ///< `[[1, 0], [0, 1]]`

mlir::LogicalResult verifyPowers(EmitError emitError, llvm::StringRef what, List numbers);
mlir::LogicalResult verifyOrder(EmitError emitError, List order, size_t rank);

} // namespace heddle::triton::gpu
