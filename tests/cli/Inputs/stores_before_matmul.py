#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Moves the stores to shared memory after the first matmul of a loop before it: what a kernel by hand may do."""
import sys

lines = sys.stdin.read().split("\n")
loop = next(i for i, line in enumerate(lines) if "scf.for" in line)
matmul = next(i for i in range(loop, len(lines)) if "simt.dot" in lines[i])
end = next(i for i in range(matmul, len(lines)) if "scf.yield" in lines[i])
stores = [line for line in lines[matmul:end] if "simt.store_shared" in line]
assert stores, "the loop stores nothing"
rest = [line for line in lines[matmul:end] if line not in stores]
print("\n".join(lines[:matmul] + stores + rest + lines[end:]))
