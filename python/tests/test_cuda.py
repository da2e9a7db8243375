# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""PyTorch's tensors on a GPU: the library's operators, packages, Triton's kernels, streams and graphs. Skipped where PyTorch sees
no GPU, as in CI."""
import contextlib
import io
import pathlib
import sys
import unittest

import heddle

try:
    import torch
except (ImportError, OSError):
    torch = None
if torch is None or not torch.cuda.is_available():
    raise unittest.SkipTest("PyTorch is not installed, or sees no GPU")

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import heddle.torch  # noqa: E402
import test_torch  # noqa: E402

try:
    import triton
    import triton.language as tl

    import heddle.triton
except ImportError:
    triton = None

GPU = "cuda:0"


def on_gpu(value):
    """With the same strides, which the operators' contracts name."""
    if not isinstance(value, torch.Tensor):
        return value
    moved = torch.empty_strided(value.shape, value.stride(), dtype=value.dtype, device=GPU)
    return moved.copy_(value) if value.numel() else moved


def bits(value):
    value = value.cpu().contiguous()
    return value.view(torch.uint8) if value.dim() else value.reshape(1).view(torch.uint8)


class LibraryOperators(unittest.TestCase):
    def same(self, name, here, there):
        here, there = test_torch.as_list(here), test_torch.as_list(there)
        self.assertEqual(len(here), len(there))
        for number, (ours, theirs) in enumerate(zip(here, there)):
            self.assertEqual((ours.device.type, ours.shape, ours.stride(), ours.dtype),
                             ("cuda", theirs.shape, theirs.stride(), theirs.dtype), f"{name}: result {number}")
            if "matmul" in name:  # the order of sums is the chip's
                wide = theirs.double()
                self.assertLessEqual((ours.cpu().double() - wide).abs().max().item(), 2e-2 * wide.abs().max().item() + 1e-3)
            else:
                self.assertTrue(torch.equal(bits(ours), bits(theirs)), f"{name}: result {number}")

    def test_every_kernel_as_on_the_host(self):
        for name, calls in test_torch.CALLS.items():
            for args, options in calls:
                with self.subTest(name=name, options=options):
                    operator = getattr(test_torch.ops, name)
                    self.same(name, operator(*map(on_gpu, args), **options), operator(*args, **options))

    def test_streams_and_graphs(self):
        x = on_gpu(test_torch.numbers(257, 512))
        wanted = test_torch.ops.fp8_rowwise_2d(x.cpu())
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            torch.cuda._sleep(20_000_000)
            late = x * 0 + x  # a result of the same stream
            made = test_torch.ops.fp8_rowwise_2d(late)
        side.synchronize()
        self.same("fp8_rowwise_2d", made, wanted)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        source = torch.zeros_like(x)
        with torch.cuda.graph(graph):
            made = test_torch.ops.fp8_rowwise_2d(source)
        source.copy_(x)
        graph.replay()
        torch.cuda.synchronize()
        self.same("fp8_rowwise_2d", made, wanted)

    def test_compile(self):
        def function(x):
            q, scales = test_torch.ops.fp8_rowwise_2d(x * 2, pow2=True)
            return q.float() / scales[:, None] + test_torch.ops.amax(x)
        x = on_gpu(test_torch.numbers(33, 64))
        self.assertTrue(torch.equal(torch.compile(function, fullgraph=True, backend="aot_eager")(x), function(x)))
        self.assertTrue(torch.equal(torch.compile(function, fullgraph=True)(x), function(x)))


