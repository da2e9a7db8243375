# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Multi-head latent attention, decoding (folder `mla`): keys of 576 numbers, whose first 512 are the values, one token a
page. Arguments and layouts: csrc/py_itfs_cu/asm_mla.cu, aiter/mla.py; its second stage, in NumPy here, joins the splits."""
import numpy as np

from description import Kernel, Launch
from families.decode_attention import attend, compare
from formats import F32, from_bf16, random_bf16, random_fp8

KEY, VALUE, SCALE = 576, 512, 1 / np.sqrt(576)
SCALES = {"bf16": (1.0, 1.0), "fp8": (0.5, 1.5)}
REASON = ("the kernel rounds the probabilities to the type of the keys: six standard deviations of these errors, and half a "
          "step of a bf16 result")
EARLY = ("waves read LDS before others have written it: the default schedule, each wave until it waits, gives wrong results, "
         "and turns give right ones")


def references(q, keys_of, rows):
    """Attention, its tolerance and the log-sum-exp of each row; `keys_of` gives the keys that a row sees."""
    heads = q.shape[1]
    want, error, sums = np.empty((rows, heads, VALUE)), np.empty((rows, heads, VALUE)), np.empty((rows, heads))
    for row in range(rows):
        keys, kind = keys_of(row)
        want[row], error[row] = attend(q[row], keys, keys[..., :VALUE], SCALE, kind, q_is_rounded=False)
        score = q[row] @ keys[:, 0].T * SCALE
        sums[row] = np.log(np.exp(score).sum(1))
    return want, error, sums


def joined(parts, sums):
    """The second stage: parts [rows, splits, heads, 512] weighted by their log-sum-exp; a split without tokens wrote none."""
    sums = sums.astype(np.float64)
    total = np.log(np.exp(sums).sum(1))
    weight = np.exp(sums - total[:, None])[..., None]
    return (weight * np.where(weight > 0, parts, 0)).sum(1), total


PARTS = ("lse_p_store", "g_kv_indptr", "cp_world_size", "cp_rank")  # of context that is divided among devices


def launch(chip, kind, heads, lengths, splits=1, rows_a_group=16, bf16=False, arguments_end=304):
    """`rows_a_group`: query rows of a workgroup; `bf16`: the kernel writes the result itself, as bf16 and without sums."""
    random = np.random.default_rng(sum(lengths) + heads)
    make = random_bf16 if kind == "bf16" else lambda generator, shape: random_fp8(generator, shape, chip, 2.0)
    batch, tokens = len(lengths), sum(lengths)
    (qb, q), (kb, k) = make(random, (batch, heads, KEY)), make(random, (tokens + 5, 1, 1, KEY))
    q, k = q * SCALES[kind][0], k[:, 0] * SCALES[kind][1]
    pages = random.permutation(tokens + 5)[:tokens].astype(np.int32)
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    want, error, sums = references(q, lambda row: (k[pages[starts[row]:starts[row + 1]]], kind), batch)
    arguments = {0: f"f32[{batch},{splits},{heads},{VALUE}]", 16: np.full((batch, splits, heads), -np.inf, np.float32),
                 32: qb, 48: kb, 64: starts, 80: pages, 96: np.ones(batch, np.int32), 112: F32(SCALE), 128: heads,
                 144: splits, 160: heads * KEY * qb.itemsize, 176: KEY * kb.itemsize, 192: 0,
                 208: np.arange(batch + 1, dtype=np.int32), 224: splits * np.arange(batch + 1, dtype=np.int32),
                 288: int(splits == 1)}
    if kind == "fp8":
        arguments.update({256: np.full(1, SCALES[kind][0], np.float32), 272: np.full(1, SCALES[kind][1], np.float32)})

    def judge(results):
        if bf16:
            got = from_bf16(results[0].view(np.uint16).reshape(-1)[:want.size]).reshape(want.shape)
            return compare(got, want, 2.0 ** -8, error)
        got, total = joined(results[0], results[16])
        right, sentence = compare(got, want, 2.0 ** -8, error)
        right_sums, of_sums = compare(total, sums, 1e-5, 1e-5)
        return right and right_sums, f"{sentence}; log-sum-exp: {of_sums}"
    grid = (-(-heads // rows_a_group), batch, splits)
    arguments = {offset: value for offset, value in arguments.items() if offset < arguments_end}
    return Launch(grid, 256, arguments, {}, judge, (0, 16), zeros=("RP", "DQ", "DK") + PARTS)


def kernel(chip, name, suffix, *case, schedule="", **options):
    return Kernel("mla", name + suffix, chip, f"{chip}/mla/mla_{name}.co", lambda: launch(chip, *case, **options),
                  REASON, schedule=schedule, note=EARLY if schedule else "")


def kernels():
    turns = {"schedule": "round-robin"}
    both = []
    for chip in ("gfx942", "gfx950"):
        narrow, wide = "dec_stage1_bf16_a16w16_subQ16_mqa16", "dec_stage1_bf16_a16w16_subQ128_mqa128"
        both += [kernel(chip, narrow, "", "bf16", 16, [70], arguments_end=208),
                 kernel(chip, narrow, "-2splits", "bf16", 16, [200, 100], 2, arguments_end=208),
                 kernel(chip, wide, "", "bf16", 128, [70], 1, 128, True, arguments_end=224),
                 kernel(chip, wide, "-2splits", "bf16", 128, [100], 2, 128, arguments_end=224),
                 kernel(chip, "a8w8_qh16_qseqlen1_gqaratio16", "-2splits", "fp8", 16, [200], 2, 128,
                        arguments_end=288 if chip == "gfx942" else 304, **turns),
                 kernel(chip, "a8w8_qh128_m32x4_n16x2_msk1", "-2splits", "fp8", 128, [100], 2, 128, arguments_end=288)]
    return both + [kernel("gfx950", "a16w16_qh8_qseqlen1_gqaratio8_v3", "-2splits", "bf16", 8, [130], 2, 8),
                   kernel("gfx950", "a8w8_qh8_qseqlen1_gqaratio8_v3", "-2splits", "fp8", 8, [200], 2, 8, **turns)]
