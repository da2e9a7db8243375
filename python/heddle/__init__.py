# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Heddle from Python: compile Triton kernels, launch them on arrays, check AMD code without hardware.

    import heddle
    kernel = heddle.compile("vector_add.ttir")
    kernel[4](x, y, out, 4000)                     # NumPy arrays, in place
    heddle.check("vector_add.ttir", target="gfx950", grid=4, x="rand:f32[4000]:1", ...)

Importing it loads no library: that happens at the first use."""
from . import collectives, library
from ._arrays import Array, element_type, empty, rand, zeros
from ._device import Buffer, Device, Event, Graph, Stream, Timing, set_print
from ._kernel import Kernel, compile, load
from ._library import DeviceError, Error, InputError, InternalError, WrongResult, include_dir, library_path, version
from ._report import (CheckReport, Finding, Inspection, ModuleRun, Mutation, Simulation, check, doctor, inspect, mutate,
                      run, simulate)
from ._values import Argument

__all__ = ["Argument", "Array", "Buffer", "CheckReport", "Device", "DeviceError", "Error", "Event", "Finding",
           "Graph", "InputError", "Inspection", "InternalError", "Kernel", "ModuleRun", "Mutation", "Simulation",
           "Stream", "Timing", "WrongResult", "check", "collectives", "compile", "doctor", "element_type", "empty", "include_dir",
           "inspect", "library", "library_path", "load", "mutate", "rand", "run", "set_print", "simulate", "version", "zeros"]
