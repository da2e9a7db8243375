# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A jitted function's program on Heddle's devices, held against JAX's own results."""
from __future__ import annotations

import contextlib
import inspect
import pathlib
import re
import tempfile
from typing import Any, Callable, Dict, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Tuple

import jax
import numpy

from .._arrays import Array
from .._library import InputError, WrongResult
from .._report import ModuleRun, run

_DUMP = {"xla_dump_hlo_pass_re": "spmd-partition.*|call-inliner", "xla_dump_large_constants": True}
# Sums are in another order than XLA's, and are rounded at other places.
_TOLERANCES = {"float64": 1e-9, "float32": 1e-5, "complex128": 1e-9, "complex64": 1e-5, "float16": 1e-2, "bfloat16": 4e-2}
# A result below this part of the largest magnitude of all results is 0 but for rounding, as the gradient of a bias before a normalisation.
_ZEROS = {"float64": 1e-14, "float32": 1e-6, "complex128": 1e-14, "complex64": 1e-6, "float16": 1e-4, "bfloat16": 1e-3}
_LARGEST = 1e3  # counts at most: a mask of -1e9 among the results says nothing of the rounding of the others


class ModuleResult(NamedTuple):
    """What the program gave on Heddle's devices."""
    text: str
    """The program of one device: HLO text, for `heddle run`."""
    results: List[List[Any]]
    """Of each result, in the order of the function's flat results, an array of NumPy for each device."""
    expected: List[List[Any]]
    """The same of JAX."""
    largest: List[float]
    """The largest difference of each result."""

    def __repr__(self) -> str:
        return (f"<heddle.jax.ModuleResult of {len(self.results)} results on {len(self.results[0]) if self.results else 0} devices, "
                f"largest difference {max(self.largest, default=0.0):.3g}>")


def _partitioned_text(lowered: Any, folder: str) -> Tuple[Any, str]:
    """The executable, and the program of one device before XLA optimises it."""
    compiled = lowered.compile(compiler_options={"xla_dump_to": folder, **_DUMP})
    dumps = sorted(pathlib.Path(folder).glob("*spmd-partitioner.after_call-inliner*"))
    dumps = dumps or sorted(pathlib.Path(folder).glob("*after_spmd-partitioning*"))
    if dumps:
        return compiled, dumps[-1].read_text()
    if len(_devices(compiled)) > 1:
        raise InputError("this jaxlib left no text of the partitioned program",
                         [f"it wrote {', '.join(sorted(path.name for path in pathlib.Path(folder).iterdir())[:8])}",
                          "heddle run takes the text of `jitted.lower(...).compile()`; docs/jax.md says how it is printed with all constants"])
    return compiled, lowered.compiler_ir("hlo").as_hlo_text(True)


@contextlib.contextmanager
def _on_cpu(args: Sequence[Any]) -> Iterator[Sequence[Any]]:
    """Lets JAX use its CPU in the block, as far as arguments and meshes leave it the choice: programs for a GPU call cuSOLVER, and
    round the operands of matmuls to TF32. The arguments without their place on a GPU."""
    if jax.default_backend() == "cpu":
        yield args
        return

    def free(value: Any) -> Any:
        if not isinstance(value, jax.Array) or len(value.devices()) > 1:
            return value
        if jax.dtypes.issubdtype(value.dtype, jax.dtypes.prng_key):
            return jax.random.wrap_key_data(numpy.asarray(jax.random.key_data(value)), impl=jax.random.key_impl(value))
        return value.item() if value.weak_type and not value.ndim else numpy.asarray(value)
    try:
        cpu = jax.local_devices(backend="cpu")[0]
    except RuntimeError as problem:
        raise InputError(f"JAX has no CPU to compare with: {problem}", ["JAX_PLATFORMS=cuda,cpu gives it both"]) from None
    with jax.default_device(cpu):
        yield jax.tree.map(free, args)


def _devices(compiled: Any) -> List[Any]:
    return list(compiled.runtime_executable().local_devices())


