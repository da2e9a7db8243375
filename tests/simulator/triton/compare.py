#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Holds what Triton compiles for AMD on the simulator against Heddle's host code of the same Triton IR: the kernels of
tests/corpus and those below, with several numbers of warps and stages, with buffer operations and loads straight to LDS.
Needs Triton 3.6 (`pip install --no-deps triton==3.6.0`; no GPU) and NumPy; from the root of the repository:
    python3 tests/simulator/triton/compare.py [--heddle build/bin/heddle] [NAME...]"""
import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "corpus"))
import kernels

random = np.random.default_rng(7)
VARIANTS = [(4, 2, "0"), (1, 2, "0"), (8, 2, "0"), (4, 3, "1"), (8, 3, "1")]  # warps, stages, loads straight to LDS
CASES = {}  # name: kernel, signature, constants, grid, arguments, outputs


def eighths(*shape, dtype=np.float32):
    """Sums of their products are exact."""
    return (random.integers(-8, 9, shape) / 8).astype(dtype)


def bits_of_bf16(values):
    return (values.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)


def bf16(*shape):
    return bits_of_bf16(eighths(*shape))  # which need no rounding


def integers(*shape, least=-1000, most=1000, dtype=np.int32):
    return random.integers(least, most, shape).astype(dtype)


def zeros(dtype, *shape):
    return np.zeros(shape, dtype)


def corpus(name, grid, arguments, outputs):
    CASES[name] = (*kernels.S[name], grid, arguments, outputs)


def own(signature, grid, arguments, outputs, **constants):
    def register(kernel):
        function = triton.jit(kernel)
        CASES[kernel.__name__] = (function, signature, constants, grid, arguments, outputs)
        return function
    return register


corpus("vector_add", (2,), dict(x=eighths(1500), y=eighths(1500), out=zeros("f4", 1500), n=1500), ["out"])
corpus("row_softmax", (2,), dict(out=zeros("f4", 336), x=eighths(336), stride_out=112, stride_x=112, rows=3, cols=100), ["out"])
corpus("matmul_f16", (9,), dict(a=eighths(192 * 256, dtype="f2"), b=eighths(256 * 192, dtype="f2"), c=zeros("f2", 192 * 192), M=192,
                                N=192, K=256, sam=256, sbk=192, scm=192), ["c"])
corpus("layer_norm", (2,), dict(x=bf16(2208), y=zeros("u2", 2208), w=bf16(1100), b=bf16(1100), mean=zeros("f4", 2), rstd=zeros("f4", 2),
                                stride=1104, N=1100, eps=1e-5), ["mean", "rstd"])
corpus("split_k_matmul_acq_rel", (1, 1, 4), dict(a=bf16(3000), b=bf16(6000), c=zeros("f4", 800), M=20, N=40, K=150), ["c"])
corpus("rowwise_fp8", (2,), dict(x=bf16(3000), q=zeros("u1", 3000), scales=zeros("f4", 20), rows=20, cols=150), ["q", "scales"])
corpus("amax_atomic", (2, 2), dict(x=bf16(7000), out=zeros("f4", 70), rows=100, cols=70), ["out"])
corpus("transpose_f16", (2, 2), dict(x=eighths(6300, dtype="f2"), y=zeros("f2", 6300), rows=70, cols=90), ["y"])
corpus("spin_lock_sum", (3,), dict(x=eighths(700), total=zeros("f4", 1), lock=zeros("i4", 1), n=700), ["total", "lock"])
corpus("jagged_rowsum", (4, 2), dict(x=bf16(3500), offsets=np.array([5, 5, 45, 50], "i4"), out=zeros("f4", 280), cols=70, groups=4),
       ["out"])
corpus("attention_causal", (3, 2), dict(q=eighths(19200, dtype="f2"), k=eighths(19200, dtype="f2"), v=eighths(19200, dtype="f2"),
                                        o=zeros("f2", 19200), T=150, scale=0.125), ["o"])


@own(dict(x="*i64:16", y="*i64:16", z="*i64:16"), (1,), dict(x=integers(1024, dtype="i8"), y=zeros("i8", 1024), z=zeros("i8", 1024)),
     ["y", "z"], N=1024)
def sums(x, y, z, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(y + i, tl.cumsum(tl.load(x + i), 0))
    tl.store(z + i, tl.cumsum(tl.load(x + i), 0, reverse=True))


@own(dict(x="*i32:16", y="*i32:16", bins="*i32:16"), (1,), dict(x=integers(256, least=0, most=128), y=zeros("i4", 256), bins=zeros("i4", 128)),
     ["y", "bins"], N=256)
def order(x, y, bins, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + i)
    tl.store(y + i, tl.sort(v))
    tl.store(bins + tl.arange(0, 128), tl.histogram(v, 128))


@own(dict(x="*fp32:16", at="*i32:16", y="*fp32:16", z="*i32:16"), (1,),
     dict(x=eighths(1024), at=integers(1024, least=0, most=1024), y=zeros("f4", 1024), z=zeros("i4", 32)), ["y", "z"], N=1024)
def places(x, at, y, z, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + i)
    tl.store(y + i, tl.gather(v, tl.load(at + i), 0))
    tl.store(z + tl.arange(0, 32), tl.argmax(tl.reshape(v, (32, N // 32)), 1))


@own(dict(x="*fp32:16", y="*fp32:16"), (1,), dict(x=random.standard_normal(1024).astype("f4"), y=zeros("f4", 10240)), ["y"], N=1024)
def functions(x, y, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + i)
    p = tl.abs(v) + 0.01
    tl.store(y + i, tl.exp(v))
    tl.store(y + N + i, tl.log(p))
    tl.store(y + 2 * N + i, tl.sin(v))
    tl.store(y + 3 * N + i, tl.cos(v))
    tl.store(y + 4 * N + i, tl.rsqrt(p))
    tl.store(y + 5 * N + i, tl.erf(v))
    tl.store(y + 6 * N + i, tl.div_rn(v, p))
    tl.store(y + 7 * N + i, tl.sqrt_rn(p))
    tl.store(y + 8 * N + i, tl.fma(v, v, p))
    tl.store(y + 9 * N + i, tl.sigmoid(v))


@own(dict(x="*i32:16", y="*i32:16", z="*i64:16"), (1,),
     dict(x=integers(2048, least=-2**31, most=2**31), y=zeros("i4", 5120), z=zeros("i8", 3072)), ["y", "z"], N=1024)
def whole(x, y, z, N: tl.constexpr):
    i = tl.arange(0, N)
    a = tl.load(x + i)
    b = tl.load(x + N + i)
    tl.store(y + i, a // (b | 1))
    tl.store(y + N + i, a % (b | 1))
    tl.store(y + 2 * N + i, tl.umulhi(a.to(tl.uint32), b.to(tl.uint32)).to(tl.int32))
    tl.store(y + 3 * N + i, a >> (b & 31))
    tl.store(y + 4 * N + i, tl.minimum(a, b))
    wide = a.to(tl.int64) * 1000003
    tl.store(z + i, wide // (b | 1).to(tl.int64))
    tl.store(z + N + i, wide * b.to(tl.int64))
    tl.store(z + 2 * N + i, wide >> (b & 63).to(tl.int64))


@own(dict(seed="i32", y="*fp32:16", z="*i32:16"), (1,), dict(seed=42, y=zeros("f4", 1024), z=zeros("i4", 1024)), ["y", "z"], N=1024)
def numbers(seed, y, z, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(y + i, tl.rand(seed, i))
    tl.store(z + i, tl.randint(seed, i))


@own(dict(x="*fp32:16", h="*fp16:16", f="*fp8e4nv:16", i8="*i8:16"), (1,),
     dict(x=random.standard_normal(1024).astype("f4") * 3, h=zeros("f2", 1024), f=zeros("u1", 1024), i8=zeros("i1", 1024)), ["h", "f", "i8"], N=1024)
def conversions(x, h, f, i8, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + i)
    tl.store(h + i, v.to(tl.float16))
    tl.store(f + i, v.to(tl.float8e4nv))
    tl.store(i8 + i, v.to(tl.int8))


def compile_for(chip, function, signature, constants, options):
    """Aligned pointers also say that their buffers are small, for which Triton uses buffer instructions."""
    signature, constants, attributes = dict(signature), dict(constants), {}
    for position, name in enumerate(function.arg_names):
        kind = signature.get(name, "constexpr")
        if kind.endswith(":16"):
            attributes[(position,)] = [["tt.divisibility", 16], ["tt.pointer_range", 32]]
            kind = kind[:-3]
        if kind == "1":
            constants[name] = 1
        signature[name] = "constexpr" if name in constants else kind
    ordered = {name: signature[name] for name in function.arg_names}
    return triton.compile(ASTSource(function, ordered, constants, attributes), target=GPUTarget("hip", chip, 64), options=options)


class Comparison:
    def __init__(self, heddle, folder):
        self.heddle, self.folder, self.wrong = heddle, pathlib.Path(folder), []

    def run(self, verb, file, names, arguments, outputs, grid, *more):
        command = [self.heddle, verb, self.folder / file, "--grid", ",".join(map(str, grid)), *more]
        for name, value in zip(names, arguments.values()):
            if isinstance(value, np.ndarray):
                np.save(self.folder / f"{name}.npy", value)
                value = f"@{self.folder / name}.npy"
            command += ["--arg", f"{name}={value}"]
        made = dict(zip(arguments, names))
        for output in outputs:
            command += ["--out", f"{made[output]}={self.folder / verb}.{output}.npy"]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(done.stderr.strip())
        return [np.load(f"{self.folder / verb}.{output}.npy").ravel() for output in outputs]

    def check(self, name, chip, options):
        function, signature, constants, grid, arguments, outputs = CASES[name]
        kernel = compile_for(chip, function, signature, constants, options)
        (self.folder / "k.hsaco").write_bytes(kernel.asm["hsaco"])
        (self.folder / "k.ttir").write_text(kernel.asm["ttir"])
        expected = self.run("run", "k.ttir", list(arguments), arguments, outputs, grid)
        scratch = [f"--arg={len(arguments) + i}=i32[1]" for i in range(2)]
        for policy in ["earliest", "latest"]:
            what = f"{name} on {chip}, {options}, {policy}"
            try:
                results = self.run("simulate", "k.hsaco", [str(i) for i in range(len(arguments))], arguments, outputs, grid, *scratch,
                                   "--block", str(64 * kernel.metadata.num_warps), "--lds", str(kernel.metadata.shared), "--policy", policy)
            except RuntimeError as error:
                self.wrong.append(f"{what}: {error}")
                continue
            for output, result, wanted in zip(outputs, results, expected):
                tolerance = {"f2": 2e-3, "f4": 1e-5}.get(result.dtype.str[1:], 0)
                if not np.allclose(result, wanted, tolerance, tolerance, equal_nan=True):
                    self.wrong.append(f"{what}: `{output}` differs")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", choices=[[], *CASES], help="kernels; all of them without")
    parser.add_argument("--heddle", default="build/bin/heddle")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ.setdefault("TRITON_CACHE_DIR", folder + "/cache")
        comparison = Comparison(given.heddle, folder)
        for name in given.names or CASES:
            for chip in ["gfx942", "gfx950"]:
                for warps, stages, to_lds in VARIANTS:
                    os.environ["TRITON_HIP_USE_ASYNC_COPY"] = to_lds
                    comparison.check(name, chip, dict(num_warps=warps, num_stages=stages))
            print(f"{name}: {len(comparison.wrong)} wrong so far", flush=True)
    print("\n".join(comparison.wrong))
    sys.exit(1 if comparison.wrong else 0)


if __name__ == "__main__":
    main()
