// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The tensor maps that a kernel's launch makes: what the package says of them.
#pragma once
#include "binary/Package.h"
#include "compiler/dialects/simt/Simt.h"

namespace heddle::simt {

/// Those of all functions of the module, each once. An error for one that is not of arguments of the kernel: a launch
/// knows no others.
mlir::FailureOr<std::vector<PackageTensorMap>> collectTensorMaps(mlir::ModuleOp module);
/// The position in `maps` of the one that `op` is of; their number where there is none.
size_t numberOf(TensorMapOp op, llvm::ArrayRef<PackageTensorMap> maps);

} // namespace heddle::simt
