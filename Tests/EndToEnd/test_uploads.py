# SPDX-License-Identifier: Apache-2.0
"""Finished recordings go to a remote, are verified there, and come back: rclone, S3 of SeaweedFS and Ceph, WebDAV; read by boto3."""

import contextlib
import hashlib
import json
import os
import pathlib
import shutil
import signal
import struct
import subprocess
import threading

import botocore.exceptions
import pytest
from daemon import Daemon
from faults import FaultProxy, says
from peers import room_url
from remotes import PASSWORD, READER_KEY, READER_SECRET, SECRET, Ceph, SeaweedFS, WebDAV
from stage import LIMIT
from uploads import assert_no_secret, check, files, problem, recording, start, upload_of, wait_for_upload

pytestmark = pytest.mark.media

# More than rclone sends in one request: three parts more.
LARGE = (200 << 20) + (40 << 20)
S3 = pytest.mark.parametrize("kind", [SeaweedFS, pytest.param(Ceph, marks=pytest.mark.long)])


@S3
def test_a_recording_is_uploaded_and_comes_back_on_another_host(stage, call, kind):
    server = kind(stage)
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


@S3
def test_a_bucket_that_locks_objects_keeps_every_version(stage, call, kind):
    """Its rule: nobody deletes a version for a day."""
    server = kind(stage, locks=True)
    assert problem(check(stage, server.section())) is None
    trial, = server.versions()
    # More than `keep_bytes`.
    daemon = start(stage, call, server.section(), f"arc:{server.bucket}", prefix="",
                   change=lambda folder: (folder / "grid.mkv").write_bytes(bytes(2 << 20)))
    wait_for_upload(daemon)
    folder = recording(daemon.storage)
    before, identity = files(folder), folder.name.split("-")[1]
    # Another export writes another certificate and manifest.
    daemon.post(f"/v1/recordings/{identity}/exports", {"layout": "audio"})

    def there():
        return {name.split("/")[1]: content for name, content in server.objects().items() if "tracks/" not in name}
    daemon.wait_for("its upload", lambda: (upload_of(daemon) or {}).get("finished") and len(files(folder)) > len(before)
                    and there() == {name: content for name, content in files(folder).items() if "tracks/" not in name})
    here, versions, client = files(folder), server.versions(), server.client()

    def contents(name):
        return {client.get_object(Bucket=server.bucket, Key=key, VersionId=version)["Body"].read()
                for key, version in versions if key == f"{folder.name}/{name}"}
    for name in ("manifest.json", "certificate.txt"):
        assert contents(name) >= {before[name], here[name]}
    for key, version in versions:
        with pytest.raises(botocore.exceptions.ClientError, match="AccessDenied"):
            client.delete_object(Bucket=server.bucket, Key=key, VersionId=version)
    assert trial in versions

    # A legal hold, too, is the bucket's, and stays with what is uploaded.
    held = {"Bucket": server.bucket, "Key": f"{folder.name}/journal.jsonl"}
    client.put_object_legal_hold(**held, LegalHold={"Status": "ON"})
    daemon.sections["storage"]["keep_bytes"] = "1MB"
    daemon.restart(lambda: daemon.write({}))
    daemon.wait_for("retention", lambda: not folder.exists())
    assert daemon.process.end() == 0
    assert client.get_object_legal_hold(**held)["LegalHold"] == {"Status": "ON"} and server.versions() == versions
    fetched = stage.run_tapedeck("recordings", "fetch", identity, "--config", daemon.path)
    assert fetched.exit_code == 0 and files(folder) == here, fetched.story()


def test_a_remote_may_stand_in_the_environment(stage, call, monkeypatch):
    server, storage = SeaweedFS(stage), stage.folder / "storage"
    for line in server.section().splitlines()[1:]:
        key, value = line.split(" = ")
        monkeypatch.setenv(f"RCLONE_CONFIG_ARC_{key.upper()}", value)
    shutil.copytree(call, storage)
    daemon = Daemon(stage, {}, storage={"directory": str(storage), "upload": {"remote": f"arc:{server.bucket}"}})
    wait_for_upload(daemon)
    assert {key.split("/", 3)[3]: content for key, content in server.objects().items()} == files(recording(storage))
    assert_no_secret(daemon.process)


