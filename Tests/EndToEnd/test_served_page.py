# SPDX-License-Identifier: Apache-2.0
"""The room server of `tapedeck serve`, its page in Chromium and Firefox, and foreign clients on it."""

import urllib.request

import media
import pytest
from dashboard import CAMERA, check_accessible, chromium
from figures import SLACK, assert_all_counted, assert_plays, assert_whole
from peers import room_url
from recordings import interrupted, record_frames, start_recorder, wait_for_silence
from stage import PEERS, python

ROOM = "standup"


def page(stage, server, name, program="browser_peer.py"):
    peer = stage.start(f"page-{name}", python("peers"), PEERS / program, "--page",
                       f"http://127.0.0.1:{server.port}/", "--room", ROOM, "--name", name)
    peer.wait_for_event("joined")
    return peer


@pytest.mark.media
@pytest.mark.parametrize("program", ["browser_peer.py", "firefox_peer.py"], ids=["chromium", "firefox"])
def test_a_person_in_the_page_is_recorded(stage, program):
    server = stage.serve()
    browser = page(stage, server, "Alice", program)
    exported, recorder = start_recorder(stage, room_url(server, ROOM))
    sent, later = browser.wait_for_figure("framesSent", 150), None
    if program == "browser_peer.py":
        browser.tell("silence")
        browser.wait_for_event("silent")
        wait_for_silence(recorder, stage.folder / "storage")
        sent, = browser.figures("framesSent")
    interrupted(recorder)
    if program == "firefox_peer.py":
        # Without tracks it sends on. Its figures are of its last look: 30 frames a second may have been sent since.
        closed = browser.wait_for_event("closed")
        later = closed["framesSent"] + SLACK + 30 * (closed["at"] - closed["lookedAt"])
    assert_all_counted(exported, recorder, sent, later)
    assert browser.end() == 0


@pytest.mark.long
def test_three_members_meet_in_a_room_of_three(stage):
    server = stage.serve("--room-size", "3")
    first = page(stage, server, "Alice")
    second = page(stage, server, "Bob")
    first.wait_for_event("connected")
    second.wait_for_event("connected")
    exported, recorder = start_recorder(stage, room_url(server, ROOM))

    def counts():
        """How many frames and packets of sound each of the page's connections has sent."""
        return [figures for peer in (first, second) for figures in peer.each_figure("framesSent", "audioPacketsSent")]
    recorder.wait_for("media for the recorder", lambda: [
        frames > 60 and packets > 100 for frames, packets in counts()] == [True] * 4)
    interrupted(recorder)
    assert_plays(exported)
    story = media.describe(exported) + recorder.story()
    assert len(media.streams(exported, "video")) == 2 and len(media.streams(exported, "audio")) == 2, story
    for stream in media.streams(exported):
        assert len(media.packets(exported, stream["index"])) >= (45 if stream["codec_type"] == "video" else 75), story
    first.signal(15)
    assert first.wait() == 0
    # The other one is told.
    assert second.wait_for("the end of the call", lambda: any(
        fact.get("event") == "closed" and fact.get("framesDecoded", 0) > 0 for fact in second.facts))


@pytest.mark.media
@pytest.mark.parametrize("eio, transport", [(4, "polling"), (3, "websocket"),
                                            pytest.param(3, "polling", marks=pytest.mark.long)])
def test_old_and_new_clients_share_a_room(stage, eio, transport):
    server = stage.serve()
    server.eio = eio
    peer = stage.aiortc(server, ROOM, "--send", "synthetic", transport=transport)
    exported, recorder, sent = record_frames(stage, room_url(server, ROOM, eio=7 - eio), peer, 90)
    assert_whole(exported, recorder, sent)


def test_a_name_that_the_server_does_not_take_is_told(stage):
    server = stage.serve()
    with chromium() as browser:
        page = browser.new_page()
        for name in ("a" * 129, "a%07b", "a%E2%80%A8b"):
            page.goto(f"http://127.0.0.1:{server.port}/?room={name}&autojoin=1")
            page.get_by_text("at most 128 characters").wait_for(timeout=90_000)
            assert page.evaluate("tapedeckRoom.state") == "idle" and page.locator("#entry").is_visible()


