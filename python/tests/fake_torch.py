# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""As much of PyTorch as launches on a GPU ask for, without PyTorch: `install()` makes it `torch`. Tensors are addresses, and say
by DLPack's C exchange interface what they are, as those of PyTorch 2.10 and later."""
import ctypes
import sys
import types


class DLTensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
                ("rank", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
                ("shape", ctypes.c_void_p), ("strides", ctypes.c_void_p), ("byte_offset", ctypes.c_uint64)]


_FromObject = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(DLTensor))
_CurrentStream = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_int32, ctypes.c_int32, ctypes.POINTER(ctypes.c_void_p))


class Exchange(ctypes.Structure):
    """`DLPackExchangeAPI`."""
    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("previous", ctypes.c_void_p),
                ("unused", ctypes.c_void_p * 3), ("tensor_from_object", _FromObject), ("current_stream", _CurrentStream)]


class dtype:
    def __init__(self, name, code, bits):
        self.name, self.code, self.bits, self.itemsize = name, code, bits, bits // 8

    def __repr__(self):
        return "torch." + self.name


class device:
    def __init__(self, name, index=None):
        kind, _, number = name.partition(":")
        self.type, self.index = kind, int(number) if number else index

    def __eq__(self, other):
        return isinstance(other, device) and (self.type, self.index) == (other.type, other.index)

    def __hash__(self):
        return hash((self.type, self.index))

    def __repr__(self):
        return self.type if self.index is None else f"{self.type}:{self.index}"


strided, sparse_coo = "torch.strided", "torch.sparse_coo"
TYPES = {name: dtype(name, code, bits) for name, code, bits in [
    ("float64", 2, 64), ("float32", 2, 32), ("float16", 2, 16), ("bfloat16", 4, 16), ("int64", 0, 64), ("int32", 0, 32),
    ("int16", 0, 16), ("int8", 0, 8), ("uint8", 1, 8), ("bool", 6, 8)]}


def row_major(shape):
    strides, step = [], 1
    for extent in reversed(shape):
        strides.insert(0, step)
        step *= max(extent, 1)
    return tuple(strides)


class Tensor:
    def __init__(self, address, shape=(64,), dtype=TYPES["float32"], place="cuda:0", strides=None, requires_grad=False,
                 negated=False, layout=strided):
        self.address, self.shape, self.dtype, self.device = address, tuple(shape), dtype, device(place)
        self.strides = row_major(self.shape) if strides is None else tuple(strides)
        self.requires_grad, self.negated, self.layout = requires_grad, negated, layout
        self.c_shape = (ctypes.c_int64 * max(len(self.shape), 1))(*self.shape)  # what a DLTensor borrows
        self.c_strides = (ctypes.c_int64 * max(len(self.shape), 1))(*self.strides)

    @property
    def is_cuda(self):
        return self.device.type == "cuda"

    def data_ptr(self):
        return self.address

    def stride(self):
        return self.strides

    def numel(self):
        count = 1
        for extent in self.shape:
            count *= extent
        return count

    def dim(self):
        return len(self.shape)

    def get_device(self):
        return self.device.index if self.is_cuda else -1

    def is_contiguous(self):
        return 0 in self.shape or all(extent == 1 or given == wanted for extent, given, wanted in
                                      zip(self.shape, self.strides, row_major(self.shape)))

    def is_neg(self):
        return self.negated

    def is_conj(self):
        return False

    def detach(self):
        return self

    resolve_neg = resolve_conj = detach

    def as_strided(self, shape, strides):
        return Tensor(self.address, shape, self.dtype, str(self.device), strides)

    def view(self, kind):
        return self

    def fill_(self, value):
        return self


_streams = {}  # the current one of each GPU


def set_stream(index, handle):
    _streams[index] = handle


def current_stream(index):
    return _streams.get(index, 0)


_from_object_calls = 0


def exchange_calls():
    """How many tensors have been read by the exchange interface."""
    return _from_object_calls


@_FromObject
def _from_object(tensor, out):
    global _from_object_calls
    _from_object_calls += 1
    if tensor.layout is not strided:
        return -1
    into = out.contents
    into.data, into.byte_offset, into.rank, into.lanes = tensor.address, 0, len(tensor.shape), 1
    into.device_type, into.device_id = (2, tensor.device.index) if tensor.is_cuda else (1, 0)
    into.code, into.bits = tensor.dtype.code, tensor.dtype.bits
    into.shape, into.strides = ctypes.addressof(tensor.c_shape), ctypes.addressof(tensor.c_strides)
    return 0


@_CurrentStream
def _current_stream(kind, index, out):
    out[0] = current_stream(index) or None
    return 0


_exchange = Exchange(1, 3, None, (ctypes.c_void_p * 3)(), _from_object, _current_stream)
_NAME = b"dlpack_exchange_api"
_new_capsule = ctypes.pythonapi.PyCapsule_New
_new_capsule.restype, _new_capsule.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
Tensor.__dlpack_c_exchange_api__ = _new_capsule(ctypes.addressof(_exchange), _NAME, None)


_made = iter(range(0x7000_0000, 0x7fff_0000, 0x1_0000))


def empty(*shape, dtype=TYPES["float32"], device="cuda:0"):
    extents = shape[0] if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape
    return Tensor(next(_made), extents, dtype, str(device))


def install():
    torch = types.ModuleType("torch")
    torch.__dict__.update(TYPES)
    torch.dtype, torch.device, torch.Tensor, torch.empty = dtype, device, Tensor, empty
    torch.strided, torch.sparse_coo, torch.complex64 = strided, sparse_coo, dtype("complex64", 5, 64)
    torch._C = types.SimpleNamespace(_cuda_getCurrentRawStream=current_stream)
    torch.version = types.SimpleNamespace(hip=None)
    torch.cuda = types.SimpleNamespace(
        get_device_properties=lambda place: types.SimpleNamespace(
            shared_memory_per_block_optin=232448, multi_processor_count=4, warp_size=32, regs_per_multiprocessor=65536),
        current_device=lambda: 0, is_current_stream_capturing=lambda: False,
        current_stream=lambda place=None: types.SimpleNamespace(cuda_stream=current_stream(getattr(place, "index", place) or 0)))
    sys.modules["torch"] = torch
    return torch
