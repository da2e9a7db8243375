# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Triton's compiler interface: TTIR of Triton's front end to a Heddle package. Triton scans this module for subclasses of
BaseBackend and wants exactly one."""
from __future__ import annotations

import functools
import hashlib
import os
import pathlib
import re
from dataclasses import dataclass
from typing import Any, Dict, Optional

from triton.backends.compiler import BaseBackend, GPUTarget, Language

from ..._library import InputError


@functools.lru_cache
def toolchain_hash() -> str:
    """What a cached package depends on besides its source: the library, this package, and the host's processor. Triton's own
    key covers only what lies inside Triton."""
    from ..._library import library_path, version
    digest = hashlib.sha256(version().encode())
    path = library_path()
    state = os.stat(path)
    digest.update(f"{path} {state.st_size} {state.st_mtime_ns}".encode())
    for file in sorted(pathlib.Path(__file__).resolve().parents[2].rglob("*.py")):
        digest.update(file.read_bytes())
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        digest.update(next((line for line in file if line.startswith("flags")), "").encode())
    return digest.hexdigest()


MOST_THREADS = 1024  # of a thread block, of a workgroup


def _assembly_name(arch: str) -> str:
    """As in `kernel.asm` of Triton's own backends."""
    return "amdgcn" if arch.startswith("gfx") else "ptx" if arch.startswith("sm_") else "asm"


class WarpsError(InputError, AssertionError):
    """Of the class that Triton's own backends raise for a wrong num_warps, too."""


def _is_within_2_gb(argument: Any) -> bool:
    """Whether all memory that a tensor is a view of lies within 2 GB after its pointer. Triton asks for the size only; the
    compiler takes offsets as unsigned, and those from a view's pointer to what precedes it are negative."""
    from .driver import _begins_storage, _storage
    try:
        memory = _storage(argument)
    except InputError:  # it does not say
        return False
    return memory.end - memory.start < 1 << 31 and _begins_storage(argument, memory)


def run(manager: Any, module: Any, name: str) -> None:
    """Triton's passes."""
    try:
        manager.run(module, name)
    except TypeError:  # an older Triton
        manager.run(module)


@dataclass(frozen=True)
class HeddleOptions:
    """Options of a kernel. The first block is what Triton's front end reads, in 3.6 to 3.9."""
    num_warps: int = 4
    num_stages: int = 3
    num_ctas: int = 1
    warp_size: int = 1
    debug: bool = False
    sanitize_overflow: bool = True  # checked with debug=True
    enable_fp_fusion: bool = False  # results are the same on all devices, unless a launch asks for it
    launch_cooperative_grid: bool = False
    extern_libs: tuple = ()
    supported_fp8_dtypes: tuple = ("fp8e4nv", "fp8e5", "fp8e4b8", "fp8e5b16")
    deprecated_fp8_dot_operand_dtypes: tuple = ()
    default_dot_input_precision: str = "ieee"
    allowed_dot_input_precisions: tuple = ("ieee", "tf32", "tf32x3", "bf16x3", "bf16x6")
    max_num_imprecise_acc_default: int = 0
    backend_name: str = "heddle"
    arch: str = "host"
    instrumentation_mode: str = ""
    fpsan_homomorphic_casts: bool = False
    ir_override: Optional[str] = None
    # Of other vendors, which lists of configurations name: taken, and without effect.
    waves_per_eu: int = 0
    matrix_instr_nonkdim: int = 0
    kpack: int = 1
    maxnreg: Optional[int] = None
    schedule_hint: str = "none"
    # Heddle's own.
    check: bool = False

    def hash(self) -> str:
        return hashlib.sha256(repr(sorted(self.__dict__.items())).encode()).hexdigest()


