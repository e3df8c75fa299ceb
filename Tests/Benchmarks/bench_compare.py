# SPDX-License-Identifier: Apache-2.0
"""Whether results of bench.py say what others said: `make bench-compare`.

Compared are the ratios between receivers of one run, what an added room takes and how long a call takes to begin, as far as both
results have them; what the machine alone decides is not. Each is printed with both values, and how many times the one before
the new one is.

Exit codes: 0 if none is further off than `--within`, 1 if one is, 2 if the results have nothing in common.

Example: python3 Tests/Benchmarks/bench_compare.py /tmp/results.json --against docs/benchmarks/results.json
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys

import bench_report
from receivers import ROOT

RESULTS = "docs/benchmarks/results.json"


def figures(results):
    """The compared figures, by name."""
    found = {}
    for load in bench_report.loads(results["runs"]):
        media, groups = ", ".join(load), bench_report.grouped(results["runs"], *load)
        for title, name, other, share, _ in bench_report.COMPARED:
            for rooms, values in sorted(bench_report.ratios(groups, name, other, share).items()):
                found[f"{media}, {title}, {rooms} rooms"] = statistics.median(values)
        if shared := groups.get("tapedeck"):
            found[f"{media}, memory of an added room, MB"] = bench_report.added(shared, bench_report.memory)
            found[f"{media}, CPU of a room with 100 rooms against 10"] = bench_report.scaling(shared)
    if calls := results.get("beginnings", {}).get("calls"):
        found["offer to the first keyframe in the file, p95, ms"] = bench_report.percentile(
            [call["total"] for call in calls], 95)
    return {name: value for name, value in found.items() if value}


def compared(old, new):
    """`(name, before, now, times)` of each figure that both have."""
    before, now = figures(old), figures(new)
    return [(name, before[name], now[name], now[name] / before[name]) for name in before if name in now]


def is_off(times, percent):
    """Whether a figure is more than so many percent larger, or smaller by as much the other way round."""
    return max(times, 1 / times) > 1 + percent / 100


def committed():
    return subprocess.run(["git", "-C", ROOT, "show", f"HEAD:{RESULTS}"], check=True, stdout=subprocess.PIPE).stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", nargs="?", type=pathlib.Path, default=ROOT / RESULTS, help="new ones (%(default)s)")
    parser.add_argument("--against", type=pathlib.Path, help=f"those before ({RESULTS} as it is committed)")
    parser.add_argument("--within", type=float, default=20, help="percent that a figure may be off (%(default)s)")
    options = parser.parse_args()
    old = json.loads(options.against.read_bytes() if options.against else committed())
    rows = compared(old, json.loads(options.results.read_bytes()))
    if not rows:
        print("the results have no figure in common")
        return 2
    off = 0
    for name, before, now, times in rows:
        is_one = is_off(times, options.within)
        off += is_one
        print(f"{times:6.2f} × {before:8.2f} {now:8.2f}  {name}{'  OFF' if is_one else ''}")
    print(f"{len(rows) - off} of {len(rows)} figures within {options.within:g} %")
    return 1 if off else 0


if __name__ == "__main__":
    sys.exit(main())
