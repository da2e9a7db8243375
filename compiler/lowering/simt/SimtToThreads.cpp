// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/lowering/simt/SimtToThreads.h"
#include "compiler/lowering/simt/ThreadEmitter.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/UB/IR/UBOps.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::triton;

LogicalResult simt::lowerSimtToThreads(ModuleOp module, const GpuTarget &target, const ThreadOptions &options,
                                       ThreadKernel &kernel) {
  int count = 0;
  FuncOp function = findKernel(module, count);
  if (!function)
    return module.emitError() << "expected one public 'tt.func', found " << count;
  module.getContext()
      ->loadDialect<arith::ArithDialect, cf::ControlFlowDialect, LLVM::LLVMDialect, math::MathDialect, scf::SCFDialect,
                    ub::UBDialect>(); // what is created below
  Location place = function.getLoc();
  if (failed(ThreadEmitter(function, target, options, kernel).run()))
    return failure();
  if (kernel.sharedBytes > target.sharedMemoryBytes())
    return emitError(place) << "kernel '" << kernel.kernel << "' needs " << kernel.sharedBytes
                            << " bytes of shared memory for each block; the chip has " << target.sharedMemoryBytes();
  return success();
}
