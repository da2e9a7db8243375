# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the Python package costs: import, first compilation, launches. With `--device cuda:0` also launches on PyTorch's tensors,
by kernels of Heddle, operators, and `@triton.jit` functions with Heddle's backend and with Triton's own, in turns.
docs/performance.md has the numbers."""
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

imported = time.perf_counter()
heddle.version()
loaded = time.perf_counter()
TEXT = pathlib.Path(__file__).resolve().parents[1] / "tests" / "corpus" / "vector_add.gfx942.ttir"
kernel = heddle.compile(TEXT, target="host" if DEVICE == "host" else "sm_90")
compiled = time.perf_counter()
print(f"import {1e3 * (imported - begin):.0f} ms, library {1e3 * (loaded - imported):.0f} ms, first compilation "
      f"{1e3 * (compiled - loaded):.0f} ms")


def microseconds(count, actions, after=lambda: None):
    """Of each action the median of 20 rounds, each call's share; the actions take turns."""
    rounds = [[] for _ in actions]
    for _ in range(20):
        for action, times in zip(actions, rounds):
            start = time.perf_counter()
            for _ in range(count):
                action()
            times.append(1e6 * (time.perf_counter() - start) / count)
            after()
    return [statistics.median(times) for times in rounds]


def on_host():
    x = array.array("f", [1.0]) * 64
    out = array.array("f", [0.0]) * 64
    launcher = kernel[1]
    print(f"kernel[1](...) on arrays, to its end: {microseconds(500, [lambda: launcher(x, x, out, 64)])[0]:.1f} us")
    device = heddle.Device("host")
    a, stream = device.buffer(x), device.stream()
    queued, = microseconds(100, [lambda: stream.launch(kernel, 1, a, a, a, 64)], stream.synchronize)
    print(f"Stream.launch, returns at once: {queued:.1f} us")


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
    named = [("kernel[1](...) on tensors", lambda: launcher(x, x, out, 64)),
             ("Stream.launch on buffers", lambda: stream.launch(kernel, 1, a, a, a, 64)),
             ("torch.ops.heddle.amax", lambda: torch.ops.heddle.amax(rows)),
             ("torch.add(..., out=)", lambda: torch.add(x, x, out=out)),
             ("torch.amax", lambda: torch.amax(rows))]
    try:
        named += triton_launches(x, out)
    except ImportError:
        print("Triton is not installed: its launches are left out")
    for _, action in named:
        action()  # compiles and loads
    torch.cuda.synchronize()
    for (name, _), time_us in zip(named, microseconds(200, [action for _, action in named], torch.cuda.synchronize)):
        print(f"{name}, returns at once: {time_us:.1f} us")


if DEVICE == "host":
    on_host()
else:
    on_gpu()
