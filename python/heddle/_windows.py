# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Windows: memory of every rank of a communicator that all ranks reach."""
from __future__ import annotations

import ctypes
from typing import Any

from ._arrays import _BY_TYPESTR, _TYPES, DType, Memory, Shape, count_of, element_type, shape_of, size_of, torch_dtype
from ._library import Error, Handle, InputError, c_text, library, unsigned

_BIT_PATTERNS = {1: "|u1", 2: "<i2"}  # of types that the array interface lacks


class _View:
    """A range of a window for NumPy or PyTorch; arrays over it keep the memory."""

    def __init__(self, window: "Window", address: int, shape: tuple, typestr: str):
        self._window = window
        described = {"version": 3, "shape": shape, "typestr": typestr, "data": (address, False), "strides": None}
        setattr(self, "__array_interface__" if window._place == "host" else "__cuda_array_interface__", described)


class Window:
    """Made by Communicator.allocate_window and Communicator.register. With `registered=True` calls on arrays in windows
    access the arrays of other ranks where they lie, which saves a copy of large ones."""

    def __init__(self, group: Any, handle: Handle, address: int, nbytes: int, owner: Any, place: str):
        self._group, self._handle, self._owner, self._place = group, handle, owner, place
        self.address, self.nbytes = address, nbytes

    @classmethod
    def _register(cls, group: Any, address: int, nbytes: int, name: str, owner: Any) -> "Window":
        lib = library()
        handle = lib.new(lib.window_register, group._open_handle(), address, nbytes, c_text(name, "the window's name"))
        place = "host" if group.device.name.startswith("host") else group.device.name
        return cls(group, handle, address, nbytes, owner, place)

    @classmethod
    def _allocate(cls, group: Any, nbytes: int, name: str) -> "Window":
        lib, address, size = library(), ctypes.c_uint64(), ctypes.c_uint64()
        buffer = lib.new(lib.communicator_allocate, group._open_handle(), unsigned(nbytes, "the number of bytes"),
                         c_text(name, "the window's name"))
        lib.check(lib.buffer_get(buffer, ctypes.byref(address), ctypes.byref(size)))
        return cls._register(group, address.value, nbytes, name, buffer)

    @property
    def is_registered(self) -> bool:
        return self._handle.value is not None

    def array(self, shape: Shape, dtype: DType = "f32", *, offset: int = 0) -> Any:
        """An array over the window's memory from byte `offset` on: of NumPy on the host, where bf16 and f8 are bit patterns,
        and a tensor of PyTorch on a GPU."""
        name, extents = element_type(dtype), shape_of(shape)
        nbytes = count_of(extents) * size_of(name)
        if offset < 0 or offset % size_of(name) or nbytes > self.nbytes - offset:
            raise InputError(f"{name}{list(extents)} from byte {offset} on has {nbytes} bytes, and the window has {self.nbytes}",
                             [f"`offset` is a multiple of {size_of(name)}, the size of an element"])
        typestr = _TYPES[name][1]
        if self._place == "host":
            import numpy
            return numpy.asarray(_View(self, self.address + offset, extents, typestr))
        import torch
        has_type = _BY_TYPESTR.get(typestr) == name
        view = _View(self, self.address + offset, extents, typestr if has_type else _BIT_PATTERNS[size_of(name)])
        tensor = torch.as_tensor(view, device=self._place)
        return tensor if has_type else tensor.view(torch_dtype(name))

    def deregister(self) -> None:
        """Collective: waits for the group's calls; then no rank reaches the memory any more. Arrays over the window keep it."""
        if not self.is_registered:
            raise InputError("the window is not registered", ["a window is deregistered once, on every rank"])
        lib = library()
        try:
            lib.check(lib.window_deregister(self._handle))
        except InputError:  # another rank does something else: the window stays
            raise
        except Error:  # the group has failed, and the memory of the others is not mapped any more
            self._group._forget(self)
            raise
        self._group._forget(self)

    def _holds(self, memory: Memory) -> bool:
        return self.is_registered and self.address <= memory.address and \
            memory.address + memory.nbytes <= self.address + self.nbytes

    def __repr__(self) -> str:
        state = "" if self.is_registered else ", deregistered"
        return f"<heddle.collectives.Window of {self.nbytes} bytes at {self.address:#x}{state}>"
