# SPDX-License-Identifier: Apache-2.0
"""One view of a cluster: what every host shows of the others, and what it passes on to them."""

import json
import pathlib
import re
import signal

import pytest
from daemon import Daemon
from dashboard import Dashboard, check_accessible, chromium
from peers import room_url
from test_cluster import CALL, apply, claimant, host, kill, only_folder, run

HOSTS = "token-that-all-hosts-have"
READER = "token-that-may-only-look"
# Long enough that a host which hangs is a host of the cluster all the time.
LONG = "60s"


def halt(process):
    """Stops a process; each thread does so when it gets its turn, and serves requests until then."""
    process.signal(signal.SIGSTOP)
    tasks = pathlib.Path(f"/proc/{process.process.pid}/task")
    process.wait_for("its halt", lambda: all(
        stat.read_text().rpartition(")")[2].split()[0] == "T" for stat in tasks.glob("*/stat")))


def member(stage, etcd, name, rooms=None, token=HOSTS, **cluster):
    """A host with tokens of its own; requests are made with the one that may do everything."""
    own = f"token-of-the-operators-of-{name}"
    daemon = host(stage, etcd, name, rooms, token=token, **cluster, api={
        "token": own, "tokens": [{"name": "reader", "value": READER, "scopes": ["read"]}]})
    plain = daemon.request
    daemon.request = lambda method, path, body=None, headers=None: plain(
        method, path, body, {"Authorization": f"Bearer {own}", **(headers or {})})
    return daemon


def pair(stage, server, etcd=None, tokens=(HOSTS, HOSTS), **cluster):
    """The host that has the room `hall`, and the other; each has a room of its own file."""
    etcd = etcd or stage.etcd()
    daemons = {name: member(stage, etcd, name, {f"own-{name}": {"url": room_url(server, f"own-{name}"),
                                                               "record": {"empty_after": "1s"}}}, token, **cluster)
               for name, token in zip("ab", tokens)}
    run(stage, "cluster", "init", "--config", daemons["a"].path)
    apply(stage, daemons["a"], {"hall": {"url": room_url(server, "hall"), "record": {"empty_after": "1s"}}})
    owned = daemons["a"].wait_for("an owner", lambda: claimant(stage, daemons["a"], "hall"))
    owner = daemons.pop(owned["host"])
    other, = daemons.values()
    # Without a question to the other: one that hangs or refuses is asked by the test alone.
    for daemon in (owner, other):
        daemon.wait_for("both hosts and all rooms", lambda seen=daemon: len(
            (cluster := seen.get("/v1/cluster"))["hosts"]) == 2 and sum("host" in room for room in cluster["rooms"]) == 3)
    return owner, other


def hosts_of(daemon, query=""):
    """The host of each room that a daemon lists."""
    return {room["name"]: room.get("host") for room in daemon.get(f"/v1/rooms{query}")["rooms"]}


def missing(daemon, path):
    """Why hosts are missing in a list, by name."""
    return {item["host"]: item["reason"] for item in daemon.get(path).get("incomplete", [])}


def shows(stage, daemon, *command):
    result = stage.run_tapedeck(*command, "--config", daemon.path)
    assert result.exit_code == 0, result.story()
    return result


