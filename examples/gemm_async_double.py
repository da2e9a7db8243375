# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A Gluon matmul for gfx950: c = a * b, M x K by K x N in f16, whose tiles go straight to LDS one iteration ahead.

gemm_async_double.gfx950.ttgir is its TTGIR, as Triton 3.9 gives it (`kernel.asm['ttgir']`) for BM=64, BN=128, BK=64 and four
warps. Printing it again takes Triton 3.9 and no GPU.
"""
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.amd import cdna4
from triton.experimental.gluon.language.amd.cdna4 import async_copy


@gluon.jit
def gemm_async_double(a, b, c, M, N, K, BM: gl.constexpr, BN: gl.constexpr, BK: gl.constexpr):
    mfma: gl.constexpr = gl.amd.AMDMFMALayout(version=4, instr_shape=[16, 16, 32], transposed=True, warps_per_cta=[2, 2])
    operand_a: gl.constexpr = gl.DotOperandLayout(0, mfma, 8)
    operand_b: gl.constexpr = gl.DotOperandLayout(1, mfma, 8)
    load_a: gl.constexpr = gl.BlockedLayout([1, 8], [8, 8], [4, 1], [1, 0])
    load_b: gl.constexpr = gl.BlockedLayout([1, 8], [4, 16], [4, 1], [1, 0])
    shared_a: gl.constexpr = gl.PaddedSharedLayout.with_identity_for([[512, 16]], [BM, BK], [1, 0])
    shared_b: gl.constexpr = gl.SwizzledSharedLayout(8, 1, 4, [1, 0])
    rm = gl.program_id(0) * BM + gl.arange(0, BM, gl.SliceLayout(1, load_a))
    ka = gl.arange(0, BK, gl.SliceLayout(0, load_a))
    kb = gl.arange(0, BK, gl.SliceLayout(1, load_b))
    rn = gl.program_id(1) * BN + gl.arange(0, BN, gl.SliceLayout(0, load_b))
    # K and N are multiples of 8, so that a lane's 8 elements are inside or outside together; what is masked is zero in LDS
    offsets_a = rm[:, None] * K + ka[None, :]
    offsets_b = kb[:, None] * N + rn[None, :]
    tiles_a = gl.allocate_shared_memory(gl.float16, [2, BM, BK], shared_a)
    tiles_b = gl.allocate_shared_memory(gl.float16, [2, BK, BN], shared_b)
    steps = gl.cdiv(K, BK)
    async_copy.buffer_load_to_shared(tiles_a.index(0), a, offsets_a, mask=(rm[:, None] < M) & (ka[None, :] < K))
    async_copy.buffer_load_to_shared(tiles_b.index(0), b, offsets_b, mask=(kb[:, None] < K) & (rn[None, :] < N))
    async_copy.commit_group()
    acc = gl.zeros([BM, BN], gl.float32, mfma)
    for k in range(0, steps - 1):
        left = K - (k + 1) * BK
        async_copy.buffer_load_to_shared(tiles_a.index((k + 1) % 2), a + (k + 1) * BK, offsets_a,
                                         mask=(rm[:, None] < M) & (ka[None, :] < left))
        async_copy.buffer_load_to_shared(tiles_b.index((k + 1) % 2), b + (k + 1) * BK * N, offsets_b,
                                         mask=(kb[:, None] < left) & (rn[None, :] < N))
        async_copy.commit_group()
        async_copy.wait_group(1)
        x = async_copy.load_shared_relaxed(tiles_a.index(k % 2), operand_a)
        y = async_copy.load_shared_relaxed(tiles_b.index(k % 2), operand_b)
        acc = cdna4.mfma(x, y, acc)
    async_copy.wait_group(0)
    x = async_copy.load_shared_relaxed(tiles_a.index((steps - 1) % 2), operand_a)
    y = async_copy.load_shared_relaxed(tiles_b.index((steps - 1) % 2), operand_b)
    acc = cdna4.mfma(x, y, acc)
    om = gl.program_id(0) * BM + gl.arange(0, BM, gl.SliceLayout(1, mfma))
    on = gl.program_id(1) * BN + gl.arange(0, BN, gl.SliceLayout(0, mfma))
    cdna4.buffer_store(acc.to(gl.float16), c, om[:, None] * N + on[None, :], mask=(om[:, None] < M) & (on[None, :] < N))
