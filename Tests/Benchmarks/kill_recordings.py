# SPDX-License-Identifier: Apache-2.0
"""How much a recording loses at SIGKILL: recorders are killed at random moments, repaired, exported and looked at.

Each room has one camera of 320x180 that runs for the whole time, and one recorder after the other. A recorder is killed
at a random moment, within 6 s from when its journal says that both tracks are recorded. `tapedeck repair` then closes
all recordings, each is exported, and the loss at its end is printed: the wall-clock time of the kill minus that of the
last packet of each track in the export, which holds the wall-clock time of its beginning. No packet may be missing
within a track either. The seed is printed; the same one kills after the same times.

"""

import argparse
import json
import pathlib
import random
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "Tests/EndToEnd"))
import media  # noqa: E402
from peers import room_url  # noqa: E402
from recordings import media_files  # noqa: E402
from stage import Stage  # noqa: E402

LONGEST = 6.0
ALLOWED = 0.5
FPS = 30


def journal(folder):
    """The records of a journal that is being written; a torn last line is left out."""
    records = []
    path = folder / "journal.jsonl"
    for line in path.read_text().split("\n") if path.exists() else []:
        try:
            records.append(json.loads(line))
        except ValueError:
            continue
    return records


def opened(folder):
    return {record["media"] for record in journal(folder) if record["kind"] == "track-opened"}


def kill_one(stage, server, room, wait):
    """Records a room and kills the recorder; the recording's folder and the time of the kill."""
    storage = stage.folder / "storage"
    before = set(storage.glob(f"recordings/{room}/*"))
    recorder = stage.tapedeck("record", room_url(server, room), "--directory", storage)

    def both():
        new = set(storage.glob(f"recordings/{room}/*")) - before
        return next((folder for folder in new if opened(folder) == {"video", "audio"}), None)
    folder = recorder.wait_for("both tracks", both)
    time.sleep(wait)
    killed = time.time()
    recorder.process.kill()
    recorder.process.wait()
    return folder, killed


def missing(stage, folder, killed):
    """Seconds that each track of a repaired recording lacks at its end, and the gaps within."""
    exported = stage.folder / f"{folder.name}.mkv"
    export = stage.run_tapedeck("export", folder, "--output", exported, timeout=120)
    assert export.exit_code in (0, 5), export.story()
    started = next(record for record in journal(folder) if record["kind"] == "recording-started")
    # Nine digits of a second are more than Python reads.
    start = datetime.fromisoformat(started["utc"][:26] + "+00:00").timestamp()
    ends, holes = {}, []
    for kind, distance in (("video", 1 / FPS), ("audio", 0.02)):
        stream, = media.streams(exported, kind)
        times = [packet.time for packet in media.packets(exported, stream["index"])]
        ends[kind] = killed - (start + times[-1] + distance)
        holes += [(kind, round(a, 3), round(b - a, 3)) for a, b in zip(times, times[1:]) if b - a > 2.5 * distance]
    exported.unlink()
    return ends, holes


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tapedeck", default=str(ROOT / ".build/release/tapedeck"))
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--rooms", type=int, default=4, help="recorders at a time")
    parser.add_argument("--longest", type=float, default=LONGEST, help="seconds until a kill")
    parser.add_argument("--seed", type=int, default=None)
    options = parser.parse_args()
    seed = random.randrange(1 << 32) if options.seed is None else options.seed
    print(f"seed {seed}", flush=True)
    waits = [random.Random(f"{seed} {number}").uniform(0, options.longest) for number in range(options.kills)]

    with tempfile.TemporaryDirectory() as folder:
        stage = Stage(folder, pathlib.Path(options.tapedeck).resolve())
        try:
            server = stage.serve()
            rooms = [f"room{number}" for number in range(min(options.rooms, options.kills))]
            for room in rooms:
                stage.tapedeck("camera", room_url(server, room), "--size", "320x180", "--fps", str(FPS), "--bitrate",
                               "200k")

            def kill(room, waits):
                return [kill_one(stage, server, room, wait) for wait in waits]
            with ThreadPoolExecutor(len(rooms)) as pool:
                jobs = [pool.submit(kill, room, waits[number::len(rooms)]) for number, room in enumerate(rooms)]
                killed = [one for job in jobs for one in job.result()]
            repair = stage.run_tapedeck("repair", "--directory", stage.folder / "storage", "--json", timeout=300)
            assert repair.exit_code == 0, repair.story()
            closed = {record["folder"] for record in map(json.loads, repair.output.splitlines())}
            again = stage.run_tapedeck("repair", "--directory", stage.folder / "storage", "--json", timeout=300)
            assert again.exit_code == 0 and not again.output.strip(), again.story()
            results = []
            for folder, at in killed:
                assert str(folder) in closed, f"{folder} was not repaired"
                assert len(media_files(folder / "tracks")) == 2, folder
                results.append((folder.name, *missing(stage, folder, at)))
        except AssertionError as error:
            print(error, stage.stories(), sep="\n")
            return 1
        finally:
            stage.finish()

    bad = 0
    for name, ends, holes in results:
        if max(ends.values()) > ALLOWED or holes:
            bad += 1
            print(f"{name}: {ends}, gaps {holes}")
    for kind in ("video", "audio"):
        lacks = sorted(ends[kind] for _, ends, _ in results)
        print(f"{kind}: {len(lacks)} recordings, missing at the end: median {lacks[len(lacks) // 2] * 1000:.0f} ms, "
              f"largest {lacks[-1] * 1000:.0f} ms")
    print(f"{len(results) - bad} of {len(results)} recordings miss at most their last {ALLOWED} s")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
