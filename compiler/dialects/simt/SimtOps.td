// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The `simt` level: tiles whose types carry a layout, `tensor<64x32xf16, #simt.linear<...>>`, and all that accesses memory,
// exchanges elements among threads or orders them. Work on elements and shapes is that of the tile level.
#ifndef HEDDLE_SIMT_OPS
#define HEDDLE_SIMT_OPS

include "TritonTypes.td"
include "TritonEnums.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/OpBase.td"
include "mlir/IR/TensorEncoding.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Simt_Dialect : Dialect {
  let name = "simt";
  let cppNamespace = "::heddle::simt";
  let summary = "tiles distributed over the registers, lanes and warps of a block";
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
  let hasOperationAttrVerify = 1;
}

def Simt_LinearAttr : AttrDef<Simt_Dialect, "Linear", [DeclareAttrInterfaceMethods<VerifiableTensorEncoding>]> {
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
  let summary = "the same tile in another layout";
  let arguments = (ins TT_Tensor:$src);
  let results = (outs TT_Tensor:$result);
  let assemblyFormat = "$src attr-dict `:` type($src) `->` type($result)";
  let hasVerifier = 1;
}

def Simt_ExtractSliceOp : Simt_Op<"extract_slice", [Pure]> {
  let summary = "a part of a tile, from these coordinates on, out of the registers of the same threads";
  let arguments = (ins TT_Tensor:$source, DenseI64ArrayAttr:$offsets);
  let results = (outs TT_Tensor:$part);
  let assemblyFormat = "$source `` $offsets attr-dict `:` type($source) `->` type($part)";
  let hasVerifier = 1;
}

def Simt_ConcatOp : Simt_Op<"concat", [Pure]> {
  let summary = "a tile made of others, which are its parts in row-major order, in the registers of the same threads";
  let arguments = (ins Variadic<TT_Tensor>:$parts);
  let results = (outs TT_Tensor:$tile);
  let assemblyFormat = "$parts attr-dict `:` type($parts) `->` type($tile)";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// For each register of the tile the number of its part and the register of that; nothing where a thread lacks one.
    std::optional<::llvm::SmallVector<std::pair<int64_t, int64_t>>> registersOfParts();
  }];
}

def Simt_WarpIdOp : Simt_Op<"warp_id", [Pure]> {
  let summary = "the number of this thread's warp in the block";
  let results = (outs I32:$result);
  let assemblyFormat = "attr-dict";
}

include "SimtSharedOps.td"
include "SimtBulkOps.td"

//===-- Global memory: tiles of pointers, or one pointer ---------------------------------------------------------===//

def Simt_GlobalLoadOp : Simt_Op<"load", [AttrSizedOperandSegments, DeclareOpInterfaceMethods<MemoryEffectsOpInterface>,
                                TT_TypeFollows<"pointer", "mask", "::heddle::triton::maskTypeOf($_self)">,
                                TT_TypeFollows<"pointer", "other", "::heddle::triton::valueTypeOf($_self)">,
                                TT_TypeFollows<"pointer", "result", "::heddle::triton::valueTypeOf($_self)">]> {
  let summary = "reads global memory; an element whose mask is false is not accessed and is `other`, or anything";
  let description = [{
    A thread reads `elements` registers with one instruction: they are contiguous along `axis`, and their mask is the
    same. A volatile load reads memory each time, an invariant one what is not written while the kernel runs.
  }];
  let arguments = (ins TT_PtrLike:$pointer, Optional<TT_BoolLike>:$mask, Optional<TT_Type>:$other,
                       DefaultValuedAttr<I64Attr, "1">:$elements, DefaultValuedAttr<I64Attr, "0">:$axis,
                       DefaultValuedAttr<TT_CacheModifier, "::heddle::triton::CacheModifier::None">:$cache,
                       DefaultValuedAttr<TT_EvictionPolicy, "::heddle::triton::EvictionPolicy::Normal">:$evict,
                       UnitAttr:$isVolatile, UnitAttr:$isInvariant);
  let results = (outs TT_Type:$result);
  let assemblyFormat = [{
    $pointer (`if` $mask^)? (`else` $other^)? (`by` $elements^)? (`along` $axis^)? attr-dict `:` type($pointer)
  }];
  let hasVerifier = 1;
}

