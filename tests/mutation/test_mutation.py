#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tests of the script that changes sources: which places it finds, and what it says of a small tree with tests of its own."""
import io
import json
import contextlib
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import mutate_sources
import places

SOURCE = """// a < b
int least(int a, int b) { return a < b ? a : b; }
int unused(int a) { return a + 7; }
"""
PROGRAM = """int least(int a, int b);
int main() { return least(1, 2) == 1 && least(2, 1) == 1 ? 0 : 1; }
"""
# Without CMake: the commands that a build has of it.
NINJA = """rule compile
  command = {compiler} -c $in -o $out
rule link
  command = {compiler} $in -o $out
build least.o: compile ../collectives/Least.cpp
build program.o: compile ../collectives/LeastTest.cpp
build program: link least.o program.o
build all: phony program
"""
CTEST = """add_test(least "{build}/program")
set_tests_properties(least PROPERTIES WORKING_DIRECTORY "{build}/collectives")
"""


class Places(unittest.TestCase):
    def changes(self, text):
        return {(place.kind, place.old, place.new) for place in places.places_in("A.cpp", text)}

    def test_each_kind(self):
        found = self.changes("bool f() {\n  if (a < 4)\n    return true;\n  count += 1;\n  g(x, y);\n  return a && b;\n}\n")
        for change in (("comparison", "<", "<="), ("constant", "4", "5"), ("constant", "4", "3"), ("condition", "a < 4", "!(a < 4)"),
                       ("result", "return true;", "return false;"), ("statement", "count += 1;", ";"), ("statement", "g(x, y);", ";"),
                       ("arguments", "x, y", "y, x"), ("operator", "&&", "||")):
            self.assertIn(change, found)

    def test_what_is_no_code(self):
        for text in ("// a < b + 4\n", "/* a < b\n * 4 */\n", '#include "a4.h"\n#if A < 4\n', 'auto text = "a < 4";\n',
                     "SmallVector<Value, 4> list;\n", "  assert(a < 4);\n", "Value *x;\n"):
            self.assertEqual(self.changes(text), set(), text)

    def test_a_declaration_stays(self):
        self.assertNotIn("statement", {kind for kind, *_ in self.changes("void f() {\n  int a = g();\n}\n")})
        self.assertNotIn("condition", {kind for kind, *_ in self.changes("  if (auto *a = g())\n")})

    def test_applied(self):
        place = next(each for each in places.places_in("A.cpp", SOURCE) if each.kind == "comparison")
        self.assertEqual(place.applied(SOURCE), SOURCE.replace("a < b ?", "a <= b ?"))
        with self.assertRaises(ValueError):
            place.applied(SOURCE.replace("a < b ?", "b > a ?"))


