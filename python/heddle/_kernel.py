# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compilation, packages, devices and launches."""
from __future__ import annotations

import atexit
import contextlib
import ctypes
import functools
import json
import os
import pathlib
import struct
import threading
from typing import Any, Callable, Dict, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Union

from . import _arrays
from ._arrays import Array, Memory, agrees, element_type, memory_of
from ._library import (ArgumentInfo, DeviceError, Handle, InputError, PrintFunction, c_text, library, strings,
                       unsigned)

Grid = Union[int, Sequence[int]]
Source = Union[str, os.PathLike, Any]

_SCALAR, _ADDRESS, _BUFFER = 0, 1, 2
_OPTIONS = struct.Struct("=Q3qdii")  # heddle_launch_options


class Argument(NamedTuple):
    """An argument of a kernel: `type` is that of the scalar, or of what the pointer points to."""
    name: str
    type: str
    pointer: bool
    divisibility: int

    def __str__(self) -> str:
        return f"{self.name}: {'pointer to ' if self.pointer else ''}{self.type}"


def device_kind(target: str) -> str:
    """`host`, `cuda` or `hip`: which devices a kernel for this target runs on."""
    return "host" if target == "host" else "cuda" if target.startswith("sm_") else "hip"


def grid_of(grid: Grid) -> Tuple[int, int, int]:
    try:
        extents = (grid,) if isinstance(grid, int) or hasattr(grid, "__index__") else tuple(grid)  # type: ignore[arg-type]
    except TypeError:
        raise InputError(f"the grid is {grid!r}, and one to three integers are wanted") from None
    if not 1 <= len(extents) <= 3:
        raise InputError(f"the grid {grid!r} has {len(extents)} extents, and 1 to 3 are wanted")
    try:
        whole = [extent.__index__() for extent in extents]
    except AttributeError:
        raise InputError(f"the grid {grid!r} is not made of integers") from None
    if not all(-1 << 63 <= extent < 1 << 63 for extent in whole):
        raise InputError(f"the grid {grid!r} has an extent that does not fit 64 bits")
    return (*whole, 1, 1)[:3]  # type: ignore[return-value]


@functools.lru_cache(maxsize=1024, typed=True)
def _kept_options(grid: Any, timeout: float, cooperative: bool) -> bytes:
    extents = grid_of(grid)
    try:
        seconds = float(timeout)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"the time limit is {timeout!r}, and a number of seconds is wanted") from None
    return _OPTIONS.pack(_OPTIONS.size, *extents, seconds, bool(cooperative), 0)


def launch_options(grid: Any, timeout: float, cooperative: bool) -> bytes:
    """`heddle_launch_options`."""
    try:
        return _kept_options(grid, timeout, cooperative)
    except TypeError:  # what has no hash, as a list
        return _kept_options.__wrapped__(grid, timeout, cooperative)


def finish(stream: Any, call: Callable[..., int], *arguments: Any) -> None:
    """Puts work that uses memory of Python into a stream and waits for it: also where Ctrl-C comes between the two."""
    lib, waits = library(), True
    try:
        status = call(*arguments)
        if status:
            waits = False
            raise lib.error(status)
        status = lib.stream_synchronize(stream)
        waits = False
        if status:
            raise lib.error(status)
    finally:
        if waits:
            lib.stream_synchronize(stream)


def _float_bits(type_name: str, value: float) -> int:
    if type_name == "f64":
        return struct.unpack("<Q", struct.pack("<d", value))[0]
    if type_name == "f32":
        return struct.unpack("<I", struct.pack("<f", value))[0]
    if type_name == "f16":
        return struct.unpack("<H", struct.pack("<e", value))[0]
    if type_name == "bf16":  # rounded to nearest even
        bits = struct.unpack("<I", struct.pack("<f", value))[0]
        if value != value:
            return bits >> 16 | 0x40
        return (bits + 0x7FFF + (bits >> 16 & 1)) >> 16 & 0xFFFF
    raise InputError(f"a scalar of type {type_name} cannot be made of a Python number", ["pass its bits to the C interface"])


