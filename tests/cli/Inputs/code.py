# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs a command and fails unless it ends with the given exit code: code.py CODE COMMAND..."""
import subprocess
import sys

wanted, command = int(sys.argv[1]), sys.argv[2:]
code = subprocess.run(command).returncode
if code != wanted:
    sys.exit(f"exit code {code} instead of {wanted}: {' '.join(command)}")
