# SPDX-License-Identifier: Apache-2.0
"""Hosts that share rooms: a real etcd, and the daemons of two hosts."""

import json
import os
import re
import signal
import time

import yaml
from daemon import Daemon
from peers import room_url
from recordings import begun, journal_of, left
from stage import free_port

CALL = ("--send", "synthetic", "--size", "320x180")


def host(stage, etcd, name, rooms=None, api=None, storage=None, **cluster):
    port = free_port()
    return Daemon(stage, rooms or {}, name=name, storage=storage, api={"listen": f"127.0.0.1:{port}", **(api or {})},
                  cluster={"name": "calls", "host": name, "etcd": etcd if isinstance(etcd, list) else [etcd], "capacity": 4,
                           "url": f"http://localhost:{port}", **cluster})


def run(stage, *arguments):
    result = stage.run_tapedeck(*arguments)
    assert result.exit_code == 0, result.story()
    return result.output.strip()


def apply(stage, daemon, rooms, *flags):
    path = stage.folder / "rooms.yaml"
    path.write_text(yaml.safe_dump({"rooms": rooms}))
    return run(stage, "rooms", "apply", "-f", path, "--config", daemon.path, *flags)


def claimant(stage, daemon, room):
    """The row of a room that has an owner."""
    for line in run(stage, "rooms", "get", "--config", daemon.path, "--json").splitlines():
        row = json.loads(line)
        if row["room"] == room and row.get("phase") == "joined":
            return row
    return None


def started(daemon, room):
    """The first line of the journal of a room's only recording."""
    journal, = (daemon.storage / "recordings" / room).glob("*/journal.jsonl")
    return journal_of(journal.parent)[0]


def finished(daemon, epoch, room):
    """The folder of the recording that a host finished as the owner of an epoch; others may lie next to it."""
    for journal in (daemon.storage / "recordings" / room).glob("*/journal.jsonl"):
        records = journal_of(journal.parent)
        if records[0]["claim"]["epoch"] == epoch and any(record["kind"] == "recording-finished" for record in records):
            return journal.parent
    return None


def hosts_of_hall(stage, etcd, server, names="ab", storage=None):
    """Hosts that share the room `hall`: the one that has it, and the others."""
    daemons = {name: host(stage, etcd, name, storage=storage) for name in names}
    run(stage, "cluster", "init", "--config", daemons["a"].path)
    apply(stage, daemons["a"], {"hall": {"url": room_url(server, "hall"), "record": {"empty_after": "1s"}}})
    owned = daemons["a"].wait_for("an owner", lambda: claimant(stage, daemons["a"], "hall"))
    owner = daemons.pop(owned["host"])
    return owner, *daemons.values()


def as_one(daemon, first):
    """Waits until a host has the whole series that a recording of another began, in one file; its folders, in order."""
    folder = daemon.storage / "recordings" / "hall" / first.name
    daemon.wait_for("the call as one", lambda: (folder / "call-series.mkv").exists())
    return sorted(journal.parent for journal in folder.parent.glob("*/journal.jsonl"))


def kill(daemon):
    os.kill(daemon.process.process.pid, signal.SIGKILL)
    daemon.process.wait()


def take_over(daemon):
    """Waits until a host has the room and records it."""
    daemon.wait_for("the room", lambda: daemon.own_rooms())
    daemon.wait_for_recording("hall")


def only_folder(daemon, room="hall"):
    journal, = (daemon.storage / "recordings" / room).glob("*/journal.jsonl")
    return journal.parent


