# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs one described kernel: `heddle simulate`, comparison with the reference, `heddle check`."""
import json
import os
import traceback
from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from changes import ChangeError, changed
from commands import CommandError, execute, verdict_of
from description import Slack
from formats import F32

RUN_LIMIT = 900  # seconds of a compared run


class RunError(Exception):
    """The kernel could not be run: what was wrong, in one or more lines."""


@dataclass
class Settings:
    """What the user chose. `objects` is the folder that has gfx942 and gfx950; `work` gets inputs, results and verdicts;
    `changes` are made in a copy of the object. `form`, such as `mended`, has folders of its own there, so that it does not
    replace what came of the unchanged kernel."""
    heddle: str
    objects: str
    work: str
    check: bool = True
    time_limit: int = 120
    changes: tuple = ()
    form: str = ""


@dataclass
class Outcome:
    """What came of a kernel. `error` is set when it could not be run; `findings` counts them by kind, and
    `severities` by severity."""
    label: str
    right: bool = False
    comparisons: dict = field(default_factory=dict)
    instructions: int = 0
    seconds: float = 0.0
    verdict: str = "not checked"
    findings: dict = field(default_factory=dict)
    severities: dict = field(default_factory=dict)
    error: str = ""

    def rate(self):
        """Million wave instructions a second of the compared run."""
        return self.instructions / self.seconds / 1e6 if self.seconds else 0.0


def from_description(label, what, call, *arguments):
    """What a function of a description returns. Its exceptions are errors of that kernel, with their place."""
    try:
        return call(*arguments)
    except Exception as error:  # a description may raise anything
        place = traceback.extract_tb(error.__traceback__)[-1]
        raise RunError(f"{label}: `{what}` of the description raised {type(error).__name__}: {error}\n"
                       f"  note: {os.path.basename(place.filename)}:{place.lineno}: {place.line}") from error


def is_structure(argument):
    """Bytes by value, which are no number: what is given for them is a structure in JSON or a file, or an array of bytes."""
    return argument["kind"] == "by_value" and argument["bytes"] > 8


def is_pointer(value):
    return isinstance(value, (np.ndarray, Slack, str))


def is_filler(argument):
    """As `heddle` names them, which makes them zeros."""
    return argument["name"].lstrip("_").rstrip("_0123456789").lower() in ("pad", "padding")


def shown(argument):
    return f"`{argument['name'] or argument['position']}` at offset {argument['offset']}"


def check_all_given(kernel, arguments, launch):
    """Each argument of the object must be described, or named among the zeros."""
    missing = [shown(one) for offset, one in arguments.items()
               if offset not in launch.arguments and not is_filler(one) and one["name"] not in launch.zeros]
    if missing:
        raise RunError(f"{kernel.label}: the description gives no value for {', '.join(missing)} of `{kernel.object}`; "
                       f"it has values at offsets {', '.join(map(str, launch.arguments))}\n"
                       "note: `zeros` names arguments that are 0, or no buffer")


