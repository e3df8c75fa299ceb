# SPDX-License-Identifier: Apache-2.0
"""The room server of `tapedeck serve`, its page in Chromium and Firefox, and foreign clients on it."""

import urllib.request

import pytest
from figures import assert_complete, assert_plays, video_packets
from harness import PEERS, python, record, room_url

import media

pytestmark = pytest.mark.alone

ROOM = "standup"


def page(stage, server, name):
    peer = stage.start(f"page-{name}", python("peers"), PEERS / "browser_peer.py", "--page",
                       f"http://127.0.0.1:{server.port}/", "--room", ROOM, "--name", name)
    peer.wait_for_event("joined", 40)
    return peer


def test_a_person_in_the_page_is_recorded(stage):
    server = stage.serve()
    browser = page(stage, server, "Alice")
    exported, recorder = record(stage, room_url(server, ROOM), 10)
    closed = browser.wait_for_event("closed", 10)
    assert_plays(exported)
    # Figures of the page are up to a quarter of a second old.
    assert video_packets(exported) >= 0.99 * closed["framesSent"], recorder.story()
    assert browser.end() == 0


def test_firefox_in_the_page_is_recorded(stage):
    server = stage.serve()
    firefox = stage.start("firefox", python("peers"), PEERS / "firefox_peer.py", "--page",
                          f"http://127.0.0.1:{server.port}/", "--room", ROOM)
    firefox.wait_for_event("joined", 40)
    exported, recorder = record(stage, room_url(server, ROOM), 10)
    closed = firefox.wait_for_event("closed", 10)
    assert_plays(exported)
    assert len(media.streams(exported, "video")) == 1 and len(media.streams(exported, "audio")) == 1, recorder.story()
    # Figures of the page are up to a quarter of a second old.
    assert video_packets(exported) >= 0.99 * closed["framesSent"] > 0, firefox.story() + recorder.story()
    assert firefox.end() == 0


def test_three_members_meet_in_a_room_of_three(stage):
    server = stage.serve("--room-size", "3")
    first = page(stage, server, "Alice")
    second = page(stage, server, "Bob")
    first.wait_for_event("connected", 20)
    second.wait_for_event("connected", 20)
    exported, recorder = record(stage, room_url(server, ROOM), 8)
    assert_plays(exported)
    story = media.describe(exported) + recorder.story()
    assert len(media.streams(exported, "video")) == 2 and len(media.streams(exported, "audio")) == 2, story
    for stream in media.streams(exported):
        start, end = media.span(exported, stream["index"])
        assert end - start >= 6.5, story
    first.signal(15)
    assert first.wait(15) == 0
    # The other one is told.
    assert second.wait_for("the end of the call", lambda: any(
        fact.get("event") == "closed" and fact.get("framesDecoded", 0) > 0 for fact in second.facts), 10)


@pytest.mark.parametrize("eio, transport", [(4, "polling"), (3, "websocket"), (3, "polling")])
def test_old_and_new_clients_share_a_room(stage, eio, transport):
    server = stage.serve()
    server.eio = eio
    peer = stage.aiortc(server, ROOM, "--send", "synthetic", transport=transport)
    exported, recorder = record(stage, room_url(server, ROOM, eio=7 - eio), 5)
    closed = peer.wait_for_event("closed", 10)
    assert_complete(exported, closed["framesSent"], recorder)


def test_the_page_needs_nothing_from_elsewhere(stage):
    server = stage.serve()
    with urllib.request.urlopen(f"http://127.0.0.1:{server.port}/", timeout=5) as answer:
        assert answer.status == 200 and answer.headers["Content-Type"].startswith("text/html")
        text = answer.read().decode()
    assert "http://" not in text and "https://" not in text
