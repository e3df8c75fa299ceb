# SPDX-License-Identifier: Apache-2.0
"""What the tests read from Tapedeck's JSON answers and recordings, and what they demand of a recording."""

import statistics

import media

MINIMUM_FRAME_SHARE = 0.99
SYNCHRONISATION = 0.020
OPUS_PACKET = 0.020


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


def assert_complete(path, frames_sent, process):
    """At least 99 % of the frames the peer sent are there, every one decodes, and the sound has no gap."""
    assert_plays(path)
    story = f"{media.describe(path)}\n{process.story()}"
    count = video_packets(path)
    assert frames_sent > 0, story
    assert count >= MINIMUM_FRAME_SHARE * frames_sent, f"{count} of {frames_sent} frames\n{story}"
    # More than was sent would mean doubled units; the peer's figure can be 50 ms old.
    assert count <= frames_sent + 3, f"{count} frames, but only {frames_sent} were sent\n{story}"
    sounds = media.streams(path, "audio")
    assert len(sounds) == 1, story
    assert media.gaps(path, sounds[0]["index"], OPUS_PACKET) == [], story


def assert_synchronous(path, minimum_flashes, process):
    """Every flash of the test camera has its beep within 20 ms, and so has the median."""
    assert_plays(path)
    video, = media.streams(path, "video")
    sound, = media.streams(path, "audio")
    frames = media.frames(path, video["index"])
    beeps = media.beeps(path, sound["index"])
    story = f"flashes {media.flashes(frames)}\nbeeps {beeps}\n{media.describe(path)}\n{process.story()}"
    unreadable = sum(frame.counter is None for frame in frames)
    assert unreadable <= 0.02 * len(frames), f"{unreadable} of {len(frames)} frame counters cannot be read\n{story}"
    offsets = media.flash_to_beep(frames, beeps)
    assert len(offsets) >= minimum_flashes, story
    milliseconds = [round(offset * 1000, 1) for offset in offsets]
    assert abs(statistics.median(offsets)) <= SYNCHRONISATION, f"offsets in ms {milliseconds}\n{story}"
    assert max(map(abs, offsets)) <= SYNCHRONISATION, f"offsets in ms {milliseconds}\n{story}"
