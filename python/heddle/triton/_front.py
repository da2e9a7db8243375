# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The text of a function of triton.jit, made by Triton's own front end, for heddle.compile."""
from __future__ import annotations

from typing import Any, Dict, Optional, Tuple

from .._library import InputError

_WARP_SIZES = {"host": 1, "sm_90": 32}


def text_of(function: Any, target: Optional[str], name: Optional[str],
            options: Dict[str, Any]) -> Tuple[str, Optional[str], Dict[str, Any]]:
    """TTIR, its name for messages, and the options that are left. `options` has `signature` and the constants by name."""
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource
    from . import _register
    _register()
    options = dict(options)
    for theirs, ours in (("num_warps", "warps"), ("num_stages", "stages")):
        if theirs in options:
            value = options[theirs] if theirs in function.arg_names else options.pop(theirs)
            if options.get(ours, value) != value:
                raise InputError(f"`{ours}={options[ours]}` and `{theirs}={value}` are the same option", ["give one of them"])
            options[ours] = value
    given = options.pop("signature", None)
    constants = {each: options.pop(each) for each in function.arg_names if each in options}
    wanted = [each for each in function.arg_names if each not in constants]
    missing = [each for each in wanted if each not in (given or {})]
    if missing:
        example = ", ".join(f'"{each}": "*fp32:16"' for each in missing)
        raise InputError(f"function `{function.__name__}` of {'gluon' if _is_gluon(function) else 'triton'}.jit has no types for {', '.join(missing)}",
                         [f"give `signature={{{example}}}` with the type of each: `*fp32` a pointer, `:16` its alignment, `i32` "
                          "an integer; constants are given by name"])
    signature, attributes = {}, {}
    for index, each in enumerate(function.arg_names):
        kind, _, divisibility = (given or {}).get(each, "constexpr").partition(":")
        signature[each] = "constexpr" if each in constants else kind
        if divisibility:
            attributes[(index,)] = [["tt.divisibility", int(divisibility)]]
    positions = {(function.arg_names.index(each),): value for each, value in constants.items()}
    chip = target or "host"
    is_gluon = _is_gluon(function)
    if is_gluon and chip == "host":
        raise InputError(f"function `{function.__name__}` of gluon.jit has layouts for the threads of a GPU",
                         ["give the GPU: `target=\"gfx950\"`, `\"gfx942\"` or `\"sm_90\"`"])
    if is_gluon:
        from triton.experimental.gluon._runtime import GluonASTSource
        source = GluonASTSource(function, signature, positions, attributes)
    else:
        source = ASTSource(function, signature, positions, attributes)
    made = triton.compile(source, target=GPUTarget("heddle", chip, _WARP_SIZES.get(chip, 64)),
                          options={"num_warps": int(options.get("warps", 4))})
    return made.asm["ttgir" if is_gluon else "ttir"], name or function.__name__, options


def _is_gluon(function: Any) -> bool:
    try:
        from triton.experimental.gluon._runtime import GluonJITFunction
    except ImportError:
        return False
    return isinstance(function, GluonJITFunction)
