# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs a module again and again with a process for each rank, kills rank 1, and says how it ended:
kill_module_rank.py MODULE RANKS"""
import os
import re
import signal
import subprocess
import sys
import time

run = subprocess.Popen(["heddle", "run", sys.argv[1], "--processes", sys.argv[2], "--repeat", "10000000"],
                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def read(pid, name):
    try:
        with open(f"/proc/{pid}/{name}", encoding="utf-8") as file:
            return file.read()
    except OSError:
        return ""


def victim():
    """The process of rank 1, when its memory for collectives is there."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        words = read(pid, "cmdline").split("\0")
        is_child = read(pid, "stat").rpartition(")")[2].split()[1:2] == [str(run.pid)]
        if is_child and "--rank" in words and words[words.index("--rank") + 1] == "1" and \
                "memfd:heddle-memory" in read(pid, "maps"):
            return int(pid)
    return None


end = time.monotonic() + 60
while (killed := victim()) is None and time.monotonic() < end:
    time.sleep(0.1)
time.sleep(2)
start = time.monotonic()
os.kill(killed, signal.SIGKILL)
output, _ = run.communicate(timeout=90)
print(f"exit code {run.returncode} {'soon' if time.monotonic() - start < 20 else 'late'}")
print(re.sub(rf"\b{killed}\b", "PID", output))
