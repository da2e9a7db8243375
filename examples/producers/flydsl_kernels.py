# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The five kernels in FlyDSL: `flydsl_kernels.py FOLDER CHIP...` writes objects and launches.json, without a GPU."""
import importlib.metadata
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import types

FOLDER = pathlib.Path(sys.argv[1]).resolve()
os.environ.update(COMPILE_ONLY="1", ARCH=sys.argv[2], FLYDSL_RUNTIME_ENABLE_CACHE="0", FLYDSL_DUMP_IR="1",
                  FLYDSL_DUMP_DIR=str(FOLDER / "dump"), ROCM_PATH=str(FOLDER / "rocm"))
try:
    import torch
except ImportError:  # FlyDSL names some of its types and needs nothing else of it to compile
    torch = types.ModuleType("torch")
    for name in ["float16", "bfloat16", "float32", "float64", "bool", "uint8", "int8", "int16", "int32", "int64"]:
        setattr(torch, name, name)
    torch.Tensor = type("Tensor", (), {})
    torch.cuda = types.SimpleNamespace(Stream=type("Stream", (), {}))
    sys.modules["torch"] = torch

import numpy as np
import flydsl.compiler as flyc
import flydsl.expr as fx
from flydsl.expr.typing import T, Vector, as_ir_value


@flyc.kernel
def vector_add(x: fx.Tensor, y: fx.Tensor, out: fx.Tensor, n: fx.Int32):
    i = fx.block_idx.x * 256 + fx.thread_idx.x
    if i < n:
        out[i] = x[i] + y[i]


@flyc.kernel
def row_softmax(x: fx.Tensor, out: fx.Tensor, columns: fx.Int32):
    shared = fx.SharedAllocator().allocate(fx.Array[fx.Float32, 256, 16]).peek().view(fx.make_layout(256, 1))
    column = fx.Int32(fx.thread_idx.x)
    at = fx.block_idx.x * columns + column
    value = (column < columns).select(x[fx.min(at, 6 * columns - 1)], fx.Float32(-1e30))
    shared[column] = value
    for step in fx.range_constexpr(8):
        fx.gpu.barrier()
        if column < (128 >> step):
            shared[column] = fx.max(shared[column], shared[column + (128 >> step)])
    fx.gpu.barrier()
    power = fx.Float32(fx.rocdl.exp2(T.f32, as_ir_value((value - shared[0]) * 1.44269504)))
    fx.gpu.barrier()
    shared[column] = power
    for step in fx.range_constexpr(8):
        fx.gpu.barrier()
        if column < (128 >> step):
            shared[column] = shared[column] + shared[column + (128 >> step)]
    fx.gpu.barrier()
    if column < columns:
        out[at] = power / shared[0]