def test_every_host_shows_and_steers_the_rooms_of_all(stage):
    server = stage.room_server(5)
    owner, other = pair(stage, server)
    wanted = {"own-a": "a", "own-b": "b", "hall": owner.name}
    for daemon in (owner, other):
        assert hosts_of(daemon) == wanted
        own = {name: where for name, where in wanted.items() if where == daemon.name}
        assert hosts_of(daemon, "?local=true") == own
        # The hosts ask each other without tokens of operators.
        assert hosts_of(daemon) == wanted and missing(daemon, "/v1/rooms") == {}
        assert daemon.get("/v1/overview")["host"] == daemon.name
    assert other.request("GET", "/v1/rooms/hall", headers={"Tapedeck-Local": "true"})[0] == 404
    stage.aiortc(server, "hall", *CALL)
    owner.wait_for_recording("hall")
    room = other.room("hall")
    assert room["host"] == owner.name and room["worker"] and room["definition"]
    listed = next(room for room in other.get("/v1/rooms")["rooms"] if room["name"] == "hall")
    assert listed["status"]["recordingState"] == "recording" and listed["status"]["participants"]

    # What is asked of one host happens on the other.
    assert other.post("/v1/rooms/hall/pause")["status"]["recordingState"] == "paused"
    assert owner.room("hall")["status"]["recordingState"] == "paused"
    assert other.post("/v1/rooms/hall/resume")["status"]["recordingState"] == "recording"
    other.post("/v1/rooms/hall/mark", {"text": "the decision"})
    folder = only_folder(owner)
    owner.wait_for("the mark", lambda: "the decision" in (folder / "journal.jsonl").read_text())
    participant = room["status"]["participants"][0]["id"]
    path = f"/v1/rooms/hall/participants/{participant}/thumbnail.jpg"
    image = other.wait_for("an image", lambda: (
        answer := other.request("GET", path))[0] == 200 and answer)
    assert image[1]["Content-Type"] == "image/jpeg" and image[2].startswith(b"\xff\xd8")
    assert "digraph" in json.dumps(other.get("/v1/rooms/hall/graphs"))

    # Rights are those of the token on the host that is asked, and mistakes those of the host that answers.
    look = {"Authorization": f"Bearer {READER}"}
    assert other.request("GET", "/v1/rooms/hall", headers=look)[0] == 200
    assert other.request("POST", "/v1/rooms/hall/stop", headers=look)[0] == 403
    assert other.request("GET", path, headers=look)[0] == 403
    assert other.request("POST", "/v1/rooms/hall/mark", {"txt": "x"})[0] == 422
    assert other.request("DELETE", "/v1/rooms/hall")[0] == 409
    assert other.request("GET", "/v1/rooms/nowhere")[0] == 404
    # The token of the hosts is good for nothing else.
    fellow = {"Authorization": f"Bearer {HOSTS}"}
    assert other.request("GET", "/v1/rooms", headers=fellow)[0] == 200
    assert other.request("GET", "/v1/overview", headers=fellow)[0] == 403
    assert other.request("POST", "/v1/reload", headers=fellow)[0] == 403

    table = shows(stage, other, "rooms").output
    assert re.search(rf"^hall +{owner.name} +joined +recording", table, re.MULTILINE), table
    assert "hall" not in shows(stage, other, "rooms", "list", "--local").output
    rows = [json.loads(line) for line in shows(stage, other, "rooms", "--json").output.splitlines()]
    assert {row["name"]: row["host"] for row in rows} == wanted
    status = shows(stage, other, "status", "--once").output
    assert re.search(rf"^hall +{owner.name} +joined", status, re.MULTILINE), status
    assert "hall" not in shows(stage, other, "status", "--once", "--local").output
    assert "recording paused" in shows(stage, other, "pause", "hall").output
    wrong = stage.run_tapedeck("pause", "hal", "--config", other.path)
    assert wrong.exit_code == 2 and "did you mean hall?" in wrong.messages, wrong.story()
    assert "recording stopped" in shows(stage, other, "stop", "hall").output
    owner.wait_for_export("hall")


