# SPDX-License-Identifier: Apache-2.0
"""The RTSP server: what ffmpeg and GStreamer read of a participant, and who is let in."""

import concurrent.futures
import contextlib
import os
import pathlib
import re
import signal
import socket
import ssl
import subprocess

import media
import pytest
import rtp
from daemon import Daemon, children
from figures import assert_counters, assert_plays, losses_in, with_left_out
from peers import room_url
from stage import LIMIT, free_port
from notes import Notes, is_slate

ROOM = "rtsp"
PASSWORD = "long-enough"
# gst-launch's message when a source has no more pads and a link has none.
UNLINKED = "Delayed linking failed"


def start_camera(stage, server, *flags, codec="vp8"):
    return stage.tapedeck("camera", room_url(server, ROOM), "--codec", codec, "--video", "test", "--audio", "test",
                          "--size", "320x180", "--json", *flags)


class Service:
    """A daemon in one room, with an RTSP server."""

    def __init__(self, stage, server, record, **keys):
        self.port = free_port()
        self.user = f"carrot:{PASSWORD}@" if "users" in keys else ""
        self.scheme = "rtsps" if "tls" in keys else "rtsp"
        self.daemon = Daemon(stage, {"standup": {"url": room_url(server, ROOM), "record": record}},
                             rtsp={"listen": f"127.0.0.1:{self.port}", **keys})

    def url(self, *path, user=None):
        user = self.user if user is None else user
        return f"{self.scheme}://{user}127.0.0.1:{self.port}/" + "/".join(path)

    def participants(self, count=1, streams=2):
        """Ids of those who are sent with so many streams, video and audio, when there are so many."""
        def are_there():
            outputs = self.daemon.room("standup")["status"].get("outputs") or []
            sessions = [session for output in outputs if output["name"] == "rtsp participants"
                        for session in output["sessions"] if len(session["streams"]) == streams]
            return [session["participant"] for session in sessions] if len(sessions) >= count else None
        return self.daemon.wait_for("participants", are_there, LIMIT)

    def describe(self, *path):
        """Status of an answer to DESCRIBE, without credentials."""
        with contextlib.closing(rtp.RTSPClient(self.url(*path, user=""))) as client:
            try:
                client.description()
                return 200
            except rtp.Refused as refusal:
                return refusal.status

    def wait_for_path(self, *path, status=200):
        def is_so():
            with contextlib.suppress(OSError):
                return self.describe(*path) == status
            return False
        self.daemon.wait_for(f"{path} {status}", is_so, LIMIT)


def ffmpeg(stage, url, output, *flags, transport="tcp", name="ffmpeg"):
    return stage.start(name, "ffmpeg", "-v", "warning", "-rtsp_transport", transport, "-i", url, "-map", "0", "-c",
                       "copy", *flags, "-y", output)


def gstreamer(stage, url, output, depayloader="rtpvp8depay"):
    return stage.start("gstreamer", "gst-launch-1.0", "-e", "rtspsrc", f"location={url}", "latency=500",
                       "buffer-mode=none", "name=s", "s.", "!", "application/x-rtp,media=video", "!", depayloader,
                       "request-keyframe=true", "!", "queue", "!", "matroskamux", "name=m", "!", "filesink",
                       f"location={output}", "s.", "!", "application/x-rtp,media=audio", "!", "rtpopusdepay", "!",
                       "opusparse", "!", "queue", "!", "m.")


def received_by_gstreamer(stage, url, output, depayloader="rtpvp8depay", least=rtp.SOME_SECONDS):
    """ gst-launch that has received some seconds. Where both of a source's pads come at once, the threads that bring
    them may get into each other's way at the links that waited for them: it says so, or not, and nothing comes from
    then on. One that gets nothing is started again; the output of each is in the report.
    """
    for _ in range(5):
        reader = gstreamer(stage, url, output, depayloader)
        with contextlib.suppress(AssertionError):
            reader.wait_for("some seconds", lambda: rtp.has_received(output, least) or UNLINKED in reader.output,
                            LIMIT / 3)
        if rtp.has_received(output, least):
            return reader
        reader.kill()
    raise AssertionError(reader.story())


def answer(url, *flags):
    """The answer of ffprobe to a URL: codecs, or the refusal."""
    done = subprocess.run(["ffprobe", "-v", "error", "-rtsp_transport", "tcp", *flags, "-show_entries",
                           "stream=codec_name", "-of", "csv=p=0", url], capture_output=True, text=True, timeout=LIMIT)
    return done.stdout.split() or done.stderr


