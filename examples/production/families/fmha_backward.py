# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The three steps of attention backward (folder `fmha_v3_bwd`): row sums of O * dO, the gradients, and dQ from f32 to bf16.
Arguments: csrc/cpp_itfs/mha_bwd.cu."""
import numpy as np

from description import Expected, Kernel, Launch
from families.attention import gradients
from formats import F32, from_bf16, random_bf16, to_bf16

SUMS = "f32 sums of 128 products of bf16: relative 1e-5, and 1e-4 where they cancel"
ROUNDED = "P and dS are rounded to bf16 before their matmuls: 2^-6, and 2^-6 of the largest"
EXACT = "one rounding to nearest even: the same bits"


STARTS = ("ptr_seqstart_q", "ptr_seqstart_k", "ptr_seqstart_q_padded", "ptr_seqstart_k_padded",  # of groups
          "ptr_qseq", "ptr_kseq", "ptr_qseq_padded", "ptr_kseq_padded")
MASK = ("mask_x", "mask_y")


def row_sums(b, rows, heads, d):
    random = np.random.default_rng(rows)
    (out, o), (d_out, do) = (random_bf16(random, (b, rows, heads, d)) for _ in range(2))
    want, row = np.einsum("bqhd,bqhd->bhq", o, do), heads * d * 2
    arguments = {0: out, 16: d_out, 32: f"f32[{b},{heads},{rows}]", 48: d * 2, 64: rows * row, 80: row, 96: d * 2,
                 112: rows * row, 128: row, 144: rows * 4, 160: heads * rows * 4, 176: 4, 192: rows, 208: d}
    return Launch((-(-rows // 128), heads, b), 256, arguments, {32: Expected(want, 1e-5, 1e-4, SUMS)}, zeros=STARTS)


def convert(b, rows, heads, d):
    """f32 [b, h, s, d] to bf16 [b, s, h, d]."""
    sums = np.random.default_rng(rows).standard_normal((b, heads, rows, d)).astype(np.float32)
    row = heads * d * 2
    arguments = {0: sums, 16: f"ui16[{b},{rows},{heads},{d}]", 32: rows * d * 4, 48: heads * rows * d * 4, 64: d * 4,
                 80: d * 2, 96: rows * row, 112: row, 128: rows, 144: d}
    want = Expected(to_bf16(sums).transpose(0, 2, 1, 3), 0, 0, EXACT)
    return Launch((-(-rows // 64), heads, b), 256, arguments, {16: want}, zeros=STARTS)


def gradient(b, rows, heads, d, tile):
    """dQ is summed in f32 [b, h, s, d] by atomics, in an order that is not fixed."""
    random = np.random.default_rng(rows)
    bits, (q, k, v, d_out) = zip(*(random_bf16(random, (b, rows, heads, d)) for _ in range(4)))
    dq, dk, dv, lse, delta = gradients(q, k, v, d_out, 1 / np.sqrt(d))
    row, out = heads * d * 2, f"ui16[{b},{rows},{heads},{d}]"
    arguments = {0: f"zeros:f32[{b},{heads},{rows},{d}]", 0x10: out, 0x20: out, 0x70: lse.astype(np.float32),
                 0x80: delta.astype(np.float32), 0x90: F32(1 / np.sqrt(d)), 0xa0: F32(np.log2(np.e)), 0xb0: rows,
                 0xc0: tile * row, 0x100: 1, 0x140: row, 0x150: rows, 0x160: d, 0x170: d, 0x180: heads, 0x240: rows * 4,
                 0x290: rows}
    arguments.update(zip((0x30, 0x40, 0x50, 0x60), bits))
    for first, count in ((0xd0, 3), (0x110, 3), (0x190, 3), (0x1c0, 3), (0x1f0, 2), (0x210, 3)):
        arguments.update(zip(range(first, first + 16 * count, 16), (d * 2, rows * row, row)))
    expected = {offset: Expected(want, 2.0 ** -6, 2.0 ** -6 * np.abs(want).max(), ROUNDED, decode)
                for offset, want, decode in ((0, dq, None), (0x10, dk, from_bf16), (0x20, dv, from_bf16))}
    return Launch((-(-rows // tile), heads, b), 256, arguments, expected, allow_different=(0,),
                  zeros=STARTS + MASK)


def kernel(chip, name, make, tolerance):
    return Kernel("fmha_v3_bwd", name, chip, f"{chip}/fmha_v3_bwd/bwd_{name}.co", make, tolerance)


def kernels():
    steps = [kernel(chip, "hd128_odo_bf16", lambda: row_sums(2, 150, 2, 112), SUMS) for chip in ("gfx942", "gfx950")]
    steps += [kernel("gfx942", "hd128_dq_convert_bf16_rtne", lambda: convert(2, 100, 2, 112), EXACT),
              kernel("gfx950", "hd128_dq_convert_bf16", lambda: convert(2, 100, 2, 112), EXACT),
              kernel("gfx942", "hd128_bf16_a32_rtne", lambda: gradient(1, 384, 2, 128, 192), ROUNDED),
              kernel("gfx950", "hd128_bf16_a32_psskddv", lambda: gradient(1, 300, 1, 128, 256), ROUNDED)]
    return steps
