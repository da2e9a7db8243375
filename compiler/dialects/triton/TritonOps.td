// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Operations of the `tt` dialect: functions, program grid, elementwise helpers, shapes, regions, matrix products,
// debugging. Memory operations are in TritonMemoryOps.td. Verifier rules are numbered in TritonVerify.cpp.
#ifndef HEDDLE_TRITON_OPS
#define HEDDLE_TRITON_OPS

include "TritonTypes.td"
include "TritonEnums.td"
include "mlir/IR/OpBase.td"
include "mlir/IR/BuiltinAttributes.td"
include "mlir/IR/CommonAttrConstraints.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/CallInterfaces.td"
include "mlir/Interfaces/CastInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/FunctionInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

// What is true of every tile operation: each tensor has power-of-two dimensions and at most 2^20 elements. It is
// checked first, so that every other rule may rely on static shapes.
def TileShapes : NativeOpTrait<"TileShapes"> { let cppNamespace = "::heddle::triton::OpTrait"; }
// All operands and results are scalars, or all are tiles of one shape.
def SameTileShape : NativeOpTrait<"SameTileShape"> { let cppNamespace = "::heddle::triton::OpTrait"; }

class TT_Op<string mnemonic, list<Trait> traits = []> : Op<Triton_Dialect, mnemonic, !listconcat([TileShapes], traits)>;

class TT_SameShape<list<Trait> traits> {
  list<Trait> all = !listconcat([Pure, SameTileShape, Elementwise], traits);
}

//===-- Functions ------------------------------------------------------------------------------------------------===//

def TT_FuncOp : TT_Op<"func", [AffineScope, AutomaticAllocationScope, IsolatedFromAbove, FunctionOpInterface, CallableOpInterface]> {
  let summary = "a tile function; the public one is the kernel";
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttrOf<FunctionType>:$function_type,
                       OptionalAttr<StrAttr>:$sym_visibility, OptionalAttr<DictArrayAttr>:$arg_attrs,
                       OptionalAttr<DictArrayAttr>:$res_attrs);
  let regions = (region AnyRegion:$body);
  let builders = [OpBuilder<(ins "::llvm::StringRef":$name, "::mlir::FunctionType":$type,
                                 CArg<"::llvm::ArrayRef<::mlir::NamedAttribute>", "{}">:$attributes)>];
  let extraClassDeclaration = [{
    ::mlir::Region *getCallableRegion() { return isExternal() ? nullptr : &getBody(); }
    ::llvm::ArrayRef<::mlir::Type> getArgumentTypes() { return getFunctionType().getInputs(); }
    ::llvm::ArrayRef<::mlir::Type> getResultTypes() { return getFunctionType().getResults(); }
  }];
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}

def TT_ReturnOp : TT_Op<"return", [Pure, HasParent<"FuncOp">, ReturnLike, Terminator]> {
  let summary = "return from a tile function";
  let arguments = (ins Variadic<AnyType>:$srcs);
  let builders = [OpBuilder<(ins), [{ build($_builder, $_state, ::mlir::ValueRange()); }]>];
  let assemblyFormat = "attr-dict ($srcs^ `:` type($srcs))?";
  let hasVerifier = 1;
}

def TT_CallOp : TT_Op<"call", [CallOpInterface, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "call of a function that was not inlined";
  let arguments = (ins FlatSymbolRefAttr:$callee, Variadic<AnyType>:$operands,
                       OptionalAttr<DictArrayAttr>:$arg_attrs, OptionalAttr<DictArrayAttr>:$res_attrs);
  let results = (outs Variadic<AnyType>);
  let assemblyFormat = "$callee `(` $operands `)` attr-dict `:` functional-type($operands, results)";
  let extraClassDeclaration = [{
    operand_range getArgOperands() { return getOperands(); }
    ::mlir::MutableOperandRange getArgOperandsMutable() { return getOperandsMutable(); }
    ::mlir::CallInterfaceCallable getCallableForCallee() { return (*this)->getAttrOfType<::mlir::SymbolRefAttr>("callee"); }
    void setCalleeFromCallable(::mlir::CallInterfaceCallable callee) {
      (*this)->setAttr("callee", ::llvm::cast<::mlir::SymbolRefAttr>(callee));
    }
  }];
}

//===-- Program grid ---------------------------------------------------------------------------------------------===//

