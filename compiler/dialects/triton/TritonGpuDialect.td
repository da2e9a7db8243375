// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The part of Triton's `ttg` dialect that its layout-free text contains: since 3.7 the barrier of `tl.debug_barrier` is
// `ttg.barrier all`, where 3.6 has `gpu.barrier`.
#ifndef HEDDLE_TRITON_GPU_DIALECT
#define HEDDLE_TRITON_GPU_DIALECT

include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def TritonGpu_Dialect : Dialect {
  let name = "ttg";
  let cppNamespace = "::heddle::triton::gpu";
  let summary = "the barrier of tile programs";
}

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

def TTG_BarrierOp : Op<TritonGpu_Dialect, "barrier", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "all threads of the program meet and see each other's accesses to the named memory";
  let arguments = (ins TTG_BarrierMemory:$addrSpace);
  let assemblyFormat = "custom<BarrierMemory>($addrSpace) attr-dict";
}

#endif
