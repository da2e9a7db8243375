# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Matmuls of int8 with a scale for each row and column (folder `i8gemm`, objects `gemm_a8w8_...`), and of 8-bit floats with
scales of blocks (folder `fp8gemm_blockscale`, objects `flatmm_...` and `f8_block_scale_...`). Arguments:
csrc/py_itfs_cu/asm_gemm_a8w8.cu, asm_a8w8_blockscale_bpreshuffle.cu, asm_flatmm_a8w8_blockscale.cu; of `f8_block_scale_...`
asm_mi350_a8w8_blockscale.cu, which the commit no longer has: 05ae082cf2cd823af1277a290f687014480c58c5 is the last that does."""
import numpy as np

from description import Expected, Kernel, Launch
from families.matmul import CUT, CUT_SPLIT, block_scaled_fp8, cut_to_bf16, shuffle_weight, tiles

HALF = "f32 sums rounded to f16: 2^-9, and 1e-2 where the sum nearly cancels"


def result(m, n, split):
    """A buffer of bf16; with split K the partial results are added to zeros."""
    return f"{'' if split == 1 else 'zeros:'}ui16[{m},{n}]"


def shuffle_32(weight):
    """[N, K] bytes in tiles of 32 rows by 32 columns, 16 bytes a lane, as the 32x32x16 matrix instructions read them."""
    rows, columns = weight.shape
    tiled = weight.reshape(rows // 32, 32, columns // 32, 2, 16).transpose(0, 2, 3, 1, 4)
    return np.ascontiguousarray(tiled).reshape(rows, columns)


def int8(sizes, tile, split=1, pad=0, shuffle=shuffle_weight, log2=False):
    """`log2`: the kernel wants the logarithm of the number of splits, and makes the zeros itself."""
    (m, n, k), (tile_m, tile_n) = sizes, tile
    random = np.random.default_rng(m * n * k)
    padded = random.integers(-127, 128, (m, k + pad)).astype(np.int8)
    b = random.integers(-127, 128, (n, k)).astype(np.int8)
    a_scale, b_scale = (random.uniform(0.001, 0.02, shape).astype(np.float32) for shape in ((m, 1), (1, n)))
    bias = random.standard_normal((1, n)).astype(np.float32)
    sums = padded[:, :k].astype(np.int64) @ b.astype(np.int64).T
    want = sums.astype(np.float64) * a_scale * b_scale + bias
    arguments = {0: result(m, n, 1 if log2 else split), 16: padded, 32: shuffle(b), 48: a_scale, 64: b_scale, 80: bias, 96: m,
                 112: n, 128: k, 144: k + pad, 160: k, 176: n * 2, 192: split.bit_length() - 1 if log2 else split}
    return Launch((n // tile_n * split, tiles(m, tile_m), 1), 256, arguments, {0: cut_to_bf16(want, split)},
                  allow_different=(0,) * (split > 1), zeros=("",))  # fillers have no names


def blockscale(chip, sizes, tile_m, split=1):
    m, n, k = sizes
    a, a_scales, b, b_scales, want = block_scaled_fp8(chip, sizes)
    arguments = {0: result(m, n, split), 16: a, 32: shuffle_weight(b), 48: np.ascontiguousarray(a_scales.T), 64: b_scales,
                 80: np.zeros(n, np.float32), 96: m, 112: n, 128: k, 144: k, 160: k, 176: n * 2, 192: split, 208: m,
                 224: n // 128, 240: k // 128}
    return Launch((n // 128 * split, tiles(m, tile_m), 1), 256, arguments, {0: cut_to_bf16(want, split)},
                  allow_different=(0,) * (split > 1))


def block_scale(sizes, tile_m):
    m, n, k = sizes
    a, a_scales, b, b_scales, want = block_scaled_fp8("gfx950", sizes)
    arguments = {0: f"ui16[{m},{n}]", 16: a, 32: shuffle_weight(b), 64: np.ascontiguousarray(a_scales.T), 80: b_scales, 144: k,
                 160: n, 176: m, 192: 1, 208: k, 224: k, 240: n * 2, 320: 0, 336: 0}
    return Launch((tiles(n, 256), tiles(m, tile_m), 1), 256, arguments, {0: cut_to_bf16(want, 1)},
                  zeros=("Xc", "SMQ", "STP", "SEP", "eGUs", "eGUQs", "eSMQs", "topk", "SW"))


def flatmm(chip, sizes):
    m, n, k = sizes
    a, a_scales, b, b_scales, want = block_scaled_fp8(chip, sizes, 1.0)
    arguments = {0: a, 8: shuffle_weight(b), 24: np.ascontiguousarray(a_scales.T), 32: np.ascontiguousarray(b_scales.T),
                 48: f"f16[{m},{n}]", 88: k, 92: n, 96: m}
    return Launch((tiles(n, 256), tiles(m, 128), 1), 256, arguments, {48: Expected(want, 2.0 ** -9, 1e-2, HALF)},
                  zeros=("c_ptr", "d_ptr", "dbg_int_ptr", "dbg_fp8_ptr", "dbg_f16_ptr", "dbg_fp32_ptr", "num_experts", "topk",
                         "stride_token"))


EARLY = "a barrier is missing, so that waves must run in turns"


def int8_kernel(chip, sizes, tile, split=1, pad=0, schedule=""):
    shape = f"{tile[0]}x{tile[1]}"
    return Kernel("i8gemm", f"{shape}_split{split}", chip, f"{chip}/i8gemm/I8gemm_bf16_perTokenI8_BpreShuffle_{shape}.co",
                  lambda: int8(sizes, tile, split, pad), CUT if split == 1 else CUT_SPLIT, schedule=schedule,
                  note=EARLY if schedule else "")


def blockscale_kernel(chip, sizes, tile_m, split=1):
    return Kernel("fp8gemm_blockscale", f"{tile_m}x128_split{split}", chip,
                  f"{chip}/fp8gemm_blockscale/fp8gemm_bf16_blockscale_BpreShuffle_{tile_m}x128.co",
                  lambda: blockscale(chip, sizes, tile_m, split), CUT if split == 1 else CUT_SPLIT)


def m128_kernel(sizes, split=1):
    if split == 1:
        return Kernel("gemm_a8w8", "m128_noSplitK", "gfx942", "gfx942/gemm_a8w8_m128_noSplitK.co",
                      lambda: int8(sizes, (128, 128), shuffle=shuffle_32), CUT)
    return Kernel("gemm_a8w8", "m128_splitK", "gfx942", "gfx942/gemm_a8w8_m128_splitK.co",
                  lambda: int8(sizes, (128, 128), split, shuffle=shuffle_32, log2=True), CUT_SPLIT, schedule="round-robin",
                  note=EARLY)


def block_scale_kernel(sizes, tile_m):
    name = f"f8_block_scale_mi350_x{tile_m}"
    return Kernel("f8_block_scale", f"mi350_x{tile_m}", "gfx950", f"gfx950/{name}.co", lambda: block_scale(sizes, tile_m), CUT,
                  schedule="round-robin", note=EARLY)


def kernels():
    flat = "flatmm_uk_gfx9_f16f8_128x256x128_1x4x1_16x16x32"
    return [int8_kernel("gfx942", (13, 128, 256), (16, 128)), int8_kernel("gfx950", (40, 128, 256), (32, 128), pad=128),
            int8_kernel("gfx942", (32, 128, 512), (32, 128), 2), int8_kernel("gfx942", (112, 256, 256), (112, 256), schedule="round-robin"),
            blockscale_kernel("gfx942", (40, 128, 256), 32), blockscale_kernel("gfx950", (33, 128, 512), 32, 2),
            m128_kernel((128, 128, 512)), m128_kernel((128, 128, 512), 2),
            *(block_scale_kernel((rows, 256, 640), tile) for rows, tile in ((30, 32), (64, 64), (96, 96), (100, 128))),
            Kernel("flatmm", "f16f8_128x256x128", "gfx942", f"gfx942/{flat}.co", lambda: flatmm("gfx942", (128, 256, 256)), HALF)]
