# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Multi-head latent attention, decoding, fourth version (folder `mla_v4`): keys and values of 448 8-bit floats, a power of two
for each 64 of them, and 64 bf16; a score of its own (a sink) for each head. Arguments and layouts:
csrc/py_itfs_cu/asm_mla_v4.cu, op_tests/test_mla_v4_nm.py."""
import numpy as np

from description import Kernel, Launch
from families.decode_attention import compare
from families.latent_attention import joined
from formats import F32, from_bf16, random_bf16, random_fp8

EXACT, ROTARY, ROW, SIDE = 448, 64, 512, 64
VALUE = EXACT + ROTARY
SCALE = 1 / np.sqrt(VALUE)
REASON = "probabilities are rounded to bf16: six standard deviations of these errors, and half a step of a bf16 result"


def packed(random, shape, chip):
    """Rows of 512 bytes, 64 bf16 of each row, and values. Each scale stands twice after the 8-bit floats."""
    bits, values = random_fp8(random, (*shape, EXACT), chip, 2.0)
    exponents = random.integers(-2, 2, (*shape, EXACT // SIDE))
    rotary_bits, rotary = random_bf16(random, (*shape, ROTARY))
    rows = np.zeros((*shape, ROW), np.uint8)
    rows[..., :EXACT] = bits
    rows[..., EXACT:EXACT + 2 * EXACT // SIDE] = np.repeat(exponents + 127, 2, -1)
    values = values * np.repeat(2.0 ** exponents, SIDE, -1)
    return rows, rotary_bits, np.concatenate([values, rotary], -1)


def attend(q, keys, sink):
    """Result, six standard deviations of rounding P to bf16, and log-sum-exp: q [heads, 512], keys [tokens, 512]."""
    score = q @ keys.T * SCALE
    total = np.log(np.exp(score).sum(1) + np.exp(sink))
    p = np.exp(score - total[:, None])
    return p @ keys, 6 * np.sqrt((p / 128) ** 2 / 12 @ keys ** 2), total


def launch(heads, lengths, splits):
    random = np.random.default_rng(sum(lengths) + heads)
    batch, tokens = len(lengths), sum(lengths)
    qb, q_rotary, q = packed(random, (batch, heads), "gfx950")
    kb, k_rotary, k = packed(random, (tokens + 5, 1, 1), "gfx950")
    pages = random.permutation(tokens + 5)[:tokens].astype(np.int32)
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    sink = (3 * random.standard_normal(heads)).astype(np.float32)
    want, error, sums = (np.stack(one) for one in zip(*(
        attend(q[b], k[pages[starts[b]:starts[b + 1]], 0, 0], sink.astype(np.float64)) for b in range(batch))))
    order = np.arange(batch + 1, dtype=np.int32)
    out = f"ui16[{batch},1,{heads},{VALUE}]" if splits == 1 else f"f32[{batch},{splits},{heads},{VALUE}]"
    arguments = {0: out, 16: np.full((batch, splits, heads), -np.inf, np.float32), 32: qb, 48: kb, 64: starts, 80: pages,
                 96: np.ones(batch, np.int32), 112: F32(SCALE), 128: heads, 144: splits, 192: 0, 208: order,
                 224: splits * order, 240: int(splits == 1), 256: q_rotary, 272: k_rotary, 288: sink,
                 304: f"i32[{batch}]", 320: 0}

    def judge(results):
        if splits == 1:
            return compare(from_bf16(results[0])[:, 0], want, 2.0 ** -8, error)
        got, total = joined(results[0], results[16])
        right, sentence = compare(got, want, 2.0 ** -8, error)
        right_sums, of_sums = compare(total, sums, 1e-5, 1e-5)
        return right and right_sums, f"{sentence}; log-sum-exp: {of_sums}"
    return Launch((-(-heads // 64), batch, splits), 256, arguments, {}, judge, (0, 16))


def kernels():
    name = "a8w8_qh64_qseqlen1_gqaratio64_nm"
    return [Kernel("mla_v4", f"{name}-{heads}heads-{splits}splits", "gfx950", f"gfx950/mla_v4/mla_{name}.co",
                   lambda case=(heads, lengths, splits): launch(*case), REASON, segment=336)
            for heads, lengths, splits in ((64, [70, 33], 1), (128, [100], 2))]
