# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""in_page.py LIST.json PAGE.md: every entry of the list is a row `| name | sentence |` of the page, and the table that
holds the first of them holds no other."""
import json
import sys

wanted = [tuple(entry.values()) for entry in json.load(open(sys.argv[1]))]
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
            print("missing: | `%s` | %s |" % row)
    for row in have:
        if row not in wanted:
            print("not in the program: " + " | ".join(row))
    sys.exit("%s does not hold the list of %s" % (sys.argv[2], sys.argv[1]))
