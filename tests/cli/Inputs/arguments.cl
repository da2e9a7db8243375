// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Kernels for the tests of arguments that are no plain buffers and numbers.

#define ITEM __builtin_amdgcn_workitem_id_x()

__kernel void if_given(__global const int *x, __global int *out) { out[ITEM] = x ? x[ITEM] : 7; }

// Reads 16 elements ahead, and uses what it has.
__kernel void ahead(__global const volatile int *x, __global int *out) {
  int mine = x[ITEM];
  (void)x[ITEM + 16];
  out[ITEM] = mine;
}
// Uses an element that is not there.
__kernel void neighbour(__global const int *x, __global int *out) { out[ITEM] = x[ITEM + 1]; }
__kernel void writes_ahead(__global int *x) { x[ITEM + 16] = 1; }

struct Inner {
  short low;
  double ratio;
};
struct Blob {
  __global int *out;
  int n;
  float scale[2];
  struct Inner inner;
};
__kernel void of_blob(struct Blob blob, int last) {
  blob.out[0] = blob.n;
  blob.out[1] = (int)(blob.scale[0] + 10 * blob.scale[1]);
  blob.out[2] = blob.inner.low;
  blob.out[3] = (int)(8 * blob.inner.ratio);
  blob.out[4] = last;
}

// Adds up an element of each of four devices' signals.
struct Signals {
  __global int *of[4];
};
__kernel void of_signals(struct Signals signals, int rank, __global int *out) {
  out[0] = 0;
  for (int i = 0; i < 4; ++i)
    out[0] += signals.of[i][rank];
}

__kernel void of_next(__global const int *next, __global int *out) { out[ITEM] = next[ITEM]; }

// A wave reads what another one may not have written yet: no barrier, only time.
__kernel void relies_on_time(__global volatile int *x, __global int *out) {
  __local volatile int shared[64];
  if (ITEM >= 64) {
    shared[ITEM - 64] = x[ITEM];
  } else {
    int sum = 0;
    for (int i = 0; i < 64; ++i)
      sum += x[i];
    out[ITEM] = sum + shared[ITEM];
  }
}
