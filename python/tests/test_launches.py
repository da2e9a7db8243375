# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Launches on the host, quick and general; and cuda_launches.py in processes of its own, by the module heddle_launch and by ctypes
alone. HEDDLE_FAKE_CUDA names the fake CUDA driver of the build; without it the latter are skipped."""
import array
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import unittest

try:
    import numpy
except ImportError:
    numpy = None

import heddle
from heddle import _launcher, _native

FOLDER = pathlib.Path(__file__).resolve().parent
FAKE = os.environ.get("HEDDLE_FAKE_CUDA") or str(FOLDER.parents[1] / "build" / "test" / "fake-cuda.so")

VECTOR_ADD = FOLDER.parents[1] / "tests" / "corpus" / "vector_add.gfx942.ttir"
NEVER = """module {
  tt.func public @never(%out: !tt.ptr<i32>, %n: i32) {
    %zero = arith.constant 0 : i32
    %is = arith.cmpi eq, %n, %zero : i32
    %tile = tt.splat %is : i1 -> tensor<1xi1>
    tt.assert %tile, "never so" : tensor<1xi1>
    tt.store %out, %n : !tt.ptr<i32>
    tt.return
  }
}
"""


TOUCH = """module {
  tt.func public @touch(%out: !tt.ptr<i8>) {
    %one = arith.constant 1 : i8
    tt.store %out, %one : !tt.ptr<i8>
    tt.return
  }
}
"""


class HostLaunches(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.kernel = heddle.compile(VECTOR_ADD, target="host")

    def setUp(self):
        self.general = []
        own = _launcher.Launcher._call
        _launcher.Launcher._call = lambda launcher, *args, **named: (self.general.append(args), own(launcher, *args, **named))[1]
        self.addCleanup(setattr, _launcher.Launcher, "_call", own)

    def add(self, x, y, out, count=64):
        """Twice, of which the second launch is a quick one; whether it was."""
        for _ in range(2):
            self.general.clear()
            self.kernel[1](x, y, out, count)
        return not self.general

    def test_arrays_of_python(self):
        x, y, out = array.array("f", range(64)), array.array("f", [1.0] * 64), array.array("f", bytes(256))
        self.assertEqual(self.add(x, y, out), _native.module is not None)
        self.assertEqual(list(out), [value + 1 for value in range(64)])
        view = memoryview(bytearray(256)).cast("f")
        self.assertEqual(self.add(x, x, view), _native.module is not None)
        self.assertEqual(view.tolist(), [2.0 * value for value in range(64)])

    def test_arrays_that_a_kernel_cannot_use(self):
        x, out = array.array("f", [1.0] * 64), array.array("f", bytes(256))
        self.add(x, x, out)
        for wrong, pattern in ((memoryview(bytes(256)).cast("f"), "`out` is read-only"), (bytearray(256), "the array is of ui8"),
                               (array.array("d", bytes(512)), "is a pointer to f32, and the array is of f64"),
                               (array.array("i", bytes(256)), "is a pointer to f32, and the array is of i32"),
                               (memoryview(array.array("f", bytes(512)))[::2], "is not contiguous"),
                               (bytes(256), "`out` is read-only|the array is of ui8")):
            with self.subTest(pattern=pattern), self.assertRaisesRegex(heddle.InputError, pattern):
                self.kernel[1](x, x, wrong, 64)

    @unittest.skipUnless(numpy, "NumPy is not installed")
    def test_arrays_of_numpy(self):
        x, out = numpy.arange(64, dtype="f4"), numpy.zeros(64, "f4")
        self.assertEqual(self.add(x, x, out), _native.module is not None)
        self.assertEqual(out.tolist(), (2 * x).tolist())
        self.assertEqual(self.add(x[:32], x[32:], out, count=32), _native.module is not None)
        self.assertEqual(out[:32].tolist(), (x[:32] + x[32:]).tolist())
        frozen = out.copy()
        frozen.flags.writeable = False
        for wrong, pattern in ((frozen, "`out` is read-only"), (x.astype("f8"), "is a pointer to f32, and the array is of f64"),
                               (numpy.zeros(128, "f4")[::2], "strides"), (x.astype(">f4"), "is not one of Heddle's"),
                               (numpy.zeros(64, "i4"), "is a pointer to f32, and the array is of i32")):
            with self.subTest(pattern=pattern), self.assertRaisesRegex(heddle.InputError, pattern):
                self.kernel[1](x, x, wrong, 64)

    def test_what_a_kernel_reports_is_raised(self):
        kernel, out = heddle.compile(NEVER, target="host"), array.array("i", [7])
        kernel[1](out, 0)
        for _ in range(3):
            self.general.clear()
            with self.assertRaisesRegex(heddle.InputError, "never so"):
                kernel[1](out, 1)
            self.assertEqual(self.general, [] if _native.module else [(out, 1)])
        kernel[1](out, 0)
        self.assertEqual(out[0], 0)

    @unittest.skipUnless(_native.module, "without the module heddle_launch")
    def test_memory_stays_while_a_kernel_runs(self):
        """Another thread resizes the bytearray whenever it can: not while a launch holds its memory."""
        kernel, refused, stop = heddle.compile(TOUCH, target="host"), [], threading.Event()
        data = bytearray(256)

        def resize():
            while not stop.is_set():
                try:
                    data.append(0)
                    del data[256:]
                except BufferError:
                    refused.append(1)
        thread = threading.Thread(target=resize)
        thread.start()
        try:
            for _ in range(200):
                if refused:
                    break
                kernel[64](data)
        finally:
            stop.set()
            thread.join(60)
        self.assertEqual(data[0], 1)
        self.assertTrue(refused)

    def test_each_thread_has_its_stream(self):
        failures = []

        def run(index):
            x, out = array.array("f", [index] * 64), array.array("f", bytes(256))
            for count in range(1, 40):
                self.kernel[1](x, x, out, 64)
                if list(out) != [2.0 * index] * 64:
                    failures.append((index, count))
        threads = [threading.Thread(target=run, args=(index,)) for index in range(4)]
        for each in threads:
            each.start()
        for each in threads:
            each.join(60)
        self.assertEqual(failures, [])

    @unittest.skipUnless(_native.module, "without the module heddle_launch")
    def test_the_module_alone(self):
        module = _native.module
        for wrong in ((), ((),), (("p",),), 3):
            with self.subTest(wrong=wrong):
                try:
                    plan = module.Plan(wrong)
                except (TypeError, ValueError):
                    continue
                self.assertIs(plan.on_values(0, 0, 0, ()), False)
        self.assertRaises(ValueError, module.Plan, (("",),) * 65)
        plan = module.Plan((("p", ((2, 32),), "f"), ("i", -8, 15, 15)))
        for action in (lambda: plan.on_buffers(1, 2, 3), lambda: plan.on_buffers("1", 2, 3, ()), lambda: plan.on_values(1, 2, 1, [3, 4]),
                       lambda: plan.on_addresses(0, 1, 1, 1.5, ()), lambda: plan.keep(1, 0, False, [0]),
                       lambda: plan.bind_gpu(2, 0, 0, "1", 1), lambda: module.use_buffers(3), lambda: module.use_tensors(int, 3),
                       lambda: plan.keep(1, 0, False, (1, 0)), lambda: plan.keep(1, 0, False, (-1,)),
                       lambda: module.Launcher(3), lambda: module.Launcher(object(), 1)):
            self.assertRaises((TypeError, ValueError, AttributeError), action)
        self.assertRaises(OverflowError, plan.on_values, 1, 2, 1, (-1, 0))
        self.assertRaisesRegex(heddle.InputError, "`stream`: 0x1 is no handle", plan.on_values, 1, 2, 1, (0, 0))
        self.assertRaisesRegex(heddle.InputError, "`stream` is null", plan.on_values, 0, 2, 1, (0, 0))

    @unittest.skipUnless(_native.module, "without the module heddle_launch")
    def test_the_module_before_it_is_set_up(self):
        code = ("from heddle import _native\n"
                "try:\n    _native.module.Plan(()).on_values(1, 2, 1, ())\n"
                "except RuntimeError as problem:\n    print(problem)")
        done = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, timeout=60, check=False)
        self.assertEqual((done.returncode, done.stdout), (0, "heddle_launch.set_up was not called\n"))

    @unittest.skipUnless(_native.module, "without the module heddle_launch")
    def test_nothing_is_kept(self):
        x, out = array.array("f", [1.0] * 64), array.array("f", bytes(256))
        launcher = self.kernel[1]
        launcher(x, x, out, 64)
        before = [sys.getrefcount(each) for each in (x, out, launcher, self.kernel, None)]
        for _ in range(100):
            launcher(x, x, out, 64)
            self.kernel[1](x, x, out, 64)
            self.assertRaises(heddle.InputError, launcher, x, x, out, "64")
        self.general.clear()
        after = [sys.getrefcount(each) for each in (x, out, launcher, self.kernel, None)]
        self.assertTrue(all(abs(a - b) < 20 for a, b in zip(before, after)), (before, after))

    def test_options_and_grids_take_the_general_way(self):
        x, out = array.array("f", [1.0] * 64), array.array("f", bytes(256))
        self.add(x, x, out)
        for grid, named in ((1, {"timeout": 5.0}), (1, {"cooperative": True}), ([1], {}), (lambda given: 1, {})):
            self.general.clear()
            self.kernel[grid](x, x, out, 64, **named)
            self.assertEqual(len(self.general), 1)
        for grid in (0, -1, 1 << 31, 1 << 70, (1, 2, 3, 4)):
            with self.subTest(grid=grid), self.assertRaises(heddle.InputError):
                self.kernel[grid](x, x, out, 64)


@unittest.skipUnless(os.path.exists(FAKE), "the fake CUDA driver is part of a build with tests")
class CudaLaunches(unittest.TestCase):
    def run_with(self, way, library):
        with tempfile.TemporaryDirectory() as cache:
            environment = {**os.environ, "HEDDLE_LIBRARY": library, "HEDDLE_CUDA_LIBRARY": FAKE, "HEDDLE_TEST_WAY": way,
                           "HEDDLE_CACHE_DIR": cache, "TRITON_CACHE_DIR": cache + "/triton",
                           "PYTHONPATH": os.pathsep.join([str(FOLDER), str(pathlib.Path(heddle.__file__).parents[1])])}
            done = subprocess.run([sys.executable, str(FOLDER / "cuda_launches.py")], env=environment, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, timeout=300, check=False)
        self.assertEqual(done.returncode, 0, done.stdout.decode(errors="replace"))

    def test_by_the_module(self):
        library = heddle.library_path()
        if not pathlib.Path(library).with_name("heddle_launch.abi3.so").exists() or sys.version_info < (3, 11):
            self.skipTest("heddle_launch is not built, or Python is older than 3.11")
        self.run_with("native", library)

    def test_by_ctypes(self):
        with tempfile.TemporaryDirectory() as folder:
            alone = pathlib.Path(folder) / "libheddle.so.0"
            alone.symlink_to(pathlib.Path(heddle.library_path()).resolve())
            self.run_with("ctypes", str(alone))


if __name__ == "__main__":
    unittest.main()
