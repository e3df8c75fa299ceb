# SPDX-License-Identifier: Apache-2.0
"""WHIP publish and WHEP play against a strict endpoint on aiortc."""

import media
import pytest
from figures import assert_complete, assert_plays, number, video_packets
from harness import free_port

TOKEN = "sesame-Opens.0"
SHARE = 0.95
RECORDED = 13


def url(endpoint, path):
    return f"{path.split('/')[-2]}+http://127.0.0.1:{endpoint.port}/{path}"


def requests(endpoint, method):
    return [fact for fact in endpoint.facts if fact.get("event") == "request" and fact["method"] == method]


def closed(endpoint, sends):
    """The figures of the sessions that sent, or received, in the order of their end."""
    return [fact for fact in endpoint.facts
            if fact.get("event") == "closed" and bool(fact["framesSent"]) == sends]


def wait_for_sessions(endpoint, timeout):
    """Waits until a camera and a player are connected."""
    def are_connected():
        return [fact["event"] for fact in endpoint.facts].count("connected") == 2
    endpoint.wait_for("two sessions", are_connected, timeout)


def record(stage, endpoint, path, seconds, **options):
    exported = stage.folder / f"{path.replace('/', '-')}.mkv"
    recorder = stage.tapedeck("record", url(endpoint, path), "--duration", f"{seconds}s", "--directory",
                              stage.folder / "storage", "--output", exported, "--json", **options)
    return exported, recorder


@pytest.mark.alone
def test_the_camera_is_published_and_a_stream_played(stage):
    # Strict about tokens too; the offers of the camera are sent elsewhere first, those of the player wait their turn.
    endpoint = stage.whip_endpoint("--token", TOKEN, "--conflicts", "1")
    secrets = {"TAPEDECK_WHIP_TOKEN": TOKEN}
    exported, recorder = record(stage, endpoint, "whep/cam1", RECORDED, secrets=secrets)
    endpoint.wait_for_event("sending")
    camera = stage.run_tapedeck("camera", url(endpoint, "moved/whip/cam2"), "--size", "640x360", "--duration", "12s",
                                "--json", secrets=secrets, timeout=60)
    assert camera.exit_code == 0, camera.story()
    assert recorder.wait(60) == 0, recorder.story()

    figures, = closed(endpoint, sends=False)
    sent = number(camera.result(), "framesSent")
    assert sent >= 200 and SHARE * sent <= figures["framesDecoded"] <= sent, f"{figures}\n{camera.story()}"
    assert figures["audioFramesReceived"] >= 400 and figures["audioGaps"] == 0, endpoint.story()
    shown = figures["lastCounter"] - figures["firstCounter"] + 1
    assert figures["countersRead"] >= SHARE * shown, endpoint.story()

    figures, = closed(endpoint, sends=True)
    assert_complete(exported, figures["framesSent"], recorder)
    video, = media.streams(exported, "video")
    frames = media.frames(exported, video["index"])
    assert sum(abs(lost) for _, lost in media.lost_frames(frames)) <= 0.01 * len(frames), recorder.story()

    # Everything was ended as the protocol wants it, and nothing was asked for in vain.
    assert [fact["status"] for fact in requests(endpoint, "DELETE")] == [200, 200], endpoint.story()
    assert sorted(fact["status"] for fact in requests(endpoint, "POST")) == [201, 201, 307, 409], endpoint.story()
    assert requests(endpoint, "PATCH") == [], endpoint.story()


def test_a_counter_offer_is_answered(stage):
    endpoint = stage.whip_endpoint()
    exported, recorder = record(stage, endpoint, "counter/whep/cam1", 3)
    assert recorder.wait(60) == 0, recorder.story()
    figures, = closed(endpoint, sends=True)
    assert_plays(exported)
    # One or two frames are on their way when the session ends.
    assert figures["framesSent"] - 3 <= video_packets(exported) <= figures["framesSent"], endpoint.story()
    assert [fact["status"] for fact in requests(endpoint, "PATCH")] == [204], endpoint.story()
    assert [fact["status"] for fact in requests(endpoint, "DELETE")] == [200], endpoint.story()


def test_a_wrong_token_is_3_and_a_room_without_media_2(stage):
    endpoint = stage.whip_endpoint("--token", TOKEN)
    for secrets, words in (({"TAPEDECK_WHIP_TOKEN": "guess"}, "does not accept our token"), ({}, "wants a token")):
        camera = stage.run_tapedeck("camera", url(endpoint, "whip/cam1"), secrets=secrets, timeout=30)
        assert camera.exit_code == 3, camera.story()
        assert words in camera.messages and TOKEN not in camera.messages, camera.story()
    asked = len(requests(endpoint, "POST")) + len(requests(endpoint, "OPTIONS"))
    for command, path, word in (("record", "whip/cam1", "whep plays"), ("camera", "whep/cam1", "whip publishes")):
        process = stage.run_tapedeck(command, url(endpoint, path), timeout=10)
        assert process.exit_code == 2 and word in process.messages, process.story()
    assert len(requests(endpoint, "POST")) + len(requests(endpoint, "OPTIONS")) == asked, endpoint.story()


def test_a_crashed_run_is_cleared_away_by_the_next(stage):
    endpoint = stage.whip_endpoint()
    state = {"XDG_STATE_HOME": str(stage.folder / "state")}
    crashed = stage.tapedeck("camera", url(endpoint, "whip/cam1"), "--size", "320x180", secrets=state)
    endpoint.wait_for_event("connected")
    crashed.kill()
    camera = stage.run_tapedeck("camera", url(endpoint, "whip/cam1"), "--size", "320x180", "--duration", "1s",
                                secrets=state, timeout=30)
    assert camera.exit_code == 0, camera.story()
    deleted = requests(endpoint, "DELETE")
    assert [fact["status"] for fact in deleted] == [200, 200], camera.story()
    assert deleted[0]["path"] != deleted[1]["path"], camera.story()
    assert [fact["status"] for fact in requests(endpoint, "POST")] == [201, 201], endpoint.story()
    assert not list((stage.folder / "state").rglob("*.note")), camera.story()


def test_an_endpoint_that_restarts_is_found_again(stage):
    port = free_port()
    endpoint = stage.whip_endpoint(port=port)
    storage = stage.folder / "storage"
    recorder = stage.tapedeck("record", url(endpoint, "whep/cam1"), "--directory", storage, "--output",
                              stage.folder / "call.mkv", "--json")
    camera = stage.tapedeck("camera", url(endpoint, "whip/cam2"), "--size", "320x180", "--json")
    wait_for_sessions(endpoint, 30)
    recorder.wait_for("pictures", lambda: len(list(storage.rglob("*video*"))) == 1, 20)
    endpoint.kill()
    # Nobody is told: that the media are gone is noticed by their silence.
    second = stage.whip_endpoint(port=port)
    wait_for_sessions(second, 90)
    assert sorted(fact["status"] for fact in requests(second, "DELETE")) == [404, 404], second.story()
    second.wait_for_event("decoding")
    recorder.wait_for("new pictures", lambda: len(list(storage.rglob("*video*"))) == 2, 20)
    camera.end()
    recorder.end()
    second.wait_for("two ends", lambda: len(closed(second, True)) + len(closed(second, False)) == 2, 15)
    assert closed(second, sends=False)[0]["framesDecoded"] > 0, second.story()
    assert len(media.streams(stage.folder / "call.mkv", "video")) >= 1, recorder.story()
