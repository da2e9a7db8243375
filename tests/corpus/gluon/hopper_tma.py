# Gluon kernels for sm_90 with tensor descriptors (TMA) and with partitions of warps, whose TTGIR is beside this file: as
# Triton 3.9 emits it (NAME.sm_90.entry.ttgir) and after its passes (NAME.sm_90.ttgir). S: as in kernels.py; a descriptor's type
# is tensordesc<ELEMENT[BLOCK],LAYOUT>, and its tensor, shape and strides are the launch's.
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia import hopper
from triton.experimental.gluon.language.nvidia.hopper import mbarrier, tma

S = {}


def add(name, function, warps, signature, **constants):
    S[name] = (function, {'sm_90': (signature, constants)}, warps)


def descriptor(element, block, swizzle, transposed=False):
    bits = {'fp32': 32, 'i32': 32, 'fp16': 16, 'bf16': 16}.get(element, 8)
    layout = gl.NVMMASharedLayout(swizzle, bits, rank=len(block), transposed=transposed)
    return f'tensordesc<{element}{list(block)},{layout!r}>'


# y = 2 * x by tiles, the first of which begins BEFORE the first row and column of x, moved by as much: a store begins at no
# negative coordinate; raw: what the loads left in shared memory, zeros outside of x
@gluon.jit
def tma_copy(x, y, raw, BEFORE: gl.constexpr):
    R: gl.constexpr = x.block_shape[0]
    C: gl.constexpr = x.block_shape[1]
    lay: gl.constexpr = gl.BlockedLayout([1, 4], [4, 8], [4, 1], [1, 0])
    tile = gl.allocate_shared_memory(x.dtype, x.block_shape, x.layout)
    bar = mbarrier.allocate_mbarrier()
    mbarrier.init(bar, count=1)
    row = gl.program_id(0) * R - BEFORE
    column = gl.program_id(1) * C - BEFORE
    mbarrier.expect(bar, x.nbytes_per_cta)
    tma.async_load(x, [row, column], bar, tile)
    mbarrier.wait(bar, phase=0, deps=[tile])
    mbarrier.invalidate(bar)
    v = tile.load(lay)
    at = gl.arange(0, R, gl.SliceLayout(1, lay))[:, None] * C + gl.arange(0, C, gl.SliceLayout(0, lay))[None, :]
    gl.store(raw + (gl.program_id(0) * gl.num_programs(1) + gl.program_id(1)) * R * C + at, v)
    tile.store(v + v)
    hopper.fence_async_shared()
    tma.async_store(y, [row + BEFORE, column + BEFORE], tile)
    tma.store_wait(pendings=0)


for name, ty, block, swizzle, before in (('f16', 'fp16', (32, 64), 128, 0), ('f16_wide', 'fp16', (16, 128), 128, 8), ('f16_s64', 'fp16', (32, 32), 64, 0),
                                         ('f16_s32', 'fp16', (64, 16), 32, 8), ('f16_s0', 'fp16', (16, 64), 0, 0), ('f32', 'fp32', (16, 32), 128, 4),
                                         ('f32_wide', 'fp32', (8, 64), 128, 0), ('i8', 'i8', (32, 128), 128, 16), ('bf16', 'bf16', (8, 64), 128, 0)):
    add(f'nv_tma_{name}', tma_copy, 4, {'x': descriptor(ty, block, swizzle), 'y': descriptor(ty, block, swizzle), 'raw': f'*{ty}:16'}, BEFORE=before)


# line = line reversed in blocks of 256 and y[a, c, b] = x[a, b, c] + 1, by descriptors of rank 1 and 3
@gluon.jit
def tma_ranks(line, reversed, x, y):
    L: gl.constexpr = line.block_shape[0]
    lay: gl.constexpr = gl.BlockedLayout([2], [32], [4], [0])
    deep: gl.constexpr = gl.BlockedLayout([1, 1, 4], [1, 4, 8], [2, 2, 1], [2, 1, 0])
    flat = gl.allocate_shared_memory(line.dtype, line.block_shape, line.layout)
    cube = gl.allocate_shared_memory(x.dtype, x.block_shape, x.layout)
    turned = gl.allocate_shared_memory(y.dtype, y.block_shape, y.layout)
    bar = mbarrier.allocate_mbarrier()
    mbarrier.init(bar, count=1)
    mbarrier.expect(bar, line.nbytes_per_cta + x.nbytes_per_cta)
    tma.async_load(line, [gl.program_id(0) * L], bar, flat)
    tma.async_load(x, [gl.program_id(0) * x.block_shape[0], 0, 0], bar, cube)
    mbarrier.wait(bar, 0)
    i = gl.arange(0, L, lay)
    gl.store(reversed + gl.program_id(0) * L + (L - 1 - i), flat.load(lay))
    turned.store(gl.convert_layout(cube.load(deep).permute([0, 2, 1]) + 1.0, deep))
    hopper.fence_async_shared()
    tma.async_store(y, [gl.program_id(0) * x.block_shape[0], 0, 0], turned)
    tma.store_wait(0, read_only=False)


