#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Holds a program or library against what every x86-64 Linux with a recent glibc offers: its needed libraries and versions."""
import argparse
import re
import subprocess

import tree

SYSTEM = re.compile(r"(libc\.so\.6|libm\.so\.6|ld-linux-x86-64\.so\.2)$")


def version(text):
    return tuple(int(part) for part in text.split("."))


def check(name, headers, symbols, newest):
    """Findings for the output of objdump -p and objdump -T, and the highest glibc version that is needed."""
    findings = [f"{name}:1: error: needs the shared library {library}; link it statically"
                for library in re.findall(r"NEEDED\s+(\S+)", headers) if not SYSTEM.match(library)]
    needed = max(re.findall(r"GLIBC_(\d[\d.]*)", symbols), key=version, default="0")
    if needed == "0":
        findings.append(f"{name}:1: error: names no glibc version; is it a dynamically linked program?")
    if version(needed) > version(newest):
        users = sorted(set(re.findall(rf"GLIBC_{re.escape(needed)}\)?\s+(\S+)", symbols)))
        findings.append(f"{name}:1: error: needs glibc {needed}, newer than {newest}, for {', '.join(users)}")
    return findings, needed


def objdump(flag, file):
    return subprocess.run(["objdump", flag, file], check=True, stdout=subprocess.PIPE).stdout.decode()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file")
    parser.add_argument("--newest", default="2.36", help="the newest glibc that may be needed (default: Debian 12's, 2.36)")
    options = parser.parse_args()
    found, glibc = check(options.file, objdump("-p", options.file), objdump("-T", options.file), options.newest)
    if not found:
        print(f"{options.file}: needs libc and libm only, glibc {glibc} or newer")
    tree.report(found)
