# Gluon kernels for gfx942 and gfx950, whose TTGIR is beside this file: as Triton 3.9 emits it (NAME.CHIP.entry.ttgir) and
# after its passes (NAME.CHIP.ttgir). S: name -> (function, {chip: (signature, constants)}, warps). A type that ends in
# :16 says that the pointer is 16-byte aligned or the integer a multiple of 16.
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.amd import cdna3, cdna4, warp_pipeline_stage
from triton.experimental.gluon.language.amd.cdna4 import async_copy

S = {}
both = ('gfx942', 'gfx950')


def add(name, function, warps, signature, targets):
    S[name] = (function, {t: (signature, c) for t, c in targets.items()}, warps)


# dst[c, r] = 2 * src[r, c]: buffer loads and stores with mask, other and cache modifiers; two blocked layouts
@gluon.jit
def buffer_transpose(src, dst, firsts, rows, cols, R: gl.constexpr, C: gl.constexpr):
    wide: gl.constexpr = gl.BlockedLayout([1, 4], [8, 8], [2, 2], [1, 0])
    tall: gl.constexpr = gl.BlockedLayout([4, 1], [8, 8], [2, 2], [0, 1])
    r = gl.program_id(0) * R + gl.arange(0, R, gl.SliceLayout(1, wide))
    c = gl.program_id(1) * C + gl.arange(0, C, gl.SliceLayout(0, wide))
    mask = (r[:, None] < rows) & (c[None, :] < cols)
    x = cdna3.buffer_load(src, r[:, None] * cols + c[None, :], mask=mask, other=-1.0, cache=".cg")
    y = gl.convert_layout(x.to(gl.float32) * 2.0, tall)
    r2 = gl.program_id(0) * R + gl.arange(0, R, gl.SliceLayout(1, tall))
    c2 = gl.program_id(1) * C + gl.arange(0, C, gl.SliceLayout(0, tall))
    mask2 = (r2[:, None] < rows) & (c2[None, :] < cols)
    cdna3.buffer_store(y.to(gl.float16), dst, c2[None, :] * rows + r2[:, None], mask=mask2, cache=".cs")
    # twice the first element of each row of the tiles that are whole, without a mask
    if (gl.program_id(1) == 0) & ((gl.program_id(0) + 1) * R <= rows):
        first = gl.program_id(0) * R + gl.arange(0, R, gl.SliceLayout(1, wide))
        v = cdna3.buffer_load(src, first * cols, cache=".cv")
        cdna3.buffer_store(v + v, firsts, first, cache=".wt")


add("buffer_transpose", buffer_transpose, 4, dict(src="*fp16:16", dst="*fp16:16", firsts="*fp16:16", rows="i32", cols="i32"),
    {t: dict(R=32, C=64) for t in ("gfx942", "gfx950")})


