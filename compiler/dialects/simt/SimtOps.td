// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The `simt` level: the operations of the tile level on tiles whose types carry a layout, `tensor<64x32xf16,
// #simt.linear<...>>`, and what a program needs besides once threads exist.
#ifndef HEDDLE_SIMT_OPS
#define HEDDLE_SIMT_OPS

include "TritonTypes.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/OpBase.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Simt_Dialect : Dialect {
  let name = "simt";
  let cppNamespace = "::heddle::simt";
  let summary = "tiles spread over the registers, lanes and warps of a block";
  let useDefaultAttributePrinterParser = 1;
}

def Simt_LinearAttr : AttrDef<Simt_Dialect, "Linear"> {
  let mnemonic = "linear";
  let summary = "which element of the tile each register of each thread holds";
  let description = [{
    Printed as its bases: for each bit of the register, lane and warp number the coordinates that it adds, e.g.
    `#simt.linear<register = [[0, 1]], lane = [[0, 2], [1, 0]], warp = [], shape = [2, 4]>`.
  }];
  let parameters = (ins AttrParameter<"::heddle::layout::LinearLayout", "the map",
                                      "const ::heddle::layout::LinearLayout &">:$layout);
  let hasCustomAssemblyFormat = 1;
}

class Simt_Op<string mnemonic, list<Trait> traits = []> : Op<Simt_Dialect, mnemonic, traits>;

def Simt_ConvertLayoutOp : Simt_Op<"convert_layout", [Pure]> {
  let summary = "the same tile, spread otherwise";
  let arguments = (ins TT_Tensor:$src);
  let results = (outs TT_Tensor:$result);
  let assemblyFormat = "$src attr-dict `:` type($src) `->` type($result)";
  let hasVerifier = 1;
}

#endif
