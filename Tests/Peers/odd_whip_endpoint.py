#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A WHIP and WHEP endpoint on aiortc that answers as servers of others do.

--odd KIND says how:
  loose        an answer as ZLMediaKit makes it: its user fragment has characters that RFC 8839 does not have, every m-line says
               ice-lite and names a TCP candidate, and empty lines follow the last one
  named        an answer whose candidates have a name in the place of an address, to an offer of which no candidate is reached
  late-relay   relays are named in the answer to an offer alone (--link), with an entity tag without quotes
  sound-only   an answer that is inactive on the line of video
  empty-line   an answer that refuses the second line, outside of its bundle and without any format

Runs in .venv/peers, as whip_endpoint.py.
"""

import re

from aiohttp import web
from aiortc import RTCSessionDescription

from aiortc_peer import report
from whip_endpoint import SDP, Endpoint, Session, main, parser

KINDS = ("loose", "named", "late-relay", "sound-only", "empty-line")
FRAGMENT = "wKjZsR9AH0A=_6"


def without_way(sdp):
    """The offer with candidates at an address that nobody has (RFC 5737)."""
    return re.sub(r"(a=candidate:\S+ \d \S+ \d+ )\S+", r"\g<1>192.0.2.9", sdp)


def loose(sdp):
    lines = []
    for line in sdp.rstrip().split("\r\n"):
        if line.startswith("a=candidate"):
            line = re.sub(r"a=candidate:\S+", "a=candidate:udpcandidate", line)
            lines.append("a=candidate:tcpcandidate 1 tcp 115 127.0.0.1 9 typ host tcptype passive")
        lines.append(line)
        if line.startswith("a=mid:"):
            lines.append("a=ice-lite")
    return "\r\n".join(lines) + "\r\n\r\n\r\n"


def with_one_line(sdp):
    """The answer that refuses its second m-line."""
    head, first, second = re.split(r"(?m)^(?=m=)", sdp)
    mid = re.search(r"(?m)^a=mid:(\S+)", second)[1]
    kind = second[2:].split(" ")[0]
    head = re.sub(r"(?m)^(a=group:BUNDLE.*?) " + mid + r"\b", r"\1", head)
    return head + first + f"m={kind} 0 UDP/TLS/RTP/SAVPF\r\nc=IN IP4 0.0.0.0\r\na=mid:{mid}\r\na=inactive\r\n"


class OddEndpoint(Endpoint):
    def __init__(self, options):
        super().__init__(options)
        self.kind = options.odd

    async def offer_of(self, request, directions):
        sdp = await request.text()
        report(event="offer", sdp=sdp)
        return sdp, None

    async def ask(self, request):
        return web.Response(status=405)

    async def post(self, request):
        publishes = request.match_info["kind"] == "whip"
        sdp, _ = await self.offer_of(request, [])
        session = Session(self.connection(publishes), (None, None))
        self.sessions[session.id] = session
        pc = session.connection.pc
        given = without_way(sdp) if self.kind == "named" else sdp
        await pc.setRemoteDescription(RTCSessionDescription(sdp=given, type="offer"))
        if self.kind == "loose":
            for transceiver in pc.getTransceivers():
                transceiver.receiver.transport.transport.iceGatherer._connection._local_username = FRAGMENT
        if self.kind == "sound-only":
            for transceiver in pc.getTransceivers():
                if transceiver.kind == "video":
                    transceiver.direction = "inactive"
        await pc.setLocalDescription(await pc.createAnswer())
        answer = pc.localDescription.sdp
        if self.kind == "loose":
            answer = loose(answer)
        if self.kind == "empty-line":
            answer = with_one_line(answer)
        if self.kind == "named":
            answer = re.sub(r"(a=candidate:\S+ \d \S+ \d+ )127\.0\.0\.1", rf"\g<1>{self.options.name}",
                            "\r\n".join(line for line in answer.split("\r\n")
                                        if not line.startswith("a=candidate") or " 127.0.0.1 " in line))
        report(event="answer", sdp=answer)
        headers = [("Location", f"../session/{session.id}"), ("ETag", "6abdf737"), *self.links()]
        return web.Response(status=201, text=answer, content_type=SDP, headers=headers)


def options():
    found = parser(__doc__)
    found.add_argument("--odd", choices=KINDS, required=True)
    found.add_argument("--name", default="localhost", help="what candidates of `named` have in the place of an address")
    return found


if __name__ == "__main__":
    main(OddEndpoint, options())
