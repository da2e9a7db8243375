// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The five kernels in HIP, without ROCm's headers and library: workgroup sizes from hidden arguments, dynamic LDS.
#define KERNEL extern "C" __attribute__((global)) void
#define SHARED __attribute__((shared))
#define DEVICE static __attribute__((device)) inline
using Half4 = __attribute__((ext_vector_type(4))) _Float16;
using Float16 = __attribute__((ext_vector_type(16))) float;

extern SHARED float dynamic[];

DEVICE void barrier() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

DEVICE int threadIndex() { return __builtin_amdgcn_workitem_id_x(); }
DEVICE int threadCount() { return __builtin_amdgcn_workgroup_size_x(); }

KERNEL vector_add(const float *x, const float *y, float *out, int n) {
  int i = __builtin_amdgcn_workgroup_id_x() * threadCount() + threadIndex();
  if (i < n)
    out[i] = x[i] + y[i];
}

template <class Combine> DEVICE float reduce(float value, Combine combine) {
  dynamic[threadIndex()] = value;
  for (int half = threadCount() / 2; half > 0; half /= 2) {
    barrier();
    if (threadIndex() < half)
      dynamic[threadIndex()] = combine(dynamic[threadIndex()], dynamic[threadIndex() + half]);
  }
  barrier();
  float result = dynamic[0];
  barrier();
  return result;
}

KERNEL row_softmax(const float *x, float *out, int columns) {
  const float *row = x + __builtin_amdgcn_workgroup_id_x() * columns;
  int column = threadIndex();
  float value = column < columns ? row[column] : -__builtin_inff();
  float largest = reduce(value, [](float a, float b) { return a > b ? a : b; });
  float power = __builtin_amdgcn_exp2f((value - largest) * 1.44269504f);
  float sum = reduce(power, [](float a, float b) { return a + b; });
  if (column < columns)
    out[__builtin_amdgcn_workgroup_id_x() * columns + column] = power / sum;
}

// A workgroup of one wave makes 32 x 32 elements.
KERNEL matmul(const _Float16 *a, const _Float16 *b, float *c, int n, int k) {
  int lane = threadIndex(), row = __builtin_amdgcn_workgroup_id_x() * 32, column = __builtin_amdgcn_workgroup_id_y() * 32;
  Float16 sums = {};
  for (int start = lane / 32 * 4; start < k; start += 8) {
    Half4 left, right;
    for (int i = 0; i < 4; ++i) {
      left[i] = a[(row + lane % 32) * k + start + i];
      right[i] = b[(start + i) * n + column + lane % 32];
    }
    sums = __builtin_amdgcn_mfma_f32_32x32x8f16(left, right, sums, 0, 0, 0);
  }
  for (int i = 0; i < 16; ++i)
    c[(row + i / 4 * 8 + lane / 32 * 4 + i % 4) * n + column + lane % 32] = sums[i];
}

// A workgroup of 32 x 8 threads transposes 32 x 32 elements.
KERNEL transpose(const float *x, float *out, int rows, int columns) {
  SHARED static float tile[32][33];
  int left = __builtin_amdgcn_workgroup_id_x() * 32, top = __builtin_amdgcn_workgroup_id_y() * 32;
  int tx = threadIndex(), ty = __builtin_amdgcn_workitem_id_y();
  for (int i = ty; i < 32; i += 8)
    tile[i][tx] = x[(top + i) * columns + left + tx];
  barrier();
  for (int i = ty; i < 32; i += 8)
    out[(left + i) * rows + top + tx] = tile[tx][i];
}

KERNEL histogram(const int *x, int *bins, int n) {
  SHARED static int counts[64];
  if (threadIndex() < 64)
    counts[threadIndex()] = 0;
  barrier();
  int i = __builtin_amdgcn_workgroup_id_x() * threadCount() + threadIndex();
  if (i < n)
    __hip_atomic_fetch_add(&counts[x[i]], 1, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP);
  barrier();
  if (threadIndex() < 64)
    __hip_atomic_fetch_add(&bins[threadIndex()], counts[threadIndex()], __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
