# SPDX-License-Identifier: Apache-2.0
"""Calls by chat messages of XMPP: Debian's Prosody, and an app on slixmpp and aiortc as the other party."""

import json

import pytest
from daemon import Daemon
from figures import (assert_count, assert_nearly_all, assert_plays, assert_saw, assert_whole, losses_in,
                     video_packets)
from peers import wait_until_seen
from recordings import interrupted, wait_for_both_ways, wait_for_media
from stage import LIMIT, PEERS, SEND, free_port, python

SMALL = ("--send", "synthetic", "--size", "320x180")

SECRET = "correct horse ü"
ACCOUNTS = {"recorder": SECRET, "alice": "pw", "mallory": "pw"}


class Server:
    """Prosody, which keeps its port and its folder over restarts."""

    def __init__(self, stage):
        self.stage, self.port, self.folder = stage, free_port(), stage.folder / "prosody"
        self.address = f"127.0.0.1:{self.port}"
        self.start()

    def start(self):
        accounts = [part for account in ACCOUNTS.items() for part in ("--account", ":".join(account))]
        self.process = self.stage.start("prosody", python("peers"), PEERS / "prosody_server.py", "--folder",
                                        self.folder, "--port", self.port, *accounts)
        self.process.wait_for("its port", lambda: f"'c2s' on [127.0.0.1]:{self.port}" in self.process.output, LIMIT)

    def restart(self):
        self.process.end(LIMIT)
        self.start()

    def url(self, *options):
        return "&".join([f"xmpp://recorder@example.org/?server={self.address}", *options])

    def app(self, *flags, name="alice"):
        """The other party; returns when it is signed in."""
        peer = self.stage.start(name, python("peers"), PEERS / "xmpp_peer.py", "--jid", f"{name}@example.org",
                                "--password", ACCOUNTS[name], "--server", self.address, "--peer",
                                "recorder@example.org", *flags)
        peer.wait_for_event("online", LIMIT)
        return peer


def order(peer, **order):
    peer.process.stdin.write(json.dumps(order).encode() + b"\n")
    peer.process.stdin.flush()


def count(peer, name):
    return sum(fact.get("event") == name for fact in peer.facts)


def start_recorder(stage, url, *flags):
    exported = stage.folder / "call.mkv"
    return exported, stage.tapedeck("record", url, "--directory", stage.folder / "storage", "--output", exported,
                                    "--json", *flags)


@pytest.fixture
def server(stage, monkeypatch):
    monkeypatch.setenv("TAPEDECK_XMPP_PASSWORD", SECRET)
    server = Server(stage)
    # The certificate is checked: it is trusted, and names the domain.
    monkeypatch.setenv("SSL_CERT_FILE", str(server.folder / "certificate.pem"))
    return server


def test_a_call_is_answered_recorded_and_sees_our_camera(stage, server):
    notes = stage.folder / "notes.jsonl"
    peer = server.app("--call", *SMALL, "--receive", "--notes", notes)
    exported, recorder = start_recorder(stage, server.url("peer=alice@example.org"), *SEND)
    wait_for_media(recorder, stage.folder / "storage")
    wait_until_seen(peer, notes)
    interrupted(recorder)
    closed = peer.wait_for_event("closed", LIMIT)
    assert peer.end(LIMIT) == 0, peer.story()
    assert_whole(exported, recorder)
    assert_saw(closed, peer.story())
    # One `bye` of ours, and its echo was not answered.
    assert count(peer, "bye") == 1, peer.story()
    assert recorder.result()["tracks"][0]["participant"].startswith("alice@example.org/"), recorder.story()


def test_we_call_and_wait_for_a_person(stage, server):
    peer = server.app(*SMALL, "--accept-after", "2")
    exported, recorder = start_recorder(stage, server.url("peer=alice@example.org", "call"))
    wait_for_media(recorder, stage.folder / "storage")
    interrupted(recorder)
    peer.wait_for_event("closed", LIMIT)
    assert peer.end(LIMIT) == 0, peer.story()
    assert_whole(exported, recorder)
    assert count(peer, "ringing") == 1 and count(peer, "bye") == 1, peer.story()


@pytest.mark.long
@pytest.mark.media
@pytest.mark.parametrize("we_call", [True, False], ids=["caller", "answerer"])
def test_fifteen_seconds_both_ways(stage, server, we_call):
    notes = stage.folder / "notes.jsonl"
    peer = server.app(*SMALL, "--receive", "--notes", notes, *([] if we_call else ["--call"]))
    exported, recorder = start_recorder(stage, server.url("peer=alice@example.org", *(["call"] if we_call else [])),
                                        *SEND)
    wait_for_both_ways(recorder, stage.folder / "storage", peer, notes)
    assert peer.end(LIMIT) == 0, peer.story()
    interrupted(recorder)
    assert count(peer, "ringing") == we_call, peer.story()
    assert_nearly_all(exported, recorder, peer.event("closed")["framesSent"])
    assert_saw(peer.event("closed"), peer.story())


