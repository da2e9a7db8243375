# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels of training and inference code: backward passes, caches, mixtures of experts, recurrences, quantised matmuls.
Cases for triton_kernels.py:

    python3 bench/peers/triton_kernels.py --cases bench/peers/model_kernels.py --json rows.json

They are written as one reads them in such code, not for either compiler, with the tiles and warps that people start with.
"""

import ctypes

import numpy as np
import triton
import triton.language as tl
from triton_kernels import Case, fp8_numbers, integer, numbers, translate
from user_kernels import pointers

CASES = {}
CLOSE = 0.01  # of bf16 and f16 results


def case(kind):
    """Registers a function of `shrink` as a case of that class."""

    def register(function):
        CASES[function.__name__] = lambda shrink: function(shrink).of(kind)
        return function

    return register


def integers(count, limit, seed, dtype=np.int32):
    return np.random.default_rng(seed).integers(0, limit, count).astype(dtype)


# ---- Attention. ----
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


# ---- Matmuls. ----
@triton.jit
def expert_matmul(X, W, Y, SORTED, EXPERTS, N, K, tokens, TOP: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
                  BK: tl.constexpr):
    pid = tl.program_id(0)
    across = tl.cdiv(N, BN)
    block = pid // across
    columns = pid % across * BN + tl.arange(0, BN)
    slots = tl.load(SORTED + block * BM + tl.arange(0, BM))
    valid = slots < tokens * TOP
    expert = tl.load(EXPERTS + block).to(tl.int64)
    ks = tl.arange(0, BK)
    x = X + (slots // TOP)[:, None] * K + ks[None, :]
    w = W + expert * K * N + columns[None, :] * K + ks[:, None]
    acc = tl.zeros([BM, BN], tl.float32)
    for _ in range(0, K, BK):
        acc = tl.dot(tl.load(x, mask=valid[:, None], other=0.0), tl.load(w), acc)
        x += BK
        w += BK
    tl.store(Y + slots[:, None] * N + columns[None, :], acc.to(Y.dtype.element_ty), mask=valid[:, None])


def experts(shrink, tokens, bm, bn, bk):
    tokens, count, top, n, k = tokens // shrink, 8, 2, 2048, 2048
    chosen = np.random.default_rng(1).integers(0, count, tokens * top)
    slots, of = [], []
    for expert in range(count):
        mine = np.flatnonzero(chosen == expert)
        padded = np.concatenate([mine, np.full(-len(mine) % bm, tokens * top)])
        slots.append(padded)
        of += [expert] * (len(padded) // bm)
    slots = np.concatenate(slots).astype(np.int32)
    path = translate(expert_matmul, pointers("X:bf16 W:bf16 Y:bf16 SORTED:i32 EXPERTS:i32 N:=i32 K:=i32 tokens:=i32"),
                     {"TOP": top, "BM": bm, "BN": bn, "BK": bk}, aligned=["N", "K"])
    arguments = [numbers(tokens * k, 2, "bf16"), numbers(count * n * k, 3, "bf16"), np.zeros(tokens * top * n, np.uint16),
                 slots, np.array(of, np.int32), integer(n), integer(k), integer(tokens)]
    return Case(path, (len(of) * (n // bn), 1, 1), arguments, [(2, "bf16", CLOSE)],
                teraflop=2e-12 * tokens * top * n * k, stages=[3, 4])


@case("experts")
def experts_128x128x64(shrink):
    return experts(shrink, 8192, 128, 128, 64)


@case("experts")
def experts_of_few_tokens_16x128x128(shrink):
    return experts(shrink, 64, 16, 128, 128)


@triton.jit
def scaled_int8(A, B, SA, SB, C, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    ks = tl.arange(0, BK)
    acc = tl.zeros([BM, BN], tl.int32)
    for k in range(0, K, BK):
        a = tl.load(A + rows[:, None] * K + (k + ks)[None, :])
        b = tl.load(B + columns[None, :] * K + (k + ks)[:, None])
        acc = tl.dot(a, b, acc, out_dtype=tl.int32)
    scale = tl.load(SA + rows)[:, None] * tl.load(SB + columns)[None, :]
    tl.store(C + rows[:, None] * N + columns[None, :], (acc.to(tl.float32) * scale).to(C.dtype.element_ty))


@case("quantised matmul")
def int8_rows_and_columns(shrink):
    m = n = k = 4096 // min(shrink, 16)
    path = translate(scaled_int8, pointers("A:i8 B:i8 SA:fp32 SB:fp32 C:bf16 M:=i32 N:=i32 K:=i32"),
                     {"BM": 128, "BN": 128, "BK": 128}, aligned=["M", "N", "K"])
    arguments = [integers(m * k, 256, 1, np.int8), integers(n * k, 256, 2, np.int8), np.abs(numbers(m, 3)),
                 np.abs(numbers(n, 4)), np.zeros(m * n, np.uint16), integer(m), integer(n), integer(k)]
    return Case(path, (m // 128, n // 128, 1), arguments, [(4, "bf16", CLOSE)], teraflop=2e-12 * m * n * k, stages=[3, 4])


@triton.jit
def block_scaled(A, B, SA, SB, C, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    pid = tl.program_id(0)
    across = tl.cdiv(N, BN)
    rows = pid // across * BM + tl.arange(0, BM)
    columns = pid % across * BN + tl.arange(0, BN)
    ks = tl.arange(0, BK)
    a = A + rows[:, None] * K + ks[None, :]
    b = B + columns[None, :] * K + ks[:, None]
    sa = SA + rows * tl.cdiv(K, BK)
    sb = SB + (columns // 128) * tl.cdiv(K, BK)
    acc = tl.zeros([BM, BN], tl.float32)
    for i in range(0, tl.cdiv(K, BK)):
        part = tl.dot(tl.load(a), tl.load(b))
        acc += part * tl.load(sa + i)[:, None] * tl.load(sb + i)[None, :]
        a += BK
        b += BK
    tl.store(C + rows[:, None] * N + columns[None, :], acc.to(C.dtype.element_ty))


@case("quantised matmul")
def fp8_by_blocks_of_128(shrink):
    m, n, k = 4096 // min(shrink, 8), 4096 // min(shrink, 8), 4096 // min(shrink, 8)
    path = translate(block_scaled, pointers("A:fp8e4nv B:fp8e4nv SA:fp32 SB:fp32 C:bf16 M:=i32 N:=i32 K:=i32"),
                     {"BM": 64, "BN": 128, "BK": 128}, aligned=["M", "N", "K"])
    arguments = [fp8_numbers(m * k, 1), fp8_numbers(n * k, 2), np.abs(numbers(m * k // 128, 3)),
                 np.abs(numbers(n * k // 128 // 128, 4)), np.zeros(m * n, np.uint16), integer(m), integer(n), integer(k)]
    return Case(path, (m // 64 * (n // 128), 1, 1), arguments, [(4, "bf16", 0.02)], teraflop=2e-12 * m * n * k,
                stages=[3, 4])


@triton.jit
def int4_matmul(A, B, S, Z, C, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    ks = tl.arange(0, BK)
    acc = tl.zeros([BM, BN], tl.float32)
    for k in range(0, K, BK):
        at = k + ks
        a = tl.load(A + rows[:, None] * K + at[None, :])
        words = tl.load(B + (at // 8)[:, None] * N + columns[None, :])
        group = k // GROUP
        scale = tl.load(S + group * N + columns)[None, :]
        zero = tl.load(Z + group * N + columns)[None, :]
        b = ((words >> ((at % 8) * 4)[:, None]) & 15).to(tl.float16)
        acc = tl.dot(a, (b - zero) * scale, acc)
    tl.store(C + rows[:, None] * N + columns[None, :], acc.to(C.dtype.element_ty))


def int4_case(shrink, m, bm, bn):
    m, n, k, group = max(m // shrink, bm), 4096 // min(shrink, 8), 4096 // min(shrink, 8), 128
    path = translate(int4_matmul, pointers("A:fp16 B:i32 S:fp16 Z:fp16 C:fp16 M:=i32 N:=i32 K:=i32"),
                     {"BM": bm, "BN": bn, "BK": 64, "GROUP": group}, aligned=["M", "N", "K"])
    words = np.random.default_rng(2).integers(0, 1 << 32, n * k // 8, np.uint32).view(np.int32)
    arguments = [numbers(m * k, 1, "f16"), words, numbers(n * k // group, 3, "f16", 0.05), numbers(n * k // group, 4, "f16"),
                 np.zeros(m * n, np.float16), integer(m), integer(n), integer(k)]
    return Case(path, (m // bm, n // bn, 1), arguments, [(4, "f16", 0.02)], teraflop=2e-12 * m * n * k, stages=[3, 4])


@case("quantised matmul")
def int4_groups_128x128(shrink):
    return int4_case(shrink, 4096, 128, 128)


@case("decoding")
def int4_groups_16_rows(shrink):
    return int4_case(shrink, 16, 16, 64)


@triton.jit
def split_k(A, B, C, M, N, K, per, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.arange(0, BM)
    columns = tl.program_id(0) * BN + tl.arange(0, BN)
    first = tl.program_id(1) * per
    acc = tl.zeros([BM, BN], tl.float32)
    for k in range(first, first + per, BK):
        at = k + tl.arange(0, BK)
        a = tl.load(A + rows[:, None] * K + at[None, :], mask=rows[:, None] < M, other=0.0)
        acc = tl.dot(a, tl.load(B + columns[None, :] * K + at[:, None]), acc)
    tl.atomic_add(C + rows[:, None] * N + columns[None, :], acc, mask=rows[:, None] < M, sem="relaxed")


@case("decoding")
def linear_of_8_rows_split_k(shrink):
    m, n, k = 8, 8192 // min(shrink, 8), 8192 // min(shrink, 8)
    path = translate(split_k, pointers("A:bf16 B:bf16 C:fp32 M:=i32 N:=i32 K:=i32 per:=i32"), {"BM": 16, "BN": 64, "BK": 128},
                     aligned=["N", "K", "per"])
    arguments = [numbers(m * k, 1, "bf16"), numbers(n * k, 2, "bf16"), np.zeros(m * n, np.float32), integer(m), integer(n),
                 integer(k), integer(k // 4)]
    return Case(path, (n // 64, 4, 1), arguments, [(2, "f32", 1e-2)], 2e-9 * n * k, stages=[3, 4])


@triton.jit
def lora(X, A, B, Y, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, R: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    rank = tl.arange(0, R)
    low = tl.zeros([BM, R], tl.float32)
    for k in range(0, K, BK):
        at = k + tl.arange(0, BK)
        low = tl.dot(tl.load(X + rows[:, None] * K + at[None, :]), tl.load(A + at[:, None] * R + rank[None, :]), low)
    small = low.to(tl.bfloat16)
    for n in range(0, N, BN):
        columns = n + tl.arange(0, BN)
        part = tl.dot(small, tl.load(B + rank[:, None] * N + columns[None, :]))
        y = Y + rows[:, None] * N + columns[None, :]
        tl.store(y, (tl.load(y).to(tl.float32) + part).to(tl.bfloat16))


@case("linear")
def lora_of_rank_16(shrink):
    m, n, k = 16384 // shrink, 4096 // min(shrink, 8), 4096 // min(shrink, 8)
    path = translate(lora, pointers("X:bf16 A:bf16 B:bf16 Y:bf16 M:=i32 N:=i32 K:=i32"),
                     {"BM": 64, "BN": 128, "BK": 64, "R": 16}, aligned=["M", "N", "K"])
    arguments = [numbers(m * k, 1, "bf16"), numbers(k * 16, 2, "bf16", 0.1), numbers(n * 16, 3, "bf16", 0.1),
                 np.zeros(m * n, np.uint16), integer(m), integer(n), integer(k)]
    return Case(path, (m // 64, 1, 1), arguments, [(3, "bf16", CLOSE)], 2e-9 * (m * k + 2 * m * n))


@triton.jit
def convolution(X, W, Y, height, width, C, N, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    pixels = tl.program_id(0) * BM + tl.arange(0, BM)
    y = pixels // width % height
    x = pixels % width
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros([BM, BN], tl.float32)
    for tap in range(0, 9):
        dy = tap // 3 - 1
        dx = tap % 3 - 1
        inside = (y + dy >= 0) & (y + dy < height) & (x + dx >= 0) & (x + dx < width)
        from_ = pixels + dy * width + dx
        for c in range(0, C, BK):
            at = c + tl.arange(0, BK)
            a = tl.load(X + from_[:, None] * C + at[None, :], mask=inside[:, None], other=0.0)
            b = tl.load(W + (tap * C + at)[:, None] * N + columns[None, :])
            acc = tl.dot(a, b, acc)
    tl.store(Y + pixels[:, None] * N + columns[None, :], acc.to(Y.dtype.element_ty))


@case("convolution")
def convolution_3x3(shrink):
    images, height, width, c, n = max(16 // shrink, 1), 64, 64, 256 // min(shrink, 4), 256
    path = translate(convolution, pointers("X:fp16 W:fp16 Y:fp16 height:=i32 width:=i32 C:=i32 N:=i32"),
                     {"BM": 128, "BN": 128, "BK": 64}, aligned=["C", "N"])
    pixels = images * height * width
    arguments = [numbers(pixels * c, 1, "f16"), numbers(9 * c * n, 2, "f16", 0.1), np.zeros(pixels * n, np.float16),
                 integer(height), integer(width), integer(c), integer(n)]
    return Case(path, (pixels // 128, n // 128, 1), arguments, [(2, "f16", CLOSE)], teraflop=18e-12 * pixels * c * n,
                stages=[3, 4])


@triton.jit
def small_matmuls(A, B, C, S: tl.constexpr):
    base = tl.program_id(0).to(tl.int64) * S * S
    i = tl.arange(0, S)
    at = base + i[:, None] * S + i[None, :]
    tl.store(C + at, tl.dot(tl.load(A + at), tl.load(B + at)).to(C.dtype.element_ty))


@case("linear")
def many_matmuls_of_64(shrink):
    count, s = 32768 // shrink, 64
    path = translate(small_matmuls, pointers("A:bf16 B:bf16 C:bf16"), {"S": s})
    size = count * s * s
    return Case(path, (count, 1, 1), [numbers(size, 1, "bf16"), numbers(size, 2, "bf16"), np.zeros(size, np.uint16)],
                [(2, "bf16", CLOSE)], 6e-9 * size)


# ---- Recurrences. ----
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


# ---- Rows. ----
@triton.jit
def router(X, WEIGHTS, INDICES, tokens, EXPERTS: tl.constexpr, TOP: tl.constexpr, BM: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    e = tl.arange(0, EXPERTS)
    x = tl.load(X + rows[:, None] * EXPERTS + e[None, :], mask=rows[:, None] < tokens, other=0.0).to(tl.float32)
    p = tl.exp(x - tl.max(x, 1)[:, None])
    p = p / tl.sum(p, 1)[:, None]
    for i in tl.static_range(TOP):
        best = tl.argmax(p, 1)
        tl.store(WEIGHTS + rows * TOP + i, tl.max(p, 1), mask=rows < tokens)
        tl.store(INDICES + rows * TOP + i, best, mask=rows < tokens)
        p = tl.where(e[None, :] == best[:, None], -1.0, p)


@case("routing")
def router_of_128_experts(shrink):
    tokens, count, top = 65536 // shrink, 128, 4
    path = translate(router, pointers("X:fp32 WEIGHTS:fp32 INDICES:i32 tokens:=i32"), {"EXPERTS": count, "TOP": top, "BM": 16},
                     aligned=["tokens"])
    arguments = [numbers(tokens * count, 1), np.zeros(tokens * top, np.float32), np.zeros(tokens * top, np.int32),
                 integer(tokens)]
    return Case(path, (tokens // 16, 1, 1), arguments, [(1, "f32", 1e-4), (2, "i32", 0)], 4e-9 * tokens * count)


@triton.jit
def loss_backward(X, T, LSE, cols, scale, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    target = tl.load(T + row)
    lse = tl.load(LSE + row)
    for c in range(0, cols, BLOCK):
        at = c + tl.arange(0, BLOCK)
        x = tl.load(X + row * cols + at, mask=at < cols, other=float("-inf")).to(tl.float32)
        g = (tl.exp(x - lse) - tl.where(at == target, 1.0, 0.0)) * scale
        tl.store(X + row * cols + at, g.to(X.dtype.element_ty), mask=at < cols)


@case("loss over long rows")
def cross_entropy_backward(shrink):
    rows, cols = 4096 // shrink, 50257
    path = translate(loss_backward, pointers("X:bf16 T:i32 LSE:fp32 cols:=i32 scale:=fp32"), {"BLOCK": 4096})
    arguments = [numbers(rows * cols, 1, "bf16"), integers(rows, cols, 2), numbers(rows, 3) + 11, integer(cols),
                 ctypes.c_float(1e-2)]
    return Case(path, (rows, 1, 1), arguments, [(0, "bf16", CLOSE)], 4e-9 * rows * cols)


@triton.jit
def softmax_backward(P, DP, DX, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    p = tl.load(P + row * cols + c, mask=c < cols, other=0.0).to(tl.float32)
    dp = tl.load(DP + row * cols + c, mask=c < cols, other=0.0).to(tl.float32)
    dx = p * (dp - tl.sum(p * dp, 0))
    tl.store(DX + row * cols + c, dx.to(DX.dtype.element_ty), mask=c < cols)


@case("norm backward")
def softmax_backward_of_2048(shrink):
    rows, cols = 65536 // shrink, 2000
    path = translate(softmax_backward, pointers("P:fp16 DP:fp16 DX:fp16 cols:=i32"), {"BLOCK": 2048}, aligned=["cols"])
    size = rows * cols
    return Case(path, (rows, 1, 1), [numbers(size, 1, "f16"), numbers(size, 2, "f16"), np.zeros(size, np.float16),
                                     integer(cols)], [(2, "f16", 0.02)], 6e-9 * size)


@triton.jit
def rms_norm_backward(X, W, DY, DX, DW, cols, eps, rows, PER: tl.constexpr, BLOCK: tl.constexpr):
    c = tl.arange(0, BLOCK)
    w = tl.load(W + c, mask=c < cols, other=0.0).to(tl.float32)
    dw = tl.zeros([BLOCK], tl.float32)
    for i in range(0, PER):
        row = tl.program_id(0) * PER + i
        x = tl.load(X + row * cols + c, mask=c < cols, other=0.0).to(tl.float32)
        dy = tl.load(DY + row * cols + c, mask=c < cols, other=0.0).to(tl.float32)
        r = tl.rsqrt(tl.sum(x * x, 0) / cols + eps)
        wdy = w * dy
        dx = r * (wdy - x * r * r * tl.sum(wdy * x, 0) / cols)
        tl.store(DX + row * cols + c, dx.to(DX.dtype.element_ty), mask=c < cols)
        dw += dy * x * r
    tl.store(DW + tl.program_id(0) * cols + c, dw, mask=c < cols)


@case("norm backward")
def rms_norm_backward_partial(shrink):
    rows, cols, per = 16384 // shrink, 2048, 16
    path = translate(rms_norm_backward, pointers("X:bf16 W:bf16 DY:bf16 DX:bf16 DW:fp32 cols:=i32 eps:=fp32 rows:=i32"),
                     {"PER": per, "BLOCK": 2048}, aligned=["cols", "rows"])
    size = rows * cols
    arguments = [numbers(size, 1, "bf16"), numbers(cols, 2, "bf16"), numbers(size, 3, "bf16"), np.zeros(size, np.uint16),
                 np.zeros(rows // per * cols, np.float32), integer(cols), ctypes.c_float(1e-6), integer(rows)]
    return Case(path, (rows // per, 1, 1), arguments, [(3, "bf16", 0.02), (4, "f32", 1e-2)], 6e-9 * size)


@triton.jit
def group_norm(X, W, B, Y, channels, pixels, eps, GROUP: tl.constexpr, BLOCK: tl.constexpr):
    groups = channels // GROUP
    base = tl.program_id(0).to(tl.int64) * GROUP * pixels
    first = tl.program_id(0) % groups * GROUP
    count = GROUP * pixels
    total = tl.zeros([BLOCK], tl.float32)
    squares = tl.zeros([BLOCK], tl.float32)
    for i in range(0, count, BLOCK):
        at = i + tl.arange(0, BLOCK)
        x = tl.load(X + base + at, mask=at < count, other=0.0).to(tl.float32)
        total += x
        squares += x * x
    mean = tl.sum(total, 0) / count
    scale = tl.rsqrt(tl.sum(squares, 0) / count - mean * mean + eps)
    for i in range(0, count, BLOCK):
        at = i + tl.arange(0, BLOCK)
        x = tl.load(X + base + at, mask=at < count, other=0.0).to(tl.float32)
        channel = first + at // pixels
        w = tl.load(W + channel, mask=at < count, other=0.0).to(tl.float32)
        b = tl.load(B + channel, mask=at < count, other=0.0).to(tl.float32)
        y = (x - mean) * scale * w + b
        tl.store(Y + base + at, (y * tl.sigmoid(y)).to(Y.dtype.element_ty), mask=at < count)


@case("norm forward")
def group_norm_silu(shrink):
    images, channels, pixels, group = max(64 // shrink, 1), 512, 1024, 16
    path = translate(group_norm, pointers("X:fp16 W:fp16 B:fp16 Y:fp16 channels:=i32 pixels:=i32 eps:=fp32"),
                     {"GROUP": group, "BLOCK": 2048}, aligned=["channels", "pixels"])
    size = images * channels * pixels
    arguments = [numbers(size, 1, "f16"), numbers(channels, 2, "f16"), numbers(channels, 3, "f16"), np.zeros(size, np.float16),
                 integer(channels), integer(pixels), ctypes.c_float(1e-5)]
    return Case(path, (images * channels // group, 1, 1), arguments, [(3, "f16", CLOSE)], 4e-9 * size)


@triton.jit
def group_quantise(X, Y, S, cols, GROUP: tl.constexpr, BG: tl.constexpr):
    groups = tl.program_id(0) * BG + tl.arange(0, BG)
    at = groups[:, None].to(tl.int64) * GROUP + tl.arange(0, GROUP)[None, :]
    x = tl.load(X + at).to(tl.float32)
    scale = tl.maximum(tl.max(tl.abs(x), 1), 1e-10) / 448.0
    tl.store(Y + at, tl.clamp(x / scale[:, None], -448.0, 448.0).to(Y.dtype.element_ty))
    tl.store(S + groups, scale)


@case("quantisation")
def fp8_groups_of_128(shrink):
    rows, cols = 16384 // shrink, 7168
    path = translate(group_quantise, pointers("X:bf16 Y:fp8e4nv S:fp32 cols:=i32"), {"GROUP": 128, "BG": 16}, aligned=["cols"])
    size = rows * cols
    arguments = [numbers(size, 1, "bf16"), np.zeros(size, np.uint8), np.zeros(size // 128, np.float32), integer(cols)]
    return Case(path, (size // 128 // 16, 1, 1), arguments, [(2, "f32", 1e-4)], 3e-9 * size)


@triton.jit
def rotate_pairs(X, COS, SIN, Y, heads, D: tl.constexpr, BH: tl.constexpr):
    token = tl.program_id(0)
    h = tl.program_id(1) * BH + tl.arange(0, BH)
    d = tl.arange(0, D)
    half = tl.arange(0, D // 2)
    at = token.to(tl.int64) * heads * D + h[:, None] * D + d[None, :]
    x = tl.load(X + at).to(tl.float32)
    even, odd = tl.split(tl.reshape(x, [BH, D // 2, 2]))
    c = tl.load(COS + token * (D // 2) + half)[None, :]
    s = tl.load(SIN + token * (D // 2) + half)[None, :]
    y = tl.reshape(tl.join(even * c - odd * s, even * s + odd * c), [BH, D])
    tl.store(Y + at, y.to(Y.dtype.element_ty))


@case("elementwise")
def rotary_of_pairs(shrink):
    tokens, heads, d = 8192 // shrink, 32, 128
    path = translate(rotate_pairs, pointers("X:bf16 COS:fp32 SIN:fp32 Y:bf16 heads:=i32"), {"D": d, "BH": 16},
                     aligned=["heads"])
    size = tokens * heads * d
    arguments = [numbers(size, 1, "bf16"), numbers(tokens * d // 2, 2), numbers(tokens * d // 2, 3), np.zeros(size, np.uint16),
                 integer(heads)]
    return Case(path, (tokens, heads // 16, 1), arguments, [(3, "bf16", CLOSE)], 4e-9 * size)


@triton.jit
def swiglu_backward(DY, G, U, DG, DU, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = at < n
    dy = tl.load(DY + at, mask=m).to(tl.float32)
    g = tl.load(G + at, mask=m).to(tl.float32)
    u = tl.load(U + at, mask=m).to(tl.float32)
    s = tl.sigmoid(g)
    tl.store(DG + at, (dy * u * s * (1 + g * (1 - s))).to(DG.dtype.element_ty), mask=m)
    tl.store(DU + at, (dy * g * s).to(DU.dtype.element_ty), mask=m)


@case("elementwise")
def swiglu_backward_bf16(shrink):
    n = (1 << 26) // shrink
    path = translate(swiglu_backward, pointers("DY:bf16 G:bf16 U:bf16 DG:bf16 DU:bf16 n:=i32"), {"BLOCK": 1024}, aligned=["n"])
    arguments = [*(numbers(n, seed, "bf16") for seed in (1, 2, 3)), np.zeros(n, np.uint16), np.zeros(n, np.uint16), integer(n)]
    return Case(path, (n // 1024, 1, 1), arguments, [(3, "bf16", CLOSE), (4, "bf16", CLOSE)], 10e-9 * n)


@triton.jit
def add_rows(IDS, DY, DW, cols, BLOCK: tl.constexpr):
    token = tl.program_id(0)
    c = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    row = tl.load(IDS + token).to(tl.int64)
    dy = tl.load(DY + token.to(tl.int64) * cols + c, mask=c < cols, other=0.0).to(tl.float32)
    tl.atomic_add(DW + row * cols + c, dy, mask=c < cols, sem="relaxed")


@case("scatter")
def embedding_backward(shrink):
    tokens, cols, words = 16384 // shrink, 4096, 32000 // shrink
    path = translate(add_rows, pointers("IDS:i32 DY:bf16 DW:fp32 cols:=i32"), {"BLOCK": 1024}, aligned=["cols"])
    arguments = [integers(tokens, words, 1), numbers(tokens * cols, 2, "bf16"), np.zeros(words * cols, np.float32), integer(cols)]
    return Case(path, (tokens, cols // 1024, 1), arguments, [(2, "f32", 1e-4)], 6e-9 * tokens * cols)


@triton.jit
def write_cache(K, V, KC, VC, SLOTS, heads, D: tl.constexpr, BLOCK: tl.constexpr):
    token = tl.program_id(0)
    slot = tl.load(SLOTS + token).to(tl.int64)
    if slot < 0:
        return
    at = tl.arange(0, BLOCK)
    inside = at < heads * D
    tl.store(KC + slot * heads * D + at, tl.load(K + token * heads * D + at, mask=inside), mask=inside)
    tl.store(VC + slot * heads * D + at, tl.load(V + token * heads * D + at, mask=inside), mask=inside)


@case("scatter")
def write_paged_cache(shrink):
    tokens, heads, d = 32768 // shrink, 8, 128
    path = translate(write_cache, pointers("K:bf16 V:bf16 KC:bf16 VC:bf16 SLOTS:i32 heads:=i32"), {"D": d, "BLOCK": 1024})
    size = tokens * heads * d
    slots = np.random.default_rng(3).permutation(tokens).astype(np.int32)
    arguments = [numbers(size, 1, "bf16"), numbers(size, 2, "bf16"), np.zeros(size, np.uint16), np.zeros(size, np.uint16), slots,
                 integer(heads)]
    return Case(path, (tokens, 1, 1), arguments, [(2, "bf16", 0), (3, "bf16", 0)], 8e-9 * size)


@triton.jit
def sort_rows(X, Y, N: tl.constexpr, BM: tl.constexpr):
    at = (tl.program_id(0) * BM + tl.arange(0, BM))[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(Y + at, tl.sort(tl.load(X + at), 1))


@case("sorting")
def sort_rows_of_256(shrink):
    rows, n = 65536 // shrink, 256
    path = translate(sort_rows, pointers("X:fp32 Y:fp32"), {"N": n, "BM": 8})
    return Case(path, (rows // 8, 1, 1), [numbers(rows * n, 1), np.zeros(rows * n, np.float32)], [(1, "f32", 0)],
                8e-9 * rows * n)


@triton.jit
def jacobi(X, Y, width, BH: tl.constexpr, BW: tl.constexpr):
    y = tl.program_id(0) * BH + tl.arange(0, BH)
    x = tl.program_id(1) * BW + tl.arange(0, BW)
    height = tl.num_programs(0) * BH
    at = y[:, None] * width + x[None, :]
    inside = (y[:, None] > 0) & (y[:, None] < height - 1) & (x[None, :] > 0) & (x[None, :] < width - 1)
    around = tl.load(X + at - width, mask=inside, other=0.0) + tl.load(X + at + width, mask=inside, other=0.0)
    around += tl.load(X + at - 1, mask=inside, other=0.0) + tl.load(X + at + 1, mask=inside, other=0.0)
    tl.store(Y + at, tl.where(inside, around * 0.25, tl.load(X + at)))


@case("elementwise")
def jacobi_step(shrink):
    height, width = 8192 // shrink, 8192
    path = translate(jacobi, pointers("X:fp32 Y:fp32 width:=i32"), {"BH": 8, "BW": 256}, aligned=["width"])
    size = height * width
    return Case(path, (height // 8, width // 256, 1), [numbers(size, 1), np.zeros(size, np.float32), integer(width)],
                [(1, "f32", 1e-5)], 8e-9 * size)
