# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attention forward in bf16 and in 8-bit floats, with heads of 128 and 192 (folder `fmha_v3_fwd`), batch mode.
Arguments: csrc/cpp_itfs/mha_fwd.cu."""
from dataclasses import dataclass

import numpy as np

from description import Expected, Kernel, Launch
from families.attention import attend
from formats import F32, from_bf16, random_bf16, random_fp8

REASON = "P is rounded to {} before the second matmul and the result to bf16: 2^-7, and {} of half the largest value of V"
ROW_SUM = "log-sum-exp of f32 exponentials: {}, and 1e-3 near 0"
EARLY = "barriers are missing, so that waves must run in turns"


@dataclass
class Case:
    """batch, rows, columns, heads of Q, heads of K and V, and the two head sizes."""
    chip: str
    name: str
    shape: tuple
    causal: bool = False
    tile: int = 256
    fp8: bool = False
    schedule: str = ""

    @property
    def wide_on_942(self):
        return self.chip == "gfx942" and self.shape[5] == 192


def strides(case):
    """Strides in bytes of Q, K, V and the result, by the offset of their argument."""
    b, rows, columns, q_heads, kv_heads, dq, dv = case.shape
    size = 1 if case.fp8 else 2
    q, k, v, out = (q_heads * dq * size, kv_heads * dq * size, kv_heads * dv * size, q_heads * dv * 2)
    return {112: q, 128: case.tile * q, 144: dq * size, 160: rows * q, 192: k, 208: dq * size, 224: columns * k, 336: v,
            352: dv * size, 368: columns * v, 384: out, 400: dv * 2, 416: rows * out, 464: rows * 4}


def tuning(case):
    """The launch code's hint of how workgroups are ordered."""
    if case.wide_on_942:
        return 0
    return 3 if case.causal and case.shape[3] % 8 else 5


def grid(case):
    tiles = -(-case.shape[1] // case.tile)
    if case.wide_on_942:
        return case.shape[3], tiles, case.shape[0]
    return -(-tiles // 2) if case.causal else tiles, case.shape[3], case.shape[0]


STARTS = ("ptr_qseq", "ptr_kseq", "ptr_qseq_padding", "ptr_kseq_padding")  # of groups
DESCALES = ("s_descale_q_Bs", "s_descale_q_Hs", "s_descale_k_Bs", "s_descale_k_Hs", "s_descale_v_Bs", "s_descale_v_Hs")


def launch(case):
    b, rows, columns, q_heads, kv_heads, dq, dv = case.shape
    random = np.random.default_rng(rows + columns)
    shapes = ((b, rows, q_heads, dq), (b, columns, kv_heads, dq), (b, columns, kv_heads, dv))
    tensors = [random_fp8(random, one, case.chip, 2.0) if case.fp8 else random_bf16(random, one) for one in shapes]
    (qb, q), (kb, k), (vb, v) = tensors
    arguments = {0: f"ui16[{b},{rows},{q_heads},{dv}]", 16: qb, 32: kb, 48: vb, 64: f"f32[{b},{q_heads},{rows}]",
                 80: F32(1 / np.sqrt(dq)), 96: rows, 176: q_heads // kv_heads, 240: tuning(case), 256: 1, 272: columns,
                 288: dq, 304: dv, 320: q_heads, **strides(case)}
    if case.fp8:
        scales = [np.full(1, scale, np.float32) for scale in (0.7, 0.9, 1.1)]
        q, k, v = (values * scale for values, scale in zip((q, k, v), scales))
        arguments.update(zip((512, 528, 544), scales))
    want, lse, _ = attend(q, k, v, 1 / np.sqrt(dq), case.causal)
    absolute = (2.0 ** -4 if case.fp8 else 2.0 ** -8) * np.abs(v).max() / 2
    expected = {0: Expected(want, 2.0 ** -7, absolute, reason(case), from_bf16),
                64: Expected(lse, 1e-3 if case.fp8 else 1e-4, 1e-3, ROW_SUM.format("1e-3" if case.fp8 else "1e-4"))}
    return Launch(grid(case), 256 if dq == 192 else 512, arguments, expected, zeros=STARTS + DESCALES)


def reason(case):
    return REASON.format("8 bits", "2^-4") if case.fp8 else REASON.format("bf16", "2^-8")


IN_TURNS = "round-robin"
CASES = (
    Case("gfx950", "fwd_hd128_bf16", (1, 256, 256, 2, 1, 128, 128)),
    Case("gfx950", "fwd_hd128_bf16_causal", (1, 512, 512, 2, 1, 128, 128), causal=True, schedule=IN_TURNS),
    Case("gfx950", "fwd_hd192_hd128_bf16_causal", (1, 256, 256, 1, 1, 192, 128), causal=True, tile=128, schedule=IN_TURNS),
    Case("gfx950", "fwd_hd128_fp8", (1, 256, 256, 1, 1, 128, 128), fp8=True, schedule=IN_TURNS),
    Case("gfx942", "MI300/fwd_hd128_bf16_rtne", (1, 256, 256, 2, 1, 128, 128)),
    Case("gfx942", "MI300/fwd_hd128_bf16_causal_rtna", (1, 300, 300, 2, 2, 128, 128), causal=True),
    Case("gfx942", "MI300/fwd_hd192x128_bf16_rtz", (1, 128, 160, 1, 1, 192, 128), tile=128))


def kernels():
    return [Kernel("fmha_v3_fwd", case.name.removeprefix("MI300/"), case.chip, f"{case.chip}/fmha_v3_fwd/{case.name}.co",
                   lambda case=case: launch(case), reason(case), schedule=case.schedule, note=EARLY if case.schedule else "")
            for case in CASES]
