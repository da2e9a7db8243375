# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The arguments of a kernel as the metadata of its code object say them: offset, size and kind. Code object versions 3 to 6
keep them as MessagePack in an ELF note; both are read here, so that a description can be held against them."""
import struct
from dataclasses import dataclass

METADATA_NOTE = 32  # NT_AMDGPU_METADATA
NOTE_SECTION = 7  # SHT_NOTE


class ObjectError(Exception):
    """The file is no code object, or its metadata cannot be read."""


@dataclass(frozen=True)
class Argument:
    """One argument: `position` counts from 0, `offset` and `size` are bytes in the argument block."""
    position: int
    offset: int
    size: int
    kind: str
    type: str
    name: str


@dataclass(frozen=True)
class KernelMetadata:
    """`arguments` by offset; `block_size` is the size of the argument block in bytes."""
    name: str
    arguments: dict
    block_size: int


def unpack(data, at=0):
    """The MessagePack value at offset `at` and the offset after it: the types that code objects have."""
    first = data[at]
    at += 1
    if first < 0x80:
        return first, at
    if first >= 0xe0:
        return first - 256, at
    if first < 0x90:
        return unpack_map(data, at, first & 15)
    if first < 0xa0:
        return unpack_list(data, at, first & 15)
    if first < 0xc0:
        return unpack_text(data, at, first & 31)
    if first in (0xc0, 0xc2, 0xc3):
        return {0xc0: None, 0xc2: False, 0xc3: True}[first], at
    code = {0xcc: ">B", 0xcd: ">H", 0xce: ">I", 0xcf: ">Q", 0xd0: ">b", 0xd1: ">h", 0xd2: ">i", 0xd3: ">q", 0xd9: ">B",
            0xda: ">H", 0xdb: ">I", 0xdc: ">H", 0xdd: ">I", 0xde: ">H", 0xdf: ">I"}.get(first)
    if code is None:
        raise ObjectError(f"metadata have a value of type 0x{first:02x}, which code objects do not use")
    value, = struct.unpack_from(code, data, at)
    at += struct.calcsize(code)
    compound = unpack_text if first < 0xdc else unpack_list if first < 0xde else unpack_map
    return compound(data, at, value) if first >= 0xd9 else (value, at)


def unpack_text(data, at, size):
    return bytes(data[at:at + size]).decode("utf-8", "replace"), at + size


def unpack_list(data, at, count):
    values = []
    for _ in range(count):
        value, at = unpack(data, at)
        values.append(value)
    return values, at


def unpack_map(data, at, count):
    values = {}
    for _ in range(count):
        key, at = unpack(data, at)
        values[key], at = unpack(data, at)
    return values, at


def metadata_of(data):
    """The root map of the metadata note of an ELF file."""
    if data[:5] != b"\x7fELF\x02":
        raise ObjectError("it is no 64-bit ELF file")
    table, = struct.unpack_from("<Q", data, 40)
    entry_size, entries = struct.unpack_from("<HH", data, 58)
    for index in range(entries):
        header = table + index * entry_size
        kind, = struct.unpack_from("<I", data, header + 4)
        at, size = struct.unpack_from("<QQ", data, header + 24)
        end = at + size
        while kind == NOTE_SECTION and at + 12 <= end:
            name_size, size, note = struct.unpack_from("<III", data, at)
            at += 12 + (name_size + 3) // 4 * 4
            if note == METADATA_NOTE:
                return unpack(data, at)[0]
            at += (size + 3) // 4 * 4
    raise ObjectError("it has no metadata of an AMD code object")


def read_kernels(path):
    """The kernels of the code object at `path`, in its order."""
    with open(path, "rb") as file:
        data = file.read()
    try:
        kernels = metadata_of(data)["amdhsa.kernels"]
        return [read_kernel(kernel) for kernel in kernels]
    except (struct.error, IndexError, KeyError, TypeError, ObjectError) as error:
        raise ObjectError(f"`{path}`: the metadata cannot be read: {error}") from error


def read_kernel(kernel):
    arguments = {}
    for position, one in enumerate(kernel.get(".args", [])):
        arguments[one[".offset"]] = Argument(position, one[".offset"], one[".size"], one.get(".value_kind", ""),
                                             one.get(".value_type", "").lower(), one.get(".name", ""))
    return KernelMetadata(kernel[".symbol"].removesuffix(".kd"), arguments, kernel[".kernarg_segment_size"])
