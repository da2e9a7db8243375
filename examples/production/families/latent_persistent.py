# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Multi-head latent attention, decoding, whose grid does not depend on the sequences (folder `mla`, `_ps`): each workgroup has
a list of works, which are tokens of one sequence. A sequence of one work is written as bf16; of several, as parts that a second
kernel joins, in NumPy here. Arguments and layouts: csrc/py_itfs_cu/asm_mla.cu, csrc/include/mla.h,
csrc/kernels/mla/metadata/v1_2_device.cuh."""
import numpy as np

from description import Kernel, Launch
from families.decode_attention import compare
from families.latent_attention import EARLY, KEY, PARTS, REASON, SCALE, SCALES, VALUE, joined, references
from formats import F32, from_bf16, random_bf16, random_fp8

HEADS, WHOLE = 16, -1


def list_works(lengths, queries):
    """Works as rows of 8 numbers: sequence, row of the parts, query rows, tokens (first and end), tokens after them, 0; two
    workgroups share the first sequence's tokens, and the second workgroup has the second sequence too."""
    first, second = lengths
    half = first // 32 * 16
    works = [[0, 0, 0, queries, 0, half, first - half, 0], [0, queries, 0, queries, half, first, 0, 0],
             [1, WHOLE, queries, 2 * queries, first, first + second, 0, 0]]
    return np.array(works, np.int32), np.array([0, 1, 3], np.int32)


def launch(chip, kind, lengths, queries=1, arguments_end=384):
    random = np.random.default_rng(sum(lengths) + queries)
    make = random_bf16 if kind == "bf16" else lambda generator, shape: random_fp8(generator, shape, chip, 2.0)
    rows, tokens = 2 * queries, sum(lengths)
    (qb, q), (kb, k) = make(random, (rows, HEADS, KEY)), make(random, (tokens + 5, 1, 1, KEY))
    q, k = q * SCALES[kind][0], k[:, 0] * SCALES[kind][1]
    pages = random.permutation(tokens + 5)[:tokens].astype(np.int32)
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    works, of_groups = list_works(lengths, queries)

    def keys_of(row):
        sequence, later = row // queries, queries - 1 - row % queries
        return k[pages[starts[sequence]:starts[sequence + 1] - later]], kind
    want, error, _ = references(q, keys_of, rows)
    arguments = {0: f"f32[{rows},1,{HEADS},{VALUE}]", 16: np.full((rows, 1, HEADS), -np.inf, np.float32), 32: qb, 48: kb,
                 64: starts, 80: pages, 96: np.ones(2, np.int32), 112: F32(SCALE), 128: HEADS * queries, 144: 1,
                 160: HEADS * KEY * qb.itemsize, 176: KEY * kb.itemsize, 192: 0, 208: queries * np.arange(3, dtype=np.int32),
                 224: "ptrs:of_groups,works", 240: f"ui16[{rows},{HEADS},{VALUE}]", 288: 1}
    if kind == "fp8":
        arguments.update({256: np.full(1, SCALES[kind][0], np.float32), 272: np.full(1, SCALES[kind][1], np.float32)})

    def judge(results):
        parts, sums = (results[offset].reshape(2, queries, HEADS, -1).swapaxes(0, 1) for offset in (0, 16))
        got = np.concatenate([joined(parts, sums[..., 0])[0], from_bf16(results[240][queries:])])
        return compare(got, want, 2.0 ** -8, error)
    arguments = {offset: value for offset, value in arguments.items() if offset < arguments_end}
    return Launch((2, 1, 1), 256, arguments, {}, judge, (0, 16, 240), buffers={"of_groups": of_groups, "works": works},
                  zeros=PARTS)


def kernels():
    fp8, bf16 = "a8w8_qh16_qseqlen1_gqaratio16_ps", "a16w16_qh16_m16x4_n16x1_coex0_mask1_ps"
    turns = {"schedule": "round-robin", "note": EARLY}
    return [Kernel("mla-persistent", name, chip, f"{chip}/mla/mla_{name}.co", lambda chip=chip, case=case: launch(chip, *case),
                   REASON, **(turns if name == fp8 else {}))
            for chip, end in (("gfx942", 288), ("gfx950", 384))
            for name, *case in ((fp8, "fp8", [200, 70], 1, end), (bf16, "bf16", [100, 50], 4, 256))]
