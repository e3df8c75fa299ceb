# SPDX-License-Identifier: Apache-2.0
"""Says when the first and the last RTP packet of a host passed, by the kernel's clock; run on the router, as root.

Prints one JSON object on SIGTERM: `first` and `last` in seconds since 1970, and `count`.
"""

import json
import signal
import socket
import struct
import sys

SO_TIMESTAMPNS = 35
EVERY_PROTOCOL, UDP = 3, 17
# Their messages begin with any two bytes: one in four looks like RTP.
NAME_SERVERS = {53, 5353}
TIME = struct.Struct("@ll")


def udp_payload(packet, sources):
    """The content of a datagram of one of these sources; nothing if it is none, or one to a name server."""
    if len(packet) < 28:
        return b""
    version, source, head = packet[0] >> 4, packet[12:16], (packet[0] & 15) * 4
    protocol = packet[9]
    if version == 6:
        protocol, source, head = packet[6], packet[8:24], 40
    if protocol != UDP or source not in sources or int.from_bytes(packet[head + 2:head + 4]) in NAME_SERVERS:
        return b""
    return packet[head + 8:]


def is_rtp(payload):
    """Whether it is RTP and neither RTCP, DTLS nor STUN (RFC 7983, RFC 5761)."""
    return len(payload) > 12 and payload[0] >> 6 == 2 and not 64 <= payload[1] & 0x7F <= 95


def main():
    interface = sys.argv[1]
    sources = [socket.inet_pton(socket.AF_INET6 if ":" in text else socket.AF_INET, text) for text in sys.argv[2:]]
    found = {"first": None, "last": None, "count": 0}

    def finish(*_):
        print(json.dumps(found), flush=True)
        sys.exit(0)

    signal.signal(signal.SIGTERM, finish)
    with socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(EVERY_PROTOCOL)) as listener:
        listener.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 24)
        listener.bind((interface, 0))
        print(json.dumps({"event": "listening"}), flush=True)
        while True:
            packet, ancillary, _, address = listener.recvmsg(2048, 64)
            if address[2] == socket.PACKET_OUTGOING or not is_rtp(udp_payload(packet, sources)):
                continue
            seconds, nanoseconds = TIME.unpack(ancillary[0][2][:TIME.size])
            found["last"] = seconds + nanoseconds / 1e9
            found["first"] = found["first"] or found["last"]
            found["count"] += 1


if __name__ == "__main__":
    main()
