# SPDX-License-Identifier: Apache-2.0
"""Hosts that share rooms, and an etcd that is away, replaced, full or slow, or has values that no host can use."""

import contextlib
import json
import os
import signal
import sqlite3
import time
import urllib.error

import pytest
import yaml
from daemon import WHOLE
from etcd import Etcd
from peers import room_url
from recordings import journal_of
from stage import LIMIT
from test_cluster import (CALL, apply, as_one, drain, figures, host, hosts_of_hall, kill, only_folder, run, started,
                          take_over)

CLAIMS = "/tapedeck/calls/claims/"
CERTAIN = {'phase="held"': 1, 'phase="uncertain"': 0}
IN_DOUBT = {'phase="held"': 0, 'phase="uncertain"': 1}


def two_sites(stage, etcd, server):
    """Two hosts, each with a room that prefers it; the hosts by the names of their rooms, and the rooms."""
    daemons = {room: host(stage, etcd.urls, name, labels={"site": name}) for room, name in (("hall", "a"), ("den", "b"))}
    rooms = {room: {"url": room_url(server, room), "hosts": {"prefer": {"site": daemon.name}}, "record": {"empty_after": "1s"}}
             for room, daemon in daemons.items()}
    run(stage, "cluster", "init", "--config", daemons["hall"].path)
    for daemon in daemons.values():
        daemon.wait_for("both hosts", lambda: figures(daemon, "cluster_hosts") == {"": 2})
    apply(stage, daemons["hall"], rooms)
    return daemons, rooms


def owners(stage, daemon):
    """The host and the epoch of each room, as the etcd has them."""
    rows = [json.loads(line) for line in run(stage, "rooms", "get", "--config", daemon.path, "--json").splitlines()]
    return {row["room"]: (row.get("host"), row.get("epoch")) for row in rows}


def wait_for_claims(daemon, what):
    daemon.wait_for(f"claims as {what}", lambda: figures(daemon, "cluster_claims") == what)


def units(daemon, room):
    return sum(track["units"] for track in daemon.own_room(room)["status"]["tracks"])


def wait_for_more(daemon, room):
    """Waits until more of a room is written than now."""
    before = units(daemon, room)
    daemon.wait_for("more of the call", lambda: units(daemon, room) > before)


def refused(stage, code, *arguments):
    """What a command that fails with a code says."""
    process = stage.run_tapedeck(*arguments)
    assert process.exit_code == code, process.story()
    return process.messages


# The lease, and what room servers wait for a member, are over in less.
@pytest.mark.timeout(1500)
@pytest.mark.parametrize("seconds", [30, pytest.param(600, marks=pytest.mark.long)])
def test_an_etcd_that_is_away_and_then_replaced_loses_and_moves_nothing(stage, seconds):
    server = stage.room_server(5)
    etcd = Etcd(stage)
    daemons, rooms = two_sites(stage, etcd, server)
    (a, b), path = daemons.values(), stage.folder / "rooms.yaml"
    peers = [stage.aiortc(server, room, *CALL) for room in daemons]
    for room, daemon in daemons.items():
        daemon.wait_for_recording(room)
    before = owners(stage, a)
    assert before == {"hall": ("a", 1), "den": ("b", 1)}
    known = a.get("/v1/cluster")["id"]

    etcd.kill()
    gone = time.monotonic()
    for daemon in daemons.values():
        wait_for_claims(daemon, IN_DOUBT)
    assert "the etcd does not answer" in refused(stage, 3, "rooms", "apply", "-f", path, "--config", a.path)
    assert a.post("/v1/rooms/hall/pause")["status"]["recordingState"] == "paused"
    assert a.post("/v1/rooms/hall/resume")["status"]["recordingState"] == "recording"
    assert "NOT CONNECTED since" in run(stage, "cluster", "status", "--api", a.url)
    time.sleep(max(0, seconds - (time.monotonic() - gone)))
    for room, daemon in daemons.items():
        wait_for_more(daemon, room)
    etcd.start()
    for daemon in daemons.values():
        wait_for_claims(daemon, CERTAIN)
        assert daemon.log("the room was ours all the time") and not daemon.log("room.moved")
    assert owners(stage, b) == before

    # Another etcd at the same addresses.
    etcd.replace()
    for daemon in daemons.values():
        daemon.wait_for("the refusal", lambda: daemon.log("the etcd was replaced"))
        wait_for_claims(daemon, IN_DOUBT)
    status = run(stage, "cluster", "status", "--api", b.url)
    assert "`tapedeck cluster init`, `rooms apply`, `cluster adopt`" in status and f"the id was {known}" in status, status
    adopt = ("cluster", "adopt", known, "--config", a.path)
    assert "tapedeck cluster init makes it" in refused(stage, 2, "rooms", "apply", "-f", path, "--config", a.path)
    assert "tapedeck cluster init makes it" in refused(stage, 2, *adopt)
    run(stage, "cluster", "init", "--config", a.path)
    assert "has no rooms" in refused(stage, 2, *adopt)
    apply(stage, a, rooms)
    new = json.loads(run(stage, "cluster", "init", "--config", a.path, "--json"))["id"]
    for daemon in daemons.values():
        daemon.wait_for("the other id", lambda: daemon.log(f"and is {new}"))
    for room, daemon in daemons.items():
        wait_for_more(daemon, room)
    assert etcd.entries(CLAIMS) == {} and etcd.entries("/tapedeck/calls/owners/") == {}
    run(stage, *adopt)
    for daemon in daemons.values():
        wait_for_claims(daemon, CERTAIN)
    assert owners(stage, a) == before
    assert a.get("/v1/cluster")["id"] == new and "nothing was adopted" in refused(
        stage, 2, "cluster", "adopt", new, "--config", a.path)

    # One recording of each call, from its beginning to its end.
    for peer in peers:
        peer.end()
    for room, daemon in daemons.items():
        folder, = daemon.wait_for_export(room)
        assert only_folder(daemon, room) == folder and started(daemon, room)["claim"] == {"cluster": "calls", "epoch": 1}
        assert json.loads((folder / "manifest.json").read_text())["verdict"] in WHOLE


