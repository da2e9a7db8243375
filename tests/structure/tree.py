# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the structure checks share: the files of a source tree, and how findings are reported."""
import argparse
import os
import pathlib
import subprocess
import sys

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]


def files(root):
    """The tree's files as sorted '/'-separated paths: git's view with new files, or, outside git, all but build output."""
    root = pathlib.Path(root)
    if (root / ".git").exists():
        command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        listing = subprocess.run(command, cwd=root, check=True, stdout=subprocess.PIPE).stdout.decode()
        return sorted(path for path in set(listing.split("\0")) if path and (root / path).is_file())
    found = []
    for folder, folders, names in os.walk(root):
        relative = pathlib.Path(folder).relative_to(root)
        if folder == str(root):
            folders[:] = [name for name in folders if not name.startswith("build") and name != "package"]
        found += [(relative / name).as_posix() for name in names]
    return sorted(found)


def text(root, path):
    """The file's text, or None for a file that is not UTF-8 text."""
    data = (pathlib.Path(root) / path).read_bytes()
    if b"\0" in data:
        return None
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return None


def arguments(description):
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--root", default=REPOSITORY, type=pathlib.Path, help="the source tree (default: this one)")
    return parser


def report(findings):
    """Prints the findings, each 'path:line: error: message', and ends the program."""
    for finding in findings:
        print(finding, file=sys.stderr)
    sys.exit(1 if findings else 0)
