# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`kernel[grid]`: launches where the arrays are."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, List, Optional, Tuple

from . import _arrays, _native
from ._device import Buffer, device_of
from ._library import InputError, library
from ._values import ADDRESS, SCALAR, Argument, finish, integer_range, launch_options, quick_bits

if TYPE_CHECKING:
    from ._kernel import Kernel


def device_kind(target: str) -> str:
    """`host`, `cuda` or `hip`: which devices a kernel for this target runs on."""
    return "host" if target == "host" else "cuda" if target.startswith("sm_") else "hip"


def _fail(status: int) -> None:
    raise library().error(status)


def _parameter(argument: Argument) -> Tuple[Any, ...]:
    """An argument as heddle_launch.Plan takes it."""
    if argument.pointer:
        formats = "".join(_arrays.formats(argument.type))
        return "p", _arrays.dlpack_types(argument.type), formats
    if argument.type[0] not in "fb":
        return ("i", *integer_range(argument.type))
    return ("f", int(argument.type[1:])) if argument.type in ("f32", "f64") else ("",)


def make_plan(kernel: Kernel) -> Optional[Any]:
    """The quick way of a kernel's launches, of the module heddle_launch; None where it has none."""
    if _native.module is None or kernel.checked or len(kernel.arguments) > 64:
        return None
    _native.set_up(kernel._library, _fail, Buffer)
    return _native.module.Plan(tuple(map(_parameter, kernel.arguments)))


class _PlainLauncher:
    __slots__ = ("kernel", "_grid")

    def __init__(self, kernel: Kernel, grid: Any):
        self.kernel = kernel
        self._grid = grid

    def __call__(self, *args: Any, **named: Any) -> None:
        self._call(*args, **named)  # type: ignore[attr-defined]


_Base: Any = _PlainLauncher if _native.module is None else _native.module.Launcher


class Launcher(_Base):
    """`kernel[grid]`: call it with the kernel's arguments, in order or by name.

    Arrays of the host are used in place, and the call returns when the kernel has run. Arrays of a GPU go into PyTorch's
    current stream where they are PyTorch's, else into the default stream, and the call returns at once."""

    __slots__ = ()

    def _call(self, *args: Any, timeout: float = 0.0, cooperative: bool = False, **named: Any) -> None:
        kernel = self.kernel
        values = kernel.bind(args, named)
        grid = self._grid
        if callable(grid) and not hasattr(grid, "__index__"):
            grid = grid(dict(zip((argument.name for argument in kernel.arguments), values)))
        if self._launch_on_tensors(values, grid, timeout, cooperative):
            return
        flat, place, first, kept = [], None, None, []
        for argument, bounds, value in zip(kernel.arguments, kernel._ranges, values):
            if bounds is not None:
                flat += SCALAR, 0, quick_bits(kernel.name, argument, bounds, value)
                continue
            if value is None:
                flat += ADDRESS, 0, 0
                continue
            memory = kernel.memory(argument, value)
            if memory.readonly:
                raise InputError(f"kernel `{kernel.name}`: argument `{argument.name}` is read-only, and a kernel may write",
                                 ["pass a copy of the array"])
            if place is None:
                place, first = memory.place, memory
            elif place != memory.place:
                raise InputError(f"kernel `{kernel.name}`: argument `{argument.name}` is on {memory.place}, and one before "
                                 f"it on {place}", ["move the arrays to one device"])
            flat += ADDRESS, 0, memory.address
            kept.append((argument, memory))
        place = place or ("host" if kernel.target == "host" else None)
        self._require_target(place)
        device = device_of(place)
        adopted = [device.adopt(memory.address, memory.nbytes, argument.name) for argument, memory in kept
                   if kernel.checked and memory.nbytes]
        stream = device.default_stream() if place == "host" else device.stream_over(_arrays.torch_stream(first))
        options = launch_options(grid, timeout, cooperative)
        lib = kernel._library
        launch = stream, kernel.on(device), options, kernel._pack_values(*flat), len(values)
        if place == "host":
            finish(stream, lib.launch, *launch)
            _native.bind_host(kernel._plan, device._streams, launch[1])
        else:
            lib.check(lib.launch(*launch))
        for buffer in adopted:
            buffer.close()

    def _launch_on_tensors(self, values: List[Any], grid: Any, timeout: float, cooperative: bool) -> bool:
        """The launch where all arrays are plain tensors of one GPU. False, with nothing done, where they are not, or something
        about them has to be said: the general way does so."""
        kernel, tools = self.kernel, _arrays.torch_tools()
        if tools is None or kernel.checked:
            return False
        types = kernel._torch_types
        if types is None:
            types = kernel._torch_types = [_arrays.torch_dtypes(argument.type) for argument in kernel.arguments]
        flat, gpu = [], None
        for bounds, dtypes, argument, value in zip(kernel._ranges, types, kernel.arguments, values):
            if bounds is not None:
                flat += SCALAR, 0, quick_bits(kernel.name, argument, bounds, value)
            elif value is None:
                flat += ADDRESS, 0, 0
            elif tools.is_plain(value) and value.dtype in dtypes and not value.requires_grad and value.is_contiguous():
                index = value.get_device()
                if gpu is None:
                    gpu = index
                elif gpu != index:
                    return False
                flat += ADDRESS, 0, value.data_ptr()
            else:
                return False
        if gpu is None:
            return False
        device, loaded = kernel.on_gpu(gpu, tools)
        raw_stream = tools.raw_stream(gpu)
        stream = device.stream_over(raw_stream)
        status = kernel._library.launch(stream, loaded, launch_options(grid, timeout, cooperative),
                                        kernel._pack_values(*flat), len(values))
        if status:
            raise kernel._library.error(status)
        _native.bind_gpu(kernel._plan, tools.gpu, gpu, raw_stream, stream, loaded)
        return True

    def _require_target(self, place: Optional[str]) -> None:
        target = self.kernel.target
        wanted = device_kind(target)
        if place is not None and place.partition(":")[0] == wanted:
            return
        if place is None:
            raise InputError(f"kernel `{self.kernel.name}` is for {target}, and no array says on which device it runs",
                             ["use heddle.Device(...).run"])
        raise InputError(f"kernel `{self.kernel.name}` is for {target}, and its arrays are on {place}", [
            f"compile it for {'host' if place == 'host' else 'the target of that device'}, or use "
            f"`heddle.Device(\"{'host' if wanted == 'host' else 'sim:' + target if wanted == 'hip' else 'cuda:0'}\").run(...)`"
            ", which copies"])

    def __repr__(self) -> str:
        return f"<heddle.Launcher {self.kernel.name}[{self._grid!r}]>"
