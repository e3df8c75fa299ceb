# SPDX-License-Identifier: Apache-2.0
"""Three hosts with a real etcd of three members, each with a kernel and clocks of its own: they die, lose their link, or the
etcd, while the calls in their rooms continue."""

import contextlib
import json
import time
import urllib.parse

import network
import pytest
from faults import FaultProxy, pass_on
from figures import assert_one_timeline, assert_plays
from hosts import CLIENTS, MEMBERS, Cluster
from peers import room_url
from recordings import journal_of
from remotes import SeaweedFS

CALL = ("--send", "synthetic", "--size", "320x180", "--on-the-second")
# Calls that are many: video alone, of which a second is some thousand bytes.
SMALL_CALL = ("--send", "synthetic", "--size", "160x90", "--fps", "10", "--audio-start", "100000", "--bitrate", "100000")
OUTPUT = 5004

pytestmark = pytest.mark.media


@pytest.fixture
def net():
    """Three hosts, and the one of the room server and its participants; rules of two chains look at what the router forwards."""
    with network.namespaces("abcd") as (found, reason):
        if found is None:
            pytest.skip(f"network namespaces cannot be made here: {reason}")
        for chain in ("etcd", "outputs"):
            found.run("r", "nft", "add", "chain", "inet", "tapedeck", chain)
            found.rule("forward", f"jump {chain}")
        found.rule("forward", "accept")
        yield found


def small_calls(cluster, server, rooms):
    peer = cluster.people.aiortc(server, ",".join(rooms), *SMALL_CALL, program="aiortc_calls.py")
    peer.wait_for("a participant in each room", lambda: sum(fact["event"] == "joined" for fact in peer.facts) == len(rooms))
    return peer


def series_of(cluster, room):
    """The recordings of a room in their order: the first line of each journal, the host that recorded it, and its folder."""
    found = {}
    for member in cluster.members.values():
        for identity, (began, folder) in member.recordings(room).items():
            if began["host"] == member.place.kernel.name:
                found[identity] = (began, member, folder)
    return sorted(found.values(), key=lambda one: (one[0]["claim"]["epoch"], one[0]["segment"]))


def assert_owners(cluster, rooms):
    """No epoch of a room has two owners, and each room has one series."""
    for room in rooms:
        parts = [began for began, _, _ in series_of(cluster, room)]
        owners = {}
        for part in parts:
            owners.setdefault(part["claim"]["epoch"], set()).add((part["host"], part["boot"]))
        assert parts and all(len(each) == 1 for each in owners.values()), parts
        assert {part["series"] for part in parts} == {parts[0]["id"]} and parts[0]["segment"] == 1, parts


def as_one(cluster, room):
    """Waits until the last owner has the whole call of a room as one; the file, and the seconds that are in no recording."""
    parts = series_of(cluster, room)
    folder = parts[-1][1].daemon.storage / "recordings" / room / parts[0][2].name
    wanted = sorted(began["id"] for began, _, _ in parts)

    def is_there():
        with contextlib.suppress(FileNotFoundError):
            manifest = json.loads((folder / "manifest.json").read_text())
            for export in manifest["exports"]:
                if export["file"] == "call-series.mkv" and sorted(export.get("recordings", [])) == wanted:
                    return export
        return None
    export = parts[-1][1].daemon.wait_for(f"the call in {room} as one", is_there)
    joined = export.get("joined", [])
    assert all(one["joined_by"] == "senders" for one in joined), joined
    assert len({began["boot"] for began, _, _ in parts}) == 1 + len(joined), (parts, joined)
    gaps = [gap["duration_ns"] / 1e9 for gap in export.get("gaps", [])]
    findings = json.loads((folder / "manifest.json").read_text())["certificate"]["findings"]
    assert len(gaps) == sum(found["kind"] == "gap" and found.get("file") == "call-series.mkv" for found in findings), findings
    return folder / "call-series.mkv", gaps


