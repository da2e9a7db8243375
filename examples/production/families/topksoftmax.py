# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Softmax over the experts of each token, and the best k of them. Arguments: weights, indices (out), gates (in), then numbers.
Layout read in csrc/py_itfs_cu/asm_topksoftmax.cu."""
import numpy as np

from description import Kernel, Launch
from formats import from_bf16, to_bf16

REASON = "f32 sums of up to 384 exponentials: relative 1e-5"


def softmax(gates):
    p = np.exp(gates - gates.max(1, keepdims=True))
    return p / p.sum(1, keepdims=True)


def launch(rows, experts, best, bf16, tokens, renormalize):
    random = np.random.default_rng(experts + best)
    gates = random.standard_normal((tokens, experts)).astype(np.float32) * 2
    given = to_bf16(gates) if bf16 else gates
    p = softmax((from_bf16(given) if bf16 else gates).astype(np.float64))
    largest = np.sort(p, 1)[:, ::-1][:, :best]
    scale = largest.sum(1, keepdims=True) if renormalize else 1.0

    def judge(results):
        indices, weights = results[0].astype(np.int64), results[16].astype(np.float64)
        if indices.min() < 0 or indices.max() >= experts:
            return False, f"an index outside 0 to {experts - 1}"
        # Equal gates make several answers right, so the gates of the chosen experts are compared, not their indices.
        chosen = np.take_along_axis(p, indices, 1) / scale
        distinct = all(len(set(row)) == best for row in indices)
        best_chosen = np.allclose(np.sort(chosen, 1)[:, ::-1], largest / scale, rtol=1e-12)
        close = np.abs(weights - chosen) <= 1e-7 + 1e-5 * chosen
        return distinct and best_chosen and close.all(), (f"experts {'right' if distinct and best_chosen else 'wrong'}, "
                                                           f"{int((~close).sum())} of {close.size} weights beyond 1e-5")
    arguments = {0: f"i32[{tokens},{best}]", 16: f"f32[{tokens},{best}]", 32: given, 48: tokens, 64: experts, 80: best,
                 96: int(renormalize), 112: best * 4}
    return Launch(((tokens + rows - 1) // rows, 1, 1), 256, arguments, {}, judge, (0, 16))


def kernel(chip, rows, experts, best, bf16, tokens, renormalize):
    name = f"{rows}x{experts}x{best}{'_bf16' if bf16 else ''}"
    return Kernel("topksoftmax", name, chip, f"{chip}/topksoftmax/topksoftmax_{name}.co",
                  lambda: launch(rows, experts, best, bf16, tokens, renormalize), REASON)


def kernels():
    cases = [(4, 128, 4, False, 13, False), (4, 256, 8, False, 10, False), (4, 384, 8, True, 9, True),
             (12, 128, 6, False, 25, True)]
    return [kernel(chip, *case) for chip in ("gfx942", "gfx950") for case in cases]
