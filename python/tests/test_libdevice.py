# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The functions of `triton.language.extra.libdevice`, against Python's math and identities. Skipped, loudly, where Triton or NumPy is
not installed."""
import fractions
import math
import os
import statistics
import tempfile
import unittest

try:
    import numpy
    import triton
    import triton.language as tl
    from triton.language.extra import libdevice
    from triton.language.extra.cuda import libdevice as cuda_libdevice
    from triton.language.extra.hip import libdevice as hip_libdevice
except ImportError as problem:
    raise unittest.SkipTest(f"{problem}: Triton 3.6 to 3.9 and NumPy, in a virtual environment") from None

import heddle.triton
from heddle.triton import Tensor

MODES = ("rn", "rz", "rd", "ru")


@triton.jit
def one_argument(x, out, NAMES: tl.constexpr, COUNT: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    for k in tl.static_range(COUNT):
        tl.store(out + k * N + i, getattr(libdevice, NAMES[k])(tl.load(x + k * N + i)))


@triton.jit
def two_arguments(x, y, out, NAMES: tl.constexpr, COUNT: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    for k in tl.static_range(COUNT):
        tl.store(out + k * N + i, getattr(libdevice, NAMES[k])(tl.load(x + k * N + i), tl.load(y + k * N + i)))


@triton.jit
def bessel_of_order(order, x, out, N: tl.constexpr):
    i = tl.arange(0, N)
    n, v = tl.load(order + i), tl.load(x + i)
    tl.store(out + i, libdevice.jn(n, v))
    tl.store(out + N + i, libdevice.yn(n, v))


@triton.jit
def permute(x, y, selector, out):
    tl.store(out, libdevice.byte_perm(tl.load(x), tl.load(y), tl.load(selector)))


def normal_inverse(p):
    return statistics.NormalDist().inv_cdf(p)


def normal(x):
    return math.erfc(-x / math.sqrt(2)) / 2


def half_turns(function):
    return lambda x: function(math.pi * math.fmod(x, 2))


# Each: the reference, and arguments between which it is compared.
FUNCTIONS = {
    "tan": (math.tan, -20, 20), "sinpi": (half_turns(math.sin), -3.9, 3.9), "cospi": (half_turns(math.cos), -3.9, 3.9),
    "atan": (math.atan, -30, 30), "asin": (math.asin, -1, 1), "acos": (math.acos, -1, 1), "sinh": (math.sinh, -40, 40),
    "cosh": (math.cosh, -40, 40), "tanh": (math.tanh, -10, 10), "asinh": (math.asinh, -100, 100),
    "acosh": (math.acosh, 1, 100), "atanh": (math.atanh, -1, 1), "expm1": (math.expm1, -2, 2),
    "log1p": (math.log1p, -.9, 3), "exp10": (lambda x: 10.0**x, -30, 30), "log10": (math.log10, 1e-3, 100),
    "cbrt": (lambda x: math.copysign(abs(x)**(1 / 3), x), -1000, 1000), "erfc": (math.erfc, -3, 9),
    "erfcx": (lambda x: math.exp(x * x) * math.erfc(x), -3, 5), "normcdf": (normal, -6, 3),
    "normcdfinv": (normal_inverse, 1e-3, .999), "tgamma": (math.gamma, -4, 20), "lgamma": (math.lgamma, 3, 40),
    "rint": (round, -100, 100), "trunc": (math.trunc, -100, 100), "logb": (lambda x: math.frexp(x)[1] - 1, 1e-3, 100)}
PAIRS = {"pow": (math.pow, 0, 50), "atan2": (math.atan2, -5, 5), "hypot": (math.hypot, -5, 5), "fmod": (math.fmod, -50, 50),
         "remainder": (math.remainder, -50, 50), "copysign": (math.copysign, -1, 1),
         "fdim": (lambda x, y: max(x - y, 0), -5, 5)}


def rounded(exact, mode, dtype):
    """The float nearest to a fraction, moved in the mode's direction."""
    value = dtype(float(exact))
    if fractions.Fraction(float(value)) > exact and (mode == "rd" or mode == "rz" and exact > 0):
        value = numpy.nextafter(value, dtype(-math.inf))
    if fractions.Fraction(float(value)) < exact and (mode == "ru" or mode == "rz" and exact < 0):
        value = numpy.nextafter(value, dtype(math.inf))
    return value


