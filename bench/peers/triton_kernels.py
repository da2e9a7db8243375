#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Triton beside Heddle: both compile the same Triton IR, and the kernels take turns on the same buffers of one GPU.

Each kernel runs in a process of its own. Triton gives its cubin and Heddle its PTX, which the driver assembles; both are
loaded through the CUDA driver and launched with the same grid. For each set of options a CUDA graph of launches is
captured, the graphs are replayed in turns, and a row is the median over the replays, per launch. Outputs are compared.
Both sides may fuse products and sums, which is Triton's default (Heddle's `--fp-fusion`).
Of each side the fastest set of options counts: `ratio` is Triton's time by Heddle's, so above 1 Heddle is faster.

    python3 bench/peers/triton_kernels.py --json rows.json
    python3 bench/peers/triton_kernels.py --kernels vector_add row_softmax --warps 4 8 16 --heddle "./heddle"
    python3 bench/peers/triton_kernels.py --cases bench/peers/user_kernels.py

A module of cases has a dictionary `CASES` of functions that take the divisor of sizes and return a `Case`; it makes
Triton IR of a `@triton.jit` function by `translate`.

Triton's side can be compiled beforehand, by another version on a machine without a GPU and without Heddle. The folder has
what Triton's front end made of each case, which Heddle then compiles too, and is refused for cases that have changed.

    python3 bench/peers/triton_kernels.py --export-triton FOLDER --cases corpus bench/peers/user_kernels.py
    python3 bench/peers/triton_kernels.py --triton-from FOLDER --cases bench/peers/user_kernels.py
"""

import argparse
import collections
import ctypes
import importlib.util
import json
import math
import multiprocessing
import os
import pathlib
import shlex
import statistics
import struct
import subprocess
import sys
import tempfile
import time

import numpy as np
import triton_compiler
from kernel_cases import Refusal, say
from triton_export import Export, ExportError, ExportWriter, digest, export_all, source_digest, stand_in_for_triton

ROOT = pathlib.Path(__file__).resolve().parents[2]
SLOWEST_KERNEL_SECONDS = 40


# ---- Numbers: buffers are NumPy arrays, those of bf16 and fp8 of their bits. ----
def numbers(count, seed, dtype="f32", scale=1.0):
    """Normal random numbers; a piece of them over and over, because making many takes long."""
    piece = np.random.default_rng(seed).standard_normal(min(count, (1 << 20) + 12345), np.float32) * np.float32(scale)
    if dtype == "f16":
        piece = piece.astype(np.float16)
    elif dtype == "bf16":
        piece = (piece.view(np.uint32) >> 16).astype(np.uint16)
    return np.resize(piece, count)


def fp8_values():
    codes = np.arange(256)
    exponent, mantissa = (codes >> 3) & 15, codes & 7
    size = np.where(exponent == 0, mantissa / 8 * 2.0**-6, (1 + mantissa / 8) * 2.0 ** (exponent - 7.0))
    size[[127, 255]] = np.nan
    return np.where(codes > 127, -size, size).astype(np.float32)


def as_floats(bits, dtype):
    if dtype == "bf16":
        return (bits.astype(np.uint32) << 16).view(np.float32)
    if dtype == "fp8":
        return fp8_values()[bits]
    return bits.astype(np.float32, copy=False)


def difference(ours, theirs, dtype):
    """The largest, by the largest number of theirs."""
    equal = np.array_equal(ours.view(np.uint8), theirs.view(np.uint8))
    theirs = as_floats(theirs, dtype)
    largest = float(max(theirs.max(), -theirs.min()))  # a NaN passes through
    if not np.isfinite(largest) or largest == 0:
        return float("inf")
    if equal:
        return 0.0
    ours = as_floats(ours, dtype)
    apart = float(np.max(np.abs(np.subtract(ours, theirs, out=ours), out=ours)))
    return apart / largest if np.isfinite(apart) else float("inf")


# ---- The kernels: sizes that memory bounds, or the matrix units, and nothing smaller. ----
class Case:
    """`arguments` in order: an array, or a number. `outputs`: which arguments are compared, as (index, dtype,
    tolerance). `warps`: where these are tried and not the command's."""

    def __init__(self, path, grid, arguments, outputs, gigabytes=None, teraflop=None, stages=None, warps=None):
        self.path, self.grid, self.arguments, self.outputs = path, grid, arguments, outputs
        self.gigabytes, self.teraflop, self.stages, self.warps = gigabytes, teraflop, stages or [3], warps
        self.kind = None

    def of(self, kind):
        """The same, of a class of kernels."""
        self.kind = kind
        return self

    def options(self, warps):
        """The sets of warps and stages that are tried."""
        return [(count, stages) for count in self.warps or warps for stages in self.stages]

    def parameter_sizes(self):
        """In bytes."""
        return [8 if isinstance(value, np.ndarray) else ctypes.sizeof(value) for value in self.arguments]


