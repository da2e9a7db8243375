#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Changes the C++ sources in one place at a time, chosen by a seed, and counts what notices: the build, which test, or none.
  python3 tests/mutation/mutate_sources.py --list                      # the places of seed 1, without doing anything
  python3 tests/mutation/mutate_sources.py --count 50                  # fifty changes that compile, all tests: hours
  python3 tests/mutation/mutate_sources.py --near --state near.json    # the lit tests and programs of the changed source's folder
  python3 tests/mutation/mutate_sources.py --unnoticed near.json       # all tests, for what those did not notice
  python3 tests/mutation/mutate_sources.py --command './dev test gfx942_checked' --target all

It wants a tree of its own, without changes, and its build up to date: a change is made in the source itself, what depends on it is built, tests
run in order (those of the source's folder first, then those that took less time) until one fails, and the source is
restored, also after an interrupt. Started again it continues. Ends with 1 if a change went unnoticed.
"""
import argparse
import collections
import json
import os
import pathlib
import random
import re
import signal
import subprocess
import sys
import time

import places

ROOT = pathlib.Path(__file__).resolve().parents[2]
ROOMS = ["compiler/lowering", "compiler/analysis", "compiler/transforms", "compiler/layout", "compiler/accesses", "compiler/arithmetic",
         "collectives", "runtime", "simulator", "kernels", "autotune"]
TESTS_OF_OTHERS = ("check", "filters", "structure", "mutation")  # they read sources and build nothing of them
LEAST_TIMEOUT = 120


class MutationError(Exception):
    pass


class OutOfTime(Exception):
    pass


# ---- the tree ----
def git(root, *arguments):
    result = subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True)
    if result.returncode:
        raise MutationError(f"`git {' '.join(arguments)}` ends with {result.returncode}: {result.stderr.strip()}")
    return result.stdout


def require_clean(root):
    status = git(root, "status", "--porcelain").splitlines()
    if status:
        raise MutationError(f"{root} has {len(status)} changed files, the first is `{status[0][3:]}`; commit them, or give this script a "
                            "copy of the tree with a build of its own")


class Source:
    """A source that has a change while this is entered. What it held is kept in the build, so that the next start can restore it."""

    def __init__(self, root, folder, place):
        self.file, self.place = root / place.path, place
        self.kept, self.name = folder / "original", folder / "original.path"

    def __enter__(self):
        original = self.file.read_bytes()
        changed = self.place.applied(original.decode())
        self.kept.write_bytes(original)
        self.name.write_text(str(self.file))
        self.file.write_text(changed)

    def __exit__(self, *_):
        restore(self.kept.parent)


def restore(folder):
    """Restores a source that an earlier run has left changed; its new time tells the build."""
    name, kept = folder / "original.path", folder / "original"
    if not name.exists():
        return
    pathlib.Path(name.read_text()).write_bytes(kept.read_bytes())
    name.unlink()


# ---- commands with a limit ----
def run(command, root, seconds, environment=None, shell=False):
    """Exit code and output of a command; it and what it started are ended when the time is over."""
    seconds = max(seconds, 1)
    process = subprocess.Popen(command, cwd=root, shell=shell, env={**os.environ, **(environment or {})}, start_new_session=True,
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    try:
        output, _ = process.communicate(timeout=seconds)
        return process.returncode, output
    except subprocess.TimeoutExpired:
        raise OutOfTime(f"`{command if shell else ' '.join(map(str, command))}` does not end within {seconds:.0f} s") from None
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()


class Clock:
    """What is left of the time of one change."""

    def __init__(self, seconds):
        self.begin, self.end = time.monotonic(), time.monotonic() + seconds

    def left(self):
        return self.end - time.monotonic()

    def spent(self):
        return time.monotonic() - self.begin


# ---- tests ----
Test = collections.namedtuple("Test", "name command target folder cost environment directory")


class Tests:
    """CTest's tests of a build and the lit tests of its folders, with what each is built from."""

    def __init__(self, root, build, pattern):
        self.root, self.build, self.inputs = root, build, {}
        shown = subprocess.run(["ctest", "--show-only=json-v1"], cwd=build, capture_output=True, text=True)
        listed = json.loads(shown.stdout)["tests"] if shown.returncode == 0 else []
        listed = [test for test in listed if test["name"] not in TESTS_OF_OTHERS and re.search(pattern, test["name"])]
        missing = [test["name"] for test in listed if "command" not in test]
        if missing:
            raise MutationError(f"the programs of {len(missing)} tests are not built, the first is `{missing[0]}`; build them, or choose "
                                "others by --tests")
        self.all = [self.of_ctest(test) for test in listed]

    def of_ctest(self, test):
        properties = {each["name"]: each["value"] for each in test.get("properties", [])}
        command = test["command"]
        directory = properties.get("WORKING_DIRECTORY", str(self.build))
        program = os.path.relpath(command[0], self.build)
        target = "all" if program.startswith("..") or os.path.isabs(program) else program
        environment = dict(entry.split("=", 1) for entry in properties.get("ENVIRONMENT", []))
        cost = self.costs().get(test["name"], float(properties.get("COST", 30)))
        return Test(test["name"], command, target, os.path.relpath(directory, self.build), cost, environment, directory)

    def costs(self):
        """Seconds of each test in earlier runs."""
        if not hasattr(self, "known_costs"):
            file = self.build / "Testing/Temporary/CTestCostData.txt"
            lines = file.read_text().split("---")[0].splitlines() if file.exists() else []
            self.known_costs = {name: float(cost) for name, count, cost in (line.split() for line in lines) if int(count) > 0}
        return self.known_costs

    def lit(self, folder):
        return Test(f"lit {folder}", ["lit-22", "-sv", "--no-progress-bar", "--max-failures=1", str(self.build / "lit-suite" / folder)],
                    "bin/heddle bin/heddle-opt", folder, 20, {}, str(self.root))

    def lit_folders(self, source):
        """The folder of lit tests beside a source, then that of its room."""
        folder = os.path.dirname(source)
        while folder:
            if any(path.suffix in (".mlir", ".ttir", ".test") for path in (self.root / folder).glob("tests/*")):
                return [folder]
            folder = os.path.dirname(folder)
        return []

    def depends(self, test, source):
        for target in test.target.split():
            if target == "all":
                return True
            if target not in self.inputs:
                shown = subprocess.run(["ninja", "-t", "inputs", target], cwd=self.build, capture_output=True, text=True)
                self.inputs[target] = {os.path.relpath(os.path.join(self.build, line), self.root) for line in shown.stdout.splitlines()}
            if source in self.inputs[target]:
                return True
        return False

    def near(self, source):
        folder = os.path.dirname(source)
        programs = [test for test in self.all if test.folder != "." and (folder + "/").startswith(test.folder + "/")]
        programs = [test for test in programs if self.depends(test, source)]
        own = [test for test in programs if test.folder == folder]
        return sorted(own, key=lambda test: test.cost) + [self.lit(name) for name in self.lit_folders(source)] + sorted(
            (test for test in programs if test.folder != folder), key=lambda test: test.cost)

    def ordered(self, source, given):
        """The tests that can notice a change of the source, in the order in which they run."""
        near = self.near(source)
        rest = [] if given.near else sorted((test for test in self.all if test not in near), key=lambda test: (test.target == "all", test.cost))
        chosen = near + [test for test in rest if self.depends(test, source)]
        return [test for test in chosen if re.search(given.tests, test.name)]


def of_command(given, root):
    return Test(given.command, given.command, given.target, "", 0, {}, str(root))


# ---- one change ----
class Campaign:
    def __init__(self, root, given):
        self.root, self.given = root, given
        self.build = (root / given.build).resolve()
        if not (self.build / "build.ninja").exists():
            raise MutationError(f"'{given.build}' is no build; run './dev build' first")
        self.folder = self.build / "mutation"
        self.folder.mkdir(exist_ok=True)
        self.trusted = set()
        self.tests = None if given.command else Tests(root, self.build, given.tests)

    def ninja(self, target, seconds):
        return run(["ninja", "-j", str(self.given.jobs), *target.split()], self.build, seconds)

    def passes(self, test, seconds):
        environment = {"GTEST_FAIL_FAST": "1", "LIT_OPTS": f"-j {self.given.jobs}", **test.environment}
        code, _ = run(test.command, test.directory, seconds, environment, shell=isinstance(test.command, str))
        return code == 0

    def first_notice(self, place, clock):
        """Verdict, and the test that notices the change; the source has it now."""
        tests = [of_command(self.given, self.root)] if self.given.command else self.tests.ordered(place.path, self.given)
        for number, test in enumerate(tests):
            code, _ = self.ninja(test.target, clock.left())
            if code:
                return "build", "the build"
            hangs = max(LEAST_TIMEOUT, 10 * test.cost)
            try:
                if not self.passes(test, min(hangs, clock.left())):
                    return "noticed", test
            except OutOfTime:
                if clock.left() <= 0:
                    return "undecided", f"{number} tests passed in time, then {test.name} ran"
                return "noticed", test
        return "unnoticed", f"{len(tests)} tests passed"

    def trust(self, test):
        """A test that fails has noticed the change only if it passes without; this is tried once for each test."""
        if test.name in self.trusted:
            return
        code, output = self.ninja(test.target, self.given.limit)
        if code:
            raise MutationError(f"the sources do not build without a change:\n{output[-2000:]}")
        if not self.passes(test, self.given.limit):
            raise MutationError(f"'{test.name}' fails without a change as well; leave it out by --tests")
        self.trusted.add(test.name)

    def judge(self, place):
        clock = Clock(self.given.limit)
        try:
            with Source(self.root, self.folder, place):
                verdict, found = self.first_notice(place, clock)
        except OutOfTime as reason:
            verdict, found = "undecided", str(reason)
        seconds = clock.spent()
        if verdict == "noticed":
            self.trust(found)
            found = found.name
        return {"key": place.key, "place": str(place), "room": room_of(place.path), "kind": place.kind, "verdict": verdict, "by": found,
                "seconds": round(seconds, 1)}


# ---- places, in a reproducible order ----
def room_of(path):
    return next((room for room in ROOMS if path.startswith(room + "/")), "")


def chosen_places(root, given):
    """All places, shuffled by the seed: rooms take turns, and in a room the kinds of changes do."""
    rooms = {}
    for path in git(root, "ls-files", "--", *(f"{room}/" for room in given.rooms)).splitlines():
        if path.endswith(".cpp") and "Test" not in os.path.basename(path) and given.only in path:
            for place in places.places_in(path, (root / path).read_text(encoding="utf-8")):
                rooms.setdefault(room_of(path), {}).setdefault(place.kind, []).append(place)
    generator = random.Random(given.seed)
    turns = []
    for room in sorted(rooms):
        kinds = [rooms[room][kind] for kind in sorted(rooms[room])]
        for kind in kinds:
            generator.shuffle(kind)
        generator.shuffle(kinds)
        turns.append(taking_turns(kinds))
    generator.shuffle(turns)
    found = list(taking_turns(turns))
    return without_noticed(found, given.unnoticed) if given.unnoticed else found


def without_noticed(found, file):
    """Of these places those that a file of results has as not noticed, or not decided."""
    verdicts = {result["key"]: result["verdict"] for result in json.loads(pathlib.Path(file).read_text())["results"]}
    return [place for place in found if verdicts.get(place.key) in ("unnoticed", "undecided")]


def taking_turns(lists):
    waiting = collections.deque(iter(each) for each in lists)
    while waiting:
        each = waiting.popleft()
        try:
            yield next(each)
        except StopIteration:
            continue
        waiting.append(each)


# ---- the results ----
def settings_of(root, given):
    """What makes two runs one: the sources by their commit, and what was asked."""
    names = ("seed", "only", "rooms", "near", "tests", "command", "target", "limit", "unnoticed")
    return {"commit": git(root, "rev-parse", "HEAD").strip(), **{name: getattr(given, name) for name in names}}


def earlier_results(file, settings, again):
    """Results of a run that was interrupted; those of other settings are not taken for them."""
    if again or not file.exists():
        return []
    kept = json.loads(file.read_text())
    if kept["settings"] == settings:
        return kept["results"]
    raise MutationError(f"{file} has results of other settings or another commit; start over with --again, or name another file by --state")


def write_results(file, settings, results):
    new = file.with_suffix(".new")
    new.write_text(json.dumps({"settings": settings, "results": results}, indent=1) + "\n")
    os.replace(new, file)


def count_of(results):
    return sum(result["verdict"] != "build" for result in results)


def summary(results):
    verdicts = collections.Counter(result["verdict"] for result in results)
    lines = [f"{count_of(results)} changes that compile: {verdicts['noticed']} noticed, {verdicts['unnoticed']} not noticed, "
             f"{verdicts['undecided']} undecided; {verdicts['build']} others noticed by the build"]
    by_test = collections.Counter(result["by"] for result in results if result["verdict"] == "noticed")
    lines += [f"{count:5}  {name}" for name, count in by_test.most_common()]
    lines += [f"not noticed: {result['place']} ({result['by']})" for result in results if result["verdict"] == "unnoticed"]
    return "\n".join(lines)


def campaign(root, given):
    work = Campaign(root, given)
    restore(work.folder)
    require_clean(root)
    file = pathlib.Path(given.state) if given.state else work.folder / f"seed-{given.seed}{'-unnoticed' if given.unnoticed else ''}.json"
    settings = settings_of(root, given)
    results = earlier_results(file, settings, given.again)
    done = {result["key"] for result in results}
    try:
        for place in chosen_places(root, given):
            if count_of(results) >= given.count:
                break
            if place.key in done:
                continue
            result = work.judge(place)
            results.append(result)
            write_results(file, settings, results)
            print(f"[{count_of(results)}/{given.count}] {place}: {result['verdict']}, {result['by']} ({result['seconds']} s)",
                  file=sys.stderr, flush=True)
    finally:
        restore(work.folder)
    return results


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build", help="a build of the dev preset, up to date; default build")
    parser.add_argument("--seed", type=int, default=1, help="chooses the places; default 1")
    parser.add_argument("--count", type=int, default=50, help="changes that compile; default 50")
    parser.add_argument("--rooms", nargs="+", default=ROOMS, metavar="FOLDER", help=f"folders of sources; default {' '.join(ROOMS)}")
    parser.add_argument("--only", default="", metavar="TEXT", help="only sources whose path has this")
    parser.add_argument("--near", action="store_true", help="only the tests of the source's folder and the folders above it")
    parser.add_argument("--tests", default="", metavar="PATTERN", help="only tests whose name matches; lit tests are named 'lit FOLDER'")
    parser.add_argument("--unnoticed", metavar="FILE", help="only the changes that these results of an earlier run have as not noticed")
    parser.add_argument("--command", metavar="COMMAND", help="a command of the shell, run in the tree, instead of tests")
    parser.add_argument("--target", default="all", metavar="TARGETS", help="what is built before the command; default all")
    parser.add_argument("--limit", type=float, default=1200, metavar="SECONDS", help="for one change, its build and tests; default 1200")
    parser.add_argument("--jobs", type=int, default=int(os.environ.get("HEDDLE_JOBS", os.cpu_count() or 1)), help="processes of the build")
    parser.add_argument("--state", metavar="FILE", help="results so far, to continue from; default BUILD/mutation/seed-N.json")
    parser.add_argument("--again", action="store_true", help="start over, without the results so far")
    parser.add_argument("--list", action="store_true", help="print the first --count places, and change nothing")
    parser.add_argument("--json", action="store_true", help="print the results as JSON")
    return parser


def main(words=None, root=ROOT):
    given = arguments().parse_args(words)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(130))
    try:
        if given.list:
            for place in chosen_places(root, given)[:given.count]:
                print(place)
            return 0
        results = campaign(root, given)
    except (MutationError, OSError) as error:
        print(f"mutate_sources.py: error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("mutate_sources.py: interrupted; the source is restored, the same command continues", file=sys.stderr)
        return 130
    print(json.dumps(results, indent=1) if given.json else summary(results))
    return 1 if any(result["verdict"] == "unnoticed" for result in results) else 0


if __name__ == "__main__":
    sys.exit(main())
