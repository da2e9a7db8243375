#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Breaks the sources in one place at a time and tells which CTest program notices: whether the short form of the tests finds what
it should. The tree is not changed: a broken copy of the source is compiled and linked before the libraries of a build.
  python3 tests/structure/break_sources.py build              # all, an hour or more
  python3 tests/structure/break_sources.py build --only Fold  # those whose source or number matches
  python3 tests/structure/break_sources.py build --list
Ends with 1 if a break goes unnoticed, 2 if one cannot be made.
"""
import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
COLLECTIVES, NUMERICS = ["collective_test", "collective_amd_test"], ["numerics_test"]
FOLD, PACKETS, STEPS = (f"collectives/kernel/{name}.cpp" for name in ("Fold", "Packets", "KernelSteps"))
ALGORITHMS, ARITHMETIC = "collectives/algorithms/", "compiler/arithmetic/"
SIMT, AMD, HOST, TILES = (f"compiler/lowering/{name}/" for name in ("simt", "amdgpu", "host", "tile_to_simt"))

# Source, what it has once, what it has instead, programs of which one must notice.
BREAKS = [
    (FOLD, ": w.add(x, y);", ": w.mul(x, y);", COLLECTIVES),
    (FOLD, "w.binary<arith::MulFOp>(x, y)", "w.binary<arith::AddFOp>(x, y)", COLLECTIVES),
    (FOLD, ": w.mul(x, y);", ": w.add(x, y);", COLLECTIVES),
    (FOLD, "return w.binary<arith::MinimumFOp>(x, y);", "return w.binary<arith::MaximumFOp>(x, y);", COLLECTIVES),
    (FOLD, "return w.binary<arith::MaximumFOp>(x, y);", "return w.binary<arith::MinimumFOp>(x, y);", COLLECTIVES),
    (FOLD, "bits || isUnsigned(type) ? w.binary<arith::MinUIOp>", "bits ? w.binary<arith::MinUIOp>", COLLECTIVES),
    (FOLD, "bits || isUnsigned(type) ? w.binary<arith::MaxUIOp>", "bits ? w.binary<arith::MaxUIOp>", COLLECTIVES),
    (FOLD, "return w.bitAnd(x, y);", "return w.bitOr(x, y);", COLLECTIVES),
    (FOLD, "return w.bitOr(x, y);", "return w.bitAnd(x, y);", COLLECTIVES),
    (FOLD, "type == ElementType::F8E5M2 ? keepInfinities(accumulator, rounded) : rounded", "rounded", COLLECTIVES),
    (FOLD, "if (reduction == Reduction::Sum && isFloat(type))", "if (false)", COLLECTIVES),
    (PACKETS, "w.truncate(w.shiftRight(integers, w.i64(32)), 32)", "w.truncate(w.shiftRight(integers, w.i64(16)), 32)", COLLECTIVES),
    (PACKETS, "w.shiftLeft(w.extend(words[1], 64), w.i64(32))", "w.shiftLeft(w.extend(words[1], 64), w.i64(31))", COLLECTIVES),
    (PACKETS, "w.shiftLeft(w.extend(split.getOutRHS(), 2 * bits)", "w.shiftLeft(w.extend(split.getOutLHS(), 2 * bits)", COLLECTIVES),
    (STEPS, "plan.algorithm->slices ? sliceElements : inner", "inner", COLLECTIVES),
    (STEPS, "constant(plan.hasEscapes() ? escape : otherNaNs)", "constant(otherNaNs)", COLLECTIVES),
    (ALGORITHMS + "ExchangeDirect.cpp", "if (ranks % 2 == 0)", "if (ranks % 2 == 0 && ranks != 8)", COLLECTIVES),
    (ALGORITHMS + "ExchangeDirect.cpp", "if (ranks % 2 == 0)", "if (ranks % 2 == 0 && ranks != 2)", COLLECTIVES),
    (ALGORITHMS + "ExchangeDirect.cpp", "peers = (ranks - 1) / 2", "peers = (ranks - 1) / 2 - (ranks == 5)", COLLECTIVES),
    (ALGORITHMS + "ExchangeDirect.cpp", "mine.push_back(w.input(Rank::own(k)));", "mine.push_back(w.input(Rank::own()));", COLLECTIVES),
    (ALGORITHMS + "TwoShotPackets.cpp", "{ranks, Rank::own()}, sum", "{0, Rank::own()}, sum", COLLECTIVES),
    (ALGORITHMS + "TwoShotPull.cpp", "  w.barrier();\n  w.eachTile([&] {\n    TileHandle sum", "  w.eachTile([&] {\n    TileHandle sum", COLLECTIVES),
    (ARITHMETIC + "Integers.cpp", "isZero, isRemainder ? a : value(-1), result", "isZero, value(-1), result", NUMERICS),
    (ARITHMETIC + "Integers.cpp", 'isSigned ? "llvm.fptosi.sat" : "llvm.fptoui.sat"', '"llvm.fptosi.sat"', NUMERICS),
    (ARITHMETIC + "Floats.cpp", 'largest ? "llvm.maximumnum" : "llvm.minimumnum"', '"llvm.maximumnum"', NUMERICS),
    (ARITHMETIC + "NarrowFormats.cpp", "{3, 7, 0x7E, false, false}", "{3, 7, 0x7D, false, false}", NUMERICS),
    (ARITHMETIC + "NarrowFormats.cpp", "{2, 15, 0x7B, true, false}", "{2, 15, 0x7A, true, false}", NUMERICS),
    (ARITHMETIC + "NarrowFormats.cpp", "{3, 8, 0x7F, false, true}", "{3, 8, 0x7E, false, true}", NUMERICS),
    (ARITHMETIC + "NarrowFormats.cpp", "format.unsignedZero ? 0x80 : 0x7F", "0x7F", NUMERICS),
    (SIMT + "Scan.cpp", "reverse ? arith::CmpIPredicate::slt : arith::CmpIPredicate::sgt", "arith::CmpIPredicate::sgt", NUMERICS),
    (SIMT + "Scan.cpp", "reverse ? arith::CmpIPredicate::eq : arith::CmpIPredicate::ne", "arith::CmpIPredicate::ne", NUMERICS),
    (AMD + "MatrixProducts.cpp", "made.transposed ? std::pair(int64_t(0), at) : std::pair(at, int64_t(0))", "std::pair(at, int64_t(0))", NUMERICS),
    (AMD + "Lanes.cpp", "Value both = mask == 16 ?", "Value both = mask == 32 ?", NUMERICS),
    (TILES + "PipelineByThreads.cpp", "inits.append({i32(0), i32(stages - 1)})", "inits.append({i32(0), i32(0)})", NUMERICS),
    (HOST + "Reduce.cpp", "reverse ? lane + distance : lane - distance", "lane - distance", NUMERICS),
    (HOST + "Dot.cpp", "startAtZero ? zero(vector) : loadFrom(element(r, v), vector)", "zero(vector)", NUMERICS),
]


class BreakError(Exception):
    pass


def broken(number):
    """The text of the source with the break."""
    source, old, new, _ = BREAKS[number]
    text = (ROOT / source).read_text(encoding="utf-8")
    if text.count(old) != 1:
        raise BreakError(f"{source} has `{old}` {text.count(old)} times; a break wants what is there once")
    return text.replace(old, new)


def commands(build, target):
    return subprocess.run(["ninja", "-t", "commands", target], cwd=build, check=True, capture_output=True, text=True).stdout.splitlines()


def make(build, number, program, folder):
    """The program with the broken source; the build's own libraries and objects are as they are."""
    source = str(ROOT / BREAKS[number][0])
    copy, thing = pathlib.Path(folder, f"{number}.cpp"), pathlib.Path(folder, f"{number}.o")
    lines = commands(build, f"test/{program}")
    compile_line = [line for line in lines if re.search(rf" -c {re.escape(source)}$", line)]
    if not compile_line:
        raise BreakError(f"`{program}` is not made from {source}; the build must be one of this tree")
    copy.write_text(broken(number), encoding="utf-8")
    if not thing.exists():
        line = re.sub(r" -c \S+$", f" -c {copy}", re.sub(r" -MF \S+", " -MF /dev/null", re.sub(r" -o \S+", f" -o {thing}", compile_line[-1])))
        subprocess.run(line, shell=True, cwd=build, check=True, capture_output=True)
    result = pathlib.Path(folder, program)
    line = re.sub(rf" -o test/{program}\b", f" {thing} -o {result}", lines[-1])
    subprocess.run(line, shell=True, cwd=build, check=True, capture_output=True)
    return result


