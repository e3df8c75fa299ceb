# SPDX-License-Identifier: Apache-2.0
"""Hosts that this machine pretends to be, each with a kernel and clocks of its own, and a cluster of three of them."""

import collections
import contextlib
import json
import os
import pathlib
import signal
import struct
import subprocess
import urllib.request
import uuid

import pytest
import yaml
from daemon import Daemon
from recordings import journal_of
from stage import json_objects

CLIENTS, MEMBERS, API = 2379, 2380, 8330
# Of each track, so many reports of its sender are enough to compare the clocks of its hosts.
REPORTS = 3
TOKEN, CLUSTER_TOKEN = "token-of-the-operators-of-this-test", "token-of-the-hosts-of-this-test"
# Another name, boot and clock for what follows: namespaces of one machine share those of its kernel.
SEPARATE = 'mount --bind "$0" /proc/sys/kernel/random/boot_id && hostname "$1" && shift && exec "$@"'


class Separate:
    """A kernel with a name, that runs for longer than this one, and whose wall clock is `ahead` by so many seconds."""

    def __init__(self, stage, name, ahead, running=5000):
        self.name = name
        self.unshare = ("unshare", "--mount", "--uts", "--time", "--monotonic", str(running), "--boottime", str(running))
        shown = subprocess.run([*self.unshare, "cat", "/proc/uptime"], capture_output=True, text=True)
        here = float(pathlib.Path("/proc/uptime").read_text().split()[0])
        if shown.returncode or float(shown.stdout.split()[0]) < here + running - 1000:
            pytest.skip("no time namespaces here")
        self.library, self.offset, self.boot_id = (
            stage.folder / name for name in ("clock_offset.so", f"{name}-clock_offset", f"{name}-boot_id"))
        if not self.library.exists():
            source = pathlib.Path(__file__).with_name("clock_offset.c")
            subprocess.run(["cc", "-shared", "-fPIC", "-o", self.library, source], check=True)
        self.offset.write_bytes(struct.pack("i", ahead))
        self.boot()

    def boot(self):
        """Begins another run of the kernel, for processes that start then."""
        self.boot_id.write_text(f"{uuid.uuid4()}\n")

    def inside(self, *command):
        """The command that runs a command there."""
        return (*self.unshare, "sh", "-c", SEPARATE, self.boot_id, self.name, "env", f"LD_PRELOAD={self.library}",
                f"CLOCK_OFFSET_FILE={self.offset}", *command)


class Place:
    """A host of a network, with the kernel of this machine or a separate one."""

    def __init__(self, net, role, kernel=None):
        self.net, self.role, self.kernel, self.address = net, role, kernel, net.host(role)

    def inside(self, *command):
        return self.net.inside(self.role, *(self.kernel.inside(*command) if self.kernel else command))

    def entered(self):
        return self.net.entered(self.role)

    def kill(self):
        """Kills every process of the host."""
        while processes := self.net.processes(self.role):
            for process in processes:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)


class Member:
    """A host of a cluster: a member of its etcd, and a daemon."""

    def __init__(self, stage, place, members, **sections):
        self.name, self.place, self.stage, self.members = place.role, place, stage.at(place), members
        self.daemon, self.sections = None, sections
        self.url = f"http://{place.address}:{CLIENTS}"
        self.begin_etcd()

    def begin_etcd(self):
        peer = f"http://{self.place.address}:{MEMBERS}"
        self.etcd = self.stage.start_etcd(self.name, self.url, peer, self.members)

    def begin(self):
        """Starts the daemon when the etcd takes clients."""
        self.stage.await_etcd(self.etcd)
        if self.daemon:
            return self.daemon.start()
        self.daemon = Daemon(self.stage, {}, name=self.name, **self.sections)
        self.daemon.token = TOKEN

    def ask(self, path, body):
        """An answer of the member of the etcd."""
        request = urllib.request.Request(self.url + path, json.dumps(body).encode())
        with self.place.entered(), urllib.request.urlopen(request, timeout=10) as answer:
            return json.load(answer)

    def kill(self):
        """Kills the host at once."""
        self.place.kill()
        self.daemon.process.process.wait()
        self.etcd.process.wait()

    def boot(self):
        """Starts a host that was killed."""
        self.place.kernel.boot()
        self.begin_etcd()
        self.begin()

    def rooms(self):
        return {room["name"] for room in self.daemon.own_rooms()}

    def units(self, room):
        """How many units of media the host has recorded of a room in the present call; 0 if it does not record it."""
        found = self.daemon.own_room(room)
        if found is None:
            return 0
        status = found["status"]
        return sum(track["units"] for track in status["tracks"]) if status["recordingState"] == "recording" else 0

    def is_placed(self, room):
        """Whether the recording of a room has what shows where its media are on the clocks of other hosts."""
        journals = sorted((self.daemon.storage / "recordings" / room).glob("*/journal.jsonl"))
        records = json_objects(journals[-1].read_text().splitlines()) if journals else []
        tracks = {record["track"] for record in records if record["kind"] == "track-opened"}
        reports = collections.Counter(record["track"] for record in records if record["kind"] == "sender-report")
        return tracks and all(reports[track] >= REPORTS for track in tracks)

    def recordings(self, room):
        """The folders of the recordings of a room, by what the first line of each journal says."""
        found = {}
        for journal in (self.daemon.storage / "recordings" / room).glob("*/journal.jsonl"):
            records = journal_of(journal.parent)
            found[records[0]["id"]] = (records[0], journal.parent)
        return found


