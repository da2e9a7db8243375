# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A kernel of one's own as an operator of PyTorch."""
from __future__ import annotations

import inspect
import os
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple, Union

import torch

from .. import library
from .._arrays import torch_place
from .._device import device_of
from .._kernel import Kernel, compile, load
from .._library import InputError
from .._values import Argument

_SIGNATURE = {torch.float64: "*fp64", torch.float32: "*fp32", torch.float16: "*fp16", torch.bfloat16: "*bf16",
              torch.int64: "*i64", torch.int32: "*i32", torch.int16: "*i16", torch.int8: "*i8", torch.uint8: "*u8",
              torch.bool: "*i1", torch.float8_e4m3fn: "*fp8e4nv", torch.float8_e5m2: "*fp8e5",
              torch.float8_e4m3fnuz: "*fp8e4b8", torch.float8_e5m2fnuz: "*fp8e5b16"}


def _called(function: Callable[..., Any], known: Mapping[str, Any], what: str) -> Any:
    """The function with those of the operator's arguments that it names."""
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):  # of C, as torch.empty_like: one tensor, the first
        return function(next(value for value in known.values() if isinstance(value, torch.Tensor)))
    if any(each.kind is each.VAR_KEYWORD for each in parameters.values()) and "meta" not in parameters:
        return function(**known)
    wanted = [each.name for each in parameters.values() if each.default is each.empty]
    missing = [name for name in wanted if name not in known]
    if missing:
        raise InputError(f"{what} asks for {', '.join(missing)}, and the operator has {', '.join(known)}")
    return function(**{name: known[name] for name in parameters if name in known})


class _Source:
    """Where the kernel for a device comes from. `arguments` are its arguments; of a function of triton.jit their types are
    known at a call only, and are None."""

    def __init__(self, source: Any, options: Mapping[str, Any]):
        self.options = dict(options)
        self.is_jit = hasattr(source, "arg_names") and hasattr(source, "fn")
        self.constants: Dict[str, Any] = {}
        self.kernels: Dict[Any, Kernel] = {}
        given = source if isinstance(source, (list, tuple)) else [source]
        given = [load(each) if isinstance(each, (bytes, bytearray)) or
                 isinstance(each, (str, os.PathLike)) and str(each).endswith(".hpkg") else each for each in given]
        self.source = None if all(isinstance(each, Kernel) for each in given) else given[0]
        if self.source is not None and len(given) > 1:
            raise InputError("several sources are given, and several compiled kernels are wanted: one for each target")
        if self.source is None:
            if options:
                raise InputError(f"the kernel is compiled already, and {', '.join(options)} is for its compilation")
            self.kernels = {kernel.target: kernel for kernel in given}
            self.name, arguments = given[0].name, given[0].arguments
        elif self.is_jit:
            self.name = self.source.__name__
            self.constants = {name: self.options[name] for name in self.source.arg_names if name in self.options}
            arguments = [Argument(name, "", False, 1) for name in self.source.arg_names if name not in self.constants]
        else:
            kernel = self.kernels["host"] = compile(self.source, "host", **self.options)
            self.name, arguments = kernel.name, kernel.arguments
        self.arguments: Tuple[Argument, ...] = tuple(arguments)

    def kernel(self, place: str, values: Mapping[str, Any]) -> Kernel:
        """Compiled and loaded for these arguments; `values` are all of the kernel's. Raises InputError in a capture."""
        device = device_of(place)
        key: Any = device.target
        signature: Dict[str, str] = {}
        if self.is_jit:
            signature = {name: self._type_of(name, value) for name, value in values.items()}
            key = (device.target, tuple(signature.values()))
        kernel = self.kernels.get(key)
        if kernel is None:
            library.refuse_capture(f"kernel `{self.name}`", [place])
            if self.source is None:
                raise InputError(f"kernel `{self.name}` is for {' and '.join(self.kernels)}, and the tensors are on {place}, "
                                 f"a {device.target}", ["give its text, its path, or a kernel for each target in a list"])
            extra = {"signature": signature} if self.is_jit else {}
            kernel = self.kernels[key] = compile(self.source, device.target, **extra, **self.options)
        if device.name not in kernel._loaded:
            library.refuse_capture(f"kernel `{self.name}`", [place])
            kernel.on(device)
        return kernel

    def _type_of(self, name: str, value: Any) -> str:
        if isinstance(value, torch.Tensor):
            if value.dtype not in _SIGNATURE:
                raise InputError(f"kernel `{self.name}`: `{name}` is of {value.dtype}, which Triton has not")
            return _SIGNATURE[value.dtype] + (":16" if value.data_ptr() % 16 == 0 else "")
        if isinstance(value, bool):
            return "u1"
        if isinstance(value, int):
            return ("i32" if -1 << 31 <= value < 1 << 31 else "i64") + (":16" if value and value % 16 == 0 else "")
        return "fp32"


_SCALARS = {int: "int", float: "float", bool: "bool"}


