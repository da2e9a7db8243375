// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Kernels for tests/cli/mutate-equivalent.test: whether a change of them can make a difference is for an argument to say.
#define ITEM __builtin_amdgcn_workitem_id_x()
#define DEVICE __OPENCL_MEMORY_SCOPE_DEVICE
#define EVERYBODY __OPENCL_MEMORY_SCOPE_ALL_SVM_DEVICES
#define WAIT_VECTOR() __builtin_amdgcn_s_waitcnt(0x0f70)
#define WAIT_LDS() __builtin_amdgcn_s_waitcnt(0xc07f)

// Reads what a work-item `apart` away has written, of its own wave or of another, and keeps some bits of it.
__kernel void neighbours(__global const int *x, __global int *out, int apart, int kept) {
  __local int shared[256];
  int value = x[ITEM];
  shared[ITEM] = value;
  WAIT_LDS();
  __builtin_amdgcn_s_barrier();
  out[ITEM] = shared[ITEM ^ apart] & kept;
}

// Counts in LDS, and reads a sum: atomic operations may be how waves know of each other.
__kernel void counts(__global int *out, int apart) {
  __local int sums[256];
  sums[ITEM] = 0;
  WAIT_LDS();
  __builtin_amdgcn_s_barrier();
  __atomic_fetch_add(&sums[ITEM ^ apart], 0, __ATOMIC_RELAXED);
  WAIT_LDS();
  out[ITEM] = sums[ITEM];
}

// Stores, a barrier, and a flag after it if something is to be told.
__kernel void publish(__global int *out, __global atomic_int *flag, int tell) {
  out[ITEM] = 0;
  __builtin_amdgcn_s_barrier();
  if (tell && ITEM == 0)
    __opencl_atomic_store(flag, 0, __ATOMIC_RELAXED, DEVICE);
}

// Stores and waits for that; the wave ends, reads something else, or tells something.
__kernel void store_and(__global int *out, __global atomic_int *flag, __global const int *x, int what) {
  out[ITEM] = 0;
  WAIT_VECTOR();
  if (what == 1)
    __opencl_atomic_store(flag, 0, __ATOMIC_RELAXED, DEVICE);
  if (what == 2) {
    int value = x[ITEM];
    WAIT_VECTOR();
    out[ITEM + 64] = value;
  }
}

// Loads straight to LDS, waits, and ends.
__kernel void load_and_end(__global int *x) {
  __local int shared[64];
  __builtin_amdgcn_global_load_lds(x + ITEM, shared, 4, 0, 0);
  __builtin_amdgcn_s_waitcnt(0x0f70);
  __asm__ volatile("s_nop 7");
}

// Two waits, and the load's result after them: the first is needed by no wave that sees the second.
__kernel void waits_twice(__global const int *x, __global int *out) {
  __global const int *place = x + ITEM;
  int value;
  __asm__ volatile("global_load_dword %0, %1, off\n\ts_waitcnt vmcnt(0)\n\ts_nop 1\n\ts_waitcnt vmcnt(0)\n\tv_add_u32 %0, 1, %0"
                   : "=v"(value)
                   : "v"(place));
  __asm__ volatile("global_load_dword %0, %1, off\n\ts_waitcnt vmcnt(0)\n\tv_add_u32 %0, 1, %0\n\ts_waitcnt vmcnt(0)"
                   : "=v"(value)
                   : "v"(place));
  out[ITEM] = 1;
}

// A load on one path alone, and a wait after both.
__kernel void maybe_load(__global const int *x, __global int *out, int asked) {
  int value = 0;
  __global const int *place = x + ITEM;
  if (asked)
    __asm__ volatile("global_load_dword %0, %1, off" : "=v"(value) : "v"(place));
  __asm__ volatile("s_waitcnt vmcnt(0)" : "+v"(value));
  out[ITEM] = value;
}

// What masks hold back: a place of its own, or the same place.
__kernel void masked(__global int *out, int below, int same) {
  __global int *place = out + (same ? 0 : ITEM);
  if (ITEM < below)
    *place = 0;
}

// Releases with nothing and with something after them, acquires with something and with nothing before them.
__kernel void fences(__global int *data, __global atomic_int *flag) {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "agent");
  WAIT_VECTOR();
  __opencl_atomic_store(flag, 0, __ATOMIC_RELAXED, DEVICE);
  data[ITEM] = 0;
  WAIT_VECTOR();
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "agent");
  WAIT_VECTOR();
  __opencl_atomic_store(flag + 1, 0, __ATOMIC_RELAXED, DEVICE);
  WAIT_VECTOR();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "agent");
  int value = data[ITEM + 64];
  data[ITEM + 128] = value;
  WAIT_VECTOR();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "agent");
}

// A write-back with one operation after it, for which a count above 0 waits: without it the count means another one.
__kernel void counted(__global int *x, __global int *out) {
  __global int *place = x + ITEM;
  int value;
  __asm__ volatile("global_load_dword %0, %1, off\n\tbuffer_wbl2 sc1\n\ts_waitcnt vmcnt(1)" : "=v"(value) : "v"(place));
  out[ITEM] = value;
}

// An access of everybody's scope.
__kernel void for_everybody(__global atomic_int *flag) {
  __opencl_atomic_store(flag, 0, __ATOMIC_RELAXED, EVERYBODY);
}

// And one of the device's scope, that needs its pages if another device looks.
__kernel void for_device(__global atomic_int *flag) { __opencl_atomic_store(flag, 0, __ATOMIC_RELAXED, DEVICE); }

// Device 0 tells device 1, by the scope of a device: enough where no cache keeps the page.
__kernel void tell_device(__global atomic_int *__global *flags, int rank) {
  if (rank == 0)
    __opencl_atomic_store(flags[0], 1, __ATOMIC_RELAXED, DEVICE);
  else
    while (__opencl_atomic_load(flags[0], __ATOMIC_RELAXED, DEVICE) == 0)
      __builtin_amdgcn_s_sleep(1);
}

// A load that nothing needs.
__kernel void for_nobody(__global const int *x, __global int *out) {
  __global const int *place = x + ITEM;
  int value;
  __asm__ volatile("global_load_dword %0, %1, off\n\ts_waitcnt vmcnt(0)" : "=v"(value) : "v"(place));
  out[ITEM] = 1;
}

// A wave jumps between a wait and the barrier after it.
__kernel void jump_between(__global int *out) {
  int turns;
  __asm__ volatile("s_mov_b32 %0, 2\n\ts_waitcnt vmcnt(1)\n1:\n\ts_barrier\n\ts_sub_u32 %0, %0, 1\n\ts_cmp_lg_u32 %0, 0\n\ts_cbranch_scc1 1b\n\t"
                   "s_waitcnt vmcnt(2)\n\ts_barrier"
                   : "=s"(turns));
  out[ITEM] = turns;
}
