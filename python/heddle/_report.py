# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""check, simulate, mutate, inspect, run: what the command's verbs report, as objects over their JSON."""
from __future__ import annotations

import ctypes
import html
import json
import os
import pathlib
import shutil
import tempfile
import threading
import weakref
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple, Union

from ._arrays import Array, memory_of, npy_bytes, read_npy
from ._kernel import Kernel, Source, compile, is_text
from ._library import DeviceError, InputError, InternalError, ProgressFunction, WrongResult, library, strings
from ._values import Grid, grid_of

Progress = Callable[[int, int], Any]
_KINDS = {1: WrongResult, 2: InputError, 3: DeviceError, 70: InternalError}


def report(verb: str, words: Sequence[Any], progress: Optional[Progress] = None) -> Tuple[int, Any]:
    """Runs a verb of the command in this process: its exit code, and what `--json` prints. Ctrl-C ends check and mutate
    early. `progress(done, all)` is called now and then; when it returns something true the work ends early."""
    lib = library()
    cancelled = threading.Event()
    result: Dict[str, Any] = {}

    def on_progress(done: int, whole: int, _user: Any) -> int:
        try:
            return 1 if cancelled.is_set() or bool(progress and progress(done, whole)) else 0
        except BaseException as problem:  # it cannot pass through the library: raised again below
            result.setdefault("problem", problem)
            return 1

    def work() -> None:
        try:
            code = ctypes.c_int32()
            callback = ProgressFunction(on_progress)
            text = lib.bytes(lib.report, verb.encode(), *strings(map(str, words)),
                             ctypes.cast(callback, ctypes.c_void_p), None, ctypes.byref(code))
            result["value"] = code.value, json.loads(text) if text.strip() else {}
        except BaseException as problem:  # raised again below, on the caller's thread
            result.setdefault("problem", problem)

    if threading.current_thread() is threading.main_thread():
        # The main thread alone sees Ctrl-C, and not while it is inside the library.
        worker = threading.Thread(target=work, name="heddle-" + verb)
        worker.start()
        try:
            worker.join()
        except KeyboardInterrupt:
            cancelled.set()
            worker.join()
            raise
    else:
        work()
    if "problem" in result:
        raise result["problem"]
    return result["value"]


class _Folder:
    """Files for a verb: kernels and arrays that are not files. Kept as long as a replay command may name them."""

    def __init__(self) -> None:
        self.path = pathlib.Path(tempfile.mkdtemp(prefix="heddle-"))
        self._remove = weakref.finalize(self, shutil.rmtree, str(self.path), True)

    def write(self, name: str, contents: bytes) -> str:
        path = self.path / name
        path.write_bytes(contents)
        return str(path)

    def keep(self) -> None:
        self._remove.detach()


class _Command:
    """The words of a verb about a kernel, and the arrays whose contents are wanted after it."""

    def __init__(self, source: Any, target: Optional[str], grid: Optional[Grid], arguments: Mapping[str, Any],
                 options: Mapping[str, Any], knows_written: bool = True):
        self.folder = _Folder()
        self._knows_written = knows_written  # the verb tells zeros that count as written from uninitialised ones
        self.words: List[str] = []
        self.outputs: Dict[str, Tuple[str, str, Tuple[int, ...]]] = {}
        options = dict(options)
        if hasattr(source, "arg_names") and hasattr(source, "fn"):
            source = compile(source, target, **_taken(options, "signature", "warps", "stages", *_constants(source, options)))
            target = None
        self.words.append(self._file(source))
        if target is not None:
            self._option("target", target)
        if grid is not None:
            self._option("grid", _extents(grid))
        block = options.pop("block", None)
        if block is not None:
            self._option("block", _extents(block))
        for name, value in (options.pop("buffers", None) or {}).items():
            self.words += ["--buffer", f"{name}={self._value(name, value)}"]
        for name, value in arguments.items():
            self.words += ["--arg", f"{name}={self._value(name, value)}"]
        for name, value in options.items():
            self._option(name.replace("_", "-"), value)

    def _file(self, source: Any) -> str:
        if isinstance(source, Kernel):
            return self.folder.write(source.name + ".hpkg", source.to_bytes())
        if isinstance(source, (bytes, bytearray)):
            return self.folder.write("kernel.hsaco" if source.startswith(b"\x7fELF") else "kernel.hpkg", bytes(source))
        if isinstance(source, str) and is_text(source):
            return self.folder.write("kernel.ttir", source.encode())
        if isinstance(source, (str, os.PathLike)):
            return os.fspath(source)
        raise InputError(f"a kernel, a path, a text or bytes are wanted, and {source!r} was given")

    def _option(self, name: str, value: Any) -> None:
        if value is None or value is False:
            return
        values = value if isinstance(value, (list, tuple)) else [value]
        for each in values:
            self.words += ["--" + name] if each is True else ["--" + name, str(each)]

    def _value(self, name: str, value: Any) -> str:
        if isinstance(value, str):
            return value
        if isinstance(value, bool):
            return "1" if value else "0"
        if value is None:
            return "null"
        spec = value.current_spec() if isinstance(value, Array) else None
        if spec is not None:
            return spec if self._knows_written else spec.removeprefix("zeros:")
        memory = memory_of(value, f"argument `{name}`")
        if memory is None:
            return repr(value) if isinstance(value, float) else str(value)
        if memory.place != "host":
            raise InputError(f"argument `{name}` is on {memory.place}, and an array of the host is wanted")
        self.outputs[name] = "", memory.dtype, memory.shape
        return "@" + self.folder.write(name + ".npy", npy_bytes(memory))

    def want(self, names: Sequence[str], arguments: Mapping[str, Any]) -> None:
        """Asks for the contents of buffers after the run."""
        for name in names:
            dtype, shape = form_of(arguments[name])
            path = str(self.folder.path / f"out.{name}.npy")
            self.outputs[name] = path, dtype, shape
            self.words += ["--out", f"{name}={path}"]


