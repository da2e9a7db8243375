#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Plants one violation of each rule in a small tree and holds that its check finds it; the tree without one is clean."""
import contextlib
import pathlib
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "docs" / "site"))

import break_sources  # noqa: E402
import check_docs  # noqa: E402
import check_filters  # noqa: E402
import check_layers  # noqa: E402
import check_portable  # noqa: E402
import check_site  # noqa: E402
import check_source  # noqa: E402
import check_words  # noqa: E402

LICENCE = "// " + check_source.LICENCE + "\n// What this file is.\n"
TREE = {
    "layers.txt": "support:\ncompiler/a: support <mlir>\ncompiler/b: compiler/a\n",
    "support/Error.h": LICENCE + "#include <string>\n",
    "compiler/a/A.h": LICENCE + '#include "support/Error.h"\n#include "mlir/IR/Builders.h"\n#include "compiler/a/A.h.inc"\n',
    "compiler/b/B.cpp": LICENCE + '#include "B.h"\n#include "compiler/a/A.h"\n',
    "compiler/b/B.h": LICENCE,
    "tests/Whole.cpp": LICENCE + '#include "compiler/a/A.h"\n',
    "docs/page.md": "# A page\n\nSee [the other](other.md#its-part), `support/Error.h`, `B.h` and `docs/NAME.md`.\n",
    "docs/other.md": "# Other\n\n## Its part\n\n```sh\n./dev build\nbin/heddle compile --target host docs/page.md\n```\n",
    "dev": "#!/bin/sh\n# " + check_source.LICENCE + "\n# What it is.\necho 'usage:\n  build  builds'\n",
    "bin/heddle": "#!/bin/sh\n# " + check_source.LICENCE + "\n# What it is.\necho '  compile  compiles\n  --target CHIP'\n",
}


@contextlib.contextmanager
def planted(path=None, text=None):
    """The small tree in a new folder, with one file added or replaced."""
    with tempfile.TemporaryDirectory() as folder:
        for name, content in {**TREE, **({path: text} if path else {})}.items():
            file = pathlib.Path(folder) / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(content)
            file.chmod(0o755)
        yield pathlib.Path(folder)


class Checks(unittest.TestCase):
    def expect(self, check, path, text, *messages):
        """Exactly these messages, in order, when the file is planted."""
        with planted(path, text) as root:
            findings = check(root)
        self.assertEqual(len(findings), len(messages), findings)
        for finding, message in zip(findings, messages):
            self.assertIn(message, finding)


class Layers(Checks):
    def check(self, path, text, *messages):
        self.expect(check_layers.check, path, text, *messages)

    def test_clean(self):
        self.check(None, None)

    def test_include_upwards(self):
        self.check("support/S.cpp", '#include "compiler/a/A.h"\n', "support/S.cpp:1: error: the room 'support' may not include")

    def test_include_of_a_room_not_listed(self):
        self.check("compiler/b/C.cpp", '\n#include "support/Error.h"\n', "compiler/b/C.cpp:2: error")

    def test_include_by_relative_path(self):
        self.check("support/S.cpp", '#include "../compiler/a/A.h"\n', "may not include '../compiler/a/A.h'")

    def test_include_in_angle_brackets(self):
        self.check("support/S.cpp", "#  include <compiler/a/A.h>\n", "may not include")

    def test_include_of_a_generated_header(self):
        self.check("support/S.cpp", '#include "compiler/a/A.h.inc"\n', "of compiler/a")

    def test_tablegen_include(self):
        self.check("support/S.td", 'include "compiler/a/A.td"\n', "may not include")

    def test_include_of_a_test(self):
        self.check("support/S.cpp", '#include "tests/Whole.h"\n', "of tests")

    def test_include_of_a_folder_between_rooms(self):
        self.check("compiler/b/C.cpp", '#include "compiler/C.h"\n', "of compiler;")

    def test_mlir_where_it_is_unknown(self):
        self.check("support/S.cpp", '#include "llvm/ADT/StringRef.h"\n', "of <mlir>")

    def test_file_outside_every_room(self):
        self.check("compiler/C.h", LICENCE, "compiler/C.h:1: error: this file is in no room")

    def test_circle(self):
        self.check("layers.txt", "support: compiler/b\ncompiler/a: support <mlir>\ncompiler/b: compiler/a\n", "in a circle: support")

    def test_empty_room(self):
        self.check("layers.txt", TREE["layers.txt"] + "chips: support\n", "layers.txt:4: error: the room 'chips' has no files")

    def test_unknown_room(self):
        self.check("layers.txt", TREE["layers.txt"].replace("<mlir>", "<mlir> chip"), "the room 'chip', which has no line")

    def test_room_listed_twice(self):
        self.check("layers.txt", TREE["layers.txt"] + "support:\n", "listed twice")

    def test_malformed_line(self):
        self.check("layers.txt", TREE["layers.txt"] + "support chips\n", "expected 'room: allowed rooms'")


