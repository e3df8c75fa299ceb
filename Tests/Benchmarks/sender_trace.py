# SPDX-License-Identifier: Apache-2.0
"""How Chromium spaces the packets of its video: writes chromium.trace, which `make bench` sends by. Needs root.

Chromium calls `tapedeck record` in a room on this machine, with its fake camera. The kernel says when each packet passed.
Each line of the trace is a frame: by how many milliseconds each of its packets left after the instant of the frame, which
is its RTP timestamp on a clock that no packet is before.
"""

import argparse
import pathlib
import socket
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "Tests" / "EndToEnd"))
from packet_clock import EVERY_PROTOCOL, SO_TIMESTAMPNS, TIME, UDP, is_rtp  # noqa: E402
from peers import room_url  # noqa: E402
from stage import Stage  # noqa: E402

RATE = 90000


def datagram(packet):
    """The content of a UDP datagram over IPv4; nothing if it is none."""
    return packet[(packet[0] & 15) * 4 + 8:] if len(packet) > 28 and packet[0] >> 4 == 4 and packet[9] == UDP else b""


def heard(seconds):
    """`(source, timestamp, size, nanoseconds)` of each RTP packet that passes on this machine."""
    found, until = [], time.monotonic() + seconds
    with socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(EVERY_PROTOCOL)) as listener:
        listener.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 24)
        listener.bind(("lo", 0))
        listener.settimeout(1)
        while time.monotonic() < until:
            packet, ancillary, _, address = listener.recvmsg(2048, 64)
            payload = datagram(packet)
            if address[2] == socket.PACKET_OUTGOING or not is_rtp(payload):
                continue
            passed, nanoseconds = TIME.unpack(ancillary[0][2][:TIME.size])
            found.append((payload[8:12], int.from_bytes(payload[4:8]), len(payload), passed * 10**9 + nanoseconds))
    return found


def frames(packets):
    """The delays of each frame's packets in milliseconds, of the source that sends most."""
    sizes = {}
    for source, _, size, _ in packets:
        sizes[source] = sizes.get(source, 0) + size
    video = max(sizes, key=sizes.get)
    by_frame, first = {}, None
    for source, timestamp, _, at in packets:
        if source == video:
            first = first or (timestamp, at)
            instant = ((timestamp - first[0] + 2**31) % 2**32 - 2**31) * 1000 / RATE
            by_frame.setdefault(instant, []).append((at - first[1]) / 1e6 - instant)
    # The first and the last may be parts of frames.
    whole = [by_frame[instant] for instant in sorted(by_frame)][1:-1]
    least = min(min(delays) for delays in whole)
    return [[delay - least for delay in delays] for delays in whole]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tapedeck", default=str(ROOT / ".build/release/tapedeck"))
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("--settle", type=int, default=20, help="seconds in which Chromium finds its rate")
    parser.add_argument("--output", type=pathlib.Path, default=pathlib.Path(__file__).with_name("chromium.trace"))
    options = parser.parse_args()
    version = subprocess.run(["chromium", "--version"], check=True, capture_output=True, text=True).stdout.strip()
    with tempfile.TemporaryDirectory() as folder:
        stage = Stage(folder, str(pathlib.Path(options.tapedeck).resolve()))
        try:
            server = stage.room_server(5)
            stage.start("tapedeck", stage.tapedeck_path, "record", room_url(server, "trace"), "--directory", stage.folder)
            stage.browser(server, "trace", "--send", "--codec", "vp8", "--size", "1280x720").wait_for_event("connected")
            time.sleep(options.settle)
            found = frames(heard(options.seconds))
        finally:
            stage.finish()
    gaps = [after - before for delays in found for before, after in zip(delays, delays[1:])]
    print(f"{len(found)} frames, {sum(map(len, found))} packets; {sum(gap < 0.3 for gap in gaps) / len(gaps):.0%} of the "
          f"packets follow the one before in their frame within 0.3 ms, {sum(gap > 4 for gap in gaps) / len(gaps):.0%} "
          "after more than 4 ms")
    lines = [" ".join(f"{delay:.2f}" for delay in delays) for delays in found]
    options.output.write_text("\n".join([f"# {version}, VP8 1280x720, over loopback; written by sender_trace.py", *lines, ""]))


if __name__ == "__main__":
    main()
