# SPDX-License-Identifier: Apache-2.0
"""Video and audio of a sender, and senders of a room, keep their places in time; no frame is lost or doubled.

Short forms of `make figures OF=av_offset` and `make figures OF=frame_proof`.
"""

import random

import proofs
import pytest

# Measured against the clock, to milliseconds.
pytestmark = [pytest.mark.media, pytest.mark.long]

MOST_BETWEEN_TRACKS = 0.010
MOST_BETWEEN_PARTICIPANTS = 0.020


def test_flash_and_beep_of_every_sender_are_one_instant(stage):
    starts = [(random.uniform(0, 0.5), random.uniform(0, 0.5)) for _ in range(3)]
    found, story = proofs.align_call(stage, 6, starts, peer_is_first=random.random() < 0.5)
    story = f"{starts}\n{found}\n{story}"
    assert len(found) == 3, story
    for alignment in found:
        assert len(alignment.offsets) >= 3, story
        assert max(map(abs, alignment.offsets)) <= MOST_BETWEEN_TRACKS, story
    apart = proofs.between_participants(found)
    assert len(apart) >= 4 and max(apart) <= MOST_BETWEEN_PARTICIPANTS, f"{apart}\n{story}"


def test_every_frame_is_there_once(stage):
    proof = proofs.prove_frames(stage, 8, size="320x180")
    assert proof.recorded >= 200 and proof.holds, str(proof)
