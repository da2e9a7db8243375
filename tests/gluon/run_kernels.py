# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs Gluon kernels on simulated devices and compares with NumPy: run_kernels.py CORPUS [KERNEL | KERNEL.CHIP ...].

Each kernel of tests/corpus/gluon, for both chips, from both texts of Triton 3.9, with `heddle simulate`; the text after
Triton's passes also with `heddle check`, which must find nothing. Of named kernels, a text before the passes (.entry) may be missing.
"""
import os
import subprocess
import sys
import tempfile

import numpy as np

from values import decode, eighths


def buffer_transpose(random, chip):
    rows, columns, high, wide = 70, 150, 32, 64
    source = eighths(random, rows, columns, dtype=np.float16)
    twice = (2 * source.astype(np.float32)).astype(np.float16)
    firsts = np.where(np.arange(rows) < rows // high * high, twice[:, 0], np.float16(0))
    arguments = dict(src=source, dst=np.zeros((columns, rows), np.float16), firsts=np.zeros(rows, np.float16), rows=rows, cols=columns)
    return (-(-rows // high), -(-columns // wide)), arguments, dict(dst=twice.T.copy(), firsts=firsts), 0


def buffer_atomics(random, chip):
    count, tile = 1500, 512
    x = random.integers(0, 5000, count).astype(np.int32)
    slot = random.integers(0, 1000, count).astype(np.int32)
    place = x & 15
    before = dict(sums=np.full(16, 3, np.float32), top=np.full(16, 4000, np.int32), low=np.full(16, 900, np.uint32),
                  seen=np.full(16, 1, np.int32), flips=np.full(16, 5, np.int32))
    after = {name: values.copy() for name, values in before.items()}
    np.add.at(after["sums"], place, x.astype(np.float32))
    np.maximum.at(after["top"], place, x)
    np.minimum.at(after["low"], place, (x & 0xFFFF).astype(np.uint32))
    np.bitwise_or.at(after["seen"], place, np.left_shift(1, (x >> 4) & 31).astype(np.int32))
    np.bitwise_xor.at(after["flips"], place, x)
    arguments = dict(x=x, **before, slot=slot.copy(), old=np.zeros(count, np.int32), n=count)
    return (-(-count // tile),), arguments, dict(**after, slot=x, old=slot), 0


def lds_views(random, chip):
    rows, columns, programs = 32, 128, 2
    x = eighths(random, programs, rows, columns)
    left, right = x[:, :, : columns // 2], x[:, :, columns // 2 :]
    difference = np.transpose(left - right, (0, 2, 1))
    product = (left * right).reshape(programs, columns // 2, rows)
    out = difference + product / (1 + np.abs(difference).max(2, keepdims=True))
    arguments = dict(x=x, sums=np.zeros((programs, rows), np.float32), tops=np.zeros((programs, rows), np.float32),
                     out=np.zeros_like(out))
    return (programs,), arguments, dict(sums=x.sum(2), tops=x.max(2), out=out), 1e-6


def gemm_ring(random, chip):
    m, n, k, high = 70, 80, 144, 64 if chip == "gfx942" else 128
    a, b = eighths(random, m, k, dtype=np.float16), eighths(random, k, n, dtype=np.float16)
    arguments = dict(a=a, b=b, c=np.zeros((m, n), np.float32), M=m, N=n, K=k)
    return (-(-m // high), -(-n // 64)), arguments, dict(c=a.astype(np.float32) @ b.astype(np.float32)), 0


def row_norm(random, chip):
    rows, columns, stride = 37, 100, 112
    x, out = eighths(random, rows, stride), np.zeros((rows, stride), np.float32)
    arguments = dict(x=x, out=out.copy(), rows=rows, cols=columns, stride=stride)
    out[:, :columns] = 2 * x[:, :columns] + 1
    return (3,), arguments, dict(out=out), 0


def shapes(random, chip):
    x = eighths(random, 32, 64)
    pairs = x.reshape(32, 32, 2)
    out = np.cumsum(x, 1).T.reshape(32, 64) + np.stack([pairs[..., 1], pairs[..., 0]], -1).reshape(32, 64)
    sums = np.concatenate([x.max(0), 4 * x.sum(1)])
    arguments = dict(x=x, out=np.zeros((32, 64), np.float32), sums=np.zeros(96, np.float32))
    return (1,), arguments, dict(out=out, sums=sums), 0


def slots(random, chip):
    size, turns = 512, 6
    x = random.integers(-100, 100, (3, size)).astype(np.int32)
    ring = x.copy()
    for turn in range(turns):
        here, there = ring[turn % 3].copy(), ring[(turn + 1) % 3].copy()
        ring[(turn + 2) % 3] = here - there if turn > 1 else here + there
    arguments = dict(x=x, out=np.zeros(3 * size + size // 2, np.int32), n=turns)
    return (1,), arguments, dict(out=np.concatenate([ring.ravel(), ring[1][size // 2 :]])), 0


def dot_fma(random, chip):
    a, b, c = (eighths(random, 32, 32) for _ in range(3))
    return (1,), dict(a=a, b=b, c=c, out=np.zeros((32, 32), np.float32)), dict(out=a @ b + c), 0


def async_stream(random, chip):
    steps, rows, high, wide = 7, 40, 16, 64
    source, scale = eighths(random, steps, rows, wide), eighths(random, steps)
    arguments = dict(src=source, scale=scale, out=np.zeros((rows, wide), np.float32), steps=steps, rows=rows)
    return (-(-rows // high),), arguments, dict(out=(source * scale[:, None, None]).sum(0)), 0


def gemm_stages(random, chip):
    m, n, k = 130, 80, 80
    a, b = eighths(random, m, k, dtype=np.float16), eighths(random, k, n, dtype=np.float16)
    arguments = dict(a=a, b=b, c=np.zeros((m, n), np.float32), M=m, N=n, K=k)
    return (-(-m // 128), -(-n // 128)), arguments, dict(c=a.astype(np.float32) @ b.astype(np.float32)), 0


def attention(random, chip):
    length, depth, scale = 150, 64, 0.125
    q, k, v = (random.standard_normal((length, depth)).astype(np.float16) for _ in range(3))
    scores = (q.astype(np.float64) @ k.astype(np.float64).T) * scale
    weights = np.exp(scores - scores.max(1, keepdims=True))
    out = weights / weights.sum(1, keepdims=True) @ v.astype(np.float64)
    return (2,), dict(q=q, k=k, v=v, o=np.zeros((length, depth), np.float16), T=length, scale=scale), dict(o=out), 4e-3


def gemm_i8(random, chip):
    a, b = (random.integers(-100, 100, shape).astype(np.int8) for shape in ((32, 64), (64, 64)))
    return (1,), dict(a=a, b=b, c=np.zeros((32, 64), np.int32)), dict(c=a.astype(np.int32) @ b.astype(np.int32)), 0


def gemm_f8(random, chip):
    """e4m3 of the chip: with bias 8 on gfx942, with 7 on gfx950. Products of three-bit numbers: sums are exact."""
    code = np.arange(256)
    exponent, fraction, bias = (code & 127) >> 3, (code & 7) / 8, 8 if chip == "gfx942" else 7
    values = np.where(exponent == 0, fraction * 2.0 ** (1 - bias), (1 + fraction) * 2.0 ** (exponent - bias))
    a, b = (random.integers(0x20, 0x40, shape).astype(np.uint8) for shape in ((32, 64), (64, 64)))
    return (1,), dict(a=a, b=b, c=np.zeros((32, 64), np.float32)), dict(c=values[a] @ values[b]), 1e-6


def gemm_wide(random, chip):
    a, b = eighths(random, 4, 128), eighths(random, 128, 128)
    halves = [(x.view(np.uint32) >> 16).astype(np.uint16) for x in (a, b)]
    return (1,), dict(a=halves[0], b=halves[1], c=np.zeros((4, 128), np.float32)), dict(c=a @ b), 0


def gemm_tall(random, chip):
    a, b = eighths(random, 128, 32), eighths(random, 32, 8)
    return (1,), dict(a=a, b=b, c=np.zeros((128, 8), np.float32)), dict(c=a @ b), 0


def carried(random, chip):
    x, turns = eighths(random, 2, 256), 5
    a, b = x[0].copy(), x[1].copy()
    for _ in range(turns):
        a, b = b, a + 2 * b
    return (1,), dict(x=x, out=np.zeros((2, 256), np.float32), n=turns), dict(out=np.stack([a, b])), 0


def three_d(random, chip):
    x = eighths(random, 4, 16, 32)
    out = (x - x.sum(1, keepdims=True)).transpose(1, 2, 0)
    return (1,), dict(x=x, out=np.zeros(out.shape, np.float32)), dict(out=out), 0


def mixed(random, chip):
    size, count = 512, 300
    x, index = random.integers(-100, 100, size).astype(np.int32), random.integers(0, size, size).astype(np.int32)
    suffixes = np.cumsum(x[::-1])[::-1]
    out = np.zeros(size + 2, np.int32)
    out[:count] = (x[index] + (suffixes if x[5] > 10 else -suffixes) + count)[:count]
    out[size:] = x[5], max(0, x.max())
    arguments = dict(x=x, h=np.zeros(64, np.int32), idx=index, out=np.zeros(size + 2, np.int32), n=count)
    return (1,), arguments, dict(h=np.bincount(x & 63, minlength=64).astype(np.int32), out=out), 0


def slices(random, chip):
    x = random.integers(0, 1000, (32, 64)).astype(np.int32)
    out = x.copy()
    out[16:, 32:] *= 2
    return (1,), dict(x=x, out=np.zeros((32, 64), np.int32)), dict(out=out), 0


def parts(random, chip):
    x = random.integers(0, 1000, (64, 64)).astype(np.int32)
    return (1,), dict(x=x, out=np.zeros((32, 32), np.int32)), dict(out=x[32:, 32:] - 2 * x[:32, 32:]), 0


def masked_copy(random, chip):
    x, place = random.integers(0, 1000, 256).astype(np.int32), np.arange(256)
    out = np.where((place & 64) == 64, x, -place).astype(np.int32)
    return (1,), dict(x=x, out=np.zeros(256, np.int32), n=64), dict(out=out), 0


def reinterpreted(random, chip):
    x = random.integers(-(2**31), 2**31, 512).astype(np.int32)
    after = x[:256].copy()
    after.view(np.int16)[256:] = np.arange(256) + 7
    out = np.concatenate([x.view(np.int16), after.astype(np.int16)])
    return (1,), dict(x=x, out=np.zeros(1280, np.int16)), dict(out=out), 0


def buffer_types(random, chip):
    size, count = 512, 208
    inside = np.arange(size) < count
    a, b = random.integers(-100, 100, 2 * size).astype(np.int8), random.integers(-(2**60), 2**60, 3 * size).astype(np.int64)
    c, d = (eighths(random, 2 * size).astype(kind) for kind in (np.float64, np.float32))
    out = dict(a=a.copy(), b=b.copy(), c=c.copy(), d=d.copy())
    out["a"][size:] = np.where(inside, a[:size], 5) + 1
    out["b"][2 * size :][:count] = 3 * b[4 : size + 4][:count]
    out["c"][size:] = np.where(inside, c[:size], 0) * 0.5
    out["d"][size:] = np.where(inside, -2, d[size - 1 :: -1])
    return (1,), dict(a=a, b=b, c=c, d=d, n=count), out, 0


def indexed(kind, axis):
    def case(random, chip):
        x = random.integers(-100, 100, (16, 64)).astype(kind)
        index = random.integers(0, x.shape[axis], x.shape).astype(np.int32)
        gathered, after = np.take_along_axis(x, index, axis), x.copy()
        row, column = np.indices(x.shape)
        np.put_along_axis(after, (row + column) % x.shape[axis], gathered + kind(1), axis)
        bins, first = np.zeros(257, np.int32), index.ravel()[:256]
        counts = np.bincount(first, minlength=256)
        bins[:256] = counts
        bins[256] = (counts * (counts - 1) // 2).sum()
        bins[128:256] = np.maximum(counts[128:], np.arange(328, 456))
        arguments = dict(x=x, idx=index, out=np.zeros((2, 16, 64), kind), bins=np.zeros(257, np.int32))
        return (1,), arguments, dict(out=np.stack([gathered, after]), bins=bins), 0

    return case


def decode_scales(scales):
    return np.where(scales == 255, np.nan, 2.0 ** (scales.astype(np.int64) - 127))


def unpack(codes, axis):
    """The lower four bits first, along `axis`."""
    shape = list(codes.shape)
    shape[axis] *= 2
    return np.stack([codes & 15, codes >> 4], axis + 1).reshape(shape)


def narrow(values, kind):
    """Rounded to f16, or to bf16 as f32."""
    with np.errstate(over="ignore", invalid="ignore"):
        if kind == np.float16:
            return values.astype(np.float32).astype(np.float16)
        bits = values.astype(np.float32).view(np.uint32).astype(np.int64)
        rounded = (bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000
        return np.where(np.isnan(values), np.nan, rounded.astype(np.uint32).view(np.float32)).astype(np.float32)


def mx_gemm(form_a, form_b, rows, columns, scales="layout"):
    """Numbers of a few bits and scales near 1, so that sums are exact; one scale is NaN, one the least."""

    def operand(random, form, shape, axis):
        if form == "e2m1":
            codes = random.integers(0, 256, shape).astype(np.uint8)
            return codes, decode(unpack(codes, axis), form)
        low = 0x30 if form == "e4m3" else 0x38
        sign = random.integers(0, 2, shape) << 7
        codes = (random.integers(low, low + 0x10, shape) | sign).astype(np.uint8)
        return codes, decode(codes, form)

    def case(random, chip):
        k = 512
        halves = [2 if form == "e2m1" else 1 for form in (form_a, form_b)]
        a, left = operand(random, form_a, (rows, k // halves[0]), 1)
        b, right = operand(random, form_b, (k // halves[1], columns), 0)
        sa, sb = (random.integers(126, 129, (size, k // 32)).astype(np.uint8) for size in (rows, columns))
        sa[3, 5], sa[rows - 1, 2], sb[1, 7] = 255, 0, 0
        arguments = dict(a=a, sa=sa, b=b, sb=sb, c=np.zeros((rows, columns), np.float32), K=k)
        if scales == "none":
            return (1,), arguments, dict(c=(left * 0.5 @ right).astype(np.float32)), 0
        left = left * np.repeat(decode_scales(sa), 32, 1)
        right = right * np.repeat(decode_scales(sb), 32, 1).T
        return (1,), arguments, dict(c=(left @ right).astype(np.float32)), 0

    return case


def dot_scaled(random, chip):
    """Not in the corpus: of tl.dot_scaled, in a plain kernel (Inputs/dot_scaled.*.ttgir)."""
    m, n, k = 130, 80, 256
    a = (random.integers(0x30, 0x40, (m, k)) | random.integers(0, 2, (m, k)) << 7).astype(np.uint8)
    b = random.integers(0, 256, (k // 2, n)).astype(np.uint8)
    sa, sb = (random.integers(126, 129, (size, k // 32)).astype(np.uint8) for size in (m, n))
    sa[100, 3], sb[7, 2] = 255, 0
    left = decode(a, "e4m3") * np.repeat(decode_scales(sa), 32, 1)
    right = decode(unpack(b, 0), "e2m1") * np.repeat(decode_scales(sb), 32, 1).T
    arguments = dict(a=a, sa=sa, b=b, sb=sb, c=np.zeros((m, n), np.float32), M=m, N=n, K=k)
    return (2, 2), arguments, dict(c=(left @ right).astype(np.float32)), 0


def scaled_other(random, chip):
    """Not in the corpus: of bf16, and of e2m1 packed along N with scales of e4m3 (Inputs/scaled_other.ttgir)."""
    a, b = eighths(random, 32, 64), random.integers(0, 256, (64, 32)).astype(np.uint8)
    sb = random.integers(0x30, 0x40, (64, 4)).astype(np.uint8)
    right = decode(unpack(b, 1), "e2m1") * np.repeat(decode(sb, "e4m3"), 16, 1).T
    arguments = dict(a=(a.view(np.uint32) >> 16).astype(np.uint16), b=b, sb=sb, c=np.zeros((32, 64), np.float16))
    return (1,), arguments, dict(c=(a.astype(np.float64) @ right + 1).astype(np.float32).astype(np.float16)), 0


def fp4_repacked(random, chip):
    """Not in the corpus: e2m1 packed along M and N in shared memory, along K in registers (Inputs/fp4_repacked.ttgir)."""
    a, b = (random.integers(0, 256, (128, 32)).astype(np.uint8) for _ in range(2))  # [k][m / 2], [k][n / 2]
    columns = unpack(b, 1)
    arguments = dict(a=a, b=b, c=np.zeros((64, 64), np.float32), r=np.zeros((64, 64), np.uint8))
    product = decode(unpack(a, 1), "e2m1").T @ decode(columns, "e2m1")
    return (1,), arguments, dict(c=product.astype(np.float32), r=columns[0::2] | columns[1::2] << 4), 0


def upcasts(form):
    def case(random, chip):
        x = random.permutation(np.arange(2048) % 256).astype(np.uint8).reshape(32, 64)
        y = random.permutation(np.arange(2048) % 256).astype(np.uint8).reshape(32, 64)
        s = random.permutation(np.arange(4096) % 256).astype(np.uint8).reshape(32, 128)
        packed = decode(unpack(x, 1), "e2m1")
        products = decode(y, form) * decode_scales(s.reshape(-1)[:2048].reshape(32, 64))
        expected = dict(packed=packed.astype(np.float16), rows=decode(unpack(x, 0), "e2m1").astype(np.float32),
                        scaled=narrow(packed * decode_scales(s), None), wide=narrow(products, None), halves=narrow(products, np.float16))
        arguments = dict(x=x, y=y, s=s, **{name: np.zeros_like(value) for name, value in expected.items()})
        return (1,), arguments, expected, 0

    return case


KERNELS = dict(buffer_transpose=buffer_transpose, buffer_atomics=buffer_atomics, lds_views=lds_views, gemm_ring_16n=gemm_ring,
               gemm_ring_32t=gemm_ring, row_norm=row_norm, shapes=shapes, slots=slots, dot_fma=dot_fma,
               async_stream_w32=async_stream, gemm_pipeline_two_stages=gemm_stages, attn=attention, gemm_i8=gemm_i8,
               gemm_fp8e4b8=gemm_f8, gemm_fp8e4nv=gemm_f8, gemm_bf16_4x64=gemm_wide, gemm_fp32_64x4=gemm_tall, carried=carried, three_d=three_d, mixed=mixed, slices=slices, parts=parts,
               masked_copy=masked_copy, reinterpreted=reinterpreted, buffer_types=buffer_types,
               indexed_rows=indexed(np.int16, 0), indexed_columns=indexed(np.float32, 1), mx_e4m3_e5m2=mx_gemm("e4m3", "e5m2", 64, 32),
               mx_e2m1_e4m3=mx_gemm("e2m1", "e4m3", 32, 128), mx_e5m2_e2m1=mx_gemm("e5m2", "e2m1", 64, 64),
               mx_e2m1_e2m1=mx_gemm("e2m1", "e2m1", 128, 64, "none"), mx_e4m3_e4m3=mx_gemm("e4m3", "e4m3", 16, 16),
               upcasts_e4m3=upcasts("e4m3"), upcasts_e5m2=upcasts("e5m2"))
ONLY = dict(gemm_fp8e4b8="gfx942", gemm_fp8e4nv="gfx950", **{name: "gfx950" for name in KERNELS if name.startswith("mx_")})


def run(verb, text, chip, case, folder):
    """What is wrong, or nothing."""
    grid, arguments, expected, tolerance = case
    command = ["heddle", verb, text, "--target", chip, "--grid", ",".join(map(str, grid))]
    command += ["--schedules", "2"] if verb == "check" else []
    for name, value in arguments.items():
        if isinstance(value, np.ndarray):
            np.save(f"{folder}/{name}.npy", value)
            value = f"@{folder}/{name}.npy"
        command += ["--arg", f"{name}={value}"]
    if verb == "simulate":
        for name in expected:
            command += ["--out", f"{name}={folder}/{name}.out.npy"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        return f"exit code {done.returncode}: {done.stderr.strip() or done.stdout.strip()}"
    for name, want in expected.items() if verb == "simulate" else ():
        got = np.load(f"{folder}/{name}.out.npy").reshape(want.shape)
        got, want = got.astype(np.float64), want.astype(np.float64)
        same = (got == want) | (np.isnan(got) & np.isnan(want))
        error = np.max(np.abs(np.where(same, 0, got) - np.where(same, 0, want)) / (1 + np.abs(np.where(same, 0, want))))
        if not error <= tolerance:
            return f"`{name}`: error {error}, at most {tolerance} is right"
    return None


CASES = dict(KERNELS, dot_scaled=dot_scaled, scaled_other=scaled_other, fp4_repacked=fp4_repacked)
corpus, names = sys.argv[1], sys.argv[2:] or list(KERNELS)
wrong = total = 0
for name in names:
    name, chip = name.split(".") if "." in name else (name, ONLY.get(name))
    for chip in [chip] if chip else ("gfx942", "gfx950"):
        for ending, verb in ((".entry", "simulate"), ("", "simulate"), ("", "check")):
            text = os.path.join(corpus, "gluon", f"{name}.{chip}{ending}.ttgir")
            if ending and sys.argv[2:] and not os.path.exists(text):
                continue
            with tempfile.TemporaryDirectory() as folder:
                problem = run(verb, text, chip, CASES[name](np.random.default_rng(1), chip), folder)
            total += 1
            if problem:
                wrong += 1
                print(f"{verb} {name}.{chip}{ending}: {problem}")
print(f"{total - wrong} of {total} right")
sys.exit(wrong or not total)
