# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels with random tile shapes, warps and stages, one set of options each: cases for triton_kernels.py. They show where
the compiler's choices end, not where a user's would.

    python3 bench/peers/triton_kernels.py --cases bench/peers/random_tiles.py --default-only --ahead 8 --json rows.json

The environment: RANDOM_TILES=matmul:40,attention:30,rows:40 (how many of each class; the default), RANDOM_TILES_SEED=1.
The same seed makes the same cases.
"""

import os
import random

import numpy as np
import triton
import triton.language as tl
from kernel_cases import pointers
from triton_kernels import Case, Refusal, fp8_numbers, integer, numbers, translate
from user_kernels import attention_on

CASES = {}
SHARED_BYTES = 200 * 1024  # of operands in flight: what every version of both compilers can place
NUMBERS_OF_A_THREAD = 256  # of the result's tile; beyond, all registers hold nothing else


# ---- Matmuls. ----
@triton.jit
def matmul(A, B, C, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr,
           A_BY_COLUMNS: tl.constexpr, B_BY_COLUMNS: tl.constexpr, STEP: tl.constexpr, MASK: tl.constexpr, ACC: tl.constexpr):
    pid = tl.program_id(0)
    across = tl.cdiv(N, BN)
    first = pid // (GROUP * across) * GROUP
    size = min(tl.cdiv(M, BM) - first, GROUP)
    rows = (first + pid % (GROUP * across) % size) * BM + tl.arange(0, BM)
    columns = pid % (GROUP * across) // size * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    if A_BY_COLUMNS:
        a = A + rows[:, None] + k[None, :] * M
    else:
        a = A + rows[:, None] * K + k[None, :]
    if B_BY_COLUMNS:
        b = B + columns[None, :] * K + k[:, None]
    else:
        b = B + columns[None, :] + k[:, None] * N
    acc = tl.zeros((BM, BN), ACC)
    for start in range(0, K, BK):
        if STEP:  # pointers that move
            at, bt = a, b
        else:  # offsets made again
            at = a + start * (M if A_BY_COLUMNS else 1)
            bt = b + start * (1 if B_BY_COLUMNS else N)
        if MASK:
            left = tl.load(at, mask=k[None, :] < K - start, other=0)
            right = tl.load(bt, mask=k[:, None] < K - start, other=0)
        else:
            left = tl.load(at)
            right = tl.load(bt)
        acc = tl.dot(left, right, acc, out_dtype=ACC)
        if STEP:
            a += BK * (M if A_BY_COLUMNS else 1)
            b += BK * (1 if B_BY_COLUMNS else N)
    c = C + rows[:, None] * N + columns[None, :]
    if MASK:
        tl.store(c, acc.to(C.dtype.element_ty), mask=(rows[:, None] < M) & (columns[None, :] < N))
    else:
        tl.store(c, acc.to(C.dtype.element_ty))


MATMUL_TYPES = {  # of the operands: (Triton's result, bytes, name of results, NumPy's type, tolerance)
    "fp16": ("fp16", 2, "f16", np.float16, 0.005),
    "bf16": ("bf16", 2, "bf16", np.uint16, 0.01),
    "fp8e4nv": ("bf16", 1, "bf16", np.uint16, 0.02),
    "fp32": ("fp32", 4, "f32", np.float32, 0.005),
    "i8": ("i32", 1, "i32", np.int32, 0),
}


def operand(count, kind, seed):
    if kind == "fp8e4nv":
        return fp8_numbers(count, seed)
    if kind == "i8":
        return np.resize(np.random.default_rng(seed).integers(-128, 128, min(count, (1 << 20) + 12345), np.int8), count)
    return numbers(count, seed, {"fp16": "f16", "fp32": "f32"}.get(kind, kind))


def random_matmul(draw):
    while True:
        kind = draw.choice(("fp16", "fp16", "bf16", "bf16", "fp8e4nv", "fp32", "i8"))
        result, width, short, like, tolerance = MATMUL_TYPES[kind]
        bm, bn, bk = draw.choice((16, 32, 64, 64, 128, 128, 256)), draw.choice((32, 64, 128, 128, 256)), draw.choice((32, 64, 64, 128))
        warps, stages = draw.choice((4, 4, 8)), draw.choice((1, 2, 3, 3, 4, 5))
        by_rows = width == 2  # 8 and 32 bit operands are read along K by the instruction
        a_columns, b_columns = by_rows and draw.random() < 0.2, not by_rows or draw.random() < 0.5
        step, mask = draw.random() < 0.6, draw.random() < 0.3 and kind != "fp8e4nv"  # which has no zero
        if (bm + bn) * bk * width * stages <= SHARED_BYTES and bm * bn // (32 * warps) <= NUMBERS_OF_A_THREAD:
            break
    words = [kind, f"{bm}x{bn}x{bk}", f"w{warps}s{stages}", "at" * a_columns, "bt" * b_columns, "again" * (not step), "mask" * mask]

    def make(shrink):
        m = n = k = 4096 // min(shrink, 8)
        if mask:
            k -= 16  # the last step is not a whole one
        path = translate(matmul, pointers(f"A:{kind} B:{kind} C:{result} M:=i32 N:=i32 K:=i32"),
                         {"BM": bm, "BN": bn, "BK": bk, "GROUP": 8, "A_BY_COLUMNS": a_columns, "B_BY_COLUMNS": b_columns,
                          "STEP": step, "MASK": mask, "ACC": tl.int32 if kind == "i8" else tl.float32}, aligned=["M", "N", "K"])
        arguments = [operand(m * k, kind, 1), operand(k * n, kind, 2), np.zeros(m * n, like), integer(m), integer(n), integer(k)]
        return Case(path, (m // bm * (n // bn), 1, 1), arguments, [(2, short, tolerance)], teraflop=2e-12 * m * n * k,
                    stages=[stages], warps=[warps])

    return "_".join(["matmul"] + [word for word in words if word]), make


# ---- Attention, as in user_kernels.py. ----
def random_attention(draw):
    while True:
        bm, bn, depth = draw.choice((64, 128, 128, 256)), draw.choice((32, 64, 64, 128)), draw.choice((32, 64, 64, 128, 128, 256))
        warps, stages, kind = draw.choice((4, 4, 8)), draw.choice((1, 2, 2, 3, 4)), draw.choice(("fp16", "bf16"))
        causal = draw.random() < 0.4
        fits = (bm + 2 * bn * stages) * depth * 2 <= SHARED_BYTES
        if fits and bm * max(depth, bn) // (32 * warps) <= NUMBERS_OF_A_THREAD and bm >= bn:
            break

    def make(shrink):
        length, heads = 4096 // min(shrink, 8), 32 // min(shrink, 8)
        return attention_on(length, heads, bm, bn, depth, causal, kind, stages=[stages], warps=[warps])

    return f"attention_{kind}_{bm}x{bn}_d{depth}_w{warps}s{stages}{'_causal' if causal else ''}", make


# ---- Rows: what a kernel does with whole rows of a matrix, one or several of them a program. ----
@triton.jit
def add(a, b):
    return a + b


@triton.jit
def rows_kernel(X, W, Y, cols, R: tl.constexpr, C: tl.constexpr, WHAT: tl.constexpr):
    rows = tl.program_id(0) * R + tl.arange(0, R)
    columns = tl.arange(0, C)
    inside = (columns < cols)[None, :]
    at = rows[:, None].to(tl.int64) * cols + columns[None, :]
    x = tl.load(X + at, mask=inside, other=0).to(tl.float32)
    if WHAT == "softmax":
        x = tl.where(inside, x, float("-inf"))
        e = tl.exp(x - tl.max(x, 1)[:, None])
        y = e / tl.sum(e, 1)[:, None]
    elif WHAT == "layer_norm":
        centred = tl.where(inside, x - (tl.sum(x, 1) / cols)[:, None], 0.0)
        y = centred * tl.rsqrt(tl.sum(centred * centred, 1) / cols + 1e-5)[:, None]
        y = y * tl.load(W + columns, mask=columns < cols, other=0).to(tl.float32)[None, :]
    elif WHAT == "rms_norm":
        y = x * tl.rsqrt(tl.sum(x * x, 1) / cols + 1e-5)[:, None]
        y = y * tl.load(W + columns, mask=columns < cols, other=0).to(tl.float32)[None, :]
    elif WHAT == "scan":
        y = tl.associative_scan(x, 1, add)
    elif WHAT == "amax":
        largest = tl.max(tl.abs(x), 1)
        y = x * (448.0 / tl.maximum(largest, 1e-12))[:, None]
    else:  # gelu: nothing is exchanged
        y = 0.5 * x * (1 + tl.math.erf(x * 0.70710678))
    tl.store(Y + at, y.to(Y.dtype.element_ty), mask=inside)


@triton.jit
def rows_loop(X, W, Y, cols, R: tl.constexpr, C: tl.constexpr, WHAT: tl.constexpr):
    """Rows in steps of C columns: statistics first, then the rows again."""
    rows = tl.program_id(0) * R + tl.arange(0, R)
    base = rows[:, None].to(tl.int64) * cols
    if WHAT == "softmax":
        largest = tl.full([R], float("-inf"), tl.float32)
        total = tl.zeros([R], tl.float32)
        for start in range(0, cols, C):
            columns = start + tl.arange(0, C)
            x = tl.load(X + base + columns[None, :], mask=(columns < cols)[None, :], other=float("-inf")).to(tl.float32)
            new = tl.maximum(largest, tl.max(x, 1))
            total = total * tl.exp(largest - new) + tl.sum(tl.exp(x - new[:, None]), 1)
            largest = new
        for start in range(0, cols, C):
            columns = start + tl.arange(0, C)
            inside = (columns < cols)[None, :]
            x = tl.load(X + base + columns[None, :], mask=inside, other=0).to(tl.float32)
            tl.store(Y + base + columns[None, :], (tl.exp(x - largest[:, None]) / total[:, None]).to(Y.dtype.element_ty), mask=inside)
    else:
        squares = tl.zeros([R, C], tl.float32)
        for start in range(0, cols, C):
            columns = start + tl.arange(0, C)
            x = tl.load(X + base + columns[None, :], mask=(columns < cols)[None, :], other=0).to(tl.float32)
            squares += x * x
        scale = tl.rsqrt(tl.sum(squares, 1) / cols + 1e-5)
        for start in range(0, cols, C):
            columns = start + tl.arange(0, C)
            inside = (columns < cols)[None, :]
            x = tl.load(X + base + columns[None, :], mask=inside, other=0).to(tl.float32)
            w = tl.load(W + columns, mask=columns < cols, other=0).to(tl.float32)
            tl.store(Y + base + columns[None, :], (x * scale[:, None] * w[None, :]).to(Y.dtype.element_ty), mask=inside)


def random_rows(draw):
    while True:
        looped = draw.random() < 0.35
        what = draw.choice(("softmax", "rms_norm") if looped else ("softmax", "layer_norm", "rms_norm", "scan", "amax", "gelu"))
        r, c = draw.choice((1, 1, 1, 2, 4, 8, 16, 32)), 1 << draw.randint(6, 13)
        warps, kind = draw.choice((1, 2, 4, 4, 8, 16)), draw.choice(("fp16", "bf16", "fp32"))
        if 2 <= r * c // (32 * warps) <= 128:
            break
    cols = c * draw.choice((2, 5, 8)) if looped else c
    if draw.random() < 0.4:
        cols -= draw.choice((8, 16, 3))  # not a multiple of 16 in one of three

    def make(shrink):
        rows = max(32, (1 << 26) // cols // shrink // 32 * 32)
        short = {"fp16": "f16", "bf16": "bf16", "fp32": "f32"}[kind]
        path = translate(rows_loop if looped else rows_kernel, pointers(f"X:{kind} W:{kind} Y:{kind} cols:=i32"),
                         {"R": r, "C": c, "WHAT": what}, aligned=["cols"] if cols % 16 == 0 else [])
        like = {"f16": np.float16, "bf16": np.uint16, "f32": np.float32}[short]
        arguments = [numbers(rows * cols, 4, short), numbers(cols, 5, short), np.zeros(rows * cols, like), integer(cols)]
        return Case(path, (rows // r, 1, 1), arguments, [(2, short, {"f32": 1e-3}.get(short, 0.01))],
                    2e-9 * rows * cols * {"f32": 4}.get(short, 2), stages=[3], warps=[warps])

    return f"rows_{what}{'_loop' if looped else ''}_{kind}_{r}x{c}_of_{cols}_w{warps}", make


def counts():
    """(class, how many) of the environment."""
    text = os.environ.get("RANDOM_TILES", "matmul:40,attention:30,rows:40")
    for word in text.split(","):
        kind, _, count = word.partition(":")
        if kind not in MAKERS or not count.isdecimal():
            raise Refusal(f"`RANDOM_TILES={text}`: `{word}` is not CLASS:COUNT",
                          f"classes are {', '.join(MAKERS)}, as in matmul:40,rows:40")
        yield kind, int(count)


def seed():
    text = os.environ.get("RANDOM_TILES_SEED", "1")
    if not text.isdecimal():
        raise Refusal(f"`RANDOM_TILES_SEED={text}` is not a number", "the same number makes the same cases")
    return int(text)


def draw_cases():
    draw = random.Random(seed())
    for kind, count in counts():
        cases = {}
        for _ in range(MOST_TRIES * count):
            if len(cases) == count:
                break
            name, make = MAKERS[kind](draw)
            cases[name] = lambda shrink, make=make, kind=kind: make(shrink).of(kind)
        if len(cases) < count:
            raise Refusal(f"`RANDOM_TILES`: {count} of `{kind}` are asked for, {len(cases)} different ones were found",
                          f"ask for at most {len(cases)}")
        CASES.update(cases)


MAKERS = {"matmul": random_matmul, "attention": random_attention, "rows": random_rows}
MOST_TRIES = 100  # for each case: some are drawn twice
draw_cases()
