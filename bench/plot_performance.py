#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Draws the pictures of docs/images from the tables of docs/performance.md, as SVG for light and dark screens:
  python3 bench/plot_performance.py           # writes them
  python3 bench/plot_performance.py --check   # ends with 1 if one is not what the tables give; writes nothing
"""
import html
import math
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = "docs/performance.md"
STYLE = """<style>
  .back { fill: #ffffff; stroke: #d8dee4 } .title { fill: #1f2328; font-size: 15px; font-weight: 600 }
  text { font-family: system-ui, sans-serif; font-size: 12px; fill: #424a53 } .grid { stroke: #e4e8ec } .axis { stroke: #8c959f }
  .a { stroke: #1f6feb; fill: #1f6feb } .b { stroke: #bc4c00; fill: #bc4c00 } .c { stroke: #1a7f37; fill: #1a7f37 }
  text.a, text.b, text.c { stroke: none; font-weight: 600 }
  @media (prefers-color-scheme: dark) {
    .back { fill: #0d1117; stroke: #30363d } .title { fill: #e6edf3 } text { fill: #b1bac4 } .grid { stroke: #262c34 }
    .axis { stroke: #6e7681 } .a { stroke: #6cb0ff; fill: #6cb0ff } .b { stroke: #f0883e; fill: #f0883e }
    .c { stroke: #56d364; fill: #56d364 }
  }
  polyline.line { fill: none; stroke-width: 2 }
</style>"""


def fail(message):
    sys.exit(f"plot_performance.py: error: {message}")


def table(header):
    """The rows of the page's one table whose first line begins with `header`, each a list of cells."""
    lines = (ROOT / PAGE).read_text(encoding="utf-8").splitlines()
    starts = [i for i, line in enumerate(lines) if line.startswith(header)]
    if len(starts) != 1:
        fail(f"{PAGE} has {len(starts)} tables that begin with `{header}`, wanted 1")
    rows = []
    for line in lines[starts[0] + 2:]:
        if not line.startswith("|"):
            break
        rows.append([cell.strip().strip("`") for cell in line.strip("|").split("|")])
    return rows


def bytes_of(text):
    number, unit = re.match(r"(\d+) (KB|MB)", text).groups()
    return int(number) * {"KB": 1 << 10, "MB": 1 << 20}[unit]


def text(x, y, words, style="", anchor="start"):
    style = f' class="{style}"' if style else ""
    return f'<text x="{x:.1f}" y="{y:.1f}"{style} text-anchor="{anchor}">{html.escape(words)}</text>'


def line(x1, y1, x2, y2, style):
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="{style}"/>'


def page(width, height, title, parts):
    return "\n".join([f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
                      f'role="img" aria-label="{html.escape(title)}">', STYLE,
                      f'<rect class="back" x="0.5" y="0.5" width="{width - 1}" height="{height - 1}" rx="6"/>',
                      text(20, 28, title, "title"), *parts, "</svg>", ""])


def all_reduce():
    """Time over size, both logarithmic."""
    rows = table("| all-reduce | algorithm | Heddle | NCCL | NCCL / Heddle | target | PyTorch |")
    series = {name: [(bytes_of(row[0]), float(row[column])) for row in rows if row[column]]
              for name, column in (("NCCL", 3), ("PyTorch", 6), ("Heddle", 2))}
    left, right, top, bottom = 70, 600, 64, 380
    sizes = [size for points in series.values() for size, _ in points]
    low, high = math.log2(min(sizes)), math.log2(max(sizes))

    def x(size):
        return left + (math.log2(size) - low) / (high - low) * (right - left)

    def y(microseconds):
        return bottom - math.log10(microseconds) / math.log10(2000) * (bottom - top)

    parts = [text(20, 48, "microseconds of one call, bf16, 4 x H200 of one host, p50 in CUDA graphs; lower is better")]
    for at in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000):
        parts += [line(left, y(at), right, y(at), "grid"), text(left - 8, y(at) + 4, str(at), anchor="end")]
    for exponent in range(10, 29, 2):
        name = f"{1 << exponent - 10} KB" if exponent < 20 else f"{1 << exponent - 20} MB"
        parts += [line(x(1 << exponent), bottom, x(1 << exponent), bottom + 5, "axis"),
                  text(x(1 << exponent), bottom + 20, name, anchor="middle")]
    parts.append(line(left, bottom, right, bottom, "axis"))
    for (name, points), style in zip(series.items(), ("b", "c", "a")):
        parts.append(f'<polyline class="line {style}" points="' + " ".join(f"{x(s):.1f},{y(t):.1f}" for s, t in points) + '"/>')
        parts += [f'<circle class="{style}" cx="{x(s):.1f}" cy="{y(t):.1f}" r="3"/>' for s, t in points]
    at = left + 10
    for name, style, width in (("Heddle", "a", 90), ("NCCL 2.28.9", "b", 120), ("PyTorch 2.11 symmetric memory (f32)", "c", 0)):
        parts += [f'<circle class="{style}" cx="{at}" cy="{top + 12}" r="4"/>', text(at + 10, top + 16, name, style)]
        at += width
    return page(640, 420, "All-reduce: Heddle, NCCL and PyTorch", parts)


def libraries():
    """Heddle's rate divided by cuBLAS's or cuDNN's, of each row of their table; `the same` is the kernel of the row before."""
    rows, before = [], ""
    for name, library, heddle in table("| | NVIDIA's library | Heddle, from Triton IR |"):
        before, name = (before, name.replace("the same", before)) if name.startswith("the same") else (name, name)
        name = re.sub(r", 8 K tokens, 16 heads|, right operand| \d+\^3", "", name)
        rows.append((f"{library.split()[0]} {name}", float(re.match(r"\d+[^,]*, (\d\.\d+)", heddle)[1])))
    return rows


def kernels():
    """The other side's time divided by Heddle's, a bar from 1 for each kernel."""
    groups = [("the corpus", [(row[0], float(row[3])) for row in table("| kernel | Heddle | Triton | Triton / Heddle | on ")]),
              ("kernels as users write them", [(row[0], float(row[4])) for row in table("| kernel | class | Heddle | Triton |")]),
              ("NVIDIA's libraries", libraries())]
    left, right, step = 285, 700, 17
    rows = sum(len(group) for _, group in groups)
    top, height = 92, 92 + step * rows + 94 + 36
    low, high = math.log(0.75), math.log(5.5)

    def x(ratio):
        return left + (math.log(ratio) - low) / (high - low) * (right - left)

    parts = [text(20, 48, "the other side's time divided by Heddle's on one H200; right of 1.0 Heddle is faster")]
    bottom = height - 40
    for at in (0.8, 1, 1.5, 2, 3, 5):
        parts += [line(x(at), top - 14, x(at), bottom, "axis" if at == 1 else "grid"),
                  text(x(at), bottom + 18, f"{at:g}", anchor="middle")]
    at = top
    for title, group in groups:
        mean = math.exp(sum(math.log(ratio) for _, ratio in group) / len(group))
        against = "cuBLAS and cuDNN" if title == "NVIDIA's libraries" else f"Triton 3.6, {title}"
        parts.append(text(20, at, f"{against}: geometric mean {mean:.2f}", "title"))
        at += step + 3
        for name, ratio in sorted(group, key=lambda row: -row[1]):
            first, last = sorted((x(1), x(ratio)))
            style = "a" if ratio >= 1 else "b"
            parts += [text(left - 50, at, name, anchor="end"), text(left - 8, at, f"{ratio:.2f}", anchor="end"),
                      f'<rect class="{style}" x="{first:.1f}" y="{at - 9:.1f}" width="{max(last - first, 1):.1f}" height="9"/>']
            at += step
        at += 14
    return page(740, height, "Kernels: Heddle, Triton, cuBLAS and cuDNN", parts)


def main():
    pictures = {"docs/images/all-reduce.svg": all_reduce(), "docs/images/kernels.svg": kernels()}
    if sys.argv[1:] not in ([], ["--check"]):
        fail(f"`{' '.join(sys.argv[1:])}` is unknown; it takes nothing, or `--check`")
    for name, picture in pictures.items():
        path = ROOT / name
        if not sys.argv[1:]:
            path.parent.mkdir(exist_ok=True)
            path.write_text(picture, encoding="utf-8")
        elif not path.is_file() or path.read_text(encoding="utf-8") != picture:
            fail(f"{name} is not what the tables of {PAGE} give; run `python3 bench/plot_performance.py`")


if __name__ == "__main__":
    main()
