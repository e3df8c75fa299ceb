# SPDX-License-Identifier: Apache-2.0
"""/metrics of a running daemon: Prometheus reads it, and it shows what docs/metrics.md says."""

import re
import subprocess
import urllib.error
import urllib.request

from daemon import Daemon
from harness import LIMIT, ROOT, free_port, room_url

DOCUMENT = ROOT / "docs" / "metrics.md"
# Shown only when something is known or has happened that does not happen in this test.
SOMETIMES = {"tapedeck_room_jitter_seconds", "tapedeck_room_camera_target_bytes_per_second", "tapedeck_room_camera_reductions_total",
             "tapedeck_room_camera_failures_total", "tapedeck_room_camera_dropped_total",
             "tapedeck_room_output_packets_total", "tapedeck_room_output_bytes_total",
             "tapedeck_room_output_dropped_packets_total", "tapedeck_room_outputs_failing",
             "tapedeck_room_sound_decibels", "tapedeck_room_silent_tracks", "tapedeck_room_camera_sound_decibels",
             "tapedeck_room_camera_silent_seconds",
             "tapedeck_worker_gstreamer_objects", "tapedeck_worker_allocated_bytes",
             "tapedeck_storage_full_in_seconds", "tapedeck_metrics_dropped_total"}


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
    """The answer's type and text; None while nobody answers."""
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
    # Of who receives nothing, no round trip is known.
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
        text = daemon.request("GET", "/metrics")[2].decode()
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