def Simt_GlobalStoreOp : Simt_Op<"store", [MemoryEffects<[MemWrite]>,
                                 TT_TypeFollows<"pointer", "value", "::heddle::triton::valueTypeOf($_self)">,
                                 TT_TypeFollows<"pointer", "mask", "::heddle::triton::maskTypeOf($_self)">]> {
  let summary = "writes global memory where the mask allows";
  let arguments = (ins TT_PtrLike:$pointer, TT_Type:$value, Optional<TT_BoolLike>:$mask,
                       DefaultValuedAttr<I64Attr, "1">:$elements, DefaultValuedAttr<I64Attr, "0">:$axis,
                       DefaultValuedAttr<TT_CacheModifier, "::heddle::triton::CacheModifier::None">:$cache,
                       DefaultValuedAttr<TT_EvictionPolicy, "::heddle::triton::EvictionPolicy::Normal">:$evict);
  let assemblyFormat = [{
    $pointer `,` $value (`if` $mask^)? (`by` $elements^)? (`along` $axis^)? attr-dict `:` type($pointer)
  }];
  let hasVerifier = 1;
}

def Simt_GlobalUpdateOp : Simt_Op<"atomic_rmw", [MemoryEffects<[MemRead, MemWrite]>,
                                  TT_TypeFollows<"pointer", "value", "::heddle::triton::valueTypeOf($_self)">,
                                  TT_TypeFollows<"pointer", "mask", "::heddle::triton::maskTypeOf($_self)">]> {
  let summary = "reads, combines with a value and writes back as one step; the result, if there is one, is the old value";
  let description = "Contiguous registers are updated by one instruction where the chip can.";
  let arguments = (ins TT_RMWOp:$kind, TT_PtrLike:$pointer, TT_Type:$value, Optional<TT_BoolLike>:$mask,
                       TT_MemSemantic:$sem, TT_MemScope:$scope, DefaultValuedAttr<I64Attr, "1">:$elements,
                       DefaultValuedAttr<I64Attr, "0">:$axis);
  let results = (outs Optional<TT_Type>:$result);
  let assemblyFormat = [{
    $kind `,` $sem `,` $scope `,` $pointer `,` $value (`if` $mask^)? (`by` $elements^)? (`along` $axis^)? attr-dict `:`
    type($pointer) (`->` type($result)^)?
  }];
  let hasVerifier = 1;
}

def Simt_GlobalSwapOp : Simt_Op<"atomic_cas", [MemoryEffects<[MemRead, MemWrite]>,
                                TT_TypeFollows<"pointer", "expected", "::heddle::triton::valueTypeOf($_self)">,
                                TT_TypeFollows<"pointer", "value", "::heddle::triton::valueTypeOf($_self)">,
                                TT_TypeFollows<"pointer", "mask", "::heddle::triton::maskTypeOf($_self)">]> {
  let summary = "writes a value where memory holds the bits of `expected`, as one step; the result, if there is one, is the old value";
  let arguments = (ins TT_PtrLike:$pointer, TT_Type:$expected, TT_Type:$value, Optional<TT_BoolLike>:$mask,
                       TT_MemSemantic:$sem, TT_MemScope:$scope);
  let results = (outs Optional<TT_Type>:$result);
  let assemblyFormat = [{
    $sem `,` $scope `,` $pointer `,` $expected `,` $value (`if` $mask^)? attr-dict `:` type($pointer)
    (`->` type($result)^)?
  }];
  let hasVerifier = 1;
}

def Simt_GlobalAtomicLoadOp : Simt_Op<"atomic_load", [MemoryEffects<[MemRead, MemWrite]>,
                                      TT_TypeFollows<"pointer", "mask", "::heddle::triton::maskTypeOf($_self)">,
                                      TT_TypeFollows<"pointer", "result", "::heddle::triton::valueTypeOf($_self)">]> {
  let summary = "reads global memory atomically; an element whose mask is false is not accessed and is anything";
  let description = "It is neither removed nor merged nor moved.";
  let arguments = (ins TT_PtrLike:$pointer, Optional<TT_BoolLike>:$mask, TT_MemSemantic:$sem, TT_MemScope:$scope);
  let results = (outs TT_Type:$result);
  let assemblyFormat = "$sem `,` $scope `,` $pointer (`if` $mask^)? attr-dict `:` type($pointer)";
  let hasVerifier = 1;
}

