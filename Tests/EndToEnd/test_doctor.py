# SPDX-License-Identifier: Apache-2.0
"""`tapedeck doctor` on this host, and on one that lacks plugins."""

import json
import os
import pathlib
import re
import socket
import subprocess

import pytest
from stage import LIMIT, free_port

PLUGINS = pathlib.Path(subprocess.run(["pkg-config", "--variable=pluginsdir", "gstreamer-1.0"], check=True,
                                      capture_output=True, text=True).stdout.strip())

PASSWORD = "p@ss:w/ord%"


def is_through(process):
    """Whether each look and each trial of the doctor came to an end: they have 3 to 5 s."""
    return not re.search("did not return within|no answer within", process.output)


def doctor(stage, *flags, has=is_through, secrets=None):
    """The doctor when it has found that; a busy machine may not give it the time at first."""
    for _ in range(10):
        process = stage.run_tapedeck("doctor", *(() if "--config" in flags else ("--directory", stage.folder)), *flags,
                                     secrets=secrets)
        if has(process):
            break
    return process


def doctor_with(stage, has, *flags, secrets=None):
    """The same of one that finds no problem."""
    process = doctor(stage, *flags, has=lambda process: process.exit_code == 0 and has(process), secrets=secrets)
    assert process.exit_code == 0, process.story()
    return process


def findings(report):
    return {(finding["area"], finding["name"]): finding for finding in report["findings"]}


