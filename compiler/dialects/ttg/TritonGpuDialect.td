// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The dialects of Triton's TTGIR text besides `tt`: `ttg` with its encodings, memory descriptors and barrier, `amdg` and
// `ttng` for what is AMD's and NVIDIA's own, `gluon` for what only the front end's text has.
// Definitions follow the text of Triton 3.9.
#ifndef HEDDLE_TRITON_GPU_DIALECT
#define HEDDLE_TRITON_GPU_DIALECT

include "TritonTypes.td"
include "TritonEnums.td"
include "mlir/IR/AttrTypeBase.td"
include "TritonGpuEnums.td"
include "mlir/IR/OpBase.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def TritonGpu_Dialect : Dialect {
  let name = "ttg";
  let cppNamespace = "::heddle::triton::gpu";
  let summary = "tiles with layouts and memory objects of shared memory, as Triton and Gluon print them";
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
}

def AmdGpu_Dialect : Dialect {
  let name = "amdg";
  let cppNamespace = "::heddle::triton::amdg";
  let summary = "AMD's buffer accesses and conversions, as Triton and Gluon print them";
  let dependentDialects = ["::heddle::triton::gpu::TritonGpuDialect"];
  let hasOperationAttrVerify = 1;
}

def NvidiaGpu_Dialect : Dialect {
  let name = "ttng";
  let cppNamespace = "::heddle::triton::nvgpu";
  let summary = "Hopper's warp-group matmuls, barrier objects and bulk tensor copies, as Triton and Gluon print them";
  let dependentDialects = ["::heddle::triton::gpu::TritonGpuDialect"];
}

def Gluon_Dialect : Dialect {
  let name = "gluon";
  let cppNamespace = "::heddle::triton::gluon";
  let summary = "layouts that a compiler has to choose, as Gluon's front end prints them";
  let useDefaultAttributePrinterParser = 1;
}

// As for operations of `tt`: tiles have sizes that are powers of two.
def TTG_TileShapes : NativeOpTrait<"TileShapes"> { let cppNamespace = "::heddle::triton::OpTrait"; }

#endif
