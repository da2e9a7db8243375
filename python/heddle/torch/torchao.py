# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Heddle's kernels under the names and signatures of torchao's FP8 and MXFP8 quantisation, and `patch`, which puts them in
the place of torchao's: also on the CPU, where torchao has none.

    import heddle.torch.torchao
    with heddle.torch.torchao.patch():
        train()                              # torchao's MoE training, on Heddle's kernels"""
from __future__ import annotations

import functools
import importlib
import sys
from typing import Any, Callable, Dict, List, Optional, Tuple

import torch

from .._library import InputError
from ._library import operators
from ._sharding import register_shardings

_ops = operators  # of the library, by name
Pair = Tuple[torch.Tensor, torch.Tensor]


class NotServed(InputError):
    """The library has no kernel for this call; torchao's own is used."""


def _require(condition: bool, what: str) -> None:
    if not condition:
        raise NotServed(f"heddle.torch.torchao: {what}")


# ---- torchao.prototype.moe_training.kernels ----


def triton_fp8_rowwise_3d_transpose_rhs(hp_tensor: torch.Tensor, output_dtype: torch.dtype = torch.float8_e4m3fn,
                                        round_scales_to_power_of_2: bool = False) -> Pair:
    q, scales = _ops["fp8_rowwise_3d"](hp_tensor, dtype=output_dtype, pow2=round_scales_to_power_of_2)
    return q.transpose(-2, -1), scales


def triton_fp8_rowwise_3d_transpose_rhs_fused_reduction(hp_tensor: torch.Tensor,
                                                        output_dtype: torch.dtype = torch.float8_e4m3fn,
                                                        round_scales_to_power_of_2: bool = False) -> Pair:
    """The same in torchao, by another method; the kernel chooses its own for the device."""
    return triton_fp8_rowwise_3d_transpose_rhs(hp_tensor, output_dtype, round_scales_to_power_of_2)


def triton_fp8_colwise_3d_scale_and_cast(hp_tensor: torch.Tensor, output_dtype: torch.dtype = torch.float8_e4m3fn,
                                         round_scales_to_power_of_2: bool = False) -> Pair:
    q, scales = _ops["fp8_colwise_3d"](hp_tensor, dtype=output_dtype, pow2=round_scales_to_power_of_2)
    return q.transpose(-2, -1), scales.unsqueeze(1)


def triton_fp8_rowwise_2d_scale_and_cast(hp_tensor: torch.Tensor, output_dtype: torch.dtype = torch.float8_e4m3fn,
                                         round_scales_to_power_of_2: bool = False) -> Pair:
    q, scales = _ops["fp8_rowwise_2d"](hp_tensor, dtype=output_dtype, pow2=round_scales_to_power_of_2)
    return q, scales.unsqueeze(-1)


def triton_fp8_per_group_rowwise_scales(hp_tensor: torch.Tensor, offsets: torch.Tensor,
                                        output_dtype: torch.dtype = torch.float8_e4m3fn,
                                        round_scales_to_power_of_2: bool = False) -> Pair:
    q, scales = _ops["fp8_jagged_rowwise"](hp_tensor, offsets, dtype=output_dtype, pow2=round_scales_to_power_of_2)
    return q, scales.flatten()


def triton_fp8_per_group_colwise_scales(hp_tensor: torch.Tensor, offsets: torch.Tensor,
                                        output_dtype: torch.dtype = torch.float8_e4m3fn,
                                        round_scales_to_power_of_2: bool = False) -> Pair:
    q, scales = _ops["fp8_jagged_colwise"](hp_tensor, offsets, dtype=output_dtype, pow2=round_scales_to_power_of_2)
    return q.t(), scales.flatten()


