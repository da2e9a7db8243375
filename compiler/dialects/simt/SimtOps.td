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

//===-- Shared memory --------------------------------------------------------------------------------------------===//

def Simt_SharedType : TypeDef<Simt_Dialect, "Shared"> {
  let mnemonic = "shared";
  let summary = "a memory object in the shared memory of a block: a ring of tiles, or a view of one";
  let description = [{
    `!simt.shared<3 * 64x32xf16, offset = [[0, 1], [0, 2], ...]>`: three tiles, one after the other. The layout says for
    each bit of an offset within a tile, in elements, which coordinates it adds. A view of a part says of which tile the
    layout is, `of = [64, 128]`. With `pad = [512:16]` there are 16 unused elements after each 512, counted over all
    tiles of the ring: the element at offset o lies at o + o / 512 * 16. With `part = [[8, 0], [16, 0]]` the memory has
    room for a part of the tile at a time, here a quarter: bits of the part's number add these coordinates.
  }];
  let parameters = (ins "int64_t":$stages, ArrayRefParameter<"int64_t">:$shape, "::mlir::Type":$elementType,
                        TypeParameter<"::heddle::layout::LinearLayout", "offset -> coordinates",
                                      "const ::heddle::layout::LinearLayout &">:$layout,
                        ArrayRefParameter<"int64_t">:$intervals, ArrayRefParameter<"int64_t">:$paddings);
  let builders = [TypeBuilder<(ins "int64_t":$stages, "::llvm::ArrayRef<int64_t>":$shape, "::mlir::Type":$elementType,
                                   "const ::heddle::layout::LinearLayout &":$layout), [{
    return $_get($_ctxt, stages, shape, elementType, layout, ::llvm::ArrayRef<int64_t>(), ::llvm::ArrayRef<int64_t>());
  }]>];
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    int64_t getTileElements() const;  ///< of the tile that the layout is of, or of a part
    int64_t getParts() const;         ///< in how many parts the tile goes through this memory, one after the other
    int64_t getTileBytes() const;     ///< without padding; i1 takes a byte
    int64_t getBytes() const;         ///< of all tiles, with padding
    int64_t getElementBytes() const;
    bool isPadded() const { return !getIntervals().empty(); }
    /// `offset` elements with the padding before them.
    int64_t padded(int64_t offset) const;
    /// Coordinates of the layout's tile -> offset.
    ::heddle::layout::LinearLayout placeOf() const;
    /// (register, lane, warp) -> (offset, part) of a tile with this layout, which may be a part of the layout's tile.
    ::heddle::layout::LinearLayout offsetsOf(const ::heddle::layout::LinearLayout &registers) const;
  }];
}

def Simt_AllocOp : Simt_Op<"alloc", [MemoryEffects<[MemAlloc]>]> {
  let summary = "memory for a ring of tiles, from here to the last use in this block";
  let description = [{
    place-shared-memory says at which byte of the block's shared memory it begins. Rings that are not alive at the same
    time may share their bytes: between the last access to one and the first to the other is a barrier. `scratch` is
    memory for one exchange among the threads; it is placed where few barriers are needed. Objects with the same number
    `common` are the same memory, which the partitions of a kernel share; it is theirs until the kernel ends.
  }];
  let arguments = (ins OptionalAttr<I64Attr>:$start, UnitAttr:$scratch, OptionalAttr<I64Attr>:$common);
  let results = (outs Simt_SharedType:$ring);
  let builders = [OpBuilder<(ins "::heddle::simt::SharedType":$ring, CArg<"bool", "false">:$scratch), [{
    build($_builder, $_state, ring, ::mlir::IntegerAttr(), scratch ? $_builder.getUnitAttr() : ::mlir::UnitAttr(),
          ::mlir::IntegerAttr());
  }]>];
  let assemblyFormat = "(`scratch` $scratch^)? (`common` $common^)? (`at` $start^)? attr-dict `:` qualified(type($ring))";
  let hasVerifier = 1;
}

