# SPDX-License-Identifier: Apache-2.0
"""The cost of recording compared with webrtcbin alone: `make figures OF=stage_one`.

Two test cameras send 720p30 at 1.6 Mbit/s with Opus on loopback at the same time: one to `tapedeck record`, one to a C
program in which every track that webrtcbin receives ends in a fakesink. Printed, of both: the CPU time of one core as the
operating system counts it, over the same span. Several rounds in one run; their median counts.
"""

import argparse
import json
import pathlib
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time

from process import cpu_seconds
from programs import Talker, build, free_port
from recording_cost import ROOT


def answer_by(program, listener):
    """Gives the offer of the one call that comes by bare TCP to the program, and its answer back; the connection."""
    connection, _ = listener.accept()
    connection.settimeout(20)
    buffer = b""
    while True:
        *messages, buffer = (buffer + connection.recv(65536)).split(b"|")
        for message in map(json.loads, messages):
            if message["event"] != "offer":
                continue
            answer = program.answer(message["sdp"])
            connection.sendall(json.dumps({"event": "answer", "sdp": answer}).encode() + b"|")
            connection.settimeout(None)
            return connection


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tapedeck", default=str(ROOT / ".build/release/tapedeck"))
    parser.add_argument("--codec", choices=["vp8", "h264"], default="vp8")
    parser.add_argument("--seconds", type=int, default=40, help="length of a round")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()

    with tempfile.TemporaryDirectory() as folder:
        floor = Talker([build("webrtcbin_receiver", folder)], pathlib.Path(folder))
        running = []

        def start(command, **redirections):
            running.append(subprocess.Popen(command, cwd=folder, text=True, **redirections))
            return running[-1]

        def camera(port):
            start([options.tapedeck, "camera", f"lan+tcp://127.0.0.1:{port}", "--codec", options.codec, "--bitrate",
                   "1600k", "--size", "1280x720"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

        listener = socket.create_server(("127.0.0.1", 0))
        port = free_port()
        recorder = start([options.tapedeck, "record", f"lan+tcp://127.0.0.1:{port}?listen", "--directory", "storage",
                          "--duration", f"{options.seconds * options.rounds + 30}s", "--json"],
                         stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        time.sleep(2)
        camera(port)
        camera(listener.getsockname()[1])
        connection = answer_by(floor, listener)
        # The camera's later output is read and dropped.
        threading.Thread(target=lambda: all(iter(lambda: connection.recv(65536), b"")), daemon=True).start()
        time.sleep(10)
        rounds = []
        for _ in range(options.rounds):
            before, began = (cpu_seconds(recorder.pid), cpu_seconds(floor.process.pid)), time.monotonic()
            time.sleep(options.seconds)
            spent = time.monotonic() - began
            rounds.append([100 * (now - then) / spent
                           for now, then in zip((cpu_seconds(recorder.pid), cpu_seconds(floor.process.pid)), before)])
        packets = int(floor.end())
        result = json.loads(recorder.stdout.read())
        for process in running:
            process.terminate()
        for process in running:
            process.wait(20)

    ratios = [record / floor for record, floor in rounds]
    for record, floor in rounds:
        print(f"tapedeck record {record:.2f} % of a core, webrtcbin with fakesinks {floor:.2f} %, ratio {record / floor:.2f}")
    print(f"median ratio {statistics.median(ratios):.2f}, {min(ratios):.2f} to {max(ratios):.2f}; "
          f"{sum(track['units'] for track in result['tracks'])} units recorded, "
          f"{sum(track['lostPackets'] for track in result['tracks'])} packets lost; {packets} packets in fakesinks")
    return 0


if __name__ == "__main__":
    sys.exit(main())
