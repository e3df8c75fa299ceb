# SPDX-License-Identifier: Apache-2.0
"""The cost of twenty camera peers that share one encoder: `make figures OF=load`.

`tapedeck camera --count` publishes VP8 in 640x360 to Debian's Janus, which decrypts the packets and passes them on to
no one; there is no call between the peers. Measured is the CPU time of one core that the camera's process uses, as the
operating system counts it, with one peer and with all of them, in turns. The cost of encrypting is measured separately:
`srtpenc` of GStreamer with as many packets as the peers sent.

The cost of each further peer is printed too: webrtcbin has a pipeline, a packetiser, an RTP session and a socket for
each, and every packet is a system call. Exit code 0 if all peers cost no more than 1.3 times the cost of one with the
encryption of the others on top.

"""

import argparse
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

from process import entries, resident_bytes, share_of_core
from recording_cost import ROOT

sys.path.insert(0, str(ROOT / "Tests" / "EndToEnd"))
from stage import Stage  # noqa: E402

ROOM = 1234
# RTP of 1000 bytes of payload: about the average of 1 Mbit/s of video and its audio.
PACKET_BYTES = 1000


def encryption_seconds(packets):
    """CPU time of `srtpenc` for so many packets."""
    def seconds(element):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(
            ["gst-launch-1.0", "-q", "audiotestsrc", f"num-buffers={packets}", "wave=silence",
             f"samplesperbuffer={PACKET_BYTES // 2}", "!", "audio/x-raw,format=S16BE,channels=1,rate=48000", "!",
             "rtpL16pay", f"mtu={PACKET_BYTES + 12}", "!", *element, "fakesink", "sync=false"],
            check=True, timeout=300, stdout=subprocess.DEVNULL)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    key = "srtpenc key=" + "0123456789" * 6 + " rtp-cipher=aes-128-icm rtp-auth=hmac-sha1-80 !"
    return max(0, seconds(key.split()) - seconds([]))


def call(stage, url, peers, options):
    """The share of a core, the packets a second of one peer, and what the process is made of."""
    camera = stage.tapedeck("camera", url, "--count", peers, "--codec", "vp8", "--size", "640x360", "--bitrate", "1M",
                            "--json")
    time.sleep(10 + peers)
    share = share_of_core(camera.process.pid, options.seconds)
    threads, memory = entries(camera.process.pid, "task"), resident_bytes(camera.process.pid)
    camera.end(60)
    result = camera.result()
    assert result["joined"] == result["connected"] == peers, camera.story()
    # All peers send the same: frames of some packets each, and an audio packet every 20 ms.
    bits = 1_000_000
    packets = bits / 8 / PACKET_BYTES + 50
    print(f"{peers} peers: {100 * share:.1f} % of a core, {threads} threads, {memory / 1e6:.0f} MB, "
          f"frames sent {result['framesSent']} of {result['framesEncoded']}")
    return share, packets


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tapedeck", default=str(ROOT / ".build/release/tapedeck"))
    parser.add_argument("--peers", type=int, default=20)
    parser.add_argument("--seconds", type=int, default=30, help="length of each measurement")
    parser.add_argument("--rounds", type=int, default=2)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        stage = Stage(folder, str(pathlib.Path(options.tapedeck).resolve()))
        try:
            janus = stage.janus({ROOM: {"publishers": options.peers, "bitrate": 0, "audiocodec": "opus",
                                        "videocodec": "vp8"}})
            url = f"janus+ws://127.0.0.1:{janus.port}/?room={ROOM}"
            rounds = [(call(stage, url, 1, options), call(stage, url, options.peers, options))
                      for _ in range(options.rounds)]
        finally:
            complaints = stage.finish()
    one = sum(first[0] for first, _ in rounds) / len(rounds)
    many = sum(last[0] for _, last in rounds) / len(rounds)
    rate = rounds[0][0][1]
    measured = 200_000
    each = encryption_seconds(measured) / measured
    encryption = (options.peers - 1) * rate * each
    print(f"one peer {100 * one:.1f} %, {options.peers} peers {100 * many:.1f} %: "
          f"{100 * (many - one) / (options.peers - 1):.2f} % for each further one, of which encrypting "
          f"{rate:.0f} packets a second at {1e6 * each:.1f} us is {100 * rate * each:.2f} %")
    ratio = many / (one + encryption)
    print(f"{ratio:.2f} times one peer and the encryption of {options.peers - 1} more")
    print("\n".join(complaints), end="\n" if complaints else "")
    return 0 if ratio <= 1.3 and not complaints else 1


if __name__ == "__main__":
    sys.exit(main())
