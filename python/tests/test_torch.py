# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators of PyTorch: results, fake tensors, derivatives, torch.compile, and torchao's names."""
import os
import pathlib
import subprocess
import sys
import tempfile
import types
import unittest

import heddle

try:
    import torch
except (ImportError, OSError):  # a CUDA build of PyTorch without NVIDIA's libraries
    torch = None

ROOT = pathlib.Path(__file__).resolve().parents[2]
TEXT = """module {
  tt.func public @scale(%x: !tt.ptr<f32>, %out: !tt.ptr<f32>, %factor: f32, %n: i32) {
    %pid = tt.get_program_id x : i32
    %block = arith.constant 64 : i32
    %start = arith.muli %pid, %block : i32
    %lanes = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32>
    %first = tt.splat %start : i32 -> tensor<64xi32>
    %index = arith.addi %first, %lanes : tensor<64xi32>
    %count = tt.splat %n : i32 -> tensor<64xi32>
    %inside = arith.cmpi slt, %index, %count : tensor<64xi32>
    %from = tt.splat %x : !tt.ptr<f32> -> tensor<64x!tt.ptr<f32>>
    %source = tt.addptr %from, %index : tensor<64x!tt.ptr<f32>>, tensor<64xi32>
    %value = tt.load %source, %inside : tensor<64x!tt.ptr<f32>>
    %wide = tt.splat %factor : f32 -> tensor<64xf32>
    %scaled = arith.mulf %value, %wide : tensor<64xf32>
    %to = tt.splat %out : !tt.ptr<f32> -> tensor<64x!tt.ptr<f32>>
    %target = tt.addptr %to, %index : tensor<64x!tt.ptr<f32>>, tensor<64xi32>
    tt.store %target, %scaled, %inside : tensor<64x!tt.ptr<f32>>
    tt.return
  }
}
"""
# What the operator of each kernel is called with in the tests of all.
CALLS = {}
if torch is not None:
    import heddle.torch
    ops = torch.ops.heddle

    def numbers(*shape, dtype=torch.float32):
        return torch.randn(*shape, generator=torch.Generator().manual_seed(1)).to(dtype)

    offs = torch.tensor([3, 3, 8], dtype=torch.int32)
    CALLS = {
        "amax": [((numbers(5, 64),), {})],
        "fp8_blockwise": [((numbers(130, 256),), {"block": block}) for block in ("1x128", "128x1", "128x128")],
        "fp8_colwise_3d": [((numbers(2, 48, 32).transpose(1, 2),), {"pow2": True})],
        "fp8_grouped_matmul_2d_2d": [((numbers(16, 32).to(torch.float8_e4m3fn), numbers(8, 32).to(torch.float8_e4m3fn),
                                       numbers(3, 16), numbers(3, 8), 4 * offs), {})],
        "fp8_grouped_matmul_2d_3d": [((numbers(8, 32).to(torch.float8_e5m2), numbers(3, 16, 32).to(torch.float8_e5m2),
                                       numbers(8), numbers(3, 16), offs), {"dtype": torch.float32, "scales": "forward"})],
        "fp8_jagged_colwise": [((numbers(8, 16), offs), {})],
        "fp8_jagged_colwise_dual": [((numbers(8, 16), numbers(8, 32, dtype=torch.bfloat16), offs), {"pow2": True})],
        "fp8_jagged_rowwise": [((numbers(16, 8), offs), {"dtype": torch.float8_e5m2})],
        "fp8_rowwise_2d": [((numbers(5, 64, dtype=torch.bfloat16),), {"pow2": True, "nan": "ignore"})],
        "fp8_rowwise_3d": [((numbers(2, 48, 32).transpose(1, 2),), {"method": method}) for method in ("atomic", "reduction")],
        "fp8_tensorwise": [((numbers(6, 32),), {"layout": layout}) for layout in ("row", "transposed", "both")],
        "int4_matmul": [((numbers(3, 64, dtype=torch.float16), torch.full((32, 64), 0x35, dtype=torch.uint8),
                          torch.ones(2, 64, dtype=torch.float16), torch.zeros(2, 64, dtype=torch.float16)),
                         {"transposed": transposed}) for transposed in (False, True)],
        "mxfp8_dequantise": [((numbers(4, 64).to(torch.float8_e4m3fn), torch.full((4, 2), 127, dtype=torch.uint8)), {})],
        "mxfp8_dequantise_3d": [((numbers(2, 4, 64).to(torch.float8_e4m3fn), torch.full((2, 4, 2), 127, dtype=torch.uint8)), {})],
        "mxfp8_quantise": [((numbers(64, 32),), {"dim": dim, "mode": "rceil"}) for dim in (0, 1)],
        "mxfp8_quantise_3d": [((numbers(2, 64, 32),), {"block": block}) for block in ("32x1", "32x32")],
        "permute_indices": [((torch.tensor([[1, 0, 3], [2, 2, 0]]),), {"length": 40, "align": 8})],
        "permute_rows": [((numbers(5, 16), torch.tensor([3, -1, 0, 4, 1, -1, 2])), {})],
        "token_group_pad": [((numbers(8, 16), offs), {"align": 4})],
        "token_group_unpad": [((numbers(12, 16), offs, torch.tensor([0, 4, 5])), {"rows": 8})],
        "unpermute_rows": [((numbers(7, 16), torch.tensor([3, -1, 0, 4, 1, -1, 2])), {"rows": 6})],
    }


