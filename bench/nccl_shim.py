#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""PyTorch's collectives over NCCL with libheddle_nccl.so before it, and without, in turns: results, times of single calls and
of calls in CUDA graphs, who served what, and how soon a killed rank is noticed.

    python3 bench/nccl_shim.py --library build/lib/libheddle_nccl.so --json shim.json

It starts a process for each GPU itself. libheddle.so.0 lies beside the library, or HEDDLE_LIBRARY names it. A number is the
median over the repetitions of the slowest rank's time for a call. No NVLink multicast. Exit code 1 for a wrong result or a
call that is slower by more than --noise."""
import argparse
import collections
import json
import os
import pathlib
import re
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time

COLLECTIVES = ("all_reduce", "all_gather", "reduce_scatter")
CALL = re.compile(r"heddle_nccl\[\d+\]: rank 0 of \d+: (\w+) (\d+) bytes, \d+ (\w+): (heddle|nccl) \((.*)\)")


def size_of(text):
    number = int(re.match(r"\d+", text)[0])
    return number * 1024 ** " KMG".index(text[-1].upper() if text[-1].isalpha() else " ")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", default="build/lib/libheddle_nccl.so")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--sizes", default="1K:256M:4", help="first:last:factor, bytes of the larger array")
    parser.add_argument("--dtype", default="bfloat16")
    parser.add_argument("--calls", type=int, default=20, help="in a graph")
    parser.add_argument("--repetitions", type=int, default=30)
    parser.add_argument("--rounds", type=int, default=2, help="starts without and with the library, in turns")
    parser.add_argument("--noise", type=float, default=0.05, help="by which a call may be slower")
    parser.add_argument("--timeout", type=float, default=150, help="seconds of one start")
    parser.add_argument("--json", help="file for all numbers")
    parser.add_argument("--parts", default="check,time,death", help="what is done; default all three")
    parser.add_argument("--part", choices=("check", "time", "death"), help=argparse.SUPPRESS)
    parser.add_argument("--out", help=argparse.SUPPRESS)
    return parser.parse_args()


def sizes(options):
    first, last, factor = options.sizes.split(":")
    size = size_of(first)
    while size <= size_of(last):
        yield size
        size *= int(factor)


# ---- A rank ----


class Rank:
    def __init__(self, options):
        import torch
        import torch.distributed as dist
        from datetime import timedelta
        self.torch, self.dist, self.options = torch, dist, options
        self.rank, self.ranks = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
        torch.cuda.set_device(self.rank)
        self.type = getattr(torch, options.dtype)
        dist.init_process_group("nccl", timeout=timedelta(seconds=60), device_id=torch.device("cuda", self.rank))

    def tensors(self, collective, size):
        elements = size // self.type.itemsize // (16 * self.ranks) * 16 * self.ranks
        whole = self.torch.empty(elements, dtype=self.type, device="cuda")
        part = self.torch.empty(elements // self.ranks, dtype=self.type, device="cuda")
        same = self.torch.empty_like(whole)
        return {"all_reduce": (whole, same), "all_gather": (part, whole), "reduce_scatter": (whole, part)}[collective]

    def call(self, collective, source, target):
        """Out of place but for the all-reduce, which torch.distributed has in place only."""
        if collective == "all_reduce":
            self.dist.all_reduce(source)
        elif collective == "all_gather":
            self.dist.all_gather_into_tensor(target, source)
        else:
            self.dist.reduce_scatter_tensor(target, source)

    def values(self, rank, count):
        """Small integers, whose sums are exact in every type."""
        return (self.torch.arange(count, device="cuda") % 13 + rank).to(self.type)

    def expected(self, collective, source, target):
        if collective == "all_gather":
            return self.torch.cat([self.values(rank, source.numel()) for rank in range(self.ranks)])
        total = sum(self.values(rank, source.numel()).float() for rank in range(self.ranks)).to(self.type)
        return total if collective == "all_reduce" else total.chunk(self.ranks)[self.rank]

    def wrong(self, collective, source, target, run):
        source.copy_(self.values(self.rank, source.numel()))
        target.zero_()
        run()
        self.torch.cuda.synchronize()
        result = source if collective == "all_reduce" else target
        return int((result != self.expected(collective, source, target)).sum())

    def graph_of(self, collective, source, target, calls):
        torch = self.torch
        side = torch.cuda.Stream()
        with torch.cuda.stream(side):
            for _ in range(3):
                self.call(collective, source, target)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            for _ in range(calls):
                self.call(collective, source, target)
        return graph

    def check(self):
        """Rows with wrong elements, of single calls, in a graph, and of calls that follow each other without a wait."""
        rows = []
        for collective in COLLECTIVES:
            for size in sizes(self.options):
                source, target = self.tensors(collective, size)
                wrong = self.wrong(collective, source, target, lambda: self.call(collective, source, target))
                graph = self.graph_of(collective, source, target, 1)
                for _ in range(2):
                    wrong += self.wrong(collective, source, target, graph.replay)
                other, pool = self.torch.cuda.Stream(), self.torch.ones(1, device="cuda")
                other.wait_stream(self.torch.cuda.current_stream())
                with self.torch.cuda.stream(other):
                    self.dist.all_reduce(pool)
                self.torch.cuda.current_stream().wait_stream(other)
                wrong += int(pool.item() != self.ranks)
                rows.append({"collective": collective, "bytes": size, "wrong": wrong})
                del graph
        return rows

    def time(self):
        torch, rows = self.torch, []
        for collective in COLLECTIVES:
            for size in sizes(self.options):
                source, target = self.tensors(collective, size)
                source.zero_()
                repetitions = self.options.repetitions if size < 32 << 20 else max(5, self.options.repetitions // 3)
                graph = self.graph_of(collective, source, target, self.options.calls)

                def single():
                    for _ in range(self.options.calls):
                        self.call(collective, source, target)

                row = {"collective": collective, "bytes": size}
                for name, run in (("eager", single), ("graph", graph.replay)):
                    for _ in range(3):
                        run()
                    times = []
                    for _ in range(repetitions):
                        torch.cuda.synchronize()
                        self.dist.barrier()
                        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
                        start.record()
                        run()
                        end.record()
                        torch.cuda.synchronize()
                        times.append(start.elapsed_time(end) * 1000 / self.options.calls)
                    row[name] = times
                rows.append(row)
                del graph
        return rows

    def death(self):
        """Rank 1 is killed; how long the others take to end is the parent's to see."""
        value = self.torch.ones(1024, device="cuda")
        for turn in range(1000):
            self.dist.all_reduce(value)
            self.torch.cuda.synchronize()
            if turn == 20 and self.rank == 1:
                print(f"killed {time.time()}", flush=True)
                os.kill(os.getpid(), signal.SIGKILL)
        return []