def test_recordings_of_all_hosts_are_one_list(stage):
    server = stage.room_server(5)
    owner, other = pair(stage, server)
    for daemon in (owner, other):
        room = f"own-{daemon.name}"
        peer = stage.aiortc(server, room, *CALL)
        daemon.wait_for_recording(room)
        peer.end()
        daemon.wait_for_export(room)
    peer = stage.aiortc(server, "hall", *CALL)
    owner.wait_for_recording("hall")
    peer.end()
    folder, = owner.wait_for_export("hall")

    all_of_them = other.wait_for("three recordings that are finished", lambda: (
        found := other.recordings()) and len(found) == 3 and all(row["state"] == "finished" for row in found) and found)
    assert [row["start"] for row in all_of_them] == sorted((row["start"] for row in all_of_them), reverse=True)
    assert {row["room"]: row["host"] for row in all_of_them} == {
        "own-a": "a", "own-b": "b", "hall": owner.name}
    assert [row["id"] for row in owner.recordings()] == [row["id"] for row in all_of_them]
    assert [row["room"] for row in other.get("/v1/recordings?local=true")["recordings"]] == [f"own-{other.name}"]
    # Page by page it is the same list.
    paged, path = [], "/v1/recordings?limit=1"
    while path:
        _, headers, body = other.request("GET", path)
        paged += json.loads(body)["recordings"]
        path = (re.search("<(.*)>", headers.get("Link", "")) or [None, None])[1]
    assert [row["id"] for row in paged] == [row["id"] for row in all_of_them]
    assert [row["room"] for row in other.get("/v1/recordings?room=hall")["recordings"]] == ["hall"]

    recording = next(row for row in all_of_them if row["room"] == "hall")
    base = f"/v1/recordings/{recording['id']}"
    shown = other.get(base)
    assert shown["host"] == owner.name and shown["tracks"] and shown["certificate"]
    # A file in several pieces: its content does not matter, and neither does its name.
    (folder / "notes.bin").write_bytes(bytes(range(256)) * 40_000)
    for name in ("call.mkv", "journal.jsonl", "notes.bin"):
        content = (folder / name).read_bytes()
        status, headers, body = other.request("GET", f"{base}/files/{name}")
        assert status == 200 and body == content and headers["Content-Length"] == str(len(content)), name
    end = len(content) - 3
    status, headers, body = other.request("GET", f"{base}/files/notes.bin", headers={"Range": f"bytes=5-{end}"})
    assert status == 206 and body == content[5:end + 1]
    assert headers["Content-Range"] == f"bytes 5-{end}/{len(content)}"
    tag = headers["ETag"]
    assert other.request("GET", f"{base}/files/notes.bin", headers={"If-None-Match": tag})[0] == 304
    assert other.request("GET", f"{base}/files/notes.bin", headers={"Range": "bytes=99999999-"})[0] == 416
    assert other.request("GET", f"{base}/files/nothing.mkv")[0] == 404
    status, headers, archive = other.request("GET", f"{base}/archive.tar")
    assert status == 200 and len(archive) == int(headers["Content-Length"]) > len(content)
    assert other.get(f"{base}/timeline")["participants"]
    # An export that is ordered there is made here.
    order = other.post(f"{base}/exports", {"layout": "audio"})
    other.wait_for("the export", lambda: any(
        export["id"] == order["id"] and export["state"] == "done" for export in other.get(f"{base}/exports")["exports"]))
    assert (folder / "call-audio.opus").exists()

    # The same by commands, which find it by the beginning of its id.
    beginning = recording["id"][:8]
    lines = shows(stage, other, "recordings", "show", beginning).output
    assert re.search(rf"^host +{owner.name}$", lines, re.MULTILINE) and re.search(r"^call.mkv +", lines, re.MULTILINE), lines
    assert json.loads(shows(stage, other, "recordings", "show", beginning, "--json").output)["tracks"] == shown["tracks"]
    fetched = stage.folder / "fetched.wav"
    made = shows(stage, other, "export", beginning, "--layout", "audio", "--output", fetched)
    assert made.output.strip() == str(fetched) and fetched.read_bytes() == (folder / "call-audio.wav").read_bytes()
    made = shows(stage, other, "export", beginning, "--layout", "audio", "--format", "wav")
    assert made.output.strip() == f"call-audio.wav on the host {owner.name}", made.output
    unknown = stage.run_tapedeck("recordings", "show", "zzzz", "--config", other.path)
    assert unknown.exit_code == 2 and "there is no recording zzzz" in unknown.messages, unknown.story()

    table = shows(stage, other, "recordings").output
    assert re.search(rf"^{recording['id']} +hall +{owner.name} +20", table, re.MULTILINE), table
    rows = [json.loads(line) for line in shows(stage, other, "recordings", "--json").output.splitlines()]
    assert [row["id"] for row in rows] == [row["id"] for row in reversed(all_of_them)]
    assert {row["host"] for row in rows} == {"a", "b"}
    local = shows(stage, other, "recordings", "list", "--local").output
    assert "HOST" not in local and "hall" not in local and f"own-{other.name}" in local, local

    assert other.request("DELETE", base)[0] == 204 and not folder.exists()
    assert other.request("GET", base)[0] == 404
    assert len(other.recordings()) == 2


