# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Exponentials, logarithms, powers, trigonometric and hyperbolic functions of libdevice, and norms. All but tanh compute in
float64: a float32 result is nearly always the nearest one, a float64 result is within a few units in the last place."""
import triton
import triton.language as tl
from triton.language import core
from triton.language.core import to_tensor
from triton.language.math import floor

from .integers import copysign, signbit, zeros_of
from .rounding import rint

_LN2_HIGH = tl.constexpr(0.6931471803691238)  # ends in zeros, so that products with exponents are exact
_LN2_LOW = tl.constexpr(1.9082149292705877e-10)
_LN10 = tl.constexpr(2.302585092994046)
_LOG10_2_HIGH = tl.constexpr(0.30102999554947019)
_LOG10_2_LOW = tl.constexpr(1.1451100898021839e-10)
_LOG2_E = tl.constexpr(1.4426950408889634)
_PI = tl.constexpr(3.141592653589793)


@triton.jit
def wide(x):
    return tl.cast(x, tl.float64)


@triton.jit
def expm1(x):
    d = wide(x)
    power = tl.exp(d)
    # The rounding of the power cancels in the quotient.
    near = (power - 1) * (d / tl.log(power))
    value = tl.where(power == 1, d, tl.where((power - 1 == -1) | (power == float("inf")), power - 1, near))
    return value.to(to_tensor(x).dtype)


@triton.jit
def log1p(x):
    d = wide(x)
    total = 1 + d
    near = tl.log(total) * (d / (total - 1))
    value = tl.where(total == 1, d, tl.where(d == float("inf"), d, near))
    return value.to(to_tensor(x).dtype)


@triton.jit
def power_of_two(k):
    """2^k of a whole float64 of -1022 to 1023."""
    return ((k.to(tl.int64) + 1023) << 52).to(tl.float64, bitcast=True)


@triton.jit
def scaled(x, k):
    """x * 2^k of a whole k; in three factors, of which each is a float64."""
    k = tl.where(k > 3000, 3000.0, tl.where(k < -3000, -3000.0, k))
    third = rint(k * 0.3333333333333333)
    return ((x * power_of_two(third)) * power_of_two(third)) * power_of_two(k - third - third)


@triton.jit
def exp10(x):
    d = wide(x)
    whole = rint(d * 3.321928094887362)
    rest = (d - whole * _LOG10_2_HIGH) - whole * _LOG10_2_LOW
    value = scaled(tl.exp(rest * _LN10), whole)
    value = tl.where(d > 400, float("inf"), tl.where(d < -400, 0.0, value))
    return tl.where(d != d, d, value).to(to_tensor(x).dtype)


@triton.jit
def log10(x):
    return (tl.log(wide(x)) * 0.4342944819032518).to(to_tensor(x).dtype)


@triton.jit
def split_exponent(x):
    """Mantissa, of about 0.7 to 1.4, and exponent of positive finite numbers."""
    scale = tl.where(x < 2.2250738585072014e-308, 18014398509481984.0, 1.0)
    bits = (x * scale).to(tl.int64, bitcast=True)
    exponent = (bits >> 52) - 1023
    mantissa = ((bits & 0xFFFFFFFFFFFFF) | (1023 << 52)).to(tl.float64, bitcast=True)
    large = mantissa > 1.4142135623730951
    mantissa = tl.where(large, mantissa * 0.5, mantissa)
    return mantissa, (exponent + large.to(tl.int64)).to(tl.float64) - tl.where(scale == 1.0, 0.0, 54.0)


@triton.jit
def _log_pair(x):
    """The logarithm of positive finite numbers as a sum of two float64."""
    mantissa, exponent = split_exponent(x)
    # log m = 2 atanh s of s = (m - 1) / (m + 1), a pair.
    top = mantissa - 1
    bottom = mantissa + 1
    high = top / bottom
    bottom_low = mantissa - (bottom - 1)
    low = (tl.fma(-high, bottom, top) - high * bottom_low) / bottom
    square = high * high
    series = zeros_of(square) + 1.0 / 25
    for k in tl.static_range(11):
        series = series * square + 1.0 / (23 - 2 * k)
    tail = 2 * low + 2 * high * square * series
    first = exponent * _LN2_HIGH
    total = first + 2 * high
    rest = (first - total) + 2 * high
    return total, rest + (tail + exponent * _LN2_LOW)


@triton.jit
def pow(x, y):
    x, y = to_tensor(x), to_tensor(y)
    base, exponent = wide(x), wide(y)
    size = tl.abs(base)
    usual = (size > 0) & (size < float("inf"))
    high, low = _log_pair(tl.where(usual, size, 1.0))
    large = exponent * high
    small = tl.fma(exponent, high, -large) + exponent * low
    small = tl.where(tl.abs(large) < 1e6, small, 0.0)  # beyond it has overflowed
    whole = rint(large * _LOG2_E)
    whole = tl.where(tl.abs(whole) < 3000, whole, tl.where(large > 0, 3000.0, -3000.0))
    rest = (large - whole * _LN2_HIGH) - whole * _LN2_LOW
    rest = tl.where(tl.abs(rest) < 1, rest, 0.0)
    value = scaled(tl.exp(rest + small), whole)
    value = tl.where(size == 0, tl.where(exponent < 0, float("inf"), 0.0), value)
    value = tl.where(size == float("inf"), tl.where(exponent < 0, 0.0, float("inf")), value)
    limit = tl.where((size > 1) == (exponent > 0), float("inf"), 0.0)
    value = tl.where(tl.abs(exponent) == float("inf"), tl.where(size == 1, 1.0, limit), value)
    is_whole = floor(exponent) == exponent
    half = exponent * 0.5
    is_odd = is_whole & (floor(half) != half) & (tl.abs(exponent) < 9007199254740992.0)
    value = tl.where(signbit(base) & is_odd, -value, value)
    value = tl.where((base < 0) & (base != -float("inf")) & (is_whole == 0), float("nan"), value)
    value = tl.where((base != base) | (exponent != exponent), float("nan"), value)
    return tl.where((exponent == 0) | (base == 1), 1.0, value).to(x.dtype)


@triton.jit
def tan(x):
    d = wide(x)
    return (tl.sin(d) / tl.cos(d)).to(to_tensor(x).dtype)


@triton.jit
def _turns(d):
    """The whole half-turns in d, and the rest in radians."""
    whole = rint(d)
    return whole, (d - whole) * _PI


@triton.jit
def sinpi(x):
    d = wide(x)
    whole, rest = _turns(d)
    half = whole * 0.5
    value = tl.sin(rest)
    value = tl.where(floor(half) == half, value, -value)
    return tl.where(value == 0, copysign(value, d), value).to(to_tensor(x).dtype)


@triton.jit
def cospi(x):
    d = wide(x)
    whole, rest = _turns(tl.abs(d))
    half = whole * 0.5
    value = tl.where(tl.abs(rest) == _PI / 2, 0.0, tl.cos(rest))
    return tl.where(floor(half) == half, value, -value).to(to_tensor(x).dtype)


@triton.jit
def atan_of(d):
    """The arc tangent of a float64: of a quarter of the angle by its series."""
    size = tl.abs(d)
    inverse = size > 1
    t = tl.where(inverse, 1 / size, size)
    t = t / (1 + tl.sqrt(1 + t * t))
    t = t / (1 + tl.sqrt(1 + t * t))
    square = t * t
    series = zeros_of(square) + 1.0 / 25
    for k in tl.static_range(12):
        series = 1.0 / (23 - 2 * k) - series * square
    angle = 4 * t * series
    return copysign(tl.where(inverse, (_PI / 2 - angle) + 6.123233995736766e-17, angle), d)


@triton.jit
def atan(x):
    return atan_of(wide(x)).to(to_tensor(x).dtype)


@triton.jit
def atan2(y, x):
    above, right = wide(y), wide(x)
    same = (tl.abs(above) == float("inf")) & (tl.abs(right) == float("inf"))
    ratio = tl.where(same, 1.0, tl.abs(above) / tl.abs(right))
    ratio = tl.where((above == 0) & (right == 0), 0.0, ratio)
    angle = atan_of(ratio)
    angle = copysign(tl.where(signbit(right), (_PI - angle) + 1.2246467991473532e-16, angle), above)
    return tl.where((above != above) | (right != right), float("nan"), angle).to(to_tensor(y).dtype)


@triton.jit
def asin(x):
    d = wide(x)
    return atan_of(d / tl.sqrt((1 - d) * (1 + d))).to(to_tensor(x).dtype)


@triton.jit
def acos(x):
    d = wide(x)
    return (2 * atan_of(tl.sqrt((1 - d) / (1 + d)))).to(to_tensor(x).dtype)


@triton.jit
def sinh(x):
    d = wide(x)
    size = tl.abs(d)
    less = expm1(size)
    near = 0.5 * (less + less / (less + 1))
    root = tl.exp(0.5 * size)  # e^x may overflow where half of it does not
    return copysign(tl.where(size < 700, near, (0.5 * root) * root), d).to(to_tensor(x).dtype)


@triton.jit
def cosh(x):
    size = tl.abs(wide(x))
    power = tl.exp(size)
    root = tl.exp(0.5 * size)
    return tl.where(size < 700, 0.5 * (power + 1 / power), (0.5 * root) * root).to(to_tensor(x).dtype)


@core.extern
def device_tanh(x, _semantic=None):
    names = {(tl.float32,): ("__nv_tanhf", tl.float32), (tl.float64,): ("__nv_tanh", tl.float64)}
    return core.extern_elementwise("", "", [x], names, is_pure=True, _semantic=_semantic)


@triton.jit
def tanh(x):
    """By the targets' own function: models compute many of them, and float64 is slow on GPUs."""
    dtype: tl.constexpr = to_tensor(x).dtype
    if dtype == tl.float64:
        return device_tanh(x)
    return device_tanh(tl.cast(x, tl.float32)).to(dtype)


