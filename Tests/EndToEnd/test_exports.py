# SPDX-License-Identifier: Apache-2.0
"""`tapedeck export --layout grid` and `audio` of a recorded call of two test cameras, judged by ffmpeg."""

import pathlib
import re
import resource
import shutil
import subprocess

import media
import numpy as np
import pytest
from recordings import journal_of
from stage import LIMIT
from test_daemon_bad_input import small_disk

FRAME = 1 / 25
# Flash and beep, in a call whose cameras had half a core each.
TOGETHER = 0.100


def export(stage, recording, *flags, exit_code=0):
    job = stage.run_tapedeck("export", recording, *flags, timeout=LIMIT)
    assert job.exit_code == exit_code, job.story()
    return job


def picture(path, seconds):
    """One decoded frame as RGB."""
    stream = media.streams(path, "video")[0]
    raw = media.run("ffmpeg", "-v", "error", "-ss", str(seconds), "-i", path, "-frames:v", "1", "-f", "rawvideo",
                    "-pix_fmt", "rgb24", "-")
    return np.frombuffer(raw, np.uint8).reshape(stream["height"], stream["width"], 3).astype(int)


def loudness(path):
    """Integrated loudness in LUFS and true peak in dBFS, by ffmpeg."""
    told = subprocess.run(["ffmpeg", "-nostdin", "-nostats", "-i", path, "-af", "ebur128=peak=true:framelog=verbose",
                           "-f", "null", "-"], capture_output=True, text=True, check=True).stderr
    summary = told[told.rindex("Summary:"):]
    return [float(re.search(rf"{name}:\s+(-?[\d.]+|-inf)", summary)[1]) for name in ("I", "Peak")]


def duration(path):
    return float(media.probe(path)["format"]["duration"])


def is_yellow(pixel):
    return pixel[0] > 150 and pixel[1] > 150 and pixel[2] < 110


def assert_a_full_disk_is_named(stage, recording):
    """An export says that the disk is full, which file, and about how much it needs, also where GStreamer writes."""
    with small_disk(stage.folder / "disk", "64k") as disk:
        for name, flags in (("grid.mp4", ["grid"]), ("grid.mkv", ["grid", "--codec", "vp8"]), ("audio.opus", ["audio"])):
            job = export(stage, recording, "--layout", *flags, "--output", disk / name, exit_code=5)
            said = re.search(r"cannot write (\S+): No space left on device; it needs about (\d+) MB", job.messages)
            assert said and said[1] == str(disk / name) and 1 <= int(said[2]) < 100, job.story()
            assert not list(disk.iterdir()), job.story()


