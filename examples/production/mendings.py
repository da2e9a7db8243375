# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What docs/production.md says is missing, put in: with these changes `heddle check` must find no more than what remains, and
the results must be right under the default schedule too."""
from dataclasses import dataclass

BARRIER, LDS, MEMORY, BOTH = "0xbf8a0000", "0xbf8cc07f", "0xbf8c0f70", "0xbf8c0070"  # s_barrier, s_waitcnt of the counters
ONE_ROW, ALL_LANES = "0xbeff0080,0x917e8090", "0xbefe01c1"  # only lanes 0 to 15 are active; all are


@dataclass(frozen=True)
class Mending:
    """`entries` are those of docs/production.md that the changes prove, `remains` the kinds of findings that are another's."""
    entries: str
    changes: tuple
    remains: tuple = ()


def before(instructions, *addresses):
    return tuple(f"{address}+{instructions}" for address in addresses)


def counts(counter, count, *addresses):
    return tuple(f"{address}={counter}({count})" for address in addresses)


DECODE_16 = Mending("M1", counts("lgkmcnt", 4, "0x38d0", "0x5008", "0x44a4", "0x5bdc"))
DECODE_128 = Mending("M2", ("0x2860=vmcnt(18)",))
PREFILL_16, PREFILL_128 = Mending("M2", ("0x2884=vmcnt(18)",)), Mending("M2", ("0x2888=vmcnt(18)",))
PERSISTENT_BF16 = Mending("M2", ("0x31f4=vmcnt(18)",))
PAGED = Mending("P1", counts("vmcnt", 23, "0x36dc", "0x4efc"))
EXPERTS_SILU = Mending("E2", ("0x5684-0x8990=vmcnt(30>26)", *before(f"{LDS},{BARRIER}", "0x54b0", "0x83d4")))
EXPERTS_GELU = Mending("E2", ("0x5a84-0x8ff0=vmcnt(30>26)", *before(f"{LDS},{BARRIER}", "0x58b0", "0x8bd4")))
STAGE_FP8 = Mending("E4, E5", before(f"{BOTH},{BARRIER}", "0x3d0c", "0x54f4"))
STAGE_INT8 = Mending("E4, E5", before(f"{BOTH},{BARRIER}", "0x3d8c", "0x55f4"))
STAGE_16 = Mending("E4", before(MEMORY, "0x3be8", "0x4e40"))
STAGE_BLOCKS = Mending("E4", before(MEMORY, "0x5df8", "0x9e80"))

FOR_BOTH_CHIPS = {
    "mla/mla_dec_stage1_bf16_a16w16_subQ16_mqa16.co": DECODE_16,
    "mla/mla_dec_stage1_bf16_a16w16_subQ128_mqa128.co": DECODE_128,
    "mla/mla_pfl_bf16_a16w16_causal_subQ16_mqa16.co": PREFILL_16,
    "mla/mla_pfl_bf16_a16w16_causal_subQ128_mqa128.co": PREFILL_128,
    "mla/mla_a16w16_qh16_m16x4_n16x1_coex0_mask1_ps.co": PERSISTENT_BF16,
    "pa/pa_bf16_noquant_gqa8_1tg_4w.co": PAGED,
    "pa/pa_bf16_pertokenFp8_gqa16_2tg_4w.co": Mending("P2", before(LDS, "0x5f8c")),
    "pa/pa_bf16_pertokenInt8_gqa16_2tg_4w.co": Mending("P2", before(LDS, "0x637c")),
    "fmoe/silu/fmoe_bf16_noquantBf16_g1u0_vs_atm_inlv_silu_1tg_32x512.co": EXPERTS_SILU,
    "fmoe/gelu/fmoe_bf16_noquantBf16_g1u0_vs_atm_inlv_gelu_1tg_32x512.co": EXPERTS_GELU,
    "fmoe_2stages/fmoe_stage1_bf16_pertokenFp8_g1u1_32x128_3tg_pf2.co": STAGE_FP8,
    "fmoe_2stages/fmoe_stage1_bf16_pertokenInt8_g1u1_32x128_3tg_pf2.co": STAGE_INT8,
    "fmoe_2stages/fmoe_stage1_bf16_pertokenFp8_g1u1_16x128_4tg_pf3.co": STAGE_16,
    "fmoe_2stages/fmoe_stage1_bf16_pertokenFp8_blockscale_g1u1_32x256_2tg_pf3.co": STAGE_BLOCKS,
}

# The checks of these have findings although nothing is missing: C1 and T1.
NOTHING_MISSING = ("gfx942/all_reduce.co", "gfx942/allreduce_rmsnorm_N8192.co",
                   "gfx942/topk_per_row_decode/asm_top_k_per_row_decode.co")

