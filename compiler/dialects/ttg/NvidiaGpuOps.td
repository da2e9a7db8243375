// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Operations of `ttng` that Hopper has: matmuls of warp groups, barrier objects in shared memory (mbarrier), bulk copies
// of tensors (TMA). Those of later chips are not read.
#ifndef HEDDLE_NVIDIA_GPU_OPS
#define HEDDLE_NVIDIA_GPU_OPS

include "AmdGpuOps.td"

class TTNG_Op<string mnemonic, list<Trait> traits = []>
    : Op<NvidiaGpu_Dialect, mnemonic, !listconcat([TTG_TileShapes], traits)>;

defvar Ordered = MemoryEffects<[MemRead, MemWrite]>;
def TTNG_TileOrMemory : AnyTypeOf<[TT_Tensor, TTG_MemDesc]>;

//===-- Matmuls --------------------------------------------------------------------------------------------------===//

def TTNG_WarpGroupDotOp : TTNG_Op<"warp_group_dot", [Ordered, AllTypesMatch<["c", "d"]>]> {
  let summary = "begins d = a * b + c, or a * b where `useC` is false, of warp groups; asynchronous or not";
  let arguments = (ins TTNG_TileOrMemory:$a, TTG_MemDesc:$b, TT_Tensor:$c, Optional<I1>:$useC,
                       DefaultValuedAttr<TT_InputPrecision, "::heddle::triton::InputPrecision::IEEE">:$inputPrecision,
                       DefaultValuedAttr<I32Attr, "0">:$maxNumImpreciseAcc, DefaultValuedAttr<BoolAttr, "false">:$isAsync);
  let results = (outs TT_Tensor:$d);
  let assemblyFormat = "$a `,` $b `,` $c (`,` $useC^)? attr-dict `:` qualified(type($a)) `*` qualified(type($b)) `->` type($d)";
  let hasVerifier = 1;
}

def TTNG_WarpGroupDotWaitOp : TTNG_Op<"warp_group_dot_wait", [Ordered, AllTypesMatch<["inputs", "outputs"]>]> {
  let summary = "waits until at most `pendings` matmuls of warp groups are in flight; gives the tiles and memory objects that it is given";
  let arguments = (ins Variadic<TTNG_TileOrMemory>:$inputs, I32Attr:$pendings, UnitAttr:$warpGroupLocal);
  let results = (outs Variadic<TTNG_TileOrMemory>:$outputs);
  let assemblyFormat = "$inputs attr-dict `:` type($inputs)";
  let hasVerifier = 1;
}

//===-- Barrier objects ------------------------------------------------------------------------------------------===//

def TTNG_FenceAsyncSharedOp : TTNG_Op<"fence_async_shared", [Ordered]> {
  let summary = "what threads wrote to shared memory before it is seen by bulk copies and matmuls of warp groups after it";
  let arguments = (ins BoolAttr:$bCluster);
  let assemblyFormat = "attr-dict";
}

def TTNG_InitBarrierOp : TTNG_Op<"init_barrier", [Ordered]> {
  let summary = "makes a barrier object whose phases end with `count` arrivals";
  let arguments = (ins TTG_MemDesc:$alloc, I32Attr:$count);
  let assemblyFormat = "$alloc `,` $count attr-dict `:` qualified(type($alloc))";
  let hasVerifier = 1;
}

def TTNG_InvalBarrierOp : TTNG_Op<"inval_barrier", [Ordered]> {
  let summary = "the end of a barrier object's life";
  let arguments = (ins TTG_MemDesc:$alloc);
  let assemblyFormat = "$alloc attr-dict `:` qualified(type($alloc))";
  let hasVerifier = 1;
}

def TTNG_BarrierExpectOp : TTNG_Op<"barrier_expect", [Ordered]> {
  let summary = "arrives once, and has the phase wait for `size` bytes of bulk copies besides";
  let arguments = (ins TTG_MemDesc:$alloc, I32Attr:$size, I1:$pred);
  let assemblyFormat = "$alloc `,` $size attr-dict `,` $pred `:` qualified(type($alloc))";
  let hasVerifier = 1;
}

def TTNG_WaitBarrierOp : TTNG_Op<"wait_barrier", [Ordered, AttrSizedOperandSegments]> {
  let summary = "waits until the phase of this parity has ended";
  let arguments = (ins TTG_MemDesc:$alloc, I32:$phase, Optional<I1>:$pred, Variadic<TTG_MemDesc>:$deps);
  let assemblyFormat = [{
    $alloc `,` $phase (`,` $pred^)? (`deps` $deps^)? attr-dict `:` qualified(type($alloc)) (`,` qualified(type($deps))^)?
  }];
  let hasVerifier = 1;
}