def Simt_GlobalAtomicStoreOp : Simt_Op<"atomic_store", [MemoryEffects<[MemRead, MemWrite]>,
                                       TT_TypeFollows<"pointer", "value", "::heddle::triton::valueTypeOf($_self)">,
                                       TT_TypeFollows<"pointer", "mask", "::heddle::triton::maskTypeOf($_self)">]> {
  let summary = "writes global memory atomically where the mask allows";
  let arguments = (ins TT_PtrLike:$pointer, TT_Type:$value, Optional<TT_BoolLike>:$mask, TT_MemSemantic:$sem,
                       TT_MemScope:$scope);
  let assemblyFormat = "$sem `,` $scope `,` $pointer `,` $value (`if` $mask^)? attr-dict `:` type($pointer)";
  let hasVerifier = 1;
}

def Simt_GlobalWaitOp : Simt_Op<"atomic_wait", [MemoryEffects<[MemRead, MemWrite]>,
                                TT_TypeFollows<"pointer", "expected", "::heddle::triton::valueTypeOf($_self)">]> {
  let summary = "waits until global memory holds the expected values; the result, if there is one, is false where `timeout` nanoseconds passed first";
  let description = [{
    Of a tile there is one limit for all elements. Each is looked at once at least, so that a limit of 0 asks whether the
    value is there. All threads of the block wait.
  }];
  let arguments = (ins TT_PtrLike:$pointer, TT_IntLike:$expected, Optional<I64>:$timeout, TT_MemSemantic:$sem,
                       TT_MemScope:$scope);
  let results = (outs Optional<TT_BoolLike>:$result);
  let assemblyFormat = [{
    $sem `,` $scope `,` $pointer `,` $expected (`timeout` $timeout^)? attr-dict `:` type($pointer)
    (`->` type($result)^)?
  }];
  let hasVerifier = 1;
}

//===-- Buffers: a pointer of the block and offsets of 32 bits ---------------------------------------------------===//

def Simt_BufferLoadOp : Simt_Op<"buffer_load", [AttrSizedOperandSegments, MemoryEffects<[MemRead]>]> {
  let summary = "reads a tile at a pointer plus offsets, in elements";
  let description = [{
    What the mask forbids is not read and is `other`, or 0. Offsets are unsigned and less than 2^31 bytes. A thread reads
    `elements` registers with one instruction: their offsets are contiguous, and the mask is the same for all.
  }];
  let arguments = (ins TT_Ptr:$pointer, TT_I32Tensor:$offsets, Optional<TT_I1Tensor>:$mask, Optional<TT_Tensor>:$other,
                       I64Attr:$elements,
                       DefaultValuedAttr<TT_CacheModifier, "::heddle::triton::CacheModifier::None">:$cache);
  let results = (outs TT_Tensor:$result);
  let assemblyFormat = [{
    $pointer `[` $offsets `]` (`if` $mask^ `:` type($mask))? (`else` $other^ `:` type($other))? `by` $elements attr-dict
    `:` qualified(type($pointer)) `,` type($offsets) `->` type($result)
  }];
  let hasVerifier = 1;
}

def Simt_BufferStoreOp : Simt_Op<"buffer_store", [MemoryEffects<[MemWrite]>]> {
  let summary = "writes a tile at a pointer plus offsets, in elements, where the mask allows";
  let arguments = (ins TT_Tensor:$value, TT_Ptr:$pointer, TT_I32Tensor:$offsets, Optional<TT_I1Tensor>:$mask,
                       I64Attr:$elements,
                       DefaultValuedAttr<TT_CacheModifier, "::heddle::triton::CacheModifier::None">:$cache);
  let assemblyFormat = [{
    $value `,` $pointer `[` $offsets `]` (`if` $mask^ `:` type($mask))? `by` $elements attr-dict
    `:` type($value) `,` qualified(type($pointer)) `,` type($offsets)
  }];
  let hasVerifier = 1;
}

