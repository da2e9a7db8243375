# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Triton's driver interface: launches on Heddle's devices. Triton scans this module for subclasses of DriverBase and wants
exactly one. PyTorch is not imported here."""
from __future__ import annotations

import contextlib
import ctypes
import os
import time
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

from triton.backends.compiler import GPUTarget
from triton.backends.driver import DriverBase

from ... import _native
from ..._arrays import begins_inside, torch_tools
from ..._device import device_of, print_to_stdout
from ..._kernel import load
from ..._library import InputError
from ..._values import ADDRESS, SCALAR, finish, launch_options, quick_bits
from .. import _checking


class KernelError(InputError, RuntimeError):
    """What a kernel reports of a launch: a failed assertion, an access out of bounds. Triton's own drivers raise RuntimeError."""


def _kernel_error(problem: InputError) -> KernelError:
    return problem if isinstance(problem, KernelError) else KernelError(problem.message, problem.notes)


@contextlib.contextmanager
def _kernel_errors() -> Iterator[None]:
    try:
        yield
    except InputError as problem:
        raise _kernel_error(problem) from None


class _Range(NamedTuple):
    """Memory of the host that a tensor may use: all of its storage."""
    start: int
    end: int


def _storage(value: Any) -> _Range:
    storage = getattr(value, "untyped_storage", None)
    if storage is not None:
        whole = storage()
        return _Range(whole.data_ptr(), whole.data_ptr() + whole.nbytes())
    memory = getattr(value, "_memory", None)
    if memory is not None:
        return _Range(memory.address, memory.address + memory.nbytes)
    base = getattr(value, "base", None)  # of triton.testing's and Triton's wrapped tensors
    if base is not None and base is not value:
        return _storage(base)
    raise InputError(f"{value!r} does not say how much memory it has", [
        "pass a tensor of PyTorch or a heddle.triton.Tensor: for a simulated device memory is copied"])


def _begins_storage(value: Any, storage: _Range) -> bool:
    """Whether no memory of the tensor's storage is known to precede its pointer."""
    if _address(value) != storage.start:
        return False  # a view of PyTorch
    memory = getattr(value, "_memory", None)
    return memory is None or not begins_inside(value.array, memory)


def _joined(ranges: Sequence[_Range]) -> List[_Range]:
    """Those that overlap as one: two arguments may be views of one storage."""
    joined: List[_Range] = []
    for each in sorted(set(ranges)):
        if joined and each.start < joined[-1].end:
            joined[-1] = _Range(joined[-1].start, max(joined[-1].end, each.end))
        else:
            joined.append(each)
    return joined


def _flat(signature: Sequence[Any], arguments: Sequence[Any], out: List[Any], has_layouts: bool) -> List[Any]:
    """The arguments that a kernel has: without constants, tuples and descriptors in pieces. Of Gluon's descriptors the launch
    makes tensor maps (`has_layouts`)."""
    for kind, value in zip(signature, arguments):
        if isinstance(kind, tuple):
            _flat(kind, value, out, has_layouts)
        elif kind == "constexpr":
            continue
        elif kind.startswith("tensordesc") and has_layouts:
            if getattr(value, "padding", "zero") == "nan" or getattr(value, "round_f32_to_tf32", False):
                raise InputError("a tensor descriptor with padding=\"nan\" or round_f32_to_tf32=True: Heddle's tensor maps give zeros "
                                 "outside of the tensor, and elements as they are", ["leave both out"])
            out += [value.base, *value.shape, *value.strides]
        elif kind.startswith("tensordesc"):
            out += [value.base, *value.shape, *value.strides, getattr(value, "padding", "zero") == "nan"]
            if hasattr(value, "round_f32_to_tf32"):
                out.append(value.round_f32_to_tf32)
            out += [*value.shape, *value.strides]
        else:
            out.append(value)
    return out


def _address(value: Any) -> int:
    if value is None:
        return 0
    return value if isinstance(value, int) else value.data_ptr()