@pytest.mark.parametrize("count", [3, pytest.param(12, marks=pytest.mark.long)])
def test_calls_outlive_a_host_that_dies_and_one_without_a_link(stage, net, count):
    cluster = Cluster(stage, net)
    server = cluster.people.serve("--room-size", "5", address=net.host("d"))
    rooms = ["hall", *(f"room-{number}" for number in range(1, count))]
    # The host whose clock is ahead begins: the parts of the others seem to be from before.
    cluster.apply({room: {"url": room_url(server, room), "record": {"empty_after": "1s"}, **hosts} for room, hosts in zip(
        rooms, [{"hosts": {"prefer": {"host": "b"}}}, *[{}] * len(rooms)])})
    hall = cluster.people.aiortc(server, "hall", *CALL)
    calls = small_calls(cluster, server, rooms[1:])
    first = cluster.owner("hall")
    for member in cluster.members.values():
        member.daemon.wait_for("all recordings", lambda: all(map(member.is_placed, member.rooms())))
    # With the leader of the etcd the leases take longest to end.
    cluster.lead(first)
    lost, left = first.rooms(), cluster.others(first)

    killed = time.monotonic()
    first.kill()
    cluster.wait_for_successors(lost, left[0], first)
    print(f"{len(lost)} rooms recorded again {time.monotonic() - killed:.1f} s after the host and the etcd's leader died")
    first.boot()
    first.daemon.wait_for("its cluster", lambda: first.daemon.get("/v1/cluster")["connected"])
    # Its rooms are where they are.
    assert not first.rooms()

    second = cluster.owner("hall")
    lost, left = second.rooms(), cluster.others(second)
    second.daemon.wait_for("its place in time", lambda: all(map(second.is_placed, lost)))
    assert second is not first and "hall" in lost
    cut = time.monotonic()
    net.connect(second.name, False)
    cluster.wait_for_successors(lost, left[0], second)
    print(f"{len(lost)} rooms recorded again {time.monotonic() - cut:.1f} s after a link was cut")
    # The room server has not noticed: the recorder without a link is a member.
    assert len(hall.each_figure("framesSent")) == 2, hall.story()
    net.connect(second.name, True)
    second.daemon.wait_for("the end of what others have", lambda: not second.rooms())

    for member in left:
        member.daemon.wait_for("its place in time", lambda: all(map(member.is_placed, member.rooms())))
    for peer in (hall, calls):
        assert peer.end() == 0, peer.story()
    assert_owners(cluster, rooms)
    for room in rooms:
        if len(parts := series_of(cluster, room)) > 1:
            whole, gaps = as_one(cluster, room)
            # A host whose link is back records until it has seen the claim of the next: the time between is a gap of its tracks.
            cut_parts = [folder for _, member, folder in parts if member is second]
            certificates = [json.loads((folder / "manifest.json").read_text())["certificate"] for folder in cut_parts]
            inside = sum(any(found["kind"] == "gap" for found in one["findings"]) for one in certificates)
            assert len(parts) - 1 - inside <= len(gaps) <= len(parts) - 1, (gaps, parts)
            print(f"{room}: no host recorded for {', '.join(f'{gap:.1f} s' for gap in gaps)}")
    whole, _ = as_one(cluster, "hall")
    assert_plays(whole)
    assert [began["claim"]["epoch"] for began, _, _ in series_of(cluster, "hall")] == [1, 2, 3]
    assert assert_one_timeline(whole, hall) == 3


@pytest.fixture
def bucket(stage, net):
    """A bucket that all hosts reach, the section for it, and the addresses of the hosts that wrote each key."""
    remote, written = SeaweedFS(stage), {}

    def note(exchange, body):
        key = urllib.parse.unquote(exchange.path.split("?")[0])
        if exchange.command in ("PUT", "POST", "DELETE") and "/tapedeck-trial-" not in key:
            written.setdefault(key, set()).add(exchange.client_address[0])
        pass_on(exchange, body)
    with contextlib.closing(FaultProxy(remote.port, net.host("d"), net.entered("d"))) as proxy:
        proxy.fault = note
        config = stage.folder / "rclone.conf"
        config.write_text(remote.section(endpoint=proxy.url))
        yield remote, {"remote": f"arc:{remote.bucket}", "config": str(config)}, written


def wait_for_units(member, more):
    """Waits until a host has recorded so many more frames and packets."""
    before = member.units("hall")
    member.daemon.wait_for("more", lambda: member.units("hall") >= before + more)


def cut_off(net, member):
    """Takes a host away from the members of the etcd on the others, which keep theirs."""
    for end in ("saddr", "daddr"):
        for port in ("sport", "dport"):
            net.rule("etcd", f"ip {end} {member.place.address} tcp {port} {{ {CLIENTS}, {MEMBERS} }} drop")