class Campaign(unittest.TestCase):
    """Runs the script on a tree of one source, its test, and a build of both."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name).resolve()
        self.source = self.root / "collectives/Least.cpp"
        build = self.root / "build"
        for each in (self.source.parent, build, build / "collectives"):
            each.mkdir()
        self.source.write_text(SOURCE)
        (self.root / "collectives/LeastTest.cpp").write_text(PROGRAM)
        (self.root / ".gitignore").write_text("build\n")
        (build / "build.ninja").write_text(NINJA.format(compiler=os.environ.get("CXX", "c++")))
        (build / "CTestTestfile.cmake").write_text(CTEST.format(build=build))
        subprocess.run(["ninja"], cwd=build, check=True, stdout=subprocess.DEVNULL)
        for command in ("init -q", "add .", "-c user.name=t -c user.email=t@t commit -q -m all"):
            subprocess.run(["git", *command.split()], cwd=self.root, check=True)

    def commit(self, text):
        self.source.write_text(text)
        subprocess.run(["git", "-c", "user.name=t", "-c", "user.email=t@t", "commit", "-qam", "more"], cwd=self.root, check=True)

    def run_script(self, *words):
        output, errors = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(errors):
            code = mutate_sources.main(list(words), self.root)
        return code, output.getvalue(), errors.getvalue()

    def results(self, *words):
        code, output, _ = self.run_script("--json", *words)
        return code, {(each["kind"], each["place"].split(": ")[-1]): each for each in json.loads(output)}

    def test_noticed_and_not(self):
        code, found = self.results()
        self.assertEqual(code, 1)
        self.assertEqual(found["operator", "`+` -> `-`"]["verdict"], "unnoticed")
        self.assertEqual(found["constant", "`7` -> `8`"]["verdict"], "unnoticed")
        self.assertEqual(found["comparison", "`<` -> `<=`"]["verdict"], "unnoticed")  # it is equal
        self.assertEqual(self.source.read_text(), SOURCE)

    def test_noticed_by(self):
        self.commit(SOURCE.replace("return a < b ?", "return 0 == 1 ? 0 : a < b ?"))
        _, found = self.results("--near")
        result = found["comparison", "`==` -> `!=`"]
        self.assertEqual((result["verdict"], result["by"]), ("noticed", "least"))

    def test_what_does_not_compile_is_counted_apart(self):
        self.commit("static_assert(sizeof(int)\n              == 4);\nint least(int a, int b) { return b < a ? b : a; }\n")
        _, found = self.results()
        self.assertEqual(found["comparison", "`==` -> `!=`"]["verdict"], "build")
        self.assertEqual(found["comparison", "`<` -> `<=`"]["verdict"], "unnoticed")
        self.assertIn("1 changes that compile: 0 noticed, 1 not noticed, 0 undecided; 3 others noticed by the build", self.run_script()[1])

    def test_the_seed_chooses(self):
        first, again, other = (self.run_script("--list", "--seed", seed)[1] for seed in ("1", "1", "2"))
        self.assertEqual(first, again)
        self.assertEqual(sorted(first.splitlines()), sorted(other.splitlines()))

    def test_continues(self):
        _, _, first = self.run_script("--count", "1")
        _, _, then = self.run_script("--count", "3")
        self.assertEqual((first.count("collectives/Least.cpp"), then.count("collectives/Least.cpp")), (1, 2))
        code, _, errors = self.run_script("--near")
        self.assertEqual(code, 2)
        self.assertIn("other settings", errors)

    def test_all_tests_for_what_the_near_ones_missed(self):
        first = str(self.root / "build/first.json")
        self.results("--state", first)
        _, found = self.results("--command", "grep -q '<=' collectives/Least.cpp && exit 1 || exit 0", "--unnoticed", first)
        self.assertEqual(found["comparison", "`<` -> `<=`"]["verdict"], "noticed")
        self.assertEqual({each["verdict"] for kind, each in found.items() if kind[0] != "comparison"}, {"unnoticed"})
        self.assertEqual(self.run_script("--unnoticed", "none.json")[0], 2)

    def test_a_changed_tree_is_refused(self):
        self.source.write_text(SOURCE + "\n")
        code, _, errors = self.run_script()
        self.assertEqual(code, 2)
        self.assertIn("has 1 changed files, the first is `collectives/Least.cpp`", errors)

    def test_a_test_that_always_fails_is_no_notice(self):
        code, _, errors = self.run_script("--command", "false")
        self.assertEqual(code, 2)
        self.assertIn("'false' fails without a change as well", errors)

    def test_a_program_that_is_not_built(self):
        (self.root / "build/program").unlink()
        code, _, errors = self.run_script()
        self.assertEqual(code, 2)
        self.assertIn("the programs of 1 tests are not built, the first is `least`", errors)

    def test_a_change_has_its_time(self):
        _, found = self.results("--command", "sleep 60", "--limit", "2", "--count", "1")
        self.assertEqual([each["verdict"] for each in found.values()], ["undecided"])

    def test_an_interrupt_restores(self):
        for sent in (signal.SIGINT, signal.SIGTERM):
            program = f"import pathlib, sys; sys.path.insert(0, {str(pathlib.Path(__file__).parent)!r}); import mutate_sources; " \
                      f"sys.exit(mutate_sources.main(['--command', 'sleep 60'], pathlib.Path({str(self.root)!r})))"
            # A shell's background jobs ignore interrupts, and so would what they start.
            process = subprocess.Popen([sys.executable, "-c", program], stderr=subprocess.DEVNULL,
                                       preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
            end = time.monotonic() + 60
            while self.source.read_text() in ("", SOURCE) and time.monotonic() < end:
                time.sleep(0.01)
            self.assertNotEqual(self.source.read_text(), SOURCE)
            process.send_signal(sent)
            self.assertEqual(process.wait(60), 130)
            self.assertEqual(self.source.read_text(), SOURCE)

    def test_a_killed_run_is_restored_by_the_next(self):
        folder = self.root / "build/mutation"
        folder.mkdir()
        changed = mutate_sources.Source(self.root, folder, places.places_in("collectives/Least.cpp", SOURCE)[0])
        changed.__enter__()
        self.assertNotEqual(self.source.read_text(), SOURCE)
        self.run_script("--count", "1")
        self.assertEqual(self.source.read_text(), SOURCE)


if __name__ == "__main__":
    unittest.main()
