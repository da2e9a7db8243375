# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The names of libdevice's arithmetic with a rounding direction; what it does is in rounding.py."""
import triton
import triton.language as tl
from triton.language.core import to_tensor

from . import rounding


@triton.jit
def add_rn(x, y):
    return rounding.add(x, y, "rn")


@triton.jit
def add_rz(x, y):
    return rounding.add(x, y, "rz")


@triton.jit
def add_rd(x, y):
    return rounding.add(x, y, "rd")


@triton.jit
def add_ru(x, y):
    return rounding.add(x, y, "ru")


@triton.jit
def sub_rn(x, y):
    return rounding.add(x, -y, "rn")


@triton.jit
def sub_rz(x, y):
    return rounding.add(x, -y, "rz")


@triton.jit
def sub_rd(x, y):
    return rounding.add(x, -y, "rd")


@triton.jit
def sub_ru(x, y):
    return rounding.add(x, -y, "ru")


@triton.jit
def mul_rn(x, y):
    return rounding.multiply(x, y, "rn")


@triton.jit
def mul_rz(x, y):
    return rounding.multiply(x, y, "rz")


@triton.jit
def mul_rd(x, y):
    return rounding.multiply(x, y, "rd")


@triton.jit
def mul_ru(x, y):
    return rounding.multiply(x, y, "ru")


@triton.jit
def div_rn(x, y):
    return rounding.divide(x, y, "rn")


@triton.jit
def div_rz(x, y):
    return rounding.divide(x, y, "rz")


@triton.jit
def div_rd(x, y):
    return rounding.divide(x, y, "rd")


@triton.jit
def div_ru(x, y):
    return rounding.divide(x, y, "ru")


@triton.jit
def rcp_rn(x):
    return rounding.divide(tl.cast(1.0, to_tensor(x).dtype), x, "rn")


@triton.jit
def rcp_rz(x):
    return rounding.divide(tl.cast(1.0, to_tensor(x).dtype), x, "rz")


@triton.jit
def rcp_rd(x):
    return rounding.divide(tl.cast(1.0, to_tensor(x).dtype), x, "rd")


@triton.jit
def rcp_ru(x):
    return rounding.divide(tl.cast(1.0, to_tensor(x).dtype), x, "ru")


@triton.jit
def sqrt_rn(x):
    return rounding.root(x, "rn")


@triton.jit
def sqrt_rz(x):
    return rounding.root(x, "rz")


@triton.jit
def sqrt_rd(x):
    return rounding.root(x, "rd")


@triton.jit
def sqrt_ru(x):
    return rounding.root(x, "ru")


@triton.jit
def fma_rn(x, y, z):
    return rounding.fused(x, y, z, "rn")


@triton.jit
def fma_rz(x, y, z):
    return rounding.fused(x, y, z, "rz")


@triton.jit
def fma_rd(x, y, z):
    return rounding.fused(x, y, z, "rd")


@triton.jit
def fma_ru(x, y, z):
    return rounding.fused(x, y, z, "ru")
