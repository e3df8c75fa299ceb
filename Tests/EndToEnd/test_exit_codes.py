# SPDX-License-Identifier: Apache-2.0
"""Exit codes and the one clear message that comes with each."""

import contextlib
import http.server
import json
import os
import signal
import socket
import subprocess
import threading

import media
import pytest
from peers import room_url
from recordings import recorded, wait_for_media
from stage import free_port

ROOM = "123123"
# A busy machine joins within this time; a test that expects no media waits as long.
TIME_TO_JOIN = "15s"


def record(stage, url, *flags):
    return stage.run_tapedeck("record", url, "--directory", stage.folder / "storage", *flags)


@pytest.mark.parametrize("url, part", [
    ("ftp://127.0.0.1/123123", "ftp"),
    ("socketio+http://127.0.0.1:99999/123123", "99999"),
    ("socketio+http://127.0.0.1:3000", "room"),
    ("socketio+http://127.0.0.1:3000/1?transport=pigeon", "pigeon"),
    ("socketio+http://127.0.0.1:3000/1?eio=7", "7"),
    ("", ""),
    ("123123", "123123"),
])
def test_a_wrong_url_names_the_part_and_shows_a_right_one(stage, url, part):
    recorder = record(stage, url)
    assert recorder.exit_code == 2, recorder.story()
    assert part in recorder.messages and "socketio+http" in recorder.messages, recorder.story()


@pytest.mark.parametrize("command", [
    ("record", "socketio+http://127.0.0.1:1/1"), ("export", "abcd"), ("verify", "abcd"), ("recordings",),
    ("recordings", "show", "abcd"),
])
def test_a_storage_that_is_no_directory_is_named(stage, command):
    """Before a room is joined or a recording looked for."""
    file, link = stage.folder / "file", stage.folder / "link"
    file.write_text("x")
    link.symlink_to(stage.folder / "nowhere")
    for path, part in ((file, "is a file"), (link, "is a link to")):
        refused = stage.run_tapedeck(*command, "--directory", path)
        assert refused.exit_code == 2, refused.story()
        assert f"{path} {part}" in refused.messages, refused.story()


@pytest.mark.parametrize("arguments", [
    ("record",),
    ("record", "socketio+http://127.0.0.1:3000/1", "--duration", "soon"),
    ("record", "socketio+http://127.0.0.1:3000/1", "--no-such-flag"),
    ("record", "--room", "/nonexistent/room.yaml"),
    ("record", f"socketio+http://127.0.0.1:{free_port()}/1", "--parameter", "pattern=ball"),
    ("camera", "socketio+http://127.0.0.1:3000/1", "--size", "0x0"),
    ("camera", "socketio+http://127.0.0.1:3000/1", "--codec", "theora"),
    ("camera", "socketio+http://127.0.0.1:3000/1", "--fps", "-1"),
    ("camera", "socketio+http://127.0.0.1:3000/1", "--count", "0"),
    ("camera", "socketio+http://127.0.0.1:3000/1", "--count", "2", "--trace-signalling", "trace.jsonl"),
    ("probe", "whip+http://127.0.0.1:3000/whip"),
    ("probe", "socketio+http://127.0.0.1:3000/1", "--threshold", "101"),
    ("probe", "socketio+http://127.0.0.1:3000/1", "--duration", "1s"),
    ("export", "/nonexistent/recording"),
    ("recordings", "--directory", "/nonexistent/storage"),
    ("serve", "--listen", "nowhere"),
    ("serve", "--room-size", "1"),
    ("no-such-command",),
])
def test_wrong_usage_is_2(stage, arguments):
    process = stage.run_tapedeck(*arguments)
    assert process.exit_code == 2, process.story()
    assert len(process.messages.strip()) > 10, process.story()


def test_a_port_that_is_taken_is_1(stage):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        server = stage.run_tapedeck("serve", "--listen", f"127.0.0.1:{taken.getsockname()[1]}")
    assert server.exit_code == 1 and "is in use" in server.messages, server.story()


@pytest.mark.parametrize("text, place", [
    ("send: { bitrate: 1M, min_bitrate: 2M }", ":1:22: room.send.min_bitrate: 2M is more than bitrate, 1M"),
    ("record: { vidoe: false }", ':1:11: room.record.vidoe: unknown key; did you mean "video"?'),
    ("send: { audio: none, capture: none }", ":1:22: room.send.capture: "),
    ("- record: none", ":1:1: room: "),
    ("", "there is nothing in it"),
])
def test_what_is_wrong_in_the_file_of_a_room_is_2_with_its_place(stage, text, place):
    for command in ("record", "camera"):
        flag, file = stage.room(text)
        process = stage.run_tapedeck(command, f"socketio+http://127.0.0.1:{free_port()}/1", flag, file)
        assert process.exit_code == 2 and f"{file}" in process.messages and place in process.messages, process.story()


