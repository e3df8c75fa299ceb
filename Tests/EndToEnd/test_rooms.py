# SPDX-License-Identifier: Apache-2.0
"""When the daemon is in a room: schedules, requests, empty and full rooms, kicks, other recorders, restarts."""

import datetime
import json
import types
import zoneinfo

import media
import pytest
from daemon import Daemon
from figures import assert_plays, assert_two_videos, whole_spans
from peers import room_url
from recordings import interrupted, start_recorder, wait_for_media, wait_for_more
from stage import LIMIT, PEERS, free_port, json_objects, python
from proxy import Proxy

ZONE = "Asia/Kolkata"
SMALL = ("--send", "synthetic", "--size", "320x180")


def room(server, name, **more):
    return {"url": room_url(server, name), "record": {"empty_after": "1s"}, **more}


def sound(stage, server, name):
    """A camera that costs little: it sends audio only."""
    return stage.tapedeck("camera", room_url(server, name), "--video", "none", "--host-address", "127.0.0.1",
                          "--duration", "900s", "--json")


def wait_for_units(daemon, name, more=10):
    """Waits until so many more units of a room are written."""
    def units():
        return sum(track["units"] for track in daemon.room(name)["status"]["tracks"] if track["open"])
    before = units()
    daemon.wait_for(f"more units of {name}", lambda: units() >= before + more)


def participants(daemon, name):
    """The ids of those whom the room's recorder has a call with."""
    return {participant["id"] for participant in daemon.room(name)["status"]["participants"]}


def recordings(daemon, name):
    return [recording for recording in daemon.recordings() if recording["room"] == name]


def schedule(begins):
    """A window of ten minutes that begins every day at that time."""
    return {"schedule": f"{begins.minute} {begins.hour} * * *", "time_zone": ZONE, "duration": "10m"}



def define(daemon, rooms):
    """Puts another configuration into force."""
    daemon.write(rooms)
    daemon.post("/v1/reload")


def test_rooms_without_a_place_wait_and_the_most_important_is_first(stage):
    server = stage.serve()
    first, second, urgent = (room(server, name) for name in ("first", "second", "urgent"))
    daemon = Daemon(stage, {"first": first}, workers={"maximum_rooms": 1})
    daemon.wait_for_phase("first", "joined")
    sound(stage, server, "first")
    wait_for_units(daemon, "first")
    define(daemon, {"first": first, "second": second})
    queued = daemon.wait_for_phase("second", "queued")
    assert "maximum_rooms" in queued["reason"] and "worker" not in queued, queued
    wait_for_units(daemon, "first")

    # A room with a higher priority: the recording in progress is finished, and its room waits.
    define(daemon, {"first": first, "second": second, "urgent": {**urgent, "priority": 90}})
    daemon.wait_for_phase("urgent", "joined")
    assert "urgent" in daemon.log("room.left")[0], daemon.log("room.left")
    for name in ("first", "second"):
        daemon.wait_for_phase(name, "queued")
    daemon.wait_for("its recording's end", lambda: [
        recording["state"] for recording in recordings(daemon, "first")] not in ([], ["recording"]))
    assert len(recordings(daemon, "first")) == 1
    daemon.wait_for("the metric", lambda: (
        'tapedeck_rooms{phase="queued"} 2\n' in daemon.metrics()))

    # When it is over, the room that has waited longest is next.
    define(daemon, {"first": first, "second": second})
    daemon.wait_for_phase("second", "joined")
    daemon.wait_for_phase("first", "queued")


