# SPDX-License-Identifier: Apache-2.0
"""Figures that the tests read from Tapedeck's JSON answers and recordings, and their limits."""

import dataclasses
import json
import pathlib
import statistics

import media
from peers import lateness
from stage import dropped_datagrams

# Frames that were under way when a recording began or was ended.
SLACK = 15
# Share of the counters that an encoder may blur (such a frame is counted by its place), and of the packets that the
# network may lose.
MAXIMUM_UNREADABLE = 0.02
MAXIMUM_LOST = 0.01
# Some recordings are so short that one packet is more than its share.
A_FEW = 3
# Flash and beep of our camera are one instant; what is between them in a file is ours.
MAXIMUM_OFFSET = 0.005
AUDIO_PACKET = 0.020
# What may be between the clocks of two hosts and what senders tell of it, in seconds.
MOST_BETWEEN_CLOCKS = 0.020


def number(result, *names):
    """A number under one of these names, anywhere in a JSON answer: the sum where it is split by peer or codec."""
    if isinstance(result, dict):
        for name in names:
            if name in result:
                return total(result[name])
        values = [value for value in result.values() if isinstance(value, (dict, list))]
    else:
        values = result if isinstance(result, list) else []
    found = [value for value in (number(value, *names) for value in values) if value is not None]
    return sum(found) if found else None


def total(value):
    if isinstance(value, dict):
        return sum(total(part) for part in value.values())
    if isinstance(value, list):
        return sum(total(part) for part in value)
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else 0


def assert_plays(path):
    """ffmpeg decodes the whole file without a word."""
    assert path.exists(), f"{path} was not written"
    messages = media.decoder_messages(path)
    assert messages == "", f"{messages}\n{media.describe(path)}"


def video_packets(path):
    """Number of video packets in all video streams."""
    return sum(len(media.packets(path, stream["index"])) for stream in media.streams(path, "video"))


@dataclasses.dataclass(frozen=True)
class Losses:
    """The losses: packets of either kind, and frames that were left out because of them."""

    video: int = 0
    audio: int = 0
    left_out: int = 0

    @property
    def frames(self):
        """How many frames may be missing: each packet is of one, and frames that depend on it are left out."""
        return self.video + self.left_out


def losses(process):
    """The figures in the answers of `record --json` or `export --json`, all tracks together."""
    return losses_of([track for result in process.results() for track in result.get("tracks", [])])


def losses_in(folder):
    """The figures in the certificate of a recording."""
    manifest = json.loads((pathlib.Path(folder) / "manifest.json").read_text())
    return losses_of(manifest["certificate"]["tracks"])


def losses_of(tracks):
    def packets(kind):
        return sum(track.get("lostPackets", track.get("packets_lost")) or 0 for track in tracks
                   if track.get("kind", track.get("media")) == kind)
    return Losses(packets("video"), packets("audio"),
                  sum(track.get("unitsLeftOut", track.get("units_left_out")) or 0 for track in tracks))


def with_left_out(lost, camera):
    """The same, and the frames that our own camera had no time for; it ends by this."""
    assert camera.end() in (0, 130), camera.story()
    dropped = camera.result()["dropped"]
    pictures = sum(count for codec, count in dropped.items() if codec != "OPUS")
    return dataclasses.replace(lost, left_out=lost.left_out + pictures)


def assert_few_lost(path, process):
    """At most 1 % of the packets, or a few, were lost, by the answer of `record`.

    Packets that the kernel dropped are not counted: a recorder that does not get the processor cannot take them.

    """
    lost, dropped = losses(process), dropped_datagrams() - process.dropped_before
    for stream in media.streams(path):
        count, missing = len(media.packets(path, stream["index"])), getattr(lost, stream["codec_type"])
        assert missing <= max(A_FEW, MAXIMUM_LOST * count) + dropped, (
            f"{missing} lost, {dropped} of them by the kernel, {count} recorded: {process.story()}")
    # A keyframe is asked for at once, and comes within half a second.
    assert lost.left_out <= 15 * lost.video, f"{lost}: {process.story()}"


def assert_readable(frames, story=""):
    """The counter of the test pattern can be read in nearly every frame."""
    unreadable = sum(frame.counter is None for frame in frames)
    assert unreadable <= MAXIMUM_UNREADABLE * len(frames), f"{unreadable} of {len(frames)} counters unreadable {story}"


def assert_short_way(process):
    """No track of a recorder took the path through all of webrtcbin, which costs twice as much and shows nowhere
    else."""
    assert "take the whole way" not in process.messages, process.story()


