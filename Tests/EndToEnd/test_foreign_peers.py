# SPDX-License-Identifier: Apache-2.0
"""The foreign peers with each other, without Tapedeck: what they count can be trusted."""

import pytest

pytestmark = [pytest.mark.alone, pytest.mark.long]


@pytest.mark.parametrize("version, transport, codec", [(5, "websocket", "vp8"), (4, "polling", "h264")])
def test_chromium_and_aiortc_see_each_other(foreign_stage, version, transport, codec):
    server = foreign_stage.room_server(version)
    browser = foreign_stage.browser(server, "123123", "--send", "--receive", transport=transport)
    aiortc = foreign_stage.aiortc(server, "123123", "--send", "synthetic", "--receive", "--codec", codec,
                                  "--duration", "6", transport=transport)
    assert aiortc.wait(30) == 0
    assert browser.end() == 0
    sent, received = aiortc.event("closed"), browser.event("closed")
    assert sent["framesSent"] >= 150
    assert received["framesDecoded"] >= 0.95 * sent["framesSent"]
    assert sent["framesDecoded"] >= 0.95 * received["framesSent"] > 100
    assert sent["audioGaps"] == 0 and received["audioPacketsReceived"] >= 0.95 * sent["audioPacketsSent"]
    assert received["codecReceived"].lower() == f"video/{codec}"


def test_the_counter_arrives(foreign_stage):
    server = foreign_stage.room_server(5)
    receiver = foreign_stage.aiortc(server, "1", "--receive")
    sender = foreign_stage.aiortc(server, "1", "--send", "synthetic", "--duration", "4")
    assert sender.wait(30) == 0
    assert receiver.end() == 0
    figures = receiver.event("closed")
    assert figures["firstCounter"] <= 5
    assert figures["countersRead"] >= 0.95 * sender.event("closed")["framesSent"]


def test_a_third_member_is_refused(foreign_stage):
    server = foreign_stage.room_server(5)
    foreign_stage.aiortc(server, "1", "--receive")
    foreign_stage.aiortc(server, "1", "--receive")
    third = foreign_stage.start("third", *foreign_stage.running[-1].command)
    assert third.wait(20) == 3
    assert third.event("full")


def test_chromium_refuses_an_altered_fingerprint(foreign_stage):
    server = foreign_stage.room_server(5)
    browser = foreign_stage.browser(server, "1", "--receive")
    forger = foreign_stage.aiortc(server, "1", "--send", "synthetic", "--alter-fingerprint", "--limit", "6")
    assert forger.wait(30) == 1
    assert browser.end() == 1
    assert browser.event("closed").get("framesDecoded", 0) == 0