def test_the_parts_of_a_call_that_outlived_its_host_become_one(stage):
    server = stage.room_server(5)
    owner, other = hosts_of_hall(stage, stage.etcd(), server)
    peer = stage.aiortc(server, "hall", *CALL)
    owner.wait_for_recording("hall")
    first = only_folder(owner)
    kill(owner)
    take_over(other)
    # The call ends while the host with its beginning is away: there is a file of the rest.
    peer.end()
    second = only_folder(other)
    other.wait_for("the rest of the call", lambda: (second / "call-series.mkv").exists())
    assert other.log("parts of a recording are on other hosts")
    owner.start()
    folders = as_one(other, first)
    # It asked the address that the host names.
    assert all(host["url"].startswith("http://localhost:") for host in other.get("/v1/cluster")["hosts"])
    assert folders == [folders[0], second] and folders[0].name == first.name
    parts = [journal_of(folder)[0] for folder in folders]
    assert [part["segment"] for part in parts] == [1, 2] and [part["claim"]["epoch"] for part in parts] == [1, 2]
    assert {part["series"] for part in parts} == {parts[0]["id"]}
    for path in first.rglob("*"):
        if path.name == "journal.jsonl" or path.parent.name == "tracks":
            assert (folders[0] / path.relative_to(first)).read_bytes() == path.read_bytes(), path
    # It is exported, and its end reported, where it was recorded.
    assert not (folders[0] / "call.mkv").exists()
    # The next call in the room is another recording.
    stage.aiortc(server, "hall", *CALL)
    third = other.wait_for("another recording", lambda: next(
        (path.parent for path in folders[0].parent.glob("*/journal.jsonl") if path.parent not in folders), None))
    other.wait_for("its beginning", lambda: (third / "journal.jsonl").read_text().count("\n") > 0)
    beginning = journal_of(third)[0]
    assert (beginning["series"], beginning["segment"]) == (beginning["id"], 1)


def test_a_host_that_stops_during_a_call_hands_on_its_recording(stage):
    server = stage.room_server(5)
    owner, other = hosts_of_hall(stage, stage.etcd(), server)
    peer = stage.aiortc(server, "hall", *CALL)
    owner.wait_for_recording("hall")
    first = only_folder(owner)
    assert owner.process.end() == 0, owner.process.story()
    take_over(other)
    owner.start()
    peer.end()
    folders = as_one(other, first)
    assert [journal_of(folder)[0]["segment"] for folder in folders] == [1, 2]


def test_the_room_of_a_host_that_is_killed_is_recorded_by_another(stage):
    server = stage.room_server(5)
    etcd = stage.etcd()
    daemons = {name: host(stage, etcd, name) for name in ("a", "b")}
    any_of_them = daemons["a"]
    run(stage, "cluster", "init", "--config", any_of_them.path)
    rooms = {"hall": {"url": room_url(server, "hall"), "record": {"empty_after": "1s"}}}
    assert "added hall (dry run)" in apply(stage, any_of_them, rooms, "--dry-run")
    assert run(stage, "rooms", "get", "--config", any_of_them.path) == "no rooms"
    assert "added hall" in apply(stage, any_of_them, rooms)
    assert "unchanged hall" in apply(stage, any_of_them, rooms)
    owned = any_of_them.wait_for("an owner", lambda: claimant(stage, any_of_them, "hall"))
    assert owned["epoch"] == 1
    owner, = (daemon for name, daemon in daemons.items() if name == owned["host"])
    other, = (daemon for name, daemon in daemons.items() if name != owned["host"])
    assert other.own_rooms() == []
    assert owner.room("hall")["origin"] == "cluster"
    # It is not changed behind the cluster's back.
    assert owner.request("DELETE", "/v1/rooms/hall")[0] == 409
    stage.aiortc(server, "hall", *CALL)
    owner.wait_for_recording("hall")

    killed = time.monotonic()
    kill(owner)
    other.wait_for("the room", lambda: other.own_rooms())
    other.wait_for_recording("hall")
    print(f"recorded by the other host {time.monotonic() - killed:.1f} s after the kill")
    first, second = started(owner, "hall"), started(other, "hall")
    assert first["claim"] == {"cluster": "calls", "epoch": 1} and second["claim"] == {"cluster": "calls", "epoch": 2}
    # One series.
    assert (first["series"], first["segment"]) == (first["id"], 1)
    assert (second["series"], second["segment"]) == (first["id"], 2) and second["id"] != first["id"]
    moved, = other.log("room.moved")
    assert f"from: {owner.name}" in moved, moved
    lost, = other.wait_for("the end of the other host", lambda: other.log("host.lost"))
    assert f"host: {owner.name}" in lost, lost

    # The host that comes back leaves the room where it is.
    owner.start()
    run(stage, "rooms", "delete", "hall", "--config", other.path)
    other.wait_for("the room's end", lambda: not other.own_rooms())
    assert owner.own_rooms() == []


