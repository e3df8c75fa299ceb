# SPDX-License-Identifier: Apache-2.0
"""Receivers of RTP outputs: ffmpeg, GStreamer, and sockets that look at each packet."""

import base64
import contextlib
import itertools
import os
import pathlib
import re
import select
import signal
import socket
import statistics
import struct
import time
import urllib.parse

import media
import pylibsrtp
from stage import LIMIT

# Below the kernel's automatic ports, and a thousand for each worker of pytest-xdist.
FIRST_PORT = 10000 + 1000 * int((re.findall(r"\d+", os.environ.get("PYTEST_XDIST_WORKER", "")) or [8])[0])
BLOCKS = itertools.cycle(range(FIRST_PORT, FIRST_PORT + 1000, 8))
# Another checkout's tests may run at the same time.
for _ in range(os.getpid() % 125):
    next(BLOCKS)
# Between a flash and its beep, on a busy machine; their true distance is measured by test_alignment.py.
TOGETHER = 0.100
# Bytes of about three seconds of the small test camera.
SOME_SECONDS = 300_000


def free_ports(count=4, address="127.0.0.1"):
    """The first, even one of at most eight ports that follow each other, free for UDP and TCP."""
    assert count <= 8
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    for port in itertools.islice(BLOCKS, 125):
        with contextlib.ExitStack() as stack, contextlib.suppress(OSError):
            for number, kind in itertools.product(range(port, port + count), (socket.SOCK_DGRAM, socket.SOCK_STREAM)):
                stack.enter_context(socket.socket(family, kind)).bind((address, number))
            return port
    raise AssertionError(f"no {count} ports from {FIRST_PORT} on are free")


def wait_for_description(process, path, timeout=LIMIT):
    """The text of a description, when it has video and audio."""
    def is_there():
        text = path.read_text() if path.exists() else ""
        return text if "m=video" in text and "m=audio" in text else None
    return process.wait_for(f"{path.name}", is_there, timeout)


def ffmpeg(stage, description, output, seconds):
    """ffmpeg that keeps so many seconds of what a description describes, as it comes."""
    return stage.start("ffmpeg", "ffmpeg", "-v", "warning", "-protocol_whitelist", "file,udp,rtp", "-i", description,
                       "-map", "0", "-c", "copy", "-t", seconds, "-y", output)


def gstreamer(stage, description, output, codec="vp8"):
    """GStreamer that keeps what a description describes until SIGINT."""
    video = {"vp8": ["rtpvp8depay"], "h264": ["rtph264depay", "!", "h264parse"]}[codec]
    return stage.start("gstreamer", "gst-launch-1.0", "-e", "filesrc", f"location={description}", "!", "sdpdemux",
                       "name=d", "d.", "!", "application/x-rtp,media=video", "!", *video, "!", "queue", "!",
                       "matroskamux", "name=m", "!", "filesink", f"location={output}", "d.", "!",
                       "application/x-rtp,media=audio", "!", "rtpopusdepay", "!", "opusparse", "!", "queue", "!", "m.")


def has_received(path, least=SOME_SECONDS):
    """Whether a reader has written so many bytes."""
    return path.exists() and path.stat().st_size >= least


def wait_until_received(process, path, least=SOME_SECONDS):
    process.wait_for("some seconds", lambda: has_received(path, least), LIMIT)


def end_gstreamer(process):
    """Asks for the end of the stream, and insists on it: gst-launch may wait for it in vain."""
    for timeout in (30, LIMIT):
        process.signal(signal.SIGINT)
        with contextlib.suppress(AssertionError):
            return process.wait(timeout)
    raise AssertionError(process.story())


def assert_received(path, minimum_flashes, story):
    """Frames in order, none twice, and flashes with their beeps; a reader may drop packets that were sent."""
    video, = media.streams(path, "video")
    sound, = media.streams(path, "audio")
    frames = media.frames(path, video["index"])
    counters = [frame.counter for frame in frames if frame.counter is not None]
    text = f"lost {media.lost_frames(frames)}\n{media.describe(path)}\n{story}"
    assert len(counters) >= 30 and all(before < after for before, after in zip(counters, counters[1:])), text
    offsets = media.flash_to_beep(frames, media.beeps(path, sound["index"]))
    text = f"offsets in ms {[round(1000 * float(offset), 1) for offset in offsets]}\n{text}"
    assert len(offsets) >= minimum_flashes, text
    assert abs(statistics.median(offsets)) <= TOGETHER, text


