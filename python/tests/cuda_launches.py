# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Launches on a GPU without a GPU and without PyTorch: test_launches.py runs this file with the fake CUDA driver of the build, once
with the module heddle_launch and once without. The fake notes each launch as the driver gets it."""
import contextlib
import ctypes
import os
import pathlib
import struct
import sys
import threading
import unittest

import fake_torch

torch = fake_torch.install()
fake = ctypes.CDLL(os.environ["HEDDLE_CUDA_LIBRARY"])
fake.fakeCudaLaunches.restype = ctypes.c_char_p
fake.fakeCudaFail.argtypes = [ctypes.c_char_p, ctypes.c_int, ctypes.c_int]

import heddle  # noqa: E402
from heddle import _native  # noqa: E402

try:
    import triton
    import triton.language as tl

    import heddle.triton
except ImportError:
    triton = None

NATIVE = _native.module is not None
ROOT = pathlib.Path(__file__).resolve().parents[2]
VECTOR_ADD = ROOT / "tests" / "corpus" / "vector_add.gfx942.ttir"
SCALARS = """module {
  tt.func public @scalars(%out: !tt.ptr<f32>, %a: i1, %b: i8, %c: i16, %d: i32, %e: i64, %f: f32, %g: f64) {
    %zero = arith.constant 0.0 : f32
    tt.store %out, %zero : !tt.ptr<f32>
    tt.return
  }
}
"""
HALVES = """module {
  tt.func public @halves(%out: !tt.ptr<f32>, %a: f16, %b: bf16) {
    %zero = arith.constant 0.0 : f32
    tt.store %out, %zero : !tt.ptr<f32>
    tt.return
  }
}
"""
ALIGNED = """module {
  tt.func public @aligned(%out: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %n: i32 {tt.divisibility = 16 : i32}) {
    %zero = arith.constant 0.0 : f32
    tt.store %out, %zero : !tt.ptr<f32>
    tt.return
  }
}
"""
BASE = 0x10_0000


class Launch:
    """A line of the fake."""

    def __init__(self, line):
        words = line.split()
        numbers = [int(word) for word in words[1:10]]
        self.entry, self.grid, self.block = words[0], tuple(numbers[:3]), tuple(numbers[3:6])
        self.shared_bytes, self.cooperative, self.stream = numbers[6], bool(numbers[7]), numbers[8]
        self.parameters = [bytes.fromhex(word) for word in words[10:]]

    def number(self, index):
        return int.from_bytes(self.parameters[index], "little")


def launches():
    return [Launch(line) for line in fake.fakeCudaLaunches().decode().splitlines()]


def tensor(index=1, **options):
    return torch.Tensor(BASE * index, **options)


def new_stream(index=0):
    context, stream = ctypes.c_void_p(), ctypes.c_void_p()
    fake.cuDevicePrimaryCtxRetain(ctypes.byref(context), index)
    fake.cuCtxSetCurrent(context)
    fake.cuStreamCreateWithPriority(ctypes.byref(stream), 1, 0)
    fake.cuCtxSetCurrent(None)
    return stream.value


class FakeCuda(unittest.TestCase):
    def setUp(self):
        launches()
        self.addCleanup(fake_torch.set_stream, 0, 0)
        self.addCleanup(fake_torch.set_stream, 1, 0)

    def one(self):
        made = launches()
        self.assertEqual(len(made), 1, made)
        return made[0]

    def refuses(self, pattern, action):
        with self.assertRaisesRegex(heddle.Error, pattern):
            action()
        self.assertEqual(launches(), [])


class Kernels(FakeCuda):
    @classmethod
    def setUpClass(cls):
        cls.kernel = heddle.compile(VECTOR_ADD, target="sm_90")
        cls.scalars = heddle.compile(SCALARS, target="sm_90")
        cls.halves = heddle.compile(HALVES, target="sm_90")
        cls.aligned = heddle.compile(ALIGNED, target="sm_90")
        cls.x, cls.y, cls.out = tensor(1), tensor(2), tensor(3)

    def launch(self, *args, grid=1, kernel=None, **named):
        (kernel or self.kernel)[grid](*(args or (self.x, self.y, self.out, 64)), **named)
        return self.one()

    def warm(self, kernel=None, *args):
        """The first launch of a kernel takes the general way, which loads it."""
        self.launch(*args, kernel=kernel)

    @contextlib.contextmanager
    def quick(self):
        """No launch in the block takes the general way, where there is another."""
        general, own = [], heddle._launcher.Launcher._call
        heddle._launcher.Launcher._call = lambda launcher, *args, **named: (general.append(args), own(launcher, *args, **named))[1]
        try:
            yield
        finally:
            heddle._launcher.Launcher._call = own
        self.assertEqual(general, [] if NATIVE else general)

    def test_arguments_grid_and_stream(self):
        self.warm()
        for grid, wanted in [(7, (7, 1, 1)), ((2,), (2, 1, 1)), ((2, 3), (2, 3, 1)), ((2, 3, 4), (2, 3, 4)),
                             ([5, 6], (5, 6, 1)), (lambda given: (given["n"] // 16,), (4, 1, 1))]:
            with self.subTest(grid=grid):
                made = self.launch(grid=grid)
                self.assertEqual(made.grid, wanted)
                self.assertEqual(made.entry, "vector_add")
                self.assertEqual(made.block, (self.kernel.description["threads"], 1, 1))
                self.assertEqual(made.shared_bytes, self.kernel.description["sharedBytes"])
                self.assertEqual([made.number(i) for i in range(4)], [BASE, 2 * BASE, 3 * BASE, 64])
                self.assertEqual([len(each) for each in made.parameters], [8, 8, 8, 4, 8])
                self.assertEqual((made.stream, made.cooperative), (0, False))

    def test_the_stream_is_that_of_now(self):
        self.warm()
        first, second = new_stream(), new_stream()
        for stream in (first, second, 0, second, first):
            fake_torch.set_stream(0, stream)
            self.assertEqual(self.launch().stream, stream)

    def test_more_streams_than_are_kept(self):
        streams = [new_stream() for _ in range(40)]
        for stream in streams + streams:
            fake_torch.set_stream(0, stream)
            self.assertEqual(self.launch().stream, stream)

    def test_scalars_of_each_type(self):
        """CUDA's parameters have 4 bytes at least."""
        kernel, out = self.scalars, tensor()
        self.warm(kernel, out, 0, 0, 0, 0, 0, 0.0, 0.0)
        rows = [((True, -1, -2, -3, -4, 1.5, 1.5), (1, 0xFF, 0xFFFE, 2**32 - 3, 2**64 - 4)),
                ((0, 255, 65535, 2**32 - 1, 2**64 - 1, -2.0, -2.0), (0, 255, 65535, 2**32 - 1, 2**64 - 1)),
                ((1, -128, -2**15, -2**31, -2**63, 0.1, 0.1), (1, 128, 2**15, 2**31, 2**63)),
                ((-1, 1, 2, 3, 2**63, 1e30, 1e300), (1, 1, 2, 3, 2**63)),
                ((False, True, 0, 0, 0, float("inf"), float("-inf")), (0, 1, 0, 0, 0))]
        for values, integers in rows:
            with self.subTest(values=values), self.quick():
                made = self.launch(out, *values, kernel=kernel)
                self.assertEqual([made.number(i) for i in range(1, 6)], list(integers))
                self.assertEqual(made.parameters[6:8], [struct.pack("<f", values[5]), struct.pack("<d", values[6])])

    def test_halves(self):
        for value, half, bits in ((1.5, 0x3E00, 0x3FC0), (-2, 0xC000, 0xC000), (0.1, 0x2E66, 0x3DCD)):
            made = self.launch(tensor(), value, value, kernel=self.halves)
            self.assertEqual((made.number(1), made.number(2)), (half, bits))
        self.refuses("`a` is a scalar of type f16, and 70000.0 was given", lambda: self.halves[1](tensor(), 7e4, 1.0))

    def test_scalars_that_do_not_fit(self):
        kernel, out = self.scalars, tensor()
        fits = [0, 0, 0, 0, 0, 0.0, 0.0]
        self.warm(kernel, out, *fits)
        for index, value, pattern in [(0, 2, "2 does not fit i1"), (0, -2, "-2 does not fit i1"), (1, 256, "256 does not fit i8"),
                                      (1, -129, "-129 does not fit i8"), (3, 2**32, "4294967296 does not fit i32"),
                                      (3, 2**63, f"{2**63} does not fit i32"),
                                      (4, 2**64, f"{2**64} does not fit i64"), (4, -2**63 - 1, "does not fit i64"),
                                      (3, 1.0, "is a scalar of type i32, and 1.0 was given"),
                                      (3, "4", "is a scalar of type i32, and '4' was given"),
                                      (5, 1e39, "is a scalar of type f32, and 1e[+]39 was given"),
                                      (6, None, "is a scalar of type f64, and None was given")]:
            with self.subTest(index=index, value=value):
                values = fits[:index] + [value] + fits[index + 1:]
                self.refuses(pattern, lambda: kernel[1](out, *values))

    def test_numbers_that_only_the_general_way_knows(self):
        kernel, out = self.scalars, tensor()

        class Index:
            def __index__(self):
                return 77
        self.warm(kernel, out, 0, 0, 0, 0, 0, 0.0, 0.0)
        made = self.launch(out, 0, 0, 0, Index(), 0, 3, "4", kernel=kernel)  # a text that is a number, as float() reads it
        self.assertEqual((made.number(4), made.parameters[6], made.parameters[7]), (77, struct.pack("<f", 3), struct.pack("<d", 4)))

    def test_alignment(self):
        self.warm(self.aligned, tensor(), 16)
        self.refuses("argument `out`: address 0x100008 is not a multiple of 16 bytes",
                     lambda: self.aligned[1](torch.Tensor(BASE + 8), 16))
        self.refuses("argument `n`: 17 is not a multiple of 16", lambda: self.aligned[1](tensor(), 17))
        self.assertEqual(self.launch(tensor(), 32, kernel=self.aligned).number(1), 32)

    def test_none_and_empty(self):
        self.warm()
        with self.quick():
            made = self.launch(self.x, None, torch.Tensor(5 * BASE, shape=(4, 0), strides=(9, 9)), 0)
        self.assertEqual([made.number(i) for i in range(4)], [BASE, 0, 5 * BASE, 0])

    def test_what_is_no_dense_tensor_of_the_type_is_refused(self):
        self.warm()
        for value, pattern in [
                (tensor(dtype=torch.float64), "`y` is a pointer to f32, and the array is of f64"),
                (tensor(dtype=torch.int32), "`y` is a pointer to f32, and the array is of i32"),
                (tensor(shape=(8, 8), strides=(1, 8)), r"shape \[8, 8\] has strides \[1, 8\], and row-major"),
                (tensor(shape=(8, 8), strides=(16, 1)), r"strides \[16, 1\]"),
                (tensor(requires_grad=True), "requires a gradient"),
                (tensor(negated=True), "negates or conjugates"),
                (tensor(layout=torch.sparse_coo), "a dense one of the CPU or a GPU is wanted"),
                (3, "is a pointer to f32, and 3 was given")]:
            with self.subTest(pattern=pattern):
                self.refuses(pattern, lambda: self.kernel[1](self.x, value, self.out, 64))
        with self.quick():
            self.assertEqual(self.launch(self.x, tensor(shape=(1, 64), strides=(7, 1)), self.out, 64).number(1), BASE)
            self.assertEqual(self.launch(self.x, tensor(4, shape=(2, 4, 8)), self.out, 64).number(1), 4 * BASE)

    def test_tensors_of_two_places(self):
        self.warm()
        self.refuses("`y` is on cuda:1, and one before it on cuda:0",
                     lambda: self.kernel[1](self.x, tensor(place="cuda:1"), self.out, 64))
        self.refuses("`y` is on host, and one before it on cuda:0",
                     lambda: self.kernel[1](self.x, tensor(place="cpu"), self.out, 64))
        there = tensor(place="cpu")
        self.refuses("is for sm_90, and its arrays are on host", lambda: self.kernel[1](there, there, there, 64))

    def test_two_gpus(self):
        self.warm()
        there = tensor(9, place="cuda:1")
        second = new_stream(1)
        for _ in range(2):
            fake_torch.set_stream(1, second)
            made = self.launch(there, there, there, 64)
            self.assertEqual((made.stream, made.number(0)), (second, 9 * BASE))
            self.assertEqual(self.launch().stream, 0)

    def test_wrong_arguments(self):
        self.warm()
        self.refuses("takes 4 arguments and got 3: missing n", lambda: self.kernel[1](self.x, self.y, self.out))
        self.refuses("takes 4 arguments and got 5: the last are extra",
                     lambda: self.kernel[1](self.x, self.y, self.out, 64, 64))
        for grid, pattern in [(0, "each dimension must be from 1"), (-1, "each dimension must be from 1"),
                              ((1, 1 << 31), "each dimension must be from 1"), ((1, 1 << 16), "y and z are at most 65535"),
                              ((1, 2, 3, 4), "1 to 3 are wanted"), ("1", "is not made of integers"),
                              (1 << 64, "does not fit 64 bits")]:
            with self.subTest(grid=grid):
                self.refuses(pattern, lambda: self.kernel[grid](self.x, self.y, self.out, 64))

    def test_options_of_a_launch(self):
        self.warm()
        made = self.launch(grid=2, cooperative=True)
        self.assertEqual(made.grid, (2, 1, 1))
        self.refuses("a time limit of -1 s", lambda: self.kernel[1](self.x, self.y, self.out, 64, timeout=-1))
        self.kernel[3](self.y, n=8, y=self.x, out=self.out)
        made = self.one()
        self.assertEqual((made.number(0), made.number(1), made.number(3), made.grid), (2 * BASE, BASE, 8, (3, 1, 1)))

    def test_a_failed_launch(self):
        self.warm()
        for entry in (b"cuLaunchKernel", b"cuLaunchKernelEx"):
            fake.fakeCudaFail(entry, 1, 700)
        self.refuses("cuda:0: kernel `vector_add`: cuLaunchKernel(Ex)?: CUDA_ERROR_ILLEGAL_ADDRESS",
                     lambda: self.kernel[1](self.x, self.y, self.out, 64))
        for entry in (b"cuLaunchKernel", b"cuLaunchKernelEx"):
            fake.fakeCudaFail(entry, 0, 0)
        self.launch()

    def test_released_handles(self):
        kernel = heddle.compile(VECTOR_ADD, target="sm_90")
        stream = new_stream()
        fake_torch.set_stream(0, stream)
        self.warm(kernel)
        device = kernel._on_gpus[0][0]
        kernel.on(device).close()
        self.refuses("`kernel`: the kernel 0x[0-9a-f]+ was released|`kernel` is null", lambda: kernel[1](self.x, self.y, self.out, 64))
        fake_torch.set_stream(0, stream)
        self.warm()
        device._over[stream].close()
        self.refuses("`stream`: the stream 0x[0-9a-f]+ was released|`stream` is null", lambda: self.launch())
        del device._over[stream]

    def test_several_threads(self):
        self.warm()
        ready, wanted = threading.Barrier(4), []

        def run(index):
            x = tensor(10 + index)
            ready.wait(60)
            for n in range(50):
                self.kernel[1](x, x, x, 100 * index + n)
        threads = [threading.Thread(target=run, args=(index,)) for index in range(4)]
        for each in threads:
            each.start()
        for each in threads:
            each.join(60)
        made = [(each.number(0), each.number(1), each.number(2), each.number(3)) for each in launches()]
        for index in range(4):
            wanted += [((10 + index) * BASE,) * 3 + (100 * index + n,) for n in range(50)]
        self.assertEqual(sorted(made), sorted(wanted))

    @unittest.skipUnless(NATIVE, "without the module heddle_launch")
    def test_which_launches_are_quick(self):
        kernel = heddle.compile(VECTOR_ADD, target="sm_90")
        general = []
        own = heddle._launcher.Launcher._call
        heddle._launcher.Launcher._call = lambda self, *args, **named: (general.append(args), own(self, *args, **named))[1]
        self.addCleanup(setattr, heddle._launcher.Launcher, "_call", own)

        def took_general(*args, grid=1, **named):
            general.clear()
            self.launch(*args, kernel=kernel, grid=grid, **named)
            return bool(general)

        class Subclass(torch.Tensor):
            pass
        plain = (self.x, self.y, self.out, 64)
        self.assertTrue(took_general(*plain), "the first loads the kernel")
        before = fake_torch.exchange_calls()
        self.assertFalse(took_general(*plain))
        self.assertEqual(fake_torch.exchange_calls() - before, 3)
        self.assertFalse(took_general(*plain, grid=(2, 3)))
        self.assertFalse(took_general(self.x, None, self.out, True))
        self.assertTrue(took_general(*plain[:3], n=64))
        self.assertTrue(took_general(*plain, cooperative=True))
        self.assertTrue(took_general(*plain, grid=[2]))
        self.assertTrue(took_general(Subclass(BASE), *plain[1:]))
        fake_torch.set_stream(0, new_stream())
        self.assertTrue(took_general(*plain), "the first in a stream")
        self.assertFalse(took_general(*plain))
        self.assertTrue(took_general(*[tensor(place="cuda:1")] * 3, 64), "the first on a GPU")
        self.assertFalse(took_general(*[tensor(place="cuda:1")] * 3, 64))