def Simt_IndexOp : Simt_Op<"index", [Pure]> {
  let summary = "a tile of a ring";
  let description = "`stage` is at least 0 and less than the number of tiles. Of constants that is checked when a text is read.";
  let arguments = (ins Simt_SharedType:$ring, I32:$stage);
  let results = (outs Simt_SharedType:$tile);
  let assemblyFormat = "$ring `[` $stage `]` attr-dict `:` qualified(type($ring)) `->` qualified(type($tile))";
  let hasVerifier = 1;
}

def Simt_SubsliceOp : Simt_Op<"subslice", [Pure]> {
  let summary = "a part of a tile, from these coordinates on";
  let arguments = (ins Simt_SharedType:$source, DenseI64ArrayAttr:$offsets);
  let results = (outs Simt_SharedType:$part);
  let assemblyFormat = "$source `` $offsets attr-dict `:` qualified(type($source)) `->` qualified(type($part))";
  let extraClassDeclaration = [{
    /// Of the part's first element in the source, before padding; those of its elements are xor'ed with it.
    int64_t elementOffset();
  }];
  let hasVerifier = 1;
}

def Simt_ViewOp : Simt_Op<"view", [Pure]> {
  let summary = "the same bytes with another layout, shape or type of elements";
  let description = [{
    Transposed tiles, tiles of another shape and bytes read as another type. Where elements change their size neither
    side is padded, and the source is no part of a tile.
  }];
  let arguments = (ins Simt_SharedType:$source);
  let results = (outs Simt_SharedType:$result);
  let assemblyFormat = "$source attr-dict `:` qualified(type($source)) `->` qualified(type($result))";
  let hasVerifier = 1;
}

def Simt_StoreSharedOp : Simt_Op<"store_shared", [MemoryEffects<[MemWrite]>]> {
  let summary = "writes a tile, or a part of it, to a memory object, or to a stage of it";
  let description = "Of the threads and registers that hold an element the first one writes it.";
  let arguments = (ins TT_Tensor:$tile, Simt_SharedType:$ring, Optional<I32>:$stage,
                       DefaultValuedAttr<I64Attr, "0">:$part);
  let assemblyFormat = [{
    $tile `,` $ring (`[` $stage^ `]`)? (`part` $part^)? attr-dict `:` type($tile) `,` qualified(type($ring))
  }];
  let hasVerifier = 1;
}

def Simt_LoadSharedOp : Simt_Op<"load_shared", [AttrSizedOperandSegments, MemoryEffects<[MemRead]>,
                                       TT_TypeFollows<"tile", "rest", "$_self">]> {
  let summary = "reads a tile, or a part of it, from a memory object, or from a stage of it";
  let description = "Where a part is read, the rest of the result is `rest`, or anything.";
  let arguments = (ins Simt_SharedType:$ring, Optional<I32>:$stage, Optional<TT_Tensor>:$rest,
                       DefaultValuedAttr<I64Attr, "0">:$part);
  let results = (outs TT_Tensor:$tile);
  let assemblyFormat = [{
    $ring (`[` $stage^ `]`)? (`part` $part^)? (`rest` $rest^)? attr-dict `:` qualified(type($ring)) `->` type($tile)
  }];
  let hasVerifier = 1;
}

def Simt_LoadRepackedOp : Simt_Op<"load_repacked", [MemoryEffects<[MemRead]>]> {
  let summary = "reads 4-bit elements that a memory object packs along one axis and the result along another";
  let description = [{
    Two 4-bit elements are in a byte, the one of the lower coordinate in its low bits. The result has twice as many bytes along
    the axis along which the memory object packs them, and half as many along the other.
  }];
  let arguments = (ins Simt_SharedType:$ring);
  let results = (outs TT_Tensor:$tile);
  let assemblyFormat = "$ring attr-dict `:` qualified(type($ring)) `->` type($tile)";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Along which the memory object packs elements, and along which the result does.
    std::pair<int64_t, int64_t> getAxes();
  }];
}

