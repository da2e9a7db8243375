# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The kernels of the library as operators, made from what the library says of each: its inputs, the forms of its results and
its options."""
from __future__ import annotations

from typing import Any, Callable, Dict, List, Sequence, Tuple

import torch

from .. import library
from .._arrays import element_type, torch_dtype, torch_place
from .._device import device_of
from .._library import InputError


class Operator:
    """`heddle::NAME` of a kernel of the library."""

    def __init__(self, name: str):
        self.name = name
        contract = library.contract(name)
        self.inputs: List[Dict[str, Any]] = contract["inputs"]
        self.names = [each["name"] for each in self.inputs]
        self.forms: List[Dict[str, Any]] = contract["results"]
        self.options: Dict[str, Dict[str, Any]] = {option["name"]: option for option in contract["options"]}
        self.results = list(dict.fromkeys(form["name"] for form in self.forms))
        words = [f"Tensor {each['name']}" for each in self.inputs] + ["*"]
        words += [self._word(option) for option in contract["options"]]
        words += [f"int? {tile['name']}=None" for tile in contract["tiles"]]
        tensors = ", ".join("Tensor" for _ in self.results)
        self.schema = f"({', '.join(words)}) -> {tensors if len(self.results) == 1 else f'({tensors})'}"

    @staticmethod
    def _kind(option: Dict[str, Any]) -> str:
        if option["name"] == "dtype":
            return "ScalarType"
        values = option["values"]
        if values and set(values) <= {"true", "false"}:
            return "bool"
        return "int" if all(value.isdigit() for value in values) else "str"

    def _word(self, option: Dict[str, Any]) -> str:
        kind, standard = self._kind(option), option["default"]
        if kind == "ScalarType" or standard == "":
            return f"{kind}? {option['name']}=None"
        shown = {"bool": standard.capitalize(), "int": standard, "str": f'"{standard}"'}[kind]
        return f"{kind} {option['name']}={shown}"

    def run(self, *tensors: torch.Tensor, **options: Any) -> Any:
        """What the operator does: launches on the tensors' device, in its current stream."""
        arguments: Dict[str, Any] = dict(zip(self.names, tensors))
        for name, value in options.items():
            if value is not None:
                arguments[name] = value
        results = library.call_of(self.name, False, arguments)
        made = [results[name] if name in results else torch.empty(0, device=tensors[0].device) for name in self.results]
        return made[0] if len(made) == 1 else tuple(made)

    def fake(self, *tensors: torch.Tensor, **options: Any) -> Any:
        """Results without contents, also of symbolic sizes."""
        extents: Dict[str, Any] = {}
        for each, tensor in zip(self.inputs, tensors):
            if tensor.dim() != len(each["extents"]):
                raise InputError(f"heddle::{self.name}: `{each['name']}` has rank {tensor.dim()}, and "
                                 f"[{', '.join(each['extents'])}] has rank {len(each['extents'])}")
            for name, size in zip(each["extents"], tensor.shape):
                extents.setdefault(name, size)
        made = []
        for name in self.results:
            form = next((form for form in self.forms if form["name"] == name and self._holds(form, options)), None)
            if form is None:
                made.append(torch.empty(0, device=tensors[0].device))
                continue
            shape = [self._extent(extent, extents, options) for extent in form["extents"]]
            made.append(torch.empty(shape, dtype=self._dtype(form["type"], tensors, options), device=tensors[0].device))
        return made[0] if len(made) == 1 else tuple(made)

    def _holds(self, form: Dict[str, Any], options: Dict[str, Any]) -> bool:
        if not form["option"]:
            return True
        value = options.get(form["option"])
        value = self.options[form["option"]]["default"] if value is None else value
        return (str(value).lower() if isinstance(value, bool) else str(value)) in form["values"]

    def _number(self, name: str, options: Dict[str, Any], least: int) -> int:
        value = options.get(name)
        value = int(self.options[name]["default"]) if value is None else value
        if value < least:
            raise InputError(f"heddle::{self.name}: `{name}` is {value}, and must be {least} or above")
        return value

    def _extent(self, extent: Dict[str, Any], extents: Dict[str, Any], options: Dict[str, Any]) -> Any:
        of = extent["of"]
        whole = 1 if not of else self._number(of[7:], options, 0) if of.startswith("option ") else extents[of]
        whole = whole * extent["times"]
        if extent.get("unit"):
            unit = self._number(extent["unit"], options, 1)
            return (whole + extents[extent["plus"]] * unit + unit - 1) // unit * unit
        return whole if extent["per"] == 1 else (whole + extent["per"] - 1) // extent["per"]

    def _dtype(self, kind: str, tensors: Sequence[torch.Tensor], options: Dict[str, Any]) -> torch.dtype:
        if kind.startswith("input "):
            return next(tensor.dtype for each, tensor in zip(self.inputs, tensors) if each["name"] == kind[6:])
        if not kind.startswith("option "):
            return torch_dtype(kind)
        if options.get(kind[7:]) is not None:
            return torch_dtype(element_type(options[kind[7:]]))
        standard = self.options[kind[7:]]["default"]
        if not standard:  # FNUZ formats are those of one chip only
            place = torch_place(tensors[0])
            fnuz = place.startswith("hip") and device_of(place).target == "gfx942"
            standard = "f8E4M3FNUZ" if fnuz else "f8E4M3FN"
        return torch_dtype(standard)


