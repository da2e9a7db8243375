// Sums up to a number by a loop of scalar instructions, and stores it by scalar stores: one through the scalar cache, which
// s_dcache_wb writes back, and one with glc; an atomic operation returns what was there.
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  s_waitcnt lgkmcnt(0)
  s_load_dword s8, s[4:5], 0x0 glc
  s_mov_b32 s9, 0
  s_waitcnt lgkmcnt(0)
sum:
  s_add_u32 s9, s9, s8
  s_sub_u32 s8, s8, 1
  s_cmp_lg_u32 s8, 0
  s_cbranch_scc1 sum
  s_store_dword s9, s[6:7], 0x0
  s_dcache_wb
  s_store_dword s9, s[6:7], 0x4 glc
  s_mov_b32 s10, s9
  s_waitcnt lgkmcnt(0)
  s_atomic_add s10, s[6:7], 0x8 glc
  s_waitcnt lgkmcnt(0)
  s_store_dword s10, s[6:7], 0xc glc
  s_endpgm
