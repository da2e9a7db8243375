# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compilation and packages."""
from __future__ import annotations

import ctypes
import json
import os
import pathlib
import struct
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple, Union

from . import _arrays
from ._arrays import Memory, agrees, memory_of
from ._device import Buffer, Device, Event, Graph, Stream, Timing, device_of, print_to_stdout, set_print
from ._launcher import Launcher, device_kind, make_plan
from ._library import ArgumentInfo, DeviceError, Handle, InputError, c_text, library, strings
from ._values import Argument, Grid, finish, grid_of, integer_range, launch_options, quick_bits, scalar_bits

Source = Union[str, os.PathLike, Any]


class Kernel:
    """A compiled kernel. `kernel[grid](arguments...)` launches it where its arrays are; `Device.run` elsewhere."""

    def __init__(self, handle: Handle, source: Optional[Tuple[bytes, bytes, List[str]]] = None, path: str = ""):
        self._handle, self._source, self.path = handle, source, path
        self._library = library()
        self.description: Dict[str, Any] = json.loads(self._library.text(self._library.package_describe, handle))
        self.name: str = self.description["kernel"]
        self.target: str = self.description["target"]
        self.arguments: Tuple[Argument, ...] = self._read_arguments()
        self.warnings: List[str] = json.loads(self._library.text(self._library.package_warnings, handle))
        self.checked = bool(self.description.get("checked"))  # compiled with bounds checks
        self._pack_values = struct.Struct("=" + "iiQ" * len(self.arguments)).pack  # an array of heddle_value
        # Of each argument None for a pointer, else the least and the largest integer and the mask of its bits.
        self._ranges = [None if argument.pointer else integer_range(argument.type) for argument in self.arguments]
        self._positions = {argument.name: i for i, argument in enumerate(self.arguments)}
        self._loaded: Dict[str, Handle] = {}
        self._on_gpus: Dict[int, Tuple["Device", Handle]] = {}  # by PyTorch's number of the GPU
        self._torch_types: Optional[List[Any]] = None
        self._plan = make_plan(self)

    def _read_arguments(self) -> Tuple[Argument, ...]:
        count = ctypes.c_size_t()
        self._library.check(self._library.package_argument_count(self._handle, ctypes.byref(count)))
        found = []
        for index in range(count.value):
            info = ArgumentInfo(struct_size=ctypes.sizeof(ArgumentInfo))
            self._library.check(self._library.package_argument(self._handle, index, ctypes.byref(info)))
            found.append(Argument(info.name.decode(), info.type.decode(), bool(info.pointer), info.divisibility))
        return tuple(found)

    def asm(self, phase: str = "asm") -> str:
        """What a phase of the compilation left (`heddle compile --help-phases` lists them); `asm` are the instructions."""
        if phase == "asm":
            return self._library.text(self._library.package_assembly, self._handle)
        if self._source is None:
            raise InputError(f"the phase `{phase}` of kernel `{self.name}` is not known: it was loaded from a package",
                             ["compile its text, or ask for `asm`"])
        text, name, options = self._source
        return self._library.text(self._library.compile_phase, text, len(text), name, c_text(phase, "the phase"), *strings(options))

    def to_bytes(self) -> bytes:
        """The package; equal kernels give equal bytes."""
        return self._library.bytes(self._library.package_bytes, self._handle)

    def save(self, path: Union[str, os.PathLike]) -> None:
        """Writes the package, for `heddle.load` and the command."""
        self._library.check(self._library.package_save(self._handle, c_text(path, "the path")))

    def on(self, device: "Device") -> Handle:
        """The kernel loaded on a device; once for each."""
        loaded = self._loaded.get(device.name)
        if loaded is None:
            loaded = self._library.new(self._library.kernel_load, device._handle, self._handle)
            self._loaded[device.name] = loaded
        return loaded

    def on_gpu(self, index: int, tools: _arrays.TorchTools) -> Tuple["Device", Handle]:
        """A GPU by PyTorch's number, and the kernel loaded there."""
        found = self._on_gpus.get(index)
        if found is None:
            place = f"{tools.gpu}:{index}"
            Launcher(self, 1)._require_target(place)
            device = device_of(place)
            found = self._on_gpus[index] = device, self.on(device)
        return found

    def bind(self, args: Sequence[Any], named: Mapping[str, Any]) -> List[Any]:
        """The arguments in the kernel's order. Raises InputError for one that is missing, extra or given twice."""
        if len(args) == len(self.arguments) and not named:
            return list(args)
        values: List[Any] = list(args) + [_MISSING] * (len(self.arguments) - len(args))
        for name, value in named.items():
            index = self._positions.get(name)
            if index is None:
                raise InputError(f"kernel `{self.name}` has no argument `{name}`", [
                    self._takes(), "an integer argument that was 1, or a constant, when the kernel was made is built in"])
            if values[index] is not _MISSING:
                raise InputError(f"kernel `{self.name}`: argument `{name}` is given twice", [self._takes()])
            values[index] = value
        missing = [argument.name for argument, value in zip(self.arguments, values) if value is _MISSING]
        if len(values) > len(self.arguments) or missing:
            what = f"missing {', '.join(missing)}" if missing else "the last are extra"
            raise InputError(f"kernel `{self.name}` takes {len(self.arguments)} arguments and got "
                             f"{len(args) + len(named)}: {what}", [self._takes()])
        return values

    def _takes(self) -> str:
        return "its arguments are " + (", ".join(str(argument) for argument in self.arguments) or "none")

    def memory(self, argument: Argument, value: Any) -> Memory:
        """The memory of an array that is given for a pointer."""
        where = f"kernel `{self.name}`: argument `{argument.name}`"
        memory = memory_of(value, where)
        if memory is None:
            raise InputError(f"{where} is a pointer to {argument.type}, and {value!r} was given", [
                "pass an array: NumPy's, one with DLPack or __cuda_array_interface__, a bytearray, or a heddle.Array"])
        if not agrees(argument.type, memory.dtype):
            raise InputError(f"{where} is a pointer to {argument.type}, and the array is of {memory.dtype}",
                             ["convert the array, or compile the kernel for its type"])
        return memory

    def __getitem__(self, grid: Any) -> "Launcher":
        return Launcher(self, grid)

    def __call__(self, *args: Any, **named: Any) -> None:
        raise InputError(f"kernel `{self.name}` is launched on a grid", ["write `kernel[grid](...)`"])

    def __repr__(self) -> str:
        return f"<heddle.Kernel {self.name} for {self.target}, {self.description.get('binaryBytes', len(self.to_bytes()))} bytes>"


