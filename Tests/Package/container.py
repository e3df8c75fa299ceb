# SPDX-License-Identifier: Apache-2.0
"""The image of a release in runc: every id is one without rights on this host, no capability, a root that is read only."""

import contextlib
import json
import os
import pathlib
import signal
import subprocess

from debian import base, run

FIRST_ID = 100_000
ACCOUNT = FIRST_ID + 900


def base_image(folder):
    """A bare Debian 12 as an image, which `make release` takes for DEBIAN_IMAGE."""
    storage = ["buildah", "--root", folder / "storage", "--runroot", folder / "run", "--storage-driver", "vfs"]
    base(folder / "debian")
    container = run(*storage, "from", "scratch").strip()
    run(*storage, "copy", "--quiet", container, folder / "debian", "/")
    run(*storage, "commit", "--quiet", container, f"docker-archive:{folder}/debian.tar")
    run(*storage, "rm", container)
    run("rm", "-rf", "--one-file-system", folder / "debian", folder / "storage")
    return f"docker-archive:{folder}/debian.tar"


def open_way(path):
    """Lets the ids of the container through a temporary folder to this path."""
    for part in path.parents:
        if str(part).startswith(("/tmp/", "/var/tmp/")):
            part.chmod(part.stat().st_mode | 0o011)


class Image:
    """An unpacked image."""

    def __init__(self, archive, folder):
        self.folder = folder
        (folder / "layout").mkdir(parents=True)
        run("tar", "--extract", "--file", archive, "--directory", folder / "layout")
        index = json.loads((folder / "layout" / "index.json").read_text())
        tag = index["manifests"][0]["annotations"]["org.opencontainers.image.ref.name"]
        ids = f"0:{FIRST_ID}:65536"
        run("umoci", "unpack", "--uid-map", ids, "--gid-map", ids, "--image", f"{folder}/layout:{tag}", folder / "bundle")
        open_way(folder / "bundle" / "rootfs")
        self.plan = json.loads((folder / "bundle" / "config.json").read_text())
        self.started = 0

    def configure(self, *, host_network, volumes, command):
        plan = json.loads(json.dumps(self.plan))
        process = plan["process"]
        process["terminal"] = False
        process["capabilities"] = {}
        process["rlimits"] = []
        if command:
            process["args"] = [process["args"][0], *command]
        plan["root"]["readonly"] = True
        ids = [{"containerID": 0, "hostID": FIRST_ID, "size": 65536}]
        plan["linux"]["uidMappings"] = plan["linux"]["gidMappings"] = ids
        kinds = ["pid", "ipc", "uts", "mount", "user"] + ([] if host_network else ["network"])
        plan["linux"]["namespaces"] = [{"type": kind} for kind in kinds]
        mounts = [mount for mount in plan["mounts"] if mount["type"] not in ("cgroup", "mqueue")]
        for mount in mounts:
            if mount["type"] == "sysfs" and host_network:
                # Only the owner of a network may mount a new one.
                mount.update(type="bind", source="/sys", options=["rbind", "nosuid", "noexec", "nodev", "ro"])
        mounts.append({"destination": "/tmp", "type": "tmpfs", "source": "tmpfs",
                       "options": ["nosuid", "nodev", "mode=1777"]})
        for source, destination, mode in volumes:
            open_way(source)
            mounts = [mount for mount in mounts if mount["destination"] != destination]
            mounts.append({"destination": destination, "type": "bind", "source": str(source), "options": ["rbind", mode]})
        plan["mounts"] = mounts
        (self.folder / "bundle" / "config.json").write_text(json.dumps(plan))

    @contextlib.contextmanager
    def running(self, *command, host_network=True, volumes=()):
        """The process of runc, whose end is awaited after a SIGTERM."""
        self.configure(host_network=host_network, volumes=volumes, command=command)
        self.started += 1
        name = f"tapedeck-{os.getpid()}-{self.started}"
        runc = ["runc", "--root", str(self.folder / "runc")]
        process = subprocess.Popen([*runc, "run", "--bundle", str(self.folder / "bundle"), name], stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        try:
            yield process
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
                try:
                    process.wait(60)
                except subprocess.TimeoutExpired:
                    subprocess.run([*runc, "kill", name, "KILL"], check=False)
                    process.wait(60)

    def run(self, *command, **options):
        """Its output, and its exit code."""
        with self.running(*command, **options) as process:
            return process.communicate(timeout=120)[0], process.returncode


def volume(folder, name):
    """A folder that the image's account owns."""
    path = pathlib.Path(folder) / name
    path.mkdir()
    os.chown(path, ACCOUNT, ACCOUNT)
    return path
