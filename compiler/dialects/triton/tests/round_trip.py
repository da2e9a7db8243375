# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks that tile programs survive printing: round_trip.py [--other-spelling] FILE...

For each file: the printed text reads back to the same text, with and without locations and through the generic form;
and every line of the input stands in the output, but for locations and the numbers in SSA names (not with
--other-spelling, for input that heddle-opt prints in another way).
"""
import argparse
import difflib
import re
import subprocess
import sys

NAMED = ["--mlir-print-debuginfo", "--mlir-use-nameloc-as-prefix"]


def heddle_opt(text, *flags):
    result = subprocess.run(["heddle-opt", *flags], input=text, capture_output=True, text=True)
    if result.returncode:
        sys.exit(f"heddle-opt {' '.join(flags)} ends with {result.returncode}\n{result.stderr}")
    return result.stdout


def without_locations(text):
    lines = [line for line in text.splitlines() if not re.match(r"\s*(#loc\d* = |//|$)", line)]
    text = "\n".join(lines)
    result, position = [], 0
    for match in re.finditer(r" loc\(", text):
        if match.start() < position:
            continue
        end, depth = match.end(), 1
        while depth:
            if text[end] == '"':
                end = text.index('"', end + 1)
            depth += {"(": 1, ")": -1}.get(text[end], 0)
            end += 1
        result.append(text[position : match.start()])
        position = end
    return "".join(result) + text[position:]


# A name is defined where `=` or a type follows it, or another name of a list of results. Sibling regions share names.
NAME = re.compile(r"(%[\w$.-]+)((?::\d+)? = |: |(?=, (?:%[\w$.-]+(?:, )?)+ = ))?")


def normalised(text):
    """The lines of `text`, without locations and comments, with SSA names and labels numbered by their definitions."""
    names, labels, count, lines = {}, {}, 0, []
    for line in without_locations(text).splitlines():
        defined = {}

        def rename(match):
            nonlocal count
            name, definition = match.groups()
            if definition is None:
                return names.get(name, name)
            count += 1
            defined[name] = f"%{count}"
            return defined[name] + definition

        line = NAME.sub(rename, line)
        line = re.sub(r"\^\w+", lambda label: labels.setdefault(label[0], f"^{len(labels)}"), line)
        names.update(defined)
        line = line.split(" //")[0].strip()
        if line not in ("", "module {"):
            lines.append(line)
    return lines


def require_equal(what, wanted, found):
    if wanted != found:
        difference = "\n".join(difflib.unified_diff(wanted, found, "wanted", "found", lineterm="", n=1))
        sys.exit(f"{what}\n{difference}")


def check(path, other_spelling):
    text = open(path).read()
    printed = heddle_opt(text)
    require_equal(f"{path}: not a fixed point", printed.splitlines(), heddle_opt(printed).splitlines())
    generic = heddle_opt(text, "--mlir-print-op-generic")
    require_equal(f"{path}: changed by the generic form", printed.splitlines(), heddle_opt(generic).splitlines())
    located = heddle_opt(text, "--mlir-print-debuginfo")
    require_equal(f"{path}: locations are not a fixed point", located.splitlines(),
                  heddle_opt(located, "--mlir-print-debuginfo").splitlines())
    if not other_spelling:
        wanted = normalised(text)
        found = normalised(heddle_opt(text, *NAMED))
        if "module {" not in text:
            found.pop()  # the brace of the module that heddle-opt adds
        require_equal(f"{path}: lines changed", wanted, found)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--other-spelling", action="store_true")
    parser.add_argument("files", nargs="+")
    arguments = parser.parse_args()
    for file in arguments.files:
        check(file, arguments.other_spelling)


if __name__ == "__main__":
    main()
