# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Multi-head latent attention of many query tokens (folder `mla`, `mla_pfl`): each sees the keys up to its own; the result
is bf16. Arguments and layouts: csrc/py_itfs_cu/asm_mla.cu, aiter/mla.py."""
import numpy as np

from description import Kernel, Launch
from families.decode_attention import attend, compare
from families.latent_attention import KEY, REASON, SCALE, VALUE
from formats import F32, from_bf16, random_bf16

ROWS = 128  # query rows, tokens times heads, of a workgroup


def launch(heads, queries, tokens):
    random = np.random.default_rng(heads + queries)
    (qb, q), (kb, k) = random_bf16(random, (queries, heads, KEY)), random_bf16(random, (tokens + 5, 1, 1, KEY))
    pages = random.permutation(tokens + 5)[:tokens].astype(np.int32)
    keys = k[pages, 0]
    want, error = np.empty((2, queries, heads, VALUE))
    for row in range(queries):
        seen = keys[:tokens - queries + row + 1]
        want[row], error[row] = attend(q[row], seen, seen[..., :VALUE], SCALE, "bf16")
    arguments = {0: f"ui16[{queries},1,{heads},{VALUE}]", 16: f"f32[{queries},1,{heads}]", 32: qb, 48: kb,
                 64: np.array([0, tokens], np.int32), 80: pages, 96: np.ones(1, np.int32), 112: F32(SCALE), 128: heads,
                 144: 1, 160: heads * KEY * 2, 176: KEY * 2, 192: 0, 208: np.array([0, queries], np.int32)}
    return Launch((-(-queries * heads // ROWS), 1, 1), 256, arguments, {},
                  lambda results: compare(from_bf16(results[0])[:, 0], want, 2.0 ** -8, error), (0,))


def kernels():
    return [Kernel("mla-prefill", name, chip, f"{chip}/mla/mla_pfl_bf16_a16w16_{name}.co",
                   lambda case=case: launch(*case), REASON)
            for chip in ("gfx942", "gfx950") for name, *case in (("causal_subQ16_mqa16", 16, 20, 50),
                                                                 ("causal_subQ128_mqa128", 128, 3, 40))]
