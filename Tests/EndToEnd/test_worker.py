# SPDX-License-Identifier: Apache-2.0
"""`tapedeck worker`, driven as the supervisor does: JSON lines on standard input and output."""

import base64
import json
import pathlib
import re
import signal
import struct
import subprocess
import time

import media
import pytest
from figures import assert_plays
from peers import room_url
from stage import LIMIT, decoders, free_port, json_objects


class Worker:
    """A worker process and what it said."""

    def __init__(self, stage):
        self.stage, self.storage = stage, stage.folder / "storage"
        self.process = stage.tapedeck("worker")
        self.specs, self.revision = {}, 0
        self.event("ready")

    def send(self, command, value=None, **values):
        self.write(json.dumps({command: values if value is None else {"_0": value}}) + "\n")

    def write(self, text):
        self.process.process.stdin.write(text.encode())
        self.process.process.stdin.flush()

    def join(self, server, room, *, empty=2, record=True, **values):
        order = {"name": room, "url": room_url(server, room), "displayName": "recorder", "storage": str(self.storage),
                 "ice": {"servers": [], "hostAddresses": ["127.0.0.1"]}, **values}
        if record:
            order["record"] = {"isAutomatic": True, "video": True, "audio": True, "emptyAfterSeconds": empty,
                               **(record if isinstance(record, dict) else {})}
        self.be(room, **order)
        self.event("joined", room)

    def be(self, room, **values):
        """Has the room be as before but for these values; returns the revision."""
        self.revision += 1
        self.specs[room] = {**self.specs.get(room, {}), **values}
        self.write(json.dumps({"be": {"_0": self.specs[room], "revision": self.revision}}) + "\n")
        return self.revision

    def wait_for_revision(self, room, revision):
        return self.process.wait_for(f"revision {revision}", lambda: self.status(room).get("revision", 0) >= revision
                                     and self.status(room))

    def events(self, name, room=None):
        found = [fact[name] for fact in self.process.facts if name in fact]
        return [value for value in found if room is None or value.get("room") == room]

    def event(self, name, room=None, count=1, timeout=LIMIT):
        """The event of that name, the `count`th of its room."""
        return self.process.wait_for(f"{name} {count} of {room}", lambda: self.events(name, room)[count - 1:count],
                                     timeout)[0]

    def status(self, room):
        return (self.events("status", room) or [{"_1": {}}])[-1]["_1"]

    def units(self, room, kind="video"):
        return sum(track["units"] for track in self.status(room).get("tracks", ())
                   if track["kind"] == kind and track["open"])

    def grows(self, room, kind="video", by=15):
        """Waits until so many more units of the room's open tracks are written."""
        before = self.units(room, kind)
        self.process.wait_for(f"more {kind}", lambda: self.units(room, kind) >= before + by)

    def started(self, room, count=1):
        return self.event("recordingStarted", room, count)["_1"]

    def finished(self, room, count=1):
        return self.event("recordingFinished", room, count)

    def end(self):
        self.process.process.stdin.close()
        return self.process.wait()


def camera(stage, server, room, *flags):
    return stage.tapedeck("camera", room_url(server, room), "--size", "320x180", "--fps", "15", "--bitrate", "200k",
                          "--host-address", "127.0.0.1", "--json", *flags)


def journal(folder):
    return json_objects((pathlib.Path(folder) / "journal.jsonl").read_text().splitlines())


def kinds(folder):
    return [record["kind"] for record in journal(folder)]


def exported(stage, folder, name="call.mkv", *flags):
    """The exported file and the report of `tapedeck export`."""
    output = stage.folder / name
    export = stage.run_tapedeck("export", folder, "--output", output, "--json", *flags)
    assert export.exit_code == 0, export.story()
    return output, export.result()


def test_records_one_call_after_the_other(stage):
    server, worker = stage.serve(), Worker(stage)
    worker.join(server, "daily")
    first = camera(stage, server, "daily")
    one = worker.started("daily")
    worker.grows("daily")
    assert first.end() == 0
    assert worker.finished("daily")["reason"] == "empty"
    assert worker.status("daily")["joined"]
    second = camera(stage, server, "daily")
    two = worker.started("daily", 2)
    assert one["folder"] != two["folder"]
    worker.grows("daily")
    assert second.end() == 0
    worker.finished("daily", 2)
    assert worker.end() == 0
    for recording in one, two:
        assert kinds(recording["folder"])[-1] == "recording-finished"
        output, report = exported(stage, recording["folder"], recording["id"] + ".mkv")
        assert report["complete"], report
        assert_plays(output)
    firsts = worker.events("firstUnit", "daily")
    assert {event["kind"] for event in firsts} == {"video", "audio"}
    for event in firsts:
        assert set(event["parts"]) == {"answer", "ice", "dtls", "packet", "file"}
        assert min(event["parts"].values()) >= 0
        assert abs(sum(event["parts"].values()) - event["milliseconds"]) < 0.001


