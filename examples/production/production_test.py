# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels of ours through the runner of production kernels, and its errors. HEDDLE names the program."""
import os
import subprocess
import sys
import tempfile
import unittest

FOLDER = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, FOLDER)

import kinds  # noqa: E402
import own  # noqa: E402
import production as production_program  # noqa: E402
import rates  # noqa: E402
import waits  # noqa: E402
from description import Launch  # noqa: E402
from runner import RunError, Runner, Settings  # noqa: E402


def production(*arguments, folder=""):
    environment = {**os.environ, "HEDDLE_AITER": folder}
    return subprocess.run([sys.executable, os.path.join(FOLDER, "production.py"), *arguments], capture_output=True, text=True,
                          env=environment, check=False)


class OwnKernels(unittest.TestCase):
    def test_all_are_right(self):
        run = production("--own")
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        self.assertIn("20 of 20 right; 18 clean, 2 with findings", run.stdout)

    def test_no_kernel_at_once_is_refused(self):
        for count in ("0", "-2"):
            run = production("--own", "--jobs", count)
            self.assertEqual(run.returncode, 2, run.stdout + run.stderr)
            self.assertIn(f"production: error: `--jobs {count}` is no number of kernels from 1 on", run.stderr)

    def test_a_description_that_does_not_fit_names_both(self):
        with tempfile.TemporaryDirectory() as work:
            settings = Settings(os.environ.get("HEDDLE", "build/bin/heddle"), own.compile_all(work), work)
            kernel = next(one for one in own.kernels() if one.name == "lds_copy")
            for arguments, message in (({4: 1}, "argument at offset 4; `gfx942/lds_copy.co` has arguments at offsets 0, 8"),
                                       ({0: 1 << 70}, "at offset 0 has 16 bytes; argument `x` of `gfx942/lds_copy.co` has 8")):
                self.assert_refused(kernel, arguments, settings, message)
            self.assert_refused(kernel, {0: 0}, settings, "gives no value for `y` at offset 8 of `gfx942/lds_copy.co`; it has "
                                                          "values at offsets 0\nnote: `zeros` names arguments that are 0")
            filled = next(one for one in own.kernels() if one.name == "scale")
            self.assert_refused(filled, {0: 0, 12: 1, 16: 1}, settings, "an argument at offset 12; `gfx942/scale.co` has filler "
                                                                        "`pad` at offset 12, and arguments at offsets 0, 16")

    def assert_refused(self, kernel, arguments, settings, message):
        kernel.make = lambda: Launch((1, 1, 1), 64, arguments, {})
        with self.assertRaises(RunError) as caught:
            Runner(kernel, settings)
        self.assertIn(message, str(caught.exception))

    def test_a_wrong_result_is_not_right(self):
        with tempfile.TemporaryDirectory() as work:
            settings = Settings(os.environ.get("HEDDLE", "build/bin/heddle"), own.compile_all(work), work, check=False)
            kernel = next(one for one in own.kernels() if one.name == "lds_copy")
            launch = own.copy()
            launch.expected[8].values = launch.expected[8].values + 1
            kernel.make = lambda: launch
            self.assertFalse(Runner(kernel, settings).run().right)


    def test_what_is_read_ahead_needs_slack(self):
        with tempfile.TemporaryDirectory() as work:
            settings = Settings(os.environ.get("HEDDLE", "build/bin/heddle"), own.compile_all(work), work, check=False)
            kernel = next(one for one in own.kernels() if one.name == "reads_ahead")
            kernel.make = own.copy
            with self.assertRaisesRegex(RunError, "outside every allocation"):
                Runner(kernel, settings).run()

    def test_the_list_counts_families_and_folders(self):
        run = production("--own", "--list")
        self.assertIn("own/skip@gfx942  [kernels of ours]  gfx942/skip.co", run.stdout)
        self.assertIn("20 kernels (10 gfx942, 10 gfx950) of 1 families; 0 folders, and 10 objects beside them", run.stdout)

    def test_every_kernel_has_a_family(self):
        for kernel in production_program.described_kernels(False):
            self.assertIn(kinds.kind_of(kernel), {*kinds.KINDS, "persistent forms", "all-reduce with norm"}, kernel.label)

    def test_one_kernel_of_each_family_is_measured(self):
        measured = [kinds.kind_of(kernel) for kernel in rates.kernels()]
        self.assertEqual(sorted(measured), sorted({kinds.kind_of(kernel) for kernel in production_program.described_kernels(False)}))


