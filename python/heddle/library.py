# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels of Heddle's library, called on arrays.

    results = heddle.library.call("fp8_rowwise_2d", x=x, pow2=True)     # results.q, results.scales
    quantise = heddle.library.prepare("fp8_rowwise_2d", "sm_90", x=x)    # compiled once
    quantise(x=x)
    heddle.library.tune("fp8_rowwise_2d", [{"M": 16640, "K": 5120}], device="cuda")
    quantise = heddle.library.prepare("fp8_rowwise_2d", x=x, tuned=True)     # with what was found

Arrays are NumPy's, PyTorch's, or any that `heddle.Kernel` takes; views with strides are taken as they are. Options and
tile parameters are named arguments. `docs/kernels.md` lists the kernels."""
from __future__ import annotations

import ctypes
import pathlib
import sys
import tempfile
from types import SimpleNamespace
from typing import Any, Callable, Dict, Iterable, List, Mapping, Optional, Sequence, Tuple, Union

from ._arrays import (Array, Memory, TorchTools, count_of, element_type, empty, memory_of, size_of, torch_dtype, torch_tools)
from ._device import Device, device_of
from ._kernel import Kernel, load
from ._library import InputError
from ._report import report
from ._values import ADDRESS, SCALAR, launch_options, scalar_bits

_BITS = {"ui16": "bf16", "ui8": "f8E4M3FN"}  # what NumPy has no type for
_BYTES = ("b", "scales")  # inputs whose bytes are numbers


def describe(name: str = "") -> str:
    """A kernel's contract, arguments, options and tile parameters; without a name, a line for each kernel."""
    return report("run", ["kernel:" + name])[1]["description"]


def contract(name: str) -> Dict[str, Any]:
    """The same as data: `inputs` with their extents and types, `results`, `options` and `tiles`."""
    return report("run", ["kernel:" + name])[1]


def names() -> List[str]:
    """Of all kernels."""
    return [kernel["name"] for kernel in report("run", ["kernel:"])[1]["kernels"]]


class _View:
    """The memory of an array of the host, without its shape: NumPy's array interface."""

    def __init__(self, address: int, typestr: str, count: int, owner: Any):
        self.__array_interface__ = {"data": (address, False), "typestr": typestr, "shape": (count,), "version": 3}
        self.owner = owner


class _Input(SimpleNamespace):
    """An array as a kernel takes it: `dtype`, `shape`, `strides` in elements, `place`, and `flat`, all of its memory."""


def _span(shape: Tuple[int, ...], strides: Tuple[int, ...]) -> int:
    return 1 + sum((extent - 1) * stride for extent, stride in zip(shape, strides)) if count_of(shape) else 0


def _dense(shape: Tuple[int, ...]) -> Tuple[int, ...]:
    strides, stride = [], 1
    for extent in reversed(shape):
        strides.append(stride)
        stride *= max(extent, 1)
    return tuple(reversed(strides))