def Simt_BufferUpdateOp : Simt_Op<"buffer_atomic_rmw", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "as `simt.atomic_rmw`, at a pointer plus offsets, in elements; masked elements need no branch";
  let description = "For updates that are one instruction of the chip: others are refused when they are lowered.";
  let arguments = (ins TT_Tensor:$value, TT_Ptr:$pointer, TT_I32Tensor:$offsets, Optional<TT_I1Tensor>:$mask,
                       TT_RMWOp:$kind, TT_MemSemantic:$sem, TT_MemScope:$scope);
  let results = (outs Optional<TT_Tensor>:$result);
  let assemblyFormat = [{
    $kind `,` $sem `,` $scope `,` $pointer `[` $offsets `]` `,` $value (`if` $mask^ `:` type($mask))? attr-dict
    `:` qualified(type($pointer)) `,` type($offsets) `,` type($value) (`->` type($result)^)?
  }];
  let hasVerifier = 1;
}

//===-- Matmuls in registers -------------------------------------------------------------------------------------===//

def Simt_MatrixAttr : AttrDef<Simt_Dialect, "Matrix"> {
  let mnemonic = "matrix";
  let summary = "a matrix instruction of one warp: M x N results, K deep; transposed: a lane's results are along N";
  let description = "`as`: the type that elements are converted to before they are multiplied; without it, their own.";
  let parameters = (ins "int64_t":$m, "int64_t":$n, "int64_t":$k, "bool":$transposed,
                        OptionalParameter<"::mlir::Type">:$as);
  let assemblyFormat = "`<` $m `,` $n `,` $k `,` `transposed` `=` $transposed (`,` `as` `=` $as^)? `>`";
}

def Simt_MatrixDotOp : Simt_Op<"dot", [Pure, AllTypesMatch<["c", "d"]>]> {
  let summary = "d = a * b + c, by this instruction with operands in the registers where it reads them, or one by one";
  let description = [{
    With `warp_groups` share-operands replaces it by a warp-group MMA whose operands are in shared memory, and a
    wait for all such MMAs of the thread but the last `pending`.
  }];
  let arguments = (ins TT_Tensor:$a, TT_Tensor:$b, TT_Tensor:$c, OptionalAttr<Simt_MatrixAttr>:$instruction,
                       DefaultValuedAttr<TT_InputPrecision, "::heddle::triton::InputPrecision::IEEE">:$precision,
                       UnitAttr:$warpGroups, DefaultValuedAttr<I64Attr, "0">:$pending);
  let results = (outs TT_Tensor:$d);
  let assemblyFormat = [{
    $a `,` $b `,` $c (`by` $instruction^)? (`warp_groups` $warpGroups^)? (`pending` $pending^)? attr-dict
    `:` type($a) `*` type($b) `->` type($c)
  }];
  let hasVerifier = 1;
}

def Simt_ScaledDotOp : Simt_Op<"dot_scaled", [Pure, AttrSizedOperandSegments, AllTypesMatch<["c", "d"]>]> {
  let summary = "d = (a * scales of a) * (b * scales of b) + c, by this instruction, each with 32 elements along K to a scale";
  let description = [{
    Elements are of formats of OCP Microscaling (MX) 1.0; two e2m1 share a byte, along K, the lower half first. Scales
    are powers of two (E8M0), [M, K / 32] of a and [N, K / 32] of b; without them they are 1. Operands and scales lie in
    the registers where the instruction reads them: a lane has 16 bytes of a row of a, or of a column of b, and the scale
    of one block of 32.
  }];
  let arguments = (ins TT_Tensor:$a, TT_Tensor:$b, TT_Tensor:$c, Optional<TT_Tensor>:$a_scale,
                       Optional<TT_Tensor>:$b_scale, TT_ScaleDotElemType:$a_format, TT_ScaleDotElemType:$b_format,
                       Simt_MatrixAttr:$instruction);
  let results = (outs TT_Tensor:$d);
  let assemblyFormat = [{
    $a `as` $a_format (`scale` $a_scale^)? `,` $b `as` $b_format (`scale` $b_scale^)? `,` $c `by` $instruction attr-dict
    `:` type($a) (`,` type($a_scale)^)? `*` type($b) (`,` type($b_scale)^)? `->` type($c)
  }];
  let hasVerifier = 1;
}

