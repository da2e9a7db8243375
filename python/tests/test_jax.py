# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls of kernels in JAX programs (jit, vmap, shard_map), and JAX programs on Heddle's devices."""
import pathlib
import unittest

try:
    import jax
    jax.config.update("jax_num_cpu_devices", 4)
    TARGET = "sm_90" if jax.default_backend() == "gpu" else "host"
    import jax.numpy as jnp
    import numpy
    from jax.sharding import Mesh, NamedSharding, PartitionSpec
except ImportError as problem:
    raise unittest.SkipTest(f"{problem}: JAX 0.10, in a virtual environment") from None

import heddle
import heddle.jax

ADD = "tests/corpus/vector_add.gfx942.ttir"
IN_PLACE = """module {
  tt.func public @increment(%x: !tt.ptr<i32>, %by: i32) {
    %lanes = tt.make_range {end = 8 : i32, start = 0 : i32} : tensor<8xi32>
    %base = tt.splat %x : !tt.ptr<i32> -> tensor<8x!tt.ptr<i32>>
    %place = tt.addptr %base, %lanes : tensor<8x!tt.ptr<i32>>, tensor<8xi32>
    %value = tt.load %place : tensor<8x!tt.ptr<i32>>
    %wide = tt.splat %by : i32 -> tensor<8xi32>
    %sum = arith.addi %value, %wide : tensor<8xi32>
    tt.store %place, %sum : tensor<8x!tt.ptr<i32>>
    tt.return
  }
}
"""


def from_root(path):
    return str(pathlib.Path(__file__).resolve().parents[2] / path)


