# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How fast checked runs are: kernels of the families at sizes that take long enough to measure."""
from dataclasses import replace

from families import (all_reduce, bf16gemm, f4gemm, fmha_backward, fmha_forward, fmha_v4, latent_attention, latent_persistent, moe,
                      paged_attention, quantised_gemm, topk_per_row, topksoftmax)
from description import Kernel
from runner import RUN_LIMIT, Runner


def enlarged(module, label, make):
    """The kernel of a family's file with another launch."""
    return replace(next(kernel for kernel in module.kernels() if kernel.label == label), make=make)


def matmuls():
    bf16 = "fp32bf16_tn_48x64_bshuffle_splitk"
    return [f4gemm.kernel((256, 512, 8192), (64, 128)), quantised_gemm.int8_kernel("gfx942", (128, 512, 8192), (32, 128)),
            Kernel("bf16gemm", bf16, "gfx950", f"gfx950/bf16gemm/bf16gemm_{bf16}.co",
                   lambda: bf16gemm.launch((192, 256, 8192), (48, 64), shuffled=True)),
            quantised_gemm.blockscale_kernel("gfx942", (128, 512, 8192), 32)]


def attentions():
    fp8 = "fwd_hd128_fp8"
    forward = fmha_forward.Case("gfx950", fp8, (1, 1024, 4096, 2, 1, 128, 128), fp8=True, schedule=fmha_forward.IN_TURNS)
    int8 = fmha_v4.Case("gfx942", "MI300/fwd_hd128_i8fp8", "int8", "fp8", False, shape=(1, 512, 2048, 2), schedule="")
    latent, turns = "dec_stage1_bf16_a16w16_subQ16_mqa16-2splits@gfx942", "a16w16_qh16_m16x4_n16x1_coex0_mask1_ps@gfx942"
    return [fmha_backward.kernel("gfx942", "hd128_bf16_a32_rtne", lambda: fmha_backward.gradient(1, 1536, 2, 128, 192), ""),
            Kernel("fmha_v3_fwd", fp8, "gfx950", f"gfx950/fmha_v3_fwd/{fp8}.co", lambda: fmha_forward.launch(forward),
                   schedule=forward.schedule),
            enlarged(fmha_v4, "fmha_v4_fwd/fwd_hd128_i8fp8@gfx942", lambda: fmha_v4.launch(int8)),
            paged_attention.kernel("noquant_gqa16_1tg_4w", "gfx942", "bf16", 16, [1600] * 16),
            enlarged(latent_attention, f"mla/{latent}",
                     lambda: latent_attention.launch("gfx942", "bf16", 16, [4000, 3200], 2, arguments_end=208)),
            enlarged(latent_persistent, f"mla-persistent/{turns}",
                     lambda: latent_persistent.launch("gfx942", "bf16", [1600, 800], 4, 256))]


def others():
    two, one = "fmoe_stage1_bf16_pertokenFp8_g1u1_16x128_4tg_pf3@gfx942", "fmoe_bf16_pertokenInt8_g1u1_vs_silu_1tg_32x128@gfx942"
    return [topksoftmax.kernel("gfx942", 4, 128, 4, False, 1000, False),
            enlarged(topk_per_row, "topk_per_row/decode@gfx942", lambda: topk_per_row.decode([3000] * 24, 3000)),
            enlarged(moe, f"fmoe/{one}", lambda: moe.fused("gfx942", "int8", 32, 128, tokens=400, dim=1024)),
            enlarged(moe, f"fmoe_2stages/{two}", lambda: moe.first("gfx942", "fp8", 16, 128, tokens=600, dim=1024)),
            enlarged(all_reduce, "all_reduce/3_groups@gfx942", lambda: all_reduce.all_reduce(8)),
            enlarged(all_reduce, "all_reduce/rmsnorm_2_rows@gfx942", lambda: all_reduce.rms_norm(4))]


def kernels():
    """One of each family that `--list` counts."""
    return matmuls() + attentions() + others()


def measure(kernel, settings, repeats=5):
    """Label, instructions of a run, and million instructions a second with the default checks and without: of processor time
    on one thread, and with checks also of time on the clock on one thread and on two. Each is the fastest of some runs, which
    take turns."""
    runner = Runner(kernel, settings)
    command = runner.simulate_command()
    checks = ["--checks", "default"]
    runs = {"checked": (checks, "1", "seconds"), "unchecked": ([], "1", "seconds"),
            "clock_1": (checks, "1", "elapsed_seconds"), "clock_2": (checks, "2", "elapsed_seconds")}
    least = dict.fromkeys(runs, float("inf"))
    for _ in range(repeats):
        for name, (options, threads, measure_of) in runs.items():
            # 1: the checks have findings
            report = runner.execute(command + options + ["--threads", threads], RUN_LIMIT, (0, 1))
            least[name] = min(least[name], report[measure_of])
    instructions = report["instructions"]
    return {"label": kernel.label, "instructions": instructions,
            **{name: instructions / seconds / 1e6 for name, seconds in least.items()}}
