#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A member of a Socket.IO room on aiortc: offers when a member joins after it, answers offers, stays after `bye`.

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
import datetime
import fractions
import importlib
import json
import logging
import math
import os
import pathlib
import re
import signal
import stat
import sys
import time
import types

import aioice.ice
import av
import numpy as np
from aiortc import (RTCConfiguration, RTCPeerConnection, RTCRtpReceiver, RTCRtpSender,
                    RTCSessionDescription)
from aiortc.clock import datetime_to_ntp
from aiortc.codecs import h264, vpx
from aiortc.mediastreams import MediaStreamError, MediaStreamTrack
from aiortc.rtp import RtcpSrPacket
from aiortc.sdp import candidate_from_sdp
from av import AudioFrame, VideoFrame

import patient_client
import pattern

SAMPLE_RATE = 48000
CHUNK = 960
VIDEO_RATE = 90000
# Enough for every cell of the counter in a small frame, also where it flashes; the most that aiortc takes for VP8.
BITRATE = 1_500_000
# Longer than any test: nothing of a test that was killed stays.
LIMIT = 900
# More than may be under way when a recording ends, also at few a second.
SOME_FRAMES = 45


def report(**facts):
    print(json.dumps(facts), flush=True)


def run_to_the_end(peer):
    """Runs a peer and ends the process with its code; never returns.

    Not by sys.exit: a thread or task of aiortc that hangs would keep the process for ever.
    """
    async def run():
        code = await peer
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code or 0)
    asyncio.run(run())


def socketio_client(eio):
    """The client module for an Engine.IO version; both cannot be installed in one environment."""
    root = pathlib.Path(__file__).resolve().parents[2]
    folder = root / ".venv" / ("socketio4" if eio == 3 else "socketio5") / "lib"
    packages = next(folder.glob("python3*/site-packages"), None)
    if packages is None:
        sys.exit(f"{folder} is missing: run Tests/Peers/make_venvs.sh")
    sys.path.append(str(packages))
    return importlib.import_module("socketio")


def encode_at(bitrate):
    """Encodes video with this many bit/s, whatever a receiver estimates: the counters in the frames must be
    readable."""
    vpx.DEFAULT_BITRATE = h264.DEFAULT_BITRATE = vpx.MIN_BITRATE = h264.MIN_BITRATE = bitrate


class ExactEncoder:
    """aiortc's VP8 encoder without what takes a change of few cells of the counter for noise, or for no change."""

    def __init__(self, name, mode):
        vars(self)["context"] = av.CodecContext.create(name, mode)

    def __getattr__(self, name):
        return getattr(self.context, name)

    def __setattr__(self, name, value):
        if name == "options":
            value = {**value, "noise-sensitivity": "0", "static-thresh": "0"}
        setattr(self.context, name, value)


# For every peer that imports this.
encode_at(BITRATE)
vpx.av = types.SimpleNamespace(CodecContext=types.SimpleNamespace(create=ExactEncoder), video=av.video)


def gather_loopback():
    """aioice leaves 127.0.0.1 out; on a host without network there would be no candidate at all."""
    gather = aioice.ice.get_host_addresses
    aioice.ice.get_host_addresses = lambda use_ipv4, use_ipv6: (
        (["127.0.0.1"] if use_ipv4 else []) + gather(use_ipv4, use_ipv6))


class MediaClock:
    """The instant both synthetic tracks count from; starts with the first frame asked for.

    Or with the next whole second of UTC: then the flashes of several peers are one instant.
    """

    def __init__(self, on_the_second=False):
        self.started = None
        self.started_at = None
        self.on_the_second = on_the_second
        # The last report; the first time it is a second.
        self.late = 0.5

    async def wait(self, seconds):
        if self.started is None:
            now, self.started_at = time.monotonic(), time.time()
            ahead = math.ceil(self.started_at) - self.started_at if self.on_the_second else 0
            self.started, self.started_at = now + ahead, self.started_at + ahead
            report(event="sending", at=self.started_at)
        late = time.monotonic() - self.started - seconds
        if late > self.late + 0.5:
            # A process that does not get the processor: its media clock stands still in that time.
            self.late = late
            report(event="late", seconds=round(late, 3))
        await asyncio.sleep(max(0, -late))


