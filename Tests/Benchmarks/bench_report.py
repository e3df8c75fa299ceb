# SPDX-License-Identifier: Apache-2.0
"""Table and plots of what bench.py measured: the part of docs/performance.md between its markers, and SVG files next to
the results.

To make them again from existing results: python3 Tests/Benchmarks/bench_report.py docs/benchmarks/results.json
"""

import json
import os
import pathlib
import statistics
import sys

import charts
from latency import PARTS
from receivers import ROOT

PAGE = ROOT / "docs" / "performance.md"
BEGIN, END = "<!-- bench: written by make bench -->", "<!-- bench: end -->"
TITLES = {"tapedeck": "Tapedeck, shared worker", "tapedeck-workers": "Tapedeck, worker per room",
          "tapedeck-receiving": "Tapedeck, nothing written", "janus": "Janus VideoRoom", "floor": "the least, in C",
          "webrtcbin": "webrtcbin, fakesinks", "matroskamux": "webrtcbin, matroskamux",
          "aiortc": "aiortc MediaRecorder"}
FILELESS = {"floor", "webrtcbin", "tapedeck-receiving"}


def shape(run):
    """How the packets of a frame followed each other; results of before there were two shapes do not name it."""
    return run.get("shape", "paced")


def loads(runs):
    """`(media, shape)` of each load that was measured."""
    return sorted({(run["media"], shape(run)) for run in runs}, key=lambda load: (load[0], load[1] != "paced"))


def total(run, key):
    return sum(each[key] for each in run["processes"])


def call_share(run):
    """Percent of a core for each room while it is recorded."""
    return 100 * total(run, "cpuSeconds") / run["seconds"] / run["rooms"]


def after_share(run):
    """Percent of a core for each room that its file takes afterwards, over the length of the recording."""
    return 100 * run["kept"]["afterCPUSeconds"] / run["recordedSeconds"] / run["rooms"]


def whole_share(run):
    return call_share(run) + after_share(run)


# Limits of CPU time: the subject, which receiver against which, and the largest ratio by shape.
COMPARED = (
    ("CPU of a recorded room against Janus, both with what makes files playable", "tapedeck", "janus", whole_share,
     {"paced": "0.55 ×", "bursts": "0.75 ×"}),
    ("CPU of a room with its own worker against Janus, both with what makes files playable", "tapedeck-workers", "janus",
     whole_share, {"paced": "0.9 ×"}),
    ("CPU of a recorded room against the least, during the call", "tapedeck", "floor", call_share,
     {"paced": "4 ×", "bursts": "4 ×"}),
    ("CPU of receiving alone against Janus that records, during the call", "tapedeck-receiving", "janus", call_share,
     {"paced": "0.7 ×"}),
    ("CPU of a recorded room against bare webrtcbin with fakesinks, during the call", "tapedeck", "webrtcbin", call_share,
     {"paced": "0.8 ×"}),
)


def memory(run):
    """Proportional memory in MB."""
    return total(run, "proportional") / 1000


def switches(run):
    """Context switches a second, of all threads of all processes."""
    return total(run, "switches") / run["seconds"]


def spread(values, digits=2):
    """Median, and in brackets the lowest and the highest."""
    values = sorted(values)
    middle = f"{statistics.median(values):.{digits}f}"
    return middle if len(values) == 1 else f"{middle} ({values[0]:.{digits}f} to {values[-1]:.{digits}f})"


def line(run):
    """A run in one line."""
    elsewhere = run["elsewhereCPUSeconds"] / run["seconds"]
    return (f"round {run['round']}, {run['media']}, {shape(run)}, {run['rooms']} rooms, {TITLES[run['receiver']]}: "
            f"{call_share(run):.2f} % of a core a room, {after_share(run):.2f} % afterwards, {memory(run):.1f} MB, "
            f"{100 * run['lost']:.3f} % lost; sender {run['sender']['cpuSeconds'] / run['seconds']:.2f} cores, "
            f"latest packet {run['latestPacketMilliseconds']:.0f} ms late, others {elsewhere:.2f} cores")