def test_a_segment_is_uploaded_while_the_next_is_recorded(stage):
    server = WebDAV(stage)
    config = stage.folder / "rclone.conf"
    config.write_text(server.section())
    rooms = stage.serve("--room-size", "4")
    daemon = Daemon(stage, {"hall": {"url": room_url(rooms, "hall"), "record": {"segment": "1MB"}}},
                    storage={"upload": {"remote": "cloud:calls", "config": str(config)}})
    camera = stage.tapedeck("camera", room_url(rooms, "hall"), "--json", "--size", "320x180")

    def is_uploaded():
        by_state = {state: [found for found in daemon.recordings() if found["state"] == state]
                    for state in ("recording", "finished")}
        done = [found for found in by_state["finished"] if (found.get("upload") or {}).get("finished")]
        return done if done and by_state["recording"] else None
    uploaded = daemon.wait_for("the upload of a segment beside the next", is_uploaded)[-1]
    there = server.folder / uploaded["upload"]["place"].removeprefix("cloud:")
    assert json.loads((there / "manifest.json").read_text())["segment"] >= 1
    assert (there / "call.mkv").stat().st_size > 500_000
    assert camera.end() in (0, 130), camera.story()
    assert daemon.process.end() == 0, daemon.process.story()


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


def openssl(*arguments):
    return subprocess.run(["openssl", *arguments], capture_output=True, text=True, timeout=LIMIT)


@pytest.fixture
def keys(stage):
    """A key to sign with, and what verifies: as the documents say."""
    secret, public = stage.folder / "signing.pem", stage.folder / "public.pem"
    assert openssl("genpkey", "-algorithm", "ed25519", "-out", secret).returncode == 0
    assert openssl("pkey", "-in", secret, "-pubout", "-out", public).returncode == 0
    return secret, public


def is_signed(folder, public):
    """What openssl says."""
    checked = openssl("pkeyutl", "-verify", "-rawin", "-pubin", "-inkey", public, "-in", folder / "certificate.txt",
                      "-sigfile", folder / "certificate.txt.sig")
    assert (checked.returncode == 0) == ("Signature Verified Successfully" in checked.stdout), checked
    return checked.returncode == 0


