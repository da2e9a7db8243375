# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls of the program `heddle` whose JSON output is wanted, with what is kept of them. Plain Python, also for
examples/producers/, whose test needs no packages."""
import json
import pathlib
import shlex
import subprocess


class CommandError(Exception):
    """A command that did not end as it should: the command, and what it printed."""


def execute(command, folder, limit, accepted=(0,)):
    """What `heddle VERB ... --json` prints. The command and its output stay in `folder` as VERB.sh and VERB.json. Throws
    CommandError for an exit code that is not accepted, and after `limit` seconds."""
    verb, text = command[1], shlex.join(command)
    folder = pathlib.Path(folder)
    (folder / f"{verb}.sh").write_text(text + "\n")
    try:
        run = subprocess.run(command, capture_output=True, text=True, timeout=limit, check=False)
    except subprocess.TimeoutExpired as error:
        raise CommandError(f"`heddle {verb}` did not end within {limit} seconds\n  note: {text}") from error
    except OSError as error:
        raise CommandError(f"`{command[0]}` cannot be run: {error.strerror}") from error
    (folder / f"{verb}.json").write_text(run.stdout)
    if run.returncode not in accepted:
        raise CommandError(f"`heddle {verb}` ended with {run.returncode}: {run.stderr.strip()[:2000]}\n  note: {text}")
    return json.loads(run.stdout)


def verdict_of(report):
    """`clean`, `findings` or `not finished`, of the report of `heddle check`."""
    return "clean" if report["clean"] else "findings" if report["findings"] else "not finished"