class Simt_Indexed<string mnemonic, list<Trait> traits> : Simt_Op<mnemonic, traits> {
  let description = [{
    The element of a tile at coordinates x is the one of the memory object at x with the index of x in place of x[axis].
    Indices are at least 0 and less than the size of the axis: nothing checks it.
  }];
  let hasVerifier = 1;
}

def Simt_GatherSharedOp : Simt_Indexed<"gather_shared", [MemoryEffects<[MemRead]>]> {
  let summary = "reads elements of a memory object by an index along one axis";
  let arguments = (ins Simt_SharedType:$ring, TT_IntTensor:$indices, I64Attr:$axis);
  let results = (outs TT_Tensor:$tile);
  let assemblyFormat = [{
    $ring `[` $indices `]` `along` $axis attr-dict `:` qualified(type($ring)) `,` type($indices) `->` type($tile)
  }];
}

def Simt_ScatterSharedOp : Simt_Indexed<"scatter_shared", [MemoryEffects<[MemWrite]>]> {
  let summary = "writes elements of a memory object by an index along one axis";
  let arguments = (ins TT_Tensor:$tile, Simt_SharedType:$ring, TT_IntTensor:$indices, I64Attr:$axis);
  let assemblyFormat = [{
    $tile `,` $ring `[` $indices `]` `along` $axis attr-dict
    `:` type($tile) `,` qualified(type($ring)) `,` type($indices)
  }];
}

def Simt_UpdateSharedOp : Simt_Indexed<"update_shared", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "atomic updates, without order, of elements of a memory object by an index along one axis";
  let arguments = (ins TT_RMWOp:$kind, TT_Tensor:$tile, Simt_SharedType:$ring, TT_IntTensor:$indices,
                       Optional<TT_I1Tensor>:$mask, I64Attr:$axis);
  let results = (outs Optional<TT_Tensor>:$old);
  let assemblyFormat = [{
    $kind `,` $tile `,` $ring `[` $indices `]` (`if` $mask^ `:` type($mask))? `along` $axis attr-dict
    `:` type($tile) `,` qualified(type($ring)) `,` type($indices) (`->` type($old)^)?
  }];
}

def Simt_AsyncCopyOp : Simt_Op<"async_copy", [AttrSizedOperandSegments, MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "begins to copy a tile from global memory to a stage of a ring";
  let description = [{
    A thread copies `elements` contiguous elements at once: contiguous in its registers of addresses, in global and in
    shared memory; the mask is the same for all of them. What it forbids is not read and becomes zero, or with `keeps`
    stays what it is. The tile is there for the thread that copied it after an `async_wait` for its group, and for other
    threads after a barrier that follows. On AMD a warp copies to contiguous bytes of shared memory (LDS) by one
    instruction (docs/gfx9.md).
  }];
  let arguments = (ins TT_PtrTensor:$pointers, Simt_SharedType:$ring, Optional<I32>:$stage,
                       Optional<TT_I1Tensor>:$mask, I64Attr:$elements, UnitAttr:$keeps,
                       DefaultValuedAttr<TT_CacheModifier, "::heddle::triton::CacheModifier::None">:$cache);
  let builders = [OpBuilder<(ins "::mlir::Value":$pointers, "::mlir::Value":$ring, "::mlir::Value":$stage,
                                 "::mlir::Value":$mask, "uint64_t":$elements), [{
    build($_builder, $_state, pointers, ring, stage, mask, elements, /*keeps=*/false);
  }]>];
  let assemblyFormat = [{
    $pointers `to` $ring (`[` $stage^ `]`)? (`if` $mask^ `:` type($mask))? (`keeps` $keeps^)? `by` $elements attr-dict
    `:` type($pointers) `,` qualified(type($ring))
  }];
  let hasVerifier = 1;
}