def test_schedules_requests_and_empty_rooms(stage):
    server = stage.serve()
    now = datetime.datetime.now(zoneinfo.ZoneInfo(ZONE))
    daemon = Daemon(stage, {
        "open": room(server, "open", join=schedule(now - datetime.timedelta(minutes=2)), until_empty=True),
        "closed": room(server, "closed", join=schedule(now + datetime.timedelta(hours=2))),
        "asked": room(server, "asked", join="on-demand", until_empty=True),
    })
    daemon.wait_for_phase("open", "joined")
    assert ZONE in daemon.room("open")["join"]
    assert [daemon.room(name)["phase"] for name in ("closed", "asked")] == ["idle", "idle"]
    for name in ("closed", "asked"):
        daemon.post(f"/v1/rooms/{name}/record")
        daemon.wait_for_phase(name, "joined")
    daemon.post("/v1/rooms/closed/stop")
    daemon.wait_for_phase("closed", "idle")
    # Both stay while no participant has come, and leave when the last one has gone.
    peers = [sound(stage, server, name) for name in ("open", "asked")]
    for name in ("open", "asked"):
        wait_for_units(daemon, name)
    for peer in peers:
        assert peer.end() == 0
    for name in ("open", "asked"):
        daemon.wait_for_phase(name, "idle")
        folder, = daemon.wait_for_export(name)
        assert_plays(folder / "call.mkv")
    # The window is still open: a request gets the room back.
    daemon.post("/v1/rooms/open/record")
    daemon.wait_for_phase("open", "joined")


def test_each_call_of_a_waiting_room_is_a_recording(stage):
    server = stage.room_server(5)
    daemon = Daemon(stage, {"lobby": room(server, "lobby")})
    daemon.wait_for_phase("lobby", "joined")
    for count in (1, 2):
        peer = sound(stage, server, "lobby")
        wait_for_units(daemon, "lobby")
        peer.end()
        folders = daemon.wait_for_export("lobby", count=count)
        assert len(folders) == count
        assert_plays(folders[-1] / "call.mkv")
        assert daemon.room("lobby")["phase"] == "joined"
    assert len(recordings(daemon, "lobby")) == 2


def test_a_full_room_is_tried_quietly_until_it_has_a_place(stage):
    server = stage.room_server(5)
    first = sound(stage, server, "small")
    second = sound(stage, server, "small")
    stage.members(server, "small", 2)
    daemon = Daemon(stage, {"small": room(server, "small", join="on-demand", rejoin={"when_full": "1s"})})
    daemon.post("/v1/rooms/small/record")

    def refusals():
        return [fact for fact in json_objects(server.messages.splitlines()) if fact["event"] == "full"]
    daemon.wait_for("three refusals", lambda: len(refusals()) >= 3)
    found = daemon.wait_for("why", lambda: (room := daemon.room("small")).get("reason") == "the room is full" and room)
    assert found["phase"] == "joining" and found["restarts"] == 0, found
    assert second.end() == 0
    daemon.wait_for_phase("small", "joined")
    wait_for_units(daemon, "small")
    assert len(daemon.log("room.unreachable")) == 1, daemon.process.story()
    assert len(daemon.log("the room is full")) <= 2, daemon.process.story()
    assert first.end() == 0


def events(daemon, kind, name):
    """The log's lines about events of a room."""
    return [line for line in daemon.log(f"event.kind={kind} ") if f"room.name={name}" in line]


def seconds_between(first, second):
    """Seconds from one line of a log to another."""
    began, ended = (datetime.datetime.fromisoformat(line.split()[0]) for line in (first, second))
    return (ended - began).total_seconds()


def put_out(server, name, how):
    """Puts the member out who came first."""
    sid = next(fact["sid"] for fact in json_objects(server.messages.splitlines())
               if fact["event"] == "join" and fact["room"] == name)
    server.process.stdin.write(json.dumps({"remove": sid, "how": how}).encode() + b"\n")
    server.process.stdin.flush()


