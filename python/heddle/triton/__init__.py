# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Triton's kernels, unchanged, on Heddle's devices (docs/triton.md).

    import heddle.triton
    heddle.triton.enable("host")                  # or "sim:gfx942", "sim:gfx950", "cuda:0"
    kernel[grid](x, y, out, n, BLOCK=1024)

`import triton` imports this package by its entry point, so nothing here imports Triton or loads a library before it is used."""
from __future__ import annotations

import contextlib
import threading
from typing import Any, Iterator, List, Optional

class _Checking(threading.local):
    state: Any = None  # of `checking()`


_checking = _Checking()


class _ElementType(str):
    """PyTorch's name of an element type, with the size that triton.tools.tensor_descriptor asks for."""
    itemsize: int


class Tensor:
    """An array of the host as Triton wants tensors, where PyTorch is not there: NumPy's, or a heddle.Array.

    `array` is the memory that kernels use; `dtype` may name a type that NumPy lacks, as Heddle, PyTorch or Triton does:
    `Tensor(bits, "bf16")`, `Tensor(bits, tl.float8e4nv)`."""

    _NAMES = {"f64": "float64", "f32": "float32", "f16": "float16", "bf16": "bfloat16", "i64": "int64", "i32": "int32",
              "i16": "int16", "i8": "int8", "i1": "bool", "ui64": "uint64", "ui32": "uint32", "ui16": "uint16", "ui8": "uint8",
              "f8E4M3FN": "float8_e4m3fn", "f8E5M2": "float8_e5m2", "f8E4M3FNUZ": "float8_e4m3fnuz",
              "f8E5M2FNUZ": "float8_e5m2fnuz"}

    def __init__(self, array: Any, dtype: Any = None):
        from .. import _arrays
        memory = _arrays.memory_of(array, "Tensor")
        if memory is None or memory.place != "host":
            raise _arrays.InputError(f"an array of the host is wanted, and {array!r} was given")
        if memory.readonly:
            raise _arrays.InputError("the array is read-only, and a kernel may write", ["pass a copy of the array"])
        self.array, self._memory = array, memory
        self.type_name = _arrays.element_type(dtype) if dtype is not None else memory.dtype
        if not _arrays.agrees(self.type_name, memory.dtype):
            raise _arrays.InputError(f"an array of {memory.dtype} does not hold {self.type_name}")
        self.dtype = _ElementType(self._NAMES[self.type_name])
        self.dtype.itemsize = _arrays.size_of(self.type_name)
        self.shape = memory.shape
        self.is_cuda, self.device = False, "the host"

    def data_ptr(self) -> int:
        return self._memory.address

    def stride(self, dimension: Optional[int] = None) -> Any:
        """In elements, row-major."""
        strides, step = [], 1
        for extent in reversed(self.shape):
            strides.insert(0, step)
            step *= extent
        return tuple(strides) if dimension is None else strides[dimension]

    def element_size(self) -> int:
        return self.dtype.itemsize

    def numel(self) -> int:
        from .. import _arrays
        return _arrays.count_of(self.shape)

    def __repr__(self) -> str:
        return f"<heddle.triton.Tensor {self.type_name}{list(self.shape)}>"


def _register() -> None:
    """Makes Triton know the backend where the package is not installed, as in the source tree."""
    from triton.backends import Backend, backends
    if "heddle" not in backends:
        from .backend.compiler import HeddleBackend
        from .backend.driver import HeddleDriver
        backends["heddle"] = Backend(HeddleBackend, HeddleDriver)


def enable(device: str = "host") -> None:
    """From now on launches of Triton's kernels go to this device: `host`, `sim:gfx942`, `sim:gfx950`, `cuda:0`, or `cuda` for
    PyTorch's current GPU. On the host and on a GPU tensors are used in place; for a simulated device they are copied there and back."""
    import triton
    from .backend.driver import HeddleDriver
    _register()
    triton.runtime.driver.set_active(HeddleDriver(device))


def disable() -> None:
    """Gives the launches back to the driver that Triton would have chosen; without a GPU there is none."""
    import triton
    triton.runtime.driver._active = None


@contextlib.contextmanager
def device(name: str) -> Iterator[None]:
    """`enable(name)` for a block."""
    import triton
    before = triton.runtime.driver._active
    enable(name)
    try:
        yield
    finally:
        triton.runtime.driver._active = before


@contextlib.contextmanager
def checking(target: Optional[str] = None, **options: Any) -> Iterator[List[Any]]:
    """In the block each launch is also checked, before it runs, with the contents of its tensors: a list of
    heddle.CheckReport. `target` is the AMD chip for which kernels of the host are compiled for that, gfx950 unless given;
    `options` are those of heddle.check."""
    before = _checking.state
    reports: List[Any] = []
    _checking.state = (target, options, reports)
    try:
        yield reports
    finally:
        _checking.state = before


__all__ = ["Tensor", "checking", "device", "disable", "enable"]