def TT_GetProgramIdOp : TT_Op<"get_program_id", [Pure]> {
  let summary = "index of this program instance along an axis";
  let arguments = (ins TT_ProgramDim:$axis);
  let results = (outs I32:$result);
  let assemblyFormat = "$axis attr-dict `:` type($result)";
}

def TT_GetNumProgramsOp : TT_Op<"get_num_programs", [Pure]> {
  let summary = "size of the grid along an axis";
  let arguments = (ins TT_ProgramDim:$axis);
  let results = (outs I32:$result);
  let assemblyFormat = "$axis attr-dict `:` type($result)";
}

//===-- Elementwise ----------------------------------------------------------------------------------------------===//

def TT_IntToPtrOp : TT_Op<"int_to_ptr", TT_SameShape<[]>.all> {
  let summary = "an i64 address as a pointer";
  let arguments = (ins TT_I64Like:$src);
  let results = (outs TT_PtrLike:$result);
  let assemblyFormat = "$src attr-dict `:` type($src) `->` type($result)";
  let hasVerifier = 1;
}

def TT_PtrToIntOp : TT_Op<"ptr_to_int", TT_SameShape<[]>.all> {
  let summary = "the address of a pointer";
  let arguments = (ins TT_PtrLike:$src);
  let results = (outs TT_I64Like:$result);
  let assemblyFormat = "$src attr-dict `:` type($src) `->` type($result)";
  let hasVerifier = 1;
}

def TT_BitcastOp : TT_Op<"bitcast", TT_SameShape<[]>.all> {
  let summary = "the same bits as another type of equal width";
  let arguments = (ins TT_Type:$src);
  let results = (outs TT_Type:$result);
  let assemblyFormat = "$src attr-dict `:` type($src) `->` type($result)";
  let hasVerifier = 1;
}

def TT_FpToFpOp : TT_Op<"fp_to_fp", TT_SameShape<[]>.all> {
  let summary = "floating-point conversion to or from fp8, or with a given rounding";
  let arguments = (ins TT_FloatLike:$src, OptionalAttr<TT_RoundingMode>:$rounding);
  let results = (outs TT_FloatLike:$result);
  let assemblyFormat = "$src (`,` `rounding` `=` $rounding^)? attr-dict `:` type($src) `->` type($result)";
  let hasVerifier = 1;
}

def TT_ClampFOp : TT_Op<"clampf", TT_SameShape<[SameOperandsAndResultType]>.all> {
  let summary = "min(max(x, lower), upper), with or without NaN propagation";
  let arguments = (ins TT_FloatLike:$x, TT_FloatLike:$min, TT_FloatLike:$max, TT_PropagateNan:$propagateNan);
  let results = (outs TT_FloatLike:$result);
  let assemblyFormat = "$x `,` $min `,` $max `,` `propagateNan` `=` $propagateNan attr-dict `:` type($result)";
}

def TT_PreciseSqrtOp : TT_Op<"precise_sqrt", TT_SameShape<[SameOperandsAndResultType]>.all> {
  let summary = "square root, correctly rounded";
  let arguments = (ins TT_FloatLike:$x);
  let results = (outs TT_FloatLike:$result);
  let assemblyFormat = "$x attr-dict `:` type($x)";
}

def TT_PreciseDivFOp : TT_Op<"precise_divf", TT_SameShape<[SameOperandsAndResultType]>.all> {
  let summary = "division, correctly rounded";
  let arguments = (ins TT_FloatLike:$x, TT_FloatLike:$y);
  let results = (outs TT_FloatLike:$result);
  let assemblyFormat = "$x `,` $y attr-dict `:` type($x)";
}

def TT_ApproxDivFOp : TT_Op<"approx_divf", TT_SameShape<[SameOperandsAndResultType]>.all> {
  let summary = "division by the chip's fast quotient";
  let arguments = (ins TT_FloatLike:$x, TT_FloatLike:$y);
  let results = (outs TT_FloatLike:$result);
  let assemblyFormat = "$x `,` $y attr-dict `:` type($x)";
  let hasVerifier = 1;
}

def TT_MulhiUIOp : TT_Op<"mulhiui", TT_SameShape<[SameOperandsAndResultType]>.all> {
  let summary = "high half of an unsigned product";
  let arguments = (ins TT_IntLike:$x, TT_IntLike:$y);
  let results = (outs TT_IntLike:$result);
  let assemblyFormat = "$x `,` $y attr-dict `:` type($x)";
}

