; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
; Each work-item uses its own word of LDS: the barrier, over which the wait may go, orders nothing.
  .amdgcn_target "amdgcn-amd-amdhsa--gfx942"
  .text
  .globl own_lds
  .p2align 8
  .type own_lds,@function
own_lds:
  v_lshlrev_b32 v1, 2, v0
  v_mov_b32 v3, 0
  ds_write_b32 v1, v3
  ds_read_b32 v2, v1
  s_waitcnt lgkmcnt(0)
  s_barrier
  v_add_u32 v2, v2, v3
  ds_write_b32 v1, v2
  s_endpgm
.Lend:
  .size own_lds, .Lend-own_lds

  .rodata
  .p2align 6
  .amdhsa_kernel own_lds
    .amdhsa_next_free_vgpr 4
    .amdhsa_next_free_sgpr 8
    .amdhsa_accum_offset 4
    .amdhsa_user_sgpr_kernarg_segment_ptr 1
    .amdhsa_group_segment_fixed_size 512
  .end_amdhsa_kernel

  .amdgpu_metadata

amdhsa.version: [1, 2]
amdhsa.kernels:
  - {.name: own_lds, .symbol: own_lds.kd, .kernarg_segment_size: 0, .group_segment_fixed_size: 512,
     .private_segment_fixed_size: 0, .kernarg_segment_align: 8, .wavefront_size: 64, .sgpr_count: 8, .vgpr_count: 4,
     .max_flat_workgroup_size: 128, .args: []}

  .end_amdgpu_metadata
