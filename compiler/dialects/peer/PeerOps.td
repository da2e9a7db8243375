// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The `peer` dialect: what a tile program says to other devices. Verifier rules are numbered in Peer.cpp, the protocol
// and the records after `%group` (binary/PeerAbi.h) are described in docs/peer.md.
#ifndef HEDDLE_PEER_OPS
#define HEDDLE_PEER_OPS

include "PeerEnums.td"
include "TritonEnums.td"
include "TritonTypes.td"
include "mlir/IR/OpBase.td"
include "mlir/IR/CommonAttrConstraints.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Peer_Dialect : Dialect {
  let name = "peer";
  let cppNamespace = "::heddle::peer";
  let summary = "ranks, peer addresses, atomics between devices, barriers and packets";
  let description = [{
    A group of 1 to 8 ranks runs the same program, each on a device of its own, and each owns symmetric memory that the
    others can address. Every wait is bounded by a deadline and by the group's abort word.
  }];
  let dependentDialects = ["::heddle::triton::TritonDialect"];
}

// Power-of-two tiles, as in the `tt` dialect.
def Peer_TileShapes : NativeOpTrait<"TileShapes"> { let cppNamespace = "::heddle::triton::OpTrait"; }

class Peer_Op<string mnemonic, list<Trait> traits = []>
    : Op<Peer_Dialect, mnemonic, !listconcat([Peer_TileShapes], traits)>;

// The text leaves the type of `to` out because it follows from `from`.
class Peer_TypeFollows<string from, string to, string transform>
    : TypesMatchWith<"type of " # to # " follows from " # from, from, to, transform, "true || std::equal_to<>()">;
class Peer_MaskFollows<string pointer> : Peer_TypeFollows<pointer, "mask", "::heddle::triton::maskTypeOf($_self)">;
class Peer_I32Follows<string pointer, string to>
    : Peer_TypeFollows<pointer, to, "::heddle::peer::integerTypeOf($_self, 32)">;

// A PeerGroup, or slots of 64 bits.
def Peer_I64Ptr : Type<CPred<"$_self == ::heddle::peer::i64PointerType($_self.getContext())">, "pointer to i64",
                       "::heddle::triton::PointerType">,
                  BuildableType<"::heddle::peer::i64PointerType($_builder.getContext())">;

def Peer_I32Like : AnyTypeOf<[I32, TT_I32Tensor]>;
def Peer_WordLike : AnyTypeOf<[I32, I64, RankedTensorOf<[I32, I64]>]>;

//===-- Who and where --------------------------------------------------------------------------------------------===//

def Peer_ThreadIdOp : Peer_Op<"thread_id", [Pure]> {
  let summary = "the thread's number x within its block; 0 where a program is one thread";
  let results = (outs I32:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
}

def Peer_RankOp : Peer_Op<"rank", [Pure]> {
  let summary = "this rank, from 0";
  let arguments = (ins Peer_I64Ptr:$group);
  let results = (outs I32:$result);
  let assemblyFormat = "$group attr-dict `:` type($result)";
}

def Peer_WorldSizeOp : Peer_Op<"world_size", [Pure]> {
  let summary = "how many ranks the group has";
  let arguments = (ins Peer_I64Ptr:$group);
  let results = (outs I32:$result);
  let assemblyFormat = "$group attr-dict `:` type($result)";
}

def Peer_AddressOp : Peer_Op<"address", [Pure, Peer_TypeFollows<"pointer", "result", "$_self">]> {
  let summary = "the same place in the symmetric memory of another rank";
  let description = "pointer - arena[own rank] + arena[rank], in bytes. `pointer` lies in this rank's symmetric memory.";
  let arguments = (ins TT_PtrLike:$pointer, Peer_I32Like:$rank, Peer_I64Ptr:$group);
  let results = (outs TT_PtrLike:$result);
  let assemblyFormat = "$pointer `,` $rank `,` $group attr-dict `:` type($pointer) `,` type($rank)";
  let hasVerifier = 1;
}

//===-- Time -----------------------------------------------------------------------------------------------------===//

def Peer_ClockOp : Peer_Op<"clock", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "nanoseconds of the device's steady clock";
  let results = (outs I64:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
}

def Peer_DeadlineOp : Peer_Op<"deadline", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "the time by which every wait of this call ends: now plus the group's limit";
  let arguments = (ins Peer_I64Ptr:$group);
  let results = (outs I64:$result);
  let assemblyFormat = "$group attr-dict `:` type($result)";
}

