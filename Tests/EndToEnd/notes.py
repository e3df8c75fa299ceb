# SPDX-License-Identifier: Apache-2.0
"""The media that an aiortc peer with --notes decodes, frame by frame."""

import json
import time

from stage import LIMIT


class Notes:
    """The media that a peer with --notes decodes."""

    def __init__(self, path):
        self.path = path

    def latest(self, kind, count):
        """The last so many frames, once they have all come after this call."""
        began, frames = time.time(), []
        deadline = began + LIMIT
        while len(frames) < count:
            assert time.time() < deadline, f"{len(frames)} of {count} frames of {kind} came in {LIMIT} s"
            time.sleep(0.1)
            lines = self.path.read_text().splitlines() if self.path.exists() else []
            facts = [json.loads(line) for line in lines[-2000:] if line.endswith("}")]
            frames = [fact for fact in facts if fact["kind"] == kind and fact["at"] > began]
        return frames[-count:]

    def wait_for(self, what, kind, is_so, count=12, holds=all):
        """Waits until `all` frames of a run, or `any`, are as they should be; the run."""
        deadline = time.time() + LIMIT
        while not holds(map(is_so, frames := self.latest(kind, count))):
            assert time.time() < deadline, f"no {what} in {LIMIT} s: {frames}"
        return frames


def is_slate(frame):
    """Whether it is the dark frame that says that a source is away."""
    return 20 < frame["mean"] < 65
