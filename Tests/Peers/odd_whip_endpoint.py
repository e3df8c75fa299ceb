#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A WHIP and WHEP endpoint on aiortc that answers as servers of others do.

--odd KIND says how:
  loose        an answer as ZLMediaKit makes it: its user fragment has characters that RFC 8839 does not have, every m-line says
               ice-lite and names a TCP candidate, and empty lines follow the last one
  named        an answer whose candidates have a name in the place of an address, to an offer of which no candidate is reached
  late-relay   relays are named in the answer to an offer alone (--link), with an entity tag without quotes
  accepted     202 in the place of 201, without Location
  sound-only   an answer that is inactive on the line of video
  refused      an answer that refuses the second line, outside of its bundle
  empty-line   the same, without any format on that line
  picky        406 without a description for offers of audio and video, as it has one of them alone
  poor         REMB of 0 bit/s for some seconds, then of 3 Mbit/s

Runs in .venv/peers, as whip_endpoint.py.
"""

import argparse
import asyncio
import contextlib
import re
import signal
import struct
import time

from aiohttp import web
from aiortc import RTCSessionDescription
from aiortc.rtcdtlstransport import RTCDtlsTransport

from aiortc_peer import LIMIT, gather_loopback, report, run_to_the_end
from whip_endpoint import SDP, Endpoint, Session

KINDS = ("loose", "named", "late-relay", "accepted", "sound-only", "refused", "empty-line", "picky", "poor")
FRAGMENT = "wKjZsR9AH0A=_6"
POOR_SECONDS = 6


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


def with_one_line(sdp, has_format):
    """The answer that refuses its second m-line."""
    head, first, second = re.split(r"(?m)^(?=m=)", sdp)
    mid = re.search(r"(?m)^a=mid:(\S+)", second)[1]
    kind = second[2:].split(" ")[0]
    head = re.sub(r"(?m)^(a=group:BUNDLE.*?) " + mid + r"\b", r"\1", head)
    rest = " 0" if has_format else ""
    return head + first + f"m={kind} 0 UDP/TLS/RTP/SAVPF{rest}\r\nc=IN IP4 0.0.0.0\r\na=mid:{mid}\r\na=inactive\r\n"


def estimate(source, bits):
    """A report without blocks and REMB (draft-alvestrand-rmcat-remb-03 section 2.2)."""
    exponent = max(0, bits.bit_length() - 18)
    rate = struct.pack("!I", 1 << 24 | exponent << 18 | bits >> exponent)
    return (struct.pack("!BBHI", 0x80, 201, 1, 77)
            + struct.pack("!BBHII", 0x8F, 206, 5, 77, 0) + b"REMB" + rate + struct.pack("!I", source))


class OddEndpoint(Endpoint):
    def __init__(self, options):
        super().__init__(options)
        self.kind = options.odd

    def check_token(self, request):
        pass

    async def offer_of(self, request, directions):
        sdp = await request.text()
        report(event="offer", sdp=sdp)
        return sdp, None

    async def ask(self, request):
        return web.Response(status=405)

    async def post(self, request):
        publishes = request.match_info["kind"] == "whip"
        sdp, _ = await self.offer_of(request, [])
        if self.kind == "picky" and "m=audio" in sdp and "m=video" in sdp:
            return web.Response(status=406, text="there is no audio")
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
        if self.kind in ("refused", "empty-line"):
            answer = with_one_line(answer, self.kind == "refused")
        if self.kind == "named":
            answer = re.sub(r"(a=candidate:\S+ \d \S+ \d+ )127\.0\.0\.1", rf"\g<1>{self.options.name}",
                            "\r\n".join(line for line in answer.split("\r\n")
                                        if not line.startswith("a=candidate") or " 127.0.0.1 " in line))
        if self.kind == "poor" and publishes:
            session.connection.tasks.append(asyncio.create_task(self.estimate_poorly(pc)))
        report(event="answer", sdp=answer)
        if self.kind == "accepted":
            return web.Response(status=202, text=answer, content_type=SDP)
        headers = [("Location", f"../session/{session.id}"), ("ETag", "6abdf737"), *self.links()]
        return web.Response(status=201, text=answer, content_type=SDP, headers=headers)

    async def estimate_poorly(self, pc):
        began = None
        while True:
            await asyncio.sleep(0.2)
            receiver, = [each.receiver for each in pc.getTransceivers() if each.kind == "video"]
            sources = [each.ssrc for each in receiver.getSynchronizationSources()] or [0]
            if receiver.transport.state != "connected":
                continue
            began = began or time.monotonic()
            bits = 0 if time.monotonic() - began < POOR_SECONDS else 3_000_000
            await receiver.transport._send_rtp(estimate(sources[0], bits))

    async def run(self):
        application = web.Application(middlewares=[self.guard])
        application.add_routes([
            web.post("/{kind:whip|whep}/{name}", self.post), web.patch("/session/{id}", self.patch),
            web.delete("/session/{id}", self.delete), web.options("/{kind:whip|whep}/{name}", self.ask),
        ])
        ended = asyncio.Event()
        for name in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(name, ended.set)
        runner = web.AppRunner(application, access_log=None)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", self.options.port)
        await site.start()
        report(event="listening", port=site._server.sockets[0].getsockname()[1])
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(ended.wait(), self.options.limit)
        for session in self.sessions.values():
            await session.connection.close()
        await runner.cleanup()
        report(event="end", left=len(self.sessions))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--odd", choices=KINDS, required=True)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--link", action="append", default=[])
    parser.add_argument("--name", default="localhost", help="what candidates of `named` have in the place of an address")
    parser.add_argument("--codec", choices=("vp8", "h264"))
    parser.add_argument("--size", default="320x180")
    parser.add_argument("--fps", type=int, default=15)
    parser.add_argument("--notes", metavar="FILE")
    parser.add_argument("--limit", type=float, default=LIMIT)
    options = parser.parse_args()
    options.width, options.height = map(int, options.size.split("x"))
    options.token, options.conflicts = None, 0
    gather_loopback()
    run_to_the_end(OddEndpoint(options).run())


if __name__ == "__main__":
    main()
