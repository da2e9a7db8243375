# Gluon kernels for sm_90 without tensor descriptors (those are in hopper_tma.py), whose TTGIR is beside this file: as Triton
# 3.9 emits it (NAME.sm_90.entry.ttgir) and after its passes (NAME.sm_90.ttgir). S: as in kernels.py.
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia import ampere, hopper
from triton.experimental.gluon.language.nvidia.ampere import async_copy
from triton.experimental.gluon.language.nvidia.hopper import mbarrier

S = {}


def add(name, function, warps, signature, **constants):
    S[name] = (function, {'sm_90': (signature, constants)}, warps)


def mma2(*warps):
    return gl.NVMMADistributedLayout(version=[2, 0], warps_per_cta=list(warps), instr_shape=[16, 8])


def wgmma(warps, *shape):
    return gl.NVMMADistributedLayout(version=[3, 0], warps_per_cta=list(warps), instr_shape=list(shape))


# dst[c, r] = src[r, c] * factors[c] + 1: masked loads and stores, cache modifiers and eviction policies; two blocked layouts
@gluon.jit
def two_layouts(src, factors, dst, rows, cols, R: gl.constexpr, C: gl.constexpr):
    wide: gl.constexpr = gl.BlockedLayout([1, 4], [4, 8], [2, 2], [1, 0])
    tall: gl.constexpr = gl.BlockedLayout([4, 1], [8, 4], [2, 2], [0, 1])
    r = gl.program_id(0) * R + gl.arange(0, R, gl.SliceLayout(1, wide))
    c = gl.program_id(1) * C + gl.arange(0, C, gl.SliceLayout(0, wide))
    mask = (r[:, None] < rows) & (c[None, :] < cols)
    x = gl.load(src + r[:, None] * cols + c[None, :], mask=mask, other=-1.0, cache_modifier=".cg")
    f = gl.load(factors + c, mask=c < cols, other=0.0, eviction_policy="evict_last")
    y = gl.convert_layout(x.to(gl.float32) * f[None, :] + 1.0, tall)
    r2 = gl.program_id(0) * R + gl.arange(0, R, gl.SliceLayout(1, tall))
    c2 = gl.program_id(1) * C + gl.arange(0, C, gl.SliceLayout(0, tall))
    gl.store(dst + c2[None, :] * rows + r2[:, None], y, mask=(r2[:, None] < rows) & (c2[None, :] < cols), cache_modifier=".cs")


add('nv_two_layouts', two_layouts, 4, {'src': '*fp16:16', 'factors': '*fp32:16', 'dst': '*fp32:16', 'rows': 'i32', 'cols': 'i32'}, R=32, C=64)


@gluon.jit
def plus(a, b):
    return a + b


@gluon.jit
def larger(a, i, b, j):
    left = (a > b) | ((a == b) & (i < j))
    return gl.where(left, a, b), gl.where(left, i, j)


# of each row: sum, maximum and where it is; running sums along both axes. One layout is left to the compiler
@gluon.jit
def row_stats(x, sums, tops, where, right, down, R: gl.constexpr, C: gl.constexpr):
    lay: gl.constexpr = gl.BlockedLayout([1, 2], [2, 16], [2, 2], [1, 0])
    r = gl.arange(0, R, gl.SliceLayout(1, lay))
    c = gl.arange(0, C, gl.SliceLayout(0, lay))
    at = r[:, None] * C + c[None, :]
    v = gl.load(x + at)
    top, place = gl.reduce((v, at - r[:, None] * C), 1, larger)
    gl.store(sums + gl.arange(0, R), gl.sum(v, 1))
    gl.store(tops + r, top)
    gl.store(where + r, place)
    gl.store(right + at, gl.associative_scan(v, 1, plus))
    gl.store(down + at, gl.associative_scan(v, 0, plus, reverse=True))


