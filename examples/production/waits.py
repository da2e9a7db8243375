# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Holds what `heddle inspect --waits` says of exact counts against the simulator: with the exact count in its place a kernel
must keep its results and findings. With one more something should change, unless what needs the wait is on a path that the
run does not take."""
import collections
import concurrent.futures
import os
import random
import subprocess
from dataclasses import dataclass

from changes import LARGEST, with_count
from runner import RUN_LIMIT, Runner

FIRST, PAST = "exact count", "one more"


@dataclass(frozen=True)
class Counter:
    """A counter of a wait that a kernel executes. `exact` is None where no wait is needed."""
    address: int
    name: str
    kind: str
    count: int
    exact: int | None

    def mutants(self):
        """(what it is, the count, whether the kernel must stay as it was)."""
        if self.exact is None:
            return [(FIRST, LARGEST[self.name], True)]
        kept = [(FIRST, self.exact, True)] if self.exact != self.count else []
        return kept + ([(PAST, self.exact + 1, False)] if self.exact + 1 < LARGEST[self.name] else [])


class Subject:
    """A kernel whose waits are changed."""

    def __init__(self, kernel, settings):
        self.runner, self.settings = Runner(kernel, settings), settings
        self.file = os.path.join(self.runner.folder, "waits.co")
        with open(self.runner.path, "rb") as file:
            self.elf = file.read()
        self.right = self.run(self.elf)

    def run(self, elf):
        """Findings and results under the policy that completes operations as late as it may."""
        with open(self.file, "wb") as file:
            file.write(elf)
        command = self.runner.simulate_command() + ["--checks", "default", "--policy", "latest", "--limit", "4000000"]
        command[2] = self.file
        report = self.runner.execute(command, RUN_LIMIT, (0, 1))
        results = {}
        launch = self.runner.launch
        for offset in launch.wanted() if "error" not in report else []:
            if offset in launch.allow_different:
                continue
            with open(self.runner.result_file(offset), "rb") as file:
                results[offset] = file.read()
        found = sorted((finding["check"], finding["firstPc"], finding["secondPc"]) for finding in report["findings"])
        return found, "error" in report, results

    def counters(self):
        """Those of executed waits, of which the analysis knows an exact count, and which it calls too long for the next use."""
        trace = self.runner.simulate_command() + ["--trace"]
        trace.remove("--json")
        text = subprocess.run(trace, capture_output=True, text=True, timeout=RUN_LIMIT, check=False).stderr
        executed = {int(line.split("  ")[1], 16) for line in text.splitlines() if " s_waitcnt " in line}
        inspect = [self.settings.heddle, "inspect", self.runner.path, "--waits", "--json"]
        if self.runner.kernel.symbol:
            inspect += ["--kernel", self.runner.kernel.symbol]
        for wait in self.runner.execute(inspect, RUN_LIMIT)["waits"]["list"]:
            for counter in wait["counters"] if wait["address"] in executed else []:
                exact = counter["exact"]
                if wait["tooLong"] and exact["class"] in ("larger", "unneeded", "newest", "paths"):
                    yield Counter(wait["address"], counter["counter"], exact["class"], counter["count"], exact.get("count"))

    def verify(self, counter):
        """(counter, what it is, whether the kernel stays as it was, whether it must) of each mutant."""
        for what, count, must_stay in counter.mutants():
            stays = self.run(with_count(self.elf, counter.address, counter.name, count)) == self.right
            yield counter, what, stays, must_stay


def subjects(kernels, settings):
    """The kernels that end, with their counters."""
    def make(kernel):
        subject = Subject(kernel, settings)
        return subject, [] if subject.right[1] else sorted(subject.counters(), key=lambda one: (one.address, one.name))
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        return [pair for pair in pool.map(make, kernels) if pair[1]]


def verify(kernels, settings, count, seed, jobs):
    """Changes `count` counters drawn at random. Returns what came of the mutants, by class, and those that
    contradict the analysis."""
    usable = subjects(kernels, settings)
    every = [(subject, counter) for subject, counters in usable for counter in counters]
    drawn = random.Random(seed).sample(every, min(count, len(every)))
    by_subject = collections.defaultdict(list)
    for subject, counter in drawn:
        by_subject[subject].append(counter)
    outcomes = collections.Counter()
    odd = []

    def work(subject):
        return [(subject, outcome) for counter in by_subject[subject] for outcome in subject.verify(counter)]
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for part in pool.map(work, by_subject):
            for subject, (counter, what, stays, must_stay) in part:
                outcomes[counter.kind, what, stays] += 1
                if must_stay and not stays:
                    odd.append(f"{subject.runner.kernel.label} {counter.address:#x} {counter.name}({counter.count}), "
                               f"{counter.kind} {counter.exact}: {what}")
    return {"kernels": len(usable), "counters": len(every), "drawn": len(drawn), "outcomes": outcomes, "odd": sorted(odd)}


def show(result):
    """A table for people."""
    print(f"{result['drawn']} of {result['counters']} counters, of {result['kernels']} kernels")
    print(f"{'class':10} {'count':12} {'same':>8} {'changed':>8}")
    for kind, what in sorted({key[:2] for key in result["outcomes"]}):
        same, changed = (result["outcomes"][kind, what, stays] for stays in (True, False))
        print(f"{kind:10} {what:12} {same:8} {changed:8}")
    for line in result["odd"]:
        print("the analysis is wrong: " + line)
