# SPDX-License-Identifier: Apache-2.0
"""SkyRTC rooms with aiortc: the mesh, the call dialect, restarts of their servers, and rooms shared with Socket.IO."""

import signal
import time

import media
from figures import MINIMUM_FRAME_SHARE, assert_plays
from harness import PEERS, free_port, json_objects, python

ROOM = "100"
SMALL = ("--send", "synthetic", "--size", "320x180", "--fps", "15")


def skyrtc_server(stage, dialect="classic", port=0):
    server = stage.start(f"skyrtc-{dialect}", python("peers"), PEERS / "skyrtc_server.py", "--dialect", dialect,
                         "--port", port)
    server.port = server.wait_for_port()
    return server


def members(stage, server, *each, path="/wss"):
    """aiortc peers in the room of a mesh, one for each list of flags; returns when they have joined."""
    peers = [stage.start("skyrtc", python("peers"), PEERS / "skyrtc_peer.py", "--url",
                         f"ws://127.0.0.1:{server.port}{path}", "--room", ROOM, *flags) for flags in each]
    for peer in peers:
        peer.sid = peer.wait_for_event("joined", 30)["sid"]
    return peers


def phone(stage, server, *flags):
    """An aiortc peer that calls us in the call dialect."""
    return stage.start("phone", python("peers"), PEERS / "skyrtc_peer.py", "--dialect", "call", "--url",
                       f"ws://127.0.0.1:{server.port}", "--call", "tapedeck", *flags)


def recorder_of(stage, url, *flags):
    recorder = stage.tapedeck("record", url, "--directory", stage.folder / "storage", "--output",
                              stage.folder / "call.mkv", "--json", *flags)
    recorder.exported = stage.folder / "call.mkv"
    return recorder


def finish(recorder):
    """Ends a recording as Ctrl-C does, and waits for its export."""
    recorder.signal(signal.SIGINT)
    assert recorder.wait(60) == 0, recorder.story()
    assert_plays(recorder.exported)
    return f"{media.describe(recorder.exported)}\n{recorder.story()}"


def ours(server, known=()):
    """The ids of our own memberships, oldest first: everybody who joined and is none of the peers."""
    return [fact["sid"] for fact in json_objects(server.messages.splitlines())
            if fact["event"] == "join" and fact["sid"] not in known]


def figures_about(peer, other):
    """The figures of a peer's last connection with another member."""
    facts = peer.facts
    found = [before for before, fact in zip(facts, facts[1:])
             if fact.get("event") == "dropped" and fact["member"] == other and before.get("event") == "closed"]
    assert found, f"{peer.name} dropped no {other}\n{peer.story()}"
    return found[-1]


def assert_share(exported, stream, sent, story):
    count = len(media.packets(exported, stream["index"]))
    assert sent > 0 and MINIMUM_FRAME_SHARE * sent <= count <= sent + 3, f"{count} of {sent} frames\n{story}"


def no_violations(server):
    found = [fact for fact in json_objects(server.messages.splitlines()) if fact["event"] == "violation"]
    assert not found, server.story()


def assert_sees_us(figures, story):
    shown = figures["lastCounter"] - figures["firstCounter"] + 1
    assert shown >= 150 and figures["countersRead"] >= 0.9 * shown, f"{figures}\n{story}"


def test_three_peers_one_late_one_early_one_crashing(stage):
    server = skyrtc_server(stage)
    first, = members(stage, server, ("--send", "synthetic", "--receive", "--fps", "15", "--binary"))
    recorder = recorder_of(stage, f"skyrtc+ws://127.0.0.1:{server.port}/wss?room={ROOM}", "--send", "test")
    first.wait_for_event("connected", 30)
    began = first.wait_for_event("sending", 20)["at"]
    crashing, early = members(stage, server, SMALL, SMALL)
    started = sorted(peer.wait_for_event("sending", 30)["at"] for peer in (crashing, early))
    time.sleep(4)
    left = time.time()
    assert early.end() == 0, early.story()
    time.sleep(1)
    crashed = time.time()
    crashing.kill()
    time.sleep(max(2, began + 14 - time.time()))
    story = finish(recorder)
    own, = ours(server, {peer.sid for peer in (first, crashing, early)})
    # Our going is told by the end of our WebSocket.
    first.wait_for("the end of our call", lambda: [
        fact for fact in first.facts if fact.get("event") == "dropped" and fact["member"] == own], 10)
    no_violations(server)
    figures = figures_about(first, own)
    videos = media.streams(recorder.exported, "video")
    assert len(videos) == 3 and len(media.streams(recorder.exported, "audio")) == 3, story
    assert_share(recorder.exported, videos[0], figures["framesSent"], story)
    assert_sees_us(figures, first.story())
    # Right times: who came when, and who left when.
    zero, *others = [media.span(recorder.exported, video["index"]) for video in videos]
    assert zero[1] - zero[0] >= 13, story
    for expected, found in zip(started, sorted(span[0] for span in others)):
        assert abs((expected - began) - (found - zero[0])) <= 1, f"{expected - began} {others}\n{story}"
    for expected, found in zip((left, crashed), sorted(span[1] for span in others)):
        assert abs((expected - began) - (found - zero[0])) <= 1, f"{expected - began} {others}\n{story}"


