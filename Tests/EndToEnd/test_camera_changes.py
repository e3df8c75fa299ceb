# SPDX-License-Identifier: Apache-2.0
"""A room's camera is muted, frozen and switched during the call: aiortc receives the changes, and no one joins
again."""

import os
import signal
import subprocess
import time

import pytest
from daemon import Daemon
from peers import room_url
from stage import LIMIT, json_objects
from notes import Notes, is_slate

ROOM = "123123"
# Hangs in the kernel while it is opened, as a camera does whose driver does not answer: the pipe has no writer.
STUCK = """
description: A source that hangs.
gives: { video: raw }
ports: { out_video: src }
requires: [filesrc, identity]
argument: device
launch: |
  filesrc name=source ! video/x-raw,format=I420,width=320,height=180,framerate=30/1 ! identity name=out_video
parameters:
  device: { element: source, property: location, type: string, required: true }
"""


def white_image(folder):
    path = folder / "white.png"
    subprocess.run(["ffmpeg", "-v", "error", "-f", "lavfi", "-i", "color=white:s=320x180", "-frames:v", "1", path],
                   check=True, timeout=60)
    return path


def is_black(frame):
    return frame["mean"] < 20 and frame["spread"] < 2


def is_still(frame):
    return frame["change"] < 0.5 and frame["spread"] > 10


@pytest.mark.parametrize("codec", ["vp8", pytest.param("h264", marks=pytest.mark.long)])
def test_a_camera_is_changed_while_the_call_goes_on(stage, codec):
    image = white_image(stage.folder)
    server = stage.room_server(5)
    room = {"url": room_url(server, ROOM), "record": "none", "send": {
        "capture": "test", "audio": "test", "preferred_codec": codec, "size": "320x180", "fps": 15, "bitrate": "300k",
        "min_bitrate": "300k"}}
    daemon = Daemon(stage, {"standup": room})
    daemon.wait_for_phase("standup", "joined", LIMIT)
    notes = Notes(stage.folder / "notes.jsonl")
    stage.aiortc(server, ROOM, "--receive", "--notes", notes.path)

    def order(*arguments, room="standup", code=0):
        process = stage.run_tapedeck(*arguments, *([room] if room else []), "--api", daemon.url, timeout=LIMIT)
        assert process.exit_code == code, process.story()
        return process

    def camera():
        return daemon.room("standup")["status"].get("camera") or {}

    def wait_for_status(**expected):
        """The status comes once a second, after the event that it reflects."""
        daemon.wait_for(f"a status with {expected}", lambda: expected.items() <= camera().items(), LIMIT)

    def joins():
        return sum(fact["event"] == "join" for fact in json_objects(server.messages.splitlines()))
    notes.wait_for("picture", "video", lambda frame: frame["spread"] > 10)
    before = joins()

    order("mute", "--video")
    notes.wait_for("black picture", "video", is_black)
    notes.wait_for("beeps beside it", "audio", lambda frame: frame["peak"] > 8000, count=75, holds=any)
    order("mute", "--audio")
    notes.wait_for("silence", "audio", lambda frame: frame["peak"] < 100, count=75)
    wait_for_status(videoMuted=True, audioMuted=True, frozen=False)
    order("unmute")
    notes.wait_for("picture", "video", lambda frame: frame["spread"] > 10)
    deadline = time.time() + LIMIT
    while max(frame["peak"] for frame in notes.latest("audio", 75)) < 8000:
        assert time.time() < deadline, "no beep came back"

    order("freeze")
    notes.wait_for("still picture", "video", is_still, count=20)
    order("unfreeze")
    frames = notes.latest("video", 20)
    deadline = time.time() + LIMIT
    while not any(frame["change"] > 0.5 for frame in frames):
        assert time.time() < deadline, f"nothing moves: {frames}"
        frames = notes.latest("video", 20)

    order("switch", "--size", "640x360")
    notes.wait_for("larger picture", "video", lambda frame: (frame["width"], frame["height"]) == (640, 360))
    order("switch", "--video", f"image:{image}", "--size", "320x180", "--fps", "10")
    notes.wait_for("white picture", "video", lambda frame: frame["mean"] > 200 and frame["width"] == 320)
    wait_for_status(video=f"image:{image}", framesPerSecond=10)
    # An unknown capture changes nothing, and is reported.
    assert "no capture" in order("switch", "--video", "nothing", code=2).messages
    assert "no room" in order("mute", room="nowhere", code=2).messages
    assert camera()["video"] == f"image:{image}", camera()

    # Another definition: the call continues as well, and muted media stay muted.
    order("mute", "--audio")
    room["send"] = {**room["send"], "size": "640x360", "audio_bitrate": "32k"}
    daemon.write({"standup": room})
    order("reload", room=None)
    notes.wait_for("defined picture", "video", lambda frame: frame["spread"] > 10 and frame["width"] == 640)
    wait_for_status(video="test", audioMuted=True)
    assert joins() == before, server.story()

    # A new worker sends the same as the last one.
    worker = daemon.worker("standup")
    os.kill(worker, signal.SIGKILL)
    daemon.wait_for("another worker", lambda: (daemon.room("standup").get("worker") or {}).get(
        "processID", worker) != worker and daemon.room("standup")["phase"] == "joined", LIMIT)
    daemon.wait_for("its camera", lambda: daemon.room("standup")["status"].get("camera"), LIMIT)
    wait_for_status(audioMuted=True, videoMuted=False)