def Simt_DotScratchOp : Simt_Op<"dot_scratch", [MemoryEffects<[MemRead]>, AllTypesMatch<["c", "d"]>]> {
  let summary = "d = a * b + c with a and b, or parts of them along K, in shared memory, element by element";
  let description = "Both lie row-major, as one part of the tile at a time. Each thread computes its elements of d.";
  let arguments = (ins Simt_SharedType:$a, Simt_SharedType:$b, TT_Tensor:$c);
  let results = (outs TT_Tensor:$d);
  let assemblyFormat = [{
    $a `,` $b `,` $c attr-dict `:` qualified(type($a)) `,` qualified(type($b)) `->` type($c)
  }];
  let hasVerifier = 1;
}

//===-- Reductions, scans and other exchanges --------------------------------------------------------------------===//

def Simt_YieldOp : Simt_Op<"yield", [Pure, Terminator, ReturnLike,
                           ParentOneOf<["TileReduceOp", "ReduceWarpsOp", "TileScanOp", "ScanWarpsOp", "JoinScanOp",
                                        "StageOp"]>]> {
  let summary = "the values that a region leaves";
  let arguments = (ins Variadic<AnyType>:$values);
  let builders = [OpBuilder<(ins), [{ build($_builder, $_state, ::mlir::ValueRange()); }]>];
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
}

class Simt_Combine<string mnemonic, list<Trait> traits>
    : Simt_Op<mnemonic, !listconcat(traits, [Pure, SingleBlock, RecursiveMemoryEffects])> {
  let regions = (region SizedRegion<1>:$combine);
  let hasVerifier = 1;
}

def Simt_TileReduceOp : Simt_Combine<"reduce", []> {
  let summary = "combines the elements along an axis by an associative and commutative region";
  let description = [{
    Each thread its registers, then the lanes of a warp. Where warps share the axis, lower-reductions makes a
    `simt.reduce_warps`, an exchange and a reduction within each thread of it.
  }];
  let arguments = (ins Variadic<TT_Tensor>:$sources, I64Attr:$axis);
  let results = (outs Variadic<TT_Type>:$totals);
  let assemblyFormat = "$sources `along` $axis attr-dict `:` type($sources) `->` type($totals) $combine";
}

def Simt_ReduceWarpsOp : Simt_Combine<"reduce_warps", []> {
  let summary = "the part of a reduction along an axis that each warp does by itself";
  let description = [{
    The axis of the results has an element for each warp along it. Lanes along the axis have the same elements, or
    shares of them, as the layout of the results says.
  }];
  let arguments = (ins Variadic<TT_Tensor>:$sources, I64Attr:$axis);
  let results = (outs Variadic<TT_Tensor>:$totals);
  let assemblyFormat = "$sources `along` $axis attr-dict `:` type($sources) `->` type($totals) $combine";
}

def Simt_TileScanOp : Simt_Combine<"scan", []> {
  let summary = "the elements up to each one along an axis, itself too, combined by an associative region";
  let description = [{
    With `reverse` from each one on. Positions along the axis count registers first, lanes next, warps last. Where warps
    share the axis, lower-reductions makes a `simt.scan_warps`, an exchange and a `simt.join_scan` of it.
  }];
  let arguments = (ins Variadic<TT_Tensor>:$sources, I64Attr:$axis, UnitAttr:$reverse);
  let results = (outs Variadic<TT_Tensor>:$scanned);
  let assemblyFormat = [{
    $sources `along` $axis (`reverse` $reverse^)? attr-dict `:` type($sources) `->` type($scanned) $combine
  }];
}

def Simt_ScanWarpsOp : Simt_Combine<"scan_warps", [AttrSizedResultSegments]> {
  let summary = "the part of a scan along an axis that each warp does by itself";
  let description = [{
    `scanned`: of each thread, over its own registers. `before`: what the lanes before it in its warp have, an element
    for each thread along the axis; the first lane has none, and anything in its place. None where a warp has one thread
    along the axis. `totals`: an element for each warp along the axis. `simt.join_scan` makes the scan of them.
  }];
  let arguments = (ins Variadic<TT_Tensor>:$sources, I64Attr:$axis, UnitAttr:$reverse);
  let results = (outs Variadic<TT_Tensor>:$scanned, Variadic<TT_Tensor>:$before, Variadic<TT_Tensor>:$totals);
  let assemblyFormat = [{
    $sources `along` $axis (`reverse` $reverse^)? attr-dict `:` type($sources) `->` type($scanned)
    (`before` type($before)^)? `totals` type($totals) $combine
  }];
}