def test_whoever_is_put_out_stays_away_as_long_as_configured(stage):
    server = stage.room_server(5)
    daemon = Daemon(stage, {
        "back": room(server, "back", rejoin={"after_kick": "3s"}),
        "gone": room(server, "gone", rejoin={"after_kick": "never"}),
    })
    peers = {}
    for name in ("back", "gone"):
        daemon.wait_for_phase(name, "joined")
        peers[name] = sound(stage, server, name)
        wait_for_units(daemon, name)
    put_out(server, "back", "disconnect")
    put_out(server, "gone", "leaved")
    # The status lasts for seconds while it stays away; the log keeps it.
    left = daemon.wait_for("its going", lambda: events(daemon, "room.left", "back"))[0]
    assert "kicked us from the room" in left, left
    failed = daemon.wait_for_phase("gone", "failed")
    assert "kicked us from the room" in failed["reason"]
    # The people are not recorded behind their backs, and what was recorded until then is there.
    for name in ("back", "gone"):
        folder = daemon.wait_for_export(name)[0]
        assert_plays(folder / "call.mkv")
    again = daemon.wait_for("its return", lambda: events(daemon, "room.joined", "back")[1:])[0]
    put_out_at = next(line for line in daemon.log("the room server kicked us") if "room.name=back" in line)
    assert seconds_between(put_out_at, again) >= 3, again
    assert daemon.room("gone")["phase"] == "failed"
    daemon.post("/v1/rooms/gone/record")
    daemon.wait_for_phase("gone", "joined")
    assert daemon.room("gone")["restarts"] == 0


def counters(daemon, name):
    return daemon.room(name)["status"]["counters"]


def test_two_recorders_and_a_camera_in_one_room(stage):
    server = stage.serve("--room-size", "4")
    daemons = [Daemon(stage, {"shared": room(server, "shared")}, name=name) for name in ("north", "south")]
    for daemon in daemons:
        daemon.wait_for_phase("shared", "joined")
        daemon.wait_for("the other recorder", lambda daemon=daemon: counters(daemon, "shared").get("twin_found"))
    peer = sound(stage, server, "shared")
    for daemon in daemons:
        wait_for_units(daemon, "shared")
        found = daemon.room("shared")["status"]
        assert len(found["participants"]) == 1
        assert found["counters"].get("twin_found") == 1
        assert not {"call_failed", "call_reset", "peer_stale", "signalling_lost"} & found["counters"].keys(), found
        assert len(daemon.log("another recorder is in the room")) == 1, daemon.process.story()
    assert peer.end() == 0
    for daemon in daemons:
        folder, = daemon.wait_for_export("shared")
        assert_plays(folder / "call.mkv")


def test_the_second_recorder_of_a_small_room_makes_place(stage):
    server = stage.room_server(5)
    rooms = {"small": room(server, "small", rejoin={"when_full": "1s"})}
    first = Daemon(stage, rooms, name="first")
    first.wait_for_phase("small", "joined")
    second = Daemon(stage, rooms, name="second")
    second.wait_for("the first recorder", lambda: second.room("small").get("reason") == "another recorder has the room")
    assert second.room("small")["phase"] == "joining"
    peer = sound(stage, server, "small")
    wait_for_units(first, "small")
    assert len(first.room("small")["status"]["participants"]) == 1
    assert peer.end() == 0
    folder, = first.wait_for_export("small")
    assert_plays(folder / "call.mkv")


@pytest.mark.media
@pytest.mark.parametrize("is_mesh", [False, True], ids=["two", "mesh"])
def test_a_call_outlives_the_room_server_and_the_next_peer_can_call(stage, is_mesh):
    """The peer keeps its call as the iOS app does, and does not come back."""
    servers = [stage.serve("--room-size", "3") if is_mesh else stage.room_server(5) for _ in range(2)]
    proxy = Proxy(servers[0].port)
    first = stage.aiortc(servers[0], "standup", *SMALL, "--outlive")
    storage = stage.folder / "storage"
    exported, recorder = start_recorder(stage, f"socketio+http://127.0.0.1:{proxy.port}/standup")
    wait_for_media(recorder, storage)
    proxy.target = servers[1].port
    servers[0].kill()
    first.wait_for_event("disconnected", LIMIT)
    recorder.wait_for("the way back", lambda: recorder.messages.count("joined the room") >= 2, LIMIT)
    # More than was on its way.
    wait_for_more(recorder, storage)
    wait_for_more(recorder, storage)
    assert first.event("closed") is None, first.story()
    newcomer = stage.aiortc(servers[1], "standup", *SMALL)
    wait_for_media(recorder, storage, 4)
    interrupted(recorder)
    proxy.close()
    newcomer.wait_for_event("closed", LIMIT)
    assert newcomer.end(LIMIT) == 0, newcomer.story()
    # With us, and with us only once.
    assert newcomer.event("end")["connections"] == 1, newcomer.story()
    if not is_mesh:
        joins = [fact for fact in json_objects(servers[1].messages.splitlines()) if fact["event"] == "join"]
        assert joins[-1]["sid"] == newcomer.event("joined")["sid"] and joins[-1]["members"] == 2, joins
    assert_two_videos(exported, recorder)


