# SPDX-License-Identifier: Apache-2.0
"""Manual pages, completions, and the Debian package of the binary under test; `make check-package` installs one."""

import os
import re
import subprocess

import pytest
from stage import ROOT

# They share a package and the manual pages.
pytestmark = pytest.mark.xdist_group("package")

DEBIAN = ROOT / "systemd" / "debian"
# Small, so that a package is made in seconds; says of itself what the binary under test says.
STAND_IN = """
#include <gst/gst.h>
#include <unistd.h>
int main(int count, char **arguments) {
    gst_deinit();
    return count > 0 ? execv("%s", arguments) : 1;
}
"""


def run(*command, **options):
    return subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=300, **options)


def test_every_dependency_is_pinned():
    """Two builds of one commit take the same packages, even if a tag is moved or a version published in between."""
    packages = re.findall(r"\.package\(\s*url:[^)]*\)", (ROOT / "Package.swift").read_text())
    assert packages and all(re.search(r'exact: "\d+\.\d+\.\d+"', package) for package in packages), packages


@pytest.fixture(scope="session")
def manual(tmp_path_factory, tapedeck_path):
    folder = tmp_path_factory.mktemp("manual")
    result = run(DEBIAN / "manual.py", "--binary", tapedeck_path, "--output", folder)
    assert result.returncode == 0, result.stderr
    return folder


@pytest.fixture(scope="session")
def package(tmp_path_factory, tapedeck_path):
    """A package whose binary is a small stand-in."""
    folder = tmp_path_factory.mktemp("package")
    (folder / "stand-in.c").write_text(STAND_IN % tapedeck_path)
    flags = run("pkg-config", "--cflags", "--libs", "gstreamer-1.0").stdout.split()
    result = run("cc", "-O2", "-fPIE", "-pie", "-Wl,-z,now", folder / "stand-in.c", "-o", folder / "tapedeck", *flags)
    assert result.returncode == 0, result.stderr
    result = run(DEBIAN / "build", "--binary", folder / "tapedeck", "--output", folder)
    assert result.returncode == 0, result.stderr[-3000:]
    return result.stdout.strip()


def commands(tapedeck_path):
    return re.findall(r"^  ([a-z]+)  ", run(tapedeck_path, "--help").stdout, re.M)


def test_the_document_of_the_commands_is_what_the_help_says(tmp_path, tapedeck_path):
    made = tmp_path / "commands.md"
    result = run(DEBIAN / "manual.py", "--binary", tapedeck_path, "--commands", made)
    assert result.returncode == 0, result.stderr
    document = DEBIAN.parents[1] / "docs/commands.md"
    assert made.read_text() == document.read_text(), "make man writes docs/commands.md"


def test_every_command_has_a_manual_page_without_faults(manual, tapedeck_path):
    pages = sorted((manual / "manual").iterdir())
    names = {page.name for page in pages}
    assert names >= {"tapedeck.1", *(f"tapedeck-{command}.1" for command in commands(tapedeck_path))}
    result = run("mandoc", "-T", "lint", "-W", "warning", *pages)
    assert (result.returncode, result.stdout) == (0, "")
    shown = run("man", "--local-file", manual / "manual" / "tapedeck-camera.1", env={**os.environ, "MANWIDTH": "80"})
    text = re.sub(r".\x08", "", shown.stdout)
    assert "--codec codec" in text and "EXAMPLES" in text and "tapedeck camera socketio+http://" in text


@pytest.mark.parametrize("shell, name", [("bash", "tapedeck"), ("zsh", "_tapedeck"), ("fish", "tapedeck.fish")])
def test_completions_parse(manual, shell, name):
    result = run(shell, "-n", manual / "completions" / name)
    assert (result.returncode, result.stderr) == (0, "")


def test_the_package_has_what_it_should(package):
    listing = run("dpkg-deb", "--contents", package).stdout
    for path in ("usr/bin/tapedeck", "lib/systemd/system/tapedeck.service", "lib/systemd/system/tapedeck@.service",
                 "usr/lib/sysusers.d/tapedeck.conf", "usr/lib/tmpfiles.d/tapedeck.conf", "etc/tapedeck/tapedeck.yaml",
                 "usr/share/man/man1/tapedeck.1.gz", "usr/share/doc/tapedeck/service.md",
                 "usr/share/bash-completion/completions/tapedeck", "usr/share/zsh/vendor-completions/_tapedeck",
                 "usr/share/fish/vendor_completions.d/tapedeck.fish", "usr/share/doc/tapedeck/examples/camera.conf"):
        assert f"./{path}\n" in listing, path
    # No drop-in is in force that the operator did not put there.
    assert "tapedeck.service.d" not in listing
    assert run("dpkg-deb", "--info", package, "conffiles").stdout.split() == ["/etc/tapedeck/tapedeck.yaml"]
    depends = run("dpkg-deb", "--field", package, "Depends").stdout
    for name in ("gstreamer1.0-nice", "gstreamer1.0-plugins-bad", "libgstreamer1.0-0", "ca-certificates"):
        assert name in depends


def test_lintian_finds_no_error_and_no_warning(package):
    result = run("lintian", "--allow-root", "--fail-on", "error,warning", package)
    assert result.returncode == 0, result.stdout + result.stderr
