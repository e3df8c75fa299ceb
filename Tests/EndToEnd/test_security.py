# SPDX-License-Identifier: Apache-2.0
"""Things that the daemon keeps private: secrets, files outside its storage, modes of files, a closed HTTP API."""

import contextlib
import hashlib
import itertools
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import stat
import time
import urllib.parse

import media
import pytest
from daemon import Daemon, children
from figures import assert_plays
from peers import room_url
from stage import PEERS, ROOT, python

NOWHERE = {"url": "socketio+http://127.0.0.1:9/nowhere", "join": "on-demand"}
PASSWORDS = b"root:x:0:"


def bearer(token):
    return {"Authorization": f"Bearer {token}"}


def is_whole(answer):
    """Whether an answer with a length is there as a whole; others end with their connection."""
    head, _, body = answer.partition(b"\r\n\r\n")
    length = re.search(rb"content-length: (\d+)", head, re.IGNORECASE)
    return length is not None and len(body) >= int(length[1])


def raw(daemon, head, body=b"", timeout=60, until=is_whole):
    """Status and everything else that comes back for a request sent byte by byte as it is."""
    address = urllib.parse.urlsplit(daemon.url)
    with socket.create_connection((address.hostname, address.port), timeout=timeout) as connection:
        connection.sendall(head + b"\r\n\r\n" + body)
        answer = b""
        with contextlib.suppress(TimeoutError):
            while not until(answer) and (part := connection.recv(1 << 16)):
                answer += part
    found = re.match(rb"HTTP/1\.1 (\d{3}) ", answer)
    return int(found[1]) if found else None, answer


def get_raw(daemon, target, *fields):
    lines = [b"GET " + target + b" HTTP/1.1", b"Host: localhost", b"Connection: close", *fields]
    return raw(daemon, b"\r\n".join(lines))


def recorded_call(stage, daemon, server, room="standup", on_server="one"):
    """A finished, exported recording of a short call; its folder."""
    daemon.wait_for_phase(room, "joined")
    peer = stage.aiortc(server, on_server, "--send", "synthetic")
    daemon.wait_for_recording(room)
    peer.end()
    return daemon.wait_for_export(room)[0]


# Secrets.

class Secrets:
    """A secret for every place that takes one, each with a separate text that is searched for."""

    def __init__(self, folder, monkeypatch):
        self.folder, self.monkeypatch, self.texts = folder / "credentials", monkeypatch, {}
        self.folder.mkdir()

    def text(self, name):
        return self.texts.setdefault(name, f"hidden-{name}-{hashlib.sha256(name.encode()).hexdigest()[:12]}")

    def variable(self, name):
        self.monkeypatch.setenv(f"SECRET_{name.upper()}", self.text(name))
        return f"${{SECRET_{name.upper()}}}"

    def file(self, name):
        (self.folder / name).write_text(self.text(name) + "\n")
        return f"${{file:{self.folder / name}}}"

    def found_in(self, data):
        return sorted(name for name, text in self.texts.items() if text.encode() in data)


def descendants(pid):
    return [pid] + [below for child in children(pid) for below in descendants(child)]


def every_answer(daemon, headers):
    """The answers to every GET of the HTTP API, and of every link in it, as one text."""
    recordings = [recording["id"] for recording in daemon.get("/v1/recordings", **headers)["recordings"]]
    paths = ["/", "/healthz", "/readyz", "/metrics", "/v1/session", "/v1/overview", "/v1/rooms", "/v1/openapi.yaml",
             "/v1/recordings"]
    for room in daemon.get("/v1/rooms", **headers)["rooms"]:
        paths += [f"/v1/rooms/{room['name']}", f"/v1/rooms/{room['name']}/graphs"]
        people = {track["participant"] for track in (room.get("status") or {}).get("tracks", [])}
        paths += [f"/v1/rooms/{room['name']}/participants/{urllib.parse.quote(person)}/thumbnail.jpg"
                  for person in people]
    for recording in recordings:
        paths += [f"/v1/recordings/{recording}", f"/v1/recordings/{recording}/exports"]
        paths += [f"/v1/recordings/{recording}/files/{file['name']}"
                  for file in daemon.get(f"/v1/recordings/{recording}", **headers)["files"]]
    found = []
    for path in paths:
        _, fields, body = daemon.request("GET", path, headers=headers)
        found += [str(fields).encode(), body]
    return b"".join(found)