def _taken(options: Dict[str, Any], *names: str) -> Dict[str, Any]:
    return {name: options.pop(name) for name in names if name in options}


def _constants(source: Any, options: Mapping[str, Any]) -> List[str]:
    return [name for name in source.arg_names if name in options]


def _extents(grid: Grid) -> str:
    """`4`, `2,3`: without the ones at the end."""
    x, y, z = grid_of(grid)
    return f"{x},{y},{z}" if z != 1 else f"{x},{y}" if y != 1 else str(x)


def form_of(value: Any) -> Tuple[str, Tuple[int, ...]]:
    """Type and shape of an array in any form."""
    if isinstance(value, str):
        form = value.removeprefix("zeros:").removeprefix("rand:")
        name, _, rest = form.partition("[")
        return name, tuple(int(extent) for extent in rest.partition("]")[0].split(",") if extent)
    memory = memory_of(value)
    if memory is None:
        raise InputError(f"{value!r} is no array")
    return memory.dtype, memory.shape


def is_array(value: Any) -> bool:
    if isinstance(value, str):
        return "[" in value
    return value is not None and memory_of(value) is not None


class Finding:
    """One thing that a check found, with the command that shows it again (`replay`)."""

    def __init__(self, json: Dict[str, Any]):
        self.json = json
        self.kind: str = json.get("kind") or json.get("check", "")
        self.text: str = json.get("text", "").rstrip("\n")
        self.severity: str = json.get("severity", "")
        self.reason: str = json.get("reason", "")
        self.replay: str = json.get("replay", "")
        self.places: List[str] = [f"{place['file']}:{place['line']}" for place in json.get("places", []) if "file" in place]

    @property
    def where(self) -> str:
        """The first source line that it names, `kernels.py:23`; empty where the code has none."""
        return self.places[0] if self.places else ""

    def __str__(self) -> str:
        return self.text + (f"\n  replay {self.replay}" if self.replay else "")

    def __repr__(self) -> str:
        return f"<heddle.Finding {self.kind}{' at ' + self.where if self.where else ''}>"


class _Report:
    """An object over JSON; `json` has all of it."""

    def __init__(self, json: Dict[str, Any], folder: _Folder):
        self.json, self._folder = json, folder

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"


class CheckReport(_Report):
    """What `heddle.check` found. `clean` only if every planned run ended and nothing was found."""

    def __init__(self, json: Dict[str, Any], folder: _Folder):
        super().__init__(json, folder)
        self.kernel: str = json["kernel"]
        self.chip: str = json["chip"]
        self.clean: bool = json["clean"]
        self.runs: int = json["runs"]
        self.seconds: float = json["seconds"]
        self.findings = [Finding(each) for each in json["findings"]]
        self.not_clean_because: List[str] = json["notCleanBecause"]
        self.notes: List[str] = json["notes"]
        self.approximated: List[str] = json["approximated"]
        if self.findings:
            folder.keep()  # the replay commands name its files

    @property
    def verdict(self) -> str:
        """`clean`, `2 findings`, `not clean because ...`."""
        if self.clean:
            return "clean"
        count = len(self.findings)
        texts = [f"{count} finding{'' if count == 1 else 's'}"] if count else []
        if self.not_clean_because:
            texts.append("not clean because " + ", and ".join(self.not_clean_because))
        return "; ".join(texts)

    def raise_for_findings(self) -> None:
        """Raises WrongResult, with the findings as notes, unless the kernel is clean."""
        if not self.clean:
            raise WrongResult(f"kernel `{self.kernel}` on {self.chip}: {self.verdict}",
                              [str(finding) for finding in self.findings])

    def __str__(self) -> str:
        return "\n\n".join([*(str(finding) for finding in self.findings),
                            f"{self.kernel} on {self.chip}, {self.runs} runs: {self.verdict}"])

    def __repr__(self) -> str:
        return f"<heddle.CheckReport {self.kernel} on {self.chip}, {self.runs} runs: {self.verdict}>"


