# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Collectives between processes, each with one device, of one host or of several: all-reduce, all-gather, reduce-scatter,
all-to-all and broadcast on arrays of NumPy, PyTorch and Heddle.

    from heddle.collectives import Communicator
    with Communicator.env() as group:              # as torchrun or srun has started this process
        total = group.all_reduce(numpy.ones(1000, "f4"))

Every rank makes the same calls in the same order."""
from __future__ import annotations

import contextlib
import ctypes
import json
import os
import socket
import sys
import threading
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple, Union

from ._arrays import Array, Memory, count_of, element_type, memory_of, size_of, torch_stream
from ._device import Device
from ._library import (AllGatherFunction, CollectivePlan, CollectiveRequest, CommunicatorOptions, Error, Handle, InputError,
                       c_text, find_built, library, unsigned)
from ._windows import Window

_KINDS = {"all_reduce": 0, "all_gather": 1, "reduce_scatter": 2, "all_to_all": 3, "broadcast": 4}
_REDUCTIONS = {"sum": 0, "product": 1, "minimum": 2, "maximum": 3, "and": 4, "or": 5}
_OTHER_NAMES = {"prod": "product", "min": "minimum", "max": "maximum"}
_LOCAL_RANKS = ("LOCAL_RANK", "SLURM_LOCALID", "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID")
_PACKETS = (None, "ll", "lamport")

AllGather = Callable[[bytes, float], Sequence[bytes]]


class Plan(NamedTuple):
    """What a collective would run: equal on all ranks."""
    algorithm: str
    blocks: int  # program instances on each rank
    packets: Optional[str]  # `ll`, `lamport`, or None
    memory_bytes: int  # of this rank that preparing takes, unless a collective before shares it


def _local_rank(rank: int) -> int:
    for name in _LOCAL_RANKS:
        text = os.environ.get(name, "")
        if text.isdigit():
            return int(text)
    return max(rank, 0)


def _open(device: Union[None, str, Device], rank: int) -> Device:
    """`host` and `cuda` stand for the local rank's device."""
    if isinstance(device, Device):
        return device
    name = str(device or "host")
    return Device(name if ":" in name else f"{name}:{_local_rank(rank)}")


def _options(deadline: float, setup: float, prepare: float, hosts: int, transport: Optional[str], host_address: Optional[str],
             host_model: Optional[str]) -> CommunicatorOptions:
    def text(value: Optional[str], what: str) -> Optional[bytes]:
        return None if value is None else c_text(value, what)
    return CommunicatorOptions(
        ctypes.sizeof(CommunicatorOptions), float(deadline), float(setup), float(prepare), 0, 0, text(transport, "the transport"),
        text(host_address, "`host_address`"), text(host_model, "`host_model`"), min(unsigned(hosts, "`hosts`"), (1 << 31) - 1))


