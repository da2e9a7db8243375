#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What 3 million wave instructions a second would ask of a core where kernels are made of matrix instructions: how many of these
there are in 1000 instructions, the multiply-adds that each stands for, and how many a second that makes, beside how many one
core does at best: those of NumPy's f32 matmul on one thread.

  HEDDLE_AITER=folder OPENBLAS_NUM_THREADS=1 examples/production/matrix_work.py"""
import math
import os
import re
import subprocess
import sys
import tempfile
import time

import numpy as np

import production
import rates
from description import Kernel
from families import moe
from runner import Runner, Settings

GOAL = 3e6
MATRIX = re.compile(r"\bv_(s?)mf(?:ma|mac)_(?:scale_)?[a-z0-9]+_(\d+)x(\d+)x(\d+)(?:_(\d+)b)?")


def kernels():
    stage = "fmoe_stage1_bf16_pertokenInt8_g1u1_32x128_3tg_pf2"
    return rates.kernels()[:2] + [Kernel("fmoe_2stages", stage, "gfx942", f"gfx942/fmoe_2stages/{stage}.co",
                                         lambda: moe.first("gfx942", "int8", 32, 128))]


def count(runner):
    """Instructions, matrix instructions, and their multiply-adds, of a traced run; a sparse one has half of its k."""
    found = products = instructions = 0
    with subprocess.Popen(runner.simulate_command() + ["--trace"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                          text=True) as run:
        for line in run.stderr:
            instructions += 1
            if match := MATRIX.search(line):
                sparse, *sizes = match.groups()
                found += 1
                products += math.prod(int(size or 1) for size in sizes) // (2 if sparse else 1)
    return instructions, found, products


def best_of_a_core(size=2048, repeats=5):
    """Multiply-adds a second."""
    a, b = (np.random.default_rng(seed).standard_normal((size, size)).astype(np.float32) for seed in (1, 2))
    least = math.inf
    for _ in range(repeats):
        begin = time.process_time()
        a @ b
        least = min(least, time.process_time() - begin)
    return size ** 3 / least


def main():
    objects = production.objects_folder()
    with tempfile.TemporaryDirectory() as work:
        settings = Settings(os.environ.get("HEDDLE", "build/bin/heddle"), objects, work)
        peak = best_of_a_core()
        print(f"one core: {peak / 1e9:.1f} billion f32 multiply-adds a second")
        for kernel in kernels():
            instructions, found, products = count(Runner(kernel, settings))
            needed = products / instructions * GOAL
            print(f"{kernel.label}: {instructions} instructions, of 1000 {1000 * found / instructions:.0f} of matrices, each "
                  f"{products / found:.0f} multiply-adds; 3 million a second are {needed / 1e9:.1f} billion, "
                  f"{100 * needed / peak:.0f} % of the core")
    return 0


if __name__ == "__main__":
    sys.exit(main())
