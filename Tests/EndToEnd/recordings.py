# SPDX-License-Identifier: Apache-2.0
"""Starts and ends recordings of a test, waits for their media, and finds their files."""

import contextlib
import datetime
import json
import pathlib
import signal
import sqlite3
import subprocess
import time

from peers import caught_up, lateness, wait_until_seen
from stage import LIMIT

# Bytes of more than a second of the test pattern, small as in most tests, and of its audio.
SOME = {".mkv": 20_000, ".mka": 4_000}


def recording_folder(directory):
    """The folder of the only recording below a storage directory."""
    found = [path.parent for path in pathlib.Path(directory).rglob("journal.jsonl")]
    assert len(found) == 1, f"{len(found)} recordings below {directory}: {found}"
    return found[0]


def journal_of(folder):
    """The records of a recording's journal, each line of which is whole."""
    return [json.loads(line) for line in (pathlib.Path(folder) / "journal.jsonl").read_text().splitlines()]


def left(records):
    """When a host wrote the last of a recording, on the clock of its journal; None while it writes."""
    return next((record["at"] for record in records if record["kind"] == "recording-finished"), None)


def begun(records):
    """When a host had audio and video, on the clock of its journal."""
    opened = {record["track"]: record["media"] for record in records if record["kind"] == "track-opened"}
    first = {}
    for record in records:
        if record["kind"] == "clock-anchor":
            first.setdefault(opened[record["track"]], record["at"])
    assert set(first) == {"audio", "video"}, first
    return max(first.values())


def recorded_layers(directory):
    """For each track that is one layer of several, in the only recording below a storage directory, the layer."""
    return [record["layer"] for record in journal_of(recording_folder(directory)) if "layer" in record]


def assert_nothing_noted(folder, again):
    """No note of a room is left; a client that a busy server did not answer in time leaves with the next run,
    `again`."""
    for _ in range(5):
        if not [path for path in folder.rglob("*") if path.is_file()]:
            return
        again()
    raise AssertionError(f"still noted: {list(folder.rglob('*'))}")


