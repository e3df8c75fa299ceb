# SPDX-License-Identifier: Apache-2.0
"""The receivers that `make bench` gives the same work to: each takes calls, and names the files that came of them."""

import contextlib
import json
import os
import pathlib
import socket
import subprocess
import sys
import threading
import time
import urllib.request

import daemon_cost
from process import family
from programs import Talker, build, free_port, free_ports

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "Tests" / "Peers"))
import janus_configuration  # noqa: E402

PATIENCE = 30


def cpu_of(command, folder):
    """Runs a command; the CPU seconds of it and its children."""
    with (folder / "after.err").open("ab") as errors:
        process = subprocess.Popen([str(part) for part in command], stdout=subprocess.DEVNULL, stderr=errors)
        _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{command[0]} ended with {process.returncode}; see {errors.name}")
    return usage.ru_utime + usage.ru_stime


def call_by_tcp(port, offer):
    """Calls a room that waits for bare TCP calls; the connection and the answer."""
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            connection = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)
            break
        except ConnectionRefusedError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)
    connection.sendall(json.dumps({"event": "offer", "sdp": offer}).encode() + b"|")
    buffer = b""
    while part := connection.recv(65536):
        *messages, buffer = (buffer + part).split(b"|")
        for message in map(json.loads, messages):
            if message["event"] == "answer":
                return connection, message["sdp"]
    raise RuntimeError(f"who waits at port {port} has hung up")


class Receiver:
    """One of them: `answer` takes a call, `finish` ends all."""

    pid = None

    def __init__(self, setting):
        self.setting, self.folder = setting, setting.folder

    def processes(self):
        """The process and its children."""
        return family(self.pid)

    def finish(self):
        """Ends the calls and the processes."""

    def files(self):
        """The files that came of the calls, once they are playable, and the CPU seconds that took."""
        return sorted(self.folder.glob("*.mkv")), 0


class Tapedeck(Receiver):
    """The daemon; callers come by bare TCP, each to a separate room."""

    rooms_per_worker = 64
    record = {"export": []}

    def __init__(self, setting):
        super().__init__(setting)
        self.ports = free_ports(setting.rooms)
        rooms = {f"room{number}": {"url": f"lan+tcp://127.0.0.1:{port}?listen", "record": self.record}
                 for number, port in enumerate(self.ports)}
        self.daemon = daemon_cost.Daemon(setting.tapedeck, self.folder, rooms,
                                         workers={"rooms_per_worker": self.rooms_per_worker})
        self.pid = self.daemon.process.pid
        self.connections = []

    def answer(self, number, offer):
        connection, answer = call_by_tcp(self.ports[number], offer)
        self.connections.append(connection)
        return answer

    def finish(self):
        self.daemon.end()
        for connection in self.connections:
            connection.close()

    def files(self):
        """The result of each recording's export; nothing is transcoded."""
        paths, spent = [], 0
        for journal in sorted(self.folder.glob("storage/recordings/*/*/journal.jsonl")):
            path = self.folder / f"{len(paths)}.mkv"
            command = [self.setting.tapedeck, "export", journal.parent, "--keep-damaged", "--output", path]
            spent += cpu_of(command, self.folder)
            paths.append(path)
        return paths, spent


class TapedeckWorkers(Tapedeck):
    """The same with a worker process for each room, as it is without further settings."""

    rooms_per_worker = 1


class TapedeckReceiving(Tapedeck):
    """The same with a shared worker and without an order to record: the cost of receiving alone."""

    record = {"export": [], "automatic": False}

    def finish(self):
        rooms = [self.daemon.get(f"/v1/rooms/room{number}") for number in range(self.setting.rooms)]
        tracks = [track for room in rooms for track in room["status"]["tracks"]]
        if len(tracks) != 2 * len(rooms):
            raise RuntimeError(f"{len(tracks)} tracks came to {len(rooms)} rooms")
        self.lost = sum(track["lostPackets"] for track in tracks)
        super().finish()

    def lost_packets(self):
        return self.lost


