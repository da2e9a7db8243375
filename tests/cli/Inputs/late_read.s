; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
; A wave reads what the other wrote before the barrier, without a wait for the write, but so much later that hardware hardly shows it.
  .amdgcn_target "amdgcn-amd-amdhsa--gfx942"
  .text
  .globl late_read
  .p2align 8
  .type late_read,@function
late_read:
  s_load_dwordx2 s[2:3], s[0:1], 0x0
  v_lshlrev_b32_e32 v1, 2, v0
  v_xor_b32_e32 v2, 0x100, v1
  ds_write_b32 v1, v0
  s_waitcnt lgkmcnt(0)
  s_barrier
  v_add_u32_e32 v3, 7, v0
  ds_write_b32 v1, v3
  s_barrier
  .rept 400
  s_nop 0
  .endr
  ds_read_b32 v4, v2
  s_waitcnt lgkmcnt(0)
  global_store_dword v1, v4, s[2:3]
  s_endpgm
.Lend:
  .size late_read, .Lend-late_read

  .rodata
  .p2align 6
  .amdhsa_kernel late_read
    .amdhsa_next_free_vgpr 8
    .amdhsa_next_free_sgpr 8
    .amdhsa_accum_offset 8
    .amdhsa_user_sgpr_kernarg_segment_ptr 1
    .amdhsa_kernarg_size 8
    .amdhsa_group_segment_fixed_size 512
  .end_amdhsa_kernel

  .amdgpu_metadata

amdhsa.version: [1, 2]
amdhsa.kernels:
  - {.name: late_read, .symbol: late_read.kd, .kernarg_segment_size: 8, .group_segment_fixed_size: 512,
     .private_segment_fixed_size: 0, .kernarg_segment_align: 8, .wavefront_size: 64, .sgpr_count: 8, .vgpr_count: 8,
     .max_flat_workgroup_size: 128,
     .args: [{.name: out, .offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global}]}

  .end_amdgpu_metadata