def test_orders_while_media_flow(stage):
    server, worker = stage.serve(), Worker(stage)
    worker.join(server, "orders", empty=60)
    camera(stage, server, "orders")
    one = worker.started("orders")
    worker.grows("orders")
    worker.send("mark", room="orders", text="decision")

    def recording(wish):
        return worker.wait_for_revision("orders", worker.be("orders", recording=wish))["recordingState"]
    assert recording("paused") == "paused"
    time.sleep(3)
    assert recording("on") == "recording"
    worker.grows("orders")

    assert recording("off") == "off"
    assert worker.finished("orders")["_1"]["id"] == one["id"]
    assert recording("on") in ("waiting", "recording")
    two = worker.started("orders", 2)
    worker.grows("orders")
    worker.send("requestKeyframe", room="orders", participant=None)
    worker.send("leave", room="orders")
    assert worker.event("left", "orders")["_1"] == {"ordered": {}}
    assert worker.end() == 0
    assert not worker.events("commandFailed"), worker.events("commandFailed")

    markers = [record["name"] for record in journal(one["folder"]) if record["kind"] == "marker"]
    # It says so itself where it did not get the processor for long.
    markers = [name for name in markers if name != "stalled"]
    assert markers == ["mark", "paused", "resumed"]
    output, report = exported(stage, one["folder"])
    assert_plays(output)
    # The files stayed open over the pause, and the time in them is true.
    assert [track["kind"] for track in report["tracks"]] == ["video", "audio"]
    assert all(track["gaps"] == 0 for track in report["tracks"]), report
    video, = media.streams(output, "video")
    times = [packet.time for packet in media.packets(output, video["index"])]
    longest = max(after - before for before, after in zip(times, times[1:]))
    paused, resumed = (record["at"] / 1e9 for record in journal(one["folder"])
                       if record.get("name") in ("paused", "resumed"))
    # Video comes again with the next keyframe, whenever that is.
    assert longest > (resumed - paused) / 2, (longest, resumed - paused)
    again, _ = exported(stage, two["folder"], "two.mkv")
    assert_plays(again)


def test_goes_on_after_a_kill_as_the_next_part(stage):
    server, worker = stage.serve(), Worker(stage)
    worker.join(server, "crash", empty=60)
    camera(stage, server, "crash")
    recording = worker.started("crash")
    worker.grows("crash", by=30)
    worker.process.kill()
    killed = time.clock_gettime(time.CLOCK_MONOTONIC)
    time.sleep(2)

    second = Worker(stage)
    second.join(server, "crash", empty=60, continues=recording["folder"])
    reference = second.started("crash")
    assert reference == {**recording, "part": 2}
    second.grows("crash", by=30)
    assert second.end() == 0
    assert second.finished("crash")["_1"] == reference

    records = journal(recording["folder"])
    parts = [record for record in records if record["kind"] in ("recording-started", "part-started")]
    assert [part["kind"] for part in parts] == ["recording-started", "part-started"]
    assert parts[0]["boot"] == parts[1]["boot"]
    output, report = exported(stage, recording["folder"])
    assert_plays(output)
    assert report["verdict"] == "complete-with-gaps", "the first part was cut off"
    assert [track["kind"] for track in report["tracks"]] == ["video", "audio"], report
    _, report = exported(stage, recording["folder"], "apart.mkv", "--separate-tracks")
    video = sorted((track for track in report["tracks"] if track["kind"] == "video"), key=lambda t: t["startSeconds"])
    assert len(video) == 2
    gap = video[1]["startSeconds"] - (video[0]["startSeconds"] + video[0]["durationSeconds"])
    opened = [record["at"] for record in records if record["kind"] == "track-opened" and record["media"] == "video"]
    apart = (opened[1] - opened[0]) / 1e9
    assert gap > 1, report
    assert video[1]["startSeconds"] - video[0]["startSeconds"] == pytest.approx(
        apart, abs=(opened[1] / 1e9 - killed) / 2), (apart, report)
    manifest = json.loads((pathlib.Path(recording["folder"]) / "manifest.json").read_text())
    assert [part["number"] for part in manifest["parts"]] == [1, 2]

    # A finished recording does not continue: the next media start another.
    third = Worker(stage)
    third.join(server, "crash", continues=recording["folder"])
    assert "finished" in third.event("commandFailed", "crash")["reason"]
    assert third.started("crash")["id"] != recording["id"]
    assert third.end() == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, None])