def test_a_camera_that_hangs_while_it_is_opened_holds_up_nothing(stage):
    pipe, folder = stage.folder / "pipe", stage.folder / "pipelines"
    os.mkfifo(pipe)
    (folder / "capture").mkdir(parents=True)
    (folder / "capture" / "stuck.yaml").write_text(STUCK)
    server = stage.room_server(5)
    daemon = Daemon(stage, {"standup": {"url": room_url(server, ROOM), "record": "none", "send": {
        "capture": f"stuck:{pipe}", "audio": "test", "size": "320x180", "fps": 15, "bitrate": "300k",
        "min_bitrate": "300k"}}}, pipelines={"directory": str(folder)})
    daemon.wait_for_phase("standup", "joined", LIMIT)
    worker = daemon.worker("standup")
    notes = Notes(stage.folder / "notes.jsonl")
    stage.aiortc(server, ROOM, "--receive", "--notes", notes.path)

    def order(*arguments):
        process = stage.run_tapedeck(*arguments, "standup", "--api", daemon.url, timeout=LIMIT)
        assert process.exit_code == 0, process.story()

    def wait_for_slate(is_shown):
        daemon.wait_for(f"slate: {is_shown}", lambda: (daemon.room("standup")["status"].get("camera") or {}).get(
            "slate") is is_shown, LIMIT)

    # The microphone is heard, and the slate is seen.
    notes.wait_for("sound", "audio", lambda frame: True)
    wait_for_slate(True)
    notes.wait_for("slate", "video", is_slate)
    assert any(str(pipe) in line for line in daemon.log("a source does not open")), daemon.process.story()
    metrics = daemon.metrics()
    assert 'tapedeck_room_camera_failures_total{room="standup"} 1' in metrics.splitlines(), metrics
    # Orders are followed in that time.
    order("mute", "--audio")
    notes.wait_for("silence", "audio", lambda frame: frame["peak"] < 100, count=75)
    order("unmute")
    # Another camera takes its place although it cannot be closed.
    order("switch", "--video", f"image:{white_image(stage.folder)}")
    notes.wait_for("white picture", "video", lambda frame: frame["mean"] > 200)
    wait_for_slate(False)
    assert daemon.worker("standup") == worker, daemon.process.story()
    assert daemon.process.end() == 0, daemon.process.story()
