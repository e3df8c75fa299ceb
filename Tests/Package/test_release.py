# SPDX-License-Identifier: Apache-2.0
"""The products of `make release` from a built binary: sums, signature, list of parts, tarball and image. `make
check-package` runs this.

$TAPEDECK_DIST names a folder of `make release` that already exists, which saves some minutes.
"""

import json
import os
import re
import subprocess
import sys
import time
import urllib.request

import container
import pytest
from debian import BINARY, ROOT, bare_debian, run

sys.path.insert(0, str(ROOT / "Tests" / "EndToEnd"))
import media  # noqa: E402
from figures import assert_plays  # noqa: E402
from peers import room_url  # noqa: E402
from stage import Stage, free_port  # noqa: E402

CONFIGURATION = """
storage: {{ directory: /var/lib/tapedeck }}
api: {{ listen: "127.0.0.1:{api}" }}
rooms:
  standup: {{ url: "{url}", record: {{ empty_after: 3s }} }}
"""


def release(output, base, **environment):
    """The output of the script."""
    command = [ROOT / ".ci/release", "--binary", BINARY, "--output", output]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=1800,
                          env={**os.environ, "DEBIAN_IMAGE": base, **environment})
    assert done.returncode == 0, done.stderr
    return done.stderr


@pytest.fixture(scope="session")
def base(tmp_path_factory):
    return container.base_image(tmp_path_factory.mktemp("base"))


@pytest.fixture(scope="session")
def keys(tmp_path_factory):
    """A key of the operator and a foreign one, and the operator's list of keys."""
    folder = tmp_path_factory.mktemp("keys")
    for name in ("release", "other"):
        run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", folder / name)
    (folder / "tapedeck.signers").write_text("release " + (folder / "release.pub").read_text())
    return folder


@pytest.fixture(scope="session")
def dist(tmp_path_factory, keys, request):
    output = tmp_path_factory.mktemp("release") / "dist"
    if made := os.environ.get("TAPEDECK_DIST"):
        run("cp", "-r", made, output)
        run("ssh-keygen", "-q", "-Y", "sign", "-n", "tapedeck", "-f", keys / "release", output / "SHA256SUMS")
    else:
        release(output, request.getfixturevalue("base"), RELEASE_KEY=str(keys / "release"))
    return output


def one(dist, pattern):
    found, = dist.glob(pattern)
    return found


def commands(heading, start):
    """The lines of code in a section of docs/install.md that begin so."""
    section = (ROOT / "docs/install.md").read_text().split(f"\n## {heading}\n")[1].split("\n## ")[0]
    text = re.sub(r" \\\n\s+", " ", section)
    return [line.strip() for line in text.splitlines() if line.startswith("    ") and line.strip().startswith(start)]


def checked(folder, keys=None):
    """Whether the commands of docs/install.md accept what is in a folder."""
    lines = commands("Check a download", "ssh-keygen") if keys else []
    lines += commands("Check a download", "sha256sum")
    assert lines
    if keys:
        (folder / "tapedeck.signers").write_bytes((keys / "tapedeck.signers").read_bytes())
    return subprocess.run(["bash", "-c", " && ".join(lines)], cwd=folder, capture_output=True).returncode == 0


def test_a_changed_byte_and_a_foreign_signature_are_refused(dist, keys, tmp_path):
    run("cp", *dist.iterdir(), tmp_path)
    assert checked(tmp_path, keys)
    for path in tmp_path.glob("tapedeck[_-]*"):
        before = path.read_bytes()
        path.write_bytes(before[:-100] + bytes([before[-100] ^ 1]) + before[-99:])
        assert not checked(tmp_path), path
        path.write_bytes(before)
    assert checked(tmp_path, keys)
    (tmp_path / "SHA256SUMS.sig").unlink()
    run("ssh-keygen", "-q", "-Y", "sign", "-n", "tapedeck", "-f", keys / "other", tmp_path / "SHA256SUMS")
    assert not checked(tmp_path, keys)


def test_the_same_commit_makes_the_same_files_and_without_a_key_no_signature(dist, base, tmp_path):
    said = release(tmp_path, base, TZ="Asia/Tokyo", RELEASE_KEY="")
    assert "SHA256SUMS is not signed: RELEASE_KEY names no key" in said
    assert not (tmp_path / "SHA256SUMS.sig").exists()
    assert (tmp_path / "SHA256SUMS").read_text() == (dist / "SHA256SUMS").read_text()


def test_a_key_that_is_not_there_ends_it_before_the_work(tmp_path):
    done = subprocess.run([ROOT / ".ci/release", "--output", tmp_path / "dist"], capture_output=True, text=True,
                          env={**os.environ, "RELEASE_KEY": "/nowhere/key"})
    assert done.returncode == 2 and "/nowhere/key" in done.stderr and not (tmp_path / "dist").exists()


