#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels of Heddle's library on one NVIDIA GPU, beside torchao's where it is installed.

`heddle compile kernel:NAME --target sm_90` gives the packages and the plan of a call. This script loads them through the
CUDA driver, captures one call (fills and launches) in a CUDA graph, and replays it. torchao's call is captured in a graph
of PyTorch. The two take turns; a row is the median over the replays. `of roofline` is the time in which a copy of this
device moves the least bytes of the call (inputs once, results once) by the measured time. Results are checked against
NumPy on samples, and against torchao's on the same samples.

    python3 bench/peers/fp8_kernels.py --json rows.json
    python3 bench/peers/fp8_kernels.py --heddle ./heddle --cases rowwise_2d --sweep
"""

import argparse
import ctypes
import itertools
import json
import pathlib
import shlex
import statistics
import struct
import subprocess
import sys
import tempfile

import numpy as np

import triton_kernels
from triton_kernels import ROOT, Cuda, Refusal, numbers, say

MOST = np.float32(448)
ELEMENTS = {"f32": np.float32, "f16": np.float16, "bf16": np.uint16, "i32": np.int32}  # others are bytes


# ---- The contract, in NumPy. ----
def fp8_codes(values):
    """f8E4M3FN codes of finite f32 numbers within its range, to nearest even."""
    positive = triton_kernels.fp8_values()[:127].astype(np.float64)
    size = np.abs(values).astype(np.float64)
    above = np.clip(np.searchsorted(positive, size), 1, 126)
    low, high = positive[above - 1], positive[above]
    middle = (low + high) / 2
    up = (size > middle) | ((size == middle) & (above % 2 == 0))
    codes = np.where(up, above, above - 1).astype(np.uint8)
    return codes | (np.signbit(values).astype(np.uint8) << 7)


def quantise(values, pow2):
    """The codes and the scale of numbers that share one."""
    scale = MOST / np.maximum(np.max(np.abs(values), initial=np.float32(0)), np.float32(1e-12))
    if pow2:
        scale = (np.float32(scale).view(np.uint32) & np.uint32(0x7F800000)).view(np.float32)
    return fp8_codes(np.clip(values * scale, -MOST, MOST)), np.float32(scale)


def floats(bits):
    return triton_kernels.as_floats(bits, "bf16")


# ---- The cases: the table of docs/kernels.md. ----
class Case:
    """`extents` and `options` of the call; `samples(inputs)` gives numbers, index of the codes, index of the scale."""

    elements = "bf16"

    def __init__(self, kernel, extents, samples, peers=(), options=None, tiles=None, groups=0):
        self.kernel, self.extents, self.samples, self.peers = kernel, extents, samples, peers
        self.options, self.tiles, self.groups = options or {}, tiles or {}, groups
        self.name = f"{kernel} " + " ".join(f"{key}={value}" for key, value in {**extents, **self.options}.items())


    def inputs(self):
        count = int(np.prod([value for name, value in self.extents.items() if name != "G"], dtype=np.int64))
        arrays = {"x": numbers(count, 5, "bf16")}
        if self.groups:
            arrays["offs"] = offsets(self.groups, self.extents["G"])
        return arrays

    def wrong(self, inputs, results):
        """How many samples differ from NumPy's."""
        bad = 0
        for values, place, scale_place in self.samples(inputs):
            expected, scale = quantise(values, True)
            bad += int(not np.array_equal(results["q"][place], expected) or results["scales"][scale_place] != scale)
        return bad