def _read(name: str, value: Any) -> _Input:
    """What an argument is. Raises InputError for what is no array."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor):
        shape, strides = tuple(value.shape), tuple(value.stride())
        value = value.resolve_neg().resolve_conj()
        flat = value.detach().as_strided((_span(shape, strides),), (1,))
        place = "host" if value.device.type == "cpu" else memory_of(flat, f"`{name}`").place
        return _Input(dtype=element_type(value.dtype), shape=shape, strides=strides, place=place, flat=flat)
    interface = getattr(value, "__array_interface__", None)
    if interface is not None and interface.get("strides"):
        item = int(interface["typestr"][2:])
        if any(stride % item for stride in interface["strides"]):
            raise InputError(f"`{name}` has strides of {interface['strides']} bytes, and elements of {item}: copy the array")
        shape, strides = tuple(interface["shape"]), tuple(stride // item for stride in interface["strides"])
        flat: Any = _View(interface["data"][0], interface["typestr"], _span(shape, strides), value)
        dtype, place = memory_of(flat, f"`{name}`").dtype, "host"
    else:
        memory: Optional[Memory] = memory_of(value, f"`{name}`")
        if memory is None:
            raise InputError(f"`{name}` is {value!r}, and an array is wanted")
        shape, flat, dtype, place = tuple(memory.shape), value, memory.dtype, memory.place
        strides = _dense(shape)
    return _Input(dtype=dtype if dtype == "ui8" and name in _BYTES else _BITS.get(dtype, dtype), shape=shape, strides=strides, place=place, flat=flat)


def _is_array(name: str, value: Any) -> bool:
    return name != "dtype" and not isinstance(value, (str, int, float, bool)) and value is not None


class Prepared:
    """A call of a library kernel for arrays of certain types and shapes, compiled: `prepared(x=x)` launches it.

    With a device its kernels are loaded there at once; the launches then may be captured in a CUDA graph."""

    def __init__(self, name: str, target: str, inputs: Dict[str, _Input], options: Mapping[str, Any],
                 device: Optional[Device] = None, tuned: bool = False):
        words = ["kernel:" + name, "--target", target, *(["--tuned"] if tuned else [])]
        for argument, array in inputs.items():
            words += ["--arg", f"{argument}={array.dtype}[{','.join(map(str, array.shape))}]"]
            if array.strides != _dense(array.shape):
                words += ["--strides", f"{argument}={','.join(map(str, array.strides))}"]
        for option, value in options.items():
            text = str(value).lower() if isinstance(value, bool) else str(value)
            words += ["--arg", f"{option}={element_type(value) if option == 'dtype' else text}"]
        with tempfile.TemporaryDirectory(prefix="heddle-") as folder:
            self.plan: Dict[str, Any] = report("compile", words + ["-o", folder])[1]
            self._kernels: List[Optional[Kernel]] = [
                load(str(pathlib.Path(folder) / step["package"])) if "package" in step else None
                for step in self.plan["steps"]]
        for kernel in self._kernels if device is not None else []:
            if kernel is not None:
                kernel.on(device)
        self.name, self.target = name, target
        self._gpu: Optional[Tuple[Device, List[Any], List[Any]]] = None
        self.tuned: str = self.plan.get("tuned", "")  # which result of tuning it uses, if that was asked for
        self._types = {argument: (array.dtype, array.shape, array.strides) for argument, array in inputs.items()}

    def __call__(self, **arrays: Any) -> SimpleNamespace:
        """Launches it; the results are new arrays, PyTorch's where an input is. Arrays of the host are ready at the return,
        those of a GPU in PyTorch's current stream."""
        inputs = {name: _read(name, value) for name, value in arrays.items()}
        given = {name: (array.dtype, array.shape, array.strides) for name, array in inputs.items()}
        if given != self._types:
            raise InputError(f"kernel `{self.name}` was prepared for {self._types}, and {given} are given",
                             ["prepare it for these, or use heddle.library.call"])
        return self._launch(inputs)

    def launch_on_gpu(self, tensors: Dict[str, Any]) -> Dict[str, Any]:
        """The launches for plain tensors of one GPU, of the prepared types, shapes and strides; the results by name."""
        tools = torch_tools()
        gpu = next(iter(tensors.values())).get_device()
        if self._gpu is None:
            self._gpu = self._for_gpu(gpu, tools)
        device, makes, steps = self._gpu
        addresses: Dict[str, int] = {name: tensor.data_ptr() for name, tensor in tensors.items()}
        made: Dict[str, Any] = {}
        for name, dtype, shape, place in makes:
            tensor = made[name] = tools.empty(shape, dtype=dtype, device=place)
            addresses[name] = tensor.data_ptr()
        stream = device.stream_over(tools.raw_stream(gpu))
        for kernel, loaded, grid, kinds, values in steps:
            if kernel is None:
                _fill(made[loaded], values)
                continue
            bits = tuple([value if type(value) is int else addresses[value] for value in values])
            if kernel._plan is not None and kernel._plan.on_values(stream.value or 0, loaded.value or 0, grid, bits):
                continue
            flat = [each for kind, value in zip(kinds, bits) for each in (kind, 0, value)]
            status = kernel._library.launch(stream, loaded, launch_options(grid, 0.0, False), kernel._pack_values(*flat), len(bits))
            if status:
                raise kernel._library.error(status)
        return {name: made[name] for name in self.plan["results"]}

    def _for_gpu(self, gpu: int, tools: TorchTools) -> Tuple[Device, List[Any], List[Any]]:
        """The device; of each array that is made its name, type, shape and place; of each step its kernel, this one's handle
        there, the grid, and kinds and values of the arguments: bits, or the names of arrays. Of a step that fills there is no
        kernel, but the array's name and the byte."""
        place = tools.device(f"cuda:{gpu}")
        makes = [(name, torch_dtype(array["type"]), tuple(array["shape"]), place)
                 for part in ("results", "temporaries") for name, array in self.plan[part].items()]
        steps: List[Any] = []
        device = device_of(f"{tools.gpu}:{gpu}")
        for step, kernel in zip(self.plan["steps"], self._kernels):
            if kernel is None:
                steps.append((None, step["fill"], None, None, step["byte"]))
                continue
            kinds = [ADDRESS if isinstance(value, str) else SCALAR for value in step["arguments"]]
            values = [value if isinstance(value, str) else scalar_bits(kernel.name, argument, value)
                      for argument, value in zip(kernel.arguments, step["arguments"])]
            steps.append((kernel, kernel.on_gpu(gpu, tools)[1], tuple(step["grid"]), kinds, values))
        return device, makes, steps

    def _launch(self, inputs: Dict[str, _Input]) -> SimpleNamespace:
        like = next(iter(inputs.values())).flat
        buffers: Dict[str, Any] = {name: array.flat for name, array in inputs.items()}
        for part in ("results", "temporaries"):
            for name, array in self.plan[part].items():
                buffers[name] = _make(like, array["type"], array["shape"])
        for step, kernel in zip(self.plan["steps"], self._kernels):
            if kernel is None:
                _fill(buffers[step["fill"]], step["byte"])
            else:
                kernel[step["grid"]](*[buffers[value] if isinstance(value, str) else value for value in step["arguments"]])
        return SimpleNamespace(**{name: buffers[name] for name in self.plan["results"]})


