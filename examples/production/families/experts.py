# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A layer of a mixture of experts: inputs, the lists by which kernels find each expert's tokens, and the reference. Layouts:
csrc/py_itfs_cu/asm_fmoe.cu, aiter/fused_moe_bf16_asm.py, aiter/ops/shuffle.py."""
from math import erf

import numpy as np

from families.decode_attention import steps
from formats import random_bf16, random_fp8, to_bf16


def silu(x):
    return x / (1 + np.exp(-x))


def gelu(x):
    return x * 0.5 * (1 + np.vectorize(erf)(x / np.sqrt(2)))


def shuffled(bits):
    """Weights [experts, n, k] in tiles of 16 rows and 32 columns, 16 bytes of a row together."""
    experts, n, k = bits.shape
    x = 16 // bits.itemsize
    tiles = bits.reshape(experts, n // 16, 16, k // 32, 32 // x, x)
    return np.ascontiguousarray(tiles.transpose(0, 1, 3, 4, 2, 5)).reshape(bits.shape)


def numbers(random, shape, kind, chip):
    if kind == "bf16":
        return random_bf16(random, shape)
    if kind == "fp8":
        return random_fp8(random, shape, chip)
    bits = random.integers(-127, 128, shape).astype(np.int8)
    return bits, bits.astype(np.float64)


class Layer:
    """`kind`: type of inputs and weights, with f32 scales of tokens and rows if of 8 bits. `gated`: the first matmul gives
    activations and what multiplies them. `own_inputs`: every chosen expert has inputs of its own, and a factor for each
    hidden number. Kernels load one token and one expert beyond the last: the buffers have them."""

    def __init__(self, chip, kind, inter, tile, gated=True, activation=silu, own_inputs=False, dim=256, tokens=5):
        self.tokens, self.dim, self.inter, self.experts, self.top = tokens, dim, inter, 3, 2
        self.kind, self.gated, self.activation, self.own_inputs = kind, gated, activation, own_inputs
        self.rows = 2 * inter if gated else inter
        self.random = np.random.default_rng(inter + tile)
        inputs = (self.top + 1) * self.tokens + 1 if own_inputs else self.tokens + 1
        size = {"bf16": 1.0, "int8": 1 / 73, "fp8": 0.6}[kind]
        self.x, self.x_bits, self.x_scale = self.tensor((inputs, self.dim), chip, size)
        self.up, self.up_bits, self.up_scale = self.tensor((self.experts + 1, self.rows, self.dim), chip, size / 16)
        self.down, self.down_bits, self.down_scale = self.tensor((self.experts + 1, self.dim, inter), chip, size)
        self.factor = (0.5 + self.random.random((self.experts + 1, inter))).astype(np.float32)
        self.route(tile)

    def tensor(self, shape, chip, size):
        bits, values = numbers(self.random, shape, self.kind, chip)
        if self.kind == "bf16":  # small hidden numbers tell activations apart; sizes are powers of two
            return values * size, to_bf16(values * size), np.ones(shape[:-1], np.float32)
        scale = (size * (0.5 + self.random.random(shape[:-1]))).astype(np.float32)
        return values * scale[..., None], bits, scale

    def route(self, tile):
        """`ids` has, expert by expert and filled up to whole tiles, the token and, in the upper 8 bits, which of its choices
        the expert is; `blocks` has each tile's expert."""
        self.chosen = np.stack([self.random.permutation(self.experts)[:self.top] for _ in range(self.tokens)])
        weights = self.random.random((self.tokens, self.top)).astype(np.float32) + np.float32(0.25)
        self.weights = weights / weights.sum(1, keepdims=True)
        ids, sorted_weights, blocks = [], [], []
        for expert in range(self.experts):
            mine = np.argwhere(self.chosen == expert)
            filler = -len(mine) % tile
            ids += [(k << 24) | t for t, k in mine] + [(self.top << 24) | self.tokens] * filler
            sorted_weights += [self.weights[t, k] for t, k in mine] + [0] * filler
            blocks += [expert] * ((len(mine) + filler) // tile)
        self.ids, self.sorted_weights = np.array(ids, np.uint32), np.array(sorted_weights, np.float32)
        self.blocks, self.valid = np.array(blocks, np.int32), np.array([len(ids), self.tokens], np.int32)

    def hidden(self, token, choice):
        """What the first matmul and the activation give for one of the token's experts."""
        expert = self.chosen[token, choice]
        h = self.up[expert] @ self.x[choice * self.tokens + token if self.own_inputs else token]
        h = self.activation(h[:self.inter]) * h[self.inter:] if self.gated else self.activation(h)
        return h * self.factor[expert] if self.own_inputs else h

    def result(self):
        """The layer's result, and six standard deviations of the errors of rounding the hidden numbers to `kind`."""
        out, variance = np.zeros((2, self.tokens, self.dim))
        for token, choice in np.ndindex(self.chosen.shape):
            h, down = self.hidden(token, choice), self.down[self.chosen[token, choice]]
            weight = self.weights[token, choice]
            out[token] += weight * (down @ h)
            variance[token] += weight ** 2 * (down ** 2 @ (steps(h, self.kind) ** 2 / 12))
        return out, 6 * np.sqrt(variance)