def Peer_HoldOp : Peer_Op<"hold", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "its operand, of which nothing should be computed before the operations that precede this one";
  let description = [{
    For values that are long in coming: instructions are issued in order, so that what needs the value keeps what
    follows it from beginning. Compilers compute early what several branches need; here, on NVIDIA, they do not. Elsewhere
    it has no effect.
  }];
  let arguments = (ins I64:$value);
  let results = (outs I64:$result);
  let assemblyFormat = "$value attr-dict `:` type($result)";
}

//===-- Atomics --------------------------------------------------------------------------------------------------===//

def Peer_AtomicWriteOp : Peer_Op<"atomic_write", [MemoryEffects<[MemWrite]>, Peer_MaskFollows<"ptr">]> {
  let summary = "an atomic store for each pointer whose mask is true";
  let arguments = (ins TT_MemSemantic:$sem, TT_MemScope:$scope, TT_PtrLike:$ptr, Peer_WordLike:$value,
                       Optional<TT_BoolLike>:$mask);
  let assemblyFormat = [{
    $sem `,` $scope `,` $ptr `,` $value (`,` $mask^)? attr-dict `:` type($ptr) `,` type($value)
  }];
  let hasVerifier = 1;
}

def Peer_AtomicSpinWaitOp : Peer_Op<"atomic_spin_wait", [MemoryEffects<[MemRead, MemWrite]>, Peer_MaskFollows<"ptr">,
                                    Peer_TypeFollows<"ptr", "result", "::heddle::triton::valueTypeOf($_self)">]> {
  let summary = "load until `loaded CMP expected`, the deadline has passed, the abort word is set, or this rank failed";
  let description = [{
    The result is the value loaded last: the caller compares it to know whether the wait succeeded. An element whose
    mask is false is not accessed and yields 0, which says nothing.
  }];
  let arguments = (ins TT_MemSemantic:$sem, TT_MemScope:$scope, Peer_Comparator:$comparator, TT_PtrLike:$ptr,
                       Peer_WordLike:$expected, Optional<TT_BoolLike>:$mask, I64:$deadline, Peer_I64Ptr:$group);
  let results = (outs Peer_WordLike:$result);
  let assemblyFormat = [{
    $sem `,` $scope `,` $comparator `,` $ptr `,` $expected (`,` $mask^)? `within` $deadline `,` $group attr-dict `:`
    type($ptr) `,` type($expected)
  }];
  let hasVerifier = 1;
}

def Peer_ReleaseFenceOp : Peer_Op<"release_fence", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "every earlier store of each thread is sent to other devices before any later operation";
  let description = [{
    Each thread runs it before the block meets and one thread stores a flag for all: a block barrier alone orders the
    stores of the other threads only within the block on AMD.
  }];
  let assemblyFormat = "attr-dict";
}

//===-- Barriers -------------------------------------------------------------------------------------------------===//

def Peer_BlockBarrierOp : Peer_Op<"block_barrier", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "block b of every rank meets block b of the others; false when one did not come in time";
  let description = [{
    What the block of a rank stored before is seen by the same block of every rank after. `signals` points to this
    rank's slots `[block][world_size]` in symmetric memory, zero at first; `epoch` is above 0 and grows from call to
    call.
  }];
  let arguments = (ins Peer_I64Ptr:$signals, I64:$epoch, I64:$deadline, Peer_I64Ptr:$group, I64:$tag,
                       I32Attr:$world_size);
  let results = (outs I1:$ok);
  let assemblyFormat = "$signals `,` $epoch `,` $deadline `,` $group `,` `tag` $tag attr-dict";
  let hasVerifier = 1;
}

