# SPDX-License-Identifier: Apache-2.0
"""`tapedeck run`: rooms by configuration, workers that die, reload, shutdown."""

import os
import pathlib
import shutil
import signal
import subprocess
import time

import media
import pytest
from daemon import WHOLE, Daemon, family, heaps
from figures import A_FEW, AUDIO_PACKET, MAXIMUM_LOST, assert_plays
from peers import lateness, room_url
from stage import LIMIT, dropped_datagrams, free_port, json_objects

# Seconds that no test takes: a camera ends when it is asked to.
CALL = 900


def camera(stage, server, room, seconds):
    return stage.tapedeck("camera", room_url(server, room), "--duration", f"{seconds}s", "--json", "--size", "320x180")


def room(server, name, **more):
    return {"url": room_url(server, name), "record": {"empty_after": "1s"}, **more}


def assert_unbroken(folder, process):
    """Nothing is missing in the audio of an exported recording except the losses in its journal.

    At most 1 %, in addition to packets that the kernel dropped since `process` began, and to a sender's lateness.
    """
    dropped, late = dropped_datagrams() - process.dropped_before, lateness(process)
    journal = json_objects((folder / "journal.jsonl").read_text().splitlines())
    sounds = {record["track"] for record in journal if record["kind"] == "track-opened" and record["media"] == "audio"}
    lost = sum({record["track"]: record["lost"] for record in journal
                if record["kind"] == "packets-counted" and record["track"] in sounds}.values())
    sound, = media.streams(folder / "call.mkv", "audio")
    gaps = media.gaps(folder / "call.mkv", sound["index"], AUDIO_PACKET)
    story = (f"{lost} packets lost, {dropped} datagrams dropped, {late} s late, gaps {gaps}\n"
             f"{media.describe(folder / 'call.mkv')}")
    assert lost <= max(A_FEW, MAXIMUM_LOST * len(media.packets(folder / "call.mkv", sound["index"]))) + dropped, story
    allowed = lost + (late / AUDIO_PACKET + 5 if late else 0)
    assert sum(round(seconds / AUDIO_PACKET) for _, seconds in gaps) <= allowed and (allowed or not gaps), story


def test_two_rooms_are_recorded_and_exported_by_themselves(stage):
    server = stage.room_server(5)
    daemon = Daemon(stage, {"standup": room(server, "one"), "retro": room(server, "two")})
    for name in ("standup", "retro"):
        daemon.wait_for_phase(name, "joined")
    browser = stage.browser(server, "one", "--send")
    peer = stage.aiortc(server, "two", "--send", "synthetic")
    for name in ("standup", "retro"):
        daemon.wait_for_recording(name)
    for sender in (browser, peer):
        sender.wait_for_figure("framesSent", 60)
    # malloc keeps what was freed for each heap, and would have eight for each processor.
    counts = [heaps(pid) for pid in family(daemon.process.process.pid)]
    assert len(counts) >= 3 and max(counts) <= os.cpu_count(), counts
    browser.end()
    peer.end()
    for name in ("standup", "retro"):
        folder, = daemon.wait_for_export(name)
        assert_plays(folder / "call.mkv")
        kinds = [stream["codec_type"] for stream in media.streams(folder / "call.mkv")]
        assert sorted(kinds) == ["audio", "video"], media.describe(folder / "call.mkv")
    found = daemon.wait_for("two exported recordings", lambda: [
        recording for recording in daemon.recordings() if recording.get("verdict") in WHOLE][1:] and
        daemon.recordings())
    assert {recording["room"] for recording in found} == {"standup", "retro"}
    assert all(recording["state"] == "finished" and recording["bytes"] > 0 for recording in found)
    # A recording whose folder was removed by hand is forgotten when it is deleted.
    removed, kept = found
    shutil.rmtree(daemon.storage / "recordings" / removed["room"])
    assert daemon.request("DELETE", f"/v1/recordings/{removed['id']}")[0] == 204
    assert [recording["id"] for recording in daemon.recordings()] == [kept["id"]]


