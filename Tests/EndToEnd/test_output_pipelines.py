# SPDX-License-Identifier: Apache-2.0
"""Outputs by pipeline file: the media that an HLS folder, RTMP and SRT servers and a reader of shared memory get of
a room. Outputs that cannot work are reported, without their secrets, while everything else continues."""

import json
import signal

import media
import rtp
from daemon import Daemon
from peers import room_url
from stage import LIMIT

ROOM = "pipelines"
KEY = "s3cret-stream-key"
# As the camera gives them: nothing is scaled.
PICTURE = "video/x-raw,format=I420,width=320,height=180,framerate=30/1,pixel-aspect-ratio=1/1"


def assert_shows_the_call(stage, source, minimum_flashes, story):
    """The counters of the frames run, and each flash has its beep."""
    # Times from zero, as our helpers want them; nothing is encoded again.
    copy = stage.folder / f"{source.stem}-copy.mkv"
    media.run("ffmpeg", "-v", "error", "-y", "-i", source, "-map", "0:v", "-map", "0:a", "-c", "copy", copy)
    video, = media.streams(copy, "video")
    sound, = media.streams(copy, "audio")
    assert (video["codec_name"], sound["codec_name"]) == ("h264", "aac")
    frames = media.frames(copy, video["index"])
    counters = [frame.counter for frame in frames if frame.counter is not None]
    text = f"{len(frames)} frames, lost {media.lost_frames(frames)}\n{media.describe(copy)}\n{story}"
    # The rate is made constant: a frame that came between two of them is there twice, or not at all.
    assert len(set(counters)) >= 30 and counters == sorted(counters), text
    offsets = media.flash_to_beep(frames, media.beeps(copy, sound["index"]))
    text = f"offsets in ms {[round(1000 * float(offset), 1) for offset in offsets]}\n{text}"
    assert len(offsets) >= minimum_flashes, text
    # Where the machine was too late for a frame, muxers that work live give it another time; out of step, all are off.
    assert min(map(abs, offsets)) <= rtp.TOGETHER, text


def test_pipelines_of_a_room(stage):
    server = stage.serve()
    camera = stage.tapedeck("camera", room_url(server, ROOM), "--codec", "vp8", "--video", "test", "--audio", "test",
                            "--size", "320x180")
    folder, flv, transport = stage.folder / "hls", stage.folder / "live.flv", stage.folder / "transport.ts"
    folder.mkdir()
    pictures, socket = stage.folder / "pictures.raw", stage.folder / "pictures.socket"
    closed, port, srt_port = rtp.free_ports(), rtp.free_ports(), rtp.free_ports()
    # A server that takes one stream; what stands behind /live is the key.
    ingest = stage.start("ffmpeg", "ffmpeg", "-v", "warning", "-listen", "1", "-i", f"rtmp://127.0.0.1:{port}/live/{KEY}",
                         "-c", "copy", "-y", flv)
    # Encrypted, by the key as passphrase.
    listener = stage.start("ffmpeg-srt", "ffmpeg", "-v", "warning", "-i",
                           f"srt://127.0.0.1:{srt_port}?mode=listener&passphrase={KEY}&pbkeylen=16", "-c", "copy", "-y",
                           transport)
    key = stage.folder / "key"
    key.write_text(KEY)

    def pipeline(file, **parameters):
        return {"pipeline": {"file": file, "parameters": parameters}}

    outputs = [
        pipeline("hls", folder=str(folder), segment=1, playlist=100, keep=100, picture=PICTURE),
        pipeline("rtmp", location=f"rtmp://127.0.0.1:{port}/live/${{file:{key}}}", picture=PICTURE),
        pipeline("shm", socket=str(socket), picture=PICTURE),
        pipeline("srt", uri=f"srt://127.0.0.1:{srt_port}?passphrase=${{file:{key}}}&pbkeylen=16", picture=PICTURE),
        pipeline("srt", uri=f"srt://127.0.0.1:{closed}?streamid=${{file:{key}}}", picture=PICTURE),
        pipeline("hls", folder=str(stage.folder / "nowhere")),
    ]
    daemon = Daemon(stage, {"standup": {"url": room_url(server, ROOM), "outputs": outputs}})

    def status():
        return daemon.room("standup")["status"].get("outputs") or []

    def states():
        return [output["state"] for output in status()]

    daemon.wait_for("the outputs that can work", lambda: states() == ["sending"] * 4 + ["failing"] * 2, LIMIT)
    worker = daemon.worker("standup")
    daemon.wait_for("a socket", socket.exists, LIMIT)
    reader = stage.start("gst-launch", "gst-launch-1.0", "-q", "shmsrc", f"socket-path={socket}", "num-buffers=30", "!",
                         PICTURE, "!", "filesink", f"location={pictures}")
    assert reader.wait(LIMIT) == 0, reader.story()
    size = 320 * 180 * 3 // 2
    assert pictures.stat().st_size == 30 * size
    assert len(set(pictures.read_bytes()[size * number:size * (number + 1)] for number in range(30))) > 1

    shown = status()
    assert [output["name"] for output in shown] == [
        "pipeline:hls", "pipeline:rtmp", "pipeline:shm", "pipeline:srt", "pipeline:srt:2", "pipeline:hls:2"]
    assert shown[4]["reason"] and "No such file or directory" in shown[5]["reason"], shown
    assert {stream["kind"] for stream in shown[0]["sessions"][0]["streams"]} == {"video", "audio"}
    assert [stream["kind"] for stream in shown[2]["sessions"][0]["streams"]] == ["video"]
    assert len({line for line in daemon.log("output.failed")}) >= 2, daemon.process.story()
    metrics = daemon.metrics()
    assert 'tapedeck_room_outputs_failing{room="standup"} 2' in metrics
    # The recording continues in the same worker, whatever happens to outputs.
    daemon.wait_for_recording("standup", LIMIT)
    assert daemon.worker("standup") == worker

    for receiver, received in ((ingest, flv), (listener, transport)):
        rtp.wait_until_received(receiver, received)
        receiver.signal(signal.SIGINT)
        receiver.wait(LIMIT)
        assert_shows_the_call(stage, received, 1, receiver.story())

    # Another participant may follow one that leaves: the playlist has its end when the output has.
    playlist = folder / "index.m3u8"
    camera.end()
    daemon.wait_for("an idle output", lambda: states()[0] == "idle", LIMIT)
    daemon.wait_for("no socket", lambda: not socket.exists(), LIMIT)
    assert "#EXT-X-ENDLIST" not in playlist.read_text(), playlist.read_text()
    assert KEY not in daemon.process.messages
    assert KEY not in json.dumps(daemon.room("standup"))
    assert daemon.process.end(LIMIT) == 0, daemon.process.story()
    assert playlist.read_text().endswith("#EXT-X-ENDLIST\n"), playlist.read_text()
    assert_shows_the_call(stage, playlist, 1, playlist.read_text())


