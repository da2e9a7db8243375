// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Operations of `amdg` and `gluon` in TTGIR text: buffer accesses (a scalar pointer and a tile of 32-bit
// offsets in elements), conversions, waits and barriers, markers.
#ifndef HEDDLE_AMD_GPU_OPS
#define HEDDLE_AMD_GPU_OPS

include "TritonGpuOps.td"

class AMDG_Op<string mnemonic, list<Trait> traits = []>
    : Op<AmdGpu_Dialect, mnemonic, !listconcat([TTG_TileShapes], traits)>;

defvar OffsetsOf = "::heddle::triton::amdg::offsetTypeOf($_self)";
defvar MaskOf = "::heddle::triton::amdg::maskTypeFor($_self)";

//===-- Buffers --------------------------------------------------------------------------------------------------===//

def AMDG_BufferLoadOp : AMDG_Op<"buffer_load", [AttrSizedOperandSegments, MemoryEffects<[MemRead]>,
      TTG_TypeFollows<"result", "offsets", OffsetsOf>, TTG_TypeFollows<"result", "mask", MaskOf>,
      TTG_TypeFollows<"result", "other", "$_self">]> {
  let summary = "reads a tile; what the mask forbids is `other`, or 0";
  let arguments = (ins TT_Ptr:$ptr, TT_I32Tensor:$offsets, Optional<TT_I1Tensor>:$mask, Optional<TT_Tensor>:$other,
                       Optional<I32>:$stride, OptionalAttr<Triton_CachePolicyAttr>:$cachePolicy, OptionalAttr<I32Attr>:$contiguity);
  let results = (outs TT_Tensor:$result);
  let assemblyFormat = [{
    $ptr `[` $offsets `]` (`,` $mask^)? (`,` $other^)? (`stride` `=` $stride^)? attr-dict
    `:` custom<BufferTypes>(type($ptr), type($result))
  }];
  let hasVerifier = 1;
}

def AMDG_BufferStoreOp : AMDG_Op<"buffer_store", [AttrSizedOperandSegments, MemoryEffects<[MemWrite]>,
      TTG_TypeFollows<"value", "offsets", OffsetsOf>, TTG_TypeFollows<"value", "mask", MaskOf>]> {
  let summary = "writes a tile where the mask allows";
  let arguments = (ins TT_Tensor:$value, TT_Ptr:$ptr, TT_I32Tensor:$offsets, Optional<TT_I1Tensor>:$mask,
                       Optional<I32>:$stride, OptionalAttr<Triton_CachePolicyAttr>:$cachePolicy, OptionalAttr<I32Attr>:$contiguity);
  let assemblyFormat = [{
    $value `,` $ptr `[` $offsets `]` (`,` $mask^)? (`stride` `=` $stride^)? attr-dict
    `:` custom<BufferTypes>(type($ptr), type($value))
  }];
  let hasVerifier = 1;
}

def AMDG_BufferAtomicRMWOp : AMDG_Op<"buffer_atomic_rmw", [AttrSizedOperandSegments,
      MemoryEffects<[MemRead, MemWrite]>, TTG_TypeFollows<"result", "value", "$_self">,
      TTG_TypeFollows<"result", "offsets", OffsetsOf>, TTG_TypeFollows<"result", "mask", MaskOf>]> {
  let summary = "updates a tile in memory, element by element as one step; the result is the old values";
  let arguments = (ins TT_RMWOp:$atomic_rmw_op, TT_MemSemantic:$sem, TT_MemScope:$scope, TT_Tensor:$value, TT_Ptr:$ptr,
                       TT_I32Tensor:$offsets, Optional<TT_I1Tensor>:$mask, Optional<I32>:$stride);
  let results = (outs TT_Tensor:$result);
  let assemblyFormat = [{
    $atomic_rmw_op `,` $sem `,` $scope `,` $value `,` $ptr `[` $offsets `]` (`,` $mask^)? (`stride` `=` $stride^)?
    attr-dict `:` custom<BufferTypes>(type($ptr), type($result))
  }];
  let hasVerifier = 1;
}

def AMDG_BufferAtomicCASOp : AMDG_Op<"buffer_atomic_cas", [MemoryEffects<[MemRead, MemWrite]>,
      TTG_TypeFollows<"result", "cmp", "$_self">, TTG_TypeFollows<"result", "val", "$_self">,
      TTG_TypeFollows<"result", "offsets", OffsetsOf>]> {
  let summary = "replaces elements that hold the bits of `cmp`; the result is the old values";
  let arguments = (ins TT_MemSemantic:$sem, TT_MemScope:$scope, TT_Tensor:$cmp, TT_Tensor:$val, TT_Ptr:$ptr,
                       TT_I32Tensor:$offsets, Optional<I32>:$stride);
  let results = (outs TT_Tensor:$result);
  let assemblyFormat = [{
    $sem `,` $scope `,` $cmp `,` $val `,` $ptr `[` $offsets `]` (`stride` `=` $stride^)? attr-dict
    `:` custom<BufferTypes>(type($ptr), type($result))
  }];
  let hasVerifier = 1;
}