# statistics per bin (the low four bits): buffer atomics of all kinds, relaxed and ordered, with scopes and masks
@gluon.jit
def buffer_atomics(x, sums, top, low, seen, flips, slot, old, n, B: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([1], [64], [4], [0])
    i = gl.program_id(0) * B + gl.arange(0, B, layout)
    m = i < n
    v = cdna3.buffer_load(x, i, mask=m, other=0)
    bin = v & 15
    cdna3.buffer_atomic_add(sums, bin, v.to(gl.float32), mask=m, sem="relaxed", scope="gpu")
    cdna3.buffer_atomic_max(top, bin, v, mask=m, sem="relaxed", scope="gpu")
    cdna3.buffer_atomic_min(low, bin, (v & 0xFFFF).to(gl.uint32), mask=m, sem="relaxed", scope="gpu")
    one = gl.full([B], 1, gl.int32, layout)
    cdna3.buffer_atomic_or(seen, bin, one << ((v >> 4) & 31), mask=m, sem="release", scope="gpu")
    cdna3.buffer_atomic_xor(flips, bin, v, mask=m)
    before = cdna3.buffer_atomic_xchg(slot, i, v, mask=m, sem="acquire", scope="cta")
    cdna3.buffer_store(before, old, i, mask=m)


add("buffer_atomics", buffer_atomics, 4,
    dict(x="*i32:16", sums="*fp32:16", top="*i32:16", low="*u32:16", seen="*i32:16", flips="*i32:16", slot="*i32:16",
         old="*i32:16", n="i32"), {t: dict(B=512) for t in ("gfx942", "gfx950")})


# LDS views: an initialised allocation, index, subslice, transpose, reshape, and reductions over rows
@gluon.jit
def lds_views(x, sums, tops, out, R: gl.constexpr, C: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([1, 4], [4, 16], [4, 1], [1, 0])
    padded: gl.constexpr = gl.PaddedSharedLayout.with_identity_for([[64, 4]], [R, C], [1, 0])
    plain: gl.constexpr = gl.SwizzledSharedLayout(1, 1, 1, [1, 0])
    r = gl.arange(0, R, gl.SliceLayout(1, layout))
    c = gl.arange(0, C, gl.SliceLayout(0, layout))
    offsets = gl.program_id(0) * R * C + r[:, None] * C + c[None, :]
    v = gl.load(x + offsets)
    tile = gl.allocate_shared_memory(gl.float32, [R, C], padded, v)
    left = tile.slice(0, C // 2, dim=1).load(layout)
    right = tile.slice(C // 2, C // 2, dim=1).load(layout)
    ring = gl.allocate_shared_memory(gl.float32, [2, R, C // 2], plain)
    ring.index(0).store(left - right)
    ring.index(1).store(left * right)
    gl.barrier()
    # (C / 2, R): what was a column is a row
    back: gl.constexpr = gl.BlockedLayout([4, 1], [16, 4], [1, 4], [0, 1])
    difference = ring.index(0).permute([1, 0]).load(back)
    product = ring.index(1).reshape([C // 2, R]).load(back)
    row_sum = gl.sum(v, axis=1)
    row_max = gl.max(v, axis=1)
    gl.store(sums + gl.program_id(0) * R + r, row_sum)
    gl.store(tops + gl.program_id(0) * R + r, row_max)
    # layouts that follow from those of what they meet
    i = gl.arange(0, C // 2)
    j = gl.arange(0, R)
    top_of_column = gl.max(gl.abs(difference), axis=1)
    quotient = product / (1.0 + top_of_column[:, None])
    gl.store(out + gl.program_id(0) * R * C // 2 + i[:, None] * R + j[None, :], difference + quotient)


add("lds_views", lds_views, 4, dict(x="*fp32:16", sums="*fp32:16", tops="*fp32:16", out="*fp32:16"),
    {t: dict(R=32, C=128) for t in ("gfx942", "gfx950")})


@gluon.jit
def gemm_ring(a, b, c, M, N, K, BM: gl.constexpr, BN: gl.constexpr, BK: gl.constexpr, mma: gl.constexpr, KW: gl.constexpr):
    la: gl.constexpr = gl.BlockedLayout([1, 8], [16, 4], [4, 1], [1, 0])
    lb: gl.constexpr = gl.BlockedLayout([1, 8], [4, 16], [4, 1], [1, 0])
    sa: gl.constexpr = gl.PaddedSharedLayout.with_identity_for([[256, 8]], [BM, BK], [1, 0])
    sb: gl.constexpr = gl.SwizzledSharedLayout(4, 1, 8, [1, 0])
    oa: gl.constexpr = gl.DotOperandLayout(0, mma, KW)
    ob: gl.constexpr = gl.DotOperandLayout(1, mma, KW)
    ra = gl.program_id(0) * BM + gl.arange(0, BM, gl.SliceLayout(1, la))
    ka = gl.arange(0, BK, gl.SliceLayout(0, la))
    rb = gl.program_id(1) * BN + gl.arange(0, BN, gl.SliceLayout(0, lb))
    kb = gl.arange(0, BK, gl.SliceLayout(1, lb))
    ringA = gl.allocate_shared_memory(a.dtype.element_ty, [2, BM, BK], sa)
    ringB = gl.allocate_shared_memory(b.dtype.element_ty, [2, BK, BN], sb)
    acc = gl.zeros([BM, BN], gl.float32, mma)
    for k in range(0, gl.cdiv(K, BK)):
        x = gl.load(a + ra[:, None] * K + (k * BK + ka)[None, :], mask=(ra[:, None] < M) & ((k * BK + ka)[None, :] < K), other=0.0)
        y = gl.load(b + (k * BK + kb)[:, None] * N + rb[None, :], mask=(rb[None, :] < N) & ((k * BK + kb)[:, None] < K), other=0.0)
        ringA.index(k % 2).store(x)
        ringB.index(k % 2).store(y)
        acc = cdna3.mfma(ringA.index(k % 2).load(oa), ringB.index(k % 2).load(ob), acc)
    r = gl.program_id(0) * BM + gl.arange(0, BM, gl.SliceLayout(1, mma))
    s = gl.program_id(1) * BN + gl.arange(0, BN, gl.SliceLayout(0, mma))
    gl.store(c + r[:, None] * N + s[None, :], acc, mask=(r[:, None] < M) & (s[None, :] < N))


G = {'a': '*fp16:16', 'b': '*fp16:16', 'c': '*fp32:16', 'M': 'i32', 'N': 'i32', 'K': 'i32'}
for name, size, transposed in (("gemm_ring_16n", 16, False), ("gemm_ring_32t", 32, True)):
    k3 = 256 // size
    L3 = gl.amd.AMDMFMALayout(version=3, instr_shape=[size, size, k3], transposed=transposed, warps_per_cta=[2, 2])
    L4 = gl.amd.AMDMFMALayout(version=4, instr_shape=[size, size, 2 * k3], transposed=transposed, warps_per_cta=[4, 1],
                              tiles_per_warp=[1, 2])
    add(name, gemm_ring, 4, G, {'gfx942': dict(BM=64, BN=64, BK=32, mma=L3, KW=4), 'gfx950': dict(BM=128, BN=64, BK=32, mma=L4, KW=8)})


@gluon.jit
def row_norm(x, out, rows, cols, stride, R: gl.constexpr, C: gl.constexpr):
    r = gl.program_id(0) * R + gl.arange(0, R)
    c = gl.arange(0, C)
    mask = (r[:, None] < rows) & (c[None, :] < cols)
    p = gl.set_auto_layout(x + r[:, None] * stride + c[None, :], gl.CoalescedLayout())
    m = gl.set_auto_layout(mask, gl.CoalescedLayout())
    v = gl.load(p, mask=m, other=0.0)
    q = gl.set_auto_layout(out + r[:, None] * stride + c[None, :], gl.CoalescedLayout())
    gl.store(q, v * 2.0 + 1.0, mask=m)


add('row_norm', row_norm, 4, {'x': '*fp32:16', 'out': '*fp32:16', 'rows': 'i32', 'cols': 'i32', 'stride': 'i32:16'},
    {t: dict(R=16, C=128) for t in ('gfx942', 'gfx950')})


@gluon.jit
def plus(a, b):
    return a + b


@gluon.jit
def shapes(x, out, sums, L: gl.constexpr):
    lay: gl.constexpr = gl.BlockedLayout([2, 2], [8, 8], [2, 2], [1, 0])
    r = gl.arange(0, 32, gl.SliceLayout(1, lay))
    c = gl.arange(0, 64, gl.SliceLayout(0, lay))
    v = gl.load(x + r[:, None] * 64 + c[None, :])
    s = gl.associative_scan(v, 1, plus)
    t = gl.convert_layout(s.permute([1, 0]).reshape([32, 64]), lay)
    a, b = gl.split(gl.convert_layout(v, lay).reshape([32, 32, 2]))
    j = gl.convert_layout(gl.join(b, a).reshape([32, 64]), lay)
    gl.store(out + r[:, None] * 64 + c[None, :], t + j)
    mx = gl.max(v, 0)
    gl.store(sums + c, mx)
    i = 0
    acc = gl.sum(v, 1)
    while i < 3:
        acc = acc + gl.sum(v * i, 1)
        i += 1
    gl.store(sums + 64 + r, acc)


add('shapes', shapes, 4, {'x': '*fp32:16', 'out': '*fp32:16', 'sums': '*fp32:16'}, {t: dict(L=1) for t in ('gfx942', 'gfx950')})


@gluon.jit
def slots(x, out, n, B: gl.constexpr):
    lay: gl.constexpr = gl.BlockedLayout([4], [64], [2], [0])
    shr: gl.constexpr = gl.SwizzledSharedLayout(1, 1, 1, [0])
    i = gl.arange(0, B, lay)
    ring = gl.allocate_shared_memory(gl.int32, [3, B], shr)
    for s in gl.static_range(3):
        ring.index(s).store(gl.load(x + s * B + i))
    for k in range(n):
        v = ring.index(k % 3).load(lay)
        w = ring.index((k + 1) % 3).load(lay)
        if k > 1:
            ring.index((k + 2) % 3).store(v - w)
        else:
            ring.index((k + 2) % 3).store(v + w)
    for s in gl.static_range(3):
        gl.store(out + s * B + i, ring.index(s).load(lay))
    half = ring.index(1).slice(B // 2, B // 2)
    hl: gl.constexpr = gl.BlockedLayout([1], [64], [2], [0])
    gl.store(out + 3 * B + gl.arange(0, B // 2, hl), half.load(hl))


add('slots', slots, 2, {'x': '*i32:16', 'out': '*i32:16', 'n': 'i32'}, {t: dict(B=512) for t in ('gfx942', 'gfx950')})


@gluon.jit
def dot_fma(a, b, c, out, B: gl.constexpr):
    lay: gl.constexpr = gl.BlockedLayout([2, 2], [8, 8], [2, 2], [1, 0])
    r = gl.arange(0, B, gl.SliceLayout(1, lay))
    s = gl.arange(0, B, gl.SliceLayout(0, lay))
    p = r[:, None] * B + s[None, :]
    x = gl.convert_layout(gl.load(a + p), gl.DotOperandLayout(0, lay, 0))
    y = gl.convert_layout(gl.load(b + p), gl.DotOperandLayout(1, lay, 0))
    gl.store(out + p, gl.dot_fma(x, y, gl.load(c + p)))


add('dot_fma', dot_fma, 4, {'a': '*fp32:16', 'b': '*fp32:16', 'c': '*fp32:16', 'out': '*fp32:16'}, {t: dict(B=32) for t in ('gfx942', 'gfx950')})


@gluon.jit
def async_stream(src, scale, out, steps, rows, R: gl.constexpr, C: gl.constexpr, V: gl.constexpr, BUFFERS: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([1, V], [64 * V // C, C // V], [4, 1], [1, 0])
    shared: gl.constexpr = gl.SwizzledSharedLayout(V, 1, 4 if V == 4 else 1, [1, 0])
    ring = gl.allocate_shared_memory(gl.float32, [BUFFERS, R, C], shared)
    r = gl.program_id(0) * R + gl.arange(0, R, gl.SliceLayout(1, layout))
    c = gl.arange(0, C, gl.SliceLayout(0, layout))
    offsets = r[:, None] * C + c[None, :]
    inside = r[:, None] < rows
    for t in gl.static_range(BUFFERS - 1):
        async_copy.buffer_load_to_shared(ring.index(t), src + t * rows * C, offsets, mask=inside & (t < steps), other=0.0)
        async_copy.commit_group()
    acc = gl.zeros([R, C], gl.float32, layout)
    for t in range(0, steps):
        ahead = t + BUFFERS - 1
        async_copy.buffer_load_to_shared(ring.index(ahead % BUFFERS), src + ahead * rows * C, offsets,
                                         mask=inside & (ahead < steps), other=0.0, cache_modifier=".cg")
        async_copy.commit_group()
        async_copy.wait_group(BUFFERS - 1)
        x = async_copy.load_shared_relaxed(ring.index(t % BUFFERS), layout)
        acc += x * gl.load(scale + t)
    async_copy.wait_group(0)
    cdna3.buffer_store(acc, out, offsets, mask=inside)


_stream = dict(src="*fp32:16", scale="*fp32:16", out="*fp32:16", steps="i32", rows="i32")
add("async_stream_w32", async_stream, 4, _stream, {t: dict(R=16, C=64, V=1, BUFFERS=3) for t in ("gfx942", "gfx950")})
add("async_stream_w128", async_stream, 4, _stream, {"gfx950": dict(R=32, C=32, V=4, BUFFERS=2)})


@gluon.jit
def gemm_pipeline_two_stages(a, b, c, M, N, K, BM: gl.constexpr, BN: gl.constexpr, BK: gl.constexpr, VERSION: gl.constexpr,
                             INSTRUCTION: gl.constexpr, WIDTH: gl.constexpr):
    mfma: gl.constexpr = gl.amd.AMDMFMALayout(version=VERSION, instr_shape=INSTRUCTION, transposed=True, warps_per_cta=[2, 4])
    operand_a: gl.constexpr = gl.DotOperandLayout(0, mfma, WIDTH)
    operand_b: gl.constexpr = gl.DotOperandLayout(1, mfma, WIDTH)
    load_a: gl.constexpr = gl.BlockedLayout([1, 8], [16, 4], [8, 1], [1, 0])
    load_b: gl.constexpr = gl.BlockedLayout([1, 8], [4, 16], [8, 1], [1, 0])
    shared_a: gl.constexpr = gl.SwizzledSharedLayout(WIDTH, 2, 8, [1, 0])
    shared_b: gl.constexpr = gl.SwizzledSharedLayout(WIDTH, 1, 8, [1, 0])
    rm = gl.program_id(0) * BM + gl.arange(0, BM, gl.SliceLayout(1, load_a))
    ka = gl.arange(0, BK, gl.SliceLayout(0, load_a))
    kb = gl.arange(0, BK, gl.SliceLayout(1, load_b))
    rn = gl.program_id(1) * BN + gl.arange(0, BN, gl.SliceLayout(0, load_b))
    offsets_a = rm[:, None] * K + ka[None, :]
    offsets_b = kb[:, None] * N + rn[None, :]
    in_a = rm[:, None] < M
    in_b = rn[None, :] < N
    tiles_a = gl.allocate_shared_memory(gl.float16, [2, BM, BK], shared_a)
    tiles_b = gl.allocate_shared_memory(gl.float16, [2, BK, BN], shared_b)
    steps = gl.cdiv(K, BK)
    tiles_a.index(0).store(cdna3.buffer_load(a, offsets_a, mask=in_a & (ka[None, :] < K), other=0.0))
    tiles_b.index(0).store(cdna3.buffer_load(b, offsets_b, mask=in_b & (kb[:, None] < K), other=0.0))
    next_a = cdna3.buffer_load(a + BK, offsets_a, mask=in_a & (ka[None, :] < K - BK), other=0.0)
    next_b = cdna3.buffer_load(b + BK * N, offsets_b, mask=in_b & (kb[:, None] < K - BK), other=0.0)
    acc = gl.zeros([BM, BN], gl.float32, mfma)
    for k in range(0, steps):
        with warp_pipeline_stage("memory", priority=1):
            x = tiles_a.index(k % 2).load(operand_a)
            y = tiles_b.index(k % 2).load(operand_b)
            tiles_a.index((k + 1) % 2).store(next_a)
            tiles_b.index((k + 1) % 2).store(next_b)
            left = K - (k + 2) * BK
            next_a = cdna3.buffer_load(a + (k + 2) * BK, offsets_a, mask=in_a & (ka[None, :] < left))
            next_b = cdna3.buffer_load(b + (k + 2) * BK * N, offsets_b, mask=in_b & (kb[:, None] < left))
        with warp_pipeline_stage("products", priority=0):
            acc = cdna3.mfma(x, y, acc)
    om = gl.program_id(0) * BM + gl.arange(0, BM, gl.SliceLayout(1, mfma))
    on = gl.program_id(1) * BN + gl.arange(0, BN, gl.SliceLayout(0, mfma))
    cdna3.buffer_store(acc, c, om[:, None] * N + on[None, :], mask=(om[:, None] < M) & (on[None, :] < N))


add("gemm_pipeline_two_stages", gemm_pipeline_two_stages, 8,
    dict(a="*fp16:16", b="*fp16:16", c="*fp32:16", M="i32", N="i32:16", K="i32:16"),
    {"gfx942": dict(BM=128, BN=128, BK=32, VERSION=3, INSTRUCTION=(16, 16, 16), WIDTH=4),
     "gfx950": dict(BM=128, BN=128, BK=32, VERSION=4, INSTRUCTION=(32, 32, 16), WIDTH=8)})


@gluon.jit
def attn(q, k, v, o, T, scale, BM: gl.constexpr, BN: gl.constexpr, D: gl.constexpr, mma: gl.constexpr, KW: gl.constexpr):
    oa: gl.constexpr = gl.DotOperandLayout(0, mma, KW)
    ob: gl.constexpr = gl.DotOperandLayout(1, mma, KW)
    lk: gl.constexpr = gl.BlockedLayout([1, 8], [8, 8], [4, 1], [1, 0])
    sk: gl.constexpr = gl.SwizzledSharedLayout(8, 1, 8, [1, 0])
    rm = gl.program_id(0) * BM + gl.arange(0, BM, gl.SliceLayout(1, oa))
    cd = gl.arange(0, D, gl.SliceLayout(0, oa))
    tq = cdna3.buffer_load(q, rm[:, None] * D + cd[None, :], mask=(rm[:, None] < T) & (cd[None, :] < D))
    m = gl.full([BM], -1e30, gl.float32, gl.SliceLayout(1, mma))
    l = gl.zeros([BM], gl.float32, gl.SliceLayout(1, mma))
    acc = gl.zeros([BM, D], gl.float32, mma)
    smk = gl.allocate_shared_memory(gl.float16, [BN, D], sk)
    smv = gl.allocate_shared_memory(gl.float16, [BN, D], sk)
    rn = gl.arange(0, BN, gl.SliceLayout(1, lk))
    cn = gl.arange(0, D, gl.SliceLayout(0, lk))
    for start in range(0, T, BN):
        off = (start + rn)[:, None] * D + cn[None, :]
        msk = ((start + rn)[:, None] < T) & (cn[None, :] < D)
        smk.store(cdna3.buffer_load(k, off, mask=msk))
        smv.store(cdna3.buffer_load(v, off, mask=msk))
        s = cdna3.mfma(tq, smk.permute([1, 0]).load(ob), gl.zeros([BM, BN], gl.float32, mma)) * scale
        n = start + gl.arange(0, BN, gl.SliceLayout(0, mma))
        s = gl.where(n[None, :] < T, s, -1e30)
        mn = gl.maximum(m, gl.max(s, 1))
        p = gl.exp(s - mn[:, None])
        a = gl.exp(m - mn)
        l = l * a + gl.sum(p, 1)
        acc = cdna3.mfma(gl.convert_layout(p.to(gl.float16), oa), smv.load(ob), acc * a[:, None])
        m = mn
    r = gl.program_id(0) * BM + gl.arange(0, BM, gl.SliceLayout(1, mma))
    c = gl.arange(0, D, gl.SliceLayout(0, mma))
    cdna3.buffer_store((acc / l[:, None]).to(gl.float16), o, r[:, None] * D + c[None, :], mask=r[:, None] < T)


L3 = gl.amd.AMDMFMALayout(version=3, instr_shape=[32, 32, 8], transposed=True, warps_per_cta=[4, 1])
L4 = gl.amd.AMDMFMALayout(version=4, instr_shape=[32, 32, 16], transposed=True, warps_per_cta=[4, 1])
add('attn', attn, 4, {'q': '*fp16:16', 'k': '*fp16:16', 'v': '*fp16:16', 'o': '*fp16:16', 'T': 'i32', 'scale': 'fp32'},
    {'gfx942': dict(BM=128, BN=64, D=64, mma=L3, KW=4), 'gfx950': dict(BM=128, BN=64, D=64, mma=L4, KW=8)})


@gluon.jit
def gemm_types(a, b, c, M: gl.constexpr, N: gl.constexpr, K: gl.constexpr, mma: gl.constexpr, KW: gl.constexpr, ACC: gl.constexpr):
    oa: gl.constexpr = gl.DotOperandLayout(0, mma, KW)
    ob: gl.constexpr = gl.DotOperandLayout(1, mma, KW)
    r = gl.arange(0, M, gl.SliceLayout(1, oa))
    ka = gl.arange(0, K, gl.SliceLayout(0, oa))
    kb = gl.arange(0, K, gl.SliceLayout(1, ob))
    s = gl.arange(0, N, gl.SliceLayout(0, ob))
    x = gl.load(a + r[:, None] * K + ka[None, :])
    y = gl.load(b + kb[:, None] * N + s[None, :])
    d = cdna3.mfma(x, y, gl.zeros([M, N], ACC, mma))
    rd = gl.arange(0, M, gl.SliceLayout(1, mma))
    sd = gl.arange(0, N, gl.SliceLayout(0, mma))
    gl.store(c + rd[:, None] * N + sd[None, :], d)


for ty, k3, k4, acc, out in (('i8', 32, 64, gl.int32, 'i32'), ('fp8e4b8', 32, None, gl.float32, 'fp32'),
                             ('fp8e4nv', None, 32, gl.float32, 'fp32')):
    t = {}
    kw = (8, 16) if ty == 'i8' else (8, 8)
    if k3:
        t['gfx942'] = dict(M=32, N=64, K=64, mma=gl.amd.AMDMFMALayout(version=3, instr_shape=[16, 16, k3], transposed=True, warps_per_cta=[1, 4]), KW=kw[0], ACC=acc)
    if k4:
        t['gfx950'] = dict(M=32, N=64, K=64, mma=gl.amd.AMDMFMALayout(version=4, instr_shape=[16, 16, k4], transposed=False, warps_per_cta=[2, 2]), KW=kw[1], ACC=acc)
    add(f'gemm_{ty}', gemm_types, 4, {'a': f'*{ty}:16', 'b': f'*{ty}:16', 'c': f'*{out}:16'}, t)

@gluon.jit
def carried(x, out, n, B: gl.constexpr):
    lay: gl.constexpr = gl.BlockedLayout([1], [64], [1], [0])
    shr: gl.constexpr = gl.SwizzledSharedLayout(1, 1, 1, [0])
    i = gl.arange(0, B, lay)
    a = gl.allocate_shared_memory(gl.float32, [B], shr)
    b = gl.allocate_shared_memory(gl.float32, [B], shr)
    a.store(gl.load(x + i))
    b.store(gl.load(x + B + i))
    for k in range(n):
        v = a.load(lay) + 2.0 * b.load(lay)
        a.store(v)
        a, b = b, a
    gl.store(out + i, a.load(lay))
    gl.store(out + B + i, b.load(lay))


add('carried', carried, 1, {'x': '*fp32:16', 'out': '*fp32:16', 'n': 'i32'}, {t: dict(B=256) for t in both})


@gluon.jit
def three_d(x, out, B: gl.constexpr):
    lay: gl.constexpr = gl.BlockedLayout([1, 2, 2], [2, 4, 8], [2, 2, 2], [2, 1, 0])
    i = gl.arange(0, 4, gl.SliceLayout(1, gl.SliceLayout(2, lay)))
    j = gl.arange(0, 16, gl.SliceLayout(0, gl.SliceLayout(2, lay)))
    k = gl.arange(0, 32, gl.SliceLayout(0, gl.SliceLayout(1, lay)))
    p = i[:, None, None] * 512 + j[None, :, None] * 32 + k[None, None, :]
    v = gl.load(x + p)
    s = gl.sum(v, 1)
    w = v - gl.expand_dims(s, 1)
    sh = gl.allocate_shared_memory(gl.float32, [4, 16, 32], gl.SwizzledSharedLayout(4, 1, 4, [2, 1, 0]))
    sh.store(w)
    tl: gl.constexpr = gl.BlockedLayout([1, 1, 4], [2, 8, 4], [2, 4, 1], [2, 1, 0])
    t = sh.permute([1, 2, 0]).load(tl)
    a = gl.arange(0, 16, gl.SliceLayout(1, gl.SliceLayout(2, tl)))
    b = gl.arange(0, 32, gl.SliceLayout(0, gl.SliceLayout(2, tl)))
    c = gl.arange(0, 4, gl.SliceLayout(0, gl.SliceLayout(1, tl)))
    gl.store(out + a[:, None, None] * 128 + b[None, :, None] * 4 + c[None, None, :], t)


add('three_d', three_d, 8, {'x': '*fp32:16', 'out': '*fp32:16'}, {t: dict(B=1) for t in both})


@gluon.jit
def mixed(x, h, idx, out, n, B: gl.constexpr):
    lay: gl.constexpr = gl.BlockedLayout([2], [64], [2], [0])
    i = gl.arange(0, B, lay)
    v = gl.load(x + i)
    hist = gl.histogram(v & 63, 64, layout=gl.BlockedLayout([1], [64], [2], [0]))
    gl.store(h + gl.arange(0, 64, gl.BlockedLayout([1], [64], [2], [0])), hist)
    j = gl.load(idx + i)
    g = gl.gather(v, j, 0)
    first = gl.load(x + 5)
    old = gl.atomic_add(out + B, first)
    gl.atomic_max(out + B + 1, gl.max(v, 0))
    s = gl.associative_scan(v, 0, plus_i, reverse=True)
    if first > 10:
        g = g + s
    else:
        g = g - s
    gl.store(out + i, g + n, mask=i < n)


@gluon.jit
def plus_i(a, b):
    return a + b


add('mixed', mixed, 2, {'x': '*i32:16', 'h': '*i32:16', 'idx': '*i32:16', 'out': '*i32:16', 'n': 'i32'}, {t: dict(B=512) for t in both})


@gluon.jit
def slices(x, out, B: gl.constexpr):
    lay: gl.constexpr = gl.BlockedLayout([1, 4], [8, 8], [4, 1], [1, 0])
    r = gl.arange(0, 32, gl.SliceLayout(1, lay))
    c = gl.arange(0, 64, gl.SliceLayout(0, lay))
    v = gl.load(x + r[:, None] * 64 + c[None, :])
    sh = gl.allocate_shared_memory(gl.int32, [32, 64], gl.SwizzledSharedLayout(4, 2, 8, [1, 0]))
    sh.store(v)
    q = sh.slice(16, 16, 0).slice(32, 32, 1)
    sl: gl.constexpr = gl.BlockedLayout([1, 1], [4, 16], [2, 2], [1, 0])
    w = q.load(sl)
    q.store(w * 2)
    gl.store(out + r[:, None] * 64 + c[None, :], sh.load(lay))


add('slices', slices, 4, {'x': '*i32:16', 'out': '*i32:16'}, {t: dict(B=1) for t in both})


@gluon.jit
def parts(x, out, B: gl.constexpr):
    lay: gl.constexpr = gl.BlockedLayout([1, 4], [8, 8], [4, 1], [1, 0])
    r = gl.arange(0, 64, gl.SliceLayout(1, lay))
    c = gl.arange(0, 64, gl.SliceLayout(0, lay))
    v = gl.load(x + r[:, None] * 64 + c[None, :])
    a = gl.amd.slice(v, [32, 32], [32, 32])
    b = gl.amd.slice(v, [32, 32], [0, 32])
    r2 = gl.arange(0, 32, gl.SliceLayout(1, lay))
    c2 = gl.arange(0, 32, gl.SliceLayout(0, lay))
    gl.store(out + r2[:, None] * 32 + c2[None, :], a - 2 * b)


add('parts', parts, 4, {'x': '*i32:16', 'out': '*i32:16'}, {t: dict(B=1) for t in ('gfx942', 'gfx950')})


# what a masked copy without a value leaves in shared memory
@gluon.jit
def masked_copy(x, out, n, B: gl.constexpr):
    lay: gl.constexpr = gl.BlockedLayout([1], [64], [4], [0])
    i = gl.arange(0, B, lay)
    tile = gl.allocate_shared_memory(gl.int32, [B], gl.SwizzledSharedLayout(1, 1, 1, [0]))
    tile.store(0 - i)
    gl.barrier()
    async_copy.global_load_to_shared(tile, x + i, mask=(i & 64) == (n & 64))
    async_copy.commit_group()
    async_copy.wait_group(0)
    gl.store(out + i, tile.load(lay))


add('masked_copy', masked_copy, 4, {'x': '*i32:16', 'out': '*i32:16', 'n': 'i32'}, {t: dict(B=256) for t in both})


# memory read as another type, and slots of such a view
@gluon.jit
def reinterpreted(x, out, B: gl.constexpr):
    lay: gl.constexpr = gl.BlockedLayout([2], [64], [2], [0])
    shr: gl.constexpr = gl.SwizzledSharedLayout(1, 1, 1, [0])
    i = gl.arange(0, B, lay)
    ring = gl.allocate_shared_memory(gl.int32, [2, B], shr)
    ring.index(0).store(gl.load(x + i))
    ring.index(1).store(gl.load(x + B + i))
    halves = ring.reinterpret(gl.int16, [4, B], shr)
    for s in gl.static_range(4):
        gl.store(out + s * B + i, halves.index(s).load(lay))
    halves.index(1).store((i + 7).to(gl.int16))
    gl.store(out + 4 * B + i, ring.index(0).load(lay).to(gl.int16))


add('reinterpreted', reinterpreted, 2, {'x': '*i32:16', 'out': '*i16:16'}, {t: dict(B=256) for t in both})


# buffer accesses of 8 to 64 bits, with and without masks, values for masked elements and a pointer with an offset
@gluon.jit
def buffer_types(a, b, c, d, n, B: gl.constexpr):
    lay: gl.constexpr = gl.BlockedLayout([4], [64], [2], [0])
    i = gl.arange(0, B, lay)
    m = i < n
    cdna3.buffer_store(cdna3.buffer_load(a, i, mask=m, other=5) + 1, a + B, i)
    cdna3.buffer_store(cdna3.buffer_load(b + 4, i) * 3, b + 2 * B, i, mask=m)
    cdna3.buffer_store(cdna3.buffer_load(c, i, mask=m) * 0.5, c + B, i, cache=".cs")
    cdna3.buffer_store(cdna3.buffer_load(d, B - 1 - i, mask=i >= n, other=-2.0, cache=".cv"), d + B, i, cache=".wt")


add('buffer_types', buffer_types, 2, {'a': '*i8:16', 'b': '*i64:16', 'c': '*fp64:16', 'd': '*fp32:16', 'n': 'i32:16'}, {t: dict(B=512) for t in both})


# results of 4 x 64 and of 64 x 4: the narrow operand is broadcast to 16 blocks
for name, ty, shape, kw, sizes in (('gemm_bf16_4x64', 'bf16', [4, 64, 64], 4, dict(M=4, N=128, K=128)),
                                   ('gemm_fp32_64x4', 'fp32', [64, 4, 16], 1, dict(M=128, N=8, K=32))):
    add(name, gemm_types, 2, {'a': f'*{ty}:16', 'b': f'*{ty}:16', 'c': '*fp32:16'},
        {t: dict(mma=gl.amd.AMDMFMALayout(version=v, instr_shape=shape, transposed=shape[0] == 64, warps_per_cta=[2, 1] if shape[0] == 64 else [1, 2]),
                 KW=kw, ACC=gl.float32, **sizes) for t, v in (('gfx942', 3), ('gfx950', 4))})


# shared memory by an index: read, written and updated atomically
@gluon.jit
def indexed(x, idx, out, bins, ROWS: gl.constexpr, COLUMNS: gl.constexpr, AXIS: gl.constexpr, SHARED: gl.constexpr):
    lay: gl.constexpr = gl.BlockedLayout([1, 2], [4, 16], [2, 2], [1, 0])
    line: gl.constexpr = gl.BlockedLayout([1], [64], [4], [0])
    r = gl.arange(0, ROWS, gl.SliceLayout(1, lay))[:, None]
    c = gl.arange(0, COLUMNS, gl.SliceLayout(0, lay))[None, :]
    at = r * COLUMNS + c
    index = gl.load(idx + at)
    tile = gl.allocate_shared_memory(x.dtype.element_ty, [ROWS, COLUMNS], SHARED, gl.load(x + at))
    gathered = tile.gather(index, axis=AXIS)
    cdna3.buffer_store(gathered, out, at)
    tile.scatter(gathered + 1, (r + c) % (ROWS if AXIS == 0 else COLUMNS), axis=AXIS)
    cdna3.buffer_store(tile.load(lay), out + ROWS * COLUMNS, at)
    b = gl.arange(0, 256, line)
    counts = gl.allocate_shared_memory(gl.int32, [256], gl.SwizzledSharedLayout(1, 1, 1, [0]))
    counts.store(0 * b)
    seen = counts.atomic_scatter_add(1 + 0 * b, gl.load(idx + b), axis=0)
    counts.atomic_scatter_max(200 + b, b, axis=0, mask=b >= 128)
    cdna3.buffer_store(counts.load(line), bins, b)
    gl.atomic_add(bins + 256 + 0 * b, seen)


for name, ty, axis, shared in (('indexed_rows', 'i16', 0, gl.SwizzledSharedLayout(8, 1, 8, [1, 0])),
                               ('indexed_columns', 'fp32', 1, gl.PaddedSharedLayout.with_identity_for([[32, 4]], [16, 64], [1, 0]))):
    add(name, indexed, 4, {'x': f'*{ty}:16', 'idx': '*i32:16', 'out': f'*{ty}:16', 'bins': '*i32:16'},
        {t: dict(ROWS=16, COLUMNS=64, AXIS=axis, SHARED=shared) for t in both})


# c = (a * sa) @ (b * sb), 8 and 4 bits with a power of two for 32 elements along K: tiles through shared memory, scales from
# global memory in a layout of their own (SCALES: 'layout'), in a blocked one ('blocked') or none for b and one for all of a
@gluon.jit
def mx_gemm(a, sa, b, sb, c, K, M: gl.constexpr, N: gl.constexpr, BK: gl.constexpr, FA: gl.constexpr, FB: gl.constexpr,
            mma: gl.constexpr, WARPS: gl.constexpr, SCALES: gl.constexpr):
    KA: gl.constexpr = BK // 2 if FA == 'e2m1' else BK
    KB: gl.constexpr = BK // 2 if FB == 'e2m1' else BK
    oa: gl.constexpr = gl.DotOperandLayout(0, mma, 16)
    ob: gl.constexpr = gl.DotOperandLayout(1, mma, 16)
    la: gl.constexpr = gl.BlockedLayout([1, 16], [1024 // KA, KA // 16], [WARPS, 1], [1, 0])
    lb: gl.constexpr = gl.BlockedLayout([1, 8], [512 // N, N // 8], [WARPS, 1], [1, 0])
    ls: gl.constexpr = gl.BlockedLayout([1, 2], [32, 2], [1, WARPS], [1, 0])
    ra: gl.constexpr = ls if SCALES == 'blocked' else cdna4.get_mfma_scale_layout(oa, [M, BK // 32])
    rb: gl.constexpr = ls if SCALES == 'blocked' else cdna4.get_mfma_scale_layout(ob, [N, BK // 32])
    smem_a = gl.allocate_shared_memory(a.dtype.element_ty, [M, KA], gl.SwizzledSharedLayout(16, 1, 4, [1, 0]))
    smem_b = gl.allocate_shared_memory(b.dtype.element_ty, [KB, N], gl.PaddedSharedLayout.with_identity_for([[256, 16]], [KB, N], [1, 0]))
    am = gl.arange(0, M, gl.SliceLayout(1, la))
    ak = gl.arange(0, KA, gl.SliceLayout(0, la))
    bk = gl.arange(0, KB, gl.SliceLayout(1, lb))
    bn = gl.arange(0, N, gl.SliceLayout(0, lb))
    acc = gl.zeros([M, N], gl.float32, mma)
    for k in range(0, K, BK):
        smem_a.store(cdna4.buffer_load(a, am[:, None] * (K // (BK // KA)) + (k // (BK // KA) + ak)[None, :]))
        smem_b.store(cdna4.buffer_load(b, (k // (BK // KB) + bk)[:, None] * N + bn[None, :]))
        sk = k // 32 + gl.arange(0, BK // 32, gl.SliceLayout(0, ra))
        p = cdna4.buffer_load(sa, gl.arange(0, M, gl.SliceLayout(1, ra))[:, None] * (K // 32) + sk[None, :])
        tk = k // 32 + gl.arange(0, BK // 32, gl.SliceLayout(0, rb))
        q = cdna4.buffer_load(sb, gl.arange(0, N, gl.SliceLayout(1, rb))[:, None] * (K // 32) + tk[None, :])
        if SCALES == 'none':
            acc = cdna4.mfma_scaled(smem_a.load(oa), 126, FA, smem_b.load(ob), None, FB, acc)
        else:
            p = gl.convert_layout(p, cdna4.get_mfma_scale_layout(oa, [M, BK // 32]))
            q = gl.convert_layout(q, cdna4.get_mfma_scale_layout(ob, [N, BK // 32]))
            acc = cdna4.mfma_scaled(smem_a.load(oa), p, FA, smem_b.load(ob), q, FB, acc)
    cm = gl.arange(0, M, gl.SliceLayout(1, mma))
    cn = gl.arange(0, N, gl.SliceLayout(0, mma))
    cdna4.buffer_store(acc, c, cm[:, None] * N + cn[None, :])


def mx_layout(shape, transposed, warps, tiles=None):
    return gl.amd.AMDMFMALayout(version=4, instr_shape=shape, transposed=transposed, warps_per_cta=warps, tiles_per_warp=tiles)


mx_types = dict(e4m3='*fp8e4nv:16', e5m2='*fp8e5:16', e2m1='*u8:16')
for fa, fb, sizes, scales, mma in (
        ('e4m3', 'e5m2', (64, 32, 128), 'layout', mx_layout([16, 16, 128], True, [2, 2])),
        ('e2m1', 'e4m3', (32, 128, 128), 'layout', mx_layout([32, 32, 64], False, [1, 2])),
        ('e5m2', 'e2m1', (64, 64, 256), 'blocked', mx_layout([16, 16, 128], False, [2, 1], [2, 2])),
        ('e2m1', 'e2m1', (128, 64, 128), 'none', mx_layout([32, 32, 64], True, [4, 1])),
        ('e4m3', 'e4m3', (16, 16, 256), 'layout', mx_layout([16, 16, 128], True, [1, 1]))):
    warps = mma.warps_per_cta[0] * mma.warps_per_cta[1]
    add(f'mx_{fa}_{fb}', mx_gemm, warps, {'a': mx_types[fa], 'sa': '*u8:16', 'b': mx_types[fb], 'sb': '*u8:16', 'c': '*fp32:16', 'K': 'i32:16'},
        {'gfx950': dict(M=sizes[0], N=sizes[1], BK=sizes[2], FA=fa, FB=fb, mma=mma, WARPS=warps, SCALES=scales)})


# packed and scaled elements as numbers: along both axes, with scales for one element and for 32
@gluon.jit
def upcasts(x, y, s, packed, rows, scaled, wide, halves, R: gl.constexpr, C: gl.constexpr):
    lay: gl.constexpr = gl.BlockedLayout([1, 4], [8, 8], [4, 1], [1, 0])
    tall: gl.constexpr = gl.BlockedLayout([2, 4], [8, 8], [4, 1], [1, 0])
    far: gl.constexpr = gl.BlockedLayout([1, 8], [8, 8], [4, 1], [1, 0])
    r = gl.arange(0, R, gl.SliceLayout(1, lay))
    c = gl.arange(0, C, gl.SliceLayout(0, lay))
    at = r[:, None] * C + c[None, :]
    r2 = gl.arange(0, 2 * R, gl.SliceLayout(1, tall))
    c2 = gl.arange(0, C, gl.SliceLayout(0, tall))
    rf = gl.arange(0, R, gl.SliceLayout(1, far))
    cf = gl.arange(0, 2 * C, gl.SliceLayout(0, far))
    codes = gl.load(x + at)
    gl.store(packed + rf[:, None] * (2 * C) + cf[None, :], gl.fp4_to_fp(codes, gl.float16, 1))
    gl.store(rows + r2[:, None] * C + c2[None, :], gl.convert_layout(gl.fp4_to_fp(codes, gl.bfloat16, 0), tall).to(gl.float32))
    full = gl.load(s + rf[:, None] * (2 * C) + cf[None, :])
    gl.store(scaled + rf[:, None] * (2 * C) + cf[None, :], cdna4.scaled_upcast(codes, full, gl.bfloat16, axis=1).to(gl.float32))
    f8 = gl.load(y + at)
    each = gl.load(s + at)
    gl.store(wide + at, cdna4.scaled_upcast(f8, each, gl.bfloat16).to(gl.float32))
    gl.store(halves + at, cdna4.scaled_upcast(f8, each, gl.float16))


for name, ty in (('upcasts_e4m3', 'fp8e4nv'), ('upcasts_e5m2', 'fp8e5')):
    add(name, upcasts, 4, {'x': '*u8:16', 'y': f'*{ty}:16', 's': '*u8:16', 'packed': '*fp16:16', 'rows': '*fp32:16', 'scaled': '*fp32:16',
                           'wide': '*fp32:16', 'halves': '*fp16:16'}, {t: dict(R=32, C=64) for t in both})
