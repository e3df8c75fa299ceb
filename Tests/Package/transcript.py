# SPDX-License-Identifier: Apache-2.0
"""Prints what a new operator types and sees, with seconds: from a release to the first exported recording, in a bare Debian 12
and in the image. Needs what `make check-package` needs, and `make release`.

Example: Tests/Package/transcript.py dist >docs/first-recording.md
"""

import os
import pathlib
import sys
import tempfile
import time

import container
from debian import bare_debian, run

SHOWN_LINES = 6
COLUMNS = 110


class Transcript:
    def __init__(self, title):
        self.began = time.monotonic()
        print(f"## {title}\n")

    def add(self, command, take):
        """Runs one command, and prints it with its last lines and its seconds."""
        before = time.monotonic()
        said = take()
        lines = [line[:COLUMNS].rstrip() for line in said.splitlines() if line.strip()]
        print(f"    $ {command}")
        if len(lines) > SHOWN_LINES:
            print(f"    … {len(lines) - SHOWN_LINES} lines")
        for line in lines[-SHOWN_LINES:]:
            print(f"    {line}")
        print(f"    ({time.monotonic() - before:.1f} s)\n", flush=True)

    def end(self):
        print(f"{time.monotonic() - self.began:.0f} s in all.\n")


def in_debian(dist):
    chroot = bare_debian(list(dist.iterdir()), "transcript")
    try:
        transcript = Transcript("Package")
        package, = dist.glob("*.deb")
        for command in ["sha256sum --check --ignore-missing --strict SHA256SUMS", f"apt-get install --yes ./{package.name}",
                        "tapedeck demo --output call.mkv", "tapedeck verify call.mkv"]:
            # Both streams, as a terminal shows them.
            transcript.add(command, lambda: chroot.run("sh", "-c", f"cd /packages && {command} 2>&1"))
        transcript.end()
    finally:
        run("rm", "-rf", "--one-file-system", chroot.path)


def in_image(dist, folder):
    transcript = Transcript("Image, in runc: account 900, no capability, root file system read only")
    archive, = dist.glob("*-image-*.tar")
    images = []
    transcript.add(f"umoci unpack {archive.name}", lambda: images.append(container.Image(archive, folder / "image")) or "")
    recordings = [(container.volume(folder, "recordings"), "/var/lib/tapedeck", "rw")]
    for command in ("demo --output call.mkv", "verify call.mkv"):
        transcript.add(f"runc run … {command}", lambda: images[0].run(*command.split(), volumes=recordings)[0])
    transcript.end()


def main():
    dist = pathlib.Path(sys.argv[1]).resolve()
    print("# From a release to the first recording\n\nMade by `Tests/Package/transcript.py` on a machine with "
          f"{os.cpu_count()} cores and a load of {os.getloadavg()[0]:.0f} when it began.\n", flush=True)
    in_debian(dist)
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        in_image(dist, pathlib.Path(folder))


if __name__ == "__main__":
    main()
