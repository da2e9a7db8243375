# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which family a kernel is of, and how many kernels each has: by what they compute, and by the folder of their object."""
from collections import Counter

KINDS = {
    "softmax": ("topksoftmax",), "top k of rows": ("topk_per_row",), "bf16 matmul": ("bf16gemm",),
    "int8 matmul": ("i8gemm", "gemm_a8w8"), "fp8 matmul": ("fp8gemm_blockscale", "flatmm", "f8_block_scale"),
    "fp4 matmul": ("f4gemm",), "attention forward": ("fmha_v3_fwd",), "attention backward": ("fmha_v3_bwd",),
    "quantised attention": ("fmha_v4_fwd",), "paged attention": ("pa",), "latent attention": ("mla", "mla_v4"),
    "mixture of experts, one stage": ("fmoe",), "mixture of experts, two stages": ("fmoe_2stages",),
    "all-reduce": ("all_reduce",),
    "kernels of ours": ("own",)}
OF_FAMILY = {family: kind for kind, families in KINDS.items() for family in families}


def kind_of(kernel):
    """A persistent form is a family of its own: its grid does not depend on the work."""
    if "-persistent" in kernel.family or "_ps_" in kernel.name + "_":
        return "persistent forms"
    return "all-reduce with norm" if "rmsnorm" in kernel.label else OF_FAMILY[kernel.family.split("-")[0]]


def totals(kernels):
    """Lines: kernels of each family, and how many families, folders and objects beside them there are."""
    counts = Counter(map(kind_of, kernels))
    chips = {chip: sum(kernel.chip == chip for kernel in kernels) for chip in sorted({kernel.chip for kernel in kernels})}
    objects = {tuple(kernel.object.split("/")[1:]) for kernel in kernels}  # without the chip
    folders = {path[0] for path in objects if len(path) > 1}
    lines = [f"{count:5}  {kind}" for kind, count in sorted(counts.items(), key=lambda one: (-one[1], one[0]))]
    return lines + [f"{len(kernels)} kernels ({', '.join(f'{count} {chip}' for chip, count in chips.items())}) of {len(counts)} "
                    f"families; {len(folders)} folders, and {sum(len(path) == 1 for path in objects)} objects beside them"]
