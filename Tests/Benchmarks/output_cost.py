# SPDX-License-Identifier: Apache-2.0
"""The cost of RTP outputs: `make figures OF=output`.

Two `tapedeck record` in one room take the same 720p30 camera at the same time, one of them with outputs to sockets of
this process. Printed is the CPU time of one core that each uses, as the operating system counts it, and the difference
for one output of one participant (its video and its audio). Halfway the two change roles, in a second call: a
difference between first and second is then not counted as a cost.
"""

import argparse
import json
import pathlib
import socket
import subprocess
import sys
import tempfile
import threading
import time

from process import cpu_seconds
from recording_cost import ROOT

sys.path.insert(0, str(ROOT / "Tests" / "EndToEnd"))
import rtp  # noqa: E402


def drain(sockets, has_ended):
    """Takes what comes, so that no socket is full; this process is not measured."""
    buffer = bytearray(2048)
    while not has_ended.wait(0.01):
        for one in sockets:
            try:
                while one.recv_into(buffer):
                    pass
            except BlockingIOError:
                pass


def receivers(port):
    found = []
    for number in range(port, port + 4):
        one = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        one.bind(("127.0.0.1", number))
        one.setblocking(False)
        found.append(one)
    return found


def call(options, with_outputs_first):
    """CPU shares without and with outputs, and the packets that were sent on in a second."""
    with tempfile.TemporaryDirectory() as folder:
        def start(*arguments, **redirections):
            return subprocess.Popen([options.tapedeck, *arguments], cwd=folder, text=True, stderr=subprocess.DEVNULL,
                                    **redirections)

        server = start("serve", "--listen", "127.0.0.1:0", "--room-size", "3", "--json", stdout=subprocess.PIPE)
        url = f"socketio+http://127.0.0.1:{json.loads(server.stdout.readline())['port']}/figures"
        flags, sockets = [], []
        for _ in range(options.outputs):
            port = rtp.free_ports()
            sockets += receivers(port)
            flags += ["--rtp", f"127.0.0.1:{port}"]
        has_ended = threading.Event()
        drainer = threading.Thread(target=drain, args=(sockets, has_ended))
        drainer.start()

        def record(name, *arguments):
            return start("record", url, "--json", "--directory", pathlib.Path(folder) / name, *arguments,
                         stdout=subprocess.PIPE)

        camera = start("camera", url, "--codec", options.codec, "--bitrate", "1600k", stdout=subprocess.DEVNULL)
        time.sleep(2)
        if with_outputs_first:
            sending, plain = record("sending", *flags), record("plain")
        else:
            plain, sending = record("plain"), record("sending", *flags)
        time.sleep(15)
        began = time.monotonic()
        before = cpu_seconds(plain.pid), cpu_seconds(sending.pid)
        time.sleep(options.seconds)
        after = cpu_seconds(plain.pid), cpu_seconds(sending.pid)
        elapsed = time.monotonic() - began
        results = []
        for process in (plain, sending):
            process.terminate()
            results.append(json.loads(process.stdout.read()))
            process.wait(60)
        for process in (camera, server):
            process.terminate()
            process.wait(20)
        has_ended.set()
        drainer.join()
        for one in sockets:
            one.close()
    outputs = results[1]["outputs"]
    packets = sum(output["packets"] for output in outputs) / len(outputs) / results[1]["durationSeconds"]
    dropped = sum(output["droppedPackets"] for output in outputs)
    shares = [(end - start) / elapsed for start, end in zip(before, after)]
    print(f"plain {100 * shares[0]:.2f} %, with {len(outputs)} outputs {100 * shares[1]:.2f} % of a core, "
          f"{packets:.0f} packets a second in each, {dropped} dropped")
    return shares


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tapedeck", default=str(ROOT / ".build/release/tapedeck"))
    parser.add_argument("--codec", choices=["vp8", "h264"], default="vp8")
    parser.add_argument("--outputs", type=int, default=8)
    parser.add_argument("--seconds", type=int, default=60, help="length of each of the two measurements")
    options = parser.parse_args()
    options.tapedeck = str(pathlib.Path(options.tapedeck).resolve())
    shares = [call(options, order) for order in (False, True)]
    each = [100 * (sending - plain) / options.outputs for plain, sending in shares]
    mean = sum(each) / len(each)
    print(f"one output of a 720p participant with sound: {mean:.3f} % of a core ({each[0]:.3f}, {each[1]:.3f})")
    return 0 if mean <= 0.3 else 1


if __name__ == "__main__":
    sys.exit(main())
