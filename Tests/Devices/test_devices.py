# SPDX-License-Identifier: Apache-2.0
"""A camera (vivid) and an audio device (snd-aloop) of a real kernel, received by aiortc on the host.

Everything is measured in the media that the peer decodes: frames by their RTP time stamps, which the guest's clock
makes. A slow machine therefore changes nothing.

"""

import contextlib
import re
import shlex
import signal

import pytest
from stage import ROOT, json_objects
from machine import GATEWAY

ROOM = "123123"
CAMERA, MICROPHONE = "v4l2:name=vivid-000-vid-cap", "alsa:hw:0,1"
# Slow enough for an emulated processor.
WIDTH, HEIGHT, RATE = 320, 180, 10
# vivid shows bars of many colours, the slate is one dark colour with a line of text.
BARS = 35
VIDEO_CLOCK = 90_000
TONE = 440


class Watched:
    """The media that a peer decoded, as it wrote them down."""

    def __init__(self, path, peer):
        self.path, self.peer = path, peer

    def frames(self, kind):
        text = self.path.read_text() if self.path.exists() else ""
        found = [fact for fact in json_objects(text.splitlines()) if fact["kind"] == kind]
        for before, after in zip(found, found[1:]):
            # 32 bits on the wire.
            after["pts"] += round((before["pts"] - after["pts"]) / 2**32) * 2**32
        return found

    @property
    def shown(self):
        """For each frame whether it is vivid's."""
        return [frame["spread"] > BARS for frame in self.frames("video")]

    def wait_for(self, what, count, is_camera, timeout=90):
        """Waits until the newest frames are the camera's, or are not."""
        def are_there():
            shown = self.shown[-count:]
            return len(shown) == count and all(one == is_camera for one in shown)
        self.peer.wait_for(what, are_there, timeout)


def light_pipelines(machine):
    """A folder with an audio encoder that an emulated processor can run in real time."""
    folder = machine.shared / "pipelines"
    path = folder / "encode" / "opusenc.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    text, count = re.subn(r"(property: complexity, type: int, default:) \d+", r"\1 0",
                          (ROOT / "Pipelines" / "encode" / "opusenc.yaml").read_text())
    assert count == 1
    path.write_text(text)
    return folder


class Call:
    """`tapedeck camera` in the guest, with a peer that watches it."""

    def __init__(self, machine, tapedeck, stage, codec, video, audio, *flags):
        self.machine, self.stage = machine, stage
        self.server = stage.room_server(5)
        notes = stage.folder / "notes.jsonl"
        self.peer = stage.aiortc(self.server, ROOM, "--receive", "--codec", codec, "--notes", notes, "--limit", 600)
        self.watched = Watched(notes, self.peer)
        self.log = machine.shared / f"{stage.folder.name}.log"
        command = [tapedeck, "camera", f"socketio+http://{GATEWAY}:{self.server.port}/{ROOM}", "--video", video,
                   "--audio", audio, "--size", f"{WIDTH}x{HEIGHT}", "--fps", RATE, "--bitrate", "300k", "--codec",
                   codec, "--pipelines", light_pipelines(machine), "--json", *flags]
        line = shlex.join(map(str, command))
        self.pid = int(machine.run(f"{machine.environment} {line} >{self.log}.out 2>{self.log} & echo $!"))

    @property
    def messages(self):
        return self.log.read_text(errors="replace")

    def end(self):
        """Ends the camera; what it printed. The peer's figures of the one connection that there was."""
        self.machine.run(f"kill -INT {self.pid}; while [ -d /proc/{self.pid} ]; do /run/busybox usleep 100000; done", 60)
        self.peer.signal(signal.SIGTERM)
        assert self.peer.wait(20) == 0, self.story()
        closed = [fact for fact in self.peer.facts if fact.get("event") == "closed" and fact["connected"]]
        assert len(closed) == 1, self.story()
        return closed[0]

    def story(self):
        return f"{self.messages[-6000:]}\n{self.peer.story()}\n{self.machine.story()}"


@contextlib.contextmanager
def call(machine, tapedeck, stage, codec="vp8", video=CAMERA, audio=MICROPHONE, flags=()):
    running = Call(machine, tapedeck, stage, codec, video, audio, *flags)
    try:
        yield running
    except BaseException:
        print(running.story())
        raise
    finally:
        machine.run(f"kill -KILL {running.pid}", check=False)


@pytest.fixture(scope="module", autouse=True)
def tone(machine):
    """Plays a tone into the other end of the audio device."""
    line = (f"{machine.environment} gst-launch-1.0 -q audiotestsrc freq={TONE} ! audio/x-raw,rate=48000,channels=2 ! "
            f"alsasink device=hw:0,0 >{machine.shared}/tone 2>&1 & echo $!")
    pid = int(machine.run(line))
    yield
    machine.run(f"kill -KILL {pid}", check=False)


def check_time_rises(frames):
    """The distance of the frames' time stamps is the emulation's; their order is ours."""
    steps = [(after["pts"] - before["pts"]) / VIDEO_CLOCK for before, after in zip(frames, frames[1:])]
    assert min(steps) > 0, steps


def pause_before(frames, is_camera):
    """Seconds of media between the last frame of one kind and the first of the other, the longest there is."""
    pauses = [(after["pts"] - before["pts"]) / VIDEO_CLOCK for before, after in zip(frames, frames[1:])
              if (before["spread"] > BARS) != is_camera and (after["spread"] > BARS) == is_camera]
    assert pauses, [frame["spread"] for frame in frames]
    return max(pauses)


