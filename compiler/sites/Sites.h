// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The places in the source that a kernel's reports at run time name by number: what went wrong where, and how what is
// printed is to be read.
#pragma once
#include "binary/Package.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMap.h"

namespace heddle {

class SiteTable {
public:
  /// The number of an operation's place in `sites`, which is made at its first use.
  int32_t of(mlir::Operation *op);
  /// What is printed: values, of which each is signed or not, after a text.
  struct Print {
    llvm::StringRef text;
    bool hex;
    mlir::ValueRange values;
    llvm::ArrayRef<int32_t> isSigned;
  };
  /// The same of an operation that prints.
  int32_t ofPrint(mlir::Operation *op, const Print &print);

  std::vector<PackageSite> sites;

private:
  PackageSite *add(mlir::Operation *op, llvm::StringRef name, int32_t &number); ///< null if it is there
  llvm::DenseMap<mlir::Operation *, int32_t> numbers;
};

} // namespace heddle