def events_until(daemon, token, *kinds):
    """The event stream's replay from its beginning, until these events have come."""
    return raw(daemon, b"\r\n".join([
        b"GET /v1/events HTTP/1.1", b"Host: localhost", b"Last-Event-ID: 0",
        b"Authorization: Bearer " + token.encode()]), until=lambda answer: all(kind in answer for kind in kinds))[1]


def test_no_secret_is_told_anywhere(stage, monkeypatch):
    secrets = Secrets(stage.folder, monkeypatch)
    path = secrets.text("path")
    server = stage.start("socketio5", python("socketio5"), PEERS / "socketio_room_server.py", "--path", f"/{path}/")
    server.port, server.eio = server.wait_for_port(), 5
    hook = stage.start("sink", python("socketio5"), PEERS / "webhook_sink.py", "--secret", secrets.text("hook"))
    hook_url = f"http://127.0.0.1:{hook.wait_for_event('listening')['port']}"
    stage.folder.joinpath("hashed").write_text(secrets.text("hashed"))
    room_server = f"socketio+http://127.0.0.1:{server.port}"
    rooms = {
        "standup": {"url": f"{room_server}/{secrets.variable('room')}?path=/{secrets.file('path')}/",
                    "secret": secrets.variable("room_password"), "record": {"empty_after": "1s"}},
        # Answers 404, and refuses the connection.
        "wrong": {"url": f"{room_server}/x?path=/{secrets.variable('wrong_path')}/"},
        "closed": {"url": f"socketio+http://127.0.0.1:9/{secrets.file('closed_room')}",
                   "secret": secrets.file("closed_password")},
    }
    daemon = Daemon(
        stage, rooms, log_level="trace",
        ice={"servers": [{"urls": ["turn:127.0.0.1:9?transport=udp"], "username": "carrot",
                          "credential": secrets.variable("turn")}]},
        api={"listen": "127.0.0.1:0", "token": secrets.variable("api"), "tokens": [
            {"name": "reader", "value": secrets.file("reader"), "scopes": ["read"]},
            {"name": "hashed", "sha256": hashlib.sha256(secrets.text("hashed").encode()).hexdigest(),
             "scopes": ["read", "control", "media"]}]},
        webhooks=[
            {"url": f"{hook_url}/{secrets.variable('hook_path')}?key={secrets.file('hook_query')}",
             "secret": secrets.variable("hook"), "events": ["*"]},
            # No receiver: failures are logged as well.
            {"url": f"http://127.0.0.1:9/{secrets.variable('dead_hook')}", "secret": secrets.file("dead_secret")}])
    token = bearer(secrets.text("api"))
    get_plain = daemon.get
    monkeypatch.setattr(daemon, "get", lambda path, **headers: get_plain(path, **{**token, **headers}))
    seen = {}

    def look(where):
        """Looks at command lines, and at what workers and jobs inherited."""
        own = pathlib.Path(f"/proc/{daemon.process.process.pid}/cmdline").read_bytes()
        for pid in descendants(daemon.process.process.pid):
            with contextlib.suppress(OSError):
                line = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()
                seen[f"command line, {where}: {line[:60]}"] = line
                # A child that has not begun yet still is the daemon.
                if line != own:
                    seen[f"environment, {where}: {line[:60]}"] = pathlib.Path(f"/proc/{pid}/environ").read_bytes()

    daemon.wait_for_phase("standup", "joined")
    look("joined")
    peer = stage.start("aiortc", python("peers"), PEERS / "aiortc_peer.py", "--url",
                       f"http://127.0.0.1:{server.port}", "--room", secrets.text("room"), "--eio", 4,
                       "--send", "synthetic", "--path", f"/{path}/")
    peer.wait_for_event("joined")
    daemon.wait_for_recording("standup")
    look("recording")
    answers = [every_answer(daemon, token), every_answer(daemon, bearer(secrets.text("hashed")))]
    # Wrong tokens are nearly right ones, and what was wrong in a definition may be a password.
    for wrong in ("typo", "other_typo"):
        for method, target in (("GET", "/v1/rooms"), ("POST", "/v1/reload"), ("DELETE", "/v1/rooms/standup")):
            assert daemon.request(method, target, headers=bearer(secrets.text(wrong)))[0] == 401
    assert daemon.request("POST", "/v1/session", {"token": secrets.text("session_typo")})[0] == 401
    status, fields, body = daemon.request("POST", "/v1/session", {"token": secrets.text("api")})
    assert status == 200
    answers += [str(fields).encode(), body]
    for url in (f"socketio+http://me:{secrets.text('user')}@127.0.0.1:9/x", f"{secrets.text('scheme')}://127.0.0.1/x",
                f"socketio+http://127.0.0.1/x?{secrets.text('query')}=1"):
        definition = {"name": "new", "definition": {"url": url}}
        assert daemon.request("POST", "/v1/rooms", definition, headers=token)[0] == 422

    # Reloads, taken and refused; the same for --check and doctor.
    daemon.process.signal(signal.SIGHUP)
    daemon.wait_for("a reload", lambda: daemon.log("configuration.reloaded"))
    good = daemon.path.read_text()
    broken = json.loads(good)
    broken["api"] |= {"tokn": secrets.variable("misplaced"), "listen": secrets.variable("address")}
    broken["webhooks"] += [{"url": f"ftp://h/{secrets.variable('ftp')}", "secret": "short"},
                           {"url": f"https://me:{secrets.variable('hook_user')}@h/x", "secret": [secrets.file("list")]}]
    broken["rooms"]["wrong"]["url"] = f"socketio+http://me:{secrets.file('room_user')}@h/x"
    broken["rooms"]["closed"]["secret"] = [secrets.file("password_list")]
    broken["rooms"]["bad"] = {"url": f"socketio+http://h/x?dialect={secrets.file('dialect')}", "join": "no"}
    # Variables that the daemon's environment does not have are a separate problem.
    daemon.path.write_text(json.dumps(broken))
    status, _, body = daemon.request("POST", "/v1/reload", headers=token)
    assert status == 422 and len(json.loads(body)["problems"]) >= 6, body
    answers.append(body)
    commands = [stage.run_tapedeck("run", "--config", daemon.path, "--check", "--json")]
    assert commands[0].exit_code == 2 and "tokn" in commands[0].output, commands[0].story()
    daemon.path.write_text(good)
    commands += [stage.run_tapedeck("run", "--config", daemon.path, "--check"),
                 stage.run_tapedeck("doctor", "--config", daemon.path, "--json")]
    assert commands[1].exit_code == 0, commands[1].story()

    peer.end()
    folder, = daemon.wait_for_export("standup")
    look("exported")
    assert_plays(folder / "call.mkv")
    recording = json.loads((folder / "manifest.json").read_text())["id"]
    assert daemon.request("POST", f"/v1/recordings/{recording}/exports", {"layout": "browser"}, token)[0] == 202
    look("exporting")
    answers += [every_answer(daemon, token), events_until(
        daemon, secrets.text("api"), b"recording.finished", b"configuration.refused", b"export.finished")]

    def told():
        return "".join(json.dumps(fact["body"]) for fact in hook.facts if fact["event"] == "delivery")
    hook.wait_for("recording.finished", lambda: "recording.finished" in told())
    assert any(where.startswith("environment, recording") for where in seen)

    for number, answer in enumerate(answers):
        seen[f"answer {number}"] = answer
    seen["webhook"] = told().encode()
    # Not by name alone: the daemon and a check of its configuration have the same.
    for number, process in enumerate([daemon.process, *commands]):
        seen[f"log {number} of {process.name}"] = process.messages.encode()
        seen[f"output {number} of {process.name}"] = process.output.encode()
    for file in daemon.storage.rglob("*"):
        if file.is_file():
            seen[str(file)] = file.read_bytes()
    assert any(name.endswith("catalogue.sqlite-wal") for name in seen)
    # The queue of deliveries knows its webhooks by what their URLs are.
    assert {where: secrets.found_in(data) for where, data in seen.items() if secrets.found_in(data)} == {}
    assert secrets.text("turn").encode() in pathlib.Path(f"/proc/{daemon.process.process.pid}/environ").read_bytes()
    assert not list(stage.folder.rglob("core*"))


