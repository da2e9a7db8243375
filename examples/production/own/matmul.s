// f16 [16, 16] times the transpose of f16 [16, 16], to f32, by one matrix instruction.
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  s_load_dwordx2 s[8:9], s[0:1], 0x10
  v_and_b32 v0, 63, v0
  v_and_b32 v1, 15, v0
  v_lshrrev_b32 v2, 4, v0
  v_lshlrev_b32 v3, 5, v1
  v_lshl_add_u32 v3, v2, 3, v3
  s_waitcnt lgkmcnt(0)
  global_load_dwordx2 v[4:5], v3, s[4:5]
  global_load_dwordx2 v[6:7], v3, s[6:7]
  v_lshlrev_b32 v8, 2, v1
  v_lshl_add_u32 v8, v2, 8, v8
  s_waitcnt vmcnt(0)
  v_mfma_f32_16x16x16_f16 v[12:15], v[4:5], v[6:7], 0
  s_nop 15
  global_store_dword v8, v12, s[8:9]
  global_store_dword v8, v13, s[8:9] offset:64
  global_store_dword v8, v14, s[8:9] offset:128
  global_store_dword v8, v15, s[8:9] offset:192
  s_endpgm