def _amax_backward(ctx: Any, gradient: torch.Tensor) -> torch.Tensor:
    """All elements of the largest magnitude share the gradient, as torch.amax does it."""
    x, amax = ctx.saved_tensors
    largest = x.abs().float() == amax
    share = gradient * largest / largest.sum().clamp(min=1)
    return (share * x.sign().float()).to(x.dtype)


def _amax_setup(ctx: Any, inputs: Tuple[Any, ...], keyword_only_inputs: Dict[str, Any], output: torch.Tensor) -> None:
    ctx.save_for_backward(inputs[0], output)


def _matmul_setup(ctx: Any, inputs: Tuple[Any, ...], keyword_only_inputs: Dict[str, Any], output: torch.Tensor) -> None:
    if any(ctx.needs_input_grad[2:4]):
        raise InputError("heddle::int4_matmul has a derivative by `a` only, and `scales` or `zeros` require a gradient",
                         ["pass scales.detach() and zeros.detach()"])
    ctx.save_for_backward(*inputs[1:4])
    ctx.transposed = keyword_only_inputs["transposed"]


def _matmul_backward(ctx: Any, gradient: torch.Tensor):
    back = torch.ops.heddle.int4_matmul(gradient.contiguous(), *ctx.saved_tensors, transposed=not ctx.transposed)
    return back, None, None, None


def _rows_setup(ctx: Any, inputs: Tuple[Any, ...], keyword_only_inputs: Dict[str, Any], output: Any) -> None:
    ctx.rows = inputs[0].shape[0]
    ctx.save_for_backward(*inputs[1:], *(output[1:2] if isinstance(output, tuple) else ()))


def _pad_backward(ctx: Any, gradient: torch.Tensor, *offsets: Any):
    ends, starts = ctx.saved_tensors
    return torch.ops.heddle.token_group_unpad(gradient.contiguous(), ends, starts, rows=ctx.rows), None


def _unpad_backward(ctx: Any, gradient: torch.Tensor):
    ends, starts = ctx.saved_tensors
    sizes = ends.diff(prepend=ends.new_zeros(1))
    row = torch.arange(ctx.rows, device=gradient.device).unsqueeze(1)
    inside = (row >= starts) & (row < starts + sizes)  # of no group, or of one
    source = (inside * (row - starts + ends - sizes)).sum(1)
    return torch.ops.heddle.permute_rows(gradient.contiguous(), torch.where(inside.any(1), source, -1)), None, None


def _permute_backward(ctx: Any, gradient: torch.Tensor):
    return torch.ops.heddle.unpermute_rows(gradient.contiguous(), *ctx.saved_tensors, rows=ctx.rows), None


def _unpermute_backward(ctx: Any, gradient: torch.Tensor):
    return torch.ops.heddle.permute_rows(gradient.contiguous(), *ctx.saved_tensors), None


_DERIVATIVES: Dict[str, Tuple[Callable[..., Any], Callable[..., Any]]] = {
    "amax": (_amax_backward, _amax_setup), "int4_matmul": (_matmul_backward, _matmul_setup),
    "permute_rows": (_permute_backward, _rows_setup), "token_group_pad": (_pad_backward, _rows_setup),
    "token_group_unpad": (_unpad_backward, _rows_setup), "unpermute_rows": (_unpermute_backward, _rows_setup)}


def _no_derivative(name: str) -> Callable[..., Any]:
    def backward(ctx: Any, *gradients: Any) -> Any:
        raise InputError(f"heddle::{name} rounds its results, and has no derivative", [
            "detach its inputs, or write the gradient that is wanted as a torch.autograd.Function around the operator"])
    return backward


# Not torch.library.custom_op, which adds several microseconds to each call: the operators make their results, and write to
# nothing else.
_namespace = torch.library.Library("heddle", "FRAGMENT")


def _register(name: str) -> Any:
    operator, qualified = Operator(name), f"heddle::{name}"
    _namespace.define(name + operator.schema, tags=(torch.Tag.pt2_compliant_tag,))
    _namespace.impl(name, operator.run, "CompositeExplicitAutograd")
    torch.library.register_fake(qualified, operator.fake, lib=_namespace)
    backward, setup = _DERIVATIVES.get(name, (_no_derivative(name), None))
    torch.library.register_autograd(qualified, backward, setup_context=setup, lib=_namespace)
    return getattr(torch.ops.heddle, name)


operators: Dict[str, Any] = {name: _register(name) for name in library.names()}
"""The operators by name; `torch.ops.heddle.NAME` is the same."""