# Files outside the storage.

TRAVERSALS = [b"..", b"../..", b"../../../../../../etc/passwd", b"%2e%2e", b"%2E%2E%2F%2e%2e%2fetc%2fpasswd",
              b"..%2f..%2f..%2f..%2f..%2fetc%2fpasswd", b"%252e%252e%252f%252e%252e%252fetc%252fpasswd",
              b"..%5c..%5cetc%5cpasswd", b"....//....//etc/passwd", b"/etc/passwd", b"//etc/passwd",
              b"%2fetc%2fpasswd", b"%00", b"call.mkv%00.txt", b"..%00/", b"%c0%ae%c0%ae/%c0%ae%c0%ae/etc/passwd",
              b"%e0%80%ae%e0%80%ae/etc/passwd", b"%ff%fe", b"\xc0\xae\xc0\xae/etc/passwd", b"%", b"%zz", b"%2",
              b".", b"./.", b"%2e", b"~", b"~root", b"%0d%0aX-Injected:%201", b"%0aX:1", b"*", b"..;/..;/etc/passwd",
              b"catalogue.sqlite", b"..%2f..%2f..%2fcatalogue.sqlite", b"../../../catalogue.sqlite",
              b"file:///etc/passwd", b"%u002e%u002e/etc/passwd", "\uff0e\uff0e/etc".encode(), b"a" * 600, b"a/" * 40]


