# SPDX-License-Identifier: Apache-2.0
"""How far apart flash and beep are in exported calls: `make figures OF=av_offset`.

Twenty calls of an aiortc peer whose flash and beep are one instant, recorded by `tapedeck record`, some at a time. The
order of joining is random, and so are the 0 to 500 ms by which video and audio begin late. Then a few rooms with two
such peers, whose flashes are the same instants. Exit code 0 if 95 % are within 10 ms, and participants within 20 ms.

"""

import argparse
import concurrent.futures
import pathlib
import random
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "Tests" / "EndToEnd"))
import proofs  # noqa: E402
from stage import Stage  # noqa: E402


def call(tapedeck, seconds, seed, participants):
    """Beep minus flash, and the distance between participants, in milliseconds."""
    generator = random.Random(seed)
    starts = [(generator.uniform(0, 0.5), generator.uniform(0, 0.5)) for _ in range(participants)]
    with tempfile.TemporaryDirectory() as folder:
        stage = Stage(folder, tapedeck)
        try:
            found, _ = proofs.align_call(stage, seconds, starts, peer_is_first=generator.random() < 0.5)
        finally:
            stage.finish()
    return ([1000 * offset for alignment in found for offset in alignment.offsets],
            [1000 * distance for distance in proofs.between_participants(found)])


def figures(values):
    sizes = sorted(map(abs, values))
    p95 = sizes[min(len(sizes) - 1, int(0.95 * len(sizes)))]
    print(f"{len(values)} instants, {min(values):.1f}...{max(values):.1f} ms, p95 {p95:.1f} ms")
    return p95


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tapedeck", default=str(ROOT / ".build/release/tapedeck"))
    parser.add_argument("--calls", type=int, default=20)
    parser.add_argument("--rooms", type=int, default=4, help="with two participants each")
    parser.add_argument("--seconds", type=int, default=6, help="length of each call")
    parser.add_argument("--at-once", type=int, default=4)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    options = parser.parse_args()
    tapedeck = str(pathlib.Path(options.tapedeck).resolve())

    def run(count, participants, at_once):
        with concurrent.futures.ThreadPoolExecutor(at_once) as pool:
            seeds = [options.seed + number for number in range(count)]
            return list(pool.map(lambda seed: call(tapedeck, options.seconds, seed, participants), seeds))

    print(f"seed {options.seed}")
    offsets = [value for found, _ in run(options.calls, 1, options.at_once) for value in found]
    print(f"beep minus flash, {options.calls} calls: ", end="")
    holds = figures(offsets) <= 10
    rooms = run(options.rooms, 2, max(1, options.at_once // 2))
    print(f"between two participants, {options.rooms} rooms: ", end="")
    distances = [value for _, found in rooms for value in found]
    holds = figures(distances) <= 20 and max(distances) <= 20 and holds
    return 0 if holds else 1


if __name__ == "__main__":
    sys.exit(main())
