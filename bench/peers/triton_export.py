# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A folder of kernels that Triton compiled beforehand, for triton_kernels.py on a machine whose Triton is another, or none.

FOLDER/manifest.json names Triton's version and, of each case `MODULE/NAME`, the digest of what it is compiled from, its
Triton IR (MODULE/NAME.ttir) and each set of options: what a launch needs to know and MODULE/NAME.wWARPS_sSTAGES.cubin and
.ptx, or why Triton refused. Sizes and SHA-256 of all files are in the manifest.
"""

import collections
import hashlib
import importlib.machinery
import inspect
import json
import multiprocessing.connection
import os
import pathlib
import re
import sys
import time
import types

from kernel_cases import Refusal, say
from triton_compiler import TritonKernel

FORMAT = 1
MANIFEST = "manifest.json"
STEP_SECONDS = 300  # the slowest kernel takes 30 on one core
CASE_NAME = re.compile(r"[\w+-]+/[\w+-]+")  # which files are named by


class ExportError(Exception):
    """What an export does not have as it is asked for; of one case, the others may be whole."""


# ---- What a case is compiled from. ----
def digest(data):
    return hashlib.sha256(data).hexdigest()


def add_sources(function, found):
    """The text of a `@triton.jit` function, and of such functions and constants that it names directly, not as a module's."""
    plain = function.fn
    key = f"{plain.__module__}.{plain.__qualname__}"
    if key in found:
        return
    found[key] = inspect.getsource(plain)
    for name in sorted(set(plain.__code__.co_names)):
        value = plain.__globals__.get(name)
        if inspect.isfunction(getattr(value, "fn", None)):
            add_sources(value, found)
        elif isinstance(value, (bool, int, float, str, tuple)) or type(value).__name__ == "constexpr":
            found[f"{plain.__module__}.{name}"] = repr(value)


def source_digest(function, signature, constants, aligned):
    """Of what `add_sources` finds and of `translate`'s other arguments; the same with Triton and with its stand-in."""
    found = {}
    add_sources(function, found)
    parts = [sorted(found.items()), sorted(signature.items()), sorted((name, repr(value)) for name, value in constants.items()),
             sorted(aligned)]
    return digest(json.dumps([function.fn.__name__, *parts]).encode())


# ---- The stand-in for Triton: modules of cases can be imported, and their kernels are texts. ----
class Named:
    """Something of Triton that only kernels use; its text is that of Triton's own."""

    def __init__(self, name):
        self.name = name

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Named(f"{self.name}.{name}")

    def __repr__(self):
        return self.name

    def __call__(self, *_, **__):
        raise Refusal(f"`{self.name}` is called outside of a kernel, and with `--triton-from` no Triton is imported",
                      "of Triton itself, modules of cases may call `jit`, `cdiv`, `next_power_of_2` and `constexpr`")


class constexpr:  # pylint: disable=invalid-name
    def __init__(self, value):
        self.value = value

    def __repr__(self):
        return f"constexpr[{self.value}]"


class Kernel:
    def __init__(self, function):
        self.fn, self.__name__ = function, function.__name__


def jit(function=None, **_):
    return jit if function is None else Kernel(function)