@pytest.mark.parametrize("codec", ["h264", "vp8"])
def test_camera_and_sound_reach_a_peer(machine, tapedeck, stage, codec):
    with call(machine, tapedeck, stage, codec) as running:
        running.watched.wait_for("pictures of vivid", 40, True, 150)
        figures = running.end()
        frames, sounds = running.watched.frames("video"), running.watched.frames("audio")
        # The last 40: before them the call may begin with the slate.
        assert all((frame["width"], frame["height"]) == (WIDTH, HEIGHT) for frame in frames)
        assert sum(frame["change"] > 0 for frame in frames[-40:]) >= 30, frames[-40:]
        check_time_rises(frames)
        # The tone: crossings of zero a second are twice its frequency.
        heard = [sound for sound in sounds if sound["peak"] > 3000]
        assert len(heard) >= 100, f"{len(heard)} of {len(sounds)}"
        rates = sorted(sound["crossings"] * 48_000 / sound["samples"] / 2 for sound in heard)
        assert abs(rates[len(rates) // 2] - TONE) <= 50, rates
        assert figures["framesDecoded"] == len(frames)


@pytest.mark.parametrize("codec", ["h264", "vp8"])
def test_a_camera_that_is_unplugged_is_replaced_by_a_slate_and_taken_back(machine, tapedeck, stage, codec):
    with call(machine, tapedeck, stage, codec) as running:
        running.watched.wait_for("pictures of vivid", 20, True, 150)
        # Before them the call may begin with the slate.
        first = len(running.watched.frames("video")) - 1
        machine.unplug()
        running.watched.wait_for("the slate", 20, False)
        machine.plug_in()
        running.watched.wait_for("pictures of vivid again", 20, True)
        running.end()
        frames = running.watched.frames("video")
        away, back = pause_before(frames[first:], False), pause_before(frames[first:], True)
        print(f"{codec}: slate after {away:.2f} s, camera after {back:.2f} s without a picture")
        assert away <= 1.0 and back <= 2.0
        check_time_rises(frames)
        # Audio continued, in every packet of 20 ms.
        sounds = running.watched.frames("audio")
        steps = [after["pts"] - before["pts"] - before["samples"] for before, after in zip(sounds, sounds[1:])]
        assert sum(step != 0 for step in steps) <= 0.02 * len(steps), [step for step in steps if step]


def test_a_camera_that_gives_no_pictures_is_replaced_by_a_slate(machine, tapedeck, stage):
    with call(machine, tapedeck, stage) as running:
        running.watched.wait_for("pictures of vivid", 20, True, 150)
        machine.control("Percentage of Dropped Buffers", 100)
        try:
            running.watched.wait_for("the slate", 20, False)
        finally:
            machine.control("Percentage of Dropped Buffers", 0)
        running.watched.wait_for("pictures of vivid again", 20, True)
        running.end()
        frames = running.watched.frames("video")
        away = pause_before(frames, False)
        print(f"slate after {away:.2f} s without a picture")
        # Within a second; how late an emulated processor looks is added.
        assert away <= 1.5
        check_time_rises(frames)
        assert "gives nothing" in running.messages


def test_a_camera_that_gives_errors_is_opened_again(machine, tapedeck, stage):
    """Buffers that its driver marks as broken are skipped; a stream that its driver ends is started again."""
    with call(machine, tapedeck, stage) as running:
        running.watched.wait_for("pictures of vivid", 20, True, 150)
        first = len(running.watched.frames("video"))
        for _ in range(5):
            machine.control("Inject V4L2_BUF_FLAG_ERROR", 1)
        count = len(running.watched.frames("video"))
        running.peer.wait_for("more pictures", lambda: len(running.watched.frames("video")) >= count + 20, 90)
        assert all(running.watched.shown[first:]), running.story()
        machine.control("Inject Fatal Streaming Error", 1)
        running.watched.wait_for("the slate", 3, False)
        running.watched.wait_for("pictures of vivid again", 20, True)
        running.end()
        check_time_rises(running.watched.frames("video"))


def test_a_camera_that_somebody_else_uses_does_not_end_the_call(machine, tapedeck, stage):
    device = machine.camera
    pid = int(machine.run(f"{machine.environment} gst-launch-1.0 -q v4l2src device={device} ! "
                          "video/x-raw,width=640,height=360 ! fakesink >/dev/null 2>&1 & echo $!"))
    try:
        machine.run("/run/busybox sleep 8")
        with call(machine, tapedeck, stage, video=f"v4l2:{device}") as running:
            running.watched.wait_for("the slate", 10, False, 150)
            # It is there before an emulated processor has tried to open the camera.
            running.peer.wait_for("word of the other one", lambda: "busy" in running.messages, 150)
            machine.run(f"kill -KILL {pid}")
            running.watched.wait_for("pictures of vivid", 10, True)
            running.end()
    finally:
        machine.run(f"kill -KILL {pid}", check=False)


def test_a_camera_that_is_not_there_is_an_error_before_anybody_joins(machine, tapedeck):
    output = machine.run(f"{machine.environment} {tapedeck} camera socketio+http://{GATEWAY}:9/1 "
                         "--video v4l2:/dev/video7; echo code $?")
    assert "code 2" in output and "/dev/video7" in output, output
    assert f"this machine has {machine.camera} (vivid-000-vid-cap)" in output, output