def _integer_range(type_name: str) -> Tuple[int, int, int]:
    if type_name[0] in "fb":
        return 1, 0, 0  # no integer is in it
    bits = 1 if type_name == "i1" else int(type_name.lstrip("ui"))
    return -(1 << (bits - 1)), (1 << bits) - 1, (1 << bits) - 1


def scalar_bits(kernel: str, argument: Argument, value: Any) -> int:
    """The bits of a scalar argument. Raises InputError for what is no number of its type."""
    def where() -> str:
        return f"kernel `{kernel}`: argument `{argument.name}`"

    if argument.type[0] in "fb":
        try:
            return _float_bits(argument.type, float(value))
        except (TypeError, OverflowError) as problem:
            raise InputError(f"{where()} is a scalar of type {argument.type}, and {value!r} was given: {problem}") from None
    try:
        whole = value.__index__()
    except AttributeError:
        raise InputError(f"{where()} is a scalar of type {argument.type}, and {value!r} was given",
                         ["give an integer"]) from None
    least, most, mask = _integer_range(argument.type)
    if not least <= whole <= most:
        raise InputError(f"{where()}: {whole} does not fit {argument.type}")
    return whole & mask


def quick_bits(kernel: str, argument: Argument, bounds: Tuple[int, int, int], value: Any) -> int:
    """`scalar_bits`, at once for an integer within the bounds (least, most, mask) of `Kernel._ranges`."""
    if type(value) is int and bounds[0] <= value <= bounds[1]:
        return value & bounds[2]
    return scalar_bits(kernel, argument, value)


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
        self._ranges = [None if argument.pointer else _integer_range(argument.type) for argument in self.arguments]
        self._positions = {argument.name: i for i, argument in enumerate(self.arguments)}
        self._loaded: Dict[str, Handle] = {}
        self._on_gpus: Dict[int, Tuple["Device", Handle]] = {}  # by PyTorch's number of the GPU
        self._torch_types: Optional[List[Any]] = None

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


class Launcher:
    """`kernel[grid]`: call it with the kernel's arguments, in order or by name.

    Arrays of the host are used in place, and the call returns when the kernel has run. Arrays of a GPU go into PyTorch's
    current stream where they are PyTorch's, else into the default stream, and the call returns at once."""

    __slots__ = ("kernel", "_grid")

    def __init__(self, kernel: Kernel, grid: Any):
        self.kernel = kernel
        self._grid = grid

    def __call__(self, *args: Any, timeout: float = 0.0, cooperative: bool = False, **named: Any) -> None:
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
                flat += _SCALAR, 0, quick_bits(kernel.name, argument, bounds, value)
                continue
            if value is None:
                flat += _ADDRESS, 0, 0
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
            flat += _ADDRESS, 0, memory.address
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
                flat += _SCALAR, 0, quick_bits(kernel.name, argument, bounds, value)
            elif value is None:
                flat += _ADDRESS, 0, 0
            elif tools.is_plain(value) and value.dtype in dtypes and not value.requires_grad and value.is_contiguous():
                index = value.get_device()
                if gpu is None:
                    gpu = index
                elif gpu != index:
                    return False
                flat += _ADDRESS, 0, value.data_ptr()
            else:
                return False
        if gpu is None:
            return False
        device, loaded = kernel.on_gpu(gpu, tools)
        status = kernel._library.launch(device.stream_over(tools.raw_stream(gpu)), loaded,
                                        launch_options(grid, timeout, cooperative), kernel._pack_values(*flat), len(values))
        if status:
            raise kernel._library.error(status)
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


