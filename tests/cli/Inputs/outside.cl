// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Accesses outside of buffers and of LDS.
#define INDEX ((int)__builtin_amdgcn_workitem_id_x())

kernel void before(global const float *in, global float *out) {
  out[INDEX] = in[INDEX - 1];
}
kernel void two(global float *a, global float *b) {
  a[INDEX + 16] = 1;
  b[INDEX - 8] = 1;
}
kernel void wild(global int *a, long by) {
  *(global int *)((global char *)a + by) = INDEX;
}
kernel void shared(global int *out) {
  local int s[64];
  s[INDEX - 3] = INDEX;
  __builtin_amdgcn_s_barrier();
  out[INDEX] = s[63 - INDEX];
}
