# SPDX-License-Identifier: Apache-2.0
"""A call that two hosts of a cluster recorded, by clocks of their own, is exported as one."""

import hashlib
import json
import pathlib
import shutil
import struct
import subprocess
import uuid

import media
import pytest
from figures import assert_plays
from peers import room_url
from recordings import interrupted, journal_of, wait_for_media, wait_for_more
from stage import LIMIT

ROOM = "123123"
AHEAD = 90
UNSHARE = ("unshare", "--mount", "--time", "--monotonic", "5000", "--boottime", "5000")
# What is between the clocks of two hosts and what the senders tell of it, in seconds.
MOST = 0.020


def another_host(stage):
    """A command that runs the rest of its line on another host: a kernel, and clocks, of its own."""
    shown = subprocess.run([*UNSHARE, "cat", "/proc/uptime"], capture_output=True, text=True)
    if shown.returncode or float(shown.stdout.split()[0]) < float(pathlib.Path("/proc/uptime").read_text().split()[0]) + 4000:
        pytest.skip("no time namespaces here")
    library, offset, boot = (stage.folder / name for name in ("clock_offset.so", "clock_offset", "boot_id"))
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, pathlib.Path(__file__).with_name("clock_offset.c")], check=True)
    offset.write_bytes(struct.pack("i", AHEAD))
    boot.write_text(f"{uuid.uuid4()}\n")
    return (*UNSHARE, "sh", "-c", 'mount --bind "$0" /proc/sys/kernel/random/boot_id && exec "$@"', boot,
            "env", f"LD_PRELOAD={library}", f"CLOCK_OFFSET_FILE={offset}")


def record(stage, name, url, *host):
    storage = stage.folder / name
    recorder = stage.start(name, *host, stage.tapedeck_path, "record", url, "--directory", storage, "--json")
    wait_for_media(recorder, storage)
    return recorder, storage


def as_owner(storage, place, series, epoch):
    """Puts a recording where a cluster gathers it, with the claim of an owner in its journal."""
    folder, = storage.glob("recordings/*/*")
    moved = place / folder.name
    shutil.move(folder, moved)
    for made in [*moved.glob("manifest.json"), *moved.glob("certificate.txt"), *moved.glob("call.*")]:
        made.unlink()
    lines, chain = [], ""
    for number, line in enumerate((moved / "journal.jsonl").read_text().splitlines()):
        body = line[:line.rindex(',"chain":"')]
        if number == 0:
            claim = {"claim": {"cluster": "calls", "epoch": epoch}, "series": series, "segment": epoch}
            body = json.dumps({**json.loads(body + "}"), "host": f"host{epoch}", **claim})[:-1]
        chain = hashlib.sha256(f"{chain}{body}".encode()).hexdigest()[:16]
        lines.append(f'{body},"chain":"{chain}"}}\n')
    (moved / "journal.jsonl").write_text("".join(lines))
    return moved


@pytest.mark.media
def test_a_call_that_two_hosts_recorded_is_one(stage):
    host = another_host(stage)
    server = stage.serve("--room-size", "3")
    peer = stage.aiortc(server, ROOM, "--send", "synthetic", "--size", "320x180", "--on-the-second")
    url = room_url(server, ROOM)
    one, first = record(stage, "first", url)
    two, second = record(stage, "second", url, *host)
    # Both record for a while.
    wait_for_more(two, second)
    interrupted(one)
    wait_for_more(two, second)
    wait_for_more(two, second)
    interrupted(two)
    peer.end(LIMIT)
    place = stage.folder / "gathered" / "recordings" / ROOM
    place.mkdir(parents=True)
    series = journal_of(next(first.glob("recordings/*/*")))[0]["id"]
    folders = [as_owner(storage, place, series, epoch) for epoch, storage in enumerate((first, second), 1)]
    began = [journal_of(folder)[0] for folder in folders]
    assert began[0]["boot"] != began[1]["boot"] and began[1]["at"] - began[0]["at"] > 4e12, began

    export = stage.run_tapedeck("export", folders[1], "--series", "--json", timeout=LIMIT)
    assert export.exit_code == 0, export.story()
    whole = folders[0] / "call-series.mkv"
    assert_plays(whole)
    assert [stream["codec_name"] for stream in media.streams(whole)] == ["vp8", "opus"], media.describe(whole)
    joined, = export.result()["joined"]
    assert (joined["segment"], joined["host"], joined["joined_by"]) == (2, "host2", "senders"), joined
    assert joined["bound_ns"] < MOST * 1e9, joined

    # Each connection counts from an instant that the peer prints: every frame is where its sender's clock says, whoever
    # recorded it, and none is there twice.
    begun = [fact["at"] for fact in peer.facts if fact["event"] == "sending"]
    assert len(begun) == 2, peer.story()
    found = [frame for frame in media.frames(whole) if frame.counter is not None]
    change = next(index for index, frame in enumerate(found) if index and frame.counter < found[index - 1].counter)
    sent = [begun[index >= change] + frame.counter / 30 for index, frame in enumerate(found)]
    assert min(change, len(found) - change) >= 30, [frame.counter for frame in found]
    assert all(after - before > 0.5 / 30 for before, after in zip(sent, sent[1:])), sent
    places = [frame.time - at for frame, at in zip(found, sent)]
    assert max(places) - min(places) <= MOST, f"{min(places)} {max(places)} {joined}"
    heard = media.packets(whole, 1)
    assert all(after.time - before.time > 0.01 for before, after in zip(heard, heard[1:])), media.describe(whole)
    verify = stage.run_tapedeck("verify", folders[0], timeout=LIMIT)
    assert verify.exit_code == 0 and "call-series.mkv: segment 2 (host host2): joined by senders ± " in verify.output, (
        verify.whole_story())
