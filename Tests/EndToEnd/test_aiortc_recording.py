# SPDX-License-Identifier: Apache-2.0
"""An aiortc call on python-socketio 4 (Engine.IO 3), polling only, recorded; and our own camera on the same server."""

import media
import pytest
from figures import SLACK, assert_synchronous, assert_whole, losses
from peers import caught_up, room_url
from recordings import interrupted, record_frames, record_some, start_recorder, wait_for_media

ROOM = "123123"
VARIANTS = ["three-arguments", "renamed", *(pytest.param(name, marks=pytest.mark.long) for name in (
    "echo", "broadcast-joined", "otherjoin-room-only", "greeting"))]


@pytest.mark.media
@pytest.mark.parametrize("codec", ["vp8", pytest.param("h264", marks=pytest.mark.long)])
def test_every_frame_of_aiortc_is_recorded(stage, codec):
    server = stage.room_server(4, "--polling-only")
    peer = stage.aiortc(server, ROOM, "--send", "synthetic", "--codec", codec, transport="polling")
    url = room_url(server, ROOM, transport="polling", eio=3)
    exported, recorder, sent = record_frames(stage, url, peer, 300)
    closed = peer.wait_for_event("closed")
    assert peer.end() == 0
    assert_whole(exported, recorder, sent)
    video, = media.streams(exported, "video")
    assert len(media.packets(exported, video["index"])) <= closed["framesSent"], recorder.story()


@pytest.mark.media
@pytest.mark.parametrize("codec, name", [("pcmu", "pcm_mulaw"),
                                         pytest.param("pcma", "pcm_alaw", marks=pytest.mark.long)])
def test_telephone_sound_is_recorded(stage, codec, name):
    server = stage.room_server(4, "--polling-only")
    peer = stage.aiortc(server, ROOM, "--send", "synthetic", "--codec", "vp8", "--audio-codec", codec,
                        transport="polling")
    exported, recorder = start_recorder(stage, room_url(server, ROOM, transport="polling", eio=3))
    peer.wait_for_figure("framesSent", 240)
    frames_sent, packets_sent = peer.figures("framesSent", "audioPacketsSent")
    caught_up(peer, recorder)
    interrupted(recorder)
    assert peer.end() == 0
    assert_whole(exported, recorder, frames_sent)
    sound, = media.streams(exported, "audio")
    assert (sound["codec_name"], sound["sample_rate"], sound["channels"]) == (name, "8000", 1), recorder.story()
    packets = media.packets(exported, sound["index"])
    # As many milliseconds of slack as for video.
    slack = SLACK * 50 // 30 + losses(recorder).audio
    assert len(packets) >= packets_sent - slack, f"{len(packets)} of {packets_sent} packets: {recorder.story()}"
    # A beep a second, each with its flash.
    video, = media.streams(exported, "video")
    offsets = media.flash_to_beep(media.frames(exported, video["index"]), media.beeps(exported, sound["index"]))
    assert len(offsets) >= 6, recorder.story()


def test_the_version_is_found_by_itself(stage):
    server = stage.room_server(4)
    stage.aiortc(server, ROOM, "--send", "synthetic", transport="polling")
    exported, recorder = record_some(stage, room_url(server, ROOM))
    assert media.streams(exported, "video"), recorder.story()


@pytest.mark.media
@pytest.mark.long
def test_flash_and_beep_of_our_camera_stay_together(stage):
    server = stage.room_server(4, "--polling-only")
    url = room_url(server, ROOM, transport="polling", eio=3)
    camera = stage.tapedeck("camera", url, "--codec", "vp8", "--video", "test", "--audio", "test", "--size", "320x180")
    stage.members(server, ROOM, 1)
    exported, recorder = record_some(stage, url, seconds=12)
    assert_synchronous(exported, 3, recorder)
    assert camera.end() in (0, 130), camera.story()


@pytest.mark.parametrize("variant", VARIANTS)
def test_server_variants_are_understood(stage, variant):
    server = stage.room_server(4, "--variant", variant)
    # The stock browser client does not know the renamed events: there the newcomer must be the one who is offered.
    flags = ("--send", "synthetic")
    if variant == "renamed":
        exported, recorder = start_recorder(stage, room_url(server, ROOM, eio=3))
        stage.members(server, ROOM, 1)
        stage.aiortc(server, ROOM, *flags, transport="polling")
        wait_for_media(recorder, stage.folder / "storage")
        interrupted(recorder)
    else:
        stage.aiortc(server, ROOM, *flags, transport="polling")
        exported, recorder = record_some(stage, room_url(server, ROOM, eio=3))
    assert media.streams(exported, "video"), recorder.story()
