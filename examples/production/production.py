#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs production kernels on the simulator, compares them with references in NumPy, and checks them.

  HEDDLE_AITER=folder examples/production/production.py [NAME...]   kernels of AMD's library AITER, from its checkout
  examples/production/production.py --own [NAME...]                 small kernels of ours with the same instructions

NAME is a part of a label `family/kernel@chip`; without one, all run."""
import argparse
import concurrent.futures
import dataclasses
import importlib
import json
import os
import pkgutil
import shlex
import signal
import sys
import tempfile

try:
    import numpy  # noqa: F401
except ImportError:
    sys.exit(f"production: error: {sys.executable} has no NumPy\nnote: install python3-numpy, or run this with /usr/bin/python3")

import families
import changes
import kinds
import waits
from mendings import MENDINGS
from runner import Outcome, RunError, Runner, Settings

COMMIT = "e4048607a535ace3a2b51ded31b1c8c2d45c0879"
HOW_TO_GET = f"""note: get the objects, and name the folder:
  git clone --filter=blob:none --sparse https://github.com/ROCm/aiter
  git -C aiter checkout {COMMIT} && git -C aiter sparse-checkout set hsa
  HEDDLE_AITER=aiter examples/production/production.py"""


class Misuse(Exception):
    """The user's input is wrong: exit code 2."""


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="part of a label; several: any of them")
    parser.add_argument("--own", action="store_true", help="kernels of ours, compiled with clang-22; no folder is needed")
    parser.add_argument("--list", action="store_true", help="the labels, families, objects and tolerances, and the kernels of each family")
    parser.add_argument("--commands", action="store_true", help="print the `heddle` commands of the kernels, and run nothing")
    parser.add_argument("--rates", action="store_true", help="how fast one of AITER's kernels of each family runs with and without checks")
    parser.add_argument("--waits", type=int, metavar="N", help="change N waits to the exact counts of `heddle inspect --waits`, and beyond")
    parser.add_argument("--seed", type=int, default=1, help="of the choice of waits (1)")
    parser.add_argument("--mend", action="store_true", help="put in the waits and barriers that docs/production.md calls missing; the "
                        "findings must go")
    parser.add_argument("--change", action="append", default=[], metavar="CHANGE", help="make a change in the object first, as "
                        "0x4a3c=lgkmcnt(4); may be repeated; a wrong one prints the forms")
    parser.add_argument("--json", action="store_true", help="the outcomes as JSON")
    parser.add_argument("--no-check", action="store_true", help="only compare with the reference")
    parser.add_argument("--time-limit", type=int, default=120, metavar="S", help="of each check, in seconds (120)")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="kernels at once (1)")
    parser.add_argument("--work", metavar="FOLDER", help="where inputs, results and verdicts stay; default build/production")
    parser.add_argument("--heddle", metavar="PROGRAM", default=os.environ.get("HEDDLE", "build/bin/heddle"))
    return parser.parse_args()


def objects_folder():
    """The folder that has gfx942 and gfx950: the one that HEDDLE_AITER names, or its folder hsa."""
    folder = os.environ.get("HEDDLE_AITER", "")
    if not folder:
        raise Misuse(f"HEDDLE_AITER names no folder\n{HOW_TO_GET}")
    for candidate in (os.path.join(folder, "hsa"), folder):
        if os.path.isdir(os.path.join(candidate, "gfx942")) and os.path.isdir(os.path.join(candidate, "gfx950")):
            return candidate
    what = "has no folders `gfx942` and `gfx950`, nor `hsa` with them" if os.path.isdir(folder) else "is no folder"
    raise Misuse(f"HEDDLE_AITER is `{folder}`, which {what}\n{HOW_TO_GET}")


def described_kernels(own):
    if own:
        return importlib.import_module("own").kernels()
    modules = [importlib.import_module("families." + module.name) for module in pkgutil.iter_modules(families.__path__)]
    return [kernel for module in modules if hasattr(module, "kernels") for kernel in module.kernels()]


def select(kernels, names):
    chosen = [kernel for kernel in kernels if not names or any(name in kernel.label for name in names)]
    unknown = [name for name in names if not any(name in kernel.label for kernel in kernels)]
    if unknown:
        raise Misuse(f"no kernel has `{unknown[0]}` in its label\nnote: --list shows the labels")
    return chosen


def check_objects(kernels, objects, own):
    """An object that is not there, as when a checkout is not complete, is said before anything runs."""
    for kernel in kernels:
        path = os.path.join(objects, kernel.object)
        if not os.path.isfile(path):
            raise Misuse(f"{kernel.label}: `{path}` is missing" + ("" if own else f"\n{HOW_TO_GET}"))


def run_one(kernel, settings):
    try:
        return Runner(kernel, settings).run()
    except (RunError, OSError) as error:
        return Outcome(kernel.label, error=str(error))


def row(outcome):
    found = ", ".join(f"{count} {name}" for name, count in sorted(outcome.findings.items()))
    result = "error" if outcome.error else "right" if outcome.right else "WRONG"
    return (f"{outcome.label:58} {result:6} {outcome.instructions:>10} {outcome.rate():7.2f}  {outcome.verdict}"
            f"{': ' + found if found else ''}")


def run_mended(kernel, settings):
    """Under the default schedule, under which some kernels are wrong as they are; where something remains, under the kernel's.
    What remains must be what the mending says."""
    mending = MENDINGS[kernel.object]
    mended = kernel if mending.remains else dataclasses.replace(kernel, schedule="")
    outcome = run_one(mended, dataclasses.replace(settings, changes=mending.changes))
    verdict = "findings" if mending.remains else "clean"
    if not outcome.error and (outcome.verdict != verdict or set(outcome.findings) != set(mending.remains)):
        outcome.right = False
        outcome.comparisons["check"] = (f"with {mending.entries} mended the check ends with `{outcome.verdict}` and finds "
                                        f"{', '.join(outcome.findings) or 'nothing'}, and must end with `{verdict}` and find "
                                        f"{', '.join(mending.remains) or 'nothing'}")
    return outcome


