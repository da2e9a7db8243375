#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Holds libheddle.so against exports.txt and the header, and against what keeps it from being opened late beside other
libraries: check_exports.py [--runtime] LIBRARY. With --runtime also that nothing of LLVM is in it, and that it is small."""
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
# glibc keeps 1664 bytes of each thread's static storage for libraries that are opened late; ours is not to need any, and
# what each thread gets when it first touches the library is to stay small.
MOST_THREAD_BYTES = 4096
# Of libheddle_runtime: code and data, where LLVM would be some 100 MB.
MOST_RUNTIME_BYTES = 3 << 20
RUNTIME_NEEDS = re.compile(r"lib(c|m|stdc\+\+|gcc_s|fmt|pthread|dl)\.so\.|ld-linux")


def run(*words):
    return subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True).stdout


def runtime_findings(library):
    findings = [f"the runtime needs {name}, and is to need nothing but the system's libraries and fmt"
                for name in re.findall(r"\(NEEDED\).*\[(.*)\]", run("readelf", "-dW", library)) if not RUNTIME_NEEDS.match(name)]
    foreign = sorted({line.split()[-1] for line in run("nm", library).splitlines()
                      if re.search(r"\d(llvm|mlir|lld)\d|^LLVM|^mlir[A-Z]", line.split()[-1])})
    if foreign:
        findings.append(f"the runtime has {len(foreign)} symbols of LLVM, such as {foreign[0]}")
    size = sum(int(number) for number in run("size", "-B", library).splitlines()[1].split()[:2])
    if size > MOST_RUNTIME_BYTES:
        findings.append(f"the runtime has {size} bytes of code and data, and at most {MOST_RUNTIME_BYTES} are wanted")
    return findings


def main():
    library = sys.argv[-1]
    findings = runtime_findings(library) if sys.argv[1] == "--runtime" else []
    kept = {line for line in (HERE / "exports.txt").read_text().split("\n") if line and not line.startswith("#")}
    exported = {line.split()[-1] for line in run("nm", "-D", "--defined-only", library).splitlines()}
    declared = set(re.findall(r"^HEDDLE_API .*?(heddle_\w+)\(", (HERE.parent / "include/heddle.h").read_text(), re.M))
    # A sanitizer's own symbols are not the library's.
    exported = {name for name in exported if not name.startswith(("__asan", "__ubsan", "__sanitizer", "__lsan"))}
    for title, names in [("exports.txt", kept), ("include/heddle.h", declared)]:
        findings += [f"{name} is in {title}, and the library does not export it" for name in sorted(names - exported)]
        findings += [f"the library exports {name}, and {title} lacks it" for name in sorted(exported - names)]
    if "STATIC_TLS" in run("readelf", "-dW", library):
        findings.append("the library asks for static storage of threads (STATIC_TLS): dlopen would fail beside other libraries; "
                        "look for a thread_local variable with tls_model(\"initial-exec\")")
    for line in run("readelf", "-lW", library).splitlines():
        if line.split()[:1] == ["TLS"] and int(line.split()[5], 16) > MOST_THREAD_BYTES:
            findings.append(f"the library has {int(line.split()[5], 16)} bytes of thread_local variables, and at most "
                            f"{MOST_THREAD_BYTES} are wanted; keep large ones in the heap")
    for finding in findings:
        print(f"{library}: error: {finding}", file=sys.stderr)
    return 1 if findings or not exported else 0


if __name__ == "__main__":
    sys.exit(main())
