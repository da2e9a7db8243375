#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Holds what users read to the words of the CUDA, HIP, Triton, LLVM and NCCL manuals: the table has words that are retired,
each with what is written instead. Looked at are the Markdown, the texts in quotes of the sources (messages and help), the
comments of C++ files, the descriptions that become documentation, and the names of files, flags and public functions."""
import re

import tree

# A regular expression of the retired word, what to write, and what is meant in a name (None: the word is fine in names).
WORDS = [
    (r"behind|in front of", "after, before, past the end of", r"behind"),
    (r"on (?:its|their) way|under way", "in flight, outstanding, running", None),
    (r"(?:all|ranks|threads|warps|waves|devices|they) meet\b|meets? (?:once|twice|at a barrier)|meeting", "a barrier, synchronise", r"meeting"),
    (r"turned (?:tile|operand|matrix|view|operands|tiles)|is turned\b", "transposed", r"turned"),
    (r"(?:many|all) orders of (?:things|execution)|order of things", "schedules, interleavings", None),
    (r"(?:run|runs|loads|copies) ahead\b", "prefetch, software pipelining", None),
    (r"spread over|is spread", "distributed; its layout", r"spread"),
    (r"dear(?:er)?\b(?!,)|cheap(?:er|ly)?", "expensive, low-cost, or the number", r"cheap|dear"),
    (r"somebody|nobody|everybody|whoever", "the thread, rank, reader or host that it is", r"somebody|nobody|whoever"),
    (r"takes? in (?:the|what|code|element)|puts? out (?:the|what)", "fuses (prologue, epilogue), stores", None),
    (r"launch(?:es)? that starts? early|early launch", "programmatic dependent launch", r"early[_-]?launch"),
    (r"neighbou?r(?:s|ing)? (?:elements?|lanes?)|neighbou?rs\b", "contiguous elements, adjacent lanes", None),
    (r"kin to|next of kin|of old\b|anew\b", "related, existing, again", r"anew"),
    (r"for nothing\b(?! else)(?! before)", "without effect", None),
    (r"by groups of four warps|products? of (?:four|single) warps", "warp-group MMA (wgmma)", None),
    (r"change places", "are swapped", None),
    (r"places of memory|place of memory", "offsets, addresses", None),
    (r"what stands for|meaning of a packet", "sentinel value, escape code", None),
]
RETIRED = [(re.compile(rf"\b(?:{pattern})", re.IGNORECASE), words, re.compile(name, re.IGNORECASE) if name else None)
           for pattern, words, name in WORDS]
ALLOWED = re.compile(r"waits? for nothing", re.IGNORECASE)  # a wait that waits for no operation
STRING = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
PUBLIC = ("include/heddle.h",)
NAMED = ("docs/", "tools/", "api/", "include/", "python/heddle/", "examples/", "collectives/algorithms/")  # users see these files' names
FOREIGN = ("tests/", "examples/", "bench/", "python/tests/")
COMMENT = re.compile(r'(?:[^"]|"(?:[^"\\]|\\.)*")*?(//.*)')
CODE = re.compile(r"`[^`]*`|\bNeighbours\b")  # names in comments, a class among them
NOT_READ_YET = ("compiler/lowering/tile_to_simt/", "compiler/lowering/ttg_to_simt/", "compiler/lowering/nvptx/")  # comments
NOT_READ = ("tests/structure/check_words.py", "tests/structure/test_checks.py")


def texts(path, text):
    """Number and text of each piece that users read."""
    name = path.rsplit("/", 1)[-1]
    documents = path.endswith((".md", ".td")) or path in PUBLIC or path == "dev"
    strings = name.endswith((".cpp", ".h")) and "Test" not in name
    if name.endswith((".cpp", ".h")) and not path.startswith(NOT_READ_YET):
        for number, line in enumerate(text.splitlines(), 1):
            match = COMMENT.match(line)
            if match:
                yield number, CODE.sub("", match[1])
    if path.startswith(FOREIGN) and not path.endswith(".md"):
        return
    for number, line in enumerate(text.splitlines(), 1):
        if documents:
            yield number, line
        elif strings and not line.lstrip().startswith(("#include", "//")):
            for match in STRING.finditer(line):
                yield number, match[1]
        elif path.startswith("python/heddle/"):
            yield number, line


def names(path, text):
    if path.startswith(NAMED):
        yield 1, path.rsplit("/", 1)[-1]
    flags = r"(?<=\")(?:-\w,)?--[\w-]+" if path.startswith("tools/") else r"\bheddle_\w+" if path in PUBLIC else r"$^"
    for number, line in enumerate(text.splitlines(), 1):
        for match in re.finditer(flags, line):
            yield number, match[0]


def check_file(root, path):
    text = tree.text(root, path)
    if text is None or path in NOT_READ or path.startswith("tests/corpus/"):
        return []
    findings = []
    for number, piece in texts(path, text):
        for retired, instead, _ in RETIRED:
            match = retired.search(ALLOWED.sub("", piece))
            if match:
                findings.append(f"{path}:{number}: error: '{match[0]}' is a retired word; write: {instead}")
    for number, piece in names(path, text):
        for _, instead, retired in RETIRED:
            match = retired.search(piece) if retired else None
            if match:
                findings.append(f"{path}:{number}: error: the name '{piece}' has a retired word, '{match[0]}'; write: {instead}")
    return findings


def check(root):
    return [finding for path in tree.files(root) for finding in check_file(root, path)]


if __name__ == "__main__":
    tree.report(check(tree.arguments(__doc__).parse_args().root))
