// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Shared memory, copies to it by threads, barriers and fences. A part of SimtOps.td.
#ifndef HEDDLE_SIMT_SHARED_OPS
#define HEDDLE_SIMT_SHARED_OPS

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
    `common` are the same memory, which the partitions of a kernel share; it is theirs until the last of them is joined.
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

//===-- Barriers and fences ---------------------------------------------------------------------------------------===//

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

#endif
