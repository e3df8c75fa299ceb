# SPDX-License-Identifier: Apache-2.0
"""`tapedeck camera` and `record --send` with files, cameras and microphones instead of the test pattern."""

import contextlib
import os
import random
import statistics
import subprocess
import threading
import time

import media
import numpy as np
import pattern
import pytest
from figures import assert_few_lost, assert_plays, assert_readable, assert_unbroken_sound, number
from peers import room_url
from recordings import interrupted, start_recorder, wait_for_media, wait_for_more, wait_for_seconds
from stage import LIMIT
from notes import Notes, is_slate

ROOM = "123123"
WIDTH, HEIGHT, RATE = 640, 360, 30
CLIP_SECONDS = 4
# The segment of a JPEG file that asks for a quarter turn clockwise: a directory with the one entry Orientation, 6.
EXIF_QUARTER_TURN = (b"\xff\xe1\x00\x22Exif\x00\x00MM\x00*\x00\x00\x00\x08"
                     b"\x00\x01\x01\x12\x00\x03\x00\x00\x00\x01\x00\x06\x00\x00\x00\x00\x00\x00")
# Nothing listens on the discard port.
NOBODY = "socketio+http://127.0.0.1:9/1"
# They share files that take a while to make.
pytestmark = pytest.mark.xdist_group("clips")


def run_ffmpeg(*arguments):
    subprocess.run(["ffmpeg", "-nostdin", "-v", "error", "-y", *map(str, arguments)], check=True, timeout=240)


