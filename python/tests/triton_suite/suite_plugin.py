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

import triton._internal_testing as _helpers  # noqa: E402


def _no(name):
    """Questions of a fork's helpers that this Triton's lack (`is_xpu_cri`): the answer is no."""
    if name.startswith(("is_", "supports_")):
        return lambda *unused: False
    raise AttributeError(name)


_helpers.__getattr__ = _no


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
