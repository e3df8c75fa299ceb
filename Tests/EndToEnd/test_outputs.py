# SPDX-License-Identifier: Apache-2.0
"""RTP outputs: what ffmpeg, GStreamer and plain sockets receive of a room, and what recording notices of them."""

import base64
import json
import re
import signal
import socket
import struct

import media
import pytest
import rtp
from daemon import Daemon
from figures import assert_counters, assert_plays, losses, with_left_out
from peers import room_url, wait_until_seen
from recordings import wait_for_media
from stage import LIMIT, json_objects

ROOM = "outputs"


def start_camera(stage, server, room, *flags):
    return stage.tapedeck("camera", room_url(server, room), "--codec", "vp8", "--video", "test", "--audio", "test",
                          "--size", "320x180", "--json", *flags)


def test_readers_get_every_frame_and_their_death_is_not_noticed(stage):
    server = stage.serve()
    camera = start_camera(stage, server, ROOM)
    ports = [rtp.free_ports() for _ in range(3)]
    files = [stage.folder / f"{name}.sdp" for name in ("ffmpeg", "gstreamer", "killed")]
    flags = [part for port, file in zip(ports, files)
             for part in ("--rtp", f"127.0.0.1:{port},sdp={file},pt=105,audio-pt=106")]
    exported = stage.folder / "call.mkv"
    recorder = stage.tapedeck("record", room_url(server, ROOM), "--directory", stage.folder / "storage", "--output",
                              exported, "--json", *flags)
    for file in files:
        text = rtp.wait_for_description(recorder, file)
        assert "RTP/AVP 105" in text and "RTP/AVP 106" in text, text
    received = [stage.folder / f"{name}.mkv" for name in ("ffmpeg", "gstreamer", "killed")]
    killed = rtp.ffmpeg(stage, files[2], received[2], 60)
    gstreamer = rtp.gstreamer(stage, files[1], received[1])
    ffmpeg = rtp.ffmpeg(stage, files[0], received[0], 12)
    killed.wait_for("its first packets", lambda: received[2].exists() and received[2].stat().st_size > 0, LIMIT)
    killed.kill()
    assert ffmpeg.wait(LIMIT) == 0, ffmpeg.story()
    rtp.wait_until_received(gstreamer, received[1])
    rtp.end_gstreamer(gstreamer)
    recorder.signal(signal.SIGINT)
    assert recorder.wait(LIMIT) == 0, recorder.story()
    rtp.assert_received(received[0], 2, ffmpeg.story())
    rtp.assert_received(received[1], 2, gstreamer.story())
    # The recording: every frame once, whatever happened to the readers.
    assert_plays(exported)
    video, = media.streams(exported, "video")
    assert_counters(exported, video["index"], with_left_out(losses(recorder), camera), recorder.story())
    outputs = recorder.result()["outputs"]
    assert all(output["packets"] > 100 for output in outputs), outputs
    assert outputs[2]["droppedPackets"] > 0, outputs
    assert rtp.remaining(stage.folder) == []


