#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A matmul and attention forward of AMD's library AITER, written by hand for gfx950, beside ours of the same problem.

  HEDDLE_AITER=aiter bench/peers/aiter_kernels.py
  HEDDLE_AITER=aiter bench/peers/aiter_kernels.py --case attention --json rows.json

A row has the estimated cycles (docs/timing.md) of a launch of one workgroup, of 4096 elements along the loop, and of 128
elements more: a 16th of the difference from 2048; `launch` and `loop` are our cycles by AITER's. Ours is compiled from Triton
IR with the tiles and warps that the row says, and with --fp-fusion, as Triton has it by default. Needs Triton (3.9; no GPU),
NumPy, and AITER's objects: docs/production.md says how to get them.
"""
import argparse
import json
import os
import pathlib
import sys
import tempfile

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

here = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(here.parent), str(here.parent.parent / "examples" / "production")]
from amd_code import run, simulate  # noqa: E402 the folders above
from description import Kernel  # noqa: E402
from families import bf16gemm, fmha_forward  # noqa: E402
from runner import Runner, Settings  # noqa: E402

CHIP = "gfx950"


@triton.jit
def matmul(a, b, c, K, sa, sb, sc, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr):
    """Of rows of A and rows of B, as AITER's `tn` kernels."""
    rows, columns, depth = tl.arange(0, M), tl.arange(0, N), tl.arange(0, D)
    at_a = a + rows[:, None] * sa + depth[None, :]
    at_b = b + columns[None, :] * sb + depth[:, None]
    total = tl.zeros((M, N), dtype=tl.float32)
    for _ in range(0, tl.cdiv(K, D)):
        total = tl.dot(tl.load(at_a), tl.load(at_b), total)
        at_a += D
        at_b += D
    tl.store(c + rows[:, None] * sc + columns[None, :], total.to(tl.bfloat16))


@triton.jit
def attention(q, k, v, out, lse, K, scale, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr):
    rows, head, keys = tl.arange(0, M), tl.arange(0, D), tl.arange(0, N)
    query = tl.load(q + rows[:, None] * D + head[None, :])
    largest = tl.full((M,), float("-inf"), tl.float32)
    weight = tl.zeros((M,), tl.float32)
    total = tl.zeros((M, D), tl.float32)
    for start in range(0, K, N):
        score = tl.dot(query, tl.load(k + (start + keys)[None, :] * D + head[:, None]))
        larger = tl.maximum(largest, tl.max(score, 1) * scale)
        part, keep = tl.exp2(score * scale - larger[:, None]), tl.exp2(largest - larger)
        weight = weight * keep + tl.sum(part, 1)
        total = total * keep[:, None]
        total = tl.dot(part.to(tl.bfloat16), tl.load(v + (start + keys)[:, None] * D + head[None, :]), total)
        largest = larger
    tl.store(out + rows[:, None] * D + head[None, :], (total * (1 / weight)[:, None]).to(tl.bfloat16))
    tl.store(lse + rows, (largest + tl.log2(weight)) * 0.6931471805599453)


def of_matmul(depth):
    return [("a", f"rand:bf16[256,{depth}]:1"), ("b", f"rand:bf16[256,{depth}]:2"), ("c", "bf16[256,256]"), ("K", depth),
            ("sa", depth), ("sb", depth), ("sc", 256)]


def of_attention(depth):
    return [("q", "rand:bf16[256,128]:1"), ("k", f"rand:bf16[{depth},128]:2"), ("v", f"rand:bf16[{depth},128]:3"),
            ("out", "bf16[256,128]"), ("lse", "f32[256]"), ("K", depth), ("scale", 0.1275)]


class Case:
    """The kernel of AITER and its launch of a depth; our function, its arguments, and the tiles and warps of each row."""

    def __init__(self, name, theirs, launch, function, arguments, forms):
        self.name, self.theirs, self.launch, self.function, self.arguments, self.forms = \
            name, theirs, launch, function, arguments, forms


