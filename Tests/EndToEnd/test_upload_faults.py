# SPDX-License-Identifier: Apache-2.0
"""Faults of a remote: the table "Faults" of docs/delivery.md, each row a test. A proxy stands before SeaweedFS and WebDAV."""

import contextlib
import typing

import faults
import pytest
from faults import FaultProxy, says
from remotes import Ceph, SeaweedFS, WebDAV
from stage import ROOT, Stage
from uploads import assert_no_secret, check, files, problem, recording, start, upload_of, wait_for_upload

pytestmark = [pytest.mark.media, pytest.mark.xdist_group("upload-faults")]

# How each is made, its name in a configuration, and where that is on it.
SERVERS = {"S3": (SeaweedFS, "arc:recordings", ""), "WebDAV": (WebDAV, "cloud:of us", "of us/")}
# Into parts of 16 MiB goes what is larger than this; a real one begins at 200 MiB.
CUTOFF = "upload_cutoff = 5Mi\n"


class Row(typing.NamedTuple):
    """A fault, and the beginning of the line that the operator sees; None if the fault does no harm."""

    server: str
    name: str
    fault: typing.Callable
    line: str | None


HOST = "the remote does not answer"
RIGHTS = "the remote does not let this user do that"
CREDENTIALS = "the remote refuses the user or the secret"
BUCKET = "the remote has no such bucket or folder"
CLOCK = "this host's clock is wrong, or the remote's"
FULL = "the remote has no room"
CONTENT = "what arrived is not what was sent"
OTHER = "rclone failed"

ROWS = [
    Row("S3", "403 AccessDenied", says(403, "AccessDenied"), RIGHTS),
    Row("S3", "404 NoSuchBucket", says(404, "NoSuchBucket"), BUCKET),
    Row("S3", "503 SlowDown", says(503, "SlowDown"), HOST),
    Row("S3", "connections reset", faults.resets, HOST),
    Row("S3", "slow answers", faults.is_slow, None),
    Row("S3", "200 with an error inside", faults.swallows, CONTENT),
    Row("S3", "a byte changed on the way", faults.alters, CONTENT),
    Row("S3", "403 RequestTimeTooSkewed", says(403, "RequestTimeTooSkewed"), CLOCK),
    Row("S3", "400 ExpiredToken", says(400, "ExpiredToken"), CREDENTIALS),
    Row("S3", "403 QuotaExceeded", says(403, "QuotaExceeded"), FULL),
    Row("S3", "400 KeyTooLongError", says(400, "KeyTooLongError"), OTHER),
    Row("WebDAV", "401", says(401), CREDENTIALS),
    Row("WebDAV", "403", says(403), RIGHTS),
    Row("WebDAV", "404", says(404), BUCKET),
    Row("WebDAV", "503", says(503), HOST),
    Row("WebDAV", "connections reset", faults.resets, HOST),
    Row("WebDAV", "slow answers", faults.is_slow, None),
    Row("WebDAV", "200 with an error inside", faults.swallows, CONTENT),
    Row("WebDAV", "a byte changed on the way", faults.alters, CONTENT),
    Row("WebDAV", "507", says(507), FULL),
]


def rows(chosen, in_gate):
    return [pytest.param(row, id=f"{row.server}, {row.name}", marks=[] if in_gate(row) else [pytest.mark.long])
            for row in chosen]


@pytest.fixture(scope="module")
def servers(tmp_path_factory):
    """Both servers, each with a proxy before it."""
    stage = Stage(tmp_path_factory.mktemp("servers"), None)
    with contextlib.ExitStack() as stack:
        found = {}
        for name, (made, *_) in SERVERS.items():
            server = made(stage)
            found[name] = server, stack.enter_context(contextlib.closing(FaultProxy(server.port)))
        yield found
    assert stage.finish() == []


@pytest.fixture
def remote(servers):
    """The server of a row, its proxy with the row's fault, and its name in a configuration."""
    used = []

    def of(row):
        server, proxy = servers[row.server]
        proxy.fault = row.fault
        used.append(proxy)
        return server, proxy, SERVERS[row.server][1]
    yield of
    for proxy in used:
        proxy.fault = None