def AMDG_BufferLoadToLocalOp : AMDG_Op<"buffer_load_to_local", [AttrSizedOperandSegments,
      MemoryEffects<[MemRead, MemWrite]>, TTG_TypeFollows<"offsets", "mask", MaskOf>]> {
  let summary = "begins to copy a tile to a memory object";
  let arguments = (ins TT_Ptr:$ptr, TT_I32Tensor:$offsets, Optional<TT_I1Tensor>:$mask, Optional<TT_Tensor>:$other,
                       Optional<I32>:$stride, OptionalAttr<Triton_CachePolicyAttr>:$cachePolicy, TTG_MemDesc:$dest,
                       OptionalAttr<I32Attr>:$contiguity);
  let results = (outs TTG_Token:$token);
  let assemblyFormat = [{
    $ptr `[` $offsets `]` (`mask` `=` $mask^)? (`other` `=` $other^)? (`stride` `=` $stride^)?
    (`cachePolicy` `=` qualified($cachePolicy)^)? `into` $dest attr-dict
    `:` custom<BufferPointer>(type($ptr)) `[` type($offsets) `]` type($other) `->` type($dest)
  }];
  let hasVerifier = 1;
}

//===-- Registers ------------------------------------------------------------------------------------------------===//

def AMDG_ExtractSliceOp : AMDG_Op<"extract_slice", [Pure]> {
  let summary = "a part of a tile, from these coordinates on, out of the registers that hold it";
  let arguments = (ins TT_Tensor:$src, DenseI64ArrayAttr:$static_offsets);
  let results = (outs TT_Tensor:$result);
  let assemblyFormat = "$src $static_offsets attr-dict `:` type($src) `to` type($result)";
  let hasVerifier = 1;
}

def AMDG_ConcatOp : AMDG_Op<"concat", [Pure]> {
  let summary = "a tile made of others, which are its parts in row-major order";
  let arguments = (ins Variadic<TT_Tensor>:$sources);
  let results = (outs TT_Tensor:$result);
  let assemblyFormat = "$sources attr-dict `:` type($sources) `->` type($result)";
  let hasVerifier = 1;
}

def AMDG_InThreadTransposeOp : AMDG_Op<"in_thread_transpose", [Pure]> {
  let summary = "the same tile with the registers of each thread in another order";
  let arguments = (ins TT_Tensor:$src);
  let results = (outs TT_Tensor:$result);
  let assemblyFormat = "$src attr-dict `:` type($src) `->` type($result)";
  let hasVerifier = 1;
}

class AMDG_Scaled<string mnemonic, string what> : AMDG_Op<mnemonic, [Pure]> {
  let summary = what;
  let arguments = (ins TT_Tensor:$src, TT_Tensor:$scale, OptionalAttr<I32Attr>:$axis);
  let results = (outs TT_Tensor:$result);
  let assemblyFormat = "$src `scale` $scale attr-dict `:` type($src) `,` type($scale) `->` type($result)";
}

def AMDG_ScaledUpcastFp8Op : AMDG_Scaled<"scaled_upcast_fp8", "f8 times a power of two, in a wider format">;
def AMDG_ScaledUpcastFp4Op : AMDG_Scaled<"scaled_upcast_fp4", "e2m1 times a power of two, in a wider format">;
def AMDG_ScaledDowncastFp8Op : AMDG_Scaled<"scaled_downcast_fp8", "f8 of a quotient by a power of two">;
def AMDG_ScaledDowncastFp4Op : AMDG_Scaled<"scaled_downcast_fp4", "e2m1 of a quotient by a power of two">;

def AMDG_LocalLoadPackedTransposedOp : AMDG_Op<"local_load_packed_transposed", [MemoryEffects<[MemRead]>]> {
  let summary = "reads 4-bit elements that a memory object packs along one axis and the result along the other";
  let description = [{
    Two 4-bit elements are in a byte, the one of the lower coordinate in its low bits. For an operand of a matmul the memory
    object packs them along M or N, the result along K: 128x32 bytes become 64x64 for B, 32x128 become 64x64 for A.
  }];
  let arguments = (ins TTG_MemDesc:$src, Optional<TTG_Token>:$token);
  let results = (outs TT_Tensor:$result);
  let assemblyFormat = "$src (`token` $token^)? attr-dict `:` qualified(type($src)) `->` type($result)";
  let hasVerifier = 1;
}

//===-- Order ----------------------------------------------------------------------------------------------------===//

def AMDG_CondBarrierOp : AMDG_Op<"cond_barrier", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "a barrier for the warps whose condition is true";
  let arguments = (ins I1:$pred);
  let assemblyFormat = "$pred attr-dict";
}

def AMDG_AsyncWaitOp : AMDG_Op<"async_wait", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "waits until at most `num_inst` instructions of copies are in flight";
  let arguments = (ins Variadic<TTG_Token>:$tokens, I32Attr:$num_inst);
  let results = (outs TTG_Token:$result);
  let assemblyFormat = "($tokens^)? attr-dict";
  let hasVerifier = 1;
}

// Triton 3.9 prints `rocdl.sched.barrier` with words for its mask; LLVM 22's operation of that name takes a number.
// The text is read with this name (triton::amdg::renameScheduleBarriers), of the same length so that columns stay.
def AMDG_ScheduleFenceOp : AMDG_Op<"schedule_fence", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "`rocdl.sched.barrier` of Triton 3.9: only the named kinds of instructions are moved over it; marks pipeline stages";
  let arguments = (ins StrAttr:$mask);
  let assemblyFormat = "custom<ScheduleMask>($mask) attr-dict";
  let hasVerifier = 1;
}

def Gluon_SetAutoLayoutOp : Op<Gluon_Dialect, "set_auto_layout", [Pure]> {
  let summary = "where a tile whose layout follows from its use gets it";
  let arguments = (ins TT_Tensor:$src);
  let results = (outs TT_Tensor:$result);
  let assemblyFormat = "$src attr-dict `:` type($src) `->` type($result)";
  let hasVerifier = 1;
}

#endif
