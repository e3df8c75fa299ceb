# SPDX-License-Identifier: Apache-2.0
"""A recording that is cut into segments, and one that begins before it was ordered."""

import json
import pathlib
import time

import media
import pytest
from daemon import Daemon
from figures import assert_plays, assert_sound, losses
from peers import room_url
from recordings import interrupted, journal_of, wait_for_media, wait_for_seconds
from stage import LIMIT, json_objects

ROOM = "123123"


def record_segments(stage, url):
    """Records until there is a second segment, at least, with some media in it."""
    storage = stage.folder / "storage"
    recorder = stage.tapedeck("record", url, "--segment", "2s", "--directory", storage, "--json")
    wait_for_media(recorder, storage, 4)
    interrupted(recorder)
    return recorder


def test_segments_follow_each_other_without_a_frame_lost(stage):
    server = stage.room_server(5)
    peer = stage.aiortc(server, ROOM, "--send", "synthetic", "--size", "320x180")
    recorder = record_segments(stage, room_url(server, ROOM))
    peer.end(LIMIT)
    results = [result for result in json_objects(recorder.output.splitlines()) if "recording" in result]
    assert len(results) >= 2, recorder.story()
    manifests = [json.loads((stage.folder / result["recording"] / "manifest.json").read_text()) for result in results]
    assert [manifest["segment"] for manifest in manifests] == list(range(1, len(results) + 1))
    assert {manifest["series"] for manifest in manifests} == {manifests[0]["id"]}
    counters, sound = [], 0
    ends = []
    for result in results:
        assert_plays(pathlib.Path(result["output"]))
        heard = media.streams(result["output"], "audio")
        sound += sum(len(media.packets(result["output"], stream["index"])) for stream in heard)
        # The last one may have ended with its first frame.
        assert len(heard) == 1 or result is results[-1], media.describe(result["output"])
        if result is results[-1] and not media.streams(result["output"], "video"):
            # It ended before the video came to a keyframe: its last frames are in the segment before.
            continue
        found = [frame.counter for frame in media.frames(result["output"])]
        assert found[0] is not None and sum(counter is None for counter in found) < len(found) / 4, found
        # Frames that are too poor to read are there all the same, each after another.
        for index, counter in enumerate(found):
            if counter is None:
                found[index] = found[index - 1] + 1
        counters += found
        ends += [found[0], found[-1]]
    # Every frame is in one of them, once.
    lost = losses(recorder)
    assert counters == sorted(set(counters)), counters
    assert counters[-1] - counters[0] + 1 - len(counters) <= lost.frames, f"{ends} {counters} {lost}"
    assert sound >= 50


def test_a_series_is_exported_as_one(stage):
    server = stage.serve()
    url = room_url(server, "series")
    camera = stage.tapedeck("camera", url, "--size", "320x180", "--json")
    storage = stage.folder / "storage"
    recorder = record_segments(stage, url)
    camera.end(LIMIT)
    folders = sorted((storage / "recordings" / "series").iterdir())
    assert len(folders) >= 2, recorder.story()
    manifests = [json.loads((folder / "manifest.json").read_text()) for folder in folders]
    export = stage.run_tapedeck("export", folders[-1], "--series", "--json", timeout=LIMIT)
    assert export.exit_code == 0, export.story()
    whole = folders[0] / "call-series.mkv"
    assert_plays(whole)
    assert [stream["codec_name"] for stream in media.streams(whole)] == ["vp8", "opus"], media.describe(whole)
    found = media.frames(whole)
    lost = losses(recorder)
    counters = [frame.counter for frame in found if frame.counter is not None]
    assert len(counters) >= 30 and all(before < after for before, after in zip(counters, counters[1:])), counters
    for index, kind in enumerate(("video", "audio")):
        units = sum(track["units"] for manifest in manifests for track in manifest["tracks"] if track["media"] == kind)
        times = [packet.time for packet in media.packets(whole, index)]
        assert len(times) == units - (losses(export).left_out if kind == "video" else 0), media.describe(whole)
    # A cut is nowhere to be heard.
    assert_sound(whole, 1, lost, media.describe(whole))
    titles = [chapter["tags"]["title"] for chapter in json.loads(media.run(
        "ffprobe", "-v", "error", "-show_chapters", "-of", "json", whole))["chapters"]]
    assert "Segment 2" in titles and sum(title.endswith(" joined") for title in titles) == 1, titles
    for path in (whole, folders[0]):
        verify = stage.run_tapedeck("verify", path, "--json", timeout=LIMIT)
        assert verify.exit_code == 0, verify.story()
    refused = stage.run_tapedeck("export", folders[0], "--series", "--layout", "grid", timeout=LIMIT)
    assert refused.exit_code == 2 and "one segment at a time" in refused.whole_story(), refused.story()

    # By a daemon that finds them there.
    whole.unlink()
    daemon = Daemon(stage, {"series": {"url": url, "join": "on-demand"}}, storage={"directory": str(storage)})
    daemon.wait_for("the recordings", lambda: len(daemon.recordings()) >= len(folders), LIMIT)
    queued = daemon.post(f"/v1/recordings/{manifests[-1]['id']}/exports", {"series": True, "container": "webm"})
    assert queued["recording"] == manifests[0]["id"]
    done = daemon.wait_for("the export", lambda: next(
        (item for item in daemon.get(f"/v1/recordings/{queued['recording']}/exports")["exports"]
         if item["id"] == queued["id"] and item["state"] in ("done", "failed")), None), LIMIT)
    assert done["state"] == "done" and done["file"] == "call-series.webm", done
    assert len(media.packets(folders[0] / "call-series.webm", 0)) == len(found)
    daemon.post(f"/v1/recordings/{manifests[0]['id']}/exports", {"project": True, "keepDamaged": True})
    daemon.wait_for("the project", (folders[0] / "call.otio").exists, LIMIT)
    assert daemon.process.end(LIMIT) == 0, daemon.process.story()


