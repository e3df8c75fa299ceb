# SPDX-License-Identifier: Apache-2.0
"""The cost of recording a SkyRTC room of ten: ten cameras of 640x360 at 15 frames a second, and one recorder.

The room is one of Tests/Peers/skyrtc_server.py with --star: the cameras see the recorder only, which keeps the host's
two cores from being spent on calls between them. Printed for the recorder, as the operating system counts it: CPU time
of one core while it records all of them, resident memory, threads, and bytes written. One run; it takes a minute.

"""

import argparse
import json
import subprocess
import sys
import tempfile
import time

from process import entries, resident_bytes, share_of_core
from recording_cost import ROOT


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tapedeck", default=str(ROOT / ".build/release/tapedeck"))
    parser.add_argument("--peers", type=int, default=10)
    parser.add_argument("--seconds", type=int, default=30, help="of the measurement")
    options = parser.parse_args()

    with tempfile.TemporaryDirectory() as folder:
        def start(*command, **redirections):
            return subprocess.Popen([str(part) for part in command], cwd=folder, text=True, stderr=subprocess.DEVNULL,
                                    **redirections)

        server = start(ROOT / ".venv/peers/bin/python", ROOT / "Tests/Peers/skyrtc_server.py", "--star",
                       stdout=subprocess.PIPE)
        url = f"skyrtc+ws://127.0.0.1:{json.loads(server.stdout.readline())['port']}/wss?room=figures"
        recorder = start(options.tapedeck, "record", url, "--json", stdout=subprocess.PIPE)
        time.sleep(3)
        cameras = []
        for _ in range(options.peers):
            cameras.append(start(options.tapedeck, "camera", url, "--size", "640x360", "--fps", "15", "--bitrate",
                                 "500k", stdout=subprocess.DEVNULL))
            time.sleep(0.5)
        time.sleep(8)
        busy = share_of_core(recorder.pid, options.seconds)
        memory, threads = resident_bytes(recorder.pid), entries(recorder.pid, "task")
        recorder.terminate()
        result = json.loads(recorder.stdout.read())
        for process in (*cameras, server):
            process.terminate()
        for process in (*cameras, server, recorder):
            process.wait(20)

    video = [track for track in result["tracks"] if track["kind"] == "video"]
    rates = sorted(track["units"] / result["durationSeconds"] for track in video)
    print(f"{len(video)} pictures and {len(result['tracks']) - len(video)} sounds in "
          f"{result['durationSeconds']:.0f} s, {rates[0]:.1f} to {rates[-1]:.1f} frames a second over all, "
          f"{sum(track['lostPackets'] for track in result['tracks'])} packets lost")
    print(f"CPU of one core: {100 * busy:.1f} %, resident memory {memory / 1e6:.0f} MB, {threads} threads")
    return 0


if __name__ == "__main__":
    sys.exit(main())
