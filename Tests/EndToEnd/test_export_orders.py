# SPDX-License-Identifier: Apache-2.0
"""Exports that are ordered of a running daemon, as its OpenAPI document shows them."""

import contextlib
import json

import pytest
import yaml
from daemon import Daemon
from peers import room_url
from recordings import interrupted, wait_for_media
from stage import LIMIT, ROOT


def examples():
    """The bodies that the document shows for an export, by name."""
    document = yaml.safe_load((ROOT / "Sources" / "Control" / "OpenAPI" / "openapi.yaml").read_text())
    body = document["paths"]["/v1/recordings/{id}/exports"]["post"]["requestBody"]["content"]["application/json"]
    return {name: example["value"] for name, example in body["examples"].items()}


def ended(daemon, recording, export):
    """The export, once it is over."""
    return daemon.wait_for(f"the end of {export['layout']}", lambda: next(
        (item for item in daemon.get(f"/v1/recordings/{recording}/exports")["exports"]
         if item["id"] == export["id"] and item["state"] in ("done", "failed")), None), LIMIT)


# A camera and a recorder, and then an encoder of large frames.
@pytest.mark.media
def test_every_export_that_the_document_shows_is_made(stage):
    server = stage.serve()
    url = room_url(server, "series")
    camera = stage.tapedeck("camera", url, "--size", "320x180", "--json")
    storage = stage.folder / "storage"
    recorder = stage.tapedeck("record", url, "--segment", "2s", "--directory", storage, "--json")
    # A second segment: one of the examples is of a series.
    wait_for_media(recorder, storage, 4)
    interrupted(recorder)
    camera.end(LIMIT)
    folders = sorted((storage / "recordings" / "series").iterdir())
    daemon = Daemon(stage, {"series": {"url": url, "join": "on-demand"}}, storage={"directory": str(storage)})
    daemon.wait_for("the recordings", lambda: len(daemon.recordings()) >= len(folders), LIMIT)
    recording = json.loads((folders[0] / "manifest.json").read_text())["id"]
    shown = examples()
    assert any(body.get("from") == 0 for body in shown.values()), shown
    # Values that the schema accepts as well: the smallest and the largest numbers.
    for name, body in {**shown, "from the start": {"from": 0}, "to the end": {"to": 1e12},
                       "browser": {"layout": "browser", "from": 0}, "audio": {"layout": "audio", "from": 0}}.items():
        queued = daemon.post(f"/v1/recordings/{recording}/exports", body)
        done = ended(daemon, queued["recording"], queued)
        assert done["state"] == "done", (name, done, daemon.process.story())
        assert (folders[0] / done["file"]).stat().st_size > 0, (name, done)


def test_an_order_that_the_job_does_not_take_fails_at_once(stage):
    """A participant that was never there: the job says so, and is not tried again."""
    server = stage.serve()
    url = room_url(server, "one")
    camera = stage.tapedeck("camera", url, "--size", "320x180", "--json")
    storage = stage.folder / "storage"
    recorder = stage.tapedeck("record", url, "--directory", storage, "--json")
    wait_for_media(recorder, storage, 2)
    interrupted(recorder)
    camera.end(LIMIT)
    daemon = Daemon(stage, {}, storage={"directory": str(storage)})
    recording, = daemon.wait_for("the recording", daemon.recordings, LIMIT)
    queued = daemon.post(f"/v1/recordings/{recording['id']}/exports", {"participant": "nobody"})
    failed = ended(daemon, recording["id"], queued)
    assert failed["state"] == "failed" and failed["attempts"] == 1 and "nobody" in failed["error"], failed


@pytest.mark.parametrize(("line", "said"), [
    ('{"protocolVersion":1,"spec":{"layout":"mosaic"}}', "version 1 of the worker protocol"), ("", "no order of an export"),
    ('{"protocolVersion":2,"spec":{"layout":"mosaic"}}', "no order of an export"), ("x" * 2_000_000, "no order of an export")],
    ids=["another version", "nothing", "an unknown layout", "too long"])
def test_a_job_says_why_it_does_not_take_its_order(stage, line, said):
    """With the last line that a daemon reads, as after any other failure."""
    job = stage.tapedeck("worker", "--export", stage.folder)
    with contextlib.suppress(BrokenPipeError):
        job.tell(line)
    assert job.wait() == 2, job.story()
    failed, = job.facts
    assert failed["failed"]["retriable"] is False and said in failed["failed"]["message"], job.story()


def test_a_job_says_why_it_does_not_take_its_arguments(stage):
    """A daemon of before gave it the export as flags."""
    job = stage.run_tapedeck("worker", "--export", stage.folder, "--layout", "grid")
    assert job.exit_code == 2 and "--layout" in job.facts[-1]["failed"]["message"], job.story()
