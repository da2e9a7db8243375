// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Operations of the `tt` dialect that touch memory or describe it: pointers, loads, stores, atomics, block pointers
// (text of Triton before 3.7) and tensor descriptors.
#ifndef HEDDLE_TRITON_MEMORY_OPS
#define HEDDLE_TRITON_MEMORY_OPS

include "TritonOps.td"

//===-- Pointers -------------------------------------------------------------------------------------------------===//

def TT_AddPtrOp : TT_Op<"addptr", [Pure, SameTileShape, Elementwise, TT_TypeFollows<"result", "ptr", "$_self">]> {
  let summary = "pointer plus a signed offset in elements";
  let arguments = (ins TT_PtrLike:$ptr, TT_IntLike:$offset);
  let results = (outs TT_PtrLike:$result);
  let assemblyFormat = "$ptr `,` $offset attr-dict `:` type($result) `,` type($offset)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

//===-- Loads and stores -----------------------------------------------------------------------------------------===//

// Optional, and the last argument of the builders, which may leave it out.
def TT_CachePolicy : DefaultValuedOptionalAttr<Triton_CachePolicyAttr, "::heddle::triton::CachePolicyAttr()"> {
  let constBuilderCall = "$0";
  let convertFromStorage = "$_self";
}

// Triton 3.9 gives both cache hints as `cachePolicy`, older text as a word each; one form at a time (rule M9). These two
// functions answer for either form.
class TT_CacheHints {
  code accessors = [{
    CacheModifier cacheModifier() {
      CachePolicyAttr policy = getCachePolicyAttr();
      return policy ? policy.getCacheModifier() : getCache();
    }
    EvictionPolicy evictionPolicy() {
      CachePolicyAttr policy = getCachePolicyAttr();
      return policy ? policy.getEvictionPolicy() : getEvict();
    }
  }];
}

def TT_LoadOp : TT_Op<"load", [AttrSizedOperandSegments, DeclareOpInterfaceMethods<MemoryEffectsOpInterface>,
                      TT_TypeFollows<"ptr", "mask", "::heddle::triton::maskTypeOf($_self)">,
                      TT_TypeFollows<"ptr", "other", "::heddle::triton::valueTypeOf($_self)">,
                      TT_TypeFollows<"ptr", "result", "::heddle::triton::valueTypeOf($_self)">]> {
  let summary = "read through pointers; an element whose mask is false is not accessed and yields `other`";
  let arguments = (ins AnyTypeOf<[TT_PtrLike]>:$ptr, Optional<TT_BoolLike>:$mask, Optional<TT_Type>:$other,
                       DefaultValuedAttr<DenseI32ArrayAttr, "::llvm::ArrayRef<int32_t>{}">:$boundaryCheck,
                       OptionalAttr<TT_Padding>:$padding,
                       DefaultValuedAttr<TT_CacheModifier, "::heddle::triton::CacheModifier::None">:$cache,
                       DefaultValuedAttr<TT_EvictionPolicy, "::heddle::triton::EvictionPolicy::Normal">:$evict,
                       DefaultValuedAttr<BoolAttr, "false">:$isVolatile,
                       TT_CachePolicy:$cachePolicy);
  let results = (outs TT_Type:$result);
  let extraClassDeclaration = TT_CacheHints<>.accessors # [{
    /// Each execution reads memory again: it says `isVolatile`, or the cache modifier `cv`, which is "do not cache, fetch
    /// again".
    bool isVolatileAccess() { return getIsVolatile() || cacheModifier() == CacheModifier::Volatile; }
  }];
  let assemblyFormat = [{
    $ptr (`,` $mask^)? (`,` $other^)? oilist(`cacheModifier` `=` $cache | `evictionPolicy` `=` $evict)
    attr-dict `:` type($ptr)
  }];
  let hasVerifier = 1;
}

def TT_StoreOp : TT_Op<"store", [MemoryEffects<[MemWrite]>,
                       TT_TypeFollows<"ptr", "value", "::heddle::triton::valueTypeOf($_self)">,
                       TT_TypeFollows<"ptr", "mask", "::heddle::triton::maskTypeOf($_self)">]> {
  let summary = "write through pointers where the mask is true";
  let arguments = (ins AnyTypeOf<[TT_PtrLike]>:$ptr, TT_Type:$value, Optional<TT_BoolLike>:$mask,
                       DefaultValuedAttr<DenseI32ArrayAttr, "::llvm::ArrayRef<int32_t>{}">:$boundaryCheck,
                       DefaultValuedAttr<TT_CacheModifier, "::heddle::triton::CacheModifier::None">:$cache,
                       DefaultValuedAttr<TT_EvictionPolicy, "::heddle::triton::EvictionPolicy::Normal">:$evict,
                       UnitAttr:$ignore_cta, // of Triton 3.7: about clusters of program instances, which are not formed
                       TT_CachePolicy:$cachePolicy);
  let extraClassDeclaration = TT_CacheHints<>.accessors;
  let assemblyFormat = [{
    $ptr `,` $value (`,` $mask^)? oilist(`cacheModifier` `=` $cache | `evictionPolicy` `=` $evict)
    attr-dict `:` type($ptr)
  }];
  let hasVerifier = 1;
}

