# SPDX-License-Identifier: Apache-2.0
"""/metrics of a running daemon: Prometheus reads it, and it shows what docs/metrics.md says."""

import os
import re
import shutil
import signal
import subprocess
import time
import urllib.error
import urllib.request

import media
import pytest
from daemon import Daemon, entries, resident
from figures import assert_counters, assert_plays, assert_sound, losses_in
from peers import lateness, room_url
from stage import LIMIT, ROOT, free_port

DOCUMENT = ROOT / "docs" / "metrics.md"
# Shown only when something is known or has happened that does not happen in this test.
SOMETIMES = {"tapedeck_room_jitter_seconds", "tapedeck_room_unrecorded_packets_total", "tapedeck_room_camera_target_bytes_per_second", "tapedeck_room_camera_reductions_total",
             "tapedeck_room_camera_failures_total", "tapedeck_room_camera_dropped_total",
             "tapedeck_room_output_packets_total", "tapedeck_room_output_bytes_total",
             "tapedeck_room_output_dropped_packets_total", "tapedeck_room_outputs_failing",
             "tapedeck_room_sound_decibels", "tapedeck_room_silent_tracks", "tapedeck_room_camera_sound_decibels",
             "tapedeck_room_camera_silent_seconds",
             "tapedeck_worker_gstreamer_objects", "tapedeck_worker_allocated_bytes",
             "tapedeck_storage_full_in_seconds", "tapedeck_upload_oldest_seconds", "tapedeck_metrics_dropped_total",
             "tapedeck_cluster_hosts", "tapedeck_cluster_unclaimed_rooms", "tapedeck_cluster_claims",
             "tapedeck_cluster_renewal_age_seconds"}


def documented():
    """Type, labels and meaning of each metric, by name."""
    rows = re.findall(r"^\| `(tapedeck_\w+)` \| (\w+) \| \w+ \| (.*?) \| (.*) \|$", DOCUMENT.read_text(), re.MULTILINE)
    return {name: (kind, set(re.findall(r"`(\w+)`", labels)), text) for name, kind, labels, text in rows}


def shown(text):
    """The same of an answer."""
    kinds = dict(re.findall(r"^# TYPE (tapedeck_\w+) (\w+)$", text, re.MULTILINE))
    helps = dict(re.findall(r"^# HELP (tapedeck_\w+) (.*)$", text, re.MULTILINE))
    labels = {name: set() for name in kinds}
    for series, pairs in re.findall(r"^(tapedeck_\w+)\{(.*)\} \S+$", text, re.MULTILINE):
        name = series if series in kinds else re.sub(r"_(bucket|sum|count)$", "", series)
        labels[name] |= set(re.findall(r'(\w+)="', pairs)) - {"le"}
    return {name: (kinds[name], labels[name], helps.get(name)) for name in kinds}


def promtool(*arguments, text=None):
    done = subprocess.run(["promtool", *arguments], input=text, capture_output=True, text=True, timeout=LIMIT)
    return done.returncode, done.stdout + done.stderr


def scrape(port, accept="text/plain"):
    """The answer's type and text; None without an answer."""
    request = urllib.request.Request(f"http://127.0.0.1:{port}/metrics", headers={"Accept": accept})
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.headers["Content-Type"], answer.read().decode()
    except urllib.error.HTTPError:
        raise
    except OSError:
        return None


def test_alert_rules_are_valid():
    code, output = promtool("check", "rules", ROOT / "docs" / "alerts.yaml")
    assert code == 0, output


def test_metrics_of_a_recording_daemon(stage):
    server = stage.serve("--room-size", "3")
    port = free_port()
    storage = stage.folder / "storage"
    storage.mkdir()
    configuration = stage.folder / "tapedeck.yaml"
    configuration.write_text(f"""\
storage:
  directory: {storage}
api:
  listen: 127.0.0.1:{port}
workers:
  hang_limit: 60s
rooms:
  standup:
    url: {room_url(server, "standup")}
    join: always
    record: {{ video: true, audio: true }}
    send: {{ capture: test, audio: test, size: 320x180, bitrate: 300k }}
""")
    daemon = stage.tapedeck("run", "--config", configuration)
    # The round trip of a peer that receives nothing is unknown.
    stage.aiortc(server, "standup", "--send", "synthetic", "--receive", "--size", "320x180")
    media = re.compile(r'^tapedeck_room_received_bytes_per_second\{room="standup",kind="video"\} [1-9]', re.MULTILINE)

    recording = 'tapedeck_room_recording{room="standup"} 1\n'

    gauges = [f'\ntapedeck_room_{name}_seconds{{room="standup"}} ' for name in ("recording_lag", "round_trip")]

    def with_media():
        answer = scrape(port)
        return answer if answer and media.search(answer[1]) and all(
            text in answer[1] for text in (recording, *gauges)) else None

    kind, text = daemon.wait_for("media in /metrics", with_media)
    assert kind.startswith("text/plain; version=0.0.4")
    # A second time: the request before is counted now.
    _, text = daemon.wait_for("media again", with_media)
    code, complaints = promtool("check", "metrics", text=text)
    assert (code, complaints) == (0, ""), f"{complaints}\n{text}"

    wanted, found = documented(), shown(text)
    assert len(wanted) > 25
    assert set(found) <= set(wanted), set(found) - set(wanted)
    assert set(wanted) - set(found) <= SOMETIMES, set(wanted) - set(found)
    for name, facts in found.items():
        assert facts == wanted[name], name
    assert 'tapedeck_rooms{phase="joined"} 1\n' in text
    assert recording in text
    # Every track of an ordinary call goes around what has nothing to do for it.
    assert re.search(r'^tapedeck_worker_long_way_tracks_total\{worker="\S+"\} 0$', text, re.MULTILINE), text

    kind, text = scrape(port, "application/openmetrics-text; version=1.0.0")
    assert kind.startswith("application/openmetrics-text; version=1.0.0")
    assert text.endswith("# EOF\n")


