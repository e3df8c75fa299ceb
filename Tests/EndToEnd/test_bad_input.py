# SPDX-License-Identifier: Apache-2.0
"""Bad input of hostile peers and servers costs a log line at most: never a crash, a hang, or another peer's track."""

import media
import pytest
from figures import SLACK, assert_few_lost, assert_numbered, assert_plays, assert_whole
from peers import caught_up, room_url
from recordings import interrupted, media_files, recorded, recording_folder, start_recorder, wait_for_media
from stage import PEERS, python

ROOM = "123123"
CASES = ["garbage-sdp", "wrong-types", "unknown-types", "early-candidates", "bad-candidates", "unasked-answer",
         "no-usable-media", "sdes", "no-fingerprint", "many-offers", "many-sections", "abandoned-offer"]
GATE_CASES = {"garbage-sdp", "early-candidates", "many-offers"}
FRAMES = ["unfinished-binary", "binary", "unknown-packet", "empty", "invalid-open", "oversize", "close",
          "namespace-refused"]
GATE_FRAMES = {"oversize", "close"}


def tiers(cases, in_gate):
    return [pytest.param(case, marks=[] if case in in_gate else [pytest.mark.long]) for case in cases]


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


@pytest.mark.media
@pytest.mark.parametrize("case", tiers(CASES, GATE_CASES))
def test_the_next_peer_is_recorded_after_a_hostile_one(stage, case):
    server = stage.room_server(5)
    hostile = hostile_peer(stage, server, "--case", case, "--stay", "0.5")
    exported, recorder = start_recorder(stage, room_url(server, ROOM))
    assert hostile.wait() == 0, hostile.story()
    assert recorder.process.poll() is None, f"ended with the hostile peer\n{recorder.story()}"
    good = stage.aiortc(server, ROOM, "--send", "synthetic")
    sent = good.wait_for_figure("framesSent", 90)
    caught_up(good, recorder)
    assert good.end() == 0, good.story()
    # The call is over; a recorder that waits for more is interrupted.
    interrupted(recorder)
    assert_whole(exported, recorder, sent)


def test_an_sdes_offer_is_refused_by_name(stage):
    server = stage.room_server(5)
    # A peer that leaves before the refusal gets none.
    hostile_peer(stage, server, "--case", "sdes", "--stay", "300")
    recorder = stage.tapedeck("record", room_url(server, ROOM), "--wait", "40s", "--directory",
                              stage.folder / "storage")
    recorder.wait_for("the refusal", lambda: "SDES" in recorder.messages and "a=crypto" in recorder.messages)
    assert recorder.wait() == 4, recorder.story()


@pytest.mark.media
def test_in_a_mesh_room_the_good_peer_loses_nothing(stage):
    server = stage.serve("--room-size", "3")
    good = stage.aiortc(server, ROOM, "--send", "synthetic")
    exported, recorder = start_recorder(stage, room_url(server, ROOM))
    good.wait_for_event("connected")
    hostile = hostile_peer(stage, server)
    assert hostile.wait() == 0, hostile.story()
    sent = good.wait_for_figure("framesSent", 90)
    caught_up(good, recorder)
    interrupted(recorder)
    assert_whole(exported, recorder, sent)


@pytest.mark.media
def test_garbage_between_the_servers_frames_is_ignored(stage):
    server = stage.room_server(5)
    peer = stage.aiortc(server, ROOM, "--send", "synthetic")
    proxy = hostile_proxy(stage, server, "--every", "1")
    exported, recorder = start_recorder(stage, room_url(proxy, ROOM, transport="websocket", eio=4))
    proxy.wait_for("garbage", lambda: len([fact for fact in proxy.facts if fact.get("case") == "harmless"]) >= 4)
    sent = peer.wait_for_figure("framesSent", 90)
    caught_up(peer, recorder)
    interrupted(recorder)
    assert_whole(exported, recorder, sent)