def page(stage, server, name):
    """Chromium on the page of `tapedeck serve`."""
    peer = stage.start("page", python("peers"), PEERS / "browser_peer.py", "--page", f"http://127.0.0.1:{server.port}/",
                       "--room", name)
    peer.wait_for_event("joined", LIMIT)
    return peer


@pytest.mark.parametrize("join", [sound, page])
def test_whoever_is_back_under_another_id_is_there_once(stage, join):
    servers = [stage.serve("--room-size", "4") for _ in range(2)]
    proxy = Proxy(servers[0].port)
    known = types.SimpleNamespace(address="127.0.0.1", port=proxy.port)
    daemon = Daemon(stage, {"mesh": room(known, "mesh")})
    daemon.wait_for_phase("mesh", "joined")
    peer = join(stage, known, "mesh")
    wait_for_units(daemon, "mesh")
    before = participants(daemon, "mesh")
    assert len(before) == 1, before
    proxy.target = servers[1].port
    servers[0].kill()
    # Both keep their call until the other is met again.
    daemon.wait_for("the peer alone, under another id", lambda: len(
        now := participants(daemon, "mesh")) == 1 and now.isdisjoint(before))
    wait_for_units(daemon, "mesh", more=50)
    assert len(participants(daemon, "mesh")) == 1
    assert peer.end() == 0, peer.story()
    folder, = daemon.wait_for_export("mesh")
    proxy.close()
    assert_plays(folder / "call.mkv")
    spans = sorted(media.span(folder / "call.mkv", stream["index"])
                   for stream in media.streams(folder / "call.mkv", "audio"))
    assert len(spans) == 2 and spans[0][1] < spans[1][1], media.describe(folder / "call.mkv")


@pytest.mark.media
@pytest.mark.long
@pytest.mark.parametrize("size", [2, 4])
def test_a_restart_of_the_room_server_costs_no_recording(stage, size):
    port = free_port()

    def serve():
        server = stage.tapedeck("serve", "--listen", f"127.0.0.1:{port}", "--json", "--room-size", size)
        server.port = server.wait_for_port()
        return server
    server = serve()
    names = ["one", "two", "three"]
    daemon = Daemon(stage, {name: room(server, name, record={"empty_after": "4s"}) for name in names})
    peers = []
    for name in names:
        daemon.wait_for_phase(name, "joined")
        peers.append(sound(stage, server, name))
        wait_for_units(daemon, name)
    server.kill()
    for name in names:
        daemon.wait_for_phase(name, "joining")
        # Media go from peer to peer and do not need the server.
        wait_for_units(daemon, name, more=50)
    server = serve()
    for name in names:
        daemon.wait_for_phase(name, "joined")
        wait_for_units(daemon, name, more=50)
    for peer in peers:
        peer.end()
    for name in names:
        folder, = daemon.wait_for_export(name)
        assert_plays(folder / "call.mkv")
        assert len(recordings(daemon, name)) == 1
        assert daemon.room(name)["restarts"] == 0
        whole_spans(folder / "call.mkv", "audio", hole=30)
