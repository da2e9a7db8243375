# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""heddle.collectives between real processes on the host: every collective, out-variants, kinds of arrays, and what the others
get when a rank is killed, fails, or calls something else."""
import itertools
import multiprocessing
import os
import signal
import tempfile
import time
import unittest

import heddle
from heddle.collectives import Communicator, CustomAllreduce, _address_towards

try:
    import numpy
except ImportError:
    numpy = None
try:
    import torch
    import torch.distributed
except ImportError:
    torch = None

_numbers = itertools.count()
LONGEST = 60


def _run(work, rank, size, address, pipe):
    try:
        pipe.send(work(rank, size, address))
    except heddle.Error as problem:
        pipe.send(f"{type(problem).__name__}: {problem}")
    except BaseException as problem:
        pipe.send(f"unexpected {problem!r}")


class Ranks:
    """A process for each rank. `results` waits for what they return, None for one that was killed."""

    def __init__(self, size, work):
        context = multiprocessing.get_context("spawn")
        address = f"unix:@heddle-python-test-{os.getpid()}-{next(_numbers)}"
        self.processes, self.pipes = [], []
        for rank in range(size):
            mine, theirs = context.Pipe()
            process = context.Process(target=_run, args=(work, rank, size, address, theirs), daemon=True)
            process.start()
            theirs.close()
            self.processes.append(process)
            self.pipes.append(mine)

    def receive(self, rank):
        if not self.pipes[rank].poll(LONGEST):
            return f"rank {rank} said nothing"
        try:
            return self.pipes[rank].recv()
        except EOFError:
            return None

    def results(self):
        said = [self.receive(rank) for rank in range(len(self.pipes))]
        for process in self.processes:
            process.join(LONGEST)
            if process.is_alive():
                process.kill()
        return said


def every_collective(rank, size, address):
    ones = numpy.ones(6 * size, numpy.float32) * (rank + 1)
    total = size * (size + 1) / 2
    with Communicator.connect(address, rank, size) as group:
        assert (group.all_reduce(ones) == total).all()
        assert group.all_reduce(ones, out=ones) is ones and (ones == total).all()
        mine = numpy.arange(4, dtype=numpy.int64).reshape(2, 2) + 10 * rank
        gathered = group.all_gather(mine)
        assert gathered.shape == (2 * size, 2)
        assert (gathered == numpy.concatenate([mine + 10 * (r - rank) for r in range(size)])).all()
        assert (group.all_reduce(mine, "max") == mine + 10 * (size - 1 - rank)).all()
        parts = numpy.arange(3 * size, dtype=numpy.float64) * (rank + 1)
        part = group.reduce_scatter(parts)
        assert (part == numpy.arange(3 * rank, 3 * rank + 3) * total).all(), part
        into = numpy.zeros(3, numpy.float64)
        group.reduce_scatter(parts, out=into)
        assert (into == part).all()
        swapped = group.all_to_all(numpy.arange(2 * size, dtype=numpy.int32) + 100 * rank)
        assert (swapped.reshape(size, 2)[:, 0] == [100 * r + 2 * rank for r in range(size)]).all()
        sent = group.broadcast(mine, root=size - 1)
        assert (sent == mine + 10 * (size - 1 - rank)).all()
        bits = numpy.full(8, 0x3F80, numpy.uint16)  # 1.0 of bf16
        assert (group.all_reduce(bits, dtype="bf16") == (0x4000 if size == 2 else 0x4040)).all()
        assert (group.all_gather(numpy.zeros(0, "f4")).shape) == (0,)
        group.synchronize()
        return group.plan("all_reduce", 4).packets, group.size, group.info["members"][size - 1]["device"]


def in_windows(rank, size, address):
    total, said = size * (size + 1) // 2, []
    with Communicator.connect(address, rank, size) as group:
        window = group.allocate_window(1 << 20, "mine")
        x = window.array((100, 300), offset=256 * rank)  # offsets differ between ranks
        y = window.array(30000, offset=200000)
        x[:] = rank + 1
        assert group.all_reduce(x, out=y.reshape(100, 300), registered=True) is not None and (y == total).all()
        group.all_reduce(y, out=y, algorithm="two_shot_direct", registered=True)
        assert (y == size * total).all()
        other = group.allocate_window(size * 4000 * 8)
        parts, gathered = window.array(4000, "i64", offset=400000), other.array(size * 4000, "i64")
        parts[:] = rank
        group.all_gather(parts, out=gathered, algorithm="gather_direct_push", registered=True)
        assert (gathered.reshape(size, 4000) == numpy.arange(size)[:, None]).all()
        for bad in (lambda: group.all_reduce(x, registered=True),  # its result would be a new array
                    lambda: group.all_reduce(y, out=y, algorithm="two_shot_direct"),
                    lambda: window.array(1 << 18, offset=4),
                    lambda: group.all_reduce((x.reshape(-1) if rank else gathered.view("f4"))[:10], out=y[:10],
                                             registered=True),
                    lambda: group.register(numpy.zeros(100, "f4")),
                    lambda: group.allocate_window(100 + 4 * rank),
                    lambda: (window.deregister(), window.deregister()),
                    lambda: group.all_reduce(y, out=y, registered=True)):
            try:
                bad()
                said.append("no error")
            except heddle.InputError as problem:
                said.append(str(problem))
        assert (y == size * total).all() and not window.is_registered and other.is_registered  # the memory stays
        assert (group.all_reduce(numpy.ones(3, "f4")) == size).all()
    return said


def own_arrays(rank, size, address):
    def gather(mine, seconds):  # over the address, as a program's own store would
        return store.all_gather_bytes(mine)
    from multiprocessing.connection import Client, Listener
    store = _Store(rank, size, address, Listener, Client)
    with Communicator.from_callback(rank, size, gather) as group:
        return group.all_reduce(heddle.Array("f32", 3, heddle.rand(3, "f32", seed=1).data)).tolist()


class _Store:
    """Rank 0 gathers for all: what MPI or a key-value store is to a program."""

    def __init__(self, rank, size, address, listener, client):
        self.rank, self.size = rank, size
        name = "\0" + address
        if rank == 0:
            with listener(name, "AF_UNIX") as door:
                self.links = {link.recv(): link for link in (door.accept() for _ in range(size - 1))}
            return
        for _ in range(200):
            try:
                self.link = client(name, "AF_UNIX")
                break
            except OSError:
                time.sleep(0.05)
        self.link.send(rank)

    def all_gather_bytes(self, mine):
        if self.rank:
            self.link.send(mine)
            return self.link.recv()
        texts = [mine] + [self.links[rank].recv() for rank in range(1, self.size)]
        for link in self.links.values():
            link.send(texts)
        return texts


def fused_norm(rank, size, address):
    random = numpy.random.default_rng(5)
    parts = random.standard_normal((size, 6, 96), numpy.float32)
    residual, weight = random.standard_normal((6, 96), numpy.float32), random.standard_normal(96, numpy.float32)
    total = parts.sum(axis=0) + residual
    normal = total / numpy.sqrt((total * total).mean(axis=1, keepdims=True) + 1e-5)
    with Communicator.connect(address, rank, size) as group:
        for _ in range(2):
            rows, added = group.all_reduce_rms_norm(parts[rank], residual, weight, 1e-5)
            assert numpy.abs(added - total).max() < 1e-5 and numpy.abs(rows - normal * weight).max() < 1e-5
        rows, same = group.all_reduce_rms_norm(parts[rank], residual, eps=1e-5, residual_out=residual)
        assert same is residual and numpy.abs(rows - normal).max() < 1e-5 and numpy.abs(residual - total).max() < 1e-5
        bits = (parts[rank].view(numpy.uint32) >> 16).astype(numpy.uint16)  # of bf16
        rows, _ = group.all_reduce_rms_norm(bits, numpy.zeros_like(bits), dtype="bf16")
        kept = (rows.astype(numpy.uint32) << 16).view(numpy.float32)
        plain = parts.sum(axis=0)
        plain /= numpy.sqrt((plain * plain).mean(axis=1, keepdims=True))
        assert numpy.abs(kept - plain).max() < 0.05
        text = ("HloModule m, replica_count=%d\nadd { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT c = f32[] add(a, b) }\n"
                "ENTRY main { p = f32[64] parameter(0)\n t = f32[64] all-reduce(p), replica_groups={}, to_apply=add\n"
                "ROOT n = f32[64] negate(t) }" % size)
        result = numpy.empty(64, numpy.float32)
        group.module(text, [numpy.ones(64, numpy.float32), result])
        assert (result == -size).all()
        texts = []
        for call in (lambda: group.all_reduce_rms_norm(parts[rank], residual[:3]),
                     lambda: group.all_reduce_rms_norm(parts[rank], residual, out=parts[rank]),
                     lambda: group.all_reduce_rms_norm(parts[rank][:, :8].copy(), residual[:, :8].copy()),
                     lambda: group.module(text, [numpy.ones(63, numpy.float32), result])):
            try:
                call()
            except heddle.InputError as problem:
                texts.append(problem.message)
        return texts


FIXED = {"hosts": 2, "host_model": "10,3000,50,1000"}  # measured times would choose other plans on other days


def fold(parts):
    """In the order of the parts, in f32, rounded to their type at the end."""
    total = parts[0].astype("f4")
    for part in parts[1:]:
        total = total + part.astype("f4")
    return total.astype(parts[0].dtype)


def between_hosts(rank, size, address):
    random = numpy.random.default_rng(3)
    said = []
    for dtype in ("f4", "f2"):
        x = (random.standard_normal((size, 3000)) * 2.0 ** random.integers(-6, 6, (size, 3000))).astype(dtype)
        total = fold([fold(x[:2]), fold(x[2:])])
        assert (total != fold(x)).any()  # another order has other bits
        for transport in ("loopback", "tcp"):
            # Over TCP as mpi4py's communicator brings ranks together.
            store = transport == "tcp" and _Store(rank, size, f"{address}-{dtype}", *_connection())
            group = Communicator.from_mpi(_Comm(store), transport=transport, **FIXED) if store else \
                Communicator.connect(f"{address}-{dtype}-{transport}", rank, size, transport=transport, **FIXED)
            with group:
                assert group.hosts == 2 and group.info["ranksPerHost"] == 2
                assert (group.all_reduce(x[rank]) == total).all()
                mine = x[rank].copy()
                assert group.all_reduce(mine, out=mine) is mine and (mine == total).all()
                assert (group.all_gather(x[rank]) == x.reshape(-1)).all()
                assert (group.reduce_scatter(x[rank]) == total.reshape(size, -1)[rank]).all()
                swapped = group.all_to_all(x[rank])
                assert (swapped == numpy.concatenate([x[r].reshape(size, -1)[rank] for r in range(size)])).all()
                said.append((group.info["transport"], group.plan("all_reduce", 3000, x.dtype).algorithm))
    return said


class _Comm:
    """What a communicator of mpi4py is to Heddle."""

    def __init__(self, store):
        self.Get_rank, self.Get_size = lambda: store.rank, lambda: store.size
        self.allgather = store.all_gather_bytes


def _connection():
    from multiprocessing.connection import Client, Listener
    return Listener, Client


def hosts_lack(rank, size, address):
    x, texts = numpy.ones(64, "f4"), []
    with Communicator.connect(address, rank, size, **FIXED) as group:
        for call in (lambda: group.broadcast(x), lambda: group.allocate_window(64), lambda: group.register(x),
                     lambda: group.all_reduce(x, registered=True), lambda: group.all_reduce_rms_norm(x, x),
                     lambda: group.module("HloModule m", [x]), lambda: group.all_reduce(x, algorithm="one_shot_pull")):
            try:
                call()
                texts.append("no error")
            except heddle.InputError as problem:
                texts.append(problem.message)
        assert (group.all_reduce(x) == size).all()  # none of these was a call
    for wrong in ({"hosts": 9}, {"hosts": 2, "transport": "smoke"}, {"hosts": -1}):
        try:
            Communicator.connect(address + "-", rank, size, **wrong)
        except heddle.InputError as problem:
            texts.append(problem.message)
    return texts


def waits_for_a_killed_rank_of_another_host(rank, size, address):
    group = Communicator.connect(address, rank, size, **FIXED)
    array = heddle.rand(64, "f32", seed=rank)
    group.all_reduce(array)
    if rank == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    while True:
        group.all_reduce(array)


def bad_callback(rank, size, address):
    def gather(mine, seconds):
        raise KeyError("the store is away")
    try:
        Communicator.from_callback(rank, size, gather)
    except KeyError as problem:
        return str(problem)


def waits_for_a_killed_rank(rank, size, address):
    group = Communicator.connect(address, rank, size)
    array = heddle.rand(64, "f32", seed=rank)
    group.all_reduce(array)
    if rank == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    group.all_reduce(array)


def fails_in_its_own_code(rank, size, address):
    array = heddle.rand(64, "f32", seed=rank)
    with Communicator.connect(address, rank, size) as group:
        group.all_reduce(array)
        if rank == 1:
            raise heddle.InputError("its data are missing")
        group.all_reduce(array)


def calls_something_else(rank, size, address):
    with Communicator.connect(address, rank, size) as group:
        group.all_gather(heddle.rand(8 + rank, "f32"))


def bad_calls(rank, size, address):
    texts = []
    group = Communicator.connect(address, rank, size)
    array = heddle.rand(5, "f32")
    for call in (lambda: group.all_reduce(array, "average"), lambda: group.reduce_scatter(array),
                 lambda: group.all_reduce(3.0), lambda: group.all_reduce(array, out=heddle.zeros(4)),
                 lambda: group.all_reduce(array, out=b"12345678901234567890"), lambda: group.broadcast(array, root=7),
                 lambda: group.all_reduce(array, "and"), lambda: group.all_reduce(array, dtype="f64"),
                 lambda: group.all_reduce(array, algorithm="two_shot"), lambda: group.plan("reduce", 4)):
        try:
            call()
            texts.append("no error")
        except heddle.InputError as problem:
            texts.append(problem.message)
    same = group.all_reduce(array).tolist()  # none of these was a call
    group.close()
    group.close()
    try:
        group.all_reduce(array)
    except heddle.InputError as problem:
        texts.append(problem.message)
    return texts if len(same) == 5 else "no result"


def on_tensors(rank, size, address):
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")  # the host's name need not lead to an interface
    torch.distributed.init_process_group("gloo", init_method=f"file://{tempfile.gettempdir()}/{address[6:]}", rank=rank, world_size=size)
    tensor = torch.full((4,), float(rank + 1), dtype=torch.bfloat16)
    custom = CustomAllreduce(torch.distributed.group.WORLD, "cpu")
    assert not custom.disabled, custom.reason
    with custom.capture():
        total = custom.custom_all_reduce(tensor)
    assert custom.custom_all_reduce(torch.zeros(1 << 20)) is None  # no packets on the host
    assert not custom.should_custom_ar(torch.zeros(4, 4).t()[:, :2])
    custom.close()
    with Communicator.from_torch() as group:
        parts = group.reduce_scatter(torch.arange(2 * size), torch.distributed.ReduceOp.SUM)
    torch.distributed.destroy_process_group()
    return total.tolist(), parts.tolist(), custom.should_custom_ar(tensor)


class Collectives(unittest.TestCase):
    @unittest.skipUnless(numpy, "NumPy is not installed")
    def test_every_collective_on_numpy(self):
        for size in (2, 3):
            self.assertEqual(Ranks(size, every_collective).results(), [("lamport", size, f"host:{size - 1}")] * size)

    @unittest.skipUnless(numpy, "NumPy is not installed")
    def test_windows(self):
        wanted = [r"`out` of 120000 bytes at 0x\w+ is in no window", "reaches into the operands of other ranks",
                  "from byte 4 on has 1048576 bytes, and the window has 1048576", "prepares something else than rank 0",
                  "share: address 0x|share: .* ordinary memory", r"asks for window 2 of 104 bytes, rank 0 .* of 100 bytes",
                  "the window is not registered", r"the array of 120000 bytes at 0x\w+ is in no window"]
        for size in (2, 3):
            for said in Ranks(size, in_windows).results():
                self.assertEqual(len(said), len(wanted), said)
                for text, pattern in zip(said, wanted):
                    self.assertRegex(text, pattern)

    def test_own_arrays_over_a_callback(self):
        once = heddle.rand(3, "f32", seed=1).tolist()
        self.assertEqual(Ranks(2, own_arrays).results(), [[2 * value for value in once]] * 2)

    @unittest.skipUnless(numpy, "NumPy is not installed")
    def test_fused_norm_and_modules(self):
        for said in Ranks(2, fused_norm).results() + Ranks(3, fused_norm).results():
            self.assertEqual(len(said), 4, said)
            for text, words in zip(said, (r"array 1 is f32\[3, 96\], and f32\[6, 96\]", "`out` is the array itself",
                                          "takes . launches, and one", r"arrays of \[256, 256\] bytes, and .* \[252, 256\]")):
                self.assertRegex(text, words)

    @unittest.skipUnless(numpy, "NumPy is not installed")
    def test_between_hosts(self):
        said = [(transport, "hosts_whole") for transport in ("unix sockets", "TCP")] * 2
        self.assertEqual(Ranks(4, between_hosts).results(), [said] * 4)

    @unittest.skipUnless(numpy, "NumPy is not installed")
    def test_what_hosts_do_not_have(self):
        wanted = ["^broadcast is for ranks of one host, and these are on 2$", "^windows are for ranks of one host, .* 2 hosts of 2",
                  "^windows are for", "is in no window", "^modules, and code that is fused into collectives, are for ranks of one",
                  "^modules, ", "an all-reduce between hosts has no algorithm `one_shot_pull`", "9 hosts for 4 ranks",
                  "no transport `smoke`", "`hosts` is -1, and an integer from 0"]
        for said in Ranks(4, hosts_lack).results():
            self.assertEqual(len(said), len(wanted), said)
            for text, pattern in zip(said, wanted):
                self.assertRegex(text, pattern)

    def test_a_killed_rank_is_named_on_every_host(self):
        ranks = Ranks(4, waits_for_a_killed_rank_of_another_host)
        pid = ranks.processes[1].pid
        for rank, said in enumerate(ranks.results()):
            if rank == 1:
                self.assertIsNone(said)
            else:
                self.assertRegex(said, rf"^DeviceError: rank 1 \(host:1, pid {pid}\) is gone")

    def test_an_exception_of_the_callback_comes_out(self):
        self.assertEqual(Ranks(1, bad_callback).results(), ["'the store is away'"])

    def test_a_killed_rank_is_named(self):
        ranks = Ranks(3, waits_for_a_killed_rank)
        pid = ranks.processes[1].pid
        for rank, said in enumerate(ranks.results()):
            if rank == 1:
                self.assertIsNone(said)
            else:
                self.assertRegex(said, rf"^DeviceError: .*rank 1 \(host:1, pid {pid}\) is gone")

    def test_an_exception_of_one_rank_ends_the_calls_of_the_others(self):
        first, second = Ranks(2, fails_in_its_own_code).results()
        self.assertEqual(second, "InputError: its data are missing")
        self.assertRegex(first, r"^DeviceError: .*rank 1 \(host:1, pid \d+\) ended the group: InputError: its data are missing")

    def test_ranks_that_differ(self):
        for said in Ranks(2, calls_something_else).results():
            self.assertRegex(said, r"^InputError: rank 1 \(.*\) prepares something else than rank 0 \(")

    def test_bad_calls_are_no_calls(self):
        wanted = ["no reduction 'average'", r"reduce_scatter of an array of shape \[5\] over 2 ranks", "is float, and an array",
                  r"`out` is f32\[4\], and f32\[5\] is wanted", "`out` is", "broadcast from rank 7",
                  "and of f32 elements", "elements of 4 bytes, and f64 has 8", "two_shot", "no collective 'reduce'",
                  "the communicator is closed"]
        for said in Ranks(2, bad_calls).results():
            self.assertEqual(len(said), len(wanted), said)
            for text, pattern in zip(said, wanted):
                self.assertRegex(text, pattern)

    def test_the_address_towards_a_host(self):
        self.assertEqual(_address_towards("127.0.0.1"), "127.0.0.1")
        self.assertIn(_address_towards("::1"), ("::1", None))  # where there is IPv6
        self.assertIsNone(_address_towards("no name of a host"))

    def test_missing_launcher(self):
        with self.assertRaisesRegex(heddle.Error, "env|rank|launcher"):
            Communicator.env()

    @unittest.skipUnless(torch, "PyTorch is not installed")
    def test_tensors_and_the_class_of_vllm(self):
        self.assertEqual(Ranks(2, on_tensors).results(), [([3.0] * 4, [0, 2], False), ([3.0] * 4, [4, 6], False)])


if __name__ == "__main__":
    unittest.main()
