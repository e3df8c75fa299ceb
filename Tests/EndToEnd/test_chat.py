# SPDX-License-Identifier: Apache-2.0
"""What people write into data channels beside their media, as the text track of an export."""

import json

import media
import pytest
from harness import record, room_url

ROOM = "words"
# From one program's clock to another's, through a browser.
TOLERANCE = 0.5


def texts(exported):
    """The lines of the text track, by what they say: when they are shown, in seconds."""
    track, = media.streams(exported, "subtitle")
    assert track["codec_name"] == "subrip" and track["tags"]["title"] == "Chat", track
    shown = media.run("ffmpeg", "-v", "error", "-i", exported, "-map", f"0:{track['index']}", "-c:s", "copy", "-f",
                      "srt", "-").decode().strip()
    lines = [block.split("\n", 2)[2] for block in shown.replace("\r", "").split("\n\n")]
    return dict(zip(lines, (packet.time for packet in media.packets(exported, track["index"]))))


def assert_plays(exported):
    """ffmpeg has no way to decode text into nothing."""
    assert media.decoder_messages(exported, ("-map", "0:v", "-map", "0:a", "-enc_time_base", "-1")) == ""


def written(peer):
    return {fact["text"]: fact["at"] for fact in peer.facts if fact.get("event") == "wrote"}


def test_aiortc_writes_beside_its_camera(stage):
    server = stage.room_server(5)
    words = ["good morning", json.dumps({"type": "chat", "text": "wörld <b>"})]
    flags = [flag for text in words for flag in ("--write", text)]
    peer = stage.aiortc(server, ROOM, "--send", "synthetic", *flags)
    exported, recorder = record(stage, room_url(server, ROOM), 3)
    closed = peer.wait_for_event("closed", 10)
    assert_plays(exported)
    shown = texts(exported)
    # A bracket that would open a tag is made harmless.
    assert list(shown) == ["peer: good morning", "peer: wörld <\u2060b>"], f"{shown}\n{recorder.story()}"
    start, _ = media.span(exported, media.streams(exported, "video")[0]["index"])
    for line, at in zip(shown.values(), written(peer).values()):
        assert abs(line - start - max(0, at - closed["startedAt"])) < TOLERANCE, f"{shown}\n{peer.story()}"


def test_chromium_opens_a_channel_in_the_call(stage):
    server = stage.serve()
    peer = stage.browser(server, ROOM, "--send", "--channel")
    exported = stage.folder / "call.mkv"
    recorder = stage.tapedeck("record", room_url(server, ROOM), "--until-empty", "--directory",
                              stage.folder / "storage", "--output", exported, "--json")
    recorder.wait_for("the recording", lambda: "recording started" in recorder.messages, 30)
    for text in ("first", "second", '{"message": "third"}'):
        done = len(written(peer))
        if text == "second":
            peer.say("add channel")
            peer.wait_for_event("changed", 10)
        peer.say(f"write {text}")
        peer.wait_for(text, lambda: len(written(peer)) > done, 10)
    # The call is to be long enough for everything to arrive.
    folder = stage.folder / "storage"
    recorder.wait_for("the third", lambda: any("third" in path.read_text() for path in folder.rglob("journal.jsonl")), 15)
    recorder.wait_for("pictures", lambda: list(folder.rglob("*-video.mkv")), 15)
    peer.say("leave")
    closed = peer.wait_for_event("closed", 15)
    assert recorder.wait(40) == 0, recorder.story()
    assert_plays(exported)
    assert "call rebuilt" not in recorder.messages, recorder.story()
    shown = texts(exported)
    name = peer.event("joined")["id"]
    assert list(shown) == [f"{name}: first", f"{name}: second", f"{name}: third"], f"{shown}\n{recorder.story()}"
    (first, *others), (said, *later) = shown.values(), written(peer).values()
    for line, at in zip(others, later):
        assert abs(line - first - (at - said)) < TOLERANCE, f"{shown}\n{peer.story()}"
    assert closed["framesSent"] > 0, closed


@pytest.mark.long
def test_chat_that_is_not_wanted_is_refused(stage):
    server = stage.room_server(5)
    stage.aiortc(server, ROOM, "--send", "synthetic", "--write", "secret")
    exported, recorder = record(stage, room_url(server, ROOM), 2, "--no-chat")
    assert not media.streams(exported, "subtitle"), recorder.story()