def add(x, y):
    return heddle.jax.call(Calls.kernel, jax.ShapeDtypeStruct(x.shape, x.dtype), x, y, n=x.size, grid=-(-x.size // 1024))


class Calls(unittest.TestCase):
    kernel = None

    @classmethod
    def setUpClass(cls):
        cls.kernel = heddle.compile(from_root(ADD), target=TARGET)
        cls.x, cls.y = jnp.arange(4000, dtype=jnp.float32), jnp.full(4000, 2, jnp.float32)

    def same(self, got, wanted):
        self.assertTrue(bool((numpy.asarray(got) == numpy.asarray(wanted)).all()))

    def test_eager_and_jit(self):
        self.same(add(self.x, self.y), self.x + 2)
        function = jax.jit(lambda x, y: jnp.sqrt(add(x * 2, y)) + 1)
        for _ in range(2):
            self.same(function(self.x, self.y), jnp.sqrt(self.x * 2 + 2) + 1)

    def test_vmap(self):
        x = jnp.arange(3 * 2000, dtype=jnp.float32).reshape(3, 2000)
        self.same(jax.vmap(add)(x, x + 1), 2 * x + 1)
        self.same(jax.jit(jax.vmap(add, in_axes=(0, None)))(x, x[0]), x + x[0])

    def test_shard_map(self):
        devices = min(4, len(jax.devices()))
        if devices < 2:
            self.skipTest("JAX has one device")
        mesh = Mesh(numpy.array(jax.devices()[:devices]), ("d",))
        spec = PartitionSpec("d")
        function = jax.jit(jax.shard_map(lambda x, y: jax.lax.psum(add(x, y).sum(), "d"), mesh=mesh, in_specs=(spec, spec),
                                         out_specs=PartitionSpec()))
        self.assertEqual(float(function(self.x, self.y)), float((self.x + self.y).sum()))

    def test_scan_and_grad(self):
        self.same(jax.lax.scan(lambda carry, _: (add(carry, self.y), None), self.x, None, length=3)[0], self.x + 6)
        with self.assertRaisesRegex(ValueError, "cannot be differentiated"):
            jax.grad(lambda x: add(x, self.y).sum())(self.x)

        @jax.custom_vjp
        def summed(x, y):
            return add(x, y)
        summed.defvjp(lambda x, y: (add(x, y), None), lambda _, gradient: (gradient, gradient))
        self.same(jax.grad(lambda x: (summed(x, self.y) * 3).sum())(self.x), jnp.full(4000, 3.0))

    def test_in_place_and_several_results(self):
        x = jnp.arange(8, dtype=jnp.int32)
        form = jax.ShapeDtypeStruct(x.shape, x.dtype)
        function = jax.jit(lambda x: heddle.jax.call(IN_PLACE, {"x": form}, x=x, by=5, grid=1))
        self.same(function(x), x + 5)
        self.same(x, jnp.arange(8))  # JAX's arrays stay as they are

    def test_package_and_platforms(self):
        package = self.kernel.to_bytes()
        other = heddle.compile(from_root(ADD), target="sm_90" if TARGET == "host" else "host")
        form = jax.ShapeDtypeStruct((4000,), jnp.float32)
        for kernel in (package, [self.kernel, other]):
            function = jax.jit(lambda x, y: heddle.jax.call(kernel, form, x, y, 4000, grid=4))
            self.same(function(self.x, self.y), self.x + 2)

    def test_executables_need_no_state_of_the_process(self):
        """The package is in the program's text, so that a stored executable finds its kernel."""
        text = jax.jit(add).lower(self.x, self.y).as_text()
        self.assertIn("heddle_launch", text)
        self.assertIn("package", text)

    def test_refusals(self):
        form = jax.ShapeDtypeStruct((4000,), jnp.float32)
        x, y = self.x, self.y
        cases = [
            (lambda: heddle.jax.call(self.kernel, form, x, grid=4), "missing y, n"),
            (lambda: heddle.jax.call(self.kernel, form, x, y, 4000, 3, grid=4), "takes 3 arguments beside its results, and 4"),
            (lambda: heddle.jax.call(self.kernel, form, x, y, m=1, grid=4), "no argument `m`"),
            (lambda: heddle.jax.call(self.kernel, form, x, x, 4000, x=x, grid=4), "`x` is given twice"),
            (lambda: heddle.jax.call(self.kernel, form, x.astype(jnp.int32), y, 4000, grid=4), "pointer to f32, and the array is of i32"),
            (lambda: heddle.jax.call(self.kernel, form, x, 3, 4000, grid=4), "pointer to f32, and 3 was given"),
            (lambda: jax.jit(lambda n: heddle.jax.call(self.kernel, form, x, y, n, grid=4))(4000), "scalar of type i32"),
            (lambda: heddle.jax.call(self.kernel, {"z": form}, x, y, 4000, grid=4), "no pointer `z` for a result"),
            (lambda: heddle.jax.call(self.kernel, [], x, y, 4000, grid=4), "no result is given"),
            (lambda: heddle.jax.call(self.kernel, form, x, y, 4000, grid=0), "extents are 1 or above"),
            (lambda: heddle.jax.call([self.kernel, self.kernel.to_bytes()], form, x, y, 4000, grid=4), "two kernels are for"),
            (lambda: heddle.jax.call(heddle.compile(from_root(ADD), target="host", check=True), form, x, y, 4000, grid=4), "has bounds checks")]
        for action, message in cases:
            with self.subTest(message), self.assertRaisesRegex(heddle.InputError, message):
                action()

    def test_errors_of_a_launch(self):
        form = jax.ShapeDtypeStruct((4000,), jnp.float32)
        failing = """module {
  tt.func public @failing(%out: !tt.ptr<f32>) {
    %zero = arith.constant dense<false> : tensor<1xi1>
    tt.assert %zero, "never so" : tensor<1xi1>
    tt.return
  }
}
"""
        with self.assertRaisesRegex(Exception, "heddle: .*never so"):
            jax.block_until_ready(heddle.jax.call(failing, form, grid=1))
        # An attribute that the handler does not find.
        with self.assertRaisesRegex(Exception, "the call has no attribute `package`; make the call by heddle.jax.call"):
            jax.block_until_ready(jax.ffi.ffi_call("heddle_launch", form)(self.x))


class Modules(unittest.TestCase):
    def setUp(self):
        self.mesh = Mesh(numpy.array(jax.devices("cpu")[:4]), ("d",))

    def numbers(self, *shape, dtype=jnp.float32):
        return jax.random.normal(jax.random.key(len(shape)), shape, dtype)

    def test_one_device(self):
        made = heddle.jax.module(lambda x, unused, y: (jnp.tanh(x @ y), x.sum()), self.numbers(8, 16), 3.0, self.numbers(16, 4))
        self.assertEqual([result[0].shape for result in made.results], [(8, 4), ()])
        self.assertIn("HloModule", made.text)
        self.assertLess(max(made.largest), 1e-5)

    def test_types(self):
        def function(x, i, flag):
            return x * 2, x.astype(jnp.float8_e4m3fn), i // 3, ~flag, i.astype(jnp.int8)
        heddle.jax.module(function, self.numbers(4, 8, dtype=jnp.bfloat16), jnp.arange(-8, 8), jnp.array([True, False]), devices=1)

    def test_several_devices(self):
        spec = PartitionSpec

        def layer(x, w, v):
            return jax.lax.psum(jax.nn.gelu(x @ w) @ v, "d")
        layer = jax.jit(jax.shard_map(layer, mesh=self.mesh, in_specs=(spec(), spec(None, "d"), spec("d", None)), out_specs=spec()))
        args = self.numbers(8, 16), self.numbers(16, 32), self.numbers(32, 16)
        for device in ("host", "sim:gfx942"):
            made = heddle.jax.module(layer, *args, devices=4, device=device)
            self.assertEqual([len(result) for result in made.results], [4])
        with self.assertRaisesRegex(heddle.InputError, "on 4 devices, and devices=2"):
            heddle.jax.module(layer, *args, devices=2)

    def test_partitioner(self):
        def put(array, *spec):
            return jax.device_put(array, NamedSharding(self.mesh, PartitionSpec(*spec)))
        made = heddle.jax.module(lambda x, w: x @ w, put(self.numbers(8, 16), None, "d"), put(self.numbers(16, 8), "d"))
        self.assertEqual(len(made.results[0]), 4)

    def test_gradients_and_factors(self):
        def loss(x, w):
            pooled = jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
            return jnp.sum(jax.lax.conv_general_dilated(pooled, w, (1, 1), "SAME", feature_group_count=2,
                                                        dimension_numbers=("NHWC", "HWIO", "NHWC")) ** 2)
        heddle.jax.module(jax.grad(loss, argnums=(0, 1)), self.numbers(2, 4, 4, 2), self.numbers(2, 2, 1, 4))
        heddle.jax.module(lambda x, i: jax.ops.segment_max(x, i, 3), self.numbers(6, 2), jnp.array([0, 1, 1, 0, 1, 0]))
        heddle.jax.module(lambda a, b: jnp.linalg.solve(a, b), self.numbers(3, 3), self.numbers(3, 2))
        heddle.jax.module(lambda seed: jax.random.bits(jax.random.key(seed, impl="rbg"), (5,)), jnp.int32(3))
        heddle.jax.module(lambda key: jax.lax.scan(lambda x, k: (x + jax.random.bits(k),) * 2, jnp.uint32(0), jax.random.split(key, 3)), jax.random.key(3))

    def test_linear_algebra(self):
        def spectral(a):
            w, v = jnp.linalg.eigh(a + a.mT)
            u, s, vt = jnp.linalg.svd(a, full_matrices=False)
            return w, jnp.abs(v), jnp.linalg.svd(a, compute_uv=False), (u * s[..., None, :]) @ vt, jnp.linalg.pinv(a)
        heddle.jax.module(lambda a: (jnp.linalg.qr(a), jnp.linalg.qr(a[:, :2], mode="complete")), self.numbers(2, 4, 4))
        heddle.jax.module(jax.grad(lambda a: jnp.sum(jnp.linalg.qr(a)[1] ** 3)), self.numbers(4, 3))
        heddle.jax.module(spectral, self.numbers(2, 4, 4), rtol=2e-5)

    def test_linear_algebra_of_a_simulated_chip(self):
        heddle.jax.module(lambda a: (jnp.linalg.qr(a), jnp.linalg.eigvalsh(a + a.mT), jnp.linalg.svd(a, compute_uv=False)),
                          self.numbers(2, 3, 3), device="sim:gfx950", rtol=2e-5)

    def test_complex_linear_algebra(self):
        z = self.numbers(4, 4) + 1j * self.numbers(4, 4)[::-1]
        heddle.jax.module(lambda z: (jnp.linalg.solve(z, z.real), jnp.linalg.qr(z), jnp.linalg.cholesky(z @ z.conj().T + 4 * jnp.eye(4))),
                          z, rtol=2e-5)
        heddle.jax.module(lambda z: (jnp.linalg.eigvalsh(z + z.conj().T), jnp.linalg.svd(z, compute_uv=False)), z[:3, :3], rtol=2e-5)

    def test_three_diagonals(self):
        heddle.jax.module(jax.lax.linalg.tridiagonal_solve, self.numbers(5), self.numbers(5) + 4, self.numbers(5), self.numbers(5, 2))

    def test_narrow_types(self):
        x = jnp.linspace(-9, 9, 24).reshape(4, 6)
        for dtype in (jnp.float8_e4m3, jnp.float8_e4m3b11fnuz, jnp.float8_e3m4, jnp.float8_e8m0fnu, jnp.float4_e2m1fn):
            heddle.jax.module(lambda x, y: (x.astype(dtype), y.T, y * y, y.astype(jnp.float32) * 3, jnp.maximum(y, -y)), x, abs(x).astype(dtype),
                              devices=1)
        for dtype in (jnp.int4, jnp.uint4):
            heddle.jax.module(lambda x, y: (x.astype(dtype), y + y, y.astype(jnp.int32) * 3, y[::2], y & y[0]), x, x.astype(jnp.int32).astype(dtype),
                              device="sim:gfx950")

    def test_optimised_text_of_sorts(self):
        from unittest import mock
        from heddle.jax import _module

        def optimised(lowered, folder):
            compiled = lowered.compile()
            return compiled, compiled.as_text()
        with mock.patch.object(_module, "_partitioned_text", optimised):
            heddle.jax.module(lambda x: (jnp.sort(x), jax.lax.top_k(x, 3)), self.numbers(4, 9))
            heddle.jax.module(lambda x: (jnp.argsort(x, axis=0), jax.lax.top_k(x, 5), jnp.cumsum(x, axis=1)), self.numbers(160, 170))

    def test_a_wrong_result_is_found(self):
        from unittest import mock
        from heddle.jax import _module
        with mock.patch.object(_module, "_as_numpy", lambda array, like: numpy.asarray(like) + (numpy.arange(4) == 2) * 0.5):
            with self.assertRaisesRegex(heddle.WrongResult, r"result 0 on device 0 differs from JAX's: .* at \[2\]"):
                heddle.jax.module(lambda x: x + 1, jnp.zeros(4))
            made = heddle.jax.module(lambda x: x + 1, jnp.zeros(4), compare=False)
            self.assertEqual(made.largest, [0.5])

    def test_donated_arrays_stay_the_callers(self):
        x = jax.device_put(self.numbers(8, 4), NamedSharding(self.mesh, PartitionSpec("d")))
        key, scale = jax.random.key(3), numpy.float32(2)
        step = jax.jit(lambda x, key, scale: (x * scale + 1, jax.random.split(key)), donate_argnums=(0, 1, 2))
        made = heddle.jax.module(step, x, key, scale)
        self.assertEqual(made.largest, [0, 0])
        self.assertFalse(x.is_deleted() or key.is_deleted())
        step = jax.jit(lambda state, x: {"w": state["w"] + x}, donate_argnames="state")
        heddle.jax.module(step, {"w": jnp.arange(4.0)}, jnp.ones(4))

    def test_static_and_named_arguments(self):
        def function(x, n, mode, y=1.0, *, power=1):
            return (x + n if mode == "add" else x * n) * y ** power
        x = self.numbers(4)
        first = jax.jit(function, static_argnums=(1, 2), static_argnames="power")
        made = heddle.jax.module(first, x, 3, "add", kwargs={"y": 2.0, "power": 2})
        self.assertLess(float(abs(made.results[0][0] - (x + 3) * 4).max()), 1e-5)
        heddle.jax.module(jax.jit(function, static_argnames=("n", "mode")), x, kwargs={"n": 3, "mode": "add"})
        heddle.jax.module(jax.jit(lambda tree, x, sizes: tree["a"] * len(sizes) + x, static_argnums=2), {"a": x}, x, (1, 2))
        heddle.jax.module(lambda x, scale: x * scale, x, kwargs={"scale": 2.0}, timeout=60)
        for action, message in (
                (lambda: heddle.jax.module(lambda x, scale: x * scale, x, scale=2.0), "`scale` is an argument of `<lambda>"),
                (lambda: heddle.jax.module(lambda x, y: x, x), "does not take these arguments: missing a required argument: 'y'"),
                (lambda: heddle.jax.module(jax.jit(lambda n, x: x * n, static_argnums=0), 3, 4), "1 of the 2 arguments are arrays")):
            with self.subTest(message), self.assertRaisesRegex(heddle.InputError, message):
                action()

    def test_what_may_be_given_as_the_function(self):
        x = self.numbers(4)
        jitted = jax.jit(lambda x, n: x * n, static_argnums=1)
        for function in (jitted, jitted.trace(x, 3), jitted.lower(x, 3), jax.export.export(jitted)(x, 3).call):
            heddle.jax.module(function, *((x, 3) if function is jitted else (x,)))
        heddle.jax.module(jitted.lower(x, 3), x, 3)

        class OfAnotherLibrary:
            def lower(self, *args):
                return self

            def __call__(self, *args):
                return args
        for function, args, message in (
                (jitted.lower(x, 3).compile(), (x,), "a compiled program .*Compiled"),
                (jitted.lower(x, 3), (), "takes 1 arguments, and 0 are given"),
                (jitted.lower(x, 3), (x[:2],), "was lowered for other arguments"),
                (OfAnotherLibrary(), (x,), "OfAnotherLibrary, and a jax.stages.Lowered is wanted"),
                (jax.export.export(jitted)(x, 3), (x,), "and a function is wanted"),
                (jitted, (jax.ShapeDtypeStruct((4,), jnp.float32), 3), r"argument 0 is ShapeDtypeStruct\(shape=\(4,\)"),
                (lambda tree: tree["a"], ({"a": jax.ShapeDtypeStruct((4,), jnp.float32)},), r"argument 0\['a'\] is ShapeDtypeStruct")):
            with self.subTest(message), self.assertRaisesRegex(heddle.InputError, message) as refused:
                heddle.jax.module(function, *args)
            self.assertTrue(refused.exception.notes)

    def test_results_that_are_zero_but_for_rounding(self):
        from heddle.jax import _module

        def report(*pairs):
            results, expected = ([[numpy.asarray(pair[side], numpy.float32)] for pair in pairs] for side in (0, 1))
            return _module.ModuleResult("", results, expected, [0.0] * len(pairs))

        def compare(*pairs, rtol=None, atol=None):
            _module._compare(report(*pairs), rtol, atol, "host")
        compare(([3e-7], [-2e-7]), ([1.0], [1.0]))  # beside results of 1 this is rounding
        compare(([1e-5], [1.2e-5]), atol=1e-5)
        for wrong in (([3e-7], [-2e-7]),), (([1e-4], [1.01e-4]), ([1.0], [1.0])), (([2e-6], [1e-7]), ([1.0], [1.0])), \
                (([0.5], [0.6]), ([-1e9], [-1e9])):
            with self.subTest(wrong), self.assertRaisesRegex(heddle.WrongResult, "result 0 on device 0"):
                compare(*wrong)
        for options in ({"rtol": 0}, {"atol": 1e-8}):
            with self.subTest(options), self.assertRaises(heddle.WrongResult):
                compare(([3e-7], [-2e-7]), ([1.0], [1.0]), **options)

        def loss(weights, x):  # the mean takes the bias out again
            y = x @ weights["w"] + weights["bias"]
            return (((y - y.mean(0)) / jnp.sqrt(y.var(0) + 1e-5) + 0.5) ** 3).mean()
        heddle.jax.module(jax.value_and_grad(loss), {"w": self.numbers(16, 32), "bias": jnp.zeros(32)}, self.numbers(64, 16))

    def test_what_is_not_read(self):
        with self.assertRaisesRegex(heddle.InputError, "'custom-call' of the target 'lapack_sgeev_ffi' is not supported"):
            heddle.jax.module(jnp.linalg.eigvals, jnp.eye(2))

    def test_complex_numbers(self):
        z = jnp.linspace(-2, 2, 24).reshape(4, 6) * jnp.exp(1j * jnp.arange(6.0))
        programs = [lambda z: (z * z[::-1] / (z + 3j), jnp.abs(z), jnp.exp(z) @ z.T, jnp.log(z + 0.5), z.sum(0), z.prod(1), z.at[1].add(2j)),
                    lambda z: (jnp.fft.fft(z), jnp.fft.ifft(z, axis=0), jnp.fft.rfft2(z.real), jnp.fft.irfft(z, n=9), jnp.fft.fftn(z)),
                    lambda z: jax.lax.fori_loop(0, 5, lambda i, y: jnp.where(jnp.abs(y) < 2, y * y + z, y), z)]
        for device in ("host", "sim:gfx942"):
            for program in programs:
                heddle.jax.module(program, z, device=device)
        many = jax.shard_map(lambda z: jax.lax.psum(z, "d") + jax.lax.all_gather(z, "d", tiled=True)[: z.shape[0]], mesh=self.mesh,
                             in_specs=PartitionSpec("d"), out_specs=PartitionSpec("d"), check_vma=False)
        heddle.jax.module(jax.jit(many), z, devices=4)


if __name__ == "__main__":
    unittest.main()
