# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Launches of kernels as calls of XLA's foreign function interface. The handler is libheddle's `heddle_xla_call`: no compiler
runs on the user's machine, and no thread of XLA waits for Python's lock."""
from __future__ import annotations

import ctypes
import functools
import os
import threading
from typing import Any, Dict, List, Mapping, Sequence, Tuple, Union

import jax
import numpy

from .._arrays import agrees, element_type
from .._device import device_of
from .._kernel import Kernel, compile, load
from .._launcher import device_kind
from .._library import InputError, library
from .._values import Grid, grid_of, scalar_bits

_TARGET = "heddle_launch"
_OPERAND, _RESULT, _BITS, _NO_POINTER = range(4)
_PLATFORMS = {"host": "cpu", "cuda": "cuda", "hip": "rocm"}
_PLACES = {"host": 0, "cuda": 1, "hip": 2}
_lock = threading.Lock()
_registered = False


def _register() -> None:
    global _registered
    with _lock:
        if _registered:
            return
        handler = ctypes.cast(library().dll.heddle_xla_call, ctypes.c_void_p)
        for platform in ("cpu", "CUDA", "ROCM"):
            capsule = jax.ffi.pycapsule(handler.value)
            jax.ffi.register_ffi_target(_TARGET, capsule, platform=platform)
        _registered = True


@functools.lru_cache(maxsize=256)
def _compiled(text: Any, target: str) -> Kernel:
    return compile(text, target)


def _is_rocm() -> bool:
    return "rocm" in getattr(jax.devices()[0].client, "platform_version", "").lower()


def _kernels(source: Any) -> Dict[str, Kernel]:
    """The kernels by platform."""
    found: Dict[str, Kernel] = {}
    kernels: List[Any] = []
    for each in source if isinstance(source, (list, tuple)) else [source]:
        if isinstance(each, (bytes, bytearray)) or isinstance(each, (str, os.PathLike)) and str(each).endswith(".hpkg"):
            kernels.append(load(each))
        elif isinstance(each, Kernel):
            kernels.append(each)
        else:  # a text, for each kind of device that this process has
            kernels.append(_compiled(each, "host"))
            if jax.default_backend() == "gpu":
                kernels.append(_compiled(each, device_of("hip:0" if _is_rocm() else "cuda:0").target))
    for each in kernels:
        if each.checked:
            raise InputError(f"kernel `{each.name}` has bounds checks, and XLA's memory is not known to them",
                             ["compile it without `check`"])
        kind = device_kind(each.target)
        if found.setdefault(kind, each) is not each:
            raise InputError(f"two kernels are for {kind}: {found[kind]!r} and {each!r}")
    return found


def _is_array(value: Any) -> bool:
    return hasattr(value, "shape") and hasattr(value, "dtype") and not isinstance(value, numpy.generic)


def _named_outputs(kernel: Kernel, out: Any) -> Dict[str, Any]:
    if isinstance(out, Mapping):
        return dict(out)
    shapes = list(out) if isinstance(out, (list, tuple)) else [out]
    pointers = [argument.name for argument in kernel.arguments if argument.pointer]
    if len(shapes) > len(pointers):
        raise InputError(f"kernel `{kernel.name}` has {len(pointers)} pointers, and {len(shapes)} results are wanted")
    return dict(zip(pointers[len(pointers) - len(shapes):], shapes))


class _Call:
    """A call that was checked, for one platform."""

    def __init__(self, kernel: Kernel, outputs: Dict[str, Any], args: Sequence[Any], named: Mapping[str, Any]):
        self.kernel, self.outputs = kernel, outputs
        self.operands: List[Any] = []
        self.aliases: Dict[int, int] = {}
        for name, form in outputs.items():
            if not (hasattr(form, "shape") and hasattr(form, "dtype")):
                raise InputError(f"kernel `{kernel.name}`: the result `{name}` is {form!r}, and a jax.ShapeDtypeStruct is wanted")
            if name not in kernel._positions or not kernel.arguments[kernel._positions[name]].pointer:
                raise InputError(f"kernel `{kernel.name}` has no pointer `{name}` for a result", [kernel._takes()])
        values = dict(zip([each.name for each in kernel.arguments if each.name not in outputs], args))
        inputs = len(kernel.arguments) - len(outputs)
        if len(args) > inputs:
            raise InputError(f"kernel `{kernel.name}` takes {inputs} arguments beside its results, and {len(args)} are given",
                             [kernel._takes()])
        for name, value in named.items():
            if name in values:
                raise InputError(f"kernel `{kernel.name}`: argument `{name}` is given twice", [kernel._takes()])
            if name not in kernel._positions:
                raise InputError(f"kernel `{kernel.name}` has no argument `{name}`", [kernel._takes()])
            values[name] = value
        missing = [each.name for each in kernel.arguments if each.name not in values and each.name not in outputs]
        if missing:
            raise InputError(f"kernel `{kernel.name}`: missing {', '.join(missing)}", [kernel._takes()])
        self.arguments = [number for argument in kernel.arguments for number in self._argument(argument, values)]
        for name, form in outputs.items():
            self._check_type(kernel.arguments[kernel._positions[name]], form.dtype)

    def _check_type(self, argument: Any, dtype: Any) -> None:
        given = element_type(numpy.dtype(dtype))
        if not agrees(argument.type, given):
            raise InputError(f"kernel `{self.kernel.name}`: argument `{argument.name}` is a pointer to {argument.type}, and the "
                             f"array is of {given}", ["convert the array, or compile the kernel for its type"])

    def _argument(self, argument: Any, values: Mapping[str, Any]) -> Tuple[int, int]:
        name = argument.name
        given = values.get(name)
        if name in self.outputs:
            result = list(self.outputs).index(name)
            if given is not None:  # read and written: XLA gives both one buffer
                self._operand(argument, given)
                form = self.outputs[name]
                if tuple(given.shape) != tuple(form.shape):
                    raise InputError(f"kernel `{self.kernel.name}`: `{name}` is read as {tuple(given.shape)} and written as "
                                     f"{tuple(form.shape)}")
                self.aliases[len(self.operands) - 1] = result
            return _RESULT, result
        if not argument.pointer:
            if isinstance(given, jax.core.Tracer) or (_is_array(given) and getattr(given, "ndim", 1)):
                raise InputError(f"kernel `{self.kernel.name}`: argument `{name}` is a scalar of type {argument.type}, and "
                                 f"{given!r} was given", ["scalars are part of the program: give a Python number"])
            bits = scalar_bits(self.kernel.name, argument, given.item() if hasattr(given, "item") else given)
            return _BITS, bits - (1 << 64) if bits >> 63 else bits
        if given is None:
            return _NO_POINTER, 0
        return _OPERAND, self._operand(argument, given)

    def _operand(self, argument: Any, given: Any) -> int:
        if not _is_array(given):
            raise InputError(f"kernel `{self.kernel.name}`: argument `{argument.name}` is a pointer to {argument.type}, and "
                             f"{given!r} was given", ["give an array of JAX or NumPy"])
        self._check_type(argument, given.dtype)
        self.operands.append(given)
        return len(self.operands) - 1

    def attributes(self, grid: Grid, cooperative: bool) -> Dict[str, Any]:
        return {"package": numpy.frombuffer(self.kernel.to_bytes(), numpy.uint8),
                "place": numpy.array([_PLACES[device_kind(self.kernel.target)], int(cooperative)], numpy.int64),
                "grid": numpy.array(grid_of(grid), numpy.int64), "arguments": numpy.array(self.arguments, numpy.int64)}


def call(kernel: Union[Kernel, Sequence[Kernel], str, bytes, os.PathLike], out: Any, *args: Any, grid: Grid,
         cooperative: bool = False, vmap_method: str = "sequential", **named: Any) -> Any:
    """Launches a kernel in a JAX program, also under jit, vmap and shard_map, and gives its results.

    `kernel` is a `heddle.Kernel`, the path or bytes of a package, Triton IR as text or path, which is compiled for the
    host and for the GPU that JAX has, or a list of kernels: one for each platform. `out` is the `jax.ShapeDtypeStruct` of the kernel's last
    pointer, a list for its last ones, or a dictionary by their names. `args` are the other arguments in the kernel's
    order, `named` those by name: arrays, and Python numbers for scalars. An argument that is in `out` and in
    `named` is read and written. `vmap_method` is that of `jax.ffi.ffi_call`.

    Results have undefined contents where the kernel does not write."""
    kernels = _kernels(kernel)
    first = next(iter(kernels.values()))
    outputs = _named_outputs(first, out)
    if not outputs:
        raise InputError(f"kernel `{first.name}`: no result is given", ["`out` says the shapes and types of what it writes"])
    _register()
    extents = grid_of(grid)
    if min(extents) < 1:
        raise InputError(f"kernel `{first.name}`: the grid is {extents}, and its extents are 1 or above")
    calls = {place: _Call(each, outputs, args, named) for place, each in kernels.items()}
    forms = [jax.ShapeDtypeStruct(form.shape, form.dtype) for form in outputs.values()]

    def launch(made: _Call):
        def run(*operands: Any) -> Any:
            function = jax.ffi.ffi_call(_TARGET, forms, vmap_method=vmap_method, input_output_aliases=made.aliases)
            return function(*operands, **made.attributes(extents, cooperative))
        return run

    operands = next(iter(calls.values())).operands
    if len(calls) == 1:
        results = launch(next(iter(calls.values())))(*operands)
    else:
        results = jax.lax.platform_dependent(*operands, **{_PLATFORMS[place]: launch(made) for place, made in calls.items()})
    return results[0] if len(forms) == 1 else tuple(results)
