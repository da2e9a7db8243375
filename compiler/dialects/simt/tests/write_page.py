# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The operations' part of docs/simt.md: write_page.py SOURCE_DIR prints what is out of date, with --write it writes it.

Names, summaries and descriptions are those of SimtOps.td and the files that it includes, examples those of example*.mlir,
which tests read and print.
"""
import glob
import os
import re
import sys

most_examples = 3


def section_of(comment):
    return re.sub(r"\s*-*===//$", "", comment.removeprefix("//===-- "))


def text_of(body, field):
    """A string of TableGen, in quotes or brackets, as one line."""
    match = re.search(rf'let {field} = (?:"((?:[^"\\]|\\.)*)"|\[\{{(.*?)\}}\])', body, re.DOTALL)
    return re.sub(r"\s+", " ", match[1] or match[2]).strip().replace('\\"', '"') if match else ""


def read_source(dialect, name="SimtOps.td"):
    """A file with the dialect's own files where it includes them."""
    text = open(os.path.join(dialect, name)).read()
    return re.sub(r'^include "(Simt\w+\.td)"$', lambda match: read_source(dialect, match[1]), text, flags=re.MULTILINE)


def read_definitions(text):
    """(section, name, summary, description) of each operation, in the order of the file."""
    classes = {match[1]: match[2] for match in re.finditer(r"^class (Simt_\w+)<.*?\{\n(.*?)^\}", text, re.DOTALL | re.MULTILINE)}
    section, found = "Tiles", []
    pattern = r'^(//===-- [^\n]*)$|^def \w+ : (Simt_\w+)<"([\w.]+)"(.*?)^\}'
    for match in re.finditer(pattern, text, re.DOTALL | re.MULTILINE):
        if match[1]:
            section = section_of(match[1])
        elif match[2].endswith(("Op", "Indexed", "Combine")):
            description = text_of(match[4], "description") or text_of(classes.get(match[2], ""), "description")
            found.append((section, "simt." + match[3], text_of(match[4], "summary"), description))
    return found


def statement_at(lines, number):
    """The statement that begins on a line, with its region and what is broken onto further lines; without comments."""
    taken, open_braces = [], 0
    for line in lines[number:]:
        if taken and open_braces == 0 and not line.strip().startswith(":"):
            break
        if not line.strip().startswith("//"):
            taken.append(line)
            open_braces += line.count("{") - line.count("}")
    indent = len(taken[0]) - len(taken[0].lstrip())
    return "\n".join(line[indent:] for line in taken)


def examples_of(name, files):
    found = []
    for lines in files:
        for number, line in enumerate(lines):
            if not line.strip().startswith("//") and re.search(rf'(?<![\w."]){re.escape(name)}(?![\w.])', line):
                found.append(statement_at(lines, number))
    found = list(dict.fromkeys(found))
    longest = 1 if found and "\n" in found[0] else most_examples
    return [text for text in found if "\n" not in text or text == found[0]][:longest]


def write_section(definitions, files):
    lines, last = [], None
    for section, name, summary, description in definitions:
        if section != last:
            lines += [f"### {section}", ""]
            last = section
        sentence = summary + ("" if summary.endswith(".") else ".")
        lines += [f"`{name}`: {sentence}" + (f" {description}" if description else ""), "", "```text"]
        lines += examples_of(name, files) + ["```", ""]
    return "\n".join(lines) + "\n"


def main():
    source = sys.argv[1]
    dialect = os.path.join(source, "compiler", "dialects", "simt")
    definitions = read_definitions(read_source(dialect))
    files = [open(path).read().split("\n") for path in sorted(glob.glob(os.path.join(dialect, "tests", "example*.mlir")))]
    missing = [name for _, name, _, _ in definitions if not examples_of(name, files)]
    if missing:
        sys.exit(f"no example of {', '.join(missing)} in compiler/dialects/simt/tests/example*.mlir")
    path = os.path.join(source, "docs", "simt.md")
    page = open(path).read()
    start, end = page.index("## Operations\n") + len("## Operations\n"), page.index("## Rules\n")
    made = "\n" + write_section(definitions, files)
    if page[start:end] == made:
        return
    if "--write" not in sys.argv:
        sys.exit("docs/simt.md: the operations are not those of SimtOps.td and its examples; run "
                 "`python3 compiler/dialects/simt/tests/write_page.py . --write`")
    open(path, "w").write(page[:start] + made + page[end:])


main()
