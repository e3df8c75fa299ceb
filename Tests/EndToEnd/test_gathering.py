# SPDX-License-Identifier: Apache-2.0
"""The recording of a call whose hosts come and go, to its end: which host brings it together, from where, and once."""

import json
import signal
import subprocess

from etcd import Etcd
from recordings import journal_of
from remotes import WebDAV
from test_cluster import CALL, claimant, hosts_of_hall, kill, take_over


def recordings(daemon):
    """The folders of the recordings that a host has, in order."""
    return sorted(journal.parent for journal in (daemon.storage / "recordings").glob("*/*/journal.jsonl"))


def exports(*daemons):
    """The exports of series that hosts have."""
    return [path for daemon in daemons for path in (daemon.storage / "recordings").glob("*/*/call-series.mkv")]


def made_of(folder):
    """The recordings that the export of a series was made of, as its manifest says."""
    path = folder / "manifest.json"
    entries = json.loads(path.read_text())["exports"] if path.exists() else []
    return next((entry["recordings"] for entry in entries if entry["file"] == "call-series.mkv"), None)


def stored(etcd, kind):
    """The values that the etcd has of a kind."""
    return [json.loads(value) for value in etcd.entries(f"/tapedeck/calls/{kind}/").values()]


def is_over(etcd):
    """Whether the cluster knows of no series that is to be brought together."""
    return not stored(etcd, "series")


def call_of_a_killed_owner(stage, etcd, server, *names, **keys):
    """Hosts of which the owner recorded a call and was killed: the owner, the others, the participant, and the recording."""
    owner, *others = hosts_of_hall(stage, etcd.urls, server, *names, **keys)
    peer = stage.aiortc(server, "hall", *CALL)
    owner.wait_for_recording("hall")
    first, = recordings(owner)
    kill(owner)
    return owner, others, peer, first


def test_a_host_that_recorded_nothing_brings_together_what_two_dead_ones_did(stage):
    server, etcd = stage.room_server(5), Etcd(stage, 1)
    owner, others, peer, first = call_of_a_killed_owner(stage, etcd, server, "abc")
    successor = others[0].wait_for("the next owner", lambda: next((
        daemon for daemon in others if daemon.name == (claimant(stage, others[0], "hall") or {}).get("host")), None))
    last, = (daemon for daemon in others if daemon is not successor)
    take_over(successor)
    second, = recordings(successor)
    kill(successor)
    # The call ends before another host records it.
    peer.end()
    order, = last.wait_for("an order", lambda: stored(etcd, "series"))
    assert (order["host"], order["recording"], order["segment"]) == (last.name, second.name[17:], 2), order
    assert recordings(last) == []

    owner.start()
    folder = last.storage / "recordings" / "hall" / first.name
    last.wait_for("what is there of it", lambda: made_of(folder) == [first.name[17:]])
    assert last.log("parts of a recording are on other hosts") and stored(etcd, "series")
    successor.start()
    both = [first.name[17:], second.name[17:]]
    last.wait_for("the call as one", lambda: made_of(folder) == both)
    last.wait_for("its end", lambda: is_over(etcd))
    # One export counts, and is on one host.
    assert exports(owner, successor, last) == [folder / "call-series.mkv"]
    parts = [journal_of(part)[0] for part in recordings(last)]
    assert [(part["segment"], part["claim"]["epoch"]) for part in parts] == [(1, 1), (2, 2)]
    owner.wait_for_export("hall")
    assert json.loads((first / "manifest.json").read_text())["claim"] == {"cluster": "calls", "epoch": 1}
    shown = stage.run_tapedeck("verify", first.name[17:], "--directory", last.storage)
    assert "segment 1 (host" in shown.output and "epoch 2)" in shown.output, shown.story()


