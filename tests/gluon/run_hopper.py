# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the sm_90 kernels of tests/corpus/gluon in the thread interpreter and compares with NumPy: run_hopper.py CORPUS [KERNEL ...].

Both texts of Triton 3.9 each, by `heddle-threads`, which fails where the interpreter finds a race or a wait that is missing. What is
written as `KERNEL.entry` or `KERNEL.ttgir` is one of the two.
"""
import os
import re
import struct
import subprocess
import sys
import tempfile

import numpy as np

from hopper_cases import CASES, Descriptor


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


def main():
    corpus, names = sys.argv[1], sys.argv[2:] or list(CASES)
    wrong = total = 0
    for name in names:
        name, _, only = name.partition(".")
        for ending in (".entry", "") if not only else (".entry",) if only == "entry" else ("",):
            path = os.path.join(corpus, "gluon", f"{name}.sm_90{ending}.ttgir")
            with tempfile.TemporaryDirectory() as folder:
                problem = run(path, CASES[name](np.random.default_rng(1)), folder)
            total += 1
            if problem:
                wrong += 1
                print(f"{name}{ending}: {problem}")
    print(f"{total - wrong} of {total} right")
    sys.exit(wrong or not total)


main()
