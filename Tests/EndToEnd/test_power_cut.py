# SPDX-License-Identifier: Apache-2.0
"""Power cuts: what was reported as recorded, exported or deleted is there, whatever of the rest is lost.

A daemon, its workers, jobs and commands run with Tests/Disk/power_cut.c preloaded, which logs what they do to their files
and what they report. power_cut.py makes of the log what a cut at any place of it leaves.
"""

import concurrent.futures
import hashlib
import json
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess

import pytest
from daemon import WHOLE, Daemon
from peers import room_url
from recordings import wait_for_seconds
from stage import LIMIT, ROOT
from power_cut import History, read_log
from test_export_orders import ended

ROOM = "standup"


@pytest.fixture
def disk(stage):
    """A folder of which everything is logged, and the variables that do it."""
    library, log, root = stage.folder / "power_cut.so", stage.folder / "power_cut.log", stage.folder / "disk"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, ROOT / "Tests" / "Disk" / "power_cut.c", "-ldl"], check=True)
    root.mkdir()
    return root, log, {"LD_PRELOAD": str(library), "POWER_CUT_LOG": str(log), "POWER_CUT_ROOT": str(root)}


def live(stage, monkeypatch, disk):
    """A daemon's life: it records, exports, dies, repairs and deletes."""
    root, _, variables = disk
    server = stage.room_server(5)
    storage = root / "storage"
    room = {"url": room_url(server, ROOM), "record": {"empty_after": "1s"}}
    with monkeypatch.context() as patch:
        for name, value in variables.items():
            patch.setenv(name, value)
        daemon = Daemon(stage, {ROOM: room}, storage={"directory": str(storage)})
        daemon.wait_for_phase(ROOM, "joined")
        peer = stage.aiortc(server, ROOM, "--send", "synthetic", "--size", "160x90", "--codec", "h264")
        wait_for_seconds(daemon.process, storage, 3, 2)
        # Larger alone than what retention keeps.
        next((storage / "recordings" / ROOM).iterdir()).joinpath("padding.bin").write_bytes(bytes(2_000_000))
        peer.end()
        first, = daemon.wait_for_export(ROOM)
        recording, = daemon.wait_for("the recording", daemon.recordings)
        for body in ({"layout": "tracks", "container": "mp4"}, {"layout": "browser"}, {"layout": "tracks"}):
            done = ended(daemon, recording["id"], daemon.post(f"/v1/recordings/{recording['id']}/exports", body))
            assert done["state"] == "done", (done, daemon.process.story())
        # A worker that dies, and then everything at once.
        peer = stage.aiortc(server, ROOM, "--send", "synthetic", "--size", "160x90", "--codec", "h264")
        wait_for_seconds(daemon.process, storage, 2, 4)
        worker = daemon.worker(ROOM)
        os.kill(worker, signal.SIGKILL)
        daemon.wait_for("another worker", lambda: (daemon.room(ROOM).get("worker") or {}).get("processID") not in (None, worker))
        wait_for_seconds(daemon.process, storage, 2, 6)
        peer.end()
        os.kill(daemon.worker(ROOM), signal.SIGSTOP)
        last = daemon.worker(ROOM)
        os.kill(daemon.process.process.pid, signal.SIGKILL)
        os.kill(last, signal.SIGKILL)
        daemon.process.wait()
        daemon.start()
        daemon.wait_for_export(ROOM, count=2)
        daemon.wait_for("the repair", lambda: daemon.log("recording.repaired"))
        # Retention does not keep the first.
        daemon.sections["storage"]["keep_bytes"] = "1MB"
        daemon.restart(lambda: daemon.write({}))
        daemon.wait_for("the deletion", lambda: daemon.log("recording.deleted") and not first.exists())
        assert daemon.process.end() == 0, daemon.process.story()


class Reports:
    """The reports, by the index in the log: recordings that ended, exports, deletions."""

    def __init__(self, history):
        self.finished, self.exports, self.deleted, folders = [], [], [], {}
        for index, line in history.reports:
            event = re.search(r"event\.kind=(\S+) recording\.id=(\S+)", line)
            if line.startswith('{"recordingStarted"'):
                reference = json.loads(line)["recordingStarted"]["_1"]
                folders[reference["id"]] = reference["folder"]
            elif line.startswith('{"recordingFinished"'):
                self.finished.append((index, json.loads(line)["recordingFinished"]["_1"]["folder"]))
            elif event and event[1] == "recording.repaired":
                self.finished.append((index, folders[event[2]]))
            elif event and event[1] == "export.finished":
                self.exports.append((index, f"{folders[event[2]]}/{re.search(r'file: ([^ ,]+)', line)[1]}"))
            elif event and event[1] == "recording.deleted":
                self.deleted.append((index, folders[event[2]]))

    @property
    def indices(self):
        return [index for index, _ in self.finished + self.exports + self.deleted]


