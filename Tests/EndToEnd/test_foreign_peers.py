# SPDX-License-Identifier: Apache-2.0
"""The foreign peers with each other, without Tapedeck: what they count can be trusted."""

import pytest
from stage import dropped_datagrams


@pytest.mark.media
@pytest.mark.parametrize("version, transport, codec", [
    (5, "websocket", "vp8"), pytest.param(4, "polling", "h264", marks=pytest.mark.long)])
def test_chromium_and_aiortc_see_each_other(foreign_stage, version, transport, codec):
    server = foreign_stage.room_server(version)
    browser = foreign_stage.browser(server, "123123", "--send", "--receive", transport=transport)
    aiortc = foreign_stage.aiortc(server, "123123", "--send", "synthetic", "--receive", "--codec", codec,
                                  transport=transport)
    for peer, sound in ((browser, "audioPacketsReceived"), (aiortc, "audioFramesReceived")):
        peer.wait_for_figure("framesDecoded", 100)
        peer.wait_for_figure(sound, 100)
    assert aiortc.end() == 0
    assert browser.end() == 0
    ours, theirs = aiortc.event("closed"), browser.event("closed")
    for sender, receiver, sound in ((ours, theirs, "audioPacketsReceived"), (theirs, ours, "audioFramesReceived")):
        assert receiver["framesDecoded"] <= sender["framesSent"], (sender, receiver)
        assert receiver[sound] <= sender["audioPacketsSent"], (sender, receiver)
    assert theirs["codecReceived"].lower() == f"video/{codec}"


def test_the_counter_arrives(foreign_stage):
    server = foreign_stage.room_server(5)
    receiver = foreign_stage.aiortc(server, "1", "--receive")
    sender = foreign_stage.aiortc(server, "1", "--send", "synthetic")
    receiver.wait_for_figure("countersRead", 90)
    assert sender.end() == 0
    assert receiver.end() == 0
    figures = receiver.event("closed")
    # Which frame is the first that is decoded, and when, is a matter of the machine; so is what a decoder shows without
    # what the kernel threw away.
    if dropped_datagrams() == receiver.dropped_before:
        assert figures["countersBack"] == 0, figures
        assert figures["countersRead"] <= figures["lastCounter"] - figures["firstCounter"] + 1, figures
    assert figures["lastCounter"] < sender.event("closed")["framesSent"], figures


def test_a_third_member_is_refused(foreign_stage):
    server = foreign_stage.room_server(5)
    foreign_stage.aiortc(server, "1", "--receive")
    foreign_stage.aiortc(server, "1", "--receive")
    third = foreign_stage.start("third", *foreign_stage.running[-1].command)
    assert third.wait() == 3
    assert third.event("full")


def test_chromium_refuses_an_altered_fingerprint(foreign_stage):
    server = foreign_stage.room_server(5)
    browser = foreign_stage.browser(server, "1", "--receive")
    forger = foreign_stage.aiortc(server, "1", "--send", "synthetic", "--alter-fingerprint")
    browser.wait_for_event("failed")
    assert forger.end() == 1
    assert browser.end() == 1
    assert browser.event("closed").get("framesDecoded", 0) == 0
