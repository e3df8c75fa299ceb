# SPDX-License-Identifier: Apache-2.0
"""What people write into data channels beside their media, as the text track of an export."""

import json

import media
import pytest
from harness import LIMIT, record, room_url

ROOM = "words"
# From one program's clock to another's; what is on the way meanwhile takes its time.
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


def aiortc_writes(stage):
    """A recorded call in which aiortc wrote something: the lines shown, the recorder, the peer, the file."""
    server = stage.room_server(5)
    words = ["good morning", json.dumps({"type": "chat", "text": "wörld <b>"})]
    flags = [flag for text in words for flag in ("--write", text)]
    peer = stage.aiortc(server, ROOM, "--send", "synthetic", *flags)
    exported, recorder = record(stage, room_url(server, ROOM), 3)
    peer.wait_for_event("closed", LIMIT)
    assert_plays(exported)
    shown = texts(exported)
    # A bracket that would open a tag is made harmless.
    assert list(shown) == ["peer: good morning", "peer: wörld <\u2060b>"], f"{shown}\n{recorder.story()}"
    return exported, shown, peer


def test_aiortc_writes_beside_its_camera(stage):
    exported, shown, _ = aiortc_writes(stage)
    first, second = shown.values()
    start, end = media.span(exported, media.streams(exported, "video")[0]["index"])
    assert start - 0.1 <= first < second <= end + 0.1, f"{shown} {start} {end}"


@pytest.mark.long
@pytest.mark.media
def test_words_stand_where_they_were_written(stage):
    exported, shown, peer = aiortc_writes(stage)
    start, _ = media.span(exported, media.streams(exported, "video")[0]["index"])
    began = peer.event("closed")["startedAt"]
    for line, at in zip(shown.values(), written(peer).values()):
        assert abs(line - start - max(0, at - began)) < TOLERANCE, f"{shown}\n{peer.story()}"


def test_chromium_opens_a_channel_in_the_call(stage):
    server = stage.serve()
    peer = stage.browser(server, ROOM, "--send", "--channel")
    exported = stage.folder / "call.mkv"
    recorder = stage.tapedeck("record", room_url(server, ROOM), "--until-empty", "--directory",
                              stage.folder / "storage", "--output", exported, "--json")
    recorder.wait_for("the recording", lambda: "recording started" in recorder.messages, LIMIT)
    for text in ("first", "second", '{"message": "third"}'):
        done = len(written(peer))
        if text == "second":
            peer.tell("add channel")
            peer.wait_for_event("changed", LIMIT)
        peer.tell(f"write {text}")
        peer.wait_for(text, lambda: len(written(peer)) > done, LIMIT)
    # The call is to be long enough for everything to arrive.
    folder = stage.folder / "storage"
    recorder.wait_for("the third", lambda: any("third" in path.read_text() for path in folder.rglob("journal.jsonl")),
                      LIMIT)
    recorder.wait_for("pictures", lambda: list(folder.rglob("*-video.mkv")), LIMIT)
    peer.tell("leave")
    closed = peer.wait_for_event("closed", LIMIT)
    assert recorder.wait(LIMIT) == 0, recorder.story()
    assert_plays(exported)
    assert "call rebuilt" not in recorder.messages, recorder.story()
    shown = texts(exported)
    name = peer.event("joined")["id"]
    assert list(shown) == [f"{name}: first", f"{name}: second", f"{name}: third"], f"{shown}\n{recorder.story()}"
    first, second, third = shown.values()
    assert first < second < third, f"{shown}\n{peer.story()}"
    assert closed["framesSent"] > 0, closed


@pytest.mark.long
def test_chat_that_is_not_wanted_is_refused(stage):
    server = stage.room_server(5)
    stage.aiortc(server, ROOM, "--send", "synthetic", "--write", "secret")
    exported, recorder = record(stage, room_url(server, ROOM), 2, "--no-chat")
    assert not media.streams(exported, "subtitle"), recorder.story()
