// Copies 64 numbers. VSKIP skips a second store, and the wait after it finds nothing to wait for.
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  v_and_b32 v0, 63, v0
  v_lshlrev_b32 v1, 2, v0
  s_waitcnt lgkmcnt(0)
  global_load_dword v2, v1, s[4:5]
  v_nop
  s_waitcnt vmcnt(0)
  global_store_dword v1, v2, s[6:7]
  s_setvskip -1, 0
  v_mov_b32 v2, 0
  global_store_dword v1, v2, s[6:7]
  s_setvskip 0, 0
  s_waitcnt vmcnt(0)
  s_endpgm
