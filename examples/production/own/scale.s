// Multiplies 64 numbers by one; between the arguments are fillers that all have one name.
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  s_load_dword s6, s[0:1], 0x10
  v_and_b32 v0, 63, v0
  v_lshlrev_b32 v1, 2, v0
  s_waitcnt lgkmcnt(0)
  global_load_dword v2, v1, s[4:5]
  s_waitcnt vmcnt(0)
  v_mul_f32 v2, s6, v2
  global_store_dword v1, v2, s[4:5]
  s_endpgm