class Buffer:
    """Memory of a device; freed by `close`, at the end of a `with` block, or with the object."""

    def __init__(self, device: "Device", handle: Handle):
        self.device, self._handle = device, handle
        address, size = ctypes.c_uint64(), ctypes.c_uint64()
        lib = library()
        lib.check(lib.buffer_get(handle, ctypes.byref(address), ctypes.byref(size)))
        self.address, self.nbytes = address.value, size.value

    def write(self, value: Any, stream: Optional["Stream"] = None) -> None:
        """Copies an array of the host into the buffer, and waits."""
        memory = memory_of(value, "write")
        if memory is None or memory.place != "host":
            raise InputError(f"an array of the host is wanted, and {value!r} was given")
        if memory.nbytes > self.nbytes:
            raise InputError(f"the array has {memory.nbytes} bytes, and the buffer {self.nbytes}")
        stream = stream or self.device.default()
        lib = library()
        finish(stream._handle, lib.copy_to_device, stream._handle, self._handle, 0, memory.address, memory.nbytes)

    def read(self, dtype: Any, shape: Any, stream: Optional["Stream"] = None) -> Array:
        """The contents as an array, after the work of the stream."""
        array = Array(dtype, shape)
        stream = stream or self.device.default()
        lib = library()
        finish(stream._handle, lib.copy_to_host, stream._handle, array._address, self._handle, 0, array.nbytes)
        return array

    def close(self) -> None:
        self._handle.close()

    def __enter__(self) -> "Buffer":
        return self

    def __exit__(self, *unused: Any) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<heddle.Buffer of {self.nbytes} bytes on {self.device.name}>"


class Stream:
    """An ordered queue of work for a device."""

    def __init__(self, device: "Device", handle: Handle):
        self.device, self._handle = device, handle

    def launch(self, kernel: Kernel, grid: Grid, *args: Any, timeout: float = 0.0, cooperative: bool = False,
               **named: Any) -> None:
        """Puts a launch into the stream and returns at once. Pointers are buffers of the device or None."""
        flat: List[int] = []
        for argument, bounds, value in zip(kernel.arguments, kernel._ranges, kernel.bind(args, named)):
            if type(value) is Buffer and bounds is None:
                flat += _BUFFER, 0, value._handle.value or 0
            elif bounds is not None:
                flat += _SCALAR, 0, quick_bits(kernel.name, argument, bounds, value)
            elif value is None:
                flat += _ADDRESS, 0, 0
            else:
                raise InputError(f"kernel `{kernel.name}`: argument `{argument.name}` is a pointer to {argument.type}, and "
                                 f"{value!r} was given", ["`device.buffer(array)` makes a buffer of an array"])
        options = launch_options(grid, timeout, cooperative)
        lib = kernel._library
        status = lib.launch(self._handle, kernel.on(self.device), options, kernel._pack_values(*flat), len(kernel.arguments))
        if status:
            raise lib.error(status)

    def wait(self, event: "Event") -> None:
        """Lets what follows in this stream wait for the event's latest record."""
        lib = library()
        lib.check(lib.stream_wait(self._handle, event._handle))

    @contextlib.contextmanager
    def capture(self) -> "Iterator[Graph]":
        """In the block the stream's work is recorded in a graph instead of run. The caller keeps the buffers."""
        lib = library()
        lib.check(lib.capture_begin(self._handle))
        graph = Graph()
        try:
            yield graph
        finally:
            graph._handle = lib.new(lib.capture_end, self._handle)

    def synchronize(self) -> None:
        """Waits for the work, and raises its first error."""
        lib = library()
        lib.check(lib.stream_synchronize(self._handle))

    def close(self) -> None:
        self._handle.close()

    def __enter__(self) -> "Stream":
        return self

    def __exit__(self, *unused: Any) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<heddle.Stream of {self.device.name}>"


class Event:
    """A mark in a stream: `device.event()`."""

    def __init__(self, handle: Handle):
        self._handle = handle

    def record(self, stream: Stream) -> None:
        """Puts the event into the stream; it is reached when the work before it has run."""
        lib = library()
        lib.check(lib.event_record(self._handle, stream._handle))

    def synchronize(self) -> None:
        """Waits until the latest record is reached."""
        lib = library()
        lib.check(lib.event_synchronize(self._handle))

    def milliseconds_since(self, start: "Event") -> float:
        """From `start` to this event, which are both reached."""
        lib, milliseconds = library(), ctypes.c_double()
        lib.check(lib.event_elapsed(start._handle, self._handle, ctypes.byref(milliseconds)))
        return milliseconds.value


class Graph:
    """Work of a stream that was captured (`Stream.capture`), to be launched as a whole, any number of times."""

    _handle: Optional[Handle] = None

    def launch(self, stream: Stream) -> None:
        lib = library()
        lib.check(lib.graph_launch(stream._handle, self._handle))


