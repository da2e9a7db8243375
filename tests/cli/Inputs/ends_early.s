; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
; Of two waves one ends after the first barrier, and the other goes on to a second.
  .amdgcn_target "amdgcn-amd-amdhsa--gfx942"
  .text
  .globl ends_early
  .p2align 8
  .type ends_early,@function
ends_early:
  v_readfirstlane_b32 s4, v0
  s_barrier
  s_cmp_lt_u32 s4, 64
  s_cbranch_scc1 1f
  s_barrier
1:
  s_endpgm
.Lend:
  .size ends_early, .Lend-ends_early

  .rodata
  .p2align 6
  .amdhsa_kernel ends_early
    .amdhsa_next_free_vgpr 4
    .amdhsa_next_free_sgpr 8
    .amdhsa_accum_offset 4
    .amdhsa_user_sgpr_kernarg_segment_ptr 1
    .amdhsa_group_segment_fixed_size 64
  .end_amdhsa_kernel

  .amdgpu_metadata

amdhsa.version: [1, 2]
amdhsa.kernels:
  - {.name: ends_early, .symbol: ends_early.kd, .kernarg_segment_size: 0, .group_segment_fixed_size: 64,
     .private_segment_fixed_size: 0, .kernarg_segment_align: 8, .wavefront_size: 64, .sgpr_count: 8, .vgpr_count: 4,
     .max_flat_workgroup_size: 128, .args: []}

  .end_amdgpu_metadata
