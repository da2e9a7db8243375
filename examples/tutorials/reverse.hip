// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Each block of 256 reverses its elements through LDS. Without -DFIXED a barrier is missing (docs/tutorials/check-in-ci.md).
#define __global__ __attribute__((global)) // as hip/hip_runtime.h has it, so that no ROCm is needed here
#define __shared__ __attribute__((shared))
#define __device__ __attribute__((device))

extern "C" __global__ __attribute__((amdgpu_flat_work_group_size(256, 256))) void reverse(const float *in, float *out) {
  __shared__ float tile[256];
  unsigned i = __builtin_amdgcn_workitem_id_x(), first = 256 * __builtin_amdgcn_workgroup_id_x();
  tile[i] = in[first + i];
#ifdef FIXED
  __builtin_amdgcn_fence(__ATOMIC_ACQ_REL, "workgroup");
  __builtin_amdgcn_s_barrier(); // __syncthreads()
  __builtin_amdgcn_fence(__ATOMIC_ACQ_REL, "workgroup");
#endif
  out[first + i] = tile[255 - i];
}
