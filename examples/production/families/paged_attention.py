# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Paged attention of one query token for each sequence (folder `pa`), 16 tokens a page. Arguments and layouts:
csrc/py_itfs_cu/asm_pa.cu, op_tests/test_pa.py."""
import numpy as np

from description import Kernel, Launch
from families.decode_attention import attend, compare
from formats import F32, from_bf16, random_bf16, random_fp8

HEAD, PAGE = 128, 16
SCALE = 1 / np.sqrt(HEAD)
REASON = ("the kernel rounds the probabilities (and, of a cache in 8 bits, the queries) to the cache's type: six standard "
          "deviations of these errors, and half a step of the bf16 result")


def cache(random, shape, kind, chip):
    """K and V: numbers of `shape`, [blocks, page, kv heads, d], and bits in the kernel's layouts, 16 bytes of a row together."""
    blocks, page, kv_heads, _ = shape
    if kind == "bf16":
        (kb, k), (vb, v) = (random_bf16(random, shape) for _ in range(2))
    elif kind == "fp8":
        (kb, k), (vb, v) = (random_fp8(random, shape, chip) for _ in range(2))
    else:
        kb, vb = (random.integers(-127, 128, shape).astype(np.int8) for _ in range(2))
        k, v = kb.astype(np.float64), vb.astype(np.float64)
    x = 16 // kb.itemsize
    k_layout = kb.reshape(blocks, page, kv_heads, HEAD // x, x).transpose(0, 2, 3, 1, 4)
    v_layout = vb.reshape(blocks, page // x, x, kv_heads, HEAD).transpose(0, 3, 1, 4, 2)
    return k, v, np.ascontiguousarray(k_layout), np.ascontiguousarray(v_layout)


def launch(chip, kind, heads, lengths, kv_heads=1):
    random = np.random.default_rng(sum(lengths) + heads)
    batch, longest = len(lengths), -(-max(lengths) // PAGE)
    blocks = batch * longest + 3
    qb, q = random_bf16(random, (batch, heads, HEAD))
    k, v, kb, vb = cache(random, (blocks, PAGE, kv_heads, HEAD), kind, chip)
    table = random.permutation(blocks)[:batch * longest].reshape(batch, longest).astype(np.int32)
    arguments = {0: f"ui16[{batch},{heads},{HEAD}]", 16: qb, 32: kb, 48: vb, 64: table,
                 80: np.array(lengths, np.int32), 128: F32(np.log2(np.e) * SCALE), 144: longest, 160: kv_heads,
                 176: heads * HEAD * 2, 192: kb[0].nbytes, 208: kb[0, 0].nbytes, 224: 0, 240: heads // kv_heads}
    scales = [None, None]
    if kind != "bf16":
        size = 0.006 if kind == "int8" else 0.5
        scales = [(size * (0.5 + random.random((blocks, kv_heads, PAGE)))).astype(np.float32) for _ in range(2)]
        arguments.update({96: scales[0], 112: scales[1]})
    want, error = np.empty((batch, heads, HEAD)), np.empty((batch, heads, HEAD))
    for b, length in enumerate(lengths):
        page, slot = table[b, np.arange(length) // PAGE], np.arange(length) % PAGE
        of = [None if s is None else s[page, :, slot].astype(np.float64) for s in scales]
        want[b], error[b] = attend(q[b], k[page, slot], v[page, slot], SCALE, kind, of)
    return Launch((kv_heads, batch, 1), 256, arguments, {},
                  lambda results: compare(from_bf16(results[0]), want, 2.0 ** -8, error), (0,),
                  zeros=("KQ", "VQ", "QTP"))


def kernel(name, chip, kind, heads, lengths):
    return Kernel("pa", name, chip, f"{chip}/pa/pa_bf16_{name}.co",
                  lambda: launch(chip, kind, heads, lengths), REASON)


CASES = (
    ("noquant_gqa16_1tg_4w", "bf16", 16, [70, 33]),
    ("noquant_gqa8_1tg_4w", "bf16", 8, [300]),
    ("pertokenInt8_gqa8_2tg_4w", "int8", 8, [150]),
    ("pertokenFp8_gqa8_2tg_4w", "fp8", 8, [150]),
    ("pertokenInt8_gqa16_2tg_4w", "int8", 16, [600]),
    ("pertokenFp8_gqa16_2tg_4w", "fp8", 16, [600]))


def kernels():
    return [kernel(name, chip, *case) for chip in ("gfx942", "gfx950") for name, *case in CASES]
