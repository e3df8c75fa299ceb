# SPDX-License-Identifier: Apache-2.0
"""The cost of a cluster, and how long its rooms are without a host: `make figures OF=cluster`.

Three daemons and one etcd on this machine. Printed, one run each:
  idle       memory and CPU of each supervisor with 1000 rooms defined, none joined, and the writes to etcd in that time
  take-over  seconds from the SIGKILL of a supervisor that has a third of 12 recorded rooms until another host records them all
  drain      seconds from `drain` of such a host until it has no room, and until others record them all
"""

import argparse
import json
import pathlib
import socket
import subprocess
import tempfile
import time
import urllib.request

from daemon_cost import Daemon, end, rooms_of_a_server, sound_into

ROOT = pathlib.Path(__file__).resolve().parents[2]
HOSTS = ("a", "b", "c")


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Etcd:
    def __init__(self, folder):
        self.url, peers = (f"http://127.0.0.1:{free_port()}" for _ in range(2))
        self.process = subprocess.Popen(
            ["etcd", "--name", "m", "--data-dir", str(pathlib.Path(folder) / "etcd"), "--listen-client-urls", self.url,
             "--advertise-client-urls", self.url, "--listen-peer-urls", peers, "--initial-advertise-peer-urls", peers,
             "--initial-cluster", f"m={peers}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        until(lambda: self.revision() is not None)

    def revision(self):
        """The number of writes so far; None while it does not answer."""
        try:
            request = urllib.request.Request(f"{self.url}/v3/kv/range", data=b'{"key": "AA=="}', method="POST")
            with urllib.request.urlopen(request, timeout=5) as answer:
                return int(json.loads(answer.read())["header"]["revision"])
        except OSError:
            return None


def until(is_so, seconds=90):
    """Waits until something is so; how long that took."""
    began = time.monotonic()
    while not is_so():
        assert time.monotonic() - began < seconds, "it did not come to that"
        time.sleep(0.02)
    return time.monotonic() - began


class Cluster:
    def __init__(self, tapedeck, folder, rooms, capacity):
        self.tapedeck, self.etcd = tapedeck, Etcd(folder)
        self.folder, self.capacity, self.daemons = pathlib.Path(folder), capacity, {}
        for name in HOSTS:
            self.start(name)
            if name == HOSTS[0]:
                self.command("cluster", "init")
        path = self.folder / "rooms.yaml"
        path.write_text(json.dumps({"rooms": rooms}))
        self.command("rooms", "apply", "-f", path)
        until(lambda: sum(len(self.rooms(name)) for name in HOSTS) == len(rooms))

    def start(self, name):
        folder = self.folder / name
        folder.mkdir(exist_ok=True)
        self.daemons[name] = Daemon(self.tapedeck, folder, {}, cluster={
            "name": "calls", "host": name, "etcd": [self.etcd.url], "capacity": self.capacity})

    def command(self, *arguments):
        subprocess.run([self.tapedeck, *arguments, "--config", self.daemons[HOSTS[0]].path], check=True,
                       stdout=subprocess.DEVNULL)

    def rooms(self, name):
        return self.daemons[name].own_rooms()

    def recorded(self, names):
        return {room["name"] for name in names for room in self.rooms(name)
                if room["status"]["recordingState"] == "recording" and any(
                    track["units"] for track in room["status"]["tracks"])}

    def end(self):
        for daemon in self.daemons.values():
            daemon.end()
        end([self.etcd.process])


def idle(options, folder):
    rooms = {f"room{number}": {"url": f"socketio+http://127.0.0.1:9/r{number}", "join": "on-demand"}
             for number in range(options.rooms)}
    cluster = Cluster(options.tapedeck, folder, rooms, options.rooms)
    time.sleep(5)
    before = cluster.etcd.revision()
    for name in HOSTS:
        print(f"idle, {len(rooms)} rooms defined, {len(cluster.rooms(name))} on {name}: "
              f"{cluster.daemons[name].cost(options.seconds)}", flush=True)
    print(f"idle, writes to etcd in {len(HOSTS) * options.seconds} s: {cluster.etcd.revision() - before}", flush=True)
    cluster.end()


def moves(options, folder):
    server, urls = rooms_of_a_server(options.tapedeck, 12)
    cluster = Cluster(options.tapedeck, folder, {name: {"url": url} for name, url in urls.items()}, 12)
    senders = sound_into(options.tapedeck, urls.values())
    until(lambda: cluster.recorded(HOSTS) == set(urls))
    took = []
    for round in range(options.kills):
        name = max(HOSTS, key=lambda name: len(cluster.rooms(name)))
        others = [other for other in HOSTS if other != name]
        had = {room["name"] for room in cluster.rooms(name)}
        cluster.daemons[name].process.kill()
        took.append(until(lambda: cluster.recorded(others) >= had))
        cluster.daemons[name].process.wait()
        cluster.start(name)
    if took:
        took.sort()
        print(f"take-over of what a killed supervisor had: median {took[len(took) // 2]:.1f} s, 95 % "
              f"{took[min(len(took) - 1, int(len(took) * 0.95))]:.1f} s, longest {took[-1]:.1f} s of {len(took)}", flush=True)
    name = max(HOSTS, key=lambda name: len(cluster.rooms(name)))
    others = [other for other in HOSTS if other != name]
    had = {room["name"] for room in cluster.rooms(name)}
    began = time.monotonic()
    subprocess.run([options.tapedeck, "drain", "--wait", "--deadline", "1s", "--api", cluster.daemons[name].url],
                   check=True, stdout=subprocess.DEVNULL)
    gone = time.monotonic() - began
    until(lambda: cluster.recorded(others) >= had)
    print(f"drain of {len(had)} rooms: none is left after {gone:.1f} s, all are recorded elsewhere after "
          f"{time.monotonic() - began:.1f} s", flush=True)
    end(senders)
    cluster.end()
    end([server])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tapedeck", default=str(ROOT / ".build/release/tapedeck"))
    parser.add_argument("--seconds", type=int, default=30, help="length of each measurement")
    parser.add_argument("--rooms", type=int, default=1000, help="rooms that are defined while none is joined")
    parser.add_argument("--kills", type=int, default=10, help="supervisors that are killed, one after the other")
    options = parser.parse_args()
    for figure in (idle, moves):
        with tempfile.TemporaryDirectory() as folder:
            figure(options, folder)


if __name__ == "__main__":
    main()