@pytest.mark.media
@pytest.mark.long
def test_one_of_eight_workers_dies_and_the_others_lose_nothing(stage):
    server = stage.room_server(5)
    names = [f"room{number}" for number in range(8)]
    daemon = Daemon(stage, {name: room(server, name, record={"empty_after": "5s"}) for name in names})
    for name in names:
        daemon.wait_for_phase(name, "joined")
    # Two cores: audio alone is enough to see losses.
    cameras = [stage.tapedeck("camera", room_url(server, name), "--video", "none", "--duration", f"{CALL}s", "--json")
               for name in names]

    def are_recording():
        rooms = daemon.get("/v1/rooms")["rooms"]
        return all(any(track["units"] for track in room["status"]["tracks"]) for room in rooms)
    daemon.wait_for("eight recordings", are_recording)
    before = {name: daemon.worker(name) for name in names}
    victim = names[3]
    units = {name: daemon.room(name)["status"]["tracks"][0]["units"] for name in names}
    os.kill(before[victim], signal.SIGKILL)

    def goes_on():
        status = daemon.room(victim)["status"]
        recording = status.get("recording") or {}
        return recording.get("part") == 2 and any(track["units"] for track in status["tracks"])
    daemon.wait_for("the second part", goes_on)
    assert daemon.worker(victim) != before[victim]
    for name in names:
        if name == victim:
            continue
        daemon.wait_for(f"more units of {name}", lambda name=name: daemon.room(
            name)["status"]["tracks"][0]["units"] > units[name])
        assert daemon.worker(name) == before[name]
        track, = daemon.room(name)["status"]["tracks"]
        dropped = dropped_datagrams() - daemon.process.dropped_before
        assert track["lostPackets"] <= max(A_FEW, MAXIMUM_LOST * track["units"]) + dropped, track
    for peer in cameras:
        peer.end()
    folder, = daemon.wait_for_export(victim)
    assert_plays(folder / "call.mkv")
    # Both parts are there, in one track: the gap between them is the time that was not recorded.
    sound, = media.streams(folder / "call.mkv", "audio")
    times = [packet.time for packet in media.packets(folder / "call.mkv", sound["index"])]
    gap, second = max((after - before, after) for before, after in zip(times, times[1:]))
    journal = json_objects((folder / "journal.jsonl").read_text().splitlines())
    opened = [record["at"] / 1e9 for record in journal if record["kind"] == "track-opened"]
    # A late packet began earlier than its file.
    assert second - times[0] == pytest.approx(opened[1] - opened[0], abs=LIMIT / 10), (gap, second, times[0], opened)
    for name in names:
        if name != victim:
            folder, = daemon.wait_for_export(name)
            assert_unbroken(folder, daemon.process)


def test_a_killed_supervisor_leaves_no_worker_and_the_next_one_repairs(stage):
    server = stage.room_server(5)
    record = {"empty_after": "1s", "export": ["tracks", "audio"], "container": "webm", "project": True}
    daemon = Daemon(stage, {"standup": room(server, "one", record=record)})
    daemon.wait_for_phase("standup", "joined")
    peer = camera(stage, server, "one", CALL)
    daemon.wait_for_recording("standup")
    worker = daemon.worker("standup")
    # The worker's files are torn as well: both die at the same instant, as in a power cut.
    os.kill(worker, signal.SIGSTOP)
    os.kill(daemon.process.process.pid, signal.SIGKILL)
    os.kill(worker, signal.SIGKILL)
    daemon.process.wait()
    copy = stage.folder / "copy"
    shutil.copytree(daemon.storage, copy)
    daemon.start()
    daemon.wait_for_recording("standup")

    def exported(storage, count):
        """Folders that have what the room's configuration asks for: two of one second are in no order."""
        found = [folder for folder in (storage / "recordings" / "standup").iterdir()
                 if (folder / "call-audio.opus").exists()]
        return found if len(found) >= count else None

    folder, *_ = daemon.wait_for("both exports", lambda: exported(daemon.storage, 1))
    assert_plays(folder / "call.webm")
    daemon.wait_for("the project", (folder / "call.otio").exists)
    assert not (folder / "call.mkv").exists()
    assert daemon.log("recording.repaired"), daemon.process.story()
    peer.end()
    daemon.wait_for("the next recording's", lambda: exported(daemon.storage, 2))
    # The same by hand, and once.
    for count in (1, 0):
        repair = stage.run_tapedeck("repair", "--directory", copy, "--config", daemon.path, "--json")
        assert repair.exit_code == 0, repair.story()
        told = json_objects(repair.output.splitlines())
        assert [[pathlib.Path(path).name for path in line["outputs"]] for line in told] == [
            ["call.webm", "call-audio.opus"]] * count, repair.story()
    folder, = exported(copy, 1)
    assert_plays(folder / "call.webm")
    assert (folder / "call.otio").exists()


