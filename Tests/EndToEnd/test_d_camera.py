# SPDX-License-Identifier: Apache-2.0
"""Foreign peers receive `tapedeck camera`, in both codecs."""

import pytest
from figures import number
from harness import room_url

pytestmark = pytest.mark.alone

ROOM = "123123"
SHARE = 0.95


def assert_received(camera, figures, decoded):
    sent = number(camera.result(), "framesSent")
    assert sent and sent >= 200, f"framesSent {sent}\n{camera.story()}"
    assert decoded >= SHARE * sent, f"{decoded} of {sent} frames were decoded: {figures}\n{camera.story()}"
    assert decoded <= sent, f"{decoded} frames decoded, but only {sent} sent: {figures}\n{camera.story()}"


@pytest.mark.parametrize("codec", ["vp8", "h264"])
def test_chromium_decodes_the_camera(stage, codec):
    server = stage.room_server(5)
    browser = stage.browser(server, ROOM, "--receive")
    camera = stage.run_tapedeck("camera", room_url(server, ROOM), "--codec", codec, "--video", "test", "--audio",
                                "test", "--duration", "12s", "--json", timeout=40)
    assert camera.exit_code == 0, camera.story()
    figures = browser.wait_for_event("closed", 10)
    assert figures["codecReceived"].lower() == f"video/{codec}", browser.story()
    assert figures["sizeReceived"] == [1280, 720], browser.story()
    assert_received(camera, figures, figures["framesDecoded"])
    assert figures["audioPacketsReceived"] >= 0.95 * 50 * 10, browser.story()


@pytest.mark.parametrize("codec", ["vp8", "h264"])
def test_aiortc_decodes_the_camera(stage, codec):
    server = stage.room_server(4, "--polling-only")
    # The camera is first here: it offers.
    camera = stage.tapedeck("camera", room_url(server, ROOM, transport="polling", eio=3), "--codec", codec, "--video",
                            "test", "--audio", "test", "--duration", "15s", "--json")
    stage.members(server, ROOM, 1)
    peer = stage.aiortc(server, ROOM, "--receive", transport="polling")
    assert camera.wait(40) == 0, camera.story()
    figures = peer.wait_for_event("closed", 10)
    assert_received(camera, figures, figures["framesDecoded"])
    assert figures["audioGaps"] == 0 and figures["audioFramesReceived"] > 400, peer.story()
    # The counter tells frames apart: nothing is shown twice, nothing is left out.
    shown = figures["lastCounter"] - figures["firstCounter"] + 1
    assert figures["countersRead"] >= SHARE * shown, peer.story()


def test_codec_preference_gives_way_to_what_the_peer_takes(stage):
    server = stage.room_server(5)
    browser = stage.browser(server, ROOM, "--receive", "--codec", "vp8")
    camera = stage.run_tapedeck("camera", room_url(server, ROOM), "--codec", "h264", "--duration", "6s", "--json",
                                timeout=40)
    assert camera.exit_code == 0, camera.story()
    figures = browser.wait_for_event("closed", 10)
    assert figures["codecReceived"] == "video/VP8" and figures["framesDecoded"] >= 90, browser.story()
