# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The places of the 2048 largest numbers of each row, in any order (folders `topk_per_row_decode`, `topk_per_row_prefill`).
Arguments: csrc/py_itfs_cu/asm_topk_per_row_decode.cu, asm_topk_per_row_prefill.cu."""
import numpy as np

from description import Kernel, Launch

BEST = 2048


def judge_rows(numbers, ends, chosen):
    """Every row's places are distinct and inside it, and their numbers are the largest; the rest of a short row is -1."""
    for row, end in enumerate(ends):
        count = min(BEST, end)
        places = np.asarray(chosen[row][:count], np.int64)
        if len(set(places)) != count or places.min() < 0 or places.max() >= end:
            return False, f"row {row}: {count - len(set(places))} repeated places, from {places.min()} to {places.max()}"
        if not np.array_equal(np.sort(numbers[row][places]), np.sort(numbers[row][:end])[end - count:]):
            return False, f"row {row}: other numbers than the {count} largest"
        if (chosen[row][count:] != -1).any():
            return False, f"row {row}: the places after its {end} numbers are not -1"
    return True, f"the {BEST} largest of {len(ends)} rows, exactly"


def decode(lengths, width):
    random = np.random.default_rng(width)
    numbers = random.standard_normal((len(lengths), width)).astype(np.float32)
    arguments = {0: numbers, 8: np.array(lengths, np.int32), 16: f"i32[{len(lengths)},{BEST}]", 24: width, 28: 1, 32: 1}
    return Launch((len(lengths), 1, 1), 1024, arguments, {}, lambda results: judge_rows(numbers, lengths, results[16]),
                  (16,), (16,))


def prefill(lengths, width):
    random = np.random.default_rng(width)
    numbers = random.standard_normal((len(lengths), width)).astype(np.float32)
    rows = len(lengths)
    arguments = {0: f"i8[{rows * BEST * 8}]", 8: numbers, 16: np.zeros(rows, np.int32), 24: np.array(lengths, np.int32),
                 32: f"i32[{rows},{BEST}]", 40: 0, 48: width, 52: 1}
    return Launch((rows, 1, 1), 1024, arguments, {}, lambda results: judge_rows(numbers, lengths, results[32]), (32,), (32,))


def kernels():
    return [Kernel("topk_per_row", name, "gfx942", f"gfx942/topk_per_row_{name}/asm_top_k_per_row_{name}.co",
                   lambda make=make: make([3000, 2500, 700], 3000), "exact")
            for name, make in (("decode", decode), ("prefill", prefill))]