def test_a_host_without_the_etcd_records_until_another_does(stage, net, bucket):
    remote, upload, written = bucket
    cluster = Cluster(stage, net, storage={"upload": upload})
    server = cluster.people.serve("--room-size", "5", address=net.host("d"))
    notes = stage.folder / "notes"
    for name in cluster.members:
        net.run("r", "nft", "add", "counter", "inet", "tapedeck", f"output-{name}")
        net.rule("outputs", f"ip saddr {net.host(name)} udp dport {OUTPUT}-{OUTPUT + 3} counter name output-{name} drop")
    cluster.apply({"hall": {
        "url": room_url(server, "hall"), "record": {"empty_after": "1s"},
        "send": {"capture": "test", "size": "320x180", "fps": 10},
        "outputs": [{"rtp": {"host": net.host("d"), "video_port": OUTPUT, "audio_port": OUTPUT + 2}}]}})
    hall = cluster.people.aiortc(server, "hall", *CALL, "--receive", "--notes", notes)
    first = cluster.owner("hall")
    others = cluster.others(first)
    first.daemon.wait_for("a recording", lambda: first.is_placed("hall"))

    def sent(member):
        return net.packets(f"output-{member.name}")

    def packets_meanwhile(member):
        before = sent(member)
        wait_for_units(member, 60)
        return sent(member) - before

    def brightness(since):
        """How bright the frames are that the participant has seen since then."""
        seen = [json.loads(line) for line in notes.read_text().splitlines()[:-1]]
        return [fact["mean"] for fact in seen if fact["kind"] == "video" and fact["at"] > since]
    hall.wait_for("a camera", lambda: notes.exists() and any(mean > 40 for mean in brightness(0)))
    first.daemon.wait_for("an output", lambda: sent(first))

    # It cannot know, for a while, that its etcd leads no more.
    cluster.lead(first)
    cut, cut_at = time.monotonic(), time.time()
    cut_off(net, first)
    first.daemon.wait_for("doubt", lambda: 'phase="uncertain"} 1' in first.daemon.metrics())
    print(f"uncertain {time.monotonic() - cut:.1f} s after the etcd was cut off")
    # It records; its camera is black, and its outputs send nothing.
    first.daemon.wait_for("silent outputs", lambda: not packets_meanwhile(first))
    hall.wait_for("black video", lambda: any(mean < 20 for mean in brightness(cut_at)))

    cluster.wait_for_successors({"hall"}, others[0], first)
    print(f"recorded by another host {time.monotonic() - cut:.1f} s after the etcd was cut off")
    second = cluster.members[cluster.owners(others[0])["hall"][0]]
    second.daemon.wait_for("an output", lambda: sent(second))
    # Both record.
    wait_for_units(first, 60)
    second.daemon.wait_for("its place in time", lambda: second.is_placed("hall"))
    assert "hall" in first.rooms() and len(hall.each_figure("framesSent")) == 2, hall.story()
    net.without_rules("etcd")
    healed = time.monotonic()
    first.daemon.wait_for("the end of what another has", lambda: not first.rooms())
    print(f"left to the successor {time.monotonic() - healed:.1f} s after the etcd was there again")
    assert not first.daemon.log("the room was ours all the time")
    wait_for_units(second, 60)
    assert hall.end() == 0, hall.story()

    assert_owners(cluster, ["hall"])
    parts = series_of(cluster, "hall")
    assert [(began["claim"]["epoch"], member) for began, member, _ in parts] == [(1, first), (2, second)]
    for _, member, folder in parts:
        member.daemon.wait_for("its end", lambda: journal_of(folder)[-1]["kind"] == "recording-finished")
    whole, gaps = as_one(cluster, "hall")
    assert_plays(whole)
    assert assert_one_timeline(whole, hall) == 2 and not gaps

    # What is in the bucket.
    for member in (first, second):
        member.daemon.wait_for("all uploads", lambda: all(
            (found.get("upload") or {}).get("finished") for found in member.daemon.recordings()))
    assert all(len(hosts) == 1 for hosts in written.values()), {
        key: hosts for key, hosts in written.items() if len(hosts) > 1}
    stored = remote.objects()
    assert {f"/{remote.bucket}/{key}" for key in stored} <= set(written)
    for began, member, _ in parts:
        journals = [content for key, content in stored.items() if key.endswith(f"-{began['id']}/journal.jsonl")]
        assert journals and all(json.loads(journal.splitlines()[0]) == began for journal in journals), sorted(stored)
