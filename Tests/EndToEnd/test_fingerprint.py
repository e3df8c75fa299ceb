# SPDX-License-Identifier: Apache-2.0
"""A peer whose certificate is not the one its description names is refused before any media."""

import signal
import time

import pytest
from peers import room_url
from recordings import media_files

ROOM = "123123"


@pytest.mark.parametrize("peer_is_first", [True, False], ids=["peer offers", "tapedeck offers"])
@pytest.mark.parametrize("kind", ["aiortc", "chromium"])
def test_nothing_of_a_forged_description_is_recorded(stage, kind, peer_is_first):
    server = stage.room_server(5)

    def join():
        if kind == "aiortc":
            return stage.aiortc(server, ROOM, "--send", "synthetic", "--alter-fingerprint")
        return stage.browser(server, ROOM, "--send", "--alter-fingerprint")

    peer = join() if peer_is_first else None
    recorder = stage.tapedeck("record", room_url(server, ROOM), "--wait", "90s", "--directory",
                              stage.folder / "storage", "--output", stage.folder / "call.mkv", "--json")
    if peer is None:
        stage.members(server, ROOM, 1)
        peer = join()
    recorder.wait_for("the refusal", lambda: "fingerprint" in recorder.messages.lower())
    # Media that were let in would come now.
    time.sleep(2)
    recorder.signal(signal.SIGINT)
    assert recorder.wait() == 130, recorder.story()
    assert media_files(stage.folder) == [], recorder.story()
    peer.end()


def test_with_nobody_but_a_forger_there_is_no_media(stage):
    server = stage.room_server(5)
    forger = stage.aiortc(server, ROOM, "--send", "synthetic", "--alter-fingerprint")
    recorder = stage.run_tapedeck("record", room_url(server, ROOM), "--wait", "30s", "--directory", stage.folder)
    assert recorder.exit_code == 4, recorder.story()
    assert "fingerprint" in recorder.messages.lower(), recorder.story()
    forger.end()


def test_nothing_is_sent_to_a_forger(stage):
    server = stage.room_server(5)
    forger = stage.aiortc(server, ROOM, "--receive", "--alter-fingerprint")
    camera = stage.tapedeck("camera", room_url(server, ROOM), "--video", "test", "--json")
    camera.wait_for("the refusal", lambda: "fingerprint" in camera.messages.lower())
    time.sleep(2)
    camera.end()
    forger.end()
    figures = forger.event("end")
    assert figures["framesDecoded"] == 0 and figures["audioFramesReceived"] == 0, forger.story() + camera.story()
