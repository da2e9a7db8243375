#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Holds every include against layers.txt: which room may include headers of which, and who may know MLIR."""
import posixpath
import re

import tree

SOURCES = (".cpp", ".h", ".c", ".td", ".inc")
INCLUDE = re.compile(r'^\s*(?:#\s*)?include\s*(["<])([^">]+)[">]')
FREE = ("tests", "bench", "examples", "cmake")  # may include anything; nobody may include them
OUTSIDE = {"mlir": "<mlir>", "mlir-c": "<mlir>", "llvm": "<mlir>", "llvm-c": "<mlir>", "lld": "<mlir>"}


def parse_layers(text):
    """layers.txt as {room: (line, set of allowed rooms)}, and findings about the list itself."""
    rooms, findings = {}, []
    for number, line in enumerate(text.splitlines(), 1):
        line = line.split("#")[0].strip()
        if not line:
            continue
        room, colon, allowed = line.partition(":")
        if not colon or room != room.strip() or " " in room:
            findings.append(f"layers.txt:{number}: error: expected 'room: allowed rooms', found '{line}'")
        elif room in rooms:
            findings.append(f"layers.txt:{number}: error: room '{room}' is listed twice")
        else:
            rooms[room] = (number, set(allowed.split()))
    for room, (number, allowed) in rooms.items():
        for other in sorted(allowed - set(rooms) - set(OUTSIDE.values())):
            findings.append(f"layers.txt:{number}: error: '{room}' names the room '{other}', which has no line")
    return rooms, findings


def find_cycle(rooms):
    """A list of rooms in which each allows the next and the last allows the first, or None."""
    done = set()

    def visit(room, path):
        if room in path:
            return path[path.index(room):]
        if room in done or room not in rooms:
            return None
        for other in sorted(rooms[room][1]):
            cycle = visit(other, path + [room])
            if cycle:
                return cycle
        done.add(room)
        return None

    return next((cycle for room in rooms for cycle in [visit(room, [])] if cycle), None)


def room_of(path, rooms):
    """The longest listed prefix of a file's path, or None."""
    folder = posixpath.dirname(path)
    while folder and folder not in rooms:
        folder = posixpath.dirname(folder)
    return folder or None


def included_path(name, file, known, folders):
    """The path in the tree that an include names, be it written or generated, or None for a header from outside."""
    beside = posixpath.normpath(posixpath.join(posixpath.dirname(file), name))
    if beside in known:
        return beside
    name = posixpath.normpath(name)
    return name if "/" in name and name.split("/")[0] in folders else None


def check(root):
    known = set(tree.files(root))
    rooms, findings = parse_layers(tree.text(root, "layers.txt"))
    cycle = find_cycle(rooms)
    if cycle:
        findings.append(f"layers.txt:1: error: arrows must point one way, but they run in a circle: {' -> '.join(cycle + cycle[:1])}")
    for room, (number, _) in rooms.items():
        if not any(path.startswith(room + "/") for path in known):
            findings.append(f"layers.txt:{number}: error: the room '{room}' has no files")
    folders = {path.split("/")[0] for path in known if "/" in path}
    for path in sorted(known):
        if path.endswith(SOURCES) and path.split("/")[0] not in FREE:
            findings += check_file(root, path, rooms, lambda name, file=path: included_path(name, file, known, folders))
    return findings


def check_file(root, path, rooms, resolve):
    room = room_of(path, rooms)
    if room is None:
        return [f"{path}:1: error: this file is in no room of layers.txt; add a line for its folder"]
    findings = []
    for number, line in enumerate((tree.text(root, path) or "").splitlines(), 1):
        match = INCLUDE.match(line)
        if not match:
            continue
        target = resolve(match[2])
        if target is None:
            other = OUTSIDE.get(match[2].split("/")[0])
        else:
            other = room_of(target, rooms) or posixpath.dirname(target)
        if other is None or other == room or other in rooms[room][1]:
            continue
        findings.append(f"{path}:{number}: error: the room '{room}' may not include '{match[2]}' of {other}; "
                        f"layers.txt allows it: {' '.join(sorted(rooms[room][1])) or 'nothing'}")
    return findings


if __name__ == "__main__":
    tree.report(check(tree.arguments(__doc__).parse_args().root))
