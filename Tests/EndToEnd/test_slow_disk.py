# SPDX-License-Identifier: Apache-2.0
"""A disk that is slow to synchronise, or to take anything at all, costs no media, and does not stop the rest."""

import json
import signal
import time

import media
import pytest
from daemon import WHOLE, Daemon
from figures import AUDIO_PACKET, assert_whole
from peers import caught_up, room_url
from recordings import interrupted, recorded, start_recorder, wait_for_media, wait_for_more
from stage import LIMIT

ROOM = "123123"


@pytest.mark.media
def test_a_recording_on_a_slow_disk_is_whole(stage, slow_disk):
    server = stage.room_server(5)
    peer = stage.aiortc(server, ROOM, "--send", "synthetic", "--size", "320x180")
    exported, recorder = start_recorder(stage, room_url(server, ROOM), secrets=slow_disk(1500))
    peer.wait_for_event("connected")
    sent = peer.wait_for_figure("framesSent", 240)
    caught_up(peer, recorder)
    interrupted(recorder)
    assert_whole(exported, recorder, sent)


@pytest.mark.media
def test_a_recording_is_exported_when_the_disk_is_done_with_it(stage, slow_disk):
    """However long that takes: the user gets a message, and may interrupt again."""
    server = stage.room_server(5)
    hold = stage.folder / "hold"
    peer = stage.aiortc(server, ROOM, "--send", "synthetic", "--size", "320x180")
    exported, recorder = start_recorder(stage, room_url(server, ROOM), secrets=slow_disk(0, hold))
    peer.wait_for_event("connected")
    sent = peer.wait_for_figure("framesSent", 120)
    caught_up(peer, recorder)
    hold.touch()
    recorder.signal(signal.SIGINT)
    recorder.wait_for("what it waits for", lambda: "still completing the recording's files" in recorder.messages)
    assert not exported.exists()
    hold.unlink()
    recorded(recorder)
    assert_whole(exported, recorder, sent)


@pytest.mark.media
def test_who_stays_is_written_while_the_files_of_who_leaves_are_closed(stage, slow_disk):
    server = stage.serve("--room-size", "4")
    storage = stage.folder / "storage"
    hold = stage.folder / "hold"
    _, recorder = start_recorder(stage, room_url(server, ROOM), secrets=slow_disk(300, hold))
    stays, leaves = (stage.aiortc(server, ROOM, "--send", "synthetic", "--size", "320x180") for _ in range(2))
    wait_for_media(recorder, storage, 4)
    # From here on nothing that is synchronised comes to an end: the files of who leaves stay open.
    hold.touch()
    leaves.end()
    recorder.wait_for("the farewell", lambda: "peer left" in recorder.messages)
    journal, = storage.rglob("journal.jsonl")

    def closed():
        return journal.read_text().count('"track-closed"')

    # Packets under way when one left, and then a second of the one that stays.
    wait_for_more(recorder, storage)
    wait_for_more(recorder, storage)
    assert closed() == 0, recorder.story()
    # Both files of the one that leaves at once, in addition to the round of the one that stays: one does not wait for
    # the other.
    recorder.wait_for("files that are closed side by side", lambda: len(list(hold.parent.glob("hold.*"))) >= 3)
    hold.unlink()
    recorder.wait_for("closed files", lambda: closed() == 2, LIMIT)
    stays.end()
    interrupted(recorder)


def neighbours(stage, monkeypatch, disk, **workers):
    """Two rooms with a call each in one worker with such a disk; its daemon and the participants."""
    server = stage.serve("--room-size", "2")
    rooms = {"slow": "123123", "quick": "456456"}
    with monkeypatch.context() as patch:
        for name, value in disk.items():
            patch.setenv(name, value)
        daemon = Daemon(stage, {name: {"url": room_url(server, number)} for name, number in rooms.items()},
                        workers={"rooms_per_worker": 2, **workers})
    peers = [stage.aiortc(server, number, "--send", "synthetic", "--size", "320x180") for number in rooms.values()]
    wait_for_media(daemon.process, daemon.storage, 4)
    assert daemon.worker("slow") == daemon.worker("quick")
    return daemon, peers


def hold_writes(daemon, hold, path):
    """From here on no write to such a path comes to an end; one has begun."""
    aside = hold.with_name("hold.new")
    aside.write_text(path)
    aside.rename(hold)
    daemon.wait_for("a write that waits", lambda: list(hold.parent.glob("hold.*")))


