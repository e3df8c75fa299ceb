# SPDX-License-Identifier: Apache-2.0
"""A room with more participants than most recorders are tried with (sipwise/rtpengine#768, livekit/egress#1160)."""

import json

import media
import pytest
from figures import SLACK, assert_few_lost, assert_plays
from peers import caught_up, room_url
from recordings import interrupted, recording_folder, start_recorder
from stage import LIMIT

MEMBERS, FPS = 32, 5
pytestmark = pytest.mark.media


def test_a_room_of_many_is_recorded_whole(stage):
    server = stage.serve("--room-size", str(MEMBERS + 1))
    crowd = stage.aiortc(server, "crowd", "--send", "synthetic", "--size", "320x180", "--fps", str(FPS), "--codec", "vp8",
                         "--members", str(MEMBERS), program="crowd_peer.py")
    crowd.wait_for_event("crowd")
    exported, recorder = start_recorder(stage, room_url(server, "crowd"))

    def sent():
        return [frames for frames, in crowd.each_figure("framesSent")]

    crowd.wait_for("media of all", lambda: len(counts := sent()) == MEMBERS and min(counts) >= 8 * FPS, LIMIT)
    caught_up(crowd, recorder)
    interrupted(recorder)
    assert_plays(exported)
    assert_few_lost(exported, recorder)
    certificate = json.loads((recording_folder(stage.folder / "storage") / "manifest.json").read_text())["certificate"]
    assert certificate["verdict"] == "complete", certificate["findings"]
    assert len(certificate["sources"]) == 2 * MEMBERS and len({track["participant"] for track in certificate["tracks"]}) == MEMBERS
    for source in certificate["sources"]:
        refused = sum(figure["packets"] for figure in source["refused"].values())
        assert source["received"] == source["before"] + source["recorded"] + source["empty"] + source["waiting"] + refused, source
    videos = media.streams(exported, "video")
    assert len(videos) == len(media.streams(exported, "audio")) == MEMBERS
    for video in videos:
        assert len(media.packets(exported, video["index"])) >= 8 * FPS - SLACK, recorder.story()
    assert crowd.end() == 0, crowd.story()
