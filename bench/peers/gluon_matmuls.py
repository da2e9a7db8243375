# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Matmuls written in Gluon for Hopper, compiled by Triton and by Heddle, beside cuBLAS: gluon_matmuls.py [--size N] [--json FILE].

f16 tiles by bulk copies (TMA) into a ring with barrier objects, products by warp groups, the result by a bulk store; `piped`: the same
warps load and multiply; `specialised`: one warp loads. Each row is the median of 15 runs of 10 launches, one after the other on the
GPU, after a wait that hides the launches; results are compared with cuBLAS's. Needs PyTorch, Triton 3.6 or later with Gluon, an H100
or H200, and `HEDDLE_LIBRARY` with `PYTHONPATH=python`, or the wheel.
"""
import argparse
import json
import statistics

import torch
import triton
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import fence_async_shared, mbarrier, tma, warpgroup_mma, warpgroup_mma_wait
from triton.experimental.gluon.nvidia.hopper import TensorDescriptor

load = getattr(tma, "async_load", None) or tma.async_copy_global_to_shared  # renamed in Triton 3.9
store = getattr(tma, "async_store", None) or tma.async_copy_shared_to_global
SHAPES = ((128, 256, 64, 3, 8), (128, 128, 64, 4, 4))  # tiles M, N, K, slots of the ring, warps that multiply


@gluon.jit
def finish(c_desc, acc, row, col, BM: gl.constexpr, BN: gl.constexpr):
    c = gl.allocate_shared_memory(gl.float16, [BM, BN], c_desc.layout)
    c.store(acc.to(gl.float16))
    fence_async_shared()
    store(c_desc, [row, col], c)
    tma.store_wait(pendings=0)


@gluon.jit
def piped(a_desc, b_desc, c_desc, K, BM: gl.constexpr, BN: gl.constexpr, BK: gl.constexpr, S: gl.constexpr, W: gl.constexpr):
    a = gl.allocate_shared_memory(gl.float16, [S, BM, BK], a_desc.layout)
    b = gl.allocate_shared_memory(gl.float16, [S, BK, BN], b_desc.layout)
    full = gl.allocate_shared_memory(gl.int64, [S, 1], mbarrier.MBarrierLayout())
    for j in gl.static_range(S):
        mbarrier.init(full.index(j), count=1)
    fence_async_shared()
    mma: gl.constexpr = gl.NVMMADistributedLayout(version=[3, 0], warps_per_cta=[W, 1], instr_shape=[16, BN, 16])
    row = gl.program_id(0) * BM
    col = gl.program_id(1) * BN
    for j in gl.static_range(S - 1):
        mbarrier.expect(full.index(j), BM * BK * 2 + BK * BN * 2)
        load(a_desc, [row, j * BK], full.index(j), a.index(j))
        load(b_desc, [j * BK, col], full.index(j), b.index(j))
    acc = gl.zeros((BM, BN), gl.float32, mma)
    n = K // BK
    for k in range(n):
        slot = k % S
        mbarrier.wait(full.index(slot), (k // S) & 1)
        acc = warpgroup_mma(a.index(slot), b.index(slot), acc, is_async=True)
        acc = warpgroup_mma_wait(num_outstanding=1, deps=(acc,))
        ahead = k + S - 1
        next_slot = ahead % S
        more = ahead < n
        mbarrier.expect(full.index(next_slot), BM * BK * 2 + BK * BN * 2, pred=more)
        load(a_desc, [row, ahead * BK], full.index(next_slot), a.index(next_slot), pred=more)
        load(b_desc, [ahead * BK, col], full.index(next_slot), b.index(next_slot), pred=more)
    acc = warpgroup_mma_wait(num_outstanding=0, deps=(acc,))
    finish(c_desc, acc, row, col, BM, BN)


@gluon.jit
def producer(a_desc, b_desc, a, b, full, empty, row, col, n, BM: gl.constexpr, BN: gl.constexpr, BK: gl.constexpr, S: gl.constexpr):
    for k in range(n):
        slot = k % S
        mbarrier.wait(empty.index(slot), ((k // S) & 1) ^ 1)
        mbarrier.expect(full.index(slot), BM * BK * 2 + BK * BN * 2)
        load(a_desc, [row, k * BK], full.index(slot), a.index(slot))
        load(b_desc, [k * BK, col], full.index(slot), b.index(slot))


@gluon.jit
def consumer(c_desc, a, b, full, empty, row, col, n, BM: gl.constexpr, BN: gl.constexpr, S: gl.constexpr, W: gl.constexpr):
    mma: gl.constexpr = gl.NVMMADistributedLayout(version=[3, 0], warps_per_cta=[W, 1], instr_shape=[16, BN, 16])
    acc = gl.zeros((BM, BN), gl.float32, mma)
    for k in range(n):
        slot = k % S
        mbarrier.wait(full.index(slot), (k // S) & 1)
        acc = warpgroup_mma(a.index(slot), b.index(slot), acc, is_async=True)
        acc = warpgroup_mma_wait(num_outstanding=1, deps=(acc,))
        mbarrier.arrive(empty.index((k + S - 1) % S), count=1, pred=k > 0)
    acc = warpgroup_mma_wait(num_outstanding=0, deps=(acc,))
    finish(c_desc, acc, row, col, BM, BN)


@gluon.jit
def specialised(a_desc, b_desc, c_desc, K, BM: gl.constexpr, BN: gl.constexpr, BK: gl.constexpr, S: gl.constexpr, W: gl.constexpr):
    a = gl.allocate_shared_memory(gl.float16, [S, BM, BK], a_desc.layout)
    b = gl.allocate_shared_memory(gl.float16, [S, BK, BN], b_desc.layout)
    full = gl.allocate_shared_memory(gl.int64, [S, 1], mbarrier.MBarrierLayout())
    empty = gl.allocate_shared_memory(gl.int64, [S, 1], mbarrier.MBarrierLayout())
    for j in gl.static_range(S):
        mbarrier.init(full.index(j), count=1)
        mbarrier.init(empty.index(j), count=1)
    fence_async_shared()
    row = gl.program_id(0) * BM
    col = gl.program_id(1) * BN
    n = K // BK
    gl.warp_specialize([(consumer, (c_desc, a, b, full, empty, row, col, n, BM, BN, S, W)),
                        (producer, (a_desc, b_desc, a, b, full, empty, row, col, n, BM, BN, BK, S))], [1], [24])


def milliseconds(launch):
    for _ in range(3):
        launch()
    times = []
    for _ in range(15):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        torch.cuda.synchronize()
        torch.cuda._sleep(2_000_000)
        begin.record()
        for _ in range(10):
            launch()
        end.record()
        torch.cuda.synchronize()
        times.append(begin.elapsed_time(end) / 10)
    return statistics.median(times)


def measure(size, a, b, wanted):
    """Milliseconds by kernel and shape; a result that differs is an error."""
    result = {}
    for kernel in (piped, specialised):
        for m, n, k, slots, warps in SHAPES:
            c = torch.zeros_like(wanted)
            layout = [gl.NVMMASharedLayout.get_default_for(shape, gl.float16) for shape in ([m, k], [k, n], [m, n])]
            blocks = zip((a, b, c), ([m, k], [k, n], [m, n]), layout)
            descriptors = [TensorDescriptor.from_tensor(*block) for block in blocks]
            name = f"{kernel.__name__} {m}x{n}x{k}, {warps} warps"
            result[name] = milliseconds(lambda: kernel[(size // m, size // n)](*descriptors, size, m, n, k, slots, warps, num_warps=warps))
            if not torch.allclose(c, wanted, rtol=1e-2, atol=1e-1):
                raise SystemExit(f"{name}: the result is not cuBLAS's")
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=4096, help="M, N and K, a multiple of 256; 4096")
    parser.add_argument("--json", help="also writes milliseconds there")
    options = parser.parse_args()
    torch.manual_seed(0)
    a, b = (torch.randn(options.size, options.size, device="cuda", dtype=torch.float16) for _ in range(2))
    wanted = a @ b
    cublas = milliseconds(lambda: torch.mm(a, b))
    by_triton = measure(options.size, a, b, wanted)
    import heddle.triton
    heddle.triton.enable("cuda:0")
    by_heddle = measure(options.size, a, b, wanted)
    work = 2 * options.size**3 / 1e9
    print(f"Triton {triton.__version__}, {torch.cuda.get_device_name()}, f16, M = N = K = {options.size}; TFLOP/s")
    print(f"{'':32}{'Triton':>8}{'Heddle':>8}{'ratio':>7}")
    for name, time in by_triton.items():
        print(f"{name:32}{work / time:8.0f}{work / by_heddle[name]:8.0f}{time / by_heddle[name]:7.2f}")
    print(f"{'cuBLAS':32}{work / cublas:8.0f}")
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(dict(cublas=cublas, triton=by_triton, heddle=by_heddle), file, indent=1)


if __name__ == "__main__":
    main()
