#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A picture of what `heddle simulate --trace-events` writes, as text or as SVG (docs/timing.md).

A row is a track; a column is what most of its cycles are. On waves: M matrix, v vector, s scalar, L LDS, G memory, b branch,
| barrier, w wait instruction, and `.` where the wave waits. On units: # busy. In flight: how many memory instructions, at
most 9 are told apart. Cycles count from the kernel's begin.

  python3 bench/timeline.py trace.json
  python3 bench/timeline.py trace.json --begin 20000 --end 23000 --svg timeline.svg
"""
import argparse
import collections
import json
import sys

LETTERS = {"matrix": "M", "vector": "v", "scalar": "s", "scalar memory": "s", "LDS": "L", "memory": "G", "branch": "b",
           "wait": "w", "barrier": "|", "other": "o"}
COLOURS = {"M": "#2b6cb0", "v": "#38a169", "s": "#a0aec0", "L": "#dd6b20", "G": "#805ad5", "b": "#718096", "w": "#e2e8f0",
           "|": "#e53e3e", "o": "#cbd5e0", ".": "#edf2f7", "#": "#4a5568"}
MEANINGS = {"M": "matrix", "v": "vector", "s": "scalar", "L": "LDS", "G": "memory", "|": "barrier", ".": "waits", "#": "unit busy"}


class Timeline:
    def __init__(self, events):
        self.names, self.slices, flights = {}, collections.defaultdict(list), {}
        self.flights = []
        for event in events:
            if event["ph"] == "M" and event["name"] == "thread_name":
                self.names[event["tid"]] = event["args"]["name"]
            elif event["ph"] == "X":
                self.slices[event["tid"]].append((event["ts"], event["ts"] + event["dur"], self.letter(event)))
            elif event["ph"] == "b":
                flights[event["id"]] = event["ts"]
            elif event["ph"] == "e":
                self.flights.append((flights[event["id"]], event["ts"]))
        self.end = max((end for slices in self.slices.values() for _, end, _ in slices), default=0)

    @staticmethod
    def letter(event):
        if event["cat"] == "unit":
            return "#"
        return "." if event["cat"] == "wait" else LETTERS[event["name"]]

    def row(self, slices, begin, step, columns):
        cells = [collections.Counter() for _ in range(columns)]
        for first, last, letter in slices:
            for column in range(max(0, (first - begin) // step), min(columns, (last - begin - 1) // step + 1)):
                low = begin + column * step
                cells[column][letter] += min(last, low + step) - max(first, low)
        # a unit that is busy for less than half of the cycles is shown free; an instruction hides a wait of its column
        return "".join(self.most(cell, step) for cell in cells)

    @staticmethod
    def most(cell, step):
        if "#" in cell:
            return "#" if 2 * cell["#"] >= step else " "
        issued = {letter: count for letter, count in cell.items() if letter not in "."}
        if cell["."] * 4 > step * 3 or not issued:
            return "." if cell["."] else " "
        return max(sorted(issued), key=lambda letter: issued[letter])

    def rows(self, begin, end, columns):
        step = max(1, -(-(end - begin) // columns))
        columns = -(-(end - begin) // step)
        for track in sorted(self.slices):
            yield self.names.get(track, str(track)), self.row(self.slices[track], begin, step, columns)
        counts = [sum(first < begin + (column + 1) * step and last > begin + column * step for first, last in self.flights)
                  for column in range(columns)]
        yield "memory in flight", "".join(str(min(count, 9)) if count else " " for count in counts)


def text(timeline, begin, end, columns):
    rows = list(timeline.rows(begin, end, columns))
    width = max(len(name) for name, _ in rows)
    head = f"cycles {begin} to {end}, {max(1, -(-(end - begin) // columns))} a column"
    return "\n".join([head] + [f"{name:{width}} {row}".rstrip() for name, row in rows])


def svg(timeline, begin, end):
    """Every slice as it is, not by columns."""
    left, right, high, scale = 170, 1200, 18, 1000 / max(1, end - begin)
    tracks = sorted(timeline.slices)
    height = (len(tracks) + 3) * high
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{right}" height="{height}" font-family="sans-serif" font-size="11">',
           f'<rect width="{right}" height="{height}" fill="white"/>']

    def box(x, y, width, colour):
        out.append(f'<rect x="{x:.2f}" y="{y}" width="{max(width, 0.3):.2f}" height="{high - 4}" fill="{colour}"/>')

    for row, track in enumerate(tracks):
        out.append(f'<text x="4" y="{row * high + 13}">{timeline.names.get(track, track)}</text>')
        for first, last, letter in timeline.slices[track]:
            first, last = max(first, begin), min(last, end)
            if first < last:
                box(left + (first - begin) * scale, row * high + 2, (last - first) * scale, COLOURS[letter])
    y = len(tracks) * high
    out.append(f'<text x="4" y="{y + 13}">memory in flight</text>')
    changes = sorted([(first, 1) for first, _ in timeline.flights] + [(last, -1) for _, last in timeline.flights])
    count, before = 0, begin
    most = max(1, max_count(changes))
    for time, change in changes:
        low, until = max(before, begin), min(time, end)
        if count and low < until:
            size = (high - 4) * count / most
            out.append(f'<rect x="{left + (low - begin) * scale:.2f}" y="{y + high - 2 - size:.2f}" '
                       f'width="{(until - low) * scale:.2f}" height="{size:.2f}" fill="{COLOURS["G"]}"/>')
        count, before = count + change, time
    for place, (letter, meaning) in enumerate(MEANINGS.items()):
        box(left + place * 110, y + high + 4, 12, COLOURS[letter])
        out.append(f'<text x="{left + place * 110 + 16}" y="{y + high + 15}">{meaning}</text>')
    out.append(f'<text x="4" y="{y + high + 15}">cycles {begin} to {end}</text></svg>')
    return "\n".join(out) + "\n"


def max_count(changes):
    count = most = 0
    for _, change in changes:
        count += change
        most = max(most, count)
    return most


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trace", help="what `heddle simulate --trace-events` wrote")
    parser.add_argument("--begin", type=int, default=0, help="first cycle")
    parser.add_argument("--end", type=int, help="cycle after the last")
    parser.add_argument("--columns", type=int, default=96, help="of the text")
    parser.add_argument("--svg", help="write a picture there instead")
    options = parser.parse_args()
    try:
        with open(options.trace, encoding="utf-8") as file:
            timeline = Timeline(json.load(file)["traceEvents"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        sys.exit(f"timeline: error: `{options.trace}` is no file of `heddle simulate --trace-events`: {error}")
    end = timeline.end if options.end is None else options.end
    if options.begin >= end:
        sys.exit(f"timeline: error: no cycles from {options.begin} to {end}")
    if options.svg:
        with open(options.svg, "w", encoding="utf-8") as file:
            file.write(svg(timeline, options.begin, end))
    else:
        print(text(timeline, options.begin, end, options.columns))


if __name__ == "__main__":
    main()
