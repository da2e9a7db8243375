# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The part of run.py inside of pytest: puts Heddle's kernels in torchao's place before the tests import them, and, without a GPU,
makes `cuda` mean the CPU for the session. Tests that use none of these kernels are left out."""
import inspect
import json
import os
import re

import pytest
import torch
import torch.utils._triton
import triton
from torch.overrides import TorchFunctionMode

import heddle.torch.torchao as ours
import heddle.triton

SERVED = re.compile("|".join(rf"\b{each.__name__}\b" for each in sum(ours.SERVED.values(), [])))
ON_CPU = not torch.cuda.is_available()
# What torchao itself has in Triton, as the change of the scales' layout, runs on the host, too. Triton 3.9 refuses torchao's
# autotuners, whose keys name what is no argument.
OWN_TRITON = ON_CPU and tuple(map(int, triton.__version__.split(".")[:2])) < (3, 9)
if OWN_TRITON:
    heddle.triton.enable("host")
    torch.utils._triton.has_triton = lambda: True


def _on_cpu(value):
    if isinstance(value, str) and re.fullmatch(r"cuda(:\d+)?", value):
        return "cpu"
    if isinstance(value, torch.device) and value.type == "cuda":
        return torch.device("cpu")
    return value


class CudaIsCpu(TorchFunctionMode):
    """Tests ask for tensors on `cuda`; what they check does not depend on where these are."""

    def __torch_function__(self, function, types, args=(), kwargs=None):
        if function is torch.Tensor.cuda:
            return args[0]
        return function(*map(_on_cpu, args), **{key: _on_cpu(value) for key, value in (kwargs or {}).items()})


patched = ours.patch()
if not ON_CPU:
    triton.runtime.driver.active.get_current_target()  # before the chip is called another one: Triton compiles for this
# Tests ask these of the functions that are served now: torchao's own need a newer chip.
from torchao.prototype.moe_training.kernels.mxfp8 import quant  # noqa: E402

quant._mxfp8_cutedsl_kernels_available = quant._mxfp8_cuda_kernels_available = True
torch.cuda.get_device_capability = lambda device=None: (10, 0)
if ON_CPU:
    from torchao.prototype.mx_formats import kernels
    if not OWN_TRITON:  # eager code does the same as this kernel, which tests bring their reference's scales to a layout with
        kernels.triton_mx_block_rearrange = ours.blocked
    torch.cuda.is_available = lambda: True
    torch.cuda.synchronize = torch.cuda.empty_cache = lambda *unused: None


def _write(what, test, why=""):
    with open(os.environ["HEDDLE_SUITE_JOURNAL"], "a", encoding="utf-8") as journal:
        journal.write(json.dumps({"test": test, "result": what, "why": why[-2000:]}) + "\n")


def pytest_collection_modifyitems(config, items):
    """Keeps tests that use a kernel that is served."""
    kept = [item for item in items if SERVED.search(inspect.getsource(item.function))]
    only = os.environ.get("HEDDLE_SUITE_ONLY", "")
    items[:] = [item for item in kept if re.search(only, item.nodeid)]


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item):
    if ON_CPU:
        with CudaIsCpu():
            outcome = yield
    else:
        outcome = yield
    problem = outcome.excinfo[1] if outcome.excinfo else None
    while problem is not None:
        if ON_CPU and re.search("NVIDIA driver|libcuda", str(problem)):
            outcome.force_exception(pytest.skip.Exception(f"needs the run-time library of a GPU: {problem}"))
            return
        if isinstance(problem, ours.NotServed):  # torchao's own kernel was called then, which the CPU has not
            outcome.force_exception(pytest.skip.Exception(f"not served: {problem}"))
            return
        problem = problem.__context__


_worst = {}


def pytest_runtest_logreport(report):
    rank = {"passed": 0, "skipped": 1, "failed": 2}
    before = _worst.get(report.nodeid, ("passed", ""))
    if rank[report.outcome] > rank[before[0]]:
        before = (report.outcome, report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longreprtext)
    _worst[report.nodeid] = before
    if report.when == "teardown":
        _write(before[0], report.nodeid, before[1])