@pytest.fixture
def crippled(stage, monkeypatch):
    """A GStreamer without some of its plugin files."""
    def cripple(*names):
        folder = stage.folder / "plugins"
        folder.mkdir()
        for path in PLUGINS.glob("*.so"):
            if path.name not in names:
                (folder / path.name).symlink_to(path)
        assert all((PLUGINS / name).exists() for name in names)
        monkeypatch.setenv("GST_PLUGIN_SYSTEM_PATH_1_0", str(folder))
        monkeypatch.setenv("GST_REGISTRY_1_0", str(stage.folder / "registry.bin"))
        # The first start of GStreamer examines every plugin: for that the doctor has 5 s only.
        subprocess.run(["gst-inspect-1.0"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True,
                       timeout=LIMIT)
    return cripple


def test_this_host_can_record(stage):
    def has_encoded(process):
        found = findings(process.result())
        return "x264enc" in found["encoders", "H.264"]["found"] and "vp8enc" in found["encoders", "VP8"]["found"]
    process = doctor_with(stage, has_encoded, "--json")
    report = process.result()
    found = findings(report)
    assert report["works"] and not any(finding["level"] == "problem" for finding in report["findings"])
    assert "x264enc" in found["encoders", "H.264"]["found"] and "vp8enc" in found["encoders", "VP8"]["found"]
    assert found["gstreamer", "library"]["found"].startswith("GStreamer 1.")
    assert {area for area, _ in found} == {"gstreamer", "encoders", "devices", "network", "storage", "system"}
    # Nothing is left where it tried to write.
    assert not list(pathlib.Path(stage.folder).glob(".tapedeck*"))


def test_people_get_a_table(stage):
    process = doctor_with(stage, lambda process: "vp8enc encoded a test frame" in process.output)
    for text in ("gstreamer", "peer connections", "encoders", "vp8enc encoded a test frame", "UDP ports", "free space"):
        assert text in process.output, process.story()


def test_missing_plugins_are_named_with_the_line_that_installs_them(stage, crippled):
    crippled("libgstnice.so", "libgstx264.so", "libgstopenh264.so", "libgstpango.so")
    process = doctor(stage, "--json")
    assert process.exit_code == 2, process.story()
    report = process.result()
    found = findings(report)
    assert found["gstreamer", "peer connections"]["level"] == "problem"
    assert "nicesrc" in found["gstreamer", "peer connections"]["found"]
    captures = found["gstreamer", "capture files"]
    assert captures["level"] == "warning" and "capture/test lacks clockoverlay" in captures["found"], captures
    assert found["encoders", "H.264"]["level"] == "warning"
    command = re.fullmatch(r"(sudo )?apt-get install (.*)", report["install"])
    assert bool(command[1]) == (os.geteuid() != 0)
    packages = set(command[2].split())
    for name in ("libgstnice.so", "libgstx264.so", "libgstpango.so"):
        owner = subprocess.run(["dpkg-query", "--search", PLUGINS / name], capture_output=True, text=True, timeout=60)
        assert owner.stdout.split(":")[0] in packages, name


def test_recording_needs_no_encoder(stage, crippled):
    crippled("libgstx264.so", "libgstopenh264.so", "libgstvpx.so")
    process = doctor(stage, "--json")
    assert process.exit_code == 0, process.story()
    report = process.result()
    assert report["works"]
    assert "gstreamer1.0-plugins-good" in findings(report)["encoders", "VP8"]["packages"]


def test_a_directory_that_cannot_be_written_is_a_problem(stage):
    process = stage.run_tapedeck("doctor", "--json", "--directory", "/proc")
    assert process.exit_code == 2, process.story()
    assert findings(process.result())["storage", "directory"]["level"] == "problem"


def test_a_configuration_says_what_to_look_at(stage):
    configuration = stage.folder / "tapedeck.yaml"
    configuration.write_text(f"""
storage: {{ directory: {stage.folder}, minimum_free: 1MB }}
ice: {{ servers: [ {{ urls: ["stun:no-such-host.invalid:3478"] }} ], port_range: 41000-41009 }}
api: {{ listen: "127.0.0.1:0" }}
rooms:
  standup: {{ url: "socketio+http://localhost:3000/123123" }}
""")
    process = doctor(stage, "--json", "--config", configuration)
    assert process.exit_code == 0, process.story()
    found = findings(process.result())
    assert found["network", "room standup"]["level"] == "ok"
    assert found["network", "ICE server"]["level"] == "warning"
    assert "41000-41009" in found["network", "UDP ports"]["found"]


def test_an_encoder_that_is_slow_has_its_reason_told(stage):
    configuration, folder = stage.folder / "tapedeck.yaml", stage.folder / "pipelines" / "encode"
    folder.mkdir(parents=True)
    # Its first frame takes longer than a trial may, and so does its end.
    (folder / "slow.yaml").write_text("""
description: Takes its time.
accepts: { video: raw }
gives: { video: VP8 }
ports: { in_video: sink, out_video: src }
requires: [identity, vp8enc]
rank: 900
launch: identity name=in_video sleep-time=5000000 ! vp8enc name=out_video deadline=1
""")
    configuration.write_text(f"""
storage: {{ directory: {stage.folder}, minimum_free: 1MB }}
api: {{ listen: "127.0.0.1:0" }}
pipelines: {{ directory: {folder.parent} }}
rooms: {{}}
""")
    process = doctor_with(stage, lambda process: "slow fails: tapedeck" in process.output, "--json", "--config",
                          configuration)
    found = findings(process.result())["encoders", "VP8"]["found"]
    assert "slow fails: tapedeck: it gave no coded frame in 4 s" in found, process.story()


def test_a_wrong_configuration_is_refused(stage):
    configuration = stage.folder / "tapedeck.yaml"
    configuration.write_text("rooms: 7\n")
    process = stage.run_tapedeck("doctor", "--config", configuration)
    assert process.exit_code == 2, process.story()
    assert "rooms" in process.messages, process.story()


def coturn(stage, port):
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "key.pem", "-out", "own.pem",
                    "-days", "2", "-subj", "/CN=localhost"], cwd=stage.folder, check=True, capture_output=True,
                   timeout=LIMIT)
    server = stage.start("coturn", "turnserver", "-n", "--lt-cred-mech", "--user", f"carrot:{PASSWORD}", "--realm",
                         "tapedeck.test", "--listening-ip", "127.0.0.1", "--relay-ip", "127.0.0.1", "--listening-port",
                         port, "--tls-listening-port", free_port(), "--verbose", "--no-cli", "--no-dtls",
                         "--cert", stage.folder / "own.pem", "--pkey", stage.folder / "key.pem", "--log-file", "stdout",
                         "--pidfile", stage.folder / "coturn.pid", "--db", stage.folder / "coturn.db")
    server.wait_for("port", lambda: subprocess.run(
        ["ss", "-Hltn", "sport", "=", f":{port}"], capture_output=True, text=True, check=True).stdout.strip())
    return server


def ice_servers(process):
    return [(finding["level"], finding["found"]) for finding in process.result()["findings"]
            if finding["name"] == "ICE server"]


