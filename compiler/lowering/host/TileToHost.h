// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// From the tile level to host code: each tile operation becomes loops over vectors of `lanes` elements on real memory.
// Two steps, each a phase of the pipeline: tile IR -> vector/arith/math/scf with LLVM memory operations, and from there
// (after math has been expanded) -> the LLVM dialect.
#pragma once
#include "binary/Package.h"
#include "mlir/IR/BuiltinOps.h"
#include <cstdint>
#include <string>
#include <vector>

namespace heddle::host {

/// What the lowering may assume of the machine and what it shall add.
struct LoweringOptions {
  int vectorBits = 512;       ///< width of a vector register: 512, 256 or 128
  bool checkAccesses = false; ///< ask the driver before each access (HostLaunch::checkAccess)
};

/// What one program instance may use for its tiles; more is refused. (A constant offset of LLVM's dialect has 29 bits.)
inline constexpr uint64_t maxScratchBytes = (uint64_t(1) << 28) - 1;

/// What the package must say about the lowered kernel.
struct LoweredKernel {
  std::string kernel; ///< name in the source
  std::string entry;  ///< symbol of the HostEntry function
  std::vector<PackageSite> sites;
  uint64_t scratchBytes = 0;
};

/// Replaces the kernel (the one public tt.func) of `module` by an `llvm.func` with the signature of HostEntry. Calls
/// must have been inlined, descriptors, block pointers and scaled dots expanded, blocks ordered (compiler/transforms).
/// An operation without a host lowering is refused by name at its location; `module` is then unusable.
mlir::LogicalResult lowerTileToHost(mlir::ModuleOp module, const LoweringOptions &options, LoweredKernel &kernel);

/// Converts what lowerTileToHost leaves (arith, vector, cf, ub; math and scf have been lowered) to the LLVM dialect.
mlir::LogicalResult convertHostToLlvm(mlir::ModuleOp module);

} // namespace heddle::host
