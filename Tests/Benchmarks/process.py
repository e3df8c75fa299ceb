# SPDX-License-Identifier: Apache-2.0
"""Figures of the operating system about a process: its holdings and its usage."""

import contextlib
import os
import pathlib
import time

TICKS = os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGE_SIZE")


def fields_of(pid):
    """The fields after the name in /proc/PID/stat: the state is the first."""
    return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()


def cpu_seconds(pid):
    """CPU time used so far, user and system, without that of children."""
    fields = fields_of(pid)
    return (int(fields[11]) + int(fields[12])) / TICKS


def resident_bytes(pid):
    return int(pathlib.Path(f"/proc/{pid}/statm").read_text().split()[1]) * PAGE


def entries(pid, what):
    """How many threads ("task") or descriptors ("fd") a process has."""
    return len(os.listdir(f"/proc/{pid}/{what}"))


def share_of_core(pid, seconds, every=None):
    """CPU time over wall time, while `every` is called once a second."""
    began, used = time.monotonic(), cpu_seconds(pid)
    while time.monotonic() - began < seconds:
        time.sleep(1)
        if every:
            every()
    return (cpu_seconds(pid) - used) / (time.monotonic() - began)


def children(pid):
    """Process ids of a process's children."""
    found = []
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if int(fields_of(folder.name)[1]) == pid:
                found.append(int(folder.name))
    return found


def family(pid):
    """A process, its children, and theirs."""
    return [pid] + [one for child in children(pid) for one in family(child)]


def switches(pid):
    """Name, voluntary and involuntary context switches so far of each thread, by its number."""
    found = {}
    for path in pathlib.Path(f"/proc/{pid}/task").glob("*/status"):
        with contextlib.suppress(OSError):
            status = dict(line.split(":", 1) for line in path.read_text().splitlines())
            found[path.parent.name] = (status["Name"].strip(), int(status["voluntary_ctxt_switches"]),
                                       int(status["nonvoluntary_ctxt_switches"]))
    return found


def switches_between(before, after):
    """How often threads of each name were switched: voluntarily, and not; those that ended are left out."""
    found = {}
    for number, (name, *counts) in after.items():
        earlier = before.get(number, (name, 0, 0))[1:]
        sums = found.setdefault(name, [0, 0])
        for place in range(2):
            sums[place] += counts[place] - earlier[place]
    return dict(sorted(found.items(), key=lambda item: -sum(item[1])))


def used(pid):
    """CPU seconds and bytes written so far."""
    written = dict(line.split(": ") for line in pathlib.Path(f"/proc/{pid}/io").read_text().splitlines())
    return {"cpuSeconds": cpu_seconds(pid), "writtenBytes": int(written["wchar"])}


def all_switches():
    """Context switches of the whole machine so far, with those of the kernel's threads."""
    text = pathlib.Path("/proc/stat").read_text()
    return next(int(line.split()[1]) for line in text.splitlines() if line.startswith("ctxt "))


def busy_seconds():
    """CPU time that the whole machine has used so far."""
    fields = pathlib.Path("/proc/stat").read_text().split("\n", 1)[0].split()
    user, nice, system, _, _, *interrupts = map(int, fields[1:8])
    return (user + nice + system + sum(interrupts)) / TICKS


def holdings(pid):
    """Descriptors, threads, and memory in kB: resident, what of that is no file's, and proportional; None if it is gone."""
    folder = pathlib.Path(f"/proc/{pid}")
    try:
        memory = dict(line.split(":", 1) for line in (folder / "smaps_rollup").read_text().splitlines()[1:])
        return {
            "descriptors": len(list((folder / "fd").iterdir())),
            "threads": len(list((folder / "task").iterdir())),
            "resident": int(memory["Rss"].split()[0]),
            "anonymous": int(memory["Anonymous"].split()[0]),
            "proportional": int(memory["Pss"].split()[0]),
        }
    except (OSError, ValueError):
        return None


def heaps(pid):
    """How many heaps glibc's malloc has in a process: the main one, and each that begins at a multiple of 64 MB of which
    the rest is reserved (HEAP_MAX_SIZE, glibc's malloc/arena.c)."""
    found, largest = 1, 64 << 20
    lines = [line.split() for line in pathlib.Path(f"/proc/{pid}/maps").read_text().splitlines()]
    for used, reserved in zip(lines, lines[1:], strict=False):
        start, end = (int(bound, 16) for bound in (used[0].split("-")[0], reserved[0].split("-")[1]))
        found += used[1] == "rw-p" and reserved[1] == "---p" and start % largest == 0 and end - start == largest
    return found


def thread_names(pid):
    """How many threads of a process have which name."""
    return count(pathlib.Path(f"/proc/{pid}/task").glob("*/comm"), lambda path: path.read_text().strip())


def descriptor_targets(pid):
    """How many descriptors of a process lead where; numbers of sockets and pipes are left out."""
    return count(pathlib.Path(f"/proc/{pid}/fd").iterdir(), lambda path: str(path.readlink()).split(":[")[0])


def count(paths, name):
    found = {}
    for path in paths:
        with contextlib.suppress(OSError):
            key = name(path)
            found[key] = found.get(key, 0) + 1
    return dict(sorted(found.items(), key=lambda item: -item[1]))
