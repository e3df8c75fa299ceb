# SPDX-License-Identifier: Apache-2.0
"""People are shown by name: from the page of `tapedeck serve` and `camera --name` to titles, chapters, files and tables."""

import json
import re

import media
import pytest
from peers import room_url
from recordings import interrupted, journal_of, recording_folder, start_recorder, tracks, wait_for_media
from stage import LIMIT, PEERS, python

ROOM = "standup"


@pytest.mark.media
def test_two_people_of_one_name_and_a_third(stage):
    server = stage.serve("--room-size", "4")
    url = room_url(server, ROOM)
    zoe = stage.start("page", python("peers"), PEERS / "browser_peer.py", "--page", f"http://127.0.0.1:{server.port}/",
                      "--room", ROOM, "--name", "Zoë")
    zoe.wait_for_event("joined")
    anns = [stage.tapedeck("camera", url, "--name", "Ann", "--size", "320x180", "--bitrate", "200k") for _ in range(2)]
    exported, recorder = start_recorder(stage, url)
    storage = stage.folder / "storage"
    wait_for_media(recorder, storage, 6)
    interrupted(recorder)
    folder = recording_folder(storage)
    story = media.describe(exported) + recorder.story()

    titles = sorted(stream["tags"]["title"] for stream in media.streams(exported))
    names = ["Ann", "Ann (2)", "Zoë"]
    assert titles == sorted(f"{name} – {kind}" for name in names for kind in ("audio", "video")), story
    identified = json.loads(media.run("mkvmerge", "-J", exported))
    assert sorted(track["properties"]["track_name"] for track in identified["tracks"]) == titles, story
    chapters = [chapter["tags"]["title"] for chapter in json.loads(media.run(
        "ffprobe", "-v", "error", "-show_chapters", "-of", "json", exported))["chapters"]]
    assert {f"{name} joined" for name in names} <= set(chapters), f"{chapters}\n{story}"
    files = sorted(re.sub(r"^\d+-", "", path.name) for path in tracks(storage))
    assert files == sorted(f"{name}-{kind}" for name in ("Ann", "Ann_2", "Zoe") for kind in ("audio.mka", "video.mkv")), \
        f"{files}\n{story}"

    # Ids stay where programs read, and distinguish the two.
    ids = {track["participant"] for track in recorder.result()["tracks"]}
    assert len(ids) == 3 and not ids & set(names), story
    joined = {record["participant"]: record["name"] for record in journal_of(folder)
              if record["kind"] == "participant-joined"}
    assert set(joined) == ids and sorted(joined.values()) == ["Ann", "Ann", "Zoë"], f"{joined}\n{story}"
    manifest = json.loads((folder / "manifest.json").read_text())
    assert {person["id"]: person["name"] for person in manifest["participants"]} == joined, story

    whole = stage.run_tapedeck("export", folder, "--output", stage.folder / "again.mkv")
    rows = [line.split("  ") for line in whole.output.splitlines() if re.search(r"  (video|audio) ", line)]
    assert sorted(row[1].strip() for row in rows) == sorted(names * 2), whole.story()
    shown = stage.run_tapedeck("recordings", "show", folder)
    assert "Ann (2)" in shown.output and "Zoë" in shown.output, shown.story()
    one = stage.run_tapedeck("export", folder, "--participant", "Zoë", "--output", stage.folder / "zoe.mkv")
    assert one.exit_code == 0, one.story()
    assert {stream["tags"]["title"] for stream in media.streams(stage.folder / "zoe.mkv")} == {
        "Zoë – audio", "Zoë – video"}
    several = stage.run_tapedeck("export", folder, "--participant", "Ann", "--output", stage.folder / "ann.mkv")
    assert several.exit_code == 2, several.story()
    for participant, name in joined.items():
        assert (participant in several.messages) == (name == "Ann"), several.story()
    assert not (stage.folder / "ann.mkv").exists()
    for camera in anns:
        assert camera.end(LIMIT) in (0, 130), camera.story()
    assert zoe.end() == 0
