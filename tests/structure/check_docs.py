#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Holds the Markdown against the tree: links, back-ticked paths, and the commands of its shell blocks."""
import pathlib
import re
import shlex
import subprocess

import tree

LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)(?:\s+\"[^\"]*\")?\)")
CODE = re.compile(r"(`+)(.+?)\1")
FENCE = re.compile(r"^\s*(```+|~~~+)\s*(\w*)")
SHELL = ("sh", "bash", "shell", "console")
PATH = re.compile(r"(?:\./)?[\w.+*-]+(?:/[\w.+*-]+)+/?|[\w.+*-]+/")
FILE_NAME = re.compile(r"\.(cpp|h|td|mlir|ttir|hlo|test|md|py|sh|txt|cmake|json)$")
FOREIGN = ("mlir", "llvm", "lld", "clang")  # the first folder of other projects' headers
OUTPUT = ("build", "package")  # folders that the tree does not hold
PLACEHOLDER = re.compile(r"[A-Z][A-Z_]+$")  # 'chips/NAME.cpp'
COMMAND = re.compile(r"^(?:\$ )?(?:[A-Z_]+=\S+ )*((?:\./)?dev|(?:\S*/)?heddle)\s+(.*)$")


class Documents:
    def __init__(self, root, heddle):
        self.root = pathlib.Path(root)
        self.heddle = heddle
        self.files = tree.files(root)
        self.folders = {str(parent) for path in self.files for parent in pathlib.PurePosixPath(path).parents}
        self.tops = {path.split("/")[0] for path in self.files}
        self.helps = {}
        self.findings = []
        self.unchecked = 0

    def check(self):
        for path in self.files:
            if path.endswith(".md") and not path.startswith("tests/corpus/"):
                self.check_document(path)
        self.check_site()
        return self.findings

    def check_site(self):
        """Every page of docs/ is in the navigation of the site."""
        if "mkdocs.yml" not in self.files:
            return
        pages = re.findall(r":\s+(\S+\.md)\s*$", tree.text(self.root, "mkdocs.yml"), re.M)
        for path in self.files:
            if path.startswith("docs/") and path.endswith(".md") and path[len("docs/"):] not in pages:
                self.complain((path, 1), "the page is not in the navigation of `mkdocs.yml`")

    def complain(self, where, message):
        self.findings.append(f"{where[0]}:{where[1]}: error: {message}")

    def check_document(self, path):
        fence, language, pending = None, "", ""
        columns = 0
        for number, line in enumerate(tree.text(self.root, path).splitlines(), 1):
            where = (path, number)
            cells = len(re.findall(r"(?<!\\)\|", CODE.sub("", line))) - 1 if fence is None and line.startswith("|") else 0
            if cells and columns and cells != columns:
                self.complain(where, f"the row has {cells} cells, and its table {columns} columns")
            columns = cells
            match = FENCE.match(line)
            if match and (fence is None or match[1].startswith(fence)):
                fence, language = (match[1], match[2]) if fence is None else (None, "")
            elif fence is None:
                self.check_prose(where, line)
            elif language in SHELL:
                if line.endswith("\\"):
                    pending += line[:-1] + " "
                    continue
                self.check_command(where, (pending + line).strip())
                pending = ""

    def check_prose(self, where, line):
        for _, code in CODE.findall(line):
            self.check_command(where, code)
            self.check_path(where, code)
        for target in LINK.findall(CODE.sub("", line)):
            if not re.match(r"[a-z]+:", target):
                self.check_link(where, target)

    def check_link(self, where, target):
        name, _, anchor = target.partition("#")
        path = self.resolve(where[0], name) if name else where[0]
        if path is None:
            self.complain(where, f"the link '{target}' leads nowhere")
        elif anchor and path.endswith(".md") and anchor not in self.anchors(path):
            self.complain(where, f"'{path}' has no heading '#{anchor}'")

    def anchors(self, path):
        headings = re.findall(r"^#+\s+(.*?)\s*#*$", tree.text(self.root, path), re.MULTILINE)
        return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}

    def resolve(self, document, name):
        """The tree's path for a name relative to the document or to the root, or None."""
        for base in [pathlib.PurePosixPath(document).parent, pathlib.PurePosixPath()]:
            path = (self.root / base / name).resolve()
            if not path.is_relative_to(self.root.resolve()):
                continue
            path = path.relative_to(self.root.resolve()).as_posix()
            if path in self.folders or path in self.files:
                return path
        return None

    def check_path(self, where, code):
        code = re.sub(r":\d+$", "", code)
        if not PATH.fullmatch(code):
            return
        parts = code.removeprefix("./").rstrip("/").split("/")
        if parts[0] in FOREIGN + OUTPUT or (parts[0] not in self.tops and not FILE_NAME.search(code) and not code.endswith("/")):
            return
        for index, part in enumerate(parts):
            if "*" in part or PLACEHOLDER.match(part.split(".")[0]):
                if self.resolve(where[0], "/".join(parts[:index + 1])) is None:
                    parts = parts[:index]  # the placeholder stands for anything in this folder
                    break
        if parts and self.resolve(where[0], "/".join(parts)) is None:
            self.complain(where, f"'{code}' does not exist")

    def check_command(self, where, line):
        match = COMMAND.match(line)
        if not match or (match[1] == "dev"):
            return
        program = "./dev" if match[1] == "./dev" else "heddle"
        try:
            words = shlex.split(match[2].split(" | ")[0], comments=True)
        except ValueError:
            return self.complain(where, f"'{line}' is no shell command")
        if not words or words[0].startswith("-"):
            return None
        verb = words[0]
        if program == "heddle" and self.heddle is None:
            self.unchecked += 1
            return None
        if not re.search(rf"^\s+(?:{re.escape(program)}\s+)?{re.escape(verb)}\b", self.help(program), re.MULTILINE):
            return self.complain(where, f"'{program}' has no verb '{verb}'")
        if program == "heddle":
            self.check_flags(where, verb, words[1:])
        return None

    def check_flags(self, where, verb, words):
        for word in words:
            flag = word.split("=")[0]
            if re.fullmatch(r"--[a-z][\w-]*", flag) and not re.search(re.escape(flag) + r"\b(?!-)", self.help("heddle", verb)):
                self.complain(where, f"'heddle {verb}' has no flag '{flag}'")
            elif "/" in word and word.split("/")[0] in self.tops and not re.search(r"[*<>$]", word):
                self.check_path(where, word)

    def help(self, program, *verb):
        key = (program, *verb)
        if key not in self.helps:
            command = [self.root / "dev", "help"] if program == "./dev" else [self.heddle, *verb, "--help"]
            done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=30, check=False)
            self.helps[key] = done.stdout.decode() if done.returncode == 0 else ""
        return self.helps[key]


def main():
    parser = tree.arguments(__doc__)
    parser.add_argument("--heddle", type=pathlib.Path, help="hold the commands against this program's --help")
    options = parser.parse_args()
    if options.heddle and not options.heddle.is_file():
        tree.report([f"{options.heddle}:1: error: this program is not built; run './dev build'"])
    documents = Documents(options.root, options.heddle and options.heddle.resolve())
    documents.check()
    if documents.unchecked:
        print(f"note: {documents.unchecked} commands of 'heddle' are unchecked until './dev build' has made it")
    tree.report(documents.findings)


if __name__ == "__main__":
    main()
