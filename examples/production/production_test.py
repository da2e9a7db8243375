# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels of ours through the runner of production kernels, and its errors. HEDDLE names the program."""
import io
import json
import os
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

import numpy as np

FOLDER = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, FOLDER)

import changes  # noqa: E402
import kinds  # noqa: E402
import mendings  # noqa: E402
import own  # noqa: E402
import production as production_program  # noqa: E402
import rates  # noqa: E402
import waits  # noqa: E402
from description import Launch  # noqa: E402
from runner import RunError, Runner, Settings, check_fits  # noqa: E402


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

    def test_a_structure_by_value(self):
        """`one_argument` has the addresses of x and y as one structure of 16 bytes, of 64 numbers to copy."""
        layout = {"fields": [{"name": "x", "type": "ptr", "value": "rand:f32[64]:1"}, {"name": "y", "type": "ptr", "value": "f32[64]"}]}
        with tempfile.TemporaryDirectory() as work:
            settings = Settings(os.environ.get("HEDDLE", "build/bin/heddle"), own.compile_all(work), work)
            kernel = next(one for one in own.kernels() if one.name == "one_argument")
            file = os.path.join(work, "layout.json")
            with open(file, "w", encoding="utf-8") as text:
                json.dump(layout, text)
            for given in (json.dumps(layout), "struct:" + file):
                kernel.make = lambda given=given: Launch((1, 1, 1), 64, {0: given}, {})
                outcome = Runner(kernel, settings).run()
                self.assertTrue(outcome.right)
                self.assertEqual(outcome.verdict, "clean")
            kernel.make = lambda: Launch((1, 1, 1), 64, {0: np.zeros(16, np.uint8)}, {})
            with self.assertRaisesRegex(RunError, "outside every allocation"):  # null pointers
                Runner(kernel, settings).run()

    def test_a_structure_beside_other_arguments(self):
        kernel = next(one for one in own.kernels() if one.name == "lds_copy")
        there = {0: {"offset": 0, "position": 0, "name": "blob", "bytes": 24, "kind": "by_value"}}
        for value in (np.zeros(24, np.uint8), np.zeros(6, np.float32), "struct:layout.json", 0):
            check_fits(kernel, there, {0: value})
        for value, message in ((np.zeros(16, np.uint8), "is 16 bytes; argument `blob`"), (7, "is int `7`; argument `blob`")):
            with self.assertRaisesRegex(RunError, message + " of `gfx942/lds_copy.co` is a structure of 24 bytes"):
                check_fits(kernel, there, {0: value})

    def test_an_exception_of_a_description_is_that_kernel_s_error(self):
        def broken():
            raise ValueError("no such shape")
        with tempfile.TemporaryDirectory() as work:
            settings = Settings(os.environ.get("HEDDLE", "build/bin/heddle"), own.compile_all(work), work, check=False)
            first, second = (one for one in own.kernels() if one.name in ("lds_copy", "skip") and one.chip == "gfx942")
            first.make = broken
            outcomes = [production_program.run_one(kernel, settings) for kernel in (first, second)]
            self.assertRegex(outcomes[0].error, r"`make` of the description raised ValueError: no such shape\n  note: production_test.py:\d+: ")
            self.assertTrue(outcomes[1].right)

    def test_a_result_of_no_one_device_is_named(self):
        with tempfile.TemporaryDirectory() as work:
            settings = Settings(os.environ.get("HEDDLE", "build/bin/heddle"), own.compile_all(work), work, check=False)
            kernel = next(one for one in own.kernels() if one.name == "device_sums")
            launch = own.device_sums()
            launch.expected = {"data": launch.expected["data@2"]}
            kernel.make = lambda: launch
            outcome = production_program.run_one(kernel, settings)
            self.assertIn("output `data`, of no one device; `heddle simulate` wrote one for each of 4 devices, as `resultdata.0.npy`", outcome.error)
            runner = Runner(kernel, settings)
            with self.assertRaisesRegex(RunError, "wrote no `resultdata@9.npy`, output `data` of device 9"):
                runner.result("data@9")

    def test_what_is_changed_has_a_folder_of_its_own(self):
        with tempfile.TemporaryDirectory() as work:
            production("--own", "missing_wait@gfx942", "--work", work)
            with open(os.path.join(work, "own-missing_wait-gfx942", "check.json"), "rb") as file:
                before = file.read()
            for options in (("--change", "0x151c+0xbf8c0f70"), ("--waits", "1")):
                run = production("--own", "missing_wait@gfx942", "--work", work, *options)
                self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
            with open(os.path.join(work, "own-missing_wait-gfx942", "check.json"), "rb") as file:
                self.assertEqual(file.read(), before)
            self.assertFalse(os.path.exists(os.path.join(work, "own-missing_wait-gfx942", "changed.co")))
            self.assertTrue(os.path.exists(os.path.join(work, "own-missing_wait-gfx942-changed", "changed.co")))
            self.assertTrue(os.path.exists(os.path.join(work, "own-missing_wait-gfx942-waits", "waits.co")))

    def test_commands_say_where_mutate_has_nothing_to_do(self):
        run = production("--own", "--commands", "missing_wait@gfx942", "skip@gfx942")
        missing, skip = run.stdout.split("# own/skip@gfx942\n")
        self.assertIn("# no `heddle mutate`: the check of this kernel has findings", missing)
        self.assertRegex(skip, r"\n\S+ mutate \S+/skip.co ")

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