_MISSING = object()


def _option_list(options: Mapping[str, Any]) -> List[str]:
    listed = []
    for key, value in options.items():
        if value is None:
            continue
        text = str(value).lower() if isinstance(value, bool) else str(value)
        listed.append(f"{key.replace('_', '-')}={text}")
    return listed


def is_text(source: str) -> bool:
    """Whether a string is a kernel's text, not a path."""
    return "\n" in source or source.lstrip().startswith(("module", "#", "tt.func"))


def compile(source: Source, target: Optional[str] = None, *, name: Optional[str] = None, **options: Any) -> Kernel:
    """A kernel from Triton IR or TTGIR: text, or the path of a file, or a function of `triton.jit` with `signature=`.

    `target` is host, sm_90, gfx942 or gfx950; unless given, what TTGIR itself says, else host. Options are those of
    `heddle compile`: warps, stages, cpu, kernel, optimization, check, exact_math, fp_fusion, warp_groups,
    warp_pipeline."""
    if hasattr(source, "arg_names") and hasattr(source, "fn"):  # triton.JITFunction, without importing Triton
        from .triton import _front
        source, name, options = _front.text_of(source, target, name, options)
    lib = library()
    listed = _option_list({"target": target, **options})
    if isinstance(source, str) and is_text(source):
        text, label, path = source.encode(), c_text(name or "<text>", "the name"), ""
    elif isinstance(source, (str, os.PathLike)):
        path = os.fspath(source)
        c_text(path, "the path")
        try:
            text = pathlib.Path(path).read_bytes()
        except OSError as problem:
            raise DeviceError(f"{path}: {problem.strerror}") from None
        label = c_text(name or path, "the name")
        if text.startswith(b"\x7fELF") or path.endswith(".hpkg"):
            raise InputError(f"{path} is compiled already", ["`heddle.load` reads packages"])
    else:
        raise InputError(f"a kernel's text, its path, or a function of triton.jit is wanted, and {source!r} was given")
    handle = lib.new(lib.compile, text, len(text), label, *strings(listed))
    return Kernel(handle, (text, label, listed), path)


def load(package: Union[str, os.PathLike, bytes]) -> Kernel:
    """A kernel from a package: the path of a file, or its bytes."""
    lib = library()
    if isinstance(package, (bytes, bytearray)):
        return Kernel(lib.new(lib.package_parse, bytes(package), len(package)))
    path = os.fspath(package)
    return Kernel(lib.new(lib.package_load, c_text(path, "the path")), path=path)


__all__ = ["Argument", "Buffer", "Device", "Event", "Graph", "Kernel", "Launcher", "Stream", "Timing", "compile", "load",
           "set_print"]
