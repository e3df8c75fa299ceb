# SPDX-License-Identifier: Apache-2.0
"""The audio of cameras: error correction, pauses, tones that distinguish them, and levels."""

import subprocess

import av
import media
import numpy as np
from daemon import Daemon
from peers import room_url
from recordings import interrupted, start_recorder, wait_for_seconds
from stage import LIMIT

ROOM = "123123"
SPEECH = "Please leave a message after the tone, and we will call you back as soon as we can. "


def opus_packets(path, index):
    with av.open(str(path)) as container:
        return [bytes(packet) for packet in container.demux(container.streams[index]) if packet.size]


def repeats_the_last(packet):
    """Whether a packet of one frame has LBRR data of the one before it (RFC 6716 section 4.2.4)."""
    if packet[0] >> 3 >= 16 or len(packet) < 2:
        # CELT alone has none.
        return False
    is_stereo = packet[0] >> 2 & 1
    return bool(packet[1] >> 6 & 1 or is_stereo and packet[1] >> 4 & 1)


def assert_decoders_agree(path, index):
    """FFmpeg's own decoder, which many players use, gives the same as the reference decoder.

    For speech in stereo with in-band repetition it differs in three of four loud windows (decision 74). Each of the two
    may be up to 10 ms late. After the pauses of DTX they differ anyhow.

    """
    windows = [media.samples(path, index, decoder) for decoder in ("opus", "libopus")]
    count = min(map(len, windows)) // 4800
    ours, reference = (np.sqrt((each[:4800 * count].reshape(count, 4800) ** 2).mean(axis=1)) for each in windows)
    louder = np.maximum(ours, reference)
    differs = abs(ours - reference) > 0.02 + 0.2 * louder
    story = [(number / 10, ours[number], reference[number]) for number in np.flatnonzero(differs)]
    assert 4 * differs.sum() <= (louder > 0.02).sum(), f"of {count} windows of 0.1 s: {story}"


def pitch(path, index):
    """The loudest frequency of the beeps, in steps of 10 Hz."""
    sound = media.samples(path, index)
    beeps = [sound[int(48000 * time):][:1600] for time in media.beeps(path, index)]
    spectrum = sum(np.abs(np.fft.rfft(beep * np.hanning(1600), 4800)) for beep in beeps if len(beep) == 1600)
    return 10 * int(np.argmax(spectrum))


def test_cameras_are_told_apart_by_their_tones_and_send_what_they_describe(stage):
    """Three of them: one that pauses, one without error correction, and one that speaks."""
    speech = stage.folder / "speech.wav"
    subprocess.run(["ffmpeg", "-v", "error", "-f", "lavfi", "-i", f"flite=text='{3 * SPEECH}'", "-ar", "48000", speech],
                   check=True, timeout=60)
    server = stage.serve("--room-size", "4")
    url = room_url(server, ROOM)
    exported, recorder = start_recorder(stage, url)
    recorder.wait_for("the room", lambda: "joined the room" in recorder.messages, LIMIT)
    cameras = {name: stage.tapedeck("camera", url, "--json", "--video", "none", "--name", name, *flags,
                                    "--trace-signalling", stage.folder / f"{name}.jsonl")
               for name, flags in (("kitchen", stage.room("send: { audio: test, audio_dtx: true }")),
                                   ("garden", stage.room("send: { audio: test, audio_fec: false, audio_bitrate: 24k }")),
                                   ("door", ["--audio", f"file:{speech}"]))}
    wait_for_seconds(recorder, stage.folder / "storage", 7, files=3)
    interrupted(recorder)
    for camera in cameras.values():
        assert camera.end(LIMIT) in (0, 130), camera.story()
    for name, line in (("kitchen", "useinbandfec=1;usedtx=1"), ("garden", "useinbandfec=0"), ("door", "useinbandfec=1")):
        text = (stage.folder / f"{name}.jsonl").read_text()
        assert f"a=fmtp:111 minptime=10;{line}\\" in text, f"{name}: {text}"
    found, indices = {}, {}
    for stream in media.streams(exported, "audio"):
        packets = opus_packets(exported, stream["index"])
        share = sum(map(repeats_the_last, packets)) / len(packets)
        first, last = media.span(exported, stream["index"])
        # How much of the time of a track its packets of 20 ms fill.
        filled = 0.020 * len(packets) / (last - first)
        name = share > 0.5 or pitch(exported, stream["index"])
        found[name], indices[name] = (packets, share, filled), stream["index"]
    story = f"{({name: (len(packets), *rest) for name, (packets, *rest) in found.items()})}\n{recorder.story()}"
    # The tones of docs/camera.md; the audio of a speaker is repeated in most packets.
    assert set(found) == {2800, 3220, True}, story
    (_, _, pausing), (plain, share, filled), (speaking, _, _) = found[2800], found[3220], found[True]
    assert share == 0, story
    for name in (3220, True):
        assert_decoders_agree(exported, indices[name])
    # Beeps, and a packet of the noise behind them 2.5 times a second, where the other sends all the time.
    assert pausing <= 0.5 * filled, story
    assert np.mean(list(map(len, plain))) < 0.5 * np.mean(list(map(len, speaking))), story


def test_how_loud_tracks_are_is_told(stage):
    """A peer that beeps, and our own camera, whose file is silent: that is a warning."""
    silent = stage.folder / "silent.wav"
    subprocess.run(["ffmpeg", "-v", "error", "-f", "lavfi", "-i", "anullsrc=r=48000:cl=stereo:d=20", silent], check=True,
                   timeout=60)
    server = stage.room_server(5)
    daemon = Daemon(stage, {"standup": {"url": room_url(server, ROOM), "send": {
        "capture": "none", "audio": f"file:{silent}"}}})
    daemon.wait_for_phase("standup", "joined", LIMIT)
    stage.aiortc(server, ROOM, "--send", "synthetic", "--receive")

    def heard():
        status = daemon.room("standup")["status"]
        sounds = [track["sound"] for track in status["tracks"] if "levelDecibels" in track.get("sound", {})]
        own = status.get("camera", {}).get("sound", {})
        # A beep of -9 dBov for 33 ms of each second; a second may begin in the middle of one.
        beeps = any(-32 <= sound["levelDecibels"] <= -18 and sound["silentSeconds"] < 2 for sound in sounds)
        return (sounds, own) if beeps and own.get("silentSeconds", 0) > 10 else None
    (_,), own = daemon.wait_for("levels", heard, LIMIT)
    assert own["levelDecibels"] == -127, own
    # A peer that does not get the processor is silent in that time.
    daemon.wait_for("metrics", lambda: {
        'tapedeck_room_silent_tracks{room="standup"} 0', 'tapedeck_room_camera_sound_decibels{room="standup"} -127',
    } <= set(daemon.metrics().splitlines()), LIMIT)
    daemon.wait_for("a warning", lambda: daemon.log("our own audio is silent"), LIMIT)
