# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs torchao's own tests of its FP8 and MXFP8 kernels, unchanged, with Heddle's operators in their place, and prints a table by
file (docs/pytorch.md). Without a GPU the tensors are on the CPU. The tests compare with torchao's eager code."""
import argparse
import collections
import json
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
FILES = ["test/prototype/moe_training/test_kernels.py", "test/prototype/moe_training/ep/test_kernels.py",
         "test/prototype/mx_formats/test_kernels.py",
         "test/prototype/blockwise_fp8_training/test_blockwise_kernels.py"]


def start(name, arguments, journal):
    """Runs the file; what is wrong with its end, or an empty text, and what pytest printed."""
    path = [str(HERE), str(HERE.parents[1]), str(arguments.torchao), *filter(None, [os.environ.get("PYTHONPATH")])]
    try:
        process = subprocess.run(
            [sys.executable, "-m", "pytest", "-p", "torchao_plugin", "-p", "no:cacheprovider", "-q", "--tb=short",
             f"--rootdir={arguments.torchao}", name], cwd=arguments.torchao, timeout=arguments.limit, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, errors="replace",
            env={**os.environ, "PYTHONPATH": os.pathsep.join(path), "PYTHONDONTWRITEBYTECODE": "1",
                 "HEDDLE_SUITE_JOURNAL": str(journal), "HEDDLE_SUITE_ONLY": arguments.only})
    except subprocess.TimeoutExpired:
        return f"the file did not end in {arguments.limit:g} seconds: --limit gives it more", ""
    return ("" if process.returncode in (0, 1, 5) else f"pytest ended with {process.returncode}: {process.stdout[-1500:]}",
            process.stdout)


def run_file(name, arguments, journal):
    journal.write_text("")
    problem, printed = start(name, arguments, journal)
    results = [json.loads(line) for line in journal.read_text().splitlines()]
    if not results and not problem:
        print(f"{name}: no test ran; pytest's last words: {printed.strip()[-600:]}", file=sys.stderr)
    return results + [{"test": name, "result": "failed", "why": problem}] * bool(problem)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("torchao", type=pathlib.Path, help="a checkout of torchao: its package and its tests")
    parser.add_argument("files", nargs="*", default=FILES, help="of that checkout; unless given, the four of its FP8 kernels")
    parser.add_argument("--only", default="", help="a regular expression that names of tests contain")
    parser.add_argument("--limit", type=float, default=3600, help="seconds for one file (default 3600)")
    parser.add_argument("--log", type=pathlib.Path, help="a file that gets a line of JSON for each test")
    arguments = parser.parse_args()
    arguments.torchao = arguments.torchao.resolve()
    missing = [name for name in arguments.files if not (arguments.torchao / name).exists()]
    if missing:
        parser.error(f"{arguments.torchao} has no {', '.join(missing)}: it should be a checkout of torchao")
    total, failures = collections.Counter(), []
    print("| file | passed | failed | not applicable |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder, open(arguments.log or os.devnull, "a", encoding="utf-8") as log:
        for name in arguments.files:
            results = run_file(name, arguments, pathlib.Path(folder) / "journal")
            counts = collections.Counter(each["result"] for each in results)
            log.writelines(json.dumps(each) + "\n" for each in results)
            failures += [each for each in results if each["result"] == "failed"]
            total += counts
            print(f"| {name} | {counts['passed']} | {counts['failed']} | {counts['skipped']} |", flush=True)
    print(f"| all | {total['passed']} | {total['failed']} | {total['skipped']} |")
    if not total:
        print("no test of these files names a function that Heddle serves and matches --only")
    for each in failures[:20]:
        print(f"{each['test']}: {each['why'].strip().splitlines()[-1] if each['why'].strip() else ''}")
    return 1 if failures or not total["passed"] else 0


if __name__ == "__main__":
    sys.exit(main())
