// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A program of programs.h for each work-item, with a seed of its own: the same for all, or others beside each other.
#include "programs.h"

__kernel void run_one(__global u32 *out, u32 program) {
  u32 i = __builtin_amdgcn_workgroup_id_x() * 256 + __builtin_amdgcn_workitem_id_x();
  out[i] = runProgram(program, i);
}

__kernel void run_all(__global u32 *out) {
  u32 i = __builtin_amdgcn_workgroup_id_x() * 256 + __builtin_amdgcn_workitem_id_x();
  out[i] = runProgram(i % PROGRAMS_OF_OPENCL, i);
}
