# SPDX-License-Identifier: Apache-2.0
"""A Chromium call on python-socketio 5 over WebSocket, recorded; and our own camera on the same server."""

import json
import os
import time

import media
import pytest
from figures import SLACK, assert_all_counted, assert_plays, assert_synchronous, losses, whole_spans
from peers import room_url
from recordings import (interrupted, journal_of, record_some, recorded_layers, recording_folder, start_recorder, tracks,
                        wait_for_media, wait_for_more, wait_for_silence)
from stage import free_port

ROOM = "123123"


def record_until_silence(stage, server, browser, count, *flags, **query):
    """Records until Chromium has sent so many frames, then no more: the file, the recorder, and the frames it sent."""
    exported, recorder = start_recorder(stage, room_url(server, ROOM, **query), *flags)
    browser.wait_for_figure("framesSent", count)
    browser.tell("silence")
    browser.wait_for_event("silent")
    wait_for_silence(recorder, stage.folder / "storage")
    sent, = browser.figures("framesSent")
    return exported, interrupted(recorder), sent


@pytest.mark.media
@pytest.mark.parametrize("codec", ["vp8", "h264", pytest.param("vp9", marks=pytest.mark.long)])
def test_every_frame_of_chromium_is_recorded(stage, codec):
    server = stage.room_server(5, "--websocket-only")
    browser = stage.browser(server, ROOM, "--send", "--receive", "--codec", codec)
    exported, recorder, sent = record_until_silence(stage, server, browser, 240, transport="websocket", eio=4)
    assert browser.end() == 0
    assert_all_counted(exported, recorder, sent)
    video, = media.streams(exported, "video")
    assert video["codec_name"] == codec, recorder.story()


@pytest.mark.media
def test_the_best_layer_of_chromium_is_recorded(stage):
    """Its size is Chromium's affair: it makes the layer smaller while it does not know what the network takes."""
    server = stage.room_server(5, "--websocket-only")
    browser = stage.browser(server, ROOM, "--send", "--layers", "q=4", "h=2", "f=1")
    exported, recorder, _ = record_until_silence(stage, server, browser, 45, transport="websocket", eio=4)
    assert browser.end() == 0
    assert len(media.streams(exported, "video")) == 1, recorder.story()
    layers = recorded_layers(stage.folder / "storage")
    assert layers == [{"recorded": "f", "offered": ["f", "h", "q"]}], recorder.story()


@pytest.mark.media
def test_spatial_layers_of_chromium_are_one_picture(stage):
    """Each player decodes all layers of a keyframe: two decoders that differ would agree on the frames after it."""
    server = stage.room_server(5, "--websocket-only")
    browser = stage.browser(server, ROOM, "--send", "--codec", "vp9", "--spatial", "2", "--size", "640x480")
    exported, recorder, _ = record_until_silence(stage, server, browser, 240, transport="websocket", eio=4)
    assert browser.end() == 0
    # FFmpeg shows both frames of a keyframe at one time, which its muxer takes for a fault: `assert_plays` would fail.
    assert media.last_picture(exported, "vp9") == media.last_picture(exported, "libvpx-vp9"), recorder.story()
    journal = journal_of(recording_folder(stage.folder / "storage"))
    told = [(record["width"], record["height"]) for record in journal if record["kind"] == "format-changed"]
    assert told[-1] == media.last_size(exported), (told, recorder.story())


@pytest.mark.media
def test_stereo_of_chromium_is_recorded(stage):
    """Chromium sends one channel to whoever does not ask for two (RFC 7587 section 6.1)."""
    server = stage.room_server(5)
    browser = stage.browser(server, ROOM, "--send", "--size", "320x180", "--stereo")
    exported, recorder = record_some(stage, room_url(server, ROOM))
    sound, = media.streams(exported, "audio")
    left, right = (media.tone(exported, sound["index"], channel) for channel in (0, 1))
    assert (left, right) == (440, 1760), f"{left} and {right} Hz: {recorder.story()} {browser.story()}"


@pytest.mark.media
@pytest.mark.long
def test_chromium_learns_what_the_network_takes(stage):
    """By our transport-wide feedback: without any it stays with the 300 kbit/s that it begins with."""
    server = stage.room_server(5, "--websocket-only")
    browser = stage.browser(server, ROOM, "--send")
    start_recorder(stage, room_url(server, ROOM, transport="websocket", eio=4))
    browser.wait_for_figure("availableOutgoingBitrate", 1_000_000)


def test_the_answer_in_json_names_files_and_tracks(stage):
    server = stage.room_server(5)
    stage.browser(server, ROOM, "--send")
    exported, recorder = record_some(stage, room_url(server, ROOM))
    result = recorder.result()
    assert result["output"] == str(exported), json.dumps(result)
    assert sorted(track["kind"] for track in result["tracks"]) == ["audio", "video"], json.dumps(result)
    for track in result["tracks"]:
        stream, = media.streams(exported, track["kind"])
        first, last = media.span(exported, stream["index"])
        assert track["participant"] and track["codec"], json.dumps(result)
        assert track["units"] == len(media.packets(exported, stream["index"])) > 0, json.dumps(result)
        assert track["lostPackets"] or track["unitsLeftOut"] == 0, json.dumps(result)
        assert track["durationSeconds"] == pytest.approx(last - first, abs=0.1), json.dumps(result)
    assert (stage.folder / "storage") in stage.folder.joinpath(result["recording"]).parents, json.dumps(result)


