# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Launches of the sm_90 kernels of tests/corpus/gluon (hopper.py, hopper_tma.py) and what NumPy computes for them.

CASES: name -> function of a random generator that gives (grid, arguments by name, expected outputs, tolerance). A Descriptor
is a tensor descriptor's argument: its tensor; shape and strides are the array's, the block and the layout are in the text.
bf16 and 8-bit floats are arrays of their bits. Inputs are such that sums are exact, so most tolerances are 0.
"""
import dataclasses

import numpy as np

from values import decode, eighths


@dataclasses.dataclass
class Descriptor:
    values: np.ndarray
    padding: str = "zero"  # what a load gives outside of the tensor


def bf16(values):
    """The bits of numbers that are exact in bf16."""
    return (np.ascontiguousarray(values, np.float32).view(np.uint32) >> 16).astype(np.uint16)


def cover(values, rows, columns):
    """`values` in the corner of an array of zeros."""
    whole = np.zeros((rows, columns), values.dtype)
    whole[: values.shape[0], : values.shape[1]] = values[:rows, :columns]
    return whole


def operands(random, form, m, n, k):
    """Bits or numbers of a and b, and their values in f64."""

    def one(*shape):
        if form in ("e4m3", "e5m2"):
            low = 0x30 if form == "e4m3" else 0x38
            codes = (random.integers(low, low + 8, shape) | random.integers(0, 2, shape) << 7).astype(np.uint8)
            return codes, decode(codes, form)
        if form == "i8":
            values = random.integers(-128, 128, shape).astype(np.int8)
            return values, values.astype(np.float64)
        values = eighths(random, *shape)
        bits = bf16(values) if form == "bf16" else values.astype({"f16": np.float16, "f64": np.float64, "tf32": np.float32}[form])
        return bits, values.astype(np.float64)

    return one(m, k), one(k, n)


def two_layouts(random):
    rows, columns = 50, 100
    src, factors = eighths(random, rows, columns, dtype=np.float16), eighths(random, columns)
    expected = (src.astype(np.float32) * factors + 1).T.copy()
    return (2, 2), dict(src=src, factors=factors, dst=np.zeros_like(expected), rows=rows, cols=columns), dict(dst=expected), 0


def row_stats(random):
    x = eighths(random, 16, 64)
    expected = dict(sums=x.sum(1), tops=x.max(1), where=x.argmax(1).astype(np.int32), right=np.cumsum(x, 1), down=np.cumsum(x[::-1], 0)[::-1].copy())
    return (1,), dict(x=x, **{name: np.zeros_like(value) for name, value in expected.items()}), expected, 0


def mixed(random):
    n, tile, programs = 700, 256, 3
    x = random.integers(0, 5000, n).astype(np.int32)
    bins = np.zeros(18, np.int32)
    bins[:16] = np.bincount(x & 15, minlength=16)
    bins[16:] = 3 * programs, x.sum()
    out = (x * 3 + np.arange(n, dtype=np.int32)) * 4
    arguments = dict(x=x, bins=np.zeros(18, np.int32), top=np.array([7], np.int32), lock=np.zeros(1, np.int32), out=np.zeros(n, np.int32), n=n)
    return (programs,), arguments, dict(bins=bins, top=np.array([x.max()]), lock=np.zeros(1, np.int32), out=out), 0


def rearranged(random):
    x, idx = eighths(random, 16, 32), random.integers(0, 64, (16, 32)).astype(np.int32)
    rows, columns = np.indices(x.shape)
    scattered = np.zeros_like(x)
    scattered[(rows + columns) % 16, columns] = x
    out = np.stack([np.take_along_axis(x, idx & 31, 1) - 2 * np.take_along_axis(x, idx & 15, 0), scattered])
    expected = dict(out=out, counts=np.bincount(idx.reshape(-1), minlength=64).astype(np.int32), dots=x @ x.T)
    return (1,), dict(x=x, idx=idx, **{name: np.zeros_like(value) for name, value in expected.items()}), expected, 0


def views(kind, rows, columns, reshaped=True):
    def case(random):
        x = random.integers(-100, 100, (rows, columns)).astype(kind)
        halves = x.reshape(2 * rows, columns // 2)
        expected = dict(whole=x, turned=x.T.copy(), quarter=x[rows // 2 :, columns // 2 :].copy(), halves=halves if reshaped else np.zeros_like(halves))
        return (1,), dict(x=x, **{name: np.zeros_like(value) for name, value in expected.items()}), expected, 0

    return case


def ring(random):
    n = 4
    x = eighths(random, n + 2, 16, 64, dtype=np.float16)
    expected = dict(out=x[1 : n + 1] - x[:n], cube=x.reshape(-1)[:2048] + np.float16(1))
    return (1,), dict(x=x, n=n, **{name: np.zeros_like(value) for name, value in expected.items()}), expected, 0


def copy_groups(random):
    x = eighths(random, 5, 1008)
    return (2,), dict(x=x, out=np.zeros(1008, np.float32), rows=5, n=1008), dict(out=x.sum(0)), 0


def copy_arrive(random):
    x = eighths(random, 3, 256)
    return (1,), dict(x=x, out=np.zeros_like(x), n=3), dict(out=x[:, ::-1].copy()), 0


def matmul(form, m, n, k, kind=np.float32, left_transposed=False, right_transposed=False):
    """Of one block."""

    def case(random):
        (a, left), (b, right) = operands(random, form, m, n, k)
        a, b = (a.T.copy() if left_transposed else a), (b.T.copy() if right_transposed else b)
        return (1,), dict(a=a, b=b, c=np.zeros((m, n), kind), K=k), dict(c=(left @ right).astype(kind)), 0

    return case


def tiled(form, grid, m, n, k, kind=np.float32, descriptors=True, right_transposed=False, result=False, **others):
    """Of several blocks whose tiles end outside of the matrices; others: outputs that start with zeros."""

    def case(random):
        (a, left), (b, right) = operands(random, form, m, n, k)
        b = b.T.copy() if right_transposed else b
        c = np.zeros((m, n), kind)
        wrap = Descriptor if descriptors else lambda values: values
        arguments = dict(a=wrap(a), b=wrap(b), c=Descriptor(c) if result else c, M=m, N=n, K=k)
        arguments.update({name: np.zeros_like(value) for name, value in others.items()})
        return grid, arguments, dict(c=(left @ right).astype(kind), **others), 0

    return case


def tma_copy(kind, rows, columns, before, to_bits=lambda values: values):
    """Four tiles of rows x columns, the last of which end outside of x."""

    def case(random):
        x = eighths(random, 2 * rows - 3, columns * 3 // 2) * (64 if kind == np.int8 else 1)
        x = x.astype(kind)
        y, raw = np.zeros_like(x), np.zeros((4, rows, columns), kind)
        for block in range(4):
            row, column = block // 2 * rows - before, block % 2 * columns - before
            seen = x[max(row, 0) : row + rows, max(column, 0) : column + columns]
            r, c = max(-row, 0), max(-column, 0)
            raw[block, r : r + seen.shape[0], c : c + seen.shape[1]] = seen
            moved = y[row + before : row + before + rows, column + before : column + before + columns]
            moved[...] = 2 * raw[block, : moved.shape[0], : moved.shape[1]]
        x, y, raw = to_bits(x), to_bits(y), to_bits(raw)
        return (2, 2), dict(x=Descriptor(x), y=Descriptor(np.zeros_like(y)), raw=np.zeros_like(raw)), dict(y=y, raw=raw), 0

    return case


def tma_ranks(random):
    line, x = eighths(random, 500), eighths(random, 3, 7, 24, dtype=np.float16)
    reversed = np.pad(line, (0, 12)).reshape(2, 256)[:, ::-1].copy()
    y = np.ones((3, 24, 8), np.float16)
    y[:, :, :7] += x.transpose(0, 2, 1)
    arguments = dict(line=Descriptor(line), reversed=np.zeros_like(reversed), x=Descriptor(x), y=Descriptor(np.zeros_like(y)))
    return (2,), arguments, dict(reversed=reversed, y=y), 0


def tma_reduce(random):
    x = random.integers(-100, 100, (3, 16, 32)).astype(np.int32)
    start = random.integers(-100, 100, (16, 32)).astype(np.int32)
    all = np.concatenate([start[None], x])
    total = all.sum(0).astype(np.int32)
    expected = dict(sums=total.astype(np.float32), halves=total.astype(np.float16), n=total, least=all.min(0), most=all.max(0),
                    every=np.bitwise_and.reduce(all), some=np.bitwise_or.reduce(all), flips=np.bitwise_xor.reduce(all))
    return (3,), dict(x=x, **{name: Descriptor(start.astype(value.dtype)) for name, value in expected.items()}), expected, 0


def tma_device(random):
    x = eighths(random, 32, 48)
    arguments = dict(x=x, y=np.zeros((48, 32), np.float32), outside=np.array([5], np.int32), rows=32, columns=48)
    return (2, 2), arguments, dict(y=x.T.copy(), outside=np.array([5 + 32 * 16])), 0


def warps_plain(random):
    n, start = 3, 0.5
    x = eighths(random, n, 256)
    arguments = dict(x=x, sums=np.zeros(n, np.float32), out=np.zeros(256, np.float32), n=n, start=start)
    return (1,), arguments, dict(sums=x.sum(1), out=(x * x).sum(0) + np.float32(start + 2 * n)), 0


def attention(random):
    q, k, v = (eighths(random, 128, 64, dtype=np.float16) for _ in range(3))
    scores = q.astype(np.float64) @ k.astype(np.float64).T * 0.125
    weights = np.exp(scores - scores.max(1, keepdims=True))
    expected = (weights / weights.sum(1, keepdims=True) @ v.astype(np.float64)).astype(np.float32)
    arguments = dict(q=Descriptor(q), k=Descriptor(k), v=Descriptor(v), out=np.zeros_like(expected), keys=128, scale=float(np.float32(0.125 * np.log2(np.e))))
    return (2,), arguments, dict(out=expected), 2e-3


four = np.array([4], np.int32)  # blocks of 2 x 2
CASES = dict(
    nv_two_layouts=two_layouts, nv_row_stats=row_stats, nv_mixed=mixed, nv_rearranged=rearranged, nv_ring=ring, nv_copy_groups=copy_groups,
    nv_copy_arrive=copy_arrive, nv_copy_arrive_increment=copy_arrive,
    nv_views_swizzled_f32=views(np.float32, 32, 64), nv_views_swizzled_f16=views(np.float16, 64, 32), nv_views_padded_f16=views(np.float16, 32, 64, False),
    nv_views_nvmma128_f16=views(np.float16, 16, 128), nv_views_nvmma64_f16=views(np.float16, 32, 32), nv_views_nvmma128_i8=views(np.int8, 32, 256),
    nv_views_nvmma32_f32=views(np.float32, 32, 32), nv_views_nvmma128_f32=views(np.float32, 16, 64), nv_views_nvmma0_f16=views(np.float16, 16, 64, False),
    nv_views_nvmma128t_f16=views(np.float16, 128, 32),
    nv_mma2_f16=matmul("f16", 32, 64, 64), nv_mma2_bf16=matmul("bf16", 64, 32, 64), nv_mma2_f16_f16=matmul("f16", 32, 32, 32, np.float16),
    nv_mma2_i8=matmul("i8", 32, 32, 128, np.int32), nv_mma2_e4m3=matmul("e4m3", 32, 32, 128), nv_mma2_e5m2=matmul("e5m2", 32, 32, 128),
    nv_mma2_tf32=matmul("tf32", 32, 32, 32), nv_mma2_f64=matmul("f64", 32, 32, 32, np.float64),
    nv_mma2_pipelined=tiled("f16", (2, 2), 50, 48, 80, np.float16, descriptors=False),
    nv_wgmma_f16=matmul("f16", 64, 64, 128), nv_wgmma_f16_bt=matmul("f16", 64, 32, 128, right_transposed=True),
    nv_wgmma_f16_at=matmul("f16", 64, 64, 64, left_transposed=True, right_transposed=True), nv_wgmma_f16_n16=matmul("f16", 64, 16, 64),
    nv_wgmma_f16_n8=matmul("f16", 64, 8, 32), nv_wgmma_f16_bases=matmul("f16", 64, 32, 128),
    nv_wgmma_f16_repeated=matmul("f16", 128, 64, 64), nv_wgmma_f16_f16=matmul("f16", 64, 64, 32, np.float16), nv_wgmma_f16_left=matmul("f16", 64, 64, 128),
    nv_wgmma_bf16_n256=matmul("bf16", 128, 256, 64), nv_wgmma_bf16_4x2=matmul("bf16", 64, 128, 64, right_transposed=True),
    nv_wgmma_tf32=matmul("tf32", 64, 32, 64, right_transposed=True), nv_wgmma_tf32_left=matmul("tf32", 64, 32, 32, right_transposed=True),
    nv_wgmma_e4m3=matmul("e4m3", 64, 64, 128, right_transposed=True), nv_wgmma_e4m3_limit=matmul("e4m3", 64, 64, 128, right_transposed=True),
    nv_wgmma_e5m2_left=matmul("e5m2", 64, 32, 128, right_transposed=True), nv_wgmma_i8=matmul("i8", 64, 128, 128, np.int32, right_transposed=True),
    nv_wgmma_i8_w8=matmul("i8", 128, 32, 64, np.int32, right_transposed=True), nv_wgmma_async=matmul("f16", 64, 64, 192),
    nv_tma_f16=tma_copy(np.float16, 32, 64, 0), nv_tma_f16_wide=tma_copy(np.float16, 16, 128, 8), nv_tma_f16_s64=tma_copy(np.float16, 32, 32, 0),
    nv_tma_f16_s32=tma_copy(np.float16, 64, 16, 8), nv_tma_f16_s0=tma_copy(np.float16, 16, 64, 0), nv_tma_f32=tma_copy(np.float32, 16, 32, 4),
    nv_tma_f32_wide=tma_copy(np.float32, 8, 64, 0), nv_tma_i8=tma_copy(np.int8, 32, 128, 16), nv_tma_bf16=tma_copy(np.float32, 8, 64, 0, bf16),
    nv_tma_ranks=tma_ranks, nv_tma_reduce=tma_reduce, nv_tma_device=tma_device,
    nv_tma_gemm=tiled("f16", (2, 2), 100, 72, 112), nv_tma_gemm_w8=tiled("bf16", (2, 2), 150, 56, 152),
    nv_warps_gemm=tiled("f16", (2, 2), 100, 72, 112), nv_warps_two_consumers=tiled("f16", (2, 2), 200, 40, 112, blocks=four), nv_warps_plain=warps_plain,
    nv_attention=attention, nv_persistent=tiled("f16", (2,), 100, 72, 112, np.float16, right_transposed=True, result=True))
