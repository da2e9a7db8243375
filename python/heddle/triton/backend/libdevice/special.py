# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The error function's and the gamma function's relatives of libdevice, in float64."""
import triton
import triton.language as tl
from triton.language.core import to_tensor
from triton.language.math import floor

from .bessel import chebyshev
from .elementary import pow, wide
from .integers import zeros_of

# log(erfcx(x) / t) as a Chebyshev series in t = 1 / (1 + x / 2), computed with 40 digits.
_ERFCX = tl.constexpr((-0.6513268598908547, 0.6419697923564902, 0.019476473204185836, -0.009561514786808632,
                       -0.0009465953444820369, 0.00036683949785276145, 4.252332480690777e-05, -2.0278578112534242e-05,
                       -1.6242900046470262e-06, 1.3036558355805243e-06, 1.562644172206473e-08, -8.523809591492495e-08,
                       6.529054439097202e-09, 5.059343495553071e-09, -9.913641564944802e-10, -2.273651222919882e-10,
                       9.646791101929163e-11, 2.394038083513541e-12, -6.886027526551643e-12, 8.944879269400961e-13,
                       3.13092140700534e-13, -1.1270822472462453e-13, 3.810919054904141e-16, 7.106096058302288e-15,
                       -1.5230265761230946e-15, -9.457653128233009e-17, 1.2102515788443618e-16, -2.816782655724364e-17))
_LANCZOS = tl.constexpr((57.156235665862923517, -59.597960355475491248, 14.136097974741747174, -0.49191381609762019978,
                         .33994649984811888699e-4, .46523628927048575665e-4, -.98374475304879564677e-4,
                         .15808870322491248884e-3, -.21026444172410488319e-3, .21743961811521264320e-3,
                         -.16431810653676389022e-3, .84418223983852743293e-4, -.26190838401581408670e-4,
                         .36899182659531622704e-5))
_PI = tl.constexpr(3.141592653589793)


@triton.jit
def _erfcx_above(d):
    """exp(x^2) erfc(x) of x >= 0."""
    t = 1 / (1 + 0.5 * d)
    return t * tl.exp(chebyshev(2 * t - 1, _ERFCX, len(_ERFCX)))


@triton.jit
def _square_power(d, SIGN: tl.constexpr):
    """exp(x^2) or exp(-x^2): of x of few bits, whose square is exact, and of the rest."""
    short = (d.to(tl.int64, bitcast=True) >> 27 << 27).to(tl.float64, bitcast=True)
    return tl.exp(SIGN * short * short) * tl.exp(SIGN * (d - short) * (d + short))


@triton.jit
def erfc(x):
    d = wide(x)
    size = tl.abs(d)
    low = tl.where(size < 30, size, 30.0)
    tail = _erfcx_above(low) * _square_power(low, -1)
    value = tl.where(size < 0.5, 1 - tl.erf(d), tl.where(d < 0, 2 - tail, tail))
    return tl.where(d != d, d, value).to(to_tensor(x).dtype)


@triton.jit
def erfcx(x):
    d = wide(x)
    size = tl.abs(d)
    above = tl.where(size < 1e15, _erfcx_above(tl.where(size < 1e15, size, 0.0)), 0.5641895835477563 / size)
    low = tl.where(size < 27, size, 27.0)
    below = tl.where(size < 27, 2 * _square_power(low, 1) - above, float("inf"))
    return tl.where(d != d, d, tl.where(d < 0, below, above)).to(to_tensor(x).dtype)


@triton.jit
def _inverse_tail(tail):
    """The u with erfc(u) = tail, of 0 to 1: an estimate, and three steps of Halley's method."""
    safe = tl.where(tail > 0, tail, 0.5)
    inner = tl.log(safe * (2 - safe))
    part = 4.330746750799873 + 0.5 * inner
    u = tl.sqrt(tl.maximum(tl.sqrt(part * part - inner * 6.802721088435374) - part, 0.0))
    for _ in tl.static_range(4):
        wrong = erfc(u) - safe
        slope = 1.1283791670955126 * tl.exp(-u * u)
        u = u + wrong / (slope - u * wrong)
    return tl.where(tail == 0, float("inf"), tl.where((tail > 0) & (tail <= 1), u, float("nan")))


@triton.jit
def erfcinv(x):
    d = wide(x)
    value = _inverse_tail(tl.where(d > 1, 2 - d, d))
    return tl.where(d > 1, -value, value).to(to_tensor(x).dtype)


@triton.jit
def erfinv(x):
    d = wide(x)
    size = tl.abs(d)
    far = _inverse_tail(1 - size)
    near = tl.where(size < 0.5, d, 0.0)
    u = near * 0.886226925452758
    for _ in tl.static_range(4):
        wrong = tl.erf(u) - near
        u = u - wrong / (1.1283791670955126 * tl.exp(-u * u) + u * wrong)
    return tl.where(size < 0.5, u, tl.where(d < 0, -far, far)).to(to_tensor(x).dtype)


@triton.jit
def normcdf(x):
    return (0.5 * erfc(wide(x) * -0.7071067811865476)).to(to_tensor(x).dtype)


@triton.jit
def normcdfinv(x):
    return (-1.4142135623730951 * erfcinv(2 * wide(x))).to(to_tensor(x).dtype)


@triton.jit
def _lanczos(d):
    """Of x >= 0.5: the sum and the base of the power in gamma(x) = sum * base^(x - 0.5) * exp(-base)."""
    total = zeros_of(d) + 0.99999999999999709182
    for k in tl.static_range(len(_LANCZOS)):
        total += _LANCZOS[k] / (d + k)
    return 2.5066282746310005 * total, d + 4.2421875


@triton.jit
def _sine_of_turns(d):
    whole = floor(d)
    half = floor(0.5 * whole)
    rest = d - whole
    sine = tl.sin(_PI * tl.where(rest > 0.5, 1 - rest, rest))
    return tl.where(2 * half == whole, sine, -sine)


@triton.jit
def tgamma(x):
    d = wide(x)
    below = d < 0.5
    argument = tl.where(below, 1 - d, d)
    total, base = _lanczos(tl.where(argument < 200, argument, 200.0))
    half = pow(base, 0.5 * tl.where(argument < 200, argument, 200.0) - 0.25)
    above = (total * half) * tl.exp(-base) * half
    value = tl.where(below, _PI / (_sine_of_turns(d) * above), above)
    value = tl.where(below & (floor(d) == d), float("nan"), value)
    value = tl.where(d == 0, 1 / d, tl.where((d > 171.7) & (d == d), float("inf"), value))
    return tl.where(d != d, d, value).to(to_tensor(x).dtype)


@triton.jit
def lgamma(x):
    d = wide(x)
    below = d < 0.5
    argument = tl.where(below, 1 - d, d)
    total, base = _lanczos(argument)
    above = tl.log(total) + ((argument - 0.5) * tl.log(base) - base)
    mirrored = tl.log(_PI / tl.abs(_sine_of_turns(d))) - above
    value = tl.where(below, mirrored, above)
    value = tl.where((below & (floor(d) == d)) | (tl.abs(d) == float("inf")), float("inf"), value)
    return tl.where(d != d, d, value).to(to_tensor(x).dtype)