@pytest.mark.media
@pytest.mark.parametrize("codec", ["vp8", pytest.param("h264", marks=pytest.mark.long)])
def test_flash_and_beep_of_our_camera_stay_together(stage, codec):
    server = stage.room_server(5, "--websocket-only")
    url = room_url(server, ROOM, transport="websocket", eio=4)
    camera = stage.tapedeck("camera", url, "--codec", codec, "--video", "test", "--audio", "test", "--size", "320x180")
    stage.members(server, ROOM, 1)
    exported, recorder = record_some(stage, url, seconds=12)
    assert_synchronous(exported, 3, recorder)
    assert camera.end() in (0, 130), camera.story()


@pytest.mark.media
@pytest.mark.long
def test_resizing_and_muting_end_no_file(stage):
    server = stage.room_server(5)
    browser = stage.browser(server, ROOM, "--send", "--resize", "2", "--mute-cycle", "3")
    exported, recorder, sent = record_until_silence(stage, server, browser, 240)
    assert_all_counted(exported, recorder, sent)


@pytest.mark.media
def test_a_call_put_on_hold_goes_on(stage):
    server = stage.room_server(5)
    browser = stage.browser(server, ROOM, "--send", "--receive", "--hold-cycle", "2")
    exported, recorder = start_recorder(stage, room_url(server, ROOM))

    def holds():
        return [fact["value"] for fact in browser.facts if fact.get("event") == "held"]
    browser.wait_for("a call put on hold twice", lambda: holds()[:4] == [True, False, True, False])
    sent, = browser.figures("framesSent")
    browser.wait_for_figure("framesSent", sent + 30)
    interrupted(recorder)
    # Each return starts with a keyframe that is asked for: what comes before it cannot be decoded.
    assert_plays(exported)
    video, = media.streams(exported, "video")
    times = [packet.time for packet in media.packets(exported, video["index"])]
    returns = [after for before, after in zip(times, times[1:]) if after - before > 1]
    assert len(returns) >= 2, f"{returns} {recorder.story()}"
    assert len([time for time in times if time >= returns[1]]) >= 10, recorder.story()


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_who_only_listens_is_left_in_peace_and_recorded_when_he_speaks(stage):
    server = stage.room_server(5)
    browser = stage.browser(server, ROOM, "--send", "--receive")
    exported, recorder = start_recorder(stage, room_url(server, ROOM))
    wait_for_media(recorder, stage.folder / "storage")

    def turn(direction):
        browser.tell(f"set direction {direction}")
        browser.wait_for(direction, lambda: any(fact.get("what") == f"direction {direction}" for fact in browser.facts))
    turn("inactive")
    # Silence ended a call after 29 s.
    listened = float(os.environ.get("TAPEDECK_LISTEN", "40"))
    time.sleep(listened)
    before, = browser.figures("framesSent")
    turn("sendrecv")
    browser.wait_for_figure("framesSent", before + 60)
    wait_for_more(recorder, stage.folder / "storage")
    sent, = browser.figures("framesSent")
    interrupted(recorder)
    assert_plays(exported)
    times = [packet.time for stream in media.streams(exported, "video")
             for packet in media.packets(exported, stream["index"])]
    # The longest pause is that in which nothing was sent: what comes behind it begins with the first keyframe.
    again = max(zip(times, times[1:]), key=lambda pair: pair[1] - pair[0])[1]
    recorded = len([time for time in times if time >= again])
    print(f"listened for {listened} s, then sent {sent - before} frames: {recorded} are recorded, {losses(recorder)}")
    assert sent - before - losses(recorder).frames - SLACK <= recorded, recorder.story()
    assert not any(text in recorder.messages for text in ("peer is silent", "call failed", "call reset")), recorder.story()
    assert len([fact for fact in browser.facts if fact.get("event") == "connected"]) == 1


@pytest.mark.media
@pytest.mark.long
def test_who_joins_after_the_server_was_away_for_long_is_recorded(stage):
    """A command has five attempts; without a connected peer it would end. A camera and its recorder both come back."""
    flags = ("--listen", f"127.0.0.1:{free_port()}", "--room-size", "3")
    server, storage = stage.serve(*flags), stage.folder / "storage"
    url = room_url(server, ROOM)
    camera = stage.tapedeck("camera", url, "--size", "320x180", "--log-level", "info")
    camera.wait_for("the room", lambda: "joined the room" in camera.messages)
    exported, recorder = start_recorder(stage, url, "--log-level", "info")
    wait_for_media(recorder, storage)
    server.kill()
    for process in (camera, recorder):
        process.wait_for("an attempt after the fifth", lambda: "attempt.number=7" in process.messages)
    wait_for_more(recorder, storage)
    server = stage.serve(*flags)
    for process in (camera, recorder):
        process.wait_for("the room again", lambda: process.messages.count("joined the room") == 2)
    before = len(tracks(storage))
    late = stage.browser(server, ROOM, "--send")
    recorder.wait_for("tracks of who is late", lambda: len(tracks(storage)) >= before + 2)
    sent, = late.figures("framesSent")
    late.wait_for_figure("framesSent", sent + 60)
    interrupted(recorder)
    assert_plays(exported)
    assert len(whole_spans(exported, "video")) >= 2, recorder.story()
    assert late.end() == 0, late.story()
    assert camera.end() in (0, 130), camera.story()
