# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the commands of a page's `console` blocks and looks for what stands below them in what they print, in that order;
`...` stands for anything. Numbers may be others, as compilers and machines differ: run_page.py PAGE"""
import re
import subprocess
import sys


def commands(text):
    """Each command with the lines below it."""
    for block in re.findall(r"^```console\n(.*?)^```", text, re.S | re.M):
        for part in re.split(r"^\$ ", block.replace("\\\n", ""), flags=re.M)[1:]:
            command, *lines = part.splitlines()
            yield command, [line for line in lines if line.strip() not in ("", "...")]


def pattern(line):
    """Numbers stand for any, and so does what a number's width changes."""
    pieces = [r"\S+?" if re.fullmatch(r"-?(0x[0-9a-f]+|[0-9.]+)", piece) else re.escape(piece)
              for piece in re.split(r"(-?0x[0-9a-f]+|-?[0-9]+(?:\.[0-9]+)?)", " ".join(line.split()))]
    return "".join(pieces).replace(r"\.\.\.", ".*")


count = 0
for command, lines in commands(open(sys.argv[1], encoding="utf-8").read()):
    count += 1
    result = subprocess.run(command, shell=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    printed = [" ".join(line.split()) for line in result.stdout.splitlines()]
    at = 0
    for line in lines:
        wanted = pattern(line)
        while at < len(printed) and not re.fullmatch(wanted, printed[at]):
            at += 1
        if at == len(printed):
            sys.exit(f"{sys.argv[1]}: `{command}` does not print `{line}`; it prints\n{result.stdout}")
        at += 1
print(f"{count} commands")
