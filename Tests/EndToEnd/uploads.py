# SPDX-License-Identifier: Apache-2.0
"""A daemon with a remote, and what is expected of its uploads."""

import hashlib
import json
import shutil

from daemon import Daemon
from remotes import PASSWORD, PLAIN_SECRET, READER_SECRET, SECRET


def recording(storage):
    journal, = storage.rglob("journal.jsonl")
    return journal.parent


def files(folder):
    """Bytes of what is to be uploaded, by name."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*")
            if path.is_file() and not path.name.startswith(".")}


def start(stage, call, section, remote, name="daemon", change=lambda folder: None, signing_key=None, **upload):
    """A daemon that finds the recording at its start."""
    storage = stage.folder / f"{name}-storage"
    shutil.copytree(call, storage)
    change(recording(storage))
    config = stage.folder / "rclone.conf"
    config.write_text(section)
    signing = {"signing_key": signing_key} if signing_key else {}
    return Daemon(stage, {}, name, storage={**signing, "upload": {"remote": remote, "config": str(config), **upload}})


def upload_of(daemon):
    return next((found.get("upload") for found in daemon.recordings()), None)


def wait_for_upload(daemon):
    def is_done():
        upload = upload_of(daemon)
        return upload if upload and upload.get("finished") else None
    return daemon.wait_for("the upload", is_done)


def assert_no_secret(*processes):
    for process in processes:
        for secret in (SECRET, PLAIN_SECRET, READER_SECRET, PASSWORD):
            assert secret not in process.messages + process.output, process.story()


def check(stage, section, remote="arc:recordings", secrets=None, command=("run", "--check"), **storage_section):
    """What a command says of a remote."""
    config, path = stage.folder / "rclone.conf", stage.folder / "checked.yaml"
    config.write_text(section)
    storage = stage.folder / "checked"
    storage.mkdir(exist_ok=True)
    path.write_text(json.dumps({"storage": {"directory": str(storage), "minimum_free": "1MB",
                                            **storage_section, "upload": {"remote": remote, "config": str(config)}}}))
    return stage.run_tapedeck(*command, "--config", path, secrets=secrets)


def problem(checked):
    """What `run --check` says is wrong with the remote; None if nothing is."""
    told = [line.split("storage.upload: ", 1)[1] for line in checked.messages.splitlines() if "storage.upload: " in line]
    assert len(told) <= 1 and checked.exit_code == (2 if told else 0), checked.story()
    return told[0] if told else None


def copies(call, storage, count, change=lambda folder: None):
    """So many recordings in a storage directory, each with an id of its own; their folders."""
    source = recording(call)
    own = source.name.split("-")[1]
    folders = []
    for number in range(1, count + 1):
        identity = f"{number:016d}"
        folder = storage / source.relative_to(call).parent / source.name.replace(own, identity)
        shutil.copytree(source, folder)
        journal = folder / "journal.jsonl"
        # Its chain breaks, which nothing but `verify` looks at.
        journal.write_text(journal.read_text().replace(own, identity))
        manifest = json.loads((folder / "manifest.json").read_text().replace(own, identity))
        for digest in manifest["files"]:
            if digest["name"] == journal.name:
                digest |= {"bytes": journal.stat().st_size, "sha256": hashlib.sha256(journal.read_bytes()).hexdigest()}
        (folder / "manifest.json").write_text(json.dumps(manifest))
        change(folder)
        folders.append(folder)
    return folders
