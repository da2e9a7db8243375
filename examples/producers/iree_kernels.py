# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The five kernels by IREE: `iree_kernels.py FOLDER CHIP...` writes an object a chip and launches.json. The linked object is
what IREE would put into its .vmfb; workgroups and their sizes are in its intermediate text."""
import importlib.metadata
import json
import pathlib
import re
import subprocess
import sys

SOURCE = pathlib.Path(__file__).parent / "kernels" / "iree.mlir"
PROGRAM = pathlib.Path(sys.executable).parent / "iree-compile"
BINDINGS = {"vector_add": ["x", "y", "out"], "row_softmax": ["x", "out"], "matmul": ["a", "b", "c"], "transpose": ["x", "out"],
            "histogram": ["x", "bins"]}
EXPORT = re.compile(r"hal\.executable\.export public @(\w+) (.*?)hal\.return (.*?) : index.*?\n.*?<workgroup_size = \[(.*?)\]", re.S)


def run(*options):
    return subprocess.run([PROGRAM, SOURCE, "--iree-hal-target-device=hip", *options], check=True, capture_output=True, text=True).stdout


def launches_in(text, chip, file):
    """From the exports of the text after code generation: `hal.return %c6, %c1, %c1` are the workgroups."""
    for symbol, body, results, block in EXPORT.findall(text):
        constants = dict(re.findall(r"(%\w+) = arith\.constant (\d+) : index", body))
        kernel = symbol.split("_dispatch_")[0]
        yield dict(kernel=kernel, symbol=symbol, chip=chip, object=file, grid=[int(constants[name]) for name in results.split(", ")],
                   block=[int(size.split(" ")[0]) for size in block.split(", ")], lds=0, arguments=BINDINGS[kernel])


def main(folder, chips):
    launches = []
    for chip in chips:
        target = f"--iree-rocm-target={chip}"
        binaries = folder / f"binaries.{chip}"
        run(target, f"--iree-hal-dump-executable-binaries-to={binaries}", "-o", folder / f"module.{chip}.vmfb")
        objects = list(binaries.glob("*.hsaco"))
        if len(objects) != 1:
            sys.exit(f"`{binaries}` has {len(objects)} objects and must have 1, with the five kernels")
        made = list(launches_in(run(target, "--compile-to=executable-targets"), chip, str(objects[0].relative_to(folder))))
        if {one["kernel"] for one in made} != set(BINDINGS) or len(made) != len(BINDINGS):
            sys.exit(f"IREE made the kernels {', '.join(one['symbol'] for one in made)}, and must make one each of {', '.join(BINDINGS)}")
        launches += made
    version = importlib.metadata.version("iree-base-compiler")
    (folder / "launches.json").write_text(json.dumps(dict(version=version, launches=launches)))


main(pathlib.Path(sys.argv[1]), sys.argv[2:])
