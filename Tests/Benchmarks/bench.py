# SPDX-License-Identifier: Apache-2.0
"""The cost of recording, side by side: `make bench`.

One process sends media that were encoded before, as several participants, in three shapes: packets paced one by one, the
packets of each frame in one burst, and packets spaced as Chromium's were (chromium.trace). One receiver after the other
takes them, each in a separate room: Tapedeck with a shared worker, with a worker per room, and without writing anything,
Janus VideoRoom with janus-pp-rec, a program in C with the least that recording costs, bare webrtcbin with fakesinks and
with matroskamux, and aiortc's MediaRecorder. The operating system reports for every process of a receiver, over the same
span after a warm-up, CPU time, context switches and bytes written; at its end memory, threads and descriptors. Afterwards
the frames and audio packets in the files are counted and compared with those sent.

A round is every receiver with every shape and number of rooms once, which puts the two sides of a ratio close in time. The
results are one JSON file, written again after each measurement; bench_report.py makes table and plots of it. With
--resume a later call continues that file, which allows long measurements in pieces.

"""

import argparse
import contextlib
import dataclasses
import datetime
import hashlib
import itertools
import json
import os
import pathlib
import platform
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import bench_report
import latency
import process
import programs
from load import MEDIA, SHAPES, Sender, certificate
from receivers import RECEIVERS, ROOT

BUILD = ROOT / ".build" / "bench"


@dataclasses.dataclass(frozen=True)
class Setting:
    """One measurement."""

    media: object
    path: pathlib.Path
    rooms: int
    folder: pathlib.Path
    tapedeck: str
    sender: pathlib.Path
    receiver: pathlib.Path
    certificate: pathlib.Path
    shape: str = "paced"


def contents(path):
    """Frames and audio packets in a file."""
    text = subprocess.run(["ffprobe", "-v", "error", "-count_packets", "-show_entries",
                           "stream=codec_type,nb_read_packets", "-of", "json", path], check=True, capture_output=True,
                          text=True).stdout
    counts = {"video": 0, "audio": 0}
    for stream in json.loads(text)["streams"]:
        # A track of which nothing was written has no number.
        counts[stream["codec_type"]] += int(stream.get("nb_read_packets", 0))
    return counts["video"], counts["audio"]


def kept(receiver):
    """Contents of the files, and the cost of making them playable."""
    if hasattr(receiver, "packets"):
        return {"packets": receiver.packets(), "afterCPUSeconds": 0}
    if hasattr(receiver, "lost_packets"):
        return {"lostPackets": receiver.lost_packets(), "afterCPUSeconds": 0}
    paths, seconds = receiver.files()
    counts = [contents(path) for path in paths]
    return {"frames": sum(frames for frames, _ in counts), "sounds": sum(sounds for _, sounds in counts),
            "files": len(paths), "afterCPUSeconds": seconds}


def lost(sent, kept):
    """The share of what was sent that is in no file, from 0 to 1."""
    if "packets" in kept:
        return 1 - kept["packets"] / (sent["pictures"] + sent["sounds"])
    if "lostPackets" in kept:
        return kept["lostPackets"] / (sent["pictures"] + sent["sounds"])
    return 1 - (kept["frames"] + kept["sounds"]) / (sent["frames"] + sent["sounds"])


def observe(pids, seconds):
    """Usage of each process in a span of time, and its holdings at the end; memory in kB."""
    before, threads = {pid: process.used(pid) for pid in pids}, {pid: process.switches(pid) for pid in pids}
    began, busy, switches = time.monotonic(), process.busy_seconds(), process.all_switches()
    time.sleep(seconds)
    after = {pid: process.used(pid) for pid in pids}
    threads = {pid: process.switches_between(threads[pid], process.switches(pid)) for pid in pids}
    switches = process.all_switches() - switches
    elapsed, busy = time.monotonic() - began, process.busy_seconds() - busy
    found = []
    for pid in pids:
        held = process.holdings(pid)
        if held is None:
            raise RuntimeError(f"process {pid} ended while it was measured")
        found.append({"name": pathlib.Path(f"/proc/{pid}/comm").read_text().strip(), "pid": pid,
                      **{key: after[pid][key] - before[pid][key] for key in after[pid]}, **held,
                      "switches": sum(map(sum, threads[pid].values())), "threadSwitches": threads[pid]})
    return found, elapsed, busy, switches


def kill(receiver):
    """Ends what is left of a receiver that did not come to its end."""
    if pathlib.Path(f"/proc/{receiver.pid}").exists():
        for pid in process.family(receiver.pid):
            os.kill(pid, signal.SIGKILL)


def measure(name, setting, options):
    """One receiver with so many rooms."""
    with contextlib.ExitStack() as stack:
        receiver = RECEIVERS[name](setting)
        stack.callback(kill, receiver)
        sender = Sender(setting, setting.shape)
        stack.callback(sender.end)
        began = time.monotonic()
        for _ in range(setting.rooms):
            sender.call(receiver.answer)
        while not all(one["connected"] for one in sender.sent()[0]):
            if time.monotonic() > began + 30 + setting.rooms:
                raise RuntimeError(f"{name}: not every participant is connected")
            time.sleep(0.1)
        joined = time.monotonic() - began
        time.sleep(options.warm_up)
        found, elapsed, busy, switches = observe([*receiver.processes(), sender.process.pid], options.seconds)
        sent, late = sender.stop()
        # Packets on the way arrive, and lost ones are asked for again.
        time.sleep(2)
        receiver.finish()
    sums = {key: sum(one[key] for one in sent) for key in ("frames", "pictures", "sounds")}
    kept_by = kept(receiver)
    *own, load = found
    return {
        "receiver": name, "media": setting.media.name, "shape": setting.shape, "rooms": setting.rooms, "seconds": elapsed,
        "joinSeconds": joined, "processes": own, "sender": load,
        "elsewhereCPUSeconds": max(0, busy - sum(one["cpuSeconds"] for one in found)),
        "elsewhereSwitches": switches - sum(one["switches"] for one in found),
        "latestPacketMilliseconds": late, "sent": sums, "kept": kept_by, "lost": lost(sums, kept_by),
        # The recording was longer than the span in which its cost was measured.
        "recordedSeconds": sums["sounds"] * 0.02 / setting.rooms,
    }


