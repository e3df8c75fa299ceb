# SPDX-License-Identifier: Apache-2.0
"""What hostile peers and servers send costs a log line at most: never a crash, a hang, or another peer's track."""

import signal
import time

import media
import pytest
from figures import MINIMUM_FRAME_SHARE, assert_complete, assert_plays, video_packets
from harness import PEERS, python, record, room_url

ROOM = "123123"
CASES = ["garbage-sdp", "wrong-types", "unknown-types", "early-candidates", "bad-candidates", "unasked-answer",
         "no-usable-media", "sdes", "no-fingerprint", "many-offers", "many-sections", "abandoned-offer"]


def hostile_peer(stage, server, *flags):
    peer = stage.start("hostile", python("socketio5"), PEERS / "hostile_peer.py", "--url",
                       f"http://127.0.0.1:{server.port}", "--room", ROOM, *flags)
    peer.wait_for_event("joined")
    return peer


def hostile_proxy(stage, server, *flags):
    proxy = stage.start("proxy", python("socketio5"), PEERS / "hostile_proxy.py", "--target",
                        f"http://127.0.0.1:{server.port}", *flags)
    proxy.eio = 4
    proxy.port = proxy.wait_for_port()
    return proxy


@pytest.mark.parametrize("case", CASES)
def test_the_next_peer_is_recorded_after_a_hostile_one(stage, case):
    server = stage.room_server(5)
    hostile = hostile_peer(stage, server, "--case", case, "--stay", "0.5")
    exported = stage.folder / "call.mkv"
    recorder = stage.tapedeck("record", room_url(server, ROOM), "--wait", "30s", "--directory",
                              stage.folder / "storage", "--output", exported, "--json")
    assert hostile.wait(30) == 0, hostile.story()
    assert recorder.process.poll() is None, f"ended with the hostile peer\n{recorder.story()}"
    good = stage.aiortc(server, ROOM, "--send", "synthetic", "--duration", "4")
    assert good.wait(30) == 0, good.story() + recorder.story()
    # The call is over; whoever waits for more is interrupted.
    recorder.signal(signal.SIGINT)
    assert recorder.wait(20) == 0, recorder.story()
    assert_complete(exported, good.event("closed")["framesSent"], recorder)


def test_an_sdes_offer_is_refused_by_name(stage):
    server = stage.room_server(5)
    hostile = hostile_peer(stage, server, "--case", "sdes", "--stay", "1")
    recorder = stage.run_tapedeck("record", room_url(server, ROOM), "--wait", "4s", "--directory",
                                  stage.folder / "storage", timeout=40)
    assert recorder.exit_code == 4, recorder.story()
    assert "sdes" in recorder.messages.lower() or "a=crypto" in recorder.messages.lower(), recorder.story()
    assert hostile.wait(20) == 0


def test_in_a_mesh_room_the_good_peer_loses_nothing(stage):
    server = stage.serve("--room-size", "3")
    good = stage.aiortc(server, ROOM, "--send", "synthetic")
    exported = stage.folder / "call.mkv"
    recorder = stage.tapedeck("record", room_url(server, ROOM), "--duration", "12s", "--directory",
                              stage.folder / "storage", "--output", exported, "--json")
    good.wait_for_event("connected", 20)
    hostile = hostile_peer(stage, server)
    assert hostile.wait(40) == 0, hostile.story()
    assert recorder.wait(40) == 0, recorder.story()
    closed = good.wait_for_event("closed", 10)
    assert_complete(exported, closed["framesSent"], recorder)


def test_garbage_between_the_servers_frames_is_ignored(stage):
    server = stage.room_server(5)
    peer = stage.aiortc(server, ROOM, "--send", "synthetic")
    proxy = hostile_proxy(stage, server, "--every", "1")
    exported, recorder = record(stage, room_url(proxy, ROOM, transport="websocket", eio=4), 6)
    closed = peer.wait_for_event("closed", 10)
    assert len([fact for fact in proxy.facts if fact.get("case") == "harmless"]) >= 4, proxy.story()
    assert_complete(exported, closed["framesSent"], recorder)


@pytest.mark.parametrize("case", ["unfinished-binary", "binary", "unknown-packet", "empty", "invalid-open",
                                  "oversize", "close", "namespace-refused", "namespace-disconnect"])
def test_a_frame_that_costs_the_connection_does_not_cost_the_call(stage, case):
    server = stage.room_server(5)
    peer = stage.aiortc(server, ROOM, "--send", "synthetic")
    proxy = hostile_proxy(stage, server, "--every", "0", "--case", case)
    exported, recorder = record(stage, room_url(proxy, ROOM, transport="websocket", eio=4), 7)
    assert proxy.event("injected")["case"] in (case, "harmless")
    assert any(fact.get("case") == case for fact in proxy.facts), proxy.story()
    assert_plays(exported)
    # A new connection to the room is a new peer connection for the other side: two seconds at most are lost.
    sent = sum(fact["framesSent"] for fact in peer.facts if fact.get("event") == "closed")
    assert video_packets(exported) >= min(MINIMUM_FRAME_SHARE * sent, sent - 60), recorder.story() + peer.story()
    assert media.streams(exported, "audio"), recorder.story()


def test_a_peer_that_vanishes_does_not_end_the_daemon_side(stage):
    server = stage.room_server(5)
    vanishing = stage.aiortc(server, ROOM, "--send", "synthetic")
    exported = stage.folder / "call.mkv"
    recorder = stage.tapedeck("record", room_url(server, ROOM), "--duration", "25s", "--directory",
                              stage.folder / "storage", "--output", exported, "--json")
    vanishing.wait_for_event("connected", 20)
    recorder.wait_for("recorded media", lambda: list((stage.folder / "storage").rglob("*.mkv")), 10)
    vanishing.kill()
    # The place is free at once, the recorder notices within 10 s, and takes whoever comes.
    peer = stage.aiortc(server, ROOM, "--send", "synthetic", "--duration", "6")
    assert peer.wait(40) == 0, peer.story() + recorder.story()
    assert recorder.wait(50) == 0, recorder.story()
    assert_plays(exported)
    sent = peer.event("closed")["framesSent"]
    assert video_packets(exported) >= MINIMUM_FRAME_SHARE * sent, media.describe(exported) + recorder.story()


def test_a_peer_that_vanishes_is_noticed_within_ten_seconds(stage):
    server = stage.room_server(5)
    vanishing = stage.aiortc(server, ROOM, "--send", "synthetic")
    exported = stage.folder / "call.mkv"
    recorder = stage.tapedeck("record", room_url(server, ROOM), "--until-empty", "--directory",
                              stage.folder / "storage", "--output", exported, "--json")
    vanishing.wait_for_event("connected", 20)
    recorder.wait_for("recorded media", lambda: list((stage.folder / "storage").rglob("*.mkv")), 10)
    time.sleep(2)
    vanishing.kill()
    # Ten seconds to notice, the rest to export.
    assert recorder.wait(15) == 0, recorder.story()
    assert_plays(exported)