def Simt_AsyncBufferCopyOp : Simt_Op<"async_buffer_copy", [AttrSizedOperandSegments,
                                     MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "begins to copy a tile at a pointer plus offsets, in elements, to a memory object";
  let description = "As `simt.async_copy`, of what `simt.buffer_load` reads; the mask is the same for `elements` contiguous ones.";
  let arguments = (ins TT_Ptr:$pointer, TT_I32Tensor:$offsets, Simt_SharedType:$ring, Optional<I32>:$stage,
                       Optional<TT_I1Tensor>:$mask, I64Attr:$elements,
                       DefaultValuedAttr<TT_CacheModifier, "::heddle::triton::CacheModifier::None">:$cache);
  let assemblyFormat = [{
    $pointer `[` $offsets `]` `to` $ring (`[` $stage^ `]`)? (`if` $mask^ `:` type($mask))? `by` $elements attr-dict
    `:` qualified(type($pointer)) `,` type($offsets) `,` qualified(type($ring))
  }];
  let hasVerifier = 1;
}

def Simt_AsyncCommitOp : Simt_Op<"async_commit", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "makes a group of the copies that this thread began since the last group";
  let assemblyFormat = "attr-dict";
}

def Simt_AsyncWaitOp : Simt_Op<"async_wait", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "waits until at most so many groups of this thread, the youngest, are in flight";
  let description = [{
    With `instructions` it waits until at most so many instructions of copies are in flight; count-waits says for groups
    how many that are, on chips that count instructions.
  }];
  let arguments = (ins I64Attr:$pending, OptionalAttr<I64Attr>:$instructions);
  let builders = [OpBuilder<(ins "uint64_t":$pending), [{
    build($_builder, $_state, $_builder.getI64IntegerAttr(int64_t(pending)), ::mlir::IntegerAttr());
  }]>];
  let assemblyFormat = "$pending (`instructions` $instructions^)? attr-dict";
  let hasVerifier = 1;
}

def Simt_BarrierOp : Simt_Op<"barrier", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "all threads of the block wait for each other and see each other's accesses to memory";
  let description = [{
    With `warp` those of each warp do, and see each other's accesses to shared memory. With `warp copies`, copies straight to
    shared memory that follow are also ordered after those accesses: on AMD this takes a wait for the LDS operations before it. With `shared` all
    threads of the block do, and see each other's accesses to shared memory alone: copies in flight stay in flight. With
    `bare` they wait for each other and nothing else: it orders no accesses, and keeps the groups of a warp pipeline a stage apart.
  }];
  let arguments = (ins UnitAttr:$warp, UnitAttr:$copies, UnitAttr:$shared, UnitAttr:$bare);
  let builders = [OpBuilder<(ins), [{
    build($_builder, $_state, /*warp=*/false, /*copies=*/false, /*shared=*/false, /*bare=*/false);
  }]>];
  let assemblyFormat = "(`warp` $warp^)? (`copies` $copies^)? (`shared` $shared^)? (`bare` $bare^)? attr-dict";
  let hasVerifier = 1;
}

class Simt_ArrivalsOp<string mnemonic> : Simt_Op<mnemonic, [MemoryEffects<[MemRead, MemWrite]>]> {
  let hasVerifier = 1;
}

