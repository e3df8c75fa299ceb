# SPDX-License-Identifier: Apache-2.0
"""An aiortc call on python-socketio 4 (Engine.IO 3), polling only, recorded; and our own camera on the same server."""

import media
import pytest
from figures import MINIMUM_FRAME_SHARE, assert_complete, assert_synchronous
from harness import record, room_url

pytestmark = pytest.mark.alone

ROOM = "123123"


@pytest.mark.parametrize("codec", ["vp8", "h264"])
def test_every_frame_of_aiortc_is_recorded(stage, codec):
    # The peer's own client, python-engineio 3, loses its session when it has nothing to say for the ping time-out.
    server = stage.room_server(4, "--polling-only", "--ping-timeout", "60")
    peer = stage.aiortc(server, ROOM, "--send", "synthetic", "--codec", codec, transport="polling")
    exported, recorder = record(stage, room_url(server, ROOM, transport="polling", eio=3), 20)
    closed = peer.wait_for_event("closed", 10)
    assert peer.end() == 0
    assert_complete(exported, closed["framesSent"], recorder)
    video, = media.streams(exported, "video")
    frames = media.frames(exported, video["index"])
    lost = media.lost_frames(frames)
    assert sum(abs(number) for _, number in lost) <= 0.01 * len(frames), f"lost {lost}\n{recorder.story()}"


@pytest.mark.parametrize("codec, name", [
    ("pcmu", "pcm_mulaw"), pytest.param("pcma", "pcm_alaw", marks=pytest.mark.long)])
def test_telephone_sound_is_recorded(stage, codec, name):
    server = stage.room_server(4, "--polling-only", "--ping-timeout", "60")
    peer = stage.aiortc(server, ROOM, "--send", "synthetic", "--codec", "vp8", "--audio-codec", codec,
                        transport="polling")
    exported, recorder = record(stage, room_url(server, ROOM, transport="polling", eio=3), 15)
    closed = peer.wait_for_event("closed", 10)
    assert peer.end() == 0
    assert_complete(exported, closed["framesSent"], recorder)
    sound, = media.streams(exported, "audio")
    assert (sound["codec_name"], sound["sample_rate"], sound["channels"]) == (name, "8000", 1), recorder.story()
    packets = media.packets(exported, sound["index"])
    assert len(packets) >= MINIMUM_FRAME_SHARE * closed["audioPacketsSent"], f"{closed}\n{recorder.story()}"
    # A beep a second, each with its flash.
    video, = media.streams(exported, "video")
    offsets = media.flash_to_beep(media.frames(exported, video["index"]), media.beeps(exported, sound["index"]))
    assert len(offsets) >= 12, recorder.story()


def test_the_version_is_found_by_itself(stage):
    server = stage.room_server(4)
    stage.aiortc(server, ROOM, "--send", "synthetic", transport="polling")
    exported, recorder = record(stage, room_url(server, ROOM), 4)
    assert media.streams(exported, "video"), recorder.story()


def test_flash_and_beep_of_our_camera_stay_together(stage):
    server = stage.room_server(4, "--polling-only")
    url = room_url(server, ROOM, transport="polling", eio=3)
    camera = stage.tapedeck("camera", url, "--codec", "vp8", "--video", "test", "--audio", "test")
    stage.members(server, ROOM, 1)
    exported, recorder = record(stage, url, 20)
    assert_synchronous(exported, 17, recorder)
    assert camera.end() in (0, 130), camera.story()


@pytest.mark.parametrize("variant", ["three-arguments", "echo", "broadcast-joined", "otherjoin-room-only", "renamed",
                                     "greeting"])
def test_server_variants_are_understood(stage, variant):
    server = stage.room_server(4, "--variant", variant)
    # The stock browser client does not know the renamed events: there the newcomer must be the one who is offered.
    flags = ("--send", "synthetic")
    if variant == "renamed":
        recorder = stage.tapedeck("record", room_url(server, ROOM, eio=3), "--duration", "4s", "--directory",
                                  stage.folder / "storage", "--output", stage.folder / "call.mkv", "--json")
        stage.members(server, ROOM, 1)
        stage.aiortc(server, ROOM, *flags, transport="polling")
        assert recorder.wait(40) == 0, recorder.story()
        exported = stage.folder / "call.mkv"
    else:
        stage.aiortc(server, ROOM, *flags, transport="polling")
        exported, recorder = record(stage, room_url(server, ROOM, eio=3), 4)
    assert media.streams(exported, "video"), recorder.story()
