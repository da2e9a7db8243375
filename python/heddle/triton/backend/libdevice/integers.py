# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions of libdevice on integers and on the bits of floats."""
import triton
import triton.language as tl
from triton.language.core import to_tensor


@triton.jit
def zeros_of(x):
    """0 in each place, of x's type. Kernels of Gluon, whose tiles have layouts, have no tl.full or tl.zeros_like."""
    return tl.cast(x != x, to_tensor(x).dtype) * 0


@triton.jit
def _unsigned(x):
    if x.dtype.primitive_bitwidth == 64:
        return x.to(tl.uint64, bitcast=True)
    else:
        return x.to(tl.uint32, bitcast=True)


@triton.jit
def popc(x):
    """How many bits are set, as an int32."""
    u = _unsigned(to_tensor(x)).to(tl.uint64)
    u = u - ((u >> 1) & 0x5555555555555555)
    u = (u & 0x3333333333333333) + ((u >> 2) & 0x3333333333333333)
    u = (u + (u >> 4)) & 0x0F0F0F0F0F0F0F0F
    u = u + (u >> 8)
    u = u + (u >> 16)
    return ((u + (u >> 32)) & 0x7F).to(tl.int32)


@triton.jit
def clz(x):
    """How many zeros the number begins with, as an int32."""
    x = to_tensor(x)
    u = _unsigned(x)
    for step in tl.static_range(6):
        if (1 << step) < x.dtype.primitive_bitwidth:
            u = u | (u >> (1 << step))
    return x.dtype.primitive_bitwidth - popc(u)


@triton.jit
def ffs(x):
    """The position of the lowest set bit, counted from 1; 0 where there is none."""
    x = to_tensor(x)
    u = _unsigned(x)
    lowest = u & (~u + 1)
    return tl.where(u == 0, 0, x.dtype.primitive_bitwidth - clz(lowest))


@triton.jit
def brev(x):
    """The bits in reverse order."""
    x = to_tensor(x)
    u = _unsigned(x).to(tl.uint64)
    u = ((u >> 1) & 0x5555555555555555) | ((u & 0x5555555555555555) << 1)
    u = ((u >> 2) & 0x3333333333333333) | ((u & 0x3333333333333333) << 2)
    u = ((u >> 4) & 0x0F0F0F0F0F0F0F0F) | ((u & 0x0F0F0F0F0F0F0F0F) << 4)
    u = ((u >> 8) & 0x00FF00FF00FF00FF) | ((u & 0x00FF00FF00FF00FF) << 8)
    u = ((u >> 16) & 0x0000FFFF0000FFFF) | ((u & 0x0000FFFF0000FFFF) << 16)
    u = (u >> 32) | (u << 32)
    return (u >> (64 - x.dtype.primitive_bitwidth)).to(x.dtype)


@triton.jit
def byte_perm(x, y, selector):
    """Four bytes of x (0 to 3) and y (4 to 7), chosen by the lowest three bits of the selector's four lowest nibbles."""
    both = to_tensor(x).to(tl.uint32).to(tl.uint64) | (to_tensor(y).to(tl.uint32).to(tl.uint64) << 32)
    chosen = to_tensor(selector).to(tl.uint32).to(tl.uint64)
    out = (both >> ((chosen & 7) * 8)) & 0xFF
    for byte in tl.static_range(1, 4):
        out = out | (((both >> (((chosen >> (4 * byte)) & 7) * 8)) & 0xFF) << (8 * byte))
    return out.to(tl.uint32).to(tl.int32, bitcast=True)


@triton.jit
def mulhi(x, y):
    """The high half of the product."""
    x, y = to_tensor(x), to_tensor(y)
    high = tl.umulhi(_unsigned(x), _unsigned(y))
    if x.dtype.is_int_signed():
        high = high.to(x.dtype, bitcast=True) - tl.where(x < 0, y, 0) - tl.where(y < 0, x, 0)
    return high.to(x.dtype)


@triton.jit
def mul24(x, y):
    """The low half of the product of the lowest 24 bits."""
    x, y = to_tensor(x), to_tensor(y)
    return ((x << 8) >> 8) * ((y << 8) >> 8)


@triton.jit
def sad(x, y, z):
    """|x - y| + z."""
    x, y = to_tensor(x), to_tensor(y)
    return (tl.where(x > y, x - y, y - x) + z).to(tl.uint32)


@triton.jit
def hadd(x, y):
    """The average, rounded down."""
    x, y = to_tensor(x), to_tensor(y)
    return (x & y) + ((x ^ y) >> 1)


@triton.jit
def rhadd(x, y):
    """The average, rounded up."""
    x, y = to_tensor(x), to_tensor(y)
    return (x | y) - ((x ^ y) >> 1)


@triton.jit
def int_as_float(x):
    return to_tensor(x).to(tl.float32, bitcast=True)


@triton.jit
def uint_as_float(x):
    return to_tensor(x).to(tl.float32, bitcast=True)


@triton.jit
def float_as_int(x):
    return to_tensor(x).to(tl.int32, bitcast=True)


@triton.jit
def float_as_uint(x):
    return to_tensor(x).to(tl.uint32, bitcast=True)


@triton.jit
def longlong_as_double(x):
    return to_tensor(x).to(tl.float64, bitcast=True)


@triton.jit
def double_as_longlong(x):
    return to_tensor(x).to(tl.int64, bitcast=True)


@triton.jit
def hiloint2double(high, low):
    bits = (to_tensor(high).to(tl.int64) << 32) | to_tensor(low).to(tl.uint32).to(tl.int64)
    return bits.to(tl.float64, bitcast=True)


@triton.jit
def double2loint(x):
    return tl.cast(x, tl.float64).to(tl.int64, bitcast=True).to(tl.int32)


@triton.jit
def double2hiint(x):
    return (tl.cast(x, tl.float64).to(tl.int64, bitcast=True) >> 32).to(tl.int32)


@triton.jit
def bits_of(x):
    if x.dtype.primitive_bitwidth == 64:
        return x.to(tl.int64, bitcast=True)
    else:
        return x.to(tl.int32, bitcast=True)


@triton.jit
def signbit(x):
    return bits_of(to_tensor(x)) < 0


@triton.jit
def copysign(x, y):
    x = to_tensor(x)
    size = tl.abs(x)
    return tl.where(bits_of(tl.cast(y, x.dtype)) < 0, -size, size)


@triton.jit
def isnan(x):
    return x != x


@triton.jit
def isinf(x):
    return tl.abs(x) == float("inf")


@triton.jit
def finitef(x):
    return tl.abs(x) < float("inf")


@triton.jit
def isfinited(x):
    return tl.abs(x) < float("inf")


@triton.jit
def _smallest(x):
    """The smallest positive number of x's type, of its shape."""
    return (bits_of(x * 0) * 0 + 1).to(x.dtype, bitcast=True)


@triton.jit
def next_above(x):
    """The next float above; NaN and infinity stay."""
    bits = bits_of(x)
    moved = tl.where(bits >= 0, bits + 1, bits - 1).to(x.dtype, bitcast=True)
    moved = tl.where(x == 0, _smallest(x), moved)
    return tl.where((x != x) | (x == float("inf")), x, moved)


@triton.jit
def next_below(x):
    return -next_above(-x)


@triton.jit
def nextafter(x, y):
    x = to_tensor(x)
    y = tl.cast(y, x.dtype)
    moved = tl.where(y > x, next_above(x), next_below(x))
    return tl.where(x == y, y, tl.where(y != y, y, moved))