class Kernels(unittest.TestCase):
    def test_launch_on_tensors(self):
        kernel = heddle.compile(test_torch.TEXT, target="sm_90")
        x = torch.randn(4001, device=GPU)
        out = torch.empty_like(x)
        kernel[-(-4001 // 64)](x, out, 3.0, 4001)
        self.assertTrue(torch.equal(out, x * 3.0))

    def test_tensors_of_two_places(self):
        kernel = heddle.compile(test_torch.TEXT, target="sm_90")
        with self.assertRaisesRegex(heddle.InputError, "is on host, and one before it on cuda:0"):
            kernel[1](torch.zeros(64, device=GPU), torch.zeros(64), 3.0, 64)

    def test_own_operator(self):
        scale = heddle.torch.op("heddle_cuda_test::scale", test_torch.TEXT, grid=lambda x: -(-x.numel() // 64),
                                outputs={"out": torch.empty_like}, scalars={"n": lambda x: x.numel(), "factor": float})
        x = torch.randn(1000, device=GPU)
        self.assertTrue(torch.equal(scale(x, 2.5), x * 2.5))
        self.assertTrue(torch.equal(scale(x.cpu(), 2.5), x.cpu() * 2.5))


FAILING = """module {
  tt.func public @failing(%out: !tt.ptr<f32>) {
    %zero = arith.constant dense<false> : tensor<1xi1>
    tt.assert %zero, "never so" : tensor<1xi1>
    tt.return
  }
}
"""

if triton is not None:
    @triton.jit
    def positive(x):
        tl.device_assert(tl.load(x) > 0, "no root of it")

    @triton.jit
    def shown(x):
        tl.device_print("value", tl.load(x))

    @triton.jit
    def add(x, y, out, n, BLOCK: tl.constexpr):
        i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        m = i < n
        tl.store(out + i, tl.load(x + i, m) + tl.load(y + i, m), m)

    @triton.autotune(configs=[triton.Config({"M": 64, "N": 64}), triton.Config({"M": 128, "N": 128}, num_warps=8),
                              triton.Config({"M": 256, "N": 256, "K": 256}, num_warps=8)], key=["n"])
    @triton.jit
    def matmul(a, b, c, n, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr = 64):
        rows = tl.program_id(0) * M + tl.arange(0, M)
        columns = tl.program_id(1) * N + tl.arange(0, N)
        depth = tl.arange(0, K)
        total = tl.zeros((M, N), tl.float32)
        for k in range(0, n, K):
            total += tl.dot(tl.load(a + rows[:, None] * n + (k + depth)[None, :]),
                            tl.load(b + (k + depth)[:, None] * n + columns[None, :]))
        tl.store(c + rows[:, None] * n + columns[None, :], total.to(tl.float16))


@unittest.skipUnless(triton, "Triton is not installed")
class TritonKernels(unittest.TestCase):
    def test_add(self):
        x, y = torch.randn(4097, device=GPU), torch.randn(4097, device=GPU)
        for device in ("cuda:0", "cuda"):
            out = torch.empty_like(x)
            with heddle.triton.device(device):
                compiled = add[(triton.cdiv(4097, 1024),)](x, y, out, 4097, BLOCK=1024)
            self.assertTrue(torch.equal(out, x + y))
            self.assertIn(".target sm_90", compiled.asm["ptx"])

    def test_autotuned_matmul(self):
        n = 1024
        a, b = (torch.randn(n, n, device=GPU).half() for _ in range(2))
        c = torch.empty_like(a)
        with heddle.triton.device("cuda:0"):
            matmul[lambda meta: (n // meta["M"], n // meta["N"])](a, b, c, n)
        self.assertLessEqual((c.float() - a.float() @ b.float()).abs().max().item(), 0.1)

    def test_streams_and_graphs(self):
        x = torch.zeros(1 << 20, device=GPU)
        out = torch.empty_like(x)
        side = torch.cuda.Stream()
        with heddle.triton.device("cuda:0"):
            add[(1024,)](x, x, out, 1 << 20, BLOCK=1024)
            torch.cuda.synchronize()
            with torch.cuda.stream(side):
                torch.cuda._sleep(20_000_000)
                x.fill_(2.0)
                add[(1024,)](x, x, out, 1 << 20, BLOCK=1024)
            side.synchronize()
            self.assertTrue((out == 4.0).all().item())
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                add[(1024,)](x, x, out, 1 << 20, BLOCK=1024)
        x.fill_(3.0)
        graph.replay()
        torch.cuda.synchronize()
        self.assertTrue((out == 6.0).all().item())

    def test_assertions_and_prints(self):
        x = torch.tensor([1.0, -1.0], device=GPU)
        with heddle.triton.device("cuda:0"):
            positive[(1,)](x[:1], debug=True)
            with self.assertRaisesRegex(RuntimeError, "no root of it"):
                positive[(1,)](x[1:], debug=True)
            positive[(1,)](x[:1], debug=True)
            with contextlib.redirect_stdout(io.StringIO()) as printed:
                shown[(2,)](x)
                torch.cuda.synchronize()
            lines = printed.getvalue().splitlines()
        self.assertEqual(len(lines), 2, lines)
        self.assertTrue(all("value: 1.0" in line for line in lines), lines)

    def test_errors_of_earlier_launches(self):
        """An error that was not asked for is thrown by the next launch."""
        kernel = heddle.compile(FAILING, target="sm_90")
        x = torch.zeros(1, device=GPU)
        kernel[1](x)
        torch.cuda.synchronize()
        with self.assertRaisesRegex(heddle.InputError, "never so"):
            kernel[1](x)
        heddle.compile(test_torch.TEXT, target="sm_90")[1](x, x, 1.0, 1)  # said once

    def test_a_tensor_of_the_host_is_refused(self):
        x = torch.zeros(64)
        with heddle.triton.device("cuda:0"), self.assertRaisesRegex(ValueError, "cannot be accessed"):
            add[(1,)](x, x, x, 64, BLOCK=64)

    def test_checking_is_refused(self):
        x = torch.zeros(64, device=GPU)
        with heddle.triton.device("cuda:0"), heddle.triton.checking(), self.assertRaisesRegex(heddle.InputError, "cannot be checked"):
            add[(1,)](x, x, x, 64, BLOCK=64)

    def test_properties(self):
        with heddle.triton.device("cuda:0"):
            found = triton.runtime.driver.active.utils.get_device_properties(0)
        self.assertEqual(found["multiprocessor_count"], torch.cuda.get_device_properties(0).multi_processor_count)
        self.assertGreater(found["max_shared_mem"], 200 << 10)


if __name__ == "__main__":
    unittest.main()