class PatternVideo(MediaStreamTrack):
    kind = "video"

    def __init__(self, clock, width, height, fps, start=0.0):
        super().__init__()
        self.clock, self.width, self.height, self.fps = clock, width, height, fps
        self.counter = math.ceil(start * fps)
        # aiortc sends the time stamps of frames as they are.
        self.first_time = 0.0
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

    def __init__(self, clock, fps, start=0.0):
        super().__init__()
        self.clock, self.beep, self.chunk = clock, SAMPLE_RATE // fps, math.ceil(start * SAMPLE_RATE / CHUNK)
        # aiortc counts from the first packet.
        self.first_time = self.chunk * CHUNK / SAMPLE_RATE

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


class EchoTrack(MediaStreamTrack):
    """Sends received media back, with their time stamps: audio after `delay` seconds, `frozen` frames as one of
    them."""

    def __init__(self, kind, delay=0.0, frozen=None):
        super().__init__()
        self.kind, self.delay, self.frozen = kind, delay, frozen
        self.frames = asyncio.Queue(maxsize=256)
        self.first_at, self.still = None, None

    def put(self, frame):
        now = time.monotonic()
        self.first_at = self.first_at or now
        if self.frozen and self.frozen[0] <= now - self.first_at < self.frozen[1]:
            frame = self.stand_still(frame)
        asyncio.get_running_loop().call_later(self.delay, self.keep, frame)

    def keep(self, frame):
        with contextlib.suppress(asyncio.QueueFull):
            self.frames.put_nowait(frame)

    def stand_still(self, frame):
        if self.still is None:
            self.still = frame.to_ndarray(format="yuv420p")
        again = VideoFrame.from_ndarray(self.still, format="yuv420p")
        again.pts, again.time_base = frame.pts, frame.time_base
        return again

    async def recv(self):
        return await self.frames.get()


