# SPDX-License-Identifier: Apache-2.0
"""Reads media files with ffprobe and ffmpeg: structure, packets, frame counters, flashes and beeps."""

import dataclasses
import json
import pathlib
import subprocess
import sys
from datetime import datetime

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "Peers"))
import pattern  # noqa: E402

SAMPLE_RATE = 48000
BEEP_LEVEL = 0.1
SILENCE_BEFORE_BEEP = 0.2
TIMEOUT = 300


def run(*command):
    return subprocess.run([str(part) for part in command], capture_output=True, timeout=TIMEOUT, check=True).stdout


def probe(path):
    """Format and streams, from ffprobe."""
    return json.loads(run("ffprobe", "-v", "error", "-show_format", "-show_streams", "-of", "json", path))


def streams(path, kind=None):
    return [stream for stream in probe(path)["streams"] if kind in (None, stream["codec_type"])]


def began(path):
    """When a file's zero was, by our clock, in seconds since 1970."""
    return datetime.fromisoformat(probe(path)["format"]["tags"]["creation_time"].replace("Z", "+00:00")).timestamp()


# Frames keep their own clock: ffmpeg would round it to a frame rate that it guesses from the first ones, and complain
# of two frames in one tick where a busy browser captured unevenly.
EVERY_STREAM = ("-map", "0", "-enc_time_base", "-1")


def decoder_messages(path, options=EVERY_STREAM):
    """The output of ffmpeg while it decodes the streams of the file; empty if all is well."""
    result = subprocess.run(["ffmpeg", "-v", "error", "-i", str(path), *options, "-f", "null", "-"],
                            capture_output=True, timeout=TIMEOUT, check=False)
    return result.stderr.decode(errors="replace") + result.stdout.decode(errors="replace")


@dataclasses.dataclass(frozen=True)
class Packet:
    time: float
    duration: float
    is_key: bool


def packets(path, index):
    """Packets of a stream in order of presentation, in seconds."""
    answer = json.loads(run("ffprobe", "-v", "error", "-select_streams", str(index), "-show_entries",
                            "packet=pts_time,duration_time,flags", "-of", "json", path))
    found = [Packet(float(packet["pts_time"]), float(packet.get("duration_time", 0)), "K" in packet["flags"])
             for packet in answer["packets"]]
    return sorted(found, key=lambda packet: packet.time)


def span(path, index):
    """First and last time of a stream, in seconds; the last packet's duration included."""
    found = packets(path, index)
    return (found[0].time, found[-1].time + found[-1].duration) if found else (0, 0)


def gaps(path, index, duration=None, tolerance=0.005):
    """Places where the next packet does not start where the one before it ends: (time, seconds missing)."""
    found = packets(path, index)
    result = []
    for before, after in zip(found, found[1:]):
        expected = duration or before.duration
        assert expected > 0, f"{path}: packets of stream {index} have no duration"
        if abs(after.time - before.time - expected) > tolerance:
            result.append((before.time, after.time - before.time - expected))
    return result


@dataclasses.dataclass(frozen=True)
class Frame:
    time: float
    counter: int | None
    has_flash: bool


def frames(path, index=0):
    """Every decoded frame of a video stream with what the test pattern in it says."""
    stream = probe(path)["streams"][index]
    width, height = stream["width"], stream["height"]
    times = [packet.time for packet in packets(path, index)]
    command = ["ffmpeg", "-v", "error", "-i", str(path), "-map", f"0:{index}", "-fps_mode", "passthrough",
               "-f", "rawvideo", "-pix_fmt", "gray", "-"]
    result = []
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        while len(picture := process.stdout.read(width * height)) == width * height:
            luma = np.frombuffer(picture, np.uint8).reshape(height, width)
            result.append((pattern.read_counter(luma), pattern.has_flash(luma)))
    assert len(result) == len(times), f"{path}: {len(times)} packets, but {len(result)} frames could be decoded"
    return [Frame(time, counter, flash) for time, (counter, flash) in zip(times, result)]


