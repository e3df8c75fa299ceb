# SPDX-License-Identifier: Apache-2.0
"""SIGKILL in the middle of a recording costs half a second at most."""

import pathlib
import subprocess

import media
import pytest
from figures import SLACK, assert_plays, assert_readable
from peers import caught_up, room_url
from recordings import media_files, recording_folder, wait_for_media
from stage import dropped_datagrams, python

ROOM = "123123"
# Half a second of video.
LOSS = 15


@pytest.mark.media
@pytest.mark.parametrize("codec", ["vp8", pytest.param("h264", marks=pytest.mark.long)])
def test_a_killed_recording_is_exported(stage, codec):
    server = stage.room_server(5)
    peer = stage.aiortc(server, ROOM, "--send", "synthetic", "--codec", codec)
    recorder = stage.tapedeck("record", room_url(server, ROOM), "--directory", stage.folder / "storage")
    peer.wait_for_figure("framesSent", 180)
    frames_sent, packets_sent = peer.figures("framesSent", "audioPacketsSent")
    caught_up(peer, recorder)
    recorder.kill()
    dropped = dropped_datagrams() - recorder.dropped_before

    folder = recording_folder(stage.folder / "storage")
    # The raw tracks play as they are.
    assert len(media_files(folder / "tracks")) == 2, list(folder.rglob("*"))
    exported = stage.folder / "call.mkv"
    export = stage.run_tapedeck("export", folder, "--output", exported)
    assert export.exit_code in (0, 5), export.story()
    assert_plays(exported)

    video, = media.streams(exported, "video")
    sound, = media.streams(exported, "audio")
    story = media.describe(exported) + "\n" + export.story()
    frames = media.frames(exported, video["index"])
    assert_readable(frames, story)
    counters = [frame.counter for frame in frames if frame.counter is not None]
    assert counters[-1] >= frames_sent - 1 - LOSS - SLACK, f"frame {counters[-1]} is the last of {frames_sent}\n{story}"
    assert counters[0] <= SLACK, story
    # How many packets were lost, the dead recorder cannot tell any more; what the kernel threw away can be any frame's.
    lost = media.lost_frames(frames)
    assert dropped or sum(abs(number) for _, number in lost) <= 3, f"{lost}\n{story}"
    packets = media.packets(exported, sound["index"])
    assert len(packets) >= packets_sent - 2 * (LOSS + SLACK) - dropped, (
        f"{len(packets)} of {packets_sent} packets, {dropped} dropped\n{story}")


def test_one_of_two_killed_recordings_is_repaired(stage):
    storage, server = stage.folder / "storage", stage.serve()
    for room in ("one", "two"):
        camera = stage.tapedeck("camera", room_url(server, room), "--size", "320x180")
        recorder = stage.tapedeck("record", room_url(server, room), "--directory", storage)
        wait_for_media(recorder, storage / "recordings" / room)
        recorder.kill()
        camera.end()
    one, two = (recording_folder(storage / "recordings" / room) for room in ("one", "two"))

    def repair(*flags, exit_code=0):
        process = stage.run_tapedeck("repair", "--directory", storage, "--json", *flags)
        assert process.exit_code == exit_code, process.story()
        return [fact["id"] for fact in process.facts]

    def is_finished(folder):
        return "recording-finished" in (folder / "journal.jsonl").read_text()
    repair("--only", "0000000000000000", exit_code=2)
    assert not is_finished(one) and not is_finished(two)
    assert repair("--only", one.name.split("-")[1], "--no-export") == [one.name.split("-")[1]]
    assert is_finished(one) and not is_finished(two)
    assert sorted(repair()) == sorted(folder.name.split("-")[1] for folder in (one, two))
    assert is_finished(two)
    for folder in (one, two):
        assert_plays(folder / "call.mkv")


@pytest.mark.media
@pytest.mark.timeout(600)
def test_kills_at_random_moments_cost_half_a_second_at_most(stage):
    script = pathlib.Path(__file__).resolve().parents[1] / "Benchmarks/kill_recordings.py"
    result = subprocess.run([python("peers"), script, "--tapedeck", stage.tapedeck_path, "--kills", "5", "--rooms", "5",
                             "--longest", "2"], capture_output=True, text=True, timeout=500, check=False)
    assert result.returncode == 0, result.stdout + result.stderr


def test_a_folder_is_exported_again_without_change(stage):
    server = stage.room_server(5)
    stage.aiortc(server, ROOM, "--send", "synthetic")
    recorder = stage.run_tapedeck("record", room_url(server, ROOM), "--duration", "3s", "--directory",
                                  stage.folder / "storage", "--json")
    assert recorder.exit_code == 0, recorder.story()
    folder = recording_folder(stage.folder / "storage")
    before = {path: path.read_bytes() for path in media_files(folder / "tracks")}
    export = stage.run_tapedeck("export", folder, "--output", stage.folder / "again.mkv")
    assert export.exit_code == 0, export.story()
    assert_plays(stage.folder / "again.mkv")
    assert {path: path.read_bytes() for path in media_files(folder / "tracks")} == before