def tests_of(build, program):
    """Name, arguments and environment of each of CTest's tests of the program."""
    shown = subprocess.run(["ctest", "--show-only=json-v1"], cwd=build, check=True, capture_output=True, text=True).stdout
    for test in json.loads(shown)["tests"]:
        command = test.get("command", [""])
        if os.path.basename(command[0]) == program:
            settings = [each for entry in test.get("properties", []) if entry["name"] == "ENVIRONMENT" for each in entry["value"]]
            yield test["name"], command[1:], dict(setting.split("=", 1) for setting in settings if "=" in setting)


def noticed_by(build, number, folder):
    for program in BREAKS[number][3]:
        made = make(build, number, program, folder)
        for name, arguments, environment in tests_of(build, program):
            try:
                result = subprocess.run([made, *arguments], cwd=folder, capture_output=True, timeout=600,
                                        env={**os.environ, **environment, "GTEST_FAIL_FAST": "1"})
            except subprocess.TimeoutExpired:
                return f"{name} (it does not end)"
            if result.returncode:
                return name
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", nargs="?", default="build", help="a build of the dev preset, up to date; default build")
    parser.add_argument("--only", metavar="TEXT", default="", help="breaks whose source has this, or number N with =N")
    parser.add_argument("--list", action="store_true", help="the breaks, and nothing else")
    given = parser.parse_args()
    unnoticed = chosen = 0
    try:
        for number, (source, old, new, _) in enumerate(BREAKS):
            if not (given.only == f"={number}" if given.only.startswith("=") else given.only in source):
                continue
            chosen += 1
            broken(number)
            told = f"{number:2} {source}: `{' '.join(old.split())}` -> `{' '.join(new.split())}`"
            if given.list:
                print(told)
                continue
            with tempfile.TemporaryDirectory() as folder:
                name = noticed_by(given.build, number, folder)
            unnoticed += name is None
            print(f"{told}: {'noticed by ' + name if name else 'NOT NOTICED'}", flush=True)
        if not chosen:
            raise BreakError(f"no break matches '{given.only}'")
    except (BreakError, subprocess.CalledProcessError) as error:
        print(f"break_sources.py: error: {error}", file=sys.stderr)
        sys.exit(2)
    sys.exit(1 if unnoticed else 0)


if __name__ == "__main__":
    main()
