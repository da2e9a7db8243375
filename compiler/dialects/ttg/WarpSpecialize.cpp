// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The text of `ttg.warp_specialize`, and its rules.
#include "compiler/dialects/ttg/TritonGpu.h"
#include "mlir/IR/OpImplementation.h"

using namespace mlir;
using namespace heddle::triton;
using namespace heddle::triton::gpu;

// ttg.warp_specialize(%a, %b) attributes {...}
// default {...} partition0(%arg0: T, %arg1: U) num_warps(4) {...} : (T, U) -> (V)
ParseResult WarpSpecializeOp::parse(OpAsmParser &parser, OperationState &result) {
  SmallVector<OpAsmParser::UnresolvedOperand> captures;
  SMLoc at = parser.getCurrentLocation();
  if (parser.parseOperandList(captures, AsmParser::Delimiter::Paren) ||
      parser.parseOptionalAttrDictWithKeyword(result.attributes) || parser.parseKeyword("default") ||
      parser.parseRegion(*result.addRegion()))
    return failure();
  SmallVector<int32_t> warps;
  while (succeeded(parser.parseOptionalKeyword("partition" + std::to_string(warps.size())))) {
    SmallVector<OpAsmParser::Argument> arguments;
    int32_t count = 0;
    if (parser.parseArgumentList(arguments, AsmParser::Delimiter::Paren, /*allowType=*/true) ||
        parser.parseKeyword("num_warps") || parser.parseLParen() || parser.parseInteger(count) ||
        parser.parseRParen() || parser.parseRegion(*result.addRegion(), arguments))
      return failure();
    warps.push_back(count);
  }
  FunctionType types;
  if (parser.parseColonType(types) || parser.resolveOperands(captures, types.getInputs(), at, result.operands))
    return failure();
  result.addTypes(types.getResults());
  result.addAttribute("partitionNumWarps", parser.getBuilder().getDenseI32ArrayAttr(warps));
  return success();
}

void WarpSpecializeOp::print(OpAsmPrinter &printer) {
  printer << "(";
  printer.printOperands(getCaptures());
  printer << ")";
  printer.printOptionalAttrDictWithKeyword((*this)->getAttrs(), {"partitionNumWarps"});
  printer.printNewline();
  printer << "default ";
  printer.printRegion(getDefaultRegion(), /*printEntryBlockArgs=*/false);
  for (auto [number, region, warps] : llvm::enumerate(getPartitions(), getPartitionNumWarps())) {
    printer.printNewline();
    printer << "partition" << number << "(";
    llvm::interleaveComma(region.getArguments(), printer,
                          [&](BlockArgument each) { printer.printRegionArgument(each); });
    printer << ") num_warps(" << warps << ") ";
    printer.printRegion(region, /*printEntryBlockArgs=*/false);
  }
  printer << " : ";
  printer.printFunctionalType(getCaptures().getTypes(), getResultTypes());
}

/// Null where the region's last block has none, which is reported elsewhere.
static Operation *endOf(Region &region) {
  Block &last = region.back();
  return last.empty() || !last.mightHaveTerminator() ? nullptr : last.getTerminator();
}

LogicalResult WarpSpecializeOp::verify() {
  // Rule N12: a partition has 1, 2, 4 or 8 ... warps, and the captured values as its arguments.
  if (getPartitionNumWarps().size() != getPartitions().size())
    return emitOpError() << "has " << getPartitions().size() << " partitions and numbers of warps for "
                         << getPartitionNumWarps().size();
  for (auto [number, warps, region] : llvm::enumerate(getPartitionNumWarps(), getPartitions())) {
    if (warps < 1 || warps > 16 || !llvm::isPowerOf2_32(uint32_t(warps)))
      return emitOpError() << "has partition " << number << " of " << warps << " warps: give 1, 2, 4, 8 or 16";
    if (region.getArgumentTypes() != getCaptures().getTypes())
      return emitOpError() << "has partition " << number << " with " << region.getNumArguments() << " arguments for "
                           << getCaptures().size() << " captured values, or of other types";
    if (!isa_and_nonnull<WarpReturnOp>(endOf(region)))
      return emitOpError() << "has partition " << number << " that does not end with `ttg.warp_return`";
  }
  for (auto registers : {getRequestedRegisters(), getActualRegisters()})
    if (registers && registers->size() != getPartitions().size() && registers->size() != getPartitions().size() + 1)
      return emitOpError() << "has " << getPartitions().size() << " partitions and registers for " << registers->size();
  // Rule N13: the default region gives the results.
  auto yield = dyn_cast_or_null<WarpYieldOp>(endOf(getDefaultRegion()));
  if (!yield || yield.getValues().getTypes() != getResultTypes())
    return emitOpError() << "has " << getNumResults()
                         << " results: the default region ends with a `ttg.warp_yield` of as many, of their types";
  return success();
}

int gpu::warpsIn(Region *region, int kernelWarps) {
  for (; region; region = region->getParentRegion())
    if (auto specialise = dyn_cast<WarpSpecializeOp>(region->getParentOp()))
      for (auto [partition, warps] : llvm::zip(specialise.getPartitions(), specialise.getPartitionNumWarps()))
        if (&partition == region)
          return warps;
  return kernelWarps;
}
