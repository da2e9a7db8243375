#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The references of the demo, in plain Python: `demo_check.py matmul A.npy B.npy C.npy`, `softmax X.npy Y.npy`, or `layer` with, of
four ranks, partial and residual by turns, then the four normalised blocks, then the four gathered ones.

Exits with 1 and names the worst element when the result is farther from the reference, computed in f64, than its type explains.
"""
import ast
import math
import operator
import struct
import sys

KINDS = {"<f2": "e", "<f4": "f", "<f8": "d"}
ROUNDING = {"<f2": 2.0**-11, "<f4": 2.0**-24, "<f8": 2.0**-53}  # half a unit in the last place, relative


def read_npy(path):
    """The rows of a matrix in NumPy's file format, and its element type."""
    with open(path, "rb") as file:
        data = file.read()
    if data[:6] != b"\x93NUMPY":
        sys.exit(f"{path}: error: not a .npy file")
    begin, size = (10, struct.unpack("<H", data[8:10])[0]) if data[6] == 1 else (12, struct.unpack("<I", data[8:12])[0])
    header = ast.literal_eval(data[begin:begin + size].decode("latin1"))
    (rows, columns), kind = header["shape"], header["descr"]
    if kind not in KINDS or header["fortran_order"]:
        sys.exit(f"{path}: error: expected a row-major matrix of floats, found {header}")
    values = struct.unpack_from(f"<{rows * columns}{KINDS[kind]}", data, begin + size)
    return [values[row * columns:(row + 1) * columns] for row in range(rows)], kind


def matmul(a, b):
    """The product, and the relative and absolute error that f32 sums of values below 1, in any order, may add."""
    columns = list(zip(*b))
    product = [[sum(map(operator.mul, row, column)) for column in columns] for row in a]
    return product, (0.0, len(b) * len(b) * 2.0**-24)


def softmax(x):
    """The softmax of each row, and the relative and absolute error that f32 exponentials and sums may add."""
    result = []
    for row in x:
        powers = [math.exp(value - max(row)) for value in row]
        total = sum(powers)
        result.append([power / total for power in powers])
    return result, (1e-5, 0.0)


def layer(arrays):
    """Of each rank the normalised rows, and all rows together; f32 sums of 64 squares may add to the error."""
    partials, residuals = arrays[0::2], arrays[1::2]
    blocks = []
    for residual in residuals:
        block = []
        for row, line in enumerate(residual):
            total = [sum(values) + rest for *values, rest in zip(*(partial[row] for partial in partials), line)]
            scale = 1 / math.sqrt(sum(value * value for value in total) / len(total) + 1e-5)
            block.append([value * scale for value in total])
        blocks.append(block)
    return blocks, [row for block in blocks for row in block]


def check_layer(paths):
    arrays = [read_npy(path)[0] for path in paths]
    blocks, rows = layer(arrays[:8])
    for rank in range(4):
        compare(f"rank {rank}, normalised", blocks[rank], arrays[8 + rank], 1e-5, 1e-6)
        compare(f"rank {rank}, gathered", rows, arrays[12 + rank], 1e-5, 1e-6)
    if any(array != arrays[12] for array in arrays[13:]):
        sys.exit("layer: error: the gathered rows differ between the ranks")
    print("the gathered rows are the same bits on every rank")


def compare(name, expected, found, relative, absolute):
    """Every |found - expected| must stay within relative * |expected| + absolute."""
    if [len(row) for row in expected] != [len(row) for row in found]:
        sys.exit(f"{name}: error: the result's shape is not the reference's")
    worst, place = -1.0, None
    for row, (want, have) in enumerate(zip(expected, found)):
        for column, (right, result) in enumerate(zip(want, have)):
            error = abs(result - right) / (abs(right) * relative + absolute)
            if not error <= worst:  # also true for NaN
                worst, place = error, (row, column, right, result)
            if not error <= 1:
                sys.exit(f"{name}: error: element [{row}, {column}] is {result}, the reference says {right}")
    row, column, right, result = place
    print(f"{name}: {len(found)}x{len(found[0])} elements agree; the farthest is [{row}, {column}]: {result:.9g}, reference {right:.9g}")


def main():
    if len(sys.argv) == 18 and sys.argv[1] == "layer":
        check_layer(sys.argv[2:])
        return
    references = {"matmul": (matmul, 2), "softmax": (softmax, 1)}
    if len(sys.argv) < 2 or sys.argv[1] not in references or len(sys.argv) != 3 + references[sys.argv[1]][1]:
        print(__doc__, file=sys.stderr)
        sys.exit(2)
    reference, inputs = references[sys.argv[1]]
    expected, (relative, absolute) = reference(*[read_npy(path)[0] for path in sys.argv[2:2 + inputs]])
    found, kind = read_npy(sys.argv[-1])
    compare(sys.argv[1], expected, found, relative + ROUNDING[kind], absolute)


if __name__ == "__main__":
    main()
