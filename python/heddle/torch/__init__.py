# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Heddle's kernels as operators of PyTorch: `torch.ops.heddle.NAME` for every kernel of the library, and `op` for a kernel of
one's own. docs/pytorch.md explains both.

    import heddle.torch
    q, scales = torch.ops.heddle.fp8_rowwise_2d(x, pow2=True)
    add = heddle.torch.op("mine::add", "add.ttir", grid=lambda x: (x.numel() + 1023) // 1024,
                          outputs={"out": torch.empty_like}, scalars={"n": lambda x: x.numel()})"""
from ._library import operators
from ._op import op
from ._sharding import register_shardings

__all__ = ["op", "operators", "register_shardings"]
