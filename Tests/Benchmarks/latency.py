# SPDX-License-Identifier: Apache-2.0
"""How long it takes from a participant's offer to its first keyframe in a file, step by step, as the worker reports."""

import json
import subprocess
import threading
import time

from load import Sender
from programs import free_port
from receivers import PATIENCE, call_by_tcp

# In this order, each from the end of the one before; see docs/metrics.md.
PARTS = ("answer", "ice", "dtls", "packet", "file")


class Worker:
    """A `tapedeck worker` that records rooms to which callers come by bare TCP."""

    def __init__(self, setting):
        self.setting, self.changed, self.events = setting, threading.Condition(), []
        self.errors = (setting.folder / "worker.err").open("wb")
        self.process = subprocess.Popen([setting.tapedeck, "worker", "--log-level", "warning"], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=self.errors, cwd=setting.folder)
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            with self.changed:
                self.events.append(next(iter(json.loads(line).items())))
                self.changed.notify_all()

    def wait_for(self, name, room, **members):
        """The first event of that name from a room, with these members."""
        def found():
            return next((value for kind, value in self.events if kind == name and value["room"] == room
                         and members.items() <= value.items()), None)
        with self.changed:
            if not self.changed.wait_for(found, PATIENCE):
                raise RuntimeError(f"no {name} of {room}; see {self.errors.name}")
            return found()

    def join(self, room, port):
        order = {"name": room, "url": f"lan+tcp://127.0.0.1:{port}?listen", "displayName": "tapedeck", "ice": {},
                 "storage": str(self.setting.folder / "storage"),
                 "record": {"isAutomatic": True, "video": True, "audio": True, "emptyAfterSeconds": 60}}
        self.process.stdin.write(json.dumps({"be": {"_0": order, "revision": 1}}).encode() + b"\n")
        self.process.stdin.flush()
        self.wait_for("joined", room)

    def end(self):
        self.process.stdin.close()
        self.process.wait(90)
        self.reader.join(PATIENCE)
        self.errors.close()


def beginnings(setting):
    """The steps of this many calls in milliseconds, one call after the other while those before continue."""
    worker = Worker(setting)
    sender = Sender(setting)
    found, connections = [], []
    try:
        for number in range(setting.rooms):
            room, port = f"room{number}", free_port()
            worker.join(room, port)

            def answer(_, offer, port=port):
                connection, described = call_by_tcp(port, offer)
                connections.append(connection)
                return described
            sender.call(answer)
            first = worker.wait_for("firstUnit", room, kind="video")
            found.append({"total": first["milliseconds"], **first["parts"]})
            time.sleep(0.2)
    finally:
        sender.end()
        worker.end()
        for connection in connections:
            connection.close()
    return found
