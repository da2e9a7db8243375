#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Heddle's estimate of the registers that a thread of a kernel for sm_90 needs, beside what NVIDIA's assembler needs.

Compiles each Triton IR text with 4 and 8 warps, assembles the PTX with ptxas, and tells where the number of resident
blocks that Heddle chose makes registers spill that one block would not. With --needed it also looks for the least limit
of registers without spills, in steps of 8, which takes up to 25 runs of ptxas for each.

    python3 bench/peers/register_estimates.py tests compiler bench --ptxas ptxas
    python3 bench/peers/register_estimates.py tests/corpus bench/kernels --needed
"""
import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

LIMITS = range(32, 256, 8)


def assemble(ptxas, text):
    """Bytes of registers that are spilled, or None where ptxas refuses the limit."""
    with tempfile.NamedTemporaryFile("w", suffix=".ptx") as file:
        file.write(text)
        file.flush()
        done = subprocess.run([ptxas, "-arch=sm_90a", "-v", file.name, "-o", "/dev/null"], capture_output=True, text=True)
    found = re.search(r"(\d+) bytes spill stores", done.stderr)
    return int(found.group(1)) if found else None


def compiled(heddle, path, warps):
    """The PTX, the blocks that it asks for and the estimate; nothing for a text that is not for sm_90."""
    command = [heddle, "compile", str(path), "--target", "sm_90", "--warps", str(warps), "--to", "asm", "--remarks"]
    done = subprocess.run(command, capture_output=True, text=True)
    found = re.search(r"needs about (\d+) registers: (\d+) block", done.stderr)
    return (done.stdout, int(found.group(2)), int(found.group(1))) if done.returncode == 0 and found else None


def needed(ptxas, ptx):
    for limit in [*LIMITS, 255]:
        if assemble(ptxas, re.sub(r"\.minnctapersm \d+", f".maxnreg {limit}", ptx)) == 0:
            return limit
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=pathlib.Path)
    parser.add_argument("--heddle", default="build/bin/heddle")
    parser.add_argument("--ptxas", default="ptxas")
    parser.add_argument("--needed", action="store_true", help="also the least registers without spills")
    options = parser.parse_args()
    files = sorted({file for folder in options.folders for file in folder.rglob("*.ttir") if ".gfx" not in file.name})
    count, worse, ratios = 0, 0, []
    for file in files:
        for warps in (4, 8):
            result = compiled(options.heddle, file, warps)
            if not result:
                continue
            ptx, blocks, estimate = result
            count += 1
            chosen = assemble(options.ptxas, ptx)
            alone = assemble(options.ptxas, re.sub(r"minnctapersm \d+", "minnctapersm 1", ptx))
            line = f"{file.name} w{warps}: estimate {estimate}, {blocks} blocks, spilled {chosen} bytes, {alone} for one block"
            if options.needed:
                least = needed(options.ptxas, ptx)
                line += f", needs {least}"
                if least and least > 48:
                    ratios.append(estimate / least)
            if options.needed or chosen != alone:
                print(line, flush=True)
            worse += chosen is None or chosen > (alone or 0)
    print(f"{count} compilations, {worse} spill more than with one block")
    if ratios:
        print(f"estimate by what is needed, of {len(ratios)} that need more than 48: {min(ratios):.2f} to {max(ratios):.2f}")
    return 0 if count else 1


if __name__ == "__main__":
    sys.exit(main())
