# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attention and its gradients in float64, for the families of attention forward and backward."""
import numpy as np


def attend(q, k, v, scale, causal=False):
    """q [b, s, h, d], k and v [b, t, h / group, d]; the causal mask is aligned to the last row and column. Returns the result
    [b, s, h, d], log-sum-exp [b, h, s], and the probabilities [b, h, s, t]."""
    group = q.shape[2] // k.shape[2]
    k, v = np.repeat(k, group, 2), np.repeat(v, group, 2)
    scores = np.einsum("bqhd,bkhd->bhqk", q, k) * scale
    if causal:
        rows, columns = scores.shape[2:]
        seen = np.arange(columns)[None, :] <= np.arange(rows)[:, None] + columns - rows
        scores = np.where(seen, scores, -np.inf)
    largest = scores.max(3, keepdims=True)
    p = np.exp(scores - largest)
    total = p.sum(3, keepdims=True)
    return np.einsum("bhqk,bkhd->bqhd", p / total, v), (np.log(total) + largest)[..., 0], p / total


def gradients(q, k, v, d_out, scale):
    """dQ [b, h, s, d], dK and dV [b, t, h, d], log-sum-exp and delta, the row sums of O * dO, [b, h, s]."""
    out, lse, p = attend(q, k, v, scale)
    delta = np.einsum("bqhd,bqhd->bhq", out, d_out)
    ds = p * (np.einsum("bqhd,bkhd->bhqk", d_out, v) - delta[..., None]) * scale
    return (np.einsum("bhqk,bkhd->bhqd", ds, k), np.einsum("bhqk,bqhd->bkhd", ds, q),
            np.einsum("bhqk,bqhd->bkhd", p, d_out), lse, delta)