def _make(like: Any, dtype: str, shape: List[int]) -> Any:
    torch = sys.modules.get("torch")
    if torch is None or not isinstance(like, torch.Tensor):
        return empty(shape, dtype)
    return torch.empty(shape, dtype=torch_dtype(dtype), device=like.device)


def _fill(buffer: Any, byte: int) -> None:
    if isinstance(buffer, Array):
        memory = memory_of(buffer)
        ctypes.memset(memory.address, byte, count_of(memory.shape) * size_of(memory.dtype))
    else:
        buffer.view(sys.modules["torch"].uint8).fill_(byte)


def prepare(name: str, target: Optional[str] = None, tuned: bool = False, **arguments: Any) -> Prepared:
    """Compiles a call for these arrays, which are not read, and options. `target` is a chip's name, or that of the device
    on which the arrays are. NumPy's uint16 stands for bf16, its uint8 for f8E4M3FN; `heddle.Array` says its own type.
    `tuned` takes the tile parameters that `tune` found, where there are any; `Prepared.tuned` says which."""
    inputs = {key: _read(key, value) for key, value in arguments.items() if _is_array(key, value)}
    options = {key: value for key, value in arguments.items() if key not in inputs}
    if not inputs:
        raise InputError(f"kernel `{name}`: no array is given", [describe(name)])
    places = {array.place for array in inputs.values()}
    if len(places) > 1:
        raise InputError(f"kernel `{name}`: arrays are on {' and '.join(sorted(places))}", ["move them to one device"])
    refuse_capture(f"kernel `{name}`", places)
    device = None if target else device_of(places.pop())
    return Prepared(name, target or device.target, inputs, options, device, tuned)  # type: ignore[union-attr]


def refuse_capture(what: str, places: Iterable[str]) -> None:
    """Raises InputError while PyTorch captures a graph: compiling and loading have no place in one."""
    torch = sys.modules.get("torch")
    if torch is not None and set(places) != {"host"} and torch.cuda.is_current_stream_capturing():
        raise InputError(f"{what} is not compiled yet for these arrays, and a graph is being captured",
                         ["call it once with arrays of these types, shapes and strides before the capture"])


