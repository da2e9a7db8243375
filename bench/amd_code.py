# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What scripts share that hold AMD code of Heddle against code of Triton, on the simulator."""
import json
import math
import re
import subprocess

# What a workgroup's LDS is rounded up to: 128 dwords, and 320 (`.amdhsa_group_segment_fixed_size` in LLVM's AMDGPU guide).
LDS_GRANULE = {"gfx942": 512, "gfx950": 1280}


def run(command, **options):
    """What it prints; a failure ends the script with the command and its messages."""
    done = subprocess.run(command, capture_output=True, text=True, **options)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
    return done.stdout


def assemble(text_file, chip, folder):
    """Triton's text, whose target LLVM 22 does not know by that name, as a code object."""
    with open(text_file, encoding="utf-8") as file:
        text = re.sub(r"amdgpu9\.\d+-amd-amdhsa-unknown-", "amdgcn-amd-amdhsa--", file.read())
    run(["clang-22", "-x", "assembler", "-target", "amdgcn-amd-amdhsa", f"-mcpu={chip}", "-", "-o", f"{folder}/k.hsaco"],
        input=text)
    return f"{folder}/k.hsaco"


def simulate(command):
    """Instructions that waves execute, and estimated cycles."""
    result = json.loads(run(command + ["--time", "--json"]))
    return result["instructions"], result["time"]["cycles"]


def workgroup_lds(declared, chip):
    """Bytes of LDS that a workgroup is given that declares so many."""
    return -(-declared // LDS_GRANULE[chip]) * LDS_GRANULE[chip]


def package_lds(heddle, package, chip):
    """The same of a package."""
    about = json.loads(run([heddle, "inspect", package, "--json"]))["resources"]
    return workgroup_lds(about["declaredLdsBytes"] + about["dynamicLdsBytes"], chip)


def ratio(ours, theirs):
    return ours / theirs if theirs else 1.0 if ours == 0 else math.inf


def geometric_mean(ratios):
    return math.exp(sum(map(math.log, ratios)) / len(ratios))