def test_the_list_of_parts_has_what_is_linked(dist):
    parts = json.loads(one(dist, "*.cdx.json").read_text())
    names = {part["name"] for part in parts["components"]}
    assert {"swift", "swift-nio", "swift-nio-ssl", "grdb.swift", "yams", "libgstreamer1.0-0", "libssl3", "libstrophe0"} <= names
    # Something of our packages' packages, of which nothing is linked.
    assert "swift-certificates" not in names and "async-http-client" not in names
    package = one(dist, "*.deb")
    depends = run("dpkg-deb", "--field", package, "Depends")
    libraries = {re.split(r"[ (]", part.strip())[0] for part in depends.split(",") if part.strip().startswith("lib")}
    assert libraries <= names, libraries - names


@pytest.mark.parametrize("debian", [12, 13])
def test_the_tarball_runs_where_the_packages_of_the_document_are(dist, debian):
    chroot = bare_debian([one(dist, "*.tar.gz")], f"tarball-{debian}", debian)
    try:
        line, = commands("Package", "sudo apt-get install --no-install-recommends")
        chroot.run(*line.removeprefix("sudo ").split(), "-q", "-y")
        unpack, = commands("Package", "sudo tar")
        chroot.run("sh", "-c", f"cd /packages && {unpack.removeprefix('sudo ')}")
        libraries = chroot.run("ldd", "/usr/local/bin/tapedeck")
        assert "not found" not in libraries and "swift" not in libraries.lower(), libraries
        said = chroot.run("/usr/local/bin/tapedeck", "demo", "--directory", "/tmp", "--output", "/tmp/call.mkv", "--duration", "5s")
        assert "call.mkv" in said
        assert_plays(chroot.path / "tmp/call.mkv")
    finally:
        run("rm", "-rf", "--one-file-system", chroot.path)


@pytest.fixture(scope="module")
def image(dist, tmp_path_factory):
    return container.Image(one(dist, "*-image-*.tar"), tmp_path_factory.mktemp("image"))


def test_an_image_without_anything_says_what_is_missing(image):
    said, code = image.run(host_network=False)
    assert code == 2
    for missing, remedy in [("no volume", "/var/lib/tapedeck"), ("no network", "--network=host"),
                            ("no configuration", "/etc/tapedeck/tapedeck.yaml")]:
        line, = [line for line in said.splitlines() if missing in line]
        assert remedy in line


def test_an_image_does_not_keep_recordings_where_they_would_be_lost(image, tmp_path):
    configuration = tmp_path / "tapedeck.yaml"
    configuration.write_text("storage: { directory: /var/lib/tapedeck }\nrooms: {}\n")
    said, code = image.run(volumes=[(configuration, "/etc/tapedeck/tapedeck.yaml", "ro")])
    assert code == 2 and "no volume" in said and "cannot write to /var/lib/tapedeck" in said


def test_an_image_says_that_nothing_reaches_the_loopback_of_its_own_network(image):
    root = image.folder / "bundle" / "rootfs"
    configuration = root / "etc/tapedeck/tapedeck.yaml"
    inside = ("ip link add eth0 type veth peer name other; mount -t proc proc {0}/proc; mount -t sysfs sysfs {0}/sys; "
              "exec chroot {0} tapedeck-container run --config /etc/tapedeck/tapedeck.yaml --check").format(root)
    try:
        for listen, is_said in (("127.0.0.1:8330", True), ("0.0.0.0:8330", False)):
            configuration.write_text(f"api:\n  listen: {listen}\nrooms: {{}}\n")
            done = subprocess.run(["unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", inside],
                                  capture_output=True, text=True, timeout=60)
            assert ("tapedeck: no port: " in done.stderr) == is_said, done.stderr
            assert "no network" not in done.stderr and "no configuration" not in done.stderr, done.stderr
    finally:
        configuration.unlink()


@pytest.fixture
def stage(tmp_path):
    stage = Stage(tmp_path, str(ROOT / ".build" / "debug" / "tapedeck"))
    yield stage
    assert stage.finish() == [], stage.stories()


def wait_for(what, is_there, seconds=120):
    deadline = time.monotonic() + seconds
    while not (found := is_there()):
        assert time.monotonic() < deadline, f"no {what} in {seconds} s"
        time.sleep(0.2)
    return found


def test_an_image_without_rights_records_and_exports_a_call(image, stage, tmp_path):
    server = stage.room_server(5)
    recordings = container.volume(tmp_path, "recordings")
    configuration = tmp_path / "tapedeck.yaml"
    api = free_port()
    configuration.write_text(CONFIGURATION.format(api=api, url=room_url(server, "standup")))
    volumes = [(recordings, "/var/lib/tapedeck", "rw"), (configuration, "/etc/tapedeck/tapedeck.yaml", "ro")]
    with image.running(volumes=volumes) as process:
        def answers():
            try:
                return urllib.request.urlopen(f"http://127.0.0.1:{api}/healthz", timeout=5).status == 200
            except OSError:
                assert process.poll() is None, process.communicate()[0]
                return False
        wait_for("API", answers)
        stage.tapedeck("camera", room_url(server, "standup"), "--duration", "8s", "--size", "320x180").wait()
        exported, = wait_for("export", lambda: list(recordings.glob("recordings/standup/*/call.mkv")))
    assert process.returncode == 0
    assert_plays(exported)
    assert sorted(stream["codec_type"] for stream in media.streams(exported)) == ["audio", "video"]
    assert exported.stat().st_uid == container.ACCOUNT
