// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sums over ranks, of bf16 with f32 between, by kernels that run on every rank at once. A rank is a device, or, where
// `first_rank` is 0 on the only device, a column of workgroups: workgroup (x, y) is block y of rank first_rank + x.
//
// What others read or write of a rank is after `table`: three addresses a rank, its staging area (two of `count`), its
// result and its flags, two for each block and rank. Flags are set by a monotonic store after a release fence and a
// wait for all that was written: LLVM 22 drops the wait in a release store.
#include "common.h"

#define MOST_POLLS 100000

typedef __global volatile atomic_uint *Flag;

typedef struct {
  __global u16 *staging, *result;
  Flag flags;
} Rank;

static Rank rank_of(__global const u64 *table, u32 rank) {
  Rank found = {(__global u16 *)table[3 * rank], (__global u16 *)table[3 * rank + 1], (Flag)table[3 * rank + 2]};
  return found;
}

// All of the workgroup's writes, then the flag at every rank; then waits for theirs. Returns whether all have come;
// `missing` begins as 0.
static bool meet(__global const u64 *table, u32 rank, u32 world, u32 flag, u32 epoch, __local u32 *missing) {
  WAIT_ALL();
  __builtin_amdgcn_s_barrier();
  if (ITEM < world) {
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "");
    WAIT_VECTOR(0);
    __opencl_atomic_store(&rank_of(table, ITEM).flags[flag * world + rank], epoch, __ATOMIC_RELAXED,
                          __OPENCL_MEMORY_SCOPE_ALL_SVM_DEVICES);
    Flag theirs = &rank_of(table, rank).flags[flag * world + ITEM];
    u32 polls = 0;
    while ((int)(__opencl_atomic_load(theirs, __ATOMIC_RELAXED, __OPENCL_MEMORY_SCOPE_ALL_SVM_DEVICES) - epoch) < 0 &&
           ++polls < MOST_POLLS)
      __builtin_amdgcn_s_sleep(2);
    if (polls == MOST_POLLS)
      *missing = 1;
  }
  WAIT_ALL();
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "");
  return !*missing;
}

static float widen(u16 bits) { return as_f32((u32)bits << 16); }
static u16 narrow(float value) { // to nearest even; of numbers
  u32 bits = as_u32(value);
  return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}

// Each rank reads all ranks' numbers. `epoch` is one more in every call; statuses of blocks become 1 when something did
// not come. Staging areas take turns: who is two epochs further has seen that this one was read.
WORK_ITEMS(256) __kernel void one_shot(__global const u64 *table, __global const u64 *inputs, __global u32 *statuses,
                                       u32 first_rank, u32 world, u32 count, u32 epoch, u32 blocks) {
  u32 rank = first_rank + GROUP, block = __builtin_amdgcn_workgroup_id_y(), parity = (epoch & 1) * count;
  __local u32 missing;
  missing = 0;
  __global const u16 *input = (__global const u16 *)inputs[rank];
  for (u32 i = block * 256 + ITEM; i < count; i += blocks * 256)
    rank_of(table, rank).staging[parity + i] = input[i];
  if (!meet(table, rank, world, block, epoch, &missing)) {
    statuses[rank * blocks + block] = 1;
    return;
  }
  for (u32 i = block * 256 + ITEM; i < count; i += blocks * 256) {
    float sum = 0;
    for (u32 peer = 0; peer < world; ++peer)
      sum += widen(rank_of(table, peer).staging[parity + i]);
    rank_of(table, rank).result[i] = narrow(sum);
  }
}

// Each rank adds up its share of the numbers and writes the sums to all. `count` is a multiple of world * 2.
WORK_ITEMS(256) __kernel void two_shot(__global const u64 *table, __global const u64 *inputs, __global u32 *statuses,
                                       u32 first_rank, u32 world, u32 count, u32 epoch, u32 blocks) {
  u32 rank = first_rank + GROUP, block = __builtin_amdgcn_workgroup_id_y(), parity = (epoch & 1) * count;
  u32 share = count / world;
  __local u32 missing;
  missing = 0;
  __global const u16 *input = (__global const u16 *)inputs[rank];
  for (u32 owner = 0; owner < world; ++owner) // pushed to who adds up: [from][share]
    for (u32 i = block * 256 + ITEM; i < share; i += blocks * 256)
      rank_of(table, owner).staging[parity + rank * share + i] = input[owner * share + i];
  bool complete = meet(table, rank, world, block, epoch, &missing);
  for (u32 i = block * 256 + ITEM; complete && i < share; i += blocks * 256) {
    float sum = 0;
    for (u32 peer = 0; peer < world; ++peer)
      sum += widen(rank_of(table, rank).staging[parity + peer * share + i]);
    for (u32 peer = 0; peer < world; ++peer)
      rank_of(table, peer).result[rank * share + i] = narrow(sum);
  }
  if (!complete || !meet(table, rank, world, blocks + block, epoch, &missing))
    statuses[rank * blocks + block] = 1;
}
