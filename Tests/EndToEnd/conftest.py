# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the end-to-end suite. The binary is $TAPEDECK, else the newest of .build/debug and .build/release."""

import os
import pathlib

import network
import pytest
from harness import ROOT, Stage


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
    try:
        yield stage
    finally:
        complaints = stage.finish()
        stories = stage.stories()
    if complaints:
        pytest.fail("\n".join(complaints) + "\n" + stories, pytrace=False)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    stage = getattr(item, "stage", None)
    if stage and report.failed and report.when == "call":
        report.sections.append(("processes", stage.stories()))
    return report