def _scalar(kernel: str, argument: Any, bounds: Tuple[int, int, int], value: Any) -> int:
    if argument.type == "i1" and isinstance(value, int):
        value &= 1  # as Triton's own launchers: annotated as tl.uint1, any integer may come
    return quick_bits(kernel, argument, bounds, value)


def _gpu_address(value: Any, number: int) -> int:
    """Of a tensor on the GPU of that number."""
    if value is None:
        return 0
    if isinstance(value, int):
        return value
    if not getattr(value, "is_cuda", True):
        raise InputError(f"a tensor on {value.device} is an argument of a launch on GPU {number}: pointer argument cannot be "
                         "accessed (cpu tensor?)", ["move it there by `.cuda()`"])
    if hasattr(value, "get_device") and value.get_device() != number:
        raise InputError(f"a tensor on {value.device} is an argument of a launch on GPU {number}",
                         ['`heddle.triton.enable("cuda")` follows PyTorch\'s current device'])
    return value.data_ptr()


class HeddleLauncher:
    """Triton makes one for a compiled kernel, and calls it for each launch with all bound arguments."""

    def __init__(self, source: Any, metadata: Any):
        self.signature = tuple(source.signature.values())
        # Which bound arguments the kernel has, where each is one value of it.
        self.kept = None if any(isinstance(kind, tuple) or kind.startswith("tensordesc") for kind in self.signature) else [
            index for index, kind in enumerate(self.signature) if kind != "constexpr"]
        self.cooperative = bool(metadata.launch_cooperative_grid)
        self.warps = metadata.num_warps
        self.text = metadata.ttir
        self.prints = "tt.print " in self.text
        self.has_layouts = "ttg.target" in self.text
        self.asserts = "tt.assert " in self.text
        # Whether a launch may take the quick way, of the module heddle_launch, once the general one has bound it.
        self.quick = self.kept is not None and not self.prints and not self.asserts

    def __call__(self, x: int, y: int, z: int, stream: Any, kernel: Any, packed: Any, launch_metadata: Any, enter_hook: Any,
                 exit_hook: Any, *arguments: Any) -> None:
        if enter_hook is not None and getattr(enter_hook, "calls", True):
            enter_hook(launch_metadata)
        if x * y * z > 0:
            plan = kernel.plan
            if self.quick and plan is not None and _checking.state is None:
                try:
                    if plan.on_addresses(stream, x, y, z, arguments):
                        if exit_hook is not None and getattr(exit_hook, "calls", True):
                            exit_hook(launch_metadata)
                        return
                except InputError as problem:
                    raise _kernel_error(problem) from None
            values = _flat(self.signature, arguments, [], self.has_layouts) if self.kept is None else [arguments[i] for i in self.kept]
            if kernel.number is not None and not self.prints and _checking.state is None:
                self._launch_on_gpu(kernel, (x, y, z), stream, values)
            else:
                self.launch(kernel, (x, y, z), stream, values)
        if exit_hook is not None:
            exit_hook(launch_metadata)

    def launch(self, loaded: "_Loaded", grid: Tuple[int, int, int], raw_stream: int, values: List[Any]) -> None:
        kernel, device = loaded.kernel, loaded.device
        if len(values) != len(kernel.arguments):
            raise _wrong_count(kernel, values)
        self._check(loaded, grid, values)
        if self.prints:
            print_to_stdout()  # as Triton's own
        if device.name.startswith("sim:"):
            return self._launch_copied(loaded, grid, values)
        if device.name.startswith("host"):
            stream = device.default_stream()
            call = self._call(loaded, stream, grid, values, _address)
            with _kernel_errors():
                finish(stream, kernel._library.launch, *call)
            if self.quick:
                _native.bind_host(loaded.plan, device._streams, call[1])
                self._keep(loaded)
            return
        self._launch_on_gpu(loaded, grid, raw_stream, values)

    def _call(self, loaded: "_Loaded", stream: Any, grid: Tuple[int, int, int], values: List[Any], address: Any) -> Tuple:
        """The parameters of heddle_launch."""
        kernel, flat = loaded.kernel, []
        for argument, bounds, value in zip(kernel.arguments, kernel._ranges, values):
            if bounds is None:
                flat += ADDRESS, 0, address(value)
            else:
                flat += SCALAR, 0, _scalar(kernel.name, argument, bounds, value)
        return (stream, kernel.on(loaded.device), launch_options(grid, 0.0, self.cooperative), kernel._pack_values(*flat),
                len(values))

    def _launch_copied(self, loaded: "_Loaded", grid: Tuple[int, int, int], values: List[Any]) -> None:
        """The storages of all tensors to the device, and back after the launch."""
        kernel, device = loaded.kernel, loaded.device
        lib, stream = kernel._library, device.default_stream()
        tensors = [value for argument, value in zip(kernel.arguments, values)
                   if argument.pointer and value is not None and not (isinstance(value, int) and value == 0)]
        pieces = []  # the range, its buffer, and where in it the range begins: at the same place of a line as on the host
        for each in _joined([_storage(value) for value in tensors]):
            shift = each.start % 64
            size = -(-(each.end - each.start + shift) // 4) * 4  # atomics of small types use the whole word around them
            pieces.append((each, device.buffer(size, kernel.name), shift))

        def address(value: Any) -> int:
            host = _address(value)
            if host == 0:
                return 0
            inside = [piece for piece in pieces if piece[0].start <= host < piece[0].end]
            for each, buffer, shift in inside or [piece for piece in pieces if piece[0].end == host]:
                return buffer.address + shift + host - each.start
            raise InputError(f"kernel `{kernel.name}`: address {host:#x} lies in no tensor")

        waits = True
        try:
            for each, buffer, shift in pieces:
                lib.check(lib.copy_to_device(stream, buffer._handle, shift, each.start, each.end - each.start))
            lib.check(lib.launch(*self._call(loaded, stream, grid, values, address)))
            for each, buffer, shift in pieces:
                lib.check(lib.copy_to_host(stream, each.start, buffer._handle, shift, each.end - each.start))
            status = lib.stream_synchronize(stream)
            waits = False
            with _kernel_errors():
                lib.check(status)
        finally:
            if waits:  # an error or Ctrl-C: the copies use memory of the tensors
                lib.stream_synchronize(stream)
            for _, buffer, _ in pieces:
                buffer.close()

    def _launch_on_gpu(self, loaded: "_Loaded", grid: Tuple[int, int, int], raw_stream: int, values: List[Any]) -> None:
        """A launch into PyTorch's stream. It takes microseconds, so that nothing is asked for here that most launches do not need."""
        lib, number = loaded.kernel._library, loaded.number
        if len(values) != len(loaded.kernel.arguments):
            raise _wrong_count(loaded.kernel, values)
        stream = loaded.device.stream_over(raw_stream)
        status = lib.launch(*self._call(loaded, stream, grid, values, lambda value: _gpu_address(value, number)))
        if not status and self.asserts:  # PyTorch waits for its streams without asking for errors
            status = lib.stream_synchronize(stream)
        if status:
            with _kernel_errors():
                raise lib.error(status)
        if self.quick:
            _native.bind_gpu(loaded.plan, loaded.device.name.partition(":")[0], number, raw_stream, stream, loaded.kernel.on(loaded.device))
            self._keep(loaded)

    def _keep(self, loaded: "_Loaded") -> None:
        torch_tools()  # tells the module of tensors
        if loaded.plan is not None:
            loaded.plan.keep(loaded.kind, loaded.number or 0, self.cooperative, tuple(self.kept))  # type: ignore[arg-type]

    def _check(self, loaded: "_Loaded", grid: Tuple[int, int, int], values: List[Any]) -> None:
        state = _checking.state
        if state is None:
            return
        from ..._report import check
        if loaded.number is not None:
            raise InputError("launches on a GPU cannot be checked: the check needs what the tensors hold",
                             ["check the kernel on the host: `with heddle.triton.device(\"host\"), heddle.triton.checking()`, and "
                              "tensors of the CPU"])
        target, options, reports = state
        arguments, buffers = _contents(loaded.kernel.arguments, values)
        own = loaded.kernel.target
        chip = target or (own if own.startswith("gfx") else "gfx950")
        buffers.update(options.get("buffers") or {})
        reports.append(check(self.text, chip, grid, arguments, warps=self.warps, **{**options, "buffers": buffers}))


def _contents(arguments: Sequence[Any], values: List[Any]) -> Tuple[Dict[str, Any], Dict[str, Any]]:
    """The arguments of a check with copies of their memory: arrays, and buffers for storages of which several are views."""
    from ..._arrays import Array, size_of
    pointers = {index: _storage(value) for index, (argument, value) in enumerate(zip(arguments, values))
                if argument.pointer and value is not None}
    given: Dict[str, Any] = {str(index): value for index, value in enumerate(values)}
    buffers: Dict[str, Any] = {}
    for whole in _joined(list(pointers.values())):
        views = [index for index, each in pointers.items() if whole.start <= each.start < whole.end]
        if len(views) == 1:
            index, kind = views[0], arguments[views[0]].type
            start = _address(values[index])
            count = (whole.end - start) // size_of(kind)
            given[str(index)] = Array(kind, count, ctypes.string_at(start, count * size_of(kind)))
            continue
        shift = whole.start % 64  # at the same place of a line as on the host
        name = f"storage{len(buffers)}"
        data = bytes(shift) + ctypes.string_at(whole.start, whole.end - whole.start)
        buffers[name] = Array("ui8", len(data), data)
        for index in views:
            given[str(index)] = f"addr:{name}+{_address(values[index]) - whole.start + shift}"
    return given, buffers


class _Loaded:
    """What Triton calls a function: a kernel of a device."""

    def __init__(self, kernel: Any, device: Any):
        self.kernel, self.device = kernel, device
        kind, _, number = device.name.partition(":")
        self.number = int(number or 0) if kind in ("cuda", "hip") else None  # PyTorch's, of a GPU
        self.kind = _native.KINDS.get(kind, 0)
        self.plan = kernel._plan if self.kind else None


def _current(name: str) -> str:
    """The device that a name stands for now: `cuda` is PyTorch's current one."""
    if name != "cuda":
        return name
    import torch
    return f"cuda:{torch.cuda.current_device()}"


def _wrong_count(kernel: Any, values: Sequence[Any]) -> InputError:
    return InputError(f"kernel `{kernel.name}` takes {len(kernel.arguments)} arguments and got {len(values)}")


def _place(name: str, device: Any) -> str:
    """The name of the device that Triton's interface calls so: by what get_current_device returned, or by a number."""
    if name != "cuda":
        return name
    index = getattr(device, "index", device)  # of a torch.device
    if isinstance(index, int):
        return f"cuda:{index}"
    return _current(device) if isinstance(device, str) else _current(name)


def _cuda_properties(place: str) -> Dict[str, int]:
    import torch
    found = torch.cuda.get_device_properties(torch.device(place))
    return {"max_shared_mem": found.shared_memory_per_block_optin, "multiprocessor_count": found.multi_processor_count,
            "warpSize": found.warp_size, "max_num_regs": found.regs_per_multiprocessor,
            "sm_clock_rate": getattr(found, "clock_rate", 0), "mem_clock_rate": getattr(found, "memory_clock_rate", 0),
            "mem_bus_width": getattr(found, "memory_bus_width", 0)}


class _Utils:
    """Triton's interface to modules and properties of a device."""

    def __init__(self, device_name: str):
        self._name = device_name

    def device(self) -> Any:
        """The one that launches go to now."""
        return device_of(_current(self._name))

    def get_device_properties(self, device: Any) -> Dict[str, int]:
        if self._name.startswith("cuda"):
            return _cuda_properties(_place(self._name, device))
        return {"max_shared_mem": 1 << 30, "multiprocessor_count": os.cpu_count() or 1, "warpSize": 1, "max_num_regs": 1 << 16}

    def load_binary(self, name: str, package: bytes, shared: int, device: Any) -> Tuple[Any, Any, int, int, int]:
        loaded = _Loaded(load(package), device_of(_place(self._name, device)))
        return loaded, loaded, 0, 0, 1 << 20  # module, function, registers, spills, most threads

    def unload_module(self, module: Any) -> None:
        pass  # goes with its object

    def set_printf_fifo_size(self, size: int) -> None:
        pass


class _Event:
    """As much of torch.cuda.Event as triton.testing.do_bench uses: launches of the host and of simulated devices are over
    when they return."""

    def __init__(self, enable_timing: bool = True):
        self.time = 0.0

    def record(self) -> None:
        self.time = time.perf_counter()

    def elapsed_time(self, end: "_Event") -> float:
        return (end.time - self.time) * 1e3


class _DeviceInterface:
    Event = _Event

    @staticmethod
    def synchronize() -> None:
        pass


class HeddleDriver(DriverBase):
    def __init__(self, device: Optional[str] = None):
        super().__init__()
        self.name = device or os.environ.get("HEDDLE_TRITON_DEVICE", "host")
        # Triton keeps compiled kernels by this for good. Other drivers say 0, 1, ...; of the host PyTorch says `cpu`.
        self.device = "cpu" if self.name == "host" else self.name
        self.utils = _Utils(self.name)
        self.launcher_cls = HeddleLauncher
        self._cuda = self.name.startswith(("cuda", "hip"))  # PyTorch calls both so
        self._numbers: Dict[Any, int] = {}  # of Triton's names of devices
        if self._cuda:
            import torch  # noqa: F401: tensors of a GPU are PyTorch's

    @classmethod
    def is_active(cls) -> bool:
        # Two active drivers are an error for every user of Triton: only on request.
        return os.environ.get("TRITON_DEFAULT_BACKEND") == "heddle"

    def get_current_target(self) -> GPUTarget:
        chip = self.utils.device().target
        return GPUTarget("heddle", chip, 64 if chip.startswith("gfx") else 32 if chip.startswith("sm_") else 1)

    def get_current_device(self) -> str:
        return _current(self.device)

    def set_current_device(self, device: Any) -> None:
        if self.name == "cuda":
            import torch
            torch.cuda.set_device(torch.device(_place(self.name, device)))

    def get_current_stream(self, device: Any = None) -> int:
        if not self._cuda:
            return 0
        number = self._numbers.get(device)
        if number is None:
            place = _place(self.name, self.get_current_device() if device is None else device)
            number = int(place.partition(":")[2] or 0)
            if device is not None:
                self._numbers[device] = number
        return torch_tools().raw_stream(number)

    def map_python_to_cpp_type(self, ty: str) -> str:
        return "uint64_t" if ty.startswith("*") else {"fp32": "float", "fp64": "double"}.get(ty, "int64_t")

    def get_active_torch_device(self) -> Any:
        import torch
        return torch.device(_current(self.name).replace("hip", "cuda") if self._cuda else "cpu")

    def get_device_interface(self) -> Any:
        if self._cuda:
            import torch
            return torch.cuda
        return _DeviceInterface

    def get_benchmarker(self) -> Any:
        from triton.testing import do_bench
        if not self._cuda:
            return do_bench

        def on_own_device(*args: Any, **options: Any) -> Any:  # events are those of PyTorch's current device
            import torch
            with torch.cuda.device(self.get_active_torch_device()):
                return do_bench(*args, **options)
        return on_own_device

    def get_empty_cache_for_benchmark(self) -> Any:
        if self._cuda:  # more than the L2 cache
            import torch
            return torch.empty(1 << 28, dtype=torch.int8, device=self.get_active_torch_device())
        return bytearray(1 << 20)

    def clear_cache(self, cache: Any) -> None:
        if self._cuda:
            cache.zero_()
        else:
            cache[:] = bytes(len(cache))
