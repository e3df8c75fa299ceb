# SPDX-License-Identifier: Apache-2.0
"""The instruments themselves: pattern and analysis on files whose truth is known."""

import subprocess
import wave

import media
import numpy as np
import pattern
import pytest

FPS = 30
SECONDS = 4


def encode(folder, width, height, codec, delay=0.0):
    """A file of the test pattern whose audio comes `delay` seconds late."""
    path = folder / f"{codec}-{width}.mkv"
    sound = folder / "sound.wav"
    position = (np.arange(SECONDS * 48000) - int(delay * 48000)) % 48000
    tone = np.where(position < 48000 // FPS, 0.5 * np.sin(2 * np.pi * 1000 * position / 48000), 0)
    with wave.open(str(sound), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(48000)
        file.writeframes((tone * 32767).astype(np.int16).tobytes())
    options = {"vp8": ["-c:v", "libvpx", "-deadline", "realtime", "-cpu-used", "8"],
               "h264": ["-c:v", "libx264", "-preset", "ultrafast", "-tune", "zerolatency"]}[codec]
    pictures, packets = folder / "pictures.mkv", folder / "sound.opus"
    command = ["ffmpeg", "-v", "error", "-y", "-f", "rawvideo", "-pix_fmt", "gray", "-s", f"{width}x{height}",
               "-r", str(FPS), "-i", "-", *options, "-pix_fmt", "yuv420p", "-b:v", "800k", "-g", "60", str(pictures)]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as process:
        background = np.tile(np.linspace(60, 180, width).astype(np.uint8), (height, 1))
        for counter in range(SECONDS * FPS):
            luma = np.roll(background, counter * 2, axis=1)
            pattern.draw(luma, counter, FPS)
            process.stdin.write(luma.tobytes())
        process.stdin.close()
        assert process.wait() == 0
    # ffmpeg 5.1 would mux audio 6.5 ms too early: it moves every track but Opus by the codec's delay.
    subprocess.run(["ffmpeg", "-v", "error", "-y", "-i", str(sound), "-c:a", "libopus", "-b:a", "48k", str(packets)],
                   check=True, timeout=60)
    subprocess.run(["mkvmerge", "--quiet", "--output", str(path), str(pictures), str(packets)], check=True, timeout=60)
    return path


@pytest.mark.parametrize("counter", [0, 1, 900, 0xABCDEF, 0xFFFFFF])
@pytest.mark.parametrize("size", [(1280, 720), (640, 360), (480, 270), (320, 180)])
def test_a_drawn_counter_reads_back(counter, size):
    luma = np.full((size[1], size[0]), 90, np.uint8)
    pattern.draw(luma, counter, FPS)
    assert pattern.read_counter(luma) == counter
    assert pattern.has_flash(luma) == (counter % FPS == 0)


def test_a_damaged_strip_is_not_read():
    luma = np.zeros((720, 1280), np.uint8)
    assert pattern.read_counter(luma) is None
    pattern.draw(luma, 5, FPS)
    luma[pattern.cell(1280, 720, 20)] = pattern.WHITE
    assert pattern.read_counter(luma) is None


@pytest.mark.parametrize("codec", ["vp8", "h264"])
@pytest.mark.parametrize("size", [(1280, 720), (640, 360)])
def test_counters_survive_the_codecs(tmp_path, codec, size):
    path = encode(tmp_path, *size, codec)
    assert media.decoder_messages(path) == ""
    video = media.frames(path, 0)
    assert [frame.counter for frame in video] == list(range(SECONDS * FPS))
    start = video[0].time
    assert media.flashes(video) == pytest.approx([start, start + 1, start + 2, start + 3], abs=0.002)
    assert media.lost_frames(video) == []
    assert media.gaps(path, 1) == []


@pytest.mark.parametrize("delay", [0.0, 0.040, -0.025])
def test_the_flash_to_beep_offset_is_measured_within_3_ms(tmp_path, delay):
    path = encode(tmp_path, 640, 360, "h264", delay)
    # An early first beep has no start in the file.
    offsets = media.flash_to_beep(media.frames(path, 0), media.beeps(path, 1))[1:]
    assert len(offsets) == SECONDS - 1
    assert offsets == pytest.approx([delay] * len(offsets), abs=0.003)


def test_missing_packets_are_gaps(tmp_path):
    path = encode(tmp_path, 640, 360, "h264")
    cut = tmp_path / "cut.mkv"
    subprocess.run(["ffmpeg", "-v", "error", "-i", str(path), "-map", "0", "-c", "copy",
                    "-bsf:v", r"noise=drop=eq(n\,70)", "-bsf:a", r"noise=drop=between(n\,50\,51)", str(cut)],
                   check=True, timeout=60)
    (time, missing), = media.gaps(cut, 1)
    assert missing == pytest.approx(0.040, abs=0.003) and time == pytest.approx(0.98, abs=0.03)
    (time, lost), = media.lost_frames(media.frames(cut, 0))
    assert lost == 1 and time == pytest.approx(69 / FPS, abs=0.02)
