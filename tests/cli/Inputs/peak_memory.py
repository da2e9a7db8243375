# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs a command and says whether its peak memory stayed below a limit: peak_memory.py MIB COMMAND..."""
import resource
import subprocess
import sys

subprocess.run(sys.argv[2:], check=True)
peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024
if peak > int(sys.argv[1]):
    sys.exit(f"the peak was {peak} MiB, above {sys.argv[1]}")
