# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One launch of a compiled kernel: `heddle inspect`, `heddle simulate` against the problem's result, `heddle check`."""
import pathlib
import sys

from problems import read_npy, write_npy

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "production"))
from commands import execute, verdict_of  # noqa: E402

LIMIT = 600  # seconds for one command


class Launch:
    """`told` is an entry of launches.json: kernel, chip, object, grid, block, lds and arguments. An argument is a number, a
    buffer of the problem, or a text such as `i32[4]` that goes to `--arg` as it is."""

    def __init__(self, told, problem, heddle, folder):
        self.told, self.problem, self.heddle, self.folder = told, problem, heddle, folder
        self.work = folder / f"{told['kernel']}.{told['chip']}"
        self.work.mkdir(exist_ok=True)

    def position(self, name):
        return self.told["arguments"].index(name)

    def options(self):
        told = self.told
        options = ["--kernel", told.get("symbol", told["kernel"]), "--grid", ",".join(map(str, told["grid"])),
                   "--block", ",".join(map(str, told["block"]))]
        if told["lds"]:
            options += ["--lds", str(told["lds"])]
        buffers = {**self.problem.inputs, **self.problem.outputs}
        for position, argument in enumerate(told["arguments"]):
            if argument in buffers:
                path = self.work / f"{argument}.npy"
                write_npy(path, buffers[argument])
                argument = f"@{path}"
            options += ["--arg", f"{position}={argument}"]
        return options

    def execute(self, verb, accepted, options):
        command = [self.heddle, verb, str(self.folder / self.told["object"]), "--json", *options]
        return execute(command, self.work, LIMIT, accepted)

    def run(self, policies=("earliest", "latest")):
        """A row of the table."""
        row = dict(kernel=self.told["kernel"], chip=self.told["chip"], instructions=0, wrong=[], verdict="", findings=[])
        inspected = self.execute("inspect", (0,), ["--kernel", self.told.get("symbol", self.told["kernel"])])
        row["vectorRegisters"] = inspected["resources"]["vectorRegisters"]
        options = self.options()
        for policy in policies:
            results = {name: self.work / f"{name}.{policy}.npy" for name in self.problem.outputs}
            wanted = [text for name, path in results.items() for text in ("--out", f"{self.position(name)}={path}")]
            row["instructions"] = self.execute("simulate", (0,), [*options, "--policy", policy, *wanted])["instructions"]
            sentences = [self.problem.compare(name, read_npy(path)) for name, path in results.items()]
            row["wrong"] += [f"{policy}: {sentence}" for sentence in sentences if sentence]
        verdict = self.execute("check", (0, 1), options)
        row["verdict"] = verdict_of(verdict)
        row["findings"] = [one["kind"] for one in verdict["findings"]]
        row["notCleanBecause"] = verdict["notCleanBecause"]
        return row
