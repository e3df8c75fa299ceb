# SPDX-License-Identifier: Apache-2.0
"""Webhooks of a running daemon: signed, retried, kept over a restart, failed for good, and without a secret in the
log."""

from daemon import Daemon
from peers import room_url
from stage import PEERS, free_port, python

SECRET = "hook-secret-that-nobody-may-see"
IN_URL = "key-in-the-url-that-nobody-may-see"
NOWHERE = "socketio+http://127.0.0.1:9/nowhere"


def sink(stage, *statuses, port=0):
    flags = [flag for status in statuses for flag in ("--status", str(status))]
    receiver = stage.start("sink", python("socketio5"), PEERS / "webhook_sink.py", "--secret", SECRET, "--port", port,
                           *flags)
    receiver.port = receiver.wait_for_event("listening")["port"]
    return receiver


def webhook(port, *events):
    return {"url": f"http://127.0.0.1:{port}/hook?key={IN_URL}", "secret": SECRET, "events": list(events)}


def deliveries(receiver):
    return [fact for fact in receiver.facts if fact["event"] == "delivery"]


def taken(receiver):
    """Each delivery once: an answer that does not come in time is asked for again."""
    return list({fact["delivery"]: fact for fact in reversed(deliveries(receiver))}.values())[::-1]


def add_room(daemon, name):
    daemon.post("/v1/rooms", {"name": name, "definition": {"url": f"{NOWHERE}-{name}", "join": "on-demand"}})


def figure(daemon, name):
    """The value of a metric without labels; None if it is not there."""
    text = daemon.metrics()
    return next((float(line.split()[1]) for line in text.splitlines() if line.startswith(name + " ")), None)


def assert_no_secret(daemon):
    paths = ("/metrics", "/v1/overview", "/v1/rooms", "/v1/recordings", "/healthz", "/readyz")
    texts = [daemon.process.messages, daemon.process.output]
    texts += [daemon.request("GET", path)[2].decode() for path in paths]
    for text in texts:
        assert SECRET not in text and IN_URL not in text, text


def test_a_call_is_told_and_a_reload_changes_who_is_told(stage):
    server, first, second = stage.room_server(5), sink(stage), sink(stage)
    rooms = {"standup": {"url": room_url(server, "one"), "record": {"empty_after": "1s"}}}
    daemon = Daemon(stage, rooms, webhooks=[webhook(first.port, "recording.*")], log_level="trace")
    daemon.wait_for_phase("standup", "joined")
    peer = stage.aiortc(server, "one", "--send", "synthetic")
    daemon.wait_for_recording("standup")
    peer.end()
    daemon.wait_for_export("standup")

    def told():
        kinds = [fact["kind"] for fact in taken(first)]
        return kinds if {"recording.started", "recording.finished"} <= set(kinds) else None
    kinds = first.wait_for("both ends", told)
    # Retries come after later deliveries.
    in_order = sorted(kinds) if daemon.log("webhook delivery failed") else kinds[::-1]
    assert in_order == ["recording.finished", "recording.started"]
    recording, = daemon.recordings()
    for fact in deliveries(first):
        assert fact["signed"], fact
        assert fact["path"] == f"/hook?key={IN_URL}" and fact["body"]["kind"] == fact["kind"]
        assert fact["body"]["room"] == "standup" and fact["body"]["recording"] == recording["id"]

    daemon.sections["webhooks"] = [webhook(second.port, "recording.deleted")]
    daemon.write(rooms)
    daemon.post("/v1/reload")
    assert daemon.request("DELETE", f"/v1/recordings/{recording['id']}")[0] == 204
    second.wait_for("recording.deleted", lambda: deliveries(second))
    fact, = taken(second)
    assert fact["kind"] == "recording.deleted" and fact["signed"]
    assert len(taken(first)) == 2, "who is told no more"
    assert_no_secret(daemon)


def test_a_receiver_that_is_down_is_told_later_and_one_that_is_gone_never(stage):
    port, gone, fickle = free_port(), sink(stage, 410), sink(stage, 503, "drop", 204)
    events = ("room.added", "room.removed")
    daemon = Daemon(stage, {}, webhooks=[webhook(port, *events), webhook(gone.port, *events),
                                         webhook(fickle.port, *events)])
    add_room(daemon, "a")
    fickle.wait_for("the first attempt", lambda: deliveries(fickle))
    daemon.wait_for("a failed attempt", lambda: daemon.log("webhook delivery failed"))
    down = sink(stage, port=port)
    down.wait_for("the second attempt", lambda: deliveries(down))
    fact, = taken(down)
    assert fact["signed"] and fact["body"]["room"] == "a"
    # The same delivery again, with a new signature, until it is accepted.
    fickle.wait_for("the third attempt", lambda: len(deliveries(fickle)) >= 3)
    assert len({fact["delivery"] for fact in deliveries(fickle)}) == 1
    assert all(fact["signed"] for fact in deliveries(fickle))
    # Failed for good at once, if the answer came in time; later events are sent.
    daemon.wait_for("a dead letter", lambda: figure(daemon, "tapedeck_webhook_dead_letters") == 1)
    assert len(deliveries(gone)) == 1 or f":{gone.port}" in "".join(daemon.log("webhook delivery failed"))
    assert daemon.request("DELETE", "/v1/rooms/a")[0] == 204
    daemon.wait_for("another dead letter", lambda: figure(daemon, "tapedeck_webhook_dead_letters") == 2)
    assert [fact["kind"] for fact in taken(gone)] == ["room.added", "room.removed"]
    assert_no_secret(daemon)


def test_what_waits_outlives_a_restart(stage):
    port = free_port()
    daemon = Daemon(stage, {}, webhooks=[webhook(port, "room.added")])
    add_room(daemon, "before")
    daemon.wait_for("a failed attempt", lambda: daemon.log("webhook delivery failed"))
    receivers = []
    daemon.restart(lambda: receivers.append(sink(stage, port=port)))
    receivers[0].wait_for("the delivery", lambda: deliveries(receivers[0]))
    fact, = taken(receivers[0])
    assert fact["signed"] and fact["body"]["room"] == "before"
    assert_no_secret(daemon)
