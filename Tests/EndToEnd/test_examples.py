# SPDX-License-Identifier: Apache-2.0
"""Every example of the help, and so of the manual pages, is run as it stands there.

Only what differs from host to host is replaced: addresses, folders, devices, names of recordings, and long times by short
ones.
"""

import json
import os
import pathlib
import re
import signal
import subprocess

import pytest
from recordings import interrupted, wait_for_media, wait_for_seconds
from stage import free_port

# `make test-all` runs them.
SLOW = ("tapedeck demo", "tapedeck doctor --capacity")
# test_uploads.py runs it: a recording must be at a remote first.
UPLOADED = ("fetch",)
CALLS = ("tapedeck", "record", "camera", "probe")
RECORDINGS = ("export", "verify", "recordings", "list", "show", "repair", "worker", "delete")
DAEMON = ("run", "events", "rooms", "rooms list", "status", "mark", "pause", "resume", "mute", "unmute", "freeze",
          "unfreeze", "switch", "stop", "start", "reload")
CLUSTER = ("cluster init", "rooms apply", "cluster adopt", "rooms get", "rooms delete")
MEMBER = ("cluster", "cluster status", "drain", "undrain")
ALONE = ("serve", "logs", "pipelines", "doctor", "replay", "rtsp-server", "demo")


def examples(binary):
    """The examples in the help of each command."""
    help_text = subprocess.run([binary, "--experimental-dump-help"], capture_output=True, check=True, text=True).stdout
    found = {}

    def collect(command, group=""):
        lines = (line.strip() for line in command.get("discussion", "").splitlines())
        name = command["commandName"]
        found[group + name] = [line.removeprefix("Example:").strip() for line in lines
                                         if line.startswith("Example:")]
        for sub in command.get("subcommands") or []:
            collect(sub, f"{name} " if name in ("rooms", "cluster") else "")
    collect(json.loads(help_text)["command"])
    return found


class World:
    """A folder in which examples run, and what is put in the place of what they name."""

    def __init__(self, stage, tapedeck_path):
        self.stage, self.binary = stage, str(tapedeck_path)
        self.examples = examples(self.binary)
        for folder in ("etc/pipelines/capture", "lib", "prometheus"):
            (stage.folder / folder).mkdir(parents=True)
        self.replaced = {
            "/etc/tapedeck": str(stage.folder / "etc"),
            "/var/lib/tapedeck": str(stage.folder / "lib"),
            "/var/lib/prometheus/node-exporter": str(stage.folder / "prometheus"),
            "/tmp/tapedeck-demo": str(stage.folder / "demo"),
            "sudo -u tapedeck ": "",
            # This host has none.
            "--send v4l2:/dev/video0 --send alsa:default": "--send test",
            "v4l2:/dev/video0": "test", "v4l2:/dev/video1": "test", "alsa:default": "test",
            "--duration 20s": "--duration 5s", "--duration 30s": "--duration 3s", "--duration 60s": "--duration 3s",
            "--duration 5m": "--duration 3s", "--count 20": "--count 2",
            "--from 1m30s": "--from 1s", "--to 00:05:00": "--to 00:00:02", "--from 2h": "--from 1s", "--to 3h": "--to 3s",
        }

    def serve(self, room_size=16):
        server = self.stage.serve("--room-size", room_size)
        (self.stage.folder / "standup.yaml").write_text(f"url: socketio+http://127.0.0.1:{server.port}/standup\nrecord: {{}}\n")
        self.replaced |= {
            "http://127.0.0.1:3000": f"http://127.0.0.1:{server.port}",
            "https://rtc.example.org": f"http://127.0.0.1:{server.port}",
        }
        return server

    def start(self, example, *more):
        for old, new in self.replaced.items():
            example = example.replace(old, new)
        line = " ".join([re.sub(r"^tapedeck\b", f"exec {self.binary}", example), *more])
        return self.stage.start("example", "bash", "-c", line)

    def run(self, example, *more, codes=(0,)):
        """Runs an example to its end."""
        process = self.start(example, *more)
        assert process.wait() in codes, f"{example}: {process.story()}"
        return process

    def run_until(self, example, sign, codes=(0,)):
        """Runs an example that has no end until it says something, and interrupts it."""
        process = self.start(example)
        process.wait_for(sign, lambda: sign in process.messages or sign in process.output)
        if sdp := re.search(r"sdp=(\S+)", example):
            process.wait_for(sdp[1], (self.stage.folder / sdp[1]).exists)
        process.signal(signal.SIGINT)
        assert process.wait() in codes, f"{example}: {process.story()}"
        return process


