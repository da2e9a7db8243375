#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels of a module of cases on gfx942 or gfx950: Heddle's code beside Triton's of the same Triton IR, on the simulator.

  bench/peers/amd_kernels.py
  bench/peers/amd_kernels.py --cases bench/peers/model_kernels.py --chip gfx942 --case sort_rows_of_256 --json rows.json

A module of cases is one that triton_kernels.py takes. Of each case both codes run the same launch, as many warps in a block,
and their results are compared. Columns: estimated cycles (docs/timing.md) and instructions that waves execute; below 1 Heddle
takes fewer. Sizes are the case's divided by `--shrink`, or as the module's `SIMULATED` says, divisors by name: with the usual ones
a compute unit has one block. Needs Triton (3.9; no GPU).
"""
import argparse
import collections
import contextlib
import ctypes
import json
import os
import sys
import tempfile

import numpy
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

import triton_kernels
from kernel_cases import say

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from amd_code import assemble, geometric_mean, ratio, run, simulate  # noqa: E402 the folder above

DIVISOR = 1024

# What a case's path is here.
Kernel = collections.namedtuple("Kernel", "function signature constants aligned", defaults=[()])


def compile_by_triton(kernel, chip, warps):
    """What Triton's launcher would compile for tensors of less than 2 GB."""
    names = kernel.function.arg_names
    types = {name: kernel.signature.get(name, "constexpr") for name in names}
    attributes = {}
    for i, name in enumerate(names):
        if types[name].startswith("*"):
            attributes[(i,)] = [["tt.divisibility", 16], ["tt.pointer_range", 32]]
        elif name in kernel.aligned:
            attributes[(i,)] = [["tt.divisibility", 16]]
    source = ASTSource(fn=kernel.function, signature=types, constexprs=kernel.constants, attrs=attributes)
    return triton.compile(source, target=GPUTarget("hip", chip, 64), options={"num_warps": warps, "enable_fp_fusion": True})


def write_arguments(values, scratch):
    """As words of the command line."""
    words = []
    for i, value in enumerate(values):
        if isinstance(value, numpy.ndarray):
            numpy.save(f"{scratch}/{i}.npy", value)
            text = f"@{scratch}/{i}.npy"
        else:
            text = repr(value.value) if isinstance(value, ctypes.c_float) else str(value.value)
        words += ["--arg", f"{i}={text}"]
    return words


def run_launch(command, case, words, results):
    """Instructions and cycles; the outputs go to files whose names begin with `results`."""
    outputs = [word for index, _, _ in case.outputs for word in ("--out", f"{index}={results}.{index}.npy")]
    return simulate(command + ["--grid", ",".join(map(str, case.grid))] + words + outputs)


def worst_difference(case, scratch):
    """By its tolerance; above 1 is wrong."""
    worst = 0.0
    for index, dtype, tolerance in case.outputs:
        like = case.arguments[index]
        ours, theirs = (numpy.load(f"{scratch}/{side}.{index}.npy").view(like.dtype) for side in ("heddle", "triton"))
        distance = triton_kernels.difference(ours, theirs, dtype)
        worst = max(worst, distance / tolerance if tolerance else (0.0 if distance == 0 else float("inf")))
    return worst


def compare(options, name, case, scratch):
    warps = options.warps or (case.warps or [4])[0]
    made = compile_by_triton(case.path, options.chip, warps)
    for kind in ("ttir", "amdgcn"):
        with open(f"{scratch}/k.{kind}", "w", encoding="utf-8") as file:
            file.write(made.asm[kind])
    package = f"{scratch}/k.hpkg"
    run([options.heddle, "compile", f"{scratch}/k.ttir", "--target", options.chip, "--warps", str(warps), "--fp-fusion", "-o", package])
    words = write_arguments(case.arguments, scratch)
    ours = run_launch([options.heddle, "simulate", package], case, words, f"{scratch}/heddle")
    # Triton's kernels take two more pointers, to scratch memory and to a profile, which these do not use.
    more = [word for i in range(2) for word in ("--arg", f"{len(case.arguments) + i}=i32[1]")]
    code = [options.heddle, "simulate", assemble(f"{scratch}/k.amdgcn", options.chip, scratch), "--block", str(64 * warps),
            "--lds", str(made.metadata.shared)]
    theirs = run_launch(code, case, words + more, f"{scratch}/triton")
    return {"case": name, "class": case.kind, "chip": options.chip, "warps": warps, "grid": case.grid,
            "instructions": [ours[0], theirs[0], ratio(ours[0], theirs[0])], "cycles": [ours[1], theirs[1], ratio(ours[1], theirs[1])],
            "difference": worst_difference(case, scratch)}


