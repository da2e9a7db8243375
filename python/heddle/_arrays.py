# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arrays: Heddle's own, which need no NumPy, and the memory of those of other libraries."""
from __future__ import annotations

import ctypes
import struct
import sys
from typing import Any, FrozenSet, Iterable, List, NamedTuple, Optional, Sequence, Tuple, Union

from . import _native
from ._library import InputError, c_text, library

# Element types by Heddle's (MLIR's) name: bytes, typestr of the array interface, format of `struct`, other names.
_TYPES = {
    "f64": (8, "<f8", "d", ("float64", "double", "fp64")),
    "f32": (4, "<f4", "f", ("float32", "float", "fp32")),
    "f16": (2, "<f2", "e", ("float16", "half", "fp16")),
    "bf16": (2, "<u2", None, ("bfloat16",)),
    "f8E4M3FN": (1, "|u1", None, ("float8_e4m3fn", "fp8e4nv")),
    "f8E5M2": (1, "|u1", None, ("float8_e5m2", "fp8e5")),
    "f8E4M3FNUZ": (1, "|u1", None, ("float8_e4m3fnuz", "fp8e4b8")),
    "f8E5M2FNUZ": (1, "|u1", None, ("float8_e5m2fnuz", "fp8e5b16")),
    "i64": (8, "<i8", "q", ("int64",)),
    "i32": (4, "<i4", "i", ("int32",)),
    "i16": (2, "<i2", "h", ("int16",)),
    # The others of JAX have a byte for each element, as in the programs that read them.
    "i8": (1, "|i1", "b", ("int8", "int4", "int2", "int1")),
    "i1": (1, "|b1", "?", ("bool", "int1")),
    "ui64": (8, "<u8", "Q", ("uint64",)),
    "ui32": (4, "<u4", "I", ("uint32",)),
    "ui16": (2, "<u2", "H", ("uint16",)),
    "ui8": (1, "|u1", "B", ("uint8", "uint4", "uint2", "uint1", "float8_e4m3", "float8_e4m3b11fnuz", "float8_e3m4",
                            "float8_e8m0fnu", "float4_e2m1fn")),
}
_BY_NAME = {other: name for name, (_, _, _, others) in _TYPES.items() for other in (name, *others)}
_BY_TYPESTR = {"<f8": "f64", "<f4": "f32", "<f2": "f16", "<i8": "i64", "<i4": "i32", "<i2": "i16", "|i1": "i8",
               "|b1": "i1", "<u8": "ui64", "<u4": "ui32", "<u2": "ui16", "|u1": "ui8"}
_BY_FORMAT = {"d": "f64", "f": "f32", "e": "f16", "b": "i8", "h": "i16", "i": "i32", "B": "ui8", "H": "ui16",
              "I": "ui32", "?": "i1", "q": "i64", "Q": "ui64", "l": "i64", "L": "ui64", "c": "ui8"}

DType = Any
Shape = Union[int, Sequence[int]]


def element_type(dtype: DType) -> str:
    """Heddle's name of an element type: of `f32`, `float32`, `numpy.float32`, `torch.bfloat16`, `tl.float8e5`."""
    text = dtype if isinstance(dtype, str) else getattr(dtype, "__name__", None) or str(dtype)
    name = _BY_NAME.get(text) or _BY_NAME.get(text.rpartition(".")[2]) or _BY_TYPESTR.get(text)
    if name is None:
        raise InputError(f"{text!r} is no element type", ["the element types are " + ", ".join(_TYPES)])
    return name


def torch_dtype(type_name: str) -> Any:
    """PyTorch's element type for Heddle's name of it; PyTorch is imported."""
    return getattr(sys.modules["torch"], _TYPES[type_name][3][0])


def size_of(type_name: str) -> int:
    return _TYPES[type_name][0]


def agrees(declared: str, given: str) -> bool:
    """Whether an array of `given` may stand for a pointer to `declared`: of equal size, and of no other kind of number."""
    if declared == given:
        return True
    if declared not in _TYPES or size_of(declared) != size_of(given):
        return declared not in _TYPES  # a pointer to pointers takes any addresses
    if given.startswith("ui") and (declared.startswith("f8") or declared == "bf16"):
        return True  # bit patterns, where an array library lacks the type
    integers = ("i", "ui")
    return declared.rstrip("0123456789") in integers and given.rstrip("0123456789") in integers


def dlpack_types(declared: str) -> Tuple[Tuple[int, int], ...]:
    """DLPack's element types, code and bits, that may stand for a pointer to `declared`."""
    return tuple(each for each, name in _DL_TYPES.items() if agrees(declared, name))