def test_who_leaves_makes_place_and_what_nobody_sends_is_silence(stage):
    server = stage.serve("--room-size", "3")
    folder = stage.folder / "hls"
    folder.mkdir()
    playlist = folder / "index.m3u8"
    camera = ("camera", room_url(server, ROOM), "--codec", "vp8", "--video", "test", "--size", "320x180")
    first = stage.tapedeck(*camera, "--audio", "none")
    parameters = {"folder": str(folder), "segment": 1, "playlist": 100, "keep": 100, "picture": PICTURE}
    daemon = Daemon(stage, {"standup": {"url": room_url(server, ROOM), "record": "none", "outputs": [
        {"pipeline": {"file": "hls", "parameters": parameters}}]}})

    def session():
        outputs = daemon.room("standup")["status"].get("outputs") or []
        return outputs[0]["sessions"][0] if outputs and outputs[0]["sessions"] else None

    def segments():
        return [line for line in playlist.read_text().splitlines() if line.endswith(".ts")] if playlist.exists() else []

    daemon.wait_for("segments", lambda: len(segments()) >= 2, LIMIT)
    before = daemon.wait_for("a session", session, LIMIT)
    assert [stream["kind"] for stream in before["streams"]] == ["video"]
    assert {stream["codec_name"] for stream in media.streams(folder / segments()[0])} == {"h264", "aac"}
    stage.tapedeck(*camera, "--audio", "test")
    daemon.wait_for("two participants", lambda: len(daemon.room("standup")["status"]["participants"]) == 2, LIMIT)
    before_names = segments()
    first.end()
    # The playlist continues with the second participant.
    after = daemon.wait_for("the second participant", lambda: (found := session()) and
                            found["participant"] != before["participant"] and found, LIMIT)
    assert after["sdp"] != before["sdp"]

    def goes_on():
        assert "ENDLIST" not in playlist.read_text(), playlist.read_text()
        return "#EXT-X-DISCONTINUITY\n" in playlist.read_text()
    daemon.wait_for("the second participant's segments", goes_on, LIMIT)
    names = segments()
    assert names[:len(before_names)] == before_names and len(set(names)) == len(names), names
    assert "#EXT-X-MEDIA-SEQUENCE:0\n" in playlist.read_text()
    assert all((folder / name).exists() for name in names), names
    daemon.wait_for("its status", lambda: daemon.room("standup")["status"]["outputs"][0]["state"] == "sending", LIMIT)
    assert not daemon.log("output.failed"), daemon.process.story()
