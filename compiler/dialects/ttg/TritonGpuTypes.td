// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Encodings of tiles and of shared memory, and the types of memory descriptors and tokens. The text of an encoding is a
// dictionary; what it denotes is compiler/layout/Encodings.h.
#ifndef HEDDLE_TRITON_GPU_TYPES
#define HEDDLE_TRITON_GPU_TYPES

include "TritonGpuDialect.td"

class TTG_Encoding<string symbol, string keyword> : AttrDef<TritonGpu_Dialect, symbol> {
  let mnemonic = keyword;
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

def TTG_BlockedAttr : TTG_Encoding<"Blocked", "blocked"> {
  let summary = "registers, lanes and warps along each axis, distributed in the order of the axes";
  let parameters = (ins ArrayRefParameter<"int64_t">:$sizePerThread, ArrayRefParameter<"int64_t">:$threadsPerWarp,
                        ArrayRefParameter<"int64_t">:$warpsPerCTA, ArrayRefParameter<"int64_t">:$order);
}

def TTG_SliceAttr : TTG_Encoding<"Slice", "slice"> {
  let summary = "the layout of a tile without one axis of its parent";
  let parameters = (ins "int64_t":$dim, "::mlir::Attribute":$parent);
}

def TTG_DotOperandAttr : TTG_Encoding<"DotOperand", "dot_op"> {
  let summary = "an operand of a matrix product as the parent's instruction reads it; kWidth 0: not given";
  let parameters = (ins "int64_t":$opIdx, "::mlir::Attribute":$parent, "int64_t":$kWidth);
}

def TTG_AmdMfmaAttr : TTG_Encoding<"AmdMfma", "amd_mfma"> {
  let summary = "results of CDNA's matrix instruction of M x N x K";
  let parameters = (ins "int64_t":$version, ArrayRefParameter<"int64_t">:$warpsPerCTA,
                        ArrayRefParameter<"int64_t">:$instrShape, "bool":$isTransposed,
                        ArrayRefParameter<"int64_t">:$tilesPerWarp, "int64_t":$elementBitWidth);
}

def TTG_NvidiaMmaAttr : TTG_Encoding<"NvidiaMma", "nvidia_mma"> {
  let summary = "results of NVIDIA's matrix instruction: version 2 is `mma.sync` (16 x 8), 3 is `wgmma` (16 rows of each warp x N x K)";
  let parameters = (ins "int64_t":$versionMajor, "int64_t":$versionMinor, ArrayRefParameter<"int64_t">:$warpsPerCTA,
                        ArrayRefParameter<"int64_t">:$instrShape);
}

def TTG_LinearAttr : TTG_Encoding<"Linear", "linear"> {
  let summary = "what each bit of the register, lane and warp number adds to the coordinates, axis by axis";
  let parameters = (ins ArrayRefParameter<"int64_t">:$registerBases, ArrayRefParameter<"int64_t">:$lane,
                        ArrayRefParameter<"int64_t">:$warp, "int64_t":$rank);
}

def TTG_GenericLinearAttr : AttrDef<TritonGpu_Dialect, "GenericLinear"> {
  let mnemonic = "generic_linear";
  let summary = "bits that overlap or move along several axes; read as `linear`";
  let hasCustomAssemblyFormat = 1;
}

def TTG_SwizzledSharedAttr : TTG_Encoding<"SwizzledShared", "swizzled_shared"> {
  let summary = "rows whose columns are xor'ed, in groups of `vec` elements, by the row's phase";
  let parameters = (ins "int64_t":$vec, "int64_t":$perPhase, "int64_t":$maxPhase, ArrayRefParameter<"int64_t">:$order);
}

def TTG_RotatingSharedAttr : TTG_Encoding<"RotatingShared", "amd_rotating_shared"> {
  let summary = "as `swizzled_shared`, with the phases of each block of rows xor'ed by the block's number";
  let parameters = (ins "int64_t":$vec, "int64_t":$perPhase, "int64_t":$maxPhase, ArrayRefParameter<"int64_t">:$order);
}

def TTG_PaddedSharedAttr : TTG_Encoding<"PaddedShared", "padded_shared"> {
  let summary = "offsets with padding after each interval; the offsets by order and shape, or by bases (`offset`)";
  let parameters = (ins ArrayRefParameter<"int64_t">:$intervals, ArrayRefParameter<"int64_t">:$paddings,
                        ArrayRefParameter<"int64_t">:$order, ArrayRefParameter<"int64_t">:$shape,
                        ArrayRefParameter<"int64_t">:$offset);
}

def TTG_NvmmaSharedAttr : TTG_Encoding<"NvmmaShared", "nvmma_shared"> {
  let summary = "what `wgmma` and bulk tensor copies read: rows of 8, swizzled over so many bytes";
  let parameters = (ins "int64_t":$swizzlingByteWidth, "bool":$transposed, "int64_t":$elementBitWidth, "int64_t":$rank);
}

def TTG_SharedLinearAttr : TTG_Encoding<"SharedLinear", "shared_linear"> {
  let summary = "what each bit of an offset adds to the coordinates, axis by axis";
  let parameters = (ins ArrayRefParameter<"int64_t">:$offset, "int64_t":$rank, "int64_t":$alignment);
}

def TTG_SharedMemoryAttr : AttrDef<TritonGpu_Dialect, "SharedMemory"> {
  let mnemonic = "shared_memory";
  let summary = "the memory of a block";
}

def Gluon_AutoAttr : AttrDef<Gluon_Dialect, "AutoEncoding"> {
  let mnemonic = "auto_encoding";
  let summary = "a layout that follows from where the tile is used";
}

def Gluon_CoalescedAttr : AttrDef<Gluon_Dialect, "CoalescedEncoding"> {
  let mnemonic = "coalesced_encoding";
  let summary = "a layout in which adjacent lanes access contiguous memory";
}

def TTG_MemDesc : TypeDef<TritonGpu_Dialect, "MemDesc"> {
  let mnemonic = "memdesc";
  let summary = "a memory object of shared memory, or a view of one";
  let description = [{
    `!ttg.memdesc<3x64x64xf16, #shared, #smem, mutable>`. The encoding is of the last axes: one more is that of a ring.
    The type of a view of a part ends with the shape of the allocation, `32x128`.
  }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$shape, "::mlir::Type":$elementType, "::mlir::Attribute":$encoding,
                        "::mlir::Attribute":$memorySpace, "bool":$mutableMemory,
                        ArrayRefParameter<"int64_t">:$allocShape);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

def TTG_Token : TypeDef<TritonGpu_Dialect, "AsyncToken"> {
  let mnemonic = "async.token";
  let summary = "a copy in flight, or a group of them";
}

#endif