def formats(declared: str) -> List[str]:
    """The formats of the buffer protocol that may."""
    return [each for each, name in _BY_FORMAT.items() if agrees(declared, name)]


def torch_dtypes(declared: str) -> FrozenSet[Any]:
    """PyTorch's element types that may stand for a pointer to `declared`."""
    torch = sys.modules["torch"]
    return frozenset(getattr(torch, other) for name, (_, _, _, others) in _TYPES.items() if agrees(declared, name)
                     for other in others if isinstance(getattr(torch, other, None), torch.dtype))


def shape_of(shape: Shape) -> Tuple[int, ...]:
    if isinstance(shape, int):
        return (shape,)
    return tuple(int(extent) for extent in shape)


def count_of(shape: Iterable[int]) -> int:
    count = 1
    for extent in shape:
        count *= extent
    return count


class Array:
    """Elements in host memory, without NumPy: `numpy.asarray(array)` and `memoryview(array.data)` share the memory.

    `spec` is the value of the command line that made the contents, or None; `current_spec` says whether it still does."""

    def __init__(self, dtype: DType, shape: Shape, data: Optional[bytes] = None, spec: Optional[str] = None):
        self.dtype = element_type(dtype)
        self.shape = shape_of(shape)
        if any(extent < 0 for extent in self.shape):
            raise InputError(f"the shape {list(self.shape)} has a negative extent")
        wanted = count_of(self.shape) * size_of(self.dtype)
        if data is not None and len(data) != wanted:
            raise InputError(f"{self.dtype}{list(self.shape)} has {wanted} bytes, and {len(data)} were given")
        self.data = bytearray(wanted) if data is None else bytearray(data)
        self.spec = spec

    @property
    def nbytes(self) -> int:
        return len(self.data)

    @property
    def size(self) -> int:
        return count_of(self.shape)

    def current_spec(self) -> Optional[str]:
        """`spec`, unless the elements have changed since."""
        if self.spec is None:
            return None
        made = library().bytes(library().make_values, c_text(self.spec.removeprefix("zeros:"), "the value"))
        return self.spec if made == self.data else None

    def __len__(self) -> int:
        return self.shape[0] if self.shape else 1

    @property
    def _address(self) -> int:
        return ctypes.addressof(ctypes.c_char.from_buffer(self.data)) if self.data else 0

    @property
    def __array_interface__(self) -> dict:
        return {"version": 3, "shape": self.shape, "typestr": _TYPES[self.dtype][1], "data": (self._address, False)}

    def tolist(self) -> list:
        """The elements, row by row, as Python numbers; of types that Python lacks (bf16, f8) also as floats."""
        form = _TYPES[self.dtype][2]
        if form:
            return list(struct.unpack(f"<{self.size}{form}", self.data))
        if self.dtype == "bf16":
            words = struct.unpack(f"<{self.size}H", self.data)
            return [struct.unpack("<f", struct.pack("<I", word << 16))[0] for word in words]
        return [_decode_f8(self.dtype, code) for code in self.data]

    def numpy(self):
        """As a NumPy array that shares the memory; bf16 and f8 are their bit patterns, as in .npy files of Heddle."""
        import numpy
        return numpy.asarray(self)

    def __eq__(self, other: object) -> Any:
        return isinstance(other, Array) and (self.dtype, self.shape, self.data) == (other.dtype, other.shape, other.data)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        first = self.tolist()[:4] if self.size <= 1 << 20 else []
        shown = ", ".join(f"{value:g}" if isinstance(value, float) else str(value) for value in first)
        return f"<heddle.Array {self.dtype}{list(self.shape)}: {shown}{', ...' if self.size > len(first) else ''}>"


def _decode_f8(dtype: str, code: int) -> float:
    exponent_bits, bias = {"f8E4M3FN": (4, 7), "f8E5M2": (5, 15), "f8E4M3FNUZ": (4, 8), "f8E5M2FNUZ": (5, 16)}[dtype]
    mantissa_bits = 7 - exponent_bits
    sign, exponent = -1.0 if code & 0x80 else 1.0, code >> mantissa_bits & ((1 << exponent_bits) - 1)
    mantissa = code & ((1 << mantissa_bits) - 1)
    if dtype.endswith("FNUZ"):
        if code == 0x80:
            return float("nan")
    elif dtype == "f8E4M3FN":
        if code & 0x7F == 0x7F:
            return float("nan")
    elif exponent == 31:
        return float("nan") if mantissa else sign * float("inf")
    scale = 2.0 ** (exponent - bias if exponent else 1 - bias)
    return sign * scale * ((1.0 if exponent else 0.0) + mantissa / (1 << mantissa_bits))