class Janus(Receiver):
    """Debian's Janus: a VideoRoom for each caller, recorded to .mjr; janus-pp-rec makes files of that."""

    first_room = 1000

    def __init__(self, setting):
        super().__init__(setting)
        rooms = {self.first_room + number: {"publishers": 1, "record": True, "rec_dir": str(self.folder),
                                            "videocodec": setting.media.codec, "audiocodec": "opus"}
                 for number in range(setting.rooms)}
        self.url = f"http://127.0.0.1:{(port := free_port())}/janus"
        command = janus_configuration.command(self.folder / "configuration", free_port(), port, rooms)
        self.process = subprocess.Popen([str(part) for part in command], stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL)
        self.pid = self.process.pid
        deadline = time.monotonic() + PATIENCE
        while True:
            with contextlib.suppress(OSError):
                self.path = f"/{self.request('', 'create')['data']['id']}"
                break
            if time.monotonic() > deadline:
                raise RuntimeError("Janus does not answer")
            time.sleep(0.1)
        self.has_ended = threading.Event()
        self.keeper = threading.Thread(target=self.keep_alive, daemon=True)
        self.keeper.start()

    def http(self, path, body=None):
        request = urllib.request.Request(self.url + path, json.dumps(body).encode() if body else None)
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            return json.load(answer)

    def request(self, path, kind, **members):
        answer = self.http(path, {"janus": kind, "transaction": "bench", **members})
        if answer["janus"] == "error":
            raise RuntimeError(f"Janus: {kind}: {answer['error']}")
        return answer

    def keep_alive(self):
        while not self.has_ended.wait(20):
            self.request(self.path, "keepalive")

    def answer(self, number, offer):
        handle = self.request(self.path, "attach", plugin="janus.plugin.videoroom")["data"]["id"]
        self.request(f"{self.path}/{handle}", "message", jsep={"type": "offer", "sdp": offer, "trickle": False},
                     body={"request": "joinandconfigure", "room": self.first_room + number, "ptype": "publisher"})
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            # Other events are about calls that are up.
            event = self.http(f"{self.path}?maxev=1")
            if event.get("sender") == handle and "jsep" in event:
                return event["jsep"]["sdp"]
        raise RuntimeError("Janus does not answer an offer")

    def finish(self):
        self.has_ended.set()
        self.keeper.join()
        self.request(self.path, "destroy")
        # The files are closed when it has let go of every caller.
        time.sleep(2)
        self.process.terminate()
        self.process.wait(PATIENCE)

    def files(self):
        paths, spent = [], 0
        suffix = {"vp8": ".webm", "h264": ".mp4"}[self.setting.media.codec]
        for recording in sorted(self.folder.glob("*.mjr")):
            path = recording.with_suffix(suffix if "-video-" in recording.name else ".opus")
            spent += cpu_of(["janus-pp-rec", recording, path], self.folder)
            paths.append(path)
        return paths, spent


class Program(Receiver):
    """A program that takes offers on its standard input."""

    def __init__(self, setting):
        super().__init__(setting)
        self.talker = Talker(self.command(), self.folder)
        self.pid = self.talker.process.pid

    def answer(self, number, offer):
        return self.talker.answer(offer)

    def finish(self):
        self.last = self.talker.end()


class Floor(Program):
    """What no recorder can leave out, in one thread of C; nothing can play its files."""

    def command(self):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            # webrtcbin sends nothing over the loopback interface. No packet goes to this address of no host (RFC 5737).
            probe.connect(("192.0.2.1", 9))
            address, _ = probe.getsockname()
        program = build("floor_receiver", self.setting.sender.parent, ["libssl", "libcrypto"])
        return [program, self.folder, self.setting.certificate, address]

    def packets(self):
        """How many authentic RTP packets came."""
        return int(self.last)


class WebRTCBin(Program):
    """webrtcbin, and every track ends in a fakesink: no file."""

    def command(self):
        return [self.setting.receiver]

    def packets(self):
        """How many RTP packets came out."""
        return int(self.last)


class Muxer(Program):
    """webrtcbin and matroskamux."""

    def command(self):
        return [self.setting.receiver, self.folder]


class Aiortc(Program):
    """aiortc's MediaRecorder, which transcodes."""

    def command(self):
        return [ROOT / ".venv/peers/bin/python", pathlib.Path(__file__).with_name("aiortc_receiver.py"), self.folder]


RECEIVERS = {"tapedeck": Tapedeck, "tapedeck-workers": TapedeckWorkers,
             "tapedeck-receiving": TapedeckReceiving, "janus": Janus, "floor": Floor,
             "webrtcbin": WebRTCBin, "matroskamux": Muxer, "aiortc": Aiortc}
