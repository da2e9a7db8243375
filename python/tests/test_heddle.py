# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The Python package against the built library. What needs NumPy is skipped, loudly, where there is none."""
import array
import ctypes
import importlib.util
import os
import pathlib
import pickle
import signal
import subprocess
import sys
import threading
import traceback
import unittest

try:
    import numpy
except ImportError:
    numpy = None

import heddle  # after NumPy: the library must load late

ROOT = pathlib.Path(__file__).resolve().parents[2]
CORPUS = ROOT / "tests" / "corpus"
VECTOR_ADD = CORPUS / "vector_add.gfx942.ttir"
COUNT = 4000
RACE = """module {
  tt.func public @race(%out: !tt.ptr<i32>) {
    %pid = tt.get_program_id x : i32
    tt.store %out, %pid : !tt.ptr<i32>
    tt.return
  }
}
"""
needs_numpy = unittest.skipUnless(numpy, "NumPy is not installed: python3-numpy, or a virtual environment that has it")


def floats(count=COUNT, value=1.0):
    return array.array("f", [value]) * count


class Requirements(unittest.TestCase):
    def test_nothing_is_skipped_that_setup_installs(self):
        for name in os.environ.get("HEDDLE_TESTS_NEED", "").split():
            self.assertIsNotNone(importlib.util.find_spec(name), f"{name} is not installed: `./dev setup` does")


