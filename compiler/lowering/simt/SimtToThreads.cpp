// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/lowering/simt/SimtToThreads.h"
#include "compiler/lowering/simt/ThreadEmitter.h"
#include "mlir/Conversion/ControlFlowToSCF/ControlFlowToSCF.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/IR/Dominance.h"
#include "mlir/Transforms/CFGToSCF.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::triton;

// The region of a map runs where there is no function to branch in: its branches become structured.
static LogicalResult structureMaps(FuncOp function) {
  bool fine = true;
  function.walk([&](MapElementwiseOp map) {
    if (map.getScalarOp().hasOneBlock())
      return;
    ControlFlowToSCFTransformation transformation;
    DominanceInfo dominance(map);
    fine &= succeeded(transformCFGToSCF(map.getScalarOp(), transformation, dominance));
  });
  return success(fine);
}

static std::vector<PackageArgument> describeArguments(FuncOp function) {
  std::vector<PackageArgument> arguments;
  for (auto [number, argument] : llvm::enumerate(function.getArguments())) {
    PackageArgument described;
    auto name = dyn_cast<NameLoc>(argument.getLoc());
    described.name = name ? name.getName().str() : "arg" + std::to_string(number);
    Type named = argument.getType();
    if (auto pointer = dyn_cast<PointerType>(named)) {
      described.pointer = true;
      named = pointer.getPointeeType();
    }
    llvm::raw_string_ostream stream(described.type);
    if (auto pointer = dyn_cast<PointerType>(named))
      stream << "ptr<" << pointer.getPointeeType() << ">";
    else
      stream << named;
    if (auto divisibility = function.getArgAttrOfType<IntegerAttr>(unsigned(number), "tt.divisibility"))
      described.divisibility = divisibility.getInt();
    arguments.push_back(described);
  }
  return arguments;
}

LogicalResult simt::lowerSimtToThreads(ModuleOp module, const GpuTarget &target, const ThreadOptions &options,
                                       ThreadKernel &kernel) {
  int count = 0;
  FuncOp function = findKernel(module, count);
  if (!function)
    return module.emitError() << "expected one public 'tt.func', found " << count;
  module.getContext()
      ->loadDialect<arith::ArithDialect, cf::ControlFlowDialect, LLVM::LLVMDialect, math::MathDialect, scf::SCFDialect,
                    ub::UBDialect>(); // what is created below
  kernel.arguments = describeArguments(function);
  if (failed(structureMaps(function)))
    return failure();
  Location place = function.getLoc();
  if (failed(ThreadEmitter(function, target, options, kernel).run()))
    return failure();
  if (kernel.sharedBytes > target.sharedMemoryBytes())
    return emitError(place) << "kernel '" << kernel.kernel << "' needs " << kernel.sharedBytes
                            << " bytes of shared memory for each block; the chip has " << target.sharedMemoryBytes();
  return success();
}
