// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A pass of a radix sort, stable: how many keys of each part have which digit, where those go, and moving them there. A
// workgroup has a part of 1024 keys.
#include "common.h"

#define DIGITS 256
#define PART 1024

static u32 digit_of(u32 key, int shift) { return key >> shift & (DIGITS - 1); }

// counts[digit][part]
WORK_ITEMS(256) __kernel void count_digits(__global const u32 *keys, __global u32 *counts, int n, int shift) {
  __local u32 bins[DIGITS];
  bins[ITEM] = 0;
  barrier_of_group();
  for (int i = GROUP * PART + ITEM; i < GROUP * PART + PART && i < n; i += 256)
    __atomic_fetch_add(&bins[digit_of(keys[i], shift)], 1, __ATOMIC_RELAXED);
  barrier_of_group();
  __constant const u32 *hidden = (__constant const u32 *)__builtin_amdgcn_implicitarg_ptr();
  counts[ITEM * hidden[0] + GROUP] = bins[ITEM];
}

// In place: each number becomes the sum of those before it. One workgroup.
WORK_ITEMS(256) __kernel void sum_before(__global u32 *counts, int length) {
  __local u32 wave_sums[4];
  u32 carried = 0;
  for (int first = 0; first < length; first += 256) {
    u32 own = first + (int)ITEM < length ? counts[first + ITEM] : 0, prefix = prefix_sum(own);
    if (LANE == 63)
      wave_sums[WAVE] = prefix;
    barrier_of_group();
    u32 before = carried + prefix - own;
    for (u32 wave = 0; wave < 4; ++wave) {
      before += wave < WAVE ? wave_sums[wave] : 0;
      carried += wave_sums[wave];
    }
    barrier_of_group();
    if (first + (int)ITEM < length)
      counts[first + ITEM] = before;
  }
}

// `places` is what sum_before made of the counts.
WORK_ITEMS(256) __kernel void move(__global const u32 *keys, __global const u32 *values, __global const u32 *places,
                                   __global u32 *keys_out, __global u32 *values_out, int n, int shift) {
  __local u32 next[DIGITS], of_wave[4][DIGITS];
  __constant const u32 *hidden = (__constant const u32 *)__builtin_amdgcn_implicitarg_ptr();
  next[ITEM] = places[ITEM * hidden[0] + GROUP];
  for (int first = GROUP * PART; first < GROUP * PART + PART; first += 256) {
    for (u32 wave = 0; wave < 4; ++wave)
      of_wave[wave][ITEM] = 0;
    barrier_of_group();
    int i = first + ITEM;
    bool there = i < n;
    u32 key = there ? keys[i] : 0, digit = digit_of(key, shift);
    u64 same = __builtin_amdgcn_ballot_w64(there); // the lanes with this digit
    for (u32 bit = 1; bit < DIGITS; bit <<= 1) {
      u64 set = __builtin_amdgcn_ballot_w64((digit & bit) != 0);
      same &= digit & bit ? set : ~set;
    }
    u32 rank = __builtin_amdgcn_mbcnt_hi((u32)(same >> 32), __builtin_amdgcn_mbcnt_lo((u32)same, 0));
    if (there && rank == 0)
      of_wave[WAVE][digit] = __builtin_popcountl(same);
    barrier_of_group();
    u32 place = next[digit] + rank;
    for (u32 wave = 0; wave < WAVE; ++wave)
      place += of_wave[wave][digit];
    if (there) {
      keys_out[place] = key;
      values_out[place] = values[i];
    }
    barrier_of_group();
    for (u32 wave = 0; wave < 4; ++wave)
      next[ITEM] += of_wave[wave][ITEM];
    barrier_of_group();
  }
}
