# SPDX-License-Identifier: Apache-2.0
"""An etcd of some members, and what tests do to it."""

import base64
import json
import shutil
import urllib.request

from stage import LIMIT, free_port


def text(value):
    return base64.b64encode(value.encode()).decode()


class Etcd:
    """An etcd of some members on this host."""

    def __init__(self, stage, count=3, *flags):
        self.stage, self.flags = stage, flags
        self.names = [f"m{number}" for number in range(count)]
        self.urls, self.peers = ([f"http://127.0.0.1:{free_port()}" for _ in self.names] for _ in range(2))
        self.members = []
        self.start()

    def start(self):
        """Starts all members, with what they had before."""
        assert all(member.process.poll() is not None for member in self.members)
        cluster = ",".join(f"{name}={peer}" for name, peer in zip(self.names, self.peers))
        self.members = [self.stage.start_etcd(name, url, peer, cluster, *self.flags)
                        for name, url, peer in zip(self.names, self.urls, self.peers)]
        for member in self.members:
            self.stage.await_etcd(member)

    def kill(self):
        """Ends all members."""
        for member in self.members:
            member.kill()

    def replace(self):
        """A new etcd at the same addresses, which has nothing."""
        self.kill()
        for name, url in zip(self.names, self.urls):
            shutil.rmtree(self.stage.etcd_folder(name, url))
        self.start()

    # As its administrator.

    def call(self, path, body, member=0):
        """The answer of a member's JSON gateway."""
        request = urllib.request.Request(self.urls[member] + path, json.dumps(body).encode(),
                                         {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=LIMIT) as answer:
            return json.load(answer)

    def put(self, key, value):
        """Writes a value; the revision of the etcd then."""
        return self.call("/v3/kv/put", {"key": text(key), "value": text(value)})["header"]["revision"]

    def entry(self, key):
        """A key as etcd has it; None if it does not exist."""
        return next(iter(self.call("/v3/kv/range", {"key": text(key)}).get("kvs", [])), None)

    def value(self, key):
        return base64.b64decode(self.entry(key)["value"]).decode()

    def entries(self, prefix):
        """The values of all keys that begin so, by their keys."""
        found = self.call("/v3/kv/range", {"key": text(prefix), "range_end": text(prefix[:-1] + chr(ord(prefix[-1]) + 1))})
        return {base64.b64decode(entry["key"]).decode(): base64.b64decode(entry.get("value", "")).decode()
                for entry in found.get("kvs", [])}

    def leader(self):
        """The position of the member that leads."""
        for position in range(len(self.names)):
            status = self.call("/v3/maintenance/status", {}, position)
            if status["leader"] == status["header"]["member_id"]:
                return position
        raise AssertionError("no member leads")
