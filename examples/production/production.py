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
import struct
import sys
import tempfile

try:
    import numpy  # noqa: F401
except ImportError:
    print(f"production: error: {sys.executable} has no NumPy\nnote: install python3-numpy, or run this with /usr/bin/python3",
          file=sys.stderr)
    sys.exit(2)

import families
import changes
import kinds
import waits
from mendings import MENDINGS, NOTHING_MISSING
from runner import Outcome, RunError, Runner, Settings

COMMIT = "e4048607a535ace3a2b51ded31b1c8c2d45c0879"
MACHINES = {"gfx942": 0x4C, "gfx950": 0x4F}  # EF_AMDGPU_MACH, in the low byte of an object's e_flags
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
    parser.add_argument("--check-objects", action="store_true", help="only look whether the objects are there, and of their chips")
    parser.add_argument("--commands", action="store_true", help="print the `heddle` commands of the kernels, and run none of them; "
                        "their inputs are written")
    parser.add_argument("--rates", action="store_true", help="how fast one of AITER's kernels of each family runs with and without checks")
    parser.add_argument("--waits", type=int, metavar="N", help="change N waits to the exact counts of `heddle inspect --waits`, and beyond")
    parser.add_argument("--seed", type=int, help="of the choice of waits (1)")
    parser.add_argument("--mend", action="store_true", help="put in the waits and barriers that docs/production.md calls missing; the "
                        "findings must go")
    parser.add_argument("--change", action="append", default=[], metavar="CHANGE", help="make a change in the object first, as "
                        "0x4a3c=lgkmcnt(4); may be repeated; a wrong one prints the forms")
    parser.add_argument("--json", action="store_true", help="the outcomes as JSON")
    parser.add_argument("--no-check", action="store_true", help="only compare with the reference")
    parser.add_argument("--time-limit", type=int, metavar="S", help="of each check, in seconds (120)")
    parser.add_argument("--jobs", type=int, metavar="N", help="kernels at once (1)")
    parser.add_argument("--work", metavar="FOLDER", help="where inputs, results and verdicts stay; default build/production")
    parser.add_argument("--heddle", metavar="PROGRAM", help="that of the environment's HEDDLE, else build/bin/heddle")
    options = parser.parse_args()
    options.program = options.heddle or os.environ.get("HEDDLE", "build/bin/heddle")
    return options


# What an invocation does, by the option that asks for it, and the options that matter then; others are refused.
MODES = {
    "--list": {"--own"},
    "--check-objects": {"--own", "--work"},
    "--commands": {"--own", "--change", "--time-limit", "--work", "--heddle"},
    "--rates": {"--json", "--work", "--heddle"},
    "--waits": {"--own", "--seed", "--jobs", "--json", "--work", "--heddle"},
    "--mend": {"--json", "--time-limit", "--jobs", "--work", "--heddle"},
    "": {"--own", "--change", "--no-check", "--json", "--time-limit", "--jobs", "--work", "--heddle"},
}


def check_options(options):
    """Options that would be ignored are refused, and so are numbers that mean nothing."""
    values = {"--" + name.replace("_", "-"): value for name, value in vars(options).items() if name not in ("names", "program")}
    given = [name for name, value in values.items() if value is not None and value is not False and value != []]
    mode = next((name for name in MODES if name in given), "")
    ignored = [name for name in given if name != mode and name not in MODES[mode]]
    if ignored:
        raise Misuse(f"{ignored[0]} does not go with {mode or 'a run of the kernels'}" + (
            "\nnote: --seed is of --waits" if "--seed" in ignored and not mode else ""))
    if options.no_check and options.time_limit is not None:
        raise Misuse("--time-limit does not go with --no-check, since it is that of the checks")
    for name, value, what in (("--jobs", options.jobs, "kernels"), ("--waits", options.waits, "waits"),
                              ("--time-limit", options.time_limit, "seconds")):
        if value is not None and value < 1:
            raise Misuse(f"`{name} {value}` is no number of {what} from 1 on")
    unknown = [change for change in options.change if not changes.is_change(change)]
    if unknown:
        raise Misuse(f"`{unknown[0]}` is no change\n{changes.HOW}")


def work_folder(path):
    try:
        os.makedirs(path, exist_ok=True)
    except OSError as error:
        raise Misuse(f"`--work {path}` cannot be made: {error.strerror}") from error
    if not os.access(path, os.W_OK | os.X_OK):
        raise Misuse(f"`--work {path}` cannot be written to")
    return path


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
    """Those that have one of the names in their labels; a whole label names one kernel, also where it is a part of others."""
    labels = {kernel.label for kernel in kernels}
    chosen = [kernel for kernel in kernels if not names or any(
        name == kernel.label if name in labels else name in kernel.label for name in names)]
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
        check_chip(kernel, path)


