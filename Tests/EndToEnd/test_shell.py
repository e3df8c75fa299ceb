# SPDX-License-Identifier: Apache-2.0
"""The daemon's commands: orders, events, deleting, and their messages about mistyped input."""

import json
import pathlib
import subprocess

import pytest
from daemon import Daemon
from peers import room_url
from stage import LIMIT, free_port


def camera(stage, server, room):
    return stage.tapedeck("camera", room_url(server, room), "--size", "320x180", "--json")


class Shell:
    """A daemon on the port of its configuration, and commands that find it there."""

    def __init__(self, stage, rooms, **sections):
        self.stage = stage
        self.daemon = Daemon(stage, rooms, api={"listen": f"127.0.0.1:{free_port()}"}, **sections)

    def run(self, *arguments):
        return self.stage.run_tapedeck(*arguments, "--config", self.daemon.path)

    def say(self, *arguments):
        """The output of a command that succeeds: one line."""
        process = self.run(*arguments)
        assert process.exit_code == 0 and process.output.count("\n") == 0, process.whole_story()
        return process.output

    def refused(self, *arguments, code=2):
        process = self.run(*arguments)
        assert process.exit_code == code and not process.output, process.whole_story()
        return process.messages


def test_a_room_is_recorded_by_orders(stage):
    server = stage.serve()
    shell = Shell(stage, {"standup": {"url": room_url(server, "one"), "join": "on-demand", "record": {"empty_after": "1s"}}})
    daemon = shell.daemon
    lines = stage.tapedeck("events", "--config", daemon.path)
    events = stage.tapedeck("events", "--config", daemon.path, "--json")
    daemon.wait_for("two streams", lambda: "tapedeck_event_stream_subscribers 2" in daemon.metrics())
    camera(stage, server, "one")

    found = []
    for orders in (("pause", "resume"), ()):
        assert shell.say("start", "standup").startswith("standup: ")
        recording = daemon.wait_for_recording("standup")["status"]["recording"]["id"]
        found.append(recording)
        for order in orders:
            said = shell.say(order, "standup")
            assert said == ("standup: recording paused" if order == "pause" else f"standup: recording {recording}")
        assert shell.say("mark", "standup", "here") == 'standup: marked "here"'
        assert json.loads(shell.say("start", "standup", "--json"))["status"]["recordingState"] == "recording"
        assert "in progress" in shell.refused("recordings", "delete", recording)
        assert shell.say("stop", "standup") == "standup: recording stopped"
        daemon.wait_for_export("standup", count=len(found))

    def kinds(name):
        return [event["recording"] for event in events.facts if event["kind"] == name]
    events.wait_for("both finished", lambda: kinds("recording.finished") == found)
    assert kinds("recording.paused") == kinds("recording.resumed") == found[:1], events.story()
    marks = [event for event in events.facts if event["kind"] == "recording.marked"]
    assert [(event["recording"], event["details"]) for event in marks] == [(id, {"text": "here"}) for id in found], marks
    left = events.wait_for("its going", lambda: [event for event in events.facts if event["kind"] == "room.left"])
    assert {event["details"]["reason"] for event in left} == {"stopped by request"}, left
    table = shell.run("recordings").output.splitlines()
    assert [line.split()[0] for line in table] == ["ID", *found] and all("finished" in line for line in table[1:]), table

    # By its daemon, which reports it; where one is wrong, nothing is deleted.
    first, second = found
    assert "nothing was deleted" in shell.refused("recordings", "delete", second, "nonsense")
    assert shell.say("recordings", "delete", first[:8]) == f"deleted {first}"
    events.wait_for("its event", lambda: kinds("recording.deleted") == [first])
    assert [each["id"] for each in daemon.recordings()] == [second]
    # The stream continues in another connection, and ends with the daemon.
    shown = lines.wait_for("the line", lambda: [line for line in lines.output.splitlines() if "recording.deleted" in line])
    assert first in shown[0] and first not in lines.messages, shown
    assert daemon.process.end() == 0, daemon.process.story()
    for follower in (lines, events):
        assert follower.wait() == 3 and "no daemon answers" in follower.messages, follower.story()
    # Without a daemon, by the command.
    assert json.loads(shell.say("recordings", "delete", second, "--json")) == {"deleted": second}
    assert not list((daemon.storage / "recordings" / "standup").iterdir())


