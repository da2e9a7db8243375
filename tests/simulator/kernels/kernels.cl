// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The kernels that KernelsTest.cpp runs on the simulator. They use only what clang has built in: no device library.
typedef unsigned char u8;
typedef unsigned int u32;
typedef unsigned long u64;

#define ITEM __builtin_amdgcn_workitem_id_x()
#define GROUP __builtin_amdgcn_workgroup_id_x()

static void barrier_of_group(void) {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

__kernel void vector_add(__global const float *x, __global const float *y, __global float *out, int n) {
  int i = GROUP * 256 + ITEM;
  if (i < n)
    out[i] = x[i] + y[i];
}

// One workgroup of 256 a row.
__kernel void softmax_row(__global const float *x, __global float *y, int columns) {
  __local float shared[256];
  int item = ITEM;
  __global const float *row = x + GROUP * columns;
  float most = -__builtin_inff();
  for (int i = item; i < columns; i += 256)
    most = __builtin_fmaxf(most, row[i]);
  shared[item] = most;
  barrier_of_group();
  for (int reach = 128; reach; reach >>= 1) {
    if (item < reach)
      shared[item] = __builtin_fmaxf(shared[item], shared[item + reach]);
    barrier_of_group();
  }
  most = shared[0];
  barrier_of_group();
  float sum = 0;
  for (int i = item; i < columns; i += 256)
    sum += __builtin_amdgcn_exp2f((row[i] - most) * 1.44269504f);
  shared[item] = sum;
  barrier_of_group();
  for (int reach = 128; reach; reach >>= 1) {
    if (item < reach)
      shared[item] += shared[item + reach];
    barrier_of_group();
  }
  sum = shared[0];
  for (int i = item; i < columns; i += 256)
    y[GROUP * columns + i] = __builtin_amdgcn_exp2f((row[i] - most) * 1.44269504f) / sum;
}

__attribute__((amdgpu_flat_work_group_size(1, 1024))) __kernel void reduce_sum(__global const int *x, __global int *out) {
  __local int shared[1024];
  int item = ITEM;
  shared[item] = x[GROUP * 1024 + item];
  barrier_of_group();
  for (int reach = 512; reach; reach >>= 1) {
    if (item < reach)
      shared[item] += shared[item + reach];
    barrier_of_group();
  }
  if (item == 0)
    out[GROUP] = shared[0];
}

// c = a * b for n a multiple of 64: tiles of 64 x 64 by workgroups of 256, 16 columns of a and rows of b at a time in LDS.
__kernel void matmul(__global const float *a, __global const float *b, __global float *c, int n) {
  __local float tile_a[16][64], tile_b[16][64];
  int column = __builtin_amdgcn_workgroup_id_x() * 64, row = __builtin_amdgcn_workgroup_id_y() * 64;
  int x = (ITEM & 15) * 4, y = (ITEM >> 4) * 4;
  float sums[4][4] = {};
  for (int k = 0; k < n; k += 16) {
    for (int i = 0; i < 4; ++i) {
      int element = ITEM + i * 256, outer = element >> 6, inner = element & 63;
      tile_a[outer][inner] = a[(row + inner) * n + k + outer];
      tile_b[outer][inner] = b[(k + outer) * n + column + inner];
    }
    barrier_of_group();
    for (int step = 0; step < 16; ++step)
      for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 4; ++j)
          sums[i][j] = __builtin_fmaf(tile_a[step][y + i], tile_b[step][x + j], sums[i][j]);
    barrier_of_group();
  }
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 4; ++j)
      c[(row + y + i) * n + column + x + j] = sums[i][j];
}

// Inclusive, in one workgroup of 512.
__attribute__((amdgpu_flat_work_group_size(1, 512))) __kernel void scan(__global const u64 *x, __global u64 *out) {
  __local u64 shared[2][512];
  int item = ITEM, from = 0;
  shared[0][item] = x[item];
  barrier_of_group();
  for (int step = 1; step < 512; step *= 2) {
    u64 value = shared[from][item];
    if (item >= step)
      value += shared[from][item - step];
    from ^= 1;
    shared[from][item] = value;
    barrier_of_group();
  }
  out[item] = shared[from][item];
}

__kernel void histogram(__global const u8 *x, __global u32 *bins, int n) {
  __local u32 counts[256];
  counts[ITEM] = 0;
  barrier_of_group();
  for (int i = GROUP * 256 + ITEM; i < n; i += 4 * 256)
    __atomic_fetch_add(&counts[x[i]], 1, __ATOMIC_RELAXED);
  barrier_of_group();
  __atomic_fetch_add(&bins[ITEM], counts[ITEM], __ATOMIC_RELAXED);
}

