# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels over rows and elements: routing, losses, norms, scatters, sorting: cases of model_kernels.py."""

import ctypes

import numpy as np
import triton
import triton.language as tl
from kernel_cases import CLOSE, integers, pointers, registry
from triton_kernels import Case, integer, numbers, translate

CASES = {}
case = registry(CASES)


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
