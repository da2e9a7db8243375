// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The `tt` dialect: the tile level of Heddle. It reads and prints the text that Triton prints as its Triton IR;
// the language is described in docs/triton-ir.md. Definitions here are ours, written from that description.
#ifndef HEDDLE_TRITON_DIALECT
#define HEDDLE_TRITON_DIALECT

include "mlir/IR/OpBase.td"

def Triton_Dialect : Dialect {
  let name = "tt";
  let cppNamespace = "::heddle::triton";
  let summary = "tile programs as Triton prints them";
  let description = [{
    A value is a scalar or a whole tile; there are no threads and no layouts. Arithmetic on tiles comes from `arith`
    and `math`, control flow from `scf` and `cf`; this dialect adds pointers, memory access, shape changes, reductions,
    matrix products and the program grid.
  }];
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
  let hasConstantMaterializer = 1;
  let hasOperationAttrVerify = 1;
  let hasRegionArgAttrVerify = 1;
  let dependentDialects = ["::mlir::arith::ArithDialect"];
  let extraClassDeclaration = [{
    void registerTypes();
  }];
}

#endif
