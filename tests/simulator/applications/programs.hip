// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// programs.cl in HIP, where functions may call themselves.
#pragma clang force_cuda_host_device begin
#include "programs.h"
#pragma clang force_cuda_host_device end

__attribute__((global)) void run_one(u32 *out, u32 program) {
  u32 i = __builtin_amdgcn_workgroup_id_x() * 256 + __builtin_amdgcn_workitem_id_x();
  out[i] = runProgram(program, i);
}
