#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The aiortc peer, sending as other senders do that keep to the standards, or nearly.

--odd KIND says how:
  sets-described     H.264 with its parameter sets in the description only (sprop-parameter-sets, RFC 6184 section 8.1)
  sets-once          H.264 with its parameter sets before the first keyframe only
  sets-apart         H.264 with its parameter sets in separate access units
  sets-never         H.264 whose parameter sets are never sent
  encrypted          VP8 with encrypted payloads behind a clear header, as insertable streams make it
  encrypted-tail     the same, and what says how long partitions are is clear as well
  other-type         audio with a packet of an undescribed payload type after each tenth packet
  stranger           a source of an undescribed payload type, next to audio and video
  padding            audio and video with a packet of padding alone behind each tenth packet, video's with its frame's time
  fir-only           video that can be asked for keyframes by FIR, and for no missing packets; some never come
  layers             video in three layers at once (RFC 8853), whatever the answer asks for
  lesser-layer       the same, but only the smallest layer is sent
  huge               VP8 whose keyframes claim 16383 x 16383 pixels
  strange-codec      video in a codec that no peer accepts (with --codec vp8)
  new-connection     another connection under the same id when some frames are sent, in the place of the first
  wraps              RTP times and sequence numbers that wrap to 0 some seconds after the start
  terse              a description with LF alone, and with ICE, fingerprint (SHA-512) and setup for all m-lines at once
  early              candidates of every kind before the offer, and the offer twice
  two-sources        one m-line of video with two sources (Plan B), which send the same
  active, passive    an offer with that setup role (RFC 4145) in place of actpass
  bye                RTCP BYE for audio and video, then nothing for a second of frames, then the same sources again
  old-certificate    a certificate with an RSA key of 1024 bits
  long-packets       audio in packets of 120 ms (RFC 7587 section 4.2)
  new-source         video from another source, with another clock, when some frames are sent; it is not described
  microphone-stalls  audio that is not captured for 2.3 s: reports count on, packets continue where they stopped, as libwebrtc's do
  silence            audio that sends a packet each 400 ms in silence, and announces nothing
  clock-anew         video that continues with another time and other sequence numbers, under the same source
  lost-half          video of which 40,000 packets are lost at once, across the wrap of sequence numbers
  sideways           video whose header extension asks players for a quarter turn clockwise (3GPP TS 26.114, 7.4.5)
  turning            the same until some frames are sent, then upright
  clock-set          reports by a clock that begins in 1970 and is set some seconds after the start
  mixed-headers      the same, with header extensions of one and of two bytes in turn, behind contributing sources
  other-numbers      a second offer of the same call, in which each codec has another payload type, and media by these
  sealed             audio and video encrypted frame by frame, with the trailer of Jitsi and LiveKit
  padded             audio and video with 1 to 15 bytes of padding in each packet, as str0m fills blocks
  padding-bit        video whose padding bit is set although no padding follows, as a server that strips it may forward it
  probes             packets of video's repair source that are empty, or repeat what came, between all others
  torn-start         video whose first three packets never come
  late-start         video whose first packet comes behind four later ones
  zero-sources       a description that calls every source 0, as a server that does not know them yet
  muted-by-offer     an offer that makes audio inactive when some frames are sent, none for 3 s, and an offer that undoes it
  leaps              video whose time leaps 20 s ahead when some frames are sent; reports follow
  leaps-near         the same by 3 s
  leaps-far          the same by 2 h 22 min, with 21,132 sequence numbers
  first-ahead        audio whose first packet has a time 2.3 s ahead of all others, and 20 packets missing behind it
  held-back          everything held back for 3 s on its way, and then delivered at once
  numbers-anew       video and audio that continue with other sequence numbers and no other time, as a restarted encoder's may
  changing-packets   audio in packets of 20, 60, 120 and 40 ms in turn (RFC 7587 section 4.2)
  same-sources       the sources of all peers of this kind have the same numbers: each has a connection
  cipher-anew        video whose encryption begins with a roll-over counter of 0 again behind a wrap of sequence numbers
  sizes              video that is 640x368, then 16x16, then as before, each for some frames
  strange-repair     repair of a payload type that is not described, and of one beyond 127
  long-silence       audio that sends nothing for 12 s of silence, and announces nothing
  rejoins            another member of a mesh room when some frames are sent, as after a reload of the page: the first leaves then
  reordered          video of which each tenth packet comes behind four later ones

Prints `odd` with how many packets it sent that cannot be recorded, each second.