class Connection:
    """One peer connection and its figures; `options` are those of `parse`, or some of them."""

    DEFAULTS = {"codec": None, "prefer": None, "audio_codec": None, "video_start": 0, "audio_start": 0,
                "on_the_second": False, "alter_fingerprint": False, "refuse_video": False, "own_reports": False, "second_video": None,
                "tell_remote": False, "write": [], "delay_sound": 0, "freeze": None, "notes": None}

    def __init__(self, options):
        self.options = options = argparse.Namespace(**{**self.DEFAULTS, **vars(options)})
        self.pc = RTCPeerConnection(RTCConfiguration(iceServers=[]))
        self.candidates = []
        self.tasks = []
        self.figures = {"framesSent": 0, "audioPacketsSent": 0, "framesDecoded": 0, "audioFramesReceived": 0,
                        "audioGaps": 0, "countersRead": 0, "countersBack": 0, "firstCounter": None, "lastCounter": None,
                        "width": None, "height": None, "codecReceived": None, "connected": False}
        self.pc.on("track", self.on_track)
        self.pc.on("connectionstatechange", self.on_state)
        self.clock = MediaClock(options.on_the_second)
        if options.write:
            self.open_channel(options.write)
        tracks = {"video": None, "audio": None}
        if options.send == "synthetic":
            tracks = {"video": PatternVideo(self.clock, options.width, options.height, options.fps,
                                            options.video_start),
                      "audio": PatternAudio(self.clock, options.fps, options.audio_start)}
        self.echoes = {}
        if options.send == "echo":
            self.echoes = tracks = {"video": EchoTrack("video", frozen=options.freeze),
                                    "audio": EchoTrack("audio", delay=options.delay_sound)}
        for kind in ("audio", "video"):
            if tracks[kind]:
                direction = "sendrecv" if options.receive else "sendonly"
                transceiver = self.pc.addTransceiver(tracks[kind], direction=direction)
                self.count_sent(transceiver.sender, "framesSent" if kind == "video" else "audioPacketsSent")
                if options.send == "synthetic" and not options.own_reports:
                    self.report_exactly(transceiver.sender, tracks[kind])
            else:
                transceiver = self.pc.addTransceiver(kind, direction="recvonly")
            if kind == "video":
                self.prefer_codec(transceiver)
                self.note_codec(transceiver.receiver)
            if kind == "audio" and options.audio_codec:
                wanted = f"audio/{options.audio_codec}".lower()
                transceiver.setCodecPreferences([codec for codec in RTCRtpReceiver.getCapabilities("audio").codecs
                                                 if codec.mimeType.lower() == wanted])

    def open_channel(self, texts):
        """A data channel, into which a text is written every second."""
        channel = self.pc.createDataChannel("chat")

        async def write():
            for text in texts:
                channel.send(text)
                report(event="wrote", text=text, at=time.time())
                await asyncio.sleep(1)

        channel.on("open", lambda: self.tasks.append(asyncio.create_task(write())))
        channel.on("message", lambda text: report(event="read", text=text))

    def prefer_codec(self, transceiver):
        options, codecs = self.options, RTCRtpReceiver.getCapabilities("video").codecs
        wanted = f"video/{options.codec or options.prefer}"
        if options.codec:
            codecs = [codec for codec in codecs if codec.mimeType.lower() in (wanted, "video/rtx")]
        if options.codec or options.prefer:
            transceiver.setCodecPreferences(sorted(codecs, key=lambda codec: codec.mimeType.lower() != wanted))

    def note_codec(self, receiver):
        """Keeps the codec of what comes: aiortc does not tell it."""
        handle = receiver._handle_rtp_packet

        async def noted(packet, arrival_time_ms):
            codec = receiver._RTCRtpReceiver__codecs.get(packet.payload_type)
            if codec and codec.mimeType.lower() != "video/rtx":
                self.figures["codecReceived"] = codec.mimeType
            await handle(packet, arrival_time_ms)

        receiver._handle_rtp_packet = noted

    def add_second_video(self):
        options = self.options
        transceiver = self.pc.addTransceiver(PatternVideo(MediaClock(), options.width, options.height, options.fps),
                                             direction="sendonly")
        self.figures["secondFramesSent"] = 0
        self.count_sent(transceiver.sender, "secondFramesSent")
        self.prefer_codec(transceiver)
        return transceiver

    def count_sent(self, sender, name):
        """Counts what leaves the encoder: it is sent at once. aiortc itself counts packets only."""
        encode = sender._next_encoded_frame

        async def counted(codec):
            frame = await encode(codec)
            if frame is not None:
                self.figures[name] += 1
            return frame

        sender._next_encoded_frame = counted

    def report_exactly(self, sender, track):
        """Puts the true capture time into sender reports.

        aiortc puts the time at which it had sent the packet: on a busy machine audio would seem captured seconds late.
        """
        encode, send = sender._next_encoded_frame, sender._send_rtcp
        newest, origin, rate = None, None, None

        async def noted(codec):
            nonlocal newest, origin, rate
            rate = codec.clockRate
            # Frames encoded before this are sent by now.
            if newest is not None and origin is None:
                origin = sender._RTCRtpSender__rtp_timestamp - newest
            frame = await encode(codec)
            newest = frame.timestamp if frame is not None and frame.payloads else newest
            return frame

        async def send_exactly(packets):
            for packet in packets:
                if isinstance(packet, RtcpSrPacket):
                    if origin is None:
                        return
                    elapsed = (packet.sender_info.rtp_timestamp - origin & 0xFFFFFFFF) / rate
                    at = self.clock.started_at + track.first_time + elapsed
                    packet.sender_info.ntp_timestamp = datetime_to_ntp(
                        datetime.datetime.fromtimestamp(at, datetime.timezone.utc))
            await send(packets)

        sender._next_encoded_frame, sender._send_rtcp = noted, send_exactly

    def on_track(self, track):
        receive = self.receive_video if track.kind == "video" else self.receive_audio
        self.tasks.append(asyncio.create_task(receive(track)))

    def note(self, **facts):
        """Writes a fact about one decoded frame to the file of --notes."""
        with open(self.options.notes, "a", encoding="utf-8") as notes:
            notes.write(json.dumps({"at": time.time(), **facts}) + "\n")

    async def receive_video(self, track):
        figures, before = self.figures, None
        with contextlib.suppress(MediaStreamError):
            while True:
                frame = await track.recv()
                figures["framesDecoded"] += 1
                if "video" in self.echoes:
                    self.echoes["video"].put(frame)
                if figures["framesDecoded"] == 1:
                    report(event="decoding", at=time.time())
                figures["width"], figures["height"] = frame.width, frame.height
                plane = frame.planes[0]
                luma = np.frombuffer(plane, np.uint8).reshape(-1, plane.line_size)[:frame.height, :frame.width]
                if self.options.notes:
                    # The frame in small: its content, and whether it moves.
                    small = luma[::4, ::4].astype(np.int16)
                    moved = before is None or before.shape != small.shape or float(np.abs(small - before).mean())
                    self.note(kind="video", pts=frame.pts, width=frame.width, height=frame.height,
                              mean=round(float(small.mean()), 1), spread=round(float(small.std()), 1),
                              change=round(float(moved), 3))
                    before = small
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
                if "audio" in self.echoes:
                    self.echoes["audio"].put(frame)
                if expected is not None and frame.pts != expected:
                    self.figures["audioGaps"] += 1
                expected = frame.pts + frame.samples
                if self.options.notes:
                    left = frame.to_ndarray().reshape(-1, len(frame.layout.channels))[:, 0].astype(np.int32)
                    self.note(kind="audio", pts=frame.pts, samples=frame.samples, peak=int(np.abs(left).max()),
                              crossings=int(np.count_nonzero(np.diff(np.signbit(left)))))

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
        if self.options.refuse_video and description.type == "answer":
            sdp = re.sub(r"(?m)^m=video \d+ ", "m=video 0 ", sdp)
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
        self.left = asyncio.Event()
        self.has_changed = asyncio.Event()
        self.make_client()

    def make_client(self):
        self.sio = patient_client.make(socketio_client(self.options.eio))
        for name in ("joined", "otherjoin", "full", "leaved", "bye", "message", "disconnect"):
            self.sio.on(name, getattr(self, "on_" + name))

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
        if self.options.tell_remote:
            report(event="remote", text=message.get("sdp") or message.get("candidate") or "")
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
            if self.options.outlive:
                return
            self.exit_code = 3
            self.ended.set()

    async def read_commands(self):
        if not stat.S_ISFIFO(os.fstat(sys.stdin.fileno()).st_mode):
            return
        reader = asyncio.StreamReader()
        await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
        while line := await reader.readline():
            self.obey(line.decode().strip())

    def obey(self, command):
        if command == "stats":
            report(event="stats", connections=[connection.figures for connection in self.connections.values()])

    async def watch_duration(self):
        while not any(connection.figures["connected"] for connection in self.connections.values()):
            await asyncio.sleep(0.05)
        await asyncio.sleep(self.options.duration)
        if self.options.second_video:
            await self.has_changed.wait()
        self.ended.set()

    async def change_call(self):
        """Offers a second video track once connected, and takes it away again when some of it was sent."""
        start, end = self.options.second_video
        while not (live := [member for member, connection in self.connections.items()
                            if connection.figures["connected"]]):
            await asyncio.sleep(0.05)
        await asyncio.sleep(start)
        member, connection = live[0], self.connections[live[0]]
        async with self.lock:
            transceiver = connection.add_second_video()
            await self.send(member, await connection.offer())
        report(event="changed", change="add")
        await asyncio.sleep(end - start)
        while connection.figures["secondFramesSent"] < SOME_FRAMES:
            await asyncio.sleep(0.05)
        async with self.lock:
            transceiver.sender.replaceTrack(None)
            transceiver.direction = "inactive"
            await self.send(member, await connection.offer())
        report(event="changed", change="remove")
        self.has_changed.set()

    async def join(self):
        transports = {"polling": ["polling"], "websocket": ["websocket"], "auto": ["polling", "websocket"]}
        await patient_client.connect(self.sio, self.options.url, transports=transports[self.options.transport],
                                     socketio_path=self.options.path)
        await self.sio.emit("join", self.options.room)

    async def run(self):
        loop = asyncio.get_running_loop()
        for name in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(name, self.ended.set)
        try:
            await self.join()
        except Exception as error:
            report(event="unreachable", reason=str(error))
            return 3
        tasks = [asyncio.create_task(self.read_commands())]
        if self.options.duration:
            tasks.append(asyncio.create_task(self.watch_duration()))
        if self.options.second_video:
            tasks.append(asyncio.create_task(self.change_call()))
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self.ended.wait(), self.options.limit)
        self.ended.set()
        for task in tasks:
            task.cancel()
        async with self.lock:
            for member in list(self.connections):
                await self.drop_connection(member)
        if self.exit_code == 0 and self.sio.connected:
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


