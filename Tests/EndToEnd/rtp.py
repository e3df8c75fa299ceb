# SPDX-License-Identifier: Apache-2.0
"""Receivers of RTP outputs: ffmpeg, GStreamer, and sockets that look at each packet."""

import base64
import contextlib
import pathlib
import re
import select
import socket
import statistics
import struct
import time

import media
import pylibsrtp
from figures import SYNCHRONISATION


def free_ports(count=4, address="127.0.0.1"):
    """The first, even one of so many free UDP ports that follow each other."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    while True:
        with contextlib.ExitStack() as stack:
            first = stack.enter_context(socket.socket(family, socket.SOCK_DGRAM))
            first.bind((address, 0))
            port = first.getsockname()[1]
            if port % 2 or port + count > 65535:
                continue
            with contextlib.suppress(OSError):
                for number in range(port + 1, port + count):
                    stack.enter_context(socket.socket(family, socket.SOCK_DGRAM)).bind((address, number))
                return port


def wait_for_description(process, path, timeout=30):
    """The text of a description, when it has pictures and sound."""
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


def assert_received(path, minimum_flashes, story):
    """99 % of the frames between the first and the last, and each flash within 20 ms of its beep."""
    video, = media.streams(path, "video")
    sound, = media.streams(path, "audio")
    frames = media.frames(path, video["index"])
    lost = media.lost_frames(frames)
    text = f"lost {lost}\n{media.describe(path)}\n{story}"
    assert sum(abs(number) for _, number in lost) <= 0.01 * len(frames), text
    offsets = media.flash_to_beep(frames, media.beeps(path, sound["index"]))
    text = f"offsets in ms {[round(1000 * float(offset), 1) for offset in offsets]}\n{text}"
    assert len(offsets) >= minimum_flashes, text
    assert abs(statistics.median(offsets)) <= SYNCHRONISATION, text
    assert max(map(abs, offsets)) <= SYNCHRONISATION, text


class Receiver:
    """The RTP and RTCP sockets of one stream, by the description's m-line; `key` is that of SRTP."""

    def __init__(self, port, address="127.0.0.1", key=None):
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        self.rtp, self.rtcp = (socket.socket(family, socket.SOCK_DGRAM) for _ in range(2))
        self.rtp.bind((address, port))
        self.rtcp.bind((address, port + 1))
        self.packets, self.reports, self.peer = [], [], None
        self.inbound, self.outbound = (key and pylibsrtp.Session(pylibsrtp.Policy(
            key=key, ssrc_type=kind, srtp_profile=pylibsrtp.Policy.SRTP_PROFILE_AES128_CM_SHA1_80))
            for kind in (pylibsrtp.Policy.SSRC_ANY_INBOUND, pylibsrtp.Policy.SSRC_ANY_OUTBOUND))

    def close(self):
        self.rtp.close()
        self.rtcp.close()

    def read(self, is_enough, timeout=15):
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

    @property
    def has_keyframe(self):
        """Whether a VP8 keyframe begins among the packets (RFC 7741 section 4.3: S bit, partition 0, then P of RFC 6386)."""
        return any(vp8_is_key(payload) for *_, payload in self.packets)


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
    """Descriptions that nobody removed."""
    return sorted(path.name for path in pathlib.Path(folder).glob("*.sdp"))
