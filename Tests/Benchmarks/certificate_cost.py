# SPDX-License-Identifier: Apache-2.0
"""The cost of a recording's certificate in addition to its export: seconds of processor time and memory of both.

Makes a recording of one participant in a separate folder: video of some megabytes and audio, as ffmpeg writes them, and
a journal with a clock anchor a second. Then runs `tapedeck export` and `tapedeck verify` on it, several times, and
prints the medians. With --baseline another binary exports too, such as one that makes no certificate.

Example: python3 Tests/Benchmarks/certificate_cost.py --minutes 60

"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
NAME = "20261121T031226Z-0123456789abcdef"


def make_tracks(folder, minutes, kilobits):
    """One clip of 10 s, again and again; ffmpeg only copies what it made once."""
    clip = folder / "clip.mkv"
    run = ["ffmpeg", "-nostdin", "-v", "error", "-y"]
    subprocess.run([*run, "-f", "lavfi", "-i", "testsrc2=s=640x360:r=30:d=10", "-f", "lavfi", "-i",
                    "sine=440:r=48000:d=10", "-c:v", "libvpx", "-deadline", "realtime", "-cpu-used", "8", "-g", "300",
                    "-b:v", f"{kilobits}k", "-c:a", "libopus", clip], check=True)
    tracks = folder / "tracks"
    tracks.mkdir()
    for stream, name in (("v", "001-a-video.mkv"), ("a", "002-a-audio.mka")):
        subprocess.run([*run, "-stream_loop", str(minutes * 6 - 1), "-i", clip, "-map", f"0:{stream}", "-c", "copy",
                        tracks / name], check=True)
    clip.unlink()


def make_journal(folder, minutes):
    def line(at, kind, **record):
        return json.dumps({"at": at, "kind": kind, "v": 1, **record}, separators=(",", ":"), sort_keys=True)

    second = 1_000_000_000
    lines = [line(0, "recording-started", room="room", id=NAME[-16:], host="host", utc="2026-11-21T03:12:26Z")]
    tracks = ((1, "video", "vp8", 90_000, "001-a-video.mkv"), (2, "audio", "opus", 48_000, "002-a-audio.mka"))
    for number, media, codec, rate, file in tracks:
        lines.append(line(0, "track-opened", track=number, participant="a", media=media, codec=codec, clock_rate=rate,
                          file=f"tracks/{file}", first_rtp=0))
    for moment in range(minutes * 60):
        for number, _, _, rate, _ in tracks:
            lines.append(line(moment * second, "clock-anchor", track=number, rtp=moment * rate))
    lines.append(line(minutes * 60 * second, "recording-finished", reason="end"))
    (folder / "journal.jsonl").write_text("\n".join(lines) + "\n")


def measure(*command):
    """Processor seconds and the most memory in MB of one run."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, _, usage = os.wait4(process.pid, 0)
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=int, default=60, help="length of the recording (%(default)s)")
    parser.add_argument("--kilobits", type=int, default=1500, help="of the pictures (%(default)s)")
    parser.add_argument("--runs", type=int, default=5, help="of each command (%(default)s)")
    parser.add_argument("--tapedeck", type=pathlib.Path, default=ROOT / ".build" / "release" / "tapedeck")
    parser.add_argument("--baseline", type=pathlib.Path, help="another binary to export with")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as storage:
        folder = pathlib.Path(storage) / "recordings" / "room" / NAME
        folder.mkdir(parents=True)
        make_tracks(folder, options.minutes, options.kilobits)
        make_journal(folder, options.minutes)
        size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6
        print(f"{options.minutes} min, {size:.0f} MB")
        commands = {
            "export and certificate": [options.tapedeck, "export", folder],
            "certificate": [options.tapedeck, "verify", folder],
        }
        if options.baseline:
            commands["export of the baseline"] = [options.baseline, "export", folder]
        found = {name: [] for name in commands}
        for _ in range(options.runs):
            for name, command in commands.items():
                found[name].append(measure(*command))
        for name, runs in found.items():
            seconds, memory = (statistics.median(run[index] for run in runs) for index in (0, 1))
            print(f"{name:24} {seconds:6.2f} s of processor, {memory:4.0f} MB")


if __name__ == "__main__":
    main()