CASES = {case.name: case for case in (
    Case("matmul", "bf16gemm/bf16gemm_bf16_tn_256x256", lambda depth: bf16gemm.launch((256, 256, depth), (256, 256)), matmul,
         of_matmul, [((256, 256, 64), 8), ((256, 256, 64), 4)]),
    Case("attention", "fmha_v3_fwd/fwd_hd128_bf16",
         lambda depth: fmha_forward.launch(fmha_forward.Case(CHIP, "fwd_hd128_bf16", (1, 256, depth, 1, 1, 128, 128))),
         attention, of_attention, [((256, 64, 128), 8), ((256, 128, 128), 8)]))}


def text_of(function, tiles, warps):
    numbers = {"K": "i32", "sa": "i32", "sb": "i32", "sc": "i32", "scale": "fp32"}
    names = [name for name in function.arg_names if name not in "MND"]
    types = {name: numbers.get(name) or ("*fp32" if name == "lse" else "*bf16") for name in names}
    aligned = {(i,): [["tt.divisibility", 16]] + [["tt.pointer_range", 32]] * types[name].startswith("*")
               for i, name in enumerate(names) if name != "scale"}
    constants = {(function.arg_names.index(name),): value for name, value in zip("MND", tiles)}
    source = ASTSource(fn=function, signature=types | dict.fromkeys("MND", "constexpr"), constexprs=constants, attrs=aligned)
    return triton.compile(source, target=GPUTarget("hip", CHIP, 64), options={"num_warps": warps}).asm["ttir"]


def estimates(command):
    """Cycles of 4096 elements along the loop, and of 128 more; `command` makes the command of a depth."""
    short, long = (simulate(command(depth))[1] for depth in (2048, 4096))
    return long, (long - short) / 16


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--heddle", default="build/bin/heddle")
    parser.add_argument("--case", action="append", choices=CASES, help="may be given several times")
    parser.add_argument("--json", help="a file for the rows")
    options = parser.parse_args()
    objects = os.environ.get("HEDDLE_AITER")
    if not objects:
        raise SystemExit("HEDDLE_AITER does not name a folder\nnote: docs/production.md says how to get AITER's objects")
    rows = []
    print(f"{'':42}{'cycles':>8}{'128 more':>10}{'launch':>7}{'loop':>7}")
    with tempfile.TemporaryDirectory() as scratch:
        for name in options.case or CASES:
            case = CASES[name]

            def theirs(depth, case=case):
                kernel = Kernel(case.theirs.split("/")[0], f"{case.name}{depth}", CHIP, f"{CHIP}/{case.theirs}.co",
                                lambda: case.launch(depth), "")
                runner = Runner(kernel, Settings(options.heddle, f"{objects}/hsa", scratch))
                return [options.heddle, "simulate", runner.path, *runner.arguments()]
            peer = estimates(theirs)
            print(f"{case.theirs:42}{peer[0]:8.0f}{peer[1]:10.0f}")
            for tiles, warps in case.forms:
                path = pathlib.Path(scratch, "k.ttir")
                path.write_text(text_of(case.function, tiles, warps), encoding="utf-8")
                run([options.heddle, "compile", str(path), "--target", CHIP, "--warps", str(warps), "--fp-fusion", "-o",
                     f"{scratch}/k.hpkg"])
                own = estimates(lambda depth, case=case: [
                    options.heddle, "simulate", f"{scratch}/k.hpkg", "--grid", "1",
                    *(word for pair in case.arguments(depth) for word in ("--arg", f"{pair[0]}={pair[1]}"))])
                ratios = [ours / other for ours, other in zip(own, peer)]
                label = f"  {name} {'x'.join(map(str, tiles))}, {warps} warps"
                print(f"{label:42}{own[0]:8.0f}{own[1]:10.0f}{ratios[0]:7.2f}{ratios[1]:7.2f}", flush=True)
                rows.append({"case": name, "tiles": tiles, "warps": warps, "cycles": own[0], "more": own[1],
                             "aiterCycles": peer[0], "aiterMore": peer[1], "ratios": ratios})
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(rows, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
