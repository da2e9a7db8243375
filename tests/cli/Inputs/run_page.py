# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the commands of a page's `console` blocks and looks for what stands below them in what they print, in that order;
`...` stands for anything. Numbers may be others, as compilers and machines differ, but not those that say whether all is
well: exit codes, errors, findings, wrong elements. A command with nothing to print must succeed: run_page.py PAGE"""
import re
import subprocess
import sys

NUMBER = re.compile(r"-?0x[0-9a-f]+|-?[0-9]+(?:\.[0-9]+)?")


def commands(text):
    """Each command with the lines below it."""
    for block in re.findall(r"^```console\n(.*?)^```", text, re.S | re.M):
        for part in re.split(r"^\$ ", block.replace("\\\n", ""), flags=re.M)[1:]:
            command, *lines = part.splitlines()
            yield command, [line for line in lines if line.strip() not in ("", "...")]


def number_pattern(before, number, after):
    """Of a number between the two parts of a line: any number, itself, or for a count of faults any but 0."""
    if re.search(r"(\berrors:|\bexit code) $", before):
        return re.escape(number)
    if re.match(r" (wrong|finding|findings|OK)\b", after):
        return "0" if number == "0" else r"[1-9][0-9]*"
    return r"\S+?"


def pattern(line):
    """Numbers stand for any, and so does what a number's width changes."""
    line = " ".join(line.split())
    wanted, at = "", 0
    for match in NUMBER.finditer(line):
        wanted += re.escape(line[at:match.start()])
        wanted += number_pattern(line[:match.start()], match.group(), line[match.end():])
        at = match.end()
    return (wanted + re.escape(line[at:])).replace(r"\.\.\.", ".*")


count = 0
for command, lines in commands(open(sys.argv[1], encoding="utf-8").read()):
    count += 1
    result = subprocess.run(command, shell=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if not lines and result.returncode != 0:
        sys.exit(f"{sys.argv[1]}: `{command}` exits with {result.returncode}; it prints\n{result.stdout}")
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
