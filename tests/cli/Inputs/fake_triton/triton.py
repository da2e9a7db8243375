# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What bench/peers/triton_compiler.py asks of Triton, without Triton: every kernel is the corpus' `vector_add`, a cubin is a
few words, and PTX declares the kernel's parameters. With 7 stages a kernel needs scratch memory, 8 are refused, 9 end the
process; a function `unknown` has no Triton IR."""
import collections
import os
import pathlib
import re
import sys
import types

__version__ = os.environ.get("FAKE_TRITON", "9.8.7")
CORPUS = pathlib.Path(__file__).resolve().parents[3] / "corpus"
GPUTarget = collections.namedtuple("GPUTarget", "backend arch warp_size")
Metadata = collections.namedtuple("Metadata", "name num_warps shared global_scratch_size")
Compiled = collections.namedtuple("Compiled", "asm metadata")
BITS = {"i32": "u32", "f32": "f32"}


class JITFunction:
    def __init__(self, function):
        self.fn, self.__name__ = function, function.__name__
        self.arg_names = function.__code__.co_varnames[:function.__code__.co_argcount]


jit = JITFunction


class ASTSource:
    def __init__(self, function, signature, constants, attributes):
        if function.__name__ == "unknown":
            raise ValueError("no such function")
        assert all(signature[name] == "constexpr" for name in constants) and attributes, (function, signature)

    def make_ir(self, context):
        return (CORPUS / "vector_add.sm_90.ttir").read_text()


class Backend:
    def __init__(self, target):
        self.target = target

    def hash(self):
        return "tools, V1.2.3-90"

    def parse_options(self, options):
        return options

    def make_ttir(self, mod, opt):
        return mod

    def load_dialects(self, context):
        pass

    def get_codegen_implementation(self, options):
        return {}

    def get_module_map(self):
        return {}


def compile(path, target, options):  # pylint: disable=redefined-builtin
    name, parameters = re.search(r"tt\.func public @(\w+)\((.*)\) attributes", pathlib.Path(path).read_text()).groups()
    stages = options["num_stages"]
    if stages == 8:
        raise RuntimeError("stage 8 is refused")
    if stages == 9:
        os.abort()
    types_ = re.findall(r"%\w+: (!tt\.ptr|\w+)", parameters) + ["!tt.ptr"] * 2
    words = [f".param .{BITS.get(kind, 'u64 .ptr .global .align 1')} {name}_param_{i}" for i, kind in enumerate(types_)]
    ptx = f".visible .entry {name}(\n\t" + ",\n\t".join(words) + f"\n)\n// {options}"
    scratch = 64 if stages == 7 else 0
    return Compiled({"ptx": ptx, "cubin": f"{target} {options}".encode()}, Metadata(name, options["num_warps"], 0, scratch))


class Language(types.ModuleType):
    """Kernels are never run, so that their annotations are all that is asked for."""

    class constexpr:  # pylint: disable=invalid-name
        def __init__(self, value):
            self.value = value

        def __repr__(self):
            return f"constexpr[{self.value}]"


def module(name, contents=None):
    made = sys.modules[f"triton.{name}"] = contents or types.ModuleType(f"triton.{name}")
    return made


language = module("language", Language("triton.language"))
compiler = module("compiler")
compiler.ASTSource, compiler.make_backend = ASTSource, Backend
module("backends")
module("backends.compiler").GPUTarget = GPUTarget
module("_C")
module("_C.libtriton").ir = types.SimpleNamespace(context=dict, load_dialects=lambda context: None)
