# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attention forward of quantised Q, K and V, heads of 128 (folder `fmha_v4_fwd`): int8, 8-, 6- and 4-bit floats, with scales
of tensors, of channels or, powers of two, of 32 numbers. Arguments: csrc/py_itfs_cu/asm_mha_v4_fwd.cu."""
from dataclasses import dataclass

import numpy as np

from description import Kernel, Launch, Slack
from families.attention import attend
from families.decode_attention import compare
from families.fmha_forward import DESCALES, STARTS
from families.fmha_v4_layouts import k_of_fp4, k_of_fp6, v_of_fp4, v_of_fp6
from formats import E2M1, E2M3, F32, from_bf16, pack_fp4, pack_fp6, random_fp8

HEAD, SOFTMAX = 128, 1 / np.sqrt(128)
REASON = ("powers of two are lines between whole exponents (up to 6.2% larger, 3.1% around the middle), P is rounded to 8 bits "
          "(six standard deviations) and may be 0 where it is below 2^-6 of the row's largest, and the result to bf16")
TABLES = {"fp6": E2M3, "fp4": E2M1}
PACK = {"fp6": pack_fp6, "fp4": pack_fp4}


@dataclass
class Case:
    """`qk` and `v`: types. `blocks`: Q and K have scales of 32 numbers, and Q has the factor of softmax. V has one scale, one
    for each channel, or for each channel and 32 tokens: `tensor`, `channels`, `blocks`. `pairs`: the scales of K are equal in
    pairs, because the kernel loads those of odd blocks from odd addresses through a buffer, which drops the low bits."""
    chip: str
    name: str
    qk: str
    v: str
    blocks: bool
    v_scale: str = "tensor"
    shape: tuple = (1, 256, 200, 2)
    pairs: bool = False
    schedule: str = "round-robin"


def numbers(random, shape, kind, chip):
    """Bits, a byte each, and values."""
    if kind == "int8":
        bits = random.integers(-127, 128, shape).astype(np.int8)
        return bits, bits.astype(np.float64)
    if kind == "fp8":
        return random_fp8(random, shape, chip, 2.0)
    codes = random.integers(0, len(TABLES[kind]), shape).astype(np.uint8)
    return codes, TABLES[kind][codes]


def powers(random, shape, middle):
    """Scales of blocks, as bits and as numbers."""
    exponents = random.integers(middle - 1, middle + 2, shape)
    return (exponents + 127).astype(np.uint8), 2.0 ** exponents


def scaled_by_blocks(random, values, middle, pairs=False):
    bits, scales = powers(random, (*values.shape[:3], HEAD // 32), middle)
    if pairs:
        bits, scales = (np.repeat(one[..., ::2], 2, 3) for one in (bits, scales))
    return bits, values * np.repeat(scales, 32, 3)


def rounding(p, v, out):
    """How far the result may be from `out`: p [b, h, s, t], v [b, t, h, d], out [b, s, h, d]."""
    away = v[:, None] - out[:, :, None]  # b, s, t, h, d
    smallest = p.max(3, keepdims=True) * 2.0 ** -6
    lines = np.einsum("bhst,bsthd->bshd", np.where(p < smallest, p, 0.031 * p), np.abs(away))
    steps = np.einsum("bhst,bsthd->bshd", (np.maximum(p, smallest) / 8) ** 2 / 12, away ** 2)
    return lines + 6 * np.sqrt(steps)


def dense(bits):
    """Strides of token, head and batch, in bytes."""
    _, length, heads, width = bits.shape
    return heads * width, width, length * heads * width


def queries_and_keys(case, random):
    """{offset: argument}, and the values; with blocks the scores are exponents of 2, and nothing else is multiplied."""
    b, rows, columns, heads = case.shape
    (qb, q), (kb, k) = (numbers(random, (b, length, heads, HEAD), case.qk, case.chip) for length in (rows, columns))
    if case.blocks:
        middle = {"fp4": -4, "fp6": -4, "fp8": -2}[case.qk]
        (q_scale, q), (k_scale, k) = scaled_by_blocks(random, q, middle), scaled_by_blocks(random, k, middle, case.pairs)
    else:
        size = {"int8": 1 / 70, "fp8": 1.5}[case.qk]
        q_scale, k_scale = np.full(1, size, np.float32), np.full(1, size * 0.8, np.float32)
        q, k = q * np.float64(q_scale[0]), k * np.float64(k_scale[0])
    qb = PACK.get(case.qk, np.asarray)(qb)
    if case.qk == "fp4":
        k_scale = Slack(k_scale, 1024 * heads)  # whole tiles are loaded, one more than there are, and from a byte later
        kb, strides = k_of_fp4(kb)
    elif case.qk == "fp6":
        kb, strides = k_of_fp6(kb, k_scale)
    else:
        strides = dense(kb)
    token, head, batch = dense(qb)
    arguments = {16: qb, 32: kb, 512: q_scale, 528: k_scale, 112: token, 128: 256 * token, 144: head, 160: batch,
                 **dict(zip((192, 208, 224), strides))}
    if case.blocks:
        arguments.update({560: rows * heads * 4, 576: 4, 592: columns * heads * 4, 608: 4})
    return arguments, q, k


def values_of(case, random):
    b, _, columns, heads = case.shape
    vb, v = numbers(random, (b, columns, heads, HEAD), case.v, case.chip)
    if case.v_scale == "blocks":
        scale, factor = powers(random, (b, -(-columns // 32), heads, HEAD), 0)
        v = v * np.repeat(factor, 32, 1)[:, :columns]
        vb, strides, scale = (v_of_fp4 if case.v == "fp4" else v_of_fp6)(vb, scale)
        head, scale = scale.size // (b * heads), Slack(scale, 1024)  # the scales of two tiles more are loaded
    else:
        scale = random.uniform(0.5, 1.5, (b, heads, HEAD) if case.v_scale == "channels" else 1).astype(np.float32)
        v = v * (scale[:, None] if scale.ndim == 3 else scale).astype(np.float64)
        strides, head = dense(vb), HEAD * 4
    arguments = {48: vb, 544: scale, **dict(zip((336, 352, 368), strides))}
    if case.v_scale != "tensor":
        arguments.update({624: heads * head, 640: head})
    return arguments, v


def launch(case):
    b, rows, columns, heads = case.shape
    random = np.random.default_rng(sum(case.shape) + len(case.name))
    of_scores, q, k = queries_and_keys(case, random)
    of_values, v = values_of(case, random)
    want, _, p = attend(q, k, v, np.log(2) if case.blocks else SOFTMAX)
    limit = rounding(p, v, want)
    row = heads * HEAD * 2
    arguments = {0: f"ui16[{b},{rows},{heads},{HEAD}]", 80: F32(SOFTMAX), 96: rows, 176: 1, 240: 5, 272: columns, 288: HEAD,
                 304: HEAD, 320: heads, 384: row, 400: HEAD * 2, 416: rows * row, **of_scores, **of_values}
    return Launch((-(-rows // 256), heads, b), 512, arguments, {},
                  lambda results: compare(from_bf16(results[0]), want, 2.0 ** -8, limit), (0,),
                  zeros=("ptr_lse", "s_lse", "s_lse_Hs") + STARTS + DESCALES)


WHOLE_TILES = (1, 256, 256, 2)  # V of 6 and 4 bits is read as far as columns * stride, which cuts the last tile
CASES = (
    Case("gfx942", "MI300/fwd_hd128_i8fp8", "int8", "fp8", False, schedule=""),
    Case("gfx950", "fwd_hd128_i8fp8", "int8", "fp8", False),
    Case("gfx950", "fwd_hd128_fp8", "fp8", "fp8", False),
    Case("gfx950", "fwd_hd128_mxfp8", "fp8", "fp8", True),
    Case("gfx950", "fwd_hd128_f8f6", "fp8", "fp6", False, "blocks", WHOLE_TILES),
    Case("gfx950", "fwd_hd128_mxfp6", "fp6", "fp8", True, "channels"),
    Case("gfx950", "fwd_hd128_f6f4", "fp6", "fp4", True, "blocks", WHOLE_TILES),
    Case("gfx950", "fwd_hd128_mxfp4", "fp4", "fp8", True, "channels", pairs=True),
    Case("gfx950", "fwd_hd128_f4f4", "fp4", "fp4", True, "blocks", WHOLE_TILES))
EARLY = "barriers are missing, so that waves must run in turns"


def kernels():
    return [Kernel("fmha_v4_fwd", case.name.removeprefix("MI300/"), case.chip, f"{case.chip}/fmha_v4_fwd/{case.name}.co",
                   lambda case=case: launch(case), REASON, schedule=case.schedule, note=EARLY if case.schedule else "")
            for case in CASES]
