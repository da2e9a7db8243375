# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# How files with RUN lines become tests. They lie beside what they test, in the whole tree; this file's other half,
# tests/lit.site.cfg.py.in, says where the build is. `./dev test FILE` runs one of them. (Were this file named lit.cfg.py,
# lit would take this folder for a suite of its own.)
import os
import shutil
import subprocess

import lit.formats

config.name = "heddle"
config.test_format = lit.formats.ShTest(execute_external=False)  # lit's own shell: no bash needed, clearer failures
config.suffixes = [".mlir", ".ttir", ".test"]
# What the tests read, the suites of builds inside the tree, and what a fault of ours left in the current folder.
config.excludes = ["Inputs", "corpus", "kernels", "lit-suite"]
config.excludes += [name for name in os.listdir(config.heddle_source_dir) if name.startswith("heddle-reproducer-")]
config.test_source_root = config.heddle_source_dir
config.test_exec_root = os.path.join(config.heddle_binary_dir, "lit-suite")

programs = os.path.join(config.heddle_binary_dir, "bin")
for program in ["heddle", "heddle-opt"]:
    if not os.access(os.path.join(programs, program), os.X_OK):
        lit_config.fatal(f"'{os.path.join(programs, program)}' is not built; run './dev build'")

# FileCheck, not, count and split-file come from LLVM's folder.
config.environment["PATH"] = os.pathsep.join([programs, config.llvm_tools_dir, os.environ["PATH"]])
config.environment["ASAN_OPTIONS"] = "allow_user_poisoning=0"
config.environment["UBSAN_OPTIONS"] = "print_stacktrace=1"

config.substitutions.append(("%fake_cuda", os.path.join(config.heddle_binary_dir, "test", "fake-cuda.so")))
config.substitutions.append(("%fake_hip", os.path.join(config.heddle_binary_dir, "test", "libamdhip64.so")))
config.substitutions.append(("%fake_nccl", os.path.join(config.heddle_binary_dir, "test", "fake-nccl.so")))
config.substitutions.append(("%processes_nccl", os.path.join(config.heddle_binary_dir, "test", "nccl", "libnccl.so.2")))
# Open MPI refuses to run as root, as tests of containers do, unless it is told twice.
config.substitutions.append(("%as_mpi_root", "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"))
config.substitutions.append(("%corpus", os.path.join(config.heddle_source_dir, "tests", "corpus")))

# `not` takes any failure for the one that was meant.
for code in (1, 2, 3, 70):
    fails = os.path.join(config.heddle_source_dir, "tests", "fails.sh")
    config.substitutions.append((f"%fails{code}(?![0-9])", f"{fails} {code}"))

# Debian's NumPy is of Debian's Python, which may not be the first one of PATH.
has_numpy = [python for python in ("python3", "/usr/bin/python3")
             if shutil.which(python) and not subprocess.run([python, "-c", "import numpy"], capture_output=True).returncode]
config.substitutions.append(("%numpy_python", (has_numpy or ["python3"])[0]))

# For REQUIRES and UNSUPPORTED lines.
if shutil.which("ptxas"):
    config.available_features.add("ptxas")
if any(shutil.which(browser) for browser in ("chromium", "chromium-browser", "google-chrome")):
    config.available_features.add("chromium")
if config.heddle_sanitize:
    config.available_features.add("sanitize")