def test_a_host_that_stops_hands_its_rooms_on_and_keeps_its_own(stage):
    server = stage.room_server(5)
    etcd = stage.etcd()
    own = {"own": {"url": room_url(server, "own")}}
    first = host(stage, etcd, "a", own)
    run(stage, "cluster", "init", "--config", first.path)
    apply(stage, first, {"hall": {"url": room_url(server, "hall")}, "own": {"url": room_url(server, "another")}})
    first.wait_for("the room", lambda: claimant(stage, first, "hall"))
    # The file's room is the one that it has, whatever the cluster calls by its name.
    assert first.room("own")["origin"] == "configuration"
    second = host(stage, etcd, "b")
    assert first.process.end() == 0, first.process.story()
    taken = second.wait_for("the room", lambda: claimant(stage, second, "hall"))
    assert taken["host"] == "b" and taken["epoch"] == 2


def drain(stage, daemon, *flags):
    """What `drain --json` printed, line by line."""
    return [json.loads(line) for line in run(stage, "drain", "--api", daemon.url, "--json", *flags).splitlines()]


def figures(daemon, name):
    """The values of a metric's series, by the text of their labels."""
    return {labels: float(number) for labels, number in re.findall(
        rf"^tapedeck_{name}(?:\{{(.*)\}})? (\S+)$", daemon.metrics(), re.MULTILINE)}


def test_a_drained_host_hands_a_call_on_without_a_gap(stage):
    server = stage.serve("--room-size", "4")
    etcd = stage.etcd()
    daemons = {name: host(stage, etcd, name) for name in ("a", "b")}
    run(stage, "cluster", "init", "--config", daemons["a"].path)
    apply(stage, daemons["a"], {"hall": {"url": room_url(server, "hall"), "record": {"empty_after": "1s"}}})
    owned = daemons["a"].wait_for("an owner", lambda: claimant(stage, daemons["a"], "hall"))
    owner, other = (daemons.pop(owned["host"]), *daemons.values())
    peer = stage.aiortc(server, "hall", *CALL)
    owner.wait_for_recording("hall")

    steps = drain(stage, owner, "--wait", "--deadline", "1s")
    assert steps[0]["rooms"] == ["hall"] and not steps[0]["drained"], steps
    assert steps[-1]["rooms"] == [] and steps[-1]["drained"], steps
    moved, = other.log("room.moved")
    assert f"from: {owner.name}" in moved, moved
    assert owner.own_rooms() == []
    other.wait_for_recording("hall")
    peer.end()
    before, after = (daemon.wait_for("the end of the recording", lambda at=(daemon, epoch): finished(*at, "hall"))
                     for epoch, daemon in enumerate((owner, other), 1))
    # The daemons share one kernel: its clock is that of both journals.
    overlap = left(journal_of(before)) - begun(journal_of(after))
    print(f"the successor had audio and video {overlap / 1e9:.2f} s before the owner left")
    assert overlap > 0


