# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Bessel functions of libdevice, in float64: Chebyshev series (computed with 40 digits) of entire functions of x^2 up to 8, and
beyond of the amplitudes of sine and cosine. Absolute errors are a few 1e-16 up to 8, and grow with x as those of tl.sin."""
import triton
import triton.language as tl
from triton.language.core import to_tensor

from .elementary import wide
from .integers import zeros_of

_J0 = tl.constexpr((0.15772797147489012, -0.008723442352852221, 0.2651786132033368, -0.37009499387264977, 0.15806710233209725,
                    -0.034893769411408884, 0.004819180069467605, -0.00046062616620627504, 3.246032882100508e-05,
                    -1.7619469077621507e-06, 7.608163592418782e-08, -2.679253530557673e-09, 7.848696314479465e-11,
                    -1.9438346867370164e-12, 4.125320595634374e-14, -7.588508125447546e-16, 1.2218515873961411e-17))
_J1 = tl.constexpr((0.08104484632565812, -0.1489751450676521, 0.1609992623572097, -0.08268049176681791, 0.022213639654966037,
                    -0.003646940600769276, 0.0004050337728354822, -3.255554866857259e-05, 1.9858774049915165e-06,
                    -9.521984756750436e-08, 3.687133759097148e-09, -1.178026622695885e-10, 3.160154580348003e-12,
                    -7.221755239651773e-14, 1.4232144003513942e-15, -2.4441972916190464e-17))
_Y0 = tl.constexpr((0.03645469809116044, -0.2783237094075825, 0.2960499990207148, 0.09825508408187864, -0.10755155280627783,
                    0.031799074084414514, -0.005161397105810715, 0.0005498525320039012, -4.1996983149420134e-05,
                    2.4290361107923793e-06, -1.1049969793472957e-07, 4.06651736597911e-09, -1.2374148898289854e-10,
                    3.1685725528945945e-12, -6.926956032431002e-14, 1.3086308625876684e-15, -2.1586201986914482e-17))
_Y1 = tl.constexpr((0.038300769852423776, -0.08182561412732826, -0.0248677076121964, 0.047967452752746984, -0.01852588451089802,
                    0.003680607687823511, -0.0004627254060293369, 4.06940026958087e-05, -2.6617695125295625e-06,
                    1.350602691325434e-07, -5.483524110336276e-09, 1.8245086841229007e-10, -5.070666636591129e-12,
                    1.1956162517587948e-13, -2.423162442712473e-15, 4.268126513072962e-17))
_P0 = tl.constexpr((0.9994603493475187, -0.0005365220468132117, 3.0751847875194745e-06, -5.1705945376060975e-08,
                    1.6306464635151382e-09, -7.86409137723707e-11, 5.168262387349193e-12, -4.3045788699253914e-13,
                    4.3265957431549404e-14, -5.069034095935236e-15, 6.748072215733873e-16, -1.0011513723467786e-16,
                    1.6305919233744186e-17))
_Q0 = tl.constexpr((-0.015555854605337009, 6.838519942611649e-05, -7.414498411060647e-07, 1.7972457247968992e-08,
                    -7.27191593686632e-10, 4.2201219046687385e-11, -3.206747420996635e-12, 3.006145125351706e-13,
                    -3.336328185322427e-14, 4.255225040245461e-15, -6.09993013164005e-16, 9.662128970303257e-17,
                    -1.6686065214378146e-17, 3.1082440486738143e-18))
_P1 = tl.constexpr((1.0009030408600137, 0.0008989898330859408, -3.987284300488908e-06, 6.177633960644299e-08,
                    -1.8718907491063067e-09, 8.816898659582339e-11, -5.704863640395645e-12, 4.699195515230542e-13,
                    -4.6842237839904895e-14, 5.452674896044717e-15, -7.221180842274018e-16, 1.0667689114335412e-16,
                    -1.7312313216116335e-17))
_Q1 = tl.constexpr((0.04677778706953532, -9.62772354915708e-05, 9.138615257955454e-07, -2.0959781384083424e-08,
                    8.229193327650554e-10, -4.686363688176945e-11, 3.5152187949686082e-12, -3.2643156743279e-13,
                    3.5967765829165294e-14, -4.5612523950772974e-15, 6.508282957783384e-16, -1.0269147531823243e-16,
                    1.767635548776479e-17))
_I0 = tl.constexpr((0.33839763720473803, -0.3046826723431984, 0.17162090152220877, -0.09490109704804764, 0.04930528423967071,
                    -0.02373741480589947, 0.010546460394594998, -0.004324309995050576, 0.0016394756169413357,
                    -0.0005763755745385824, 0.00018850288509584165, -5.754195010082104e-05, 1.6448448070728896e-05,
                    -4.4167383584587505e-06, 1.1173875391201037e-06, -2.670793853940612e-07, 6.046995022541919e-08,
                    -1.300025009986248e-08, 2.6598237246823866e-09, -5.189795601635263e-10, 9.675809035373237e-11,
                    -1.726826291441556e-11, 2.95505266312964e-12, -4.856446783111929e-13, 7.676185498604936e-14,
                    -1.1685332877993451e-14, 1.715391285555133e-15, -2.431279846547955e-16, 3.3307945188222384e-17,
                    -4.4153416464793395e-18))
_I1 = tl.constexpr((0.12629359322181682, -0.17641651835783406, 0.1026436586898471, -0.05294598120809499, 0.024726449030626516,
                    -0.010564084894626197, 0.004156422944312888, -0.0015135724506312532, 0.0005122859561685758,
                    -0.00016176081582589674, 4.781565107550054e-05, -1.3273163656039436e-05, 3.4702513081376785e-06,
                    -8.568720264695455e-07, 2.0032947535521353e-07, -4.445059128796328e-08, 9.381537386495773e-09,
                    -1.8872497517228294e-09, 3.625590281552117e-10, -6.663489723502027e-11, 1.1736186298890901e-11,
                    -1.9839743977649436e-12, 3.223793365945575e-13, -5.042185504727912e-14, 7.600684294735408e-15,
                    -1.1055969477353862e-15, 1.5536319577362005e-16, -2.111421214358166e-17, 2.7779141127610464e-18))
_I0_FAR = tl.constexpr((0.4022452055070544, 0.0033691164782556943, 6.889758346916825e-05, 2.8913705208347567e-06,
                        2.0489185894690638e-07, 2.266668990498178e-08, 3.3962320257083865e-09, 4.94060238822497e-10,
                        1.1889147107846439e-11, -3.1499165279632416e-11, -1.3215811840447713e-11, -1.7941785315068062e-12,
                        7.180124451383666e-13, 3.8527783827421426e-13, 1.54008621752141e-14, -4.150569347287222e-14,
                        -9.554846698828307e-15, 3.8116806693526224e-15, 1.7725601330565263e-15, -3.425485619677219e-16,
                        -2.8276239805165836e-16, 3.461222867697461e-17, 4.46562142029676e-17, -4.830504485944182e-18,
                        -7.233180487874754e-18))
_I1_FAR = tl.constexpr((0.38928811750914005, -0.009761097491361469, -0.00011058893876262371, -3.882564808877691e-06,
                        -2.512236237870209e-07, -2.6314688468895196e-08, -3.835380385964237e-09, -5.589743462196584e-10,
                        -1.8974958123505413e-11, 3.2526035830154884e-11, 1.4125807436613782e-11, 2.0356285441470896e-12,
                        -7.198551776245908e-13, -4.0835511110921974e-13, -2.1015418427726643e-14, 4.272440016711951e-14,
                        1.0420276984128802e-14, -3.8144030724370075e-15, -1.8803547755107825e-15, 3.3082023109209285e-16,
                        2.96262899764595e-16, -3.209525921993424e-17, -4.6503053684893586e-17, 4.414348323071708e-18,
                        7.517296310842105e-18))
_TWO_OVER_PI = tl.constexpr(0.6366197723675814)


@triton.jit
def chebyshev(x, SERIES: tl.constexpr, COUNT: tl.constexpr):
    """The series at x of -1 to 1."""
    one = zeros_of(x)
    two = one
    for k in tl.static_range(COUNT - 1):
        next_one = 2 * x * one - two + SERIES[COUNT - 1 - k]
        two = one
        one = next_one
    return x * one - two + SERIES[0]


@triton.jit
def _waves(size, ORDER: tl.constexpr):
    """J and Y of an order for arguments above 8."""
    z = 8.0 / size
    place = 2 * z * z - 1
    root = tl.sqrt(0.3183098861837907 / size)  # 1 / sqrt(pi x): the phases of pi / 4 give the other factor
    sine, cosine = tl.sin(size), tl.cos(size)
    if ORDER == 0:
        even, odd = chebyshev(place, _P0, len(_P0)), z * chebyshev(place, _Q0, len(_Q0))
        near, far = cosine + sine, sine - cosine
    else:
        even, odd = chebyshev(place, _P1, len(_P1)), z * chebyshev(place, _Q1, len(_Q1))
        near, far = sine - cosine, -sine - cosine
    return root * (even * near - odd * far), root * (even * far + odd * near)


@triton.jit
def _bessel(d, ORDER: tl.constexpr):
    """J and Y of |d|."""
    size = tl.abs(d)
    low = tl.where(size <= 8, size, 8.0)
    place = low * low * 0.03125 - 1
    logarithm = tl.log(0.5 * low)
    if ORDER == 0:
        first = chebyshev(place, _J0, len(_J0))
        second = _TWO_OVER_PI * logarithm * first + chebyshev(place, _Y0, len(_Y0))
    else:
        first = low * chebyshev(place, _J1, len(_J1))
        rest = low * chebyshev(place, _Y1, len(_Y1))
        second = tl.where(low == 0, -float("inf"), _TWO_OVER_PI * (logarithm * first - 1 / low) + rest)
    far_first, far_second = _waves(tl.where(size > 8, size, 8.0), ORDER)
    first = tl.where(size <= 8, first, tl.where(size == float("inf"), 0.0, far_first))
    second = tl.where(size <= 8, second, tl.where(size == float("inf"), 0.0, far_second))
    return tl.where(d != d, d, first), tl.where(d >= 0, second, float("nan"))


@triton.jit
def j0(x):
    first, _ = _bessel(wide(x), 0)
    return first.to(to_tensor(x).dtype)


@triton.jit
def j1(x):
    first, _ = _bessel(wide(x), 1)
    return tl.where(wide(x) < 0, -first, first).to(to_tensor(x).dtype)


@triton.jit
def y0(x):
    _, second = _bessel(wide(x), 0)
    return second.to(to_tensor(x).dtype)


@triton.jit
def y1(x):
    _, second = _bessel(wide(x), 1)
    return second.to(to_tensor(x).dtype)


@triton.jit
def _recurrence(order, size, zeroth, first):
    """From orders 0 and 1 up to `order`, at least 0."""
    value = tl.where(order == 0, zeroth, first)
    for k in range(1, tl.max(order)):
        following = (2.0 * k / size) * first - zeroth
        zeroth = first
        first = following
        value = tl.where(order == k + 1, first, value)
    return value


@triton.jit
def _wave_sum(order, size):
    """J by the trapezoidal rule for its integral, which is exact to the last bits with more points than order and argument."""
    points = 2 * tl.max(tl.maximum(order, 0)) + 64
    total = (1.0 + tl.where((order & 1) == 0, 1.0, -1.0)) * 0.5 + size * 0
    step = 3.141592653589793 / points.to(tl.float64)
    for k in range(1, points):
        angle = k * step
        total += tl.cos(order * angle - size * tl.sin(size * 0 + angle))
    return total / points


@triton.jit
def jn(order, x):
    size = tl.abs(wide(x))
    n = tl.abs(tl.cast(order, tl.int32)) + (size * 0).to(tl.int32)
    zeroth, _ = _bessel(size, 0)
    first, _ = _bessel(size, 1)
    upward = size >= n
    safe = tl.where(upward & (size > 0), size, 1.0)
    value = tl.where(upward, _recurrence(tl.where(upward, n, 0), safe, zeroth, first),
                     _wave_sum(tl.where(upward, 0, n), tl.where(upward, 0.0, size)))
    odd = ((n & 1) == 1) & ((wide(x) < 0) != (tl.cast(order, tl.int32) < 0))
    return tl.where(odd, -value, value).to(to_tensor(x).dtype)


@triton.jit
def yn(order, x):
    d = wide(x)
    n = tl.abs(tl.cast(order, tl.int32)) + (d * 0).to(tl.int32)
    _, zeroth = _bessel(d, 0)
    _, first = _bessel(d, 1)
    value = _recurrence(n, d, zeroth, first)
    value = tl.where(value != value, tl.where(d >= 0, -float("inf"), float("nan")), value)  # the recurrence has overflowed
    odd = ((n & 1) == 1) & (tl.cast(order, tl.int32) < 0)
    return tl.where(odd, -value, value).to(to_tensor(x).dtype)


@triton.jit
def cyl_bessel_i0(x):
    size = tl.abs(wide(x))
    low = tl.where(size <= 8, size, 8.0)
    high = tl.where(size > 8, size, 8.0)
    root = tl.exp(0.5 * size)  # e^x may overflow where the function does not
    far = chebyshev(16 / high - 1, _I0_FAR, len(_I0_FAR)) / tl.sqrt(high)
    value = (tl.where(size <= 8, chebyshev(low * 0.25 - 1, _I0, len(_I0)), far) * root) * root
    return tl.where(size == float("inf"), size, value).to(to_tensor(x).dtype)


@triton.jit
def cyl_bessel_i1(x):
    d = wide(x)
    size = tl.abs(d)
    low = tl.where(size <= 8, size, 8.0)
    high = tl.where(size > 8, size, 8.0)
    root = tl.exp(0.5 * size)
    far = chebyshev(16 / high - 1, _I1_FAR, len(_I1_FAR)) / tl.sqrt(high)
    value = (tl.where(size <= 8, low * chebyshev(low * 0.25 - 1, _I1, len(_I1)), far) * root) * root
    value = tl.where(size == float("inf"), size, value)
    return tl.where(d < 0, -value, value).to(to_tensor(x).dtype)