@flyc.kernel
def matmul(a: fx.Tensor, b: fx.Tensor, c: fx.Tensor, n: fx.Int32, k: fx.Constexpr[int]):
    """A wave makes 16 x 16 elements."""
    lane = fx.Int32(fx.thread_idx.x)
    row, column = fx.block_idx.x * 16, fx.block_idx.y * 16
    sums = Vector.filled(4, 0.0, fx.Float32)
    for start in fx.range_constexpr(0, k, 16):
        at = lane // 16 * 4 + start
        left = Vector.from_elements([a[(row + lane % 16) * k + at + i] for i in range(4)], fx.Float16)
        right = Vector.from_elements([b[(at + i) * n + column + lane % 16] for i in range(4)], fx.Float16)
        sums = Vector(fx.rocdl.mfma_f32_16x16x16f16(T.vec(4, T.f32), [left, right, sums, 0, 0, 0]), (4,), fx.Float32)
    for i in fx.range_constexpr(4):
        c[(row + lane // 16 * 4 + i) * n + column + lane % 16] = sums[i]


@flyc.kernel
def transpose(x: fx.Tensor, out: fx.Tensor, rows: fx.Int32, columns: fx.Int32):
    tile = fx.SharedAllocator().allocate(fx.Array[fx.Float32, 32 * 33, 16]).peek().view(fx.make_layout(32 * 33, 1))
    tx, ty = fx.Int32(fx.thread_idx.x) % 32, fx.Int32(fx.thread_idx.x) // 32
    left, top = fx.block_idx.x * 32, fx.block_idx.y * 32
    for i in fx.range_constexpr(4):
        tile[(ty + 8 * i) * 33 + tx] = x[(top + ty + 8 * i) * columns + left + tx]
    fx.gpu.barrier()
    for i in fx.range_constexpr(4):
        out[(left + ty + 8 * i) * rows + top + tx] = tile[tx * 33 + ty + 8 * i]


@flyc.kernel
def histogram(x: fx.Tensor, bins: fx.Tensor, n: fx.Int32):
    i = fx.block_idx.x * 256 + fx.thread_idx.x
    if i < n:
        fx.atomic_add(bins.iter + x[i], fx.Int32(1))


# What FlyDSL compiles are functions of the host that launch a kernel.
@flyc.jit
def launch_vector_add(x: fx.Tensor, y: fx.Tensor, out: fx.Tensor, n: fx.Int32):
    vector_add(x, y, out, n).launch(grid=(6, 1, 1), block=(256, 1, 1))


@flyc.jit
def launch_row_softmax(x: fx.Tensor, out: fx.Tensor, columns: fx.Int32):
    row_softmax(x, out, columns).launch(grid=(6, 1, 1), block=(256, 1, 1))


@flyc.jit
def launch_matmul(a: fx.Tensor, b: fx.Tensor, c: fx.Tensor, n: fx.Int32):
    matmul(a, b, c, n, 96).launch(grid=(8, 4, 1), block=(64, 1, 1))


@flyc.jit
def launch_transpose(x: fx.Tensor, out: fx.Tensor, rows: fx.Int32, columns: fx.Int32):
    transpose(x, out, rows, columns).launch(grid=(2, 3, 1), block=(256, 1, 1))


@flyc.jit
def launch_histogram(x: fx.Tensor, bins: fx.Tensor, n: fx.Int32):
    histogram(x, bins, n).launch(grid=(8, 1, 1), block=(256, 1, 1))


# kernel, launcher, grid, block, tensors by name with count and type, numbers
CASES = [
    ("vector_add", launch_vector_add, [6], [256], dict(x=(1500, "f4"), y=(1500, "f4"), out=(1500, "f4")), [1500]),
    ("row_softmax", launch_row_softmax, [6], [256], dict(x=(1200, "f4"), out=(1200, "f4")), [200]),
    ("matmul", launch_matmul, [8, 4], [64], dict(a=(12288, "f2"), b=(6144, "f2"), c=(8192, "f4")), [64]),
    ("transpose", launch_transpose, [2, 3], [256], dict(x=(6144, "f4"), out=(6144, "f4")), [96, 64]),
    ("histogram", launch_histogram, [8], [256], dict(x=(2000, "i4"), bins=(64, "i4")), [2000]),
]


def binary_in(text):
    """The object in `gpu.binary`, and its kernel's name: MLIR prints bytes as \\XX, and a backslash as two."""
    symbol = re.search(r'gpu\.kernel_metadata<"(\w+)"', text).group(1)
    escaped = re.search(r'bin = "((?:[^"\\]|\\.)*)"', text).group(1)
    return symbol, re.sub(rb"\\([0-9A-F]{2}|\\)", lambda m: b"\\" if m[1] == b"\\" else bytes.fromhex(m[1].decode()),
                          escaped.encode("latin-1"))


def compile_for(chip):
    launches = []
    for kernel, launcher, grid, block, tensors, numbers in CASES:
        shutil.rmtree(FOLDER / "dump", ignore_errors=True)
        launcher(*(flyc.from_dlpack(np.zeros(count, kind)) for count, kind in tensors.values()), *numbers)
        (text,) = (FOLDER / "dump").glob("*/*gpu_module_to_binary.mlir")
        symbol, made = binary_in(text.read_text())
        file = f"{kernel}.{chip}.hsaco"
        (FOLDER / file).write_bytes(made)
        launches.append(dict(kernel=kernel, symbol=symbol, chip=chip, object=file, grid=grid, block=block, lds=0,
                             arguments=[*tensors, *numbers]))
    return launches


def main(chips):
    if len(chips) > 1:  # FlyDSL keeps what it compiled, for the chip of the process
        launches = []
        for chip in chips:
            subprocess.run([sys.executable, __file__, FOLDER, chip], check=True)
            launches += json.loads((FOLDER / "launches.json").read_text())["launches"]
    else:
        linker = shutil.which("ld.lld-22") or shutil.which("ld.lld") or sys.exit("no `ld.lld` on the path; `./dev setup` installs it")
        link = FOLDER / "rocm/llvm/bin/ld.lld"  # where FlyDSL looks for it
        link.parent.mkdir(parents=True, exist_ok=True)
        link.unlink(missing_ok=True)
        link.symlink_to(linker)
        launches = compile_for(chips[0])
    version = importlib.metadata.version("flydsl")
    (FOLDER / "launches.json").write_text(json.dumps(dict(version=version, launches=launches)))


main(sys.argv[2:])