def Simt_InitArrivalsOp : Simt_ArrivalsOp<"init_arrivals"> {
  let summary = "makes barrier objects of the stages of a ring: each phase ends when so many have arrived";
  let description = [{
    A barrier object (NVIDIA's mbarrier) counts arrivals in phases; it lets threads arrive at one place and wait at another.
    One thread of the block writes the objects, so a barrier of the block stands between this and their use.
  }];
  let arguments = (ins Simt_SharedType:$objects, I64Attr:$arrivals);
  let assemblyFormat = "$objects `,` $arrivals attr-dict `:` qualified(type($objects))";
}

def Simt_ArriveOp : Simt_ArrivalsOp<"arrive"> {
  let summary = "this warp arrives at a barrier object: once, after all that its lanes accessed in shared memory before";
  let description = [{
    With `copies` each thread arrives, when the copies to shared memory that it began before have landed; it does not wait for that.
    With `increments` the phase expects one arrival more for each, so that its count is of other arrivals.
  }];
  let arguments = (ins Simt_SharedType:$objects, I32:$stage, UnitAttr:$copies, UnitAttr:$increments);
  let builders = [OpBuilder<(ins "::mlir::Value":$objects, "::mlir::Value":$stage, "bool":$copies), [{
    build($_builder, $_state, objects, stage, copies, /*increments=*/false);
  }]>];
  let assemblyFormat = "$objects `[` $stage `]` (`copies` $copies^)? (`increments` $increments^)? attr-dict `:` qualified(type($objects))";
}

def Simt_WaitArrivalsOp : Simt_ArrivalsOp<"wait_arrivals"> {
  let summary = "waits until the phase of this parity has ended, and sees what was accessed before the arrivals in it";
  let description = "The first phase of an object has parity 0, the next one 1, then 0 again. With `if` it waits where the bit is set.";
  let arguments = (ins Simt_SharedType:$objects, I32:$stage, I32:$parity, Optional<I1>:$condition);
  let builders = [OpBuilder<(ins "::mlir::Value":$objects, "::mlir::Value":$stage, "::mlir::Value":$parity), [{
    build($_builder, $_state, objects, stage, parity, ::mlir::Value());
  }]>];
  let assemblyFormat = "$objects `[` $stage `]` `parity` $parity (`if` $condition^)? attr-dict `:` qualified(type($objects))";
}

def Simt_ArriveOnceOp : Simt_ArrivalsOp<"arrive_once"> {
  let summary = "one thread of the block arrives at a barrier object, `count` times";
  let description = "What other threads accessed before is ordered by a barrier before it. `if`: where the bit is set, which is so in all threads or in none.";
  let arguments = (ins Simt_SharedType:$objects, I32:$stage, I64Attr:$count, Optional<I1>:$condition);
  let assemblyFormat = "$objects `[` $stage `]` `count` $count (`if` $condition^)? attr-dict `:` qualified(type($objects))";
}

def Simt_ExpectBytesOp : Simt_ArrivalsOp<"expect_bytes"> {
  let summary = "one thread of the block arrives at a barrier object, whose phase then waits for so many bytes of bulk copies too";
  let arguments = (ins Simt_SharedType:$objects, I32:$stage, I64Attr:$bytes, Optional<I1>:$condition);
  let assemblyFormat = "$objects `[` $stage `]` `bytes` $bytes (`if` $condition^)? attr-dict `:` qualified(type($objects))";
}

def Simt_EndArrivalsOp : Simt_ArrivalsOp<"end_arrivals"> {
  let summary = "the end of barrier objects, whose memory may then hold something else";
  let arguments = (ins Simt_SharedType:$objects);
  let assemblyFormat = "$objects attr-dict `:` qualified(type($objects))";
}

//===-- Bulk copies of tensors -----------------------------------------------------------------------------------===//

def Simt_TensorMapType : TypeDef<Simt_Dialect, "TensorMap"> {
  let mnemonic = "tensor_map";
  let summary = "a tensor in global memory as bulk copies know it (NVIDIA's tensor map), with the block that they move at once";
  let parameters = (ins ArrayRefParameter<"int64_t">:$shape, "::mlir::Type":$elementType, "int64_t":$swizzle);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

def Simt_TensorMapOp : Simt_Op<"tensor_map", [Pure, AttrSizedOperandSegments]> {
  let summary = "the tensor at `base` of these sizes and strides, in elements, the last of which is 1";
  let description = [{
    All three are arguments of the kernel: the launch makes the map. Its type has the block of a copy and over how many bytes
    shared memory swizzles the rows; a copy reads zeros outside of the tensor; it writes nothing there.
  }];
  let arguments = (ins TT_Ptr:$base, Variadic<I32>:$sizes, Variadic<I64>:$strides);
  let results = (outs Simt_TensorMapType:$map);
  let assemblyFormat = "$base `[` $sizes `]` `strides` `[` $strides `]` attr-dict `:` qualified(type($base)) `->` qualified(type($map))";
  let hasVerifier = 1;
}

def Simt_BulkLoadOp : Simt_Op<"bulk_load", [MemoryEffects<[MemRead, MemWrite]>, AttrSizedOperandSegments]> {
  let summary = "one thread of the block begins to copy a block of a tensor to a memory object; its bytes arrive at a barrier object";
  let description = [{
    The bytes count for `simt.expect_bytes`, and threads that wait for the phase see them. Barriers order accesses to the memory object before it.
  }];
  let arguments = (ins Simt_TensorMapType:$map, Variadic<I32>:$place, Simt_SharedType:$memory,
                       Simt_SharedType:$objects, Optional<I1>:$condition);
  let assemblyFormat = [{
    $map `[` $place `]` `to` $memory `,` $objects (`if` $condition^)? attr-dict
    `:` qualified(type($map)) `,` qualified(type($memory)) `,` qualified(type($objects))
  }];
  let hasVerifier = 1;
}

def Simt_BulkStoreOp : Simt_Op<"bulk_store", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "one thread of the block begins to copy a memory object to a block of a tensor, or to update it by relaxed atomic operations";
  let description = [{
    It is a group of its own for `simt.bulk_wait`. Stores to the memory object before it are seen; those after it come after a wait and a barrier.
  }];
  let arguments = (ins Simt_TensorMapType:$map, Variadic<I32>:$place, Simt_SharedType:$memory,
                       OptionalAttr<TT_DescriptorReduceKind>:$kind);
  let assemblyFormat = [{
    ($kind^ `,`)? $memory `to` $map `[` $place `]` attr-dict `:` qualified(type($memory)) `,` qualified(type($map))
  }];
  let hasVerifier = 1;
}

def Simt_BulkWaitOp : Simt_Op<"bulk_wait", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "waits until at most so many of the thread's bulk stores are in flight, or with `reads` still read shared memory";
  let arguments = (ins I64Attr:$pending, UnitAttr:$reads);
  let assemblyFormat = "$pending (`reads` $reads^)? attr-dict";
  let hasVerifier = 1;
}

