# SPDX-License-Identifier: Apache-2.0
"""The holdings of a daemon after many calls: `make soak`.

`tapedeck run` records rooms of `tapedeck serve` while participants come, switch their media, leave and are killed, a
signalling server restarts, rooms are removed, added and changed, outputs begin and end, and recordings are exported.
After each twelfth of the run, and 8 s at least, all participants leave and the rest is counted: descriptors, threads,
memory and live GStreamer objects of the worker, of the supervisor, of the process that sends, and of a room server.
Printed is each of these counts, and how much they grow in 1000 joins; a join is a participant whose audio was recorded.
At the end every recording must be finished and exported, nothing unfinished may lie in the storage, and no process may
be left.

Exit codes: 0 if nothing grows and everything is there, else 1, also if too little was counted to judge.

"""

import argparse
import os
import pathlib
import random
import signal
import sys
import tempfile
import threading
import time

from crowd import Crowd
from growth import LEAST_COUNTS, judge

ROOT = pathlib.Path(__file__).resolve().parents[2]
for folder in ("EndToEnd", "Benchmarks"):
    sys.path.insert(0, str(ROOT / "Tests" / folder))
from stage import MARK, PEERS, Stage, free_port, python  # noqa: E402
from daemon import Daemon  # noqa: E402
from process import children, descriptor_targets, holdings, thread_names  # noqa: E402

RECORDED_WITHIN = 25
# A connection of who was killed ends when nothing was heard of it for 20 s; it is about a hundred objects.
VANISHED_WITHIN = 30
HALF_A_CONNECTION = 50
# glibc's caches of threads and GLib's slices count as allocated though they are unused.
EXACT = {"GLIBC_TUNABLES": "glibc.malloc.tcache_count=0", "G_SLICE": "always-malloc"}