def kept(daemon):
    """What a host's catalogue has of the cluster."""
    with contextlib.closing(sqlite3.connect(daemon.storage / "catalogue.sqlite")) as catalogue:
        found = catalogue.execute("SELECT value FROM facts WHERE name = 'cluster calls'").fetchone()
    return json.loads(found[0]) if found else {}


def test_a_host_that_restarts_refuses_an_etcd_that_was_replaced_and_repeats_no_epoch(stage):
    server = stage.room_server(5)
    etcd = Etcd(stage, 1)
    daemons, rooms = two_sites(stage, etcd, server)
    a, b = daemons.values()
    for daemon in daemons.values():
        daemon.wait_for("what it keeps", lambda: kept(daemon).get("epochs") == {"hall": 1, "den": 1})
    assert owners(stage, a) == {"hall": ("a", 1), "den": ("b", 1)}
    known = a.get("/v1/cluster")["id"]
    for daemon in daemons.values():
        kill(daemon)
    etcd.replace()
    run(stage, "cluster", "init", "--config", a.path)
    apply(stage, a, rooms)
    for daemon in daemons.values():
        daemon.start()
        daemon.wait_for("the refusal", lambda: daemon.log("the etcd was replaced"))
    assert etcd.entries(CLAIMS) == {} and etcd.entries("/tapedeck/calls/hosts/") == {}
    run(stage, "cluster", "adopt", known, "--config", a.path)
    a.wait_for("all rooms", lambda: owners(stage, a) == {"hall": ("a", 2), "den": ("b", 2)})


def test_a_drain_outlives_the_daemon(stage):
    server = stage.room_server(5)
    etcd = Etcd(stage, 1)
    daemons, _ = two_sites(stage, etcd, server)
    a, b = daemons.values()
    both = {"hall": ("b", 2), "den": ("b", 1)}
    for daemon in daemons.values():
        wait_for_claims(daemon, CERTAIN)
    assert drain(stage, a, "--wait")[-1]["drained"]
    a.wait_for("all rooms", lambda: owners(stage, a) == both)
    kill(a)
    a.start()
    a.wait_for("its own record", lambda: any(
        each["name"] == "a" and each["draining"] for each in a.get("/v1/cluster")["hosts"]))
    deadline = a.get("/v1/cluster")["drain"]["deadline"]
    a.restart()
    assert a.get("/v1/cluster")["drain"]["deadline"] == deadline
    # It takes no room, not even from a host that stops.
    kill(b)
    a.wait_for("rooms without a host", lambda: figures(a, "cluster_unclaimed_rooms") == {"": 2})
    assert {room["reason"] for room in a.get("/v1/cluster")["rooms"]} == {"no host takes rooms"}
    run(stage, "undrain", "--api", a.url)
    a.wait_for("all rooms", lambda: owners(stage, a) == {"hall": ("a", 3), "den": ("a", 2)})
    # As a hook does before each stop.
    b.start()
    a.wait_for("both hosts", lambda: figures(a, "cluster_hosts") == {"": 2})
    assert drain(stage, a, "--wait", "--until-restart")[-1]["drained"]
    a.restart()
    kill(b)
    a.wait_for("all rooms", lambda: owners(stage, a) == {"hall": ("a", 5), "den": ("a", 4)})


