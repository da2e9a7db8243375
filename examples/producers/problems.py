# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The five problems that every compiler's kernels solve: their inputs, what must come out, and how exactly. Plain Python, so
that the test of these kernels needs no packages."""
import math
import random
import re
import struct

LETTERS = {"<f4": "f", "<f2": "e", "<i4": "i"}
COUNT, ROWS, COLUMNS = 1500, 6, 200       # vector_add; row_softmax
M, N, K = 128, 64, 96                     # matmul; the transpose is of K x N
VALUES, BINS = 2000, 64                   # histogram


class Array:
    """A buffer: its type as NumPy writes it, its shape, and its elements in order of rows."""

    def __init__(self, dtype, shape, values):
        self.dtype, self.shape, self.values = dtype, tuple(shape), list(values)


def write_npy(path, array):
    shape = ", ".join(map(str, array.shape)) + ","
    header = f"{{'descr': '{array.dtype}', 'fortran_order': False, 'shape': ({shape}), }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    body = struct.pack(f"<{len(array.values)}{LETTERS[array.dtype]}", *array.values)
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + body)


def read_npy(path):
    data = path.read_bytes()
    start = 10 + struct.unpack_from("<H", data, 8)[0]
    dtype = re.search(r"'descr': '(.*?)'", data[10:start].decode()).group(1)
    return struct.unpack(f"<{(len(data) - start) // struct.calcsize(LETTERS[dtype])}{LETTERS[dtype]}", data[start:])


class Problem:
    """`inputs` and `outputs` are buffers by name; `outputs` hold what the kernel finds there, `expected` what it must leave."""

    def __init__(self, inputs, outputs, expected, tolerance=0.0):
        self.inputs, self.outputs, self.expected, self.tolerance = inputs, outputs, expected, tolerance

    def compare(self, name, made):
        """A sentence on the first element that is wrong, or none."""
        wanted = self.expected[name]
        if len(made) != len(wanted):
            return f"`{name}` has {len(made)} elements and must have {len(wanted)}"
        for i, (value, right) in enumerate(zip(made, wanted)):
            if not abs(value - right) <= self.tolerance * abs(right):
                return f"`{name}[{i}]` is {value} and must be {right} within relative {self.tolerance}"
        return None


def problems():
    """By the kernel's name. The inputs are eighths, so that sums of their products are exact in f32, in every order."""
    source = random.Random(7)

    def eighths(dtype, *shape):
        return Array(dtype, shape, (source.randint(-8, 8) / 8 for _ in range(math.prod(shape))))

    def zeros(dtype, *shape):
        return Array(dtype, shape, [0] * math.prod(shape))

    x, y = eighths("<f4", COUNT), eighths("<f4", COUNT)
    rows = eighths("<f4", ROWS, COLUMNS)
    a, b = eighths("<f2", M, K), eighths("<f2", K, N)
    tile = eighths("<f4", K, N)
    values = Array("<i4", [VALUES], (source.randrange(BINS) for _ in range(VALUES)))
    softmax = []
    for row in range(ROWS):
        powers = [math.exp(value) for value in rows.values[row * COLUMNS:(row + 1) * COLUMNS]]
        softmax += [power / sum(powers) for power in powers]
    columns = [b.values[n::N] for n in range(N)]
    return {
        "vector_add": Problem(dict(x=x, y=y), dict(out=zeros("<f4", COUNT)), dict(out=[i + j for i, j in zip(x.values, y.values)])),
        "row_softmax": Problem(dict(x=rows), dict(out=zeros("<f4", ROWS, COLUMNS)), dict(out=softmax), 1e-5),
        "matmul": Problem(dict(a=a, b=b), dict(c=zeros("<f4", M, N)), dict(
            c=[sum(map(lambda i, j: i * j, a.values[m * K:(m + 1) * K], column)) for m in range(M) for column in columns])),
        "transpose": Problem(dict(x=tile), dict(out=zeros("<f4", N, K)), dict(
            out=[tile.values[k * N + n] for n in range(N) for k in range(K)])),
        "histogram": Problem(dict(x=values), dict(bins=zeros("<i4", BINS)), dict(bins=[values.values.count(i) for i in range(BINS)])),
    }
