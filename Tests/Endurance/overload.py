# SPDX-License-Identifier: Apache-2.0
"""A daemon that gets half of the CPU time that it needs: `make overload`.

`load_sender` sends into rooms of one worker, a room for each participant, as in `make bench`. When they all record, the
CPU time that the worker takes is measured. Then a control group lets the worker have half of that time only, or the
share that --factor says, for as long as --seconds says; its senders are not held up. After that it has all the time
again. Counted is how long it still lost packets or units, and how long the recorder lagged. It must be root, for the
control group.

Wanted: the worker lives and keeps every room, everything is in order again within 10 s, every recording is exported,
and all missing packets are lost by its certificate, except those under way at its end.

Exit codes: 0 if all of that holds, else 1.

"""

import argparse
import contextlib
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
for name in ("EndToEnd", "Benchmarks"):
    sys.path.insert(0, str(ROOT / "Tests" / name))
import programs  # noqa: E402
from bench import BUILD, Setting, contents  # noqa: E402
from figures import losses_of  # noqa: E402
from load import MEDIA, Sender, certificate  # noqa: E402
from process import children, share_of_core  # noqa: E402
from receivers import Tapedeck  # noqa: E402

RECOVERED_WITHIN = 10
# Longest time for a unit from its arrival to the end of its write, where nothing holds it up.
USUAL_LAG = 1
# Packets that were on their way when a participant was ended, of either kind.
UNDER_WAY = 15


class Squeeze:
    """Lets a process have a share of a core and no more, by a separate control group, as `docker run --cpus` does.

    Stopping and continuing the process instead would not do: its thread that is woken first would get all the time.

    """

    PERIOD_MICROSECONDS = 100_000

    def __init__(self, pid, share):
        self.pid = pid
        self.quota = max(1000, int(share * self.PERIOD_MICROSECONDS))
        root = pathlib.Path("/sys/fs/cgroup")
        groups = dict(line.split(":", 2)[1:] for line in pathlib.Path(f"/proc/{pid}/cgroup").read_text().splitlines())
        # Version 1 has a tree for each controller.
        controllers = next((names for names in groups if "cpu" in names.split(",")), "")
        self.is_unified = not controllers
        self.root = root / controllers
        self.usual = self.root / groups[controllers].lstrip("/")
        self.group = self.root / f"tapedeck-overload-{pid}"

    def __enter__(self):
        self.group.mkdir()
        if self.is_unified:
            (self.root / "cgroup.subtree_control").write_text("+cpu")
            (self.group / "cpu.max").write_text(f"{self.quota} {self.PERIOD_MICROSECONDS}")
        else:
            (self.group / "cpu.cfs_period_us").write_text(f"{self.PERIOD_MICROSECONDS}")
            (self.group / "cpu.cfs_quota_us").write_text(f"{self.quota}")
        self.move(self.group)

    def __exit__(self, *error):
        self.move(self.usual)
        self.group.rmdir()

    def move(self, group):
        # No such process: it has ended.
        with contextlib.suppress(ProcessLookupError):
            (group / "cgroup.procs").write_text(f"{self.pid}")


def metrics(url):
    """The sum of each metric over its rooms."""
    with urllib.request.urlopen(url.rstrip("/") + "/metrics", timeout=60) as answer:
        text = answer.read().decode()
    sums = {}
    for name, value in re.findall(r"^(tapedeck_\w+)(?:\{.*\})? (\S+)$", text, re.MULTILINE):
        sums[name] = sums.get(name, 0) + float(value)
    return sums


def losses(url):
    """Packets and units that were lost so far, and the sum of the recorders' lags in seconds."""
    found = metrics(url)
    lost = sum(found.get(f"tapedeck_room_{name}_total", 0) for name in ("lost_packets", "dropped_units"))
    return lost, found.get("tapedeck_room_recording_lag_seconds", 0)


def recovery(url, rooms, seconds):
    """When the last loss was noticed, or the last lag, in seconds from now, while so many pass."""
    began = last = time.monotonic()
    before, _ = losses(url)
    while time.monotonic() < began + seconds:
        time.sleep(0.5)
        lost, lag = losses(url)
        if lost > before or lag > USUAL_LAG * rooms:
            before, last = lost, time.monotonic()
    return last - began


