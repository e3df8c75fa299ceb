# SPDX-License-Identifier: Apache-2.0
"""Sums the results of the test runners.

Reads every JUnit file in a folder, `reruns.jsonl` next to them, and the exit code and seconds of each step. Prints how
long each step took, what was skipped, what passed at a later try only (flaky), and each failed test with its seconds
and its reason; then the names of the failed tests once more, and `N passed, N failed` as the last line, with `, N
flaky` if there are any. A step that failed without naming a failed test counts as one failed test itself: a build that
broke, a runner that crashed. Exits with 1 if anything failed, or if nothing ran.

Example: python3 .ci/summarise.py --step pytest 0 212 --step "swift test" 1 15 .build/test-results
"""

import argparse
import dataclasses
import json
import pathlib
import re
import sys
import xml.etree.ElementTree

# The runner behind a step writes files of this name.
FILES = {"swift test": "pure", "swift test with input and output": "io", "swift test with media": "media",
         "pytest": "pytest", "pytest with media": "realtime", "pytest with devices": "devices",
         "swift test with etcd 3.5": "etcd"}
REASON_LENGTH = 300


@dataclasses.dataclass(frozen=True)
class Failure:
    name: str
    seconds: float
    reason: str

    def __str__(self):
        return f"{self.name}, {self.seconds:.0f} s: {self.reason}"


def one_line(text):
    """The beginning of a text, on one line."""
    line = " ".join((text or "no reason given").split())
    return line if len(line) <= REASON_LENGTH else line[:REASON_LENGTH - 1] + "…"


def read(path):
    """Names of passed tests, failures, and skipped tests of a JUnit file."""
    passed, failed, skipped = [], {}, []
    # Swift Testing says why only in what it prints.
    log = path.with_suffix(".log")
    printed = dict(re.findall(r'Test (.+) skipped: "(.*)"', log.read_text(errors="replace") if log.exists() else ""))
    for case in xml.etree.ElementTree.parse(path).getroot().iter("testcase"):
        name = f"{case.get('classname')} {case.get('name')}"
        problems = case.findall("failure") + case.findall("error")
        reason = case.find("skipped")
        if problems:
            # pytest reports a test whose clean-up failed twice: the first reason is the reason.
            text = " ".join(problem.get("message") or problem.text or "" for problem in problems)
            failed.setdefault(name, Failure(name, float(case.get("time") or 0), one_line(text)))
        elif reason is not None:
            text = reason.get("message") or reason.text or printed.get(case.get("name"))
            skipped.append(f"{name}: {one_line(text)}")
        else:
            passed.append(name)
    # A test that was tried again stands there once for each try.
    return [name for name in dict.fromkeys(passed) if name not in failed], list(failed.values()), skipped


def first_failures(folder):
    """Tests that were tried again, by file and name, with the reason of the first try."""
    path = folder / "reruns.jsonl"
    found = {}
    for line in path.read_text().splitlines() if path.exists() else []:
        rerun = json.loads(line)
        found.setdefault(key(rerun["name"]), one_line(rerun["reason"]))
    return found


def key(name):
    """`test_x test_y[z]`, from `Tests/EndToEnd/test_x.py::test_y[z]` or from `Tests.EndToEnd.test_x test_y[z]`."""
    match = re.match(r"(?:\S*[./])?(test_\w+?)(?:\.py::|\.py | )(.*)", name, re.DOTALL)
    return f"{match[1]} {match[2]}" if match else name


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--step", nargs=3, action="append", default=[], metavar=("NAME", "CODE", "SECONDS"))
    parser.add_argument("folder", type=pathlib.Path)
    options = parser.parse_args()
    passed, failed, skipped = [], [], []
    for name, code, seconds in options.step:
        failed_here = []
        files = sorted(options.folder.glob(f"{FILES[name]}*.xml")) if name in FILES else []
        reason = "no results" if name in FILES and not files else None
        for path in files:
            try:
                results = read(path)
            except xml.etree.ElementTree.ParseError:
                reason = "results are not readable"
                continue
            passed += results[0]
            failed_here += results[1]
            skipped += results[2]
        if int(code) != 0 and not failed_here:
            reason = "took too long" if int(code) == 124 else f"exit code {code}"
        if reason:
            failed_here.append(Failure(name, float(seconds), reason))
        failed += failed_here
        print(f"time: {name} {seconds} s")
    first = first_failures(options.folder)
    flaky = [name for name in passed if key(name) in first]
    passed = [name for name in passed if key(name) not in first]
    for line in skipped:
        print(f"skipped: {line}")
    for name in flaky:
        print(f"flaky: {name}: {first[key(name)]}")
    for failure in failed:
        print(f"failed: {failure}")
    for failure in failed:
        print(f"  {failure.name}")
    print(f"{len(passed)} passed, {len(failed)} failed" + (f", {len(flaky)} flaky" if flaky else ""), flush=True)
    sys.exit(1 if failed or not (passed or flaky) else 0)


if __name__ == "__main__":
    main()