@pytest.mark.parametrize("command, text, message", [
    ("record", "send: none", "room.url: missing"),
    ("camera", "url: socketio+http://127.0.0.1:3000", "room.url: "),
    ("camera", "url: whep+http://127.0.0.1:1/whep", "takes nothing that we could send"),
    ("record", "{ url: 'socketio+http://127.0.0.1:1/r', record: { export: [tracks, grid] } }", "record exports tracks only"),
    ("record", "{ url: 'socketio+http://127.0.0.1:1/r', record: none, outputs: [] }", "--rtp"),
])
def test_the_file_of_a_room_is_checked_for_its_command(stage, command, text, message):
    process = stage.run_tapedeck(command, *stage.room(text))
    assert process.exit_code == 2 and message in process.messages, process.story()


def test_a_flag_overrides_the_file_of_a_room(stage):
    """The URL of the file has a server that is down, that of the flag another."""
    down, other = free_port(), free_port()
    flags = stage.room(f"url: socketio+http://127.0.0.1:{down}/1")
    by_file = stage.run_tapedeck("record", *flags)
    by_flag = stage.run_tapedeck("record", f"socketio+http://127.0.0.1:{other}/1", *flags)
    assert by_file.exit_code == by_flag.exit_code == 3, f"{by_file.story()}\n{by_flag.story()}"
    assert str(down) in by_file.messages and str(other) in by_flag.messages, f"{by_file.story()}\n{by_flag.story()}"
    codec = stage.room(f"{{ url: 'socketio+http://127.0.0.1:{down}/1', record: {{ preferred_codec: vp8 }} }}")
    refused = stage.run_tapedeck("record", *codec, "--output", stage.folder / "call.mp4")
    assert refused.exit_code == 2 and "MP4" in refused.messages, refused.story()
    assert stage.run_tapedeck("record", *codec, "--codec", "h264", "--output", stage.folder / "call.mp4").exit_code == 3


@pytest.mark.parametrize("log_format", ["json", "text"])
def test_log_lines_are_of_the_format_asked_for(stage, log_format):
    recorder = record(stage, f"socketio+http://127.0.0.1:{free_port()}/1", "--log-level", "debug", "--log-format", log_format)
    # One line says why it failed, to people.
    lines = [line for line in recorder.messages.splitlines() if not line.startswith("tapedeck: ")]
    objects = [json.loads(line) for line in lines if line.startswith("{")]
    assert lines and all(fact["level"] for fact in objects), recorder.story()
    assert len(objects) == (len(lines) if log_format == "json" else 0), recorder.story()


def test_nobody_has_to_read_the_message(stage):
    reading, writing = os.pipe()
    os.close(reading)
    try:
        run = subprocess.run([stage.tapedeck_path, "export", "/nonexistent/recording"], stderr=writing, timeout=60)
    finally:
        os.close(writing)
    assert run.returncode == 2


@pytest.mark.parametrize("arguments", [(), ("record",), ("camera",), ("probe",), ("serve",), ("export",), ("demo",)])
def test_help_has_an_example(stage, arguments):
    process = stage.run_tapedeck(*arguments, "--help")
    assert process.exit_code == 0, process.story()
    assert "tapedeck" in process.output
    if arguments:
        assert "example" in process.output.lower(), process.story()


@pytest.mark.parametrize("command", ["record", "camera", "probe"])
def test_a_server_that_is_down_is_3_and_told_once(stage, command):
    process = stage.run_tapedeck(command, f"socketio+http://127.0.0.1:{free_port()}/1")
    assert process.exit_code == 3, process.story()
    message, = process.messages.splitlines()
    assert message.startswith("tapedeck: ") and "refused" in message, process.story()


def test_a_full_room_is_3(stage):
    server = stage.room_server(5)
    stage.aiortc(server, ROOM, "--receive")
    stage.aiortc(server, ROOM, "--receive")
    recorder = record(stage, room_url(server, ROOM))
    assert recorder.exit_code == 3, recorder.story()
    message, = recorder.messages.splitlines()
    assert message.startswith("tapedeck: ") and message.endswith(" is full."), recorder.story()
    # It never was a member: its leave would have ended the others' call.
    assert '"event": "leave"' not in server.messages, server.story()


