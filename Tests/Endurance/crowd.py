# SPDX-License-Identifier: Apache-2.0
"""Many cheap participants in one process: a `tapedeck worker` that sends the test pattern and records nothing."""

import itertools
import json
import subprocess
import threading


class Crowd:
    """Joins and leaves rooms on request; any thread."""

    def __init__(self, tapedeck, folder, environment):
        self.storage = str(folder)
        self.numbers, self.revisions, self.specs = itertools.count(1), itertools.count(1), {}
        self.writing = threading.Lock()
        self.changed = threading.Condition()
        self.gone, self.complaints, self.vitals = set(), [], None
        self.errors = (folder / "crowd.err").open("wb")
        self.process = subprocess.Popen([tapedeck, "worker", "--log-level", "warning"], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=self.errors, env=environment, cwd=folder)
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            kind, value = next(iter(json.loads(line).items()))
            with self.changed:
                if kind == "left":
                    self.gone.add(value["room"])
                elif kind == "heartbeat":
                    self.vitals = value["_0"]
                elif kind == "commandFailed":
                    self.complaints.append(value)
                self.changed.notify_all()

    def say(self, **command):
        with self.writing:
            self.process.stdin.write(json.dumps(command).encode() + b"\n")
            self.process.stdin.flush()

    @staticmethod
    def camera(video="test", audio="test", pattern="smpte", codec="vp8"):
        return {"video": video, "audio": audio, "parameters": {"pattern": pattern}, "preferredCodec": codec,
                "width": 320, "height": 180, "framesPerSecond": 5, "bitsPerSecond": 100_000}

    def join(self, url, camera):
        """Enters a room; returns the name by which `change` and `leave` know the stay."""
        name = f"stay-{next(self.numbers)}"
        self.be({"name": name, "url": url, "displayName": name, "storage": self.storage, "send": camera, "ice": {}})
        return name

    def be(self, spec):
        with self.changed:
            self.specs[spec["name"]] = spec
        self.say(be={"_0": spec, "revision": next(self.revisions)})

    def change(self, name, camera):
        self.be({**self.specs[name], "send": camera})

    def leave(self, name, timeout=30):
        """Leaves, and waits until the room is left."""
        self.say(leave={"room": name})
        with self.changed:
            left = self.changed.wait_for(lambda: name in self.gone, timeout)
            self.gone.discard(name)
        return left

    def end(self):
        self.process.stdin.close()
        code = self.process.wait(90)
        self.reader.join(5)
        self.errors.close()
        return code