class Cut:
    """A power cut at a place of the log, and the storage directory that it leaves."""

    def __init__(self, history, reports, folder, cut, mode, seed):
        self.history, self.reports, self.cut = history, reports, cut
        self.name = f"cut at {cut}, {mode}, seed {seed}"
        self.image = folder / f"{cut}-{mode}-{seed}"
        history.after_power_cut(cut, mode, random.Random(seed), self.image)
        self.storage = self.image / "storage"

    def place(self, path):
        return self.image / str(path).removeprefix(self.history.root).strip("/")

    def before(self, reported):
        """The files reported before the cut, that were there and not deleted since."""
        return [(index, path) for index, path in reported
                if index < self.cut and self.history.find(path, self.cut) is not None]

    def versions(self, path, index):
        """The target of a path from a report on."""
        ends = [at + 1 for at in range(index, self.cut)
                if self.history.records[at].kind == "R" and self.history.records[at].path == path]
        return [self.history.held(self.history.find(path, at), at) for at in [index, *ends, self.cut]]

    def check(self, tapedeck):
        """The faults; none is found."""
        wrong = [*self.wrong_files(), *self.wrong_verdicts(tapedeck)]
        if self.storage.exists():
            repair = subprocess.run([tapedeck, "repair", "--directory", self.storage, "--json"], capture_output=True, text=True,
                                    timeout=LIMIT, check=False)
            unreadable = [path for line in repair.stdout.splitlines() for path in self.unreadable(json.loads(line))]
            # A name may be on the disk before anything of its file is.
            if repair.returncode not in (0, 5) or (repair.returncode == 5) != bool(unreadable):
                wrong.append(f"repair: {repair.returncode} {repair.stderr[-500:]}")
            wrong += [f"repair cannot read {path}" for path in unreadable if self.history.find(path, self.cut).safe(self.cut)]
            wrong += [f"repaired: {each}" for each in [*self.wrong_files(), *self.wrong_verdicts(tapedeck)]]
            for folder in (self.storage / "recordings").glob("*/[0-9]*Z-*"):
                self.verify(tapedeck, folder, wrong)
        if not wrong:
            shutil.rmtree(self.image)
        return [f"{self.name}: {each}" for each in wrong]

    def unreadable(self, told):
        """The files that a repair could not read, as they were called before."""
        folder = self.history.root + told["folder"].removeprefix(str(self.image))
        return [f"{folder}/{name}" for name in told.get("unreadable", {})]

    def wrong_files(self):
        for index, folder in self.before(self.reports.finished):
            journal = self.place(folder) / "journal.jsonl"
            if not journal.exists():
                yield f"{journal} is missing"
                continue
            kinds = [json.loads(line)["kind"] for line in journal.read_text().splitlines()]
            if "recording-finished" not in kinds:
                yield f"{journal} has no end"
            tracks = self.history.find(f"{folder}/tracks", index)
            for name in sorted({change[2] for change in tracks.changes[:tracks.before(index)] if change[1] == "add"}):
                path = f"{folder}/tracks/{name}"
                if not self.place(path).exists() or self.place(path).read_bytes() not in self.versions(path, index):
                    yield f"{path} is missing or not as it was"
        for index, path in self.before(self.reports.exports):
            if not self.place(path).exists():
                yield f"{path} is missing"
                continue
            held = self.place(path).read_bytes()
            # A repair that exports again makes the same.
            if held not in self.versions(path, index):
                yield f"{path} is not as it was: {len(held)} bytes"
            manifest = json.loads((self.place(path).parent / "manifest.json").read_text())
            noted = [file["sha256"] for file in manifest["files"] if file["name"] == pathlib.Path(path).name]
            if noted != [hashlib.sha256(held).hexdigest()]:
                yield f"{path} is not what its manifest says: {noted}"
        for index, folder in self.reports.deleted:
            if index < self.cut and self.place(folder).exists():
                yield f"{folder} was deleted"

    def wrong_verdicts(self, tapedeck):
        wrong = []
        for folder in {folder for _, folder in self.before(self.reports.finished)}:
            verdict = self.verify(tapedeck, self.place(folder), wrong)
            if verdict not in WHOLE:
                wrong.append(f"{folder} is {verdict}")
        return wrong

    def verify(self, tapedeck, folder, wrong):
        verify = subprocess.run([tapedeck, "verify", folder, "--json"], capture_output=True, text=True, timeout=LIMIT,
                                check=False)
        if verify.returncode not in (0, 5):
            wrong.append(f"verify {folder}: {verify.returncode} {verify.stderr[-500:]}")
            return None
        return json.loads(verify.stdout)["verdict"]


def assert_log_is_whole(history, root, folder):
    """All that happened is in the log: with everything kept, it makes the same files."""
    history.after_power_cut(len(history.records), "all", random.Random(0), folder)

    def files(top):
        return {path.relative_to(top): path.read_bytes() for path in top.rglob("*")
                # Shared memory, and what this test put there.
                if path.is_file() and not path.name.endswith("-shm") and path.name != "padding.bin"}
    made, there = files(folder), files(root)
    assert set(made) == set(there), set(made) ^ set(there)
    assert not [path for path in made if made[path] != there[path]]


@pytest.mark.media
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("count", [20, pytest.param(200, marks=pytest.mark.long)])
def test_what_was_reported_is_there_after_a_power_cut(stage, monkeypatch, disk, count):
    live(stage, monkeypatch, disk)
    root, log, _ = disk
    history = History(read_log(log), root)
    reports = Reports(history)
    assert len(reports.finished) >= 2 and len(reports.exports) >= 5 and len(reports.deleted) == 1, vars(reports)
    assert_log_is_whole(history, root, stage.folder / "whole")
    dice = random.Random(count)
    end = len(history.records)
    # Half of them right behind a report.
    cuts = [min(end, dice.choice(reports.indices) + dice.randint(1, 3)) if number % 2 else dice.randrange(end)
            for number in range(count)]
    modes = ["strict", "random", "strict", "random", "random", "all"]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        found = pool.map(lambda number: Cut(history, reports, stage.folder, cuts[number], modes[number % len(modes)],
                                            number).check(stage.tapedeck_path), range(count))
        wrong = [each for each in found if each]
    assert not wrong, f"{len(wrong)} of {count}: " + json.dumps(wrong[:5], indent=1)
