# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs one described kernel: `heddle simulate`, comparison with the reference, `heddle check`."""
import json
import os
import shlex
import subprocess
from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from codeobject import read_kernels
from formats import F32


class RunError(Exception):
    """The kernel could not be run: what was wrong, in one or more lines."""


@dataclass
class Settings:
    """What the user chose. `objects` is the folder that has gfx942 and gfx950; `work` gets inputs, results and verdicts."""
    heddle: str
    objects: str
    work: str
    check: bool = True
    time_limit: int = 120
    run_limit: int = 900


@dataclass
class Outcome:
    """What came of a kernel. `error` is set when it could not be run; `findings` counts them by severity."""
    label: str
    right: bool = False
    comparisons: dict = field(default_factory=dict)
    instructions: int = 0
    seconds: float = 0.0
    verdict: str = "not checked"
    findings: dict = field(default_factory=dict)
    error: str = ""

    def rate(self):
        """Million wave instructions a second of the compared run."""
        return self.instructions / self.seconds / 1e6 if self.seconds else 0.0


def find_metadata(kernel, path):
    """The metadata of the described kernel; an error names what the object has instead."""
    kernels = read_kernels(path)
    if kernel.symbol:
        kernels = [one for one in kernels if one.name == kernel.symbol]
    if len(kernels) != 1:
        have = ", ".join(one.name for one in read_kernels(path)) or "none"
        raise RunError(f"{kernel.label}: the description names kernel `{kernel.symbol}`; `{path}` has: {have}")
    return kernels[0]


def check_fits(kernel, metadata, arguments):
    """Each described argument must be one of the object, and a number must fit its size."""
    for offset, value in arguments.items():
        argument = metadata.arguments.get(offset)
        if argument is None:
            have = ", ".join(f"{one.offset}" for one in metadata.arguments.values())
            raise RunError(f"{kernel.label}: the description has an argument at offset {offset}; kernel `{metadata.name}` has "
                           f"arguments at offsets {have}")
        if isinstance(value, (np.ndarray, str)):
            size = 8
        else:
            size = 4 if isinstance(value, F32) or -2 ** 31 <= int(value) < 2 ** 32 else -(-int(value).bit_length() // 64) * 8
        if isinstance(value, (np.ndarray, str)) and argument.size != size or argument.size < size:
            raise RunError(f"{kernel.label}: the description's value at offset {offset} has {size} bytes; argument "
                           f"`{argument.name or argument.position}` of kernel `{metadata.name}` has {argument.size}")


class Runner:
    """The commands of one kernel, and their results, in a folder of its own."""

    def __init__(self, kernel, settings):
        self.kernel, self.settings = kernel, settings
        self.path = os.path.join(settings.objects, kernel.object)
        self.folder = os.path.join(settings.work, f"{kernel.family}-{kernel.name}-{kernel.chip}")
        os.makedirs(self.folder, exist_ok=True)
        self.metadata = find_metadata(kernel, self.path)
        self.launch = kernel.make()
        check_fits(kernel, self.metadata, self.launch.arguments)
        self.position = {offset: one.position for offset, one in self.metadata.arguments.items()}

    def value_text(self, argument):
        """The value of an argument as `--arg` takes it; what the description leaves out is 0, and no buffer."""
        value = self.launch.arguments.get(argument.offset, 0)
        if isinstance(value, np.ndarray):
            file = os.path.join(self.folder, f"argument{argument.position}.npy")
            np.save(file, value)
            return "@" + file
        if isinstance(value, str):
            return value
        if isinstance(value, F32):
            return repr(float(value)) if argument.type == "f32" else str(int(np.float32(value).view(np.int32)))
        if argument.kind == "global_buffer" and value == 0:
            return "i8[16]"  # a pointer that the kernel must not use
        return str(int(value))

    def arguments(self):
        """--grid, --block and --arg; fillers that share a name are given once, by it."""
        command = ["--grid", ",".join(map(str, self.launch.grid)), "--block", str(self.launch.block)]
        if self.kernel.symbol:
            command += ["--kernel", self.kernel.symbol]
        names = Counter(one.name for one in self.metadata.arguments.values())
        for name, count in sorted(names.items()):
            if name and count > 1:
                command += ["--arg", f"{name}=0"]
        for _, argument in sorted(self.metadata.arguments.items()):
            if not argument.name or names[argument.name] == 1:
                command += ["--arg", f"{argument.position}={self.value_text(argument)}"]
        return command + list(self.launch.options)

    def simulate_command(self):
        command = [self.settings.heddle, "simulate", self.path, "--json"] + self.arguments()
        if self.kernel.schedule:
            command += ["--schedule", self.kernel.schedule]
        for offset in self.launch.wanted():
            command += ["--out", f"{self.position[offset]}={self.result_file(offset)}"]
        return command

    def check_command(self):
        command = [self.settings.heddle, "check", self.path, "--time-limit", str(self.settings.time_limit), "--json"]
        for offset in self.launch.allow_different:
            command += ["--allow-different", str(self.position[offset])]
        return command + self.arguments()

    def mutate_command(self):
        command = self.check_command()
        return command[:1] + ["mutate"] + command[2:]

    def result_file(self, offset):
        return os.path.join(self.folder, f"result{self.position[offset]}.npy")

    def run(self):
        outcome = Outcome(self.kernel.label)
        self.simulate(outcome)
        if self.settings.check:
            self.check(outcome)
        return outcome

    def simulate(self, outcome):
        report = self.execute(self.simulate_command(), "simulate", self.settings.run_limit, (0,))
        outcome.instructions, outcome.seconds = report["instructions"], report["seconds"]
        results = {offset: np.load(self.result_file(offset)) for offset in self.launch.wanted()}
        outcome.right = True
        for offset, expected in self.launch.expected.items():
            right, sentence = expected.compare(results[offset])
            outcome.right &= right
            outcome.comparisons[f"offset {offset}"] = sentence
        if self.launch.judge:
            right, sentence = self.launch.judge(results)
            outcome.right &= bool(right)
            outcome.comparisons["all"] = sentence

    def check(self, outcome):
        # The limit stops runs; what the program does before and after them comes on top.
        report = self.execute(self.check_command(), "check", 2 * self.settings.time_limit + 60, (0, 1))
        outcome.findings = dict(Counter(one.get("severity", one["kind"]) for one in report["findings"]))
        outcome.verdict = "clean" if report["clean"] else "findings" if report["findings"] else "not finished"
        if self.kernel.verdict and outcome.verdict != self.kernel.verdict:
            outcome.right = False
            outcome.comparisons["check"] = f"the verdict is `{outcome.verdict}`, and must be `{self.kernel.verdict}`"

    def execute(self, command, name, limit, accepted):
        """The JSON that the program prints; its text and the command stay in the kernel's folder."""
        with open(os.path.join(self.folder, name + ".sh"), "w", encoding="utf-8") as file:
            file.write(shlex.join(command) + "\n")
        try:
            run = subprocess.run(command, capture_output=True, text=True, timeout=limit, check=False)
        except subprocess.TimeoutExpired as error:
            raise RunError(f"{self.kernel.label}: `heddle {name}` did not end within {limit} seconds") from error
        with open(os.path.join(self.folder, name + ".json"), "w", encoding="utf-8") as file:
            file.write(run.stdout)
        if run.returncode not in accepted:
            raise RunError(f"{self.kernel.label}: `heddle {name}` ended with {run.returncode}: {run.stderr.strip()[:2000]}")
        return json.loads(run.stdout)