//===-- Atomics --------------------------------------------------------------------------------------------------===//

def TT_AtomicRMWOp : TT_Op<"atomic_rmw", [SameTileShape, MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "read, combine with a value and write back as one step; the result is the old value";
  let arguments = (ins TT_RMWOp:$atomic_rmw_op, TT_PtrLike:$ptr, TT_Type:$val, Optional<TT_BoolLike>:$mask,
                       TT_MemSemantic:$sem, TT_MemScope:$scope);
  let results = (outs TT_Type:$result);
  let assemblyFormat = [{
    $atomic_rmw_op `,` $sem `,` $scope `,` $ptr `,` $val (`,` $mask^)? attr-dict `:`
    functional-type(operands, $result)
  }];
  let hasVerifier = 1;
}

def TT_AtomicCASOp : TT_Op<"atomic_cas", [SameTileShape, MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "replace by `val` where the memory holds the bits of `cmp`; the result is the old value";
  let arguments = (ins TT_PtrLike:$ptr, TT_Type:$cmp, TT_Type:$val, TT_MemSemantic:$sem, TT_MemScope:$scope);
  let results = (outs TT_Type:$result);
  let assemblyFormat = "$sem `,` $scope `,` $ptr `,` $cmp `,` $val attr-dict `:` functional-type(operands, $result)";
  let hasVerifier = 1;
}

// Its effects keep it where it is: it is neither removed where the result has no use, nor merged, nor moved.
def TT_AtomicLoadOp : TT_Op<"atomic_load", [SameTileShape, MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "read atomically; an element whose mask is false is not accessed and is undefined";
  let arguments = (ins TT_PtrLike:$ptr, Optional<TT_BoolLike>:$mask, TT_MemSemantic:$sem, TT_MemScope:$scope);
  let results = (outs TT_Type:$result);
  let assemblyFormat = [{
    $sem `,` $scope `,` $ptr (`,` $mask^)? attr-dict `:` functional-type(operands, $result)
  }];
  let hasVerifier = 1;
}

def TT_AtomicStoreOp : TT_Op<"atomic_store", [MemoryEffects<[MemRead, MemWrite]>,
                             TT_TypeFollows<"ptr", "value", "::heddle::triton::valueTypeOf($_self)">,
                             TT_TypeFollows<"ptr", "mask", "::heddle::triton::maskTypeOf($_self)">]> {
  let summary = "write atomically where the mask is true";
  let arguments = (ins TT_PtrLike:$ptr, TT_Type:$value, Optional<TT_BoolLike>:$mask, TT_MemSemantic:$sem,
                       TT_MemScope:$scope);
  let assemblyFormat = "$sem `,` $scope `,` $ptr `,` $value (`,` $mask^)? attr-dict `:` type($ptr)";
  let hasVerifier = 1;
}

def TT_AtomicPollOp : TT_Op<"atomic_poll", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "wait until each place holds its expected value; false where `timeout` nanoseconds passed first";
  let arguments = (ins TT_PtrLike:$ptr, TT_IntLike:$expected, Optional<I64>:$timeout, TT_MemSemantic:$sem,
                       TT_MemScope:$scope);
  let results = (outs TT_BoolLike:$result);
  let assemblyFormat = [{
    $sem `,` $scope `,` $ptr `,` $expected (`timeout` $timeout^)? attr-dict `:`
    type($ptr) `,` type($expected) `->` type($result)
  }];
  let hasVerifier = 1;
}

//===-- Block pointers (Triton before 3.7) -----------------------------------------------------------------------===//

def TT_MakeTensorPtrOp : TT_Op<"make_tensor_ptr", [Pure, SameVariadicOperandSize,
                               TT_TypeFollows<"result", "base", "::heddle::triton::basePointerOf($_self)">]> {
  let summary = "pointer to a block inside a strided tensor";
  let arguments = (ins TT_Ptr:$base, Variadic<I64>:$shape, Variadic<I64>:$strides, Variadic<I32>:$offsets,
                       DenseI32ArrayAttr:$order);
  let results = (outs TT_TensorPtr:$result);
  let assemblyFormat = [{
    $base `,` custom<BlockPointerLists>($shape, $strides, $offsets) attr-dict `:` type($result)
  }];
  let hasVerifier = 1;
}

