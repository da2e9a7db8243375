// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Kernels for the tests of `heddle simulate`, `check` and `mutate`.

#define ITEM __builtin_amdgcn_workitem_id_x()
#define GROUP __builtin_amdgcn_workgroup_id_x()

// Where the LDS of arguments lies.
__kernel void local_places(__local int *first, __local long *second, __global int *out) {
  __local int own[4];
  own[ITEM & 3] = 0;
  out[0] = (int)first;
  out[1] = (int)second;
}

// Each device adds up what all devices have, in the order of the table.
__kernel void add_peers(__global int *x, __global int *__global *peers, int rank, int devices, __global int *out) {
  int sum = 0;
  for (int i = 0; i < devices; ++i)
    sum += peers[i][ITEM];
  out[ITEM] = 1000 * rank + sum;
  if (peers[rank] != x)
    out[ITEM] = -1;
}

// Everybody's total in one place.
__kernel void count_all(__global int *total, int rank) {
  if (ITEM == 0)
    __scoped_atomic_fetch_add(total, 10 + rank, __ATOMIC_SEQ_CST, __MEMORY_SCOPE_SYSTEM);
}

__kernel void scale(__global float *x, float factor, long by) { x[ITEM] = x[ITEM] * factor + by; }

// Waves exchange through LDS; the second kernel has forgotten the barrier.
__kernel void exchange(__global const int *x, __global int *out) {
  __local int shared[256];
  shared[ITEM] = x[ITEM];
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
  out[256 * GROUP + ITEM] = shared[ITEM ^ 255];
}
__kernel void exchange_wrongly(__global const int *x, __global int *out) {
  __local int shared[256];
  shared[ITEM] = x[ITEM];
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  out[256 * GROUP + ITEM] = shared[ITEM ^ 255];
}

// Who comes first is written: a result that may differ.
__kernel void first_come(__global int *ticket, __global int *out, __global int *sum) {
  if (ITEM == 0) {
    out[GROUP] = __scoped_atomic_fetch_add(ticket, 1, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
    __scoped_atomic_fetch_add(sum, GROUP, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
  }
}

// Sums whose bits depend on the order.
__kernel void sum_floats(__global const float *x, __global float *sum) {
  if (ITEM == 0)
    __scoped_atomic_fetch_add(sum, x[GROUP], __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
}

__kernel void exponential(__global float *x) { x[ITEM] = __builtin_amdgcn_exp2f(x[ITEM]); }

// An instruction that the simulator does not have.
__kernel void unknown(__global int *out) {
  __asm__ volatile("v_clrexcp");
  out[ITEM] = 1;
}

// Never ends when x[0] is 0.
__kernel void waits(__global volatile int *x, __global int *out) {
  while (x[0] == 0)
    __builtin_amdgcn_s_sleep(1);
  out[ITEM] = 1;
}

// The second workgroup must not come first: then it runs for ever, and waits for nothing.
__kernel void in_turn(__global int *ticket, __global int *out) {
  if (ITEM == 0 && __scoped_atomic_fetch_add(ticket, 1, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE) != GROUP)
    for (;;)
      __asm__ volatile("s_nop 0");
  out[64 * GROUP + ITEM] = 1;
}

// Twelve bytes by value.
struct three {
  int a, b, c;
};
__kernel void of_three(__global int *out, struct three values) { out[ITEM] = values.a + values.b + values.c; }

// Each of these waits is implied by the next one: taking one away changes nothing.
__kernel void waits_twice(__global const int *x, __global int *out) {
  int value = x[ITEM];
  __asm__ volatile("s_waitcnt vmcnt(0)\n\ts_waitcnt vmcnt(0)\n\ts_waitcnt vmcnt(0)" : "+v"(value));
  out[ITEM] = value + 1;
}

// A load that nothing needs.
__kernel void for_nobody(__global const int *x, __global int *out) {
  __global const int *place = x + ITEM;
  int value;
  __asm__ volatile("global_load_dword %0, %1, off\n\ts_waitcnt vmcnt(0)\n\tv_mov_b32 %0, 1" : "=v"(value) : "v"(place));
  out[ITEM] = value;
}

// A path that is taken only when it is asked for.
__kernel void seldom(__global int *out, int asked) {
  if (asked) {
    out[ITEM + 64] = out[ITEM] + 1;
    __builtin_amdgcn_s_barrier();
  }
  out[ITEM] = 1;
}

__kernel void first_of_three(__global int *x) {
  if (ITEM < 3)
    x[ITEM] = 1;
}

// Two lanes write each place.
__kernel void collide(__global int *out, int apart) {
  __local int shared[64];
  shared[ITEM] = 0;
  __builtin_amdgcn_s_waitcnt(0xc07f);
  shared[ITEM >> 1] = ITEM * apart;
  __builtin_amdgcn_s_waitcnt(0xc07f);
  out[64 + ITEM] = shared[ITEM];
  out[ITEM >> 1] = ITEM * apart;
}

// What is loaded first is used first: the wait between counts on the order of the loads.
__kernel void in_order(__global const int *x, __global const int *y, __global int *out) {
  int first = x[ITEM], second = y[ITEM];
  out[ITEM] = 3 * first;
  out[64 + ITEM] = 5 * second;
}

// Both are used at once.
__kernel void at_once(__global const int *x, __global const int *y, __global int *out) { out[ITEM] = x[ITEM] ^ y[ITEM]; }