@pytest.mark.media
def test_a_room_that_is_closed_slowly_does_not_cost_its_neighbour(stage, slow_disk, monkeypatch):
    hold = stage.folder / "hold"
    daemon, _ = neighbours(stage, monkeypatch, slow_disk(0, hold), stop_limit="6s")
    worker = daemon.worker("quick")
    recordings = daemon.storage / "recordings"
    journal, = (recordings / "slow").rglob("journal.jsonl")
    # From here on nothing of one room that is synchronised comes to an end.
    hold.write_text("/recordings/slow/")
    daemon.write({"quick": daemon.rooms["quick"]})
    daemon.post("/v1/reload")
    daemon.wait_for("files that are given up", lambda: daemon.log("files did not close"))
    daemon.wait_for("a room that is left", lambda: daemon.log("room.left"))
    wait_for_more(daemon.process, recordings / "quick")
    assert not daemon.log("worker is ended") and "recording-finished" not in journal.read_text()
    hold.unlink()
    # The worker that continues for the other completes it all the same.
    daemon.wait_for("the end of the recording", lambda: "recording-finished" in journal.read_text())
    assert daemon.worker("quick") == worker and daemon.room("quick")["restarts"] == 0


@pytest.mark.media
@pytest.mark.long
@pytest.mark.timeout(600)
def test_a_disk_that_takes_nothing_for_a_while_costs_no_worker_and_no_media(stage, slow_disk, monkeypatch):
    """For longer than a worker may be silent, while a browser has its dashboard open and requests keyframes."""
    server = stage.serve("--room-size", "4")
    hold = stage.folder / "hold"
    with monkeypatch.context() as patch:
        for name, value in slow_disk(0, writes=hold).items():
            patch.setenv(name, value)
        daemon = Daemon(stage, {"standup": {"url": room_url(server, "standup")}}, workers={"hang_limit": "15s"})
    daemon.wait_for_phase("standup", "joined")
    peer = stage.aiortc(server, "standup", "--send", "synthetic", "--size", "320x180")
    sid = peer.event("joined")["sid"]
    daemon.wait_for_recording("standup")
    worker, recording = daemon.worker("standup"), daemon.room("standup")["status"]["recording"]["id"]
    hold_writes(daemon, hold, "/recordings/standup/")
    until = time.monotonic() + HELD
    while time.monotonic() < until:
        daemon.request("GET", f"/v1/rooms/standup/participants/{sid}/thumbnail.jpg")
        daemon.request("POST", "/v1/rooms/standup/keyframe")
        assert daemon.worker("standup") == worker, daemon.process.story()
    hold.unlink()
    wait_for_more(daemon.process, daemon.storage)
    status = daemon.room("standup")
    assert status["worker"]["processID"] == worker and status["restarts"] == 0
    assert status["status"]["recording"]["id"] == recording
    assert not daemon.log("worker is ended") and not daemon.log("recording.degraded"), daemon.process.story()
    assert daemon.log("rooms hang") == [] and len(daemon.log("recording.started")) == 1
    peer.end()
    daemon.post("/v1/rooms/standup/stop")
    folder, = daemon.wait_for_export("standup")
    assert_lossless(folder)


@pytest.mark.media
def test_a_disk_that_takes_nothing_of_a_room_costs_its_neighbour_nothing(stage, slow_disk, monkeypatch):
    """The rooms of a worker have one thread that writes: it stands still in the first of them."""
    hold = stage.folder / "hold"
    daemon, peers = neighbours(stage, monkeypatch, slow_disk(0, writes=hold))
    recordings = daemon.storage / "recordings"
    hold_writes(daemon, hold, "/recordings/slow/")
    sizes = {path: path.stat().st_size for path in (recordings / "slow").rglob("tracks/*")}
    for _ in range(3):
        wait_for_more(daemon.process, recordings / "quick")
    assert sizes == {path: path.stat().st_size for path in sizes}
    hold.unlink()
    wait_for_more(daemon.process, recordings / "slow")
    for peer in peers:
        peer.end()
    for name in daemon.rooms:
        daemon.post(f"/v1/rooms/{name}/stop")
    for name in daemon.rooms:
        folder, = daemon.wait_for_export(name)
        assert_lossless(folder)
    assert not daemon.log("recording.degraded") and not daemon.log("worker is ended"), daemon.process.story()


def assert_lossless(folder):
    """All that came is in the recording; what came while nothing was written has its own time."""
    certificate = json.loads((folder / "manifest.json").read_text())["certificate"]
    assert certificate["verdict"] in WHOLE, certificate
    for track in certificate["tracks"]:
        lost = track.get("packets_lost") or 0
        if track["media"] == "video":
            assert sum(count for _, count in media.lost_frames(media.frames(folder / track["file"]))) <= lost, track
        else:
            assert len(media.gaps(folder / track["file"], 0, AUDIO_PACKET)) <= lost, track


# Longer than a room may hang (20 s), and its worker be silent after that.
HELD = 45