add('nv_tma_ranks', tma_ranks, 4, {'line': descriptor('fp32', [256], 0), 'reversed': '*fp32:16', 'x': descriptor('fp16', [2, 8, 32], 64),
                                   'y': descriptor('fp16', [2, 32, 8], 0)})


# sums, least, most, bits: each program updates all of them with its tile of x
@gluon.jit
def tma_reduce(x, sums, halves, n, least, most, every, some, flips):
    lay: gl.constexpr = gl.BlockedLayout([1, 4], [4, 8], [4, 1], [1, 0])
    R: gl.constexpr = sums.block_shape[0]
    C: gl.constexpr = sums.block_shape[1]
    at = gl.arange(0, R, gl.SliceLayout(1, lay))[:, None] * C + gl.arange(0, C, gl.SliceLayout(0, lay))[None, :]
    v = gl.load(x + gl.program_id(0) * R * C + at)
    f32 = gl.allocate_shared_memory(gl.float32, [R, C], sums.layout, v.to(gl.float32))
    f16 = gl.allocate_shared_memory(gl.float16, [R, C], halves.layout, v.to(gl.float16))
    i32 = gl.allocate_shared_memory(gl.int32, [R, C], n.layout, v)
    hopper.fence_async_shared()
    tma.async_atomic_add(sums, [0, 0], f32)
    tma.async_atomic_add(halves, [0, 0], f16)
    tma.async_atomic_add(n, [0, 0], i32)
    tma.async_atomic_min(least, [0, 0], i32)
    tma.async_atomic_max(most, [0, 0], i32)
    tma.async_atomic_and(every, [0, 0], i32)
    tma.async_atomic_or(some, [0, 0], i32)
    tma.async_atomic_xor(flips, [0, 0], i32)
    tma.store_wait(0)


tile32 = descriptor('i32', [16, 32], 128)
add('nv_tma_reduce', tma_reduce, 4, {'x': '*i32:16', 'sums': descriptor('fp32', [16, 32], 128), 'halves': descriptor('fp16', [16, 32], 64), 'n': tile32,
                                     'least': tile32, 'most': tile32, 'every': tile32, 'some': tile32, 'flips': tile32})


# y = x transposed, by descriptors that the kernel makes; where x ends, NaNs are added up in `outside`
@gluon.jit
def tma_device(x, y, outside, rows, columns, R: gl.constexpr, C: gl.constexpr):
    lay: gl.constexpr = gl.BlockedLayout([1, 4], [4, 8], [4, 1], [1, 0])
    from_layout: gl.constexpr = gl.NVMMASharedLayout(128, 32)
    to_layout: gl.constexpr = gl.NVMMASharedLayout(64, 32)
    source = tma.make_tensor_descriptor(x, [rows, columns], [columns, 1], [R, C], from_layout, padding_option="nan")
    target = tma.make_tensor_descriptor(y, [columns, rows], [rows, 1], [C, R], to_layout)
    tile = gl.allocate_shared_memory(gl.float32, [R, C], from_layout)
    turned = gl.allocate_shared_memory(gl.float32, [C, R], to_layout)
    bar = mbarrier.allocate_mbarrier()
    mbarrier.init(bar, count=1)
    mbarrier.expect(bar, source.nbytes_per_cta)
    tma.async_load(source, [gl.program_id(0) * R, gl.program_id(1) * C], bar, tile)
    mbarrier.wait(bar, 0)
    v = tile.load(lay)
    gl.atomic_add(outside, gl.sum(gl.sum((v != v).to(gl.int32), 1), 0))
    turned.store(tile.permute([1, 0]).load(lay))
    hopper.fence_async_shared()
    tma.async_store(target, [gl.program_id(1) * C, gl.program_id(0) * R], turned)
    tma.store_wait(0)