def table(head, rows):
    lines = ["| " + " | ".join(cells) + " |" for cells in [head, *rows]]
    return [lines[0], "|" + "---|" * len(head), *lines[1:], ""]


def threads(run):
    """Context switches a second, all rooms together, of the threads of each name, and of all other processes."""
    rows = [(one["name"], name, *(f"{count / run['seconds']:.1f}" for count in (sum(counts), *counts)))
            for one in run["processes"] for name, counts in one["threadSwitches"].items() if sum(counts) > 0]
    elsewhere = f"{run['elsewhereSwitches'] / run['seconds']:.1f}"
    return table(("process", "thread", "switches/s", "voluntary", "involuntary"), [*rows, ("elsewhere", "", elsewhere, "", "")])


def grouped(runs, media, of_shape="paced"):
    """{receiver: {rooms: runs}} of one load, in the order of TITLES."""
    found = {}
    for name in TITLES:
        for run in runs:
            if (run["media"], shape(run), run["receiver"]) == (media, of_shape, name):
                found.setdefault(name, {}).setdefault(run["rooms"], []).append(run)
    return found


def ratios(groups, name, other, share):
    """By rooms: how many times what `other` takes `name` takes, in each round that has both."""
    found = {}
    for rooms, runs in groups.get(name, {}).items():
        others = {run["round"]: run for run in groups.get(other, {}).get(rooms, [])}
        values = [share(run) / share(others[run["round"]]) for run in runs
                  if run["round"] in others and share(others[run["round"]]) > 0]
        if values:
            found[rooms] = values
    return found


def added(by_rooms, share):
    """Cost of one more room: from the least rooms to the most, by their medians; nothing for one number of rooms."""
    least, most = min(by_rooms), max(by_rooms)
    if least == most:
        return None
    low, high = (statistics.median(share(run) for run in by_rooms[rooms]) for rooms in (least, most))
    return (high - low) / (most - least)


def scaling(by_rooms):
    """Cost of a room with 100 rooms against 10; nothing if one of them was not measured."""
    if not {10, 100} <= set(by_rooms):
        return None
    low, high = (statistics.median(map(call_share, by_rooms[rooms])) for rooms in (10, 100))
    return high / low


def costs(groups):
    rows = []
    for name, by_rooms in groups.items():
        for rooms, runs in sorted(by_rooms.items()):
            each = [switches(run) / rooms for run in runs]
            rows.append([
                TITLES[name], str(rooms), spread([call_share(run) for run in runs]),
                "no file" if name in FILELESS else spread([after_share(run) for run in runs]),
                spread([memory(run) / rooms for run in runs], 1),
                spread([total(run, "threads") / rooms for run in runs], 1),
                spread([total(run, "descriptors") / rooms for run in runs], 1), spread(each, 0),
                spread([total(run, "writtenBytes") / run["seconds"] / rooms / 1000 for run in runs], 0),
                spread([100 * run["lost"] for run in runs], 3)])
    return table(["receiver", "rooms", "CPU of a core, %", "afterwards, %", "PSS, MB", "threads", "descriptors",
                  "switches/s", "written, kB/s", "lost, %"], rows)


def comparisons(groups):
    rows = []
    for name in ("tapedeck", "tapedeck-workers"):
        for other, share, what in (("janus", whole_share, "Janus, both with what makes files playable"),
                                   ("floor", call_share, "the least, during the call"),
                                   ("webrtcbin", call_share, "webrtcbin with fakesinks, during the call"),
                                   ("matroskamux", call_share, "webrtcbin with matroskamux, during the call")):
            for rooms, values in sorted(ratios(groups, name, other, share).items()):
                rows.append([TITLES[name], what, str(rooms), spread(values)])
    for rooms, values in sorted(ratios(groups, "tapedeck-receiving", "janus", call_share).items()):
        rows.append([TITLES["tapedeck-receiving"], "Janus, during the call", str(rooms), spread(values)])
    return table(["", "CPU against", "rooms", "ratio"], rows) if rows else []


