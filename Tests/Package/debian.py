# SPDX-License-Identifier: Apache-2.0
"""Bare Debian systems in folders, for tests of the package.

The binary is $TAPEDECK_RELEASE, else .build/release/tapedeck. Needs root and a Debian mirror: the one this host uses. Root
directories made by `debootstrap --variant=minbase` are kept in .build/debian-12.tar and debian-13.tar for the next time.
"""

import os
import pathlib
import re
import shutil
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
BINARY = pathlib.Path(os.environ.get("TAPEDECK_RELEASE") or ROOT / ".build" / "release" / "tapedeck").resolve()
SUITES = {12: "bookworm", 13: "trixie"}
MIRROR = "http://deb.debian.org/debian"


def run(*command, timeout=900, **options):
    result = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=timeout, **options)
    assert result.returncode == 0, f"{command}: {result.returncode}\n{result.stdout[-3000:]}\n{result.stderr[-3000:]}"
    return result.stdout


class Chroot:
    """A root directory with its own processes and mounts, which end with each command."""

    def __init__(self, path):
        self.path = path

    def start(self, *command, timeout=900):
        """Runs a command inside; its completed process."""
        inside = ("mount -t proc proc {0}/proc && mount --rbind /dev {0}/dev && mount -t tmpfs tmpfs {0}/run && "
                  'exec chroot {0} env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 '
                  'DEBIAN_FRONTEND=noninteractive "$@"').format(self.path)
        return subprocess.run(["unshare", "--mount", "--pid", "--fork", "--kill-child", "bash", "-c", inside, "_",
                               *[str(part) for part in command]], capture_output=True, text=True, timeout=timeout)

    def run(self, *command, timeout=900):
        result = self.start(*command, timeout=timeout)
        assert result.returncode == 0, f"{command}: {result.returncode}\n{result.stdout[-3000:]}{result.stderr[-3000:]}"
        return result.stdout

    def install(self, *packages):
        return self.run("apt-get", "-q", "-y", "install", "--no-install-recommends", *packages)

    def left(self):
        """Files of Tapedeck on the disk, other than those that apt keeps of every package."""
        found = self.run("find", "/", "-xdev", "-name", "*tapedeck*", "-not", "-path", "/packages/*").split()
        return sorted(path for path in found if not re.match("/var/(lib/(apt|dpkg)|cache/apt|log)/", path))


def base(path, release=12):
    """Makes the root directory of a bare Debian with this host's mirror, proxy and checks of apt."""
    kept = ROOT / ".build" / f"debian-{release}.tar"
    if not kept.exists():
        run("debootstrap", "--variant=minbase", SUITES[release], path, MIRROR)
        kept.parent.mkdir(exist_ok=True)
        run("tar", "--create", "--one-file-system", "--file", kept, "--directory", path, ".")
    else:
        path.mkdir()
        run("tar", "--extract", "--file", kept, "--directory", path)
    for source in ("etc/resolv.conf", "etc/hosts"):
        shutil.copy(f"/{source}", path / source)
    # Without sources other than Debian's.
    for settings in pathlib.Path("/etc/apt/apt.conf.d").glob("99*"):
        shutil.copy(settings, path / "etc/apt/apt.conf.d")
    if (sources := pathlib.Path("/etc/apt/sources.list.d/debian.sources")).exists():
        (path / "etc/apt/sources.list.d/debian.sources").write_text(
            sources.read_text().replace(SUITES[12], SUITES[release]))
        (path / "etc/apt/sources.list").unlink(missing_ok=True)


def bare_debian(packages, purpose, release=12):
    """A bare Debian that can install packages, with these in /packages; services are not started in it."""
    path = pathlib.Path("/var/tmp") / f"tapedeck-{purpose}-{os.getpid()}"
    base(path, release)
    (path / "packages").mkdir()
    for package in packages:
        shutil.copy(package, path / "packages")
    chroot = Chroot(path)
    chroot.run("apt-get", "-q", "update")
    return chroot


def name(package):
    """The package's path inside."""
    return f"/packages/{package.name}"
