#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes the wheel of the Python package around a built libheddle.so, with the libheddle_nccl.so beside it and, if it is there, the
heddle_launch.abi3.so: make_wheel.py LIBRARY VERSION FOLDER. `./dev wheel` calls it. It needs Python and binutils, and no network;
equal inputs give equal bytes."""
import base64
import hashlib
import pathlib
import subprocess
import sys
import tempfile
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "structure"))
import check_portable  # noqa: E402

METADATA = """Metadata-Version: 2.1
Name: heddle
Version: {version}
Summary: Compiles GPU tile kernels, runs them, and checks AMD code without hardware
License: Apache-2.0 WITH LLVM-exception
Requires-Python: >=3.10
Description-Content-Type: text/markdown

{description}"""
WHEEL = """Wheel-Version: 1.0
Generator: heddle
Root-Is-Purelib: false
Tag: {tag}
"""
ENTRY_POINTS = """[pytest11]
heddle.testing = heddle.testing

[triton.backends]
heddle = heddle.triton.backend
"""


def platform_tag(libraries):
    """manylinux with the glibc that the libraries need, where they need nothing else."""
    newest = "0"
    for library in map(str, libraries):
        findings, glibc = check_portable.check(library, check_portable.objdump("-p", library),
                                               check_portable.objdump("-T", library), "99")
        if findings:
            sys.exit("\n".join(findings))
        newest = max(newest, glibc, key=check_portable.version)
    return f"manylinux_{newest.replace('.', '_')}_x86_64"


def contents(libraries, version, tag):
    """The files of the wheel by name."""
    info = f"heddle-{version}.dist-info"
    files = {f"heddle/{path.relative_to(ROOT / 'python' / 'heddle').as_posix()}": path.read_bytes()
             for path in sorted((ROOT / "python" / "heddle").rglob("*")) if path.suffix == ".py" or path.name == "py.typed"}
    files.update({f"heddle/{library.name}": library.read_bytes() for library in libraries})
    files["heddle/include/heddle.h"] = (ROOT / "include" / "heddle.h").read_bytes()
    description = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
    files[f"{info}/METADATA"] = METADATA.format(version=version, description=description).encode()
    files[f"{info}/WHEEL"] = WHEEL.format(tag=tag).encode()
    files[f"{info}/entry_points.txt"] = ENTRY_POINTS.encode()
    files[f"{info}/licenses/LICENSE"] = (ROOT / "LICENSE").read_bytes()
    record = [f"{name},sha256={base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b'=').decode()},{len(data)}"
              for name, data in files.items()]
    files[f"{info}/RECORD"] = "\n".join(record + [f"{info}/RECORD,,", ""]).encode()
    return files


def main():
    built, version, folder = pathlib.Path(sys.argv[1]), sys.argv[2], pathlib.Path(sys.argv[3])
    with tempfile.TemporaryDirectory() as scratch:
        library, drop_in, launch = (pathlib.Path(scratch) / name for name in
                                    ("libheddle.so.0", "libheddle_nccl.so", "heddle_launch.abi3.so"))
        sources = {library: built}
        for file in (drop_in, launch):
            beside = [folder / file.name for folder in (built.parent, built.parent.parent) if (folder / file.name).exists()]
            if beside:
                sources[file] = beside[0]
            elif file is drop_in:
                sys.exit(f"{built.parent} has no {file.name}")
            else:
                print(f"{built.parent} has no {file.name}: launches of this wheel go by ctypes", file=sys.stderr)
        for file, source in sources.items():
            subprocess.run(["strip", "--strip-unneeded", "-o", str(file), str(source)], check=True)
        tag = f"py3-none-{platform_tag([file for file in sources if file is not drop_in])}"
        folder.mkdir(parents=True, exist_ok=True)
        wheel = folder / f"heddle-{version}-{tag}.whl"
        with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
            for name, data in contents(sources, version, tag).items():
                entry = zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0))
                entry.external_attr = (0o755 if name.endswith((".so.0", ".so")) else 0o644) << 16
                entry.compress_type = zipfile.ZIP_DEFLATED
                archive.writestr(entry, data, compresslevel=9)
    print(wheel)


if __name__ == "__main__":
    main()