def test_a_room_has_an_address_to_share(stage):
    server = stage.serve()
    home = f"http://127.0.0.1:{server.port}"
    with chromium() as browser:
        page = browser.new_page()
        page.goto(home)
        # The page says what it is, without a room.
        page.get_by_role("heading", name="Video calls in the browser").wait_for()
        for name, path in (("standup", "/standup"), ("a b/ä", "/a%20b%2F%C3%A4"), ("..", "/?room=.."),
                           ("room.js", "/?room=room.js"), ("100%", "/100%25")):
            page.goto(home)
            page.get_by_label("Room", exact=True).fill(name)
            page.get_by_role("button", name="Join").click()
            page.wait_for_function("() => tapedeckRoom.state === 'joined'", timeout=90_000)
            assert page.url == home + path and name in page.title()
            assert not page.get_by_role("heading", name="Video calls in the browser").is_visible()
            page.goto("about:blank")
            page.goto(home + path)
            assert page.get_by_label("Room", exact=True).input_value() == name
        # What is no room's address.
        for path in ("/a/b", "/favicon.ico"):
            assert page.goto(home + path).status == 404


def test_another_camera_is_chosen_during_a_call(stage):
    """The others see it, and what was switched off stays off."""
    server = stage.serve()
    with chromium(*CAMERA[1:], "--use-fake-device-for-media-stream=device-count=3") as browser:
        pages = [browser.new_context().new_page() for _ in range(2)]
        for page in pages:
            page.goto(f"http://127.0.0.1:{server.port}/?room=standup&autojoin=1")
        first, second = pages
        second.wait_for_function("() => document.querySelector('video[data-peer]')?.currentTime > 0.5", timeout=90_000)
        camera = first.get_by_label("Camera", exact=True)
        first.wait_for_function("() => document.getElementById('camera').options.length === 3")
        assert first.get_by_label("Microphone", exact=True).is_visible()
        before = camera.input_value()
        first.get_by_role("button", name="Stop camera").click()
        # The second of Chromium measures depth, which is not sent.
        camera.select_option(index=2)
        first.wait_for_function("before => { const [track] = tapedeckRoom.localStream.getVideoTracks();"
                                " return track.readyState === 'live' && track.getSettings().deviceId !== before; }", arg=before)
        sent = "() => [...tapedeckRoom.peers.values()][0].getSenders().map(sender => sender.track)"
        first.wait_for_function(f"() => ({sent})().includes(tapedeckRoom.localStream.getVideoTracks()[0])")
        assert first.evaluate("tapedeckRoom.localStream.getVideoTracks()[0].enabled") is False
        first.get_by_role("button", name="Start camera").click()
        shown = second.evaluate("document.querySelector('video[data-peer]').getVideoPlaybackQuality().totalVideoFrames")
        second.wait_for_function("count => document.querySelector('video[data-peer]').getVideoPlaybackQuality()"
                                 ".totalVideoFrames > count + 30", arg=shown, timeout=90_000)
        check_accessible(first)
        # One that is gone is told, and the camera before stays.
        first.evaluate("document.getElementById('camera').add(new Option('Gone', 'no-such-device'))")
        kept = first.evaluate("tapedeckRoom.localStream.getVideoTracks()[0].getSettings().deviceId")
        camera.select_option("no-such-device")
        first.get_by_text("This device cannot be used").wait_for()
        first.wait_for_function("kept => document.getElementById('camera').value === kept", arg=kept)
        assert first.evaluate("tapedeckRoom.localStream.getVideoTracks()[0].readyState") == "live"


def test_a_full_room_says_how_many_it_takes(stage):
    server = stage.serve()
    with chromium() as browser:
        pages = [browser.new_context().new_page() for _ in range(3)]
        for number, page in enumerate(pages):
            page.goto(f"http://127.0.0.1:{server.port}/?room=standup&autojoin=1")
            state = "full" if number == 2 else "joined"
            page.wait_for_function(f"() => tapedeckRoom.state === '{state}'", timeout=90_000)
        text = pages[2].locator("#status").inner_text()
        assert "takes 2 members" in text and "--room-size 3" in text, text


def test_the_page_needs_nothing_from_elsewhere(stage):
    server = stage.serve()
    with urllib.request.urlopen(f"http://127.0.0.1:{server.port}/", timeout=60) as answer:
        assert answer.status == 200 and answer.headers["Content-Type"].startswith("text/html")
        text = answer.read().decode()
    assert "http://" not in text and "https://" not in text
