# SPDX-License-Identifier: Apache-2.0
"""The systemd units, and the accounts and folders they need, judged by systemd's own tools."""

import os
import re
import shutil
import subprocess

import pytest
from stage import ROOT

SYSTEMD = ROOT / "systemd"
# Files for another group are made by root alone.
AS_ROOT = [] if os.geteuid() == 0 else ["sudo", "-n"]
SERVICES = ["tapedeck.service", "tapedeck@.service"]


def run(*command, **options):
    return subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=60, **options)


@pytest.fixture
def installed(tmp_path, tapedeck_path):
    """A root directory with the units, without drop-ins, and with the programs that they name."""
    units = tmp_path / "usr/lib/systemd/system"
    units.mkdir(parents=True)
    for name in SERVICES:
        shutil.copy(SYSTEMD / name, units)
    for program in ("usr/bin/tapedeck", "bin/kill"):
        path = tmp_path / program
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("#!/bin/sh\n")
        path.chmod(0o755)
    return tmp_path


def settings(name):
    """Every value of each key of a unit."""
    found = {}
    for line in (SYSTEMD / name).read_text().splitlines():
        if match := re.fullmatch(r"([A-Z][A-Za-z]+)=(.*)", line):
            found.setdefault(match[1], []).append(match[2])
    return found


@pytest.mark.parametrize("name", ["tapedeck.service", "tapedeck@door.service"])
def test_systemd_finds_no_fault_in_the_units(installed, name):
    units = installed / "usr/lib/systemd/system"
    if "door" in name:
        (units / name).symlink_to("tapedeck@.service")
    # Targets and sockets of the host; the programs are looked for on the host, so they are checked by their own names.
    for unit in units.glob("*.service"):
        if not unit.is_symlink():
            unit.write_text(unit.read_text().replace("/usr/bin/tapedeck", str(installed / "usr/bin/tapedeck")))
    result = run("systemd-analyze", "verify", "--man=no", "--recursive-errors=no", units / name)
    assert (result.returncode, result.stdout + result.stderr) == (0, "")


@pytest.mark.parametrize("name", SERVICES)
def test_exposure_is_at_most_one_and_a_half(installed, name):
    result = run("systemd-analyze", "security", "--offline=true", "--threshold=15",
                 installed / "usr/lib/systemd/system" / name)
    assert result.returncode == 0, result.stdout[-600:] + result.stderr


def test_devices_are_open_only_with_the_drop_in(installed):
    service = settings("tapedeck.service")
    assert service["PrivateDevices"] == ["yes"] and service["DevicePolicy"] == ["closed"]
    assert "DeviceAllow" not in service and "SupplementaryGroups" not in service
    folder = installed / "usr/lib/systemd/system/tapedeck.service.d"
    shutil.copytree(SYSTEMD / "tapedeck.service.d", folder)
    result = run("systemd-analyze", "security", "--offline=true", "--threshold=20", "--json=short",
                 folder.parent / "tapedeck.service")
    assert result.returncode == 0, result.stdout[-600:]
    assert "char-video4linux:rw" in result.stdout and "char-alsa:rw" in result.stdout


def test_the_service_is_stopped_in_order_and_started_again():
    service = settings("tapedeck.service")
    assert service["Type"] == ["notify"] and service["NotifyAccess"] == ["main"]
    # The supervisor alone gets the signal, and has time to close files; a worker's death by memory ends nothing else.
    assert service["KillMode"] == ["mixed"] and service["OOMPolicy"] == ["continue"]
    assert service["Restart"] == ["on-failure"] and service["RestartPreventExitStatus"] == ["2"]
    assert service["TimeoutStopSec"] == ["3min"] and service["WatchdogSec"] == ["30s"]


def test_the_service_is_never_given_up():
    """A port that is taken for minutes, or a disk that comes late, must not leave it stopped for good."""
    service = settings("tapedeck.service")
    assert service["StartLimitIntervalSec"] == ["0"] and "StartLimitBurst" not in service
    assert service["RestartSec"] == ["5s"]


def test_a_camera_that_comes_late_is_waited_for():
    """A device that is not there yet is code 2 as well."""
    service = settings("tapedeck@.service")
    assert service["Restart"] == ["always"] and "RestartPreventExitStatus" not in service


def test_the_kernel_says_which_run_of_it_this_is():
    """Parts of a recording are put on one clock by /proc/sys/kernel/random/boot_id, which ProcSubset=pid hides."""
    for name in SERVICES:
        assert "ProcSubset" not in settings(name) and settings(name)["ProtectProc"] == ["invisible"]


def test_folders_and_files_are_closed_to_others():
    for name in SERVICES:
        service = settings(name)
        assert service["UMask"] == ["0027"]
        for key in service:
            if key.endswith("DirectoryMode"):
                assert service[key] == ["0750"], key


def test_the_account_and_the_folders_are_made(tmp_path):
    for name, tool in (("sysusers", "systemd-sysusers"), ("tmpfiles", "systemd-tmpfiles")):
        folder = tmp_path / f"usr/lib/{name}.d"
        folder.mkdir(parents=True)
        shutil.copy(SYSTEMD / f"tapedeck.{name}", folder / "tapedeck.conf")
        (tmp_path / "etc/tapedeck").mkdir(parents=True, exist_ok=True)
        (tmp_path / "etc/tapedeck/tapedeck.yaml").write_text("rooms: {}\n")
        probe = run(*AS_ROOT, "true") if AS_ROOT and shutil.which("sudo") else None
        if AS_ROOT and (probe is None or probe.returncode != 0):
            pytest.skip("needs root, or sudo without a password")
        create = ["--create"] if name == "tmpfiles" else []
        result = run(*AS_ROOT, tool, f"--root={tmp_path}", *create, "tapedeck.conf")
        assert result.returncode == 0, result.stderr
    assert re.search(r"^tapedeck:.*:/var/lib/tapedeck:/usr/sbin/nologin$", (tmp_path / "etc/passwd").read_text(), re.M)
    group = int(re.search(r"^tapedeck:[^:]*:(\d+):", (tmp_path / "etc/group").read_text(), re.M)[1])
    modes = {path: (tmp_path / path).stat() for path in
             ("etc/tapedeck", "etc/tapedeck/tapedeck.yaml", "etc/tapedeck/cameras", "etc/tapedeck/secrets")}
    assert {path: (oct(stat.st_mode & 0o7777), stat.st_gid) for path, stat in modes.items()} == {
        "etc/tapedeck": ("0o750", group), "etc/tapedeck/tapedeck.yaml": ("0o640", group),
        "etc/tapedeck/cameras": ("0o750", group), "etc/tapedeck/secrets": ("0o700", 0),
    }


def test_the_shipped_configuration_is_accepted(stage):
    result = stage.run_tapedeck("run", "--config", SYSTEMD / "debian/tapedeck.yaml", "--check")
    assert result.exit_code == 0, result.story()
