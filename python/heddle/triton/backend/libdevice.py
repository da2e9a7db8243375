# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What `triton.language.extra.libdevice` is on Heddle's targets: the functions of Triton's own math that have its names, and
some that are made of them."""
import triton
import triton.language as tl
from triton.language.math import (abs, ceil, cos, div_rn, erf, exp, exp2, fdiv, floor, fma, log, log2, rsqrt, sin, sqrt,
                                  sqrt_rn, umulhi)

__all__ = ["abs", "ceil", "cos", "div_rn", "erf", "exp", "exp2", "fdiv", "floor", "fma", "log", "log2", "rsqrt", "sin", "sqrt",
           "sqrt_rn", "umulhi"]


@triton.jit
def fast_expf(x):
    return tl.exp(x)


@triton.jit
def fast_logf(x):
    return tl.log(x)


@triton.jit
def fast_dividef(x, y):
    return x / y


@triton.jit
def isnan(x):
    return x != x


@triton.jit
def isinf(x):
    return tl.abs(x) == float("inf")


@triton.jit
def tanh(x):
    # 1 - 2 / (e^2x + 1) of the magnitude: no overflow, and exact signs.
    magnitude = 1 - 2 / (tl.exp(2 * tl.abs(x)) + 1)
    return tl.where(x < 0, -magnitude, magnitude)


@triton.jit
def pow(x, y):
    return tl.exp2(y * tl.log2(x))