def _shards(array: Any, sharding: Any, devices: Sequence[Any]) -> List[Any]:
    """What each device has of it, in the order of the devices."""
    if jax.dtypes.issubdtype(getattr(array, "dtype", None), jax.dtypes.prng_key):
        array = jax.random.key_data(array)
        sharding = None
    if sharding is not None:
        array = jax.device_put(array, sharding)
    array = jax.numpy.asarray(array)
    parts = {shard.device: numpy.asarray(shard.data) for shard in array.addressable_shards}
    if set(parts) != set(devices):
        only = numpy.asarray(array)
        return [only for _ in devices]
    return [parts[device] for device in devices]


def _as_numpy(array: Array, like: Any) -> Any:
    made = numpy.asarray(array)
    if like.dtype.kind == "c" and made.shape[-1:] == (2,):  # pairs
        return made.view(like.dtype)[..., 0]
    return made.view(like.dtype) if made.dtype != like.dtype and made.dtype.itemsize == like.dtype.itemsize else made


def _difference(got: Any, wanted: Any) -> Tuple[float, Tuple[int, ...], float]:
    """The largest difference, where it is, and the largest magnitude that is wanted; NaN differs from all but NaN."""
    if got.shape != wanted.shape:
        return float("inf"), (), 0.0
    if not wanted.size:
        return 0.0, (), 0.0
    wide = numpy.complex128 if wanted.dtype.kind == "c" else numpy.float64
    if wanted.dtype.kind in "iub" and wanted.dtype != bool:
        differs = (got != wanted).astype(numpy.float64)
        scale = 0.0
    else:
        a, b = got.astype(wide), wanted.astype(wide)
        with numpy.errstate(invalid="ignore"):
            differs = numpy.abs(a - b)
        differs = numpy.where((a == b) | (numpy.isnan(a) & numpy.isnan(b)), 0.0, numpy.where(numpy.isnan(differs), numpy.inf, differs))
        finite = numpy.abs(b[numpy.isfinite(b)])
        scale = float(finite.max()) if finite.size else 0.0
    index = numpy.unravel_index(int(differs.argmax()), differs.shape)
    return float(differs[index]), tuple(int(each) for each in index), scale


