# SPDX-License-Identifier: Apache-2.0
"""The package on a bare Debian 12 that systemd has booted (systemd-nspawn, this host's network): what an operator does
from the README, what `systemctl status` says, an upgrade and a crash in mid-call. `make check-package` runs this."""

import os
import pathlib
import re
import signal
import subprocess
import sys
import time

import pytest
from debian import ROOT, bare_debian, name, run

sys.path.insert(0, str(ROOT / "Tests" / "EndToEnd"))
import media  # noqa: E402
from figures import assert_plays  # noqa: E402
from peers import room_url  # noqa: E402
from stage import Stage  # noqa: E402


class Machine:
    """A Debian that runs systemd."""

    def __init__(self, chroot):
        self.path = chroot.path
        chroot.install("systemd", "systemd-sysv", "dbus", "libpam-systemd")
        # A separate machine is not niced as these tests may be: libdispatch cannot go back to 0 there, and says so.
        self.process = subprocess.Popen(
            ["nice", "--adjustment", str(-os.nice(0)), "systemd-nspawn", "--boot", "--directory", self.path,
             "--register=no", "--keep-unit", "--resolv-conf=off", "--console=pipe"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.wait_for("a running system", lambda: self.leader() and self.start(
            "systemctl", "is-system-running").stdout.strip() in ("running", "degraded"))

    def leader(self):
        """The machine's first process, as this host numbers it."""
        found = subprocess.run(["pgrep", "--parent", str(self.process.pid)], capture_output=True, text=True).stdout.split()
        return found[0] if found else None

    def start(self, *command):
        return subprocess.run(
            ["nsenter", "--target", self.leader(), "--mount", "--uts", "--ipc", "--pid", "--cgroup", "--root", "--wd",
             "/usr/bin/env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LANG=C.UTF-8", "DEBIAN_FRONTEND=noninteractive",
             *map(str, command)], capture_output=True, text=True, timeout=600)

    def run(self, *command):
        result = self.start(*command)
        assert result.returncode == 0, f"{command}: {result.stdout[-3000:]}{result.stderr[-3000:]}"
        return result.stdout

    def journal(self):
        return self.run("journalctl", "--unit", "tapedeck", "--no-pager", "--output", "cat")

    def recordings(self, room):
        return sorted((self.path / "var/lib/tapedeck/recordings" / room).glob("*"))

    def tracks(self, room):
        return [track for folder in self.recordings(room) for track in folder.glob("tracks/*")]

    def configure(self, port, rooms):
        lines = ["storage: { directory: /var/lib/tapedeck }", "api: { listen: 127.0.0.1:8330 }", "rooms:"]
        lines += [f"  {room}: {{ url: 'socketio+http://127.0.0.1:{port}/{room}', record: {{ empty_after: 3s }} }}"
                  for room in rooms]
        (self.path / "etc/tapedeck/tapedeck.yaml").write_text("\n".join(lines) + "\n")
        self.run("systemctl", "reload", "tapedeck")

    def wait_for(self, what, is_there, seconds=60):
        deadline = time.monotonic() + seconds
        while not (found := is_there()):
            assert time.monotonic() < deadline, f"no {what} in {seconds} s"
            time.sleep(0.1)
        return found

    def wait_for_exports(self, room, count=1):
        return self.wait_for(f"export of {room}", lambda: len(
            found := [folder / "call.mkv" for folder in self.recordings(room) if (folder / "call.mkv").exists()]
        ) >= count and found)

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


@pytest.fixture(scope="module")
def machine(packages):
    chroot = bare_debian(packages, "service")
    machine = Machine(chroot)
    yield machine
    machine.end()
    run("rm", "-rf", "--one-file-system", chroot.path)


@pytest.fixture
def stage(tmp_path):
    stage = Stage(tmp_path, str(ROOT / ".build" / "debug" / "tapedeck"))
    yield stage
    assert stage.finish() == [], stage.stories()


# In this order: each test continues where the one before it ended.


def test_the_service_starts_by_itself(machine, packages):
    machine.run("apt-get", "-q", "-y", "install", "--no-install-recommends", name(packages[0]))
    status = machine.run("systemctl", "status", "tapedeck", "--no-pager")
    assert "active (running)" in status and "in 0 of 0 rooms" in status
    # libdispatch's own thread asks for nice -4. Where the machine may not grant what the unit allows, each of the two
    # processes of a start says so once; no queue of ours asks for more than it may have.
    limits = machine.run("sh", "-c", "cat /proc/$(systemctl show --property MainPID --value tapedeck)/limits")
    is_granted = re.search(r"Max nice priority +24", limits) is not None
    assert machine.journal().count("thread priority") <= (0 if is_granted else 2), machine.journal()


def test_two_listed_rooms_are_recorded_and_exported_without_another_command(machine, stage):
    server = stage.room_server(5)
    machine.configure(server.port, ["standup", "retro"])
    machine.wait_for("two joined rooms", lambda: "in 2 of 2 rooms" in machine.run("systemctl", "status", "tapedeck"))
    browser = stage.browser(server, "standup", "--send")
    peer = stage.aiortc(server, "retro", "--send", "synthetic")
    machine.wait_for("two recordings", lambda: "2 recording" in machine.run("systemctl", "status", "tapedeck"))
    time.sleep(5)
    browser.end()
    peer.end()
    for room in ("standup", "retro"):
        exported, = machine.wait_for_exports(room)
        assert_plays(exported)
        kinds = sorted(stream["codec_type"] for stream in media.streams(exported))
        assert kinds == ["audio", "video"], media.describe(exported)
        assert exported.stat().st_mode & 0o777 == 0o640 and exported.parent.stat().st_mode & 0o777 == 0o750


def test_an_upgrade_and_a_crash_in_mid_call_lose_no_recording(machine, stage, packages):
    server = stage.room_server(5)
    machine.configure(server.port, ["upgraded"])
    camera = stage.tapedeck("camera", room_url(server, "upgraded"), "--duration", "120s", "--json", "--size", "320x180")
    machine.wait_for("tracks", lambda: len(machine.tracks("upgraded")) == 2)
    machine.run("apt-get", "-q", "-y", "install", "--no-install-recommends", name(packages[1]))
    machine.wait_for("tracks of the new version", lambda: len(machine.tracks("upgraded")) == 4)
    time.sleep(2)
    machine.run("systemctl", "kill", "--kill-whom=main", "--signal=KILL", "tapedeck")
    machine.wait_for("tracks after the crash", lambda: len(machine.tracks("upgraded")) == 6)
    time.sleep(2)
    camera.end()
    machine.wait_for("exports", lambda: all((folder / "call.mkv").exists() for folder in machine.recordings("upgraded")))
    for folder in machine.recordings("upgraded"):
        assert_plays(folder / "call.mkv")
        # The sandbox lets it know the run of the kernel, by which parts are on one clock.
        assert '"boot":"' in (folder / "journal.jsonl").read_text()
    assert "recording.repaired" in machine.journal()


def test_it_stops_and_goes(machine):
    machine.run("systemctl", "stop", "tapedeck")
    assert "inactive" in machine.start("systemctl", "is-active", "tapedeck").stdout
    machine.run("apt-get", "-q", "-y", "purge", "tapedeck")
    assert not pathlib.Path(machine.path / "var/lib/tapedeck").exists()