def test_readers_get_every_frame_and_their_death_is_not_noticed(stage):
    server = stage.serve()
    camera = start_camera(stage, server)
    service = Service(stage, server, {"video": True, "export": ["tracks"]},
                      users=[{"name": "carrot", "password": PASSWORD, "rooms": ["standup"]},
                             {"name": "stranger", "password": PASSWORD, "rooms": ["elsewhere"]}])
    participant, = service.participants()
    service.wait_for_path("standup", participant, status=401)

    # Only clients with access learn which paths exist.
    assert service.describe("standup") == service.describe("nowhere") == 401
    assert "401" in answer(service.url("standup", participant, user="carrot:wrong-password@"))
    assert "404" in answer(service.url("standup", participant, user=f"stranger:{PASSWORD}@"))
    assert "404" in answer(service.url("standup", "nobody"))
    assert "404" in answer(service.url("elsewhere"))

    received = [stage.folder / f"{name}.mkv" for name in ("tcp", "udp", "gstreamer", "killed")]
    url = service.url("standup", participant)
    killed = ffmpeg(stage, url, received[3], name="killed")
    udp = ffmpeg(stage, service.url("standup", "%" + participant.encode().hex()[:2].upper() + participant[1:]),
                 received[1], transport="udp", name="udp")
    tcp = ffmpeg(stage, url, received[0], "-t", 12, name="tcp")
    killed.wait_for("its first packets", lambda: received[3].exists() and received[3].stat().st_size > 0, LIMIT)
    killed.kill()
    assert tcp.wait(LIMIT) == 0, tcp.story()
    reader = received_by_gstreamer(stage, url, received[2])
    rtp.wait_until_received(udp, received[1])
    udp.signal(signal.SIGINT)
    udp.wait(LIMIT)
    rtp.end_gstreamer(reader)
    rtp.assert_received(received[0], 2, tcp.story())
    rtp.assert_received(received[1], 2, udp.story())
    rtp.assert_received(received[2], 2, reader.story())

    # The recording: every frame once, whatever happened to the readers.
    daemon = service.daemon
    worker = daemon.worker("standup")
    daemon.post("/v1/rooms/standup/stop")
    folder, = daemon.wait_for_export("standup", LIMIT)
    assert_plays(folder / "call.mkv")
    video, = media.streams(folder / "call.mkv", "video")
    lost = with_left_out(losses_in(folder), camera)
    assert_counters(folder / "call.mkv", video["index"], lost, daemon.process.story())
    assert daemon.worker("standup") == worker
    assert PASSWORD not in daemon.process.messages


def test_who_comes_right_after_another_gets_a_keyframe_too(stage):
    # aiortc sends keyframes to those who ask only.
    server = stage.room_server(5)
    stage.aiortc(server, ROOM, "--send", "synthetic", "--codec", "vp8", "--size", "320x180")
    service = Service(stage, server, {"video": True})
    participant, = service.participants()
    service.wait_for_path("standup", participant)
    url = service.url("standup", participant)
    with contextlib.ExitStack() as stack:
        first, *others = (stack.enter_context(contextlib.closing(rtp.RTSPClient(url))) for _ in range(4))
        video, *_ = (2 * client.set_up().index("video") for client in (first, *others))
        first.ask("PLAY", url)
        first.wait_for_keyframe(video)
        # Until all that was asked for has come.
        while first.wait_for_keyframe(video, 60):
            pass
        for client in others:
            # Each missed the one that was asked for just now.
            client.ask("PLAY", url)
            client.wait_for_keyframe(video)


def test_who_comes_while_the_last_one_leaves_is_let_in(stage):
    """One right after another, with a session, which goes with its client, and without; and many at once."""
    server = stage.serve()
    start_camera(stage, server)
    # Fewer than the sessions that come, and more than there are at once.
    service = Service(stage, server, {"video": True}, maximum_clients=36)
    participant, = service.participants()
    service.wait_for_path("standup", participant)
    url = service.url("standup", participant)

    def look(plays):
        try:
            with contextlib.closing(rtp.RTSPClient(url)) as client:
                if plays:
                    first = client.controls(client.description())[0]
                    client.ask("SETUP", first, {"Transport": "RTP/AVP/TCP;unicast;interleaved=0-1"})
                    client.ask("PLAY", url)
                else:
                    assert "m=video" in client.description()
                return 200
        except rtp.Refused as refusal:
            return refusal.status

    assert [look(plays) for plays in [False] * 8 + [True] * 8] == [200] * 16
    with concurrent.futures.ThreadPoolExecutor(8) as crowd:
        for plays in (False, True, True):
            assert list(crowd.map(look, [plays] * 16)) == [200] * 16


