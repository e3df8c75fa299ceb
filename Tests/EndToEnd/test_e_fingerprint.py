# SPDX-License-Identifier: Apache-2.0
"""A peer whose certificate is not the one its description names is refused before any media."""

import pytest
from harness import media_files, room_url

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
    recorder = stage.tapedeck("record", room_url(server, ROOM), "--duration", "8s", "--wait", "8s", "--directory",
                              stage.folder / "storage", "--output", stage.folder / "call.mkv", "--json")
    if peer is None:
        stage.members(server, ROOM, 1)
        peer = join()
    assert recorder.wait(40) == 4, recorder.story()
    assert "fingerprint" in recorder.messages.lower(), recorder.story()
    assert media_files(stage.folder) == [], recorder.story()
    peer.end()


def test_nothing_is_sent_to_a_forger(stage):
    server = stage.room_server(5)
    forger = stage.aiortc(server, ROOM, "--receive", "--alter-fingerprint")
    camera = stage.run_tapedeck("camera", room_url(server, ROOM), "--video", "test", "--duration", "6s", "--json",
                                timeout=40)
    forger.end()
    figures = forger.event("end")
    assert figures["framesDecoded"] == 0 and figures["audioFramesReceived"] == 0, forger.story() + camera.story()
    assert "fingerprint" in camera.messages.lower(), camera.story()
