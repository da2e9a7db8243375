#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Matmuls and attention on gfx942 or gfx950, with and without warp pipelines, beside Triton's code of the same kernel.

  bench/peers/warp_pipelines.py
  bench/peers/warp_pipelines.py --chip gfx942 --warps 4 --case matmul_256x256x64 --json rows.json
  bench/peers/warp_pipelines.py --mask causal

A row has the estimated cycles of one iteration of the kernel's loop (docs/timing.md): the difference of two simulated launches
of one workgroup, of 2048 and of 1024 elements along the loop, divided by the iterations between. Needs Triton (3.9; no GPU).
"""
import argparse
import json
import os
import sys
import tempfile

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from amd_code import assemble, geometric_mean, ratio, run, simulate  # noqa: E402 the folder above


@triton.jit
def matmul(a, b, c, K, sak, sbk, scm, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr, ENDS: tl.constexpr, CAUSAL: tl.constexpr):
    rows, columns, depth = tl.arange(0, M), tl.arange(0, N), tl.arange(0, D)
    at_a = a + rows[:, None] * sak + depth[None, :]
    at_b = b + depth[:, None] * sbk + columns[None, :]
    total = tl.zeros((M, N), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, D)):
        if ENDS:
            left = K - k * D
            total = tl.dot(tl.load(at_a, mask=depth[None, :] < left, other=0.0),
                           tl.load(at_b, mask=depth[:, None] < left, other=0.0), total)
        else:
            total = tl.dot(tl.load(at_a), tl.load(at_b), total)
        at_a += D
        at_b += D * sbk
    tl.store(c + rows[:, None] * scm + columns[None, :], total.to(tl.float16))


@triton.jit
def attention(q, k, v, out, K, scale, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr, ENDS: tl.constexpr, CAUSAL: tl.constexpr):
    rows, head, keys = tl.arange(0, M), tl.arange(0, D), tl.arange(0, N)
    query = tl.load(q + rows[:, None] * D + head[None, :])
    largest = tl.full((M,), float("-inf"), tl.float32)
    weight = tl.zeros((M,), tl.float32)
    total = tl.zeros((M, D), tl.float32)
    for start in range(0, K, N):
        key, value = k + (start + keys)[None, :] * D + head[:, None], v + (start + keys)[:, None] * D + head[None, :]
        if ENDS:
            score = tl.dot(query, tl.load(key, mask=(start + keys)[None, :] < K, other=0.0)) * scale
            score = tl.where((start + keys)[None, :] < K, score, -1.0e30)
        else:
            score = tl.dot(query, tl.load(key)) * scale
        if CAUSAL:
            score = tl.where((start + keys)[None, :] <= rows[:, None], score, -1.0e30)
        larger = tl.maximum(largest, tl.max(score, 1))
        part, keep = tl.exp2(score - larger[:, None]), tl.exp2(largest - larger)
        weight = weight * keep + tl.sum(part, 1)
        total = total * keep[:, None]
        if ENDS:
            total = tl.dot(part.to(tl.float16), tl.load(value, mask=(start + keys)[:, None] < K, other=0.0), total)
        else:
            total = tl.dot(part.to(tl.float16), tl.load(value), total)
        largest = larger
    tl.store(out + rows[:, None] * D + head[None, :], (total / weight[:, None]).to(tl.float16))


SHAPES = [(matmul, 256, 256, 64), (matmul, 256, 256, 32), (matmul, 128, 256, 64), (matmul, 128, 128, 64),
          (attention, 256, 64, 128), (attention, 256, 64, 64)]
MASKED = [(attention, 256, 64, 64), (attention, 256, 64, 128), (attention, 128, 64, 64), (attention, 128, 64, 128),
          (attention, 128, 128, 64), (attention, 128, 128, 128), (attention, 256, 128, 64)]
MASKED_MATMULS = [(matmul, 256, 256, 64), (matmul, 256, 256, 32), (matmul, 256, 128, 64), (matmul, 128, 256, 64),
                  (matmul, 128, 256, 32), (matmul, 128, 128, 128), (matmul, 128, 128, 32), (matmul, 64, 128, 128)]
HAND_PLACED = [(matmul, 128, 128, 32), (attention, 128, 64, 64)]  # the tiles of two pipelines of Gluon's


def named(shapes):
    return {f"{function.fn.__name__}_{m}x{n}x{d}": (function, m, n, d) for function, m, n, d in shapes}


LDS_BYTES = {"gfx942": 65536, "gfx950": 163840}  # of a workgroup; what Triton's code needs more of is not simulated
CASES = named(SHAPES + HAND_PLACED + MASKED + MASKED_MATMULS)


def compile_by_triton(function, m, n, d, mask, chip, warps):
    """The text that Heddle takes, Triton's assembly, and the bytes of LDS that it needs."""
    strides = ["sak", "sbk", "scm"] if function is matmul else []
    types = {name: "*fp16" for name in function.arg_names[:3 if function is matmul else 4]}
    types |= {"K": "i32"} | ({name: "i32" for name in strides} if strides else {"scale": "fp32"})
    aligned = {(i,): [["tt.divisibility", 16]] for i, name in enumerate(function.arg_names)
               if name in types and name != "scale"}
    constants = {(function.arg_names.index(name),): value for name, value in
                 (("M", m), ("N", n), ("D", d), ("ENDS", mask != "none"), ("CAUSAL", mask == "causal"))}
    source = ASTSource(fn=function, signature=types | {name: "constexpr" for name in ("M", "N", "D", "ENDS", "CAUSAL")},
                       constexprs=constants, attrs=aligned)
    made = triton.compile(source, target=GPUTarget("hip", chip, 64), options={"num_warps": warps, "num_stages": 2})
    return made.asm["ttir"], made.asm["amdgcn"], made.metadata.shared


