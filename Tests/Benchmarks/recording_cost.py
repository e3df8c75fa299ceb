# SPDX-License-Identifier: Apache-2.0
"""What recording one 720p30 room costs: `make figures`.

A room server, `tapedeck camera` and `tapedeck record` run as processes of their own on loopback. Printed for the
recorder, as the operating system counts it: CPU time of one core while it records, the same while it waits alone in the
room, resident memory over time, threads, descriptors, and the time from the offer to the first unit of each track in
its file. One run each; compare only figures of one run.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
TICKS = os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGE_SIZE")


def cpu_seconds(process):
    fields = pathlib.Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def resident_bytes(process):
    return int(pathlib.Path(f"/proc/{process.pid}/statm").read_text().split()[1]) * PAGE


def count(process, what):
    return len(os.listdir(f"/proc/{process.pid}/{what}"))


def share_of_core(process, seconds, every=None):
    """CPU time over wall time, while `every` is called once a second."""
    began, used = time.monotonic(), cpu_seconds(process)
    while time.monotonic() - began < seconds:
        time.sleep(1)
        if every:
            every()
    return (cpu_seconds(process) - used) / (time.monotonic() - began)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tapedeck", default=str(ROOT / ".build/release/tapedeck"))
    parser.add_argument("--codec", choices=["vp8", "h264"], default="vp8")
    parser.add_argument("--seconds", type=int, default=150, help="length of the recording")
    options = parser.parse_args()

    with tempfile.TemporaryDirectory() as folder:
        def start(*arguments, **redirections):
            return subprocess.Popen([options.tapedeck, *arguments], cwd=folder, text=True, **redirections)

        server = start("serve", "--listen", "127.0.0.1:0", "--json", stdout=subprocess.PIPE)
        url = f"socketio+http://127.0.0.1:{json.loads(server.stdout.readline())['port']}/figures"
        recorder = start("record", url, "--duration", f"{options.seconds}s", "--json", stdout=subprocess.PIPE,
                         stderr=subprocess.DEVNULL)
        time.sleep(5)
        idle = share_of_core(recorder, 20)
        camera = start("camera", url, "--codec", options.codec, "--bitrate", "1600k", "--json",
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(10)
        resident = []
        busy = share_of_core(recorder, options.seconds - 25, lambda: resident.append(resident_bytes(recorder)))
        threads, descriptors = count(recorder, "task"), count(recorder, "fd")
        result = json.loads(recorder.stdout.read())
        for process in (camera, server):
            process.terminate()
            process.wait(20)

    minute = resident[min(50, len(resident) - 1)]
    print(f"codec {options.codec}, {result['durationSeconds']:.1f} s recorded, complete: {result['complete']}")
    print(f"CPU of one core: recording {100 * busy:.2f} %, idle in the room {100 * idle:.2f} %, "
          f"difference {100 * (busy - idle):.2f} %")
    print(f"resident memory: {minute / 1e6:.1f} MB after a minute, {resident[-1] / 1e6:.1f} MB at the end, "
          f"{threads} threads, {descriptors} descriptors")
    for track in result["tracks"]:
        print(f"offer to first unit in the file: {track['codec']} {track['firstUnitMilliseconds']:.0f} ms, "
              f"{track['units']} units, {track['lostPackets']} packets lost")
    return 0


if __name__ == "__main__":
    sys.exit(main())
