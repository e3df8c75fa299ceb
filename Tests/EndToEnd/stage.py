# SPDX-License-Identifier: Apache-2.0
"""Starts and ends the processes of a test, and keeps what they print."""

import contextlib
import copy
import json
import itertools
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
import uuid

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Options of a sending recorder that does not take much of the processor.
SEND = ("--room", ROOT / "Tests" / "EndToEnd" / "small.yaml")
PEERS = ROOT / "Tests" / "Peers"
sys.path.insert(0, str(PEERS))
import janus_configuration  # noqa: E402

MARK = "TAPEDECK_TEST_RUN"
# No wait is this long except for something that hangs.
LIMIT = 90
# Below the kernel's automatic ports (ip_local_port_range); each worker of pytest-xdist has a thousand.
PORTS = 20000 + 1000 * int((re.findall(r"\d+", os.environ.get("PYTEST_XDIST_WORKER", "")) or [8])[0])
# Another checkout's tests may run at the same time.
OFFSETS = itertools.count(os.getpid() * 7)


def python(venv):
    path = ROOT / ".venv" / venv / "bin" / "python"
    assert path.exists(), f"{path} is missing: run Tests/Peers/make_venvs.sh"
    return str(path)


def free_port():
    """A port without a listener that the kernel does not assign to other programs."""
    for offset in itertools.islice(OFFSETS, 1000):
        port = PORTS + offset % 1000
        with contextlib.suppress(OSError), socket.socket() as probe:
            probe.bind(("127.0.0.1", port))
            return port
    raise AssertionError(f"every port from {PORTS} to {PORTS + 999} is taken")


def json_objects(lines):
    """The JSON objects among lines of text; a line that is being written is none yet."""
    found = []
    for line in lines:
        with contextlib.suppress(ValueError):
            value = json.loads(line)
            if isinstance(value, dict):
                found.append(value)
    return found


def decoders(process):
    """The libraries with decoders of video that a process has loaded."""
    return re.findall(r"\S*lib(?:vpx|avcodec|openh264|gstlibav|gstvpx)\S*", pathlib.Path(f"/proc/{process}/maps").read_text())


def dropped_datagrams():
    """How many datagrams the kernel has thrown away on this host, for their reader did not get the processor in time."""
    found = 0
    with contextlib.suppress(OSError):
        names, values = (line.split() for line in pathlib.Path("/proc/net/snmp").read_text().splitlines()
                         if line.startswith("Udp:"))
        found += int(dict(zip(names, values)).get("RcvbufErrors", 0))
        for line in pathlib.Path("/proc/net/snmp6").read_text().splitlines():
            if line.startswith("Udp6RcvbufErrors"):
                found += int(line.split()[1])
    return found