def assert_whole(path, process, sent=None):
    """A call of test patterns, in which every frame decodes and nothing is missing but what `process` says was lost.

    With `sent`, a count of frames taken before the end, it is one sender's from its first frame on, and all these are
    there but for those under way.
    """
    assert_plays(path)
    assert_short_way(process)
    lost = losses(process)
    story = f"{media.describe(path)}\n{process.story()}"
    videos, sounds = media.streams(path, "video"), media.streams(path, "audio")
    assert videos and sounds, story
    for stream in videos:
        if sent is None:
            assert_counters(path, stream["index"], lost, story)
        else:
            assert_numbered(path, stream["index"], process, sent)
    for stream in sounds:
        assert_sound(path, stream["index"], lost, story, late=lateness(process))
    if sent is not None:
        assert len(videos) == len(sounds) == 1, story
    assert_few_lost(path, process)


def assert_counters(path, index, lost, story, least=15):
    """The counters in the frames rise, and none is missing except lost ones; returns the frames."""
    frames = media.frames(path, index)
    counters = [frame.counter for frame in frames if frame.counter is not None]
    holes = media.lost_frames(frames)
    text = f"{len(frames)} frames, {len(counters)} readable, {lost}, holes {holes}\n{story}"
    assert_readable(frames, text)
    assert len(counters) >= least, text
    assert all(count > 0 for _, count in holes), f"frames are there twice: {text}"
    assert sum(count for _, count in holes) <= lost.frames, f"frames are missing: {text}"
    return frames


def assert_two_videos(path, process):
    """A call with the videos of two senders, or of one who came twice and is exported so, each counted."""
    assert_plays(path)
    videos = media.streams(path, "video")
    assert len(videos) == 2, f"{media.describe(path)}\n{process.story()}"
    for video in videos:
        assert_counters(path, video["index"], losses(process), process.story())


def assert_nearly_all(path, process, *sent):
    """A call in which 99 % of every sender's frames are there, from the first that is recorded to the last.

    With `sent`, the frames of each in the order of the tracks, those before and behind are few as well.
    """
    assert_plays(path)
    lost, dropped = losses(process), dropped_datagrams() - process.dropped_before
    story = f"{media.describe(path)}\n{process.story()}"
    videos = media.streams(path, "video")
    assert not sent or len(sent) == len(videos), f"{sent}\n{story}"
    for place, video in enumerate(videos):
        frames = assert_counters(path, video["index"], lost, story)
        counters = [frame.counter for frame in frames if frame.counter is not None]
        length = counters[-1] - counters[0] + 1
        # Frames that the kernel dropped are not counted: a recorder that does not get the processor cannot take them.
        assert length - len(frames) <= MAXIMUM_LOST * length or dropped, f"{len(frames)} of {length} frames\n{story}"
        if sent:
            assert_count(len(frames), sent[place], lost, story)
    for sound in media.streams(path, "audio"):
        assert_sound(path, sound["index"], lost, story, late=lateness(process))


def assert_numbered(path, index, process, sent=0):
    """The same from a sender's first frame to the last of those `sent`, but for those under way; how many there are."""
    story = f"{media.describe(path)}\n{process.story()}"
    frames = assert_counters(path, index, losses(process), story)
    counters = [frame.counter for frame in frames if frame.counter is not None]
    assert counters[0] <= SLACK, f"frame {counters[0]} is the first\n{story}"
    assert counters[-1] >= sent - 1 - SLACK, f"frame {counters[-1]} is the last of {sent}\n{story}"
    return len(frames)


def assert_count(count, sent, lost, story):
    """As many frames as were sent, but those on their way at the end, and what was lost."""
    text = f"{count} of {sent} frames, {lost}\n{story}"
    # The figure of a browser can be 50 ms old.
    assert 0 < count <= sent + 3, text
    assert count >= sent - lost.frames - SLACK, text


def assert_all_counted(path, process, sent, later=None):
    """As many frames are there as a browser says it sent, except those under way when the recording began.

    `sent` is counted when it sends no more, or at an instant before the end, with a count of `later`, after the end.
    Its frames have no numbers: gaps inside show in the sequence numbers of packets that the recorder misses.
    """
    assert_plays(path)
    assert_short_way(process)
    story = f"{media.describe(path)}\n{process.story()}"
    count = video_packets(path)
    lost = losses(process)
    most = sent if later is None else later
    assert sent > 0 and count <= most, f"{count} frames, but only {most} were sent\n{story}"
    assert count >= sent - lost.frames - SLACK, f"{count} of {sent} frames, {lost}\n{story}"
    assert_unbroken_sound(path, process)
    assert_few_lost(path, process)


