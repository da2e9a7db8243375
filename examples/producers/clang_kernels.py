# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The five kernels in HIP or OpenCL by clang 22: `clang_kernels.py FOLDER hip|opencl CLANG CHIP...` writes one object a chip,
with all five, and launches.json."""
import json
import pathlib
import subprocess
import sys

SOURCES = pathlib.Path(__file__).parent
OPTIONS = {
    "hip": ["-x", "hip", "--offload-device-only", "--no-gpu-bundle-output", "-nogpuinc", "-nogpulib", "-O3", SOURCES / "kernels" / "clang.hip"],
    "opencl": ["-x", "cl", "-cl-std=CL2.0", "-cl-kernel-arg-info", "-nogpulib", "--target=amdgcn-amd-amdhsa", "-w", "-O3",
               SOURCES / "kernels" / "clang.cl"],
}
CHIP = {"hip": "--offload-arch=", "opencl": "-mcpu="}
# kernel: grid, block, dynamic LDS, arguments: names of buffers, or numbers
LAUNCHES = {
    "hip": {
        "vector_add": ([6], [256], 0, ["x", "y", "out", 1500]),
        "row_softmax": ([6], [256], 1024, ["x", "out", 200]),
        "matmul": ([4, 2], [64], 0, ["a", "b", "c", 64, 96]),
        "transpose": ([2, 3], [32, 8], 0, ["x", "out", 96, 64]),
        "histogram": ([8], [256], 0, ["x", "bins", 2000]),
    },
    "opencl": {
        "vector_add": ([6], [256], 0, ["x", "y", "out", 1500]),
        "row_softmax": ([6], [256], 0, ["x", "out", 1024, 200]),  # the third is the size of a `local` argument
        "matmul": ([8, 4], [64], 0, ["a", "b", "c", 64, 96]),
        "transpose": ([2, 3], [32, 8], 0, ["x", "out", 96, 64]),
        "histogram": ([8], [256], 0, ["x", "bins", 2000]),
    },
}


def main(folder, language, clang, chips):
    launches = []
    for chip in chips:
        file = f"kernels.{chip}.hsaco"
        subprocess.run([clang, *OPTIONS[language], CHIP[language] + chip, "-o", folder / file], check=True)
        for kernel, (grid, block, lds, arguments) in LAUNCHES[language].items():
            launches.append(dict(kernel=kernel, chip=chip, object=file, grid=grid, block=block, lds=lds, arguments=arguments))
    version = subprocess.run([clang, "--version"], check=True, capture_output=True, text=True).stdout.split("version ")[1].split()[0]
    (folder / "launches.json").write_text(json.dumps(dict(version=version, launches=launches)))


main(pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4:])
