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

  std::vector<PackageSite> sites;

private:
  llvm::DenseMap<mlir::Operation *, int32_t> numbers;
};

} // namespace heddle