class Source(Checks):
    def check(self, path, text, *messages):
        self.expect(check_source.check, path, text, *messages)

    def test_clean(self):
        self.check(None, None)

    def test_licence_line(self):
        for path, text in [("a.cpp", "int a;\n"), ("a.td", ""), ("a.py", ""), ("a.sh", ""), ("run", "#!/bin/sh\n")]:
            self.check(path, text, f"{path}:1: error: the licence line is missing")

    def test_opening(self):
        line = "// " + check_source.LICENCE + "\n"
        for text in ("int a;\n", '#include "a.h"\n', "\n// late\n", "#pragma once\n// late\n"):
            self.check("a.cpp", line + text, "a.cpp:2: error: the file does not say what it is")
        self.check("a.py", "# " + check_source.LICENCE + "\nimport os\n", "a.py:2: error: the file does not say what it is")
        self.check("a.cpp", line + "// long\n" * 6, "a.cpp:2: error: 6 lines say what the file is, 5 are the most")

    def test_openings_that_are_fine(self):
        line = "// " + check_source.LICENCE + "\n"
        for text in ("// long\n" * 5, "// It is a list:\n" + "//   one\n" * 9, "// It is.\n//\n" + "// more\n" * 9):
            self.check("a.cpp", line + text)
        self.check("a.py", "# " + check_source.LICENCE + '\n"""What it is:\n  usage\n' + "  usage\n" * 9 + '"""\n')
        self.check("a.c", "/* " + check_source.LICENCE + "\n * What it is. */\n")

    def test_any_failure(self):
        self.check("a.test", "RUN: no" + "t heddle compile x.ttir\n", "a.test:1: error: `not` takes any failure")

    def test_mark_without_issue(self):
        self.check("a.h", LICENCE + "// TO" + "DO: more\n", "a.h:3: error: 'TO" + "DO' without an issue")
        self.check("a.md", "FIX" + "ME later #3\n", "'FIX" + "ME' without an issue")

    def test_mark_with_issue(self):
        self.check("a.h", LICENCE + "// TODO(#12): more\n")

    def test_machine_path(self):
        self.check("a.md", "see /ho" + "me/ada/heddle\n", "a.md:1: error: a path of one machine")
        self.check("a.h", LICENCE + '#define ROOT "/ro' + 'ot/x"\n', "a.h:3: error: a path of one machine")

    def test_paths_that_are_fine(self):
        self.check("a.md", "framework/x, docs/home/x, https://a.example/work/x, /usr/lib/llvm-22\n")

    def test_chip_by_name(self):
        asked = "a.cpp:3: error: a chip is asked for by name"
        self.check("a.cpp", LICENCE + "bool b = &chip == &gfx950" + "Chip;\n", asked + ", 'gfx950Chip'")
        self.check("a.cpp", LICENCE + 'bool b = chip.name == "gfx' + '950";\n', asked)
        self.check("a.cpp", LICENCE + "bool b = chip.laneSwaps; // of gfx950\n")
        self.check("ATest.cpp", LICENCE + "Chip c = gfx950Chip;\n")

    def test_large_file(self):
        self.check("a.txt", "x" * (check_source.LARGEST_BYTES + 1), "a.txt:1: error: the file has 1048577 bytes")
        self.check("a.txt", "x" * check_source.LARGEST_BYTES)

    def test_generated_file(self):
        self.check("support/A.h.inc", "", "a generated file is tracked")
        self.check("compile_commands.json", "[]\n", "a generated file is tracked")
        self.check("a.txt", "This file was automatically generated.\n", "a generated file is tracked")