_prepared: Dict[Any, Prepared] = {}
_prepared_on_gpus: Dict[Any, Prepared] = {}  # the same, by _quick_key


def call(name: str, tuned: bool = False, **arguments: Any) -> SimpleNamespace:
    """The results of a kernel, by name. It is compiled at the first call for its types, shapes, strides and options, and
    kept as long as the process. `tuned` is that of `prepare`."""
    return SimpleNamespace(**call_of(name, tuned, arguments))


def call_of(name: str, tuned: bool, arguments: Mapping[str, Any]) -> Dict[str, Any]:
    """`call`, with the arguments and the results as dictionaries."""
    quick = _quick_key(name, tuned, arguments)
    prepared = None if quick is None else _prepared_on_gpus.get(quick[0])
    if prepared is not None:
        return prepared.launch_on_gpu(quick[1])  # type: ignore[index]
    key = (name, tuned) + tuple(sorted((key, _key_of(key, value)) for key, value in arguments.items()))
    prepared = _prepared.get(key)
    if prepared is None:
        prepared = _prepared[key] = prepare(name, tuned=tuned, **arguments)
    if quick is not None:
        _prepared_on_gpus[quick[0]] = prepared
    return vars(prepared(**{key: value for key, value in arguments.items() if _is_array(key, value)}))


def _quick_key(name: str, tuned: bool, arguments: Mapping[str, Any]) -> Optional[Tuple[Any, Dict[str, Any]]]:
    """A key that takes little time to make, and the tensors, where all arrays are plain tensors of one GPU."""
    tools = torch_tools()
    if tools is None:
        return None
    key: List[Any] = [name, tuned]
    tensors: Dict[str, Any] = {}
    gpu = None
    for argument, value in arguments.items():
        if tools.is_plain(value):
            index = value.get_device()
            if gpu is not None and gpu != index:
                return None
            gpu = index
            tensors[argument] = value
            key += argument, value.dtype, value.shape, value.stride()
        elif isinstance(value, (str, int, tools.dtype)):
            key += argument, type(value), value
        else:
            return None
    return (tuple(key + [gpu]), tensors) if tensors else None


def _key_of(name: str, value: Any) -> str:
    if not _is_array(name, value):
        return str(value)
    array = _read(name, value)
    return f"{array.dtype}{array.shape}{array.strides}{array.place}"


Shape = Union[str, Mapping[str, int]]


def tune(name: str, shapes: Sequence[Shape], device: str = "host", *, elements: Optional[str] = None,
         budget: Optional[float] = None, margin: Optional[float] = None, seed: int = 1, cold: bool = False,
         force: bool = False, progress: Optional[Callable[[int, int], Any]] = None, **options: Any) -> List[Dict[str, Any]]:
    """Searches the tile parameters that make a kernel fastest, and keeps them for `tuned=True` (`heddle tune`). A shape is
    `{"M": 64, "K": 512}` or `"M=64,K=512"`; `budget` is in seconds, of all shapes; `margin` in percent. The result has a
    dictionary for each shape: `configuration`, `microseconds`, `defaultMicroseconds`, `gain`, `candidates`, ... Everything
    runs in this process: a candidate that ends it is known only to the command."""
    words = ["kernel:" + name, "--device", device, "--seed", str(seed)]
    for shape in shapes:
        words += ["--shape", shape if isinstance(shape, str) else ",".join(f"{key}={value}" for key, value in shape.items())]
    for option, value in (("elements", elements), ("budget", budget), ("margin", margin)):
        words += [f"--{option}", str(value)] if value is not None else []
    words += ["--cold"] * cold + ["--force"] * force
    for option, value in options.items():
        text = str(value).lower() if isinstance(value, bool) else str(value)
        words += ["--arg", f"{option}={element_type(value) if option == 'dtype' else text}"]
    return report("tune", words, progress)[1]["shapes"]


def tuned() -> List[Dict[str, Any]]:
    """What the tuning database has, and what is shipped with Heddle (`heddle tune --list`)."""
    return report("tune", ["--list"])[1]["results"]


__all__ = ["Prepared", "call", "contract", "describe", "names", "prepare", "tune", "tuned"]
