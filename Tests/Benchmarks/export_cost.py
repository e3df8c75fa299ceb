# SPDX-License-Identifier: Apache-2.0
"""The cost of exporting a long call, against mkvmerge on the same tracks: `make figures OF=export`.

A test of the suite records the call faster than it would have lasted, through the writers of a live one. Printed: wall
and CPU time of both programs, the better of two runs each, in turn, with the files in the page cache, and the largest
resident memory.
"""

import argparse
import os
import pathlib
import subprocess
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
RUNS = 2


def cost(*command):
    """Wall seconds, CPU seconds and largest resident megabytes of a command."""
    began = time.monotonic()
    process = subprocess.Popen([str(part) for part in command], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, f"{command[0]} ended with {process.returncode}"
    return time.monotonic() - began, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def record(storage, hours):
    environment = {**os.environ, "TAPEDECK_FIGURES_STORAGE": str(storage), "TAPEDECK_FIGURES_HOURS": str(hours)}
    subprocess.run(["swift", "test", "--skip-build", "--disable-xctest", "--filter", "ExportFigures"], cwd=ROOT,
                   env=environment, check=True, stdout=subprocess.DEVNULL)
    return next(storage.rglob("journal.jsonl")).parent


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tapedeck", default=str(ROOT / ".build/release/tapedeck"))
    parser.add_argument("--hours", type=float, default=4, help="length of the call")
    parser.add_argument("--storage", help="keep the recording there, or use the one that is there")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        storage = pathlib.Path(options.storage or temporary)
        found = next(storage.rglob("journal.jsonl"), None)
        folder = found.parent if found else record(storage, options.hours)
        tracks = sorted((folder / "tracks").iterdir())
        size = sum(track.stat().st_size for track in tracks)
        print(f"{options.hours} h, {len(tracks)} tracks, {size / 1e6:.0f} MB, "
              f"{(folder / 'journal.jsonl').stat().st_size / 1e6:.0f} MB of journal")
        ours, theirs = [], []
        for _ in range(RUNS):
            theirs.append(cost("mkvmerge", "--quiet", "-o", storage / "merged.mkv", *tracks))
            ours.append(cost(options.tapedeck, "export", folder, "--json"))
        for name, runs in (("mkvmerge", theirs), ("tapedeck export", ours)):
            print(f"{name}: {min(run[0] for run in runs):.2f} s, CPU {min(run[1] for run in runs):.2f} s, "
                  f"{max(run[2] for run in runs):.0f} MB")
        print(f"ratio {min(run[0] for run in ours) / min(run[0] for run in theirs):.2f}")


if __name__ == "__main__":
    main()
