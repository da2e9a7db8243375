# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the Python package costs: import, first compilation, launches. With `--device cuda:0` also launches on PyTorch's tensors,
by kernels of Heddle, operators, and `@triton.jit` functions with Heddle's backend and with Triton's own, in turns. Each line has
the median of the rounds and the shortest: on a machine with other work the latter says more. docs/performance.md has the numbers."""
import argparse
import array
import pathlib
import statistics
import time

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--device", default="host", help="host, cuda:0 (default host)")
DEVICE = parser.parse_args().device

begin = time.perf_counter()
import heddle  # noqa: E402
from heddle import _native  # noqa: E402

imported = time.perf_counter()
heddle.version()
loaded = time.perf_counter()
TEXT = pathlib.Path(__file__).resolve().parents[1] / "tests" / "corpus" / "vector_add.gfx942.ttir"
kernel = heddle.compile(TEXT, target="host" if DEVICE == "host" else "sm_90")
compiled = time.perf_counter()
print(f"import {1e3 * (imported - begin):.0f} ms, library {1e3 * (loaded - imported):.0f} ms, first compilation "
      f"{1e3 * (compiled - loaded):.0f} ms")
print("launches by " + ("the module heddle_launch" if _native.module else "ctypes: there is no module heddle_launch"))


def report(named, count, after=lambda: None, rounds=40):
    """Prints of each action what one call takes until it returns. The actions take turns."""
    taken = [[] for _ in named]
    for _, action in named:
        action()  # compiles and loads
    after()
    for _ in range(rounds):
        for (_, action), times in zip(named, taken):
            start = time.perf_counter()
            for _ in range(count):
                action()
            times.append(1e6 * (time.perf_counter() - start) / count)
            after()
    for (name, _), times in zip(named, taken):
        print(f"{name}: {statistics.median(times):.2f} us, shortest {min(times):.2f}")


def on_host():
    x = array.array("f", [1.0]) * 64
    out = array.array("f", [0.0]) * 64
    launcher = kernel[1]
    named = [("kernel[1](...) on array.array, to its end", lambda: launcher(x, x, out, 64))]
    try:
        import numpy
        n, m = numpy.ones(64, "f4"), numpy.empty(64, "f4")
        named += [("kernel[1](...) on NumPy's arrays, to its end", lambda: launcher(n, n, m, 64)),
                  ("numpy.add(..., out=)", lambda: numpy.add(n, n, out=m))]
    except ImportError:
        print("NumPy is not installed: its arrays are left out")
    try:
        import torch
        t, u = torch.ones(64), torch.empty(64)
        named += [("kernel[1](...) on PyTorch's tensors, to its end", lambda: launcher(t, t, u, 64)),
                  ("torch.add(..., out=)", lambda: torch.add(t, t, out=u))]
    except (ImportError, OSError):
        print("PyTorch is not installed: its tensors are left out")
    report(named, 100)
    device = heddle.Device("host")
    a, stream = device.buffer(x), device.stream()
    report([("Stream.launch, returns at once", lambda: stream.launch(kernel, 1, a, a, a, 64))], 50, stream.synchronize)


def triton_launches(x, out):
    """Names and actions of launches by Triton's front end."""
    import triton
    import triton.language as tl

    import heddle.triton

    @triton.jit
    def add(x, y, out, n, BLOCK: tl.constexpr):
        i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        m = i < n
        tl.store(out + i, tl.load(x + i, m) + tl.load(y + i, m), m)

    own = triton.runtime.driver.active
    heddle.triton.enable(DEVICE)
    ours = triton.runtime.driver.active
    triton.runtime.driver.set_active(own)

    def with_driver(driver):
        def launch():
            triton.runtime.driver.set_active(driver)
            add[(1,)](x, x, out, 64, BLOCK=64)
        return launch
    return [("@triton.jit, Heddle's backend", with_driver(ours)), ("@triton.jit, Triton's backend", with_driver(own))]


def on_gpu():
    import torch

    import heddle.torch
    x = torch.ones(64, device=DEVICE)
    out = torch.empty_like(x)
    launcher = kernel[1]
    stream = heddle.Device(DEVICE).stream()
    a = heddle.Device(DEVICE).buffer(256)
    rows = torch.ones(64, 64, device=DEVICE)
    named = [("kernel[1](...) on tensors", lambda: kernel[1](x, x, out, 64)),
             ("the same, kernel[1] kept", lambda: launcher(x, x, out, 64)),
             ("Stream.launch on buffers", lambda: stream.launch(kernel, 1, a, a, a, 64)),
             ("torch.ops.heddle.amax", lambda: torch.ops.heddle.amax(rows)),
             ("torch.add(..., out=)", lambda: torch.add(x, x, out=out)),
             ("torch.amax", lambda: torch.amax(rows))]
    try:
        named += triton_launches(x, out)
    except ImportError:
        print("Triton is not installed: its launches are left out")
    report([(name + ", returns at once", action) for name, action in named], 200, torch.cuda.synchronize)


if DEVICE == "host":
    on_host()
else:
    on_gpu()
