// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The `ttg` dialect: registration and the text of the barrier, `ttg.barrier local|global_read`.
#include "compiler/dialects/triton/TritonGpu.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"

using namespace mlir;
using namespace heddle::triton::gpu;

#include "compiler/dialects/triton/TritonGpuDialect.cpp.inc"
#include "compiler/dialects/triton/TritonGpuEnums.cpp.inc"

void TritonGpuDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "compiler/dialects/triton/TritonGpuOps.cpp.inc"
      >();
}

static ParseResult parseBarrierMemory(OpAsmParser &parser, BarrierMemoryAttr &memory) {
  BarrierMemory all = BarrierMemory::None;
  do {
    StringRef word;
    SMLoc location = parser.getCurrentLocation();
    if (parser.parseKeyword(&word))
      return failure();
    std::optional<BarrierMemory> part = symbolizeBarrierMemory(word);
    if (!part)
      return parser.emitError(location) << "'" << word
                                        << "' is no memory that a barrier knows: none, local, global_read, "
                                        << "global_write, tensor_read, tensor_write or all";
    all = all | *part;
  } while (succeeded(parser.parseOptionalVerticalBar()));
  memory = BarrierMemoryAttr::get(parser.getContext(), all);
  return success();
}

static void printBarrierMemory(OpAsmPrinter &printer, Operation *, BarrierMemoryAttr memory) {
  printer << stringifyBarrierMemory(memory.getValue());
}

#define GET_OP_CLASSES
#include "compiler/dialects/triton/TritonGpuOps.cpp.inc"