def growths(groups):
    rows = []
    for name, by_rooms in groups.items():
        pss = added(by_rooms, memory)
        if pss is None:
            continue
        ratio = scaling(by_rooms)
        rows.append([TITLES[name], f"{pss:.2f}", "-" if ratio is None else f"{ratio:.2f}"])
    return table(["receiver", "PSS an added room, MB", "CPU a room at 100 rooms against 10"], rows) if rows else []


def percentile(values, share):
    """The value below which this share lies, by the nearest rank."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, max(0, -(-len(ordered) * share // 100) - 1))]


def beginnings(calls):
    rows = []
    steps = ("answer sent", "ICE has a pair", "DTLS is up", "first packet", "first keyframe in the file")
    titles = (*zip(PARTS, steps), ("total", "offer to keyframe"))
    for name, title in titles:
        values = [call[name] for call in calls]
        rows.append([title, *(f"{percentile(values, share):.0f}" for share in (50, 95)), f"{max(values):.0f}"])
    return table(["step", "median, ms", "p95, ms", "longest, ms"], rows)


def by_rooms_text(found, digits=2):
    """`0.92 with 10 rooms, 1.09 with 30` of {rooms: values}."""
    parts = [f"{statistics.median(values):.{digits}f} with {rooms}" for rooms, values in sorted(found.items())]
    return f"{parts[0]} {'rooms' if min(found) > 1 else 'room'}" + "".join(f", {part}" for part in parts[1:])


def targets(results):
    """The wanted and the measured figures of each load."""
    rows = []
    for kind, of_shape in loads(results["runs"]):
        media, groups = f"{kind}, {of_shape}", grouped(results["runs"], kind, of_shape)
        shared, apart = groups.get("tapedeck", {}), groups.get("tapedeck-workers", {})
        for what, name, other, share, wanted in COMPARED:
            if found := ratios(groups, name, other, share):
                rows.append([media, what, wanted.get(of_shape, "-"), by_rooms_text(found)])
        if shared and (more := added(shared, memory)) is not None:
            rows.append([media, "memory of an added room, shared worker", "1.2 MB", f"{more:.2f} MB"])
        if found := {rooms: [switches(run) / rooms for run in runs] for rooms, runs in shared.items() if rooms > 1}:
            rows.append([media, "switches a second and room, shared worker", "10", by_rooms_text(found, 0)])
        if apart:
            found = {rooms: [memory(run) / rooms for run in runs] for rooms, runs in apart.items()}
            rows.append([media, "memory of a room, worker per room, MB", "20", by_rooms_text(found, 0)])
        if (ratio := scaling(shared)) is not None:
            rows.append([media, "CPU of a room with 100 rooms against 10", "1.2 ×", f"{ratio:.2f} ×"])
        if shared:
            most = max(shared)
            worst = max(100 * run["lost"] for run in shared[most])
            rows.append([media, f"lost of {most} rooms, their senders on the same machine", "nothing of 60", f"{worst:.3f} %"])
    if calls := results.get("beginnings", {}).get("calls"):
        rows.append([f"{results['beginnings']['media']}, paced", "offer to the first keyframe in the file, p95", "150 ms",
                     f"{percentile([call['total'] for call in calls], 95):.0f} ms"])
    return ["### What is wanted, and what was found", "", *table(["media", "figure", "wanted at most", "found"], rows)]


def low_middle_high(values):
    return min(values), statistics.median(values), max(values)


def plots(results, folder):
    """Writes the plots; the titles and names of their files by load."""
    written = {}
    for media, of_shape in loads(results["runs"]):
        load, groups = f"{media}, {of_shape}", grouped(results["runs"], media, of_shape)
        stem = media if of_shape == "paced" else f"{media}-{of_shape}"
        for name, title, unit, value in (
                ("cpu", f"CPU of a recorded room, {load}", "% of a core a room", call_share),
                ("memory", f"Memory of all processes, {load}", "PSS, MB", memory),
                ("lost", f"Lost of what was sent, {load}", "%", lambda run: 100 * max(0, run["lost"]))):
            # aiortc is another scale: it transcodes.
            series = {TITLES[receiver]: {rooms: low_middle_high(list(map(value, runs)))
                                         for rooms, runs in by_rooms.items()}
                      for receiver, by_rooms in groups.items() if receiver != "aiortc"}
            if not series:
                continue
            file = f"{stem}-{name}.svg"
            (folder / file).write_text(charts.lines(title, unit, series))
            written.setdefault((media, of_shape), []).append((title, file))
    if calls := results.get("beginnings", {}).get("calls"):
        rows = {title: [percentile([call[part] for call in calls], share) for part in PARTS]
                for title, share in (("median", 50), ("p95", 95))}
        (folder / "beginnings.svg").write_text(charts.bars(
            "From the offer to the first keyframe in the file", "ms; each step by itself", PARTS, rows))
    return written


def text(results, plotted, folder):
    """The generated part of the page."""
    runs, where = results["runs"], pathlib.Path(os.path.relpath(folder, PAGE.parent)).as_posix()
    rounds = max(run["round"] for run in runs)
    elsewhere = max(run["elsewhereCPUSeconds"] / run["seconds"] for run in runs)
    late = max(run["latestPacketMilliseconds"] for run in runs)
    host = results["host"]
    lines = [
        f"Made {results['made'][:10]} with {results['tapedeck']} on {host['cores']} cores ({host['processor']}, Linux "
        f"{host['kernel']}), rounds: {rounds}, each measurement {results['seconds']} s. Other processes took at "
        f"most {elsewhere:.2f} cores at the same time, and the sender's latest packet was {late:.0f} ms late. Medians, and in "
        "brackets the lowest and the highest of the rounds; all but the lost is per room. Everything, process by "
        f"process, is in [results.json]({where}/results.json).", "", *targets(results)]
    for load in loads(runs):
        groups = grouped(runs, *load)
        rates = [run["sent"]["frames"] / run["recordedSeconds"] / run["rooms"] for run in runs
                 if (run["media"], shape(run)) == load]
        how = {"paced": "packets paced one by one", "bursts": "the packets of each frame in one burst"}[load[1]]
        lines += [f"### {', '.join(load)}", "",
                  f"{statistics.median(rates):.1f} frames a second were sent to each room, {how}.", ""]
        lines += costs(groups) + comparisons(groups) + growths(groups)
        for title, file in plotted.get(load, []):
            lines += [f"![{title}]({where}/{file})", ""]
    if calls := results.get("beginnings", {}).get("calls"):
        lines += ["### From the offer to the first keyframe in the file", "",
                  f"{len(calls)} calls of {results['beginnings']['media']}, one after the other, while those before "
                  "continue.", ""]
        lines += beginnings(calls) + [f"![Steps of a beginning]({where}/beginnings.svg)", ""]
    return "\n".join(lines)


def write(results, folder):
    """Puts the plots into the folder, and table and plots into the page."""
    page = PAGE.read_text()
    before, _, rest = page.partition(BEGIN)
    _, marker, after = rest.partition(END)
    if not marker:
        raise ValueError(f"{PAGE} has no part between {BEGIN} and {END}")
    generated = text(results, plots(results, folder), folder)
    PAGE.write_text(f"{before}{BEGIN}\n\n{generated}\n{END}{after}")


if __name__ == "__main__":
    path = pathlib.Path(sys.argv[1])
    write(json.loads(path.read_text()), path.resolve().parent)
