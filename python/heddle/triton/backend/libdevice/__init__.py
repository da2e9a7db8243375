# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What `triton.language.extra.libdevice` is on Heddle's targets: all functions of Triton's stub by those of Triton's language, so
that their results are the same on every target; `tanh` is the target's own."""
import triton
import triton.language as tl
from triton.language.math import (abs, ceil, cos, erf, exp, exp2, fdiv, floor, fma, log, log2, rsqrt, sin, sqrt, umulhi)

from .arithmetic import (add_rd, add_rn, add_ru, add_rz, div_rd, div_rn, div_ru, div_rz, fma_rd, fma_rn, fma_ru, fma_rz,
                         mul_rd, mul_rn, mul_ru, mul_rz, rcp_rd, rcp_rn, rcp_ru, rcp_rz, sqrt_rd, sqrt_rn, sqrt_ru, sqrt_rz,
                         sub_rd, sub_rn, sub_ru, sub_rz)
from .conversions import (double2float_rd, double2float_rn, double2float_ru, double2float_rz, double2int_rd, double2int_rn,
                          double2int_ru, double2int_rz, double2ll_rd, double2ll_rn, double2ll_ru, double2ll_rz, double2uint_rd,
                          double2uint_rn, double2uint_ru, double2uint_rz, double2ull_rd, double2ull_rn, double2ull_ru,
                          double2ull_rz, float2int_rd, float2int_rn, float2int_ru, float2int_rz, float2ll_rd, float2ll_rn,
                          float2ll_ru, float2ll_rz, float2uint_rd, float2uint_rn, float2uint_ru, float2uint_rz, float2ull_rd,
                          float2ull_rn, float2ull_ru, float2ull_rz, int2double_rn, int2float_rd, int2float_rn, int2float_ru,
                          int2float_rz, ll2double_rd, ll2double_rn, ll2double_ru, ll2double_rz, ll2float_rd, ll2float_rn,
                          ll2float_ru, ll2float_rz, uint2double_rn, uint2float_rd, uint2float_rn, uint2float_ru, uint2float_rz,
                          ull2double_rd, ull2double_rn, ull2double_ru, ull2double_rz, ull2float_rd, ull2float_rn, ull2float_ru,
                          ull2float_rz)
from .integers import (brev, byte_perm, clz, copysign, double2hiint, double2loint, double_as_longlong, ffs, finitef,
                       float_as_int, float_as_uint, hadd, hiloint2double, int_as_float, isfinited, isinf, isnan,
                       longlong_as_double, mul24, mulhi, nextafter, popc, rhadd, sad, signbit, uint_as_float)
from .rounding import (llrint, llround, nearbyint, rint, round, trunc)
from .elementary import (acos, acosh, asin, asinh, atan, atan2, atanh, cbrt, cosh, cospi, exp10, expm1, fdim, fmod, hypot,
                         ilogb, ldexp, log10, log1p, logb, norm3d, norm4d, pow, rcbrt, rcp64h, remainder, rhypot, rnorm3d,
                         rnorm4d, rsqrt_rn, saturatef, scalbn, sinh, sinpi, tan, tanh)
from .bessel import (cyl_bessel_i0, cyl_bessel_i1, j0, j1, jn, y0, y1, yn)
from .special import (erfc, erfcinv, erfcx, erfinv, lgamma, normcdf, normcdfinv, tgamma)
from .elementary import tanh as fast_tanhf


@triton.jit
def fast_sinf(x):
    return tl.sin(x)


@triton.jit
def fast_cosf(x):
    return tl.cos(x)


@triton.jit
def fast_log2f(x):
    return tl.log2(x)


@triton.jit
def fast_logf(x):
    return tl.log(x)


@triton.jit
def fast_expf(x):
    return tl.exp(x)


@triton.jit
def fast_dividef(x, y):
    return x / y


@triton.jit
def fast_powf(x, y):
    return tl.exp2(y * tl.log2(x))


@triton.jit
def fast_tanf(x):
    return tl.sin(x) / tl.cos(x)


@triton.jit
def fast_exp10f(x):
    return tl.exp2(x * 3.321928094887362)


@triton.jit
def fast_log10f(x):
    return tl.log2(x) * 0.3010299956639812
