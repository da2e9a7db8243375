# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The sessions in the pages print what the pages say, and the C page shows the program that is built."""
import doctest
import os
import pathlib
import re
import unittest

try:
    import numpy
except ImportError:
    numpy = None
try:
    import torch
except (ImportError, OSError):  # a CUDA build without NVIDIA's libraries
    torch = None
try:
    import jax
    jax.config.update("jax_num_cpu_devices", 4)
except ImportError:
    jax = None

ROOT = pathlib.Path(__file__).resolve().parents[2]
needs_numpy = unittest.skipUnless(numpy, "NumPy is not installed: python3-numpy, or a virtual environment that has it")


def blocks(page, language):
    """Line number and text of each block of that language."""
    text = (ROOT / page).read_text(encoding="utf-8")
    for match in re.finditer(rf"^```{language}\n(.*?)^```", text, re.S | re.M):
        yield text.count("\n", 0, match.start()) + 1, match[1]


class Pages(unittest.TestCase):
    def setUp(self):
        self.folder = os.getcwd()
        os.chdir(ROOT)  # the sessions name files of the tree
        self.addCleanup(os.chdir, self.folder)

    def run_sessions(self, page, plain=0):
        """Runs the sessions; `plain` other blocks are programs for a GPU or with code of the reader's."""
        names = {"__name__": page}
        parser, runner = doctest.DocTestParser(), doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
        report, count = [], 0
        for line, text in blocks(page, "python"):
            if ">>>" not in text and plain > 0:
                compile(text, f"{page}:{line}", "exec")
                plain -= 1
                continue
            test = parser.get_doctest(text, names, page, page, line)
            self.assertTrue(test.examples, f"{page}:{line}: the block is no session")
            count += len(test.examples)
            runner.run(test, out=report.append, clear_globs=False)
            names.update(test.globs)
        self.assertEqual(runner.failures, 0, "".join(report))
        return count

    @needs_numpy
    def test_python(self):
        self.assertGreater(self.run_sessions("docs/python.md"), 25)

    def test_readme(self):
        self.assertEqual(self.run_sessions("README.md"), 5)

    def test_kernels(self):
        self.assertEqual(self.run_sessions("docs/kernels.md"), 6)

    @unittest.skipUnless(torch, "PyTorch is not installed, or cannot be loaded")
    def test_pytorch(self):
        self.assertGreater(self.run_sessions("docs/pytorch.md", plain=2), 15)

    @unittest.skipUnless(jax, "JAX is not installed")
    def test_jax(self):
        self.assertGreater(self.run_sessions("docs/jax.md"), 15)

    def test_c_api(self):
        (_, shown), = blocks("docs/c-api.md", "c")
        self.assertEqual(shown, (ROOT / "examples/c/vector_add.c").read_text(encoding="utf-8"))


if __name__ == "__main__":
    unittest.main()
