# SPDX-License-Identifier: Apache-2.0
"""Recordings of a sender with a peculiarity, and the account that the certificate gives of each packet."""

import json

from peers import caught_up, room_url
from recordings import interrupted, recording_folder, start_recorder

ROOM = "123123"


def odd_peer(stage, server, kind, *flags, program="odd_sender_peer.py"):
    return stage.aiortc(server, ROOM, "--send", "synthetic", "--size", "320x180", "--fps", "15", "--odd", kind, *flags,
                        program=program)


def recorded_from(stage, kind, *flags, until=("framesSent", 60), codes=(), program="odd_sender_peer.py"):
    """Records such a peer until it counts so many; the exported file, the recorder, and the peer's count."""
    server = stage.room_server(5)
    peer = odd_peer(stage, server, kind, *flags, program=program)
    exported, recorder = start_recorder(stage, room_url(server, ROOM))
    sent = peer.wait_for_figure(*until)
    caught_up(peer, recorder)
    interrupted(recorder, *codes)
    return exported, recorder, sent


def certificate(stage):
    return json.loads((recording_folder(stage.folder / "storage") / "manifest.json").read_text())["certificate"]


def account(stage, kind):
    found = [source for source in certificate(stage)["sources"] if source.get("media") == kind]
    assert len(found) == 1, certificate(stage)["sources"]
    return found[0]


def assert_complete(stage):
    """The verdict is complete, and the accounts balance."""
    assert certificate(stage)["verdict"] == "complete", certificate(stage)["findings"]
    assert_balances(stage)


def assert_balances(stage):
    """Every packet of every source has one account, and those of the files agree with it."""
    for source in certificate(stage)["sources"]:
        refused = sum(figure["packets"] for figure in source["refused"].values())
        parts = source["before"] + source["recorded"] + source["empty"] + source["waiting"] + refused
        assert source["received"] == parts, source
    assert not [finding for finding in certificate(stage)["findings"] if finding["kind"] == "unbalanced"]
