#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Gluon kernels for AMD on the simulator: Heddle's code beside Triton's, of the same TTGIR.

  bench/peers/gluon_kernels.py FOLDER
  bench/peers/gluon_kernels.py FOLDER --kernel gemm_async_double --json rows.json

FOLDER holds, of each kernel, NAME.CHIP.ttgir and NAME.CHIP.amdgcn as Triton's `kernel.asm` gives them; sizes.json, with the
bytes of LDS of Triton's object as {"NAME.CHIP": {"lds": N}}; and cases.py, a module with TARGETS = {NAME: [CHIP, ...]}
and cases(NAME, CHIP, SEED) -> {"args": [(name, array or number)], "grid": ..., "warps": ...}. It needs NumPy.
Columns: instructions that waves execute, estimated cycles (docs/timing.md), bytes of LDS that a workgroup is
given: what it declares, rounded up to the chip's granule.
"""
import argparse
import importlib.util
import json
import os
import sys
import tempfile

import numpy

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from amd_code import assemble, geometric_mean, package_lds, ratio, run, simulate, workgroup_lds  # noqa: E402 the folder above


def load_cases(folder):
    spec = importlib.util.spec_from_file_location("cases", os.path.join(folder, "cases.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def compare(heddle, folder, cases, sizes, name, chip):
    """The three columns of ours, and of theirs."""
    case = cases.cases(name, chip, 1)
    with tempfile.TemporaryDirectory() as scratch:
        values = []
        for argument, value in case["args"]:
            if isinstance(value, numpy.ndarray):
                numpy.save(f"{scratch}/{argument}.npy", value)
                value = f"@{scratch}/{argument}.npy"
            values.append((argument, value))
        grid = ["--grid", ",".join(map(str, case["grid"]))]
        package = f"{scratch}/k.hpkg"
        run([heddle, "compile", f"{folder}/{name}.{chip}.ttgir", "-o", package])
        ours_lds = package_lds(heddle, package, chip)
        ours = simulate([heddle, "simulate", package] + grid +
                        [word for argument, value in values for word in ("--arg", f"{argument}={value}")])
        theirs_lds = sizes[f"{name}.{chip}"]["lds"]
        # Triton's kernels take two more pointers, to scratch memory and to a profile, which these do not use.
        numbered = [value for _, value in values] + ["i32[1]", "i32[1]"]
        theirs = simulate([heddle, "simulate", assemble(f"{folder}/{name}.{chip}.amdgcn", chip, scratch), "--block",
                           str(64 * case["warps"]), "--lds", str(theirs_lds)] + grid +
                          [word for i, value in enumerate(numbered) for word in ("--arg", f"{i}={value}")])
    return (*ours, ours_lds), (*theirs, workgroup_lds(theirs_lds, chip))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--heddle", default="build/bin/heddle")
    parser.add_argument("--kernel", action="append", help="one of the folder's; may be given several times")
    parser.add_argument("--json", help="a file for the rows")
    options = parser.parse_args()
    cases = load_cases(options.folder)
    with open(os.path.join(options.folder, "sizes.json"), encoding="utf-8") as file:
        sizes = json.load(file)
    unknown = sorted(set(options.kernel or []) - set(cases.TARGETS))
    if unknown:
        raise SystemExit(f"no kernel {', '.join(unknown)}; there are {', '.join(cases.TARGETS)}")
    titles = ("instructions", "cycles", "LDS")
    print(f"{'':38}" + "".join(f"{title:>14}{'Triton':>10}{'ratio':>7}" for title in titles))
    rows = []
    for name in options.kernel or cases.TARGETS:
        for chip in cases.TARGETS[name]:
            ours, theirs = compare(options.heddle, options.folder, cases, sizes, name, chip)
            ratios = [ratio(*pair) for pair in zip(ours, theirs)]
            rows.append({"kernel": name, "chip": chip, "heddle": ours, "triton": theirs, "ratios": ratios})
            print(f"{name + ' ' + chip:38}" + "".join(f"{mine:14.0f}{other:10.0f}{each:7.2f}"
                                                      for mine, other, each in zip(ours, theirs, ratios)), flush=True)
    means = [geometric_mean([row["ratios"][column] for row in rows]) for column in range(2)]
    print(f"{'geometric mean':38}" + "".join(f"{'':24}{mean:7.2f}" for mean in means))
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(rows, file, indent=1)


if __name__ == "__main__":
    main()
