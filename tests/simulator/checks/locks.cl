// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Waves that order their LDS accesses by atomic operations instead of barriers. For workgroups of 256, one value each.
#define ITEM __builtin_amdgcn_workitem_id_x()
#define GROUP_SCOPE __MEMORY_SCOPE_WRKGRP

static void barrier_of_group(void) {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

static int try_lock(__local int *lock) {
  int expected = 0;
  return __scoped_atomic_compare_exchange_n(lock, &expected, 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED, GROUP_SCOPE);
}

// One item of each wave adds under a lock.
__kernel void lock_of_waves(__global const int *x, __global int *out) {
  __local int lock, sum;
  if (ITEM == 0)
    lock = 0, sum = 0;
  barrier_of_group();
  if (ITEM % 64 == 0) {
    while (!try_lock(&lock))
      ;
    sum += x[ITEM];
    __scoped_atomic_store_n(&lock, 0, __ATOMIC_RELEASE, GROUP_SCOPE);
  }
  barrier_of_group();
  out[ITEM] = sum;
}

// Eight items of each wave add, each under a lock of its own: all lanes take and let go theirs in one instruction.
__kernel void locks_of_lanes(__global const int *x, __global int *out) {
  __local int locks[8], sums[8];
  if (ITEM < 8)
    locks[ITEM] = 0, sums[ITEM] = 0;
  barrier_of_group();
  int place = ITEM % 64;
  if (place < 8) {
    while (!try_lock(&locks[place]))
      ;
    sums[place] += x[ITEM];
    __scoped_atomic_store_n(&locks[place], 0, __ATOMIC_RELEASE, GROUP_SCOPE);
  }
  barrier_of_group();
  out[ITEM] = sums[ITEM % 8];
}

// The wave that arrives last reads what all have written.
__kernel void last_arriver(__global const int *x, __global int *out) {
  __local int values[256], arrived;
  if (ITEM == 0)
    arrived = 0;
  barrier_of_group();
  values[ITEM] = x[ITEM];
  int before = 0;
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  if (ITEM % 64 == 0)
    before = __scoped_atomic_fetch_add(&arrived, 1, __ATOMIC_ACQ_REL, GROUP_SCOPE);
  before = __builtin_amdgcn_readfirstlane(before);
  if (before == 3)
    for (int i = ITEM % 64; i < 256; i += 64)
      out[i] = values[255 - i];
}

// The first wave waits for a flag that the second one sets: plain instructions at both ends.
__kernel void flag(__global const int *x, __global int *out) {
  __local int values[64], flag;
  if (ITEM == 0)
    flag = 0;
  barrier_of_group();
  if (ITEM >> 6 == 1) {
    values[ITEM - 64] = x[ITEM];
    __scoped_atomic_store_n(&flag, 1, __ATOMIC_RELEASE, GROUP_SCOPE);
  } else if (ITEM < 64) {
    while (!__scoped_atomic_load_n(&flag, __ATOMIC_ACQUIRE, GROUP_SCOPE))
      ;
    out[ITEM] = values[63 - ITEM];
  }
}
