# SPDX-License-Identifier: Apache-2.0
"""Packets that were lost on the way and came again: counted per track, and reported wherever a recording is judged."""

import json
import time

from recordings import journal_of, recording_folder
import pytest

pytestmark = [pytest.mark.media, pytest.mark.long]


@pytest.mark.parametrize("first", ["camera", "recorder"])
def test_retransmissions_are_counted(stage, lossy, first):
    """The first peer in the room makes the offer."""
    server = stage.start("room", *lossy.inside("r", stage.tapedeck_path, "serve", "--listen", "0.0.0.0:0", "--json"))
    port = server.wait_for_port()
    storage = stage.folder / "storage"
    room = f"/lossy-{first}"

    def start_camera():
        camera = stage.start("tapedeck-camera", *lossy.inside(
            "b", stage.tapedeck_path, "camera", f"socketio+http://{lossy.router('b')}:{port}{room}", "--size",
            "640x360", "--bitrate", "1500k", "--json"))
        camera.wait_for("it to be there", lambda: "joined" in camera.messages)
        return camera

    def start_recorder():
        recorder = stage.start("tapedeck-record", *lossy.inside(
            "a", stage.tapedeck_path, "record", f"socketio+http://{lossy.router('a')}:{port}{room}", "--duration",
            "12s", "--directory", storage, "--json"))
        recorder.wait_for("it to be there", lambda: "joined" in recorder.messages)
        return recorder

    if first == "camera":
        camera, recorder = start_camera(), start_recorder()
    else:
        recorder, camera = start_recorder(), start_camera()
    recorder.wait_for("a file", lambda: list(storage.rglob("*video.mkv")))
    time.sleep(2)
    lossy.rule("lossy", "meta l4proto udp numgen random mod 100 < 8 drop")
    time.sleep(6)
    lossy.without_rules("lossy")
    assert recorder.wait() == 0, recorder.story()
    camera.end()
    folder = recording_folder(storage)

    verify = stage.run_tapedeck("verify", folder, "--json")
    tracks = {track["media"]: track for track in verify.result()["tracks"]}
    assert tracks["video"]["packets_repaired"] > 10, tracks
    # Audio is concealed, not repeated.
    assert tracks["audio"]["packets_repaired"] == 0 < tracks["audio"]["packets_lost"], tracks
    counted = [record for record in journal_of(folder) if record["kind"] == "packets-counted"]
    last = [record for record in counted if record["track"] == tracks["video"]["number"]][-1]
    assert last["repaired"] == tracks["video"]["packets_repaired"], counted
    manifest = json.loads((folder / "manifest.json").read_text())
    noted = {track["media"]: track["packets_repaired"] for track in manifest["certificate"]["tracks"]}
    assert noted["video"] == tracks["video"]["packets_repaired"], noted
    assert "repaired" in (folder / "certificate.txt").read_text()
