// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The second step of the host's lowering: MLIR's own conversions of vectors, memory and control flow to LLVM.
#include "compiler/lowering/host/TileToHost.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/UBToLLVM/UBToLLVM.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVM.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Transforms/DialectConversion.h"

using namespace mlir;

LogicalResult heddle::host::convertHostToLlvm(ModuleOp module) {
  MLIRContext *context = module.getContext();
  context->loadDialect<LLVM::LLVMDialect, cf::ControlFlowDialect, arith::ArithDialect>(); // what the patterns create
  LLVMTypeConverter converter(context);
  LLVMConversionTarget target(*context);
  target.addLegalOp<ModuleOp>();
  target.addLegalDialect("nvvm", "rocdl"); // of threads on GPUs
  RewritePatternSet patterns(context);
  cf::populateControlFlowToLLVMConversionPatterns(converter, patterns);
  arith::populateArithToLLVMConversionPatterns(converter, patterns);
  populateMathToLLVMConversionPatterns(converter, patterns);
  populateVectorToLLVMConversionPatterns(converter, patterns);
  ub::populateUBToLLVMConversionPatterns(converter, patterns);
  return applyFullConversion(module, target, std::move(patterns));
}