MENDINGS = {
    **{f"{chip}/{name}": mending for chip in ("gfx942", "gfx950") for name, mending in FOR_BOTH_CHIPS.items()},
    "gfx942/i8gemm/I8gemm_bf16_perTokenI8_BpreShuffle_112x256.co": Mending("G1", before(BARRIER, "0x2984", "0x28c8")),
    "gfx942/gemm_a8w8_m128_noSplitK.co": Mending("G2", before(f"{BOTH},{BARRIER}", "0x2fd8")),
    "gfx942/gemm_a8w8_m128_splitK.co": Mending("G2", before(f"{BOTH},{BARRIER}", "0x3088"), ("uninitialised",)),
    "gfx950/f8_block_scale_mi350_x32.co": Mending("G4", before(f"{BOTH},{BARRIER}", "0x34d4", "0x45a8")),
    "gfx950/f8_block_scale_mi350_x64.co": Mending("G4", before(f"{BOTH},{BARRIER}", "0x3ad0", "0x5994")),
    "gfx950/f8_block_scale_mi350_x96.co": Mending("G4", before(f"{BOTH},{BARRIER}", "0x40d4", "0x6d88")),
    "gfx950/f8_block_scale_mi350_x128.co": Mending("G4", before(f"{BOTH},{BARRIER}", "0x46d0", "0x8174")),
    "gfx950/fmha_v3_fwd/fwd_hd128_bf16_causal.co": Mending("A1", before(BARRIER, "0x7e94")),
    "gfx950/fmha_v3_fwd/fwd_hd192_hd128_bf16_causal.co": Mending("A3", (
        *before(BARRIER, "0x43fc", "0x4a30", "0xe5e4"), "0x75c0=lgkmcnt(0)", *before(LDS, "0xb124"))),
    "gfx950/fmha_v3_fwd/fwd_hd192_hd128_bf16_group.co": Mending("A3", (
        *before(BARRIER, "0x40b4", "0x4310"), "0x5c98=lgkmcnt(0)", *before(LDS, "0x82bc"))),
    "gfx950/fmha_v3_fwd/fwd_hd128_fp8.co": Mending("A2, A4", (
        "0x4a3c-0x9fd4=lgkmcnt(8>4)", "0x4a3c-0x9fd4=lgkmcnt(6>2)", "0x60f4>0x5fd8")),
    "gfx950/fmha_v3_fwd/fwd_hd128_fp8_group.co": Mending("A2, A4", (
        "0x4c00-0xa198=lgkmcnt(8>4)", "0x4c00-0xa198=lgkmcnt(6>2)", "0x9568>0x944c")),
    "gfx942/fmha_v3_bwd/bwd_hd128_dq_convert_bf16_rtne.co": Mending("B1", before(
        LDS, "0x245c", "0x25dc", "0x2750", "0x28d0", "0x2a44", "0x2bc4", "0x2d38", "0x2eb8")),
    "gfx942/fmha_v3_bwd/bwd_hd128_dq_convert_bf16_rtne_group.co": Mending("B1", before(
        LDS, "0x24b0", "0x2630", "0x27a4", "0x2924", "0x2a98", "0x2c18", "0x2d8c", "0x2f0c")),
    "gfx942/fmha_v3_bwd/bwd_hd128_bf16_a32_rtne.co": Mending("B2", counts(
        "lgkmcnt", 0, "0x6780", "0x7e58", "0x5c1c", "0x72f4")),
    "gfx950/fmha_v4_fwd/fwd_hd128_i8fp8.co": Mending("Q1", ("0xbb18>0xb9b4",)),
    "gfx950/fmha_v4_fwd/fwd_hd128_fp8.co": Mending("Q1", ("0xad90>0xac4c",)),
    "gfx950/fmha_v4_fwd/fwd_hd128_mxfp8.co": Mending("Q1", ("0xad04>0xabc0",)),
    "gfx950/fmha_v4_fwd/fwd_hd128_f8f6.co": Mending("Q1", ("0x5da0>0x5c50",)),
    "gfx950/fmha_v4_fwd/fwd_hd128_mxfp6.co": Mending("Q1, Q2, Q7", (
        *counts("lgkmcnt", 4, "0x28a0", "0x5434", "0x91d4", "0xae64"), "0xa250>0xa0bc", *before(LDS, "0xaf5c"))),
    "gfx950/fmha_v4_fwd/fwd_hd128_f6f4.co": Mending("Q1, Q2", (
        "0x2000-0x8ffc=lgkmcnt(8>4)", "0x2000-0x8ffc=lgkmcnt(6>4)", "0x54bc>0x53a8")),
    "gfx950/fmha_v4_fwd/fwd_hd128_mxfp4.co": Mending("Q1", ("0x9d78>0x9c50",), ("misaligned", "bounds")),
    "gfx950/fmha_v4_fwd/fwd_hd128_f4f4.co": Mending("Q3", ("0x5d24=vmcnt(3)",)),
    "gfx950/mla/mla_a16w16_qh8_qseqlen1_gqaratio8_v3.co": Mending("M1", counts("lgkmcnt", 4, "0x3c60", "0x5398")),
    "gfx942/mla/mla_a8w8_qh128_m32x4_n16x2_msk1.co": Mending("M2, M3", (
        "0x37f0=vmcnt(18)", *counts("lgkmcnt", 2, "0x3a54", "0x6334", "0x4ebc", "0x779c"))),
    "gfx950/mla/mla_a8w8_qh128_m32x4_n16x2_msk1.co": Mending("M2, M3", (
        "0x37f0=vmcnt(18)", *counts("lgkmcnt", 2, "0x3a4c", "0x632c", "0x4eb4", "0x7794"))),
    "gfx942/mla/mla_a8w8_qh16_qseqlen1_gqaratio16.co": Mending("M4, M7", (
        *counts("lgkmcnt", 2, "0x3a44", "0x440c", "0x4da4", "0x576c"),
        *before(BARRIER, "0x3944", "0x430c", "0x4c9c", "0x5664"))),
    "gfx950/mla/mla_a8w8_qh16_qseqlen1_gqaratio16.co": Mending("M4, M5, M10", (
        *counts("lgkmcnt", 0, "0x3840", "0x4968"),
        *before(BARRIER, "0x3844", "0x496c", "0x3e74", "0x4f9c", "0x5d9c", "0x62c8", "0x63c4"), *before(ONE_ROW, "0x6684"))),
    "gfx942/mla/mla_a8w8_qh16_qseqlen1_gqaratio16_ps.co": Mending("M4, M7", (
        *counts("lgkmcnt", 2, "0x3ab8", "0x4e18"), *before(BARRIER, "0x39b8", "0x4d10"))),
    "gfx950/mla/mla_a8w8_qh16_qseqlen1_gqaratio16_ps.co": Mending("M4, M10", (
        *before(BARRIER, "0x5c08", "0x6138", "0x6234"), *before(ONE_ROW, "0x64bc"), *before(ALL_LANES, "0x6a5c"))),
    "gfx950/mla/mla_a8w8_qh8_qseqlen1_gqaratio8_v3.co": Mending("M6, M10", (
        "0x2f68=lgkmcnt(0)", "0x3014-0x828c=lgkmcnt(4>0)", "0x8c6c=vmcnt(0)",
        *before(BARRIER, "0x3714", "0x411c", "0x553c", "0x5f44", "0x8998", "0x8e84"),
        *before(f"{BARRIER},{ONE_ROW}", "0x8c64"), *before(ALL_LANES, "0x8c6c"))),
    "gfx950/mla/mla_pfl_qh192_vh128_m32x8_n128x1_causal0.co": Mending("M9", before(BARRIER, "0x8cf4")),
    "gfx950/mla/mla_pfl_qh192_vh128_m32x8_n128x1_causal1.co": Mending("M9", before(BARRIER, "0x8d54")),
    "gfx950/mla_v4/mla_a8w8_qh64_qseqlen1_gqaratio64_nm.co": Mending("M8, M10", (
        *before(LDS, "0x8dd0", "0xca88", "0x1075c"), *before(ONE_ROW, "0x1af20"), *before(ALL_LANES, "0x1af28"))),
    "gfx942/allreduce_rmsnorm_qnt_N8192.co": Mending("N1", before(BARRIER, "0x3da4"), ("lost-update",)),
    "gfx950/fmoe/silu/fmoe_bf16_pertokenFp8_g1u1_vs_silu_1tg_32x128.co": Mending("E1", before(LDS, "0x4d70", "0x6e64")),
    "gfx950/fmoe/gelu/fmoe_bf16_pertokenFp8_g1u1_vs_gelu_1tg_32x128.co": Mending("E1", before(LDS, "0x4e70", "0x7064")),
    "gfx942/fmoe_b16.co": Mending("E2", ("0x5790-0x8e9c=vmcnt(30>26)", *before(f"{LDS},{BARRIER}", "0x55bc", "0x88e0"))),
    "gfx942/fmoe/silu/fmoe_bf16_blockscaleFp8_g1u1_vs_silu_1tg_32x256.co": Mending("E3", before(BARRIER, "0x5310", "0x85c8")),
    "gfx950/fmoe/silu/fmoe_bf16_blockscaleFp8_g1u1_vs_silu_1tg_32x256.co": Mending("E3", before(BARRIER, "0x4e18", "0x7084")),
    "gfx950/fmoe/silu/fmoe_bf16_blockscaleFp8_g1u1_novs_silu_1tg_32x256.co": Mending("E3", before(BARRIER, "0x4e00", "0x7054")),
}
