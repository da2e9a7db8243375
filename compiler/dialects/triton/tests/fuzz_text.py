# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Feeds damaged programs to heddle-opt: fuzz_text.py [--count N] [--seed N] [--keep FILE] [--passes A,B] PROGRAM...

Any answer is right but a crash. Each program is damaged one to three times, in its short or in its generic form; what
still verifies is folded, too, or goes through the named passes. The same arguments do the same damage. The first
crashing input is written to FILE.
"""
import argparse
import random
import re
import subprocess
import sys

from round_trip import without_locations

BATCH = 100
SEPARATOR = "\n// -----\n"
TOKEN = re.compile(r'"[^"\n]*"|[%@#!^]?[\w$.]+|->|\s+|.')
NUMBERS = """0 1 -1 2 3 16 65536 2097152 4294967296 9223372036854775807 99999999999999999999 0x7F 0xFFFF""".split()
TYPES = """i1 i8 i32 i64 f16 bf16 f32 f64 index none f8E4M3FN si8 !tt.ptr<f32> !tt.ptr<tensor<4xf32>> tensor<f32>
tensor<4xi1> tensor<0xf32> tensor<?xi32> tensor<*xf32> tensor<3x4xi32> tensor<4x!tt.ptr<f32>> tensor<2x2xi8>
tensor<4xvector<2xi8>> vector<4xf32> memref<4xf32> tuple<> !tt.tensordesc<tensor<4x4xf32>> !tt.tensordesc<4xf16>
complex<f32>""".split()
WORDS = """( ) { } < > [ ] , : = -> dense<0> unit array<i32> loc(unknown) <{}> true "\\00" é #loc ^bb0 %0 @f x ?""".split()
WORDS += ["", "\x00"]

TYPE = re.compile(r"(?:tensor|!tt\.\w+)<(?:[^<>]|<(?:[^<>]|<[^<>]*>)*>)*>|\b(?:i|f|bf)\d+\w*")
NUMBER = re.compile(r"(?<=[ :])-?\d+(?=[ ,>])|\d+(?=x)")
ELEMENT = re.compile(r"(?<=x)[a-z]\w+")
NAME = re.compile(r"%[\w#]+")
OPERATION = re.compile(r"\b(?:ttg?|amdg|gluon|arith|math|scf|cf)\.\w[\w.]*")
BASIS = re.compile(r"(?<=[\[ ])\d+(?=[,\]])|(?<=[\[,])\[\d[\d, ]*\]")  # a number of a list of numbers, or a list in one
ATTRIBUTE = re.compile(r"[a-z]\w+ = (?:array<[^>]*>|[^,}>{]+)")


def replace_one(rng, text, pattern, others=()):
    """One match by another of the same kind, from the text or from `others`."""
    matches = list(pattern.finditer(text))
    if not matches:
        return text
    match = rng.choice(matches)
    new = rng.choice(others) if others and rng.random() < 0.7 else rng.choice(matches)[0]
    return text[: match.start()] + new + text[match.end() :]


def replace_type(rng, text):
    """A type by another wherever it occurs, so that uses still agree with definitions."""
    types = sorted(set(TYPE.findall(text)))
    if not types:
        return text
    old = rng.choice(types)
    new = rng.choice(TYPES) if rng.random() < 0.4 else rng.choice(types)
    if "tensor<" in old and rng.random() < 0.5:
        part, others = (NUMBER, NUMBERS[:8]) if rng.random() < 0.6 else (ELEMENT, types)
        new = replace_one(rng, old, part, others)
    return re.sub(r"(?<![\w<])" + re.escape(old), lambda _: new, text)


def replace_token(rng, text):
    tokens = TOKEN.findall(text)
    index = rng.randrange(len(tokens))
    new = rng.choice([rng.choice(WORDS), rng.choice(tokens), "", tokens[index] * 2])
    return "".join(tokens[:index] + [new] + tokens[index + 1 :])


def replace_line(rng, text):
    lines = text.splitlines(keepends=True)
    a, b = rng.randrange(len(lines)), rng.randrange(len(lines))
    lines[a] = rng.choice(["", lines[b], lines[a] + lines[b]])
    return "".join(lines)


def damage(rng, text, layouts=False):
    for _ in range(rng.randint(1, 3)):
        if not text:
            break
        kind = rng.randrange(100)
        if kind < 45:
            text = replace_type(rng, text)
        elif kind < 60:
            lists = layouts and rng.random() < 0.5
            text = replace_one(rng, text, BASIS if lists else NUMBER, ["0", "1", "2", "4", "64"] if lists else NUMBERS)
        elif kind < 67:
            text = replace_one(rng, text, OPERATION)
        elif kind < 75:
            text = replace_one(rng, text, NAME)
        elif kind < 83:
            text = replace_one(rng, text, ATTRIBUTE, ["axis = -1 : i32", "kept = 1"])
        elif kind < 90:
            text = replace_line(rng, text)
        elif kind < 99:
            text = replace_token(rng, text)
        else:
            text = text[: rng.randrange(len(text))]
    return text


def run(text, *flags):
    command = ["heddle-opt", "--mlir-disable-threading", *flags]
    return subprocess.run(command, input=text.encode(), capture_output=True, timeout=120)


def crashes(inputs, passes):
    """Whether the process that reads these inputs dies; errors in them are fine."""
    flags = [f"--{name}" for name in passes]
    result = run(SEPARATOR.join(inputs), "--split-input-file", *flags, "-o", "/dev/null")
    return result.returncode not in (0, 1) or b"LLVM ERROR" in result.stderr or b"runtime error:" in result.stderr


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=600)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", default="crash.mlir")
    parser.add_argument("--passes", type=lambda names: names.split(","), default=["canonicalize", "cse"])
    parser.add_argument("programs", nargs="+")
    arguments = parser.parse_args()
    rng = random.Random(arguments.seed)
    seeds = []
    for path in arguments.programs:
        text = without_locations(open(path).read())
        seeds.append(text)
        seeds += [part for part in re.split(r"^(?=tt\.func)", text, flags=re.MULTILINE) if part.startswith("tt.func")]
        generic = run(text, "--mlir-print-op-generic")
        if generic.returncode:
            sys.exit(f"heddle-opt does not read {path}\n{generic.stderr.decode()}")
        seeds.append(generic.stdout.decode())
    layouts = any("#ttg" in seed for seed in seeds)
    inputs = [damage(rng, rng.choice(seeds), layouts) for _ in range(arguments.count)]
    for start in range(0, len(inputs), BATCH):
        batch = inputs[start : start + BATCH]
        if crashes(batch, arguments.passes):
            culprit = next((text for text in batch if crashes([text], arguments.passes)), SEPARATOR.join(batch))
            open(arguments.keep, "w").write(culprit)
            sys.exit(f"heddle-opt crashes on {arguments.keep} (seed {arguments.seed}, from input {start} on)")


main()