def test_outputs_of_the_daemon(stage):
    server = stage.serve()
    start_camera(stage, server, ROOM)
    port, closed = rtp.free_ports(address="::1"), rtp.free_ports()
    description = stage.folder / "room.sdp"
    description.write_text("v=0\r\no=tapedeck 1 1 IN IP4 192.0.2.1\r\ns=of an earlier life\r\n")
    foreign = stage.folder / "foreign.sdp"
    foreign.write_text("not ours")
    room = {
        "url": room_url(server, ROOM), "record": "none",
        "outputs": [{"rtp": {"host": "::1", "video_port": port, "audio_port": port + 2, "sdp_file": str(description)}},
                    {"rtp": {"host": "127.0.0.1", "video_port": closed, "sdp_file": str(foreign), "video_payload_type": 100,
                             "audio_payload_type": 101, "audio_port": closed + 2}}],
    }
    video, sound = rtp.Receiver(port, "::1"), rtp.Receiver(port + 2, "::1")
    daemon = Daemon(stage, {"standup": room})
    text = rtp.wait_for_description(daemon.process, description)
    lines = rtp.described(text)
    assert lines["video"][:2] == (port, 96) and lines["audio"][:2] == (port + 2, 111), text

    # Packets as described, without holes, and reports that put them on one clock.
    for receiver, kind in ((video, "video"), (sound, "audio")):
        receiver.read(lambda: len(receiver.packets) > 20 and 200 in receiver.said)
        assert {packet[0] for packet in receiver.packets} == {lines[kind][1]}
        assert {packet[3] for packet in receiver.packets} == {lines[kind][2]}
        # This many are kept for a socket whose reader comes late.
        sequences = [packet[1] for packet in receiver.packets][:20]
        assert sequences == [(sequences[0] + number) % 65536 for number in range(len(sequences))]
        report = next(data for part in receiver.reports for kind, data in part if kind == 200)
        assert struct.unpack("!I", report[4:8])[0] == lines[kind][2]
    names = {data[8:] for receiver in (video, sound) for part in receiver.reports for kind, data in part if kind == 202}
    assert len(names) == 1, names

    # A receiver that lost a frame gets a keyframe from the sender.
    video.read_keyframe(lines["video"][2])

    def outputs():
        return daemon.room("standup")["status"].get("outputs") or []

    def is_told():
        """`failing` and the keyframe come with the next status, some seconds later."""
        now = outputs()
        return now if ([output["state"] for output in now] == ["sending", "failing"]
                       and now[0]["sessions"][0]["streams"][0]["keyframeRequests"]) else None

    shown = daemon.wait_for("both outputs", is_told, LIMIT)
    session, = shown[0]["sessions"]
    assert session["sdp"].encode() == description.read_bytes()
    assert [stream["kind"] for stream in session["streams"]] == ["video", "audio"]
    assert shown[0]["droppedPackets"] == 0
    assert shown[1]["sessions"][0]["streams"][0]["droppedPackets"] > 0
    assert [stream["payloadType"] for stream in shown[1]["sessions"][0]["streams"]] == [100, 101]
    assert f"m=video {closed} RTP/AVP 100" in shown[1]["sessions"][0]["sdp"]
    assert daemon.log("output.failed"), daemon.process.story()
    assert foreign.read_text() == "not ours"
    metrics = daemon.metrics()
    assert 'tapedeck_room_outputs_failing{room="standup"} 1' in metrics
    counts = {what: float(re.search(rf'^tapedeck_room_output_{what}_total{{room="standup"}} (\S+)$', metrics, re.MULTILINE)[1])
              for what in ("packets", "bytes", "dropped_packets")}
    assert counts["packets"] >= len(video.packets) and counts["bytes"] > 100 * counts["packets"], counts
    assert counts["dropped_packets"] > 0, counts
    assert daemon.room("standup")["status"]["recordingState"] == "off"

    # Another configuration: the streams say goodbye, the call continues.
    worker = daemon.worker("standup")
    daemon.write({"standup": {**room, "outputs": []}})
    video.read(lambda: 203 in video.said)
    daemon.wait_for("no outputs", lambda: not outputs(), LIMIT)
    daemon.wait_for("its end", lambda: not description.exists(), LIMIT)
    assert daemon.worker("standup") == worker
    assert daemon.room("standup")["phase"] == "joined"
    video.close()
    sound.close()


def test_a_port_to_send_from_that_somebody_else_has(stage):
    """It is reported, the recording continues, and so does the output when the port is free."""
    server = stage.serve()
    start_camera(stage, server, ROOM)
    port, source = rtp.free_ports(), rtp.free_ports()
    video = rtp.Receiver(port)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as holder:
        holder.bind(("0.0.0.0", source))
        daemon = Daemon(stage, {"standup": {"url": room_url(server, ROOM), "record": {"video": True}, "outputs": [
            {"rtp": {"host": "127.0.0.1", "video_port": port, "source_port": source}}]}})
        daemon.wait_for("its failure", lambda: daemon.log("output.failed"), LIMIT)
        daemon.wait_for_phase("standup", "joined", LIMIT)
        wait_for_media(daemon.process, daemon.storage)
        assert "Address already in use" in daemon.process.messages, daemon.process.story()
    video.read(lambda: len(video.packets) > 20 and 200 in video.said)
    assert video.peer[1] == source + 1
    video.close()


def test_encrypted_outputs_are_for_those_who_have_the_description(stage):
    server = stage.serve()
    start_camera(stage, server, ROOM)
    port, readable = rtp.free_ports(), rtp.free_ports()
    descriptions = [stage.folder / "room.sdp", stage.folder / "ffmpeg.sdp"]
    # From the beginning: one that is found later is a reason for a keyframe.
    video, sound = rtp.Receiver(port), rtp.Receiver(port + 2)
    daemon = Daemon(stage, {"standup": {"url": room_url(server, ROOM), "record": "none", "outputs": [
        {"rtp": {"host": "127.0.0.1", "video_port": first, "audio_port": first + 2, "sdp_file": str(path), "srtp": True}}
        for first, path in zip((port, readable), descriptions)]}})
    text = rtp.wait_for_description(daemon.process, descriptions[0])
    assert descriptions[0].stat().st_mode & 0o777 == 0o640
    lines, keys = rtp.described(text), rtp.keys(text)
    assert len(set(keys)) == 2 and all(len(key) == 30 for key in keys), text
    for receiver, key in zip((video, sound), keys):
        receiver.decrypt(key)
        receiver.read(lambda: len(receiver.packets) > 20 and 200 in receiver.said)
    assert {packet[3] for packet in video.packets} == {lines["video"][2]}

    def asked(count=0, more_than=-1):
        """How often a keyframe was asked for, by a status of after so many packets."""
        def is_there():
            outputs = daemon.room("standup")["status"].get("outputs") or [{"sessions": []}]
            streams = [session["streams"][0] for session in outputs[0]["sessions"]]
            return next((stream for stream in streams if stream["packets"] >= count
                         and stream["keyframeRequests"] > more_than), None)
        return daemon.wait_for(f"status of {count} packets", is_there, LIMIT)["keyframeRequests"]

    # Only who has the key is heard.
    video.ask_for_keyframe(lines["video"][2], is_encrypted=False)
    sent = len(video.packets)
    video.read(lambda: len(video.packets) > sent + 60)
    assert asked(len(video.packets)) == 0
    video.read_keyframe(lines["video"][2])
    asked(more_than=0)

    received = stage.folder / "received.mkv"
    reader = rtp.ffmpeg(stage, descriptions[1], received, 12)
    assert reader.wait(LIMIT) == 0, reader.story()
    rtp.assert_received(received, 2, reader.story())
    shown = json.dumps(daemon.room("standup"))
    assert "RTP/SAVP" in shown and "crypto" not in shown
    for key in keys:
        assert base64.b64encode(key).decode() not in shown + daemon.process.messages
    video.close()
    sound.close()


