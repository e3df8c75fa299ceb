# SPDX-License-Identifier: Apache-2.0
"""Rooms of Debian's Janus: two aiortc publishers recorded, our camera published, the server lost and found."""

import contextlib
import json
import signal
import socket
import threading

import media
import pytest
from figures import MINIMUM_FRAME_SHARE, OPUS_PACKET, assert_plays
from harness import media_files, record, recording_folder

pytestmark = pytest.mark.alone

ROOM, PIN_ROOM, PIN = 1234, 4321, "open sesame"
FPS = 15
ROOMS = {ROOM: {"description": "Open", "publishers": 6, "videocodec": "vp8,h264", "notify_joining": False},
         PIN_ROOM: {"description": "Locked", "publishers": 6, "pin": PIN, "videocodec": "vp8,h264"}}


def url(server, room=ROOM, transport="ws"):
    port = server.port if transport == "ws" else server.http_port
    return f"janus+{transport}://127.0.0.1:{port}/?room={room}"


def assert_every_frame(path, stream, seconds, process):
    """The counters of a publisher's picture run through from the first frame that came to the last."""
    frames = media.frames(path, stream["index"])
    read = [frame.counter for frame in frames if frame.counter is not None]
    story = f"{media.lost_frames(frames)}\n{media.describe(path)}\n{process.story()}"
    assert read, story
    sent = read[-1] - read[0] + 1
    assert sent >= (seconds - 1) * FPS, f"only {sent} frames\n{story}"
    assert len(frames) >= MINIMUM_FRAME_SHARE * sent, f"{len(frames)} of {sent} frames\n{story}"


def titles(path, kind):
    return sorted(stream["tags"]["title"] for stream in media.streams(path, kind))


def wait_for_files(recorder, storage, count):
    """Waits until so many track files have some seconds of media."""
    recorder.wait_for(f"{count} files with media",
                      lambda: sum(path.stat().st_size > 10_000 for path in media_files(storage)) >= count, 40)


def ends(recorder):
    recorder.signal(signal.SIGINT)
    assert recorder.wait(40) in (0, 130), recorder.story()


class Proxy:
    """Stands between a client and a server until it cuts every connection; takes new ones all the same."""

    def __init__(self, port):
        self.target, self.open = port, []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                client, _ = self.listener.accept()
                server = socket.create_connection(("127.0.0.1", self.target))
                self.open += [client, server]
                for pair in ((client, server), (server, client)):
                    threading.Thread(target=self.pump, args=pair, daemon=True).start()

    def pump(self, source, sink):
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)

    def cut(self):
        for each in self.open:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
        self.open = []

    def close(self):
        self.cut()
        self.listener.close()


def test_two_publishers_are_recorded_and_see_our_camera(stage, monkeypatch):
    monkeypatch.setenv("TAPEDECK_ROOM_SECRET", PIN)
    server = stage.janus(ROOMS)
    ada = stage.janus_peer(server, PIN_ROOM, "Ada", "--pin", PIN, "--watch", "tapedeck")
    zoe = stage.janus_peer(server, PIN_ROOM, "Zoë", "--pin", PIN)
    for peer in (ada, zoe):
        peer.wait_for_event("connected")
    exported, recorder = record(stage, url(server, PIN_ROOM), 13, "--send", "test")
    assert_plays(exported)
    story = media.describe(exported)
    for kind in ("video", "audio"):
        assert titles(exported, kind) == [f"Ada – {kind}", f"Zoë – {kind}"], f"{story}\n{recorder.story()}"
    for stream in media.streams(exported, "video"):
        assert_every_frame(exported, stream, 12, recorder)
    for stream in media.streams(exported, "audio"):
        assert media.gaps(exported, stream["index"], OPUS_PACKET) == [], f"{story}\n{recorder.story()}"
    # Our camera, as Janus gave it to a publisher: at most the first frames wait for a keyframe.
    left = ada.wait_for("our departure", lambda: any("leaving" in fact for fact in ada.facts), 10)
    assert left and ada.end() == 0 and zoe.end() == 0
    end = ada.event("end")
    assert end["countersRead"] >= 10 * 15 and end["audioFramesReceived"] >= 10 * 50, ada.story()


