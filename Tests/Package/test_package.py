# SPDX-License-Identifier: Apache-2.0
"""The Debian package in a bare Debian 12: installed, used, upgraded, removed, purged. `make check-package` runs this."""

import json
import pathlib
import re

import pytest
from debian import BINARY, ROOT, bare_debian, name, run


@pytest.fixture(scope="module")
def chroot(packages):
    chroot = bare_debian(packages, "package")
    yield chroot
    run("rm", "-rf", "--one-file-system", chroot.path)


# In this order: each test continues where the one before it ended.


def test_lintian_finds_no_error_and_no_warning(packages):
    for package in packages:
        run("lintian", "--allow-root", "--fail-on", "error,warning", package)


def test_the_same_binary_makes_the_same_package(packages, tmp_path):
    again = pathlib.Path(run(ROOT / "systemd/debian/build", "--binary", BINARY, "--output", tmp_path).strip())
    assert again.read_bytes() == packages[0].read_bytes()


def test_it_installs_on_a_bare_debian(chroot, packages):
    chroot.install(name(packages[0]))
    assert chroot.run("tapedeck", "--version").startswith("tapedeck ")
    # Nothing of the Swift toolchain is there, and nothing of it is needed.
    assert "not found" not in chroot.run("ldd", "/usr/bin/tapedeck")
    assert "swift" not in chroot.run("ldd", "/usr/bin/tapedeck").lower()
    assert chroot.run("readlink", "/etc/systemd/system/multi-user.target.wants/tapedeck.service").strip().endswith(
        "/lib/systemd/system/tapedeck.service")
    assert chroot.run("stat", "-c", "%U:%G %a", "/etc/tapedeck", "/etc/tapedeck/tapedeck.yaml").split("\n")[:2] == [
        "root:tapedeck 750", "root:tapedeck 640"]


def test_the_daemon_accepts_the_configuration_that_comes_with_it(chroot):
    chroot.run("tapedeck", "run", "--config", "/etc/tapedeck/tapedeck.yaml", "--check")


def test_the_doctor_names_what_is_missing_and_how_to_install_it(chroot):
    report = json.loads(chroot.run("tapedeck", "doctor", "--json"))
    assert report["works"]
    command = report["install"].split()
    assert command[:2] == ["apt-get", "install"] and {"gstreamer1.0-x", "gstreamer1.0-alsa"} <= set(command[2:])
    chroot.run(*command, "-q", "-y", "--no-install-recommends")
    report = json.loads(chroot.run("tapedeck", "doctor", "--json"))
    assert report["works"] and "install" not in report


def test_the_main_job_works(chroot):
    result = json.loads(chroot.run("tapedeck", "demo", "--json", "--directory", "/tmp", timeout=120).splitlines()[-1])
    probe = run("ffprobe", "-v", "error", "-show_entries", "stream=codec_type", "-of", "csv=p=0",
                str(chroot.path) + str(pathlib.PurePosixPath("/tmp") / result["output"]))
    assert sorted(probe.split()) == ["audio", "audio", "video", "video"]


def test_an_upgrade_keeps_the_configuration_and_recordings(chroot, packages):
    chroot.run("sh", "-c", "echo '# mine' >>/etc/tapedeck/tapedeck.yaml; install -d -o tapedeck /var/lib/tapedeck; "
               "echo kept >/var/lib/tapedeck/recording")
    chroot.install(name(packages[1]))
    assert chroot.run("dpkg-query", "--show", "--showformat", "${Version}", "tapedeck").endswith("-1+upgrade1")
    assert chroot.run("tail", "-n1", "/etc/tapedeck/tapedeck.yaml") == "# mine\n"
    assert chroot.run("stat", "-c", "%U:%G %a", "/etc/tapedeck/tapedeck.yaml") == "root:tapedeck 640\n"
    assert chroot.run("cat", "/var/lib/tapedeck/recording") == "kept\n"


def test_an_upgrade_restarts_a_running_service_once_and_lets_it_finish(packages, tmp_path):
    run("dpkg-deb", "--control", packages[1], tmp_path / "control")
    before, after = ((tmp_path / "control" / script).read_text() for script in ("prerm", "postinst"))
    # Stopped on removal only: an upgrade leaves the old process, with its files open, until the new one is there.
    assert re.search(r'"\$1" = remove.*\n\tdeb-systemd-invoke stop', before)
    assert "_dh_action=restart" in after and after.count("deb-systemd-invoke") == 1


def test_removal_keeps_configuration_and_recordings(chroot):
    chroot.run("apt-get", "-q", "-y", "remove", "tapedeck")
    assert chroot.start("test", "-e", "/usr/bin/tapedeck").returncode != 0
    left = chroot.left()
    assert "/etc/tapedeck" in left and "/var/lib/tapedeck" in left
    assert not [path for path in left if path.startswith("/usr/")], left


def test_a_purge_leaves_nothing(chroot):
    chroot.run("rm", "-rf", "/tmp/recordings")
    chroot.run("apt-get", "-q", "-y", "purge", "tapedeck")
    assert chroot.left() == []