class Receiver:
    """The RTP and RTCP sockets of one stream, by the description's m-line."""

    def __init__(self, port, address="127.0.0.1"):
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        self.rtp, self.rtcp = (socket.socket(family, socket.SOCK_DGRAM) for _ in range(2))
        self.rtp.bind((address, port))
        self.rtcp.bind((address, port + 1))
        self.packets, self.reports, self.peer = [], [], None
        self.inbound, self.outbound = None, None

    def decrypt(self, key):
        """Takes what comes as SRTP of that key, and encrypts what it sends."""
        self.inbound, self.outbound = (pylibsrtp.Session(pylibsrtp.Policy(
            key=key, ssrc_type=kind, srtp_profile=pylibsrtp.Policy.SRTP_PROFILE_AES128_CM_SHA1_80))
            for kind in (pylibsrtp.Policy.SSRC_ANY_INBOUND, pylibsrtp.Policy.SSRC_ANY_OUTBOUND))

    def close(self):
        self.rtp.close()
        self.rtcp.close()

    def read(self, is_enough, timeout=LIMIT):
        """Reads until `is_enough()`."""
        deadline = time.monotonic() + timeout
        while not is_enough():
            assert time.monotonic() < deadline, f"{len(self.packets)} packets, {self.reports[-3:]}"
            for ready in select.select([self.rtp, self.rtcp], [], [], 0.2)[0]:
                data, peer = ready.recvfrom(2048)
                if self.inbound:
                    data = (self.inbound.unprotect if ready is self.rtp else self.inbound.unprotect_rtcp)(data)
                if ready is self.rtp:
                    sequence, rtp_time, ssrc = struct.unpack("!HII", data[2:12])
                    self.packets.append((data[1] & 0x7F, sequence, rtp_time, ssrc, data[12:]))
                else:
                    self.peer = peer
                    self.reports.append(list(rtcp_packets(data)))

    @property
    def said(self):
        return [kind for report in self.reports for kind, _ in report]

    def ask_for_keyframe(self, ssrc, is_encrypted=True):
        """Sends a PLI to where reports come from, encrypted if the stream is and nothing else is wanted."""
        packet = struct.pack("!BBHII", 0x81, 206, 2, 0xABCDEF, ssrc)
        self.rtcp.sendto(self.outbound.protect_rtcp(packet) if self.outbound and is_encrypted else packet, self.peer)

    def read_keyframe(self, ssrc, timeout=LIMIT):
        """Asks for a keyframe until one comes: a late reader loses packets."""
        self.packets.clear()
        deadline = time.monotonic() + timeout
        while not self.has_keyframe:
            assert time.monotonic() < deadline, f"no keyframe among {len(self.packets)} packets"
            self.ask_for_keyframe(ssrc)
            count = len(self.packets)
            self.read(lambda: self.has_keyframe or len(self.packets) > count + 90, timeout)

    @property
    def has_keyframe(self):
        """Whether a VP8 keyframe begins among the packets (RFC 7741 section 4.3: S bit, partition 0, then P of RFC 6386)."""
        return any(vp8_is_key(payload) for *_, payload in self.packets)


class Refused(Exception):
    """A status other than 200."""

    def __init__(self, line):
        super().__init__(line)
        self.status = int(line.split()[1])


