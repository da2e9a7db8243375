// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Kernels in OpenCL C that docs/checking.md looks at. No header and no library of a device is needed.
#define ITEM __builtin_amdgcn_workitem_id_x()

/// Waves of a workgroup of 256 exchange their data through LDS; the barrier is forgotten.
__kernel void exchange(__global const int *x, __global int *out) {
  __local int shared[256];
  shared[ITEM] = x[ITEM];
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  out[ITEM] = shared[ITEM ^ 255];
}

/// Right, with a wait too many: the compiler has put the one that is needed before it.
__kernel void waits_twice(__global const int *x, __global int *out) {
  int value = x[ITEM];
  __asm__ volatile("s_waitcnt vmcnt(0)" : "+v"(value));
  out[ITEM] = value + 1;
}