@triton.jit
def asinh(x):
    d = wide(x)
    size = tl.abs(d)
    square = size * size
    near = log1p(size + square / (1 + tl.sqrt(1 + square)))
    far = tl.log(size) + _LN2_HIGH + _LN2_LOW
    return copysign(tl.where(size < 268435456.0, near, far), d).to(to_tensor(x).dtype)


@triton.jit
def acosh(x):
    d = wide(x)
    above = d - 1
    near = log1p(above + tl.sqrt(2 * above + above * above))
    far = tl.log(d) + _LN2_HIGH + _LN2_LOW
    return tl.where(d < 268435456.0, near, far).to(to_tensor(x).dtype)


@triton.jit
def atanh(x):
    d = wide(x)
    size = tl.abs(d)
    return copysign(0.5 * log1p(2 * size / (1 - size)), d).to(to_tensor(x).dtype)


@triton.jit
def cbrt(x):
    d = wide(x)
    size = tl.abs(d)
    usual = (size > 0) & (size < float("inf"))
    safe = tl.where(usual, size, 1.0)
    mantissa, exponent = split_exponent(safe)
    third = floor(exponent * 0.3333333333333333 + 0.1)
    value = mantissa * power_of_two(exponent - 3 * third)
    root = tl.exp(tl.log(value) * 0.3333333333333333)
    root = root - (root * root * root - value) / (3 * root * root)
    return copysign(tl.where(usual, root * power_of_two(third), size), d).to(to_tensor(x).dtype)


