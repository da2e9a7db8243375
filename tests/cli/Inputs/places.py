# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Holds the places of findings in JSON against their text: RACE NONE SIMULATED FAULT, the outputs of lines.test."""
import json
import re
import sys

race, none, simulated, fault = (json.load(open(name)) for name in sys.argv[1:])


def named(text):
    """What the text says: an address, and the source if there is one."""
    return [(int(pc, 16), source) for pc, source in re.findall(r"pc 0x([0-9a-f]+)(?: \(([^)]*)\))?", text)]


def told(places):
    return [(place["pc"], ":".join(str(place[key]) for key in ("file", "line", "column") if key in place)) for place in places]


for report in (race, none, simulated):
    assert report["findings"]
    for finding in report["findings"]:
        assert told(finding["places"]) == named(finding["text"]), finding
error = fault["error"]
assert error["places"] and told(error["places"]) == named("\n".join(error["notes"])), error

writes = race["findings"][0]["places"]
assert [place["file"] for place in writes] == ["helpers.py"] * 2 and writes[0]["line"] == 5 and writes[0]["column"] == 4, writes
assert all(set(place) == {"pc"} for place in none["findings"][0]["places"]), none["findings"][0]