def test_a_certificate_is_signed_and_proved_elsewhere(stage, call, keys):
    secret, public = keys
    server = WebDAV(stage)
    daemon = start(stage, call, server.section(), "cloud:of us", signing_key=str(secret))
    folder = recording(daemon.storage)
    identity = folder.name.split("-")[1]
    there = server.folder / wait_for_upload(daemon)["place"].removeprefix("cloud:")
    assert is_signed(there, public) and is_signed(folder, public)
    first = (folder / "certificate.txt.sig").read_bytes()
    assert len(first) == 64

    # Another export writes another certificate.
    daemon.post(f"/v1/recordings/{identity}/exports", {"layout": "audio"})
    daemon.wait_for("another signature", lambda: (folder / "certificate.txt.sig").exists() and first != (
        folder / "certificate.txt.sig").read_bytes() and is_signed(folder, public))
    daemon.wait_for("its upload", lambda: files(there) == files(folder) and (upload_of(daemon) or {}).get("finished"))
    assert is_signed(there, public)
    assert daemon.process.end() == 0
    assert "certificates are signed" in daemon.process.messages

    def verify(key=public):
        return stage.run_tapedeck("verify", folder, "--key", key, "--json")

    shutil.rmtree(folder)
    fetched = stage.run_tapedeck("recordings", "fetch", identity, "--config", daemon.path)
    assert fetched.exit_code == 0, fetched.story()
    found = verify()
    assert found.exit_code == 0, found.story()
    der = subprocess.run(["openssl", "pkey", "-pubin", "-in", public, "-outform", "DER"], capture_output=True, check=True)
    fingerprint = hashlib.sha256(der.stdout).hexdigest()
    listed = len(found.result()["files"])
    assert found.result()["signature"] == {"key_sha256": fingerprint, "files": listed} and listed >= 5
    text = stage.run_tapedeck("verify", folder, "--key", public)
    assert f"signed by:  key {fingerprint}, {listed} files" in text.output and identity in text.output, text.story()

    # One who changes a file must change what is signed.
    whole = files(folder)

    def changed(name, content, words, key=public):
        path = folder / name
        path.unlink(missing_ok=True) if content is None else path.write_bytes(content)
        refused = verify(key)
        assert refused.exit_code == 5 and words in refused.messages + refused.output, refused.story()
        assert len(refused.messages.strip().splitlines()) == 1, refused.messages
        for again, before in whole.items():
            (folder / again).write_bytes(before)

    signature, certificate = whole["certificate.txt.sig"], whole["certificate.txt"]
    changed("certificate.txt.sig", None, "the certificate is not signed: cannot open")
    changed("certificate.txt", None, "the certificate is not signed: cannot open")
    for cut in (b"", signature[:63], signature + b"x"):
        changed("certificate.txt.sig", cut, "is no signature: these have 64 bytes")
    changed("certificate.txt.sig", bytes([signature[0] ^ 1]) + signature[1:], "was changed, or signed with another key")
    changed("certificate.txt", certificate.replace(b"verdict:", b"Verdict:"), "was changed, or signed with another key")
    other = stage.folder / "other.pem"
    openssl("genpkey", "-algorithm", "ed25519", "-out", other)
    openssl("pkey", "-in", other, "-pubout", "-out", stage.folder / "other-public.pem")
    changed("certificate.txt", certificate, "was changed, or signed with another key", stage.folder / "other-public.pem")
    # A manifest that lies goes with the export that was changed.
    export = whole["call.mkv"] + b"x"
    manifest = json.loads(whole["manifest.json"])
    for digest in manifest["files"]:
        if digest["name"] == "call.mkv":
            digest |= {"bytes": len(export), "sha256": hashlib.sha256(export).hexdigest()}
    (folder / "manifest.json").write_text(json.dumps(manifest))
    changed("call.mkv", export, "its SHA-256 is not that of the signed certificate")
    # Wrong files and uses are no damage.
    for key in (secret, stage.folder / "missing.pem"):
        assert verify(key).exit_code == 2
    single = stage.run_tapedeck("verify", folder / "call.mkv", "--key", public)
    assert single.exit_code == 2 and "--key takes a recording" in single.messages, single.story()
    # No line of the key is in a log or an answer.
    lines = secret.read_text().splitlines()[1]
    assert not any(lines in process.messages + process.output for process in stage.running)


def test_a_key_that_cannot_be_used_is_one_line_and_stops_nothing(stage, call, keys):
    secret, public = keys
    other, sealed = stage.folder / "ec.pem", stage.folder / "sealed.pem"
    openssl("genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", other)
    openssl("pkey", "-in", secret, "-aes256", "-passout", "pass:x", "-out", sealed)
    rows = [(other, "is a key of another kind than Ed25519"),
            (sealed, "is not a private key without a passphrase in PEM"),
            (public, "is not a private key without a passphrase in PEM"),
            (stage.folder, "is not a regular file"),
            (stage.folder / "missing.pem", "cannot be read: No such file or directory")]
    path, storage = stage.folder / "keys.yaml", stage.folder / "keys"
    storage.mkdir()
    for key, words in rows:
        path.write_text(json.dumps({"storage": {"directory": str(storage), "minimum_free": "1MB",
                                                "signing_key": str(key)}}))
        checked = stage.run_tapedeck("run", "--check", "--config", path)
        told = [line for line in checked.messages.splitlines() if "storage.signing_key: " in line]
        assert checked.exit_code == 2 and len(told) == 1 and told[0].endswith(f"{key} {words}"), checked.story()
    path.write_text(json.dumps({"storage": {"directory": str(storage), "minimum_free": "1MB", "signing_key": str(secret)}}))
    assert stage.run_tapedeck("run", "--check", "--config", path).exit_code == 0

    server = WebDAV(stage)
    daemon = start(stage, call, server.section(), "cloud:of us", signing_key=str(sealed))
    wait_for_upload(daemon)
    assert not (recording(daemon.storage) / "certificate.txt.sig").exists()
    assert len(daemon.log("certificates are not signed")) == 1, daemon.process.story()


