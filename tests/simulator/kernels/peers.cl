// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Kernels of two devices that talk to each other. A release is a fence, a wait for all stores and a relaxed store: LLVM
// 22 forgets the wait after buffer_wbl2.
typedef unsigned int u32;

#define ITEM __builtin_amdgcn_workitem_id_x()
#define EVERYBODY __OPENCL_MEMORY_SCOPE_ALL_SVM_DEVICES

static void say(__global atomic_uint *flag, u32 value) {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "");
  __builtin_amdgcn_s_waitcnt(0x0f70); // vmcnt(0)
  __opencl_atomic_store(flag, value, __ATOMIC_RELAXED, EVERYBODY);
}

static void await(__global atomic_uint *flag, u32 value) {
  while (__opencl_atomic_load(flag, __ATOMIC_RELAXED, EVERYBODY) < value)
    __builtin_amdgcn_s_sleep(1);
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "");
}

// One wave on each device: writes its row into the other's box, and puts out the sum of its own and what came. The
// round is counted in device memory, so that launches can be repeated; rounds take turns with the halves of a box.
__kernel void exchange(__global u32 *own_box, __global u32 *peer_box, __global atomic_uint *own_flag,
                       __global atomic_uint *peer_flag, __global u32 *round, __global const u32 *input,
                       __global u32 *output) {
  u32 epoch = *round + 1, place = (epoch & 1) * 64;
  peer_box[place + ITEM] = input[ITEM];
  say(peer_flag, epoch);
  await(own_flag, epoch);
  output[ITEM] = own_box[place + ITEM] + input[ITEM];
  *round = epoch;
}

// Waits for a word that another device stores.
__kernel void listen(__global atomic_uint *flag, u32 value, __global u32 *heard) {
  await(flag, value);
  heard[ITEM] = value;
}

// A kernel that takes its time: so many steps of a generator of numbers.
__kernel void spin(__global u32 *out, u32 count) {
  u32 value = ITEM;
  for (u32 i = 0; i < count; ++i)
    value = value * 1664525u + 1013904223u;
  out[ITEM] = value;
}

// Waits for ticks of the clock, or for the word; says which it was: 1 the word, 2 the time.
__kernel void listen_until(__global atomic_uint *flag, u32 value, __global u32 *heard, unsigned long ticks) {
  unsigned long begin = __builtin_amdgcn_s_memrealtime();
  u32 result = 0;
  while (!result) {
    if (__opencl_atomic_load(flag, __ATOMIC_RELAXED, EVERYBODY) == value)
      result = 1;
    else if (__builtin_amdgcn_s_memrealtime() - begin > ticks)
      result = 2;
  }
  heard[ITEM] = result;
}