def parse(parser):
    """Adds what every signalling takes, reads the command line, and prepares aiortc."""
    parser.add_argument("--send", choices=("synthetic", "echo", "none"), default="none",
                        help="the test pattern, or with --receive what comes")
    parser.add_argument("--receive", action="store_true")
    parser.add_argument("--codec", choices=("vp8", "h264"), help="the only video codec to negotiate")
    parser.add_argument("--prefer", choices=("vp8", "h264"), help="the video codec to name first")
    parser.add_argument("--audio-codec", choices=("opus", "pcmu", "pcma"), help="the only audio codec to negotiate")
    parser.add_argument("--size", default="640x360")
    parser.add_argument("--fps", type=int, default=30)
    parser.add_argument("--bitrate", type=int, default=BITRATE, help="of the video, bit/s")
    parser.add_argument("--duration", type=float, default=0, help="seconds from the first connection; 0: until SIGTERM")
    parser.add_argument("--limit", type=float, default=LIMIT, help="seconds until it ends in any case")
    parser.add_argument("--video-start", type=float, default=0, help="seconds of the call without pictures")
    parser.add_argument("--audio-start", type=float, default=0, help="seconds of the call without sound")
    parser.add_argument("--on-the-second", action="store_true", help="flash at whole seconds of UTC")
    parser.add_argument("--own-reports", action="store_true",
                        help="sender reports of aiortc, which tell when frames were sent instead of captured")
    parser.add_argument("--alter-fingerprint", action="store_true", help="describe a certificate that is not ours")
    parser.add_argument("--refuse-video", action="store_true", help="answer that no video is wanted")
    parser.add_argument("--notes", metavar="FILE", help="a line of JSON about each decoded frame")
    parser.add_argument("--tell-remote", action="store_true", help="print the other side's descriptions and candidates")
    parser.add_argument("--write", action="append", default=[], metavar="TEXT",
                        help="open a data channel and write this into it, then the next one after a second")
    parser.add_argument("--ignore-keyframe-requests", action="store_true", help="but for a keyframe in 3000 pictures")
    parser.add_argument("--delay-sound", type=float, default=0, help="seconds by which an echo holds back sound")

    def span(text):
        return [float(part) for part in text.split("-")]

    parser.add_argument("--freeze", type=span, help="START-END, in seconds of pictures: an echo shows one all the time")
    parser.add_argument("--second-video", type=span,
                        help="START-END, in seconds of the call: send a second video track meanwhile, and until "
                        f"{SOME_FRAMES} frames of it are sent")
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    options.width, options.height = map(int, options.size.split("x"))
    if options.send == "none" and not options.receive:
        parser.error("nothing to do: give --send synthetic, --receive or both")
    if options.send == "echo" and not options.receive:
        parser.error("--send echo needs --receive")
    logging.basicConfig(level=logging.INFO if options.verbose else logging.WARNING, stream=sys.stderr)
    encode_at(options.bitrate)
    if options.ignore_keyframe_requests:
        RTCRtpSender._send_keyframe = lambda sender: None
    gather_loopback()
    return options


def main(description=__doc__, peer=Peer, add=lambda parser: None):
    """Runs a peer by the command line; `add` adds more options."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--url", required=True, help="of the Socket.IO server, http://HOST:PORT")
    parser.add_argument("--path", default="/socket.io/", help="of the Engine.IO endpoint")
    parser.add_argument("--room", required=True)
    parser.add_argument("--eio", type=int, choices=(3, 4), default=4)
    parser.add_argument("--transport", choices=("polling", "websocket", "auto"), default="auto")
    parser.add_argument("--outlive", action="store_true",
                        help="keep the calls when the server is gone, and do not come back, as the iOS app does")
    add(parser)
    options = parse(parser)

    async def run():
        return await peer(options).run()

    run_to_the_end(run())


if __name__ == "__main__":
    main()
