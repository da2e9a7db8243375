# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attention of one query token against cached keys and values, and how far rounding inside a kernel may move it."""
import numpy as np


def steps(numbers, kind):
    """How large a step of the type is at each number. bf16 and fp8: at most a part of the number. int8: the conversion
    rounds towards zero, so that its errors are those of a step twice as large."""
    if kind == "int8":
        return np.full(numbers.shape, 2 * np.abs(numbers).max() / 127)
    return np.abs(numbers) / {"bf16": 128, "fp8": 8}[kind]


def compare(got, want, relative, absolute):
    """(right, sentence): whether all are within `absolute`, a number for each, + `relative` * |want|."""
    error = np.abs(np.asarray(got, np.float64) - want)
    limit = absolute + relative * np.abs(want)
    wrong = int((~(error <= limit)).sum())  # NaN is wrong
    return not wrong, (f"{wrong} of {want.size} beyond their limits, which are up to {np.max(limit):.3g}; largest error "
                       f"{error.max():.3g} of values up to {np.abs(want).max():.3g}")


def attend(q, k, v, scale, kind, scales=(None, None), q_is_rounded=None):
    """One sequence: q [heads, d], k and v [tokens, kv heads, d], scales of k and v [tokens, kv heads].

    Returns the result and six standard deviations of the errors that come from rounding the probabilities to `kind` and,
    with `q_is_rounded` (none: of 8-bit types), the queries too; an error is uniform within its step."""
    group, tokens = q.shape[0] // k.shape[1], k.shape[0]
    k_scale, v_scale = (np.ones((tokens, k.shape[1])) if s is None else s for s in scales)
    out, error = np.empty((2, q.shape[0], v.shape[2]))
    for h in range(q.shape[0]):
        n = h // group
        score = k[:, n] @ q[h] * scale * k_scale[:, n]
        p = np.exp(score - score.max())
        p = p / p.sum() * v_scale[:, n]
        variance = steps(p, kind) ** 2 / 12
        if kind != "bf16" if q_is_rounded is None else q_is_rounded:
            of_score = k[:, n] ** 2 @ (steps(q[h], kind) ** 2 / 12)
            variance = variance + (p * scale * k_scale[:, n]) ** 2 * of_score
        out[h] = p @ v[:, n]
        error[h] = 6 * np.sqrt(variance @ v[:, n] ** 2)
    return out, error