def Peer_BlockExchangeOp : Peer_Op<"block_exchange", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "block b of every rank tells the same block of the others some values; false when one did not come";
  let description = [{
    `slots` points to this rank's slots `[block][world_size][2 * values]` in symmetric memory, zero at first. After it
    those of rank s hold packets: the low half of word 2v is the low half of value v of rank s, of word 2v + 1 the high
    half, with the epoch's flag, epoch modulo 2^32 - 1 plus 1; threads read them by packet_receive. A rank's own slots
    stay as they are. The caller sees to it that a slot has been read before the rank that
    wrote it exchanges again.

    `relaxed`: what earlier kernels of the ranks' streams have stored is seen after, and what this kernel had stored
    before its last block_barrier; nothing has to be waited for first. `release`: also what the block stored since.
  }];
  let arguments = (ins TT_MemSemantic:$sem, Peer_I64Ptr:$slots, Variadic<I64>:$values, I64:$epoch, I64:$deadline,
                       Peer_I64Ptr:$group, I64:$tag, I32Attr:$world_size);
  let results = (outs I1:$ok);
  let assemblyFormat = [{
    $sem `,` $slots `,` `(` $values `)` `,` $epoch `,` $deadline `,` $group `,` `tag` $tag attr-dict
  }];
  let hasVerifier = 1;
}

//===-- Packets --------------------------------------------------------------------------------------------------===//

def Peer_PacketSendOp : Peer_Op<"packet_send", [MemoryEffects<[MemWrite]>, Peer_I32Follows<"ptr", "data">,
                                Peer_MaskFollows<"ptr">]> {
  let summary = "store 32 bits of data and a flag as one word of 64 bits";
  let arguments = (ins TT_PtrLike:$ptr, Peer_I32Like:$data, I32:$flag, Optional<TT_BoolLike>:$mask);
  let assemblyFormat = "$ptr `,` $data `,` $flag (`,` $mask^)? attr-dict `:` type($ptr)";
  let hasVerifier = 1;
}

def Peer_PacketReceiveOp : Peer_Op<"packet_receive", [MemoryEffects<[MemRead, MemWrite]>, Peer_MaskFollows<"ptr">,
                                   Peer_I32Follows<"ptr", "data">,
                                   Peer_TypeFollows<"ptr", "ok", "::heddle::triton::maskTypeOf($_self)">]> {
  let summary = "wait for the packet with this flag; its data, and whether it came";
  let description = "An element whose mask is false yields data 0 and is ok.";
  let arguments = (ins TT_PtrLike:$ptr, I32:$flag, Optional<TT_BoolLike>:$mask, I64:$deadline, Peer_I64Ptr:$group);
  let results = (outs Peer_I32Like:$data, TT_BoolLike:$ok);
  let assemblyFormat = "$ptr `,` $flag (`,` $mask^)? `within` $deadline `,` $group attr-dict `:` type($ptr)";
  let hasVerifier = 1;
}

//===-- Failure --------------------------------------------------------------------------------------------------===//

def Peer_ReportOp : Peer_Op<"report", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "if `failed` holds anywhere, write the rank's error record unless it has been written";
  let description = "`peer`, `expected` and `seen` are scalars, or have an element for each of `failed`.";
  let arguments = (ins TT_BoolLike:$failed, Peer_I32Like:$peer, TT_I64Like:$expected, TT_I64Like:$seen, I64:$deadline,
                       Peer_I64Ptr:$group, I64:$tag);
  let assemblyFormat = [{
    $failed `,` $peer `,` $expected `,` $seen `,` $deadline `,` $group `,` `tag` $tag attr-dict `:` type($failed) `,`
    type($peer) `,` type($expected) `,` type($seen)
  }];
  let hasVerifier = 1;
}

#endif
