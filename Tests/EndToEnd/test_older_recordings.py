# SPDX-License-Identifier: Apache-2.0
"""Recordings that earlier builds wrote, kept in `older`, can still be verified, exported, repaired and listed.

A recording is never made again: each folder stays as the build of its time wrote it.
"""

import json
import pathlib
import shutil

import media
import pytest
from daemon import Daemon
from figures import assert_plays
from stage import LIMIT

OLDER = sorted(path for path in (pathlib.Path(__file__).parent / "older").iterdir() if path.is_dir())


@pytest.fixture(params=OLDER, ids=[path.name for path in OLDER])
def older(request, stage):
    """A copy of a recording, in a new storage folder, and its manifest."""
    folder = stage.folder / "storage" / "recordings" / "fixture" / request.param.name
    shutil.copytree(request.param, folder)
    return folder, json.loads((folder / "manifest.json").read_text())


def verified(stage, folder):
    run = stage.run_tapedeck("verify", folder, "--json", timeout=LIMIT)
    return run, run.result()


def test_is_verified_and_exported(stage, older):
    folder, manifest = older
    run, certificate = verified(stage, folder)
    assert run.exit_code == 0 and certificate["verdict"] == manifest["verdict"] == "complete", run.story()
    assert certificate["journal"]["chained_lines"] == certificate["journal"]["lines"]
    assert certificate["files"] == manifest["files"] and certificate["tracks"] == manifest["certificate"]["tracks"]
    output = stage.folder / "again.mkv"
    run = stage.run_tapedeck("export", folder, "--output", output, timeout=LIMIT)
    assert run.exit_code == 0, run.story()
    assert_plays(output)
    for first, second in zip(media.streams(folder / "call.mkv"), media.streams(output), strict=True):
        packets = [media.packets(path, stream["index"]) for path, stream in
                   ((folder / "call.mkv", first), (output, second))]
        assert packets[0] == packets[1], first


def test_is_repaired_where_nobody_closed_it(stage, older):
    folder, manifest = older
    journal = folder / "journal.jsonl"
    lines = journal.read_text().splitlines(keepends=True)
    journal.write_text("".join(line for line in lines if '"recording-finished"' not in line))
    (folder / "manifest.json").unlink()
    run = stage.run_tapedeck("repair", "--directory", folder, timeout=LIMIT)
    assert run.exit_code == 0, run.story()
    _, certificate = verified(stage, folder)
    assert [track["units"] for track in certificate["tracks"]] == [
        track["units"] for track in manifest["certificate"]["tracks"]]


def test_is_listed(stage, older):
    folder, manifest = older
    daemon = Daemon(stage, {}, storage={"directory": str(stage.folder / "storage")})
    listed = daemon.wait_for("the recording in the list", daemon.recordings)
    assert [recording["id"] for recording in listed] == [manifest["id"]]
