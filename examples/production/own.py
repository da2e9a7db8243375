# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Small kernels of ours with instructions that production kernels use: what a machine without AITER's objects can run. Their
bodies are own/*.s; the descriptor and the metadata around them are made here."""
import os
import subprocess

import numpy as np

from description import Expected, Kernel, Launch, Slack
from formats import F32
from runner import RunError

CHIPS = ("gfx942", "gfx950")
SHELL = """.amdgcn_target "amdgcn-amd-amdhsa--{chip}"
.text
.globl {name}
.p2align 8
.type {name},@function
{name}:
{body}
.rodata
.p2align 6
.amdhsa_kernel {name}
  .amdhsa_next_free_vgpr 16
  .amdhsa_next_free_sgpr 32
  .amdhsa_accum_offset 16
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_kernarg_size {size}
  .amdhsa_group_segment_fixed_size 256
.end_amdhsa_kernel
.amdgpu_metadata
---
amdhsa.version: [1, 2]
amdhsa.kernels:
  - {{.name: {name}, .symbol: {name}.kd, .kernarg_segment_size: {size}, .group_segment_fixed_size: 256,
     .private_segment_fixed_size: 0, .kernarg_segment_align: 8, .wavefront_size: 64, .sgpr_count: 32, .vgpr_count: 16,
     .max_flat_workgroup_size: 64, .args: [{arguments}]}}
...
.end_amdgpu_metadata
"""


def argument(name, offset):
    """A pointer, a filler or number of 4 bytes, or two pointers as 16 bytes."""
    if name == "both":
        return f"{{.name: {name}, .offset: {offset}, .size: 16, .value_kind: by_value}}"
    if name in ("pad", "factor", "rank"):
        return f"{{.name: {name}, .offset: {offset}, .size: 4, .value_kind: by_value}}"
    return f"{{.name: {name}, .offset: {offset}, .size: 8, .value_kind: global_buffer, .address_space: global}}"


ARGUMENTS = {"device_sums": {0: "table", 8: "counters", 16: "counter", 24: "rank"}, "lds_copy": {0: "x", 8: "y"}, "matmul": {0: "a", 8: "b", 16: "c"}, "missing_wait": {0: "x", 8: "y"},
             "scalar_store": {0: "n", 8: "sums"}, "skip": {0: "x", 8: "y"}, "scale": {0: "x", 8: "pad", 12: "pad", 16: "factor", 20: "pad"},
             "reads_ahead": {0: "x", 8: "y"}, "one_argument": {0: "both"}, "other_arguments": {0: "rank"}}
BODIES = {"one_argument": "lds_copy", "other_arguments": "lds_copy"}  # the same code; the metadata differ


def numbers(shape, kind=np.float32):
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(kind)


def copy():
    x = numbers((64,))
    return Launch((1, 1, 1), 64, {0: x, 8: "f32[64]"}, {8: Expected(x, 0, 0, "a copy has the same bits")})


def copy_with_slack():
    launch = copy()
    launch.arguments[0] = Slack(launch.arguments[0], 256)
    return launch


def scalar_store():
    """The sum of 1 to 10 by both stores, added to 5 by the atomic operation, which returns the 5."""
    given, want = np.array([0, 0, 5, 0], np.int32), np.array([55, 55, 60, 5])
    return Launch((1, 1, 1), 64, {0: np.array([10], np.int32), 8: given}, {8: Expected(want, 0, 0, "integers are exact")})


def device_sums():
    x = numbers((4, 256))
    want = x[0] + x[1] + x[2] + x[3]
    expected = {f"data@{device}": Expected(want, 0, 0, "f32 sums in the same order") for device in range(4)}
    expected |= {f"arrivals@{device}": Expected(np.zeros(1), 0, 0, "reset") for device in range(4)}
    return Launch((1, 1, 1), 64, {0: "ptrs:data", 8: "ptrs:arrivals", 16: "addr:arrivals", 24: "rank"}, expected,
                  buffers={**{f"data@{device}": x[device] for device in range(4)}, "arrivals": "uncached:zeros:i32[1]"},
                  options=("--devices", "4"))


def scale():
    x = numbers((64,))
    want = x * np.float32(1.5)
    return Launch((1, 1, 1), 64, {0: x, 16: F32(1.5)}, {0: Expected(want, 0, 0, "one f32 multiplication is exact")})


def matmul():
    a, b = numbers((16, 16), np.float16), numbers((2, 8, 16), np.float16).reshape(16, 16)
    want = a.astype(np.float64) @ b.astype(np.float64).T
    return Launch((1, 1, 1), 64, {0: a, 8: b, 16: "f32[16,16]"}, {16: Expected(want, 1e-5, 1e-5, "f32 sums of 16 products")})


def kernels():
    made = {"device_sums": (device_sums, "clean"), "lds_copy": (copy, "clean"), "matmul": (matmul, "clean"), "missing_wait": (copy, "findings"),
            "scalar_store": (scalar_store, "clean"), "skip": (copy, "clean"), "scale": (scale, "clean"),
            "reads_ahead": (copy_with_slack, "clean"), "one_argument": (copy, "clean"), "other_arguments": (copy, "clean")}
    return [Kernel("own", name, chip, f"{chip}/{name}.co", make, verdict=verdict, segment=16 if name == "other_arguments" else 0)
            for chip in CHIPS for name, (make, verdict) in made.items()]


def compile_all(work):
    """Compiles all of them below `work`; returns the folder that has a folder for each chip."""
    folder = os.path.join(work, "objects")
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "own")
    for chip in CHIPS:
        os.makedirs(os.path.join(folder, chip), exist_ok=True)
        for name, arguments in ARGUMENTS.items():
            with open(os.path.join(source, BODIES.get(name, name) + ".s"), encoding="utf-8") as file:
                body = file.read()
            listed = ", ".join(argument(one, offset) for offset, one in arguments.items())
            text = SHELL.format(chip=chip, name=name, body=body, size=max(arguments) + 8, arguments=listed)
            assemble(text, chip, os.path.join(folder, chip, name + ".co"))
    return folder


def assemble(text, chip, path):
    command = ["clang-22", "-x", "assembler", "--target=amdgcn-amd-amdhsa", "-mcpu=" + chip, "-", "-o", path]
    try:
        run = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    except FileNotFoundError as error:
        raise RunError("`clang-22` is missing\nnote: `./dev setup` installs it") from error
    if run.returncode:
        raise RunError(f"`clang-22` could not assemble `{os.path.basename(path)}`: {run.stderr.strip()}")
