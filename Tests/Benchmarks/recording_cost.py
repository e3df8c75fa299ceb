# SPDX-License-Identifier: Apache-2.0
"""The cost of recording one 720p30 room: `make figures`.

A room server, `tapedeck camera` and `tapedeck record` run as separate processes on loopback. Printed for the recorder,
as the operating system counts it: CPU time of one core while it records, the same while it waits alone in the room,
resident memory over time, threads, descriptors, and the time from the offer to the first unit of each track in its
file. One run each; compare only figures of one run.

CPU time is printed twice: as the machine is, and with its cores kept awake by processes that run only when nothing else
does (SCHED_IDLE). The operating system counts the way out of a core's sleep as the time of the process that is woken;
in a virtual machine that is more than the cost of a packet, and it goes away as a host has more to do.
"""

import argparse
import contextlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

from process import entries, resident_bytes, share_of_core

ROOT = pathlib.Path(__file__).resolve().parents[2]


@contextlib.contextmanager
def awake():
    """Keeps every core from sleeping."""
    spinners = [subprocess.Popen(["taskset", "--cpu-list", str(core), "chrt", "--idle", "0", sys.executable, "-c",
                                  "while True: pass"]) for core in os.sched_getaffinity(0)]
    try:
        yield
    finally:
        for spinner in spinners:
            spinner.kill()
            spinner.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tapedeck", default=str(ROOT / ".build/release/tapedeck"))
    parser.add_argument("--sender", help="the binary that sends and serves, to compare recorders; the same if left out")
    parser.add_argument("--codec", choices=["vp8", "h264"], default="vp8")
    parser.add_argument("--seconds", type=int, default=150, help="length of the recording")
    options = parser.parse_args()

    with tempfile.TemporaryDirectory() as folder:
        def start(command, *arguments, **redirections):
            program = options.tapedeck if command == "record" else options.sender or options.tapedeck
            return subprocess.Popen([program, command, *arguments], cwd=folder, text=True, **redirections)

        server = start("serve", "--listen", "127.0.0.1:0", "--json", stdout=subprocess.PIPE)
        url = f"socketio+http://127.0.0.1:{json.loads(server.stdout.readline())['port']}/figures"
        recorder = start("record", url, "--duration", f"{options.seconds}s", "--json", stdout=subprocess.PIPE,
                         stderr=subprocess.DEVNULL)
        time.sleep(5)
        idle = share_of_core(recorder.pid, 20)
        with awake():
            idle_awake = share_of_core(recorder.pid, 10)
        camera = start("camera", url, "--codec", options.codec, "--bitrate", "1600k", "--json",
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(10)
        resident = []
        half = (options.seconds - 35) / 2
        busy = share_of_core(recorder.pid, half, lambda: resident.append(resident_bytes(recorder.pid)))
        with awake():
            busy_awake = share_of_core(recorder.pid, half, lambda: resident.append(resident_bytes(recorder.pid)))
        threads, descriptors = entries(recorder.pid, "task"), entries(recorder.pid, "fd")
        result = json.loads(recorder.stdout.read())
        for process in (camera, server):
            process.terminate()
            process.wait(20)

    minute = resident[min(50, len(resident) - 1)]
    print(f"codec {options.codec}, {result['durationSeconds']:.1f} s recorded, complete: {result['complete']}")
    for what, recording, waiting in (("as the cores are", busy, idle), ("cores kept awake", busy_awake, idle_awake)):
        print(f"CPU of one core, {what}: recording {100 * recording:.2f} %, idle in the room {100 * waiting:.2f} %, "
              f"difference {100 * (recording - waiting):.2f} %")
    print(f"resident memory: {minute / 1e6:.1f} MB after a minute, {resident[-1] / 1e6:.1f} MB at the end, "
          f"{threads} threads, {descriptors} descriptors")
    for track in result["tracks"]:
        print(f"offer to first unit in the file: {track['codec']} {track['firstUnitMilliseconds']:.0f} ms, "
              f"{track['units']} units, {track['lostPackets']} packets lost")
    return 0


if __name__ == "__main__":
    sys.exit(main())
