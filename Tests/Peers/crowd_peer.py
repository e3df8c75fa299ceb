#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Many members of a mesh room in one process, each of which sends audio and video to whoever joins behind them all.

They send the same second of the test pattern again and again, encoded once: many encoders would take a machine for themselves.
Prints `crowd` when all have joined. The figures of `stats` are those of all their connections.

Runs in .venv/peers, as aiortc_peer.py.

Example: .venv/peers/bin/python Tests/Peers/crowd_peer.py --url http://127.0.0.1:3000 --room 123123 --send synthetic --members 32
"""

import asyncio
import fractions
import signal

import av
from aiortc.codecs import opus, vpx
from aiortc.mediastreams import MediaStreamError, MediaStreamTrack

import aiortc_peer

# Seconds between two members that join.
APART = 0.05


class Again(MediaStreamTrack):
    """Frames of a second, encoded once, again and again."""

    def __init__(self, kind, clock, frames, rate):
        super().__init__()
        self.kind, self.clock, self.frames, self.rate = kind, clock, frames, rate
        self.count, self.first_time = 0, 0.0

    async def recv(self):
        if self.readyState != "live":
            raise MediaStreamError
        await self.clock.wait(self.count / len(self.frames))
        packet = av.Packet(self.frames[self.count % len(self.frames)])
        packet.pts, packet.time_base = self.count * self.rate // len(self.frames), fractions.Fraction(1, self.rate)
        self.count += 1
        return packet


class Second:
    """A second of the test pattern, as encoders make it: its video begins with a keyframe."""

    def __init__(self, options):
        self.options, self.video, self.audio = options, [], []

    async def encode(self):
        clock, options = aiortc_peer.MediaClock(), self.options
        pictures, sound = aiortc_peer.PatternVideo(clock, options.width, options.height, options.fps), aiortc_peer.PatternAudio(
            clock, options.fps)
        encoder, voice = vpx.Vp8Encoder(), opus.OpusEncoder()
        whole, vpx.PACKET_MAX = vpx.PACKET_MAX, 1 << 24
        for _ in range(options.fps):
            payloads, _ = encoder.encode(await pictures.recv())
            # Behind the descriptor of four bytes.
            self.video += [payload[4:] for payload in payloads]
        vpx.PACKET_MAX = whole
        for _ in range(aiortc_peer.SAMPLE_RATE // aiortc_peer.CHUNK):
            payloads, _ = voice.encode(await sound.recv())
            self.audio += payloads


class Member(aiortc_peer.Peer):
    """One of them: it waits until all are there, and reads no commands."""

    is_open = False

    async def on_otherjoin(self, *arguments):
        if Member.is_open:
            await super().on_otherjoin(*arguments)

    async def read_commands(self):
        pass


class Crowd:
    def __init__(self, options):
        self.members = [Member(options) for _ in range(options.members)]

    @property
    def connections(self):
        return {(number, name): connection for number, member in enumerate(self.members)
                for name, connection in member.connections.items()}

    read_commands, obey = aiortc_peer.Peer.read_commands, aiortc_peer.Peer.obey

    def end(self):
        for member in self.members:
            member.ended.set()

    async def run(self):
        second = Second(self.members[0].options)
        await second.encode()
        aiortc_peer.PatternVideo = lambda clock, *rest: Again("video", clock, second.video, aiortc_peer.VIDEO_RATE)
        aiortc_peer.PatternAudio = lambda clock, *rest: Again("audio", clock, second.audio, aiortc_peer.SAMPLE_RATE)
        tasks = []
        for member in self.members:
            tasks.append(asyncio.create_task(member.run()))
            await asyncio.sleep(APART)
        while not all(member.sid for member in self.members):
            await asyncio.sleep(APART)
        # Each of them has taken the signals for itself.
        for name in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(name, self.end)
        Member.is_open = True
        aiortc_peer.report(event="crowd", members=len(self.members))
        commands = asyncio.create_task(self.read_commands())
        codes = await asyncio.gather(*tasks)
        commands.cancel()
        return max(codes)


if __name__ == "__main__":
    aiortc_peer.main(__doc__, Crowd, lambda parser: parser.add_argument("--members", type=int, default=32))
