# SPDX-License-Identifier: Apache-2.0
"""The kinds of files that an export can be, read by other programs."""

import os
import signal
import time

import media
import opentimelineio
from peers import room_url
from player import playing
from recordings import record_some, recording_folder, wait_for_seconds
from stage import LIMIT

ROOM = "files"


def test_a_call_that_does_not_fit_its_output_is_kept_and_5(stage):
    """An MP4 file asks for H.264; a participant that has VP8 alone is recorded all the same."""
    server = stage.room_server(5)
    stage.aiortc(server, ROOM, "--send", "synthetic", "--size", "320x180", "--codec", "vp8")
    storage = stage.folder / "storage"
    recorder = stage.tapedeck("record", room_url(server, ROOM), "--directory", storage, "--output", stage.folder / "call.mp4")
    wait_for_seconds(recorder, storage, 2, 2)
    recorder.signal(signal.SIGINT)
    assert recorder.wait(LIMIT) == 5, recorder.story()
    folder = recording_folder(storage)
    assert folder.name in recorder.messages and "not exported: " in recorder.messages, recorder.story()
    export = stage.run_tapedeck("export", folder, timeout=LIMIT)
    assert export.exit_code == 0, export.story()


def test_an_mp4_file_asks_for_h264(stage):
    server = stage.room_server(5)
    stage.aiortc(server, ROOM, "--send", "synthetic", "--size", "320x180")
    path = stage.folder / "call.mp4"
    recorder = stage.tapedeck("record", room_url(server, ROOM), "--directory", stage.folder, "--duration", "3s", "--output", path)
    assert recorder.wait(LIMIT) == 0, recorder.story()
    assert [stream["codec_name"] for stream in media.streams(path)] == ["h264", "opus"], recorder.story()


def is_alive(process):
    """Whether a process runs; one that is over and not collected yet does not."""
    try:
        with open(f"/proc/{process}/stat", encoding="ascii") as state:
            return state.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def assert_a_dead_job_leaves_nothing(stage, folder):
    """The muxer ends with its job, and the next job takes over what the dead one left."""
    programs, told = stage.folder / "programs", stage.folder / "muxer.pid"
    programs.mkdir()
    program = programs / "ffmpeg"
    program.write_text(f"#!/bin/sh\nfor last; do :; done\nhead -c 100000 /dev/zero >\"${{last#file:}}\"\n"
                       f"echo $$ >{told}.part\nmv {told}.part {told}\nexec sleep 600\n")
    program.chmod(0o755)
    job = stage.start_export(folder, {"PATH": f"{programs}:{os.environ['PATH']}"}, container="mp4")
    job.wait_for("the muxer", told.exists)
    muxer = int(told.read_text())
    assert is_alive(muxer), job.story()
    job.signal(signal.SIGKILL)
    job.process.wait()
    deadline = time.time() + LIMIT
    while is_alive(muxer):
        assert time.time() < deadline, "the muxer outlives its job"
        time.sleep(0.05)
    assert {path.name for path in folder.glob(".*")} == {".call.mp4.partial", ".call.mp4.partial.tracks"}
    again = stage.run_export(folder, container="mp4")
    assert again.exit_code == 0, again.story()
    assert not list(folder.glob(".*")) and media.decoder_messages(folder / "call.mp4") == "", again.story()


