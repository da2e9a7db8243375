# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a family's file says of a kernel: its object, its launch, its inputs, and what it must compute within which
tolerance. Inputs and references are made only when the kernel runs, by `make`."""
from dataclasses import dataclass, field

import numpy as np


@dataclass
class Slack:
    """A buffer with bytes after its last, which the kernel reads and does not use."""
    array: np.ndarray
    bytes: int


@dataclass
class Expected:
    """What a buffer must hold after the run: `values` within `absolute` + `relative` * |value|. `decode` makes numbers of
    the buffer's bits; `reason` says why the tolerance is what it is."""
    values: np.ndarray
    relative: float
    absolute: float
    reason: str
    decode: object = None

    def compare(self, got):
        """(right, sentence about the largest error)."""
        with np.errstate(invalid="ignore"):  # a wrong result may have any bits
            got = np.asarray(self.decode(got) if self.decode else got, np.float64)
        want = np.asarray(self.values, np.float64)
        if got.shape != want.shape:
            return False, f"shape {got.shape} where {want.shape} was expected"
        error = np.abs(got - want)
        wrong = ~(error <= self.absolute + self.relative * np.abs(want))  # NaN is wrong
        return not wrong.any(), (f"{int(wrong.sum())} of {wrong.size} beyond {self.absolute:.3g} + {self.relative:.3g} * "
                                 f"|x|, largest error {error.max():.3g} of values up to {np.abs(want).max():.3g}")


@dataclass
class Launch:
    """`arguments`: {offset: value}; a value is an int, a number of `formats`, a NumPy array (a buffer with these contents), a
    `Slack`, or text as `heddle simulate --arg` takes it, `f32[4,8]` for one. For a structure by value it is an array of as
    many bytes, or text: JSON, or `struct:FILE`. `expected`: {offset: Expected}. `judge`, where an element by
    element comparison is not enough, takes {offset: array} and returns (right, sentence). `allow_different`: offsets of
    buffers whose bits depend on the order of float atomics. `options`: further options of `simulate` and `check`. `buffers`:
    {name: array or text} of buffers that are no arguments, with `name@DEVICE` for one device's; `expected` and `outputs` may
    name them. `zeros`: names of those of the object's arguments that are 0, or no buffer, where `arguments` does not have
    them; "" for what has no name. Others must be in `arguments`, except fillers."""
    grid: tuple
    block: int
    arguments: dict
    expected: dict
    judge: object = None
    outputs: tuple = ()
    allow_different: tuple = ()
    options: tuple = ()
    buffers: dict = field(default_factory=dict)
    zeros: tuple = ()

    def wanted(self):
        """Offsets or names of the buffers that are compared."""
        return sorted({*self.expected, *self.outputs}, key=str)


@dataclass
class Kernel:
    """One kernel on one chip. `object` is its path below the `hsa` folder, chip included; `symbol` tells it from others of the
    same object. `schedule` is that of the compared run; other than "" only with `note`, which says why. `verdict`, where it is
    given, is what `heddle check` must say: `clean` or `findings`. `segment`, where it is not 0, is how many bytes of arguments
    the kernel reads, when the object's metadata describe others."""
    family: str
    name: str
    chip: str
    object: str
    make: object = field(repr=False)
    tolerance: str = ""
    symbol: str = ""
    schedule: str = ""
    note: str = ""
    verdict: str = ""
    segment: int = 0

    @property
    def label(self):
        return f"{self.family}/{self.name}@{self.chip}"
