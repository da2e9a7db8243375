#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Draws the pictures of docs/images that explain something: the memory model and the packet forms. They are drawings of what
the pages say, not measurements. `./dev pictures` runs it:
  python3 docs/site/draw.py           # writes them
  python3 docs/site/draw.py --check   # ends with 1 if one is not what this program draws; writes nothing
"""
import html
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
STYLE = """<style>
  .back { fill: #ffffff; stroke: #d1d9e0 } .title { fill: #1f2328; font-size: 15px; font-weight: 600 } .soft { fill: #59636e }
  text { font-family: system-ui, sans-serif; font-size: 12px; fill: #1f2328 } .code { font-family: ui-monospace, monospace; font-size: 11px }
  .box { fill: #f6f8fa; stroke: #8c959f } .a { fill: #ddf4ff; stroke: #0969da } .b { fill: #fff1e5; stroke: #bc4c00 }
  .c { fill: #dafbe1; stroke: #1a7f37 } .wait { fill: #fff8c5; stroke: #9a6700 } .line { stroke: #8c959f; fill: none }
  .arrow { stroke: #1f2328; fill: none; stroke-width: 1.5 } .head { fill: #1f2328 } .scope { fill: none; stroke-dasharray: 5 4; stroke: #8250df }
  .scopetext { fill: #8250df }
  @media (prefers-color-scheme: dark) {
    .back { fill: #0d1117; stroke: #3d444d } .title { fill: #e6edf3 } .soft { fill: #9198a1 } text { fill: #e6edf3 }
    .box { fill: #161b22; stroke: #6e7681 } .a { fill: #0c2d4d; stroke: #58a6ff } .b { fill: #3d2110; stroke: #f0883e }
    .c { fill: #12361f; stroke: #3fb950 } .wait { fill: #3a2d0a; stroke: #d29922 } .line { stroke: #6e7681 }
    .arrow { stroke: #e6edf3 } .head { fill: #e6edf3 } .scope { stroke: #bc8cff } .scopetext { fill: #bc8cff }
  }
</style>"""
MARKER = ('<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
          '<path class="head" d="M0 0 L8 4 L0 8 z"/></marker></defs>')


def text(x, y, words, style="", anchor="middle"):
    style = f' class="{style}"' if style else ""
    return f'<text x="{x}" y="{y}" text-anchor="{anchor}"{style}>{html.escape(words)}</text>'


def box(x, y, width, height, style="box", *lines):
    parts = [f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="3" class="{style}"/>']
    first = y + height / 2 + 4 - 7.5 * (len(lines) - 1)
    return "\n".join(parts + [text(x + width / 2, first + 15 * i, line, "code" if line[:1] == "`" else "").replace("`", "")
                              for i, line in enumerate(lines)])


def line(x1, y1, x2, y2):
    return f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" class="line"/>'


def arrow(x1, y1, x2, y2):
    return f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" class="arrow" marker-end="url(#head)"/>'


def picture(width, height, title, *parts):
    return "\n".join([f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
                      f'role="img" aria-label="{html.escape(title)}">', STYLE, MARKER,
                      f'<rect class="back" x="0.5" y="0.5" width="{width - 1}" height="{height - 1}" rx="6"/>',
                      text(20, 28, title, "title", "start"), *parts, "</svg>", ""])


def memory_scopes():
    """The caches of a device with compute units, and how far each scope reaches."""
    parts = []
    for device, left in (("device 0", 30), ("device 1", 410)):
        parts.append(text(left + 170, 60, device, "soft"))
        for unit in range(2):
            x = left + 10 + unit * 165
            parts += [box(x, 76, 70, 26, "a", "wave 0"), box(x + 80, 76, 70, 26, "a", "wave 1"),
                      box(x, 114, 70, 26, "c", "LDS"), box(x + 80, 114, 70, 26, "b", "vector L1"),
                      line(x + 35, 102, x + 35, 114), line(x + 115, 102, x + 115, 114), line(x + 115, 140, x + 115, 184)]
            parts.append(text(x + 2, 160, f"compute unit {unit}", "soft", "start"))
        parts += [box(left + 10, 184, 315, 28, "b", "L2, one for each XCD"), line(left + 167, 212, left + 167, 262)]
        parts.append(f'<rect x="{left + 4}" y="68" width="164" height="102" rx="6" class="scope"/>')
        parts.append(f'<rect x="{left}" y="64" width="336" height="156" rx="8" class="scope"/>')
    parts += [box(40, 262, 696, 28, "box", "memory of both devices, joined by links; what is uncached is accessed here"),
              '<rect x="22" y="44" width="732" height="256" rx="10" class="scope"/>',
              text(36, 324, "scopes, from inside out:", "", "start"),
              text(190, 324, "workgroup (sc0): the waves of a workgroup, on one compute unit; no cache between them", "scopetext", "start"),
             text(190, 344, "agent (sc1): one device; release buffer_wbl2 sc1, acquire buffer_inv sc1", "scopetext", "start"),
             text(190, 364, "system (sc0 sc1): all devices; release buffer_wbl2 sc0 sc1, acquire buffer_inv sc0 sc1", "scopetext", "start")]
    return picture(776, 384, "What lies between two waves on gfx942, and how far each scope reaches", *parts)


def memory_lds():
    """A missing wait and a missing barrier, and the pair that is right."""
    parts = [text(20, 50, "time goes to the right; a bar is a memory operation from issue to completion", "soft", "start")]
    for top, name, has_wait in ((70, "without the wait and the barrier: wave 1 may read what was there before", False),
                                (216, "with s_waitcnt lgkmcnt(0) and s_barrier", True)):
        parts += [text(20, top + 12, name, "", "start"), text(20, top + 46, "wave 0", "", "start"), text(20, top + 92, "wave 1", "", "start"),
                  line(70, top + 42, 720, top + 42), line(70, top + 88, 720, top + 88), box(90, top + 28, 180, 28, "c", "`ds_write_b32")]
        if has_wait:
            parts += [box(276, top + 28, 110, 28, "wait", "`s_waitcnt"), box(392, top + 28, 80, 28, "b", "`s_barrier"),
                      box(120, top + 74, 352, 28, "b", "`s_barrier"), box(500, top + 74, 150, 28, "c", "`ds_read_b32"),
                      arrow(472, top + 56, 498, top + 80)]
        else:
            parts += [box(150, top + 74, 100, 28, "c", "`ds_read_b32"), text(150, top + 118, "reads before the write completes", "soft", "start")]
    return picture(740, 336, "LDS: a wait for the own wave's operation, a barrier for the other wave", *parts)


def memory_message():
    """Release and acquire between two devices."""
    parts = [text(20, 62, "device 0", "", "start"), text(20, 172, "device 1", "", "start"), line(90, 58, 850, 58), line(90, 168, 850, 168),
             box(100, 44, 110, 28, "c", "`store data"), box(216, 44, 110, 28, "b", "`buffer_wbl2"), box(332, 44, 130, 28, "wait", "`s_waitcnt vmcnt(0)"),
             box(468, 44, 110, 28, "a", "`store flag"), box(100, 154, 430, 28, "a", "`load flag, again and again"),
             box(600, 154, 100, 28, "b", "`buffer_inv"), box(706, 154, 110, 28, "c", "`load data"), arrow(578, 64, 596, 148),
             arrow(530, 168, 598, 168),
             text(271, 92, "data leave L2", "soft"), text(397, 92, "and have arrived", "soft"), text(650, 202, "stale lines go", "soft"),
             text(20, 232, "Leave out buffer_wbl2 or the wait, and the flag may arrive before the data; leave out buffer_inv, and the load may hit an old line.",
                  "", "start"),
             text(20, 252, "heddle check reports both as global-race, with the instruction that is missing.", "soft", "start")]
    return picture(880, 272, "A message between two devices: release on one side, acquire on the other", *parts)


def packet_words():
    """What the words of the two forms hold."""
    parts = [text(20, 66, "ll", "", "start"), box(90, 48, 220, 28, "c", "32 bits of data"), box(310, 48, 220, 28, "a", "32 bits: flag of the round"),
             text(545, 66, "arrived when the flag is this round's", "soft", "start"),
             text(20, 112, "lamport", "", "start"), box(90, 94, 440, 28, "c", "64 bits of data"),
             text(545, 112, "arrived when the word is not all ones", "soft", "start"),
             text(90, 150, "both words are stored and loaded by one instruction, so data and flag arrive together", "soft", "start")]
    return picture(800, 168, "A packet is one word of 64 bits that carries its own arrival flag", *parts)


def packet_time():
    """A barrier, and packets of both forms, between two ranks."""
    parts = [text(20, 50, "rank 0 sends to rank 1; time goes to the right; the distance of a link is one hop", "soft", "start")]

    def rows(top, name):
        return [text(20, top, name, "", "start"), text(40, top + 32, "rank 0", "soft", "start"), text(40, top + 84, "rank 1", "soft", "start"),
                line(96, top + 28, 860, top + 28), line(96, top + 80, 860, top + 80)]

    top = 78
    parts += rows(top, "staging memory and a barrier: data, then a signal after them: two hops, and a release")
    parts += [box(100, top + 14, 120, 28, "c", "store data"), box(226, top + 14, 130, 28, "b", "release: wait"), box(362, top + 14, 80, 28, "a", "signal"),
              arrow(220, top + 42, 352, top + 66), arrow(442, top + 42, 560, top + 66), box(100, top + 66, 466, 28, "wait", "wait for the signal"),
              box(572, top + 66, 110, 28, "c", "load data"), box(688, top + 66, 80, 28, "box", "fold")]
    top = 218
    parts += rows(top, "ll: data and flag in one word: one hop, twice the bytes")
    parts += [box(100, top + 14, 200, 28, "c", "store {data, flag}"), arrow(300, top + 42, 400, top + 66),
              box(100, top + 66, 304, 28, "wait", "load until the flag is there"), box(410, top + 66, 80, 28, "box", "fold")]
    top = 358
    parts += rows(top, "lamport: data alone: one hop, no more bytes than the data; the reader stores the sentinel again for the call after next")
    parts += [box(100, top + 14, 100, 28, "c", "store data"), arrow(200, top + 42, 300, top + 66),
              box(100, top + 66, 204, 28, "wait", "load until not all ones"), box(310, top + 66, 130, 28, "a", "store all ones"),
              box(446, top + 66, 80, 28, "box", "fold")]
    return picture(900, 480, "How data reach another rank: a barrier and the two forms of packets", *parts)


PICTURES = {"memory-scopes": memory_scopes, "memory-lds": memory_lds, "memory-message": memory_message,
            "packet-words": packet_words, "packet-time": packet_time}


def main():
    if sys.argv[1:] not in ([], ["--check"]):
        sys.exit(f"draw.py: error: '{' '.join(sys.argv[1:])}' is not known; it takes nothing, or '--check'")
    stale = []
    for name, draw in PICTURES.items():
        path = ROOT / "docs" / "images" / f"{name}.svg"
        drawn = draw()
        if sys.argv[1:] and (not path.is_file() or path.read_text(encoding="utf-8") != drawn):
            stale.append(f"docs/images/{name}.svg:1: error: the picture is not what docs/site/draw.py draws; run './dev pictures'")
        elif not sys.argv[1:]:
            path.write_text(drawn, encoding="utf-8")
    if stale:
        sys.exit("\n".join(stale))


if __name__ == "__main__":
    main()
