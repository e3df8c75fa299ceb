# SPDX-License-Identifier: Apache-2.0
"""What uploads cost: `make figures OF=upload`.

Printed, one run each, with rclone's S3 and SeaweedFS on the same host:
  out      CPU of the daemon and its rclones from start to end of an upload of two files of 230 MB at 10 MB/s, with all hashing,
           and the largest resident memory of each
  resting  CPU of the daemon while everything is uploaded
  beside   with ten rooms that record 720p: 99 % of the recorders' lags (the longest from a unit's arrival to the end of its write,
           in each status of a room), packets and units lost, and the worst lag, for a minute; then the same beside an upload without
           a limit. The server runs at the lowest priority, as a stand-in for another host.
  waiting  with 10 000 files that wait for a remote that is down: seconds until the daemon answers, its resident memory then, and
           its memory and CPU a minute later; the same without `storage.upload`
"""

import argparse
import contextlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "Tests/EndToEnd"))
sys.path.insert(0, str(ROOT / "Tests/Endurance"))
sys.path.insert(0, str(ROOT / "Tests/Benchmarks"))
import programs  # noqa: E402
from bench import BUILD, Setting  # noqa: E402
from daemon import Daemon  # noqa: E402
from load import MEDIA, Sender, certificate  # noqa: E402
from overload import losses  # noqa: E402
from process import TICKS, cpu_seconds, family, fields_of, resident_bytes  # noqa: E402
from receivers import Tapedeck  # noqa: E402
from remotes import SeaweedFS  # noqa: E402
from stage import Stage, free_port  # noqa: E402
from uploads import copies, wait_for_upload  # noqa: E402

FILES_OUT, BYTES_OUT = 2, 230_000_000
RECORDINGS, FILES = 500, 20
ROOMS, SECONDS, BYTES_BESIDE = 10, 60, 200_000_000


def cpu_with_children(pid):
    """CPU seconds of a process, of the children that it waited for, and of those that run."""
    ended = sum(map(int, fields_of(pid)[13:15])) / TICKS
    return ended + sum(cpu_seconds(one) for one in family(pid))


def out(stage, call):
    server, storage = SeaweedFS(stage), stage.folder / "out"

    def enlarge(folder):
        for number in range(FILES_OUT):
            (folder / f"grid-{number}.mkv").write_bytes(bytes([number]) * BYTES_OUT)

    copies(call, storage, 1, enlarge)
    config = stage.folder / "out.conf"
    config.write_text(server.section())
    upload = {"remote": f"arc:{server.bucket}", "config": str(config), "speed_limit": "10MB"}
    daemon = Daemon(stage, {}, "out", storage={"directory": str(storage), "upload": upload})
    pid, largest = daemon.process.process.pid, {"daemon": 0, "rclone": 0}
    began, used = time.monotonic(), cpu_with_children(pid)
    # An answer costs the daemon more than a look at its memory.
    while not any((found.get("upload") or {}).get("finished") for found in daemon.recordings()):
        for _ in range(20):
            for one in family(pid):
                with contextlib.suppress(OSError):
                    name = "daemon" if one == pid else "rclone"
                    largest[name] = max(largest[name], resident_bytes(one))
            time.sleep(0.1)
    seconds = time.monotonic() - began
    spent = cpu_with_children(pid) - used
    total = sum(found["upload"]["bytes"] for found in daemon.recordings())
    print(f"out: {total / 1e6:.0f} MB in {seconds:.1f} s, {spent / seconds:.1%} of a core, {spent / total * 1e9:.1f} ms a MB, "
          + ", ".join(f"{name} {size / 1e6:.0f} MB" for name, size in largest.items()), flush=True)
    used, began = cpu_with_children(pid), time.monotonic()
    time.sleep(30)
    print(f"resting: {(cpu_with_children(pid) - used) / (time.monotonic() - began):.2%} of a core", flush=True)
    daemon.process.end()


def lags(daemon, seconds, every=lambda: True):
    """99 % of the lags and the worst in milliseconds, and what was lost, for so many seconds or until `every` is false."""
    found, (before, _), began = [], losses(daemon.url), time.monotonic()
    while time.monotonic() < began + seconds and every():
        statuses = [room["status"] for room in daemon.get("/v1/rooms")["rooms"]]
        found += [status["recordingLagMilliseconds"] for status in statuses if "recordingLagMilliseconds" in status]
        time.sleep(0.5)
    found.sort()
    return (f"99 % of {len(found)} lags {found[int(len(found) * 0.99)]:.1f} ms, worst {found[-1]:.1f} ms, "
            f"lost {losses(daemon.url)[0] - before:.0f}, in {time.monotonic() - began:.0f} s")


