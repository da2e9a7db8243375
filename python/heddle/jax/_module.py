# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A jitted function's program on Heddle's devices, held against JAX's own results."""
from __future__ import annotations

import contextlib
import pathlib
import re
import tempfile
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

import jax
import numpy

from .._arrays import Array
from .._library import InputError, WrongResult
from .._report import ModuleRun, run

_DUMP = {"xla_dump_hlo_pass_re": "spmd-partition.*|call-inliner", "xla_dump_large_constants": True}
# Sums are in another order than XLA's, and are rounded at other places.
_TOLERANCES = {"float64": 1e-9, "float32": 1e-5, "complex128": 1e-9, "complex64": 1e-5, "float16": 1e-2, "bfloat16": 4e-2}


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
                          "heddle run takes the text of `jitted.lower(...).compile().as_text()`"])
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


def module(function: Callable[..., Any], *args: Any, devices: Optional[int] = None, device: str = "host",
           rtol: Optional[float] = None, compare: bool = True, **options: Any) -> ModuleResult:
    """Takes the partitioned program of `jax.jit(function)` for these arguments, runs it on as many devices of Heddle as JAX uses
    (`device`: host, sim:gfx942, sim:gfx950, ...), and compares every result on every device with JAX's.

    `devices` is the number that is expected; another one is an InputError. Integers must be equal; other numbers may differ
    by `rtol` of the largest magnitude of their result (1e-9 for float64, 1e-5 for float32, these also for complex numbers, 1e-2 for float16, 4e-2 for
    bfloat16, 0 for others). Raises WrongResult with the largest difference and its place. `options` are those of `heddle.run`."""
    jitted = function if hasattr(function, "lower") else jax.jit(function)
    with tempfile.TemporaryDirectory(prefix="heddle-") as folder, _on_cpu(args) as args:
        compiled, text = _partitioned_text(jitted.lower(*args), folder)
        ranks = _devices(compiled)
        if devices is not None and devices != len(ranks):
            raise InputError(f"JAX runs the program on {len(ranks)} devices, and devices={devices}",
                             ["the mesh of the program decides; JAX_NUM_CPU_DEVICES=N or the option jax_num_cpu_devices makes N"])
        outputs = jax.tree.leaves(compiled(*args))
        expected = [_shards(each, None, ranks) for each in outputs]
        path = pathlib.Path(folder) / "module.hlo"
        path.write_text(text, encoding="utf-8")
        given: Dict[str, Any] = {}
        for number, (value, sharding) in enumerate(_parameters(compiled, args, text)):
            parts = _shards(value, sharding, ranks)
            for rank, part in enumerate(parts):
                given[f"p{number}@{rank}" if len(ranks) > 1 else f"p{number}"] = numpy.array(part, order="C")  # of rank 0 it stays
        made: ModuleRun = run(str(path), device=device, devices=len(ranks), args=given, results=range(len(outputs)), **options)
        results = [[_as_numpy(array, wanted) for array, wanted in zip(made.results[number], expected[number])]
                   for number in range(len(outputs))]
    largest = [max((_difference(got, wanted)[0] for got, wanted in zip(*both)), default=0.0) for both in zip(results, expected)]
    report = ModuleResult(text, results, expected, largest)
    if compare:
        _compare(report, rtol, device)
    return report


def _parameters(compiled: Any, args: Sequence[Any], text: str) -> List[Tuple[Any, Any]]:
    """The arguments that the program has as parameters, with their shardings: JAX drops those without use."""
    values = jax.tree.leaves(args)
    shardings = jax.tree.leaves(compiled.input_shardings[0])
    kept = getattr(compiled._executable, "_kept_var_idx", None)
    values = values if kept is None else [values[index] for index in sorted(kept)]
    entry = text[re.search(r"^ENTRY ", text, re.M).start():] if "ENTRY " in text else text  # type: ignore[union-attr]
    wanted = len(set(re.findall(r"\bparameter\((\d+)\)", entry)))
    if wanted != len(values) or len(shardings) not in (len(values), 0):
        raise InputError(f"the program has {wanted} parameters, and {len(values)} of the arguments are used",
                         ["jit the function with keep_unused=True"])
    return list(zip(values, shardings or [None] * len(values)))


def _compare(report: ModuleResult, rtol: Optional[float], device: str) -> None:
    for number, (results, expected) in enumerate(zip(report.results, report.expected)):
        for rank, (got, wanted) in enumerate(zip(results, expected)):
            difference, index, scale = _difference(got, wanted)
            allowed = (_TOLERANCES.get(str(wanted.dtype), 0.0) if rtol is None else rtol) * max(scale, 1e-30)
            if difference <= allowed:
                continue
            at = f"[{', '.join(map(str, index))}]"
            shown = f"{got[index]!s} and {wanted[index]!s}" if got.shape == wanted.shape else f"shapes {got.shape} and {wanted.shape}"
            raise WrongResult(f"result {number} on device {rank} differs from JAX's: {shown} at {at}, and {allowed:.3g} is allowed",
                              [f"the largest difference is {difference:.3g} on {device}", "`compare=False` gives the results"])