def test_a_worker_ends_when_its_supervisor_is_gone(stage):
    server = stage.room_server(5)
    daemon = Daemon(stage, {name: room(server, name) for name in ("a", "b")})
    for name in ("a", "b"):
        daemon.wait_for_phase(name, "joined")
    workers = {daemon.worker(name) for name in ("a", "b")}
    assert len(workers) == 2
    os.kill(daemon.process.process.pid, signal.SIGKILL)
    deadline = time.monotonic() + LIMIT
    while any(os.path.exists(f"/proc/{worker}") for worker in workers):
        assert time.monotonic() < deadline, "workers outlive their supervisor"
        time.sleep(0.1)


def test_what_a_worker_finished_alone_is_exported_by_the_next_daemon(stage):
    server = stage.room_server(5)
    daemon = Daemon(stage, {"standup": room(server, "one")})
    daemon.wait_for_phase("standup", "joined")
    peer = camera(stage, server, "one", CALL)
    daemon.wait_for_recording("standup")
    worker = daemon.worker("standup")
    os.kill(daemon.process.process.pid, signal.SIGKILL)
    daemon.process.wait()
    journal, = (daemon.storage / "recordings" / "standup").glob("*/journal.jsonl")
    deadline = time.monotonic() + LIMIT
    while os.path.exists(f"/proc/{worker}"):
        assert time.monotonic() < deadline, "the worker outlives its supervisor"
        time.sleep(0.1)
    assert '"recording-finished"' in journal.read_text(), journal.read_text()
    peer.end()
    daemon.start()
    folder, = daemon.wait_for_export("standup")
    assert_plays(folder / "call.mkv")


def test_a_worker_that_hangs_is_replaced(stage):
    server = stage.room_server(5)
    daemon = Daemon(stage, {"standup": room(server, "one")}, workers={"hang_limit": "15s"})
    daemon.wait_for_phase("standup", "joined")
    before = daemon.worker("standup")
    os.kill(before, signal.SIGSTOP)
    daemon.wait_for("another worker", lambda: (daemon.room("standup").get("worker") or {}).get(
        "processID", before) != before)
    daemon.wait_for_phase("standup", "joined")
    daemon.wait_for("the end of the first", lambda: not os.path.exists(f"/proc/{before}"))
    assert daemon.room("standup")["restarts"] == 1


def test_signals_that_mean_nothing_to_it_do_not_end_it(stage):
    daemon = Daemon(stage, {}, api={"listen": "[::1]:0"})
    assert daemon.url.startswith("http://[::1]:")
    for number in (signal.SIGUSR1, signal.SIGUSR2, signal.SIGALRM, signal.SIGXFSZ):
        daemon.process.signal(number)
    assert daemon.get("/v1/rooms") == {"rooms": []}
    assert daemon.process.end() == 0, daemon.process.story()


def test_reload_touches_only_what_changed(stage):
    server = stage.room_server(5)
    rooms = {"kept": room(server, "kept"), "changed": room(server, "before"), "removed": room(server, "removed")}
    daemon = Daemon(stage, rooms)
    for name in rooms:
        daemon.wait_for_phase(name, "joined")
    peer = stage.aiortc(server, "kept", "--send", "synthetic")
    daemon.wait_for_recording("kept")
    kept = daemon.worker("kept")
    daemon.write({"kept": rooms["kept"], "changed": room(server, "after"), "added": room(server, "added")})

    def are_as_written():
        urls = {room["name"]: room["url"] for room in daemon.get("/v1/rooms")["rooms"]}
        return set(urls) == {"kept", "changed", "added"} and urls["changed"].endswith("/after")
    daemon.wait_for("the new rooms", are_as_written)
    daemon.wait_for_phase("added", "joined")
    daemon.wait_for_phase("changed", "joined")
    assert daemon.request("GET", "/v1/rooms/removed")[0] == 404
    # A mistake changes nothing.
    daemon.path.write_text("rooms: { kept: { ulr: x } }\n")
    status, _, body = daemon.request("POST", "/v1/reload")
    assert status == 422 or status == 400, body
    assert b"ulr" in body and b"url" in body
    assert daemon.room("kept")["worker"]["processID"] == kept
    closed = peer
    closed.signal(signal.SIGTERM)
    closed.wait()
    folder, = daemon.wait_for_export("kept")
    assert_plays(folder / "call.mkv")
    assert_unbroken(folder, daemon.process)


