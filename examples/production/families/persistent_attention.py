# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Paged attention whose grid does not depend on the sequences (folder `pa`, `_ps`): each workgroup has a list of works, which
are pages of one sequence. A sequence of one work is written as bf16; of several, as parts that a second kernel joins, in
NumPy here. Arguments and layouts: csrc/py_itfs_cu/asm_pa.cu, csrc/include/pa.h, op_tests/test_pa_ps.py."""
import numpy as np

from description import Kernel, Launch
from families.decode_attention import attend, compare
from families.latent_attention import joined
from families.paged_attention import HEAD, REASON, SCALE, cache
from formats import F32, from_bf16, random_bf16

HEADS, WHOLE = 16, -1


def list_works(pages):
    """Works as rows of 8 numbers: sequence, row of the parts, query rows, pages (first and end), 0, heads; two workgroups
    share the first sequence's pages, and the second workgroup has the second sequence too."""
    first, second = pages
    heads = HEADS << 16
    works = [[0, 0, 0, 1, 0, first // 2, 0, heads], [0, 1, 0, 1, first // 2, first, 0, heads],
             [1, WHOLE, 1, 2, first, first + second, 0, heads]]
    return np.array(works, np.int32), np.array([0, 1, 3], np.int32)


def scales_of(random, blocks, page, of_blocks):
    """A scale for each token, or for each page."""
    values = [(0.5 * (0.5 + random.random((blocks, 1, 1 if of_blocks else page)))).astype(np.float32) for _ in range(2)]
    return values, [np.broadcast_to(s, (blocks, 1, page)).transpose(0, 2, 1).astype(np.float64) for s in values]


def launch(chip, page, of_blocks):
    random = np.random.default_rng(page)
    lengths = [page * 2 - 70, page // 4]
    pages = [-(-length // page) for length in lengths]
    qb, q = random_bf16(random, (2, HEADS, HEAD))
    k, v, kb, vb = cache(random, (sum(pages) + 1, page, 1, HEAD), "fp8", chip)
    given, scales = scales_of(random, len(k), page, of_blocks)
    indices = random.permutation(len(k))[:sum(pages)].astype(np.int32)
    starts = np.concatenate([[0], np.cumsum(pages)]).astype(np.int32)
    works, of_groups = list_works(pages)
    want, error = np.empty((2, 2, HEADS, HEAD))
    for b, length in enumerate(lengths):
        rows = indices[starts[b] + np.arange(length) // page], np.arange(length) % page
        want[b], error[b] = attend(q[b], k[rows], v[rows], SCALE, "fp8", [s[rows] for s in scales])
    arguments = {0: f"ui16[2,{HEADS},{HEAD}]", 16: qb, 32: kb, 48: vb, 64: indices, 80: np.array(lengths, np.int32),
                 96: given[0], 112: given[1], 128: F32(np.log2(np.e) * SCALE), 144: 1, 160: HEADS * HEAD * 2,
                 176: kb[0].nbytes, 192: kb[0, 0].nbytes, 208: 0, 224: HEADS, 240: np.arange(3, dtype=np.int32),
                 256: starts, 272: of_groups, 288: works, 304: f"f32[1,2,{HEADS},{HEAD}]", 320: f"f32[1,2,{HEADS}]"}
    if not of_blocks:
        arguments.update({336: given[0][0, 0].nbytes, 352: given[0][0].nbytes})

    def judge(results):
        got = np.stack([joined(results[304], results[320])[0][0], from_bf16(results[0][1])])
        return compare(got, want, 2.0 ** -8, error)
    return Launch((2, 1, 1), 256, arguments, {}, judge, (0, 304, 320))


def kernels():
    return [Kernel("pa-persistent", name, chip, f"{chip}/pa/pa_bf16_{name}.co",
                   lambda chip=chip, case=case: launch(chip, *case), REASON)
            for chip in ("gfx942", "gfx950") for name, *case in (
                ("pertokenFp8_gqa16_1tg_4w_qlen16_msk1_ps", 1024, False),
                ("perblockFp8_blk256_1tg_4w_qlen16_msk1_ps", 256, True))]
