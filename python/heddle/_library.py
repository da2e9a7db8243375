# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The C interface (include/heddle.h) by ctypes: finding and loading libheddle, errors as exceptions, and handles.

Nothing is loaded when `heddle` is imported, only at the first use."""
from __future__ import annotations

import ctypes
import os
import pathlib
import threading
from typing import Any, Iterable, Optional

NEEDED_INTERFACE = 5

_p, _s, _z, _i32, _u64 = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_int32, ctypes.c_uint64
_strings = ctypes.POINTER(_s)
ProgressFunction = ctypes.CFUNCTYPE(_i32, _z, _z, _p)
PrintFunction = ctypes.CFUNCTYPE(None, _s, _p)
AllGatherFunction = ctypes.CFUNCTYPE(_i32, _p, _p, _z, ctypes.c_double, _p)


class ArgumentInfo(ctypes.Structure):
    """`heddle_argument`."""
    _fields_ = [("struct_size", _z), ("name", _s), ("type", _s), ("divisibility", ctypes.c_int64), ("pointer", _i32),
                ("reserved", _i32)]


class CommunicatorOptions(ctypes.Structure):
    """`heddle_communicator_options`."""
    _fields_ = [("struct_size", _z), ("deadline_seconds", ctypes.c_double), ("setup_seconds", ctypes.c_double),
                ("prepare_seconds", ctypes.c_double), ("reserved_units", _i32), ("reserved", _i32), ("transport", _s),
                ("host_address", _s), ("host_model", _s), ("hosts", _i32), ("reserved_hosts", _i32)]


class CollectiveRequest(ctypes.Structure):
    """`heddle_collective_request`."""
    _fields_ = [("struct_size", _z), ("type", _s), ("algorithm", _s), ("count", ctypes.c_int64), ("kind", _i32),
                ("reduction", _i32), ("root", _i32), ("captured", _i32), ("input_window", _p), ("output_window", _p)]


class CollectivePlan(ctypes.Structure):
    """`heddle_collective_plan`."""
    _fields_ = [("struct_size", _z), ("algorithm", _s), ("memory_bytes", ctypes.c_int64), ("blocks", _i32),
                ("packets", _i32)]


# The functions that this package calls and that return a status, with the types of their parameters;
# library/exports.txt is the whole list.
_FUNCTIONS = {
    "release": [_p],
    "text_get": [_p, _p, _p],
    "compile": [_s, _z, _s, _strings, _z, _p],
    "compile_file": [_s, _strings, _z, _p],
    "compile_phase": [_s, _z, _s, _s, _strings, _z, _p],
    "package_load": [_s, _p],
    "package_parse": [_s, _z, _p],
    "package_save": [_p, _s],
    "package_bytes": [_p, _p],
    "package_describe": [_p, _p],
    "package_assembly": [_p, _p],
    "package_warnings": [_p, _p],
    "package_argument_count": [_p, _p],
    "package_argument": [_p, _z, _p],
    "device_open": [_s, _p],
    "device_describe": [_p, _p],
    "buffer_create": [_p, _u64, _s, _p],
    "buffer_adopt": [_p, _u64, _u64, _s, _p],
    "buffer_get": [_p, _p, _p],
    "stream_create": [_p, _p],
    "stream_adopt": [_p, _p, _p],
    "stream_synchronize": [_p],
    "copy_to_device": [_p, _p, _u64, _p, _u64],
    "copy_to_host": [_p, _p, _p, _u64, _u64],
    "copy": [_p, _p, _u64, _p, _u64, _u64],
    "fill": [_p, _p, _u64, _u64, ctypes.c_uint8],
    "event_create": [_p, _p],
    "event_record": [_p, _p],
    "stream_wait": [_p, _p],
    "event_synchronize": [_p],
    "event_elapsed": [_p, _p, _p],
    "kernel_load": [_p, _p, _p],
    "launch": [_p, _p, _s, _s, _z],
    "capture_begin": [_p],
    "capture_end": [_p, _p],
    "graph_launch": [_p, _p],
    "set_print": [_p, _p],
    "stream_is_capturing": [_p, _p],
    "communicator_create": [_p, _i32, _i32, _p, _p, _p, _p],
    "communicator_connect": [_p, _s, _i32, _i32, _s, _p, _p],
    "communicator_describe": [_p, _p],
    "communicator_allocate": [_p, _u64, _s, _p],
    "window_register": [_p, _u64, _u64, _s, _p],
    "window_deregister": [_p],
    "communicator_plan": [_p, _p, _p],
    "communicator_prepare": [_p, _p, _p],
    "communicator_synchronize": [_p],
    "communicator_check": [_p],
    "communicator_abort": [_p, _s],
    "communicator_prepare_module": [_p, _s, _z, _s, _i32, _p],
    "collective_describe": [_p, _p],
    "collective_launch": [_p, _p, _u64, _u64],
    "collective_launch_arrays": [_p, _p, _p, _z],
    "make_values": [_s, _p],
    "report": [_s, _strings, _z, _p, _p, _p, _p],
}


class Error(Exception):
    """What Heddle refuses or cannot do. `notes` has the next step; Python 3.11 and later print it with the traceback."""

    def __init__(self, message: str, notes: Iterable[str] = ()):
        super().__init__(message)
        self.message = message
        self.notes = list(notes)
        for note in self.notes:
            if hasattr(self, "add_note"):
                self.add_note("note: " + note)

    def __reduce__(self):
        return type(self), (self.message, self.notes)


class InputError(Error, ValueError):
    """What the caller gave, and what its kernel reports: a failed assertion, an access out of bounds, a crash."""


class DeviceError(Error, OSError):
    """The machine: files, memory, devices, drivers."""

    __str__ = Exception.__str__


class InternalError(Error, RuntimeError):
    """A fault of Heddle."""


class WrongResult(Error, AssertionError):
    """A result that is wrong: findings of a check, or of the checks of a simulated device."""


for _class in (Error, InputError, DeviceError, InternalError, WrongResult):
    _class.__module__ = "heddle"  # as users name them

_CLASSES = {1: WrongResult, 2: InputError, 3: DeviceError}


def find_built(name: str, hint: str) -> str:
    """The path of a shared library of Heddle: in the package, else in the build tree. `hint` is the note of the error."""
    here = pathlib.Path(__file__).resolve().parent
    places = [here / name, here.parents[1] / "build" / "lib" / name]
    for place in places:
        if place.exists():
            return str(place)
    raise DeviceError(f"{name} is neither " + " nor ".join(str(place) for place in places), [hint])


def library_path() -> str:
    """The file of libheddle: what HEDDLE_LIBRARY names, else the one in the package, else that of the build tree."""
    named = os.environ.get("HEDDLE_LIBRARY")
    if named:
        return named
    return find_built("libheddle.so.0", "set HEDDLE_LIBRARY to it, or run `./dev build` in the source tree")


class Library:
    """The loaded library; `library()` is the one of this process."""

    def __init__(self, path: str):
        try:
            self.dll = ctypes.CDLL(path)
        except OSError as problem:
            raise DeviceError(f"cannot load {path}: {problem}") from None
        for name, arguments in _FUNCTIONS.items():
            function = getattr(self.dll, "heddle_" + name, None)
            if function is None:
                raise DeviceError(f"{path} has no function heddle_{name}: it is another version than this package")
            function.restype, function.argtypes = _i32, arguments
            setattr(self, name, function)
        for name, result, arguments in [("interface_version", ctypes.c_uint32, []), ("version", _s, []),
                                        ("error_text", _s, []), ("error_note_count", _z, []), ("error_note", _s, [_z])]:
            function = getattr(self.dll, "heddle_" + name)
            function.restype, function.argtypes = result, arguments
        if self.dll.heddle_interface_version() < NEEDED_INTERFACE:
            raise DeviceError(f"{path} has version {self.dll.heddle_interface_version()} of the C interface, and this "
                              f"package needs {NEEDED_INTERFACE}")
        self.path = path

    def error(self, status: int) -> Error:
        """What the last call of this thread complained of."""
        notes = [self.dll.heddle_error_note(i).decode(errors="replace")
                 for i in range(self.dll.heddle_error_note_count())]
        kind = _CLASSES.get(status, InternalError)
        return kind(self.dll.heddle_error_text().decode(errors="replace"), notes)

    def check(self, status: int) -> None:
        if status:
            raise self.error(status)

    def new(self, function: Any, *arguments: Any) -> "Handle":
        """Calls a function whose last parameter is the place for a handle."""
        place = _p()
        status = function(*arguments, ctypes.byref(place))
        if status:
            raise self.error(status)
        return Handle(self, place.value)

    def bytes(self, function: Any, *arguments: Any) -> bytes:
        """The same for a function that gives a text."""
        text = self.new(function, *arguments)
        data, size = _p(), _z()
        self.check(self.text_get(text, ctypes.byref(data), ctypes.byref(size)))
        return ctypes.string_at(data, size.value)

    def text(self, function: Any, *arguments: Any) -> str:
        return self.bytes(function, *arguments).decode(errors="replace")


class Handle:
    """A handle that is released with this object, or by `close`."""

    __slots__ = ("_library", "value", "_as_parameter_", "__weakref__")

    def __init__(self, library: Library, value: Optional[int]):
        self._library, self.value = library, value
        self._as_parameter_ = _p(value)

    def close(self) -> None:
        value, self.value = self.value, None
        self._as_parameter_ = _p(None)
        if value is not None:
            self._library.check(self._library.release(value))

    def __del__(self):
        try:
            if self.value is not None:
                self._library.release(self.value)
        except Exception:  # while the interpreter ends
            pass


_loaded: Optional[Library] = None
_lock = threading.Lock()


def library() -> Library:
    global _loaded
    if _loaded is None:
        with _lock:
            if _loaded is None:
                _loaded = Library(library_path())
    return _loaded


def c_text(value: Any, what: str) -> bytes:
    """Text or a path as a C string. Raises InputError for what none can hold."""
    try:
        encoded = os.fsencode(value)
    except (TypeError, UnicodeEncodeError) as problem:
        raise InputError(f"{what} is {value!r}, and text is wanted: {problem}") from None
    if b"\0" in encoded:
        raise InputError(f"{what} is {value!r}, which has a zero byte in it")
    return encoded


def unsigned(value: Any, what: str) -> int:
    """An address or a number of bytes, which ctypes would cut to 64 bits. Raises InputError for what is none."""
    try:
        whole = value.__index__()
    except AttributeError:
        raise InputError(f"{what} is {value!r}, and an integer is wanted") from None
    if not 0 <= whole < 1 << 64:
        raise InputError(f"{what} is {whole}, and an integer from 0 to 2^64-1 is wanted")
    return whole


def strings(values: Iterable[str]):
    """An array of C strings and its length."""
    encoded = [c_text(value, "an option") for value in values]
    return (_s * len(encoded))(*encoded) if encoded else None, len(encoded)


def include_dir() -> str:
    """The folder of heddle.h, for programs in C."""
    here = pathlib.Path(__file__).resolve().parent
    return str(here / "include" if (here / "include").exists() else here.parents[1] / "include")


def version() -> str:
    """Of the library: `0.1.0`."""
    return library().dll.heddle_version().decode()