def test_ends_well(stage, number):
    server, worker = stage.serve(), Worker(stage)
    worker.join(server, "end")
    camera(stage, server, "end")
    recording = worker.started("end")
    worker.grows("end")
    for ignored in signal.SIGINT, signal.SIGHUP:
        worker.process.signal(ignored)
    worker.grows("end")
    if number:
        worker.process.signal(number)
        assert worker.process.wait() == 0
    else:
        assert worker.end() == 0
    assert worker.events("left", "end")[-1]["_1"] == {"ordered": {}}
    assert kinds(recording["folder"])[-1] == "recording-finished"


def test_a_terminal_that_is_closed_ends_no_worker(stage):
    """The supervisor reads its configuration again then, and continues."""
    worker = Worker(stage)
    worker.process.signal(signal.SIGHUP)
    beats = len(worker.events("heartbeat"))
    worker.process.wait_for("more heartbeats", lambda: len(worker.events("heartbeat")) >= beats + 2)
    assert worker.end() == 0


def test_garbage_does_no_harm(stage):
    server, worker = stage.serve(), Worker(stage)
    worker.join(server, "noise")
    camera(stage, server, "noise")
    worker.started("noise")
    garbage = ["nonsense", "{}", '{"be":{"_0":{},"revision":1}}', '{"leave":{}}', "\0\1", "x" * (2 << 20), '{"x":1']
    for line in garbage:
        worker.write(line + "\n")
    worker.process.wait_for("answers", lambda: len(worker.events("commandFailed")) == len(garbage))
    worker.grows("noise")
    assert worker.end() == 0


def keyframe(worker, room, participant):
    """The last keyframe. Before one comes, the worker says so after 3 s, and this asks again."""
    deadline = time.monotonic() + LIMIT
    while True:
        failures = len(worker.events("commandFailed", room))
        worker.send("thumbnail", room=room, participant=participant)
        worker.process.wait_for("an answer", lambda: (
            worker.events("keyframe") or worker.events("commandFailed", room)[failures:]))
        if found := worker.events("keyframe"):
            return found[0]["_2"]
        reason = worker.events("commandFailed", room)[-1]["reason"]
        assert re.search("no frame|did not return", reason) and time.monotonic() < deadline, reason


def test_stills_and_graphs(stage):
    server, worker = stage.serve(), Worker(stage)
    worker.join(server, "look", record=False)
    camera(stage, server, "look")
    participant = worker.event("participantJoined", "look")["participant"]
    worker.process.wait_for("media", lambda: worker.status("look").get("tracks"))
    part = keyframe(worker, "look", participant)
    coded = base64.b64decode(part["base64"])
    assert part["codec"] == "vp8" and len(coded) == part["keyframeBytes"]
    job = subprocess.run([stage.tapedeck_path, "worker", "--still", "vp8"], input=coded, capture_output=True, timeout=LIMIT)
    assert job.returncode == 0, job.stderr
    path = stage.folder / "still.jpg"
    path.write_bytes(job.stdout)
    picture, = media.probe(path)["streams"]
    assert (picture["codec_name"], picture["width"], picture["height"]) == ("mjpeg", 320, 180)
    # Data that are no frame, or claim to be a huge one, are no image.
    for wrong in (b"", coded[:20], coded[:6] + struct.pack("<HH", 16383, 16383) + coded[10:]):
        job = subprocess.run([stage.tapedeck_path, "worker", "--still", "vp8"], input=wrong, capture_output=True,
                             timeout=LIMIT)
        assert (job.returncode, job.stdout) == (5, b""), job.stderr
    worker.send("graph", room="look")
    graph = worker.event("graph", "look")
    assert graph["dot"].startswith("digraph") and "webrtcbin" in graph["dot"]
    failures = len(worker.events("commandFailed", "look"))
    worker.send("thumbnail", room="look", participant="nobody")
    assert "no frame" in worker.event("commandFailed", "look", failures + 1)["reason"]
    assert not decoders(worker.process.process.pid)
    assert not worker.events("recordingStarted")
    assert worker.end() == 0