def test_no_path_leads_out_of_the_storage(stage):
    server = stage.room_server(5)
    rooms = {"standup": {"url": room_url(server, "one"), "record": {"empty_after": "1s"}}}
    daemon = Daemon(stage, rooms, api={"listen": "127.0.0.1:0", "requests_per_second": 10000})
    folder = recorded_call(stage, daemon, server)
    recording, = daemon.recordings()
    canary = stage.folder / "canary.txt"
    canary.write_text("CANARY")
    worker = daemon.worker("standup")
    before = {path for path in stage.folder.rglob("*") if daemon.storage not in path.parents}
    ident = recording["id"].encode()
    prefixes = [b"/", b"/v1/rooms/", b"/v1/recordings/", b"/v1/recordings/" + ident + b"/",
                b"/v1/recordings/" + ident + b"/files/", b"/v1/recordings/" + ident + b"/files/tracks/",
                b"/v1/rooms/standup/participants/"]
    suffixes = [b"", b"/graphs", b"/exports", b"/files/call.mkv", b"/files/manifest.json", b"/thumbnail.jpg"]
    for prefix, name, suffix in itertools.product(prefixes, TRAVERSALS, suffixes):
        if suffix not in (b"", b"/thumbnail.jpg") and prefix.endswith((b"files/", b"tracks/", b"participants/")):
            continue
        status, answer = get_raw(daemon, prefix + name + suffix)
        target = (prefix + name + suffix)[:100]
        body = answer.partition(b"\r\n\r\n")[2]
        assert PASSWORDS not in answer and b"CANARY" not in answer and b"SQLite format" not in answer, target
        assert b"X-Injected" not in answer.partition(b"\r\n\r\n")[0], target
        # The meaning of a dot does not matter here: only names that are listed exist.
        assert status in (400, 404, 405, 414) or (status == 200 and prefix + name + suffix in (b"/",)), (target, answer)
        assert body, target
    exports = f"/v1/recordings/{recording['id']}/exports"
    for name in TRAVERSALS:
        text = name.decode("latin-1")
        status, _, body = daemon.request("POST", "/v1/rooms", {"name": text, "definition": NOWHERE})
        assert status in (201, 400, 422), body
        assert status != 201 or re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", text), text
        assert daemon.request("POST", exports, {"layout": text})[0] in (400, 422)
    # No participant of that name was there: the export fails and writes nothing.
    for text in ("..", "../../..", "/etc/passwd", "../../../../canary", "%2e%2e", "--output=/tmp/x", "a\0b"):
        status, _, body = daemon.request("POST", exports, {"layout": "tracks", "participant": text})
        assert status in (202, 400, 422), body
        assert daemon.request("POST", "/v1/rooms/standup/keyframe", {"participant": text})[0] in (200, 400, 404, 409, 422)
    daemon.wait_for("the exports' end", lambda: not any(export["state"] in ("queued", "running") for export in daemon.get(
        f"/v1/recordings/{recording['id']}/exports")["exports"]))
    after = {path for path in stage.folder.rglob("*") if daemon.storage not in path.parents}
    assert after == before
    names = {path.name for path in folder.iterdir()}
    assert names == {"call.mkv", "certificate.txt", "journal.jsonl", "manifest.json", "tracks"}, names
    assert daemon.worker("standup") == worker


