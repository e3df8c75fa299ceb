# SPDX-License-Identifier: Apache-2.0
"""`tapedeck doctor` on this host, and on one that lacks plugins."""

import os
import pathlib
import re
import subprocess

import pytest

PLUGINS = pathlib.Path(subprocess.run(["pkg-config", "--variable=pluginsdir", "gstreamer-1.0"], check=True,
                                      capture_output=True, text=True).stdout.strip())


def doctor(stage, *flags):
    process = stage.run_tapedeck("doctor", "--directory", stage.folder, *flags)
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
    return cripple


def test_this_host_can_record(stage):
    process = doctor(stage, "--json")
    assert process.exit_code == 0, process.story()
    report = process.result()
    found = findings(report)
    assert report["works"] and not any(finding["level"] == "problem" for finding in report["findings"])
    assert "x264enc" in found["encoders", "H.264"]["found"] and "vp8enc" in found["encoders", "VP8"]["found"]
    assert found["gstreamer", "library"]["found"].startswith("GStreamer 1.")
    assert {area for area, _ in found} == {"gstreamer", "encoders", "devices", "network", "storage", "system"}
    # Nothing is left where it tried to write.
    assert not list(pathlib.Path(stage.folder).glob(".tapedeck*"))


def test_people_get_a_table(stage):
    process = doctor(stage)
    assert process.exit_code == 0, process.story()
    for text in ("gstreamer", "peer connections", "encoders", "vp8enc encoded a test picture", "UDP ports", "free space"):
        assert text in process.output, process.story()


def test_missing_plugins_are_named_with_the_line_that_installs_them(stage, crippled):
    crippled("libgstnice.so", "libgstx264.so", "libgstopenh264.so", "libgstpango.so")
    process = doctor(stage, "--json")
    assert process.exit_code == 2, process.story()
    report = process.result()
    found = findings(report)
    assert found["gstreamer", "peer connections"]["level"] == "problem"
    assert "nicesrc" in found["gstreamer", "peer connections"]["found"]
    assert found["gstreamer", "test picture"]["level"] == "warning"
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
    assert findings(report)["encoders", "VP8"]["packages"] == ["gstreamer1.0-plugins-good"]


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
    process = stage.run_tapedeck("doctor", "--json", "--config", configuration)
    assert process.exit_code == 0, process.story()
    found = findings(process.result())
    assert found["network", "room standup"]["level"] == "ok"
    assert found["network", "ICE server"]["level"] == "warning"
    assert "41000-41009" in found["network", "UDP ports"]["found"]


def test_a_wrong_configuration_is_refused(stage):
    configuration = stage.folder / "tapedeck.yaml"
    configuration.write_text("rooms: 7\n")
    process = stage.run_tapedeck("doctor", "--config", configuration)
    assert process.exit_code == 2, process.story()
    assert "rooms" in process.messages, process.story()
