# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Mixture of experts of 8-bit floats with a scale for each 128 inputs of a token and each 128x128 weights (folder `fmoe`,
`blockscale`). Arguments: csrc/py_itfs_cu/asm_fmoe.cu, op_tests/test_moe_blockscale.py."""
import numpy as np

from description import Kernel, Launch
from families.decode_attention import compare
from families.experts import Layer, numbers, shuffled
from families.moe import EARLY, FUSED
from formats import from_bf16

SIDE = 128


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
                  lambda results: compare(from_bf16(results[0]), want, 0, error), (0,))


def kernels():
    names = {"gfx942": ("fmoe_bf16_blockscaleFp8_g1u1_vs_silu_1tg_32x256", "fmoe_bf16_blockscaleFp8_g1u1_novs_silu_1tg_32x128"),
             "gfx950": ("fmoe_bf16_blockscaleFp8_g1u1_vs_silu_1tg_32x256", "fmoe_bf16_blockscaleFp8_g1u1_novs_silu_1tg_32x256")}
    found = []
    for chip, name in ((chip, name) for chip in names for name in names[chip]):
        inter = int(name[-3:])
        turns = {"schedule": "round-robin", "note": EARLY} if inter == 256 else {}
        found.append(Kernel("fmoe-blockscale", name, chip, f"{chip}/fmoe/silu/{name}.co",
                            lambda chip=chip, inter=inter: launch(chip, inter), FUSED, **turns))
    return found