def test_servers_for_ice_are_asked_what_a_call_asks(stage):
    """coturn with the right password and with a wrong one, a port without a listener, and one that says nothing."""
    port, nobody = free_port(), free_port()
    server = coturn(stage, port)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as mute:
        mute.bind(("127.0.0.1", 0))
        silent = mute.getsockname()[1]
        right, wrong = ({"username": "carrot", "credential": word} for word in (PASSWORD, "guessed-badly"))
        servers = [
            {"urls": [f"stun:127.0.0.1:{port}"]},
            {"urls": [f"turn:127.0.0.1:{port}", f"turn:127.0.0.1:{port}?transport=tcp"], **right},
            {"urls": [f"turn:localhost:{port}"], **wrong},
            {"urls": [f"turn:127.0.0.1:{nobody}?transport=tcp"], **right},
            {"urls": [f"turn:127.0.0.1:{silent}"], **right},
            {"urls": [f"turns:127.0.0.1:{port}"], **right},
        ]
        configuration = stage.folder / "tapedeck.yaml"
        configuration.write_text(json.dumps({
            "storage": {"directory": str(stage.folder), "minimum_free": "1MB"}, "api": {"listen": "127.0.0.1:0"},
            "ice": {"servers": servers}, "rooms": {}}))
        # coturn has 4 s for each answer.
        tries = []

        def coturn_answers(process):
            tries.append(ice_servers(process))
            return [text for _, text in tries[-1]].count(f"turn:127.0.0.1:{silent}: no answer") == sum(
                "no answer" in text for _, text in tries[-1])
        process = doctor_with(stage, coturn_answers, "--json", "--config", configuration)
    found = tries[-1]
    expected = [
        ("ok", f"stun:127.0.0.1:{port} sees us as 127.0.0.1:"),
        ("ok", f"turn:127.0.0.1:{port} lent us 127.0.0.1:"),
        ("ok", f"turn:127.0.0.1:{port}?transport=tcp lent us 127.0.0.1:"),
        ("warning", f"turn:localhost:{port}: user name or password is wrong"),
        ("warning", f"turn:127.0.0.1:{nobody}?transport=tcp: no connection: "),
        ("warning", f"turn:127.0.0.1:{silent}: no answer"),
        ("warning", f"turns:127.0.0.1:{port}: no connection: its certificate is not trusted"),
    ]
    assert len(found) == len(expected), found
    for (level, text), (expected_level, beginning) in zip(found, expected):
        assert level == expected_level and text.startswith(beginning), f"{found}\n{server.story()}"
    assert "guessed" not in process.output + process.messages and PASSWORD not in process.output + process.messages
    # The addresses are given back: none is kept for ten minutes.
    lent = sum("lent us" in text for each in tries for _, text in each)
    server.wait_for("addresses back", lambda: len(re.findall(r"refreshed, .*lifetime=0\b", server.output)) >= lent)


def test_a_server_is_asked_without_a_configuration(stage):
    port = free_port()
    coturn(stage, port)
    process = doctor_with(stage, lambda process: " lent us " in process.output, "--ice-server", f"turn:127.0.0.1:{port}",
                          "--turn-username", "carrot", secrets={"TAPEDECK_TURN_PASSWORD": PASSWORD})
    assert f"turn:127.0.0.1:{port} lent us 127.0.0.1:" in process.output, process.story()


@pytest.mark.media
@pytest.mark.timeout(1200)
def test_how_many_rooms_the_host_takes_is_measured(stage):
    storage = stage.folder / "storage"
    storage.mkdir()
    for _ in range(5):
        measured = stage.run_tapedeck("doctor", "--capacity", "--directory", storage, "--json", timeout=2 * LIMIT)
        # Five rooms have 20 s to begin, which a busy machine may not give them.
        if not re.search("this host takes no more|says nothing any more", measured.messages):
            break
    assert measured.exit_code == 0, measured.story()
    result = measured.result()
    large, small = result["kinds"]
    assert (large["media"]["name"], small["media"]["name"]) == ("720p30", "360p15"), result
    for kind in (large, small):
        limits = kind["byProcessor"], kind["byMemory"], kind["byStorage"]
        assert kind["rooms"] == min(limits) and all(0 <= limit <= 10_000 for limit in limits), result
        assert kind["processorPercent"] > 0 and kind["memoryBytes"] > 1_000_000, result
    # The recordings of that time are gone.
    assert list(storage.iterdir()) == []

    refused = stage.run_tapedeck("doctor", "--capacity", "--directory", stage.folder / "nowhere")
    assert refused.exit_code == 2 and "nowhere cannot be written" in refused.messages, refused.story()
