# SPDX-License-Identifier: Apache-2.0
"""SIGKILL in the middle of a recording costs half a second at most."""

import pathlib
import subprocess
import time

import media
import pytest
from figures import assert_plays
from harness import media_files, python, recording_folder, room_url

ROOM = "123123"
FPS = 30
LOSS = 0.5


@pytest.mark.parametrize("codec", ["vp8", "h264"])
def test_a_killed_recording_is_exported(stage, codec):
    server = stage.room_server(5)
    peer = stage.aiortc(server, ROOM, "--send", "synthetic", "--codec", codec)
    recorder = stage.tapedeck("record", room_url(server, ROOM), "--directory", stage.folder / "storage")
    started = peer.wait_for_event("sending", 20)["at"]
    time.sleep(8)
    killed = time.time()
    recorder.kill()

    folder = recording_folder(stage.folder / "storage")
    # The raw tracks play as they are.
    assert len(media_files(folder / "tracks")) == 2, list(folder.rglob("*"))
    exported = stage.folder / "call.mkv"
    export = stage.run_tapedeck("export", folder, "--output", exported, timeout=60)
    assert export.exit_code in (0, 5), export.story()
    assert_plays(exported)

    video, = media.streams(exported, "video")
    sound, = media.streams(exported, "audio")
    story = media.describe(exported) + "\n" + export.story()
    frames = media.frames(exported, video["index"])
    counters = [frame.counter for frame in frames if frame.counter is not None]
    sent = (killed - started) * FPS
    assert sent - counters[-1] <= LOSS * FPS, f"frame {counters[-1]} is the last of {sent:.0f}\n{story}"
    assert counters[0] <= LOSS * FPS, story
    assert sum(abs(number) for _, number in media.lost_frames(frames)) <= 3, f"{media.lost_frames(frames)}\n{story}"
    first, last = media.span(exported, sound["index"])
    assert last - first >= killed - started - LOSS, story


def test_kills_at_random_moments_cost_half_a_second_at_most(stage):
    script = pathlib.Path(__file__).resolve().parents[1] / "Benchmarks/kill_recordings.py"
    result = subprocess.run([python("peers"), script, "--tapedeck", stage.tapedeck_path, "--kills", "5", "--rooms", "5",
                             "--longest", "2"], capture_output=True, text=True, timeout=120, check=False)
    assert result.returncode == 0, result.stdout + result.stderr


def test_a_folder_is_exported_again_without_change(stage):
    server = stage.room_server(5)
    stage.aiortc(server, ROOM, "--send", "synthetic")
    recorder = stage.run_tapedeck("record", room_url(server, ROOM), "--duration", "4s", "--directory",
                                  stage.folder / "storage", "--json", timeout=40)
    assert recorder.exit_code == 0, recorder.story()
    folder = recording_folder(stage.folder / "storage")
    before = {path: path.stat().st_size for path in media_files(folder / "tracks")}
    export = stage.run_tapedeck("export", folder, "--output", stage.folder / "again.mkv", timeout=60)
    assert export.exit_code == 0, export.story()
    assert_plays(stage.folder / "again.mkv")
    assert {path: path.stat().st_size for path in media_files(folder / "tracks")} == before
