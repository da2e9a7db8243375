// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Inclusive sums of a whole array in one pass: each workgroup adds up its own part, says so, and looks back at what the
// workgroups before it have said. Source of the scheme: Merrill and Garland, "Single-pass Parallel Prefix Scan with
// Decoupled Look-back".
#include "common.h"

#define ITEMS 4 // of each work-item
enum { NOTHING = 0, OWN_SUM = 1, WHOLE_SUM = 2 };

// `ticket` and `states`, one a workgroup, begin as zeros. A state is a kind in the upper half and a sum in the lower.
WORK_ITEMS(256) __kernel void scan(__global const u32 *x, __global u32 *out, __global volatile atomic_uint *ticket,
                                   __global volatile atomic_ulong *states, int n) {
  __local u32 wave_sums[4], group, before_group;
  if (ITEM == 0) // the order of starting, so that who is looked back at has started
    group = __opencl_atomic_fetch_add(ticket, 1, __ATOMIC_RELAXED, __OPENCL_MEMORY_SCOPE_DEVICE);
  barrier_of_group();
  u32 part = group, first = part * 256 * ITEMS + ITEM * ITEMS;
  u32 values[ITEMS], sum = 0;
  for (u32 i = 0; i < ITEMS; ++i)
    values[i] = sum += first + i < n ? x[first + i] : 0;
  u32 prefix = prefix_sum(sum);
  if (LANE == 63)
    wave_sums[WAVE] = prefix;
  barrier_of_group();
  u32 before = prefix - sum, own = 0;
  for (u32 wave = 0; wave < 4; ++wave) {
    before += wave < WAVE ? wave_sums[wave] : 0;
    own += wave_sums[wave];
  }
  if (ITEM == 0) {
    u64 state = (u64)(part ? OWN_SUM : WHOLE_SUM) << 32 | own;
    __opencl_atomic_store(&states[part], state, __ATOMIC_RELAXED, __OPENCL_MEMORY_SCOPE_DEVICE);
    u32 earlier = 0;
    for (u32 i = part; i > 0;) {
      u64 seen = __opencl_atomic_load(&states[i - 1], __ATOMIC_RELAXED, __OPENCL_MEMORY_SCOPE_DEVICE);
      if (seen >> 32 == NOTHING) {
        __builtin_amdgcn_s_sleep(1);
        continue;
      }
      earlier += (u32)seen;
      i = seen >> 32 == WHOLE_SUM ? 0 : i - 1;
    }
    if (part)
      __opencl_atomic_store(&states[part], (u64)WHOLE_SUM << 32 | (earlier + own), __ATOMIC_RELAXED,
                            __OPENCL_MEMORY_SCOPE_DEVICE);
    before_group = earlier;
  }
  barrier_of_group();
  for (u32 i = 0; i < ITEMS; ++i)
    if (first + i < n)
      out[first + i] = before_group + before + values[i];
}
