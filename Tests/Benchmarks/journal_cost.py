# SPDX-License-Identifier: Apache-2.0
"""The cost of a long call's journal when its recording is continued, listed and exported: `make figures OF=journal`.

A worker records a camera for some seconds and is killed. The journal is then made as long as after a day: as many lines
as wanted, clock anchors, sender reports and packet counts in turn, with the times of 24 hours and a chain that holds.
Printed, for the short journal and for the long one side by side: how long after the first media a new worker records
part 2, and how long a list of the recordings, and an export of the whole, take; and the largest resident memory of
each.

The exit code is 1 if the long journal is beyond a limit (issue 15): a worker that continues it needs more than 2 s or
50 MB beyond one that continues the short journal, or more than 3 s from joining to recording.

"""

import argparse
import datetime
import hashlib
import json
import pathlib
import re
import shutil
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "Tests/EndToEnd"))
sys.path.insert(0, str(ROOT / "Tests/Benchmarks"))
from export_cost import cost  # noqa: E402
from stage import Stage  # noqa: E402
from test_worker import Worker, camera  # noqa: E402

DAY = 24 * 3600
NANOSECONDS = 1_000_000_000
# Limits for continuing the long journal: beyond the short one, and in total.
MORE_SECONDS, MORE_MEGABYTES, MOST_SECONDS = 2, 50, 3
CHAIN = re.compile(rb',"chain":"[0-9a-f]{16}"\}$')


class Chain:
    """Writes lines that hang together, as Sources/Storage/JournalChain.swift says."""

    def __init__(self, file):
        self.file, self.value = file, b""

    def write(self, body):
        """Writes a record without its closing brace."""
        self.value = hashlib.sha256(self.value + body).hexdigest()[:16].encode()
        self.file.write(body + b',"chain":"' + self.value + b'"}\n')


def earlier(line):
    """A line of a day before, without its chain and its closing brace."""
    record = json.loads(line)
    body = CHAIN.sub(b"", line)
    body = body.replace(f'"at":{record["at"]}'.encode(), f'"at":{record["at"] - DAY * NANOSECONDS}'.encode(), 1)
    if utc := record.get("utc"):
        moved = datetime.datetime.fromisoformat(utc[:19]) - datetime.timedelta(days=1)
        body = body.replace(utc.encode(), (moved.isoformat() + utc[19:]).encode(), 1)
    return body


def lengthen(journal, count):
    """Makes it the journal of a call that lasted until now for a day."""
    lines = [line for line in journal.read_bytes().split(b"\n") if CHAIN.search(line)]
    records = [json.loads(line) for line in lines]
    tracks = [record for record in records if record["kind"] == "track-opened"]
    reports = {record["track"]: record for record in records if record["kind"] == "sender-report"}
    with journal.open("wb") as file:
        chain = Chain(file)
        for line in lines:
            chain.write(earlier(line))
        begin = records[-1]["at"] - DAY * NANOSECONDS
        rounds = max(0, count - len(lines)) // (3 * len(tracks))
        for number in range(rounds):
            at = begin + DAY * NANOSECONDS * number // rounds
            for track in tracks:
                name, rate = track["track"], track["clock_rate"]
                passed = at - (track["at"] - DAY * NANOSECONDS)
                rtp = track["first_rtp"] + passed * rate // NANOSECONDS
                chain.write(f'{{"at":{at},"kind":"clock-anchor","rtp":{rtp},"track":{name},"v":1'.encode())
                if report := reports.get(name):
                    passed = at - (report["at"] - DAY * NANOSECONDS)
                    ntp = report["ntp"] + (passed << 32) // NANOSECONDS
                    said = (report["rtp"] + passed * rate // NANOSECONDS) % (1 << 32)
                    chain.write((f'{{"at":{at},"kind":"sender-report","ntp":{ntp},"rtp":{said},"ssrc":{report["ssrc"]},'
                                 f'"track":{name},"v":1').encode())
                chain.write((f'{{"at":{at},"kind":"packets-counted","lost":0,"received":{number * 50},"repaired":0,'
                             f'"track":{name},"v":1').encode())


def peak(process):
    status = pathlib.Path(f"/proc/{process.process.pid}/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+) kB", status)[1]) / 1024


def continued(stage, server, folder):
    """Continues a recording: seconds from the first media to the event, and the worker's largest memory."""
    worker = Worker(stage)
    worker.join(server, "long", continues=str(folder))
    began = time.monotonic()
    reference = worker.started("long")
    seconds = time.monotonic() - began
    assert reference["part"] > 1 and reference["folder"] == str(folder), reference
    worker.grows("long", by=30)
    memory = peak(worker.process)
    assert worker.end() == 0
    return seconds, memory


def report(stage, folder, name):
    """Prints the cost of a journal; seconds and megabytes of the worker that continues it."""
    # Not as a whole: a process that we start inherits our largest resident size.
    with (folder / "journal.jsonl").open("rb") as journal:
        lines = sum(1 for _ in journal)
    size = (folder / "journal.jsonl").stat().st_size / 1e6
    print(f"{name}: {lines} lines, {size:.1f} MB", flush=True)
    going_on = seconds, memory = continued(stage, stage.server, folder)
    print(f"  continued: {seconds:.2f} s from joining to recording, {memory:.0f} MB", flush=True)
    for what, command in (("listed", ("recordings", "list", "--directory", stage.folder / "storage")),
                          ("exported", ("export", folder, "--json", "--output", stage.folder / "call.mkv"))):
        seconds, cpu, memory = cost(stage.tapedeck_path, *command)
        print(f"  {what}: {seconds:.2f} s, CPU {cpu:.2f} s, {memory:.0f} MB", flush=True)
    return going_on


def is_within_limits(short, long):
    """Prints each limit with what it is held against."""
    compared = (
        ("continuing, long less short", long[0] - short[0], MORE_SECONDS, "s"),
        ("memory of continuing, long less short", long[1] - short[1], MORE_MEGABYTES, "MB"),
        ("from joining to recording, long", long[0], MOST_SECONDS, "s"))
    for what, value, limit, unit in compared:
        print(f"{'ok' if value <= limit else 'BEYOND'}: {what}: {value:.2f} {unit}, limit {limit} {unit}", flush=True)
    return all(value <= limit for _, value, limit, _ in compared)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tapedeck", default=str(ROOT / ".build/release/tapedeck"))
    parser.add_argument("--lines", type=int, default=10_000_000, help="of the long journal")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        stage = Stage(pathlib.Path(temporary), pathlib.Path(options.tapedeck).resolve())
        try:
            stage.server = stage.serve()
            worker = Worker(stage)
            worker.join(stage.server, "long", empty=60)
            camera(stage, stage.server, "long")
            short = pathlib.Path(worker.started("long")["folder"])
            worker.grows("long", by=60)
            worker.process.kill()
            worker.process.wait()
            kept = stage.folder / "kept"
            shutil.copytree(short, kept)
            of_short = report(stage, short, "short")
            shutil.rmtree(short)
            shutil.copytree(kept, short)
            lengthen(short / "journal.jsonl", options.lines)
            of_long = report(stage, short, "long")
        finally:
            stage.finish()
    return 0 if is_within_limits(of_short, of_long) else 1


if __name__ == "__main__":
    sys.exit(main())