def test_who_reads_one_stream_alone_costs_the_others_nothing(stage):
    server = stage.serve()
    start_camera(stage, server)
    service = Service(stage, server, {"video": True})
    participant, = service.participants()
    service.wait_for_path("standup", participant)
    url = service.url("standup", participant)
    with contextlib.closing(rtp.RTSPClient(url)) as one, contextlib.closing(rtp.RTSPClient(url)) as both:
        video = one.controls(one.description())[0]
        one.ask("SETUP", video, {"Transport": "RTP/AVP/TCP;unicast;interleaved=0-1"})
        one.ask("PLAY", url)
        one.wait_for_keyframe(0)
        both.set_up()
        both.ask("PLAY", url)
        assert {both.packet()[0] for _ in range(1000)} >= {0, 2}
        assert {one.packet()[0] for _ in range(100)} <= {0, 1}


def test_only_so_many_clients_are_let_in(stage):
    server = stage.serve()
    start_camera(stage, server)
    service = Service(stage, server, {"video": True}, maximum_clients=1)
    participant, = service.participants()
    url = service.url("standup", participant)

    def let_in():
        client = rtp.RTSPClient(url)
        # A refused client gets an answer, or is closed, and does not wait: a timeout is a failure.
        with contextlib.suppress(rtp.Refused, ConnectionError):
            client.description()
            return client
        client.close()
        return None

    with contextlib.closing(service.daemon.wait_for("a place", let_in, LIMIT)) as first:
        with concurrent.futures.ThreadPoolExecutor(4) as crowd:
            assert not any(crowd.map(lambda _: let_in(), range(600)))
        # Nor is who asks for nothing.
        with contextlib.closing(rtp.RTSPClient(url)) as silent:
            assert silent.connection.recv(1) == b""
        assert "m=video" in first.description()
    service.daemon.wait_for("its place", let_in, LIMIT).close()


def test_only_chosen_rooms_and_so_many_participants_are_served(stage):
    server = stage.serve("--room-size", "4")
    start_camera(stage, server)
    start_camera(stage, server)
    service = Service(stage, server, {"video": True}, rooms=["standup"], participants=1)
    daemon = service.daemon

    def are_both_there():
        there = [one["id"] for one in daemon.room("standup")["status"]["participants"]]
        return there if len(there) == 2 else None
    everybody = set(daemon.wait_for("two participants", are_both_there))
    daemon.wait_for_recording("standup")
    served, = service.participants()
    other, = everybody - {served}
    service.wait_for_path("standup", served)
    assert service.describe("standup", other) == 404
    # The other's turn comes when there is place for two.
    daemon.sections["rtsp"]["participants"] = 2
    daemon.write(daemon.rooms)
    daemon.post("/v1/reload")
    service.wait_for_path("standup", other)
    # And no one's where the room is not among those that are served.
    daemon.sections["rtsp"]["rooms"] = ["elsewhere"]
    daemon.write({**daemon.rooms, "elsewhere": {"url": room_url(server, "elsewhere")}})
    daemon.post("/v1/reload")
    service.wait_for_path("standup", served, status=404)


def test_a_client_that_asks_for_multicast_is_refused(stage):
    server = stage.serve()
    start_camera(stage, server)
    service = Service(stage, server, {"video": True})
    participant, = service.participants()
    service.wait_for_path("standup", participant)
    with contextlib.closing(rtp.RTSPClient(service.url("standup", participant))) as client:
        with pytest.raises(rtp.Refused) as refusal:
            client.ask("SETUP", client.controls(client.describe())[0], {"Transport": "RTP/AVP;multicast"})
        assert refusal.value.status == 461


def test_who_stops_reading_is_closed_and_costs_the_others_nothing(stage):
    server = stage.serve()
    start_camera(stage, server, "--size", "640x360", "--bitrate", "4M")
    service = Service(stage, server, {"video": True})
    participant, = service.participants()
    service.wait_for_path("standup", participant)
    url = service.url("standup", participant)
    with contextlib.closing(rtp.RTSPClient(url, receive_buffer=4096)) as idle:
        idle.set_up()
        idle.ask("PLAY", url)
        received = stage.folder / "udp.mkv"
        reader = ffmpeg(stage, url, received, transport="udp")
        rtp.wait_until_received(reader, received, 16 * rtp.SOME_SECONDS)
        idle.wait_for_end()
    reader.signal(signal.SIGINT)
    reader.wait(LIMIT)
    rtp.assert_received(received, 5, reader.story())


