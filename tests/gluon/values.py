# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Numbers that the references of Gluon kernels compute with: exact in sums of products, or of 8 and 4 bits."""
import numpy as np


def eighths(random, *shape, dtype=np.float32):
    """Multiples of 1/8 from -1 to 1: sums of products of them are exact in f32."""
    return (random.integers(-8, 9, shape) / 8).astype(dtype)


FORMATS = dict(e4m3=(4, 3, 7), e5m2=(5, 2, 15), e2m1=(2, 1, 1))  # bits of exponent and fraction, bias


def decode(codes, form):
    """Numbers of these codes; e4m3 has NaN in place of its largest magnitude, e5m2 infinities and NaN, e2m1 neither."""
    exponents, fractions, bias = FORMATS[form]
    code = codes.astype(np.int64)
    exponent = code >> fractions & (1 << exponents) - 1
    fraction = (code & (1 << fractions) - 1) / 2.0**fractions
    value = np.where(exponent == 0, fraction * 2.0 ** (1 - bias), (1 + fraction) * 2.0 ** (exponent - bias))
    if form == "e5m2":
        value = np.where(exponent == 31, np.where(fraction == 0, np.inf, np.nan), value)
    if form == "e4m3":
        value = np.where((exponent == 15) & (fraction == 0.875), np.nan, value)
    return np.where(code >> exponents + fractions & 1, -value, value)