class Timing(NamedTuple):
    """Milliseconds of launches, sorted."""
    milliseconds: Tuple[float, ...]

    @property
    def p50(self) -> float:
        return self.milliseconds[len(self.milliseconds) // 2]

    @property
    def minimum(self) -> float:
        return self.milliseconds[0]

    @property
    def maximum(self) -> float:
        return self.milliseconds[-1]

    def __repr__(self) -> str:
        return (f"<heddle.Timing of {len(self.milliseconds)} launches: p50 {self.p50:.4f} ms, minimum {self.minimum:.4f}, "
                f"maximum {self.maximum:.4f}>")


class Device:
    """A device by its name: `host`, `host:1`, `sim:gfx942`, `sim:gfx950:3`, `cuda:0`, `hip:0`."""

    def __init__(self, name: str = "host"):
        lib = library()
        self._handle = lib.new(lib.device_open, c_text(str(name), "the device's name"))
        description = self.info
        self.name: str = description["name"]
        self.target: str = description["target"]
        self._streams = threading.local()
        self._over: Dict[int, Handle] = {}

    @property
    def info(self) -> Dict[str, Any]:
        """name, description, driver, target, ordinal, memoryBytes, freeBytes, computeUnits."""
        lib = library()
        return json.loads(lib.text(lib.device_describe, self._handle))

    def default_stream(self) -> Handle:
        """This thread's own stream of the device."""
        handle = getattr(self._streams, "handle", None)
        if handle is None:
            lib = library()
            handle = self._streams.handle = lib.new(lib.stream_create, self._handle)
        return handle

    def default(self) -> Stream:
        return Stream(self, self.default_stream())

    def stream_over(self, handle: int) -> Handle:
        """A stream over another library's."""
        stream = self._over.get(handle)
        if stream is None:
            lib = library()
            stream = self._over[handle] = lib.new(lib.stream_adopt, self._handle, handle)
        return stream

    def stream(self) -> Stream:
        """A new stream."""
        lib = library()
        return Stream(self, lib.new(lib.stream_create, self._handle))

    def event(self) -> Event:
        lib = library()
        return Event(lib.new(lib.event_create, self._handle))

    def adopt(self, address: int, nbytes: int, name: str = "") -> Buffer:
        """Memory that another library keeps, as a buffer. Simulated devices have none."""
        lib = library()
        return Buffer(self, lib.new(lib.buffer_adopt, self._handle, unsigned(address, "the address"),
                                    unsigned(nbytes, "the number of bytes"), c_text(name, "the buffer's name")))

    def buffer(self, value: Any, name: str = "") -> Buffer:
        """A new buffer: of so many bytes, or with the contents of an array of the host."""
        lib = library()
        memory = None if isinstance(value, int) else memory_of(value, f"buffer `{name}`")
        if memory is None and not isinstance(value, int):
            raise InputError(f"a number of bytes or an array is wanted, and {value!r} was given")
        size = value if memory is None else memory.nbytes
        buffer = Buffer(self, lib.new(lib.buffer_create, self._handle, unsigned(size, "the number of bytes"),
                                      c_text(name, "the buffer's name")))
        if memory is not None:
            buffer.write(value)
        return buffer

    def run(self, kernel: Kernel, grid: Grid = 1, *, timeout: float = 0.0, cooperative: bool = False,
            **arguments: Any) -> Dict[str, Array]:
        """Copies the arrays to the device, runs the kernel there, and gives the contents of all arrays after it, by
        name. The arrays that were given stay as they are. An array may also be text, as for the command:
        `rand:f32[64]:7`."""
        stream = self.default()
        bound, buffers = self._place(kernel, arguments)
        try:
            stream.launch(kernel, grid, timeout=timeout, cooperative=cooperative, **bound)
            stream.synchronize()
            return {name: buffer.read(dtype, shape, stream) for name, (buffer, dtype, shape) in buffers.items()}
        finally:
            for buffer, _, _ in buffers.values():
                buffer.close()

    def bench(self, kernel: Kernel, grid: Grid = 1, *, warmup: int = 10, repeat: int = 100, **arguments: Any) -> Timing:
        """Copies the arrays to the device and times launches of the kernel there, one after the other on the same buffers. Of
        a simulated device it is the simulator's time; `heddle.simulate(..., time=True)` estimates the chip's."""
        if repeat < 1:
            raise InputError(f"repeat={repeat}: at least 1 launch is timed")
        bound, buffers = self._place(kernel, arguments)
        stream, marks = self.default(), [self.event() for _ in range(repeat + 1)]
        try:
            for _ in range(warmup):
                stream.launch(kernel, grid, **bound)
            marks[0].record(stream)
            for mark in marks[1:]:
                stream.launch(kernel, grid, **bound)
                mark.record(stream)
            stream.synchronize()
            return Timing(tuple(sorted(end.milliseconds_since(start) for start, end in zip(marks, marks[1:]))))
        finally:
            for buffer, _, _ in buffers.values():
                buffer.close()

    def _place(self, kernel: Kernel, arguments: Mapping[str, Any]):
        """The arguments with buffers of the device for arrays; and these buffers with the arrays' types and shapes."""
        values = kernel.bind((), arguments)
        buffers: Dict[str, Tuple[Buffer, str, Tuple[int, ...]]] = {}
        bound: Dict[str, Any] = {}
        for argument, value in zip(kernel.arguments, values):
            if not argument.pointer or value is None:
                bound[argument.name] = value
                continue
            value = parse_value(value) if isinstance(value, str) else value
            memory = kernel.memory(argument, value)
            if memory.place != "host":
                raise InputError(f"kernel `{kernel.name}`: argument `{argument.name}` is on {memory.place}, and `run` copies "
                                 "from the host", ["use `kernel[grid](...)` where the array is, or copy it to the host"])
            bound[argument.name] = buffer = self.buffer(value, argument.name)
            buffers[argument.name] = buffer, memory.dtype, memory.shape
        return bound, buffers

    def close(self) -> None:
        """Gives back this object's streams and its reference to the device."""
        for stream in self._over.values():
            stream.close()
        handle = getattr(self._streams, "handle", None)
        if handle is not None:
            handle.close()
            self._streams.handle = None
        self._handle.close()

    def __enter__(self) -> "Device":
        return self

    def __exit__(self, *unused: Any) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<heddle.Device {self.name} ({self.target})>"


_print_function: Optional[Callable[[str], Any]] = None


def _print_line(line: bytes, _user: Any) -> None:
    function = _print_function
    if function is not None:
        function(line.decode(errors="replace"))


_print_callback = PrintFunction(_print_line)  # for good: the function that it calls may replace itself


def set_print(function: Optional[Callable[[str], Any]]) -> None:
    """Gives each line that a kernel prints (`tt.print`, `tl.device_print`) to `function`, in place of standard error; None:
    standard error again. It is called on threads of streams, and must not wait for a stream."""
    global _print_function, _print_ends
    lib = library()
    if function is None:
        lib.check(lib.set_print(None, None))
        _print_function = None
        return
    _print_function = function
    lib.check(lib.set_print(ctypes.cast(_print_callback, ctypes.c_void_p), None))
    if not _print_ends:
        atexit.register(set_print, None)  # no line comes when Python is gone
        _print_ends = True


_print_ends = False


def print_to_stdout() -> None:
    """Lines that kernels print go to `sys.stdout`, unless set_print has given them to a function."""
    if _print_function is None:
        set_print(print)


_devices: Dict[str, Device] = {}
_devices_lock = threading.Lock()


def device_of(name: str) -> Device:
    """The device on which launches of that place run; one object for each."""
    device = _devices.get(name)
    if device is None:
        with _devices_lock:
            device = _devices.get(name) or _devices.setdefault(name, Device(name))
    return device


def parse_value(text: str) -> Array:
    """`f32[64]`, `zeros:f32[64]`, `rand:f32[64]:7`."""
    spec = text[6:] if text.startswith("zeros:") else text
    form = spec[5:] if spec.startswith("rand:") else spec
    name, bracket, rest = form.partition("[")
    extents, end, _ = rest.partition("]")
    if not bracket or not end:
        raise InputError(f"`{text}` is no value of an array", ["such are `f32[64,128]` and `rand:bf16[64]:7`"])
    lib = library()
    data = lib.bytes(lib.make_values, c_text(spec, "the value"))
    return Array(element_type(name), [int(extent) for extent in extents.split(",") if extent], data, text)


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
