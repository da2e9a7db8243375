# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Matmuls of bf16 with results in f32 or bf16, a bias, and split K (folder `bf16gemm`).
Arguments: csrc/py_itfs_cu/asm_gemm_a16w16.cu."""
import numpy as np

from description import Expected, Kernel, Launch
from families.matmul import shuffle_weight, tiles
from formats import F32, from_bf16, random_bf16, to_bf16

F32_REASON = "f32 sums of k terms in another order: 2e-5 * sqrt(k) for terms of variance 1"
BF16_REASON = "f32 sums rounded to bf16: 2^-8; 1e-3 * sqrt(k) where the sum nearly cancels"


ZEROS = ("strideD1", "strideC1", "strideA1", "strideB1", "Bias", "add_bias", "ptr_semaphore")


def launch(sizes, tile, split=1, f32=False, shuffled=False, bias=False):
    (m, n, k), (tile_m, tile_n) = sizes, tile
    random = np.random.default_rng(m + n + k)
    (a, a_values), (b, b_values) = random_bf16(random, (m, k)), random_bf16(random, (n, k))
    want = a_values @ b_values.T
    size = 4 if f32 else 2
    arguments = {0: f"{'f32' if f32 else 'ui16'}[{m},{n}]", 16: 0, 32: a, 48: shuffle_weight(b) if shuffled else b, 64: F32(1),
                 80: F32(0), 96: n * size, 128: n * size, 160: k * 2, 192: k * 2, 224: m, 240: n, 256: k, 272: split,
                 288: 0 if f32 else 1}
    if bias:
        addend = to_bf16(random.standard_normal(n))
        arguments.update({304: addend, 320: 1})
        want = want + from_bf16(addend)
    if split > 1:
        arguments[336] = "zeros:i32[1024]"
    relative, absolute, reason = (1e-5, 2e-5, F32_REASON) if f32 else (2.0 ** -8, 1e-3, BF16_REASON)
    expected = Expected(want, relative, absolute * k ** 0.5, reason, None if f32 else from_bf16)
    return Launch((tiles(n, tile_n), tiles(m, tile_m), split), 256, arguments, {0: expected}, allow_different=(0,) * (split > 1),
                  zeros=ZEROS)


CASES = (
    ("gfx950", "fp32bf16_tn_32x64_pf3_splitk", ((32, 64, 256), (32, 64)), {"f32": True}),
    ("gfx950", "fp32bf16_tn_48x64_bshuffle_splitk", ((50, 128, 192), (48, 64)), {"shuffled": True}),
    ("gfx950", "fp32bf16_tn_64x64_bshuffle_splitk", ((40, 64, 256), (64, 64)), {"f32": True, "shuffled": True, "bias": True}),
    ("gfx950", "bf16_tn_256x256", ((256, 256, 256), (256, 256)), {}),
    ("gfx950", "fp32bf16_tn_32x64_splitk_clean", ((30, 128, 512), (32, 64)), {"split": 3, "f32": True}),
    ("gfx942", "fp32bf16_tn_32x64_pf3_splitk", ((32, 64, 256), (32, 64)), {"f32": True}),
    ("gfx942", "fp32bf16_tn_48x64_bshuffle_splitk", ((50, 128, 192), (48, 64)), {"shuffled": True}),
    ("gfx942", "fp32bf16_tn_64x64_bshuffle_splitk", ((40, 64, 256), (64, 64)), {"f32": True, "shuffled": True, "bias": True}),
    ("gfx942", "fp32bf16_tn_32x64_splitk_clean", ((30, 128, 512), (32, 64)), {"split": 3, "f32": True}))


def kernels():
    return [Kernel("bf16gemm", name, chip, f"{chip}/bf16gemm/bf16gemm_{name}.co",
                   lambda position=position, options=options: launch(*position, **options),
                   F32_REASON if "f32" in options else BF16_REASON) for chip, name, position, options in CASES]
