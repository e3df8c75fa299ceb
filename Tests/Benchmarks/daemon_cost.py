# SPDX-License-Identifier: Apache-2.0
"""What the daemon costs: `make daemon-figures`.

Printed, as the operating system counts it, one run each; compare only figures of one run:
  idle       memory and CPU of the supervisor with 50 rooms configured, none joined
  joined     the same with 50 rooms joined and nobody there, ten rooms a worker
  reload     seconds until a changed configuration of 500 rooms is in force
  interface  milliseconds of GET /v1/rooms while 30 rooms record sound (ten rooms a worker; sending pictures into 30 rooms
             needs more than two cores)
"""

import argparse
import json
import os
import pathlib
import subprocess
import tempfile
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
TICKS = os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGE_SIZE")


def cpu_seconds(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def resident_megabytes(pid):
    return int(pathlib.Path(f"/proc/{pid}/statm").read_text().split()[1]) * PAGE / 1e6


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
        return f"{resident_megabytes(self.process.pid):.1f} MB, {share * 100:.2f} % of one core"

    def end(self):
        self.process.terminate()
        self.process.wait(60)


def on_demand(count, suffix=""):
    return {f"room{number}": {"url": f"socketio+http://127.0.0.1:9/r{number}{suffix}", "join": "on-demand"}
            for number in range(count)}


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
        server = subprocess.Popen([options.tapedeck, "serve", "--listen", "127.0.0.1:0", "--json"],
                                  stdout=subprocess.PIPE, text=True)
        port = json.loads(server.stdout.readline())["port"]
        urls = {f"room{number}": f"socketio+http://127.0.0.1:{port}/r{number}" for number in range(50)}
        daemon = Daemon(options.tapedeck, folder, {name: {"url": url} for name, url in urls.items()},
                        workers={"rooms_per_worker": 10})
        daemon.wait(lambda rooms: all(room["phase"] == "joined" for room in rooms))
        print(f"joined, 50 rooms: {daemon.cost(options.seconds)}", flush=True)
        senders = [subprocess.Popen([options.tapedeck, "camera", url, "--video", "none"], stdout=subprocess.DEVNULL,
                                    stderr=subprocess.DEVNULL) for url in list(urls.values())[:options.rooms]]
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
        for sender in senders:
            sender.terminate()
        for sender in senders:
            sender.wait(30)
        daemon.end()
        server.terminate()
        server.wait(30)


if __name__ == "__main__":
    main()