def test_a_part_comes_from_the_remote_and_is_uploaded_once(stage):
    server, etcd, remote = stage.room_server(5), Etcd(stage, 1), WebDAV(stage)
    config = stage.folder / "rclone.conf"
    config.write_text(remote.section())
    upload = {"upload": {"remote": "cloud:calls", "config": str(config)}}
    owner, (other,), peer, first = call_of_a_killed_owner(stage, etcd, server, storage=upload)
    take_over(other)
    # It comes back for as long as the upload of its part takes, and is gone for good.
    owner.start()
    owner.wait_for("the upload of its part", lambda: any(
        (found.get("upload") or {}).get("finished") for found in owner.recordings()))
    kill(owner)
    place = f"calls/hall/{first.name[:4]}-{first.name[4:6]}-{first.name[6:8]}"
    before = {name: content for name, content in remote.objects().items() if name.startswith(f"{place}/{first.name}/")}
    assert f"{place}/{first.name}/manifest.json" in before
    # Another cluster uses the remote, and says that it recorded a part of the call.
    foreign = json.loads(before[f"{place}/{first.name}/manifest.json"])
    foreign |= {"id": "0" * 16, "claim": {"cluster": "strangers", "epoch": 1}}
    (stage.folder / "foreign.json").write_text(json.dumps(foreign))
    # By the server, which would not notice a file that appears behind its back.
    subprocess.run(["rclone", "--config", config, "copyto", stage.folder / "foreign.json",
                    f"cloud:{place}/{first.name[:17]}{'0' * 16}/manifest.json"], check=True, timeout=60)

    peer.end()
    folder = other.storage / "recordings" / "hall" / first.name
    other.wait_for("the call as one", lambda: len(made_of(folder) or []) == 2)
    other.wait_for("its end", lambda: is_over(etcd))
    for name, content in before.items():
        path = folder / name.removeprefix(f"{place}/{first.name}/")
        if path.name == "journal.jsonl" or path.parent.name == "tracks":
            assert path.read_bytes() == content, path
    assert other.log("of another cluster, strangers")
    assert len(recordings(other)) == 2

    # Each host uploads what it made: the one that is gone its part, the other its part and the whole.
    other.wait_for("the uploads", lambda: all((found.get("upload") or {}).get("finished") for found in other.recordings())
                   and any("-series." in name and name.endswith("/manifest.json") for name in remote.sizes()))
    after = remote.objects()
    assert {name: after[name] for name in before} == before
    whole = {name.rsplit("/", 1)[1] for name in after if "-series." in name}
    assert whole == {"call-series.mkv", "certificate.txt", "manifest.json"}, whole
    named, = {name.rsplit("/", 1)[0] for name in after if "-series." in name}
    assert named.startswith(f"{place}/{first.name[:16]}-series.") and named.endswith(f".{first.name[17:]}"), named
    names = {name.split("/")[3] for name in after}
    own = next(path for path in recordings(other) if path != folder)
    assert names == {first.name, own.name, named.split("/")[3], f"{first.name[:17]}{'0' * 16}"}, names


def test_a_host_that_is_cut_off_exports_no_series(stage):
    server, etcd = stage.room_server(5), Etcd(stage, 1)
    owner, (other,), peer, first = call_of_a_killed_owner(stage, etcd, server)
    take_over(other)
    owner.start()
    owner.wait_for_export("hall")
    etcd.members[0].signal(signal.SIGSTOP)
    try:
        other.wait_for("doubt", lambda: not other.get("/v1/cluster")["connected"])
        peer.end()
        # It is this host's recording: its end is reported, and it is exported.
        other.wait_for_export("hall")
        assert other.log("recording.finished") and exports(owner, other) == []
    finally:
        etcd.members[0].signal(signal.SIGCONT)
    folder = other.storage / "recordings" / "hall" / first.name
    other.wait_for("the call as one", lambda: len(made_of(folder) or []) == 2)
    other.wait_for("its end", lambda: is_over(etcd))


def test_a_pause_ends_with_its_call_on_any_host(stage):
    server, etcd = stage.room_server(5), Etcd(stage, 1)
    owner, other = hosts_of_hall(stage, etcd.urls, server)
    peer = stage.aiortc(server, "hall", *CALL)
    owner.wait_for_recording("hall")
    owner.post("/v1/rooms/hall/pause")
    other.wait_for("the request", lambda: [wish["ordered"] for wish in stored(etcd, "wishes")] == ["pause"])
    kill(owner)
    other.wait_for("the room", lambda: other.own_rooms())
    other.wait_for("its participant", lambda: other.room("hall")["status"]["participants"])
    assert other.room("hall")["status"]["recordingState"] not in ("recording", "waiting")
    peer.end()
    other.wait_for("the end of the call", lambda: not stored(etcd, "owners")[0]["recording_now"])
    assert recordings(other) == [] and is_over(etcd)
    # The next call is recorded, and is another recording.
    stage.aiortc(server, "hall", *CALL)
    other.wait_for_recording("hall")
    beginning = journal_of(recordings(other)[0])[0]
    assert (beginning["series"], beginning["segment"]) == (beginning["id"], 1)