class Changes(unittest.TestCase):
    """`missing_wait` has its load at 0x1514, and the store of what it loads at 0x151c."""

    @classmethod
    def setUpClass(cls):
        cls.work = tempfile.TemporaryDirectory()
        cls.objects = own.compile_all(cls.work.name)

    @classmethod
    def tearDownClass(cls):
        cls.work.cleanup()

    def compiled(self, name):
        with open(os.path.join(self.objects, "gfx942", name + ".co"), "rb") as file:
            return file.read()

    def words(self, elf, *addresses):
        return [f"{changes.word_at(elf, address):#010x}" for address in addresses]

    def test_the_missing_wait_put_in_is_clean(self):
        run = production("--own", "missing_wait@gfx942", "--change", "0x151c+0xbf8c0f70")
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        self.assertIn("1 of 1 right; 1 clean, 0 with findings", run.stdout)

    def test_another_wait_mends_nothing(self):
        settings = Settings(os.environ.get("HEDDLE", "build/bin/heddle"), self.objects, self.work.name,
                            changes=("0x151c+0xbf8cc07f",))
        kernel = next(one for one in own.kernels() if one.name == "missing_wait")
        self.assertEqual(Runner(kernel, settings).run().findings, {"register-wait": 1, "result": 1})

    def test_an_insertion_goes_to_the_end_and_back(self):
        elf = changes.changed(self.compiled("missing_wait"), "0x151c+0xbf8c0f70,0xbf800001")
        self.assertEqual(self.words(elf, 0x151C, 0x1520, 0x1524), ["0xbf820002", "0xbf800000", "0xbf810000"])
        self.assertEqual(self.words(elf, 0x1528, 0x152C, 0x1530, 0x1534, 0x1538),
                         ["0xbf8c0f70", "0xbf800001", "0xdc708000", "0x00060201", "0xbf82fffa"])
        again = changes.changed(elf, "0x1510+0xbf800002")
        self.assertEqual(self.words(again, 0x1510, 0x153C, 0x1540, 0x1544), ["0xbf82000a", "0xbf800002", "0xbf8cc07f", "0xbf82fff3"])

    def test_counts(self):
        elf = self.compiled("missing_wait")
        self.assertEqual(self.words(changes.changed(elf, "0x1510=lgkmcnt(3)"), 0x1510), ["0xbf8cc37f"])
        self.assertEqual(self.words(changes.changed(elf, "0x1510=vmcnt(17)"), 0x1510), ["0xbf8c4071"])
        self.assertEqual(self.words(changes.changed(elf, "0x1500-0x1524=lgkmcnt(0>2)"), 0x1510, 0x1514), ["0xbf8cc27f", "0xdc508000"])

    def test_an_instruction_is_moved_both_ways(self):
        elf = self.compiled("missing_wait")
        for change, words in (("0x1510>0x1508", ["0xbf8cc07f", "0x260000bf", "0x24020082", "0xdc508000"]),
                              ("0x1508>0x1514", ["0x24020082", "0xbf8cc07f", "0x260000bf", "0xdc508000"])):
            self.assertEqual(self.words(changes.changed(elf, change), 0x1508, 0x150C, 0x1510, 0x1514), words)

    def test_what_cannot_be_made(self):
        elf = self.compiled("missing_wait")
        jump = changes.changed(elf, "0x150c=0xbf820000")
        for object_, change, message in ((elf, "0x151c=vmcnt(0)", "no s_waitcnt is at 0x151c, but 0xdc708000"),
                                         (elf, "0x1510=lgkmcnt(16)", "more than the 15 that s_waitcnt holds"),
                                         (elf, "0x1512=lgkmcnt(1)", "0x1512 is no multiple of 4"),
                                         (elf, "0x1510>0x1516", "0x1516 is no multiple of 4"),
                                         (elf, "0x1510>0x1510", "the instruction at 0x1510 is moved before itself, which changes nothing"),
                                         (elf, "0x1514>0x1508", "the instruction at 0x1514 has 8 bytes; only one of 4 bytes can be moved"),
                                         (elf, "0x1510>0x1518", "0x1518 lies within an instruction, by the lengths of those from 0x1510 on"),
                                         (elf, "0x1500-0x1524=lgkmcnt(16>0)", "`lgkmcnt(16)` is more than the 15 that s_waitcnt holds"),
                                         (elf, "0x1500-0x1524=lgkmcnt(0>16)", "`lgkmcnt(16)` is more than the 15 that s_waitcnt holds"),
                                         (elf, "0x1500-0x1524=lgkmcnt(0>0)", "`lgkmcnt(0>0)` changes nothing"),
                                         (elf, "0x1524-0x1500=lgkmcnt(0>1)", "the first address, 0x1524, is after the last, 0x1500"),
                                         (elf, "0x9000=vmcnt(0)", "no segment of the object holds the address 0x9000"),
                                         (elf, "0x1500-0x1524=vmcnt(5>0)", "no s_waitcnt from 0x1500 to 0x1524 has vmcnt(5)"),
                                         (jump, "0x1510>0x1508", "a branch at 0x150c lies between 0x1510 and 0x1508"),
                                         (jump, "0x150c+0xbf8c0f70", "the instruction at 0x150c (0xbf820000) depends on its address"),
                                         (elf[:50], "0x151c=vmcnt(0)", "no whole 64-bit ELF file; it has 50 bytes"),
                                         (changes.changed(elf, "0x150c=0xba820001"), "0x150c+0xbf8c0f70", "depends on its address"),
                                         (elf, "0x151c+" + ",".join(["0xbf800000"] * 1200), "no room for code")):
            with self.assertRaises(changes.ChangeError, msg=change) as caught:
                changes.changed(object_, change)
            self.assertIn(message, str(caught.exception))

    def test_lengths_of_instructions(self):
        for word, words in ((0xC00A0100, 2), (0xD3AE0044, 2), (0x260000BF, 1), (0x27B148FF, 2), (0x7FB002FA, 2), (0x7E4C4926, 1),
                            (0xBF8CC0FF, 1), (0xBED100FF, 2), (0xBED00080, 1), (0x924B90FF, 2), (0x807CFF48, 2), (0x807C8048, 1),
                            (0xB7070001, 1), (0xBA000001, 2), (0xBF068143, 1), (0xBF0CFF43, 2)):
            self.assertEqual(changes.words_of(word), words, f"{word:#010x}")

    def test_a_mending_that_is_cut_short_or_finds_more_is_wrong(self):
        kernel = next(one for one in own.kernels() if one.name == "missing_wait")
        kernel.verdict = ""
        settings = Settings(os.environ.get("HEDDLE", "build/bin/heddle"), self.objects, self.work.name)
        for changed, remains, right in ((("0x151c+0xbf8c0f70",), (), True), (("0x1510=lgkmcnt(0)",), (), False),
                                        (("0x1510=lgkmcnt(0)",), ("register-wait", "result"), True),
                                        (("0x151c+0xbf8c0f70",), ("result",), False)):
            with unittest.mock.patch.dict(mendings.MENDINGS, {kernel.object: mendings.Mending("P1", changed, remains)}):
                self.assertEqual(production_program.run_mended(kernel, settings).right, right, (changed, remains))

    def test_bad_options(self):
        for options, message in ((("--change", "0x1514=vmcnt"), "`0x1514=vmcnt` is no change\nnote: a change is one of"),
                                 (("--mend",), "--own does not go with --mend"),
                                 (("--rates",), "--own does not go with --rates"),
                                 (("--seed", "1"), "--seed does not go with a run of the kernels\nnote: --seed is of --waits"),
                                 (("--change", "0x1514=vmcnt(0)", "--waits", "1"), "--change does not go with --waits"),
                                 (("--no-check", "--waits", "1"), "--no-check does not go with --waits"),
                                 (("--list", "--json"), "--json does not go with --list"),
                                 (("--commands", "--json"), "--json does not go with --commands"),
                                 (("--time-limit", "0"), "`--time-limit 0` is no number of seconds from 1 on"),
                                 (("--no-check", "--time-limit", "9"), "--time-limit does not go with --no-check"),
                                 (("--work", os.path.join(FOLDER, "own.py", "w")), "w` cannot be made: Not a directory")):
            run = production("--own", *options)
            self.assertEqual(run.returncode, 2, run.stdout + run.stderr)
            self.assertIn(message, run.stderr)
        for options, message in ((("--mend", "--commands"), "--mend does not go with --commands"),
                                 (("--mend", "--rates"), "--mend does not go with --rates"),
                                 (("--rates", "--waits", "1"), "--waits does not go with --rates"),
                                 (("--mend", "topksoftmax"), "docs/production.md has nothing missing in topksoftmax/")):
            run = production(*options)
            self.assertEqual(run.returncode, 2, run.stdout + run.stderr)
            self.assertIn(message, run.stderr)

    def test_a_change_that_cannot_be_made_ends_before_anything_runs(self):
        for change, message in (("0x9000=vmcnt(0)", "no segment of the object holds the address 0x9000"),
                                ("0x1512=lgkmcnt(1)", "0x1512 is no multiple of 4"),
                                ("0x1510=lgkmcnt(16)", "more than the 15 that s_waitcnt holds"),
                                ("0x1510>0x1510", "is moved before itself")):
            run = production("--own", "missing_wait@gfx942", "--change", change)
            self.assertEqual((run.returncode, run.stdout), (2, ""), run.stderr)
            self.assertIn(f"production: error: `--change {change}`: ", run.stderr)
            self.assertIn(message, run.stderr)

    def test_a_change_of_several_objects_lists_the_labels(self):
        run = production("--own", "lds_copy", "skip@gfx942", "--change", "0x1514=vmcnt(0)")
        self.assertEqual(run.returncode, 2, run.stdout + run.stderr)
        self.assertIn("--change is for kernels of one object; these 3 labels match, of 3 objects:\n"
                      "  own/lds_copy@gfx942  gfx942/lds_copy.co\n", run.stderr)
        self.assertIn("note: give a whole label as NAME", run.stderr)

    def test_what_mend_leaves_out_is_said(self):
        kernels = [kernel for kernel in production_program.described_kernels(False) if "fmha_v3_bwd/" in kernel.label]
        options = unittest.mock.Mock(mend=True)
        with unittest.mock.patch("sys.stderr", io.StringIO()) as printed:
            mended = production_program.changeable(kernels, options)
        self.assertIn(f"note: --mend leaves out {len(kernels) - len(mended)} of {len(kernels)} kernels", printed.getvalue())
        self.assertGreater(len(kernels), len(mended))

    def test_each_mending_is_of_a_described_object_and_of_entries_of_the_page(self):
        objects = {kernel.object for kernel in production_program.described_kernels(False)}
        with open(os.path.join(FOLDER, "..", "..", "docs", "production.md"), encoding="utf-8") as file:
            page = file.read()
        for name, mending in mendings.MENDINGS.items():
            self.assertIn(name, objects)
            self.assertTrue(all(map(changes.is_change, mending.changes)), name)
            for entry in mending.entries.split(", "):
                self.assertTrue(f"| {entry} |" in page, f"{entry} of {name} is not in docs/production.md")


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

    def test_an_object_of_another_chip_is_refused(self):
        with tempfile.TemporaryDirectory() as work:
            objects = own.compile_all(work)
            kernel = next(one for one in own.kernels() if one.name == "skip" and one.chip == "gfx950")
            os.replace(os.path.join(objects, "gfx942", "skip.co"), os.path.join(objects, "gfx950", "skip.co"))
            with self.assertRaises(production_program.Misuse) as caught:
                production_program.check_objects([kernel], objects, True)
            self.assertIn("skip.co` is for gfx942 (machine 0x4c of its e_flags), and the label's chip is gfx950 (0x4f)", str(caught.exception))

    def test_the_objects_are_looked_at_before_a_build(self):
        run = production("--check-objects", folder="/nonexist")
        self.assertEqual(run.returncode, 2)
        self.assertIn("HEDDLE_AITER is `/nonexist`, which is no folder", run.stderr)
        with open(os.path.join(FOLDER, "..", "..", "dev"), encoding="utf-8") as file:
            steps = file.read().split("test_all() {")[1]
        self.assertLess(steps.index("--check-objects"), steps.index("build \"$preset\""))
        self.assertIn("20 objects of 20 kernels are there", production("--own", "--check-objects").stdout)

    def test_a_whole_label_names_one_kernel(self):
        made = own.kernels()
        longer = next(one for one in made if one.label == "own/skip@gfx942")
        longer.name = "longer/own/skip@gfx950"
        self.assertEqual(len(production_program.select(made, ["own/skip@gfx950"])), 1)

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
