# SPDX-License-Identifier: Apache-2.0
"""Bare TCP calls on the LAN with aiortc: dialled and waited for, both directions, one call after the other."""

import json
import re
import stat

import media
import pytest
from figures import (assert_count, assert_nearly_all, assert_plays, assert_saw, assert_two_videos, assert_whole,
                     losses)
from peers import wait_until_seen
from recordings import interrupted, wait_for_both_ways, wait_for_media, wait_for_more
from stage import LIMIT, PEERS, SEND, free_port, json_objects, python


def peer(stage, *flags):
    return stage.start("lan", python("peers"), PEERS / "lan_peer.py", "--send", "synthetic", "--size", "320x180", *flags)


def test_a_dialled_peer_is_recorded_and_sees_our_camera(stage):
    port = free_port()
    exported, storage = stage.folder / "call.mkv", stage.folder / "storage"
    recorder = stage.tapedeck("record", f"lan+tcp://127.0.0.1:{port}", *SEND, "--directory", storage,
                              "--output", exported, "--json", "--log-level", "info")
    # No one accepts at first.
    recorder.wait_for("word of the refusal", lambda: "Dialling continues" in recorder.messages, LIMIT)
    # TCP says nothing about the call: media continue without it.
    notes = stage.folder / "notes.jsonl"
    callee = peer(stage, "--listen", port, "--receive", "--hang-up-after", "1", "--notes", notes)
    callee.wait_for_event("hungUp", LIMIT)
    wait_for_media(recorder, storage)
    wait_for_more(recorder, storage)
    wait_until_seen(callee, notes)
    seen = [frame for frame in json_objects(notes.read_text().splitlines()) if frame["kind"] == "video"]
    assert {(frame["width"], frame["height"]) for frame in seen} == {(320, 180)}, callee.story()
    interrupted(recorder)
    assert callee.end(LIMIT) == 0, callee.story()
    assert_whole(exported, recorder)
    assert_saw(callee.event("closed"), callee.story())


def test_a_listening_port_takes_one_call_after_the_other(stage):
    port = free_port()
    exported, storage = stage.folder / "call.mkv", stage.folder / "storage"
    trace = stage.folder / "trace.jsonl"
    recorder = stage.tapedeck("record", f"lan+tcp://127.0.0.1:{port}?listen", "--directory", storage, "--output",
                              exported, "--json", "--trace-signalling", trace)
    # As aiortc reports by default.
    first = peer(stage, "--dial", f"127.0.0.1:{port}", "--own-reports")
    wait_for_media(recorder, storage)
    assert first.end(LIMIT) == 0, f"{first.story()}\n{recorder.story()}"
    second = peer(stage, "--dial", f"127.0.0.1:{port}", "--codec", "h264")
    wait_for_media(recorder, storage, 4)
    assert second.end(LIMIT) == 0, f"{second.story()}\n{recorder.story()}"
    interrupted(recorder)
    assert_plays(exported)
    videos = media.streams(exported, "video")
    assert [video["codec_name"] for video in videos] == ["vp8", "h264"], recorder.story()
    for video, caller in zip(videos, (first, second)):
        assert_count(len(media.packets(exported, video["index"])), caller.event("closed")["framesSent"],
                     losses(recorder), recorder.story())
    assert_replays(stage, trace)


@pytest.mark.long
@pytest.mark.media
@pytest.mark.parametrize("who", ["dial", "listen"])
def test_fifteen_seconds_both_ways(stage, who):
    port = free_port()
    exported, storage, notes = stage.folder / "call.mkv", stage.folder / "storage", stage.folder / "notes.jsonl"
    url = f"lan+tcp://127.0.0.1:{port}" + ("?listen" if who == "listen" else "")
    recorder = stage.tapedeck("record", url, *SEND, "--directory", storage, "--output", exported, "--json")
    flags = ("--listen", port) if who == "dial" else ("--dial", f"127.0.0.1:{port}")
    other = peer(stage, *flags, "--receive", "--notes", notes)
    wait_for_both_ways(recorder, storage, other, notes)
    assert other.end(LIMIT) == 0, other.story()
    interrupted(recorder)
    assert_nearly_all(exported, recorder, other.event("closed")["framesSent"])
    assert_saw(other.event("closed"), other.story())