def as_list(results):
    return [results] if isinstance(results, torch.Tensor) else list(results)


@unittest.skipUnless(torch, "PyTorch is not installed, or cannot be loaded")
class LibraryOperators(unittest.TestCase):
    def test_every_kernel_has_one(self):
        self.assertEqual(sorted(CALLS), heddle.library.names())
        self.assertEqual(sorted(heddle.torch.operators), heddle.library.names())

    def test_fake_tensors_have_the_forms_of_results(self):
        from torch._subclasses.fake_tensor import FakeTensorMode
        for name, calls in CALLS.items():
            for args, options in calls:
                with self.subTest(name=name, options=options):
                    made = as_list(getattr(ops, name)(*args, **options))
                    with FakeTensorMode(allow_non_fake_inputs=True) as mode:
                        fakes = as_list(getattr(ops, name)(*(mode.from_tensor(each) for each in args), **options))
                    for each, fake in zip(made, fakes, strict=True):
                        self.assertEqual((each.shape, each.stride(), each.dtype, each.device),
                                         (fake.shape, fake.stride(), fake.dtype, fake.device))

    def test_opcheck(self):
        for name, calls in CALLS.items():
            for args, options in calls:
                with self.subTest(name=name, options=options):
                    tests = ["test_autograd_registration", "test_faketensor", "test_aot_dispatch_dynamic"]
                    # PyTorch compares inputs by allclose, which f8 has not on the CPU.
                    if not any(each.dtype.itemsize == 1 and each.is_floating_point() for each in args):
                        tests.append("test_schema")
                    torch.library.opcheck(getattr(ops, name).default, args, options, test_utils=tests)

    def test_results(self):
        x = numbers(5, 64)
        q, scales = ops.fp8_rowwise_2d(x)
        self.assertTrue(torch.equal(scales, torch.tensor(448.0) / x.abs().amax(1)))
        self.assertTrue(torch.equal(q.float(), (x * scales[:, None]).to(torch.float8_e4m3fn).float()))
        self.assertEqual(ops.amax(x).item(), x.abs().max().item())

    def test_derivative_of_amax(self):
        x = numbers(4, 8).requires_grad_()
        reference = x.detach().clone().requires_grad_()
        (ops.amax(x) * 3).sum().backward()
        (reference.abs().amax() * 3).backward()
        self.assertTrue(torch.equal(x.grad, reference.grad))

    def test_derivative_of_int4_matmul(self):
        (a, weights, scales, zeros), _ = CALLS["int4_matmul"][0]
        torch.library.opcheck(ops.int4_matmul.default, (a.clone().requires_grad_(), weights, scales, zeros))
        a = a.clone().requires_grad_()
        ops.int4_matmul(a, weights, scales, zeros).sum().backward()
        # Rows of the weights are 5 and 3 by turns.
        self.assertEqual(a.grad[0, :4].tolist(), [5 * 64, 3 * 64, 5 * 64, 3 * 64])
        with self.assertRaisesRegex(heddle.InputError, "derivative by `a` only"):
            ops.int4_matmul(a, weights, scales.clone().requires_grad_(), zeros)

    def test_derivatives_of_rows_that_move(self):
        for name in ("permute_rows", "token_group_pad", "token_group_unpad", "unpermute_rows"):
            with self.subTest(name=name):
                (x, *rest), options = CALLS[name][0]
                torch.library.opcheck(getattr(ops, name).default, (x.clone().requires_grad_(), *rest), options)
                x = x.clone().requires_grad_()
                result = as_list(getattr(ops, name)(x, *rest, **options))[0]
                seed = numbers(*result.shape)
                (result * seed).sum().backward()
                marks = torch.arange(1.0, x.shape[0] + 1).unsqueeze(1).expand(x.shape).contiguous()
                moved = as_list(getattr(ops, name)(marks, *rest, **options))[0]  # where each row went
                wanted = torch.stack([(seed * (moved == mark)).sum(0) for mark in range(1, x.shape[0] + 1)])
                self.assertTrue(torch.equal(x.grad, wanted))

    def test_refusals_without_contents(self):
        from torch._subclasses.fake_tensor import FakeTensorMode
        with FakeTensorMode(allow_non_fake_inputs=True):
            with self.assertRaisesRegex(heddle.InputError, "token_group_pad: `align` is 0, and must be 1 or above"):
                ops.token_group_pad(numbers(8, 16), offs, align=0)
            with self.assertRaisesRegex(heddle.InputError, "unpermute_rows: `rows` is -1, and must be 0 or above"):
                ops.unpermute_rows(numbers(2, 16), torch.tensor([1, 0]))

    def test_no_derivative(self):
        x = numbers(4, 64).requires_grad_()
        q, scales = ops.fp8_rowwise_2d(x)
        with self.assertRaisesRegex(heddle.InputError, "fp8_rowwise_2d rounds its results, and has no derivative"):
            scales.sum().backward()

    def test_compile(self):
        def function(x):
            q, scales = ops.fp8_rowwise_2d(x * 2, pow2=True)
            return q.float() / scales[:, None] + ops.amax(x)
        for dynamic in (False, True):
            compiled = torch.compile(function, fullgraph=True, backend="aot_eager", dynamic=dynamic)
            for rows in (3, 7):
                x = numbers(rows, 64)
                self.assertTrue(torch.equal(compiled(x), function(x)))

    def test_distributed_tensors(self):
        """Results lie as the input does, and nothing is sent."""
        if not torch.distributed.is_available():
            self.skipTest("PyTorch has no torch.distributed")
        from torch.distributed.device_mesh import init_device_mesh
        from torch.distributed.tensor import Shard, distribute_tensor
        try:
            from torch.distributed._local_tensor import LocalTensorMode
            from torch.testing._internal.distributed import fake_pg  # noqa: F401: the backend `fake`
        except ImportError:
            self.skipTest("this PyTorch plays no ranks in one process")
        heddle.torch.register_shardings()
        torch.distributed.init_process_group("fake", store=torch.distributed.HashStore(), rank=0, world_size=2)
        try:
            mesh, x = init_device_mesh("cpu", (2,)), numbers(64, 128)
            with LocalTensorMode(2):
                for axis, dim in ((0, 0), (0, 1), (1, 0), (1, 1)):
                    made = ops.mxfp8_quantise(distribute_tensor(x, mesh, [Shard(axis)]), dim=dim)
                    for each, whole in zip(made, ops.mxfp8_quantise(x, dim=dim)):
                        self.assertEqual(each.placements, (Shard(axis ^ dim),))
                        self.assertTrue(torch.equal(each.full_tensor().reconcile().view(torch.uint8), whole.view(torch.uint8)))
                odd = numbers(64, 96)  # 48 columns a rank are no blocks of 32: PyTorch brings them together
                made = ops.mxfp8_quantise(distribute_tensor(odd, mesh, [Shard(1)]), dim=0)
                for each, whole in zip(made, ops.mxfp8_quantise(odd)):
                    self.assertTrue(torch.equal(each.full_tensor().reconcile().view(torch.uint8), whole.view(torch.uint8)))
                made = ops.mxfp8_quantise(distribute_tensor(x, mesh, [Shard(0)]), dim=0)
                back = ops.mxfp8_dequantise(*made)
                self.assertEqual(back.placements, (Shard(0),))
        finally:
            torch.distributed.destroy_process_group()

    def test_refusals(self):
        for action, message in [
                (lambda: ops.fp8_rowwise_2d(numbers(4)), "of rank 1"),
                (lambda: ops.fp8_rowwise_2d(numbers(4, 64), nan="never"), "`nan` is `never`"),
                (lambda: ops.mxfp8_quantise(numbers(4, 33)), "33"),
                (lambda: ops.fp8_rowwise_2d(numbers(4, 64).to(torch.int32)), "elements of i32")]:
            with self.assertRaisesRegex(heddle.InputError, message):
                action()