class Docs(Checks):
    def check(self, path, text, *messages):
        def run(root):
            return check_docs.Documents(root, root / "bin/heddle").check()
        self.expect(run, path, text, *messages)

    def test_clean(self):
        self.check(None, None)

    def test_rows_of_tables(self):
        self.check("a.md", "| a | b |\n|---|---|\n| 1 | `x | y` |\n\n| a |\n|---|\n")
        self.check("a.md", "| a | b |\n|---|---|\n| 1 | 2 | 3 |\n", "a.md:3: error: the row has 3 cells, and its table 2 columns")

    def test_dead_link(self):
        self.check("a.md", "[x](docs/gone.md)\n", "a.md:1: error: the link 'docs/gone.md' leads nowhere")

    def test_dead_anchor(self):
        self.check("a.md", "[x](docs/other.md#gone)\n", "'docs/other.md' has no heading '#gone'")

    def test_link_out_of_the_tree(self):
        self.check("a.md", "[x](../elsewhere.md)\n", "leads nowhere")

    def test_web_link(self):
        self.check("a.md", "[x](https://a.example/gone)\n")

    def test_dead_path(self):
        self.check("a.md", "\n`support/Gone.h`\n", "a.md:2: error: 'support/Gone.h' does not exist")
        self.check("a.md", "`gone/Gone.h` `gone/`\n", "'gone/Gone.h' does not", "'gone/' does not")
        self.check("a.md", "`gone/NAME.h`\n", "'gone/NAME.h' does not")

    def test_what_is_no_path(self):
        self.check("a.md", "`all-reduce/all-gather` `mlir/IR/Builders.h` `build/bin/heddle` `a / b`\n")

    def test_page_that_the_site_lacks(self):
        self.check("mkdocs.yml", "nav:\n  - Page: page.md\n", "docs/other.md:1: error: the page is not in the navigation of `mkdocs.yml`")

    def test_unknown_verb_of_dev(self):
        self.check("a.md", "```sh\n./dev frobnicate\n```\n", "a.md:2: error: './dev' has no verb 'frobnicate'")
        self.check("a.md", "run `./dev frobnicate`\n", "has no verb")

    def test_unknown_verb_of_heddle(self):
        self.check("a.md", "```sh\nbuild/bin/heddle frobnicate x\n```\n", "'heddle' has no verb 'frobnicate'")

    def test_unknown_flag(self):
        self.check("a.md", "```sh\nbuild/bin/heddle compile x \\\n  --targe gfx950\n```\n", "a.md:3: error: 'heddle compile' has no flag '--targe'")

    def test_dead_path_in_a_command(self):
        self.check("a.md", "```sh\nbuild/bin/heddle compile docs/gone.ttir\n```\n", "'docs/gone.ttir' does not exist")

    def test_commands_of_other_blocks(self):
        self.check("a.md", "```\n./dev frobnicate\n```\n")


class Words(Checks):
    def check(self, path, text, *messages):
        self.expect(check_words.check, path, text, *messages)

    def test_clean(self):
        self.check(None, None)

    def test_page(self):
        self.check("docs/page.md", "# A page\n\nThe barrier stands behind the store.\n",
                   "docs/page.md:3: error: 'behind' is a retired word; write: after, before")

    def test_message(self):
        self.check("compiler/a/A.cpp", LICENCE + 'fail("Nobody reads this");\n', "A.cpp:3: error: 'Nobody' is a retired word")

    def test_what_is_no_message(self):
        self.check("compiler/a/A.cpp", LICENCE + "int nobody; // `nobody` is told, Neighbours hear of it\n")

    def test_comment(self):
        self.check("compiler/a/A.cpp", LICENCE + 'f("//"); // stands behind the store\n', "A.cpp:3: error: 'behind' is a retired word")
        self.check("tests/a/ATest.cpp", LICENCE + "// nobody waits\n", "ATest.cpp:3: error: 'nobody' is a retired word")
        self.check("compiler/lowering/nvptx/A.cpp", LICENCE + "// nobody waits\n")

    def test_what_a_wait_waits_for(self):
        self.check("docs/page.md", "# A page\n\nThis wait waits for nothing.\n")

    def test_names(self):
        self.check("docs/meeting.md", "# A page\n", "docs/meeting.md:1: error: the name 'meeting.md' has a retired word, 'meeting'")
        self.check("tools/Run.cpp", LICENCE + 'option("--early-launch");\n', "Run.cpp:3: error: the name '--early-launch' has")
        self.check("include/heddle.h", LICENCE + "void heddle_meeting();\n", "heddle.h:3: error: the name 'heddle_meeting' has")