def host():
    text = pathlib.Path("/proc/cpuinfo").read_text()
    model = next((line.split(": ", 1)[1] for line in text.splitlines() if line.startswith("model name")), "unknown")
    return {"processor": model, "cores": os.cpu_count(), "kernel": platform.release()}


def resumed(earlier, results):
    """Earlier results, to which others may be added: those of the same binary and host, of measurements as long."""
    for key in ("tapedeck", "binary", "host", "seconds"):
        if earlier.get(key) != results[key]:
            raise ValueError(f"{key} was {earlier.get(key)}, and is {results[key]} now")
    return {**earlier, "made": results["made"]}


def is_there(results, shape, **wanted):
    return any(bench_report.shape(run) == shape and wanted.items() <= run.items() for run in results["runs"])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tapedeck", default=str(ROOT / ".build/release/tapedeck"))
    parser.add_argument("--seconds", type=int, default=60, help="length of each measurement")
    parser.add_argument("--warm-up", type=int, default=10,
                        help="seconds from the last participant's coming to a measurement")
    parser.add_argument("--rooms", type=int, nargs="+", default=[1, 10, 30, 60, 100])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--media", nargs="+", choices=MEDIA, default=["vp8-720p30", "h264-720p30", "vp8-360p15"])
    parser.add_argument("--shapes", nargs="+", choices=SHAPES, default=list(SHAPES),
                        help="how the packets of a frame follow each other")
    parser.add_argument("--receivers", nargs="+", choices=RECEIVERS, default=list(RECEIVERS))
    parser.add_argument("--aiortc-rooms", type=int, default=1,
                        help="most rooms that aiortc is given: one takes a whole core and more")
    parser.add_argument("--calls", type=int, default=30, help="calls of which the beginning is measured; 0 for none")
    parser.add_argument("--results", type=pathlib.Path, default=ROOT / "docs/benchmarks/results.json")
    parser.add_argument("--threads", action="store_true",
                        help="shows which threads were switched how often, and those elsewhere, which are the kernel's")
    parser.add_argument("--resume", action="store_true",
                        help="adds to the results that are there what they lack, in place of beginning anew")
    parser.add_argument("--no-report", action="store_true", help="leaves docs/performance.md and its plots as they are")
    options = parser.parse_args()
    options.tapedeck = str(pathlib.Path(options.tapedeck).resolve())
    # webrtcbin has about a dozen descriptors for each call.
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))

    BUILD.mkdir(parents=True, exist_ok=True)
    tools = (options.tapedeck, programs.build("load_sender", BUILD), programs.build("webrtcbin_receiver", BUILD),
             certificate(BUILD))
    version = subprocess.run([options.tapedeck, "--version"], check=True, capture_output=True, text=True).stdout.strip()
    results = {"made": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"), "tapedeck": version,
               "binary": hashlib.sha256(pathlib.Path(options.tapedeck).read_bytes()).hexdigest(), "host": host(),
               "seconds": options.seconds, "runs": []}
    if options.resume and options.results.exists():
        try:
            results = resumed(json.loads(options.results.read_text()), results)
        except ValueError as error:
            parser.error(f"{options.results} cannot be gone on with: {error}")

    def keep():
        options.results.parent.mkdir(parents=True, exist_ok=True)
        temporary = options.results.with_suffix(".new")
        temporary.write_text(json.dumps(results, indent=1) + "\n")
        temporary.replace(options.results)

    failures = 0
    paths = {name: MEDIA[name].encode(BUILD) for name in options.media}
    for round_number in range(1, options.rounds + 1):
        for media, rooms, name, shape in itertools.product(options.media, options.rooms, options.receivers, options.shapes):
            if name == "aiortc" and rooms > options.aiortc_rooms:
                continue
            if is_there(results, shape, round=round_number, media=media, rooms=rooms, receiver=name):
                continue
            folder = pathlib.Path(tempfile.mkdtemp(prefix="bench-", dir=BUILD))
            setting = Setting(MEDIA[media], paths[media], rooms, folder, *tools, shape)
            try:
                run = measure(name, setting, options)
            except (OSError, RuntimeError, subprocess.SubprocessError) as error:
                print(f"{media}, {shape}, {rooms} rooms, {name}: {error}; {folder} is kept", file=sys.stderr, flush=True)
                failures += 1
                continue
            shutil.rmtree(folder)
            results["runs"].append({"round": round_number, **run})
            keep()
            print(bench_report.line(results["runs"][-1]), flush=True)
            if options.threads:
                print("\n".join(bench_report.threads(results["runs"][-1])), flush=True)
    if options.calls and "beginnings" not in results:
        media = options.media[0]
        with tempfile.TemporaryDirectory(prefix="bench-", dir=BUILD) as folder:
            setting = Setting(MEDIA[media], paths[media], options.calls, pathlib.Path(folder), *tools)
            results["beginnings"] = {"media": media, "calls": latency.beginnings(setting)}
        keep()
    if not options.no_report:
        bench_report.write(results, options.results.parent)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