@pytest.mark.parametrize("codec", ["h264", pytest.param("vp9", marks=pytest.mark.long)])
def test_other_codecs_are_read(stage, codec):
    server = stage.serve()
    start_camera(stage, server, codec=codec)
    service = Service(stage, server, {"video": True, "preferred_codec": codec})
    participant, = service.participants()
    service.wait_for_path("standup", participant)
    received = stage.folder / "received.mkv"
    url = service.url("standup", participant)
    if codec == "h264":
        # Some readers take the sets from there alone.
        with contextlib.closing(rtp.RTSPClient(url)) as client:
            described = client.description()
        assert re.search(r"sprop-parameter-sets=\w", described) and "profile-level-id=" in described, described
        reader = ffmpeg(stage, url, received, "-t", 4)
        assert reader.wait(LIMIT) == 0, reader.story()
    else:
        # FFmpeg's VP9 from RTP is experimental.
        reader = received_by_gstreamer(stage, url, received, "rtpvp9depay", 400_000)
        rtp.end_gstreamer(reader)
    assert [stream["codec_name"] for stream in media.streams(received, "video")] == [codec], reader.story()
    rtp.assert_received(received, 2, reader.story())


def start_camera_of(stage, source):
    """A camera of a stream in a room with an aiortc peer, and the media that the peer decodes."""
    rooms = stage.room_server(5)
    notes = Notes(stage.folder / "notes.jsonl")
    stage.aiortc(rooms, ROOM, "--receive", "--notes", notes.path)
    camera = stage.tapedeck("camera", room_url(rooms, ROOM), "--video", source, "--audio", source, "--size", "320x180",
                            "--codec", "vp8")
    return camera, notes


def is_shown(frame):
    """Whether it is a frame of the test pattern."""
    return frame["spread"] > 10 and not is_slate(frame)


def test_a_stream_of_an_rtsp_server_is_sent_as_a_camera(stage):
    server = stage.serve()
    start_camera(stage, server)
    service = Service(stage, server, {"video": True}, users=[{"name": "carrot", "password": PASSWORD}])
    participant, = service.participants()
    service.wait_for_path("standup", participant, status=401)
    source = service.url("standup", participant)
    camera, notes = start_camera_of(stage, source)
    # The test pattern with its counter, and its beep.
    notes.wait_for("video", "video", is_shown)
    notes.wait_for("beep", "audio", lambda frame: frame["peak"] > 8000, count=75, holds=any)
    # While its server is away there is the slate, and no one gets the password.
    daemon = service.daemon
    daemon.write({"standup": {**daemon.rooms["standup"], "url": room_url(server, "elsewhere")}})
    notes.wait_for("slate", "video", is_slate)
    daemon.write({"standup": {**daemon.rooms["standup"], "url": room_url(server, ROOM)}})
    notes.wait_for("video again", "video", is_shown)
    assert camera.end() in (0, 130), camera.story()
    assert PASSWORD not in camera.messages, camera.story()


def test_a_stream_that_has_no_audio_yet_is_asked_again(stage):
    server = stage.serve()
    stage.tapedeck("camera", room_url(server, ROOM), "--codec", "vp8", "--video", "test", "--audio", "none", "--size", "320x180")
    service = Service(stage, server, {"video": True})
    participant, = service.participants(streams=1)
    service.wait_for_path("standup", participant)
    source = service.url("standup", participant)
    camera, notes = start_camera_of(stage, source)
    notes.wait_for("video", "video", is_shown)
    camera.wait_for("word of the audio", lambda: "a source gives video and no audio" in camera.messages)
    notes.wait_for("the same video", "video", is_shown)


def make_authority(folder):
    """An authority, and a certificate of it for 127.0.0.1."""
    authority, certificate, key = folder / "authority.pem", folder / "certificate.pem", folder / "key.pem"
    openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", 2, "-subj",
            "/CN=authority", "-keyout", folder / "authority.key", "-out", authority)
    openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=server", "-addext",
            "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", folder / "request.pem")
    issue(folder)
    return authority, certificate, key


def issue(folder):
    """The certificate, with a new serial number each time."""
    openssl("x509", "-req", "-in", folder / "request.pem", "-CA", folder / "authority.pem", "-CAkey",
            folder / "authority.key", "-CAcreateserial", "-copy_extensions", "copy", "-days", 2, "-out",
            folder / "certificate.pem")


def openssl(*arguments):
    subprocess.run(["openssl", *map(str, arguments)], check=True, capture_output=True)


def serial_number(port, context):
    """The serial number of the certificate that a new client gets."""
    with socket.create_connection(("127.0.0.1", port), timeout=LIMIT) as plain:
        with context.wrap_socket(plain, server_hostname="127.0.0.1") as connection:
            return connection.getpeercert()["serialNumber"]


