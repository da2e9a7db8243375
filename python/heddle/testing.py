# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The pytest plugin: kernels for AMD's chips are checked by tests, on this processor (docs/pytest.md).

    @heddle.testing.checked(targets=["gfx942", "gfx950"])
    def test_add(check):
        check("add.ttir", grid=4, x="rand:f32[4000]:1", y="rand:f32[4000]:2", out="f32[4000]", n=4000)
"""
from __future__ import annotations

import os
from typing import Any, Callable, Dict, List, Optional, Sequence

import pytest

from . import _report
from ._kernel import Kernel, is_text
from ._library import InputError, WrongResult

_COMMAND_LINE: Dict[str, Any] = {}  # options that were given to pytest


class FindingsError(WrongResult):
    """A kernel is not clean; `report` says why."""

    def __init__(self, message: str, notes: Sequence[str] = (), report: Optional[_report.CheckReport] = None):
        super().__init__(message, notes)
        self.report = report


class Check:
    """What a test gets as `check`: call it with a kernel, its grid and its arguments, as `heddle.check`. It fails the test
    unless the kernel is clean on this target."""

    def __init__(self, target: str, options: Dict[str, Any]):
        self.target, self.options = target, options
        self.reports: List[_report.CheckReport] = []

    def __call__(self, source: Any, grid: Any = 1, args: Any = None, **named: Any) -> _report.CheckReport:
        options = {**self.options, **named, **_COMMAND_LINE}
        report = _report.check(source, self._target_for(source), grid, args, **options)
        if report.chip != self.target:
            raise InputError(f"kernel `{report.kernel}` is for {report.chip}, and this test is for {self.target}",
                             ["give the kernel's text, which is compiled for each target"])
        self.reports.append(report)
        if not report.clean:
            raise FindingsError(f"kernel `{report.kernel}` on {report.chip}: {report.verdict}",
                                [finding.text.split("\n")[0] for finding in report.findings], report)
        return report

    def _target_for(self, source: Any) -> Optional[str]:
        """None for what is compiled already."""
        if isinstance(source, (Kernel, bytes, bytearray)):
            return None
        if isinstance(source, str) and is_text(source):
            return self.target
        if isinstance(source, (str, os.PathLike)):
            with open(source, "rb") as file:
                start = file.read(4)
            return None if start == b"\x7fELF" or os.fspath(source).endswith(".hpkg") else self.target
        return self.target

    def __repr__(self) -> str:
        return f"<heddle.testing.Check for {self.target}>"


def checked(targets: Sequence[str], **options: Any) -> Callable[[Callable], Callable]:
    """Makes one test for each target of a function that takes `check`. `options` are those of `heddle.check`."""
    if isinstance(targets, str) or not targets:
        raise InputError(f"targets={targets!r} is not a list of chips", ["write `targets=[\"gfx942\", \"gfx950\"]`"])
    return pytest.mark.parametrize("check", [Check(target, options) for target in targets], ids=list(targets))


def pytest_addoption(parser: Any) -> None:
    group = parser.getgroup("heddle", "checks of GPU kernels by Heddle")
    group.addoption("--heddle-schedules", type=int, metavar="N", help="seeds of random schedules of each check")
    group.addoption("--heddle-time-limit", type=float, metavar="S", help="seconds after which a check starts no more runs")
    group.addoption("--heddle-threads", type=int, metavar="N", help="threads of each check")


def pytest_configure(config: Any) -> None:
    _COMMAND_LINE.clear()
    for name in ("schedules", "time_limit", "threads"):
        value = config.getoption("heddle_" + name)
        if value is not None:
            _COMMAND_LINE[name] = value


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: Any, call: Any) -> Any:
    outcome = yield
    error = call.excinfo.value if call.excinfo is not None else None
    if isinstance(error, FindingsError) and error.report is not None:
        outcome.get_result().sections.append((f"heddle: {error.report.kernel} on {error.report.chip}", str(error.report)))
