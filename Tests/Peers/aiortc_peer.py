#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A member of a Socket.IO room on aiortc: offers when somebody joins after it, answers offers, stays after `bye`.

Sends the test pattern (frame counter, flash and beep once a second) and counts what it receives. Prints one JSON
object a line: joined, connected, closed (figures of one connection), end (figures of all). Reads commands from a pipe
on standard input, one a line: `stats` prints the figures so far. Leaves the room and ends on SIGTERM, after --duration
seconds of the first connection, or after --limit seconds.

Runs in .venv/peers and borrows the Socket.IO client of .venv/socketio5 or .venv/socketio4 (--eio).

Exit codes: 0 was connected, 1 never connected, 3 could not join.

Example: .venv/peers/bin/python Tests/Peers/aiortc_peer.py --url http://127.0.0.1:3000 --room 123123 --send synthetic
"""

import argparse
import asyncio
import contextlib
import fractions
import importlib
import json
import logging
import os
import pathlib
import re
import signal
import stat
import sys
import time

import aioice.ice
import numpy as np
from aiortc import (RTCConfiguration, RTCPeerConnection, RTCRtpReceiver, RTCSessionDescription)
from aiortc.codecs import h264, vpx
from aiortc.mediastreams import MediaStreamError, MediaStreamTrack
from aiortc.sdp import candidate_from_sdp
from av import AudioFrame, VideoFrame

import pattern

SAMPLE_RATE = 48000
CHUNK = 960
VIDEO_RATE = 90000


def report(**facts):
    print(json.dumps(facts), flush=True)


def socketio_client(eio):
    """The client module for an Engine.IO version; both cannot be installed in one environment."""
    root = pathlib.Path(__file__).resolve().parents[2]
    folder = root / ".venv" / ("socketio4" if eio == 3 else "socketio5") / "lib"
    packages = next(folder.glob("python3*/site-packages"), None)
    if packages is None:
        sys.exit(f"{folder} is missing: run Tests/Peers/make_venvs.sh")
    sys.path.append(str(packages))
    return importlib.import_module("socketio")


def gather_loopback():
    """aioice leaves 127.0.0.1 out; on a host without network there would be no candidate at all."""
    gather = aioice.ice.get_host_addresses
    aioice.ice.get_host_addresses = lambda use_ipv4, use_ipv6: (
        (["127.0.0.1"] if use_ipv4 else []) + gather(use_ipv4, use_ipv6))


class MediaClock:
    """The instant both synthetic tracks count from; starts with the first frame asked for."""

    def __init__(self):
        self.started = None
        self.started_at = None

    async def wait(self, seconds):
        if self.started is None:
            self.started = time.monotonic()
            self.started_at = time.time()
            report(event="sending", at=self.started_at)
        await asyncio.sleep(max(0, self.started + seconds - time.monotonic()))


class PatternVideo(MediaStreamTrack):
    kind = "video"

    def __init__(self, clock, width, height, fps):
        super().__init__()
        self.clock, self.width, self.height, self.fps, self.counter = clock, width, height, fps, 0
        ramp = np.linspace(60, 180, width).astype(np.uint8)
        self.background = np.tile(ramp, (height, 1))
        self.chroma = np.full((height // 2, width), 128, np.uint8)

    async def recv(self):
        if self.readyState != "live":
            raise MediaStreamError
        await self.clock.wait(self.counter / self.fps)
        luma = np.roll(self.background, self.counter * 2, axis=1)
        pattern.draw(luma, self.counter, self.fps)
        frame = VideoFrame.from_ndarray(np.vstack([luma, self.chroma]), format="yuv420p")
        frame.pts = self.counter * VIDEO_RATE // self.fps
        frame.time_base = fractions.Fraction(1, VIDEO_RATE)
        self.counter += 1
        return frame


class PatternAudio(MediaStreamTrack):
    kind = "audio"

    def __init__(self, clock, fps):
        super().__init__()
        self.clock, self.beep, self.chunk = clock, SAMPLE_RATE // fps, 0

    async def recv(self):
        if self.readyState != "live":
            raise MediaStreamError
        # A chunk exists when its last sample was taken.
        await self.clock.wait((self.chunk + 1) * CHUNK / SAMPLE_RATE)
        position = (self.chunk * CHUNK + np.arange(CHUNK)) % SAMPLE_RATE
        tone = np.where(position < self.beep, 0.5 * np.sin(2 * np.pi * 1000 * position / SAMPLE_RATE), 0)
        frame = AudioFrame.from_ndarray((tone * 32767).astype(np.int16).reshape(1, -1), format="s16", layout="mono")
        frame.sample_rate = SAMPLE_RATE
        frame.pts = self.chunk * CHUNK
        frame.time_base = fractions.Fraction(1, SAMPLE_RATE)
        self.chunk += 1
        return frame


class Connection:
    """One peer connection and its figures."""

    def __init__(self, options):
        self.options = options
        self.pc = RTCPeerConnection(RTCConfiguration(iceServers=[]))
        self.candidates = []
        self.tasks = []
        self.figures = {"framesSent": 0, "audioPacketsSent": 0, "framesDecoded": 0, "audioFramesReceived": 0,
                        "audioGaps": 0, "countersRead": 0, "countersBack": 0, "firstCounter": None, "lastCounter": None,
                        "width": None, "height": None, "connected": False}
        self.pc.on("track", self.on_track)
        self.pc.on("connectionstatechange", self.on_state)
        self.clock = MediaClock()
        tracks = {"video": None, "audio": None}
        if options.send == "synthetic":
            tracks = {"video": PatternVideo(self.clock, options.width, options.height, options.fps),
                      "audio": PatternAudio(self.clock, options.fps)}
        for kind in ("audio", "video"):
            if tracks[kind]:
                direction = "sendrecv" if options.receive else "sendonly"
                transceiver = self.pc.addTransceiver(tracks[kind], direction=direction)
                self.count_sent(transceiver.sender, "framesSent" if kind == "video" else "audioPacketsSent")
            else:
                transceiver = self.pc.addTransceiver(kind, direction="recvonly")
            if kind == "video" and options.codec:
                codecs = RTCRtpReceiver.getCapabilities("video").codecs
                wanted = f"video/{options.codec}".lower()
                transceiver.setCodecPreferences([codec for codec in codecs
                                                 if codec.mimeType.lower() in (wanted, "video/rtx")])
            if kind == "audio" and options.audio_codec:
                wanted = f"audio/{options.audio_codec}".lower()
                transceiver.setCodecPreferences([codec for codec in RTCRtpReceiver.getCapabilities("audio").codecs
                                                 if codec.mimeType.lower() == wanted])

    def count_sent(self, sender, name):
        """Counts what leaves the encoder: it is sent at once. aiortc itself counts packets only."""
        encode = sender._next_encoded_frame

        async def counted(codec):
            frame = await encode(codec)
            if frame is not None:
                self.figures[name] += 1
            return frame

        sender._next_encoded_frame = counted

    def on_track(self, track):
        receive = self.receive_video if track.kind == "video" else self.receive_audio
        self.tasks.append(asyncio.create_task(receive(track)))

    async def receive_video(self, track):
        figures = self.figures
        with contextlib.suppress(MediaStreamError):
            while True:
                frame = await track.recv()
                figures["framesDecoded"] += 1
                figures["width"], figures["height"] = frame.width, frame.height
                plane = frame.planes[0]
                luma = np.frombuffer(plane, np.uint8).reshape(-1, plane.line_size)[:frame.height, :frame.width]
                counter = pattern.read_counter(luma)
                if counter is None:
                    continue
                figures["countersRead"] += 1
                if figures["firstCounter"] is None:
                    figures["firstCounter"] = counter
                elif counter <= figures["lastCounter"]:
                    figures["countersBack"] += 1
                figures["lastCounter"] = counter

    async def receive_audio(self, track):
        expected = None
        with contextlib.suppress(MediaStreamError):
            while True:
                frame = await track.recv()
                self.figures["audioFramesReceived"] += 1
                if expected is not None and frame.pts != expected:
                    self.figures["audioGaps"] += 1
                expected = frame.pts + frame.samples

    def on_state(self):
        state = self.pc.connectionState
        if state == "connected":
            self.figures["connected"] = True
            report(event="connected", at=time.time())
        elif state == "failed":
            report(event="failed", at=time.time())

    async def offer(self):
        await self.pc.setLocalDescription(await self.pc.createOffer())
        return self.local_description()

    async def answer(self, message):
        await self.pc.setRemoteDescription(RTCSessionDescription(sdp=message["sdp"], type="offer"))
        await self.flush_candidates()
        await self.pc.setLocalDescription(await self.pc.createAnswer())
        return self.local_description()

    def is_session_of(self, message):
        """Whether an offer renegotiates this connection: the same o= line but for its version."""
        origin = r"(?m)^o=(\S+ \S+)"
        remote = self.pc.remoteDescription
        ours = re.search(origin, remote.sdp) if remote else None
        theirs = re.search(origin, message["sdp"])
        return bool(ours and theirs and ours[1] == theirs[1])

    async def take_answer(self, message):
        if self.pc.signalingState == "have-local-offer":
            await self.pc.setRemoteDescription(RTCSessionDescription(sdp=message["sdp"], type="answer"))
            await self.flush_candidates()

    async def take_candidate(self, message):
        self.candidates.append(message)
        if self.pc.remoteDescription:
            await self.flush_candidates()

    async def flush_candidates(self):
        candidates, self.candidates = self.candidates, []
        for message in candidates:
            line = message.get("candidate") or message.get("sdp")
            if not line or ".local " in line:
                continue
            candidate = candidate_from_sdp(re.sub("^(a=)?candidate:", "", line))
            candidate.sdpMLineIndex = int(message.get("label", 0))
            candidate.sdpMid = message.get("id")
            with contextlib.suppress(ValueError):
                await self.pc.addIceCandidate(candidate)

    def local_description(self):
        description = self.pc.localDescription
        sdp = description.sdp
        if self.options.alter_fingerprint:
            sdp = re.sub(r"(a=fingerprint:\S+ )(..)", lambda line: line[1] + ("01" if line[2] == "00" else "00"), sdp)
        return {"type": description.type, "sdp": sdp}

    async def close(self):
        await self.pc.close()
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)
        report(event="closed", at=time.time(), startedAt=self.clock.started_at, **self.figures)
        return self.figures


class Peer:
    """The room's rules, as the course's browser client follows them.

    A room for two has one connection, under the name "". In a mesh room of `tapedeck serve` there is one for each
    other member: messages name their addressee in `to`, and the server writes their sender into `from`.
    """

    def __init__(self, options):
        self.options = options
        self.connections = {}
        # Our own descriptions: some servers send every message back to its sender too.
        self.own_descriptions = set()
        self.closed = []
        self.ended = asyncio.Event()
        self.exit_code = 0
        self.sid = None
        self.is_mesh = False
        self.lock = asyncio.Lock()
        self.sio = socketio_client(options.eio).AsyncClient(reconnection=False)
        for name in ("joined", "otherjoin", "full", "leaved", "bye", "message", "disconnect"):
            self.sio.on(name, getattr(self, "on_" + name))
        self.left = asyncio.Event()

    async def send(self, member, message):
        addressee = {"to": member} if self.is_mesh else {}
        self.own_descriptions.add(message.get("sdp"))
        await self.sio.emit("message", (self.options.room, {**message, **addressee}))

    def member(self, sid):
        return (sid or "") if self.is_mesh else ""

    async def replace_connection(self, member):
        await self.drop_connection(member)
        self.connections[member] = Connection(self.options)
        return self.connections[member]

    async def drop_connection(self, member):
        connection = self.connections.pop(member, None)
        if connection:
            self.closed.append(await connection.close())

    async def on_joined(self, room, sid=None, details=None, *rest):
        if self.sid is None:
            self.sid = sid
            self.is_mesh = isinstance(details, dict) and details.get("mesh") is True
            report(event="joined", room=room, sid=sid)

    async def on_otherjoin(self, room, sid=None, *rest):
        if sid == self.sid:
            return
        async with self.lock:
            member = self.member(sid)
            await self.send(member, await (await self.replace_connection(member)).offer())

    async def on_full(self, *arguments):
        report(event="full")
        self.exit_code = 3
        self.ended.set()

    async def on_leaved(self, *arguments):
        self.left.set()

    async def on_bye(self, room=None, sid=None, *rest):
        async with self.lock:
            await self.drop_connection(self.member(sid))

    async def on_message(self, room, *rest):
        message = next((value for value in reversed(rest) if isinstance(value, dict)), {})
        if message.get("sdp") in self.own_descriptions:
            return
        member = self.member(message.get("from"))
        async with self.lock:
            kind = message.get("type")
            connection = self.connections.get(member)
            if kind == "offer":
                if not (connection and connection.is_session_of(message)):
                    connection = await self.replace_connection(member)
                await self.send(member, await connection.answer(message))
            elif kind == "answer" and connection:
                await connection.take_answer(message)
            elif kind == "candidate" and connection:
                await connection.take_candidate(message)

    async def on_disconnect(self, *arguments):
        if not self.ended.is_set():
            report(event="disconnected")
            self.exit_code = 3
            self.ended.set()

    async def read_commands(self):
        if not stat.S_ISFIFO(os.fstat(sys.stdin.fileno()).st_mode):
            return
        reader = asyncio.StreamReader()
        await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
        while line := await reader.readline():
            if line.strip() == b"stats":
                report(event="stats", connections=[connection.figures for connection in self.connections.values()])

    async def watch_duration(self):
        while not any(connection.figures["connected"] for connection in self.connections.values()):
            await asyncio.sleep(0.05)
        await asyncio.sleep(self.options.duration)
        self.ended.set()

    async def run(self):
        loop = asyncio.get_running_loop()
        for name in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(name, self.ended.set)
        transports = {"polling": ["polling"], "websocket": ["websocket"], "auto": ["polling", "websocket"]}
        try:
            await self.sio.connect(self.options.url, transports=transports[self.options.transport],
                                   socketio_path=self.options.path)
        except Exception as error:
            report(event="unreachable", reason=str(error))
            return 3
        await self.sio.emit("join", self.options.room)
        tasks = [asyncio.create_task(self.read_commands())]
        if self.options.duration:
            tasks.append(asyncio.create_task(self.watch_duration()))
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self.ended.wait(), self.options.limit)
        self.ended.set()
        for task in tasks:
            task.cancel()
        async with self.lock:
            for member in list(self.connections):
                await self.drop_connection(member)
        if self.exit_code == 0:
            await self.sio.emit("leave", self.options.room)
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self.left.wait(), 2)
        sessions = [self.sio.eio.http]
        with contextlib.suppress(Exception):
            await asyncio.wait_for(self.sio.disconnect(), 2)
        await asyncio.sleep(0.1)
        for session in sessions + [self.sio.eio.http]:
            if session and not session.closed:
                await session.close()  # version 4 leaves sessions open
        connected = [figures for figures in self.closed if figures["connected"]]
        names = ("framesSent", "audioPacketsSent", "framesDecoded", "audioFramesReceived", "audioGaps", "countersRead")
        report(event="end", connections=len(connected),
               **{name: sum(figures[name] for figures in self.closed) for name in names})
        return self.exit_code or (0 if connected else 1)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--url", required=True, help="of the Socket.IO server, http://HOST:PORT")
    parser.add_argument("--path", default="/socket.io/", help="of the Engine.IO endpoint")
    parser.add_argument("--room", required=True)
    parser.add_argument("--eio", type=int, choices=(3, 4), default=4)
    parser.add_argument("--transport", choices=("polling", "websocket", "auto"), default="auto")
    parser.add_argument("--send", choices=("synthetic", "none"), default="none")
    parser.add_argument("--receive", action="store_true")
    parser.add_argument("--codec", choices=("vp8", "h264"), help="the only video codec to negotiate")
    parser.add_argument("--audio-codec", choices=("opus", "pcmu", "pcma"), help="the only audio codec to negotiate")
    parser.add_argument("--size", default="640x360")
    parser.add_argument("--fps", type=int, default=30)
    parser.add_argument("--bitrate", type=int, default=800_000, help="of the video, bit/s")
    parser.add_argument("--duration", type=float, default=0, help="seconds from the first connection; 0: until SIGTERM")
    parser.add_argument("--limit", type=float, default=120, help="seconds until it ends in any case")
    parser.add_argument("--alter-fingerprint", action="store_true", help="describe a certificate that is not ours")
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    options.width, options.height = map(int, options.size.split("x"))
    if options.send == "none" and not options.receive:
        parser.error("nothing to do: give --send synthetic, --receive or both")
    logging.basicConfig(level=logging.INFO if options.verbose else logging.WARNING, stream=sys.stderr)
    # Whatever the receiver of a busy machine estimates: the counter in the picture has to be read.
    vpx.DEFAULT_BITRATE = h264.DEFAULT_BITRATE = vpx.MIN_BITRATE = h264.MIN_BITRATE = options.bitrate
    gather_loopback()

    async def run():
        return await Peer(options).run()

    sys.exit(asyncio.run(run()))


if __name__ == "__main__":
    main()
