# SPDX-License-Identifier: Apache-2.0
"""Participants see that they are recorded: the badge of `tapedeck serve`, names, and what is announced in the chat."""

import re

import pytest
from daemon import Daemon
from dashboard import CAMERA, chromium
from peers import room_url
from recordings import interrupted, start_recorder, wait_for_media
from stage import LIMIT, free_port
from test_apprtc import apprtc_peer, apprtc_server
from test_apprtc import url as apprtc_url
from test_lan import peer as lan_peer
from test_skyrtc import members, skyrtc_server
from test_xmpp import SECRET, Server

ROOM = "standup"
ANNOUNCEMENT = "This call is recorded. Ask Ann – at any time."
SMALL = ("--send", "synthetic", "--size", "320x180")
# They share a browser.
pytestmark = pytest.mark.xdist_group("consent")


@pytest.fixture(scope="module")
def browser():
    with chromium(*CAMERA) as running:
        yield running


@pytest.fixture(autouse=True)
def state_folder(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.fixture
def page(browser):
    context = browser.new_context()
    page = context.new_page()
    page.set_default_timeout(LIMIT * 1000)
    page.errors = []
    page.on("pageerror", lambda error: page.errors.append(str(error)))
    yield page
    context.close()


def join(page, server, name="Zoë"):
    page.goto(f"http://127.0.0.1:{server.port}/{ROOM}")
    page.get_by_label("Your name").fill(name)
    page.get_by_role("button", name="Join").click()
    page.wait_for_function("() => tapedeckRoom.state === 'joined'")
    return page


def chat(page):
    return page.get_by_role("log", name="Chat").get_by_role("paragraph")


def connected(page, count):
    page.wait_for_function("""count => {
        const peers = [...tapedeckRoom.peers.values()];
        return peers.length === count && peers.every((peer) => peer.connectionState === "connected");
    }""", arg=count)


@pytest.mark.media
@pytest.mark.parametrize("scheme, comes", [("socketio+http", "later"), ("socketio+http", "first"), ("skyrtc+ws", "later")])
def test_the_page_shows_a_recorder_and_nothing_else_as_one(stage, page, scheme, comes):
    server = stage.serve("--room-size", "3")
    url = room_url(server, ROOM) if scheme == "socketio+http" else f"skyrtc+ws://127.0.0.1:{server.port}/?room={ROOM}"
    badge = page.locator("#recording")
    if comes == "later":
        join(page, server)
    recorder = None
    if comes == "first":
        _, recorder = start_recorder(stage, url, "--wait", "90s")
        recorder.wait_for("the room", lambda: "joined the room" in recorder.messages, LIMIT)
        join(page, server)
    stage.tapedeck("camera", url, "--name", "Door", "--size", "320x180")
    page.get_by_text("Door", exact=True).wait_for()
    if comes == "later":
        # A Tapedeck that only sends is no recorder.
        connected(page, 1)
        assert badge.inner_text() == "" and not badge.is_visible()
        _, recorder = start_recorder(stage, url)
    badge.get_by_text("Recording").wait_for()
    connected(page, 2)
    # The page's own tile and the camera's: the recorder is neither a tile nor a person.
    assert page.locator("figure:visible").count() == 2
    page.locator("#status").get_by_text(f"In room {ROOM}: one other person.").wait_for()
    wait_for_media(recorder, stage.folder / "storage", 4)
    interrupted(recorder)
    badge.wait_for(state="hidden")
    assert page.errors == []


@pytest.mark.media
def test_the_chat_of_the_page_is_recorded_and_says_that_it_is(stage, page):
    server = stage.serve()
    # It is there first, and offers no chat: the page asks for one.
    daemon = Daemon(stage, {ROOM: {"url": room_url(server, ROOM), "announce": ANNOUNCEMENT,
                                   "record": {"empty_after": "60s"}}})
    daemon.wait_for_phase(ROOM, "joined")
    join(page, server)
    page.locator("#recording").get_by_text("Recording").wait_for()
    chat(page).get_by_text(ANNOUNCEMENT).wait_for()
    assert chat(page).all_inner_texts() == [f"Recording: {ANNOUNCEMENT}"]
    page.get_by_label("Message").fill("good morning")
    page.keyboard.press("Enter")
    daemon.wait_for("the text in the journal", lambda: any(
        "good morning" in path.read_text() for path in daemon.storage.rglob("journal.jsonl")))
    # Once for each recording.
    daemon.post(f"/v1/rooms/{ROOM}/stop")
    daemon.post(f"/v1/rooms/{ROOM}/record")
    chat(page).nth(2).wait_for()
    assert chat(page).all_inner_texts() == [
        f"Recording: {ANNOUNCEMENT}", "You: good morning", f"Recording: {ANNOUNCEMENT}"]
    # Text stays text, and the list is bounded.
    page.evaluate("""() => {
        const form = document.getElementById("say");
        for (let index = 0; index < 300; index += 1) {
            form.elements.text.value = `<img src=x onerror="window.hacked=1"> ${index}`;
            form.requestSubmit();
        }
    }""")
    assert chat(page).count() == 200 and page.evaluate("window.hacked") is None
    assert "onerror" in chat(page).last.inner_text()
    assert page.errors == []


@pytest.mark.media
def test_a_room_that_is_recorded_by_hand_says_so_from_then_on(stage, page):
    server = stage.serve()
    daemon = Daemon(stage, {ROOM: {"url": room_url(server, ROOM), "announce": ANNOUNCEMENT, "record": "none"}})
    daemon.wait_for_phase(ROOM, "joined")
    join(page, server)
    connected(page, 1)
    assert not page.locator("#recording").is_visible()
    page.get_by_text("tapedeck", exact=True).wait_for()
    daemon.post(f"/v1/rooms/{ROOM}/record")
    page.locator("#recording").get_by_text("Recording").wait_for()
    chat(page).get_by_text(ANNOUNCEMENT).wait_for()
    daemon.wait_for_recording(ROOM)


def announced(daemon, peer):
    peer.wait_for("the announcement", lambda: any(fact.get("event") == "read" for fact in peer.facts), LIMIT)
    daemon.wait_for_recording(ROOM)
    assert [fact["text"] for fact in peer.facts if fact.get("event") == "read"] == [ANNOUNCEMENT], peer.story()


def recording(stage, url, **room):
    return Daemon(stage, {ROOM: {"url": url, "announce": ANNOUNCEMENT, "record": {"empty_after": "120s"}, **room}})


@pytest.mark.media
def test_socket_io_participants_read_the_announcement(stage):
    server = stage.room_server(5)
    peer = stage.aiortc(server, ROOM, *SMALL, "--write", "hello")
    announced(recording(stage, room_url(server, ROOM)), peer)


@pytest.mark.media
def test_skyrtc_participants_read_the_announcement(stage):
    server = skyrtc_server(stage)
    daemon = recording(stage, f"skyrtc+ws://127.0.0.1:{server.port}/wss?room=100")
    daemon.wait_for_phase(ROOM, "joined")
    # The newcomer offers.
    peer, = members(stage, server, [*SMALL, "--write", "hello"])
    announced(daemon, peer)


@pytest.mark.media
def test_apprtc_participants_read_the_announcement(stage):
    server = apprtc_server(stage)
    peer = apprtc_peer(stage, server, *SMALL, "--write", "hello")
    announced(recording(stage, apprtc_url(server)), peer)


@pytest.mark.media
def test_lan_participants_read_the_announcement(stage):
    port = free_port()
    daemon = recording(stage, f"lan+tcp://127.0.0.1:{port}?listen")
    peer = lan_peer(stage, "--dial", f"127.0.0.1:{port}", "--write", "hello")
    announced(daemon, peer)


@pytest.mark.media
def test_xmpp_participants_read_the_announcement(stage, monkeypatch):
    server = Server(stage)
    monkeypatch.setenv("SSL_CERT_FILE", str(server.folder / "certificate.pem"))
    daemon = recording(stage, server.url("peer=alice@example.org"), secret=SECRET)
    daemon.wait_for_phase(ROOM, "joined")
    peer = server.app("--call", *SMALL, "--write", "hello")
    announced(daemon, peer)


def test_a_room_without_chat_cannot_be_announced(stage):
    config = stage.folder / "janus.yaml"
    config.write_text(f"""
        storage: {{ directory: {stage.folder} }}
        rooms: {{ talk: {{ url: "janus+ws://127.0.0.1/?room=1", announce: "{ANNOUNCEMENT}" }} }}
    """)
    check = stage.run_tapedeck("run", "--config", config, "--check")
    assert check.exit_code == 2, check.story()
    assert re.search(r"rooms\.talk\.announce: janus has no chat", check.story())