def assert_unbroken_sound(path, process):
    """One audio track, in which nothing is missing except the losses in the answer."""
    sound, = media.streams(path, "audio")
    assert_sound(path, sound["index"], losses(process), process.story(), late=lateness(process))


def assert_sound(path, index, lost, story, least=50, late=0):
    """Packets follow each other but where packets were lost, or their sender was late by so many seconds."""
    assert len(media.packets(path, index)) >= least, story
    gaps = media.gaps(path, index, AUDIO_PACKET)
    missing = sum(round(seconds / AUDIO_PACKET) for _, seconds in gaps)
    assert all(seconds > 0 for _, seconds in gaps), f"sound is there twice: {gaps}\n{story}"
    if late:
        assert missing <= lost.audio + late / AUDIO_PACKET + 5, f"{lost}, {late} s late, missing {gaps}\n{story}"
    else:
        assert missing <= lost.audio and len(gaps) <= lost.audio, f"{lost}, missing {gaps}\n{story}"


def assert_saw(figures, story, video=45, audio=75):
    """The media of our camera that a peer decoded: its counter runs, and no frame came twice."""
    text = f"{figures}\n{story}"
    assert figures["framesDecoded"] >= video and figures["audioFramesReceived"] >= audio, text
    assert 1 < figures["countersRead"] <= figures["lastCounter"] - figures["firstCounter"] + 1, text


def assert_synchronous(path, minimum_flashes, process):
    """Every flash of the test camera has its beep."""
    assert_plays(path)
    video, = media.streams(path, "video")
    sound, = media.streams(path, "audio")
    frames = media.frames(path, video["index"])
    beeps = media.beeps(path, sound["index"])
    story = f"flashes {media.flashes(frames)}\nbeeps {beeps}\n{media.describe(path)}\n{process.story()}"
    assert_readable(frames, story)
    offsets = media.flash_to_beep(frames, beeps)
    assert len(offsets) >= minimum_flashes, story
    milliseconds = [round(offset * 1000, 1) for offset in offsets]
    # A beep whose first packet is missing begins with the second.
    judge = statistics.median if media.gaps(path, sound["index"], AUDIO_PACKET) else max
    assert judge(list(map(abs, offsets))) <= MAXIMUM_OFFSET, f"offsets in ms {milliseconds}\n{story}"


def whole_spans(path, kind, hole=1):
    """First and last second of each track of a kind, sorted. A redialled call is another track: between the old one and
    the new one are `hole` seconds at most.
    """
    spans = sorted(media.span(path, stream["index"]) for stream in media.streams(path, kind))
    end = spans[0][1]
    for first, last in spans[1:]:
        assert first <= end + hole, media.describe(path)
        end = max(end, last)
    return spans


def assert_one_timeline(path, peer, fps=30):
    """Every frame of an aiortc peer is where the peer's clock has it, whoever recorded it, and none is there twice.

    Each connection counts its frames from an instant that the peer prints, a whole second apart from that of another
    (--on-the-second). Returns how many connections there are frames of.
    """
    begun = [fact["at"] for fact in peer.facts if fact["event"] == "sending"]
    found = [frame for frame in media.frames(path) if frame.counter is not None]
    # A connection that began later has counted less.
    starts = [0] + [index for index in range(1, len(found)) if found[index].counter < found[index - 1].counter]
    sent, origin = [], None
    for start, end in zip(starts, starts[1:] + [len(found)]):
        run = found[start:end]
        assert len(run) >= fps, [frame.counter for frame in found]
        if origin is None:
            origin = run[0].time - begun[0] - run[0].counter / fps
        began = min(begun, key=lambda at: abs(run[0].time - at - run[0].counter / fps - origin))
        begun = begun[begun.index(began) + 1:]
        sent += [began + frame.counter / fps for frame in run]
    assert all(after - before > 0.5 / fps for before, after in zip(sent, sent[1:])), sent
    places = [frame.time - at for frame, at in zip(found, sent)]
    assert max(places) - min(places) <= MOST_BETWEEN_CLOCKS, f"{min(places)} {max(places)}"
    heard = media.packets(path, 1)
    assert all(after.time - before.time > 0.01 for before, after in zip(heard, heard[1:])), media.describe(path)
    print(f"frames of {len(starts)} connections are within {1000 * (max(places) - min(places)):.1f} ms")
    return len(starts)
