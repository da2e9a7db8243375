# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The runner of Triton's tests: its list of what does not apply, its samples, and tests that crash or hang. The tests here stand for
Triton's; PyTorch, which those need, is not there."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

try:
    import pytest
except ImportError:
    pytest = None

SUITE = pathlib.Path(__file__).resolve().parent / "triton_suite"
sys.path.insert(0, str(SUITE))
import run  # noqa: E402

TESTS = """
import os, time
import pytest


def test_passes():
    pass


def test_fails():
    assert 1 == 2, "one is not two"


def test_crashes():
    os._exit(3)


def test_hangs():
    time.sleep(60)


@pytest.mark.parametrize("n", [1, 2])
def test_skips(n):
    if n == 1:
        pytest.skip("not here")
    os.abort()
"""
MODULES = {"torch.py": "class cuda:\n    is_available = staticmethod(lambda: True)\n", "triton/__init__.py": "",
           "triton/_internal_testing.py": ""}


class List(unittest.TestCase):
    def read(self, text, device):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "list.txt"
            path.write_text(text)
            return run.NotApplicable(path, device)

    def test_reasons_by_device(self):
        text = "# a list\nreason: of all\n  a.py::test_x[*-1]\nreason on sim:gfx9: of some\n  *::test_y*\n"
        host, chip = self.read(text, "host"), self.read(text, "sim:gfx942")
        self.assertEqual(host.reason("a.py::test_x[f32-1]"), "of all")
        self.assertIsNone(host.reason("a.py::test_x[f32-12]"))
        self.assertIsNone(host.reason("b.py::test_y"))
        self.assertEqual(chip.reason("b.py::test_y"), "of some")

    def test_errors_name_the_line(self):
        for text, line in (("  a.py\n", 1), ("reason: r\n\nb.py\n", 3)):
            with self.assertRaisesRegex(SystemExit, f"list.txt:{line}: neither"):
                self.read(text, "host")

    def test_the_list_and_the_files_are_read(self):
        run.NotApplicable(SUITE / "not_applicable.txt", "host")
        self.assertIn("unit/language/test_core.py", (SUITE / "files.txt").read_text().split())

    def test_samples_are_the_same_every_time(self):
        tests = list(range(100))
        self.assertEqual(run.sample(tests, 1, "1", "a"), tests)
        chosen = run.sample(tests, 20, "1", "a")
        self.assertEqual(len(chosen), 5)
        self.assertEqual(chosen, run.sample(tests, 20, "1", "a"))


@unittest.skipUnless(pytest, "pytest is not installed: python3-pytest")
class Run(unittest.TestCase):
    def test_every_test_gets_a_result(self):
        with tempfile.TemporaryDirectory() as folder:
            tests = pathlib.Path(folder) / "python" / "test"
            modules = pathlib.Path(folder) / "modules"
            (tests / "unit").mkdir(parents=True)
            (tests / "unit" / "test_it.py").write_text(TESTS)
            (tests / "conftest.py").write_text("def pytest_addoption(parser):\n    parser.addoption('--device')\n")
            for name, text in MODULES.items():
                (modules / name).parent.mkdir(parents=True, exist_ok=True)
                (modules / name).write_text(text)
            log = pathlib.Path(folder) / "log"
            done = subprocess.run([sys.executable, str(SUITE / "run.py"), str(tests), "unit/test_it.py", "--limit", "2",
                                   "--log", str(log)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                  env={**os.environ, "PYTHONPATH": str(modules)})
            self.assertEqual(done.returncode, 1, done.stdout)
            self.assertIn("| unit/test_it.py | 1 | 4 | 1 |", done.stdout)
            self.assertIn("20.00 % of 5 passed", done.stdout)
            results = {each["test"].partition("::")[2]: each for each in map(json.loads, log.read_text().splitlines())}
        self.assertIn("one is not two", results["test_fails"]["why"])
        self.assertIn("the process ended with code 3", results["test_crashes"]["why"])
        self.assertIn("over 2.0 s", results["test_hangs"]["why"])
        self.assertIn("not here", results["test_skips[1]"]["why"])
        self.assertIn("the process ended with code -6", results["test_skips[2]"]["why"])


if __name__ == "__main__":
    unittest.main()