def Simt_JoinScanOp : Simt_Combine<"join_scan", [AttrSizedOperandSegments]> {
  let summary = "a scan of what `simt.scan_warps` made, with the totals of all warps in each thread";
  let arguments = (ins Variadic<TT_Tensor>:$scanned, Variadic<TT_Tensor>:$before, Variadic<TT_Tensor>:$totals,
                       I64Attr:$axis, UnitAttr:$reverse);
  let results = (outs Variadic<TT_Tensor>:$result);
  let assemblyFormat = [{
    $scanned (`before` $before^)? `totals` $totals `along` $axis (`reverse` $reverse^)? attr-dict `:` type($scanned)
    (`before` type($before)^)? `totals` type($totals) `->` type($result) $combine
  }];
}

def Simt_TileHistogramOp : Simt_Op<"histogram", [Pure, TT_TypeFollows<"source", "mask",
                                                                      "::heddle::triton::maskTypeOf($_self)">]> {
  let summary = "how often each value from 0 on occurs among the elements that the mask allows";
  let description = "lower-exchanges makes memory that all threads update of it.";
  let arguments = (ins TT_IntTensor:$source, Optional<TT_I1Tensor>:$mask);
  let results = (outs TT_IntTensor:$counts);
  let assemblyFormat = "$source (`if` $mask^)? attr-dict `:` type($source) `->` type($counts)";
  let hasVerifier = 1;
}

def Simt_TileGatherOp : Simt_Op<"gather", [Pure]> {
  let summary = "the elements of a tile at these indices along an axis";
  let description = "lower-exchanges lets the tile go through memory.";
  let arguments = (ins TT_Tensor:$source, TT_IntTensor:$indices, I64Attr:$axis);
  let results = (outs TT_Tensor:$result);
  let assemblyFormat = [{
    $source `[` $indices `]` `along` $axis attr-dict `:` type($source) `,` type($indices) `->` type($result)
  }];
  let hasVerifier = 1;
}

//===-- Pipeline stages ------------------------------------------------------------------------------------------===//

def Simt_StageOp : Simt_Op<"stage", [SingleBlockImplicitTerminator<"YieldOp">, MemoryEffects<[MemRead, MemWrite]>,
                           DeclareOpInterfaceMethods<RegionBranchOpInterface>]> {
  let summary = "a stage of a warp pipeline: what one group of warps does while another is in the stage before or after";
  let description = [{
    The label names it in messages. `priority`, 0 to 3, is that of its instructions over those of the other group.
    pipeline-warps puts a barrier between stages and shifts one half of the warps by one stage. A wait may stand between two
    stages, and one barrier, which then is the one of that place.
  }];
  let arguments = (ins StrAttr:$label, OptionalAttr<I64Attr>:$priority);
  let results = (outs Variadic<AnyType>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$label (`priority` $priority^)? (`->` type($results)^)? attr-dict-with-keyword $body";
  let hasVerifier = 1;
}

def Simt_ShiftWarpsOp : Simt_Op<"shift_warps", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "the upper half of the block's warps waits at a barrier: from here on the lower half is one barrier ahead of it";
  let description = [{
    It begins a warp pipeline. `simt.align_warps` follows in the same block, and between the two all warps execute the same
    barriers. An access is ordered with one after it where a barrier follows it that orders accesses, and after that
    another one.
  }];
  let assemblyFormat = "attr-dict";
  let hasVerifier = 1;
}

def Simt_AlignWarpsOp : Simt_Op<"align_warps", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "the lower half of the block's warps waits at a barrier: from here on all warps have executed as many again";
  let description = "It ends what `simt.shift_warps` began in the same block.";
  let assemblyFormat = "attr-dict";
  let hasVerifier = 1;
}

def Simt_ScheduleBarrierOp : Simt_Op<"schedule_barrier", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "over which LLVM's instruction scheduler moves only instructions of these kinds";
  let description = [{
    It orders no memory. `kinds` is the mask of `llvm.amdgcn.sched.barrier`; 0: nothing is moved. AMD's chips only.
  }];
  let arguments = (ins I64Attr:$kinds);
  let assemblyFormat = "$kinds attr-dict";
  let hasVerifier = 1;
}

