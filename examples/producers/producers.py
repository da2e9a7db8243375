#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels by other compilers on the simulator: five kernels, written in each compiler's language, are compiled for gfx942 and
gfx950 without a GPU, run, compared with results of plain Python, and checked. From the root of the repository:
  python3 examples/producers/producers.py                                  # clang: HIP and OpenCL
  python3 examples/producers/producers.py --environments build/producers   # all; installs what is missing there
  python3 examples/producers/producers.py --only triton-3.9 --python FOLDER/bin/python
Ends with 0 if every kernel is right and clean, 1 if one is not, 2 if something cannot be compiled or run."""
import argparse
import json
import pathlib
import shutil
import sys

from environments import PRODUCERS, ProducerError, compile_kernels, find_python
from launches import Launch
from problems import problems

from commands import CommandError  # launches.py adds its folder to the path

CHIPS = ["gfx942", "gfx950"]


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", metavar="NAMES", help="compilers, separated by commas: --list has them")
    parser.add_argument("--kernels", metavar="NAMES", help="some of the five")
    parser.add_argument("--chips", default=",".join(CHIPS), help="default gfx942,gfx950")
    parser.add_argument("--python", type=pathlib.Path, metavar="PATH", help="the interpreter that has the packages of --only's compilers")
    parser.add_argument("--environments", type=pathlib.Path, metavar="FOLDER",
                        help="FOLDER/NAME is the virtual environment of each compiler, made if it is not there")
    parser.add_argument("--heddle", default="build/bin/heddle", metavar="PATH", help="default build/bin/heddle")
    parser.add_argument("--work", type=pathlib.Path, default=pathlib.Path("build/producer-runs"), metavar="FOLDER",
                        help="gets objects, inputs, commands and verdicts; default build/producer-runs")
    parser.add_argument("--json", action="store_true", help="the table as JSON")
    parser.add_argument("--list", action="store_true", help="compilers and kernels, and nothing else")
    return parser.parse_args()


def choose(text, known, what, default):
    names = text.split(",") if text else default
    for name in names:
        if name not in known:
            raise ProducerError(f"no {what} `{name}`; there are {', '.join(known)}")
    return names


def run_producer(name, given, kernels, chips):
    """The rows of one compiler."""
    producer = PRODUCERS[name]
    python = find_python(producer, given.python, given.environments)
    print(f"{name}: compiling", file=sys.stderr, flush=True)
    compile_kernels(producer, python, given.work / name, chips)
    told = json.loads((given.work / name / "launches.json").read_text())
    known = problems()
    rows = []
    for launch in told["launches"]:
        if launch["kernel"] not in kernels:
            continue
        print(f"{name}: {launch['kernel']} on {launch['chip']}", file=sys.stderr, flush=True)
        try:
            row = Launch(launch, known[launch["kernel"]], given.heddle, given.work / name).run()
        except CommandError as error:
            row = dict(kernel=launch["kernel"], chip=launch["chip"], error=str(error))
        rows.append(dict(producer=name, version=told["version"], **row))
    return rows


def line(row):
    names = f"{row['producer']:12} {row['version']:10} {row['kernel']:12} {row['chip']:7}"
    if "error" in row:
        return f"{names} error: {row['error']}"
    right = "WRONG" if row["wrong"] else "right"
    kinds = ", ".join(sorted(set(row["findings"])))
    text = f"{names} {right:6} {row['verdict']:12} {row['instructions']:>12} {kinds}"
    return "\n".join([text.rstrip(), *(f"  {sentence}" for sentence in row["wrong"] + row["notCleanBecause"])])


def main():
    given = parse()
    if given.list:
        for producer in PRODUCERS.values():
            print(f"{producer.name:12} {' '.join(producer.packages) or producer.program}")
        print("kernels:", ", ".join(problems()))
        return 0
    try:
        default = [name for name, one in PRODUCERS.items() if given.environments or not one.packages]
        names = choose(given.only, list(PRODUCERS), "compiler", default)
        kernels = choose(given.kernels, list(problems()), "kernel", list(problems()))
        chips = choose(given.chips, CHIPS, "chip", CHIPS)
        if not shutil.which(given.heddle):
            raise ProducerError(f"no `{given.heddle}`; `./dev build` makes it, `--heddle PATH` names another")
        rows = [row for name in names for row in run_producer(name, given, kernels, chips)]
    except ProducerError as error:
        print(f"producers.py: error: {error}", file=sys.stderr)
        return 2
    if given.json:
        print(json.dumps(rows, indent=2))
    else:
        print(f"{'compiler':12} {'version':10} {'kernel':12} {'chip':7} {'result':6} {'check':12} {'instructions':>12}")
        print("\n".join(map(line, rows)))
    if any("error" in row for row in rows):
        return 2
    return 1 if any(row["wrong"] or row["verdict"] != "clean" for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
