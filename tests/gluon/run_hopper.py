# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the sm_90 kernels of tests/corpus/gluon in the thread interpreter and compares with NumPy: run_hopper.py CORPUS [KERNEL ...].

Both texts of Triton 3.9 each, by `heddle-threads`, which fails where the interpreter finds a race or a wait that is missing. What is
written as `KERNEL.entry` or `KERNEL.ttgir` is one of the two. Without names, those of NOT_RUN are expected to fail, as it says.
"""
import os
import re
import struct
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from hopper_cases import CASES, Descriptor

# What does not run, with words of the reason: two that are refused when they are compiled, and two of which the interpreter does not
# know an instruction.
NOT_RUN = {
    "nv_mixed": ["unknown inline assembly 'mad.lo.s32"],
    "nv_copy_arrive_increment": ["unknown intrinsic 'llvm.nvvm.cp.async.mbarrier.arrive.shared'"],
    "nv_wgmma_f16_n8": ["`wgmma` reads rows swizzled over 32, 64 or 128 bytes"],
    "nv_tma_device": ["make the descriptor on the host, `TensorDescriptor.from_tensor`", "'ttg.global_scratch_alloc' is unknown"],
}


def parameters(text):
    """Names and types of the kernel's arguments, in their order."""
    signature = re.search(r"tt\.func public @\S+?\((.*?)\) attributes", text, re.S).group(1)
    signature = re.sub(r' loc\((?:"[^"]*"\(#\w+\)|[^()]*)\)', "", signature)
    return [(name, kind.strip()) for name, kind in re.findall(r"%([\w.]+): (!?[\w.]+(?:<[^{}]*?>)?)", signature)]


def bits(value, kind):
    if kind in ("f32", "f64"):
        return int.from_bytes(struct.pack("<f" if kind == "f32" else "<d", value), "little")
    return int(value) & (2 ** int(kind[1:]) - 1)


def command_of(text, case, folder):
    """The words of the command, and the file of each array."""
    grid, arguments, expected, _ = case
    words, files = [",".join(map(str, grid))], {}
    values = dict(arguments)
    for name, value in arguments.items():
        if isinstance(value, Descriptor):
            values[name] = value.values
            for axis, size in enumerate(value.values.shape):
                values[f"{name}.shape.{axis}"] = size
                values[f"{name}.stride.{axis}"] = value.values.strides[axis] // value.values.itemsize
    for name, kind in parameters(text):
        value = values[name]
        if isinstance(value, np.ndarray):
            files[name] = f"{folder}/{name}"
            value.tofile(files[name])
            words.append("@" + files[name])
        else:
            words.append(str(bits(value, kind)))
    return words, files


def run(path, case, folder):
    """What is wrong, or nothing."""
    with open(path, encoding="utf-8") as file:
        words, files = command_of(file.read(), case, folder)
    done = subprocess.run(["heddle-threads", path, *words], capture_output=True, text=True, check=False)
    if done.returncode:
        return f"exit code {done.returncode}: {done.stderr.strip() or done.stdout.strip()}"
    for name, want in case[2].items():
        kept = case[1][name].values if isinstance(case[1][name], Descriptor) else case[1][name]
        got = np.fromfile(files[name], kept.dtype).reshape(kept.shape).astype(np.float64)
        want = np.asarray(want).astype(np.float64).reshape(got.shape)
        same = (got == want) | (np.isnan(got) & np.isnan(want))
        error = np.max(np.abs(np.where(same, 0, got) - np.where(same, 0, want)) / (1 + np.abs(np.where(same, 0, want))))
        if not error <= case[3]:
            return f"`{name}`: error {error}, at most {case[3]} is right"
    return None


def run_text(corpus, name, ending, may_fail):
    """What is wrong with one text of a kernel, or nothing."""
    path = os.path.join(corpus, "gluon", f"{name}.sm_90{ending}.ttgir")
    with tempfile.TemporaryDirectory() as folder:
        problem = run(path, CASES[name](np.random.default_rng(1)), folder)
    if name not in NOT_RUN or not may_fail:
        return problem
    is_expected = problem and any(reason in problem for reason in NOT_RUN[name])
    return None if is_expected else f"{problem or 'runs now'}; NOT_RUN has: {NOT_RUN[name]}"


def main():
    corpus, names = sys.argv[1], sys.argv[2:]
    texts = []
    for name in names or CASES:
        name, _, only = name.partition(".")
        texts += [(name, ending) for ending in ((".entry", "") if not only else (".entry",) if only == "entry" else ("",))]
    with ThreadPoolExecutor(2) as pool:
        problems = list(pool.map(lambda text: run_text(corpus, *text, may_fail=not names), texts))
    for (name, ending), problem in zip(texts, problems):
        if problem:
            print(f"{name}{ending}: {problem}")
    wrong = sum(bool(problem) for problem in problems)
    print(f"{len(texts) - wrong} of {len(texts)} as expected")
    sys.exit(bool(wrong) or not texts)


main()