class Streams(FakeCuda):
    def test_launch_on_buffers(self):
        kernel = heddle.compile(VECTOR_ADD, target="sm_90")
        device = heddle.Device("cuda:0")
        stream, buffer, other = device.stream(), device.buffer(256), device.buffer(256)
        for _ in range(2):
            stream.launch(kernel, (2, 3), buffer, None, other, 64)
            made = self.one()
            self.assertEqual([made.number(i) for i in range(4)], [buffer.address, 0, other.address, 64])
            self.assertEqual(made.grid, (2, 3, 1))
        owned = made.stream
        self.assertNotEqual(owned, 0)
        with self.assertRaisesRegex(heddle.InputError, "is a pointer to f32, and 7 was given"):
            stream.launch(kernel, 1, 7, buffer, buffer, 64)
        with self.assertRaisesRegex(heddle.InputError, "is a pointer to f32, and <heddle.Stream of cuda:0> was given"):
            stream.launch(kernel, 1, stream, buffer, buffer, 64)
        there = heddle.Device("cuda:1").buffer(256)
        with self.assertRaisesRegex(heddle.InputError, "is a buffer of cuda:1, and the stream is of cuda:0"):
            stream.launch(kernel, 1, buffer, there, buffer, 64)
        other.close()
        with self.assertRaisesRegex(heddle.InputError, "null|was released"):
            stream.launch(kernel, 1, buffer, other, buffer, 64)
        with stream.capture() as graph:
            stream.launch(kernel, 1, buffer, buffer, buffer, 9)
        self.assertEqual(launches(), [])
        graph.launch(stream)
        self.assertEqual(self.one().number(3), 9)
        stream.close()
        with self.assertRaisesRegex(heddle.InputError, "null|was released"):
            stream.launch(kernel, 1, buffer, buffer, buffer, 64)
        self.assertEqual(launches(), [])