def TT_ExternElementwiseOp : TT_Op<"extern_elementwise", [SameTileShape, Elementwise,
                                   DeclareOpInterfaceMethods<MemoryEffectsOpInterface>, ConditionallySpeculatable]> {
  let summary = "call of a vendor's device library function on each element";
  let arguments = (ins Variadic<TT_Type>:$srcs, StrAttr:$libname, StrAttr:$libpath, StrAttr:$symbol, BoolAttr:$pure);
  let results = (outs TT_Type:$result);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, $result)";
  let extraClassDeclaration = [{ ::mlir::Speculation::Speculatability getSpeculatability(); }];
  let hasVerifier = 1;
}

def TT_ElementwiseInlineAsmOp : TT_Op<"elementwise_inline_asm", [SameTileShape, Elementwise,
                                      DeclareOpInterfaceMethods<MemoryEffectsOpInterface>, ConditionallySpeculatable]> {
  let summary = "a vendor's assembly text applied to groups of elements";
  let arguments = (ins StrAttr:$asm_string, StrAttr:$constraints, BoolAttr:$pure, I32Attr:$packed_element,
                       Variadic<AnyTypeOf<[TT_Type]>>:$args);
  let results = (outs Variadic<TT_Type>:$result);
  let assemblyFormat = "$asm_string attr-dict ($args^ `:` type($args))? `->` type($result)";
  let extraClassDeclaration = [{ ::mlir::Speculation::Speculatability getSpeculatability(); }];
  let hasVerifier = 1;
}

//===-- Shapes ---------------------------------------------------------------------------------------------------===//

def TT_SplatOp : TT_Op<"splat", [Pure]> {
  let summary = "a tile with one value everywhere";
  let arguments = (ins TT_Scalar:$src);
  let results = (outs TT_Tensor:$result);
  let assemblyFormat = "$src attr-dict `:` type($src) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def TT_UnsplatOp : TT_Op<"unsplat", [Pure, TT_TypeFollows<"src", "result", "::mlir::getElementTypeOrSelf($_self)">]> {
  let summary = "the value of a one-element tile";
  let arguments = (ins TT_Tensor:$src);
  let results = (outs TT_Scalar:$result);
  let assemblyFormat = "$src attr-dict `:` type($src)";
  let hasVerifier = 1;
}

def TT_ExpandDimsOp : TT_Op<"expand_dims", [Pure]> {
  let summary = "insert a dimension of size 1";
  let arguments = (ins TT_Tensor:$src, I32Attr:$axis);
  let results = (outs TT_Tensor:$result);
  let assemblyFormat = "$src attr-dict `:` type($src) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def TT_BroadcastOp : TT_Op<"broadcast", [Pure]> {
  let summary = "repeat along dimensions of size 1";
  let arguments = (ins TT_Tensor:$src);
  let results = (outs TT_Tensor:$result);
  let assemblyFormat = "$src attr-dict `:` type($src) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def TT_ReshapeOp : TT_Op<"reshape", [Pure]> {
  let summary = "the same elements in row-major order under another shape";
  let arguments = (ins TT_Tensor:$src, TT_Flag:$allow_reorder, TT_Flag:$efficient_layout);
  let results = (outs TT_Tensor:$result);
  let assemblyFormat = [{
    custom<ReshapeSource>($src, $allow_reorder, $efficient_layout) attr-dict `:` type($src) `->` type($result)
  }];
  let builders = [OpBuilder<(ins "::mlir::Type":$result, "::mlir::Value":$src, CArg<"bool", "false">:$allowReorder), [{
    build($_builder, $_state, result, src, allowReorder, /*efficient_layout=*/false);
  }]>];
  let hasVerifier = 1;
  let hasFolder = 1;
}

