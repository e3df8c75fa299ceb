# SPDX-License-Identifier: Apache-2.0
"""A Chromium call on python-socketio 5 over WebSocket, recorded; and our own camera on the same server."""

import json

import media
import pytest
from figures import assert_complete, assert_plays, assert_synchronous, video_packets
from harness import record, room_url

pytestmark = pytest.mark.alone

ROOM = "123123"


@pytest.mark.parametrize("codec", ["vp8", "h264", "vp9"])
def test_every_frame_of_chromium_is_recorded(stage, codec):
    server = stage.room_server(5, "--websocket-only")
    browser = stage.browser(server, ROOM, "--send", "--receive", "--codec", codec)
    exported, recorder = record(stage, room_url(server, ROOM, transport="websocket", eio=4), 20)
    closed = browser.wait_for_event("closed", 10)
    assert browser.end() == 0
    assert_complete(exported, closed["framesSent"], recorder)
    video, = media.streams(exported, "video")
    assert video["codec_name"] == codec, recorder.story()


def test_the_answer_in_json_names_files_and_tracks(stage):
    server = stage.room_server(5)
    stage.browser(server, ROOM, "--send")
    exported, recorder = record(stage, room_url(server, ROOM), 5)
    result = recorder.result()
    assert result["output"] == str(exported), json.dumps(result)
    assert sorted(track["kind"] for track in result["tracks"]) == ["audio", "video"], json.dumps(result)
    for track in result["tracks"]:
        assert track["participant"] and track["codec"], json.dumps(result)
        assert track["units"] > 100 and 3 <= track["durationSeconds"] <= 7, json.dumps(result)
    assert (stage.folder / "storage") in stage.folder.joinpath(result["recording"]).parents, json.dumps(result)


@pytest.mark.parametrize("codec", ["vp8", pytest.param("h264", marks=pytest.mark.long)])
def test_flash_and_beep_of_our_camera_stay_together(stage, codec):
    server = stage.room_server(5, "--websocket-only")
    url = room_url(server, ROOM, transport="websocket", eio=4)
    camera = stage.tapedeck("camera", url, "--codec", codec, "--video", "test", "--audio", "test")
    stage.members(server, ROOM, 1)
    exported, recorder = record(stage, url, 20)
    assert_synchronous(exported, 17, recorder)
    assert camera.end() in (0, 130), camera.story()


def test_resizing_and_muting_end_no_file(stage):
    server = stage.room_server(5)
    browser = stage.browser(server, ROOM, "--send", "--resize", "2", "--mute-cycle", "3")
    exported, recorder = record(stage, room_url(server, ROOM), 10)
    closed = browser.wait_for_event("closed", 10)
    assert_complete(exported, closed["framesSent"], recorder)


def test_a_call_put_on_hold_goes_on(stage):
    server = stage.room_server(5)
    browser = stage.browser(server, ROOM, "--send", "--receive", "--hold-cycle", "3")
    exported, recorder = record(stage, room_url(server, ROOM), 14)
    closed = browser.wait_for_event("closed", 10)
    holds = [fact for fact in browser.facts if fact.get("event") == "held"]
    assert len(holds) >= 3, browser.story()
    # Each return starts with a keyframe that is asked for: what comes before it cannot be decoded.
    assert_plays(exported)
    assert video_packets(exported) >= 0.9 * closed["framesSent"], recorder.story()