Runs in .venv/peers, as aiortc_peer.py.
"""

import asyncio
import base64
import datetime
import random
import re
import struct

import aiortc.rtcrtpsender
from aiortc import RTCCertificate, RTCRtpSender, rtcdtlstransport
from aiortc.codecs import get_encoder, h264, opus, vpx
from aiortc.rtcdtlstransport import RTCDtlsTransport
from aiortc.rtp import RtcpPacket, RtcpPsfbPacket, RtcpRtpfbPacket
from av import AudioFifo, AudioResampler, CodecContext, VideoFrame
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import rsa
from OpenSSL import SSL

import aiortc_peer

KINDS = ("sets-described", "sets-once", "sets-apart", "sets-never", "encrypted", "encrypted-tail", "other-type", "stranger", "padding",
         "huge", "strange-codec", "new-connection", "new-source", "sideways", "layers", "lesser-layer", "fir-only", "wraps",
         "terse", "early", "two-sources", "active", "passive", "bye", "old-certificate", "long-packets", "microphone-stalls",
         "silence", "clock-anew", "lost-half", "mixed-headers", "other-numbers", "turning", "clock-set", "sealed", "padded",
         "padding-bit", "probes", "torn-start", "late-start", "leaps-near", "leaps", "leaps-far", "first-ahead", "held-back",
         "reordered", "zero-sources", "muted-by-offer", "numbers-anew", "changing-packets", "same-sources", "cipher-anew",
         "sizes", "strange-repair", "long-silence", "rejoins")
# Names of layers, smallest first, and the header extension in which packets name theirs.
LAYERS, LAYER_EXTENSION = ("q", "h", "f"), 10
UNKNOWN_TYPE = 77 + 32
AUDIO_RATE = 48000
# Packets of 20 ms that a microphone does not give, and when.
STALL, STALLS_AT = 115, 100
# The offsets that a clock of another origin adds to sequence numbers and to times, and after which frame.
ANEW, ANEW_AT = {"clock-anew": (20_000, 3_000_000_000), "leaps-near": (0, 3 * 90_000), "leaps": (0, 20 * 90_000),
                  "leaps-far": (21_132, 8520 * 90_000), "numbers-anew": (20_000, 0)}, 45
# Packets of 20 ms in a long silence.
LONG_SILENCE = 600
# Packets that never come, by kind.
TORN, AHEAD_OF = 3, 20
# What a first packet is ahead, in units of its clock, and the seconds that packets wait.
AHEAD, HELD = 111_960, 3
# Later packets that overtake one.
OVERTAKING = 4
# Appended by frame encryption: a tag, a vector, its size, and the number of the key.
TAG_SIZE, VECTOR_SIZE, KEY = 16, 12, 0
# The header extension's number: also that in offers of Tapedeck, which an answer must repeat.
ORIENTATION = 5
# An element that nobody knows, in front of the orientation: with two bytes and of 20, with one and as padding; and what is behind it.
BEFORE = {True: bytes([200, 20]) + bytes(20), False: bytes([0, 0])}
BEHIND = {True: bytes([77, 0, 0, 0]), False: bytes([0xF0, 0xFF])}
# Seconds from 1900 to 1970, and until a clock is set.
EPOCH, SET_AFTER = 2208988800, 4
# Sizes of video, each for so many frames; the first and the last are as the command line says.
SIZES, SIZE_FRAMES = ((640, 368), (16, 16)), 30
# Milliseconds of packets of audio, each for so many packets.
PACKET_LENGTHS, LENGTH_PACKETS = (20, 60, 120, 40), 12
# What other payload types have more.
OTHER_NUMBERS = 12
SEQUENCE_SETS, PICTURE_SETS, INFORMATION = 7, 8, 6
SENDER_REPORT, RECEIVER_REPORT, BYE = 200, 201, 203
# Seconds until times wrap, and packets until sequence numbers do; of the latter a keyframe has some.
WRAPS_AFTER, WRAPS_AFTER_PACKETS = 2, 50
# Frames until a sender says BYE, and those that it leaves out then.
FRAMES_BEFORE_BYE, FRAMES_LEFT_OUT = 45, 15


def header_size(packet):
    size = 12 + 4 * (packet[0] & 0x0F)
    return size + 4 + 4 * struct.unpack("!H", packet[size + 2:size + 4])[0] if packet[0] & 0x10 else size


def of_layer(packet, name, offset=0):
    """The packet as one of a layer: from its own source, and named in its header (RFC 8852)."""
    source = struct.unpack("!I", packet[8:12])[0] + offset & 0xFFFFFFFF
    head = bytes([packet[0] & 0xEF | 0x10]) + packet[1:8] + struct.pack("!I", source)
    value = bytes([LAYER_EXTENSION << 4]) + name.encode() + bytes(2)
    return head + struct.pack("!HH", 0xBEDE, 1) + value + packet[header_size(packet):]


def describing_layers(sdp):
    lines = [f"a=rid:{name} send" for name in LAYERS] + [f"a=simulcast:send {';'.join(LAYERS)}"]
    lines.append(f"a=extmap:{LAYER_EXTENSION} urn:ietf:params:rtp-hdrext:sdes:rtp-stream-id")
    added = "".join(f"{line}\r\n" for line in lines)
    return re.sub(r"m=video [^\r\n]*\r\n(?:c=[^\r\n]*\r\n)?", lambda match: match[0] + added, sdp)


def second_source(source):
    return source + 1111 & 0xFFFFFFFF


def in_plan_b(sdp, source):
    head, *media = re.split(r"(?=^m=)", sdp, flags=re.M)
    for index, section in enumerate(media):
        lines = [line for line in section.splitlines(True) if not line.startswith(("a=ssrc", "a=msid"))]
        if section.startswith("m=video"):
            lines += [f"a=ssrc:{number} cname:odd\r\na=ssrc:{number} msid:{name} {name}\r\n"
                      for number, name in ((source, "camera"), (second_source(source), "screen"))]
        media[index] = "".join(lines)
    return head + "".join(media)


def in_few_words(sdp):
    lines = sdp.replace("\r\n", "\n").strip().split("\n")
    first = next(index for index, line in enumerate(lines) if line.startswith("m="))
    once = ("a=ice-ufrag:", "a=ice-pwd:", "a=fingerprint:sha-512", "a=setup:", "a=send")
    shared = [next(line for line in lines if line.startswith(name)) for name in once]
    left_out = once[:2] + once[3:] + ("a=fingerprint", "a=rtcp:", "a=end-of", "a=ssrc", "a=msid")
    media = [line for line in lines[first:] if not line.startswith(left_out)]
    return "\n".join(lines[:first] + shared + media).replace("UDP/TLS/RTP/SAVPF", "RTP/SAVPF")


def early_candidates(sdp):
    """As browsers and apps send them before an offer: the end, nested, by name, by TCP, with labels as text, and the end."""
    fragment = re.search(r"a=ice-ufrag:(\S+)", sdp)[1]
    named = f"candidate:1 1 udp 2122260223 6d8c0de2-64f3-4b1e-8b0f-e3d1c7a9a111.local 50000 typ host ufrag {fragment}"
    lines = [line[2:] for line in sdp.splitlines() if line.startswith("a=candidate")]
    values = [(None, 0), ({"candidate": named, "sdpMid": "0", "sdpMLineIndex": 0, "usernameFragment": fragment}, 0),
              ("candidate:2 1 tcp 1518280447 127.0.0.1 9 typ host tcptype active generation 0", 0),
              *((f"{line} generation 0 ufrag {fragment} network-id 1", "0") for line in lines), ("", 0)]
    return [{"type": "candidate", "candidate": value, "id": "0", "label": label} for value, label in values]


def use_old_certificate():
    """As FreeSWITCH and Kurento had once; OpenSSL refuses it by default."""
    key = rsa.generate_private_key(65537, 1024)
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "peer")])
    now, day = datetime.datetime.now(datetime.timezone.utc), datetime.timedelta(1)
    builder = x509.CertificateBuilder(name, name, key.public_key(), 77, now - day, now + day)
    certificate = RTCCertificate(key, builder.sign(key, hashes.SHA256()))

    def create(made, srtp_profiles):
        context = SSL.Context(SSL.DTLS_METHOD)
        context.set_cipher_list(b"DEFAULT:@SECLEVEL=0")
        context.set_verify(SSL.VERIFY_PEER | SSL.VERIFY_FAIL_IF_NO_PEER_CERT, lambda *_: True)
        context.use_certificate(made._cert)
        context.use_privatekey(made._key)
        context.set_tlsext_use_srtp(b":".join(profile.openssl_profile for profile in srtp_profiles))
        return context

    RTCCertificate._create_ssl_context = create
    RTCCertificate.generateCertificate = classmethod(lambda kind: certificate)


def with_numbers(sdp, added):
    """The description with other payload types, but for the static ones."""
    def other(match):
        return str(int(match[0]) + added) if int(match[0]) >= 96 else match[0]

    lines = []
    for line in sdp.splitlines(True):
        if line.startswith("m=") and "RTP" in line:
            words = line.rstrip().split(" ")
            line = " ".join(words[:3] + [re.sub(r"^\d+$", other, word) for word in words[3:]]) + "\r\n"
        line = re.sub(r"(?<=^a=rtpmap:)\d+|(?<=^a=fmtp:)\d+|(?<=^a=rtcp-fb:)\d+|(?<=apt=)\d+", other, line)
        lines.append(line)
    return "".join(lines)


def with_strange_repair(sdp):
    """The description as of two servers: repair names a codec that nothing describes, and has a payload type that none can have."""
    sdp = re.sub(r"apt=\d+", "apt=35", sdp)
    described = r"\1 128\2a=rtpmap:128 rtx/90000\r\na=fmtp:128 apt=127\r\n"
    return re.sub(r"(m=video [^\r\n]*)(\r\n(?:c=[^\r\n]*\r\n)?)", described, sdp, count=1)


class LongPackets:
    """An encoder of Opus that waits for six frames of 20 ms."""

    SAMPLES = 5760

    def __init__(self):
        self.context = CodecContext.create("libopus", "w")
        self.context.sample_rate, self.context.layout, self.context.format = AUDIO_RATE, "stereo", "s16"
        self.context.options, self.context.bit_rate = {"frame_duration": "120"}, 48000
        self.resampler = AudioResampler("s16", "stereo", AUDIO_RATE, self.SAMPLES)
        self.count = 0

    def encode(self, frame, force_keyframe=False):
        packets = []
        for long in self.resampler.resample(frame):
            long.time_base = aiortc_peer.fractions.Fraction(1, AUDIO_RATE)
            packets += [bytes(packet) for packet in self.context.encode(long)]
        time = self.count * self.SAMPLES
        self.count += len(packets)
        return packets, time


class ChangingPackets:
    """An encoder of Opus whose packets have another length every now and then, as that of a caller on a bad network."""

    def __init__(self):
        self.contexts = {length: self.context(length) for length in PACKET_LENGTHS}
        self.resampler, self.fifo = AudioResampler("s16", "stereo", AUDIO_RATE), AudioFifo()
        self.count = self.time = 0

    @staticmethod
    def context(length):
        context = CodecContext.create("libopus", "w")
        context.sample_rate, context.layout, context.format = AUDIO_RATE, "stereo", "s16"
        context.options, context.bit_rate = {"frame_duration": str(length)}, 48000
        return context

    def encode(self, frame, force_keyframe=False):
        for part in self.resampler.resample(frame):
            part.pts = None
            self.fifo.write(part)
        length = PACKET_LENGTHS[self.count // LENGTH_PACKETS % len(PACKET_LENGTHS)]
        samples, time = length * AUDIO_RATE // 1000, self.time
        if self.fifo.samples < samples:
            return [], time
        taken = self.fifo.read(samples)
        taken.pts, taken.time_base = time, aiortc_peer.fractions.Fraction(1, AUDIO_RATE)
        self.time += samples
        self.count += 1
        return [bytes(packet) for packet in self.contexts[length].encode(taken)], time


def resize_frames(kind):
    """Has the encoder of a kind get frames of other sizes for a while, as a camera that a server asks for less, or that ends."""
    encode, count = kind.encode, 0

    def encoded(encoder, frame, force_keyframe=False):
        nonlocal count
        place, count = count // SIZE_FRAMES, count + 1
        if 0 < place <= len(SIZES):
            pts, time_base = frame.pts, frame.time_base
            frame = frame.reformat(*SIZES[place - 1])
            frame.pts, frame.time_base = pts, time_base
        return encode(encoder, frame, force_keyframe)

    kind.encode = encoded


def number_sources(audio=0x11111111, video=0x22222222):
    """Gives the sources of each connection these numbers."""
    make = RTCRtpSender.__init__

    def made(sender, *arguments):
        make(sender, *arguments)
        sender._ssrc = audio if sender.kind == "audio" else video
        sender._rtx_ssrc = sender._ssrc + 1 & 0xFFFFFFFF

    RTCRtpSender.__init__ = made


class Ciphers:
    """The keys of transports, so that one can begin again."""

    def __init__(self):
        self.policies = {}
        make = rtcdtlstransport.Session

        def made(policy):
            session = make(policy)
            self.policies[session] = policy
            return session

        rtcdtlstransport.Session = made

    def begin_again(self, transport):
        transport._tx_srtp = rtcdtlstransport.Session(self.policies[transport._tx_srtp])


def renumbered(packet, sequence):
    return packet[:2] + struct.pack("!H", sequence & 0xFFFF) + packet[4:]


class Sealing:
    """Encrypts what encoders give, frame by frame: its first bytes stay clear."""

    def __init__(self):
        self.count = 0
        split, packetize, encode = h264.H264Encoder._split_bitstream, vpx.Vp8Encoder._packetize, opus.OpusEncoder.encode

        def encoded(encoder, frame, force_keyframe=False):
            payloads, time = encode(encoder, frame, force_keyframe)
            return [self.sealed(payload, 1) for payload in payloads], time

        h264.H264Encoder._split_bitstream = staticmethod(
            lambda stream: (self.sealed(unit, 2) if unit[0] & 31 in (1, 5) else unit for unit in split(stream)))
        vpx.Vp8Encoder._packetize = classmethod(
            lambda kind, frame, number: packetize(self.sealed(frame, 3 if frame[0] & 1 else 10), number))
        opus.OpusEncoder.encode = encoded

    def sealed(self, frame, clear):
        self.count += 1
        noise = random.Random(self.count)
        # No zeros: in H.264 they would be escaped.
        secret = bytes(byte ^ noise.randrange(256) or 1 for byte in frame[clear:])
        return (frame[:clear] + secret + bytes(noise.randrange(1, 256) for _ in range(TAG_SIZE + VECTOR_SIZE))
                + bytes([VECTOR_SIZE, KEY]))


class Sets:
    """The treatment of the parameter sets from aiortc's encoder."""

    def __init__(self, kind, width, height):
        self.kind, self.units, self.seen = kind, {}, set()
        self.split = h264.H264Encoder._split_bitstream
        h264.H264Encoder._split_bitstream = staticmethod(self.kept)
        # One encoder for the whole call: another one would begin with other sets.
        h264.H264Encoder.target_bitrate = property(lambda encoder: aiortc_peer.BITRATE, lambda encoder, value: None)
        if kind == "sets-described":
            frame = VideoFrame(width, height, "yuv420p")
            frame.pts, frame.time_base = 0, aiortc_peer.fractions.Fraction(1, aiortc_peer.VIDEO_RATE)
            h264.H264Encoder().encode(frame, True)
            self.seen.clear()

    def kept(self, stream):
        for unit in self.split(stream):
            kind = unit[0] & 31
            if kind == INFORMATION:
                continue
            if kind in (SEQUENCE_SETS, PICTURE_SETS):
                self.units[kind] = bytes(unit)
                if self.kind in ("sets-described", "sets-never") or self.kind == "sets-once" and kind in self.seen:
                    continue
                self.seen.add(kind)
            yield unit

    def described(self, sdp):
        if self.kind != "sets-described":
            return sdp
        sets = ",".join(base64.b64encode(self.units[kind]).decode() for kind in (SEQUENCE_SETS, PICTURE_SETS))
        return re.sub(r"(a=fmtp:\d+ [^\r\n]*packetization-mode=[^\r\n]*)", rf"\1;sprop-parameter-sets={sets}", sdp)