def test_a_call_is_taken_and_survives_the_server(stage):
    port = free_port()
    server = skyrtc_server(stage, "call", port)
    recorder = recorder_of(stage, f"skyrtc+ws://127.0.0.1:{port}?dialect=call&user=tapedeck", "--send", "test")
    server.wait_for("us", lambda: "tapedeck" in server.messages, 20)
    caller = phone(stage, server, "--send", "synthetic", "--receive", "--fps", "15", "--duration", "14")
    caller.wait_for_event("ring", 20)
    caller.wait_for_event("connected", 30)
    time.sleep(3)
    server.end()
    no_violations(server)
    caller.wait_for_event("disconnected", 10)
    server = skyrtc_server(stage, "call", port)
    server.wait_for("us again", lambda: "tapedeck" in server.messages, 20)
    second = phone(stage, server, *SMALL, "--duration", "3")
    assert second.wait(40) == 0, second.story()
    assert caller.wait(40) == 0, caller.story()
    story = finish(recorder)
    no_violations(server)
    videos = media.streams(recorder.exported, "video")
    assert len(videos) == 2, story
    for video, peer in zip(videos, (caller, second)):
        assert_share(recorder.exported, video, peer.event("closed")["framesSent"], story)
    assert_sees_us(caller.event("closed"), caller.story())


def test_a_restart_of_the_server_costs_no_media(stage):
    port = free_port()
    server = skyrtc_server(stage, port=port)
    first, = members(stage, server, SMALL)
    recorder = recorder_of(stage, f"skyrtc+ws://127.0.0.1:{port}/wss?room={ROOM}")
    first.wait_for_event("connected", 30)
    time.sleep(2)
    server.end()
    first.wait_for_event("disconnected", 10)
    server = skyrtc_server(stage, port=port)
    server.wait_for("us", lambda: ours(server), 20)
    newcomer, = members(stage, server, SMALL)
    newcomer.wait_for_event("connected", 30)
    time.sleep(2)
    story = finish(recorder)
    assert len(ours(server, {newcomer.sid})) == 1, server.story()
    no_violations(server)
    videos = media.streams(recorder.exported, "video")
    assert len(videos) == 2, story
    old, new = [media.span(recorder.exported, video["index"]) for video in videos]
    assert abs(old[1] - new[1]) <= 1, story
    lost = media.lost_frames(media.frames(recorder.exported, videos[0]["index"]))
    assert sum(abs(number) for _, number in lost) <= 2, f"{lost}\n{story}"


def test_apps_of_both_kinds_meet_in_our_rooms(stage):
    server = stage.serve("--room-size", "4")
    page_kind = stage.aiortc(server, ROOM, "--receive", *SMALL)
    sky_kind, = members(stage, server, ("--receive", *SMALL), path="/")
    for peer in (page_kind, sky_kind):
        peer.wait_for_event("connected", 30)
    # We come after one of each kind, and one of the other kind after us.
    recorder = recorder_of(stage, f"skyrtc+ws://127.0.0.1:{server.port}/?room={ROOM}")
    sky_kind.wait_for("us", lambda: sky_kind.event("new_peer"), 20)
    late = stage.aiortc(server, ROOM, "--receive", *SMALL)
    late.wait_for("all connections", lambda: [
        fact["event"] for fact in late.facts].count("connected") == 3, 30)
    time.sleep(3)
    story = finish(recorder)
    videos = media.streams(recorder.exported, "video")
    assert len(videos) == 3 and len(media.streams(recorder.exported, "audio")) == 3, story
    for peer in (page_kind, sky_kind, late):
        assert peer.end() == 0, peer.story()
        # Each with the two others and with us, once: nobody's offer met another's.
        assert peer.event("end")["connections"] == 3, peer.story()
        assert [fact["event"] for fact in peer.facts].count("closed") == 3, peer.story()


def test_a_browser_meets_a_skyrtc_app(stage):
    """Chromium on the page of `tapedeck serve`, which speaks Socket.IO, and aiortc, which speaks SkyRTC."""
    server = stage.serve("--room-size", "3")
    browser = stage.start("page", python("peers"), PEERS / "browser_peer.py", "--page",
                          f"http://127.0.0.1:{server.port}/", "--room", ROOM)
    browser.wait_for_event("joined", 40)
    app, = members(stage, server, ("--receive", *SMALL), path="/")
    app.wait_for_event("decoding", 30)
    browser.wait_for_event("connected", 30)

    def sees_app():
        browser.say("stats")
        fact = browser.event("stats")
        return fact and [figures for figures in fact["connections"].values() if figures.get("framesDecoded", 0) >= 15]
    browser.wait_for("pictures of the app", sees_app, 30)
    assert app.end() == 0, app.story()
    ended = app.event("end")
    assert ended["connections"] == 1 and ended["framesDecoded"] > 0 and ended["audioFramesReceived"] > 0, app.story()
    browser.wait_for("the app's going", lambda: browser.event("closed"), 15)
    assert browser.end() == 0, browser.story()