def first_line(port, context):
    """The server's answer over TLS."""
    with socket.create_connection(("127.0.0.1", port), timeout=LIMIT) as plain:
        with context.wrap_socket(plain, server_hostname="127.0.0.1") as connection:
            connection.sendall(f"DESCRIBE rtsps://127.0.0.1:{port}/standup RTSP/1.0\r\nCSeq: 1\r\n\r\n".encode())
            return connection.recv(4096).split(b"\r\n")[0]


def widths(path):
    """Widths of the frames in a file, each once, in the order in which they come."""
    shown = subprocess.run(["ffprobe", "-v", "quiet", "-select_streams", "v", "-show_entries", "frame=width", "-of",
                            "csv=p=0", path], capture_output=True, text=True, timeout=LIMIT).stdout
    return list(dict.fromkeys(re.findall(r"\d+", shown)))


@pytest.mark.long
def test_tls_who_speaks_and_ends(stage):
    authority, certificate, key = make_authority(stage.folder)
    server = stage.serve("--room-size", "4")
    start_camera(stage, server)
    service = Service(stage, server, {"video": True}, tls={"certificate": str(certificate), "key": str(key)},
                      users=[{"name": "carrot", "password": PASSWORD}])
    first, = service.participants()
    daemon = service.daemon

    trusting = ssl.create_default_context(cafile=authority)
    assert first_line(service.port, trusting) == b"RTSP/1.0 401 Unauthorized"
    with pytest.raises(ssl.SSLCertVerificationError):
        first_line(service.port, ssl.create_default_context())
    encrypted, speaker = stage.folder / "encrypted.mkv", stage.folder / "speaker.mkv"
    watching = ffmpeg(stage, service.url("standup"), speaker, name="speaker")
    reader = ffmpeg(stage, service.url("standup", first), encrypted, "-t", 5, name="tls")
    assert reader.wait(LIMIT) == 0, reader.story()
    rtp.assert_received(encrypted, 3, reader.story())

    # A renewed certificate is shown to new clients; one that cannot be used is not, and who watches stays.
    old = serial_number(service.port, trusting)
    certificate.write_text("no certificate")
    daemon.wait_for("what is wrong", lambda: "RTSP certificate cannot be read" in daemon.process.messages, LIMIT)
    assert serial_number(service.port, trusting) == old
    issue(stage.folder)
    daemon.wait_for("the new certificate", lambda: serial_number(service.port, trusting) != old, LIMIT)

    # A participant that sends more audio is shown, in the same stream.
    loud = start_camera(stage, server, *stage.room("send: { audio_bitrate: 160k }"), "--size", "480x270")
    second, = set(service.participants(2)) - {first}
    watching.wait_for("pictures of who speaks", lambda: widths(speaker) == ["320", "480"], LIMIT)

    # A participant that leaves ends its path, and the clients there.
    gone = ffmpeg(stage, service.url("standup", second), stage.folder / "gone.mkv", name="gone")
    gone.wait_for("its first packets", lambda: (stage.folder / "gone.mkv").exists()
                  and (stage.folder / "gone.mkv").stat().st_size > 0, LIMIT)
    loud.signal(signal.SIGINT)
    assert gone.wait(LIMIT) == 0, gone.story()
    daemon.wait_for("404", lambda: "404" in answer(service.url("standup", second)), LIMIT)
    watching.signal(signal.SIGINT)
    watching.wait(LIMIT)
    assert widths(speaker) == ["320", "480"], watching.story()

    # The server's death affects nothing else.
    worker = daemon.worker("standup")
    process, = [child for child in children(daemon.process.process.pid) if is_server(child)]
    os.kill(process, signal.SIGKILL)
    daemon.wait_for("another server", lambda: [child for child in children(daemon.process.process.pid)
                                               if is_server(child) and child != process], LIMIT)
    daemon.wait_for("codecs", lambda: answer(service.url("standup", first)) == ["vp8", "opus"], LIMIT)
    assert daemon.worker("standup") == worker
    assert daemon.room("standup")["status"]["recordingState"] == "recording"

    # A configuration without it ends it, and the call continues.
    del daemon.sections["rtsp"]
    daemon.write(daemon.rooms)
    daemon.wait_for("no server", lambda: not any(map(is_server, children(daemon.process.process.pid))), LIMIT)
    daemon.wait_for("no outputs", lambda: not daemon.room("standup")["status"].get("outputs"), LIMIT)
    assert daemon.worker("standup") == worker
    assert PASSWORD not in daemon.process.messages


def is_server(pid):
    with contextlib.suppress(OSError):
        return b"rtsp-server" in pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()
    return False