def test_the_round_trip_of_a_call_is_told(stage):
    """By the status of the participant and by the metric, as long as the call lasts."""
    server = stage.serve("--room-size", "3")
    send = {"capture": "test", "audio": "test", "size": "320x180", "bitrate": "300k"}
    daemon = Daemon(stage, {"standup": {"url": room_url(server, "standup"), "send": send}})
    daemon.wait_for_phase("standup", "joined")
    peer = stage.aiortc(server, "standup", "--send", "synthetic", "--receive", "--size", "320x180")

    def told():
        participants = daemon.room("standup")["status"]["participants"]
        return next((each["roundTripMilliseconds"] for each in participants if each.get("roundTripMilliseconds")), None)

    def shown_seconds():
        text = daemon.metrics()
        found = re.search(r'^tapedeck_room_round_trip_seconds\{room="standup"\} (\S+)$', text, re.MULTILINE)
        return found and float(found[1])
    trip = daemon.wait_for("a round trip", told)
    seconds = daemon.wait_for("the metric", shown_seconds)
    # There is no network between them; what a busy machine adds is no minute.
    assert 0 < trip < 60_000 and 0 < seconds < 60, (trip, seconds)
    print(f"round trip: {trip} ms by the status, {seconds * 1000} ms by the metric")
    peer.end()
    daemon.wait_for("nobody", lambda: not daemon.room("standup")["status"]["participants"])
    daemon.wait_for("no metric", lambda: shown_seconds() is None)


def value(text, name, **labels):
    """The sum of a metric's series with these labels, 0 for none."""
    total = 0.0
    for pairs, number in re.findall(rf"^{name}(?:\{{(.*)\}})? (\S+)$", text, re.MULTILINE):
        if labels.items() <= dict(re.findall(r'(\w+)="([^"]*)"', pairs)).items():
            total += float(number)
    return total