def test_an_empty_room_leaves_a_drained_host_at_once(stage):
    server = stage.room_server(5)
    etcd = stage.etcd()
    own = {"own": {"url": room_url(server, "own")}}
    first = host(stage, etcd, "a", own)
    run(stage, "cluster", "init", "--config", first.path)
    apply(stage, first, {"hall": {"url": room_url(server, "hall")},
                         "far": {"url": room_url(server, "far"), "hosts": {"require": {"site": "moon"}}}})
    first.wait_for("the room", lambda: claimant(stage, first, "hall"))
    first.wait_for("a room without a host", lambda: figures(first, "cluster_unclaimed_rooms") == {"": 1})
    second = host(stage, etcd, "b")
    second.wait_for("both hosts", lambda: figures(second, "cluster_hosts") == {"": 2})

    steps = drain(stage, first, "--wait")
    assert steps[-1]["drained"], steps
    assert second.wait_for("the room", lambda: claimant(stage, second, "hall"))["host"] == "b"
    first.wait_for("no claim but its own", lambda: figures(first, "cluster_claims") == {
        'phase="held"': 1, 'phase="uncertain"': 0})
    second.wait_for("what it sees of the drain", lambda: any(
        each["draining"] for each in second.get("/v1/cluster")["hosts"]))
    seen = second.get("/v1/cluster")
    assert seen["connected"] and seen["host"] == "b" and [each["name"] for each in seen["hosts"]] == ["a", "b"], seen
    rooms = {each["name"]: each for each in seen["rooms"]}
    assert rooms["own"]["local"] and rooms["own"]["host"] == "a" and rooms["hall"]["host"] == "b", rooms
    assert rooms["far"]["phase"] == "unclaimed" and "site=moon" in rooms["far"]["reason"], rooms
    shown = run(stage, "cluster", "status", "--api", second.url)
    assert "draining" in shown and "no host that takes rooms has site=moon" in shown, shown
    # A host that drains is none that could have a room: the other one keeps it.
    alone = stage.run_tapedeck("undrain", "--api", first.url)
    assert alone.exit_code == 0, alone.story()
    second.wait_for("a host that takes rooms", lambda: not any(
        each["draining"] for each in second.get("/v1/cluster")["hosts"]))
    assert drain(stage, second, "--wait")[-1]["drained"]
    assert first.wait_for("the room", lambda: claimant(stage, first, "hall"))["host"] == "a"


def test_an_etcd_that_hangs_ends_no_recording_and_is_reported(stage):
    server = stage.room_server(5)
    etcd = stage.etcd()
    process = stage.running[-1]
    member = host(stage, etcd, "a")
    run(stage, "cluster", "init", "--config", member.path)
    apply(stage, member, {"hall": {"url": room_url(server, "hall"), "record": {"empty_after": "1s"}}})
    member.wait_for("the room", lambda: claimant(stage, member, "hall"))
    peer = stage.aiortc(server, "hall", *CALL)
    member.wait_for_recording("hall")
    assert figures(member, "cluster_renewal_age_seconds")[""] < 30
    process.signal(signal.SIGSTOP)
    try:
        member.wait_for("doubt", lambda: figures(member, "cluster_claims") == {
            'phase="held"': 0, 'phase="uncertain"': 1})
        member.wait_for("a stale view", lambda: not member.get("/v1/cluster")["connected"])
        seen = member.get("/v1/cluster")
        assert seen["reason"] and seen["rooms"][0]["host"] == "a", seen
        assert "NOT CONNECTED since" in run(stage, "cluster", "status", "--api", member.url)
        assert figures(member, "cluster_renewal_age_seconds")[""] > 3
        # The room is the operator's all the same.
        assert member.post("/v1/rooms/hall/pause")["status"]["recordingState"] == "paused"
        assert member.post("/v1/rooms/hall/resume")["status"]["recordingState"] == "recording"
    finally:
        process.signal(signal.SIGCONT)
    member.wait_for("certainty", lambda: figures(member, "cluster_claims") == {
        'phase="held"': 1, 'phase="uncertain"': 0})
    assert member.get("/v1/cluster")["connected"]
    peer.end()
    member.wait_for_export("hall")
    assert started(member, "hall")["claim"] == {"cluster": "calls", "epoch": 1}, "one recording, of one epoch"


def test_init_names_members_that_are_not_of_the_etcd(stage):
    etcd = stage.etcd()
    member = host(stage, etcd, "a")
    # etcd's packages start each member as an etcd by itself.
    member.sections["cluster"]["etcd"] = [etcd, stage.etcd(), f"http://127.0.0.1:{free_port()}"]
    member.write({})
    for word in ("made", "exists"):
        made = stage.run_tapedeck("cluster", "init", "--config", member.path)
        assert made.exit_code == 2 and re.match(rf"the cluster calls (is )?{word}: ", made.output), made.story()
        assert f"but of another: {member.sections['cluster']['etcd'][1]}" in made.messages, made.story()
        assert "does not answer: http://127.0.0.1" in made.messages, made.story()


def test_hosts_that_refuse_each_other_are_told_apart_before_they_run(stage):
    member = host(stage, "http://127.0.0.1:2379", "a", api={"token": "token-of-the-operators"}, url="http://192.0.2.1:8330")
    checked = stage.run_tapedeck("run", "--check", "--config", member.path)
    assert checked.exit_code == 2 and re.search(
        r":\d+:\d+: cluster.token: missing: the API asks for a token, so that the other hosts are refused", checked.messages), checked.story()