def result_of(options, make, name, divisor):
    """Its row, or what went wrong."""
    kept = options.keep and os.path.join(options.keep, f"{name}.{options.chip}")
    if kept:
        os.makedirs(kept, exist_ok=True)
    with contextlib.nullcontext(kept) if kept else tempfile.TemporaryDirectory() as scratch:
        try:
            return compare(options, name, make(divisor), scratch)
        except (Exception, SystemExit) as error:  # pylint: disable=broad-exception-caught
            return {"case": name, "chip": options.chip, "error": f"{type(error).__name__}: {error}"}


def print_row(row):
    if "error" in row:
        print(f"{row['case']:34} error: {row['error'][:300]}", flush=True)
        return
    print(f"{row['case']:34}" + "".join(f"{ours:13.0f}{theirs:10.0f}{each:7.2f}" for ours, theirs, each in
                                        (row["cycles"], row["instructions"]))
          + ("" if row["difference"] <= 1 else f"  WRONG RESULTS, {row['difference']:.3g} times the tolerance"), flush=True)


def print_means(rows):
    kinds = {}
    for row in rows:
        kinds.setdefault(row["class"], []).append(row)
    for kind, each in ({"geometric mean": rows} | kinds).items() if rows else []:
        means = [geometric_mean([row[column][2] for row in each]) for column in ("cycles", "instructions")]
        print(f"{f'{kind} ({len(each)})':34}" + "".join(f"{'':23}{mean:7.2f}" for mean in means))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", default=os.path.join(os.path.dirname(os.path.abspath(__file__)), "user_kernels.py"),
                        metavar="FILE", help="default user_kernels.py")
    parser.add_argument("--heddle", default="build/bin/heddle")
    parser.add_argument("--chip", default="gfx950", choices=("gfx942", "gfx950"))
    parser.add_argument("--case", action="append", help="may be given several times")
    parser.add_argument("--warps", type=int, help="of a block; default the case's first, else 4")
    parser.add_argument("--shrink", type=int, help=f"divide sizes by it; default SIMULATED's, else {DIVISOR}")
    parser.add_argument("--keep", metavar="FOLDER", help="leave both codes, arguments and results there")
    parser.add_argument("--json", help="a file for the rows")
    options = parser.parse_args()
    triton_kernels.translate = Kernel
    cases = triton_kernels.load_cases(options.cases)
    divisors = getattr(sys.modules[os.path.splitext(os.path.basename(options.cases))[0]], "SIMULATED", {})
    unknown = sorted(set(options.case or []) - set(cases))
    if unknown:
        parser.error(f"no case {', '.join(unknown)}; there are {', '.join(cases)}")
    print(f"Triton {triton.__version__}, {options.chip}\n{'':34}"
          + "".join(f"{title:>13}{'Triton':>10}{'ratio':>7}" for title in ("cycles", "instructions")))
    names, rows = options.case or list(cases), []
    for i, name in enumerate(names):
        if sys.stderr.isatty():
            say(f"{i + 1} of {len(names)}: {name}")
        rows.append(result_of(options, cases[name], name, options.shrink or divisors.get(name, DIVISOR)))
        print_row(rows[-1])
    right = [row for row in rows if "error" not in row]
    print_means(right)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(rows, file, indent=1)
    return 0 if len(right) == len(rows) and all(row["difference"] <= 1 for row in right) else 1


if __name__ == "__main__":
    sys.exit(main())