def test_what_the_daemon_tells_of_itself(stage):
    """Each figure against what it says, as something happens that changes it."""
    server = stage.serve("--room-size", "3")
    began = time.time()
    rooms = {"standup": {"url": room_url(server, "standup"), "join": "always",
                         "record": {"video": True, "audio": True, "empty_after": "1s"}}}
    daemon = Daemon(stage, rooms)
    metrics = daemon.metrics

    def wait_until(name, wanted, **labels):
        def is_so():
            text = metrics()
            return f"\ntapedeck_{name}" in text and value(text, f"tapedeck_{name}", **labels) == wanted
        return daemon.wait_for(f"{name} {labels} {wanted}", is_so)

    daemon.wait_for_phase("standup", "joined")
    wait_until("workers", 1)
    # Started for the room's join at the latest; the clock may be stepped.
    assert began - 60 < value(metrics(), "tapedeck_start_time_seconds") < time.time() + 60
    # Others write to the disk, too.
    daemon.wait_for("free space", lambda: value(metrics(), "tapedeck_storage_free_bytes") == pytest.approx(
        shutil.disk_usage(daemon.storage).free, rel=0.2))
    wait_until("room_participants", 0, room="standup")

    peer = stage.aiortc(server, "standup", "--send", "synthetic", "--size", "320x180")
    daemon.wait_for_recording("standup")
    wait_until("room_participants", 1, room="standup")
    wait_until("room_tracks", 1, room="standup", kind="video", codec="vp8")
    wait_until("room_tracks", 1, room="standup", kind="audio", codec="opus")
    for kind in ("video", "audio"):
        wait_until("first_unit_wait_seconds_count", 1, kind=kind)
        text = metrics()
        parts = sum(value(text, "tapedeck_first_unit_wait_part_seconds_sum", kind=kind, part=part)
                    for part in ("answer", "ice", "dtls", "packet", "file"))
        assert parts == pytest.approx(value(text, "tapedeck_first_unit_wait_seconds_sum", kind=kind), abs=0.01), text
        assert parts > 0
    wait_until("join_to_first_frame_seconds_count", 1)
    status = daemon.room("standup")["status"]
    assert value(metrics(), "tapedeck_room_received_bytes_total", room="standup") >= sum(
        track["bytes"] for track in status["tracks"]) > 0

    # A worker by the kernel's figures, once a status has come since its threads and descriptors changed.
    worker = daemon.worker("standup")

    def is_as_the_kernel_says():
        text = metrics()
        return abs(value(text, "tapedeck_worker_threads") - entries(worker, "task")) <= 1 and abs(
            value(text, "tapedeck_worker_open_descriptors") - entries(worker, "fd")) <= 2
    daemon.wait_for("the worker's threads and descriptors", is_as_the_kernel_says)
    assert value(metrics(), "tapedeck_worker_resident_bytes") == pytest.approx(resident(worker), rel=0.5)
    assert 0 < value(metrics(), "tapedeck_worker_cpu_seconds_total")

    # Subscribers of events.
    wait_until("event_stream_subscribers", 0)
    with urllib.request.urlopen(daemon.url.rstrip("/") + "/v1/events", timeout=LIMIT):
        wait_until("event_stream_subscribers", 1)
    wait_until("event_stream_subscribers", 0)

    # Reloads.
    before = metrics()
    daemon.post("/v1/reload")
    assert value(metrics(), "tapedeck_configuration_reloads_total", result="applied") == value(
        before, "tapedeck_configuration_reloads_total", result="applied") + 1
    daemon.path.write_text("nonsense: [")
    assert daemon.request("POST", "/v1/reload")[0] in (400, 422)
    assert value(metrics(), "tapedeck_configuration_reloads_total", result="refused") >= 1
    assert value(metrics(), "tapedeck_http_request_duration_seconds_count", route="other", status="4xx") >= 1
    daemon.write(rooms)

    # A worker that dies is replaced, and the log reports it.
    lines = value(metrics(), "tapedeck_log_lines_total")
    assert value(metrics(), "tapedeck_worker_restarts_total") == 0
    os.kill(worker, signal.SIGKILL)
    wait_until("worker_restarts_total", 1, reason="crashed")
    assert value(metrics(), "tapedeck_log_lines_total") > lines
    daemon.wait_for("another worker", lambda: (daemon.room("standup").get("worker") or {}).get("processID", worker) != worker)
    wait_until("workers", 1)

    # An export.
    peer.end()
    daemon.wait_for_export("standup")
    daemon.wait_for("a finished export", lambda: value(metrics(), "tapedeck_export_duration_seconds_count", result="done") >= 1)
    wait_until("export_queue_length", 0)
    assert value(metrics(), "tapedeck_export_duration_seconds_count", result="failed") == 0


def test_the_whole_way_records_the_same(stage, monkeypatch):
    """Through all of webrtcbin, where the settings want it: logged and counted for each track."""
    monkeypatch.setenv("TAPEDECK_WHOLE_WAY", "1")
    server = stage.serve("--room-size", "3")
    daemon = Daemon(stage, {"standup": {"url": room_url(server, "standup"), "record": {"empty_after": "1s"}}})
    daemon.wait_for_phase("standup", "joined")
    peer = stage.aiortc(server, "standup", "--send", "synthetic", "--size", "320x180")
    daemon.wait_for_recording("standup")
    daemon.wait_for("both tracks in the metric", lambda: value(
        daemon.metrics(), "tapedeck_worker_long_way_tracks_total") == 2)
    assert len(daemon.log("take the whole way")) == 2, daemon.process.story()
    daemon.wait_for("pictures and sound", lambda: [
        track["units"] > 100 for track in daemon.room("standup")["status"]["tracks"]] == [True, True])
    peer.end()
    folder, = daemon.wait_for_export("standup")
    call = folder / "call.mkv"
    assert_plays(call)
    lost, story = losses_in(folder), daemon.process.story()
    video, = media.streams(call, "video")
    sound, = media.streams(call, "audio")
    assert_counters(call, video["index"], lost, story)
    assert_sound(call, sound["index"], lost, story, late=lateness(peer))


def test_forged_media_are_counted(stage):
    """Packets that anyone can send who knows the ports of a call: they cost the call nothing, and are reported once."""
    server = stage.serve("--room-size", "3")
    daemon = Daemon(stage, {"standup": {"url": room_url(server, "standup")}})
    daemon.wait_for_phase("standup", "joined")
    peer = stage.aiortc(server, "standup", "--send", "synthetic", "--size", "320x180", program="flood_peer.py")
    daemon.wait_for_recording("standup")

    def forged():
        return value(daemon.metrics(), "tapedeck_worker_forged_packets_total")

    def pictures():
        return next(track["units"] for track in daemon.room("standup")["status"]["tracks"] if track["kind"] == "video")
    assert forged() == 0
    assert not daemon.log("not encrypted with the key")
    peer.tell("flood forged 2")
    peer.wait_for_event("flooding")
    daemon.wait_for("forged packets", lambda: forged() > 100)
    before = pictures()
    daemon.wait_for("more pictures", lambda: pictures() > before + 30)
    peer.wait_for_event("flooded")
    assert len(daemon.log("not encrypted with the key")) == 1
    assert daemon.room("standup")["restarts"] == 0