class Breaks(unittest.TestCase):
    def test_each_can_be_made(self):
        for number in range(len(break_sources.BREAKS)):
            self.assertNotEqual(break_sources.broken(number), "")


class Portable(unittest.TestCase):
    HEADERS = "  NEEDED               libc.so.6\n  NEEDED               libm.so.6\n"
    SYMBOLS = "0 DF *UND* 0 (GLIBC_2.9) a\n0 DF *UND* 0 (GLIBC_2.36) arc4random\n"

    def test_clean(self):
        self.assertEqual(check_portable.check("x", self.HEADERS, self.SYMBOLS, "2.36"), ([], "2.36"))

    def test_library(self):
        findings, _ = check_portable.check("x", self.HEADERS + "  NEEDED  libz.so.1\n", self.SYMBOLS, "2.36")
        self.assertEqual(len(findings), 1)
        self.assertIn("libz.so.1", findings[0])

    def test_glibc(self):
        findings, _ = check_portable.check("x", self.HEADERS, self.SYMBOLS, "2.9")
        self.assertEqual(findings, ["x:1: error: needs glibc 2.36, newer than 2.9, for arc4random"])

    def test_no_versions(self):
        findings, _ = check_portable.check("x", self.HEADERS, "", "2.36")
        self.assertEqual(len(findings), 1)


@unittest.skipUnless(check_site.find_browser(), "there is no Chromium")
class Site(unittest.TestCase):
    """Each test starts a browser once."""
    PAGES = {"index.html": "<h1 id='top'>a</h1><a href='b/'>b</a><a href='b/#part'>part</a>",
             "b/index.html": "<h2 id='part'>b</h2><a href='../#top'>back</a><a href='https://example.com/'>elsewhere</a>", "404.html": "none"}

    PICTURE = ("<svg xmlns='http://www.w3.org/2000/svg' width='9' height='9'><style>polyline { fill: none } %s</style>"
               "<polyline class='a' points='0,0 9,9 9,0'/></svg>")

    def findings(self, **changed):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in {**self.PAGES, **{key.replace("__", "/"): text for key, text in changed.items()}}.items():
                file = pathlib.Path(folder) / (name if name.endswith((".html", ".svg")) else name + ".html")
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text if name.endswith(".svg") else "<!DOCTYPE html><link rel='icon' href='data:,'>" + text)
            return [finding.replace(folder, "") for finding in check_site.check(folder, check_site.find_browser())]

    def test_clean(self):
        self.assertEqual(self.findings(), [])

    def test_each_fault(self):
        found = "\n".join(self.findings(
            b__index="<h2>b</h2><img src='none.png'><script>console.error('oh')</script><script>f()</script><a href='/gone/'>gone</a>",
            lost__index="lost",
            index="<h1 id='top'>a</h1><a href='b/#part'>b</a><a href='b/'>b</a><img src='good.svg'><img src='dark.svg'>",
            **{"good.svg": self.PICTURE % "", "dark.svg": self.PICTURE % "@media (prefers-color-scheme: dark) { .a { fill: red } }"}))
        self.assertNotIn("good.svg", found)
        for part in ("/dark.svg: error: a line of the picture is filled on a dark screen",
                     "/lost/: error: no link leads from the start page", "/gone/: error: a page asks for this file", "console: oh",
                     "console: Uncaught ReferenceError", "/b/: error: the picture '/b/none.png' is not shown",
                     "/: error: '/b/' has no anchor '#part'"):
            self.assertIn(part, found)


class Filters(unittest.TestCase):
    NAMES = ["Sums.OfAll/f32", "Sums.OfAll/f16", "Shapes.Odd"]

    def test_clean(self):
        for text in ("*", "Sums.*:Shapes.*", "-Shapes.*", "Sums.*f?2:-*f16"):
            self.assertEqual(check_filters.idle_parts(self.NAMES, text), [])

    def test_idle_part(self):
        self.assertEqual(check_filters.idle_parts(self.NAMES, "Sums.*:Products.*"), ["Products.*"])
        self.assertEqual(check_filters.idle_parts(self.NAMES, "-*f64"), ["*f64"])

    def test_nothing_left(self):
        self.assertEqual(check_filters.idle_parts(self.NAMES, "Sums.*:-Sums.*"), ["Sums.*:-Sums.*"])


if __name__ == "__main__":
    unittest.main()