def check_fits(kernel, arguments, given):
    """Each described argument must be one of the object, but no filler, and a number must fit its size."""
    for offset, value in given.items():
        argument = arguments.get(offset)
        if argument is None:
            raise RunError(f"{kernel.label}: the description has an argument at offset {offset}; `{kernel.object}` has "
                           f"arguments at offsets {', '.join(map(str, arguments))}")
        if is_filler(argument):
            raise RunError(f"{kernel.label}: the description has an argument at offset {offset}; `{kernel.object}` has filler "
                           f"{shown(argument)}, and arguments at offsets "
                           f"{', '.join(str(each) for each, one in arguments.items() if not is_filler(one))}")
        if is_structure(argument):
            check_structure(kernel, argument, offset, value)
            continue
        if is_pointer(value):
            size = 4 if isinstance(value, str) and value in ("rank", "devices") else 8
        else:
            size = 4 if isinstance(value, F32) or -2 ** 31 <= int(value) < 2 ** 32 else -(-int(value).bit_length() // 64) * 8
        if is_pointer(value) and argument["bytes"] != size or argument["bytes"] < size:
            raise RunError(f"{kernel.label}: the description's value at offset {offset} has {size} bytes; argument "
                           f"`{argument['name'] or argument['position']}` of `{kernel.object}` has {argument['bytes']}")


def check_structure(kernel, argument, offset, value):
    """Text is for `heddle simulate --arg`, which names what is wrong with it; an array has the argument's bytes; 0 is zeros."""
    if isinstance(value, str) or isinstance(value, np.ndarray) and value.nbytes == argument["bytes"]:
        return
    if not isinstance(value, (np.ndarray, Slack)) and value == 0:
        return
    given = f"{value.nbytes} bytes" if isinstance(value, np.ndarray) else f"{type(value).__name__} `{value}`"
    raise RunError(f"{kernel.label}: the description's value at offset {offset} is {given}; argument "
                   f"`{argument['name'] or argument['position']}` of `{kernel.object}` is a structure of {argument['bytes']} bytes\n"
                   "note: give an array of that many bytes, or text as `heddle simulate --arg` takes it: JSON, or `struct:FILE`")


def fields_of(size, given):
    """Of an object that declares all its arguments as one, or others than it reads: {offset: field} for the described
    offsets, in the words of `heddle inspect`, and the structure of `size` bytes as the command line takes it."""
    fields, described = {}, []
    for offset, value in given.items():
        number = not is_pointer(value)
        kind = ("f32" if isinstance(value, F32) else "i32") if number else "ptr"
        described.append({"name": f"at{offset}", "type": kind, "offset": offset})
        fields[offset] = {"offset": offset, "position": f"at{offset}", "name": f"at{offset}", "bytes": 4 if number else 8,
                          "kind": "by_value" if number else "global_buffer"}
    return fields, json.dumps({"fields": described, "size": size})


class Runner:
    """The commands of one kernel, and their results, in a folder of its own."""

    def __init__(self, kernel, settings):
        self.kernel, self.settings = kernel, settings
        self.path = os.path.join(settings.objects, kernel.object)
        self.folder = os.path.join(settings.work, "-".join(filter(None, (kernel.family, kernel.name, kernel.chip, settings.form))))
        os.makedirs(self.folder, exist_ok=True)
        if settings.changes:
            self.path = self.changed_object()
        inspect = [settings.heddle, "inspect", self.path, "--json", *(("--kernel", kernel.symbol) if kernel.symbol else ())]
        listed = sorted(self.execute(inspect, RUN_LIMIT)["arguments"], key=lambda one: one["offset"])
        self.arguments_by_offset = {one["offset"]: one for one in listed}
        self.launch, self.structure = from_description(kernel.label, "make", kernel.make), []
        # All arguments declared as one: the description has the values at their offsets within it, unless it gives it whole.
        one_argument = len(listed) == 1 and is_structure(listed[0]) and not self.is_whole(listed[0])
        if one_argument or kernel.segment:
            size = kernel.segment or listed[0]["bytes"]
            self.arguments_by_offset, structure = fields_of(size, self.launch.arguments)
            self.structure = ["--kernarg", structure] if kernel.segment else ["--arg", f"{listed[0]['position']}={structure}"]
        check_fits(kernel, self.arguments_by_offset, self.launch.arguments)
        check_all_given(kernel, self.arguments_by_offset, self.launch)

    def is_whole(self, argument):
        """Whether the description gives the structure by itself, not the fields in it."""
        value = self.launch.arguments.get(argument["offset"])
        text = isinstance(value, str) and value.startswith(("{", "struct:", "@"))
        return len(self.launch.arguments) == 1 and (
            text or isinstance(value, np.ndarray) and value.dtype.itemsize == 1 and value.nbytes == argument["bytes"])

    def changed_object(self):
        with open(self.path, "rb") as file:
            elf = file.read()
        try:
            for change in self.settings.changes:
                elf = changed(elf, change)
        except ChangeError as error:
            raise RunError(f"{self.kernel.label}: {error}") from error
        path = os.path.join(self.folder, "changed.co")
        with open(path, "wb") as file:
            file.write(elf)
        return path

    def execute(self, command, limit, accepted=(0,)):
        try:
            return execute(command, self.folder, limit, accepted)
        except CommandError as error:
            raise RunError(f"{self.kernel.label}: {error}") from error

    def position(self, offset):
        """How `--arg` and `--out` name it: an argument by its position, a buffer by its name."""
        return offset if isinstance(offset, str) else self.arguments_by_offset[offset]["position"]

    def saved(self, name, values):
        file = os.path.join(self.folder, name + ".npy")
        np.save(file, values)
        return "@" + file

    def value_text(self, argument):
        """The value of an argument as `--arg` takes it; one of the zeros is 0, or no buffer."""
        value = self.launch.arguments.get(argument["offset"], 0)
        if isinstance(value, np.ndarray) and is_structure(argument):
            return self.saved(f"argument{argument['position']}", np.frombuffer(value.tobytes(), np.uint8))
        if isinstance(value, np.ndarray):
            return self.saved(f"argument{argument['position']}", value)
        if isinstance(value, Slack):
            return f"slack:{value.bytes}:" + self.saved(f"argument{argument['position']}", value.array)
        if isinstance(value, str):
            return value
        if isinstance(value, F32):
            return repr(float(value))
        if argument["kind"] == "global_buffer" and value == 0:
            return "null"
        return str(int(value))

    def arguments(self):
        """--grid, --block, --arg and --buffer; fillers are zeros by themselves."""
        command = ["--grid", ",".join(map(str, self.launch.grid)), "--block", str(self.launch.block)]
        if self.kernel.symbol:
            command += ["--kernel", self.kernel.symbol]
        command += self.structure
        for argument in self.arguments_by_offset.values():
            if not is_filler(argument):
                command += ["--arg", f"{argument['position']}={self.value_text(argument)}"]
        for name, value in self.launch.buffers.items():
            command += ["--buffer", f"{name}={self.saved(name, value) if isinstance(value, np.ndarray) else value}"]
        return command + list(self.launch.options)

    def simulate_command(self):
        command = [self.settings.heddle, "simulate", self.path, "--json"] + self.arguments()
        if self.kernel.schedule:
            command += ["--schedule", self.kernel.schedule]
        for offset in self.launch.wanted():
            command += ["--out", f"{self.position(offset)}={self.result_file(offset)}"]
        return command

    def check_command(self):
        command = [self.settings.heddle, "check", self.path, "--time-limit", str(self.settings.time_limit), "--json"]
        for offset in self.launch.allow_different:
            command += ["--allow-different", str(self.position(offset))]
        return command + self.arguments()

    def mutate_command(self):
        command = self.check_command()
        return command[:1] + ["mutate"] + command[2:]

    def result_file(self, offset):
        return os.path.join(self.folder, f"result{self.position(offset)}.npy")

    def device_files(self, offset):
        """Where `heddle simulate` has written a buffer of several devices."""
        begin = os.path.basename(self.result_file(offset))[:-3]
        return [os.path.join(self.folder, name) for name in sorted(os.listdir(self.folder))
                if name.startswith(begin) and name.endswith(".npy") and name[len(begin):-4].isdigit()]

    def result(self, offset):
        """What the buffer holds after the run. With several devices each has a file of its own, `result8.2.npy` for device 2."""
        file = self.result_file(offset)
        if os.path.exists(file):
            return np.load(file)
        there = self.device_files(offset)
        if there:
            raise RunError(f"{self.kernel.label}: the description wants output `{offset}`, of no one device; `heddle simulate` wrote one "
                           f"for each of {len(there)} devices, as `{os.path.basename(there[0])}`\n"
                           "note: make it a buffer of `buffers`, and name one device's as `NAME@DEVICE`")
        name, _, device = str(offset).partition("@")
        raise RunError(f"{self.kernel.label}: `heddle simulate` wrote no `{os.path.basename(file)}`, output `{name}`"
                       f"{' of device ' + device if device else ''}")

    def run(self):
        outcome = Outcome(self.kernel.label)
        self.simulate(outcome)
        if self.settings.check:
            self.check(outcome)
        return outcome

    def simulate(self, outcome):
        command = self.simulate_command()
        for offset in self.launch.wanted():  # one of an earlier run is no result of this one
            for file in (self.result_file(offset), *self.device_files(offset)):
                if os.path.exists(file):
                    os.remove(file)
        report = self.execute(command, RUN_LIMIT)
        outcome.instructions, outcome.seconds = report["instructions"], report["seconds"]
        results = {offset: self.result(offset) for offset in self.launch.wanted()}
        outcome.right = True
        for offset, expected in self.launch.expected.items():
            right, sentence = from_description(self.kernel.label, f"expected[{offset!r}]", expected.compare, results[offset])
            outcome.right &= right
            outcome.comparisons[f"offset {offset}"] = sentence
        if self.launch.judge:
            right, sentence = from_description(self.kernel.label, "judge", self.launch.judge, results)
            outcome.right &= bool(right)
            outcome.comparisons["all"] = sentence

    def check(self, outcome):
        # The limit stops runs; what the program does before and after them comes on top.
        report = self.execute(self.check_command(), 2 * self.settings.time_limit + 60, (0, 1))
        outcome.findings = dict(Counter(one["kind"] for one in report["findings"]))
        outcome.severities = dict(Counter(one["severity"] for one in report["findings"]))
        outcome.verdict = verdict_of(report)
        if self.kernel.verdict and not self.settings.changes and outcome.verdict != self.kernel.verdict:
            outcome.right = False
            outcome.comparisons["check"] = f"the verdict is `{outcome.verdict}`, and must be `{self.kernel.verdict}`"