@pytest.fixture
def world(stage, tapedeck_path):
    return World(stage, tapedeck_path)


def test_every_command_has_an_example_that_is_run(world):
    groups = [*CALLS, *RECORDINGS, *UPLOADED, *DAEMON, *CLUSTER, *MEMBER, *ALONE]
    assert sorted(groups) == sorted(set(groups)) == sorted(name for name in world.examples if name != "help")
    assert all(world.examples[name] for name in groups), world.examples


@pytest.mark.parametrize("command", CALLS)
def test_examples_in_rooms(world, command):
    server = world.serve()
    rooms = {match for example in world.examples[command] for match in re.findall(r"(?:3000|example\.org)/(\w+)", example)}
    for room in rooms if command in ("tapedeck", "record") else ():
        world.stage.tapedeck("camera", f"socketio+http://127.0.0.1:{server.port}/{room}", "--size", "320x180")
    if command == "camera":
        encode = "-f lavfi -i testsrc2=size=160x120:rate=15 -f lavfi -i sine -t 2 -c:v libx264 -pix_fmt yuv420p -y talk.mp4"
        subprocess.run(["ffmpeg", "-v", "error", *encode.split()], cwd=world.stage.folder, check=True)
    for example in world.examples[command]:
        if "--duration" in example or command == "probe":
            # The score of a busy host says nothing.
            run = world.run(example, codes=(0, 6) if command == "probe" else (0,))
        else:
            # A recording that is interrupted within its first frames may lack one that had begun to come.
            sign, codes = ("recording started", (0, 5, 130)) if command == "record" else ("joined the room", (0, 130))
            run = world.run_until(example, sign, codes)
        if command == "probe":
            assert "score" in run.output.lower() or (world.stage.folder / "prometheus" / "room.prom").exists(), run.output
    if command == "record":
        assert (world.stage.folder / "call.mkv").stat().st_size > 0


def sign(recorded, folder):
    """Signs a certificate as the daemon does, with a key whose public part is in a folder."""
    secret, certificate = folder / "signing.pem", recorded / "certificate.txt"
    for arguments in (["genpkey", "-algorithm", "ed25519", "-out", secret],
                      ["pkey", "-in", secret, "-pubout", "-out", folder / "public.pem"],
                      ["pkeyutl", "-sign", "-rawin", "-inkey", secret, "-in", certificate, "-out", f"{certificate}.sig"]):
        subprocess.run(["openssl", *arguments], check=True, capture_output=True)


def test_examples_of_recordings(world):
    folder, server = world.stage.folder, world.serve()
    for room, flags in (("standup", ()), ("series", ("--segment", "2s", "--duration", "5s"))):
        url = f"socketio+http://127.0.0.1:{server.port}/{room}"
        camera = world.stage.tapedeck("camera", url, "--size", "320x180", "--codec", "h264")
        recorder = world.stage.tapedeck("record", url, "--directory", folder, "--codec", "h264", "--wait", "90s",
                                        *flags)
        if flags:
            assert recorder.wait() == 0, recorder.story()
        else:
            # Parts of it up to its fourth second are exported.
            wait_for_seconds(recorder, folder / "recordings" / room, 4)
            interrupted(recorder)
        camera.end()
    recorded, = (folder / "recordings" / "standup").iterdir()
    segment = min((folder / "recordings" / "series").iterdir())
    participant = json.loads((recorded / "manifest.json").read_text())["participants"][0]
    (folder / "etc" / "tapedeck.yaml").write_text(json.dumps({"storage": {"directory": str(folder)}, "rooms": {}}))
    identifier = recorded.name.split("-")[1]
    world.replaced |= {
        "/var/lib/tapedeck": str(folder),
        "20261121T031226Z-k3v9q2wtb4n50xjc": recorded.name,
        "k3v9 --series": f"{segment.name.split('-')[1]} --series",
        "k3v9q2wtb4n50xjc": identifier, "k3v9": identifier[:4],
        # Where the room server gave the name, it may begin with a hyphen.
        "--participant Alice": f"--participant={participant.get('name', participant['id'])}",
    }
    for command in RECORDINGS[:-1]:
        for example in world.examples[command]:
            if "--key" in example:
                sign(recorded, folder)
            world.run(example)
    for name in ("call.mkv", "call.mp4", "call-grid.mp4"):
        assert (folder / name).stat().st_size > 0
    assert list(recorded.glob("*.wav"))
    for example in world.examples["delete"]:
        world.run(example)
    assert not recorded.exists()


