# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The pytest plugin does what its page says: the page's test file, run by pytest."""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

try:
    import pytest
except ImportError:
    pytest = None

import heddle

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "pytest.md").read_text(encoding="utf-8")


def block(language):
    return re.search(rf"^```{language}\n(.*?)^```", PAGE, re.S | re.M)[1]


def is_shown(wanted, printed):
    """Whether the lines of `wanted` come in this order; `...` stands for anything, and the width of rules may differ."""
    at = 0
    for line in wanted.splitlines():
        if line.strip() == "...":
            continue
        pattern = re.sub(r"\\?-{5,}", "-+", re.escape(" ".join(line.split())).replace(r"\.\.\.", ".*"))
        pattern = re.sub(r"0x[0-9a-f]+", "0x[0-9a-f]+", pattern)
        while at < len(printed) and not re.fullmatch(pattern, " ".join(printed[at].split())):
            at += 1
        if at == len(printed):
            return f"`{line}` is not printed"
        at += 1
    return ""


@unittest.skipUnless(pytest, "pytest is not installed: python3-pytest")
class Plugin(unittest.TestCase):
    def run_pytest(self, *words):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder)
            (path / "test_kernels.py").write_text(block("python"))
            (path / "race.ttir").write_text(block("mlir"))
            (path / "tests").symlink_to(ROOT / "tests")
            plugin = [] if "site-packages" in heddle.__file__ else ["-p", "heddle.testing"]
            done = subprocess.run([sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *plugin, *words, "test_kernels.py"],
                                  cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                  env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "COLUMNS": "80"})
            return done.returncode, done.stdout

    def test_the_page(self):
        code, printed = self.run_pytest()
        self.assertEqual(code, 1, printed)
        self.assertIn("1 failed, 2 passed", printed)
        wanted = re.findall(r"^```text\n(.*?)^```", PAGE, re.S | re.M)[0]
        self.assertEqual(is_shown(wanted, printed.splitlines()), "", printed)

    def test_options_and_names(self):
        code, printed = self.run_pytest("--heddle-schedules", "1", "--heddle-threads", "1", "-v", "-k", "vector_add")
        self.assertEqual(code, 0, printed)
        self.assertIn("test_vector_add[gfx942] PASSED", printed)
        self.assertIn("test_vector_add[gfx950] PASSED", printed)

    def test_what_is_refused(self):
        import heddle.testing
        with self.assertRaisesRegex(heddle.InputError, "is not a list of chips"):
            heddle.testing.checked(targets="gfx942")
        check = heddle.testing.Check("gfx950", {})
        kernel = heddle.compile(block("mlir"), target="gfx942")
        with self.assertRaisesRegex(heddle.InputError, "is for gfx942, and this test is for gfx950"):
            check(kernel, grid=2, out="i32[1]", schedules=1)


if __name__ == "__main__":
    unittest.main()
