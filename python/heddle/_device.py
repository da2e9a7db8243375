# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Devices, their memory and streams, and lines that kernels print."""
from __future__ import annotations

import atexit
import contextlib
import ctypes
import json
import threading
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterator, List, Mapping, NamedTuple, Optional, Tuple

from ._arrays import Array, element_type, memory_of
from ._library import Handle, InputError, PrintFunction, c_text, library, unsigned
from ._values import ADDRESS, BUFFER, SCALAR, Grid, finish, launch_options, quick_bits

if TYPE_CHECKING:
    from ._kernel import Kernel


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
        if kernel._plan is not None and not named and not timeout and not cooperative:
            loaded, own = kernel._loaded.get(self.device.name), self._handle.value
            if loaded is not None and own and kernel._plan.on_buffers(own, loaded.value or 0, grid, args):
                return
        flat: List[int] = []
        for argument, bounds, value in zip(kernel.arguments, kernel._ranges, kernel.bind(args, named)):
            if type(value) is Buffer and bounds is None:
                flat += BUFFER, 0, value._handle.value or 0
            elif bounds is not None:
                flat += SCALAR, 0, quick_bits(kernel.name, argument, bounds, value)
            elif value is None:
                flat += ADDRESS, 0, 0
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