@pytest.mark.long
def test_a_sender_without_keyframes_is_whole_in_the_series(stage):
    """It goes over 20 s after each cut is due; the second time out of a segment that has no keyframe at all."""
    server = stage.room_server(5)
    peer = stage.aiortc(server, ROOM, "--send", "synthetic", "--size", "320x180", "--ignore-keyframe-requests")
    recorder = stage.run_tapedeck("record", room_url(server, ROOM), "--segment", "10s", "--duration", "66s",
                                  "--directory", stage.folder / "storage", "--json", timeout=2 * LIMIT)
    peer.end(LIMIT)
    assert recorder.exit_code == 0, recorder.story()
    folders = sorted((stage.folder / "storage" / "recordings" / ROOM).iterdir())
    records = [journal_of(folder) for folder in folders]
    cut = [[record["lost"] for record in journal if record["kind"] == "track-damaged"] for journal in records]
    assert cut[:3] == [[], [0], [0]], recorder.story()
    alone = stage.run_tapedeck("export", folders[1], "--output", stage.folder / "alone.mkv", timeout=LIMIT)
    assert [stream["codec_name"] for stream in media.streams(stage.folder / "alone.mkv")] == ["opus"], alone.story()
    export = stage.run_tapedeck("export", folders[0], "--series", timeout=LIMIT)
    assert export.exit_code == 0, export.story()
    whole = folders[0] / "call-series.mkv"
    assert_plays(whole)
    manifests = [json.loads((folder / "manifest.json").read_text()) for folder in folders]
    units = [track["units"] for manifest in manifests for track in manifest["tracks"] if track["media"] == "video"]
    assert len(units) >= 3 and len(media.packets(whole, 0)) == sum(units), media.describe(whole)
    assert media.lost_frames(media.frames(whole)) == [], media.describe(whole)


def test_a_recording_begins_before_it_was_ordered(stage):
    server = stage.room_server(5)
    daemon = Daemon(stage, {"standup": {"url": room_url(server, ROOM), "record": {
        "automatic": False, "preroll": "2s", "tags": ["weekly"], "notes": "With guests", "empty_after": "1s"}}})
    daemon.wait_for_phase("standup", "joined", LIMIT)
    peer = stage.aiortc(server, ROOM, "--send", "synthetic", "--size", "320x180")
    daemon.wait_for("its tracks", lambda: len(daemon.room("standup")["status"]["tracks"]) >= 2, LIMIT)
    # More than is kept.
    sent, = peer.figures("framesSent")
    peer.wait_for_figure("framesSent", sent + 120)
    ordered = time.time()
    daemon.post("/v1/rooms/standup/record")
    daemon.wait_for_recording("standup", LIMIT)
    marked = stage.run_tapedeck("mark", "standup", "found again", "--api", daemon.url, timeout=LIMIT)
    assert marked.exit_code == 0, marked.story()
    status, _, answer = daemon.request("PATCH", "/v1/rooms/standup",
                                       {"record": {"tags": ["weekly", "late"], "notes": "With a guest"}})
    assert status == 200, answer
    # The media that were kept, and those after the order.
    wait_for_seconds(daemon.process, daemon.storage, 3)
    peer.end(LIMIT)
    folder, = daemon.wait_for_export("standup", LIMIT)
    assert_plays(folder / "call.mkv")
    manifest = json.loads((folder / "manifest.json").read_text())
    assert manifest["tags"] == ["weekly", "late"] and manifest["notes"] == "With a guest"
    records = journal_of(folder)
    assert records[0]["tags"] == ["weekly"] and records[0]["notes"] == "With guests"
    assert [record["text"] for record in records if record["kind"] == "marker" and record["name"] == "mark"] == [
        "found again"]
    began = next(record["at"] for record in records if record["kind"] == "recording-started") / 1e9
    assert began < time.clock_gettime(time.CLOCK_MONOTONIC) - time.time() + ordered - 1
    # It is found by what was said of it, and by nothing else.
    for text in ("LATE", "a%20guest"):
        found, = daemon.wait_for(f"it by {text}", lambda text=text: daemon.get(
            f"/v1/recordings?text={text}")["recordings"], LIMIT)
        assert found["id"] == manifest["id"] and found["tags"] == ["weekly", "late"], found
    assert daemon.get("/v1/recordings?text=biweekly")["recordings"] == []
    one = daemon.get(f"/v1/recordings/{manifest['id']}")
    assert one["tags"] == ["weekly", "late"] and one["notes"] == "With a guest"
    shown = stage.run_tapedeck("recordings", "show", manifest["id"], "--directory", daemon.storage)
    assert "weekly, late" in shown.output and "With a guest" in shown.output, shown.story()
    listed = stage.run_tapedeck("recordings", "--directory", daemon.storage, "--json").result()
    assert listed["tags"] == ["weekly", "late"] and listed["notes"] == "With a guest", listed
    video, = media.streams(folder / "call.mkv", "video")
    first, last = media.span(folder / "call.mkv", video["index"])
    assert last - first > 2
    assert daemon.process.end(LIMIT) == 0, daemon.process.story()
