# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Number formats that NumPy does not have, as bits and as float64: bf16, 8-bit floats of both chips, 6-bit floats, 4-bit
floats; and random inputs in them."""
import numpy as np

E2M1 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6])
E2M3 = np.array([sign * (fraction / 8 if exponent == 0 else 2.0 ** (exponent - 1) * (1 + fraction / 8))
                 for sign in (1, -1) for exponent in range(4) for fraction in range(8)])


class F32(float):
    """A number that is passed to a kernel as the bits of a 32-bit float."""


def to_bf16(values):
    """Bits of bf16, rounded to nearest even."""
    bits = np.ascontiguousarray(values, np.float32).view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


def from_bf16(bits):
    return (bits.astype(np.uint32) << 16).view(np.float32)


def fp8_values(fnuz):
    """The values of all 256 8-bit floats e4m3: FNUZ on gfx942, OCP on gfx950."""
    bias = 8 if fnuz else 7
    values = np.zeros(256, np.float64)
    for bits in range(256):
        exponent, fraction = (bits >> 3) & 15, bits & 7
        if exponent == 0:
            value = fraction / 8 * 2.0 ** (1 - bias)
        else:
            value = (1 + fraction / 8) * 2.0 ** (exponent - bias)
        not_a_number = bits == 0x80 if fnuz else bits & 127 == 127
        values[bits] = np.nan if not_a_number else -value if bits >> 7 else value
    return values


def random_fp8(random, shape, chip, largest=4.0):
    """Bits and values of random 8-bit floats, none of them larger than `largest` or subnormal."""
    table = fp8_values(chip == "gfx942")
    usable = np.isfinite(table) & (np.abs(table) <= largest) & ((np.abs(table) >= 2.0 ** -6) | (table == 0))
    bits = random.choice(np.flatnonzero(usable).astype(np.uint8), shape)
    return bits, table[bits]


def random_bf16(random, shape):
    """Bits and values of random bf16 numbers of a normal distribution."""
    bits = to_bf16(random.standard_normal(shape).astype(np.float32))
    return bits, from_bf16(bits).astype(np.float64)


def pack_fp4(codes):
    """Two 4-bit codes a byte, the even column in the low half."""
    return (codes[..., 0::2] | (codes[..., 1::2] << 4)).astype(np.uint8)


def pack_fp6(codes):
    """Four 6-bit codes in three bytes, the first in the lowest bits."""
    four = codes.reshape(*codes.shape[:-1], -1, 4).astype(np.uint32) << np.array([0, 6, 12, 18], np.uint32)
    word = four.sum(-1, dtype=np.uint32)[..., None] >> np.array([0, 8, 16], np.uint32)
    return (word & 255).astype(np.uint8).reshape(*codes.shape[:-1], -1)
