# SPDX-License-Identifier: Apache-2.0
"""Sums the results of the test runners.

Reads every JUnit file in a folder and the exit code of each step. Names failed and skipped tests, then prints
`N passed, N failed`. A step that failed without naming a failed test counts as one failed test itself: a build that
broke, a runner that crashed. Exits with 1 if anything failed, or if nothing ran.

Example: python3 .ci/summarise.py --step pytest 0 --step "swift test" 1 /tmp/results
"""

import argparse
import pathlib
import sys
import xml.etree.ElementTree

# The runner behind a step writes files of this name.
FILES = {"swift test": "swift", "swift test with media": "media", "pytest": "pytest", "pytest alone": "alone",
         "pytest with devices": "devices"}


def read(path):
    """Names of passed, failed and skipped tests in a JUnit file."""
    passed, failed, skipped = [], [], []
    for case in xml.etree.ElementTree.parse(path).getroot().iter("testcase"):
        name = f"{case.get('classname')} {case.get('name')}"
        reason = case.find("skipped")
        if case.find("failure") is not None or case.find("error") is not None:
            failed.append(name)
        elif reason is not None:
            skipped.append(f"{name}: {reason.get('message') or reason.text or 'no reason given'}")
        else:
            passed.append(name)
    # pytest reports a test whose clean-up failed twice.
    failed = list(dict.fromkeys(failed))
    return [name for name in passed if name not in failed], failed, skipped


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--step", nargs=2, action="append", default=[], metavar=("NAME", "CODE"))
    parser.add_argument("--skip", nargs=2, action="append", default=[], metavar=("NAME", "REASON"),
                        help="a step that was left out")
    parser.add_argument("folder", type=pathlib.Path)
    options = parser.parse_args()
    passed, failed = [], []
    skipped = [f"{name}: {reason}" for name, reason in options.skip]
    for name, code in options.step:
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
            failed_here.append(f"{name} ({reason})")
        failed += failed_here
    for title, names in (("failed", failed), ("skipped", skipped)):
        for name in names:
            print(f"{title}: {name}")
    print(f"{len(passed)} passed, {len(failed)} failed", flush=True)
    sys.exit(1 if failed or not passed else 0)


if __name__ == "__main__":
    main()