@pytest.mark.media
@pytest.mark.parametrize("case", tiers(FRAMES, GATE_FRAMES))
def test_a_frame_that_costs_the_connection_does_not_cost_the_call(stage, case):
    server = stage.room_server(5)
    peer = stage.aiortc(server, ROOM, "--send", "synthetic")
    proxy = hostile_proxy(stage, server, "--every", "0", "--case", case)
    exported, recorder = start_recorder(stage, room_url(proxy, ROOM, transport="websocket", eio=4),
                                        *stage.room("record: { separate_tracks: true }"))
    # There is no call to be kept before.
    wait_for_media(recorder, stage.folder / "storage")
    proxy.tell("inject")
    proxy.wait_for("the frame", lambda: any(fact.get("case") == case for fact in proxy.facts))
    sent = peer.figures("framesSent")[0] + closed(peer)
    peer.wait_for("frames after it", lambda: peer.figures("framesSent")[0] + closed(peer) >= sent + 120)
    sent = peer.figures("framesSent")[0] + closed(peer)
    caught_up(peer, recorder)
    interrupted(recorder)
    assert_plays(exported)
    # A new connection to the room may be a new peer connection for the other side: another track, whole as the first.
    videos = media.streams(exported, "video")
    count = sum(assert_numbered(exported, video["index"], recorder) for video in videos)
    assert count >= sent - 4 * SLACK * len(videos), f"{count} of {sent} frames: {recorder.story()}"
    assert media.streams(exported, "audio"), recorder.story()
    assert_few_lost(exported, recorder)


def test_a_room_server_that_puts_the_recorder_out_ends_the_recording(stage):
    server = stage.room_server(5)
    stage.aiortc(server, ROOM, "--send", "synthetic")
    proxy = hostile_proxy(stage, server, "--every", "0", "--case", "namespace-disconnect")
    exported, recorder = start_recorder(stage, room_url(proxy, ROOM, transport="websocket", eio=4))
    wait_for_media(recorder, stage.folder / "storage")
    proxy.tell("inject")
    recorded(recorder)
    assert recorder.messages.count("kicked us") == 1, recorder.story()
    assert_plays(exported)
    video, = media.streams(exported, "video")
    assert_numbered(exported, video["index"], recorder)


def test_a_camera_that_is_put_out_says_so_once(stage):
    server = stage.room_server(5)
    proxy = hostile_proxy(stage, server, "--every", "0", "--case", "namespace-disconnect")
    camera = stage.tapedeck("camera", room_url(proxy, ROOM, transport="websocket", eio=4), "--size", "320x180")
    stage.members(server, ROOM, 1)
    proxy.tell("inject")
    assert camera.wait() == 3, camera.story()
    line, = [line for line in camera.messages.splitlines() if "kicked us" in line]
    assert line.startswith("tapedeck: "), camera.story()


def closed(peer):
    """Frames that a peer sent over connections that are no more."""
    return sum(fact["framesSent"] for fact in peer.facts if fact.get("event") == "closed")


def vanish(stage, server, *flags):
    """A recording, and the killing of the recorded peer: the exported file and the recorder, which continues."""
    vanishing = stage.aiortc(server, ROOM, "--send", "synthetic")
    exported, recorder = start_recorder(stage, room_url(server, ROOM), *flags)
    vanishing.wait_for_figure("framesSent", 60)
    recorder.wait_for("recorded media", lambda: len(media_files(stage.folder / "storage")) == 2)
    vanishing.kill()
    return exported, recorder


@pytest.mark.media
def test_a_peer_that_vanishes_does_not_end_the_recording(stage):
    server = stage.room_server(5)
    exported, recorder = vanish(stage, server)
    # The slot is free at once, the recorder notices, and takes the next peer.
    peer = stage.aiortc(server, ROOM, "--send", "synthetic")
    peer.wait_for_event("connected")
    sent = peer.wait_for_figure("framesSent", 90)
    caught_up(peer, recorder)
    interrupted(recorder)
    assert_plays(exported)
    _, video = sorted(media.streams(exported, "video"), key=lambda stream: media.span(exported, stream["index"]))
    assert_numbered(exported, video["index"], recorder, sent)


def test_a_peer_that_vanishes_is_noticed(stage):
    server = stage.room_server(5)
    exported, recorder = vanish(stage, server, "--until-empty")
    # After ten seconds of silence, as the tests of the liveness policy show.
    recorded(recorder)
    assert_plays(exported)
    journal = (recording_folder(stage.folder / "storage") / "journal.jsonl").read_text()
    assert '"participant-left"' in journal, journal