def assert_a_browser_plays(path):
    """Chromium's <video> decodes every frame and all of the audio, and seeks to the frame of a time and back."""
    frames = media.frames(path)
    with playing(path) as player:
        decoded = player.play()
        for place in (len(frames) // 2, 0, -1):
            wanted, seen = frames[place], player.seek(frames[place].time + 0.005)
            assert abs(seen.time - wanted.time) < 0.002 and seen.counter == wanted.counter, (wanted, seen)
    sizes = media.run("ffprobe", "-v", "error", "-select_streams", "a", "-show_entries", "packet=size", "-of", "csv=p=0", path)
    assert decoded["frames"] == len(frames), (decoded, len(frames))
    assert decoded["audio_bytes"] == sum(int(size.strip(b",")) for size in sizes.split()), (decoded, sizes)


def assert_mp4_needs_ffmpeg(stage, folder, server):
    """One sentence before any work, of whatever makes MP4."""
    before = sorted(folder.rglob("*"))
    nothing = {"PATH": str(stage.folder)}
    for run in (stage.run_tapedeck("export", folder, "--container", "mp4", secrets=nothing),
                stage.run_export(folder, nothing, container="mp4"), stage.run_export(folder, nothing, layout="browser"),
                stage.run_tapedeck("record", room_url(server, ROOM), "--output", stage.folder / "no.mp4", secrets=nothing)):
        assert run.exit_code == 2 and "ffmpeg, which is not installed" in run.story(), run.story()
    assert sorted(folder.rglob("*")) == before
    doctor = stage.run_tapedeck("doctor", "--json", timeout=LIMIT, secrets=nothing).output
    assert "not installed" in doctor and "verify --decode" in doctor, doctor


def test_a_call_in_h264_becomes_mp4_and_a_project_but_no_webm(stage):
    server = stage.room_server(5)
    url = room_url(server, ROOM)
    stage.aiortc(server, ROOM, "--send", "synthetic", "--size", "320x180", "--codec", "h264")
    exported, recorder = record_some(stage, url)
    folder = recording_folder(stage.folder / "storage")

    mp4 = stage.folder / "call.mp4"
    export = stage.run_tapedeck("export", folder, "--output", mp4, timeout=LIMIT)
    assert export.exit_code == 0, export.story()
    assert "mp4" in media.probe(mp4)["format"]["format_name"], export.story()
    assert [stream["codec_name"] for stream in media.streams(mp4)] == ["h264", "opus"], export.story()
    assert media.decoder_messages(mp4) == "", export.story()
    for index, length in enumerate((0.034, 0.021)):
        was, became = media.span(exported, index), media.span(mp4, index)
        assert abs((became[1] - became[0]) - (was[1] - was[0])) <= length, f"{was} {became}\n{export.story()}"
        assert len(media.packets(mp4, index)) == len(media.packets(exported, index)), export.story()
    # Players leave out no more of the audio than they must: the first sample has the same time as in the MKV.
    was, became = media.samples(exported, 1), media.samples(mp4, 1)
    assert abs(len(became) - len(was)) <= 48, f"{len(was)} {len(became)}\n{export.story()}"
    assert b"avc1" in mp4.read_bytes() and b"avc3" not in mp4.read_bytes()
    assert_a_browser_plays(mp4)
    assert_mp4_needs_ffmpeg(stage, folder, server)
    assert_a_dead_job_leaves_nothing(stage, folder)

    refused = stage.run_tapedeck("export", folder, "--container", "webm", timeout=LIMIT)
    assert refused.exit_code == 2 and "H.264" in refused.messages, refused.story()

    project = stage.run_tapedeck("export", folder, "--project", timeout=LIMIT)
    assert project.exit_code == 0, project.story()
    timeline = opentimelineio.adapters.read_from_file(str(folder / "call.otio"))
    assert [track.kind for track in timeline.tracks] == ["Video", "Audio"], project.story()
    duration = float(media.probe(folder / "call.mkv")["format"]["duration"])
    assert abs(timeline.duration().to_seconds() - duration) < 0.05, project.story()
    for clip in timeline.find_clips():
        assert (folder / clip.media_reference.target_url).is_file(), clip
    assert [marker.name for marker in timeline.tracks.markers], project.story()
    told = stage.run_tapedeck("export", folder, "--project", "--json", timeout=LIMIT).result()
    assert told["project"] == str(folder / "call.otio"), told
    assert recorder.result()["complete"], recorder.story()
