#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Installs the build into a folder, moves that, and builds and runs C programs with find_package and with pkg-config.
HEDDLE_TEST_BUILD is the build folder, CC the compiler."""
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("HEDDLE_TEST_BUILD", ROOT / "build"))
CC = os.environ.get("CC", "cc")
KERNEL = ROOT / "tests/corpus/vector_add.gfx942.ttir"
RESULT = "out[0] = 2, out[3999] = 4001\n"
RUNTIME_RESULT = "out[0] = 2, out[3999] = 4001; libheddle_runtime\n"


def run(*words, fails=False, **environment):
    """What the command prints; the test fails with all of it where the exit code is not the expected one."""
    settings = {name: value for name, value in os.environ.items() if name != "LD_LIBRARY_PATH"}
    done = subprocess.run([str(word) for word in words], env=settings | environment, text=True, timeout=120,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if (done.returncode != 0) != fails:
        raise AssertionError(f"{words}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout + (done.stderr if fails else "")


class Install(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp())
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        run("cmake", "--install", BUILD, "--prefix", cls.folder / "first")
        cls.prefix = cls.folder / "moved"
        (cls.folder / "first").rename(cls.prefix)

    def pkg_config(self, *words):
        return run("pkg-config", *words, PKG_CONFIG_PATH=str(self.prefix / "lib/pkgconfig")).split()

    def configure(self, source, name, fails=False, prefix=None):
        """CMake's words, on one line."""
        return " ".join(run("cmake", "-G", "Ninja", "-S", source, "-B", self.folder / name, f"-DCMAKE_C_COMPILER={CC}",
                            f"-DCMAKE_PREFIX_PATH={prefix or self.prefix}", fails=fails).split())

    def package(self):
        run(self.prefix / "bin/heddle", "compile", KERNEL, "--target", "host", "-o", self.folder / "add.hpkg")
        return self.folder / "add.hpkg"

    def test_files(self):
        for path in ["bin/heddle", "include/heddle.h", "lib/libheddle.so", "lib/libheddle.so.0", "lib/libheddle_nccl.so",
                     "lib/libheddle_runtime.so", "lib/libheddle_runtime.so.0", "lib/pkgconfig/heddle-runtime.pc",
                     "lib/cmake/heddle/heddle-config.cmake", "lib/pkgconfig/heddle.pc"]:
            self.assertTrue((self.prefix / path).is_file(), path)
        texts = [path for path in self.prefix.rglob("*") if path.suffix in (".cmake", ".pc")]
        for path in texts:
            for other in [str(self.folder), str(BUILD), str(ROOT)]:
                self.assertNotIn(other, path.read_text(), path)

    def test_command(self):
        self.assertIn("host", run(self.prefix / "bin/heddle", "doctor"))

    def test_find_package(self):
        self.configure(ROOT / "examples/find_package", "found")
        run("cmake", "--build", self.folder / "found")
        self.assertEqual(run(self.folder / "found/vector-add", KERNEL), RESULT)
        self.assertEqual(run(self.folder / "found/run-package", self.package()), RUNTIME_RESULT)

    def test_the_runtime_alone(self):
        prefix = self.folder / "runtime"
        run("cmake", "--install", BUILD, "--prefix", prefix, "--component", "runtime")
        self.assertEqual(sorted(path.name for path in (prefix / "lib").glob("lib*")),
                         ["libheddle_runtime.so", "libheddle_runtime.so.0"])
        self.assertFalse((prefix / "bin").exists())
        self.configure(ROOT / "examples/find_package", "runtime-found", prefix=prefix)
        run("cmake", "--build", self.folder / "runtime-found")
        self.assertEqual(run(self.folder / "runtime-found/run-package", self.package()), RUNTIME_RESULT)
        self.assertNotRegex(run("ldd", self.folder / "runtime-found/run-package"), "LLVM|MLIR")
        project = self.folder / "compiler-source"
        project.mkdir()
        (project / "CMakeLists.txt").write_text("cmake_minimum_required(VERSION 3.25)\nproject(compiler LANGUAGES NONE)\n"
                                                "find_package(heddle REQUIRED COMPONENTS heddle)\n")
        self.assertIn("no heddle::heddle", self.configure(project, "compiler", fails=True, prefix=prefix))

    def test_find_package_of_a_newer_version(self):
        project = self.folder / "newer-source"
        project.mkdir()
        (project / "CMakeLists.txt").write_text("cmake_minimum_required(VERSION 3.25)\nproject(newer LANGUAGES NONE)\n"
                                                "find_package(heddle 1.0 REQUIRED)\n")
        self.assertIn('is compatible with requested version "1.0"', self.configure(project, "newer", fails=True))

    def test_find_package_of_an_unknown_component(self):
        project = self.folder / "unknown-source"
        project.mkdir()
        (project / "CMakeLists.txt").write_text("cmake_minimum_required(VERSION 3.25)\nproject(unknown LANGUAGES NONE)\n"
                                                "find_package(heddle REQUIRED COMPONENTS simulator)\n")
        self.assertIn("no heddle::simulator", self.configure(project, "unknown", fails=True))

    def test_pkg_config(self):
        self.assertEqual(self.pkg_config("--modversion", "heddle"),
                         [run(self.prefix / "bin/heddle", "--version").split()[1]])
        program = self.folder / "by-pkg-config"
        run(CC, "-std=c99", ROOT / "examples/c/vector_add.c", "-o", program, *self.pkg_config("--cflags", "--libs", "heddle"),
            f"-Wl,-rpath,{self.prefix}/lib")
        self.assertEqual(run(program, KERNEL), RESULT)
        run(CC, "-std=c99", ROOT / "examples/c/run_package.c", "-o", program,
            *self.pkg_config("--cflags", "--libs", "heddle-runtime"), f"-Wl,-rpath,{self.prefix}/lib")
        self.assertEqual(run(program, self.package()), RUNTIME_RESULT)


if __name__ == "__main__":
    unittest.main()
