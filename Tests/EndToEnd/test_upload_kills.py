# SPDX-License-Identifier: Apache-2.0
"""Daemon and rclone are killed at random while six recordings go to a remote, and retention would delete them all."""

import contextlib
import os
import random
import signal
import time

import pytest
from daemon import Daemon
from remotes import Ceph, SeaweedFS, WebDAV
from uploads import copies, files

pytestmark = pytest.mark.media

RECORDINGS = 6
# Goes in two parts.
LARGE = 20 << 20
SECTION = {SeaweedFS: "upload_cutoff = 5Mi\n", Ceph: "upload_cutoff = 5Mi\n", WebDAV: ""}
PLACE = {SeaweedFS: "arc:recordings", Ceph: "arc:recordings", WebDAV: "cloud:x"}
ROOT = {SeaweedFS: "", Ceph: "", WebDAV: "x/"}
CASES = [pytest.param(SeaweedFS, 3), *(pytest.param(kind, 20, marks=pytest.mark.long) for kind in (SeaweedFS, Ceph, WebDAV))]


def rclones(stage):
    """The processes of rclone that the daemon runs."""
    return [pid for pid, command in stage.left_over() if "rclone" in command and " serve " not in command]


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("kind, kills", CASES)
def test_kills_lose_nothing_and_leave_nothing(stage, call, kind, kills):
    seed = int(os.environ.get("TAPEDECK_SEED") or random.randrange(1 << 32))
    print(f"TAPEDECK_SEED={seed}")
    chance = random.Random(seed)
    server, storage = kind(stage), stage.folder / "storage"

    def enlarge(folder):
        (folder / "grid.mkv").write_bytes(chance.randbytes(LARGE))

    folders = copies(call, storage, RECORDINGS, enlarge)
    wanted = {folder: {f"{ROOT[kind]}{folder.name}/{name}": content for name, content in files(folder).items()}
              for folder in folders}
    config = stage.folder / "rclone.conf"
    config.write_text(server.section() + SECTION[kind])
    upload = {"remote": PLACE[kind], "config": str(config), "prefix": "", "speed_limit": "10MB"}
    # A round of retention begins with every life, and would delete all that it may.
    daemon = Daemon(stage, {}, storage={"directory": str(storage), "keep_bytes": "1MB", "upload": upload})

    def look():
        """What is at the remote, of which a manifest says that the rest is there; and what is not is here."""
        is_here = {folder: folder.exists() for folder in folders}
        there = server.sizes()
        for folder, contents in wanted.items():
            if f"{ROOT[kind]}{folder.name}/manifest.json" in there or not is_here[folder]:
                missing = {name for name, content in contents.items() if there.get(name) != len(content)}
                assert not missing, f"seed {seed}: {missing}"

    def are_over():
        over = {found["id"] for found in daemon.recordings() if (found.get("upload") or {}).get("finished")}
        return all(folder.name.split("-")[1] in over or not folder.exists() for folder in folders)

    killed = {"daemon": 0, "rclone": 0, "in mid-upload": 0}
    while killed["daemon"] + killed["rclone"] < kills:
        time.sleep(chance.uniform(0.5, 6))
        victim = chance.choice(["daemon", "daemon", "rclone"])
        found = rclones(stage)
        if victim == "rclone" and not found:
            continue
        killed["in mid-upload"] += not are_over()
        if victim == "daemon":
            # Alone: what it runs ends because it does.
            daemon.process.signal(signal.SIGKILL)
            daemon.process.wait()
        else:
            for pid in found:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        killed[victim] += 1
        look()
        if victim == "daemon":
            daemon.start()
    print(f"killed: {killed}")
    assert killed["in mid-upload"], "no kill was in time"
    del daemon.sections["storage"]["upload"]["speed_limit"]
    daemon.write({})
    daemon.wait_for("the uploads", are_over, 1200)
    look()
    everything = {name: content for contents in wanted.values() for name, content in contents.items()}
    there = server.objects()
    assert there.keys() == everything.keys(), f"seed {seed}"
    assert all(there[name] == content for name, content in everything.items()), f"seed {seed}"
    assert server.unfinished() == [], f"seed {seed}"
    daemon.restart()
    daemon.wait_for("retention", lambda: not any(folder.exists() for folder in folders))
    assert server.sizes().keys() == everything.keys()