def test_a_full_etcd_ends_no_claim_and_is_reported_once(stage):
    server = stage.room_server(5)
    etcd = Etcd(stage, 1, "--quota-backend-bytes", "2000000")
    member = host(stage, etcd.urls, "a")
    run(stage, "cluster", "init", "--config", member.path)
    rooms = {"hall": {"url": room_url(server, "hall"), "record": {"empty_after": "1s"}}}
    apply(stage, member, rooms)
    wait_for_claims(member, CERTAIN)
    with pytest.raises(urllib.error.HTTPError):
        while True:
            revision = etcd.put("/filler", "x" * 60_000)
    stage.aiortc(server, "hall", *CALL)
    member.wait_for_recording("hall")
    member.wait_for("the report", lambda: member.log("the etcd takes no writes"))
    more = rooms_file(stage, {**rooms, "den": {"url": room_url(server, "den")}})
    assert "the etcd is full" in refused(stage, 1, "rooms", "apply", "-f", more, "--config", member.path)
    # Longer than the lease lives: it was renewed.
    time.sleep(6)
    assert figures(member, "cluster_claims") == CERTAIN and member.get("/v1/cluster")["connected"]
    assert "recording_now" not in etcd.value("/tapedeck/calls/owners/hall")
    etcd.call("/v3/kv/compaction", {"revision": revision, "physical": True})
    etcd.call("/v3/maintenance/defragment", {})
    alarm, = etcd.call("/v3/maintenance/alarm", {"action": "GET"})["alarms"]
    etcd.call("/v3/maintenance/alarm", {"action": "DEACTIVATE", **alarm})
    member.wait_for("what could not be written", lambda: '"recording_now":true' in etcd.value("/tapedeck/calls/owners/hall"))
    assert len(member.log("the etcd takes no writes")) == 1 and not member.log("may not be ours")
    assert "added den" in run(stage, "rooms", "apply", "-f", more, "--config", member.path)


def rooms_file(stage, rooms):
    path = stage.folder / "more.yaml"
    path.write_text(yaml.safe_dump({"rooms": rooms}))
    return path


@pytest.mark.parametrize("leads", [False, True], ids=["follower", "leader"])
def test_a_member_that_hangs_is_left_for_another(stage, leads):
    server = stage.room_server(5)
    etcd = Etcd(stage)
    hanging = (etcd.leader() + (0 if leads else 1)) % 3
    member = host(stage, [*etcd.urls[hanging:], *etcd.urls[:hanging]], "a")
    run(stage, "cluster", "init", "--config", member.path)
    apply(stage, member, {"hall": {"url": room_url(server, "hall"), "record": {"empty_after": "1s"}}})
    stage.aiortc(server, "hall", *CALL)
    member.wait_for_recording("hall")
    etcd.members[hanging].signal(signal.SIGSTOP)
    stopped = time.monotonic()
    try:
        # The lease has ended since unless it was renewed.
        time.sleep(6)
        member.wait_for("a renewal", lambda: figures(member, "cluster_renewal_age_seconds")[""] < 3)
        wait_for_claims(member, CERTAIN)
        # While another member is chosen to lead, no member renews.
        assert leads or not member.log("may not be ours")
        apply(stage, member, {"den": {"url": room_url(server, "den")}})
        member.wait_for("the other room", lambda: len(member.own_rooms()) == 2)
        print(f"claimed a room {time.monotonic() - stopped:.1f} s after a member hung; {member.log('may not be ours')}")
    finally:
        etcd.members[hanging].signal(signal.SIGCONT)
    assert started(member, "hall")["claim"] == {"cluster": "calls", "epoch": 1}


def test_a_lease_that_the_etcd_revokes_moves_nothing(stage):
    server = stage.room_server(5)
    etcd = Etcd(stage, 1)
    owner, other = hosts_of_hall(stage, etcd.urls, server)
    stage.aiortc(server, "hall", *CALL)
    owner.wait_for_recording("hall")
    lease = etcd.entry(CLAIMS + "hall")["lease"]
    etcd.call("/v3/lease/revoke", {"ID": lease})
    owner.wait_for("its claim", lambda: (etcd.entry(CLAIMS + "hall") or {"lease": lease})["lease"] != lease)
    wait_for_claims(owner, CERTAIN)
    assert owner.log("the room may not be ours any more") and owner.log("the room was ours all the time")
    assert json.loads(etcd.value(CLAIMS + "hall"))["epoch"] == 1
    wait_for_more(owner, "hall")
    assert started(owner, "hall")["claim"] == {"cluster": "calls", "epoch": 1}
    assert other.own_rooms() == [] and not other.log("the room is ours")