def test_links_in_the_storage_are_not_followed(stage):
    server = stage.room_server(5)
    rooms = {"standup": {"url": room_url(server, "one"), "record": {"empty_after": "1s"}}}
    daemon = Daemon(stage, rooms)
    folder = recorded_call(stage, daemon, server)
    ident, = [recording["id"] for recording in daemon.recordings()]
    outside = stage.folder / "outside"
    canary = outside / "canary.mkv"
    parent = folder.parent.parent

    def copy(number):
        """A recording outside, unfinished, so that a repair would change it; its id is not the original's."""
        made = outside / folder.name.replace(ident, str(number) * len(ident))
        shutil.copytree(folder, made)
        journal = (made / "journal.jsonl").read_text().replace(ident, str(number) * len(ident)).splitlines()
        (made / "journal.jsonl").write_text("\n".join(journal[:-3]) + "\n")
        for name in ("manifest.json", "certificate.txt", "call.mkv"):
            (made / name).unlink()
        return made

    def plant():
        outside.mkdir()
        copies = [copy(number) for number in (2, 3, 4)]
        shutil.copytree(copies[1], outside / "room" / copies[1].name)
        shutil.copy(next((folder / "tracks").iterdir()), canary)
        (folder / "passwords.txt").symlink_to("/etc/passwd")
        (folder / "tracks" / "099-mallory-video.mkv").symlink_to(canary)
        (folder / "call.mkv").unlink()
        (folder / "call.mkv").symlink_to("/etc/passwd")
        (folder / ".call.mkv.partial").symlink_to(canary)
        (folder / "elsewhere").symlink_to(outside)
        (parent / "standup" / copies[0].name).symlink_to(copies[0])
        (parent / "linked").symlink_to(outside / "room")
        made = parent / "standup" / copies[2].name
        made.mkdir()
        shutil.copy(copies[2] / "journal.jsonl", made)
        (made / "tracks").symlink_to(copies[2] / "tracks")
        # A journal whose writer never ends.
        piped = parent / "standup" / folder.name.replace(ident, "5" * len(ident))
        (piped / "tracks").mkdir(parents=True)
        os.mkfifo(piped / "journal.jsonl")

    def state():
        return {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in outside.rglob("*") if path.is_file()}

    daemon.restart(plant)
    was = state()
    assert len(was) > 6
    daemon.wait_for_phase("standup", "joined")
    daemon.wait_for("its recording", lambda: [found for found in daemon.recordings() if found["id"] == ident])
    known = {recording["id"][0] for recording in daemon.recordings() if recording["id"] != ident}
    assert not known & set("234"), known

    # Listing and fetching.
    shown = {file["name"] for file in daemon.get(f"/v1/recordings/{ident}")["files"]}
    tracks = {f"tracks/{path.name}" for path in (folder / "tracks").iterdir() if not path.is_symlink()}
    assert shown == tracks | {"journal.jsonl", "manifest.json", "certificate.txt"}
    for name in ("call.mkv", "passwords.txt", "tracks/099-mallory-video.mkv", "elsewhere/canary.mkv",
                 ".call.mkv.partial"):
        status, _, body = daemon.request("GET", f"/v1/recordings/{ident}/files/{name}")
        assert status == 404 and PASSWORDS not in body, name

    # Exporting: a link in the place of the file that is being written is an error, one in its final place is replaced.
    def export():
        made = daemon.post(f"/v1/recordings/{ident}/exports", {"layout": "tracks"})["id"]
        return daemon.wait_for("the export's end", lambda: next((
            export for export in daemon.get(f"/v1/recordings/{ident}/exports")["exports"]
            if export["id"] == made and export["state"] in ("done", "failed")), None))
    failed = export()
    assert failed["state"] == "failed" and "symbolic link" in failed["error"], failed
    (folder / ".call.mkv.partial").unlink()
    passwords = pathlib.Path("/etc/passwd").read_bytes()
    assert export()["state"] == "done"
    assert not (folder / "call.mkv").is_symlink() and pathlib.Path("/etc/passwd").read_bytes() == passwords
    assert len(media.streams(folder / "call.mkv")) == len(tracks)

    # Repairing by hand, and deleting.
    repaired = stage.run_tapedeck("repair", "--directory", daemon.storage)
    assert state() == was, repaired.story()
    assert daemon.request("DELETE", f"/v1/recordings/{ident}")[0] == 204
    assert not folder.exists()
    assert state() == was
    assert daemon.process.process.poll() is None


