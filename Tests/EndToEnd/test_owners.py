# SPDX-License-Identifier: Apache-2.0
"""A call that two hosts of a cluster recorded, by clocks of their own, is exported as one."""

import hashlib
import json
import shutil

import media
import pytest
from figures import MOST_BETWEEN_CLOCKS, assert_one_timeline, assert_plays
from hosts import Separate
from peers import room_url
from recordings import interrupted, journal_of, wait_for_media, wait_for_more
from stage import LIMIT

ROOM = "123123"
AHEAD = 90


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
    host = Separate(stage, "host2", AHEAD).inside()
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
    assert joined["bound_ns"] < MOST_BETWEEN_CLOCKS * 1e9, joined

    # One connection for each host.
    assert assert_one_timeline(whole, peer) == 2, joined
    verify = stage.run_tapedeck("verify", folders[0], timeout=LIMIT)
    assert verify.exit_code == 0 and "call-series.mkv: segment 2 (host host2): joined by senders ± " in verify.output, (
        verify.whole_story())
