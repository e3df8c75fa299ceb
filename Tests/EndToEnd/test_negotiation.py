# SPDX-License-Identifier: Apache-2.0
"""Calls that change while they are recorded: tracks come, go and are replaced; and the codec that we ask for."""

import media
import pytest
from figures import SLACK, assert_plays, assert_sound, losses
from peers import change, lateness, room_url
from recordings import recorded
from stage import LIMIT

ROOM = "standup"


def start_recorder(stage, server, *flags):
    exported = stage.folder / "call.mkv"
    recorder = stage.tapedeck("record", room_url(server, ROOM), "--until-empty", "--directory",
                              stage.folder / "storage", "--output", exported, "--json", *flags)
    return exported, recorder


def wait_for_sources(peer, count):
    """Waits until so many sources of the peer, those that are gone included, have sent more than a second of frames."""
    peer.wait_for(f"{count} sources", lambda: (peer.event("sources") or {}).get("count", 0) >= count, LIMIT)


def leave_and_export(peer, recorder):
    """Ends the call; the peer's figures."""
    peer.tell("leave")
    closed = peer.wait_for_event("closed", LIMIT)
    assert peer.wait(LIMIT) == 0, peer.story()
    recorded(recorder)
    return closed


def assert_videos(exported, sent, recorder, codec):
    """One recorded track for each source, each with its frames.

    A browser counts frames as sent that its encoder made while a change reconfigured its sender, and that never left
    it. A frame lost on the way would be a lost packet.
    """
    assert_plays(exported)
    story = f"{sent}\n{media.describe(exported)}\n{recorder.story()}"
    videos = media.streams(exported, "video")
    assert len(videos) == len(sent), story
    assert {video["codec_name"] for video in videos} == {codec}, story
    counts = [len(media.packets(exported, video["index"])) for video in videos]
    lost = losses(recorder)
    for recorded, frames in zip(sorted(counts), sorted(sent)):
        assert 0 < recorded <= frames + 3 and recorded >= frames - lost.frames - SLACK, f"{counts}\n{story}"


def assert_tracks(exported, sent, recorder, codec):
    """The same, and audio without a gap."""
    assert_videos(exported, sent, recorder, codec)
    sound, = media.streams(exported, "audio")
    assert_sound(exported, sound["index"], losses(recorder), recorder.story(), late=lateness(recorder))


def test_chromium_changes_its_call(stage):
    """A screen next to the camera comes and goes, the camera is replaced, stopped, and comes back; VP8 by default."""
    server = stage.serve()
    browser = stage.browser(server, ROOM, "--send", "--size", "320x180")
    exported, recorder = start_recorder(stage, server)
    wait_for_sources(browser, 1)
    change(browser, "add screen")
    wait_for_sources(browser, 2)
    change(browser, "remove screen")
    change(browser, "replace camera")
    change(browser, "stop screen")
    change(browser, "add screen")
    wait_for_sources(browser, 3)
    closed = leave_and_export(browser, recorder)
    assert_tracks(exported, list(closed["framesOfSources"].values()), recorder, "vp8")


@pytest.mark.long
@pytest.mark.timeout(600)
def test_forty_screens_one_after_another_are_all_recorded(stage):
    """Each has a separate m-line and sources, which stay when it has ended."""
    server = stage.serve()
    browser = stage.browser(server, ROOM, "--send", "--size", "320x180", "--limit", "600")
    exported, recorder = start_recorder(stage, server)
    wait_for_sources(browser, 1)
    for index in range(40):
        change(browser, "add screen")
        wait_for_sources(browser, index + 2)
        change(browser, "remove screen")
    closed = leave_and_export(browser, recorder)
    assert len(closed["framesOfSources"]) == 41
    assert_videos(exported, list(closed["framesOfSources"].values()), recorder, "vp8")


def test_a_data_channel_comes_first_and_media_later(stage):
    """The offer without media is answered, and the peer's media are recorded; H.264 because we ask for it."""
    server = stage.serve()
    browser = stage.browser(server, ROOM, "--send", "--size", "320x180", "--data-first")
    exported, recorder = start_recorder(stage, server, "--codec", "h264")
    browser.wait_for_event("answered", LIMIT)
    change(browser, "add media")
    wait_for_sources(browser, 1)
    closed = leave_and_export(browser, recorder)
    assert closed["codecSent"] == "video/H264", closed
    assert_tracks(exported, list(closed["framesOfSources"].values()), recorder, "h264")


def test_aiortc_sends_a_second_video_for_a_while(stage):
    server = stage.serve()
    peer = stage.aiortc(server, ROOM, "--send", "synthetic", "--size", "320x180", "--second-video", "1-3", "--duration", "4")
    exported, recorder = start_recorder(stage, server)
    assert peer.wait(LIMIT) == 0, peer.story()
    closed = peer.event("closed")
    recorded(recorder)
    assert_tracks(exported, [closed["framesSent"], closed["secondFramesSent"]], recorder, "vp8")


def test_aiortc_answers_us_and_then_offers(stage):
    """It renumbers its codecs in its own offer; the call, and its earlier media, continue."""
    server = stage.serve()
    exported, recorder = start_recorder(stage, server)
    recorder.wait_for("us", lambda: "joined the room" in recorder.messages, LIMIT)
    peer = stage.aiortc(server, ROOM, "--send", "synthetic", "--size", "320x180", "--second-video", "1-3", "--duration", "4")
    assert peer.wait(LIMIT) == 0, peer.story()
    closed = peer.event("closed")
    recorded(recorder)
    assert "call rebuilt" not in recorder.messages, recorder.story()
    assert_tracks(exported, [closed["framesSent"], closed["secondFramesSent"]], recorder, "vp8")