def test_shutdown_finishes_exports_and_leaves(stage):
    server = stage.room_server(5)
    daemon = Daemon(stage, {"standup": room(server, "one")})
    daemon.wait_for_phase("standup", "joined")
    peer = camera(stage, server, "one", CALL)
    daemon.wait_for_recording("standup")
    assert daemon.process.end() == 0, daemon.process.story()
    exported, = (daemon.storage / "recordings" / "standup").glob("*/call.mkv")
    assert_plays(exported)
    peer.end()
    # The folders tell the same without the daemon.
    listed = stage.run_tapedeck("recordings", "--directory", daemon.storage, "--json")
    row = listed.result()
    assert listed.exit_code == 0 and row["verdict"] in WHOLE and row["finished"], listed.story()
    shown = stage.run_tapedeck("recordings", "show", row["id"][:6], "--directory", daemon.storage)
    assert shown.exit_code == 0 and "call.mkv" in shown.output, shown.story()
    again = stage.run_tapedeck("repair", "--directory", daemon.storage)
    assert again.exit_code == 0 and "closed" not in again.output, again.story()


def test_retention_deletes_what_is_exported_and_keeps_what_is_not(stage):
    """MP4 does not take the camera's VP8, so that the export of one room fails for good."""
    server = stage.room_server(5)
    records = {"failing": {"container": "mp4"}, "bare": {"export": []}, "exported": {}}
    daemon = Daemon(stage, {name: room(server, name, record={"empty_after": "1s", **record})
                            for name, record in records.items()})
    states = {"failing": ["failed"], "bare": [], "exported": ["done"]}
    found = {}
    # The one that is to stay is the oldest, and so the first that retention looks at.
    for name, expected in states.items():
        daemon.wait_for_phase(name, "joined")
        peer = camera(stage, server, name, CALL)
        daemon.wait_for_recording(name)
        folder, = (daemon.storage / "recordings" / name).iterdir()
        # Larger alone than what is kept.
        (folder / "padding.bin").write_bytes(bytes(2_000_000))
        peer.end()

        def is_over(name=name, expected=expected):
            recording = next((recording for recording in daemon.recordings() if recording["room"] == name), None)
            if recording is None:
                return None
            exports = daemon.get(f"/v1/recordings/{recording['id']}/exports")["exports"]
            is_there = recording["state"] == "finished" and recording["bytes"] > 2_000_000
            return recording if is_there and [export["state"] for export in exports] == expected else None
        found[name] = folder, daemon.wait_for(f"the end of {name}", is_over)["id"]
    assert all(folder.exists() for folder, _ in found.values())

    def keep_little():
        daemon.sections["storage"]["keep_bytes"] = "1MB"
        daemon.write({})
    daemon.restart(keep_little)
    folder, recording = found["failing"]
    daemon.wait_for("the end of the others", lambda: [each["id"] for each in daemon.recordings()] == [recording])
    assert [name for name, (each, _) in found.items() if each.exists()] == ["failing"], daemon.process.story()
    line, = daemon.wait_for("the line about it", lambda: daemon.log("retention keeps a recording"))
    assert recording in line, line
    # After an operator has exported it, it is like any other.
    daemon.post(f"/v1/recordings/{recording}/exports", {})

    def is_exported():
        status, _, answer = daemon.request("GET", f"/v1/recordings/{recording}/exports")
        # Retention may have come in between.
        return status == 404 or b'"done"' in answer
    daemon.wait_for("the export", is_exported)
    daemon.restart()
    daemon.wait_for("the end of the last", lambda: not daemon.recordings() and not folder.exists())


def test_what_other_programs_write_is_no_forecast(stage):
    daemon = Daemon(stage, {})
    measured = {}

    def has_measured():
        with open(stage.folder / "of another program", "ab") as file:
            file.write(bytes(400_000))
        overview = daemon.get("/v1/overview")
        measured[overview["freeBytes"]] = overview.get("secondsUntilFull")
        return len(measured) > 4
    daemon.wait_for("some measurements", has_measured)
    assert set(measured.values()) == {None}, measured


def test_on_demand_rooms_pause_resume_stop(stage):
    server = stage.room_server(5)
    daemon = Daemon(stage, {"meeting": {"url": room_url(server, "one"), "join": "on-demand",
                                        "record": {"automatic": False, "empty_after": "10m"}}})
    assert daemon.room("meeting")["phase"] == "idle"
    peer = camera(stage, server, "one", CALL)
    # No participant is there yet that could be notified.
    daemon.post("/v1/rooms/meeting/record")
    daemon.wait_for_recording("meeting")
    daemon.post("/v1/rooms/meeting/pause")

    def is_in(*states):
        return daemon.room("meeting")["status"]["recordingState"] in states
    daemon.wait_for("the pause", lambda: is_in("paused"))
    # The next worker leaves out what comes, too.
    paused = daemon.room("meeting")
    os.kill(paused["worker"]["processID"], signal.SIGKILL)
    daemon.wait_for("the next worker", lambda: daemon.room("meeting")["restarts"] > paused["restarts"])
    daemon.wait_for_phase("meeting", "joined")
    daemon.wait_for("its pause", lambda: is_in("paused", "recording", "waiting"))
    daemon.wait_for("a participant", lambda: daemon.room("meeting")["status"]["participants"])
    assert is_in("paused"), daemon.room("meeting")
    daemon.post("/v1/rooms/meeting/resume")
    daemon.wait_for("the resumption", lambda: is_in("recording", "waiting"))
    daemon.post("/v1/rooms/meeting/mark", {"text": "decision"})
    daemon.post("/v1/rooms/meeting/keyframe", {})
    daemon.wait_for_recording("meeting")
    daemon.post("/v1/rooms/meeting/stop")
    daemon.wait_for_phase("meeting", "idle")
    daemon.wait_for_export("meeting")
    peer.end()


