# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whether a file is what Perfetto expects of the Chrome trace format, and what is on its tracks: check_trace.py FILE"""
import collections
import json
import sys

with open(sys.argv[1], encoding="utf-8") as file:
    events = json.load(file)["traceEvents"]
names, tracks, open_flights, flights = {}, collections.defaultdict(list), {}, 0
for event in events:
    assert event["pid"] == 0
    if event["ph"] == "M" and event["name"] == "thread_name":
        names[event["tid"]] = event["args"]["name"]
    elif event["ph"] == "X":
        assert event["ts"] >= 0 and event["dur"] > 0, event
        tracks[event["tid"]].append((event["ts"], event["ts"] + event["dur"], event["name"]))
    elif event["ph"] == "b":
        assert event["id"] not in open_flights
        open_flights[event["id"]] = event["ts"]
    elif event["ph"] == "e":
        assert open_flights.pop(event["id"]) < event["ts"]
        flights += 1
assert not open_flights
for track, slices in sorted(tracks.items()):
    slices.sort()
    for before, after in zip(slices, slices[1:]):
        assert before[1] <= after[0], (names[track], before, after)
    print(f"{names[track]}: {len(slices)} slices")
print(f"memory in flight: {flights}")