def run_rank(options):
    rank = Rank(options)
    rows = getattr(rank, options.part)()
    pathlib.Path(f"{options.out}.{rank.rank}").write_text(json.dumps(rows))
    rank.dist.destroy_process_group()


# ---- The parent ----


def start(options, part, preload):
    """Rows of each rank, exit codes, and what was said on standard error."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with tempfile.TemporaryDirectory() as folder:
        out, processes, logs = f"{folder}/rows", [], []
        for rank in range(options.ranks):
            environment = dict(os.environ, RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(options.ranks),
                               LOCAL_WORLD_SIZE=str(options.ranks), MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port),
                               NCCL_NVLS_ENABLE="0", TORCH_NCCL_ASYNC_ERROR_HANDLING="1",
                               TORCH_NCCL_USE_COMM_NONBLOCKING="0")
            if preload:
                environment["LD_PRELOAD"] = str(pathlib.Path(options.library).resolve())
                environment["HEDDLE_NCCL_LOG"] = "calls" if part == "check" else "off"
            log = open(f"{folder}/log.{rank}", "w+")
            logs.append(log)
            processes.append(subprocess.Popen([sys.executable, __file__, *sys.argv[1:], "--part", part, "--out", out],
                                              env=environment, stdout=log, stderr=subprocess.STDOUT,
                                              start_new_session=True))
        end, codes = time.time() + options.timeout, []
        for process in processes:
            try:
                codes.append(process.wait(max(0.1, end - time.time())))
            except subprocess.TimeoutExpired:
                codes.append("timeout")
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        finished = time.time()
        texts = []
        for log in logs:
            log.seek(0)
            texts.append(log.read())
            log.close()
        rows = []
        for rank in range(options.ranks):
            path = pathlib.Path(f"{out}.{rank}")
            rows.append(json.loads(path.read_text()) if path.exists() else [])
        return {"rows": rows, "codes": codes, "logs": texts, "finished": finished}


def slowest(starts, kind):
    """Median time of each (collective, bytes): over repetitions, of the slowest rank; the best of the starts."""
    best = {}
    for each in starts:
        for ranks in zip(*each["rows"]):
            key = ranks[0]["collective"], ranks[0]["bytes"]
            median = statistics.median(max(times) for times in zip(*(row[kind] for row in ranks)))
            best[key] = min(median, best.get(key, median))
    return best


def complain(each, what):
    print(f"{what}: exit codes {each['codes']}")
    for rank, text in enumerate(each["logs"]):
        print(f"--- rank {rank}, last lines\n" + "\n".join(text.splitlines()[-25:]))


def check(options, report):
    faults = 0
    for preload in (False, True):
        name = "heddle before nccl" if preload else "nccl"
        each = start(options, "check", preload)
        wrong = sum(row["wrong"] for rank in each["rows"] for row in rank)
        fails = any(each["codes"]) or not all(each["rows"])
        print(f"{name}: {sum(len(rank) for rank in each['rows'])} checks, #wrong {wrong}")
        if fails:
            complain(each, name)
        faults += fails or wrong > 0
        if preload:
            served = collections.Counter((call, int(size), who, how) for call, size, _, who, how in CALL.findall(each["logs"][0]))
            report["served"] = [[*key, count] for key, count in sorted(served.items())]
            for (call, size, who, how), count in sorted(served.items()):
                print(f"  {call:14} {size:>10} bytes: {who:6} {how} ({count} calls)")
            if not any(key[2] == "heddle" for key in served):
                print("  no call was Heddle's: " + "; ".join(line for line in each["logs"][0].splitlines() if "heddle_nccl" in line)[:500])
                faults += 1
    return faults


def measure(options, report):
    plain, shim, faults = [], [], 0
    for _ in range(options.rounds):
        for preload, into in ((False, plain), (True, shim)):
            into.append(start(options, "time", preload))
            if any(into[-1]["codes"]) or not all(into[-1]["rows"]):
                complain(into.pop(), "times " + ("with" if preload else "without"))
                faults += 1
    if not plain or not shim:
        return faults + 1
    print(f"{'collective':16}{'bytes':>12}" + "".join(f"{kind + ' ' + who:>16}" for kind in ("eager", "graph") for who in
                                                     ("nccl us", "heddle us", "ratio")))
    report["times"], slower = [], 0
    numbers = {kind: (slowest(plain, kind), slowest(shim, kind)) for kind in ("eager", "graph")}
    for key in numbers["graph"][0]:
        text, row = f"{key[0]:16}{key[1]:>12}", {"collective": key[0], "bytes": key[1]}
        for kind, (before, after) in numbers.items():
            ratio = before[key] / after[key]
            row[kind] = {"nccl": before[key], "heddle": after[key], "ratio": ratio}
            text += f"{before[key]:>16.2f}{after[key]:>16.2f}{ratio:>16.3f}"
            slower += ratio < 1 / (1 + options.noise)
        report["times"].append(row)
        print(text)
    print(f"slower by more than {options.noise:.0%}: {slower} of {2 * len(report['times'])}")
    return faults + (slower > 0)


def death(options, report):
    """With the library, a killed rank ends the others' collectives at once."""
    for preload in (False, True):
        each = start(argparse.Namespace(**{**vars(options), "timeout": 100}), "death", preload)
        killed = re.search(r"killed ([\d.]+)", "".join(each["logs"]))
        seconds = each["finished"] - float(killed[1]) if killed else None
        name = "heddle before nccl" if preload else "nccl"
        report[f"death, {name}"] = {"seconds": seconds, "codes": each["codes"]}
        words = next((line for line in each["logs"][0].splitlines() if "is gone" in line), "")
        print(f"{name}: rank 1 killed, the others ended {seconds if seconds is None else round(seconds, 2)} s later, "
              f"exit codes {each['codes']} {words[:200]}")
    return 0


def main():
    options = arguments()
    if options.part:
        return run_rank(options)
    if not pathlib.Path(options.library).exists():
        sys.exit(f"{options.library} is not there: `./dev build` makes it, or give `--library`")
    report = {"ranks": options.ranks, "dtype": options.dtype}
    faults = 0
    parts = {"check": check, "time": measure, "death": death}
    unknown = set(options.parts.split(",")) - set(parts)
    if unknown:
        sys.exit(f"--parts {options.parts}: {', '.join(sorted(unknown))} is not among {', '.join(parts)}")
    for part in options.parts.split(","):
        faults += parts[part](options, report)
        sys.stdout.flush()
        if options.json:
            pathlib.Path(options.json).write_text(json.dumps(report, indent=1))
    print("OK" if not faults else f"{faults} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
