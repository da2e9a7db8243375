// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Enumerations of the `ttg` dialect that `tt` does not have.
#ifndef HEDDLE_TRITON_GPU_ENUMS
#define HEDDLE_TRITON_GPU_ENUMS

include "mlir/IR/EnumAttr.td"

// Names of the text, bits of the generic form. `none` orders threads but no memory.
def TTG_Local : I32BitEnumAttrCaseBit<"Local", 0, "local">;
def TTG_GlobalRead : I32BitEnumAttrCaseBit<"GlobalRead", 1, "global_read">;
def TTG_GlobalWrite : I32BitEnumAttrCaseBit<"GlobalWrite", 2, "global_write">;
def TTG_TensorRead : I32BitEnumAttrCaseBit<"TensorRead", 3, "tensor_read">;
def TTG_TensorWrite : I32BitEnumAttrCaseBit<"TensorWrite", 4, "tensor_write">;
def TTG_BarrierMemory : I32BitEnumAttr<"BarrierMemory", "memory whose accesses a barrier orders", [
  I32BitEnumAttrCaseNone<"None", "none">, TTG_Local, TTG_GlobalRead, TTG_GlobalWrite, TTG_TensorRead, TTG_TensorWrite,
  I32BitEnumAttrCaseGroup<"All", [TTG_Local, TTG_GlobalRead, TTG_GlobalWrite, TTG_TensorRead, TTG_TensorWrite], "all">]> {
  let cppNamespace = "::heddle::triton::gpu";
  let separator = "|";
  let printBitEnumPrimaryGroups = 1;
}

#endif