# Modes.

@pytest.mark.parametrize("mask", [0o000, 0o077], ids=["open", "tight"])
def test_files_are_0640_and_folders_0750(stage, mask):
    server = stage.room_server(5)
    rooms = {"standup": {"url": room_url(server, "one"), "record": {"empty_after": "1s"}}}
    inherited = os.umask(mask)
    try:
        daemon = Daemon(stage, rooms)
    finally:
        os.umask(inherited)

    def wrong():
        found = {}
        for path in [daemon.storage, *daemon.storage.rglob("*")]:
            with contextlib.suppress(FileNotFoundError):
                status = path.lstat()
                mode = stat.S_IMODE(status.st_mode)
                if mode != (0o750 if stat.S_ISDIR(status.st_mode) else 0o640):
                    found[str(path)] = oct(mode)
        return found

    daemon.wait_for_phase("standup", "joined")
    peer = stage.aiortc(server, "one", "--send", "synthetic")
    daemon.wait_for_recording("standup")
    assert any(path.name.endswith("-wal") for path in daemon.storage.iterdir())
    assert wrong() == {}
    peer.end()
    folder, = daemon.wait_for_export("standup")
    ident = daemon.recordings()[0]["id"]
    daemon.post(f"/v1/recordings/{ident}/exports", {"layout": "browser"})
    rendition = daemon.wait_for("the rendition", lambda: [
        export for export in daemon.get(f"/v1/recordings/{ident}/exports")["exports"]
        if export["layout"] == "browser" and export["state"] in ("done", "failed")])[0]
    assert rendition["state"] == "done" and (folder / rendition["file"]).exists(), rendition
    assert wrong() == {}


# An interface that is closed by default.

@pytest.mark.parametrize("listen", ["0.0.0.0:0", "[::]:0", "192.0.2.1:8330", "example.org:80"])
def test_an_open_interface_is_refused(stage, listen):
    path = stage.folder / "open.yaml"
    path.write_text(json.dumps({"api": {"listen": listen}}))
    for flags in (["--check"], []):
        refused = stage.run_tapedeck("run", "--config", path, *flags)
        assert refused.exit_code == 2, refused.story()
        assert "api" in refused.messages and "token" in refused.messages, refused.story()


def test_without_a_token_only_this_host_may_ask(stage):
    daemon = Daemon(stage, {"standup": NOWHERE})
    port = urllib.parse.urlsplit(daemon.url).port
    for host in ("evil.example", f"evil.example:{port}", "127.0.0.1.evil.example", "localhost.evil.example", "",
                 "[::1].evil", f"127.0.0.1:{port}@evil.example", "192.0.2.1", "2130706433", "127.1"):
        for target in (b"/v1/rooms", b"/", b"/metrics", b"/v1/events", b"/healthz"):
            status, answer = raw(daemon, b"GET " + target + b" HTTP/1.1\r\nConnection: close\r\nHost: " + host.encode())
            assert status in (400, 403) and b"standup" not in answer, (host, target, answer)
    for host in ("localhost", f"127.0.0.1:{port}", f"[::1]:{port}", "LOCALHOST"):
        assert raw(daemon, f"GET /v1/rooms HTTP/1.1\r\nConnection: close\r\nHost: {host}".encode())[0] == 200, host
    # Pages of other sites cannot make their visitor's browser change anything.
    for origin in ("https://evil.example", "null", f"http://127.0.0.1:{port + 1}", f"https://127.0.0.1:{port}",
                   f"http://localhost:{port}.evil.example"):
        for method, path, body in (("POST", "/v1/rooms", {"name": "new", "definition": NOWHERE}),
                                   ("DELETE", "/v1/rooms/standup", None), ("POST", "/v1/reload", None),
                                   ("PATCH", "/v1/rooms/standup", {"join": "always"})):
            status, headers, _ = daemon.request(method, path, body, {"Origin": origin})
            assert status == 403, (origin, method, path)
            assert "Access-Control-Allow-Origin" not in headers
    assert daemon.request("POST", "/v1/reload", headers={"Origin": f"http://127.0.0.1:{port}"})[0] == 200
    assert daemon.request("POST", "/v1/reload", headers={"Sec-Fetch-Site": "cross-site"})[0] == 403
    assert [room["name"] for room in daemon.get("/v1/rooms")["rooms"]] == ["standup"]


