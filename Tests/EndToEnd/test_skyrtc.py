# SPDX-License-Identifier: Apache-2.0
"""SkyRTC rooms with aiortc: the mesh, the call dialect, restarts of their servers, and rooms shared with Socket.IO."""

import media
import pytest
from figures import assert_count, assert_counters, assert_nearly_all, assert_plays, assert_saw, losses
from peers import wait_until_seen
from recordings import (SOME, interrupted, journal_of, recording_folder, tracks, wait_for_both_ways,
                        wait_for_media, wait_for_more)
from stage import LIMIT, PEERS, SEND, json_objects, python
from proxy import Proxy

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
        peer.sid = peer.wait_for_event("joined", LIMIT)["sid"]
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
    interrupted(recorder)
    assert_plays(recorder.exported)
    return f"{media.describe(recorder.exported)}\n{recorder.story()}"


def ours(server, known=()):
    """The ids of our own memberships, oldest first: every member that joined and is none of the peers."""
    return [fact["sid"] for fact in json_objects(server.messages.splitlines())
            if fact["event"] == "join" and fact["sid"] not in known]


def gone(server):
    """The ids of those whose WebSocket has closed."""
    return {fact["sid"] for fact in json_objects(server.messages.splitlines()) if fact["event"] == "disconnect"}


def figures_about(peer, other):
    """The figures of a peer's last connection with another member."""
    facts = peer.facts
    found = [before for before, fact in zip(facts, facts[1:])
             if fact.get("event") == "dropped" and fact["member"] == other and before.get("event") == "closed"]
    assert found, f"{peer.name} dropped no {other}\n{peer.story()}"
    return found[-1]


def assert_share(recorder, stream, sent, story):
    assert_count(len(media.packets(recorder.exported, stream["index"])), sent, losses(recorder), story)


