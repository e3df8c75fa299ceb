# SPDX-License-Identifier: Apache-2.0
"""A running `tapedeck run` and its HTTP interface, for tests."""

import json
import os
import pathlib
import sys
import urllib.error
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "Benchmarks"))
from process import children, entries, family, heaps, resident_bytes as resident  # noqa: E402, F401

from stage import LIMIT

# Verdicts of recordings whose files are as they were written; a busy machine may lose a packet on the way.
WHOLE = ("complete", "complete-with-gaps")


class Daemon:
    """The daemon of a configuration; the HTTP API listens on a separate port."""

    # Sent with each request that has no other.
    token = None

    def __init__(self, stage, rooms, name="daemon", storage=None, log_level="info", flags=(), workers=None, **sections):
        self.stage, self.name, self.log_level, self.flags = stage, name, log_level, flags
        self.path = stage.folder / f"{name}.yaml"
        self.storage = pathlib.Path((storage or {}).get("directory", stage.folder / f"{name}-storage"))
        self.sections = {
            "storage": {"directory": str(self.storage), "minimum_free": "50MB", **(storage or {})},
            "api": {"listen": "127.0.0.1:0"},
            # On a busy host a worker may not be heard for longer than the 10 s that it has otherwise.
            "workers": {"hang_limit": "60s", **(workers or {})},
            **sections,
        }
        self.write(rooms)
        self.start()

    def write(self, rooms):
        """Replaces the configuration file at once, as editors do; JSON is YAML too."""
        self.rooms = rooms
        temporary = self.path.with_suffix(".new")
        temporary.write_text(json.dumps({**self.sections, "rooms": rooms}, indent=2))
        os.replace(temporary, self.path)

    def start(self):
        self.process = self.stage.tapedeck("run", "--config", self.path, "--json", "--log-level", self.log_level,
                                           *self.flags)
        self.url = self.process.wait_for(
            "its interface", lambda: next((fact["api"] for fact in self.process.facts if "api" in fact), None), LIMIT)

    def restart(self, between=lambda: None):
        """Ends the daemon, does something, and starts it again."""
        assert self.process.end() == 0, self.process.story()
        between()
        self.start()

    # The HTTP API.

    def request(self, method, path, body=None, headers=None):
        """Status, headers and body of an answer."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url.rstrip("/") + path, data=data, method=method, headers=headers or {})
        if data is not None:
            request.add_header("Content-Type", "application/json")
        if self.token and not request.has_header("Authorization"):
            request.add_header("Authorization", f"Bearer {self.token}")
        try:
            with self.stage.entered(), urllib.request.urlopen(request, timeout=LIMIT) as answer:
                return answer.status, answer.headers, answer.read()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.headers, error.read()

    def text(self, path, **headers):
        status, _, body = self.request("GET", path, headers=headers)
        assert status == 200, f"{path}: {status} {body.decode(errors='replace')}\n{self.process.story()}"
        return body.decode()

    def get(self, path, **headers):
        return json.loads(self.text(path, **headers))

    def metrics(self):
        return self.text("/metrics")

    def post(self, path, body=None):
        status, _, answer = self.request("POST", path, body)
        assert status < 300, f"{path}: {status} {answer.decode(errors='replace')}\n{self.process.story()}"
        return json.loads(answer) if answer else None

    def own_rooms(self):
        """The rooms that this host has, not those of the other hosts of its cluster."""
        return self.get("/v1/rooms?local=true")["rooms"]

    def own_room(self, name):
        """The room as this host has it, whichever host has it for the cluster; None if it is not there."""
        return next((room for room in self.own_rooms() if room["name"] == name), None)

    def room(self, name):
        return self.get(f"/v1/rooms/{name}")

    def recordings(self):
        return self.get("/v1/recordings")["recordings"]

    # Waiting.

    def wait_for(self, what, is_there, timeout=LIMIT):
        return self.process.wait_for(what, is_there, timeout)

    def wait_for_phase(self, name, phase, timeout=LIMIT):
        def is_there():
            room = self.own_room(name)
            return room if room and room["phase"] == phase else None
        return self.wait_for(f"room {name} {phase}", is_there, timeout)

    def wait_for_recording(self, name, timeout=LIMIT):
        """Waits until media of a room are written."""
        def is_there():
            room = self.own_room(name)
            status = (room or {}).get("status") or {"tracks": [], "recordingState": "off"}
            units = [track["units"] for track in status["tracks"]]
            return room if status["recordingState"] == "recording" and len(units) >= 2 and all(units) else None
        return self.wait_for(f"recording of {name}", is_there, timeout)

    def wait_for_export(self, room, timeout=LIMIT, count=1):
        """Waits until so many recordings of a room are exported; their folders, oldest first."""
        def is_there():
            # The manifest is the last that an export writes.
            found = sorted(path.parent for path in (self.storage / "recordings" / room).glob("*/manifest.json")
                           if (path.parent / "call.mkv").exists() and '"call.mkv"' in path.read_text())
            return found if len(found) >= count else None
        return self.wait_for(f"export of {room}", is_there, timeout)

    def log(self, text):
        return [line for line in self.process.messages.splitlines() if text in line]

    def worker(self, name):
        return self.room(name)["worker"]["processID"]
