# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What triton_kernels.py and its modules of cases share."""

import sys

import numpy as np

CLOSE = 0.01  # tolerance of bf16 and f16 results


class Refusal(Exception):
    """What the user is told: a message, the next step, an exit code."""

    def __init__(self, message, note, code=2):
        super().__init__(message)
        self.note, self.code = note, code


def say(text):
    print(text, file=sys.stderr, flush=True)


def registry(cases):
    """A decorator: `@case(kind)` makes a function of `shrink` a case of that class in `cases`, under its own name or
    `name`."""

    def case(kind, name=None):
        def register(function):
            cases[name or function.__name__] = lambda shrink: function(shrink).of(kind)
            return function

        return register

    return case


def pointers(text):
    """`X:fp16 n:=i32`: names with element types of pointers, or after `=` with types of numbers."""
    signature = {}
    for word in text.split():
        name, _, kind = word.partition(":")
        signature[name] = kind[1:] if kind.startswith("=") else f"*{kind}"
    return signature


def integers(count, limit, seed, dtype=np.int32):
    return np.random.default_rng(seed).integers(0, limit, count).astype(dtype)
