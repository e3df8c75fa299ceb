# SPDX-License-Identifier: Apache-2.0
"""Finished recordings go to a remote, are verified there, and come back: rclone, SeaweedFS's S3, WebDAV, read by boto3."""

import contextlib
import http.server
import json
import shutil
import signal
import subprocess
import threading

import pytest
from daemon import Daemon
from remotes import PASSWORD, PLAIN_SECRET, READER_KEY, READER_SECRET, SECRET, SeaweedFS, WebDAV
from stage import LIMIT

pytestmark = pytest.mark.media

# More than rclone sends in one request: three parts more.
LARGE = (200 << 20) + (40 << 20)


@pytest.fixture(scope="module")
def call(tmp_path_factory, tapedeck_path):
    """A storage directory with one recording of a call, exported."""
    folder = tmp_path_factory.mktemp("call")
    subprocess.run([tapedeck_path, "demo", "--duration", "4s"], cwd=folder, check=True, capture_output=True, timeout=LIMIT)
    journal, = folder.rglob("journal.jsonl")
    return journal.parents[3]


def recording(storage):
    journal, = storage.rglob("journal.jsonl")
    return journal.parent


def files(folder):
    """Bytes of what is to be uploaded, by name."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*")
            if path.is_file() and not path.name.startswith(".")}


def start(stage, call, section, remote, name="daemon", change=lambda folder: None, **upload):
    """A daemon that finds the recording at its start."""
    storage = stage.folder / f"{name}-storage"
    shutil.copytree(call, storage)
    change(recording(storage))
    config = stage.folder / "rclone.conf"
    config.write_text(section)
    return Daemon(stage, {}, name, storage={"upload": {"remote": remote, "config": str(config), **upload}})


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


def test_a_recording_is_uploaded_and_comes_back_on_another_host(stage, call):
    server = SeaweedFS(stage)
    daemon = start(stage, call, server.section(), f"arc:{server.bucket}", prefix="{day}/ä +{room}")
    upload = wait_for_upload(daemon)
    folder = recording(daemon.storage)
    here = files(folder)
    assert (upload["files"], upload["verifiedFiles"]) == (len(here), len(here))
    assert upload["bytes"] == upload["verifiedBytes"] == sum(map(len, here.values()))
    room, day = folder.parent.name, f"{folder.name[:4]}-{folder.name[4:6]}-{folder.name[6:8]}"
    assert upload["place"] == f"arc:{server.bucket}/{day}/ä +{room}/{folder.name}"
    there = server.objects()
    prefix = upload["place"].removeprefix(f"arc:{server.bucket}/") + "/"
    assert {key.removeprefix(prefix): content for key, content in there.items()} == here
    shown = stage.run_tapedeck("recordings", "show", folder.name[17:], "--directory", daemon.storage)
    assert upload["place"] in shown.output and "done" in shown.output, shown.story()
    assert_no_secret(daemon.process)

    # The disk is lost.
    identity = folder.name.split("-")[1]
    assert daemon.request("DELETE", f"/v1/recordings/{identity}")[0] == 204
    assert daemon.process.end() == 0
    assert server.objects().keys() == there.keys()
    other = stage.folder / "other"
    configuration = json.loads(daemon.path.read_text())
    configuration["storage"]["directory"] = str(other)
    (stage.folder / "other.yaml").write_text(json.dumps(configuration))
    fetch = ("recordings", "fetch", identity[:8], "--config", stage.folder / "other.yaml")
    fetched = stage.run_tapedeck(*fetch)
    assert fetched.exit_code == 0, fetched.story()
    assert files(recording(other)) == here
    for command in ("verify", "export"):
        done = stage.run_tapedeck(command, identity, "--directory", other)
        assert done.exit_code == 0, done.story()
    again = stage.run_tapedeck(*fetch)
    assert again.exit_code == 2 and "is there already" in again.messages, again.story()
    none = stage.run_tapedeck("recordings", "fetch", "zzzzzzzz", "--config", stage.folder / "other.yaml")
    assert none.exit_code == 2 and "the remote has no recording zzzzzzzz" in none.messages, none.story()
    assert_no_secret(fetched, again, none)


@pytest.mark.parametrize("verify", ["checksum", "read"])
def test_a_remote_without_checksums_is_read_back(stage, call, verify):
    server = WebDAV(stage)
    daemon = start(stage, call, server.section(), "cloud:of us", verify=verify)
    upload = wait_for_upload(daemon)
    folder = recording(daemon.storage)
    assert files(server.folder / upload["place"].removeprefix("cloud:")) == files(folder)


def test_what_an_interrupted_fetch_left_is_not_believed(stage, call):
    server = WebDAV(stage)
    daemon = start(stage, call, server.section(), "cloud:of us")
    wait_for_upload(daemon)
    folder = recording(daemon.storage)
    here = files(folder)
    assert daemon.process.end() == 0
    shutil.move(folder, folder.with_name(f".fetching-{folder.name}"))
    track, = list(folder.with_name(f".fetching-{folder.name}").glob("tracks/*"))[:1]
    # Of the full size, as several streams leave it.
    track.write_bytes(bytes(track.stat().st_size))
    fetched = stage.run_tapedeck("recordings", "fetch", folder.name.split("-")[1], "--config", daemon.path)
    assert fetched.exit_code == 0, fetched.story()
    assert files(folder) == here


def test_a_repair_writes_the_manifest_of_what_nobody_exports(stage, call):
    storage = stage.folder / "storage"
    shutil.copytree(call, storage)
    folder = recording(storage)
    command = ("repair", "--directory", storage, "--no-export")
    for name in ("manifest.json", "call.mkv"):
        (folder / name).unlink()
    stage.run_tapedeck(*command)
    assert not (folder / "manifest.json").exists()
    repaired = stage.run_tapedeck(*command, "--manifests")
    assert repaired.exit_code == 0, repaired.story()
    assert json.loads((folder / "manifest.json").read_text())["files"] and not (folder / "call.mkv").exists()


def test_a_remote_that_hangs_blinds_and_blocks_nothing(stage, call):
    server, hang = SeaweedFS(stage), threading.Event()
    with s3_that_says(404, "NoSuchBucket", hang) as slow:
        daemon = start(stage, call, server.section(endpoint=slow), f"arc:{server.bucket}")
        daemon.wait_for("the age", lambda: any(
            line.startswith("tapedeck_upload_oldest_seconds ") and not line.endswith(" 0")
            for line in daemon.metrics().splitlines()), 30)
        # rclone waits a minute for it, twice.
        other = stage.folder / "other.conf"
        other.write_text(server.section())
        daemon.sections["storage"]["upload"]["config"] = str(other)
        daemon.write({})
        daemon.wait_for("the upload", lambda: (upload_of(daemon) or {}).get("finished"), 40)
        hang.set()


def test_what_is_killed_goes_on_and_leaves_nothing_behind(stage, call):
    server = SeaweedFS(stage)

    def enlarge(folder):
        with (folder / "grid.mkv").open("wb") as file, open("/dev/urandom", "rb") as chance:
            block = chance.read(1 << 20)
            for number in range(LARGE >> 20):
                file.write(number.to_bytes(8) + block[8:])

    daemon = start(stage, call, server.section(), f"arc:{server.bucket}", change=enlarge, speed_limit="20MB")
    daemon.wait_for("a part", server.unfinished)
    # Alone: its rclone ends because its parent does.
    daemon.process.signal(signal.SIGKILL)
    daemon.process.wait()
    assert not stage_has_rclone(stage)
    assert server.unfinished() and not any(key.endswith("manifest.json") for key in server.objects())
    daemon.sections["storage"]["upload"].pop("speed_limit")
    daemon.write({})
    daemon.start()
    wait_for_upload(daemon)
    assert server.unfinished() == []
    here = files(recording(daemon.storage))
    assert {key.split("/", 3)[3]: content for key, content in server.objects().items()} == here
    failed = [event for event in daemon.log("upload.failed")]
    assert failed == [], daemon.process.story()


def stage_has_rclone(stage):
    """Whether one still runs a second after its daemon was killed."""
    deadline = threading.Event()
    for _ in range(50):
        if not any("rclone" in command for _, command in stage.left_over()):
            return False
        deadline.wait(0.1)
    return True


def test_a_remote_that_is_down_loses_nothing(stage, call):
    server = SeaweedFS(stage, down=True)
    daemon = start(stage, call, server.section(), f"arc:{server.bucket}")

    def has_failed():
        upload = upload_of(daemon)
        return upload if upload and upload.get("error") else None
    upload = daemon.wait_for("a failure", has_failed)
    assert upload["error"].startswith("the remote does not answer: ") and upload["nextAttempt"], upload
    assert upload["verifiedFiles"] == 0
    assert "tapedeck_upload_failures_total 0\n" not in daemon.metrics()
    server.start()
    wait_for_upload(daemon)
    folder = recording(daemon.storage)
    assert {key.split("/", 2)[2].split("/", 1)[1]: content for key, content in server.objects().items()} == files(folder)
    assert "tapedeck_upload_oldest_seconds 0\n" in daemon.metrics() or daemon.wait_for(
        "no upload waits", lambda: "tapedeck_upload_oldest_seconds 0\n" in daemon.metrics())


@contextlib.contextmanager
def s3_that_says(status, code, when=None):
    """An S3 server that answers everything with one error, `when` that is set."""
    class Handler(http.server.BaseHTTPRequestHandler):
        def answer(self):
            if when:
                when.wait(LIMIT * 2)
            body = f"<?xml version='1.0'?><Error><Code>{code}</Code><Message>{code}</Message></Error>".encode()
            with contextlib.suppress(ValueError):
                self.rfile.read(int(self.headers.get("Content-Length", "0")))
            self.send_response(status)
            self.send_header("Content-Type", "application/xml")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)
        do_GET = do_PUT = do_HEAD = do_POST = do_DELETE = answer

        def log_message(self, *arguments):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


def check(stage, section, remote="arc:recordings", secrets=None, command=("run", "--check")):
    config, path = stage.folder / "rclone.conf", stage.folder / "checked.yaml"
    config.write_text(section)
    storage = stage.folder / "checked"
    storage.mkdir(exist_ok=True)
    path.write_text(json.dumps({"storage": {"directory": str(storage), "minimum_free": "1MB",
                                            "upload": {"remote": remote, "config": str(config)}}}))
    return stage.run_tapedeck(*command, "--config", path, secrets=secrets)


def test_what_is_wrong_with_a_remote_is_one_line(stage):
    server, cloud = SeaweedFS(stage), WebDAV(stage)
    good = check(stage, server.section())
    assert good.exit_code == 0, good.story()
    assert server.objects() == {}
    good = check(stage, cloud.section(), "cloud:x")
    assert good.exit_code == 0, good.story()
    nowhere = {"PATH": "/nowhere"}
    faults = [
        ("rclone is not installed", server.section(), "arc:recordings", nowhere),
        ("rclone's configuration does not have the remote", server.section(), "arcc:recordings", None),
        ("the remote does not answer", server.section(endpoint="http://127.0.0.1:1"), "arc:recordings", None),
        ("the remote does not answer", server.section(endpoint="http://nowhere.invalid"), "arc:recordings", None),
        ("the remote refuses the user or the secret", server.section(secret=f"{SECRET}x"), "arc:recordings", None),
        ("the remote refuses the user or the secret", server.section(key="nobody"), "arc:recordings", None),
        ("the remote refuses the user or the secret", cloud.section(password=f"{PASSWORD}x"), "cloud:x", None),
        ("the remote does not let this user do that", server.section(key=READER_KEY, secret=READER_SECRET),
         "arc:recordings", None),
        ("the remote does not let this user do that", server.section(), "arc:another", None),
    ]
    with s3_that_says(404, "NoSuchBucket") as none, s3_that_says(403, "RequestTimeTooSkewed") as skewed:
        faults += [("the remote has no such bucket or folder", server.section(endpoint=none), "arc:recordings", None),
                   ("this host's clock is wrong, or the remote's", server.section(endpoint=skewed), "arc:recordings", None)]
        for line, section, remote, secrets in faults:
            found = check(stage, section, remote, secrets)
            told = [text for text in found.messages.splitlines() if "storage.upload: " in text]
            assert found.exit_code == 2 and len(told) == 1, found.story()
            assert told[0].split("storage.upload: ", 1)[1].startswith(line), told
            assert_no_secret(found)


def test_the_doctor_tries_the_remote(stage):
    server = SeaweedFS(stage)
    for section, words in ((server.section(), "takes files and gives them back"),
                           (server.section(secret="wrong"), "the remote refuses the user or the secret")):
        found = check(stage, section, command=("doctor",))
        line, = (text for text in found.output.splitlines() if " upload " in text)
        assert words in line, found.story()
        assert ("warning" in line) == (words != "takes files and gives them back"), line