def _address_towards(name: str) -> Optional[str]:
    """Of the interface by which this host reaches another one; None where that is not known."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(name, 9, type=socket.SOCK_DGRAM)[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.connect(address)  # sends nothing
            return probe.getsockname()[0]
    except OSError:
        return None


def _reduction(op: Any) -> str:
    """`sum`, or torch.distributed.ReduceOp.SUM."""
    name = str(op).rpartition(".")[2].lower()
    name = _OTHER_NAMES.get(name, name)
    if name not in _REDUCTIONS:
        raise InputError(f"there is no reduction {op!r}", ["the reductions are " + ", ".join(_REDUCTIONS)])
    return name


class Communicator:
    """This process's rank of a group. `deadline` is how long the waits of one call may last together, `setup` how long
    making the group may wait for other ranks, `prepare` how long a call of a new size may (seconds).

    Ranks may be on several hosts, which are found by themselves. With `hosts` above 0 the ranks of one machine play so many,
    which share no memory. `transport` is what carries data between hosts (`loopback`, `tcp`, `mpi`, `nccl`), `host_address`
    the number of an interface of this host, and `host_model` four numbers by which plans are chosen, else measured
    (docs/processes.md). All but the address are the same on all ranks.

    Calls on arrays of the host return when the result is there. Those on tensors of a GPU put the work into PyTorch's
    current stream and return; they can be captured in CUDA graphs. When a rank dies, fails or calls something else, the
    others get a heddle.Error that names it, and the group has failed for good."""

    def __init__(self, handle: Handle, device: Device):
        self._handle, self._device = handle, device
        self._collectives: Dict[tuple, Handle] = {}
        self._plans: Dict[tuple, Plan] = {}
        self._arrays: Dict[str, list] = {}  # of modules
        self._windows: List[Window] = []
        self._lock = threading.Lock()
        described = self.info
        self.rank: int = described["rank"]
        self.size: int = described["size"]
        self.hosts: int = described.get("hosts", 1)

    # ---- Making one: collective, every process does it ----

    @classmethod
    def connect(cls, address: str, rank: int = -1, size: int = 0, *, device: Union[None, str, Device] = None,
                secret: Optional[str] = None, deadline: float = 30, setup: float = 30, prepare: float = 0, hosts: int = 0,
                transport: Optional[str] = None, host_address: Optional[str] = None,
                host_model: Optional[str] = None) -> "Communicator":
        """Over an address: `unix:PATH`, `unix:@NAME`, `tcp:ADDRESS:PORT`, or `env`. `device` is a name; `cuda` and `host`
        stand for the one of the local rank."""
        lib, own = library(), _open(device, rank)
        options = _options(deadline, setup, prepare, hosts, transport, host_address, host_model)
        handle = lib.new(lib.communicator_connect, own._handle, c_text(address, "the address"), rank, size,
                         None if secret is None else c_text(secret, "the secret"), ctypes.byref(options))
        return cls(handle, own)

    @classmethod
    def env(cls, *, device: Union[None, str, Device] = None, **options: Any) -> "Communicator":
        """As the launcher says: torchrun, Slurm. `options` are those of `connect`."""
        return cls.connect("env", device=device, **options)

    @classmethod
    def from_callback(cls, rank: int, size: int, all_gather: AllGather, *, device: Union[None, str, Device] = None,
                      deadline: float = 30, setup: float = 30, prepare: float = 0, hosts: int = 0,
                      transport: Optional[str] = None, host_address: Optional[str] = None,
                      host_model: Optional[str] = None) -> "Communicator":
        """`all_gather(mine, seconds)` gives the bytes of every rank, by rank, all as long as `mine`. It is called while the
        communicator is made only."""
        lib, own = library(), _open(device, rank)
        options = _options(deadline, setup, prepare, hosts, transport, host_address, host_model)
        raised: List[BaseException] = []

        def gather(mine: int, everything: int, nbytes: int, seconds: float, _user: Any) -> int:
            try:
                texts = list(all_gather(ctypes.string_at(mine, nbytes), seconds))
                lengths = [len(text) for text in texts]
                if lengths != [nbytes] * size:
                    raise InputError(f"`all_gather` of {nbytes} bytes gave texts of {lengths} bytes for {size} ranks")
                ctypes.memmove(everything, b"".join(bytes(text) for text in texts), nbytes * size)
                return 0
            except BaseException as problem:  # no exception passes through C
                raised.append(problem)
                return 1

        callback = AllGatherFunction(gather)
        try:
            handle = lib.new(lib.communicator_create, own._handle, rank, size, ctypes.cast(callback, ctypes.c_void_p), None,
                             ctypes.byref(options))
        except Exception as problem:
            if raised:
                raise raised[0] from problem
            raise
        return cls(handle, own)

    @classmethod
    def from_torch(cls, group: Any = None, *, device: Union[None, str, Device] = None, **options: Any) -> "Communicator":
        """The ranks of a group of torch.distributed. `device`: the current GPU where PyTorch has one, else the host.
        `options` are those of `from_callback`; `host_address` is that of the way to MASTER_ADDR unless it is given."""
        import torch
        import torch.distributed as dist
        rank, size = dist.get_rank(group), dist.get_world_size(group)
        if device is None:
            device = f"cuda:{torch.cuda.current_device()}" if torch.cuda.is_available() else f"host:{rank}"

        def gather(mine: bytes, _seconds: float) -> List[bytes]:
            texts: List[Any] = [None] * size
            dist.all_gather_object(texts, mine, group=group)
            return texts

        master = os.environ.get("MASTER_ADDR")
        if master and options.get("host_address") is None and not os.environ.get("HEDDLE_HOST_ADDRESS"):
            options["host_address"] = _address_towards(master)
        return cls.from_callback(rank, size, gather, device=device, **options)

    @classmethod
    def from_mpi(cls, comm: Any = None, *, device: Union[None, str, Device] = None, **options: Any) -> "Communicator":
        """The ranks of a communicator of mpi4py; COMM_WORLD when it is None. `options` are those of `from_callback`."""
        if comm is None:
            from mpi4py import MPI
            comm = MPI.COMM_WORLD
        return cls.from_callback(comm.Get_rank(), comm.Get_size(), lambda mine, _seconds: comm.allgather(mine),
                                 device=device, **options)

    # ---- Collectives ----

    def all_reduce(self, x: Any, op: Any = "sum", *, out: Any = None, dtype: Any = None, algorithm: Optional[str] = None,
                   registered: bool = False) -> Any:
        """The reduction of all ranks' arrays, on every rank: sum, product, minimum, maximum, of integers also and, or.
        `out` may be `x` itself; without it the result is a new array. `dtype` names the elements where the array's
        library lacks the type: `bf16` of NumPy's uint16. `registered`, the same on all ranks, says that `x` and `out` are in
        windows, of which every rank has the same for each."""
        return self._call("all_reduce", x, out, lambda shape: shape, _reduction(op),
                          dtype=dtype, algorithm=algorithm, registered=registered)

    def all_gather(self, x: Any, *, out: Any = None, dtype: Any = None, algorithm: Optional[str] = None,
                   registered: bool = False) -> Any:
        """All ranks' arrays one after another, along the first dimension."""
        def shape_of(shape: Tuple[int, ...]) -> Tuple[int, ...]:
            return (self.size * shape[0], *shape[1:]) if shape else (self.size,)
        return self._call("all_gather", x, out, shape_of, dtype=dtype, algorithm=algorithm, registered=registered)

    def reduce_scatter(self, x: Any, op: Any = "sum", *, out: Any = None, dtype: Any = None,
                       algorithm: Optional[str] = None, registered: bool = False) -> Any:
        """The array is cut into as many parts as there are ranks, along the first dimension; rank r gets the reduction of
        all parts r."""
        def shape_of(shape: Tuple[int, ...]) -> Tuple[int, ...]:
            return (self._part(shape, "reduce_scatter"), *shape[1:])
        return self._call("reduce_scatter", x, out, shape_of, _reduction(op),
                          dtype=dtype, algorithm=algorithm, registered=registered)

    def all_to_all(self, x: Any, *, out: Any = None, dtype: Any = None, algorithm: Optional[str] = None,
                   registered: bool = False) -> Any:
        """The array is cut into as many parts as there are ranks, along the first dimension; part s of rank r's result is
        part r of rank s's array. Not in place."""
        def shape_of(shape: Tuple[int, ...]) -> Tuple[int, ...]:
            self._part(shape, "all_to_all")
            return shape
        return self._call("all_to_all", x, out, shape_of, dtype=dtype, algorithm=algorithm, registered=registered)

    def broadcast(self, x: Any, root: int = 0, *, out: Any = None, dtype: Any = None, algorithm: Optional[str] = None,
                  registered: bool = False) -> Any:
        """Rank `root`'s array, on every rank; `out=x` receives in place."""
        return self._call("broadcast", x, out, lambda shape: shape, root=root,
                          dtype=dtype, algorithm=algorithm, registered=registered)

    def all_reduce_rms_norm(self, x: Any, residual: Any, weight: Any = None, eps: float = 1e-6, *, out: Any = None,
                            residual_out: Any = None, dtype: Any = None) -> Tuple[Any, Any]:
        """What tensor parallelism has after a layer, in one kernel: the sum of all ranks' `x` plus `residual`, and its rows
        normalised by their root mean square (computed in f32) times `weight`. Rows are the last dimension, 32 to 16384
        elements. Returns the normalised rows and the sum; `residual_out` may be `residual`."""
        given = self._memory(x, "the array", dtype)
        if not given.shape:
            raise InputError("the array has no rows", ["rows are its last dimension"])
        arrays = [(x, given), (residual, self._memory(residual, "`residual`", dtype))]
        if weight is not None:
            arrays.append((weight, self._memory(weight, "`weight`", dtype)))
        results = [_new_like(x, given, given.shape) if each is None else each for each in (out, residual_out)]
        arrays += [(each, self._memory(each, name, dtype)) for each, name in zip(results, ("`out`", "`residual_out`"))]
        for index, (_, memory) in enumerate(arrays):
            shape = given.shape[-1:] if weight is not None and index == 2 else given.shape
            if memory.dtype != given.dtype or tuple(memory.shape) != tuple(shape):
                raise InputError(f"array {index} is {memory.dtype}{list(memory.shape)}, and {given.dtype}{list(shape)} is wanted")
        if arrays[-2][1].address == given.address:
            raise InputError("`out` is the array itself", ["only `residual_out` may be an input, the residual"])
        rows, columns = given.nbytes // size_of(given.dtype) // max(given.shape[-1], 1), given.shape[-1]
        text = _norm_module(self.size, given.dtype, rows, columns, weight is not None, float(eps))
        self._launch_module(text, "all_reduce_rms_norm", [memory for _, memory in arrays])
        return results[0], results[1]

    def module(self, text: str, arrays: Sequence[Any], *, name: str = "<text>") -> None:
        """A collective with code of your own fused into its kernel: HLO text (docs/modules.md) whose only launch is one
        collective over all ranks. `arrays` are its parameters and then its results, which are filled. Compiled once for a
        text."""
        self._launch_module(text, name, [self._memory(each, f"array {index}", None) for index, each in enumerate(arrays)])

    def plan(self, kind: str, count: int, dtype: Any = "f32", op: Any = "sum", *, root: int = 0,
             algorithm: Optional[str] = None) -> Plan:
        """What a collective of parts of `count` elements would run; not collective, and nothing is prepared."""
        if kind not in _KINDS:
            raise InputError(f"there is no collective {kind!r}", ["the collectives are " + ", ".join(_KINDS)])
        reduction = _reduction(op) if kind in ("all_reduce", "reduce_scatter") else "sum"
        key = (kind, element_type(dtype), int(count), reduction, int(root), False, algorithm, None)
        known = self._plans.get(key)
        if known is None:
            lib, answer = library(), CollectivePlan(ctypes.sizeof(CollectivePlan))
            request = self._request(key)
            lib.check(lib.communicator_plan(self._open_handle(), ctypes.byref(request), ctypes.byref(answer)))
            known = self._plans[key] = Plan(answer.algorithm.decode(), answer.blocks, _PACKETS[answer.packets],
                                            answer.memory_bytes)
        return known

    # ---- Windows ----

    def allocate_window(self, nbytes: int, name: str = "") -> Window:
        """Collective: memory of the device, of so many bytes on every rank, registered; `window.array(shape)` is an array
        in it."""
        return self._keep(Window._allocate(self, nbytes, name))

    def register(self, x: Any, name: str = "") -> Window:
        """Collective: the memory of an array of each rank, of equal sizes, which stays where it is as long as it is
        registered. On GPUs any contiguous tensor whose memory the driver can export; memory of the host cannot be, so
        allocate_window is for that."""
        memory = self._memory(x, "the array", None)
        return self._keep(Window._register(self, memory.address, memory.nbytes, name, memory.owner))

    # ---- The group ----

    @property
    def device(self) -> Device:
        return self._device

    @property
    def info(self) -> Dict[str, Any]:
        """rank, size, device, target, computeUnits, sharing, members (rank, device, process); of several hosts also hosts,
        ranksPerHost, transport, hostModel."""
        lib = library()
        return json.loads(lib.text(lib.communicator_describe, self._open_handle()))

    def synchronize(self) -> None:
        """Waits for all calls so far, and raises what failed in them."""
        lib = library()
        lib.check(lib.communicator_synchronize(self._open_handle()))

    def check(self) -> None:
        """Raises what has failed so far, without waiting."""
        lib = library()
        lib.check(lib.communicator_check(self._open_handle()))

    def abort(self, reason: str = "abort() was called") -> None:
        """Ends the calls of all ranks; their errors have the reason."""
        lib = library()
        lib.check(lib.communicator_abort(self._open_handle(), c_text(reason, "the reason")))

    def close(self) -> None:
        """Leaves the group. CUDA graphs with its calls must be gone, and their work done."""
        for handle in self._collectives.values():
            handle.close()
        self._collectives.clear()
        for window in self._windows:
            window._handle.close()
        self._windows.clear()
        self._handle.close()

    def __enter__(self) -> "Communicator":
        return self

    def __exit__(self, kind: Any, problem: Any, _trace: Any) -> None:
        if kind is not None and self._handle.value is not None:
            with contextlib.suppress(Exception):  # the others would wait for this rank
                self.abort(f"{kind.__name__}: {problem}"[:1000])
        self.close()

    def __repr__(self) -> str:
        return f"<heddle.collectives.Communicator rank {self.rank} of {self.size} on {self._device.name}>"

    # ---- Inside ----

    def _open_handle(self) -> Handle:
        if self._handle.value is None:
            raise InputError("the communicator is closed", ["make a new one, on every rank"])
        return self._handle

    def _part(self, shape: Tuple[int, ...], kind: str) -> int:
        if not shape or shape[0] % self.size:
            raise InputError(f"{kind} of an array of shape {list(shape)} over {self.size} ranks",
                             [f"the first dimension must be a multiple of {self.size}"])
        return shape[0] // self.size

    def _request(self, key: tuple) -> CollectiveRequest:
        kind, type_name, count, reduction, root, captured, algorithm, windows = key
        handles = [None if window is None else window._handle.value for window in windows or (None, None)]
        return CollectiveRequest(ctypes.sizeof(CollectiveRequest), type_name.encode(),
                                 None if algorithm is None else c_text(algorithm, "the algorithm"), count, _KINDS[kind],
                                 _REDUCTIONS[reduction], root, int(captured), *handles)

    def _keep(self, window: Window) -> Window:
        self._windows.append(window)
        return window

    def _forget(self, window: Window) -> None:
        """A window that has ended, and what was prepared for it."""
        with self._lock:
            for key in [each for each in self._collectives if len(each) > 7 and each[7] and window in each[7]]:
                self._collectives.pop(key).close()
        self._windows.remove(window)
        window._handle.close()

    def _windows_of(self, *arrays: Tuple[str, Memory]) -> Tuple[Window, ...]:
        """The first window of each that holds it."""
        found = []
        for what, memory in arrays:
            window = next((each for each in self._windows if each._holds(memory)), None)
            if window is None:
                raise InputError(f"{what} of {memory.nbytes} bytes at {memory.address:#x} is in no window",
                                 ["make it by `window.array` of allocate_window, or register its memory on all ranks"])
            found.append(window)
        return tuple(found)

    def _prepare(self, key: tuple) -> Handle:
        with self._lock:
            handle = self._collectives.get(key)
            if handle is None:
                lib, request = library(), self._request(key)
                handle = self._collectives[key] = lib.new(lib.communicator_prepare, self._open_handle(),
                                                          ctypes.byref(request))
            return handle

    def _stream(self, memory: Memory) -> Tuple[Optional[Handle], bool]:
        """Where a call on the array goes, and whether that is being captured."""
        if self._device.name.startswith("host"):
            return None, False
        lib, answer = library(), ctypes.c_int32()
        stream = self._device.stream_over(torch_stream(memory))
        lib.check(lib.stream_is_capturing(stream, ctypes.byref(answer)))
        return stream, bool(answer.value)

    def _launch_module(self, text: str, name: str, arrays: List[Memory]) -> None:
        lib = library()
        stream, captured = self._stream(arrays[-1])
        with self._lock:
            known = self._collectives.get((text, captured))
            if known is None:
                encoded = c_text(text, "the module")
                known = self._collectives[text, captured] = lib.new(
                    lib.communicator_prepare_module, self._open_handle(), encoded, len(encoded),
                    c_text(name, "the module's name"), int(captured))
                self._arrays[text] = json.loads(lib.text(lib.collective_describe, known))["arrays"]
        wanted = self._arrays[text]
        sizes = [memory.nbytes for memory in arrays]
        if sizes != [each["bytes"] for each in wanted]:
            raise InputError(f"the module takes arrays of {[each['bytes'] for each in wanted]} bytes, and those that were given "
                             f"have {sizes}")
        addresses = (ctypes.c_uint64 * len(arrays))(*[memory.address for memory in arrays])
        lib.check(lib.collective_launch_arrays(known, stream, ctypes.cast(addresses, ctypes.c_void_p), len(arrays)))
        if stream is None:
            self.synchronize()

    def _memory(self, value: Any, what: str, dtype: Any) -> Memory:
        memory = memory_of(value, what)
        if memory is None:
            raise InputError(f"{what} is {type(value).__name__}, and an array is wanted")
        place = self._device.name
        if memory.place != place and not (memory.place == "host" and place.startswith("host")):
            raise InputError(f"{what} is on {memory.place}, and the communicator on {place}",
                             ["copy it there, or make a communicator for that device"])
        if dtype is not None:
            wanted = element_type(dtype)
            if size_of(wanted) != size_of(memory.dtype):
                raise InputError(f"{what} has elements of {size_of(memory.dtype)} bytes, and {wanted} has {size_of(wanted)}")
            memory = memory._replace(dtype=wanted)
        return memory

    def _call(self, kind: str, x: Any, out: Any, shape_of: Callable, reduction: str = "sum", *, root: int = 0,
              dtype: Any = None, algorithm: Optional[str] = None, registered: bool = False) -> Any:
        given = self._memory(x, "the array", dtype)
        shape = shape_of(given.shape)
        result = _new_like(x, given, shape) if out is None else out
        taken = self._memory(result, "`out`", dtype)
        if taken.dtype != given.dtype or taken.nbytes != count_of(shape) * size_of(given.dtype):
            raise InputError(f"`out` is {taken.dtype}{list(taken.shape)}, and {given.dtype}{list(shape)} is wanted")
        if taken.readonly:
            raise InputError("`out` is read-only")
        windows = self._windows_of(("the array", given), ("`out`", taken)) if registered else None
        lib = library()
        stream, captured = self._stream(taken)
        part = min(given.nbytes, taken.nbytes) if kind in ("all_gather", "reduce_scatter") else given.nbytes
        if kind == "all_to_all":
            part //= self.size
        collective = self._prepare((kind, given.dtype, part // size_of(given.dtype), reduction, root, captured, algorithm,
                                    windows))
        lib.check(lib.collective_launch(collective, stream, given.address, taken.address))
        if stream is None:
            self.synchronize()
        return result


