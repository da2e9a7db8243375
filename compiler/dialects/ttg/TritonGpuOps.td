// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Operations of `ttg`: memory objects and their views, copies in flight, conversions of layouts.
#ifndef HEDDLE_TRITON_GPU_OPS
#define HEDDLE_TRITON_GPU_OPS

include "TritonGpuTypes.td"

class TTG_Op<string mnemonic, list<Trait> traits = []>
    : Op<TritonGpu_Dialect, mnemonic, !listconcat([TTG_TileShapes], traits)>;

// The text leaves a type out because it follows from another one. Generic text may hold another type, which a rule
// reports.
class TTG_TypeFollows<string from, string to, string transform>
    : TypesMatchWith<"type of " # to # " follows from " # from, from, to, transform, "true || std::equal_to<>()">;

//===-- Barrier --------------------------------------------------------------------------------------------------===//

def TTG_BarrierOp : TTG_Op<"barrier", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "all threads of the program wait for each other and see each other's accesses to the named memory";
  let arguments = (ins TTG_BarrierMemory:$addrSpace);
  let assemblyFormat = "custom<BarrierMemory>($addrSpace) attr-dict";
}

//===-- Memory objects -------------------------------------------------------------------------------------------===//

def TTG_LocalAllocOp : TTG_Op<"local_alloc", [MemoryEffects<[MemAlloc, MemWrite]>]> {
  let summary = "a memory object, with the elements of a tile in it if there is one";
  let arguments = (ins Optional<TT_Tensor>:$src, OptionalAttr<I32Attr>:$alignment);
  let results = (outs TTG_MemDesc:$result);
  let assemblyFormat = "($src^)? attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def TTG_LocalDeallocOp : TTG_Op<"local_dealloc", [MemoryEffects<[MemFree]>]> {
  let summary = "the end of a memory object's life";
  let arguments = (ins TTG_MemDesc:$src);
  let assemblyFormat = "$src attr-dict `:` qualified(type($src))";
}

def TTG_LocalLoadOp : TTG_Op<"local_load", [MemoryEffects<[MemRead]>]> {
  let summary = "the tile in a memory object";
  let arguments = (ins TTG_MemDesc:$src, Optional<TTG_Token>:$token);
  let results = (outs TT_Tensor:$result);
  let assemblyFormat = "$src (`token` $token^)? attr-dict `:` qualified(type($src)) `->` type($result)";
  let hasVerifier = 1;
}

def TTG_LocalStoreOp : TTG_Op<"local_store", [MemoryEffects<[MemWrite]>]> {
  let summary = "writes a tile to a memory object";
  let arguments = (ins TT_Tensor:$src, TTG_MemDesc:$dst);
  let assemblyFormat = "$src `,` $dst attr-dict `:` type($src) `->` qualified(type($dst))";
  let hasVerifier = 1;
}

def TTG_LocalGatherOp : TTG_Op<"local_gather", [MemoryEffects<[MemRead]>]> {
  let summary = "elements of a memory object by an index along one axis";
  let arguments = (ins TTG_MemDesc:$src, TT_IntTensor:$indices, I32Attr:$axis);
  let results = (outs TT_Tensor:$result);
  let assemblyFormat = [{
    $src `[` $indices `]` attr-dict `:` qualified(type($src)) `,` type($indices) `->` type($result)
  }];
  let hasVerifier = 1;
}

def TTG_LocalScatterOp : TTG_Op<"local_scatter", [MemoryEffects<[MemWrite]>]> {
  let summary = "writes elements of a memory object by an index along one axis";
  let arguments = (ins TTG_MemDesc:$dst, TT_IntTensor:$indices, TT_Tensor:$values, I32Attr:$axis);
  let assemblyFormat = [{
    $dst `[` $indices `]` `,` $values attr-dict `:` qualified(type($dst)) `,` type($indices) `,` type($values)
  }];
  let hasVerifier = 1;
}