def arguments(function, m, n, d, depth):
    if function is matmul:
        return [("a", f"rand:f16[{m},{depth}]:1"), ("b", f"rand:f16[{depth},{n}]:2"), ("c", f"f16[{m},{n}]"), ("K", depth),
                ("sak", depth), ("sbk", n), ("scm", n)]
    return [("q", f"rand:f16[{m},{d}]:1"), ("k", f"rand:f16[{depth},{d}]:2"), ("v", f"rand:f16[{depth},{d}]:3"),
            ("out", f"f16[{m},{d}]"), ("K", depth), ("scale", 0.1)]


def cycles_of_iteration(command, numbered, case):
    function, m, n, d = case
    def cycles(depth):
        values = arguments(*case, depth)
        if numbered:  # Triton's kernels take two more pointers, which these do not use
            values = [(i, value) for i, (_, value) in enumerate(values)] + [(len(values), "i32[1]"), (len(values) + 1, "i32[1]")]
        return simulate(command + ["--grid", "1"] + [word for name, value in values for word in ("--arg", f"{name}={value}")])[1]
    return (cycles(2048) - cycles(1024)) / (1024 / (d if function is matmul else n))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--heddle", default="build/bin/heddle")
    parser.add_argument("--chip", default="gfx950", choices=("gfx942", "gfx950"))
    parser.add_argument("--warps", type=int, default=8, help="of a block; stages are made in blocks of 8")
    parser.add_argument("--case", action="append", choices=CASES, help="may be given several times; default all but the tiles of Gluon's pipelines")
    parser.add_argument("--mask", default="none", choices=("none", "ends", "causal"),
                        help="of loads, and of attention's scores, at the end of the keys; causal: and of the scores above the "
                             "diagonal. With a mask the default are other tiles")
    parser.add_argument("--always", action="store_true", help="one more column: with stages wherever they are proven to be apart")
    parser.add_argument("--json", help="a file for the rows")
    options = parser.parse_args()
    print(f"Triton {triton.__version__}, {options.chip}, {options.warps} warps, cycles of an iteration")
    print(f"{'':24}{'off':>8}{'auto':>8}{'ratio':>7}{'Triton':>8}{'ratio':>7}" + (f"{'always':>8}" if options.always else ""))
    rows = []
    with tempfile.TemporaryDirectory() as scratch:
        standard = {"none": SHAPES, "ends": MASKED + MASKED_MATMULS, "causal": MASKED}[options.mask]
        for name in options.case or named(standard):
            case = CASES[name]
            text, assembly, lds = compile_by_triton(*case, options.mask, options.chip, options.warps)
            with open(f"{scratch}/k.ttir", "w", encoding="utf-8") as file:
                file.write(text)
            with open(f"{scratch}/k.amdgcn", "w", encoding="utf-8") as file:
                file.write(assembly)
            ours = {}
            for way in ["off", "auto"] + ["always"] * options.always:
                run([options.heddle, "compile", f"{scratch}/k.ttir", "--target", options.chip, "--warps", str(options.warps),
                     "--warp-pipeline", way, "-o", f"{scratch}/k.hpkg"])
                ours[way] = cycles_of_iteration([options.heddle, "simulate", f"{scratch}/k.hpkg"], False, case)
            code = assemble(f"{scratch}/k.amdgcn", options.chip, scratch)
            command = [options.heddle, "simulate", code, "--block", str(64 * options.warps), "--lds", str(lds)]
            theirs = cycles_of_iteration(command, True, case) if lds <= LDS_BYTES[options.chip] else None
            ratios = [ratio(ours["auto"], ours["off"]), theirs and ratio(ours["auto"], theirs)]
            rows.append({"case": name, **ours, "triton": theirs, "ratios": ratios})
            print(f"{name:24}{ours['off']:8.0f}{ours['auto']:8.0f}{ratios[0]:7.2f}" + (f"{theirs:8.0f}{ratios[1]:7.2f}" if theirs else f"{'LDS':>8}{'':7}")
                  + (f"{ours['always']:8.0f}" if options.always else ""), flush=True)
    means = [geometric_mean([row["ratios"][i] for row in rows if row["ratios"][i]]) for i in range(2)]
    print(f"{'geometric mean':24}{'':16}{means[0]:7.2f}{'':8}{means[1]:7.2f}")
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(rows, file, indent=1)


if __name__ == "__main__":
    main()