def show(outcome, number, count):
    print(row(outcome), f" [{number}/{count}]", flush=True)
    if outcome.error:
        print("  " + outcome.error, flush=True)
    elif not outcome.right:
        for where, sentence in outcome.comparisons.items():
            print(f"  {where}: {sentence}", flush=True)


def run_all(kernels, settings, options):
    outcomes = []
    if not options.json:
        print(f"{'kernel':58} {'result':6} {'instr.':>10} {'M/s':>7}  check", flush=True)
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        one = run_mended if options.mend else run_one
        for outcome in pool.map(lambda kernel: one(kernel, settings), kernels):
            outcomes.append(outcome)
            if not options.json:
                show(outcome, len(outcomes), len(kernels))
    right = sum(outcome.right for outcome in outcomes)
    if options.json:
        print(json.dumps([{**vars(outcome), "rate": outcome.rate()} for outcome in outcomes], indent=2))
    else:
        print(f"{right} of {len(outcomes)} right; {sum(one.verdict == 'clean' for one in outcomes)} clean, "
              f"{sum(bool(one.findings) for one in outcomes)} with findings")
    return 0 if right == len(outcomes) else 1


def changeable(kernels, options):
    """Those that --mend or --change concerns, or all."""
    others = {"--change": options.change, "--commands": options.commands, "--no-check": options.no_check, "--own": options.own,
              "--waits": options.waits is not None}
    if options.mend and any(others.values()):
        raise Misuse(f"--mend does not go with {next(name for name, given in others.items() if given)}")
    unknown = [change for change in options.change if not changes.is_change(change)]
    if unknown:
        raise Misuse(f"`{unknown[0]}` is no change\n{changes.HOW}")
    if options.waits is not None and options.change:
        raise Misuse("--change does not go with --waits, which makes its own changes")
    if options.mend:
        mended = [kernel for kernel in kernels if kernel.object in MENDINGS]
        if not mended:
            raise Misuse(f"docs/production.md has nothing missing in {', '.join(kernel.label for kernel in kernels[:3])}")
        return mended
    objects = sorted({kernel.object for kernel in kernels})
    if options.change and len(objects) > 1:
        raise Misuse(f"--change is for kernels of one object; the names are of {len(objects)}, as {objects[0]} and {objects[1]}")
    return kernels


def settings_for(options, objects, work):
    if not os.access(options.heddle, os.X_OK):
        raise Misuse(f"`{options.heddle}` is no program\nnote: `./dev build` makes it; --heddle or HEDDLE names another")
    return Settings(options.heddle, objects, work, not options.no_check, options.time_limit, tuple(options.change))


def run_rates(settings, names, as_json):
    rates, rows = importlib.import_module("rates"), []
    kernels = select(rates.kernels(), names)
    check_objects(kernels, settings.objects, False)
    for kernel in kernels:
        rows.append(rates.measure(kernel, settings))
        if not as_json:
            print("{label:58} {instructions:>10} instructions, {checked:.2f} M/s checked, {unchecked:.2f} M/s without checks; "
                  "on the clock, checked, {clock_1:.2f} on one thread and {clock_2:.2f} on two"
                  .format(**rows[-1]), flush=True)
    if as_json:
        print(json.dumps(rows, indent=2))
    return 0


def run(options, work):
    if options.jobs < 1:
        raise Misuse(f"`--jobs {options.jobs}` is no number of kernels from 1 on")
    if options.rates and (options.mend or options.change):
        raise Misuse("--rates measures the objects as they are, without --mend and --change")
    if options.rates:
        return run_rates(settings_for(options, objects_folder(), work), options.names, options.json)
    kernels = changeable(select(described_kernels(options.own), options.names), options)
    if options.list:
        for kernel in kernels:
            print(f"{kernel.label}  [{kinds.kind_of(kernel)}]  {kernel.object}  {kernel.tolerance}"
                  f"{'; ' + kernel.note if kernel.note else ''}")
        print(*kinds.totals(kernels), sep="\n")
        return 0
    objects = importlib.import_module("own").compile_all(work) if options.own else objects_folder()
    check_objects(kernels, objects, options.own)
    settings = settings_for(options, objects, work)
    if options.commands:
        for kernel in kernels:
            runner = Runner(kernel, settings)
            print(f"# {kernel.label}", *map(shlex.join, (runner.simulate_command(), runner.check_command(),
                                                         runner.mutate_command())), sep="\n")
        return 0
    if options.waits is not None:
        return run_waits(kernels, settings, options)
    return run_all(kernels, settings, options)


def run_waits(kernels, settings, options):
    if options.waits < 1:
        raise Misuse(f"`--waits {options.waits}` is no number of waits from 1 on")
    result = waits.verify(kernels, settings, options.waits, options.seed, options.jobs)
    if options.json:
        table = [{"class": kind, "count": what, "same": stays, "mutants": number}
                 for (kind, what, stays), number in sorted(result["outcomes"].items())]
        print(json.dumps({**result, "outcomes": table}, indent=2))
    else:
        waits.show(result)
    return 1 if result["odd"] else 0


def main():
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # `| head` ends this quietly
    options = parse_options()
    try:
        if options.own and not options.work:
            with tempfile.TemporaryDirectory() as work:
                return run(options, work)
        return run(options, options.work or os.path.join("build", "production"))
    except (Misuse, RunError, OSError) as error:
        print(f"production: error: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
