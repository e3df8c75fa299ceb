# SPDX-License-Identifier: Apache-2.0
"""Each failure around a daemon costs one clear message: the service continues, or does not start and leaves nothing."""

import contextlib
import email.utils
import json
import os
import pathlib
import resource
import select
import shutil
import signal
import socket
import struct
import subprocess
import time
import urllib.parse
import urllib.request

import media
import pytest
from daemon import WHOLE, Daemon, resident
from figures import assert_plays
from peers import room_url
from recordings import journal_of, seconds_of
from stage import LIMIT, PEERS, free_port, python

NOWHERE = {"url": "socketio+http://127.0.0.1:9/nowhere", "join": "on-demand"}
MEGABYTE = 1 << 20


def room(server, name, **more):
    return {"url": room_url(server, name), "record": {"empty_after": "1s"}, **more}


def verdicts(daemon):
    """Its recordings, when there is a verdict of each: that comes after the file."""
    found = daemon.recordings()
    return found if found and all(recording.get("verdict") for recording in found) else None


def connect(daemon):
    address = urllib.parse.urlsplit(daemon.url)
    return socket.create_connection((address.hostname, address.port), timeout=LIMIT)


@contextlib.contextmanager
def small_disk(path, size, *options):
    """A file system in memory, mounted for a test; needs root."""
    if os.geteuid() != 0:
        pytest.skip("mounting a small file system needs root")
    path.mkdir(parents=True)
    mount = subprocess.run(["mount", "-t", "tmpfs", "-o", ",".join([f"size={size}", "mode=0750", *options]), "tmpfs",
                            path], capture_output=True, text=True, check=False)
    if mount.returncode != 0:
        pytest.skip(f"this root may not mount: {mount.stderr.strip()}")
    try:
        yield path
    finally:
        subprocess.run(["umount", "-l", path], check=True)


def preloaded_daemon(stage, monkeypatch, name, rooms, **sections):
    """A daemon with the library of the C file next to this one, and the file with a number that it looks at, now 0."""
    library, number = stage.folder / f"{name}.so", stage.folder / name
    compiler = shutil.which("cc") or shutil.which("clang")
    subprocess.run([compiler, "-shared", "-fPIC", "-o", library, pathlib.Path(__file__).with_name(f"{name}.c")],
                   check=True)
    number.write_bytes(struct.pack("i", 0))
    with monkeypatch.context() as patch:
        patch.setenv("LD_PRELOAD", str(library))
        patch.setenv(f"{name.upper()}_FILE", str(number))
        return Daemon(stage, rooms, **sections), number


def tell(path, number):
    """In place: the processes look at the file itself."""
    with open(path, "r+b") as file:
        file.write(struct.pack("i", number))


# Configurations.

ANCHORS = "\n".join(f"k{n}: &a{n} [" + ", ".join([f"*a{n - 1}"] * 9 if n else ["x"] * 9) + "]" for n in range(12))
WRONG = {
    "half": '{"api": {"listen": "127.0.0.1:0"}, "rooms": {"kept": {"url": "socketio+ht',
    "empty": "",
    "bomb": ANCHORS,
    "long": "rooms: {}\n" + "# " + "x" * (2 * MEGABYTE),
    "deep": "[" * 100_000,
    "binary": "\x00\x01\x02\udcff",
    "list": "[]",
    "number": "17",
    "rooms are a list": "rooms: [a, b]",
    "a room is a number": "rooms: { kept: 17 }",
    "a url is a mapping": "rooms: { kept: { url: { a: b } } }",
    "sections are texts": "{storage: x, ice: x, api: x, workers: x, webhooks: x, rooms: x}",
    "numbers are lists": "{storage: {minimum_free: [1]}, workers: {rooms_per_worker: [1]}}",
    "numbers are huge": "{storage: {minimum_free: 99999999999999999999TB}, workers: {rooms_per_worker: 1e400}}",
    "two documents": "rooms: {}\n---\nrooms: {}\n",
    "tag": "rooms: !!python/object/apply:os.system ['true']",
}