def test_what_was_meant_is_suggested(stage):
    server = stage.serve()
    shell = Shell(stage, {"standup": {"url": room_url(server, "one"), "join": "on-demand"}})
    for command in ("start", "stop", "pause", "resume", "mark", "mute", "freeze"):
        assert "there is no room named stndup; did you mean standup?" in shell.refused(command, "stndup")
    assert "there are: standup" in shell.refused("start", "entirely-different")
    assert "not in the room" in shell.refused("pause", "standup")
    for arguments, meant in ((("recrod",), "did you mean record?"), (("help", "statsu"), "did you mean status?"),
                             (("recordings", "delet"), "did you mean recordings delete?"),
                             (("recordings", "k3v9"), "there are: recordings list")):
        process = stage.run_tapedeck(*arguments)
        assert process.exit_code == 2 and meant in process.messages, process.story()


def test_logs_are_what_journalctl_says(stage, tapedeck_path):
    """In a namespace where journald seems to run; journalctl is one that prints its arguments."""
    program = stage.folder / "bin" / "journalctl"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\necho \"$@\"\n")
    program.chmod(0o755)
    prepared = "mount -t tmpfs none /run && mkdir -p /run/systemd/journal && touch /run/systemd/journal/socket"
    unshared = ["unshare", "--mount", "--map-root-user", "sh", "-c"]
    if subprocess.run([*unshared, prepared], capture_output=True).returncode:
        pytest.skip("this account can make no namespace")

    def said(*arguments):
        command = f"{prepared} && PATH={program.parent}:$PATH exec {tapedeck_path} logs {' '.join(arguments)}"
        return subprocess.run([*unshared, command], capture_output=True, text=True, check=True).stdout.strip()
    usual = "--unit tapedeck --lines 200"
    assert said() == f"{usual} --no-pager"
    assert said("--follow") == said("-f") == f"{usual} --follow --no-pager"
    assert said("--json") == f"{usual} --output json --no-pager"
    program.unlink()
    process = subprocess.run([*unshared, f"{prepared} && PATH={program.parent} exec {tapedeck_path} logs"],
                             capture_output=True, text=True)
    assert process.returncode == 2 and "journalctl cannot be run" in process.stderr, process.stderr


def test_logs_are_those_of_the_journal(stage):
    if pathlib.Path("/run/systemd/journal/socket").exists():
        pytest.skip("journald runs here")
    process = stage.run_tapedeck("logs")
    assert process.exit_code == 2 and "journald does not run here" in process.messages, process.story()


def test_every_problem_of_a_configuration_is_told_at_once(stage):
    file, path = stage.folder / "file", stage.folder / "wrong.yaml"
    file.write_text("x")
    path.write_text(f"storage: {{ directory: {file} }}\nworkers: {{ export_jobs: 0 }}\nrooms:\n  r:\n"
                    "    url: socketio+http://h/1\n    send: { capture: tset, fps: 100 }\n")
    keys = ["workers.export_jobs", "rooms.r.send.capture", "rooms.r.send.fps", "storage.directory"]
    process = stage.run_tapedeck("run", "--check", "--config", path)
    assert process.exit_code == 2 and all(f": {key}: " in process.messages for key in keys), process.whole_story()
    assert f"{path}:1:12: storage.directory: " in process.messages, process.whole_story()
    process = stage.run_tapedeck("run", "--check", "--json", "--config", path)
    assert process.exit_code == 2 and [fact["key"] for fact in process.facts] == keys, process.whole_story()
    assert len(process.output.splitlines()) == len(keys), process.whole_story()
    path.write_text("rooms: { r: { url: socketio+http://h/1 } }\nstorage: { directory: " + str(stage.folder) + " }\n")
    assert stage.run_tapedeck("run", "--check", "--config", path).output == f"{path}: no problem, 1 room"


def test_a_daemon_whose_port_is_taken_records_nothing(stage):
    server = stage.serve()
    rooms = {"standup": {"url": room_url(server, "one"), "record": {"empty_after": "1s"}}}
    first = Shell(stage, {}).daemon
    path = stage.folder / "second.yaml"
    storage = stage.folder / "second"
    path.write_text(json.dumps({**first.sections, "storage": {"directory": str(storage), "minimum_free": "50MB"}, "rooms": rooms}))
    second = stage.tapedeck("run", "--config", path, "--json", "--log-level", "info")
    second.wait_for("its warning", lambda: "nothing is recorded before" in second.messages, LIMIT)
    assert "Address already in use" in second.messages and "errno" not in second.messages, second.whole_story()
    # A worker would have been there long before a command has come and gone.
    assert stage.run_tapedeck("status", "--once", "--config", path).exit_code == 0
    assert "worker.started" not in second.messages, second.whole_story()
    assert first.process.end() == 0, first.process.story()
    second.wait_for("its room", lambda: "room.joined" in second.messages, LIMIT)
    assert any("api" in fact for fact in second.facts), second.whole_story()
