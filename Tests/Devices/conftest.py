# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the tests with real devices. The binary is $TAPEDECK, else .build/debug/tapedeck."""

import os
import socket
import subprocess

import pytest
from stage import ROOT, Stage
from machine import Machine, Missing


def has_address():
    """Whether this host has an address that the guest reaches; its own loopback it has itself."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
        except OSError:
            return False
        return not probe.getsockname()[0].startswith("127.")


@pytest.fixture(scope="session")
def tapedeck():
    path = os.path.realpath(os.environ.get("TAPEDECK") or ROOT / ".build" / "debug" / "tapedeck")
    assert os.access(path, os.X_OK), f"no tapedeck at {path}: run `swift build` or set TAPEDECK"
    assert not path.startswith(("/tmp/", "/run/")), f"{path}: the guest does not see this host's /tmp and /run"
    return path


@pytest.fixture(scope="session")
def machine(tmp_path_factory):
    """The emulated machine, with vivid and snd-aloop loaded and GStreamer's registry of this host."""
    if not has_address():
        pytest.skip("this host has no address but loopback: the guest does not reach it")
    try:
        machine = Machine(tmp_path_factory.mktemp("machine"))
    except Missing as missing:
        pytest.skip(str(missing))
    try:
        registry = machine.shared / "registry.bin"
        subprocess.run(["gst-inspect-1.0", "--version"], check=True, capture_output=True,
                       env={**os.environ, "GST_REGISTRY": str(registry)})
        machine.environment = f"GST_REGISTRY={registry} GST_REGISTRY_UPDATE=no"
        machine.wait_until_up()
        machine.load_devices()
        yield machine
    finally:
        machine.stop()


@pytest.fixture
def stage(tmp_path):
    """Room server and peers on the host."""
    stage = Stage(tmp_path, None)
    yield stage
    complaints = stage.finish()
    assert not complaints, "\n".join(complaints) + stage.stories()