@pytest.mark.parametrize("row", rows(ROWS, lambda row: True))
def test_a_fault_is_one_line(stage, remote, row):
    server, proxy, place = remote(row)
    found = check(stage, server.section(endpoint=proxy.url), place)
    line = problem(found)
    assert line.startswith(row.line) if row.line else line is None, found.story()
    assert_no_secret(found)
    told = f"| {row.server} | {row.name} | {row.line or 'nothing'} |"
    assert told in (ROOT / "docs" / "delivery.md").read_text(), f"docs/delivery.md does not have {told}"


@pytest.mark.parametrize("row", rows([row for row in ROWS if row.line], lambda row: row.fault is faults.alters and row.server == "S3"))
def test_what_is_not_verified_stays_until_it_is(stage, call, remote, row):
    server, proxy, place = remote(row)
    before = server.objects()

    # Each row has a separate folder at the remote.
    daemon = start(stage, call, server.section(endpoint=proxy.url), place, change=grow, prefix=row.name)
    folder = recording(daemon.storage)
    here = files(folder)
    failed = daemon.wait_for("a failure", lambda: (upload_of(daemon) or {}).get("error") and upload_of(daemon))
    # Without a checksum of its own, the remote takes it.
    is_taken = row.server == "WebDAV" and row.fault is faults.alters
    assert failed["error"].startswith("the remote has the file otherwise than it was sent" if is_taken else row.line) and failed["nextAttempt"] and not failed.get("finished"), failed
    assert not [name for name in server.objects().keys() - before.keys() if name.endswith("manifest.json")]

    # Retention would have all of it deleted: a round begins with the daemon.
    daemon.sections["storage"]["keep_bytes"] = "1MB"
    daemon.restart(lambda: daemon.write({}))
    daemon.wait_for("the line about it", lambda: daemon.log("retention keeps a recording"))
    assert files(folder) == here
    proxy.fault = None
    place = wait_for_upload(daemon)["place"].split(":", 1)[1].removeprefix("recordings/") + "/"
    there = {name.removeprefix(place): content for name, content in server.objects().items() if name.startswith(place)}
    assert there == here
    daemon.restart()
    daemon.wait_for("retention", lambda: not folder.exists() and not daemon.recordings())
    assert {name: content for name, content in server.objects().items() if name.startswith(place)} == {
        place + name: content for name, content in here.items()}
    assert_no_secret(daemon.process)


def grow(folder):
    """More than `keep_bytes`."""
    (folder / "grid.mkv").write_bytes(bytes(2 << 20))


def large(folder):
    """More than one part."""
    with (folder / "grid.mkv").open("wb") as file, open("/dev/urandom", "rb") as chance:
        file.write(chance.read(20 << 20))


@pytest.mark.parametrize("name", ["lost", pytest.param("error inside", marks=pytest.mark.long)])
def test_the_end_of_an_upload_in_parts(stage, call, name):
    """What arrived before its answer was lost is found there; after an error inside a 200 the file goes again."""
    server = SeaweedFS(stage)
    with contextlib.closing(FaultProxy(server.port)) as proxy:
        proxy.fault = faults.loses_complete if name == "lost" else faults.complete_fails
        daemon = start(stage, call, server.section(endpoint=proxy.url) + CUTOFF, f"arc:{server.bucket}", change=large)
        folder = recording(daemon.storage)
        def begun():
            return sum(method == "POST" and path.endswith("?uploads=") for method, path in proxy.seen)

        upload = daemon.wait_for("a failure", lambda: (upload_of(daemon) or {}).get("error") and upload_of(daemon))
        before = begun()
        assert before and upload["error"].startswith(HOST) if name == "lost" else "InternalError" in upload["error"], upload
        if name != "lost":
            proxy.fault = None
        wait_for_upload(daemon)
        assert (begun() == before) == (name == "lost"), proxy.seen
        assert {key.split("/", 3)[3]: content for key, content in server.objects().items()} == files(folder)
        assert server.unfinished() == []


# What file systems, URLs, shells and rclone's own syntax might take for something else.
NAMES = ["ä ö ü ß é 日本.mkv", "a+b c%20d%2Fe.mkv", "--config=x.mkv", "a:b.mkv", "'quoted' \"twice\".mkv", "#?&=;,@$!*[]{}().mkv", "~.mkv",
         f"{'long ' * 48}.mkv", "trailing dot.", "back\\slash.mkv", "\\", "tab\tline\nbell\x07delete\x7f.mkv", "picture of a tab ␉.mkv"]
