#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The aiortc peer, which on command floods a peer that only receives: with packets that no sender should send,
encrypted and in order.

Additional commands, one a line: `flood KIND SECONDS` sends packets of a kind at --flood-rate in place of its audio.
Prints `flooding` when it begins and `flooded` with figures when it is done, or when the server kicked the flooder.
`bits` are those of the datagrams, headers included: a busy machine may not reach the requested rate.

Runs in .venv/peers, as aiortc_peer.py.

"""

import asyncio
import itertools
import random
import re
import struct
import time

from aiortc.rtcdtlstransport import RTCDtlsTransport

import aiortc_peer

HEADERS = 28
TICKS = 960
# 20 ms of CELT in one frame (RFC 6716, 3.1): any bytes after it are audio.
OPUS = bytes([0xF8])
LARGE, SMALL = OPUS + bytes(399), OPUS + bytes(59)
SENDER_REPORT, RECEIVER_REPORT, DESCRIPTIONS, PICTURE_LOSS = 200, 201, 202, 206
# Sources that the description of our audio names in addition to its own; each is a track.
ANNOUNCED = [0x7A000000 + number for number in range(200)]
# How many fit into one datagram.
REPORTS, REQUESTS = 42, 90
BATCH = 32


class LastPackets:
    """The last sequence number and time stamp of each source of a peer, of all its connections."""

    def __init__(self):
        self.found = {}
        send = RTCDtlsTransport._send_rtp

        async def noted(transport, data):
            if len(data) >= 12 and not 64 <= data[1] & 0x7F <= 95:
                sequence, ticks, source = struct.unpack("!HII", data[2:12])
                self.found[transport, source] = sequence, ticks
            await send(transport, data)

        RTCDtlsTransport._send_rtp = noted


def rtp(kind, sequence, ticks, source, payload):
    return struct.pack("!BBHII", 0x80, kind, sequence & 0xFFFF, ticks & 0xFFFFFFFF, source) + payload


def clocks(kind, source, sequence, ticks):
    """The RTP clock restarts with each packet."""
    for number in itertools.count(1):
        yield rtp(kind, sequence + number, ticks + number * TICKS + number % 2 * 10 * 48000, source, LARGE)


def sequences(kind, source, sequence, ticks):
    """Thousands of packets are missing in front of each."""
    for number in itertools.count(1):
        yield rtp(kind, sequence + number * 3001, ticks + number * TICKS, source, LARGE)


def units(kind, source, sequence, ticks):
    """More packets than anybody listens to, each a unit."""
    for number in itertools.count(1):
        yield rtp(kind, sequence + number, ticks + number * TICKS, source, SMALL)


def sources(kind, source, sequence, ticks):
    """Each packet is of another source."""
    while True:
        yield rtp(kind, random.getrandbits(16), random.getrandbits(32), random.getrandbits(32), LARGE)


def payload_types(kind, source, sequence, ticks):
    """Each packet is of another payload type, of any of some sources."""
    types = [*range(64), *range(96, 128)]
    for number in itertools.count():
        turn, index = divmod(number, 64)
        yield rtp(types[turn % len(types)], turn, ticks + turn * TICKS, source + 1 + index, SMALL)


def tracks(kind, source, sequence, ticks):
    """Each packet is of another of the sources that were announced, all of which are audio."""
    for number in itertools.count():
        turn, index = divmod(number, len(ANNOUNCED))
        yield rtp(kind, turn, turn * TICKS, ANNOUNCED[index], LARGE)


def contributors(kind, source, sequence, ticks):
    """Each packet has fifteen other contributing sources."""
    for number in itertools.count(1):
        packet = rtp(kind, sequence + number, ticks + number * TICKS, source, random.randbytes(15 * 4) + SMALL)
        yield bytes([0x8F]) + packet[1:]


def descriptions(kind, source, sequence, ticks):
    """SDES of as many other sources as fit into a packet."""
    packet = struct.pack("!BBHI", 0x80, RECEIVER_REPORT, 1, source)
    full = struct.pack("!BBH", 0x80 | 31, DESCRIPTIONS, 62)
    while True:
        yield packet + b"".join(
            full + b"".join(random.randbytes(4) + bytes(4) for _ in range(31)) for _ in range(5))


def reports(kind, source, sequence, ticks):
    """Sender reports, as many as fit into a packet."""
    for number in itertools.count(1):
        at = time.time_ns() + 2208988800 * 10**9
        report = struct.pack("!BBHIIIIII", 0x80, SENDER_REPORT, 6, source, at // 10**9, 0, ticks & 0xFFFFFFFF, number, 1)
        yield report * REPORTS


def requests(kind, source, sequence, ticks):
    """PLI requests, as many as fit into a packet."""
    packet = struct.pack("!BBHII", 0x81, PICTURE_LOSS, 2, source, 1)
    while True:
        yield packet * REQUESTS


def forged(kind, source, sequence, ticks):
    """As units, and encrypted with a key that no one has."""
    return units(kind, source, sequence, ticks)


KINDS = {each.__name__: each for each in (
    clocks, sequences, units, sources, payload_types, tracks, contributors, descriptions, reports, requests, forged)}
# For AES_CM_128_HMAC_SHA1_80 (RFC 3711, 5.2).
TAG = 10


class FloodingConnection(aiortc_peer.Connection):
    """A peer whose descriptions name more audio sources than it has, where --announce wants them."""

    def local_description(self):
        description = super().local_description()
        if self.options.announce:
            # Only audio has a codec of this name.
            named = "".join(f"a=ssrc:{source} cname:flood\r\n" for source in ANNOUNCED)
            description["sdp"] = re.sub(
                r"(a=rtpmap:\d+ opus/.*\r\n)", lambda line: line[1] + named, description["sdp"], count=1)
        return description


class FloodingPeer(aiortc_peer.Peer):
    def __init__(self, options):
        super().__init__(options)
        self.last = LastPackets()
        self.flood_task = None

    def obey(self, command):
        if command.startswith("flood "):
            _, kind, seconds = command.split()
            self.flood_task = asyncio.create_task(self.flood(kind, float(seconds)))
        else:
            super().obey(command)

    async def replace_connection(self, member):
        await self.drop_connection(member)
        self.connections[member] = FloodingConnection(self.options)
        return self.connections[member]

    @property
    def victim(self):
        """The member, and the connection, of the peer that sends nothing."""
        return next((member, connection) for member, connection in self.connections.items()
                    if not re.search(r"(?m)^a=send", connection.pc.remoteDescription.sdp))

    async def flood(self, kind, seconds):
        """On the next connection too, where a flood was too much for the flooder's own ICE."""
        aiortc_peer.report(event="flooding", kind=kind)
        self.began, self.sent, self.count, self.flooded_connections = time.monotonic(), 0, 0, 0
        send = self.signals if kind == "candidates" else self.packets
        while (left := self.began + seconds - time.monotonic()) > 0:
            self.flooded_connections += 1
            try:
                await self.pace(left, await send(kind))
            except Exception as error:
                aiortc_peer.report(event="interrupted", reason=repr(error))
                await asyncio.sleep(0.5)
        self.tell_flooded()

    def tell_flooded(self):
        aiortc_peer.report(event="flooded", packets=self.count, bits=self.sent * 8,
                           connections=self.flooded_connections, seconds=round(time.monotonic() - self.began, 1))

    async def on_disconnect(self, *arguments):
        """His answers to the server's pings wait behind a flood of signals."""
        if self.flood_task and not self.flood_task.done():
            self.flood_task.cancel()
            self.tell_flooded()
        await super().on_disconnect(*arguments)

    async def packets(self, kind):
        """Sends one packet to the present victim."""
        connection = self.victim[1]
        sender = next(sender for sender in connection.pc.getSenders() if sender.kind == "audio")
        payload_type = int(re.search(r"a=rtpmap:(\d+) opus/", connection.pc.localDescription.sdp)[1])
        # Its own packets would come between.
        sender.replaceTrack(None)
        await asyncio.sleep(0.2)
        transport = sender.transport
        pair = transport.transport._connection._nominated[1]
        send, address = pair.protocol.transport.sendto, pair.remote_addr
        last = self.last.found[transport, sender._ssrc]
        packets = KINDS[kind](payload_type, sender._ssrc, *last)
        is_control = kind in ("descriptions", "reports", "requests")
        protect = transport._tx_srtp.protect_rtcp if is_control else transport._tx_srtp.protect
        if kind == "forged":
            def protect(packet):
                return packet + random.randbytes(TAG)

        async def one():
            if connection.pc.connectionState != "connected":
                raise ConnectionError(connection.pc.connectionState)
            data = protect(next(packets))
            send(data, address)
            return len(data) + HEADERS
        return one

    async def signals(self, kind):
        member = self.victim[0]
        numbers = itertools.count(1)

        async def one():
            line = f"candidate:{next(numbers)} 1 udp 2130706431 192.0.2.7 {random.randint(1024, 65535)} typ host"
            await self.send(member, {"type": "candidate", "label": 0, "id": "0", "candidate": line})
            return len(line) + HEADERS
        return one

    async def pace(self, seconds, one):
        began, sent = time.monotonic(), 0
        while (elapsed := time.monotonic() - began) < seconds:
            if sent * 8 >= elapsed * self.options.flood_rate:
                await asyncio.sleep(0.002)
                continue
            for _ in range(BATCH):
                size = await one()
                sent += size
                self.sent += size
                self.count += 1
            await asyncio.sleep(0)


def add(parser):
    parser.add_argument("--flood-rate", type=float, default=10e6, help="bit/s")
    parser.add_argument("--announce", action="store_true", help="the sources of the flood `tracks`, from the beginning")


if __name__ == "__main__":
    aiortc_peer.main(__doc__, FloodingPeer, add)