def wait_for_growth(recorder, paths):
    """Waits until each of these files has about a second more."""
    before = {path: path.stat().st_size for path in paths}
    recorder.wait_for("their growth", lambda: all(
        path.stat().st_size > size + SOME[path.suffix] * 2 // 3 for path, size in before.items()), LIMIT)


def no_violations(server):
    found = [fact for fact in json_objects(server.messages.splitlines()) if fact["event"] == "violation"]
    assert not found, server.story()


@pytest.mark.long
@pytest.mark.media
@pytest.mark.parametrize("dialect", ["classic", "call"])
def test_fifteen_seconds_both_ways(stage, dialect):
    server = skyrtc_server(stage, dialect)
    notes, storage = stage.folder / "notes.jsonl", stage.folder / "storage"
    flags = ("--send", "synthetic", "--size", "320x180", "--receive", "--notes", notes)
    if dialect == "classic":
        peer, = members(stage, server, flags)
        recorder = recorder_of(stage, f"skyrtc+ws://127.0.0.1:{server.port}/wss?room={ROOM}", *SEND)
    else:
        recorder = recorder_of(stage, f"skyrtc+ws://127.0.0.1:{server.port}?dialect=call&user=tapedeck", "--send",
                               "test")
        server.wait_for("us", lambda: "tapedeck" in server.messages, LIMIT)
        peer = phone(stage, server, *flags)
    wait_for_both_ways(recorder, storage, peer, notes)
    assert peer.end(LIMIT) == 0, peer.story()
    finish(recorder)
    no_violations(server)
    figures = peer.event("closed")
    assert_nearly_all(recorder.exported, recorder, figures["framesSent"])
    assert_saw(figures, peer.story())


def test_three_peers_one_late_one_early_one_crashing(stage):
    server = skyrtc_server(stage)
    notes = stage.folder / "notes.jsonl"
    first, = members(stage, server, (*SMALL, "--receive", "--binary", "--notes", notes))
    recorder = recorder_of(stage, f"skyrtc+ws://127.0.0.1:{server.port}/wss?room={ROOM}", *SEND)
    storage = stage.folder / "storage"
    first.wait_for_event("connected", LIMIT)
    wait_for_media(recorder, storage)
    own_tracks = tracks(storage)
    crashing, early = members(stage, server, SMALL, SMALL)
    wait_for_media(recorder, storage, 6)
    assert early.end(LIMIT) == 0, early.story()
    wait_for_more(recorder, storage, 4)
    crashing.kill()
    # The peer that stays continues: the last packets of the others may still be on their way into files.
    wait_for_growth(recorder, own_tracks)
    wait_until_seen(first, notes)
    story = finish(recorder)
    # A server that does not answer for long is joined again.
    own = ours(server, {peer.sid for peer in (first, crashing, early)})[-1]
    # The end of our WebSocket announces our leave.
    first.wait_for("the end of our call", lambda: [
        fact for fact in first.facts if fact.get("event") == "dropped" and fact["member"] == own], LIMIT)
    no_violations(server)
    figures = figures_about(first, own)
    videos = media.streams(recorder.exported, "video")
    assert len(videos) == 3 and len(media.streams(recorder.exported, "audio")) == 3, story
    assert_share(recorder, videos[0], figures["framesSent"], story)
    assert_saw(figures, first.story())
    # Joins and leaves in order; by the clock of a late sender, its last frame may be older than another's.
    journal = journal_of(recording_folder(storage))
    joined, left = ([record["participant"] for record in journal if record["kind"] == kind]
                    for kind in ("participant-joined", "participant-left"))
    assert joined[0] == first.sid and set(joined) == {first.sid, early.sid, crashing.sid}, f"{joined}\n{story}"
    # Each by when it left last.
    left = list(dict.fromkeys(reversed(left)))[::-1]
    assert [one for one in left if one != first.sid] == [early.sid, crashing.sid], f"{left}\n{story}"
    assert first.sid not in left[:2], f"{left}\n{story}"


@pytest.mark.parametrize("preferred", ["h264", pytest.param("vp8", marks=pytest.mark.long)])
def test_each_of_a_room_gets_the_codec_that_it_takes(stage, preferred):
    server = skyrtc_server(stage)
    camera = stage.tapedeck("camera", f"skyrtc+ws://127.0.0.1:{server.port}/wss?room={ROOM}", "--codec", preferred,
                            "--size", "320x180", "--json")
    server.wait_for("the camera", lambda: ours(server), LIMIT)
    # One cannot do what we prefer; the other can do both.
    notes = stage.folder / "one.jsonl", stage.folder / "both.jsonl"
    flags = ("--codec", "vp8" if preferred == "h264" else "h264"), ()
    peers = members(stage, server, *[("--receive", *codec, "--notes", path) for codec, path in zip(flags, notes)])
    for peer, path in zip(peers, notes):
        wait_until_seen(peer, path)
    assert camera.end() in (0, 130), camera.story()
    # One encoder for each.
    result = camera.result()
    assert set(result["encoders"]) == {"VP8", "H264", "OPUS"}, camera.story()
    assert all(result["framesSent"][codec] > 0 for codec in ("VP8", "H264")), camera.story()


# Our preference, the offerer, and the result for Chromium, which names H.264 first, and aiortc, which names VP8 first:
# the table of docs/camera.md.
CODECS = [
    ("any", "they", "H264", "VP8"),
    ("vp8", "they", "VP8", "VP8"),
    ("h264", "they", "H264", "H264"),
    ("any", "we", "H264", "VP8"),
    ("vp8", "we", "H264", "VP8"),
    ("h264", "we", "H264", "VP8"),
]


@pytest.mark.parametrize("preferred, offers, of_chromium, of_aiortc", [
    pytest.param(*row, marks=[] if row[0] == "any" and row[1] == "they" else pytest.mark.long) for row in CODECS])
def test_each_gets_the_codec_that_it_prefers(stage, preferred, offers, of_chromium, of_aiortc):
    server = skyrtc_server(stage)
    url = f"ws://127.0.0.1:{server.port}/wss"

    def camera():
        found = stage.tapedeck("camera", f"skyrtc+{url}?room={ROOM}", "--codec", preferred, "--size", "320x180", "--json")
        server.wait_for("the camera", lambda: len(ours(server)) == (1 if offers == "they" else 3), LIMIT)
        return found

    # A newcomer to a room offers to those present.
    ours_now = camera() if offers == "they" else None
    browser = stage.start("chromium", python("peers"), PEERS / "browser_peer.py", "--skyrtc", url, "--room", ROOM,
                          "--receive", "--prefer", "h264")
    browser.wait_for_event("joined", LIMIT)
    notes = stage.folder / "notes.jsonl"
    peer, = members(stage, server, ("--receive", "--prefer", "vp8", "--notes", notes))
    ours_now = ours_now or camera()
    wait_until_seen(peer, notes)
    browser.wait_for_figure("framesDecoded", 15)
    assert ours_now.end() in (0, 130), ours_now.story()
    for each in (browser, peer):
        assert each.end(LIMIT) == 0, each.story()
        # The two have a connection with each other, over which nothing comes.
        found = {fact["codecReceived"] for fact in each.facts
                 if fact.get("event") == "closed" and fact.get("framesDecoded")}
        assert found == {f"video/{of_chromium if each is browser else of_aiortc}"}, each.story()
    result = ours_now.result()
    assert set(result["encoders"]) == {of_chromium, of_aiortc, "OPUS"}, ours_now.story()
    no_violations(server)


def test_a_call_is_taken_and_survives_the_server(stage):
    server, successor = skyrtc_server(stage, "call"), skyrtc_server(stage, "call")
    # The successor takes the server's place at once: the client soon abandons a server that is gone.
    proxy = Proxy(server.port)
    recorder = recorder_of(stage, f"skyrtc+ws://127.0.0.1:{proxy.port}?dialect=call&user=tapedeck", *SEND)
    server.wait_for("us", lambda: "tapedeck" in server.messages, LIMIT)
    notes, storage = stage.folder / "notes.jsonl", stage.folder / "storage"
    caller = phone(stage, server, *SMALL, "--receive", "--notes", notes)
    caller.wait_for_event("ring", LIMIT)
    wait_for_media(recorder, storage)
    proxy.target = successor.port
    # At once: a server that shuts down announces to each of us that the other leaves.
    server.kill()
    no_violations(server)
    caller.wait_for_event("disconnected", LIMIT)
    successor.wait_for("us again", lambda: "tapedeck" in successor.messages, LIMIT)
    wait_for_more(recorder, storage)
    wait_until_seen(caller, notes)
    second = phone(stage, successor, *SMALL)
    wait_for_media(recorder, storage, 4)
    # We have one WebSocket there.
    facts = [fact["event"] for fact in json_objects(successor.messages.splitlines()) if fact.get("user") == "tapedeck"]
    assert facts.count("connect") - facts.count("disconnect") == 1, successor.story()
    assert second.end(LIMIT) == 0, second.story()
    assert caller.end(LIMIT) == 0, caller.story()
    story = finish(recorder)
    proxy.close()
    no_violations(successor)
    videos = media.streams(recorder.exported, "video")
    assert len(videos) == 2, story
    for video, peer in zip(videos, (caller, second)):
        assert_share(recorder, video, peer.event("closed")["framesSent"], story)
    assert_saw(caller.event("closed"), caller.story())


def test_a_restart_of_the_server_costs_no_media(stage):
    server, successor = skyrtc_server(stage), skyrtc_server(stage)
    proxy = Proxy(server.port)
    first, = members(stage, server, SMALL)
    storage = stage.folder / "storage"
    recorder = recorder_of(stage, f"skyrtc+ws://127.0.0.1:{proxy.port}/wss?room={ROOM}")
    wait_for_media(recorder, storage)
    proxy.target = successor.port
    server.kill()
    first.wait_for_event("disconnected", LIMIT)
    server = successor
    server.wait_for("us", lambda: ours(server), LIMIT)
    newcomer, = members(stage, server, SMALL)
    wait_for_media(recorder, storage, 4)
    wait_for_more(recorder, storage, 4)
    # Once, at last: a server that takes its time to answer is joined again.
    server.wait_for("one of us", lambda: len(set(ours(server, {newcomer.sid})) - gone(server)) == 1, LIMIT)
    story = finish(recorder)
    proxy.close()
    no_violations(server)
    videos = media.streams(recorder.exported, "video")
    assert len(videos) == 2, story
    old, new = [media.span(recorder.exported, video["index"]) for video in videos]
    # The first call continued when the second had begun.
    assert old[0] < new[0] < old[1], story
    for video in videos:
        assert_counters(recorder.exported, video["index"], losses(recorder), story)


def test_apps_of_both_kinds_meet_in_our_rooms(stage):
    server = stage.serve("--room-size", "4")
    page_kind = stage.aiortc(server, ROOM, "--receive", *SMALL)
    sky_kind, = members(stage, server, ("--receive", *SMALL), path="/")
    for peer in (page_kind, sky_kind):
        peer.wait_for_event("connected", LIMIT)
    # We come after one of each kind, and one of the other kind after us.
    recorder = recorder_of(stage, f"skyrtc+ws://127.0.0.1:{server.port}/?room={ROOM}")
    sky_kind.wait_for("us", lambda: sky_kind.event("new_peer"), LIMIT)
    late = stage.aiortc(server, ROOM, "--receive", *SMALL)
    late.wait_for("all connections", lambda: [
        fact["event"] for fact in late.facts].count("connected") >= 3, LIMIT)
    wait_for_media(recorder, stage.folder / "storage", 6)
    story = finish(recorder)
    videos = media.streams(recorder.exported, "video")
    assert len(videos) == 3 and len(media.streams(recorder.exported, "audio")) == 3, story
    for left, peer in enumerate((page_kind, sky_kind, late), start=1):
        def closed():
            return [fact["event"] for fact in peer.facts].count("closed")
        # Ours, and those of the peers before it.
        peer.wait_for("the calls of those who left", lambda: closed() >= left, LIMIT)
        assert peer.end(LIMIT) == 0, peer.story()
        # Each with the two others and with us, once: no two offers crossed.
        assert peer.event("end")["connections"] == 3, peer.story()
        assert closed() == 3, peer.story()


def test_a_browser_meets_a_skyrtc_app(stage):
    """Chromium on the page of `tapedeck serve`, which speaks Socket.IO, and aiortc, which speaks SkyRTC."""
    server = stage.serve("--room-size", "3")
    browser = stage.start("page", python("peers"), PEERS / "browser_peer.py", "--page",
                          f"http://127.0.0.1:{server.port}/", "--room", ROOM)
    browser.wait_for_event("joined", LIMIT)
    app, = members(stage, server, ("--receive", *SMALL), path="/")
    app.wait_for_event("decoding", LIMIT)
    browser.wait_for_event("connected", LIMIT)
    browser.wait_for_figure("framesDecoded", 15)
    assert app.end(LIMIT) == 0, app.story()
    ended = app.event("end")
    assert ended["connections"] == 1 and ended["framesDecoded"] > 0 and ended["audioFramesReceived"] > 0, app.story()
    browser.wait_for("the app's going", lambda: browser.event("closed"), LIMIT)
    assert browser.end(LIMIT) == 0, browser.story()
