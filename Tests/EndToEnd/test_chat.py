# SPDX-License-Identifier: Apache-2.0
"""Messages that people write into data channels next to their media, as the text track of an export."""

import json

import media
import pytest
from peers import lateness, room_url
from recordings import interrupted, record_some, start_recorder, wait_for_media, wait_for_more
from stage import LIMIT

ROOM = "words"
# From one program's clock to another's; messages on the way need some time.
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


def wait_for_journal(recorder, folder, text):
    recorder.wait_for(f"{text} in the journal", lambda: any(
        text in path.read_text() for path in folder.rglob("journal.jsonl")), LIMIT)


def aiortc_writes(stage):
    """A recorded call in which aiortc wrote something: the lines shown, the recorder, the peer, the file."""
    server = stage.room_server(5)
    words = ["good morning", json.dumps({"type": "chat", "text": "wörld <b>"})]
    flags = [flag for text in words for flag in ("--write", text)]
    peer = stage.aiortc(server, ROOM, "--send", "synthetic", *flags)
    exported, recorder = start_recorder(stage, room_url(server, ROOM))
    folder = stage.folder / "storage"
    for text in ("good morning", "wörld"):
        wait_for_journal(recorder, folder, text)
    wait_for_media(recorder, folder)
    # Video and audio continue after the message.
    wait_for_more(recorder, folder)
    interrupted(recorder)
    peer.wait_for_event("closed", LIMIT)
    assert_plays(exported)
    shown = texts(exported)
    # A bracket that would open a tag is made harmless.
    assert list(shown) == ["peer: good morning", "peer: wörld <\u2060b>"], f"{shown}\n{recorder.story()}"
    return exported, shown, peer


def test_aiortc_writes_beside_its_camera(stage):
    exported, shown, _ = aiortc_writes(stage)
    first, second = shown.values()
    # The encoders decide whether video or audio comes first, and how late the other is.
    spans = [media.span(exported, media.streams(exported, kind)[0]["index"]) for kind in ("video", "audio")]
    start, end = min(first for first, _ in spans), max(last for _, last in spans)
    assert start - 0.1 <= first <= second <= end + 0.1, f"{shown} {start} {end}"


@pytest.mark.long
@pytest.mark.media
def test_words_stand_where_they_were_written(stage):
    exported, shown, peer = aiortc_writes(stage)
    start, _ = media.span(exported, media.streams(exported, "video")[0]["index"])
    began = peer.event("closed")["startedAt"]
    late = [line - start - max(0, at - began) for line, at in zip(shown.values(), written(peer).values())]
    # A word stands where it arrived: each may have had to wait for the processor, but not to the same end.
    assert -TOLERANCE < min(late) < TOLERANCE + lateness(peer) and max(late) < LIMIT, f"{shown} {late}\n{peer.story()}"


def test_chromium_opens_a_channel_in_the_call(stage):
    server = stage.serve()
    peer = stage.browser(server, ROOM, "--send", "--channel")
    exported = stage.folder / "call.mkv"
    recorder = stage.tapedeck("record", room_url(server, ROOM), "--until-empty", "--wait", "90s", "--directory",
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
    wait_for_journal(recorder, folder, "third")
    wait_for_media(recorder, folder)
    peer.tell("leave")
    closed = peer.wait_for_event("closed", LIMIT)
    assert recorder.wait(LIMIT) == 0, recorder.story()
    assert_plays(exported)
    assert "call rebuilt" not in recorder.messages, recorder.story()
    shown = texts(exported)
    name = peer.event("joined")["id"]
    assert list(shown) == [f"{name}: first", f"{name}: second", f"{name}: third"], f"{shown}\n{recorder.story()}"
    first, second, third = shown.values()
    assert first <= second <= third, f"{shown}\n{peer.story()}"
    assert closed["framesSent"] > 0, closed


@pytest.mark.long
def test_chat_that_is_not_wanted_is_refused(stage):
    server = stage.room_server(5)
    stage.aiortc(server, ROOM, "--send", "synthetic", "--write", "secret")
    exported, recorder = record_some(stage, room_url(server, ROOM), *stage.room("record: { chat: false }"))
    assert not media.streams(exported, "subtitle"), recorder.story()