class Simulation(_Report):
    """What one simulated run did. `buffers` are the contents of all arrays after it."""

    def __init__(self, json: Dict[str, Any], folder: _Folder, buffers: Dict[str, Array]):
        super().__init__(json, folder)
        self.buffers = buffers
        self.kernel: str = json["kernel"]
        self.chip: str = json["chip"]
        self.instructions: int = json["instructions"]
        self.findings = [Finding(each) for each in json["findings"]]
        self.time: Optional[Dict[str, Any]] = json.get("time")

    def __repr__(self) -> str:
        return (f"<heddle.Simulation {self.kernel} on {self.chip}, {self.instructions} instructions, "
                f"{len(self.findings)} findings>")

    __str__ = __repr__


class Mutation(_Report):
    """How many of the faults that were put into a kernel `check` finds: `score`, from 0 to 1; None where no faults were put
    into it, because it has findings itself or its runs did not end. Then `json["noMutantsBecause"]` says which."""

    def __init__(self, json: Dict[str, Any], folder: _Folder):
        super().__init__(json, folder)
        self.good = CheckReport(json["good"], folder)
        self.mutants: List[Dict[str, Any]] = json["mutants"]
        self.score: Optional[float] = json["score"]
        self.caught: int = json["caught"]
        self.equivalent: int = json["equivalent"]

    def __repr__(self) -> str:
        if self.score is None:
            return f"<heddle.Mutation {self.good.kernel}: no score, {self.json['noMutantsBecause']}>"
        return (f"<heddle.Mutation {self.good.kernel}: score {100 * self.score:.1f} %, {self.caught} caught, "
                f"{self.equivalent} equivalent of {len(self.mutants)}>")

    __str__ = __repr__


class Inspection(Mapping[str, Any]):
    """What is in a kernel: the JSON of `heddle inspect`, as a mapping whose keys are attributes too."""

    def __init__(self, json: Dict[str, Any]):
        self.json = json

    def __getitem__(self, key: str) -> Any:
        return self.json[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self.json)

    def __len__(self) -> int:
        return len(self.json)

    def __getattr__(self, name: str) -> Any:
        json = self.__dict__.get("json", {})
        if name in json:
            return json[name]
        raise AttributeError(f"there is no {name!r}; there are {', '.join(json)}")

    def __repr__(self) -> str:
        return f"<heddle.Inspection {self.json.get('kernel', '')}: {', '.join(self.json)}>"


def _arguments(args: Optional[Mapping[str, Any]], named: Dict[str, Any],
               known: Sequence[str]) -> Tuple[Dict[str, Any], Dict[str, Any]]:
    """Arguments of the kernel, and options of the verb."""
    options = {name: named.pop(name) for name in list(named) if name in known}
    return {**(args or {}), **named}, options


_RUN_OPTIONS = ("kernel", "block", "buffers", "warps", "warp_pipeline", "lds", "devices", "resident", "limit", "no_preload",
                "kernarg", "checks", "threads", "signature")
_CHECK_OPTIONS = (*_RUN_OPTIONS, "schedules", "allow_different", "time_limit")
_SIMULATE_OPTIONS = (*_RUN_OPTIONS, "policy", "schedule", "seed", "caches", "transactions", "time", "time_groups",
                     "trace_events", "trace_groups", "no_hint")


def _split(source: Any, args: Optional[Mapping[str, Any]], named: Dict[str, Any], known: Sequence[str]):
    """For a function of triton.jit its constants are options too."""
    arguments, options = _arguments(args, named, known)
    if hasattr(source, "params"):
        for parameter in source.params:
            if parameter.is_constexpr and parameter.name in arguments:
                options[parameter.name] = arguments.pop(parameter.name)
    return arguments, options


