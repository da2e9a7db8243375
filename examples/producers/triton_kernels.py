# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The five kernels in Triton, 3.6 to 3.9: `triton_kernels.py FOLDER CHIP...` writes objects and launches.json there, without
a GPU. producers.py runs it in an environment that has Triton."""
import json
import pathlib
import sys

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def vector_add(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    tl.store(out + i, tl.load(x + i, mask=m) + tl.load(y + i, mask=m), mask=m)


@triton.jit
def row_softmax(x, out, columns, BLOCK: tl.constexpr):
    c = tl.arange(0, BLOCK)
    m = c < columns
    v = tl.load(x + tl.program_id(0) * columns + c, mask=m, other=-float("inf"))
    e = tl.exp(v - tl.max(v, axis=0))
    tl.store(out + tl.program_id(0) * columns + c, e / tl.sum(e, axis=0), mask=m)


@triton.jit
def matmul(a, b, c, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    sums = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        left = tl.load(a + rm[:, None] * K + k + rk[None, :])
        right = tl.load(b + (k + rk)[:, None] * N + rn[None, :])
        sums = tl.dot(left, right, sums)
    tl.store(c + rm[:, None] * N + rn[None, :], sums)


@triton.jit
def transpose(x, out, rows, columns, BLOCK: tl.constexpr):
    r = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    c = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tile = tl.load(x + r[:, None] * columns + c[None, :])
    tl.store(out + c[:, None] * rows + r[None, :], tl.trans(tile))


@triton.jit
def histogram(x, bins, n, BLOCK: tl.constexpr, BINS: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    counts = tl.histogram(tl.load(x + i, mask=m, other=0), BINS, mask=m)
    tl.atomic_add(bins + tl.arange(0, BINS), counts, sem="relaxed")


# kernel, types, constants, grid, arguments: names of buffers, or numbers
CASES = [
    (vector_add, dict(x="*fp32", y="*fp32", out="*fp32", n="i32"), dict(BLOCK=1024), (2,), ["x", "y", "out", 1500]),
    (row_softmax, dict(x="*fp32", out="*fp32", columns="i32"), dict(BLOCK=256), (6,), ["x", "out", 200]),
    (matmul, dict(a="*fp16", b="*fp16", c="*fp32", N="i32", K="i32"), dict(BM=32, BN=32, BK=32), (4, 2), ["a", "b", "c", 64, 96]),
    (transpose, dict(x="*fp32", out="*fp32", rows="i32", columns="i32"), dict(BLOCK=32), (2, 3), ["x", "out", 96, 64]),
    (histogram, dict(x="*i32", bins="*i32", n="i32"), dict(BLOCK=1024, BINS=64), (2,), ["x", "bins", 2000]),
]


def compiled(kernel, types, constants, chip):
    """Pointers are aligned to 16 bytes and their buffers small, so that Triton may use buffer instructions, as at a launch."""
    signature = {name: types.get(name, "constexpr") for name in kernel.arg_names}
    attributes = {(position,): [["tt.divisibility", 16], ["tt.pointer_range", 32]]
                  for position, kind in enumerate(signature.values()) if kind.startswith("*")}
    return triton.compile(ASTSource(kernel, signature, constants, attributes), target=GPUTarget("hip", chip, 64))


def main(folder, chips):
    launches = []
    for chip in chips:
        for kernel, types, constants, grid, arguments in CASES:
            made = compiled(kernel, types, constants, chip)
            file = f"{kernel.__name__}.{chip}.hsaco"
            (folder / file).write_bytes(made.asm["hsaco"])
            launches.append(dict(
                kernel=kernel.__name__, chip=chip, object=file, grid=grid, block=[64 * made.metadata.num_warps],
                lds=made.metadata.shared, arguments=[*arguments, "i32[4]", "i32[4]"]))  # and two pointers to scratch memory
            print(f"{kernel.__name__} for {chip}", file=sys.stderr, flush=True)
    (folder / "launches.json").write_text(json.dumps(dict(version=triton.__version__, launches=launches)))


main(pathlib.Path(sys.argv[1]), sys.argv[2:])