class HeddleBackend(BaseBackend):
    binary_ext = "hpkg"

    @property
    def supports_native_tensor_specialization(self) -> bool:
        """Triton's launcher asks get_tensor_specialization() only where this is false."""
        return not self.target.arch.startswith("gfx")

    @staticmethod
    def supports_target(target: GPUTarget) -> bool:
        return target.backend == "heddle"

    def get_target_name(self, options: HeddleOptions) -> str:
        if options.arch.startswith("sm_"):
            return f"cuda:{options.arch[len('sm_'):]}"
        return f"hip:{options.arch}" if options.arch.startswith("gfx") else f"heddle:{options.arch}"

    def parse_options(self, opts: Dict[str, Any]) -> HeddleOptions:
        known = HeddleOptions.__dataclass_fields__
        values = {name: value for name, value in opts.items() if name in known and value is not None}
        warps = values.get("num_warps", 4)
        if warps < 1 or warps & (warps - 1):
            raise WarpsError(f"num_warps={warps}: it must be a power of 2")
        if self.target.arch.startswith("sm_"):  # as of Triton's own backend, which users of this GPU compare with
            from triton import knobs
            values.setdefault("enable_fp_fusion", getattr(knobs.language, "default_fp_fusion", True))
            values.setdefault("default_dot_input_precision", "tf32")
            values.setdefault("max_num_imprecise_acc_default", 1 << 30)
        if isinstance(values.get("extern_libs"), dict):
            values["extern_libs"] = tuple(values["extern_libs"].items())  # part of a key
        return HeddleOptions(**{"arch": self.target.arch, "warp_size": self.target.warp_size, **values})

    def get_tensor_specialization(self, arg: Any, **kwargs: Any) -> str:
        known = BaseBackend.get_tensor_specialization(arg, **kwargs)
        return known + "S" if self.target.arch.startswith("gfx") and _is_within_2_gb(arg) else known

    @staticmethod
    def parse_attr(desc: str) -> Any:
        ranges = [["tt.pointer_range", 32]] if "S" in desc else []
        return BaseBackend.parse_attr(desc) + ranges

    def pack_metadata(self, metadata: Any) -> Any:
        return metadata

    def get_codegen_implementation(self, options: HeddleOptions) -> Dict[str, Any]:
        return {"min_dot_size": lambda lhs, rhs: (1, 1, 1)}

    def get_module_map(self) -> Dict[str, Any]:
        from . import libdevice
        # Libraries import a vendor's module by name on every device; its functions are compiled for NVIDIA's GPUs only.
        vendors = () if self.target.arch.startswith("sm_") else ("cuda.", "hip.")
        return {f"triton.language.extra.{vendor}libdevice": libdevice for vendor in ("", *vendors)}

    def load_dialects(self, context: Any) -> None:
        # MLIR ends the process at an operation of a dialect that is not loaded. NVIDIA's are loaded so that they are refused in words.
        from triton._C import libtriton
        for vendor in ("amd", "nvidia"):
            if hasattr(libtriton, vendor):
                getattr(libtriton, vendor).load_dialects(context)

    @functools.lru_cache
    def hash(self) -> str:
        return f"heddle-{self.target}-{toolchain_hash()}"

    def make_ttir(self, module: Any, options: HeddleOptions) -> Any:
        from triton._C.libtriton import ir, passes
        manager = ir.pass_manager(module.context)
        manager.enable_debug()
        passes.common.add_inliner(manager)
        if "tt.tensordesc" in str(module):  # descriptors made on the host: pointer, shape and strides as arguments
            passes.ttir.add_rewrite_tensor_descriptor_to_pointer(manager)
        passes.common.add_canonicalizer(manager)
        passes.ttir.add_combine(manager)
        passes.common.add_cse(manager)
        passes.common.add_symbol_dce(manager)
        passes.ttir.add_loop_unroll(manager)
        run(manager, module, "make_ttir")
        return module

    def make_ttgir(self, module: Any) -> Any:
        """Of Gluon's functions: layouts that they leave open are Heddle's to choose."""
        from triton._C.libtriton import ir, passes
        manager = ir.pass_manager(module.context)
        manager.enable_debug()
        passes.gluon.add_inliner(manager)
        passes.common.add_symbol_dce(manager)
        run(manager, module, "make_ttgir")
        return module

    def make_package(self, module: Any, metadata: Dict[str, Any], options: HeddleOptions) -> Any:
        from ..._kernel import compile
        from triton.runtime.errors import OutOfResources  # autotuning goes on to the next configuration
        text = str(module)
        threads = options.num_warps * options.warp_size
        if options.arch != "host" and threads > MOST_THREADS:
            raise OutOfResources(threads, MOST_THREADS, "threads")
        chosen = {} if options.arch == "host" else {"warps": options.num_warps}
        if chosen and options.num_stages != HeddleOptions.num_stages:  # else the chip's own default
            chosen["stages"] = max(1, options.num_stages)
        if options.enable_fp_fusion:
            chosen["fp_fusion"] = True
        try:
            kernel = compile(text, options.arch, name=metadata.get("name") or "<triton>", check=options.check, **chosen)
        except InputError as problem:
            found = re.search(r"needs (\d+) bytes (?:from byte (\d+) )?of shared memory.*; the chip has (\d+)", str(problem))
            if not found:
                raise
            raise OutOfResources(int(found[1]) + int(found[2] or 0), int(found[3]), "shared memory") from problem
        metadata["name"] = kernel.name
        metadata["shared"] = kernel.description["sharedBytes"]
        metadata["ttir"] = text  # for heddle.triton.checking
        return kernel

    def add_stages(self, stages: Dict[str, Any], options: HeddleOptions, language: Any = Language.TRITON) -> None:
        if language == Language.GLUON:
            if not options.arch.startswith(("gfx", "sm_")):
                raise InputError(f"Gluon kernels carry layouts of a GPU, and this one is for {options.arch}",
                                 ["`heddle.triton.enable` takes `sim:gfx942` and `sim:gfx950`, and `cuda` where there is a GPU"])
            stages["glir"] = lambda module, metadata: module  # where Triton 3.9 begins
            stages["ttgir"] = lambda module, metadata: self.make_ttgir(module)
        else:
            stages["ttir"] = lambda module, metadata: self.make_ttir(module, options)
        # The package is what runs; its instructions are a stage of their own, as those of Triton's backends.
        made = []

        def instructions(module: Any, metadata: Dict[str, Any]) -> str:
            made.append(self.make_package(module, metadata, options))
            return made[-1].asm()

        stages[_assembly_name(options.arch)] = instructions
        stages["hpkg"] = lambda module, metadata: made.pop().to_bytes()
        from triton import knobs
        hook = knobs.runtime.add_stages_inspection_hook
        if hook is not None:
            hook(self, stages, options, language, None)