def test_a_wrong_configuration_is_refused_whole_and_the_old_one_stays(stage):
    server = stage.room_server(5)
    daemon = Daemon(stage, {"kept": room(server, "kept")})
    daemon.wait_for_phase("kept", "joined")
    worker, memory = daemon.worker("kept"), resident(daemon.process.process.pid)
    good = daemon.path.read_bytes()

    def refused(what):
        status, _, body = daemon.request("POST", "/v1/reload")
        assert status == 422, (what, body)
        problems = json.loads(body)["problems"]
        assert problems and all(len(problem) < 2000 for problem in problems), (what, problems[:3])
        return problems
    for what, text in WRONG.items():
        daemon.path.write_bytes(text.encode(errors="surrogateescape"))
        refused(what)
    daemon.path.unlink()
    assert "No such file" in refused("gone")[0]
    daemon.path.mkdir()
    assert "is a directory" in refused("directory")[0]
    daemon.path.rmdir()
    os.mkfifo(daemon.path)
    assert "not a regular file" in refused("pipe")[0]
    daemon.path.unlink()
    daemon.path.symlink_to("/dev/zero")
    assert "not a regular file" in refused("device")[0]
    daemon.path.unlink()
    # The signal logs the same as the HTTP API answers.
    daemon.path.write_text("nonsense: [")
    count = len(daemon.log("configuration.refused"))
    daemon.process.signal(signal.SIGHUP)
    daemon.wait_for("a refusal", lambda: len(daemon.log("configuration.refused")) > count)
    daemon.path.write_bytes(good)
    assert daemon.request("POST", "/v1/reload")[0] == 200
    assert daemon.worker("kept") == worker
    assert daemon.room("kept")["phase"] == "joined"
    assert resident(daemon.process.process.pid) - memory < 256 * MEGABYTE


@pytest.mark.parametrize("what", ["directory", "missing", "pipe", "storage is a file", "storage is below a file"])
def test_it_does_not_start_with(stage, what):
    path = stage.folder / "wrong.yaml"
    file = stage.folder / "file"
    file.write_text("x")
    storage = {"storage is a file": file, "storage is below a file": file / "below"}.get(what, stage.folder / "storage")
    if what == "directory":
        path.mkdir()
    elif what == "pipe":
        os.mkfifo(path)
    elif what != "missing":
        path.write_text(json.dumps({"storage": {"directory": str(storage)}, "api": {"listen": "127.0.0.1:0"}}))
    refused = stage.run_tapedeck("run", "--config", path)
    assert refused.exit_code == 2, refused.story()
    assert len(refused.messages.strip().splitlines()) <= 3, refused.story()
    if what.startswith("storage"):
        assert f"{file} is a file, where a directory must be" in refused.messages, refused.story()
        checked = stage.run_tapedeck("run", "--config", path, "--check")
        assert checked.exit_code == 2 and f"storage.directory: {file} is a file" in checked.messages, checked.story()
    else:
        assert str(path) in refused.messages, refused.story()


def test_a_storage_whose_disk_is_not_there_is_worth_another_start(stage):
    """Not 2, after which the service manager does not start it again; once there is the disk, it runs."""
    path, link, disk = (stage.folder / name for name in ("link.yaml", "link", "disk"))
    link.symlink_to(disk)
    path.write_text(json.dumps({"storage": {"directory": str(link / "storage")}, "api": {"listen": "127.0.0.1:0"}}))
    refused = stage.run_tapedeck("run", "--config", path)
    assert refused.exit_code == 1, refused.story()
    assert f"{link} is a link to {disk}, where nothing is" in refused.messages, refused.story()
    assert stage.run_tapedeck("run", "--config", path, "--check").exit_code == 2
    disk.mkdir()
    daemon = stage.tapedeck("run", "--config", path, "--json")
    daemon.wait_for("its interface", lambda: any("api" in fact for fact in daemon.facts), LIMIT)
    assert daemon.end() == 0, daemon.story()
    assert (disk / "storage").is_dir()


def test_a_port_that_is_taken_is_said_and_no_worker_stays(stage):
    server = stage.room_server(5)
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        path = stage.folder / "taken.yaml"
        path.write_text(json.dumps({
            "storage": {"directory": str(stage.folder / "storage"), "minimum_free": "50MB"},
            "api": {"listen": f"127.0.0.1:{port}"}, "rooms": {"standup": room(server, "one")}}))
        refused = stage.run_tapedeck("run", "--config", path)
    # Not 2, after which the service manager does not start it again.
    assert refused.exit_code == 1, refused.story()
    assert str(port) in refused.messages and "in use" in refused.messages, refused.story()
    deadline = time.monotonic() + LIMIT
    while left := [left for left in stage.left_over() if "worker" in left[1]]:
        assert time.monotonic() < deadline, left
        time.sleep(0.1)


