# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks that documentation and tests keep up with a dialect: check_dialect.py SOURCE_DIR [triton | peer | simt | ttg].

Each operation stands in the dialect's page and in a round-trip test. Each verifier rule is numbered without a gap, and
has a negative test of its number: a function `@d3` or `@d3_...`.
"""
import glob
import os
import re
import sys

source = sys.argv[1]
name = sys.argv[2] if len(sys.argv) > 2 else "triton"
dialect = os.path.join(source, "compiler", "dialects", name)
page_name = {"triton": "docs/triton-ir.md", "peer": "docs/peer.md", "simt": "docs/simt.md", "ttg": "docs/ttgir-reference.md"}[name]
least_operations, least_rules = {"triton": (50, 80), "peer": (12, 12), "simt": (15, 20), "ttg": (30, 30)}[name]


def read(pattern):
    return "".join(open(path).read() for path in sorted(glob.glob(os.path.join(dialect, pattern))))


problems = []

definitions = read("*.td")
CLASSES = {"TT_Op": "tt", "Peer_Op": "peer", "Simt_Op": "simt", "Simt_Indexed": "simt",
           "Simt_Combine": "simt", "Simt_ArrivalsOp": "simt", "TTG_Op": "ttg", "TTG_View": "ttg", "AMDG_Op": "amdg",
           "AMDG_Scaled": "amdg", "TTNG_Op": "ttng", "Op<Gluon_Dialect,": "gluon", "Op<RocdlText_Dialect,": "rocdl"}
operations = []
for start, prefix in CLASSES.items():
    opening = re.escape(start) + (" " if start.endswith(",") else "<")
    operations += [f"{prefix}.{found}" for found in re.findall(rf'^def \w+ : {opening}"([\w.]+)"', definitions, re.MULTILINE)]
page = open(os.path.join(source, page_name)).read()
listed = re.findall(r"`((?:ttg?|ttng|peer|simt|amdg|gluon|rocdl)\.[\w.]+)", page)
tests = read("tests/ops_*.mlir") + read("tests/envelope.mlir") + read("tests/example*.mlir")
for name in operations:
    if name not in listed:
        problems.append(f"{page_name} does not list '{name}'")
    if not re.search(rf'(?<![\w.]){re.escape(name)}(?![\w.])', tests):
        problems.append(f"no round-trip test contains '{name}'")

code = read("*.cpp") + read("*.h")
sentences = sorted(set(re.findall(r"Rule ([A-Z]\d+): (.*)", code)))
for (rule, first), (again, second) in zip(sentences, sentences[1:]):
    if rule == again:
        problems.append(f"rule {rule} is both '{first}' and '{second}'")
rules = sorted({(letter, int(number)) for letter, number in re.findall(r"Rule ([A-Z])(\d+):", code)})
negative = read("tests/verify*.mlir")
tested = {(letter.upper(), int(number)) for letter, number in re.findall(r"@([a-z])(\d+)(?:_\w+)?\(", negative)}
for letter, number in rules:
    if (letter, number) not in tested:
        problems.append(f"rule {letter}{number} has no test '@{letter.lower()}{number}' in verify*.mlir")
    if number > 1 and (letter, number - 1) not in rules:
        problems.append(f"rule {letter}{number} follows no rule {letter}{number - 1}")
for letter, number in sorted(tested - set(rules)):
    problems.append(f"test '@{letter.lower()}{number}' names no rule of the verifier")
for letter in sorted({letter for letter, _ in rules}):
    if not re.search(rf"^\| {letter} \|", page, re.MULTILINE):
        problems.append(f"{page_name} does not say what the rules {letter} are about")

if len(operations) < least_operations or len(rules) < least_rules:
    problems.append(f"found only {len(operations)} operations and {len(rules)} rules: have their definitions moved?")
print("\n".join(problems))
sys.exit(bool(problems))
