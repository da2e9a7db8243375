#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ranks in processes beside ranks in one process, on GPUs or the host: which ways of sharing memory work, whether every
collective is right, with operands anywhere and in windows, times of all (and of NCCL in one process, where its library is
found), and how soon a killed rank ends the others. Exit code 1 when anything is wrong."""
import argparse
import csv
import io
import itertools
import os
import pathlib
import signal
import subprocess
import sys
import time

COLLECTIVES = ["all-reduce", "all-gather", "reduce-scatter", "all-to-all", "permute", "broadcast"]


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--heddle", default="build/bin/heddle")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--sizes", default="1K:256M:4", help="first:last:factor")
    parser.add_argument("--graphs", type=int, default=50, help="replays of graphs; 0: call by call")
    parser.add_argument("--skip-nccl", action="store_true")
    parser.add_argument("--register-as", help=argparse.SUPPRESS)
    return parser.parse_args()


def run(words, timeout=500):
    environment = dict(os.environ, NCCL_NVLS_ENABLE="0")
    result = subprocess.run(words, capture_output=True, text=True, timeout=timeout, env=environment)
    if result.returncode:
        print(f"$ {' '.join(words)}\nexit code {result.returncode}\n{result.stdout}{result.stderr}")
    return result


def rows(result):
    return list(csv.DictReader(io.StringIO(result.stdout)))


def check_right(options):
    """Every collective in processes; the number of faults."""
    faults = 0
    for collective in COLLECTIVES:
        for kind, extra in itertools.product(("f32", "bf16"), ([], ["--registered"])):
            result = run([options.heddle, "bench", collective, "-b", "4", "-e", "16M", "-f", "16", "-d", kind, "-n", "3",
                          "-c", "2", "--device", options.device, "--processes", str(options.ranks), "--csv",
                          *extra])
            wrong = sum(int(row["out_wrong"]) + int(row["in_wrong"]) for row in rows(result))
            faults += result.returncode != 0
            print(f"{collective} {kind}{' in windows' if extra else ''}: {len(rows(result))} sizes, {wrong} wrong elements")
    return faults


def measure(options):
    first, last, factor = options.sizes.split(":")
    common = [options.heddle, "bench", "all-reduce", "-b", first, "-e", last, "-f", factor, "-n", "20", "-w", "5", "-G",
              str(options.graphs), "-c", "1", "--device", options.device, "--csv"]
    processes = run(common + ["--processes", str(options.ranks)])
    registered = run(common + ["--processes", str(options.ranks), "--registered"])
    one = run(common + ["--devices", str(options.ranks)])
    nccl = None
    if options.device == "cuda" and not options.skip_nccl:
        nccl = run(common + ["--devices", str(options.ranks), "--peer", "nccl"])
        nccl = None if nccl.returncode else rows(nccl)
    print("\nall-reduce, p50 in us\n      bytes  processes  in windows  one process  ratios            nccl  algorithms")
    for number, (ours, window, beside) in enumerate(zip(rows(processes), rows(registered), rows(one))):
        p50, window_p50, beside_p50 = (float(each["out_p50_us"]) for each in (ours, window, beside))
        peer = f"{float(nccl[number]['out_nccl_p50_us']):10.2f}" if nccl else "         -"
        print(f"{ours['size']:>11}  {p50:9.2f}  {window_p50:10.2f}  {beside_p50:11.2f}  {p50 / beside_p50:5.2f}  "
              f"{window_p50 / beside_p50:5.2f} {peer}  {ours['algo']} / {window['algo']} / {beside['algo']}")
    return processes.returncode or registered.returncode or one.returncode


def register_memory(options):
    """All-reduces on memory of PyTorch's allocator and of Heddle's, in windows; on the host of Heddle's alone."""
    address = f"unix:@heddle-bench-{os.getpid()}"
    ranks = [subprocess.Popen([sys.executable, __file__, "--ranks", str(options.ranks), "--device", options.device,
                               "--register-as", f"{rank}:{address}"], stdout=subprocess.PIPE, text=True)
             for rank in range(options.ranks)]
    said = [rank.communicate(timeout=300)[0].strip() for rank in ranks]
    print("\nwindows of Python: " + "; ".join(said))
    return sum(rank.returncode != 0 for rank in ranks)


def register_as(options):
    """One rank of the above."""
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "python"))
    from heddle.collectives import Communicator
    number, address = options.register_as.split(":", 1)
    rank, total, right = int(number), options.ranks * (options.ranks + 1) / 2, 0
    with Communicator.connect(address, rank, options.ranks, device=f"{options.device}:{rank}") as group:
        for count in (1 << 18, (16 << 18) + 5):
            windows = [group.allocate_window(8 * count)]
            arrays = [windows[0].array(count), windows[0].array(count, offset=4 * count)]
            if options.device != "host":
                import torch
                arrays += [torch.empty(count, device=arrays[0].device) for _ in range(2)]
                windows += [group.register(each) for each in arrays[2:]]
            for x, out in zip(arrays[::2], arrays[1::2]):
                x[:] = rank + 1
                group.all_reduce(x, out=out, algorithm="two_shot_direct", registered=True)
                right += bool((out == total).all())
            for window in windows:
                window.deregister()
    print(f"rank {rank}: {right} of {len(arrays)} right")
    return right != len(arrays)


def kill_a_rank(options):
    """Ends rank 1 while calls run; how long until all is over, the parent's own waiting included."""
    bench = subprocess.Popen([options.heddle, "bench", "all-reduce", "-b", "1K", "-n", "100000", "-e", "64M", "-f", "2", "-c",
                              "0", "--device", options.device, "--processes", str(options.ranks)],
                             stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    time.sleep(8)
    children = subprocess.run(["pgrep", "-P", str(bench.pid)], capture_output=True, text=True).stdout.split()
    start = time.monotonic()
    os.kill(int(children[1]), signal.SIGKILL)
    _, said = bench.communicate(timeout=120)
    named = all(f"rank {rank}: heddle: error: rank 1 (" in said for rank in range(options.ranks) if rank != 1)
    print(f"\nrank 1 killed: all had ended {time.monotonic() - start:.2f} s later, "
          f"{'the others named it' if named else 'NOT named by all'}\n{said}")
    return not named


def main():
    options = arguments()
    if options.register_as:
        return int(register_as(options))
    print(run([options.heddle, "doctor", "--processes", str(options.ranks)]).stdout)
    return int(bool(check_right(options) + measure(options) + register_memory(options) + kill_a_rank(options)))


if __name__ == "__main__":
    sys.exit(main())