add('nv_tma_device', tma_device, 4, {'x': '*fp32:16', 'y': '*fp32:16', 'outside': '*i32:16', 'rows': 'i32:16', 'columns': 'i32:16'}, R=16, C=32)


def wgmma(warps, *shape):
    return gl.NVMMADistributedLayout(version=[3, 0], warps_per_cta=list(warps), instr_shape=list(shape))


@gluon.jit
def load_tiles(a, b, row, column, k, ta, tb, bar, pred):
    mbarrier.expect(bar, a.nbytes_per_cta + b.nbytes_per_cta, pred=pred)
    tma.async_load(a, [row, k], bar, ta, pred=pred)
    tma.async_load(b, [k, column], bar, tb, pred=pred)


# c = a @ b: tiles arrive in a ring DEPTH ahead; the matmuls wait for their tile's barrier, the loads for the matmul before
@gluon.jit
def tma_gemm(a, b, c, M, N, K, mma: gl.constexpr, DEPTH: gl.constexpr):
    BM: gl.constexpr = a.block_shape[0]
    BK: gl.constexpr = a.block_shape[1]
    BN: gl.constexpr = b.block_shape[1]
    ta = gl.allocate_shared_memory(a.dtype, [DEPTH] + a.block_shape, a.layout)
    tb = gl.allocate_shared_memory(b.dtype, [DEPTH] + b.block_shape, b.layout)
    bars = mbarrier.allocate_mbarrier(batch=DEPTH)
    for s in gl.static_range(DEPTH):
        mbarrier.init(bars.index(s), count=1)
    row = gl.program_id(0) * BM
    column = gl.program_id(1) * BN
    for s in gl.static_range(DEPTH - 1):
        load_tiles(a, b, row, column, s * BK, ta.index(s), tb.index(s), bars.index(s), s * BK < K)
    acc = gl.zeros([BM, BN], gl.float32, mma)
    for step in range(0, gl.cdiv(K, BK)):
        slot = step % DEPTH
        mbarrier.wait(bars.index(slot), step // DEPTH & 1)
        flight = hopper.warpgroup_mma(ta.index(slot), tb.index(slot), acc, use_acc=step > 0, is_async=True)
        acc = hopper.warpgroup_mma_wait(0, deps=[flight])
        ahead = step + DEPTH - 1
        load_tiles(a, b, row, column, ahead * BK, ta.index(ahead % DEPTH), tb.index(ahead % DEPTH), bars.index(ahead % DEPTH), ahead * BK < K)
    for s in gl.static_range(DEPTH):
        mbarrier.invalidate(bars.index(s))
    r = row + gl.arange(0, BM, gl.SliceLayout(1, mma))
    s = column + gl.arange(0, BN, gl.SliceLayout(0, mma))
    gl.store(c + r[:, None] * N + s[None, :], acc, mask=(r[:, None] < M) & (s[None, :] < N))


G = {'c': '*fp32:16', 'M': 'i32', 'N': 'i32', 'K': 'i32'}
add('nv_tma_gemm', tma_gemm, 4, dict(G, a=descriptor('fp16', [64, 32], 64), b=descriptor('fp16', [32, 64], 128)), mma=wgmma((4, 1), 16, 64, 16), DEPTH=3)
add('nv_tma_gemm_w8', tma_gemm, 8, dict(G, a=descriptor('bf16', [128, 64], 128), b=descriptor('bf16', [64, 32], 64)), mma=wgmma((8, 1), 16, 32, 16), DEPTH=2)


# --- partitions of warps: a ring of tiles with a barrier that says full and one that says empty ---


@gluon.jit
def producer(a, b, ta, tb, full, empty, row, column, K):
    DEPTH: gl.constexpr = ta.shape[0]
    BK: gl.constexpr = a.block_shape[1]
    for step in range(0, gl.cdiv(K, BK)):
        slot = step % DEPTH
        mbarrier.wait(empty.index(slot), (step // DEPTH & 1) ^ 1)
        load_tiles(a, b, row, column, step * BK, ta.index(slot), tb.index(slot), full.index(slot), True)


@gluon.jit
def consume(ta, tb, full, empty, steps, M: gl.constexpr, FIRST: gl.constexpr, mma: gl.constexpr):
    DEPTH: gl.constexpr = ta.shape[0]
    acc = gl.zeros([M, tb.shape[2]], gl.float32, mma)
    for step in range(0, steps):
        slot = step % DEPTH
        mbarrier.wait(full.index(slot), step // DEPTH & 1)
        acc = hopper.warpgroup_mma(ta.index(slot).slice(FIRST, M, 0), tb.index(slot), acc)
        mbarrier.arrive(empty.index(slot), count=1)
    return acc


@gluon.jit
def write(c, acc, row, column, M, N, mma: gl.constexpr):
    r = row + gl.arange(0, acc.shape[0], gl.SliceLayout(1, mma))
    s = column + gl.arange(0, acc.shape[1], gl.SliceLayout(0, mma))
    gl.store(c + r[:, None] * N + s[None, :], acc, mask=(r[:, None] < M) & (s[None, :] < N))


@gluon.jit
def consume_all(ta, tb, full, empty, steps, mma: gl.constexpr):
    return consume(ta, tb, full, empty, steps, ta.shape[1], 0, mma)


# c = a @ b: one warp loads by TMA, the four warps of the default partition multiply
@gluon.jit
def warps_gemm(a, b, c, M, N, K, mma: gl.constexpr, DEPTH: gl.constexpr):
    ta = gl.allocate_shared_memory(a.dtype, [DEPTH] + a.block_shape, a.layout)
    tb = gl.allocate_shared_memory(b.dtype, [DEPTH] + b.block_shape, b.layout)
    full = mbarrier.allocate_mbarrier(batch=DEPTH)
    empty = mbarrier.allocate_mbarrier(batch=DEPTH)
    for s in gl.static_range(DEPTH):
        mbarrier.init(full.index(s), count=1)
        mbarrier.init(empty.index(s), count=1)
    row = gl.program_id(0) * a.block_shape[0]
    column = gl.program_id(1) * b.block_shape[1]
    steps = gl.cdiv(K, a.block_shape[1])
    acc = gl.warp_specialize([(consume_all, (ta, tb, full, empty, steps, mma)), (producer, (a, b, ta, tb, full, empty, row, column, K))], [1])
    write(c, acc, row, column, M, N, mma)


add('nv_warps_gemm', warps_gemm, 4, dict(G, a=descriptor('fp16', [64, 32], 64), b=descriptor('fp16', [32, 64], 128)), mma=wgmma((4, 1), 16, 64, 16), DEPTH=2)


@gluon.jit
def consumer(c, ta, tb, full, empty, row, column, M, N, steps, FIRST: gl.constexpr, mma: gl.constexpr):
    acc = consume(ta, tb, full, empty, steps, ta.shape[1] // 2, FIRST, mma)
    write(c, acc, row + FIRST, column, M, N, mma)


@gluon.jit
def count_blocks(blocks):
    gl.atomic_add(blocks, 1)


# the same with two partitions of four warps that multiply half of the rows each; the default partition counts blocks
@gluon.jit
def warps_two_consumers(a, b, c, blocks, M, N, K, mma: gl.constexpr, DEPTH: gl.constexpr):
    ta = gl.allocate_shared_memory(a.dtype, [DEPTH] + a.block_shape, a.layout)
    tb = gl.allocate_shared_memory(b.dtype, [DEPTH] + b.block_shape, b.layout)
    full = mbarrier.allocate_mbarrier(batch=DEPTH)
    empty = mbarrier.allocate_mbarrier(batch=DEPTH)
    for s in gl.static_range(DEPTH):
        mbarrier.init(full.index(s), count=1)
        mbarrier.init(empty.index(s), count=2)
    row = gl.program_id(0) * a.block_shape[0]
    column = gl.program_id(1) * b.block_shape[1]
    steps = gl.cdiv(K, a.block_shape[1])
    half: gl.constexpr = a.block_shape[0] // 2
    gl.warp_specialize([(count_blocks, (blocks, )), (consumer, (c, ta, tb, full, empty, row, column, M, N, steps, 0, mma)),
                        (consumer, (c, ta, tb, full, empty, row, column, M, N, steps, half, mma)),
                        (producer, (a, b, ta, tb, full, empty, row, column, K))], [4, 4, 1], [168, 168, 24])


add('nv_warps_two_consumers', warps_two_consumers, 4, dict(G, a=descriptor('fp16', [128, 32], 64), b=descriptor('fp16', [32, 32], 64), blocks='*i32:16'),
    mma=wgmma((4, 1), 16, 32, 16), DEPTH=3)


@gluon.jit
def squares(x, tile, ready, taken, n, B: gl.constexpr):
    lay: gl.constexpr = gl.BlockedLayout([4], [32], [2], [0])
    i = gl.arange(0, B, lay)
    for k in range(n):
        v = gl.load(x + k * B + i)
        mbarrier.wait(taken, (k & 1) ^ 1)
        tile.store(v * v)
        mbarrier.arrive(ready, count=1)


@gluon.jit
def row_sums(x, sums, n, B: gl.constexpr):
    lay: gl.constexpr = gl.BlockedLayout([8], [32], [1], [0])
    for k in range(n):
        gl.store(sums + k, gl.sum(gl.load(x + k * B + gl.arange(0, B, lay)), 0))


@gluon.jit
def add_up(tile, ready, taken, n, start, B: gl.constexpr):
    lay: gl.constexpr = gl.BlockedLayout([1], [32], [4], [0])
    acc = gl.zeros([B], gl.float32, lay) + start
    for k in range(n):
        mbarrier.wait(ready, k & 1)
        acc += tile.load(lay)
        mbarrier.arrive(taken, count=1)
    return acc, n * 2


# out = start + the sum of the rows of x * x: two warps square, four add up, one computes the sums of the rows of x; no TMA
@gluon.jit
def warps_plain(x, sums, out, n, start, B: gl.constexpr):
    tile = gl.allocate_shared_memory(gl.float32, [B], gl.SwizzledSharedLayout(1, 1, 1, [0]))
    ready = mbarrier.allocate_mbarrier()
    taken = mbarrier.allocate_mbarrier()
    mbarrier.init(ready, count=1)
    mbarrier.init(taken, count=1)
    acc, twice = gl.warp_specialize([(add_up, (tile, ready, taken, n, start, B)), (squares, (x, tile, ready, taken, n, B)), (row_sums, (x, sums, n, B))],
                                    [2, 1])
    mbarrier.invalidate(ready)
    mbarrier.invalidate(taken)
    lay: gl.constexpr = gl.BlockedLayout([1], [32], [4], [0])
    gl.store(out + gl.arange(0, B, lay), acc + twice)


add('nv_warps_plain', warps_plain, 4, {'x': '*fp32:16', 'sums': '*fp32:16', 'out': '*fp32:16', 'n': 'i32', 'start': 'fp32'}, B=256)


# out = softmax(q @ k^T * scale) @ v, heads of 64 numbers; the weights stay in registers for the second matmul
@gluon.jit
def attention(q, k, v, out, keys, scale, mma: gl.constexpr):
    R: gl.constexpr = q.block_shape[0]
    D: gl.constexpr = q.block_shape[1]
    T: gl.constexpr = k.block_shape[0]
    weights: gl.constexpr = gl.DotOperandLayout(0, mma, 2)
    rows: gl.constexpr = gl.SliceLayout(1, mma)
    tq = gl.allocate_shared_memory(q.dtype, q.block_shape, q.layout)
    tk = gl.allocate_shared_memory(k.dtype, [2] + k.block_shape, k.layout)
    tv = gl.allocate_shared_memory(v.dtype, [2] + v.block_shape, v.layout)
    bar_q = mbarrier.allocate_mbarrier()
    bars = mbarrier.allocate_mbarrier(batch=2)
    mbarrier.init(bar_q, count=1)
    for slot in gl.static_range(2):
        mbarrier.init(bars.index(slot), count=1)
    mbarrier.expect(bar_q, q.nbytes_per_cta)
    tma.async_load(q, [gl.program_id(0) * R, 0], bar_q, tq)
    mbarrier.expect(bars.index(0), k.nbytes_per_cta + v.nbytes_per_cta)
    tma.async_load(k, [0, 0], bars.index(0), tk.index(0))
    tma.async_load(v, [0, 0], bars.index(0), tv.index(0))
    top = gl.full([R], -float("inf"), gl.float32, rows)
    total = gl.zeros([R], gl.float32, rows)
    acc = gl.zeros([R, D], gl.float32, mma)
    mbarrier.wait(bar_q, 0)
    for t in range(0, keys, T):
        now = t // T % 2
        more = t + T < keys
        mbarrier.expect(bars.index(1 - now), k.nbytes_per_cta + v.nbytes_per_cta, pred=more)
        tma.async_load(k, [t + T, 0], bars.index(1 - now), tk.index(1 - now), pred=more)
        tma.async_load(v, [t + T, 0], bars.index(1 - now), tv.index(1 - now), pred=more)
        mbarrier.wait(bars.index(now), t // T // 2 & 1)
        s = hopper.warpgroup_mma(tq, tk.index(now).permute([1, 0]), gl.zeros([R, T], gl.float32, mma), use_acc=False)
        s = s * scale
        highest = gl.maximum(top, gl.max(s, 1))
        p = gl.exp2(s - highest[:, None])
        shrink = gl.exp2(top - highest)
        total = total * shrink + gl.sum(p, 1)
        acc = acc * shrink[:, None]
        acc = hopper.warpgroup_mma(gl.convert_layout(p.to(gl.float16), weights), tv.index(now), acc)
        top = highest
    r = gl.program_id(0) * R + gl.arange(0, R, rows)
    gl.store(out + r[:, None] * D + gl.arange(0, D, gl.SliceLayout(0, mma))[None, :], acc / total[:, None])


block = descriptor('fp16', [64, 64], 128)
add('nv_attention', attention, 4, {'q': block, 'k': block, 'v': block, 'out': '*fp32:16', 'keys': 'i32', 'scale': 'fp32'}, mma=wgmma((4, 1), 16, 64, 16))


# c = a @ b^T in f16: as many programs as are launched take the tiles in turn; results go through shared memory and TMA
@gluon.jit
def persistent(a, b, c, M, N, K, mma: gl.constexpr, DEPTH: gl.constexpr):
    BM: gl.constexpr = a.block_shape[0]
    BN: gl.constexpr = b.block_shape[0]
    BK: gl.constexpr = a.block_shape[1]
    ta = gl.allocate_shared_memory(a.dtype, [DEPTH] + a.block_shape, a.layout)
    tb = gl.allocate_shared_memory(b.dtype, [DEPTH] + b.block_shape, b.layout)
    tc = gl.allocate_shared_memory(c.dtype, c.block_shape, c.layout)
    bars = mbarrier.allocate_mbarrier(batch=DEPTH)
    for s in gl.static_range(DEPTH):
        mbarrier.init(bars.index(s), count=1)
    columns = gl.cdiv(N, BN)
    steps = gl.cdiv(K, BK)
    turn = 0
    for t in range(gl.program_id(0), gl.cdiv(M, BM) * columns, gl.num_programs(0)):
        row = t // columns * BM
        column = t % columns * BN
        acc = gl.zeros([BM, BN], gl.float32, mma)
        for k in range(steps):
            slot = turn % DEPTH
            bar = bars.index(slot)
            mbarrier.expect(bar, a.nbytes_per_cta + b.nbytes_per_cta)
            tma.async_load(a, [row, k * BK], bar, ta.index(slot))
            tma.async_load(b, [column, k * BK], bar, tb.index(slot))
            mbarrier.wait(bar, turn // DEPTH & 1)
            flight = hopper.warpgroup_mma(ta.index(slot), tb.index(slot).permute([1, 0]), acc, is_async=True)
            acc = hopper.warpgroup_mma_wait(num_outstanding=0, deps=[flight])
            turn += 1
        tma.store_wait(pendings=0)
        tc.store(acc.to(gl.float16))
        hopper.fence_async_shared()
        tma.async_store(c, [row, column], tc)
    tma.store_wait(pendings=0)


add('nv_persistent', persistent, 4, {'a': block, 'b': descriptor('fp16', [32, 64], 128), 'c': descriptor('fp16', [64, 32], 64), 'M': 'i32', 'N': 'i32',
                                     'K': 'i32'}, mma=wgmma((4, 1), 16, 32, 16), DEPTH=2)