# S3 has other characters in the place of these.
OF_S3 = {ord("\\"): "＼", ord("\t"): "␉", ord("\n"): "␊", 7: "␇", 0x7F: "␡", ord("␉"): "‛␉"}
# Of 1,000 characters is a key with these; S3 takes 1,024 bytes.
DEEP, PREFIX = "/".join(["r" * 160] * 3), f"{'p' * 240}/+ ä #%"
KINDS = {"S3": (SeaweedFS, f"arc:recordings/{DEEP}", f"{DEEP}/", OF_S3), "Ceph": (Ceph, f"arc:recordings/{DEEP}", f"{DEEP}/", OF_S3),
         "WebDAV": (WebDAV, "cloud:of us", "of us/", {})}


@pytest.mark.parametrize("kind", ["S3", *(pytest.param(kind, marks=pytest.mark.long) for kind in ("Ceph", "WebDAV"))])
def test_any_name_arrives_and_others_below_the_prefix_stay(stage, call, kind):
    made, place, root, characters = KINDS[kind]
    server = made(stage)

    def named(folder):
        grow(folder)
        for name in NAMES:
            (folder / name).write_text(name)

    # Of another installation.
    foreign = {f"{PREFIX}/20260101T000000Z-{identity}/{name}": identity.encode()
               for identity in ("0123456789abcdef", "1123456789abcdef") for name in ("manifest.json", "journal.jsonl")}
    for name, content in foreign.items():
        server.put(root + name, content)
    daemon = start(stage, call, server.section(), place, change=named, prefix=PREFIX, verify="read")
    upload = wait_for_upload(daemon)
    folder = recording(daemon.storage)
    here = files(folder)
    assert set(NAMES) < here.keys() and upload["files"] == len(here)
    there = {name.removeprefix(root): content for name, content in server.objects().items()}
    assert there == foreign | {f"{PREFIX}/{folder.name}/{name.translate(characters)}": content for name, content in here.items()}
    assert kind == "WebDAV" or max(len(root + name) for name in there) >= 1000
    daemon.sections["storage"]["keep_bytes"] = "1MB"
    daemon.restart(lambda: daemon.write({}))
    daemon.wait_for("retention", lambda: not folder.exists())
    assert there == {name.removeprefix(root): content for name, content in server.objects().items()}
    assert daemon.process.end() == 0
    fetched = stage.run_tapedeck("recordings", "fetch", folder.name.split("-")[1], "--config", daemon.path)
    assert fetched.exit_code == 0 and files(folder) == here, fetched.story()


def test_a_file_that_rclone_does_not_find_is_named_and_kept(stage, call):
    name = "quote ‛.mkv"

    def named(folder):
        grow(folder)
        (folder / name).write_text(name)

    daemon = start(stage, call, WebDAV(stage).section(), "cloud:of us", change=named)
    folder = recording(daemon.storage)
    upload = daemon.wait_for("a failure", lambda: (upload_of(daemon) or {}).get("error") and upload_of(daemon))
    assert upload["error"].startswith("this host's file cannot be read") and f"{folder}/{name}" in upload["error"], upload
    daemon.sections["storage"]["keep_bytes"] = "1MB"
    daemon.restart(lambda: daemon.write({}))
    daemon.wait_for("the line about it", lambda: daemon.log("retention keeps a recording"))
    assert (folder / name).exists()


@pytest.mark.long
def test_a_disk_that_is_full_while_uploads_wait_keeps_them(stage, call):
    server = SeaweedFS(stage)
    with contextlib.closing(FaultProxy(server.port)) as proxy:
        proxy.fault = says(503, "SlowDown")
        daemon = start(stage, call, server.section(endpoint=proxy.url), f"arc:{server.bucket}", change=grow)
        folder = recording(daemon.storage)
        here = files(folder)
        daemon.sections["storage"] |= {"keep_bytes": "1MB", "minimum_free": "900TiB"}
        daemon.restart(lambda: daemon.write({}))
        daemon.wait_for("the alarm", lambda: "tapedeck_storage_free_bytes" in daemon.metrics() and daemon.log("disk.low"))
        daemon.wait_for("a failure", lambda: (upload_of(daemon) or {}).get("error"))
        assert files(folder) == here
        proxy.fault = None
        wait_for_upload(daemon)
        assert {key.split("/", 3)[3]: content for key, content in server.objects().items()} == here
