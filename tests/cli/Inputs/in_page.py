# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""in_page.py LIST.json PAGE.md [KEY]: every entry of the list, or of that at KEY, is a row of the page with a cell for each
of its values, the name first, and the table that holds the first of them holds no other."""
import json
import sys

entries = json.load(open(sys.argv[1]))
if len(sys.argv) > 3:
    entries = entries[sys.argv[3]]
wanted = [tuple(entry.values()) for entry in entries]
tables, table = [], []
for line in open(sys.argv[2]).read().splitlines() + [""]:
    if line.startswith("|"):
        table.append(tuple(cell.strip() for cell in line.strip("|").split("|")))
    elif table:
        tables.append([(row[0].strip("`"), *row[1:]) for row in table[2:]])
        table = []
found = [table for table in tables if any(row[0] == wanted[0][0] for row in table)]
if len(found) != 1 or found[0] != wanted:
    have = found[0] if found else []
    for row in wanted:
        if row not in have:
            print("missing: | `%s` | %s |" % (row[0], " | ".join(row[1:])))
    for row in have:
        if row not in wanted:
            print("not in the program: " + " | ".join(row))
    sys.exit("%s does not hold the list of %s" % (sys.argv[2], sys.argv[1]))