def _norm_module(ranks: int, dtype: str, rows: int, columns: int, has_weight: bool, eps: float) -> str:
    array, wide, numbers = f"{dtype}[{rows},{columns}]", f"f32[{rows},{columns}]", f"f32[{rows}]"
    weight = "" if not has_weight else f"""
  weight = {dtype}[{columns}] parameter(2)
  wide_weight = f32[{columns}] convert(weight)
  weights = {wide} broadcast(wide_weight), dimensions={{1}}"""
    product = "scaled" if not has_weight else "weighted"
    weighted = "" if not has_weight else f"\n  weighted = {wide} multiply(scaled, weights)"
    return f"""HloModule all_reduce_rms_norm, replica_count={ranks}
add_elements {{
  a = {dtype}[] parameter(0)
  b = {dtype}[] parameter(1)
  ROOT c = {dtype}[] add(a, b)
}}
add_floats {{
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] add(a, b)
}}
ENTRY main {{
  partial = {array} parameter(0)
  residual = {array} parameter(1){weight}
  total = {array} all-reduce(partial), replica_groups={{}}, to_apply=add_elements
  wide_total = {wide} convert(total)
  wide_residual = {wide} convert(residual)
  sum = {wide} add(wide_total, wide_residual)
  square = {wide} multiply(sum, sum)
  zero = f32[] constant(0)
  squares = {numbers} reduce(square, zero), dimensions={{1}}, to_apply=add_floats
  size = f32[] constant({columns})
  sizes = {numbers} broadcast(size), dimensions={{}}
  mean = {numbers} divide(squares, sizes)
  small = f32[] constant({eps!r})
  smalls = {numbers} broadcast(small), dimensions={{}}
  shifted = {numbers} add(mean, smalls)
  scale = {numbers} rsqrt(shifted)
  scales = {wide} broadcast(scale), dimensions={{0}}
  scaled = {wide} multiply(sum, scales){weighted}
  normal = {array} convert({product})
  new_residual = {array} convert(sum)
  ROOT both = ({array}, {array}) tuple(normal, new_residual)
}}
"""


