# SPDX-License-Identifier: Apache-2.0
"""Every frame of a call is in its file, once and in order: `make figures OF=frame_proof`.

`tapedeck camera` paints a counter into each frame; a room server, the camera and `tapedeck record` run as separate
processes on loopback for ten minutes. Exit code 0 if the file holds all frames, 1 if not.
"""

import argparse
import pathlib
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "Tests" / "EndToEnd"))
import proofs  # noqa: E402
from stage import Stage  # noqa: E402


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tapedeck", default=str(ROOT / ".build/release/tapedeck"))
    parser.add_argument("--codec", choices=["vp8", "h264"], default="vp8")
    parser.add_argument("--size", default="640x360")
    parser.add_argument("--seconds", type=int, default=600)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        stage = Stage(folder, str(pathlib.Path(options.tapedeck).resolve()))
        try:
            proof = proofs.prove_frames(stage, options.seconds, options.size, options.codec)
        finally:
            complaints = stage.finish()
    print(f"{options.codec} {options.size}, {options.seconds} s: {proof}")
    print("\n".join(complaints) or ("every frame is there once" if proof.holds else "NOT every frame is there once"))
    return 0 if proof.holds and not complaints else 1


if __name__ == "__main__":
    sys.exit(main())