def test_sends_from_a_word_on(stage):
    server, worker, other = stage.serve(), Worker(stage), Worker(stage)
    worker.join(server, "show", record=False)
    other.join(server, "show")
    order = {"video": "test", "audio": "test", "preferredCodec": "vp8", "width": 320, "height": 180,
             "framesPerSecond": 15, "bitsPerSecond": 200_000}
    worker.be("show", send=order)
    other.started("show")
    other.grows("show")
    # A peer that sends for the first time joins again: the other one saw it leave, if it was there before.
    left = other.events("participantLeft")
    # Another capture replaces the first before the same encoder, and an unknown one changes nothing: no one leaves the
    # room. Orders are carried out one after the other.
    worker.wait_for_revision("show", worker.be("show", send={**order, "parameters": {"pattern": "ball"}}))
    status = worker.wait_for_revision("show", worker.be("show", send={**order, "video": "nothing"}))
    assert "no capture \"nothing\"" in status["refused"]["send"]
    assert "no capture \"nothing\"" in worker.event("commandFailed", "show")["reason"]
    other.grows("show")
    assert other.events("participantLeft") == left and len(worker.events("commandFailed")) == 1
    worker.be("show", send={**order, "width": 640, "height": 360})
    other.process.wait_for("the new size", lambda: any(track.get("width") == 640 and track["open"]
                                                       for track in other.status("show")["tracks"]))
    worker.be("show", send=None)
    other.process.wait_for("nobody", lambda: not any(track["open"] for track in other.status("show")["tracks"]))
    assert worker.end() == 0
    assert other.end() == 0


def test_a_server_out_of_reach_is_waited_for(stage):
    port, worker = free_port(), Worker(stage)
    order = {"name": "later", "url": f"socketio+http://127.0.0.1:{port}/later", "displayName": "r",
             "storage": str(worker.storage), "ice": {"servers": [], "hostAddresses": ["127.0.0.1"]}}
    worker.be("later", **order)
    worker.event("notJoined", "later")
    again = stage.tapedeck("serve", "--listen", f"127.0.0.1:{port}", "--json")
    again.wait_for_port()
    worker.event("joined", "later")
    assert worker.end() == 0


@pytest.mark.long
def test_eight_rooms_in_one_worker(stage):
    server, worker = stage.serve(), Worker(stage)
    rooms = [f"room-{number}" for number in range(8)]
    for room in rooms:
        worker.join(server, room, empty=60)
        camera(stage, server, room, "--video", "none")
    recordings = {room: worker.started(room) for room in rooms}
    for room in rooms:
        worker.grows(room, "audio", by=50)
    worker.send("leave", room="room-3")
    worker.event("left", "room-3")
    worker.grows("room-4", "audio", by=50)
    assert worker.end() == 0
    assert len({recording["folder"] for recording in recordings.values()}) == 8
    for recording in recordings.values():
        assert kinds(recording["folder"])[-1] == "recording-finished"


@pytest.mark.parametrize(("codec", "suffix", "media_type"), [("vp8", ".webm", "video/webm"),
                                                            ("h264", ".mp4", "video/mp4")])
def test_export_jobs(stage, codec, suffix, media_type):
    server, worker = stage.serve(), Worker(stage)
    worker.join(server, "job")
    peer = camera(stage, server, "job", "--codec", codec)
    folder = worker.started("job")["folder"]
    worker.grows("job", by=45)
    assert peer.end() == 0
    worker.finished("job")
    assert worker.end() == 0
    # As a job leaves them that is killed while it writes, and while it remuxes.
    for left in (".browser.partial", ".browser.partial.tracks"):
        (pathlib.Path(folder) / left).write_bytes(bytes(20_000))
    job = stage.run_export(folder, layout="browser")
    assert job.exit_code == 0, job.story()
    result = job.facts[-1]["finished"]["_0"]
    assert result["output"] == f"{folder}/browser{suffix}" and result["mediaType"] == media_type
    assert any("progress" in fact for fact in job.facts)
    assert [(stream["codec_type"], stream["codec_name"]) for stream in media.streams(result["output"])] == [
        ("video", codec), ("audio", "opus")]
    assert_plays(pathlib.Path(result["output"]))
    part = stage.run_export(folder, layout="browser", to=1)
    assert part.exit_code == 0, part.story()
    assert part.facts[-1]["finished"]["_0"]["output"] == f"{folder}/browser-to-1s{suffix}"
    assert sorted(path.name for path in pathlib.Path(folder).glob("*browser*")) == [
        f"browser-to-1s{suffix}", f"browser{suffix}"]
    failed = stage.run_export(folder, participant="nobody")
    assert failed.exit_code == 2 and "failed" in failed.facts[-1], failed.story()