def test_examples_of_a_cluster(world):
    path, rooms = (world.stage.folder / name for name in ("etc/tapedeck.yaml", "rooms.yaml"))
    port = free_port()
    path.write_text(json.dumps({
        "storage": {"directory": str(world.stage.folder / "lib"), "minimum_free": "50MB"},
        "api": {"listen": f"127.0.0.1:{port}"},
        "cluster": {"name": "calls", "host": "a", "etcd": [world.stage.etcd()], "capacity": 1}}))
    rooms.write_text(json.dumps({"rooms": {"standup": {"url": "socketio+http://127.0.0.1:1/standup"}}}))
    for command in CLUSTER:
        for example in world.examples[command]:
            world.run(example, *(() if "--config" in example else ("--config", str(path))))
        if command == "rooms apply":
            world.run("tapedeck rooms apply -f rooms.yaml", "--config", str(path))
    example, = world.examples["run"]
    daemon = world.start(example)
    daemon.wait_for("the cluster", lambda: "the cluster answers" in daemon.messages)
    for command in MEMBER:
        for example in world.examples[command]:
            world.run(example, "--api", f"http://127.0.0.1:{port}")
    daemon.signal(signal.SIGINT)
    assert daemon.wait() == 0, daemon.story()


def test_examples_of_the_daemon(world):
    folder, server, port = world.stage.folder, world.serve(), free_port()
    api = f"http://127.0.0.1:{port}"
    world.replaced["http://127.0.0.1:8330"] = api
    room = {"url": f"socketio+http://127.0.0.1:{server.port}/standup", "send": {"capture": "test", "audio": "test"}}
    (folder / "etc" / "tapedeck.yaml").write_text(json.dumps({
        "storage": {"directory": str(folder / "lib"), "minimum_free": "50MB"}, "api": {"listen": f"127.0.0.1:{port}"},
        "workers": {"hang_limit": "60s"}, "rooms": {"standup": room}}))
    example, = world.examples["run"]
    daemon = world.start(example)
    camera = world.stage.tapedeck("camera", room["url"], "--size", "320x180")
    wait_for_media(daemon, folder / "lib")
    example, = world.examples["events"]
    events = world.start(example, "--api", api)
    for command in DAEMON[2:]:
        for example in world.examples[command]:
            world.run(example, *(() if "--api" in example else ("--api", api)))
    camera.end()
    events.wait_for("an event", lambda: "recording.finished" in events.output)
    events.signal(signal.SIGINT)
    daemon.signal(signal.SIGINT)
    assert daemon.wait() == 0, daemon.story()


def test_examples_that_need_nobody_else(world):
    folder = world.stage.folder
    (folder / "commands.jsonl").touch()
    (folder / "etc" / "tapedeck.yaml").write_text(json.dumps(
        {"storage": {"directory": str(folder / "lib")}, "rooms": {}}))
    world.replaced |= {"127.0.0.1:3000": f"127.0.0.1:{free_port()}", "0.0.0.0:5556": f"0.0.0.0:{free_port()}"}
    for command in ALONE:
        for example in world.examples[command]:
            if any(slow in example for slow in SLOW):
                continue
            if command == "serve":
                world.run_until(example, "http://")
            elif "tapedeck record" in example:
                world.run_until(example, "joined the room", (130,))
            elif command == "doctor":
                # It finds what it finds, and on a busy host something that seems to hang.
                run = world.run(example, codes=(0, 1, 2))
                assert run.process.returncode != 2 or "did not return within" in run.output, run.story()
            else:
                # There may be no journal.
                world.run(example, codes=(0, 2) if command == "logs" else (0,))
    assert "v4l2src" in (folder / "etc/pipelines/capture/door.yaml").read_text()
    assert os.path.getsize(folder / "call.jsonl") > 0


@pytest.mark.media
@pytest.mark.long
@pytest.mark.parametrize("slow", SLOW)
def test_examples_that_take_long(world, slow):
    example, = (line for lines in world.examples.values() for line in lines if slow in line)
    world.run(example)


def test_manual_pages_give_each_example_on_a_line_of_its_own(world):
    root = pathlib.Path(__file__).resolve().parents[2]
    subprocess.run([root / "systemd/debian/manual.py", "--binary", world.binary, "--output", world.stage.folder], check=True)
    page = (world.stage.folder / "manual" / "tapedeck-export.1").read_text()
    shown = page.split(".SH EXAMPLES")[1].split(".SH")[0]
    assert "Example:" not in shown
    assert shown.count("tapedeck export") == len(world.examples["export"])