def Simt_SetPriorityOp : Simt_Op<"set_priority", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "from here on the hardware issues this warp's instructions with this priority, 0 to 3, over those of other warps; 0 at first";
  let description = "AMD's chips only.";
  let arguments = (ins I64Attr:$priority);
  let assemblyFormat = "$priority attr-dict";
  let hasVerifier = 1;
}

//===-- Reports --------------------------------------------------------------------------------------------------===//

def Simt_PrintRoomOp : Simt_Op<"print_room", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "takes room for one printed operand in the launch's record: where it begins, in bytes";
  let arguments = (ins I64Attr:$lines, I64Attr:$bytes);
  let results = (outs I64:$place);
  let assemblyFormat = "$lines `lines` `,` $bytes `bytes` attr-dict";
}

def Simt_PrintOp : Simt_Op<"print", [AttrSizedOperandSegments, MemoryEffects<[MemWrite]>]> {
  let summary = "prints values, each to its place in the launch's record";
  let description = "A text without values has one place.";
  let arguments = (ins StrAttr:$prefix, UnitAttr:$hex, Variadic<TT_Type>:$values, Variadic<I64>:$places,
                       DenseI32ArrayAttr:$isSigned);
  let assemblyFormat = "$prefix (`hex` $hex^)? `at` $places attr-dict (`:` $values^ `:` type($values))?";
  let hasVerifier = 1;
}

//===-- Matmuls of warp groups -----------------------------------------------------------------------------------===//

def Simt_DotSharedOp : Simt_Op<"dot_shared", [MemoryEffects<[MemRead]>, AllTypesMatch<["c", "d"]>, AttrSizedOperandSegments]> {
  let summary = "begins d = a * b + c with b, and a or not, in shared memory, by warp-group MMA";
  let description = [{
    The ring of an operand marked `transposed` holds its transpose. Until a `dot_wait` the result must not be used, nor
    the operands be written. A barrier of all threads stands between the writes of the operands and this operation. `a`
    may be a tile in registers, in the layout `layout::wgmmaOperand`; it has no number then. With `if` c is added where the
    bit is set, which is so in all threads or in none.
  }];
  let arguments = (ins AnyTypeOf<[Simt_SharedType, TT_Tensor]>:$a, Optional<I32>:$aStage, Simt_SharedType:$b,
                       I32:$bStage, TT_Tensor:$c, UnitAttr:$aTransposed, UnitAttr:$bTransposed,
                       Optional<I1>:$adds);
  let results = (outs TT_Tensor:$d);
  let builders = [OpBuilder<(ins "::mlir::Type":$d, "::mlir::Value":$a, "::mlir::Value":$aStage, "::mlir::Value":$b,
                                 "::mlir::Value":$bStage, "::mlir::Value":$c, "bool":$aTransposed, "bool":$bTransposed), [{
    build($_builder, $_state, d, a, aStage, b, bStage, c, aTransposed, bTransposed, ::mlir::Value());
  }]>];
  let assemblyFormat = [{
    $a (`[` $aStage^ `]`)? (`transposed` $aTransposed^)? `,` $b `[` $bStage `]` (`transposed` $bTransposed^)? `,` $c
    (`if` $adds^)? attr-dict `:` qualified(type($a)) `,` qualified(type($b)) `->` type($c)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = "bool hasAInRegisters() { return !::llvm::isa<SharedType>(getA().getType()); }";
}

def Simt_DotWaitOp : Simt_Op<"dot_wait", [MemoryEffects<[MemRead, MemWrite]>, AllTypesMatch<["started", "d"]>]> {
  let summary = "waits for the warp-group MMAs that this thread began, but for the last `pending` of them";
  let description = [{
    While the MMA that it waits for may be pending, the result goes nowhere but into the sum of the next one, or to
    another wait. It is not pending if at least `pending` others begin between it and this wait, in the same block.
  }];
  let arguments = (ins TT_Tensor:$started, DefaultValuedAttr<I64Attr, "0">:$pending);
  let results = (outs TT_Tensor:$d);
  let assemblyFormat = "$started (`pending` $pending^)? attr-dict `:` type($started)";
  let hasVerifier = 1;
}

#endif