def TTNG_ArriveBarrierOp : TTNG_Op<"arrive_barrier", [Ordered]> {
  let summary = "the warps of the region arrive `count` times, after all that they did before";
  let arguments = (ins TTG_MemDesc:$alloc, I32Attr:$count, Optional<I1>:$pred);
  let assemblyFormat = "$alloc `,` $count (`,` $pred^)? attr-dict `:` qualified(type($alloc))";
  let hasVerifier = 1;
}

def TTNG_AsyncCopyMbarrierArriveOp : TTNG_Op<"async_copy_mbarrier_arrive", [Ordered]> {
  let summary = "each thread arrives when the copies that it began before have landed";
  let arguments = (ins TTG_MemDesc:$barrier, UnitAttr:$noIncrement);
  let assemblyFormat = "$barrier attr-dict `:` qualified(type($barrier))";
  let hasVerifier = 1;
}

//===-- Bulk copies ----------------------------------------------------------------------------------------------===//

def TTNG_AsyncTMACopyGlobalToLocalOp : TTNG_Op<"async_tma_copy_global_to_local", [Ordered]> {
  let summary = "begins to copy a block of a tensor to a memory object; its bytes arrive at a barrier object";
  let arguments = (ins Triton_TensorDescType:$desc, Variadic<I32>:$coord, TTG_MemDesc:$barrier, TTG_MemDesc:$result,
                       I1:$pred, UnitAttr:$multicast, OptionalAttr<AnyAttr>:$cachePolicy,
                       DefaultValuedAttr<BoolAttr, "false">:$isVolatile);
  let assemblyFormat = [{
    $desc `[` $coord `]` $result `,` $barrier `,` $pred attr-dict
    `:` qualified(type($desc)) `,` qualified(type($barrier)) `->` qualified(type($result))
  }];
  let hasVerifier = 1;
}

def TTNG_AsyncTMACopyLocalToGlobalOp : TTNG_Op<"async_tma_copy_local_to_global", [Ordered]> {
  let summary = "begins to copy a memory object to a block of a tensor";
  let arguments = (ins Triton_TensorDescType:$desc, Variadic<I32>:$coord, TTG_MemDesc:$src,
                       OptionalAttr<AnyAttr>:$cachePolicy);
  let assemblyFormat = "$desc `[` $coord `]` $src attr-dict `:` qualified(type($desc)) `,` qualified(type($src))";
  let hasVerifier = 1;
}

def TTNG_AsyncTMAReduceOp : TTNG_Op<"async_tma_reduce", [Ordered]> {
  let summary = "begins to update a block of a tensor with the elements of a memory object, each by a relaxed atomic operation";
  let arguments = (ins TT_DescriptorReduceKind:$kind, Triton_TensorDescType:$desc, Variadic<I32>:$coord, TTG_MemDesc:$src);
  let assemblyFormat = "$kind `,` $desc `[` $coord `]` $src attr-dict `:` qualified(type($desc)) `,` qualified(type($src))";
  let hasVerifier = 1;
}

def TTNG_TMAStoreWaitOp : TTNG_Op<"async_tma_store_wait", [Ordered]> {
  let summary = "waits until at most `pendings` copies out of shared memory are in flight, or with `read_only` read from it";
  let arguments = (ins I32Attr:$pendings, UnitAttr:$read_only);
  let assemblyFormat = "attr-dict";
  let hasVerifier = 1;
}

//===-- Warp specialisation --------------------------------------------------------------------------------------===//

def TTG_WarpSpecializeOp : TTG_Op<"warp_specialize", [RecursiveMemoryEffects]> {
  let summary = "the warps of the block execute the default region, further warps one partition each; all synchronise at the end";
  let arguments = (ins Variadic<AnyType>:$captures, DenseI32ArrayAttr:$partitionNumWarps,
                       OptionalAttr<DenseI32ArrayAttr>:$warpGroupStartIds,
                       OptionalAttr<DenseI32ArrayAttr>:$requestedRegisters,
                       OptionalAttr<DenseI32ArrayAttr>:$actualRegisters);
  let results = (outs Variadic<AnyType>:$results);
  let regions = (region MinSizedRegion<1>:$defaultRegion, VariadicRegion<MinSizedRegion<1>>:$partitions);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

def TTG_WarpYieldOp : TTG_Op<"warp_yield", [Pure, Terminator, HasParent<"WarpSpecializeOp">]> {
  let summary = "ends the default region, and gives its results";
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "($values^)? attr-dict (`:` type($values)^)?";
}

def TTG_WarpReturnOp : TTG_Op<"warp_return", [Pure, Terminator, HasParent<"WarpSpecializeOp">]> {
  let summary = "ends a partition";
  let assemblyFormat = "attr-dict";
}

#endif
