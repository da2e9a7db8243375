# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The module `heddle_launch` (python/launch), which launches without the cost of Python code. It lies beside libheddle. Without
it the package does the same by ctypes: `module` is None."""
from __future__ import annotations

import array
import importlib.machinery
import importlib.util
import pathlib
import sys
from typing import Any, Callable, Optional

from ._library import DeviceError, Library, library_path

_VERSION = 1  # of what the module and this package agree on
KINDS = {"host": 1, "cuda": 2, "hip": 10}  # of devices, as DLPack counts


def _find() -> Optional[Any]:
    # The module is of the stable ABI of Python 3.11, which builds without the global lock do not have.
    if sys.version_info < (3, 11) or sys.implementation.name != "cpython" or "t" in sys.abiflags:
        return None
    try:
        path = pathlib.Path(library_path()).with_name("heddle_launch.abi3.so")
        if not path.parent.name or not path.exists():  # a name alone is looked for by the system, not in the working folder
            return None
        loader = importlib.machinery.ExtensionFileLoader("heddle_launch", str(path))
        spec = importlib.util.spec_from_file_location("heddle_launch", str(path), loader=loader)
        found = importlib.util.module_from_spec(spec)  # type: ignore[arg-type]
        loader.exec_module(found)
    except (DeviceError, ImportError, OSError):
        return None
    return found if getattr(found, "version", None) == _VERSION else None


module: Optional[Any] = _find()
_is_set_up = _knows_numpy = False


def set_up(lib: Library, fail: Callable[[int], Any], buffer_class: type) -> None:
    """Gives the module the functions of the library, at the first call."""
    global _is_set_up
    if module is not None and not _is_set_up:
        import ctypes
        addresses = [ctypes.cast(function, ctypes.c_void_p).value for function in (lib.launch, lib.stream_synchronize)]
        module.set_up(*addresses, fail, buffer_class)
        for each in (array.array, bytearray, memoryview):
            module.use_buffers(each)
        _is_set_up = True


def use_torch(tensor_class: Any) -> None:
    """Lets the module read PyTorch's tensors: PyTorch 2.10 and later say how."""
    exchange = getattr(tensor_class, "__dlpack_c_exchange_api__", None)
    if module is not None and exchange is not None:
        try:
            module.use_tensors(tensor_class, exchange)
        except ValueError:  # another version: tensors take the general way
            pass


def bind_gpu(plan: Any, gpu: str, index: int, raw_stream: int, stream: Any, kernel: Any) -> None:
    """The handles of the stream and of the kernel for launches on that GPU in that stream of PyTorch."""
    if plan is not None and stream.value and kernel.value:
        plan.bind_gpu(KINDS[gpu], index, raw_stream, stream.value, kernel.value)


def bind_host(plan: Any, streams: Any, kernel: Any) -> None:
    """The thread-local streams and the kernel's handle for launches on the host."""
    global _knows_numpy
    if plan is None or not kernel.value:
        return
    if not _knows_numpy and "numpy" in sys.modules:
        module.use_buffers(sys.modules["numpy"].ndarray)  # type: ignore[union-attr]
        _knows_numpy = True
    plan.bind_host(streams, kernel.value)


__all__ = ["KINDS", "bind_gpu", "bind_host", "module", "set_up", "use_torch"]
