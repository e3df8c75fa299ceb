# SPDX-License-Identifier: Apache-2.0
"""AppRTC rooms: aiortc peers recorded, with us as the first and the second member, and what may happen in a call."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import time

import media
import pytest
from daemon import Daemon
from figures import SLACK, assert_nearly_all, assert_plays, assert_saw, assert_whole, losses
from peers import wait_until_seen
from recordings import (assert_nothing_noted, interrupted, record_some, recording_folder, tracks,
                        wait_for_both_ways, wait_for_media)
from stage import LIMIT, PEERS, SEND, json_objects, python

ROOM = "lab7"
SMALL = ("--send", "synthetic", "--size", "320x180")


def apprtc_server(stage, *flags):
    server = stage.start("apprtc-server", python("socketio5"), PEERS / "apprtc_server.py", *flags)
    server.port = server.wait_for_port()
    return server


def apprtc_peer(stage, server, *flags):
    """The peer when it is a member."""
    peer = stage.start("apprtc-peer", python("peers"), PEERS / "apprtc_peer.py", "--url",
                       f"http://127.0.0.1:{server.port}", "--room", ROOM, *flags)
    peer.wait_for_event("joined", LIMIT)
    return peer


def url(server, query=""):
    return f"apprtc+http://127.0.0.1:{server.port}/r/{ROOM}{query}"


def log(server, event, **expected):
    """The server's log lines of this kind."""
    return [fact for fact in json_objects(server.messages.splitlines())
            if fact["event"] == event and all(fact.get(key) == value for key, value in expected.items())]


def wait_for_log(server, event, count=1, **expected):
    return server.wait_for(f"{count} {event} {expected}",
                           lambda: len(found := log(server, event, **expected)) >= count and found, LIMIT)


def assert_strict(server):
    """No client broke the protocol."""
    assert not log(server, "violation"), server.story()


def forget(server, what):
    server.process.stdin.write(json.dumps({"forget": what}).encode() + b"\n")
    server.process.stdin.flush()
    wait_for_log(server, "forgotten", what=what)


def come_and_go(stage, server):
    """A run in the room as short as it can be."""
    stage.run_tapedeck("record", url(server), "--wait", "1s", "--duration", "1s", "--directory", stage.folder / "again")


def start_recorder(stage, server, *flags):
    return stage.tapedeck("record", url(server), "--directory", stage.folder / "storage", "--output",
                          stage.folder / "call.mkv", "--json", *flags)