CALLABLE = {
    "triton.jit": jit,
    "triton.cdiv": lambda x, y: -(-x // y),
    "triton.next_power_of_2": lambda n: 1 << (n - 1).bit_length(),
    "triton.language.constexpr": constexpr,
}


class StandIn(types.ModuleType):
    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        full = f"{self.__name__}.{name}"
        return CALLABLE[full] if full in CALLABLE else Named(full)


class StandInFinder:
    """Of `sys.meta_path`: every module of Triton is a StandIn."""

    @staticmethod
    def find_spec(name, *_):
        return importlib.machinery.ModuleSpec(name, StandInFinder, is_package=True) if name.split(".")[0] == "triton" else None

    @staticmethod
    def create_module(spec):
        return StandIn(spec.name)

    @staticmethod
    def exec_module(module):
        pass


def stand_in_for_triton():
    sys.meta_path.insert(0, StandInFinder)


# ---- Reading. ----
class ExportedCase:
    """A case in a folder; every method raises ExportError for what is not there as the manifest says."""

    def __init__(self, export, key, entry):
        self.export, self.key, self.entry = export, key, entry

    def check_digest(self, mine):
        if "error" in self.entry:
            raise ExportError(f"it could not be made when `{self.export.folder}` was: {self.entry['error']}")
        theirs = self.entry["digest"]
        if theirs != mine:
            raise ExportError(f"`{self.export.folder}` is stale: its kernels are of the source {theirs[:16]}, and `{self.key}` "
                              f"is now {mine[:16]}; export it again")

    def file(self, suffix, about):
        path = self.export.folder / f"{self.key}{suffix}"
        try:
            data = path.read_bytes()
        except OSError as error:
            raise ExportError(f"`{path}` cannot be read: {error.strerror}; copy the folder again") from error
        if (len(data), digest(data)) != (about["bytes"], about["sha256"]):
            raise ExportError(f"`{path}` is damaged: it has {len(data)} bytes of SHA-256 {digest(data)[:16]}, and `{MANIFEST}` "
                              f"says {about['bytes']} of {about['sha256'][:16]}; copy the folder again")
        return data

    def ir_path(self):
        self.file(".ttir", self.entry["ir"])
        return self.export.folder / f"{self.key}.ttir"

    def kernel(self, warps, stages):
        """The TritonKernel; raises RuntimeError where Triton refused this set of options."""
        for entry in self.entry["kernels"]:
            if (entry["warps"], entry["stages"]) == (warps, stages):
                break
        else:
            there = ", ".join(f"w{entry['warps']} s{entry['stages']}" for entry in self.entry["kernels"])
            raise ExportError(f"`{self.export.folder}` has `{self.key}` with {there}, not with w{warps} s{stages}; export it with "
                              "the same `--warps`")
        if "error" in entry:
            raise RuntimeError(f"Triton {self.export.triton} refused it: {entry['error']}")
        suffix = f".w{warps}_s{stages}"
        return TritonKernel(entry["entry"], entry["threads"], entry["shared"], entry["parameters"],
                            self.file(f"{suffix}.cubin", entry["cubin"]), self.file(f"{suffix}.ptx", entry["ptx"]).decode())


# What each object of the manifest has, and of which type.
FIELDS = {"triton": str, "assembler": str, "cases": dict}
CASE_FIELDS = {"digest": str, "shrink": int, "ir": dict, "kernels": list}
KERNEL_FIELDS = {"entry": str, "threads": int, "shared": int, "parameters": list, "cubin": dict, "ptx": dict}
FILE_FIELDS = {"bytes": int, "sha256": str}


def check_fields(where, entry, fields):
    for name, kind in fields.items():
        if not isinstance(entry, dict) or not isinstance(entry.get(name), kind):
            raise Refusal(f"{where} has no `{name}` of type {kind.__name__}", "it is damaged: copy or make the folder again")


def check_manifest(path, manifest):
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        found = manifest.get("format") if isinstance(manifest, dict) else None
        raise Refusal(f"`{path}` has format {found}, and this script reads format {FORMAT}", "export again with this script")
    check_fields(f"`{path}`", manifest, FIELDS)
    for key, case in manifest["cases"].items():
        where = f"`{path}`: `{key}`"
        if not CASE_NAME.fullmatch(key):
            raise Refusal(f"{where} is not MODULE/NAME", "it is damaged: copy or make the folder again")
        if isinstance(case, dict) and "error" in case:
            continue
        check_fields(where, case, CASE_FIELDS)
        check_fields(f"{where}: its Triton IR", case["ir"], FILE_FIELDS)
        for kernel in case["kernels"]:
            check_fields(where, kernel, {"warps": int, "stages": int})
            if "error" not in kernel:
                check_fields(where, kernel, KERNEL_FIELDS)
                for name in ("cubin", "ptx"):
                    check_fields(f"{where}: its {name}", kernel[name], FILE_FIELDS)


def read_manifest(folder):
    path = folder / MANIFEST
    try:
        manifest = json.loads(path.read_text())
    except OSError as error:
        raise Refusal(f"`{path}` cannot be read: {error.strerror}",
                      "make it by `--export-triton FOLDER`, where Triton is installed") from error
    except ValueError as error:
        raise Refusal(f"`{path}` is damaged: {error}", "copy or make the folder again") from error
    check_manifest(path, manifest)
    return manifest


class Export:
    """A folder that ExportWriter wrote; raises Refusal where its manifest is no such."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        manifest = read_manifest(self.folder)
        self.triton, self.assembler, self.cases = manifest["triton"], manifest["assembler"], manifest["cases"]

    def check_cases(self, keys):
        missing = [key for key in keys if key not in self.cases]
        if missing:
            named = ", ".join(missing[:5]) + (" ..." if len(missing) > 5 else "")
            raise Refusal(f"`{self.folder}` does not have {named}: {len(missing)} of the {len(keys)} kernels that are asked for; "
                          f"it has {len(keys) - len(missing)} of them, and {len(self.cases)} in all",
                          "choose by `--kernels`, or export with the same `--cases` and, for random_tiles.py, the same environment")

    def case(self, key):
        return ExportedCase(self, key, self.cases[key])


# ---- Writing. ----
class ExportWriter:
    """Fills a folder, which may have cases of the same Triton already; the manifest is whole after each case."""

    def __init__(self, folder, triton, assembler):
        self.folder = pathlib.Path(folder)
        self.manifest = {"format": FORMAT, "triton": triton, "assembler": assembler, "target": "sm_90", "cases": {}}
        if (self.folder / MANIFEST).exists():
            there = read_manifest(self.folder)
            for name in ("triton", "assembler"):
                if there[name] != self.manifest[name]:
                    raise Refusal(f"`{folder}` has kernels of {name} {there[name]}, and this is {self.manifest[name]}",
                                  "give another folder")
            self.manifest["cases"] = there["cases"]
        elif self.folder.exists() and (not self.folder.is_dir() or any(self.folder.iterdir())):
            raise Refusal(f"`{folder}` has no `{MANIFEST}`, and is not empty", "give a folder of its own")

    def begin(self, key):
        """Removes a case that is exported again, first from the manifest."""
        if self.manifest["cases"].pop(key, None) is not None:
            self.write_manifest()
        for path in self.folder.glob(f"{key}.*"):
            path.unlink()

    def write(self, key, suffix, data):
        path = self.folder / f"{key}{suffix}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        return {"bytes": len(data), "sha256": digest(data)}

    def put(self, key, entry):
        self.manifest["cases"] = dict(sorted((self.manifest["cases"] | {key: entry}).items()))
        self.write_manifest()

    def write_manifest(self):
        self.folder.mkdir(parents=True, exist_ok=True)
        new = self.folder / f"{MANIFEST}.new"
        new.write_text(json.dumps(self.manifest, indent=1))
        os.replace(new, self.folder / MANIFEST)

    def kernel(self, key, warps, stages, result):
        """The manifest's entry of one set of options: of a TritonKernel, or of a text that says why there is none."""
        about = {"warps": warps, "stages": stages}
        if isinstance(result, str):
            return about | {"error": result}
        suffix = f".w{warps}_s{stages}"
        return about | {"entry": result.entry, "threads": result.threads, "shared": result.shared,
                        "parameters": result.parameters, "cubin": self.write(key, f"{suffix}.cubin", result.cubin),
                        "ptx": self.write(key, f"{suffix}.ptx", result.ptx.encode())}

    def total_bytes(self):
        return sum(path.stat().st_size for path in self.folder.rglob("*") if path.is_file())


def answer(pipe, function, arguments):
    """What a child does; Triton prints whole PTX texts when ptxas fails."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    try:
        pipe.send(function(*arguments))
    except Refusal as refusal:
        pipe.send(f"{refusal}; {refusal.note}")
    except Exception as error:  # pylint: disable=broad-exception-caught
        pipe.send(f"{type(error).__name__}: {str(error)[:300]}")


def in_children(steps, jobs):
    """Calls each (label, function, arguments) of the deque `steps`, which may grow meanwhile, in a process of its own, `jobs` at
    a time: an assertion of Triton's ends one process only. Yields (label, what it returned, or a text that says what failed)."""
    running = {}  # by pipe: (label, process, deadline)
    context = multiprocessing.get_context("fork")
    while steps or running:
        while steps and len(running) < jobs:
            label, function, arguments = steps.popleft()
            ours, theirs = context.Pipe()
            process = context.Process(target=answer, args=(theirs, function, arguments), daemon=True)
            process.start()
            theirs.close()
            running[ours] = label, process, time.monotonic() + STEP_SECONDS
        first = min(deadline for _, _, deadline in running.values())
        ready = multiprocessing.connection.wait(list(running), max(0.0, first - time.monotonic()))
        for pipe in ready or [pipe for pipe, (_, _, deadline) in running.items() if deadline <= time.monotonic()]:
            label, process, _ = running.pop(pipe)
            if pipe not in ready:
                process.kill()
                result = f"not done in {STEP_SECONDS} s"
            try:
                result = pipe.recv() if pipe in ready else result
            except EOFError:
                process.join(5)
                result = f"its process ended with code {process.exitcode} (negative: a signal)"
            process.join(5)
            pipe.close()
            yield label, result


def export_all(writer, keys, describe, compile_set, jobs):
    """Writes each case; `describe(key)` gives (Triton IR, digest, sets of warps and stages, divisor of sizes), and `compile_set(
    key, path, warps, stages)` a TritonKernel. Prints a line for each case; returns the numbers of cases, kernels, refused sets,
    and cases without a kernel."""
    for key in keys:
        if not CASE_NAME.fullmatch(key):
            raise Refusal(f"`{key}` cannot name files", "name modules and cases by letters, digits, `_`, `+` and `-`")
    steps = collections.deque((key, describe, (key,)) for key in keys)
    entries, wanted, counts = {}, {}, collections.Counter()

    def finish(key):
        entry = entries[key]
        kernels = entry.get("kernels", [])
        kernels.sort(key=lambda kernel: (kernel["warps"], kernel["stages"]))
        made, refused = ([kernel for kernel in kernels if ("error" in kernel) == bad] for bad in (False, True))
        writer.put(key, entry)
        counts.update(cases=1, kernels=len(made), refused=len(refused), without=not made)
        print(f"{key}: {len(made)} kernels" + (f": error: {entry['error']}" if "error" in entry else ""), flush=True)
        for kernel in refused:
            say(f"{key}: w{kernel['warps']} s{kernel['stages']} left out: {kernel['error']}")

    for label, result in in_children(steps, jobs):
        if isinstance(label, tuple):
            key, warps, stages = label
            entries[key]["kernels"].append(writer.kernel(key, warps, stages, result))
            if len(entries[key]["kernels"]) == wanted[key]:
                finish(key)
            continue
        writer.begin(label)
        if isinstance(result, str):
            entries[label] = {"error": result}
            finish(label)
        else:
            text, source, sets, shrink = result
            written = writer.write(label, ".ttir", text.encode())
            entries[label] = {"digest": source, "shrink": shrink, "ir": written, "kernels": []}
            wanted[label] = len(sets)
            path = writer.folder / f"{label}.ttir"
            # First what is begun, so that a manifest has whole cases early.
            steps.extendleft(((label, *options), compile_set, (label, path, *options)) for options in sets)
    return counts
