# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How fast checked runs are: kernels of the families at sizes that take long enough to measure."""
from families import bf16gemm, f4gemm, fmha_backward, fmha_forward, quantised_gemm
from description import Kernel
from runner import RUN_LIMIT, Runner


def kernels():
    bf16, fp8 = "fp32bf16_tn_48x64_bshuffle_splitk", "fwd_hd128_fp8"
    forward = fmha_forward.Case("gfx950", fp8, (1, 1024, 4096, 2, 1, 128, 128), fp8=True, schedule=fmha_forward.IN_TURNS)
    return [f4gemm.kernel((256, 512, 8192), (64, 128)), quantised_gemm.int8_kernel("gfx942", (128, 512, 8192), (32, 128)),
            Kernel("bf16gemm", bf16, "gfx950", f"gfx950/bf16gemm/bf16gemm_{bf16}.co",
                   lambda: bf16gemm.launch((192, 256, 8192), (48, 64), shuffled=True)),
            quantised_gemm.blockscale_kernel("gfx942", (128, 512, 8192), 32),
            fmha_backward.kernel("gfx942", "hd128_bf16_a32_rtne", lambda: fmha_backward.gradient(1, 1536, 2, 128, 192), ""),
            Kernel("fmha_v3_fwd", fp8, "gfx950", f"gfx950/fmha_v3_fwd/{fp8}.co", lambda: fmha_forward.launch(forward),
                   schedule=forward.schedule)]


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
