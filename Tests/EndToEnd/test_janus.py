# SPDX-License-Identifier: Apache-2.0
"""Rooms of Debian's Janus: two aiortc publishers recorded, our camera published, the server lost and found."""

import contextlib
import json
import socket
import types

import media
import pytest
from figures import assert_counters, assert_nearly_all, assert_plays, assert_whole, losses
from peers import wait_until_seen
from recordings import interrupted, recording_folder, wait_for_both_ways, wait_for_media
from stage import LIMIT, SEND
from proxy import Proxy

ROOM, PIN_ROOM, PIN = 1234, 4321, "open sesame"
ROOMS = {ROOM: {"description": "Open", "publishers": 6, "videocodec": "vp8,h264", "notify_joining": False},
         PIN_ROOM: {"description": "Locked", "publishers": 6, "pin": PIN, "videocodec": "vp8,h264"}}


def url(server, room=ROOM, transport="ws"):
    port = server.port if transport == "ws" else server.http_port
    return f"janus+{transport}://127.0.0.1:{port}/?room={room}"


def titles(path, kind):
    return sorted(stream["tags"]["title"] for stream in media.streams(path, kind))


@pytest.fixture
def janus(stage):
    """Starts Debian's Janus; its ICE leaves loopback out."""
    if not has_a_network():
        pytest.skip("Janus gathers no candidates on a host that has loopback only")
    return stage.janus


