# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every part of every GoogleTest filter selects a test: check_filters.py SOURCE_DIR BUILD_DIR.

Looked at are the commands of CTest, with their environment, and the commands in the documents and scripts. A part that
selects nothing, or whose program is not there, is a test that cannot fail.
"""
import fnmatch
import functools
import json
import os
import re
import subprocess
import sys


@functools.lru_cache(maxsize=None)
def tests_of(program, environment=()):
    """The full names, as filters see them."""
    listed = subprocess.run([program, "--gtest_list_tests"], check=True, capture_output=True, text=True,
                            env={**os.environ, **dict(environment)}).stdout
    names, suite = [], ""
    for line in listed.splitlines():
        name = line.split("#")[0].rstrip()
        if name.endswith(".") and not line.startswith(" "):
            suite = name
        elif line.startswith("  ") and suite:
            names.append(suite + name.strip())
    return names


def idle_parts(names, text):
    """The parts of a filter that select none of the names; all of it where nothing is left."""
    positive, _, negative = text.partition("-")
    parts = [part for part in (positive or "*").split(":") + negative.split(":") if part]
    idle = [part for part in parts if not any(fnmatch.fnmatchcase(name, part) for name in names)]
    chosen = [name for name in names
              if any(fnmatch.fnmatchcase(name, part) for part in (positive or "*").split(":"))
              and not any(fnmatch.fnmatchcase(name, part) for part in negative.split(":"))]
    return idle or ([text] if not chosen else [])


def commands_of_ctest(build):
    shown = subprocess.run(["ctest", "--show-only=json-v1"], cwd=build, check=True, capture_output=True, text=True)
    for test in json.loads(shown.stdout)["tests"]:
        command = test.get("command", [])
        # The program stands before its filter; a launcher of MPI may stand before the program.
        filters = [(command[at - 1], word.split("=", 1)[1]) for at, word in enumerate(command)
                   if word.startswith("--gtest_filter=")]
        settings = [p["value"] for p in test.get("properties", []) if p["name"] == "ENVIRONMENT"]
        environment = tuple(tuple(each.split("=", 1)) for value in settings for each in value)
        for program, text in filters:
            yield f"CTest's {test['name']}", program, environment, text


def commands_of_texts(source, build):
    listed = subprocess.run(["git", "ls-files"], cwd=source, check=True, capture_output=True, text=True).stdout
    for path in listed.split():
        if not (path.endswith((".md", ".test", ".sh", ".py", ".ttir")) or path == "dev"):
            continue
        text = open(os.path.join(source, path), errors="replace").read()
        for program, quote, part in re.findall(r"\b(\w[\w-]*[-_]test)\b[^\n`]*?--gtest_filter=(['\"]?)([\w*?.:/-]+)\2", text):
            yield path, os.path.join(build, "test", program), (), part


def main(source, build):
    problems, count = [], 0
    for where, program, environment, text in [*commands_of_ctest(build), *commands_of_texts(source, build)]:
        count += 1
        if not os.path.exists(program):
            problems.append(f"{where}: there is no test program `{program}`")
            continue
        for part in idle_parts(tests_of(program, environment), text):
            problems.append(f"{where}: `{part}` of `--gtest_filter={text}` selects no test of {os.path.basename(program)}")
    if count < 8:
        problems.append(f"found only {count} filters: have the commands changed their form?")
    print("\n".join(problems))
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
