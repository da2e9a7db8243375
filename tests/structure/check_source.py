#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Holds every file to the rules that a reader of one change overlooks: licence line, opening, marks, paths, size, generated files."""
import pathlib
import re

import tree

LARGEST_BYTES = 1 << 20
LICENCE = "SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception"
SOURCES = (".cpp", ".h", ".c", ".td", ".py", ".sh")
SCRIPT = re.compile(r"#!.*\b(bash|sh|python3)\b")
COMMENT = re.compile(r"\s*(?://|#(?!\s*(?:include|pragma|if|define)\b)|\*(?!/))(.*)")
MOST_OPENING = 5
FOREIGN = ("tests/corpus/",)  # other people's files, kept as they came
MARK = re.compile(r"\b(?:TODO|FIXME|XXX|HACK)\b(?!.{0,3}#\d)")  # marks without their issue, '(#12)'
# A folder of one person's or one machine's.
MACHINE_PATH = re.compile(r"(?<![\w.$}~-])/(?:home|root|Users|work|mnt|farm)/[\w.]")
GENERATED = re.compile(r"(\.(o|a|so|hpkg|hsaco|cubin|pyc|inc\.h|h\.inc|cpp\.inc)|(^|/)compile_commands\.json)$")
# What a chip can do is said by its fields (chips/Chip.h), never by which chip it is.
CHIP_BY_NAME = re.compile(r"\b(?:gfx|sm)\w*Chip\b|[=!]= *\"(?:gfx\d|sm_)")
# `not` takes any failure for the one that was meant.
ANY_FAILURE = re.compile(r"RUN:.*\bnot (?:heddle|python3|cmp|%\w*python)")
GENERATED_TEXT = re.compile(r"TableGen'erated|automatically generated|auto-?generated file|DO NOT EDIT", re.IGNORECASE)


def is_source(path, text):
    if path.startswith(FOREIGN):
        return False
    return path.endswith(SOURCES) or bool("." not in pathlib.PurePath(path).name and SCRIPT.match(text))


def opening(lines):
    """The comment after the licence line that says what the file is, up to an empty line, a list or the end of the comment."""
    after = next((number for number, line in enumerate(lines[:3], 1) if LICENCE in line), len(lines))
    rest = lines[after:]
    found = []
    if rest and rest[0].startswith('"""'):
        for line in "\n".join(rest)[3:].split('"""')[0].splitlines():
            if not line.strip() or (found and line.startswith("  ")):
                break
            found.append(line)
        return found
    for line in rest:
        match = COMMENT.match(line)
        if not match or not match[1].strip(" */") or (found and match[1].startswith("  ")):
            break
        found.append(match[1])
    return found


def check_opening(path, lines):
    if not any(LICENCE in line for line in lines[:3]):
        return [f"{path}:1: error: the licence line is missing; open the file with '{LICENCE}'"]
    count = len(opening(lines))
    if count == 0:
        return [f"{path}:2: error: the file does not say what it is; after the licence line comes a comment of one to five lines"]
    if count > MOST_OPENING:
        return [f"{path}:2: error: {count} lines say what the file is, {MOST_OPENING} are the most; end them with an empty comment line"]
    return []


def may_name_chips(path):
    name = pathlib.PurePath(path).name
    return path.startswith(("chips/", "tests/")) or not name.endswith((".cpp", ".h")) or "Test" in name


def check_file(root, path):
    size = (pathlib.Path(root) / path).stat().st_size
    if size > LARGEST_BYTES:
        return [f"{path}:1: error: the file has {size} bytes; {LARGEST_BYTES} is the most, generate it or fetch it instead"]
    if GENERATED.search(path):
        return [f"{path}:1: error: a generated file is tracked; let the build make it"]
    text = tree.text(root, path)
    if text is None:
        return []
    findings = []
    lines = text.splitlines()
    if is_source(path, text):
        findings += check_opening(path, lines)
    if path.startswith(FOREIGN) or path == "LICENSE":
        return findings
    if not path.startswith("tests/structure/") and any(GENERATED_TEXT.search(line) for line in lines[:5]):
        findings.append(f"{path}:1: error: a generated file is tracked; let the build make it")
    for number, line in enumerate(lines, 1):
        chip = CHIP_BY_NAME.search(line) if not may_name_chips(path) else None
        if chip:
            findings.append(f"{path}:{number}: error: a chip is asked for by name, '{chip[0]}'; ask for a field of `Chip`")
        if ANY_FAILURE.search(line):
            findings.append(f"{path}:{number}: error: `not` takes any failure; write the exit code, such as `%fails2`")
        mark = MARK.search(line) if not path.startswith("tests/structure/") else None
        if mark:
            findings.append(f"{path}:{number}: error: '{mark[0]}' without an issue; write '{mark[0]}(#NUMBER)' or settle it")
        machine = MACHINE_PATH.search(line)
        if machine:
            findings.append(f"{path}:{number}: error: a path of one machine, '{machine[0][:-1]}…'; use a relative path")
    return findings


def check(root):
    return [finding for path in tree.files(root) for finding in check_file(root, path)]


if __name__ == "__main__":
    tree.report(check(tree.arguments(__doc__).parse_args().root))