// Each operation on a place of its own, by every work-item; `old` gets what an exchange returned.
__kernel void atomics(__global int *places, __global u64 *wide, __global u32 *old) {
  int i = GROUP * 64 + ITEM;
  __atomic_fetch_add(&places[0], i, __ATOMIC_RELAXED);
  __atomic_fetch_sub(&places[1], i, __ATOMIC_RELAXED);
  __atomic_fetch_and(&places[2], ~(1 << (i & 31)) | 1, __ATOMIC_RELAXED);
  __atomic_fetch_or(&places[3], 1 << (i & 15), __ATOMIC_RELAXED);
  __atomic_fetch_xor(&places[4], i * 77, __ATOMIC_RELAXED);
  __atomic_fetch_min(&places[5], 50 - i, __ATOMIC_RELAXED);
  __atomic_fetch_max(&places[6], i - 50, __ATOMIC_RELAXED);
  __atomic_fetch_min((__global u32 *)&places[7], (u32)(1000 - i), __ATOMIC_RELAXED);
  __atomic_fetch_max((__global u32 *)&places[8], (u32)(i - 50), __ATOMIC_RELAXED);
  __atomic_fetch_add(&wide[0], (u64)i << 30, __ATOMIC_RELAXED);
  __atomic_fetch_xor(&wide[1], (u64)i << 33, __ATOMIC_RELAXED);
  __atomic_fetch_max(&wide[2], (u64)i << 35, __ATOMIC_RELAXED);
  u64 seen = wide[3];
  while (!__atomic_compare_exchange_n(&wide[3], &seen, seen * 3 + 1, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
    ;
  old[i] = __atomic_fetch_add((__global u32 *)&places[9], 1, __ATOMIC_RELAXED);
}

// Widths and signs: bytes and shorts out of one buffer, into another.
__kernel void narrow(__global const char *c, __global const short *s, __global int *wide, __global char *c_out,
                     __global short *s_out) {
  int i = ITEM;
  wide[4 * i] = c[i];
  wide[4 * i + 1] = ((__global const u8 *)c)[i];
  wide[4 * i + 2] = s[i];
  wide[4 * i + 3] = ((__global const unsigned short *)s)[i];
  c_out[i] = c[63 - i];
  s_out[i] = s[63 - i];
}

// A private array that no register can hold.
__kernel void scratch(__global const int *order, __global int *out) {
  int own[32];
  for (int i = 0; i < 32; ++i)
    own[order[i] & 31] = i * ITEM;
  int sum = 0;
  for (int i = 0; i < 32; ++i)
    sum = sum * 3 + own[(i + ITEM) & 31];
  out[ITEM] = sum;
}

__attribute__((noinline)) static int pick(int *p, int index) { return p[index]; }

// A generic pointer to LDS, to private and to global memory, in one wave.
__kernel void generic_pointers(__global int *x, __global int *out) {
  __local int shared[64];
  int own[4];
  shared[ITEM] = 1000 + ITEM;
  own[ITEM & 3] = 2000 + ITEM;
  barrier_of_group();
  int *p = ITEM % 3 == 0 ? (int *)&shared[63 - ITEM] : ITEM % 3 == 1 ? (int *)&own[ITEM & 3] : (int *)&x[ITEM];
  out[ITEM] = pick(p, 0);
  if (ITEM % 3 == 2)
    *p = 7;
}

__constant int primes[8] = {2, 3, 5, 7, 11, 13, 17, 19};
__global int counter = 5;
__global int *counter_place = &counter;

// Data of the code object itself: a table, and a variable that is reached through a relocated pointer.
__kernel void data(__global int *out) {
  out[ITEM] = primes[ITEM & 7] * (*(__global int *volatile *)&counter_place)[0];
}

// Where in the grid: two dimensions, and the sizes that only hidden arguments tell.
__kernel void places(__global u32 *out) {
  __constant const unsigned short *hidden = (__constant const unsigned short *)__builtin_amdgcn_implicitarg_ptr();
  u32 width = ((__constant const u32 *)hidden)[0] * hidden[6];
  u32 x = __builtin_amdgcn_workgroup_id_x() * hidden[6] + __builtin_amdgcn_workitem_id_x();
  u32 y = __builtin_amdgcn_workgroup_id_y() * hidden[7] + __builtin_amdgcn_workitem_id_y();
  out[y * width + x] = x | y << 16;
}

// A buffer with fewer records than lanes: what is outside reads as 0 and is not written. `stride` means nothing without an
// index; bit 14 of it, by which Triton asks for another placing in the cache, neither.
__kernel void bounded(__global int *x, __global int *out, int bytes, short stride) {
  __amdgpu_buffer_rsrc_t from = __builtin_amdgcn_make_buffer_rsrc(x, stride, bytes, 0x27000);
  __amdgpu_buffer_rsrc_t to = __builtin_amdgcn_make_buffer_rsrc(out, 0, bytes, 0x27000);
  int value = __builtin_amdgcn_raw_buffer_load_b32(from, ITEM * 4, 0, 0);
  __builtin_amdgcn_raw_buffer_store_b32(value + 1, to, ITEM * 4, 4, 0);
  out[64 + ITEM] = value;
}

// Global memory straight to LDS, in reverse.
__kernel void to_lds(__global int *x, __global int *out) {
  __local int shared[64];
  __builtin_amdgcn_global_load_lds(x + 63 - ITEM, shared, 4, 0, 0);
  __builtin_amdgcn_s_waitcnt(0x0070); // vmcnt(0) lgkmcnt(0)
  barrier_of_group();
  out[ITEM] = shared[ITEM];
}

// Workgroup n waits for workgroup n - 1, whatever order they start in.
__kernel void chain(__global volatile u32 *flags, __global u32 *sums) {
  if (ITEM == 0) {
    u32 before = 0;
    if (GROUP + 1 < 8) {
      while (__atomic_load_n(&flags[GROUP + 1], __ATOMIC_ACQUIRE) == 0)
        __builtin_amdgcn_s_sleep(1);
      before = sums[GROUP + 1];
    }
    sums[GROUP] = before + GROUP + 1;
    __atomic_store_n(&flags[GROUP], 1, __ATOMIC_RELEASE);
  }
}

// A load that nothing waits for: right only if it is at once.
__kernel void no_wait(__global int *x, __global int *out) {
  __global int *place = x + ITEM;
  int value = 0;
  __asm__ volatile("global_load_dword %0, %1, off\n\tv_add_u32 %0, 1, %0\n\ts_waitcnt vmcnt(0)" : "+v"(value) : "v"(place));
  out[ITEM] = value;
}

__kernel void forever(__global volatile int *x) {
  while (x[0] == 0)
    __builtin_amdgcn_s_sleep(1);
}

// The same with two loads, whose first lanes read the same word.
__kernel void forever_in_two_places(__global volatile int *x) {
  while (x[ITEM] + x[ITEM / 2] == 0)
    __builtin_amdgcn_s_sleep(1);
}

// Workgroup 1 is late.
__kernel void late_exchange(__global u32 *last, int steps) {
  for (int i = 0; i < (GROUP == 1 ? steps : 1); ++i)
    __asm__ volatile("s_nop 0\n\ts_nop 0\n\ts_nop 0\n\ts_nop 0");
  if (ITEM == 0)
    __atomic_exchange_n(last, GROUP, __ATOMIC_RELAXED);
}

__kernel void traps(void) { __builtin_trap(); }

// An instruction that the simulator does not have, on a path that is taken if `taken`.
__kernel void unknown(__global int *out, int taken) {
  if (taken)
    __asm__ volatile("v_clrexcp");
  out[ITEM] = 1;
}

// The second wave ends before the barrier that the others meet at.
__kernel void early_end(__global int *out) {
  __local int shared[256];
  if (ITEM >> 6 == 1)
    return;
  shared[ITEM] = ITEM;
  barrier_of_group();
  out[ITEM] = shared[ITEM ^ 255];
}

// Time passes, also for a wave that only asks for it.
__kernel void clock_advances(__global u64 *out) {
  u64 begin = __builtin_amdgcn_s_memtime(), now = begin;
  while (now < begin + 100)
    now = __builtin_amdgcn_s_memtime();
  out[ITEM] = now - begin;
}

// What is given by value: eight bytes that are no pointer.
typedef struct { int a, b; } Pair;
__kernel void by_value(__global int *out, Pair pair) {
  out[0] = pair.a;
  out[1] = pair.b;
}

__attribute__((reqd_work_group_size(128, 2, 1))) __kernel void of_one_size(__global int *out) { out[ITEM] = 1; }