@unittest.skipUnless(torch, "PyTorch is not installed, or cannot be loaded")
class OwnOperators(unittest.TestCase):
    count = 0

    def op(self, kernel=TEXT, **options):
        OwnOperators.count += 1
        standard = {"grid": lambda x: -(-x.numel() // 64), "outputs": {"out": torch.empty_like},
                    "scalars": {"n": lambda x: x.numel()}}
        return heddle.torch.op(f"heddle_test::scale{OwnOperators.count}", kernel, **{**standard, **options})

    def test_text_package_and_kernel(self):
        kernel = heddle.compile(TEXT)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "scale.hpkg")
            kernel.save(path)
            for source in (TEXT, kernel, [kernel], path, kernel.to_bytes()):
                scale = self.op(source)
                x = numbers(100)
                self.assertTrue(torch.equal(scale(x, 2.0), x * 2))
                self.assertEqual(scale(x[:0], 2.0).shape, (0,))
                torch.library.opcheck(scale, (x, 3.0))

    def test_writes_in_place(self):
        scale = self.op(outputs={}, mutates=["out"])
        x, out = numbers(100), torch.zeros(100)
        self.assertIsNone(scale(x, out, 2.0))
        self.assertTrue(torch.equal(out, x * 2))
        torch.library.opcheck(scale, (x, out, 2.0))

    def test_compile_and_derivative(self):
        scale = self.op()
        scale.register_autograd(lambda ctx, gradient: (scale(gradient.contiguous(), ctx.factor), None),
                                setup_context=lambda ctx, inputs, output: setattr(ctx, "factor", inputs[1]))
        x = numbers(100).requires_grad_()
        compiled = torch.compile(lambda x: (scale(x, 2.0) ** 2).sum(), fullgraph=True, backend="aot_eager")
        compiled(x).backward()
        self.assertTrue(torch.allclose(x.grad, 8 * x.detach()))
        torch.library.opcheck(scale, (x, 2.0))

    def test_refusals(self):
        for action, message in [
                (lambda: self.op(outputs={"y": torch.empty_like}), "`outputs` names `y`, and kernel `scale` has the arguments"),
                (lambda: self.op(grid=lambda rows: rows)(numbers(4), 1.0), "the grid asks for rows, and the operator has x, factor"),
                (lambda: self.op(heddle.compile(TEXT, "gfx942"))(numbers(4), 1.0), "is for gfx942, and the tensors are on host"),
                (lambda: self.op(heddle.compile(TEXT), warps=8), "compiled already, and warps"),
                (lambda: self.op()(numbers(8, 8).t(), 1.0), "row-major ones are wanted"),
                (lambda: self.op()(numbers(4).double(), 1.0), "pointer to f32, and the array is of f64")]:
            with self.assertRaisesRegex(heddle.InputError, message):
                action()

    def test_function_of_triton(self):
        try:
            import triton
        except ImportError:
            self.skipTest("Triton is not installed")
        sys.path.insert(0, str(pathlib.Path(__file__).parent))
        self.addCleanup(sys.path.pop, 0)
        from torch_kernels import row_sums
        sums = heddle.torch.op("heddle_test::row_sums", row_sums, grid=lambda x: x.shape[0], strided=["x"], BLOCK=64,
                               outputs={"out": lambda x: x.new_empty(x.shape[0])},
                               scalars={"columns": lambda x: x.shape[1], "row_stride": lambda x: x.stride(0),
                                        "column_stride": lambda x: x.stride(1)})
        x = torch.arange(12.0).reshape(3, 4)
        for view in (x, x.t()):
            self.assertTrue(torch.equal(sums(view), view.sum(1)))
            torch.library.opcheck(sums, (view,))


