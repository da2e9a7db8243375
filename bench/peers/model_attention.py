# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attention's backward pass, windows and page tables, and recurrences: cases of model_kernels.py."""

import ctypes

import numpy as np
import triton
import triton.language as tl
from kernel_cases import CLOSE, pointers, registry
from triton_kernels import Case, integer, numbers, translate

CASES = {}
case = registry(CASES)


@triton.jit
def attention_dkdv(Q, K, V, DO, L, DELTA, DK, DV, length, scale, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr):
    head = tl.program_id(1).to(tl.int64) * length
    columns = tl.program_id(0) * BN + tl.arange(0, BN)
    dims = tl.arange(0, D)
    at = head * D + columns[:, None] * D + dims[None, :]
    k = tl.load(K + at)
    v = tl.load(V + at)
    dk = tl.zeros([BN, D], tl.float32)
    dv = tl.zeros([BN, D], tl.float32)
    for m in range(0, length, BM):
        rows = m + tl.arange(0, BM)
        q = tl.load(Q + head * D + rows[:, None] * D + dims[None, :])
        s = tl.dot(k, tl.trans(q))
        p = tl.math.exp2(s * scale - tl.load(L + head + rows)[None, :])
        do = tl.load(DO + head * D + rows[:, None] * D + dims[None, :])
        dv = tl.dot(p.to(do.dtype), do, dv)
        dp = tl.dot(v, tl.trans(do))
        ds = p * (dp - tl.load(DELTA + head + rows)[None, :])
        dk = tl.dot(ds.to(q.dtype), q, dk)
    tl.store(DK + at, (dk * scale).to(DK.dtype.element_ty))
    tl.store(DV + at, dv.to(DV.dtype.element_ty))


@triton.jit
def attention_dq(Q, K, V, DO, L, DELTA, DQ, length, scale, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr):
    head = tl.program_id(1).to(tl.int64) * length
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    dims = tl.arange(0, D)
    at = head * D + rows[:, None] * D + dims[None, :]
    q = tl.load(Q + at)
    do = tl.load(DO + at)
    sums = tl.load(L + head + rows)[:, None]
    delta = tl.load(DELTA + head + rows)[:, None]
    dq = tl.zeros([BM, D], tl.float32)
    for n in range(0, length, BN):
        columns = n + tl.arange(0, BN)
        k = tl.load(K + head * D + columns[:, None] * D + dims[None, :])
        v = tl.load(V + head * D + columns[:, None] * D + dims[None, :])
        p = tl.math.exp2(tl.dot(q, tl.trans(k)) * scale - sums)
        ds = p * (tl.dot(do, tl.trans(v)) - delta)
        dq = tl.dot(ds.to(k.dtype), k, dq)
    tl.store(DQ + at, (dq * scale).to(DQ.dtype.element_ty))


def backward(shrink, kernel, names, results, bm, bn, d):
    length, heads = 4096 // min(shrink, 16), 16 // min(shrink, 8)
    path = translate(kernel, pointers(f"Q:bf16 K:bf16 V:bf16 DO:bf16 L:fp32 DELTA:fp32 {names} length:=i32 scale:=fp32"),
                     {"BM": bm, "BN": bn, "D": d}, aligned=["length"])
    size = heads * length * d
    arguments = [*(numbers(size, seed, "bf16", 0.5) for seed in (1, 2, 3, 4)), numbers(heads * length, 5, scale=0.1) + 3,
                 numbers(heads * length, 6, scale=0.1), *(np.zeros(size, np.uint16) for _ in range(results)),
                 integer(length), ctypes.c_float(d**-0.5 * 1.44269504)]
    blocks = length // (bn if results == 2 else bm)
    return Case(path, (blocks, heads, 1), arguments, [(6 + i, "bf16", 0.02) for i in range(results)],
                teraflop=(6 + 2 * results - 2) * 1e-12 * heads * length * length * d, stages=[2, 3])


@case("attention backward")
def attention_dkdv_64x64_d64(shrink):
    return backward(shrink, attention_dkdv, "DK:bf16 DV:bf16", 2, 64, 64, 64)


@case("attention backward")
def attention_dkdv_64x128_d128(shrink):
    return backward(shrink, attention_dkdv, "DK:bf16 DV:bf16", 2, 64, 128, 128)


@case("attention backward")
def attention_dq_128x64_d64(shrink):
    return backward(shrink, attention_dq, "DQ:bf16", 1, 128, 64, 64)


@case("attention backward")
def attention_dq_64x64_d128(shrink):
    return backward(shrink, attention_dq, "DQ:bf16", 1, 64, 64, 128)


