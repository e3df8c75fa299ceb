# SPDX-License-Identifier: Apache-2.0
"""The daemon's trust and reports when its workers lie, and when it is killed itself."""

import json
import os
import signal
import time

import pytest
from daemon import Daemon
from figures import assert_plays
from test_daemon import CALL, camera, room
from test_webhooks import figure, sink, taken, webhook

REFUSED = "tapedeck_worker_refused_events_total"


def kill(daemon):
    os.kill(daemon.process.process.pid, signal.SIGKILL)
    daemon.process.wait()


def ends(receiver):
    """The recordings whose end was delivered, one for each delivery."""
    return [fact["body"]["recording"] for fact in taken(receiver)
            if fact["kind"] in ("recording.finished", "recording.repaired")]


@pytest.mark.parametrize("pause", [0.2, 4])
def test_the_end_of_a_recording_is_reported_once_however_often_the_daemon_is_killed(stage, pause):
    server, receiver = stage.room_server(5), sink(stage)
    rooms = {"standup": room(server, "one")}
    daemon = Daemon(stage, rooms, webhooks=[webhook(receiver.port, "recording.*")])
    daemon.wait_for_phase("standup", "joined")
    peer = camera(stage, server, "one", CALL)
    known = []
    for turn in range(3):
        daemon.wait_for_recording("standup")
        known.append(daemon.room("standup")["status"]["recording"]["id"])
        kill(daemon)
        # The worker of the one that is dead still closes files for a while: the next daemon starts before and after that.
        time.sleep(pause)
        daemon.start()
        if turn == 1:
            # Once more, in the midst of what it does with what it finds.
            time.sleep(pause / 4)
            kill(daemon)
            daemon.start()
    daemon.wait_for("the ends", lambda: set(known) <= set(ends(receiver)))
    peer.end()
    daemon.wait_for("every recording exported", lambda: all(
        "verdict" in recording for recording in daemon.recordings()) and daemon.recordings())
    recordings = {recording["id"] for recording in daemon.recordings()}
    daemon.wait_for("the last end", lambda: recordings <= set(ends(receiver)))
    # Nor does another life report anything.
    kill(daemon)
    daemon.start()
    daemon.post("/v1/rooms", {"name": "mark", "definition": {"url": "socketio+http://127.0.0.1:9/m", "join": "on-demand"}})
    daemon.restart()
    found = ends(receiver)
    assert set(known) <= recordings and sorted(found) == sorted(recordings), (known, found, receiver.facts)


def test_an_export_by_hand_elsewhere_takes_the_place_of_none_that_the_room_orders(stage):
    server = stage.room_server(5)
    daemon = Daemon(stage, {"standup": room(server, "one", record={"empty_after": "1s", "export": ["tracks", "audio"]})})
    daemon.wait_for_phase("standup", "joined")
    peer = camera(stage, server, "one", CALL)
    daemon.wait_for_recording("standup")
    recording = daemon.room("standup")["status"]["recording"]
    worker = daemon.worker("standup")
    kill(daemon)
    peer.end()
    server.wait_for("the worker's end", lambda: not os.path.exists(f"/proc/{worker}"))
    elsewhere = stage.folder / "elsewhere"
    elsewhere.mkdir()
    export = stage.run_tapedeck("export", recording["id"], "--directory", daemon.storage,
                                "--output", elsewhere / "crashed.mkv")
    assert (elsewhere / "crashed.mkv").exists(), export.story()
    daemon.start()
    daemon.restart()
    folder, = (daemon.storage / "recordings" / "standup").iterdir()
    for name in ("call.mkv", "call-audio.opus"):
        daemon.wait_for(name, (folder / name).exists)
    daemon.wait_for("the exports' end", lambda: [export["state"] for export in daemon.get(
        f"/v1/recordings/{recording['id']}/exports")["exports"]].count("done") == 3)
    assert_plays(folder / "call.mkv")


def test_a_worker_is_believed_about_its_own_rooms_only(stage):
    server = stage.room_server(5)
    # As little as that: whatever is finished is deleted at the next look.
    daemon = Daemon(stage, {"victim": room(server, "one"), "evil": room(server, "two")}, storage={"keep_bytes": "1MB"})
    for name in ("victim", "evil"):
        daemon.wait_for_phase(name, "joined")
    peer = camera(stage, server, "one", CALL)
    before = daemon.wait_for_recording("victim")["status"]["recording"]
    lies = [
        {"recordingFinished": {"room": "victim", "_1": before, "reason": "a lie"}},
        {"recordingFinished": {"room": "evil", "_1": before, "reason": "a lie"}},
        {"left": {"room": "victim", "_1": {"ordered": {}}}},
        {"heartbeat": {"_0": {"cpuSeconds": 1e308, "residentBytes": 1, "threads": 1, "descriptors": 1, "longTracks": 0,
                              "sharedConnections": 0, "slowConnections": 0, "forgedPackets": 0}}},
    ]
    with open(f"/proc/{daemon.worker('evil')}/fd/1", "w") as pipe:
        pipe.write("".join(json.dumps(lie) + "\n" for lie in lies))
    daemon.wait_for("the lies", lambda: figure(daemon, REFUSED) == len(lies))
    assert daemon.room("victim")["status"]["recording"] == before
    assert not daemon.log("recording.finished") and not daemon.log("export.started")
    assert {found["name"] for found in daemon.get("/v1/rooms")["rooms"]} == {"victim", "evil"}
    # Nor does anything else have it deleted.
    status, headers, body = daemon.request("DELETE", f"/v1/recordings/{before['id']}")
    problem = json.loads(body)
    assert status == 409 and headers["Content-Type"] == "application/problem+json", body
    assert before["id"] in problem["detail"], problem
    peer.end()
    daemon.wait_for("its end", lambda: daemon.log("recording.finished"))


def test_a_recording_that_another_process_holds_is_not_deleted(stage):
    """A worker that outlives the daemon still closes it, and the next daemon knows it as finished or not at all."""
    server = stage.room_server(5)
    daemon = Daemon(stage, {"standup": room(server, "one")})
    daemon.wait_for_phase("standup", "joined")
    peer = camera(stage, server, "one", CALL)
    recording = daemon.wait_for_recording("standup")["status"]["recording"]
    worker = daemon.worker("standup")
    os.kill(worker, signal.SIGSTOP)
    try:
        kill(daemon)
        daemon.write({})
        daemon.start()
        daemon.wait_for("the recording", lambda: [found for found in daemon.recordings()
                                                  if found["id"] == recording["id"]])
        status, _, body = daemon.request("DELETE", f"/v1/recordings/{recording['id']}")
        assert status == 409 and "still writes or closes" in json.loads(body)["detail"], body
    finally:
        os.kill(worker, signal.SIGCONT)
    peer.end()
    daemon.wait_for_export("standup")
    assert daemon.request("DELETE", f"/v1/recordings/{recording['id']}")[0] == 204