@contextlib.contextmanager
def silent_listener():
    """Accepts connections and never says a word."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        accepted = []

        def accept():
            with contextlib.suppress(OSError):
                while True:
                    accepted.append(listener.accept()[0])
        threading.Thread(target=accept, daemon=True).start()
        yield listener.getsockname()[1]
        listener.shutdown(socket.SHUT_RDWR)
        for connection in accepted:
            connection.close()


def test_a_listener_that_says_nothing_is_3(stage):
    with silent_listener() as port:
        recorder = record(stage, f"socketio+http://127.0.0.1:{port}/1", "--wait", "5s")
    assert recorder.exit_code == 3, recorder.story()
    assert "time" in recorder.messages.lower(), recorder.story()


def test_a_camera_that_has_not_joined_when_its_time_is_over_is_3(stage):
    with silent_listener() as port:
        camera = stage.run_tapedeck("camera", f"socketio+http://127.0.0.1:{port}/1", "--size", "320x180", "--duration", "2s")
    assert camera.exit_code == 3 and "could not join" in camera.messages, camera.story()


def test_secrets_of_a_url_are_in_no_message_and_no_file(stage):
    metrics = stage.folder / "room.prom"
    with silent_listener() as port:
        probe = stage.run_tapedeck("probe", f"janus+ws://127.0.0.1:{port}/?room=1&token=verysecret", "--wait", "3s",
                                   "--prometheus", metrics)
    assert probe.exit_code == 3, probe.story()
    for text in (probe.messages, probe.output, metrics.read_text()):
        assert "verysecret" not in text, probe.story()
    assert "room=1&token=***" in metrics.read_text()


def test_a_server_that_never_answers_join_is_3(stage):
    server = stage.room_server(5, "--variant", "silent")
    recorder = record(stage, room_url(server, ROOM), "--wait", "5s")
    assert recorder.exit_code == 3, recorder.story()
    assert "time" in recorder.messages.lower(), recorder.story()


def test_a_web_server_that_is_no_room_server_is_3(stage):
    class Quiet(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_error(404)

        def log_message(self, *arguments):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Quiet) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        recorder = record(stage, f"socketio+http://127.0.0.1:{server.server_address[1]}/1")
        server.shutdown()
    assert recorder.exit_code == 3, recorder.story()
    assert "404" in recorder.messages, recorder.story()


def test_the_wait_for_a_server_that_is_out_of_order_says_what_it_answered(stage):
    class Broken(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_error(503)

        def log_message(self, *arguments):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Broken) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        recorder = record(stage, f"socketio+http://127.0.0.1:{server.server_address[1]}/1", "--wait", "2s")
        server.shutdown()
    assert recorder.exit_code == 3, recorder.story()
    line, = [line for line in recorder.messages.splitlines() if line.startswith("tapedeck: ")]
    assert "503" in line, recorder.story()


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tls")
    paths = folder / "cert.pem", folder / "key.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                    "-days", "2", "-subj", "/CN=localhost", "-out", paths[0], "-keyout", paths[1]],
                   check=True, capture_output=True, timeout=90)
    return paths


def test_a_certificate_nobody_vouches_for_is_3(stage, certificate):
    server = stage.room_server(5, "--tls", *certificate)
    url = f"socketio+https://localhost:{server.port}/{ROOM}"
    recorder = record(stage, url)
    assert recorder.exit_code == 3, recorder.story()
    assert "certificate" in recorder.messages.lower(), recorder.story()
    assert '"event": "join"' not in server.messages, server.story()


def test_insecure_is_an_explicit_choice_and_said(stage, certificate):
    server = stage.room_server(5, "--tls", *certificate)
    url = f"socketio+https://localhost:{server.port}/{ROOM}?insecure"
    recorder = record(stage, url, "--wait", TIME_TO_JOIN)
    assert recorder.exit_code == 4, recorder.story()
    assert "verif" in recorder.messages.lower() or "insecure" in recorder.messages.lower(), recorder.story()


@pytest.mark.parametrize("version, flags", [(5, ()), (5, ("--websocket-only",)), (4, ("--polling-only",)), (4, ())])
def test_a_room_where_nobody_comes_is_4(stage, version, flags):
    server = stage.room_server(version, *flags)
    query = {"transport": "websocket"} if "--websocket-only" in flags else {}
    recorder = record(stage, room_url(server, ROOM, **query), "--wait", TIME_TO_JOIN)
    assert recorder.exit_code == 4, recorder.story()
    assert "media" in recorder.messages.lower(), recorder.story()
    # It leaves as the room's rules say.
    assert '"event": "leave"' in server.messages, server.story()


def test_an_interrupt_before_anything_came_is_130(stage):
    server = stage.room_server(5)
    recorder = stage.tapedeck("record", room_url(server, ROOM), "--directory", stage.folder / "storage")
    stage.members(server, ROOM, 1)
    recorder.signal(signal.SIGINT)
    assert recorder.wait() == 130, recorder.story()


@pytest.mark.parametrize("numbers", [[signal.SIGINT], [signal.SIGHUP, signal.SIGHUP]])
def test_an_interrupt_ends_a_recording_cleanly(stage, numbers):
    """Ctrl-C, and a terminal that is closed: from it comes more than one SIGHUP."""
    server = stage.room_server(5)
    stage.aiortc(server, ROOM, "--send", "synthetic")
    exported = stage.folder / "call.mkv"
    recorder = stage.tapedeck("record", room_url(server, ROOM), "--directory", stage.folder / "storage", "--output",
                              exported, "--json")
    wait_for_media(recorder, stage.folder / "storage")
    for number in numbers:
        recorder.signal(number)
    recorded(recorder)
    assert media.decoder_messages(exported) == ""
    assert len(media.streams(exported)) == 2, media.describe(exported)
