# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Heddle's kernels in JAX programs, and JAX programs on Heddle's devices. docs/jax.md explains both.

    import heddle.jax
    y = jax.jit(lambda x: heddle.jax.call(kernel, jax.ShapeDtypeStruct(x.shape, x.dtype), x, n=x.size, grid=4))(x)
    heddle.jax.module(step, *arguments, device="sim:gfx942")    # the same results as JAX's, or an error"""
from ._call import call
from ._module import ModuleResult, module

__all__ = ["ModuleResult", "call", "module"]
