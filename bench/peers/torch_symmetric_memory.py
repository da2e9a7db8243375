#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""PyTorch's collectives beside Heddle's: symmetric memory (one shot, two shots) and NCCL through torch.distributed.

One process for each GPU. As in `heddle bench -G`, the calls are captured in a CUDA graph; each replay follows a few calls
that bring the ranks together, and is timed by events of the stream; a row is the median over the replays of the slowest
rank's time, per call. No NVLink multicast: neither `multimem` operations nor NVLS.

    python3 bench/peers/torch_symmetric_memory.py --sizes 1K:64M:4 --devices 4 > torch.csv
"""

import argparse
import os
import re
import socket
import statistics
import sys
from datetime import timedelta

# They are read when the first memory is made, in processes that inherit them.
SETTINGS = {
    "NCCL_NVLS_ENABLE": "0",
    "TORCH_SYMM_MEM_DISABLE_MULTICAST": "1",
    "TORCH_SYMMMEM": "CUDA",
    "TORCH_SYMMMEM_IMPLICIT_POOL": "0",  # one allocation, at its own address
}
GATHERING_CALLS = 4
PART_BYTES = 16  # parts are rounded down to it, as in `heddle bench`
SYMMETRIC = ("one_shot_all_reduce", "two_shot_all_reduce")
NCCL = ("nccl_all_reduce", "nccl_all_gather", "nccl_reduce_scatter", "nccl_all_to_all")


class Refusal(Exception):
    """What the user is told: a message, the next step, an exit code."""

    def __init__(self, message, note, code=2):
        super().__init__(message)
        self.note, self.code = note, code


def say(text):
    print(text, file=sys.stderr, flush=True)


def parse_size(text):
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([KMG]?)", text.upper())
    if not match or float(match[1]) <= 0:
        raise Refusal(f"`{text}` is no size in bytes", "a size is a number, or one with K, M or G after it, as 64K")
    return int(float(match[1]) * 1024 ** " KMG".index(match[2] or " "))


def parse_sizes(words):
    """`1K 64K`, `1K,64K`, or `1K:64M:4` for a first, a last and a factor."""
    sizes = []
    for word in ",".join(words).split(","):
        if ":" not in word:
            sizes.append(parse_size(word))
            continue
        parts = word.split(":")
        if len(parts) != 3 or not parts[2].isdigit() or int(parts[2]) < 2:
            raise Refusal(f"`{word}` is no range of sizes", "a range is FIRST:LAST:FACTOR, as 1K:64M:4")
        size, last = parse_size(parts[0]), parse_size(parts[1])
        while size <= last:
            sizes.append(size)
            size *= int(parts[2])
    if not sizes:
        raise Refusal("there are no sizes", "the last of a range is not below the first")
    return sizes


def parse_arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    parser.add_argument("--sizes", nargs="+", default=["1K:64M:4"], metavar="SIZE", help="bytes that a rank has in all, "
                        "parts included: 64K, or FIRST:LAST:FACTOR; default 1K:64M:4")
    parser.add_argument("--devices", type=int, default=4, help="GPUs, and processes; default 4")
    parser.add_argument("--dtype", choices=("f32", "bf16"), default="f32", help="default f32")
    parser.add_argument("--impl", nargs="+", choices=SYMMETRIC + NCCL, default=SYMMETRIC + NCCL, metavar="NAME",
                        help=f"default all: {', '.join(SYMMETRIC + NCCL)}")
    parser.add_argument("--iterations", type=int, default=20, help="calls in a graph; default 20")
    parser.add_argument("--replays", type=int, default=50, help="of the graph, that are timed; default 50")
    parser.add_argument("--warmup", type=int, default=5, help="calls, and then replays, before; default 5")
    parser.add_argument("--timeout", type=float, default=120, help="seconds that ranks wait for each other; default 120")
    arguments = parser.parse_args()
    for name in ("devices", "iterations", "replays"):
        if getattr(arguments, name) < 1:
            raise Refusal(f"`--{name} {getattr(arguments, name)}`: at least 1", "`--help` shows the options")
    if arguments.warmup < 1 or arguments.timeout <= 0:
        raise Refusal("`--warmup` is at least 1 and `--timeout` above 0",
                      "NCCL makes its connections in the first calls, which cannot be captured")
    arguments.sizes = parse_sizes(arguments.sizes)
    return arguments


def import_torch():
    try:
        import torch
        import torch.distributed  # pylint: disable=unused-import
    except ImportError as error:
        raise Refusal(f"PyTorch cannot be imported: {error}", "install torch 2.11 or newer with CUDA", 3) from error
    return torch


def check_machine(torch, arguments):
    if not torch.cuda.is_available():
        raise Refusal("PyTorch sees no GPU", "is a GPU in this machine, and was torch built with CUDA", 3)
    count = torch.cuda.device_count()
    if count < arguments.devices:
        raise Refusal(f"{arguments.devices} GPUs are asked for, PyTorch sees {count}", "give a smaller `--devices`", 3)
    if not torch.distributed.is_available() or not torch.distributed.is_nccl_available():
        raise Refusal("this PyTorch was built without torch.distributed or without NCCL", "install one with both", 3)


class Collectives:
    """The operations of one rank. `size` is bytes as in `heddle bench`; each gives a call, its output and its bytes."""

    def __init__(self, torch, arguments, rank):
        self.torch, self.distributed, self.rank = torch, torch.distributed, rank
        self.ranks = arguments.devices
        self.dtype = {"f32": torch.float32, "bf16": torch.bfloat16}[arguments.dtype]
        self.device = torch.device("cuda", rank)
        largest = max(self.elements(max(arguments.sizes), 1), PART_BYTES)
        self.first = torch.zeros(largest, dtype=self.dtype, device=self.device)
        self.second = torch.zeros(largest, dtype=self.dtype, device=self.device)
        self.group = self.distributed.group.WORLD.group_name
        self.symmetric = None
        self.problem = ""
        if any(name in SYMMETRIC for name in arguments.impl):
            self.open_symmetric_memory(largest)

    def elements(self, size, parts):
        """Of one part."""
        return size // parts // PART_BYTES * PART_BYTES // self.dtype.itemsize

    def open_symmetric_memory(self, largest):
        """All ranks have it or none."""
        try:
            import torch.distributed._symmetric_memory as symmetric_memory

            memory = symmetric_memory.empty(largest, dtype=self.dtype, device=self.device)
            symmetric_memory.rendezvous(memory, self.group)
            memory.zero_()
        except Exception as error:  # pylint: disable=broad-exception-caught
            self.problem = f"{type(error).__name__}: {error}".splitlines()[0]
            memory = None
        have = self.torch.tensor([1 if memory is not None else 0], device=self.device)
        self.distributed.all_reduce(have, op=self.distributed.ReduceOp.MIN)
        if have.item():
            self.symmetric = memory
        elif not self.problem:
            self.problem = "another rank could not open it"

    # Each of these returns (call, input, output, bytes): `call` runs the collective on the current stream.

    def one_shot_all_reduce(self, size):
        memory = self.symmetric[: self.elements(size, 1)]
        return self.reduce_into_new(memory), memory, None, memory.nbytes

    def reduce_into_new(self, memory):
        return lambda: self.torch.ops.symm_mem.one_shot_all_reduce(memory, "sum", self.group)

    def two_shot_all_reduce(self, size):
        memory = self.symmetric[: self.elements(size, 1)]
        call = lambda: self.torch.ops.symm_mem.two_shot_all_reduce_(memory, "sum", self.group)
        return call, memory, memory, memory.nbytes

    def nccl_all_reduce(self, size):
        memory = self.first[: self.elements(size, 1)]
        return lambda: self.distributed.all_reduce(memory), memory, memory, memory.nbytes

    def nccl_all_gather(self, size):
        part = self.elements(size, self.ranks)
        memory, output = self.first[:part], self.second[: part * self.ranks]
        return lambda: self.distributed.all_gather_into_tensor(output, memory), memory, output, output.nbytes

    def nccl_reduce_scatter(self, size):
        part = self.elements(size, self.ranks)
        memory, output = self.first[: part * self.ranks], self.second[:part]
        return lambda: self.distributed.reduce_scatter_tensor(output, memory), memory, output, memory.nbytes

    def nccl_all_to_all(self, size):
        part = self.elements(size, self.ranks)
        memory, output = self.first[: part * self.ranks], self.second[: part * self.ranks]
        return lambda: self.distributed.all_to_all_single(output, memory), memory, output, memory.nbytes

    def is_right(self, name, call, memory, output):
        """Every rank puts in its number + 1; small numbers, which every type has."""
        memory.fill_(self.rank + 1)
        self.torch.cuda.synchronize()
        self.distributed.barrier()
        result = call()
        seen = result if output is None else output
        if name in ("nccl_all_gather", "nccl_all_to_all"):
            wanted = self.torch.arange(1, self.ranks + 1, device=self.device).repeat_interleave(
                seen.numel() // self.ranks)
        else:
            wanted = self.torch.full_like(seen, self.ranks * (self.ranks + 1) // 2)
        right = self.torch.tensor([1 if bool((seen == wanted).all()) else 0], device=self.device)
        self.distributed.all_reduce(right, op=self.distributed.ReduceOp.MIN)
        memory.zero_()  # sums of sums would grow
        self.torch.cuda.synchronize()
        self.distributed.barrier()
        return bool(right.item())


def capture(torch, call, count):
    graph = torch.cuda.CUDAGraph()
    # A thread of torch.distributed asks about events meanwhile.
    with torch.cuda.graph(graph, capture_error_mode="thread_local"):
        for _ in range(count):
            call()
    return graph


def time_calls(torch, arguments, call):
    """Microseconds of one call in each replay, on the slowest rank."""
    distributed = torch.distributed
    for _ in range(arguments.warmup):
        call()
    torch.cuda.synchronize()
    distributed.barrier()
    torch.cuda.synchronize()
    gathering, timed = capture(torch, call, GATHERING_CALLS), capture(torch, call, arguments.iterations)
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    times = []
    for replay in range(arguments.warmup + arguments.replays):
        distributed.barrier()
        torch.cuda.synchronize()
        gathering.replay()
        start.record()
        timed.replay()
        end.record()
        torch.cuda.synchronize()
        if replay >= arguments.warmup:
            times.append(start.elapsed_time(end) * 1e3 / arguments.iterations)
    slowest = torch.tensor(times, dtype=torch.float64, device=torch.device("cuda", torch.cuda.current_device()))
    distributed.all_reduce(slowest, op=distributed.ReduceOp.MAX)
    values = slowest.tolist()
    # NCCL waits for ever for graphs that still hold its calls.
    del gathering, timed
    torch.cuda.synchronize()
    return values


def measure(torch, arguments, collectives, name, size):
    """One line of the table; false when a result is wrong."""
    if name in SYMMETRIC and collectives.symmetric is None:
        return True
    call, memory, output, bytes_in_all = getattr(collectives, name)(size)
    if memory.numel() == 0:
        if collectives.rank == 0:
            say(f"{name}: {size} bytes leave no part of {PART_BYTES} bytes to each rank")
        return True
    if not collectives.is_right(name, call, memory, output):
        if collectives.rank == 0:
            say(f"error: {name} of {bytes_in_all} bytes gave a wrong result")
        return False
    times = time_calls(torch, arguments, call)
    if collectives.rank == 0:
        print(f"{name},{bytes_in_all},{statistics.median(times):.3f}", flush=True)
    return True


def run_rank(rank, arguments, port):
    """What each process does. It ends without Python's and NCCL's farewells, which may wait for ever."""
    torch = import_torch()
    torch.cuda.set_device(rank)
    torch.distributed.init_process_group(
        "nccl",
        init_method=f"tcp://127.0.0.1:{port}",
        rank=rank,
        world_size=arguments.devices,
        timeout=timedelta(seconds=arguments.timeout),
        device_id=torch.device("cuda", rank),
    )
    torch.distributed.barrier()
    collectives = Collectives(torch, arguments, rank)
    if rank == 0:
        version = ".".join(str(part) for part in torch.cuda.nccl.version())
        say(f"# torch {torch.__version__}, NCCL {version}, {arguments.devices} x {torch.cuda.get_device_name(0)}, "
            f"{arguments.dtype}; graphs of {arguments.iterations} calls, {arguments.replays} replays; "
            + ", ".join(f"{name}={value}" for name, value in SETTINGS.items()))
        if collectives.problem:
            say(f"error: symmetric memory cannot be opened: {collectives.problem}\n"
                "note: its rows are left out; it needs GPUs that reach each other, and a container that lets processes "
                "share file descriptors")
        print("impl,bytes,us", flush=True)
    right = True
    for name in arguments.impl:
        for size in arguments.sizes:
            right = measure(torch, arguments, collectives, name, size) and right
    torch.cuda.synchronize()
    torch.distributed.barrier()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0 if right and not collectives.problem else 1)


def free_port():
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        return server.getsockname()[1]


def main():
    arguments = parse_arguments()
    os.environ.update(SETTINGS)
    torch = import_torch()
    check_machine(torch, arguments)
    import torch.multiprocessing as multiprocessing

    try:
        multiprocessing.spawn(run_rank, args=(arguments, free_port()), nprocs=arguments.devices, join=True)
    except multiprocessing.ProcessExitedException as error:
        return error.exit_code if error.exit_code and error.exit_code > 0 else 1
    except multiprocessing.ProcessRaisedException as error:
        raise Refusal(f"a rank failed:\n{error}", "NCCL_DEBUG=WARN in the environment lets NCCL say more", 3) from error
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Refusal as refusal:
        say(f"error: {refusal}\nnote: {refusal.note}")
        sys.exit(refusal.code)
