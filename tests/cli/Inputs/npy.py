# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes a .npy file: npy.py FILE DTYPE SHAPE VALUE... [--fortran]; VALUEs are numbers, or START:COUNT. SHAPE is `2,3`."""
import struct
import sys

arguments = [a for a in sys.argv[1:] if a != "--fortran"]
fortran = "--fortran" in sys.argv
path, dtype, shape, *texts = arguments
letter = {"<f4": "f", "<f8": "d", "<i4": "i", "<u2": "H", "<f2": "e", "<i8": "q", ">f4": "f", "|u1": "B"}[dtype]
values = []
for text in texts:
    if ":" in text:
        start, count = text.split(":")
        values += [float(start) + i for i in range(int(count))]
    else:
        values.append(float(text))
if letter not in "fde":
    values = [int(v) for v in values]
order = ">" if dtype[0] == ">" else "<"
header = "{'descr': '%s', 'fortran_order': %s, 'shape': (%s,), }" % (dtype, fortran, shape)
header += " " * (-(len(header) + 11) % 64) + "\n"
with open(path, "wb") as file:
    file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
    file.write(struct.pack(order + letter * len(values), *values))