def _made(spec: str, dtype: str, shape: Tuple[int, ...], kept: Optional[str] = None) -> Array:
    return Array(dtype, shape, library().bytes(library().make_values, spec.encode()), kept or spec)


def _form(shape: Shape, dtype: DType) -> Tuple[str, Tuple[int, ...], str]:
    name, extents = element_type(dtype), shape_of(shape)
    return name, extents, f"{name}[{','.join(str(extent) for extent in extents)}]"


def rand(shape: Shape, dtype: DType = "f32", seed: int = 0) -> Array:
    """Uniform in [-1, 1), integers in their small range, the same on every machine: `rand:f32[64]:7` of the command."""
    name, extents, form = _form(shape, dtype)
    return _made(f"rand:{form}:{int(seed)}", name, extents)


def zeros(shape: Shape, dtype: DType = "f32") -> Array:
    """Zeros. For `check` they count as written."""
    name, extents, form = _form(shape, dtype)
    return Array(name, extents, spec="zeros:" + form)


def empty(shape: Shape, dtype: DType = "f32") -> Array:
    """Zeros that a kernel is expected to write: for `check` they are uninitialised."""
    name, extents, form = _form(shape, dtype)
    return Array(name, extents, spec=form)


class Memory(NamedTuple):
    """What an array of any library occupies."""
    address: int
    nbytes: int
    dtype: str
    shape: Tuple[int, ...]
    readonly: bool
    place: str  # `host`, `cuda:0`, `hip:1`
    owner: Any  # keeps the memory
    offset: int = 0  # bytes of DLPack's tensor before the address


def _require_contiguous(shape, strides, item, where) -> None:
    if strides is None:
        return
    expected = item
    for extent, stride in zip(reversed(shape), reversed(strides)):
        if extent > 1 and stride != expected:
            raise InputError(f"{where}: the array of shape {list(shape)} has strides {list(strides)}, and row-major ones "
                             "are wanted", ["pass a contiguous copy"])
        expected *= extent


_REAL_PARTS = {"<c8": "<f4", "<c16": "<f8"}  # a complex array is one of pairs, real and imaginary part


def _of_interface(interface: dict, value: Any, place: str, where: str) -> Memory:
    typestr = interface["typestr"]
    real = _REAL_PARTS.get(typestr)
    name = _BY_TYPESTR.get(real or typestr)
    if name is None:  # types of ml_dtypes are opaque bytes there
        name = _BY_NAME.get(str(getattr(value, "dtype", "")).rpartition(".")[2])
        if name is None:
            raise InputError(f"{where}: the type {typestr} of the array is not one of Heddle's",
                             ["the element types are " + ", ".join(_TYPES)])
    address, readonly = interface["data"]
    shape = tuple(interface["shape"])
    _require_contiguous(shape, interface.get("strides"), size_of(name) * (2 if real else 1), where)
    shape += (2,) if real else ()
    address, nbytes = address or 0, count_of(shape) * size_of(name)
    if address < 0 or nbytes < 0 or address + nbytes > 1 << 64:
        raise InputError(f"{where}: the array's {nbytes} bytes at address {address:#x} are outside the address space")
    return Memory(address, nbytes, name, shape, bool(readonly), place, value)


# ---- DLPack ----


class _DLTensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
                ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
                ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)),
                ("byte_offset", ctypes.c_uint64)]


class _DLVersioned(ctypes.Structure):
    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("context", ctypes.c_void_p),
                ("deleter", ctypes.c_void_p), ("flags", ctypes.c_uint64), ("tensor", _DLTensor)]


_DL_PLACES = {1: "host", 2: "cuda", 3: "host", 10: "hip", 11: "host", 13: "cuda"}
_DL_TYPES = {(0, 8): "i8", (0, 16): "i16", (0, 32): "i32", (0, 64): "i64", (1, 8): "ui8", (1, 16): "ui16",
             (1, 32): "ui32", (1, 64): "ui64", (2, 16): "f16", (2, 32): "f32", (2, 64): "f64", (4, 16): "bf16",
             (6, 8): "i1", (10, 8): "f8E4M3FN", (11, 8): "f8E4M3FNUZ", (12, 8): "f8E5M2", (13, 8): "f8E5M2FNUZ"}


def _capsule(value: Any, where: str) -> Any:
    try:
        kind = value.__dlpack_device__()[0]
        stream = {} if int(kind) in (1, 3, 11) else {"stream": -1}  # the launch goes into the library's own stream
        try:
            return value.__dlpack__(max_version=(1, 1), **stream)
        except TypeError:  # before DLPack 1.0
            return value.__dlpack__(**stream)
    except (BufferError, RuntimeError) as problem:
        raise InputError(f"{where}: the array does not give its memory: {problem}") from problem


