#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Heddle's machine code for AMD chips beside Triton's, without running either: what `heddle inspect` says of both.

Each kernel of tests/corpus is compiled by Heddle, with as many warps as Triton had; Triton 3.6's assembly lies beside it. A
cell is Heddle's number, a slash, Triton's. `ratio` is Heddle's instructions by Triton's, of all code and of the code in loops:
below 1 Heddle has fewer. `memory` counts accesses of global memory, `waves` those that a SIMD holds. How often a loop runs, what an instruction costs and what a wait takes is not known here.

  python3 bench/amd_static.py
  python3 bench/amd_static.py --chips gfx950 --kernels matmul_f16 attention_causal --json rows.json
"""
import argparse
import json
import math
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
CORPUS = ROOT / "tests" / "corpus"
LANES = 64
# What Triton's metadata calls `shared`; its code objects do not say it.
TRITON_LDS = {
    "amax_atomic": 1024, "attention_causal": 24576, "jagged_rowsum": 1024, "layer_norm": 2048, "matmul_f16": 8192,
    "row_softmax": 16, "rowwise_fp8": 128, "spin_lock_sum": 16, "split_k_matmul_acq_rel": 8192,
    "split_k_matmul_relaxed": 8192, "transpose_f16": 8192, "vector_add": 0,
}
TRITON_LDS_OF = {("matmul_f16", "gfx942"): 4096}


def run(*command):
    result = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if result.returncode:
        print(f"amd_static: `{' '.join(str(word) for word in command)}` failed:\n{result.stderr}", file=sys.stderr)
        raise SystemExit(3)
    return result.stdout


def numbers(heddle, *arguments):
    """What the table says of one kernel."""
    report = json.loads(run(heddle, "inspect", *arguments, "--json", "--waits"))
    resources, waits = report["resources"], report["waits"]
    instructions = report["code"]["instructions"]
    return {
        "workItems": resources["workItems"],
        "vector": resources["architectedRegisters"],
        "accumulation": resources["accumulationRegisters"],
        "scalar": resources["scalarRegisters"],
        "lds": resources["declaredLdsBytes"] + resources["dynamicLdsBytes"],
        "scratch": resources["scratchBytes"],
        "spills": resources["vectorSpills"] + resources["scalarSpills"],
        "occupancy": report["occupancy"]["wavesPerSimd"],
        "instructions": instructions["all"]["all"],
        "inLoops": instructions["all"]["inLoops"],
        "matrix": instructions["matrix"]["all"],
        "memory": instructions["vector memory"]["all"],
        "waits": waits["all"],
        "tooLong": waits["tooLong"],
        "forNothing": waits["forNothing"],
        "complete": report["code"]["complete"],
    }


def compare(heddle, clang, kernel, chip, folder):
    theirs_file, ours_file = folder / f"{kernel}.{chip}.hsaco", folder / f"{kernel}.{chip}.hpkg"
    run(clang, "-x", "assembler", "-target", "amdgcn-amd-amdhsa", f"-mcpu={chip}",
        CORPUS / "triton-3.6" / f"{kernel}.{chip}.amdgcn", "-o", theirs_file)
    lds = TRITON_LDS_OF.get((kernel, chip), TRITON_LDS[kernel])
    theirs = numbers(heddle, theirs_file, "--lds", lds)
    run(heddle, "compile", CORPUS / f"{kernel}.gfx942.ttir", "--target", chip, "--warps", theirs["workItems"] // LANES,
        "-o", ours_file)
    return {"kernel": kernel, "chip": chip, "heddle": numbers(heddle, ours_file), "triton": theirs}


def ratio(row, field):
    """None where either side has none."""
    ours, theirs = row["heddle"][field], row["triton"][field]
    return ours / theirs if ours and theirs else None


def geometric_mean(values):
    known = [value for value in values if value is not None]
    return math.exp(sum(map(math.log, known)) / len(known)) if known else None


COLUMNS = [("VGPRs", "vector"), ("AGPRs", "accumulation"), ("SGPRs", "scalar"), ("LDS", "lds"), ("scratch", "scratch"),
           ("spills", "spills"), ("waves", "occupancy"), ("instructions", "instructions"), ("in loops", "inLoops"),
           ("matrix", "matrix"), ("memory", "memory"), ("waits", "waits"), ("too long", "tooLong"), ("without effect", "forNothing")]
RATIOS = [("ratio", "instructions"), ("in loops", "inLoops")]


def print_table(rows):
    def text(value):
        return "-" if value is None else f"{value:.2f}"

    print("| kernel | chip | " + " | ".join(name for name, _ in COLUMNS + RATIOS) + " |")
    print("|---|---|" + "---|" * len(COLUMNS + RATIOS))
    for row in rows:
        cells = [f"{row['heddle'][field]}/{row['triton'][field]}" for _, field in COLUMNS]
        cells += [text(ratio(row, field)) for _, field in RATIOS]
        print(f"| `{row['kernel']}` | {row['chip']} | " + " | ".join(cells) + " |")
    print()
    for name, field in [("instructions", "instructions"), ("instructions in loops", "inLoops"), ("waits", "waits"),
                        ("waves on a SIMD", "occupancy")]:
        each = [f"{chip} {text(geometric_mean([ratio(row, field) for row in rows if row['chip'] == chip]))}"
                for chip in dict.fromkeys(row["chip"] for row in rows)]
        print(f"Heddle / Triton, {name}, geometric mean: {', '.join(each)}")
    for row in rows:
        for side in "heddle", "triton":
            if not row[side]["complete"]:
                print(f"{row['kernel']} for {row['chip']}: not all of {side}'s code could be followed")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--heddle", default=str(ROOT / "build" / "bin" / "heddle"))
    parser.add_argument("--clang", default="clang-22")
    parser.add_argument("--chips", nargs="+", default=["gfx942", "gfx950"], choices=["gfx942", "gfx950"])
    parser.add_argument("--kernels", nargs="+", default=sorted(TRITON_LDS), choices=sorted(TRITON_LDS))
    parser.add_argument("--json", help="also write all numbers to this file")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        rows = [compare(options.heddle, options.clang, kernel, chip, pathlib.Path(folder))
                for chip in options.chips for kernel in options.kernels]
    print_table(rows)
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(rows, indent=2) + "\n")


if __name__ == "__main__":
    main()