def TTG_LocalAtomicScatterRMWOp : TTG_Op<"local_atomic_scatter_rmw", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "relaxed atomic updates of elements of a memory object by an index along one axis";
  let arguments = (ins TT_RMWOp:$atomic_rmw_op, TTG_MemDesc:$dst, TT_Tensor:$values, TT_IntTensor:$indices,
                       Optional<TT_I1Tensor>:$mask, I32Attr:$axis);
  let results = (outs TT_Tensor:$result);
  let assemblyFormat = [{
    $atomic_rmw_op `,` $dst `[` $indices `]` `,` $values (`,` $mask^)? attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

//===-- Views ----------------------------------------------------------------------------------------------------===//

def TTG_MemDescIndexOp : TTG_Op<"memdesc_index", [Pure]> {
  let summary = "a slot of a ring";
  let arguments = (ins TTG_MemDesc:$src, I32:$index);
  let results = (outs TTG_MemDesc:$result);
  let assemblyFormat = "$src `[` $index `]` attr-dict `:` qualified(type($src)) `->` qualified(type($result))";
  let hasVerifier = 1;
}

def TTG_MemDescSubsliceOp : TTG_Op<"memdesc_subslice", [Pure]> {
  let summary = "a part of a memory object, from these coordinates on";
  let arguments = (ins TTG_MemDesc:$src, DenseI32ArrayAttr:$offsets);
  let results = (outs TTG_MemDesc:$result);
  let assemblyFormat = "$src `` $offsets attr-dict `:` qualified(type($src)) `->` qualified(type($result))";
  let hasVerifier = 1;
}

class TTG_View<string mnemonic> : TTG_Op<mnemonic, [Pure]> {
  let results = (outs TTG_MemDesc:$result);
  let assemblyFormat = "$src attr-dict `:` qualified(type($src)) `->` qualified(type($result))";
  let hasVerifier = 1;
}

def TTG_MemDescTransOp : TTG_View<"memdesc_trans"> {
  let summary = "the same bytes with the axes in another order";
  let arguments = (ins TTG_MemDesc:$src, DenseI32ArrayAttr:$order);
}

def TTG_MemDescReshapeOp : TTG_View<"memdesc_reshape"> {
  let summary = "the same bytes with another shape of as many elements, in row-major order";
  let arguments = (ins TTG_MemDesc:$src);
}

def TTG_MemDescReinterpretOp : TTG_View<"memdesc_reinterpret"> {
  let summary = "the same bytes with another type and shape";
  let arguments = (ins TTG_MemDesc:$src);
}

//===-- Copies in flight -----------------------------------------------------------------------------------------===//

def TTG_AsyncCopyOp : TTG_Op<"async_copy_global_to_local", [AttrSizedOperandSegments,
      MemoryEffects<[MemRead, MemWrite]>, TTG_TypeFollows<"src", "mask", "::heddle::triton::maskTypeOf($_self)">,
      TTG_TypeFollows<"src", "other", "::heddle::triton::valueTypeOf($_self)">]> {
  let summary = "begins to copy a tile from global memory to a memory object";
  let arguments = (ins TT_PtrTensor:$src, TTG_MemDesc:$dst, Optional<TT_I1Tensor>:$mask, Optional<TT_Tensor>:$other,
                       OptionalAttr<Triton_CachePolicyAttr>:$cachePolicy, OptionalAttr<BoolAttr>:$isVolatile,
                       OptionalAttr<I32Attr>:$contiguity);
  let results = (outs TTG_Token:$token);
  let assemblyFormat = [{
    $src `,` $dst (`mask` $mask^)? (`other` $other^)? attr-dict `:` type($src) `->` type($dst)
  }];
  let hasVerifier = 1;
}

def TTG_AsyncCommitGroupOp : TTG_Op<"async_commit_group", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "makes a group of the copies since the last group";
  let arguments = (ins Variadic<TTG_Token>:$tokens);
  let results = (outs TTG_Token:$result);
  let assemblyFormat = "(`tokens` $tokens^)? attr-dict";
}

def TTG_AsyncWaitOp : TTG_Op<"async_wait", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "waits until at most `num` groups are in flight";
  let arguments = (ins Variadic<TTG_Token>:$tokens, I32Attr:$num);
  let results = (outs TTG_Token:$result);
  let assemblyFormat = "($tokens^)? attr-dict";
  let hasVerifier = 1;
}

//===-- Registers ------------------------------------------------------------------------------------------------===//

def TTG_ConvertLayoutOp : TTG_Op<"convert_layout", [Pure]> {
  let summary = "the same tile in another layout";
  let arguments = (ins TT_Tensor:$src);
  let results = (outs TT_Tensor:$result);
  let assemblyFormat = "$src attr-dict `:` type($src) `->` type($result)";
  let hasVerifier = 1;
}

def TTG_Fp4ToFpOp : TTG_Op<"fp4_to_fp", [Pure]> {
  let summary = "two e2m1 of each byte along an axis, the low four bits first";
  let arguments = (ins TT_Tensor:$src, I32Attr:$axis);
  let results = (outs TT_Tensor:$result);
  let assemblyFormat = "$src attr-dict `:` type($src) `->` type($result)";
}

def TTG_InlineAsmOp : TTG_Op<"inline_asm", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "assembly text, once for each thread, on all of its registers";
  let arguments = (ins StrAttr:$asm_string, StrAttr:$constraints, BoolAttr:$pure, Variadic<TT_Type>:$args);
  let results = (outs Variadic<TT_Type>:$result);
  let assemblyFormat = "$asm_string attr-dict $args `:` functional-type(operands, results)";
}

def TTG_WarpIdOp : TTG_Op<"warp_id", [Pure]> {
  let summary = "the number of this thread's warp in the block";
  let arguments = (ins UnitAttr:$omitUniformHint);
  let results = (outs I32:$result);
  let assemblyFormat = "attr-dict";
}

#endif
