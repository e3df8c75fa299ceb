# SPDX-License-Identifier: Apache-2.0
"""What the tests read from Tapedeck's JSON answers and recordings, and what they demand of a recording."""

import statistics

import media

# Frames that were under way when a recording began or was ended.
SLACK = 15
# Share of the counters that an encoder may blur (such a frame is counted by its place), and of the packets that the
# network may lose.
MAXIMUM_UNREADABLE = 0.2
MAXIMUM_LOST = 0.01
# So short are some recordings that one packet is more than its share.
A_FEW = 3
MEDIAN_OFFSET, MAXIMUM_OFFSET = 0.040, 0.060
AUDIO_PACKET = 0.020


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


def lost_packets(process, kind):
    """How many packets the answer of `record` or `export` says were lost, in all tracks of a kind."""
    tracks = [track for track in process.result()["tracks"] if track.get("kind", track.get("media")) == kind]
    return sum(track.get("lostPackets", track.get("packets_lost")) or 0 for track in tracks)


def assert_few_lost(path, process):
    """At most 1 % of the packets, or a few, were lost, as the answer of `record` says."""
    for stream in media.streams(path):
        count = len(media.packets(path, stream["index"]))
        lost = lost_packets(process, stream["codec_type"])
        assert lost <= max(A_FEW, MAXIMUM_LOST * count), f"{lost} packets lost, {count} recorded: {process.story()}"


def assert_readable(frames, story=""):
    """The counter of the test pattern can be read in nearly every frame."""
    unreadable = sum(frame.counter is None for frame in frames)
    assert unreadable <= MAXIMUM_UNREADABLE * len(frames), f"{unreadable} of {len(frames)} counters unreadable {story}"


def assert_whole(path, process, sent):
    """A recording of the test pattern, from its first frame on, has every frame, and every one decodes.

    Nothing is missing between the first and the last recorded frame but what `process` (a command's answer in JSON)
    says was lost, nothing is there twice, and `sent` frames, a count taken before the end, are there but for those
    under way.
    """
    assert_plays(path)
    video, = media.streams(path, "video")
    assert_numbered(path, video["index"], process, sent)
    assert_unbroken_sound(path, process)
    assert_few_lost(path, process)


def assert_numbered(path, index, process, sent=0):
    """The same of one stream of pictures; how many it has."""
    story = f"{media.describe(path)}\n{process.story()}"
    frames = media.frames(path, index)
    assert_readable(frames, story)
    lost = media.lost_frames(frames)
    assert all(count > 0 for _, count in lost), f"frames are there twice: {lost}\n{story}"
    assert sum(count for _, count in lost) <= lost_packets(process, "video"), f"frames are missing: {lost}\n{story}"
    counters = [frame.counter for frame in frames if frame.counter is not None]
    assert counters[0] <= SLACK, f"frame {counters[0]} is the first\n{story}"
    assert counters[-1] >= sent - 1 - SLACK, f"frame {counters[-1]} is the last of {sent}\n{story}"
    return len(frames)


def assert_all_counted(path, process, sent, later=None):
    """As many frames are there as a browser says it sent, but for those under way when the recording began.

    `sent` is counted when it sends no more, or at an instant before the end, with a count of `later`, after the end. Its
    pictures have no numbers: what is missing inside shows in the packets that the recorder misses by their numbers.
    """
    assert_plays(path)
    story = f"{media.describe(path)}\n{process.story()}"
    count = video_packets(path)
    lost = lost_packets(process, "video")
    most = sent if later is None else later
    assert sent > 0 and count <= most, f"{count} frames, but only {most} were sent\n{story}"
    assert count >= sent - lost - SLACK, f"{count} of {sent} frames, {lost} packets lost\n{story}"
    assert_unbroken_sound(path, process)
    assert_few_lost(path, process)


def assert_unbroken_sound(path, process):
    """One track of sound, in which nothing is missing but what the answer says was lost."""
    sound, = media.streams(path, "audio")
    gaps = media.gaps(path, sound["index"], AUDIO_PACKET)
    missing = sum(round(seconds / AUDIO_PACKET) for _, seconds in gaps)
    lost = lost_packets(process, "audio")
    assert all(seconds > 0 for _, seconds in gaps), f"sound is there twice: {gaps}\n{process.story()}"
    assert missing <= lost and (lost or not gaps), f"{lost} packets lost, missing {gaps}\n{process.story()}"


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
    assert abs(statistics.median(offsets)) <= MEDIAN_OFFSET, f"offsets in ms {milliseconds}\n{story}"
    assert max(map(abs, offsets)) <= MAXIMUM_OFFSET, f"offsets in ms {milliseconds}\n{story}"
