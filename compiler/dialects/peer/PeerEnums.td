// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The comparators of the `peer` dialect. Semantics and scopes are those of the `tt` dialect.
#ifndef HEDDLE_PEER_ENUMS
#define HEDDLE_PEER_ENUMS

include "mlir/IR/EnumAttr.td"

// A wait ends WHEN `loaded CMP expected` holds; integers compare unsigned.
def Peer_Comparator : I32EnumAttr<"Comparator", "what ends a wait, unsigned", [
  I32EnumAttrCase<"Equal", 0, "eq">, I32EnumAttrCase<"LessThan", 1, "lt">, I32EnumAttrCase<"LessOrEqual", 2, "le">,
  I32EnumAttrCase<"GreaterThan", 3, "gt">, I32EnumAttrCase<"GreaterOrEqual", 4, "ge">,
  I32EnumAttrCase<"HighHalfEqual", 5, "hi">]> {
  let cppNamespace = "::heddle::peer";
}

#endif
