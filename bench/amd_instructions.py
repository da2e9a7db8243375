#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Instructions that waves execute, and lines of 128 bytes that their vector instructions touch, on a simulated AMD chip:
Heddle's code beside Triton's, of the same Triton IR.

  bench/amd_instructions.py                     both chips, all kernels of tests/corpus
  bench/amd_instructions.py --chip gfx950 --kernel matmul_f16
  bench/amd_instructions.py --prefetch          loops over matmuls as they are by default, and with --stages 1
  bench/amd_instructions.py --time              estimated cycles (docs/timing.md) in place of both counts; with --prefetch too
  bench/amd_instructions.py --triton FOLDER     instructions, estimated cycles and LDS beside another Triton's code

Triton 3.6's objects are those that the build assembles for the tests (build/test/simulator/triton). Both run the same
launch with the same inputs, four waves in a workgroup, as Triton compiled them. FOLDER holds, of each kernel of
tests/corpus/kernels.py, NAME.CHIP.amdgcn as Triton's `kernel.asm` gives it, NAME.CHIP.ttir if Heddle is to compile that text
and not the one of 3.6, and sizes.json: {"NAME.CHIP": {"lds": what Triton's metadata calls `shared`}}. LDS is what a workgroup
is given: what the kernel declares, rounded up to the chip's granule.
"""
import argparse
import json
import os
import struct
import tempfile

from amd_code import assemble, geometric_mean, package_lds, ratio, run, simulate, workgroup_lds

HEDDLE = "build/bin/heddle"


def rand(kind, shape, seed):
    return f"rand:{kind}[{shape}]:{seed}"


# Grid, LDS bytes of Triton's object (gfx942, gfx950: what its metadata calls `shared`), arguments.
KERNELS = {
    "vector_add": ("98", (0, 0), [rand("f32", 100000, 1), rand("f32", 100000, 2), "f32[100000]", "100000"]),
    "row_softmax": ("32", (16, 16), ["f32[64,1000]", rand("f32", "64,1000", 3), "1000", "1000", "64", "1000"]),
    "layer_norm": ("32", (2048, 2048), [rand("bf16", "32,1100", 4), "bf16[32,1100]", rand("bf16", 1100, 5),
                                        rand("bf16", 1100, 6), "f32[32]", "f32[32]", "1100", "1100", "1e-5"]),
    "matmul_f16": ("16", (4096, 8192), [rand("f16", "256,256", 7), rand("f16", "256,256", 8), "f16[256,256]", "256",
                                        "256", "256", "256", "256", "256"]),
    "split_k_matmul_relaxed": ("8,4,4", (8192, 8192), [rand("bf16", "256,512", 9), rand("bf16", "512,256", 10),
                                                       "zeros:f32[256,256]", "256", "256", "512"]),
    "split_k_matmul_acq_rel": ("8,4,4", (8192, 8192), [rand("bf16", "256,512", 9), rand("bf16", "512,256", 10),
                                                       "zeros:f32[256,256]", "256", "256", "512"]),
    "rowwise_fp8": ("8", (128, 128), [rand("bf16", "128,1000", 11), "f8E4M3FN[128,1000]", "f32[128]", "128", "1000"]),
    "amax_atomic": ("4,4", (1024, 1024), [rand("bf16", "256,256", 12), "zeros:f32[256]", "256", "256"]),
    "jagged_rowsum": ("4,4", (1024, 1024), [rand("bf16", "300,256", 15), "@build/jagged_ends.npy", "f32[4,256]", "256",
                                            "4"]),
    "transpose_f16": ("4,4", (8192, 8192), [rand("f16", "256,256", 13), "f16[256,256]", "256", "256"]),
    "spin_lock_sum": ("16", (16, 16), [rand("f32", 4096, 14), "zeros:f32[1]", "zeros:i32[1]", "4096"]),
    "attention_causal": ("4,2", (24576, 24576), [rand("f16", "2,256,64", 16), rand("f16", "2,256,64", 17),
                                                 rand("f16", "2,256,64", 18), "f16[2,256,64]", "256", "0.125"]),
}


# With loops over matmuls: file, grid, arguments.
LOOPS = {name: (f"tests/corpus/{name}.gfx942.ttir", KERNELS[name][0], KERNELS[name][2])
         for name in ["matmul_f16", "split_k_matmul_relaxed", "attention_causal"]}
LOOPS["matmul_bf16_128x128x64"] = ("bench/kernels/matmul_bf16_128x128x64.ttir", "4", [
    rand("bf16", "256,512", 1), rand("bf16", "512,256", 2), "bf16[256,256]", "256", "256", "512", "512", "256", "256"])


def write_offsets(path, ends):
    """Row offsets as a NumPy file of i32: where each group of rows ends."""
    header = f"{{'descr': '<i4', 'fortran_order': False, 'shape': ({len(ends)},), }}".ljust(117) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
        file.write(struct.pack(f"<{len(ends)}i", *ends))


def count(command):
    """Instructions of waves, and lines of memory that their vector instructions touch."""
    result = json.loads(run(command + ["--transactions", "--json"]))
    lines = sum(result["transactions"][kind]["lines"] for kind in ("reads", "writes", "atomics"))
    return result["instructions"], lines


def cycles(command):
    """The estimate of docs/timing.md."""
    return simulate(command)[1]


def numbered(values):
    return [text for i, value in enumerate(values) for text in ("--arg", f"{i}={value}")]


def in_loops(package):
    """Of one wave's code."""
    return json.loads(run([HEDDLE, "inspect", package, "--json"]))["code"]["instructions"]["all"]["inLoops"]


def prefetched(chip):
    """Of each loop the name, the package by default and that without prefetch, and the rest of a command that runs it."""
    for name, (file, grid, values) in LOOPS.items():
        packages = []
        for stages in [[], ["--stages", "1"]]:
            packages.append(f"build/prefetch{len(packages)}.hpkg")
            run([HEDDLE, "compile", file, "--target", chip, "-o", packages[-1]] + stages)
        yield name, packages, ["--grid", grid] + numbered(values)


def show_prefetch(chips):
    print(f"{'':24} {'executed':>12} {'none':>10} {'ratio':>7} {'in loop':>12} {'none':>10} {'ratio':>7}")
    for chip in chips:
        for name, packages, rest in prefetched(chip):
            (executed, loop), (executed_none, loop_none) = [
                (count([HEDDLE, "simulate", package] + rest)[0], in_loops(package)) for package in packages]
            print(f"{name + ' ' + chip:32} {executed:8} {executed_none:10} {executed / executed_none:7.2f} {loop:12} "
                  f"{loop_none:10} {loop / loop_none:7.2f}")


def commands_of(name, chip):
    """Of Heddle's code and of Triton's."""
    grid, lds, values = KERNELS[name]
    ours = [HEDDLE, "simulate", f"tests/corpus/{name}.gfx942.ttir", "--target", chip, "--grid", grid] + numbered(values)
    theirs = [HEDDLE, "simulate", f"build/test/simulator/triton/{name}.{chip}.hsaco", "--grid", grid, "--block", "256",
              "--lds", str(lds[chip == "gfx950"])] + numbered(values + ["i8[1]", "i8[1]"])
    return ours, theirs


def show_beside(folder, chips, kernels):
    """Three columns of ours, and of the code in the folder."""
    with open(os.path.join(folder, "sizes.json"), encoding="utf-8") as file:
        sizes = json.load(file)
    titles = ("instructions", "cycles", "LDS")
    for chip in chips:
        print(f"{chip:24}" + "".join(f"{title:>14}{'Triton':>10}{'ratio':>7}" for title in titles))
        rows = []
        for name in kernels:
            grid, _, values = KERNELS[name]
            text, declared = f"{folder}/{name}.{chip}.ttir", sizes[f"{name}.{chip}"]["lds"]
            text = text if os.path.exists(text) else f"tests/corpus/{name}.gfx942.ttir"
            with tempfile.TemporaryDirectory() as scratch:
                package = f"{scratch}/k.hpkg"
                run([HEDDLE, "compile", text, "--target", chip, "-o", package])
                ours = (*simulate([HEDDLE, "simulate", package, "--grid", grid] + numbered(values)),
                        package_lds(HEDDLE, package, chip))
                object_file = assemble(f"{folder}/{name}.{chip}.amdgcn", chip, scratch)
                theirs = (*simulate([HEDDLE, "simulate", object_file, "--grid", grid, "--block", "256", "--lds",
                                     str(declared)] + numbered(values + ["i8[1]", "i8[1]"])),
                          workgroup_lds(declared, chip))
            rows.append([ratio(*pair) for pair in zip(ours, theirs)])
            print(f"{name:24}" + "".join(f"{mine:14.0f}{other:10.0f}{each:7.2f}"
                                         for mine, other, each in zip(ours, theirs, rows[-1])), flush=True)
        means = [geometric_mean(column) for column in list(zip(*rows))[:2]]
        print(f"{'geometric mean':24}" + "".join(f"{'':24}{mean:7.2f}" for mean in means))


def show_cycles(chips, kernels):
    for chip in chips:
        print(f"{chip:24} {'cycles':>12} {'Triton':>10} {'ratio':>7}")
        ratios = []
        for name in kernels:
            ours, theirs = map(cycles, commands_of(name, chip))
            ratios.append(ours / theirs)
            print(f"{name:24} {ours:12.0f} {theirs:10.0f} {ratios[-1]:7.2f}", flush=True)
        print(f"{'geometric mean':24} {'':12} {'':10} {geometric_mean(ratios):7.2f}")


def show_prefetch_cycles(chips):
    print(f"{'':32} {'cycles':>8} {'none':>10} {'ratio':>7}")
    for chip in chips:
        for name, packages, rest in prefetched(chip):
            ours, none = (cycles([HEDDLE, "simulate", package] + rest) for package in packages)
            print(f"{name + ' ' + chip:32} {ours:8.0f} {none:10.0f} {ours / none:7.2f}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--chip", choices=["gfx942", "gfx950"], action="append")
    parser.add_argument("--kernel", choices=sorted(KERNELS), action="append")
    parser.add_argument("--prefetch", action="store_true")
    parser.add_argument("--time", action="store_true")
    parser.add_argument("--triton", metavar="FOLDER")
    options = parser.parse_args()
    chips = options.chip or ["gfx942", "gfx950"]
    if options.prefetch:
        return show_prefetch_cycles(chips) if options.time else show_prefetch(chips)
    write_offsets("build/jagged_ends.npy", [70, 75, 210, 300])
    if options.triton:
        return show_beside(options.triton, chips, options.kernel or KERNELS)
    if options.time:
        return show_cycles(chips, options.kernel or KERNELS)
    for chip in chips:
        print(f"{chip:24} {'instructions':>12} {'Triton':>10} {'ratio':>7} {'lines':>12} {'Triton':>10} {'ratio':>7}")
        ratios = []
        for name in options.kernel or KERNELS:
            ours, theirs = map(count, commands_of(name, chip))
            ratios.append([mine / other for mine, other in zip(ours, theirs)])
            print(f"{name:24} {ours[0]:12} {theirs[0]:10} {ratios[-1][0]:7.2f} {ours[1]:12} {theirs[1]:10} "
                  f"{ratios[-1][1]:7.2f}")
        means = [geometric_mean(column) for column in zip(*ratios)]
        print(f"{'geometric mean':24} {'':12} {'':10} {means[0]:7.2f} {'':12} {'':10} {means[1]:7.2f}")


if __name__ == "__main__":
    main()
