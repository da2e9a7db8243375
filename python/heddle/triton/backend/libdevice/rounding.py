# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions of libdevice that round: to integers, and arithmetic and conversions with a direction, `rn` to nearest, `rz` toward
zero, `rd` down, `ru` up. A directed result is the nearest one, moved by one where the exact error says so."""
import triton
import triton.language as tl
from triton.language.core import to_tensor
from triton.language.math import ceil, floor

from .integers import copysign, next_above, next_below, zeros_of


@triton.jit
def rint(x):
    """To the nearest integer, ties to even."""
    x = to_tensor(x)
    if x.dtype.is_fp64():
        whole = 4503599627370496.0
        size = tl.abs(x)
        return copysign(tl.where(size < whole, (size + whole) - whole, size), x)
    else:
        whole = 8388608.0
        size = tl.abs(x)
        return copysign(tl.where(size < whole, (size + whole) - whole, size), x)


@triton.jit
def nearbyint(x):
    return rint(x)


@triton.jit
def trunc(x):
    x = to_tensor(x)
    return copysign(floor(tl.abs(x)), x)


@triton.jit
def round(x):
    """To the nearest integer, ties away from zero."""
    x = to_tensor(x)
    size = tl.abs(x)
    low = floor(size)
    return copysign(tl.where(size - low >= 0.5, low + 1, low), x)


@triton.jit
def clamped(x, TYPE: tl.constexpr, LOW: tl.constexpr, HIGH: tl.constexpr):
    """A float of an integer's value as that type: the nearest end beyond its range, 0 for NaN."""
    x = tl.cast(x, tl.float64)
    inside = tl.where((x >= LOW) & (x < HIGH), x, 0.0).to(TYPE)
    top = tl.cast(zeros_of(x), tl.int64) - 1
    if TYPE.is_int_signed():
        most = (1 << (TYPE.primitive_bitwidth - 1)) - 1
        return tl.where(x >= HIGH, most, tl.where(x < LOW, -most - 1, inside)).to(TYPE)
    else:
        return tl.where(x >= HIGH, top.to(TYPE), inside)


@triton.jit
def _whole(x, MODE: tl.constexpr):
    if MODE == "rn":
        return rint(x)
    elif MODE == "rz":
        return trunc(x)
    elif MODE == "rd":
        return floor(x)
    else:
        return ceil(x)


@triton.jit
def to_int32(x, MODE: tl.constexpr):
    return clamped(_whole(to_tensor(x), MODE), tl.int32, -2147483648.0, 2147483648.0)


@triton.jit
def to_uint32(x, MODE: tl.constexpr):
    return clamped(_whole(to_tensor(x), MODE), tl.uint32, 0.0, 4294967296.0)


@triton.jit
def to_int64(x, MODE: tl.constexpr):
    return clamped(_whole(to_tensor(x), MODE), tl.int64, -9223372036854775808.0, 9223372036854775808.0)


@triton.jit
def to_uint64(x, MODE: tl.constexpr):
    return clamped(_whole(to_tensor(x), MODE), tl.uint64, 0.0, 18446744073709551616.0)


@triton.jit
def llrint(x):
    return to_int64(x, "rn")


@triton.jit
def llround(x):
    return to_int64(round(x), "rz")


@triton.jit
def directed(result, error, MODE: tl.constexpr):
    """The rounding of `result + error`, of which `result` is the nearest float and `error` has the sign of the rest."""
    if MODE == "rn":
        return result
    else:
        down = tl.where(error < 0, next_below(result), result)
        up = tl.where(error > 0, next_above(result), result)
        if MODE == "rd":
            return down
        elif MODE == "ru":
            return up
        else:
            return tl.where(result > 0, down, tl.where(result < 0, up, result))


@triton.jit
def sum_error(x, y, total):
    """What x + y lost when it was rounded to `total`, exactly."""
    part = total - x
    return (x - (total - part)) + (y - part)


@triton.jit
def add(x, y, MODE: tl.constexpr):
    x, y = to_tensor(x), to_tensor(y)
    total = x + y
    return directed(total, sum_error(x, y, total), MODE)


@triton.jit
def multiply(x, y, MODE: tl.constexpr):
    x, y = to_tensor(x), to_tensor(y)
    result = x * y
    return directed(result, tl.fma(x, y, -result), MODE)


@triton.jit
def divide(x, y, MODE: tl.constexpr):
    x, y = to_tensor(x), to_tensor(y)
    if x.dtype.is_fp64():
        result = x / y
    else:
        result = tl.div_rn(x, y)
    rest = tl.fma(-result, y, x)
    return directed(result, tl.where(y < 0, -rest, rest), MODE)


@triton.jit
def root(x, MODE: tl.constexpr):
    x = to_tensor(x)
    if x.dtype.is_fp64():
        result = tl.sqrt(x)
    else:
        result = tl.sqrt_rn(x)
    return directed(result, tl.fma(-result, result, x), MODE)


@triton.jit
def fused(x, y, z, MODE: tl.constexpr):
    """x * y + z, rounded once: the error of a fused operation is the sum of two floats."""
    x, y, z = to_tensor(x), to_tensor(y), to_tensor(z)
    result = tl.fma(x, y, z)
    high = x * y
    low = tl.fma(x, y, -high)
    tail = z + low
    tail_error = sum_error(z, low, tail)
    total = high + tail
    total_error = sum_error(high, tail, total)
    return directed(result, ((total - result) + total_error) + tail_error, MODE)


@triton.jit
def narrow(x, MODE: tl.constexpr):
    """A float64 as a float32."""
    x = tl.cast(x, tl.float64)
    result = x.to(tl.float32)
    return directed(result, x - result.to(tl.float64), MODE)


@triton.jit
def _of_integer(x, TYPE: tl.constexpr, MODE: tl.constexpr):
    """An integer of 64 bits as a float: its halves are floats, and so is the error of their sum."""
    high = (x >> 32).to(tl.float64) * 4294967296.0
    low = (x & 4294967295).to(tl.float64)
    total = high + low
    error = sum_error(high, low, total)
    if TYPE == tl.float64:
        return directed(total, error, MODE)
    else:
        # The float64 may be a tie of float32 that the error breaks: an odd last bit in place of what was lost.
        bits = total.to(tl.int64, bitcast=True)
        toward = tl.where((error > 0) == (total > 0), bits, bits - 1)
        sticky = tl.where(error == 0, bits, toward | 1).to(tl.float64, bitcast=True)
        return narrow(sticky, MODE)


@triton.jit
def int_to_float(x, MODE: tl.constexpr):
    return narrow(to_tensor(x).to(tl.int32).to(tl.float64), MODE)


@triton.jit
def uint_to_float(x, MODE: tl.constexpr):
    return narrow(to_tensor(x).to(tl.uint32).to(tl.float64), MODE)


@triton.jit
def long_to(x, TYPE: tl.constexpr, MODE: tl.constexpr):
    return _of_integer(to_tensor(x).to(tl.int64), TYPE, MODE)


@triton.jit
def ulong_to(x, TYPE: tl.constexpr, MODE: tl.constexpr):
    return _of_integer(to_tensor(x).to(tl.uint64), TYPE, MODE)