def triton_fp8_per_group_colwise_scales_dual(hp_tensor_1: torch.Tensor, hp_tensor_2: torch.Tensor, offsets: torch.Tensor,
                                             output_dtype: torch.dtype = torch.float8_e4m3fn,
                                             round_scales_to_power_of_2: bool = False):
    q1, scales1, q2, scales2 = _ops["fp8_jagged_colwise_dual"](hp_tensor_1, hp_tensor_2, offsets, dtype=output_dtype,
                                                               pow2=round_scales_to_power_of_2)
    return q1.t(), scales1.flatten(), q2.t(), scales2.flatten()


# ---- torch ----


def scaled_grouped_mm(mat_a: torch.Tensor, mat_b: torch.Tensor, scale_a: torch.Tensor, scale_b: torch.Tensor,
                      offs: Optional[torch.Tensor] = None, bias: Optional[torch.Tensor] = None,
                      scale_result: Optional[torch.Tensor] = None, out_dtype: Optional[torch.dtype] = None,
                      use_fast_accum: bool = False) -> torch.Tensor:
    """`torch._scaled_grouped_mm` of FP8 with scales of rows, which `patch` leaves as it is. Groups may be of any sizes."""
    _require(offs is not None and mat_a.dim() == 2 and mat_b.dim() in (2, 3),
             f"mat_a has rank {mat_a.dim()}, mat_b {mat_b.dim()}, and the library has 2 with 2 or 3, and offs")
    _require(bias is None and scale_result is None, "`bias` and `scale_result` are not supported")
    if mat_b.dim() == 2:
        scale_a, scale_b = scale_a.reshape(offs.numel(), -1), scale_b.reshape(offs.numel(), -1)
    matmul = _ops["fp8_grouped_matmul_2d_3d" if mat_b.dim() == 3 else "fp8_grouped_matmul_2d_2d"]
    return matmul(mat_a, mat_b.transpose(-2, -1), scale_a, scale_b, offs, dtype=out_dtype or torch.bfloat16,
                  sums="fast" if use_fast_accum else "f32")


# ---- torchao.prototype.mx_formats.kernels ----


def _mode(scaling_mode: Any) -> str:
    mode = str(getattr(scaling_mode, "value", scaling_mode)).lower()
    _require(mode in ("floor", "rceil"), f"the scaling mode is {mode}, and the library has floor and rceil")
    return mode


def _mx(x: torch.Tensor, dim: int, scaling_mode: Any) -> Pair:
    q, scales = _ops["mxfp8_quantise"](x, dim=dim, mode=_mode(scaling_mode))
    return q, scales.view(torch.float8_e8m0fnu)


def triton_to_mxfp8_dim0(x: torch.Tensor, inner_block_size: int = 32, scaling_mode: str = "rceil") -> Pair:
    _require(inner_block_size == 32, f"inner_block_size is {inner_block_size}, and the library has 32")
    q, scales = _mx(x.reshape(-1, x.shape[-1]), 0, scaling_mode)
    return q.reshape(x.shape), scales.reshape(*x.shape[:-1], scales.shape[-1])


def triton_to_mxfp8_dim1(x: torch.Tensor, inner_block_size: int = 32, scaling_mode: str = "rceil") -> Pair:
    _require(inner_block_size == 32, f"inner_block_size is {inner_block_size}, and the library has 32")
    q, scales = _mx(x, 1, scaling_mode)
    return q.t(), scales


def mxfp8_quantize_cuda(x: torch.Tensor, rowwise: bool = False, colwise: bool = True, scaling_mode: str = "rceil"):
    none = x.new_empty(0, dtype=torch.float8_e4m3fn), x.new_empty(0, dtype=torch.float8_e8m0fnu)
    rows = _mx(x, 0, scaling_mode) if rowwise else none
    columns = none
    if colwise:
        q, scales = _mx(x, 1, scaling_mode)
        columns = q.t(), scales.t().contiguous().t()
    return rows[0], columns[0], rows[1], columns[1]


