# SPDX-License-Identifier: Apache-2.0
"""People are shown by name: from the page of `tapedeck serve` and `camera --name` to titles, chapters, files and tables."""

import json
import re
import unicodedata
import urllib.parse

import media
import pytest
from figures import assert_whole
from peers import room_url
from recordings import interrupted, journal_of, record_frames, recording_folder, start_recorder, tracks, wait_for_media
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


@pytest.mark.media
def test_names_of_signs_that_no_path_has(stage):
    """Slashes, dots, emoji, and letters that turn the direction of text: files below the storage, and titles of one line."""
    server, room = stage.serve("--room-size", "3"), "../réunion/🎥 a?b#c."
    url = room_url(server, urllib.parse.quote(room, safe=""))
    names = ["../../Ann/étage 3/🎥", "\u202egnp.exe\u202c " + "👩‍👩‍👧" * 20]
    cameras = [stage.tapedeck("camera", url, "--name", name, "--size", "320x180", "--bitrate", "200k") for name in names]
    exported, recorder = start_recorder(stage, url)
    storage = stage.folder / "storage"
    wait_for_media(recorder, storage, 4)
    interrupted(recorder)
    folder, story = recording_folder(storage), recorder.story()
    assert folder.parent.parent == storage / "recordings" and json.loads((folder / "manifest.json").read_text())["room"] == room, story
    files = tracks(storage)
    assert len(files) == 4 and all(path.parent == folder / "tracks" for path in files), story
    assert all(path.name.isascii() and len(path.name) < 100 for path in files), files
    titles = [stream["tags"]["title"] for stream in media.streams(exported)]
    shown = {title.rsplit(" – ", 1)[0] for title in titles}
    assert len(titles) == 4 and names[0] in shown and len(shown) == 2, titles
    # Nothing that turns text; what joins the parts of an emoji is of the same category.
    assert not {sign for title in titles for sign in title if unicodedata.category(sign) in ("Cc", "Cf")} - {"\u200d"}, titles
    verified = stage.run_tapedeck("verify", folder)
    assert verified.exit_code == 0, verified.story()
    for camera in cameras:
        assert camera.end(LIMIT) in (0, 130), camera.story()


@pytest.mark.media
def test_a_foreign_room_of_an_odd_name(stage):
    server, room = stage.room_server(5), "réunion/🎥 a?b#c%2F"
    peer = stage.aiortc(server, room, "--send", "synthetic", "--size", "320x180", "--fps", "15")
    exported, recorder, sent = record_frames(stage, room_url(server, urllib.parse.quote(room, safe="")), peer, 45)
    assert_whole(exported, recorder, sent)
    assert json.loads((recording_folder(stage.folder / "storage") / "manifest.json").read_text())["room"] == room
