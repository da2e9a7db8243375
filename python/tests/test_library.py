# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels of the library on arrays of Python."""
import os
import tempfile
import unittest
import unittest.mock

import heddle

try:
    import numpy
except ImportError:
    numpy = None


class Library(unittest.TestCase):
    def test_what_there_is(self):
        self.assertIn("kernel:fp8_rowwise_2d", heddle.library.describe())
        self.assertIn("[M, K] of bf16, f16, f32", heddle.library.describe("fp8_rowwise_2d"))
        with self.assertRaisesRegex(heddle.InputError, "no kernel `fp8_rowwise_2f`"):
            heddle.library.describe("fp8_rowwise_2f")

    def test_own_arrays(self):
        x = heddle.rand((3, 64), "bf16", seed=1)
        results = heddle.library.call("fp8_rowwise_2d", x=x, pow2=True)
        self.assertEqual((results.q.dtype, results.q.shape, results.scales.tolist()), ("f8E4M3FN", (3, 64), [256.0] * 3))

    @unittest.skipUnless(numpy, "NumPy is not installed")
    def test_views_with_strides(self):
        x = numpy.random.default_rng(1).standard_normal((2, 40, 24), numpy.float32)
        view = x.transpose(0, 2, 1)  # [E, K, N], contiguous along K as memory [E, N, K]
        results = heddle.library.call("fp8_rowwise_3d", x=view, dtype="f8E5M2")
        wanted = numpy.float32(57344) / numpy.abs(view).max(axis=2)
        self.assertTrue((numpy.asarray(results.scales) == wanted).all())
        again = heddle.library.call("fp8_rowwise_3d", x=numpy.ascontiguousarray(view), dtype="f8E5M2")
        self.assertTrue((numpy.asarray(results.q) == numpy.asarray(again.q)).all())

    @unittest.skipUnless(numpy, "NumPy is not installed")
    def test_groups_and_atomics(self):
        x = numpy.arange(1, 33, dtype=numpy.float32).reshape(8, 4)
        offs = numpy.array([2, 2, 8], numpy.int64)
        results = heddle.library.call("fp8_jagged_colwise", x=x, offs=offs)
        scales = numpy.asarray(results.scales)
        self.assertTrue((scales[0] == numpy.float32(448) / x[1]).all())
        self.assertTrue((scales[2] == numpy.float32(448) / x[7]).all())
        self.assertEqual(heddle.library.call("amax", x=-x).amax.tolist(), [32.0])

    @unittest.skipUnless(numpy, "NumPy is not installed")
    def test_bytes_that_are_numbers(self):
        weights = numpy.full((32, 64), 0x33, numpy.uint8)  # two rows of 3 in a byte
        a, scales = numpy.ones((1, 64), numpy.float16), numpy.full((1, 64), 2, numpy.float16)
        results = heddle.library.call("int4_matmul", a=a, b=weights, scales=scales, zeros=numpy.zeros_like(scales))
        self.assertTrue((numpy.asarray(next(iter(vars(results).values()))) == 64 * 3 * 2).all())

    @unittest.skipUnless(numpy, "NumPy is not installed")
    def test_strides_of_parts_of_elements(self):
        x = numpy.zeros((4, 8), [("a", "f4"), ("b", "i2")])["a"]
        with self.assertRaisesRegex(heddle.InputError, "strides of .* bytes, and elements of 4"):
            heddle.library.call("fp8_rowwise_2d", x=x)

    def test_tuning(self):
        with tempfile.TemporaryDirectory() as folder, unittest.mock.patch.dict(
                os.environ, HEDDLE_TUNING_DATABASE=os.path.join(folder, "tuning.sqlite")):
            x = heddle.rand((4, 1024), "bf16", seed=1)
            self.assertRegex(heddle.library.prepare("amax", x=x, tuned=True).tuned, "not tuned: there is no result")
            steps = []
            results = heddle.library.tune("amax", [{"M": 4, "N": 1024}], method="atomic", warps=8,
                                          progress=lambda done, whole: steps.append(done))
            self.assertEqual([result["shape"] for result in results], ["M=4,N=1024"])
            self.assertIn("chosen", [candidate["fate"] for candidate in results[0]["candidates"]])
            self.assertTrue(steps)
            self.assertEqual([each["configuration"] for each in heddle.library.tuned() if each["origin"] == "measured"],
                             [results[0]["configuration"]])
            tuned = heddle.library.prepare("amax", x=x, method="atomic", warps=8, tuned=True)
            self.assertRegex(tuned.tuned, "^tuned: `" + results[0]["configuration"])
            self.assertEqual(tuned(x=x).amax.tolist(), heddle.library.call("amax", x=x).amax.tolist())
            with self.assertRaisesRegex(heddle.InputError, "no kernel `amx`"):
                heddle.library.tune("amx", ["M=1"])

    def test_what_is_refused(self):
        x = heddle.rand((3, 64), seed=1)
        prepared = heddle.library.prepare("fp8_rowwise_2d", x=x)
        cases = [
            (lambda: heddle.library.call("fp8_rowwise_2d", x=x, pow3=True), "no argument `pow3`"),
            (lambda: heddle.library.call("fp8_rowwise_2d", pow2=True), "no array is given"),
            (lambda: heddle.library.call("fp8_rowwise_2d", x=heddle.rand(5)), "of rank 1, and .* has rank 2"),
            (lambda: prepared(x=heddle.rand((4, 64))), "was prepared for"),
        ]
        for action, message in cases:
            with self.assertRaisesRegex(heddle.InputError, message):
                action()


if __name__ == "__main__":
    unittest.main()