@unittest.skipUnless(torch, "PyTorch is not installed, or cannot be loaded")
class Capture(unittest.TestCase):
    """What is refused while a graph is captured, without a GPU: the state that PyTorch reports is all that matters."""

    def test_unprepared_is_refused(self):
        from unittest import mock
        with mock.patch("torch.cuda.is_current_stream_capturing", lambda: True):
            with self.assertRaisesRegex(heddle.InputError, "kernel `k` is not compiled yet .* a graph is being captured"):
                heddle.library.refuse_capture("kernel `k`", ["cuda:0"])
            heddle.library.refuse_capture("kernel `k`", ["host"])


@unittest.skipUnless(torch, "PyTorch is not installed, or cannot be loaded")
class Torchao(unittest.TestCase):
    """`patch`, on a package that stands for torchao: its names in two modules, without functions that work."""

    def setUp(self):
        def unavailable(*args, **named):
            raise NotImplementedError("needs a GPU")
        from heddle.torch import torchao
        self.ours = torchao
        self.before = {name: module for name, module in sys.modules.items() if name.partition(".")[0] == "torchao"}
        for name in self.before:
            del sys.modules[name]
        self.addCleanup(self.restore)
        wanted = {"torchao.prototype.moe_training.kernels": [each.__name__ for each in sum(torchao.SERVED.values(), [])]}
        wanted.update({module: [each.__name__ for each in functions] for module, functions in torchao.SERVED.items()})
        for module in list(wanted):
            for end in [i for i, letter in enumerate(module) if letter == "."]:
                sys.modules.setdefault(module[:end], types.ModuleType(module[:end])).__path__ = []
        functions = {}
        for module, names in sorted(wanted.items(), key=lambda each: -len(each[0])):
            made = sys.modules[module] = types.ModuleType(module)
            made.__path__ = []
            for name in names:
                setattr(made, name, functions.setdefault(name, types.FunctionType(unavailable.__code__, globals(), name)))
        self.kernels = sys.modules["torchao.prototype.moe_training.kernels"]

    def restore(self):
        for name in [name for name in sys.modules if name.partition(".")[0] == "torchao"]:
            del sys.modules[name]
        sys.modules.update(self.before)

    def test_patch_and_undo(self):
        x = numbers(4, 64)
        with self.assertRaises(NotImplementedError):
            self.kernels.triton_fp8_rowwise_2d_scale_and_cast(x)
        with self.ours.patch() as patched:
            self.assertEqual(patched.missing, [])
            q, scales = self.kernels.triton_fp8_rowwise_2d_scale_and_cast(x, round_scales_to_power_of_2=True)
            self.assertEqual((q.shape, scales.shape), ((4, 64), (4, 1)))
            with self.assertRaises(NotImplementedError):  # what the library has not goes to torchao
                self.kernels.triton_fp8_blockwise_act_quant_lhs(x, block_size=64)
        with self.assertRaises(NotImplementedError):
            self.kernels.triton_fp8_rowwise_2d_scale_and_cast(x)

    def test_layouts(self):
        with self.ours.patch():
            q, scales = self.kernels.triton_fp8_rowwise_3d_transpose_rhs(numbers(2, 48, 32).transpose(1, 2))
            self.assertEqual((q.shape, q.stride(), scales.shape), ((2, 48, 32), (48 * 32, 1, 48), (2, 32)))
            q, scales = self.kernels.triton_fp8_colwise_3d_scale_and_cast(numbers(2, 48, 32).transpose(1, 2))
            self.assertEqual((q.shape, q.stride(), scales.shape), ((2, 32, 48), (48 * 32, 1, 32), (2, 1, 48)))
            q, scales = self.kernels.triton_fp8_per_group_colwise_scales(numbers(8, 16), offs)
            self.assertEqual((q.shape, q.stride(), scales.shape), ((8, 16), (1, 8), (48,)))
            four = self.kernels.triton_fp8_per_group_colwise_scales_dual(numbers(8, 16), numbers(8, 32), offs)
            self.assertEqual([each.shape for each in four], [(8, 16), (48,), (8, 32), (96,)])
            q, scales = self.kernels.mxfp8_quantize_cuda_3d(numbers(2, 64, 96), scale_block_dim2=32, blocked_scale_output=False)
            self.assertEqual((q.shape, q.stride(), scales.shape), ((2, 64, 96), (64 * 96, 1, 64), (2, 2, 3)))
            q, scales = self.kernels.triton_to_mxfp8_dim1(numbers(128, 256))
            self.assertEqual((q.shape, q.stride(), scales.shape), ((128, 256), (1, 128), (256, 4)))
            q, scales = self.kernels.triton_fp8_blockwise_weight_quant_rhs(numbers(256, 128))
            self.assertEqual((q.stride(), scales.shape, scales.stride()), ((1, 256), (2, 1), (1, 2)))

    def test_scaled_grouped_mm(self):
        mm, fp8 = self.ours.scaled_grouped_mm, torch.float8_e4m3fn
        a, b = numbers(8, 32), numbers(3, 16, 32)
        (qa, sa), (qb, sb) = ops.fp8_rowwise_2d(a), ops.fp8_colwise_3d(b.transpose(1, 2))
        c = mm(qa, qb.transpose(1, 2), sa.reciprocal(), sb.reciprocal(), offs, out_dtype=torch.float32)
        plain = torch.cat([rows @ weights.t() for rows, weights in zip(a.split([3, 0, 5]), b)])
        self.assertLess((c - plain).abs().max(), 0.05 * plain.abs().max())
        gradient = numbers(8, 16)
        q1, s1, q2, s2 = self.ours.triton_fp8_per_group_colwise_scales_dual(gradient, a, offs, fp8)
        c = mm(q1.t(), q2, s1.reciprocal(), s2.reciprocal(), offs)
        plain = torch.stack([left.t() @ right for left, right in zip(gradient.split([3, 0, 5]), a.split([3, 0, 5]))])
        self.assertEqual((c.shape, c.dtype), ((3, 16, 32), torch.bfloat16))
        self.assertLess((c.float() - plain).abs().max(), 0.05 * plain.abs().max())
        with self.assertRaisesRegex(heddle.InputError, "`bias` and `scale_result` are not supported"):
            mm(qa, qb.transpose(1, 2), sa, sb, offs, bias=sa)

    def test_groups_and_orders_of_tokens(self):
        x = numbers(8, 16)
        with self.ours.patch():
            padded, starts, ends = self.kernels.fused_pad_token_groups_cuda(x, offs, 4)
            self.assertEqual((padded.shape, starts.tolist(), ends.tolist()), ((20, 16), [0, 4, 4], [4, 4, 12]))
            self.assertTrue(torch.equal(self.kernels.fused_unpad_token_groups_cuda(padded, offs, starts, 8, 4), x))
            counts = torch.tensor([1, 0, 3, 2, 2, 0])  # two ranks, three experts
            indices, sizes, ends = self.kernels.generate_permute_indices(counts, 3, 2, 16, 4)
            self.assertEqual(indices.tolist(), [0, 4, 5, -1, 6, 7, -1, -1, 1, 2, 3, -1, -1, -1, -1, -1])
            self.assertEqual((sizes.tolist(), ends.tolist()), ([4, 4, 4], [4, 8, 12]))
            shape, rows, indices, _, _ = self.kernels.permute_and_pad(x, counts, 2, 3, 4)
            self.assertEqual((shape, rows.shape), (torch.Size((9, 16)), (20, 16)))
            self.assertTrue(torch.equal(self.kernels._triton_permute_bwd(rows, indices, 8, 16), x))
            with self.assertRaises(NotImplementedError):
                self.kernels.generate_permute_indices(counts.float(), 3, 2, 16, 4)


@unittest.skipUnless(torch, "PyTorch is not installed, or cannot be loaded")
class Suite(unittest.TestCase):
    def test_runner_tells_what_it_wants(self):
        made = subprocess.run([sys.executable, str(ROOT / "python/tests/torchao_suite/run.py"), str(ROOT)],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60)
        self.assertEqual(made.returncode, 2)
        self.assertIn("it should be a checkout of torchao", made.stderr)


if __name__ == "__main__":
    unittest.main()