def _check_call(function: Any, args: Sequence[Any], kwargs: Mapping[str, Any], options: Mapping[str, Any]) -> None:
    """Refuses arguments of the function that are given as if they were options, and those that it does not take."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # it does not say
        return
    shown = f"`{getattr(function, '__name__', type(function).__name__)}{signature}`"
    try:
        bound, problem = signature.bind(*args, **kwargs).arguments, ""
    except TypeError as error:
        bound, problem = {}, str(error)
    meant = [name for name in options if name in signature.parameters and name not in bound]
    if meant:
        given = ", ".join(f'"{name}": ...' for name in meant)
        raise InputError(f"`{meant[0]}` is an argument of {shown}, and heddle.jax.module takes it for an option of heddle.run",
                         [f"arguments by name are given as `kwargs={{{given}}}`"])
    if problem:
        raise InputError(f"{shown} does not take these arguments: {problem}", ["arguments by name are given as `kwargs={...}`"])


def _lowered(function: Any, args: Sequence[Any], kwargs: Mapping[str, Any], options: Mapping[str, Any]) -> Any:
    kind = f"{type(function).__module__}.{type(function).__name__}"
    if hasattr(function, "runtime_executable"):
        raise InputError(f"a compiled program ({kind}) was given: XLA has optimised it for JAX's own device",
                         ["give the function, or what `jax.jit(function).lower(...)` returns"])
    if hasattr(function, "compiler_ir"):
        lowered = function
    elif isinstance(function, jax.stages.Traced):
        lowered = function.lower()
    elif not callable(function):
        raise InputError(f"a {kind} was given, and a function is wanted", ["of a jax.export.Exported give its `call`"])
    else:
        _check_call(function, args, kwargs, options)
        lowered = (function if hasattr(function, "lower") else jax.jit(function)).lower(*args, **kwargs)
    if not isinstance(lowered, jax.stages.Lowered):
        raise InputError(f"{kind} gives a {type(lowered).__module__}.{type(lowered).__name__}, and a jax.stages.Lowered is wanted",
                         ["give a function of arrays: for a model of Flax `graph, state = nnx.split(model)` before, and "
                          "`nnx.merge(graph, state)` in the function of `state`"])
    return lowered


def _fits(value: Any, info: Any) -> bool:
    """Whether a value may be an argument that a lowered program describes so."""
    if jax.tree.structure(value) != jax.tree.structure(info):
        return False
    try:
        forms = [jax.eval_shape(lambda leaf: leaf, leaf) for leaf in jax.tree.leaves(value)]
    except TypeError:  # no type of JAX
        return False
    return all(form.shape == each.shape and form.dtype == each.dtype for form, each in zip(forms, jax.tree.leaves(info)))


def _first_fit(values: Sequence[Any], infos: Sequence[Any]) -> List[int]:
    """The positions in `values` of arguments that fit `infos` in their order, each the first one possible."""
    found: List[int] = []
    for position, value in enumerate(values):
        if len(found) < len(infos) and _fits(value, infos[len(found)]):
            found.append(position)
    return found


def _without_static(lowered: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Tuple[Tuple[Any, ...], Dict[str, Any]]:
    """The arguments that the lowered program has. JAX does not say which ones are static and so part of it: those that do not fit."""
    infos, named = lowered.args_info
    missing = [name for name in named if name not in kwargs]
    if len(args) < len(infos) or missing:
        raise InputError(f"the program takes {len(infos)} arguments{''.join(f', `{name}`' for name in named)}, and "
                         f"{len(args)}{''.join(f', `{name}`' for name in kwargs)} are given",
                         ["give those of `lower` again; arguments by name as `kwargs={...}`"])
    positions = list(range(len(args)))
    if len(args) > len(infos):
        positions = _first_fit(args, infos)
        last = [len(args) - 1 - each for each in _first_fit(args[::-1], infos[::-1])][::-1]
        if len(positions) < len(infos) or positions != last:
            raise InputError(f"{len(infos)} of the {len(args)} arguments are arrays of the program, and which are static is not certain",
                             ["set the static ones before: `functools.partial(function, name=value)`"])
    return tuple(args[each] for each in positions), {name: kwargs[name] for name in named}


def _check_values(values: Any) -> None:
    for path, leaf in jax.tree_util.tree_leaves_with_path(values):
        if isinstance(leaf, jax.ShapeDtypeStruct):
            place, *rest = path[1:]
            name = f"argument {place.idx}" if hasattr(place, "idx") else f"argument `{place.key}`"
            raise InputError(f"{name}{jax.tree_util.keystr(tuple(rest))} is {leaf!r}, which has no values to compare results of",
                             ["give an array: `jax.random.normal(jax.random.key(0), form.shape, form.dtype)`, or zeros"])


def _own_if_donated(info: Any, value: Any) -> Any:
    """A copy of what is donated: JAX deletes the array that it gets."""
    return jax.numpy.copy(value) if info.donated and hasattr(value, "dtype") else value


def _called(compiled: Any, lowered: Any, values: Any) -> List[Any]:
    args, named = jax.tree.map(_own_if_donated, lowered.args_info, values)
    try:
        return jax.tree.leaves(compiled(*args, **named))
    except TypeError as problem:
        raise InputError(f"the program was lowered for other arguments: {problem}", ["give those of `lower` again"]) from None


def module(function: Callable[..., Any], *args: Any, kwargs: Optional[Mapping[str, Any]] = None, devices: Optional[int] = None,
           device: str = "host", rtol: Optional[float] = None, atol: Optional[float] = None, compare: bool = True,
           **options: Any) -> ModuleResult:
    """Takes the partitioned program of `jax.jit(function)` for these arguments, runs it on as many devices of Heddle as JAX uses
    (`device`: host, sim:gfx942, sim:gfx950, ...), and compares every result on every device with JAX's. `function` may be jitted, traced or
    lowered; `kwargs` are its arguments by name. What it donates is copied before.

    `devices` is the number that is expected; another one is an InputError. Integers must be equal; other numbers may differ
    by `rtol` of the largest magnitude of their result (1e-9 for float64, 1e-5 for float32, these also for complex numbers, 1e-2 for float16, 4e-2 for
    bfloat16, 0 for others), and by `atol`, which unless given is for results that are 0 but for rounding: docs/jax.md. Raises WrongResult with
    the largest difference and its place. `options` are those of `heddle.run`."""
    with tempfile.TemporaryDirectory(prefix="heddle-") as folder, _on_cpu((args, dict(kwargs or {}))) as (args, kwargs):
        lowered = _lowered(function, args, kwargs, options)
        values = _without_static(lowered, args, kwargs)
        _check_values(values)
        compiled, text = _partitioned_text(lowered, folder)
        ranks = _devices(compiled)
        if devices is not None and devices != len(ranks):
            raise InputError(f"JAX runs the program on {len(ranks)} devices, and devices={devices}",
                             ["the mesh of the program decides; JAX_NUM_CPU_DEVICES=N or the option jax_num_cpu_devices makes N"])
        path = pathlib.Path(folder) / "module.hlo"
        path.write_text(text, encoding="utf-8")
        given: Dict[str, Any] = {}
        for number, (value, sharding) in enumerate(_parameters(compiled, values, text)):
            parts = _shards(value, sharding, ranks)
            for rank, part in enumerate(parts):
                given[f"p{number}@{rank}" if len(ranks) > 1 else f"p{number}"] = numpy.array(part, order="C")  # of rank 0 it stays
        outputs = _called(compiled, lowered, values)
        expected = [_shards(each, None, ranks) for each in outputs]
        made: ModuleRun = run(str(path), device=device, devices=len(ranks), args=given, results=range(len(outputs)), **options)
        results = [[_as_numpy(array, wanted) for array, wanted in zip(made.results[number], expected[number])]
                   for number in range(len(outputs))]
    largest = [max((_difference(got, wanted)[0] for got, wanted in zip(*both)), default=0.0) for both in zip(results, expected)]
    report = ModuleResult(text, results, expected, largest)
    if compare:
        _compare(report, rtol, atol, device)
    return report


def _parameters(compiled: Any, arguments: Any, text: str) -> List[Tuple[Any, Any]]:
    """The arguments that the program has as parameters, with their shardings: JAX drops those without use."""
    values = jax.tree.leaves(arguments)
    shardings = jax.tree.leaves(compiled.input_shardings)
    kept = getattr(getattr(compiled, "_executable", None), "_kept_var_idx", None)
    values = values if kept is None else [values[index] for index in sorted(kept)]
    entry = text[re.search(r"^ENTRY ", text, re.M).start():] if "ENTRY " in text else text  # type: ignore[union-attr]
    wanted = len(set(re.findall(r"\bparameter\((\d+)\)", entry)))
    if wanted != len(values) or len(shardings) not in (len(values), 0):
        raise InputError(f"the program has {wanted} parameters, and {len(values)} of the arguments are used",
                         ["jit the function with keep_unused=True"])
    return list(zip(values, shardings or [None] * len(values)))


def _rounds(result: Any) -> bool:
    return jax.dtypes.issubdtype(result.dtype, numpy.inexact)


def _largest(expected: Sequence[Sequence[Any]]) -> float:
    """The largest magnitude among all results that are not integers."""
    return max((_difference(each, each)[2] for result in expected for each in result if _rounds(each)), default=0.0)


def _allowed(dtype: str, rtol: Optional[float], atol: Optional[float], scale: float, largest: float) -> float:
    """The difference that a result of this largest magnitude may have."""
    relative = (_TOLERANCES.get(dtype, 0.0) if rtol is None else rtol) * max(scale, 1e-30)
    if atol is not None or rtol == 0:
        return max(relative, atol or 0.0)
    zero = _ZEROS.get(dtype, 0.0) * min(largest, _LARGEST)
    return max(relative, zero if scale <= zero else 0.0)


def _compare(report: ModuleResult, rtol: Optional[float], atol: Optional[float], device: str) -> None:
    largest = _largest(report.expected)
    for number, (results, expected) in enumerate(zip(report.results, report.expected)):
        for rank, (got, wanted) in enumerate(zip(results, expected)):
            difference, index, scale = _difference(got, wanted)
            allowed = _allowed(str(wanted.dtype), rtol, atol, scale, largest) if _rounds(wanted) else 0.0
            if difference <= allowed:
                continue
            at = f"[{', '.join(map(str, index))}]"
            shown = f"{got[index]!s} and {wanted[index]!s}" if got.shape == wanted.shape else f"shapes {got.shape} and {wanted.shape}"
            raise WrongResult(f"result {number} on device {rank} differs from JAX's: {shown} at {at}, and {allowed:.3g} is allowed",
                              [f"the largest difference is {difference:.3g} on {device}",
                               "`atol=...` allows more where a result is 0 but for rounding; `compare=False` gives the results"])
