# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whether the first of two kernels takes less time by `heddle simulate --time`: faster.py FIRST SECOND OPTIONS..."""
import json
import subprocess
import sys


def cycles(kernel):
    command = ["heddle", "simulate", kernel, *sys.argv[3:], "--time", "--json"]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)["time"]["cycles"]


first, second = cycles(sys.argv[1]), cycles(sys.argv[2])
if not first < second:
    sys.exit(f"{sys.argv[1]} takes {first} cycles, {sys.argv[2]} takes {second}")