def test_prosody_restarts_in_the_middle_of_a_call(stage, server):
    room = {"url": server.url("peer=alice@example.org"), "secret": "${TAPEDECK_XMPP_PASSWORD}",
            "record": {"empty_after": "1s"}}
    daemon = Daemon(stage, {"reception": room}, log_level="debug")
    daemon.wait_for_phase("reception", "joined", LIMIT)
    worker = daemon.worker("reception")
    mallory = server.app(*SMALL, "--call", name="mallory")
    peer = server.app(*SMALL)
    # Messages of people and other programs are left alone, whatever they are.
    nested = "<x>" * 3000 + "</x>" * 3000
    recorder = peer.wait_for_event("seen", LIMIT)["jid"]
    for raw in (f"<message type='chat' to='{recorder}'><body>{nested}</body></message>",
                f"<message type='chat' to='{recorder}'><body>a</body>{nested}</message>",
                f"<message type='error' to='{recorder}'><body>{{\"type\":\"bye\"}}</body></message>",
                f"<message type='chat' to='{recorder}'><active xmlns='http://jabber.org/protocol/chatstates'/></message>"):
        order(peer, raw=raw)
    for text in ("hello?", "5", '"text"', "[]", "{}", '{"roomId": []}', '{"type": "offer"}', '{"type": "bye"}',
                 '{"type": "candidate", "sdp": ""}', '{"type": "answer", "sdp": "v=0"}', "{" * 5000):
        order(peer, say=text, to=recorder)
    order(mallory, say='{"type": "offer", "sdp": "v=0"}', to=recorder)
    order(peer, call=True)
    daemon.wait_for_recording("reception", LIMIT)
    seen = count(peer, "seen")
    server.restart()
    peer.wait_for("alice to come back", lambda: count(peer, "online") >= 2, LIMIT)
    peer.wait_for("us to come back", lambda: count(peer, "seen") > seen, LIMIT)
    # Once: our old presence is not there next to the new one.
    facts = peer.facts
    again = max(index for index, fact in enumerate(facts) if fact.get("event") == "online")
    assert len({fact["jid"] for fact in facts[again:] if fact.get("event") == "seen"}) == 1, peer.story()
    assert daemon.room("reception")["status"]["recordingState"] == "recording", daemon.process.story()
    assert count(peer, "closed") == 0, peer.story()
    before, = written(daemon)
    daemon.wait_for("more of the first call", lambda: written(daemon)[0] > before + 60_000, LIMIT)
    # A new call, over the new stream; the app hangs up the old one first.
    order(peer, hang_up=True)
    first, = daemon.wait_for_export("reception", LIMIT)
    order(peer, call=True)
    peer.wait_for("the second call", lambda: count(peer, "connected") >= 2, LIMIT)
    daemon.wait_for("frames of it in a second recording",
                    lambda: len(written(daemon)) == 2 and written(daemon)[0] > 60_000, LIMIT)
    order(peer, hang_up=True)
    folders = daemon.wait_for_export("reception", LIMIT, count=2)
    peer.wait_for("the figures of both calls", lambda: count(peer, "closed") >= 2, LIMIT)
    closed = [fact for fact in peer.facts if fact.get("event") == "closed"]
    assert len(closed) == 2, peer.story()
    for folder, figures in zip(folders, closed):
        assert_plays(folder / "call.mkv")
        assert_count(video_packets(folder / "call.mkv"), figures["framesSent"], losses_in(folder),
                     daemon.process.story())
    assert folders[0] == first and daemon.worker("reception") == worker
    assert count(peer, "message") == 0 and count(peer, "error") == 0 and count(peer, "crash") == 0, peer.story()
    assert daemon.log("A message of an account that may not call us was ignored"), daemon.process.story()
    assert count(mallory, "connected") == 0
    assert SECRET not in daemon.process.messages and SECRET not in daemon.process.output


def written(daemon):
    """Bytes of each recording so far, smallest first."""
    folders = (daemon.storage / "recordings" / "reception").glob("*/tracks")
    return sorted(sum(file.stat().st_size for file in folder.iterdir()) for folder in folders)


@pytest.mark.parametrize("password, words", [("wrong", "refused the password of recorder@example.org"),
                                             ("", "TAPEDECK_XMPP_PASSWORD")])
def test_a_wrong_password_is_named(stage, server, monkeypatch, password, words):
    monkeypatch.setenv("TAPEDECK_XMPP_PASSWORD", password)
    recorder = stage.run_tapedeck("record", server.url("peer=alice@example.org"), "--duration", "1s", "--directory",
                                  stage.folder / "storage", timeout=LIMIT)
    assert recorder.exit_code == (3 if password else 2), recorder.story()
    assert words in recorder.messages, recorder.story()


def test_a_certificate_that_nobody_trusts_is_named(stage, server, monkeypatch):
    monkeypatch.delenv("SSL_CERT_FILE")
    recorder = stage.run_tapedeck("record", server.url("peer=alice@example.org"), "--duration", "1s", "--directory",
                                  stage.folder / "storage", timeout=LIMIT)
    assert recorder.exit_code == 3, recorder.story()
    assert "certificate" in recorder.messages, recorder.story()