def fill_catalogue(storage, count):
    """Adds finished recordings of two to the catalogue of a running daemon, one a minute, newest first; their ids.

    They have no files: a list does not look at them.
    """
    newest = datetime.datetime(2026, 11, 21, 3, 12, tzinfo=datetime.timezone.utc)
    ids = [f"{number:016d}" for number in range(count)]
    rows, people = [], []
    for number, identity in enumerate(ids):
        start = int((newest - datetime.timedelta(minutes=number)).timestamp())
        room, names = f"room {number % 40}", (f"Ann {number % 97}", "Zoë")
        search = "\n".join((room, identity, *names)).lower()
        rows.append((start * 1_000_000, identity, room, start * 10**9, (start + 50) * 10**9, 50, 9_000_000, "finished", "complete",
                     "here", 1, f"recordings/{room}/{identity}", search, "[]"))
        people += [(start * 1_000_000, index, f"x{index}", name) for index, name in enumerate(names)]
    with contextlib.closing(sqlite3.connect(storage / "catalogue.sqlite", timeout=LIMIT)) as catalogue, catalogue:
        catalogue.executemany(
            "INSERT INTO recordings (position, id, room, start_ns, end_ns, duration_seconds, bytes, state, verdict, host, parts, "
            "folder, search, tags) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)
        catalogue.executemany("INSERT INTO participants (recording, number, id, name) VALUES (?, ?, ?, ?)", people)
    return ids


def media_files(directory):
    """Every Matroska file below a directory."""
    return sorted(path for path in pathlib.Path(directory).rglob("*") if path.suffix in (".mkv", ".mka"))


def start_recorder(stage, url, *flags, secrets=None):
    """The file it will export, and a recorder that joins."""
    exported = stage.folder / "call.mkv"
    recorder = stage.tapedeck("record", url, "--directory", stage.folder / "storage", "--output", exported, "--json",
                              "--wait", "90s", *flags, secrets=secrets)
    return exported, recorder


def record(stage, url, seconds, *flags):
    """Records for so many seconds; the exported file and the process."""
    exported, recorder = start_recorder(stage, url, "--duration", f"{seconds}s", *flags)
    recorded(recorder)
    return exported, recorder


def record_frames(stage, url, peer, count, *flags):
    """Records until a foreign peer has sent so many frames: the exported file, the recorder, and how many it were."""
    exported, recorder = start_recorder(stage, url, *flags)
    sent = peer.wait_for_figure("framesSent", count)
    caught_up(peer, recorder)
    return exported, interrupted(recorder), sent


def recorded(recorder, *codes):
    """Waits for the end of a recording and its export; 0 is the exit code, or one of `codes`.

    Or 5, where a sender was late: its clock is off that of the wall.
    """
    code = recorder.wait()
    assert code in (codes or (0,)) or code == 5 and lateness(recorder) > 1, recorder.story()
    return recorder


def interrupted(recorder, *codes):
    """Ends a recording as Ctrl-C does, and waits as `recorded` does."""
    recorder.signal(signal.SIGINT)
    return recorded(recorder, *codes)


def wait_for_media(process, storage, files=2):
    """Waits until so many track files have more than a second of media."""
    process.wait_for(f"{files} files with media", lambda: sum(
        path.stat().st_size > SOME[path.suffix] for path in tracks(storage)) >= files, LIMIT)


def wait_for_more(process, storage, files=2):
    """Waits until so many of the track files have about a second more."""
    before = {path: path.stat().st_size for path in tracks(storage)}
    process.wait_for(f"more in {files} files", lambda: sum(
        path.stat().st_size > size + SOME[path.suffix] * 2 // 3 for path, size in before.items()) >= files, LIMIT)


def seconds_of(path):
    """How many seconds of media a track file has that is being written."""
    # Not every module that starts processes has the packages that this needs.
    import media  # noqa: PLC0415
    with contextlib.suppress(subprocess.SubprocessError, ValueError, KeyError):
        first, last = media.span(path, 0)
        return last - first
    return 0


def wait_for_seconds(process, storage, seconds, files=2):
    """Waits until so many track files have so many seconds of media, however long those who send them take."""
    def are_there():
        # To look costs a process for each of them.
        time.sleep(0.3)
        return sum(seconds_of(path) >= seconds for path in tracks(storage)) >= files
    process.wait_for(f"{files} files with {seconds} s", are_there, LIMIT)


def record_some(stage, url, *flags, seconds=2, files=2):
    """Records until so many tracks have so many seconds; the exported file and the process."""
    exported, recorder = start_recorder(stage, url, *flags)
    wait_for_seconds(recorder, stage.folder / "storage", seconds, files)
    return exported, interrupted(recorder)


def tracks(storage):
    """Track files; one may be moved in between."""
    return [path for path in media_files(storage) if path.parent.name == "tracks" and path.exists()]


def wait_for_both_ways(recorder, storage, peer, notes, files=2):
    """Waits until so many tracks have 15 s, and a peer with --notes has decoded our camera."""
    wait_for_seconds(recorder, storage, 15, files)
    wait_until_seen(peer, notes)


def wait_for_silence(recorder, folder):
    """Waits until what was sent is written: the tracks below a storage directory grow no more."""
    def sizes():
        return {path: path.stat().st_size for path in media_files(folder)}
    before, quiet = {}, 0
    deadline = time.monotonic() + LIMIT
    while quiet < 2:
        assert time.monotonic() < deadline, f"the tracks do not end: {recorder.story()}"
        now = sizes()
        # A recorder that does not get the processor writes nothing, either.
        quiet = quiet + 1 if now and now == before and not recorder.has_work else 0
        before = now
        time.sleep(1.5)
