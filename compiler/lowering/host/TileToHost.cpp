// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The driver: refuses by name what has no code, plans, and lets HostEmitter write the loops.
#include "compiler/lowering/host/TileToHost.h"
#include "compiler/arithmetic/Numbers.h"
#include "compiler/dialects/triton/Triton.h"
#include "compiler/lowering/host/HostEmitter.h"
#include "compiler/lowering/peer/ExternCalls.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::triton;

// A call that carries an operation between devices: its name and the types of one element.
static LogicalResult checkPeerCall(ExternElementwiseOp op) {
  auto emitError = [&] { return op.emitOpError(); };
  FailureOr<peer::ExternCall> call = peer::parseExternCall(op.getSymbol(), emitError);
  if (failed(call))
    return failure();
  auto operands = llvm::map_to_vector(op.getSrcs(), [](Value value) { return elementTypeOf(value.getType()); });
  return peer::checkExternCall(*call, op.getSymbol(), operands, elementTypeOf(op.getType()), emitError);
}

// Refuses by name what the host has no code for, before anything is emitted.
static LogicalResult checkSupported(Operation *op) {
  auto refuse = [&](const llvm::Twine &reason) -> LogicalResult {
    return op->emitOpError() << "cannot be compiled for the host" << (reason.str().empty() ? "" : ": ") << reason;
  };
  if (auto external = dyn_cast<ExternElementwiseOp>(op)) {
    if (peer::isExternCallName(external.getSymbol()))
      return checkPeerCall(external);
    return refuse("'" + external.getSymbol() + "' is a function of a GPU vendor's device library");
  }
  if (isa<ElementwiseInlineAsmOp>(op))
    return refuse("its assembly text is for a GPU");
  if (isa<CallOp, MakeTensorPtrOp, AdvanceOp, MakeTensorDescOp, DescriptorLoadOp, DescriptorStoreOp, DescriptorReduceOp,
          DescriptorGatherOp, DescriptorScatterOp, DotScaledOp>(op))
    return refuse("it must be expanded first");
  for (Type type : llvm::concat<const Type>(op->getOperandTypes(), op->getResultTypes())) {
    Type element = elementTypeOf(type);
    if (isa<TensorDescType>(element) || isBlockPointer(element))
      return refuse("a value has type " + [&] {
        std::string text;
        llvm::raw_string_ostream stream(text);
        stream << type;
        return text;
      }());
    if (element.isInteger(4))
      return refuse("i4 elements have no storage form");
  }
  if (isa<math::MathDialect>(op->getDialect()) && !arithmetic::isKnownMath(op))
    return refuse("");
  if (isa<arith::ArithDialect>(op->getDialect()) && op->getNumResults() > 1)
    return refuse("it has several results");
  if (auto map = dyn_cast<MapElementwiseOp>(op); map && !map.getScalarOp().hasOneBlock())
    return refuse("the branches of its region could not be transposed into loops and conditionals");
  if (auto truncate = dyn_cast<arith::TruncFOp>(op); truncate && truncate.getRoundingmode()) {
    arith::RoundingMode mode = *truncate.getRoundingmode();
    if (mode != arith::RoundingMode::toward_zero && mode != arith::RoundingMode::to_nearest_even)
      return refuse("rounding is to_nearest_even or toward_zero, not " + arith::stringifyRoundingMode(mode));
  }
  StringRef dialect = op->getDialect() ? op->getDialect()->getNamespace() : "";
  bool known = isa<TritonDialect, arith::ArithDialect, math::MathDialect, scf::SCFDialect, cf::ControlFlowDialect,
                   ub::UBDialect>(op->getDialect()) ||
               isa<gpu::BarrierOp, LLVM::AssumeOp>(op) || dialect == "ttg";
  if (!known ||
      isa<cf::SwitchOp, cf::AssertOp, scf::IndexSwitchOp, scf::ForallOp, scf::ParallelOp, scf::ExecuteRegionOp>(op))
    return refuse("");
  return success();
}

LogicalResult host::lowerTileToHost(ModuleOp module, const LoweringOptions &options, LoweredKernel &kernel) {
  int count = 0;
  FuncOp function = findKernel(module, count);
  if (!function)
    return module.emitError() << "expected one public 'tt.func', found " << count;
  module.getContext()
      ->loadDialect<arith::ArithDialect, cf::ControlFlowDialect, LLVM::LLVMDialect, math::MathDialect, scf::SCFDialect,
                    ub::UBDialect, vector::VectorDialect>(); // what is created below
  bool supported = true;
  function.getBody().walk([&](Operation *op) { supported &= succeeded(checkSupported(op)); });
  if (!supported)
    return failure();
  Location place = function.getLoc();
  if (failed(HostEmitter(function, options, kernel).run()))
    return failure();
  if (kernel.scratchBytes > maxScratchBytes)
    return emitError(place) << "kernel '" << kernel.kernel << "' needs " << kernel.scratchBytes
                            << " bytes of scratch memory for each program instance; the limit is " << maxScratchBytes;
  return success();
}