exported = None  # of this process's kernel, where Triton's side comes from a folder
digests = {}  # of what made Triton IR, by the IR's path


def translate(function, signature, constants, aligned=()):
    """The path of the Triton IR of a `@triton.jit` function, by the front end of the installed Triton, or as a folder of
    `--triton-from` has it. `signature`: types by arguments (`*fp16`, `i32`); pointers are aligned to 16 bytes, and the numbers
    `aligned` are divisible by 16."""
    source = source_digest(function, signature, constants, aligned)
    if exported:
        exported.check_digest(source)
        path = exported.ir_path()
    else:
        path = pathlib.Path(tempfile.mkdtemp()) / f"{function.__name__}.ttir"
        path.write_text(triton_compiler.front_end(function, signature, constants, aligned))
    digests[path] = source
    return path


def digest_of(case):
    """Of what its Triton IR is made of, which may be the text itself."""
    return digests.get(case.path) or digest(case.path.read_bytes())


def load_cases(path):
    """The cases of a module, which imports this one as `triton_kernels`."""
    sys.modules.setdefault("triton_kernels", sys.modules[__name__])
    described = importlib.util.spec_from_file_location(pathlib.Path(path).stem, path)
    if described is None or not pathlib.Path(path).exists():
        raise Refusal(f"`--cases {path}`: no Python file", "bench/peers/user_kernels.py is an example")
    module = importlib.util.module_from_spec(described)
    sys.modules[described.name] = module
    described.loader.exec_module(module)
    return module.CASES


def corpus(name):
    return ROOT / "tests" / "corpus" / f"{name}.sm_90.ttir"


def integer(value):
    return ctypes.c_int32(value)