@triton.jit
def window_attention(Q, K, V, O, length, window, scale, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr):
    start = tl.program_id(0) * BM
    head = tl.program_id(1).to(tl.int64) * length * D
    rows = start + tl.arange(0, BM)
    dims = tl.arange(0, D)
    q = tl.load(Q + head + rows[:, None] * D + dims[None, :])
    largest = tl.full([BM], -1.0e6, tl.float32)
    total = tl.zeros([BM], tl.float32)
    acc = tl.zeros([BM, D], tl.float32)
    for n in range(tl.maximum(start - window, 0) // BN * BN, start + BM, BN):
        columns = n + tl.arange(0, BN)
        k = tl.load(K + head + columns[None, :] * D + dims[:, None])
        far = rows[:, None] - columns[None, :]
        s = tl.where((far >= 0) & (far < window), tl.dot(q, k) * scale, -1.0e6)
        new = tl.maximum(largest, tl.max(s, 1))
        p = tl.math.exp2(s - new[:, None])
        alpha = tl.math.exp2(largest - new)
        total = total * alpha + tl.sum(p, 1)
        v = tl.load(V + head + columns[:, None] * D + dims[None, :])
        acc = tl.dot(p.to(v.dtype), v, acc * alpha[:, None])
        largest = new
    tl.store(O + head + rows[:, None] * D + dims[None, :], (acc / total[:, None]).to(O.dtype.element_ty))


@case("attention")
def sliding_window_attention(shrink):
    length, heads, d, window = 8192 // min(shrink, 16), 16 // min(shrink, 8), 128, 1024
    path = translate(window_attention, pointers("Q:bf16 K:bf16 V:bf16 O:bf16 length:=i32 window:=i32 scale:=fp32"),
                     {"BM": 128, "BN": 64, "D": d}, aligned=["length"])
    size = heads * length * d
    arguments = [*(numbers(size, seed, "bf16") for seed in (1, 2, 3)), np.zeros(size, np.uint16), integer(length),
                 integer(window), ctypes.c_float(d**-0.5 * 1.44269504)]
    return Case(path, (length // 128, heads, 1), arguments, [(3, "bf16", CLOSE)],
                teraflop=4e-12 * heads * length * (window + 64) * d, stages=[2, 3])


@triton.jit
def paged_decode(Q, KC, VC, TABLE, O, pages, scale, HEADS: tl.constexpr, PAGE: tl.constexpr, D: tl.constexpr):
    sequence = tl.program_id(0)
    kv_head = tl.program_id(1)
    rows = tl.arange(0, 16)
    dims = tl.arange(0, D)
    group = tl.num_programs(1)
    at = (sequence * group + kv_head) * HEADS * D + rows[:, None] * D + dims[None, :]
    q = tl.load(Q + at, mask=rows[:, None] < HEADS, other=0.0)
    largest = tl.full([16], -1.0e6, tl.float32)
    total = tl.zeros([16], tl.float32)
    acc = tl.zeros([16, D], tl.float32)
    for i in range(0, pages):
        page = tl.load(TABLE + sequence * pages + i).to(tl.int64)
        slots = tl.arange(0, PAGE)
        base = (page * group + kv_head) * PAGE * D
        k = tl.load(KC + base + slots[None, :] * D + dims[:, None])
        s = tl.dot(q, k) * scale
        new = tl.maximum(largest, tl.max(s, 1))
        p = tl.math.exp2(s - new[:, None])
        alpha = tl.math.exp2(largest - new)
        total = total * alpha + tl.sum(p, 1)
        v = tl.load(VC + base + slots[:, None] * D + dims[None, :])
        acc = tl.dot(p.to(v.dtype), v, acc * alpha[:, None])
        largest = new
    tl.store(O + at, (acc / total[:, None]).to(O.dtype.element_ty), mask=rows[:, None] < HEADS)


@case("decoding")
def paged_attention(shrink):
    sequences, groups, heads, page, d, pages = 64 // min(shrink, 16), 8, 8, 64, 128, 64 // min(shrink, 8)
    count = sequences * pages
    path = translate(paged_decode, pointers("Q:bf16 KC:bf16 VC:bf16 TABLE:i32 O:bf16 pages:=i32 scale:=fp32"),
                     {"HEADS": heads, "PAGE": page, "D": d})
    size = count * groups * page * d
    arguments = [numbers(sequences * groups * heads * d, 1, "bf16"), numbers(size, 2, "bf16"), numbers(size, 3, "bf16"),
                 np.random.default_rng(4).permutation(count).astype(np.int32),
                 np.zeros(sequences * groups * heads * d, np.uint16), integer(pages), ctypes.c_float(d**-0.5 * 1.44269504)]
    return Case(path, (sequences, groups, 1), arguments, [(4, "bf16", CLOSE)], 4e-9 * size, stages=[2, 3])


@triton.jit
def linear_attention(Q, K, V, G, O, length, scale, BT: tl.constexpr, D: tl.constexpr):
    head = tl.program_id(0).to(tl.int64) * length
    dims = tl.arange(0, D)
    steps = tl.arange(0, BT)
    state = tl.zeros([D, D], tl.float32)
    for t in range(0, length, BT):
        at = head * D + (t + steps)[:, None] * D + dims[None, :]
        q = tl.load(Q + at)
        k = tl.load(K + at)
        v = tl.load(V + at)
        decay = tl.cumsum(tl.load(G + head + t + steps), 0)
        last = tl.sum(tl.load(G + head + t + steps), 0)
        s = tl.dot(q, tl.trans(k)) * tl.exp(decay[:, None] - decay[None, :])
        s = tl.where(steps[:, None] >= steps[None, :], s, 0.0)
        o = tl.dot(s.to(v.dtype), v) + tl.dot(q, state.to(q.dtype)) * tl.exp(decay)[:, None]
        tl.store(O + at, (o * scale).to(O.dtype.element_ty))
        kd = (k * tl.exp(last - decay)[:, None]).to(v.dtype)
        state = state * tl.exp(last) + tl.dot(tl.trans(kd), v)


@case("recurrence")
def gated_linear_attention(shrink):
    heads, length, d = 512 // min(shrink, 64), 4096 // min(shrink, 16), 64
    path = translate(linear_attention, pointers("Q:bf16 K:bf16 V:bf16 G:fp32 O:bf16 length:=i32 scale:=fp32"),
                     {"BT": 64, "D": d}, aligned=["length"])
    size = heads * length * d
    arguments = [*(numbers(size, seed, "bf16", 0.3) for seed in (1, 2, 3)), -np.abs(numbers(heads * length, 4, scale=0.05)),
                 np.zeros(size, np.uint16), integer(length), ctypes.c_float(d**-0.5)]
    return Case(path, (heads, 1, 1), arguments, [(4, "bf16", 0.02)], 8e-9 * size, stages=[1, 2])


@triton.jit
def selective_scan(X, DT, A, B, C, Y, length, channels, BD: tl.constexpr, S: tl.constexpr):
    batch = tl.program_id(1).to(tl.int64) * length
    d = tl.program_id(0) * BD + tl.arange(0, BD)
    s = tl.arange(0, S)
    a = tl.load(A + d[:, None] * S + s[None, :])
    state = tl.zeros([BD, S], tl.float32)
    for t in range(0, length):
        x = tl.load(X + (batch + t) * channels + d).to(tl.float32)
        dt = tl.load(DT + (batch + t) * channels + d).to(tl.float32)
        b = tl.load(B + (batch + t) * S + s).to(tl.float32)
        c = tl.load(C + (batch + t) * S + s).to(tl.float32)
        state = state * tl.exp(dt[:, None] * a) + (dt * x)[:, None] * b[None, :]
        tl.store(Y + (batch + t) * channels + d, tl.sum(state * c[None, :], 1).to(Y.dtype.element_ty))


@case("recurrence")
def mamba_scan(shrink):
    batches, length, channels, s = 8 // min(shrink, 4), 1024 // min(shrink, 16), 2048, 16
    path = translate(selective_scan, pointers("X:bf16 DT:bf16 A:fp32 B:bf16 C:bf16 Y:bf16 length:=i32 channels:=i32"),
                     {"BD": 64, "S": s}, aligned=["channels"])
    size = batches * length * channels
    arguments = [numbers(size, 1, "bf16"), np.resize(numbers(1 << 20, 2, "bf16", 0.1) & 0x7FFF, size),
                 -np.abs(numbers(channels * s, 3)), numbers(batches * length * s, 4, "bf16"),
                 numbers(batches * length * s, 5, "bf16"), np.zeros(size, np.uint16), integer(length), integer(channels)]
    return Case(path, (channels // 64, batches, 1), arguments, [(5, "bf16", 0.02)], 6e-9 * size)


@triton.jit
def causal_convolution(X, W, B, Y, length, channels, BT: tl.constexpr, BC: tl.constexpr):
    t = tl.program_id(0) * BT + tl.arange(0, BT)
    c = tl.program_id(1) * BC + tl.arange(0, BC)
    batch = tl.program_id(2).to(tl.int64) * length
    acc = tl.zeros([BT, BC], tl.float32) + tl.load(B + c).to(tl.float32)[None, :]
    for i in tl.static_range(4):
        at = t - 3 + i
        x = tl.load(X + (batch + at)[:, None] * channels + c[None, :], mask=(at >= 0)[:, None], other=0.0)
        acc += x.to(tl.float32) * tl.load(W + c * 4 + i).to(tl.float32)[None, :]
    tl.store(Y + (batch + t)[:, None] * channels + c[None, :], (acc * tl.sigmoid(acc)).to(Y.dtype.element_ty))


@case("convolution")
def depthwise_causal_convolution(shrink):
    batches, length, channels = 8 // min(shrink, 4), 4096 // min(shrink, 16), 4096
    path = translate(causal_convolution, pointers("X:bf16 W:bf16 B:bf16 Y:bf16 length:=i32 channels:=i32"),
                     {"BT": 32, "BC": 128}, aligned=["length", "channels"])
    size = batches * length * channels
    arguments = [numbers(size, 1, "bf16"), numbers(channels * 4, 2, "bf16"), numbers(channels, 3, "bf16"),
                 np.zeros(size, np.uint16), integer(length), integer(channels)]
    return Case(path, (length // 32, channels // 128, batches), arguments, [(3, "bf16", CLOSE)], 4e-9 * size)