def documented_scopes():
    """The scope of each operation, by method and path, from the OpenAPI document; None for those without one."""
    text = (ROOT / "Sources" / "Control" / "OpenAPI" / "openapi.yaml").read_text()
    text = text.partition("\npaths:\n")[2].partition("\ncomponents:\n")[0]
    found = {}
    for item in re.split(r"^  (?=/)", text, flags=re.MULTILINE)[1:]:
        path = item.partition(":")[0]
        for operation in re.split(r"^    (?=(?:get|post|patch|delete):)", item, flags=re.MULTILINE)[1:]:
            scope = re.search(r"Scope: (\w+)", operation)
            found[operation.partition(":")[0].upper(), path] = scope and scope[1]
    return found


def test_every_operation_asks_for_its_scope(stage):
    tokens = {scope: f"a-token-for-{scope}-{'x' * 16}" for scope in ("read", "control", "media")}
    daemon = Daemon(stage, {"standup": NOWHERE}, api={"listen": "127.0.0.1:0", "requests_per_second": 10000, "tokens": [
        {"name": scope, "value": value, "scopes": [scope]} for scope, value in tokens.items()]})
    scopes = documented_scopes()
    assert len(scopes) >= 25 and sum(scope is not None for scope in scopes.values()) >= 20
    for (method, path), scope in scopes.items():
        target = re.sub(r"\{\w+\}", "nothing", path)

        def status(token, method=method, target=target):
            head = f"{method} {target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 0"
            return raw(daemon, (head + (f"\r\nAuthorization: Bearer {token}" if token else "")).encode(),
                       until=lambda answer: b"\r\n\r\n" in answer)[0]
        if scope is None:
            assert status(None) not in (401, 403), target
            continue
        assert status(None) == 401, (method, target)
        for name, token in tokens.items():
            assert (status(token) == 403) == (name != scope), (method, target, name)
            assert status(token) != 401
    for token in ("", "x", "wrong-token-wrong-token", tokens["read"] + "x", tokens["read"][:-1]):
        assert daemon.request("GET", "/v1/rooms", headers={"Authorization": f"Bearer {token}"})[0] == 401
    for value in (tokens["read"], f"Basic {tokens['read']}", f"Bearer {tokens['read']} x"):
        assert daemon.request("GET", "/v1/rooms", headers={"Authorization": value})[0] in (401, 429)
    # A token is no part of a URL.
    assert daemon.request("GET", f"/v1/rooms?token={tokens['read']}")[0] in (400, 401)


def test_a_login_serves_our_own_page_only(stage):
    secret = "a-token-for-the-page-of-some-length"
    daemon = Daemon(stage, {"standup": NOWHERE}, api={"listen": "127.0.0.1:0", "token": secret})
    origin = daemon.url.rstrip("/")
    status, headers, _ = daemon.request("POST", "/v1/session", {"token": secret})
    assert status == 200
    cookie = headers["Set-Cookie"]
    assert "HttpOnly" in cookie and "SameSite=Strict" in cookie and secret not in cookie
    login = {"Cookie": cookie.split(";")[0]}
    assert daemon.request("GET", "/v1/rooms", headers=login)[0] == 200
    assert daemon.request("POST", "/v1/reload", headers=login)[0] == 403, "a cookie alone shows nothing"
    assert daemon.request("POST", "/v1/reload", headers={**login, "Origin": "https://evil.example"})[0] == 403
    assert daemon.request("POST", "/v1/reload", headers={**login, "Origin": origin})[0] == 200
    # The login ends, for anyone with the cookie.
    assert daemon.request("DELETE", "/v1/session", headers={**login, "Origin": origin})[0] == 204
    assert daemon.request("GET", "/v1/rooms", headers=login)[0] == 401
    # Guessing is slowed down, and does not lock out clients with a token.
    assert daemon.request("GET", "/v1/rooms", headers=bearer(secret))[0] == 200
    began = time.monotonic()
    answers = [daemon.request("GET", "/v1/rooms", headers=bearer(f"guess-number-{number:04}"))[0]
               for number in range(30)]
    assert answers[0] == 401 and set(answers) == {401, 429}
    # Ten, and one more every 6 s.
    assert answers.count(401) <= 11 + (time.monotonic() - began) / 6, answers
    assert daemon.request("GET", "/v1/rooms", headers=bearer(secret))[0] == 200
