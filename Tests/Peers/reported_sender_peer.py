#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The aiortc peer, sending as senders do of which people told who record calls.

--odd KIND says how; each names the public report that it is made after.
  first-report      the first sender report of each source has the RTP time 0xFFFFFFFF (obsproject/obs-studio#7926)
  no-reports        no sender reports at all (ossrs/srs#3582)
  half-reports      sender reports for video only (OvenMediaLabs/OvenMediaEngine#2031)
  strange-reports   sender reports of video whose RTP times count from 0, and not as its packets do (binbat/live777#408)
  still-reports     sender reports of audio whose RTP time is always 0 (pjsip/pjproject#740)
  counted-reports   sender reports that announce a block which is not there (versatica/mediasoup#73)
  later-reports     sender reports behind a receiver report, a description and an unknown packet of the same datagram
                    (awslabs/amazon-kinesis-video-streams-webrtc-sdk-c#45)
  uptime            sender reports of audio by a clock that began with the device, those of video by the wall clock
  stuck-clock       video whose RTP time stands still for a second, again and again (pion/webrtc#1735, aiortc/aiortc#149)
  next-tick         video of which each tenth frame is one tick behind the one before it (versatica/mediasoup#408)
  large-packets     video in packets of up to 20,000 bytes (pion/webrtc#1925, #2927)
  twice             every datagram twice (paullouisageneau/libdatachannel#1338)
  no-sources        two videos of one payload type, which only the identification of their m-lines tells apart: no source is
                    described (centricular/gstwebrtc-demos#119, versatica/mediasoup-client#303)
  tones             audio in which telephone events take the place of sound (sipwise/rtpengine#861)
  comfort-noise     G.711 with comfort noise in silence (sipwise/rtpengine#1370); with --audio-codec pcmu
  telephone         a second offer, with G.711 in the place of Opus, and audio by it under the same source (pjsip/pjproject#2340)
  lost-before       video of which each twentieth frame is missing, and no sequence number: a server lost it and counted on
                    (versatica/mediasoup#817, #1101)
  wraps-at-once     audio and video whose first numbers are the last before a wrap, and never come (cisco/libsrtp#729, pion/rtp#277)
  edge-sources      audio of the source 4294967295, and video of the source 0 (RestComm/media-core#79, bluenviron/gortsplib#480)
  takes-turns       video from two sources in turn, each with its own clock (finos/SymphonyMediaBridge#323)
  pixels            video that is 1x1, then as before, for some frames each (shinyoshiaki/werift-webrtc#300)
  very-large        video that is 7680x4320 for some frames
  late-repair       video of which some packets come behind 200 later ones, under their own source, as where they were lost and
                    sent again without RTX (pion/webrtc#1477)
  torn-handshake    a certificate of 2 KB, and a handshake in datagrams of 256 bytes of which one is lost; what is sent again is
                    cut elsewhere (OvenMediaLabs/OvenMediaEngine#2329, versatica/mediasoup#1100)
  source-each-second  video that has another source with each second's keyframe (bluenviron/gortsplib#687)
  still-screen      video of one frame in four seconds, as of a screen on which nothing changes (element-hq/element-call#1269)
  one-frame         video of one frame (kaeawc/auto-mobile#4383)
  other-order       a second offer with the same m-lines in another order (microsoft/MixedReality-WebRTC#801)
  fewer-lines       a second offer without the m-line of video, none for two seconds, and a third one with it
                    (meetecho/janus-gateway#1151)
  strange-fraction  sender reports whose fractions of a second are nanoseconds, each nearly at the same place in its second, as
                    MediaMTX sent them to players (bluenviron/gortsplib#869)

Prints `odd` with how many packets or reports were changed or left out, each second.

Runs in .venv/peers, as aiortc_peer.py.
"""

import asyncio
import datetime
import random
import re
import struct

import aioice.ice
import aiortc.rtcrtpsender
import numpy as np
from aiortc import RTCCertificate, RTCRtpSender, rtcdtlstransport
from aiortc.codecs import g711, get_encoder, h264, vpx
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from OpenSSL import SSL
from pylibsrtp import ffi

import aiortc_peer
import odd_sender_peer
from odd_sender_peer import EPOCH, RECEIVER_REPORT, SENDER_REPORT, header_size, renumbered

KINDS = ("first-report", "no-reports", "half-reports", "strange-reports", "still-reports", "counted-reports", "later-reports",
         "uptime", "stuck-clock", "next-tick", "large-packets", "twice", "no-sources", "tones", "comfort-noise", "telephone",
         "lost-before", "wraps-at-once", "edge-sources", "takes-turns", "pixels", "very-large", "late-repair", "torn-handshake",
         "source-each-second", "still-screen", "one-frame", "other-order", "fewer-lines", "strange-fraction")
DESCRIPTION, UNKNOWN_CONTROL = 202, 212
# Frames after which something happens again, and how many packets or frames it lasts.
EVERY, FOR = {"stuck-clock": 45, "next-tick": 10, "tones": 150, "lost-before": 20, "takes-turns": 30}, {"stuck-clock": 15, "tones": 8}
TONES, NOISE = 126, 13
# Bytes of a packet on a network without a limit of 1500.
LARGE = 20_000
# The packets of each second from which silence begins.
SILENCE_FROM = 6
# The first number of a source that wraps at once, and how many packets of it never come.
FIRST_NUMBER, NEVER = 65530, 10
# The rates of Opus and of G.711.
RATES = 48000, 8000
# Packets of which one is lost, those that come before it comes again, and bytes of each, so that this does not last.
REPAIRED, BEHIND, SMALL = 500, 200, 900
# Bytes of a datagram of a torn handshake, and names that its certificate has.
TORN, NAMES = 256, 60
# Frames of which one is captured of a still screen.
STILL = 60
# Seconds without an m-line.
WITHOUT = 2
# Where in their second reports are made, by kind of media.
PLACES = {"audio": 0.05, "video": 0.55}


def without_sources(sdp):
    return re.sub(r"(?m)^a=ssrc.*\r\n", "", sdp)


def enlarge_ciphers():
    """pylibsrtp has room for 1500 bytes."""
    make = rtcdtlstransport.Session

    def made(policy):
        session = make(policy)
        session._cdata = ffi.new("char[]", 1 << 16)
        session._buffer = ffi.buffer(session._cdata)
        return session

    rtcdtlstransport.Session = made


class NoisyVideo(aiortc_peer.PatternVideo):
    """The test pattern on noise, of which nothing can be predicted."""

    @property
    def background(self):
        return np.random.default_rng(self.counter).integers(60, 180, (self.height, self.width), np.uint8)

    @background.setter
    def background(self, value):
        pass


class StillVideo(aiortc_peer.PatternVideo):
    """The test pattern, of which few frames are captured, or one."""

    is_one = False

    async def recv(self):
        if self.counter and self.is_one:
            await asyncio.Event().wait()
        if self.counter:
            self.counter += STILL - 1
        return await super().recv()


class TornHandshake:
    """Sends each record of a handshake by itself, but for one."""

    def __init__(self):
        self.count = 0
        make, write = SSL.Connection.__init__, rtcdtlstransport.RTCDtlsTransport._write_ssl
        certificate = self.certificate()

        def made(connection, *arguments):
            make(connection, *arguments)
            connection.set_ciphertext_mtu(TORN)

        async def write_torn(transport):
            if transport.encrypted:
                return await write(transport)
            while data := self.read(transport._ssl):
                while data:
                    size = 13 + struct.unpack("!H", data[11:13])[0]
                    record, data = data[:size], data[size:]
                    self.count += 1
                    # One in the middle of the certificate.
                    if self.count != 4:
                        await transport.transport._send(record)

        SSL.Connection.__init__ = made
        create = RTCCertificate._create_ssl_context

        def create_torn(*arguments, **named):
            context = create(*arguments, **named)
            context.set_options(SSL.OP_NO_QUERY_MTU)
            return context

        RTCCertificate._create_ssl_context = create_torn
        RTCCertificate.generateCertificate = classmethod(lambda kind: certificate)
        rtcdtlstransport.RTCDtlsTransport._write_ssl = write_torn

    @staticmethod
    def read(connection):
        try:
            return connection.bio_read(1 << 16)
        except SSL.Error:
            return b""

    @staticmethod
    def certificate():
        key = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "peer")])
        now, day = datetime.datetime.now(datetime.timezone.utc), datetime.timedelta(1)
        builder = x509.CertificateBuilder(name, name, key.public_key(), 77, now - day, now + day)
        names = [x509.DNSName(f"media-server-{number}.example.org") for number in range(NAMES)]
        builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
        return RTCCertificate(key, builder.sign(key, hashes.SHA256()))


class TelephoneEncoder:
    """An encoder of Opus that makes G.711 when it is told to; its times are those of Opus."""

    def __init__(self, codec):
        self.opus, self.telephone, self.is_telephone, self.time = get_encoder(codec), g711.PcmuEncoder(), False, 0

    def encode(self, frame, force_keyframe=False):
        if not self.is_telephone:
            payloads, self.time = self.opus.encode(frame, force_keyframe)
            return payloads, self.time
        payloads, _ = self.telephone.encode(frame, force_keyframe)
        self.time += aiortc_peer.CHUNK
        return payloads, self.time


class Reported(odd_sender_peer.Packets):
    """The treatment of the packets on their way out."""

    def __init__(self, peer, kind):
        super().__init__(peer, kind)
        # By source: frames or packets so far, the time of the newest, and what sequence numbers have less.
        self.frames_of, self.times, self.missing = {}, {}, {}
        self.first_reports, self.other_source = set(), random.getrandbits(32)
        # Where the times of G.711 begin, on both clocks.
        self.telephone_from = None
        # The source whose turn it is.
        self.turn = {}
        self.waits_for_keyframe = False
        if kind == "twice":
            once = aioice.ice.Connection.send

            async def twice(connection, data):
                # Those of media and reports: the others are of the handshake (RFC 7983).
                for _ in range(2 if 128 <= data[0] <= 191 else 1):
                    await once(connection, data)

            aioice.ice.Connection.send = twice

    def frame_number(self, packet, source):
        """Which frame of its source a packet is of."""
        if packet[4:8] != self.times.get(source):
            self.times[source] = packet[4:8]
            self.frames_of[source] = self.frames_of.get(source, -1) + 1
        return self.frames_of[source]

    def made_of(self, packet):
        kind, source = self.kind_of(packet)
        change = getattr(self, "made_" + self.kind.replace("-", "_"), None)
        return change(packet, kind, source) if change else [packet]

    def made_twice(self, packet, kind, source):
        self.odd += 1
        return [packet]

    def made_stuck_clock(self, packet, kind, source):
        if kind != "video":
            return [packet]
        place, time = self.frame_number(packet, source) % EVERY["stuck-clock"], packet[4:8]
        if place < EVERY["stuck-clock"] - FOR["stuck-clock"]:
            self.newest = time
            return [packet]
        self.odd += 1
        return [packet[:4] + self.newest + packet[8:]]

    def made_next_tick(self, packet, kind, source):
        if kind != "video":
            return [packet]
        time, before = packet[4:8], self.times.get(source)
        if time != before:
            self.newest = before
        place = self.frame_number(packet, source)
        if place == 0 or place % EVERY["next-tick"]:
            return [packet]
        self.odd += 1
        tick = struct.unpack("!I", self.newest)[0] + 1 & 0xFFFFFFFF
        return [packet[:4] + struct.pack("!I", tick) + packet[8:]]

    def made_large_packets(self, packet, kind, source):
        self.odd += len(packet) > 1500
        return [packet]

    def made_tones(self, packet, kind, source):
        if kind != "audio":
            return [packet]
        place = self.count[source] = self.count.get(source, -1) + 1
        place %= EVERY["tones"]
        if place < EVERY["tones"] - FOR["tones"]:
            return [packet]
        number = place - (EVERY["tones"] - FOR["tones"])
        if number == 0:
            self.newest = packet[4:8]
        self.odd += 1
        # The digit 5, the end with the last packets, a volume, and how long it has lasted (RFC 4733 section 2.3).
        event = struct.pack("!BBH", 5, (0x80 if number >= FOR["tones"] - 3 else 0) | 10, 960 * (number + 1))
        head = bytes([packet[0] & 0xEF, (0x80 if number == 0 else 0) | TONES])
        return [head + packet[2:4] + self.newest + packet[8:12] + event]

    def made_comfort_noise(self, packet, kind, source):
        if kind != "audio":
            return [packet]
        place = self.count[source] = self.count.get(source, -1) + 1
        place %= 50
        missing = self.missing.setdefault(source, 0)
        if place < SILENCE_FROM:
            return [renumbered(packet, struct.unpack("!H", packet[2:4])[0] - missing)]
        self.odd += 1
        if place == SILENCE_FROM:
            noise = packet[:1] + bytes([NOISE]) + packet[2:12]
            return [renumbered(bytes([noise[0] & 0xEF]) + noise[1:] + bytes([70]), struct.unpack("!H", packet[2:4])[0] - missing)]
        self.missing[source] += 1
        return []

    def telephone_time(self, time):
        before, now = self.telephone_from
        return now + (time - before) * RATES[1] // RATES[0] & 0xFFFFFFFF

    def made_telephone(self, packet, kind, source):
        if kind != "audio" or not self.peer.is_on_telephone or len(packet) - header_size(packet) != g711.SAMPLES_PER_FRAME:
            return [packet]
        time, = struct.unpack("!I", packet[4:8])
        self.telephone_from = self.telephone_from or (time, time)
        self.odd += 1
        head = packet[:1] + bytes([packet[1] & 0x80]) + packet[2:4] + struct.pack("!I", self.telephone_time(time))
        return [head + packet[8:]]

    def made_lost_before(self, packet, kind, source):
        if kind != "video":
            return [packet]
        sequence, = struct.unpack("!H", packet[2:4])
        place = self.frame_number(packet, source)
        if place and place % EVERY["lost-before"] == 0:
            self.missing[source] = self.missing.get(source, 0) + 1
            # Frames, whatever they have of packets.
            self.odd += packet[1] >> 7
            return []
        return [renumbered(packet, sequence - self.missing.get(source, 0))]

    def made_wraps_at_once(self, packet, kind, source):
        if kind not in ("audio", "video"):
            return [packet]
        place = self.count[source] = self.count.get(source, -1) + 1
        if place == 0:
            self.moved[source] = FIRST_NUMBER - struct.unpack("!H", packet[2:4])[0], 0
        packet = self.shifted(packet, source)
        if place >= NEVER:
            return [packet]
        # It was sent.
        self.odd += 1
        self.sender(source).transport._tx_srtp.protect(packet)
        return []

    def made_takes_turns(self, packet, kind, source):
        if kind != "video":
            return [packet]
        turn = self.frame_number(packet, source) // EVERY["takes-turns"]
        if turn != self.count.get(source, 0):
            # Each turn begins with a keyframe, which the next frame is.
            self.count[source] = turn
            self.sender(source)._send_keyframe()
        frame, is_first = self.frame(packet, header_size(packet))
        if is_first and packet[frame] & 1 == 0:
            self.turn[source] = turn % 2
        place = self.turn.get(source, 0)
        numbers = self.added.setdefault(place, 100 + 30_000 * place)
        self.added[place] += 1
        if place == 0:
            return [renumbered(packet, numbers)]
        self.odd += 1
        time, = struct.unpack("!I", packet[4:8])
        moved = struct.pack("!II", time + (1 << 30) & 0xFFFFFFFF, self.other_source)
        return [renumbered(packet[:4] + moved + packet[12:], numbers)]

    def made_late_repair(self, packet, kind, source):
        if kind != "video":
            return [packet]
        place = self.count[source] = self.count.get(source, -1) + 1
        # Some, so that none is under way at the end.
        if place % REPAIRED == REPAIRED // 2 and self.odd < 4:
            self.odd += 1
            self.held = [packet]
            return []
        if place % REPAIRED == REPAIRED // 2 + BEHIND:
            packets, self.held = [packet] + self.held, []
            return packets
        return [packet]

    def made_source_each_second(self, packet, kind, source):
        if kind != "video":
            return [packet]
        second, place = divmod(self.frame_number(packet, source), self.peer.options.fps)
        if place == 0 and second > 0 and self.count.get(source) != second:
            self.count[source] = second
            self.sender(source)._send_keyframe()
        frame, is_first = self.frame(packet, header_size(packet))
        if is_first and packet[frame] & 1 == 0:
            self.turn[source] = self.turn.get(source, -1) + 1
        self.odd = self.turn.get(source, 0)
        return [packet[:8] + struct.pack("!I", source + 1000 * self.odd & 0xFFFFFFFF) + packet[12:]]

    def made_fewer_lines(self, packet, kind, source):
        if kind != "video":
            return [packet]
        frame, is_first = self.frame(packet, header_size(packet))
        if self.peer.lacks_video:
            self.waits_for_keyframe = True
        elif self.waits_for_keyframe and is_first and packet[frame] & 1 == 0:
            self.waits_for_keyframe = False
        if self.waits_for_keyframe:
            self.odd += 1
            self.missing[source] = self.missing.get(source, 0) + 1
            self.sender(source)._send_keyframe()
            return []
        return [renumbered(packet, struct.unpack("!H", packet[2:4])[0] - self.missing.get(source, 0))]

    # Reports.

    def reported(self, data):
        packets = []
        while len(data) >= 4:
            size = 4 + 4 * struct.unpack("!H", data[2:4])[0]
            packet, data = data[:size], data[size:]
            packets.append(self.report(packet) if packet[1] == SENDER_REPORT else packet)
        if self.kind == "later-reports" and any(packet[1] == SENDER_REPORT for packet in packets):
            source = packets[0][4:8]
            before = [bytes([0x80, RECEIVER_REPORT, 0, 1]) + source, bytes([0x80, UNKNOWN_CONTROL, 0, 2]) + source + bytes(4)]
            packets = before + sorted(packets, key=lambda packet: packet[1] == SENDER_REPORT)
            self.odd += 1
        return b"".join(packets)

    def kind_of_source(self, source):
        senders = [sender for connection in self.peer.connections.values() for sender in connection.pc.getSenders()]
        return next((sender.kind for sender in senders if sender._ssrc == source), None)

    def report(self, packet):
        source, = struct.unpack("!I", packet[4:8])
        media, kind = self.kind_of_source(source), self.kind
        time, = struct.unpack("!I", packet[16:20])

        def with_time(value):
            self.odd += 1
            return packet[:16] + struct.pack("!I", value) + packet[20:]

        if kind == "no-reports" or kind == "half-reports" and media == "audio":
            self.odd += 1
            # A receiver report with the same blocks, which may be none.
            return bytes([packet[0], RECEIVER_REPORT]) + struct.pack("!H", len(packet) // 4 - 6) + packet[4:8] + packet[28:]
        if kind == "first-report" and source not in self.first_reports:
            self.first_reports.add(source)
            return with_time(0xFFFFFFFF)
        if kind == "still-reports" and media == "audio":
            return with_time(0)
        if kind == "strange-reports" and media == "video":
            seconds = struct.unpack("!I", packet[8:12])[0] - 0xE0000000
            return with_time(seconds * aiortc_peer.VIDEO_RATE & 0xFFFFFFFF)
        if kind == "counted-reports":
            self.odd += 1
            return bytes([packet[0] & 0xE0 | (packet[0] & 0x1F) + 1]) + packet[1:]
        if kind == "uptime" and media == "audio":
            seconds, = struct.unpack("!I", packet[8:12])
            self.newest = self.newest or seconds
            self.odd += 1
            return packet[:8] + struct.pack("!I", EPOCH + 20 + seconds - self.newest) + packet[12:]
        if kind == "strange-fraction" and media in PLACES:
            seconds, fraction = struct.unpack("!II", packet[8:16])
            # A clock that waits for a second ends a little late.
            place = PLACES[media] + random.uniform(0, 0.002)
            moved = place - fraction / (1 << 32)
            rate = RATES[0] if media == "audio" else aiortc_peer.VIDEO_RATE
            self.odd += 1
            head = packet[:8] + struct.pack("!II", seconds, round(place * 1e9))
            return head + struct.pack("!I", time + round(moved * rate) & 0xFFFFFFFF) + packet[20:]
        if kind == "telephone" and media == "audio" and self.telephone_from:
            return with_time(self.telephone_time(time))
        if kind == "takes-turns" and media == "video" and self.turn.get(source):
            return packet[:4] + struct.pack("!I", self.other_source) + packet[8:16] + struct.pack(
                "!I", time + (1 << 30) & 0xFFFFFFFF) + packet[20:]
        return packet


class ReportedPeer(odd_sender_peer.OddPeer):
    treatment = Reported

    def __init__(self, options):
        super().__init__(options)
        self.kind, self.is_on_telephone, self.encoder = options.odd, False, None
        self.lacks_video = self.has_offered_again = False
        if self.kind == "large-packets":
            vpx.PACKET_MAX = h264.PACKET_MAX = LARGE
            enlarge_ciphers()
            aiortc_peer.PatternVideo = NoisyVideo
        if self.kind in ("pixels", "very-large"):
            odd_sender_peer.SIZES = ((1, 1),) if self.kind == "pixels" else ((7680, 4320),)
            odd_sender_peer.SIZE_FRAMES = 30 if self.kind == "pixels" else 3
            odd_sender_peer.resize_frames(vpx.Vp8Encoder)
        if self.kind == "late-repair":
            vpx.PACKET_MAX = SMALL
            aiortc_peer.PatternVideo = NoisyVideo
            RTCRtpSender._retransmit = self.repair_nothing
        if self.kind == "torn-handshake":
            TornHandshake()
        if self.kind in ("still-screen", "one-frame"):
            StillVideo.is_one = self.kind == "one-frame"
            aiortc_peer.PatternVideo = StillVideo
        if self.kind == "edge-sources":
            odd_sender_peer.number_sources(0xFFFFFFFF, 0)
        if self.kind == "telephone":
            aiortc.rtcrtpsender.get_encoder = self.encoder_of

    @staticmethod
    async def repair_nothing(sender, sequence_number):
        """The packet asked for is on its way."""

    def encoder_of(self, codec):
        if codec.mimeType.lower() != "audio/opus":
            return get_encoder(codec)
        self.encoder = TelephoneEncoder(codec)
        return self.encoder

    async def run(self):
        # As a server does that puts another caller behind a source, and an app that makes its offer of a list of its tracks.
        flags = {"telephone": "is_on_telephone", "other-order": "has_offered_again"}
        tasks = [asyncio.create_task(self.offer_again(flags[self.kind]))] if self.kind in flags else []
        if self.kind == "fewer-lines":
            tasks.append(asyncio.create_task(self.offer_less()))
        try:
            return await super().run()
        finally:
            for task in tasks:
                task.cancel()

    async def offer_less(self):
        """As a server does that describes just what its publisher has at present."""
        member = await self.after_some_frames()
        self.has_offered_again = True
        for self.lacks_video in (True, False):
            async with self.lock:
                await self.send(member, await self.connections[member].offer())
            await asyncio.sleep(WITHOUT)
        aiortc_peer.report(event="offered-again")

    async def send(self, member, message):
        if self.kind == "other-order" and self.has_offered_again and message.get("type") == "offer":
            message = {**message, "sdp": self.in_other_order(message["sdp"])}
        if self.lacks_video and message.get("type") == "offer":
            message = {**message, "sdp": self.without_video(message["sdp"])}
        if self.kind == "no-sources" and message.get("sdp"):
            message = {**message, "sdp": without_sources(message["sdp"])}
        if self.is_on_telephone and message.get("type") == "offer":
            message = {**message, "sdp": self.by_telephone(message["sdp"])}
        await super().send(member, message)

    @staticmethod
    def in_other_order(sdp):
        head, *media = re.split(r"(?=^m=)", sdp, flags=re.M)
        head = re.sub(r"(a=group:BUNDLE )([^\r\n]*)", lambda group: group[1] + " ".join(reversed(group[2].split())), head)
        return head + "".join(reversed(media))

    @staticmethod
    def without_video(sdp):
        head, *media = re.split(r"(?=^m=)", sdp, flags=re.M)
        kept = [section for section in media if not section.startswith("m=video")]
        mids = [re.search(r"(?m)^a=mid:(\S+)", section)[1] for section in kept]
        return re.sub(r"(a=group:BUNDLE )[^\r\n]*", lambda group: group[1] + " ".join(mids), head) + "".join(kept)

    @staticmethod
    def by_telephone(sdp):
        head, *media = re.split(r"(?=^m=)", sdp, flags=re.M)
        for index, section in enumerate(media):
            if section.startswith("m=audio"):
                lines = [line for line in section.splitlines(True) if not re.match(r"a=(rtpmap|fmtp|rtcp-fb):(?!0 )", line)]
                lines[0] = re.sub(r"(m=audio \d+ \S+) .*", r"\1 0", lines[0].rstrip()) + "\r\n"
                media[index] = "".join(lines)
        return head + "".join(media)

    async def on_message(self, room, *rest):
        if self.has_offered_again and rest and isinstance(rest[-1], dict) and rest[-1].get("type") == "answer":
            aiortc_peer.report(event="answer", lines=re.findall(r"(?m)^m=(\w+ \d+)", rest[-1]["sdp"]))
            return
        if self.is_on_telephone and rest and isinstance(rest[-1], dict) and rest[-1].get("type") == "answer":
            aiortc_peer.report(event="telephone", numbers=re.findall(r"(?m)^m=\w+ \d+ \S+ (.*?)\r?$", rest[-1]["sdp"]))
            self.encoder.is_telephone = True
            # aiortc is not to know.
            return
        await super().on_message(room, *rest)


if __name__ == "__main__":
    aiortc_peer.main(__doc__, ReportedPeer, lambda parser: parser.add_argument("--odd", choices=KINDS, required=True))