@triton.jit
def rcbrt(x):
    return (1 / cbrt(wide(x))).to(to_tensor(x).dtype)


@triton.jit
def _norm(a, b, c, d):
    """The length of a vector of float64, whose squares may overflow."""
    a, b, c, d = tl.abs(a), tl.abs(b), tl.abs(c), tl.abs(d)
    most = tl.maximum(tl.maximum(a, b), tl.maximum(c, d))
    usual = (most > 0) & (most < float("inf"))
    _, exponent = split_exponent(tl.where(usual, most, 1.0))
    a, b, c, d = scaled(a, -exponent), scaled(b, -exponent), scaled(c, -exponent), scaled(d, -exponent)
    length = scaled(tl.sqrt((a * a + b * b) + (c * c + d * d)), exponent)
    odd = tl.where(most == 0, most, a + b + c + d)
    return tl.where(most == float("inf"), most, tl.where(usual, length, odd))


@triton.jit
def norm4d(a, b, c, d):
    return _norm(wide(a), wide(b), wide(c), wide(d)).to(to_tensor(a).dtype)


@triton.jit
def norm3d(a, b, c):
    return _norm(wide(a), wide(b), wide(c), wide(a) * 0).to(to_tensor(a).dtype)


@triton.jit
def hypot(a, b):
    return _norm(wide(a), wide(b), zeros_of(wide(a)), zeros_of(wide(a))).to(to_tensor(a).dtype)