def check_chip(kernel, path):
    """What is no ELF file, or is cut short, `heddle inspect` names."""
    with open(path, "rb") as file:
        start = file.read(64)
    if len(start) < 64 or not start.startswith(b"\x7fELF\x02"):
        return
    machine = struct.unpack_from("<I", start, 48)[0] & 255
    if machine != MACHINES[kernel.chip]:
        chip = next((name for name, number in MACHINES.items() if number == machine), "another chip")
        raise Misuse(f"{kernel.label}: `{path}` is for {chip} (machine {machine:#x} of its e_flags), and the label's chip is "
                     f"{kernel.chip} ({MACHINES[kernel.chip]:#x})\nnote: the folder has the objects of {kernel.chip} below `{kernel.chip}`")


def check_changes(kernels, objects, options):
    """All changes can be made in the object; else nothing runs."""
    if not options.change:
        return
    path = os.path.join(objects, kernels[0].object)
    with open(path, "rb") as file:
        elf = file.read()
    try:
        for change in options.change:
            elf = changes.changed(elf, change)
    except changes.ChangeError as error:
        raise Misuse(f"`--change {change}`: {error}\nnote: the object is `{path}`; `llvm-objdump-22 -d` shows its instructions") from error


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
    outcome = run_one(mended, dataclasses.replace(settings, changes=mending.changes, form="mended"))
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
    with concurrent.futures.ThreadPoolExecutor(options.jobs or 1) as pool:
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
    if options.mend:
        mended = [kernel for kernel in kernels if kernel.object in MENDINGS]
        if not mended:
            raise Misuse(f"docs/production.md has nothing missing in {', '.join(kernel.label for kernel in kernels[:3])}")
        if len(mended) < len(kernels):
            print(f"note: --mend leaves out {len(kernels) - len(mended)} of {len(kernels)} kernels, in which docs/production.md has "
                  "nothing missing", file=sys.stderr)
        return mended
    if options.change and len({kernel.object for kernel in kernels}) > 1:
        shown = "\n".join(f"  {kernel.label}  {kernel.object}" for kernel in kernels[:8])
        more = f"\n  and {len(kernels) - 8} more" if len(kernels) > 8 else ""
        raise Misuse(f"--change is for kernels of one object; these {len(kernels)} labels match, of "
                     f"{len({kernel.object for kernel in kernels})} objects:\n{shown}{more}\n"
                     "note: give a whole label as NAME, or a part that only kernels of one object have")
    return kernels


def settings_for(options, objects, work):
    program = options.program
    if not (os.path.isfile(program) and os.access(program, os.X_OK)):
        raise Misuse(f"`{program}` is no program\nnote: `./dev build` makes it; --heddle or HEDDLE names another")
    form = ("mended" if options.mend else "changed" if options.change else "waits" if options.waits is not None
            else "rates" if options.rates else "")
    limit = 120 if options.time_limit is None else options.time_limit
    return Settings(program, objects, work_folder(work), not options.no_check, limit, tuple(options.change), form)


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


def print_commands(kernels, settings):
    """`heddle mutate` wants a kernel without findings."""
    for kernel in kernels:
        runner = Runner(kernel, settings)
        print(f"# {kernel.label}", shlex.join(runner.simulate_command()), shlex.join(runner.check_command()), sep="\n")
        if not settings.changes and (kernel.object in MENDINGS or kernel.object in NOTHING_MISSING or kernel.verdict == "findings"):
            print("# no `heddle mutate`: the check of this kernel has findings")
        else:
            print(shlex.join(runner.mutate_command()))


def run(options, work):
    check_options(options)
    if options.rates:
        return run_rates(settings_for(options, objects_folder(), work), options.names, options.json)
    kernels = changeable(select(described_kernels(options.own), options.names), options)
    if options.list:
        for kernel in kernels:
            print(f"{kernel.label}  [{kinds.kind_of(kernel)}]  {kernel.object}  {kernel.tolerance}"
                  f"{'; ' + kernel.note if kernel.note else ''}")
        print(*kinds.totals(kernels), sep="\n")
        return 0
    objects = importlib.import_module("own").compile_all(work_folder(work)) if options.own else objects_folder()
    check_objects(kernels, objects, options.own)
    if options.check_objects:
        print(f"{len({kernel.object for kernel in kernels})} objects of {len(kernels)} kernels are there")
        return 0
    check_changes(kernels, objects, options)
    settings = settings_for(options, objects, work)
    if options.commands:
        print_commands(kernels, settings)
        return 0
    if options.waits is not None:
        return run_waits(kernels, settings, options)
    return run_all(kernels, settings, options)


def run_waits(kernels, settings, options):
    seed = 1 if options.seed is None else options.seed
    result = waits.verify(kernels, settings, options.waits, seed, options.jobs or 1)
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