class Cluster:
    """Three hosts of a network, whose wall clocks are 90 s apart, and those who meet in their rooms, on host `d`."""

    def __init__(self, stage, net, ahead=(0, 90, -90), storage=None):
        self.stage, self.net = stage, net
        self.people = stage.at(Place(net, "d"))
        names = "abc"
        members = ",".join(f"{name}=http://{net.host(name)}:{MEMBERS}" for name in names)
        etcd = [f"http://{net.host(name)}:{CLIENTS}" for name in names]
        self.members = {}
        for number, (name, seconds) in enumerate(zip(names, ahead), 1):
            place = Place(net, name, Separate(stage, f"host-{name}", seconds, 5000 * number))
            listen = f"{place.address}:{API}"
            self.members[name] = Member(
                stage, place, members, storage=storage, api={"listen": listen, "token": TOKEN, "requests_per_second": 2000},
                cluster={"name": "calls", "host": name, "etcd": etcd, "capacity": 24, "labels": {"host": name}, "url": f"http://{listen}",
                         "token": CLUSTER_TOKEN})
        for number, member in enumerate(self.members.values()):
            member.begin()
            if number == 0:
                self.run(member, "cluster", "init")

    @staticmethod
    def run(member, *arguments):
        result = member.stage.run_tapedeck(*arguments, "--config", member.daemon.path)
        assert result.exit_code == 0, result.story()

    def apply(self, rooms):
        """Defines rooms, and waits until each has an owner."""
        path = self.stage.folder / "rooms.yaml"
        path.write_text(yaml.safe_dump({"rooms": rooms}))
        self.run(self.members["a"], "rooms", "apply", "-f", path)
        self.members["a"].daemon.wait_for("an owner of each room", lambda: all(
            owner and phase == "joined" for owner, _, phase in self.owners(self.members["a"]).values()))

    @staticmethod
    def owners(member):
        """Host, epoch and phase of each room, as a host sees them."""
        return {room["name"]: (room.get("host"), room.get("epoch"), room["phase"])
                for room in member.daemon.get("/v1/cluster")["rooms"]}

    def owner(self, room):
        return self.members[self.owners(self.members["a"])[room][0]]

    def others(self, *members):
        return [member for member in self.members.values() if member not in members]

    def lead(self, member):
        """Has the member of the etcd on a host lead it."""
        for each in self.members.values():
            status = each.ask("/v3/maintenance/status", {})
            if status["leader"] == status["header"]["member_id"] and each is not member:
                own = member.ask("/v3/maintenance/status", {})["header"]["member_id"]
                each.ask("/v3/maintenance/transfer-leadership", {"targetID": own})

    def wait_for_successors(self, rooms, witness, gone):
        """Waits until other hosts than one that is gone record its rooms; a host that is left tells which these are."""
        left = set(rooms)

        def are_there():
            for room, (host, _, _) in self.owners(witness).items():
                if room in left and host not in (None, gone.name) and self.members[host].units(room):
                    left.discard(room)
            return not left
        witness.daemon.wait_for("successors in all rooms", are_there)