def test_a_host_that_hangs_is_named_and_holds_up_nothing_else(stage):
    server = stage.room_server(5)
    owner, other = pair(stage, server, ttl=LONG)
    halt(owner.process)
    try:
        assert missing(other, "/v1/rooms") == {owner.name: "it does not answer in time"}
        rooms = {room["name"]: room for room in other.get("/v1/rooms")["rooms"]}
        hall = rooms["hall"]
        assert (hall["host"], hall["phase"], hall["origin"]) == (owner.name, "joined", "cluster"), hall
        assert "does not answer" in hall["reason"] and "since" not in hall and hall["url"].startswith("socketio+"), hall
        assert rooms[f"own-{owner.name}"]["url"] == "" and rooms[f"own-{other.name}"]["since"], rooms
        assert missing(other, "/v1/recordings") == {owner.name: "it does not answer in time"}
        status, _, body = other.request("GET", "/v1/rooms/hall")
        assert status == 503 and f"the host {owner.name}, which has it, does not answer" in body.decode(), body
        status, _, body = other.request("GET", "/v1/recordings/0000000000000000")
        assert status == 503 and owner.name in body.decode(), body
        for command in (("recordings", "show"), ("export",)):
            silent = stage.run_tapedeck(*command, "0000000000000000", "--config", other.path)
            reason = f"; the host {owner.name} is missing: it does not answer in time"
            assert silent.exit_code == 1 and silent.messages.strip().endswith(reason), silent.story()
            assert silent.messages.count("\n") == 1, silent.story()
        result = shows(stage, other, "rooms")
        assert f"the host {owner.name} is missing: it does not answer in time" in result.messages, result.story()
        assert re.search(rf"^hall +{owner.name} +joined +- ", result.output, re.MULTILINE), result.output
    finally:
        owner.process.signal(signal.SIGCONT)
    other.wait_for("its answers", lambda: not missing(other, "/v1/rooms"))
    assert other.room("hall")["phase"] == "joined"
    # In order: a host that cannot give its rooms back waits until its lease has ended.
    for daemon in (other, owner):
        assert daemon.process.end() == 0, daemon.process.story()


def test_a_host_that_is_dead_is_named_as_long_as_its_recordings_are_missing(stage):
    server = stage.room_server(5)
    owner, other = pair(stage, server)
    assert missing(other, "/v1/recordings") == {}
    kill(owner)
    other.wait_for("the room", lambda: hosts_of(other, "?local=true").get("hall"))
    other.wait_for("its end", lambda: missing(other, "/v1/rooms") == {})
    assert hosts_of(other) == {"hall": other.name, f"own-{other.name}": other.name}
    assert missing(other, "/v1/recordings") == {owner.name: "it is not in the cluster at present"}
    result = shows(stage, other, "recordings")
    assert f"the host {owner.name} is missing" in result.messages, result.story()
    owner.start()
    other.wait_for("its return", lambda: missing(other, "/v1/recordings") == {})


def test_a_wrong_token_of_the_hosts_is_said(stage):
    server = stage.room_server(5)
    owner, other = pair(stage, server, tokens=(HOSTS, "token-that-only-one-host-has"))
    for one, another in ((owner, other), (other, owner)):
        reason = missing(one, "/v1/rooms")[another.name]
        assert "refuses the cluster.token" in reason, reason
    # No client is sent to the login for it.
    status, _, body = other.request("POST", "/v1/rooms/hall/pause")
    assert status == 503 and b"cluster.token" in body, body