def assert_replays(stage, trace):
    """The trace has both calls, no secret, and the machine says the same again; altered, it does not."""
    assert stat.S_IMODE(trace.stat().st_mode) == 0o640
    text = trace.read_text()
    header, *lines = map(json.loads, text.splitlines())
    assert header["protocol"] == "lan" and header["program"].startswith("tapedeck ")
    assert sum(line.get("event") == "offerReceived" for line in lines) == 2
    assert "ice-pwd:xxxx" in text
    assert all(set(secret) == {"x"} for secret in re.findall(r"ice-pwd:(\w+)", text))
    replay = stage.run_tapedeck("replay", trace, "--json", timeout=LIMIT)
    assert replay.exit_code == 0, replay.story()
    assert replay.facts[-1]["differences"] == 0 and replay.facts[-1]["inputs"] > 8, replay.story()
    altered = stage.folder / "altered.jsonl"
    altered.write_text(text.replace('"event":"offerReceived"', '"event":"answerReceived"'))
    replay = stage.run_tapedeck("replay", altered, "--differences", timeout=LIMIT)
    assert replay.exit_code == 5 and "2 differences" in replay.output, replay.story()
    altered.write_text("no trace")
    replay = stage.run_tapedeck("replay", altered, timeout=LIMIT)
    assert replay.exit_code == 2 and "line 1 is not" in replay.messages, replay.story()


@pytest.mark.long
@pytest.mark.media
def test_an_app_that_is_started_anew_is_dialled_again(stage):
    port = free_port()
    exported, storage = stage.folder / "call.mkv", stage.folder / "storage"
    recorder = stage.tapedeck("record", f"lan+tcp://127.0.0.1:{port}", "--directory", storage, "--output", exported,
                              "--json", "--wait", "90s", *stage.room("record: { separate_tracks: true }"))
    first = peer(stage, "--listen", port)
    wait_for_media(recorder, storage)
    first.kill()
    second = peer(stage, "--listen", port)
    wait_for_media(recorder, storage, 4)
    # No one dialled in addition to the call.
    assert second.event("refused") is None, second.story()
    assert second.end(LIMIT) == 0, second.story()
    interrupted(recorder)
    assert_two_videos(exported, recorder)


@pytest.mark.media
def test_a_call_outlives_its_connection_until_the_next_caller(stage):
    port = free_port()
    exported, storage = stage.folder / "call.mkv", stage.folder / "storage"
    recorder = stage.tapedeck("record", f"lan+tcp://127.0.0.1:{port}?listen", "--directory", storage, "--output",
                              exported, "--json", *stage.room("record: { separate_tracks: true }"))
    first = peer(stage, "--dial", f"127.0.0.1:{port}", "--hang-up-after", "1")
    first.wait_for_event("hungUp", LIMIT)
    wait_for_media(recorder, storage)
    wait_for_more(recorder, storage)
    second = peer(stage, "--dial", f"127.0.0.1:{port}")
    wait_for_media(recorder, storage, 4)
    for caller in (first, second):
        assert caller.end(LIMIT) == 0, caller.story()
    interrupted(recorder)
    assert_two_videos(exported, recorder)


def test_a_port_in_use_is_named(stage):
    callee = peer(stage, "--listen", "0")
    port = callee.wait_for_event("listening", LIMIT)["port"]
    recorder = stage.run_tapedeck("record", f"lan+tcp://127.0.0.1:{port}?listen", timeout=LIMIT)
    assert recorder.exit_code == 3, recorder.story()
    assert f"127.0.0.1:{port} cannot be opened" in recorder.messages, recorder.story()
    assert "another program uses it" in recorder.messages, recorder.story()
    assert callee.end(LIMIT) == 1, callee.story()