add('nv_row_stats', row_stats, 4, {'x': '*fp32:16', 'sums': '*fp32:16', 'tops': '*fp32:16', 'where': '*i32:16', 'right': '*fp32:16', 'down': '*fp32:16'},
    R=16, C=64)


# atomics, by tiles and by the block; assembly of a thread; text that is printed
@gluon.jit
def mixed(x, bins, top, lock, out, n, B: gl.constexpr):
    lay: gl.constexpr = gl.BlockedLayout([2], [32], [4], [0])
    i = gl.program_id(0) * B + gl.arange(0, B, lay)
    mask = i < n
    v = gl.load(x + i, mask=mask, other=0)
    gl.atomic_add(bins + (v & 15), 1, mask=mask, sem="relaxed", scope="gpu")
    gl.atomic_max(top, gl.max(v, 0), sem="acq_rel")
    gl.atomic_add(bins + 16, 3, sem="acq_rel", scope="sys")
    while gl.atomic_cas(lock, 0, 1, sem="acquire") == 1:
        pass
    gl.store(bins + 17, gl.load(bins + 17, volatile=True) + gl.sum(v, 0))
    gl.atomic_xchg(lock, 0, sem="release")
    three = gl.inline_asm_elementwise("mad.lo.s32 $0, $1, 3, $2;", "=r,r,r", [v, i], dtype=gl.int32, is_pure=True, pack=1)
    four = gl.inline_asm("shl.b32 $0, $2, 2;\nshl.b32 $1, $3, 2;", "=r,=r,r,r", [three], three.type, is_pure=True)
    gl.store(out + i, four, mask=mask)
    if gl.program_id(0) == 0:
        gl.device_print("n", n)


add('nv_mixed', mixed, 4, {'x': '*i32:16', 'bins': '*i32:16', 'top': '*i32:16', 'lock': '*i32:16', 'out': '*i32:16', 'n': 'i32'}, B=256)


