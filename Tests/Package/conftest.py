# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the package's tests."""

import os
import pathlib

import pytest
from debian import BINARY, ROOT, run


@pytest.fixture(scope="session")
def packages(tmp_path_factory):
    """The package, and one that is newer."""
    assert os.access(BINARY, os.X_OK), f"no binary at {BINARY}: run `make deb` or set TAPEDECK_RELEASE"
    folder = tmp_path_factory.mktemp("packages")
    build = [ROOT / "systemd/debian/build", "--binary", BINARY, "--output", folder]
    return [pathlib.Path(run(*build).strip()), pathlib.Path(run(*build, "--revision", "1+upgrade1").strip())]
