# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The part of run.py inside of pytest: runs the selected tests only, and writes each test's beginning and result to a journal."""
import json
import multiprocessing
import os

import torch

if not torch.cuda.is_available():
    # Helpers of the tests synchronise CUDA whatever the device is, some in processes of a fork server.
    torch.cuda.synchronize = lambda device=None: None
    multiprocessing.get_context("forkserver").set_forkserver_preload(["suite_plugin"])

import triton  # noqa: E402

if torch.cuda.is_available() and hasattr(triton, "runtime") and os.environ.get("HEDDLE_SUITE_BACKEND") != "triton":
    # Before Triton 3.8 a backend cannot be chosen by the environment where another one is active.
    import heddle.triton
    heddle.triton.enable(os.environ["HEDDLE_TRITON_DEVICE"])

import triton._internal_testing as _helpers  # noqa: E402


def _no(name):
    """Questions of a fork's helpers that this Triton's lack (`is_xpu_cri`): the answer is no."""
    if name.startswith(("is_", "supports_")):
        return lambda *unused: False
    raise AttributeError(name)


_helpers.__getattr__ = _no


class _OfFork:
    """A vendor's layouts that Gluon's tests of a fork list and this Triton lacks: any name, any arguments."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {"__init__": lambda self, **values: self.__dict__.update(values)})


if chip := os.environ.get("HEDDLE_SUITE_HIP"):
    # Gluon's tests choose what they run by AMD's chips.
    import triton.experimental.gluon.language as _language
    from triton.backends.compiler import GPUTarget

    _helpers.get_current_target = lambda: GPUTarget("hip", chip, 64)

    class _OnHost(torch.overrides.TorchFunctionMode):
        """Tensors that a test makes on `cuda` are the host's."""

        def __torch_function__(self, function, types, args=(), kwargs=None):
            kwargs = dict(kwargs or {})
            if str(kwargs.get("device")).startswith("cuda"):
                kwargs["device"] = "cpu"
            if function is torch.Tensor.cuda:
                return args[0]
            return function(*[("cpu" if isinstance(one, (str, torch.device)) and str(one).startswith("cuda") else one) for one in args],
                            **kwargs)

    _on_host = _OnHost()
    _on_host.__enter__()
    if not hasattr(_language, "intel"):
        _language.intel = _OfFork()


def _write(what, test, why=""):
    with open(os.environ["HEDDLE_SUITE_JOURNAL"], "a", encoding="utf-8") as journal:
        journal.write(json.dumps({"what": what, "test": test, "why": why[-2000:]}) + "\n")


def pytest_collection_modifyitems(config, items):
    path = os.environ.get("HEDDLE_SUITE_SELECTED")
    if path is None:
        for item in items:
            _write("collected", item.nodeid)
        return
    with open(path, encoding="utf-8") as file:
        selected = set(file.read().split("\n"))
    items[:] = [item for item in items if item.nodeid in selected]


def pytest_runtest_logstart(nodeid, location):
    _write("started", nodeid)


_worst = {}


def pytest_runtest_logreport(report):
    rank = {"passed": 0, "skipped": 1, "failed": 2}
    before = _worst.get(report.nodeid, ("passed", ""))
    if rank[report.outcome] > rank[before[0]]:
        why = getattr(report, "wasxfail", None) or (report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longreprtext)
        before = (report.outcome, str(why))
    _worst[report.nodeid] = before
    if report.when == "teardown":
        _write(*(before[0], report.nodeid, before[1]))