class Waits(unittest.TestCase):
    def test_exact_counts_hold(self):
        run = production("--own", "--waits", "10")
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        self.assertIn("6 of 6 counters, of 6 kernels", run.stdout)
        self.assertRegex(run.stdout, r"unneeded +exact count +4 +0")
        run = production("--own", "--waits", "0")
        self.assertEqual(run.returncode, 2)
        self.assertIn("`--waits 0` is no number of waits from 1 on", run.stderr)

    def test_a_count_that_is_too_large_is_found(self):
        with tempfile.TemporaryDirectory() as work:
            settings = Settings(os.environ.get("HEDDLE", "build/bin/heddle"), own.compile_all(work), work)
            subject = waits.Subject(next(one for one in own.kernels() if one.name == "matmul"), settings)
            inspect = [settings.heddle, "inspect", subject.runner.path, "--waits", "--json"]
            listed = subject.runner.execute(inspect, 60)["waits"]["list"]
            needed = [waits.Counter(wait["address"], counter["counter"], "larger", counter["count"], 14) for wait in listed
                      for counter in wait["counters"] if counter["exact"]["class"] in ("newest", "unordered")]
            self.assertTrue(needed)
            for counter in needed:
                _, what, stays, must_stay = next(subject.verify(counter))
                self.assertEqual((what, stays, must_stay), (waits.FIRST, False, True))


class Errors(unittest.TestCase):
    def test_a_missing_folder_says_how_to_get_it(self):
        for folder, message in (("", "HEDDLE_AITER names no folder"), (FOLDER, "has no folders `gfx942` and `gfx950`")):
            run = production(folder=folder)
            self.assertEqual(run.returncode, 2)
            self.assertIn(message, run.stderr)
            self.assertIn("git clone --filter=blob:none --sparse https://github.com/ROCm/aiter", run.stderr)

    def test_a_missing_object_says_how_to_get_it(self):
        with tempfile.TemporaryDirectory() as folder:
            for chip in own.CHIPS:
                os.mkdir(os.path.join(folder, chip))
            for options in ((), ("--commands",), ("--rates",), ("--waits", "1")):
                run = production(*options, folder=folder)
                self.assertEqual(run.returncode, 2, run.stdout + run.stderr)
                self.assertRegex(run.stderr, rf"production: error: \S+@gfx9\d+: `{folder}/gfx9\S+\.co` is missing\n")
                self.assertIn("git clone --filter=blob:none --sparse https://github.com/ROCm/aiter", run.stderr)

    def test_an_unknown_name(self):
        run = production("--own", "nothing_like_it")
        self.assertEqual(run.returncode, 2)
        self.assertIn("no kernel has `nothing_like_it` in its label", run.stderr)

    def test_a_broken_object_and_a_verdict_that_must_not_be(self):
        with tempfile.TemporaryDirectory() as work:
            settings = Settings(os.environ.get("HEDDLE", "build/bin/heddle"), own.compile_all(work), work)
            kernel = next(one for one in own.kernels() if one.name == "missing_wait")
            kernel.verdict = "clean"
            outcome = Runner(kernel, settings).run()
            self.assertFalse(outcome.right)
            self.assertEqual(outcome.comparisons["check"], "the verdict is `findings`, and must be `clean`")
            with open(os.path.join(work, "objects", kernel.object), "r+b") as file:
                file.truncate(100)
            with self.assertRaisesRegex(RunError, "`heddle inspect` ended with 2: "):
                Runner(kernel, settings)

    def test_a_closed_pipe_is_quiet(self):
        listed = subprocess.Popen([sys.executable, os.path.join(FOLDER, "production.py"), "--list"], stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE)
        listed.stdout.close()
        self.assertEqual(listed.stderr.read(), b"")
        listed.stderr.close()
        listed.wait()


if __name__ == "__main__":
    unittest.main()
