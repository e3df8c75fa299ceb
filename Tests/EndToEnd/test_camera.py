# SPDX-License-Identifier: Apache-2.0
"""Foreign peers receive `tapedeck camera`, in both codecs."""

import time

import pytest
from figures import number
from peers import change, room_url
from stage import LIMIT, dropped_datagrams

ROOM = "123123"
FRAMES = 200


def start_camera(stage, server, codec, **query):
    return stage.tapedeck("camera", room_url(server, ROOM, **query), "--codec", codec, "--video", "test", "--audio",
                          "test", "--json")


def ended(camera, peer):
    """The counts of the peer at the end, after the camera has ended; the camera cannot have sent less."""
    assert camera.end() in (0, 130), camera.story()
    figures = peer.wait_for_event("closed")
    sent = number(camera.result(), "framesSent")
    assert FRAMES <= figures["framesDecoded"] <= sent, f"{sent} frames sent, {figures}: {camera.story()}"
    return figures


@pytest.mark.media
@pytest.mark.parametrize("codec", ["h264", pytest.param("vp8", marks=pytest.mark.long)])
def test_chromium_decodes_the_camera(stage, codec):
    server = stage.room_server(5)
    browser = stage.browser(server, ROOM, "--receive")
    camera = start_camera(stage, server, codec)
    browser.wait_for_figure("framesDecoded", FRAMES)
    browser.wait_for_figure("audioPacketsReceived", FRAMES)
    figures = ended(camera, browser)
    assert figures["codecReceived"].lower() == f"video/{codec}", browser.story()
    assert figures["sizeReceived"] == [1280, 720], browser.story()


@pytest.mark.media
@pytest.mark.parametrize("codec", ["vp8", pytest.param("h264", marks=pytest.mark.long)])
def test_aiortc_decodes_the_camera(stage, codec):
    server = stage.room_server(4, "--polling-only")
    # The camera is first here: it offers.
    camera = start_camera(stage, server, codec, transport="polling", eio=3)
    stage.members(server, ROOM, 1)
    peer = stage.aiortc(server, ROOM, "--receive", transport="polling")
    peer.wait_for_figure("framesDecoded", FRAMES)
    peer.wait_for_figure("audioFramesReceived", FRAMES)
    figures = ended(camera, peer)
    # Every counter that was read is another frame's, and later than the one before it; without what the kernel threw away
    # the decoder shows what it has.
    dropped = dropped_datagrams() - peer.dropped_before
    assert dropped or figures["countersRead"] >= FRAMES - 15, peer.story()
    assert dropped or figures["countersBack"] == 0, peer.story()
    assert (figures["width"], figures["height"]) == (1280, 720), peer.story()


def test_codec_preference_gives_way_to_what_the_peer_takes(stage):
    server = stage.room_server(5)
    browser = stage.browser(server, ROOM, "--receive", "--codec", "vp8")
    camera = stage.tapedeck("camera", room_url(server, ROOM), "--codec", "h264", "--size", "320x180", "--json")
    browser.wait_for_figure("framesDecoded", 30)
    assert camera.end() in (0, 130), camera.story()
    assert browser.wait_for_event("closed")["codecReceived"] == "video/VP8", browser.story()


def test_an_answer_that_refuses_the_picture_is_told_and_sound_goes_on(stage):
    server = stage.room_server(5)
    # First in the room: it offers.
    camera = stage.tapedeck("camera", room_url(server, ROOM), "--size", "320x180", "--json")
    stage.members(server, ROOM, 1)
    peer = stage.aiortc(server, ROOM, "--receive", "--refuse-video")
    peer.wait_for_figure("audioFramesReceived", FRAMES)
    assert "the answer does not take what we offered" in camera.messages, camera.story()
    assert "video: the peer refused it" in camera.messages, camera.story()
    assert camera.end() in (0, 130), camera.story()
    result = camera.result()
    assert result["audioPacketsSent"]["OPUS"] > 0 and not any(result["framesSent"].values()), camera.story()


def test_pictures_that_were_refused_come_when_the_peer_takes_them_after_all(stage):
    server = stage.room_server(5)
    # First in the room: it offers.
    camera = stage.tapedeck("camera", room_url(server, ROOM), "--size", "320x180", "--json")
    stage.members(server, ROOM, 1)
    browser = stage.browser(server, ROOM, "--receive", "--refuse-video")
    browser.wait_for_figure("audioPacketsReceived", 50)
    assert browser.figures("framesDecoded") == (0,), browser.story()
    browser.tell("set direction recvonly")
    browser.wait_for_figure("framesDecoded", 30)
    assert camera.end() in (0, 130), camera.story()


def test_who_holds_the_call_gets_nothing_until_it_goes_on(stage):
    server = stage.room_server(5)
    browser = stage.browser(server, ROOM, "--receive")
    camera = stage.tapedeck("camera", room_url(server, ROOM), "--size", "320x180", "--json")
    browser.wait_for_figure("framesDecoded", 30)

    def turn(direction):
        browser.tell(f"set direction {direction}")
        browser.wait_for(direction, lambda: any(fact.get("what") == f"direction {direction}" for fact in browser.facts))

    def is_still():
        """Whether hardly anything comes for two seconds: reports, and keepalives of the path; audio would be twice
        that."""
        before, = browser.figures("bytesReceived")
        time.sleep(2)
        after, = browser.figures("bytesReceived")
        return before and after - before < 8000

    turn("inactive")
    browser.wait_for("stillness", is_still, LIMIT)
    held, = browser.figures("bytesReceived")
    turn("recvonly")
    browser.wait_for_figure("bytesReceived", held + 100_000)
    assert camera.end() in (0, 130), camera.story()


def test_the_picture_goes_to_the_m_line_on_which_the_peer_listens(stage):
    """To a new one, back, and to one that takes the place of a stopped one, as applications do that reuse none."""
    server = stage.room_server(5)
    browser = stage.browser(server, ROOM, "--receive")
    camera = stage.tapedeck("camera", room_url(server, ROOM), "--size", "320x180", "--json")
    browser.wait_for_figure("framesDecodedOn1", 30)
    change(browser, "other receiver")
    browser.wait_for_figure("framesDecodedOn2", 30)
    before, = browser.figures("framesDecodedOn1")
    change(browser, "other receiver")
    browser.wait_for_figure("framesDecodedOn1", before + 30)
    change(browser, "stop receiver")
    change(browser, "add receiver")
    browser.wait_for_figure("framesDecodedOn3", 30)
    assert browser.event("closed") is None, "in one call"
    assert camera.end() in (0, 130), camera.story()
    # The frames sent on all of them.
    assert number(camera.result(), "framesSent") >= before + 90, camera.story()