def counters(path, index=0):
    """The counters of the decoded frames of a video stream that show one."""
    return [frame.counter for frame in frames(path, index) if frame.counter is not None]


def last_picture(path, decoder):
    """A checksum of the last frame that a decoder makes of the first video stream."""
    text = run("ffmpeg", "-v", "error", "-c:v", decoder, "-i", path, "-map", "0:v:0", "-vf", "scale=640:480", *EVERY_STREAM[2:], "-f",
               "framemd5", "-")
    return text.decode().split()[-1]


def last_size(path):
    """Width and height of the last decoded frame of the first video stream."""
    text = run("ffprobe", "-v", "error", "-select_streams", "v:0", "-show_entries", "frame=width,height", "-of", "csv=p=0", path)
    return tuple(int(part) for part in text.decode().split()[-1].split(",")[:2])


def samples(path, index, decoder=None):
    """Decoded audio at 48 kHz; sample n belongs to the file's time n / 48000, gaps are silent."""
    # Without -copyts ffmpeg moves every time by that of the earliest packet, which the delay of Opus makes negative.
    raw = run("ffmpeg", "-v", "error", "-copyts", *(["-c:a", decoder] if decoder else []), "-i", path, "-map", f"0:{index}", "-af",
              "aresample=48000:async=1:min_hard_comp=0.010:first_pts=0", "-ac", "1", "-f", "f32le", "-")
    return np.frombuffer(raw, np.float32)


def beeps(path, index):
    """Times at which a tone starts after silence, in seconds."""
    audio = samples(path, index)
    window = SAMPLE_RATE // 1000
    audio = audio[:len(audio) // window * window]
    loud = np.sqrt((audio.reshape(-1, window) ** 2).mean(axis=1)) > BEEP_LEVEL
    times, last_loud = [], -1.0
    for number in np.flatnonzero(loud):
        time = number / 1000
        if time - last_loud > SILENCE_BEFORE_BEEP:
            times.append(time)
        last_loud = time
    return times


def tone(path, index, channel):
    """The loudest frequency of a channel, to the nearest 20 Hz."""
    raw = run("ffmpeg", "-v", "error", "-c:a", "libopus", "-i", path, "-map", f"0:{index}", "-af", f"pan=mono|c0=c{channel}", "-ar", SAMPLE_RATE,
              "-f", "f32le", "-")
    audio = np.frombuffer(raw, np.float32)[SAMPLE_RATE // 2:]
    spectrum = np.abs(np.fft.rfft(audio * np.hanning(len(audio))))
    return round(np.argmax(spectrum) * SAMPLE_RATE / len(audio) / 20) * 20


def flashes(video):
    """Times of the first frame of each flash."""
    return [frame.time for before, frame in zip([None] + video, video)
            if frame.has_flash and not (before and before.has_flash)]


def flash_to_beep(video, beep_times):
    """Beep minus flash in seconds for every flash that has a beep within half a second."""
    result = []
    for flash in flashes(video):
        nearest = min(beep_times, key=lambda beep: abs(beep - flash), default=None)
        if nearest is not None and abs(nearest - flash) < 0.5:
            result.append(nearest - flash)
    return result


def lost_frames(video):
    """Places where frames are missing: (time before, how many). A negative number is frames too many.

    Frames whose counter cannot be read count as there: encoders blur a cell now and then.
    """
    read = [(position, frame) for position, frame in enumerate(video) if frame.counter is not None]
    result = []
    for (position, frame), (next_position, next_frame) in zip(read, read[1:]):
        lost = (next_frame.counter - frame.counter) - (next_position - position)
        if lost != 0:
            result.append((frame.time, lost))
    return result


def describe(path):
    """One line a stream, for failure messages."""
    lines = [f"{path}:"]
    for stream in streams(path):
        first, last = span(path, stream["index"])
        count = len(packets(path, stream["index"]))
        title = stream.get("tags", {}).get("title", "")
        lines.append(f"  {stream['index']} {stream['codec_type']} {stream['codec_name']} "
                     f"{first:.3f}...{last:.3f} s, {count} packets {title}")
    return "\n".join(lines)
