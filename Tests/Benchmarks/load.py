# SPDX-License-Identifier: Apache-2.0
"""The load of `make bench`: media that are encoded once, and the process that sends them."""

import dataclasses
import hashlib
import pathlib
import re
import ssl
import subprocess

import programs

# How the packets of a frame follow each other; see load_sender.c.
SHAPES = ("paced", "bursts", "chromium")
TRACE = pathlib.Path(__file__).with_name("chromium.trace")
SECONDS = 10
OPUS_SECONDS = 0.020


@dataclasses.dataclass(frozen=True)
class Media:
    """The media of every participant: video of this many bit/s, and Opus at 64 kbit/s."""

    name: str
    codec: str
    width: int
    height: int
    frames_per_second: int
    # Noise of so many pixels, enlarged: it needs what the encoder may spend, so that the rate is what was asked for.
    noise: tuple
    encoder: str

    def encode(self, folder):
        """The file of so many seconds; made if it is not there."""
        path = folder / f"{self.name}.mkv"
        if path.exists():
            return path
        unfinished = path.with_suffix(".part")
        size, noise = (f"width={width},height={height}" for width, height in ((self.width, self.height), self.noise))
        pipeline = (
            f"matroskamux name=mux ! filesink location={unfinished} "
            f"videotestsrc pattern=snow num-buffers={SECONDS * self.frames_per_second} ! "
            f"video/x-raw,{noise},framerate={self.frames_per_second}/1 ! videoscale ! videoconvert ! "
            f"video/x-raw,format=I420,{size} ! {self.encoder} ! mux. "
            f"audiotestsrc num-buffers={round(SECONDS / OPUS_SECONDS)} samplesperbuffer={round(48000 * OPUS_SECONDS)} "
            "wave=pink-noise ! audio/x-raw,rate=48000,channels=2 ! opusenc bitrate=64000 ! mux.")
        subprocess.run(["gst-launch-1.0", "-q", *pipeline.split()], check=True)
        unfinished.rename(path)
        return path


def vp8(bits_per_second, keyframe_distance):
    return (f"vp8enc target-bitrate={bits_per_second} end-usage=cbr deadline=1 cpu-used=8 max-quantizer=63 "
            f"keyframe-max-dist={keyframe_distance}")


MEDIA = {media.name: media for media in (
    Media("vp8-720p30", "vp8", 1280, 720, 30, (34, 20), vp8(1_600_000, 60)),
    Media("h264-720p30", "h264", 1280, 720, 30, (64, 36),
          "x264enc bitrate=1600 pass=cbr speed-preset=ultrafast tune=zerolatency key-int-max=60 ! "
          "video/x-h264,profile=constrained-baseline ! h264parse"),
    Media("vp8-360p15", "vp8", 640, 360, 15, (32, 18), vp8(400_000, 30)),
)}


def certificate(folder):
    """A certificate and its key in one PEM file; made if it is not there."""
    path = folder / "certificate.pem"
    if not path.exists():
        key = folder / "key.part"
        made = subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
                               "-nodes", "-subj", "/CN=bench", "-days", "3650", "-keyout", key], check=True,
                              capture_output=True)
        path.write_bytes(made.stdout + key.read_bytes())
        key.unlink()
    return path


class Sender(programs.Talker):
    """Every participant in one process, which encodes nothing."""

    def __init__(self, setting, shape="paced"):
        super().__init__([setting.sender, setting.path, setting.media.codec, SECONDS * 1000, setting.certificate,
                          TRACE if shape == "chromium" else shape], setting.folder)
        self.count = 0
        first, end, _ = setting.certificate.read_text().partition("-----END CERTIFICATE-----\n")
        self.fingerprint = hashlib.sha256(ssl.PEM_cert_to_DER_cert(first + end)).digest().hex(":").upper()

    def offer(self):
        """The next participant's offer.

        webrtcbin's fingerprint of a certificate that it is given takes in the key too.
        """
        self.say("offer\n")
        return re.sub(r"a=fingerprint:[^\r\n]*", f"a=fingerprint:sha-256 {self.fingerprint}", self.description())

    def call(self, answer):
        """Adds a participant whose offer `answer` answers."""
        described = answer(self.count, self.offer())
        self.say(f"answer {self.count}\n")
        self.tell_description(described)
        self.count += 1

    def sent(self, command="count"):
        """Figures of each participant so far, and by how many milliseconds the latest packet was late."""
        self.say(f"{command}\n")
        *lines, late = self.lines()
        names = ("connected", "frames", "pictures", "sounds")
        return [dict(zip(names, map(int, line.split()))) for line in lines], float(late)

    def stop(self):
        return self.sent("stop")
