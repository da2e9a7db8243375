; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
; `fillers` has arguments with one name for all fillers, and a pointer of which the metadata know 4 bytes. `untold` has
; no arguments in its metadata, and reads 72 bytes of them.
  .amdgcn_target "amdgcn-amd-amdhsa--gfx942"
  .text
  .globl fillers
  .p2align 8
  .type fillers,@function
fillers:
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  s_load_dword s6, s[0:1], 0x10
  s_load_dwordx2 s[8:9], s[0:1], 0x20
  s_load_dword s10, s[0:1], 0x8
  s_load_dword s11, s[0:1], 0x18
  s_waitcnt lgkmcnt(0)
  s_cmp_eq_u64 s[8:9], 0
  s_cbranch_scc1 1f
  s_load_dword s7, s[8:9], 0x0
  s_waitcnt lgkmcnt(0)
  s_add_u32 s6, s6, s7
1:
  v_mov_b32 v0, 0
  v_mov_b32 v2, s6
  v_mov_b32 v3, s10
  v_mov_b32 v4, s11
  global_store_dwordx3 v0, v[2:4], s[4:5]
  s_endpgm
.Lfillers_end:
  .size fillers, .Lfillers_end-fillers

  .globl untold
  .p2align 8
  .type untold,@function
untold:
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  s_load_dword s6, s[0:1], 0x44
  s_waitcnt lgkmcnt(0)
  v_mov_b32 v0, 0
  v_mov_b32 v2, s6
  global_store_dword v0, v2, s[4:5]
  s_endpgm
.Luntold_end:
  .size untold, .Luntold_end-untold

  .rodata
  .macro descriptor name, bytes
  .amdhsa_kernel \name
    .amdhsa_kernarg_size \bytes
    .amdhsa_user_sgpr_count 2
    .amdhsa_user_sgpr_kernarg_segment_ptr 1
    .amdhsa_next_free_vgpr 8
    .amdhsa_next_free_sgpr 16
    .amdhsa_accum_offset 8
  .end_amdhsa_kernel
  .endm
  descriptor fillers, 40
  descriptor untold, 8

  .amdgpu_metadata
amdhsa.version: [1, 2]
amdhsa.target: amdgcn-amd-amdhsa--gfx942
amdhsa.kernels:
  - .name: fillers
    .symbol: fillers.kd
    .kernarg_segment_size: 40
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .max_flat_workgroup_size: 64
    .sgpr_count: 16
    .vgpr_count: 8
    .args:
      - {.name: out, .value_kind: global_buffer, .offset: 0, .size: 8, .address_space: global}
      - {.name: pad, .value_kind: by_value, .offset: 8, .size: 8}
      - {.name: n, .value_kind: by_value, .offset: 16, .size: 4}
      - {.name: pad, .value_kind: by_value, .offset: 20, .size: 12}
      - {.name: table, .value_kind: by_value, .offset: 32, .size: 4}
      - {.name: pad, .value_kind: by_value, .offset: 36, .size: 4}
  - .name: untold
    .symbol: untold.kd
    .kernarg_segment_size: 8
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .max_flat_workgroup_size: 64
    .sgpr_count: 16
    .vgpr_count: 8
  .end_amdgpu_metadata