def TT_AdvanceOp : TT_Op<"advance", [Pure, TT_TypeFollows<"result", "ptr", "$_self">]> {
  let summary = "a block pointer moved by offsets in elements";
  let arguments = (ins TT_TensorPtr:$ptr, Variadic<I32>:$offsets);
  let results = (outs TT_TensorPtr:$result);
  let assemblyFormat = "$ptr `,` `[` $offsets `]` attr-dict `:` type($result)";
  let hasVerifier = 1;
}

//===-- Tensor descriptors ---------------------------------------------------------------------------------------===//

def TT_MakeTensorDescOp : TT_Op<"make_tensor_descriptor", [Pure, SameVariadicOperandSize]> {
  let summary = "describe a tensor in memory: base, shape, strides in elements (the last one 1)";
  let arguments = (ins Triton_PointerType:$base, Variadic<I32>:$shape, Variadic<I64>:$strides,
                       DefaultValuedAttr<TT_Padding, "::heddle::triton::PaddingOption::Zero">:$padding);
  let results = (outs Triton_TensorDescType:$result);
  let assemblyFormat = [{
    $base `,` custom<DescriptorLists>($shape, $strides) attr-dict `:` type($base) `,` type($result)
  }];
  let hasVerifier = 1;
}

def TT_DescriptorLoadOp : TT_Op<"descriptor_load", [MemoryEffects<[MemRead]>]> {
  let summary = "read the block at these element coordinates; outside the tensor it reads the padding";
  let arguments = (ins Triton_TensorDescType:$desc, Variadic<I32>:$indices,
                       DefaultValuedAttr<TT_CacheModifier, "::heddle::triton::CacheModifier::None">:$cache,
                       DefaultValuedAttr<TT_EvictionPolicy, "::heddle::triton::EvictionPolicy::Normal">:$evict,
                       TT_CachePolicy:$cachePolicy);
  let results = (outs TT_Tensor:$result);
  let extraClassDeclaration = TT_CacheHints<>.accessors;
  let hasVerifier = 1;
  let assemblyFormat = [{
    $desc `[` $indices `]` oilist(`cacheModifier` `=` $cache | `evictionPolicy` `=` $evict) attr-dict `:`
    qualified(type($desc)) `->` type($result)
  }];
}

def TT_DescriptorStoreOp : TT_Op<"descriptor_store", [MemoryEffects<[MemWrite]>]> {
  let summary = "write the block at these element coordinates; elements outside the tensor are dropped";
  let arguments = (ins Triton_TensorDescType:$desc, TT_Tensor:$src, Variadic<I32>:$indices);
  let assemblyFormat = "$desc `[` $indices `]` `,` $src attr-dict `:` qualified(type($desc)) `,` type($src)";
  let hasVerifier = 1;
}

def TT_DescriptorReduceOp : TT_Op<"descriptor_reduce", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "combine a block into memory, element by element, atomically";
  let arguments = (ins TT_DescriptorReduceKind:$kind, Triton_TensorDescType:$desc, TT_Tensor:$src, Variadic<I32>:$indices);
  let assemblyFormat = "$kind `,` $desc `[` $indices `]` `,` $src attr-dict `:` qualified(type($desc)) `,` type($src)";
  let hasVerifier = 1;
}

def TT_DescriptorGatherOp : TT_Op<"descriptor_gather", [MemoryEffects<[MemRead]>]> {
  let summary = "read the given rows from a column on";
  let arguments = (ins Triton_TensorDescType:$desc, RankedTensorOf<[I16, I32]>:$x_offsets, I32:$y_offset);
  let results = (outs TT_Tensor:$result);
  let assemblyFormat = "$desc `[` $x_offsets `,` $y_offset `]` attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def TT_DescriptorScatterOp : TT_Op<"descriptor_scatter", [MemoryEffects<[MemWrite]>]> {
  let summary = "write the given rows from a column on";
  let arguments = (ins Triton_TensorDescType:$desc, RankedTensorOf<[I16, I32]>:$x_offsets, I32:$y_offset, TT_Tensor:$src);
  let assemblyFormat = "$desc `[` $x_offsets `,` $y_offset `]` `,` $src attr-dict `:` type(operands)";
  let hasVerifier = 1;
}

#endif
