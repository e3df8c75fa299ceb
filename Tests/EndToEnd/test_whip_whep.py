# SPDX-License-Identifier: Apache-2.0
"""WHIP publish and WHEP play against a strict endpoint on aiortc."""

import types

import media
import pytest
from figures import assert_nearly_all, assert_plays, assert_saw, assert_whole
from peers import wait_until_seen
from recordings import (assert_nothing_noted, interrupted, recorded, start_recorder, wait_for_both_ways, wait_for_media,
                        wait_for_more)
from stage import LIMIT, PEERS, free_port, python
from proxy import Proxy

TOKEN = "sesame-Opens.0"


def url(endpoint, path):
    return f"{path.split('/')[-2]}+http://127.0.0.1:{endpoint.port}/{path}"


def requests(endpoint, method):
    return [fact for fact in endpoint.facts if fact.get("event") == "request" and fact["method"] == method]


def closed(endpoint, sends):
    """The figures of the sessions that sent, or received, in the order of their end."""
    return [fact for fact in endpoint.facts
            if fact.get("event") == "closed" and bool(fact["framesSent"]) == sends]


def wait_for_sessions(endpoint):
    """Waits until a camera and a player are connected."""
    def are_connected():
        return [fact["event"] for fact in endpoint.facts].count("connected") >= 2
    endpoint.wait_for("two sessions", are_connected, LIMIT)


def wait_for_ends(endpoint, count):
    """Waits until the endpoint has reported this many ended sessions, all of which it has answered by now."""
    endpoint.wait_for(f"{count} ends", lambda: len(requests(endpoint, "DELETE")) >= count, LIMIT)