def test_commands_talk_to_the_daemon(stage):
    server = stage.room_server(5)
    daemon = Daemon(stage, {"standup": room(server, "one")})
    daemon.wait_for_phase("standup", "joined")
    rooms = stage.run_tapedeck("rooms", "--api", daemon.url, "--json")
    assert rooms.exit_code == 0 and [fact["name"] for fact in rooms.facts] == ["standup"], rooms.story()
    table = stage.run_tapedeck("status", "--api", daemon.url, "--once")
    assert table.exit_code == 0 and "standup" in table.output, table.story()
    # A pipe is shown the table once, also from a terminal.
    terminal, errors = os.openpty()
    piped = subprocess.run([stage.tapedeck_path, "status", "--api", daemon.url], stdout=subprocess.PIPE, stderr=errors,
                           timeout=LIMIT, check=False)
    os.close(errors)
    os.close(terminal)
    assert piped.returncode == 0 and b"standup" in piped.stdout, piped
    again = stage.run_tapedeck("reload", "--api", daemon.url)
    assert again.exit_code == 0 and again.output == "configuration reloaded; rooms: 0 added, 0 changed, 0 removed, 1 unchanged"
    # A section that a running daemon does not take up is named, on a terminal and for scripts.
    daemon.sections["workers"]["export_jobs"] = 2
    daemon.write(daemon.rooms)
    again = stage.run_tapedeck("reload", "--api", daemon.url)
    assert "only after a restart: workers" in again.output, again.story()
    again = stage.run_tapedeck("reload", "--api", daemon.url, "--json")
    assert [fact["afterRestart"] for fact in again.facts] == [["workers"]], again.story()
    daemon.path.write_text("nonsense: [")
    refused = stage.run_tapedeck("reload", "--api", daemon.url)
    assert refused.exit_code == 2 and "the old one stays in force" in refused.messages, refused.story()
    gone = stage.run_tapedeck("rooms", "--api", "http://127.0.0.1:1")
    assert gone.exit_code == 3 and "no daemon answers" in gone.messages, gone.story()


def test_commands_take_the_token_of_the_configuration_that_is_good_for_most(stage):
    tokens = [{"name": "hashed", "sha256": "00" * 32, "scopes": ["read", "control", "media"]},
              {"name": "reader", "value": "reader-reader-reader", "scopes": ["read"]},
              {"name": "operator", "value": "operator-operator", "scopes": ["read", "control"]}]
    daemon = Daemon(stage, {}, api={"listen": f"127.0.0.1:{free_port()}", "tokens": tokens})
    reload = stage.run_tapedeck("reload", "--config", daemon.path)
    assert reload.exit_code == 0, reload.story()


def test_signalling_is_traced_in_a_file_for_each_room(stage):
    """A path that is relative to where the daemon was started; `replay` finds no difference."""
    server = stage.room_server(5)
    daemon = Daemon(stage, {"standup": room(server, "one"), "retro": room(server, "two")},
                    flags=("--trace-signalling", "calls.jsonl"))
    for name in ("standup", "retro"):
        daemon.wait_for_phase(name, "joined")
    peer = stage.aiortc(server, "one", "--send", "synthetic")
    peer.wait_for_event("connected")
    peer.end()
    assert daemon.process.end() == 0, daemon.process.story()
    for name, hears_peer in (("standup", True), ("retro", False)):
        trace = stage.folder / f"calls-{name}.jsonl"
        assert trace.stat().st_mode & 0o777 == 0o640
        assert ('"event":"answerReceived"' in trace.read_text()) == hears_peer, name
        replay = stage.run_tapedeck("replay", trace, "--json")
        assert replay.exit_code == 0 and replay.facts[-1]["differences"] == 0, replay.story()
        assert replay.facts[-1]["inputs"] > 3, replay.story()
