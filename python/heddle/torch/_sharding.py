# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How operators of the library divide their work over the devices of a mesh: for distributed tensors (DTensor), whose placements
PyTorch changes where none of these is there."""
from __future__ import annotations

from typing import Any, Callable, Dict, List, Tuple

import torch

_Placements = List[Tuple[List[Any], List[Any]]]  # of results and of inputs


def _splits(array: Any, axis: int, unit: int) -> bool:
    """Whether every device of the mesh gets a whole number of units of that axis."""
    return array.shape[axis] % (unit * array.mesh.size()) == 0


def _mxfp8_quantise(x: Any, *, dim: int = 0, **options: Any) -> _Placements:
    """Blocks of 32 elements, along axis 1 - dim, stay on a device."""
    from torch.distributed.tensor import Replicate, Shard
    axes = [axis for axis in (0, 1) if axis == dim or _splits(x, axis, 32)]
    return [([Replicate(), Replicate()], [Replicate()])] + [([Shard(axis ^ dim), Shard(axis ^ dim)], [Shard(axis)]) for axis in axes]


def _mxfp8_dequantise(q: Any, scales: Any, **options: Any) -> _Placements:
    from torch.distributed.tensor import Replicate, Shard
    places = [Replicate(), Shard(0)] + ([Shard(1)] if _splits(q, 1, 32) else [])
    return [([place], [place, place]) for place in places]


def _fp8_rowwise_2d(x: Any, **options: Any) -> _Placements:
    from torch.distributed.tensor import Replicate, Shard
    return [([place, place], [place]) for place in (Replicate(), Shard(0))]


_RULES: Dict[str, Callable[..., _Placements]] = {
    "fp8_rowwise_2d": _fp8_rowwise_2d, "mxfp8_dequantise": _mxfp8_dequantise, "mxfp8_quantise": _mxfp8_quantise}


def register_shardings() -> None:
    """Lets `fp8_rowwise_2d`, `mxfp8_quantise` and `mxfp8_dequantise` take distributed tensors. `heddle.torch.torchao.patch` calls
    it; it imports torch.distributed.tensor."""
    from torch.distributed.tensor.experimental import register_sharding
    for name, rule in _RULES.items():
        register_sharding(getattr(torch.ops.heddle, name).default)(rule)