def test_a_port_that_is_taken_for_a_moment_is_waited_for(stage):
    """And the service manager hears that the daemon is ready when it can be asked, not before."""
    notified = stage.folder / "notify"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager, \
            socket.create_server(("127.0.0.1", free_port())) as other:
        manager.bind(str(notified))
        manager.settimeout(LIMIT)
        port = other.getsockname()[1]
        path = stage.folder / "taken.yaml"
        path.write_text(json.dumps({
            "storage": {"directory": str(stage.folder / "storage"), "minimum_free": "50MB"},
            "api": {"listen": f"127.0.0.1:{port}"}, "rooms": {}}))
        daemon = stage.tapedeck("run", "--config", path, "--json", secrets={"NOTIFY_SOCKET": str(notified)})
        daemon.wait_for("the complaint", lambda: "before the address of the API is free" in daemon.messages)
        manager.settimeout(2)
        with pytest.raises(TimeoutError):
            manager.recv(4096)
        other.close()
        manager.settimeout(LIMIT)
        assert b"READY=1" in manager.recv(4096)
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=LIMIT) as answer:
            assert answer.status == 200
    assert daemon.end() == 0, daemon.story()


# The HTTP API.

def test_a_body_of_100_megabytes_is_refused_and_not_kept(stage):
    daemon = Daemon(stage, {"standup": NOWHERE})
    assert daemon.request("GET", "/v1/rooms")[0] == 200
    memory = resident(daemon.process.process.pid)
    for framing in ("Content-Length: 104857600", "Transfer-Encoding: chunked"):
        with connect(daemon) as connection:
            connection.sendall(f"POST /v1/rooms HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                               f"{framing}\r\n\r\n".encode())
            chunk = b"x" * 65536
            answer, sent = b"", 0
            with contextlib.suppress(ConnectionError):
                while sent < 100 * MEGABYTE and not answer:
                    connection.sendall(chunk if "Length" in framing else b"10000\r\n" + chunk + b"\r\n")
                    sent += len(chunk)
                    if select.select([connection], [], [], 0)[0]:
                        answer = connection.recv(65536)
            answer = answer or connection.recv(65536)
        assert answer.startswith(b"HTTP/1.1 413 "), answer[:200]
    assert resident(daemon.process.process.pid) - memory < 64 * MEGABYTE
    # The longest one that is taken is refused for what it says.
    status, _, body = daemon.request("POST", "/v1/rooms", {"name": "x", "definition": {"url": "x" * 60_000}})
    assert status == 422 and len(body) < 10_000


def test_unknown_names_are_answered(stage):
    daemon = Daemon(stage, {"standup": NOWHERE})
    for method, path in (("GET", "/v1/rooms/other"), ("DELETE", "/v1/rooms/other"), ("POST", "/v1/rooms/other/record"),
                         ("POST", "/v1/rooms/other/stop"), ("GET", "/v1/rooms/other/graphs"),
                         ("GET", "/v1/rooms/other/participants/x/thumbnail.jpg"),
                         ("GET", "/v1/recordings/0000000000000000"), ("DELETE", "/v1/recordings/0000000000000000"),
                         ("POST", "/v1/recordings/0000000000000000/exports"),
                         ("GET", "/v1/recordings/0000000000000000/files/call.mkv"), ("GET", "/v2"), ("GET", "/v1")):
        status, headers, body = daemon.request(method, path)
        assert status == 404 and headers["Content-Type"] == "application/problem+json", (method, path, status)
        assert json.loads(body)["status"] == 404


def test_slow_clients_and_idle_listeners_do_not_keep_others_out(stage):
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if limit < 3000:
        pytest.skip(f"2300 connections need more than the {limit} files that may be open here (ulimit -Hn)")
    daemon = Daemon(stage, {"standup": NOWHERE}, api={
        "listen": "127.0.0.1:0", "requests_per_second": 10000, "maximum_event_streams": 50})
    process = daemon.process.process.pid
    assert daemon.request("GET", "/healthz")[0] == 200
    memory = resident(process)

    def answers():
        assert daemon.request("GET", "/healthz")[0] == 200
    with contextlib.ExitStack() as clients:
        slow = [clients.enter_context(connect(daemon)) for _ in range(300)]
        for number, client in enumerate(slow):
            client.sendall([b"GET /v1/rooms HTTP/1.1\r\nHost: local", b"G", b"POST /v1/rooms HTTP/1.1\r\nHost: localhost"
                            b"\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{"][number % 3])
        answers()
        heads = []
        for number in range(2000):
            client = clients.enter_context(connect(daemon))
            client.sendall(b"GET /v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
            heads.append(client)
            if number % 500 == 499:
                answers()
        statuses = [client.recv(64)[:12] for client in heads]
        assert statuses.count(b"HTTP/1.1 200") == 50 and statuses.count(b"HTTP/1.1 503") == 1950
        answers()
        assert resident(process) - memory < 256 * MEGABYTE
        # Listeners are notified, however many others do not read.
        daemon.post("/v1/rooms", {"name": "new", "definition": {**NOWHERE, "url": NOWHERE["url"] + "2"}})
        listener = heads[statuses.index(b"HTTP/1.1 200")]
        listener.settimeout(LIMIT)
        told = b""
        while b"room.added" not in told:
            part = listener.recv(65536)
            assert part, told
            told += part
    answers()
    daemon.wait_for("descriptors back", lambda: len(os.listdir(f"/proc/{process}/fd")) < 1000)


# The disk.

def test_a_storage_has_one_daemon(stage):
    """Not 2, after which the service manager does not start it again: the other one may be about to end."""
    daemon = Daemon(stage, {})
    refused = stage.run_tapedeck("run", "--config", daemon.path)
    assert refused.exit_code == 1, refused.story()
    assert f"another daemon has the storage directory {daemon.storage}" in refused.messages, refused.story()
    assert daemon.get("/v1/rooms")["rooms"] == []
    # A command that lists recordings needs no turn.
    repair = stage.run_tapedeck("repair", "--directory", daemon.storage)
    assert repair.exit_code == 0, repair.story()
    daemon.process.signal(signal.SIGKILL)
    daemon.process.wait()
    daemon.start()
    assert daemon.process.end() == 0, daemon.process.story()


def test_a_disk_that_cannot_be_written_is_said_at_the_start(stage):
    with small_disk(stage.folder / "disk", "1m", "ro") as disk:
        path = stage.folder / "readonly.yaml"
        for directory in (disk, disk / "below"):
            path.write_text(json.dumps({"storage": {"directory": str(directory)}, "api": {"listen": "127.0.0.1:0"}}))
            refused = stage.run_tapedeck("run", "--config", path)
            assert refused.exit_code == 2, refused.story()
            assert str(disk) in refused.messages and "ead-only file system" in refused.messages, refused.story()


def test_a_disk_that_is_full_at_the_start_is_worth_another_start(stage):
    """Not 2, after which the service manager does not start it again; there is room some day, and then it runs."""
    with small_disk(stage.folder / "disk", "1m") as disk:
        path = stage.folder / "full.yaml"
        path.write_text(json.dumps({"storage": {"directory": str(disk)}, "api": {"listen": "127.0.0.1:0"}}))
        filler = disk / "filler"
        with contextlib.suppress(OSError), filler.open("wb", buffering=0) as file:
            while True:
                file.write(b"x" * 4096)
        refused = stage.run_tapedeck("run", "--config", path)
        assert refused.exit_code == 1, refused.story()
        assert len(refused.messages.strip().splitlines()) <= 3, refused.story()
        filler.unlink()
        daemon = stage.tapedeck("run", "--config", path, "--json")
        daemon.wait_for("its interface", lambda: any("api" in fact for fact in daemon.facts), LIMIT)
        assert daemon.end() == 0, daemon.story()


def written_packets(storage, name, kind):
    """Seconds of the packets in the only track file of a kind, from the first one on; its recording is in progress."""
    path, = (storage / "recordings" / name).rglob(f"tracks/*{'.mkv' if kind == 'video' else '.mka'}")
    times = [packet.time for packet in media.packets(path, 0)]
    return [time - times[0] for time in times]


def assert_kept(begun, times, story):
    """Packets written before a disk failed are in the export, one by one."""
    assert len(times) >= len(begun) > 0, (len(times), len(begun), story)
    first = min(times)
    moved = [(was, now - first) for was, now in zip(begun, sorted(times)) if abs(now - first - was) > 0.1]
    assert not moved, (moved, story)


def written(daemon):
    """The size of each track's file."""
    return {path: path.stat().st_size for path in daemon.storage.rglob("tracks/*.mk*")}


def wait_until_growing(daemon, name, kinds):
    """Waits until tracks of exactly these kinds have grown in two statuses in turn, however long a status takes."""
    def units():
        tracks = daemon.room(name)["status"]["tracks"]
        return {(track["kind"], track["number"]): track["units"] for track in tracks if track["number"]}
    last, agreed = units(), 0

    def have_grown():
        nonlocal last, agreed
        now = units()
        if now == last:
            return False
        grown = {key[0] for key, count in now.items() if count > last.get(key, 0)}
        last, agreed = now, agreed + 1 if grown == kinds else 0
        return agreed == 2
    daemon.wait_for(f"growing tracks of {' and '.join(sorted(kinds))} only", have_grown)


def test_a_disk_that_fills_up_stops_video_then_everything_and_recovers(stage):
    with small_disk(stage.folder / "disk", "200m") as disk:
        server = stage.room_server(5, "--capacity", "3")
        daemon = Daemon(stage, {"standup": room(server, "one")},
                        storage={"directory": str(disk / "storage"), "minimum_free": "80MB"})
        daemon.wait_for_phase("standup", "joined")
        peer = stage.aiortc(server, "one", "--send", "synthetic")
        daemon.wait_for_recording("standup")

        def fill(free):
            """Leaves so many bytes free."""
            # In place: between two files there would be more free for as long as we do not get the processor.
            with (disk / "ballast").open("ab") as file:
                # The daemon writes at the same time.
                for spare in range(0, 10_000_000, 100_000):
                    state, has = os.statvfs(disk), os.fstat(file.fileno()).st_size
                    size = has + state.f_bavail * state.f_frsize - free - spare
                    with contextlib.suppress(OSError):
                        if size > has:
                            os.posix_fallocate(file.fileno(), 0, size)
                        else:
                            os.ftruncate(file.fileno(), max(0, size))
                        return

        wait_until_growing(daemon, "standup", {"audio", "video"})
        fill(60_000_000)
        daemon.wait_for("the alarm", lambda: daemon.log("video is left out"))
        wait_until_growing(daemon, "standup", {"audio"})
        fill(20_000_000)
        daemon.wait_for("the second alarm", lambda: daemon.log("nothing is recorded"))
        daemon.wait_for("silence", lambda: daemon.room("standup")["status"]["recordingState"] == "off")

        def stands_still():
            was = written(daemon)
            time.sleep(2)
            return written(daemon) == was
        daemon.wait_for("no writing", stands_still)
        # Not a byte is left: what can still be asked is answered, and nothing ends.
        fill(0)
        for path in ("/v1/rooms", "/v1/recordings", "/v1/overview", "/metrics", "/healthz"):
            assert daemon.request("GET", path)[0] == 200, path
        worker = daemon.worker("standup")
        fill(150_000_000)
        daemon.wait_for("the end of the alarm", lambda: daemon.log("disk.recovered"))
        wait_until_growing(daemon, "standup", {"audio", "video"})
        assert daemon.worker("standup") == worker and daemon.room("standup")["restarts"] == 0
        peer.end()
        for folder in daemon.wait_for_export("standup"):
            assert_plays(folder / "call.mkv")
        assert daemon.process.end() == 0, daemon.process.story()


def test_a_disk_that_is_full_at_once_costs_three_recordings_nothing_that_was_written(stage):
    with small_disk(stage.folder / "disk", "100m") as disk:
        server = stage.room_server(5)
        names = ["one", "two", "three"]
        daemon = Daemon(stage, {name: room(server, name) for name in names},
                        storage={"directory": str(disk / "storage"), "minimum_free": "0B"})
        cameras = []
        for name in names:
            daemon.wait_for_phase(name, "joined")
            cameras.append(stage.tapedeck("camera", room_url(server, name), "--size", "320x180", "--bitrate", "300k"))
            daemon.wait_for_recording(name)
        folders = {name: daemon.room(name)["status"]["recording"]["id"] for name in names}

        def sizes(name):
            return {path: path.stat().st_size for path in disk.glob(f"storage/recordings/{name}/*/tracks/*")}
        daemon.wait_for("both tracks of all", lambda: all(
            len([size for size in sizes(name).values() if size > 20_000]) == 2 for name in names))
        begun = {(name, kind): written_packets(disk / "storage", name, kind) for name in names
                 for kind in ("video", "audio")}
        ballast = disk / "ballast"
        with contextlib.suppress(OSError), ballast.open("wb") as file:
            while True:
                os.write(file.fileno(), b"x" * 65536)
        daemon.wait_for("the failures", lambda: all(
            any(folder in line for line in daemon.log("recording.degraded"))
            for folder in folders.values()))
        daemon.wait_for("the alarm", lambda: daemon.log("disk.low"))
        assert daemon.request("GET", "/v1/rooms")[0] == 200
        workers = {name: daemon.worker(name) for name in names}
        before = {name: sizes(name) for name in names}
        assert all(len(before[name]) == 2 for name in names), "nothing is begun where there is no room for it"
        ballast.unlink()
        freed = time.time()
        # They continue, in the same recordings.
        def go_on(name):
            # In the same file, where its last page still had room, or in the next.
            now = sizes(name)
            return {".mkv", ".mka"} == {path.suffix for path, size in now.items()
                                       if size > before[name].get(path, 0) + 5000}
        daemon.wait_for("both tracks again", lambda: all(go_on(name) for name in names))
        assert {name: daemon.worker(name) for name in names} == workers
        assert {name: daemon.room(name)["status"]["recording"]["id"] for name in names} == folders
        for camera in cameras:
            assert camera.end() in (0, 130), camera.story()
        for name in names:
            folder, = daemon.wait_for_export(name)
            call = folder / "call.mkv"
            assert_plays(call)
            start = media.began(call)
            for kind in ("video", "audio"):
                times = [start + packet.time for stream in media.streams(call, kind)
                         for packet in media.packets(call, stream["index"])]
                assert_kept(begun[name, kind], [time for time in times if time < freed], (name, kind))
                assert max(times) > freed, (name, kind)
        assert daemon.process.end() == 0, daemon.process.story()
        assert "SQLite" not in daemon.process.messages or len(daemon.log("catalogue failed")) < 20


def test_an_export_waits_for_space_and_is_tried_again_when_it_failed(stage):
    with small_disk(stage.folder / "disk", "200m") as disk:
        server = stage.room_server(5)
        daemon = Daemon(stage, {"standup": {**room(server, "one"), "record": {"empty_after": "1s"}}},
                        storage={"directory": str(disk / "storage"), "minimum_free": "20MB"})
        camera = stage.tapedeck("camera", room_url(server, "one"), "--size", "320x180")
        daemon.wait_for_recording("standup")
        folder, = (disk / "storage" / "recordings" / "standup").iterdir()
        identifier = daemon.room("standup")["status"]["recording"]["id"]
        # More than is left below.
        daemon.wait_for("something to export", lambda: sum(
            path.stat().st_size for path in folder.glob("tracks/*")) > 100_000)
        # Audio is still recorded, and there is no space for an export in addition.
        ballast = disk / "ballast"
        state = os.statvfs(disk)
        with ballast.open("wb") as file:
            os.posix_fallocate(file.fileno(), 0, state.f_bavail * state.f_frsize - 10_050_000)
        assert camera.end() in (0, 130), camera.story()

        def export():
            return daemon.get(f"/v1/recordings/{identifier}/exports")["exports"][0]
        daemon.wait_for("the wait for space", lambda: daemon.log("an export waits for free space"))
        waiting = daemon.wait_for("what it waits for", lambda: (found := export()).get("error") and found)
        assert waiting["state"] == "queued" and "free space" in waiting["error"] and waiting["attempts"] == 0, waiting
        # No file takes the place of a folder.
        (folder / "call.mkv").mkdir()
        ballast.unlink()
        # It runs now and then; in between it waits for the next attempt.
        failed = daemon.wait_for("a failure", lambda: (found := export())["attempts"] and found["state"] == "queued"
                                 and found)
        assert failed["error"] and failed["nextAttempt"], failed
        (folder / "call.mkv").rmdir()
        daemon.wait_for("the export", lambda: export()["state"] == "done")
        # As many as failed until the obstacle was gone.
        done, told = export(), [line for line in daemon.log("export.failed") if "next" in line]
        assert done["attempts"] == len(told) >= failed["attempts"] and "error" not in done, (done, told)
        assert_plays(folder / "call.mkv")
        assert daemon.process.end() == 0, daemon.process.story()


def test_a_disk_that_fails_costs_what_came_meanwhile(stage, monkeypatch):
    server = stage.room_server(5)
    daemon, failure = preloaded_daemon(stage, monkeypatch, "write_failure", {"standup": room(server, "one")})
    daemon.wait_for_phase("standup", "joined")
    camera = stage.tapedeck("camera", room_url(server, "one"), "--json", "--size", "320x180")
    daemon.wait_for_recording("standup")
    daemon.wait_for("a second of both", lambda: sum(
        seconds_of(path) >= 1 for path in daemon.storage.rglob("tracks/*.mk*")) == 2)
    worker = daemon.worker("standup")
    begun = {kind: written_packets(daemon.storage, "standup", kind) for kind in ("video", "audio")}
    tell(failure, 1)
    daemon.wait_for("the failure", lambda: any("Input/output error" in line for line in daemon.log("recording.degraded")))
    assert daemon.request("GET", "/v1/rooms")[0] == 200
    tell(failure, 0)
    mended = time.time()
    sizes = {path: path.stat().st_size for path in (daemon.storage / "recordings").rglob("*.mk[av]")}

    def goes_on(kind):
        """In another file, or in the same, if nothing of it was to be written in that time."""
        return any(path.stat().st_size > sizes.get(path, 0) + 5000
                   for path in (daemon.storage / "recordings").rglob(f"*-{kind}.mk[av]"))
    daemon.wait_for("both tracks again", lambda: goes_on("video") and goes_on("audio"))
    assert daemon.worker("standup") == worker
    assert camera.end() in (0, 130), camera.story()
    # If lines of its journal were to be synchronised in that time, media after the disk was mended are in another
    # recording.
    count = len(daemon.log("recording.started"))
    folders = daemon.wait_for_export("standup", count=count)
    assert len(folders) == count <= 2, daemon.process.story()
    times = {kind: [] for kind in ("video", "audio")}
    for folder in folders:
        assert_plays(folder / "call.mkv")
        start = media.began(folder / "call.mkv")
        for kind, found in times.items():
            found += [start + packet.time for stream in media.streams(folder / "call.mkv", kind)
                      for packet in media.packets(folder / "call.mkv", stream["index"])]
    for kind, found in times.items():
        assert_kept(begun[kind], [at for at in found if at < mended], kind)
        assert max(found) > mended, (kind, mended)
    records = journal_of(folders[0])
    assert {record["reason"] for record in records if record["kind"] == "track-closed"} >= {"inputOutput"}, records
    assert (records[-1]["reason"] == "inputOutput") == (count == 2), records[-1]
    daemon.wait_for("the certificates", lambda: all((folder / "certificate.txt").exists() for folder in folders))
    assert "inputOutput" in (folders[0] / "certificate.txt").read_text()
    found = daemon.wait_for("the verdicts", lambda: len(each := verdicts(daemon) or []) == count and each)
    assert {recording["verdict"] for recording in found} <= {"complete", "complete-with-gaps"}, found
    assert daemon.process.end() == 0, daemon.process.story()


# Workers and room servers.

def test_a_worker_that_crashes_is_replaced_and_its_recording_goes_on(stage, monkeypatch):
    # Swift's own handler would print a backtrace and, as the signal comes from outside, continue.
    monkeypatch.setenv("SWIFT_BACKTRACE", "enable=no")
    server = stage.room_server(5)
    daemon = Daemon(stage, {"standup": room(server, "one", record={"empty_after": "120s"})})
    daemon.wait_for_phase("standup", "joined")
    peer = stage.tapedeck("camera", room_url(server, "one"), "--json", "--size", "320x180", "--audio", "test")
    daemon.wait_for_recording("standup")
    worker = daemon.worker("standup")
    os.kill(worker, signal.SIGSEGV)

    def goes_on():
        status = daemon.room("standup").get("status") or {}
        return (status.get("recording") or {}).get("part") == 2 and any(track["units"] for track in status["tracks"])
    daemon.wait_for("the second part", goes_on)
    assert daemon.room("standup")["restarts"] == 1 and daemon.worker("standup") != worker
    # Its output when it was ended, half a line or none: reported once.
    exited = daemon.log("worker.exited")
    assert len(exited) == 1 and "signal 11" in exited[0], exited
    peer.end()
    daemon.post("/v1/rooms/standup/stop")
    folder, = daemon.wait_for_export("standup")
    assert_plays(folder / "call.mkv")


def test_a_room_server_that_floods_costs_its_own_room_only(stage):
    server = stage.room_server(5)
    proxy = stage.start("proxy", python("socketio5"), PEERS / "hostile_proxy.py", "--target",
                        f"http://127.0.0.1:{server.port}", "--every", "0.005")
    proxy.port = proxy.wait_for_port()
    rooms = {"flooded": {"url": room_url(proxy, "one", transport="websocket", eio=4)}, "kept": room(server, "two")}
    # The least important level that is shown by default.
    daemon = Daemon(stage, rooms, log_level="notice")
    for name in rooms:
        daemon.wait_for_phase(name, "joined")
    peer = stage.aiortc(server, "two", "--send", "synthetic")
    daemon.wait_for_recording("kept")
    proxy.wait_for("a flood", lambda: len(proxy.facts) > 200)
    assert resident(daemon.worker("flooded")) < 200 * MEGABYTE
    assert resident(daemon.process.process.pid) < 200 * MEGABYTE
    # Some 200 rounds of bad frames: a line for each would be 500 kB.
    assert len(daemon.process.messages) < 80_000
    assert daemon.room("kept")["restarts"] == 0 and daemon.room("flooded")["phase"] in ("joined", "joining")
    peer.end()
    folder, = daemon.wait_for_export("kept")
    assert_plays(folder / "call.mkv")


# The clock.

def test_a_clock_that_is_stepped_by_an_hour_costs_no_recording(stage, monkeypatch):
    server = stage.room_server(5)
    daemon, offset = preloaded_daemon(stage, monkeypatch, "clock_offset", {"standup": room(server, "one")})
    daemon.wait_for_phase("standup", "joined")
    camera = stage.tapedeck("camera", room_url(server, "one"), "--json", "--size", "320x180")
    daemon.wait_for_recording("standup")
    began = time.monotonic()

    def units():
        return sum(track["units"] for track in daemon.room("standup")["status"]["tracks"])

    for step in (3600, -3600):
        tell(offset, step)
        time.sleep(3)
        before = units()
        daemon.wait_for(f"more units after {step}", lambda before=before: units() > before + 30)
        status, headers, _ = daemon.request("GET", "/healthz")
        assert status == 200
        ahead = email.utils.parsedate_to_datetime(headers["Date"]).timestamp() - time.time()
        assert abs(ahead - step) < 60, "the daemon did not see the step"
    lasted = time.monotonic() - began
    camera.end()
    # The delay on a busy machine, which is nothing compared with an hour.
    slack = 600
    folder, = daemon.wait_for_export("standup")
    assert_plays(folder / "call.mkv")
    for stream in media.streams(folder / "call.mkv"):
        first, last = media.span(folder / "call.mkv", stream["index"])
        # Audio may come long before video where an encoder must wait.
        assert first < slack and abs(last - first - lasted) < slack, media.describe(folder / "call.mkv")
    recording, = daemon.wait_for("the verdict", lambda: verdicts(daemon))
    assert recording["verdict"] in WHOLE and recording["state"] == "finished", recording


def test_a_host_that_comes_up_with_a_wrong_clock_loses_no_recording(stage, monkeypatch):
    server = stage.room_server(5)
    daemon, offset = preloaded_daemon(stage, monkeypatch, "clock_offset", {"standup": room(server, "one")},
                                      storage={"keep": "30d"})
    daemon.wait_for_phase("standup", "joined")
    camera = stage.tapedeck("camera", room_url(server, "one"), "--json", "--size", "320x180")
    daemon.wait_for_recording("standup")
    camera.end()
    folder, = daemon.wait_for_export("standup")
    daemon.wait_for("the verdict", lambda: verdicts(daemon))
    # 400 days ahead, as a host may be whose battery is empty; the preload is of the first start alone.
    for _ in range(2):
        with monkeypatch.context() as patch:
            patch.setenv("LD_PRELOAD", str(stage.folder / "clock_offset.so"))
            patch.setenv("CLOCK_OFFSET_FILE", str(offset))
            daemon.restart(lambda: tell(offset, 400 * 86400))
        daemon.wait_for("the doubt", lambda: daemon.log("nothing is deleted by its age"))
        # Longer than the look at what is too old takes.
        time.sleep(5)
        assert len(daemon.recordings()) == 1 and (folder / "call.mkv").exists(), daemon.process.story()