class Running:
    """A process whose standard output is read line by line, and whose standard error goes to a file."""

    # Where its port is, if it is a server.
    address = "127.0.0.1"

    def __init__(self, name, command, environment, folder, beside):
        self.name, self.command = name, [str(part) for part in command]
        # What ends it with the test.
        self.end_signal = signal.SIGTERM
        # All processes of the same test.
        self.beside = beside
        self.lines, self.changed = [], threading.Condition()
        self.dropped_before = dropped_datagrams()
        self.errors = pathlib.Path(tempfile.mkstemp(prefix=f"{name}-", suffix=".err", dir=folder)[1])
        with self.errors.open("wb") as errors:
            self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors,
                                            env=environment, start_new_session=True, cwd=folder)
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            with self.changed:
                self.lines.append(line.decode(errors="replace").rstrip("\n"))
                self.changed.notify_all()
        with self.changed:
            self.changed.notify_all()

    @property
    def has_work(self):
        """Whether one of its threads wants the processor, or waits for a disk: it is not done with what came."""
        for task in pathlib.Path(f"/proc/{self.process.pid}/task").glob("*/stat"):
            with contextlib.suppress(OSError):
                if task.read_text().rsplit(")", 1)[1].split()[0] in "RD":
                    return True
        return False

    @property
    def output(self):
        with self.changed:
            return "\n".join(self.lines)

    @property
    def messages(self):
        return self.errors.read_text(errors="replace")

    @property
    def facts(self):
        """The JSON objects printed so far, one a line; other lines are left out."""
        with self.changed:
            lines = list(self.lines)
        return json_objects(lines)

    def event(self, name):
        """The last fact with this event; None if there is none yet."""
        return next((fact for fact in reversed(self.facts) if fact.get("event") == name), None)

    def results(self):
        """The JSON objects of a command with --json: one on several lines, or one on each line, as a series has them."""
        with contextlib.suppress(ValueError):
            value = json.loads(self.output.strip())
            if isinstance(value, dict):
                return [value]
        assert self.facts, f"no JSON object on standard output\n{self.story()}"
        return self.facts

    def result(self):
        """The last of them."""
        return self.results()[-1]

    def wait_for(self, what, is_there, timeout=LIMIT):
        """Waits until `is_there()` gives something true, and returns it."""
        deadline = time.monotonic() + timeout
        while True:
            # Looked at first: its last words may come between.
            ended = self.process.poll() is not None and not self.reader.is_alive()
            if value := is_there():
                return value
            assert not ended, f"{self.name} ended before {what}: {self.story()}"
            assert time.monotonic() < deadline, f"no {what} from {self.name} in {timeout} s: {self.story()}"
            with self.changed:
                self.changed.wait(0.05)

    def wait_for_event(self, name, timeout=LIMIT):
        return self.wait_for(f"event {name!r}", lambda: self.event(name), timeout)

    def wait_for_port(self):
        """The port a server of ours says it listens on."""
        return self.wait_for("port", lambda: next((fact for fact in self.facts if "port" in fact), None), LIMIT)["port"]

    def tell(self, command):
        """Writes a line to standard input."""
        self.process.stdin.write(f"{command}\n".encode())
        self.process.stdin.flush()

    def figures(self, *names):
        """The counts of a foreign peer until now under these names, of all its connections together."""
        return tuple(map(sum, zip(*self.each_figure(*names)))) or (0,) * len(names)

    def each_figure(self, *names):
        """The same of each connection."""
        def answers():
            return [fact for fact in self.facts if fact.get("event") == "stats"]
        count = len(answers())
        self.tell("stats")
        connections = self.wait_for("figures", lambda: answers()[count:])[0]["connections"]
        return [tuple(figures.get(name) or 0 for name in names) for figures in connections]

    def wait_for_figure(self, name, least, timeout=LIMIT):
        """Waits until a foreign peer has counted so many; returns how many it were then."""
        deadline = time.monotonic() + timeout
        while (value := self.figures(name)[0]) < least:
            assert time.monotonic() < deadline, f"{name} is {value}, not {least}, after {timeout} s: {self.story()}"
            time.sleep(0.1)
        return value

    def wait(self, timeout=LIMIT):
        """Waits for the end and returns the exit code."""
        try:
            code = self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"{self.name} did not end in {timeout} s: {self.story()}") from None
        self.reader.join(30)
        return code

    def signal(self, number):
        with contextlib.suppress(ProcessLookupError):
            self.process.send_signal(number)

    def end(self, timeout=LIMIT):
        """Asks the process to end, and waits for it."""
        if self.process.poll() is None:
            self.signal(signal.SIGTERM)
        return self.wait(timeout)

    def kill(self):
        """SIGKILL to the process and its group."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(LIMIT)

    def story(self):
        """One line for the message of a failed assertion: the report has the whole story."""
        said = (self.messages.strip() or self.output.strip()).splitlines()
        return f"{self.name}, exit code {self.process.poll()}, said last: {said[-1][:200] if said else 'nothing'}"

    def whole_story(self, lines=25):
        errors = "\n".join(line[:500] for line in self.messages.splitlines()[-lines:])
        # A test that waits for a figure adds many of these lines.
        told = [line for line in self.output.splitlines() if not line.startswith('{"event": "stats"')]
        output = "\n".join(line[:500] for line in told[-lines:])
        return (f"--- {self.name}, exit code {self.process.poll()}: {' '.join(self.command)}\n"
                f"standard output:\n{output}\nstandard error:\n{errors}\n")


class Stage:
    """The processes of one test."""

    def __init__(self, folder, tapedeck):
        self.folder, self.tapedeck_path = pathlib.Path(folder), tapedeck
        self.mark = uuid.uuid4().hex
        self.running = []
        self.has_told = False
        self.host = None

    def at(self, host):
        """This stage as a host of a network has it: what it starts runs there."""
        there = copy.copy(self)
        there.host = host
        return there

    def entered(self):
        """Has this thread where the host is, for connections that it makes."""
        return self.host.entered() if self.host else contextlib.nullcontext()

    def start(self, name, *command, secrets=None):
        """Starts a process; `secrets` are variables of its environment."""
        command = self.host.inside(*command) if self.host else command
        environment = {**os.environ, MARK: self.mark, "PYTHONUNBUFFERED": "1", **(secrets or {})}
        process = Running(name, command, environment, self.folder, self.running)
        self.running.append(process)
        return process

    # Foreign servers and peers.

    def room_server(self, version, *flags):
        """The room server on python-socketio 5 or 4; has `port`."""
        venv = f"socketio{version}"
        # python-engineio 3 ends a polling session that has nothing to say for this long.
        patience = ("--ping-timeout", "300") if version == 4 else ()
        server = self.start(venv, python(venv), PEERS / "socketio_room_server.py", *patience, *flags)
        server.port = server.wait_for_port()
        server.eio = 4 if version == 5 else 3
        return server

    def etcd(self):
        """An etcd with one member; its URL."""
        url, peer = (f"http://127.0.0.1:{free_port()}" for _ in range(2))
        self.await_etcd(self.start_etcd("m", url, peer, f"m={peer}"))
        return url

    def etcd_folder(self, name, url):
        """Where a member of an etcd has its data."""
        return self.folder / f"etcd-{name}-{url.rpartition(':')[2]}"

    def start_etcd(self, name, url, peer, members, *flags):
        """A member of an etcd, which may wait for others."""
        member = self.start("etcd", "etcd", "--name", name, "--data-dir", self.etcd_folder(name, url), "--unsafe-no-fsync",
                            "--listen-client-urls", url, "--advertise-client-urls", url, "--listen-peer-urls", peer,
                            "--initial-advertise-peer-urls", peer, "--initial-cluster", members, *flags)
        # In order it does not end without the others.
        member.end_signal = signal.SIGKILL
        return member

    @staticmethod
    def await_etcd(member):
        member.wait_for("its clients' port", lambda: "ready to serve client requests" in member.messages)

    def members(self, server, room, count, timeout=LIMIT):
        """Waits until so many members are in a room of `room_server`."""
        def have_joined():
            sids = set()
            for fact in json_objects(server.messages.splitlines()):
                if fact.get("room") == room and fact["event"] == "join":
                    sids.add(fact["sid"])
                elif fact["event"] in ("leave", "disconnect"):
                    sids.discard(fact["sid"])
            return len(sids) >= count
        server.wait_for(f"{count} members in room {room}", have_joined, timeout)

    def browser(self, server, room, *flags, transport="websocket"):
        """Chromium in a room; returns when it has joined."""
        peer = self.start("chromium", python("peers"), PEERS / "browser_peer.py", "--url",
                          f"http://127.0.0.1:{server.port}", "--room", room, "--eio", server.eio, "--transport",
                          transport, *flags)
        peer.wait_for_event("joined")
        return peer

    def aiortc(self, server, room, *flags, transport="websocket", program="aiortc_peer.py"):
        """aiortc in a room; returns when it has joined."""
        peer = self.start("aiortc", python("peers"), PEERS / program, "--url",
                          f"http://{server.address}:{server.port}", "--room", room, "--eio", server.eio, "--transport",
                          transport, *flags)
        peer.wait_for_event("joined")
        return peer

    def whip_endpoint(self, *flags, port=0):
        """A WHIP and WHEP endpoint; has `port`."""
        endpoint = self.start("whip-endpoint", python("peers"), PEERS / "whip_endpoint.py", "--port", port, *flags)
        endpoint.port = endpoint.wait_for_port()
        return endpoint

    def janus(self, rooms, reclaim_seconds=0, is_lite=False):
        """Debian's Janus with these VideoRooms; has `port` (WebSocket) and `http_port`. `restart` starts another."""
        ports = free_port(), free_port()
        folder = self.folder / f"janus-{ports[0]}"
        return self.start_janus(janus_configuration.command(folder, *ports, rooms, reclaim_seconds, is_lite=is_lite), *ports)

    def start_janus(self, command, port, http_port):
        server = self.start("janus", *command)
        server.port, server.http_port = port, http_port

        def answers():
            with contextlib.suppress(OSError):
                with urllib.request.urlopen(f"http://127.0.0.1:{http_port}/janus/info", timeout=2) as answer:
                    return json.load(answer)["version_string"]
            return None
        server.version = server.wait_for("an answer", answers, LIMIT)
        return server

    def restart_janus(self, server):
        """Kills a Janus and starts it again on the same ports."""
        server.kill()
        return self.start_janus(server.command, server.port, server.http_port)

    def janus_peer(self, server, room, display, *flags):
        """aiortc in a VideoRoom; returns when it has joined."""
        peer = self.start(f"peer-{display}", python("peers"), PEERS / "janus_peer.py", "--url",
                          f"http://127.0.0.1:{server.http_port}/janus", "--room", room, "--display", display, *flags)
        peer.wait_for_event("joined", LIMIT)
        return peer

    # Tapedeck.

    def tapedeck(self, *arguments, secrets=None):
        """Starts it; a camera sends at a fixed rate, for a busy machine is no narrow network: those are test_rate.py's."""
        if arguments[0] == "camera" and "--bitrate" not in arguments:
            arguments += "--bitrate", "1500k"
        return self.start(f"tapedeck-{arguments[0]}", self.tapedeck_path, *arguments, secrets=secrets)

    def room(self, text):
        """The flag that has a command read the rest of its room from YAML."""
        file = pathlib.Path(tempfile.mkstemp(prefix="room-", suffix=".yaml", dir=self.folder)[1])
        file.write_text(text)
        return "--room", file

    def run_tapedeck(self, *arguments, timeout=LIMIT, secrets=None):
        process = self.tapedeck(*arguments, secrets=secrets)
        process.exit_code = process.wait(timeout)
        return process

    def start_export(self, folder, secrets=None, **spec):
        """An export job, as the daemon starts it; `spec` has the keys of a request's body."""
        job = self.tapedeck("worker", "--export", folder, secrets=secrets)
        job.tell(json.dumps({"protocolVersion": 2, "spec": {"layout": "tracks", **spec}}))
        return job

    def run_export(self, folder, secrets=None, **spec):
        job = self.start_export(folder, secrets, **spec)
        job.exit_code = job.wait()
        return job

    def serve(self, *flags, address=Running.address):
        """The embedded room server; has `port`, speaks Engine.IO 4 to our peers."""
        server = self.tapedeck("serve", "--listen", f"{address}:0", "--json", *flags)
        server.address, server.port, server.eio = address, server.wait_for_port(), 4
        return server

    # The end.

    def left_over(self):
        """Processes with our mark that still run, other than the ones started here."""
        found = []
        for folder in pathlib.Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if f"{MARK}={self.mark}".encode() not in (folder / "environ").read_bytes():
                    continue
                if (folder / "stat").read_text().rsplit(")", 1)[1].split()[0] == "Z":
                    continue
                found.append((int(folder.name), (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode()[:120]))
        return found

    def finish(self):
        """Ends the running processes; returns those that had to be ended, or left something behind, as sentences."""
        complaints = []
        for process in reversed(self.running):
            if process.process.poll() is None:
                process.signal(process.end_signal)
        for process in reversed(self.running):
            try:
                process.process.wait(60)
            except subprocess.TimeoutExpired:
                complaints.append(f"{process.name} did not end on SIGTERM")
                process.kill()
            process.reader.join(5)
            process.process.stdin.close()
        # Children of Chromium need a moment to see that their parent is gone.
        deadline = time.monotonic() + 60
        while (left := self.left_over()) and time.monotonic() < deadline:
            time.sleep(0.1)
        for pid, command in left:
            complaints.append(f"left running: {pid} {command}")
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        return complaints

    def stories(self):
        return "\n".join(process.whole_story() for process in self.running)
