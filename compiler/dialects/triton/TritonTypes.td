// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Types of the `tt` dialect and the type constraints that its operations share.
#ifndef HEDDLE_TRITON_TYPES
#define HEDDLE_TRITON_TYPES

include "mlir/IR/AttrTypeBase.td"
include "TritonDialect.td"
include "TritonEnums.td"

class Triton_Type<string name, string keyword, list<Trait> traits = []>
    : TypeDef<Triton_Dialect, name, traits> {
  let mnemonic = keyword;
}

def Triton_PointerType : Triton_Type<"Pointer", "ptr"> {
  let summary = "pointer to a scalar, or (older text) to a block of a tensor";
  let parameters = (ins "::mlir::Type":$pointeeType, "int":$addressSpace);
  let builders = [TypeBuilderWithInferredContext<(ins "::mlir::Type":$pointeeType, CArg<"int", "1">:$addressSpace), [{
    return $_get(pointeeType.getContext(), pointeeType, addressSpace);
  }]>];
  let skipDefaultBuilders = 1;
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

def Triton_TensorDescType : Triton_Type<"TensorDesc", "tensordesc"> {
  let summary = "descriptor of a tensor in memory, read and written one block at a time";
  let parameters = (ins "::mlir::RankedTensorType":$blockType);
  let builders = [TypeBuilderWithInferredContext<(ins "::mlir::RankedTensorType":$blockType), [{
    return $_get(blockType.getContext(), blockType);
  }]>];
  let skipDefaultBuilders = 1;
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

// Cache hints of a load or store as Triton 3.9 prints them, both in one attribute:
// #tt.cache_policy<cache_modifier = cg, eviction_policy = evict_normal>.
def Triton_CachePolicyAttr : AttrDef<Triton_Dialect, "CachePolicy"> {
  let mnemonic = "cache_policy";
  let summary = "where an access may be cached, and how soon its line may leave";
  let parameters = (ins EnumParameter<TT_CacheModifier>:$cache_modifier,
                        EnumParameter<TT_EvictionPolicy>:$eviction_policy);
  let assemblyFormat = "`<` struct(params) `>`";
}

// Scalars. Triton's integers are signless; i4 is accepted because its verifier does.
def TT_Float : AnyTypeOf<[F16, BF16, F32, F64, F8E4M3FN, F8E4M3FNUZ, F8E5M2, F8E5M2FNUZ], "floating-point">;
def TT_Int : AnyTypeOf<[I1, I<4>, I8, I16, I32, I64], "integer">;
def TT_I32 : I<32>;
def TT_Ptr : DialectType<Triton_Dialect, CPred<"::llvm::isa<::heddle::triton::PointerType>($_self)">, "pointer">;
def TT_TensorPtr : DialectType<Triton_Dialect, CPred<"::heddle::triton::isBlockPointer($_self)">,
                               "pointer to a block", "::heddle::triton::PointerType">;

// Tiles, and "scalar or tile".
def TT_FloatTensor : RankedTensorOf<[TT_Float]>;
def TT_IntTensor : RankedTensorOf<[TT_Int]>;
def TT_I1Tensor : RankedTensorOf<[I1]>;
def TT_I32Tensor : RankedTensorOf<[I32]>;
def TT_PtrTensor : RankedTensorOf<[TT_Ptr]>;
def TT_Tensor : RankedTensorOf<[TT_Float, TT_Int, TT_Ptr]>;
def TT_FloatLike : AnyTypeOf<[TT_Float, TT_FloatTensor]>;
def TT_IntLike : AnyTypeOf<[TT_Int, TT_IntTensor]>;
def TT_BoolLike : AnyTypeOf<[I1, TT_I1Tensor]>;
def TT_I64Like : AnyTypeOf<[I64, RankedTensorOf<[I64]>]>;
def TT_PtrLike : AnyTypeOf<[TT_Ptr, TT_PtrTensor]>;
def TT_Scalar : AnyTypeOf<[TT_Float, TT_Int, TT_Ptr]>;
def TT_Type : AnyTypeOf<[TT_Scalar, TT_Tensor]>;

// A flag that current text gives as a unit attribute and older text as `name = true` or `name = false`.
def TT_Flag : Attr<CPred<"::llvm::isa<::mlir::UnitAttr, ::mlir::BoolAttr>($_self)">, "unit or boolean attribute"> {
  let storageType = "::mlir::Attribute";
  let returnType = "bool";
  let valueType = NoneType;
  let convertFromStorage = "::heddle::triton::isFlagSet($_self)";
  let constBuilderCall = "(($0) ? $_builder.getUnitAttr() : ::mlir::UnitAttr())";
  let isOptional = 1;
}

// The text leaves the type of `to` out because it follows from `from`. Only parsing uses this; text in generic form can
// hold another type, which the operation's numbered rule reports with both types.
class TT_TypeFollows<string from, string to, string transform>
    : TypesMatchWith<"type of " # to # " follows from " # from, from, to, transform, "true || std::equal_to<>()">;

#endif