def missing(setting, folder, number, sent):
    """Frames and audio packets of one recording that are not in its export and not in its certificate's losses.

    Packets under way at the end are no loss, nor those of a frame that cannot be decoded without them.

    """
    output = setting.folder / f"{number}.mkv"
    done = subprocess.run([setting.tapedeck, "export", folder, "--keep-damaged", "--output", output, "--json"],
                          capture_output=True, text=True, check=False)
    # 5: it is not complete, which it says.
    if done.returncode not in (0, 5):
        raise RuntimeError(f"the export of {folder.name} ended with {done.returncode}: {done.stderr}")
    told = losses_of(json.loads(done.stdout)["tracks"])
    frames, sounds = contents(output)
    return {"frames": sent["frames"] - frames, "framesTold": told.frames,
            "sounds": sent["sounds"] - sounds, "soundsTold": told.audio, "exitCode": done.returncode}


def run(setting, options):
    """Whether everything that is wanted holds."""
    faults = []
    with contextlib.ExitStack() as stack:
        receiver = Tapedeck(setting)
        stack.callback(lambda: receiver.daemon.process.poll() is None and receiver.daemon.process.kill())
        sender = Sender(setting)
        stack.callback(sender.end)
        url = receiver.daemon.url
        for _ in range(setting.rooms):
            sender.call(receiver.answer)
        deadline = time.monotonic() + 60 + setting.rooms
        while metrics(url).get("tapedeck_room_recording", 0) < setting.rooms:
            if time.monotonic() > deadline:
                raise RuntimeError("not every room records")
            time.sleep(0.5)
        time.sleep(10)
        worker, = children(receiver.pid)
        needed = share_of_core(worker, 10)
        print(f"{setting.rooms} rooms take {needed:.2f} of a core", flush=True)
        before, _ = losses(url)
        with Squeeze(worker, needed / options.factor):
            began = time.monotonic()
            try:
                got = share_of_core(worker, options.seconds)
            except FileNotFoundError:
                print(f"not as wanted: the worker ended after {time.monotonic() - began:.0f} s", file=sys.stderr)
                return False
        overloaded, lag = losses(url)
        print(f"for {time.monotonic() - began:.0f} s they got {got:.2f}: {overloaded - before:.0f} packets and units lost, "
              f"the recorders lag {lag / setting.rooms:.1f} s", flush=True)
        took = recovery(url, setting.rooms, 3 * RECOVERED_WITHIN)
        print(f"in order again after {took:.1f} s", flush=True)
        if took > RECOVERED_WITHIN:
            faults.append(f"it took {took:.1f} s until everything was in order again")
        if children(receiver.pid) != [worker]:
            faults.append("the worker ended")
        if metrics(url).get("tapedeck_room_recording", 0) < setting.rooms:
            faults.append("not every room is recorded any more")
        sent, late = sender.stop()
        print(f"the sender's latest packet was {late:.0f} ms late", flush=True)
        time.sleep(2)
        receiver.finish()
    folders = sorted(setting.folder.glob("storage/recordings/*/*/"), key=lambda path: int(path.parent.name[4:]))
    if len(folders) != setting.rooms:
        faults.append(f"{len(folders)} recordings of {setting.rooms} rooms")
    for number, (folder, one) in enumerate(zip(folders, sent, strict=False)):
        found = missing(setting, folder, number, one)
        print(f"room{number}: " + ", ".join(f"{name} {value}" for name, value in found.items()), flush=True)
        for what in ("frames", "sounds"):
            if found[what] > found[f"{what}Told"] + UNDER_WAY:
                faults.append(f"room{number} misses more {what} than it says")
    for fault in faults:
        print(f"not as wanted: {fault}", file=sys.stderr)
    return not faults


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tapedeck", default=str(ROOT / ".build/release/tapedeck"))
    parser.add_argument("--rooms", type=int, default=10)
    parser.add_argument("--media", choices=MEDIA, default="vp8-720p30")
    parser.add_argument("--seconds", type=int, default=60, help="how long it gets too little")
    parser.add_argument("--factor", type=float, default=2, help="how many times as much it needs as it gets")
    options = parser.parse_args()
    BUILD.mkdir(parents=True, exist_ok=True)
    path = MEDIA[options.media].encode(BUILD)
    with tempfile.TemporaryDirectory(prefix="overload-", dir=BUILD) as folder:
        setting = Setting(MEDIA[options.media], path, options.rooms, pathlib.Path(folder),
                          str(pathlib.Path(options.tapedeck).resolve()), programs.build("load_sender", BUILD), None,
                          certificate(BUILD))
        return 0 if run(setting, options) else 1


if __name__ == "__main__":
    sys.exit(main())
