// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the OpenCL kernels here share. They use only what clang has built in: no device library.
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long u64;
typedef float float4_t __attribute__((ext_vector_type(4)));
typedef float float16_t __attribute__((ext_vector_type(16)));
typedef u32 u32x4 __attribute__((ext_vector_type(4)));

#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable
#pragma OPENCL EXTENSION cl_khr_int64_extended_atomics : enable
typedef half half4_t __attribute__((ext_vector_type(4)));
typedef half half8_t __attribute__((ext_vector_type(8)));

#define ITEM __builtin_amdgcn_workitem_id_x()
#define GROUP __builtin_amdgcn_workgroup_id_x()
#define LANE (ITEM & 63)
#define WAVE (ITEM >> 6)
#define WORK_ITEMS(n) __attribute__((amdgpu_flat_work_group_size(n, n)))

// The immediates of s_waitcnt: counters that are not named are not waited for.
#define WAIT_VECTOR(n) __builtin_amdgcn_s_waitcnt(0x0F70 + (n)) // n < 16
#define WAIT_LDS() __builtin_amdgcn_s_waitcnt(0xC07F)
#define WAIT_ALL() __builtin_amdgcn_s_waitcnt(0x0070)

static inline void barrier_of_group(void) {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

static inline float as_f32(u32 bits) {
  return __builtin_bit_cast(float, bits);
}
static inline u32 as_u32(float value) {
  return __builtin_bit_cast(u32, value);
}

// The value of lane `lane`.
static inline u32 from_lane(u32 value, u32 lane) {
  return (u32)__builtin_amdgcn_ds_bpermute((int)(lane * 4), (int)value);
}

// The sum of this lane and the ones before it, of any integers; lane 63 has all.
#define PREFIX_STEP(value, control, rows)                                                                              \
  (value) += (u32)__builtin_amdgcn_update_dpp(0, (int)(value), control, rows, 0xf, 0)
static inline u32 prefix_sum(u32 value) {
  PREFIX_STEP(value, 0x111, 0xf); // row_shr by 1, 2, 4, 8
  PREFIX_STEP(value, 0x112, 0xf);
  PREFIX_STEP(value, 0x114, 0xf);
  PREFIX_STEP(value, 0x118, 0xf);
  PREFIX_STEP(value, 0x142, 0xa); // the last lane of a row to the next row
  PREFIX_STEP(value, 0x143, 0xc); // lane 31 to the upper rows
  return value;
}