def test_without_the_etcd_the_view_is_old_and_the_host_is_ready(stage):
    server = stage.room_server(5)
    etcd = stage.etcd()
    process = stage.running[-1]
    owner, other = pair(stage, server, etcd)
    assert other.get("/readyz")["problems"] == []
    halt(process)
    try:
        health = other.wait_for("the problem", lambda: (found := other.get("/readyz"))["problems"] and found)
        assert health["ready"] and "the etcd of the cluster is out of reach since 20" in health["problems"][0], health
        assert other.get("/healthz")["live"]
        # The hosts answer each other all the same.
        assert hosts_of(other)["hall"] == owner.name and missing(other, "/v1/rooms") == {}
        assert other.room("hall")["host"] == owner.name
    finally:
        process.signal(signal.SIGCONT)
    other.wait_for("no problem", lambda: other.get("/readyz")["problems"] == [])


def test_a_daemon_without_a_cluster_shows_itself(stage):
    alone = Daemon(stage, {"hall": {"url": "socketio+http://127.0.0.1:9/hall", "join": "on-demand"}})
    for query in ("", "?local=true"):
        answer = alone.get(f"/v1/rooms{query}")
        assert list(answer) == ["rooms"] and "host" not in answer["rooms"][0], answer
        assert list(alone.get(f"/v1/recordings{query}")) == ["recordings"]
    assert "HOST" not in run(stage, "rooms", "--api", alone.url)
    assert run(stage, "recordings", "--api", alone.url) == "no recordings"


@pytest.mark.xdist_group("dashboard")
def test_the_dashboard_shows_and_steers_all_hosts(stage):
    server = stage.room_server(5)
    etcd = stage.etcd()
    process = stage.running[-1]
    daemons = {name: host(stage, etcd, name) for name in ("a", "b")}
    run(stage, "cluster", "init", "--config", daemons["a"].path)
    apply(stage, daemons["a"], {"hall": {"url": room_url(server, "hall"), "record": {"empty_after": "60s"}}})
    owned = daemons["a"].wait_for("an owner", lambda: claimant(stage, daemons["a"], "hall"))
    owner = daemons.pop(owned["host"])
    other, = daemons.values()
    stage.aiortc(server, "hall", *CALL)
    owner.wait_for_recording("hall")
    with chromium() as browser:
        dashboard = Dashboard(browser, other.url)
        page = dashboard.open()
        card = dashboard.card("hall")
        card.get_by_text(f"Host {owner.name}").wait_for()
        strip = page.get_by_role("list", name="Hosts")
        for name in ("a", "b"):
            strip.get_by_role("listitem").filter(has_text=re.compile(rf"^{name}")).get_by_text("Alive").wait_for()
        strip.get_by_text("1 room, 1 of 4 taken").wait_for()
        card.get_by_role("img", name=re.compile("^Image of ")).wait_for()
        card.get_by_role("button", name=re.compile("^Pause")).click()
        card.locator(".state", has_text="Paused").wait_for()
        assert owner.room("hall")["status"]["recordingState"] == "paused"
        card.get_by_role("button", name=re.compile("^Stop")).click()
        card.locator(".state", has_text="Not recording").wait_for()
        check_accessible(page)
        # Its recording, with the file that comes from the other host.
        owner.wait_for_export("hall")
        page.goto(f"{other.url.rstrip('/')}/#recordings")
        page.get_by_role("list", name="Recordings").get_by_text(f"Host {owner.name}").wait_for()
        page.get_by_role("link", name="hall").click()
        page.get_by_text(f"host {owner.name} · ").wait_for()
        with page.expect_download() as download:
            page.get_by_role("link", name="call.mkv").first.click()
        assert download.value.path().read_bytes() == (only_folder(owner) / "call.mkv").read_bytes()
        check_accessible(page)
        # The etcd hangs: what is shown is old, and rooms are there all the same.
        page.goto(f"{other.url.rstrip('/')}/#rooms")
        halt(process)
        try:
            page.get_by_text(re.compile("^This host does not reach the etcd: .*as they were")).wait_for()
            assert card.get_by_text(f"Host {owner.name}").is_visible()
        finally:
            process.signal(signal.SIGCONT)
        page.get_by_text(re.compile("^This host does not reach the etcd")).wait_for(state="hidden")
        dashboard.close()
    assert dashboard.errors == [] and dashboard.foreign == [], dashboard.errors