class LibraryKernels(FakeCuda):
    def test_a_call_on_tensors(self):
        x = tensor(shape=(8, 64))
        results = []
        for place in (1, 1, 2):
            made = heddle.library.call("amax", x=torch.Tensor(BASE * place, shape=(8, 64)))
            results.append((launches(), made))
        for (made, result), address in zip(results, (BASE, BASE, 2 * BASE)):
            self.assertEqual([each.number(0) for each in made], [address])
            self.assertEqual([each.number(1) for each in made], [result.amax.data_ptr()])
            self.assertEqual(result.amax.dtype, torch.float32)
        self.assertEqual([[each.entry for each in made] for made, _ in results[1:]], [[each.entry for each in results[0][0]]] * 2)
        fake_torch.set_stream(0, new_stream())
        heddle.library.call("amax", x=x)
        self.assertEqual({each.stream for each in launches()}, {fake_torch.current_stream(0)})


if triton is not None:
    @triton.jit
    def add(x, y, BLOCK: tl.constexpr, out, n):
        i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        m = i < n
        tl.store(out + i, tl.load(x + i, m) + tl.load(y + i, m), m)


@unittest.skipUnless(triton, "Triton is not installed")
class TritonKernels(FakeCuda):
    def launch(self, x, y, out, n):
        with heddle.triton.device("cuda:0"):
            add[(2, 3)](x, y, 64, out, n)
        return self.one()

    def test_launches(self):
        x, y, out = tensor(1), tensor(2), tensor(3)
        for _ in range(3):
            made = self.launch(x, y, out, 48)
            self.assertEqual([made.number(i) for i in range(4)], [BASE, 2 * BASE, 3 * BASE, 48])
            self.assertEqual((made.grid, made.stream), ((2, 3, 1), 0))
        stream = new_stream()
        fake_torch.set_stream(0, stream)
        for n in (64, 80):
            made = self.launch(x, y, out, n)
            self.assertEqual((made.stream, made.number(3)), (stream, n))

    def test_another_alignment_is_another_kernel(self):
        with heddle.triton.device("cuda:0"):
            apart = add[(1,)](tensor(1), tensor(2), 64, tensor(3), 48)
            again = add[(1,)](tensor(4), tensor(5), 64, tensor(6), 64)
            near = add[(1,)](torch.Tensor(BASE + 4), tensor(2), 64, tensor(3), 48)
        self.assertIs(apart, again)
        self.assertIsNot(apart, near)
        self.assertEqual([each.number(0) for each in launches()], [BASE, 4 * BASE, BASE + 4])

    def test_tensors_elsewhere(self):
        x = tensor(1)
        self.launch(x, x, x, 48)
        for other, pattern in ((tensor(2, place="cuda:1"), "a tensor on cuda:1 is an argument of a launch on GPU 0"),
                               (tensor(2, place="cpu"), "cannot be accessed")):
            self.refuses(pattern, lambda: self.launch(x, other, x, 48))

    def test_a_failed_launch(self):
        x = tensor(1)
        self.launch(x, x, x, 48)
        for entry in (b"cuLaunchKernel", b"cuLaunchKernelEx"):
            fake.fakeCudaFail(entry, 1, 1)
        self.refuses("kernel `add`.*CUDA_ERROR_INVALID_VALUE", lambda: self.launch(x, x, x, 48))
        for entry in (b"cuLaunchKernel", b"cuLaunchKernelEx"):
            fake.fakeCudaFail(entry, 0, 0)

    def test_nothing_is_launched_on_an_empty_grid(self):
        x = tensor(1)
        self.launch(x, x, x, 48)
        with heddle.triton.device("cuda:0"):
            add[(0,)](x, x, 64, x, 48)
        self.assertEqual(launches(), [])

    def test_hooks_are_called(self):
        x, seen = tensor(1), []
        self.launch(x, x, x, 48)
        enter, leave = triton.knobs.runtime.launch_enter_hook, triton.knobs.runtime.launch_exit_hook
        hooks = (lambda _: seen.append("enter"), lambda _: seen.append("exit"))
        enter.add(hooks[0])
        leave.add(hooks[1])
        self.addCleanup(enter.remove, hooks[0])
        self.addCleanup(leave.remove, hooks[1])
        self.launch(x, x, x, 48)
        self.assertEqual(seen, ["enter", "exit"])

    @unittest.skipUnless(NATIVE, "without the module heddle_launch")
    def test_later_launches_are_quick(self):
        x = tensor(1)
        self.launch(x, x, x, 48)
        launcher = heddle.triton.backend.driver.HeddleLauncher
        own, general = launcher._launch_on_gpu, []
        launcher._launch_on_gpu = lambda self, *args: (general.append(args), own(self, *args))
        self.addCleanup(setattr, launcher, "_launch_on_gpu", own)
        self.launch(x, x, x, 48)
        self.assertEqual(general, [])


class Way(unittest.TestCase):
    def test_it_is_the_one_that_was_asked_for(self):
        self.assertEqual(NATIVE, os.environ["HEDDLE_TEST_WAY"] == "native")


if __name__ == "__main__":
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
    unittest.main()
