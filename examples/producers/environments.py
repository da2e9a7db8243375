# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The compilers, where they are installed, and how they are called."""
import pathlib
import shutil
import subprocess
import sys
from dataclasses import dataclass, field

HERE = pathlib.Path(__file__).parent


class ProducerError(Exception):
    """A compiler that is not there or fails: what is missing, and the command that helps."""


@dataclass
class Producer:
    """`packages` are pip's; without any, `program` must be on the path. `script` writes objects and launches.json."""
    name: str
    script: str
    packages: list = field(default_factory=list)
    module: str = ""
    program: str = ""
    arguments: list = field(default_factory=list)


PRODUCERS = {one.name: one for one in [
    Producer("hip", "clang_kernels.py", program="clang-22", arguments=["hip", "clang-22"]),
    Producer("opencl", "clang_kernels.py", program="clang-22", arguments=["opencl", "clang-22"]),
    *(Producer(f"triton-{version[:3]}", "triton_kernels.py", [f"triton=={version}"], "triton")
      for version in ["3.6.0", "3.7.1", "3.8.0", "3.9.0"]),
    Producer("iree", "iree_kernels.py", ["iree-base-compiler==3.13.0"], "iree.compiler"),
    Producer("flydsl", "flydsl_kernels.py", ["flydsl==0.4.2", "numpy"], "numpy, flydsl._mlir"),
]}


def install_command(producer, folder):
    python = folder / producer.name / "bin" / "python"
    return f"python3 -m venv {folder / producer.name} && {python} -m pip install {' '.join(producer.packages)}"


def run(command, what):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False)
    if done.returncode:
        raise ProducerError(f"{what} ended with {done.returncode}: {(done.stderr or done.stdout).strip()[-1500:]}")


def find_python(producer, given, folder):
    """The interpreter that has the producer's packages. It is made where the user named a folder for that."""
    if not producer.packages:
        if not shutil.which(producer.program):
            raise ProducerError(f"`{producer.program}` is not on the path; `./dev setup` installs it")
        return sys.executable
    if given:
        python = given
    elif folder:
        python = folder / producer.name / "bin" / "python"
        if not python.exists():
            print(f"{producer.name}: installing {' '.join(producer.packages)} in {folder / producer.name}", file=sys.stderr, flush=True)
            run([sys.executable, "-m", "venv", folder / producer.name], "making a virtual environment")
            run([python, "-m", "pip", "install", "--quiet", *producer.packages], f"installing {producer.packages[0]}")
    else:
        raise ProducerError(
            f"{producer.name}: no environment has it; `--environments FOLDER` installs it there, or\n"
            f"  note: {install_command(producer, pathlib.Path('FOLDER'))}, then `--python FOLDER/{producer.name}/bin/python`")
    probe = subprocess.run([str(python), "-c", f"import {producer.module}"], capture_output=True, text=True, check=False)
    if probe.returncode:
        raise ProducerError(f"{producer.name}: `{python}` cannot import `{producer.module}`\n"
                                f"  note: {python} -m pip install {' '.join(producer.packages)}")
    return python


def compile_kernels(producer, python, folder, chips):
    folder.mkdir(parents=True, exist_ok=True)
    run([python, HERE / producer.script, folder, *producer.arguments, *chips], f"{producer.name}: compiling")
