# SPDX-License-Identifier: Apache-2.0
"""The cost of the daemon: `make figures OF=daemon`.

Printed, as the operating system counts it, one run each; compare only figures of one run:
  idle       memory and CPU of the supervisor with 50 rooms configured, none joined
  joined     the same with 50 rooms joined and empty, ten rooms a worker
  reload     seconds until a changed configuration of 500 rooms is in force
  interface  milliseconds of GET /v1/rooms while 30 rooms record audio (ten rooms a worker; sending video into 30 rooms
             needs more than two cores)
  rejoin     seconds from the end of one of eight workers until media of its room are written again
"""

import argparse
import json
import os
import pathlib
import signal
import subprocess
import tempfile
import time
import urllib.request

from process import cpu_seconds, holdings

ROOT = pathlib.Path(__file__).resolve().parents[2]


class Daemon:
    def __init__(self, tapedeck, folder, rooms, **sections):
        self.path = pathlib.Path(folder) / "tapedeck.yaml"
        self.sections = {"storage": {"directory": str(pathlib.Path(folder) / "storage")},
                         "api": {"listen": "127.0.0.1:0", "requests_per_second": 10000}, **sections}
        self.write(rooms)
        self.process = subprocess.Popen([tapedeck, "run", "--config", self.path, "--json", "--log-level", "error"],
                                        stdout=subprocess.PIPE, text=True)
        self.url = json.loads(self.process.stdout.readline())["api"]

    def write(self, rooms):
        temporary = self.path.with_suffix(".new")
        temporary.write_text(json.dumps({**self.sections, "rooms": rooms}))
        temporary.replace(self.path)

    def get(self, path, method="GET"):
        request = urllib.request.Request(self.url.rstrip("/") + path, method=method)
        with urllib.request.urlopen(request, timeout=60) as answer:
            body = answer.read()
        return json.loads(body) if body else None

    def wait(self, is_there, seconds=90):
        deadline = time.monotonic() + seconds
        while not is_there(self.get("/v1/rooms")["rooms"]):
            assert time.monotonic() < deadline, "the rooms did not come to that state"
            time.sleep(0.5)

    def cost(self, seconds):
        used, began = cpu_seconds(self.process.pid), time.monotonic()
        time.sleep(seconds)
        share = (cpu_seconds(self.process.pid) - used) / (time.monotonic() - began)
        memory = holdings(self.process.pid)
        return (f"{memory['proportional'] / 1e3:.1f} MB proportional, {memory['anonymous'] / 1e3:.1f} MB anonymous, "
                f"{share * 100:.2f} % of one core")

    def end(self):
        self.process.terminate()
        self.process.wait(60)


def on_demand(count, suffix=""):
    return {f"room{number}": {"url": f"socketio+http://127.0.0.1:9/r{number}{suffix}", "join": "on-demand"}
            for number in range(count)}


def rooms_of_a_server(tapedeck, count):
    """A room server, and the URLs of so many of its rooms by name."""
    server = subprocess.Popen([tapedeck, "serve", "--listen", "127.0.0.1:0", "--json"], stdout=subprocess.PIPE, text=True)
    port = json.loads(server.stdout.readline())["port"]
    return server, {f"room{number}": f"socketio+http://127.0.0.1:{port}/r{number}" for number in range(count)}


def sound_into(tapedeck, urls):
    return [subprocess.Popen([tapedeck, "camera", url, "--video", "none"], stdout=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL) for url in urls]


def end(processes):
    for process in processes:
        process.terminate()
    for process in processes:
        process.wait(30)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tapedeck", default=str(ROOT / ".build/release/tapedeck"))
    parser.add_argument("--seconds", type=int, default=30, help="length of each measurement")
    parser.add_argument("--rooms", type=int, default=30, help="rooms that record while the interface is asked")
    options = parser.parse_args()

    with tempfile.TemporaryDirectory() as folder:
        daemon = Daemon(options.tapedeck, folder, on_demand(50))
        time.sleep(3)
        print(f"idle, 50 rooms: {daemon.cost(options.seconds)}", flush=True)
        daemon.end()

    with tempfile.TemporaryDirectory() as folder:
        daemon = Daemon(options.tapedeck, folder, on_demand(500))
        daemon.write(on_demand(500, "x"))
        began = time.monotonic()
        daemon.get("/v1/reload", "POST")
        print(f"reload of 500 changed rooms: {time.monotonic() - began:.2f} s", flush=True)
        daemon.end()

    with tempfile.TemporaryDirectory() as folder:
        server, urls = rooms_of_a_server(options.tapedeck, 50)
        daemon = Daemon(options.tapedeck, folder, {name: {"url": url} for name, url in urls.items()},
                        workers={"rooms_per_worker": 10})
        daemon.wait(lambda rooms: all(room["phase"] == "joined" for room in rooms))
        print(f"joined, 50 rooms: {daemon.cost(options.seconds)}", flush=True)
        senders = sound_into(options.tapedeck, list(urls.values())[:options.rooms])
        daemon.wait(lambda rooms: sum(
            room["status"]["recordingState"] == "recording" for room in rooms) >= options.rooms)
        took = []
        ending = time.monotonic() + options.seconds
        while time.monotonic() < ending:
            began = time.monotonic()
            daemon.get("/v1/rooms")
            took.append((time.monotonic() - began) * 1000)
            time.sleep(0.02)
        took.sort()
        print(f"interface, {options.rooms} rooms recording: median {took[len(took) // 2]:.1f} ms, "
              f"99 % {took[int(len(took) * 0.99)]:.1f} ms, worst {took[-1]:.1f} ms of {len(took)}", flush=True)
        end(senders)
        daemon.end()
        end([server])

    with tempfile.TemporaryDirectory() as folder:
        server, urls = rooms_of_a_server(options.tapedeck, 8)
        daemon = Daemon(options.tapedeck, folder, {name: {"url": url} for name, url in urls.items()})
        daemon.wait(lambda rooms: all(room["phase"] == "joined" for room in rooms))
        senders = sound_into(options.tapedeck, urls.values())

        def is_written(room, part):
            recording = room["status"].get("recording") or {}
            return recording.get("part") == part and any(track["units"] for track in room["status"]["tracks"])
        daemon.wait(lambda rooms: all(is_written(room, 1) for room in rooms))
        os.kill(daemon.get("/v1/rooms/room3")["worker"]["processID"], signal.SIGKILL)
        began = time.monotonic()
        while not is_written(daemon.get("/v1/rooms/room3"), 2):
            time.sleep(0.02)
        print(f"rejoin after the end of one of eight workers: {time.monotonic() - began:.2f} s", flush=True)
        end(senders)
        daemon.end()
        end([server])


if __name__ == "__main__":
    main()
