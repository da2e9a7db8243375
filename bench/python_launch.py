# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the Python package costs on the host: import, first compilation, launches. docs/performance.md has the numbers."""
import array
import pathlib
import statistics
import time

begin = time.perf_counter()
import heddle  # noqa: E402

imported = time.perf_counter()
heddle.version()
loaded = time.perf_counter()
text = pathlib.Path(__file__).resolve().parents[1] / "tests" / "corpus" / "vector_add.gfx942.ttir"
kernel = heddle.compile(text, target="host")
compiled = time.perf_counter()
print(f"import {1e3 * (imported - begin):.0f} ms, library {1e3 * (loaded - imported):.0f} ms, first compilation "
      f"{1e3 * (compiled - loaded):.0f} ms")


def microseconds(action, count, after=lambda: None):
    """The median of 20 rounds, each call's share."""
    rounds = []
    for _ in range(20):
        start = time.perf_counter()
        for _ in range(count):
            action()
        rounds.append(1e6 * (time.perf_counter() - start) / count)
        after()
    return statistics.median(rounds)


x = array.array("f", [1.0]) * 64
out = array.array("f", [0.0]) * 64
launcher = kernel[1]
print(f"kernel[1](...) on arrays, to its end: {microseconds(lambda: launcher(x, x, out, 64), 500):.1f} us")
device = heddle.Device("host")
a, stream = device.buffer(x), device.stream()
queued = microseconds(lambda: stream.launch(kernel, 1, a, a, a, 64), 100, stream.synchronize)
print(f"Stream.launch, returns at once: {queued:.1f} us")
