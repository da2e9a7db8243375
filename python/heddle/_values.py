# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arguments, grids and scalars of launches, as the C interface takes them."""
from __future__ import annotations

import functools
import struct
from typing import Any, Callable, NamedTuple, Sequence, Tuple, Union

from ._library import InputError, library

Grid = Union[int, Sequence[int]]

SCALAR, ADDRESS, BUFFER = 0, 1, 2  # kinds of heddle_value
_OPTIONS = struct.Struct("=Q3qdii")  # heddle_launch_options


class Argument(NamedTuple):
    """An argument of a kernel: `type` is that of the scalar, or of what the pointer points to."""
    name: str
    type: str
    pointer: bool
    divisibility: int

    def __str__(self) -> str:
        return f"{self.name}: {'pointer to ' if self.pointer else ''}{self.type}"


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


def integer_range(type_name: str) -> Tuple[int, int, int]:
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
    least, most, mask = integer_range(argument.type)
    if not least <= whole <= most:
        raise InputError(f"{where()}: {whole} does not fit {argument.type}")
    return whole & mask


def quick_bits(kernel: str, argument: Argument, bounds: Tuple[int, int, int], value: Any) -> int:
    """`scalar_bits`, at once for an integer within the bounds (least, most, mask) of `Kernel._ranges`."""
    if type(value) is int and bounds[0] <= value <= bounds[1]:
        return value & bounds[2]
    return scalar_bits(kernel, argument, value)
