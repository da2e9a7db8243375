# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attention of whole prompts in 8-bit floats, with keys of 192 numbers and values of 128, one token a page, whose grid does not
depend on the sequences (folder `mla`, `mla_pfl_qh192_vh128_...`): each workgroup has a list of works, which are a sequence's
query rows with some of its tokens. Of several works for the same rows a second kernel joins the parts, in NumPy here. Arguments
and layouts: csrc/py_itfs_cu/asm_mla.cu, csrc/include/ps.h, csrc/kernels/mla/metadata/v1_2_host.cuh."""
import numpy as np

from description import Kernel, Launch
from families.decode_attention import attend, compare
from families.latent_attention import EARLY, REASON, joined
from formats import F32, from_bf16, random_fp8

HEADS, KEY, VALUE, ROWS, TOKENS, WHOLE = 2, 192, 128, 256, 128, -1
SCALE = 1 / np.sqrt(KEY)


def list_works(first, second):
    """Works as rows of 8 numbers: sequence, row of the parts, query rows, tokens (first and end), tokens after them, heads. Two
    workgroups share the first sequence's tokens, and the second workgroup has the second sequence too."""
    groups = ([[0, 0, 0, first, 0, TOKENS, first - TOKENS]],
              [[0, ROWS, 0, first, TOKENS, first, 0], [1, WHOLE, first, first + second, first, first + second, 0]])
    works = [[work + [(head + 1) << 16 | head] for head in range(HEADS) for work in group] for group in groups]
    return np.array(sum(works, []), np.int32), np.cumsum([0] + [len(group) for group in works]).astype(np.int32)


def launch(causal, lengths):
    first, second = lengths
    random = np.random.default_rng(sum(lengths) + causal)
    tokens = first + second
    shapes = ((tokens, HEADS, KEY), (tokens + 5, HEADS, KEY), (tokens + 5, HEADS, VALUE))
    (qb, q), (kb, k), (vb, v) = (random_fp8(random, shape, "gfx950", 2.0) for shape in shapes)
    scales = [np.full(1, scale, np.float32) for scale in (1.3, 1.7, 0.9)]
    q, k, v = (values * np.float64(scale[0]) for values, scale in zip((q, k, v), scales))
    pages = random.permutation(tokens + 5)[:tokens].astype(np.int32)
    k, v = k[pages], v[pages]
    starts = np.array([0, first, tokens], np.int32)
    works, of_groups = list_works(first, second)
    want, error = np.empty((2, tokens, HEADS, VALUE))
    for row in range(tokens):
        begin, end = (0, first) if row < first else (first, tokens)
        end = row + 1 if causal else end
        want[row], error[row] = attend(q[row], k[begin:end], v[begin:end], SCALE, "fp8", q_is_rounded=False)
    arguments = {0: qb, 16: kb, 32: vb, 48: f"ui16[{tokens},{HEADS},{VALUE}]", 64: f"f32[{2 * ROWS},{HEADS},{VALUE}]",
                 80: np.full((2 * ROWS, HEADS), -np.inf, np.float32), 96: of_groups, 112: works, 128: starts, 144: starts,
                 160: pages, **dict(zip((176, 192, 208), scales)), 224: F32(SCALE), 240: tokens, 256: HEADS, 272: tokens + 5,
                 288: tokens}

    def judge(results):
        parts, sums = (results[offset].reshape(2, ROWS, HEADS, -1)[:, :first].swapaxes(0, 1) for offset in (64, 80))
        got = np.concatenate([joined(parts, sums[..., 0])[0], from_bf16(results[48][first:])])
        return compare(got, want, 2.0 ** -8, error)
    return Launch((2, 1, 1), 512, arguments, {}, judge, (48, 64, 80))


def kernels():
    name = "mla_pfl_qh192_vh128_m32x8_n128x1_causal"
    return [Kernel("mla-persistent", f"{name}{causal}_ps", "gfx950", f"gfx950/mla/{name}{causal}.co",
                   lambda causal=causal: launch(causal, (200, 60)), REASON, schedule="round-robin", note=EARLY)
            for causal in (0, 1)]
