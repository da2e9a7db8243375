// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The five kernels in OpenCL C, without ROCm's device library: local memory is an argument of row_softmax.
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#define BARRIER()                                                                                                      \
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");                                                               \
  __builtin_amdgcn_s_barrier();                                                                                        \
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup")

typedef half half4 __attribute__((ext_vector_type(4)));
typedef float float4 __attribute__((ext_vector_type(4)));

kernel void vector_add(global const float *x, global const float *y, global float *out, int n) {
  int i = __builtin_amdgcn_workgroup_id_x() * __builtin_amdgcn_workgroup_size_x() + __builtin_amdgcn_workitem_id_x();
  if (i < n)
    out[i] = x[i] + y[i];
}

kernel void row_softmax(global const float *x, global float *out, local float *shared, int columns) {
  int column = __builtin_amdgcn_workitem_id_x(), count = __builtin_amdgcn_workgroup_size_x();
  int at = __builtin_amdgcn_workgroup_id_x() * columns + column;
  float value = column < columns ? x[at] : -__builtin_inff();
  shared[column] = value;
  for (int step = count / 2; step > 0; step /= 2) {
    BARRIER();
    if (column < step)
      shared[column] = __builtin_fmaxf(shared[column], shared[column + step]);
  }
  BARRIER();
  float power = __builtin_amdgcn_exp2f((value - shared[0]) * 1.44269504f);
  BARRIER();
  shared[column] = power;
  for (int step = count / 2; step > 0; step /= 2) {
    BARRIER();
    if (column < step)
      shared[column] += shared[column + step];
  }
  BARRIER();
  if (column < columns)
    out[at] = power / shared[0];
}

// A workgroup of one wave makes 16 x 16 elements.
kernel void matmul(global const half *a, global const half *b, global float *c, int n, int k) {
  int lane = __builtin_amdgcn_workitem_id_x();
  int row = __builtin_amdgcn_workgroup_id_x() * 16, column = __builtin_amdgcn_workgroup_id_y() * 16;
  float4 sums = 0;
  for (int start = lane / 16 * 4; start < k; start += 16) {
    half4 left, right;
    for (int i = 0; i < 4; ++i) {
      left[i] = a[(row + lane % 16) * k + start + i];
      right[i] = b[(start + i) * n + column + lane % 16];
    }
    sums = __builtin_amdgcn_mfma_f32_16x16x16f16(left, right, sums, 0, 0, 0);
  }
  for (int i = 0; i < 4; ++i)
    c[(row + lane / 16 * 4 + i) * n + column + lane % 16] = sums[i];
}

// A workgroup of 32 x 8 work-items transposes 32 x 32 elements.
kernel void transpose(global const float *x, global float *out, int rows, int columns) {
  local float tile[32][33];
  int left = __builtin_amdgcn_workgroup_id_x() * 32, top = __builtin_amdgcn_workgroup_id_y() * 32;
  int tx = __builtin_amdgcn_workitem_id_x(), ty = __builtin_amdgcn_workitem_id_y();
  for (int i = ty; i < 32; i += 8)
    tile[i][tx] = x[(top + i) * columns + left + tx];
  BARRIER();
  for (int i = ty; i < 32; i += 8)
    out[(left + i) * rows + top + tx] = tile[tx][i];
}

kernel void histogram(global const int *x, global atomic_int *bins, int n) {
  int i = __builtin_amdgcn_workgroup_id_x() * __builtin_amdgcn_workgroup_size_x() + __builtin_amdgcn_workitem_id_x();
  if (i < n)
    __opencl_atomic_fetch_add(&bins[x[i]], 1, __ATOMIC_RELAXED, __OPENCL_MEMORY_SCOPE_DEVICE);
}