class Soak:
    """The processes of a run, and what is done with them."""

    def __init__(self, options, stage):
        self.options, self.stage = options, stage
        self.random = random.Random(options.seed)
        self.lock = threading.Lock()
        self.is_busy = threading.Event()
        self.is_over = threading.Event()
        self.joins, self.missed, self.complaints, self.tally = {}, [], [], {}
        self.samples = {}
        self.fewest_objects = 0
        self.steady = stage.serve("--room-size", "4")
        self.shaky_port = free_port()
        self.shaky = self.serve_again()
        self.rooms = {}
        for number in range(options.rooms):
            port = self.shaky_port if number % 4 == 3 else self.steady.port
            self.rooms[f"room{number}"] = self.definition(port, f"room{number}")
        self.daemon = Daemon(stage, self.rooms, log_level="notice", workers={
            "rooms_per_worker": 1 if options.worker_per_room else 64, "export_jobs": 1},
            api={"listen": "127.0.0.1:0", "requests_per_second": 10000})
        self.crowd = Crowd(stage.tapedeck_path, stage.folder, {**os.environ, MARK: stage.mark})
        self.snapshot, self.changed = {}, threading.Condition()
        # How many joins there had been when a room was first seen in a worker.
        self.first_seen = {}

    @staticmethod
    def definition(port, room):
        return {"url": f"socketio+http://127.0.0.1:{port}/{room}", "record": {"empty_after": "2s"}}

    def serve_again(self):
        return self.stage.tapedeck("serve", "--listen", f"127.0.0.1:{self.shaky_port}", "--json", "--room-size", "4")

    def count(self, what):
        with self.lock:
            self.tally[what] = self.tally.get(what, 0) + 1

    def end_process(self, process, kill=False):
        """Ends a process of ours and forgets it."""
        if kill:
            process.kill()
        else:
            process.signal(signal.SIGTERM)
            try:
                process.process.wait(20)
            except Exception:  # noqa: BLE001 - whatever it is, it is a complaint
                self.complaints.append(f"{process.name} did not end on SIGTERM")
                process.kill()
        process.reader.join(5)
        process.process.stdin.close()
        process.process.stdout.close()
        self.stage.running.remove(process)

    # The definitions of rooms.

    def watch(self):
        while not self.is_over.wait(0.2):
            try:
                rooms = {room["name"]: room for room in self.daemon.get("/v1/rooms")["rooms"]}
            except (AssertionError, OSError):
                continue
            for name, room in rooms.items():
                if worker := room.get("worker"):
                    self.first_seen.setdefault((worker["processID"], name), self.joins_near(name))
            with self.changed:
                self.snapshot = rooms
                self.changed.notify_all()

    def wait_until(self, is_there, timeout):
        with self.changed:
            return self.changed.wait_for(is_there, timeout)

    def heard(self, name):
        """Participants whose audio is being written."""
        return {track["participant"] for track in self.snapshot.get(name, {}).get("status", {}).get("tracks", [])
                if track["kind"] == "audio" and track["open"] and track["units"]}

    def is_recorded(self, name, before, count=1):
        """Waits for new participants in the recording, and counts them."""
        there = self.wait_until(lambda: len(self.heard(name) - before) >= count, RECORDED_WITHIN)
        with self.lock:
            found = count if there else len(self.heard(name) - before)
            self.joins[name] = self.joins.get(name, 0) + found
            if not there:
                self.missed.append(name)
        return there

    # Participants.

    def live_in(self, name, seed):
        chance = random.Random(seed)
        visits = [self.stay, self.stay, self.stay, self.switch, self.meet, self.camera, self.killed_camera]
        if self.options.aiortc:
            visits.append(self.aiortc)
        while not self.is_over.is_set():
            if not self.is_busy.wait(0.2):
                continue
            visit = chance.choice(visits)
            try:
                visit(name, chance)
                self.count(visit.__name__)
            except Exception as error:  # noqa: BLE001 - a visit that fails must not end the others
                self.complaints.append(f"{visit.__name__} in {name}: {error!r}")

    def stay(self, name, chance):
        before = self.heard(name)
        stay = self.crowd.join(self.rooms[name]["url"], Crowd.camera(codec=chance.choice(["vp8", "vp8", "h264"])))
        self.is_recorded(name, before)
        time.sleep(chance.uniform(0.1, 1))
        self.leave(stay)

    def leave(self, stay):
        if not self.crowd.leave(stay):
            self.complaints.append(f"{stay} was not left in 30 s")

    def switch(self, name, chance):
        """Another video source without notice, no video, and video again: two calls more."""
        before = self.heard(name)
        stay = self.crowd.join(self.rooms[name]["url"], Crowd.camera())
        if self.is_recorded(name, before):
            self.crowd.change(stay, Crowd.camera(pattern="ball"))
            time.sleep(0.3)
            for video in (None, "test"):
                before = self.heard(name)
                self.crowd.change(stay, Crowd.camera(video=video))
                self.is_recorded(name, before)
        self.leave(stay)

    def meet(self, name, chance):
        """Two at once, who see each other as well."""
        before = self.heard(name)
        stays = [self.crowd.join(self.rooms[name]["url"], Crowd.camera()) for _ in range(2)]
        self.is_recorded(name, before, 2)
        for stay in stays:
            self.leave(stay)

    def camera(self, name, chance, kill=False):
        before = self.heard(name)
        camera = self.stage.tapedeck("camera", self.rooms[name]["url"], "--size", "320x180", "--fps", "5", "--bitrate",
                                     "100k", "--log-level", "error")
        self.is_recorded(name, before)
        self.end_process(camera, kill)

    def killed_camera(self, name, chance):
        self.camera(name, chance, kill=True)

    def aiortc(self, name, chance):
        before = self.heard(name)
        port = int(self.rooms[name]["url"].rsplit(":", 1)[1].split("/")[0])
        peer = self.stage.start("aiortc", python("peers"), PEERS / "aiortc_peer.py", "--url",
                                f"http://127.0.0.1:{port}", "--room", name, "--eio", 4, "--send", "synthetic", "--size",
                                "320x180", "--fps", "5", "--limit", "60", "--transport", "websocket")
        self.is_recorded(name, before)
        self.end_process(peer, kill=chance.random() < 0.5)

    def load_plugins(self):
        """Takes an image of each codec in each worker, for which it loads plugins once and for all."""
        for name in list(self.rooms) if self.options.worker_per_room else list(self.rooms)[:1]:
            try:
                self.take_pictures(name)
            except Exception as error:  # noqa: BLE001 - the run continues without
                self.complaints.append(f"pictures in {name}: {error!r}")

    def take_pictures(self, name):
        path = f"/v1/rooms/{name}/participants/"
        for codec in ("vp8", "h264"):
            before = self.heard(name)
            stay = self.crowd.join(self.rooms[name]["url"], Crowd.camera(codec=codec))
            self.is_recorded(name, before)
            deadline = time.monotonic() + RECORDED_WITHIN
            is_taken = False
            while not is_taken and time.monotonic() < deadline:
                for participant in self.heard(name) - before:
                    status, _, _ = self.daemon.request("GET", path + participant + "/thumbnail.jpg")
                    is_taken = is_taken or status == 200
                time.sleep(0.2)
            if not is_taken:
                self.complaints.append(f"no picture of {codec}")
            self.leave(stay)

    # The operator's actions during the calls.

    def direct(self):
        """One thing after the other, as long as there are calls."""
        deeds = [self.outputs, self.restart_server, self.orders, self.room_of_the_interface, self.exports,
                 self.reload, self.looks]
        number = 0
        while not self.is_over.is_set():
            if not self.is_busy.wait(0.2):
                continue
            deed = deeds[number % len(deeds)]
            number += 1
            try:
                deed()
                self.count(deed.__name__)
            except Exception as error:  # noqa: BLE001 - what goes wrong is reported at the end
                self.complaints.append(f"{deed.__name__}: {error!r}")
            self.is_over.wait(0.5)

    def ask(self, method, path, body=None, allowed=()):
        status, _, answer = self.daemon.request(method, path, body)
        if status >= 300 and status not in allowed:
            raise AssertionError(f"{method} {path}: {status} {answer.decode(errors='replace')[:300]}")
        return answer

    def outputs(self):
        name = self.random.choice(list(self.rooms))
        port = free_port() & ~3 | 1024
        self.ask("PATCH", f"/v1/rooms/{name}", {"outputs": [{"rtp": {
            "host": "127.0.0.1", "video_port": port, "audio_port": port + 2}}]})
        time.sleep(1)
        self.ask("PATCH", f"/v1/rooms/{name}", {"outputs": None})

    def restart_server(self):
        self.end_process(self.shaky, kill=self.random.random() < 0.5)
        time.sleep(0.5)
        self.shaky = self.serve_again()

    def orders(self):
        name = self.random.choice(list(self.rooms))
        # Nothing may be recorded just then.
        for order, body in (("mark", {"text": "here"}), ("pause", None), ("resume", None), ("keyframe", None)):
            self.ask("POST", f"/v1/rooms/{name}/{order}", body, allowed=(409, 503))

    def looks(self):
        name = self.random.choice(list(self.rooms))
        self.ask("GET", f"/v1/rooms/{name}/graphs", allowed=(404, 409, 503))
        for participant in list(self.heard(name))[:1]:
            self.ask("GET", f"/v1/rooms/{name}/participants/{participant}/thumbnail.jpg", allowed=(404, 409, 503))

    def room_of_the_interface(self):
        """A room that is added over the HTTP API, with a call, and removed while that call is in progress."""
        name = f"guest{self.random.randrange(10 ** 9)}"
        definition = self.definition(self.steady.port, name)
        self.ask("POST", "/v1/rooms", {"name": name, "definition": definition})
        stay = self.crowd.join(definition["url"], Crowd.camera())
        self.is_recorded(name, set())
        self.ask("DELETE", f"/v1/rooms/{name}")
        self.leave(stay)

    def reload(self):
        """A room of the configuration comes and goes, and another one is changed."""
        name = self.random.choice(list(self.rooms))
        changed = {**self.rooms, name: {**self.rooms[name], "display_name": f"recorder{self.random.randrange(10)}"}}
        self.daemon.write({**changed, "passing": self.definition(self.steady.port, "passing")})
        self.ask("POST", "/v1/reload", allowed=(409,))
        time.sleep(1)
        self.daemon.write(self.rooms)
        self.ask("POST", "/v1/reload", allowed=(409,))

    def exports(self):
        finished = [one for one in self.daemon.recordings() if one["state"] == "finished"]
        for layout in ("browser", "audio"):
            if finished:
                self.ask("POST", f"/v1/recordings/{self.random.choice(finished)['id']}/exports", {"layout": layout},
                         allowed=(409,))

    # Counting.

    def is_quiet(self):
        return all(room["phase"] == "joined" and not room["status"]["participants"]
                   and room["status"]["recordingState"] != "recording"
                   for room in self.snapshot.values()) and set(self.snapshot) == set(self.rooms)

    def go_home(self):
        """Waits until a room is empty and nothing is left to do."""
        self.is_busy.clear()
        if not self.wait_until(self.is_quiet, 90):
            unquiet = {name: (room["phase"], room["status"]["participants"], room["status"]["recordingState"])
                       for name, room in self.snapshot.items()}
            self.complaints.append(f"not quiet after 90 s: {unquiet}")
        self.outlast_the_vanished()
        deadline = time.monotonic() + 300
        while self.daemon.get("/v1/overview")["pendingExports"] and time.monotonic() < deadline:
            time.sleep(0.2)

    def live_objects(self):
        """GStreamer's objects in the workers and in the process that sends."""
        sending = (self.crowd.vitals or {}).get("objects") or 0
        return (self.metric("tapedeck_worker_gstreamer_objects") or 0) + sending

    def outlast_the_vanished(self):
        """Waits until no connection is left that another count did not have either; the first count waits longest."""
        deadline = time.monotonic() + VANISHED_WITHIN
        while ((found := self.live_objects()) > self.fewest_objects + HALF_A_CONNECTION
               and time.monotonic() < deadline):
            time.sleep(0.5)
        self.fewest_objects = min(self.fewest_objects or found, found)

    def metric(self, name):
        """The sum over a metric's series."""
        text = self.daemon.metrics()
        values = [float(line.rsplit(" ", 1)[1]) for line in text.splitlines() if line.startswith(name + "{")]
        return sum(values) if values else None

    def workers(self):
        """Process ids of the workers, and the joins that each of them saw."""
        found = {}
        for name, room in self.snapshot.items():
            if worker := room.get("worker"):
                pid = worker["processID"]
                found[pid] = max(found.get(pid, 0), self.joins_near(name) - self.first_seen[pid, name])
        return found

    def joins_near(self, name):
        """The joins of all rooms that share a worker with this one."""
        with self.lock:
            return self.joins.get(name, 0) if self.options.worker_per_room else sum(self.joins.values())

    def read(self):
        """One sample of each process."""
        total = sum(self.joins.values())
        processes = {("worker", pid): (pid, joins) for pid, joins in self.workers().items()}
        processes["supervisor", 0] = (self.daemon.process.process.pid, total)
        processes["sender", 0] = (self.crowd.process.pid, total)
        processes["room server", 0] = (self.steady.process.pid, total)
        found = {}
        for key, (pid, joins) in processes.items():
            if values := holdings(pid):
                found[key] = {"joins": joins, **values}
        workers = [sample for (kind, _), sample in found.items() if kind == "worker"]
        objects = self.metric("tapedeck_worker_gstreamer_objects")
        allocated = self.metric("tapedeck_worker_allocated_bytes")
        if len(workers) == 1 and objects is not None:
            workers[0].update(objects=objects, allocated=(allocated or 0) / 1000)
        found["all workers", 0] = {"joins": total, "objects": objects, "allocated": (allocated or 0) / 1000}
        if vitals := self.crowd.vitals:
            found["sender", 0].update(objects=vitals["objects"], allocated=vitals["allocatedBytes"] / 1000)
        return found

    def settle(self, seconds):
        """Samples until threads that idle have gone: the least of each count within so many seconds."""
        least = self.read()
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            time.sleep(1)
            for key, sample in self.read().items():
                for name, value in sample.items():
                    if key in least and value is not None and least[key].get(name) is not None:
                        least[key][name] = min(least[key][name], value)
        return least

    def sample(self, seconds):
        self.go_home()
        found = self.settle(seconds)
        for key, values in found.items():
            self.samples.setdefault(key, []).append(values)
        elapsed = time.monotonic() - self.began
        for (kind, number), values in found.items():
            if kind != "worker" or not self.options.worker_per_room:
                counts = ", ".join(f"{name} {value:.0f}" for name, value in values.items()
                                   if name != "joins" and value is not None)
                print(f"{elapsed:5.0f} s  {values['joins']:5d} joins  {kind:12s} {counts}", flush=True)
        jobs = set(children(self.daemon.process.process.pid)) - set(self.workers())
        if jobs:
            self.complaints.append(f"processes that nobody needs: {jobs}")

    # The run.

    def run(self):
        self.began = time.monotonic()
        threads = [threading.Thread(target=self.watch), threading.Thread(target=self.direct)]
        threads += [threading.Thread(target=self.live_in, args=(name, f"{self.options.seed}{name}"))
                    for name in self.rooms]
        for thread in threads:
            thread.start()
        try:
            self.wait_until(self.is_quiet, 60)
            self.load_plugins()
            ending = self.began + self.options.seconds
            # The count after the last calls is one as well.
            while time.monotonic() < ending or len(self.samples.get(("supervisor", 0), [])) < LEAST_COUNTS - 1:
                self.is_busy.set()
                time.sleep(self.options.step or max(8, self.options.seconds / 12))
                self.sample(self.options.settle)
            self.sample(20)
            if self.options.details:
                for pid in (*self.workers(), self.crowd.process.pid):
                    print(f"{pid}: threads {thread_names(pid)}\n  descriptors {descriptor_targets(pid)}")
        finally:
            self.is_over.set()
            self.is_busy.clear()
            for thread in threads:
                thread.join()
        if code := self.crowd.end():
            self.complaints.append(f"the sender ended with {code}")
        exports = self.failed_exports()
        self.end_process(self.daemon.process)
        self.reconcile(exports)

    def failed_exports(self):
        """Why recordings were not exported, by their ids."""
        found = {}
        for recording in self.daemon.recordings():
            for export in self.daemon.get(f"/v1/recordings/{recording['id']}/exports")["exports"]:
                if export["state"] != "done":
                    found[recording["id"]] = f"{export['layout']} {export['state']}: {export.get('error')}"
        return found

    def reconcile(self, failed):
        """Whether every recording is there as a whole, and nothing besides."""
        folders = sorted(path.parent for path in self.daemon.storage.rglob("journal.jsonl"))
        exported = 0
        for folder in folders:
            identifier = folder.name.split("-", 1)[1]
            if '"recording-finished"' not in (folder / "journal.jsonl").read_text().splitlines()[-1]:
                self.complaints.append(f"{folder} is not finished")
            if (folder / "call.mkv").exists():
                exported += 1
            elif identifier not in failed:
                self.complaints.append(f"{folder} is not exported, and nobody says why")
        for identifier, reason in failed.items():
            self.complaints.append(f"recording {identifier}: {reason}")
        left = [path for path in self.daemon.storage.rglob("*")
                if path.name.endswith((".partial", ".new", ".tmp")) or ".partial." in path.name]
        self.complaints += [f"left over: {path}" for path in left]
        print(f"{len(folders)} recordings, {exported} exported, {len(left)} files left over")

    # The verdict.

    def verdict(self):
        """Prints how much each count grows; whether that is within the limits."""
        holds, lines = judge(self.samples, ("worker", "supervisor", "sender", "room server"))
        print(*lines, sep="\n")
        print("done:", ", ".join(f"{what} {count}" for what, count in sorted(self.tally.items())))
        total = sum(self.joins.values())
        print(f"{total} joins; {len(self.missed)} participants were not recorded within {RECORDED_WITHIN} s",
              *sorted(self.missed))
        for complaint in self.complaints + self.crowd.complaints:
            print("complaint:", complaint)
        return holds and not self.complaints and len(self.missed) <= total / 50


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tapedeck", default=os.environ.get("TAPEDECK", str(ROOT / ".build/release/tapedeck")))
    parser.add_argument("--seconds", type=int, default=600, help="length of the run, the last count excluded; "
                        f"a short one goes on until there are {LEAST_COUNTS} counts")
    parser.add_argument("--rooms", type=int, default=8)
    parser.add_argument("--step", type=float, help="seconds of calls between two counts")
    parser.add_argument("--settle", type=float, default=4, help="seconds in which the least is looked for")
    parser.add_argument("--worker-per-room", action="store_true")
    parser.add_argument("--no-aiortc", dest="aiortc", action="store_false")
    parser.add_argument("--exact", action="store_true", help="allocated memory without what allocators keep for later")
    parser.add_argument("--details", action="store_true", help="names of threads and descriptors at the end")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=pathlib.Path, help="a folder for logs and recordings, kept")
    options = parser.parse_args()
    os.environ.update({"TAPEDECK_COUNT_OBJECTS": "1", **(EXACT if options.exact else {})})
    with tempfile.TemporaryDirectory(prefix="soak-") as temporary:
        folder = options.keep or pathlib.Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        stage = Stage(folder.resolve(), str(pathlib.Path(options.tapedeck).resolve()))
        try:
            soak = Soak(options, stage)
            soak.run()
        finally:
            left = stage.finish()
        soak.complaints += left
        return 0 if soak.verdict() else 1


if __name__ == "__main__":
    sys.exit(main())
