# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels as users of Triton write them, none of which the compiler's tests have: cases for triton_kernels.py.

    python3 bench/peers/triton_kernels.py --cases bench/peers/user_kernels.py --json rows.json

Sizes are such that memory or the matrix units bound them. Each case names its class, by which the geometric means are
printed.
"""

import ctypes

import numpy as np
import triton
import triton.language as tl
from kernel_cases import pointers, registry
from triton_kernels import Case, integer, numbers, translate

CASES = {}
SIMULATED = {"sums_of_columns": 16}  # divisors of sizes for amd_kernels.py, where the usual one leaves no loop
case = registry(CASES)


# ---- Attention. ----
@triton.jit
def attention(Q, K, V, O, length, scale, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr, CAUSAL: tl.constexpr):
    start = tl.program_id(0)
    head = tl.program_id(1).to(tl.int64) * length * D
    rows = start * BM + tl.arange(0, BM)
    dims = tl.arange(0, D)
    q = tl.load(Q + head + rows[:, None] * D + dims[None, :])
    largest = tl.full([BM], float("-inf"), tl.float32)
    total = tl.full([BM], 1.0, tl.float32)
    acc = tl.zeros([BM, D], tl.float32)
    factor = scale * 1.44269504
    if CAUSAL:
        full = start * BM
    else:
        full = length
    for n in range(0, full, BN):
        columns = n + tl.arange(0, BN)
        k = tl.load(K + head + columns[None, :] * D + dims[:, None])
        s = tl.dot(q, k)
        new = tl.maximum(largest, tl.max(s, 1) * factor)
        p = tl.math.exp2(s * factor - new[:, None])
        alpha = tl.math.exp2(largest - new)
        total = total * alpha + tl.sum(p, 1)
        acc = acc * alpha[:, None]
        v = tl.load(V + head + columns[:, None] * D + dims[None, :])
        acc = tl.dot(p.to(v.dtype), v, acc)
        largest = new
    if CAUSAL:
        for n in range(full, full + BM, BN):
            columns = n + tl.arange(0, BN)
            k = tl.load(K + head + columns[None, :] * D + dims[:, None])
            s = tl.dot(q, k)
            s = tl.where(rows[:, None] >= columns[None, :], s * factor, -1.0e6)
            new = tl.maximum(largest, tl.max(s, 1))
            p = tl.math.exp2(s - new[:, None])
            alpha = tl.math.exp2(largest - new)
            total = total * alpha + tl.sum(p, 1)
            acc = acc * alpha[:, None]
            v = tl.load(V + head + columns[:, None] * D + dims[None, :])
            acc = tl.dot(p.to(v.dtype), v, acc)
            largest = new
    acc = acc / total[:, None]
    tl.store(O + head + rows[:, None] * D + dims[None, :], acc.to(O.dtype.element_ty))


def attention_on(length, heads, bm, bn, depth, causal, dtype, **options):
    """Attention over `heads` sequences of `length` tokens, in tiles of bm rows and bn columns."""
    count = heads * length * depth
    short = {"fp16": "f16", "bf16": "bf16"}[dtype]
    path = translate(attention, pointers(f"Q:{dtype} K:{dtype} V:{dtype} O:{dtype} length:=i32 scale:=fp32"),
                     {"BM": bm, "BN": bn, "D": depth, "CAUSAL": causal}, aligned=["length"])
    result = np.zeros(count, {"f16": np.float16, "bf16": np.uint16}[short])
    arguments = [*(numbers(count, seed, short) for seed in (1, 2, 3)), result, integer(length), ctypes.c_float(depth**-0.5)]
    work = (2 if causal else 4) * 1e-12 * heads * length * length * depth
    return Case(path, (length // bm, heads, 1), arguments, [(3, short, 0.01)], teraflop=work, **options)


def attention_case(name, bm, bn, depth, causal, dtype="fp16"):
    @case("attention", name=name)
    def make(shrink):
        length, heads = 8192 // min(shrink, 32), 16 // min(shrink, 8)
        return attention_on(length, heads, bm, bn, depth, causal, dtype, stages=[2, 3])


for _bm, _bn, _d, _causal in ((128, 128, 128, False), (128, 64, 128, False), (64, 64, 128, False), (128, 128, 64, False),
                              (128, 64, 64, False), (128, 128, 128, True), (128, 64, 64, True)):
    attention_case(f"attention_{_bm}x{_bn}_d{_d}{'_causal' if _causal else ''}", _bm, _bn, _d, _causal)
attention_case("attention_bf16_128x64_d128_causal", 128, 64, 128, True, "bf16")


# ---- Matmuls. ----
@triton.jit
def gelu(x):
    return 0.5 * x * (1 + tl.math.erf(x * 0.70710678))


@triton.jit
def linear(X, W, B, Y, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr,
           ACT: tl.constexpr):
    pid = tl.program_id(0)
    across = tl.cdiv(N, BN)
    down = tl.cdiv(M, BM)
    first = pid // (GROUP * across) * GROUP
    size = min(down - first, GROUP)
    m = first + pid % (GROUP * across) % size
    n = pid % (GROUP * across) // size
    rows = m * BM + tl.arange(0, BM)
    columns = n * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    x = X + rows[:, None] * K + k[None, :]
    w = W + columns[None, :] * K + k[:, None]
    acc = tl.zeros((BM, BN), tl.float32)
    for _ in range(0, K, BK):
        acc = tl.dot(tl.load(x), tl.load(w), acc)
        x += BK
        w += BK
    acc += tl.load(B + columns)[None, :].to(tl.float32)
    if ACT:
        acc = gelu(acc)
    tl.store(Y + rows[:, None] * N + columns[None, :], acc.to(Y.dtype.element_ty))


def linear_case(name, rows, bm, bn, bk, act, dtype="bf16"):
    @case("linear", name=name)
    def make(shrink):
        m, n, k = rows // min(shrink, 4), 8192 // min(shrink, 16), 8192 // min(shrink, 16)
        short = {"fp16": "f16", "bf16": "bf16"}[dtype]
        path = translate(linear, pointers(f"X:{dtype} W:{dtype} B:{dtype} Y:{dtype} M:=i32 N:=i32 K:=i32"),
                         {"BM": bm, "BN": bn, "BK": bk, "GROUP": 8, "ACT": act}, aligned=["M", "N", "K"])
        arguments = [numbers(m * k, 4, short), numbers(n * k, 5, short, 0.02), numbers(n, 6, short),
                     np.zeros(m * n, np.uint16), integer(m), integer(n), integer(k)]
        if short == "f16":
            arguments[3] = arguments[3].view(np.float16)
        return Case(path, (m // bm * (n // bn), 1, 1), arguments, [(3, short, 0.01)], teraflop=2e-12 * m * n * k,
                    stages=[3, 4])


linear_case("linear_gelu_128x256x64", 8192, 128, 256, 64, True)
linear_case("linear_gelu_128x128x64", 8192, 128, 128, 64, True)
linear_case("linear_gelu_64x128x64_512_rows", 512, 64, 128, 64, True)
linear_case("linear_f16_128x128x32", 4096, 128, 128, 32, False, "fp16")


@triton.jit
def int8_weights(X, W, S, Y, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        ks = k + tl.arange(0, BK)
        x = tl.load(X + rows[:, None] * K + ks[None, :])
        w = tl.load(W + ks[:, None] * N + columns[None, :]).to(x.dtype)
        acc = tl.dot(x, w, acc)
    y = acc * tl.load(S + columns)[None, :]
    tl.store(Y + rows[:, None] * N + columns[None, :], y.to(Y.dtype.element_ty))


@case("dequantising matmul")
def int8_weights_128x128x64(shrink):
    m, n, k = 2048 // min(shrink, 4), 8192 // min(shrink, 16), 8192 // min(shrink, 16)
    path = translate(int8_weights, pointers("X:bf16 W:i8 S:fp32 Y:bf16 M:=i32 N:=i32 K:=i32"),
                     {"BM": 128, "BN": 128, "BK": 64}, aligned=["M", "N", "K"])
    weights = np.resize(np.random.default_rng(7).integers(-127, 128, 1 << 20, np.int8), k * n)
    arguments = [numbers(m * k, 8, "bf16"), weights, np.abs(numbers(n, 9)) * np.float32(0.01),
                 np.zeros(m * n, np.uint16), integer(m), integer(n), integer(k)]
    return Case(path, (m // 128, n // 128, 1), arguments, [(3, "bf16", 0.01)], teraflop=2e-12 * m * n * k, stages=[3, 4])


@triton.jit
def tf32_matmul(A, B, C, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        ks = k + tl.arange(0, BK)
        acc = tl.dot(tl.load(A + rows[:, None] * K + ks[None, :]), tl.load(B + ks[:, None] * N + columns[None, :]), acc)
    tl.store(C + rows[:, None] * N + columns[None, :], acc)


@case("tf32 matmul")
def tf32_matmul_128x128x32(shrink):
    m = n = k = 4096 // min(shrink, 8)
    path = translate(tf32_matmul, pointers("A:fp32 B:fp32 C:fp32 M:=i32 N:=i32 K:=i32"),
                     {"BM": 128, "BN": 128, "BK": 32}, aligned=["M", "N", "K"])
    arguments = [numbers(m * k, 10), numbers(k * n, 11), np.zeros(m * n, np.float32), integer(m), integer(n), integer(k)]
    return Case(path, (m // 128, n // 128, 1), arguments, [(2, "f32", 0.005)], teraflop=2e-12 * m * n * k, stages=[3, 4])


@triton.jit
def batched(A, B, C, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    batch = tl.program_id(2)
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    A += batch * M * K
    B += batch * K * N
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        ks = k + tl.arange(0, BK)
        a = tl.load(A + rows[:, None] * K + ks[None, :], mask=rows[:, None] < M, other=0.0)
        b = tl.load(B + ks[:, None] * N + columns[None, :], mask=columns[None, :] < N, other=0.0)
        acc = tl.dot(a, b, acc)
    where = (rows[:, None] < M) & (columns[None, :] < N)
    tl.store(C + batch * M * N + rows[:, None] * N + columns[None, :], acc.to(C.dtype.element_ty), mask=where)


@case("linear")
def batched_masked_64x64x32(shrink):
    batches, m, n, k = 64 // min(shrink, 16), 1000, 768, 512
    path = translate(batched, pointers("A:fp16 B:fp16 C:fp16 M:=i32 N:=i32 K:=i32"), {"BM": 64, "BN": 64, "BK": 32},
                     aligned=["N", "K"])
    arguments = [numbers(batches * m * k, 12, "f16"), numbers(batches * k * n, 13, "f16"),
                 np.zeros(batches * m * n, np.float16), integer(m), integer(n), integer(k)]
    return Case(path, (-(-m // 64), n // 64, batches), arguments, [(2, "f16", 0.005)],
                teraflop=2e-12 * batches * m * n * k)


# ---- Reductions and scans. ----
@triton.jit
def argmax(X, I, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    x = tl.load(X + row * cols + c, mask=c < cols, other=float("-inf"))
    tl.store(I + row, tl.argmax(x, 0))


@case("reduction with index")
def argmax_rows(shrink):
    rows, cols = 262144 // shrink, 500
    path = translate(argmax, pointers("X:fp32 I:i32 cols:=i32"), {"BLOCK": 512})
    return Case(path, (rows, 1, 1), [numbers(rows * cols, 14), np.zeros(rows, np.int32), integer(cols)],
                [(1, "i32", 0)], 4e-9 * rows * cols)


@triton.jit
def argmin_tile(X, I, V, cols, BR: tl.constexpr, BC: tl.constexpr):
    r = tl.program_id(0) * BR + tl.arange(0, BR)
    c = tl.arange(0, BC)
    x = tl.load(X + r[:, None] * cols + c[None, :], mask=c[None, :] < cols, other=float("inf"))
    v, i = tl.min(x, 1, return_indices=True)
    tl.store(I + r, i)
    tl.store(V + r, v)


@case("reduction with index")
def argmin_of_16_rows(shrink):
    rows, cols = 524288 // shrink, 128
    path = translate(argmin_tile, pointers("X:fp32 I:i32 V:fp32 cols:=i32"), {"BR": 16, "BC": 128}, aligned=["cols"])
    arguments = [numbers(rows * cols, 15), np.zeros(rows, np.int32), np.zeros(rows, np.float32), integer(cols)]
    return Case(path, (rows // 16, 1, 1), arguments, [(1, "i32", 0), (2, "f32", 0)], 4e-9 * rows * cols)


@triton.jit
def cumulative(X, Y, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    x = tl.load(X + row * cols + c, mask=c < cols, other=0.0)
    tl.store(Y + row * cols + c, tl.cumsum(x, 0), mask=c < cols)


@case("scan")
def cumulative_sum(shrink):
    rows, cols = 32768 // shrink, 2048
    path = translate(cumulative, pointers("X:fp32 Y:fp32 cols:=i32"), {"BLOCK": 2048}, aligned=["cols"])
    return Case(path, (rows, 1, 1), [numbers(rows * cols, 16), np.zeros(rows * cols, np.float32), integer(cols)],
                [(1, "f32", 1e-4)], 8e-9 * rows * cols)


@triton.jit
def multiply_add(a, x, b, y):
    return a * b, x * b + y


@triton.jit
def recurrence(A, X, Y, length, D: tl.constexpr, BLOCK: tl.constexpr):
    d = tl.program_id(0) * D + tl.arange(0, D)
    width = tl.num_programs(0) * D
    t = tl.arange(0, BLOCK)
    at = (tl.program_id(1) * length + t[:, None]) * width + d[None, :]
    a = tl.load(A + at)
    x = tl.load(X + at)
    _, y = tl.associative_scan((a, x), 0, multiply_add)
    tl.store(Y + at, y)


@case("scan")
def linear_recurrence(shrink):
    batches, length, width = 64 // min(shrink, 32), 256, 2048
    count = batches * length * width
    path = translate(recurrence, pointers("A:fp32 X:fp32 Y:fp32 length:=i32"), {"D": 32, "BLOCK": 256}, aligned=["length"])
    arguments = [np.abs(numbers(count, 17, scale=0.3)), numbers(count, 18), np.zeros(count, np.float32), integer(length)]
    return Case(path, (width // 32, batches, 1), arguments, [(2, "f32", 1e-4)], 12e-9 * count)


@triton.jit
def softmax_loss(X, T, L, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    X += row * cols
    largest = float("-inf")
    total = 0.0
    for start in range(0, cols, BLOCK):
        c = start + tl.arange(0, BLOCK)
        x = tl.load(X + c, mask=c < cols, other=float("-inf")).to(tl.float32)
        new = tl.maximum(largest, tl.max(x, 0))
        total = total * tl.exp(largest - new) + tl.sum(tl.exp(x - new), 0)
        largest = new
    target = tl.load(T + row)
    tl.store(L + row, tl.log(total) + largest - tl.load(X + target).to(tl.float32))


@case("loss over long rows")
def cross_entropy_128k(shrink):
    rows, cols = 4096 // shrink, 128256
    path = translate(softmax_loss, pointers("X:bf16 T:i32 L:fp32 cols:=i32"), {"BLOCK": 4096}, aligned=["cols"])
    targets = np.random.default_rng(19).integers(0, cols, rows, np.int32)
    arguments = [numbers(rows * cols, 20, "bf16"), targets, np.zeros(rows, np.float32), integer(cols)]
    return Case(path, (rows, 1, 1), arguments, [(2, "f32", 1e-4)], 2e-9 * rows * cols)


@triton.jit
def norm_backward(DX, DY, DW, DB, X, W, Mean, Rstd, rows, cols, PER: tl.constexpr, BLOCK: tl.constexpr):
    c = tl.arange(0, BLOCK)
    m = c < cols
    w = tl.load(W + c, mask=m, other=0.0).to(tl.float32)
    dw = tl.zeros([BLOCK], tl.float32)
    db = tl.zeros([BLOCK], tl.float32)
    first = tl.program_id(0) * PER
    for row in range(first, min(first + PER, rows)):
        x = tl.load(X + row * cols + c, mask=m, other=0.0).to(tl.float32)
        dy = tl.load(DY + row * cols + c, mask=m, other=0.0).to(tl.float32)
        mean = tl.load(Mean + row)
        rstd = tl.load(Rstd + row)
        hat = tl.where(m, (x - mean) * rstd, 0.0)
        wdy = w * dy
        c1 = tl.sum(hat * wdy, 0) / cols
        c2 = tl.sum(wdy, 0) / cols
        tl.store(DX + row * cols + c, ((wdy - (hat * c1 + c2)) * rstd).to(DX.dtype.element_ty), mask=m)
        dw += dy * hat
        db += dy
    tl.atomic_add(DW + c, dw, mask=m)
    tl.atomic_add(DB + c, db, mask=m)


@case("norm backward")
def layer_norm_backward(shrink):
    rows, cols, per = 16384 // shrink, 4096, 16
    path = translate(norm_backward, pointers("DX:bf16 DY:bf16 DW:fp32 DB:fp32 X:bf16 W:bf16 Mean:fp32 Rstd:fp32 rows:=i32 "
                                             "cols:=i32"), {"PER": per, "BLOCK": 4096}, aligned=["rows", "cols"])
    arguments = [np.zeros(rows * cols, np.uint16), numbers(rows * cols, 21, "bf16"), np.zeros(cols, np.float32),
                 np.zeros(cols, np.float32), numbers(rows * cols, 22, "bf16"), numbers(cols, 23, "bf16"),
                 numbers(rows, 24, scale=0.1), np.abs(numbers(rows, 25)), integer(rows), integer(cols)]
    return Case(path, (rows // per, 1, 1), arguments, [(0, "bf16", 0.01), (2, "f32", 1e-3), (3, "f32", 1e-3)],
                6e-9 * rows * cols)


@triton.jit
def rms_norm(X, R, W, Y, cols, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    m = c < cols
    x = tl.load(X + row * cols + c, mask=m, other=0.0).to(tl.float32)
    x += tl.load(R + row * cols + c, mask=m, other=0.0).to(tl.float32)
    tl.store(R + row * cols + c, x.to(R.dtype.element_ty), mask=m)
    scale = tl.rsqrt(tl.sum(x * x, 0) / cols + eps)
    w = tl.load(W + c, mask=m, other=0.0).to(tl.float32)
    tl.store(Y + row * cols + c, (x * scale * w).to(Y.dtype.element_ty), mask=m)


@case("norm forward")
def residual_rms_norm(shrink):
    rows, cols = 16384 // shrink, 5120
    path = translate(rms_norm, pointers("X:bf16 R:bf16 W:bf16 Y:bf16 cols:=i32 eps:=fp32"), {"BLOCK": 8192}, aligned=["cols"])
    arguments = [numbers(rows * cols, 26, "bf16"), numbers(rows * cols, 27, "bf16"), numbers(cols, 28, "bf16"),
                 np.zeros(rows * cols, np.uint16), integer(cols), ctypes.c_float(1e-6)]
    return Case(path, (rows, 1, 1), arguments, [(1, "bf16", 0.01), (3, "bf16", 0.01)], 8e-9 * rows * cols)


@triton.jit
def column_sums(X, Y, rows, cols, BR: tl.constexpr, BC: tl.constexpr):
    c = tl.program_id(0) * BC + tl.arange(0, BC)
    acc = tl.zeros([BR, BC], tl.float32)
    for r in range(tl.program_id(1) * BR, rows, BR * tl.num_programs(1)):
        at = r + tl.arange(0, BR)
        acc += tl.load(X + at[:, None] * cols + c[None, :], mask=at[:, None] < rows, other=0.0)
    tl.atomic_add(Y + c, tl.sum(acc, 0))


@case("reduction")
def sums_of_columns(shrink):
    rows, cols = 32768 // shrink, 4096
    path = translate(column_sums, pointers("X:fp32 Y:fp32 rows:=i32 cols:=i32"), {"BR": 32, "BC": 128},
                     aligned=["rows", "cols"])
    return Case(path, (cols // 128, 32, 1), [numbers(rows * cols, 29), np.zeros(cols, np.float32), integer(rows),
                                             integer(cols)], [(1, "f32", 1e-3)], 4e-9 * rows * cols)


@triton.jit
def matvec(A, X, Y, cols, BR: tl.constexpr, BC: tl.constexpr):
    r = tl.program_id(0) * BR + tl.arange(0, BR)
    acc = tl.zeros([BR, BC], tl.float32)
    for c in range(0, cols, BC):
        at = c + tl.arange(0, BC)
        acc += tl.load(A + r[:, None] * cols + at[None, :]).to(tl.float32) * tl.load(X + at)[None, :].to(tl.float32)
    tl.store(Y + r, tl.sum(acc, 1))


@case("reduction")
def matrix_times_vector(shrink):
    rows, cols = 16384 // shrink, 16384
    path = translate(matvec, pointers("A:bf16 X:bf16 Y:fp32 cols:=i32"), {"BR": 8, "BC": 512}, aligned=["cols"])
    arguments = [numbers(rows * cols, 30, "bf16"), numbers(cols, 31, "bf16"), np.zeros(rows, np.float32), integer(cols)]
    return Case(path, (rows // 8, 1, 1), arguments, [(2, "f32", 1e-3)], 2e-9 * rows * cols)


# ---- Element by element. ----
@triton.jit
def dropout(X, Y, n, p, seed, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    x = gelu(tl.load(X + i, mask=m).to(tl.float32))
    keep = tl.rand(seed, i) > p
    tl.store(Y + i, tl.where(keep, x / (1 - p), 0.0).to(Y.dtype.element_ty), mask=m)


@case("random numbers and erf")
def gelu_dropout(shrink):
    n = (1 << 27) // shrink
    path = translate(dropout, pointers("X:bf16 Y:bf16 n:=i32 p:=fp32 seed:=i32"), {"BLOCK": 1024}, aligned=["n"])
    arguments = [numbers(n, 32, "bf16"), np.zeros(n, np.uint16), integer(n), ctypes.c_float(0.1), integer(1234)]
    return Case(path, (n // 1024, 1, 1), arguments, [(1, "bf16", 0.01)], 4e-9 * n)


@triton.jit
def swiglu(G, U, Y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    g = tl.load(G + i, mask=m).to(tl.float32)
    u = tl.load(U + i, mask=m).to(tl.float32)
    tl.store(Y + i, (g * tl.sigmoid(g) * u).to(Y.dtype.element_ty), mask=m)


@case("elementwise")
def swiglu_bf16(shrink):
    n = (1 << 27) // shrink
    path = translate(swiglu, pointers("G:bf16 U:bf16 Y:bf16 n:=i32"), {"BLOCK": 2048}, aligned=["n"])
    arguments = [numbers(n, 33, "bf16"), numbers(n, 34, "bf16"), np.zeros(n, np.uint16), integer(n)]
    return Case(path, (n // 2048, 1, 1), arguments, [(2, "bf16", 0.01)], 6e-9 * n)


@triton.jit
def rotary(Q, C, S, heads, length, HALF: tl.constexpr, BH: tl.constexpr):
    token = tl.program_id(0)
    h = tl.program_id(1) * BH + tl.arange(0, BH)
    d = tl.arange(0, HALF)
    c = tl.load(C + token % length * HALF + d)[None, :]
    s = tl.load(S + token % length * HALF + d)[None, :]
    at = Q + (token * heads + h[:, None]) * 2 * HALF + d[None, :]
    mask = h[:, None] < heads
    x = tl.load(at, mask=mask).to(tl.float32)
    y = tl.load(at + HALF, mask=mask).to(tl.float32)
    tl.store(at, (x * c - y * s).to(Q.dtype.element_ty), mask=mask)
    tl.store(at + HALF, (y * c + x * s).to(Q.dtype.element_ty), mask=mask)


@case("elementwise")
def rotary_embedding(shrink):
    tokens, heads, half = 32768 // shrink, 32, 64
    path = translate(rotary, pointers("Q:bf16 C:fp32 S:fp32 heads:=i32 length:=i32"), {"HALF": half, "BH": 16},
                     aligned=["heads", "length"])
    arguments = [numbers(tokens * heads * 2 * half, 35, "bf16"), numbers(4096 * half, 36), numbers(4096 * half, 37),
                 integer(heads), integer(4096)]
    return Case(path, (tokens, heads // 16, 1), arguments, [(0, "bf16", 0.01)], 4e-9 * tokens * heads * 2 * half)


@triton.jit
def embedding(T, I, Y, cols, BLOCK: tl.constexpr):
    token = tl.program_id(0)
    index = tl.load(I + token).to(tl.int64)
    for start in range(0, cols, BLOCK):
        c = start + tl.arange(0, BLOCK)
        tl.store(Y + token * cols + c, tl.load(T + index * cols + c, mask=c < cols), mask=c < cols)


@case("elementwise")
def embedding_rows(shrink):
    tokens, cols, words = 65536 // shrink, 4096, 50000 // min(shrink, 50)
    path = translate(embedding, pointers("T:fp16 I:i32 Y:fp16 cols:=i32"), {"BLOCK": 1024}, aligned=["cols"])
    arguments = [numbers(words * cols, 38, "f16"), np.random.default_rng(39).integers(0, words, tokens, np.int32),
                 np.zeros(tokens * cols, np.float16), integer(cols)]
    return Case(path, (tokens, 1, 1), arguments, [(2, "f16", 0)], 4e-9 * tokens * cols)


@triton.jit
def quantise(X, Q, S, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    x = tl.load(X + row * cols + c, mask=c < cols, other=0.0).to(tl.float32)
    scale = tl.max(tl.abs(x), 0) / 127.0 + 1e-10
    q = x / scale
    q = tl.where(q >= 0, q + 0.5, q - 0.5).to(tl.int8)
    tl.store(Q + row * cols + c, q, mask=c < cols)
    tl.store(S + row, scale)


@case("norm forward")
def quantise_rows_int8(shrink):
    rows, cols = 32768 // shrink, 4096
    path = translate(quantise, pointers("X:fp16 Q:i8 S:fp32 cols:=i32"), {"BLOCK": 4096}, aligned=["cols"])
    arguments = [numbers(rows * cols, 40, "f16"), np.zeros(rows * cols, np.int8), np.zeros(rows, np.float32),
                 integer(cols)]
    return Case(path, (rows, 1, 1), arguments, [(1, "i8", 0.01), (2, "f32", 1e-5)], 3e-9 * rows * cols)


@triton.jit
def adam(P, G, M, V, n, rate, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    g = tl.load(G + i, mask=mask)
    m = 0.9 * tl.load(M + i, mask=mask) + 0.1 * g
    v = 0.999 * tl.load(V + i, mask=mask) + 0.001 * g * g
    p = tl.load(P + i, mask=mask)
    tl.store(M + i, m, mask=mask)
    tl.store(V + i, v, mask=mask)
    tl.store(P + i, p - rate * m / (tl.sqrt(v) + 1e-8), mask=mask)


@case("elementwise")
def adam_step(shrink):
    n = (1 << 25) // shrink
    path = translate(adam, pointers("P:fp32 G:fp32 M:fp32 V:fp32 n:=i32 rate:=fp32"), {"BLOCK": 1024}, aligned=["n"])
    arguments = [numbers(n, 41), numbers(n, 42), numbers(n, 43), np.abs(numbers(n, 44)), integer(n),
                 ctypes.c_float(1e-3)]
    return Case(path, (n // 1024, 1, 1), arguments, [(0, "f32", 1e-5), (2, "f32", 1e-5), (3, "f32", 1e-5)], 28e-9 * n)
