#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""libheddle_nccl.so before an NCCL between real processes: who served what, results, groups, splits, deaths, and what the
library exports and needs."""
import collections
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

BUILD = pathlib.Path(os.environ.get("HEDDLE_TEST_BUILD", pathlib.Path(__file__).resolve().parents[2] / "build"))
DROP_IN = BUILD / "lib" / "libheddle_nccl.so"
NCCL = BUILD / "test" / "nccl" / "libnccl.so.2"
CALL = re.compile(r"heddle_nccl\[\d+\]: rank (\d+) of (\d+): (\w+) (\d+) bytes, \d+ \w+: (heddle|nccl) \((.*)\)")


class Run:
    """The program with the drop-in before it. `served[rank]` are (call, bytes, who, how), in order."""

    def __init__(self, *words, ranks=2, preload=True, exit_code=0, program="nccl-program", **settings):
        environment = {**os.environ, "HEDDLE_NCCL_LOG": "calls", "HEDDLE_NCCL_DEVICE": "host",
                       "TMPDIR": tempfile.gettempdir(), **settings}
        if preload:
            environment["LD_PRELOAD"] = str(DROP_IN)
        done = subprocess.run([NCCL.parent / program, *words, "--ranks", str(ranks)], env=environment, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120)
        self.out, self.log = done.stdout, done.stderr
        self.served = collections.defaultdict(list)
        for rank, _, call, size, who, how in CALL.findall(self.log):
            self.served[int(rank)].append((call, int(size), who, how))
        assert done.returncode == exit_code, f"exit code {done.returncode}\n{self.out}{self.log}"
        assert "#wrong" not in self.out or set(re.findall(r"#wrong (\d+)", self.out)) == {"0"}, self.out


class DropIn(unittest.TestCase):
    def test_small_calls_are_heddles_and_large_ones_ncclS(self):
        for ranks in (2, 3):
            run = Run("basic", ranks=ranks)
            self.assertEqual(run.out.count("#wrong 0"), 15 * ranks)
            for rank in range(ranks):
                self.assertEqual(run.served[rank], run.served[0])
            self.assertEqual(run.served[0][0], ("AllReduce", 4, "heddle", "one_shot_packets"))
            self.assertIn(("AllGather", 4, "heddle", "gather_packets"), run.served[0])
            self.assertIn(("ReduceScatter", 4, "heddle", "scatter_packets"), run.served[0])
            self.assertIn(("AlltoAll", 4, "heddle", "exchange_packets"), run.served[0])
            self.assertEqual(run.out.count("AlltoAll of 4 bytes: #wrong 0"), ranks)
            self.assertIn(("AllReduce", 240000, "nccl", "too large for packets"), run.served[0])
            self.assertIn(f"rank 0 of {ranks}: communicator: heddle beside nccl", run.log)
            # Two all-gathers are how the ranks find each other.
            own = [call for call, _, who, _ in run.served[0] if who == "nccl"]
            self.assertIn(f"rank 0: NCCL's own: {own.count('AllReduce')} AllReduce, {2 + own.count('AllGather')} AllGather, "
                          f"{own.count('ReduceScatter')} ReduceScatter, {own.count('AlltoAll')} AlltoAll, 3 Broadcast",
                          run.out)

    def test_without_the_drop_in(self):
        run = Run("basic", preload=False)
        self.assertEqual((run.log, run.out.count("#wrong 0")), ("", 30))
        self.assertIn("rank 1: NCCL's own: 3 AllReduce, 3 AllGather, 3 ReduceScatter, 3 AlltoAll, 3 Broadcast", run.out)

    def test_a_limit_in_bytes(self):
        run = Run("basic", HEDDLE_NCCL_BYTES="100000")
        self.assertEqual({who for _, size, who, _ in run.served[0] if size <= 160}, {"heddle"})
        self.assertEqual({how for _, size, _, how in run.served[0] if size > 160}, {"more than HEDDLE_NCCL_BYTES"})
        run = Run("basic", HEDDLE_NCCL_BYTES=str(1 << 20))
        self.assertEqual({who for _, _, who, _ in run.served[0]}, {"heddle"})

    def test_reductions(self):
        for ranks in (2, 3):
            run = Run("reductions", ranks=ranks)
            self.assertEqual(run.out.count("#wrong 0"), 5 * ranks)
            for rank in range(ranks):  # product, minimum, maximum, average, PreMulSum
                self.assertEqual([who for _, _, who, _ in run.served[rank]], ["heddle"] * 3 + ["nccl"] * 2)
            self.assertEqual([how for _, _, _, how in run.served[0][3:]], ["reduction 4", "reduction 5"])

    def test_groups(self):
        run = Run("groups")
        self.assertEqual(run.out.count("#wrong 0"), 8)
        for rank in (0, 1):  # one; two of a communicator; one each of two
            self.assertEqual([who for _, _, who, _ in run.served[rank]], ["heddle", "nccl", "nccl", "heddle", "heddle"])
        self.assertEqual(run.served[0][1][3], "one of several in a group")

    def test_splits(self):
        run = Run("split", ranks=3)
        self.assertEqual(run.out.count("#wrong 0"), 4 * 3 + 4 * 2)
        self.assertIn("rank 0 of 1: communicator: nccl (1 ranks)", run.log)
        self.assertIn("rank 1 of 2: communicator: heddle beside nccl", run.log)

    def test_a_communicator_that_is_made_without_blocking(self):
        run = Run("nonblocking")
        self.assertEqual([who for _, _, who, _ in run.served[0]], ["heddle", "nccl", "nccl"])
        self.assertEqual(run.served[0], run.served[1])

    def test_a_rank_that_dies_is_named(self):
        run = Run("death", ranks=3)
        for rank in (0, 2):
            self.assertRegex(run.out, rf"rank {rank}: death: call 6, later 0: heddle: .*rank 1 \(host:1, pid \d+\) is gone")

    def test_graphs_and_streams_of_cuda(self):
        run = Run("graph", "--device", "cuda", "--no-check", HEDDLE_NCCL_DEVICE="cuda",
                  HEDDLE_CUDA_LIBRARY=str(BUILD / "test" / "fake-cuda.so"))
        for rank in (0, 1):
            self.assertEqual(run.served[rank], [("AllReduce", 160, "heddle", "one_shot_packets")] * 2)
        self.assertIn("NCCL's own: 0 AllReduce, 2 AllGather", run.out)

    def test_what_a_call_asks_of_the_driver(self):
        run = Run("calls", "--device", "cuda", "--no-check", HEDDLE_NCCL_DEVICE="cuda",
                  HEDDLE_CUDA_LIBRARY=str(BUILD / "test" / "fake-cuda.so"))
        asked = {call: collections.Counter(symbols.split())
                 for call, symbols in re.findall(r"rank 0: ([^:]*):((?: cu\w+)+)", run.out)}

        def wanted(scopes, **calls):
            return collections.Counter(cuCtxGetCurrent=scopes, **calls)

        same = wanted(5, cuStreamGetCaptureInfo_v3=2, cuStreamGetId=1, cuLaunchKernel=1, cuEventRecord=1)
        wait = wanted(1, cuStreamWaitEvent=1)  # left out where the stream has the latest record itself
        nccl = wanted(5, cuStreamGetCaptureInfo_v3=2, cuStreamGetId=2, cuEventRecord=1)
        record = wanted(1, cuStreamGetCaptureInfo_v3=1, cuGraphRemoveDependencies_v2=1, cuGraphAddDependencies_v2=1)
        self.assertEqual(asked, {
            "same stream": same, "other stream": same + wait, "NCCL's, same stream": nccl,
            "NCCL's, other stream": nccl + wait, "after NCCL's, same stream": same, "handle used again": same + wait,
            "captured": same - wanted(1, cuStreamGetId=1) + wait + record,
            "after a capture": same + wait, "after it, same stream": same})

    def said(self, scenario, words=(), **options):
        """What the ranks of nccl-faults print of their calls: said[rank][call] is "CODE: TEXT"."""
        run = Run(scenario, *words, program="nccl-faults", **options)
        said = collections.defaultdict(dict)
        for rank, call, text in re.findall(r"rank (\d+): ([a-z ]+): (\d+: .*)", run.out):
            said[int(rank)][call] = text
        return said, run

    def test_a_thread_aborts_what_another_waits_in(self):
        said, _ = self.said("abort-heddle")
        self.assertEqual(said[0], {"call": "6: heddle: its communicator was aborted", "abort": "0: "})
        said, _ = self.said("abort-nccl")
        self.assertEqual((said[0]["call"][:3], said[0]["abort"]), ("6: ", "0: "))
        for _ in range(3):  # at any time: the fake NCCL ends a process that uses a handle after its end
            said, _ = self.said("abort-many")
            self.assertEqual(said, {rank: {"rounds": "0: "} for rank in (0, 1)})
            said, _ = self.said("abort-offer")
            self.assertEqual(said, {rank: {"abort": "0: "} for rank in (0, 1)})

    def test_an_argument_that_is_wrong_on_one_rank(self):
        text = "`output` is 0x0, and the address of 160 bytes of f32 at a multiple of 4 is wanted"
        said, _ = self.said("argument", ranks=3)
        self.assertEqual(said[1]["call"], f"5: heddle: {text}")
        for rank in (0, 2):
            self.assertRegex(said[rank]["call"], rf"6: heddle: rank 1 \(host:1, pid \d+\) ended the group: {text}$")
        for rank in range(3):
            self.assertRegex(said[rank]["state"], f"6: heddle: .*{text}$")

    def test_a_rank_that_ends_without_ncclCommDestroy(self):
        for scenario in ("leave-before-heddle", "leave-before-nccl", "leave-meanwhile"):
            for ranks in (2, 3):
                said, _ = self.said(scenario, ranks=ranks)
                if ranks == 2:  # of more, another may have ended the group already
                    self.assertEqual(said[0]["state before"], "0: ")
                for rank in {0, ranks - 1} - {1}:
                    self.assertRegex(said[rank]["call"], r"6: heddle: .*rank 1 \(host:1, pid \d+\) has left the group "
                                                         r"after 3 launches")
        said, run = self.said("leave-in-turn", ranks=3, HEDDLE_NCCL_LOG="off")
        self.assertEqual((said, run.log), ({rank: {"done": "0: "} for rank in range(3)}, ""))

    def test_ranks_that_do_not_come(self):
        said, run = self.said("silence", words=("--device", "cuda"), HEDDLE_NCCL_DEVICE="cuda", FAKE_NCCL_SILENT="1",
                              HEDDLE_CUDA_LIBRARY=str(BUILD / "test" / "fake-cuda.so"), HEDDLE_NCCL_SETUP="0.3")
        for rank in (0, 1):
            self.assertEqual(said[rank]["init"][:3], "2: ")
            self.assertIn(f"rank {rank} of 2: the other ranks did not exchange what they are within 0.3 s", run.log)
            self.assertIn(f"1024 bytes of device {rank} stay allocated: NCCL may still use them", run.log)

    def test_random_programs_in_random_groups(self):
        for seed in range(1, 4):
            for ranks in (2, 3):
                run = Run("--seed", str(seed), "--units", "60", program="nccl-fuzz", ranks=ranks, HEDDLE_NCCL_SETUP="20")
                self.assertEqual(run.out.count("calls: #wrong 0"), ranks)
                self.assertEqual(run.served[0], run.served[1])  # the last is in fewer communicators
                self.assertEqual({who for _, _, who, _ in run.served[0]}, {"heddle", "nccl"})
                self.assertIn("one of several in a group", {how for _, _, _, how in run.served[0]})

    def test_every_type_and_reduction(self):
        run = Run("--quick", program="nccl-matrix", HEDDLE_NCCL_BYTES="100000")
        self.assertEqual(run.out.count("436 calls: #wrong 0"), 2)
        self.assertEqual({how for _, _, who, how in run.served[0] if who == "nccl"}, {"no elements"})
        self.assertEqual(len([who for _, _, who, _ in run.served[0] if who == "heddle"]), 268)

    def test_the_reasons_are_documented(self):
        root = pathlib.Path(__file__).resolve().parents[2]
        source = "".join((root / "nccl" / name).read_text() for name in ("Entry.cpp", "DropIn.cpp"))
        reasons = re.findall(r'\bno\("(\w[^"]*)"|: "(too large[^"]*)"|\? "(more than[^"]*)"|give\(isSame, "([^"]+)"|'
                             r'performByNccl\(nullptr, call, "([^"]+)"', source)
        reasons = {"".join(each) for each in reasons}
        self.assertEqual(len(reasons), 7, reasons)
        page = (root / "docs" / "nccl.md").read_text()
        for reason in reasons:
            self.assertIn(f"`{reason}", page)

    def test_what_makes_all_calls_ncclS(self):
        for settings, reason in [({"NCCL_ALGO": "Ring"}, "rank 0: NCCL_ALGO is set"),
                                 ({"HEDDLE_LIBRARY": "/nowhere/libheddle.so.0"}, "rank 0: /nowhere/libheddle.so.0: cannot open"),
                                 ({"HEDDLE_NCCL_BYTES": "many"}, "rank 0: HEDDLE_NCCL_BYTES is `many`, and a number from 0"),
                                 ({"HEDDLE_NCCL_DEADLINE": "0"}, "rank 0: HEDDLE_NCCL_DEADLINE is `0`, and a number from 0.001"),
                                 ({"HEDDLE_NCCL_RESERVE": "-1"}, "rank 0: HEDDLE_NCCL_RESERVE is `-1`, and a number from 0")]:
            run = Run("basic", **settings)
            self.assertIn("communicator: nccl (" + reason, run.log)
            self.assertEqual({who for _, _, who, _ in run.served[0] + run.served[1]}, {"nccl"})
        run = Run("basic", ranks=9)
        self.assertIn("communicator: nccl (9 ranks)", run.log)

    def test_ranks_whose_settings_differ(self):
        for setting, reason in [("HEDDLE_NCCL_BYTES=77", r"rank 2: its settings are `\d+ 77 .*`, and those of rank 0 `.*`"),
                                ("HEDDLE_NCCL_RESERVE=7", r"rank 2: its settings are `.* 7 host .*`, and those of rank 0 `.*`"),
                                ("NCCL_PROTO=LL", "rank 2: NCCL_PROTO is set")]:
            run = Run("basic", "--last", setting, ranks=3)
            for rank in range(3):
                self.assertRegex(run.log, rf"rank {rank} of 3: communicator: nccl \({reason}\)")
                self.assertEqual({who for _, _, who, _ in run.served[rank]}, {"nccl"})

    def test_in_place_of_nccl(self):
        """A program that opens the drop-in as if it were NCCL finds every function there."""
        code = ("import ctypes, sys; dll = ctypes.CDLL(sys.argv[1]); version = ctypes.c_int(); "
                "print(dll.ncclGetVersion(ctypes.byref(version)), version.value, dll.ncclMemAlloc(None, 0), "
                "dll.ncclGroupSimulateEnd(None))")
        environment = {**os.environ, "HEDDLE_NCCL_LIBRARY": str(NCCL)}
        done = subprocess.run([sys.executable, "-c", code, DROP_IN], env=environment, text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, check=True, timeout=60)
        self.assertEqual(done.stdout, "0 22809 5 5\n")
        self.assertIn("this NCCL has no ncclMemAlloc", done.stderr)
        environment["HEDDLE_NCCL_LIBRARY"] = "/nowhere/libnccl.so.2"
        done = subprocess.run([sys.executable, "-c", code, DROP_IN], env=environment, text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, check=True, timeout=60)
        self.assertEqual(done.stdout, "5 0 5 2\n")
        self.assertIn("/nowhere/libnccl.so.2: cannot open", done.stderr)

    def test_what_it_exports_and_needs(self):
        header = (pathlib.Path(__file__).resolve().parents[2] / "nccl" / "Nccl.h").read_text()
        wanted = set(re.findall(r"\bX\((nccl\w+)\)", header)) | set(re.findall(r"\bX\(\w+, (nccl\w+)", header))
        exported = subprocess.run(["nm", "-D", "--defined-only", DROP_IN], stdout=subprocess.PIPE, text=True, check=True).stdout
        self.assertEqual({line.split()[-1] for line in exported.splitlines()}, wanted | {"ncclGetLastError"})
        dynamic = subprocess.run(["readelf", "-dW", DROP_IN], stdout=subprocess.PIPE, text=True, check=True).stdout
        needed = set(re.findall(r"NEEDED.*\[(.*)\]", dynamic))
        self.assertLessEqual(needed, {"libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "ld-linux-x86-64.so.2"})


if __name__ == "__main__":
    unittest.main()