def pattern_pictures(seconds):
    """The test pattern as raw I420: its own frame counter and flash."""
    chroma = np.full(WIDTH * HEIGHT // 2, 128, np.uint8).tobytes()
    pictures = []
    for counter in range(int(seconds * RATE)):
        luma = np.full((HEIGHT, WIDTH), 90, np.uint8)
        pattern.draw(luma, counter, RATE)
        pictures.append(luma.tobytes() + chroma)
    return b"".join(pictures)


@pytest.fixture(scope="module")
def clips(tmp_path_factory):
    """Media files by name: four seconds of the test pattern with its beep, in several containers, and parts of it."""
    folder = tmp_path_factory.mktemp("clips")
    seconds = CLIP_SECONDS
    raw = ["-f", "rawvideo", "-pix_fmt", "yuv420p", "-s", f"{WIDTH}x{HEIGHT}", "-r", RATE, "-i", folder / "pictures.yuv"]
    # One beep a second for as long as the flash frame is shown; 44.1 kHz mono must be resampled.
    beep = ["-f", "lavfi", "-i", f"aevalsrc=0.5*sin(2*PI*1000*t)*lt(mod(t\\,1)\\,1/{RATE}):s=44100:d={seconds}"]
    h264 = ["-c:v", "libx264", "-preset", "ultrafast", "-crf", "18", "-pix_fmt", "yuv420p"]
    # From a file: through a pipe of 64 kB a busy machine takes minutes for them.
    (folder / "pictures.yuv").write_bytes(pattern_pictures(seconds))
    paths = {name: folder / file for name, file in {
        "mp4": "a clip's \"best\" \\ part\nwith 100% (of) ! it.mp4", "webm": "\"quoted\".webm", "silent": "silent.mkv",
        "sound": "sound.ogg", "portrait": "portrait.mp4",
        "filmed": "filmed.mp4", "photo": "photo.jpg"}.items()}
    run_ffmpeg(*raw, *beep, *h264, "-c:a", "aac", "-f", "mp4", paths["mp4"])
    run_ffmpeg(*raw, *beep, "-c:v", "libvpx", "-deadline", "realtime", "-cpu-used", 8, "-b:v", "4M", "-c:a", "libopus",
               "-f", "webm", paths["webm"])
    run_ffmpeg(*raw, *h264, paths["silent"])
    run_ffmpeg(*beep, "-c:a", "libvorbis", "-ac", 2, paths["sound"])
    run_ffmpeg("-f", "lavfi", "-i", "color=white:s=360x640:r=25:d=3", *h264, paths["portrait"])
    # As a phone that is held upright makes them: they lie on their side, and say so.
    run_ffmpeg("-f", "lavfi", "-i", "color=white:s=640x360:r=25:d=3", *h264, folder / "lying.mp4")
    run_ffmpeg("-i", folder / "lying.mp4", "-c", "copy", "-metadata:s:v:0", "rotate=90", paths["filmed"])
    run_ffmpeg("-i", folder / "lying.mp4", "-frames:v", 1, paths["photo"])
    photo = paths["photo"].read_bytes()
    paths["photo"].write_bytes(photo[:2] + EXIF_QUARTER_TURN + photo[2:])
    return paths


def camera_flags(video, audio):
    return ("--video", video, "--audio", audio, "--size", f"{WIDTH}x{HEIGHT}", "--fps", str(RATE))


def record_camera(stage, seconds, *flags, files=2):
    """A second Tapedeck's recording of a camera of so many tracks; the exported file, the recorder and the camera."""
    server = stage.room_server(5)
    url = room_url(server, ROOM)
    exported, recorder = start_recorder(stage, url)
    # The camera answers: then its preferred codec counts.
    stage.members(server, ROOM, 1)
    camera = stage.tapedeck("camera", url, "--json", *flags)
    wait_for_seconds(recorder, stage.folder / "storage", seconds, files)
    interrupted(recorder)
    assert camera.end() in (0, 130), camera.story()
    return exported, recorder, camera


def played(frames):
    """How often the clip began, by its counters; fails where a frame follows that does not come later in the clip."""
    frames = [frame for frame in frames if frame.counter is not None]
    counters = [frame.counter for frame in frames]
    # A slow camera leaves frames out, and never shows one twice or an earlier one; in a second without frames the clip
    # may move anywhere.
    steps = [(after.counter - before.counter) % (CLIP_SECONDS * RATE) for before, after in zip(frames, frames[1:])
             if after.time - before.time < 1]
    assert all(0 < step < CLIP_SECONDS * RATE // 2 for step in steps), counters
    return 1 + sum(after < before for before, after in zip(counters, counters[1:]))


@pytest.mark.media
@pytest.mark.parametrize("name, codec", [("mp4", "vp8"), pytest.param("mp4", "h264", marks=pytest.mark.long),
                                         pytest.param("webm", "h264", marks=pytest.mark.long)])
def test_a_file_is_sent_over_and_over(stage, clips, name, codec):
    source = f"file:{clips[name]}"
    exported, recorder, camera = record_camera(stage, 14, "--codec", codec, *camera_flags(source, source))
    assert_plays(exported)
    story = f"{media.describe(exported)}\n{recorder.story()}\n{camera.story()}"
    video, = media.streams(exported, "video")
    sound, = media.streams(exported, "audio")
    assert video["codec_name"] == codec and (video["width"], video["height"]) == (WIDTH, HEIGHT), story
    frames = media.frames(exported, video["index"])
    assert_readable(frames, story)
    # 14 s of a clip of 4 s; a camera that does not get the processor sends fewer frames.
    assert played(frames) >= 4, story
    assert len(frames) >= 45, story
    assert_unbroken_sound(exported, recorder)
    assert_few_lost(exported, recorder)
    # Lips match: each flash has its beep.
    offsets = media.flash_to_beep(frames, media.beeps(exported, sound["index"]))
    assert len(offsets) >= max(1, len(frames) // 60), story
    assert abs(statistics.median(offsets)) <= 0.060, f"{offsets}\n{story}"


@pytest.mark.media
def test_aiortc_decodes_the_pictures_and_the_sound_of_a_file(stage, clips):
    server = stage.room_server(5)
    peer = stage.aiortc(server, ROOM, "--receive")
    source = f"file:{clips['mp4']}"
    began = time.monotonic()
    camera = stage.tapedeck("camera", room_url(server, ROOM), "--codec", "vp8", *camera_flags(source, source), "--json")
    peer.wait_for_figure("countersRead", 150)
    peer.wait_for_figure("audioFramesReceived", 200)
    assert camera.end() in (0, 130), camera.story()
    figures = peer.wait_for_event("closed")
    sent = number(camera.result(), "framesSent")
    assert 150 <= figures["framesDecoded"] <= sent, f"{sent} {figures}\n{camera.story()}"
    # The clip restarted, and went back nowhere else.
    assert 1 <= figures["countersBack"] <= 1 + (time.monotonic() - began) / CLIP_SECONDS, f"{figures}"


def test_pictures_and_sound_can_come_from_different_files(stage, clips):
    exported, recorder, camera = record_camera(
        stage, 8, *camera_flags(f"file:{clips['silent']}", f"file:{clips['sound']}"))
    assert_plays(exported)
    story = f"{media.describe(exported)}\n{recorder.story()}\n{camera.story()}"
    video, = media.streams(exported, "video")
    assert played(media.frames(exported, video["index"])) >= 2, story
    sound, = media.streams(exported, "audio")
    assert len(media.beeps(exported, sound["index"])) >= 4, story
    assert_unbroken_sound(exported, recorder)


def test_what_a_file_does_not_have_is_not_sent(stage, clips):
    source = f"file:{clips['silent']}"
    exported, recorder, camera = record_camera(stage, 4, *camera_flags(source, source), files=1)
    assert media.streams(exported, "video") and not media.streams(exported, "audio"), recorder.story()
    assert "no audio" in camera.messages, camera.story()


@pytest.mark.parametrize("capture, name", [("file", "portrait"), ("file", "filmed"), ("image", "photo")])
def test_a_high_picture_gets_bars(stage, clips, capture, name):
    exported, recorder, _ = record_camera(stage, 4, *camera_flags(f"{capture}:{clips[name]}", "none"), files=1)
    video, = media.streams(exported, "video")
    assert (video["width"], video["height"]) == (WIDTH, HEIGHT), recorder.story()
    picture = media.run("ffmpeg", "-v", "error", "-ss", "2", "-i", exported, "-frames:v", "1", "-f", "rawvideo",
                        "-pix_fmt", "gray", "-")
    luma = np.frombuffer(picture, np.uint8).reshape(HEIGHT, WIDTH)
    assert luma[:, :200].mean() < 40 and luma[:, -200:].mean() < 40 and luma[:, 260:380].mean() > 200


def test_a_source_is_open_for_those_who_receive_it_or_all_the_time(stage, clips):
    """A file, recognised by its descriptor; a device is opened by the same means."""
    server = stage.serve("--room-size", "3")
    cameras = {}
    for room, flags in (("kept", stage.room("send: { open: always }")), ("needed", ())):
        cameras[room] = stage.tapedeck("camera", room_url(server, room), *camera_flags(f"file:{clips['mp4']}", "test"), *flags)
        cameras[room].wait_for("the room", lambda: "joined the room" in cameras[room].messages, LIMIT)

    def has_open(room):
        folder = f"/proc/{cameras[room].process.pid}/fd"
        found = set()
        for name in os.listdir(folder):
            # Another one may be closed in between.
            with contextlib.suppress(FileNotFoundError):
                found.add(os.path.realpath(f"{folder}/{name}"))
        return os.path.realpath(clips["mp4"]) in found

    cameras["kept"].wait_for("the open file", lambda: has_open("kept"), LIMIT)
    assert not has_open("needed")
    peers = {room: stage.aiortc(server, room, "--receive") for room in cameras}
    for room, peer in peers.items():
        peer.wait_for_event("decoding", LIMIT)
        assert has_open(room)
        assert peer.end(LIMIT) == 0, peer.story()
    cameras["needed"].wait_for("the closed file", lambda: not has_open("needed"), LIMIT)
    assert has_open("kept")


def test_the_recorder_sends_a_file(stage, clips):
    server = stage.room_server(5)
    peer = stage.aiortc(server, ROOM, "--send", "synthetic", "--receive")
    exported, recorder = start_recorder(stage, room_url(server, ROOM), "--send", f"file:{clips['webm']}")
    for name in ("framesDecoded", "audioFramesReceived", "framesSent"):
        peer.wait_for_figure(name, 60)
    wait_for_media(recorder, stage.folder / "storage")
    interrupted(recorder)
    assert media.streams(exported, "video"), recorder.story()


@pytest.fixture(scope="module")
def bad_files(tmp_path_factory, clips):
    folder = tmp_path_factory.mktemp("bad")
    (folder / "text.mp4").write_text("this is no video\n" * 1000)
    (folder / "empty.mp4").write_bytes(b"")
    (folder / "directory.mp4").mkdir()
    # The same noise each time: in one of several there is data that a parser takes for audio.
    (folder / "noise.mkv").write_bytes(random.Random(1).randbytes(100_000))
    # The index of an MP4 lies at its end.
    (folder / "cut.mp4").write_bytes(clips["mp4"].read_bytes()[:20_000])
    os.mkfifo(folder / "pipe.mp4")
    run_ffmpeg("-f", "lavfi", "-i", "color=red:s=320x240", "-frames:v", "1", folder / "still.png")
    return folder


@pytest.mark.parametrize("name, part", [
    ("missing.mp4", "no file"), ("directory.mp4", "directory"), ("text.mp4", "cannot be played"),
    ("empty.mp4", "cannot be played"), ("noise.mkv", "cannot be played"), ("cut.mp4", "cannot be played"),
    ("pipe.mp4", "regular file"), ("still.png", "an image"),
])
@pytest.mark.parametrize("command", ["camera", "record"])
def test_a_bad_file_is_2_before_anybody_joins(stage, bad_files, command, name, part):
    source = f"file:{bad_files / name}"
    flags = ("--video", source) if command == "camera" else ("--send", source, "--directory", stage.folder)
    process = stage.run_tapedeck(command, NOBODY, *flags)
    # The room server is down: had it been asked, the code would be 3.
    assert process.exit_code == 2, process.story()
    assert name in process.messages and part in process.messages, process.story()


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to become nobody")
def test_a_file_without_permission_is_2(stage, clips):
    as_nobody = ["setpriv", "--reuid=65534", "--clear-groups", stage.tapedeck_path]
    probe = subprocess.run([*as_nobody, "--help"], capture_output=True, text=True, timeout=60, check=False)
    if probe.returncode != 0:
        pytest.skip(f"nobody cannot run {stage.tapedeck_path}: {probe.stderr.strip()[-200:]}")
    locked = stage.folder / "locked.mp4"
    locked.write_bytes(clips["mp4"].read_bytes())
    locked.chmod(0o000)
    process = stage.start("tapedeck-camera", *as_nobody, "camera", NOBODY, "--video", f"file:{locked}")
    code = process.wait()
    assert code == 2 and "locked.mp4" in process.messages, process.story()


@pytest.mark.parametrize("flags, part", [
    (("--video", "v4l2:/dev/video97"), "/dev/video97"),
    (("--video", "v4l2:/dev/null"), "/dev/null"),
    (("--audio", "alsa:nosuchdevice"), "nosuchdevice"),
])
def test_a_device_that_does_not_work_is_2_and_says_what_there_is(stage, flags, part):
    process = stage.run_tapedeck("camera", NOBODY, *flags)
    assert process.exit_code == 2, process.story()
    assert part in process.messages and "this machine has" in process.messages, process.story()


@pytest.mark.parametrize("command", ["camera", "record"])
def test_a_device_that_hangs_while_it_is_opened_is_2_and_named(stage, monkeypatch, command):
    configuration = stage.folder / "asoundrc"
    # Opening the pipe waits for a writer, as a driver waits for a device that does not answer.
    os.mkfifo(stage.folder / "samples")
    configuration.write_text(microphone_of(stage.folder / "samples"))
    monkeypatch.setenv("ALSA_CONFIG_PATH", str(configuration))
    flags = ("--audio", "alsa:microphone") if command == "camera" else ("--send", "alsa:microphone")
    process = stage.run_tapedeck(command, NOBODY, *flags)
    assert process.exit_code == 2, process.story()
    assert "microphone microphone cannot be opened: it has not answered for 10 s" in process.messages, process.story()


@pytest.mark.parametrize("flags", [
    ("camera", NOBODY, "--video", "file:"), ("camera", NOBODY, "--video", "alsa:default"),
    ("camera", NOBODY, "--audio", "v4l2:/dev/video0"), ("camera", NOBODY, "--video", "none", "--audio", "none"),
    ("record", NOBODY, "--send", "screen"), ("record", NOBODY, "--send", "test", "--send", "alsa:default"),
])
def test_wrong_sources_are_usage_errors(stage, flags):
    process = stage.run_tapedeck(*flags)
    assert process.exit_code == 2, process.story()


def test_a_file_that_becomes_unreadable_is_replaced_by_the_slate_and_comes_back(stage, clips):
    server = stage.room_server(5)
    notes = Notes(stage.folder / "notes.jsonl")
    peer = stage.aiortc(server, ROOM, "--receive", "--notes", notes.path)
    clip = stage.folder / "clip.mp4"
    clip.write_bytes(clips["mp4"].read_bytes())
    camera = stage.tapedeck("camera", room_url(server, ROOM), "--json", *camera_flags(f"file:{clip}", "test"))
    peer.wait_for_event("connected")
    # Written over in place: what is open already is broken as well.
    with clip.open("r+b") as file:
        file.truncate(0)
        file.write(b"no video any more")
    camera.wait_for("the failure", lambda: "a source failed: it is tried again until it works" in camera.messages)
    assert f"file {clip}" in camera.messages, camera.story()
    # A dark frame with a sentence in it; the audio continues.
    notes.wait_for("slate", "video", is_slate)
    peer.wait_for_figure("audioFramesReceived", peer.figures("audioFramesReceived")[0] + 50)
    clip.write_bytes(clips["mp4"].read_bytes())
    camera.wait_for("the file again", lambda: "a source is open again" in camera.messages)
    notes.wait_for("picture of the file", "video", lambda frame: frame["mean"] > 75)
    assert camera.process.poll() is None
    assert camera.end() in (0, 130), camera.story()


def test_a_file_that_gives_nothing_any_more_is_opened_again(stage, clips):
    url = room_url(stage.room_server(5), ROOM)
    clip, other = stage.folder / "clip.mp4", stage.folder / "other.mp4"
    clip.write_bytes(clips["mp4"].read_bytes())
    camera = stage.tapedeck("camera", url, "--json", *camera_flags("test", f"file:{clip}"))
    _, recorder = start_recorder(stage, url)
    wait_for_media(recorder, stage.folder / "storage")
    # Its first audio is due in an hour: until then it neither ends nor fails.
    media.run("ffmpeg", "-v", "error", "-i", clip, "-itsoffset", "3600", "-i", clip, "-map", "0:v", "-map", "1:a", "-c",
              "copy", "-f", "matroska", other)
    other.replace(clip)
    camera.wait_for("the failure", lambda: "a source failed: it is tried again until it works" in camera.messages)
    camera.wait_for("its reason", lambda: "it gives nothing" in camera.messages)
    other.write_bytes(clips["mp4"].read_bytes())
    other.replace(clip)
    wait_for_more(recorder, stage.folder / "storage")
    assert "dropped" not in camera.messages
    interrupted(recorder)
    assert camera.end() in (0, 130), camera.story()


def microphone_of(pipe):
    """ALSA's configuration of a device `microphone` whose samples come through a pipe."""
    return f"""
        pcm.microphone {{
            type file
            slave.pcm {{ type null }}
            file /dev/null
            infile "{pipe}"
            format raw
        }}"""


@contextlib.contextmanager
def microphone(folder):
    """An ALSA device `microphone` whose samples come through a pipe, at the pace of a real one: a beep a second."""
    pipe, configuration = folder / "samples", folder / "asoundrc"
    os.mkfifo(pipe)
    configuration.write_text(microphone_of(pipe))
    ended = threading.Event()

    def feed():
        with contextlib.suppress(OSError), pipe.open("r+b", buffering=0) as samples:
            started, chunk = time.monotonic(), 0
            while not ended.is_set():
                position = (chunk * 441 + np.arange(441)) % 44100
                tone = np.where(position < 4410, 0.5 * np.sin(2 * np.pi * 1000 * position / 44100), 0)
                samples.write(np.repeat((tone * 32767).astype("<i2"), 2).tobytes())
                chunk += 1
                time.sleep(max(0, started + chunk * 0.01 - time.monotonic()))
    thread = threading.Thread(target=feed, daemon=True)
    thread.start()
    try:
        yield configuration
    finally:
        ended.set()
        thread.join(5)


@pytest.mark.media
@pytest.mark.long
def test_a_microphone_is_heard(stage, monkeypatch):
    with microphone(stage.folder) as configuration:
        monkeypatch.setenv("ALSA_CONFIG_PATH", str(configuration))
        exported, recorder, camera = record_camera(stage, 8, *camera_flags("test", "alsa:microphone"))
    assert_plays(exported)
    story = f"{media.describe(exported)}\n{recorder.story()}\n{camera.story()}"
    sound, = media.streams(exported, "audio")
    beeps = media.beeps(exported, sound["index"])
    loud = np.abs(media.samples(exported, sound["index"])).reshape(-1)
    levels = [round(float(loud[place:place + 4800].max()), 2) for place in range(0, len(loud), 4800)]
    assert len(beeps) >= 4, f"{beeps}, levels every 0.1 s {levels}\n{story}"
    # A beep a second; what feeds it may be late now and then.
    assert all(after - before > 0.5 for before, after in zip(beeps, beeps[1:])), f"{beeps}\n{story}"
