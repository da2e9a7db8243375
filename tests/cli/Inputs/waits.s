// A load's result is used after a wait that also waits for the next load; another wait is for that one.
.amdgcn_target "amdgcn-amd-amdhsa--gfx942"
.text
.globl early
.p2align 8
.type early,@function
early:
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  v_lshlrev_b32 v0, 2, v0
  s_waitcnt lgkmcnt(0)
  global_load_dword v1, v0, s[4:5]
  global_load_dword v2, v0, s[4:5] offset:256
  s_waitcnt vmcnt(0)
  v_add_f32 v3, v1, v1
  s_waitcnt vmcnt(0)
  v_add_f32 v3, v3, v2
  global_store_dword v0, v3, s[6:7]
  s_waitcnt vmcnt(0)
  s_endpgm
.rodata
.p2align 6
.amdhsa_kernel early
  .amdhsa_next_free_vgpr 8
  .amdhsa_next_free_sgpr 8
  .amdhsa_accum_offset 8
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_kernarg_size 16
.end_amdhsa_kernel
.amdgpu_metadata
---
amdhsa.version: [1, 2]
amdhsa.kernels:
  - {.name: early, .symbol: early.kd, .kernarg_segment_size: 16, .group_segment_fixed_size: 0,
     .private_segment_fixed_size: 0, .kernarg_segment_align: 8, .wavefront_size: 64, .sgpr_count: 8, .vgpr_count: 8,
     .max_flat_workgroup_size: 64, .args: [
       {.name: x, .offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global},
       {.name: y, .offset: 8, .size: 8, .value_kind: global_buffer, .address_space: global}]}
...
.end_amdgpu_metadata
