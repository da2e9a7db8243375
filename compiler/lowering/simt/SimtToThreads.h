// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// From the simt level to the code of one thread: arith, math and scf on scalars, LLVM memory operations, the target's
// intrinsics. Two steps, as on the host: this one, and after math has been expanded the conversion to the LLVM dialect.
#pragma once
#include "binary/Package.h"
#include "mlir/IR/BuiltinOps.h"
#include <cstdint>
#include <string>
#include <vector>

namespace heddle::simt {

class GpuTarget;

struct ThreadOptions {
  int warps = 4; ///< of a block
  /// f32 division, exp, exp2 and sqrt by the target's approximations, as Triton has them; else as on the host.
  bool approximates = true;
};

/// What the package must say about the lowered kernel.
struct ThreadKernel {
  std::string kernel;                       ///< name in the source
  std::string entry;                        ///< symbol
  int64_t threads = 0;                      ///< of a block
  int64_t sharedBytes = 0;                  ///< of a block
  std::vector<PackageTensorMap> tensorMaps; ///< parameters after all others, in this order
  bool dependentLaunch = false;             ///< waits itself for the launch before it
  std::vector<PackageSite>
      sites; ///< of prints and assertions; with any, a launch needs a record (binary/LaunchRecord.h)
};

/// Replaces the kernel (the one public tt.func, whose tiles have layouts) by an llvm.func. An operation without a
/// lowering is refused by name at its location; `module` is then unusable.
mlir::LogicalResult lowerSimtToThreads(mlir::ModuleOp module, const GpuTarget &target, const ThreadOptions &options,
                                       ThreadKernel &kernel);

} // namespace heddle::simt