def test_http_and_refusals(stage, monkeypatch):
    server = stage.janus(ROOMS)
    stage.janus_peer(server, ROOM, "Ada").wait_for_event("connected")
    exported, recorder = record(stage, url(server, transport="http"), 5, "--send", "test")
    assert_plays(exported)
    assert titles(exported, "video") == ["Ada – video"], recorder.story()
    video, = media.streams(exported, "video")
    assert_every_frame(exported, video, 5, recorder)
    manifest = json.loads((recording_folder(stage.folder / "storage") / "manifest.json").read_text())
    assert [each["name"] for each in manifest["participants"]] == ["Ada"] and manifest["displayName"] == "tapedeck"

    monkeypatch.setenv("TAPEDECK_ROOM_SECRET", "wrong")
    for room, reason in ((PIN_ROOM, "the PIN or token is wrong"), (999, "has no room 999")):
        refused = stage.run_tapedeck("record", url(server, room), "--directory", stage.folder / "other", timeout=20)
        assert refused.exit_code == 3 and reason in refused.messages, refused.story()


def test_a_restart_of_janus_in_mid_call(stage):
    server = stage.janus(ROOMS)
    ada = stage.janus_peer(server, ROOM, "Ada")
    storage, exported = stage.folder / "storage", stage.folder / "call.mkv"
    recorder = stage.tapedeck("record", url(server), "--directory", storage, "--output", exported, "--json",
                              "--send", "test")
    wait_for_files(recorder, storage, 2)
    server = stage.restart_janus(server)
    # Ada publishes again, under another id, and so do we: her second pair of files grows.
    wait_for_files(recorder, storage, 4)
    ada.wait_for("our camera, twice",
                 lambda: sum("tapedeck" in fact.get("publishers", ()) for fact in ada.facts) >= 2, 20)
    lists = [fact["publishers"] for fact in ada.facts if "tapedeck" in fact.get("publishers", ())]
    assert len(lists) == 2 and all(each.count("tapedeck") == 1 for each in lists), ada.story()
    ends(recorder)
    assert_plays(exported)
    assert titles(exported, "video") == ["Ada – video"] * 2, f"{media.describe(exported)}\n{recorder.story()}"


def test_a_lost_web_socket_is_claimed_back(stage):
    server = stage.janus(ROOMS, reclaim_seconds=60)
    proxy = Proxy(server.port)
    ada = stage.janus_peer(server, ROOM, "Ada")
    storage, exported = stage.folder / "storage", stage.folder / "call.mkv"
    recorder = stage.tapedeck("record", f"janus+ws://127.0.0.1:{proxy.port}/?room={ROOM}", "--directory", storage,
                              "--output", exported, "--json", "--send", "test")
    wait_for_files(recorder, storage, 2)
    proxy.cut()
    recorder.wait_for("the way back", lambda: recorder.messages.count("joined the room") == 2, 20)
    zoe = stage.janus_peer(server, ROOM, "Zoë")
    wait_for_files(recorder, storage, 4)
    ends(recorder)
    proxy.close()
    assert_plays(exported)
    assert titles(exported, "video") == ["Ada – video", "Zoë – video"], recorder.story()
    # Media went on while the signalling was away, and nobody saw us go or come twice.
    first = next(stream for stream in media.streams(exported, "video") if stream["tags"]["title"].startswith("Ada"))
    assert_every_frame(exported, first, 1, recorder)
    assert sum("tapedeck" in fact.get("publishers", ()) for fact in ada.facts) == 1, ada.story()
    joined, = [fact for fact in zoe.facts if fact["event"] == "joined"]
    assert joined["publishers"].count("tapedeck") == 1, zoe.story()
