# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ends `heddle tune` in its second search, and says how it goes on: stop_tune.py kill|fault|interrupt|terminate
kills all its processes, gives a fault to the one that measures, sends Ctrl-C or SIGTERM."""
import json
import os
import pathlib
import signal
import sqlite3
import subprocess
import sys
import time

# The packages of the first shape are those of the second, so that the second search compiles nothing: a fault while a
# candidate is compiled would be caught.
COMMAND = ["heddle", "tune", "kernel:amax", "--shape", "M=32,N=4096", "--shape", "M=64,N=4096", "--json"]


def count(query):
    try:
        database = sqlite3.connect(f"file:{os.environ['HEDDLE_TUNING_DATABASE']}?mode=ro", uri=True, timeout=0)
        try:
            return database.execute(query).fetchone()[0]
        finally:
            database.close()
    except sqlite3.OperationalError:  # not made yet
        return 0


def in_second_search():
    return count("SELECT count(*) FROM measurements JOIN runs ON run = id WHERE id = 2 AND finished IS NULL") > 0


def finish(process):
    out, err = process.communicate(timeout=100)
    print("\n".join(line for line in err.decode().splitlines()), f"\nexit code {process.returncode}")
    return out


how = sys.argv[1]
process = subprocess.Popen(COMMAND, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
limit = time.monotonic() + 60
while True:  # stopped, so that the search is still what was read of it when the signal comes
    os.killpg(process.pid, signal.SIGSTOP)
    if in_second_search():
        break
    os.killpg(process.pid, signal.SIGCONT)
    if process.poll() is not None or time.monotonic() > limit:
        sys.exit("it was not seen in its second search")
    time.sleep(0.005)
if how == "fault":
    worker = int(pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()[0])
    os.kill(worker, signal.SIGABRT)
elif how == "terminate":
    process.terminate()  # the first process alone
else:
    os.killpg(process.pid, signal.SIGKILL if how == "kill" else signal.SIGINT)
os.killpg(process.pid, signal.SIGCONT)
out = finish(process)
if how != "fault":
    print(f"ended with {count('SELECT count(*) FROM measurements')} measurements, and "
          f"{len(json.loads(out or b'{}').get('shapes', []))} shapes")
    out = subprocess.run(COMMAND, check=True, stdout=subprocess.PIPE).stdout
shapes = json.loads(out)["shapes"]
print(f"resumed: {any(shape['resumed'] for shape in shapes)}, {sum(shape['measurements'] for shape in shapes)} more")