def vector_add(shrink):
    n = (1 << 26) // shrink
    arguments = [numbers(n, 1), numbers(n, 2), np.zeros(n, np.float32), integer(n)]
    return Case(corpus("vector_add"), (n // 1024, 1, 1), arguments, [(2, "f32", 0)], 12e-9 * n)


def row_softmax(shrink):
    rows, cols = 131072 // shrink, 1024
    arguments = [np.zeros(rows * cols, np.float32), numbers(rows * cols, 3), integer(cols), integer(cols), integer(rows),
                 integer(cols)]
    return Case(corpus("row_softmax"), (2112, 1, 1), arguments, [(0, "f32", 1e-5)], 8e-9 * rows * cols)


def layer_norm(shrink):
    rows, cols = 16384 // shrink, 8192
    arguments = [numbers(rows * cols, 4, "bf16"), np.zeros(rows * cols, np.uint16), numbers(cols, 5, "bf16"),
                 numbers(cols, 6, "bf16"), np.zeros(rows, np.float32), np.zeros(rows, np.float32), integer(cols),
                 integer(cols), ctypes.c_float(1e-5)]
    return Case(corpus("layer_norm"), (rows, 1, 1), arguments, [(1, "bf16", 0.01), (4, "f32", 1e-4), (5, "f32", 1e-5)],
                4e-9 * rows * cols)


def rowwise_fp8(shrink):
    rows, cols = 32768 // shrink, 4096
    arguments = [numbers(rows * cols, 7, "bf16"), np.zeros(rows * cols, np.uint8), np.zeros(rows, np.float32),
                 integer(rows), integer(cols)]
    return Case(corpus("rowwise_fp8"), (rows // 16, 1, 1), arguments, [(1, "fp8", 0.08), (2, "f32", 1e-6)],
                3e-9 * rows * cols)


def amax_atomic(shrink):
    rows, cols = 32768 // shrink, 8192
    arguments = [numbers(rows * cols, 8, "bf16"), np.zeros(cols, np.float32), integer(rows), integer(cols)]
    return Case(corpus("amax_atomic"), (rows // 64, cols // 64, 1), arguments, [(1, "f32", 0)], 2e-9 * rows * cols)


def transpose_f16(shrink):
    rows, cols = 16384 // shrink, 8192
    arguments = [numbers(rows * cols, 9, "f16"), np.zeros(rows * cols, np.float16), integer(rows), integer(cols)]
    return Case(corpus("transpose_f16"), (rows // 64, cols // 64, 1), arguments, [(1, "f16", 0)], 4e-9 * rows * cols)


def jagged_rowsum(shrink):
    groups, cols = 64, 4096
    lengths = np.random.default_rng(10).integers(1, 2 * 65536 // shrink // groups, groups)
    ends = np.cumsum(lengths).astype(np.int32)
    elements = int(ends[-1]) * cols
    arguments = [numbers(elements, 11, "bf16"), ends, np.zeros(groups * cols, np.float32), integer(cols),
                 integer(groups)]
    return Case(corpus("jagged_rowsum"), (groups, cols // 64, 1), arguments, [(2, "f32", 1e-4)], 2e-9 * elements)


def spin_lock_sum(shrink):
    n = (1 << 18) // shrink
    arguments = [np.abs(numbers(n, 12)), np.zeros(1, np.float32), np.zeros(1, np.int32), integer(n)]
    return Case(corpus("spin_lock_sum"), (n // 256, 1, 1), arguments, [(1, "f32", 1e-4)])


def attention_causal(shrink):
    length, heads, depth = 4096, 32 // min(shrink, 32), 64
    count = heads * length * depth
    arguments = [numbers(count, 13, "f16"), numbers(count, 14, "f16"), numbers(count, 15, "f16"),
                 np.zeros(count, np.float16), integer(length), ctypes.c_float(0.125)]
    return Case(corpus("attention_causal"), (length // 64, heads, 1), arguments, [(3, "f16", 0.005)],
                teraflop=2e-12 * heads * length * length * depth, stages=[2, 3])


def matmul_f16(shrink):
    m = n = k = 4096 // min(shrink, 8)
    arguments = [numbers(m * k, 16, "f16"), numbers(k * n, 17, "f16"), np.zeros(m * n, np.float16), integer(m),
                 integer(n), integer(k), integer(k), integer(n), integer(n)]
    return Case(corpus("matmul_f16"), (m // 64 * (n // 64), 1, 1), arguments, [(2, "f16", 0.005)],
                teraflop=2e-12 * m * n * k)


def split_k_matmul(order, shrink):
    m, n, k = 2048 // min(shrink, 8), 2048, 4096
    arguments = [numbers(m * k, 18, "bf16"), numbers(k * n, 19, "bf16"), np.zeros(m * n, np.float32), integer(m),
                 integer(n), integer(k)]
    return Case(corpus(f"split_k_matmul_{order}"), (m // 32, n // 64, 4), arguments, [(2, "f32", 1e-4)],
                teraflop=2e-12 * m * n * k)


def matmul_bf16(columns, shrink):
    m = n = k = 8192 // min(shrink, 16)
    arguments = [numbers(m * k, 20, "bf16"), numbers(k * n, 21, "bf16"), np.zeros(m * n, np.uint16), integer(m),
                 integer(n), integer(k), integer(k), integer(n), integer(n)]
    path = ROOT / "bench" / "kernels" / f"matmul_bf16_128x{columns}x64.ttir"
    return Case(path, (m // 128 * (n // columns), 1, 1), arguments, [(2, "bf16", 0.01)], teraflop=2e-12 * m * n * k,
                stages=[3, 4])


def fp8_numbers(count, seed):
    """Codes of numbers between 1/32 and 2, of both signs."""
    codes = np.random.default_rng(seed).integers(0x10, 0x40, min(count, (1 << 20) + 12345), np.uint8)
    return np.resize(codes | (codes & 1) << 7, count)


def matmul_fp8(shrink):
    m = n = k = 8192 // min(shrink, 16)
    arguments = [fp8_numbers(m * k, 22), fp8_numbers(k * n, 23), np.zeros(m * n, np.uint16), integer(m), integer(n),
                 integer(k), integer(k), integer(k), integer(n)]
    return Case(ROOT / "bench" / "kernels" / "matmul_fp8_128x256x128.ttir", (m // 128 * (n // 256), 1, 1), arguments,
                [(2, "bf16", 0.02)], teraflop=2e-12 * m * n * k, stages=[3, 4])


CASES = {
    "vector_add": vector_add,
    "row_softmax": row_softmax,
    "layer_norm": layer_norm,
    "rowwise_fp8": rowwise_fp8,
    "amax_atomic": amax_atomic,
    "transpose_f16": transpose_f16,
    "jagged_rowsum": jagged_rowsum,
    "attention_causal": attention_causal,
    "matmul_f16": matmul_f16,
    "split_k_matmul_relaxed": lambda shrink: split_k_matmul("relaxed", shrink),
    "split_k_matmul_acq_rel": lambda shrink: split_k_matmul("acq_rel", shrink),
    "matmul_bf16_128x128x64": lambda shrink: matmul_bf16(128, shrink),
    "matmul_bf16_128x256x64": lambda shrink: matmul_bf16(256, shrink),
    "matmul_fp8_128x256x128": matmul_fp8,
    "spin_lock_sum": spin_lock_sum,
}


def parse_arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    parser.add_argument("--cases", nargs="+", default=["corpus"], metavar="FILE", help="Python modules of cases, and the word "
                        "`corpus` for the corpus, which is the default")
    parser.add_argument("--kernels", nargs="+", metavar="NAME", help=f"default all; of the corpus: {', '.join(CASES)}")
    parser.add_argument("--warps", nargs="+", type=int, default=[4, 8], help="each side's warps that are tried; default 4 8")
    side = parser.add_mutually_exclusive_group()
    side.add_argument("--export-triton", metavar="FOLDER", help="compile Triton's side alone into FOLDER; needs no GPU. The "
                      "options of a measurement may stay in the command")
    side.add_argument("--triton-from", metavar="FOLDER", help="take Triton's side from there; no Triton is imported")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)), metavar="N", help="processes of "
                        "`--export-triton`; default one for each core")
    parser.add_argument("--compile-only", action="store_true", help="compile both sides and say what a launch of each needs; "
                        "needs no GPU")
    parser.add_argument("--heddle", default=str(ROOT / "build" / "bin" / "heddle"), help="the command, words and all; "
                        "default build/bin/heddle")
    parser.add_argument("--heddle-options", default="", metavar="WORDS", help="further options of `heddle compile`, as "
                        "`'--warp-pipeline off'` (quoted, after `=`)")
    parser.add_argument("--default-only", action="store_true", help="Heddle's own choice of matrix instructions alone; else "
                        "`--no-warp-groups` is tried as well")
    parser.add_argument("--ahead", type=int, default=0, metavar="N", help="compile the next N kernels while one is timed; "
                        "default 0")
    parser.add_argument("--assemble", choices=("own", "driver"), default="own", help="Triton's kernels from its own "
                        "assembler (the default), or from the driver's, as Heddle's are")
    parser.add_argument("--replays", type=int, default=15, help="of each graph, that are timed; default 15")
    parser.add_argument("--graph-ms", type=float, default=3.0, help="what a graph of launches takes about; default 3")
    parser.add_argument("--shrink", type=int, default=1, help="divide sizes by it, to check results only; default 1")
    parser.add_argument("--device", type=int, default=0, help="the GPU's number; default 0")
    parser.add_argument("--json", metavar="FILE", help="all measurements")
    parser.add_argument("--keep", metavar="FOLDER", help="leave the PTX of both sides there")
    parser.add_argument("--libcuda", default="libcuda.so.1", help="default libcuda.so.1")
    arguments = parser.parse_args()
    for name, least in (("replays", 1), ("shrink", 1), ("ahead", 0), ("jobs", 1)):
        if getattr(arguments, name) < least:
            raise Refusal(f"`--{name} {getattr(arguments, name)}`: at least {least}", "`--help` shows the options")
    return arguments


def choose_kernels(arguments):
    """Makes CASES those of the modules, and `arguments.keys` the names `MODULE/NAME` of exports, by kernel."""
    corpus_cases, keys = dict(CASES), {}
    CASES.clear()
    for path in arguments.cases:
        module = pathlib.Path(path).stem
        for name, make in (corpus_cases if path == "corpus" else load_cases(path)).items():
            if name in CASES:
                raise Refusal(f"`{name}` is in `{keys[name].split('/')[0]}` and in `{module}`", "measure one of them at a time")
            CASES[name], keys[name] = make, f"{module}/{name}"
    arguments.kernels, arguments.keys = arguments.kernels or list(CASES), keys
    for name in arguments.kernels:
        if name not in CASES:
            raise Refusal(f"`--kernels {name}`: no such kernel", f"there are {', '.join(CASES)}")


# ---- Compiling: a candidate is a binary that can be launched. ----
class Candidate:
    def __init__(self, side, options, binary, ptx, entry, threads, shared, more_parameters):
        self.side, self.options, self.binary, self.ptx, self.entry = side, options, binary, ptx, entry
        self.threads, self.shared, self.more_parameters = threads, shared, more_parameters
        self.microseconds, self.registers, self.spilled = [], 0, 0

    def needs(self):
        return {"side": self.side, "options": self.options, "shared_bytes": self.shared, "threads": self.threads}

    def row(self):
        return self.needs() | {"us": statistics.median(self.microseconds), "least_us": min(self.microseconds),
                               "registers": self.registers, "local_bytes": self.spilled}


def compile_with_triton(arguments, case, warps, stages):
    """By the installed Triton, or from the folder of `--triton-from`."""
    kernel = exported.kernel(warps, stages) if exported else triton_compiler.compile_kernel(case.path, warps, stages)
    # After the arguments: the addresses of scratch memory, for the kernel and for profiling.
    sizes, more = case.parameter_sizes(), len(kernel.parameters) - len(case.arguments)
    if kernel.parameters != sizes + [8] * more or more > 2:
        raise RuntimeError(f"Triton's kernel has parameters of {kernel.parameters} bytes, and the case's arguments have {sizes}")
    binary = kernel.ptx.encode() + b"\0" if arguments.assemble == "driver" else kernel.cubin
    return Candidate("triton", f"w{warps} s{stages}", binary, kernel.ptx, kernel.entry, kernel.threads, kernel.shared, more)


def compile_with_heddle(arguments, case, warps, stages, extra):
    with tempfile.TemporaryDirectory() as folder:
        package = pathlib.Path(folder) / "kernel.hpkg"
        command = shlex.split(arguments.heddle) + ["compile", str(case.path), "--target", "sm_90", "--warps", str(warps),
                                                   "--stages", str(stages), "--fp-fusion", "-o", str(package)] + extra
        command += shlex.split(arguments.heddle_options)
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"`{shlex.join(command)}` failed:\n{done.stderr}")
        data = package.read_bytes()
    described, coded = struct.unpack_from("<QQ", data, 16)  # docs/package.md
    about = json.loads(data[32 : 32 + described])
    ptx = data[32 + described : 32 + described + coded]
    options = " ".join([f"w{warps} s{stages}"] + [word.lstrip("-") for word in extra])
    return Candidate("heddle", options, ptx + b"\0", ptx.decode(), about["entry"], about["threads"],
                     about["sharedBytes"], 1)


def compile_all(arguments, name, case):
    """Both sides with each set of options; what one of them refuses is said and left out."""
    candidates = []
    group_words = [[], ["--no-warp-groups"]] if case.teraflop and not arguments.default_only else [[]]
    if exported:
        exported.check_digest(digest_of(case))
    for warps, stages in case.options(arguments.warps):
        tries = [lambda: compile_with_triton(arguments, case, warps, stages)]
        tries += [lambda extra=extra: compile_with_heddle(arguments, case, warps, stages, extra) for extra in group_words]
        for make in tries:
            try:
                candidate = make()
            except ExportError:
                raise  # a set that is missing is not one that Triton refused
            except Exception as error:  # pylint: disable=broad-exception-caught
                say(f"{name}: w{warps} s{stages} left out: {type(error).__name__}: {str(error)[:300]}")
                continue
            # The option changes nothing where no product is large enough.
            if not any(other.ptx == candidate.ptx for other in candidates if other.threads == candidate.threads):
                candidates.append(candidate)
    for candidate in candidates if arguments.keep else []:
        folder = pathlib.Path(arguments.keep)
        folder.mkdir(parents=True, exist_ok=True)
        words = candidate.options.replace(" ", "_")
        (folder / f"{name}.{candidate.side}.{words}.ptx").write_text(candidate.ptx)
    return candidates


# ---- The CUDA driver. ----
class Cuda:
    LOCAL_BYTES, REGISTERS, MAX_SHARED = 3, 4, 8  # CUfunction_attribute

    def __init__(self, arguments):
        try:
            self.library = ctypes.CDLL(arguments.libcuda)
        except OSError as error:
            raise Refusal(f"`{arguments.libcuda}` cannot be opened: {error}", "is NVIDIA's driver installed", 3) from error
        self("cuInit", 0)
        device, context, self.stream = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_void_p()
        self("cuDeviceGet", ctypes.byref(device), arguments.device)
        name = ctypes.create_string_buffer(256)
        self("cuDeviceGetName", name, 256, device)
        self.name = name.value.decode()
        self("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self("cuCtxSetCurrent", context)
        self("cuStreamCreateWithPriority", ctypes.byref(self.stream), 1, 0)  # 1: does not wait for the default stream

    def __call__(self, function, *arguments):
        code = getattr(self.library, function)(*arguments)
        if code:
            text = ctypes.c_char_p()
            self.library.cuGetErrorName(code, ctypes.byref(text))
            raise RuntimeError(f"{function} failed: {text.value.decode() if text.value else code}")

    def wait(self):
        self("cuStreamSynchronize", self.stream)

    def allocate(self, size):
        address = ctypes.c_uint64()
        self("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(size))
        return address

    def write(self, address, array):
        self("cuMemcpyHtoDAsync_v2", address, array.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(array.nbytes),
             self.stream)
        self.wait()

    def read(self, address, like):
        array = np.empty_like(like)
        self("cuMemcpyDtoHAsync_v2", array.ctypes.data_as(ctypes.c_void_p), address, ctypes.c_size_t(array.nbytes),
             self.stream)
        self.wait()
        return array

    def attribute(self, function, number):
        value = ctypes.c_int()
        self("cuFuncGetAttribute", ctypes.byref(value), number, function)
        return value.value

    def load(self, candidate):
        """The kernel, ready to be launched; its module lives as long as the process."""
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        self("cuModuleLoadDataEx", ctypes.byref(module), ctypes.c_char_p(candidate.binary), 0, None, None)
        self("cuModuleGetFunction", ctypes.byref(function), module, candidate.entry.encode())
        if candidate.shared > 48 * 1024:
            self("cuFuncSetAttribute", function, self.MAX_SHARED, candidate.shared)
        candidate.registers = self.attribute(function, self.REGISTERS)
        candidate.spilled = self.attribute(function, self.LOCAL_BYTES)
        return function

    def event(self):
        event = ctypes.c_void_p()
        self("cuEventCreate", ctypes.byref(event), 0)
        return event

    def capture(self, call, count):
        graph, executable = ctypes.c_void_p(), ctypes.c_void_p()
        self("cuStreamBeginCapture_v2", self.stream, 1)  # 1: this thread's calls alone are watched
        for _ in range(count):
            call()
        self("cuStreamEndCapture", self.stream, ctypes.byref(graph))
        self("cuGraphInstantiateWithFlags", ctypes.byref(executable), graph, ctypes.c_uint64(0))
        self("cuGraphUpload", executable, self.stream)
        return executable


class Bench:
    """One kernel's buffers, and the candidates that work on them."""

    def __init__(self, arguments, cuda, case):
        self.arguments, self.cuda, self.case = arguments, cuda, case
        self.values = []
        for value in case.arguments:
            if isinstance(value, np.ndarray):
                address = cuda.allocate(value.nbytes)
                cuda.write(address, value)
                self.values.append(address)
            else:
                self.values.append(value)
        self.start, self.end = cuda.event(), cuda.event()

    def launcher(self, candidate):
        function = self.cuda.load(candidate)
        values = self.values + [ctypes.c_uint64(0)] * candidate.more_parameters
        pointers = (ctypes.c_void_p * len(values))(*[ctypes.cast(ctypes.byref(value), ctypes.c_void_p) for value in values])
        x, y, z = self.case.grid

        def launch(values=values):  # which keeps them alive
            self.cuda("cuLaunchKernel", function, x, y, z, candidate.threads, 1, 1, candidate.shared, self.cuda.stream,
                      pointers, None)

        return launch

    def milliseconds(self, call):
        elapsed = ctypes.c_float()
        self.cuda("cuEventRecord", self.start, self.cuda.stream)
        call()
        self.cuda("cuEventRecord", self.end, self.cuda.stream)
        self.cuda("cuEventSynchronize", self.end)
        self.cuda("cuEventElapsedTime", ctypes.byref(elapsed), self.start, self.end)
        return elapsed.value

    def result(self, launch):
        """The outputs of one launch into buffers as they were at the beginning."""
        for index, _, _ in self.case.outputs:
            self.cuda.write(self.values[index], self.case.arguments[index])
        launch()
        return [self.cuda.read(self.values[index], self.case.arguments[index]) for index, _, _ in self.case.outputs]

    def compare(self, launches):
        """The largest difference from the first, by its tolerance; above 1 is wrong."""
        first, worst, named = self.result(launches[0]), 0.0, []
        for launch in launches[1:]:
            off = 0.0
            for ours, theirs, (_, dtype, tolerance) in zip(self.result(launch), first, self.case.outputs):
                distance = difference(ours, theirs, dtype)
                off = max(off, distance / tolerance if tolerance else (0.0 if distance == 0 else float("inf")))
            named.append(off)
            worst = max(worst, off)
        return worst, named

    def time(self, candidates, launches):
        once = min(min(self.milliseconds(launch) for _ in range(3)) for launch in launches)
        count = max(1, min(200, round(self.arguments.graph_ms / max(once, 1e-3))))
        graphs = [self.cuda.capture(launch, count) for launch in launches]
        turns = list(zip(candidates, graphs))
        for replay in range(3 + self.arguments.replays):
            for candidate, graph in turns:
                taken = self.milliseconds(lambda graph=graph: self.cuda("cuGraphLaunch", graph, self.cuda.stream))
                if replay >= 3:
                    candidate.microseconds.append(1e3 * taken / count)
            turns = turns[1:] + turns[:1]
        return count


def measure(arguments, name, reply):
    """What the process of one kernel does."""
    global exported  # pylint: disable=global-statement
    try:
        exported = arguments.export and arguments.export.case(arguments.keys[name])
        case = CASES[name](arguments.shrink)
        candidates = compile_all(arguments, name, case)
        if {candidate.side for candidate in candidates} != {"heddle", "triton"}:
            raise RuntimeError("one side has no kernel")
        candidates.sort(key=lambda candidate: candidate.side, reverse=True)  # Triton's first is what all are held against
        if arguments.compile_only:
            reply.send({"kernel": name, "compiled": [candidate.needs() for candidate in candidates]})
            return
        reply.send("compiled")
        reply.recv()  # its turn
        cuda = Cuda(arguments)
        bench = Bench(arguments, cuda, case)
        launches = [bench.launcher(candidate) for candidate in candidates]
        worst, named = bench.compare(launches)
        launched = bench.time(candidates, launches)
        reply.send({"kernel": name, "class": case.kind, "device": cuda.name, "difference": worst, "differences": named, "launches": launched,
                    "gigabytes": case.gigabytes, "teraflop": case.teraflop,
                    "rows": [candidate.row() for candidate in candidates]})
    except Exception as error:  # pylint: disable=broad-exception-caught
        reply.send({"kernel": name, "error": f"{type(error).__name__}: {error}"})


class Process:
    """One kernel's: a kernel that fails ends the use of CUDA in its process. It compiles, and is timed when it is told to."""

    def __init__(self, arguments, name):
        context = multiprocessing.get_context("fork")
        self.name, self.deadline = name, time.monotonic() + SLOWEST_KERNEL_SECONDS * (1 + arguments.ahead)
        self.ours, theirs = context.Pipe()
        self.process = context.Process(target=measure, args=(arguments, name, theirs))
        self.process.start()
        theirs.close()

    def receive(self, seconds):
        try:
            if self.ours.poll(max(0.0, seconds)):
                return self.ours.recv()
            return {"kernel": self.name, "error": f"no result in time ({SLOWEST_KERNEL_SECONDS} s for a kernel)"}
        except EOFError:
            return {"kernel": self.name, "error": "its process ended without a word"}

    def result(self):
        result = self.receive(self.deadline - time.monotonic())
        if result == "compiled":
            self.ours.send("go")
            result = self.receive(SLOWEST_KERNEL_SECONDS)
        self.process.join(5)
        if self.process.is_alive():
            self.process.kill()
        return result


def run_all(arguments):
    """The results in order; kernels that are next are compiled meanwhile."""
    begun = collections.deque()
    names = iter(arguments.kernels)
    while True:
        while len(begun) <= arguments.ahead and (name := next(names, None)) is not None:
            begun.append(Process(arguments, name))
        if not begun:
            return
        yield begun.popleft().result()


def speed(result, microseconds):
    if result["gigabytes"]:
        return f"{result['gigabytes'] / microseconds * 1e6:.0f} GB/s"
    return f"{result['teraflop'] / microseconds * 1e6:.0f} TFLOP/s" if result["teraflop"] else ""


def describe_row(row):
    spilled = f" {row['local_bytes']} B spilled" if row["local_bytes"] else ""
    return f"{row['us']:.1f} ({row['options']}, {row['registers']}r{spilled})"


def report(result):
    """A line of the table; false when something is wrong."""
    if "error" in result:
        print(f"{result['kernel']}: error: {result['error']}", flush=True)
        return False
    if "compiled" in result:
        print(f"{result['kernel']} | " + " | ".join(f"{each['side']} {each['options']}: {each['threads']} threads, "
                                                    f"{each['shared_bytes']} B" for each in result["compiled"]), flush=True)
        return True
    sides = {side: sorted((row for row in result["rows"] if row["side"] == side), key=lambda row: row["us"])
             for side in ("heddle", "triton")}
    best = {side: rows[0] for side, rows in sides.items()}
    result["best"], result["ratio"] = best, best["triton"]["us"] / best["heddle"]["us"]
    right = result["difference"] <= 1
    print(f"{result['kernel']} {result['ratio']:.3f} {speed(result, best['heddle']['us'])}"
          + "".join(f" | {side} " + ", ".join(describe_row(row) for row in rows) for side, rows in sides.items())
          + ("" if right else f" | WRONG RESULTS, by tolerance: {result['differences']}"), flush=True)
    return right


def geometric_mean(ratios):
    return math.exp(statistics.fmean(math.log(ratio) for ratio in ratios))


def report_means(results):
    """The geometric mean of all, and of each class."""
    ratios = {}
    for result in results:
        if "ratio" in result:
            ratios.setdefault(result["class"], []).append(result["ratio"])
    everything = [ratio for each in ratios.values() for ratio in each]
    if everything:
        print(f"# geometric mean of {len(everything)}: {geometric_mean(everything):.3f}")
    for kind, each in ratios.items() if len(ratios) > 1 else []:
        print(f"#   {kind} ({len(each)}): {geometric_mean(each):.3f}")


def describe_case(arguments, key):
    """For an export: Triton IR, the digest of what made it, the sets of options, the divisor of sizes."""
    case = CASES[key.split("/")[1]](arguments.shrink)
    return case.path.read_text(), digest_of(case), case.options(arguments.warps), arguments.shrink


def export_triton(arguments):
    version, assembler = installed_triton()
    choose_kernels(arguments)
    writer = ExportWriter(arguments.export_triton, version, assembler)
    counts = export_all(writer, [arguments.keys[name] for name in arguments.kernels], lambda key: describe_case(arguments, key),
                        lambda _, path, warps, stages: triton_compiler.compile_kernel(path, warps, stages), arguments.jobs)
    print(f"# Triton {version} (ptxas {assembler}): {counts['cases']} cases, {counts['kernels']} kernels, {counts['refused']} "
          f"sets of options refused; `{arguments.export_triton}` has {writer.total_bytes() / 2**20:.1f} MiB")
    return 1 if counts["without"] else 0


def installed_triton():
    """Its version, and that of its ptxas."""
    try:
        return triton_compiler.versions()
    except ImportError as error:
        note = "install triton 3.6 or newer, or give `--triton-from FOLDER`"
        raise Refusal(f"Triton cannot be imported: {error}", note, 3) from error


def main():
    arguments = parse_arguments()
    if arguments.export_triton:
        return export_triton(arguments)
    arguments.export = Export(arguments.triton_from) if arguments.triton_from else None
    if arguments.export:
        stand_in_for_triton()
        triton, assembler = arguments.export.triton, arguments.export.assembler
    else:
        triton, assembler = installed_triton()
    choose_kernels(arguments)
    if arguments.export:
        arguments.export.check_cases([arguments.keys[name] for name in arguments.kernels])
    version = subprocess.run(shlex.split(arguments.heddle) + ["--version"], capture_output=True, text=True, check=False)
    if version.returncode:
        raise Refusal(f"`{arguments.heddle} --version` failed: {version.stderr}", "give `--heddle COMMAND`", 3)
    results, right = [], True
    made_by = f"ptxas {assembler}" if arguments.assemble == "own" else "the driver's assembler"
    beforehand = f"; compiled beforehand: {arguments.triton_from}" if arguments.export else ""
    print(f"# Triton {triton} ({made_by}{beforehand}), {version.stdout.strip()}"
          + ("\n# kernel | threads and shared memory of a block" if arguments.compile_only else
             f"; medians of {arguments.replays} replays of graphs of {arguments.graph_ms} ms\n# kernel, Triton's time by Heddle's, "
             "Heddle's speed | microseconds (w: warps, s: stages, r: registers), the fastest first"), flush=True)
    for result in run_all(arguments):
        right = report(result) and right
        results.append(result)
    report_means(results)
    if arguments.json:
        about = {"triton": triton, "triton_from": arguments.triton_from, "ptxas": assembler, "results": results}
        pathlib.Path(arguments.json).write_text(json.dumps(about, indent=1))
    return 0 if right else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Refusal as refusal:
        say(f"error: {refusal}\nnote: {refusal.note}")
        sys.exit(refusal.code)