class Functions(unittest.TestCase):
    def setUp(self):
        cache = tempfile.TemporaryDirectory()
        self.addCleanup(cache.cleanup)
        os.environ["TRITON_CACHE_DIR"] = cache.name
        self.addCleanup(os.environ.pop, "TRITON_CACHE_DIR")
        context = heddle.triton.device("host")
        context.__enter__()
        self.addCleanup(context.__exit__, None, None, None)
        self.random = numpy.random.default_rng(1)

    def run_functions(self, kernel, names, *arguments, out=None):
        count, n = arguments[0].shape
        out = numpy.zeros((count, n), out or arguments[0].dtype)
        kernel[(1,)](*(Tensor(each) for each in arguments), Tensor(out), NAMES=tuple(names), COUNT=count, N=n)
        return out

    def test_against_the_math_of_python(self):
        for dtype, bound in (("f4", 6e-8), ("f8", 4e-15)):
            x = numpy.array([self.random.uniform(low, high, 64) for _, low, high in FUNCTIONS.values()]).astype(dtype)
            out = self.run_functions(one_argument, FUNCTIONS, x)
            for name, row, values in zip(FUNCTIONS, out, x):
                wanted = [FUNCTIONS[name][0](float(value)) for value in values]
                numpy.testing.assert_allclose(row, wanted, rtol=2 * bound, atol=bound, err_msg=f"{name} {dtype}")

    def test_pairs(self):
        for dtype, bound in (("f4", 6e-8), ("f8", 1e-15)):
            x = numpy.array([self.random.uniform(low, high, 64) for _, low, high in PAIRS.values()]).astype(dtype)
            y = self.random.uniform(-5, 5, x.shape).astype(dtype)
            out = self.run_functions(two_arguments, PAIRS, x, y)
            for name, row, left, right in zip(PAIRS, out, x, y):
                wanted = [PAIRS[name][0](float(a), float(b)) for a, b in zip(left, right)]
                numpy.testing.assert_allclose(row, wanted, rtol=2 * bound, atol=1e-18, err_msg=f"{name} {dtype}")

    def test_bessel_functions(self):
        x = self.random.uniform(0, 40, 64)
        x = numpy.concatenate([x, [0, 8, numpy.nextafter(8, 9), 1e-300], x[:60] / 20])
        names = ["j0", "j1", "y0", "y1", "cyl_bessel_i0", "cyl_bessel_i1"]
        j0, j1, y0, y1, i0, i1 = self.run_functions(one_argument, names, numpy.stack([x] * 6))
        used = x > 1e-3
        wronskian = (j1[used] * y0[used] - j0[used] * y1[used]) * math.pi * x[used] / 2
        numpy.testing.assert_allclose(wronskian, 1, rtol=2e-14)
        self.assertEqual((j1[64], y0[64], y1[64], i1[64]), (0, -math.inf, -math.inf, 0))
        for row, sign in ((j0, -1), (i0, 1)):  # their series
            small = x < 3
            series = [sum(sign**k * (float(v) / 2)**(2 * k) / math.factorial(k)**2 for k in range(30)) for v in x[small]]
            numpy.testing.assert_allclose(row[small], series, rtol=1e-13, atol=1e-15)
        orders = self.random.integers(-4, 12, 128).astype("i4")
        both = numpy.zeros((2, 128))
        bessel_of_order[(1,)](Tensor(orders), Tensor(x), Tensor(both), N=128)
        neighbours = numpy.zeros((2, 128))
        bessel_of_order[(1,)](Tensor(orders + 1), Tensor(x), Tensor(neighbours), N=128)
        used = (x > 1) & (abs(orders) < 8)
        cross = (neighbours[0, used] * both[1, used] - both[0, used] * neighbours[1, used]) * math.pi * x[used] / 2
        numpy.testing.assert_allclose(cross, 1, rtol=1e-7)

    def test_inverses(self):
        x = numpy.stack([self.random.uniform(-1, 1, 64), self.random.uniform(0, 2, 64)])
        first, second = self.run_functions(one_argument, ["erfinv", "erfcinv"], x)
        numpy.testing.assert_allclose([math.erf(v) for v in first], x[0], rtol=1e-14)
        numpy.testing.assert_allclose([math.erfc(v) for v in second], x[1], rtol=1e-14)

    def test_special_values(self):
        inf, nan = math.inf, math.nan
        cases = {("pow", 0, -1): inf, ("pow", -2, 3): -8, ("pow", -2, .5): nan, ("pow", nan, 0): 1, ("pow", -inf, 3): -inf,
                 ("pow", 1, nan): 1, ("pow", .5, inf): 0, ("pow", 2, 2000): inf, ("pow", 2, -1074): 5e-324,
                 ("atan2", 0, -1): math.pi, ("atan2", inf, -inf): 3 * math.pi / 4, ("hypot", 1e300, 1e300): math.hypot(1e300, 1e300),
                 ("hypot", inf, nan): inf, ("ldexp", .75, -1074): 5e-324, ("nextafter", 0, 1): 5e-324, ("nextafter", 1, 0): 1 - 2**-53,
                 ("nextafter", inf, 0): 1.7976931348623157e308, ("fdim", 1, 3): 0, ("remainder", 5, 2): 1, ("remainder", 7, 2): -1}
        names = [name for name, _, _ in cases]
        out = self.run_functions(two_arguments, names, numpy.array([[x] for _, x, _ in cases], "f8"),
                                 numpy.array([[y] for _, _, y in cases], "f8"))
        for (case, wanted), value in zip(cases.items(), out[:, 0]):
            numpy.testing.assert_allclose(value, wanted, rtol=4e-16, err_msg=str(case))

    def test_directions(self):
        for dtype in (numpy.float32, numpy.float64):
            x, y = (self.random.standard_normal(64).astype(dtype) for _ in range(2))
            y *= dtype(2.0)**self.random.integers(-20, 20, 64).astype(dtype)
            operations = {"add": lambda a, b: a + b, "mul": lambda a, b: a * b, "div": lambda a, b: a / b}
            for name, operation in operations.items():
                out = self.run_functions(two_arguments, [f"{name}_{mode}" for mode in MODES], numpy.stack([x] * 4),
                                         numpy.stack([y] * 4))
                for mode, row in zip(MODES, out):
                    wanted = [rounded(operation(fractions.Fraction(float(a)), fractions.Fraction(float(b))), mode, dtype)
                              for a, b in zip(x, y)]
                    if mode != "rn" or dtype is numpy.float64:
                        numpy.testing.assert_array_equal(row, wanted, err_msg=f"{name}_{mode} {dtype}")

    def test_conversions(self):
        x = numpy.array([[2.5, -2.5, .5, 1e20, -1e20, math.nan, -.5, 3.99]] * 4)
        wanted = {"rn": [2, -2, 0, 0, 4], "rz": [2, -2, 0, 0, 3], "rd": [2, -3, 0, -1, 3], "ru": [3, -2, 1, 0, 4]}
        out = self.run_functions(one_argument, [f"double2int_{mode}" for mode in MODES], x, out="i4")
        for mode, row in zip(MODES, out):
            self.assertEqual(row[[0, 1, 2, 6, 7]].tolist(), wanted[mode])
            self.assertEqual(row[3:6].tolist(), [2**31 - 1, -2**31, 0])
        large = numpy.array([[2**53 + 1, 2**63 - 1, -2**62 - 1, 2**40 + 2**16]] * 4, "i8")
        for size, dtype in (("float", numpy.float32), ("double", numpy.float64)):
            out = self.run_functions(one_argument, [f"ll2{size}_{mode}" for mode in MODES], large, out=dtype)
            for mode, row in zip(MODES[1:], out[1:]):
                self.assertEqual(row.tolist(), [rounded(fractions.Fraction(int(v)), mode, dtype) for v in large[0]], mode)

    def test_bits(self):
        x = numpy.array([[0x00F0F001, -2, 0, 1 << 30]] * 4, "i4")
        clz, popc, ffs, brev = self.run_functions(one_argument, ["clz", "popc", "ffs", "brev"], x)
        self.assertEqual(clz.tolist(), [8, 0, 32, 1])
        self.assertEqual(popc.tolist(), [9, 31, 0, 1])
        self.assertEqual(ffs.tolist(), [1, 2, 0, 31])
        self.assertEqual(brev.view("u4").tolist(), [0x800F0F00, 0x7FFFFFFF, 0, 2])
        y = numpy.array([[7, 5, -1, 1 << 30]] * 4, "i4")
        mulhi, hadd, rhadd, sad = self.run_functions(two_arguments, ["mulhi", "hadd", "rhadd", "mul24"], x, y)
        self.assertEqual(mulhi.tolist(), [(a * b) >> 32 for a, b in zip(x[0].tolist(), y[0].tolist())])
        self.assertEqual(hadd.tolist(), [(a + b) >> 1 for a, b in zip(x[0].tolist(), y[0].tolist())])
        self.assertEqual(rhadd.tolist(), [(a + b + 1) >> 1 for a, b in zip(x[0].tolist(), y[0].tolist())])
        self.assertEqual(sad.tolist()[1:], [-10, 0, 0])
        words = [numpy.array([word], "u4") for word in (0x03020100, 0x07060504, 0x7412)]
        out = numpy.zeros(1, "u4")
        permute[(1,)](*map(Tensor, words), Tensor(out))
        self.assertEqual(hex(out[0]), "0x7040102")

    def test_every_name_of_the_stubs_is_there(self):
        from heddle.triton.backend import libdevice as ours
        for module, least in ((libdevice, 150), (cuda_libdevice, 150), (hip_libdevice, 40)):  # the latter two are mapped to ours too
            names = [name for name, value in vars(module).items()
                     if not name.startswith("_") and getattr(value, "__module__", "") == module.__name__]
            self.assertGreater(len(names), least)
            self.assertEqual([name for name in names if not hasattr(ours, name)], [])


if __name__ == "__main__":
    unittest.main()
