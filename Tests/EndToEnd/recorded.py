# SPDX-License-Identifier: Apache-2.0
"""What a recording has to show on a machine of any speed: its files, held against what programs counted."""

import json
import pathlib
import signal

import media
from figures import AUDIO_PACKET, assert_plays
from harness import json_objects, media_files

# Nobody waits this long but for something that hangs.
LIMIT = 90
# Bytes of more than a second of the test pattern, small as it is here, and of its sound.
SOME = {".mkv": 20_000, ".mka": 4_000}
# Frames that a sender counts and that nobody gets: those that are on their way when a call ends.
ON_THEIR_WAY = 15


def lost_packets(recorder):
    """Packets that `tapedeck record --json` says were lost, by kind."""
    lost = {"video": 0, "audio": 0}
    for result in json_objects(recorder.output.splitlines()):
        for track in result.get("tracks", []):
            lost[track["kind"]] += track["lostPackets"]
    return lost


def lost_in(folder):
    """Packets that the certificate of a recording says were lost, by kind."""
    lost = {"video": 0, "audio": 0}
    manifest = json.loads((pathlib.Path(folder) / "manifest.json").read_text())
    for track in manifest["certificate"]["tracks"]:
        lost[track["media"]] += track["packets_lost"] or 0
    return lost


def assert_counters(path, index, lost, story, least=15):
    """The counters in the pictures rise, and none is missing where no packet was lost; the first and the last."""
    frames = media.frames(path, index)
    counters = [frame.counter for frame in frames if frame.counter is not None]
    holes = media.lost_frames(frames)
    text = f"{len(frames)} frames, {len(counters)} readable, {lost} packets lost, holes {holes}\n{story}"
    assert len(counters) >= least, text
    assert all(before < after for before, after in zip(counters, counters[1:])), text
    assert not holes or lost, text
    return counters[0], counters[-1]


def assert_sound(path, index, lost, story, least=50):
    """Packets follow each other but where packets were lost."""
    text = f"{lost} packets lost\n{story}"
    assert len(media.packets(path, index)) >= least, text
    gaps = media.gaps(path, index, AUDIO_PACKET)
    assert len(gaps) <= lost, f"gaps {gaps}, {text}"


def assert_count(count, sent, lost, story):
    """As many frames as were sent, but those on their way at the end, and what was lost."""
    text = f"{count} of {sent} frames, {lost} packets lost\n{story}"
    # The figure of a browser can be 50 ms old.
    assert 0 < count <= sent + 3, text
    assert lost or count >= sent - ON_THEIR_WAY, text


def assert_whole(path, recorder, lost=None, least=15):
    """ffmpeg decodes the file without a word; pictures with counters and sound are without a hole of our making."""
    assert_plays(path)
    lost = lost_packets(recorder) if lost is None else lost
    story = f"{media.describe(path)}\n{recorder.story()}"
    videos, sounds = media.streams(path, "video"), media.streams(path, "audio")
    assert videos and sounds, story
    for stream in videos:
        assert_counters(path, stream["index"], lost["video"], story, least)
    for stream in sounds:
        assert_sound(path, stream["index"], lost["audio"], story)


def wait_for_media(process, storage, files=2):
    """Waits until so many track files have more than a second of media."""
    process.wait_for(f"{files} files with media", lambda: sum(
        path.stat().st_size > SOME[path.suffix] for path in tracks(storage)) >= files, LIMIT)


def wait_for_more(process, storage, files=2):
    """Waits until so many of the track files have about a second more."""
    before = {path: path.stat().st_size for path in tracks(storage)}
    process.wait_for(f"more in {files} files", lambda: sum(
        path.stat().st_size > size + SOME[path.suffix] * 2 // 3 for path, size in before.items()) >= files, LIMIT)


def tracks(storage):
    """Track files; one may be moved meanwhile."""
    return [path for path in media_files(storage) if path.parent.name == "tracks" and path.exists()]


def wait_until_seen(peer, notes, video=45, audio=75):
    """Waits until a peer with --notes has decoded so many pictures, and so much sound, of ours."""
    def has_seen():
        text = notes.read_text() if notes.exists() else ""
        return text.count('"kind": "video"') >= video and text.count('"kind": "audio"') >= audio
    peer.wait_for("our pictures and sound", has_seen, LIMIT)


def assert_saw(figures, story, video=45, audio=75):
    """What a peer decoded of our camera: its counter runs, and no picture came twice."""
    text = f"{figures}\n{story}"
    assert figures["framesDecoded"] >= video and figures["audioFramesReceived"] >= audio, text
    assert 1 < figures["countersRead"] <= figures["lastCounter"] - figures["firstCounter"] + 1, text


def stop(recorder, *codes):
    """Ends a recording as Ctrl-C does, and waits for its export."""
    recorder.signal(signal.SIGINT)
    assert recorder.wait(LIMIT) in (codes or (0,)), recorder.story()
