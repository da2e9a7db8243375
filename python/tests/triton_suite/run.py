# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs Triton's own tests, unchanged, on a device of Heddle, and prints a table by file (docs/triton.md). Each file runs in
processes of its own: a test that crashes or exceeds its time limit is counted as failed, and the file goes on in a new process."""
import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
PACKAGE = HERE.parents[1]


class NotApplicable:
    """`not_applicable.txt`: lines `reason: ...` or `reason on PREFIX: ...` (of devices whose name starts so), each followed by
    indented patterns of test names, in which `*` stands for any text."""

    def __init__(self, path, device):
        self.patterns = []
        reason, counts = None, False
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if not line.strip() or line.startswith("#"):
                continue
            header = re.fullmatch(r"reason(?: on ([\w:]+))?: (.+)", line)
            if header:
                reason, counts = header[2], device.startswith(header[1] or "")
            elif reason is None or not line.startswith("  "):
                sys.exit(f"{path}:{number}: neither `reason: ...` nor an indented pattern below one")
            elif counts:
                self.patterns.append((re.compile(re.escape(line.strip()).replace(r"\*", ".*")), reason))

    def reason(self, test):
        return next((reason for pattern, reason in self.patterns if pattern.fullmatch(test)), None)


def environment(device, folder):
    """Makes the package known to Triton as an installed one is: tests start processes of their own."""
    found = pathlib.Path(folder) / "heddle-0.dist-info"
    found.mkdir()
    (found / "METADATA").write_text("Metadata-Version: 2.1\nName: heddle\nVersion: 0\n")
    (found / "entry_points.txt").write_text("[triton.backends]\nheddle = heddle.triton.backend\n")
    path = [str(HERE), str(PACKAGE), folder, *filter(None, [os.environ.get("PYTHONPATH")])]
    variables = {**os.environ, "PYTHONPATH": os.pathsep.join(path), "PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1",
                 "TRITON_CACHE_DIR": os.path.join(folder, "cache"), "HEDDLE_TRITON_DEVICE": device}
    if device == "triton":
        return {**variables, "HEDDLE_SUITE_BACKEND": "triton", "TRITON_BACKENDS_IN_TREE": "1"}
    return {**variables, "TRITON_DEFAULT_BACKEND": "heddle"}


class File:
    """The tests of one file, run until each has a result."""

    def __init__(self, name, arguments, variables, folder):
        self.name, self.arguments, self.variables = name, arguments, variables
        self.journal = pathlib.Path(folder) / "journal"
        self.selected = pathlib.Path(folder) / "selected"
        self.results = {}  # of each test: passed, failed, skipped, and why
        self.text = ""

    def pytest(self, *words):
        """One process of pytest; killed when a test takes longer than the limit, or starting longer than ten times that."""
        with open(self.journal.with_suffix(".out"), "w+b") as output:
            self.journal.write_text("")
            process = subprocess.Popen([sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "suite_plugin", "-q",
                                        "--tb=short", "--device", self.arguments.tensors, f"--rootdir={self.arguments.tests}",
                                        f"--confcutdir={self.arguments.tests.parent}", *words, self.name],
                                       cwd=self.arguments.tests, stdout=output, stderr=subprocess.STDOUT,
                                       env={**self.variables, "HEDDLE_SUITE_JOURNAL": str(self.journal)},
                                       start_new_session=True)
            size, since = 0, time.monotonic()
            try:
                while process.poll() is None:
                    time.sleep(0.05)
                    now = self.journal.stat().st_size
                    if now != size:
                        size, since = now, time.monotonic()
                    if time.monotonic() - since > self.arguments.limit * (1 if size else 10):
                        os.killpg(process.pid, 9)
            finally:
                if process.poll() is None:
                    os.killpg(process.pid, 9)
            code = process.wait()
            output.seek(0)
            self.text = output.read()[-20000:].decode(errors="replace")
        return code, [json.loads(line) for line in self.journal.read_text().splitlines() if line.endswith("}")]

    def collect(self):
        self.variables.pop("HEDDLE_SUITE_SELECTED", None)
        code, records = self.pytest("--collect-only")
        tests = [record["test"] for record in records if record["what"] == "collected"]
        if code not in (0, 5):
            self.results[self.name] = ("failed", f"cannot be collected, code {code}: {self.text[-800:]}")
        return tests

    def run(self, tests):
        left = list(tests)
        while left:
            self.selected.write_text("\n".join(left))
            self.variables["HEDDLE_SUITE_SELECTED"] = str(self.selected)
            code, records = self.pytest()
            started = None
            for record in records:
                if record["what"] == "started":
                    started = record["test"]
                elif record["what"] in ("passed", "failed", "skipped"):
                    self.results[record["test"]] = (record["what"], record["why"])
                    started = None
            if started is not None:
                how = f"over {self.arguments.limit} s" if code == -9 else f"the process ended with code {code}"
                self.results[started] = ("failed", f"{how}: {self.text[-800:]}")
            remaining = [test for test in left if test not in self.results]
            if len(remaining) == len(left):
                for test in left:
                    self.results[test] = ("failed", f"not reached, code {code}: {self.text[-800:]}")
                return
            left = remaining


def sample(tests, every, seed, name):
    if every <= 1:
        return tests
    offset = random.Random(f"{seed} {name}").randrange(every)
    return tests[offset::every]


def run_file(name, arguments, listed, variables, folder, log):
    file = File(name, arguments, dict(variables), tempfile.mkdtemp(dir=folder))
    counts = collections.Counter()
    tests = sample([test for test in file.collect() if re.search(arguments.only, test)], arguments.every, arguments.seed, name)
    wanted = [test for test in tests if listed.reason(test) is None]
    parts = [file] + [File(name, arguments, dict(variables), tempfile.mkdtemp(dir=folder)) for _ in range(1, arguments.jobs)]
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        list(pool.map(lambda number: parts[number].run(wanted[number::arguments.jobs]), range(arguments.jobs)))
    for part in parts[1:]:
        file.results.update(part.results)
    for test in tests:
        if test not in file.results:
            file.results[test] = ("skipped", f"listed: {listed.reason(test)}")
    for test, (what, why) in file.results.items():
        counts[what] += 1
        log.write(json.dumps({"device": arguments.device, "test": test, "result": what, "why": why}) + "\n")
    log.flush()
    return counts


def parse():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tests", type=pathlib.Path, help="the folder python/test of Triton's sources")
    parser.add_argument("files", nargs="*", help="of that folder; unless given, those of files.txt")
    parser.add_argument("--device", default="host", help="host, sim:gfx942, sim:gfx950, cuda:0; or triton, for Triton's own "
                        "backend of the GPU, to compare with (default host)")
    parser.add_argument("--tensors", help="where PyTorch's tensors are (default cpu; for cuda:N and triton cuda)")
    parser.add_argument("--every", type=int, default=1, help="run one test of so many")
    parser.add_argument("--seed", default="1", help="chooses these")
    parser.add_argument("--only", default="", help="a regular expression that names of tests contain")
    parser.add_argument("--jobs", type=int, default=1, help="processes at once (default 1)")
    parser.add_argument("--limit", type=float, default=60, help="seconds for one test (default 60)")
    parser.add_argument("--log", type=pathlib.Path, help="a file that gets a line of JSON for each test")
    arguments = parser.parse_args()
    arguments.tests = arguments.tests.resolve()
    gpu = arguments.device.startswith(("cuda", "triton"))
    arguments.tensors = arguments.tensors or ("cuda" if gpu else "cpu")
    if arguments.jobs < 1:
        parser.error(f"--jobs {arguments.jobs}: it must be 1 or more")
    if not arguments.tests.is_dir():
        parser.error(f"{arguments.tests} is no folder")
    arguments.files = arguments.files or (HERE / "files.txt").read_text(encoding="utf-8").split()
    missing = [name for name in arguments.files if not (arguments.tests / name).exists()]
    if missing:
        parser.error(f"{arguments.tests} has no {', '.join(missing)}: it should be Triton's folder python/test")
    return arguments


def main():
    arguments = parse()
    listed = NotApplicable(HERE / "not_applicable.txt", arguments.device)
    total = collections.Counter()
    print(f"| file on {arguments.device} | passed | failed | not applicable |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder, open(arguments.log or os.devnull, "a", encoding="utf-8") as log:
        variables = environment(arguments.device, folder)
        for name in arguments.files:
            chip = arguments.device.partition("sim:")[2] if name.startswith("gluon/") else ""
            counts = run_file(name, arguments, listed, {**variables, "HEDDLE_SUITE_HIP": chip}, folder, log)
            total += counts
            print(f"| {name} | {counts['passed']} | {counts['failed']} | {counts['skipped']} |", flush=True)
    applicable = total["passed"] + total["failed"]
    print(f"| all | {total['passed']} | {total['failed']} | {total['skipped']} |")
    print(f"{100 * total['passed'] / max(applicable, 1):.2f} % of {applicable} passed")
    return 1 if total["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
