# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Matmuls of 4-bit floats with a scale, a power of two, for each 32 of K (folder `f4gemm`).
Arguments: csrc/py_itfs_cu/asm_gemm_a4w4.cu."""
import numpy as np

from description import Expected, Kernel, Launch
from families.matmul import shuffle_scale, shuffle_weight, tiles
from formats import E2M1, F32, from_bf16, pack_fp4

REASON = "f32 sums rounded to bf16: 2^-8, and 1e-4 of the largest where the sum nearly cancels"
SPLIT_REASON = REASON + "; with split K each sum is rounded, and may be as large as the largest result"


ZEROS = ("strideD0", "strideD1", "strideC1", "strideA1", "strideB1", "strideScaleA1", "strideScaleB1", "log2_k_split")


def launch(sizes, tile, log2_split=0):
    (m, n, k), (tile_m, tile_n), split = sizes, tile, 1 << log2_split
    random = np.random.default_rng(m + n + k)
    a, b = random.integers(0, 16, (m, k)), random.integers(0, 16, (n, k))
    scales = [random.integers(120, 131, (rows, k // 32)).astype(np.uint8) for rows in (m, n)]
    x, w = (E2M1[codes] * np.repeat(2.0 ** (scale.astype(np.float64) - 127), 32, 1) for codes, scale in zip((a, b), scales))
    want = x @ w.T
    a_scale, b_scale = map(shuffle_scale, scales)
    rows = tiles(m, 32) * 32  # the kernel stores whole tiles of 32
    arguments = {0: f"{'zeros:' if split > 1 else ''}ui16[{rows},{n}]", 16: 0, 32: pack_fp4(a), 48: shuffle_weight(pack_fp4(b)),
                 64: F32(1), 80: F32(0), 128: n, 160: k, 192: k, 224: m, 240: n, 256: k, 272: a_scale, 288: b_scale,
                 304: a_scale.shape[1], 336: b_scale.shape[1]}
    if split > 1:
        arguments[368] = log2_split
    part = tiles(k // split, 256) * 256
    expected = Expected(want, 2.0 ** -8 * split, (2.0 ** -8 if split > 1 else 1e-4) * np.abs(want).max(),
                        SPLIT_REASON if split > 1 else REASON, lambda bits: from_bf16(bits)[:m])
    return Launch((tiles(n, tile_n), tiles(m, tile_m), tiles(k, part)), 256, arguments, {0: expected},
                  allow_different=(0,) * (split > 1), zeros=ZEROS)


def kernel(sizes, tile, log2_split=0):
    shape = f"{tile[0]}x{tile[1]}"
    return Kernel("f4gemm", f"{shape}_split{1 << log2_split}", "gfx950",
                  f"gfx950/f4gemm/f4gemm_bf16_per1x32Fp4_BpreShuffle_{shape}.co", lambda: launch(sizes, tile, log2_split),
                  SPLIT_REASON if log2_split else REASON)


def kernels():
    return [kernel((32, 128, 512), (32, 128)), kernel((60, 128, 512), (64, 128)), kernel((100, 256, 1024), (256, 256), 1)]