def triton_mxfp8_dequant_dim0(e4m3_data: torch.Tensor, e8m0_scales: torch.Tensor, out_dtype: torch.dtype,
                              scale_block_size: int = 32) -> torch.Tensor:
    _require(scale_block_size == 32, f"scale_block_size is {scale_block_size}, and the library has 32")
    shape = e4m3_data.shape
    scales = e8m0_scales if e8m0_scales.dtype == torch.uint8 else e8m0_scales.view(torch.uint8)
    return _ops["mxfp8_dequantise"](e4m3_data.reshape(-1, shape[-1]), scales.reshape(-1, scales.shape[-1]),
                                    dtype=out_dtype).reshape(shape)


# ---- torchao.prototype.moe_training.kernels.mxfp8 ----


def blocked(scales: torch.Tensor) -> torch.Tensor:
    """Scales in the blocked layout that NVIDIA's matmuls want, as a matrix of whole blocks of 128x4, by torchao's eager code."""
    from torchao.prototype.mx_formats.utils import to_blocked
    return to_blocked(scales).view(-(-scales.shape[0] // 128) * 128, -(-scales.shape[1] // 4) * 4)


def _check_groups(offs: Any) -> None:
    """Offsets only promise that groups are multiples of 128, so that no block of the layout belongs to two of them."""
    if offs is not None:
        torch._assert_async((offs % 128 == 0).all(), "the size of a group is no multiple of 128")


def mxfp8_quantize_2d_1x32_cutedsl(x: torch.Tensor, block_size: int = 32, scaling_mode: str = "rceil", stage_count: int = 2,
                                   offs: Any = None) -> Pair:
    _require(block_size == 32, f"block_size is {block_size}, and the library has 32")
    _check_groups(offs)
    q, scales = _mx(x, 0, scaling_mode)
    return q, blocked(scales)


def mxfp8_quantize_2d_32x1_cutedsl(x: torch.Tensor, block_size: int = 32, scaling_mode: str = "rceil", stage_count: int = 2,
                                   blocked_scale_output: bool = True, offs: Any = None) -> Pair:
    _require(block_size == 32, f"block_size is {block_size}, and the library has 32")
    _check_groups(offs)
    q, scales = _mx(x, 1, scaling_mode)
    return q.t(), blocked(scales).flatten() if blocked_scale_output else scales


def fused_pad_token_groups_cuda(inputs: torch.Tensor, offsets: torch.Tensor, alignment_size: int = 32):
    return _ops["token_group_pad"](inputs, offsets, align=alignment_size)


def fused_unpad_token_groups_cuda(inputs: torch.Tensor, offsets: torch.Tensor, padded_group_start_offsets: torch.Tensor,
                                  num_tokens: int, alignment_size: int = 32) -> torch.Tensor:
    return _ops["token_group_unpad"](inputs, offsets, padded_group_start_offsets, rows=num_tokens)


def mxfp8_quantize_cuda_3d(x: torch.Tensor, block_size: int = 32, scale_block_dim1: int = 32, scale_block_dim2: int = 1,
                           scaling_mode: str = "rceil", stage_count: int = 2, blocked_scale_output: bool = True) -> Pair:
    _require(block_size == 32 and scale_block_dim1 == 32 and scale_block_dim2 in (1, 32),
             f"the blocks are {scale_block_dim1}x{scale_block_dim2}, and the library has 32x1 and 32x32")
    q, scales = _ops["mxfp8_quantise_3d"](x, block=f"32x{scale_block_dim2}", mode=_mode(scaling_mode))
    scales = scales.view(torch.float8_e8m0fnu)
    if not blocked_scale_output:
        return q.transpose(-2, -1), scales.transpose(-2, -1).contiguous()
    from torchao.prototype.moe_training.kernels.mxfp8.quant import torch_to_blocked_per_group_3d
    return q.transpose(-2, -1), torch_to_blocked_per_group_3d(scales.repeat_interleave(scale_block_dim2, dim=1))


# ---- torchao.prototype.moe_training.ep ----


def generate_permute_indices(tokens_per_expert_group: torch.Tensor, experts_per_rank: int, num_ranks: int, max_len: int,
                             alignment: int, use_cpu: bool = False):
    _require(tokens_per_expert_group.dtype in (torch.int32, torch.int64),
             f"the counts are of {tokens_per_expert_group.dtype}, and the library has int32 and int64")
    least = experts_per_rank * alignment
    _require(max_len >= least, f"max_len is {max_len}, and the library wants {least} or more")
    return _ops["permute_indices"](tokens_per_expert_group.reshape(num_ranks, experts_per_rank).contiguous(), length=max_len,
                                   align=alignment)


def permute_and_pad(x: torch.Tensor, num_tokens_per_expert: torch.Tensor, ep_degree: int, num_local_experts: int,
                    alignment: int):
    rows = x.shape[0] + num_local_experts * alignment
    indices, sizes, ends = generate_permute_indices(num_tokens_per_expert, num_local_experts, ep_degree,
                                                    -(-rows // alignment) * alignment, alignment)
    shape = torch.Size((x.shape[0] + 1, x.shape[1]))  # torchao counts its row of zeros
    return shape, _ops["permute_rows"](x, indices), indices, sizes, ends


def _triton_permute_bwd(grad_output: torch.Tensor, permuted_indices: torch.Tensor, original_rows: int,
                        original_cols: int) -> torch.Tensor:
    _require(grad_output.shape[1] == original_cols,
             f"the gradient has {grad_output.shape[1]} columns, and {original_cols} are wanted")
    return _ops["unpermute_rows"](grad_output, permuted_indices, rows=original_rows)


# ---- torchao.prototype.blockwise_fp8_training.kernels ----


def _blockwise(x: torch.Tensor, block: str, block_size: int, dtype: torch.dtype) -> Pair:
    _require(block_size == 128, f"block_size is {block_size}, and the library has 128")
    return _ops["fp8_blockwise"](x, block=block, dtype=dtype)


def _column_major(x: torch.Tensor) -> torch.Tensor:
    return x.t().contiguous().t()


def triton_fp8_blockwise_act_quant_lhs(x: torch.Tensor, block_size: int = 128, dtype: torch.dtype = torch.float8_e4m3fn) -> Pair:
    q, scales = _blockwise(x, "1x128", block_size, dtype)
    return q, _column_major(scales)


def triton_fp8_blockwise_act_quant_rhs(x: torch.Tensor, block_size: int = 128, dtype: torch.dtype = torch.float8_e4m3fn) -> Pair:
    q, scales = _blockwise(x.t(), "1x128", block_size, dtype)
    return q.t(), scales.t().contiguous()


def triton_fp8_blockwise_act_quant_transposed_lhs(x: torch.Tensor, block_size: int = 128,
                                                  dtype: torch.dtype = torch.float8_e4m3fn) -> Pair:
    q, scales = _blockwise(x.t(), "1x128", block_size, dtype)
    return q, _column_major(scales)


def triton_fp8_blockwise_weight_quant_rhs(x: torch.Tensor, block_size: int = 128,
                                          dtype: torch.dtype = torch.float8_e4m3fn) -> Pair:
    q, scales = _blockwise(x.t(), "128x128", block_size, dtype)
    return q.t(), scales.t()


def triton_fp8_blockwise_weight_quant_transposed_rhs(x: torch.Tensor, block_size: int = 128,
                                                     dtype: torch.dtype = torch.float8_e4m3fn) -> Pair:
    q, scales = _blockwise(x, "128x128", block_size, dtype)
    return q.t(), scales.t()


# ---- patch ----

_KERNELS = "torchao.prototype.moe_training.kernels."
SERVED: Dict[str, List[Callable[..., Any]]] = {
    _KERNELS + "float8_rowwise": [
        triton_fp8_rowwise_3d_transpose_rhs, triton_fp8_rowwise_3d_transpose_rhs_fused_reduction,
        triton_fp8_colwise_3d_scale_and_cast, triton_fp8_rowwise_2d_scale_and_cast],
    _KERNELS + "jagged_float8_scales": [
        triton_fp8_per_group_rowwise_scales, triton_fp8_per_group_colwise_scales, triton_fp8_per_group_colwise_scales_dual],
    _KERNELS + "mxfp8.quant": [
        mxfp8_quantize_2d_1x32_cutedsl, mxfp8_quantize_2d_32x1_cutedsl, mxfp8_quantize_cuda_3d, fused_pad_token_groups_cuda,
        fused_unpad_token_groups_cuda],
    "torchao.prototype.moe_training.ep.kernels": [generate_permute_indices],
    "torchao.prototype.moe_training.ep.permute": [permute_and_pad, _triton_permute_bwd],
    "torchao.prototype.mx_formats.kernels": [
        triton_to_mxfp8_dim0, triton_to_mxfp8_dim1, mxfp8_quantize_cuda, triton_mxfp8_dequant_dim0],
    "torchao.prototype.blockwise_fp8_training.kernels": [
        triton_fp8_blockwise_act_quant_lhs, triton_fp8_blockwise_act_quant_rhs,
        triton_fp8_blockwise_act_quant_transposed_lhs, triton_fp8_blockwise_weight_quant_rhs,
        triton_fp8_blockwise_weight_quant_transposed_rhs],
}
"""What is put in torchao's place, by the module that defines it."""


def _serving(ours: Callable[..., Any], theirs: Any) -> Callable[..., Any]:
    @functools.wraps(ours)
    def serve(*args: Any, **named: Any) -> Any:
        try:
            return ours(*args, **named)
        except NotServed:
            return theirs(*args, **named)
    serve.original = theirs  # type: ignore[attr-defined]
    return serve


class Patch:
    """What `patch` changed: `undo`, or the end of a `with` block, puts torchao's own functions back."""

    def __init__(self) -> None:
        self._changed: List[Tuple[Any, str, Any]] = []
        self.names: List[str] = []
        self.missing: List[str] = []

    def replace(self, module_name: str, ours: Callable[..., Any]) -> None:
        try:
            theirs = getattr(importlib.import_module(module_name), ours.__name__)
        except (ImportError, AttributeError):
            self.missing.append(f"{module_name}.{ours.__name__}")
            return
        serving = _serving(ours, theirs)
        self.names.append(ours.__name__)
        for module in [module for name, module in list(sys.modules.items()) if name.partition(".")[0] == "torchao"]:
            for name, value in list(vars(module).items()):
                if value is theirs:
                    setattr(module, name, serving)
                    self._changed.append((module, name, theirs))

    def undo(self) -> None:
        for module, name, value in reversed(self._changed):
            setattr(module, name, value)
        self._changed.clear()

    def __enter__(self) -> "Patch":
        return self

    def __exit__(self, *unused: Any) -> None:
        self.undo()

    def __repr__(self) -> str:
        return f"<heddle.torch.torchao.Patch of {len(self.names)} functions{'' if self._changed else ', undone'}>"


def patch() -> Patch:
    """Puts Heddle's kernels in the place of torchao's, in every module of torchao that has them by name. A program that
    imported a function before keeps that one: patch first. Calls that the library has no kernel for go to torchao's
    own. A release of torchao that lacks a name is told in `missing`; one without any is an error."""
    if torch.distributed.is_available():
        register_shardings()
    made = Patch()
    for module, functions in SERVED.items():
        for ours in functions:
            made.replace(module, ours)
    if not made.names:
        raise InputError("torchao has none of the functions that Heddle serves: " + ", ".join(made.missing),
                         ["install a torchao that has torchao.prototype.moe_training"])
    return made


__all__ = ["NotServed", "Patch", "SERVED", "patch"] + [each.__name__ for each in sum(SERVED.values(), [])]