class Launches(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.kernel = heddle.compile(VECTOR_ADD, target="host")

    def test_buffers_are_used_in_place(self):
        x, y, out = floats(), floats(value=2.0), floats(value=0.0)
        self.kernel[4](x, y, out, COUNT)
        self.assertEqual(out, floats(value=3.0))
        self.kernel[4,](y=x, x=x, n=COUNT, out=out)
        self.assertEqual(out, floats(value=2.0))
        self.kernel[lambda given: (-(-given["n"] // 1024),)](x, y, out, COUNT)
        self.assertEqual(out, floats(value=3.0))

    def test_own_arrays(self):
        x, y, out = heddle.rand(COUNT, seed=1), heddle.rand(COUNT, seed=2), heddle.empty(COUNT)
        self.kernel[4](x, y, out, COUNT)
        wanted = [ctypes.c_float(a + b).value for a, b in zip(x.tolist(), y.tolist())]
        self.assertEqual(out.tolist(), wanted)

    @needs_numpy
    def test_numpy(self):
        x = numpy.random.default_rng(1).random(COUNT, numpy.float32)
        out = numpy.zeros_like(x)
        self.kernel[4](x, x, out, numpy.int32(COUNT))
        self.assertTrue((out == x + x).all())
        self.assertTrue((numpy.asarray(heddle.rand((3, 4), "i32")) == heddle.rand((3, 4), "i32").numpy()).all())

    @needs_numpy
    def test_dlpack(self):
        class Foreign:
            """Nothing but DLPack, as tensors of frameworks are."""

            def __init__(self, array):
                self.array = array

            def __dlpack_device__(self):
                return self.array.__dlpack_device__()

            def __dlpack__(self):
                return self.array.__dlpack__()

        x, out = numpy.ones(COUNT, numpy.float32), numpy.zeros(COUNT, numpy.float32)
        self.kernel[4](Foreign(x), Foreign(x), Foreign(out), COUNT)
        self.assertTrue((out == 2).all())
        with self.assertRaisesRegex(heddle.InputError, "pointer to f32, and the array is of i64"):
            self.kernel[4](Foreign(numpy.zeros(COUNT, numpy.int64)), x, out, COUNT)
        with self.assertRaisesRegex(heddle.InputError, "strides"):
            self.kernel[4](Foreign(numpy.zeros(2 * COUNT, numpy.float32)[::2]), x, out, COUNT)

    def test_bounds_checks_know_the_arrays(self):
        checked = heddle.compile(VECTOR_ADD, target="host", check=True)
        x, out = floats(), floats(value=0.0)
        checked[4](x, x, out, COUNT)
        self.assertEqual(out, floats(value=2.0))
        with self.assertRaises(heddle.Error) as caught:
            checked[4](x, x, out, COUNT + 1)
        self.assertIn("kernels.py", str(caught.exception))

    def test_what_is_refused(self):
        x, out = floats(), floats()
        f64 = array.array("d", [0.0]) * COUNT
        cases = [
            (lambda: self.kernel[4](x, x, out), "takes 4 arguments and got 3: missing n"),
            (lambda: self.kernel[4](x, x, out, COUNT, 1), "takes 4 arguments and got 5"),
            (lambda: self.kernel[4](x, x, out, m=1), "has no argument `m`"),
            (lambda: self.kernel[4](x, x, out, COUNT, n=1), "`n` is given twice"),
            (lambda: self.kernel[4](f64, x, out, COUNT), "`x` is a pointer to f32, and the array is of f64"),
            (lambda: self.kernel[4](3, x, out, COUNT), "`x` is a pointer to f32, and 3 was given"),
            (lambda: self.kernel[4](x, x, out, 2.5), "`n` is a scalar of type i32, and 2.5 was given"),
            (lambda: self.kernel[4](x, x, out, 1 << 40), "1099511627776 does not fit i32"),
            (lambda: self.kernel[4](bytes(4), x, out, COUNT), "ui8"),
            (lambda: self.kernel[4](memoryview(x).toreadonly(), x, out, COUNT), "`x` is read-only"),
            (lambda: self.kernel[4](memoryview(x)[::2], x, out, COUNT), "not contiguous"),
            (lambda: self.kernel[4](memoryview(x)[1:], x, out, COUNT - 1), "not a multiple of 16 bytes"),
            (lambda: self.kernel[0](x, x, out, COUNT), "grid 0 x 1 x 1"),
            (lambda: self.kernel[1, 1, 1, 1](x, x, out, COUNT), "has 4 extents"),
            (lambda: self.kernel["4"](x, x, out, COUNT), "not made of integers"),
            (lambda: self.kernel[None](x, x, out, COUNT), "the grid is None"),
            (lambda: self.kernel[1 << 70](x, x, out, COUNT), "does not fit 64 bits"),
            (lambda: self.kernel[4](x, x, out, COUNT, timeout="x"), "the time limit is 'x'"),
            (lambda: self.kernel[[4, []]](x, x, out, COUNT), "not made of integers"),
            (lambda: heddle.Device("host\0x"), "zero byte"),
            (lambda: heddle.compile(VECTOR_ADD, target="host\0x"), "zero byte"),
            (lambda: heddle.Device().adopt(1 << 70, 4), "the address is 1180591620717411303424"),
            (lambda: heddle.Device().adopt(-1, 4), "the address is -1"),
            (lambda: heddle.Device().adopt(64, 1 << 64), "the number of bytes is 18446744073709551616"),
            (lambda: heddle.Device().adopt("x", 4), "the address is 'x', and an integer is wanted"),
            (lambda: heddle.Device().buffer(-1), "the number of bytes is -1"),
            (lambda: self.kernel(x, x, out, COUNT), "launched on a grid"),
            (lambda: heddle.compile(VECTOR_ADD, target="gfx942")[4](x, x, out, COUNT), "for gfx942, and its arrays are on host"),
            (lambda: heddle.compile(VECTOR_ADD, wraps=4), "unknown option `wraps`"),
            (lambda: heddle.compile("module {\n"), "<text>:"),
            (lambda: heddle.compile(3), "and 3 was given"),
            (lambda: heddle.load(b"nonsense"), "is not a kernel package|no kernel package|package"),
            (lambda: heddle.Device("hots"), "unknown driver `hots`"),
            (lambda: heddle.zeros(-1), "negative extent"),
            (lambda: heddle.zeros(4, "f31"), "'f31' is no element type"),
            (lambda: self.kernel.asm("no-such-phase"), "no-such-phase"),
        ]
        for action, wanted in cases:
            with self.subTest(wanted=wanted), self.assertRaisesRegex(heddle.InputError, wanted):
                action()
        with self.assertRaises(heddle.DeviceError):
            heddle.compile("does-not-exist.ttir")
        with self.assertRaises(ValueError):  # InputError is one
            heddle.compile(VECTOR_ADD, wraps=4)

    def test_errors_have_notes_and_travel(self):
        with self.assertRaises(heddle.InputError) as caught:
            heddle.compile(VECTOR_ADD, wraps=4)
        error = caught.exception
        self.assertEqual(error.notes[0], "the closest is `warps`")
        self.assertEqual(pickle.loads(pickle.dumps(error)).notes, error.notes)
        if sys.version_info >= (3, 11):
            self.assertIn("note: the closest is `warps`", "".join(traceback.format_exception(error)))

    def test_packages_travel(self):
        again = heddle.load(self.kernel.to_bytes())
        self.assertEqual(again.arguments, self.kernel.arguments)
        self.assertEqual(str(again.arguments[0]), "x: pointer to f32")
        x, out = floats(), floats()
        again[4](x, x, out, COUNT)
        self.assertEqual(out[0], 2.0)
        self.assertIn("ret", again.asm())
        self.assertIn("tt.load", self.kernel.asm("parse"))
        with self.assertRaisesRegex(heddle.InputError, "loaded from a package"):
            again.asm("parse")

    def test_representations(self):
        self.assertRegex(repr(self.kernel), r"<heddle.Kernel vector_add for host, \d+ bytes>")
        self.assertEqual(repr(heddle.zeros((2, 3), "i32")), "<heddle.Array i32[2, 3]: 0, 0, 0, 0, ...>")
        self.assertEqual(heddle.rand(2, "bf16", 1).tolist(), [round(v * 256) / 256 for v in heddle.rand(2, "bf16", 1).tolist()])

    def test_threads(self):
        problems = []

        def work(value):
            try:
                x, out = floats(value=value), floats(value=0.0)
                for _ in range(20):
                    self.kernel[4](x, x, out, COUNT)
                assert out == floats(value=2 * value)
            except BaseException as problem:
                problems.append(problem)

        threads = [threading.Thread(target=work, args=(float(i),)) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(problems, [])

    @unittest.skipUnless(hasattr(os, "fork"), "no fork")
    def test_a_forked_child_is_told(self):
        x, out = floats(), floats()
        self.kernel[4](x, x, out, COUNT)
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                self.kernel[4](x, x, out, COUNT)
                text = "no error"
            except heddle.DeviceError as error:
                text = f"{error}; {error.notes[0]}"
            os.write(writer, text.encode())
            os._exit(0)
        os.close(writer)
        with os.fdopen(reader) as file:
            text = file.read()
        self.assertEqual(os.waitpid(child, 0)[1], 0)
        self.assertIn("this process was forked from one whose threads run host kernels", text)
        self.assertIn("spawn", text)


class Devices(unittest.TestCase):
    def test_run_copies_there_and_back(self):
        for name, target in [("host:1", "host"), ("sim:gfx942", "gfx942")]:
            with heddle.Device(name) as device:
                kernel = heddle.compile(VECTOR_ADD, target=target)
                x = heddle.rand(COUNT, seed=1)
                result = device.run(kernel, grid=4, x=x, y="rand:f32[4000]:2", out=heddle.zeros(COUNT), n=COUNT)
                wanted = [ctypes.c_float(a + b).value for a, b in zip(x.tolist(), heddle.rand(COUNT, seed=2).tolist())]
                self.assertEqual(result["out"].tolist(), wanted)
                self.assertEqual(result["x"], x)
                self.assertEqual(device.info["target"], target)
                with self.assertRaisesRegex(heddle.InputError, "missing n"):
                    device.run(kernel, grid=4, x=x, y=x, out=x)

    def test_streams_and_buffers(self):
        kernel = heddle.compile(VECTOR_ADD, target="gfx950")
        with heddle.Device("sim:gfx950") as device, device.stream() as stream, \
                device.buffer(floats(), "x") as x, device.buffer(4 * COUNT, "out") as out:
            stream.launch(kernel, 4, x, x, out, n=COUNT)
            stream.synchronize()
            self.assertEqual(out.read("f32", COUNT).tolist(), [2.0] * COUNT)
            with self.assertRaisesRegex(heddle.InputError, "kernels cannot use memory that is not the device's"):
                device.adopt(4096, 64, "x")
            closed = device.buffer(floats(), "y")
            closed.close()
            with self.assertRaisesRegex(heddle.InputError, r"`values\[1\]` is null, and a buffer is wanted"):
                stream.launch(kernel, 4, x, closed, out, n=COUNT)
            with heddle.Device("sim:gfx950:1") as other, other.buffer(floats(), "y") as foreign:
                with self.assertRaisesRegex(heddle.InputError, "is a buffer of sim:gfx950:1, and the stream is of sim:gfx950:0"):
                    stream.launch(kernel, 4, x, foreign, out, n=COUNT)
        with self.assertRaisesRegex(heddle.InputError, "`device` is null"):
            device.buffer(4)  # closed

    def test_events_graphs_and_times(self):
        kernel = heddle.compile(VECTOR_ADD, target="host")
        with heddle.Device("host:1") as device, device.stream() as stream, device.stream() as other:
            x, y, out = device.buffer(floats()), device.buffer(floats(value=2.0)), device.buffer(4 * COUNT)
            start, end = device.event(), device.event()
            with stream.capture() as graph:
                stream.launch(kernel, 4, x, y, out, COUNT)
            start.record(stream)
            graph.launch(stream)
            end.record(stream)
            other.wait(end)
            other.synchronize()
            self.assertEqual(out.read("f32", COUNT).tolist(), [3.0] * COUNT)
            self.assertGreaterEqual(end.milliseconds_since(start), 0.0)
            with self.assertRaisesRegex(heddle.InputError, "`graph` is null"):
                heddle.Graph().launch(stream)
            times = device.bench(kernel, grid=4, x=floats(), y=floats(), out=floats(), n=COUNT, repeat=5)
            self.assertEqual(len(times.milliseconds), 5)
            self.assertRegex(repr(times), r"<heddle.Timing of 5 launches: p50 \d")
            with self.assertRaisesRegex(heddle.InputError, "repeat=0"):
                device.bench(kernel, grid=4, x=floats(), y=floats(), out=floats(), n=COUNT, repeat=0)

    def test_printed_lines(self):
        text = """module {
  tt.func public @p(%n: i32) {
    tt.print " n" {hex = false, isSigned = array<i32: 1>} : %n : i32
    tt.return
  }
}
"""
        lines = []
        heddle.set_print(lines.append)
        self.addCleanup(heddle.set_print, None)
        heddle.compile(text, target="host")[2](42)
        with heddle.Device("sim:gfx950") as device:
            device.run(heddle.compile(text, target="gfx950"), grid=1, n=43)
        self.assertEqual(len(lines), 3)
        heddle.set_print(lambda line: (lines.append(line), heddle.set_print(None)))
        heddle.compile(text, target="host")[1](44)
        self.assertIn("44", lines.pop())
        self.assertIn("42", lines[0])
        self.assertIn("43", lines[2])

    def test_a_kernel_that_fails(self):
        text = """module {
  tt.func public @k(%p: !tt.ptr<i32>) {
    %false = arith.constant false
    tt.assert %false, "never" : i1
    tt.return
  }
}
"""
        with self.assertRaisesRegex(heddle.Error, "never"):
            heddle.compile(text)[1](array.array("i", [0]))


class Reports(unittest.TestCase):
    def test_arrays_that_have_changed(self):
        x, y = heddle.rand(256, seed=1), heddle.zeros(256)
        kernel = heddle.compile(VECTOR_ADD, target="gfx942")
        arguments = {"x": x, "y": y, "out": heddle.empty(256), "n": 256}
        before = heddle.simulate(kernel, args=arguments).buffers["out"]
        self.assertEqual(before.data, x.data)
        x.data[:] = bytes(1024)
        memoryview(y.data).cast("f")[3] = 2.5
        after = heddle.simulate(kernel, args=arguments).buffers["out"].tolist()
        self.assertEqual((after[3], sum(after)), (2.5, 2.5))
        self.assertEqual(arguments["out"].current_spec(), "f32[256]")
        self.assertIsNone(y.current_spec())

    ARGUMENTS = {"x": "rand:f32[256]:1", "y": "rand:f32[256]:2", "out": "f32[256]", "n": 256}

    def test_check(self):
        report = heddle.check(VECTOR_ADD, target="gfx942", grid=1, args=self.ARGUMENTS, schedules=1)
        self.assertTrue(report.clean, str(report))
        self.assertEqual(report.verdict, "clean")
        self.assertGreater(report.runs, 1)
        report.raise_for_findings()

    def test_check_finds_what_is_planted(self):
        kernel = heddle.compile(RACE, target="gfx950", name="race.ttir")
        calls = []
        report = heddle.check(kernel, grid=2, out=heddle.empty(1, "i32"), schedules=1,
                              progress=lambda done, whole: calls.append(done) or False)
        self.assertGreater(len(calls), 1)
        self.assertFalse(report.clean)
        finding = report.findings[0]
        self.assertEqual(finding.where, "race.ttir:4")
        self.assertIn(finding.where, finding.text)
        self.assertIn("heddle simulate", finding.replay)
        with self.assertRaises(heddle.WrongResult) as caught:
            report.raise_for_findings()
        self.assertIn("replay", caught.exception.notes[0])
        self.assertIn("<pre>", report._repr_html_())
        mutation = heddle.mutate(kernel, grid=2, out=heddle.empty(1, "i32"), schedules=1)
        self.assertIsNone(mutation.score)
        self.assertIn("no score, the kernel itself must be without findings first", repr(mutation))

    def test_exceptions_of_progress_come_through(self):
        def fail(_done, _whole):
            raise KeyError("progress")

        with self.assertRaises(KeyError):
            heddle.check(VECTOR_ADD, target="gfx942", grid=1, args=self.ARGUMENTS, progress=fail)

    def test_control_c_ends_a_check(self):
        def interrupt(_done, _whole):
            signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

        with self.assertRaises(KeyboardInterrupt):
            heddle.check(VECTOR_ADD, target="gfx942", grid=1, args=self.ARGUMENTS, schedules=10000, progress=interrupt)

    def test_simulate(self):
        x = heddle.rand(256, seed=1)
        run = heddle.simulate(VECTOR_ADD, target="gfx950", grid=1, x=x, y="zeros:f32[256]", out=heddle.empty(256), n=256,
                              policy="latest")
        self.assertEqual(run.buffers["out"].tolist(), x.tolist())
        self.assertGreater(run.instructions, 0)
        with self.assertRaisesRegex(heddle.InputError, "nonsense"):
            heddle.simulate(VECTOR_ADD, target="gfx950", grid=1, args=self.ARGUMENTS, policy="nonsense")

    def test_inspect_and_doctor(self):
        inspection = heddle.inspect(heddle.compile(VECTOR_ADD, target="gfx942"))
        self.assertEqual(inspection.kernel, "vector_add")
        self.assertIn("occupancy", inspection)
        with self.assertRaisesRegex(AttributeError, "there is no 'nothing'"):
            inspection.nothing
        self.assertEqual(heddle.doctor()["heddle"], heddle.version())

    def test_module(self):
        tokens = heddle.rand((4, 3), "f32", seed=5)
        run = heddle.run(ROOT / "tests/hlo/all_to_all.hlo", args={"p0@0": tokens, "p0@1": heddle.zeros((4, 3))})
        self.assertEqual(repr(run), "<heddle.ModuleRun dispatch: 1 results of 2 ranks>")
        self.assertEqual(run.results[0][1].shape, (4, 3))
        self.assertEqual(run.results[0][1].tolist(), tokens.tolist()[6:] + tokens.tolist()[:6])
        with self.assertRaisesRegex(heddle.InputError, "p7"):
            heddle.run(ROOT / "tests/hlo/all_to_all.hlo", args={"p7": tokens})


class Imports(unittest.TestCase):
    def test_importing_loads_nothing(self):
        code = ("import heddle, sys; assert heddle._library._loaded is None; "
                "print([name for name in ('numpy', 'torch', 'triton', 'pytest') if name in sys.modules])")
        done = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, check=True)
        self.assertEqual(done.stdout.strip(), "[]")

    def test_the_process_ends_with_work_in_flight(self):
        code = f"""
import heddle
kernel = heddle.compile({str(VECTOR_ADD)!r}, target="host")
device = heddle.Device("host")
x = device.buffer(4 * {COUNT})
stream = device.stream()
for _ in range(200):
    stream.launch(kernel, 4, x, x, x, {COUNT})
"""
        done = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60)
        self.assertEqual((done.returncode, done.stdout), (0, ""))

    def test_a_library_that_is_missing(self):
        done = subprocess.run([sys.executable, "-c", "import heddle; heddle.version()"], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, env={**os.environ, "HEDDLE_LIBRARY": "nowhere/libheddle.so"})
        self.assertEqual(done.returncode, 1)
        self.assertIn("DeviceError: cannot load nowhere/libheddle.so", done.stdout)


if __name__ == "__main__":
    unittest.main()
