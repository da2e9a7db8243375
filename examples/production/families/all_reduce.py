# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sums of bf16 over 8 devices (objects `all_reduce.co`, `allreduce_rmsnorm_N8192.co`): each device sums a slice of all buffers
and stores it to all, the second one with a residual added, and its rows' RMS norm, which `allreduce_rmsnorm_qnt` makes int8. The arguments are those of the objects'
metadata; what they mean is read from the instructions: a table of addresses on all devices, the signals of each device (8 bytes
for each rank and workgroup), and byte strides. In `all_reduce` a wave handles 16 bytes a lane, and a rank has 512 bytes of signals;
in the other a workgroup handles a row of 8192, of which a lane has 32."""
import numpy as np

from description import Expected, Kernel, Launch
from formats import F32, from_bf16, random_bf16

DEVICES, WAVES, WAVE_BYTES = 8, 4, 1024
COLUMNS = 8192
NORM_REASON = "f32 truncated to bf16: 2^-7; 1e-4 where product and bias nearly cancel"
QUANT_REASON = "a step of int8, cut towards zero; 1e-3 of a step for f32"
REASON = "exact: f32 sums in the order of the ranks, rounded half up"


def rounded_half_up(values):
    """Bits of bf16, as the kernel rounds."""
    return ((values.view(np.uint32) + np.uint32(0x8000)) >> 16).astype(np.uint16)


def summed(data):
    total = np.zeros(data.shape[1], np.float32)
    for one in data:
        total = from_bf16(one) + total
    return total


def signals(table):
    """The arguments that are the same for both."""
    return {0: table, **{16 + 16 * device: f"addr:signals@{device}" for device in range(DEVICES)}}


def all_reduce(groups):
    group_bytes = WAVES * WAVE_BYTES
    elements = DEVICES * groups * group_bytes // 2
    data = random_bf16(np.random.default_rng(groups), (DEVICES, elements))[0]
    arguments = {**signals("ptrs:data"), 144: "rank", 160: groups * group_bytes, 176: group_bytes, 192: WAVE_BYTES, 208: 1}
    buffers = {f"data@{device}": data[device] for device in range(DEVICES)}
    buffers["signals"] = "uncached:zeros:i32[1024]"
    want = rounded_half_up(summed(data))
    return Launch((groups, 1, 1), 64 * WAVES, arguments,
                  {f"data@{device}": Expected(want, 0, 0, REASON) for device in range(DEVICES)}, buffers=buffers,
                  options=("--devices", str(DEVICES)))


def quantised(normal, scales_in):
    """Expected int8 values and scales of rows: the largest |x| of a row becomes 127, and the conversion cuts towards zero, so that
    half a step nearer to zero than x every result is within half a step."""
    scaled = normal * scales_in
    scales = np.maximum(np.abs(scaled).max(1, keepdims=True), 1e-6) / 127
    steps = scaled / scales
    return steps - 0.5 * np.sign(steps), scales.reshape(-1)


def rms_norm(rows, quantise=False):
    """`rows` of each rank. The loads of the table are of 64 dwords; it has 24 addresses, or 32 with those of the scales."""
    random, epsilon = np.random.default_rng(rows), 1e-5
    elements = DEVICES * rows * COLUMNS
    data, residual = (random_bf16(random, (DEVICES, elements))[0] for _ in range(2))
    (weight, weights), (bias, biases) = (random_bf16(random, (COLUMNS,)) for _ in range(2))
    scales_in = random.uniform(0.5, 2, COLUMNS).astype(np.float32)
    table = "ptrs:data,normal,sum,scale" if quantise else "slack:64:ptrs:data,normal,sum"
    arguments = {**signals(table), 144: "addr:residual", 160: weight, 176: bias, 192: scales_in if quantise else "null", 208: "rank",
                 224: rows * COLUMNS * 2, 240: COLUMNS, 256: F32(epsilon), 272: rows, 288: 1}
    buffers = {f"{name}@{device}": values[device] for name, values in (("data", data), ("residual", residual))
               for device in range(DEVICES)}
    buffers |= {"signals": "uncached:zeros:i32[1024]", "normal": f"{'i8' if quantise else 'ui16'}[{elements}]", "sum": f"ui16[{elements}]"}
    if quantise:
        buffers["scale"] = f"f32[{elements // COLUMNS}]"
    added = residual.reshape(DEVICES, DEVICES, -1)[range(DEVICES), range(DEVICES)].reshape(-1)  # each rank its slice
    total = summed(data) + from_bf16(added)
    lines = total.reshape(-1, COLUMNS).astype(np.float64)
    normal = lines / np.sqrt((lines ** 2).mean(1, keepdims=True) + epsilon) * weights + biases
    truncated = (total.view(np.uint32) >> 16).astype(np.uint16)
    expected = {}
    for device in range(DEVICES):
        expected[f"sum@{device}"] = Expected(truncated, 0, 0, "exact: f32 sums in the order of the ranks, truncated")
        if quantise:
            values, scales = quantised(normal, scales_in)
            expected[f"normal@{device}"] = Expected(values.reshape(-1), 0, 0.5 + 1e-3, QUANT_REASON)
            expected[f"scale@{device}"] = Expected(scales, 1e-5, 0, "f32 sums in another order: 1e-5")
        else:
            expected[f"normal@{device}"] = Expected(normal.reshape(-1), 2.0 ** -7, 1e-4, NORM_REASON, from_bf16)
    return Launch((rows, 1, 1), 64 * WAVES, arguments, expected, buffers=buffers, options=("--devices", str(DEVICES)))


def kernels():
    fused = [Kernel("allreduce_rmsnorm_qnt", f"{rows}_rows", "gfx942", "gfx942/allreduce_rmsnorm_qnt_N8192.co",
                    lambda rows=rows: rms_norm(rows, True), QUANT_REASON) for rows in (1, 2)]
    return fused + [Kernel("all_reduce", f"rmsnorm_{rows}_rows", "gfx942", "gfx942/allreduce_rmsnorm_N8192.co",
                   lambda rows=rows: rms_norm(rows), NORM_REASON) for rows in (1, 2)] + [Kernel("all_reduce", f"{groups}_groups", "gfx942", "gfx942/all_reduce.co", lambda groups=groups: all_reduce(groups),
                   REASON) for groups in (1, 3)]
