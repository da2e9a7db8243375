# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Matmuls of experts, of quantised weights, of few rows, and convolutions as matmuls: cases of model_kernels.py."""

import numpy as np
import triton
import triton.language as tl
from kernel_cases import CLOSE, integers, pointers, registry
from triton_kernels import Case, fp8_numbers, integer, numbers, translate

CASES = {}
case = registry(CASES)


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