@pytest.fixture(autouse=True)
def state_folder(monkeypatch, tmp_path):
    """Notes of these tests stay among them."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def test_the_camera_is_published_and_a_stream_played(stage):
    # Strict about tokens too; the offers of the camera are sent elsewhere first, those of the player wait their turn.
    notes = stage.folder / "notes.jsonl"
    endpoint = stage.whip_endpoint("--token", TOKEN, "--conflicts", "1", "--size", "320x180", "--notes", notes)
    secrets = {"TAPEDECK_WHIP_TOKEN": TOKEN}
    exported, storage = stage.folder / "call.mkv", stage.folder / "storage"
    recorder = stage.tapedeck("record", url(endpoint, "whep/cam1"), "--directory", storage, "--output", exported, "--json",
                              secrets=secrets)
    endpoint.wait_for_event("sending", LIMIT)
    camera = stage.tapedeck("camera", url(endpoint, "moved/whip/cam2"), "--size", "320x180", "--json", secrets=secrets)
    wait_until_seen(endpoint, notes)
    wait_for_media(recorder, storage)
    assert camera.end(LIMIT) in (0, 130), camera.story()
    interrupted(recorder)
    wait_for_ends(endpoint, 2)

    figures, = closed(endpoint, sends=False)
    assert_saw(figures, endpoint.story())
    assert figures["framesDecoded"] <= sum(camera.result()["framesSent"].values()), camera.story()
    assert_whole(exported, recorder)

    # Everything was ended as the protocol wants it, and nothing was asked for in vain.
    assert [fact["status"] for fact in requests(endpoint, "DELETE")] == [200, 200], endpoint.story()
    assert sorted(fact["status"] for fact in requests(endpoint, "POST")) == [201, 201, 307, 409], endpoint.story()
    assert requests(endpoint, "PATCH") == [], endpoint.story()


@pytest.mark.long
@pytest.mark.media
def test_fifteen_seconds_of_a_stream_and_of_our_camera(stage):
    notes = stage.folder / "notes.jsonl"
    endpoint = stage.whip_endpoint("--size", "320x180", "--notes", notes)
    exported, storage = stage.folder / "call.mkv", stage.folder / "storage"
    recorder = stage.tapedeck("record", url(endpoint, "whep/cam1"), "--directory", storage, "--output", exported,
                              "--json")
    camera = stage.tapedeck("camera", url(endpoint, "whip/cam2"), "--size", "320x180", "--json")
    wait_for_both_ways(recorder, storage, endpoint, notes)
    assert camera.end(LIMIT) in (0, 130), camera.story()
    interrupted(recorder)
    wait_for_ends(endpoint, 2)
    figures, = closed(endpoint, sends=True)
    assert_nearly_all(exported, recorder, figures["framesSent"])
    assert_saw(*closed(endpoint, sends=False), endpoint.story())


def test_a_counter_offer_is_answered(stage):
    endpoint = stage.whip_endpoint("--size", "320x180")
    exported = stage.folder / "call.mkv"
    recorder = stage.tapedeck("record", url(endpoint, "counter/whep/cam1"), "--directory", stage.folder / "storage",
                              "--output", exported, "--json")
    wait_for_media(recorder, stage.folder / "storage")
    interrupted(recorder)
    wait_for_ends(endpoint, 1)
    assert_whole(exported, recorder)
    assert [fact["status"] for fact in requests(endpoint, "PATCH")] == [204], endpoint.story()
    assert [fact["status"] for fact in requests(endpoint, "DELETE")] == [200], endpoint.story()


def test_a_wrong_token_is_3_and_a_room_without_media_2(stage):
    endpoint = stage.whip_endpoint("--token", TOKEN)
    for secrets, words in (({"TAPEDECK_WHIP_TOKEN": "guess"}, "does not accept our token"), ({}, "wants a token")):
        camera = stage.run_tapedeck("camera", url(endpoint, "whip/cam1"), secrets=secrets, timeout=LIMIT)
        assert camera.exit_code == 3, camera.story()
        assert words in camera.messages and TOKEN not in camera.messages, camera.story()
    asked = len(requests(endpoint, "POST")) + len(requests(endpoint, "OPTIONS"))
    for command, path, word in (("record", "whip/cam1", "whep plays"), ("camera", "whep/cam1", "whip publishes")):
        process = stage.run_tapedeck(command, url(endpoint, path), timeout=LIMIT)
        assert process.exit_code == 2 and word in process.messages, process.story()
    assert len(requests(endpoint, "POST")) + len(requests(endpoint, "OPTIONS")) == asked, endpoint.story()


def test_a_crashed_run_is_cleared_away_by_the_next(stage):
    endpoint = stage.whip_endpoint()
    state = {"XDG_STATE_HOME": str(stage.folder / "state")}
    crashed = stage.tapedeck("camera", url(endpoint, "whip/cam1"), "--size", "320x180", secrets=state)
    endpoint.wait_for_event("connected", LIMIT)
    crashed.kill()
    camera = stage.tapedeck("camera", url(endpoint, "whip/cam1"), "--size", "320x180", secrets=state)
    wait_for_sessions(endpoint)
    assert camera.end(LIMIT) == 0, camera.story()
    wait_for_ends(endpoint, 2)
    deleted = requests(endpoint, "DELETE")
    assert [fact["status"] for fact in deleted] == [200, 200], camera.story()
    assert deleted[0]["path"] != deleted[1]["path"], camera.story()
    assert [fact["status"] for fact in requests(endpoint, "POST")] == [201, 201], endpoint.story()
    assert_nothing_noted(stage.folder / "state", lambda: stage.run_tapedeck(
        "camera", url(endpoint, "whip/cam1"), "--size", "320x180", "--duration", "1s", secrets=state))


@pytest.mark.media
def test_media_outlive_the_way_to_the_endpoint(stage):
    """HTTP is cut off in the middle of both calls, and there again at their end."""
    notes = stage.folder / "notes.jsonl"
    endpoint = stage.whip_endpoint("--size", "320x180", "--notes", notes)
    proxy = Proxy(endpoint.port)
    known = types.SimpleNamespace(port=proxy.port)
    exported, storage = stage.folder / "call.mkv", stage.folder / "storage"
    recorder = stage.tapedeck("record", url(known, "whep/cam1"), "--directory", storage, "--output", exported, "--json")
    camera = stage.tapedeck("camera", url(known, "whip/cam2"), "--size", "320x180", "--json")
    wait_for_sessions(endpoint)
    wait_for_media(recorder, storage)
    wait_until_seen(endpoint, notes)
    # There is no listener.
    proxy.target = free_port()
    proxy.cut()
    wait_for_more(recorder, storage)
    seen = notes.read_text().count('"kind": "video"')
    wait_until_seen(endpoint, notes, video=seen + 45)
    proxy.target = endpoint.port
    newcomer = stage.tapedeck("camera", url(known, "whip/cam3"), "--size", "320x180", "--json")
    endpoint.wait_for("the newcomer", lambda: [fact["event"] for fact in endpoint.facts].count("connected") == 3, LIMIT)
    for process in (camera, newcomer):
        assert process.end(LIMIT) in (0, 130), process.story()
    interrupted(recorder)
    wait_for_ends(endpoint, 3)
    proxy.close()
    # One session each, all of which were ended.
    assert [fact["status"] for fact in requests(endpoint, "POST")] == [201] * 3, endpoint.story()
    assert [fact["status"] for fact in requests(endpoint, "DELETE")] == [200] * 3, endpoint.story()
    assert_whole(exported, recorder)


@pytest.mark.long
def test_an_endpoint_that_restarts_is_found_again(stage):
    port = free_port()
    endpoint = stage.whip_endpoint(port=port)
    storage = stage.folder / "storage"
    recorder = stage.tapedeck("record", url(endpoint, "whep/cam1"), "--directory", storage, "--output",
                              stage.folder / "call.mkv", "--json")
    camera = stage.tapedeck("camera", url(endpoint, "whip/cam2"), "--size", "320x180", "--json")
    wait_for_sessions(endpoint)
    recorder.wait_for("pictures", lambda: len(list(storage.rglob("*video*"))) == 1, LIMIT)
    endpoint.kill()
    # There is no notice: the loss of the media is detected by their silence.
    second = stage.whip_endpoint(port=port)
    wait_for_sessions(second)
    assert sorted(fact["status"] for fact in requests(second, "DELETE")) == [404, 404], second.story()
    second.wait_for_event("decoding", LIMIT)
    recorder.wait_for("new pictures", lambda: len(list(storage.rglob("*video*"))) == 2, LIMIT)
    camera.end(LIMIT)
    recorder.end(LIMIT)
    # Once each: no one is there twice.
    assert [fact["status"] for fact in requests(second, "POST")] == [201, 201], second.story()
    second.wait_for("two ends", lambda: len(closed(second, True)) + len(closed(second, False)) == 2, LIMIT)
    assert closed(second, sends=False)[0]["framesDecoded"] > 0, second.story()
    assert len(media.streams(stage.folder / "call.mkv", "video")) >= 1, recorder.story()


def odd_endpoint(stage, kind, *flags):
    endpoint = stage.start("odd-endpoint", python("peers"), PEERS / "odd_whip_endpoint.py", "--odd", kind, *flags)
    endpoint.port = endpoint.wait_for_port()
    return endpoint


def record_odd(stage, endpoint, *flags, secrets=None):
    """Records two seconds of such an endpoint; the exported file and the recorder."""
    exported, recorder = start_recorder(stage, url(endpoint, "whep/cam1"), "--duration", "2s", *flags, secrets=secrets)
    return exported, recorded(recorder)


@pytest.mark.parametrize("kind", ["loose", "sound-only", "empty-line"])
def test_answers_that_others_make_are_taken(stage, kind):
    endpoint = odd_endpoint(stage, kind)
    exported, recorder = record_odd(stage, endpoint)
    assert_plays(exported)
    kinds = sorted(stream["codec_type"] for stream in media.streams(exported))
    assert kinds == (["audio"] if kind == "sound-only" else ["audio", "video"]), recorder.story()
    assert [fact["status"] for fact in requests(endpoint, "DELETE")] == [200], endpoint.story()


def test_a_candidate_with_a_name_is_reached(stage):
    exported, _ = record_odd(stage, odd_endpoint(stage, "named"), "--wait", "20s")
    assert_plays(exported)


def test_relays_that_an_answer_names_are_used_by_the_next_offer(stage):
    """An endpoint that names them in its answer to OPTIONS too does not come so far (RFC 9725 section 4.6)."""
    port = free_port()
    stage.start("coturn", "turnserver", "-n", "--lt-cred-mech", "--user", "carrot:abc==", "--realm", "tapedeck.test", "--listening-ip",
                "127.0.0.1", "--relay-ip", "127.0.0.1", "--listening-port", port, "--allow-loopback-peers", "--no-cli", "--log-file",
                "stdout", "--pidfile", stage.folder / "coturn.pid", "--db", stage.folder / "coturn.db", "--no-tls", "--no-dtls")
    link = f'<turn:127.0.0.1:{port}?transport=udp>; rel="ice-server"; username="carrot"; credential="abc=="; credential-type: "password";'
    exported, _ = record_odd(stage, odd_endpoint(stage, "late-relay", "--link", link), "--wait", "40s", "--relay-only")
    assert_plays(exported)