def test_values_that_no_host_can_use_are_shown_and_left_alone(stage):
    server = stage.room_server(5)
    etcd = Etcd(stage, 1)
    member = host(stage, etcd.urls, "a")
    run(stage, "cluster", "init", "--config", member.path)
    url = room_url(server, "odd")
    odd = {
        "rooms/torn": '{"schema":1,"room":{"url":',
        "rooms/wrong": json.dumps({"schema": 1, "room": {"url": url, "cots": 1}}),
        "rooms/secret": json.dumps({"schema": 1, "room": {"url": url, "secret": "${file:/nowhere}"}}),
        "rooms/newer": json.dumps({"schema": 2, "room": {"address": url}}),
        "rooms/taken": json.dumps({"schema": 1, "room": {"url": url}}),
        "claims/taken": "none of yours",
        "rooms/had": json.dumps({"schema": 1, "room": {"url": url}}),
        "owners/had": json.dumps({"schema": 2, "epoch": "many"}),
        "wishes/hall": '{"schema":1,"ordered":"sing"}',
        "hosts/c": "[]",
        "colours/red": "1",
    }
    for key, value in odd.items():
        etcd.put("/tapedeck/calls/" + key, value)
    apply(stage, member, {"hall": {"url": room_url(server, "hall"), "record": {"empty_after": "1s"}}})
    stage.aiortc(server, "hall", *CALL)
    member.wait_for("the room", lambda: member.own_rooms())
    member.wait_for_recording("hall")

    def reasons():
        return {room["name"]: room.get("reason") for room in member.get("/v1/cluster")["rooms"]}
    member.wait_for("all reasons", lambda: all(reasons().get(room) for room in ("wrong", "secret")))
    seen = reasons()
    assert seen["hall"] is None
    assert seen["torn"] == "is not a JSON object" and "update this host" in seen["newer"], seen
    assert 'cots: unknown key; did you mean "cost"?' in seen["wrong"] and "/nowhere" in seen["secret"], seen
    assert seen["taken"] == "is not a JSON object" and "the note of its last owner has schema 2" in seen["had"], seen
    problems = {each["name"]: each.get("problem") for each in member.get("/v1/cluster")["hosts"]}
    assert problems == {"a": None, "c": "is not a JSON object"}
    assert member.log("cots: unknown key")
    # They are as they were, and no host claimed one of them.
    assert sorted(etcd.entries(CLAIMS)) == [CLAIMS + "hall", CLAIMS + "taken"]
    assert {key: etcd.value("/tapedeck/calls/" + key) for key in odd} == odd
    newer = rooms_file(stage, {"newer": {"url": url}})
    assert "was written by a newer version" in refused(stage, 2, "rooms", "apply", "-f", newer, "--config", member.path)


@pytest.mark.parametrize("seconds", [0, pytest.param(60, marks=pytest.mark.long)])
def test_a_daemon_that_stands_still_leaves_its_room_to_the_next(stage, seconds):
    server = stage.serve("--room-size", "4")
    etcd = Etcd(stage, 1)
    owner, other = hosts_of_hall(stage, etcd.urls, server)
    peer = stage.aiortc(server, "hall", *CALL)
    owner.wait_for_recording("hall")
    first = only_folder(owner)
    os.kill(owner.process.process.pid, signal.SIGSTOP)
    try:
        take_over(other)
        time.sleep(seconds)
    finally:
        os.kill(owner.process.process.pid, signal.SIGCONT)
    owner.wait_for("the room's end", lambda: owner.own_rooms() == [])
    assert owner.log("another host has the room")
    wait_for_more(other, "hall")
    peer.end()
    parts = [journal_of(folder)[0] for folder in as_one(other, first)]
    assert [(part["segment"], part["claim"]["epoch"]) for part in parts] == [(1, 1), (2, 2)]


def test_what_a_host_missed_of_an_etcd_that_compacts_is_read_again(stage):
    server = stage.room_server(5)
    etcd = Etcd(stage, 1)
    member = host(stage, etcd.urls, "a")
    run(stage, "cluster", "init", "--config", member.path)
    apply(stage, member, {"hall": {"url": room_url(server, "hall")}})
    wait_for_claims(member, CERTAIN)
    os.kill(member.process.process.pid, signal.SIGSTOP)
    try:
        # Its watch ends, and what comes now is no longer there when it asks.
        etcd.kill()
        etcd.start()
        apply(stage, member, {"den": {"url": room_url(server, "den")}})
        etcd.call("/v3/kv/compaction", {"revision": etcd.put("/filler", ""), "physical": True})
    finally:
        os.kill(member.process.process.pid, signal.SIGCONT)
    member.wait_for("both rooms", lambda: len(member.own_rooms()) == 2, LIMIT)
    assert owners(stage, member) == {"hall": ("a", 1), "den": ("a", 1)}
