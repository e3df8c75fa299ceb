# SPDX-License-Identifier: Apache-2.0
"""All hosts of a cluster are drained and restarted during calls, one after the other, as docs/cluster.md says.

$TAPEDECK_OLDER is the binary of an earlier version, with which the hosts then begin.
"""

import copy
import os

import pytest
from peers import room_url
from recordings import begun, journal_of, left
from test_cluster import CALL, apply, drain, figures, host, run

OLDER = os.environ.get("TAPEDECK_OLDER")
# A room is known to take one more member, or to be full.
SIZES = {"hall": 6, "den": 6, "pair": 2}


def owner_of(daemons, room):
    """The host that records a room, with audio and video of its only participant."""
    for daemon in daemons:
        if found := daemon.own_room(room):
            status = found["status"]
            if status["recordingState"] == "recording" and sum(track["units"] > 0 for track in status["tracks"]) >= 2:
                return daemon
    return None


def settled(daemons):
    for room in SIZES:
        daemons[0].wait_for(f"a recording of {room}", lambda: owner_of(daemons, room))


def parts(daemons, room):
    """The journals of what owners of a room recorded, by their epochs; hosts may have fetched some of the others."""
    found = {}
    for daemon in daemons:
        for journal in (daemon.storage / "recordings" / room).glob("*/journal.jsonl"):
            records = journal_of(journal.parent)
            found[records[0]["claim"]["epoch"]] = records
    return [found[epoch] for epoch in sorted(found)]


@pytest.mark.timeout(900)
@pytest.mark.parametrize("before", ["same", pytest.param("older", marks=pytest.mark.skipif(
    not OLDER, reason="TAPEDECK_OLDER is not set"))])
def test_a_rolling_upgrade_loses_nothing_where_rooms_take_one_more(stage, before):
    older = copy.copy(stage)
    if before == "older":
        older.tapedeck_path = OLDER
    etcd = stage.etcd()
    daemons = [host(older, etcd, name) for name in ("a", "b", "c")]
    run(older, "cluster", "init", "--config", daemons[0].path)
    for daemon in daemons:
        daemon.wait_for("all hosts", lambda: figures(daemon, "cluster_hosts") == {"": 3})
    servers = {size: stage.serve("--room-size", str(size)) for size in set(SIZES.values())}
    apply(older, daemons[0], {room: {"url": room_url(servers[size], room), "record": {"empty_after": "5s"}}
                              for room, size in SIZES.items()})
    peers = [stage.aiortc(servers[size], room, *CALL) for room, size in SIZES.items()]
    settled(daemons)
    for daemon in daemons:
        steps = drain(stage, daemon, "--wait", "--deadline", "1s")
        assert steps[-1]["drained"], steps
        daemon.stage = stage
        daemon.restart()
        run(stage, "undrain", "--api", daemon.url)
        for each in daemons:
            each.wait_for("a host that takes rooms", lambda: sorted(
                seen["name"] for seen in each.get("/v1/cluster")["hosts"] if not seen["draining"]) == ["a", "b", "c"])
        settled(daemons)
    for peer in peers:
        peer.end()
    for room, size in SIZES.items():
        daemons[0].wait_for(f"the end of {room}", lambda: all(left(part) for part in parts(daemons, room)))
        owners = parts(daemons, room)
        assert [part[0]["segment"] for part in owners] == list(range(1, len(owners) + 1))
        assert {part[0]["series"] for part in owners} == {owners[0][0]["id"]}
        lost = [(begun(after) - left(first)) / 1e9 for first, after in zip(owners, owners[1:])]
        print(f"{room} moved {len(lost)} times, and was not recorded for {[round(each, 2) for each in lost]} s")
        assert lost, "each host was drained"
        assert size == 2 or max(lost) < 0, lost