def test_a_remote_that_hangs_blinds_and_blocks_nothing(stage, call):
    server, hang = SeaweedFS(stage), threading.Event()
    with contextlib.closing(FaultProxy(server.port)) as proxy:
        proxy.fault = lambda exchange, body: hang.wait(LIMIT * 2) and says(404, "NoSuchBucket")(exchange, body)
        daemon = start(stage, call, server.section(endpoint=proxy.url), f"arc:{server.bucket}")
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
    for line, section, remote, secrets in faults:
        found = check(stage, section, remote, secrets)
        assert problem(found).startswith(line), found.story()
        assert_no_secret(found)


@pytest.mark.parametrize("seconds", [-7200, 7200])
def test_a_clock_that_is_two_hours_off_is_told_as_that(stage, seconds):
    """rclone has a clock of its own; the server looks at it itself."""
    server, shift = SeaweedFS(stage), stage.folder / "clock_shift"
    subprocess.run(["cc", "-O1", "-o", shift, pathlib.Path(__file__).with_name("clock_shift.c")], check=True)
    rclone = stage.folder / "off" / "rclone"
    rclone.parent.mkdir()
    rclone.write_text(f'#!/bin/sh\nexec {shift} {seconds} {shutil.which("rclone")} "$@"\n')
    rclone.chmod(0o755)
    found = check(stage, server.section(), secrets={"PATH": f"{rclone.parent}:{os.environ['PATH']}"})
    assert problem(found).startswith("this host's clock is wrong, or the remote's: "), found.story()
    assert_no_secret(found)


@pytest.mark.long
def test_what_is_wrong_with_ceph_is_one_line(stage):
    """Its own words for each, and its own look at the clock."""
    library, offset = stage.folder / "clock_offset.so", stage.folder / "clock_offset"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, pathlib.Path(__file__).with_name("clock_offset.c")], check=True)
    offset.write_bytes(struct.pack("i", 0))
    server = Ceph(stage, of_gateway={"LD_PRELOAD": str(library), "CLOCK_OFFSET_FILE": str(offset)})
    rows = [(None, server.section(), "arc:recordings"),
            ("the remote refuses the user or the secret", server.section(secret=f"{SECRET}x"), "arc:recordings"),
            ("the remote refuses the user or the secret", server.section(key="nobody"), "arc:recordings"),
            ("the remote has no such bucket or folder", server.section(), "arc:another"),
            ("this host's clock is wrong, or the remote's", server.section(), "arc:recordings")]
    for line, section, remote in rows:
        if line and line.startswith("this host's clock"):
            # In place: the gateway looks at the file itself.
            with offset.open("r+b") as file:
                file.write(struct.pack("i", 3600))
        found = check(stage, section, remote)
        assert (problem(found) or "").startswith(line) if line else problem(found) is None, found.story()
        assert_no_secret(found)


def test_the_doctor_tries_the_remote_and_the_key(stage, keys):
    server, (secret, public) = SeaweedFS(stage), keys
    for section, key, remote_words, key_words in (
            (server.section(), secret, "takes files and gives them back", f"{secret} has the key"),
            (server.section(secret="wrong"), public, "the remote refuses the user or the secret", "is not a private key")):
        found = check(stage, section, command=("doctor",), signing_key=str(key))
        for name, words in ((" upload ", remote_words), (" signing ", key_words)):
            line, = (text for text in found.output.splitlines() if name in text[:20])
            assert words in line and ("warning" in line) == (key == public), found.story()
