#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prints the first kernel with the second one's body after its own, and its parameters: two loops that do not depend on each other."""
import re
import sys

first, second = (open(path).read() for path in sys.argv[1:3])
second = re.sub(r"%(?=\w)", "%other_", second)
head = re.compile(r"(tt\.func public @\w+\()(.*)(\) attributes .*\{|\) \{)\n")
parameters, body = head.search(second)[2], second[head.search(second).end() : second.index("tt.return")]
first = head.sub(lambda match: f"{match[1]}{match[2]}, {parameters}{match[3]}\n", first, count=1)
print(first.replace("    tt.return", f"{body}    tt.return", 1))