class RTSPClient:
    """A client of an RTSP server without users, whose packets come between its answers (RFC 2326 section 10.12)."""

    def __init__(self, url, receive_buffer=None):
        self.url = url
        parts = urllib.parse.urlsplit(url)
        self.connection = socket.socket()
        self.connection.settimeout(LIMIT)
        if receive_buffer:
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.connection.connect((parts.hostname, parts.port))
        self.stream = self.connection.makefile("rb")
        self.number, self.session = 0, {}
        # Fields of the last answer.
        self.answer = {}

    def close(self):
        self.stream.close()
        self.connection.close()

    def wait_for_end(self):
        """Until the server has no connection any more, without reading. A client that sends nothing is not notified
        of that."""
        deadline = time.monotonic() + LIMIT
        with contextlib.suppress(ConnectionError):
            while time.monotonic() < deadline:
                self.connection.send(b"\r\n")
                time.sleep(0.5)
            raise AssertionError("the server has not closed")

    def set_up(self):
        """Asks for all streams; channels 0, 2, ... are theirs in the order of the description."""
        description = self.describe()
        for index, url in enumerate(self.controls(description)):
            self.ask("SETUP", url, {"Transport": f"RTP/AVP/TCP;unicast;interleaved={2 * index}-{2 * index + 1}"})
        return re.findall(r"m=(\w+)", description)

    def controls(self, description):
        """Where each stream of a description is asked for (RFC 2326 appendix C.1.1)."""
        return [control if "://" in control else f"{self.url}/{control}"
                for control in re.findall(r"a=control:(?!\*)(\S+)", description)]

    def describe(self):
        """The description, as soon as there is one: a path is not there at once."""
        deadline = time.monotonic() + LIMIT
        while True:
            try:
                return self.description()
            except Refused:
                assert time.monotonic() < deadline, self.url
                time.sleep(0.1)

    def description(self):
        return self.ask("DESCRIBE", self.url, {"Accept": "application/sdp"})

    def ask(self, method, url, fields=None):
        """The body of the answer."""
        self.number += 1
        lines = [f"{method} {url} RTSP/1.0", f"CSeq: {self.number}",
                 *(f"{name}: {value}" for name, value in {**self.session, **(fields or {})}.items())]
        self.connection.sendall("\r\n".join([*lines, "", ""]).encode())
        while (start := self.stream.read(1)) == b"$":
            self.read_frame()
        if not start:
            raise ConnectionError("the server has closed")
        head = [start + self.stream.readline()]
        while (line := self.stream.readline().strip()):
            head.append(line)
        self.answer = answer = dict(line.decode().split(": ", 1) for line in head[1:])
        if "Session" in answer:
            self.session = {"Session": answer["Session"].split(";")[0]}
        body = self.stream.read(int(answer.get("Content-Length", 0))).decode()
        if b" 200 " not in head[0]:
            raise Refused(head[0])
        return body

    def read_frame(self):
        """Channel and packet that follow a dollar sign."""
        channel, size = struct.unpack("!BH", self.stream.read(3))
        return channel, self.stream.read(size)

    def packet(self):
        assert self.stream.read(1) == b"$"
        return self.read_frame()

    def wait_for_keyframe(self, channel, pictures=None):
        """Reads until a VP8 keyframe begins. False if there is none among this many frames."""
        deadline = time.monotonic() + LIMIT
        while pictures != 0:
            assert time.monotonic() < deadline, "no keyframe"
            number, packet = self.packet()
            if number != channel:
                continue
            if vp8_is_key(packet[12:]):
                return True
            if pictures and packet[1] & 0x80:
                pictures -= 1
        return False


def rtcp_packets(data):
    while len(data) >= 4:
        size = 4 * (struct.unpack("!H", data[2:4])[0] + 1)
        yield data[1], data[:size]
        data = data[size:]


def vp8_is_key(payload):
    head = 1
    if payload[0] & 0x80:
        flags = payload[1]
        head = 2
        if flags & 0x80:
            head += 2 if payload[head] & 0x80 else 1
        head += bool(flags & 0x40) + bool(flags & 0x30)
    return bool(payload[0] & 0x10) and not payload[0] & 0x0F and not payload[head] & 1


def described(text):
    """Port, payload type and SSRC of each m-line of a description."""
    return {kind: (int(port), int(kind_type), int(ssrc)) for kind, port, kind_type, ssrc in re.findall(
        r"m=(\w+) (\d+) RTP/S?AVP (\d+)\r?\n(?:a=(?!ssrc).*\r?\n)*a=ssrc:(\d+)", text)}


def keys(text):
    """Key and salt of each m-line of a description (RFC 4568)."""
    return [base64.b64decode(key) for key in re.findall(r"a=crypto:1 AES_CM_128_HMAC_SHA1_80 inline:(\S+)", text)]


def remaining(folder):
    """Descriptions that were not removed."""
    return sorted(path.name for path in pathlib.Path(folder).glob("*.sdp"))
