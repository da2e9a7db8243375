# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The dumps in the architecture page are what the program prints: check_levels.py PAGE FOLDER HEDDLE.

Each block that begins with `$ COMMAND` holds lines of the command's output, in their order; `...` leaves lines out.
"""
import re
import subprocess
import sys

page, folder, heddle = sys.argv[1:]
blocks = re.findall(r"^```\n\$ build/bin/heddle ([^\n]*)\n(.*?)^```", open(page).read(), re.MULTILINE | re.DOTALL)
if len(blocks) < 4:
    sys.exit(f"{page} has {len(blocks)} dumps, at least 4 were expected")
for command, shown in blocks:
    printed = subprocess.run([heddle, *command.split()], cwd=folder, check=True, capture_output=True, text=True).stdout
    at, left_out = 0, True
    lines = printed.splitlines()
    for line in shown.splitlines():
        if line == "...":
            left_out = True
            continue
        try:
            found = lines.index(line, at)
        except ValueError:
            sys.exit(f"`heddle {command}` does not print, or not here: {line}")
        if found != at and not left_out:
            sys.exit(f"`heddle {command}` prints other lines before: {line}")
        at, left_out = found + 1, False
