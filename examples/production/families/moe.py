# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Mixture of experts: both matmuls in one kernel (folder `fmoe`), and the first of two kernels (folder `fmoe_2stages`).
Arguments: csrc/py_itfs_cu/asm_fmoe.cu, asm_moe_2stage.cu."""
import numpy as np

from description import Expected, Kernel, Launch
from families.decode_attention import compare
from families.experts import Layer, gelu, shuffled
from formats import from_bf16

FUSED = ("the kernel rounds what is between the matmuls to the type of the weights: six standard deviations of these errors, "
         "and a step of bf16 for each expert's addition")
FIRST = "f32 sums and an exponential (relative 1e-5), then a step of bf16"
EARLY = ("waves read LDS before others have written it: the default schedule, each wave until it waits, gives wrong results, "
         "and turns give right ones")


def fused(chip, kind, tile, inter, persistent=0, **options):
    """`tile`: tokens of a workgroup; `persistent`: workgroups of a grid that does not depend on the tokens."""
    layer = Layer(chip, kind, inter, tile, **options)
    want, error = layer.result()
    size = layer.x_bits.itemsize
    arguments = {0: f"zeros:ui16[{layer.tokens},{layer.dim}]", 16: layer.x_bits, 32: shuffled(layer.up_bits),
                 48: layer.valid, 64: shuffled(layer.down_bits), 144: layer.ids, 160: layer.sorted_weights,
                 176: layer.blocks, 192: layer.dim, 208: inter, 224: layer.tokens, 240: layer.experts,
                 256: layer.dim * size, 272: layer.dim * size, 288: inter * size, 304: layer.dim * 2,
                 320: layer.rows * layer.dim * size, 336: layer.dim * inter * size, 384: inter * 4, 400: layer.top}
    if persistent:
        arguments.update({416: persistent, 432: 1})
    if kind != "bf16":
        arguments.update({80: layer.x_scale, 96: layer.up_scale, 112: layer.down_scale, 352: layer.rows * 4,
                          368: layer.dim * 4})
    if layer.own_inputs:
        arguments[128] = layer.factor
    grid = (persistent, 1, 1) if persistent else (1, len(layer.blocks), 1)
    error = error + layer.top * 2.0 ** -8 * np.abs(want).max()
    return Launch(grid, 256, arguments, {}, lambda results: compare(from_bf16(results[0]), want, 0, error), (0,),
                  zeros=("SMQ", "XQ", "GQ", "DQ", "eGUQs", "eDQs", "total_tgs", "ps_deno"))


def first(chip, kind, tile, inter, weighted=False, **options):
    layer = Layer(chip, kind, inter, tile, **options)
    want = np.empty((layer.tokens, layer.top, inter))
    for token, choice in np.ndindex(layer.chosen.shape):
        want[token, choice] = layer.hidden(token, choice) * (layer.weights[token, choice] if weighted else 1)
    arguments = {0: f"ui16[{layer.tokens},{layer.top},{inter}]", 16: layer.x_bits, 32: shuffled(layer.up_bits),
                 48: layer.valid, 64: layer.x_scale, 80: layer.up_scale, 112: layer.ids, 128: layer.blocks,
                 144: layer.dim, 160: inter, 176: layer.tokens, 192: layer.experts, 208: layer.dim, 224: layer.dim,
                 240: layer.top * inter * 2, 256: layer.rows * layer.dim, 272: layer.rows * 4, 288: inter * 4,
                 304: layer.top, 320: 0, 336: 0}
    if weighted:
        arguments[352] = layer.sorted_weights
    expected = Expected(want, 2.0 ** -8 + 1e-5, 1e-5 * np.abs(want).max(), FIRST, from_bf16)
    return Launch((1, len(layer.blocks), 1), 256, arguments, {0: expected}, zeros=("SMQ", "SW"))


def kernel(chip, folder, name, make, schedule=""):
    tolerance = FIRST if folder == "fmoe_2stages" else FUSED
    where = f"{chip}/{folder}/{name}.co" if folder else f"{chip}/{name}.co"
    return Kernel(folder.split("/")[0] or "fmoe", name, chip, where, make, tolerance, schedule=schedule,
                  note=EARLY if schedule else "")


def kernels():
    all_kernels = []
    for chip in ("gfx942", "gfx950"):
        def both(name, *case, schedule="", folder="fmoe/silu", chip=chip, **options):
            all_kernels.append(kernel(chip, folder, name, lambda: fused(chip, *case, **options), schedule))

        def stage(name, *case, schedule="", chip=chip, **options):
            all_kernels.append(kernel(chip, "fmoe_2stages", "fmoe_stage1_bf16_" + name, lambda: first(chip, *case, **options),
                                      schedule))
        both("fmoe_bf16_pertokenFp8_g1u1_vs_silu_1tg_32x128", "fp8", 32, 128)
        both("fmoe_bf16_pertokenInt8_g1u1_vs_silu_1tg_32x128", "int8", 32, 128)
        both("fmoe_bf16_pertokenFp8_g1u1_vs_silu_1tg_ps_32x256", "fp8", 32, 256, persistent=2)
        both("fmoe_bf16_pertokenInt8_g1u0_silu_1tg_32x256", "int8", 32, 256, gated=False, own_inputs=True)
        both("fmoe_bf16_noquantBf16_g1u0_vs_atm_inlv_silu_1tg_32x512", "bf16", 32, 512, schedule="round-robin", gated=False,
             dim=512)
        both("fmoe_bf16_pertokenFp8_g1u1_vs_gelu_1tg_32x128", "fp8", 32, 128, folder="fmoe/gelu", activation=gelu)
        both("fmoe_bf16_pertokenFp8_g1u1_vs_gelu_1tg_ps_32x256", "fp8", 32, 256, folder="fmoe/gelu", persistent=2,
             activation=gelu)
        both("fmoe_bf16_noquantBf16_g1u0_vs_atm_inlv_gelu_1tg_32x512", "bf16", 32, 512, folder="fmoe/gelu",
             schedule="round-robin", gated=False, activation=gelu, dim=512)
        if chip == "gfx942":
            both("fmoe_int8_g1u0_subGU_256", "int8", 32, 256, gated=False, own_inputs=True)
            both("fmoe_b16", "bf16", 32, 512, schedule="round-robin", folder="", gated=False, activation=gelu, dim=512)
            both("fmoe_int8_g1u1_multix_subGU_128", "int8", 32, 128, folder="", own_inputs=True)
        stage("pertokenFp8_g1u1_32x128_3tg_pf2", "fp8", 32, 128)
        stage("pertokenFp8_g1u1_16x128_4tg_pf3", "fp8", 16, 128)
        stage("pertokenInt8_g1u1_32x128_3tg_pf2", "int8", 32, 128)
    return all_kernels
