# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels of Triton for test_torch.py; Triton reads their source from a file."""
import triton
import triton.language as tl


@triton.jit
def row_sums(x, out, columns, row_stride, column_stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    column = tl.arange(0, BLOCK)
    values = tl.load(x + row * row_stride + column * column_stride, column < columns, 0.0)
    tl.store(out + row, tl.sum(values))
