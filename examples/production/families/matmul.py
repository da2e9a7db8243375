# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the matmul families share: layouts of weights and scales, quantised inputs, tolerances. The layouts are those that
aiter/ops/shuffle.py makes."""
import numpy as np

from description import Expected
from formats import from_bf16, random_fp8


def shuffle_weight(weight):
    """[N, K] in tiles of 16 rows by 16 bytes, as the matrix instructions read them."""
    rows, columns = weight.shape
    lane = 16 // weight.dtype.itemsize
    tiles = weight.reshape(rows // 16, 16, columns // 32, 32 // lane, lane).transpose(0, 2, 3, 1, 4)
    return np.ascontiguousarray(tiles).reshape(rows, columns)


def shuffle_scale(scale):
    """Scales of one byte for each 32 numbers: rows padded to 256 and columns to 8, in tiles of 32 rows by 8 columns."""
    rows, columns = -(-scale.shape[0] // 256) * 256, -(-scale.shape[1] // 8) * 8
    padded = np.full((rows, columns), 127, np.uint8)
    padded[:scale.shape[0], :scale.shape[1]] = scale
    tiles = padded.reshape(rows // 32, 2, 16, columns // 8, 2, 4).transpose(0, 3, 5, 2, 4, 1)
    return np.ascontiguousarray(tiles).reshape(rows, columns)


def block_scaled_fp8(chip, sizes, largest=4.0):
    """8-bit floats a [M, K] with a scale for each 128 of K, b [N, K] with one for each 128 x 128, and their matmul in float64.
    Returns bits a, scales a, bits b, scales b, a times b transposed."""
    m, n, k = sizes
    random = np.random.default_rng(m + n + k)
    a, a_values = random_fp8(random, (m, k), chip, largest)
    b, b_values = random_fp8(random, (n, k), chip, largest)
    a_scales = random.uniform(0.1, 1, (m, k // 128)).astype(np.float32)
    b_scales = random.uniform(0.1, 1, (n // 128, k // 128)).astype(np.float32)
    x = a_values * np.repeat(a_scales.astype(np.float64), 128, 1)
    w = b_values * np.repeat(np.repeat(b_scales.astype(np.float64), 128, 0), 128, 1)
    return a, a_scales, b, b_scales, x @ w.T


CUT = "f32 sums are cut to bf16, not rounded: below one unit of the last place, 2^-7"
CUT_SPLIT = CUT + "; partial sums are added in bf16, and may be as large as the largest result"


def cut_to_bf16(want, split):
    """What a kernel that cuts its results, or adds `split` of them, must store."""
    absolute = 1e-2 if split == 1 else 2.0 ** -7 * np.abs(want).max()
    return Expected(want, 2.0 ** -7, absolute, CUT if split == 1 else CUT_SPLIT, from_bf16)


def tiles(size, tile):
    return -(-size // tile)
