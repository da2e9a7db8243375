# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles every kernel of the corpus and looks into each package: corpus.py CORPUS FOLDER."""
import json
import pathlib
import subprocess
import sys

corpus, folder = (pathlib.Path(a) for a in sys.argv[1:])
kernels = sorted(corpus.glob("*.ttir"))
for kernel in kernels:
    package = folder / (kernel.stem + ".hpkg")
    subprocess.run(["heddle", "compile", kernel, "-o", package], check=True, stderr=subprocess.DEVNULL)
    found = json.loads(subprocess.run(["heddle", "inspect", package, "--json"], check=True, stdout=subprocess.PIPE).stdout)
    if found["code"]["calls"] and not found["checked"]:
        print(f"{kernel.name}: {found['code']['calls']} calls")
    if found["code"]["vector"] < found["code"]["instructions"] / 10:
        print(f"{kernel.name}: {found['code']['vector']} vector of {found['code']['instructions']} instructions")
print(len(kernels), "kernels")
