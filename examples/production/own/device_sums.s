// Of 4 devices each sums its 64 of 256 numbers of all devices, and stores the sums to all. It counts its arrival on each device by
// a scalar atomic operation, waits until all have arrived at its own counter, and sets that to 0.
  s_load_dwordx8 s[4:11], s[0:1], 0x0
  s_waitcnt lgkmcnt(0)
  s_load_dwordx8 s[16:23], s[4:5], 0x0
  s_lshl_b32 s12, s10, 8
  v_lshl_add_u32 v1, v0, 2, s12
  s_waitcnt lgkmcnt(0)
  global_load_dword v3, v1, s[16:17]
  global_load_dword v4, v1, s[18:19]
  global_load_dword v5, v1, s[20:21]
  global_load_dword v6, v1, s[22:23]
  s_waitcnt vmcnt(2)
  v_add_f32 v3, v3, v4
  s_waitcnt vmcnt(1)
  v_add_f32 v3, v3, v5
  s_waitcnt vmcnt(0)
  v_add_f32 v3, v3, v6
  global_store_dword v1, v3, s[16:17]
  global_store_dword v1, v3, s[18:19]
  global_store_dword v1, v3, s[20:21]
  global_store_dword v1, v3, s[22:23]
  s_load_dwordx8 s[16:23], s[6:7], 0x0
  s_mov_b32 s12, 1
  s_waitcnt vmcnt(0) lgkmcnt(0)
  s_atomic_add s12, s[16:17], 0x0
  s_atomic_add s12, s[18:19], 0x0
  s_atomic_add s12, s[20:21], 0x0
  s_atomic_add s12, s[22:23], 0x0
wait:
  s_load_dword s13, s[8:9], 0x0 glc
  s_waitcnt lgkmcnt(0)
  s_cmp_lg_u32 s13, 4
  s_cbranch_scc1 wait
  s_mov_b32 s12, 0
  s_store_dword s12, s[8:9], 0x0 glc
  s_endpgm