def TT_TransOp : TT_Op<"trans", [Pure]> {
  let summary = "permute dimensions: dimension d of the result is dimension order[d] of the source";
  let arguments = (ins TT_Tensor:$src, DenseI32ArrayAttr:$order);
  let results = (outs TT_Tensor:$result);
  let assemblyFormat = "$src attr-dict `:` type($src) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def TT_JoinOp : TT_Op<"join", [Pure, TT_TypeFollows<"lhs", "rhs", "$_self">]> {
  let summary = "two tiles side by side in a new innermost dimension";
  let arguments = (ins TT_Tensor:$lhs, TT_Tensor:$rhs);
  let results = (outs TT_Tensor:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` type($lhs) `->` type($result)";
  let hasVerifier = 1;
}

def TT_SplitOp : TT_Op<"split", [Pure, TT_TypeFollows<"outLHS", "outRHS", "$_self">]> {
  let summary = "the two halves of an innermost dimension of 2";
  let arguments = (ins TT_Tensor:$src);
  let results = (outs TT_Tensor:$outLHS, TT_Tensor:$outRHS);
  let assemblyFormat = "$src attr-dict `:` type($src) `->` type($outLHS)";
  let hasVerifier = 1;
}

def TT_CatOp : TT_Op<"cat", [Pure, TT_TypeFollows<"lhs", "rhs", "$_self">]> {
  let summary = "two tiles one after the other; the order of elements is unspecified";
  let arguments = (ins TT_Tensor:$lhs, TT_Tensor:$rhs);
  let results = (outs TT_Tensor:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` type($lhs) `->` type($result)";
  let hasVerifier = 1;
}

def TT_MakeRangeOp : TT_Op<"make_range", [Pure]> {
  let summary = "start, start + 1, ..., end - 1";
  let arguments = (ins I32Attr:$start, I32Attr:$end);
  let results = (outs TT_IntTensor:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def TT_GatherOp : TT_Op<"gather", [Pure]> {
  let summary = "elements of a tile picked along an axis by an index tile";
  let arguments = (ins TT_Tensor:$src, TT_IntTensor:$indices, I32Attr:$axis, TT_Flag:$efficient_layout);
  let results = (outs TT_Tensor:$result);
  let builders = [OpBuilder<(ins "::mlir::Type":$result, "::mlir::Value":$src, "::mlir::Value":$indices, "uint32_t":$axis), [{
    build($_builder, $_state, result, src, indices, axis, /*efficient_layout=*/false);
  }]>];
  let assemblyFormat = "$src `[` $indices `]` attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def TT_HistogramOp : TT_Op<"histogram", [Pure, TT_TypeFollows<"src", "mask", "::heddle::triton::maskTypeOf($_self)">]> {
  let summary = "how often each value from 0 occurs among the active elements";
  let arguments = (ins TT_IntTensor:$src, Optional<TT_I1Tensor>:$mask);
  let results = (outs TT_IntTensor:$result);
  let assemblyFormat = "$src (`,` $mask^)? attr-dict `:` type($src) `->` type($result)";
  let hasVerifier = 1;
}

//===-- Regions --------------------------------------------------------------------------------------------------===//
// These print in generic form, as Triton does: `"tt.reduce"(%x) <{axis = 1 : i32}> ({ ... }) : ...`.

def TT_ReduceOp : TT_Op<"reduce", [Pure, SingleBlock, RecursiveMemoryEffects]> {
  let summary = "combine the elements along an axis by an associative and commutative region";
  let arguments = (ins Variadic<TT_Tensor>:$srcs, I32Attr:$axis);
  let results = (outs Variadic<TT_Type>:$result);
  let regions = (region SizedRegion<1>:$combineOp);
  let hasVerifier = 1;
}

def TT_ReduceReturnOp : TT_Op<"reduce.return", [Pure, Terminator, ReturnLike]> {
  let summary = "values of a reduce region";
  let arguments = (ins Variadic<AnyType>:$result);
  let assemblyFormat = "$result attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def TT_ScanOp : TT_Op<"scan", [Pure, SingleBlock, RecursiveMemoryEffects]> {
  let summary = "inclusive prefix combination along an axis by an associative region";
  let arguments = (ins Variadic<TT_Tensor>:$srcs, I32Attr:$axis, BoolAttr:$reverse);
  let results = (outs Variadic<TT_Tensor>:$result);
  let regions = (region SizedRegion<1>:$combineOp);
  let hasVerifier = 1;
}

def TT_ScanReturnOp : TT_Op<"scan.return", [Pure, Terminator, ReturnLike]> {
  let summary = "values of a scan region";
  let arguments = (ins Variadic<AnyType>:$result);
  let assemblyFormat = "$result attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def TT_MapElementwiseOp : TT_Op<"map_elementwise", [Pure, RecursiveMemoryEffects]> {
  let summary = "a scalar region applied to each element, or to `pack` elements at a time";
  let arguments = (ins Variadic<TT_Tensor>:$srcs, I32Attr:$pack);
  let results = (outs Variadic<TT_Tensor>:$result);
  let regions = (region AnyRegion:$scalarOp);
  let hasVerifier = 1;
}

def TT_MapElementwiseReturnOp : TT_Op<"map_elementwise.return", [HasParent<"MapElementwiseOp">, Pure, Terminator, ReturnLike]> {
  let summary = "values of a map_elementwise region";
  let arguments = (ins Variadic<AnyType>:$result);
  let assemblyFormat = "attr-dict ($result^ `:` type($result))?";
}

//===-- Matrix products ------------------------------------------------------------------------------------------===//

def TT_DotOp : TT_Op<"dot", [Pure, TT_TypeFollows<"d", "c", "$_self">]> {
  let summary = "d = a * b + c for (M,K) x (K,N), or with a batch dimension first";
  let arguments = (ins AnyTypeOf<[TT_FloatTensor, TT_IntTensor]>:$a, AnyTypeOf<[TT_FloatTensor, TT_IntTensor]>:$b,
                       AnyTypeOf<[TT_FloatTensor, TT_IntTensor]>:$c,
                       DefaultValuedAttr<TT_InputPrecision, "::heddle::triton::InputPrecision::IEEE">:$inputPrecision,
                       DefaultValuedAttr<I32Attr, "0">:$maxNumImpreciseAcc);
  let results = (outs AnyTypeOf<[TT_FloatTensor, TT_IntTensor]>:$d);
  let assemblyFormat = [{
    $a `,` $b `,` $c (`,` `inputPrecision` `=` $inputPrecision^)? attr-dict `:` type($a) `*` type($b) `->` type($d)
  }];
  let hasVerifier = 1;
}

def TT_DotScaledOp : TT_Op<"dot_scaled", [Pure, AttrSizedOperandSegments,
                           TT_TypeFollows<"d", "c", "$_self">]> {
  let summary = "dot of block-scaled operands: each 32 (or 16) elements along K share a scale";
  let arguments = (ins RankedTensorOf<[TT_Float, I8]>:$a, RankedTensorOf<[TT_Float, I8]>:$b, TT_FloatTensor:$c,
                       Optional<RankedTensorOf<[I8, F8E4M3FN]>>:$a_scale, Optional<RankedTensorOf<[I8, F8E4M3FN]>>:$b_scale,
                       TT_ScaleDotElemType:$a_elem_type, TT_ScaleDotElemType:$b_elem_type, BoolAttr:$fastMath,
                       DefaultValuedAttr<BoolAttr, "true">:$lhs_k_pack, DefaultValuedAttr<BoolAttr, "true">:$rhs_k_pack);
  let results = (outs TT_FloatTensor:$d);
  let assemblyFormat = [{
    $a (`scale` $a_scale^)? `,` $b (`scale` $b_scale^)? `,` $c `lhs` `=` $a_elem_type `rhs` `=` $b_elem_type attr-dict
    `:` type($a) (`,` type($a_scale)^)? `*` type($b) (`,` type($b_scale)^)? `->` type($d)
  }];
  let hasVerifier = 1;
}

//===-- Debugging ------------------------------------------------------------------------------------------------===//

def TT_PrintOp : TT_Op<"print", [MemoryEffects<[MemWrite]>]> {
  let summary = "print values from the device";
  let arguments = (ins StrAttr:$prefix, BoolAttr:$hex, Variadic<AnyTypeOf<[TT_Type]>>:$args, DenseI32ArrayAttr:$isSigned);
  let assemblyFormat = "$prefix attr-dict (`:` $args^ `:` type($args))?";
  let hasVerifier = 1;
}

def TT_AssertOp : TT_Op<"assert", [MemoryEffects<[MemWrite]>]> {
  let summary = "stop the kernel when a condition is false anywhere";
  let arguments = (ins TT_BoolLike:$condition, StrAttr:$message);
  let assemblyFormat = "$condition `,` $message attr-dict `:` type($condition)";
}

//===-- Later versions -------------------------------------------------------------------------------------------===//

def TT_GridDependencyWaitOp : TT_Op<"grid_dependency_wait", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "wait for the kernel that this launch depends on";
  let assemblyFormat = "attr-dict";
}

def TT_GridDependencyLaunchDependentsOp : TT_Op<"grid_dependency_launch_dependents", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "let dependent kernels start";
  let assemblyFormat = "attr-dict";
}

#endif
