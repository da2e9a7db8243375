# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Mixture of experts of 8-bit floats with a scale for each 128 inputs of a token and each 128x128 weights (folder `fmoe`,
`blockscale`), and the first of two kernels, which gives 8-bit floats with a scale for each 128 (folder `fmoe_2stages`).
Arguments: csrc/py_itfs_cu/asm_fmoe.cu, asm_moe_2stage.cu, aiter/fused_moe.py, op_tests/test_moe_blockscale.py."""
import numpy as np

from description import Kernel, Launch
from families.decode_attention import compare
from families.experts import Layer, numbers, shuffled
from families.moe import EARLY, FUSED
from formats import fp8_values, from_bf16

SIDE = 128
FIRST = ("the result is rounded to an 8-bit float, half a step of which is 2^-4 of the number, or of the smallest normal number; "
         "f32 sums and an exponential before: 1e-5 of the largest")


class BlockLayer(Layer):
    def tensor(self, shape, chip, size):
        """The scales of weights are [expert, row of blocks, column of blocks]; those of tokens [column of blocks, token],
        with columns after the last, which the kernel loads and does not use."""
        bits, values = numbers(self.random, shape, self.kind, chip)
        weights = len(shape) == 3
        rows = SIDE if weights else 1
        blocks = (*shape[:-2], shape[-2] // rows, shape[-1] // SIDE)
        scale = (size * (0.5 + self.random.random(blocks))).astype(np.float32)
        values = values * np.repeat(np.repeat(scale, rows, -2), SIDE, -1)
        if weights:
            return values, bits, scale
        return values, bits, np.concatenate([scale[:self.tokens].T, np.ones((4, self.tokens), np.float32)])


def launch(chip, inter):
    layer = BlockLayer(chip, "fp8", inter, 32)
    want, error = layer.result()
    arguments = {0: f"zeros:ui16[{layer.tokens},{layer.dim}]", 16: layer.x_bits, 32: shuffled(layer.up_bits),
                 48: layer.valid, 64: shuffled(layer.down_bits), 80: layer.x_scale, 96: layer.up_scale,
                 112: layer.down_scale, 144: layer.ids, 160: layer.sorted_weights, 176: layer.blocks, 192: layer.dim,
                 208: inter, 224: layer.tokens, 240: layer.experts, 256: layer.dim, 272: layer.dim, 288: inter,
                 304: layer.dim * 2, 320: layer.rows * layer.dim, 336: layer.dim * inter,
                 352: layer.up_scale[0].nbytes, 368: layer.down_scale[0].nbytes, 384: inter * 4, 400: layer.top}
    error = error + layer.top * 2.0 ** -8 * np.abs(want).max()
    return Launch((1, len(layer.blocks), 1), 256, arguments, {},
                  lambda results: compare(from_bf16(results[0]), want, 0, error), (0,),
                  zeros=("SMQ", "total_tgs", "ps_deno", "_s_total_tgs", "_s_deno_tgs", "a2", "a2q"))


def first(chip, tile, inter):
    """The result's buffer has the 8-bit floats [tokens, top, inter], then their scales, f32 [tokens, top, inter / 128]."""
    layer = BlockLayer(chip, "fp8", inter, tile)
    shape = (layer.tokens, layer.top, inter)
    want = np.array([[layer.hidden(token, choice) for choice in range(layer.top)] for token in range(layer.tokens)])
    count, values = want.size, fp8_values(chip == "gfx942")
    arguments = {0: f"ui8[{count + count // SIDE * 4}]", 16: layer.x_bits, 32: shuffled(layer.up_bits), 48: layer.valid,
                 64: layer.x_scale, 80: layer.up_scale, 112: layer.ids, 128: layer.blocks, 144: layer.dim, 160: inter,
                 176: layer.tokens, 192: layer.experts, 208: layer.dim, 224: layer.dim, 240: layer.top * inter,
                 256: layer.rows * layer.dim, 272: layer.up_scale[0].nbytes, 288: inter * 4, 304: layer.top}

    def judge(results):
        scale = np.repeat(results[0][count:].view(np.float32).reshape(*shape[:2], -1).astype(np.float64), SIDE, -1)
        got = values[results[0][:count]].reshape(shape) * scale
        return compare(got, want, 2.0 ** -4, scale * 2.0 ** -10 + 1e-5 * np.abs(want).max())
    return Launch((1, len(layer.blocks), 1), 256, arguments, {}, judge, (0,), zeros=("SMQ", "splitk", "activation", "SW"))


def first_kernels():
    name = "fmoe_stage1_bf16_pertokenFp8_blockscale_g1u1_"
    cases = [(chip, f"fmoe_2stages/{name}{suffix}", *case) for chip in ("gfx942", "gfx950") for suffix, *case in (
        ("16x128_4tg_pf2", 16, 128), ("32x256_2tg_pf3", 32, 256))]
    return [Kernel("fmoe_2stages-blockscale", path.split("/")[-1], chip, f"{chip}/{path}.co",
                   lambda chip=chip, case=case: first(chip, *case), FIRST) for chip, path, *case in cases]


def kernels():
    names = {"gfx942": ("fmoe_bf16_blockscaleFp8_g1u1_vs_silu_1tg_32x256", "fmoe_bf16_blockscaleFp8_g1u1_novs_silu_1tg_32x128"),
             "gfx950": ("fmoe_bf16_blockscaleFp8_g1u1_vs_silu_1tg_32x256", "fmoe_bf16_blockscaleFp8_g1u1_novs_silu_1tg_32x256")}
    found = []
    for chip, name in ((chip, name) for chip in names for name in names[chip]):
        inter = int(name[-3:])
        turns = {"schedule": "round-robin", "note": EARLY} if inter == 256 else {}
        found.append(Kernel("fmoe-blockscale", name, chip, f"{chip}/fmoe/silu/{name}.co",
                            lambda chip=chip, inter=inter: launch(chip, inter), FUSED, **turns))
    return found + first_kernels()