# gathered by an index, from registers and from shared memory; joined, split, counted; matmul of scalars (no tensor cores)
@gluon.jit
def rearranged(x, idx, out, counts, dots, SHARED: gl.constexpr):
    lay: gl.constexpr = gl.BlockedLayout([1, 2], [2, 16], [4, 1], [1, 0])
    line: gl.constexpr = gl.BlockedLayout([1], [32], [4], [0])
    at = gl.arange(0, 16, gl.SliceLayout(1, lay))[:, None] * 32 + gl.arange(0, 32, gl.SliceLayout(0, lay))[None, :]
    v = gl.load(x + at)
    j = gl.load(idx + at)
    tile = gl.allocate_shared_memory(gl.float32, [16, 32], SHARED, v)
    a = gl.gather(v, j & 31, 1)
    b = tile.gather(j & 15, axis=0)
    pairs = gl.convert_layout(gl.join(a, b).reshape([16, 64]), gl.BlockedLayout([1, 4], [2, 16], [4, 1], [1, 0]))
    even, odd = gl.split(pairs.reshape([16, 32, 2]))
    gl.store(out + at, gl.convert_layout(even - 2 * odd, lay))
    tile.scatter(v, (at // 32 + at) % 16, axis=0)
    gl.store(out + 512 + at, tile.load(lay))
    c = gl.arange(0, 64, line)
    gl.store(counts + c, gl.histogram(gl.load(idx + gl.arange(0, 512, line)), 64, layout=line))
    dot: gl.constexpr = gl.BlockedLayout([2, 2], [4, 8], [2, 2], [1, 0])
    left = gl.convert_layout(v, gl.DotOperandLayout(0, dot, 0))
    right = gl.convert_layout(v.trans(), gl.DotOperandLayout(1, dot, 0))
    acc = gl.dot_fma(left, right, gl.zeros([16, 16], gl.float32, dot))
    gl.store(dots + gl.arange(0, 16, gl.SliceLayout(1, dot))[:, None] * 16 + gl.arange(0, 16, gl.SliceLayout(0, dot))[None, :], acc)


add('nv_rearranged', rearranged, 4, {'x': '*fp32:16', 'idx': '*i32:16', 'out': '*fp32:16', 'counts': '*i32:16', 'dots': '*fp32:16'},
    SHARED=gl.NVMMASharedLayout(128, 32))


# a tile in shared memory, read whole in another layout, transposed, its lower right quarter, and as rows of half the length
@gluon.jit
def shared_views(x, whole, turned, quarter, halves, R: gl.constexpr, C: gl.constexpr, SHARED: gl.constexpr, RESHAPE: gl.constexpr):
    wide: gl.constexpr = gl.BlockedLayout([1, 4], [4, 8], [4, 1], [1, 0])
    other: gl.constexpr = gl.BlockedLayout([2, 2], [8, 4], [2, 2], [0, 1])
    r = gl.arange(0, R, gl.SliceLayout(1, wide))[:, None]
    c = gl.arange(0, C, gl.SliceLayout(0, wide))[None, :]
    tile = gl.allocate_shared_memory(x.dtype.element_ty, [R, C], SHARED)
    tile.store(gl.load(x + r * C + c))
    ro = gl.arange(0, R, gl.SliceLayout(1, other))[:, None]
    co = gl.arange(0, C, gl.SliceLayout(0, other))[None, :]
    gl.store(whole + ro * C + co, tile.load(other))
    rt = gl.arange(0, C, gl.SliceLayout(1, wide))[:, None]
    ct = gl.arange(0, R, gl.SliceLayout(0, wide))[None, :]
    gl.store(turned + rt * R + ct, tile.permute([1, 0]).load(wide))
    part = tile.slice(R // 2, R // 2, 0).slice(C // 2, C // 2, 1)
    rq = gl.arange(0, R // 2, gl.SliceLayout(1, other))[:, None]
    cq = gl.arange(0, C // 2, gl.SliceLayout(0, other))[None, :]
    gl.store(quarter + rq * (C // 2) + cq, part.load(other))
    if RESHAPE:
        rh = gl.arange(0, 2 * R, gl.SliceLayout(1, wide))[:, None]
        ch = gl.arange(0, C // 2, gl.SliceLayout(0, wide))[None, :]
        gl.store(halves + rh * (C // 2) + ch, tile.reshape([2 * R, C // 2]).load(wide))


swizzled = gl.SwizzledSharedLayout
padded = gl.PaddedSharedLayout.with_identity_for
for name, ty, rows, columns, shared in (
        ('swizzled_f32', 'fp32', 32, 64, swizzled(4, 2, 8, [1, 0])), ('swizzled_f16', 'fp16', 64, 32, swizzled(8, 1, 4, [0, 1])),
        ('padded_f16', 'fp16', 32, 64, padded([[64, 8]], [32, 64], [1, 0])),
        ('nvmma128_f16', 'fp16', 16, 128, gl.NVMMASharedLayout(128, 16)), ('nvmma64_f16', 'fp16', 32, 32, gl.NVMMASharedLayout(64, 16)),
        ('nvmma128_i8', 'i8', 32, 256, gl.NVMMASharedLayout(128, 8)), ('nvmma32_f32', 'fp32', 32, 32, gl.NVMMASharedLayout(32, 32)),
        ('nvmma128_f32', 'fp32', 16, 64, gl.NVMMASharedLayout(128, 32)), ('nvmma0_f16', 'fp16', 16, 64, gl.NVMMASharedLayout(0, 16)),
        ('nvmma128t_f16', 'fp16', 128, 32, gl.NVMMASharedLayout(128, 16, transposed=True))):
    add(f'nv_views_{name}', shared_views, 4, {key: f'*{ty}:16' for key in ('x', 'whole', 'turned', 'quarter', 'halves')}, R=rows, C=columns, SHARED=shared,
        RESHAPE=not name.startswith('nvmma0') and not name.startswith('padded'))


# out[k] = x[k + 1] - x[k] from a ring of three tiles, and a tile of rank 3
@gluon.jit
def ring(x, out, cube, n, SHARED: gl.constexpr):
    lay: gl.constexpr = gl.BlockedLayout([1, 8], [4, 8], [4, 1], [1, 0])
    at = gl.arange(0, 16, gl.SliceLayout(1, lay))[:, None] * 64 + gl.arange(0, 64, gl.SliceLayout(0, lay))[None, :]
    slots = gl.allocate_shared_memory(gl.float16, [3, 16, 64], SHARED)
    slots.index(0).store(gl.load(x + at))
    slots.index(1).store(gl.load(x + 1024 + at))
    for k in range(n):
        slots.index((k + 2) % 3).store(gl.load(x + (k + 2) * 1024 + at))
        gl.store(out + k * 1024 + at, slots.index((k + 1) % 3).load(lay) - slots.index(k % 3).load(lay))
    deep: gl.constexpr = gl.BlockedLayout([1, 1, 8], [1, 4, 8], [2, 2, 1], [2, 1, 0])
    a = gl.arange(0, 4, gl.SliceLayout(1, gl.SliceLayout(2, deep)))
    b = gl.arange(0, 8, gl.SliceLayout(0, gl.SliceLayout(2, deep)))
    c = gl.arange(0, 64, gl.SliceLayout(0, gl.SliceLayout(1, deep)))
    p = a[:, None, None] * 512 + b[None, :, None] * 64 + c[None, None, :]
    tile = gl.allocate_shared_memory(gl.float16, [4, 8, 64], gl.NVMMASharedLayout(128, 16, rank=3), gl.load(x + p))
    gl.store(cube + p, tile.load(deep) + 1.0)


add('nv_ring', ring, 4, {'x': '*fp16:16', 'out': '*fp16:16', 'cube': '*fp16:16', 'n': 'i32'}, SHARED=gl.NVMMASharedLayout(128, 16))


# out[i] = the sum of x[k, i]: copies of 16 bytes to a ring of three, in groups; a masked copy leaves zeros where the mask is false
@gluon.jit
def copy_groups(x, out, rows, n, B: gl.constexpr):
    lay: gl.constexpr = gl.BlockedLayout([4], [32], [4], [0])
    i = gl.program_id(0) * B + gl.arange(0, B, lay)
    slots = gl.allocate_shared_memory(gl.float32, [3, B], gl.SwizzledSharedLayout(1, 1, 1, [0]))
    for s in gl.static_range(2):
        async_copy.async_load(slots.index(s), x + s * n + i, mask=(i < n) & (s < rows), cache_modifier=".cg")
        async_copy.commit_group()
    acc = gl.zeros([B], gl.float32, lay)
    for k in range(rows):
        async_copy.wait_group(1)
        gl.barrier()
        acc += slots.index(k % 3).load(lay)
        async_copy.async_load(slots.index((k + 2) % 3), x + (k + 2) * n + i, mask=(i < n) & (k + 2 < rows), cache_modifier=".cg")
        async_copy.commit_group()
    async_copy.wait_group(0)
    gl.store(out + i, acc, mask=i < n)


add('nv_copy_groups', copy_groups, 4, {'x': '*fp32:16', 'out': '*fp32:16', 'rows': 'i32', 'n': 'i32:16'}, B=512)


# out = x reversed in blocks of 256: copies that arrive at an mbarrier; INCREMENT: the pending count grows by the arrival
@gluon.jit
def copy_arrive(x, out, n, INCREMENT: gl.constexpr, B: gl.constexpr):
    lay: gl.constexpr = gl.BlockedLayout([4], [32], [2], [0])
    i = gl.arange(0, B, lay)
    tile = gl.allocate_shared_memory(gl.float32, [B], gl.SwizzledSharedLayout(1, 1, 1, [0]))
    bar = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    mbarrier.init(bar, count=1 if INCREMENT else 64)
    gl.barrier()
    for k in range(n):
        async_copy.async_load(tile, x + k * B + i)
        async_copy.mbarrier_arrive(bar, increment_count=INCREMENT)
        if INCREMENT:
            mbarrier.arrive(bar, count=1)
        mbarrier.wait(bar, k & 1, deps=[tile])
        v = tile.load(lay)
        gl.barrier()
        gl.store(out + k * B + (B - 1 - i), v)
    mbarrier.invalidate(bar)


for increment in (True, False):
    add(f'nv_copy_arrive{"_increment" if increment else ""}', copy_arrive, 2, {'x': '*fp32:16', 'out': '*fp32:16', 'n': 'i32'}, INCREMENT=increment, B=256)


# c = a @ b with operands in registers, from global memory through shared memory
@gluon.jit
def mma2_gemm(a, b, c, K, M: gl.constexpr, N: gl.constexpr, BK: gl.constexpr, mma: gl.constexpr, KW: gl.constexpr, ACC: gl.constexpr,
              SA: gl.constexpr, SB: gl.constexpr, PRECISION: gl.constexpr):
    oa: gl.constexpr = gl.DotOperandLayout(0, mma, KW)
    ob: gl.constexpr = gl.DotOperandLayout(1, mma, KW)
    ld: gl.constexpr = gl.BlockedLayout([1, 4], [4, 8], [4, 1], [1, 0])
    ra = gl.arange(0, M, gl.SliceLayout(1, ld))[:, None]
    ka = gl.arange(0, BK, gl.SliceLayout(0, ld))[None, :]
    kb = gl.arange(0, BK, gl.SliceLayout(1, ld))[:, None]
    cb = gl.arange(0, N, gl.SliceLayout(0, ld))[None, :]
    ta = gl.allocate_shared_memory(a.dtype.element_ty, [M, BK], SA)
    tb = gl.allocate_shared_memory(b.dtype.element_ty, [BK, N], SB)
    acc = gl.zeros([M, N], ACC, mma)
    for k in range(0, K, BK):
        ta.store(gl.load(a + ra * K + k + ka))
        tb.store(gl.load(b + (k + kb) * N + cb))
        acc = ampere.mma_v2(ta.load(oa), tb.load(ob), acc, input_precision=PRECISION)
    r = gl.arange(0, M, gl.SliceLayout(1, mma))[:, None]
    s = gl.arange(0, N, gl.SliceLayout(0, mma))[None, :]
    gl.store(c + r * N + s, acc)


for name, ty, kw, to, acc, sizes, mma, precision in (
        ('f16', 'fp16', 2, 'fp32', gl.float32, (32, 64, 32), mma2(2, 2), None), ('bf16', 'bf16', 2, 'fp32', gl.float32, (64, 32, 32), mma2(4, 1), None),
        ('f16_f16', 'fp16', 2, 'fp16', gl.float16, (32, 32, 16), mma2(1, 4), None), ('i8', 'i8', 4, 'i32', gl.int32, (32, 32, 64), mma2(2, 2), None),
        ('e4m3', 'fp8e4nv', 4, 'fp32', gl.float32, (32, 32, 64), mma2(2, 2), None), ('e5m2', 'fp8e5', 4, 'fp32', gl.float32, (32, 32, 64), mma2(4, 1), None),
        ('tf32', 'fp32', 1, 'fp32', gl.float32, (32, 32, 16), mma2(2, 2), 'tf32'), ('f64', 'fp64', 1, 'fp64', gl.float64, (32, 32, 16), mma2(2, 2), None)):
    add(f'nv_mma2_{name}', mma2_gemm, 4, {'a': f'*{ty}:16', 'b': f'*{ty}:16', 'c': f'*{to}:16', 'K': 'i32:16'}, M=sizes[0], N=sizes[1], BK=sizes[2], mma=mma,
        KW=kw, ACC=acc, SA=swizzled(4, 1, 4, [1, 0]), SB=swizzled(4, 1, 4, [1, 0]), PRECISION=precision)


# c = a @ b with copies three stages ahead, as before sm_90: a ring of tiles and operands in registers; edges masked
@gluon.jit
def mma2_pipelined(a, b, c, M, N, K, BM: gl.constexpr, BN: gl.constexpr, BK: gl.constexpr, DEPTH: gl.constexpr):
    mma: gl.constexpr = gl.NVMMADistributedLayout([2, 0], [2, 2], [16, 8])
    ld: gl.constexpr = gl.BlockedLayout([1, 8], [8, 4], [4, 1], [1, 0])
    rm = gl.program_id(0) * BM + gl.arange(0, BM, gl.SliceLayout(1, ld))[:, None]
    ka = gl.arange(0, BK, gl.SliceLayout(0, ld))[None, :]
    kb = gl.arange(0, BK, gl.SliceLayout(1, ld))[:, None]
    cn = gl.program_id(1) * BN + gl.arange(0, BN, gl.SliceLayout(0, ld))[None, :]
    ta = gl.allocate_shared_memory(gl.float16, [DEPTH, BM, BK], gl.SwizzledSharedLayout(8, 2, 4, [1, 0]))
    tb = gl.allocate_shared_memory(gl.float16, [DEPTH, BK, BN], gl.SwizzledSharedLayout(8, 2, 4, [1, 0]))
    steps = gl.cdiv(K, BK)
    for s in gl.static_range(DEPTH - 1):
        async_copy.async_load(ta.index(s), a + rm * K + s * BK + ka, mask=(rm < M) & (s * BK + ka < K))
        async_copy.async_load(tb.index(s), b + (s * BK + kb) * N + cn, mask=(cn < N) & (s * BK + kb < K))
        async_copy.commit_group()
    acc = gl.zeros([BM, BN], gl.float32, mma)
    for k in range(steps):
        async_copy.wait_group(DEPTH - 2)
        gl.barrier()
        x = ta.index(k % DEPTH).load(gl.DotOperandLayout(0, mma, 2))
        y = tb.index(k % DEPTH).load(gl.DotOperandLayout(1, mma, 2))
        n = k + DEPTH - 1
        async_copy.async_load(ta.index(n % DEPTH), a + rm * K + n * BK + ka, mask=(rm < M) & (n * BK + ka < K))
        async_copy.async_load(tb.index(n % DEPTH), b + (n * BK + kb) * N + cn, mask=(cn < N) & (n * BK + kb < K))
        async_copy.commit_group()
        acc = ampere.mma_v2(x, y, acc)
    async_copy.wait_group(0)
    r = gl.program_id(0) * BM + gl.arange(0, BM, gl.SliceLayout(1, mma))[:, None]
    s = gl.program_id(1) * BN + gl.arange(0, BN, gl.SliceLayout(0, mma))[None, :]
    gl.store(c + r * N + s, acc.to(gl.float16), mask=(r < M) & (s < N))


add('nv_mma2_pipelined', mma2_pipelined, 4, {'a': '*fp16:16', 'b': '*fp16:16', 'c': '*fp16:16', 'M': 'i32', 'N': 'i32:16', 'K': 'i32:16'},
    BM=32, BN=32, BK=32, DEPTH=3)


# c = a @ b by groups of four warps: ordinary loads, tiles in shared memory, the left operand there or in registers (KW > 0).
# BT: b is [N, K] in global and shared memory and a transposed view is the operand; AT: likewise a as [K, M]
@gluon.jit
def wgmma_gemm(a, b, c, K, M: gl.constexpr, N: gl.constexpr, BK: gl.constexpr, mma: gl.constexpr, ACC: gl.constexpr, SA: gl.constexpr,
               SB: gl.constexpr, AT: gl.constexpr, BT: gl.constexpr, KW: gl.constexpr, LIMIT: gl.constexpr):
    ld: gl.constexpr = gl.BlockedLayout([1, 4], [4, 8], [gl.num_warps(), 1], [1, 0])
    AR: gl.constexpr = BK if AT else M
    AC: gl.constexpr = M if AT else BK
    BR: gl.constexpr = N if BT else BK
    BC: gl.constexpr = BK if BT else N
    ta = gl.allocate_shared_memory(a.dtype.element_ty, [AR, AC], SA)
    tb = gl.allocate_shared_memory(b.dtype.element_ty, [BR, BC], SB)
    ra = gl.arange(0, AR, gl.SliceLayout(1, ld))[:, None]
    ca = gl.arange(0, AC, gl.SliceLayout(0, ld))[None, :]
    rb = gl.arange(0, BR, gl.SliceLayout(1, ld))[:, None]
    cb = gl.arange(0, BC, gl.SliceLayout(0, ld))[None, :]
    acc = gl.zeros([M, N], ACC, mma)
    for k in range(0, K, BK):
        ta.store(gl.load(a + ((k + ra) * M + ca if AT else ra * K + k + ca)))
        tb.store(gl.load(b + (rb * K + k + cb if BT else (k + rb) * N + cb)))
        hopper.fence_async_shared()
        left = ta.permute([1, 0]) if AT else ta
        right = tb.permute([1, 0]) if BT else tb
        if KW > 0:
            acc = hopper.warpgroup_mma(left.load(gl.DotOperandLayout(0, mma, KW)), right, acc)
        elif LIMIT > 0:
            acc = hopper.warpgroup_mma(left, right, acc, max_num_imprecise_acc=LIMIT)
        else:
            acc = hopper.warpgroup_mma(left, right, acc)
    r = gl.arange(0, M, gl.SliceLayout(1, mma))[:, None]
    s = gl.arange(0, N, gl.SliceLayout(0, mma))[None, :]
    gl.store(c + r * N + s, acc)


def wgmma_case(name, ty, warps, shape, sizes, swizzles, at=False, bt=False, kw=0, acc='fp32', limit=0):
    bits = {'fp16': 16, 'bf16': 16, 'fp32': 32}.get(ty, 8)
    add(f'nv_wgmma_{name}', wgmma_gemm, warps[0] * warps[1], {'a': f'*{ty}:16', 'b': f'*{ty}:16', 'c': f'*{acc}:16', 'K': 'i32:16'},
        M=sizes[0], N=sizes[1], BK=sizes[2], mma=wgmma(warps, *shape), ACC={'fp32': gl.float32, 'fp16': gl.float16, 'i32': gl.int32}[acc],
        SA=gl.NVMMASharedLayout(swizzles[0], bits), AT=at, BT=bt, KW=kw, LIMIT=limit,
        SB=gl.NVMMASharedLayout(swizzles[1], bits) if isinstance(swizzles[1], int) else swizzles[1])


wgmma_case('f16', 'fp16', (4, 1), (16, 64, 16), (64, 64, 64), (128, 128))
wgmma_case('f16_bt', 'fp16', (4, 1), (16, 32, 16), (64, 32, 64), (128, 128), bt=True)
wgmma_case('f16_at', 'fp16', (4, 1), (16, 64, 16), (64, 64, 32), (128, 64), at=True, bt=True)
wgmma_case('f16_n16', 'fp16', (4, 1), (16, 16, 16), (64, 16, 32), (64, 32))
wgmma_case('f16_n8', 'fp16', (4, 1), (16, 8, 16), (64, 8, 16), (32, 0))
# the offsets of a 64 x 32 tile with the 64-byte swizzle, as bases
wgmma_case('f16_bases', 'fp16', (4, 1), (16, 32, 16), (64, 32, 64), (128, gl.SharedLinearLayout(
    [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [1, 0], [2, 8], [4, 16], [8, 0], [16, 0], [32, 0]], alignment=512)))
wgmma_case('f16_repeated', 'fp16', (4, 1), (16, 32, 16), (128, 64, 32), (64, 64))
wgmma_case('f16_f16', 'fp16', (4, 1), (16, 64, 16), (64, 64, 16), (32, 128), acc='fp16')
wgmma_case('f16_left', 'fp16', (4, 1), (16, 64, 16), (64, 64, 64), (128, 128), kw=2)
wgmma_case('bf16_n256', 'bf16', (8, 1), (16, 256, 16), (128, 256, 64), (128, 128))
wgmma_case('bf16_4x2', 'bf16', (4, 2), (16, 64, 16), (64, 128, 32), (64, 64), bt=True)
wgmma_case('tf32', 'fp32', (4, 1), (16, 32, 8), (64, 32, 32), (128, 128), bt=True)
wgmma_case('tf32_left', 'fp32', (4, 1), (16, 32, 8), (64, 32, 16), (64, 64), bt=True, kw=1)
wgmma_case('e4m3', 'fp8e4nv', (4, 1), (16, 64, 32), (64, 64, 128), (128, 128), bt=True)
wgmma_case('e4m3_limit', 'fp8e4nv', (4, 1), (16, 64, 32), (64, 64, 64), (64, 64), bt=True, limit=32)
wgmma_case('e5m2_left', 'fp8e5', (4, 1), (16, 32, 32), (64, 32, 64), (64, 64), bt=True, kw=4)
wgmma_case('i8', 'i8', (4, 1), (16, 128, 32), (64, 128, 64), (64, 64), bt=True, acc='i32')
wgmma_case('i8_w8', 'i8', (8, 1), (16, 32, 32), (128, 32, 32), (32, 32), bt=True, acc='i32')


# c = a @ b, K in two halves; the matmuls are in flight one after the other, the first ignores what the accumulator was
@gluon.jit
def wgmma_async(a, b, c, K, BK: gl.constexpr, mma: gl.constexpr):
    ld: gl.constexpr = gl.BlockedLayout([1, 8], [4, 8], [4, 1], [1, 0])
    la: gl.constexpr = gl.NVMMASharedLayout(128, 16)
    ta = gl.allocate_shared_memory(gl.float16, [2, 64, BK], la)
    tb = gl.allocate_shared_memory(gl.float16, [2, BK, 64], la)
    r = gl.arange(0, 64, gl.SliceLayout(1, ld))[:, None]
    s = gl.arange(0, 64, gl.SliceLayout(0, ld))[None, :]
    acc = gl.full([64, 64], 7.0, gl.float32, mma)
    for k in range(K // BK):
        ta.index(k % 2).store(gl.load(a + r * K + k * BK + s))
        tb.index(k % 2).store(gl.load(b + (k * BK + r) * 64 + s))
        hopper.fence_async_shared()
        x = ta.index(k % 2)
        y = tb.index(k % 2)
        flight = hopper.warpgroup_mma(x, y, acc, use_acc=k > 0, is_async=True)
        acc = hopper.warpgroup_mma_wait(num_outstanding=1, deps=[flight])
        # the tiles of the next turn are those that the matmul before this one read
    acc = hopper.warpgroup_mma_wait(num_outstanding=0, deps=[acc])
    cr = gl.arange(0, 64, gl.SliceLayout(1, mma))[:, None]
    cs = gl.arange(0, 64, gl.SliceLayout(0, mma))[None, :]
    gl.store(c + cr * 64 + cs, acc)


add('nv_wgmma_async', wgmma_async, 4, {'a': '*fp16:16', 'b': '*fp16:16', 'c': '*fp32:16', 'K': 'i32:16'}, BK=64, mma=wgmma((4, 1), 16, 64, 16))