@pytest.fixture(autouse=True)
def state_folder(monkeypatch, tmp_path):
    """Notes of these tests stay among them."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state" / "tapedeck"


def test_both_ways_as_the_first_member(stage, state_folder):
    server = apprtc_server(stage, "--turn", "new")
    recorder = start_recorder(stage, server, *SEND)
    # The offer waits for the next client, in an empty room.
    wait_for_log(server, "message", type="offer", isStored=True)
    note, = state_folder.iterdir()
    assert note.stat().st_mode & 0o777 == 0o640 and state_folder.stat().st_mode & 0o777 == 0o750
    notes = stage.folder / "notes.jsonl"
    peer = apprtc_peer(stage, server, *SMALL, "--receive", "--notes", notes)
    wait_until_seen(peer, notes)
    wait_for_media(recorder, stage.folder / "storage")
    interrupted(recorder)
    figures = peer.wait_for_event("closed", LIMIT)
    assert peer.end(LIMIT) == 0, peer.story()
    assert_whole(stage.folder / "call.mkv", recorder)
    assert_saw(figures, peer.story())
    assert log(server, "iceconfig")
    assert_strict(server)
    # The order of leaving, and nothing left behind.
    client = log(server, "join", isInitiator=True)[0]["client"]
    wait_for_log(server, "removed", client=client)
    last = [fact["event"] for fact in json_objects(server.messages.splitlines()) if fact.get("client") == client]
    assert last[-4:] == ["leave", "relay", "lost", "removed"], server.story()
    assert_nothing_noted(state_folder, lambda: come_and_go(stage, server))


@pytest.mark.parametrize("flags", [(), ("--ignore-offered-servers",)], ids=["used", "ignored"])
def test_the_servers_that_the_room_offers_are_asked_unless_we_ignore_them(stage, flags):
    with contextlib.closing(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as stun:
        stun.bind(("127.0.0.1", 0))
        stun.setblocking(False)
        server = apprtc_server(stage, "--turn", "new", "--stun-port", stun.getsockname()[1])
        recorder = start_recorder(stage, server, *SEND, *flags)
        wait_for_log(server, "message", type="offer", isStored=True)
        notes = stage.folder / "notes.jsonl"
        peer = apprtc_peer(stage, server, *SMALL, "--receive", "--notes", notes)
        wait_until_seen(peer, notes)
        wait_for_media(recorder, stage.folder / "storage")
        interrupted(recorder)
        asked = []
        with contextlib.suppress(BlockingIOError):
            while True:
                asked.append(stun.recv(2048))
    # Binding requests (RFC 3489 section 11.1).
    assert all(request[:2] == b"\0\1" for request in asked), asked
    assert bool(asked) is (not flags), recorder.story()


def test_as_the_second_member(stage):
    server = apprtc_server(stage, "--turn", "old", "--typed")
    peer = apprtc_peer(stage, server, *SMALL)
    wait_for_log(server, "message", type="candidate", isStored=True)
    exported, recorder = record_some(stage, url(server, "?wstls=false"), seconds=3)
    peer.wait_for_event("closed", LIMIT)
    assert peer.end(LIMIT) == 0, peer.story()
    assert_whole(exported, recorder)
    assert log(server, "join", query="wstls=false") and log(server, "turn")
    assert_strict(server)


@pytest.mark.long
@pytest.mark.media
@pytest.mark.parametrize("is_first", [True, False], ids=["initiator", "second"])
def test_fifteen_seconds_both_ways(stage, is_first):
    server = apprtc_server(stage)
    notes, storage = stage.folder / "notes.jsonl", stage.folder / "storage"
    flags = (*SMALL, "--receive", "--notes", notes)
    if is_first:
        recorder = start_recorder(stage, server, *SEND)
        wait_for_log(server, "message", type="offer", isStored=True)
        peer = apprtc_peer(stage, server, *flags)
    else:
        peer = apprtc_peer(stage, server, *flags)
        wait_for_log(server, "message", type="candidate", isStored=True)
        recorder = start_recorder(stage, server, *SEND)
    wait_for_both_ways(recorder, storage, peer, notes)
    assert peer.end(LIMIT) == 0, peer.story()
    interrupted(recorder)
    assert peer.event("joined")["isInitiator"] is not is_first
    assert_strict(server)
    assert_nearly_all(stage.folder / "call.mkv", recorder, peer.event("closed")["framesSent"])
    assert_saw(peer.event("closed"), peer.story())


def test_a_recorder_that_was_killed_leaves_the_room_at_its_next_start(stage, state_folder):
    server = apprtc_server(stage)
    peer = apprtc_peer(stage, server, *SMALL)
    killed = stage.tapedeck("record", url(server), "--directory", stage.folder / "killed")
    peer.wait_for_event("connected", LIMIT)
    killed.kill()
    ghost = log(server, "join", isInitiator=False)[0]["client"]
    assert len(list(state_folder.iterdir())) == 1
    # The room holds the peer and a ghost.
    exported, recorder = record_some(stage, url(server))
    assert log(server, "leave", client=ghost)[0]["isKnown"]
    assert not log(server, "full")
    # The ghost's farewell made the peer redial.
    assert peer.event("bye")
    assert_plays(exported)
    assert_strict(server)
    assert_nothing_noted(state_folder, lambda: come_and_go(stage, server))


def test_the_successor_of_a_killed_worker_leaves_for_it_and_goes_on(stage):
    server = apprtc_server(stage)
    peer = apprtc_peer(stage, server, *SMALL)
    daemon = Daemon(stage, {"standup": {"url": url(server), "join": "always", "record": {"empty_after": "120s"}}})
    daemon.wait_for_recording("standup", LIMIT)
    assert len(list((daemon.storage / "signalling").iterdir())) == 1
    victim = daemon.worker("standup")
    os.kill(victim, signal.SIGKILL)
    wait_for_log(server, "leave", isKnown=True)
    peer.wait_for_event("bye", LIMIT)
    daemon.wait_for("another worker", lambda: daemon.room("standup").get("worker", {}).get("processID") not in
                    (None, victim), LIMIT)
    daemon.wait_for_recording("standup", LIMIT)
    assert not log(server, "full")
    assert len({recording["id"] for recording in daemon.recordings()}) == 1, daemon.recordings()
    assert daemon.process.end(LIMIT) == 0, daemon.process.story()
    assert_strict(server)

    def again():
        daemon.start()
        daemon.wait_for_phase("standup", "joined")
        assert daemon.process.end(LIMIT) == 0, daemon.process.story()
    assert_nothing_noted(daemon.storage / "signalling", again)


def ended(peer, recorder, storage, number):
    """Ends a peer when what it sent until now is in the video track of this number; how many frames that is."""
    sent = peer.wait_for_figure("framesSent", 90)

    def is_written():
        # To look costs a process.
        time.sleep(0.3)
        with contextlib.suppress(subprocess.SubprocessError, ValueError, KeyError, IndexError):
            video = [path for path in tracks(storage) if path.suffix == ".mkv"][number]
            # If frames were lost, that is judged at the end.
            return len(media.packets(video, 0)) >= sent - SLACK or peer.figures("framesSent")[0] > sent + 300
        return False
    recorder.wait_for(f"{sent} frames", is_written, LIMIT)
    assert peer.end(LIMIT) == 0, peer.story()
    return sent


@pytest.mark.parametrize("what", [pytest.param("collider", marks=pytest.mark.long), "all"])
def test_media_outlive_the_servers_and_the_next_peer_can_call(stage, what):
    server = apprtc_server(stage)
    recorder = start_recorder(stage, server, *stage.room("record: { separate_tracks: true }"))
    wait_for_log(server, "message", type="offer", isStored=True)
    first = apprtc_peer(stage, server, *SMALL)
    first.wait_for_event("connected", LIMIT)
    ours = log(server, "join", isInitiator=True)[0]["client"]
    forget(server, what)
    if what == "collider":
        wait_for_log(server, "register", count=2, client=ours)
    else:
        # The room server does not know us any more, and takes us as a new client; no other is there.
        joins = wait_for_log(server, "join", count=2, isInitiator=True)
        # A farewell is not stored: it must find us at the collider.
        wait_for_log(server, "register", client=joins[1]["client"])
    first.wait_for_event("colliderLost", LIMIT)
    assert first.event("closed") is None
    least = [ended(first, recorder, stage.folder / "storage", 0)]
    second = apprtc_peer(stage, server, *SMALL)
    second.wait_for_event("connected", LIMIT)
    least.append(ended(second, recorder, stage.folder / "storage", 1))
    # It waits for the next one, as the only copy of us in the room.
    wait_for_log(server, "message", count=3, type="offer", isStored=True)
    assert recorder.end(LIMIT) == 0, recorder.story()
    assert log(server, "leave")[-1]["members"] == 0
    # Every frame of both calls is there, in one recording.
    recording_folder(stage.folder / "storage")
    lost = losses(recorder)
    counts = [track["units"] for track in recorder.result()["tracks"] if track["kind"] == "video"]
    sent = [peer.event("closed")["framesSent"] for peer in (first, second)]
    assert len(counts) == 2, recorder.result()
    for count, figure, enough in zip(counts, sent, least):
        assert enough - lost.frames - SLACK <= count <= figure, f"{counts} {least} {sent} {lost} {recorder.story()}"


def test_a_full_room_is_3(stage):
    server = apprtc_server(stage, "--full")
    recorder = stage.run_tapedeck("record", url(server), "--directory", stage.folder / "storage", timeout=LIMIT)
    assert recorder.exit_code == 3 and "is full" in recorder.messages, recorder.story()