def test_wrong_outputs_are_usage(stage):
    for text in ("127.0.0.1", "127.0.0.1:0", "::1:5004", "h:5004,audio=5005", "h:5004,sdp=/etc/passwd", "h:5004,x=1",
                 "h:5004,participants=2,sdp=a.sdp", "h:5004,ttl=0", "h:5004,srtp=yes"):
        process = stage.run_tapedeck("record", "socketio+http://127.0.0.1:1/r", "--rtp", text, timeout=LIMIT)
        assert process.exit_code == 2 and "--rtp" in process.messages, process.story()
    process = stage.run_tapedeck("record", "socketio+http://127.0.0.1:1/r", *stage.room("record: none"),
                                 timeout=LIMIT)
    assert process.exit_code == 2 and "--rtp" in process.messages, process.story()


@pytest.mark.long
def test_sending_on_without_recording(stage):
    """H.264 of two participants, in a group, to an end without a file."""
    server = stage.serve("--room-size", "3")
    for _ in range(2):
        stage.tapedeck("camera", room_url(server, ROOM), "--codec", "h264", "--video", "test", "--audio", "test",
                       "--size", "320x180")
    port = rtp.free_ports(8)
    relay = stage.tapedeck("record", room_url(server, ROOM), "--codec", "h264", "--json", *stage.room("record: none"), "--rtp",
                           f"239.255.77.7:{port},interface=lo,participants=2,sdp={stage.folder}/group-{{place}}.sdp")
    files = [stage.folder / f"group-{place}.sdp" for place in (1, 2)]
    received = [stage.folder / f"group-{place}.mkv" for place in (1, 2)]
    for file in files:
        assert "c=IN IP4 239.255.77.7/1" in rtp.wait_for_description(relay, file)
    readers = [stage.start("ffmpeg", "ffmpeg", "-v", "warning", "-protocol_whitelist", "file,udp,rtp", "-localaddr",
                           "127.0.0.1", "-i", file, "-map", "0", "-c", "copy", "-t", 5, "-y", output)
               for file, output in zip(files, received)]
    for reader, output in zip(readers, received):
        assert reader.wait(LIMIT) == 0, reader.story()
        rtp.assert_received(output, 2, reader.story())
    relay.signal(signal.SIGINT)
    assert relay.wait(LIMIT) == 0, relay.story()
    output, = json.loads(relay.output)["outputs"]
    assert output["packets"] > 100, output
    assert rtp.remaining(stage.folder) == []
    assert not list(stage.folder.rglob("journal.jsonl"))


@pytest.mark.long
def test_a_participant_is_pushed_to_a_whip_server(stage):
    """An output of one room is what another one sends."""
    notes = stage.folder / "notes.jsonl"
    endpoint = stage.whip_endpoint("--notes", notes)
    server = stage.serve()
    start_camera(stage, server, ROOM)
    port, description = rtp.free_ports(), stage.folder / "ada.sdp"
    source = f"rtp:{description}"
    daemon = Daemon(stage, {
        "standup": {"url": room_url(server, ROOM), "record": "none", "outputs": [
            {"rtp": {"host": "127.0.0.1", "video_port": port, "audio_port": port + 2, "sdp_file": str(description)}}]},
        "push": {"url": f"whip+http://127.0.0.1:{endpoint.port}/whip/ada", "record": "none", "send": {
            "capture": source, "audio": source, "size": "320x180", "audio_fec": False}}})
    daemon.wait_for_phase("push", "joined", LIMIT)
    wait_until_seen(endpoint, notes)

    def moving():
        """Frames that are no slate; a source is tried again until it works."""
        return sum(fact.get("change", 0) > 0.5 for fact in json_objects(notes.read_text().splitlines()))
    endpoint.wait_for("the camera's pictures", lambda: moving() >= 45, LIMIT)
    daemon.process.signal(signal.SIGTERM)
    assert daemon.process.wait(LIMIT) == 0, daemon.process.story()
    # The video of the test camera, whose counter runs, and its audio.
    closed = endpoint.wait_for_event("closed", LIMIT)
    assert closed["framesDecoded"] >= 45 and closed["lastCounter"] > closed["firstCounter"], endpoint.story()
