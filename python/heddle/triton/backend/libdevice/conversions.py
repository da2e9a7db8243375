# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The names of libdevice's conversions, by rounding direction; what they do is in rounding.py."""
import triton
import triton.language as tl
from triton.language.core import to_tensor

from . import rounding


@triton.jit
def double2float_rn(x):
    return rounding.narrow(x, "rn")


@triton.jit
def double2float_rz(x):
    return rounding.narrow(x, "rz")


@triton.jit
def double2float_rd(x):
    return rounding.narrow(x, "rd")


@triton.jit
def double2float_ru(x):
    return rounding.narrow(x, "ru")


@triton.jit
def double2int_rn(x):
    return rounding.to_int32(x, "rn")


@triton.jit
def double2int_rz(x):
    return rounding.to_int32(x, "rz")


@triton.jit
def double2int_rd(x):
    return rounding.to_int32(x, "rd")


@triton.jit
def double2int_ru(x):
    return rounding.to_int32(x, "ru")


@triton.jit
def double2uint_rn(x):
    return rounding.to_uint32(x, "rn")


@triton.jit
def double2uint_rz(x):
    return rounding.to_uint32(x, "rz")


@triton.jit
def double2uint_rd(x):
    return rounding.to_uint32(x, "rd")


@triton.jit
def double2uint_ru(x):
    return rounding.to_uint32(x, "ru")


@triton.jit
def float2int_rn(x):
    return rounding.to_int32(x, "rn")


@triton.jit
def float2int_rz(x):
    return rounding.to_int32(x, "rz")


@triton.jit
def float2int_rd(x):
    return rounding.to_int32(x, "rd")


@triton.jit
def float2int_ru(x):
    return rounding.to_int32(x, "ru")


@triton.jit
def float2uint_rn(x):
    return rounding.to_uint32(x, "rn")


@triton.jit
def float2uint_rz(x):
    return rounding.to_uint32(x, "rz")


@triton.jit
def float2uint_rd(x):
    return rounding.to_uint32(x, "rd")


@triton.jit
def float2uint_ru(x):
    return rounding.to_uint32(x, "ru")


@triton.jit
def float2ll_rn(x):
    return rounding.to_int64(x, "rn")


@triton.jit
def float2ll_rz(x):
    return rounding.to_int64(x, "rz")


@triton.jit
def float2ll_rd(x):
    return rounding.to_int64(x, "rd")


@triton.jit
def float2ll_ru(x):
    return rounding.to_int64(x, "ru")


@triton.jit
def float2ull_rn(x):
    return rounding.to_uint64(x, "rn")


@triton.jit
def float2ull_rz(x):
    return rounding.to_uint64(x, "rz")


@triton.jit
def float2ull_rd(x):
    return rounding.to_uint64(x, "rd")


@triton.jit
def float2ull_ru(x):
    return rounding.to_uint64(x, "ru")


@triton.jit
def double2ll_rn(x):
    return rounding.to_int64(x, "rn")


@triton.jit
def double2ll_rz(x):
    return rounding.to_int64(x, "rz")


@triton.jit
def double2ll_rd(x):
    return rounding.to_int64(x, "rd")


@triton.jit
def double2ll_ru(x):
    return rounding.to_int64(x, "ru")


@triton.jit
def double2ull_rn(x):
    return rounding.to_uint64(x, "rn")


@triton.jit
def double2ull_rz(x):
    return rounding.to_uint64(x, "rz")


@triton.jit
def double2ull_rd(x):
    return rounding.to_uint64(x, "rd")


@triton.jit
def double2ull_ru(x):
    return rounding.to_uint64(x, "ru")


@triton.jit
def int2float_rn(x):
    return rounding.int_to_float(x, "rn")


@triton.jit
def int2float_rz(x):
    return rounding.int_to_float(x, "rz")


@triton.jit
def int2float_rd(x):
    return rounding.int_to_float(x, "rd")


@triton.jit
def int2float_ru(x):
    return rounding.int_to_float(x, "ru")


@triton.jit
def uint2float_rn(x):
    return rounding.uint_to_float(x, "rn")


@triton.jit
def uint2float_rz(x):
    return rounding.uint_to_float(x, "rz")


@triton.jit
def uint2float_rd(x):
    return rounding.uint_to_float(x, "rd")


@triton.jit
def uint2float_ru(x):
    return rounding.uint_to_float(x, "ru")


@triton.jit
def ll2float_rn(x):
    return rounding.long_to(x, tl.float32, "rn")


@triton.jit
def ll2float_rz(x):
    return rounding.long_to(x, tl.float32, "rz")


@triton.jit
def ll2float_rd(x):
    return rounding.long_to(x, tl.float32, "rd")


@triton.jit
def ll2float_ru(x):
    return rounding.long_to(x, tl.float32, "ru")


@triton.jit
def ull2float_rn(x):
    return rounding.ulong_to(x, tl.float32, "rn")


@triton.jit
def ull2float_rz(x):
    return rounding.ulong_to(x, tl.float32, "rz")


@triton.jit
def ull2float_rd(x):
    return rounding.ulong_to(x, tl.float32, "rd")


@triton.jit
def ull2float_ru(x):
    return rounding.ulong_to(x, tl.float32, "ru")


@triton.jit
def ll2double_rn(x):
    return rounding.long_to(x, tl.float64, "rn")


@triton.jit
def ll2double_rz(x):
    return rounding.long_to(x, tl.float64, "rz")


@triton.jit
def ll2double_rd(x):
    return rounding.long_to(x, tl.float64, "rd")


@triton.jit
def ll2double_ru(x):
    return rounding.long_to(x, tl.float64, "ru")


@triton.jit
def ull2double_rn(x):
    return rounding.ulong_to(x, tl.float64, "rn")


@triton.jit
def ull2double_rz(x):
    return rounding.ulong_to(x, tl.float64, "rz")


@triton.jit
def ull2double_rd(x):
    return rounding.ulong_to(x, tl.float64, "rd")


@triton.jit
def ull2double_ru(x):
    return rounding.ulong_to(x, tl.float64, "ru")


@triton.jit
def int2double_rn(x):
    return to_tensor(x).to(tl.int32).to(tl.float64)


@triton.jit
def uint2double_rn(x):
    return to_tensor(x).to(tl.uint32).to(tl.float64)
