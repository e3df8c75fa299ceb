# SPDX-License-Identifier: Apache-2.0
"""A recording's folder or one of its files goes away while it is written: that is said, and the room is recorded on."""

from daemon import Daemon
from peers import room_url
from recordings import interrupted, journal_of, start_recorder, wait_for_media, wait_for_seconds

ROOM = "standup"


def ends(folder):
    """Why each file of a recording ended, by its number, and why the recording did."""
    records = journal_of(folder)
    return ({record["track"]: record["reason"] for record in records if record["kind"] == "track-closed"},
            records[-1].get("reason"))


def test_a_folder_that_is_moved_away_ends_its_recording(stage):
    server = stage.serve("--room-size", "4")
    daemon = Daemon(stage, {ROOM: {"url": room_url(server, ROOM), "record": {"empty_after": "1s"}}})
    daemon.wait_for_phase(ROOM, "joined")
    camera = stage.tapedeck("camera", room_url(server, ROOM), "--json", "--size", "320x180")
    wait_for_media(daemon.process, daemon.storage)
    folder, = (daemon.storage / "recordings" / ROOM).iterdir()
    away = stage.folder / folder.name
    folder.rename(away)
    line, = daemon.wait_for("the event", lambda: daemon.log("recording.degraded"))
    assert "folder is gone" in line, line
    daemon.wait_for("the next recording", lambda: len(daemon.log("recording.started")) == 2)
    wait_for_media(daemon.process, daemon.storage)
    assert not daemon.log("disk.low") and len(daemon.log("recording is incomplete")) == 1, daemon.process.story()
    assert camera.end() in (0, 130), camera.story()
    second, = daemon.wait_for_export(ROOM)
    assert second.name != folder.name and len(daemon.log("recording.finished")) == 2
    # The moved recording is whole where it is now.
    daemon.wait_for("the end of what was moved", lambda: ends(away)[1] == "notFound")
    verify = stage.run_tapedeck("verify", away, "--json")
    assert verify.exit_code == 0 and verify.result()["verdict"] == "complete-with-gaps", verify.story()
    assert daemon.process.end() == 0, daemon.process.story()


def test_a_track_file_that_is_deleted_is_followed_by_the_next(stage):
    server = stage.serve("--room-size", "4")
    camera = stage.tapedeck("camera", room_url(server, ROOM), "--json", "--size", "320x180")
    storage = stage.folder / "storage"
    exported, recorder = start_recorder(stage, room_url(server, ROOM))
    wait_for_media(recorder, storage)
    lost = next(storage.rglob("*-video.mkv"))
    lost.unlink()
    recorder.wait_for("the message", lambda: f"{lost.name} is gone" in recorder.messages)
    wait_for_seconds(recorder, storage, 2)
    interrupted(recorder, 5)
    assert camera.end() in (0, 130), camera.story()
    reasons, end = ends(lost.parent.parent)
    assert sorted(reasons.values())[0] == "notFound" and len(reasons) == 3 and end not in ("notFound", "inputOutput")
    assert exported.exists() and "is not there" in recorder.output + recorder.messages, recorder.story()