def has_a_network():
    """Whether there is a way out of this host; nothing is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe, contextlib.suppress(OSError):
        probe.connect(("192.0.2.1", 9))
        return True
    return False


def start_recorder(stage, url):
    storage, exported = stage.folder / "storage", stage.folder / "call.mkv"
    recorder = stage.tapedeck("record", url, "--directory", storage, "--output", exported, "--json", *SEND)
    return recorder, storage, exported


def publisher(stage, server, room, name, *flags):
    return stage.janus_peer(server, room, name, "--size", "320x180", *flags)


def test_two_publishers_are_recorded_and_see_our_camera(stage, janus, monkeypatch):
    monkeypatch.setenv("TAPEDECK_ROOM_SECRET", PIN)
    server = janus(ROOMS)
    notes = stage.folder / "notes.jsonl"
    ada = publisher(stage, server, PIN_ROOM, "Ada", "--pin", PIN, "--watch", "Recording", "--notes", notes)
    zoe = publisher(stage, server, PIN_ROOM, "Zoë", "--pin", PIN)
    for peer in (ada, zoe):
        peer.wait_for_event("connected", LIMIT)
    recorder, storage, exported = start_recorder(stage, url(server, PIN_ROOM))
    wait_for_media(recorder, storage, 4)
    # Our camera, as Janus gives it to a publisher.
    wait_until_seen(ada, notes)
    interrupted(recorder, 0, 130)
    assert_whole(exported, recorder)
    for kind in ("video", "audio"):
        assert titles(exported, kind) == [f"Ada – {kind}", f"Zoë – {kind}"], recorder.story()
    ada.wait_for("our departure", lambda: any("leaving" in fact for fact in ada.facts), LIMIT)
    assert ada.end(LIMIT) == 0 and zoe.end(LIMIT) == 0
    assert ada.event("end")["countersRead"] > 1, ada.story()


@pytest.mark.long
@pytest.mark.media
def test_fifteen_seconds_of_two_publishers(stage, janus):
    server = janus(ROOMS)
    notes = stage.folder / "notes.jsonl"
    peers = [publisher(stage, server, ROOM, "Ada", "--watch", "Recording", "--notes", notes),
             publisher(stage, server, ROOM, "Zoë")]
    recorder, storage, exported = start_recorder(stage, url(server))
    wait_for_both_ways(recorder, storage, peers[0], notes, files=4)
    interrupted(recorder, 0, 130)
    for peer in peers:
        assert peer.end(LIMIT) == 0, peer.story()
    # How many they sent before we came is not known.
    assert_nearly_all(exported, recorder)
    assert titles(exported, "video") == ["Ada – video", "Zoë – video"], recorder.story()
    assert peers[0].event("end")["countersRead"] > 1, peers[0].story()


def test_http_refusals_and_ice_lite(stage, janus, monkeypatch):
    server = janus(ROOMS, is_lite=True)
    publisher(stage, server, ROOM, "Ada").wait_for_event("connected", LIMIT)
    recorder, storage, exported = start_recorder(stage, url(server, transport="http"))
    wait_for_media(recorder, storage)
    interrupted(recorder, 0, 130)
    assert_whole(exported, recorder)
    assert titles(exported, "video") == ["Ada – video"], recorder.story()
    manifest = json.loads((recording_folder(storage) / "manifest.json").read_text())
    assert [each["name"] for each in manifest["participants"]] == ["Ada"] and manifest["displayName"] == "Recording"

    monkeypatch.setenv("TAPEDECK_ROOM_SECRET", "wrong")
    for room, reason in ((PIN_ROOM, "the PIN or token is wrong"), (999, "has no room 999")):
        refused = stage.run_tapedeck("record", url(server, room), "--directory", stage.folder / "other", timeout=LIMIT)
        assert refused.exit_code == 3 and reason in refused.messages, refused.story()


def test_a_restart_of_janus_in_mid_call(stage, janus):
    server, successor = janus(ROOMS), janus(ROOMS)
    # The successor takes the server's place at once: the client soon abandons a server that is gone.
    web_socket, http = Proxy(server.port), Proxy(server.http_port)
    known = types.SimpleNamespace(port=web_socket.port, http_port=http.port)
    ada = publisher(stage, known, ROOM, "Ada")
    recorder, storage, exported = start_recorder(stage, url(known))
    wait_for_media(recorder, storage)
    web_socket.target, http.target = successor.port, successor.http_port
    server.kill()
    # Ada publishes again, under another id, and so do we: her second pair of files grows.
    wait_for_media(recorder, storage, 4)
    ada.wait_for("our camera, twice",
                 lambda: sum("Recording" in fact.get("publishers", ()) for fact in ada.facts) >= 2, LIMIT)
    lists = [fact["publishers"] for fact in ada.facts if "Recording" in fact.get("publishers", ())]
    assert len(lists) == 2 and all(each.count("Recording") == 1 for each in lists), ada.story()
    zoe = publisher(stage, known, ROOM, "Zoë")
    wait_for_media(recorder, storage, 6)
    assert zoe.event("joined")["publishers"].count("Recording") == 1, zoe.story()
    interrupted(recorder, 0, 130)
    for proxy in (web_socket, http):
        proxy.close()
    assert_plays(exported)
    story = f"{media.describe(exported)}\n{recorder.story()}"
    assert titles(exported, "video") == ["Ada (2) – video", "Ada – video", "Zoë – video"], story


def test_a_lost_web_socket_is_claimed_back(stage, janus):
    server = janus(ROOMS, reclaim_seconds=60)
    proxy = Proxy(server.port)
    ada = publisher(stage, server, ROOM, "Ada")
    recorder, storage, exported = start_recorder(stage, f"janus+ws://127.0.0.1:{proxy.port}/?room={ROOM}")
    wait_for_media(recorder, storage)
    proxy.cut()
    recorder.wait_for("the way back", lambda: recorder.messages.count("joined the room") >= 2, LIMIT)
    zoe = publisher(stage, server, ROOM, "Zoë")
    wait_for_media(recorder, storage, 4)
    interrupted(recorder, 0, 130)
    proxy.close()
    assert_plays(exported)
    assert titles(exported, "video") == ["Ada – video", "Zoë – video"], recorder.story()
    # Media continued while the signalling was away, and no one saw us leave or come twice.
    first = next(stream for stream in media.streams(exported, "video") if stream["tags"]["title"].startswith("Ada"))
    assert_counters(exported, first["index"], losses(recorder), recorder.story())
    assert sum("Recording" in fact.get("publishers", ()) for fact in ada.facts) == 1, ada.story()
    joined, = [fact for fact in zoe.facts if fact["event"] == "joined"]
    assert joined["publishers"].count("Recording") == 1, zoe.story()