class Packets:
    """The treatment of the packets on their way out."""

    def __init__(self, peer, kind):
        self.peer, self.kind, self.odd = peer, kind, 0
        self.added, self.count = {}, {}
        # The offsets of sequence numbers and times of a source, and of the times of its reports; the newest time of
        # packets.
        self.moved, self.newest = {}, None
        self.sequence, self.source = random.getrandbits(15), random.getrandbits(32)
        # For "bye": frames so far, and the packets left out of each source.
        self.frames, self.left_out = 0, {}
        # What waits to be sent: since when, or behind how many others.
        self.held, self.held_since = [], None
        send = RTCDtlsTransport._send_rtp

        async def changed(transport, data):
            is_control = 64 <= data[1] & 0x7F <= 95
            for packet in self.released([self.reported(data)] if is_control else self.made_of(data)):
                await send(transport, packet)

        RTCDtlsTransport._send_rtp = changed

    def kind_of(self, packet):
        source, = struct.unpack("!I", packet[8:12])
        for connection in self.peer.connections.values():
            for sender in connection.pc.getSenders():
                if source == sender._ssrc:
                    return sender.kind, source
                if source == sender._rtx_ssrc:
                    return "repair", source
        return None, source

    def released(self, packets):
        """These packets and those that waited, if the wait is over."""
        now = asyncio.get_running_loop().time()
        if self.kind != "held-back" or self.odd <= ANEW_AT:
            return packets
        self.held_since = self.held_since or now
        if now - self.held_since < HELD:
            self.held += packets
            return []
        packets, self.held = self.held + packets, []
        return packets

    def made_of(self, packet):
        kind, source = self.kind_of(packet)
        if self.kind == "padded" and kind:
            self.odd += 1
            size = 1 + self.odd % 15
            return [bytes([packet[0] | 0x20]) + packet[1:] + bytes(size - 1) + bytes([size])]
        if self.kind == "padding-bit" and kind == "video":
            self.odd += 1
            return [bytes([packet[0] | 0x20]) + packet[1:]]
        if self.kind == "muted-by-offer" and kind == "audio":
            if self.peer.is_muted:
                self.odd += 1
                return []
            self.moved[source] = -self.odd, 0
            return [self.shifted(packet, source)]
        if self.kind == "probes" and kind == "video":
            return self.probed(packet, source)
        if self.kind == "torn-start" and kind == "video":
            self.count[source] = self.count.get(source, 0) + 1
            self.odd = min(TORN, self.count[source])
            return [packet] if self.count[source] > TORN else []
        if self.kind == "first-ahead" and kind == "audio":
            place = self.count[source] = self.count.get(source, -1) + 1
            self.moved[source] = 0, 0 if place else AHEAD
            return [] if 0 < place <= AHEAD_OF else [self.shifted(packet, source)]
        if self.kind == "held-back" and kind == "video":
            self.odd += packet[1] >> 7
            return [packet]
        if self.kind in ("reordered", "late-start") and kind == "video":
            return self.overtaken(packet, source)
        if self.kind.startswith("encrypted") and kind in ("video", "repair"):
            return [self.encrypted(packet, 2 if kind == "repair" else 0)]
        if self.kind == "huge" and kind in ("video", "repair"):
            return [self.huge(packet, 2 if kind == "repair" else 0)]
        if self.kind == "sets-apart" and kind == "video":
            return self.apart(packet, source)
        if self.kind == "sideways" and kind == "video":
            return [self.turned(packet)]
        if self.kind == "turning" and kind == "video":
            if packet[4:8] != self.newest:
                self.newest = packet[4:8]
                self.odd += 1
            return [self.turned(packet, int(self.odd <= ANEW_AT))]
        if self.kind == "mixed-headers" and kind:
            return [self.mixed(packet, source)]
        if self.kind == "other-numbers" and kind and self.left_out:
            return [packet[:1] + bytes([packet[1] + OTHER_NUMBERS]) + packet[2:]]
        if kind == "video" and self.kind == "layers":
            return [of_layer(packet, name, 7919 * offset) for offset, name in zip((2, 1, 0), LAYERS)]
        if self.kind == "new-source":
            return [self.shifted(packet, source)]
        if kind == "video" and self.kind == "lesser-layer":
            return [of_layer(packet, LAYERS[0])]
        if kind == "video" and self.kind == "fir-only":
            self.count[source] = self.count.get(source, 0) + 1
            return [packet] if self.count[source] % 30 else []
        if self.kind == "two-sources" and kind == "video":
            return [packet, packet[:8] + struct.pack("!I", second_source(source)) + packet[12:]]
        if self.kind == "wraps" and kind in ("audio", "video"):
            return [self.wrapping(packet, kind, source)]
        if self.kind == "bye" and kind in ("audio", "video"):
            return self.interrupted(packet, kind, source)
        if kind == "audio" and self.kind in ("microphone-stalls", "silence", "long-silence"):
            return self.with_pauses(packet, source)
        if kind == "video" and self.kind == "cipher-anew":
            return [self.under_new_cipher(packet, source)]
        if kind == "audio" and self.kind == "numbers-anew" and self.odd > ANEW_AT:
            self.moved[source] = ANEW[self.kind]
            return [self.shifted(packet, source)]
        if kind == "video" and self.kind in ANEW:
            return [self.anew(packet, source)]
        if kind == "video" and self.kind == "lost-half":
            return [self.lost_half(packet, source)]
        if self.kind not in ("other-type", "padding", "stranger") or kind not in ("audio", "video"):
            return [packet]
        if kind == "video" and self.kind != "padding":
            return [packet]
        self.count[source] = self.count.get(source, 0) + 1
        if self.kind == "stranger":
            return [packet, self.strange(packet)]
        sequence, = struct.unpack("!H", packet[2:4])
        added = self.added.get(source, 0)
        packets = [renumbered(packet, sequence + added)]
        if self.count[source] % 10 == 0:
            self.added[source] = added + 1
            packets.append(self.between(packets[0], sequence + added + 1))
        return packets

    def shifted(self, packet, source):
        """An RTP packet with what is added to the numbers of its source."""
        sequence, time = self.moved.get(source, (0, 0))
        number, stamp = struct.unpack("!HI", packet[2:8])
        return packet[:2] + struct.pack("!HI", number + sequence & 0xFFFF, stamp + time & 0xFFFFFFFF) + packet[8:]

    def wrapping(self, packet, kind, source):
        if source not in self.moved:
            rate = aiortc_peer.VIDEO_RATE if kind == "video" else AUDIO_RATE
            sequence, time = struct.unpack("!HI", packet[2:8])
            self.moved[source] = -WRAPS_AFTER_PACKETS - sequence, -WRAPS_AFTER * rate - time
        return self.shifted(packet, source)

    def reported(self, data):
        """Compound RTCP of ours, in which reports have what is added to the times of their sources."""
        packets = b""
        while len(data) >= 4:
            size = 4 + 4 * struct.unpack("!H", data[2:4])[0]
            packet, data = data[:size], data[size:]
            if self.kind == "clock-set" and packet[1] == SENDER_REPORT:
                packet = self.by_own_clock(packet)
            if packet[1] == SENDER_REPORT and (found := self.moved.get(struct.unpack("!I", packet[4:8])[0])):
                time, = struct.unpack("!I", packet[16:20])
                packet = packet[:16] + struct.pack("!I", time + found[1] & 0xFFFFFFFF) + packet[20:]
            packets += packet
        return packets

    def by_own_clock(self, packet):
        seconds, = struct.unpack("!I", packet[8:12])
        self.newest = self.newest or seconds
        if seconds - self.newest >= SET_AFTER:
            return packet
        self.odd += 1
        return packet[:8] + struct.pack("!I", EPOCH + 20 + seconds - self.newest) + packet[12:]

    def interrupted(self, packet, kind, source):
        packets, before = [], self.frames
        if kind == "video" and packet[1] & 0x80:
            self.frames += 1
            if self.frames == FRAMES_BEFORE_BYE + FRAMES_LEFT_OUT:
                senders = [sender for connection in self.peer.connections.values() for sender in connection.pc.getSenders()]
                for sender in senders:
                    if sender.kind == "video":
                        sender._send_keyframe()
        if FRAMES_BEFORE_BYE <= before < FRAMES_BEFORE_BYE + FRAMES_LEFT_OUT:
            if source not in self.left_out:
                source_bytes = struct.pack("!I", source)
                # An empty receiver report before it: what a compound packet begins with (RFC 3550 section 6.1).
                packets.append(bytes([0x80, RECEIVER_REPORT, 0, 1]) + source_bytes
                               + bytes([0x81, BYE, 0, 1]) + source_bytes)
            self.left_out[source] = self.left_out.get(source, 0) + 1
            return packets
        sequence, = struct.unpack("!H", packet[2:4])
        return [renumbered(packet, sequence - self.left_out.get(source, 0))]

    def move(self, sender):
        """Has a sender continue as another source, which begins with a keyframe and has a time far from that before."""
        sender._ssrc, sender._rtx_ssrc = random.getrandbits(32), random.getrandbits(32)
        self.moved |= {sender._ssrc: (0, 1 << 31), sender._rtx_ssrc: (0, 1 << 31)}
        sender.transport._rtp_router.register_sender(sender, sender._ssrc)
        sender._send_keyframe()

    def with_pauses(self, packet, source):
        place = self.count[source] = self.count.get(source, -1) + 1
        if self.kind == "silence":
            # A beep each second: nothing of the first packets, then one in twenty.
            is_left_out, time = place % 50 > 5 and place % 50 % 20 != 6, 0
        elif self.kind == "long-silence":
            is_left_out, time = STALLS_AT <= place < STALLS_AT + LONG_SILENCE, 0
        else:
            is_left_out, time = STALLS_AT <= place < STALLS_AT + STALL, -aiortc_peer.CHUNK * STALL
        if is_left_out:
            self.odd += 1
            return []
        if self.odd:
            self.moved[source] = -self.odd, time
        return [self.shifted(packet, source)]

    def anew(self, packet, source):
        if packet[4:8] != self.newest:
            self.newest = packet[4:8]
            self.odd += 1
        if self.kind == "numbers-anew" and self.odd == ANEW_AT:
            self.sender(source)._send_keyframe()
        # Behind three reports at least: of fewer nothing can be told about so little.
        if self.odd <= ANEW_AT * (2 if self.kind == "leaps-near" else 1):
            return packet
        self.moved[source] = ANEW[self.kind]
        return self.shifted(packet, source)

    def under_new_cipher(self, packet, source):
        if packet[4:8] != self.newest:
            self.newest = packet[4:8]
            self.odd += 1
        packet = self.wrapping(packet, "video", source)
        has_wrapped = packet[2] < 0x80
        if has_wrapped and self.odd > ANEW_AT and not self.left_out:
            self.left_out = {1: 1}
            self.peer.ciphers.begin_again(self.sender(source).transport)
        return packet

    def sender(self, source):
        return next(sender for connection in self.peer.connections.values() for sender in connection.pc.getSenders()
                    if source == sender._ssrc)

    def lost_half(self, packet, source):
        if packet[4:8] != self.newest:
            self.newest = packet[4:8]
            self.odd += 1
        if source not in self.moved:
            first, = struct.unpack("!H", packet[2:4])
            self.moved[source] = (0x9000 - first) & 0xFFFF, 0
        if self.odd > ANEW_AT and not self.left_out:
            self.left_out = {1: 1}
            sequence = struct.unpack("!H", packet[2:4])[0] + self.moved[source][0] & 0xFFFF
            transport = self.sender(source).transport
            for number in range(40000):
                transport._tx_srtp.protect(packet[:2] + struct.pack("!H", sequence + number & 0xFFFF) + packet[4:])
            aiortc_peer.report(event="lost", packets=40000)
            self.moved[source] = self.moved[source][0] + 40000, 0
        return self.shifted(packet, source)

    def probed(self, packet, source):
        """The packet, and what a sender that measures the network sends between: a repeated packet, and one of padding alone."""
        sender = self.sender(source)
        number, size = sender._RTCRtpSender__rtx_payload_type, header_size(packet)
        packets = [packet]
        for payload in (packet[2:4] + packet[size:], None):
            sequence = sender._RTCRtpSender__rtx_sequence_number
            sender._RTCRtpSender__rtx_sequence_number = sequence + 1 & 0xFFFF
            first = packet[0] & 0x80 | (0 if payload else 0x20)
            head = bytes([first, number]) + struct.pack("!HII", sequence, payload and struct.unpack("!I", packet[4:8])[0] or 0,
                                                        sender._rtx_ssrc)
            packets.append(head + (payload or bytes(254) + bytes([255])))
            self.odd += 1
        return packets

    def overtaken(self, packet, source):
        place = self.count[source] = self.count.get(source, 0) + 1
        if place == 1 if self.kind == "late-start" else place % 10 == 4:
            self.odd += 1
            self.held = [place + OVERTAKING, packet]
            return []
        if self.held and place >= self.held[0]:
            packets, self.held = [packet, self.held[1]], []
            return packets
        return [packet]

    def turned(self, packet, value=1):
        size = header_size(packet)
        own = packet[16:size].rstrip(b"\0") if packet[0] & 0x10 else b""
        elements = own + bytes([ORIENTATION << 4, value])
        elements += bytes(-len(elements) % 4)
        head = bytes([packet[0] | 0x10]) + packet[1:12] + b"\xbe\xde" + struct.pack("!H", len(elements) // 4)
        return head + elements + packet[size:]

    def mixed(self, packet, source):
        """Two forms of a header (RFC 8285 sections 4.2 and 4.3), each behind two contributing sources (RFC 3550 section 5.1)."""
        place = self.count[source] = self.count.get(source, 0) + 1
        has_two = place % 2 == 0
        head = bytes([ORIENTATION, 1, 1]) if has_two else bytes([ORIENTATION << 4, 1])
        elements = BEFORE[has_two] + head + BEHIND[has_two]
        elements += bytes(-len(elements) % 4)
        profile = 0x1003 if has_two else 0xBEDE
        first = bytes([packet[0] & 0xE0 | 0x12]) + packet[1:12] + struct.pack("!II", 1, 0xFFFFFFFF)
        return first + struct.pack("!HH", profile, len(elements) // 4) + elements + packet[header_size(packet):]

    def between(self, packet, sequence):
        self.odd += 1
        if self.kind == "padding":
            head = bytes([packet[0] & 0xEF | 0x20, packet[1] & 0x7F]) + packet[2:12]
            return renumbered(head + bytes(7) + bytes([8]), sequence)
        return renumbered(packet[:1] + bytes([UNKNOWN_TYPE]) + packet[2:], sequence)

    def strange(self, packet):
        self.odd += 1
        self.sequence += 1
        head = bytes([0x80, UNKNOWN_TYPE]) + struct.pack("!H", self.sequence & 0xFFFF) + packet[4:8]
        return head + struct.pack("!I", self.source) + packet[header_size(packet):]

    @staticmethod
    def frame(packet, payload):
        """Where the bytes of a VP8 frame begin, behind the payload's descriptor, and whether they are its first."""
        descriptor = 1
        if packet[payload] & 0x80:
            extension = packet[payload + 1]
            descriptor = 2 + (extension >> 6 & 1) + (1 if extension & 0x30 else 0)
            if extension & 0x80:
                descriptor += 2 if packet[payload + 2] & 0x80 else 1
        return payload + descriptor, packet[payload] & 0x17 == 0x10

    def huge(self, packet, behind):
        frame, is_first = self.frame(packet, header_size(packet) + behind)
        if not is_first or packet[frame] & 1:
            return packet
        self.odd += 1
        return packet[:frame + 6] + struct.pack("<HH", 16383, 16383) + packet[frame + 10:]

    def encrypted(self, packet, behind):
        """As SFrame and insertable streams: what a depayloader and a keyframe detector need stays clear."""
        clear, is_first = self.frame(packet, header_size(packet) + behind)
        if is_first:
            clear += (3 if packet[clear] & 1 else 10) + (8 if self.kind == "encrypted-tail" else 0)
        sequence, = struct.unpack("!H", packet[2:4])
        noise = random.Random(sequence)
        self.odd += 1
        return packet[:clear] + bytes(byte ^ noise.randrange(256) for byte in packet[clear:])

    def apart(self, packet, source):
        """Single NAL units and STAP-A of parameter sets get a separate time and marker."""
        sequence, = struct.unpack("!H", packet[2:4])
        time, = struct.unpack("!I", packet[4:8])
        size = header_size(packet)
        added = self.added.get(source, 0)
        if packet[size] & 31 != 24:
            return [renumbered(packet, sequence + added)]
        sets, rest, at = [], [], size + 1
        while at + 2 < len(packet):
            length, = struct.unpack("!H", packet[at:at + 2])
            unit = packet[at + 2:at + 2 + length]
            (sets if unit[0] & 31 in (SEQUENCE_SETS, PICTURE_SETS) else rest).append(unit)
            at += 2 + length
        packets = []
        for unit in sets + rest:
            is_set = unit[0] & 31 in (SEQUENCE_SETS, PICTURE_SETS)
            second = packet[1] | 0x80 if is_set or unit is rest[-1] and packet[1] & 0x80 else packet[1] & 0x7F
            stamp = struct.pack("!I", (time - 90) & 0xFFFFFFFF) if is_set else packet[4:8]
            packets.append(renumbered(packet[:1] + bytes([second]) + packet[2:4] + stamp + packet[8:size] + unit,
                                      sequence + added + len(packets)))
        self.added[source] = added + len(packets) - 1
        return packets


class Feedback:
    """Counts what the receiver of video sends back, and knows no request for a keyframe but FIR (RFC 5104 section 4.3.1)."""

    KINDS = {(RtcpPsfbPacket, 1): "pli", (RtcpPsfbPacket, 4): "fir", (RtcpRtpfbPacket, 1): "nack"}

    def __init__(self):
        self.counts = dict.fromkeys(self.KINDS.values(), 0)
        self.last = None

        async def counted(transport, data):
            for packet in RtcpPacket.parse(data):
                name = self.KINDS.get((type(packet), getattr(packet, "fmt", None)))
                if name is None:
                    for recipient in transport._rtp_router.route_rtcp(packet):
                        await recipient._handle_rtcp_packet(packet)
                    continue
                # A FIR with the number of the one before repeats it.
                if name == "fir" and packet.fci[4] == self.last:
                    continue
                self.counts[name] += 1
                if name == "fir":
                    self.last = packet.fci[4]
                    source, = struct.unpack("!I", packet.fci[:4])
                    transport._rtp_router.senders[source]._send_keyframe()

        RTCDtlsTransport._handle_rtcp_data = counted

    @staticmethod
    def described(sdp):
        head, video, rest = sdp.partition("m=video")
        lines = [line for line in rest.split("\r\n") if not line.startswith("a=rtcp-fb:")]
        types = [line[len("a=rtpmap:"):].split()[0] for line in lines if re.match(r"a=rtpmap:\d+ VP8", line)]
        return head + video + "\r\n".join(lines) + "".join(f"a=rtcp-fb:{number} CCM FIR\r\n" for number in types)


class OddPeer(aiortc_peer.Peer):
    treatment = Packets

    def __init__(self, options):
        super().__init__(options)
        self.sets = Sets(options.odd, options.width, options.height) if options.odd.startswith("sets") else None
        self.packets = self.treatment(self, options.odd)
        self.is_renumbered = self.is_muted = False
        self.feedback = Feedback() if options.odd == "fir-only" else None
        self.sealing = Sealing() if options.odd == "sealed" else None
        if options.odd == "old-certificate":
            use_old_certificate()
        self.ciphers = Ciphers() if options.odd == "cipher-anew" else None
        if options.odd == "same-sources":
            number_sources()
        if options.odd == "sizes":
            resize_frames(h264.H264Encoder if options.codec == "h264" else vpx.Vp8Encoder)
        if options.odd in ("long-packets", "changing-packets"):
            encoder = LongPackets if options.odd == "long-packets" else ChangingPackets
            aiortc.rtcrtpsender.get_encoder = lambda codec: (
                encoder() if codec.mimeType.lower() == "audio/opus" else get_encoder(codec))

    async def run(self):
        async def tell():
            while True:
                await asyncio.sleep(1)
                aiortc_peer.report(event="odd", packets=self.packets.odd, **(self.feedback.counts if self.feedback else {}))

        tasks = [asyncio.create_task(tell())]
        if self.options.odd == "new-connection":
            tasks.append(asyncio.create_task(self.connect_anew()))
        if self.options.odd == "new-source":
            tasks.append(asyncio.create_task(self.change_source()))
        if self.options.odd == "other-numbers":
            tasks.append(asyncio.create_task(self.offer_again("is_renumbered")))
        if self.options.odd == "rejoins":
            tasks.append(asyncio.create_task(self.rejoin()))
        if self.options.odd == "muted-by-offer":
            tasks.append(asyncio.create_task(self.mute_for_a_while()))
        try:
            return await super().run()
        finally:
            for task in tasks:
                task.cancel()

    async def after_some_frames(self):
        while not (found := [member for member, connection in self.connections.items()
                             if connection.figures["framesSent"] >= aiortc_peer.SOME_FRAMES]):
            await asyncio.sleep(0.05)
        return found[0]

    async def change_source(self):
        """As an app does that restarts its capture, or a server between two of a participant's sources."""
        for sender in self.connections[await self.after_some_frames()].pc.getSenders():
            if sender.kind == "video":
                self.packets.move(sender)

    async def offer_again(self, flag):
        """Sends a second offer, as what the flag says: a server does between two of a participant's devices."""
        member = await self.after_some_frames()
        async with self.lock:
            setattr(self, flag, True)
            await self.send(member, await self.connections[member].offer())

    async def mute_for_a_while(self):
        member = await self.after_some_frames()
        for self.is_muted in (True, False):
            async with self.lock:
                await self.send(member, await self.connections[member].offer())
            await asyncio.sleep(HELD)

    async def rejoin(self):
        """As a page does that is loaded again: its new member is there before the server misses the old one."""
        await self.after_some_frames()
        async with self.lock:
            old, connections, self.connections, self.sid = self.sio, self.connections, {}, None
            old.handlers.clear()
            self.make_client()
        await self.join()
        for connection in connections.values():
            self.closed.append(await connection.close())
        await old.disconnect()
        await self.after_some_frames()
        aiortc_peer.report(event="rejoined")

    async def connect_anew(self):
        """As an app does whose network changed."""
        member = await self.after_some_frames()
        async with self.lock:
            connection = await self.replace_connection(member)
            await self.send(member, await connection.offer())
        while connection.figures["framesSent"] < aiortc_peer.SOME_FRAMES:
            await asyncio.sleep(0.05)
        aiortc_peer.report(event="connected-anew")

    async def send(self, member, message):
        if self.sets and message.get("sdp"):
            message = {**message, "sdp": self.sets.described(message["sdp"])}
        if self.options.odd == "strange-codec" and message.get("sdp"):
            message = {**message, "sdp": message["sdp"].replace("VP8/90000", "AV9/90000")}
        if self.is_renumbered and message.get("type") == "offer":
            message = {**message, "sdp": with_numbers(message["sdp"], OTHER_NUMBERS)}
        if self.options.odd in ("sideways", "turning", "mixed-headers") and message.get("sdp"):
            described = rf"\1a=extmap:{ORIENTATION} urn:3gpp:video-orientation\r\n"
            message = {**message, "sdp": re.sub(r"(m=video[\s\S]*?a=mid:[^\r]*\r\n)", described, message["sdp"])}
        if self.options.odd in ("layers", "lesser-layer") and message.get("type") == "offer":
            message = {**message, "sdp": describing_layers(message["sdp"])}
        if self.options.odd == "zero-sources" and message.get("sdp"):
            message = {**message, "sdp": re.sub(r"(?m)^a=ssrc:\d+|(?<=^a=ssrc-group:FID )[\d ]+", self.zero, message["sdp"])}
        if self.options.odd == "strange-repair" and message.get("type") == "offer":
            message = {**message, "sdp": with_strange_repair(message["sdp"])}
        if self.is_muted and message.get("type") == "offer":
            message = {**message, "sdp": re.sub(r"(m=audio[\s\S]*?a=)sendonly", r"\1inactive", message["sdp"], count=1)}
        if self.feedback and message.get("type") == "offer":
            message = {**message, "sdp": self.feedback.described(message["sdp"])}
        if message.get("type") == "offer":
            message = await self.offered(member, message)
        await super().send(member, message)

    @staticmethod
    def zero(match):
        return "a=ssrc:0" if match[0].startswith("a=") else "0 0"

    async def offered(self, member, message):
        odd, sdp = self.options.odd, message["sdp"]
        if odd == "terse":
            return {**message, "sdp": in_few_words(sdp)}
        if odd in ("active", "passive"):
            return {**message, "sdp": sdp.replace("a=setup:actpass", f"a=setup:{odd}")}
        if odd == "two-sources":
            sender, = [each for each in self.connections[member].pc.getSenders() if each.kind == "video"]
            return {**message, "sdp": in_plan_b(sdp, sender._ssrc)}
        if odd == "early":
            for candidate in early_candidates(sdp):
                await super().send(member, candidate)
            # Candidates have no description.
            self.own_descriptions.discard(None)
            message = {**message, "sdp": re.sub(r"a=(candidate|end-of-candidates).*\r\n", "", sdp)}
            await super().send(member, message)
        return message

    async def on_message(self, room, *rest):
        # aiortc takes no answer that refuses a codec which it does not have, nor one with the protocol of a terse offer.
        rest = [{**value, "sdp": value["sdp"].replace("AV9/90000", "VP8/90000").replace(" RTP/SAVPF", " UDP/TLS/RTP/SAVPF")}
                if isinstance(value, dict) and isinstance(value.get("sdp"), str) else value for value in rest]
        if self.is_renumbered and rest and isinstance(rest[-1], dict) and rest[-1].get("type") == "answer":
            answer = rest[-1]["sdp"]
            aiortc_peer.report(event="renumbered", numbers=re.findall(r"(?m)^m=\w+ \d+ \S+ (.*?)\r?$", answer))
            self.packets.left_out = {1: 1}
            rest[-1] = {**rest[-1], "sdp": with_numbers(answer, -OTHER_NUMBERS)}
        await super().on_message(room, *rest)


if __name__ == "__main__":
    aiortc_peer.main(__doc__, OddPeer, lambda parser: parser.add_argument("--odd", choices=KINDS, required=True))
