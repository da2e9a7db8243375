# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attention in group mode (folders `fmha_v3_fwd` and `fmha_v3_bwd`, `_group`): sequences of several lengths one after the other
in one buffer. Arguments: csrc/cpp_itfs/mha_fwd.cu, csrc/cpp_itfs/mha_bwd.cu, csrc/include/mha_bwd.h."""
import numpy as np

from description import Expected, Kernel, Launch
from families.attention import attend, gradients
from families.fmha_backward import EXACT, MASK, ROUNDED, SUMS
from families.fmha_forward import DESCALES, EARLY, IN_TURNS, ROW_SUM, Case, reason, strides, tuning
from formats import F32, from_bf16, random_bf16, random_fp8, to_bf16

LOG2E = float(np.log2(np.e))


def starts_of(lengths):
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)


def parts(tensor, starts):
    """[tokens, ...] as one [1, s, ...] for each sequence."""
    return [tensor[None, first:end] for first, end in zip(starts[:-1], starts[1:])]


def forward(case, lengths):
    """`lengths`: of queries and of keys, a pair for each sequence."""
    rows, columns = (starts_of(one) for one in zip(*lengths))
    random = np.random.default_rng(int(rows[-1] + columns[-1]))
    q_heads, kv_heads, dq, dv = case.shape[3:]
    shapes = ((rows[-1], q_heads, dq), (columns[-1], kv_heads, dq), (columns[-1], kv_heads, dv))
    tensors = [random_fp8(random, one, case.chip, 2.0) if case.fp8 else random_bf16(random, one) for one in shapes]
    (qb, q), (kb, k), (vb, v) = tensors
    most_rows, most_columns = (int(np.diff(one).max()) for one in (rows, columns))
    of_strides = {offset: value for offset, value in strides(case).items() if offset not in (160, 224, 368, 416)}
    arguments = {0: f"ui16[{rows[-1]},{q_heads},{dv}]", 16: qb, 32: kb, 48: vb, 64: f"f32[{q_heads},{rows[-1]}]",
                 80: F32(1 / np.sqrt(dq)), 96: most_rows, 176: q_heads // kv_heads, 240: tuning(case), 256: 1,
                 272: most_columns, 288: dq, 304: dv, 320: q_heads, **of_strides, 432: rows, 448: columns,
                 464: int(rows[-1]) * 4, 480: rows, 496: columns}
    if case.fp8:
        scales = [np.full(1, scale, np.float32) for scale in (0.7, 0.9, 1.1)]
        q, k, v = (values * scale for values, scale in zip((q, k, v), scales))
        arguments.update(zip((512, 528, 544), scales))
    found = [attend(*one, 1 / np.sqrt(dq), case.causal) for one in zip(parts(q, rows), parts(k, columns), parts(v, columns))]
    want, lse = np.concatenate([one[0][0] for one in found]), np.concatenate([one[1][0] for one in found], 1)
    absolute = (2.0 ** -4 if case.fp8 else 2.0 ** -8) * np.abs(v).max() / 2
    expected = {0: Expected(want, 2.0 ** -7, absolute, reason(case), from_bf16),
                64: Expected(lse, 1e-3 if case.fp8 else 1e-4, 1e-3, ROW_SUM.format("1e-3" if case.fp8 else "1e-4"))}
    tiles = -(-most_rows // case.tile)
    in_pairs = case.causal and not case.wide_on_942
    return Launch((q_heads, len(lengths), -(-tiles // 2) if in_pairs else tiles), 256 if dq == 192 else 512, arguments, expected,
                  zeros=("Bs", "k_Bs", "v_Bs", "r_Bs", "s_Bs", "s_k_Bs", "s_v_Bs", "s_o_Bs") + DESCALES)


def backward(lengths, heads, d, tile):
    """dQ is summed in f32 [h, tokens, d] by atomics, in an order that is not fixed."""
    starts = starts_of(lengths)
    tokens, most = int(starts[-1]), max(lengths)
    random = np.random.default_rng(tokens)
    bits, (q, k, v, d_out) = zip(*(random_bf16(random, (tokens, heads, d)) for _ in range(4)))
    found = [gradients(*one, 1 / np.sqrt(d)) for one in zip(*(parts(x, starts) for x in (q, k, v, d_out)))]
    dq, lse, delta = (np.concatenate([one[i][0] for one in found], 1) for i in (0, 3, 4))
    dk, dv = (np.concatenate([one[i][0] for one in found]) for i in (1, 2))
    row, out = heads * d * 2, f"ui16[{tokens},{heads},{d}]"
    arguments = {0: f"zeros:f32[{heads},{tokens},{d}]", 0x10: out, 0x20: out, 0x70: lse.astype(np.float32),
                 0x80: delta.astype(np.float32), 0x90: F32(1 / np.sqrt(d)), 0xa0: F32(LOG2E), 0xb0: tokens,
                 0xc0: tile * row, 0x100: 1, 0x140: row, 0x150: tokens, 0x160: d, 0x170: d, 0x180: heads, 0x240: tokens * 4,
                 0x250: starts, 0x260: starts, 0x270: starts, 0x280: starts, 0x290: most}
    arguments.update(zip((0x30, 0x40, 0x50, 0x60), bits))
    for first, count in ((0xd0, 3), (0x110, 3), (0x190, 3), (0x1c0, 3), (0x1f0, 2), (0x210, 3)):
        arguments.update(zip(range(first, first + 16 * count, 16), (d * 2, 0, row)))
    expected = {offset: Expected(want, 2.0 ** -6, 2.0 ** -6 * np.abs(want).max(), ROUNDED, decode)
                for offset, want, decode in ((0, dq, None), (0x10, dk, from_bf16), (0x20, dv, from_bf16))}
    return Launch((-(-most // tile), heads, len(lengths)), 256, arguments, expected, allow_different=(0,),
                  zeros=MASK)


def row_sums(lengths, heads, d):
    starts = starts_of(lengths)
    tokens = int(starts[-1])
    random = np.random.default_rng(tokens)
    (out, o), (d_out, do) = (random_bf16(random, (tokens, heads, d)) for _ in range(2))
    row = heads * d * 2
    arguments = {0: out, 16: d_out, 32: f"f32[{heads},{tokens}]", 48: d * 2, 80: row, 96: d * 2, 128: row, 144: tokens * 4,
                 176: 4, 192: tokens, 208: d, 224: starts, 240: starts}
    want = np.einsum("qhd,qhd->hq", o, do)
    return Launch((-(-max(lengths) // 128), heads, len(lengths)), 256, arguments, {32: Expected(want, 1e-5, 1e-4, SUMS)})


def convert(lengths, heads, d):
    """f32 [h, tokens, d] to bf16 [tokens, h, d]."""
    starts = starts_of(lengths)
    tokens = int(starts[-1])
    sums = np.random.default_rng(tokens).standard_normal((heads, tokens, d)).astype(np.float32)
    arguments = {0: sums, 16: f"ui16[{tokens},{heads},{d}]", 32: tokens * d * 4, 64: d * 4, 80: d * 2, 112: heads * d * 2,
                 128: tokens, 144: d, 160: starts, 176: starts}
    want = Expected(to_bf16(sums).transpose(1, 0, 2), 0, 0, EXACT)
    return Launch((-(-max(lengths) // 64), heads, len(lengths)), 256, arguments, {16: want})


FORWARD = (
    (Case("gfx942", "MI300/fwd_hd128_bf16_rtne_group", (1, 0, 0, 2, 1, 128, 128)), [(150, 180), (70, 40)]),
    (Case("gfx942", "MI300/fwd_hd128_bf16_causal_rtna_group", (1, 0, 0, 2, 2, 128, 128), causal=True), [(150, 180), (90, 90)]),
    (Case("gfx942", "MI300/fwd_hd192x128_bf16_rtz_group", (1, 0, 0, 1, 1, 192, 128), tile=128), [(100, 160), (60, 70)]),
    (Case("gfx950", "fwd_hd128_bf16_group", (1, 0, 0, 2, 1, 128, 128)), [(150, 180), (70, 140)]),
    (Case("gfx950", "fwd_hd128_bf16_causal_group", (1, 0, 0, 2, 1, 128, 128), causal=True), [(150, 180), (90, 130)]),
    (Case("gfx950", "fwd_hd192_hd128_bf16_group", (1, 0, 0, 1, 1, 192, 128), tile=128, schedule=IN_TURNS),
     [(100, 160), (60, 200)]),
    (Case("gfx950", "fwd_hd128_fp8_group", (1, 0, 0, 1, 1, 128, 128), fp8=True), [(150, 180), (70, 140)]))


def forward_kernels():
    return [Kernel("fmha_v3_fwd-group", case.name.removeprefix("MI300/"), case.chip, f"{case.chip}/fmha_v3_fwd/{case.name}.co",
                   lambda case=case, lengths=lengths: forward(case, lengths), reason(case), schedule=case.schedule,
                   note=EARLY if case.schedule else "") for case, lengths in FORWARD]


def kernels():
    """With the bytes of arguments where the metadata call a pointer a number of 4 bytes."""
    steps = [(chip, "hd128_odo_bf16_group", lambda: row_sums([150, 60], 2, 112), SUMS, 256) for chip in ("gfx942", "gfx950")]
    steps += [("gfx942", "hd128_dq_convert_bf16_rtne_group", lambda: convert([100, 70], 2, 112), EXACT, 192),
              ("gfx950", "hd128_dq_convert_bf16_group", lambda: convert([100, 70], 2, 112), EXACT, 192),
              ("gfx942", "hd128_bf16_a32_rtne_pssk_group", lambda: backward([200, 100], 1, 128, 192), ROUNDED, 0),
              ("gfx950", "hd128_bf16_a32_psskddv_group", lambda: backward([200, 100], 1, 128, 256), ROUNDED, 0x2c0)]
    return forward_kernels() + [Kernel("fmha_v3_bwd-group", name, chip, f"{chip}/fmha_v3_bwd/bwd_{name}.co", make, tolerance,
                                       segment=segment) for chip, name, make, tolerance, segment in steps]
