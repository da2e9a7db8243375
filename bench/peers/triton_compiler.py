# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The installed Triton's side of triton_kernels.py: Triton IR of `@triton.jit` functions, and kernels for sm_90 of Triton
IR. It needs no GPU."""

import collections
import inspect
import re

MOST_SHARED_BYTES = 227 * 1024  # of a block of sm_90

# `parameters`: the bytes of each; `shared`: bytes, dynamic.
TritonKernel = collections.namedtuple("TritonKernel", "entry threads shared parameters cubin ptx")


def backend():
    from triton.backends.compiler import GPUTarget
    from triton.compiler import make_backend

    return make_backend(GPUTarget("cuda", 90, 32))


def versions():
    """Triton's version, and that of the ptxas that it uses."""
    import triton

    found = re.search(r"V(\d[\d.]*)", backend().hash())
    return triton.__version__, found[1] if found else "unknown"


def front_end(function, signature, constants, aligned):
    """The Triton IR of a `@triton.jit` function; the arguments are those of `translate`."""
    from triton._C.libtriton import ir
    from triton.compiler import ASTSource

    types = {name: signature.get(name, "constexpr") for name in function.arg_names}
    divisible = {(number,): [["tt.divisibility", 16]] for number, name in enumerate(function.arg_names)
                 if types[name].startswith("*") or name in aligned}
    source, compiler = ASTSource(function, types, constants, divisible), backend()
    options, context = compiler.parse_options({"enable_fp_fusion": True}), ir.context()
    ir.load_dialects(context)
    compiler.load_dialects(context)
    known = {"target": compiler.target, "options": options, "codegen_fns": compiler.get_codegen_implementation(options),
             "module_map": compiler.get_module_map(), "context": context}
    module = source.make_ir(*[known[name] for name in inspect.signature(source.make_ir).parameters])
    passes = {"mod": module, "metadata": {}, "opt": options, "options": options, "capability": 90}
    return str(compiler.make_ttir(*[passes[name] for name in inspect.signature(compiler.make_ttir).parameters]))


def parameter_sizes(ptx, entry):
    """The bytes of each parameter of a kernel."""
    listed = re.search(rf"\.entry\s+{re.escape(entry)}\s*\((.*?)\)", ptx, re.DOTALL)
    if not listed:
        raise RuntimeError(f"Triton's PTX has no kernel `{entry}`")
    sizes = []
    for parameter in re.findall(r"\.param\b([^,]*)", listed[1]):
        bits, count = re.search(r"\.[a-z](\d+)\b", parameter), re.search(r"\[(\d+)\]", parameter)
        sizes.append(int(bits[1]) // 8 * int(count[1] if count else 1))
    return sizes


def compile_kernel(path, warps, stages):
    """The TritonKernel of a file of Triton IR; raises what Triton raises, and RuntimeError for a kernel whose launch needs
    more than its arguments."""
    import triton

    # Fusion of products and sums is said because versions differ in the default.
    kernel = triton.compile(str(path), target=backend().target,
                            options={"num_warps": warps, "num_stages": stages, "enable_fp_fusion": True})
    data = kernel.metadata
    for name, usual in (("global_scratch_size", 0), ("profile_scratch_size", 0), ("num_ctas", 1), ("tensordesc_meta", []),
                        ("launch_cooperative_grid", False)):
        value = getattr(data, name, usual)
        if (value or usual) != usual:
            raise RuntimeError(f"Triton's kernel has `{name}` {value}; this script launches kernels with {usual} only")
    if data.shared > MOST_SHARED_BYTES:
        raise RuntimeError(f"Triton's kernel needs {data.shared} bytes of shared memory; a block has {MOST_SHARED_BYTES}")
    ptx = kernel.asm["ptx"]
    return TritonKernel(data.name, 32 * data.num_warps, data.shared, parameter_sizes(ptx, data.name), kernel.asm["cubin"], ptx)
