# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Triton's kernels, unchanged, on the host and on simulated devices. Skipped, loudly, where Triton or NumPy is not installed."""
import contextlib
import copy
import os
import pathlib
import re
import statistics
import tempfile
import unittest

try:
    import numpy
    import triton
    import triton.language as tl
    from triton.experimental import gluon
    from triton.experimental.gluon import language as gl
    from triton.experimental.gluon.language.nvidia.hopper import mbarrier
    from triton.language.extra import libdevice
    from triton.language.extra.cuda import libdevice as cuda_libdevice
    from triton.language.extra.cuda.libdevice import erfinv as erfinv_of_cuda
    from triton.language.extra.hip import libdevice as hip_libdevice
    from triton.tools.tensor_descriptor import TensorDescriptor
except ImportError as problem:
    raise unittest.SkipTest(f"{problem}: Triton 3.6 to 3.9 and NumPy, in a virtual environment") from None

import heddle
import heddle.triton
from heddle.triton import Tensor

ROOT = pathlib.Path(__file__).resolve().parents[2]


@triton.jit
def strided(x, out, stride, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at * stride, mask=at < n, other=0))


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    tl.store(out + i, tl.load(x + i, m) + tl.load(y + i, m), m)


@triton.jit
def softmax(x, out, stride, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    v = tl.load(x + row * stride + i, i < n, other=-float("inf"))
    e = tl.exp(v - tl.max(v, 0))
    tl.store(out + row * stride + i, e / tl.sum(e, 0), i < n)


@triton.jit
def scalars(out, small, large, real, truth, one, pair, none):
    tl.store(out + 0, small)
    tl.store(out + 1, large // 4294967296)
    tl.store(out + 2, real)
    tl.store(out + 3, truth)
    tl.store(out + 4, one)
    tl.store(out + 5, pair[0] + pair[1])
    if none is None:
        tl.store(out + 6, 7.0)


@triton.autotune(configs=[triton.Config({"B": 32}), triton.Config({"B": 64, "waves_per_eu": 2}, num_warps=8)], key=["n"])
@triton.jit
def matmul(a, b, c, n, B: tl.constexpr):
    rows = tl.program_id(0) * B + tl.arange(0, B)
    columns = tl.program_id(1) * B + tl.arange(0, B)
    total = tl.zeros((B, B), tl.float32)
    for k in range(0, n, 32):
        depth = k + tl.arange(0, 32)
        left = tl.load(a + rows[:, None] * n + depth[None, :], (rows[:, None] < n) & (depth[None, :] < n), other=0.0)
        right = tl.load(b + depth[:, None] * n + columns[None, :], (depth[:, None] < n) & (columns[None, :] < n), other=0.0)
        total = tl.dot(left, right, total)
    tl.store(c + rows[:, None] * n + columns[None, :], total, (rows[:, None] < n) & (columns[None, :] < n))


@triton.jit
def wide(a, b, c, DEPTH: tl.constexpr):
    rows, depth = tl.arange(0, 128), tl.arange(0, DEPTH)
    left = tl.load(a + rows[:, None] * DEPTH + depth[None, :])
    right = tl.load(b + depth[:, None] * 128 + rows[None, :])
    tl.store(c + rows[:, None] * 128 + rows[None, :], tl.dot(left, right))


@triton.jit
def exchange(memory, old):
    tl.store(old, tl.atomic_cas(memory, tl.cast(1, tl.int16), tl.cast(7, tl.int16)))


@triton.jit
def race(out):
    tl.store(out, tl.program_id(0))


@triton.jit
def asserts(x):
    tl.device_assert(tl.load(x) > 0, "above zero")


@triton.jit
def math_of_libdevice(x, out, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out + i, libdevice.tanh(tl.load(x + i)))


@triton.jit
def math_of_vendors(x, y, out, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    v, w = tl.load(x + i), tl.load(y + i)
    tl.store(out + i, cuda_libdevice.atan(v) + hip_libdevice.atan2(v, w) + erfinv_of_cuda(v / 8) + tl.extra.cuda.libdevice.pow(w, 2.5)
             + cuda_libdevice.pow(w, 2) + hip_libdevice.expm1(0.5) + tl.where(cuda_libdevice.signbit(v) != 0, 1, 0))


@triton.jit
def rows_before(x, rows, out, offset, BLOCK: tl.constexpr):
    i, j = tl.arange(0, 16), tl.arange(0, BLOCK)
    row = tl.load(rows + i).to(tl.int64)
    tl.store(out + i[:, None] * BLOCK + j[None, :], tl.load(x + row[:, None] * BLOCK + offset * BLOCK + j[None, :]))


@triton.jit
def prints(x):
    tl.device_print("x", tl.load(x + tl.arange(0, 16)) + 0.5)


@triton.jit
def adds_small(x, y, out):
    tl.store(out, tl.load(x) + tl.load(y))


def a_bit(x, out, bit: "tl.uint1"):
    tl.store(out, bit.to(tl.int32))


@gluon.jit
def twice(x, out, n, BLOCK: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([1], [64], [4], [0])
    i = gl.program_id(0) * BLOCK + gl.arange(0, BLOCK, layout=layout)
    shared = gl.allocate_shared_memory(gl.float32, [BLOCK], gl.SwizzledSharedLayout(1, 1, 1, [0]))
    shared.store(gl.load(x + i, mask=i < n))
    gl.store(out + i, shared.load(layout) * 2, mask=i < n)


@gluon.jit
def math_in_gluon(x, out, BLOCK: gl.constexpr):
    i = gl.arange(0, BLOCK, gl.BlockedLayout([1], [64], [4], [0]))
    v = gl.load(x + i)
    gl.store(out + i, hip_libdevice.atan(v) + hip_libdevice.erfc(v) + hip_libdevice.j0(v) + hip_libdevice.llrint(v).to(gl.float32))


@gluon.jit
def loads_buffers(x, out, n, BLOCK: gl.constexpr):
    i = gl.arange(0, BLOCK, gl.BlockedLayout([1], [64], [4], [0]))
    gl.amd.cdna3.buffer_store(gl.amd.cdna3.buffer_load(x, i, mask=i < n, other=7.0), out, i)


@gluon.jit
def makes_a_barrier(x):
    mbarrier.init(gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout()), count=1)


@gluon.jit
def splits_pairs(x, out, N: gl.constexpr):
    even, odd = gl.load(x + gl.arange(0, 2 * N)).reshape((N, 2)).split()
    gl.store(out + gl.arange(0, N), gl.set_auto_layout(odd - even, gl.BlockedLayout([1], [64], [4], [0])))


@gluon.jit
def narrows(x, s, out, FORMAT: gl.constexpr, AXIS: gl.constexpr, ROWS: gl.constexpr, COLUMNS: gl.constexpr):
    wide: gl.constexpr = gl.BlockedLayout([1, 32], [16, 4], [4, 1], [1, 0]) if AXIS else gl.BlockedLayout([32, 1], [2, 32], [1, 4], [0, 1])
    each: gl.constexpr = gl.BlockedLayout([1, 1], [16, 4], [4, 1], [1, 0]) if AXIS else gl.BlockedLayout([1, 1], [2, 32], [1, 4], [0, 1])
    r = gl.arange(0, 64, gl.SliceLayout(1, wide))
    c = gl.arange(0, 128, gl.SliceLayout(0, wide))
    rs = gl.arange(0, 64 if AXIS else 2, gl.SliceLayout(1, each))
    cs = gl.arange(0, 4 if AXIS else 128, gl.SliceLayout(0, each))
    scales = gl.load(s + rs[:, None] * (4 if AXIS else 128) + cs[None, :])
    narrow = gl.amd.cdna4.scaled_downcast(gl.load(x + r[:, None] * 128 + c[None, :]), scales, FORMAT, axis=AXIS)
    ro = gl.arange(0, ROWS, gl.SliceLayout(1, wide))
    co = gl.arange(0, COLUMNS, gl.SliceLayout(0, wide))
    gl.store(out + ro[:, None] * COLUMNS + co[None, :], gl.convert_layout(narrow.to(gl.uint8, bitcast=True), wide))


@triton.jit
def sums_so_far(x, out, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + i, tl.cumsum(tl.load(x + i)))


@triton.jit
def converts_a_tile(x, out):
    out.store([8, 0], x.load([8, 16]).to(out.dtype))


def random_values(*shape, dtype="f4"):
    return numpy.random.default_rng(1).standard_normal(shape).astype(dtype)


class Launches(unittest.TestCase):
    device = "host"

    def setUp(self):
        cache = tempfile.TemporaryDirectory()
        self.addCleanup(cache.cleanup)
        before = os.environ.get("TRITON_CACHE_DIR")
        os.environ["TRITON_CACHE_DIR"] = cache.name
        self.addCleanup(lambda: os.environ.pop("TRITON_CACHE_DIR") if before is None
                        else os.environ.__setitem__("TRITON_CACHE_DIR", before))
        context = heddle.triton.device(self.device)
        context.__enter__()
        self.addCleanup(context.__exit__, None, None, None)

    def test_add_in_several_types(self):
        for dtype in ("f4", "f2", "f8", "i4"):
            x, y = (random_values(1000, dtype=dtype) for _ in range(2))
            out = numpy.zeros_like(x)
            add[lambda meta: (triton.cdiv(1000, meta["BLOCK"]),)](Tensor(x), Tensor(y), Tensor(out), 1000, BLOCK=256)
            self.assertTrue((out == x + y).all(), dtype)

    def test_views_share_their_memory(self):
        values = random_values(512)
        wanted = values[:256] + values[256:]
        whole = Tensor(values)
        first, second = copy.copy(whole), copy.copy(whole)
        second.data_ptr = lambda: whole.data_ptr() + 1024  # a view of the second half
        add[(1,)](first, second, second, 256, BLOCK=256)
        self.assertTrue((values[256:] == wanted).all())

    def test_special_arguments(self):
        out = numpy.zeros(8, "f4")
        scalars[(1,)](Tensor(out), -5, 3 << 32, 0.1, True, 1, (16, 3), None)
        self.assertEqual(out.tolist(), [-5, 3, numpy.float32(0.1), 1, 1, 19, 7, 0])
        shifted = random_values(257)[1:]  # its address is no multiple of 16: another package
        result = numpy.zeros(256, "f4")
        add[(1,)](Tensor(shifted), Tensor(shifted), Tensor(result), 256, BLOCK=256)
        self.assertTrue((result == 2 * shifted).all())
        add[(0,)](Tensor(shifted), Tensor(shifted), Tensor(result), 256, BLOCK=256)  # launches nothing

    def test_descriptors_made_on_the_host(self):
        x, bits = random_values(16, 32), numpy.zeros((16, 16), "u1")
        out = Tensor(bits, tl.float8e5)
        self.assertEqual((out.type_name, out.dtype.itemsize), ("f8E5M2", 1))
        converts_a_tile[(1,)](TensorDescriptor.from_tensor(Tensor(x), [8, 16]), TensorDescriptor.from_tensor(out, [8, 16]))
        self.assertFalse(bits[:8].any())
        numpy.testing.assert_allclose((bits[8:].astype("u2") << 8).view("f2"), x[8:, 16:], rtol=0.126, atol=1e-4)

    def test_softmax(self):
        x = random_values(8, 100)
        out = numpy.zeros_like(x)
        softmax[(8,)](Tensor(x), Tensor(out), 100, 100, BLOCK=128)
        powers = numpy.exp(x - x.max(1, keepdims=True))
        numpy.testing.assert_allclose(out, powers / powers.sum(1, keepdims=True), rtol=2e-5, atol=1e-7)

    def test_texts_of_a_kernel(self):
        x = random_values(1, 64)
        kernel = softmax[(1,)](Tensor(x), Tensor(numpy.zeros_like(x)), 64, 64, BLOCK=64)
        name, ends = ("asm", "ret") if self.device == "host" else ("amdgcn", "s_endpgm")
        self.assertIn("tt.store", kernel.asm["ttir"])
        self.assertIn(ends, kernel.asm[name])
        self.assertEqual(heddle.load(kernel.asm["hpkg"]).asm(), kernel.asm[name])

    def test_libdevice(self):
        x = random_values(64)
        out = numpy.zeros_like(x)
        math_of_libdevice[(1,)](Tensor(x), Tensor(out), BLOCK=64)
        numpy.testing.assert_allclose(out, numpy.tanh(x), rtol=1e-5, atol=1e-6)

    def test_libdevice_of_vendors(self):
        x, y = random_values(64), abs(random_values(64, 2)[:, 1]) + 0.5
        out = numpy.zeros_like(x)
        kernel = math_of_vendors[(1,)](Tensor(x), Tensor(y), Tensor(out), BLOCK=64)
        self.assertNotIn("tt.extern_elementwise", kernel.asm["ttir"])
        inverse = [statistics.NormalDist().inv_cdf((float(v) / 8 + 1) / 2) / 2**0.5 for v in x]
        wanted = numpy.arctan(x) + numpy.arctan2(x, y) + inverse + y**2.5 + y**2 + numpy.expm1(0.5) + numpy.signbit(x)
        numpy.testing.assert_allclose(out, wanted, rtol=1e-5, atol=1e-6)

    def test_atomics_of_small_types(self):
        memory, old = numpy.ones(1, "i2"), numpy.zeros(1, "i2")
        exchange[(1,)](Tensor(memory), Tensor(old))
        self.assertEqual((memory[0], old[0]), (7, 1))

    def test_a_failed_assertion(self):
        for error in (heddle.InputError, RuntimeError):  # Triton's own drivers raise the latter
            with self.assertRaisesRegex(error, "above zero"):
                asserts[(1,)](Tensor(numpy.zeros(1, "i4")), debug=True)

    def test_prints_are_in_the_layout_of_triton(self):
        with tempfile.TemporaryFile("w+") as file, contextlib.redirect_stdout(file):
            prints[(1,)](Tensor(numpy.arange(16, dtype="f4")))
            file.seek(0)
            lines = sorted(file.read().splitlines())
        self.assertEqual(lines, [f"pid (0, 0, 0) idx ({i:2}) x: {i + .5:.6f}" for i in range(16)])

    def test_overflow_of_integers_is_checked_with_debug(self):
        x, y, out = (Tensor(numpy.array([value], "i4")) for value in (2**31 - 1, 1, 0))
        with self.assertRaisesRegex(RuntimeError, "int32 overflow detected for operation add"):
            adds_small[(1,)](x, y, out, debug=True)
        adds_small[(1,)](x, y, out)
        self.assertEqual(out.array[0], -2**31)

    def test_an_integer_for_a_bit(self):
        out = Tensor(numpy.zeros(1, "i4"))
        kernel = triton.jit(a_bit)
        for value in (3, 2):
            kernel[(1,)](out, out, value)
            self.assertEqual(out.array[0], value % 2)

    def test_gluon(self):
        x = random_values(1000)
        out = numpy.zeros_like(x)
        if self.device == "host":
            with self.assertRaisesRegex(heddle.InputError, "layouts of a GPU, and this one is for host"):
                twice[(4,)](Tensor(x), Tensor(out), 1000, BLOCK=256)
            return
        with heddle.triton.checking(schedules=1) as reports:
            twice[(4,)](Tensor(x), Tensor(out), 1000, BLOCK=256)
        self.assertTrue((out == 2 * x).all())
        self.assertTrue(reports[0].clean)

    @unittest.skipIf(not hasattr(gl, "amd"), "this Triton has no such functions")
    def test_gluon_of_amd(self):
        if self.device == "host":
            return
        x = random_values(256)
        out = numpy.zeros_like(x)
        loads_buffers[(1,)](Tensor(x), Tensor(out), 100, BLOCK=256)
        self.assertTrue((out == numpy.where(numpy.arange(256) < 100, x, 7)).all())
        with self.assertRaisesRegex(heddle.InputError, "ttng") as refused:
            makes_a_barrier[(1,)](Tensor(x))
        self.assertIn("`ttng` is of NVIDIA's chips", " ".join(refused.exception.__notes__))

    def test_libdevice_in_gluon(self):
        if self.device == "host":
            return
        x = numpy.append(random_values(254), numpy.array([numpy.nan, 0], "f4"))
        out = numpy.zeros_like(x)
        math_in_gluon[(1,)](Tensor(x), Tensor(out), BLOCK=256)
        self.assertTrue(numpy.isnan(out[254]))
        self.assertAlmostEqual(float(out[255]), 2, places=6)  # 0 + erfc(0) + j0(0)
        self.assertTrue(numpy.isfinite(out[:254]).all())

    def test_gluon_leaves_the_layout_of_halves_open(self):
        if self.device == "host":
            return
        x = numpy.random.default_rng(1).integers(-99, 99, 512).astype("i4")
        out = numpy.zeros(256, "i4")
        splits_pairs[(1,)](Tensor(x), Tensor(out), N=256)
        self.assertTrue((out == x[1::2] - x[::2]).all())

    @unittest.skipIf(not hasattr(getattr(getattr(gl, "amd", None), "cdna4", None), "scaled_downcast"), "needs Triton 3.9")
    def test_gluon_narrows_by_scales(self):
        if self.device != "sim:gfx950":
            return
        # Midpoints of e2m1, what lies beside them, what is too large, both zeros.
        values = numpy.array([0, 0.25, 0.26, 0.75, 0.74, 1.25, 1.75, 2.5, 2.6, 3.5, 5, 5.1, 6, 9, 0.5, 1.5], "f4")
        codes = numpy.array([0, 0, 1, 2, 1, 2, 4, 4, 5, 6, 6, 7, 7, 7, 1, 3], "u1")
        pick, sign = (numpy.random.default_rng(1).integers(0, most, (64, 128)).astype("u1") for most in (16, 2))
        code, signed = codes[pick] | sign << 3, numpy.where(sign, -values[pick], values[pick])
        for axis, shape in ((1, (64, 4)), (0, (2, 128))):
            scale = numpy.random.default_rng(3).integers(120, 134, shape).astype("u1")
            x = (signed * numpy.repeat(2.0 ** (scale.astype("f8") - 127), 32, axis)).astype("f4")
            packed = code[:, ::2] | code[:, 1::2] << 4 if axis else code[::2] | code[1::2] << 4
            out = numpy.zeros_like(packed)
            narrows[(1,)](Tensor(x), Tensor(scale), Tensor(out), "e2m1", axis, *out.shape)
            self.assertTrue((out == packed).all())
            out = numpy.zeros((64, 128), "u1")
            narrows[(1,)](Tensor(x), Tensor(scale), Tensor(out), "e4m3", axis, *out.shape)
            exact = {0: 0, 3: 0x34, 9: 0x46, 12: 0x4C, 13: 0x51, 14: 0x30}  # 0, 0.75, 3.5, 6, 9, 0.5 in e4m3
            for number, bits in exact.items():
                self.assertTrue((out[pick == number] == (bits | sign[pick == number] << 7)).all())

    def test_scans_are_checked_for_overflow(self):
        x = numpy.arange(512, dtype="i4")
        out = numpy.zeros_like(x)
        x[3], x[500], x[501:] = 2**31 - 1 - x[:500].sum() + 3, -5, 0  # the sum of all before x[500] is the largest number
        sums_so_far[(1,)](Tensor(x), Tensor(out), N=512, debug=True)
        self.assertTrue((out == numpy.cumsum(x.astype("i8"))).all())

    def test_what_is_refused(self):
        x = Tensor(numpy.zeros(256, "f4"))
        for error in (heddle.InputError, AssertionError):  # Triton's own backends raise the latter
            with self.assertRaisesRegex(error, "num_warps=3: it must be a power of 2"):
                add[(1,)](x, x, x, 256, BLOCK=256, num_warps=3)


class OnGfx942(Launches):
    device = "sim:gfx942"


class OnGfx950(Launches):
    device = "sim:gfx950"


class TensorDescriptors(unittest.TestCase):
    def test_what_tensor_maps_do_not_have_is_refused(self):
        from heddle.triton.backend.driver import _flat
        memory = Tensor(numpy.zeros((8, 64), "f4"))
        kinds, gluon_kinds = ("tensordesc<fp32[8,64]>",), ("tensordesc<fp32[8,64],NVMMASharedLayout()>",)
        given = TensorDescriptor(memory, [8, 64], [64, 1], [8, 64])
        self.assertEqual(_flat(gluon_kinds, [given], [], True), [memory, 8, 64, 64, 1])
        given.padding = "nan"
        self.assertIn(True, _flat(kinds, [given], [], False))
        with self.assertRaisesRegex(heddle.InputError, "tensor maps give zeros outside of the tensor") as refused:
            _flat(gluon_kinds, [given], [], True)
        self.assertEqual(refused.exception.notes, ["leave both out"])


class Autotuning(unittest.TestCase):
    def test_what_does_not_fit_is_left_out(self):
        a, b, c = (Tensor(numpy.ones(512 * 128, "f4")) for _ in range(3))
        tuned = triton.autotune(configs=[triton.Config({"DEPTH": 512}), triton.Config({"DEPTH": 32})], key=[])(wide)
        with heddle.triton.device("sim:gfx942"):
            with self.assertRaisesRegex(triton.runtime.errors.OutOfResources, "Required: 131072, Hardware limit: 65536"):
                wide[(1,)](a, b, c, DEPTH=512)
            with self.assertRaisesRegex(triton.runtime.errors.OutOfResources, "threads, Required: 2048, Hardware limit: 1024"):
                wide[(1,)](a, b, c, DEPTH=32, num_warps=32)
            tuned[(1,)](a, b, c)
        self.assertEqual(tuned.best_config.kwargs, {"DEPTH": 32})
        self.assertEqual(c.array[0], 32)


class OnTheHost(unittest.TestCase):
    def test_autotune(self):
        a, b = random_values(70, 70), random_values(70, 70)
        c = numpy.zeros_like(a)
        with heddle.triton.device("host"):
            matmul[lambda meta: (triton.cdiv(70, meta["B"]), triton.cdiv(70, meta["B"]))](Tensor(a), Tensor(b), Tensor(c), 70)
        numpy.testing.assert_allclose(c, a @ b, rtol=1e-4, atol=1e-4)

    def test_checking(self):
        out = Tensor(numpy.zeros(1, "i4"))
        x = Tensor(numpy.ones(256, "f4"))
        for device in ("host", "sim:gfx942"):
            with heddle.triton.device(device), heddle.triton.checking(schedules=1) as reports:
                race[(2,)](out)
                add[(1,)](x, x, x, 256, BLOCK=256)
            self.assertEqual([report.clean for report in reports], [False, True])
            self.assertEqual(reports[0].chip, "gfx950" if device == "host" else "gfx942")
            self.assertIn("test_triton.py", reports[0].findings[0].where)

    def test_checking_keeps_views_of_one_storage(self):
        x = Tensor(numpy.ones(513, "f4"))
        shifted = copy.copy(x)
        shifted.data_ptr = lambda: x.data_ptr() + 4  # the second program reads what the first one writes
        with heddle.triton.device("sim:gfx942"), heddle.triton.checking(schedules=1) as reports:
            add[(2,)](x, x, shifted, 512, BLOCK=256)
            add[(2,)](x, x, x, 512, BLOCK=256)
        self.assertEqual([report.clean for report in reports], [False, True])

    def test_memory_below_2_gb_is_reached_through_buffers(self):
        x, out = Tensor(numpy.arange(64, dtype="f4")), Tensor(numpy.zeros(32, "f4"))
        for device, instruction in (("sim:gfx942", "buffer_load"), ("host", None)):
            with heddle.triton.device(device):
                kernel = strided[(1,)](x, out, 2, 30, BLOCK=32)
            if instruction:
                self.assertIn(instruction, kernel.asm["amdgcn"])
            self.assertEqual("tt.pointer_range = 32" in kernel.asm["ttir"], instruction is not None)
            numpy.testing.assert_array_equal(out.array, numpy.where(numpy.arange(32) < 30, 2 * numpy.arange(32), 0))

    def test_vendors_modules_stay_for_nvidias_gpus(self):
        from triton.backends.compiler import GPUTarget
        from heddle.triton.backend.compiler import HeddleBackend
        count = {chip: len(HeddleBackend(GPUTarget("heddle", chip, 64)).get_module_map()) for chip in ("sm_90", "gfx942", "host")}
        self.assertEqual(count, {"sm_90": 1, "gfx942": 3, "host": 3})

    def test_views_may_be_left_by_negative_offsets(self):
        values = numpy.arange(4096, dtype="f4")
        whole, rows, out = Tensor(values), Tensor(numpy.zeros(16, "i4")), Tensor(numpy.zeros((16, 64), "f4"))
        view = copy.copy(whole)
        view.data_ptr = lambda: whole.data_ptr() + 4096
        for device in ("sim:gfx942", "sim:gfx950"):
            with heddle.triton.device(device):
                kernel = rows_before[(1,)](view, rows, out, -1, BLOCK=64)
            self.assertEqual(kernel.asm["ttir"].count("tt.pointer_range = 32"), 2)  # of `rows` and `out`
            self.assertTrue((out.array == values[960:1024]).all())

    def test_which_tensors_begin_inside_of_their_storage(self):
        from heddle.triton.backend.compiler import _is_within_2_gb
        values, data = numpy.arange(4096, dtype="f4"), bytearray(4096)

        class OfDLPack:
            def __init__(self, array):
                self.array = array

            def __dlpack_device__(self):
                return self.array.__dlpack_device__()

            def __dlpack__(self, **options):
                return self.array.__dlpack__(**options)
        for array in (values, values.reshape(64, 64), values[:100], values.view("i4"), data, OfDLPack(values), numpy.frombuffer(data, "f4"),
                      numpy.zeros(0, "f4"), heddle.zeros(4), numpy.frombuffer(memoryview(data), "f4")):
            self.assertTrue(_is_within_2_gb(Tensor(array)), array)
        offset = Tensor(OfDLPack(values))
        offset._memory = offset._memory._replace(offset=4)
        for tensor in (Tensor(values[1:]), Tensor(values.reshape(64, 64)[3]), Tensor(values[::-1][::-1][4:].view("i4")), offset,
                       Tensor(memoryview(data)[8:]), Tensor(numpy.frombuffer(data, "f4", offset=8))):
            self.assertFalse(_is_within_2_gb(tensor), tensor)

    def test_compile_of_a_function(self):
        signature = {"x": "*fp32:16", "y": "*fp32:16", "out": "*fp32:16", "n": "i32"}
        kernel = heddle.compile(add, target="gfx942", signature=signature, BLOCK=256)
        self.assertEqual([argument.name for argument in kernel.arguments], ["x", "y", "out", "n"])
        self.assertEqual(kernel.arguments[0].divisibility, 16)
        report = heddle.check(add, target="gfx950", grid=1, signature=signature, BLOCK=256, schedules=1, x="rand:f32[256]:1",
                              y="rand:f32[256]:2", out="f32[256]", n=256)
        self.assertTrue(report.clean)
        with self.assertRaisesRegex(heddle.InputError, "`add` of triton.jit has no types for x, y, out, n"):
            heddle.compile(add, BLOCK=256)

    def test_compile_of_a_function_of_gluon(self):
        signature = {"x": "*fp32:16", "out": "*fp32:16", "n": "i32"}
        for target in ("gfx942", "gfx950"):
            kernel = heddle.compile(twice, target=target, signature=signature, num_warps=4, BLOCK=256)
            self.assertEqual([argument.name for argument in kernel.arguments], ["x", "out", "n"])
        with self.assertRaisesRegex(heddle.InputError, "`twice` of gluon.jit has layouts for the threads of a GPU"):
            heddle.compile(twice, signature=signature, BLOCK=256)

    def test_errors_travel(self):
        error = heddle.InputError("what", ["next"])
        self.assertEqual(copy.deepcopy(error).notes, ["next"])

    def test_the_page(self):
        page = (ROOT / "docs" / "triton.md").read_text(encoding="utf-8")
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "page.py"  # Triton reads the source of its functions
            path.write_text("\n".join(re.findall(r"^```python\n(.*?)^```", page, re.S | re.M)))
            exec(compile(path.read_text(), str(path), "exec"), {"__name__": "page"})


if __name__ == "__main__":
    unittest.main()