def _new_like(x: Any, memory: Memory, shape: Tuple[int, ...]) -> Any:
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(x, torch.Tensor):
        return x.new_empty(shape)
    if isinstance(x, Array):
        return Array(x.dtype, shape)
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(x, numpy.ndarray):
        return numpy.empty(shape, x.dtype)
    raise InputError(f"no array is made for a {type(x).__name__}", ["give `out`"])


class CustomAllreduce:
    """The interface of vLLM's class of this name, over a Communicator: all-reduces of tensors up to `max_size` bytes whose
    plan has packets. `group` is of torch.distributed; `device` a torch.device, its number or its name. When the ranks
    cannot form a group, `disabled` is true on all of them, and `reason` says why."""

    def __init__(self, group: Any, device: Any = None, max_size: int = 8 << 20, **_unused: Any):
        self.disabled, self.reason = True, ""
        self.max_size = int(max_size)
        self._communicator: Optional[Communicator] = None
        if isinstance(device, int):
            device = f"cuda:{device}"
        name = None if device is None else str(device)
        if name is not None and name.startswith("cpu"):
            name = None
        try:
            self._communicator = Communicator.from_torch(group, device=name, hosts=1)
        except Error as problem:
            self.reason = problem.message
            return
        self.rank, self.world_size = self._communicator.rank, self._communicator.size
        self.fully_connected = True
        self.disabled = self.world_size == 1
        self.reason = "there is one rank" if self.disabled else ""

    def should_custom_ar(self, inp: Any) -> bool:
        """Alike on all ranks that give tensors of one shape and type."""
        nbytes = inp.numel() * inp.element_size()
        if self.disabled or nbytes == 0 or nbytes > self.max_size or not inp.is_contiguous():
            return False
        try:
            plan = self._communicator.plan("all_reduce", inp.numel(), inp.dtype)
        except InputError:  # a type that has no sum here
            return False
        return plan.packets is not None

    def custom_all_reduce(self, input: Any) -> Optional[Any]:
        """The sum, as a new tensor; None when should_custom_ar is false."""
        return self.all_reduce(input) if self.should_custom_ar(input) else None

    def all_reduce(self, inp: Any, *, out: Any = None, registered: bool = False) -> Any:
        return self._communicator.all_reduce(inp, out=out)

    @contextlib.contextmanager
    def capture(self):
        """Around the capture of CUDA graphs. Buffers need no registration, so nothing is done before or after it."""
        yield

    def register_graph_buffers(self) -> None:
        """There is nothing to register."""

    def close(self) -> None:
        if self._communicator is not None:
            self._communicator.close()
        self._communicator, self.disabled = None, True

    def __del__(self):
        try:
            self.close()
        except Exception:  # while the interpreter ends
            pass


def nccl_library() -> str:
    """The file of libheddle_nccl.so, the NCCL shim, for LD_PRELOAD (docs/nccl.md)."""
    return find_built("libheddle_nccl.so", "run `./dev build` in the source tree")


__all__ = ["Communicator", "CustomAllreduce", "Plan", "Window", "nccl_library"]
