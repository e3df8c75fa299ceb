# SPDX-License-Identifier: Apache-2.0
"""`make figures` has each figure that its table names, and the table has each program."""

import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / "Tests/Benchmarks"
NAMES = re.findall(r"^\| `(\w+)`", (FOLDER / "README.md").read_text(), re.MULTILINE)


def make(*arguments):
    return subprocess.run(["make", "-n", "figures", *arguments], cwd=ROOT, capture_output=True, text=True, timeout=60)


def test_each_figure_of_the_table_has_a_program():
    assert len(NAMES) == len(set(NAMES)) > 10
    for name in NAMES:
        shown = make(f"OF={name}")
        assert shown.returncode == 0, shown.stderr
        program = re.search(r"Tests/Benchmarks/\w+\.py", shown.stdout)
        assert name == "catalogue" if program is None else (ROOT / program[0]).exists(), shown.stdout
    assert {path.stem.removesuffix("_cost") for path in FOLDER.glob("*_cost.py")} <= set(NAMES)


def test_a_figure_that_is_not_there_is_an_error():
    refused = make("OF=nothing")
    assert refused.returncode != 0 and 'no figure "nothing"' in refused.stderr, refused.stderr