def check(source: Source, target: Optional[str] = None, grid: Grid = 1, args: Optional[Mapping[str, Any]] = None, *,
          min_severity: Optional[str] = None, progress: Optional[Progress] = None, **named: Any) -> CheckReport:
    """Runs a kernel for an AMD chip under many schedules that the memory model allows, with all checks, on this processor
    (`heddle check`). `source` is a code object, a package, a Kernel, a text or its path, which is compiled for `target`.

    Arguments are given in `args`, or by name where no option has the name: numbers, arrays, or text as for the command
    (`rand:f32[4000]:1`). Options: schedules, checks, allow_different, time_limit, threads, block, kernel, buffers, lds,
    devices, resident, limit, warps."""
    arguments, options = _split(source, args, named, _CHECK_OPTIONS)
    options["min_severity"] = min_severity
    command = _Command(source, target, grid, arguments, options)
    _, json = report("check", command.words, progress)
    return CheckReport(json, command.folder)


def mutate(source: Source, target: Optional[str] = None, grid: Grid = 1, args: Optional[Mapping[str, Any]] = None, *,
           progress: Optional[Progress] = None, **named: Any) -> Mutation:
    """Whether `check` finds faults that are put into a kernel (`heddle mutate`). As `check`, and cross_check, equivalent."""
    arguments, options = _split(source, args, named, (*_CHECK_OPTIONS, "cross_check", "equivalent"))
    command = _Command(source, target, grid, arguments, options)
    _, json = report("mutate", command.words, progress)
    return Mutation(json, command.folder)


def simulate(source: Source, target: Optional[str] = None, grid: Grid = 1, args: Optional[Mapping[str, Any]] = None,
             **named: Any) -> Simulation:
    """Runs a kernel for an AMD chip once on this processor (`heddle simulate`). Arguments as for `check`. Options: policy,
    schedule, seed, checks, caches, transactions, time, threads, block, kernel, buffers, lds, devices, resident, limit."""
    arguments, options = _split(source, args, named, _SIMULATE_OPTIONS)
    several = int(options.get("devices") or 1) > 1
    command = _Command(source, target, grid, arguments, options)
    if not several:
        command.want([name for name, value in arguments.items() if is_array(value)], arguments)
    code, json = report("simulate", command.words)
    if "error" in json:
        error = json["error"]
        raise _KINDS.get(code, InternalError)(error["message"], error["notes"])
    buffers = {name: read_npy(path, dtype, shape) for name, (path, dtype, shape) in command.outputs.items() if path}
    return Simulation(json, command.folder, buffers)


def inspect(source: Any, **options: Any) -> Inspection:
    """What is in a kernel, a code object or a module: the JSON of `heddle inspect`, whose options these are."""
    command = _Command(source, None, None, {}, options)
    return Inspection(report("inspect", command.words)[1])


def doctor() -> Dict[str, Any]:
    """What this machine has, and every setting with its origin."""
    return report("doctor", [])[1]


class ModuleRun(_Report):
    """What an HLO module gave: `results[number][rank]` is an array."""

    def __init__(self, json: Dict[str, Any], folder: _Folder):
        super().__init__(json, folder)
        self.module: str = json["module"]
        self.ranks: int = json["ranks"]
        self.results: Dict[int, List[Array]] = {}
        for output in json.get("outputs", []):
            number = int(output["name"].partition("@")[0])
            self.results.setdefault(number, []).append(read_npy(output["file"], output["type"], output["shape"]))

    def __repr__(self) -> str:
        return f"<heddle.ModuleRun {self.module}: {len(self.results)} results of {self.ranks} ranks>"

    __str__ = __repr__


def run(module: Union[str, os.PathLike], device: str = "host", devices: Optional[int] = None,
        args: Optional[Mapping[str, Any]] = None, results: Sequence[int] = (0,), **options: Any) -> ModuleRun:
    """Runs an HLO module on every rank (`heddle run M.hlo`). `args` are its parameters by name or as `p0`, `p1`, ..., with
    `@RANK` for one rank: arrays, or text as for the command; what is not given is random. `results` are the numbers of those
    that are wanted."""
    command = _Command(module, None, None, args or {}, {"device": device, "devices": devices, **options}, knows_written=False)
    for number in results:
        command.words += ["--out", f"{number}={command.folder.path / f'result{number}.npy'}"]
    return ModuleRun(report("run", command.words)[1], command.folder)


__all__ = ["CheckReport", "Finding", "Inspection", "ModuleRun", "Mutation", "Simulation", "check", "doctor",
           "inspect", "mutate", "run", "simulate"]
