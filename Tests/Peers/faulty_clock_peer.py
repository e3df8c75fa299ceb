#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The aiortc peer, whose RTP clocks go wrong on command, as those of phones, servers and muted browsers do.

Additional command: `fault KIND SECONDS`, for its media to a peer that only receives. `ahead` and `back` move the clocks
by this many seconds, `restart` gives them any other time, `freeze` stops media and clocks for this long, and `none`
does nothing. Sender reports state the clocks truthfully. Prints `fault` with the counter of the next frame.

Runs in .venv/peers, as aiortc_peer.py; not meant for --own-reports.

"""

import random
import re
import struct
import types

from aiortc.rtcdtlstransport import RTCDtlsTransport

import aiortc_peer

SENDER_REPORT = 200


class Offsets:
    """By how many ticks the clock of each source goes wrong, in all that is sent."""

    def __init__(self):
        self.ticks = {}
        send = RTCDtlsTransport._send_rtp

        async def wrong(transport, data):
            await send(transport, self.control(data) if 64 <= data[1] & 0x7F <= 95 else self.packet(data))

        RTCDtlsTransport._send_rtp = wrong

    def moved(self, data, source, at):
        if source not in self.ticks:
            return data
        ticks, = struct.unpack("!I", data[at:at + 4])
        return data[:at] + struct.pack("!I", ticks + self.ticks[source] & 0xFFFFFFFF) + data[at + 4:]

    def packet(self, data):
        return self.moved(data, struct.unpack("!I", data[8:12])[0], 4)

    def control(self, data):
        done = b""
        while len(data) >= 8:
            size = 4 * (struct.unpack("!H", data[2:4])[0] + 1)
            one, data = data[:size], data[size:]
            if one[1] == SENDER_REPORT:
                one = self.moved(one, struct.unpack("!I", one[4:8])[0], 16)
            done += one
        return done


def freezable(track, rate, count, per_second):
    """Lets a track of the test pattern stand still: `count` names its counter, of which there are so many a second."""
    receive = track.recv
    track.frozen, track.freeze = 0, 0

    async def recv(self):
        pause, self.freeze = self.freeze, 0
        setattr(self, count, getattr(self, count) + pause * per_second)
        frame = await receive()
        # Only now: reports before this are about the time before.
        self.first_time += pause
        self.frozen += pause
        frame.pts -= self.frozen * rate
        return frame

    track.recv = types.MethodType(recv, track)


class FaultyPeer(aiortc_peer.Peer):
    def __init__(self, options):
        super().__init__(options)
        self.offsets = Offsets()

    async def replace_connection(self, member):
        connection = await super().replace_connection(member)
        for sender in connection.pc.getSenders():
            if sender.kind == "video":
                freezable(sender.track, aiortc_peer.VIDEO_RATE, "counter", self.options.fps)
            else:
                freezable(sender.track, aiortc_peer.SAMPLE_RATE, "chunk", aiortc_peer.SAMPLE_RATE // aiortc_peer.CHUNK)
        return connection

    def obey(self, command):
        if not command.startswith("fault "):
            return super().obey(command)
        _, kind, seconds = command.split()
        connection = next(connection for connection in self.connections.values()
                          if not re.search(r"(?m)^a=send", connection.pc.remoteDescription.sdp))
        # A separate clock for each, as each begins anywhere.
        for sender in connection.pc.getSenders():
            rate = aiortc_peer.VIDEO_RATE if sender.kind == "video" else aiortc_peer.SAMPLE_RATE
            if kind == "freeze":
                sender.track.freeze = int(seconds)
            elif kind != "none":
                ticks = {"ahead": 1, "back": -1}.get(kind, 0) * int(seconds) * rate or random.getrandbits(32)
                for source in (sender._ssrc, sender._rtx_ssrc):
                    self.offsets.ticks[source] = ticks
        counter = next(sender.track.counter for sender in connection.pc.getSenders() if sender.kind == "video")
        aiortc_peer.report(event="fault", kind=kind, counter=counter)


if __name__ == "__main__":
    aiortc_peer.main(__doc__, FaultyPeer)
