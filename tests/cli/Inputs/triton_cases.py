# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cases for bench/peers/triton_kernels.py that the fake Triton compiles: each kernel is the corpus' `vector_add`."""
import numpy as np
import triton
import triton.language as tl
from kernel_cases import pointers
from triton_kernels import Case, corpus, integer, translate

BLOCK = tl.constexpr(1024)


@triton.jit
def twice(x):
    return x + x


@triton.jit
def kernel(x, y, out, n, WHAT: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, twice(tl.load(x + i)) + tl.load(y + i), mask=i < n)


@triton.jit
def unknown(x, y, out, n, WHAT: tl.constexpr):
    pass


def case(path, stages, count=3):
    arrays = [np.ones(1024, np.float32)] * count  # which the fake libcuda's kernels leave
    return Case(path, (1, 1, 1), [*arrays, integer(1024)], [(2, "f32", 0)], 1e-6, stages=stages)


def translated(function, stages):
    path = translate(function, pointers("x:fp32 y:fp32 out:fp32 n:=i32"), {"WHAT": 2.0}, aligned=["n"])
    return case(path, stages)


CASES = {
    "translated": lambda shrink: translated(kernel, [2, 3]),
    "text": lambda shrink: case(corpus("vector_add"), [3]),
    "refused": lambda shrink: case(corpus("vector_add"), [3, 7, 8, 9]),
    "parameters": lambda shrink: case(corpus("vector_add"), [3], count=2),
    "unknown": lambda shrink: translated(unknown, [3]),
}