def Simt_FenceAsyncOp : Simt_Op<"fence_async", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "what this thread wrote to shared memory before it is seen by bulk copies and warp-group MMAs after a barrier";
  let assemblyFormat = "attr-dict";
}

//===-- Partitions -----------------------------------------------------------------------------------------------===//

def Simt_StartPartitionsOp : Simt_Op<"start_partitions", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "further warps of the block begin to execute these functions; all warps see what was accessed before";
  let description = [{
    A partition is a private `tt.func` with the kernel's arguments, and attributes: `simt.warps`, how many warps it has, `simt.first_warp`,
    the number of the first of them in the block, and `simt.registers`, how many registers a thread asks for. Layouts and barriers
    in it are of its warps. `simt.join_partitions` follows in the same block.
  }];
  let arguments = (ins FlatSymbolRefArrayAttr:$partitions);
  let assemblyFormat = "$partitions attr-dict";
  let hasVerifier = 1;
}

def Simt_JoinPartitionsOp : Simt_Op<"join_partitions", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "waits until the partitions of the `simt.start_partitions` before it have ended; all warps see what was accessed before";
  let assemblyFormat = "attr-dict";
}

def Simt_CondBarrierOp : Simt_Op<"cond_barrier", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "a barrier that only the threads execute whose condition is set; it orders no accesses";
  let description = [{
    The condition is the same in all threads of a warp, as far as the analysis of uniform values tells; others are
    refused when barriers are inserted. From here on the other warps are one barrier ahead: what one barrier orders
    elsewhere takes one more, until they have executed a barrier of this kind as well.
  }];
  let arguments = (ins I1:$condition);
  let assemblyFormat = "$condition attr-dict";
}

def Simt_FenceOp : Simt_Op<"fence", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "orders this thread's accesses to memory before it and after it, as threads of this scope see them; no barrier";
  let description = [{
    `release`: what the block accessed before it is seen by the thread that sees what this thread writes after it. `acquire`: what is
    accessed after it sees what was released to this thread's reads before it. Where other threads of the block take part
    in either, insert-barriers puts a barrier before a release and after an acquire.
  }];
  let arguments = (ins TT_MemSemantic:$sem, TT_MemScope:$scope);
  let assemblyFormat = "$sem `,` $scope attr-dict";
  let hasVerifier = 1;
}

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