class Matmul(Case):
    """a (M, K) in f16 times 4-bit weights (K, N) in groups of 64 along K."""

    elements = "f16"

    def __init__(self, M, N, K, group=64):
        tiles = {"block_m": [64, 128, 256], "block_n": [64, 128], "splits": [1, 2, 4, 8], "warps": [4, 8]}
        if M <= 64:
            tiles = {"block_m": [8] if M <= 8 else [16] if M <= 16 else [64], "block_n": [16, 32, 64],
                     "parts": [1, 4, 8, 16], "splits": [1, 2, 4, 8], "warps": [4, 8]}
        super().__init__("int4_matmul", {"M": M, "inner": K, "K/2": K // 2, "N": N, "K/G": K // group}, None,
                         tiles={**tiles, "stages": [3, 4, 6]})
        self.shape = M, N, K, group

    def inputs(self):
        M, N, K, group = self.shape
        random = np.random.default_rng(6)
        return {"a": numbers(M * K, 7, "f16", 0.1).reshape(M, K), "b": random.integers(0, 256, (K // 2, N), np.uint8),
                "scales": (random.random((K // group, N), np.float32) * 0.1).astype(np.float16),
                "zeros": random.integers(0, 16, (K // group, N)).astype(np.float16)}

    def wrong(self, inputs, results):
        """Samples beyond what f32 sums, rounded to f16, may differ."""
        M, N, K, group = self.shape
        rows, columns, bad = sampled(M), sampled(N), 0
        for n in columns:
            packed = inputs["b"][:, n]
            q = np.stack([packed & 15, packed >> 4], 1).reshape(K).astype(np.float16)
            w = (q - np.repeat(inputs["zeros"][:, n], group)) * np.repeat(inputs["scales"][:, n], group)
            wanted = inputs["a"][rows].astype(np.float64) @ w.astype(np.float64)
            bad += int(np.sum(np.abs(results["c"][rows, n] - wanted) > 2e-3 * np.abs(wanted) + 5e-3))
        return bad


def fp8_numbers(count, seed):
    """Codes of f8E4M3FN, of numbers below 2, about as many of each."""
    random = np.random.default_rng(seed)
    return (random.integers(0, 0x40, count) | random.integers(0, 2, count) << 7).astype(np.uint8)


class GroupedMatmul(Case):
    """FP8 with scales of rows; groups of rows, each with weights, or groups along the sum, each with a result."""

    elements = "f8E4M3FN"

    def __init__(self, M, N, K, G, along_sum=False):
        super().__init__("fp8_grouped_matmul_2d_2d" if along_sum else "fp8_grouped_matmul_2d_3d",
                         {"M": M, "N": N, "K": K, "G": G}, None,
                         tiles={"block_m": [64, 128], "block_n": [64, 128], "block_k": [64, 128], "warps": [4, 8],
                                "stages": [2, 3, 4]})
        self.along_sum = along_sum

    def inputs(self):
        M, N, K, G = self.extents.values()
        right = (N, K) if self.along_sum else (G, N, K)
        random = np.random.default_rng(9)
        left_scales = random.random((G, M) if self.along_sum else M, np.float32)
        return {"left": fp8_numbers(M * K, 7).reshape(M, K), "right": fp8_numbers(int(np.prod(right)), 8).reshape(right),
                "left_scales": left_scales, "right_scales": random.random((G, N), np.float32),
                "offs": offsets(K if self.along_sum else M, G)}

    def wrong(self, inputs, results):
        """Samples that differ by more than the rounding to bf16 and of the sums."""
        values, bad = triton_kernels.fp8_values().astype(np.float64), 0
        for g in range(self.extents["G"]):
            group = group_of(inputs, g)
            for n in sampled(self.extents["N"], g, 4):
                if self.along_sum:
                    rows = sampled(self.extents["M"])
                    sums = values[inputs["left"][rows, group]] @ values[inputs["right"][n, group]]
                    wanted, made = sums * inputs["left_scales"][g, rows], results["c"][g, rows, n]
                else:
                    rows = np.arange(group.start, group.stop)[:40]
                    sums = values[inputs["left"][rows]] @ values[inputs["right"][g, n]]
                    wanted, made = sums * inputs["left_scales"][rows], results["c"][rows, n]
                wanted = wanted * inputs["right_scales"][g, n]
                bad += int(np.sum(np.abs(floats(made) - wanted) > 1e-2 * np.abs(wanted) + 1e-2))
        return bad


ROW_TILES = {"block_m": [1, 4, 16], "block_k": [512, 1024, 2048], "warps": [1, 2, 4, 8]}


class Moved(Case):
    """Kernels that move rows of bf16. `make` gives the inputs, and for each row of the result the one of the input, or -1: zeros."""

    def __init__(self, kernel, extents, options, make):
        super().__init__(kernel, extents, None, options=options, tiles=ROW_TILES)
        self.make, self.sources = make, None

    def inputs(self):
        arrays, self.sources = self.make()
        return arrays

    def wrong(self, inputs, results):
        given, made = next(iter(inputs.values())), next(iter(results.values()))
        return sum(int(not np.array_equal(made[row], given[self.sources[row]] if self.sources[row] >= 0 else 0 * made[row]))
                   for row in sampled(len(made)))


def padded_groups(M, G, align):
    """Ends of groups of any sizes, where the padded ones start, the rows with room for any groups, and the source of each."""
    ends = offsets(M, G, 1)
    sizes = np.diff(ends, prepend=0)
    starts = np.cumsum(-(-sizes // align) * align) - -(-sizes // align) * align
    sources = np.full(-(-(M + G * align) // align) * align, -1)
    for start, size, end in zip(starts, sizes, ends):
        sources[start : start + size] = np.arange(end - size, end)
    return ends, starts.astype(np.int32), sources


def pad(M, K, G, align=32):
    def make():
        ends, _, sources = padded_groups(M, G, align)
        return {"x": numbers(M * K, 5, "bf16").reshape(M, K), "offs": ends}, sources

    return Moved("token_group_pad", {"M": M, "K": K, "G": G}, {"align": align}, make)


def unpad(M, K, G, align=32):
    P = -(-(M + G * align) // align) * align

    def make():
        ends, starts, sources = padded_groups(M, G, align)
        back = np.flatnonzero(sources >= 0)
        return {"padded": numbers(P * K, 5, "bf16").reshape(P, K), "offs": ends, "starts": starts}, back

    return Moved("token_group_unpad", {"P": P, "K": K, "G": G}, {"rows": M}, make)


def permute(M, K, E, align=32):
    L = -(-(M + E * align) // align) * align

    def make():
        sources = np.random.default_rng(8).permutation(np.concatenate([np.arange(M), np.full(L - M, -1)]))
        return {"x": numbers(M * K, 5, "bf16").reshape(M, K), "indices": sources.astype(np.int32)}, sources

    return Moved("permute_rows", {"M": M, "K": K, "L": L}, {}, make)


def unpermute(M, K, E, align=32):
    L = -(-(M + E * align) // align) * align

    def make():
        sources = np.random.default_rng(8).permutation(np.concatenate([np.arange(M), np.full(L - M, -1)]))
        back = np.empty(M, np.int64)
        back[sources[sources >= 0]] = np.flatnonzero(sources >= 0)
        return {"y": numbers(L * K, 5, "bf16").reshape(L, K), "indices": sources.astype(np.int32)}, back

    return Moved("unpermute_rows", {"L": L, "K": K}, {"rows": M}, make)


class Indices(Case):
    """Indices of `tokens` rows from R ranks for E experts, all about as many."""

    def __init__(self, R, E, tokens, align=32):
        super().__init__("permute_indices", {"R": R, "E": E}, None, options={"length": tokens + E * align, "align": align},
                         tiles={"block": [128, 256, 512, 1024], "warps": [1, 2, 4, 8]})
        self.tokens = tokens

    def inputs(self):
        R, E = self.extents["R"], self.extents["E"]
        return {"counts": np.diff(offsets(self.tokens, R * E, 1), prepend=0).astype(np.int32).reshape(R, E)}

    def wrong(self, inputs, results):
        counts, align = inputs["counts"].astype(np.int64), self.options["align"]
        first = np.cumsum(counts).reshape(counts.shape) - counts
        wanted = np.full(self.options["length"], -1)
        at = 0
        for e in range(counts.shape[1]):
            rows = np.concatenate([np.arange(first[r, e], first[r, e] + counts[r, e]) for r in range(counts.shape[0])])
            wanted[at : at + len(rows)] = rows
            at += max(align, -(-len(rows) // align) * align)
        return int(np.sum(results["indices"] != wanted)) + int(results["ends"][-1] != at)


def sampled(count, seed=1, most=40):
    return np.unique(np.concatenate([[0, count - 1], np.random.default_rng(seed).integers(0, count, most)]))


ROWS = {"rows": [1, 2, 4], "block": [512, 1024, 2048], "warps": [2, 4, 8]}
TILES_3D = {"block_n": [64, 128], "block_k": [32, 64, 128], "warps": [4, 8]}
REDUCTION_3D = {"block_n": [32, 64, 128], "block_k": [16, 32, 64], "warps": [4, 8, 16]}
JAGGED_ROWS = {"block_m": [1, 2, 4, 8, 16], "block_k": [256, 512, 1024], "warps": [2, 4, 8]}
JAGGED_COLUMNS = {"block_n": [16, 32, 64, 128], "block_k": [32, 64, 128], "warps": [4, 8]}
COOPERATIVE_3D = {"shared_n": [128, 256, 512, 1024], "shared_k": [32, 64, 128], "warps": [4, 8]}
COOPERATIVE_COLUMNS = {"shared_k": [128, 256, 512], "shared_n": [32, 64, 128], "warps": [4, 8]}


def rowwise_2d(M, K):
    def samples(inputs):
        x = inputs["x"].reshape(M, K)
        for m in sampled(M):
            yield floats(x[m]), (m, slice(None)), (m,)

    return Case("fp8_rowwise_2d", {"M": M, "K": K}, samples, ["rowwise_2d"], tiles=ROWS)


def rowwise_3d(E, K, N, method):
    def samples(inputs):
        x = inputs["x"].reshape(E, N, K)
        for row in sampled(E * K):
            e, k = divmod(int(row), K)
            yield floats(x[e, :, k]), (e, k, slice(None)), (e, k)

    peer = "rowwise_3d_reduction" if method == "reduction" else "rowwise_3d"
    tiles = {"atomic": TILES_3D, "reduction": REDUCTION_3D, "cooperative": COOPERATIVE_3D}[method]
    return Case("fp8_rowwise_3d", {"E": E, "K": K, "N": N}, samples, [peer], {"method": method}, tiles)


def colwise_3d(E, K, N):
    def samples(inputs):
        x = inputs["x"].reshape(E, N, K)
        for column in sampled(E * N):
            e, n = divmod(int(column), N)
            yield floats(x[e, n]), (e, n, slice(None)), (e, n)

    return Case("fp8_colwise_3d", {"E": E, "K": K, "N": N}, samples, ["colwise_3d"], tiles=ROWS)


def group_of(inputs, g):
    ends = inputs["offs"]
    return slice(int(ends[g - 1]) if g else 0, int(ends[g]))


def jagged(kernel, extents, line, tiles, options=None):
    """Groups along K; `line` is the other axis: M, where a line is a row, or N."""
    lines, K, G = extents[line], extents["K"], extents["G"]

    def samples(inputs):
        x = inputs["x"].reshape(lines, K) if line == "M" else inputs["x"].reshape(K, lines).T
        for place in sampled(lines * G):
            g, at = divmod(int(place), lines)
            group = group_of(inputs, g)
            yield floats(x[at, group]), (at, group), (g, at)

    return Case("fp8_" + kernel, extents, samples, [kernel], options, tiles, K)


def jagged_rowwise(M, K, G):
    return jagged("jagged_rowwise", {"M": M, "K": K, "G": G}, "M", JAGGED_ROWS)


def jagged_colwise(K, N, G, method):
    tiles = {"reduction": JAGGED_COLUMNS, "cooperative": COOPERATIVE_COLUMNS}[method]
    return jagged("jagged_colwise", {"K": K, "N": N, "G": G}, "N", tiles, {"method": method})


class Dual(Case):
    """fp8_jagged_colwise of two matrices in one launch."""

    def __init__(self, K, N1, N2, G):
        super().__init__("fp8_jagged_colwise_dual", {"K": K, "N1": N1, "N2": N2, "G": G}, lambda inputs: (),
                         tiles=JAGGED_COLUMNS, groups=K)

    def inputs(self):
        K, N1, N2, G = self.extents.values()
        return {"x1": numbers(K * N1, 5, "bf16").reshape(K, N1), "x2": numbers(K * N2, 6, "bf16").reshape(K, N2),
                "offs": offsets(K, G)}

    def wrong(self, inputs, results):
        bad = 0
        for which in "12":
            lines = self.extents["N" + which]
            for place in sampled(lines * self.extents["G"]):
                g, n = divmod(int(place), lines)
                group = group_of(inputs, g)
                expected, scale = quantise(floats(np.ascontiguousarray(inputs["x" + which][group, n])), True)
                bad += int(not np.array_equal(results["q" + which][n, group], expected) or results["scales" + which][g, n] != scale)
        return bad


def mx_3d(E, M, K):
    """Blocks of 32x1, scales by rceil."""
    return Mx3d("mxfp8_quantise_3d", {"E": E, "M": M, "K": K}, None, options={"mode": "rceil"},
                tiles={"block_m": [32, 64, 128], "block_k": [32, 64, 128], "warps": [1, 2, 4, 8]})


class Mx3d(Case):
    def inputs(self):
        E, M, K = self.extents.values()
        return {"x": numbers(E * M * K, 5, "bf16").reshape(E, M, K)}

    def wrong(self, inputs, results):
        E, M, K = self.extents.values()
        bad = 0
        for place in sampled(E * K):
            e, k = divmod(int(place), K)
            blocks = floats(np.ascontiguousarray(inputs["x"][e, :, k])).reshape(M // 32, 32)
            exponents = np.ceil(np.log2((np.abs(blocks).max(1) / MOST).astype(np.float64)))
            codes = fp8_codes(np.clip(blocks * np.exp2(-exponents)[:, None], -MOST, MOST).astype(np.float32))
            bad += int(not np.array_equal(results["q"][e, k], codes.reshape(M)) or
                       not np.array_equal(results["scales"][e, k], exponents + 127))
        return bad


CASES = {
    "rowwise_2d": [rowwise_2d(16640, 5120), rowwise_2d(32768, 7168), rowwise_2d(131072, 2048)],
    "rowwise_3d": [rowwise_3d(*shape, method) for shape in [(1, 5120, 8192), (16, 5120, 8192), (32, 7168, 4096)]
                   for method in ("atomic", "reduction", "cooperative")],
    "colwise_3d": [colwise_3d(16, 5120, 8192)],
    "jagged_colwise": [jagged_colwise(*shape, method) for shape in [(16640, 5120, 16), (32768, 7168, 32), (32768, 2048, 128)]
                       for method in ("reduction", "cooperative")],
    "jagged_rowwise": [jagged_rowwise(5120, 16640, 16), jagged_rowwise(7168, 32768, 32)],
    "jagged_dual": [Dual(16640, 5120, 2048, 64), Dual(32768, 5120, 5120, 128)],
    "mxfp8_3d": [mx_3d(8, 2048, 7168)],
    "grouped_matmul": [GroupedMatmul(32768, 2048, 7168, 8), GroupedMatmul(7168, 2048, 32768, 8, along_sum=True)],
    "rows": [pad(131072, 7168, 8), unpad(131072, 7168, 8), permute(131072, 7168, 8), unpermute(131072, 7168, 8),
             Indices(8, 32, 131072)],
    "int4_matmul": [Matmul(1, 4096, 4096), Matmul(16, 4096, 4096), Matmul(64, 8192, 8192), Matmul(2048, 4096, 4096),
                    Matmul(4096, 8192, 8192)],
}


def offsets(total, groups, step=16):
    """Ends of groups of random sizes, multiples of `step`, some of them empty."""
    cuts = np.sort(np.random.default_rng(3).integers(0, total // step + 1, groups - 1)) * step
    return np.concatenate([cuts, [total]]).astype(np.int32)


# ---- torchao. ----
def torchao_calls():
    """Functions by name, of (x, offs) in the shapes of this script; empty without PyTorch and torchao."""
    try:
        import torch
        from torchao.prototype.moe_training import kernels
        from torchao.prototype.moe_training.kernels import float8_rowwise
    except ImportError as error:
        say(f"without torchao: {error}")
        return None, {}
    fp8 = torch.float8_e4m3fn
    calls = {
        "rowwise_2d": lambda case, x, offs: kernels.triton_fp8_rowwise_2d_scale_and_cast(
            x.view(case.extents["M"], case.extents["K"]), fp8, True),
        "rowwise_3d": lambda case, x, offs: kernels.triton_fp8_rowwise_3d_transpose_rhs(weights(case, x), fp8, True),
        "rowwise_3d_reduction": lambda case, x, offs: float8_rowwise.triton_fp8_rowwise_3d_transpose_rhs_fused_reduction(
            weights(case, x), fp8, True),
        "colwise_3d": lambda case, x, offs: kernels.triton_fp8_colwise_3d_scale_and_cast(weights(case, x), fp8, True),
        "jagged_rowwise": lambda case, x, offs: kernels.triton_fp8_per_group_rowwise_scales(
            x.view(case.extents["M"], case.extents["K"]), offs, fp8, True),
        "jagged_colwise": lambda case, x, offs: kernels.triton_fp8_per_group_colwise_scales(
            x.view(case.extents["K"], case.extents["N"]), offs, fp8, True),
    }
    return torch, calls


def weights(case, x):
    E, K, N = (case.extents[name] for name in ("E", "K", "N"))
    return x.view(E, N, K).transpose(-2, -1)


class TorchGraph:
    def __init__(self, torch, call):
        self.torch, self.graph, stream = torch, torch.cuda.CUDAGraph(), torch.cuda.Stream()
        with torch.cuda.stream(stream):
            for _ in range(3):
                call()
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph):
            self.results = call()
        self.start, self.end = (torch.cuda.Event(enable_timing=True) for _ in range(2))

    def milliseconds(self):
        self.start.record()
        self.graph.replay()
        self.end.record()
        self.end.synchronize()
        return self.start.elapsed_time(self.end)


# ---- Heddle. ----
class Call:
    """A plan of `heddle compile`, loaded, with its buffers."""

    def __init__(self, cuda, arguments, case, tiles, addresses):
        self.cuda, self.tiles = cuda, tiles
        shape = ",".join(f"{name}={value}" for name, value in case.extents.items())
        with tempfile.TemporaryDirectory() as folder:
            command = shlex.split(arguments.heddle) + ["compile", f"kernel:{case.kernel}", "--target", "sm_90", "--shape",
                                                       shape, "--elements", case.elements, "--json", "-o", folder]
            scales = {"pow2": "true"} if case.samples else {}
            for name, value in {**scales, **case.options, **tiles}.items():
                command += ["--arg", f"{name}={value}"]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                raise RuntimeError(f"`{shlex.join(command)}` failed:\n{done.stderr}")
            self.plan = json.loads(done.stdout)
            self.addresses = dict(addresses)
            for name, array in {**self.plan["results"], **self.plan["temporaries"]}.items():
                if name not in self.addresses:
                    self.addresses[name] = cuda.allocate(max(16, array["bytes"]))
            self.registers, self.spilled, self.keep = [], [], []
            self.steps = [self.step(pathlib.Path(folder), step) for step in self.plan["steps"]]

    def step(self, folder, step):
        if "fill" in step:
            name = step["fill"]
            size = {**self.plan["results"], **self.plan["temporaries"]}[name]["bytes"]
            return lambda: self.cuda("cuMemsetD8Async", self.addresses[name], ctypes.c_ubyte(step["byte"]),
                                     ctypes.c_size_t(size), self.cuda.stream)
        data = (folder / step["package"]).read_bytes()
        described, coded = struct.unpack_from("<QQ", data, 16)  # docs/package.md
        about = json.loads(data[32 : 32 + described])
        candidate = triton_kernels.Candidate("heddle", "", data[32 + described : 32 + described + coded] + b"\0", "",
                                             about["entry"], about["threads"], about["sharedBytes"], 1)
        function = self.cuda.load(candidate)
        self.registers.append(candidate.registers)
        self.spilled.append(candidate.spilled)
        values = []
        for argument, value in zip(about["arguments"], step["arguments"]):
            if argument["pointer"]:
                values.append(self.addresses[value])
            else:
                values.append(ctypes.c_int64(value) if argument["type"] == "i64" else ctypes.c_int32(value))
        values.append(ctypes.c_uint64(0))  # after the arguments: the record of the launch
        pointers = (ctypes.c_void_p * len(values))(*[ctypes.cast(ctypes.byref(value), ctypes.c_void_p) for value in values])
        self.keep.append((values, pointers))
        x, y, z = step["grid"]
        return lambda: self.cuda("cuLaunchKernel", function, x, y, z, about["threads"], 1, 1, about["sharedBytes"],
                                 self.cuda.stream, pointers, None)

    def __call__(self):
        for step in self.steps:
            step()

    def results(self):
        arrays = {}
        for name, array in self.plan["results"].items():
            data = self.cuda.read(self.addresses[name], np.empty(array["bytes"], np.uint8))
            arrays[name] = data.view(ELEMENTS.get(array["type"], np.uint8)).reshape(array["shape"])
        return arrays


def peer_wrong(case, inputs, results):
    """The same of torchao's results, whose layouts are seen as ours."""
    import torch

    q, scales = results
    q, scales = q.view(torch.uint8), scales.float()
    E = case.extents.get("E")
    if E:
        q = q.transpose(-2, -1)
        scales = scales.reshape(E, -1)
    elif case.kernel == "fp8_jagged_colwise":
        q, scales = q.t(), scales.reshape(case.extents["G"], -1)
    elif case.kernel == "fp8_jagged_rowwise":
        scales = scales.reshape(case.extents["G"], -1)
    else:
        scales = scales.reshape(-1)
    return case.wrong(inputs, {"q": q.cpu().numpy(), "scales": scales.cpu().numpy()})


class Bench:
    def __init__(self, arguments):
        self.arguments, self.cuda = arguments, Cuda(arguments)
        self.torch, self.peers = (None, {}) if arguments.no_peer else torchao_calls()
        self.start, self.end = self.cuda.event(), self.cuda.event()
        self.copied = self.copy_bandwidth()

    def milliseconds(self, graph):
        elapsed = ctypes.c_float()
        self.cuda("cuEventRecord", self.start, self.cuda.stream)
        self.cuda("cuGraphLaunch", graph, self.cuda.stream)
        self.cuda("cuEventRecord", self.end, self.cuda.stream)
        self.cuda("cuEventSynchronize", self.end)
        self.cuda("cuEventElapsedTime", ctypes.byref(elapsed), self.start, self.end)
        return elapsed.value

    def copy_bandwidth(self):
        size = 1 << 30
        one, other = self.cuda.allocate(size), self.cuda.allocate(size)
        graph = self.cuda.capture(lambda: self.cuda("cuMemcpyDtoDAsync_v2", other, one, ctypes.c_size_t(size),
                                                    self.cuda.stream), 1)
        best = min(self.milliseconds(graph) for _ in range(10))
        for address in (one, other):
            self.cuda("cuMemFree_v2", address)
        return 2e3 * size / best

    def place(self, arrays):
        """Addresses, and tensors of PyTorch where it is there."""
        if self.torch is None:
            addresses = {}
            for name, array in arrays.items():
                addresses[name] = self.cuda.allocate(array.nbytes)
                self.cuda.write(addresses[name], array)
            return addresses, {}
        tensors = {name: self.torch.from_numpy(array.view(np.int16) if array.dtype == np.uint16 else array).cuda()
                   for name, array in arrays.items()}
        if "x" in tensors:
            tensors["x"] = tensors["x"].view(self.torch.bfloat16)
        self.torch.cuda.synchronize()
        return {name: ctypes.c_uint64(tensor.data_ptr()) for name, tensor in tensors.items()}, tensors

    def tile_choices(self, case):
        if not self.arguments.sweep:
            return [{}]
        names = list(case.tiles)
        return [{}] + [dict(zip(names, values)) for values in itertools.product(*case.tiles.values())]

    def measure(self, case):
        arrays = case.inputs()
        addresses, tensors = self.place(arrays)
        row = {"case": case.name, "device": self.cuda.name, "copy_bytes_per_second": self.copied, "tried": []}
        peer = None
        for name in case.peers:
            if name in self.peers:
                try:
                    peer = TorchGraph(self.torch, lambda: self.peers[name](case, tensors["x"], tensors.get("offs")))
                    row["torchao_wrong_samples"] = peer_wrong(case, arrays, peer.results)
                except Exception as error:  # pylint: disable=broad-exception-caught
                    peer = None
                    row["torchao_error"] = f"{type(error).__name__}: {str(error)[:300]}"
        for tiles in self.tile_choices(case):
            try:
                row["tried"].append(self.candidate(case, tiles, arrays, addresses, peer))
            except RuntimeError as error:
                say(f"{case.name}: {tiles} left out: {str(error)[:300]}")
                if not tiles:
                    row["error"] = str(error)[:600]
        if row["tried"]:
            row["default"], row["best"] = row["tried"][0], min(row["tried"], key=lambda each: each["us"])
        if self.torch is None:
            for address in addresses.values():
                self.cuda("cuMemFree_v2", address)
        return row

    def candidate(self, case, tiles, arrays, addresses, peer):
        call = Call(self.cuda, self.arguments, case, tiles, addresses)
        own = [address for name, address in call.addresses.items() if name not in addresses]
        try:
            call()
            self.cuda.wait()
            bad = case.wrong(arrays, call.results())
            graph = self.cuda.capture(call, 1)
            ours, theirs = [], []
            for replay in range(3 + self.arguments.replays):
                for times, time in ((ours, lambda: self.milliseconds(graph)), (theirs, peer and peer.milliseconds)):
                    if time:
                        taken = 1e3 * time()
                        if replay >= 3:
                            times.append(taken)
            roofline = 1e6 * call.plan["leastBytes"] / self.copied
            result = {"tiles": tiles, "us": statistics.median(ours), "least_us": min(ours), "wrong_samples": bad,
                      "least_bytes": call.plan["leastBytes"], "roofline_us": roofline, "registers": call.registers,
                      "local_bytes": call.spilled, "operations": call.plan["operations"]}
            if theirs:
                result["torchao_us"] = statistics.median(theirs)
            return result
        finally:
            for address in own:
                self.cuda("cuMemFree_v2", address)


def report(row):
    """A line of the table; false when something is wrong."""
    if "default" not in row:
        print(f"{row['case']}: error: {row.get('error', 'nothing ran')}", flush=True)
        return False
    default, best = row["default"], row["best"]
    text = f"{row['case']}: {default['us']:.1f} us, {default['roofline_us'] / default['us']:.2f} of roofline"
    if default["operations"]:
        text += f", {default['operations'] / default['us'] / 1e6:.0f} TFLOP/s"
    if "torchao_us" in default:
        text += f", torchao {default['torchao_us']:.1f} us ({default['torchao_us'] / default['us']:.2f}x)"
    if row.get("torchao_wrong_samples"):
        text += f", torchao differs in {row['torchao_wrong_samples']} samples"
    if "torchao_error" in row:
        text += f", torchao failed: {row['torchao_error']}"
    if best is not default:
        text += f" | best {best['us']:.1f} us {best['tiles']}"
    if any(default["local_bytes"]):
        text += f" | spills {default['local_bytes']} B"
    bad = [each for each in row["tried"] if each["wrong_samples"]]
    print(text + (f" | WRONG: {[(each['tiles'], each['wrong_samples']) for each in bad]}" if bad else ""), flush=True)
    return not bad


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter,
                                     allow_abbrev=False)
    parser.add_argument("--cases", nargs="+", metavar="NAME", help=f"default all: {', '.join(CASES)}")
    parser.add_argument("--match", metavar="TEXT", default="", help="of these, the calls whose printed name contains TEXT")
    parser.add_argument("--heddle", default=str(ROOT / "build" / "bin" / "heddle"), help="the command, words and all")
    parser.add_argument("--sweep", action="store_true", help="also measure every choice of tile parameters")
    parser.add_argument("--no-peer", action="store_true", help="without torchao")
    parser.add_argument("--replays", type=int, default=30, help="that are timed; default 30")
    parser.add_argument("--device", type=int, default=0, help="the GPU's number; default 0")
    parser.add_argument("--json", metavar="FILE", help="all measurements")
    parser.add_argument("--libcuda", default="libcuda.so.1", help="default libcuda.so.1")
    arguments = parser.parse_args()
    for name in arguments.cases or []:
        if name not in CASES:
            raise Refusal(f"`--cases {name}`: no such case", f"there are {', '.join(CASES)}")
    arguments.chosen = [case for name in arguments.cases or CASES for case in CASES[name] if arguments.match in case.name]
    if not arguments.chosen:
        raise Refusal(f"`--match {arguments.match}`: no call's name contains that", "names are as `fp8_rowwise_2d M=16640 K=5120`")
    return arguments


def main():
    arguments = parse_arguments()
    bench, rows = Bench(arguments), []
    print(f"# {bench.cuda.name}: a copy moves {bench.copied / 1e9:.0f} GB/s", flush=True)
    for case in arguments.chosen:
        rows.append(bench.measure(case))
        rows[-1]["right"] = report(rows[-1])
        if arguments.json:
            pathlib.Path(arguments.json).write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    return 0 if all(row["right"] for row in rows) else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Refusal as refusal:
        say(f"fp8_kernels.py: error: {refusal}\n  note: {refusal.note}")
        sys.exit(refusal.code)