def test_a_second_daemon_with_the_name_of_a_host_takes_nothing_and_says_so(stage):
    server = stage.room_server(5)
    etcd = stage.etcd()
    first = host(stage, etcd, "a")
    run(stage, "cluster", "init", "--config", first.path)
    second = Daemon(stage, {}, name="twin", api={"listen": f"127.0.0.1:{free_port()}"},
                    cluster={"name": "calls", "host": "a", "etcd": [etcd], "capacity": 4})
    second.wait_for("the other's record", lambda: "has the name a" in second.get("/v1/cluster").get("reason", ""))
    assert "connected since" in run(stage, "cluster", "status", "--api", second.url)
    assert "has the name a: no rooms until that ends" in run(stage, "cluster", "status", "--api", second.url)
    assert first.process.end() == 0, first.process.story()
    apply(stage, second, {"hall": {"url": room_url(server, "hall")}})
    second.wait_for("the room", lambda: claimant(stage, second, "hall"))
    assert "reason" not in second.get("/v1/cluster")


def test_a_host_without_the_section_has_no_part_of_it(stage):
    server = stage.room_server(5)
    alone = Daemon(stage, {"hall": {"url": room_url(server, "hall")}})
    alone.wait_for_phase("hall", "joined")
    stage.aiortc(server, "hall", *CALL)
    alone.wait_for_recording("hall")
    assert "claim" not in started(alone, "hall") and "series" not in started(alone, "hall")
    refused = stage.run_tapedeck("cluster", "init", "--config", alone.path)
    assert refused.exit_code == 2 and "has no section cluster" in refused.messages, refused.story()
    refused = stage.run_tapedeck("drain", "--api", alone.url)
    assert refused.exit_code == 2 and "has no section cluster" in refused.messages, refused.story()
    assert alone.request("GET", "/v1/cluster")[0] == 404 and figures(alone, "cluster_hosts") == {}


def test_mistakes_in_rooms_are_told_and_change_nothing(stage):
    etcd = stage.etcd()
    member = host(stage, etcd, "a")
    path = stage.folder / "rooms.yaml"
    path.write_text("rooms:\n  good: { url: 'socketio+http://h/1' }\n  bad: { url: 'socketio+http://h/2', cots: 1 }\n")
    arguments = ("rooms", "apply", "-f", path, "--config", member.path)
    refused = stage.run_tapedeck(*arguments)
    assert refused.exit_code == 2, refused.story()
    assert 'rooms.yaml:3:38: rooms.bad.cots: unknown key; did you mean "cost"?' in refused.messages, refused.story()
    path.write_text("rooms:\n  good: { url: 'socketio+http://h/1' }\n")
    refused = stage.run_tapedeck(*arguments)
    assert refused.exit_code == 2 and "tapedeck cluster init makes it" in refused.messages, refused.story()
    run(stage, "cluster", "init", "--config", member.path)
    assert "exists" in run(stage, "cluster", "init", "--config", member.path)
    assert run(stage, *arguments) == "added good"
    unknown = stage.run_tapedeck("rooms", "delete", "good", "better", "--config", member.path)
    assert unknown.exit_code == 2 and "has no room better" in unknown.messages, unknown.story()
    assert "good" in run(stage, "rooms", "get", "--config", member.path)
    # Standard input is read as a file is.
    for text, code, said in (("rooms:\n  good: { url: 'socketio+http://h/1' }\n", 0, "unchanged good"),
                             ("rooms:\n  bad: { url: 'socketio+http://h/2', cots: 1 }\n", 2,
                              'standard input:2:38: rooms.bad.cots: unknown key; did you mean "cost"?'),
                             ("", 2, "standard input: ")):
        piped = stage.tapedeck("rooms", "apply", "-f", "-", "--config", member.path)
        piped.process.stdin.write(text.encode())
        piped.process.stdin.close()
        assert piped.wait() == code and said in piped.output + piped.messages, piped.story()