def beside(stage, call):
    server = SeaweedFS(stage, volumes=100)
    for task in pathlib.Path(f"/proc/{server.process.process.pid}/task").iterdir():
        os.setpriority(os.PRIO_PROCESS, int(task.name), 19)
    folder, media = stage.folder / "beside", MEDIA["vp8-720p30"]
    folder.mkdir()
    BUILD.mkdir(parents=True, exist_ok=True)

    def enlarge(one):
        for number in range(3):
            (one / f"grid-{number}.mkv").write_bytes(bytes([number]) * BYTES_BESIDE)

    copies(call, folder / "storage", 6, enlarge)
    setting = Setting(media, media.encode(BUILD), ROOMS, folder, stage.tapedeck_path,
                      programs.build("load_sender", BUILD), None, certificate(BUILD))
    with contextlib.ExitStack() as stack:
        receiver = Tapedeck(setting)
        daemon = receiver.daemon
        stack.callback(lambda: daemon.process.poll() is None and daemon.process.kill())
        sender = Sender(setting)
        stack.callback(sender.end)
        for _ in range(ROOMS):
            sender.call(receiver.answer)
        daemon.wait(lambda rooms: all(room["status"]["recordingState"] == "recording" for room in rooms))
        time.sleep(10)
        print(f"beside: {ROOMS} rooms of {media.name} alone: {lags(daemon, SECONDS)}", flush=True)
        config = folder / "rclone.conf"
        config.write_text(server.section())
        changed = json.loads(daemon.path.read_text())
        daemon.sections["storage"]["upload"] = {"remote": f"arc:{server.bucket}", "config": str(config)}
        daemon.write(changed["rooms"])

        def uploaded():
            return sum((found.get("upload") or {}).get("verifiedBytes", 0) for found in everything(daemon))
        total = 6 * 3 * BYTES_BESIDE
        print(f"beside: an upload: {lags(daemon, SECONDS, lambda: uploaded() < total)}, "
              f"{uploaded() / 1e6:.0f} MB uploaded", flush=True)
        _, late = sender.stop()
        print(f"beside: the sender's latest packet was {late:.0f} ms late", flush=True)
        receiver.finish()


def waiting(stage, call):
    storage = stage.folder / "waiting"

    def add(folder):
        for number in range(FILES - sum(path.is_file() for path in folder.rglob("*"))):
            (folder / f"note-{number}.txt").write_text(str(number))

    copies(call, storage, RECORDINGS, add)
    config = stage.folder / "waiting.conf"
    config.write_text(f"[arc]\ntype = s3\nprovider = Other\naccess_key_id = x\nsecret_access_key = y\n"
                      f"endpoint = http://127.0.0.1:{free_port()}\n")
    upload = {"remote": "arc:recordings", "config": str(config)}
    daemon = Daemon(stage, {}, "waiting", storage={"directory": str(storage), "upload": upload})

    def files():
        return sum((found.get("upload") or {}).get("files", 0) for found in everything(daemon))
    while files() < RECORDINGS * FILES:
        time.sleep(1)
    for what in ("with", "without"):
        daemon.process.end()
        if what == "without":
            del daemon.sections["storage"]["upload"]
            daemon.write({})
        began = time.monotonic()
        daemon.start()
        daemon.request("GET", "/v1/recordings?limit=1")
        seconds, pid = time.monotonic() - began, daemon.process.process.pid
        first, used = resident_bytes(pid), cpu_with_children(pid)
        time.sleep(60)
        share = (cpu_with_children(pid) - used) / 60
        print(f"waiting: {what} uploads answers after {seconds:.2f} s with {first / 1e6:.1f} MB, "
              f"then {resident_bytes(pid) / 1e6:.1f} MB and {share:.1%} of a core", flush=True)
    daemon.process.end()


def everything(daemon):
    found, cursor = [], ""
    while True:
        page = daemon.get(f"/v1/recordings?limit=200{cursor}")
        found += page["recordings"]
        if not page.get("next"):
            return found
        cursor = f"&cursor={page['next']}"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tapedeck", default=str(ROOT / ".build/release/tapedeck"))
    parser.add_argument("--only", nargs="+", choices=("out", "beside", "waiting"), default=("out", "beside", "waiting"))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        stage = Stage(pathlib.Path(temporary), str(pathlib.Path(options.tapedeck).resolve()))
        folder = stage.folder / "call"
        folder.mkdir()
        subprocess.run([stage.tapedeck_path, "demo", "--duration", "4s"], cwd=folder, check=True, capture_output=True)
        journal, = folder.rglob("journal.jsonl")
        try:
            for figure in (out, beside, waiting):
                if figure.__name__ in options.only:
                    figure(stage, journal.parents[3])
        finally:
            for complaint in stage.finish():
                print(complaint, file=sys.stderr)
