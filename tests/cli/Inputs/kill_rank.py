# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Starts `heddle bench` with three processes, sends one of them a signal while calls run, and says how it ended:
kill_rank.py SIGNAL [OPTIONS OF BENCH]"""
import os
import signal
import subprocess
import sys
import time

bench = subprocess.Popen(
    ["heddle", "bench", "all-reduce", "-b", "1K", "-n", "100000", "-e", "1G", "-f", "2", "-c", "0", "--timeout", "1",
     "--processes", "3", *sys.argv[2:]], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def ranks():
    """The processes of the ranks, by rank."""
    found = {}
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{entry}/stat", encoding="utf-8") as stat:
                parent = int(stat.read().rpartition(")")[2].split()[1])
            with open(f"/proc/{entry}/cmdline", encoding="utf-8") as command:
                words = command.read().split("\0")
        except OSError:
            continue
        if parent == bench.pid and "--rank" in words:
            found[int(words[words.index("--rank") + 1])] = int(entry)
    return found


def arenas():
    """Mappings that the ranks share in the process of rank 1: they stay when calls are ready to run."""
    with open(f"/proc/{victims[1]}/maps", encoding="utf-8") as maps:
        return maps.read().count("memfd:heddle-memory")


end = time.monotonic() + 30
for line in bench.stdout:
    if "algo" in line:
        break
victims = ranks()
while time.monotonic() < end:
    time.sleep(0.3)
    if "--hosts" in sys.argv:  # hosts of one rank each have no such memory
        time.sleep(1)
        break
    if arenas() and (time.sleep(0.3), arenas())[1]:
        break
start = time.monotonic()
os.kill(victims[1], getattr(signal, sys.argv[1]))
output, _ = bench.communicate(timeout=90)
print(f"exit code {bench.returncode} {'soon' if time.monotonic() - start < 45 else 'late'}")
print(output.replace(str(victims[1]), "PID"))
print(f"left behind: {[pid for pid in victims.values() if os.path.exists(f'/proc/{pid}')]}")
