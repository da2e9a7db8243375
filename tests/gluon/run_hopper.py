# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the sm_90 kernels of tests/corpus/gluon and compares with NumPy: run_hopper.py [--device cuda:0] CORPUS [KERNEL ...].

Both texts of Triton 3.9 each, in the thread interpreter by `heddle-threads`, which fails where it finds a race or a wait that is
missing, or on a GPU by `heddle run`. What is written as `KERNEL.entry` or `KERNEL.ttgir` is one of the two. Without names, the kernels
of REFUSED are to be refused, with words of the reason.
"""
import argparse
import concurrent.futures
import os
import re
import struct
import subprocess
import sys
import tempfile

import numpy as np

from hopper_cases import CASES, Descriptor

# Descriptors that the kernel makes itself; what the text before the passes says, and the one after them.
REFUSED = {"nv_tma_device": ("make the descriptor on the host, `TensorDescriptor.from_tensor`", "'ttg.global_scratch_alloc' is unknown")}


def parameters(text):
    """Names and types of the kernel's arguments, in their order."""
    signature = re.search(r"tt\.func public @\S+?\((.*?)\) attributes", text, re.S).group(1)
    signature = re.sub(r' loc\((?:"[^"]*"\(#\w+\)|[^()]*)\)', "", signature)
    return [(name, kind.strip()) for name, kind in re.findall(r"%([\w.]+): (!?[\w.]+(?:<[^{}]*?>)?)", signature)]


def bits(value, kind):
    if kind in ("f32", "f64"):
        return int.from_bytes(struct.pack("<f" if kind == "f32" else "<d", value), "little")
    return int(value) & (2 ** int(kind[1:]) - 1)


def values_of(case):
    """Of each argument by name, those of descriptors too."""
    values = dict(case[1])
    for name, value in case[1].items():
        if isinstance(value, Descriptor):
            values[name] = value.values
            for axis, size in enumerate(value.values.shape):
                values[f"{name}.shape.{axis}"] = size
                values[f"{name}.stride.{axis}"] = value.values.strides[axis] // value.values.itemsize
    return values


def run_threads(path, text, case, folder):
    """What is wrong, or nothing; and the arrays after the launch."""
    words, after, values = [",".join(map(str, case[0]))], {}, values_of(case)
    for name, kind in parameters(text):
        value = values[name]
        if isinstance(value, np.ndarray):
            value.tofile(f"{folder}/{name}")
            after[name] = lambda file=f"{folder}/{name}", kind=value.dtype: np.fromfile(file, kind)
            words.append(f"@{folder}/{name}")
        else:
            words.append(str(bits(value, kind)))
    return subprocess.run(["heddle-threads", path, *words], capture_output=True, text=True, check=False), after


def run_device(device, path, text, case, folder):
    command = ["heddle", "run", path, "--device", device, "--grid", ",".join(map(str, case[0]))]
    after, values = {}, values_of(case)
    for name, _ in parameters(text):
        value = values[name]
        if isinstance(value, np.ndarray):
            np.save(f"{folder}/{name}.npy", value)
            after[name] = lambda file=f"{folder}/{name}.out.npy": np.load(file)
            value = f"@{folder}/{name}.npy"
        command += ["--arg", f"{name}={value}"]
    for name in case[2]:
        command += ["--out", f"{name}={folder}/{name}.out.npy"]
    return subprocess.run(command, capture_output=True, text=True, check=False), after


def run(device, path, case):
    """What is wrong, or nothing."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    with tempfile.TemporaryDirectory() as folder:
        done, after = run_device(device, path, text, case, folder) if device else run_threads(path, text, case, folder)
        if done.returncode:
            return f"exit code {done.returncode}: {done.stderr.strip() or done.stdout.strip()}"
        for name, want in case[2].items():
            shape = values_of(case)[name].shape
            got = after[name]().reshape(shape).astype(np.float64)
            want = np.asarray(want).astype(np.float64).reshape(shape)
            same = (got == want) | (np.isnan(got) & np.isnan(want))
            error = np.max(np.abs(np.where(same, 0, got) - np.where(same, 0, want)) / (1 + np.abs(np.where(same, 0, want))))
            if not error <= case[3]:
                return f"`{name}`: error {error}, at most {case[3]} is right"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", help="a device of `heddle run`; the thread interpreter")
    parser.add_argument("--jobs", type=int, default=2, help="runs at once; 2")
    parser.add_argument("corpus")
    parser.add_argument("kernels", nargs="*")
    wanted = parser.parse_args()
    texts = []
    for name in wanted.kernels or list(CASES):
        name, _, only = name.partition(".")
        texts += [(name, ending) for ending in ((".entry", "") if not only else (".entry",) if only == "entry" else ("",))]

    def one(text):
        name, ending = text
        path = os.path.join(wanted.corpus, "gluon", f"{name}.sm_90{ending}.ttgir")
        problem = run(wanted.device, path, CASES[name](np.random.default_rng(1)))
        if wanted.kernels or name not in REFUSED:
            return problem
        return None if any(word in (problem or "") for word in REFUSED[name]) else problem or "it runs, and is in REFUSED"

    with concurrent.futures.ThreadPoolExecutor(wanted.jobs) as pool:
        problems = [(name + ending, problem) for (name, ending), problem in zip(texts, pool.map(one, texts)) if problem]
    for name, problem in problems:
        print(f"{name}: {problem}")
    print(f"{len(texts) - len(problems)} of {len(texts)} right")
    sys.exit(bool(problems) or not texts)


main()
