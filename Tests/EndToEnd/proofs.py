# SPDX-License-Identifier: Apache-2.0
"""Proofs that the suite makes in seconds, and the scripts in Tests/Benchmarks over minutes."""

import dataclasses

import media
from figures import number
from peers import room_url


@dataclasses.dataclass
class FrameProof:
    """The part of a camera's frames that is in the file."""

    sent: int
    recorded: int
    unreadable: int
    first: int
    last: int
    # Places where counters do not follow each other: (time before, how many are missing; negative: too many).
    holes: list
    packets_lost: int

    def __str__(self):
        return (f"{self.sent} frames sent, {self.recorded} in the file, counters {self.first}...{self.last}, "
                f"{self.unreadable} not readable, holes {self.holes}, {self.packets_lost} packets lost")

    @property
    def holds(self):
        """Every frame from the first to the last is there once, in order.

        The last ones may still be on their way when the camera goes.
        """
        return (not self.holes and self.packets_lost == 0 and self.last - self.first + 1 == self.recorded
                and 0 <= self.sent - self.recorded <= 3 and self.unreadable <= 0.01 * self.recorded)


def prove_frames(stage, seconds, size="640x360", codec="vp8"):
    """A call of our own camera, without loss; compares the counters painted into its frames with the file's."""
    server = stage.serve()
    url = room_url(server, "frames")
    exported = stage.folder / "call.mkv"
    recorder = stage.tapedeck("record", url, "--until-empty", "--wait", "60s", "--directory",
                              stage.folder / "storage", "--output", exported, "--json")
    camera = stage.tapedeck("camera", url, "--codec", codec, "--size", size, "--bitrate", "1500k", "--duration",
                            f"{seconds}s", "--json")
    assert camera.wait(seconds + 60) == 0, camera.story()
    assert recorder.wait(seconds / 4 + 60) == 0, recorder.story()
    video, = media.streams(exported, "video")
    frames = media.frames(exported, video["index"])
    counters = [frame.counter for frame in frames if frame.counter is not None]
    assert counters, f"{media.describe(exported)}\n{recorder.story()}"
    return FrameProof(
        sent=number(camera.result(), "framesSent"), recorded=len(frames), unreadable=len(frames) - len(counters),
        first=counters[0], last=counters[-1], holes=media.lost_frames(frames),
        packets_lost=number(recorder.result(), "lostPackets") or 0)


@dataclasses.dataclass
class Alignment:
    """Where one participant's flashes and beeps are in a file, in seconds."""

    flashes: list
    beeps: list
    # Beep minus flash, for each flash that has one.
    offsets: list


def alignments(path):
    """One for each participant of an exported call: its video track and the audio track behind it."""
    found = []
    for video, sound in zip(media.streams(path, "video"), media.streams(path, "audio"), strict=True):
        assert video["index"] + 1 == sound["index"], media.describe(path)
        frames, beeps = media.frames(path, video["index"]), [float(time) for time in media.beeps(path, sound["index"])]
        found.append(Alignment(media.flashes(frames), beeps, media.flash_to_beep(frames, beeps)))
    return found


def between_participants(found):
    """How far each participant's flashes are from the first one's nearest, in seconds, while both send."""
    first, *others = found
    distances = []
    for other in others:
        for flash in other.flashes:
            distance = min((abs(flash - time) for time in first.flashes), default=float("inf"))
            if first.flashes and first.flashes[0] - 0.5 <= flash <= first.flashes[-1] + 0.5:
                distances.append(distance)
    return distances


def align_call(stage, seconds, starts, peer_is_first=False):
    """Records senders of the test pattern in one room; `starts` has seconds without video and audio of each.

    Flash and beep of a sender are one instant, a whole second of UTC, and its reports say so: any distance between them
    in the file is ours.
    """
    server = stage.serve("--room-size", str(max(2, len(starts) + 1)))
    exported = stage.folder / "call.mkv"

    def peers():
        return [stage.aiortc(server, "call", "--send", "synthetic", "--size", "320x180", "--codec", "vp8", "--bitrate",
                             "300000", "--on-the-second", "--video-start", video, "--audio-start", audio)
                for video, audio in starts]

    def recorder():
        return stage.tapedeck("record", room_url(server, "call"), "--duration", f"{seconds}s", "--directory",
                              stage.folder / "storage", "--output", exported, "--json")
    if peer_is_first:
        peers()
        process = recorder()
    else:
        process = recorder()
        peers()
    assert process.wait(seconds + 60) == 0, process.story()
    return alignments(exported), f"{media.describe(exported)}\n{process.story()}"