class _Operator:
    def __init__(self, name: str, source: _Source, grid: Any, outputs: Mapping[str, Callable[..., Any]],
                 mutates: Sequence[str], scalars: Mapping[str, Any], strided: Sequence[str]):
        self.name, self.source, self.grid, self.outputs = name, source, grid, dict(outputs)
        self.strided = set(strided)
        known = [argument.name for argument in source.arguments]
        for what, names in (("outputs", outputs), ("mutates", mutates), ("scalars", scalars), ("strided", strided)):
            for each in names:
                if each not in known:
                    raise InputError(f"operator {name}: `{what}` names `{each}`, and kernel `{source.name}` has the arguments "
                                     f"{', '.join(known)}")
        self.computed = {each: value for each, value in scalars.items() if value not in (int, float, bool)}
        self.given: List[str] = []
        words: List[str] = []
        for argument in source.arguments:
            if argument.name in self.outputs or argument.name in self.computed:
                continue
            self.given.append(argument.name)
            words.append(f"{self._kind(argument, mutates, scalars, len(words))} {argument.name}")
        made = ", ".join("Tensor" for _ in self.outputs)
        self.schema = f"({', '.join(words)}) -> {made if len(self.outputs) == 1 else f'({made})'}"

    def _kind(self, argument: Argument, mutates: Sequence[str], scalars: Mapping[str, Any], index: int) -> str:
        if argument.name in scalars:
            return _SCALARS[scalars[argument.name]]
        if self.source.is_jit or argument.pointer:
            return f"Tensor(a{index}!)" if argument.name in mutates else "Tensor"
        return "float" if argument.type.startswith(("f", "bf")) else "bool" if argument.type == "i1" else "int"

    def _named(self, args: Sequence[Any]) -> Dict[str, Any]:
        return dict(zip(self.given, args))

    def _made(self, known: Mapping[str, Any]) -> Dict[str, torch.Tensor]:
        return {name: _called(function, known, f"operator {self.name}: the output `{name}`")
                for name, function in self.outputs.items()}

    def _results(self, made: Mapping[str, torch.Tensor]) -> Any:
        tensors = tuple(made.values())
        return tensors[0] if len(tensors) == 1 else tensors or None

    def fake(self, *args: Any) -> Any:
        return self._results(self._made(self._named(args)))

    def run(self, *args: Any) -> Any:
        known = self._named(args)
        tensors = [value for value in known.values() if isinstance(value, torch.Tensor)]
        made = self._made(known)
        places = {torch_place(tensor) for tensor in [*tensors, *made.values()]}
        if len(places) != 1:
            raise InputError(f"operator {self.name}: tensors are on {' and '.join(sorted(places)) or 'no device'}",
                             ["move them to one device"])
        place = places.pop()
        computed = {name: _called(value, known, f"operator {self.name}: `{name}`") if callable(value) else value
                    for name, value in self.computed.items()}
        values = {argument.name: {**known, **made, **computed}[argument.name] for argument in self.source.arguments}
        kernel = self.source.kernel(place, values)
        grid = self.grid
        if callable(grid):
            grid = _called(grid, {**known, **computed, **self.source.constants}, f"operator {self.name}: the grid")
        extents = (grid,) if isinstance(grid, int) else tuple(grid)
        if 0 not in extents:
            kernel[extents](**{argument.name: self._memory(argument.name, values[argument.name])
                               for argument in kernel.arguments})
        return self._results(made)

    def _memory(self, name: str, value: Any) -> Any:
        if not isinstance(value, torch.Tensor):
            return value
        value = value.detach()
        if name not in self.strided or value.is_contiguous():
            return value
        span = 1 + sum((extent - 1) * stride for extent, stride in zip(value.shape, value.stride())) if value.numel() else 0
        return value.as_strided((span,), (1,))


def op(name: str, kernel: Union[Kernel, Sequence[Kernel], str, bytes, os.PathLike, Any], *, grid: Any,
       outputs: Optional[Mapping[str, Callable[..., torch.Tensor]]] = None, mutates: Sequence[str] = (),
       scalars: Optional[Mapping[str, Any]] = None, strided: Sequence[str] = (), **options: Any) -> Any:
    """Registers a kernel as the operator `name` (`mine::add`), and gives it: an object of `torch.library.custom_op`, which has
    `register_autograd`.

    `kernel` is a `heddle.Kernel`, a list of them for several targets, the path or bytes of a package, Triton IR as text or
    path, or a function of `triton.jit`; of the last three `options` are those of `heddle.compile` and the constants, and
    the kernel is compiled for the tensors' device at the first call. Of a function of `triton.jit` every argument is a
    tensor unless `scalars` says its type.

    The operator's arguments are the kernel's, without what is made for it: `outputs` are tensors that it returns,
    each with a function that makes it; `scalars` are numbers that a function computes, or values, or `int`, `float` or `bool`
    for an argument of the operator. These functions, and `grid`, get those of the operator's arguments that they
    name. `mutates` names tensors that the kernel writes in place, `strided` tensors whose strides the kernel takes
    as arguments: the others must be contiguous."""
    source = _Source(kernel, options)
    operator = _Operator(name, source, grid, outputs or {}, mutates, scalars or {}, strided)
    made = torch.library.custom_op(name, operator.run, mutates_args=tuple(mutates), schema=operator.schema)
    made.register_fake(operator.fake)
    return made
