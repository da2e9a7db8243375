# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Holds the code of a page against the files that it is of. A block that follows a line ending with a path, as in
`chips/Chip.h`:, is a part of that file: its lines stand there one after the other; a line `...` stands for any lines that
are left out: excerpts.py PAGE ROOT"""
import pathlib
import re
import sys


def paragraphs(block):
    """The runs of lines between lines that are `...`."""
    runs = [[]]
    for line in block.splitlines():
        if line.strip() in ("...", "// ...", "# ..."):
            runs.append([])
        else:
            runs[-1].append(line.rstrip())
    return [run for run in runs if run]


page, root = sys.argv[1], pathlib.Path(sys.argv[2])
count = 0
for path, block in re.findall(r"`([\w./-]+)`:\n\n```\w*\n(.*?)^```", open(page, encoding="utf-8").read(), re.S | re.M):
    count += 1
    lines = [line.rstrip() for line in (root / path).read_text(encoding="utf-8").splitlines()]
    at = 0
    for run in paragraphs(block):
        found = [i for i in range(at, len(lines) - len(run) + 1) if lines[i:i + len(run)] == run]
        if not found:
            sys.exit(f"{page}: {path} does not have these lines, after line {at}:\n" + "\n".join(run))
        at = found[0] + len(run)
print(f"{count} excerpts")
