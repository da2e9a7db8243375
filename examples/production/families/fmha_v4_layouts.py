# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How `fmha_v4_fwd` wants K and V of 6 and 4 bits in memory: tiles of 128 tokens for each head, filled up with zeros, as its
loads to LDS read them. Sources: csrc/kernels/mha_v4_quant.cu, op_tests/test_mha_v4.py,
aiter/ops/triton/quant/mxfp6_fmha_pack.py."""
import numpy as np

from formats import pack_fp4, pack_fp6

TOKENS = 128


def by_tiles(tensor):
    """[b, s, h, ...] as [b * h, tiles, 128, ...], zeros after the last token."""
    b, s, h, *rest = tensor.shape
    tiles = -(-s // TOKENS)
    padded = np.zeros((b, tiles * TOKENS, h, *rest), tensor.dtype)
    padded[:, :s] = tensor
    return np.moveaxis(padded, 2, 1).reshape(b * h, tiles, TOKENS, *rest)


def k_of_fp4(codes):
    """Four chunks of 32 channels: 16 bytes of each token. Returns the bytes, and the strides of token, head and batch."""
    tiled = pack_fp4(by_tiles(codes)).reshape(*by_tiles(codes).shape[:2], TOKENS, 4, 16)
    head = tiled[0].size
    return np.ascontiguousarray(tiled.transpose(0, 1, 3, 2, 4)).reshape(-1), (64, head, codes.shape[2] * head)


def k_of_fp6(codes, scales):
    """The 24 bytes of a token and 32 channels as 16 and 8, then the tile's scales: once as they are, and once one byte earlier,
    so that the last of a token's 4 is the first of the next token."""
    tiled = pack_fp6(by_tiles(codes)).reshape(*by_tiles(codes).shape[:2], 4, 32, 4, 24)  # quarter, token, group, byte
    heads, tiles = tiled.shape[:2]
    record = np.zeros((heads, tiles, 17408), np.uint8)
    swapped = tiled.transpose(0, 1, 2, 4, 3, 5)
    record[..., :8192] = swapped[..., :16].reshape(heads, tiles, -1)
    record[..., 8192:12288] = swapped[..., 16:].reshape(heads, tiles, -1)
    plain = by_tiles(scales)
    next_ones = np.roll(plain.reshape(heads, -1), -1, 1)
    next_ones[:, -1] = 0
    for first, bytes_of in ((16384, plain), (16896, next_ones.reshape(plain.shape))):
        lanes = bytes_of.reshape(heads, tiles, 4, 2, 16, 4).transpose(0, 1, 3, 4, 2, 5)  # half, token, quarter, group
        record[..., first:first + 512] = lanes.reshape(heads, tiles, -1)
    return np.concatenate([record.reshape(-1), np.zeros(256, np.uint8)]), (136, tiles * 17408, codes.shape[2] * tiles * 17408)


def v_blocks(tensor):
    """[b, s, h, 128] as [b * h, tiles, half, block of 32 tokens, token, channel block, channel of 32]."""
    tiled = by_tiles(tensor)
    return tiled.reshape(*tiled.shape[:2], 2, 2, 32, 4, 32)


def v_scales(scales):
    """Scales [b, blocks of 32 tokens, h, 128], filled up, as [b * h, tiles, half, block, channel block, channel of 32]."""
    b, blocks, h, _ = scales.shape
    padded = np.zeros((b, -(-blocks // 4) * 4, h, 128), np.uint8)
    padded[:, :blocks] = scales
    return np.moveaxis(padded, 2, 1).reshape(b * h, -1, 2, 2, 4, 32)


def v_of_fp4(codes, scales):
    """Units of 32 channels and 64 tokens, 16 bytes a token, the tokens of 32 in the order in which the transposing load gives
    them. Returns bytes, strides, and scales in the order in which lanes load them."""
    column = np.arange(32)
    order = np.argsort(4 * (column // 8) + 16 * (column // 4 % 2) + column % 4)
    packed = pack_fp4(v_blocks(codes)[:, :, :, :, order])  # head, tile, half, block, token, channel block, byte
    head = packed[0].size
    data = packed.transpose(0, 1, 5, 2, 3, 4, 6).reshape(-1)
    pairs = v_scales(scales).reshape(*v_scales(scales).shape[:5], 16, 2).transpose(0, 1, 2, 3, 5, 6, 4)
    return (np.concatenate([data, np.zeros(64, np.uint8)]), (64, head, codes.shape[2] * head),
            np.ascontiguousarray(pairs).reshape(-1))


def v_of_fp6(codes, scales):
    """24 bytes for each channel and block of 32 tokens, whose order is that of P in registers."""
    field = np.arange(32)
    order = 8 * (field % 16 // 4) + field % 4 + 4 * (field // 16)
    packed = pack_fp6(np.moveaxis(v_blocks(codes)[:, :, :, :, order], 4, -1))  # ..., half, block, channel block, channel, byte
    head = packed[0].size
    data = packed.transpose(0, 1, 4, 2, 3, 5, 6).reshape(-1)
    lanes = v_scales(scales).transpose(0, 1, 2, 3, 5, 4)
    return (np.concatenate([data, np.zeros(256, np.uint8)]), (96, head, codes.shape[2] * head),
            np.ascontiguousarray(lanes).reshape(-1))
