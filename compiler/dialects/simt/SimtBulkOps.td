// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What NVIDIA's chips have from sm_90 on: barrier objects, bulk copies of tensors, partitions of the warps of a block. A
// part of SimtOps.td.
#ifndef HEDDLE_SIMT_BULK_OPS
#define HEDDLE_SIMT_BULK_OPS

//===-- Barrier objects ------------------------------------------------------------------------------------------===//

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

#endif