def _of_dlpack(value: Any, where: str) -> Memory:
    capsule = _capsule(value, where)
    get, is_valid = ctypes.pythonapi.PyCapsule_GetPointer, ctypes.pythonapi.PyCapsule_IsValid
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    is_valid.restype, is_valid.argtypes = ctypes.c_int, [ctypes.py_object, ctypes.c_char_p]
    readonly = False
    if is_valid(capsule, b"dltensor_versioned"):
        managed = _DLVersioned.from_address(get(capsule, b"dltensor_versioned"))
        if managed.major != 1:
            raise InputError(f"{where}: the array's DLPack has version {managed.major}.{managed.minor}, and 1 is read")
        tensor, readonly = managed.tensor, bool(managed.flags & 1)
    else:
        tensor = _DLTensor.from_address(get(capsule, b"dltensor"))
    name = _DL_TYPES.get((tensor.code, tensor.bits)) if tensor.lanes == 1 else None
    place = _DL_PLACES.get(tensor.device_type)
    if name is None:
        raise InputError(f"{where}: DLPack type {tensor.code} of {tensor.bits} bits is not one of Heddle's")
    if place is None:
        raise InputError(f"{where}: the array is on a device of DLPack type {tensor.device_type}, and Heddle knows the "
                         "host, CUDA and ROCm")
    if place != "host":
        place = f"{place}:{tensor.device_id}"
    shape = tuple(tensor.shape[i] for i in range(tensor.ndim))
    if tensor.strides:
        _require_contiguous(shape, tuple(tensor.strides[i] * size_of(name) for i in range(tensor.ndim)), size_of(name),
                            where)
    address = (tensor.data or 0) + tensor.byte_offset
    # The capsule, which is not consumed, gives the tensor back when it goes; `value` then still keeps the memory.
    return Memory(address, count_of(shape) * size_of(name), name, shape, readonly, place, (value, capsule), tensor.byte_offset)


def torch_place(tensor: Any) -> str:
    """Where a tensor of PyTorch is: `host`, `cuda:0`, `hip:0`."""
    if tensor.device.type == "cpu":
        return "host"
    torch, index = sys.modules["torch"], tensor.device.index
    return f"{'hip' if torch.version.hip else 'cuda'}:{torch.cuda.current_device() if index is None else index}"


def _of_torch(value: Any, torch: Any, where: str) -> Memory:
    """A tensor of PyTorch, asked itself: DLPack says the same, but takes ten times as long."""
    if value.requires_grad:
        raise InputError(f"{where}: the tensor requires a gradient, which a kernel does not compute", ["pass tensor.detach()"])
    if value.layout is not torch.strided or value.device.type not in ("cpu", "cuda"):
        raise InputError(f"{where}: the tensor is {value.layout} on {value.device}, and a dense one of the CPU or a GPU is wanted")
    if value.is_neg() or value.is_conj():
        raise InputError(f"{where}: the tensor is a view that PyTorch negates or conjugates when it is read",
                         ["pass tensor.resolve_neg() or tensor.resolve_conj()"])
    if not value.is_contiguous():
        raise InputError(f"{where}: the tensor of shape {list(value.shape)} has strides {list(value.stride())}, and row-major "
                         "ones are wanted", ["pass a contiguous copy"])
    name = _BY_NAME.get(str(value.dtype).rpartition(".")[2])
    if name is None:
        raise InputError(f"{where}: the type {value.dtype} of the tensor is not one of Heddle's")
    return Memory(value.data_ptr(), value.numel() * size_of(name), name, tuple(value.shape), False, torch_place(value), value)


def _of_buffer(value: Any, where: str) -> Memory:
    view = memoryview(value)
    name = _BY_FORMAT.get(view.format.lstrip("@=<"))
    if name is None:
        raise InputError(f"{where}: the buffer's format {view.format!r} is not one of Heddle's")
    if not view.c_contiguous:
        raise InputError(f"{where}: the buffer of shape {list(view.shape)} is not contiguous", ["pass a contiguous copy"])
    if view.nbytes == 0:
        return Memory(0, 0, name, tuple(view.shape), view.readonly, "host", value)
    if view.readonly:
        # ctypes takes no address of it; a copy serves what only reads.
        copy = bytearray(view.cast("B"))
        return Memory(ctypes.addressof(ctypes.c_char.from_buffer(copy)), view.nbytes, name, tuple(view.shape), True,
                      "host", copy)
    return Memory(ctypes.addressof(ctypes.c_char.from_buffer(view.cast("B"))), view.nbytes, name, tuple(view.shape),
                  False, "host", value)