@triton.jit
def rnorm4d(a, b, c, d):
    return (1 / _norm(wide(a), wide(b), wide(c), wide(d))).to(to_tensor(a).dtype)


@triton.jit
def rnorm3d(a, b, c):
    return (1 / _norm(wide(a), wide(b), wide(c), zeros_of(wide(a)))).to(to_tensor(a).dtype)


@triton.jit
def rhypot(a, b):
    return (1 / _norm(wide(a), wide(b), zeros_of(wide(a)), zeros_of(wide(a)))).to(to_tensor(a).dtype)


@triton.jit
def rsqrt_rn(x):
    return (1 / tl.sqrt(wide(x))).to(to_tensor(x).dtype)


@triton.jit
def rcp64h(x):
    """An approximate reciprocal: here a correct one."""
    return 1 / wide(x)


@triton.jit
def saturatef(x):
    return tl.where(x != x, 0.0, tl.minimum(tl.maximum(to_tensor(x), 0.0), 1.0))


@triton.jit
def ldexp(x, k):
    return scaled(wide(x), wide(k)).to(to_tensor(x).dtype)


@triton.jit
def scalbn(x, k):
    return ldexp(x, k)


@triton.jit
def logb(x):
    """The exponent, as a float."""
    size = tl.abs(wide(x))
    usual = (size > 0) & (size < float("inf"))
    mantissa, exponent = split_exponent(tl.where(usual, size, 1.0))
    exponent = tl.where(mantissa < 1, exponent - 1, exponent)
    odd = tl.where(size == 0, -float("inf"), size)
    return tl.where(usual, exponent, odd).to(to_tensor(x).dtype)


@triton.jit
def ilogb(x):
    """The exponent, as an int32; of 0 and NaN the lowest one, of infinity the highest."""
    size = tl.abs(wide(x))
    usual = (size > 0) & (size < float("inf"))
    exponent = logb(tl.where(usual, size, 1.0)).to(tl.int32)
    return tl.where(usual, exponent, tl.where(size == float("inf"), 2147483647, -2147483648)).to(tl.int32)


@triton.jit
def fdim(x, y):
    x = to_tensor(x)
    return tl.where((x > y) | (x != x) | (y != y), x - y, 0.0)


@triton.jit
def fmod(x, y):
    return (to_tensor(x) % y).to(to_tensor(x).dtype)


@triton.jit
def remainder(x, y):
    """x less the nearest multiple of y, the even one of two."""
    number, size = wide(x), tl.abs(wide(y))
    part = tl.abs(tl.where(size < 8e307, fmod(number, 2 * size), number))  # of the even multiple below
    once = part - size
    part = tl.where(2 * part > size, tl.where(2 * once >= size, once - size, once), part)
    return tl.where(signbit(number), -part, part).to(to_tensor(x).dtype)
