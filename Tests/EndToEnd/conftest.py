# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the end-to-end suite. The binary is $TAPEDECK, else the newest of .build/debug and .build/release.

Tests that pass at a later try are written to $TAPEDECK_RERUNS, if set: a JSON object a line, {"name", "reason"}.
"""

import json
import os
import pathlib
import re
import resource
import subprocess

import network
import pytest
from stage import LIMIT, ROOT, Stage

# A test of slow clients holds some thousands of connections.
OPEN_FILES = 8192
MESSAGE_LINES, MESSAGE_COLUMNS = 12, 300


def pytest_configure():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < OPEN_FILES:
        wanted = OPEN_FILES if hard == resource.RLIM_INFINITY else min(OPEN_FILES, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


@pytest.fixture(scope="session")
def tapedeck_path():
    given = os.environ.get("TAPEDECK")
    candidates = [pathlib.Path(given).resolve()] if given else [
        ROOT / ".build" / "debug" / "tapedeck", ROOT / ".build" / "release" / "tapedeck"]
    found = [path for path in candidates if os.access(path, os.X_OK)]
    if not found:
        pytest.fail(f"no tapedeck at {' or '.join(map(str, candidates))}: run `swift build` or set TAPEDECK")
    return str(max(found, key=lambda path: path.stat().st_mtime))


@pytest.fixture(scope="module")
def net():
    """Two hosts and a router that forwards nothing but what a test's rules say."""
    if os.geteuid() != 0:
        pytest.skip("network namespaces need root")
    with network.namespaces() as (found, reason):
        if found is None:
            pytest.skip(f"network namespaces cannot be made here: {reason}")
        yield found


@pytest.fixture(scope="module")
def lossy(net):
    """The same with a router that forwards everything but what rules of its chain `lossy` drop."""
    net.run("r", "nft", "add", "chain", "inet", "tapedeck", "lossy")
    net.rule("forward", "jump lossy")
    net.rule("forward", "accept")
    return net


@pytest.fixture(scope="session")
def slow_disk(tmp_path_factory):
    """Variables for a program on a disk whose fdatasync takes so many milliseconds, and as long as `hold` is there.

    Writes to files whose path has the text of the file `writes` in it wait for as long as that is there.
    """
    library = tmp_path_factory.mktemp("disk") / "slow_disk.so"
    source = ROOT / "Tests" / "Disk" / "slow_disk.c"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
    return lambda milliseconds, hold="", writes="": {
        "LD_PRELOAD": str(library), "SLOW_DISK_SYNC_MS": str(milliseconds),
        **({"SLOW_DISK_HOLD": str(hold)} if hold else {}), **({"SLOW_DISK_HOLD_WRITES": str(writes)} if writes else {})}


@pytest.fixture(scope="session")
def call(tmp_path_factory, tapedeck_path):
    """A storage directory with one recording of a call of 4 s, exported; it is not to be changed."""
    folder = tmp_path_factory.mktemp("call")
    subprocess.run([tapedeck_path, "demo", "--duration", "4s"], cwd=folder, check=True, capture_output=True, timeout=LIMIT)
    journal, = folder.rglob("journal.jsonl")
    return journal.parents[3]


@pytest.fixture
def foreign_stage(tmp_path, request):
    """Processes of a test that does not need Tapedeck; fails the test if one does not end or leaves children."""
    yield from run_stage(tmp_path, None, request)


@pytest.fixture
def stage(tmp_path, tapedeck_path, request):
    """Processes of a test; fails the test if one does not end or leaves children."""
    yield from run_stage(tmp_path, tapedeck_path, request)


def run_stage(folder, tapedeck, request):
    stage = Stage(folder, tapedeck)
    request.node.stage = stage
    yield stage
    complaints = stage.finish()
    if complaints:
        pytest.fail("; ".join(complaints), pytrace=False)


def reason_first(message):
    """The message of a failed assertion, what was compared first, at a length that a summary can show."""
    lines = message.splitlines()
    compared = next((index for index, line in enumerate(lines) if line.startswith("assert ")), 0)
    lines = lines[compared:compared + 1] + lines[:compared] + lines[compared + 1:]
    return "\n".join(line[:MESSAGE_COLUMNS] for line in lines[:MESSAGE_LINES])


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    stage = getattr(item, "stage", None)
    if not report.failed:
        return report
    crash = getattr(report.longrepr, "reprcrash", None)
    if crash:
        crash.message = reason_first(crash.message)
    if stage and not stage.has_told:
        stage.has_told = True
        report.sections.append(("processes", stage.stories()))
    return report


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_logreport(report):
    if "PYTEST_XDIST_WORKER" in os.environ:
        return
    # pytest-xdist appends the group, which is no part of the name.
    report.nodeid = re.sub(r"@\w+$", "", report.nodeid)
    path = os.environ.get("TAPEDECK_RERUNS")
    if path and report.outcome == "rerun":
        crash = getattr(report.longrepr, "reprcrash", None)
        reason = crash.message if crash else str(report.longrepr or "")
        with open(path, "a", encoding="utf-8") as file:
            file.write(json.dumps({"name": report.nodeid, "reason": reason[:300]}) + "\n")