def memory_of(value: Any, where: str = "array") -> Optional[Memory]:
    """The memory of an array of any library, or None for what is no array. Raises InputError for an array that Heddle
    cannot use; `where` begins the message."""
    interface = getattr(value, "__array_interface__", None)
    if interface is not None:
        return _of_interface(interface, value, "host", where)
    if isinstance(value, (int, float, str, bool)) or value is None:
        return None
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor):
        return _of_torch(value, torch, where)
    if hasattr(value, "__dlpack__"):
        return _of_dlpack(value, where)
    try:
        interface = getattr(value, "__cuda_array_interface__", None)
    except (AttributeError, RuntimeError, TypeError):
        interface = None
    if interface is not None:
        return _of_interface(interface, value, f"cuda:{_cuda_ordinal(value)}", where)
    try:
        memoryview(value)
    except TypeError:
        return None
    return _of_buffer(value, where)


def _address_of(value: Any) -> Optional[int]:
    """Where an array of NumPy or a writable buffer begins, in any layout; None where it does not say."""
    interface = getattr(value, "__array_interface__", None)
    if interface is not None:
        return interface["data"][0]
    try:
        return ctypes.addressof(ctypes.c_char.from_buffer(value))
    except (TypeError, ValueError):
        return None


def begins_inside(value: Any, memory: Memory) -> bool:
    """Whether an array is known to be a view of memory that begins before it."""
    if memory.offset:
        return True
    storage = getattr(value, "untyped_storage", None)  # of PyTorch
    if storage is not None:
        return storage().data_ptr() < memory.address
    while (value := value.obj if isinstance(value, memoryview) else getattr(value, "base", None)) is not None:
        address = _address_of(value)
        if address is not None and address < memory.address:
            return True
    return False


def _cuda_ordinal(value: Any) -> int:
    device = getattr(value, "device", None)
    return int(getattr(device, "index", None) or getattr(device, "id", None) or 0)


# ---- .npy ----


def npy_bytes(memory: Memory) -> bytes:
    header = f"{{'descr': '{_TYPES[memory.dtype][1]}', 'fortran_order': False, 'shape': {memory.shape!r}, }}"
    padded = header.ljust(-(-(len(header) + 11) // 64) * 64 - 11) + "\n"
    contents = ctypes.string_at(memory.address, memory.nbytes) if memory.nbytes else b""
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(padded)) + padded.encode() + contents


def read_npy(path: str, dtype: str, shape: Shape) -> Array:
    with open(path, "rb") as file:
        whole = file.read()
    size = count_of(shape_of(shape)) * size_of(dtype)
    return Array(dtype, shape, whole[len(whole) - size:] if size else b"")


class TorchTools:
    """What launches ask PyTorch for: the module's own objects, found once."""

    def __init__(self, torch: Any):
        self.tensor, self.strided, self.dtype = torch.Tensor, torch.strided, torch.dtype
        self.empty, self.device = torch.empty, torch.device
        raw = getattr(torch._C, "_cuda_getCurrentRawStream", None)
        self.raw_stream: Any = raw or (lambda index: torch.cuda.current_stream(index).cuda_stream)
        self.gpu = "hip" if torch.version.hip else "cuda"
        _native.use_torch(torch.Tensor)

    def is_plain(self, value: Any) -> bool:
        """A dense tensor of a GPU, of no class that overrides operations."""
        return type(value) is self.tensor and value.is_cuda and value.layout is self.strided and not value.is_neg()


_torch_tools: Optional[TorchTools] = None


def torch_tools() -> Optional[TorchTools]:
    """None before the program has imported PyTorch."""
    global _torch_tools
    if _torch_tools is None and "torch" in sys.modules:
        try:
            _torch_tools = TorchTools(sys.modules["torch"])
        except AttributeError:  # its import is not over, or it is a stub
            return None
    return _torch_tools


def torch_stream(memory: Memory) -> int:
    """PyTorch's current stream of the device, where the array is PyTorch's; else the default stream."""
    torch = sys.modules.get("torch")
    value = memory.owner[0] if isinstance(memory.owner, tuple) else memory.owner
    if torch is not None and isinstance(value, torch.Tensor):
        return torch.cuda.current_stream(value.device).cuda_stream
    return 0


__all__ = ["Array", "InputError", "Memory", "element_type", "empty", "memory_of", "rand", "zeros"]