# Two cameras and a recorder, and then encoders.
@pytest.mark.media
def test_a_call_as_a_grid_and_as_sound(stage):
    demo = stage.run_tapedeck("demo", "--duration", "12s", timeout=LIMIT)
    assert demo.exit_code == 0, demo.story()
    journal, = stage.folder.rglob("journal.jsonl")
    recording = journal.parent
    lossless, = stage.folder.rglob("call.mkv")
    length = duration(lossless)

    # All participants, in a video of constant size and rate.
    grid = recording / "call-grid.mp4"
    export(stage, recording, "--layout", "grid", "--size", "640x360")
    story = media.describe(grid)
    video, = media.streams(grid, "video")
    sound, = media.streams(grid, "audio")
    assert (video["codec_name"], video["width"], video["height"]) == ("h264", 640, 360), story
    assert (video["avg_frame_rate"], sound["codec_name"]) == ("25/1", "aac"), story
    assert media.decoder_messages(grid) == "", story
    assert abs(duration(grid) - length) <= FRAME + 0.001, f"{duration(grid)} instead of {length}\n{story}"
    times = [packet.time for packet in media.packets(grid, video["index"])]
    assert np.allclose(np.diff(times), FRAME, atol=0.001), story
    # Two tiles side by side, 314 wide, each with a frame of 314x176 in the middle.
    shown = picture(grid, max(media.span(lossless, each["index"])[0] for each in media.streams(lossless, "video")) + 0.5)
    for left in (4, 322):
        assert is_yellow(shown[92 + 176 * 150 // 720, left + 314 * 250 // 1280]), shown[128, left:left + 120:10]
        # Bars above and below the frame, and the name in the lower left corner.
        assert shown[20, left + 150].max() < 60 and shown[290, left + 150].max() < 60
        assert shown[310:345, left + 12:left + 150].min(axis=2).max() > 200

    # One participant in the other codec: flash and beep stay together. A flash of 33 ms falls between frames of 40 ms at
    # times, so there are more of them.
    names = [record["participant"] for record in journal_of(recording) if record["kind"] == "participant-joined"]
    single = stage.folder / "one.mkv"
    export(stage, recording, "--layout", "grid", "--codec", "vp8", "--participant", names[0], "--fps", "50",
           "--size", "640x360", "--output", single)
    assert {stream["codec_name"] for stream in media.streams(single)} == {"vp8", "opus"}
    assert media.decoder_messages(single) == "", media.describe(single)
    offsets = media.flash_to_beep(media.frames(single), media.beeps(single, 1))
    assert len(offsets) >= 2 and max(map(abs, offsets)) <= TOGETHER, offsets

    # Their audio alone, with the right length and level. Where two beeps of one pitch are half a period apart, only
    # clicks are left of them, whose peaks are up to 27 dB above their loudness.
    for name, wanted in (("call-audio.opus", -30), ("call-audio.wav", -33)):
        export(stage, recording, "--layout", "audio", "--loudness", str(wanted), "--format", name.split(".")[1])
        integrated, peak = loudness(recording / name)
        assert abs(integrated - wanted) <= 1 and peak <= -1, f"{name}: {integrated} LUFS, {peak} dBFS"
        assert abs(duration(recording / name) - length) <= FRAME, f"{name}: {duration(recording / name)}, {length}"

    # A job has separate limits. One that reaches a limit names it, and leaves nothing.
    files = sorted(path.name for path in recording.iterdir())
    for kind, number, said in ((resource.RLIMIT_CPU, 1, "processor time"), (resource.RLIMIT_AS, 1 << 20, "of memory")):
        job = stage.start_export(recording, layout="grid")
        job.wait_for("progress", lambda job=job: [fact for fact in job.facts if "progress" in fact])
        process = job.process.pid
        assert resource.prlimit(process, resource.RLIMIT_AS)[1] == 4 << 30
        # Ten minutes, and ten times what two cameras sent.
        assert 600 < resource.prlimit(process, resource.RLIMIT_CPU)[0] < 600 + 10 * 4 * (length + 5)
        assert (pathlib.Path("/proc") / str(process) / "oom_score_adj").read_text().strip() == "900"
        resource.prlimit(process, kind, (number, 60 if kind == resource.RLIMIT_CPU else number))
        assert job.wait() == 5, job.story()
        assert said in job.facts[-1]["failed"]["message"] and job.facts[-1]["failed"]["retriable"] is False
        assert sorted(path.name for path in recording.iterdir()) == files

    assert_a_full_disk_is_named(stage, recording)

    # A part of it, from a copy that was cut off and that lost half of a file after it was whole, as its manifest says.
    broken = stage.folder / "broken" / recording.name
    shutil.copytree(recording, broken)
    for path in broken.glob("call*"):
        path.unlink()
    lines = (broken / "journal.jsonl").read_bytes()
    (broken / "journal.jsonl").write_bytes(lines[:len(lines) * 3 // 4])
    cut = next((broken / "tracks").glob("*video*"))
    cut.write_bytes(cut.read_bytes()[:cut.stat().st_size // 2])
    job = export(stage, broken, "--layout", "grid", "--size", "320x180", "--from", "1s", "--to", "4s", exit_code=5)
    assert "makes no sense, as a crash leaves it" in job.whole_story(), job.story()
    assert abs(duration(broken / "call-grid-from-1s-to-4s.mp4") - 3) <= FRAME, media.describe(broken / "call-grid-from-1s-to-4s.mp4")

    # Impossible requests are refused, and leave nothing behind.
    before = sorted(path.name for path in recording.iterdir())
    for flags in (["grid", "--size", "641x360"], ["grid", "--fps", "0"], ["grid", "--format", "wav"],
                  ["grid", "--participant", "nobody"], ["audio", "--codec", "vp8"], ["audio", "--loudness", "3"],
                  ["grid", "--codec", "vp8", "--output", "x.mp4"], ["tracks", "--fps", "25"]):
        export(stage, recording, "--layout", *flags, exit_code=2)
    # Ids of Socket.IO may begin so.
    job = export(stage, recording, "--layout", "grid", "--participant", "-nobody", exit_code=2)
    assert "there is no participant '-nobody'" in job.whole_story(), job.story()
    assert sorted(path.name for path in recording.iterdir()) == before
